/* Normalizer: each row by its greatest element (MAX), its sum of magnitudes (L1) or its length
 * (L2). A row whose divisor is zero stays. */
#include <math.h>

#include "ops/choice.h"
#include "ops/ml/ml.h"
#include "ops/ops.h"

typedef enum norm { NORM_MAX, NORM_L1, NORM_L2 } norm;

typedef struct normalizer_params {
    norm kind;
} normalizer_params;

static onnxd_status *parse(const onnxd_node *node, int64_t opset, onnxd_arena *arena, void *params)
{
    (void)opset, (void)arena;
    static const char *const names[] = {"norm", NULL};
    static const char *const kinds[] = {"MAX", "L1", "L2"};
    normalizer_params *p = params;
    size_t kind = 0;
    ONNXD_TRY(onnxd_attributes_allow(node, names));
    ONNXD_TRY(onnxd_op_choice(node, "norm", kinds, ONNXD_COUNT(kinds), &kind));
    p->kind = (norm)kind;
    return NULL;
}

static onnxd_status *infer(onnxd_infer *infer)
{
    infer->outputs[0].dtype = ONNXD_FLOAT;
    infer->outputs[0].shape = infer->inputs[0].shape;
    if (infer->inputs[0].shape.rank > 2)
        return onnxd_op_error(infer->node, "the input has rank %d, at most 2 is allowed",
                              (int)infer->inputs[0].shape.rank);
    return NULL;
}

static float divisor_of(norm kind, const float *row, size_t width)
{
    float result = kind == NORM_MAX ? -INFINITY : 0.0f;
    for (size_t i = 0; i < width; i++) {
        if (kind == NORM_MAX)
            result = row[i] > result ? row[i] : result;
        else
            result += kind == NORM_L1 ? fabsf(row[i]) : row[i] * row[i];
    }
    return kind == NORM_L2 ? sqrtf(result) : result;
}

static onnxd_status *compute(const onnxd_compute *compute)
{
    const normalizer_params *p = compute->params;
    const onnxd_ml_rows rows = onnxd_ml_rows_of(&compute->inputs[0].shape);
    float *row = onnxd_tensor_view_data(&compute->outputs[0]);
    if (rows.width == 0)
        return NULL;
    onnxd_ml_load_floats(&compute->inputs[0], 0, rows.count * rows.width, row);
    for (size_t r = 0; r < rows.count; r++, row += rows.width) {
        const float divisor = divisor_of(p->kind, row, rows.width);
        for (size_t i = 0; divisor != 0.0f && i < rows.width; i++)
            row[i] /= divisor;
    }
    return NULL;
}

const onnxd_op_def onnxd_op_normalizer[] = {
    {.op_type = "Normalizer",
     .domain = ONNXD_ML_DOMAIN,
     .since = 1,
     .until = ONNXD_ML_OPSET_MAX,
     .min_inputs = 1,
     .max_inputs = 1,
     .min_outputs = 1,
     .max_outputs = 1,
     .inputs = {{.types = ONNXD_SET_ML_NUMBERS}},
     .outputs = {{.types = ONNXD_SET(FLOAT)}},
     .params_bytes = sizeof(normalizer_params),
     .parse = parse,
     .infer = infer,
     .compute = compute},
    {.op_type = NULL},
};
