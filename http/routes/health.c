/* Is the process alive, is the server ready, is a model ready. */
#include <string.h>

#include "base/number.h"
#include "http/routes/routes.h"
#include "http/server_internal.h"

static void answer_text(onnxd_http_exchange *exchange, const char *text)
{
    onnxd_strbuf_puts(&exchange->response.text, text);
    onnxd_http_answer_json(exchange);
}

void onnxd_http_handle_health_live(onnxd_http_exchange *exchange)
{
    answer_text(exchange, "{\"live\":true}");
}

typedef struct version_count {
    uint32_t known, ready;
} version_count;

static void count_version(const onnxd_store_entry *entry, void *user)
{
    version_count *count = user;
    count->known++;
    count->ready += entry->state == ONNXD_MODEL_READY;
}

/* See server.h for what it means. Models that failed to load are reported by their own route and do
 * not make the others unreachable. */
void onnxd_http_handle_health_ready(onnxd_http_exchange *exchange)
{
    const onnxd_http_server *server = exchange->server;
    version_count count = {0};
    onnxd_store_visit(server->services.store, count_version, &count);
    if (server->is_draining)
        onnxd_http_exchange_refuse(exchange, 503, "the server is shutting down");
    else if (!onnxd_store_is_loaded(server->services.store, NULL))
        onnxd_http_exchange_refuse(exchange, 503, "the models are still loading");
    else if (count.known > 0 && count.ready == 0)
        onnxd_http_exchange_refuse(exchange, 503, "none of the models is ready");
    else
        answer_text(exchange, "{\"ready\":true}");
}

onnxd_status *onnxd_http_find_model(onnxd_http_exchange *exchange, onnxd_model **out_model)
{
    const onnxd_http_match *match = &exchange->match;
    onnxd_http_span name;
    ONNXD_TRY(onnxd_http_decode_segment(match->captures[0], &exchange->arena, &name));
    int64_t version = 0; /* the newest */
    if (match->capture_count > 1) {
        onnxd_http_span text = match->captures[1];
        if (!onnxd_parse_i64(text.data, text.size, &version) || version < 1)
            return onnxd_error(ONNXD_NOT_FOUND,
                               "Request for unknown model: '%.*s' has no version '%.*s'; versions "
                               "are positive numbers",
                               (int)(name.size < 128 ? name.size : 128), name.data,
                               (int)(text.size < 32 ? text.size : 32), text.data);
    }
    return onnxd_store_find(exchange->server->services.store, name.data, name.size, version,
                            out_model);
}

void onnxd_http_handle_model_ready(onnxd_http_exchange *exchange)
{
    onnxd_model *model;
    onnxd_status *status = onnxd_http_find_model(exchange, &model);
    if (status != NULL) {
        onnxd_http_exchange_fail(exchange, status);
        return;
    }
    onnxd_strbuf *text = &exchange->response.text;
    const char *name = onnxd_model_name(model);
    onnxd_strbuf_puts(text, "{\"name\":");
    onnxd_strbuf_json_string(text, name, strlen(name));
    onnxd_store_release_model(exchange->server->services.store, model);
    answer_text(exchange, ",\"ready\":true}");
}
