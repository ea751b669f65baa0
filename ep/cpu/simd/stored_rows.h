/* What becomes of the rows of a tile after they were stored. For files of this folder that are
 * built per level. */
#ifndef ONNXD_EP_CPU_SIMD_STORED_ROWS_H
#define ONNXD_EP_CPU_SIMD_STORED_ROWS_H

#include "ep/cpu/simd/levels.h"
#include "ep/cpu/simd/vector_math.h"

/* Applies a function that is not light, those being applied to sums. `post` may be NULL. */
static inline void activate_stored(const onnxd_simd_post *post, size_t rows, size_t columns,
                                   float *c, size_t stride)
{
    if (post == NULL || vf_is_light(post->activation.function))
        return;
    /* Narrow rows that follow each other are one. */
    if (stride == columns) {
        columns *= rows;
        rows = 1;
    }
    for (size_t i = 0; i < rows; i++, c += stride)
        LEVEL_NAME(onnxd_simd_activate)(&post->activation, columns, c, c);
}

#endif
