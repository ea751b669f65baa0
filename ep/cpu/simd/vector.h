/*
 * Vectors of the level that a file is compiled for, on the compiler's own vector types; intrinsics
 * only where those have no operation. For files of this folder that are built per level.
 */
#ifndef ONNXD_EP_CPU_SIMD_VECTOR_H
#define ONNXD_EP_CPU_SIMD_VECTOR_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "base/compiler.h"
#include "ep/cpu/simd/simd.h"

#if defined(__AVX512F__)
#include <immintrin.h>
#define LEVEL_LANES 16
#define TILE_ROWS 12
#define LEVEL_NAME(name) name##_avx512
#elif defined(__AVX2__)
#include <immintrin.h>
#define LEVEL_LANES 8
#define TILE_ROWS 6
#define LEVEL_NAME(name) name##_avx2
#else
#define LEVEL_LANES 4
#define TILE_ROWS 4
#define LEVEL_NAME(name) name##_portable
#endif
#define LANES ((size_t)LEVEL_LANES)
/* Vectors across a tile of the product: with TILE_ROWS they fill the registers. */
#define TILE_VECTORS 2
#define TILE_COLUMNS (TILE_VECTORS * LANES)

/* Before a loop of constant length, whose arrays are to be registers. */
#if defined(__clang__)
#define UNROLLED _Pragma("unroll")
#else
#define UNROLLED _Pragma("GCC unroll 16")
#endif
#define INLINED static inline __attribute__((always_inline))

typedef float vf __attribute__((vector_size(4 * LANES)));
typedef int32_t vi __attribute__((vector_size(4 * LANES)));
/* The same at any address. */
typedef float vf_anywhere __attribute__((vector_size(4 * LANES), aligned(4)));

static inline vf vf_load(const float *from)
{
    return *(const vf_anywhere *)from;
}

static inline void vf_store(float *to, vf v)
{
    *(vf_anywhere *)to = v;
}

static inline vf vf_all(float x)
{
    return x - (vf){0};
}

static inline vi vi_all(int32_t x)
{
    return x - (vi){0};
}

/* The first `count` of a vector's elements, zeros behind. */
static inline vf vf_load_part(const float *from, size_t count)
{
    float parts[LANES] = {0};
    memcpy(parts, from, count * sizeof(float));
    return vf_load(parts);
}

static inline void vf_store_part(float *to, vf v, size_t count)
{
    float parts[LANES];
    vf_store(parts, v);
    memcpy(to, parts, count * sizeof(float));
}

/* `count` elements, a whole vector where that is constant. */
static inline vf vf_load_some(const float *from, size_t count)
{
    return count == LANES ? vf_load(from) : vf_load_part(from, count);
}

static inline void vf_store_some(float *to, vf v, size_t count)
{
    if (count == LANES)
        vf_store(to, v);
    else
        vf_store_part(to, v, count);
}

/* `a` where the mask (all bits or none) is set, else `b`. */
static inline vf vf_select(vi mask, vf a, vf b)
{
    return (vf)((mask & (vi)a) | (~mask & (vi)b));
}

/* The greater, the smaller of two; `x` where either is NaN. */
static inline vf vf_max(vf bound, vf x)
{
#if defined(__AVX512F__)
    return (vf)_mm512_max_ps((__m512)bound, (__m512)x);
#elif defined(__AVX2__)
    return (vf)_mm256_max_ps((__m256)bound, (__m256)x);
#else
    return vf_select(bound > x, bound, x);
#endif
}

static inline vf vf_min(vf bound, vf x)
{
#if defined(__AVX512F__)
    return (vf)_mm512_min_ps((__m512)bound, (__m512)x);
#elif defined(__AVX2__)
    return (vf)_mm256_min_ps((__m256)bound, (__m256)x);
#else
    return vf_select(bound < x, bound, x);
#endif
}

static inline vf vf_sqrt(vf x)
{
#if defined(__AVX512F__)
    return (vf)_mm512_sqrt_ps((__m512)x);
#elif defined(__AVX2__)
    return (vf)_mm256_sqrt_ps((__m256)x);
#else
    for (size_t i = 0; i < LANES; i++)
        x[i] = sqrtf(x[i]);
    return x;
#endif
}

static inline vf vf_abs(vf x)
{
    return (vf)((vi)x & 0x7fffffff);
}

/* The magnitude of `x` with the sign of `sign`. */
static inline vf vf_copysign(vf x, vf sign)
{
    return (vf)(((vi)x & 0x7fffffff) | ((vi)sign & INT32_MIN));
}

#endif
