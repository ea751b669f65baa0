/* MatMul: numpy's matrix product, batch dimensions broadcast, vectors promoted. */
#include <inttypes.h>
#include <string.h>

#include "base/size_math.h"
#include "ops/gemm_core.h"
#include "ops/loop.h"
#include "ops/nn.h"
#include "ops/ops.h"
#include "ops/real.h"
#include "ops/support.h"
#include "ops/types.h"

/* ---- shapes ---------------------------------------------------------------------------------- */

/* A vector becomes a matrix of one row (A) or one column (B). */
static onnxd_shape as_matrix(const onnxd_shape *shape, bool is_a)
{
    if (shape->rank != 1)
        return *shape;
    onnxd_shape matrix = onnxd_shape_of_rank(2);
    matrix.dims[0] = is_a ? 1 : shape->dims[0];
    matrix.dims[1] = is_a ? shape->dims[0] : 1;
    return matrix;
}

/* The dimension of `shape` that meets dimension `i` of a batch of `batch_rank`. */
static int64_t batch_dim(const onnxd_shape *shape, int32_t batch_rank, int32_t i)
{
    int32_t own = shape->rank - 2, missing = batch_rank - own;
    return i < missing ? 1 : shape->dims[i - missing];
}

static onnxd_status *mismatch(const onnxd_node *node, const onnxd_shape *a, const onnxd_shape *b)
{
    char left[ONNXD_SHAPE_TEXT], right[ONNXD_SHAPE_TEXT];
    return onnxd_op_error(node, "cannot multiply shapes %s and %s",
                          onnxd_shape_format(a, left, sizeof(left)),
                          onnxd_shape_format(b, right, sizeof(right)));
}

onnxd_status *onnxd_matmul_infer_shape(const onnxd_node *node, const onnxd_shape *given_a,
                                       const onnxd_shape *given_b, onnxd_shape *out_shape)
{
    if (given_a->rank == 0 || given_b->rank == 0)
        return onnxd_op_error(node, "a factor is a scalar, needed is rank 1 or more");
    if (given_a->rank == ONNXD_RANK_UNKNOWN || given_b->rank == ONNXD_RANK_UNKNOWN) {
        *out_shape = onnxd_shape_unknown();
        return NULL;
    }
    onnxd_shape a = as_matrix(given_a, true), b = as_matrix(given_b, false);
    int64_t a_depth = a.dims[a.rank - 1], b_depth = b.dims[b.rank - 2];
    if (onnxd_dim_is_static(a_depth) && onnxd_dim_is_static(b_depth) && a_depth != b_depth)
        return mismatch(node, given_a, given_b);
    int32_t batch_rank = (a.rank > b.rank ? a.rank : b.rank) - 2;
    onnxd_shape shape = onnxd_shape_of_rank(batch_rank);
    for (int32_t i = 0; i < batch_rank; i++) {
        if (!onnxd_broadcast_dim(batch_dim(&a, batch_rank, i), batch_dim(&b, batch_rank, i),
                                 &shape.dims[i]))
            return mismatch(node, given_a, given_b);
    }
    if (given_a->rank > 1)
        shape.dims[shape.rank++] = a.dims[a.rank - 2];
    if (given_b->rank > 1)
        shape.dims[shape.rank++] = b.dims[b.rank - 1];
    *out_shape = shape;
    return NULL;
}

static onnxd_status *infer(onnxd_infer *context)
{
    context->outputs[0].dtype = context->inputs[0].dtype;
    return onnxd_matmul_infer_shape(context->node, &context->inputs[0].shape,
                                    &context->inputs[1].shape, &context->outputs[0].shape);
}

/* Strides in matrices of one operand over the batch; 0 where it is broadcast. */
static void batch_strides(const onnxd_shape *shape, int32_t batch_rank, int64_t *strides)
{
    int64_t stride = 1;
    for (int32_t i = batch_rank; i-- > 0;) {
        int64_t dim = batch_dim(shape, batch_rank, i);
        strides[i] = dim == 1 ? 0 : stride;
        /* With a zero dimension no matrix is ever addressed; the product must not overflow. */
        stride = (int64_t)((uint64_t)stride * (uint64_t)dim);
    }
}

onnxd_matmul_extent onnxd_matmul_extent_of(const onnxd_shape *given_a, const onnxd_shape *given_b)
{
    onnxd_shape a = as_matrix(given_a, true), b = as_matrix(given_b, false);
    onnxd_matmul_extent extent = {.rows = (size_t)a.dims[a.rank - 2],
                                  .depth = (size_t)a.dims[a.rank - 1],
                                  .columns = (size_t)b.dims[b.rank - 1],
                                  .batch_rank = (a.rank > b.rank ? a.rank : b.rank) - 2};
    batch_strides(&a, extent.batch_rank, extent.a_strides);
    batch_strides(&b, extent.batch_rank, extent.b_strides);
    for (int32_t i = 0; i < extent.batch_rank; i++) {
        int64_t dim = batch_dim(&a, extent.batch_rank, i);
        extent.batch_dims[i] = dim == 1 ? batch_dim(&b, extent.batch_rank, i) : dim;
    }
    return extent;
}

/* ---- kernels --------------------------------------------------------------------------------- */

/* Half types are multiplied in float: A and B are widened whole, the product one matrix at a
 * time. */
static size_t workspace_bytes(const onnxd_compute *context)
{
    const onnxd_tensor_view *inputs = context->inputs;
    if (!onnxd_real_is_half(inputs[0].dtype) || onnxd_tensor_view_count(&context->outputs[0]) == 0)
        return 0;
    onnxd_matmul_extent e = onnxd_matmul_extent_of(&inputs[0].shape, &inputs[1].shape);
    size_t count;
    if (onnxd_size_mul(e.rows, e.columns, &count) &&
        onnxd_size_add(count, onnxd_tensor_view_count(&inputs[0]), &count) &&
        onnxd_size_add(count, onnxd_tensor_view_count(&inputs[1]), &count) &&
        onnxd_size_mul(count, sizeof(float), &count))
        return count;
    return SIZE_MAX;
}

size_t onnxd_matmul_batches(const onnxd_matmul_extent *e)
{
    size_t batches = 1;
    for (int32_t i = 0; i < e->batch_rank; i++)
        batches *= (size_t)e->batch_dims[i];
    return batches;
}

void onnxd_matmul_locate(const onnxd_matmul_extent *e, size_t batch, size_t *out_a, size_t *out_b)
{
    size_t a = 0, b = 0;
    for (int32_t i = e->batch_rank; i-- > 0;) {
        size_t dim = (size_t)e->batch_dims[i], at = batch % dim;
        a += at * (size_t)e->a_strides[i];
        b += at * (size_t)e->b_strides[i];
        batch /= dim;
    }
    *out_a = a;
    *out_b = b;
}

/* The operands as the product reads them, and where it writes. */
typedef struct operands {
    onnxd_dtype dtype;
    const char *a, *b;
    float *narrowed; /* the product of half types, before it is narrowed */
} operands;

static operands operands_of(const onnxd_compute *context, size_t product_count)
{
    const onnxd_tensor_view *inputs = context->inputs;
    operands o = {.dtype = inputs[0].dtype,
                  .a = onnxd_tensor_view_data(&inputs[0]),
                  .b = onnxd_tensor_view_data(&inputs[1])};
    if (!onnxd_real_is_half(o.dtype))
        return o;
    size_t a_count = onnxd_tensor_view_count(&inputs[0]);
    size_t b_count = onnxd_tensor_view_count(&inputs[1]);
    float *a = (float *)context->workspace + product_count, *b = a + a_count;
    onnxd_real_widen(o.dtype, o.a, a_count, a);
    onnxd_real_widen(o.dtype, o.b, b_count, b);
    return (operands){ONNXD_FLOAT, (const char *)a, (const char *)b, context->workspace};
}

static onnxd_status *compute(const onnxd_compute *context)
{
    const onnxd_tensor_view *inputs = context->inputs, *output = &context->outputs[0];
    if (onnxd_tensor_view_count(output) == 0)
        return NULL;
    onnxd_matmul_extent e = onnxd_matmul_extent_of(&inputs[0].shape, &inputs[1].shape);
    size_t product_count = e.rows * e.columns;
    size_t batches = onnxd_matmul_batches(&e);
    operands o = operands_of(context, product_count);
    onnxd_product product = {e.rows, e.depth, e.columns, e.depth, 1, e.columns, 1};
    size_t element = onnxd_dtype_size(o.dtype);
    char *out = onnxd_tensor_view_data(output);
    for (size_t batch = 0; batch < batches; batch++) {
        size_t a, b;
        onnxd_matmul_locate(&e, batch, &a, &b);
        void *result = o.narrowed != NULL ? (void *)o.narrowed : out;
        onnxd_product_run(&product, o.dtype, o.a + a * e.rows * e.depth * element,
                          o.b + b * e.depth * e.columns * element, result);
        if (o.narrowed != NULL)
            onnxd_real_narrow(output->dtype, o.narrowed, product_count, out);
        out += product_count * onnxd_dtype_size(output->dtype);
    }
    return NULL;
}

/* ---- definitions ----------------------------------------------------------------------------- */

#define MATMUL(first, last, set)                                                                   \
    {                                                                                              \
        .op_type = "MatMul", .domain = "", .since = first, .until = last, .min_inputs = 2,         \
        .max_inputs = 2, .min_outputs = 1, .max_outputs = 1,                                       \
        .inputs = {{.types = set, .type_variable = 1}, {.types = set, .type_variable = 1}},        \
        .outputs = {{.types = set, .type_variable = 1}}, .infer = infer,                           \
        .workspace_bytes = workspace_bytes, .compute = compute, .batch_inputs = 3u                 \
    }

const onnxd_op_def onnxd_op_matmul[] = {
    MATMUL(1, 8, ONNXD_SET_FLOATS_1),
    MATMUL(9, 12, ONNXD_PRODUCT_TYPES & ~ONNXD_SET(BFLOAT16)),
    MATMUL(13, ONNXD_OPSET_MAX, ONNXD_PRODUCT_TYPES),
    {.op_type = NULL},
};
