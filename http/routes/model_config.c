/*
 * What a model takes and gives in the words of Triton's ModelConfig, for clients that read it
 * before they send requests. Only what holds here is said: no batch dimension is added to any
 * shape, so that max_batch_size is 0 and dims have all dimensions.
 */
#include <inttypes.h>
#include <string.h>

#include "http/routes/routes.h"
#include "http/server_internal.h"

static void write_member(onnxd_strbuf *text, const char *key, const char *value)
{
    onnxd_strbuf_puts(text, key);
    onnxd_strbuf_json_string(text, value, strlen(value));
}

/* TYPE_ and the protocol's name, but for strings. */
static void write_type(onnxd_strbuf *text, onnxd_dtype dtype)
{
    const char *name = onnxd_dtype_protocol_name(dtype);
    onnxd_strbuf_printf(text, ",\"data_type\":\"TYPE_%s\"",
                        name == NULL            ? "INVALID"
                        : dtype == ONNXD_STRING ? "STRING"
                                                : name);
}

static void write_ports(onnxd_strbuf *text, const onnxd_model *model, uint32_t count,
                        const onnxd_model_port *(*port_of)(const onnxd_model *, uint32_t))
{
    for (uint32_t i = 0; i < count; i++) {
        const onnxd_model_port *port = port_of(model, i);
        write_member(text, i == 0 ? "{\"name\":" : ",{\"name\":", port->name);
        write_type(text, port->type.dtype);
        onnxd_strbuf_puts(text, ",\"dims\":[");
        onnxd_http_write_shape(text, &port->type.shape);
        onnxd_strbuf_puts(text, "]}");
    }
}

void onnxd_http_handle_model_config(onnxd_http_exchange *exchange)
{
    onnxd_strbuf *text = &exchange->response.text;
    onnxd_model *model;
    onnxd_status *status = onnxd_http_find_model(exchange, &model);
    if (status != NULL) {
        onnxd_http_exchange_fail(exchange, status);
        return;
    }
    write_member(text, "{\"name\":", onnxd_model_name(model));
    onnxd_strbuf_puts(text, ",\"platform\":\"onnx_onnxv1\",\"backend\":\"onnxd\","
                            "\"max_batch_size\":0,\"input\":[");
    write_ports(text, model, onnxd_model_input_count(model), onnxd_model_input);
    onnxd_strbuf_puts(text, "],\"output\":[");
    write_ports(text, model, onnxd_model_output_count(model), onnxd_model_output);
    onnxd_strbuf_puts(text, "]}");
    onnxd_store_release_model(exchange->server->services.store, model);
    onnxd_http_answer_json(exchange);
}
