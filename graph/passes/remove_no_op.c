/*
 * Nodes that change nothing, as far as their attributes, constants and shapes tell: a product with
 * one, a Cast to the same type, a Reshape to the same shape, a Slice of all. Only what is exact: of
 * an Add only the constant -0 leaves every float as it is, -0 among them.
 */
#include <string.h>

#include "graph/bypass.h"
#include "graph/internal.h"
#include "graph/moves.h"
#include "graph/passes.h"
#include "graph/reshape_target.h"
#include "graph/rewrite.h"

/* Before this opset an attribute said how inputs are broadcast. */
#define BROADCAST_SINCE 7
/* Before this opset Clip's bounds were infinite unless given; from it on the finite numbers'. */
#define CLIP_FINITE_SINCE 6
#define TILE_REPEATS_SINCE 6

typedef bool (*no_op_test)(const onnxd_derivation *types, const onnxd_node *node,
                           uint32_t *out_input);

/* ---- constants ------------------------------------------------------------------------------- */

typedef enum neutral { ZERO, MINUS_ZERO, ONE, MINUS_INFINITY, INFINITE, NEUTRAL_COUNT } neutral;

/* The bits of an element. False for types without such a number. */
static bool bits_of(onnxd_dtype dtype, neutral number, uint64_t *out_bits)
{
    static const uint64_t floats[] = {0, 0x80000000, 0x3f800000, 0xff800000, 0x7f800000};
    static const uint64_t doubles[] = {0, 1ull << 63, 0x3ffull << 52, 0xfffull << 52,
                                       0x7ffull << 52};
    static const uint64_t halves[] = {0, 0x8000, 0x3c00, 0xfc00, 0x7c00};
    static const uint64_t brains[] = {0, 0x8000, 0x3f80, 0xff80, 0x7f80};
    static const uint64_t integers[] = {0, 0, 1};
    const onnxd_dtype_set set = (onnxd_dtype_set)1 << dtype;
    const uint64_t *bits = dtype == ONNXD_FLOAT      ? floats
                           : dtype == ONNXD_DOUBLE   ? doubles
                           : dtype == ONNXD_FLOAT16  ? halves
                           : dtype == ONNXD_BFLOAT16 ? brains
                                                     : NULL;
    if (bits == NULL && number <= ONE && (set & (ONNXD_SET_INTEGERS | ONNXD_SET(BOOL))) != 0)
        bits = integers;
    if (bits == NULL)
        return false;
    *out_bits = bits[number];
    return true;
}

/* The constant behind an input, all of whose elements are this number; NULL: none. */
static const onnxd_tensor *constant_of(const onnxd_graph *graph, const onnxd_node *node,
                                       uint32_t index, neutral number)
{
    uint64_t bits;
    if (index >= node->input_count || node->inputs[index] == ONNXD_NONE)
        return NULL;
    const onnxd_tensor *constant = graph->values[node->inputs[index]].constant;
    if (constant == NULL || !bits_of(constant->dtype, number, &bits))
        return NULL;
    const size_t bytes = onnxd_dtype_size(constant->dtype);
    for (size_t i = 0; i < constant->count; i++) {
        uint64_t element = 0;
        memcpy(&element, (const char *)constant->data + i * bytes, bytes);
        if (element != bits)
            return NULL;
    }
    return constant;
}

static bool has_input(const onnxd_node *node, uint32_t index)
{
    return index < node->input_count && node->inputs[index] != ONNXD_NONE;
}

/* A STRING attribute; `absent` where there is none. */
static bool text_is(const onnxd_node *node, const char *name, const char *absent, const char *text)
{
    const onnxd_attribute *attribute = onnxd_node_attribute(node, name);
    return strcmp(attribute != NULL && attribute->kind == ONNXD_ATTRIBUTE_STRING
                      ? attribute->value.s.data
                      : absent,
                  text) == 0;
}

/* ---- arithmetic ------------------------------------------------------------------------------ */

/* Whether broadcasting against the constant leaves a shape as it is. */
static bool keeps_shape(const onnxd_shape *shape, const onnxd_shape *constant)
{
    if (constant->rank > 0 && shape->rank < constant->rank)
        return false;
    for (int32_t i = 1; i <= constant->rank; i++) {
        const int64_t dim = constant->dims[constant->rank - i];
        if (dim != 1 && dim != shape->dims[shape->rank - i])
            return false;
    }
    return true;
}

/* What is combined with the number at input `index`. */
static bool is_neutral(const onnxd_derivation *types, const onnxd_node *node, uint32_t index,
                       neutral number, uint32_t *out_input)
{
    const onnxd_tensor *constant = constant_of(types->graph, node, index, number);
    *out_input = 1 - index;
    return constant != NULL && node->opset >= BROADCAST_SINCE && has_input(node, 1 - index) &&
           keeps_shape(&types->types[node->inputs[1 - index]].shape, &constant->shape);
}

static bool is_add(const onnxd_derivation *types, const onnxd_node *node, uint32_t *out_input)
{
    return is_neutral(types, node, 1, MINUS_ZERO, out_input) ||
           is_neutral(types, node, 0, MINUS_ZERO, out_input);
}

static bool is_mul(const onnxd_derivation *types, const onnxd_node *node, uint32_t *out_input)
{
    return is_neutral(types, node, 1, ONE, out_input) || is_neutral(types, node, 0, ONE, out_input);
}

static bool is_or(const onnxd_derivation *types, const onnxd_node *node, uint32_t *out_input)
{
    return is_neutral(types, node, 1, ZERO, out_input) ||
           is_neutral(types, node, 0, ZERO, out_input);
}

static bool is_sub(const onnxd_derivation *types, const onnxd_node *node, uint32_t *out_input)
{
    return is_neutral(types, node, 1, ZERO, out_input);
}

/* Div and Pow. */
static bool is_by_one(const onnxd_derivation *types, const onnxd_node *node, uint32_t *out_input)
{
    return is_neutral(types, node, 1, ONE, out_input);
}

/* An absent bound of floats is the greatest finite number. */
static bool is_clip(const onnxd_derivation *types, const onnxd_node *node, uint32_t *out_input)
{
    const onnxd_dtype dtype = types->types[node->inputs[0]].dtype;
    *out_input = 0;
    if (onnxd_node_attribute(node, "min") != NULL || onnxd_node_attribute(node, "max") != NULL)
        return false;
    if (node->opset < CLIP_FINITE_SINCE ||
        (((onnxd_dtype_set)1 << dtype) & ONNXD_SET_INTEGERS) != 0)
        return !has_input(node, 1) && !has_input(node, 2);
    return constant_of(types->graph, node, 1, MINUS_INFINITY) != NULL &&
           constant_of(types->graph, node, 2, INFINITE) != NULL;
}

/* ---- places of elements ---------------------------------------------------------------------- */

static const onnxd_shape *shape_of(const onnxd_derivation *types, onnxd_value_id value)
{
    return &types->types[value].shape;
}

static bool is_same_shape(const onnxd_derivation *types, const onnxd_node *node)
{
    return onnxd_graph_same_shape(shape_of(types, node->inputs[0]),
                                  shape_of(types, node->outputs[0]));
}

static bool is_expand(const onnxd_derivation *types, const onnxd_node *node, uint32_t *out_input)
{
    *out_input = 0;
    return is_same_shape(types, node);
}

static bool is_cast(const onnxd_derivation *types, const onnxd_node *node, uint32_t *out_input)
{
    const onnxd_tensor_type *from = &types->types[node->inputs[0]];
    *out_input = 0;
    return from->dtype != ONNXD_UNDEFINED && from->dtype == types->types[node->outputs[0]].dtype;
}

/* The order of axes stays, but for those of extent 1. */
static bool is_transpose(const onnxd_derivation *types, const onnxd_node *node, uint32_t *out_input)
{
    const onnxd_shape *shape = shape_of(types, node->inputs[0]);
    const onnxd_attribute *perm = onnxd_node_attribute(node, "perm");
    int64_t last = -1;
    bool is_identity = true;
    *out_input = 0;
    if (perm == NULL && shape->rank == ONNXD_RANK_UNKNOWN)
        return false;
    const int32_t rank = perm == NULL ? shape->rank : (int32_t)perm->count;
    for (int32_t i = 0; i < rank; i++) {
        const int64_t from = perm == NULL ? rank - 1 - i : perm->value.ints[i];
        is_identity &= from == i;
        if (from >= 0 && from < shape->rank && shape->dims[from] == 1)
            continue;
        if (from < last)
            return false;
        last = from;
    }
    return is_identity || is_same_shape(types, node);
}

#define MAX_LIST ((size_t)2 * ONNXD_MAX_RANK)

static bool are_all(const int64_t *values, size_t count, int64_t number)
{
    for (size_t i = 0; i < count; i++)
        if (values[i] != number)
            return false;
    return true;
}

static bool is_pad(const onnxd_derivation *types, const onnxd_node *node, uint32_t *out_input)
{
    int64_t pads[MAX_LIST];
    size_t count;
    *out_input = 0;
    return onnxd_node_read_ints(types->graph, node, 1, node->opset < 2 ? "paddings" : "pads",
                                MAX_LIST, pads, &count) &&
           are_all(pads, count, 0);
}

static bool is_tile(const onnxd_derivation *types, const onnxd_node *node, uint32_t *out_input)
{
    int64_t repeats[MAX_LIST];
    size_t count;
    *out_input = 0;
    return node->opset >= TILE_REPEATS_SINCE &&
           onnxd_node_read_ints(types->graph, node, 1, "", MAX_LIST, repeats, &count) &&
           are_all(repeats, count, 1);
}

/* Each axis from its first element to its end. */
static bool is_slice(const onnxd_derivation *types, const onnxd_node *node, uint32_t *out_input)
{
    const onnxd_graph *graph = types->graph;
    const onnxd_shape *shape = shape_of(types, node->inputs[0]);
    int64_t starts[MAX_LIST], ends[MAX_LIST], axes[MAX_LIST], steps[MAX_LIST];
    size_t count, end_count, axis_count, step_count;
    *out_input = 0;
    if (!onnxd_node_read_ints(graph, node, 1, "starts", MAX_LIST, starts, &count) ||
        !onnxd_node_read_ints(graph, node, 2, "ends", MAX_LIST, ends, &end_count) ||
        !onnxd_node_read_ints(graph, node, 3, "axes", MAX_LIST, axes, &axis_count) ||
        !onnxd_node_read_ints(graph, node, 4, "steps", MAX_LIST, steps, &step_count) ||
        end_count != count || !are_all(steps, step_count, 1))
        return false;
    for (size_t i = 0; i < count; i++) {
        int32_t axis;
        int64_t dim = ONNXD_DIM_UNKNOWN;
        if (onnxd_shape_axis(shape->rank, i < axis_count ? axes[i] : (int64_t)i, &axis))
            dim = shape->dims[axis];
        const bool starts_before = onnxd_dim_is_static(dim) && starts[i] <= -dim;
        const bool ends_behind = onnxd_dim_is_static(dim) && ends[i] >= dim;
        if ((starts[i] != 0 && !starts_before) || (ends[i] != INT64_MAX && !ends_behind))
            return false;
    }
    return true;
}

/* Whether a Resize or Upsample, which got its scales in several ways, has them all 1. */
static bool has_unit_scales(const onnxd_derivation *types, const onnxd_node *node)
{
    const onnxd_attribute *list = onnxd_node_attribute(node, "scales");
    const bool has_region = node->opset >= 11;
    const uint32_t scales = has_region ? 2 : 1, sizes = 3;
    if (list != NULL) {
        for (size_t i = 0; list->kind == ONNXD_ATTRIBUTE_FLOATS && i < list->count; i++)
            if (list->value.floats[i] != 1)
                return false;
        return list->kind == ONNXD_ATTRIBUTE_FLOATS;
    }
    if (has_region && has_input(node, sizes))
        return text_is(node, "keep_aspect_ratio_policy", "stretch", "stretch") &&
               onnxd_shape_is_static(shape_of(types, node->inputs[0])) &&
               is_same_shape(types, node);
    const onnxd_tensor *constant = constant_of(types->graph, node, scales, ONE);
    return constant != NULL && constant->count > 0;
}

static bool is_resize(const onnxd_derivation *types, const onnxd_node *node, uint32_t *out_input)
{
    static const char place[] = "coordinate_transformation_mode";
    *out_input = 0;
    return (text_is(node, "mode", "nearest", "nearest") ||
            text_is(node, "mode", "nearest", "linear")) &&
           !text_is(node, place, "half_pixel", "tf_crop_and_resize") &&
           !text_is(node, place, "half_pixel", "tf_half_pixel_for_nn") &&
           onnxd_node_int(node, "antialias", 0) == 0 && has_unit_scales(types, node);
}

/* DepthToSpace and SpaceToDepth. */
static bool is_block(const onnxd_derivation *types, const onnxd_node *node, uint32_t *out_input)
{
    (void)types;
    *out_input = 0;
    return onnxd_node_int(node, "blocksize", 0) == 1;
}

/* ---- of one ---------------------------------------------------------------------------------- */

static bool is_of_one(const onnxd_derivation *types, const onnxd_node *node, uint32_t *out_input)
{
    (void)types;
    *out_input = 0;
    return node->input_count == 1;
}

static bool is_split(const onnxd_derivation *types, const onnxd_node *node, uint32_t *out_input)
{
    (void)types;
    *out_input = 0;
    return node->output_count == 1;
}

/* Reductions over no axes that say so. */
static bool is_reduce(const onnxd_derivation *types, const onnxd_node *node, uint32_t *out_input)
{
    int64_t axes[MAX_LIST];
    size_t count;
    *out_input = 0;
    return onnxd_node_int(node, "noop_with_empty_axes", 0) == 1 &&
           onnxd_node_read_ints(types->graph, node, 1, "axes", MAX_LIST, axes, &count) &&
           count == 0;
}

/* ---- the pass -------------------------------------------------------------------------------- */

static const struct {
    const char *op_type;
    no_op_test test;
} tests[] = {
    {"Add", is_add},
    {"And", is_mul},
    {"Cast", is_cast},
    {"CastLike", is_cast},
    {"Clip", is_clip},
    {"Concat", is_of_one},
    {"DepthToSpace", is_block},
    {"Div", is_by_one},
    {"Expand", is_expand},
    {"Max", is_of_one},
    {"Mean", is_of_one},
    {"Min", is_of_one},
    {"Mul", is_mul},
    {"Or", is_or},
    {"Pad", is_pad},
    {"Pow", is_by_one},
    {"ReduceMax", is_reduce},
    {"ReduceMean", is_reduce},
    {"ReduceMin", is_reduce},
    {"ReduceProd", is_reduce},
    {"ReduceSum", is_reduce},
    {"Resize", is_resize},
    {"Slice", is_slice},
    {"SpaceToDepth", is_block},
    {"Split", is_split},
    {"Sub", is_sub},
    {"Sum", is_of_one},
    {"Tile", is_tile},
    {"Transpose", is_transpose},
    {"Upsample", is_resize},
    {"Xor", is_or},
};

/* Reshape and its like. */
static bool is_view(const onnxd_derivation *types, const onnxd_node *node)
{
    const onnxd_tensor_type *from = &types->types[node->inputs[0]];
    const onnxd_tensor_type *to = &types->types[node->outputs[0]];
    return node->def->is_view && strcmp(node->op_type, "Identity") != 0 &&
           strcmp(node->op_type, "Dropout") != 0 && from->dtype == to->dtype &&
           from->kind == ONNXD_VALUE_TENSOR && onnxd_reshape_is_same(&from->shape, &to->shape);
}

static bool is_no_op(const void *context, const onnxd_node *node, uint32_t *out_input)
{
    const onnxd_derivation *types = context;
    if (node->def == NULL || node->domain[0] != '\0' || !has_input(node, 0))
        return false;
    *out_input = 0;
    if (is_view(types, node))
        return true;
    for (size_t i = 0; i < ONNXD_COUNT(tests); i++)
        if (strcmp(tests[i].op_type, node->op_type) == 0)
            return tests[i].test(types, node, out_input);
    return false;
}

static onnxd_status *run(onnxd_graph *graph, const onnxd_pass_env *env, uint32_t *out_changes)
{
    (void)env;
    onnxd_derivation types;
    onnxd_status *status = onnxd_derivation_run(&types, graph);
    if (status == NULL)
        status = onnxd_graph_bypass(graph, is_no_op, &types, out_changes);
    onnxd_derivation_deinit(&types);
    return status;
}

const onnxd_pass onnxd_pass_remove_no_op = {
    .name = "remove_no_op",
    .summary = "drop nodes that change nothing, such as a product with one",
    .run = run,
};
