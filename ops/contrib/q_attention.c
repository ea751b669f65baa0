/* QAttention: Attention with an input and weights of int8 or uint8. */
#include <inttypes.h>
#include <string.h>

#include "ops/contrib/affine.h"
#include "ops/contrib/columns.h"
#include "ops/contrib/contrib.h"
#include "ops/contrib/packed_attention.h"
#include "ops/ops.h"
#include "ops/quant/matrix_parameter.h"
#include "ops/support.h"
#include "ops/types.h"

enum { X, WEIGHTS, BIAS, X_SCALE, W_SCALE, MASK, X_ZERO, W_ZERO, PAST };

static size_t scratch_bytes(const onnxd_compute *context, const onnxd_packed_product *product)
{
    (void)context, (void)product;
    return ONNXD_INTEGER_PRODUCT_WORKSPACE;
}

/* The sums lie where their real numbers come to lie. */
static void multiply(const onnxd_compute *context, const onnxd_packed_product *product,
                     void *scratch, float *out)
{
    const onnxd_tensor_view *inputs = context->inputs, *w_scale = &inputs[W_SCALE];
    const onnxd_matmul_extent extent = {
        .rows = product->rows, .depth = product->width, .columns = product->columns};
    onnxd_integer_vectors x =
        onnxd_integer_factor(&inputs[X], onnxd_compute_input(context, X_ZERO), &extent, 0, true);
    onnxd_integer_vectors w = onnxd_integer_factor(
        &inputs[WEIGHTS], onnxd_compute_input(context, W_ZERO), &extent, 0, false);
    onnxd_matrix_parameter p =
        onnxd_matrix_parameter_of(&w_scale->shape, &inputs[WEIGHTS].shape, ONNXD_PER_COLUMN);
    float x_scale, factors[ONNXD_QUANT_CHUNK];
    int32_t sums[ONNXD_QUANT_CHUNK];
    onnxd_integer_product(product->rows, product->columns, product->width, &x.side, &w.side,
                          scratch, (int32_t *)(void *)out, product->columns);
    onnxd_quant_read_floats(inputs[X_SCALE].dtype, onnxd_tensor_view_data(&inputs[X_SCALE]), 0, 1,
                            &x_scale);
    for (size_t j = 0; j < product->columns; j += ONNXD_QUANT_CHUNK) {
        size_t rest = product->columns - j,
               part = rest < ONNXD_QUANT_CHUNK ? rest : ONNXD_QUANT_CHUNK;
        onnxd_columns_read(w_scale, 0, p.column_step, j, part, factors);
        for (size_t i = 0; i < part; i++)
            factors[i] *= x_scale;
        for (size_t row = 0; row < product->rows; row++) {
            float *to = out + row * product->columns + j;
            memcpy(sums, to, part * sizeof(*sums));
            for (size_t i = 0; i < part; i++)
                to[i] = (float)sums[i] * factors[i];
        }
    }
}

static const onnxd_packed_form form = {
    .mask = MASK, .past = PAST, .real = BIAS, .scratch_bytes = scratch_bytes, .multiply = multiply};

static onnxd_status *parse(const onnxd_node *node, int64_t opset, onnxd_arena *arena, void *params)
{
    (void)opset, (void)arena;
    static const char *const names[] = {
        "do_rotary", "mask_filter_value", "num_heads", "past_present_share_buffer",
        "scale",     "unidirectional",    NULL};
    return onnxd_packed_attention_parse(node, names, &form, params);
}

static onnxd_status *infer(onnxd_infer *infer)
{
    const onnxd_tensor_type *inputs = infer->inputs;
    ONNXD_TRY(onnxd_packed_attention_infer(infer));
    ONNXD_TRY(onnxd_affine_check_input(infer, X_SCALE));
    ONNXD_TRY(onnxd_affine_check_input(infer, X_ZERO));
    ONNXD_TRY(onnxd_matrix_parameter_check(infer->node, W_SCALE, &inputs[W_SCALE].shape,
                                           &inputs[WEIGHTS].shape, ONNXD_PER_COLUMN));
    if (!onnxd_op_has_input(infer->node, W_ZERO))
        return NULL;
    return onnxd_matrix_parameter_check(infer->node, W_ZERO, &inputs[W_ZERO].shape,
                                        &inputs[WEIGHTS].shape, ONNXD_PER_COLUMN);
}

#define BYTES(variable, optional)                                                                  \
    {                                                                                              \
        .types = ONNXD_CONTRIB_BYTES, .type_variable = variable, .is_optional = optional           \
    }
#define REAL(optional)                                                                             \
    {                                                                                              \
        .types = ONNXD_SET(FLOAT) | ONNXD_SET(FLOAT16), .type_variable = 3,                        \
        .is_optional = optional                                                                    \
    }

const onnxd_op_def onnxd_op_q_attention[] = {
    {ONNXD_CONTRIB_NAME("QAttention"), .min_inputs = 5, .max_inputs = 9, .min_outputs = 1,
     .max_outputs = 2,
     .inputs = {BYTES(1, false),
                BYTES(2, false),
                REAL(false),
                REAL(false),
                REAL(false),
                {.types = ONNXD_SET(INT32), .is_optional = true},
                BYTES(1, true),
                BYTES(2, true),
                REAL(true)},
     .outputs = {REAL(false), REAL(true)}, .params_bytes = sizeof(onnxd_packed_attention_params),
     .parse = parse, .infer = infer, .workspace_bytes = onnxd_packed_attention_workspace_bytes,
     .compute = onnxd_packed_attention_compute},
    {.op_type = NULL},
};
