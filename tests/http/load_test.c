/* Limits across connections, large bodies, draining, and what a small request costs. */
#include <stdio.h>
#include <string.h>

#include <criterion/criterion.h>

#include "base/alloc.h"
#include "fake_backend.h"
#include "http/conn_internal.h"
#include "loopback.h"

#define HEALTH "GET /v2/health/live HTTP/1.1\r\nHost: x\r\n\r\n"
#define READY "GET /v2/health/ready HTTP/1.1\r\nHost: x\r\n\r\n"
#define INFER                                                                                      \
    "POST /v2/models/echo_int32/infer HTTP/1.1\r\nHost: x\r\nContent-Length: 67\r\n\r\n"           \
    "{\"inputs\":[{\"name\":\"x\",\"shape\":[1],\"datatype\":\"INT32\",\"data\":[1]}]}"

static void expect_next(const test_client *client, size_t *position, int status, const char *part)
{
    test_response got;
    cr_assert(next_response(&client->received, position, false, &got), "no response, received: %s",
              client->received.data != NULL ? client->received.data : "");
    cr_assert_eq(got.status, status, "%d: %.*s", got.status, (int)got.body_bytes, got.body);
    cr_assert(memmem(got.body, got.body_bytes, part, strlen(part)) != NULL, "%.*s",
              (int)got.body_bytes, got.body);
}

static const char *last_field(const test_client *client, const char *name)
{
    size_t position = 0;
    test_response got = {0};
    while (next_response(&client->received, &position, false, &got))
        ;
    return response_field(&got, name);
}

/* -- refusals ---------------------------------------------------------------------------------- */

Test(load, refuses_when_the_queue_is_full)
{
    onnxd_http_options options = onnxd_http_options_default();
    options.retry_after_s = 7;
    onnxd_http_server *server = test_server_start(&options);
    test_client client;
    size_t position = 0;
    client_open(&client, server);
    fake.is_full = true;
    client_send_text(&client, INFER);
    expect_next(&client, &position, 503, "Exceeds maximum queue size");
    cr_assert_str_eq(last_field(&client, "Retry-After"), "7");
    fake.is_full = false;
    client_send_text(&client, INFER);
    expect_next(&client, &position, 200, "\"data\":[1]");
    client_finish(&client);
    test_server_stop(server);
}

Test(load, says_how_a_request_failed)
{
    static const struct {
        onnxd_code code;
        int status;
    } cases[] = {{ONNXD_KERNEL_FAILED, 500},     {ONNXD_INTERNAL, 500},
                 {ONNXD_DEADLINE_EXCEEDED, 504}, {ONNXD_OUT_OF_MEMORY, 503},
                 {ONNXD_INVALID_ARGUMENT, 400},  {ONNXD_UNAVAILABLE, 503},
                 {ONNXD_CANCELLED, 503}};
    onnxd_http_options options = onnxd_http_options_default();
    onnxd_http_server *server = test_server_start(&options);
    test_client client;
    size_t position = 0;
    client_open(&client, server);
    for (size_t i = 0; i < ONNXD_COUNT(cases); i++) {
        fake.fails = cases[i].code;
        client_send_text(&client, INFER);
        expect_next(&client, &position, cases[i].status, "conv1");
    }
    client_finish(&client);
    test_server_stop(server);
}

Test(load, does_not_say_where_files_lie)
{
    onnxd_http_options options = onnxd_http_options_default();
    onnxd_http_server *server = test_server_start(&options);
    test_client client;
    size_t position = 0;
    client_open(&client, server);
    client_send_text(&client, "GET /v2/models/broken HTTP/1.1\r\nHost: x\r\n\r\n");
    expect_next(&client, &position, 503, "it is broken: file 'model.onnx' has 3 bytes");
    client_finish(&client);
    test_server_stop(server);
}

Test(load, refuses_beyond_max_inflight_requests)
{
    onnxd_http_options options = onnxd_http_options_default();
    options.max_inflight_requests = 2;
    onnxd_http_server *server = test_server_start(&options);
    test_client clients[3];
    size_t position = 0;
    fake.holds = true;
    for (size_t i = 0; i < 3; i++) {
        client_open(&clients[i], server);
        client_send_text(&clients[i], INFER);
    }
    cr_assert_eq(fake.held_count, 2u);
    expect_next(&clients[2], &position, 503, "in flight");
    cr_assert_not(clients[2].saw_end, "the body was short: the connection goes on");
    client_send_text(&clients[2], HEALTH);
    expect_next(&clients[2], &position, 200, "live");
    fake_release_held();
    for (size_t i = 0; i < 3; i++)
        client_finish(&clients[i]);
    test_server_stop(server);
}

Test(load, refuses_beyond_max_inflight_bytes)
{
    onnxd_http_options options = onnxd_http_options_default();
    options.max_inflight_bytes = 1000;
    onnxd_http_server *server = test_server_start(&options);
    test_client client;
    size_t position = 0;
    client_open(&client, server);
    client_send_text(&client, "POST /v2/models/echo_int32/infer HTTP/1.1\r\nHost: x\r\n"
                              "Expect: 100-continue\r\nContent-Length: 1001\r\n\r\n");
    expect_next(&client, &position, 503, "memory");
    cr_assert(client.saw_end, "before the body is read");
    client_finish(&client);

    char chunk[1010] = "3e9\r\n";
    memset(chunk + 5, ' ', sizeof(chunk) - 5);
    position = 0;
    client_open(&client, server);
    client_send_text(&client, "POST /v2/models/echo_int32/infer HTTP/1.1\r\nHost: x\r\n"
                              "Transfer-Encoding: chunked\r\n\r\n");
    client_send(&client, chunk, sizeof(chunk));
    expect_next(&client, &position, 503, "memory");
    cr_assert(client.saw_end);
    client_finish(&client);
    cr_assert_eq(server->inflight_bytes, 0u);
    test_server_stop(server);
}

/* Two bodies of which each fits and both together do not. */
Test(load, reserves_declared_bodies)
{
    static const char head[] = "POST /v2/models/echo_int32/infer HTTP/1.1\r\nHost: x\r\n"
                               "Content-Length: 600\r\n\r\n";
    char body[600];
    memset(body, ' ', sizeof(body));
    onnxd_http_options options = onnxd_http_options_default();
    options.max_inflight_bytes = 1000;
    onnxd_http_server *server = test_server_start(&options);
    test_client first, second;
    client_open(&first, server);
    client_open(&second, server);
    client_send_text(&first, head);
    cr_assert_eq(server->inflight_bytes, 600u);
    client_send_text(&second, head);
    client_send(&second, body, sizeof(body));
    size_t position = 0;
    expect_next(&second, &position, 503, "memory");
    client_send(&first, body, sizeof(body));
    size_t first_position = 0;
    expect_next(&first, &first_position, 400, "");
    cr_assert_eq(server->inflight_bytes, 0u);
    client_send_text(&second, head);
    cr_assert_eq(server->inflight_bytes, 600u);
    client_send(&second, body, sizeof(body));
    expect_next(&second, &position, 400, "");
    client_finish(&first);
    client_finish(&second);
    test_server_stop(server);
}

Test(load, takes_no_memory_for_what_a_client_only_claims)
{
    onnxd_http_options options = onnxd_http_options_default();
    onnxd_http_server *server = test_server_start(&options);
    test_client client;
    client_open(&client, server);
    client_send_text(&client, "POST /v2/models/echo_int32/infer HTTP/1.1\r\nHost: x\r\n"
                              "Inference-Header-Content-Length: 10\r\n"
                              "Content-Length: 67000000\r\n\r\nabc");
    const onnxd_http_exchange *exchange = client.conn->receiving;
    cr_assert_leq(exchange->body.capacity, 64u);
    client_finish(&client);
    client_open(&client, server);
    client_send_text(&client,
                     "POST /v2/models/echo_fp32/infer HTTP/1.1\r\nHost: x\r\n"
                     "Content-Length: 72\r\n\r\n"
                     "{\"inputs\":[{\"name\":\"x\",\"shape\":[1000000],\"datatype\":\"FP32\","
                     "\"data\":[1]}]}");
    cr_assert_eq(fake.input_bytes, 0u);
    client_finish(&client);
    test_server_stop(server);
}

/* -- large bodies ------------------------------------------------------------------------------ */

#define LARGE_COUNT 100000

static void make_large(onnxd_strbuf *text)
{
    onnxd_strbuf body;
    onnxd_strbuf_init(&body, 1u << 24);
    onnxd_strbuf_init(text, 1u << 24);
    onnxd_strbuf_printf(
        &body, "{\"inputs\":[{\"name\":\"x\",\"shape\":[%d],\"datatype\":\"INT32\",\"data\":[0",
        LARGE_COUNT);
    for (int i = 1; i < LARGE_COUNT; i++)
        onnxd_strbuf_printf(&body, ",%d", i);
    onnxd_strbuf_puts(&body, "]}]}");
    onnxd_strbuf_printf(text,
                        "POST /v2/models/echo_int32/infer HTTP/1.1\r\nHost: x\r\n"
                        "Content-Length: %zu\r\n\r\n",
                        body.length);
    onnxd_strbuf_append(text, body.data, body.length);
    onnxd_strbuf_deinit(&body);
}

Test(load, decodes_and_encodes_large_bodies_off_the_loop)
{
    onnxd_http_options options = onnxd_http_options_default();
    onnxd_http_server *server = test_server_start(&options);
    test_client client;
    size_t position = 0;
    onnxd_strbuf text;
    make_large(&text);
    client_open(&client, server);
    for (int round = 0; round < 3; round++) {
        client_send(&client, text.data, text.length);
        client_send_text(&client, HEALTH);
        expect_next(&client, &position, 200, ",99998,99999]}]}");
        expect_next(&client, &position, 200, "live");
    }
    client_finish(&client);
    onnxd_strbuf_deinit(&text);
    test_server_stop(server);
}

Test(load, survives_a_client_that_goes_during_a_job)
{
    onnxd_http_options options = onnxd_http_options_default();
    onnxd_http_server *server = test_server_start(&options);
    onnxd_strbuf text;
    make_large(&text);
    for (int round = 0; round < 20; round++) {
        test_client client;
        client_open(&client, server);
        /* Straight to the connection: the job is running when the client goes. */
        for (size_t at = 0; at < text.length; at += ONNXD_HTTP_READ_BYTES) {
            size_t step = text.length - at;
            step = step < ONNXD_HTTP_READ_BYTES ? step : ONNXD_HTTP_READ_BYTES;
            onnxd_http_conn_received(client.conn, text.data + at, step);
        }
        for (int turn = 0; turn < round; turn++)
            uv_run(server->loop, UV_RUN_NOWAIT);
        if (client.conn != NULL && !client.closes)
            onnxd_http_conn_failed(client.conn);
        client_finish(&client);
    }
    while (server->live_exchange_count > 0)
        uv_run(server->loop, UV_RUN_NOWAIT);
    onnxd_strbuf_deinit(&text);
    test_server_stop(server);
}

/* -- cost -------------------------------------------------------------------------------------- */

Test(load, allocates_nothing_for_small_requests)
{
    onnxd_http_options options = onnxd_http_options_default();
    onnxd_http_server *server = test_server_start(&options);
    test_client client;
    client_open(&client, server);
    onnxd_strbuf_append(&client.received, "", 0);
    for (int round = 0; round < 4; round++) {
        onnxd_strbuf_reset(&client.received);
        onnxd_http_conn_received(client.conn, INFER HEALTH, strlen(INFER HEALTH));
        test_server_settle(server);
    }
    onnxd_strbuf_reset(&client.received);
    uint64_t before = onnxd_alloc_query().calls;
    onnxd_http_conn_received(client.conn, INFER HEALTH, strlen(INFER HEALTH));
    test_server_settle(server);
    uint64_t made = onnxd_alloc_query().calls - before;
    cr_assert_eq(made, 2u, "%llu; the stand-in itself makes two for a request and its input",
                 (unsigned long long)made);
    client_finish(&client);
    test_server_stop(server);
}

/* An image of 224 x 224 with three channels of floats. */
#define IMAGE_BYTES ((size_t)3 * 224 * 224 * 4)

static void receive_image(test_client *client)
{
    static char text[512 + IMAGE_BYTES];
    static const char json[] =
        "{\"inputs\":[{\"name\":\"x\",\"shape\":[1,3,224,224],\"datatype\":\"FP32\","
        "\"parameters\":{\"binary_data_size\":602112}}],"
        "\"parameters\":{\"binary_data_output\":true}}";
    int head = snprintf(text, 512,
                        "POST /v2/models/echo_fp32/infer HTTP/1.1\r\nHost: x\r\n"
                        "Inference-Header-Content-Length: %zu\r\nContent-Length: %zu\r\n\r\n%s",
                        strlen(json), strlen(json) + IMAGE_BYTES, json);
    size_t length = (size_t)head + IMAGE_BYTES;
    memset(text + head, 0, IMAGE_BYTES);
    for (size_t at = 0; at < length; at += ONNXD_HTTP_READ_BYTES) {
        size_t step = length - at < ONNXD_HTTP_READ_BYTES ? length - at : ONNXD_HTTP_READ_BYTES;
        onnxd_http_conn_received(client->conn, text + at, step);
    }
    test_server_settle(client->server);
}

Test(load, allocates_nothing_for_the_next_image)
{
    onnxd_http_options options = onnxd_http_options_default();
    onnxd_http_server *server = test_server_start(&options);
    test_client client;
    size_t position = 0;
    client_open(&client, server);
    cr_assert_not_null(onnxd_strbuf_reserve(&client.received, 4 * IMAGE_BYTES));
    receive_image(&client);
    uint64_t before = onnxd_alloc_query().calls;
    receive_image(&client);
    uint64_t made = onnxd_alloc_query().calls - before;
    expect_next(&client, &position, 200, "echo_fp32");
    expect_next(&client, &position, 200, "echo_fp32");
    cr_assert_eq(made, 2u, "%llu; the stand-in itself makes two", (unsigned long long)made);
    client_finish(&client);
    test_server_stop(server);
}

Test(load, keeps_large_buffers_within_a_budget)
{
    enum { COUNT = 40 };
    onnxd_http_options options = onnxd_http_options_default();
    onnxd_http_server *server = test_server_start(&options);
    test_client clients[COUNT];
    fake.holds = true;
    for (size_t i = 0; i < COUNT; i++) {
        client_open(&clients[i], server);
        receive_image(&clients[i]);
    }
    cr_assert_eq(fake.held_count, (uint32_t)COUNT);
    cr_assert_eq(server->kept_bytes, 0u, "what is in use is not spare");
    fake_release_held();
    for (size_t i = 0; i < COUNT; i++)
        client_pump(&clients[i]);
    cr_assert_eq(server->spare_count, (uint32_t)COUNT);
    cr_assert_leq(server->kept_bytes, (size_t)16 << 20);
    cr_assert_gt(server->kept_bytes, ((size_t)16 << 20) - 2 * IMAGE_BYTES);
    for (size_t i = 0; i < COUNT; i++)
        client_finish(&clients[i]);
    test_server_stop(server);
}

/* Every allocation of an exchange fails once, then all from there on: an answer or a closed
 * connection, never a crash or a leak, and the next request is served. */
Test(load, survives_memory_that_is_short)
{
    static const char request[] =
        INFER "POST /v2/models/echo_bytes/infer HTTP/1.1\r\nHost: x\r\n"
              "Inference-Header-Content-Length: 142\r\nContent-Length: 147\r\n\r\n"
              "{\"inputs\":[{\"name\":\"x\",\"shape\":[1],\"datatype\":\"BYTES\",\"parameters\":"
              "{\"binary_data_size\":5}}],\"parameters\":{\"binary_data_output\":true}}         "
              "\x01\x00\x00\x00"
              "a"
              "GET /v2/models/pair HTTP/1.1\r\nHost: x\r\n\r\n"
              "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n"
              "GET /v2/nothing HTTP/1.1\r\nHost: x\r\n\r\n" HEALTH;
    for (int sticky = 0; sticky < 2; sticky++) {
        uint64_t made = 0; /* by the first round, in which none fails */
        for (uint64_t n = 0; n <= made; n++) {
            onnxd_http_options options = onnxd_http_options_default();
            onnxd_http_server *server = test_server_start(&options);
            test_client client;
            client_open(&client, server);
            cr_assert_not_null(onnxd_strbuf_reserve(&client.received, 65536));
            uint64_t before = onnxd_alloc_query().calls;
            onnxd_alloc_fail_at(n, sticky);
            onnxd_http_conn_received(client.conn, request, sizeof(request) - 1);
            test_server_settle(server);
            onnxd_alloc_fail_at(0, 0);
            uint64_t calls = onnxd_alloc_query().calls - before;
            made = calls > made ? calls : made;
            client_finish(&client);

            size_t position = 0;
            client_open(&client, server);
            client_send_text(&client, INFER);
            expect_next(&client, &position, 200, "\"data\":[1]");
            client_finish(&client);
            test_server_stop(server);
        }
        cr_assert_gt(made, 10u);
    }
}

/* -- readiness and draining -------------------------------------------------------------------- */

static void set_true(void *user)
{
    *(bool *)user = true;
}

Test(load, is_ready_when_the_models_are_loaded)
{
    onnxd_http_options options = onnxd_http_options_default();
    onnxd_http_server *server = test_server_start(&options);
    test_client client;
    size_t position = 0;
    client_open(&client, server);
    fake.is_loading = true;
    client_send_text(&client, READY);
    expect_next(&client, &position, 503, "loading");
    fake.is_loading = false;
    client_send_text(&client, READY);
    expect_next(&client, &position, 200, "true");
    fake.is_broken = true;
    client_send_text(&client, READY);
    expect_next(&client, &position, 503, "none of the models is ready");
    fake.is_empty = true;
    client_send_text(&client, READY);
    expect_next(&client, &position, 200, "true");
    client_finish(&client);
    test_server_stop(server);
}

Test(load, drains)
{
    onnxd_http_options options = onnxd_http_options_default();
    onnxd_http_server *server = test_server_start(&options);
    test_client idle, fresh, silent, busy, late;
    size_t position = 0;
    bool is_drained = false;
    client_open(&idle, server);
    client_send_text(&idle, HEALTH);
    client_open(&fresh, server);
    client_open(&silent, server);
    client_open(&busy, server);
    fake.holds = true;
    client_send_text(&busy, INFER);
    onnxd_http_server_drain(server, 30, set_true, &is_drained);

    client_open(&late, server); /* within the grace time */
    client_send_text(&late, READY);
    expect_next(&late, &position, 503, "shutting down");
    cr_assert_str_eq(last_field(&late, "Connection"), "close");
    client_end(&late);
    cr_assert_not_null(idle.conn, "the grace time is not over");
    while (!server->has_closed_listeners)
        uv_run(server->loop, UV_RUN_ONCE);
    client_pump(&idle);
    cr_assert_null(idle.conn);
    cr_assert_not_null(fresh.conn, "what it sends may be on its way");
    client_send_text(&fresh, READY);
    position = 0;
    expect_next(&fresh, &position, 503, "shutting down");
    cr_assert_str_eq(last_field(&fresh, "Connection"), "close");
    client_end(&fresh);
    cr_assert_not_null(silent.conn);
    onnxd_http_server_tick(server, uv_now(server->loop) + 1001);
    client_pump(&silent);
    cr_assert_null(silent.conn, "but it is not waited for");
    cr_assert_not(is_drained, "a request is in flight");

    fake_release_held();
    client_pump(&busy);
    position = 0;
    expect_next(&busy, &position, 200, "\"data\":[1]");
    cr_assert_str_eq(last_field(&busy, "Connection"), "close");
    client_end(&busy);
    cr_assert(is_drained);
    client_finish(&idle);
    client_finish(&fresh);
    client_finish(&silent);
    client_finish(&busy);
    client_finish(&late);
    test_server_stop(server);
}

static void drain_to_the_end_of_grace(onnxd_http_server *server, bool *is_drained)
{
    onnxd_http_server_drain(server, 0, set_true, is_drained);
    while (!server->has_closed_listeners)
        uv_run(server->loop, UV_RUN_ONCE);
}

/* The response was made before the drain, so it could not say that it is the last. */
static void drain_while_writing(const char *requests, unsigned responses)
{
    onnxd_http_options options = onnxd_http_options_default();
    onnxd_http_server *server = test_server_start(&options);
    test_client client;
    bool is_drained = false;
    client_open(&client, server);
    client.blocks_writes = true;
    client_send_text(&client, requests);
    drain_to_the_end_of_grace(server, &is_drained);
    cr_assert_not_null(client.conn, "the response is still being written");
    size_t position = 0;
    for (unsigned i = 0; i < responses; i++) {
        client_unblock(&client, SIZE_MAX);
        expect_next(&client, &position, 200, "live");
    }
    cr_assert(client.saw_end, "nothing follows");
    client_end(&client);
    cr_assert(is_drained);
    client_finish(&client);
    test_server_stop(server);
}

Test(load, drains_a_connection_whose_response_is_being_written)
{
    drain_while_writing(HEALTH, 1);
    drain_while_writing(HEALTH "\r\n", 1);
    drain_while_writing(HEALTH HEALTH, 2);
    drain_while_writing(HEALTH HEALTH "\r\n", 2);
}

Test(load, closes_with_requests_in_flight)
{
    onnxd_http_options options = onnxd_http_options_default();
    onnxd_http_server *server = test_server_start(&options);
    test_client client;
    bool is_closed = false;
    client_open(&client, server);
    fake.holds = true;
    client_send_text(&client, INFER INFER);
    onnxd_http_server_close(server, set_true, &is_closed);
    client_pump(&client);
    cr_assert_null(client.conn);
    cr_assert_eq(fake.cancelled, 2u);
    for (int turn = 0; turn < 5; turn++)
        uv_run(server->loop, UV_RUN_NOWAIT);
    cr_assert_not(is_closed, "two requests have not come back");
    fake_release_held();
    uv_run(server->loop, UV_RUN_DEFAULT);
    cr_assert(is_closed);
    client_finish(&client);
    uv_loop_t *loop = server->loop;
    onnxd_http_server_destroy(server);
    cr_assert_eq(uv_loop_close(loop), 0);
    onnxd_free(loop);
}

Test(load, counts)
{
    onnxd_http_options options = onnxd_http_options_default();
    onnxd_http_server *server = test_server_start(&options);
    test_client client;
    client_open(&client, server);
    client_send_text(&client, HEALTH "GET /x HTTP/1.1\r\nHost: x\r\n\r\n" READY);
    fake.is_full = true;
    client_send_text(&client, INFER);
    onnxd_http_stats stats = onnxd_http_server_query(server);
    cr_assert_eq(stats.requests, 4u);
    cr_assert_eq(stats.responses_2xx, 2u);
    cr_assert_eq(stats.responses_4xx, 1u);
    cr_assert_eq(stats.responses_5xx, 1u);
    cr_assert_eq(stats.connections, 1u);
    cr_assert_eq(stats.in_flight, 0u);
    cr_assert_eq(stats.sent_bytes, client.received.length);
    cr_assert_eq(stats.received_bytes,
                 strlen(HEALTH "GET /x HTTP/1.1\r\nHost: x\r\n\r\n" READY INFER));
    client_finish(&client);
    test_server_stop(server);
}
