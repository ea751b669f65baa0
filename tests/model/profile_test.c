#include "model/profile.h"

#include <criterion/criterion.h>
#include <string.h>

#include "tests/model/support.h"

#define MOST_ENTRIES 16

static const float input[] = {1, 2, 3, 4, -1, 0, 1, 2, 5, -6, 7, -8};

/* The steps of the model of support_write_mlp() on three rows, and what two runs tell of them. */
static void expect_profile(const char *spec, const char *label)
{
    onnx_file file;
    onnxd_plan *plan;
    onnxd_step_facts facts[MOST_ENTRIES];
    int64_t step_ns[MOST_ENTRIES] = {0};
    double flops = 0;
    onnxd_runtime *runtime = support_runtime(spec);
    support_write_mlp(&file);
    onnxd_model *model = support_load(runtime, &file, NULL);
    const onnxd_tensor_view view = support_view(input, ONNXD_FLOAT, "3,4");
    support_ok(onnxd_model_prepare(model, &view, &plan));
    const uint32_t count = onnxd_plan_profile_length(plan);
    cr_assert(count > 0 && count < MOST_ENTRIES);
    support_ok(onnxd_plan_step_facts(plan, facts));
    for (uint32_t i = 0; i < count; i++) {
        cr_expect_not_null(facts[i].node);
        cr_expect_str_eq(facts[i].ep, label);
        cr_expect(strlen(facts[i].implementation) > 0);
        cr_expect_gt(facts[i].bytes, 0);
        flops += facts[i].flops;
    }
    /* Two products, of 4 x 8 and of 8 x 3, two operations for each multiplication. */
    cr_expect_geq(flops, 2.0 * 3 * (4 * 8 + 8 * 3));
    for (int i = 0; i < 2; i++) {
        onnxd_run *run;
        support_ok(onnxd_run_profiled(plan, &view, step_ns, &run));
        onnxd_run_release(run);
    }
    for (uint32_t i = 0; i < count; i++)
        cr_expect_gt(step_ns[i], 0);
    cr_expect_eq(step_ns[count], 0);
    onnxd_plan_release(plan);
    onnxd_model_release(model);
    onnxd_runtime_destroy(runtime);
}

Test(profile, of_steps_on_the_host)
{
    expect_profile("cpu;cpu.threads=1", "cpu_ep:0");
}

/* sim_ep takes 200 us for each kernel, which no step that is waited for is shorter than. */
Test(profile, waits_for_steps_on_a_device)
{
    onnx_file file;
    onnxd_plan *plan;
    onnxd_run *run;
    int64_t step_ns[MOST_ENTRIES] = {0};
    onnxd_runtime *runtime =
        support_runtime("sim;sim.memory_bytes=16777216;sim.kernel_latency_us=200");
    support_write_mlp(&file);
    onnxd_model *model = support_load(runtime, &file, NULL);
    const onnxd_tensor_view view = support_view(input, ONNXD_FLOAT, "3,4");
    support_ok(onnxd_model_prepare(model, &view, &plan));
    const uint32_t count = onnxd_plan_profile_length(plan);
    cr_assert(count > 0 && count < MOST_ENTRIES);
    support_ok(onnxd_run_profiled(plan, &view, step_ns, &run));
    for (uint32_t i = 0; i < count; i++)
        cr_expect_geq(step_ns[i], 200000);
    onnxd_run_release(run);
    onnxd_plan_release(plan);
    onnxd_model_release(model);
    onnxd_runtime_destroy(runtime);
}
