/* Parts of rows that are no whole vectors, and what the lanes of a vector come to together. For
 * files of this folder that are built per level. */
#ifndef ONNXD_EP_CPU_SIMD_VECTOR_ROWS_H
#define ONNXD_EP_CPU_SIMD_VECTOR_ROWS_H

#include "ep/cpu/simd/vector.h"

INLINED float sum_of(vf v)
{
    float lanes[LANES], sum = 0;
    vf_store(lanes, v);
    UNROLLED
    for (size_t i = 0; i < LANES; i++)
        sum += lanes[i];
    return sum;
}

/* Elements from `i` on, `beyond` behind the last. */
INLINED vf part_of(const float *row, size_t i, size_t length, float beyond)
{
    float lanes[LANES];
    if (ONNXD_LIKELY(i + LANES <= length))
        return vf_load(row + i);
    vf_store(lanes, vf_all(beyond));
    memcpy(lanes, row + i, (length - i) * sizeof(float));
    return vf_load(lanes);
}

INLINED void put_part(float *row, size_t i, size_t length, vf v)
{
    if (ONNXD_LIKELY(i + LANES <= length))
        vf_store(row + i, v);
    else
        vf_store_part(row + i, v, length - i);
}

#endif
