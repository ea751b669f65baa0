/* The input side of a connection: bytes to exchanges. */
#include <stdio.h>

#include "http/conn_internal.h"
#include "http/server_internal.h"

/* Nothing more is to be parsed until a response has gone out. */
static bool must_pause(const onnxd_http_conn *conn)
{
    return conn->is_writing ||
           (conn->receiving == NULL && conn->queue.count >= conn->server->options.max_pipelined);
}

/* -- refusing ---------------------------------------------------------------------------------- */

static void answer_with_error(onnxd_http_exchange *exchange, int http_status, const char *message)
{
    onnxd_http_response_set_error(&exchange->response, http_status, message);
    if (http_status == 503)
        exchange->response.retry_after_s = exchange->server->options.retry_after_s;
    exchange->state = ONNXD_HTTP_ANSWERED;
    exchange->owes_continue = false;
}

static onnxd_http_exchange *begin_exchange(onnxd_http_conn *conn)
{
    onnxd_http_exchange *exchange = onnxd_http_exchange_create(conn->server, conn);
    if (exchange == NULL) {
        onnxd_http_conn_close(conn, true);
        return NULL;
    }
    onnxd_fifo_push(&conn->queue, &exchange->link);
    conn->receiving = exchange;
    return exchange;
}

void onnxd_http_conn_refuse(onnxd_http_conn *conn, int http_status, const char *message)
{
    onnxd_http_exchange *exchange = conn->receiving;
    if (exchange == NULL)
        exchange = begin_exchange(conn);
    if (exchange == NULL)
        return;
    if (http_status != 0)
        answer_with_error(exchange, http_status, message);
    exchange->response.closes = true;
    conn->receiving = NULL;
    conn->is_deaf = true;
    onnxd_http_conn_flush(conn);
    onnxd_http_conn_resume_input(conn);
}

void onnxd_http_conn_turn_away(onnxd_http_conn *conn)
{
    conn->is_turned_away = true;
    conn->server->turned_away_count++;
    onnxd_http_conn_refuse(conn, 503, "too many connections");
}

/* -- events of a message ----------------------------------------------------------------------- */

static const onnxd_http_fault too_much_memory = {503,
                                                 "the requests in flight hold too much memory"};

/* The text names the option, since more than one limits a body. */
static void choose_body_limit(onnxd_http_exchange *exchange, bool is_infer)
{
    const onnxd_http_options *options = &exchange->server->options;
    exchange->body_limit = options->max_control_body_bytes;
    exchange->over_limit = "the request body is larger than http.max_control_body_bytes";
    if (!is_infer)
        return;
    exchange->body_limit = options->max_body_bytes;
    exchange->over_limit = "the request body is larger than http.max_body_bytes";
    if (!exchange->head.has_json_length && options->max_json_body_bytes < exchange->body_limit) {
        exchange->body_limit = options->max_json_body_bytes;
        exchange->over_limit = "the request body is larger than http.max_json_body_bytes, which "
                               "holds where tensors are not sent as binary data";
    }
}

/* Refuses a request whose head is enough to know that it cannot be served. A body of a declared
 * length counts as held from here, so that requests that are admitted together cannot pass the
 * limit together; nothing is allocated for it. */
static onnxd_http_fault admit(onnxd_http_exchange *exchange)
{
    const onnxd_http_server *server = exchange->server;
    const onnxd_http_options *options = &server->options;
    const onnxd_http_head *head = &exchange->head;
    const onnxd_http_route *route = exchange->match.route;
    if (route == NULL)
        return exchange->match.allowed != 0 ? (onnxd_http_fault){405, "Method Not Allowed"}
                                            : (onnxd_http_fault){404, "Not Found"};
    if (route->handler == NULL)
        return (onnxd_http_fault){501, route->feature};
    bool is_infer = route->body == ONNXD_HTTP_BODY_INFER;
    choose_body_limit(exchange, is_infer);
    if (head->is_encoded)
        return (onnxd_http_fault){415, "compressed request bodies are not supported"};
    if (head->has_length && head->length > exchange->body_limit)
        return (onnxd_http_fault){413, exchange->over_limit};
    if (route->body == ONNXD_HTTP_BODY_CONTROL &&
        !onnxd_http_exchange_charge(exchange, head->length))
        return too_much_memory;
    if (!is_infer)
        return (onnxd_http_fault){0};
    if (head->has_json_length && head->json_length > options->max_json_body_bytes)
        return (onnxd_http_fault){413, "the JSON part of the request body is larger than "
                                       "http.max_json_body_bytes"};
    if (head->has_json_length && !head->is_chunked && head->json_length > head->length)
        return (onnxd_http_fault){400, "Inference-Header-Content-Length is larger than the body"};
    if (server->stats.in_flight >= options->max_inflight_requests)
        return (onnxd_http_fault){503, "too many requests are in flight"};
    if (!onnxd_http_exchange_charge(exchange, head->length))
        return too_much_memory;
    return (onnxd_http_fault){0};
}

/* The error is ready, but the body is still to come. A short one is read and dropped, so that the
 * connection can go on; otherwise the connection ends. */
static void answer_early(onnxd_http_conn *conn, onnxd_http_exchange *exchange,
                         onnxd_http_fault fault)
{
    const onnxd_http_head *head = &exchange->head;
    if (fault.status == 501) {
        char text[128];
        (void)snprintf(text, sizeof(text), "%s is not supported", fault.message);
        answer_with_error(exchange, fault.status, text);
    } else {
        answer_with_error(exchange, fault.status, fault.message);
    }
    exchange->response.allowed = fault.status == 405 ? exchange->match.allowed : 0;
    exchange->response.names_encodings = fault.status == 415;
    bool has_body = head->is_chunked || head->length > 0;
    exchange->is_discarding = true;
    if (has_body && (head->expects_continue || fault.status == 413 ||
                     head->length > conn->server->options.lingering_bytes))
        onnxd_http_conn_refuse(conn, 0, NULL);
}

/* The minimum rate counts from here. */
static void start_rate(onnxd_http_conn *conn)
{
    conn->rate_started_ms = onnxd_http_conn_now(conn);
    conn->rate_base_bytes = conn->receiving->body_bytes;
    if (conn->server->options.min_body_rate_bytes_per_s != 0)
        onnxd_http_server_arm(conn->server, conn->rate_started_ms + ONNXD_HTTP_RATE_GRACE_MS);
}

static void on_head(onnxd_http_conn *conn, onnxd_http_exchange *exchange)
{
    const onnxd_http_head *head = &exchange->head;
    exchange->has_head = true;
    conn->request_count++;
    conn->server->stats.requests++;
    if (head->is_chunked || head->length > 0)
        start_rate(conn);
    exchange->match = onnxd_http_router_find(head->method, head->path);
    onnxd_http_fault fault = admit(exchange);
    if (fault.status != 0) {
        answer_early(conn, exchange, fault);
        return;
    }
    if (exchange->match.route->body == ONNXD_HTTP_BODY_INFER) {
        exchange->is_counted = true;
        conn->server->stats.in_flight++;
    }
    exchange->owes_continue = head->expects_continue && (head->is_chunked || head->length > 0);
    exchange->body.max_bytes = (size_t)(head->has_length ? head->length : exchange->body_limit);
}

static void on_body(onnxd_http_conn *conn, onnxd_http_exchange *exchange, onnxd_http_span body)
{
    exchange->owes_continue = false;
    exchange->body_bytes += body.size;
    onnxd_http_conn_enter(conn, ONNXD_HTTP_INPUT_BODY,
                          conn->server->options.client_body_timeout_ms);
    if (exchange->is_discarding) {
        if (exchange->body_bytes > conn->server->options.lingering_bytes)
            onnxd_http_conn_refuse(conn, 0, NULL);
        return;
    }
    if (exchange->body_bytes > exchange->body_limit) {
        onnxd_http_conn_refuse(conn, 413, exchange->over_limit);
        return;
    }
    if (exchange->match.route->body == ONNXD_HTTP_BODY_NONE)
        return;
    if (!exchange->head.has_length && !onnxd_http_exchange_charge(exchange, body.size)) {
        onnxd_http_conn_refuse(conn, too_much_memory.status, too_much_memory.message);
        return;
    }
    onnxd_strbuf_append(&exchange->body, body.data, body.size);
    if (exchange->body.failed)
        onnxd_http_conn_refuse(conn, 503, "out of memory");
}

static void on_complete(onnxd_http_conn *conn, onnxd_http_exchange *exchange)
{
    const onnxd_http_options *options = &conn->server->options;
    exchange->is_received = true;
    exchange->owes_continue = false;
    conn->receiving = NULL;
    uint64_t age_ms = onnxd_http_conn_now(conn) - conn->opened_ms;
    if (!exchange->head.keeps_alive || conn->request_count >= options->keepalive_requests ||
        age_ms >= options->keepalive_max_age_ms)
        conn->is_deaf = true;
    if (exchange->state == ONNXD_HTTP_RECEIVING) {
        exchange->state = ONNXD_HTTP_HANDLING;
        exchange->match.route->handler(exchange);
    }
}

/* -- parsing ----------------------------------------------------------------------------------- */

/* False when there is no further message to read. */
static bool begin_message(onnxd_http_conn *conn, onnxd_http_span *input)
{
    onnxd_http_fault fault = onnxd_http_parser_skip_blank_line(conn->parser, input);
    if (fault.status != 0) {
        onnxd_http_conn_refuse(conn, fault.status, fault.message);
        return false;
    }
    if (input->size == 0)
        return false;
    onnxd_http_exchange *exchange = begin_exchange(conn);
    if (exchange == NULL)
        return false;
    onnxd_http_parser_begin(conn->parser, &exchange->head_text, &exchange->head);
    onnxd_http_conn_enter(conn, ONNXD_HTTP_INPUT_HEAD,
                          conn->server->options.client_header_timeout_ms);
    return true;
}

/* One event; false when more input is needed. */
static bool step(onnxd_http_conn *conn, onnxd_http_span *input)
{
    onnxd_http_exchange *exchange = conn->receiving;
    onnxd_http_span body;
    onnxd_http_fault fault;
    switch (onnxd_http_parser_next(conn->parser, input, &body, &fault)) {
    case ONNXD_HTTP_EVENT_MORE:
        return false;
    case ONNXD_HTTP_EVENT_HEAD:
        on_head(conn, exchange);
        break;
    case ONNXD_HTTP_EVENT_BODY:
        on_body(conn, exchange, body);
        return true;
    case ONNXD_HTTP_EVENT_COMPLETE:
        on_complete(conn, exchange);
        break;
    case ONNXD_HTTP_EVENT_FAULT:
        onnxd_http_conn_refuse(conn, fault.status, fault.message);
        return false;
    }
    onnxd_http_conn_flush(conn);
    return true;
}

/* Returns what is left because parsing had to pause; nothing is left of a deaf connection's input.
 */
static onnxd_http_span parse(onnxd_http_conn *conn, onnxd_http_span input)
{
    conn->is_parsing = true;
    while (!conn->is_deaf && !must_pause(conn)) {
        if (conn->receiving == NULL && !begin_message(conn, &input))
            break;
        if (!step(conn, &input))
            break;
    }
    conn->is_parsing = false;
    if (conn->is_deaf)
        input.size = 0;
    return input;
}

static void parse_held(onnxd_http_conn *conn)
{
    onnxd_http_span left = parse(conn, (onnxd_http_span){conn->held.data + conn->held_position,
                                                         conn->held.length - conn->held_position});
    conn->held_position = conn->held.length - left.size;
    if (left.size == 0) {
        onnxd_strbuf_deinit(&conn->held);
        conn->held_position = 0;
    }
}

static void settle_phase(onnxd_http_conn *conn)
{
    const onnxd_http_options *options = &conn->server->options;
    onnxd_http_input_phase phase = ONNXD_HTTP_INPUT_BUSY;
    uint32_t timeout_ms = 0;
    const onnxd_http_exchange *receiving = conn->receiving;
    if (must_pause(conn) || (receiving != NULL && receiving->owes_continue)) {
        phase = ONNXD_HTTP_INPUT_BUSY; /* the next step is ours */
    } else if (receiving != NULL) {
        phase = receiving->has_head ? ONNXD_HTTP_INPUT_BODY : ONNXD_HTTP_INPUT_HEAD;
        timeout_ms = receiving->has_head ? options->client_body_timeout_ms
                                         : options->client_header_timeout_ms;
    } else if (conn->queue.count == 0) {
        phase = conn->request_count == 0 ? ONNXD_HTTP_INPUT_FIRST : ONNXD_HTTP_INPUT_IDLE;
        timeout_ms = options->keepalive_timeout_ms;
    }
    if (phase == conn->phase)
        return;
    if (phase == ONNXD_HTTP_INPUT_BODY)
        start_rate(conn);
    onnxd_http_conn_enter(conn, phase, timeout_ms);
}

void onnxd_http_conn_resume_input(onnxd_http_conn *conn)
{
    if (conn->is_parsing || conn->is_closing)
        return;
    if (conn->held.length > 0 && !conn->is_deaf && !must_pause(conn)) {
        parse_held(conn);
        onnxd_http_conn_flush(conn); /* closes where the peer's end came before this input */
    }
    /* A response that was on its way when the draining began did not say that it is the last. */
    if (!conn->is_closing && !conn->is_deaf && conn->server->has_closed_listeners &&
        conn->phase != ONNXD_HTTP_INPUT_FIRST && onnxd_http_conn_is_idle(conn))
        onnxd_http_conn_linger(conn);
    if (conn->is_closing)
        return;
    bool wants = !conn->has_ended;
    if (conn->is_deaf) {
        onnxd_strbuf_deinit(&conn->held);
        if (conn->phase != ONNXD_HTTP_INPUT_LINGER)
            onnxd_http_conn_enter(conn, ONNXD_HTTP_INPUT_BUSY, 0);
        wants = wants && conn->lingered_bytes <= conn->server->options.lingering_bytes;
    } else {
        settle_phase(conn);
        wants = wants && conn->held.length == 0 && !must_pause(conn);
    }
    if (wants && !conn->is_reading)
        conn->transport->ops->read_start(conn->transport);
    else if (!wants && conn->is_reading)
        conn->transport->ops->read_stop(conn->transport);
    conn->is_reading = wants;
}

void onnxd_http_conn_received(onnxd_http_conn *conn, const char *data, size_t length)
{
    conn->server->stats.received_bytes += length;
    if (conn->is_closing)
        return;
    if (!conn->is_deaf) {
        onnxd_http_span left = {data, length};
        if (conn->held.length == 0)
            left = parse(conn, left);
        if (!conn->is_closing && left.size > 0) {
            onnxd_strbuf_append(&conn->held, left.data, left.size);
            if (conn->held.failed)
                onnxd_http_conn_close(conn, true);
        }
    } else {
        conn->lingered_bytes += length;
        if (conn->phase == ONNXD_HTTP_INPUT_LINGER &&
            conn->lingered_bytes > conn->server->options.lingering_bytes)
            onnxd_http_conn_close(conn, true);
    }
    onnxd_http_conn_resume_input(conn);
}

void onnxd_http_conn_ended(onnxd_http_conn *conn)
{
    conn->has_ended = true;
    if (conn->is_closing)
        return;
    onnxd_http_conn_flush(conn); /* closes unless a response is on its way */
    onnxd_http_conn_resume_input(conn);
}
