/* Nodes put together at random, most of them wrong: an error or a result, and the same from both
 * sets of kernels. Seeded, so that a failure repeats. */
#include <string.h>

#include <criterion/criterion.h>

#include "tests/ep/cpu/support.h"

#define ROUNDS 1500
/* Outputs beyond this are inferred, but not run. */
#define MAX_ELEMENTS 100000

static const struct {
    const char *op_type;
    uint32_t inputs, outputs;
} operators[] = {{"Conv", 3, 1},          {"MaxPool", 1, 2},
                 {"AveragePool", 1, 1},   {"GlobalAveragePool", 1, 1},
                 {"GlobalMaxPool", 1, 1}, {"BatchNormalization", 5, 3},
                 {"LRN", 1, 1},           {"Gemm", 3, 1},
                 {"MatMul", 2, 1},        {"Softmax", 1, 1},
                 {"LogSoftmax", 1, 1},    {"Relu", 1, 1},
                 {"Add", 2, 1},           {"Sum", 2, 1}};

static int64_t pick(uint64_t *seed, int64_t low, int64_t high)
{
    return low + (int64_t)(next_random(seed) % (uint64_t)(high - low + 1));
}

/* Mostly small, sometimes absurd. */
static int64_t pick_value(uint64_t *seed)
{
    static const int64_t absurd[] = {INT64_MIN, -1, 0, INT32_MAX, INT64_MAX, 1 << 20};
    if (pick(seed, 0, 19) == 0)
        return absurd[pick(seed, 0, (int64_t)ONNXD_COUNT(absurd) - 1)];
    return pick(seed, 1, 3);
}

static void add_lists(uint64_t *seed, test_node *t, size_t spatial)
{
    static const char *const names[] = {"kernel_shape", "strides", "dilations", "pads"};
    static const char *const automatic[] = {"NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID", "NONE"};
    for (size_t i = 0; i < ONNXD_COUNT(names); i++) {
        int64_t values[8];
        size_t count = i == 3 ? 2 * spatial : spatial;
        if (pick(seed, 0, 2) == 0 && i != 0)
            continue;
        for (size_t v = 0; v < 8; v++)
            values[v] = i == 3 && pick(seed, 0, 1) == 0 ? 0 : pick_value(seed);
        node_ints(t, names[i], count, values);
    }
    if (pick(seed, 0, 3) == 0)
        node_string(t, "auto_pad", automatic[pick(seed, 0, 4)]);
}

static void add_attributes(uint64_t *seed, test_node *t, const char *op_type, size_t spatial)
{
    bool is_pool = strcmp(op_type, "MaxPool") == 0 || strcmp(op_type, "AveragePool") == 0;
    if (is_pool || strcmp(op_type, "Conv") == 0)
        add_lists(seed, t, spatial);
    if (is_pool && pick(seed, 0, 1) == 0)
        node_int(t, "ceil_mode", pick(seed, 0, 1));
    if (strcmp(op_type, "AveragePool") == 0)
        node_int(t, "count_include_pad", pick(seed, 0, 1));
    if (strcmp(op_type, "Conv") == 0 && pick(seed, 0, 1) == 0)
        node_int(t, "group", pick_value(seed));
    if (strcmp(op_type, "LRN") == 0)
        node_int(t, "size", pick_value(seed));
    if (strstr(op_type, "Softmax") != NULL)
        node_int(t, "axis", pick(seed, -6, 6));
    if (strcmp(op_type, "Gemm") == 0) {
        node_int(t, "transA", pick(seed, 0, 1));
        node_int(t, "transB", pick(seed, 0, 1));
    }
    if (strcmp(op_type, "BatchNormalization") == 0 && pick(seed, 0, 1) == 0)
        node_int(t, "training_mode", pick(seed, 0, 1));
}

/* Shapes that often fit each other: all dimensions come from two numbers. */
static void add_inputs(uint64_t *seed, const test_node *t, int32_t rank, test_run *run)
{
    int64_t common[] = {pick(seed, 1, 4), pick(seed, 1, 4)};
    bool is_vector = strcmp(t->node->op_type, "BatchNormalization") == 0;
    for (uint32_t i = 0; i < t->node->input_count; i++) {
        int64_t dims[8];
        int32_t own = is_vector && i > 0 ? 1 : i == 2 ? 1 : rank;
        if (pick(seed, 0, 29) == 0)
            own = (int32_t)pick(seed, 0, 6);
        for (int32_t d = 0; d < own; d++)
            dims[d] = pick(seed, 0, 39) == 0 ? 0 : common[pick(seed, 0, 9) == 0];
        if (own > 2)
            dims[own - 1] = pick(seed, 1, 6);
        if (i == 2 && pick(seed, 0, 3) == 0)
            continue; /* absent where it may be */
        run->inputs[i] = tensor_random(seed, own, dims);
    }
}

static bool is_small(const test_node *t, const test_run *run)
{
    onnxd_tensor_type inputs[MAX_OPERANDS] = {0}, outputs[MAX_OPERANDS] = {0};
    bool result = true;
    for (uint32_t i = 0; i < t->node->input_count; i++) {
        if (run->inputs[i] != NULL)
            inputs[i] =
                (onnxd_tensor_type){.dtype = run->inputs[i]->dtype, .shape = run->inputs[i]->shape};
    }
    onnxd_status *status = onnxd_op_infer(t->node, inputs, NULL, outputs);
    for (uint32_t i = 0; status == NULL && i < t->node->output_count; i++) {
        size_t count = 0;
        if (outputs[i].dtype != ONNXD_UNDEFINED)
            result =
                result && onnxd_shape_count(&outputs[i].shape, &count) && count <= MAX_ELEMENTS;
    }
    onnxd_status_free(status);
    return result;
}

static void compare(onnxd_ep *const *eps, const test_node *t, bool is_packed, test_run *run,
                    int *done)
{
    test_run other = {0};
    for (int i = 0; i < MAX_OPERANDS; i++) {
        if (run->inputs[i] != NULL)
            other.inputs[i] = onnxd_tensor_retain(run->inputs[i]);
    }
    /* Weights that are known are packed before anything runs. */
    run->is_constant[1] = is_packed && run->inputs[1] != NULL;
    onnxd_status *first = run_node(eps[0], t, run), *second = run_node(eps[1], t, &other);
    cr_expect_eq(onnxd_status_code(first), onnxd_status_code(second), "%s: %s, but %s",
                 t->node->op_type, onnxd_status_message(first), onnxd_status_message(second));
    for (int i = 0; first == NULL && second == NULL && i < MAX_OPERANDS; i++) {
        if (run->outputs[i] != NULL && run->outputs[i]->dtype == ONNXD_FLOAT)
            cr_expect_lt(difference(run->outputs[i], other.outputs[i]), 2e-5, "%s with %s",
                         t->node->op_type, run->implementation);
    }
    *done += first == NULL;
    onnxd_status_free(first);
    onnxd_status_free(second);
    run_deinit(&other);
}

static bool one_round(onnxd_ep *const *eps, uint64_t *seed, int *done)
{
    size_t which = (size_t)pick(seed, 0, (int64_t)ONNXD_COUNT(operators) - 1);
    int32_t rank = (int32_t)pick(seed, 1, 5);
    if (pick(seed, 0, 1) == 0)
        rank = which >= 7 ? 2 : 4;
    test_node t;
    test_run run = {0};
    uint32_t outputs = (uint32_t)pick(seed, 1, operators[which].outputs);
    node_init(&t, operators[which].op_type, 22, operators[which].inputs, outputs);
    add_inputs(seed, &t, rank, &run);
    for (uint32_t i = 0; i < t.node->input_count; i++) {
        if (run.inputs[i] == NULL)
            t.node->inputs[i] = ONNXD_NONE;
    }
    add_attributes(seed, &t, operators[which].op_type, rank > 2 ? (size_t)rank - 2 : 1);
    onnxd_status *status = node_resolve(&t);
    if (status == NULL && is_small(&t, &run))
        compare(eps, &t, pick(seed, 0, 1) == 0, &run, done);
    onnxd_status_free(status);
    run_deinit(&run);
    node_deinit(&t);
    return status == NULL;
}

Test(random, nodes_give_an_error_or_one_result)
{
    onnxd_ep *eps[] = {ep_open_default(), ep_open_portable()};
    uint64_t seed = 42;
    int resolved = 0, done = 0;
    for (int round = 0; round < ROUNDS; round++)
        resolved += one_round(eps, &seed, &done);
    /* Enough of them must get through for the comparison to mean something. */
    cr_expect_gt(resolved, ROUNDS / 4);
    cr_expect_gt(done, ROUNDS / 10);
    onnxd_ep_destroy(eps[0]);
    onnxd_ep_destroy(eps[1]);
}
