#include "ops/text/ngrams.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "ops/support.h"

/* ---- tokens -------------------------------------------------------------------------------- */

static int compare_texts(const void *a, const void *b)
{
    const onnxd_string *x = a, *y = b;
    const size_t common = x->size < y->size ? x->size : y->size;
    const int order = common == 0 ? 0 : memcmp(x->data, y->data, common);
    return order != 0 ? order : (x->size > y->size) - (x->size < y->size);
}

static int compare_integers(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* Sorts and drops repetitions; returns how many are left. */
static uint32_t sort_unique(void *items, size_t count, size_t item_bytes,
                            int (*compare)(const void *, const void *))
{
    char *bytes = items;
    uint32_t kept = 0;
    if (count > 1)
        qsort(items, count, item_bytes, compare);
    for (size_t i = 0; i < count; i++) {
        if (kept > 0 && compare(bytes + (kept - 1) * item_bytes, bytes + i * item_bytes) == 0)
            continue;
        memmove(bytes + kept * item_bytes, bytes + i * item_bytes, item_bytes);
        kept++;
    }
    return kept;
}

static uint32_t number_of(const void *key, const void *items, uint32_t count, size_t item_bytes,
                          int (*compare)(const void *, const void *))
{
    const char *found = count == 0 ? NULL : bsearch(key, items, count, item_bytes, compare);
    return found == NULL ? ONNXD_NO_TOKEN
                         : (uint32_t)((size_t)(found - (const char *)items) / item_bytes);
}

static uint32_t text_number(const onnxd_ngrams *ngrams, const onnxd_string *text)
{
    return number_of(text, ngrams->texts, ngrams->token_count, sizeof(*text), compare_texts);
}

static uint32_t integer_number(const onnxd_ngrams *ngrams, int64_t value)
{
    return number_of(&value, ngrams->integers, ngrams->token_count, sizeof(value),
                     compare_integers);
}

void onnxd_ngrams_find_tokens(const onnxd_ngrams *ngrams, const onnxd_tensor_view *view,
                              uint32_t *out_tokens)
{
    const size_t count = onnxd_tensor_view_count(view);
    const onnxd_string *texts = onnxd_tensor_view_data(view);
    for (size_t i = 0; i < count; i++)
        out_tokens[i] = ngrams->is_text ? text_number(ngrams, &texts[i])
                                        : integer_number(ngrams, onnxd_op_int_at(view, i));
}

/* ---- the pool ------------------------------------------------------------------------------ */

typedef struct pool {
    const onnxd_text *texts;
    const int64_t *integers;
    size_t token_count;
    const int64_t *starts; /* of the n-grams of each length */
    size_t start_count;
} pool;

static onnxd_status *read_pool(const onnxd_node *node, pool *p)
{
    const bool has_texts = onnxd_node_attribute(node, "pool_strings") != NULL;
    if (has_texts == (onnxd_node_attribute(node, "pool_int64s") != NULL))
        return onnxd_op_error(
            node, "exactly one of the attributes 'pool_strings' and 'pool_int64s' must be given");
    ONNXD_TRY(onnxd_attribute_string_list(node, "pool_strings", &p->texts, &p->token_count));
    ONNXD_TRY(onnxd_attribute_int_list(node, "pool_int64s", &p->integers, &p->token_count));
    if (p->token_count >= ONNXD_NO_TOKEN)
        return onnxd_op_error(node, "the pool has %zu tokens, fewer than %" PRIu32 " are allowed",
                              p->token_count, ONNXD_NO_TOKEN);
    ONNXD_TRY(onnxd_attribute_require(node, "ngram_counts"));
    ONNXD_TRY(onnxd_attribute_int_list(node, "ngram_counts", &p->starts, &p->start_count));
    for (size_t i = 0; i < p->start_count; i++) {
        const int64_t least = i == 0 ? 0 : p->starts[i - 1];
        if (p->starts[i] < least || (uint64_t)p->starts[i] > p->token_count)
            return onnxd_op_error(node,
                                  "attribute 'ngram_counts': element %zu is %" PRId64
                                  ", allowed are %" PRId64 " to %zu",
                                  i, p->starts[i], least, p->token_count);
    }
    return NULL;
}

static onnxd_status *number_tokens(const pool *p, onnxd_arena *arena, onnxd_ngrams *ngrams,
                                   uint32_t **out_numbers)
{
    onnxd_string *texts = NULL;
    int64_t *integers = NULL;
    uint32_t *numbers = onnxd_arena_alloc_zero(arena, p->token_count + 1, sizeof(uint32_t));
    if (ngrams->is_text)
        texts = onnxd_arena_alloc_zero(arena, p->token_count + 1, sizeof(onnxd_string));
    else
        integers = onnxd_arena_alloc_zero(arena, p->token_count + 1, sizeof(int64_t));
    if (numbers == NULL || (texts == NULL && integers == NULL))
        return onnxd_error_out_of_memory("n-grams", p->token_count * sizeof(onnxd_string),
                                         UINT64_MAX);
    for (size_t i = 0; i < p->token_count; i++) {
        if (texts != NULL)
            texts[i] = (onnxd_string){p->texts[i].data, p->texts[i].size};
        else
            integers[i] = p->integers[i];
    }
    ngrams->token_count =
        texts != NULL ? sort_unique(texts, p->token_count, sizeof(*texts), compare_texts)
                      : sort_unique(integers, p->token_count, sizeof(*integers), compare_integers);
    ngrams->texts = texts;
    ngrams->integers = integers;
    for (size_t i = 0; i < p->token_count; i++) {
        const onnxd_string text = texts != NULL ? (onnxd_string){p->texts[i].data, p->texts[i].size}
                                                : (onnxd_string){NULL, 0};
        numbers[i] =
            texts != NULL ? text_number(ngrams, &text) : integer_number(ngrams, p->integers[i]);
    }
    *out_numbers = numbers;
    return NULL;
}

/* By tokens, a prefix before what continues it, equal ones with the later in the pool first. */
static int compare_ngrams(const void *a, const void *b)
{
    const onnxd_ngram *x = a, *y = b;
    const uint32_t common = x->length < y->length ? x->length : y->length;
    for (uint32_t i = 0; i < common; i++)
        if (x->tokens[i] != y->tokens[i])
            return x->tokens[i] < y->tokens[i] ? -1 : 1;
    if (x->length != y->length)
        return x->length < y->length ? -1 : 1;
    return (x->index < y->index) - (x->index > y->index);
}

/* The n-grams of length i + 1 begin at starts[i] and end where those of the next length begin. */
static void list_ngrams(const pool *p, const uint32_t *numbers, int64_t min_length,
                        int64_t max_length, onnxd_ngram *list, onnxd_ngrams *ngrams)
{
    for (size_t i = 0; i < p->start_count; i++) {
        const size_t first = (size_t)p->starts[i], length = i + 1;
        const size_t end = length < p->start_count ? (size_t)p->starts[length] : p->token_count;
        for (size_t at = first; end - at >= length; at += length) {
            const uint32_t index = (uint32_t)ngrams->pool_count++;
            if ((int64_t)length >= min_length && (int64_t)length <= max_length)
                list[ngrams->count++] = (onnxd_ngram){numbers + at, (uint32_t)length, index};
        }
    }
}

onnxd_status *onnxd_ngrams_parse(const onnxd_node *node, int64_t min_length, int64_t max_length,
                                 onnxd_arena *arena, onnxd_ngrams *out_ngrams)
{
    pool p = {.token_count = 0};
    onnxd_ngrams ngrams = {.is_text = onnxd_node_attribute(node, "pool_strings") != NULL};
    uint32_t *numbers;
    ONNXD_TRY(read_pool(node, &p));
    ONNXD_TRY(number_tokens(&p, arena, &ngrams, &numbers));
    onnxd_ngram *list = onnxd_arena_alloc_zero(arena, p.token_count + 1, sizeof(onnxd_ngram));
    if (list == NULL)
        return onnxd_error_out_of_memory("n-grams", p.token_count * sizeof(onnxd_ngram),
                                         UINT64_MAX);
    list_ngrams(&p, numbers, min_length, max_length, list, &ngrams);
    if (ngrams.count > 1)
        qsort(list, ngrams.count, sizeof(onnxd_ngram), compare_ngrams);
    ngrams.sorted = list;
    *out_ngrams = ngrams;
    return NULL;
}

/* ---- looking up ---------------------------------------------------------------------------- */

onnxd_ngram_range onnxd_ngrams_all(const onnxd_ngrams *ngrams)
{
    return (onnxd_ngram_range){.first = 0, .end = ngrams->count, .depth = 0};
}

/* The first in [first, end) that has a token at `depth` that is not below `token`. */
static uint32_t lower_bound(const onnxd_ngrams *ngrams, const onnxd_ngram_range *range,
                            uint32_t token)
{
    uint32_t low = range->first, high = range->end;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        const onnxd_ngram *ngram = &ngrams->sorted[middle];
        if (ngram->length <= range->depth || ngram->tokens[range->depth] < token)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

bool onnxd_ngrams_narrow(const onnxd_ngrams *ngrams, onnxd_ngram_range *range, uint32_t token)
{
    if (token == ONNXD_NO_TOKEN)
        return false;
    const uint32_t first = lower_bound(ngrams, range, token);
    const uint32_t end = lower_bound(ngrams, range, token + 1);
    if (first == end)
        return false;
    *range = (onnxd_ngram_range){first, end, range->depth + 1};
    return true;
}

bool onnxd_ngrams_complete(const onnxd_ngrams *ngrams, const onnxd_ngram_range *range,
                           uint32_t *out_index)
{
    const onnxd_ngram *ngram = &ngrams->sorted[range->first];
    if (ngram->length != range->depth)
        return false;
    *out_index = ngram->index;
    return true;
}
