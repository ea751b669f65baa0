/* Sequences and optionals: positions, sizes and types that do not fit, strings, empty ones. */
#include <criterion/criterion.h>

#include "tests/ops/control_model.h"

TestSuite(sequences, .init = control_begin, .fini = control_end);

/* A graph of one node whose inputs are those of the graph, in order. */
static onnxd_graph *node_of(const char *op_type, int64_t opset, const char *inputs,
                            const onnxd_attribute *attributes, uint32_t count)
{
    onnxd_graph *graph = control_graph(inputs);
    control_node(graph, op_type, opset, inputs, "result", attributes, count);
    control_outputs(graph, "result");
    return graph;
}

/* int64 scalars 0 .. count - 1. */
static onnxd_datum *counted(size_t count)
{
    onnxd_datum *items[8];
    for (size_t i = 0; i < count; i++)
        items[i] = control_scalar((int64_t)i);
    return control_sequence(ONNXD_INT64, count, items);
}

static void expect_run(const onnxd_graph *graph, onnxd_datum *a, onnxd_datum *b, onnxd_datum *c,
                       const char *text)
{
    onnxd_datum *inputs[3] = {a, b, c}, *outputs[1] = {NULL};
    onnxd_status *status = control_run(graph, inputs, outputs);
    cr_assert(status == NULL, "%s", onnxd_status_message(status));
    EXPECT_VALUE(outputs[0], text);
}

static void expect_failure(const onnxd_graph *graph, onnxd_datum *a, onnxd_datum *b, onnxd_datum *c,
                           const char *text)
{
    onnxd_datum *inputs[3] = {a, b, c}, *outputs[1] = {NULL};
    control_expect_error(control_run(graph, inputs, outputs), text);
}

Test(sequences, positions_of_elements)
{
    onnxd_graph *at = node_of("SequenceAt", 11, "s p", NULL, 0);
    expect_run(at, counted(3), control_scalar(2), NULL, "int64[]{2}");
    expect_run(at, counted(3), control_scalar(-3), NULL, "int64[]{0}");
    expect_failure(at, counted(3), control_scalar(3), NULL,
                   "position 3 in input 1 is outside [-3, 2] for a sequence of 3 elements");
    expect_failure(at, counted(3), control_scalar(-4), NULL, "position -4");
    expect_failure(at, counted(3), control_scalar(INT64_MIN), NULL,
                   "position -9223372036854775808");
    expect_failure(at, counted(0), control_scalar(0), NULL, "input 0 is an empty sequence");
    expect_failure(at, control_scalar(1), control_scalar(0), NULL,
                   "input 0 is a tensor, a sequence is needed");
}

Test(sequences, elements_are_inserted)
{
    onnxd_graph *insert = node_of("SequenceInsert", 11, "s t p", NULL, 0);
    expect_run(insert, counted(2), control_scalar(7), control_scalar(0),
               "seq(int64){int64[]{7}; int64[]{0}; int64[]{1}}");
    expect_run(insert, counted(2), control_scalar(7), control_scalar(2),
               "seq(int64){int64[]{0}; int64[]{1}; int64[]{7}}");
    expect_run(insert, counted(2), control_scalar(7), control_scalar(-1),
               "seq(int64){int64[]{0}; int64[]{7}; int64[]{1}}");
    expect_failure(insert, counted(2), control_scalar(7), control_scalar(3),
                   "position 3 in input 2 is outside [-2, 2]");
    expect_failure(insert, counted(2), control_scalar(7), control_scalar(-3), "position -3");
    expect_failure(insert, counted(2), control_flag(true), control_scalar(0),
                   "input 1 is bool, the sequence in input 0 holds int64");
    expect_failure(insert, counted(2), counted(2), control_scalar(0),
                   "input 1 is a sequence, a tensor is needed");
    onnxd_graph *append = node_of("SequenceInsert", 11, "s t", NULL, 0);
    expect_run(append, counted(0), control_scalar(7), NULL, "seq(int64){int64[]{7}}");
    onnxd_tensor_type types[2] = {{.dtype = ONNXD_INT64, .kind = ONNXD_VALUE_SEQUENCE},
                                  {.dtype = ONNXD_FLOAT}},
                      made[1];
    control_expect_error(control_infer(append, types, made),
                         "input 1 has type float, it must be that of input 0, int64");
    types[0].kind = ONNXD_VALUE_TENSOR;
    control_expect_error(control_infer(append, types, made), "input 0 is of kind tensor");
}

Test(sequences, elements_are_erased)
{
    onnxd_graph *erase = node_of("SequenceErase", 11, "s p", NULL, 0);
    expect_run(erase, counted(3), control_scalar(1), NULL, "seq(int64){int64[]{0}; int64[]{2}}");
    expect_run(erase, counted(1), control_scalar(-1), NULL, "seq(int64){}");
    expect_failure(erase, counted(3), control_scalar(3), NULL, "outside [-3, 2]");
    expect_failure(erase, counted(0), control_scalar(0), NULL, "input 0 is an empty sequence");
    onnxd_graph *last = node_of("SequenceErase", 11, "s", NULL, 0);
    expect_run(last, counted(2), NULL, NULL, "seq(int64){int64[]{0}}");
}

Test(sequences, an_empty_one_has_a_type)
{
    onnxd_attribute dtype = control_int("dtype", ONNXD_STRING), bad = control_int("dtype", 16);
    expect_run(node_of("SequenceEmpty", 11, "", NULL, 0), NULL, NULL, NULL, "seq(float){}");
    expect_run(node_of("SequenceEmpty", 11, "", &dtype, 1), NULL, NULL, NULL, "seq(string){}");
    control_expect_error(control_try_node(control_graph(""), "SequenceEmpty", 11, "", "x", &bad, 1),
                         "attribute 'dtype' is 16 (bfloat16), which no sequence can hold");
}

/* ---- splitting and joining ----------------------------------------------------------------- */

static const int64_t numbers[] = {1, 2, 3, 4, 5};

Test(sequences, tensors_are_split)
{
    onnxd_attribute drops = control_int("keepdims", 0);
    static const int64_t uneven[] = {2, 0, 3}, short_of[] = {2, 2}, negative[] = {6, -1};
    onnxd_graph *split = node_of("SplitToSequence", 11, "t n", NULL, 0);
    expect_run(split, control_ints_1d(5, numbers), control_scalar(2), NULL,
               "seq(int64){int64[2]{1,2}; int64[2]{3,4}; int64[1]{5}}");
    expect_run(split, control_ints_1d(5, numbers), control_ints_1d(3, uneven), NULL,
               "seq(int64){int64[2]{1,2}; int64[0]{}; int64[3]{3,4,5}}");
    expect_run(split, control_ints_1d(0, numbers), control_scalar(2), NULL, "seq(int64){}");
    expect_run(split, control_ints_1d(5, numbers), control_scalar(INT64_MAX), NULL,
               "seq(int64){int64[5]{1,2,3,4,5}}");
    expect_failure(split, control_ints_1d(5, numbers), control_ints_1d(2, short_of), NULL,
                   "the sizes in input 1 add up to 4, the axis has extent 5");
    expect_failure(split, control_ints_1d(5, numbers), control_ints_1d(2, negative), NULL,
                   "size 1 in input 1 is -1");
    expect_failure(split, control_ints_1d(5, numbers), control_scalar(0), NULL,
                   "the size in input 1 is 0, it must be positive");
    expect_failure(split, control_scalar(1), control_scalar(1), NULL,
                   "attribute 'axis' is 0, but a scalar has no axes");
    expect_run(node_of("SplitToSequence", 11, "t", &drops, 1), control_ints_1d(2, numbers), NULL,
               NULL, "seq(int64){int64[]{1}; int64[]{2}}");
}

/* A tensor without elements costs nothing, its pieces would. */
Test(sequences, the_number_of_pieces_is_bounded)
{
    static const int64_t dims[] = {INT64_C(1) << 40, 0};
    onnxd_datum *huge = NULL;
    onnxd_tensor *tensor = control_tensor(ONNXD_INT64, 2, dims, NULL);
    cr_assert_null(onnxd_datum_of_tensor(tensor, &huge));
    onnxd_tensor_release(tensor);
    expect_failure(node_of("SplitToSequence", 11, "t", NULL, 0), huge, NULL, NULL,
                   "a sequence of 1099511627776 elements, at most 1048576 are supported");
}

Test(sequences, strings_are_split_and_joined)
{
    static const char *const texts[] = {"ab", "", "cde"};
    onnxd_attribute axis = control_int("axis", 0);
    onnxd_datum *inputs[1] = {control_text(3, texts)}, *pieces[1] = {NULL}, *outputs[1] = {NULL};
    cr_assert_null(control_run(node_of("SplitToSequence", 11, "t", NULL, 0), inputs, pieces));
    cr_assert_null(control_run(node_of("ConcatFromSequence", 11, "s", &axis, 1), pieces, outputs));
    EXPECT_VALUE(outputs[0], "string[3]{ab,,cde}");
}

Test(sequences, sequences_are_joined)
{
    onnxd_attribute last[] = {control_int("axis", -1), control_int("new_axis", 1)};
    onnxd_attribute axis = control_int("axis", 0);
    onnxd_graph *join = node_of("ConcatFromSequence", 11, "s", &axis, 1);
    onnxd_graph *stack = node_of("ConcatFromSequence", 11, "s", last, 2);
    onnxd_datum *even[2] = {control_ints_1d(2, numbers), control_ints_1d(2, numbers + 2)};
    onnxd_datum *uneven[2] = {control_ints_1d(2, numbers), control_ints_1d(3, numbers)};
    onnxd_datum *ranks[2] = {control_ints_1d(2, numbers), control_scalar(1)};
    onnxd_datum *uneven_again[2] = {control_ints_1d(2, numbers), control_ints_1d(3, numbers)};
    expect_run(stack, control_sequence(ONNXD_INT64, 2, even), NULL, NULL, "int64[2,2]{1,3,2,4}");
    expect_run(stack, counted(2), NULL, NULL, "int64[2]{0,1}");
    expect_run(join, control_sequence(ONNXD_INT64, 2, uneven), NULL, NULL, "int64[5]{1,2,1,2,3}");
    expect_failure(stack, control_sequence(ONNXD_INT64, 2, uneven_again), NULL, NULL,
                   "element 1 of the sequence is [3], element 0 is [2]");
    expect_failure(join, control_sequence(ONNXD_INT64, 2, ranks), NULL, NULL,
                   "element 1 of the sequence is [], element 0 is [2]");
    expect_failure(join, counted(2), NULL, NULL, "attribute 'axis' is 0, but a scalar has no axes");
    expect_failure(join, counted(0), NULL, NULL, "input 0 is not a sequence with elements");
}

/* ---- SequenceMap --------------------------------------------------------------------------- */

static onnxd_graph *map_of(const char *inputs)
{
    onnxd_graph *body = control_graph("a b");
    control_node(body, "Add", 14, "a b", "sum", NULL, 0);
    control_outputs(body, "sum");
    onnxd_attribute attribute = control_subgraph("body", body);
    return node_of("SequenceMap", 17, inputs, &attribute, 1);
}

Test(sequences, bodies_are_mapped)
{
    onnxd_graph *map = map_of("s t");
    expect_run(map, counted(3), control_scalar(10), NULL,
               "seq(int64){int64[]{10}; int64[]{11}; int64[]{12}}");
    expect_run(map, counted(2), counted(2), NULL, "seq(int64){int64[]{0}; int64[]{2}}");
    expect_run(map, counted(0), control_scalar(10), NULL, "seq(int64){}");
    expect_failure(map, counted(2), counted(3), NULL,
                   "input 1 is a sequence of 3 elements, input 0 of 2");
    expect_failure(map, control_scalar(1), counted(3), NULL,
                   "input 0 is tensor, a sequence is needed");
    onnxd_attribute attribute = control_subgraph("body", control_graph("a b c"));
    control_expect_error(
        control_try_node(control_graph(""), "SequenceMap", 17, "s t", "r", &attribute, 1),
        "the graph in attribute 'body' has 3 inputs, it must have 2");
}

/* ---- optionals ----------------------------------------------------------------------------- */

static onnxd_datum *nothing(void)
{
    onnxd_datum *datum = NULL;
    cr_assert_null(onnxd_datum_nothing(ONNXD_INT64, &datum));
    return datum;
}

Test(sequences, optionals_hold_something_or_nothing)
{
    onnxd_graph *has = node_of("OptionalHasElement", 15, "o", NULL, 0);
    onnxd_graph *get = node_of("OptionalGetElement", 15, "o", NULL, 0);
    onnxd_graph *make = node_of("Optional", 15, "t", NULL, 0);
    expect_run(has, nothing(), NULL, NULL, "bool[]{0}");
    expect_run(has, counted(0), NULL, NULL, "bool[]{1}");
    expect_run(has, NULL, NULL, NULL, "bool[]{0}");
    expect_run(get, counted(1), NULL, NULL, "seq(int64){int64[]{0}}");
    expect_failure(get, nothing(), NULL, NULL, "input 0 is an optional that holds nothing");
    expect_run(make, control_scalar(4), NULL, NULL, "int64[]{4}");
    control_expect_error(control_try_node(control_graph(""), "Optional", 15, "", "o", NULL, 0),
                         "either input 0 or attribute 'type' must be given");
}

Test(sequences, an_optional_is_of_the_kind_that_it_holds)
{
    onnxd_tensor_type sequence = {.dtype = ONNXD_INT64, .kind = ONNXD_VALUE_SEQUENCE}, made[2];
    sequence.shape = onnxd_shape_unknown();
    cr_assert_null(control_infer(node_of("Optional", 15, "t", NULL, 0), &sequence, made));
    cr_expect_eq(made[0].kind, ONNXD_VALUE_OPTIONAL_SEQUENCE);
    cr_assert_null(
        control_infer(node_of("OptionalGetElement", 15, "o", NULL, 0), &made[0], &made[1]));
    cr_expect_eq(made[1].kind, ONNXD_VALUE_SEQUENCE);
    onnxd_tensor_type type = {.dtype = ONNXD_FLOAT};
    onnxd_attribute of_type = {
        .name = "type", .kind = ONNXD_ATTRIBUTE_TYPE_PROTO, .count = 1, .value.type = &type};
    onnxd_graph *empty = node_of("Optional", 15, "", &of_type, 1);
    cr_assert_null(control_infer(empty, NULL, made));
    cr_expect_eq(made[0].kind, ONNXD_VALUE_OPTIONAL);
    cr_expect_eq(made[0].dtype, ONNXD_FLOAT);
    control_expect_error(control_infer(node_of("Optional", 15, "t", &of_type, 1), &sequence, made),
                         "input 0 is int64, attribute 'type' says float");
}

Test(sequences, identity_passes_everything_on)
{
    onnxd_graph *identity = node_of("Identity", 16, "x", NULL, 0);
    expect_run(identity, counted(2), NULL, NULL, "seq(int64){int64[]{0}; int64[]{1}}");
    expect_run(identity, nothing(), NULL, NULL, "nothing");
    onnxd_tensor_type optional = {.dtype = ONNXD_INT64, .kind = ONNXD_VALUE_OPTIONAL}, made[1];
    cr_assert_null(control_infer(identity, &optional, made));
    cr_expect_eq(made[0].kind, ONNXD_VALUE_OPTIONAL);
    control_expect_error(control_infer(node_of("Identity", 14, "x", NULL, 0), &optional, made),
                         "input 0 is of kind optional, allowed are tensor, sequence");
}
