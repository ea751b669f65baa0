/* The option cpu.precision: with bf16 products and convolutions are those of rounded factors. */
#include <stdio.h>
#include <string.h>

#include <criterion/criterion.h>

#include "base/dtype.h"
#include "ep/cpu/internal.h"
#include "tests/ep/cpu/support.h"

/* A node of two or three FLOAT inputs, all constant but the first. */
typedef struct node_case {
    const char *what; /* that its kernel is named by */
    const char *op_type;
    bool is_internal;      /* of the domain onnxd, else ONNX's */
    const char *attribute; /* NULL: none */
    int64_t values[4];
    uint32_t value_count; /* 0: one integer, no list */
    int32_t ranks[3];
    int64_t dims[3][4];
} node_case;

static const node_case cases[] = {
    {"product", "MatMul", .ranks = {2, 2}, .dims = {{1, 301}, {301, 70}}},
    {"product", "MatMul", .ranks = {3, 2}, .dims = {{2, 50, 64}, {64, 33}}},
    {"product", "Gemm", .ranks = {2, 2, 1}, .dims = {{7, 45}, {45, 21}, {21}}},
    {"product", "Gemm", false, "transB", {1}, 0, {2, 2, 1}, {{1, 99}, {40, 99}, {40}}},
    {"product", "Dense", true, .ranks = {2, 2, 1}, .dims = {{13, 45}, {45, 21}, {21}}},
    {"direct", "Conv", true, .ranks = {4, 4, 1}, .dims = {{1, 1, 1, 40}, {33, 40, 1, 1}, {33}}},
    {"direct", "Conv", true, "pads", {1, 1, 1, 1}, 4, {4, 4}, {{1, 28, 28, 32}, {64, 32, 3, 3}}},
    {"direct", "Conv", true, "group", {2}, 0, {4, 4}, {{2, 5, 6, 18}, {10, 9, 3, 3}}},
    {"gathered", "Conv", true, "strides", {2, 2}, 2, {4, 4}, {{1, 17, 17, 3}, {16, 3, 7, 7}}},
};

/* Ends with run_deinit(). */
static test_run run_of(const node_case *of, uint64_t seed)
{
    test_run run = {0};
    for (int i = 0; i < 3 && of->ranks[i] > 0; i++) {
        run.inputs[i] = tensor_random(&seed, of->ranks[i], of->dims[i]);
        run.is_constant[i] = i > 0;
    }
    return run;
}

static void run_case(onnxd_ep *ep, const node_case *of, test_run *run)
{
    test_node t;
    node_init(&t, of->op_type, of->is_internal ? 1 : 13, of->ranks[2] > 0 ? 3 : 2, 1);
    t.node->domain = of->is_internal ? ONNXD_INTERNAL_DOMAIN : "";
    if (of->attribute != NULL && of->value_count > 0)
        node_ints(&t, of->attribute, of->value_count, of->values);
    else if (of->attribute != NULL)
        node_int(&t, of->attribute, of->values[0]);
    expect_ok(node_resolve(&t));
    expect_ok(run_node(ep, &t, run));
    node_deinit(&t);
}

/* Both factors. */
static void round_factors(test_run *run)
{
    for (int i = 0; i < 2; i++) {
        float *values = run->inputs[i]->data;
        for (size_t k = 0; k < run->inputs[i]->count; k++)
            values[k] = onnxd_bfloat16_to_float(onnxd_float_to_bfloat16(values[k]));
    }
}

static bool gains_everywhere(onnxd_ep *ep)
{
    return onnxd_cpu_ep_of(ep)->runtime->bf16.rows == SIZE_MAX;
}

/* An instance for bf16 of a level; NULL where there is none of that. `is_forced`: products of any
 * number of rows are such. */
static onnxd_ep *open_rounding(onnxd_simd_level level, bool is_forced)
{
    const char *const options[][2] = {{"cpu.isa", onnxd_simd_level_name(level)},
                                      {"cpu.precision", "bf16"}};
    if (!onnxd_simd_is_available(level)) {
        fprintf(stderr, "skipped: %s: this processor has not got it\n",
                onnxd_simd_level_name(level));
        return NULL;
    }
    onnxd_ep *ep = ep_open(ONNXD_COUNT(options), options);
    if (is_forced)
        onnxd_cpu_ep_of(ep)->runtime->bf16 = (onnxd_simd_bf16_gain){SIZE_MAX, 0};
    return ep;
}

static void check_case(onnxd_ep *exact, onnxd_ep *rounding, const node_case *of)
{
    test_run plain = run_of(of, 3), rounded = run_of(of, 3), bf16 = run_of(of, 3);
    round_factors(&rounded);
    run_case(exact, of, &plain);
    run_case(exact, of, &rounded);
    run_case(rounding, of, &bf16);
    char name[96];
    snprintf(name, sizeof(name), "simd:%s_bf16:", of->what);
    cr_expect_eq(strncmp(bf16.implementation, name, strlen(name)), 0, "%s by %s", of->op_type,
                 bf16.implementation);
    cr_expect_null(strstr(plain.implementation, "_bf16:"), "%s", plain.implementation);
    cr_expect_lt(difference(bf16.outputs[0], rounded.outputs[0]), 3e-6, "%s by %s", of->op_type,
                 bf16.implementation);
    cr_expect_gt(difference(bf16.outputs[0], plain.outputs[0]), 3e-4, "%s by %s", of->op_type,
                 bf16.implementation);
    cr_expect_lt(difference(bf16.outputs[0], plain.outputs[0]), 2e-2, "%s by %s", of->op_type,
                 bf16.implementation);
    run_deinit(&plain);
    run_deinit(&rounded);
    run_deinit(&bf16);
}

Test(precision, bf16_is_of_rounded_factors)
{
    static const char *const options[][2] = {{"cpu.winograd", "off"}};
    onnxd_ep *exact = ep_open(1, options);
    for (int level = 0; level < ONNXD_SIMD_LEVEL_COUNT; level++) {
        onnxd_ep *rounding = open_rounding((onnxd_simd_level)level, true);
        for (size_t n = 0; rounding != NULL && n < ONNXD_COUNT(cases); n++)
            check_case(exact, rounding, &cases[n]);
        if (rounding != NULL)
            onnxd_ep_destroy(rounding);
    }
    onnxd_ep_destroy(exact);
}

/* ---- where it is used ------------------------------------------------------------------------ */

static void expect_rounds(onnxd_ep *ep, const node_case *of, bool expected)
{
    test_run run = run_of(of, 4);
    run_case(ep, of, &run);
    cr_expect_eq(strstr(run.implementation, "_bf16:") != NULL, expected, "%s by %s", of->op_type,
                 run.implementation);
    run_deinit(&run);
}

/* Without an instruction that is faster: few rows of many weights. */
Test(precision, where_it_gains)
{
    static const node_case gaining[] = {
        {"product", "MatMul", .ranks = {2, 2}, .dims = {{1, 512}, {512, 520}}},
        {"product", "MatMul", .ranks = {2, 2}, .dims = {{2, 1024}, {1024, 512}}},
        {"direct", "Conv", true, .ranks = {4, 4}, .dims = {{1, 1, 1, 512}, {520, 512, 1, 1}}},
    };
    static const node_case others[] = {
        {"product", "MatMul", .ranks = {2, 2}, .dims = {{1, 512}, {512, 500}}},
        {"product", "MatMul", .ranks = {2, 2}, .dims = {{3, 1024}, {1024, 512}}},
        {"product", "MatMul", .ranks = {2, 2}, .dims = {{5, 2048}, {2048, 1024}}},
        {"direct", "Conv", true, .ranks = {4, 4}, .dims = {{1, 2, 4, 512}, {520, 512, 1, 1}}},
    };
    for (int level = 0; level < ONNXD_SIMD_LEVEL_COUNT; level++) {
        onnxd_ep *ep = open_rounding((onnxd_simd_level)level, false);
        if (ep == NULL)
            continue;
        for (size_t n = 0; n < ONNXD_COUNT(gaining); n++)
            expect_rounds(ep, &gaining[n], true);
        for (size_t n = 0; n < ONNXD_COUNT(others); n++)
            expect_rounds(ep, &others[n], gains_everywhere(ep));
        onnxd_ep_destroy(ep);
    }
}

/* Products channel by channel stay in fp32, and so do those of two values. */
Test(precision, what_is_never_rounded)
{
    static const node_case depthwise = {"",   "Conv", true,   "group",
                                        {16}, 0,      {4, 4}, {{1, 3, 3, 16}, {16, 1, 3, 3}}};
    onnxd_ep *ep = open_rounding(onnxd_simd_best(), true);
    test_run values = run_of(&cases[0], 5);
    values.is_constant[1] = false;
    expect_rounds(ep, &depthwise, false);
    run_case(ep, &cases[0], &values);
    cr_expect_null(strstr(values.implementation, "_bf16:"), "%s", values.implementation);
    run_deinit(&values);
    onnxd_ep_destroy(ep);
}

/* ---- weights --------------------------------------------------------------------------------- */

static size_t packed_bytes(onnxd_ep *ep, const node_case *of)
{
    test_node t;
    test_run run = run_of(of, 6);
    size_t count = 0, bytes = 0;
    onnxd_tensor_type inputs[3] = {{0}}, output = {.dtype = ONNXD_UNDEFINED};
    onnxd_kernel *kernel = NULL;
    node_init(&t, of->op_type, 13, 2, 1);
    expect_ok(node_resolve(&t));
    for (int i = 0; i < 2; i++)
        inputs[i] = (onnxd_tensor_type){.dtype = ONNXD_FLOAT, .shape = run.inputs[i]->shape};
    expect_ok(onnxd_op_infer(t.node, inputs, NULL, &output));
    onnxd_tensor *const constants[2] = {NULL, run.inputs[1]};
    const onnxd_op_query query = {.node = t.node,
                                  .opset = 13,
                                  .inputs = inputs,
                                  .input_count = 2,
                                  .outputs = &output,
                                  .output_count = 1,
                                  .constants = constants};
    expect_ok(onnxd_ep_get_kernel(ep, &query, &kernel));
    onnxd_cpu_packed_query(&onnxd_cpu_ep_of(ep)->runtime->packed, &count, &bytes);
    cr_expect_eq(count, 1);
    onnxd_kernel_release(kernel);
    run_deinit(&run);
    node_deinit(&t);
    return bytes;
}

Test(precision, weights_take_half_the_bytes)
{
    static const node_case even = {"product", "MatMul", .ranks = {2, 2},
                                   .dims = {{1, 300}, {300, 64}}};
    static const char *const fp32[][2] = {{"cpu.precision", "fp32"}};
    onnxd_ep *exact = ep_open(1, fp32), *rounding = open_rounding(onnxd_simd_best(), true);
    cr_expect_eq(packed_bytes(exact, &even), 2 * packed_bytes(rounding, &even));
    onnxd_ep_destroy(exact);
    onnxd_ep_destroy(rounding);
}

Test(precision, other_values_are_refused)
{
    const onnxd_ep_option option = {"cpu.precision", "fp16"};
    const onnxd_ep_config config = {.options = &option, .option_count = 1};
    onnxd_cpu_options parsed;
    onnxd_status *status = onnxd_cpu_options_parse(&config, &parsed);
    cr_assert_not_null(status);
    cr_expect_not_null(strstr(onnxd_status_message(status), "fp32"), "%s",
                       onnxd_status_message(status));
    cr_expect_not_null(strstr(onnxd_status_message(status), "bf16"), "%s",
                       onnxd_status_message(status));
    expect_error(status, ONNXD_INVALID_ARGUMENT);
}
