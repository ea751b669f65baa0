/* Connections over time: every limit of time, and deadlines. */
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include <criterion/criterion.h>

#include "base/clock.h"
#include "conn_support.h"
#include "fake_backend.h"
#include "http/conn_internal.h"

static void tick_after(const onnxd_http_server *server, test_client *client, uint64_t ms)
{
    onnxd_http_server_tick((onnxd_http_server *)server, uv_now(server->loop) + ms);
    client_pump(client);
}

Test(conn, closes_silently_when_nothing_is_sent)
{
    onnxd_http_server *server = test_start_default();
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

/* No request runs out of time before what the connection itself limits. */
static onnxd_http_server *start_with_long_timeouts(void)
{
    onnxd_http_options options = onnxd_http_options_default();
    options.default_timeout_us = options.max_timeout_us = 1000000000;
    return test_server_start(&options);
}

Test(conn, limits_the_time_of_a_head)
{
    onnxd_http_server *server = test_start_default();
    test_client client;
    size_t position = 0;
    client_open(&client, server);
    client_send_text(&client, "GET /v2/health/live HTTP/1.1\r\n");
    uint64_t due_ms = client.conn->input_due_ms;
    client_send_text(&client, "Host: x\r\n");
    cr_assert_eq(client.conn->input_due_ms, due_ms, "a further byte buys no time");
    tick_after(server, &client, 10001);
    expect_next_response(&client, &position, 408, "head");
    cr_assert(client.saw_end);
    client_finish(&client);
    test_server_stop(server);
}

/* One read ends a head and begins the next. */
Test(conn, gives_each_pipelined_head_its_time)
{
    onnxd_http_server *server = test_start_default();
    test_client client;
    size_t position = 0;
    client_open(&client, server);
    client_send_text(&client, "GET /v2/health/live HTTP/1.1\r\n");
    client.conn->input_due_ms -= 9000; /* as if it had begun nine seconds ago */
    client_send_text(&client, "Host: x\r\n\r\nGET /v2/health/live HTTP/1.1\r\n");
    expect_next_response(&client, &position, 200, "live");
    tick_after(server, &client, 5000);
    expect_nothing_more(&client, position);
    tick_after(server, &client, 10001);
    expect_next_response(&client, &position, 408, "head");
    client_finish(&client);
    test_server_stop(server);
}

Test(conn, limits_the_silence_within_a_body)
{
    onnxd_http_server *server = test_start_default();
    test_client client;
    size_t position = 0;
    client_open(&client, server);
    client_send_text(&client, "POST /v2/models/echo_int32/infer HTTP/1.1\r\nHost: x\r\n"
                              "Content-Length: 100\r\n\r\n{");
    tick_after(server, &client, 9000);
    cr_assert_eq(client.received.length, 0u);
    tick_after(server, &client, 30001);
    expect_next_response(&client, &position, 408, "body");
    cr_assert(client.saw_end);
    client_finish(&client);
    test_server_stop(server);
}

Test(conn, limits_the_slowness_of_a_body)
{
    onnxd_http_server *server = test_start_default();
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
    expect_next_response(&client, &position, 408, "slowly");
    client_finish(&client);
    test_server_stop(server);
}

/* Nothing else is due before the check on a connection that has been used. */
Test(conn, looks_at_the_rate_of_a_later_body)
{
    onnxd_http_server *server = test_start_default();
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
    onnxd_http_server *server = start_with_long_timeouts();
    test_client client;
    size_t position = 0;
    client_open(&client, server);
    fake.holds = true;
    client_send_infer(&client, 1, "");
    client_send_text(&client, "POST /v2/models/echo_int32/infer HTTP/1.1\r\nHost: x\r\n"
                              "Expect: 100-continue\r\nContent-Length: 2\r\n\r\n");
    tick_after(server, &client, 100000);
    cr_assert_eq(client.received.length, 0u);
    fake_release_held();
    client_pump(&client);
    expect_next_response(&client, &position, 200, "\"id\":\"1\"");
    expect_next_response(&client, &position, 100, "");
    tick_after(server, &client, 10001);
    expect_next_response(&client, &position, 408, "slowly");
    client_finish(&client);
    test_server_stop(server);
}

Test(conn, limits_the_idle_time)
{
    onnxd_http_server *server = test_start_default();
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
    onnxd_http_server *server = test_start_default();
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
    onnxd_http_server *server = start_with_long_timeouts();
    test_client client;
    size_t position = 0;
    client_open(&client, server);
    fake.holds = true;
    client_send_infer(&client, 1, "");
    tick_after(server, &client, 900000);
    cr_assert_not_null(client.conn);
    fake_release_held();
    client_pump(&client);
    expect_next_response(&client, &position, 200, "\"id\":\"1\"");
    client_finish(&client);
    test_server_stop(server);
}

Test(conn, answers_504_at_the_deadline)
{
    onnxd_http_server *server = test_start_default();
    test_client client;
    size_t position = 0;
    client_open(&client, server);
    fake.holds = true;
    client_send_infer(&client, 1, ",\"parameters\":{\"timeout\":5000000}");
    tick_after(server, &client, 4900);
    cr_assert_eq(client.received.length, 0u);
    tick_after(server, &client, 5100);
    expect_next_response(&client, &position, 504, "deadline");
    cr_assert_eq(fake.cancelled, 1u);
    cr_assert_eq(fake.live_requests, 1u, "the kernel still runs");
    client_send_text(&client, HEALTH);
    expect_next_response(&client, &position, 200, "live");
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
    onnxd_http_server *server = test_start_default();
    test_client client;
    client_open(&client, server);
    fake.holds = true;
    client.is_reading = false; /* until the loop's time is old */
    client_send_infer(&client, 1, ",\"parameters\":{\"timeout\":5000000}");
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
    onnxd_http_server *server = test_start_default();
    for (size_t i = 0; i < ONNXD_COUNT(cases); i++) {
        test_client client;
        client_open(&client, server);
        fake.holds = true;
        client_send_infer(&client, 1, cases[i].parameters);
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
