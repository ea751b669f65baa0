/* Every golden case, in every way its bytes can arrive. */
#include <stdio.h>
#include <string.h>

#include <criterion/criterion.h>

#include "fake_backend.h"
#include "golden.h"
#include "loopback.h"

/* Requests longer than this are not split at every offset. */
#define SPLIT_EVERYWHERE_BYTES 1200
#define SPLIT_STEP 997

static const char probe[] = "GET /v2/health/live HTTP/1.1\r\nHost: probe\r\n\r\n";
static const char probe_answer[] = "{\"live\":true}";

/* Small limits, so that cases at the limits stay short; large ones are tested by their number. */
static onnxd_http_options case_options(void)
{
    onnxd_http_options options = onnxd_http_options_default();
    options.max_body_bytes = 65536;
    options.max_json_body_bytes = 32768;
    options.max_control_body_bytes = 4096;
    options.lingering_bytes = 8192;
    options.max_chunks = 64;
    options.max_chunk_overhead_bytes = 512;
    options.max_trailer_bytes = 256;
    options.keepalive_requests = UINT32_MAX;
    return options;
}

static void check_response(const char *where, const golden_response *expected,
                           const test_response *got)
{
    cr_assert_eq(got->status, expected->status, "%s: status %d, expected %d: %.*s", where,
                 got->status, expected->status, (int)got->body_bytes, got->body);
    if (got->status >= 400) {
        cr_assert(got->body_bytes == 0 || memcmp(got->body, "{\"error\":\"", 10) == 0,
                  "%s: an error without JSON: %.*s", where, (int)got->body_bytes, got->body);
        cr_assert(memmem(got->body, got->body_bytes, "/work", 5) == NULL &&
                      memmem(got->body, got->body_bytes, "0x7f", 4) == NULL,
                  "%s: an error says too much", where);
    }
    for (size_t i = 0; i < expected->check_count; i++) {
        const golden_check *check = &expected->checks[i];
        if (check->kind == '@') {
            char name[64];
            const char *colon = strchr(check->text, ':');
            (void)snprintf(name, sizeof(name), "%.*s", (int)(colon - check->text), check->text);
            cr_assert_str_eq(response_field(got, name), colon + 2, "%s: field %s", where, name);
        } else if (check->kind == '=') {
            cr_assert(got->body_bytes == check->length &&
                          memcmp(got->body, check->text, check->length) == 0,
                      "%s: body is %.*s\nexpected %s", where, (int)got->body_bytes, got->body,
                      check->text);
        } else {
            cr_assert(memmem(got->body, got->body_bytes, check->text, check->length) != NULL,
                      "%s: body is %.*s\nwithout %s", where, (int)got->body_bytes, got->body,
                      check->text);
        }
    }
}

/* All expected responses, then that of the probe when it was sent and the connection lives. */
static void check_received(const char *where, const golden_case *wanted, const test_client *client,
                           bool expects_probe)
{
    size_t position = 0;
    test_response got;
    for (size_t i = 0; i < wanted->response_count; i++) {
        bool is_head = strncmp(wanted->request.data, "HEAD ", 5) == 0;
        cr_assert(next_response(&client->received, &position, is_head, &got),
                  "%s: response %zu is missing; received %zu bytes: %s", where, i,
                  client->received.length,
                  client->received.length > 0 ? client->received.data : "");
        check_response(where, &wanted->responses[i], &got);
    }
    if (expects_probe) {
        cr_assert(next_response(&client->received, &position, false, &got) && got.status == 200 &&
                      got.body_bytes == strlen(probe_answer) &&
                      memcmp(got.body, probe_answer, got.body_bytes) == 0,
                  "%s: the next request was not answered; received %s", where,
                  client->received.data + position);
    }
    cr_assert_eq(position, client->received.length, "%s: more than was expected: %s", where,
                 client->received.length > position ? client->received.data + position : "");
}

/* Sends the case's bytes as [0,split) and the rest, or one by one, with the probe glued on or sent
 * afterwards, and checks everything. */
static void run(onnxd_http_server *server, const golden_case *wanted, size_t split, bool one_by_one,
                bool is_coalesced)
{
    char where[256];
    (void)snprintf(where, sizeof(where), "%s (split at %zu%s%s)", wanted->name, split,
                   one_by_one ? ", byte by byte" : "", is_coalesced ? ", coalesced" : "");
    test_client client;
    onnxd_strbuf text;
    onnxd_strbuf_init(&text, SIZE_MAX - 1);
    onnxd_strbuf_puts(&text, ""); /* also an empty request has an address */
    onnxd_strbuf_append(&text, wanted->request.data, wanted->request.length);
    if (is_coalesced)
        onnxd_strbuf_puts(&text, probe);
    client_open(&client, server);
    if (one_by_one) {
        for (size_t i = 0; i < text.length; i++)
            client_send(&client, text.data + i, 1);
    } else {
        client_send(&client, text.data, split);
        client_send(&client, text.data + split, text.length - split);
    }
    if (wanted->ends)
        client_end(&client);
    if (!is_coalesced)
        check_received(where, wanted, &client, false);
    cr_assert_eq(client.saw_end, !wanted->stays_open, "%s: the connection %s", where,
                 client.saw_end ? "was closed" : "stays open");
    if (!is_coalesced && !wanted->ends)
        client_send_text(&client, probe);
    check_received(where, wanted, &client, wanted->stays_open && !wanted->ends);
    client_finish(&client);
    onnxd_strbuf_deinit(&text);
    cr_assert_eq(fake.live_requests, 0u, "%s: a request is left", where);
}

static size_t run_file(const char *name)
{
    char path[512];
    (void)snprintf(path, sizeof(path), "%s/%s", ONNXD_HTTP_CASES, name);
    golden_case *cases = golden_load(path);
    onnxd_http_options options = case_options();
    onnxd_http_server *server = test_server_start(&options);
    size_t count = 0;
    for (const golden_case *at = cases; at != NULL; at = at->next, count++) {
        size_t length = at->request.length;
        run(server, at, length, false, false);
        if (!at->ends)
            run(server, at, length, false, true);
        if (length <= SPLIT_EVERYWHERE_BYTES)
            run(server, at, 0, true, false);
        size_t step = length <= SPLIT_EVERYWHERE_BYTES ? 1 : SPLIT_STEP;
        for (size_t split = 1; split < length; split += step)
            run(server, at, split, false, false);
    }
    test_server_stop(server);
    golden_free(cases);
    return count;
}

#define GOLDEN_FILE(name, least)                                                                   \
    Test(golden, name)                                                                             \
    {                                                                                              \
        size_t count = run_file(#name ".txt");                                                     \
        cr_assert_geq(count, (size_t)(least), "only %zu cases", count);                            \
    }

GOLDEN_FILE(framing, 60)
GOLDEN_FILE(chunked, 30)
GOLDEN_FILE(target, 25)
GOLDEN_FILE(routes, 25)
GOLDEN_FILE(infer_json, 60)
GOLDEN_FILE(infer_binary, 25)
