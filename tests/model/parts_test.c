/* Batches that are computed in parts. */
#include "model/plan_parts.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "tests/model/support.h"

#define CPU "cpu;cpu.threads=1"
/* Every image of the chain below takes 256 bytes. */
#define SMALL CPU ";cpu.batch_cache_bytes=300"

enum { IMAGES = 6, ELEMENTS = 64, COUNT = IMAGES * ELEMENTS };

static void fill(float *values, size_t count)
{
    for (size_t i = 0; i < count; i++)
        values[i] = (float)(i * 37 % 101) / 50 - 1;
}

/* x ─► Neg ─► a ─► Abs ─► b ─► a - b ─► y: what the passes leave as it is. */
static void write_chain(onnx_file *file)
{
    *file = onnx_file_begin();
    onnx_input(file, "x", ONNXD_FLOAT, "N,4,4,4");
    onnx_node(file, "Neg", "x", "a");
    onnx_node(file, "Abs", "a", "b");
    onnx_node(file, "Sub", "a,b", "c");
    onnx_node(file, "Floor", "c", "y");
    onnx_output(file, "y", ONNXD_FLOAT, "N,4,4,4");
}

typedef struct outcome {
    uint32_t sections, parts, steps_in_sections;
    size_t arena_bytes;
    char description[8192];
} outcome;

/* Runs the model on x twice, output 0 to `out`. */
static outcome run_model(const char *spec, onnx_file *file, const onnxd_tensor_view *inputs,
                         size_t count, float *out)
{
    outcome found = {.sections = 0};
    onnxd_strbuf text;
    onnxd_plan *plan;
    onnxd_runtime *runtime = support_runtime(spec);
    onnxd_model *model = support_load(runtime, file, NULL);
    support_ok(onnxd_model_prepare(model, inputs, &plan));
    found.sections = plan->section_count;
    for (uint32_t i = 0; i < plan->section_count; i++) {
        found.parts = plan->sections[i].parts;
        found.steps_in_sections += plan->sections[i].step_count;
    }
    found.arena_bytes = plan->spaces[ONNXD_HOST_SPACE].arena_bytes;
    onnxd_strbuf_init(&text, 1 << 16);
    onnxd_plan_describe(plan, &text);
    snprintf(found.description, sizeof(found.description), "%.*s", (int)text.length, text.data);
    onnxd_strbuf_deinit(&text);
    for (int i = 0; i < 2; i++) {
        onnxd_run *run;
        support_ok(onnxd_run_once(plan, inputs, &run));
        const onnxd_tensor_view *output = &onnxd_run_outputs(run)[0];
        cr_assert_eq(onnxd_tensor_view_count(output), count);
        memcpy(out, onnxd_tensor_view_data(output), count * sizeof(float));
        onnxd_run_release(run);
    }
    onnxd_plan_release(plan);
    onnxd_model_release(model);
    onnxd_runtime_destroy(runtime);
    return found;
}

Test(parts, chains_run_image_by_image)
{
    float x[COUNT], y[COUNT];
    onnx_file file;
    fill(x, COUNT);
    const onnxd_tensor_view input = support_view(x, ONNXD_FLOAT, "6,4,4,4");
    write_chain(&file);
    const outcome whole = run_model(CPU ";cpu.batch_cache_bytes=0", &file, &input, COUNT, y);
    cr_expect_eq(whole.sections, 0);
    write_chain(&file);
    const outcome parts = run_model(SMALL, &file, &input, COUNT, y);
    cr_expect_eq(parts.sections, 1);
    cr_expect_eq(parts.parts, IMAGES);
    cr_expect_geq(parts.steps_in_sections, 2);
    cr_expect_lt(parts.arena_bytes, whole.arena_bytes);
    cr_expect_not_null(strstr(parts.description, "for each of 6 parts of the batch"), "%s",
                       parts.description);
    for (size_t i = 0; i < COUNT; i++) {
        const float a = -x[i];
        cr_assert_eq(y[i], floorf(a - fabsf(a)), "element %zu", i);
    }
}

/* As many images at a time as fit. */
Test(parts, parts_fill_the_cache)
{
    float x[COUNT], y[COUNT];
    onnx_file file;
    fill(x, COUNT);
    const onnxd_tensor_view input = support_view(x, ONNXD_FLOAT, "6,4,4,4");
    write_chain(&file);
    cr_expect_eq(run_model(CPU ";cpu.batch_cache_bytes=700", &file, &input, COUNT, y).parts, 3);
    write_chain(&file);
    cr_expect_eq(run_model(CPU ";cpu.batch_cache_bytes=1600", &file, &input, COUNT, y).sections, 0);
}

Test(parts, nothing_else_has_sections)
{
    float x[COUNT], y[COUNT];
    onnx_file file;
    fill(x, COUNT);
    const onnxd_tensor_view one = support_view(x, ONNXD_FLOAT, "1,4,4,4");
    write_chain(&file);
    cr_expect_eq(run_model(SMALL, &file, &one, ELEMENTS, y).sections, 0);
    const onnxd_tensor_view input = support_view(x, ONNXD_FLOAT, "6,4,4,4");
    write_chain(&file);
    cr_expect_eq(run_model("sim;sim.memory_bytes=16777216", &file, &input, COUNT, y).sections, 0);
}

/* x ─► Neg ─► a; the maximum over the batch of a is taken from every image. */
Test(parts, what_needs_the_whole_batch_ends_a_section)
{
    float x[COUNT], y[COUNT], most[ELEMENTS];
    const int64_t first_axis[] = {0};
    onnx_file file = onnx_file_begin();
    fill(x, COUNT);
    const onnxd_tensor_view input = support_view(x, ONNXD_FLOAT, "6,64");
    onnx_input(&file, "x", ONNXD_FLOAT, "N,64");
    onnx_node(&file, "Neg", "x", "a");
    onnx_node(&file, "Floor", "a", "b");
    onnx_node(&file, "ReduceMax", "b", "m");
    onnx_attribute_ints(&file, "axes", 1, first_axis);
    onnx_node(&file, "Sub", "a,m", "c");
    onnx_node(&file, "Ceil", "c", "d");
    onnx_node(&file, "Abs", "d", "y");
    onnx_output(&file, "y", ONNXD_FLOAT, "N,64");
    const outcome found = run_model(SMALL, &file, &input, COUNT, y);
    cr_expect_eq(found.sections, 2);
    for (size_t k = 0; k < ELEMENTS; k++) {
        most[k] = -INFINITY;
        for (size_t n = 0; n < IMAGES; n++)
            most[k] = fmaxf(most[k], floorf(-x[n * ELEMENTS + k]));
    }
    for (size_t i = 0; i < COUNT; i++)
        cr_assert_eq(y[i], fabsf(ceilf(-x[i] - most[i % ELEMENTS])), "element %zu", i);
}

/* The weights of a product would be read once per image. */
Test(parts, many_weights_keep_a_step_out)
{
    static float weights[ELEMENTS * ELEMENTS];
    float x[COUNT], y[COUNT];
    onnx_file file = onnx_file_begin();
    fill(x, COUNT);
    for (size_t i = 0; i < ELEMENTS; i++)
        weights[i * ELEMENTS + i] = 2;
    const onnxd_tensor_view input = support_view(x, ONNXD_FLOAT, "6,64");
    onnx_input(&file, "x", ONNXD_FLOAT, "N,64");
    onnx_floats(&file, "w", "64,64", ELEMENTS * ELEMENTS, weights);
    onnx_node(&file, "Neg", "x", "a");
    onnx_node(&file, "MatMul", "a,w", "b");
    onnx_node(&file, "Neg", "b", "y");
    onnx_output(&file, "y", ONNXD_FLOAT, "N,64");
    cr_expect_eq(run_model(SMALL, &file, &input, COUNT, y).sections, 0);
    for (size_t i = 0; i < COUNT; i++)
        cr_assert_eq(y[i], 2 * x[i], "element %zu", i);
}

/* A reshaped value is cut where both shapes hold the batch first. */
Test(parts, views_are_cut_with_their_values)
{
    float x[COUNT], y[COUNT];
    onnx_file file = onnx_file_begin();
    const int64_t rows[] = {-1, 16}, images[] = {6, 64};
    fill(x, COUNT);
    const onnxd_tensor_view input = support_view(x, ONNXD_FLOAT, "6,4,4,4");
    onnx_input(&file, "x", ONNXD_FLOAT, "N,4,4,4");
    onnx_int64s(&file, "rows", "2", 2, rows);
    onnx_int64s(&file, "images", "2", 2, images);
    onnx_node(&file, "Neg", "x", "a");
    onnx_node(&file, "Reshape", "a,rows", "b");
    onnx_node(&file, "Softmax", "b", "c");
    onnx_node(&file, "Reshape", "c,images", "d");
    onnx_node(&file, "Neg", "d", "y");
    onnx_output(&file, "y", ONNXD_FLOAT, "6,64");
    const outcome found = run_model(SMALL, &file, &input, COUNT, y);
    cr_expect_eq(found.sections, 1);
    for (size_t i = 0; i < COUNT; i++) {
        const size_t row = i / 16 * 16;
        float sum = 0;
        for (size_t k = row; k < row + 16; k++)
            sum += expf(-x[k]);
        cr_assert_float_eq(y[i], -expf(-x[i]) / sum, 1e-6f, "element %zu", i);
    }
}

/* The third image divides by 0; the run is the next request's, too. */
Test(parts, a_failure_in_a_part_leaves_nothing_behind)
{
    int32_t x[COUNT], by[COUNT];
    onnxd_plan *plan;
    onnxd_run *run;
    onnx_file file = onnx_file_begin();
    onnxd_runtime *runtime = support_runtime(SMALL);
    onnx_input(&file, "x", ONNXD_INT32, "N,64");
    onnx_input(&file, "by", ONNXD_INT32, "N,64");
    onnx_node(&file, "Neg", "x", "a");
    onnx_node(&file, "Div", "a,by", "b");
    onnx_node(&file, "Neg", "b", "y");
    onnx_output(&file, "y", ONNXD_INT32, "N,64");
    for (int32_t i = 0; i < COUNT; i++) {
        x[i] = i * 3 - 500;
        by[i] = i % 5 + 1;
    }
    const onnxd_tensor_view inputs[] = {support_view(x, ONNXD_INT32, "6,64"),
                                        support_view(by, ONNXD_INT32, "6,64")};
    onnxd_model *model = support_load(runtime, &file, NULL);
    support_ok(onnxd_model_prepare(model, inputs, &plan));
    cr_assert_eq(plan->section_count, 1);
    by[2 * ELEMENTS + 5] = 0;
    support_error(onnxd_run_once(plan, inputs, &run), ONNXD_INVALID_ARGUMENT,
                  "part 3 of 6 of the batch: node 'b' (Div)");
    by[2 * ELEMENTS + 5] = 7;
    support_ok(onnxd_run_once(plan, inputs, &run));
    const int32_t *y = onnxd_tensor_view_data(&onnxd_run_outputs(run)[0]);
    for (size_t i = 0; i < COUNT; i++)
        cr_assert_eq(y[i], x[i] / by[i], "element %zu", i);
    onnxd_run_release(run);
    onnxd_plan_release(plan);
    onnxd_model_release(model);
    onnxd_runtime_destroy(runtime);
}

/* Fails each allocation of a plan in turn; returns how many there are. */
static uint64_t fail_each(onnxd_model *model, const onnxd_tensor_view *input)
{
    onnxd_plan *plan;
    uint64_t n = 0;
    for (bool is_done = false; !is_done && n < 1000;) {
        const uint64_t calls = onnxd_alloc_query().calls;
        onnxd_alloc_fail_at(++n, 0);
        onnxd_status *status = onnxd_plan_build(model, input, &plan);
        onnxd_alloc_fail_at(0, 0);
        is_done = onnxd_alloc_query().calls - calls < n;
        if (status == NULL)
            onnxd_plan_release(plan);
        else
            cr_assert_eq(onnxd_status_code(status), ONNXD_OUT_OF_MEMORY, "%s",
                         onnxd_status_message(status));
        cr_assert(status == NULL || !is_done);
        onnxd_status_free(status);
    }
    return n;
}

Test(parts, no_allocation_failure_leaks)
{
    float x[COUNT];
    onnx_file file;
    fill(x, COUNT);
    write_chain(&file);
    onnxd_runtime *runtime = support_runtime(SMALL);
    onnxd_model *model = support_load(runtime, &file, NULL);
    const onnxd_tensor_view input = support_view(x, ONNXD_FLOAT, "6,4,4,4");
    /* Kernel caches keep what the first time brings, also of plans without sections, which are made
     * where there is no memory to look for them. */
    const uint64_t first = fail_each(model, &input);
    const uint64_t live = onnxd_alloc_query().live_count;
    const uint64_t second = fail_each(model, &input);
    cr_expect(second > 20 && second <= first && first < 1000);
    cr_expect_eq(onnxd_alloc_query().live_count, live);
    onnxd_model_release(model);
    onnxd_runtime_destroy(runtime);
}
