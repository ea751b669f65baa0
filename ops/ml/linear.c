/* LinearRegressor and LinearClassifier: rows times coefficients, plus intercepts. */
#include <inttypes.h>
#include <string.h>

#include "base/size_math.h"
#include "ops/ml/ml.h"
#include "ops/ops.h"

typedef struct linear_params {
    const float *coefficients, *intercepts; /* targets rows of features; intercepts may be NULL */
    size_t targets, features;
    onnxd_ml_labels labels;
    onnxd_ml_transform transform;
    bool is_pair; /* one target tells two classes apart */
} linear_params;

/* ---- attributes ---------------------------------------------------------------------------- */

static onnxd_status *parse_weights(const onnxd_node *node, linear_params *p)
{
    size_t coefficients = 0, intercepts = 0;
    ONNXD_TRY(onnxd_attribute_require(node, "coefficients"));
    ONNXD_TRY(onnxd_attribute_float_list(node, "coefficients", &p->coefficients, &coefficients));
    ONNXD_TRY(onnxd_attribute_float_list(node, "intercepts", &p->intercepts, &intercepts));
    if (p->targets == 0)
        p->targets = intercepts == 0 ? 1 : intercepts;
    if (coefficients == 0 || coefficients % p->targets != 0)
        return onnxd_op_error(node,
                              "attribute 'coefficients' has %zu elements, no multiple of %zu "
                              "targets",
                              coefficients, p->targets);
    if (intercepts != 0 && intercepts != p->targets)
        return onnxd_op_error(node, "attribute 'intercepts' has %zu elements for %zu targets",
                              intercepts, p->targets);
    if (intercepts == 0)
        p->intercepts = NULL;
    p->features = coefficients / p->targets;
    return onnxd_ml_parse_transform(node, &p->transform);
}

static onnxd_status *parse_regressor(const onnxd_node *node, int64_t opset, onnxd_arena *arena,
                                     void *params)
{
    (void)opset, (void)arena;
    static const char *const names[] = {"coefficients", "intercepts", "post_transform", "targets",
                                        NULL};
    linear_params *p = params;
    int64_t targets = 1;
    ONNXD_TRY(onnxd_attributes_allow(node, names));
    ONNXD_TRY(onnxd_attribute_int(node, "targets", 1, INT32_MAX, &targets));
    p->targets = (size_t)targets;
    return parse_weights(node, p);
}

static onnxd_status *parse_classifier(const onnxd_node *node, int64_t opset, onnxd_arena *arena,
                                      void *params)
{
    (void)opset, (void)arena;
    static const char *const names[] = {"classlabels_ints",
                                        "classlabels_strings",
                                        "coefficients",
                                        "intercepts",
                                        "multi_class",
                                        "post_transform",
                                        NULL};
    linear_params *p = params;
    int64_t multi_class = 0;
    ONNXD_TRY(onnxd_attributes_allow(node, names));
    ONNXD_TRY(onnxd_attribute_int(node, "multi_class", 0, 1, &multi_class));
    ONNXD_TRY(
        onnxd_ml_parse_labels(node, "classlabels_ints", "classlabels_strings", false, &p->labels));
    ONNXD_TRY(parse_weights(node, p));
    p->is_pair = p->targets == 1 && p->labels.count == 2;
    if (p->labels.count != 0 && p->labels.count != p->targets && !p->is_pair)
        return onnxd_op_error(node, "there are %zu class labels for %zu targets", p->labels.count,
                              p->targets);
    return NULL;
}

/* ---- scores -------------------------------------------------------------------------------- */

static void score_row(const linear_params *p, const float *row, float *scores)
{
    for (size_t t = 0; t < p->targets; t++) {
        const float *c = p->coefficients + t * p->features;
        double sum = p->intercepts != NULL ? (double)p->intercepts[t] : 0.0;
        for (size_t i = 0; i < p->features; i++)
            sum += (double)row[i] * (double)c[i];
        scores[t] = (float)sum;
    }
}

/* A row of features, then of scores. */
static size_t workspace_bytes(const onnxd_compute *compute)
{
    const linear_params *p = compute->params;
    size_t floats, bytes;
    if (!onnxd_size_add(p->features, p->targets + 2, &floats) ||
        !onnxd_size_mul(floats, sizeof(float), &bytes))
        return SIZE_MAX;
    return bytes;
}

/* ---- regressor ----------------------------------------------------------------------------- */

static onnxd_status *infer_regressor(onnxd_infer *infer)
{
    const linear_params *p = infer->params;
    return onnxd_ml_infer_rows(infer, (int64_t)p->features, 0, ONNXD_FLOAT, (int64_t)p->targets);
}

static onnxd_status *compute_regressor(const onnxd_compute *compute)
{
    const linear_params *p = compute->params;
    const onnxd_ml_rows rows = onnxd_ml_rows_of(&compute->inputs[0].shape);
    float *row = compute->workspace, *out = onnxd_tensor_view_data(&compute->outputs[0]);
    for (size_t r = 0; r < rows.count; r++, out += p->targets) {
        onnxd_ml_load_floats(&compute->inputs[0], r * rows.width, rows.width, row);
        score_row(p, row, out);
        /* One score by itself has no other transform. */
        if (p->targets > 1 || p->transform == ONNXD_ML_PROBIT)
            onnxd_ml_transform_row(p->transform, out, p->targets);
    }
    return NULL;
}

/* ---- classifier ---------------------------------------------------------------------------- */

static onnxd_status *infer_classifier(onnxd_infer *infer)
{
    const linear_params *p = infer->params;
    ONNXD_TRY(onnxd_ml_infer_rows(infer, (int64_t)p->features, 1, ONNXD_FLOAT,
                                  p->is_pair ? 2 : (int64_t)p->targets));
    infer->outputs[0].dtype = onnxd_ml_label_dtype(&p->labels);
    infer->outputs[0].shape = onnxd_shape_of_rank(1);
    infer->outputs[0].shape.dims[0] = infer->outputs[1].shape.dims[0];
    return NULL;
}

static size_t classify(const linear_params *p, float *scores)
{
    size_t best = 0;
    if (p->targets == 1) {
        best = scores[0] > 0.0f;
        if (p->is_pair)
            onnxd_ml_transform_pair(p->transform, ONNXD_ML_COMPLEMENT, scores);
        else
            onnxd_ml_transform_row(p->transform, scores, 1);
        return p->labels.count == 1 ? 0 : best;
    }
    for (size_t t = 1; t < p->targets; t++)
        if (scores[t] > scores[best])
            best = t;
    onnxd_ml_transform_row(p->transform, scores, p->targets);
    return best;
}

static onnxd_status *compute_classifier(const onnxd_compute *compute)
{
    const linear_params *p = compute->params;
    const onnxd_ml_rows rows = onnxd_ml_rows_of(&compute->inputs[0].shape);
    const size_t width = p->is_pair ? 2 : p->targets;
    float *row = compute->workspace, *scores = row + p->features;
    void *labels = onnxd_tensor_view_data(&compute->outputs[0]);
    float *out = onnxd_tensor_view_data(&compute->outputs[1]);
    for (size_t r = 0; r < rows.count; r++) {
        onnxd_ml_load_floats(&compute->inputs[0], r * rows.width, rows.width, row);
        score_row(p, row, scores);
        onnxd_ml_write_label(&p->labels, classify(p, scores), labels, r);
        if (onnxd_tensor_view_is_present(&compute->outputs[1]))
            memcpy(out + r * width, scores, width * sizeof(float));
    }
    return NULL;
}

#define COMMON(name, op)                                                                           \
    .op_type = name, .domain = ONNXD_ML_DOMAIN, .since = 1, .until = ONNXD_ML_OPSET_MAX,           \
    .min_inputs = 1, .max_inputs = 1, .inputs = {{.types = ONNXD_SET_ML_NUMBERS}},                 \
    .params_bytes = sizeof(linear_params), .parse = parse_##op, .infer = infer_##op,               \
    .workspace_bytes = workspace_bytes, .compute = compute_##op

const onnxd_op_def onnxd_op_linear[] = {
    {COMMON("LinearRegressor", regressor), .min_outputs = 1, .max_outputs = 1,
     .outputs = {{.types = ONNXD_SET(FLOAT)}}},
    {COMMON("LinearClassifier", classifier), .min_outputs = 2, .max_outputs = 2,
     .outputs = {{.types = ONNXD_SET(STRING) | ONNXD_SET(INT64)}, {.types = ONNXD_SET(FLOAT)}}},
    {.op_type = NULL},
};
