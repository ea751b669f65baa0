/* Connections: order, pauses, ends. */
#include <stdio.h>
#include <string.h>

#include <criterion/criterion.h>

#include "conn_support.h"
#include "fake_backend.h"
#include "http/conn_internal.h"

/* -- order and pauses -------------------------------------------------------------------------- */

Test(conn, answers_pipelined_requests_in_order)
{
    onnxd_http_server *server = test_start_default();
    test_client client;
    size_t position = 0;
    client_open(&client, server);
    fake.holds = true;
    client_send_infer(&client, 1, "");
    client_send_text(&client, HEALTH);
    client_send_infer(&client, 2, "");
    cr_assert_eq(fake.held_count, 2u, "both run at the same time");
    cr_assert_eq(client.received.length, 0u, "nothing overtakes the first");
    fake_release_held();
    client_pump(&client);
    expect_next_response(&client, &position, 200, "\"id\":\"1\"");
    expect_next_response(&client, &position, 200, "live");
    expect_next_response(&client, &position, 200, "\"id\":\"2\"");
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
        client_send_infer(&client, i, "");
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
        expect_next_response(&client, &position, 200, id);
    }
    cr_assert(client.is_reading);
    client_finish(&client);
    test_server_stop(server);
}

Test(conn, handles_a_thousand_pipelined_requests_in_one_read)
{
    onnxd_http_server *server = test_start_default();
    test_client client;
    size_t position = 0;
    onnxd_strbuf text;
    onnxd_strbuf_init(&text, 1u << 20);
    for (unsigned i = 0; i < 1000; i++)
        onnxd_strbuf_puts(&text, HEALTH);
    client_open(&client, server);
    client_send(&client, text.data, text.length);
    for (unsigned i = 0; i < 1000; i++)
        expect_next_response(&client, &position, 200, "live");
    expect_nothing_more(&client, position);
    client_finish(&client);
    onnxd_strbuf_deinit(&text);
    test_server_stop(server);
}

Test(conn, does_not_read_from_a_client_that_does_not_read)
{
    onnxd_http_server *server = test_start_default();
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
        expect_next_response(&client, &position, 200, "live");
    cr_assert(client.is_reading);
    cr_assert_eq(client.conn->held.capacity, 0u, "held input is given back");
    client_finish(&client);
    test_server_stop(server);
}

Test(conn, answers_held_requests_after_the_end)
{
    onnxd_http_server *server = test_start_default();
    test_client client;
    size_t position = 0;
    client_open(&client, server);
    client.blocks_writes = true;
    client_send_text(&client, HEALTH HEALTH);
    client_unblock(&client, SIZE_MAX);
    client_unblock(&client, SIZE_MAX);
    client_end(&client);
    expect_next_response(&client, &position, 200, "live");
    expect_next_response(&client, &position, 200, "live");
    cr_assert(client.saw_end);
    client_finish(&client);
    test_server_stop(server);
}

Test(conn, closes_when_a_write_fails)
{
    onnxd_http_server *server = test_start_default();
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
    onnxd_http_server *server = test_start_default();
    test_client client;
    size_t position = 0;
    client_open(&client, server);
    fake.holds = true;
    client_send_infer(&client, 1, "");
    client_send_text(&client, "POST /v2/models/echo_int32/infer HTTP/1.1\r\nHost: x\r\n"
                              "Expect: 100-continue\r\nContent-Length: 2\r\n\r\n");
    cr_assert_eq(client.received.length, 0u);
    fake_release_held();
    client_pump(&client);
    expect_next_response(&client, &position, 200, "\"id\":\"1\"");
    expect_next_response(&client, &position, 100, "");
    client_send_text(&client, "{}");
    expect_next_response(&client, &position, 400, "missing");
    client_finish(&client);
    test_server_stop(server);
}

Test(conn, writes_continue_in_pieces)
{
    onnxd_http_server *server = test_start_default();
    test_client client;
    size_t position = 0;
    client_open(&client, server);
    client.blocks_writes = true;
    client_send_text(&client, "POST /v2/models/echo_int32/infer HTTP/1.1\r\nHost: x\r\n"
                              "Expect: 100-continue\r\nContent-Length: 2\r\n\r\n");
    client_unblock(&client, 5);
    client_unblock(&client, SIZE_MAX);
    expect_next_response(&client, &position, 100, "");
    client_send_text(&client, "{}");
    client_unblock(&client, SIZE_MAX);
    expect_next_response(&client, &position, 400, "missing");
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
        expect_next_response(&client, &position, 200, "live");
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
    expect_next_response(&client, &position, 200, "live");
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
    onnxd_http_server *server = test_start_default();
    test_client client;
    client_open(&client, server);
    fake.holds = true;
    client_send_infer(&client, 1, "");
    client_send_infer(&client, 2, "");
    client_end(&client);
    cr_assert_null(client.conn);
    cr_assert_eq(fake.cancelled, 2u);
    cr_assert_eq(fake.live_requests, 2u, "what runs is not taken away");
    client_finish(&client);

    client_open(&client, server);
    client_send_infer(&client, 3, "");
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
    onnxd_http_server *server = test_start_default();
    test_client client;
    size_t position = 0;
    client_open(&client, server);
    client.sends_end = true; /* right behind the request */
    client_send_text(&client, HEALTH);
    expect_next_response(&client, &position, 200, "live");
    cr_assert_null(client.conn);
    cr_assert_not(client.was_reset);
    client_finish(&client);

    position = 0;
    client_open(&client, server);
    client.blocks_writes = true;
    client_send_infer(&client, 1, "");
    client_unblock(&client, 10);
    client_end(&client);
    cr_assert_not_null(client.conn, "the response is being written");
    client_unblock(&client, SIZE_MAX);
    expect_next_response(&client, &position, 200, "\"id\":\"1\"");
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
    onnxd_http_server *server = test_start_default();
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
