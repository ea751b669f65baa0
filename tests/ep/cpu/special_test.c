/* What NaN and infinities become, through the kernels that the provider prefers and through the
 * portable ones. */
#include <math.h>
#include <string.h>

#include <criterion/criterion.h>

#include "tests/ep/cpu/support.h"

typedef struct fixture {
    onnxd_ep *fast, *portable;
    uint64_t seed;
    bool sums; /* results are sums, which may cancel: errors are relative to the largest operand */
} fixture;

static fixture open_both(void)
{
    fixture f = {.fast = ep_open_default(), .portable = ep_open_portable(), .seed = 77};
    return f;
}

static void close_both(fixture *f)
{
    onnxd_ep_destroy(f->fast);
    onnxd_ep_destroy(f->portable);
}

/* Ordinary values with every `every`-th one out of `specials`. */
static onnxd_tensor *sprinkled(fixture *f, int32_t rank, const int64_t *dims, uint64_t every,
                               const float *specials, size_t special_count)
{
    onnxd_tensor *tensor = tensor_random(&f->seed, rank, dims);
    float *values = tensor->data;
    for (size_t i = 0; i < tensor->count; i++)
        if (next_random(&f->seed) % every == 0)
            values[i] = specials[next_random(&f->seed) % special_count];
    return tensor;
}

/* The largest finite element, at least 1. */
static double magnitude(const onnxd_tensor *tensor)
{
    double largest = 1;
    for (size_t i = 0; i < tensor->count; i++) {
        const double size = fabs(tensor_at(tensor, i));
        largest = isfinite(size) && size > largest ? size : largest;
    }
    return largest;
}

static bool is_close(double a, double b, double least_scale)
{
    if (isnan(a) || isnan(b))
        return isnan(a) && isnan(b);
    if (isinf(a) || isinf(b))
        return a == b;
    double scale = fabs(b) > least_scale ? fabs(b) : least_scale;
    return fabs(a - b) <= 2e-5 * scale;
}

/* Takes over `run` and ends the node. */
static void check_node(fixture *f, test_node *t, test_run *run)
{
    test_run reference = {0};
    const double scale = f->sums ? magnitude(run->inputs[0]) : 1;
    expect_ok(node_resolve(t));
    for (int i = 0; i < MAX_OPERANDS; i++) {
        if (run->inputs[i] != NULL)
            reference.inputs[i] = onnxd_tensor_retain(run->inputs[i]);
        reference.is_constant[i] = run->is_constant[i];
    }
    expect_ok(run_node(f->portable, t, &reference));
    expect_ok(run_node(f->fast, t, run));
    if (run->outputs[0]->dtype != ONNXD_FLOAT)
        cr_expect_arr_eq(run->outputs[0]->data, reference.outputs[0]->data, run->outputs[0]->bytes,
                         "%s with %s", t->node->op_type, run->implementation);
    for (size_t i = 0; run->outputs[0]->dtype == ONNXD_FLOAT && i < run->outputs[0]->count; i++) {
        double is = tensor_at(run->outputs[0], i), wanted = tensor_at(reference.outputs[0], i);
        if (is_close(is, wanted, scale))
            continue;
        cr_expect_fail("%s with %s: element %zu is %g, the portable kernel gives %g",
                       t->node->op_type, run->implementation, i, is, wanted);
        break;
    }
    run_deinit(run);
    run_deinit(&reference);
    node_deinit(t);
}

/* The kinds of specials that are fed, each alone and all together. */
static const float specials[] = {NAN, INFINITY, -INFINITY, -0.0f, 1e18f, -1e18f};

#define ROUNDS 21

/* Rounds 0-6 sprinkle thinly, 7-13 densely, 14-20 fill. */
static onnxd_tensor *input_for(fixture *f, int32_t rank, const int64_t *dims, int round)
{
    static const uint64_t every[] = {13, 2, 1};
    size_t kind = (size_t)round % 7;
    const float *from = kind < 6 ? &specials[kind] : specials;
    return sprinkled(f, rank, dims, every[round / 7], from, kind < 6 ? 1 : 6);
}

static void check_unary(const char *op_type, int32_t rank, const int64_t *dims)
{
    fixture f = open_both();
    for (int round = 0; round < ROUNDS; round++) {
        test_node t;
        test_run run = {0};
        node_init(&t, op_type, 13, 1, 1);
        run.inputs[0] = input_for(&f, rank, dims, round);
        check_node(&f, &t, &run);
    }
    close_both(&f);
}

Test(special, relu)
{
    const int64_t dims[] = {7, 19};
    check_unary("Relu", 2, dims);
}

/* Of every operator that goes element by element with a vector kernel. */
Test(special, functions)
{
    static const char *const types[] = {
        "Abs",        "Neg", "Floor", "Ceil",     "Sqrt", "Log",   "Softplus",
        "Reciprocal", "Elu", "Selu",  "Softsign", "Celu", "Round", "ThresholdedRelu"};
    const int64_t dims[] = {7, 19};
    for (size_t i = 0; i < ONNXD_COUNT(types); i++)
        check_unary(types[i], 2, dims);
}

/* Bounds that are there or not, constant or not, NaN, or the wrong way round. */
Test(special, clip)
{
    static const float bounds[][2] = {{-0.25f, 0.5f}, {0.5f, -0.25f}, {NAN, 0.5f}, {-INFINITY, 0}};
    const int64_t dims[] = {7, 19};
    fixture f = open_both();
    for (int round = 0; round < 4 * ROUNDS; round++) {
        test_node t;
        test_run run = {0};
        const float *bound = bounds[round / 4 % 4];
        node_init(&t, "Clip", 13, 3, 1);
        run.inputs[0] = input_for(&f, 2, dims, round % ROUNDS);
        for (int i = 1; i <= 2; i++) {
            if ((round & i) != 0)
                run.inputs[i] = tensor_of(0, NULL, &bound[i - 1]);
            else
                t.node->inputs[i] = ONNXD_NONE;
            run.is_constant[i] = round % 3 == 0;
        }
        check_node(&f, &t, &run);
    }
    close_both(&f);
}

Test(special, softmax)
{
    const int64_t dims[] = {5, 33};
    check_unary("Softmax", 2, dims);
    check_unary("LogSoftmax", 2, dims);
}

Test(special, softmax_inside)
{
    fixture f = open_both();
    const int64_t dims[] = {3, 9, 16};
    for (int round = 0; round < 2 * ROUNDS; round++) {
        test_node t;
        test_run run = {0};
        node_init(&t, round < ROUNDS ? "Softmax" : "LogSoftmax", 13, 1, 1);
        node_int(&t, "axis", 1);
        run.inputs[0] = input_for(&f, 3, dims, round % ROUNDS);
        check_node(&f, &t, &run);
    }
    close_both(&f);
}

Test(special, global_pools)
{
    const int64_t dims[] = {2, 16, 5, 7}, few[] = {1, 3, 4, 4};
    check_unary("GlobalMaxPool", 4, dims);
    check_unary("GlobalAveragePool", 4, dims);
    check_unary("GlobalMaxPool", 4, few);
    check_unary("GlobalAveragePool", 4, few);
}

static void check_binary(const char *op_type)
{
    fixture f = open_both();
    const int64_t dims[] = {9, 21};
    for (int round = 0; round < ROUNDS; round++) {
        test_node t;
        test_run run = {0};
        node_init(&t, op_type, 14, 2, 1);
        run.inputs[0] = input_for(&f, 2, dims, round);
        run.inputs[1] = input_for(&f, 2, dims, (round * 5 + 6) % ROUNDS);
        check_node(&f, &t, &run);
    }
    close_both(&f);
}

Test(special, add_multiply_and_sum)
{
    check_binary("Add");
    check_binary("Mul");
    check_binary("Sum");
}

Test(special, extremes_and_powers)
{
    check_binary("Max");
    check_binary("Min");
    check_binary("Pow");
    check_binary("PRelu");
}

/* One exponent for all, and shapes of which no two dimensions merge. */
Test(special, powers_and_extremes_that_are_broadcast)
{
    static const float exponents[] = {2, 3, -1, 0.5f, -0.5f, 1, 0, 1.7f, NAN};
    static const char *const types[] = {"Pow", "Max", "Min", "PRelu"};
    const int64_t dims[] = {3, 5, 7}, other[] = {5, 1};
    fixture f = open_both();
    for (int round = 0; round < 9 * ROUNDS; round++) {
        test_node t;
        test_run run = {0};
        node_init(&t, types[round % 4], 13, 2, 1);
        run.inputs[0] = input_for(&f, 3, dims, round % ROUNDS);
        run.inputs[1] = round % 2 == 0 ? tensor_of(0, NULL, &exponents[round % 9])
                                       : tensor_random(&f.seed, 2, other);
        check_node(&f, &t, &run);
    }
    close_both(&f);
}

/* Rows, columns and what is neither: the axes' bits choose dimensions, one of which is 1. */
Test(special, reductions)
{
    static const char *const types[] = {"ReduceSum",       "ReduceMean",  "ReduceMax",
                                        "ReduceMin",       "ReduceL1",    "ReduceL2",
                                        "ReduceSumSquare", "ReduceLogSum"};
    const int64_t dims[] = {3, 20, 1, 9};
    fixture f = open_both();
    for (int round = 0; round < 8 * ROUNDS; round++) {
        /* The logarithm of what large numbers leave when they cancel can be any. */
        const bool may_cancel = round % 8 != 7;
        f.sums = round % 8 < 2;
        const int kind = may_cancel ? round % 7 : round % 5;
        for (int bits = 0; bits < 16; bits++) {
            test_node t;
            test_run run = {0};
            int64_t axes[4], count = 0;
            for (int i = 0; i < 4; i++)
                if ((bits >> i & 1) != 0)
                    axes[count++] = i;
            const onnxd_shape shape = onnxd_shape_from(1, &count);
            node_init(&t, types[round % 8], 20, 2, 1);
            node_int(&t, "keepdims", round % 2);
            node_int(&t, "noop_with_empty_axes", round / 2 % 2);
            run.inputs[0] = input_for(&f, 4, dims, round % ROUNDS / 7 * 7 + kind);
            expect_ok(onnxd_tensor_create(ONNXD_INT64, &shape, &run.inputs[1]));
            memcpy(run.inputs[1]->data, axes, (size_t)count * sizeof(*axes));
            run.is_constant[1] = true;
            check_node(&f, &t, &run);
        }
    }
    close_both(&f);
}

Test(special, arg_reductions)
{
    const int64_t dims[] = {4, 2, 37};
    fixture f = open_both();
    for (int round = 0; round < 4 * ROUNDS; round++) {
        test_node t;
        test_run run = {0};
        node_init(&t, round % 2 == 0 ? "ArgMax" : "ArgMin", 13, 1, 1);
        node_int(&t, "axis", round % 3 - 1);
        node_int(&t, "select_last_index", round / 2 % 2);
        node_int(&t, "keepdims", round / 4 % 2);
        run.inputs[0] = input_for(&f, 3, dims, round % ROUNDS);
        check_node(&f, &t, &run);
    }
    close_both(&f);
}

Test(special, group_normalization)
{
    const int64_t dims[] = {2, 6, 5, 7}, channels[] = {6}, groups[] = {3};
    fixture f = open_both();
    for (int round = 0; round < 3 * ROUNDS; round++) {
        test_node t;
        test_run run = {0};
        const bool is_instance = round % 3 == 0;
        const int64_t opset = round % 3 == 1 ? 18 : 21;
        node_init(&t, is_instance ? "InstanceNormalization" : "GroupNormalization", opset, 3, 1);
        if (!is_instance)
            node_int(&t, "num_groups", 3);
        run.inputs[0] = input_for(&f, round % 2 == 0 ? 4 : 2, dims, round % ROUNDS / 7 * 7 + 3);
        for (int i = 1; i <= 2; i++)
            run.inputs[i] =
                tensor_random(&f.seed, 1, !is_instance && opset < 21 ? groups : channels);
        check_node(&f, &t, &run);
    }
    close_both(&f);
}

static void check_pool(const char *op_type)
{
    static const int64_t kernel[] = {3, 2}, pads[] = {1, 1, 1, 0}, strides[] = {2, 1};
    fixture f = open_both();
    for (int round = 0; round < 2 * ROUNDS; round++) {
        test_node t;
        test_run run = {0};
        const int64_t dims[] = {2, round < ROUNDS ? 16 : 3, 9, 8};
        node_init(&t, op_type, 12, 1, 1);
        node_ints(&t, "kernel_shape", 2, kernel);
        node_ints(&t, "pads", 4, pads);
        node_ints(&t, "strides", 2, strides);
        run.inputs[0] = input_for(&f, 4, dims, round % ROUNDS);
        check_node(&f, &t, &run);
    }
    close_both(&f);
}

Test(special, max_pool)
{
    check_pool("MaxPool");
}

Test(special, average_pool)
{
    check_pool("AveragePool");
}

Test(special, lrn)
{
    fixture f = open_both();
    for (int round = 0; round < ROUNDS; round++) {
        test_node t;
        test_run run = {0};
        const int64_t dims[] = {1, 16, 5, 5};
        node_init(&t, "LRN", 13, 1, 1);
        node_int(&t, "size", 5);
        run.inputs[0] = input_for(&f, 4, dims, round);
        check_node(&f, &t, &run);
    }
    close_both(&f);
}

/* NaN and infinities of the first operand; the weights are ordinary. */
Test(special, products)
{
    fixture f = open_both();
    const int64_t a[] = {5, 24}, b[] = {24, 17};
    for (int round = 0; round < 2 * 7; round++) {
        test_node t;
        test_run run = {0};
        node_init(&t, round % 2 == 0 ? "MatMul" : "Gemm", 13, 2, 1);
        run.inputs[0] = input_for(&f, 2, a, round / 2 < 4 ? round / 2 : round / 2 % 4);
        run.inputs[1] = tensor_random(&f.seed, 2, b);
        check_node(&f, &t, &run);
    }
    close_both(&f);
}

Test(special, convolution)
{
    static const int64_t pads[] = {1, 1, 1, 1};
    fixture f = open_both();
    for (int round = 0; round < 4; round++) {
        test_node t;
        test_run run = {0};
        const int64_t dims[] = {1, 16, 9, 9}, weights[] = {16, 16, 3, 3};
        node_init(&t, "Conv", 11, 2, 1);
        node_ints(&t, "pads", 4, pads);
        run.inputs[0] = input_for(&f, 4, dims, round);
        run.inputs[1] = tensor_random(&f.seed, 4, weights);
        check_node(&f, &t, &run);
    }
    close_both(&f);
}

/* Overlapping windows, gaps between them, groups, dilations and pads, in 1 to 3 dimensions. */
Test(special, transposed_convolution)
{
    fixture f = open_both();
    for (int round = 0; round < 60; round++) {
        test_node t;
        test_run run = {0};
        const int32_t spatial = round % 3 + 1;
        const int64_t groups = round % 4 == 0 ? 2 : 1, maps = 1 + round % 13;
        int64_t dims[5] = {1 + round % 2, groups * (3 + round % 5)}, weights[5] = {dims[1], maps};
        int64_t strides[3], dilations[3], pads[6];
        for (int i = 0; i < spatial; i++) {
            dims[2 + i] = 3 + (round + i) % 5;
            weights[2 + i] = 1 + (round / 2 + i) % 4;
            strides[i] = 1 + (round / 3 + i) % 3;
            dilations[i] = 1 + (round / 7 + i) % 2;
            pads[i] = (weights[2 + i] - 1) / 2;
            pads[spatial + i] = weights[2 + i] > 1;
        }
        const int64_t bias = groups * maps;
        node_init(&t, "ConvTranspose", 11, round % 2 == 0 ? 3 : 2, 1);
        node_int(&t, "group", groups);
        node_ints(&t, "strides", (size_t)spatial, strides);
        node_ints(&t, "dilations", (size_t)spatial, dilations);
        node_ints(&t, "pads", 2 * (size_t)spatial, pads);
        run.inputs[0] = tensor_random(&f.seed, spatial + 2, dims);
        run.inputs[1] = tensor_random(&f.seed, spatial + 2, weights);
        run.inputs[2] = round % 2 == 0 ? tensor_random(&f.seed, 1, &bias) : NULL;
        run.is_constant[1] = true;
        check_node(&f, &t, &run);
    }
    close_both(&f);
}
