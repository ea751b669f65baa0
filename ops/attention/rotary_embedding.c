/* RotaryEmbedding: pairs of each head's elements turned by angles that depend on the position. */
#include <inttypes.h>

#include "base/size_math.h"
#include "graph/attributes.h"
#include "ops/attention/rotary.h"
#include "ops/ops.h"
#include "ops/support.h"
#include "ops/types.h"

enum { X, COSINES, SINES, POSITIONS };

typedef struct rotary_params {
    bool is_interleaved;
    int64_t heads;       /* 0: not given */
    int64_t rotary_size; /* elements of a head that turn, the first ones; 0: all */
} rotary_params;

static onnxd_status *parse(const onnxd_node *node, int64_t opset, onnxd_arena *arena, void *out)
{
    (void)opset, (void)arena;
    static const char *const names[] = {"interleaved", "num_heads", "rotary_embedding_dim", NULL};
    rotary_params *params = out;
    int64_t interleaved = 0;
    ONNXD_TRY(onnxd_attributes_allow(node, names));
    ONNXD_TRY(onnxd_attribute_int(node, "interleaved", 0, 1, &interleaved));
    ONNXD_TRY(onnxd_attribute_int(node, "num_heads", 0, INT32_MAX, &params->heads));
    ONNXD_TRY(
        onnxd_attribute_int(node, "rotary_embedding_dim", 0, INT32_MAX, &params->rotary_size));
    params->is_interleaved = interleaved != 0;
    if (params->rotary_size % 2 != 0)
        return onnxd_op_error(node,
                              "attribute 'rotary_embedding_dim' is %" PRId64 ", but must be even",
                              params->rotary_size);
    return NULL;
}

/* Elements of a head, -1 when not known. */
static onnxd_status *head_size_of(const onnxd_node *node, const rotary_params *params,
                                  const onnxd_shape *x, int64_t *out_size)
{
    *out_size = ONNXD_DIM_UNKNOWN;
    if (x->rank == ONNXD_RANK_UNKNOWN)
        return NULL;
    if (x->rank != 3 && x->rank != 4)
        return onnxd_op_error(node, "input 0 has rank %" PRId32 ", allowed are 3 and 4", x->rank);
    if (x->rank == 3 && params->heads == 0)
        return onnxd_op_error(node, "an input of rank 3 needs the attribute 'num_heads'");
    int64_t size = x->dims[x->rank - 1];
    if (!onnxd_dim_is_static(size))
        return NULL;
    if (x->rank == 3) {
        if (size % params->heads != 0)
            return onnxd_op_error(node,
                                  "the last dimension of input 0 is %" PRId64 ", which %" PRId64
                                  " heads do not divide",
                                  size, params->heads);
        size /= params->heads;
    }
    if (params->rotary_size > size || (params->rotary_size == 0 && size % 2 != 0))
        return onnxd_op_error(node,
                              "heads have %" PRId64
                              " elements, but an even number of at least %" PRId64 " is needed",
                              size, params->rotary_size);
    *out_size = size;
    return NULL;
}

static onnxd_status *infer(onnxd_infer *context)
{
    const rotary_params *params = context->params;
    const onnxd_shape *x = &context->inputs[X].shape;
    int64_t size, batch = ONNXD_DIM_UNKNOWN, length = ONNXD_DIM_UNKNOWN;
    ONNXD_TRY(head_size_of(context->node, params, x, &size));
    if (x->rank != ONNXD_RANK_UNKNOWN) {
        batch = x->dims[0];
        length = x->dims[x->rank - 2];
        if (x->rank == 3)
            length = x->dims[1];
    }
    int64_t half = params->rotary_size != 0    ? params->rotary_size / 2
                   : onnxd_dim_is_static(size) ? size / 2
                                               : ONNXD_DIM_UNKNOWN;
    if (onnxd_op_has_input(context->node, POSITIONS)) {
        int64_t cached = ONNXD_DIM_UNKNOWN;
        if (context->inputs[COSINES].shape.rank == 2)
            cached = context->inputs[COSINES].shape.dims[0];
        ONNXD_TRY(
            onnxd_infer_check_dims(context, COSINES, 2, (int64_t[]){ONNXD_DIM_UNKNOWN, half}));
        ONNXD_TRY(onnxd_infer_check_dims(context, SINES, 2, (int64_t[]){cached, half}));
        ONNXD_TRY(onnxd_infer_check_dims(context, POSITIONS, 2, (int64_t[]){batch, length}));
    } else {
        ONNXD_TRY(onnxd_infer_check_dims(context, COSINES, 3, (int64_t[]){batch, length, half}));
        ONNXD_TRY(onnxd_infer_check_dims(context, SINES, 3, (int64_t[]){batch, length, half}));
    }
    context->outputs[0] = context->inputs[X];
    return NULL;
}

/* The heads as [batch][heads][length][size] with strides. */
typedef struct extent {
    size_t batch, heads, length, size, rotary_size;
    size_t batch_stride, head_stride, row_stride;
} extent;

static extent extent_of(const onnxd_compute *context)
{
    const rotary_params *params = context->params;
    const onnxd_shape *x = &context->inputs[X].shape;
    extent e = {.batch = (size_t)x->dims[0]};
    if (x->rank == 3) {
        e.length = (size_t)x->dims[1];
        e.heads = (size_t)params->heads;
        e.size = (size_t)x->dims[2] / e.heads;
        e.head_stride = e.size;
        e.row_stride = (size_t)x->dims[2];
        e.batch_stride = e.length * e.row_stride;
    } else {
        e.heads = (size_t)x->dims[1];
        e.length = (size_t)x->dims[2];
        e.size = (size_t)x->dims[3];
        e.row_stride = e.size;
        e.head_stride = e.length * e.size;
        e.batch_stride = e.heads * e.head_stride;
    }
    e.rotary_size = params->rotary_size != 0 ? (size_t)params->rotary_size : e.size;
    return e;
}

/* A head, what becomes of it, and the cosines and sines of a position. */
static size_t workspace_bytes(const onnxd_compute *context)
{
    if (onnxd_tensor_view_count(&context->inputs[X]) == 0)
        return 0;
    extent e = extent_of(context);
    size_t bytes;
    return onnxd_size_mul(e.size, 3 * sizeof(float), &bytes) ? bytes : SIZE_MAX;
}

static void turn_position(const onnxd_compute *context, const extent *e, size_t batch,
                          size_t position, size_t angle)
{
    const rotary_params *params = context->params;
    const onnxd_tensor_view *inputs = context->inputs;
    onnxd_dtype dtype = inputs[X].dtype;
    onnxd_rotary rotary = {.cosines = onnxd_tensor_view_data(&inputs[COSINES]),
                           .sines = onnxd_tensor_view_data(&inputs[SINES]),
                           .dtype = dtype,
                           .half = e->rotary_size / 2,
                           .size = e->size,
                           .is_interleaved = params->is_interleaved};
    size_t at = batch * e->batch_stride + position * e->row_stride;
    onnxd_rotary_heads heads = {onnxd_tensor_view_data(&inputs[X]), dtype, at, e->head_stride};
    onnxd_rotary_turn(&rotary, angle, e->heads, &heads, dtype,
                      onnxd_tensor_view_data(&context->outputs[0]), at, e->head_stride,
                      context->workspace);
}

static onnxd_status *compute(const onnxd_compute *context)
{
    const onnxd_tensor_view *inputs = context->inputs;
    bool has_positions = onnxd_compute_input(context, POSITIONS) != NULL;
    if (onnxd_tensor_view_count(&inputs[X]) == 0)
        return NULL;
    extent e = extent_of(context);
    for (size_t b = 0; b < e.batch; b++)
        for (size_t s = 0; s < e.length; s++) {
            size_t angle = b * e.length + s;
            if (has_positions) {
                int64_t position = onnxd_op_int_at(&inputs[POSITIONS], angle);
                int64_t limit = inputs[COSINES].shape.dims[0];
                if (position < 0 || position >= limit)
                    return onnxd_op_error(context->node,
                                          "element %zu of input 3 is %" PRId64
                                          ", but the caches have %" PRId64 " positions",
                                          angle, position, limit);
                angle = (size_t)position;
            }
            turn_position(context, &e, b, s, angle);
        }
    return NULL;
}

#define FLOATS (ONNXD_SET_FLOATS & ~ONNXD_SET(DOUBLE))

const onnxd_op_def onnxd_op_rotary_embedding[] = {
    {.op_type = "RotaryEmbedding",
     .domain = "",
     .since = 23,
     .until = ONNXD_OPSET_MAX,
     .min_inputs = 3,
     .max_inputs = 4,
     .min_outputs = 1,
     .max_outputs = 1,
     .inputs = {{.types = FLOATS, .type_variable = 1},
                {.types = FLOATS, .type_variable = 1},
                {.types = FLOATS, .type_variable = 1},
                {.types = ONNXD_SET(INT64), .is_optional = true}},
     .outputs = {{.types = FLOATS, .type_variable = 1}},
     .params_bytes = sizeof(rotary_params),
     .parse = parse,
     .infer = infer,
     .workspace_bytes = workspace_bytes,
     .compute = compute},
    {.op_type = NULL},
};
