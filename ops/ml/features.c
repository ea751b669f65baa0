/*
 * Feature by feature: Binarizer, Imputer and Scaler. A row is the last axis; an attribute list has
 * one element, for all, or one for each feature.
 */
#include <inttypes.h>
#include <math.h>

#include "ops/ml/ml.h"
#include "ops/ops.h"

/* ---- shared -------------------------------------------------------------------------------- */

static onnxd_status *check_width(const onnxd_infer *infer, const char *name, size_t count)
{
    const onnxd_shape *shape = &infer->inputs[0].shape;
    if (count <= 1 || shape->rank < 0)
        return NULL;
    const int64_t width = shape->rank == 0 ? 1 : shape->dims[shape->rank - 1];
    if (width >= 0 && (uint64_t)width != count)
        return onnxd_op_error(infer->node,
                              "attribute '%s' has %zu elements, allowed are 1 and the number of "
                              "features, %" PRId64,
                              name, count, width);
    return NULL;
}

static size_t width_of(const onnxd_tensor_view *view)
{
    return view->shape.rank == 0 ? 1 : (size_t)view->shape.dims[view->shape.rank - 1];
}

/* ---- Binarizer ----------------------------------------------------------------------------- */

typedef struct binarizer_params {
    float threshold;
} binarizer_params;

static onnxd_status *parse_binarizer(const onnxd_node *node, int64_t opset, onnxd_arena *arena,
                                     void *params)
{
    (void)opset, (void)arena;
    static const char *const names[] = {"threshold", NULL};
    binarizer_params *p = params;
    ONNXD_TRY(onnxd_attributes_allow(node, names));
    return onnxd_attribute_float(node, "threshold", &p->threshold);
}

#define BINARIZE(id, T)                                                                            \
    static void binarize_##id(const T *in, size_t count, double threshold, T *out)                 \
    {                                                                                              \
        for (size_t i = 0; i < count; i++)                                                         \
            out[i] = (T)((double)in[i] > threshold);                                               \
    }
BINARIZE(float, float)
BINARIZE(double, double)
BINARIZE(int64, int64_t)
BINARIZE(int32, int32_t)

static onnxd_status *compute_binarizer(const onnxd_compute *compute)
{
    const binarizer_params *p = compute->params;
    const void *in = onnxd_tensor_view_data(&compute->inputs[0]);
    void *out = onnxd_tensor_view_data(&compute->outputs[0]);
    const size_t count = onnxd_tensor_view_count(&compute->inputs[0]);
    const double threshold = (double)p->threshold;
    if (compute->inputs[0].dtype == ONNXD_FLOAT)
        binarize_float(in, count, threshold, out);
    else if (compute->inputs[0].dtype == ONNXD_DOUBLE)
        binarize_double(in, count, threshold, out);
    else if (compute->inputs[0].dtype == ONNXD_INT64)
        binarize_int64(in, count, threshold, out);
    else
        binarize_int32(in, count, threshold, out);
    return NULL;
}

/* ---- Scaler -------------------------------------------------------------------------------- */

typedef struct scaler_params {
    const float *scale, *offset;
    size_t scale_count, offset_count;
} scaler_params;

static onnxd_status *parse_scaler(const onnxd_node *node, int64_t opset, onnxd_arena *arena,
                                  void *params)
{
    (void)opset, (void)arena;
    static const char *const names[] = {"offset", "scale", NULL};
    scaler_params *p = params;
    ONNXD_TRY(onnxd_attributes_allow(node, names));
    ONNXD_TRY(onnxd_attribute_float_list(node, "scale", &p->scale, &p->scale_count));
    return onnxd_attribute_float_list(node, "offset", &p->offset, &p->offset_count);
}

static onnxd_status *infer_scaler(onnxd_infer *infer)
{
    const scaler_params *p = infer->params;
    ONNXD_TRY(check_width(infer, "scale", p->scale_count));
    ONNXD_TRY(check_width(infer, "offset", p->offset_count));
    infer->outputs[0].dtype = ONNXD_FLOAT;
    infer->outputs[0].shape = infer->inputs[0].shape;
    return NULL;
}

static float element(const float *list, size_t count, size_t index, float missing)
{
    return count == 0 ? missing : list[count == 1 ? 0 : index];
}

static onnxd_status *compute_scaler(const onnxd_compute *compute)
{
    const scaler_params *p = compute->params;
    const onnxd_tensor_view *input = &compute->inputs[0];
    const size_t count = onnxd_tensor_view_count(input), width = width_of(input);
    float *out = onnxd_tensor_view_data(&compute->outputs[0]);
    onnxd_ml_load_floats(input, 0, count, out);
    for (size_t first = 0; first < count; first += width)
        for (size_t i = 0; i < width; i++)
            out[first + i] = (out[first + i] - element(p->offset, p->offset_count, i, 0.0f)) *
                             element(p->scale, p->scale_count, i, 1.0f);
    return NULL;
}

/* ---- Imputer ------------------------------------------------------------------------------- */

typedef struct imputer_params {
    float replaced_float;
    int64_t replaced_integer;
    const float *floats;
    const int64_t *integers;
    size_t count;
} imputer_params;

static onnxd_status *parse_imputer(const onnxd_node *node, int64_t opset, onnxd_arena *arena,
                                   void *params)
{
    (void)opset, (void)arena;
    static const char *const names[] = {"imputed_value_floats", "imputed_value_int64s",
                                        "replaced_value_float", "replaced_value_int64", NULL};
    imputer_params *p = params;
    ONNXD_TRY(onnxd_attributes_allow(node, names));
    ONNXD_TRY(onnxd_attribute_float_list(node, "imputed_value_floats", &p->floats, &p->count));
    if (p->count == 0)
        p->floats = NULL;
    ONNXD_TRY(onnxd_attribute_int_list(node, "imputed_value_int64s", &p->integers, &p->count));
    if ((p->floats == NULL) == (p->integers == NULL) || p->count == 0)
        return onnxd_op_error(node, "exactly one of the attributes 'imputed_value_floats' and "
                                    "'imputed_value_int64s' must hold values");
    ONNXD_TRY(onnxd_attribute_float(node, "replaced_value_float", &p->replaced_float));
    return onnxd_attribute_int(node, "replaced_value_int64", INT64_MIN, INT64_MAX,
                               &p->replaced_integer);
}

static onnxd_status *infer_imputer(onnxd_infer *infer)
{
    const imputer_params *p = infer->params;
    const onnxd_dtype dtype = infer->inputs[0].dtype;
    const bool is_float = dtype == ONNXD_FLOAT || dtype == ONNXD_DOUBLE;
    if (dtype != ONNXD_UNDEFINED && is_float != (p->floats != NULL))
        return onnxd_op_error(infer->node, "attribute '%s' is given for an input of type %s",
                              p->floats != NULL ? "imputed_value_floats" : "imputed_value_int64s",
                              onnxd_dtype_name(dtype));
    ONNXD_TRY(check_width(
        infer, p->floats != NULL ? "imputed_value_floats" : "imputed_value_int64s", p->count));
    if (dtype == ONNXD_INT32)
        for (size_t i = 0; i < p->count; i++)
            if (p->integers[i] < INT32_MIN || p->integers[i] > INT32_MAX)
                return onnxd_op_error(infer->node,
                                      "attribute 'imputed_value_int64s': element %zu is %" PRId64
                                      ", beyond int32",
                                      i, p->integers[i]);
    return onnxd_op_infer_same(infer);
}

/* NaN stands for every NaN. */
#define IMPUTE(id, T, LIST, REPLACED, IS_NAN)                                                      \
    static void impute_##id(const imputer_params *p, const T *in, size_t count, size_t width,      \
                            T *out)                                                                \
    {                                                                                              \
        const T replaced = (T)p->REPLACED;                                                         \
        const bool is_nan = IS_NAN(replaced);                                                      \
        for (size_t first = 0; first < count; first += width)                                      \
            for (size_t i = 0; i < width; i++) {                                                   \
                const T value = in[first + i];                                                     \
                const bool is_hit = is_nan ? IS_NAN(value) : value == replaced;                    \
                out[first + i] = is_hit ? (T)p->LIST[p->count == 1 ? 0 : i] : value;               \
            }                                                                                      \
    }
#define NEVER_NAN(x) ((void)(x), false)
IMPUTE(float, float, floats, replaced_float, isnan)
IMPUTE(double, double, floats, replaced_float, isnan)
IMPUTE(int64, int64_t, integers, replaced_integer, NEVER_NAN)

/* Compared at full width: a value to replace beyond int32 replaces nothing. */
static void impute_int32(const imputer_params *p, const int32_t *in, size_t count, size_t width,
                         int32_t *out)
{
    for (size_t first = 0; first < count; first += width)
        for (size_t i = 0; i < width; i++)
            out[first + i] = in[first + i] == p->replaced_integer
                                 ? (int32_t)p->integers[p->count == 1 ? 0 : i]
                                 : in[first + i];
}

static onnxd_status *compute_imputer(const onnxd_compute *compute)
{
    const onnxd_tensor_view *input = &compute->inputs[0];
    const void *in = onnxd_tensor_view_data(input);
    void *out = onnxd_tensor_view_data(&compute->outputs[0]);
    const size_t count = onnxd_tensor_view_count(input), width = width_of(input);
    if (input->dtype == ONNXD_FLOAT)
        impute_float(compute->params, in, count, width, out);
    else if (input->dtype == ONNXD_DOUBLE)
        impute_double(compute->params, in, count, width, out);
    else if (input->dtype == ONNXD_INT64)
        impute_int64(compute->params, in, count, width, out);
    else
        impute_int32(compute->params, in, count, width, out);
    return NULL;
}

/* ---- definitions --------------------------------------------------------------------------- */

#define COMMON(name, op, out_set, variable)                                                        \
    .op_type = name, .domain = ONNXD_ML_DOMAIN, .since = 1, .until = ONNXD_ML_OPSET_MAX,           \
    .min_inputs = 1, .max_inputs = 1, .min_outputs = 1, .max_outputs = 1,                          \
    .inputs = {{.types = ONNXD_SET_ML_NUMBERS, .type_variable = 1}},                               \
    .outputs = {{.types = out_set, .type_variable = variable}},                                    \
    .params_bytes = sizeof(op##_params), .parse = parse_##op, .compute = compute_##op

const onnxd_op_def onnxd_op_features[] = {
    {COMMON("Binarizer", binarizer, ONNXD_SET_ML_NUMBERS, 1), .infer = onnxd_op_infer_same},
    {COMMON("Imputer", imputer, ONNXD_SET_ML_NUMBERS, 1), .infer = infer_imputer},
    {COMMON("Scaler", scaler, ONNXD_SET(FLOAT), 0), .infer = infer_scaler},
    {.op_type = NULL},
};
