/* A real model gives the same result on the CPU, on a device, and split over both. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/model/support.h"

#define MODEL "light/light_squeezenet.onnx"
#define ELEMENTS ((size_t)3 * 224 * 224)
#define CLASSES 1000

static const char *model_path(char *path, size_t capacity)
{
    const char *root = getenv("ONNXD_SHARED_DATA");
    snprintf(path, capacity, "%s/%s", root != NULL ? root : ONNXD_SHARED_DATA, MODEL);
    return path;
}

static float *random_input(void)
{
    float *values = malloc(ELEMENTS * sizeof(float));
    uint32_t random = 1;
    cr_assert_not_null(values);
    for (size_t i = 0; i < ELEMENTS; i++) {
        random = random * 1664525u + 1013904223u;
        values[i] = (float)(random >> 8) / (float)(1u << 24) - 0.5f;
    }
    return values;
}

/* Runs the model and returns the number of stages. */
static uint32_t run_model(const char *spec, const char *path, const float *input, float *output)
{
    const onnxd_model_options options = onnxd_model_options_default();
    onnxd_model *model;
    onnxd_plan *plan;
    onnxd_run *run;
    onnxd_runtime *runtime = support_runtime(spec);
    support_ok(onnxd_model_load(runtime, "squeezenet", 1, path, &options, &model));
    const onnxd_tensor_view view = support_view(input, ONNXD_FLOAT, "1,3,224,224");
    support_ok(onnxd_model_prepare(model, &view, &plan));
    support_ok(onnxd_run_once(plan, &view, &run));
    const onnxd_tensor_view *result = &onnxd_run_outputs(run)[0];
    cr_assert_eq(onnxd_tensor_view_count(result), CLASSES);
    memcpy(output, onnxd_tensor_view_data(result), CLASSES * sizeof(float));
    const uint32_t stages = onnxd_plan_stage_count(plan);
    onnxd_run_release(run);
    onnxd_plan_release(plan);
    onnxd_model_release(model);
    onnxd_runtime_destroy(runtime);
    return stages;
}

static void expect_same(const float *a, const float *b)
{
    for (size_t i = 0; i < CLASSES; i++)
        cr_assert(fabsf(a[i] - b[i]) <= 1e-5f * fabsf(b[i]) + 1e-9f, "class %zu: %g, %g", i,
                  (double)a[i], (double)b[i]);
}

Test(light, squeezenet_is_the_same_wherever_it_runs)
{
    static float cpu[CLASSES], sim[CLASSES], split[CLASSES];
    char path[512];
    if (access(model_path(path, sizeof(path)), R_OK) != 0) {
        fprintf(stderr, "skipped: no %s; set ONNXD_SHARED_DATA\n", path);
        return;
    }
    float *input = random_input();
    cr_expect_eq(run_model("cpu", path, input, cpu), 1);
    cr_expect_eq(run_model("sim", path, input, sim), 1);
    cr_expect_eq(run_model("cpu sim;sim.claim_ops=Conv,Concat;sim.unsupported_ops=MaxPool,Softmax",
                           path, input, split),
                 8);
    expect_same(sim, cpu);
    expect_same(split, cpu);
    free(input);
}
