/* Which values of a plan share memory: results written over inputs, and pieces of Concat, Split and
 * Slice within the whole. */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "tests/model/support.h"

#define CPU "cpu;cpu.threads=1"
#define SIM "sim;sim.memory_bytes=16777216"

/* ---- support ------------------------------------------------------------------------------- */

static float data[4096];

/* -1.5, 2.5, -3.5 ... */
static void fill_data(void)
{
    for (size_t i = 0; i < ONNXD_COUNT(data); i++)
        data[i] = ((float)i + 1.5f) * (i % 2 == 0 ? -1.0f : 1.0f);
}

typedef struct fixture {
    onnxd_runtime *runtime;
    onnxd_model *model;
    onnxd_plan *plan;
} fixture;

/* One input "x" of these dims, which hold `data`. */
static fixture load(const char *spec, onnx_file *file, const char *dims)
{
    fixture f = {.runtime = support_runtime(spec)};
    fill_data();
    f.model = support_load(f.runtime, file, NULL);
    const onnxd_tensor_view input = support_view(data, ONNXD_FLOAT, dims);
    support_ok(onnxd_model_prepare(f.model, &input, &f.plan));
    return f;
}

static void unload(fixture *f)
{
    onnxd_plan_release(f->plan);
    onnxd_model_release(f->model);
    onnxd_runtime_destroy(f->runtime);
}

/* The view of a value as the first step that touches it has it, or of an output of the model. */
static const onnxd_tensor_view *view_of(const fixture *f, const char *name)
{
    const onnxd_graph *graph = f->model->graph;
    const onnxd_value_id value = onnxd_graph_find_value(graph, name);
    for (uint32_t s = 0; s < f->plan->step_count; s++) {
        const onnxd_step *step = &f->plan->steps[s];
        const onnxd_node *node = &graph->nodes[step->node];
        for (uint32_t i = 0; i < step->input_count; i++)
            if (node->inputs[i] == value)
                return &f->plan->views[step->first_view + i];
        for (uint32_t i = 0; i < step->output_count; i++)
            if (node->outputs[i] == value)
                return &f->plan->views[step->first_view + step->input_count + i];
    }
    for (uint32_t i = 0; i < graph->output_count; i++)
        if (graph->outputs[i] == value)
            return &f->plan->views[f->plan->first_output_view + i];
    cr_assert_fail("nobody uses '%s'", name);
    return NULL;
}

static size_t offset_of(const fixture *f, const char *name)
{
    return view_of(f, name)->byte_offset;
}

static bool runs(const fixture *f, const char *op_type)
{
    for (uint32_t s = 0; s < f->plan->step_count; s++)
        if (strcmp(f->model->graph->nodes[f->plan->steps[s].node].op_type, op_type) == 0)
            return true;
    return false;
}

/* Runs twice, so that what one run leaves behind would show, and compares an output. */
static void expect_output(const fixture *f, const char *dims, uint32_t output, size_t count,
                          const float *expected)
{
    const onnxd_tensor_view input = support_view(data, ONNXD_FLOAT, dims);
    for (int turn = 0; turn < 2; turn++) {
        onnxd_run *run;
        support_ok(onnxd_run_once(f->plan, &input, &run));
        const onnxd_tensor_view *view = &onnxd_run_outputs(run)[output];
        cr_assert_eq(onnxd_tensor_view_count(view), count);
        cr_assert(onnxd_tensor_view_is_contiguous(view));
        const float *values = onnxd_tensor_view_data(view);
        for (size_t i = 0; i < count; i++)
            cr_assert_eq(values[i], expected[i], "element %zu of output %u is %g, not %g", i,
                         output, (double)values[i], (double)expected[i]);
        onnxd_run_release(run);
    }
    float untouched[ONNXD_COUNT(data)];
    memcpy(untouched, data, sizeof(data));
    fill_data();
    cr_assert_arr_eq(untouched, data, sizeof(data), "the caller's input was written to");
}

/* ---- in place ------------------------------------------------------------------------------ */

static void check_chain(const char *spec, uint32_t space)
{
    float expected[64];
    onnx_file file = onnx_file_begin();
    onnx_input(&file, "x", ONNXD_FLOAT, "64");
    onnx_node(&file, "Neg", "x", "a");
    onnx_node(&file, "Relu", "a", "b");
    onnx_node(&file, "Add", "b,b", "c");
    onnx_node(&file, "Sqrt", "c", "y");
    onnx_output(&file, "y", ONNXD_FLOAT, "64");
    fixture f = load(spec, &file, "64");
    cr_expect_eq(f.plan->spaces[space].arena_bytes, 256, "all of them have one place");
    for (size_t i = 0; i < 64; i++)
        expected[i] = sqrtf(2 * (data[i] < 0 ? -data[i] : 0));
    expect_output(&f, "64", 0, 64, expected);
    unload(&f);
}

Test(sharing, elements_are_written_over_those_they_are_made_of)
{
    check_chain(CPU, ONNXD_HOST_SPACE);
    check_chain(SIM, 1);
}

Test(sharing, shapes_may_be_dynamic)
{
    float expected[200];
    onnx_file file = onnx_file_begin();
    onnx_input(&file, "x", ONNXD_FLOAT, "N,2");
    onnx_node(&file, "Neg", "x", "a");
    onnx_node(&file, "Abs", "a", "b");
    onnx_node(&file, "Neg", "b", "y");
    onnx_output(&file, "y", ONNXD_FLOAT, "N,2");
    fixture f = load(CPU, &file, "1,2");
    for (size_t i = 0; i < ONNXD_COUNT(expected); i++)
        expected[i] = -fabsf(data[i]);
    expect_output(&f, "1,2", 0, 2, expected);
    onnxd_plan_release(f.plan);
    const onnxd_tensor_view input = support_view(data, ONNXD_FLOAT, "100,2");
    support_ok(onnxd_model_prepare(f.model, &input, &f.plan));
    cr_expect_eq(offset_of(&f, "b"), offset_of(&f, "y"));
    expect_output(&f, "100,2", 0, 200, expected);
    unload(&f);
}

/* a is read again, b is an output of the model, c is seen under another shape, and d is smaller
 * than what comes of it. */
static void check_kept(const char *spec)
{
    static const int64_t two_by_four[] = {2, 4}, one[] = {1};
    float a[8], b[8], y[16];
    onnx_file file = onnx_file_begin();
    onnx_input(&file, "x", ONNXD_FLOAT, "8");
    onnx_int64s(&file, "shape", "2", 2, two_by_four);
    onnx_int64s(&file, "axis", "1", 1, one);
    onnx_node(&file, "Neg", "x", "a");
    onnx_node(&file, "Relu", "a", "b");
    onnx_node(&file, "Abs", "b", "c");
    onnx_node(&file, "Reshape", "c,shape", "r");
    onnx_node(&file, "Neg", "c", "n");
    onnx_node(&file, "Reshape", "n,shape", "s");
    onnx_node(&file, "Sub", "r,s", "d");
    onnx_node(&file, "ReduceSum", "d,axis", "e");
    onnx_node(&file, "Mul", "d,e", "g");
    onnx_node(&file, "Flatten", "g", "h");
    onnx_node(&file, "Reshape", "a,shape", "t");
    onnx_node(&file, "Add", "h,t", "y");
    onnx_output(&file, "b", ONNXD_FLOAT, "8");
    onnx_output(&file, "y", ONNXD_FLOAT, "2,4");
    fixture f = load(spec, &file, "8");
    cr_expect_neq(offset_of(&f, "a"), offset_of(&f, "b"));
    cr_expect_neq(offset_of(&f, "b"), offset_of(&f, "c"));
    cr_expect_neq(offset_of(&f, "c"), offset_of(&f, "n"));
    for (size_t row = 0; row < 2; row++) {
        float sum = 0;
        for (size_t i = row * 4; i < row * 4 + 4; i++) {
            a[i] = -data[i];
            b[i] = a[i] > 0 ? a[i] : 0;
            sum += 2 * b[i];
        }
        for (size_t i = row * 4; i < row * 4 + 4; i++)
            y[i] = 2 * b[i] * sum + a[i];
    }
    expect_output(&f, "8", 0, 8, b);
    expect_output(&f, "8", 1, 8, y);
    unload(&f);
}

Test(sharing, what_is_read_later_is_kept)
{
    check_kept(CPU);
    check_kept(SIM);
}

/* ---- Concat -------------------------------------------------------------------------------- */

static void check_concat(const char *spec, const char *dims, const char *whole_dims, int64_t axis)
{
    float expected[72], negative[24];
    onnx_file file = onnx_file_begin();
    onnx_input(&file, "x", ONNXD_FLOAT, dims);
    onnx_node(&file, "Neg", "x", "a");
    onnx_node(&file, "Abs", "x", "b");
    onnx_node(&file, "Neg", "b", "c");
    onnx_node(&file, "Concat", "c,a,b", "y");
    onnx_attribute_int(&file, "axis", axis);
    onnx_output(&file, "y", ONNXD_FLOAT, whole_dims);
    onnx_output(&file, "a", ONNXD_FLOAT, dims);
    fixture f = load(spec, &file, dims);
    cr_expect_not(runs(&f, "Concat"), "%s, axis %lld", dims, (long long)axis);
    cr_expect_eq(offset_of(&f, "a"), offset_of(&f, "c") + 24 * sizeof(float));
    cr_expect_eq(offset_of(&f, "b"), offset_of(&f, "c") + 48 * sizeof(float));
    for (size_t i = 0; i < 24; i++) {
        expected[i] = -fabsf(data[i]);
        expected[24 + i] = negative[i] = -data[i];
        expected[48 + i] = fabsf(data[i]);
    }
    expect_output(&f, dims, 0, 72, expected);
    expect_output(&f, dims, 1, 24, negative);
    unload(&f);
}

Test(sharing, pieces_are_made_where_concat_has_them)
{
    check_concat(CPU, "24", "72", 0);
    check_concat(CPU, "1,1,24", "1,3,24", 1);
    check_concat(CPU, "1,6,4", "1,18,4", -2);
    check_concat(SIM, "1,6,4", "1,18,4", 1);
}

/* Pieces of 12 bytes: a device that wants 16 has the first alone in its place, the rest copied. */
static void check_small(const char *spec, bool is_copied)
{
    float expected[6];
    onnx_file file = onnx_file_begin();
    onnx_input(&file, "x", ONNXD_FLOAT, "3");
    onnx_node(&file, "Neg", "x", "a");
    onnx_node(&file, "Abs", "x", "b");
    onnx_node(&file, "Concat", "a,b", "y");
    onnx_attribute_int(&file, "axis", 0);
    onnx_output(&file, "y", ONNXD_FLOAT, "6");
    fixture f = load(spec, &file, "3");
    cr_expect_eq(runs(&f, "Concat"), is_copied);
    if (is_copied) {
        cr_expect_eq(offset_of(&f, "a") % 256, 0);
        cr_expect_eq(offset_of(&f, "b") % 256, 0);
    }
    for (size_t i = 0; i < 3; i++) {
        expected[i] = -data[i];
        expected[3 + i] = fabsf(data[i]);
    }
    expect_output(&f, "3", 0, 6, expected);
    unload(&f);
}

Test(sharing, a_device_has_its_alignment)
{
    check_small(CPU, false);
    check_small(SIM, true);
}

/* An input of the model, a constant and a value that comes twice cannot all lie there: those that
 * can do. */
static void check_some(const char *spec)
{
    static const float constant[] = {1, 2, 3, 4};
    float expected[24];
    onnx_file file = onnx_file_begin();
    onnx_input(&file, "x", ONNXD_FLOAT, "4");
    onnx_floats(&file, "k", "4", 4, constant);
    onnx_node(&file, "Neg", "x", "a");
    onnx_node(&file, "Abs", "x", "b");
    onnx_node(&file, "Concat", "a,x,a,k,b,a", "y");
    onnx_attribute_int(&file, "axis", 0);
    onnx_output(&file, "y", ONNXD_FLOAT, "24");
    fixture f = load(spec, &file, "4");
    cr_expect(runs(&f, "Concat"));
    cr_expect_eq(offset_of(&f, "a"), offset_of(&f, "y"));
    cr_expect_eq(offset_of(&f, "b"), offset_of(&f, "y") + 16 * sizeof(float));
    for (size_t i = 0; i < 4; i++) {
        expected[i] = expected[8 + i] = expected[20 + i] = -data[i];
        expected[4 + i] = data[i];
        expected[12 + i] = constant[i];
        expected[16 + i] = fabsf(data[i]);
    }
    expect_output(&f, "4", 0, 24, expected);
    unload(&f);
}

Test(sharing, what_cannot_lie_in_the_whole_is_copied)
{
    check_some(CPU);
    check_some(SIM);
}

/* a is a piece of both; the inner one is a piece itself, which others read. */
Test(sharing, wholes_may_be_pieces)
{
    float y[24], z[8], w[16];
    onnx_file file = onnx_file_begin();
    onnx_input(&file, "x", ONNXD_FLOAT, "8");
    onnx_node(&file, "Neg", "x", "a");
    onnx_node(&file, "Abs", "x", "b");
    onnx_node(&file, "Concat", "a,b", "inner");
    onnx_attribute_int(&file, "axis", 0);
    onnx_node(&file, "Neg", "inner", "w");
    onnx_node(&file, "Neg", "a", "z");
    onnx_node(&file, "Concat", "z,inner", "y");
    onnx_attribute_int(&file, "axis", 0);
    onnx_output(&file, "y", ONNXD_FLOAT, "24");
    onnx_output(&file, "z", ONNXD_FLOAT, "8");
    onnx_output(&file, "w", ONNXD_FLOAT, "16");
    fixture f = load(CPU, &file, "8");
    cr_expect_not(runs(&f, "Concat"));
    cr_expect_eq(offset_of(&f, "b"), offset_of(&f, "z") + 16 * sizeof(float));
    for (size_t i = 0; i < 8; i++) {
        y[i] = z[i] = w[i] = data[i];
        y[8 + i] = -data[i];
        y[16 + i] = fabsf(data[i]);
        w[8 + i] = -fabsf(data[i]);
    }
    expect_output(&f, "8", 0, 24, y);
    expect_output(&f, "8", 1, 8, z);
    expect_output(&f, "8", 2, 16, w);
    unload(&f);
}

/* ---- Split and Slice ----------------------------------------------------------------------- */

static void check_split(const char *spec)
{
    static const int64_t sizes[] = {4, 8};
    float y[4], z[8];
    onnx_file file = onnx_file_begin();
    onnx_input(&file, "x", ONNXD_FLOAT, "1,12");
    onnx_int64s(&file, "sizes", "2", 2, sizes);
    onnx_node(&file, "Neg", "x", "a");
    onnx_node(&file, "Split", "a,sizes", "b,c");
    onnx_attribute_int(&file, "axis", 1);
    onnx_node(&file, "Neg", "b", "y");
    onnx_node(&file, "Relu", "c", "z");
    onnx_output(&file, "y", ONNXD_FLOAT, "1,4");
    onnx_output(&file, "z", ONNXD_FLOAT, "1,8");
    fixture f = load(spec, &file, "1,12");
    cr_expect_not(runs(&f, "Split"));
    cr_expect_eq(offset_of(&f, "b"), offset_of(&f, "a"));
    cr_expect_eq(offset_of(&f, "c"), offset_of(&f, "a") + 4 * sizeof(float));
    cr_expect_neq(offset_of(&f, "y"), offset_of(&f, "b"), "a piece is not written over");
    for (size_t i = 0; i < 4; i++)
        y[i] = data[i];
    for (size_t i = 0; i < 8; i++)
        z[i] = data[4 + i] < 0 ? -data[4 + i] : 0;
    expect_output(&f, "1,12", 0, 4, y);
    expect_output(&f, "1,12", 1, 8, z);
    unload(&f);
}

Test(sharing, parts_of_split_stay_where_they_are)
{
    check_split(CPU);
    check_split(SIM);
}

/* Of [3,4] read backwards from row `start` to `end`. */
static void check_slice(int64_t start, int64_t end, int64_t axis, int64_t step, bool is_copied)
{
    float expected[12];
    size_t count = 0;
    onnx_file file = onnx_file_begin();
    onnx_input(&file, "x", ONNXD_FLOAT, "3,4");
    onnx_int64s(&file, "start", "1", 1, &start);
    onnx_int64s(&file, "end", "1", 1, &end);
    onnx_int64s(&file, "axis", "1", 1, &axis);
    onnx_int64s(&file, "step", "1", 1, &step);
    onnx_node(&file, "Neg", "x", "a");
    onnx_node(&file, "Slice", "a,start,end,axis,step", "b");
    onnx_node(&file, "Neg", "b", "y");
    onnx_node(&file, "Neg", "a", "z");
    onnx_output(&file, "y", ONNXD_FLOAT, "A,B");
    onnx_output(&file, "z", ONNXD_FLOAT, "3,4");
    fixture f = load(CPU, &file, "3,4");
    cr_expect_eq(runs(&f, "Slice"), is_copied, "%lld to %lld of axis %lld in steps of %lld",
                 (long long)start, (long long)end, (long long)axis, (long long)step);
    for (int64_t i = 0; i < 12; i++) {
        const int64_t at = axis == 0 ? i / 4 : i % 4;
        if (at >= start && at < end && (at - start) % step == 0)
            expected[count++] = data[i];
    }
    expect_output(&f, "3,4", 0, count, expected);
    expect_output(&f, "3,4", 1, 12, data);
    unload(&f);
}

Test(sharing, slices_stay_where_they_are)
{
    check_slice(1, 3, 0, 1, false);
    check_slice(0, 2, 0, 1, false);
    check_slice(2, 3, 0, 7, false);
    check_slice(0, 3, 0, 2, true);
    check_slice(1, 3, 1, 1, true);
}

/* ---- no inputs ----------------------------------------------------------------------------- */

Test(sharing, nodes_may_have_no_inputs)
{
    static const int64_t shape[] = {2, 3};
    onnx_file file = onnx_file_begin();
    onnx_input(&file, "x", ONNXD_FLOAT, "2,3");
    onnx_node(&file, "RandomUniform", "", "random");
    onnx_attribute_ints(&file, "shape", 2, shape);
    onnx_node(&file, "Add", "random,x", "y");
    onnx_output(&file, "y", ONNXD_FLOAT, "2,3");
    fixture f = load(CPU, &file, "2,3");
    cr_expect_eq(f.plan->step_count, 2);
    unload(&f);
}
