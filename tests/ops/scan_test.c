/* Scan: axes and directions, batches of opset 8, and what does not fit. */
#include <criterion/criterion.h>

#include "tests/ops/control_model.h"

TestSuite(scan, .init = control_begin, .fini = control_end);

/* Body (state, element) -> (state + element, state + element). */
static onnxd_graph *summing_body(void)
{
    onnxd_graph *body = control_graph("state element");
    control_node(body, "Add", 13, "state element", "next", NULL, 0);
    control_node(body, "Identity", 13, "next", "seen", NULL, 0);
    control_outputs(body, "next seen");
    return body;
}

static onnxd_status *try_scan(onnxd_graph *graph, onnxd_graph *body, const onnxd_attribute *more,
                              uint32_t count)
{
    onnxd_attribute attributes[8] = {control_subgraph("body", body),
                                     control_int("num_scan_inputs", 1)};
    for (uint32_t i = 0; i < count; i++)
        attributes[2 + i] = more[i];
    onnxd_status *status =
        control_try_node(graph, "Scan", 11, "first source", "last seen", attributes, 2 + count);
    control_outputs(graph, "last seen");
    return status;
}

static onnxd_datum *ints(int32_t rank, const int64_t *dims, const int64_t *values)
{
    onnxd_datum *datum = NULL;
    onnxd_tensor *tensor = control_tensor(ONNXD_INT64, rank, dims, values);
    cr_assert_null(onnxd_datum_of_tensor(tensor, &datum));
    onnxd_tensor_release(tensor);
    return datum;
}

static const int64_t two_by_three[] = {2, 3};
static const int64_t numbers[] = {1, 2, 3, 10, 20, 30};

Test(scan, axes_and_directions)
{
    static const struct {
        int64_t input_axis, input_direction, output_axis, output_direction;
        const char *last, *seen;
    } cases[] = {
        {1, 0, 0, 0, "int64[2]{6,60}", "int64[3,2]{1,10,3,30,6,60}"},
        {-1, 0, -1, 0, "int64[2]{6,60}", "int64[2,3]{1,3,6,10,30,60}"},
        {1, 1, 1, 0, "int64[2]{6,60}", "int64[2,3]{3,5,6,30,50,60}"},
        {1, 0, 1, 1, "int64[2]{6,60}", "int64[2,3]{6,3,1,60,30,10}"},
        {1, 1, -2, 1, "int64[2]{6,60}", "int64[3,2]{6,60,5,50,3,30}"},
    };
    static const int64_t zeros[2] = {0};
    for (size_t i = 0; i < ONNXD_COUNT(cases); i++) {
        onnxd_attribute more[] = {
            control_ints("scan_input_axes", 1, &cases[i].input_axis),
            control_ints("scan_input_directions", 1, &cases[i].input_direction),
            control_ints("scan_output_axes", 1, &cases[i].output_axis),
            control_ints("scan_output_directions", 1, &cases[i].output_direction)};
        onnxd_graph *graph = control_graph("first source");
        onnxd_datum *inputs[2] = {control_ints_1d(2, zeros), ints(2, two_by_three, numbers)};
        onnxd_datum *outputs[2] = {NULL};
        cr_assert_null(try_scan(graph, summing_body(), more, 4));
        cr_assert_null(control_run(graph, inputs, outputs));
        EXPECT_VALUE(outputs[0], cases[i].last);
        EXPECT_VALUE(outputs[1], cases[i].seen);
    }
}

Test(scan, an_empty_sequence_leaves_the_state)
{
    static const int64_t dims[] = {0, 2}, state[] = {4, 5};
    onnxd_graph *graph = control_graph("first source");
    onnxd_datum *inputs[2] = {control_ints_1d(2, state), ints(2, dims, NULL)}, *outputs[2] = {NULL};
    cr_assert_null(try_scan(graph, summing_body(), NULL, 0));
    cr_assert_null(control_run(graph, inputs, outputs));
    EXPECT_VALUE(outputs[0], "int64[2]{4,5}");
    EXPECT_VALUE(outputs[1], "int64[0,2]{}");
}

Test(scan, a_state_keeps_its_shape)
{
    onnxd_graph *graph = control_graph("first source");
    onnxd_datum *inputs[2] = {control_scalar(0), ints(2, two_by_three, numbers)};
    onnxd_datum *outputs[2] = {NULL};
    cr_assert_null(try_scan(graph, summing_body(), NULL, 0));
    control_expect_error(control_run(graph, inputs, outputs),
                         "output 0 of the body is int64[3], the state was int64[]");
}

Test(scan, types_follow_from_those_of_the_inputs)
{
    static const int64_t axis = -1;
    onnxd_attribute more[] = {control_ints("scan_input_axes", 1, &axis),
                              control_ints("scan_output_axes", 1, &axis)};
    onnxd_graph *graph = control_graph("first source");
    onnxd_tensor_type types[2] = {
        {.dtype = ONNXD_INT64, .shape = onnxd_shape_from(1, two_by_three)},
        {.dtype = ONNXD_INT64, .shape = onnxd_shape_from(2, two_by_three)}};
    onnxd_tensor_type made[2];
    char text[ONNXD_SHAPE_TEXT];
    cr_assert_null(try_scan(graph, summing_body(), more, 2));
    cr_assert_null(control_infer(graph, types, made));
    cr_expect_str_eq(onnxd_shape_format(&made[0].shape, text, sizeof(text)), "[2]");
    cr_expect_str_eq(onnxd_shape_format(&made[1].shape, text, sizeof(text)), "[2,3]");
    types[1].shape.dims[1] = ONNXD_DIM_UNKNOWN;
    cr_assert_null(control_infer(graph, types, made));
    cr_expect_str_eq(onnxd_shape_format(&made[1].shape, text, sizeof(text)), "[2,?]");
}

Test(scan, attributes_that_do_not_fit)
{
    static const int64_t values[] = {0, 2};
    static const struct {
        const char *name;
        size_t first, count;
        const char *text;
    } cases[] = {
        {"scan_input_axes", 0, 2, "attribute 'scan_input_axes' has 2 elements, it must have 1"},
        {"scan_output_axes", 0, 0, "attribute 'scan_output_axes' has 0 elements, it must have 1"},
        {"scan_input_directions", 1, 1, "element 0 is 2, allowed are 0 to 1"},
        {"scan_output_directions", 1, 1, "element 0 is 2, allowed are 0 to 1"},
        {"directions", 0, 1, "directions"},
    };
    for (size_t i = 0; i < ONNXD_COUNT(cases); i++) {
        onnxd_attribute more = control_ints(cases[i].name, cases[i].count, values + cases[i].first);
        control_expect_error(try_scan(control_graph("first source"), summing_body(), &more, 1),
                             cases[i].text);
    }
    static const int64_t axis = 2;
    onnxd_attribute more = control_ints("scan_input_axes", 1, &axis);
    onnxd_graph *graph = control_graph("first source");
    onnxd_datum *inputs[2] = {control_scalar(0), ints(2, two_by_three, numbers)};
    onnxd_datum *outputs[2] = {NULL};
    cr_assert_null(try_scan(graph, summing_body(), &more, 1));
    control_expect_error(control_run(graph, inputs, outputs),
                         "the axis of input 1 is 2, which is outside [-2, 1] for rank 2");
}

Test(scan, sources_have_one_length)
{
    onnxd_graph *body = control_graph("a b");
    control_node(body, "Add", 13, "a b", "sum", NULL, 0);
    control_outputs(body, "sum");
    onnxd_attribute attributes[] = {control_subgraph("body", body),
                                    control_int("num_scan_inputs", 2)};
    onnxd_graph *graph = control_graph("x y");
    control_node(graph, "Scan", 11, "x y", "sums", attributes, 2);
    control_outputs(graph, "sums");
    onnxd_datum *inputs[2] = {control_ints_1d(3, numbers), control_ints_1d(2, numbers)};
    onnxd_datum *outputs[1] = {NULL};
    control_expect_error(control_run(graph, inputs, outputs),
                         "input 1 has 2 elements along its axis, those before it have 3");
}

Test(scan, the_number_of_sources_is_bounded)
{
    onnxd_attribute attributes[] = {control_subgraph("body", summing_body()),
                                    control_int("num_scan_inputs", 3)};
    control_expect_error(
        control_try_node(control_graph(""), "Scan", 11, "a b", "x y", attributes, 2),
        "num_scan_inputs");
}

/* ---- opset 8 ------------------------------------------------------------------------------- */

static onnxd_graph *batch_of(const char *inputs, const onnxd_attribute *direction)
{
    onnxd_attribute attributes[] = {control_subgraph("body", summing_body()),
                                    control_int("num_scan_inputs", 1), *direction};
    onnxd_graph *graph = control_graph("lengths first source");
    control_node(graph, "Scan", 8, inputs, "last seen", attributes, 3);
    control_outputs(graph, "last seen");
    return graph;
}

Test(scan, a_batch_of_sequences_of_their_own_length)
{
    static const int64_t forward = 0, backward = 1, lengths[] = {3, 2}, zeros[2] = {0};
    onnxd_attribute direction = control_ints("directions", 1, &forward);
    onnxd_graph *graph = batch_of("lengths first source", &direction);
    onnxd_datum *outputs[2] = {NULL};
    onnxd_datum *inputs[3] = {control_ints_1d(2, lengths), control_ints_1d(2, zeros),
                              ints(2, two_by_three, numbers)};
    cr_assert_null(control_run(graph, inputs, outputs));
    EXPECT_VALUE(outputs[0], "int64[2]{6,30}");
    EXPECT_VALUE(outputs[1], "int64[2,3]{1,3,6,10,30,0}");

    direction = control_ints("directions", 1, &backward);
    graph = batch_of("lengths first source", &direction);
    onnxd_datum *again[3] = {control_ints_1d(2, lengths), control_ints_1d(2, zeros),
                             ints(2, two_by_three, numbers)};
    cr_assert_null(control_run(graph, again, outputs));
    EXPECT_VALUE(outputs[0], "int64[2]{6,30}");
    EXPECT_VALUE(outputs[1], "int64[2,3]{3,5,6,20,30,0}");
}

Test(scan, a_batch_with_sequences_of_no_length)
{
    static const int64_t forward = 0, first[] = {0, 2}, none[2] = {0};
    onnxd_attribute direction = control_ints("directions", 1, &forward);
    onnxd_graph *graph = batch_of("lengths first source", &direction);
    onnxd_datum *outputs[2] = {NULL};
    onnxd_datum *some[3] = {control_ints_1d(2, first), control_ints_1d(2, numbers),
                            ints(2, two_by_three, numbers)};
    cr_assert_null(control_run(graph, some, outputs));
    EXPECT_VALUE(outputs[0], "int64[2]{1,32}");
    EXPECT_VALUE(outputs[1], "int64[2,3]{0,0,0,12,32,0}");
    onnxd_datum *all[3] = {control_ints_1d(2, none), control_ints_1d(2, numbers),
                           ints(2, two_by_three, numbers)};
    cr_assert_null(control_run(graph, all, outputs));
    EXPECT_VALUE(outputs[0], "int64[2]{1,2}");
    EXPECT_VALUE(outputs[1], "int64[2,3]{0,0,0,0,0,0}");
}

Test(scan, lengths_are_those_of_the_batch)
{
    static const int64_t forward = 0, long_one[] = {3, 4}, negative[] = {-1, 0};
    onnxd_attribute direction = control_ints("directions", 1, &forward);
    onnxd_graph *graph = batch_of("lengths first source", &direction);
    onnxd_datum *outputs[2] = {NULL};
    onnxd_datum *beyond[3] = {control_ints_1d(2, long_one), control_ints_1d(2, numbers),
                              ints(2, two_by_three, numbers)};
    control_expect_error(control_run(graph, beyond, outputs),
                         "element 1 of input 0 is 4, allowed are 0 to 3");
    onnxd_datum *below[3] = {control_ints_1d(2, negative), control_ints_1d(2, numbers),
                             ints(2, two_by_three, numbers)};
    control_expect_error(control_run(graph, below, outputs),
                         "element 0 of input 0 is -1, allowed are 0 to 3");
    onnxd_datum *many[3] = {control_ints_1d(3, numbers), control_ints_1d(2, numbers),
                            ints(2, two_by_three, numbers)};
    control_expect_error(control_run(graph, many, outputs),
                         "input 0 is int64[3], it must be int64[2]");
    onnxd_datum *states[3] = {control_ints_1d(2, long_one), control_ints_1d(3, numbers),
                              ints(2, two_by_three, numbers)};
    control_expect_error(control_run(graph, states, outputs),
                         "input 2 has extent 2 at axis 0, the inputs before it 3");
}

/* Sequences without elements cost nothing, however many the batch has: the body is not run for
 * them. */
Test(scan, a_batch_without_elements)
{
    static const int64_t forward = 0, dims[] = {(int64_t)1 << 62, 0, 1};
    onnxd_attribute direction = control_ints("directions", 1, &forward);
    onnxd_graph *graph = batch_of("- first source", &direction);
    onnxd_datum *inputs[3] = {NULL, ints(2, dims, NULL), ints(3, dims, NULL)};
    onnxd_datum *outputs[2] = {NULL};
    control_limit.checks = 10;
    onnxd_status *status = control_run(graph, inputs, outputs);
    cr_assert(status == NULL, "%s", onnxd_status_message(status));
    EXPECT_VALUE(outputs[0], "int64[4611686018427387904,0]{}");
    EXPECT_VALUE(outputs[1], "int64[4611686018427387904,0,0]{}");
}

Test(scan, a_batch_is_cancelled)
{
    static const int64_t forward = 0, none[2] = {0};
    onnxd_attribute direction = control_ints("directions", 1, &forward);
    onnxd_graph *graph = batch_of("lengths first source", &direction);
    onnxd_datum *outputs[2] = {NULL};
    onnxd_datum *inputs[3] = {control_ints_1d(2, none), control_ints_1d(2, numbers),
                              ints(2, two_by_three, numbers)};
    control_limit.checks = 1;
    onnxd_status *status = control_run(graph, inputs, outputs);
    cr_assert_eq(onnxd_status_code(status), ONNXD_CANCELLED);
    onnxd_status_free(status);
}
