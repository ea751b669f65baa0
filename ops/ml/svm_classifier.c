/*
 * SVMClassifier. With support vectors every pair of classes has a decision value, which votes for
 * one of them; with prob_a and prob_b these values become probabilities (Platt's sigmoid for each
 * pair, coupled by the second method of Wu, Lin and Weng, "Probability Estimates for Multi-class
 * Classification by Pairwise Coupling", 2004). Without vectors each class has its own coefficients.
 */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/size_math.h"
#include "ops/ml/svm_kernel.h"
#include "ops/ops.h"

#define MAX_CLASSES 4096

typedef struct classifier_params {
    onnxd_svm svm;
    onnxd_ml_labels labels;
    onnxd_ml_transform transform;
    const int64_t *counts; /* of vectors, by class */
    size_t classes;
    const float *prob_a, *prob_b; /* of each pair of classes; NULL: no probabilities */
    size_t width;                 /* of the scores */
} classifier_params;

static size_t pair_count(const classifier_params *p)
{
    return p->classes * (p->classes - 1) / 2;
}

/* ---- attributes ---------------------------------------------------------------------------- */

static onnxd_status *parse_counts(const onnxd_node *node, classifier_params *p, size_t *out_vectors)
{
    size_t count = 0, vectors = 0;
    ONNXD_TRY(onnxd_attribute_int_list(node, "vectors_per_class", &p->counts, &count));
    for (size_t i = 0; i < count; i++) {
        if (p->counts[i] < 0 || p->counts[i] > INT32_MAX)
            return onnxd_op_error(node,
                                  "attribute 'vectors_per_class': element %zu is %" PRId64
                                  ", it must not be negative",
                                  i, p->counts[i]);
        vectors += (size_t)p->counts[i];
    }
    if (vectors > 0 && (count != p->classes || count < 2))
        return onnxd_op_error(node,
                              "attribute 'vectors_per_class' has %zu elements for %zu classes, of "
                              "which there must be two at least",
                              count, p->classes);
    *out_vectors = vectors;
    return NULL;
}

static onnxd_status *parse_probabilities(const onnxd_node *node, classifier_params *p)
{
    size_t a = 0, b = 0;
    ONNXD_TRY(onnxd_attribute_float_list(node, "prob_a", &p->prob_a, &a));
    ONNXD_TRY(onnxd_attribute_float_list(node, "prob_b", &p->prob_b, &b));
    if (a == b && (a == 0 || p->svm.vector_count == 0)) {
        p->prob_a = NULL;
        return NULL;
    }
    if (a != b || a < pair_count(p))
        return onnxd_op_error(node,
                              "attributes 'prob_a' and 'prob_b' have %zu and %zu elements for %zu "
                              "pairs of classes",
                              a, b, pair_count(p));
    return NULL;
}

static onnxd_status *check_sizes(const onnxd_node *node, const classifier_params *p)
{
    const onnxd_svm *svm = &p->svm;
    if (svm->vector_count == 0)
        return NULL;
    if (svm->coefficient_count / (p->classes - 1) < svm->vector_count)
        return onnxd_op_error(node,
                              "attribute 'coefficients' has %zu elements, %zu for each of %zu "
                              "vectors are needed",
                              svm->coefficient_count, p->classes - 1, svm->vector_count);
    if (svm->rho_count < pair_count(p))
        return onnxd_op_error(node, "attribute 'rho' has %zu elements for %zu pairs of classes",
                              svm->rho_count, pair_count(p));
    return NULL;
}

static size_t width_of(const classifier_params *p)
{
    if (p->svm.vector_count == 0 || p->prob_a != NULL)
        return p->classes == 1 ? 1 : p->classes;
    return p->classes == 2 ? 2 : pair_count(p);
}

static onnxd_status *parse(const onnxd_node *node, int64_t opset, onnxd_arena *arena, void *params)
{
    (void)opset, (void)arena;
    static const char *const names[] = {"classlabels_ints",
                                        "classlabels_strings",
                                        "coefficients",
                                        "kernel_params",
                                        "kernel_type",
                                        "post_transform",
                                        "prob_a",
                                        "prob_b",
                                        "rho",
                                        "support_vectors",
                                        "vectors_per_class",
                                        NULL};
    classifier_params *p = params;
    size_t vectors = 0;
    ONNXD_TRY(onnxd_attributes_allow(node, names));
    ONNXD_TRY(
        onnxd_ml_parse_labels(node, "classlabels_ints", "classlabels_strings", false, &p->labels));
    p->classes = p->labels.count == 0 ? 1 : p->labels.count;
    if (p->classes > MAX_CLASSES)
        return onnxd_op_error(node, "there are %zu classes, at most %d are allowed", p->classes,
                              MAX_CLASSES);
    ONNXD_TRY(parse_counts(node, p, &vectors));
    ONNXD_TRY(onnxd_ml_parse_transform(node, &p->transform));
    ONNXD_TRY(onnxd_svm_parse(node, vectors, p->classes, &p->svm));
    ONNXD_TRY(parse_probabilities(node, p));
    ONNXD_TRY(check_sizes(node, p));
    p->width = width_of(p);
    return NULL;
}

/* ---- shapes -------------------------------------------------------------------------------- */

static onnxd_status *infer(onnxd_infer *infer)
{
    const classifier_params *p = infer->params;
    ONNXD_TRY(
        onnxd_ml_infer_rows(infer, (int64_t)p->svm.features, 1, ONNXD_FLOAT, (int64_t)p->width));
    infer->outputs[0].dtype = onnxd_ml_label_dtype(&p->labels);
    infer->outputs[0].shape = onnxd_shape_of_rank(1);
    infer->outputs[0].shape.dims[0] = infer->outputs[1].shape.dims[0];
    return NULL;
}

/* One row at a time. */
typedef struct scratch {
    double *kernels; /* [vectors] */
    double *pairs;   /* [classes, classes]: probabilities of one class against another */
    double *matrix;  /* [classes, classes] */
    double *chances, *products, *votes; /* [classes] */
    float *scores;                      /* [pairs + classes + 2] */
    float *row;                         /* [features] */
} scratch;

static size_t workspace_bytes(const onnxd_compute *compute)
{
    const classifier_params *p = compute->params;
    const size_t squares = 2 * p->classes * p->classes + 3 * p->classes;
    size_t doubles, floats, bytes, more;
    if (!onnxd_size_add(p->svm.vector_count, squares, &doubles) ||
        !onnxd_size_mul(doubles, sizeof(double), &bytes) ||
        !onnxd_size_add(p->svm.features, pair_count(p) + p->classes + 2, &floats) ||
        !onnxd_size_mul(floats, sizeof(float), &more) || !onnxd_size_add(bytes, more, &bytes))
        return SIZE_MAX;
    return bytes;
}

static scratch scratch_of(const classifier_params *p, void *workspace)
{
    const size_t squares = p->classes * p->classes;
    scratch s = {.kernels = workspace};
    s.pairs = s.kernels + p->svm.vector_count;
    s.matrix = s.pairs + squares;
    s.chances = s.matrix + squares;
    s.products = s.chances + p->classes;
    s.votes = s.products + p->classes;
    s.scores = (float *)(s.votes + p->classes);
    s.row = s.scores + pair_count(p) + p->classes + 2;
    return s;
}

/* ---- decision values ----------------------------------------------------------------------- */

/* The part of a decision that the vectors of one class make; `row` of the coefficients is for its
 * opponent. */
static double decide(const classifier_params *p, const scratch *s, size_t row, size_t first,
                     size_t count)
{
    const float *coefficients = p->svm.coefficients + row * p->svm.vector_count;
    double sum = 0.0;
    for (size_t v = first; v < first + count; v++)
        sum += (double)coefficients[v] * s->kernels[v];
    return sum;
}

static void vote(const classifier_params *p, const scratch *s)
{
    size_t pair = 0, first_i = 0;
    for (size_t v = 0; v < p->svm.vector_count; v++)
        s->kernels[v] = onnxd_svm_kernel(&p->svm, s->row, p->svm.vectors + v * p->svm.features);
    memset(s->votes, 0, p->classes * sizeof(double));
    for (size_t i = 0; i < p->classes; first_i += (size_t)p->counts[i++]) {
        size_t first_j = first_i + (size_t)p->counts[i];
        for (size_t j = i + 1; j < p->classes; first_j += (size_t)p->counts[j++]) {
            const double score = (double)p->svm.rho[pair] +
                                 decide(p, s, j - 1, first_i, (size_t)p->counts[i]) +
                                 decide(p, s, i, first_j, (size_t)p->counts[j]);
            s->scores[pair++] = (float)score;
            s->votes[score > 0.0 ? i : j] += 1.0;
        }
    }
}

/* ---- probabilities ------------------------------------------------------------------------- */

static void make_matrix(const classifier_params *p, const scratch *s)
{
    const size_t k = p->classes;
    for (size_t t = 0; t < k; t++) {
        double square = 0.0;
        for (size_t j = 0; j < k; j++)
            if (j != t) {
                square += s->pairs[j * k + t] * s->pairs[j * k + t];
                s->matrix[t * k + j] = -s->pairs[j * k + t] * s->pairs[t * k + j];
            }
        s->matrix[t * k + t] = square;
        s->chances[t] = 1.0 / (double)k;
    }
}

/* matrix * chances into products; returns chances * products. */
static double multiply(const classifier_params *p, const scratch *s)
{
    const size_t k = p->classes;
    double total = 0.0;
    for (size_t t = 0; t < k; t++) {
        s->products[t] = 0.0;
        for (size_t j = 0; j < k; j++)
            s->products[t] += s->matrix[t * k + j] * s->chances[j];
        total += s->chances[t] * s->products[t];
    }
    return total;
}

/* The chances that agree best with all pairs, by fixed-point iteration. */
static void couple(const classifier_params *p, const scratch *s)
{
    const size_t k = p->classes, rounds = k > 100 ? k : 100;
    make_matrix(p, s);
    for (size_t round = 0; round < rounds; round++) {
        double total = multiply(p, s), worst = 0.0;
        for (size_t t = 0; t < k; t++)
            worst = fmax(worst, fabs(s->products[t] - total));
        if (worst < 0.005 / (double)k)
            return;
        for (size_t t = 0; t < k; t++) {
            const double step = (total - s->products[t]) / s->matrix[t * k + t];
            s->chances[t] += step;
            total = (total + step * (step * s->matrix[t * k + t] + 2.0 * s->products[t])) /
                    ((1.0 + step) * (1.0 + step));
            for (size_t j = 0; j < k; j++) {
                s->products[j] = (s->products[j] + step * s->matrix[t * k + j]) / (1.0 + step);
                s->chances[j] /= 1.0 + step;
            }
        }
    }
}

static void find_probabilities(const classifier_params *p, const scratch *s)
{
    const size_t k = p->classes;
    size_t pair = 0;
    for (size_t i = 0; i < k; i++)
        for (size_t j = i + 1; j < k; j++, pair++) {
            const float value = s->scores[pair] * p->prob_a[pair] + p->prob_b[pair];
            const double chance = 1.0 - (double)onnxd_ml_logistic(value);
            s->pairs[i * k + j] = fmin(fmax(chance, 1.0e-7), 1.0 - 1.0e-7);
            s->pairs[j * k + i] = 1.0 - s->pairs[i * k + j];
        }
    couple(p, s);
    for (size_t i = 0; i < k; i++)
        s->scores[i] = (float)s->chances[i];
}

/* ---- labels -------------------------------------------------------------------------------- */

static size_t best_vote(const classifier_params *p, const scratch *s)
{
    size_t best = 0;
    for (size_t i = 1; i < p->classes; i++)
        if (s->votes[i] > s->votes[best])
            best = i;
    return best;
}

static size_t best_score(const classifier_params *p, const scratch *s)
{
    size_t best = 0;
    for (size_t i = 1; i < p->classes; i++)
        if (s->scores[i] > s->scores[best])
            best = i;
    return best;
}

/* The scores of a row and its class. */
static size_t classify(const classifier_params *p, const scratch *s)
{
    if (p->svm.vector_count == 0) {
        for (size_t i = 0; i < p->classes; i++)
            s->scores[i] = (float)((double)p->svm.rho[0] +
                                   onnxd_svm_kernel(&p->svm, s->row,
                                                    p->svm.coefficients + i * p->svm.features));
        const size_t best = best_score(p, s);
        onnxd_ml_transform_row(p->transform, s->scores, p->classes);
        return p->classes == 1 ? 0 : best;
    }
    vote(p, s);
    size_t best = best_vote(p, s);
    if (p->prob_a != NULL) {
        find_probabilities(p, s);
        onnxd_ml_transform_row(p->transform, s->scores, p->classes);
        return best;
    }
    if (p->classes > 2) {
        onnxd_ml_transform_row(p->transform, s->scores, pair_count(p));
        return best;
    }
    onnxd_ml_transform_pair(p->transform, ONNXD_ML_OPPOSITE, s->scores);
    return best;
}

static onnxd_status *compute(const onnxd_compute *compute)
{
    const classifier_params *p = compute->params;
    const onnxd_ml_rows rows = onnxd_ml_rows_of(&compute->inputs[0].shape);
    const scratch s = scratch_of(p, compute->workspace);
    void *labels = onnxd_tensor_view_data(&compute->outputs[0]);
    float *out = onnxd_tensor_view_data(&compute->outputs[1]);
    for (size_t r = 0; r < rows.count; r++) {
        onnxd_ml_load_floats(&compute->inputs[0], r * rows.width, rows.width, s.row);
        onnxd_ml_write_label(&p->labels, classify(p, &s), labels, r);
        if (onnxd_tensor_view_is_present(&compute->outputs[1]))
            memcpy(out + r * p->width, s.scores, p->width * sizeof(float));
    }
    return NULL;
}

const onnxd_op_def onnxd_op_svm_classifier[] = {
    {.op_type = "SVMClassifier",
     .domain = ONNXD_ML_DOMAIN,
     .since = 1,
     .until = ONNXD_ML_OPSET_MAX,
     .min_inputs = 1,
     .max_inputs = 1,
     .min_outputs = 2,
     .max_outputs = 2,
     .inputs = {{.types = ONNXD_SET_ML_NUMBERS}},
     .outputs = {{.types = ONNXD_SET(STRING) | ONNXD_SET(INT64)}, {.types = ONNXD_SET(FLOAT)}},
     .params_bytes = sizeof(classifier_params),
     .parse = parse,
     .infer = infer,
     .workspace_bytes = workspace_bytes,
     .compute = compute},
    {.op_type = NULL},
};
