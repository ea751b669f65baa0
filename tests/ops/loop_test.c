/* Loop and If: bounds, what is carried and stacked, and what cannot be. */
#include <criterion/criterion.h>
#include <stdio.h>

#include "tests/ops/control_model.h"

TestSuite(control_flow, .init = control_begin, .fini = control_end);

/* Body (iteration, condition, total) -> (iteration < last, total + 1, iteration). */
static onnxd_graph *counting_body(int64_t last)
{
    int64_t one = 1;
    onnxd_graph *body = control_graph("iteration condition total");
    control_constant(body, "one", control_tensor(ONNXD_INT64, 0, NULL, &one));
    control_constant(body, "last", control_tensor(ONNXD_INT64, 0, NULL, &last));
    control_node(body, "Less", 13, "iteration last", "goes_on", NULL, 0);
    control_node(body, "Add", 13, "total one", "next", NULL, 0);
    control_node(body, "Identity", 13, "iteration", "seen", NULL, 0);
    control_outputs(body, "goes_on next seen");
    return body;
}

static onnxd_graph *loop_of(onnxd_graph *body, const char *inputs, const char *outputs)
{
    onnxd_graph *graph = control_graph("count condition first");
    onnxd_attribute attribute = control_subgraph("body", body);
    control_node(graph, "Loop", 13, inputs, outputs, &attribute, 1);
    control_outputs(graph, outputs);
    return graph;
}

Test(control_flow, outputs_that_nobody_wants)
{
    onnxd_graph *graph = control_graph("count first");
    onnxd_attribute attribute = control_subgraph("body", counting_body(3));
    onnxd_datum *inputs[2] = {control_scalar(2), control_scalar(5)}, *outputs[1] = {NULL};
    control_node(graph, "Loop", 13, "count - first", "- seen", &attribute, 1);
    control_outputs(graph, "seen");
    cr_assert_null(control_run(graph, inputs, outputs));
    EXPECT_VALUE(outputs[0], "int64[2]{0,1}");
}

/* The count, the condition and the body's own condition in all combinations. */
Test(control_flow, a_loop_ends_by_what_it_is_given)
{
    static const struct {
        int64_t count;      /* -9: absent */
        int condition;      /* -1: absent */
        int64_t iterations; /* the body's condition is false in iteration 3, the fourth */
    } cases[] = {
        /* The text of ONNX has a loop without a condition run 7 times; ONNX Runtime ends it. */
        {7, -1, 4}, {-9, -1, 4},       {0, -1, 0},        {2, -1, 2}, {-5, -1, 0},
        {0, 1, 0},  {2, 1, 2},         {7, 1, 4},         {7, 0, 0},  {-9, 1, 4},
        {-9, 0, 0}, {INT64_MAX, 1, 4}, {INT64_MAX, 0, 0},
    };
    for (size_t i = 0; i < ONNXD_COUNT(cases); i++) {
        char inputs[64], total[64];
        onnxd_datum *outputs[2] = {NULL};
        onnxd_datum *values[3] = {cases[i].count == -9 ? NULL : control_scalar(cases[i].count),
                                  cases[i].condition < 0 ? NULL : control_flag(cases[i].condition),
                                  control_scalar(100)};
        snprintf(inputs, sizeof(inputs), "%s %s first", values[0] != NULL ? "count" : "-",
                 values[1] != NULL ? "condition" : "-");
        onnxd_graph *graph = loop_of(counting_body(3), inputs, "total seen");
        onnxd_status *status = control_run(graph, values, outputs);
        cr_assert(status == NULL, "case %zu: %s", i, onnxd_status_message(status));
        snprintf(total, sizeof(total), "int64[]{%lld}", (long long)(100 + cases[i].iterations));
        cr_expect_str_eq(control_show(outputs[0]), total, "case %zu", i);
        cr_expect_eq(outputs[1]->tensor->shape.dims[0], cases[i].iterations, "case %zu", i);
        onnxd_datum_release(outputs[1]);
        control_end();
        control_begin();
    }
}

Test(control_flow, a_loop_without_an_end_is_cancelled)
{
    onnxd_datum *inputs[3] = {NULL, NULL, control_scalar(0)}, *outputs[2] = {NULL};
    onnxd_graph *graph = loop_of(counting_body(INT64_MAX), "- - first", "total seen");
    control_limit.checks = 100;
    onnxd_status *status = control_run(graph, inputs, outputs);
    cr_assert_eq(onnxd_status_code(status), ONNXD_CANCELLED);
    onnxd_status_free(status);
}

Test(control_flow, what_is_stacked_meets_the_limit_of_a_tensor)
{
    onnxd_datum *inputs[3] = {control_scalar(INT64_MAX), NULL, control_scalar(0)};
    onnxd_datum *outputs[2] = {NULL};
    onnxd_graph *graph = loop_of(counting_body(INT64_MAX), "count - first", "total seen");
    control_limit = (control_limits){.tensor_bytes = 1000, .checks = 10000};
    onnxd_status *status = control_run(graph, inputs, outputs);
    cr_assert_eq(onnxd_status_code(status), ONNXD_PAYLOAD_TOO_LARGE);
    onnxd_status_free(status);
}

Test(control_flow, counts_and_conditions_of_other_shapes)
{
    static const int64_t two[] = {1, 2};
    onnxd_datum *outputs[2] = {NULL};
    onnxd_graph *graph = loop_of(counting_body(3), "count condition first", "total seen");
    onnxd_datum *one[3] = {control_ints_1d(1, two + 1), control_flag(true), control_scalar(0)};
    cr_assert_null(control_run(graph, one, outputs));
    EXPECT_VALUE(outputs[0], "int64[]{2}");
    EXPECT_VALUE(outputs[1], "int64[2]{0,1}");
    onnxd_datum *many[3] = {control_ints_1d(2, two), control_flag(true), control_scalar(0)};
    control_expect_error(control_run(graph, many, outputs),
                         "node 'n' (Loop): input 0 has shape [2], it must have one element");
    onnxd_datum *number[3] = {control_scalar(1), control_scalar(1), control_scalar(0)};
    control_expect_error(control_run(graph, number, outputs), "input 1 is int64, it must be bool");
}

/* A body of two nodes: the condition passes through, `op` makes the rest of `input`. */
static onnxd_graph *simple_body(const char *op, const char *input, const char *made,
                                const onnxd_attribute *attribute)
{
    onnxd_graph *body = control_graph("iteration condition state");
    control_node(body, "Identity", 16, "condition", "goes_on", NULL, 0);
    control_node(body, op, 16, input, made, attribute, attribute == NULL ? 0 : 1);
    return body;
}

Test(control_flow, what_is_stacked_keeps_its_shape)
{
    onnxd_attribute axis = control_int("axis", 0), body_attribute;
    onnxd_graph *body = control_graph("iteration condition state");
    control_node(body, "Identity", 13, "condition", "goes_on", NULL, 0);
    control_node(body, "Concat", 13, "state state", "next", &axis, 1);
    control_node(body, "Identity", 13, "next", "seen", NULL, 0);
    control_outputs(body, "goes_on next seen");
    body_attribute = control_subgraph("body", body);
    onnxd_graph *graph = control_graph("count condition first");
    control_node(graph, "Loop", 13, "count condition first", "last seen", &body_attribute, 1);
    control_outputs(graph, "last seen");
    static const int64_t pair[] = {5, 6};
    onnxd_datum *outputs[2] = {NULL};
    onnxd_datum *once[3] = {control_scalar(1), NULL, control_ints_1d(2, pair)};
    cr_assert_null(control_run(graph, once, outputs));
    EXPECT_VALUE(outputs[0], "int64[4]{5,6,5,6}");
    EXPECT_VALUE(outputs[1], "int64[1,4]{5,6,5,6}");
    onnxd_datum *twice[3] = {control_scalar(2), NULL, control_ints_1d(2, pair)};
    control_expect_error(control_run(graph, twice, outputs),
                         "output 2 of the body: it is int64[8] in iteration 1, before it was "
                         "int64[4]");
}

Test(control_flow, what_is_carried_keeps_its_type)
{
    onnxd_attribute to_float = control_int("to", ONNXD_FLOAT);
    onnxd_graph *body = simple_body("Cast", "state", "next", &to_float);
    control_outputs(body, "goes_on next");
    onnxd_graph *graph = loop_of(body, "count condition first", "last");
    onnxd_datum *inputs[3] = {control_scalar(2), NULL, control_scalar(1)}, *outputs[1] = {NULL};
    control_expect_error(control_run(graph, inputs, outputs),
                         "output 1 of the body is a tensor of float, it was carried in as a tensor "
                         "of int64");
    onnxd_tensor_type types[3] = {
        {.dtype = ONNXD_INT64}, {.dtype = ONNXD_BOOL}, {.dtype = ONNXD_INT64}};
    onnxd_tensor_type made[1];
    control_expect_error(control_infer(graph, types, made),
                         "input 2 is int64, the body makes it float in output 1");
}

Test(control_flow, sequences_are_carried)
{
    onnxd_graph *body = control_graph("iteration condition state");
    control_node(body, "Identity", 13, "condition", "goes_on", NULL, 0);
    control_node(body, "SequenceInsert", 13, "state iteration", "next", NULL, 0);
    control_outputs(body, "goes_on next");
    onnxd_graph *graph = loop_of(body, "count condition first", "last");
    onnxd_datum *inputs[3] = {control_scalar(3), NULL, control_sequence(ONNXD_INT64, 0, NULL)};
    onnxd_datum *outputs[1] = {NULL};
    cr_assert_null(control_run(graph, inputs, outputs));
    EXPECT_VALUE(outputs[0], "seq(int64){int64[]{0}; int64[]{1}; int64[]{2}}");
}

Test(control_flow, sequences_are_not_stacked)
{
    onnxd_graph *body = simple_body("SequenceConstruct", "state", "seen", NULL);
    control_node(body, "Identity", 13, "state", "next", NULL, 0);
    control_outputs(body, "goes_on next seen");
    onnxd_graph *graph = loop_of(body, "count condition first", "last seen");
    onnxd_datum *inputs[3] = {control_scalar(1), NULL, control_scalar(1)}, *outputs[2] = {NULL};
    control_expect_error(control_run(graph, inputs, outputs),
                         "output 2 of the body is a sequence, a tensor is needed");
}

Test(control_flow, strings_are_stacked)
{
    static const char *const texts[] = {"ab", ""};
    onnxd_graph *body = simple_body("Identity", "state", "seen", NULL);
    control_node(body, "Identity", 13, "state", "next", NULL, 0);
    control_outputs(body, "goes_on next seen");
    onnxd_graph *graph = loop_of(body, "count condition first", "last seen");
    onnxd_datum *inputs[3] = {control_scalar(5), NULL, control_text(2, texts)};
    onnxd_datum *outputs[2] = {NULL};
    cr_assert_null(control_run(graph, inputs, outputs));
    onnxd_datum_release(outputs[0]);
    EXPECT_VALUE(outputs[1], "string[5,2]{ab,,ab,,ab,,ab,,ab,}");
}

/* The bytes of strings that are stacked count, before the loop ends; those without any are not
 * kept. */
Test(control_flow, strings_that_are_stacked_meet_the_limit_of_a_tensor)
{
    static const char long_text[] =
        "one hundred bytes are enough to pass a limit of some thousands "
        "within less than all of the iterations.";
    static const struct {
        size_t count;
        onnxd_code code;
    } cases[] = {{1, ONNXD_PAYLOAD_TOO_LARGE}, {0, ONNXD_CANCELLED}};
    for (size_t i = 0; i < ONNXD_COUNT(cases); i++) {
        const char *const texts[] = {long_text};
        onnxd_graph *body = simple_body("Identity", "state", "seen", NULL);
        control_node(body, "Identity", 13, "state", "next", NULL, 0);
        control_outputs(body, "goes_on next seen");
        onnxd_graph *graph = loop_of(body, "- condition first", "last seen");
        onnxd_datum *inputs[3] = {NULL, control_flag(true), control_text(cases[i].count, texts)};
        onnxd_datum *outputs[2] = {NULL};
        control_limit = (control_limits){.tensor_bytes = 4000, .checks = 100};
        onnxd_status *status = control_run(graph, inputs, outputs);
        cr_expect_eq(onnxd_status_code(status), cases[i].code, "case %zu: %s", i,
                     onnxd_status_message(status));
        onnxd_status_free(status);
    }
}

/* Three elements of four bits do not end on a byte. */
Test(control_flow, packed_elements_are_stacked)
{
    static const uint8_t packed[] = {0x21, 0x0f};
    static const int64_t three = 3;
    onnxd_graph *body = control_graph("iteration condition state");
    control_node(body, "Identity", 21, "condition", "goes_on", NULL, 0);
    control_node(body, "Identity", 21, "state", "next", NULL, 0);
    control_node(body, "Identity", 21, "state", "seen", NULL, 0);
    control_outputs(body, "goes_on next seen");
    onnxd_graph *graph = loop_of(body, "count condition first", "last seen");
    onnxd_tensor *state = control_tensor(ONNXD_INT4, 1, &three, packed);
    onnxd_datum *inputs[3] = {control_scalar(3), NULL, NULL}, *outputs[2] = {NULL};
    cr_assert_null(onnxd_datum_of_tensor(state, &inputs[2]));
    onnxd_tensor_release(state);
    cr_assert_null(control_run(graph, inputs, outputs));
    onnxd_datum_release(outputs[0]);
    EXPECT_VALUE(outputs[1], "int4[3,3]{1,2,-1,1,2,-1,1,2,-1}");
}

Test(control_flow, no_iterations_stack_what_would_have_been_made)
{
    static const int64_t three[] = {1, 2, 3};
    onnxd_graph *body = simple_body("Identity", "state", "seen", NULL);
    control_node(body, "Identity", 13, "state", "next", NULL, 0);
    control_outputs(body, "goes_on next seen");
    onnxd_graph *graph = loop_of(body, "count condition first", "last seen");
    onnxd_datum *inputs[3] = {control_scalar(0), NULL, control_ints_1d(3, three)};
    onnxd_datum *outputs[2] = {NULL};
    cr_assert_null(control_run(graph, inputs, outputs));
    EXPECT_VALUE(outputs[0], "int64[3]{1,2,3}");
    EXPECT_VALUE(outputs[1], "int64[0,3]{}");
}

/* Of a dimension that nothing tells there is none. */
Test(control_flow, no_iterations_stack_unknown_dimensions_as_zero)
{
    static const int64_t dims[] = {ONNXD_DIM_UNKNOWN, 4};
    onnxd_graph *body = control_graph("iteration condition state");
    control_node(body, "Identity", 13, "condition", "goes_on", NULL, 0);
    control_node(body, "Identity", 13, "state", "next", NULL, 0);
    control_node(body, "Expand", 13, "state state", "seen", NULL, 0);
    control_declare(body, "seen", ONNXD_INT64, 2, dims);
    control_outputs(body, "goes_on next seen");
    onnxd_graph *graph = loop_of(body, "count condition first", "last seen");
    static const int64_t shape[] = {2, 4};
    onnxd_datum *inputs[3] = {control_scalar(0), NULL, control_ints_1d(2, shape)};
    onnxd_datum *outputs[2] = {NULL};
    cr_assert_null(control_run(graph, inputs, outputs));
    onnxd_datum_release(outputs[0]);
    EXPECT_VALUE(outputs[1], "int64[0,0,4]{}");
}

Test(control_flow, a_loop_and_its_body_must_fit)
{
    static const struct {
        const char *inputs, *outputs, *text;
    } cases[] = {
        {"a b c d", "x y", "the graph in attribute 'body' has 3 inputs, it must have 4"},
        {"a b", "x", "the graph in attribute 'body' has 3 inputs, it must have 2"},
        {"a b c", "x", "the graph in attribute 'body' has 3 outputs, it must have 2"},
        {"a b c", "x y z", "the graph in attribute 'body' has 3 outputs, it must have 4"},
        {"a", "x", "has 1 inputs, at least 2 are needed"},
    };
    for (size_t i = 0; i < ONNXD_COUNT(cases); i++) {
        onnxd_attribute attribute = control_subgraph("body", counting_body(1));
        onnxd_graph *graph = control_graph("");
        control_expect_error(
            control_try_node(graph, "Loop", 13, cases[i].inputs, cases[i].outputs, &attribute, 1),
            cases[i].text);
    }
    onnxd_graph *graph = control_graph("");
    onnxd_attribute number = control_int("body", 1);
    control_expect_error(control_try_node(graph, "Loop", 13, "a b c", "x y", &number, 1),
                         "kind is");
    control_expect_error(control_try_node(graph, "Loop", 13, "a b c", "p q", NULL, 0),
                         "attribute 'body' of node 'n' (Loop) is required");
}

/* ---- If ------------------------------------------------------------------------------------ */

static onnxd_graph *branch_of(onnxd_dtype dtype, const char *outputs)
{
    static const uint64_t zero = 0;
    onnxd_graph *branch = control_graph("");
    control_constant(branch, "value", control_tensor(dtype, 0, NULL, &zero));
    control_node(branch, "Identity", 13, "value", "x", NULL, 0);
    control_node(branch, "SequenceConstruct", 13, "value", "s", NULL, 0);
    control_outputs(branch, outputs);
    return branch;
}

static onnxd_status *try_if(onnxd_graph *graph, onnxd_graph *then_branch, onnxd_graph *else_branch)
{
    onnxd_attribute attributes[] = {control_subgraph("then_branch", then_branch),
                                    control_subgraph("else_branch", else_branch)};
    onnxd_status *status = control_try_node(graph, "If", 16, "condition", "r", attributes, 2);
    if (status == NULL)
        control_outputs(graph, "r");
    return status;
}

Test(control_flow, branches_must_have_the_outputs_of_the_node)
{
    control_expect_error(try_if(control_graph("condition"), branch_of(ONNXD_INT64, "x s"),
                                branch_of(ONNXD_INT64, "x")),
                         "the graph in attribute 'then_branch' has 2 outputs, it must have 1");
    control_expect_error(try_if(control_graph("condition"), branch_of(ONNXD_INT64, "x"),
                                branch_of(ONNXD_INT64, "s x")),
                         "the graph in attribute 'else_branch' has 2 outputs, it must have 1");
    onnxd_graph *with_input = control_graph("y");
    control_outputs(with_input, "y");
    control_expect_error(try_if(control_graph("condition"), with_input, branch_of(1, "x")),
                         "the graph in attribute 'then_branch' has 1 inputs, it must have 0");
}

Test(control_flow, branches_must_make_one_type)
{
    onnxd_tensor_type condition = {.dtype = ONNXD_BOOL}, made[1];
    onnxd_graph *graph = control_graph("condition");
    cr_assert_null(try_if(graph, branch_of(ONNXD_INT64, "x"), branch_of(ONNXD_FLOAT, "x")));
    control_expect_error(control_infer(graph, &condition, made),
                         "output 0 is int64 from 'then_branch', float from 'else_branch'");
    graph = control_graph("condition");
    cr_assert_null(try_if(graph, branch_of(ONNXD_INT64, "x"), branch_of(ONNXD_INT64, "s")));
    control_expect_error(control_infer(graph, &condition, made),
                         "output 0 is a tensor from 'then_branch', a sequence from 'else_branch'");
}

Test(control_flow, a_condition_is_one_bool)
{
    static const int64_t two[] = {1, 1};
    onnxd_datum *outputs[1] = {NULL};
    onnxd_graph *graph = control_graph("condition");
    cr_assert_null(try_if(graph, branch_of(ONNXD_INT64, "x"), branch_of(ONNXD_INT64, "x")));
    onnxd_datum *number = control_scalar(1);
    control_expect_error(control_run(graph, &number, outputs), "input 0 is int64, it must be bool");
    onnxd_datum *many = control_ints_1d(2, two);
    control_expect_error(control_run(graph, &many, outputs),
                         "input 0 has shape [2], it must have one element");
    onnxd_tensor_type wide = {.dtype = ONNXD_BOOL, .shape = onnxd_shape_from(1, two + 1)}, made[1];
    wide.shape.dims[0] = 2;
    control_expect_error(control_infer(graph, &wide, made),
                         "input 0 has shape [2], it must be a scalar or have shape [1]");
    onnxd_datum *is_true = control_flag(true);
    cr_assert_null(control_run(graph, &is_true, outputs));
    EXPECT_VALUE(outputs[0], "int64[]{0}");
}
