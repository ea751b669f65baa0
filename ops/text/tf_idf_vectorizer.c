/*
 * TfIdfVectorizer: how often each n-gram of a pool occurs in every row, weighted. The tokens of an
 * n-gram may lie 1 to max_skip_count + 1 apart, all at one distance.
 *
 * The pool is kept as a list of n-grams in lexicographic order of their tokens' numbers. Following
 * a row token by token narrows a range of that list; the first of the range may be the n-gram read
 * so far, the others continue it.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "ops/choice.h"
#include "ops/ops.h"
#include "ops/support.h"
#include "ops/text/ngrams.h"
#include "ops/types.h"

typedef enum weighting { WEIGHTING_TF, WEIGHTING_IDF, WEIGHTING_TFIDF } weighting;

typedef struct vectorizer_params {
    weighting mode;
    int64_t min_length, max_length, max_skip;
    onnxd_ngrams ngrams;
    const int64_t *columns; /* of each n-gram in the output */
    size_t column_count;
    int64_t width; /* of the output */
    const float *weights;
    size_t weight_count;
} vectorizer_params;

/* ---- attributes ---------------------------------------------------------------------------- */

static onnxd_status *parse_mode(const onnxd_node *node, weighting *out_mode)
{
    static const char *const names[] = {"TF", "IDF", "TFIDF"};
    size_t mode = 0;
    ONNXD_TRY(onnxd_attribute_require(node, "mode"));
    ONNXD_TRY(onnxd_op_choice(node, "mode", names, ONNXD_COUNT(names), &mode));
    *out_mode = (weighting)mode;
    return NULL;
}

static onnxd_status *parse_lengths(const onnxd_node *node, vectorizer_params *p)
{
    ONNXD_TRY(onnxd_attribute_require(node, "min_gram_length"));
    ONNXD_TRY(onnxd_attribute_require(node, "max_gram_length"));
    ONNXD_TRY(onnxd_attribute_require(node, "max_skip_count"));
    ONNXD_TRY(onnxd_attribute_int(node, "min_gram_length", 1, INT32_MAX, &p->min_length));
    ONNXD_TRY(
        onnxd_attribute_int(node, "max_gram_length", p->min_length, INT32_MAX, &p->max_length));
    return onnxd_attribute_int(node, "max_skip_count", 0, INT64_MAX - 1, &p->max_skip);
}

static onnxd_status *parse_columns(const onnxd_node *node, vectorizer_params *p)
{
    ONNXD_TRY(onnxd_attribute_require(node, "ngram_indexes"));
    ONNXD_TRY(onnxd_attribute_int_list(node, "ngram_indexes", &p->columns, &p->column_count));
    for (size_t i = 0; i < p->column_count; i++) {
        if (p->columns[i] < 0 || p->columns[i] == INT64_MAX)
            return onnxd_op_error(node,
                                  "attribute 'ngram_indexes': element %zu is %" PRId64
                                  ", it must not be negative",
                                  i, p->columns[i]);
        if (p->columns[i] >= p->width)
            p->width = p->columns[i] + 1;
    }
    if (p->ngrams.pool_count > p->column_count)
        return onnxd_op_error(node,
                              "attribute 'ngram_indexes' has %zu elements for %zu n-grams of the "
                              "pool",
                              p->column_count, p->ngrams.pool_count);
    return NULL;
}

static onnxd_status *parse_weights(const onnxd_node *node, vectorizer_params *p)
{
    ONNXD_TRY(onnxd_attribute_float_list(node, "weights", &p->weights, &p->weight_count));
    if (p->weight_count != 0 && (int64_t)p->weight_count < p->width)
        return onnxd_op_error(
            node, "attribute 'weights' has %zu elements for %" PRId64 " columns of the output",
            p->weight_count, p->width);
    return NULL;
}

static onnxd_status *parse(const onnxd_node *node, int64_t opset, onnxd_arena *arena, void *params)
{
    (void)opset;
    static const char *const names[] = {
        "max_gram_length", "max_skip_count", "min_gram_length", "mode",    "ngram_counts",
        "ngram_indexes",   "pool_int64s",    "pool_strings",    "weights", NULL};
    vectorizer_params *p = params;
    ONNXD_TRY(onnxd_attributes_allow(node, names));
    ONNXD_TRY(parse_mode(node, &p->mode));
    ONNXD_TRY(parse_lengths(node, p));
    ONNXD_TRY(onnxd_ngrams_parse(node, p->min_length, p->max_length, arena, &p->ngrams));
    ONNXD_TRY(parse_columns(node, p));
    return parse_weights(node, p);
}

/* ---- shapes -------------------------------------------------------------------------------- */

static onnxd_status *infer(onnxd_infer *infer)
{
    const vectorizer_params *p = infer->params;
    const onnxd_tensor_type *input = &infer->inputs[0];
    char text[ONNXD_SHAPE_TEXT];
    infer->outputs[0].dtype = ONNXD_FLOAT;
    if (input->dtype != ONNXD_UNDEFINED && (input->dtype == ONNXD_STRING) != p->ngrams.is_text)
        return onnxd_op_error(infer->node, "the pool holds %s, the input has type %s",
                              p->ngrams.is_text ? "strings" : "integers",
                              onnxd_dtype_name(input->dtype));
    if (input->shape.rank == ONNXD_RANK_UNKNOWN)
        return NULL;
    if (input->shape.rank > 2)
        return onnxd_op_error(infer->node, "the input has shape %s, at most rank 2 is allowed",
                              onnxd_shape_format(&input->shape, text, sizeof(text)));
    onnxd_shape *output = &infer->outputs[0].shape;
    output->rank = input->shape.rank == 2 ? 2 : 1;
    output->dims[0] = input->shape.dims[0];
    output->dims[output->rank - 1] = p->width;
    return NULL;
}

static size_t workspace_bytes(const onnxd_compute *compute)
{
    const size_t count = onnxd_tensor_view_count(&compute->inputs[0]);
    return count > SIZE_MAX / sizeof(uint32_t) ? SIZE_MAX : count * sizeof(uint32_t);
}

/* ---- counting ------------------------------------------------------------------------------ */

/* All n-grams of at least min_length tokens that begin with tokens[0], `distance` apart. */
static void count_from(const vectorizer_params *p, const uint32_t *tokens, size_t count,
                       size_t distance, int64_t min_length, float *row)
{
    onnxd_ngram_range range = onnxd_ngrams_all(&p->ngrams);
    int64_t length = 0;
    for (size_t at = 0; at < count; at += distance) {
        uint32_t found;
        if (length == p->max_length || !onnxd_ngrams_narrow(&p->ngrams, &range, tokens[at]))
            return;
        length++;
        if (length >= min_length && onnxd_ngrams_complete(&p->ngrams, &range, &found))
            row[p->columns[found]] += 1.0f;
        if (distance >= count - at)
            return;
    }
}

static void count_row(const vectorizer_params *p, const uint32_t *tokens, size_t count, float *row)
{
    int64_t min_length = p->min_length;
    for (size_t distance = 1; distance <= count && (int64_t)distance <= p->max_skip + 1;
         distance++) {
        /* An n-gram of the least length must fit between its first token and the row's end. */
        const size_t reach = (size_t)(min_length - 1);
        if (reach > (count - 1) / distance)
            return;
        for (size_t start = 0; start < count - reach * distance; start++)
            count_from(p, tokens + start, count - start, distance, min_length, row);
        /* Single tokens do not depend on the distance: they count once. */
        if (min_length == 1 && ++min_length > p->max_length)
            return;
    }
}

static void weigh(const vectorizer_params *p, float *row)
{
    for (size_t i = 0; i < (size_t)p->width; i++) {
        const float weight = p->weight_count == 0 ? 1.0f : p->weights[i];
        if (p->mode == WEIGHTING_IDF)
            row[i] = row[i] > 0.0f ? weight : 0.0f;
        else if (p->mode == WEIGHTING_TFIDF)
            row[i] *= weight;
    }
}

static onnxd_status *compute(const onnxd_compute *compute)
{
    const vectorizer_params *p = compute->params;
    const onnxd_tensor_view *input = &compute->inputs[0];
    const size_t count = onnxd_tensor_view_count(input);
    const size_t rows = input->shape.rank == 2 ? (size_t)input->shape.dims[0] : 1;
    const size_t per_row = rows == 0 ? 0 : count / rows, width = (size_t)p->width;
    float *out = onnxd_tensor_view_data(&compute->outputs[0]);
    uint32_t *tokens = compute->workspace;
    onnxd_ngrams_find_tokens(&p->ngrams, input, tokens);
    if (rows == 0 || width == 0)
        return NULL;
    memset(out, 0, rows * width * sizeof(float));
    for (size_t row = 0; row < rows; row++) {
        if (per_row > 0)
            count_row(p, tokens + row * per_row, per_row, out + row * width);
        weigh(p, out + row * width);
    }
    return NULL;
}

const onnxd_op_def onnxd_op_tf_idf_vectorizer[] = {
    {.op_type = "TfIdfVectorizer",
     .domain = "",
     .since = 9,
     .until = ONNXD_OPSET_MAX,
     .min_inputs = 1,
     .max_inputs = 1,
     .min_outputs = 1,
     .max_outputs = 1,
     .inputs = {{.types = ONNXD_SET(STRING) | ONNXD_SET_INDEX}},
     .outputs = {{.types = ONNXD_SET(FLOAT)}},
     .params_bytes = sizeof(vectorizer_params),
     .parse = parse,
     .infer = infer,
     .workspace_bytes = workspace_bytes,
     .compute = compute},
    {.op_type = NULL},
};
