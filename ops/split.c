/* Split: cuts one axis into the node's outputs. The sizes are an attribute before opset 13 and an
 * input since; without them the parts are equal (opset 18: the last may be smaller). */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/size_math.h"
#include "ops/ops.h"
#include "ops/real.h"
#include "ops/support.h"
#include "ops/types.h"

typedef struct split_params {
    int64_t axis;
    bool has_sizes, has_output_count;
    size_t size_count;
    const int64_t *sizes; /* borrowed from the graph */
} split_params;

static onnxd_status *parse_sizes(const onnxd_node *node, split_params *p)
{
    const onnxd_attribute *attribute = onnxd_node_attribute(node, "split");
    if (attribute == NULL)
        return NULL;
    ONNXD_TRY(onnxd_attribute_check_kind(node, "split", ONNXD_ATTRIBUTE_INTS));
    if (attribute->count != node->output_count)
        return onnxd_op_error(node, "attribute 'split' has %zu sizes for %" PRIu32 " outputs",
                              attribute->count, node->output_count);
    for (size_t i = 0; i < attribute->count; i++)
        if (attribute->value.ints[i] < 0)
            return onnxd_op_error(node, "attribute 'split': size %zu is %" PRId64, i,
                                  attribute->value.ints[i]);
    p->has_sizes = true;
    p->sizes = attribute->value.ints;
    p->size_count = attribute->count;
    return NULL;
}

static onnxd_status *parse(const onnxd_node *node, int64_t opset, onnxd_arena *arena, void *params)
{
    (void)arena;
    static const char *const names_1[] = {"axis", "split", NULL};
    static const char *const names_13[] = {"axis", NULL};
    static const char *const names_18[] = {"axis", "num_outputs", NULL};
    split_params *p = params;
    ONNXD_TRY(onnxd_attributes_allow(node, opset < 13   ? names_1
                                           : opset < 18 ? names_13
                                                        : names_18));
    ONNXD_TRY(onnxd_attribute_int(node, "axis", -ONNXD_MAX_RANK, ONNXD_MAX_RANK - 1, &p->axis));
    ONNXD_TRY(parse_sizes(node, p));
    if (p->has_sizes && onnxd_op_has_input(node, 1))
        return onnxd_op_error(node, "attribute 'split' and input 1 exclude each other");
    if (opset < 18)
        return NULL;
    int64_t count = 0;
    ONNXD_TRY(onnxd_attribute_int(node, "num_outputs", 1, UINT32_MAX, &count));
    p->has_output_count = count != 0;
    if (count != 0 && count != node->output_count)
        return onnxd_op_error(
            node, "attribute 'num_outputs' is %" PRId64 ", but there are %" PRIu32 " outputs",
            count, node->output_count);
    if ((count != 0) == onnxd_op_has_input(node, 1))
        return onnxd_op_error(node, "either input 1 or attribute 'num_outputs' must be given");
    return NULL;
}

/* The sizes a node is given: attribute, known input, or none of both. */
typedef struct split_sizes {
    const void *values; /* NULL: equal parts */
    onnxd_dtype dtype;  /* INT64, or in opset 1 that of the data */
    bool is_unknown;
} split_sizes;

static split_sizes sizes_from_attribute(const split_params *p)
{
    return (split_sizes){.values = p->sizes, .dtype = ONNXD_INT64};
}

/* A floating-point size that is no whole number is -1. */
static int64_t size_at(const split_sizes *sizes, size_t index)
{
    if (sizes->dtype == ONNXD_INT64)
        return ((const int64_t *)sizes->values)[index];
    double size = onnxd_real_load(sizes->dtype, sizes->values, index);
    return size >= 0 && size < 0x1p53 && size == trunc(size) ? (int64_t)size : -1;
}

static onnxd_status *size_error(const onnxd_node *node, const split_sizes *sizes, size_t index)
{
    if (sizes->dtype == ONNXD_INT64)
        return onnxd_op_error(node, "size %zu of input 1 is %" PRId64, index,
                              size_at(sizes, index));
    return onnxd_op_error(node, "size %zu of input 1 is %g, must be a whole number of 0 or more",
                          index, onnxd_real_load(sizes->dtype, sizes->values, index));
}

static onnxd_status *sizes_from_view(const onnxd_node *node, const onnxd_tensor_view *view,
                                     split_sizes *out_sizes)
{
    size_t count = onnxd_tensor_view_count(view);
    if (view->shape.rank != 1 || count != node->output_count)
        return onnxd_op_error(node, "input 1 has %zu sizes for %" PRIu32 " outputs", count,
                              node->output_count);
    split_sizes sizes = {.values = onnxd_tensor_view_data(view), .dtype = view->dtype};
    for (size_t i = 0; i < count; i++)
        if (size_at(&sizes, i) < 0)
            return size_error(node, &sizes, i);
    *out_sizes = sizes;
    return NULL;
}

static onnxd_status *check_sum(const onnxd_node *node, const split_sizes *sizes, int64_t dim)
{
    int64_t sum = 0;
    for (uint32_t i = 0; i < node->output_count; i++)
        if (!onnxd_i64_add(sum, size_at(sizes, i), &sum))
            return onnxd_op_error(node, "the sum of the sizes overflows");
    if (sum != dim)
        return onnxd_op_error(
            node, "the sizes add up to %" PRId64 ", but the axis has extent %" PRId64, sum, dim);
    return NULL;
}

/* Extent of a part when none is given; the last part takes what is left. */
static onnxd_status *equal_part(const onnxd_node *node, const split_params *p, int64_t dim,
                                int64_t *out_part)
{
    int64_t count = node->output_count, part = dim / count;
    if (dim % count != 0) {
        if (!p->has_output_count)
            return onnxd_op_error(node,
                                  "extent %" PRId64 " does not divide into %" PRId64 " equal parts",
                                  dim, count);
        part++;
        if (part * (count - 1) > dim)
            return onnxd_op_error(
                node, "extent %" PRId64 " is too small for %" PRId64 " parts of %" PRId64, dim,
                count, part);
    }
    *out_part = part;
    return NULL;
}

static onnxd_status *infer(onnxd_infer *infer)
{
    const split_params *p = infer->params;
    const onnxd_shape *input = &infer->inputs[0].shape;
    for (uint32_t i = 0; i < infer->output_count; i++)
        if (onnxd_op_has_output(infer->node, i))
            infer->outputs[i] = infer->inputs[0];
    split_sizes sizes = sizes_from_attribute(p);
    onnxd_tensor_view view;
    if (onnxd_infer_known(infer, 1, &view))
        ONNXD_TRY(sizes_from_view(infer->node, &view, &sizes));
    else
        sizes.is_unknown = onnxd_op_has_input(infer->node, 1);
    if (input->rank < 0)
        return NULL;
    int32_t axis;
    ONNXD_TRY(onnxd_op_axis(infer->node, "attribute 'axis'", p->axis, input->rank, &axis));
    int64_t dim = input->dims[axis], part = ONNXD_DIM_UNKNOWN, last = ONNXD_DIM_UNKNOWN;
    if (sizes.values != NULL && onnxd_dim_is_static(dim))
        ONNXD_TRY(check_sum(infer->node, &sizes, dim));
    if (sizes.values == NULL && !sizes.is_unknown && onnxd_dim_is_static(dim)) {
        ONNXD_TRY(equal_part(infer->node, p, dim, &part));
        last = dim - part * (infer->node->output_count - 1);
    }
    for (uint32_t i = 0; i < infer->output_count; i++) {
        if (!onnxd_op_has_output(infer->node, i))
            continue;
        bool is_last = i == infer->output_count - 1;
        infer->outputs[i].shape.dims[axis] = sizes.values != NULL ? size_at(&sizes, i)
                                             : is_last            ? last
                                                                  : part;
    }
    return NULL;
}

static onnxd_status *compute(const onnxd_compute *compute)
{
    const split_params *p = compute->params;
    const onnxd_tensor_view *input = &compute->inputs[0];
    const onnxd_shape *shape = &input->shape;
    split_sizes sizes = sizes_from_attribute(p);
    if (compute->input_count > 1 && onnxd_tensor_view_is_present(&compute->inputs[1]))
        ONNXD_TRY(sizes_from_view(compute->node, &compute->inputs[1], &sizes));
    int32_t axis;
    size_t outer, inner;
    ONNXD_TRY(onnxd_op_axis(compute->node, "attribute 'axis'", p->axis, shape->rank, &axis));
    int64_t dim = shape->dims[axis], part = 0, left = dim;
    if (sizes.values != NULL)
        ONNXD_TRY(check_sum(compute->node, &sizes, dim));
    else
        ONNXD_TRY(equal_part(compute->node, p, dim, &part));
    if (onnxd_tensor_view_count(input) == 0)
        return NULL;
    ONNXD_TRY(onnxd_op_around_axis(compute->node, shape, axis, &outer, &inner));
    inner *= onnxd_dtype_size(input->dtype);
    size_t pitch = (size_t)dim * inner;
    const char *from = onnxd_tensor_view_data(input);
    for (uint32_t i = 0; i < compute->output_count; i++) {
        bool is_last = i == compute->output_count - 1;
        int64_t extent = sizes.values != NULL ? size_at(&sizes, i) : is_last ? left : part;
        size_t block = (size_t)extent * inner;
        left -= extent;
        if (onnxd_tensor_view_is_present(&compute->outputs[i]) && block != 0) {
            onnxd_shape part_shape = *shape;
            part_shape.dims[axis] = extent;
            ONNXD_TRY(onnxd_op_check_output(compute, i, &part_shape));
            char *to = onnxd_tensor_view_data(&compute->outputs[i]);
            for (size_t o = 0; o < outer; o++)
                memcpy(to + o * block, from + o * pitch, block);
        }
        from += block;
    }
    return NULL;
}

static bool find_piece(const onnxd_infer *infer, uint32_t piece, size_t *out_first)
{
    const split_params *p = infer->params;
    return onnxd_op_part_along(&infer->inputs[0].shape, p->axis, infer->outputs, piece, out_first);
}

#define COMMON(first, last, set)                                                                   \
    .op_type = "Split", .domain = "", .since = first, .until = last, .min_inputs = 1,              \
    .min_outputs = 1, .max_outputs = ONNXD_OP_VARIADIC,                                            \
    .outputs = {{.types = set, .type_variable = 1, .is_optional = true}},                          \
    .params_bytes = sizeof(split_params), .parse = parse, .infer = infer, .compute = compute,      \
    .pieces = ONNXD_PIECES_CUT, .find_piece = find_piece, .batch_inputs = 1u
#define ATTRIBUTE_ROW(first, last, set)                                                            \
    {                                                                                              \
        COMMON(first, last, set), .max_inputs = 1, .inputs = {                                     \
            {.types = set, .type_variable = 1}                                                     \
        }                                                                                          \
    }
#define INPUT_ROW(first, last, set, sizes, sizes_variable)                                         \
    {                                                                                              \
        COMMON(first, last, set),                                                                  \
            .max_inputs = 2,                                                                       \
            .inputs = {{.types = set, .type_variable = 1},                                         \
                       {.types = sizes, .type_variable = sizes_variable, .is_optional = true}},    \
            .shape_inputs = 1u << 1                                                                \
    }

/* Opset 1 has the sizes as attribute or as an input of the data's type. */
const onnxd_op_def onnxd_op_split[] = {
    INPUT_ROW(1, 1, ONNXD_SET_FLOATS_1, ONNXD_SET_FLOATS_1, 1),
    ATTRIBUTE_ROW(2, 12, ONNXD_SET_ANY_1),
    INPUT_ROW(13, ONNXD_OPSET_MAX, ONNXD_SET_ANY_13, ONNXD_SET(INT64), 0),
    {.op_type = NULL},
};
