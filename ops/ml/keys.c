#include "ops/ml/keys.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct onnxd_ml_key {
    onnxd_string text;
    uint64_t word;
    uint32_t place;
} onnxd_ml_key;

static uint64_t word_of_double(double value)
{
    union {
        double f;
        uint64_t u;
    } word = {.f = isnan(value) ? (double)NAN : value == 0.0 ? 0.0 : value};
    return word.u;
}

static onnxd_ml_key key_of(onnxd_dtype dtype, const void *data, size_t index)
{
    onnxd_ml_key key = {.word = 0};
    if (dtype == ONNXD_STRING)
        key.text = ((const onnxd_string *)data)[index];
    else if (dtype == ONNXD_FLOAT)
        key.word = word_of_double((double)((const float *)data)[index]);
    else if (dtype == ONNXD_DOUBLE)
        key.word = word_of_double(((const double *)data)[index]);
    else if (dtype == ONNXD_INT64)
        key.word = (uint64_t)((const int64_t *)data)[index];
    else if (dtype == ONNXD_INT32)
        key.word = (uint64_t)(int64_t)((const int32_t *)data)[index];
    else
        key.word = (uint64_t)(int64_t)((const int16_t *)data)[index];
    return key;
}

static int compare_values(const void *a, const void *b)
{
    const onnxd_ml_key *x = a, *y = b;
    if (x->word != y->word)
        return x->word < y->word ? -1 : 1;
    const size_t common = x->text.size < y->text.size ? x->text.size : y->text.size;
    const int order = common == 0 ? 0 : memcmp(x->text.data, y->text.data, common);
    return order != 0 ? order : (x->text.size > y->text.size) - (x->text.size < y->text.size);
}

static int compare(const void *a, const void *b)
{
    const onnxd_ml_key *x = a, *y = b;
    const int order = compare_values(x, y);
    return order != 0 ? order : (x->place > y->place) - (x->place < y->place);
}

onnxd_status *onnxd_ml_keys_make(onnxd_dtype dtype, const void *list, size_t count,
                                 onnxd_arena *arena, onnxd_ml_keys *out_keys)
{
    onnxd_ml_key *sorted = NULL;
    uint32_t kept = 0;
    if (count < ONNXD_ML_NOT_FOUND)
        sorted = onnxd_arena_alloc_zero(arena, count + 1, sizeof(sorted[0]));
    if (sorted == NULL)
        return onnxd_error_out_of_memory("keys", (uint64_t)count * sizeof(sorted[0]), UINT64_MAX);
    for (size_t i = 0; i < count; i++) {
        sorted[i] = key_of(dtype, list, i);
        sorted[i].place = (uint32_t)i;
    }
    if (count > 1)
        qsort(sorted, count, sizeof(sorted[0]), compare);
    for (size_t i = 0; i < count; i++) {
        if (kept > 0 && compare_values(&sorted[kept - 1], &sorted[i]) == 0)
            kept--;
        sorted[kept++] = sorted[i];
    }
    *out_keys = (onnxd_ml_keys){.is_text = dtype == ONNXD_STRING,
                                .is_float = dtype == ONNXD_FLOAT || dtype == ONNXD_DOUBLE,
                                .sorted = sorted,
                                .count = kept};
    return NULL;
}

uint32_t onnxd_ml_keys_find(const onnxd_ml_keys *keys, onnxd_dtype dtype, const void *data,
                            size_t index)
{
    const onnxd_ml_key key = key_of(dtype, data, index);
    const onnxd_ml_key *found =
        bsearch(&key, keys->sorted, keys->count, sizeof(key), compare_values);
    return found == NULL ? ONNXD_ML_NOT_FOUND : found->place;
}

onnxd_string *onnxd_ml_strings_of(const onnxd_text *texts, size_t count, onnxd_arena *arena)
{
    onnxd_string *strings = onnxd_arena_alloc_zero(arena, count + 1, sizeof(strings[0]));
    for (size_t i = 0; i < count && strings != NULL; i++)
        strings[i] = (onnxd_string){texts[i].data, texts[i].size};
    return strings;
}
