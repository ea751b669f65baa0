/* RotaryEmbedding of com.microsoft: the standard's, with positions as the second input, which may
 * be one first position for all. The attributes `scale` and `is_packed_batching` change nothing, as
 * in ONNX Runtime. */
#include <inttypes.h>

#include "base/size_math.h"
#include "ops/attention/rotary.h"
#include "ops/contrib/contrib.h"
#include "ops/ops.h"
#include "ops/support.h"
#include "ops/types.h"

enum { X, POSITIONS, COSINES, SINES };

typedef struct rotary_params {
    int64_t is_interleaved, is_packed;
    int64_t heads;       /* 0: as many as there is room for */
    int64_t rotary_size; /* elements of a head that turn, the first ones; 0: all */
    float scale;
} rotary_params;

static onnxd_status *parse(const onnxd_node *node, int64_t opset, onnxd_arena *arena, void *out)
{
    (void)opset, (void)arena;
    static const char *const names[] = {
        "interleaved", "is_packed_batching", "num_heads", "rotary_embedding_dim", "scale", NULL};
    rotary_params *params = out;
    ONNXD_TRY(onnxd_attributes_allow(node, names));
    ONNXD_TRY(onnxd_attribute_int(node, "interleaved", 0, 1, &params->is_interleaved));
    ONNXD_TRY(onnxd_attribute_int(node, "is_packed_batching", 0, 1, &params->is_packed));
    ONNXD_TRY(onnxd_attribute_int(node, "num_heads", 0, INT32_MAX, &params->heads));
    ONNXD_TRY(
        onnxd_attribute_int(node, "rotary_embedding_dim", 0, INT32_MAX, &params->rotary_size));
    ONNXD_TRY(onnxd_attribute_float(node, "scale", &params->scale));
    if (params->rotary_size % 2 != 0)
        return onnxd_op_error(node,
                              "attribute 'rotary_embedding_dim' is %" PRId64 ", but must be even",
                              params->rotary_size);
    if (params->rotary_size != 0 && params->heads == 0)
        return onnxd_op_error(node,
                              "attribute 'rotary_embedding_dim' needs the attribute 'num_heads'");
    return NULL;
}

/* Elements of a head of which 2 * half turn; unknown where it is not known. */
static onnxd_status *head_size_of(const onnxd_node *node, const rotary_params *params,
                                  const onnxd_shape *x, int64_t half, int64_t *out_size)
{
    *out_size = ONNXD_DIM_UNKNOWN;
    if (x->rank == ONNXD_RANK_UNKNOWN || !onnxd_dim_is_static(x->dims[x->rank - 1]) ||
        !onnxd_dim_is_static(half))
        return NULL;
    int64_t width = x->dims[x->rank - 1], size = width;
    if (x->rank == 3)
        size = params->rotary_size != 0 ? width / params->heads : 2 * half;
    if (size == 0 ? width != 0 : width % size != 0)
        return onnxd_op_error(node,
                              "the last dimension of input 0 is %" PRId64
                              ", no multiple of the head's %" PRId64 " elements",
                              width, size);
    if (x->rank == 3 && params->rotary_size != 0 && width % params->heads != 0)
        return onnxd_op_error(node,
                              "the last dimension of input 0 is %" PRId64 ", which %" PRId64
                              " heads do not divide",
                              width, params->heads);
    int64_t turning = params->rotary_size != 0 ? params->rotary_size : size;
    if (turning != 2 * half || turning > size)
        return onnxd_op_error(node,
                              "%" PRId64 " of a head's %" PRId64
                              " elements turn, but the caches have %" PRId64 " columns",
                              turning, size, half);
    *out_size = size;
    return NULL;
}

static onnxd_status *check_positions(const onnxd_infer *context, int64_t batch, int64_t length)
{
    const onnxd_shape *shape = &context->inputs[POSITIONS].shape;
    if (shape->rank == 1)
        return onnxd_infer_check_dims(context, POSITIONS, 1, (int64_t[]){1});
    return onnxd_infer_check_dims(context, POSITIONS, 2, (int64_t[]){batch, length});
}

static onnxd_status *infer(onnxd_infer *context)
{
    const onnxd_shape *x = &context->inputs[X].shape, *cosines = &context->inputs[COSINES].shape;
    int64_t batch = ONNXD_DIM_UNKNOWN, length = ONNXD_DIM_UNKNOWN, size;
    int64_t cache[] = {ONNXD_DIM_UNKNOWN, ONNXD_DIM_UNKNOWN};
    if (x->rank != ONNXD_RANK_UNKNOWN) {
        if (x->rank != 3 && x->rank != 4)
            return onnxd_op_error(context->node,
                                  "input 0 has rank %" PRId32 ", allowed are 3 and 4", x->rank);
        batch = x->dims[0];
        length = x->dims[x->rank == 3 ? 1 : 2];
    }
    ONNXD_TRY(check_positions(context, batch, length));
    ONNXD_TRY(onnxd_infer_check_dims(context, COSINES, 2, cache));
    if (cosines->rank == 2) {
        cache[0] = cosines->dims[0];
        cache[1] = cosines->dims[1];
    }
    ONNXD_TRY(onnxd_infer_check_dims(context, SINES, 2, cache));
    if (onnxd_dim_is_static(cache[1]) && cache[1] > INT32_MAX)
        return onnxd_op_error(context->node, "input 2 has %" PRId64 " columns, allowed are %d",
                              cache[1], INT32_MAX);
    ONNXD_TRY(head_size_of(context->node, context->params, x, cache[1], &size));
    context->outputs[0] = context->inputs[X];
    return NULL;
}

/* ---- kernel ---------------------------------------------------------------------------------- */

static size_t size_of(const onnxd_compute *context)
{
    const rotary_params *params = context->params;
    const onnxd_shape *x = &context->inputs[X].shape;
    if (x->rank == 4)
        return (size_t)x->dims[3];
    return params->rotary_size != 0 ? (size_t)(x->dims[2] / params->heads)
                                    : 2 * (size_t)context->inputs[COSINES].shape.dims[1];
}

static size_t workspace_bytes(const onnxd_compute *context)
{
    size_t bytes;
    if (onnxd_tensor_view_count(&context->inputs[X]) == 0)
        return 0;
    return onnxd_size_mul(size_of(context), 3 * sizeof(float), &bytes) ? bytes : SIZE_MAX;
}

/* The row of the caches for number `index` of all positions. */
static onnxd_status *row_of(const onnxd_compute *context, size_t index, size_t length,
                            size_t *out_row)
{
    const onnxd_tensor_view *positions = &context->inputs[POSITIONS];
    bool is_first = positions->shape.rank == 1;
    size_t element = is_first ? 0 : index;
    int64_t position = onnxd_op_int_at(positions, element);
    int64_t limit = context->inputs[COSINES].shape.dims[0];
    int64_t step = is_first ? (int64_t)(index % length) : 0;
    if (position < 0 || position >= limit - step)
        return onnxd_op_error(context->node,
                              "element %zu of input 1 is %" PRId64 ", allowed are 0 to %" PRId64
                              " for %" PRId64 " positions in the caches",
                              element, position, limit - step - 1, limit);
    *out_row = (size_t)(position + step);
    return NULL;
}

static onnxd_status *compute(const onnxd_compute *context)
{
    const rotary_params *params = context->params;
    const onnxd_tensor_view *inputs = context->inputs;
    const onnxd_shape *x = &inputs[X].shape;
    if (onnxd_tensor_view_count(&inputs[X]) == 0)
        return NULL;
    onnxd_rotary rotary = {.cosines = onnxd_tensor_view_data(&inputs[COSINES]),
                           .sines = onnxd_tensor_view_data(&inputs[SINES]),
                           .dtype = inputs[COSINES].dtype,
                           .half = (size_t)inputs[COSINES].shape.dims[1],
                           .size = size_of(context),
                           .is_interleaved = params->is_interleaved != 0};
    bool is_packed = x->rank == 3;
    size_t length = (size_t)x->dims[is_packed ? 1 : 2];
    size_t heads = is_packed ? (size_t)x->dims[2] / rotary.size : (size_t)x->dims[1];
    size_t position_stride = is_packed ? heads * rotary.size : rotary.size;
    onnxd_rotary_heads in = {.data = onnxd_tensor_view_data(&inputs[X]),
                             .dtype = inputs[X].dtype,
                             .head = is_packed ? rotary.size : length * rotary.size};
    void *out = onnxd_tensor_view_data(&context->outputs[0]);
    for (size_t i = 0; i < (size_t)x->dims[0] * length; i++) {
        size_t row = 0;
        ONNXD_TRY(row_of(context, i, length, &row));
        in.at = i / length * length * heads * rotary.size + i % length * position_stride;
        onnxd_rotary_turn(&rotary, row, heads, &in, in.dtype, out, in.at, in.head,
                          context->workspace);
    }
    return NULL;
}

#define TYPES (ONNXD_SET_FLOATS & ~ONNXD_SET(DOUBLE))
#define FORMAL                                                                                     \
    {                                                                                              \
        .types = TYPES, .type_variable = 1                                                         \
    }

const onnxd_op_def onnxd_op_contrib_rotary_embedding[] = {
    {ONNXD_CONTRIB_NAME("RotaryEmbedding"), .min_inputs = 4, .max_inputs = 4, .min_outputs = 1,
     .max_outputs = 1, .inputs = {FORMAL, {.types = ONNXD_SET(INT64)}, FORMAL, FORMAL},
     .outputs = {FORMAL}, .params_bytes = sizeof(rotary_params), .parse = parse, .infer = infer,
     .workspace_bytes = workspace_bytes, .compute = compute},
    {.op_type = NULL},
};
