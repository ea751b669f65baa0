/* DepthToSpace and SpaceToDepth: channels to and from blocks of b x b pixels. Both are a transpose
 * of six axes; in mode DCR the channel is the fastest part of the depth, in CRD the slowest. */
#include <inttypes.h>

#include "base/size_math.h"
#include "ops/choice.h"
#include "ops/index/depth_space.h"
#include "ops/move.h"
#include "ops/ops.h"
#include "ops/support.h"
#include "ops/types.h"

enum { BATCH, DEPTH, HEIGHT, WIDTH, IMAGE_RANK };

static onnxd_status *parse_block(const onnxd_node *node, const char *const *names,
                                 onnxd_depth_params *p)
{
    ONNXD_TRY(onnxd_attributes_allow(node, names));
    ONNXD_TRY(onnxd_attribute_require(node, "blocksize"));
    return onnxd_attribute_int(node, "blocksize", 1, INT32_MAX, &p->block);
}

static onnxd_status *parse_plain(const onnxd_node *node, int64_t opset, onnxd_arena *arena,
                                 void *params)
{
    (void)opset, (void)arena;
    static const char *const names[] = {"blocksize", NULL};
    return parse_block(node, names, params);
}

static onnxd_status *parse_mode(const onnxd_node *node, int64_t opset, onnxd_arena *arena,
                                void *params)
{
    (void)opset, (void)arena;
    static const char *const names[] = {"blocksize", "mode", NULL};
    onnxd_depth_params *p = params;
    static const char *const modes[] = {"DCR", "CRD"};
    size_t mode = 0;
    ONNXD_TRY(parse_block(node, names, p));
    ONNXD_TRY(onnxd_op_choice(node, "mode", modes, ONNXD_COUNT(modes), &mode));
    p->is_channel_first = mode == 1;
    return NULL;
}

/* One extent divided by `by`; symbolic ones become unknown. */
static onnxd_status *divide(const onnxd_node *node, int32_t axis, int64_t dim, int64_t by,
                            int64_t *out_dim)
{
    if (!onnxd_dim_is_static(dim)) {
        *out_dim = by == 1 ? dim : ONNXD_DIM_UNKNOWN;
        return NULL;
    }
    if (dim % by != 0)
        return onnxd_op_error(
            node, "axis %" PRId32 " has extent %" PRId64 ", must be a multiple of %" PRId64, axis,
            dim, by);
    *out_dim = dim / by;
    return NULL;
}

static onnxd_status *multiply(const onnxd_node *node, int32_t axis, int64_t dim, int64_t by,
                              int64_t *out_dim)
{
    if (!onnxd_dim_is_static(dim)) {
        *out_dim = by == 1 ? dim : ONNXD_DIM_UNKNOWN;
        return NULL;
    }
    if (!onnxd_i64_mul(dim, by, out_dim))
        return onnxd_op_error(
            node, "axis %" PRId32 " has extent %" PRId64 ", times %" PRId64 " is too large", axis,
            dim, by);
    return NULL;
}

typedef onnxd_status *(*scale)(const onnxd_node *node, int32_t axis, int64_t dim, int64_t by,
                               int64_t *out_dim);

static onnxd_status *infer(onnxd_infer *infer, scale depth, scale space)
{
    const onnxd_depth_params *p = infer->params;
    const onnxd_shape *input = &infer->inputs[0].shape;
    onnxd_shape shape = onnxd_shape_of_rank(IMAGE_RANK);
    infer->outputs[0].dtype = infer->inputs[0].dtype;
    if (input->rank >= 0 && input->rank != IMAGE_RANK)
        return onnxd_op_error(infer->node, "input 0 has rank %" PRId32 ", must have %d",
                              input->rank, IMAGE_RANK);
    if (input->rank >= 0) {
        shape.dims[BATCH] = input->dims[BATCH];
        ONNXD_TRY(
            depth(infer->node, DEPTH, input->dims[DEPTH], p->block * p->block, &shape.dims[DEPTH]));
        for (int32_t axis = HEIGHT; axis <= WIDTH; axis++)
            ONNXD_TRY(space(infer->node, axis, input->dims[axis], p->block, &shape.dims[axis]));
    }
    infer->outputs[0].shape = shape;
    return NULL;
}

static onnxd_status *infer_to_space(onnxd_infer *context)
{
    return infer(context, divide, multiply);
}

static onnxd_status *infer_to_depth(onnxd_infer *context)
{
    return infer(context, multiply, divide);
}

/* Reads input axes of extents `in` in the order `permutation`. */
static onnxd_status *transpose(const onnxd_compute *compute, const onnxd_shape *in,
                               const int *permutation)
{
    const onnxd_tensor_view *input = &compute->inputs[0], *output = &compute->outputs[0];
    int64_t natural[ONNXD_MAX_RANK], strides[ONNXD_MAX_RANK] = {0};
    onnxd_shape out = {.rank = in->rank};
    if (onnxd_tensor_view_count(output) == 0)
        return NULL;
    if (onnxd_tensor_view_count(output) != onnxd_tensor_view_count(input))
        return onnxd_op_error_code(ONNXD_INTERNAL, compute->node,
                                   "output 0 was planned with %zu elements, input 0 has %zu",
                                   onnxd_tensor_view_count(output), onnxd_tensor_view_count(input));
    onnxd_strides_of(in, natural);
    for (int32_t i = 0; i < in->rank; i++) {
        out.dims[i] = in->dims[permutation[i]];
        strides[i] = natural[permutation[i]];
    }
    onnxd_move_contiguous(&out, strides, onnxd_dtype_size(input->dtype),
                          onnxd_tensor_view_data(output), onnxd_tensor_view_data(input));
    return NULL;
}

static onnxd_status *compute_to_space(const onnxd_compute *compute)
{
    static const int depth_last[] = {0, 3, 4, 1, 5, 2}, depth_first[] = {0, 1, 4, 2, 5, 3};
    const onnxd_depth_params *p = compute->params;
    const int64_t *dims = compute->inputs[0].shape.dims;
    int64_t b = p->block, channels = dims[DEPTH] / (b * b);
    onnxd_shape shape = {.rank = 6, .dims = {dims[0], b, b, channels, dims[2], dims[3]}};
    if (p->is_channel_first) {
        shape.dims[1] = channels;
        shape.dims[3] = b;
    }
    return transpose(compute, &shape, p->is_channel_first ? depth_first : depth_last);
}

static onnxd_status *compute_to_depth(const onnxd_compute *compute)
{
    static const int depth_last[] = {0, 3, 5, 1, 2, 4}, depth_first[] = {0, 1, 3, 5, 2, 4};
    const onnxd_depth_params *p = compute->params;
    const int64_t *dims = compute->inputs[0].shape.dims;
    int64_t b = p->block;
    onnxd_shape shape = {.rank = 6, .dims = {dims[0], dims[1], dims[2] / b, b, dims[3] / b, b}};
    return transpose(compute, &shape, p->is_channel_first ? depth_first : depth_last);
}

#define ROW(name, direction, first, last, set, parse_function)                                     \
    {                                                                                              \
        .op_type = name, .domain = "", .since = first, .until = last, .min_inputs = 1,             \
        .max_inputs = 1, .min_outputs = 1, .max_outputs = 1,                                       \
        .inputs = {{.types = set, .type_variable = 1}},                                            \
        .outputs = {{.types = set, .type_variable = 1}},                                           \
        .params_bytes = sizeof(onnxd_depth_params), .parse = parse_function,                       \
        .infer = infer_##direction, .compute = compute_##direction, .batch_inputs = 1u             \
    }

const onnxd_op_def onnxd_op_depth_space[] = {
    ROW("DepthToSpace", to_space, 1, 10, ONNXD_SET_ANY_1, parse_plain),
    ROW("DepthToSpace", to_space, 11, 12, ONNXD_SET_ANY_1, parse_mode),
    ROW("DepthToSpace", to_space, 13, ONNXD_OPSET_MAX, ONNXD_SET_ANY_13, parse_mode),
    ROW("SpaceToDepth", to_depth, 1, 12, ONNXD_SET_ANY_1, parse_plain),
    ROW("SpaceToDepth", to_depth, 13, 27, ONNXD_SET_ANY_13, parse_plain),
    ROW("SpaceToDepth", to_depth, 28, ONNXD_OPSET_MAX, ONNXD_SET_ANY_13, parse_mode),
    {.op_type = NULL},
};
