/* The portable kernels and the ones that the provider prefers agree on random shapes, and the
 * portable ones with themselves in every floating type. */
#include <string.h>

#include <criterion/criterion.h>

#include "tests/ep/cpu/support.h"

#define ROUNDS 40

typedef struct fixture {
    onnxd_ep *fast, *portable;
    uint64_t seed;
    int fast_runs;
} fixture;

static fixture open_both(void)
{
    fixture f = {.fast = ep_open_default(), .portable = ep_open_portable(), .seed = 20250101};
    return f;
}

static void close_both(fixture *f)
{
    onnxd_ep_destroy(f->fast);
    onnxd_ep_destroy(f->portable);
}

static int64_t between(fixture *f, int64_t low, int64_t high)
{
    return low + (int64_t)(next_random(&f->seed) % (uint64_t)(high - low + 1));
}

static onnxd_tensor *random_tensor(fixture *f, int32_t rank, const int64_t *dims)
{
    return tensor_random(&f->seed, rank, dims);
}

static double tolerance_of(onnxd_dtype dtype)
{
    switch (dtype) {
    case ONNXD_BFLOAT16:
        return 3e-2;
    case ONNXD_FLOAT16:
        return 4e-3;
    default:
        return 2e-5;
    }
}

/* Runs the portable kernel with the inputs in another type and compares with `expected`. */
static void check_type(fixture *f, const test_node *t, const test_run *run, onnxd_dtype dtype,
                       const onnxd_tensor *expected)
{
    test_run other = {0};
    for (int i = 0; i < MAX_OPERANDS; i++) {
        if (run->inputs[i] != NULL)
            other.inputs[i] = tensor_cast(run->inputs[i], dtype);
    }
    expect_ok(run_node(f->fast, t, &other));
    cr_expect_lt(difference(other.outputs[0], expected), tolerance_of(dtype), "%s in %s",
                 t->node->op_type, onnxd_dtype_name(dtype));
    run_deinit(&other);
}

/* Takes over `run` and ends the node. */
static void check_node(fixture *f, test_node *t, test_run *run)
{
    test_run reference = {0};
    expect_ok(node_resolve(t));
    for (int i = 0; i < MAX_OPERANDS; i++) {
        if (run->inputs[i] != NULL)
            reference.inputs[i] = onnxd_tensor_retain(run->inputs[i]);
    }
    expect_ok(run_node(f->portable, t, &reference));
    cr_expect_str_eq(reference.implementation, "portable");
    /* Once with variable and once with constant weights. */
    for (int pass = 0; pass < 2; pass++) {
        run->is_constant[1] = pass == 1 && run->inputs[1] != NULL;
        expect_ok(run_node(f->fast, t, run));
        if (strcmp(run->implementation, "portable") != 0)
            f->fast_runs++;
        double error = difference(run->outputs[0], reference.outputs[0]);
        cr_expect_lt(error, 2e-5, "%s with %s differs by %g", t->node->op_type, run->implementation,
                     error);
        onnxd_tensor_release(run->outputs[0]);
        onnxd_tensor_release(run->outputs[1]);
        run->outputs[0] = run->outputs[1] = NULL;
    }
    check_type(f, t, run, ONNXD_DOUBLE, reference.outputs[0]);
    check_type(f, t, run, ONNXD_FLOAT16, reference.outputs[0]);
    check_type(f, t, run, ONNXD_BFLOAT16, reference.outputs[0]);
    run_deinit(run);
    run_deinit(&reference);
    node_deinit(t);
}

/* Strides, dilations, pads, or an automatic padding, for `spatial` dimensions. */
static void add_window(fixture *f, test_node *t, int32_t spatial, const int64_t *kernel,
                       bool has_dilations, int64_t max_pad)
{
    static const char *const automatic[] = {"SAME_UPPER", "SAME_LOWER", "VALID"};
    int64_t strides[3], dilations[3], pads[6];
    for (int32_t i = 0; i < spatial; i++) {
        strides[i] = between(f, 1, 3);
        dilations[i] = has_dilations ? between(f, 1, 2) : 1;
        int64_t limit = kernel[i] - 1 < max_pad ? kernel[i] - 1 : max_pad;
        pads[i] = between(f, 0, limit);
        pads[spatial + i] = between(f, 0, limit);
    }
    node_ints(t, "strides", (size_t)spatial, strides);
    if (has_dilations)
        node_ints(t, "dilations", (size_t)spatial, dilations);
    if (between(f, 0, 3) == 0)
        node_string(t, "auto_pad", automatic[between(f, 0, 2)]);
    else
        node_ints(t, "pads", 2 * (size_t)spatial, pads);
}

Test(agreement, convolution)
{
    fixture f = open_both();
    for (int round = 0; round < ROUNDS; round++) {
        test_node t;
        test_run run = {0};
        int32_t spatial = (int32_t)between(&f, 1, 3);
        int64_t group = between(&f, 1, 3), channels = group * between(&f, 1, 9);
        int64_t maps = group * between(&f, 1, 9);
        int64_t input[5] = {between(&f, 1, 2), channels}, weights[5] = {maps, channels / group};
        for (int32_t i = 0; i < spatial; i++) {
            weights[2 + i] = between(&f, 1, 3);
            input[2 + i] = between(&f, 5, 12);
        }
        bool has_bias = between(&f, 0, 1) == 1;
        node_init(&t, "Conv", 22, has_bias ? 3 : 2, 1);
        node_int(&t, "group", group);
        add_window(&f, &t, spatial, weights + 2, true, 3);
        run.inputs[0] = random_tensor(&f, spatial + 2, input);
        run.inputs[1] = random_tensor(&f, spatial + 2, weights);
        run.inputs[2] = has_bias ? random_tensor(&f, 1, &maps) : NULL;
        check_node(&f, &t, &run);
    }
    cr_expect_geq(f.fast_runs, ROUNDS);
    close_both(&f);
}

/* Shapes that oneDNN treats by Winograd's method, depthwise, and with blocked layouts. */
Test(agreement, convolution_of_networks)
{
    static const int64_t cases[][6] = {
        /* channels, maps, group, size, kernel, stride */
        {64, 64, 1, 28, 3, 1},  {3, 32, 1, 56, 7, 2},   {64, 128, 1, 14, 1, 1},
        {32, 32, 32, 20, 3, 1}, {48, 48, 48, 20, 3, 2}, {17, 33, 1, 9, 5, 1},
    };
    fixture f = open_both();
    for (size_t i = 0; i < ONNXD_COUNT(cases); i++) {
        test_node t;
        test_run run = {0};
        const int64_t *c = cases[i];
        int64_t input[] = {1, c[0], c[3], c[3]}, weights[] = {c[1], c[0] / c[2], c[4], c[4]};
        int64_t pad = c[4] / 2, pads[] = {pad, pad, pad, pad}, strides[] = {c[5], c[5]};
        node_init(&t, "Conv", 22, 3, 1);
        node_int(&t, "group", c[2]);
        node_ints(&t, "pads", 4, pads);
        node_ints(&t, "strides", 2, strides);
        run.inputs[0] = random_tensor(&f, 4, input);
        run.inputs[1] = random_tensor(&f, 4, weights);
        run.inputs[2] = random_tensor(&f, 1, &c[1]);
        check_node(&f, &t, &run);
    }
    cr_expect_eq(f.fast_runs, 2 * (int)ONNXD_COUNT(cases));
    close_both(&f);
}

static void check_pool(fixture *f, const char *op_type)
{
    for (int round = 0; round < ROUNDS; round++) {
        test_node t;
        test_run run = {0};
        int32_t spatial = (int32_t)between(f, 1, 3);
        int64_t input[5] = {between(f, 1, 2), between(f, 1, 20)}, kernel[3];
        for (int32_t i = 0; i < spatial; i++) {
            kernel[i] = between(f, 1, 3);
            input[2 + i] = between(f, 5, 12);
        }
        node_init(&t, op_type, 22, 1, 1);
        node_ints(&t, "kernel_shape", (size_t)spatial, kernel);
        node_int(&t, "ceil_mode", between(f, 0, 1));
        if (strcmp(op_type, "AveragePool") == 0)
            node_int(&t, "count_include_pad", between(f, 0, 1));
        add_window(f, &t, spatial, kernel, between(f, 0, 3) == 0, 2);
        run.inputs[0] = random_tensor(f, spatial + 2, input);
        check_node(f, &t, &run);
    }
    cr_expect_geq(f->fast_runs, ROUNDS);
}

Test(agreement, max_pool)
{
    fixture f = open_both();
    check_pool(&f, "MaxPool");
    close_both(&f);
}

Test(agreement, average_pool)
{
    fixture f = open_both();
    check_pool(&f, "AveragePool");
    close_both(&f);
}

Test(agreement, global_pools)
{
    static const char *const types[] = {"GlobalAveragePool", "GlobalMaxPool"};
    fixture f = open_both();
    for (int round = 0; round < ROUNDS; round++) {
        test_node t;
        test_run run = {0};
        int64_t dims[] = {between(&f, 1, 2), between(&f, 1, 40), between(&f, 1, 9),
                          between(&f, 1, 9), between(&f, 1, 3)};
        node_init(&t, types[round % 2], 22, 1, 1);
        run.inputs[0] = random_tensor(&f, (int32_t)between(&f, 2, 5), dims);
        check_node(&f, &t, &run);
    }
    cr_expect_geq(f.fast_runs, ROUNDS);
    close_both(&f);
}

Test(agreement, gemm)
{
    fixture f = open_both();
    for (int round = 0; round < ROUNDS; round++) {
        test_node t;
        test_run run = {0};
        int64_t m = between(&f, 1, 40), k = between(&f, 1, 70), n = between(&f, 1, 70);
        bool is_a = between(&f, 0, 1) == 1, is_b = between(&f, 0, 1) == 1;
        int64_t a[] = {is_a ? k : m, is_a ? m : k}, b[] = {is_b ? n : k, is_b ? k : n};
        int64_t c[] = {between(&f, 0, 1) == 0 ? 1 : m, between(&f, 0, 3) == 0 ? 1 : n};
        int64_t c_kind = between(&f, 0, 3);
        node_init(&t, "Gemm", 13, c_kind == 0 ? 2 : 3, 1);
        node_int(&t, "transA", is_a);
        node_int(&t, "transB", is_b);
        if (between(&f, 0, 2) == 0)
            node_float(&t, "alpha", 0.5f);
        if (between(&f, 0, 4) == 0)
            node_float(&t, "beta", -2.0f);
        run.inputs[0] = random_tensor(&f, 2, a);
        run.inputs[1] = random_tensor(&f, 2, b);
        if (c_kind == 1)
            run.inputs[2] = random_tensor(&f, 1, &n);
        else if (c_kind != 0)
            run.inputs[2] = random_tensor(&f, 2, c);
        check_node(&f, &t, &run);
    }
    cr_expect_geq(f.fast_runs, ROUNDS / 4);
    close_both(&f);
}

Test(agreement, matmul)
{
    fixture f = open_both();
    for (int round = 0; round < ROUNDS; round++) {
        test_node t;
        test_run run = {0};
        int64_t a[4], b[4], k = between(&f, 1, 50);
        for (int i = 0; i < 2; i++) {
            int64_t batch = between(&f, 1, 3);
            a[i] = between(&f, 0, 2) == 0 ? 1 : batch;
            b[i] = between(&f, 0, 2) == 0 ? 1 : batch;
        }
        a[2] = between(&f, 1, 30);
        a[3] = b[2] = k;
        b[3] = between(&f, 1, 30);
        int32_t rank_a = (int32_t)between(&f, 1, 4), rank_b = (int32_t)between(&f, 1, 4);
        node_init(&t, "MatMul", 13, 2, 1);
        run.inputs[0] = random_tensor(&f, rank_a, a + 4 - rank_a);
        run.inputs[1] =
            rank_b == 1 ? random_tensor(&f, 1, &k) : random_tensor(&f, rank_b, b + 4 - rank_b);
        check_node(&f, &t, &run);
    }
    cr_expect_geq(f.fast_runs, ROUNDS);
    close_both(&f);
}

Test(agreement, softmax)
{
    fixture f = open_both();
    for (int round = 0; round < ROUNDS; round++) {
        test_node t;
        test_run run = {0};
        int64_t dims[] = {between(&f, 1, 5), between(&f, 1, 20), between(&f, 1, 30),
                          between(&f, 1, 4)};
        int32_t rank = (int32_t)between(&f, 1, 4);
        node_init(&t, round % 2 == 0 ? "Softmax" : "LogSoftmax", 13, 1, 1);
        node_int(&t, "axis", between(&f, -rank, rank - 1));
        run.inputs[0] = random_tensor(&f, rank, dims);
        check_node(&f, &t, &run);
    }
    cr_expect_geq(f.fast_runs, ROUNDS);
    close_both(&f);
}

Test(agreement, transpose)
{
    fixture f = open_both();
    for (int round = 0; round < ROUNDS; round++) {
        test_node t;
        test_run run = {0};
        int64_t dims[5], perm[5];
        int32_t rank = (int32_t)between(&f, 1, 5);
        for (int32_t i = 0; i < rank; i++) {
            dims[i] = between(&f, 1, 9);
            perm[i] = i;
        }
        for (int32_t i = rank; i-- > 1;) {
            int64_t other = between(&f, 0, i), kept = perm[i];
            perm[i] = perm[other];
            perm[other] = kept;
        }
        node_init(&t, "Transpose", 13, 1, 1);
        if (round % 4 != 0)
            node_ints(&t, "perm", (size_t)rank, perm);
        run.inputs[0] = random_tensor(&f, rank, dims);
        check_node(&f, &t, &run);
    }
    cr_expect_geq(f.fast_runs, ROUNDS);
    close_both(&f);
}

Test(agreement, layer_normalization)
{
    fixture f = open_both();
    for (int round = 0; round < ROUNDS; round++) {
        test_node t;
        test_run run = {0};
        int64_t dims[] = {between(&f, 1, 3), between(&f, 1, 6), between(&f, 2, 70)};
        int32_t rank = (int32_t)between(&f, 1, 3);
        const int64_t *last = dims + 2;
        node_init(&t, "LayerNormalization", 17, round % 2 == 0 ? 3 : 2, 1);
        node_float(&t, "epsilon", 0.01f);
        run.inputs[0] = random_tensor(&f, rank, dims + 3 - rank);
        run.inputs[1] = random_tensor(&f, 1, last);
        if (round % 2 == 0)
            run.inputs[2] = random_tensor(&f, 1, last);
        check_node(&f, &t, &run);
    }
    cr_expect_geq(f.fast_runs, ROUNDS);
    close_both(&f);
}

/* Each dimension may be 1 in either input. */
Test(agreement, broadcast)
{
    static const char *const names[] = {"Add", "Sub", "Mul"};
    fixture f = open_both();
    for (int round = 0; round < ROUNDS; round++) {
        test_node t;
        test_run run = {0};
        int64_t a[4], b[4];
        for (int i = 0; i < 4; i++) {
            int64_t dim = between(&f, 1, 12);
            a[i] = between(&f, 0, 2) == 0 ? 1 : dim;
            b[i] = between(&f, 0, 2) == 0 ? 1 : dim;
        }
        int32_t rank_a = (int32_t)between(&f, 0, 4), rank_b = (int32_t)between(&f, 0, 4);
        node_init(&t, names[round % 3], 13, 2, 1);
        run.inputs[0] = random_tensor(&f, rank_a, a + 4 - rank_a);
        run.inputs[1] = random_tensor(&f, rank_b, b + 4 - rank_b);
        check_node(&f, &t, &run);
    }
    cr_expect_geq(f.fast_runs, ROUNDS);
    close_both(&f);
}

Test(agreement, lrn)
{
    fixture f = open_both();
    for (int round = 0; round < ROUNDS; round++) {
        test_node t;
        test_run run = {0};
        int64_t dims[] = {between(&f, 1, 2), between(&f, 1, 40), between(&f, 1, 9),
                          between(&f, 1, 9), 2};
        node_init(&t, "LRN", 13, 1, 1);
        /* oneDNN has the usual size, exponent and rank only. */
        bool is_usual = round % 2 == 0;
        node_int(&t, "size", is_usual ? 5 : between(&f, 1, 7));
        node_float(&t, "alpha", 0.3f);
        if (!is_usual)
            node_float(&t, "beta", 0.6f);
        dims[1] = is_usual ? 8 * between(&f, 2, 4) : dims[1];
        node_float(&t, "bias", 1.5f);
        run.inputs[0] = random_tensor(&f, is_usual ? 4 : (int32_t)between(&f, 2, 5), dims);
        check_node(&f, &t, &run);
    }
    cr_expect_geq(f.fast_runs, ROUNDS);
    close_both(&f);
}

Test(agreement, batch_normalization)
{
    fixture f = open_both();
    for (int round = 0; round < ROUNDS; round++) {
        test_node t;
        test_run run = {0};
        int64_t channels = between(&f, 1, 40);
        int64_t dims[] = {between(&f, 1, 3), channels, between(&f, 1, 9), between(&f, 1, 9)};
        node_init(&t, "BatchNormalization", 15, 5, 1);
        run.inputs[0] = random_tensor(&f, (int32_t)between(&f, 2, 4), dims);
        for (int i = 1; i < 5; i++)
            run.inputs[i] = random_tensor(&f, 1, &channels);
        float *variance = run.inputs[4]->data;
        for (int64_t i = 0; i < channels; i++)
            variance[i] = variance[i] * variance[i] + 0.5f;
        check_node(&f, &t, &run);
    }
    close_both(&f);
}

Test(agreement, elementwise)
{
    static const char *const types[] = {"Relu", "Add", "Mul", "Sum", "Concat"};
    static const uint32_t inputs[] = {1, 2, 2, 4, 3};
    fixture f = open_both();
    for (int round = 0; round < ROUNDS; round++) {
        test_node t;
        test_run run = {0};
        size_t type = (size_t)round % ONNXD_COUNT(types);
        int64_t dims[] = {between(&f, 1, 4), between(&f, 1, 20), between(&f, 1, 30)};
        int32_t rank = (int32_t)between(&f, 1, 3);
        node_init(&t, types[type], 14, inputs[type], 1);
        int64_t axis = between(&f, -rank, rank - 1);
        if (type == 4)
            node_int(&t, "axis", axis);
        for (uint32_t i = 0; i < inputs[type]; i++) {
            if (type == 4)
                dims[axis < 0 ? axis + rank : axis] = between(&f, 1, 9);
            run.inputs[i] = random_tensor(&f, rank, dims);
        }
        check_node(&f, &t, &run);
    }
    cr_expect_geq(f.fast_runs, ROUNDS / 2);
    close_both(&f);
}

/* Operands of both ranks, grouped heads, masks that repeat or are shorter than the keys. */
Test(agreement, attention)
{
    fixture f = open_both();
    for (int round = 0; round < ROUNDS; round++) {
        test_node t;
        test_run run = {0};
        const bool is_packed = between(&f, 0, 1) == 1, has_mask = between(&f, 0, 2) > 0;
        const int64_t batch = between(&f, 1, 2), kv_heads = between(&f, 1, 3);
        const int64_t heads = kv_heads * between(&f, 1, 2), queries = between(&f, 1, 40);
        const int64_t keys = between(&f, 1, 40), size = between(&f, 1, 20);
        const int64_t v_size = between(&f, 1, 20);
        const int64_t lengths[] = {queries, keys, keys}, sizes[] = {size, size, v_size};
        const int64_t mask[] = {between(&f, 0, 1) == 1 ? batch : 1,
                                between(&f, 0, 1) == 1 ? heads : 1,
                                between(&f, 0, 1) == 1 ? queries : 1, between(&f, 1, keys)};
        node_init(&t, "Attention", 23, has_mask ? 4 : 3, 1);
        if (is_packed) {
            node_int(&t, "q_num_heads", heads);
            node_int(&t, "kv_num_heads", kv_heads);
        }
        node_int(&t, "is_causal", between(&f, 0, 1));
        if (between(&f, 0, 1) == 1)
            node_float(&t, "scale", 0.3f);
        for (int i = 0; i < 3; i++) {
            const int64_t count = i == 0 ? heads : kv_heads;
            const int64_t packed[] = {batch, lengths[i], count * sizes[i]};
            const int64_t apart[] = {batch, count, lengths[i], sizes[i]};
            run.inputs[i] = random_tensor(&f, is_packed ? 3 : 4, is_packed ? packed : apart);
        }
        const int32_t rank = (int32_t)between(&f, 1, 4);
        run.inputs[3] = has_mask ? random_tensor(&f, rank, mask + 4 - rank) : NULL;
        check_node(&f, &t, &run);
    }
    cr_expect_geq(f.fast_runs, 2 * ROUNDS);
    close_both(&f);
}
