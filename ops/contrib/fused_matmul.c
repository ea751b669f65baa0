/* FusedMatMul: MatMul with its factors transposed and its product scaled. */
#include <inttypes.h>

#include "ops/contrib/as_float.h"
#include "ops/contrib/contrib.h"
#include "ops/gemm_core.h"
#include "ops/nn.h"
#include "ops/ops.h"
#include "ops/real.h"
#include "ops/support.h"
#include "ops/types.h"

/* How a factor lies in memory. */
typedef struct layout {
    bool is_transposed;
    /* The first dimension is the last but one of each matrix, the batch dimensions come behind. */
    bool has_batch_inside;
} layout;

typedef struct fused_params {
    layout factors[2];
    float alpha;
} fused_params;

static onnxd_status *parse(const onnxd_node *node, int64_t opset, onnxd_arena *arena, void *out)
{
    (void)opset, (void)arena;
    static const char *const names[] = {"alpha",       "transA",      "transB",
                                        "transBatchA", "transBatchB", NULL};
    fused_params *params = out;
    params->alpha = 1;
    ONNXD_TRY(onnxd_attributes_allow(node, names));
    ONNXD_TRY(onnxd_attribute_float(node, "alpha", &params->alpha));
    for (size_t i = 0; i < 2; i++) {
        int64_t matrix = 0, batch = 0;
        ONNXD_TRY(onnxd_attribute_int(node, i == 0 ? "transA" : "transB", 0, 1, &matrix));
        ONNXD_TRY(onnxd_attribute_int(node, i == 0 ? "transBatchA" : "transBatchB", 0, 1, &batch));
        params->factors[i] = (layout){matrix != 0, batch != 0};
    }
    return NULL;
}

/* The shape of the factor as MatMul takes it. Vectors are not transposed. */
static onnxd_shape shape_of(const layout *factor, const onnxd_shape *given)
{
    onnxd_shape shape = *given;
    int32_t rank = shape.rank;
    if (rank < 2)
        return shape;
    if (factor->has_batch_inside) {
        for (int32_t i = 0; i + 2 < rank; i++)
            shape.dims[i] = given->dims[i + 1];
        shape.dims[rank - 2] = given->dims[0];
    }
    if (factor->is_transposed) {
        int64_t rows = shape.dims[rank - 1];
        shape.dims[rank - 1] = shape.dims[rank - 2];
        shape.dims[rank - 2] = rows;
    }
    return shape;
}

static onnxd_status *infer(onnxd_infer *context)
{
    const fused_params *params = context->params;
    const onnxd_shape *a = &context->inputs[0].shape, *b = &context->inputs[1].shape;
    bool has_batch_inside =
        params->factors[0].has_batch_inside || params->factors[1].has_batch_inside;
    if (has_batch_inside && a->rank != ONNXD_RANK_UNKNOWN && b->rank != ONNXD_RANK_UNKNOWN &&
        (a->rank < 3 || a->rank != b->rank))
        return onnxd_op_error(context->node,
                              "with transBatchA or transBatchB the factors have one rank of 3 or "
                              "more, but they have %" PRId32 " and %" PRId32,
                              a->rank, b->rank);
    onnxd_shape left = shape_of(&params->factors[0], a), right = shape_of(&params->factors[1], b);
    context->outputs[0].dtype = context->inputs[0].dtype;
    return onnxd_matmul_infer_shape(context->node, &left, &right, &context->outputs[0].shape);
}

/* Distances between the elements of a factor. */
typedef struct strides {
    size_t row, column, matrix;
} strides;

static strides strides_of(const layout *factor, const onnxd_shape *given, size_t rows,
                          size_t columns)
{
    strides s = {.row = columns, .column = 1, .matrix = rows * columns};
    if (given->rank >= 2 && factor->is_transposed)
        s = (strides){.row = 1, .column = rows, .matrix = rows * columns};
    if (!factor->has_batch_inside)
        return s;
    size_t width = (size_t)given->dims[given->rank - 1], batches = 1;
    for (int32_t i = 1; i + 1 < given->rank; i++)
        batches *= (size_t)given->dims[i];
    *(factor->is_transposed ? &s.column : &s.row) = batches * width;
    s.matrix = width;
    return s;
}

static void scale(onnxd_dtype dtype, double alpha, void *values, size_t count)
{
    if (dtype == ONNXD_DOUBLE) {
        for (size_t i = 0; i < count; i++)
            ((double *)values)[i] *= alpha;
        return;
    }
    for (size_t i = 0; i < count; i++)
        ((float *)values)[i] *= (float)alpha;
}

static onnxd_status *multiply(const onnxd_compute *context)
{
    const fused_params *params = context->params;
    const onnxd_tensor_view *a = &context->inputs[0], *b = &context->inputs[1];
    onnxd_shape left = shape_of(&params->factors[0], &a->shape);
    onnxd_shape right = shape_of(&params->factors[1], &b->shape);
    onnxd_matmul_extent e = onnxd_matmul_extent_of(&left, &right);
    strides from_a = strides_of(&params->factors[0], &a->shape, e.rows, e.depth);
    strides from_b = strides_of(&params->factors[1], &b->shape, e.depth, e.columns);
    onnxd_product product = {e.rows,        e.depth,    e.columns,    from_a.row,
                             from_a.column, from_b.row, from_b.column};
    size_t element = onnxd_dtype_size(a->dtype), bytes = e.rows * e.columns * element;
    const char *a_data = onnxd_tensor_view_data(a), *b_data = onnxd_tensor_view_data(b);
    char *out = onnxd_tensor_view_data(&context->outputs[0]);
    size_t batches = onnxd_matmul_batches(&e);
    for (size_t batch = 0; batch < batches; batch++, out += bytes) {
        size_t a_index, b_index;
        onnxd_matmul_locate(&e, batch, &a_index, &b_index);
        onnxd_product_run(&product, a->dtype, a_data + a_index * from_a.matrix * element,
                          b_data + b_index * from_b.matrix * element, out);
        if (params->alpha != 1)
            scale(a->dtype, (double)params->alpha, out, e.rows * e.columns);
    }
    return NULL;
}

static size_t workspace_bytes(const onnxd_compute *context)
{
    return onnxd_tensor_view_count(&context->outputs[0]) == 0
               ? 0
               : onnxd_as_float_workspace_bytes(context);
}

static onnxd_status *compute(const onnxd_compute *context)
{
    if (onnxd_tensor_view_count(&context->outputs[0]) == 0)
        return NULL;
    return onnxd_as_float_compute(context, multiply);
}

#define FORMAL                                                                                     \
    {                                                                                              \
        .types = ONNXD_SET_FLOATS, .type_variable = 1                                              \
    }

const onnxd_op_def onnxd_op_contrib_fused_matmul[] = {
    {ONNXD_CONTRIB_NAME("FusedMatMul"), .min_inputs = 2, .max_inputs = 2, .min_outputs = 1,
     .max_outputs = 1, .inputs = {FORMAL, FORMAL}, .outputs = {FORMAL},
     .params_bytes = sizeof(fused_params), .parse = parse, .infer = infer,
     .workspace_bytes = workspace_bytes, .compute = compute},
    {.op_type = NULL},
};
