/* Connections over time: order, pauses, time limits, ends. */
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include <criterion/criterion.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "fake_backend.h"
#include "http/conn_internal.h"
#include "loopback.h"

#define HEALTH "GET /v2/health/live HTTP/1.1\r\nHost: x\r\n\r\n"

static onnxd_http_server *start(void)
{
    onnxd_http_options options = onnxd_http_options_default();
    return test_server_start(&options);
}

/* An inference request that echoes one number and asks for `id`. */
static void send_infer(test_client *client, unsigned number, const char *parameters)
{
    char body[256], text[512];
    (void)snprintf(body, sizeof(body),
                   "{\"id\":\"%u\"%s,\"inputs\":[{\"name\":\"x\",\"shape\":[1],\"datatype\":"
                   "\"INT32\",\"data\":[%u]}]}",
                   number, parameters, number);
    (void)snprintf(text, sizeof(text),
                   "POST /v2/models/echo_int32/infer HTTP/1.1\r\nHost: x\r\n"
                   "Content-Length: %zu\r\n\r\n%s",
                   strlen(body), body);
    client_send_text(client, text);
}

static void expect_next(const test_client *client, size_t *position, int status, const char *part)
{
    test_response got;
    cr_assert(next_response(&client->received, position, false, &got), "no response, received: %s",
              client->received.data != NULL ? client->received.data : "");
    cr_assert_eq(got.status, status, "%d: %.*s", got.status, (int)got.body_bytes, got.body);
    cr_assert(memmem(got.body, got.body_bytes, part, strlen(part)) != NULL, "%.*s",
              (int)got.body_bytes, got.body);
}

static void expect_nothing_more(const test_client *client, size_t position)
{
    cr_assert_eq(position, client->received.length, "%s", client->received.data + position);
}

/* -- order and pauses -------------------------------------------------------------------------- */

Test(conn, answers_pipelined_requests_in_order)
{
    onnxd_http_server *server = start();
    test_client client;
    size_t position = 0;
    client_open(&client, server);
    fake.holds = true;
    send_infer(&client, 1, "");
    client_send_text(&client, HEALTH);
    send_infer(&client, 2, "");
    cr_assert_eq(fake.held_count, 2u, "both run at the same time");
    cr_assert_eq(client.received.length, 0u, "nothing overtakes the first");
    fake_release_held();
    client_pump(&client);
    expect_next(&client, &position, 200, "\"id\":\"1\"");
    expect_next(&client, &position, 200, "live");
    expect_next(&client, &position, 200, "\"id\":\"2\"");
    expect_nothing_more(&client, position);
    client_finish(&client);
    test_server_stop(server);
}

Test(conn, stops_reading_at_max_pipelined)
{
    onnxd_http_options options = onnxd_http_options_default();
    options.max_pipelined = 3;
    onnxd_http_server *server = test_server_start(&options);
    test_client client;
    size_t position = 0;
    client_open(&client, server);
    fake.holds = true;
    for (unsigned i = 0; i < 10; i++)
        send_infer(&client, i, "");
    cr_assert_eq(fake.held_count, 3u);
    cr_assert_not(client.is_reading);
    cr_assert_gt(client.unsent.length, 0u);
    while (fake.held_count > 0) {
        fake_release_held();
        client_pump(&client);
    }
    for (unsigned i = 0; i < 10; i++) {
        char id[16];
        (void)snprintf(id, sizeof(id), "\"id\":\"%u\"", i);
        expect_next(&client, &position, 200, id);
    }
    cr_assert(client.is_reading);
    client_finish(&client);
    test_server_stop(server);
}

Test(conn, handles_a_thousand_pipelined_requests_in_one_read)
{
    onnxd_http_server *server = start();
    test_client client;
    size_t position = 0;
    onnxd_strbuf text;
    onnxd_strbuf_init(&text, 1u << 20);
    for (unsigned i = 0; i < 1000; i++)
        onnxd_strbuf_puts(&text, HEALTH);
    client_open(&client, server);
    client_send(&client, text.data, text.length);
    for (unsigned i = 0; i < 1000; i++)
        expect_next(&client, &position, 200, "live");
    expect_nothing_more(&client, position);
    client_finish(&client);
    onnxd_strbuf_deinit(&text);
    test_server_stop(server);
}

Test(conn, does_not_read_from_a_client_that_does_not_read)
{
    onnxd_http_server *server = start();
    test_client client;
    size_t position = 0;
    client_open(&client, server);
    client.blocks_writes = true;
    client_send_text(&client, HEALTH HEALTH HEALTH);
    cr_assert_not(client.is_reading);
    cr_assert_eq(client.conn->queue.count, 1u, "the rest is held");
    client_unblock(&client, 10);
    cr_assert_not(client.is_reading, "not all is written");
    client_unblock(&client, SIZE_MAX);
    client_unblock(&client, SIZE_MAX);
    client_unblock(&client, SIZE_MAX);
    for (unsigned i = 0; i < 3; i++)
        expect_next(&client, &position, 200, "live");
    cr_assert(client.is_reading);
    cr_assert_eq(client.conn->held.capacity, 0u, "held input is given back");
    client_finish(&client);
    test_server_stop(server);
}

Test(conn, answers_held_requests_after_the_end)
{
    onnxd_http_server *server = start();
    test_client client;
    size_t position = 0;
    client_open(&client, server);
    client.blocks_writes = true;
    client_send_text(&client, HEALTH HEALTH);
    client_unblock(&client, SIZE_MAX);
    client_unblock(&client, SIZE_MAX);
    client_end(&client);
    expect_next(&client, &position, 200, "live");
    expect_next(&client, &position, 200, "live");
    cr_assert(client.saw_end);
    client_finish(&client);
    test_server_stop(server);
}

Test(conn, closes_when_a_write_fails)
{
    onnxd_http_server *server = start();
    test_client client;
    client_open(&client, server);
    client.refuses_writes = true;
    client_send_text(&client, HEALTH HEALTH);
    cr_assert(client.was_reset);
    client_finish(&client);
    test_server_stop(server);
}

Test(conn, sends_continue_only_when_its_turn_has_come)
{
    onnxd_http_server *server = start();
    test_client client;
    size_t position = 0;
    client_open(&client, server);
    fake.holds = true;
    send_infer(&client, 1, "");
    client_send_text(&client, "POST /v2/models/echo_int32/infer HTTP/1.1\r\nHost: x\r\n"
                              "Expect: 100-continue\r\nContent-Length: 2\r\n\r\n");
    cr_assert_eq(client.received.length, 0u);
    fake_release_held();
    client_pump(&client);
    expect_next(&client, &position, 200, "\"id\":\"1\"");
    expect_next(&client, &position, 100, "");
    client_send_text(&client, "{}");
    expect_next(&client, &position, 400, "missing");
    client_finish(&client);
    test_server_stop(server);
}

Test(conn, writes_continue_in_pieces)
{
    onnxd_http_server *server = start();
    test_client client;
    size_t position = 0;
    client_open(&client, server);
    client.blocks_writes = true;
    client_send_text(&client, "POST /v2/models/echo_int32/infer HTTP/1.1\r\nHost: x\r\n"
                              "Expect: 100-continue\r\nContent-Length: 2\r\n\r\n");
    client_unblock(&client, 5);
    client_unblock(&client, SIZE_MAX);
    expect_next(&client, &position, 100, "");
    client_send_text(&client, "{}");
    client_unblock(&client, SIZE_MAX);
    expect_next(&client, &position, 400, "missing");
    client_finish(&client);
    test_server_stop(server);
}

/* -- the end of a connection ------------------------------------------------------------------- */

Test(conn, ends_after_keepalive_requests)
{
    onnxd_http_options options = onnxd_http_options_default();
    options.keepalive_requests = 3;
    onnxd_http_server *server = test_server_start(&options);
    test_client client;
    size_t position = 0;
    client_open(&client, server);
    client_send_text(&client, HEALTH HEALTH);
    cr_assert_not(client.saw_end);
    client_send_text(&client, HEALTH HEALTH);
    for (unsigned i = 0; i < 3; i++)
        expect_next(&client, &position, 200, "live");
    expect_nothing_more(&client, position);
    cr_assert(client.saw_end);
    client_finish(&client);
    test_server_stop(server);
}

Test(conn, ends_at_its_age)
{
    onnxd_http_options options = onnxd_http_options_default();
    options.keepalive_max_age_ms = 0;
    onnxd_http_server *server = test_server_start(&options);
    test_client client;
    size_t position = 0;
    client_open(&client, server);
    client_send_text(&client, HEALTH);
    expect_next(&client, &position, 200, "live");
    cr_assert(client.saw_end);
    client_finish(&client);
    test_server_stop(server);
}

Test(conn, lingers_then_closes)
{
    onnxd_http_options options = onnxd_http_options_default();
    options.lingering_bytes = 1000;
    onnxd_http_server *server = test_server_start(&options);
    test_client client;
    char junk[600];
    memset(junk, 'x', sizeof(junk));
    client_open(&client, server);
    client_send_text(&client, "nonsense\r\n\r\n");
    cr_assert(client.saw_end);
    cr_assert_not_null(client.conn);
    client_send(&client, junk, sizeof(junk));
    cr_assert_not_null(client.conn, "it reads on, so that the response is not lost");
    client_send(&client, junk, sizeof(junk));
    cr_assert_null(client.conn, "but not for ever");
    client_finish(&client);

    client_open(&client, server);
    client_send_text(&client, "nonsense\r\n\r\n");
    client_end(&client);
    cr_assert_null(client.conn, "until the client's end");
    client_finish(&client);

    client_open(&client, server);
    client_send_text(&client, "nonsense\r\n\r\n");
    onnxd_http_server_tick(server, uv_now(server->loop) + options.lingering_timeout_ms);
    client_pump(&client);
    cr_assert_null(client.conn, "or its time is over");
    client_finish(&client);
    test_server_stop(server);
}

Test(conn, cancels_when_the_client_goes)
{
    onnxd_http_server *server = start();
    test_client client;
    client_open(&client, server);
    fake.holds = true;
    send_infer(&client, 1, "");
    send_infer(&client, 2, "");
    client_end(&client);
    cr_assert_null(client.conn);
    cr_assert_eq(fake.cancelled, 2u);
    cr_assert_eq(fake.live_requests, 2u, "what runs is not taken away");
    client_finish(&client);

    client_open(&client, server);
    send_infer(&client, 3, "");
    client_reset(&client);
    cr_assert_eq(fake.cancelled, 3u);
    fake_release_held();
    test_server_settle(server);
    cr_assert_eq(fake.live_requests, 0u);
    cr_assert_eq(server->live_exchange_count, 0u);
    client_finish(&client);
    test_server_stop(server);
}

Test(conn, answers_what_needs_no_wait_after_a_half_close)
{
    onnxd_http_server *server = start();
    test_client client;
    size_t position = 0;
    client_open(&client, server);
    client.sends_end = true; /* right behind the request */
    client_send_text(&client, HEALTH);
    expect_next(&client, &position, 200, "live");
    cr_assert_null(client.conn);
    cr_assert_not(client.was_reset);
    client_finish(&client);

    position = 0;
    client_open(&client, server);
    client.blocks_writes = true;
    send_infer(&client, 1, "");
    client_unblock(&client, 10);
    client_end(&client);
    cr_assert_not_null(client.conn, "the response is being written");
    client_unblock(&client, SIZE_MAX);
    expect_next(&client, &position, 200, "\"id\":\"1\"");
    cr_assert_null(client.conn);
    client_finish(&client);
    test_server_stop(server);
}

/* A client that vanishes behind any byte of its request, or before any byte of the response. */
Test(conn, survives_a_reset_anywhere)
{
    static const char request[] =
        "POST /v2/models/echo_int32/infer HTTP/1.1\r\nHost: x\r\nContent-Length: 67\r\n\r\n"
        "{\"inputs\":[{\"name\":\"x\",\"shape\":[1],\"datatype\":\"INT32\",\"data\":[1]}]}" HEALTH;
    onnxd_http_server *server = start();
    for (size_t at = 0; at < sizeof(request) - 1; at++) {
        for (int way = 0; way < 3; way++) {
            test_client client;
            client_open(&client, server);
            fake.holds = way == 1;
            client.blocks_writes = way == 2;
            client_send(&client, request, at);
            client_unblock(&client, at);
            client_reset(&client);
            cr_assert_null(client.conn);
            fake_release_held();
            test_server_settle(server);
            client_finish(&client);
            cr_assert_eq(fake.live_requests, 0u);
        }
    }
    test_server_stop(server);
}

/* -- time -------------------------------------------------------------------------------------- */

static void tick_after(const onnxd_http_server *server, test_client *client, uint64_t ms)
{
    onnxd_http_server_tick((onnxd_http_server *)server, uv_now(server->loop) + ms);
    client_pump(client);
}

Test(conn, closes_silently_when_nothing_is_sent)
{
    onnxd_http_server *server = start();
    test_client client;
    client_open(&client, server);
    tick_after(server, &client, 9000);
    cr_assert_not_null(client.conn);
    tick_after(server, &client, 10000);
    cr_assert_null(client.conn);
    cr_assert_eq(client.received.length, 0u);
    client_finish(&client);
    test_server_stop(server);
}

Test(conn, limits_the_time_of_a_head)
{
    onnxd_http_server *server = start();
    test_client client;
    size_t position = 0;
    client_open(&client, server);
    client_send_text(&client, "GET /v2/health/live HTTP/1.1\r\n");
    uint64_t due_ms = client.conn->input_due_ms;
    client_send_text(&client, "Host: x\r\n");
    cr_assert_eq(client.conn->input_due_ms, due_ms, "a further byte buys no time");
    tick_after(server, &client, 10001);
    expect_next(&client, &position, 408, "head");
    cr_assert(client.saw_end);
    client_finish(&client);
    test_server_stop(server);
}

/* One read ends a head and begins the next. */
Test(conn, gives_each_pipelined_head_its_time)
{
    onnxd_http_server *server = start();
    test_client client;
    size_t position = 0;
    client_open(&client, server);
    client_send_text(&client, "GET /v2/health/live HTTP/1.1\r\n");
    client.conn->input_due_ms -= 9000; /* as if it had begun nine seconds ago */
    client_send_text(&client, "Host: x\r\n\r\nGET /v2/health/live HTTP/1.1\r\n");
    expect_next(&client, &position, 200, "live");
    tick_after(server, &client, 5000);
    expect_nothing_more(&client, position);
    tick_after(server, &client, 10001);
    expect_next(&client, &position, 408, "head");
    client_finish(&client);
    test_server_stop(server);
}

Test(conn, limits_the_silence_within_a_body)
{
    onnxd_http_server *server = start();
    test_client client;
    size_t position = 0;
    client_open(&client, server);
    client_send_text(&client, "POST /v2/models/echo_int32/infer HTTP/1.1\r\nHost: x\r\n"
                              "Content-Length: 100\r\n\r\n{");
    tick_after(server, &client, 9000);
    cr_assert_eq(client.received.length, 0u);
    tick_after(server, &client, 30001);
    expect_next(&client, &position, 408, "body");
    cr_assert(client.saw_end);
    client_finish(&client);
    test_server_stop(server);
}

Test(conn, limits_the_slowness_of_a_body)
{
    onnxd_http_server *server = start();
    test_client client;
    size_t position = 0;
    char body[16384 * 11] = "";
    memset(body, ' ', sizeof(body));
    client_open(&client, server);
    client_send_text(&client, "POST /v2/models/echo_int32/infer HTTP/1.1\r\nHost: x\r\n"
                              "Content-Length: 1000000\r\n\r\n");
    client_send(&client, body, sizeof(body));
    tick_after(server, &client, 11000);
    cr_assert_eq(client.received.length, 0u, "16 KiB a second");
    tick_after(server, &client, 12000);
    expect_next(&client, &position, 408, "slowly");
    client_finish(&client);
    test_server_stop(server);
}

/* Nothing else is due before the check on a connection that has been used. */
Test(conn, looks_at_the_rate_of_a_later_body)
{
    onnxd_http_server *server = start();
    test_client client;
    client_open(&client, server);
    client_send_text(&client, HEALTH);
    onnxd_http_server_tick(server, uv_now(server->loop)); /* forgets what has become pointless */
    cr_assert_gt(server->timer_due_ms, uv_now(server->loop) + 60000);
    client_send_text(&client, "POST /v2/models/echo_int32/infer HTTP/1.1\r\nHost: x\r\n"
                              "Content-Length: 1000000\r\n\r\n ");
    cr_assert_leq(server->timer_due_ms, uv_now(server->loop) + 10000);
    client_finish(&client);
    test_server_stop(server);
}

/* The client waits for "100 Continue", which waits for an earlier answer. */
Test(conn, does_not_hurry_a_client_that_waits_for_us)
{
    onnxd_http_options options = onnxd_http_options_default();
    options.default_timeout_us = options.max_timeout_us = 1000000000;
    onnxd_http_server *server = test_server_start(&options);
    test_client client;
    size_t position = 0;
    client_open(&client, server);
    fake.holds = true;
    send_infer(&client, 1, "");
    client_send_text(&client, "POST /v2/models/echo_int32/infer HTTP/1.1\r\nHost: x\r\n"
                              "Expect: 100-continue\r\nContent-Length: 2\r\n\r\n");
    tick_after(server, &client, 100000);
    cr_assert_eq(client.received.length, 0u);
    fake_release_held();
    client_pump(&client);
    expect_next(&client, &position, 200, "\"id\":\"1\"");
    expect_next(&client, &position, 100, "");
    tick_after(server, &client, 10001);
    expect_next(&client, &position, 408, "slowly");
    client_finish(&client);
    test_server_stop(server);
}

Test(conn, limits_the_idle_time)
{
    onnxd_http_server *server = start();
    test_client client;
    client_open(&client, server);
    client_send_text(&client, HEALTH);
    size_t length = client.received.length;
    tick_after(server, &client, 74000);
    cr_assert_not_null(client.conn);
    tick_after(server, &client, 75000);
    cr_assert_null(client.conn);
    cr_assert_eq(client.received.length, length);
    client_finish(&client);
    test_server_stop(server);
}

Test(conn, limits_a_send_without_progress)
{
    onnxd_http_server *server = start();
    test_client client;
    client_open(&client, server);
    client.blocks_writes = true;
    client_send_text(&client, HEALTH);
    client_unblock(&client, 10);
    tick_after(server, &client, 30001);
    cr_assert_not_null(client.conn, "ten bytes went");
    tick_after(server, &client, 60002);
    cr_assert_null(client.conn);
    cr_assert(client.was_reset);
    client_finish(&client);
    test_server_stop(server);
}

Test(conn, has_no_limit_while_a_request_runs)
{
    onnxd_http_options options = onnxd_http_options_default();
    options.default_timeout_us = options.max_timeout_us = 1000000000;
    onnxd_http_server *server = test_server_start(&options);
    test_client client;
    size_t position = 0;
    client_open(&client, server);
    fake.holds = true;
    send_infer(&client, 1, "");
    tick_after(server, &client, 900000);
    cr_assert_not_null(client.conn);
    fake_release_held();
    client_pump(&client);
    expect_next(&client, &position, 200, "\"id\":\"1\"");
    client_finish(&client);
    test_server_stop(server);
}

Test(conn, answers_504_at_the_deadline)
{
    onnxd_http_server *server = start();
    test_client client;
    size_t position = 0;
    client_open(&client, server);
    fake.holds = true;
    send_infer(&client, 1, ",\"parameters\":{\"timeout\":5000000}");
    tick_after(server, &client, 4900);
    cr_assert_eq(client.received.length, 0u);
    tick_after(server, &client, 5100);
    expect_next(&client, &position, 504, "deadline");
    cr_assert_eq(fake.cancelled, 1u);
    cr_assert_eq(fake.live_requests, 1u, "the kernel still runs");
    client_send_text(&client, HEALTH);
    expect_next(&client, &position, 200, "live");
    fake_release_held();
    client_pump(&client);
    expect_nothing_more(&client, position);
    cr_assert_eq(fake.live_requests, 0u);
    client_finish(&client);
    test_server_stop(server);
}

/* The loop's idea of the time is old when its turn has been long. */
Test(conn, counts_the_deadline_as_the_scheduler_does)
{
    onnxd_http_server *server = start();
    test_client client;
    client_open(&client, server);
    fake.holds = true;
    client.is_reading = false; /* until the loop's time is old */
    send_infer(&client, 1, ",\"parameters\":{\"timeout\":5000000}");
    (void)poll(NULL, 0, 60);
    onnxd_http_conn_received(client.conn, client.unsent.data, client.unsent.length);
    onnxd_strbuf_reset(&client.unsent);
    client.is_reading = true;
    const onnxd_http_exchange *exchange =
        ONNXD_CONTAINER_OF(client.conn->queue.head, onnxd_http_exchange, link);
    int64_t before_ns = onnxd_now_ns();
    uv_update_time(server->loop);
    int64_t left_ms = (int64_t)(exchange->deadline_ms - uv_now(server->loop));
    int64_t after_ns = onnxd_now_ns();
    cr_assert_geq(left_ms, (fake.last_deadline_ns - after_ns) / 1000000);
    cr_assert_leq(left_ms, (fake.last_deadline_ns - before_ns) / 1000000 + 3);
    fake_release_held();
    client_finish(&client);
    test_server_stop(server);
}

Test(conn, gives_the_timeout_that_is_asked_for_up_to_the_limit)
{
    static const struct {
        const char *parameters;
        uint64_t least_ms, most_ms;
    } cases[] = {{"", 29000, 30000},
                 {",\"parameters\":{\"timeout\":0}", 29000, 30000},
                 {",\"parameters\":{\"timeout\":2000000}", 1000, 2000},
                 {",\"parameters\":{\"timeout\":90000000}", 89000, 90000},
                 {",\"parameters\":{\"timeout\":130000000}", 119000, 120000},
                 {",\"parameters\":{\"timeout\":18446744073709551615}", 119000, 120000}};
    onnxd_http_server *server = start();
    for (size_t i = 0; i < ONNXD_COUNT(cases); i++) {
        test_client client;
        client_open(&client, server);
        fake.holds = true;
        send_infer(&client, 1, cases[i].parameters);
        const onnxd_http_exchange *exchange =
            ONNXD_CONTAINER_OF(client.conn->queue.head, onnxd_http_exchange, link);
        uint64_t left_ms = (uint64_t)(fake.last_deadline_ns - exchange->infer.begun_ns) / 1000000;
        cr_assert(left_ms >= cases[i].least_ms && left_ms <= cases[i].most_ms, "%s: %llu",
                  cases[i].parameters, (unsigned long long)left_ms);
        fake_release_held();
        client_finish(&client);
    }
    test_server_stop(server);
}
