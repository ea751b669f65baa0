/*
 * Rotary position embedding of the heads at one position: pairs of each head's first elements are
 * turned by angles whose cosines and sines come from a cache.
 */
#ifndef ONNXD_OPS_ATTENTION_ROTARY_H
#define ONNXD_OPS_ATTENTION_ROTARY_H

#include <stdbool.h>
#include <stddef.h>

#include "base/dtype.h"

typedef struct onnxd_rotary {
    const void *cosines, *sines; /* rows of `half` numbers, one for each position */
    onnxd_dtype dtype;           /* of the caches, in ONNXD_SET_FLOATS */
    size_t half;                 /* pairs of a head that turn; 2 * half <= size */
    size_t size;                 /* elements of a head */
    bool is_interleaved;         /* pair i is elements 2i and 2i + 1, else i and i + half */
} onnxd_rotary;

/* Head h is `size` elements from at + h * head on. */
typedef struct onnxd_rotary_heads {
    const void *data;
    onnxd_dtype dtype; /* in ONNXD_SET_FLOATS */
    size_t at, head;
} onnxd_rotary_heads;

/* Turns `count` heads by row `row` of the caches. `out` may be where the input lies. The scratch
 * memory has room for 3 * size floats. */
void onnxd_rotary_turn(const onnxd_rotary *rotary, size_t row, size_t count,
                       const onnxd_rotary_heads *in, onnxd_dtype out_dtype, void *out,
                       size_t out_at, size_t out_head, float *scratch);

#endif
