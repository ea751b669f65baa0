#include "model/tail.h"

#include <criterion/criterion.h>
#include <string.h>

#include "model/interpreter_memory.h"
#include "tests/model/support.h"

#define CPU "cpu;cpu.threads=1"
#define SIM "sim;sim.memory_bytes=16777216"

static onnxd_run *run_once(onnxd_model *model, const onnxd_tensor_view *inputs)
{
    onnxd_plan *plan;
    onnxd_run *run;
    support_ok(onnxd_model_prepare(model, inputs, &plan));
    support_ok(onnxd_run_once(plan, inputs, &run));
    onnxd_plan_release(plan);
    return run;
}

static void expect_ints(const onnxd_run *run, uint32_t output, const char *dims,
                        const int64_t *expected)
{
    const onnxd_tensor_view wanted = support_view(expected, ONNXD_INT64, dims);
    const onnxd_tensor_view *view = &onnxd_run_outputs(run)[output];
    cr_assert_eq(view->dtype, ONNXD_INT64);
    cr_assert(onnxd_shape_equal(&view->shape, &wanted.shape));
    if (expected != NULL)
        cr_assert_arr_eq((const int64_t *)onnxd_tensor_view_data(view), expected,
                         onnxd_tensor_view_bytes(&wanted));
}

/* x[N] ─► Neg ─► a ─► Relu ─► b ─► NonZero ─► c[1,?] ─► Transpose ─► y[?,1]; a is an output, too.
 */
static void write_model(onnx_file *file)
{
    *file = onnx_file_begin();
    onnx_input(file, "x", ONNXD_FLOAT, "N");
    onnx_node(file, "Neg", "x", "a");
    onnx_node(file, "Relu", "a", "b");
    onnx_node(file, "NonZero", "b", "c");
    onnx_node(file, "Transpose", "c", "y");
    onnx_output(file, "y", ONNXD_INT64, "M,1");
    onnx_output(file, "a", ONNXD_FLOAT, "N");
}

static const float x[] = {-1, 2, 0, -3, 5, -6};
static const int64_t negative_at[] = {0, 3, 5};

/* The same plan, run on other data, has outputs of other shapes. */
static void expect_positions(const char *spec)
{
    static const float none[6] = {1, 2, 3, 4, 5, 6};
    onnx_file file;
    onnxd_runtime *runtime = support_runtime(spec);
    write_model(&file);
    onnxd_model *model = support_load(runtime, &file, NULL);
    const onnxd_tensor_view first = support_view(x, ONNXD_FLOAT, "6");
    const onnxd_tensor_view second = support_view(none, ONNXD_FLOAT, "6");
    for (int round = 0; round < 3; round++) {
        onnxd_run *run = run_once(model, &first);
        expect_ints(run, 0, "3,1", negative_at);
        const float *a = onnxd_tensor_view_data(&onnxd_run_outputs(run)[1]);
        for (int i = 0; i < 6; i++)
            cr_expect_eq(a[i], -x[i]);
        onnxd_run_release(run);
        run = run_once(model, &second);
        expect_ints(run, 0, "0,1", NULL);
        onnxd_run_release(run);
    }
    onnxd_model_release(model);
    onnxd_runtime_destroy(runtime);
}

Test(tail, shapes_follow_from_data)
{
    expect_positions(CPU);
}

Test(tail, follows_stages_on_a_device)
{
    expect_positions(SIM ";sim.claim_ops=Neg,Relu " CPU);
}

Test(tail, is_one_stage_after_the_others)
{
    onnx_file file;
    onnxd_runtime *runtime = support_runtime(SIM ";sim.claim_ops=Neg,Relu " CPU);
    write_model(&file);
    onnxd_model *model = support_load(runtime, &file, NULL);
    const onnxd_tensor_view input = support_view(x, ONNXD_FLOAT, "6");
    onnxd_plan *plan;
    support_ok(onnxd_model_prepare(model, &input, &plan));
    cr_expect_eq(plan->stage_count, 2);
    cr_expect_eq(plan->tail.stage, 1);
    cr_expect_eq(plan->step_count, 2, "Neg and Relu; the tail has no steps");
    cr_expect_eq(onnxd_plan_stage_ep(plan, 0), 0);
    cr_expect_eq(onnxd_plan_stage_ep(plan, 1), 1);
    onnxd_plan_release(plan);
    onnxd_model_release(model);
    onnxd_runtime_destroy(runtime);
}

Test(tail, needs_an_instance_in_host_memory)
{
    onnx_file file;
    onnxd_runtime *runtime = support_runtime(SIM);
    write_model(&file);
    onnxd_model *model = support_load(runtime, &file, NULL);
    const onnxd_tensor_view input = support_view(x, ONNXD_FLOAT, "6");
    onnxd_plan *plan;
    support_error(onnxd_model_prepare(model, &input, &plan), ONNXD_NO_EP_FOR_OP, "such as cpu_ep");
    onnxd_model_release(model);
    onnxd_runtime_destroy(runtime);
}

/* A run that is given back has given back every block. */
Test(tail, gives_its_memory_back)
{
    onnx_file file;
    onnxd_runtime *runtime = support_runtime(CPU);
    write_model(&file);
    onnxd_model *model = support_load(runtime, &file, NULL);
    const onnxd_tensor_view input = support_view(x, ONNXD_FLOAT, "6");
    onnxd_run *run = run_once(model, &input);
    cr_expect_gt(onnxd_pool_query(runtime->host_pool).in_use_bytes, (size_t)0);
    onnxd_run_release(run);
    cr_expect_eq(onnxd_pool_query(runtime->host_pool).in_use_bytes, (size_t)0);
    onnxd_model_release(model);
    onnxd_runtime_destroy(runtime);
}

Test(tail, keeps_its_kernels)
{
    onnx_file file;
    onnxd_runtime *runtime = support_runtime(CPU);
    write_model(&file);
    onnxd_model *model = support_load(runtime, &file, NULL);
    const onnxd_tensor_view input = support_view(x, ONNXD_FLOAT, "6");
    onnxd_plan *plan;
    onnxd_run *run;
    support_ok(onnxd_model_prepare(model, &input, &plan));
    support_ok(onnxd_run_once(plan, &input, &run));
    onnxd_run_release(run);
    const uint64_t allocations = onnxd_pool_query(runtime->host_pool).source_allocs;
    for (int round = 0; round < 10; round++) {
        support_ok(onnxd_run_once(plan, &input, &run));
        expect_ints(run, 0, "3,1", negative_at);
        onnxd_run_release(run);
    }
    cr_expect_eq(onnxd_pool_query(runtime->host_pool).source_allocs, allocations,
                 "the same shapes need no new memory");
    onnxd_plan_release(plan);
    onnxd_model_release(model);
    onnxd_runtime_destroy(runtime);
}

/* x[N] ─► NonZero ─► c[1,?] ─► Shape ─► s[2] ─► ConstantOfShape ─► y: s has one type in every run,
 * but its value decides y's shape. */
Test(tail, a_value_decides_where_types_are_the_same)
{
    static const float inputs[][4] = {{1, 0, 2, 0}, {1, 2, 3, 4}, {0, 0, 0, 0}, {1, 0, 2, 0}};
    static const int64_t counts[] = {2, 4, 0, 2};
    onnx_file file = onnx_file_begin();
    onnx_input(&file, "x", ONNXD_FLOAT, "N");
    onnx_node(&file, "NonZero", "x", "c");
    onnx_node(&file, "Shape", "c", "s");
    onnx_node(&file, "ConstantOfShape", "s", "y");
    onnx_output(&file, "y", ONNXD_FLOAT, "A,B");
    onnxd_runtime *runtime = support_runtime(CPU);
    onnxd_model *model = support_load(runtime, &file, NULL);
    onnxd_plan *plan;
    onnxd_tensor_view input = support_view(inputs[0], ONNXD_FLOAT, "4");
    support_ok(onnxd_model_prepare(model, &input, &plan));
    for (size_t round = 0; round < sizeof(counts) / sizeof(counts[0]); round++) {
        onnxd_run *run;
        input = support_view(inputs[round], ONNXD_FLOAT, "4");
        support_ok(onnxd_run_once(plan, &input, &run));
        const onnxd_tensor_view *y = &onnxd_run_outputs(run)[0];
        cr_assert_eq(y->shape.rank, 2);
        cr_expect_eq(y->shape.dims[1], counts[round], "round %zu: %lld", round,
                     (long long)y->shape.dims[1]);
        onnxd_run_release(run);
    }
    onnxd_plan_release(plan);
    onnxd_model_release(model);
    onnxd_runtime_destroy(runtime);
}

Test(tail, a_value_beyond_the_limit_is_refused)
{
    onnx_file file;
    onnxd_model_options options = onnxd_model_options_default();
    onnxd_runtime *runtime = support_runtime(CPU);
    options.max_tensor_bytes = 24; /* x, but no three positions of 8 bytes, transposed or not */
    write_model(&file);
    onnxd_model *model = support_load(runtime, &file, &options);
    const float all[6] = {-1, -1, -1, -1, -1, -1};
    const onnxd_tensor_view input = support_view(all, ONNXD_FLOAT, "6");
    onnxd_plan *plan;
    onnxd_run *run;
    support_ok(onnxd_model_prepare(model, &input, &plan));
    support_error(onnxd_run_once(plan, &input, &run), ONNXD_PAYLOAD_TOO_LARGE,
                  "NonZero): a value would be int64[1,6], beyond the limit of 24 bytes");
    cr_expect_eq(onnxd_pool_query(runtime->host_pool).in_use_bytes, (size_t)0);
    onnxd_plan_release(plan);
    onnxd_model_release(model);
    onnxd_runtime_destroy(runtime);
}

Test(tail, stops_when_told)
{
    onnx_file file;
    onnxd_runtime *runtime = support_runtime(CPU);
    write_model(&file);
    onnxd_model *model = support_load(runtime, &file, NULL);
    const onnxd_tensor_view input = support_view(x, ONNXD_FLOAT, "6");
    atomic_bool cancelled = true;
    const onnxd_run_control late = {.deadline_ns = 0}, told = {&cancelled, INT64_MAX, NULL};
    onnxd_plan *plan;
    onnxd_run *run;
    onnxd_fence fence;
    support_ok(onnxd_model_prepare(model, &input, &plan));
    support_ok(onnxd_run_acquire(plan, &input, &run));
    support_ok(onnxd_run_issue(run, 0, NULL, &fence));
    support_error(onnxd_run_issue(run, 1, &late, &fence), ONNXD_DEADLINE_EXCEEDED, "timeout");
    support_error(onnxd_run_issue(run, 1, &told, &fence), ONNXD_CANCELLED, "cancelled");
    onnxd_run_release(run);
    onnxd_plan_release(plan);
    onnxd_model_release(model);
    onnxd_runtime_destroy(runtime);
}

Test(tail, unused_operators_do_not_run)
{
    onnx_file file = onnx_file_begin();
    onnxd_runtime *runtime = support_runtime(CPU);
    onnx_input(&file, "x", ONNXD_FLOAT, "6");
    onnx_node(&file, "Neg", "x", "y");
    onnx_node(&file, "NonZero", "x", "unused");
    onnx_output(&file, "y", ONNXD_FLOAT, "6");
    onnxd_model *model = support_load(runtime, &file, NULL);
    const onnxd_tensor_view input = support_view(x, ONNXD_FLOAT, "6");
    onnxd_plan *plan;
    support_ok(onnxd_model_prepare(model, &input, &plan));
    cr_expect_eq(plan->stage_count, 1);
    cr_expect_eq(plan->tail.stage, ONNXD_NONE);
    onnxd_plan_release(plan);
    onnxd_model_release(model);
    onnxd_runtime_destroy(runtime);
}

/* What the tail hands on without a copy lies in the plan's own memory, which another run must not
 * get before the first is given back. */
Test(tail, runs_do_not_share_what_is_handed_through)
{
    static const int64_t zero = 0;
    static const float other[] = {7, 7, 7, 7, 7, 7}, positive[] = {0, 2, 0, 0, 5, 0};
    onnx_file file = onnx_file_begin();
    onnxd_runtime *runtime = support_runtime(CPU);
    onnx_input(&file, "x", ONNXD_FLOAT, "6");
    onnx_int64s(&file, "zero", "", 1, &zero);
    onnx_node(&file, "Relu", "x", "a");
    onnx_node(&file, "SequenceConstruct", "a", "s");
    onnx_node(&file, "SequenceAt", "s,zero", "y");
    onnx_output(&file, "y", ONNXD_FLOAT, "6");
    onnxd_model *model = support_load(runtime, &file, NULL);
    const onnxd_tensor_view first = support_view(x, ONNXD_FLOAT, "6");
    const onnxd_tensor_view second = support_view(other, ONNXD_FLOAT, "6");
    onnxd_run *run = run_once(model, &first);
    onnxd_run *next = run_once(model, &second);
    const float *y = onnxd_tensor_view_data(&onnxd_run_outputs(run)[0]);
    cr_expect_arr_eq(y, positive, sizeof(positive));
    onnxd_run_release(run);
    onnxd_run_release(next);
    onnxd_model_release(model);
    onnxd_runtime_destroy(runtime);
}

/* As a loop makes them whose state passes through a view. */
Test(tail, aliases_make_no_chain)
{
    const int64_t dims[] = {1};
    const onnxd_shape shape = onnxd_shape_from(1, dims);
    onnxd_tensor *tensor, *alias;
    support_ok(onnxd_tensor_create(ONNXD_FLOAT, &shape, &tensor));
    for (int i = 0; i < 1000000; i++) {
        support_ok(onnxd_tensor_alias(tensor, &shape, &alias));
        onnxd_tensor_release(tensor);
        tensor = alias;
    }
    onnxd_tensor_release(tensor);
}

/* Strings of the tail are part of the host's memory, and last as long as the run. */
Test(tail, strings_lie_in_the_pool)
{
    const onnxd_string strings[] = {{"A-B", 3}, {"c", 1}};
    static const char *const pieces[] = {"a-b", "c"};
    onnx_file file = onnx_file_begin();
    onnxd_runtime *runtime = support_runtime(CPU);
    onnx_input(&file, "x", ONNXD_STRING, "2");
    onnx_node(&file, "StringNormalizer", "x", "s");
    onnx_attribute_text(&file, "case_change_action", "LOWER");
    onnx_node(&file, "Transpose", "s", "y");
    onnx_output(&file, "y", ONNXD_STRING, "K");
    onnxd_model *model = support_load(runtime, &file, NULL);
    const onnxd_tensor_view input = support_view(strings, ONNXD_STRING, "2");
    onnxd_run *run = run_once(model, &input);
    const onnxd_tensor_view *view = &onnxd_run_outputs(run)[0];
    const onnxd_string *y = onnxd_tensor_view_data(view);
    cr_assert_eq(onnxd_tensor_view_count(view), 2);
    for (int i = 0; i < 2; i++) {
        cr_assert_eq(y[i].size, strlen(pieces[i]));
        cr_expect_eq(memcmp(y[i].data, pieces[i], y[i].size), 0);
    }
    onnxd_run_release(run);
    cr_expect_eq(onnxd_pool_query(runtime->host_pool).in_use_bytes, (size_t)0);
    onnxd_model_release(model);
    onnxd_runtime_destroy(runtime);
}
