#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "tests/model/fake_ep.h"
#include "tests/model/support.h"

#define CPU "cpu;cpu.threads=1"
#define WIDTH 256

/* Takes `count` products of [.., WIDTH] with one square of weights, all of them 1 / WIDTH. */
static void add_products(onnx_file *file, const char *from, int count, const char *to)
{
    static float weights[WIDTH * WIDTH];
    char names[64], result[16], last[16];
    for (size_t i = 0; i < ONNXD_COUNT(weights); i++)
        weights[i] = 1.0f / WIDTH;
    onnx_floats(file, "w", "256,256", ONNXD_COUNT(weights), weights);
    snprintf(last, sizeof(last), "%s", from);
    for (int i = 0; i < count; i++) {
        snprintf(names, sizeof(names), "%s,w", last);
        snprintf(result, sizeof(result), i == count - 1 ? "%s" : "%s%d", to, i);
        onnx_node(file, "MatMul", names, result);
        snprintf(last, sizeof(last), "%s", result);
    }
}

static float ones[2 * WIDTH];

static void expect_ones(onnxd_model *model, const char *dims, size_t count)
{
    for (size_t i = 0; i < ONNXD_COUNT(ones); i++)
        ones[i] = 1;
    const onnxd_tensor_view input = support_view(ones, ONNXD_FLOAT, dims);
    support_expect_floats(model, &input, count, ones);
}

/* ---- passes of providers ------------------------------------------------------------------- */

static onnxd_status *break_ids(onnxd_graph *graph, const onnxd_pass_env *env, uint32_t *out_changes)
{
    (void)env;
    graph->nodes[0].inputs[0] = graph->value_count + 7;
    *out_changes = 1;
    return NULL;
}

static onnxd_status *break_order(onnxd_graph *graph, const onnxd_pass_env *env,
                                 uint32_t *out_changes)
{
    (void)env;
    graph->nodes[0].inputs[0] = graph->nodes[1].outputs[0];
    *out_changes = 1;
    return NULL;
}

static onnxd_status *remove_used(onnxd_graph *graph, const onnxd_pass_env *env,
                                 uint32_t *out_changes)
{
    (void)env;
    graph->nodes[0].is_removed = true;
    *out_changes = 1;
    return NULL;
}

static onnxd_status *skip_first(onnxd_graph *graph, const onnxd_pass_env *env,
                                uint32_t *out_changes)
{
    (void)env;
    graph->nodes[0].is_removed = true;
    graph->nodes[1].inputs[0] = graph->nodes[0].inputs[0];
    *out_changes = 1;
    return NULL;
}

typedef onnxd_status *(*pass_function)(onnxd_graph *graph, const onnxd_pass_env *env,
                                       uint32_t *out_changes);

/* y = relu(neg(x)), changed by a provider. */
static onnxd_status *load_through(onnxd_runtime **out_runtime, pass_function run,
                                  onnxd_model **out_model)
{
    static onnxd_pass pass = {.name = "meddle"};
    static const onnxd_pass *const passes[] = {&pass, NULL};
    const fake_ep_settings meddler = {.passes = passes, .unsupported_op = "Relu"};
    onnxd_ep *eps[2] = {fake_ep_open(0, &meddler)};
    onnx_file file = onnx_file_begin();
    pass.run = run;
    cr_assert_eq(support_open(CPU, eps + 1, 1), 1);
    *out_runtime = support_runtime_of(eps, 2);
    onnx_input(&file, "x", ONNXD_FLOAT, "N");
    onnx_node(&file, "Neg", "x", "h");
    onnx_node(&file, "Relu", "h", "y");
    onnx_output(&file, "y", ONNXD_FLOAT, "N");
    return support_try_load(*out_runtime, &file, NULL, out_model);
}

static void expect_refused(pass_function run, const char *text)
{
    onnxd_runtime *runtime;
    onnxd_model *model;
    onnxd_status *status = load_through(&runtime, run, &model);
    cr_assert_not_null(strstr(onnxd_status_message(status), "pass 'meddle' of fake_ep:0"), "%s",
                       onnxd_status_message(status));
    support_error(status, ONNXD_INVALID_ARGUMENT, text);
    onnxd_runtime_destroy(runtime);
}

Test(load, what_a_pass_of_a_provider_breaks_is_refused)
{
    expect_refused(break_ids, "id out of range");
    expect_refused(break_order, "used before it is produced");
    expect_refused(remove_used, "is produced by nothing");
}

Test(load, what_a_pass_of_a_provider_improves_is_used)
{
    static const float input[] = {-1, 2}, expected[] = {0, 2};
    onnxd_runtime *runtime;
    onnxd_model *model;
    support_ok(load_through(&runtime, skip_first, &model));
    cr_expect_eq(model->graph->node_count, 1);
    const onnxd_tensor_view view = support_view(input, ONNXD_FLOAT, "2");
    support_expect_floats(model, &view, 2, expected);
    onnxd_model_release(model);
    onnxd_runtime_destroy(runtime);
}

/* ---- costs --------------------------------------------------------------------------------- */

static void expect_all_on(const onnxd_model *model, uint32_t ep)
{
    for (onnxd_node_id n = 0; n < model->graph->node_count; n++)
        cr_expect(model->placement.nodes[n].is_free || model->placement.nodes[n].ep == ep,
                  "node %u", n);
}

static void expect_choice(const char *spec, uint32_t ep)
{
    static const int64_t zero[] = {0}, width[] = {WIDTH};
    onnxd_runtime *runtime = support_runtime(spec);
    onnx_file file = onnx_file_begin();
    onnx_input(&file, "x", ONNXD_FLOAT, "N,16,16");
    onnx_int64s(&file, "zero", "1", 1, zero);
    onnx_int64s(&file, "width", "1", 1, width);
    onnx_node(&file, "Shape", "x", "all");
    onnx_node(&file, "Gather", "all,zero", "rows");
    onnx_node(&file, "Concat", "rows,width", "shape");
    onnx_attribute_int(&file, "axis", 0);
    onnx_node(&file, "Reshape", "x,shape", "flat");
    add_products(&file, "flat", 8, "y");
    onnx_output(&file, "y", ONNXD_FLOAT, "N,256");
    onnxd_model *model = support_load(runtime, &file, NULL);
    cr_expect(model->placement.is_nominal);
    expect_all_on(model, ep);
    expect_ones(model, "2,16,16", ONNXD_COUNT(ones));
    onnxd_model_release(model);
    onnxd_runtime_destroy(runtime);
}

/* The shapes behind the Reshape follow from a value, too. */
Test(load, a_dynamic_batch_goes_where_it_costs_least)
{
    expect_choice(CPU " sim;sim.compute_scale=0.01", 1);
    expect_choice(CPU " sim;sim.compute_scale=100", 0);
    expect_choice("sim;sim.compute_scale=100 " CPU, 1);
}

/* An extent of 1 is too little for this kernel; the model is placed all the same. */
Test(load, shapes_that_1_does_not_fit_are_placed_by_what_is_declared)
{
    static const float kernel[9] = {0, 0, 0, 0, 1, 0, 0, 0, 0};
    static const float expected[1] = {5}, input[] = {1, 2, 3, 4, 5, 6, 7, 8, 9};
    onnxd_runtime *runtime = support_runtime(CPU);
    onnx_file file = onnx_file_begin();
    onnx_input(&file, "x", ONNXD_FLOAT, "N,1,H,W");
    onnx_floats(&file, "k", "1,1,3,3", 9, kernel);
    onnx_node(&file, "Conv", "x,k", "y");
    onnx_output(&file, "y", ONNXD_FLOAT, "N,1,A,B");
    onnxd_model *model = support_load(runtime, &file, NULL);
    cr_expect_not(model->placement.is_nominal);
    cr_expect_not(model->placement.nodes[0].cost.is_known);
    const onnxd_tensor_view view = support_view(input, ONNXD_FLOAT, "1,1,3,3");
    support_expect_floats(model, &view, 1, expected);
    onnxd_model_release(model);
    onnxd_runtime_destroy(runtime);
}

/* ---- memory -------------------------------------------------------------------------------- */

static void write_products(onnx_file *file, const char *dims)
{
    *file = onnx_file_begin();
    onnx_input(file, "x", ONNXD_FLOAT, dims);
    add_products(file, "x", 2, "y");
    onnx_output(file, "y", ONNXD_FLOAT, dims);
}

/* 256 KiB of weights, 128 KiB of device memory. */
#define SMALL_SIM "sim;sim.memory_bytes=131072;sim.claim_ops=MatMul"

static void expect_without_device(const char *dims)
{
    onnx_file file;
    onnxd_runtime *runtime = support_runtime(CPU " " SMALL_SIM);
    write_products(&file, dims);
    onnxd_model *model = support_load(runtime, &file, NULL);
    expect_all_on(model, 0);
    cr_expect_not_null(strstr(model->placement.matches[1].reason, "memory"), "%s",
                       model->placement.matches[1].reason);
    expect_ones(model, "2,256", ONNXD_COUNT(ones));
    cr_expect_eq(onnxd_ep_get_stats(runtime->eps[1]).buffers_live, 0);
    onnxd_model_release(model);
    onnxd_runtime_destroy(runtime);
}

Test(load, a_device_that_cannot_hold_the_constants_is_done_without)
{
    expect_without_device("2,256");
    expect_without_device("N,256");
}

Test(load, a_model_that_only_a_device_may_run_needs_its_memory)
{
    onnx_file file;
    onnxd_model *model;
    onnxd_runtime *runtime = support_runtime(SMALL_SIM);
    write_products(&file, "N,256");
    support_error(support_try_load(runtime, &file, NULL, &model), ONNXD_OUT_OF_MEMORY,
                  "constant 'w' on sim_ep:0");
    cr_expect_eq(onnxd_ep_get_stats(runtime->eps[0]).buffers_live, 0);
    onnxd_runtime_destroy(runtime);
}

/* Half of the memory holds one half of the weights; what was uploaded before it ran short is given
 * back. */
Test(load, a_device_that_is_left_out_keeps_nothing)
{
    static float first[128 * 128], second[128 * 256];
    onnxd_runtime *runtime = support_runtime(CPU " " SMALL_SIM);
    onnx_file file = onnx_file_begin();
    first[0] = second[0] = 3;
    onnx_input(&file, "x", ONNXD_FLOAT, "N,128");
    onnx_floats(&file, "w1", "128,128", ONNXD_COUNT(first), first);
    onnx_floats(&file, "w2", "128,256", ONNXD_COUNT(second), second);
    onnx_node(&file, "MatMul", "x,w1", "h");
    onnx_node(&file, "MatMul", "h,w2", "y");
    onnx_output(&file, "y", ONNXD_FLOAT, "N,256");
    onnxd_model *model = support_load(runtime, &file, NULL);
    expect_all_on(model, 0);
    cr_expect_gt(onnxd_ep_get_stats(runtime->eps[1]).copies_issued, 0);
    cr_expect_eq(onnxd_ep_get_stats(runtime->eps[1]).buffers_live, 0);
    onnxd_model_release(model);
    onnxd_runtime_destroy(runtime);
}
