/* Values of a client that no kernel can use, on every provider: one error wherever it is found. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "tests/model/support.h"

static const char *const runtimes[] = {"cpu;cpu.threads=1", "sim", "sim;sim.async=false",
                                       "cpu;cpu.threads=1 sim"};

/* An operator of a float[3] and an int64, or of two int64. */
static const struct index_case {
    const char *op_type;
    onnxd_dtype dtype;
    const char *index_dims;
    int64_t good, bad[4];
    const char *text; /* of the error, besides the value */
} index_cases[] = {
    {"Gather", ONNXD_FLOAT, "1", -3, {3, -4, INT64_MIN, INT64_MAX}, "is outside [-3, 2]"},
    {"GatherElements", ONNXD_FLOAT, "1", 2, {3, -4, INT64_MIN, INT64_MAX}, "is outside [-3, 2]"},
    {"GatherND", ONNXD_FLOAT, "1,1", 2, {3, -4, INT64_MIN, INT64_MAX}, "is outside [-3, 2]"},
    {"Div", ONNXD_INT64, "1", -1, {0, 0, 0, 0}, "integer division by 0"},
    {"Mod", ONNXD_INT64, "1", -1, {0, 0, 0, 0}, "integer division by 0"},
};

static onnxd_model *load(onnxd_runtime *runtime, const struct index_case *t)
{
    onnx_file file = onnx_file_begin();
    onnx_input(&file, "x", t->dtype, "3");
    onnx_input(&file, "i", ONNXD_INT64, t->index_dims);
    onnx_node(&file, t->op_type, "x,i", "y");
    onnx_output(&file, "y", t->dtype, t->dtype == ONNXD_FLOAT ? "1" : "3");
    return support_load(runtime, &file, NULL);
}

static onnxd_status *run(onnxd_plan *plan, const struct index_case *t, int64_t index)
{
    static const int64_t integers[3] = {INT64_MIN, 5, -7};
    static const float floats[3] = {1, 2, 3};
    const onnxd_tensor_view inputs[2] = {
        support_view(t->dtype == ONNXD_FLOAT ? (const void *)floats : integers, t->dtype, "3"),
        support_view(&index, ONNXD_INT64, t->index_dims)};
    onnxd_run *result = NULL;
    onnxd_status *status = onnxd_run_once(plan, inputs, &result);
    if (status == NULL)
        onnxd_run_release(result);
    return status;
}

static void check(onnxd_runtime *runtime, const struct index_case *t)
{
    onnxd_plan *plan;
    onnxd_model *model = load(runtime, t);
    const onnxd_tensor_view types[2] = {support_view(NULL, t->dtype, "3"),
                                        support_view(NULL, ONNXD_INT64, t->index_dims)};
    support_ok(onnxd_model_prepare(model, types, &plan));
    for (size_t i = 0; i < ONNXD_COUNT(t->bad); i++) {
        char value[32];
        (void)snprintf(value, sizeof(value), "%lld ", (long long)t->bad[i]);
        onnxd_status *status = run(plan, t, t->bad[i]);
        cr_expect(t->dtype != ONNXD_FLOAT || strstr(onnxd_status_message(status), value) != NULL,
                  "%s", onnxd_status_message(status));
        support_error(status, ONNXD_INVALID_ARGUMENT, t->text);
        /* It is the request's fault alone. */
        support_ok(run(plan, t, t->good));
    }
    onnxd_plan_release(plan);
    onnxd_model_release(model);
}

Test(indices, every_provider_refuses_the_same_values)
{
    for (size_t r = 0; r < ONNXD_COUNT(runtimes); r++) {
        onnxd_runtime *runtime = support_runtime(runtimes[r]);
        for (size_t t = 0; t < ONNXD_COUNT(index_cases); t++)
            check(runtime, &index_cases[t]);
        onnxd_runtime_destroy(runtime);
    }
}
