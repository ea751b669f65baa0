/* DynamicQuantizeLSTM: LSTM with weights of int8 or uint8. The inputs, and the state at each step,
 * are quantised to uint8 before they meet the weights. It is ai.onnx's LSTM on the numbers that
 * quantised ones stand for. */
#include <inttypes.h>

#include "base/size_math.h"
#include "ops/contrib/affine.h"
#include "ops/contrib/contrib.h"
#include "ops/ops.h"
#include "ops/quant/quantized.h"
#include "ops/recurrent/recurrent.h"
#include "ops/support.h"
#include "ops/types.h"

enum { X, W, R, PEEPHOLES = 7, W_SCALE, W_ZERO, R_SCALE, R_ZERO };

/* The inputs that an LSTM has too, at the same positions. */
#define LSTM_INPUTS 8

/* What `count` numbers are once they are quantised to uint8. */
static void approximate(float *values, size_t count)
{
    uint8_t zero, quantised[ONNXD_QUANT_CHUNK];
    float scale;
    onnxd_quant_choose(values, count, &scale, &zero);
    for (size_t first = 0; first < count; first += ONNXD_QUANT_CHUNK) {
        size_t part = count - first < ONNXD_QUANT_CHUNK ? count - first : ONNXD_QUANT_CHUNK;
        onnxd_quant_store_all(ONNXD_UINT8, values + first, part, scale, zero, quantised);
        for (size_t i = 0; i < part; i++)
            values[first + i] = (float)(quantised[i] - zero) * scale;
    }
}

static onnxd_recurrent_cell cell_of_this(void)
{
    onnxd_recurrent_cell cell = onnxd_lstm_cell;
    cell.approximate = approximate;
    return cell;
}

static onnxd_status *parse(const onnxd_node *node, int64_t opset, onnxd_arena *arena, void *params)
{
    (void)opset, (void)arena;
    static const char *const names[] = {
        "activation_alpha", "activation_beta", "activations",  "clip",
        "direction",        "hidden_size",     "input_forget", NULL};
    return onnxd_recurrent_parse(node, &onnxd_lstm_cell, names, params);
}

/* ---- inference ------------------------------------------------------------------------------- */

/* Weights are [directions, inputs, gates], an LSTM's [directions, gates, inputs]. */
static onnxd_shape transposed(const onnxd_shape *shape)
{
    onnxd_shape result = *shape;
    if (shape->rank == 3) {
        result.dims[1] = shape->dims[2];
        result.dims[2] = shape->dims[1];
    }
    return result;
}

/* A scale or zero point for each direction, or for each gate of each. */
static onnxd_status *check_parameter(const onnxd_infer *infer, uint32_t index, uint32_t weights)
{
    const onnxd_recurrent_params *params = infer->params;
    const onnxd_shape *shape = &infer->inputs[weights].shape;
    int64_t dims[] = {params->directions, shape->rank == 3 ? shape->dims[2] : ONNXD_DIM_UNKNOWN};
    return onnxd_infer_check_dims(infer, index, infer->inputs[index].shape.rank == 1 ? 1 : 2, dims);
}

static onnxd_status *infer(onnxd_infer *infer)
{
    onnxd_tensor_type inputs[LSTM_INPUTS];
    onnxd_infer inner = *infer;
    for (uint32_t i = 0; i < LSTM_INPUTS; i++)
        inputs[i] = infer->inputs[i];
    inputs[W].shape = transposed(&inputs[W].shape);
    inputs[R].shape = transposed(&inputs[R].shape);
    inner.inputs = inputs;
    inner.input_count = LSTM_INPUTS;
    ONNXD_TRY(onnxd_recurrent_infer(&inner, &onnxd_lstm_cell));
    for (uint32_t i = W_SCALE; i <= R_ZERO; i++)
        ONNXD_TRY(check_parameter(infer, i, i < R_SCALE ? W : R));
    return NULL;
}

/* ---- the kernel ------------------------------------------------------------------------------ */

/* The LSTM to run, and where its inputs X, W and R lie in the workspace as floats. */
typedef struct inner_lstm {
    onnxd_compute compute;
    onnxd_tensor_view inputs[LSTM_INPUTS];
    size_t bytes; /* of the workspace; SIZE_MAX where that overflows */
} inner_lstm;

/* Without a workspace the inputs have no data. */
static void make_inner(const onnxd_compute *compute, inner_lstm *out)
{
    onnxd_recurrent_cell cell = cell_of_this();
    out->compute = *compute;
    out->compute.inputs = out->inputs;
    out->compute.input_count = LSTM_INPUTS;
    for (uint32_t i = 0; i < LSTM_INPUTS; i++)
        out->inputs[i] = compute->inputs[i];
    out->bytes = 0;
    for (uint32_t i = X; i <= R; i++) {
        const onnxd_shape *given = &compute->inputs[i].shape;
        onnxd_shape shape = i == X ? *given : transposed(given);
        size_t bytes;
        void *data = compute->workspace == NULL ? NULL : (char *)compute->workspace + out->bytes;
        out->inputs[i] = onnxd_tensor_view_of(data, ONNXD_FLOAT, &shape);
        if (!onnxd_size_mul(onnxd_tensor_view_count(&compute->inputs[i]), sizeof(float), &bytes) ||
            !onnxd_size_add(out->bytes, bytes, &bytes) ||
            !onnxd_size_align(bytes, 64, &out->bytes)) {
            out->bytes = SIZE_MAX;
            return;
        }
    }
    if (compute->workspace != NULL)
        out->compute.workspace = (char *)compute->workspace + out->bytes;
    if (!onnxd_size_add(out->bytes, onnxd_recurrent_workspace_bytes(&out->compute, &cell),
                        &out->bytes))
        out->bytes = SIZE_MAX;
}

static size_t workspace_bytes(const onnxd_compute *compute)
{
    inner_lstm inner;
    if (!onnxd_compute_has_work(compute))
        return 0;
    make_inner(compute, &inner);
    return inner.bytes;
}

/* Weights as floats, transposed. */
static void widen_weights(const onnxd_compute *compute, uint32_t index, uint32_t scale_index,
                          float *out)
{
    const onnxd_tensor_view *weights = &compute->inputs[index];
    const onnxd_tensor_view *scale_view = &compute->inputs[scale_index];
    const onnxd_tensor_view *zero_view = &compute->inputs[scale_index + 1];
    const int64_t *dims = weights->shape.dims;
    size_t directions = (size_t)dims[0], depth = (size_t)dims[1], gates = (size_t)dims[2];
    const float *scales = onnxd_tensor_view_data(scale_view);
    for (size_t d = 0; d < directions; d++) {
        for (size_t g = 0; g < gates; g++, out += depth) {
            size_t scale_at = scale_view->shape.rank == 1 ? d : d * gates + g;
            size_t zero_at = zero_view->shape.rank == 1 ? d : d * gates + g;
            onnxd_affine affine = {.scale = scales[scale_at]};
            onnxd_quant_read_integers(zero_view->dtype, onnxd_tensor_view_data(zero_view), zero_at,
                                      1, &affine.zero);
            onnxd_affine_read(weights->dtype, &affine, onnxd_tensor_view_data(weights),
                              d * depth * gates + g, gates, depth, out);
            for (size_t k = 0; k < depth; k++)
                out[k] *= affine.scale;
        }
    }
}

static onnxd_status *compute(const onnxd_compute *compute)
{
    onnxd_recurrent_cell cell = cell_of_this();
    const float *x = onnxd_tensor_view_data(&compute->inputs[X]);
    inner_lstm inner;
    if (!onnxd_compute_has_work(compute))
        return NULL;
    make_inner(compute, &inner);
    float *own_x = onnxd_tensor_view_data(&inner.inputs[X]);
    size_t count = onnxd_tensor_view_count(&inner.inputs[X]);
    for (size_t i = 0; i < count; i++)
        own_x[i] = x[i];
    approximate(own_x, count);
    widen_weights(compute, W, W_SCALE, onnxd_tensor_view_data(&inner.inputs[W]));
    widen_weights(compute, R, R_SCALE, onnxd_tensor_view_data(&inner.inputs[R]));
    return onnxd_recurrent_compute(&inner.compute, &cell);
}

#define REAL(optional)                                                                             \
    {                                                                                              \
        .types = ONNXD_SET(FLOAT), .is_optional = optional                                         \
    }
#define WEIGHTS                                                                                    \
    {                                                                                              \
        .types = ONNXD_CONTRIB_BYTES, .type_variable = 1                                           \
    }

const onnxd_op_def onnxd_op_dynamic_quantize_lstm[] = {
    {ONNXD_CONTRIB_NAME("DynamicQuantizeLSTM"), .min_inputs = 12, .max_inputs = 12,
     .min_outputs = 0, .max_outputs = 3,
     .inputs = {REAL(false),
                WEIGHTS,
                WEIGHTS,
                REAL(true),
                {.types = ONNXD_SET(INT32), .is_optional = true},
                REAL(true),
                REAL(true),
                REAL(true),
                REAL(false),
                WEIGHTS,
                REAL(false),
                WEIGHTS},
     .outputs = {REAL(true), REAL(true), REAL(true)},
     .params_bytes = sizeof(onnxd_recurrent_params), .parse = parse, .infer = infer,
     .workspace_bytes = workspace_bytes, .compute = compute},
    {.op_type = NULL},
};
