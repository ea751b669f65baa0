/* Concat of channels-last images: producers write pixels with gaps between them. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tests/model/support.h"

#define CPU "cpu;cpu.threads=1"

enum { SIDE = 5, GROWTH = 4, LAYERS = 3 };

/* A dense block: each layer's maps are put behind those before it. */
static void write_dense_block(onnx_file *file, float *weights)
{
    char inputs[64], name[16], previous[16] = "p";
    uint64_t seed = 7;
    for (size_t i = 0; i < 3 * 64 * 64; i++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        weights[i] = (float)(seed >> 40) / (float)(1 << 24) - 0.5f;
    }
    *file = onnx_file_begin();
    onnx_input(file, "x", ONNXD_FLOAT, "N,8,5,5");
    onnx_floats(file, "w", "8,8,1,1", 64, weights);
    onnx_node(file, "Conv", "x,w", "c");
    onnx_node(file, "MaxPool", "c", "p");
    onnx_attribute_ints(file, "kernel_shape", 2, (const int64_t[]){3, 3});
    onnx_attribute_ints(file, "pads", 4, (const int64_t[]){1, 1, 1, 1});
    for (int layer = 0; layer < LAYERS; layer++) {
        const int channels = 8 + layer * GROWTH;
        char dims[16];
        snprintf(dims, sizeof(dims), "%d", channels);
        for (int i = 0; i < 4; i++) {
            snprintf(name, sizeof(name), "n%d_%d", layer, i);
            /* The variance is positive. */
            float positive[32];
            for (int k = 0; k < channels; k++)
                positive[k] = 1 + 0.1f * (float)k;
            onnx_floats(file, name, dims, (size_t)channels, i == 3 ? positive : weights + i * 32);
        }
        snprintf(inputs, sizeof(inputs), "%s,n%d_0,n%d_1,n%d_2,n%d_3", previous, layer, layer,
                 layer, layer);
        snprintf(name, sizeof(name), "b%d", layer);
        onnx_node(file, "BatchNormalization", inputs, name);
        snprintf(inputs, sizeof(inputs), "b%d", layer);
        snprintf(name, sizeof(name), "r%d", layer);
        onnx_node(file, "Relu", inputs, name);
        snprintf(dims, sizeof(dims), "%d,%d,3,3", GROWTH, channels);
        snprintf(name, sizeof(name), "w%d", layer);
        onnx_floats(file, name, dims, (size_t)(GROWTH * channels * 9), weights + layer);
        snprintf(inputs, sizeof(inputs), "r%d,w%d", layer, layer);
        snprintf(name, sizeof(name), "c%d", layer);
        onnx_node(file, "Conv", inputs, name);
        onnx_attribute_ints(file, "pads", 4, (const int64_t[]){1, 1, 1, 1});
        snprintf(inputs, sizeof(inputs), "%s,c%d", previous, layer);
        snprintf(previous, sizeof(previous), "k%d", layer);
        onnx_node(file, "Concat", inputs, previous);
        onnx_attribute_int(file, "axis", 1);
    }
    snprintf(name, sizeof(name), "%d,%d,1,1", 8, 8 + LAYERS * GROWTH);
    onnx_floats(file, "v", name, 8 * (8 + LAYERS * GROWTH), weights);
    snprintf(inputs, sizeof(inputs), "%s,v", previous);
    onnx_node(file, "Conv", inputs, "y");
    onnx_output(file, "y", ONNXD_FLOAT, "N,8,5,5");
}

static bool has_concat(const onnxd_plan *plan)
{
    for (uint32_t s = 0; s < plan->step_count; s++)
        if (strcmp(plan->model->graph->nodes[plan->steps[s].node].op_type, "Concat") == 0)
            return true;
    return false;
}

static void run_block(const char *spec, bool has_layout, const char *dims, size_t count, float *out,
                      bool *out_copies)
{
    static const char *const disabled[] = {"channels_last", NULL};
    static float weights[3 * 64 * 64];
    onnxd_model_options options = onnxd_model_options_default();
    onnx_file file;
    onnxd_run *run;
    float data[2 * 8 * SIDE * SIDE];
    onnxd_runtime *runtime = support_runtime(spec);
    onnxd_plan *plan;
    if (!has_layout)
        options.passes.disabled = disabled;
    write_dense_block(&file, weights);
    onnxd_model *model = support_load(runtime, &file, &options);
    for (size_t i = 0; i < ONNXD_COUNT(data); i++)
        data[i] = sinf((float)i);
    const onnxd_tensor_view input = support_view(data, ONNXD_FLOAT, dims);
    support_ok(onnxd_model_prepare(model, &input, &plan));
    *out_copies = has_concat(plan);
    for (int turn = 0; turn < 2; turn++) {
        support_ok(onnxd_run_once(plan, &input, &run));
        cr_assert_eq(onnxd_tensor_view_count(&onnxd_run_outputs(run)[0]), count);
        memcpy(out, onnxd_tensor_view_data(&onnxd_run_outputs(run)[0]), count * sizeof(float));
        onnxd_run_release(run);
    }
    onnxd_plan_release(plan);
    onnxd_model_release(model);
    onnxd_runtime_destroy(runtime);
}

static void check_block(const char *spec, const char *dims, size_t images)
{
    enum { MOST = 2 * 8 * SIDE * SIDE };
    const size_t count = images * 8 * SIDE * SIDE;
    float wanted[MOST], found[MOST];
    bool has_copies;
    run_block(CPU ";cpu.vector_kernels=false", false, dims, count, wanted, &has_copies);
    run_block(spec, true, dims, count, found, &has_copies);
    cr_expect_not(has_copies, "maps of %s are copied", dims);
    for (size_t i = 0; i < count; i++)
        cr_assert(fabsf(wanted[i] - found[i]) <= 1e-4f * (1 + fabsf(wanted[i])),
                  "%s: element %zu is %g, not %g", dims, i, (double)found[i], (double)wanted[i]);
}

Test(sharing_layout, maps_of_a_dense_block_are_never_copied)
{
    check_block(CPU, "1,8,5,5", 1);
    check_block(CPU, "2,8,5,5", 2);
    check_block("cpu;cpu.threads=3", "2,8,5,5", 2);
}
