/* Vectors of integers of the level, as vector.h has those of floats. For files of this folder that
 * are built per level. */
#ifndef ONNXD_EP_CPU_SIMD_INTEGER_VECTOR_H
#define ONNXD_EP_CPU_SIMD_INTEGER_VECTOR_H

#include "ep/cpu/simd/vector.h"

#if defined(__SSE2__) && !defined(__AVX2__)
#include <emmintrin.h>
#endif

typedef uint32_t vu __attribute__((vector_size(4 * LANES)));
typedef int16_t vs __attribute__((vector_size(4 * LANES))); /* pairs */
typedef uint8_t vb __attribute__((vector_size(LANES)));
typedef int8_t vc __attribute__((vector_size(LANES)));
typedef uint8_t vb_pairs __attribute__((vector_size(2 * LANES)));
typedef int8_t vc_pairs __attribute__((vector_size(2 * LANES)));
/* The same at any address. */
typedef int32_t vi_anywhere __attribute__((vector_size(4 * LANES), aligned(4)));
typedef int32_t vi_bytes __attribute__((vector_size(4 * LANES), aligned(1)));
typedef int16_t vs_anywhere __attribute__((vector_size(4 * LANES), aligned(2)));
typedef uint8_t vb_anywhere __attribute__((vector_size(LANES), aligned(1)));
typedef uint8_t vb_pairs_anywhere __attribute__((vector_size(2 * LANES), aligned(1)));

static inline vi vi_load(const int32_t *from)
{
    return *(const vi_anywhere *)from;
}

static inline void vi_store(int32_t *to, vi v)
{
    *(vi_anywhere *)to = v;
}

/* A vector of pairs. */
static inline vi vi_load_pairs(const int16_t *from)
{
    return (vi) * (const vs_anywhere *)from;
}

/* The same pair everywhere. */
static inline vi vi_all_pairs(const int16_t *from)
{
    int32_t pair;
    memcpy(&pair, from, sizeof(pair));
    return vi_all(pair);
}

/* Modulo 2^32. */
static inline vi vi_add(vi a, vi b)
{
    return (vi)((vu)a + (vu)b);
}

/* Of pairs: the sum of both products. */
static inline vi vi_dot(vi a, vi b)
{
#if defined(__AVX512BW__)
    return (vi)_mm512_madd_epi16((__m512i)a, (__m512i)b);
#elif defined(__AVX2__)
    return (vi)_mm256_madd_epi16((__m256i)a, (__m256i)b);
#elif defined(__SSE2__)
    return (vi)_mm_madd_epi16((__m128i)a, (__m128i)b);
#else
    const vi low_a = (vi)((vu)a << 16) >> 16, low_b = (vi)((vu)b << 16) >> 16;
    return low_a * low_b + (a >> 16) * (b >> 16);
#endif
}

#if defined(__AVX2__)
/* Of two bytes: the sum of both products, of a without and b with sign, in 16 bits. */
static inline vi vi_dot_bytes(vi a, vi b)
{
#if defined(__AVX512BW__)
    return (vi)_mm512_maddubs_epi16((__m512i)a, (__m512i)b);
#else
    return (vi)_mm256_maddubs_epi16((__m256i)a, (__m256i)b);
#endif
}

/* Of pairs: the sum of both elements. */
static inline vi vi_add_pairs(vi pairs)
{
    return vi_dot(pairs, vi_all(0x00010001));
}

/* `sums` and, of each four bytes, the four products, of a without and b with sign. Without VNNI the
 * sums of two products have to be within 16 bits. */
static inline vi vi_add_dot_bytes(vi sums, vi a, vi b)
{
#if defined(__AVX512VNNI__)
    return (vi)_mm512_dpbusd_epi32((__m512i)sums, (__m512i)a, (__m512i)b);
#else
    return vi_add(sums, vi_add_pairs(vi_dot_bytes(a, b)));
#endif
}
#endif

static inline vb vb_load(const uint8_t *from)
{
    return *(const vb_anywhere *)from;
}

static inline void vb_store(uint8_t *to, vb v)
{
    *(vb_anywhere *)to = v;
}

/* The first `count` elements, zeros behind. */
static inline vb vb_load_some(const uint8_t *from, size_t count)
{
    uint8_t parts[LANES] = {0};
    if (count == LANES)
        return vb_load(from);
    memcpy(parts, from, count);
    return vb_load(parts);
}

static inline void vb_store_some(uint8_t *to, vb v, size_t count)
{
    uint8_t parts[LANES];
    if (count == LANES) {
        vb_store(to, v);
        return;
    }
    vb_store(parts, v);
    memcpy(to, parts, count);
}

/* Elements of a quantised tensor less their zero point. The conversions between bytes and 32 bits
 * are ones that compilers make of single elements. */
static inline vi vi_less_zero(vb bytes, onnxd_simd_zero zero)
{
    const vb flipped = bytes ^ zero.flip;
#if defined(__AVX512F__)
    const vi wide = (vi)_mm512_cvtepi8_epi32((__m128i)flipped);
#elif defined(__AVX2__)
    int64_t all;
    memcpy(&all, &flipped, sizeof(all));
    const vi wide = (vi)_mm256_cvtepi8_epi32(_mm_cvtsi64_si128(all));
#else
    const vi wide = __builtin_convertvector((vc)flipped, vi);
#endif
    return wide - (int32_t)zero.value;
}

/* The low byte of each. */
static inline vb vi_narrow(vi v)
{
#if defined(__AVX512F__)
    return (vb)_mm512_cvtepi32_epi8((__m512i)v);
#elif defined(__AVX2__)
    const __m256i low_bytes =
        _mm256_setr_epi8(0, 4, 8, 12, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1,
                         -1, 0, 4, 8, 12, -1, -1, -1, -1, -1, -1, -1, -1);
    const __m256i parts = _mm256_shuffle_epi8((__m256i)v, low_bytes);
    const int64_t all = _mm_cvtsi128_si64(
        _mm_or_si128(_mm256_castsi256_si128(parts), _mm256_extracti128_si256(parts, 1)));
    vb bytes;
    memcpy(&bytes, &all, sizeof(bytes));
    return bytes;
#else
    return __builtin_convertvector((vu)v, vb);
#endif
}

/* To the nearest integer, ties to even, of numbers below 2^22. */
static inline vi vf_to_nearest(vf v)
{
#if defined(__AVX512F__)
    return (vi)_mm512_cvtps_epi32((__m512)v);
#elif defined(__AVX2__)
    return (vi)_mm256_cvtps_epi32((__m256)v);
#else
    /* A float of this size has no fraction bits left. */
    const float rounder = 0x1.8p23f;
    return __builtin_convertvector((v + rounder) - rounder, vi);
#endif
}

/* The bounds are integers, so limiting before rounding is the same as after. */
static inline vf vf_limit(vf value, const onnxd_simd_range *range)
{
    return vf_min(vf_all(range->high), vf_max(value, vf_all(range->low)));
}

/* As ONNXD_SIMD_BYTES has it. */
static inline vb vf_quantize(vf value, const onnxd_simd_range *range)
{
    return vi_narrow(vi_add(vf_to_nearest(vf_limit(value, range)), vi_all((int32_t)range->zero)));
}

#if defined(__AVX2__)
/* The low 16 bits of each, limited to their range, of a and b in turns of four. */
static inline vi vi_pack(vi a, vi b)
{
#if defined(__AVX512BW__)
    return (vi)_mm512_packs_epi32((__m512i)a, (__m512i)b);
#else
    return (vi)_mm256_packs_epi32((__m256i)a, (__m256i)b);
#endif
}

/* Bytes of pairs of 16 bits plus `zero`, limited to the range of the type. */
static inline vi vi_pack_bytes(vi a, vi b, int16_t zero, bool is_signed)
{
#if defined(__AVX512BW__)
    const __m512i z = _mm512_set1_epi16(zero);
    const __m512i x = _mm512_adds_epi16((__m512i)a, z), y = _mm512_adds_epi16((__m512i)b, z);
    return (vi)(is_signed ? _mm512_packs_epi16(x, y) : _mm512_packus_epi16(x, y));
#else
    const __m256i z = _mm256_set1_epi16(zero);
    const __m256i x = _mm256_adds_epi16((__m256i)a, z), y = _mm256_adds_epi16((__m256i)b, z);
    return (vi)(is_signed ? _mm256_packs_epi16(x, y) : _mm256_packus_epi16(x, y));
#endif
}

/* As vf_quantize(), two vectors of each of two rows `stride` bytes apart: the range is that of the
 * type, in which packing keeps the numbers. Greater ones than integers can be are limited before.
 */
static inline void vf_quantize_rows(const vf *first, const vf *second,
                                    const onnxd_simd_range *range, uint8_t *out, size_t stride)
{
    const vf most = vf_all(0x1p24f);
    const bool is_signed = range->low + range->zero < 0;
    const vi rows[2] = {
        vi_pack(vf_to_nearest(vf_min(most, first[0])), vf_to_nearest(vf_min(most, first[1]))),
        vi_pack(vf_to_nearest(vf_min(most, second[0])), vf_to_nearest(vf_min(most, second[1])))};
    const vi mixed = vi_pack_bytes(rows[0], rows[1], (int16_t)range->zero, is_signed);
    /* Fours of columns: of the first row's vectors, of the second's, by quarters of a vector. */
#if defined(__AVX512BW__)
    const vi sorted =
        __builtin_shufflevector(mixed, mixed, 0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
#else
    const vi sorted = __builtin_shufflevector(mixed, mixed, 0, 4, 1, 5, 2, 6, 3, 7);
#endif
    memcpy(out, &sorted, 2 * LANES);
    memcpy(out + stride, (const char *)&sorted + 2 * LANES, 2 * LANES);
}
#endif

#endif
