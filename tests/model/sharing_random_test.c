/* Plans of graphs made by chance, of operators whose values share memory. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tests/model/support.h"

#define CPU "cpu;cpu.threads=1"
#define SIM "sim;sim.memory_bytes=16777216"

enum { VALUES = 40, MOST_COLUMNS = 96, MOST_ROWS = 6 };

/* A value of the graph and what it must be: rows of columns. */
typedef struct sample {
    char name[8];
    size_t columns;
    float elements[MOST_ROWS * MOST_COLUMNS];
} sample;

typedef struct sample_graph {
    onnx_file file;
    uint64_t seed;
    size_t rows, count;
    sample values[VALUES + 4];
} sample_graph;

static size_t pick(sample_graph *g, size_t count)
{
    g->seed = g->seed * 6364136223846793005u + 1442695040888963407u;
    return (size_t)(g->seed >> 33) % count;
}

/* Later values more often, so that the graph is deep; names may be read many times. */
static const sample *pick_value(sample_graph *g)
{
    const size_t window = g->count < 8 ? g->count : 8;
    return &g->values[pick(g, 4) == 0 ? pick(g, g->count) : g->count - 1 - pick(g, window)];
}

static sample *add_value(sample_graph *g, size_t columns)
{
    sample *value = &g->values[g->count];
    snprintf(value->name, sizeof(value->name), "v%zu", g->count++);
    value->columns = columns;
    return value;
}

static void add_elementwise(sample_graph *g)
{
    const sample *a = pick_value(g), *b = pick_value(g);
    const bool is_sum = a->columns == b->columns && pick(g, 2) == 0;
    sample *out = add_value(g, a->columns);
    char inputs[24];
    snprintf(inputs, sizeof(inputs), is_sum ? "%s,%s" : "%s", a->name, b->name);
    const bool is_abs = pick(g, 2) == 0;
    onnx_node(&g->file, is_sum ? "Sub" : is_abs ? "Abs" : "Neg", inputs, out->name);
    for (size_t i = 0; i < g->rows * a->columns; i++)
        out->elements[i] = is_sum   ? a->elements[i] - b->elements[i]
                           : is_abs ? fabsf(a->elements[i])
                                    : -a->elements[i];
}

static void add_concat(sample_graph *g)
{
    char inputs[64] = "";
    const sample *parts[3];
    const size_t count = 1 + pick(g, 3);
    size_t columns = 0, at = 0;
    for (size_t p = 0; p < count; p++) {
        parts[p] = pick_value(g);
        columns += parts[p]->columns;
        strcat(inputs, p == 0 ? "" : ",");
        strcat(inputs, parts[p]->name);
    }
    if (columns > MOST_COLUMNS)
        return;
    sample *out = add_value(g, columns);
    onnx_node(&g->file, "Concat", inputs, out->name);
    onnx_attribute_int(&g->file, "axis", 1);
    for (size_t row = 0; row < g->rows; row++)
        for (size_t p = 0; p < count; p++)
            for (size_t i = 0; i < parts[p]->columns; i++)
                out->elements[at++] = parts[p]->elements[row * parts[p]->columns + i];
}

static void copy_columns(const sample_graph *g, const sample *from, size_t first, sample *to)
{
    for (size_t row = 0; row < g->rows; row++)
        memcpy(to->elements + row * to->columns, from->elements + row * from->columns + first,
               to->columns * sizeof(float));
}

/* Split into two, or one part of it. */
static void add_cut(sample_graph *g)
{
    const sample *from = pick_value(g);
    if (from->columns < 2)
        return;
    const size_t first = 1 + pick(g, from->columns - 1);
    const int64_t sizes[] = {(int64_t)first, (int64_t)(from->columns - first)}, one[] = {1};
    char constant[16], inputs[64], outputs[24];
    sample *a = add_value(g, from->columns - first);
    snprintf(constant, sizeof(constant), "k%s", a->name);
    onnx_int64s(&g->file, constant, "2", 2, sizes);
    if (pick(g, 2) == 0) {
        sample *b = add_value(g, first);
        snprintf(outputs, sizeof(outputs), "%s,%s", b->name, a->name);
        snprintf(inputs, sizeof(inputs), "%s,%s", from->name, constant);
        onnx_node(&g->file, "Split", inputs, outputs);
        onnx_attribute_int(&g->file, "axis", 1);
        copy_columns(g, from, 0, b);
    } else {
        const int64_t start[] = {(int64_t)first}, end[] = {1000};
        char names[3][16];
        for (int i = 0; i < 3; i++) {
            snprintf(names[i], sizeof(names[i]), "k%d%s", i, a->name);
            onnx_int64s(&g->file, names[i], "1", 1, i == 0 ? start : i == 1 ? end : one);
        }
        snprintf(inputs, sizeof(inputs), "%s,%s,%s,%s", from->name, names[0], names[1], names[2]);
        onnx_node(&g->file, "Slice", inputs, a->name);
    }
    copy_columns(g, from, first, a);
}

/* Returns how many sections the plan has. */
static uint32_t check_graph(const char *spec, uint64_t seed, size_t rows)
{
    sample_graph g = {.file = onnx_file_begin(), .seed = seed, .rows = rows};
    char dims[16];
    onnxd_runtime *runtime = support_runtime(spec);
    sample *x = add_value(&g, 16);
    snprintf(dims, sizeof(dims), "%zu,16", rows);
    for (size_t i = 0; i < rows * 16; i++)
        x->elements[i] = ((float)i + 1.5f) * (i % 2 == 0 ? -1.0f : 1.0f);
    onnx_input(&g.file, x->name, ONNXD_FLOAT, dims);
    const onnxd_tensor_view input = support_view(x->elements, ONNXD_FLOAT, dims);
    while (g.count < VALUES) {
        const size_t kind = pick(&g, 4);
        if (kind == 0)
            add_concat(&g);
        else if (kind == 1)
            add_cut(&g);
        else
            add_elementwise(&g);
    }
    const size_t first_output = g.count - 4;
    for (size_t i = first_output; i < g.count; i++)
        onnx_output(&g.file, g.values[i].name, ONNXD_FLOAT, "A,B");
    onnxd_model *model = support_load(runtime, &g.file, NULL);
    onnxd_plan *plan;
    onnxd_run *run;
    support_ok(onnxd_model_prepare(model, &input, &plan));
    support_ok(onnxd_run_once(plan, &input, &run));
    for (size_t i = first_output; i < g.count; i++) {
        const onnxd_tensor_view *output = &onnxd_run_outputs(run)[i - first_output];
        const size_t count = rows * g.values[i].columns;
        cr_assert_eq(onnxd_tensor_view_count(output), count);
        const float *found = onnxd_tensor_view_data(output);
        for (size_t k = 0; k < count; k++)
            cr_assert_eq(found[k], g.values[i].elements[k],
                         "graph %llu on %s: element %zu of %s is %g, not %g",
                         (unsigned long long)seed, spec, k, g.values[i].name, (double)found[k],
                         (double)g.values[i].elements[k]);
    }
    const uint32_t sections = plan->section_count;
    onnxd_run_release(run);
    onnxd_plan_release(plan);
    onnxd_model_release(model);
    onnxd_runtime_destroy(runtime);
    return sections;
}

Test(sharing_random, graphs_by_chance_compute_what_they_say)
{
    for (uint64_t seed = 1; seed <= 60; seed++) {
        check_graph(CPU, seed, 1);
        check_graph(CPU, seed, 2);
    }
}

Test(sharing_random, graphs_by_chance_compute_what_they_say_on_devices)
{
    for (uint64_t seed = 1; seed <= 20; seed++) {
        check_graph(SIM, seed, 1 + seed % 2);
        check_graph(CPU " " SIM ";sim.claim_ops=Sub,Concat;sim.unsupported_ops=Abs", seed, 1);
    }
}

/* With so little fast memory that batches are computed in parts, of one row to three. */
Test(sharing_random, graphs_by_chance_compute_what_they_say_in_parts)
{
    static const char *const specs[] = {CPU ";cpu.batch_cache_bytes=1",
                                        CPU ";cpu.batch_cache_bytes=64",
                                        CPU ";cpu.batch_cache_bytes=200"};
    uint32_t sections = 0;
    for (uint64_t seed = 1; seed <= 100; seed++)
        for (size_t i = 0; i < sizeof(specs) / sizeof(specs[0]); i++)
            sections += check_graph(specs[i], seed, i == 0 ? 2 : 6);
    cr_expect_gt(sections, 100);
}
