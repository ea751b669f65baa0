/*
 * supports_op and get_kernel agree: over every operator of the library, in every version, with
 * every data type and a set of shapes, a claim is followed by a kernel and a refusal by the same
 * reason.
 */
#include <string.h>

#include "ops/ops.h"
#include "support.h"

/* Attributes without which the library refuses an operator before a provider is asked, in the
 * opsets [first, last]. count 0: an int, -1: a tensor. */
static const struct {
    const char *op_type;
    int64_t first, last;
    const char *name;
    int count;
    int64_t values[8];
} needed[] = {
    {"AveragePool", 1, 28, "kernel_shape", 2, {2, 2}},
    {"BatchNormalization", 1, 6, "is_test", 0, {1}},
    {"Cast", 1, 28, "to", 0, {ONNXD_FLOAT}},
    {"Concat", 1, 28, "axis", 0, {0}},
    {"Constant", 1, 28, "value", -1, {0}},
    {"LRN", 1, 28, "size", 0, {3}},
    {"MaxPool", 1, 28, "kernel_shape", 2, {2, 2}},
    {"Pad", 1, 1, "paddings", 8, {0}},
    {"Pad", 2, 10, "pads", 8, {0}},
    {"Reshape", 1, 4, "shape", 1, {-1}},
    {"Slice", 1, 9, "ends", 1, {1}},
    {"Slice", 1, 9, "starts", 1, {0}},
    {"Unsqueeze", 1, 12, "axes", 1, {0}},
};

static void add_attributes(one_node *node, const char *op_type, int64_t opset)
{
    for (size_t i = 0; i < ONNXD_COUNT(needed); i++) {
        if (strcmp(needed[i].op_type, op_type) != 0 || opset < needed[i].first ||
            opset > needed[i].last)
            continue;
        if (needed[i].count < 0)
            add_tensor_attribute(node, needed[i].name);
        else if (needed[i].count == 0)
            add_int_attribute(node, needed[i].name, needed[i].values[0]);
        else
            add_ints_attribute(node, needed[i].name, needed[i].values, (size_t)needed[i].count);
    }
}

/* Shapes of the inputs, for operators that need them to fit each other. */
static const struct {
    const char *op_type;
    int32_t ranks[5];
    int64_t dims[5][4];
} fitting[] = {
    {"Conv", {4, 4, 1}, {{1, 4, 6, 6}, {3, 4, 2, 2}, {3}}},
    {"Gemm", {2, 2, 2}, {{2, 3}, {3, 4}, {2, 4}}},
    {"MatMul", {2, 2}, {{2, 3}, {3, 4}}},
    {"BatchNormalization", {4, 1, 1, 1, 1}, {{1, 3, 5, 5}, {3}, {3}, {3}, {3}}},
};

/* The shapes that every operator is tried with, the same for all inputs. */
static const struct {
    int32_t rank;
    int64_t dims[4];
} common[] = {{0, {0}}, {1, {4}}, {2, {2, 2}}, {4, {1, 3, 4, 4}}, {2, {0, 3}}};

#define VARIANT_COUNT (ONNXD_COUNT(common) + 1)

static bool set_shapes(one_node *node, const onnxd_op_def *def, size_t variant)
{
    for (uint32_t i = 0; i < node->query.input_count; i++) {
        onnxd_shape *shape = &node->inputs[i].shape;
        if (variant < ONNXD_COUNT(common)) {
            *shape = onnxd_shape_from(common[variant].rank, common[variant].dims);
            continue;
        }
        size_t row = 0;
        while (row < ONNXD_COUNT(fitting) && strcmp(fitting[row].op_type, def->op_type) != 0)
            row++;
        if (row == ONNXD_COUNT(fitting) || i >= 5)
            return false;
        *shape = onnxd_shape_from(fitting[row].ranks[i], fitting[row].dims[i]);
    }
    return true;
}

/* Inputs whose values decide shapes become constants: a list of integers where the operator takes
 * one (of a zero for each side of each axis for Pad, of a one for others), else a one of the type.
 */
static void set_constants(one_node *node, const onnxd_op_def *def)
{
    bool is_pad = strcmp(def->op_type, "Pad") == 0;
    const int64_t length = is_pad ? 2 * node->inputs[0].shape.rank : 1;
    for (uint32_t i = 0; i < node->query.input_count; i++) {
        onnxd_tensor_type *type = &node->inputs[i];
        if ((def->shape_inputs >> i & 1u) == 0)
            continue;
        if ((def->inputs[i].types & ONNXD_SET(INT64)) != 0)
            *type = type_of(ONNXD_INT64, 1, &length);
        else
            *type = type_of(ONNXD_FLOAT, 0, NULL);
        expect_ok(onnxd_tensor_create(type->dtype, &type->shape, &node->constants[i]));
        if (type->dtype == ONNXD_FLOAT)
            *(float *)node->constants[i]->data = 1;
        else if (!is_pad)
            *(int64_t *)node->constants[i]->data = 1;
    }
}

/* Cases whose types inference accepts, and what the provider said of all. */
typedef struct tally {
    unsigned accepted, supported, refused;
} tally;

static void compare(onnxd_ep *ep, const one_node *node, tally *count)
{
    onnxd_kernel_match match;
    onnxd_kernel *kernel = NULL;
    onnxd_ep_supports_op(ep, &node->query, &match);
    onnxd_status *status = onnxd_ep_get_kernel(ep, &node->query, &kernel);
    const char *message = onnxd_status_message(status);
    cr_assert_gt(strlen(match.reason), 0, "%s: no reason", node->node->op_type);
    cr_assert_eq(match.is_supported, status == NULL, "%s %s opset %lld: supports_op says %s (%s)",
                 node->node->op_type, onnxd_dtype_name(node->inputs[0].dtype),
                 (long long)node->query.opset, match.reason, message);
    if (status != NULL) {
        onnxd_code code = onnxd_status_code(status);
        cr_assert(code == ONNXD_NO_EP_FOR_OP || code == ONNXD_INVALID_ARGUMENT, "%s: %s",
                  node->node->op_type, message);
        cr_assert_eq(strncmp(message, match.reason, sizeof(match.reason) - 1), 0,
                     "'%s' is not '%s'", message, match.reason);
        count->refused++;
    } else {
        cr_assert_gt(strlen(kernel->implementation), 0);
        count->supported++;
    }
    onnxd_status_free(status);
    onnxd_kernel_release(kernel);
}

static void try_case(onnxd_ep *ep, const onnxd_op_def *def, int64_t opset, onnxd_dtype dtype,
                     size_t variant, tally *count)
{
    one_node node;
    uint32_t inputs = def->min_inputs < 8 ? def->min_inputs : 8;
    if (inputs == 0 && def->max_inputs > 0)
        inputs = 1;
    make_node(&node, def->op_type, opset, inputs, def->min_outputs < 8 ? def->min_outputs : 8);
    node.node->domain = def->domain;
    add_attributes(&node, def->op_type, opset);
    for (uint32_t i = 0; i < inputs; i++)
        node.inputs[i].dtype = dtype;
    bool is_case = set_shapes(&node, def, variant);
    if (is_case && resolve_node(&node)) {
        set_constants(&node, def);
        /* Types that the library refuses come from no executor, but must not trip a provider. */
        if (infer_node(&node))
            count->accepted++;
        else
            for (uint32_t i = 0; i < node.query.output_count; i++)
                node.outputs[i] = (onnxd_tensor_type){.shape = onnxd_shape_unknown()};
        compare(ep, &node, count);
    }
    drop_node(&node);
}

/* The number of refused cases. */
static unsigned try_operator(onnxd_ep *ep, const onnxd_op_def *def, unsigned *inout_supported)
{
    tally count = {0};
    /* What the executor runs itself no provider is asked for. */
    if (def->compute == NULL)
        return 0;
    const int64_t opsets[] = {def->since,
                              def->until < ONNXD_OPSET_MAX ? def->until : ONNXD_OPSET_MAX};
    for (size_t o = 0; o < ONNXD_COUNT(opsets); o++) {
        if (o > 0 && opsets[o] == opsets[0])
            continue;
        for (int dtype = ONNXD_FLOAT; dtype < ONNXD_DTYPE_COUNT; dtype++)
            for (size_t variant = 0; variant < VARIANT_COUNT; variant++)
                try_case(ep, def, opsets[o], (onnxd_dtype)dtype, variant, &count);
    }
    /* Strings stay in host memory. */
    if (count.accepted > 0 && def->inputs[0].types != ONNXD_SET(STRING))
        cr_assert_gt(count.supported, 0, "no case of %s (%lld to %lld) is supported", def->op_type,
                     (long long)def->since, (long long)def->until);
    *inout_supported += count.supported > 0;
    return count.refused;
}

CONFORMANCE_TEST(registry, a_claim_is_never_followed_by_a_refusal)
{
    onnxd_ep *ep = open_default_ep();
    const onnxd_op_registry *registry = onnxd_ops();
    unsigned refused = 0, supported = 0;
    for (size_t table = 0; table < registry->table_count; table++)
        for (const onnxd_op_def *def = registry->tables[table]; def->op_type != NULL; def++)
            refused += try_operator(ep, def, &supported);
    cr_assert_gt(refused, 1000, "refusals are hardly tried");
    cr_assert_gt(supported, 300, "claims are hardly tried");
    close_ep(ep);
}

CONFORMANCE_TEST(registry, strings_go_where_they_can)
{
    onnxd_ep *ep = open_default_ep();
    const int64_t count = 3;
    one_node node;
    make_node(&node, "Identity", 13, 1, 1);
    node.inputs[0] = type_of(ONNXD_STRING, 1, &count);
    cr_assert(resolve_node(&node));
    cr_assert(infer_node(&node));
    onnxd_kernel_match match;
    onnxd_ep_supports_op(ep, &node.query, &match);
    cr_assert_eq(match.is_supported, conformance_provider.runs_strings, "%s", match.reason);
    drop_node(&node);
    close_ep(ep);
}
