/* ArrayFeatureExtractor: picks elements of the last axis. A list counts as one row. */
#include <inttypes.h>
#include <string.h>

#include "ops/ml/ml.h"
#include "ops/ops.h"

static onnxd_status *infer(onnxd_infer *infer)
{
    const onnxd_tensor_type *x = &infer->inputs[0], *y = &infer->inputs[1];
    onnxd_tensor_type *z = &infer->outputs[0];
    z->dtype = x->dtype;
    if (x->shape.rank == ONNXD_RANK_UNKNOWN)
        return NULL;
    if (x->shape.rank == 0)
        return onnxd_op_error(infer->node, "the input is a scalar, at least rank 1 is needed");
    z->shape = x->shape.rank == 1 ? onnxd_shape_of_rank(2) : x->shape;
    if (x->shape.rank == 1)
        z->shape.dims[0] = 1;
    size_t count;
    z->shape.dims[z->shape.rank - 1] =
        onnxd_shape_count(&y->shape, &count) ? (int64_t)count : ONNXD_DIM_UNKNOWN;
    return NULL;
}

static onnxd_status *compute(const onnxd_compute *compute)
{
    const onnxd_tensor_view *x = &compute->inputs[0], *y = &compute->inputs[1];
    const int64_t *indices = onnxd_tensor_view_data(y);
    const size_t picked = onnxd_tensor_view_count(y), bytes = onnxd_dtype_size(x->dtype);
    const int64_t width = x->shape.dims[x->shape.rank - 1];
    const size_t rows = width == 0 ? 0 : onnxd_tensor_view_count(x) / (size_t)width;
    const char *from = onnxd_tensor_view_data(x);
    char *to = onnxd_tensor_view_data(&compute->outputs[0]);
    for (size_t i = 0; i < picked; i++)
        if (indices[i] < 0 || indices[i] >= width)
            return onnxd_op_error(compute->node,
                                  "input 1: element %zu is %" PRId64 ", allowed are 0 to %" PRId64,
                                  i, indices[i], width - 1);
    for (size_t row = 0; row < rows; row++, from += (size_t)width * bytes)
        for (size_t i = 0; i < picked; i++, to += bytes)
            memcpy(to, from + (size_t)indices[i] * bytes, bytes);
    return NULL;
}

const onnxd_op_def onnxd_op_array_feature_extractor[] = {
    {.op_type = "ArrayFeatureExtractor",
     .domain = ONNXD_ML_DOMAIN,
     .since = 1,
     .until = ONNXD_ML_OPSET_MAX,
     .min_inputs = 2,
     .max_inputs = 2,
     .min_outputs = 1,
     .max_outputs = 1,
     .inputs = {{.types = ONNXD_SET_ML_NUMBERS | ONNXD_SET(STRING), .type_variable = 1},
                {.types = ONNXD_SET(INT64)}},
     .outputs = {{.types = ONNXD_SET_ML_NUMBERS | ONNXD_SET(STRING), .type_variable = 1}},
     .infer = infer,
     .compute = compute},
    {.op_type = NULL},
};
