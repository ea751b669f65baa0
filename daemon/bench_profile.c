#include "daemon/bench_profile.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "ep/cpu/cpu_ep.h"

/* ---- measuring ----------------------------------------------------------------------------- */

/* The least of all runs is kept, since whatever else the machine does only adds. */
static onnxd_status *time_steps(onnxd_plan *plan, const onnxd_tensor_list *inputs, uint32_t runs,
                                onnxd_bench_profile *profile, int64_t *times)
{
    for (uint32_t i = 0; i < runs; i++) {
        onnxd_run *run = NULL;
        memset(times, 0, profile->count * sizeof(times[0]));
        ONNXD_TRY(onnxd_run_profiled(plan, inputs->views, times, &run));
        onnxd_run_release(run);
        for (uint32_t s = 0; s < profile->count; s++) {
            const double us = (double)times[s] / 1e3;
            if (i == 0 || us < profile->steps[s].us)
                profile->steps[s].us = us;
        }
    }
    for (uint32_t s = 0; s < profile->count; s++)
        profile->total_us += profile->steps[s].us;
    return NULL;
}

static onnxd_status *take_facts(const onnxd_plan *plan, onnxd_bench_profile *profile)
{
    onnxd_step_facts *facts = onnxd_alloc_zero(profile->count, sizeof(facts[0]));
    if (facts == NULL)
        return onnxd_error_out_of_memory("a profile", profile->count * sizeof(facts[0]),
                                         UINT64_MAX);
    onnxd_status *status = onnxd_plan_step_facts(plan, facts);
    for (uint32_t i = 0; i < profile->count && status == NULL; i++)
        profile->steps[i].facts = facts[i];
    onnxd_free(facts);
    return status;
}

static onnxd_status *measure_peak(const onnxd_runtime *runtime, onnxd_bench_profile *profile)
{
    for (size_t i = 0; i < runtime->ep_count; i++) {
        onnxd_ep *ep = runtime->eps[i];
        onnxd_cpu_peak peak;
        if (ep->api != onnxd_cpu_ep_api())
            continue;
        ONNXD_TRY(onnxd_cpu_ep_measure_peak(ep, &peak));
        profile->peak_flops_per_s = peak.flops_per_s;
        profile->peak_bytes_per_s = peak.bytes_per_s;
        return NULL;
    }
    return NULL;
}

onnxd_status *onnxd_bench_profile_measure(const onnxd_session *session, onnxd_plan *plan,
                                          const onnxd_tensor_list *inputs, uint32_t runs,
                                          onnxd_bench_profile *out_profile)
{
    const uint32_t count = onnxd_plan_profile_length(plan);
    onnxd_bench_profile profile = {.count = count,
                                   .steps = onnxd_alloc_zero(count, sizeof(onnxd_bench_step))};
    int64_t *times = onnxd_alloc_zero(count, sizeof(times[0]));
    onnxd_status *status = NULL;
    if (profile.steps == NULL || times == NULL)
        status = onnxd_error_out_of_memory("a profile", count * sizeof(times[0]), UINT64_MAX);
    if (status == NULL)
        status = time_steps(plan, inputs, runs, &profile, times);
    if (status == NULL)
        status = take_facts(plan, &profile);
    if (status == NULL)
        status = measure_peak(session->engine.runtime, &profile);
    onnxd_free(times);
    if (status != NULL)
        onnxd_bench_profile_deinit(&profile);
    else
        *out_profile = profile;
    return status;
}

void onnxd_bench_profile_deinit(onnxd_bench_profile *profile)
{
    onnxd_free(profile->steps);
    *profile = (onnxd_bench_profile){.steps = NULL};
}

/* ---- reporting ----------------------------------------------------------------------------- */

/* What one of two numbers is of the other; 0 where that says nothing. */
static double share(double part, double whole)
{
    return whole > 0 ? part / whole : 0;
}

static double flops_per_s(const onnxd_bench_step *step)
{
    return share(step->facts.flops, step->us / 1e6);
}

static double bytes_per_s(const onnxd_bench_step *step)
{
    return share(step->facts.bytes, step->us / 1e6);
}

static const char *label_of(const onnxd_bench_step *step, const onnxd_graph *graph, char *buffer,
                            size_t bytes)
{
    if (step->facts.node == NULL)
        return "nodes whose shapes follow from data";
    return onnxd_node_label(graph, step->facts.node, buffer, bytes);
}

static int longest_first(const void *a, const void *b)
{
    const onnxd_bench_step *left = *(onnxd_bench_step *const *)a;
    const onnxd_bench_step *right = *(onnxd_bench_step *const *)b;
    return (left->us < right->us) - (left->us > right->us);
}

static void write_row(const onnxd_bench_profile *profile, const onnxd_bench_step *step,
                      const onnxd_graph *graph, onnxd_strbuf *out)
{
    char label[ONNXD_NODE_LABEL];
    onnxd_strbuf_printf(
        out, "%10.2f %6.1f %9.2f %5.0f %9.2f %5.0f  %s: %s %s\n", step->us,
        100 * share(step->us, profile->total_us), flops_per_s(step) / 1e9,
        100 * share(flops_per_s(step), profile->peak_flops_per_s), bytes_per_s(step) / 1e9,
        100 * share(bytes_per_s(step), profile->peak_bytes_per_s),
        label_of(step, graph, label, sizeof(label)), step->facts.ep, step->facts.implementation);
}

void onnxd_bench_profile_text(const onnxd_bench_profile *profile, const onnxd_graph *graph,
                              onnxd_strbuf *out)
{
    const onnxd_bench_step **order = onnxd_alloc_zero(profile->count, sizeof(order[0]));
    if (order == NULL) {
        out->failed = true;
        return;
    }
    for (uint32_t i = 0; i < profile->count; i++)
        order[i] = &profile->steps[i];
    qsort(order, profile->count, sizeof(order[0]), longest_first);
    onnxd_strbuf_printf(out,
                        "steps: %.2f us in all; the machine's peak: %.1f GFLOP/s, %.1f GB/s\n"
                        "        us      %%   GFLOP/s  peak%%      GB/s peak%%\n",
                        profile->total_us, profile->peak_flops_per_s / 1e9,
                        profile->peak_bytes_per_s / 1e9);
    for (uint32_t i = 0; i < profile->count; i++)
        write_row(profile, order[i], graph, out);
    onnxd_free(order);
}

static void json_string(onnxd_strbuf *out, const char *key, const char *text)
{
    onnxd_strbuf_printf(out, "\"%s\": ", key);
    onnxd_strbuf_json_string(out, text, strlen(text));
    onnxd_strbuf_puts(out, ", ");
}

void onnxd_bench_profile_json(const onnxd_bench_profile *profile, const onnxd_graph *graph,
                              onnxd_strbuf *out)
{
    char label[ONNXD_NODE_LABEL];
    onnxd_strbuf_printf(out,
                        "{\"total_us\": %.3f, \"peak_gflop_per_s\": %.3f, \"peak_gb_per_s\": %.3f, "
                        "\"steps\": [",
                        profile->total_us, profile->peak_flops_per_s / 1e9,
                        profile->peak_bytes_per_s / 1e9);
    for (uint32_t i = 0; i < profile->count; i++) {
        const onnxd_bench_step *step = &profile->steps[i];
        onnxd_strbuf_puts(out, i == 0 ? "{" : ", {");
        json_string(out, "node", label_of(step, graph, label, sizeof(label)));
        json_string(out, "provider", step->facts.ep);
        json_string(out, "implementation", step->facts.implementation);
        onnxd_strbuf_printf(
            out,
            "\"us\": %.3f, \"gflop_per_s\": %.3f, \"gflop_share\": %.4f, "
            "\"gb_per_s\": %.3f, \"gb_share\": %.4f}",
            step->us, flops_per_s(step) / 1e9, share(flops_per_s(step), profile->peak_flops_per_s),
            bytes_per_s(step) / 1e9, share(bytes_per_s(step), profile->peak_bytes_per_s));
    }
    onnxd_strbuf_puts(out, "]}");
}
