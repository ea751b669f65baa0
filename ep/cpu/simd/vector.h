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

/* STEPS_AHEAD: so many steps of the depth before they are multiplied by, columns are called into
 * the first-level cache, which holds fewer steps of wide vectors; 0: never. */
#if defined(__AVX512F__)
#include <immintrin.h>
#define LEVEL_LANES 16
#define TILE_ROWS 12
#define STEPS_AHEAD 12
#define LEVEL_NAME(name) name##_avx512
#elif defined(__AVX2__)
#include <immintrin.h>
#define LEVEL_LANES 8
#define TILE_ROWS 6
#define STEPS_AHEAD 0
#define LEVEL_NAME(name) name##_avx2
#else
#define LEVEL_LANES 4
#define TILE_ROWS 4
#define STEPS_AHEAD 0
#define LEVEL_NAME(name) name##_portable
#endif
/* A level that adds instructions to another one has its own table, and its own kernels only where
 * it has a use for them. */
#if defined(__AVX512BF16__)
#define OWN_NAME(name) name##_avx512_bf16
#define BF16_NAME(name) OWN_NAME(name)
#elif defined(__AVX512VNNI__)
#define OWN_NAME(name) name##_avx512_vnni
#define BF16_NAME(name) LEVEL_NAME(name)
#else
#define OWN_NAME(name) LEVEL_NAME(name)
#define BF16_NAME(name) LEVEL_NAME(name)
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

#if defined(__AVX2__) && !defined(__AVX512F__)
/* All bits of the first `count` lanes. */
static inline __m256i vf_first(size_t count)
{
    const vi lanes = {0, 1, 2, 3, 4, 5, 6, 7};
    return (__m256i)(lanes < vi_all((int32_t)count));
}
#endif

/* The first `count` of a vector's elements, zeros behind; none beyond them is touched. */
static inline vf vf_load_part(const float *from, size_t count)
{
#if defined(__AVX512F__)
    return (vf)_mm512_maskz_loadu_ps((__mmask16)((1u << count) - 1), from);
#elif defined(__AVX2__)
    return (vf)_mm256_maskload_ps(from, vf_first(count));
#else
    float parts[LANES] = {0};
    memcpy(parts, from, count * sizeof(float));
    return vf_load(parts);
#endif
}

static inline void vf_store_part(float *to, vf v, size_t count)
{
#if defined(__AVX512F__)
    _mm512_mask_storeu_ps(to, (__mmask16)((1u << count) - 1), (__m512)v);
#elif defined(__AVX2__)
    /* Masked stores are slow where there are no mask registers. */
    __m128 four = _mm256_castps256_ps128((__m256)v);
    if ((count & 4) != 0) {
        _mm_storeu_ps(to, four);
        four = _mm256_extractf128_ps((__m256)v, 1);
        to += 4;
    }
    if ((count & 2) != 0) {
        _mm_storel_pi((__m64 *)(void *)to, four);
        four = _mm_movehl_ps(four, four);
        to += 2;
    }
    if ((count & 1) != 0)
        _mm_store_ss(to, four);
#else
    float parts[LANES];
    vf_store(parts, v);
    memcpy(to, parts, count * sizeof(float));
#endif
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

/* To the nearest integer, of two the even one; down; up. */
typedef enum vf_rounding { VF_NEAREST, VF_DOWN, VF_UP } vf_rounding;

/* `how` is a constant wherever this is inlined. */
INLINED vf vf_round(vf x, const vf_rounding how)
{
#if defined(__AVX512F__)
    return how == VF_NEAREST ? (vf)_mm512_roundscale_ps((__m512)x, _MM_FROUND_TO_NEAREST_INT)
           : how == VF_DOWN  ? (vf)_mm512_roundscale_ps((__m512)x, _MM_FROUND_TO_NEG_INF)
                             : (vf)_mm512_roundscale_ps((__m512)x, _MM_FROUND_TO_POS_INF);
#elif defined(__AVX2__)
    return how == VF_NEAREST ? (vf)_mm256_round_ps((__m256)x, _MM_FROUND_TO_NEAREST_INT)
           : how == VF_DOWN  ? (vf)_mm256_round_ps((__m256)x, _MM_FROUND_TO_NEG_INF)
                             : (vf)_mm256_round_ps((__m256)x, _MM_FROUND_TO_POS_INF);
#else
    for (size_t i = 0; i < LANES; i++)
        x[i] = how == VF_NEAREST ? rintf(x[i]) : how == VF_DOWN ? floorf(x[i]) : ceilf(x[i]);
    return x;
#endif
}

/* All bits where `x` is NaN. */
static inline vi vf_is_nan(vf x)
{
    return ((vi)x & 0x7fffffff) > 0x7f800000;
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
