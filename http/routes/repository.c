/* Which models the server knows. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/json_reader.h"
#include "http/routes/routes.h"
#include "http/server_internal.h"

/* ---- the request ------------------------------------------------------------------------------
 */

/* The member "ready" of the body, which may be empty; members of other names are passed over, as
 * Triton does. */
static onnxd_status *read_members(onnxd_json_reader *reader, bool *out_only_ready)
{
    onnxd_json_token token;
    ONNXD_TRY(onnxd_json_next(reader, &token));
    if (token.kind == ONNXD_JSON_END)
        return NULL;
    if (token.kind != ONNXD_JSON_OBJECT_BEGIN)
        return onnxd_error(ONNXD_INVALID_ARGUMENT, "the request must be an object, at byte %zu",
                           token.offset);
    for (;;) {
        ONNXD_TRY(onnxd_json_next(reader, &token));
        if (token.kind == ONNXD_JSON_OBJECT_END)
            return onnxd_json_next(reader, &token);
        const bool is_ready = onnxd_json_text_is(&token, "ready");
        ONNXD_TRY(onnxd_json_next(reader, &token));
        if (!is_ready) {
            ONNXD_TRY(onnxd_json_skip(reader, &token));
            continue;
        }
        if (token.kind != ONNXD_JSON_TRUE && token.kind != ONNXD_JSON_FALSE)
            return onnxd_error(ONNXD_INVALID_ARGUMENT, "'ready' must be true or false, at byte %zu",
                               token.offset);
        *out_only_ready = token.kind == ONNXD_JSON_TRUE;
    }
}

/* ---- the index --------------------------------------------------------------------------------
 */

typedef struct index_writer {
    onnxd_strbuf *text;
    bool only_ready, has_entry;
} index_writer;

static void write_member(onnxd_strbuf *text, const char *key, const char *value)
{
    onnxd_strbuf_puts(text, key);
    onnxd_strbuf_json_string(text, value, strlen(value));
}

static void write_entry(const onnxd_store_entry *entry, void *user)
{
    index_writer *writer = user;
    if (writer->only_ready && entry->state != ONNXD_MODEL_READY)
        return;
    write_member(writer->text, writer->has_entry ? ",{\"name\":" : "{\"name\":", entry->name);
    onnxd_strbuf_printf(writer->text, ",\"version\":\"%" PRId64 "\"", entry->version);
    write_member(writer->text, ",\"state\":", onnxd_model_state_name(entry->state));
    if (entry->reason[0] != '\0') {
        char reason[ONNXD_HTTP_MAX_ERROR_BYTES];
        (void)snprintf(reason, sizeof(reason), "%s", entry->reason);
        onnxd_http_hide_paths(reason);
        write_member(writer->text, ",\"reason\":", reason);
    }
    onnxd_strbuf_puts(writer->text, "}");
    writer->has_entry = true;
}

void onnxd_http_handle_repository_index(onnxd_http_exchange *exchange)
{
    onnxd_json_reader reader;
    index_writer writer = {.text = &exchange->response.text};
    if (exchange->body.length > 0) {
        onnxd_json_init(&reader, exchange->body.data, exchange->body.length);
        onnxd_status *status = read_members(&reader, &writer.only_ready);
        if (status != NULL) {
            onnxd_http_exchange_fail(exchange, status);
            return;
        }
    }
    onnxd_strbuf_puts(writer.text, "[");
    onnxd_store_visit(exchange->server->services.store, write_entry, &writer);
    onnxd_strbuf_puts(writer.text, "]");
    onnxd_http_answer_json(exchange);
}
