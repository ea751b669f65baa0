/*
 * Every attribute of every operator: each wrong kind, numbers at the ends of their range, lists of
 * every length. Which attributes an operator has is found by asking it, and so is their kind.
 */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "ops/ops.h"
#include "tests/ops/hostile.h"

/* Every name that some operator knows; tests/check_fault_classes.py compares it with ops/. */
static const char *const names[] = {
#include "tests/ops/attribute_names.inc"
};

#define KINDS 16   /* those of onnxd_attribute_kind, and one that is none */
#define LENGTHS 18 /* of lists: more than any rank */
#define PLACES 6   /* of the call's own list that are changed one by one */

static onnxd_tensor *one_float;
static onnxd_graph *empty_graph;

static void open_payloads(void)
{
    onnxd_shape shape = {.rank = 1, .dims = {1}};
    cr_assert(onnxd_tensor_create(ONNXD_FLOAT, &shape, &one_float) == NULL);
    cr_assert(onnxd_graph_create(1 << 16, &empty_graph) == NULL);
}

static void close_payloads(void)
{
    onnxd_tensor_release(one_float);
    onnxd_graph_destroy(empty_graph);
}

TestSuite(hostile_attributes, .init = open_payloads, .fini = close_payloads);

/* The attribute of that name, added when the call has none. */
static onnxd_attribute *attribute_of(op_call *call, const char *name)
{
    for (uint32_t i = 0; i < call->node.attribute_count; i++)
        if (strcmp(call->attributes[i].name, name) == 0)
            return &call->attributes[i];
    cr_assert(call->node.attribute_count < OP_CALL_MAX);
    onnxd_attribute *added = &call->attributes[call->node.attribute_count++];
    added->name = name;
    return added;
}

/* Something harmless of that kind. */
static void set_kind(onnxd_attribute *attribute, onnxd_attribute_kind kind)
{
    static const float floats[] = {0.5f};
    static const int64_t ints[] = {1};
    static const onnxd_text texts[] = {{"x", 1}};
    static const onnxd_tensor_type types[] = {{.dtype = ONNXD_FLOAT}};
    const onnxd_tensor *const *tensors = (const onnxd_tensor *const *)&one_float;
    attribute->kind = kind;
    attribute->count = 1;
    memset(&attribute->value, 0, sizeof(attribute->value));
    if (kind == ONNXD_ATTRIBUTE_FLOAT)
        attribute->value.f = floats[0];
    else if (kind == ONNXD_ATTRIBUTE_INT)
        attribute->value.i = ints[0];
    else if (kind == ONNXD_ATTRIBUTE_STRING)
        attribute->value.s = texts[0];
    else if (kind == ONNXD_ATTRIBUTE_TENSOR || kind == ONNXD_ATTRIBUTE_SPARSE_TENSOR)
        attribute->value.tensor = one_float;
    else if (kind == ONNXD_ATTRIBUTE_GRAPH)
        attribute->value.graph = empty_graph;
    else if (kind == ONNXD_ATTRIBUTE_FLOATS)
        attribute->value.floats = floats;
    else if (kind == ONNXD_ATTRIBUTE_INTS)
        attribute->value.ints = ints;
    else if (kind == ONNXD_ATTRIBUTE_STRINGS)
        attribute->value.strings = texts;
    else if (kind == ONNXD_ATTRIBUTE_TENSORS || kind == ONNXD_ATTRIBUTE_SPARSE_TENSORS)
        attribute->value.tensors = tensors;
    else if (kind == ONNXD_ATTRIBUTE_GRAPHS)
        attribute->value.graphs = &empty_graph;
    else if (kind == ONNXD_ATTRIBUTE_TYPE_PROTO || kind == ONNXD_ATTRIBUTE_TYPE_PROTOS)
        attribute->value.types = types;
}

/* ---- kinds --------------------------------------------------------------------------------- */

/* What resolving says when the call has the attribute as that kind. */
static const char *message_of(const op_text *text, const char *name, onnxd_attribute_kind kind)
{
    static op_call c;
    static char message[1024];
    op_call_open(&c, text);
    set_kind(attribute_of(&c, name), kind);
    onnxd_status *status = onnxd_op_resolve(onnxd_ops(), c.graph, &c.node);
    (void)snprintf(message, sizeof(message), "%s",
                   status == NULL ? "" : onnxd_status_message(status));
    onnxd_status_free(status);
    op_call_close(&c);
    return message;
}

/* Whether the call may have the attribute of its operator beside those that it has. */
static bool has_attribute(const op_text *text, const char *name)
{
    const char *message = message_of(text, name, ONNXD_ATTRIBUTE_INT);
    return strstr(message, "exactly one of the attributes") == NULL &&
           strstr(message, "exactly one is needed") == NULL;
}

static bool refuses_kind(const op_text *text, const char *name, onnxd_attribute_kind kind)
{
    char start[160];
    const char *message = message_of(text, name, kind);
    (void)snprintf(start, sizeof(start), "attribute '%s' of node 'n' (", name);
    return strncmp(message, start, strlen(start)) == 0 && strstr(message, "): kind is ") != NULL;
}

/* The attributes of the operator, whatever else a call has. They are asked for once
 * in each opset of a definition: its calls follow each other. */
static struct {
    const onnxd_op_def *def;
    int64_t opset;
    size_t count;
    const char *names[OP_CALL_MAX];
} known;

static void find_known(const op_text *text, const onnxd_op_def *def)
{
    if (known.def == def && known.opset == text->opset)
        return;
    known.def = def;
    known.opset = text->opset;
    known.count = 0;
    for (size_t n = 0; n < ONNXD_COUNT(names); n++)
        if (strstr(message_of(text, names[n], ONNXD_ATTRIBUTE_INT), "no such attribute") == NULL) {
            cr_assert(known.count < OP_CALL_MAX);
            known.names[known.count++] = names[n];
        }
}

static unsigned attribute_count;

static void each_kind(const op_text *text, const onnxd_op_def *def)
{
    find_known(text, def);
    for (size_t n = 0; n < known.count; n++) {
        if (!has_attribute(text, known.names[n]))
            continue;
        int accepted = 0;
        for (int kind = 0; kind < KINDS; kind++)
            accepted += !refuses_kind(text, known.names[n], (onnxd_attribute_kind)kind);
        attribute_count++;
        cr_expect(accepted == 1, "%s-%lld takes %d kinds of '%s'", def->op_type,
                  (long long)text->opset, accepted, known.names[n]);
    }
}

Test(hostile_attributes, one_kind_is_taken_and_every_other_is_named)
{
    hostile_for_each(each_kind);
    cr_expect(attribute_count > 500, "%u attributes", attribute_count);
}

/* ---- values -------------------------------------------------------------------------------- */

typedef void (*set_value)(onnxd_attribute *attribute, size_t which);

static const int64_t hostile_ints[] = {
    INT64_MIN, INT64_MIN + 1, INT32_MIN, -17,           -2,       -1, 0, 1, 2, 3,
    17,        INT32_MAX,     1LL << 32, INT64_MAX / 2, INT64_MAX};
#define INT_COUNT ONNXD_COUNT(hostile_ints)

static onnxd_attribute_kind kind_of(const op_text *text, const char *name)
{
    for (int kind = 1; kind < KINDS; kind++)
        if (!refuses_kind(text, name, (onnxd_attribute_kind)kind))
            return (onnxd_attribute_kind)kind;
    return ONNXD_ATTRIBUTE_UNDEFINED;
}

static unsigned result_count, refusal_count;

static void run(op_call *call)
{
    if (hostile_evaluate(call)[0] == '\0')
        result_count++;
    else
        refusal_count++;
}

/* Calls with each of the operator's attributes of that kind set to each of `count` values. */
static void each_value(const op_text *text, const onnxd_op_def *def, onnxd_attribute_kind kind,
                       set_value set, size_t count)
{
    static op_call c;
    find_known(text, def);
    for (size_t n = 0; n < known.count; n++) {
        const char *name = known.names[n];
        if (!has_attribute(text, name) || kind_of(text, name) != kind)
            continue;
        for (size_t which = 0; which < count; which++) {
            op_call_open(&c, text);
            onnxd_attribute *attribute = attribute_of(&c, name);
            if (attribute->kind != kind)
                set_kind(attribute, kind);
            set(attribute, which);
            run(&c);
        }
    }
}

static void expect_both(void)
{
    cr_expect(result_count > 50 && refusal_count > 50, "%u results, %u refusals", result_count,
              refusal_count);
}

static void set_int(onnxd_attribute *attribute, size_t which)
{
    attribute->value.i = hostile_ints[which];
}

static void each_int(const op_text *text, const onnxd_op_def *def)
{
    each_value(text, def, ONNXD_ATTRIBUTE_INT, set_int, INT_COUNT);
}

Test(hostile_attributes, integers_at_both_ends_of_their_range)
{
    hostile_for_each(each_int);
    expect_both();
}

/* A list of each length with one value everywhere, then the list of the call with one value in each
 * of its places. */
static void set_ints(onnxd_attribute *attribute, size_t which)
{
    static int64_t ints[LENGTHS * 64];
    size_t place = which / INT_COUNT;
    int64_t value = hostile_ints[which % INT_COUNT];
    if (place < LENGTHS) {
        for (size_t i = 0; i < place; i++)
            ints[i] = value;
        attribute->count = place;
    } else {
        cr_assert(attribute->count < ONNXD_COUNT(ints));
        for (size_t i = 0; i < attribute->count; i++)
            ints[i] = i == place - LENGTHS ? value : attribute->value.ints[i];
    }
    attribute->value.ints = ints;
}

static void each_int_list(const op_text *text, const onnxd_op_def *def)
{
    each_value(text, def, ONNXD_ATTRIBUTE_INTS, set_ints, (LENGTHS + PLACES) * INT_COUNT);
}

Test(hostile_attributes, lists_of_integers_of_every_length)
{
    hostile_for_each(each_int_list);
    expect_both();
}

static const float hostile_floats[] = {NAN,  INFINITY, -INFINITY, 0,     -0.0f, -1,
                                       0.5f, 1,        2,         1e10f, 3e38f, 1e-45f};
#define FLOAT_COUNT ONNXD_COUNT(hostile_floats)

static void set_float(onnxd_attribute *attribute, size_t which)
{
    attribute->value.f = hostile_floats[which];
}

static void set_floats(onnxd_attribute *attribute, size_t which)
{
    static float floats[LENGTHS];
    attribute->count = which / FLOAT_COUNT;
    for (size_t i = 0; i < attribute->count; i++)
        floats[i] = hostile_floats[which % FLOAT_COUNT];
    attribute->value.floats = floats;
}

static void each_float(const op_text *text, const onnxd_op_def *def)
{
    each_value(text, def, ONNXD_ATTRIBUTE_FLOAT, set_float, FLOAT_COUNT);
    each_value(text, def, ONNXD_ATTRIBUTE_FLOATS, set_floats, LENGTHS * FLOAT_COUNT);
}

Test(hostile_attributes, floats_that_are_no_numbers_and_lists_of_every_length)
{
    hostile_for_each(each_float);
    expect_both();
}

static char long_text[5000];
static const onnxd_text hostile_texts[] = {
    {"", 0},         {"x", 1}, {"a\0b", 3}, {"\xff\xc3(", 3}, {long_text, sizeof(long_text) - 1},
    {"%s%n%999d", 9}};
#define TEXT_COUNT ONNXD_COUNT(hostile_texts)

static void set_text(onnxd_attribute *attribute, size_t which)
{
    attribute->value.s = hostile_texts[which];
}

static void set_texts(onnxd_attribute *attribute, size_t which)
{
    static onnxd_text texts[LENGTHS];
    attribute->count = which / TEXT_COUNT;
    for (size_t i = 0; i < attribute->count; i++)
        texts[i] = hostile_texts[which % TEXT_COUNT];
    attribute->value.strings = texts;
}

static void each_text(const op_text *text, const onnxd_op_def *def)
{
    each_value(text, def, ONNXD_ATTRIBUTE_STRING, set_text, TEXT_COUNT);
    each_value(text, def, ONNXD_ATTRIBUTE_STRINGS, set_texts, LENGTHS * TEXT_COUNT);
}

Test(hostile_attributes, texts_that_are_empty_long_or_no_text)
{
    memset(long_text, 'a', sizeof(long_text) - 1);
    hostile_for_each(each_text);
    expect_both();
}

/* A tensor of every type and a few shapes, of zeros, then of ones. */
static onnxd_tensor *attribute_tensor;

static void set_tensor(onnxd_attribute *attribute, size_t which)
{
    static const onnxd_shape shapes[] = {{.rank = 0},
                                         {.rank = 1, .dims = {0}},
                                         {.rank = 1, .dims = {1}},
                                         {.rank = 1, .dims = {3}},
                                         {.rank = 2, .dims = {1, 2}},
                                         {.rank = 3, .dims = {2, 0, 2}}};
    onnxd_dtype dtype = (onnxd_dtype)(1 + which / 12);
    onnxd_tensor_release(attribute_tensor);
    attribute_tensor = NULL;
    cr_assert(onnxd_tensor_create(dtype, &shapes[which % 6], &attribute_tensor) == NULL);
    if (dtype != ONNXD_STRING && which % 12 >= 6)
        memset(attribute_tensor->data, 1, attribute_tensor->bytes);
    attribute->value.tensor = attribute_tensor;
}

static void each_tensor(const op_text *text, const onnxd_op_def *def)
{
    each_value(text, def, ONNXD_ATTRIBUTE_TENSOR, set_tensor, 12 * (ONNXD_DTYPE_COUNT - 1));
}

Test(hostile_attributes, tensors_of_every_type_and_other_shapes)
{
    hostile_for_each(each_tensor);
    expect_both();
    onnxd_tensor_release(attribute_tensor);
}

/* ---- pairs --------------------------------------------------------------------------------- */

/* A number of the call's own length where it has a list. */
static void set_extreme(onnxd_attribute *attribute, onnxd_attribute_kind kind, int64_t value,
                        int64_t *ints)
{
    size_t count = attribute->kind == ONNXD_ATTRIBUTE_INTS ? attribute->count : 2;
    set_kind(attribute, kind);
    attribute->value.i = value;
    if (kind != ONNXD_ATTRIBUTE_INTS)
        return;
    for (size_t i = 0; i < count; i++)
        ints[i] = value;
    attribute->value.ints = ints;
    attribute->count = count;
}

static void run_pair(const op_text *text, const char *const *pair,
                     const onnxd_attribute_kind *kinds)
{
    static const int64_t extremes[] = {INT64_MIN, -1, 0, 1, INT32_MAX, INT64_MAX};
    static int64_t ints[2][LENGTHS * 64];
    static op_call c;
    for (size_t which = 0; which < ONNXD_COUNT(extremes) * ONNXD_COUNT(extremes); which++) {
        const size_t picks[] = {which / ONNXD_COUNT(extremes), which % ONNXD_COUNT(extremes)};
        op_call_open(&c, text);
        for (size_t i = 0; i < 2; i++)
            set_extreme(attribute_of(&c, pair[i]), kinds[i], extremes[picks[i]], ints[i]);
        run(&c);
    }
}

static void each_pair(const op_text *text, const onnxd_op_def *def)
{
    const char *found[OP_CALL_MAX];
    onnxd_attribute_kind kinds[OP_CALL_MAX];
    size_t found_count = 0;
    find_known(text, def);
    for (size_t n = 0; n < known.count; n++) {
        if (!has_attribute(text, known.names[n]))
            continue;
        kinds[found_count] = kind_of(text, known.names[n]);
        if (kinds[found_count] == ONNXD_ATTRIBUTE_INT || kinds[found_count] == ONNXD_ATTRIBUTE_INTS)
            found[found_count++] = known.names[n];
    }
    for (size_t a = 0; a < found_count; a++)
        for (size_t b = a + 1; b < found_count; b++)
            run_pair(text, (const char *const[]){found[a], found[b]},
                     (const onnxd_attribute_kind[]){kinds[a], kinds[b]});
}

/* Strides, dilations, pads and kernels meet in sums and products. */
Test(hostile_attributes, two_integers_at_the_ends_of_their_range)
{
    hostile_for_each(each_pair);
    expect_both();
}
