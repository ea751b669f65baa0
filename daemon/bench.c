#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/number.h"
#include "daemon/bench_profile.h"
#include "daemon/bench_requests.h"
#include "daemon/command.h"
#include "daemon/model_io.h"

/* Enough for the least time of a step. */
#define MOST_PROFILED_RUNS 50
#define MOST_TEXT_BYTES ((size_t)64 << 20)

typedef struct bench_result {
    int64_t *latencies_ns; /* [iterations], ascending after the measurement */
    uint32_t iterations;
    int64_t total_ns;
    int64_t cpu_ns;  /* of all threads of the process */
    int64_t load_ns; /* of the model, its passes and weights, and the plan for the inputs */
    uint64_t allocations;
} bench_result;

/* All that is measured on. */
typedef struct bench {
    const onnxd_config *config;
    const char *path;
    onnxd_session session;
    onnxd_tensor_list inputs;
    onnxd_plan *plan;
    onnxd_bench_requests *requests; /* NULL: runs without a scheduler */
    int64_t load_ns;
} bench;

/* ---- measuring ----------------------------------------------------------------------------- */

static int compare_times(const void *a, const void *b)
{
    int64_t left = *(const int64_t *)a;
    int64_t right = *(const int64_t *)b;
    return (left > right) - (left < right);
}

static int64_t cpu_now_ns(void)
{
    struct timespec now = {0};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static onnxd_status *run_once(onnxd_plan *plan, const onnxd_tensor_list *inputs)
{
    onnxd_run *run = NULL;
    ONNXD_TRY(onnxd_run_once(plan, inputs->views, &run));
    onnxd_run_release(run);
    return NULL;
}

/* latencies_ns[count], or NULL. */
static onnxd_status *run_often(bench *b, uint32_t count, int64_t *latencies_ns)
{
    if (b->requests != NULL)
        return onnxd_bench_requests_run(b->requests, count, latencies_ns);
    int64_t before = onnxd_now_ns();
    for (uint32_t i = 0; i < count; i++) {
        ONNXD_TRY(run_once(b->plan, &b->inputs));
        int64_t now = onnxd_now_ns();
        if (latencies_ns != NULL)
            latencies_ns[i] = now - before;
        before = now;
    }
    return NULL;
}

static onnxd_status *measure(bench *b, uint32_t warmup, bench_result *result)
{
    ONNXD_TRY(run_often(b, warmup, NULL));
    uint64_t allocations = onnxd_alloc_query().calls;
    int64_t cpu_ns = cpu_now_ns();
    int64_t start = onnxd_now_ns();
    ONNXD_TRY(run_often(b, result->iterations, result->latencies_ns));
    result->total_ns = onnxd_now_ns() - start;
    result->cpu_ns = cpu_now_ns() - cpu_ns;
    result->allocations = onnxd_alloc_query().calls - allocations;
    qsort(result->latencies_ns, result->iterations, sizeof(int64_t), compare_times);
    return NULL;
}

/* ---- reporting ----------------------------------------------------------------------------- */

/* Nearest rank: the least latency that `percent` of the runs did not exceed. */
static double percentile_ms(const bench_result *result, uint32_t percent)
{
    uint64_t rank = ((uint64_t)result->iterations * percent + 99) / 100;
    return (double)result->latencies_ns[rank > 0 ? rank - 1 : 0] / 1e6;
}

static double mean_ms(const bench_result *result)
{
    int64_t sum_ns = 0;
    for (uint32_t i = 0; i < result->iterations; i++)
        sum_ns += result->latencies_ns[i];
    return (double)sum_ns / 1e6 / result->iterations;
}

static double throughput(const onnxd_config *config, const bench_result *result)
{
    return (double)result->iterations * config->bench_batch / ((double)result->total_ns / 1e9);
}

/* The most memory that this program has held; what getrusage() tells may be that of the process
 * that started it. 0 when it cannot be told. */
static int64_t peak_rss_kib(void)
{
    static const char key[] = "VmHWM:";
    int64_t kib = 0;
    char line[128];
    FILE *file = fopen("/proc/self/status", "re");
    while (file != NULL && kib == 0 && fgets(line, sizeof(line), file) != NULL) {
        const char *number = line + strlen(key);
        if (strncmp(line, key, strlen(key)) != 0)
            continue;
        number += strspn(number, " \t");
        if (!onnxd_parse_i64(number, strcspn(number, " \n"), &kib))
            break;
    }
    if (file != NULL)
        fclose(file);
    return kib;
}

/* `profile`: NULL for none. */
static void write_json(const onnxd_config *config, const char *model, const bench_result *result,
                       const onnxd_graph *graph, const onnxd_bench_profile *profile,
                       onnxd_strbuf *out)
{
    onnxd_strbuf_puts(out, "{\"model\": ");
    onnxd_strbuf_json_string(out, model, strlen(model));
    onnxd_strbuf_printf(
        out,
        ", \"threads\": %u, \"concurrency\": %u, \"batch\": %u, \"warmup\": %u, \"iterations\": "
        "%u, "
        "\"latency_ms\": {\"median\": %.6f, \"p90\": %.6f, \"p99\": %.6f, \"min\": %.6f, "
        "\"mean\": %.6f}, \"cpu_ms_per_run\": %.6f, \"load_ms\": %.3f, "
        "\"peak_rss_kib\": %" PRId64 ", \"throughput_per_s\": %.3f, "
        "\"allocations_per_run\": %.3f",
        onnxd_wire_cpu_threads(config, config->bench_threads), config->bench_concurrency,
        config->bench_batch, config->bench_warmup, result->iterations, percentile_ms(result, 50),
        percentile_ms(result, 90), percentile_ms(result, 99), percentile_ms(result, 0),
        mean_ms(result), (double)result->cpu_ns / 1e6 / result->iterations,
        (double)result->load_ns / 1e6, peak_rss_kib(), throughput(config, result),
        (double)result->allocations / result->iterations);
    if (profile != NULL) {
        onnxd_strbuf_puts(out, ", \"profile\": ");
        onnxd_bench_profile_json(profile, graph, out);
    }
    onnxd_strbuf_puts(out, "}\n");
}

/* In microseconds where milliseconds would be mostly zeros. */
static void write_text(const onnxd_config *config, const char *model, const bench_result *result,
                       onnxd_strbuf *out)
{
    bool is_short = percentile_ms(result, 50) < 1;
    double scale = is_short ? 1e3 : 1;
    onnxd_strbuf_printf(
        out,
        "%s: batch %u, %u runs, %u CPU threads\nlatency in %s: median %.3f, p90 %.3f, p99 %.3f, "
        "min %.3f, mean %.3f\nthroughput: %.1f per s\nallocations per run: %.2f\n",
        model, config->bench_batch, result->iterations,
        onnxd_wire_cpu_threads(config, config->bench_threads), is_short ? "us" : "ms",
        scale * percentile_ms(result, 50), scale * percentile_ms(result, 90),
        scale * percentile_ms(result, 99), scale * percentile_ms(result, 0),
        scale * mean_ms(result), throughput(config, result),
        (double)result->allocations / result->iterations);
}

/* ---- the command --------------------------------------------------------------------------- */

static onnxd_status *open_bench(bench *b)
{
    const onnxd_config *config = b->config;
    const onnxd_generator generator = {config->inputs_seed, config->bench_batch,
                                       config->inputs_shapes};
    const int64_t start = onnxd_now_ns();
    ONNXD_TRY(onnxd_session_open(config, b->path, config->bench_threads, false, &b->session));
    if (config->bench_data[0] == '\0') {
        ONNXD_TRY(onnxd_generate_inputs(b->session.model, &generator, &b->inputs));
    } else {
        const onnxd_load_limits limits = onnxd_load_limits_default();
        ONNXD_TRY(onnxd_load_tensors(config->bench_data, "input",
                                     onnxd_model_input_count(b->session.model), &limits,
                                     &b->inputs));
    }
    ONNXD_TRY(onnxd_model_prepare(b->session.model, b->inputs.views, &b->plan));
    if (config->bench_concurrency > 0)
        ONNXD_TRY(onnxd_bench_requests_create(config, &b->session, &b->inputs,
                                              config->bench_concurrency, &b->requests));
    b->load_ns = onnxd_now_ns() - start;
    return NULL;
}

static void close_bench(bench *b)
{
    onnxd_bench_requests_destroy(b->requests);
    if (b->plan != NULL)
        onnxd_plan_release(b->plan);
    onnxd_tensor_list_deinit(&b->inputs);
    onnxd_session_close(&b->session);
}

static onnxd_status *print(onnxd_strbuf *text)
{
    if (text->failed)
        return onnxd_error_out_of_memory("the report", text->length, MOST_TEXT_BYTES);
    fputs(text->data, stdout);
    fflush(stdout);
    return NULL;
}

static onnxd_status *report(const bench *b, const bench_result *result,
                            const onnxd_bench_profile *profile, bool wants_json)
{
    const onnxd_graph *graph = onnxd_model_graph(b->session.model);
    onnxd_strbuf text;
    onnxd_strbuf_init(&text, MOST_TEXT_BYTES);
    if (wants_json)
        write_json(b->config, b->path, result, graph, profile, &text);
    else
        write_text(b->config, b->path, result, &text);
    if (!wants_json && profile != NULL)
        onnxd_bench_profile_text(profile, graph, &text);
    onnxd_status *status = print(&text);
    onnxd_strbuf_deinit(&text);
    return status;
}

/* Measures `iterations` runs after `warmup` others and prints what came of them. */
static onnxd_status *measure_and_report(bench *b, uint32_t warmup, uint32_t iterations,
                                        bool wants_json)
{
    bench_result result = {.iterations = iterations, .load_ns = b->load_ns};
    onnxd_bench_profile profile = {.steps = NULL};
    result.latencies_ns = onnxd_alloc_zero(iterations, sizeof(int64_t));
    if (result.latencies_ns == NULL)
        return onnxd_error_out_of_memory("latencies", iterations * sizeof(int64_t), UINT64_MAX);
    onnxd_status *status = measure(b, warmup, &result);
    if (status == NULL && b->config->bench_profile)
        status = onnxd_bench_profile_measure(
            &b->session, b->plan, &b->inputs,
            iterations < MOST_PROFILED_RUNS ? iterations : MOST_PROFILED_RUNS, &profile);
    if (status == NULL)
        status = report(b, &result, b->config->bench_profile ? &profile : NULL, wants_json);
    onnxd_bench_profile_deinit(&profile);
    onnxd_free(result.latencies_ns);
    return status;
}

#define MOST_ITERATIONS 10000000

static onnxd_status *follow_pace(bench *b)
{
    char line[32];
    ONNXD_TRY(measure_and_report(b, b->config->bench_warmup, 1, true));
    while (fgets(line, sizeof(line), stdin) != NULL) {
        int64_t iterations = 0;
        if (!onnxd_parse_i64(line, strcspn(line, "\n"), &iterations) || iterations < 1 ||
            iterations > MOST_ITERATIONS)
            return onnxd_error(ONNXD_INVALID_ARGUMENT,
                               "a line of standard input is no count from 1 to %d",
                               MOST_ITERATIONS);
        ONNXD_TRY(measure_and_report(b, 0, (uint32_t)iterations, true));
    }
    return NULL;
}

int onnxd_command_bench(const onnxd_invocation *invocation, const onnxd_config *config)
{
    bench b = {.config = config, .path = invocation->positionals[0]};
    onnxd_status *status = open_bench(&b);
    if (status == NULL && config->bench_paced)
        status = follow_pace(&b);
    else if (status == NULL)
        status = measure_and_report(&b, config->bench_warmup, config->bench_iterations,
                                    config->bench_json);
    close_bench(&b);
    return status != NULL ? onnxd_cli_fail(status, false) : EXIT_SUCCESS;
}
