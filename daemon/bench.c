#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "daemon/command.h"
#include "daemon/model_io.h"

typedef struct bench_result {
    int64_t *latencies_ns; /* [iterations], ascending after the measurement */
    uint32_t iterations;
    int64_t total_ns;
    uint64_t allocations;
} bench_result;

/* ---- measuring ----------------------------------------------------------------------------- */

static int compare_times(const void *a, const void *b)
{
    int64_t left = *(const int64_t *)a;
    int64_t right = *(const int64_t *)b;
    return (left > right) - (left < right);
}

static onnxd_status *run_once(onnxd_plan *plan, const onnxd_tensor_list *inputs)
{
    onnxd_run *run = NULL;
    ONNXD_TRY(onnxd_run_once(plan, inputs->views, &run));
    onnxd_run_release(run);
    return NULL;
}

static onnxd_status *measure(onnxd_plan *plan, const onnxd_tensor_list *inputs, uint32_t warmup,
                             bench_result *result)
{
    for (uint32_t i = 0; i < warmup; i++)
        ONNXD_TRY(run_once(plan, inputs));
    uint64_t allocations = onnxd_alloc_query().calls;
    int64_t start = onnxd_now_ns();
    int64_t before = start;
    for (uint32_t i = 0; i < result->iterations; i++) {
        ONNXD_TRY(run_once(plan, inputs));
        int64_t now = onnxd_now_ns();
        result->latencies_ns[i] = now - before;
        before = now;
    }
    result->total_ns = before - start;
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
    return (double)result->total_ns / 1e6 / result->iterations;
}

static double throughput(const onnxd_config *config, const bench_result *result)
{
    return (double)result->iterations * config->bench_batch / ((double)result->total_ns / 1e9);
}

static void write_json(const onnxd_config *config, const char *model, const bench_result *result,
                       onnxd_strbuf *out)
{
    onnxd_strbuf_puts(out, "{\"model\": ");
    onnxd_strbuf_json_string(out, model, strlen(model));
    onnxd_strbuf_printf(
        out,
        ", \"threads\": %u, \"batch\": %u, \"warmup\": %u, \"iterations\": %u, "
        "\"latency_ms\": {\"median\": %.6f, \"p90\": %.6f, \"p99\": %.6f, \"min\": %.6f, "
        "\"mean\": %.6f}, \"throughput_per_s\": %.3f, \"allocations_per_run\": %.3f}\n",
        onnxd_wire_cpu_threads(config, config->bench_threads), config->bench_batch,
        config->bench_warmup, result->iterations, percentile_ms(result, 50),
        percentile_ms(result, 90), percentile_ms(result, 99), percentile_ms(result, 0),
        mean_ms(result), throughput(config, result),
        (double)result->allocations / result->iterations);
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

static void report(const onnxd_config *config, const char *model, const bench_result *result)
{
    onnxd_strbuf text;
    onnxd_strbuf_init(&text, 65536);
    if (config->bench_json)
        write_json(config, model, result, &text);
    else
        write_text(config, model, result, &text);
    fputs(text.data != NULL ? text.data : "", stdout);
    onnxd_strbuf_deinit(&text);
}

int onnxd_command_bench(const onnxd_invocation *invocation, const onnxd_config *config)
{
    onnxd_status *status = NULL;
    const char *path = invocation->positionals[0];
    onnxd_session session = {0};
    onnxd_tensor_list inputs = {0};
    onnxd_plan *plan = NULL;
    onnxd_generator generator = {config->inputs_seed, config->bench_batch, config->inputs_shapes};
    bench_result result = {.iterations = config->bench_iterations};

    result.latencies_ns = onnxd_alloc_zero(result.iterations, sizeof(int64_t));
    if (result.latencies_ns == NULL)
        return onnxd_cli_fail(
            onnxd_error_out_of_memory("latencies", result.iterations * sizeof(int64_t), UINT64_MAX),
            false);
    status = onnxd_session_open(config, path, config->bench_threads, false, &session);
    if (status != NULL)
        goto done;
    status = onnxd_generate_inputs(session.model, &generator, &inputs);
    if (status != NULL)
        goto done;
    status = onnxd_model_prepare(session.model, inputs.views, &plan);
    if (status != NULL)
        goto done;
    status = measure(plan, &inputs, config->bench_warmup, &result);
    if (status == NULL)
        report(config, path, &result);
done:
    if (plan != NULL)
        onnxd_plan_release(plan);
    onnxd_tensor_list_deinit(&inputs);
    onnxd_session_close(&session);
    onnxd_free(result.latencies_ns);
    return status != NULL ? onnxd_cli_fail(status, false) : EXIT_SUCCESS;
}
