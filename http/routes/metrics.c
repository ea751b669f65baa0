/* GET /metrics: the text exposition format, version 0.0.4. */
#include <inttypes.h>

#include "http/routes/routes.h"
#include "http/server_internal.h"

static void metric(onnxd_strbuf *out, const char *name, const char *type, const char *help,
                   uint64_t value)
{
    onnxd_strbuf_printf(out, "# HELP %s %s\n# TYPE %s %s\n%s %" PRIu64 "\n", name, help, name, type,
                        name, value);
}

static void write_http(onnxd_strbuf *out, const onnxd_http_server *server)
{
    const onnxd_http_stats *stats = &server->stats;
    metric(out, "onnxd_http_connections_accepted_total", "counter", "Connections accepted.",
           stats->accepted);
    metric(out, "onnxd_http_connections_refused_total", "counter",
           "Connections refused because of a limit or an error.", stats->refused);
    metric(out, "onnxd_http_connections", "gauge", "Connections open.", stats->connections);
    metric(out, "onnxd_http_requests_total", "counter", "Request heads read.", stats->requests);
    onnxd_strbuf_printf(out,
                        "# HELP onnxd_http_responses_total Responses by class.\n"
                        "# TYPE onnxd_http_responses_total counter\n"
                        "onnxd_http_responses_total{class=\"2xx\"} %" PRIu64 "\n"
                        "onnxd_http_responses_total{class=\"4xx\"} %" PRIu64 "\n"
                        "onnxd_http_responses_total{class=\"5xx\"} %" PRIu64 "\n",
                        stats->responses_2xx, stats->responses_4xx, stats->responses_5xx);
    metric(out, "onnxd_http_received_bytes_total", "counter", "Bytes received.",
           stats->received_bytes);
    metric(out, "onnxd_http_sent_bytes_total", "counter", "Bytes of responses sent.",
           stats->sent_bytes);
    metric(out, "onnxd_http_inflight_requests", "gauge", "Inference requests admitted.",
           stats->in_flight);
    metric(out, "onnxd_http_inflight_bytes", "gauge", "Bytes of bodies and responses held.",
           server->inflight_bytes);
}

static void write_scheduler(onnxd_strbuf *out, onnxd_scheduler *scheduler)
{
    onnxd_scheduler_stats stats = onnxd_scheduler_query(scheduler);
    metric(out, "onnxd_scheduler_submitted_total", "counter", "Requests submitted.",
           stats.submitted);
    metric(out, "onnxd_scheduler_completed_total", "counter", "Requests that succeeded.",
           stats.completed);
    metric(out, "onnxd_scheduler_failed_total", "counter", "Requests that failed.", stats.failed);
    metric(out, "onnxd_scheduler_cancelled_total", "counter", "Requests cancelled.",
           stats.cancelled);
    metric(out, "onnxd_scheduler_expired_total", "counter", "Requests past their deadline.",
           stats.expired);
    metric(out, "onnxd_scheduler_refused_total", "counter", "Requests refused: a queue was full.",
           stats.refused);
    metric(out, "onnxd_scheduler_waiting", "gauge", "Requests waiting.", stats.waiting);
    metric(out, "onnxd_scheduler_in_flight", "gauge", "Stages issued and not done.",
           stats.in_flight);
}

void onnxd_http_handle_metrics(onnxd_http_exchange *exchange)
{
    const onnxd_http_server *server = exchange->server;
    onnxd_strbuf *text = &exchange->response.text;
    write_http(text, server);
    write_scheduler(text, server->services.scheduler);
    if (server->services.write_metrics != NULL)
        server->services.write_metrics(text, server->services.user);
    if (text->failed) {
        onnxd_http_exchange_refuse(exchange, 503, "out of memory");
        return;
    }
    exchange->response.status = 200;
    exchange->response.content_type = "text/plain; version=0.0.4";
    onnxd_http_exchange_finish(exchange);
}
