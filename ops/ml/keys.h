/*
 * Keys of a mapping, sorted for look-up: texts, or numbers as 64-bit words (integers as they are,
 * floating-point numbers as doubles, with one NaN and one zero).
 *
 * Everything lies in the arena that it was made in. Threads: any, once made.
 */
#ifndef ONNXD_OPS_ML_KEYS_H
#define ONNXD_OPS_ML_KEYS_H

#include "graph/op.h"

#define ONNXD_ML_NOT_FOUND UINT32_MAX

typedef struct onnxd_ml_keys {
    bool is_text, is_float;
    struct onnxd_ml_key *sorted;
    uint32_t count;
} onnxd_ml_keys;

/* `list` holds `count` elements of `dtype`: STRING (onnxd_string), FLOAT, DOUBLE, INT64, INT32 or
 * INT16. Of equal keys the last counts. Texts are borrowed. Errors: OUT_OF_MEMORY. */
ONNXD_NODISCARD onnxd_status *onnxd_ml_keys_make(onnxd_dtype dtype, const void *list, size_t count,
                                                 onnxd_arena *arena, onnxd_ml_keys *out_keys);
/* The place in the list of element `index` of a view of a type of the same kind (text, floating-
 * point, integer), or ONNXD_ML_NOT_FOUND. */
uint32_t onnxd_ml_keys_find(const onnxd_ml_keys *keys, onnxd_dtype dtype, const void *data,
                            size_t index);
/* As strings that the graph owns; NULL when there is no memory. */
ONNXD_NODISCARD onnxd_string *onnxd_ml_strings_of(const onnxd_text *texts, size_t count,
                                                  onnxd_arena *arena);

#endif
