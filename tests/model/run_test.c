#include "model/run.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "model/reaper.h"
#include "tests/model/support.h"

/* sim_ep claims what it can, so that the models really run there. */
#define SIM_ALONE "sim;sim.memory_bytes=16777216"
#define SPLIT                                                                                      \
    "cpu;cpu.threads=1 sim;sim.memory_bytes=16777216;sim.unsupported_ops=Relu;"                    \
    "sim.claim_ops=MatMul,Add"

static const float mlp_input[] = {1, 2, 3, 4, -1, 0, 1, 2, 5, -6, 7, -8};

/* The model of support_write_mlp(), by hand. All numbers are small integers: exact. */
static void mlp_by_hand(const float *x, size_t rows, float *y)
{
    for (size_t r = 0; r < rows; r++) {
        float hidden[8];
        for (int j = 0; j < 8; j++) {
            hidden[j] = (float)j - 4.0f;
            for (int i = 0; i < 4; i++)
                hidden[j] += x[r * 4 + (size_t)i] * ((float)((i * 8 + j) % 7) - 3.0f);
            hidden[j] = hidden[j] > 0 ? hidden[j] : 0;
        }
        for (int k = 0; k < 3; k++) {
            float sum = 0;
            for (int j = 0; j < 8; j++)
                sum += hidden[j] * ((float)((j * 3 + k) % 5) - 2.0f);
            y[r * 3 + (size_t)k] = sum;
        }
    }
}

static void expect_mlp(const char *spec, uint32_t expected_stages)
{
    onnx_file file;
    float expected[9];
    onnxd_plan *plan;
    onnxd_runtime *runtime = support_runtime(spec);
    support_write_mlp(&file);
    onnxd_model *model = support_load(runtime, &file, NULL);
    mlp_by_hand(mlp_input, 3, expected);
    const onnxd_tensor_view three = support_view(mlp_input, ONNXD_FLOAT, "3,4");
    support_expect_floats(model, &three, 9, expected);
    const onnxd_tensor_view one = support_view(mlp_input, ONNXD_FLOAT, "1,4");
    support_expect_floats(model, &one, 3, expected);
    support_expect_floats(model, &three, 9, expected);
    support_ok(onnxd_model_prepare(model, &three, &plan));
    cr_expect_eq(onnxd_plan_stage_count(plan), expected_stages);
    onnxd_plan_release(plan);
    onnxd_model_release(model);
    onnxd_runtime_destroy(runtime);
}

Test(run, computes_on_the_cpu)
{
    expect_mlp("cpu;cpu.threads=1", 1);
}

Test(run, computes_on_a_device)
{
    expect_mlp(SIM_ALONE, 1);
}

Test(run, computes_when_split_over_both)
{
    expect_mlp(SPLIT, 3);
}

Test(run, computes_on_a_device_without_overlap)
{
    expect_mlp(SIM_ALONE ";sim.async=false", 1);
}

Test(run, uses_only_the_instance_asked_for)
{
    onnx_file file;
    onnxd_plan *plan;
    onnxd_runtime *runtime = support_runtime(SPLIT);
    onnxd_model_options options = onnxd_model_options_default();
    options.only_ep = "cpu_ep:0";
    support_write_mlp(&file);
    onnxd_model *model = support_load(runtime, &file, &options);
    const onnxd_tensor_view input = support_view(mlp_input, ONNXD_FLOAT, "3,4");
    support_ok(onnxd_model_prepare(model, &input, &plan));
    cr_expect_eq(onnxd_plan_stage_count(plan), 1);
    cr_expect_eq(onnxd_plan_stage_ep(plan, 0), 0);
    onnxd_plan_release(plan);
    onnxd_model_release(model);

    onnxd_model *none;
    options.only_ep = "sim_ep";
    support_write_mlp(&file);
    support_error(support_try_load(runtime, &file, &options, &none), ONNXD_NO_EP_FOR_OP, "Relu");
    options.only_ep = "gpu";
    support_write_mlp(&file);
    support_error(support_try_load(runtime, &file, &options, &none), ONNXD_NOT_FOUND, "'gpu'");
    onnxd_runtime_destroy(runtime);
}

/* ---- the steady state ---------------------------------------------------------------------- */

static void run_once(onnxd_plan *plan, const onnxd_tensor_view *inputs)
{
    onnxd_run *run;
    support_ok(onnxd_run_once(plan, inputs, &run));
    onnxd_run_release(run);
}

/* A device takes a buffer back only when the work behind it has ended, which may be a moment after
 * the run has: a few buffers of the run's size make the steady state. */
static void fill_pools(const onnxd_plan *plan)
{
    const onnxd_model *model = plan->model;
    for (uint32_t s = 1; s < model->space_count; s++) {
        onnxd_buffer buffers[4];
        for (size_t i = 0; i < ONNXD_COUNT(buffers); i++)
            support_ok(onnxd_ep_allocate(model->spaces[s].ep, plan->spaces[s].arena_bytes,
                                         model->spaces[s].alignment, &buffers[i]));
        for (size_t i = 0; i < ONNXD_COUNT(buffers); i++)
            support_ok(onnxd_ep_deallocate(model->spaces[s].ep, buffers[i]));
    }
}

static void expect_steady(const char *spec)
{
    onnx_file file;
    onnxd_plan *plan;
    onnxd_ep_stats before[2] = {{0}, {0}};
    onnxd_runtime *runtime = support_runtime(spec);
    support_write_mlp(&file);
    onnxd_model *model = support_load(runtime, &file, NULL);
    const onnxd_tensor_view input = support_view(mlp_input, ONNXD_FLOAT, "3,4");
    support_ok(onnxd_model_prepare(model, &input, &plan));
    fill_pools(plan);
    for (int i = 0; i < 3; i++)
        run_once(plan, &input);
    const uint64_t allocations = onnxd_alloc_query().calls;
    for (size_t i = 0; i < runtime->ep_count; i++)
        before[i] = onnxd_ep_get_stats(runtime->eps[i]);
    for (int i = 0; i < 50; i++)
        run_once(plan, &input);
    cr_expect_eq(onnxd_alloc_query().calls, allocations);
    for (size_t i = 0; i < runtime->ep_count; i++) {
        const onnxd_ep_stats after = onnxd_ep_get_stats(runtime->eps[i]);
        cr_expect_eq(after.device_allocations, before[i].device_allocations);
        cr_expect_eq(after.sync_calls, before[i].sync_calls);
        cr_expect_eq(after.buffers_live, before[i].buffers_live);
        cr_expect_eq(after.fences_live, before[i].fences_live);
    }
    cr_expect_eq(onnxd_pool_query(runtime->host_pool).in_use_bytes, 0);
    onnxd_plan_release(plan);
    onnxd_model_release(model);
    for (size_t i = 0; i < runtime->ep_count; i++)
        cr_expect_eq(onnxd_ep_get_stats(runtime->eps[i]).buffers_live, 0);
    onnxd_runtime_destroy(runtime);
}

Test(run, allocates_nothing_in_a_steady_state_on_the_cpu)
{
    expect_steady("cpu;cpu.threads=1");
}

Test(run, allocates_nothing_in_a_steady_state_on_a_device)
{
    expect_steady(SIM_ALONE);
}

Test(run, allocates_nothing_in_a_steady_state_when_split)
{
    expect_steady(SPLIT);
}

/* ---- many shapes --------------------------------------------------------------------------- */

Test(run, a_thousand_shapes_stay_within_the_bound)
{
    enum { CAPACITY = 16, SHAPES = 1000 };
    static float data[4 * SHAPES];
    onnx_file file;
    char dims[32];
    onnxd_plan *plan;
    uint64_t live = 0;
    onnxd_runtime *runtime = support_runtime("cpu;cpu.threads=1;cpu.kernel_cache=16");
    onnxd_model_options options = onnxd_model_options_default();
    options.plan_cache_capacity = CAPACITY;
    support_write_mlp(&file);
    onnxd_model *model = support_load(runtime, &file, &options);
    for (int n = 1; n <= SHAPES; n++) {
        snprintf(dims, sizeof(dims), "%d,4", n);
        const onnxd_tensor_view input = support_view(data, ONNXD_FLOAT, dims);
        support_ok(onnxd_model_prepare(model, &input, &plan));
        run_once(plan, &input);
        onnxd_plan_release(plan);
        if (n == 4 * CAPACITY)
            live = onnxd_alloc_query().live_count;
    }
    cr_expect_eq(onnxd_plan_cache_query(&model->plans).count, CAPACITY);
    /* Live allocations do not grow with the number of shapes seen: the pool's blocks may differ by
     * a few size classes, plans by none. */
    cr_expect_leq(onnxd_alloc_query().live_count, live + 64);
    onnxd_model_release(model);
    onnxd_runtime_destroy(runtime);
}

Test(run, the_cache_keeps_what_was_used_last)
{
    static float data[4 * 8];
    onnx_file file;
    char dims[32];
    onnxd_plan *plan, *first;
    onnxd_runtime *runtime = support_runtime("cpu;cpu.threads=1");
    onnxd_model_options options = onnxd_model_options_default();
    options.plan_cache_capacity = 2;
    support_write_mlp(&file);
    onnxd_model *model = support_load(runtime, &file, &options);
    const onnxd_tensor_view one = support_view(data, ONNXD_FLOAT, "1,4");
    cr_expect_null(onnxd_model_find_plan(model, &one));
    support_ok(onnxd_model_prepare(model, &one, &first));
    for (int n = 2; n <= 5; n++) {
        snprintf(dims, sizeof(dims), "%d,4", n);
        const onnxd_tensor_view other = support_view(data, ONNXD_FLOAT, dims);
        support_ok(onnxd_model_prepare(model, &other, &plan));
        onnxd_plan_release(plan);
        plan = onnxd_model_find_plan(model, &one);
        cr_expect_eq(plan, first);
        onnxd_plan_release(plan);
    }
    const onnxd_tensor_view two = support_view(data, ONNXD_FLOAT, "2,4");
    cr_expect_null(onnxd_model_find_plan(model, &two));
    onnxd_plan_release(first);
    onnxd_model_release(model);
    onnxd_runtime_destroy(runtime);
}

/* ---- the end of plans ---------------------------------------------------------------------- */

/* Makes the plan for `rows`, which pushes the plan before out of the model's cache. */
static onnxd_plan *prepare_rows(onnxd_model *model, int rows)
{
    static float data[4 * 8];
    char dims[32];
    onnxd_plan *plan;
    snprintf(dims, sizeof(dims), "%d,4", rows);
    const onnxd_tensor_view input = support_view(data, ONNXD_FLOAT, dims);
    support_ok(onnxd_model_prepare(model, &input, &plan));
    return plan;
}

Test(run, the_last_release_leaves_the_end_of_a_plan_to_the_reaper)
{
    onnx_file file;
    onnxd_reaper *reaper;
    onnxd_runtime *runtime = support_runtime(SIM_ALONE);
    onnxd_model_options options = onnxd_model_options_default();
    options.plan_cache_capacity = 1;
    support_write_mlp(&file);
    onnxd_model *model = support_load(runtime, &file, &options);
    support_ok(onnxd_reaper_create(&reaper));
    onnxd_model_set_reaper(model, reaper);

    onnxd_plan *first = prepare_rows(model, 1);
    onnxd_plan *second = prepare_rows(model, 2);
    const uint64_t live = onnxd_alloc_query().live_count;
    onnxd_plan_release(first);
    cr_expect_eq(onnxd_alloc_query().live_count, live);
    onnxd_reaper_bury_plans(reaper);
    cr_expect_lt(onnxd_alloc_query().live_count, live);

    /* Whoever prepares the next plan buries as well. */
    onnxd_plan_release(prepare_rows(model, 3));
    const uint64_t before = onnxd_alloc_query().live_count;
    onnxd_plan_release(second);
    cr_expect_eq(onnxd_alloc_query().live_count, before);
    onnxd_plan *fourth = prepare_rows(model, 4);
    cr_expect_lt(onnxd_alloc_query().live_count, before);

    /* A plan keeps its model until it is buried. */
    onnxd_plan_release(prepare_rows(model, 5));
    onnxd_plan_release(fourth);
    onnxd_model_release(model);
    onnxd_reaper_close(reaper);
    onnxd_reaper_release(reaper);
    onnxd_runtime_destroy(runtime);
}

/* ---- bad input ----------------------------------------------------------------------------- */

Test(run, refuses_inputs_that_do_not_fit)
{
    onnx_file file;
    onnxd_plan *plan;
    onnxd_run *run;
    onnxd_runtime *runtime = support_runtime("cpu;cpu.threads=1");
    onnxd_model_options options = onnxd_model_options_default();
    options.max_tensor_bytes = 1024;
    support_write_mlp(&file);
    onnxd_model *model = support_load(runtime, &file, &options);

    onnxd_tensor_view input = support_view(mlp_input, ONNXD_FLOAT, "3,5");
    support_error(onnxd_model_prepare(model, &input, &plan), ONNXD_INVALID_ARGUMENT,
                  "unexpected shape for input 'x' for model 'test'. Expected [-1,4], got [3,5]");
    input = support_view(mlp_input, ONNXD_INT64, "1,4");
    support_error(onnxd_model_prepare(model, &input, &plan), ONNXD_INVALID_ARGUMENT,
                  "inference input 'x' data-type is 'INT64', but model 'test' expects 'FP32'");
    input = support_view(mlp_input, ONNXD_FLOAT, "3,4");
    input.strides[0] = 8;
    support_error(onnxd_model_prepare(model, &input, &plan), ONNXD_INVALID_ARGUMENT,
                  "not contiguous");
    input = support_view(mlp_input, ONNXD_FLOAT, "1000,4");
    support_error(onnxd_model_prepare(model, &input, &plan), ONNXD_PAYLOAD_TOO_LARGE,
                  "beyond the limit of 1024 bytes");
    input = support_view(mlp_input, ONNXD_FLOAT, "3,4");
    support_ok(onnxd_model_prepare(model, &input, &plan));
    input = support_view(mlp_input, ONNXD_FLOAT, "2,4");
    support_error(onnxd_run_acquire(plan, &input, &run), ONNXD_INVALID_ARGUMENT,
                  "not what the plan was made for");
    onnxd_plan_release(plan);
    onnxd_model_release(model);
    onnxd_runtime_destroy(runtime);
}

/* A name is not needed for that: shapes and values that do not fit show only with a request. */
Test(run, errors_say_which_node)
{
    static const int64_t beyond[] = {0, 7};
    static const float x[] = {1, 2, 3};
    onnxd_plan *plan;
    onnxd_run *run = NULL;
    onnxd_runtime *runtime = support_runtime("cpu;cpu.threads=1");
    onnx_file file = onnx_file_begin();
    onnx_input(&file, "x", ONNXD_FLOAT, "N");
    onnx_input(&file, "z", ONNXD_FLOAT, "M");
    onnx_input(&file, "at", ONNXD_INT64, "K");
    onnx_node(&file, "Add", "x,x", "a");
    onnx_unnamed_node(&file, "Add", "a,z", "b");
    onnx_unnamed_node(&file, "Gather", "b,at", "y");
    onnx_output(&file, "y", ONNXD_FLOAT, "K");
    onnxd_model *model = support_load(runtime, &file, NULL);

    onnxd_tensor_view inputs[] = {support_view(x, ONNXD_FLOAT, "3"),
                                  support_view(x, ONNXD_FLOAT, "2"),
                                  support_view(beyond, ONNXD_INT64, "2")};
    support_error(onnxd_model_prepare(model, inputs, &plan), ONNXD_INVALID_ARGUMENT,
                  "node #1 (Add): shapes [3] and [2] do not broadcast");
    inputs[1] = inputs[0];
    support_ok(onnxd_model_prepare(model, inputs, &plan));
    support_error(onnxd_run_once(plan, inputs, &run), ONNXD_INVALID_ARGUMENT,
                  "node #2 (Gather): index 7 (element 1 of input 1)");
    onnxd_plan_release(plan);
    onnxd_model_release(model);
    onnxd_runtime_destroy(runtime);
}

Test(run, takes_an_empty_batch)
{
    onnx_file file;
    onnxd_runtime *runtime = support_runtime(SPLIT);
    support_write_mlp(&file);
    onnxd_model *model = support_load(runtime, &file, NULL);
    const onnxd_tensor_view input = support_view(mlp_input, ONNXD_FLOAT, "0,4");
    support_expect_floats(model, &input, 0, NULL);
    onnxd_model_release(model);
    onnxd_runtime_destroy(runtime);
}

/* ---- faults -------------------------------------------------------------------------------- */

/* The nth copy or kernel after loading fails: that run does, with this code, and the next does not.
 */
static void expect_fault(const char *fault, onnxd_code code, const char *text)
{
    onnx_file file;
    char spec[256];
    float expected[9];
    onnxd_plan *plan;
    onnxd_run *run;
    snprintf(spec, sizeof(spec), "%s;%s", SIM_ALONE, fault);
    onnxd_runtime *runtime = support_runtime(spec);
    support_write_mlp(&file);
    onnxd_model *model = support_load(runtime, &file, NULL);
    const onnxd_tensor_view input = support_view(mlp_input, ONNXD_FLOAT, "3,4");
    support_ok(onnxd_model_prepare(model, &input, &plan));
    support_error(onnxd_run_once(plan, &input, &run), code, text);
    const onnxd_ep_stats stats = onnxd_ep_get_stats(runtime->eps[0]);
    cr_expect_eq(stats.fences_live, 0);
    onnxd_plan_release(plan);
    mlp_by_hand(mlp_input, 3, expected);
    support_expect_floats(model, &input, 9, expected);
    onnxd_model_release(model);
    onnxd_runtime_destroy(runtime);
}

/* Three weights are uploaded before the first run, which then uploads one input and downloads one
 * output. */
Test(run, survives_a_failed_upload)
{
    expect_fault("sim.fault_copy_at=4", ONNXD_INTERNAL, "simulated fault");
}

Test(run, survives_a_failed_download)
{
    expect_fault("sim.fault_copy_at=5", ONNXD_INTERNAL, "simulated fault");
}

Test(run, survives_a_failed_kernel)
{
    expect_fault("sim.fault_kernel_at=2", ONNXD_KERNEL_FAILED, "");
}

Test(run, survives_a_failed_allocation)
{
    expect_fault("sim.fault_alloc_at=4", ONNXD_OUT_OF_MEMORY, "");
}

Test(run, stops_between_kernels_when_cancelled)
{
    onnx_file file;
    onnxd_plan *plan;
    onnxd_run *run;
    onnxd_fence fence;
    atomic_bool cancelled;
    atomic_init(&cancelled, true);
    onnxd_runtime *runtime = support_runtime(SIM_ALONE);
    support_write_mlp(&file);
    onnxd_model *model = support_load(runtime, &file, NULL);
    const onnxd_tensor_view input = support_view(mlp_input, ONNXD_FLOAT, "3,4");
    support_ok(onnxd_model_prepare(model, &input, &plan));
    support_ok(onnxd_run_acquire(plan, &input, &run));
    support_error(
        onnxd_run_issue(run, 0, &(onnxd_run_control){&cancelled, ONNXD_NO_DEADLINE, NULL}, &fence),
        ONNXD_CANCELLED, "cancelled");
    onnxd_run_release(run);
    const onnxd_ep_stats stats = onnxd_ep_get_stats(runtime->eps[0]);
    cr_expect_eq(stats.kernels_enqueued, 0);
    cr_expect_eq(stats.fences_live, 0);
    onnxd_plan_release(plan);
    onnxd_model_release(model);
    onnxd_runtime_destroy(runtime);
}

/* ---- few fences ---------------------------------------------------------------------------- */

/* y0 = x + x, y1 = y0 + x, ...: as many downloads as outputs. */
static onnxd_model *load_many_outputs(onnxd_runtime *runtime, uint32_t count)
{
    char inputs[32], output[16];
    onnx_file file = onnx_file_begin();
    onnx_input(&file, "x", ONNXD_FLOAT, "2");
    for (uint32_t i = 0; i < count; i++) {
        snprintf(output, sizeof(output), "y%u", i);
        if (i == 0)
            snprintf(inputs, sizeof(inputs), "x,x");
        else
            snprintf(inputs, sizeof(inputs), "y%u,x", i - 1);
        onnx_node(&file, "Add", inputs, output);
        onnx_output(&file, output, ONNXD_FLOAT, "2");
    }
    return support_load(runtime, &file, NULL);
}

static void expect_many_outputs(const char *spec, uint32_t count)
{
    static const float x[] = {1, -3};
    onnxd_plan *plan;
    onnxd_run *run;
    onnxd_runtime *runtime = support_runtime(spec);
    onnxd_model *model = load_many_outputs(runtime, count);
    const onnxd_tensor_view input = support_view(x, ONNXD_FLOAT, "2");
    support_ok(onnxd_model_prepare(model, &input, &plan));
    for (int round = 0; round < 2; round++) {
        support_ok(onnxd_run_once(plan, &input, &run));
        const onnxd_tensor_view *outputs = onnxd_run_outputs(run);
        for (uint32_t i = 0; i < count; i++) {
            const float *values = onnxd_tensor_view_data(&outputs[i]);
            cr_assert_eq(values[0], (float)(i + 2));
            cr_assert_eq(values[1], (float)(i + 2) * -3.0f);
        }
        onnxd_run_release(run);
    }
    const onnxd_ep_stats stats = onnxd_ep_get_stats(runtime->eps[0]);
    cr_expect_eq(stats.fences_live, 0);
    cr_expect_eq(stats.sync_calls, 0);
    onnxd_plan_release(plan);
    onnxd_model_release(model);
    onnxd_runtime_destroy(runtime);
}

Test(run, makes_do_with_two_fences)
{
    expect_many_outputs(SIM_ALONE ";sim.max_fences=2;sim.copy_latency_us=500", 20);
}

Test(run, makes_do_with_one_fence)
{
    expect_many_outputs(SIM_ALONE ";sim.max_fences=1", 20);
}

Test(run, takes_more_outputs_than_there_are_fences)
{
    expect_many_outputs(SIM_ALONE, 5000);
}

Test(run, a_failed_copy_of_many_fails_the_run)
{
    static const float x[] = {1, -3};
    onnxd_plan *plan;
    onnxd_run *run;
    /* The input is copy 1; a failure of any output reaches the fence of the stage. */
    onnxd_runtime *runtime = support_runtime(SIM_ALONE ";sim.max_fences=2;sim.fault_copy_at=5");
    onnxd_model *model = load_many_outputs(runtime, 20);
    const onnxd_tensor_view input = support_view(x, ONNXD_FLOAT, "2");
    support_ok(onnxd_model_prepare(model, &input, &plan));
    support_error(onnxd_run_once(plan, &input, &run), ONNXD_INTERNAL, "simulated fault in copy 5");
    cr_expect_eq(onnxd_ep_get_stats(runtime->eps[0]).fences_live, 0);
    support_ok(onnxd_run_once(plan, &input, &run));
    onnxd_run_release(run);
    onnxd_plan_release(plan);
    onnxd_model_release(model);
    onnxd_runtime_destroy(runtime);
}

/* One of two fences is the test's, so the second upload finds none while the first is under way,
 * and there is none to wait for it with either. */
Test(run, leaves_nothing_in_flight_when_no_fence_is_left)
{
    static const float data[] = {1, 2};
    onnxd_plan *plan;
    onnxd_run *run;
    onnxd_fence held, fence;
    atomic_bool cancelled;
    atomic_init(&cancelled, true);
    onnxd_runtime *runtime =
        support_runtime(SIM_ALONE ";sim.max_fences=2;sim.copy_latency_us=50000");
    onnx_file file = onnx_file_begin();
    onnx_input(&file, "a", ONNXD_FLOAT, "2");
    onnx_input(&file, "b", ONNXD_FLOAT, "2");
    onnx_node(&file, "Add", "a,b", "y");
    onnx_output(&file, "y", ONNXD_FLOAT, "2");
    onnxd_model *model = support_load(runtime, &file, NULL);
    const onnxd_tensor_view inputs[] = {support_view(data, ONNXD_FLOAT, "2"),
                                        support_view(data, ONNXD_FLOAT, "2")};
    support_ok(onnxd_model_prepare(model, inputs, &plan));
    onnxd_ep *ep = runtime->eps[0];
    support_ok(onnxd_ep_fence_record(ep, ONNXD_STREAM_COMPUTE, &held));
    support_ok(onnxd_run_acquire(plan, inputs, &run));
    support_error(
        onnxd_run_issue(run, 0, &(onnxd_run_control){&cancelled, ONNXD_NO_DEADLINE, NULL}, &fence),
        ONNXD_CANCELLED, "cancelled");
    cr_expect_eq(onnxd_ep_get_stats(ep).copies_issued, 1);
    cr_expect_eq(onnxd_ep_get_stats(ep).fences_live, 1);
    onnxd_run_release(run);
    support_ok(onnxd_ep_fence_release(ep, held));
    onnxd_plan_release(plan);
    onnxd_model_release(model);
    onnxd_runtime_destroy(runtime);
}
