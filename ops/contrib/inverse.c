/* Inverse: inverses of the matrices in the last two dimensions, by Gauss-Jordan elimination with
 * partial pivoting in double. A singular matrix gives infinities and NaN. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/size_math.h"
#include "ops/contrib/contrib.h"
#include "ops/ops.h"
#include "ops/real.h"
#include "ops/support.h"
#include "ops/types.h"

static onnxd_status *infer(onnxd_infer *infer)
{
    const onnxd_shape *input = &infer->inputs[0].shape;
    infer->outputs[0] = infer->inputs[0];
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
    return NULL;
}

/* One matrix and its inverse. */
static size_t workspace_bytes(const onnxd_compute *compute)
{
    const onnxd_shape *input = &compute->inputs[0].shape;
    size_t order = (size_t)input->dims[input->rank - 1], bytes;
    if (onnxd_tensor_view_count(&compute->outputs[0]) == 0)
        return 0;
    return onnxd_size_mul(order, order, &bytes) && onnxd_size_mul(bytes, 2 * sizeof(double), &bytes)
               ? bytes
               : SIZE_MAX;
}

static void swap_rows(double *m, size_t order, size_t a, size_t b)
{
    for (size_t j = 0; j < order && a != b; j++) {
        double kept = m[a * order + j];
        m[a * order + j] = m[b * order + j];
        m[b * order + j] = kept;
    }
}

/* Makes the identity of `m`, and of `inverse`, which is the identity, what its name says. */
static void eliminate(double *m, double *inverse, size_t order)
{
    for (size_t k = 0; k < order; k++) {
        size_t pivot = k;
        for (size_t i = k + 1; i < order; i++)
            if (fabs(m[i * order + k]) > fabs(m[pivot * order + k]))
                pivot = i;
        swap_rows(m, order, k, pivot);
        swap_rows(inverse, order, k, pivot);
        double divisor = m[k * order + k];
        for (size_t j = 0; j < order; j++) {
            m[k * order + j] /= divisor;
            inverse[k * order + j] /= divisor;
        }
        for (size_t i = 0; i < order; i++) {
            double factor = m[i * order + k];
            for (size_t j = 0; j < order && i != k && factor != 0; j++) {
                m[i * order + j] -= factor * m[k * order + j];
                inverse[i * order + j] -= factor * inverse[k * order + j];
            }
        }
    }
}

static onnxd_status *compute(const onnxd_compute *compute)
{
    const onnxd_tensor_view *input = &compute->inputs[0], *output = &compute->outputs[0];
    size_t order = (size_t)input->shape.dims[input->shape.rank - 1], size = order * order;
    size_t count = onnxd_tensor_view_count(output);
    double *matrix = compute->workspace, *inverse = matrix + size;
    for (size_t first = 0; first < count; first += size) {
        onnxd_real_read_double(input->dtype, onnxd_tensor_view_data(input), first, size, matrix);
        memset(inverse, 0, size * sizeof(*inverse));
        for (size_t i = 0; i < order; i++)
            inverse[i * order + i] = 1;
        eliminate(matrix, inverse, order);
        onnxd_real_write_double(output->dtype, inverse, size, onnxd_tensor_view_data(output),
                                first);
    }
    return NULL;
}

const onnxd_op_def onnxd_op_inverse[] = {
    {ONNXD_CONTRIB_NAME("Inverse"), .min_inputs = 1, .max_inputs = 1, .min_outputs = 1,
     .max_outputs = 1, .inputs = {{.types = ONNXD_SET_FLOATS_1, .type_variable = 1}},
     .outputs = {{.types = ONNXD_SET_FLOATS_1, .type_variable = 1}}, .infer = infer,
     .workspace_bytes = workspace_bytes, .compute = compute},
    {.op_type = NULL},
};
