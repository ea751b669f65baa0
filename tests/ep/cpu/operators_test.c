/* The neural-network operators: values worked out by hand, shape rules with symbolic dimensions,
 * and attributes and shapes that must be refused. */
#include <math.h>
#include <string.h>

#include <criterion/criterion.h>

#include "ops/ops.h"
#include "tests/ep/cpu/support.h"

#define DIMS(...) ((const int64_t[]){__VA_ARGS__})
#define SYMBOL ONNXD_DIM_FROM_SYMBOL(0)

/* ---- values ---------------------------------------------------------------------------------- */

static void check_values(test_node *t, test_run *run, size_t count, const double *expected)
{
    onnxd_ep *eps[] = {ep_open_default(), ep_open_portable()};
    expect_ok(node_resolve(t));
    for (size_t e = 0; e < ONNXD_COUNT(eps); e++) {
        expect_ok(run_node(eps[e], t, run));
        cr_assert_eq(run->outputs[0]->count, count);
        for (size_t i = 0; i < count; i++)
            cr_expect_float_eq(tensor_at(run->outputs[0], i), expected[i],
                               1e-5 * fmax(1, fabs(expected[i])), "%s[%zu] is %g",
                               run->implementation, i, tensor_at(run->outputs[0], i));
        onnxd_tensor_release(run->outputs[0]);
        run->outputs[0] = NULL;
        onnxd_ep_destroy(eps[e]);
    }
    run_deinit(run);
    node_deinit(t);
}

/* Below opset 13 the default axis, 1, makes rows of the last two dimensions; from 13 on the default
 * is the last dimension alone. */
Test(operators, softmax_changed_at_opset_13)
{
    static const float zeros[4] = {0};
    static const double flattened[] = {0.25, 0.25, 0.25, 0.25}, last[] = {0.5, 0.5, 0.5, 0.5};
    for (int64_t opset = 12; opset <= 13; opset++) {
        test_node t;
        test_run run = {.inputs = {tensor_of(3, DIMS(1, 2, 2), zeros)}};
        node_init(&t, "Softmax", opset, 1, 1);
        check_values(&t, &run, 4, opset == 12 ? flattened : last);
    }
}

Test(operators, softmax_is_stable_for_large_values)
{
    static const float values[] = {1e4f, 1e4f - 1, -1e4f};
    test_node t;
    test_run run = {.inputs = {tensor_of(1, DIMS(3), values)}};
    double tail = exp(-1.0);
    node_init(&t, "LogSoftmax", 13, 1, 1);
    check_values(&t, &run, 3,
                 (const double[]){-log(1 + tail), -1 - log(1 + tail), -2e4 - log(1 + tail)});
}

Test(operators, gemm_of_opset_6_broadcasts_on_demand)
{
    static const float a[] = {1, 2}, b[] = {3, 4}, c[] = {10};
    test_node t;
    test_run run = {.inputs = {tensor_of(2, DIMS(1, 2), a), tensor_of(2, DIMS(2, 1), b),
                               tensor_of(1, DIMS(1), c)}};
    node_init(&t, "Gemm", 6, 3, 1);
    node_int(&t, "broadcast", 1);
    check_values(&t, &run, 1, (const double[]){21});

    test_run strict = {.inputs = {tensor_of(2, DIMS(1, 2), a), tensor_of(2, DIMS(2, 1), b),
                                  tensor_of(1, DIMS(1), c)}};
    onnxd_ep *ep = ep_open_default();
    node_init(&t, "Gemm", 6, 3, 1);
    expect_ok(node_resolve(&t));
    expect_error(run_node(ep, &t, &strict), ONNXD_INVALID_ARGUMENT);
    run_deinit(&strict);
    node_deinit(&t);
    onnxd_ep_destroy(ep);
}

Test(operators, products_of_integers_wrap_around)
{
    onnxd_ep *ep = ep_open_default();
    test_node t;
    test_run run = {0};
    onnxd_shape shape = onnxd_shape_from(2, DIMS(1, 1));
    for (int i = 0; i < 2; i++) {
        expect_ok(onnxd_tensor_create(ONNXD_INT32, &shape, &run.inputs[i]));
        *(int32_t *)run.inputs[i]->data = i == 0 ? INT32_MAX : 2;
    }
    node_init(&t, "MatMul", 13, 2, 1);
    expect_ok(node_resolve(&t));
    expect_ok(run_node(ep, &t, &run));
    cr_expect_eq(*(int32_t *)run.outputs[0]->data, -2);
    run_deinit(&run);
    node_deinit(&t);
    onnxd_ep_destroy(ep);
}

Test(operators, batch_normalization_per_position)
{
    static const float x[] = {1, 2, 3, 4}, scale[] = {1, 2}, bias[] = {0, 1}, mean[] = {1, 0};
    static const float variance[] = {4, 1};
    test_node t;
    test_run run = {.inputs = {tensor_of(3, DIMS(2, 2, 1), x), tensor_of(2, DIMS(2, 1), scale),
                               tensor_of(2, DIMS(2, 1), bias), tensor_of(2, DIMS(2, 1), mean),
                               tensor_of(2, DIMS(2, 1), variance)}};
    node_init(&t, "BatchNormalization", 8, 5, 1);
    node_int(&t, "spatial", 0);
    node_float(&t, "epsilon", 0.0f);
    check_values(&t, &run, 4, (const double[]){0, 5, 1, 9});
}

Test(operators, max_pool_says_where)
{
    static const float x[] = {1, 5, 2, 4, 3, 6};
    static const int64_t rows[] = {1, 5}, columns[] = {2, 5};
    for (int64_t order = 0; order < 2; order++) {
        onnxd_ep *ep = ep_open_default();
        test_node t;
        test_run run = {.inputs = {tensor_of(4, DIMS(1, 1, 2, 3), x)}};
        node_init(&t, "MaxPool", 12, 1, 2);
        node_ints(&t, "kernel_shape", 2, DIMS(2, 2));
        node_int(&t, "storage_order", order);
        expect_ok(node_resolve(&t));
        expect_ok(run_node(ep, &t, &run));
        cr_expect_arr_eq(run.outputs[1]->data, order == 0 ? rows : columns, sizeof(rows));
        cr_expect_str_eq(run.implementation, "portable");
        run_deinit(&run);
        node_deinit(&t);
        onnxd_ep_destroy(ep);
    }
}

Test(operators, empty_batches_give_empty_results)
{
    onnxd_ep *ep = ep_open_default();
    test_node t;
    uint64_t seed = 1;
    test_run run = {.inputs = {tensor_random(&seed, 4, DIMS(0, 3, 5, 5)),
                               tensor_random(&seed, 4, DIMS(2, 3, 3, 3))}};
    node_init(&t, "Conv", 11, 2, 1);
    expect_ok(node_resolve(&t));
    expect_ok(run_node(ep, &t, &run));
    cr_expect_eq(run.outputs[0]->count, 0);
    cr_expect_eq(run.outputs[0]->shape.dims[1], 2);
    run_deinit(&run);
    node_deinit(&t);
    onnxd_ep_destroy(ep);
}

/* ---- symbolic shapes ------------------------------------------------------------------------- */

static onnxd_shape infer_shape(test_node *t, const onnxd_shape *shapes, uint32_t count)
{
    onnxd_tensor_type inputs[MAX_OPERANDS] = {0}, output = {0};
    for (uint32_t i = 0; i < count; i++)
        inputs[i] = (onnxd_tensor_type){.dtype = ONNXD_FLOAT, .shape = shapes[i]};
    expect_ok(node_resolve(t));
    expect_ok(onnxd_op_infer(t->node, inputs, NULL, &output));
    cr_expect_eq(output.dtype, ONNXD_FLOAT);
    node_deinit(t);
    return output.shape;
}

static void expect_shape(onnxd_shape actual, int32_t rank, const int64_t *dims)
{
    onnxd_shape expected = onnxd_shape_from(rank, dims);
    char text[ONNXD_SHAPE_TEXT];
    cr_expect(onnxd_shape_equal(&actual, &expected), "%s",
              onnxd_shape_format(&actual, text, sizeof(text)));
}

Test(operators, symbols_pass_where_they_can)
{
    test_node t;
    onnxd_shape conv[] = {onnxd_shape_from(4, DIMS(SYMBOL, 3, SYMBOL, 10)),
                          onnxd_shape_from(4, DIMS(8, 3, 3, 3))};
    node_init(&t, "Conv", 11, 2, 1);
    expect_shape(infer_shape(&t, conv, 2), 4, DIMS(SYMBOL, 8, ONNXD_DIM_UNKNOWN, 8));
    node_init(&t, "Conv", 11, 2, 1);
    node_string(&t, "auto_pad", "SAME_UPPER");
    expect_shape(infer_shape(&t, conv, 2), 4, DIMS(SYMBOL, 8, SYMBOL, 10));
    conv[0] = onnxd_shape_unknown();
    node_init(&t, "Conv", 11, 2, 1);
    expect_shape(infer_shape(&t, conv, 2), 4,
                 DIMS(ONNXD_DIM_UNKNOWN, 8, ONNXD_DIM_UNKNOWN, ONNXD_DIM_UNKNOWN));

    onnxd_shape product[] = {onnxd_shape_from(3, DIMS(SYMBOL, 4, 5)),
                             onnxd_shape_from(3, DIMS(1, 5, SYMBOL))};
    node_init(&t, "MatMul", 13, 2, 1);
    expect_shape(infer_shape(&t, product, 2), 3, DIMS(SYMBOL, 4, SYMBOL));
    onnxd_shape vectors[] = {onnxd_shape_from(1, DIMS(5)), onnxd_shape_from(1, DIMS(5))};
    node_init(&t, "MatMul", 13, 2, 1);
    expect_shape(infer_shape(&t, vectors, 2), 0, NULL);
}

/* ---- refusals -------------------------------------------------------------------------------- */

static const int64_t extremes[] = {INT64_MIN, INT64_MIN + 1,          -2,       -1,
                                   0,         INT32_MAX + INT64_C(1), INT64_MAX};

/* Every integer attribute of Conv and the pools at values that no window has. */
Test(operators, windows_refuse_extreme_attributes)
{
    static const char *const names[] = {"strides", "dilations", "kernel_shape", "pads"};
    static const char *const types[] = {"Conv", "MaxPool", "AveragePool"};
    for (size_t type = 0; type < ONNXD_COUNT(types); type++) {
        for (size_t name = 0; name < ONNXD_COUNT(names); name++) {
            for (size_t i = 0; i < ONNXD_COUNT(extremes); i++) {
                int64_t values[4] = {1, extremes[i], 1, 1};
                test_node t;
                if (name == 3 && extremes[i] == 0)
                    continue; /* no padding is fine */
                node_init(&t, types[type], 22, type == 0 ? 2 : 1, 1);
                if (name != 2)
                    node_ints(&t, "kernel_shape", 2, DIMS(1, 1));
                node_ints(&t, names[name], name == 3 ? 4 : 2, values);
                expect_error(node_resolve(&t), ONNXD_INVALID_ARGUMENT);
                node_deinit(&t);
            }
        }
    }
}

/* The largest values that parse: every sum must stay within 64 bits. */
Test(operators, windows_survive_the_largest_attributes)
{
    static const char *const types[] = {"Conv", "MaxPool", "AveragePool"};
    for (size_t type = 0; type < ONNXD_COUNT(types); type++) {
        for (int mask = 0; mask < 32; mask++) {
            int64_t large = INT32_MAX;
            int64_t kernel = mask & 1 ? large : 1, stride = mask & 2 ? large : 1;
            int64_t dilation = mask & 4 ? large : 1, pad = mask & 8 ? large : 0;
            int64_t in = mask & 16 ? INT64_MAX : 4;
            onnxd_tensor_type inputs[2] = {
                {.dtype = ONNXD_FLOAT, .shape = onnxd_shape_from(3, DIMS(1, 1, in))},
                {.dtype = ONNXD_FLOAT, .shape = onnxd_shape_from(3, DIMS(1, 1, kernel))}};
            onnxd_tensor_type output = {0};
            test_node t;
            node_init(&t, types[type], 22, type == 0 ? 2 : 1, 1);
            node_ints(&t, "kernel_shape", 1, &kernel);
            node_ints(&t, "strides", 1, &stride);
            node_ints(&t, "dilations", 1, &dilation);
            node_ints(&t, "pads", 2, DIMS(pad, pad));
            expect_ok(node_resolve(&t));
            onnxd_status *status = onnxd_op_infer(t.node, inputs, NULL, &output);
            cr_expect(status != NULL || output.shape.dims[2] >= 0);
            onnxd_status_free(status);
            node_deinit(&t);
        }
    }
}

/* Ranks of input, weights and attributes that do not fit each other. */
Test(operators, conv_refuses_ranks_that_disagree)
{
    for (int32_t input = 0; input <= 8; input++) {
        for (int32_t weights = 0; weights <= 8; weights++) {
            for (size_t spatial = 1; spatial <= 3; spatial++) {
                onnxd_tensor_type inputs[2] = {
                    {.dtype = ONNXD_FLOAT, .shape = onnxd_shape_of_rank(input)},
                    {.dtype = ONNXD_FLOAT, .shape = onnxd_shape_of_rank(weights)}};
                onnxd_tensor_type output = {0};
                test_node t;
                node_init(&t, "Conv", 11, 2, 1);
                node_ints(&t, "dilations", spatial, DIMS(1, 1, 1));
                expect_ok(node_resolve(&t));
                onnxd_status *status = onnxd_op_infer(t.node, inputs, NULL, &output);
                bool fits = input == weights && (size_t)input == spatial + 2;
                cr_expect_eq(status == NULL, fits, "ranks %d, %d, attributes %zu", (int)input,
                             (int)weights, spatial);
                onnxd_status_free(status);
                node_deinit(&t);
            }
        }
    }
}

/* One input of every rank: never a crash, an error for those that an operator does not take. */
Test(operators, unary_operators_check_ranks)
{
    static const struct {
        const char *op_type;
        int32_t lowest, highest;
    } cases[] = {{"Softmax", 1, 8},           {"LRN", 2, 8},     {"GlobalMaxPool", 2, 8},
                 {"GlobalAveragePool", 2, 8}, {"MaxPool", 4, 4}, {"AveragePool", 4, 4}};
    for (size_t i = 0; i < ONNXD_COUNT(cases); i++) {
        for (int32_t rank = 0; rank <= 8; rank++) {
            onnxd_tensor_type input = {.dtype = ONNXD_FLOAT, .shape = onnxd_shape_of_rank(rank)},
                              output = {0};
            test_node t;
            for (int32_t d = 0; d < rank; d++)
                input.shape.dims[d] = 3;
            node_init(&t, cases[i].op_type, 13, 1, 1);
            if (strcmp(cases[i].op_type, "LRN") == 0)
                node_int(&t, "size", 3);
            if (strcmp(cases[i].op_type, "MaxPool") == 0 ||
                strcmp(cases[i].op_type, "AveragePool") == 0)
                node_ints(&t, "kernel_shape", 2, DIMS(2, 2));
            expect_ok(node_resolve(&t));
            onnxd_status *status = onnxd_op_infer(t.node, &input, NULL, &output);
            cr_expect_eq(status == NULL, rank >= cases[i].lowest && rank <= cases[i].highest,
                         "%s of rank %d", cases[i].op_type, (int)rank);
            onnxd_status_free(status);
            node_deinit(&t);
        }
    }
}

static void expect_refused(const char *op_type, int64_t opset, uint32_t inputs, const char *name,
                           onnxd_code code)
{
    test_node t;
    node_init(&t, op_type, opset, inputs, 1);
    node_int(&t, name, 1);
    expect_error(node_resolve(&t), code);
    node_deinit(&t);
}

Test(operators, attributes_of_other_versions_are_refused)
{
    expect_refused("Conv", 11, 2, "group_count", ONNXD_INVALID_ARGUMENT);
    expect_refused("Gemm", 7, 3, "broadcast", ONNXD_INVALID_ARGUMENT);
    expect_refused("BatchNormalization", 9, 5, "spatial", ONNXD_INVALID_ARGUMENT);
    expect_refused("BatchNormalization", 13, 5, "training_mode", ONNXD_INVALID_ARGUMENT);
    expect_refused("LRN", 13, 1, "alpha", ONNXD_INVALID_ARGUMENT); /* a float; and no size */
    expect_refused("MaxPool", 9, 1, "ceil_mode", ONNXD_INVALID_ARGUMENT);
    expect_refused("AveragePool", 18, 1, "dilations", ONNXD_INVALID_ARGUMENT);
    expect_refused("MatMul", 13, 2, "alpha", ONNXD_INVALID_ARGUMENT);
    expect_refused("Softmax", 29, 1, "axis", ONNXD_NO_EP_FOR_OP);
    expect_refused("Softmax", 0, 1, "axis", ONNXD_NO_EP_FOR_OP);
}

Test(operators, batch_normalization_trains_for_its_statistics)
{
    test_node t;
    onnxd_tensor_type inputs[5], outputs[3] = {{0}};
    for (int i = 0; i < 5; i++)
        inputs[i] =
            (onnxd_tensor_type){.dtype = ONNXD_FLOAT, .shape = onnxd_shape_from(1, DIMS(2))};
    inputs[0].shape = onnxd_shape_from(2, DIMS(4, 2));
    node_init(&t, "BatchNormalization", 9, 5, 2);
    expect_ok(node_resolve(&t));
    expect_ok(onnxd_op_infer(t.node, inputs, NULL, outputs));
    cr_expect_eq(outputs[1].shape.dims[0], 2);
    node_deinit(&t);
    node_init(&t, "BatchNormalization", 14, 5, 3);
    node_int(&t, "training_mode", 1);
    expect_ok(node_resolve(&t));
    expect_ok(onnxd_op_infer(t.node, inputs, NULL, outputs));
    cr_expect_eq(outputs[2].shape.dims[0], 2);
    node_deinit(&t);
}

Test(operators, operands_that_do_not_fit_are_refused)
{
    static const struct {
        const char *op_type;
        uint32_t inputs;
        int32_t ranks[5];
        int64_t dims[5][4];
    } cases[] = {
        {"MatMul", 2, {2, 2}, {{2, 3}, {4, 2}}},
        {"MatMul", 2, {3, 3}, {{2, 2, 3}, {3, 3, 2}}},
        {"MatMul", 2, {0, 2}, {{0}, {3, 2}}},
        {"Gemm", 2, {2, 2}, {{2, 3}, {4, 2}}},
        {"Gemm", 2, {1, 2}, {{3}, {3, 2}}},
        {"Gemm", 3, {2, 2, 2}, {{2, 3}, {3, 2}, {3, 2}}},
        {"Gemm", 3, {2, 2, 3}, {{2, 3}, {3, 2}, {1, 2, 2}}},
        {"Conv", 2, {4, 4}, {{1, 4, 5, 5}, {2, 3, 3, 3}}},
        {"Conv", 2, {4, 4}, {{1, 3, 2, 5}, {2, 3, 3, 3}}},
        {"Conv", 2, {4, 4}, {{1, 3, 5, 5}, {2, 3, 0, 3}}},
        {"Conv", 3, {4, 4, 1}, {{1, 3, 5, 5}, {2, 3, 3, 3}, {3}}},
        {"Conv", 3, {4, 4, 2}, {{1, 3, 5, 5}, {2, 3, 3, 3}, {1, 2}}},
        {"GlobalMaxPool", 1, {3}, {{1, 2, 0}}},
        {"BatchNormalization", 5, {2, 1, 1, 1, 1}, {{2, 3}, {3}, {3}, {2}, {3}}},
        {"BatchNormalization", 5, {2, 1, 2, 1, 1}, {{2, 3}, {3}, {1, 3}, {3}, {3}}},
    };
    for (size_t i = 0; i < ONNXD_COUNT(cases); i++) {
        onnxd_tensor_type inputs[5], output = {0};
        test_node t;
        for (uint32_t k = 0; k < cases[i].inputs; k++)
            inputs[k] =
                (onnxd_tensor_type){.dtype = ONNXD_FLOAT,
                                    .shape = onnxd_shape_from(cases[i].ranks[k], cases[i].dims[k])};
        node_init(&t, cases[i].op_type, 13, cases[i].inputs, 1);
        expect_ok(node_resolve(&t));
        expect_error(onnxd_op_infer(t.node, inputs, NULL, &output), ONNXD_INVALID_ARGUMENT);
        cr_expect_eq(output.shape.rank == ONNXD_RANK_UNKNOWN || output.shape.rank == 0, true);
        node_deinit(&t);
    }
}
