/* The domain onnxd's Elementwise at every level and portably, against sums in double. */
#include <math.h>
#include <string.h>

#include <criterion/criterion.h>

#include "ep/cpu/simd/simd.h"
#include "ops/layout/elementwise.h"
#include "tests/ep/cpu/support.h"

typedef struct step {
    const char *name;
    int64_t a, b;
    float alpha, beta;
} step;

#define MAX_STEPS ONNXD_ELEMENTWISE_MAX_STEPS

static double hard_sigmoid(double x, double alpha, double beta)
{
    return fmin(fmax(alpha * x + beta, 0), 1);
}

static double reference_of(const step *s, double a, double b)
{
    static const char *const names[] = {
        "Add",      "Sub",         "Mul",       "Div",       "Clip", "Erf",     "Exp",   "Gelu",
        "GeluTanh", "HardSigmoid", "HardSwish", "LeakyRelu", "Relu", "Sigmoid", "Swish", "Tanh"};
    const double alpha = (double)s->alpha, beta = (double)s->beta;
    size_t i = 0;
    while (strcmp(names[i], s->name) != 0)
        i++;
    const double values[] = {
        a + b,
        a - b,
        a * b,
        a / b,
        fmin(fmax(a, alpha), beta),
        erf(a),
        exp(a),
        a * (1 + erf(a / sqrt(2))) / 2,
        a * (1 + tanh(sqrt(2 / M_PI) * (a + 0.044715 * a * a * a))) / 2,
        hard_sigmoid(a, alpha, beta),
        a * hard_sigmoid(a, 1.0 / 6, 0.5),
        a < 0 ? alpha * a : a,
        fmax(a, 0),
        1 / (1 + exp(-a)),
        a / (1 + exp(-alpha * a)),
        tanh(a),
    };
    return values[i];
}

/* The element of an input that belongs to element `index` of the output. */
static double element_of(const onnxd_tensor *input, const onnxd_shape *out, size_t index)
{
    size_t at = 0, stride = 1;
    for (int32_t i = 1; i <= out->rank; i++) {
        const size_t extent = (size_t)out->dims[out->rank - i], position = index % extent;
        index /= extent;
        if (i > input->shape.rank)
            continue;
        const size_t own = (size_t)input->shape.dims[input->shape.rank - i];
        at += own == 1 ? 0 : position * stride;
        stride *= own;
    }
    return (double)((const float *)input->data)[at];
}

static void expect_values(const test_run *run, const step *steps, size_t count)
{
    const onnxd_tensor *out = run->outputs[0];
    for (size_t i = 0; i < out->count; i++) {
        double results[MAX_STEPS];
        for (size_t s = 0; s < count; s++) {
            const int64_t codes[] = {steps[s].a, steps[s].b};
            double operands[2];
            for (int o = 0; o < 2; o++)
                operands[o] = codes[o] < 0 ? results[-1 - codes[o]]
                                           : element_of(run->inputs[codes[o]], &out->shape, i);
            results[s] = reference_of(&steps[s], operands[0], operands[1]);
        }
        const double wanted = results[count - 1], is = (double)((const float *)out->data)[i];
        const double scale = fmax(fabs(wanted), 1);
        if (fabs(is - wanted) > 1e-5 * scale) {
            cr_expect_fail("%s: element %zu of %zu is %g, not %g", run->implementation, i,
                           out->count, is, wanted);
            return;
        }
    }
}

/* "40x7;7;": dims of an input each. */
static size_t make_inputs(const char *shapes, test_run *run, uint64_t *seed)
{
    size_t count = 0;
    for (const char *at = shapes;; at++) {
        int64_t dims[ONNXD_MAX_RANK];
        int32_t rank = 0;
        while (*at >= '0' && *at <= '9') {
            char *end;
            dims[rank++] = strtol(at, &end, 10);
            at = *end == 'x' ? end + 1 : end;
        }
        run->inputs[count++] = tensor_random(seed, rank, dims);
        if (*at == '\0')
            return count;
    }
}

static void check(onnxd_ep *ep, const char *implementation, const char *shapes, const step *steps)
{
    const char *names[MAX_STEPS];
    int64_t operands[2 * MAX_STEPS];
    float parameters[2 * MAX_STEPS];
    size_t count = 0;
    uint64_t seed = 5;
    test_node t;
    test_run run = {0};
    for (; count < MAX_STEPS && steps[count].name != NULL; count++) {
        const step *s = &steps[count];
        names[count] = s->name;
        operands[2 * count] = s->a;
        operands[2 * count + 1] = s->b;
        parameters[2 * count] = s->alpha;
        parameters[2 * count + 1] = s->beta;
    }
    node_init(&t, "Elementwise", 1, (uint32_t)make_inputs(shapes, &run, &seed), 1);
    t.node->domain = "onnxd";
    node_strings(&t, "steps", count, names);
    /* Longer than the support's own lists. */
    t.attributes[1] = (onnxd_attribute){.name = "operands",
                                        .kind = ONNXD_ATTRIBUTE_INTS,
                                        .count = 2 * count,
                                        .value.ints = operands};
    t.attributes[2] = (onnxd_attribute){.name = "parameters",
                                        .kind = ONNXD_ATTRIBUTE_FLOATS,
                                        .count = 2 * count,
                                        .value.floats = parameters};
    t.attribute_count = 3;
    expect_ok(node_resolve(&t));
    expect_ok(run_node(ep, &t, &run));
    cr_expect_eq(strncmp(run.implementation, implementation, strlen(implementation)), 0, "%s",
                 run.implementation);
    expect_values(&run, steps, count);
    run_deinit(&run);
    node_deinit(&t);
}

static const step all_functions[][MAX_STEPS] = {
    {{"Add", 0, 1, 0, 0}, {"Relu", -1, 0, 0, 0}, {"Sub", -2, 0, 0, 0}, {"Mul", -1, 0, 0, 0}},
    {{"Exp", 0, 0, 0, 0}, {"Div", 1, -1, 0, 0}, {"Clip", -2, 0, -0.25f, 0.5f}},
    {{"Erf", 0, 0, 0, 0}, {"Gelu", 1, 1, 0, 0}, {"Mul", -1, -2, 0, 0}},
    {{"Mul", 0, 1, 0, 0}, {"GeluTanh", -1, 0, 0, 0}, {"Tanh", -1, 0, 0, 0}},
    {{"HardSigmoid", 1, 0, 0.7f, 0.2f}, {"HardSwish", 0, 0, 0, 0}, {"Sub", -1, -2, 0, 0}},
    {{"LeakyRelu", 0, 0, 0.1f, 0},
     {"Sigmoid", 1, 0, 0, 0},
     {"Swish", -1, 0, 1.5f, 0},
     {"Add", -1, -2, 0, 0},
     {"Add", -1, -4, 0, 0}},
    {{"Tanh", 1, 1, 0, 0}, {"Add", -1, 0, 0, 0}},
};

/* Rows that are cut, rows that are gathered, one row for all, one element for all, rows and columns
 * of both kinds, several pieces of work; ends that fill no vector, no chunk, no piece. */
static const char *const shapes[] = {
    "6x9;6x9",     "3x2500;2500", "3x2500;3x1",  "5000x7;7",      "5000x7;5000x1",
    "7;5000x7",    "40x1024;",    ";40x1024",    "1;1",           ";",
    "2x3x300;3x1", "2x3x5;3x1",   "9x1x4;1x6x4", "9x1x400;6x1",   "33x65x3;65x1",
    "0x4;4",       "1x1;3x1025",  "257x255;255", "2x1x3x1;4x1x5", "16385;16385",
};

static void check_all(onnxd_ep *ep, const char *implementation)
{
    for (size_t i = 0; i < ONNXD_COUNT(shapes); i++)
        for (size_t j = 0; j < ONNXD_COUNT(all_functions); j++)
            check(ep, implementation, shapes[i], all_functions[j]);
    onnxd_ep_destroy(ep);
}

Test(chain, at_every_level)
{
    for (int level = 0; level < ONNXD_SIMD_LEVEL_COUNT; level++) {
        const char *const options[][2] = {
            {"cpu.isa", onnxd_simd_level_name((onnxd_simd_level)level)}, {"cpu.threads", "3"}};
        if (onnxd_simd_is_available((onnxd_simd_level)level))
            check_all(ep_open(ONNXD_COUNT(options), options), "simd:chain");
    }
}

Test(chain, portable)
{
    check_all(ep_open_portable(), "portable");
}

/* As many steps, inputs and results that are alive together as there can be. */
Test(chain, largest)
{
    static const step steps[MAX_STEPS] = {
        {"Add", 0, 1, 0, 0},    {"Add", 1, 2, 0, 0},     {"Add", 2, 3, 0, 0},
        {"Add", 3, 4, 0, 0},    {"Add", 4, 5, 0, 0},     {"Add", 5, 6, 0, 0},
        {"Add", 6, 7, 0, 0},    {"Mul", 7, 0, 0, 0},     {"Sub", -1, -8, 0, 0},
        {"Add", -2, -7, 0, 0},  {"Sub", -3, -6, 0, 0},   {"Mul", -4, -5, 0, 0},
        {"Sub", -9, -10, 0, 0}, {"Add", -11, -12, 0, 0}, {"Mul", -13, -14, 0, 0},
        {"Add", -15, -4, 0, 0}};
    onnxd_ep *ep = ep_open_default();
    check(ep, "simd:chain", "70x90;90;70x1;;1;70x90;1x90;70x90", steps);
    check(ep, "simd:chain", "7x900;900;7x1;;1;7x900;1x900;7x900", steps);
    onnxd_ep_destroy(ep);
}
