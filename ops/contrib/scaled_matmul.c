/* MatMulIntegerToFloat and DynamicQuantizeMatMul: matrix products of quantised factors as real
 * numbers. */
#include <inttypes.h>

#include "base/size_math.h"
#include "ops/contrib/affine.h"
#include "ops/contrib/columns.h"
#include "ops/contrib/contrib.h"
#include "ops/nn.h"
#include "ops/ops.h"
#include "ops/quant/matrix_parameter.h"
#include "ops/real.h"
#include "ops/support.h"
#include "ops/types.h"

/* Where an operator has what. A itself is input 0, B input 1. */
typedef struct positions {
    uint32_t a_scale, a_zero; /* 0: A is quantised here */
    uint32_t b_scale, b_zero, bias;
} positions;

enum { A, B };
static const positions integer_to_float = {2, 4, 3, 5, 6};
static const positions dynamic = {0, 0, 2, 3, 4};

/* ---- inference ------------------------------------------------------------------------------- */

static onnxd_status *infer_by(onnxd_infer *infer, const positions *at)
{
    const onnxd_shape *b = &infer->inputs[B].shape;
    onnxd_tensor_type *output = &infer->outputs[0];
    output->dtype = infer->inputs[at->b_scale].dtype;
    ONNXD_TRY(onnxd_matmul_infer_shape(infer->node, &infer->inputs[A].shape, b, &output->shape));
    ONNXD_TRY(onnxd_matrix_parameter_check(infer->node, at->b_scale,
                                           &infer->inputs[at->b_scale].shape, b, ONNXD_PER_COLUMN));
    if (onnxd_op_has_input(infer->node, at->b_zero))
        ONNXD_TRY(onnxd_matrix_parameter_check(
            infer->node, at->b_zero, &infer->inputs[at->b_zero].shape, b, ONNXD_PER_COLUMN));
    int64_t columns = b->rank >= 2 ? b->dims[b->rank - 1] : b->rank == 1 ? 1 : ONNXD_DIM_UNKNOWN;
    return onnxd_infer_check_dims(infer, at->bias, 1, &columns);
}

static onnxd_status *infer_integer_to_float(onnxd_infer *infer)
{
    ONNXD_TRY(onnxd_affine_check_input(infer, integer_to_float.a_scale));
    ONNXD_TRY(onnxd_affine_check_input(infer, integer_to_float.a_zero));
    return infer_by(infer, &integer_to_float);
}

static onnxd_status *infer_dynamic(onnxd_infer *infer)
{
    return infer_by(infer, &dynamic);
}

/* ---- the kernel ------------------------------------------------------------------------------ */

/* Sums of one matrix, room for the product, A quantised. */
static size_t workspace_by(const onnxd_compute *compute, const positions *at)
{
    if (onnxd_tensor_view_count(&compute->outputs[0]) == 0)
        return 0;
    onnxd_matmul_extent e =
        onnxd_matmul_extent_of(&compute->inputs[A].shape, &compute->inputs[B].shape);
    size_t bytes, own = at->a_scale == 0 ? onnxd_tensor_view_count(&compute->inputs[A]) : 0;
    return onnxd_size_mul(e.rows, e.columns, &bytes) &&
                   onnxd_size_mul(bytes, sizeof(int32_t), &bytes) &&
                   onnxd_size_add(bytes, ONNXD_INTEGER_PRODUCT_WORKSPACE, &bytes) &&
                   onnxd_size_add(bytes, own, &bytes)
               ? bytes
               : SIZE_MAX;
}

static size_t workspace_integer_to_float(const onnxd_compute *compute)
{
    return workspace_by(compute, &integer_to_float);
}

static size_t workspace_dynamic(const onnxd_compute *compute)
{
    return workspace_by(compute, &dynamic);
}

/* The left factor, quantised. */
typedef struct left_factor {
    const onnxd_tensor_view *data, *zeros;
    float scale;
} left_factor;

/* sums * scales + bias of one matrix, as elements `start` and following of the output. */
static void scale_sums(const onnxd_compute *compute, const positions *at, float a_scale,
                       const onnxd_matmul_extent *e, size_t b_matrix, size_t start)
{
    const onnxd_tensor_view *b_scale = &compute->inputs[at->b_scale];
    const onnxd_tensor_view *bias = onnxd_compute_input(compute, at->bias);
    const onnxd_tensor_view *output = &compute->outputs[0];
    const int32_t *sums = compute->workspace;
    onnxd_matrix_parameter p =
        onnxd_matrix_parameter_of(&b_scale->shape, &compute->inputs[B].shape, ONNXD_PER_COLUMN);
    float factors[ONNXD_QUANT_CHUNK], biases[ONNXD_QUANT_CHUNK] = {0}, values[ONNXD_QUANT_CHUNK];
    for (size_t j = 0; j < e->columns; j += ONNXD_QUANT_CHUNK) {
        size_t part = e->columns - j < ONNXD_QUANT_CHUNK ? e->columns - j : ONNXD_QUANT_CHUNK;
        onnxd_columns_read(b_scale, b_matrix * p.matrix_stride, p.column_step, j, part, factors);
        if (bias != NULL)
            onnxd_columns_read(bias, 0, 1, j, part, biases);
        for (size_t x = 0; x < part; x++)
            factors[x] *= a_scale;
        for (size_t i = 0; i < e->rows; i++) {
            size_t from = i * e->columns + j;
            for (size_t x = 0; x < part; x++)
                values[x] = (float)sums[from + x] * factors[x] + biases[x];
            onnxd_real_write_float(output->dtype, values, part, onnxd_tensor_view_data(output),
                                   start + from);
        }
    }
}

static void multiply(const onnxd_compute *compute, const positions *at, const left_factor *left)
{
    const onnxd_tensor_view *right = &compute->inputs[B];
    onnxd_matmul_extent e = onnxd_matmul_extent_of(&left->data->shape, &right->shape);
    size_t batches = onnxd_matmul_batches(&e), size = e.rows * e.columns;
    int32_t *sums = compute->workspace;
    for (size_t batch = 0; batch < batches; batch++) {
        size_t a_matrix, b_matrix;
        onnxd_matmul_locate(&e, batch, &a_matrix, &b_matrix);
        onnxd_integer_vectors a = onnxd_integer_factor(left->data, left->zeros, &e, a_matrix, true);
        onnxd_integer_vectors b = onnxd_integer_factor(
            right, onnxd_compute_input(compute, at->b_zero), &e, b_matrix, false);
        onnxd_integer_product(e.rows, e.columns, e.depth, &a.side, &b.side, sums + size, sums,
                              e.columns);
        scale_sums(compute, at, left->scale, &e, b_matrix, batch * size);
    }
}

static onnxd_status *compute_integer_to_float(const onnxd_compute *compute)
{
    const onnxd_tensor_view *scale = &compute->inputs[integer_to_float.a_scale];
    left_factor left = {&compute->inputs[A], onnxd_compute_input(compute, integer_to_float.a_zero),
                        1};
    if (onnxd_tensor_view_count(&compute->outputs[0]) == 0)
        return NULL;
    onnxd_quant_read_floats(scale->dtype, onnxd_tensor_view_data(scale), 0, 1, &left.scale);
    multiply(compute, &integer_to_float, &left);
    return NULL;
}

static onnxd_status *compute_dynamic(const onnxd_compute *compute)
{
    const onnxd_tensor_view *input = &compute->inputs[A];
    if (onnxd_tensor_view_count(&compute->outputs[0]) == 0)
        return NULL;
    onnxd_matmul_extent e = onnxd_matmul_extent_of(&input->shape, &compute->inputs[B].shape);
    const onnxd_shape scalar = onnxd_shape_of_rank(0);
    const float *values = onnxd_tensor_view_data(input);
    size_t count = onnxd_tensor_view_count(input);
    uint8_t *quantised = (uint8_t *)compute->workspace + e.rows * e.columns * sizeof(int32_t) +
                         ONNXD_INTEGER_PRODUCT_WORKSPACE;
    uint8_t zero;
    float scale;
    onnxd_quant_choose(values, count, &scale, &zero);
    onnxd_quant_store_all(ONNXD_UINT8, values, count, scale, zero, quantised);
    onnxd_tensor_view data = onnxd_tensor_view_of(quantised, ONNXD_UINT8, &input->shape);
    onnxd_tensor_view zeros = onnxd_tensor_view_of(&zero, ONNXD_UINT8, &scalar);
    const left_factor left = {&data, &zeros, scale};
    multiply(compute, &dynamic, &left);
    return NULL;
}

#define BYTES(variable, optional)                                                                  \
    {                                                                                              \
        .types = ONNXD_CONTRIB_BYTES, .type_variable = variable, .is_optional = optional           \
    }
#define REAL(set, optional)                                                                        \
    {                                                                                              \
        .types = set, .type_variable = 3, .is_optional = optional                                  \
    }
#define REALS (ONNXD_SET(FLOAT) | ONNXD_SET(FLOAT16))

const onnxd_op_def onnxd_op_scaled_matmul[] = {
    {ONNXD_CONTRIB_NAME("MatMulIntegerToFloat"), .min_inputs = 4, .max_inputs = 7, .min_outputs = 1,
     .max_outputs = 1,
     .inputs = {BYTES(1, false), BYTES(2, false), REAL(REALS, false), REAL(REALS, false),
                BYTES(1, true), BYTES(2, true), REAL(REALS, true)},
     .outputs = {REAL(REALS, false)}, .infer = infer_integer_to_float,
     .workspace_bytes = workspace_integer_to_float, .compute = compute_integer_to_float},
    {ONNXD_CONTRIB_NAME("DynamicQuantizeMatMul"), .min_inputs = 3, .max_inputs = 5,
     .min_outputs = 1, .max_outputs = 1,
     .inputs = {REAL(ONNXD_SET(FLOAT), false), BYTES(2, false), REAL(ONNXD_SET(FLOAT), false),
                BYTES(2, true), REAL(ONNXD_SET(FLOAT), true)},
     .outputs = {REAL(ONNXD_SET(FLOAT), false)}, .infer = infer_dynamic,
     .workspace_bytes = workspace_dynamic, .compute = compute_dynamic},
    {.op_type = NULL},
};
