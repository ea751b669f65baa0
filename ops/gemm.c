/* Gemm: alpha * A * B + beta * C, each of A and B transposed or not, C broadcast. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/size_math.h"
#include "graph/attributes.h"
#include "ops/gemm_core.h"
#include "ops/nn.h"
#include "ops/ops.h"
#include "ops/real.h"
#include "ops/support.h"
#include "ops/types.h"

/* ---- attributes and shapes ------------------------------------------------------------------- */

onnxd_status *onnxd_gemm_parse_params(const onnxd_node *node, onnxd_gemm_params *params)
{
    int64_t transposes_a = 0, transposes_b = 0;
    params->alpha = params->beta = 1.0f;
    ONNXD_TRY(onnxd_attribute_float(node, "alpha", &params->alpha));
    ONNXD_TRY(onnxd_attribute_float(node, "beta", &params->beta));
    ONNXD_TRY(onnxd_attribute_int(node, "transA", 0, 1, &transposes_a));
    ONNXD_TRY(onnxd_attribute_int(node, "transB", 0, 1, &transposes_b));
    params->transposes_a = transposes_a != 0;
    params->transposes_b = transposes_b != 0;
    return NULL;
}

static onnxd_status *parse(const onnxd_node *node, int64_t opset, onnxd_arena *arena, void *out)
{
    static const char *const names_1[] = {"alpha", "beta", "broadcast", "transA", "transB", NULL};
    static const char *const names_7[] = {"alpha", "beta", "transA", "transB", NULL};
    onnxd_gemm_params *params = out;
    int64_t broadcasts = opset >= 7;
    (void)arena;
    ONNXD_TRY(onnxd_attributes_allow(node, opset < 7 ? names_1 : names_7));
    ONNXD_TRY(onnxd_gemm_parse_params(node, params));
    ONNXD_TRY(onnxd_attribute_int(node, "broadcast", 0, 1, &broadcasts));
    params->needs_equal_c = broadcasts == 0;
    return NULL;
}

/* Rows and columns of A or B as the product sees them; unknown ones are left as they are. */
static onnxd_status *matrix_dims(const onnxd_infer *context, uint32_t index, bool is_transposed,
                                 int64_t *out_dims)
{
    const onnxd_shape *shape = &context->inputs[index].shape;
    if (shape->rank == ONNXD_RANK_UNKNOWN)
        return NULL;
    if (shape->rank != 2)
        return onnxd_op_error(context->node, "input %" PRIu32 " has rank %" PRId32 ", allowed is 2",
                              index, shape->rank);
    out_dims[0] = shape->dims[is_transposed ? 1 : 0];
    out_dims[1] = shape->dims[is_transposed ? 0 : 1];
    return NULL;
}

static onnxd_status *check_c(const onnxd_infer *context, const onnxd_shape *result)
{
    const onnxd_gemm_params *params = context->params;
    const onnxd_shape *c = &context->inputs[2].shape;
    if (c->rank == ONNXD_RANK_UNKNOWN)
        return NULL;
    bool fits = params->needs_equal_c ? c->rank == 2 : c->rank <= 2;
    for (int32_t i = 0; fits && i < c->rank; i++) {
        int64_t from = c->dims[i], to = result->dims[2 - c->rank + i];
        if (!onnxd_dim_is_static(from) || (from == 1 && !params->needs_equal_c))
            continue;
        fits = !onnxd_dim_is_static(to) || from == to;
    }
    if (fits)
        return NULL;
    char found[ONNXD_SHAPE_TEXT], allowed[ONNXD_SHAPE_TEXT];
    return onnxd_op_error(context->node, "input 2 has shape %s, which does not broadcast to %s",
                          onnxd_shape_format(c, found, sizeof(found)),
                          onnxd_shape_format(result, allowed, sizeof(allowed)));
}

onnxd_status *onnxd_gemm_infer(onnxd_infer *context)
{
    const onnxd_gemm_params *params = context->params;
    int64_t a[2] = {ONNXD_DIM_UNKNOWN, ONNXD_DIM_UNKNOWN};
    int64_t b[2] = {ONNXD_DIM_UNKNOWN, ONNXD_DIM_UNKNOWN};
    ONNXD_TRY(matrix_dims(context, 0, params->transposes_a, a));
    ONNXD_TRY(matrix_dims(context, 1, params->transposes_b, b));
    if (onnxd_dim_is_static(a[1]) && onnxd_dim_is_static(b[0]) && a[1] != b[0])
        return onnxd_op_error(context->node,
                              "it multiplies %" PRId64 " columns of A with %" PRId64 " rows of B",
                              a[1], b[0]);
    onnxd_shape shape = onnxd_shape_of_rank(2);
    shape.dims[0] = a[0];
    shape.dims[1] = b[1];
    if (onnxd_op_has_input(context->node, 2))
        ONNXD_TRY(check_c(context, &shape));
    context->outputs[0].dtype = context->inputs[0].dtype;
    context->outputs[0].shape = shape;
    return NULL;
}

/* ---- kernels --------------------------------------------------------------------------------- */

/* The last step: how C lies over the product. */
typedef struct addition {
    size_t rows, columns;
    const void *c; /* NULL when absent */
    size_t c_row, c_column;
    double alpha, beta;
} addition;

static addition addition_of(const onnxd_compute *context)
{
    const onnxd_gemm_params *params = context->params;
    const onnxd_shape *result = &context->outputs[0].shape;
    addition add = {.rows = (size_t)result->dims[0],
                    .columns = (size_t)result->dims[1],
                    .alpha = (double)params->alpha,
                    .beta = (double)params->beta};
    if (context->input_count <= 2 || !onnxd_tensor_view_is_present(&context->inputs[2]))
        return add;
    const onnxd_shape *c = &context->inputs[2].shape;
    add.c = onnxd_tensor_view_data(&context->inputs[2]);
    if (c->rank >= 1 && c->dims[c->rank - 1] != 1)
        add.c_column = 1;
    if (c->rank == 2 && c->dims[0] != 1)
        add.c_row = (size_t)c->dims[1];
    return add;
}

#define KERNEL_FILE "ops/gemm_kernel.inc"
#include "ops/for_floats.inc"
#undef KERNEL_FILE

static double load_integer(onnxd_dtype dtype, const void *data, size_t index)
{
    switch (dtype) {
    case ONNXD_INT32:
        return ((const int32_t *)data)[index];
    case ONNXD_UINT32:
        return ((const uint32_t *)data)[index];
    case ONNXD_INT64:
        return (double)((const int64_t *)data)[index];
    default:
        return (double)((const uint64_t *)data)[index];
    }
}

/* Rounds towards zero; values beyond the type become its nearest. */
static void store_integer(onnxd_dtype dtype, void *data, size_t index, double value)
{
    bool is_nan = isnan(value);
    switch (dtype) {
    case ONNXD_INT32:
        ((int32_t *)data)[index] = (int32_t)(is_nan ? 0 : fmax(INT32_MIN, fmin(value, INT32_MAX)));
        break;
    case ONNXD_UINT32:
        ((uint32_t *)data)[index] = (uint32_t)(is_nan ? 0 : fmax(0, fmin(value, UINT32_MAX)));
        break;
    case ONNXD_INT64:
        ((int64_t *)data)[index] = is_nan             ? 0
                                   : value >= 0x1p63  ? INT64_MAX
                                   : value <= -0x1p63 ? INT64_MIN
                                                      : (int64_t)value;
        break;
    default:
        ((uint64_t *)data)[index] = is_nan || value <= 0 ? 0
                                    : value >= 0x1p64    ? UINT64_MAX
                                                         : (uint64_t)value;
        break;
    }
}

/* Unscaled integers wrap around like their product; scaled ones go through double. */
static void finish_integers(const addition *add, onnxd_dtype dtype, void *out)
{
    bool is_scaled = add->alpha != 1 || (add->c != NULL && add->beta != 1);
    bool is_wide = onnxd_dtype_size(dtype) == 8;
    for (size_t i = 0; i < add->rows; i++) {
        for (size_t j = 0; j < add->columns; j++) {
            size_t at = i * add->columns + j, c_at = i * add->c_row + j * add->c_column;
            if (is_scaled) {
                double c = add->c != NULL ? add->beta * load_integer(dtype, add->c, c_at) : 0;
                store_integer(dtype, out, at, add->alpha * load_integer(dtype, out, at) + c);
            } else if (add->c != NULL && is_wide) {
                ((uint64_t *)out)[at] += ((const uint64_t *)add->c)[c_at];
            } else if (add->c != NULL) {
                ((uint32_t *)out)[at] += ((const uint32_t *)add->c)[c_at];
            }
        }
    }
}

/* Half types are multiplied in float: widened A and B, and the product. */
static size_t workspace_bytes(const onnxd_compute *context)
{
    size_t count = onnxd_tensor_view_count(&context->outputs[0]);
    if (!onnxd_real_is_half(context->inputs[0].dtype) || count == 0)
        return 0;
    if (onnxd_size_add(count, onnxd_tensor_view_count(&context->inputs[0]), &count) &&
        onnxd_size_add(count, onnxd_tensor_view_count(&context->inputs[1]), &count) &&
        onnxd_size_mul(count, sizeof(float), &count))
        return count;
    return SIZE_MAX;
}

static onnxd_product product_of(const onnxd_compute *context)
{
    const onnxd_gemm_params *params = context->params;
    const onnxd_shape *a = &context->inputs[0].shape, *b = &context->inputs[1].shape;
    size_t a_columns = (size_t)a->dims[1], b_columns = (size_t)b->dims[1];
    bool is_a = params->transposes_a, is_b = params->transposes_b;
    return (onnxd_product){.rows = (size_t)a->dims[is_a ? 1 : 0],
                           .depth = (size_t)a->dims[is_a ? 0 : 1],
                           .columns = (size_t)b->dims[is_b ? 0 : 1],
                           .a_row = is_a ? 1 : a_columns,
                           .a_column = is_a ? a_columns : 1,
                           .b_row = is_b ? 1 : b_columns,
                           .b_column = is_b ? b_columns : 1};
}

static void compute_half(const onnxd_compute *context, const onnxd_product *product, void *out)
{
    const onnxd_tensor_view *inputs = context->inputs;
    addition add = addition_of(context);
    float *a = context->workspace;
    float *b = a + onnxd_tensor_view_count(&inputs[0]);
    float *result = b + onnxd_tensor_view_count(&inputs[1]);
    onnxd_real_widen(inputs[0].dtype, onnxd_tensor_view_data(&inputs[0]), (size_t)(b - a), a);
    onnxd_real_widen(inputs[1].dtype, onnxd_tensor_view_data(&inputs[1]), (size_t)(result - b), b);
    onnxd_product_run(product, ONNXD_FLOAT, a, b, result);
    if (inputs[0].dtype == ONNXD_FLOAT16)
        finish_float16(&add, result, out);
    else
        finish_bfloat16(&add, result, out);
}

onnxd_status *onnxd_gemm_compute(const onnxd_compute *context)
{
    const onnxd_tensor_view *inputs = context->inputs;
    onnxd_dtype dtype = inputs[0].dtype;
    onnxd_product product = product_of(context);
    addition add = addition_of(context);
    void *out = onnxd_tensor_view_data(&context->outputs[0]);
    if (add.rows == 0 || add.columns == 0)
        return NULL;
    if (onnxd_real_is_half(dtype)) {
        compute_half(context, &product, out);
        return NULL;
    }
    onnxd_product_run(&product, dtype, onnxd_tensor_view_data(&inputs[0]),
                      onnxd_tensor_view_data(&inputs[1]), out);
    if (dtype == ONNXD_FLOAT)
        finish_float(&add, out, out);
    else if (dtype == ONNXD_DOUBLE)
        finish_double(&add, out, out);
    else
        finish_integers(&add, dtype, out);
    return NULL;
}

/* ---- definitions ----------------------------------------------------------------------------- */

#define GEMM(first, last, set, inputs_min)                                                         \
    {                                                                                              \
        .op_type = "Gemm", .domain = "", .since = first, .until = last, .min_inputs = inputs_min,  \
        .max_inputs = 3, .min_outputs = 1, .max_outputs = 1,                                       \
        .inputs = {{.types = set, .type_variable = 1},                                             \
                   {.types = set, .type_variable = 1},                                             \
                   {.types = set, .type_variable = 1, .is_optional = inputs_min == 2}},            \
        .outputs = {{.types = set, .type_variable = 1}},                                           \
        .params_bytes = sizeof(onnxd_gemm_params), .parse = parse, .infer = onnxd_gemm_infer,      \
        .workspace_bytes = workspace_bytes, .compute = onnxd_gemm_compute, .batch_inputs = 5u      \
    }

#define SET_9 (ONNXD_PRODUCT_TYPES & ~ONNXD_SET(BFLOAT16))

const onnxd_op_def onnxd_op_gemm[] = {
    GEMM(1, 5, ONNXD_SET_FLOATS_1, 3),
    GEMM(6, 6, ONNXD_SET_FLOATS_1, 3),
    GEMM(7, 8, ONNXD_SET_FLOATS_1, 3),
    GEMM(9, 10, SET_9, 3),
    GEMM(11, 12, SET_9, 2),
    GEMM(13, ONNXD_OPSET_MAX, ONNXD_PRODUCT_TYPES, 2),
    {.op_type = NULL},
};
