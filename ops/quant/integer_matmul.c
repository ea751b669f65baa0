/* MatMulInteger and QLinearMatMul: numpy's matrix product of quantised tensors, with sums as they
 * are or quantised again. */
#include "base/size_math.h"
#include "ops/gemm_core.h"
#include "ops/nn.h"
#include "ops/ops.h"
#include "ops/quant/integer_gemm.h"
#include "ops/quant/matrix_parameter.h"
#include "ops/quant/quantized.h"
#include "ops/support.h"
#include "ops/types.h"

/* Positions of the inputs. */
enum { A = 0, B = 1, A_ZERO = 2, B_ZERO = 3 }; /* MatMulInteger */
enum { QA, QA_SCALE, QA_ZERO, QB, QB_SCALE, QB_ZERO, QY_SCALE, QY_ZERO };

#define EITHER (ONNXD_PER_ROW | ONNXD_PER_COLUMN)

/* ---- inference ---- */

static onnxd_status *check_parameter(const onnxd_infer *infer, uint32_t index,
                                     const onnxd_shape *matrix, unsigned allowed)
{
    if (!onnxd_op_has_input(infer->node, index))
        return NULL;
    return onnxd_matrix_parameter_check(infer->node, index, &infer->inputs[index].shape, matrix,
                                        allowed);
}

static onnxd_status *infer_integer(onnxd_infer *infer)
{
    const onnxd_shape *a = &infer->inputs[A].shape, *b = &infer->inputs[B].shape;
    infer->outputs[0].dtype = ONNXD_INT32;
    ONNXD_TRY(onnxd_matmul_infer_shape(infer->node, a, b, &infer->outputs[0].shape));
    ONNXD_TRY(check_parameter(infer, A_ZERO, a, ONNXD_PER_ROW));
    return check_parameter(infer, B_ZERO, b, ONNXD_PER_COLUMN);
}

static onnxd_status *infer_quantized(onnxd_infer *infer)
{
    const onnxd_shape *a = &infer->inputs[QA].shape, *b = &infer->inputs[QB].shape;
    onnxd_tensor_type *output = &infer->outputs[0];
    output->dtype = infer->inputs[QY_ZERO].dtype;
    ONNXD_TRY(onnxd_matmul_infer_shape(infer->node, a, b, &output->shape));
    ONNXD_TRY(check_parameter(infer, QA_SCALE, a, ONNXD_PER_ROW));
    ONNXD_TRY(check_parameter(infer, QA_ZERO, a, ONNXD_PER_ROW));
    ONNXD_TRY(check_parameter(infer, QB_SCALE, b, ONNXD_PER_COLUMN));
    ONNXD_TRY(check_parameter(infer, QB_ZERO, b, ONNXD_PER_COLUMN));
    ONNXD_TRY(check_parameter(infer, QY_SCALE, &output->shape, EITHER));
    return check_parameter(infer, QY_ZERO, &output->shape, EITHER);
}

/* ---- sums ---- */

static onnxd_matrix_parameter parameter_of(const onnxd_compute *compute, uint32_t index,
                                           const onnxd_shape *matrix, unsigned allowed)
{
    return onnxd_matrix_parameter_of(&compute->inputs[index].shape, matrix, allowed);
}

static onnxd_integer_vectors vectors_of(const onnxd_compute *compute, uint32_t index,
                                        uint32_t zero_index, const onnxd_matmul_extent *e,
                                        size_t matrix, bool is_a)
{
    const onnxd_tensor_view *zeros =
        zero_index < compute->input_count ? &compute->inputs[zero_index] : NULL;
    return onnxd_integer_factor(&compute->inputs[index], zeros, e, matrix, is_a);
}

static size_t workspace_integer(const onnxd_compute *compute)
{
    (void)compute;
    return ONNXD_INTEGER_PRODUCT_WORKSPACE;
}

static onnxd_status *compute_integer(const onnxd_compute *compute)
{
    int32_t *out = onnxd_tensor_view_data(&compute->outputs[0]);
    if (onnxd_tensor_view_count(&compute->outputs[0]) == 0)
        return NULL;
    onnxd_matmul_extent e =
        onnxd_matmul_extent_of(&compute->inputs[A].shape, &compute->inputs[B].shape);
    size_t batches = onnxd_matmul_batches(&e);
    for (size_t batch = 0; batch < batches; batch++, out += e.rows * e.columns) {
        size_t a_matrix, b_matrix;
        onnxd_matmul_locate(&e, batch, &a_matrix, &b_matrix);
        onnxd_integer_vectors a = vectors_of(compute, A, A_ZERO, &e, a_matrix, true);
        onnxd_integer_vectors b = vectors_of(compute, B, B_ZERO, &e, b_matrix, false);
        onnxd_integer_product(e.rows, e.columns, e.depth, &a.side, &b.side, compute->workspace, out,
                              e.columns);
    }
    return NULL;
}

/* float8 factors are multiplied as doubles, in which the sums are all but exact. */
static bool is_integer_product(const onnxd_compute *compute)
{
    return onnxd_quant_is_integer(compute->inputs[QA].dtype) &&
           onnxd_quant_is_integer(compute->inputs[QB].dtype);
}

/* One matrix less its zero points, as doubles. */
static void widen(const onnxd_compute *compute, uint32_t index, uint32_t zero_index, size_t matrix,
                  size_t rows, size_t columns, unsigned kind, double *out)
{
    const onnxd_tensor_view *view = &compute->inputs[index], *zeros = &compute->inputs[zero_index];
    onnxd_matrix_parameter p = parameter_of(compute, zero_index, &view->shape, kind);
    const void *data = onnxd_tensor_view_data(view), *zero_data = onnxd_tensor_view_data(zeros);
    size_t start = matrix * rows * columns;
    for (size_t i = 0; i < rows; i++) {
        for (size_t j = 0; j < columns; j++) {
            float value, zero;
            onnxd_quant_read_floats(view->dtype, data, start + i * columns + j, 1, &value);
            onnxd_quant_read_floats(zeros->dtype, zero_data,
                                    matrix * p.matrix_stride + i * p.row_step + j * p.column_step,
                                    1, &zero);
            out[i * columns + j] = (double)value - (double)zero;
        }
    }
}

static void multiply_doubles(const onnxd_compute *compute, const onnxd_matmul_extent *e,
                             size_t a_matrix, size_t b_matrix)
{
    double *sums = compute->workspace, *a = sums + e->rows * e->columns;
    double *b = a + e->rows * e->depth;
    widen(compute, QA, QA_ZERO, a_matrix, e->rows, e->depth, ONNXD_PER_ROW, a);
    widen(compute, QB, QB_ZERO, b_matrix, e->depth, e->columns, ONNXD_PER_COLUMN, b);
    onnxd_product product = {e->rows, e->depth, e->columns, e->depth, 1, e->columns, 1};
    onnxd_product_run(&product, ONNXD_DOUBLE, a, b, sums);
}

/* The sums come first, then what the product needs. */
static size_t workspace_quantized(const onnxd_compute *compute)
{
    if (onnxd_tensor_view_count(&compute->outputs[0]) == 0)
        return 0;
    onnxd_matmul_extent e =
        onnxd_matmul_extent_of(&compute->inputs[QA].shape, &compute->inputs[QB].shape);
    size_t sums, a, b, total;
    if (!onnxd_size_mul(e.rows, e.columns, &sums) || !onnxd_size_mul(e.rows, e.depth, &a) ||
        !onnxd_size_mul(e.depth, e.columns, &b))
        return SIZE_MAX;
    if (is_integer_product(compute))
        return onnxd_size_mul(sums, sizeof(int32_t), &total) &&
                       onnxd_size_add(total, ONNXD_INTEGER_PRODUCT_WORKSPACE, &total)
                   ? total
                   : SIZE_MAX;
    return onnxd_size_add(sums, a, &total) && onnxd_size_add(total, b, &total) &&
                   onnxd_size_mul(total, sizeof(double), &total)
               ? total
               : SIZE_MAX;
}

/* ---- quantising the sums ---- */

/* A scale or zero point as the rows of one matrix of the output see it. */
typedef struct operand {
    const onnxd_tensor_view *view;
    size_t start, row_step, column_step;
} operand;

static operand operand_of(const onnxd_compute *compute, uint32_t index, const onnxd_shape *matrix,
                          unsigned allowed, size_t at)
{
    onnxd_matrix_parameter p = parameter_of(compute, index, matrix, allowed);
    return (operand){&compute->inputs[index], at * p.matrix_stride, p.row_step, p.column_step};
}

/* The values for columns [first, first + count) of a row. */
static void read_operand(const operand *o, size_t row, size_t first, size_t count, float *out)
{
    const void *data = onnxd_tensor_view_data(o->view);
    size_t at = o->start + row * o->row_step + first * o->column_step;
    if (o->column_step != 0) {
        onnxd_quant_read_floats(o->view->dtype, data, at, count, out);
        return;
    }
    float value;
    onnxd_quant_read_floats(o->view->dtype, data, at, 1, &value);
    for (size_t i = 0; i < count; i++)
        out[i] = value;
}

typedef struct requantizer {
    operand a_scale, b_scale, y_scale, y_zero;
    bool depends_on_row;
} requantizer;

static requantizer requantizer_of(const onnxd_compute *compute, size_t batch, size_t a, size_t b)
{
    const onnxd_shape *y = &compute->outputs[0].shape;
    requantizer r = {operand_of(compute, QA_SCALE, &compute->inputs[QA].shape, ONNXD_PER_ROW, a),
                     operand_of(compute, QB_SCALE, &compute->inputs[QB].shape, ONNXD_PER_COLUMN, b),
                     operand_of(compute, QY_SCALE, y, EITHER, batch),
                     operand_of(compute, QY_ZERO, y, EITHER, batch), false};
    r.depends_on_row = r.a_scale.row_step + r.y_scale.row_step + r.y_zero.row_step != 0;
    return r;
}

/* Factor and zero point of a part of a row; the factor's operations are those, in that order, of
 * other runtimes. */
static void read_factors(const requantizer *r, size_t row, size_t first, size_t count,
                         float *factors, float *zeros)
{
    float b[ONNXD_QUANT_CHUNK], y[ONNXD_QUANT_CHUNK];
    read_operand(&r->a_scale, row, first, count, factors);
    read_operand(&r->b_scale, row, first, count, b);
    read_operand(&r->y_scale, row, first, count, y);
    read_operand(&r->y_zero, row, first, count, zeros);
    for (size_t i = 0; i < count; i++)
        factors[i] = factors[i] * b[i] / y[i];
}

/* Quantises one matrix of sums into elements `start` and following of the output. */
static void requantize(const onnxd_compute *compute, const requantizer *r,
                       const onnxd_matmul_extent *e, size_t start)
{
    const onnxd_tensor_view *output = &compute->outputs[0];
    void *out = onnxd_tensor_view_data(output);
    bool is_integer = is_integer_product(compute);
    float factors[ONNXD_QUANT_CHUNK], zeros[ONNXD_QUANT_CHUNK], values[ONNXD_QUANT_CHUNK];
    for (size_t j = 0; j < e->columns; j += ONNXD_QUANT_CHUNK) {
        size_t part = e->columns - j < ONNXD_QUANT_CHUNK ? e->columns - j : ONNXD_QUANT_CHUNK;
        for (size_t i = 0; i < e->rows; i++) {
            size_t at = i * e->columns + j;
            if (i == 0 || r->depends_on_row)
                read_factors(r, i, j, part, factors, zeros);
            if (is_integer) {
                onnxd_quant_store_sums(output->dtype, (const int32_t *)compute->workspace + at,
                                       factors, zeros, part, true, out, start + at);
                continue;
            }
            const double *sums = (const double *)compute->workspace + at;
            for (size_t x = 0; x < part; x++)
                values[x] = (float)sums[x] * factors[x];
            onnxd_quant_store(output->dtype, values, zeros, part, true, out, start + at);
        }
    }
}

static onnxd_status *compute_quantized(const onnxd_compute *compute)
{
    if (onnxd_tensor_view_count(&compute->outputs[0]) == 0)
        return NULL;
    onnxd_matmul_extent e =
        onnxd_matmul_extent_of(&compute->inputs[QA].shape, &compute->inputs[QB].shape);
    size_t batches = onnxd_matmul_batches(&e), size = e.rows * e.columns;
    for (size_t batch = 0; batch < batches; batch++) {
        size_t a_matrix, b_matrix;
        onnxd_matmul_locate(&e, batch, &a_matrix, &b_matrix);
        if (is_integer_product(compute)) {
            onnxd_integer_vectors a = vectors_of(compute, QA, QA_ZERO, &e, a_matrix, true);
            onnxd_integer_vectors b = vectors_of(compute, QB, QB_ZERO, &e, b_matrix, false);
            int32_t *sums = compute->workspace;
            onnxd_integer_product(e.rows, e.columns, e.depth, &a.side, &b.side, sums + size, sums,
                                  e.columns);
        } else {
            multiply_doubles(compute, &e, a_matrix, b_matrix);
        }
        requantizer r = requantizer_of(compute, batch, a_matrix, b_matrix);
        requantize(compute, &r, &e, batch * size);
    }
    return NULL;
}

/* ---- definitions ---- */

#define BYTES (ONNXD_SET(INT8) | ONNXD_SET(UINT8))
#define TYPES_21 (BYTES | ONNXD_SET_FLOAT8)
#define SCALES_21 (ONNXD_SET(FLOAT) | ONNXD_SET(FLOAT16) | ONNXD_SET(BFLOAT16))

#define QUANTIZED_ROW(first, last, set, scale)                                                     \
    {                                                                                              \
        .op_type = "QLinearMatMul", .domain = "", .since = first, .until = last, .min_inputs = 8,  \
        .max_inputs = 8, .min_outputs = 1, .max_outputs = 1,                                       \
        .inputs = {{.types = set, .type_variable = 1},   {.types = scale, .type_variable = 4},     \
                   {.types = set, .type_variable = 1},   {.types = set, .type_variable = 2},       \
                   {.types = scale, .type_variable = 4}, {.types = set, .type_variable = 2},       \
                   {.types = scale, .type_variable = 4}, {.types = set, .type_variable = 3}},      \
        .outputs = {{.types = set, .type_variable = 3}}, .infer = infer_quantized,                 \
        .workspace_bytes = workspace_quantized, .compute = compute_quantized, .batch_inputs = 1u   \
    }

const onnxd_op_def onnxd_op_integer_matmul[] = {
    {.op_type = "MatMulInteger",
     .domain = "",
     .since = 10,
     .until = ONNXD_OPSET_MAX,
     .min_inputs = 2,
     .max_inputs = 4,
     .min_outputs = 1,
     .max_outputs = 1,
     .inputs = {{.types = BYTES, .type_variable = 1},
                {.types = BYTES, .type_variable = 2},
                {.types = BYTES, .type_variable = 1, .is_optional = true},
                {.types = BYTES, .type_variable = 2, .is_optional = true}},
     .outputs = {{.types = ONNXD_SET(INT32)}},
     .infer = infer_integer,
     .workspace_bytes = workspace_integer,
     .compute = compute_integer,
     .batch_inputs = 1u},
    QUANTIZED_ROW(10, 20, BYTES, ONNXD_SET(FLOAT)),
    QUANTIZED_ROW(21, ONNXD_OPSET_MAX, TYPES_21, SCALES_21),
    {.op_type = NULL},
};
