#include "ops/ml/ml.h"

#include <inttypes.h>
#include <math.h>

#include "ops/choice.h"

/* ---- rows ---------------------------------------------------------------------------------- */

onnxd_ml_rows onnxd_ml_rows_of(const onnxd_shape *shape)
{
    if (shape->rank == 0)
        return (onnxd_ml_rows){1, 1};
    if (shape->rank == 1)
        return (onnxd_ml_rows){1, (size_t)shape->dims[0]};
    return (onnxd_ml_rows){(size_t)shape->dims[0], (size_t)shape->dims[1]};
}

onnxd_status *onnxd_ml_infer_rows(onnxd_infer *infer, int64_t width, uint32_t output,
                                  onnxd_dtype dtype, int64_t out_width)
{
    const onnxd_shape *input = &infer->inputs[0].shape;
    char text[ONNXD_SHAPE_TEXT];
    onnxd_tensor_type *type = &infer->outputs[output];
    type->dtype = dtype;
    type->shape = onnxd_shape_of_rank(2);
    type->shape.dims[1] = out_width;
    if (input->rank == ONNXD_RANK_UNKNOWN)
        return NULL;
    if (input->rank > 2)
        return onnxd_op_error(infer->node, "the input has shape %s, at most rank 2 is allowed",
                              onnxd_shape_format(input, text, sizeof(text)));
    const int64_t features = input->rank == 0 ? 1 : input->dims[input->rank - 1];
    if (width >= 0 && features >= 0 && features != width)
        return onnxd_op_error(infer->node,
                              "the input has %" PRId64 " features in a row, its attributes are for "
                              "%" PRId64,
                              features, width);
    type->shape.dims[0] = input->rank == 2 ? input->dims[0] : 1;
    return NULL;
}

#define DEFINE_LOAD(to)                                                                            \
    void onnxd_ml_load_##to##s(const onnxd_tensor_view *view, size_t first, size_t count, to *out) \
    {                                                                                              \
        union {                                                                                    \
            const void *any;                                                                       \
            const float *f32;                                                                      \
            const double *f64;                                                                     \
            const int64_t *i64;                                                                    \
            const int32_t *i32;                                                                    \
        } in = {.any = onnxd_tensor_view_data(view)};                                              \
        if (view->dtype == ONNXD_FLOAT)                                                            \
            for (size_t i = 0; i < count; i++)                                                     \
                out[i] = (to)in.f32[first + i];                                                    \
        else if (view->dtype == ONNXD_DOUBLE)                                                      \
            for (size_t i = 0; i < count; i++)                                                     \
                out[i] = (to)in.f64[first + i];                                                    \
        else if (view->dtype == ONNXD_INT64)                                                       \
            for (size_t i = 0; i < count; i++)                                                     \
                out[i] = (to)in.i64[first + i];                                                    \
        else                                                                                       \
            for (size_t i = 0; i < count; i++)                                                     \
                out[i] = (to)in.i32[first + i];                                                    \
    }
DEFINE_LOAD(float)
DEFINE_LOAD(double)

/* ---- labels -------------------------------------------------------------------------------- */

onnxd_status *onnxd_ml_parse_labels(const onnxd_node *node, const char *integers, const char *texts,
                                    bool is_required, onnxd_ml_labels *out_labels)
{
    const bool has_integers = onnxd_node_attribute(node, integers) != NULL;
    const bool has_texts = onnxd_node_attribute(node, texts) != NULL;
    if ((has_integers && has_texts) || (is_required && !has_integers && !has_texts))
        return onnxd_op_error(node, "exactly one of the attributes '%s' and '%s' must be given",
                              integers, texts);
    ONNXD_TRY(onnxd_attribute_int_list(node, integers, &out_labels->integers, &out_labels->count));
    return onnxd_attribute_string_list(node, texts, &out_labels->texts, &out_labels->count);
}

onnxd_dtype onnxd_ml_label_dtype(const onnxd_ml_labels *labels)
{
    return labels->texts != NULL ? ONNXD_STRING : ONNXD_INT64;
}

void onnxd_ml_write_label(const onnxd_ml_labels *labels, size_t label, void *out, size_t index)
{
    if (labels->texts != NULL)
        ((onnxd_string *)out)[index] =
            (onnxd_string){labels->texts[label].data, labels->texts[label].size};
    else
        ((int64_t *)out)[index] =
            labels->integers != NULL ? labels->integers[label] : (int64_t)label;
}

/* ---- scores -------------------------------------------------------------------------------- */

onnxd_status *onnxd_ml_parse_transform(const onnxd_node *node, onnxd_ml_transform *out_transform)
{
    static const char *const names[] = {"NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT"};
    size_t transform = 0;
    ONNXD_TRY(onnxd_op_choice(node, "post_transform", names, ONNXD_COUNT(names), &transform));
    *out_transform = (onnxd_ml_transform)transform;
    return NULL;
}

float onnxd_ml_logistic(float value)
{
    const float positive = 1.0f / (1.0f + expf(-fabsf(value)));
    return value < 0.0f ? 1.0f - positive : positive;
}

/* The inverse of the normal distribution function, by Winitzki's approximation of erf. */
static float probit(float value)
{
    const float a = 0.147f, x = 2.0f * value - 1.0f;
    const float logarithm = logf((1.0f - x) * (1.0f + x));
    const float v = 2.0f / (3.14159f * a) + 0.5f * logarithm;
    const float root = sqrtf(sqrtf(v * v - logarithm / a) - v);
    return 1.41421356f * (x < 0.0f ? -root : root);
}

/* `keeps_zero`: scores that are nearly zero get no share. */
static void softmax(float *scores, size_t count, bool keeps_zero)
{
    float greatest = -INFINITY, sum = 0.0f;
    for (size_t i = 0; i < count; i++)
        greatest = scores[i] > greatest ? scores[i] : greatest;
    const float scale = expf(-greatest);
    for (size_t i = 0; i < count; i++) {
        const bool is_zero = keeps_zero && fabsf(scores[i]) <= 0.0000001f;
        scores[i] = is_zero ? scores[i] * scale : expf(scores[i] - greatest);
        sum += scores[i];
    }
    for (size_t i = 0; i < count; i++)
        scores[i] /= sum;
}

void onnxd_ml_transform_row(onnxd_ml_transform transform, float *scores, size_t count)
{
    switch (transform) {
    case ONNXD_ML_NONE:
        break;
    case ONNXD_ML_SOFTMAX:
    case ONNXD_ML_SOFTMAX_ZERO:
        softmax(scores, count, transform == ONNXD_ML_SOFTMAX_ZERO);
        break;
    case ONNXD_ML_LOGISTIC:
        for (size_t i = 0; i < count; i++)
            scores[i] = onnxd_ml_logistic(scores[i]);
        break;
    case ONNXD_ML_PROBIT:
        for (size_t i = 0; i < count; i++)
            scores[i] = probit(scores[i]);
        break;
    }
}

void onnxd_ml_transform_pair(onnxd_ml_transform transform, onnxd_ml_pair pair, float *scores)
{
    const float score = scores[0];
    if (transform == ONNXD_ML_PROBIT) {
        scores[0] = probit(score);
        return;
    }
    if (transform == ONNXD_ML_LOGISTIC) {
        scores[0] = onnxd_ml_logistic(-score);
        scores[1] = onnxd_ml_logistic(score);
        return;
    }
    scores[0] = pair == ONNXD_ML_COMPLEMENT ? 1.0f - score : -score;
    scores[1] = score;
}
