/*
 * The n-grams of a TfIdfVectorizer's pool, in lexicographic order.
 *
 * Everything lies in the arena that it was parsed into. Threads: any, once parsed.
 */
#ifndef ONNXD_OPS_TEXT_NGRAMS_H
#define ONNXD_OPS_TEXT_NGRAMS_H

#include "graph/op.h"

/* The number of a token that the pool lacks. */
#define ONNXD_NO_TOKEN UINT32_MAX

typedef struct onnxd_ngram {
    const uint32_t *tokens; /* their numbers */
    uint32_t length;
    uint32_t index; /* in the pool, counted over n-grams of every length */
} onnxd_ngram;

typedef struct onnxd_ngrams {
    bool is_text;
    const onnxd_string *texts; /* the tokens, sorted; a token's number is its place */
    const int64_t *integers;
    uint32_t token_count;
    const onnxd_ngram *sorted; /* those of the lengths that count */
    uint32_t count;
    size_t pool_count; /* of all lengths */
} onnxd_ngrams;

/* N-grams with the same first tokens. */
typedef struct onnxd_ngram_range {
    uint32_t first, end, depth;
} onnxd_ngram_range;

/* Reads the attributes pool_strings, pool_int64s and ngram_counts. Errors: INVALID_ARGUMENT naming
 * the attribute, OUT_OF_MEMORY. */
ONNXD_NODISCARD onnxd_status *onnxd_ngrams_parse(const onnxd_node *node, int64_t min_length,
                                                 int64_t max_length, onnxd_arena *arena,
                                                 onnxd_ngrams *out_ngrams);
/* The number of each element of a view of strings, int32 or int64. */
void onnxd_ngrams_find_tokens(const onnxd_ngrams *ngrams, const onnxd_tensor_view *view,
                              uint32_t *out_tokens);

onnxd_ngram_range onnxd_ngrams_all(const onnxd_ngrams *ngrams);
/* Keeps those whose next token is this one; false when there is none. */
bool onnxd_ngrams_narrow(const onnxd_ngrams *ngrams, onnxd_ngram_range *range, uint32_t token);
/* Whether what was read so far is an n-gram by itself; its index then. Of equal ones the last in
 * the pool counts. */
bool onnxd_ngrams_complete(const onnxd_ngrams *ngrams, const onnxd_ngram_range *range,
                           uint32_t *out_index);

#endif
