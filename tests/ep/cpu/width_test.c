/* Results do not depend, to the bit, on how many threads a kernel has: not on cpu.threads, and not
 * on how many callers share them. */
#include <criterion/criterion.h>
#include <string.h>

#include "ep/cpu/internal.h"
#include "tests/ep/cpu/support.h"

typedef struct operand {
    onnxd_dtype dtype; /* FLOAT: random; bytes: random; INT64: none */
    int64_t dims[5];   /* up to the first 0 */
    bool is_constant;
} operand;

typedef struct width_case {
    const char *domain, *op_type;
    int64_t opset;
    operand inputs[MAX_OPERANDS]; /* up to the first UNDEFINED */
    uint32_t outputs;
    const char *attribute; /* an integer */
    int64_t value;
    const char *list; /* an attribute of integers */
    int64_t ints[4];
    uint32_t int_count;
    const char *direction;
} width_case;

#define F ONNXD_FLOAT
#define U8 ONNXD_UINT8
#define I8 ONNXD_INT8

/* Shapes that are worth a team, with rows and columns that do not divide evenly. */
static const width_case cases[] = {
    {"", "MatMul", 13, {{F, {77, 259}, 0}, {F, {259, 301}, true}}, .outputs = 1},
    {"", "MatMul", 13, {{F, {1, 700}, 0}, {F, {700, 501}, true}}, .outputs = 1},
    {"", "MatMul", 13, {{F, {6, 61, 70}, 0}, {F, {6, 70, 53}, 0}}, .outputs = 1},
    {"", "Softmax", 13, {{F, {150, 301}, 0}}, .outputs = 1},
    {"",
     "LayerNormalization",
     17,
     {{F, {150, 301}, 0}, {F, {301}, true}, {F, {301}, true}},
     .outputs = 1},
    {"", "Gelu", 20, {{F, {200, 301}, 0}}, .outputs = 1},
    {"", "Add", 14, {{F, {20, 30, 301}, 0}, {F, {30, 301}, 0}}, .outputs = 1},
    {"", "Transpose", 13, {{F, {13, 57, 71}, 0}}, .outputs = 1},
    {"",
     "LSTM",
     22,
     {{F, {5, 9, 40}, 0}, {F, {2, 516, 40}, true}, {F, {2, 516, 129}, true}, {F, {2, 1032}, true}},
     .outputs = 3,
     .attribute = "hidden_size",
     .value = 129,
     .direction = "bidirectional"},
    {"",
     "GRU",
     22,
     {{F, {5, 17, 40}, 0}, {F, {1, 387, 40}, true}, {F, {1, 387, 129}, true}, {F, {1, 774}, true}},
     .outputs = 2,
     .attribute = "hidden_size",
     .value = 129},
    {"",
     "RNN",
     22,
     {{F, {5, 3, 40}, 0}, {F, {1, 129, 40}, true}, {F, {1, 129, 129}, true}},
     .outputs = 2,
     .attribute = "hidden_size",
     .value = 129},
    {"",
     "Attention",
     23,
     {{F, {2, 5, 67, 64}, 0}, {F, {2, 5, 67, 64}, 0}, {F, {2, 5, 67, 64}, 0}},
     .outputs = 1},
    {"", "MatMulInteger", 10, {{U8, {77, 260}, 0}, {I8, {260, 301}, true}}, .outputs = 1},
    {"", "DynamicQuantizeLinear", 11, {{F, {300, 301}, 0}}, .outputs = 3},
    {"onnxd",
     "Conv",
     1,
     {{F, {1, 29, 31, 33}, 0}, {F, {65, 33, 3, 3}, true}, {F, {65}, true}},
     .outputs = 1,
     .list = "pads",
     .ints = {1, 1, 1, 1},
     .int_count = 4},
    {"onnxd", "Conv", 1, {{F, {2, 15, 15, 64}, 0}, {F, {96, 64, 1, 1}, true}}, .outputs = 1},
    /* One pixel and one row more than whole blocks have. */
    {"onnxd", "Conv", 1, {{F, {1, 95, 95, 64}, 0}, {F, {32, 64, 1, 1}, true}}, .outputs = 1},
    {"", "MatMul", 13, {{F, {193, 259}, 0}, {F, {259, 301}, true}}, .outputs = 1},
    {"onnxd",
     "Conv",
     1,
     {{F, {1, 29, 31, 48}, 0}, {F, {48, 1, 3, 3}, true}},
     .outputs = 1,
     .attribute = "group",
     .value = 48,
     .list = "strides",
     .ints = {2, 2},
     .int_count = 2},
    {"onnxd",
     "ConvInteger",
     1,
     {{U8, {1, 29, 31, 36}, 0}, {I8, {65, 36, 3, 3}, true}},
     .outputs = 1},
    {"onnxd",
     "MaxPool",
     1,
     {{F, {1, 57, 57, 32}, 0}},
     .outputs = 1,
     .list = "kernel_shape",
     .ints = {3, 3},
     .int_count = 2},
    {"onnxd", "GlobalAveragePool", 1, {{F, {3, 17, 17, 130}, 0}}, .outputs = 1},
    /* oneDNN's. */
    {"", "Conv", 11, {{F, {1, 16, 9, 9, 9}, 0}, {F, {32, 16, 3, 3, 3}, true}}, .outputs = 1},
};

static onnxd_tensor *make_operand(const operand *of, uint64_t *seed)
{
    int32_t rank = 0;
    onnxd_tensor *tensor = NULL;
    while (rank < 5 && of->dims[rank] != 0)
        rank++;
    if (of->dtype == ONNXD_FLOAT)
        return tensor_random(seed, rank, of->dims);
    const onnxd_shape shape = onnxd_shape_from(rank, of->dims);
    expect_ok(onnxd_tensor_create(of->dtype, &shape, &tensor));
    for (size_t i = 0; i < tensor->bytes; i++)
        ((uint8_t *)tensor->data)[i] = (uint8_t)next_random(seed);
    return tensor;
}

/* Runs the case while `callers` share the instance's threads. */
static void run_case(onnxd_ep *ep, const width_case *c, uint32_t callers, test_run *out_run)
{
    test_node t;
    test_run run = {0};
    uint64_t seed = 11;
    uint32_t inputs = 0;
    for (; inputs < MAX_OPERANDS && c->inputs[inputs].dtype != ONNXD_UNDEFINED; inputs++) {
        run.inputs[inputs] = make_operand(&c->inputs[inputs], &seed);
        run.is_constant[inputs] = c->inputs[inputs].is_constant;
    }
    node_init(&t, c->op_type, c->opset, inputs, c->outputs);
    if (strcmp(c->domain, "onnxd") == 0)
        t.node->domain = ONNXD_INTERNAL_DOMAIN;
    if (c->attribute != NULL)
        node_int(&t, c->attribute, c->value);
    if (c->list != NULL)
        node_ints(&t, c->list, c->int_count, c->ints);
    if (c->direction != NULL)
        node_string(&t, "direction", c->direction);
    expect_ok(node_resolve(&t));
    for (uint32_t i = 0; i < callers; i++)
        onnxd_ep_begin_issuing(ep);
    expect_ok(run_node(ep, &t, &run));
    for (uint32_t i = 0; i < callers; i++)
        onnxd_ep_end_issuing(ep);
    node_deinit(&t);
    *out_run = run;
}

static void expect_same(const width_case *c, const test_run *expected, const test_run *actual,
                        uint32_t threads, uint32_t callers)
{
    cr_assert_str_eq(actual->implementation, expected->implementation);
    for (uint32_t i = 0; i < c->outputs; i++)
        cr_assert_eq(memcmp(actual->outputs[i]->data, expected->outputs[i]->data,
                            expected->outputs[i]->bytes),
                     0, "%s by %s: output %u with %u threads and %u callers", c->op_type,
                     actual->implementation, i, threads, callers);
}

static onnxd_ep *open_with(const char *threads, const char *isa)
{
    const char *const options[][2] = {{"cpu.threads", threads}, {"cpu.isa", isa}};
    return ep_open(2, options);
}

static void expect_width_unseen(const char *isa)
{
    onnxd_ep *one = open_with("1", isa), *two = open_with("2", isa), *four = open_with("4", isa);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        test_run expected;
        run_case(one, &cases[i], 0, &expected);
        for (uint32_t callers = 0; callers <= 4; callers++) {
            test_run run;
            run_case(four, &cases[i], callers, &run);
            expect_same(&cases[i], &expected, &run, 4, callers);
            run_deinit(&run);
            run_case(two, &cases[i], callers, &run);
            expect_same(&cases[i], &expected, &run, 2, callers);
            run_deinit(&run);
        }
        run_deinit(&expected);
    }
    onnxd_ep_destroy(one);
    onnxd_ep_destroy(two);
    onnxd_ep_destroy(four);
}

Test(width, no_bit_depends_on_it)
{
    expect_width_unseen("auto");
}

Test(width, no_bit_depends_on_it_in_portable_code)
{
    expect_width_unseen("portable");
}
