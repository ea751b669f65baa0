#include "graph/attributes.h"

#include <criterion/criterion.h>
#include <string.h>

#include "tests/graph/build_graph.h"

static const int64_t ints[3] = {1, -2, 3};
static onnxd_attribute attributes[] = {
    {.name = "axis", .kind = ONNXD_ATTRIBUTE_INT, .count = 1, .value.i = -1},
    {.name = "alpha", .kind = ONNXD_ATTRIBUTE_FLOAT, .count = 1, .value.f = 0.5f},
    {.name = "mode", .kind = ONNXD_ATTRIBUTE_STRING, .count = 1, .value.s = {"linear", 6}},
    {.name = "pads", .kind = ONNXD_ATTRIBUTE_INTS, .count = 3, .value.ints = ints},
};
static const onnxd_node node = {.name = "x",
                                .op_type = "Softmax",
                                .domain = "",
                                .attributes = attributes,
                                .attribute_count = 4};

Test(attributes, allow_names_the_unknown_one)
{
    const char *const all[] = {"axis", "alpha", "mode", "pads", "unused", NULL};
    const char *const some[] = {"axis", "alpha", NULL};
    expect_ok(onnxd_attributes_allow(&node, all));
    expect_error(onnxd_attributes_allow(&node, some), ONNXD_INVALID_ARGUMENT,
                 "attribute 'mode' of node 'x' (Softmax): ");
}

Test(attributes, absent_ones_keep_their_default)
{
    int64_t integer = 7;
    float real = 7.0f;
    onnxd_text text = {.data = "seven", .size = 5};
    int64_t values[4] = {7, 7, 7, 7};
    size_t count = 1;
    const onnxd_tensor *tensor = NULL;
    expect_ok(onnxd_attribute_int(&node, "none", 0, 1, &integer));
    expect_ok(onnxd_attribute_float(&node, "none", &real));
    expect_ok(onnxd_attribute_string(&node, "none", &text));
    expect_ok(onnxd_attribute_ints(&node, "none", 2, 4, 0, 1, values, &count));
    expect_ok(onnxd_attribute_tensor(&node, "none", &tensor));
    cr_expect(integer == 7 && real == 7.0f && text.size == 5 && count == 1 && tensor == NULL);
    expect_error(onnxd_attribute_require(&node, "none"), ONNXD_INVALID_ARGUMENT,
                 "attribute 'none' of node 'x' (Softmax) is required");
    expect_ok(onnxd_attribute_require(&node, "axis"));
}

Test(attributes, values_are_read)
{
    int64_t integer = 0;
    float real = 0;
    onnxd_text text = {0};
    int64_t values[4] = {0};
    size_t count = 0;
    expect_ok(onnxd_attribute_int(&node, "axis", -1, 1, &integer));
    expect_ok(onnxd_attribute_float(&node, "alpha", &real));
    expect_ok(onnxd_attribute_string(&node, "mode", &text));
    expect_ok(onnxd_attribute_ints(&node, "pads", 3, 4, -2, 3, values, &count));
    cr_expect(integer == -1 && real == 0.5f && count == 3 && values[1] == -2);
    cr_expect(text.size == 6 && memcmp(text.data, "linear", 6) == 0);
}

Test(attributes, wrong_kinds_and_ranges_are_errors)
{
    int64_t integer = 7;
    float real = 7.0f;
    int64_t values[4] = {7, 7, 7, 7};
    size_t count = 9;
    const onnxd_tensor *tensor = NULL;
    expect_error(onnxd_attribute_int(&node, "alpha", 0, 1, &integer), ONNXD_INVALID_ARGUMENT,
                 "kind is float, must be int");
    expect_error(onnxd_attribute_float(&node, "pads", &real), ONNXD_INVALID_ARGUMENT,
                 "kind is ints, must be float");
    expect_error(onnxd_attribute_tensor(&node, "mode", &tensor), ONNXD_INVALID_ARGUMENT,
                 "kind is string, must be tensor");
    expect_error(onnxd_attribute_int(&node, "axis", 0, 1, &integer), ONNXD_INVALID_ARGUMENT,
                 "value -1, allowed are 0 to 1");
    expect_error(onnxd_attribute_ints(&node, "pads", 4, 4, -9, 9, values, &count),
                 ONNXD_INVALID_ARGUMENT, "3 values, allowed are 4 to 4");
    expect_error(onnxd_attribute_ints(&node, "pads", 1, 2, -9, 9, values, &count),
                 ONNXD_INVALID_ARGUMENT, "3 values, allowed are 1 to 2");
    expect_error(onnxd_attribute_ints(&node, "pads", 1, 3, 0, 9, values, &count),
                 ONNXD_INVALID_ARGUMENT, "value -2, allowed are 0 to 9");
    cr_expect(integer == 7 && real == 7.0f && values[0] == 7 && count == 9);
}

/* What is read without a getter, or not at all, has a kind too. */
Test(attributes, kinds_are_checked_without_reading)
{
    static onnxd_attribute consumed = {
        .name = "consumed_inputs", .kind = ONNXD_ATTRIBUTE_INT, .count = 1};
    static const char *const names[] = {"consumed_inputs", NULL};
    const onnxd_node old = {
        .name = "n", .op_type = "Add", .attributes = &consumed, .attribute_count = 1};
    expect_ok(onnxd_attribute_check_kind(&node, "axis", ONNXD_ATTRIBUTE_INT));
    expect_ok(onnxd_attribute_check_kind(&node, "absent", ONNXD_ATTRIBUTE_INT));
    expect_error(onnxd_attribute_check_kind(&node, "axis", ONNXD_ATTRIBUTE_GRAPH),
                 ONNXD_INVALID_ARGUMENT, "kind is int, must be graph");
    expect_error(onnxd_attributes_allow(&old, names), ONNXD_INVALID_ARGUMENT,
                 "attribute 'consumed_inputs' of node 'n' (Add): kind is int, must be ints");
}
