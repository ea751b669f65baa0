/* FeatureVectorizer: inputs side by side, as floats. A list counts as one row. */
#include <inttypes.h>

#include "ops/ml/ml.h"
#include "ops/ops.h"

typedef struct vectorizer_params {
    const int64_t *widths; /* of each input, or NULL */
    size_t width_count;
} vectorizer_params;

static onnxd_status *parse(const onnxd_node *node, int64_t opset, onnxd_arena *arena, void *params)
{
    (void)opset, (void)arena;
    static const char *const names[] = {"inputdimensions", NULL};
    vectorizer_params *p = params;
    ONNXD_TRY(onnxd_attributes_allow(node, names));
    ONNXD_TRY(onnxd_attribute_int_list(node, "inputdimensions", &p->widths, &p->width_count));
    if (p->widths != NULL && p->width_count != node->input_count)
        return onnxd_op_error(node, "attribute 'inputdimensions' has %zu elements for %u inputs",
                              p->width_count, node->input_count);
    return NULL;
}

/* The features of one input; unknown when its shape does not tell. */
static onnxd_status *width_of(const onnxd_infer *infer, uint32_t input, int64_t *out_width)
{
    const vectorizer_params *p = infer->params;
    const onnxd_shape *shape = &infer->inputs[input].shape;
    int64_t width = ONNXD_DIM_UNKNOWN;
    if (shape->rank > 2)
        return onnxd_op_error(infer->node, "input %u has rank %d, at most 2 is allowed", input,
                              (int)shape->rank);
    if (shape->rank >= 0)
        width = shape->rank == 0 ? 1 : shape->dims[shape->rank - 1];
    if (p->widths != NULL && width >= 0 && width != p->widths[input])
        return onnxd_op_error(infer->node,
                              "input %u has %" PRId64
                              " features, attribute 'inputdimensions' says %" PRId64,
                              input, width, p->widths[input]);
    *out_width = width;
    return NULL;
}

static onnxd_status *infer(onnxd_infer *infer)
{
    onnxd_shape *out = &infer->outputs[0].shape;
    infer->outputs[0].dtype = ONNXD_FLOAT;
    *out = onnxd_shape_of_rank(2);
    out->dims[1] = 0;
    for (uint32_t i = 0; i < infer->input_count; i++) {
        const onnxd_shape *shape = &infer->inputs[i].shape;
        int64_t width = 0, rows = shape->rank == 2 ? shape->dims[0] : 1;
        ONNXD_TRY(width_of(infer, i, &width));
        if (width < 0 || out->dims[1] < 0 || width > INT64_MAX - out->dims[1])
            out->dims[1] = ONNXD_DIM_UNKNOWN;
        else
            out->dims[1] += width;
        if (shape->rank < 0)
            continue;
        if (out->dims[0] >= 0 && rows >= 0 && out->dims[0] != rows)
            return onnxd_op_error(infer->node,
                                  "input %u has %" PRId64 " rows, those before it %" PRId64, i,
                                  rows, out->dims[0]);
        if (out->dims[0] < 0)
            out->dims[0] = rows;
    }
    return NULL;
}

static onnxd_status *compute(const onnxd_compute *compute)
{
    const size_t rows = (size_t)compute->outputs[0].shape.dims[0];
    float *out = onnxd_tensor_view_data(&compute->outputs[0]);
    if (compute->outputs[0].shape.dims[1] == 0)
        return NULL;
    for (size_t row = 0; row < rows; row++)
        for (uint32_t i = 0; i < compute->input_count; i++) {
            const size_t width = onnxd_ml_rows_of(&compute->inputs[i].shape).width;
            onnxd_ml_load_floats(&compute->inputs[i], row * width, width, out);
            out += width;
        }
    return NULL;
}

const onnxd_op_def onnxd_op_feature_vectorizer[] = {
    {.op_type = "FeatureVectorizer",
     .domain = ONNXD_ML_DOMAIN,
     .since = 1,
     .until = ONNXD_ML_OPSET_MAX,
     .min_inputs = 1,
     .max_inputs = ONNXD_OP_VARIADIC,
     .min_outputs = 1,
     .max_outputs = 1,
     .inputs = {{.types = ONNXD_SET_ML_NUMBERS}},
     .outputs = {{.types = ONNXD_SET(FLOAT)}},
     .params_bytes = sizeof(vectorizer_params),
     .parse = parse,
     .infer = infer,
     .compute = compute},
    {.op_type = NULL},
};
