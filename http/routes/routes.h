/*
 * The handlers that routes.inc names, and what they share. Each answers its exchange exactly once,
 * at once or later.
 *
 * Threads: the loop.
 */
#ifndef ONNXD_HTTP_ROUTES_ROUTES_H
#define ONNXD_HTTP_ROUTES_ROUTES_H

#include "http/exchange.h"

void onnxd_http_handle_server_metadata(onnxd_http_exchange *exchange);
void onnxd_http_handle_model_metadata(onnxd_http_exchange *exchange);
void onnxd_http_handle_health_live(onnxd_http_exchange *exchange);
void onnxd_http_handle_health_ready(onnxd_http_exchange *exchange);
void onnxd_http_handle_model_config(onnxd_http_exchange *exchange);
void onnxd_http_handle_model_ready(onnxd_http_exchange *exchange);
void onnxd_http_handle_model_infer(onnxd_http_exchange *exchange);
void onnxd_http_handle_metrics(onnxd_http_exchange *exchange);
void onnxd_http_handle_model_statistics(onnxd_http_exchange *exchange);
void onnxd_http_handle_all_statistics(onnxd_http_exchange *exchange);
void onnxd_http_handle_repository_index(onnxd_http_exchange *exchange);

/* The dimensions, with commas between them. Those that are not fixed are -1; an unknown rank is a
 * single -1. */
void onnxd_http_write_shape(onnxd_strbuf *text, const onnxd_shape *shape);
/* 200 with the response's text, which is JSON; 503 where memory was short for it. */
void onnxd_http_answer_json(onnxd_http_exchange *exchange);

/* The ready model that the path names, retained: to be given back through the store. Errors: those
 * of the store, and NOT_FOUND for a version that is no positive number. */
ONNXD_NODISCARD onnxd_status *onnxd_http_find_model(onnxd_http_exchange *exchange,
                                                    onnxd_model **out_model);

#endif
