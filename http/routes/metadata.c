/* What the server and its models are. */
#include <inttypes.h>
#include <string.h>

#include "http/routes/routes.h"
#include "http/server_internal.h"

static void write_string(onnxd_strbuf *text, const char *value)
{
    onnxd_strbuf_json_string(text, value, strlen(value));
}

void onnxd_http_answer_json(onnxd_http_exchange *exchange)
{
    if (exchange->response.text.failed) {
        onnxd_http_exchange_refuse(exchange, 503, "out of memory");
        return;
    }
    exchange->response.status = 200;
    exchange->response.content_type = "application/json";
    onnxd_http_exchange_finish(exchange);
}

void onnxd_http_handle_server_metadata(onnxd_http_exchange *exchange)
{
    const onnxd_http_services *services = &exchange->server->services;
    onnxd_strbuf *text = &exchange->response.text;
    onnxd_strbuf_puts(text, "{\"name\":");
    write_string(text, services->server_name);
    onnxd_strbuf_puts(text, ",\"version\":");
    write_string(text, services->server_version);
    onnxd_strbuf_puts(text, ",\"extensions\":[\"binary_tensor_data\"]}");
    onnxd_http_answer_json(exchange);
}

/* -- models ------------------------------------------------------------------------------------ */

typedef struct version_list {
    const char *name;
    onnxd_strbuf *text;
    bool has_entry;
} version_list;

static void visit_version(const onnxd_store_entry *entry, void *user)
{
    version_list *list = user;
    if (entry->state != ONNXD_MODEL_READY || strcmp(entry->name, list->name) != 0)
        return;
    onnxd_strbuf_printf(list->text, "%s\"%" PRId64 "\"", list->has_entry ? "," : "",
                        entry->version);
    list->has_entry = true;
}

void onnxd_http_write_shape(onnxd_strbuf *text, const onnxd_shape *shape)
{
    if (shape->rank == ONNXD_RANK_UNKNOWN)
        onnxd_strbuf_puts(text, "-1");
    for (int32_t i = 0; i < shape->rank; i++)
        onnxd_strbuf_printf(text, "%s%" PRId64, i == 0 ? "" : ",",
                            onnxd_dim_is_static(shape->dims[i]) ? shape->dims[i] : -1);
}

static void write_port(onnxd_strbuf *text, const onnxd_model_port *port, bool is_first)
{
    const char *datatype = onnxd_dtype_protocol_name(port->type.dtype);
    onnxd_strbuf_puts(text, is_first ? "{\"name\":" : ",{\"name\":");
    write_string(text, port->name);
    onnxd_strbuf_puts(text, ",\"datatype\":");
    write_string(text, datatype != NULL ? datatype : onnxd_dtype_name(port->type.dtype));
    onnxd_strbuf_puts(text, ",\"shape\":[");
    onnxd_http_write_shape(text, &port->type.shape);
    onnxd_strbuf_puts(text, "]}");
}

static void write_model(onnxd_store *store, const onnxd_model *model, onnxd_strbuf *text)
{
    version_list list = {.name = onnxd_model_name(model), .text = text};
    onnxd_strbuf_puts(text, "{\"name\":");
    write_string(text, list.name);
    onnxd_strbuf_puts(text, ",\"versions\":[");
    onnxd_store_visit(store, visit_version, &list);
    onnxd_strbuf_puts(text, "],\"platform\":\"onnx_onnxv1\",\"inputs\":[");
    for (uint32_t i = 0; i < onnxd_model_input_count(model); i++)
        write_port(text, onnxd_model_input(model, i), i == 0);
    onnxd_strbuf_puts(text, "],\"outputs\":[");
    for (uint32_t i = 0; i < onnxd_model_output_count(model); i++)
        write_port(text, onnxd_model_output(model, i), i == 0);
    onnxd_strbuf_puts(text, "]}");
}

void onnxd_http_handle_model_metadata(onnxd_http_exchange *exchange)
{
    onnxd_store *store = exchange->server->services.store;
    onnxd_model *model;
    onnxd_status *status = onnxd_http_find_model(exchange, &model);
    if (status != NULL) {
        onnxd_http_exchange_fail(exchange, status);
        return;
    }
    write_model(store, model, &exchange->response.text);
    onnxd_store_release_model(store, model);
    onnxd_http_answer_json(exchange);
}
