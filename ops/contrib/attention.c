/* Attention of com.microsoft: the projections of Q, K and V in one product, then scaled dot-product
 * attention with masks and a cache. */
#include "base/size_math.h"
#include "ops/contrib/attention_pieces.h"
#include "ops/contrib/contrib.h"
#include "ops/contrib/packed_attention.h"
#include "ops/gemm_core.h"
#include "ops/ops.h"
#include "ops/real.h"
#include "ops/support.h"
#include "ops/types.h"

enum { X, WEIGHTS, BIAS, MASK, PAST, ATTENTION_BIAS, PAST_LENGTH };

/* Half types are widened before. */
static void carve(const onnxd_compute *context, onnxd_carver *carver, float **out_x,
                  float **out_weights)
{
    const onnxd_tensor_view *x = &context->inputs[X], *weights = &context->inputs[WEIGHTS];
    bool is_half = onnxd_real_is_half(x->dtype);
    *out_x = onnxd_carve(carver, is_half ? onnxd_tensor_view_count(x) : 0, sizeof(float));
    *out_weights =
        onnxd_carve(carver, is_half ? onnxd_tensor_view_count(weights) : 0, sizeof(float));
}

static size_t scratch_bytes(const onnxd_compute *context, const onnxd_packed_product *product)
{
    onnxd_carver carver = {.base = NULL};
    float *x, *weights;
    (void)product;
    carve(context, &carver, &x, &weights);
    return carver.used;
}

static void multiply(const onnxd_compute *context, const onnxd_packed_product *extent,
                     void *scratch, float *out)
{
    const onnxd_tensor_view *x = &context->inputs[X], *weights = &context->inputs[WEIGHTS];
    const void *left = onnxd_tensor_view_data(x), *right = onnxd_tensor_view_data(weights);
    if (onnxd_real_is_half(x->dtype)) {
        onnxd_carver carver = {.base = scratch};
        float *own_x, *own_weights;
        carve(context, &carver, &own_x, &own_weights);
        onnxd_real_widen(x->dtype, left, onnxd_tensor_view_count(x), own_x);
        onnxd_real_widen(x->dtype, right, onnxd_tensor_view_count(weights), own_weights);
        left = own_x;
        right = own_weights;
    }
    const onnxd_product product = {
        extent->rows, extent->width, extent->columns, extent->width, 1, extent->columns, 1};
    onnxd_product_run(&product, ONNXD_FLOAT, left, right, out);
}

static const onnxd_packed_form form = {.mask = MASK,
                                       .past = PAST,
                                       .score_bias = ATTENTION_BIAS,
                                       .past_length = PAST_LENGTH,
                                       .real = X,
                                       .scratch_bytes = scratch_bytes,
                                       .multiply = multiply};

static onnxd_status *parse(const onnxd_node *node, int64_t opset, onnxd_arena *arena, void *params)
{
    (void)opset, (void)arena;
    static const char *const names[] = {"do_rotary",
                                        "mask_filter_value",
                                        "num_heads",
                                        "past_present_share_buffer",
                                        "qkv_hidden_sizes",
                                        "rotary_embedding_dim",
                                        "scale",
                                        "unidirectional",
                                        NULL};
    return onnxd_packed_attention_parse(node, names, &form, params);
}

#define TYPES (ONNXD_SET_FLOATS & ~ONNXD_SET(DOUBLE))
#define FORMAL(optional)                                                                           \
    {                                                                                              \
        .types = TYPES, .type_variable = 1, .is_optional = optional                                \
    }
#define INDEX                                                                                      \
    {                                                                                              \
        .types = ONNXD_SET(INT32), .is_optional = true                                             \
    }

const onnxd_op_def onnxd_op_contrib_attention[] = {
    {ONNXD_CONTRIB_NAME("Attention"), .min_inputs = 2, .max_inputs = 7, .min_outputs = 1,
     .max_outputs = 2,
     .inputs = {FORMAL(false), FORMAL(false), FORMAL(true), INDEX, FORMAL(true), FORMAL(true),
                INDEX},
     .outputs = {FORMAL(false), FORMAL(true)},
     .params_bytes = sizeof(onnxd_packed_attention_params), .parse = parse,
     .infer = onnxd_packed_attention_infer,
     .workspace_bytes = onnxd_packed_attention_workspace_bytes,
     .compute = onnxd_packed_attention_compute},
    {.op_type = NULL},
};
