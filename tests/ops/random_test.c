/* Random numbers: moments on fixed seeds, repeatability, fresh seeds, hostile parameters. Bounds on
 * moments are five standard errors wide; with fixed seeds they hold or fail for good. */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "graph/graph.h"
#include "ops/ops.h"
#include "ops/random/generator.h"
#include "tests/ops/op_text.h"

#define COUNT 20000

static onnxd_generator seeded(float seed)
{
    static const onnxd_node node = {.name = "n", .domain = "", .op_type = "RandomUniform"};
    const onnxd_seed given = {.is_given = true, .value = seed};
    onnxd_generator generator;
    cr_assert(onnxd_generator_init(&generator, &node, &given) == NULL);
    return generator;
}

static void measure(const double *values, double *out_mean, double *out_variance)
{
    double sum = 0, squares = 0;
    for (size_t i = 0; i < COUNT; i++)
        sum += values[i];
    *out_mean = sum / COUNT;
    for (size_t i = 0; i < COUNT; i++)
        squares += (values[i] - *out_mean) * (values[i] - *out_mean);
    *out_variance = squares / COUNT;
}

/* The known answer for a zero key and counter: 6627e8d5 e169c58d bc57ac4c 9b00dbd8. */
Test(random, philox_known_answer)
{
    onnxd_generator generator = seeded(0);
    double values[2];
    onnxd_generator_uniform(&generator, values, 2);
    cr_expect_eq(values[0], (double)(0x6627e8d5e169c58du >> 11) * 0x1p-53);
    cr_expect_eq(values[1], (double)(0xbc57ac4c9b00dbd8u >> 11) * 0x1p-53);
}

Test(random, uniform_moments)
{
    static double values[COUNT];
    onnxd_generator generator = seeded(1);
    double mean, variance;
    onnxd_generator_uniform(&generator, values, COUNT);
    for (size_t i = 0; i < COUNT; i++)
        cr_assert(values[i] >= 0 && values[i] < 1);
    measure(values, &mean, &variance);
    cr_expect_float_eq(mean, 0.5, 5 * 0.2887 / sqrt(COUNT));
    cr_expect_float_eq(variance, 1.0 / 12, 5 * 0.0745 / sqrt(COUNT));
}

Test(random, normal_moments)
{
    static double values[COUNT];
    onnxd_generator generator = seeded(2);
    double mean, variance;
    size_t within = 0;
    onnxd_generator_normal(&generator, values, COUNT);
    measure(values, &mean, &variance);
    cr_expect_float_eq(mean, 0, 5 / sqrt(COUNT));
    cr_expect_float_eq(variance, 1, 5 * sqrt(2.0 / COUNT));
    for (size_t i = 0; i < COUNT; i++)
        within += fabs(values[i]) < 1;
    cr_expect_float_eq((double)within / COUNT, 0.6827, 5 * 0.4655 / sqrt(COUNT));
}

Test(random, streams_continue_over_calls)
{
    onnxd_generator whole = seeded(3), parts = seeded(3);
    double expected[8], values[8];
    onnxd_generator_uniform(&whole, expected, 8);
    onnxd_generator_uniform(&parts, values, 2);
    onnxd_generator_uniform(&parts, values + 2, 6);
    cr_expect_arr_eq(values, expected, sizeof(values));
}

static const char *copy_of(const char *text)
{
    static char copies[2][4096];
    static unsigned next;
    char *copy = copies[next++ % 2];
    cr_assert(strlen(text) < sizeof(copies[0]));
    return strcpy(copy, text);
}

Test(random, seeds)
{
    static const op_text seeded_call = {"RandomNormal", 22, "shape=[2,3] seed=7.5 dtype=16", "",
                                        ""};
    static const op_text fresh_call = {"RandomUniform", 1, "shape=[8] dtype=11", "", ""};
    const char *first = copy_of(op_text_evaluate(&seeded_call));
    cr_expect(strncmp(first, "bfloat16[2,3]{", 14) == 0, "%s", first);
    cr_expect_str_eq(op_text_evaluate(&seeded_call), first);
    first = copy_of(op_text_evaluate(&fresh_call));
    cr_expect(strncmp(first, "double[8]{", 10) == 0, "%s", first);
    cr_expect_str_neq(op_text_evaluate(&fresh_call), first);
}

Test(random, certain_results)
{
    static const op_text calls[] = {
        {"RandomNormal", 1, "shape=[2] mean=3.0 scale=0.0", "", "float[2]{3,3}"},
        {"RandomUniform", 1, "shape=[2] low=-2.0 high=-2.0 dtype=10", "", "float16[2]{-2,-2}"},
        {"RandomUniform", 1, "shape=[0,3]", "", "float[0,3]{}"},
        {"RandomUniformLike", 1, "dtype=1 low=1.0", "string[2,1]{a,b}", "float[2,1]{1,1}"},
        {"Bernoulli", 15, "", "float[4]{0,1,1,0}", "float[4]{0,1,1,0}"},
        {"Bernoulli", 15, "dtype=9", "double[2]{0,1}", "bool[2]{0,1}"},
        {"Bernoulli", 22, "dtype=16", "bfloat16[2]{0,1}", "bfloat16[2]{0,1}"},
        {"Multinomial", 7, "sample_size=3 dtype=7", "float[2,3]{-inf,0,-inf,5,-inf,-inf}",
         "int64[2,3]{1,1,1,0,0,0}"},
        {"Multinomial", 7, "", "float[1,2]{1e30,-1e30}", "int32[1,1]{0}"},
        {"Multinomial", 7, "sample_size=2", "float16[0,3]{}", "int32[0,2]{}"},
    };
    EXPECT_EVALUATED(calls);
}

Test(random, refusals)
{
    static const op_text calls[] = {
        {"RandomNormal", 1, "", "", "error: 'shape'"},
        {"RandomNormal", 1, "shape=[2] dtype=16", "",
         "error: bfloat16, which opset 1 does not allow"},
        {"RandomNormal", 22, "shape=[2] dtype=7", "", "error: 'dtype' is int64"},
        {"RandomNormal", 1, "shape=[-1]", "", "error: 'shape'"},
        {"RandomNormal", 1, "shape=[1] seed='x'", "", "error: 'seed'"},
        {"RandomNormalLike", 1, "", "int32[2]{1,2}", "error: attribute 'dtype' is needed"},
        {"Bernoulli", 15, "", "float[3]{0,0.5,1.5}", "error: element 2 of input 0 is 1.5"},
        {"Bernoulli", 15, "", "float[1]{nan}", "error: element 0 of input 0 is"},
        {"Multinomial", 7, "", "float[1,2]{0,nan}", "error: element 1 of input 0 is"},
        {"Multinomial", 7, "", "float[2,1]{0,-inf}", "error: row 1 of input 0 makes every outcome"},
        {"Multinomial", 7, "", "float[1,0]{}", "error: no outcomes"},
        {"Multinomial", 7, "", "float[2]{0,0}", "error: rank 1, must have 2"},
        {"Multinomial", 7, "sample_size=0", "float[1,1]{0}", "error: 'sample_size'"},
        {"Multinomial", 7, "dtype=1", "float[1,1]{0}", "error: 'dtype'"},
    };
    EXPECT_EVALUATED(calls);
}
