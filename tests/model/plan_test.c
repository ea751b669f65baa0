#include "model/plan.h"

#include <criterion/criterion.h>
#include <string.h>

#include "tests/model/fake_ep.h"
#include "tests/model/support.h"

#define CPU "cpu;cpu.threads=1"
#define SIM "sim;sim.memory_bytes=16777216"

static onnxd_plan *prepare(onnxd_model *model, const onnxd_tensor_view *inputs)
{
    onnxd_plan *plan;
    support_ok(onnxd_model_prepare(model, inputs, &plan));
    return plan;
}

/* ---- memory -------------------------------------------------------------------------------- */

/* A chain of Relu and Add that keeps some values alive for long. */
static void write_ladder(onnx_file *file)
{
    *file = onnx_file_begin();
    onnx_input(file, "x", ONNXD_FLOAT, "64");
    onnx_node(file, "Relu", "x", "a");
    onnx_node(file, "Neg", "a", "b");
    onnx_node(file, "Abs", "b", "c");
    onnx_node(file, "Add", "a,c", "d");
    onnx_node(file, "Add", "b,d", "e");
    onnx_node(file, "Sub", "e,c", "f");
    onnx_node(file, "Add", "f,a", "y");
    onnx_output(file, "y", ONNXD_FLOAT, "64");
}

typedef struct interval {
    uint32_t first, last;
    size_t begin, end;
} interval;

/* The life of every value in the arena, by its place: from the step that writes it to the last that
 * reads it; outputs of the model live on. */
static size_t find_intervals(const onnxd_plan *plan, interval *out, size_t capacity)
{
    size_t count = 0;
    for (uint32_t s = 0; s < plan->step_count; s++) {
        const onnxd_step *step = &plan->steps[s];
        const onnxd_node *node = &plan->model->graph->nodes[step->node];
        for (uint32_t o = 0; o < step->output_count; o++) {
            const onnxd_tensor_view *view = &plan->views[step->first_view + step->input_count + o];
            interval found = {s, s, view->byte_offset,
                              view->byte_offset + onnxd_tensor_view_bytes(view)};
            for (uint32_t r = s; r < plan->step_count; r++) {
                const onnxd_node *reader = &plan->model->graph->nodes[plan->steps[r].node];
                for (uint32_t i = 0; i < reader->input_count; i++)
                    if (reader->inputs[i] == node->outputs[o])
                        found.last = r;
            }
            if (plan->model->graph->values[node->outputs[o]].is_output)
                found.last = UINT32_MAX;
            cr_assert(count < capacity);
            out[count++] = found;
        }
    }
    return count;
}

/* The result of an operator that works element by element may take the place of what it reads last.
 */
static bool is_over(const interval *result, const interval *operand)
{
    return result->first == operand->last && result->begin == operand->begin &&
           result->end == operand->end;
}

Test(plan, live_values_never_share_bytes)
{
    onnx_file file;
    interval intervals[16];
    static const float data[64];
    onnxd_runtime *runtime = support_runtime(CPU);
    write_ladder(&file);
    /* A value for each node. */
    static const char *const disabled[] = {"fuse_elementwise", NULL};
    onnxd_model_options options = onnxd_model_options_default();
    options.passes.disabled = disabled;
    onnxd_model *model = support_load(runtime, &file, &options);
    const onnxd_tensor_view input = support_view(data, ONNXD_FLOAT, "64");
    onnxd_plan *plan = prepare(model, &input);
    const size_t count = find_intervals(plan, intervals, 16);
    cr_assert_eq(count, 7);
    for (size_t a = 0; a < count; a++)
        for (size_t b = 0; b < a; b++)
            if (intervals[a].first <= intervals[b].last && intervals[b].first <= intervals[a].last)
                cr_assert(intervals[a].end <= intervals[b].begin ||
                              intervals[b].end <= intervals[a].begin ||
                              is_over(&intervals[a], &intervals[b]),
                          "values %zu and %zu share bytes", a, b);
    /* a, b, c and d live at once; without reuse it would be seven. */
    cr_expect_eq(plan->spaces[ONNXD_HOST_SPACE].arena_bytes, (size_t)4 * 256);
    onnxd_plan_release(plan);
    onnxd_model_release(model);
    onnxd_runtime_destroy(runtime);
}

/* ---- views --------------------------------------------------------------------------------- */

static const int64_t two_by_three[] = {2, 3};
static const float six[] = {1, -2, 3, -4, 5, -6};

static void expect_views(const char *spec, uint32_t transfers)
{
    static const float expected[] = {-1, 2, -3, 4, -5, 6};
    onnx_file file = onnx_file_begin();
    onnxd_runtime *runtime = support_runtime(spec);
    onnx_input(&file, "x", ONNXD_FLOAT, "6");
    onnx_int64s(&file, "shape", "2", 2, two_by_three);
    onnx_node(&file, "Reshape", "x,shape", "a");
    onnx_node(&file, "Neg", "a", "b");
    onnx_node(&file, "Flatten", "b", "y");
    onnx_output(&file, "y", ONNXD_FLOAT, "2,3");
    onnxd_model *model = support_load(runtime, &file, NULL);
    const onnxd_tensor_view input = support_view(six, ONNXD_FLOAT, "6");
    onnxd_plan *plan = onnxd_model_find_plan(model, &input);
    cr_assert_not_null(plan, "a plan for static shapes is made when the model is loaded");
    cr_expect_eq(plan->step_count, 1, "only Neg needs a kernel");
    cr_expect_eq(plan->upload_count, transfers);
    cr_expect_eq(plan->download_count, transfers);
    onnxd_plan_release(plan);
    support_expect_floats(model, &input, 6, expected);
    onnxd_model_release(model);
    onnxd_runtime_destroy(runtime);
}

Test(plan, views_cost_no_kernel)
{
    expect_views(CPU, 0);
}

Test(plan, views_cost_no_kernel_on_a_device)
{
    expect_views(SIM, 1);
}

Test(plan, outputs_may_be_inputs_and_constants)
{
    static const float weights[] = {7, 8, 9};
    onnx_file file = onnx_file_begin();
    onnxd_runtime *runtime = support_runtime(CPU);
    onnx_input(&file, "x", ONNXD_FLOAT, "6");
    onnx_floats(&file, "w", "3", 3, weights);
    onnx_int64s(&file, "shape", "2", 2, two_by_three);
    onnx_node(&file, "Reshape", "x,shape", "y");
    onnx_node(&file, "Identity", "w", "z");
    onnx_output(&file, "y", ONNXD_FLOAT, "2,3");
    onnx_output(&file, "z", ONNXD_FLOAT, "3");
    onnxd_model *model = support_load(runtime, &file, NULL);
    const onnxd_tensor_view input = support_view(six, ONNXD_FLOAT, "6");
    onnxd_plan *plan = prepare(model, &input);
    onnxd_run *run;
    cr_expect_eq(onnxd_plan_stage_count(plan), 0);
    support_ok(onnxd_run_once(plan, &input, &run));
    const onnxd_tensor_view *outputs = onnxd_run_outputs(run);
    cr_expect_eq(onnxd_tensor_view_data(&outputs[0]), (const void *)six);
    cr_expect_eq(outputs[0].shape.rank, 2);
    cr_expect_arr_eq(onnxd_tensor_view_data(&outputs[1]), weights, sizeof(weights));
    cr_expect_eq(onnxd_plan_output_type(plan, 0)->shape.dims[1], 3);
    onnxd_run_release(run);
    onnxd_plan_release(plan);
    onnxd_model_release(model);
    onnxd_runtime_destroy(runtime);
}

/* ---- shapes -------------------------------------------------------------------------------- */

Test(plan, a_shape_that_follows_from_shapes_needs_no_kernel)
{
    static const int64_t zero[] = {0}, minus_one[] = {-1};
    static const float expected[] = {-1, 2, -3, 4, -5, 6};
    onnx_file file = onnx_file_begin();
    onnxd_runtime *runtime = support_runtime(SIM ";sim.unsupported_ops=Shape,Gather,Concat " CPU);
    onnx_input(&file, "x", ONNXD_FLOAT, "N,3,1");
    onnx_int64s(&file, "zero", "1", 1, zero);
    onnx_int64s(&file, "rest", "1", 1, minus_one);
    onnx_node(&file, "Shape", "x", "all");
    onnx_node(&file, "Gather", "all,zero", "rows");
    onnx_node(&file, "Concat", "rows,rest", "shape");
    onnx_attribute_int(&file, "axis", 0);
    onnx_node(&file, "Reshape", "x,shape", "flat");
    onnx_node(&file, "Neg", "flat", "y");
    onnx_output(&file, "y", ONNXD_FLOAT, "N,M");
    onnxd_model_options options = onnxd_model_options_default();
    onnxd_model *model = support_load(runtime, &file, &options);
    const onnxd_tensor_view input = support_view(six, ONNXD_FLOAT, "2,3,1");
    onnxd_plan *plan = prepare(model, &input);
    cr_expect_eq(plan->step_count, 1);
    cr_expect_eq(plan->stage_count, 1);
    onnxd_plan_release(plan);
    support_expect_floats(model, &input, 6, expected);
    onnxd_model_release(model);
    onnxd_runtime_destroy(runtime);
}

Test(plan, the_value_of_a_shape_input_is_part_of_the_key)
{
    static const int64_t three_by_two[] = {3, 2}, too_many[] = {4, 2};
    onnx_file file = onnx_file_begin();
    onnxd_runtime *runtime = support_runtime(CPU);
    onnx_input(&file, "x", ONNXD_FLOAT, "6");
    onnx_input(&file, "shape", ONNXD_INT64, "2");
    onnx_node(&file, "Neg", "x", "a");
    onnx_node(&file, "Reshape", "a,shape", "y");
    onnx_output(&file, "y", ONNXD_FLOAT, "A,B");
    onnxd_model *model = support_load(runtime, &file, NULL);
    cr_expect_not(onnxd_model_input(model, 0)->value_decides_shapes);
    cr_expect(onnxd_model_input(model, 1)->value_decides_shapes);
    onnxd_tensor_view inputs[] = {support_view(six, ONNXD_FLOAT, "6"),
                                  support_view(two_by_three, ONNXD_INT64, "2")};
    onnxd_plan *first = prepare(model, inputs);
    cr_expect_eq(onnxd_plan_output_type(first, 0)->shape.dims[0], 2);
    inputs[1] = support_view(three_by_two, ONNXD_INT64, "2");
    cr_expect_null(onnxd_model_find_plan(model, inputs));
    onnxd_plan *second = prepare(model, inputs);
    cr_expect_neq(first, second);
    cr_expect_eq(onnxd_plan_output_type(second, 0)->shape.dims[0], 3);
    inputs[1] = support_view(too_many, ONNXD_INT64, "2");
    onnxd_plan *none;
    support_error(onnxd_model_prepare(model, inputs, &none), ONNXD_INVALID_ARGUMENT, "'y'");
    onnxd_plan_release(first);
    onnxd_plan_release(second);
    onnxd_model_release(model);
    onnxd_runtime_destroy(runtime);
}

/* ---- copies at the boundary ---------------------------------------------------------------- */

/* a is made on the device, read twice on the host and once more on the device; b the other way
 * round. */
Test(plan, a_value_crosses_once_per_destination)
{
    static const float input_data[] = {1, -2, 3};
    static const float expected[] = {-1, 0, -9};
    onnx_file file = onnx_file_begin();
    onnxd_runtime *runtime =
        support_runtime(CPU " " SIM ";sim.unsupported_ops=Relu,Mul,Sub;sim.claim_ops=Neg,Add");
    onnx_input(&file, "x", ONNXD_FLOAT, "3");
    onnx_node(&file, "Neg", "x", "a");   /* sim:  -1  2 -3 */
    onnx_node(&file, "Relu", "a", "b");  /* cpu:   0  2  0 */
    onnx_node(&file, "Mul", "a,b", "c"); /* cpu:   0  4  0 */
    onnx_node(&file, "Add", "a,b", "d"); /* sim:  -1  4 -3 */
    onnx_node(&file, "Add", "d,b", "e"); /* sim:  -1  6 -3 */
    onnx_node(&file, "Sub", "e,c", "f"); /* cpu:  -1  2 -3 */
    onnx_node(&file, "Mul", "f,f", "g"); /* cpu:   1  4  9 */
    onnx_node(&file, "Sub", "c,g", "y"); /* cpu:  -1  0 -9 */
    onnx_output(&file, "y", ONNXD_FLOAT, "3");
    onnxd_model_options options = onnxd_model_options_default();
    onnxd_model *model = support_load(runtime, &file, &options);
    const onnxd_tensor_view input = support_view(input_data, ONNXD_FLOAT, "3");
    onnxd_plan *plan = prepare(model, &input);
    cr_expect_eq(plan->stage_count, 4);
    cr_expect_eq(plan->upload_count, 2, "x and b");
    cr_expect_eq(plan->download_count, 2, "a and e");
    onnxd_plan_release(plan);
    support_expect_floats(model, &input, 3, expected);
    onnxd_model_release(model);
    onnxd_runtime_destroy(runtime);
}

Test(plan, weights_are_uploaded_once_for_all_shapes)
{
    onnx_file file;
    static const float data[4 * 8];
    onnxd_runtime *runtime = support_runtime(SIM);
    support_write_mlp(&file);
    onnxd_model *model = support_load(runtime, &file, NULL);
    onnxd_tensor_view input = support_view(data, ONNXD_FLOAT, "1,4");
    onnxd_plan_release(prepare(model, &input));
    const onnxd_ep_stats first = onnxd_ep_get_stats(runtime->eps[0]);
    cr_expect_eq(first.copies_issued, 3);
    input = support_view(data, ONNXD_FLOAT, "7,4");
    onnxd_plan_release(prepare(model, &input));
    const onnxd_ep_stats second = onnxd_ep_get_stats(runtime->eps[0]);
    cr_expect_eq(second.copies_issued, 3);
    cr_expect_eq(second.buffers_live, 3);
    onnxd_model_release(model);
    cr_expect_eq(onnxd_ep_get_stats(runtime->eps[0]).buffers_live, 0);
    onnxd_runtime_destroy(runtime);
}

/* A multiplication by 2048 weights, all of them `weight`. */
static onnxd_model *load_large(onnxd_runtime *runtime, float weight)
{
    static float weights[2048];
    for (size_t i = 0; i < ONNXD_COUNT(weights); i++)
        weights[i] = weight;
    onnx_file file = onnx_file_begin();
    onnx_input(&file, "x", ONNXD_FLOAT, "1");
    onnx_floats(&file, "w", "2048", ONNXD_COUNT(weights), weights);
    onnx_node(&file, "Mul", "x,w", "y");
    onnx_output(&file, "y", ONNXD_FLOAT, "2048");
    return support_load(runtime, &file, NULL);
}

Test(plan, equal_weights_of_several_models_are_kept_once)
{
    static float expected[2048];
    static const float three = 3;
    const onnxd_tensor_view input = support_view(&three, ONNXD_FLOAT, "1");
    onnxd_runtime *runtime = support_runtime(SIM);
    onnxd_model *first = load_large(runtime, 2);
    onnxd_model *second = load_large(runtime, 2);
    onnxd_model *other = load_large(runtime, 5);
    cr_expect_eq(onnxd_ep_get_stats(runtime->eps[0]).buffers_live, 2);
    const onnxd_value_id w = onnxd_graph_find_value(first->graph, "w");
    cr_expect_eq(first->graph->values[w].constant, second->graph->values[w].constant);
    cr_expect_neq(first->graph->values[w].constant, other->graph->values[w].constant);
    onnxd_model_release(first);
    for (size_t i = 0; i < ONNXD_COUNT(expected); i++)
        expected[i] = 6;
    support_expect_floats(second, &input, ONNXD_COUNT(expected), expected);
    onnxd_model_release(second);
    onnxd_model_release(other);
    cr_expect_eq(onnxd_ep_get_stats(runtime->eps[0]).buffers_live, 0);
    onnxd_runtime_destroy(runtime);
}

/* ---- refusals ------------------------------------------------------------------------------ */

Test(plan, a_node_refused_with_concrete_shapes_runs_elsewhere)
{
    static const float input_data[] = {1, -2, 3}, expected[] = {-1, 2, -3};
    const fake_ep_settings promising = {.node_us = 0, .claimed_op = "Neg"};
    onnxd_ep *eps[2] = {fake_ep_open(0, &promising)};
    onnx_file file = onnx_file_begin();
    cr_assert_eq(support_open(CPU, eps + 1, 1), 1);
    onnxd_runtime *runtime = support_runtime_of(eps, 2);
    onnx_input(&file, "x", ONNXD_FLOAT, "N");
    onnx_node(&file, "Neg", "x", "y");
    onnx_output(&file, "y", ONNXD_FLOAT, "N");
    onnxd_model *model = support_load(runtime, &file, NULL);
    cr_expect_eq(model->placement.nodes[0].ep, 0);
    const onnxd_tensor_view input = support_view(input_data, ONNXD_FLOAT, "3");
    onnxd_plan *plan = prepare(model, &input);
    cr_expect_eq(onnxd_plan_stage_ep(plan, 0), 1);
    onnxd_plan_release(plan);
    support_expect_floats(model, &input, 3, expected);
    onnxd_model_release(model);
    onnxd_runtime_destroy(runtime);
}

Test(plan, a_node_that_everybody_refuses_is_an_error)
{
    const fake_ep_settings promising = {.node_us = 0};
    onnxd_ep *eps[1] = {fake_ep_open(0, &promising)};
    onnx_file file = onnx_file_begin();
    onnxd_model *model;
    onnxd_runtime *runtime = support_runtime_of(eps, 1);
    onnx_input(&file, "x", ONNXD_FLOAT, "3");
    onnx_node(&file, "Neg", "x", "y");
    onnx_output(&file, "y", ONNXD_FLOAT, "3");
    support_error(support_try_load(runtime, &file, NULL, &model), ONNXD_NO_EP_FOR_OP,
                  "node 'y' (Neg): fake_ep makes no kernels");
    onnxd_runtime_destroy(runtime);
}

/* ---- strings ------------------------------------------------------------------------------- */

Test(plan, strings_stay_on_the_host)
{
    static const onnxd_string words[] = {{"one", 3}, {NULL, 0}, {"three", 5}};
    static const int64_t shape[] = {3, 1};
    onnx_file file = onnx_file_begin();
    onnxd_run *run;
    onnxd_runtime *runtime = support_runtime(SIM " " CPU);
    onnx_input(&file, "x", ONNXD_STRING, "3");
    onnx_input(&file, "n", ONNXD_FLOAT, "2");
    onnx_int64s(&file, "shape", "2", 2, shape);
    onnx_node(&file, "Unsqueeze", "x,axis", "u");
    onnx_int64s(&file, "axis", "1", 1, (const int64_t[]){1});
    onnx_node(&file, "Concat", "u,u", "y");
    onnx_attribute_int(&file, "axis", 1);
    onnx_node(&file, "Cast", "n", "z");
    onnx_attribute_int(&file, "to", ONNXD_STRING);
    onnx_output(&file, "y", ONNXD_STRING, "3,2");
    onnx_output(&file, "z", ONNXD_STRING, "2");
    onnxd_model *model = support_load(runtime, &file, NULL);
    const float numbers[] = {1.5f, -2};
    const onnxd_tensor_view inputs[] = {support_view(words, ONNXD_STRING, "3"),
                                        support_view(numbers, ONNXD_FLOAT, "2")};
    onnxd_plan *plan = prepare(model, inputs);
    support_ok(onnxd_run_once(plan, inputs, &run));
    const onnxd_string *y = onnxd_tensor_view_data(&onnxd_run_outputs(run)[0]);
    const onnxd_string *z = onnxd_tensor_view_data(&onnxd_run_outputs(run)[1]);
    cr_assert_eq(y[1].size, 3);
    cr_expect_arr_eq(y[1].data, "one", 3);
    cr_expect_eq(y[2].size, 0);
    cr_expect_arr_eq(y[5].data, "three", 5);
    cr_assert_eq(z[0].size, 3);
    cr_expect_arr_eq(z[0].data, "1.5", 3);
    onnxd_run_release(run);
    onnxd_plan_release(plan);
    onnxd_model_release(model);
    onnxd_runtime_destroy(runtime);
}

/* ---- text ---------------------------------------------------------------------------------- */

Test(plan, a_description_tells_placement_reasons_and_memory)
{
    static const char *const wanted[] = {"model test version 1", "input x: float[64]",
                                         "output y: float[64]",  "sim_ep:0",
                                         "not sim_ep:0",         "cpu_ep:0",
                                         "partition 1 on",       "arena of the host: ",
                                         "arena of sim_ep:0: ",  "stage 0 on sim_ep:0",
                                         "upload x: 256 bytes",  "download "};
    onnx_file file;
    onnxd_strbuf first, second;
    onnxd_runtime *runtime =
        support_runtime(CPU " " SIM ";sim.claim_ops=Relu,Neg;sim.unsupported_ops=Add");
    write_ladder(&file);
    onnxd_model *model = support_load(runtime, &file, NULL);
    onnxd_strbuf_init(&first, 1 << 20);
    onnxd_strbuf_init(&second, 1 << 20);
    onnxd_model_describe(model, &first);
    onnxd_model_describe(model, &second);
    for (size_t i = 0; i < ONNXD_COUNT(wanted); i++)
        cr_expect_not_null(strstr(first.data, wanted[i]), "no '%s' in:\n%s", wanted[i], first.data);
    cr_expect_str_eq(first.data, second.data);
    onnxd_strbuf_deinit(&first);
    onnxd_strbuf_deinit(&second);
    onnxd_model_release(model);
    onnxd_runtime_destroy(runtime);
}
