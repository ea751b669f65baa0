/* Triton's statistics extension, of requests over HTTP. */
#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/number.h"
#include "http/routes/routes.h"
#include "http/server_internal.h"
#include "model/statistics.h"

/* ---- counting ---------------------------------------------------------------------------------
 */

static uint64_t epoch_ms(void)
{
    struct timespec now;
    if (clock_gettime(CLOCK_REALTIME, &now) != 0)
        return 0;
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

void onnxd_http_infer_count(const onnxd_http_exchange *exchange)
{
    const onnxd_http_infer *infer = &exchange->infer;
    const onnxd_request *request = infer->request;
    if (infer->model == NULL)
        return;
    onnxd_statistics *statistics = onnxd_model_statistics(infer->model);
    const int64_t now_ns = onnxd_now_ns(), all_ns = now_ns - infer->begun_ns;
    if (exchange->response.status != 200) {
        onnxd_statistics_add(statistics, ONNXD_STATISTIC_FAIL, all_ns);
        return;
    }
    const int64_t parts[ONNXD_STATISTIC_COUNT] = {
        [ONNXD_STATISTIC_SUCCESS] = all_ns,
        [ONNXD_STATISTIC_QUEUE] = request->started_ns - request->submitted_ns,
        [ONNXD_STATISTIC_COMPUTE_INPUT] = request->submitted_ns - infer->begun_ns,
        [ONNXD_STATISTIC_COMPUTE_INFER] = request->finished_ns - request->started_ns,
        [ONNXD_STATISTIC_COMPUTE_OUTPUT] = now_ns - request->finished_ns,
    };
    for (int which = 0; which < ONNXD_STATISTIC_COUNT; which++)
        if (which != ONNXD_STATISTIC_FAIL)
            onnxd_statistics_add(statistics, (onnxd_statistic)which, parts[which]);
    atomic_store_explicit(&statistics->last_inference_ms, epoch_ms(), memory_order_relaxed);
}

/* ---- telling ----------------------------------------------------------------------------------
 */

static void write_duration(onnxd_strbuf *text, const char *key, uint64_t count, uint64_t ns)
{
    onnxd_strbuf_printf(text, "\"%s\":{\"count\":%" PRIu64 ",\"ns\":%" PRIu64 "}", key, count, ns);
}

typedef struct named_statistic {
    const char *key;
    onnxd_statistic which;
} named_statistic;

static void write_statistics(onnxd_strbuf *text, const onnxd_statistics *statistics,
                             const named_statistic *names, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        onnxd_strbuf_puts(text, i == 0 ? "" : ",");
        write_duration(
            text, names[i].key,
            atomic_load_explicit(&statistics->of[names[i].which].count, memory_order_relaxed),
            atomic_load_explicit(&statistics->of[names[i].which].ns, memory_order_relaxed));
    }
}

static void write_model(onnxd_strbuf *text, const onnxd_store_entry *entry)
{
    static const named_statistic all[] = {
        {"success", ONNXD_STATISTIC_SUCCESS},
        {"fail", ONNXD_STATISTIC_FAIL},
        {"queue", ONNXD_STATISTIC_QUEUE},
        {"compute_input", ONNXD_STATISTIC_COMPUTE_INPUT},
        {"compute_infer", ONNXD_STATISTIC_COMPUTE_INFER},
        {"compute_output", ONNXD_STATISTIC_COMPUTE_OUTPUT},
    };
    const onnxd_statistics *statistics = entry->statistics;
    const uint64_t done =
        atomic_load_explicit(&statistics->of[ONNXD_STATISTIC_SUCCESS].count, memory_order_relaxed);
    const uint64_t last_ms =
        atomic_load_explicit(&statistics->last_inference_ms, memory_order_relaxed);
    onnxd_strbuf_puts(text, "{\"name\":");
    onnxd_strbuf_json_string(text, entry->name, strlen(entry->name));
    onnxd_strbuf_printf(text,
                        ",\"version\":\"%" PRId64 "\",\"last_inference\":%" PRIu64
                        ",\"inference_count\":%" PRIu64 ",\"execution_count\":%" PRIu64
                        ",\"inference_stats\":{",
                        entry->version, last_ms, done, done);
    write_statistics(text, statistics, all, ONNXD_COUNT(all));
    /* There is no cache of responses. */
    onnxd_strbuf_puts(text, ",");
    write_duration(text, "cache_hit", 0, 0);
    onnxd_strbuf_puts(text, ",");
    write_duration(text, "cache_miss", 0, 0);
    onnxd_strbuf_puts(text, "},\"batch_stats\":[");
    /* Every request runs by itself. */
    if (done > 0) {
        onnxd_strbuf_puts(text, "{\"batch_size\":1,");
        write_statistics(text, statistics, all + 3, 3);
        onnxd_strbuf_puts(text, "}");
    }
    onnxd_strbuf_puts(text, "]}");
}

typedef struct statistics_writer {
    onnxd_strbuf *text;
    onnxd_http_span name; /* of one model; NULL data: of all */
    int64_t version;      /* 0: all */
    bool has_entry;
} statistics_writer;

static void visit(const onnxd_store_entry *entry, void *user)
{
    statistics_writer *writer = user;
    const bool is_named = writer->name.data == NULL ||
                          (strlen(entry->name) == writer->name.size &&
                           memcmp(entry->name, writer->name.data, writer->name.size) == 0);
    if (entry->statistics == NULL || !is_named ||
        (writer->version != 0 && entry->version != writer->version))
        return;
    onnxd_strbuf_puts(writer->text, writer->has_entry ? "," : "");
    write_model(writer->text, entry);
    writer->has_entry = true;
}

static void answer(onnxd_http_exchange *exchange, statistics_writer *writer)
{
    writer->text = &exchange->response.text;
    onnxd_strbuf_puts(writer->text, "{\"model_stats\":[");
    onnxd_store_visit(exchange->server->services.store, visit, writer);
    onnxd_strbuf_puts(writer->text, "]}");
    onnxd_http_answer_json(exchange);
}

void onnxd_http_handle_all_statistics(onnxd_http_exchange *exchange)
{
    statistics_writer writer = {.version = 0};
    answer(exchange, &writer);
}

void onnxd_http_handle_model_statistics(onnxd_http_exchange *exchange)
{
    statistics_writer writer = {.version = 0};
    onnxd_model *model;
    onnxd_status *status =
        onnxd_http_decode_segment(exchange->match.captures[0], &exchange->arena, &writer.name);
    /* A model that does not serve has no statistics, but a reason. */
    if (status == NULL)
        status = onnxd_http_find_model(exchange, &model);
    if (status != NULL) {
        onnxd_http_exchange_fail(exchange, status);
        return;
    }
    if (exchange->match.capture_count > 1)
        writer.version = onnxd_model_version(model);
    onnxd_store_release_model(exchange->server->services.store, model);
    answer(exchange, &writer);
}
