/* Det: determinants of the matrices in the last two dimensions, by LU decomposition with partial
 * pivoting in double. */
#include <inttypes.h>
#include <math.h>

#include "base/size_math.h"
#include "ops/ops.h"
#include "ops/real.h"
#include "ops/support.h"
#include "ops/types.h"

static onnxd_status *infer(onnxd_infer *infer)
{
    const onnxd_shape *input = &infer->inputs[0].shape;
    infer->outputs[0].dtype = infer->inputs[0].dtype;
    if (input->rank < 0)
        return NULL;
    if (input->rank < 2)
        return onnxd_op_error(infer->node, "input 0 has rank %" PRId32 ", needed is 2 or more",
                              input->rank);
    int64_t rows = input->dims[input->rank - 2], columns = input->dims[input->rank - 1];
    if (onnxd_dim_is_static(rows) && onnxd_dim_is_static(columns) && rows != columns)
        return onnxd_op_error(infer->node,
                              "the matrices are %" PRId64 " by %" PRId64 ", they must be square",
                              rows, columns);
    infer->outputs[0].shape = *input;
    infer->outputs[0].shape.rank -= 2;
    return NULL;
}

/* One matrix. */
static size_t workspace_bytes(const onnxd_compute *compute)
{
    const onnxd_shape *input = &compute->inputs[0].shape;
    size_t order = (size_t)input->dims[input->rank - 1], bytes;
    if (onnxd_tensor_view_count(&compute->outputs[0]) == 0)
        return 0;
    if (onnxd_size_mul(order, order, &bytes) && onnxd_size_mul(bytes, sizeof(double), &bytes))
        return bytes;
    return SIZE_MAX;
}

/* The determinant of a matrix of `order`, which is overwritten. That of none is 1. */
static double determinant(double *m, size_t order)
{
    double result = 1;
    for (size_t k = 0; k < order; k++) {
        size_t pivot = k;
        for (size_t i = k + 1; i < order; i++)
            if (fabs(m[i * order + k]) > fabs(m[pivot * order + k]))
                pivot = i;
        double largest = m[pivot * order + k];
        result *= largest;
        if (largest == 0)
            return isnan(result) ? result : 0;
        for (size_t j = k; j < order && pivot != k; j++) {
            double swap = m[k * order + j];
            m[k * order + j] = m[pivot * order + j];
            m[pivot * order + j] = swap;
        }
        if (pivot != k)
            result = -result;
        for (size_t i = k + 1; i < order; i++) {
            double factor = m[i * order + k] / largest;
            for (size_t j = k + 1; j < order && factor != 0; j++)
                m[i * order + j] -= factor * m[k * order + j];
        }
    }
    return result;
}

static onnxd_status *compute(const onnxd_compute *compute)
{
    const onnxd_tensor_view *input = &compute->inputs[0], *output = &compute->outputs[0];
    size_t order = (size_t)input->shape.dims[input->shape.rank - 1];
    size_t count = onnxd_tensor_view_count(output);
    double *matrix = compute->workspace;
    const void *in = onnxd_tensor_view_data(input);
    for (size_t i = 0; i < count; i++) {
        for (size_t k = 0; k < order * order; k++)
            matrix[k] = onnxd_real_load(input->dtype, in, i * order * order + k);
        onnxd_real_store(output->dtype, onnxd_tensor_view_data(output), i,
                         determinant(matrix, order));
    }
    return NULL;
}

#define ROW(first, last, set)                                                                      \
    {                                                                                              \
        .op_type = "Det", .domain = "", .since = first, .until = last, .min_inputs = 1,            \
        .max_inputs = 1, .min_outputs = 1, .max_outputs = 1,                                       \
        .inputs = {{.types = set, .type_variable = 1}},                                            \
        .outputs = {{.types = set, .type_variable = 1}}, .infer = infer,                           \
        .workspace_bytes = workspace_bytes, .compute = compute                                     \
    }

const onnxd_op_def onnxd_op_det[] = {
    ROW(11, 21, ONNXD_SET_FLOATS_1),
    ROW(22, ONNXD_OPSET_MAX, ONNXD_SET_FLOATS),
    {.op_type = NULL},
};
