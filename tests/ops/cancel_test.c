/* Operators that may be at work for long ask now and then whether the request still stands. */
#include <criterion/criterion.h>
#include <string.h>

#include "tests/ops/control_model.h"

#define COUNT 20000

TestSuite(cancel, .init = control_begin, .fini = control_end);

/* `count` elements, no two alike next to each other. */
static onnxd_datum *many(onnxd_dtype dtype)
{
    static const onnxd_string texts[] = {{"a b", 3}, {"c", 1}};
    static onnxd_string strings[COUNT];
    static uint8_t bytes[COUNT];
    int64_t count = COUNT;
    onnxd_datum *datum = NULL;
    for (size_t i = 0; i < COUNT; i++) {
        strings[i] = texts[i % 2];
        bytes[i] = i % 2 == 0;
    }
    onnxd_tensor *tensor =
        control_tensor(dtype, 1, &count, dtype == ONNXD_STRING ? (const void *)strings : bytes);
    cr_assert_null(onnxd_datum_of_tensor(tensor, &datum));
    onnxd_tensor_release(tensor);
    return datum;
}

Test(cancel, in_the_middle_of_many_elements)
{
    static const struct {
        const char *op_type, *inputs, *outputs;
        onnxd_dtype dtype;
    } cases[] = {
        {"Unique", "x", "y", ONNXD_UINT8},
        {"StringSplit", "x", "y counts", ONNXD_STRING},
        {"NonZero", "x", "y", ONNXD_UINT8},
        {"Compress", "x x", "y", ONNXD_BOOL},
    };
    for (size_t i = 0; i < ONNXD_COUNT(cases); i++) {
        onnxd_graph *graph = control_graph("x");
        control_node(graph, cases[i].op_type, 20, cases[i].inputs, cases[i].outputs, NULL, 0);
        control_outputs(graph, "y");
        /* It asks twice at least: the second answer alone is no. */
        for (int64_t allowed = 0; allowed < 2; allowed++) {
            onnxd_datum *input = many(cases[i].dtype), *output = NULL;
            control_limit = (control_limits){.tensor_bytes = 1 << 22, .checks = allowed};
            onnxd_status *status = control_run(graph, &input, &output);
            cr_expect_eq(onnxd_status_code(status), ONNXD_CANCELLED, "%s after %d",
                         cases[i].op_type, (int)allowed);
            onnxd_status_free(status);
            onnxd_datum_release(output);
        }
        onnxd_datum *input = many(cases[i].dtype), *output = NULL;
        control_limit.checks = 10000;
        onnxd_status *status = control_run(graph, &input, &output);
        cr_expect(status == NULL, "%s: %s", cases[i].op_type, onnxd_status_message(status));
        onnxd_status_free(status);
        onnxd_datum_release(output);
    }
}

/* A block of queries after the other, in each of its three passes. */
Test(cancel, in_the_middle_of_attention)
{
    enum { HEADS = 3, LENGTH = 40, BLOCKS = HEADS * 2, PASSES = 3 };
    static float values[HEADS * LENGTH];
    static const int64_t dims[] = {1, HEADS, LENGTH, 1};
    onnxd_graph *graph = control_graph("x");
    control_node(graph, "ai.onnx.preview/FlexAttention", 1, "x x x", "y", NULL, 0);
    control_outputs(graph, "y");
    for (int64_t allowed = 0; allowed <= BLOCKS * PASSES; allowed++) {
        onnxd_tensor *tensor = control_tensor(ONNXD_FLOAT, 4, dims, values);
        onnxd_datum *input = NULL, *output = NULL;
        cr_assert_null(onnxd_datum_of_tensor(tensor, &input));
        onnxd_tensor_release(tensor);
        control_limit.checks = allowed;
        onnxd_status *status = control_run(graph, &input, &output);
        cr_expect_eq(onnxd_status_code(status),
                     allowed < BLOCKS * PASSES ? ONNXD_CANCELLED : ONNXD_OK, "after %d",
                     (int)allowed);
        onnxd_status_free(status);
        onnxd_datum_release(output);
    }
}

static onnxd_attribute text_attribute(const char *name, const char *text)
{
    return (onnxd_attribute){
        .name = name, .kind = ONNXD_ATTRIBUTE_STRING, .count = 1, .value.s = {text, strlen(text)}};
}

/* Each match reads the string to its end, so that one long string is work enough. */
Test(cancel, in_the_middle_of_one_string)
{
    static const char *const text = "aaaaaaaaaaaaaaaa";
    const onnxd_attribute attributes[] = {control_int("mark", 0), control_int("mincharnum", 1),
                                          text_attribute("pad_value", "#"),
                                          text_attribute("tokenexp", "a.*b|a")};
    onnxd_graph *graph = control_graph("x");
    control_node(graph, "com.microsoft/Tokenizer", 1, "x", "y", attributes, 4);
    control_outputs(graph, "y");
    onnxd_datum *input = control_text(1, &text), *output = NULL;
    control_limit = (control_limits){.tensor_bytes = 1 << 20, .checks = 8};
    onnxd_status *status = control_run(graph, &input, &output);
    cr_expect_eq(onnxd_status_code(status), ONNXD_CANCELLED);
    onnxd_status_free(status);
    onnxd_datum_release(output);
}
