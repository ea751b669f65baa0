/* Other element types, with the results that ops/convert.c has. Plain loops, for the compiler to
 * make vectors of; intrinsics for float16. */
#include "base/dtype.h"
#include "ep/cpu/simd/levels.h"
#include "ep/cpu/simd/vector.h"

/* ---- one element ----------------------------------------------------------------------------- */

/* What is out of range, and NaN, is the least number. The conversion itself is unconditional, as it
 * has to be in a vector. */
INLINED int32_t whole_32(float x)
{
    const bool fits = x >= -0x1p31f && x < 0x1p31f;
    const int32_t whole = (int32_t)(fits ? x : 0.0f);
    return fits ? whole : INT32_MIN;
}

INLINED int64_t whole_64(float x)
{
    const bool fits = x >= -0x1p63f && x < 0x1p63f;
    const int64_t whole = (int64_t)(fits ? x : 0.0f);
    return fits ? whole : INT64_MIN;
}

#define IS_SET(x) ((x) != 0)
#define AS_FLOAT(x) ((float)(x))
#define AS_DOUBLE(x) ((double)(x))
#define AS_INT32(x) ((int32_t)(x))
#define AS_INT64(x) ((int64_t)(x))
#define AS_INT8_OF_REAL(x) ((int8_t)whole_32(x))
#define AS_UINT8_OF_REAL(x) ((uint8_t)whole_32(x))

/* ---- float16 --------------------------------------------------------------------------------- */

static void cast_FLOAT_FLOAT16(const float *in, size_t count, uint16_t *out)
{
    size_t i = 0;
#if defined(__AVX512F__)
    for (; i + 16 <= count; i += 16)
        _mm256_storeu_si256((__m256i *)(void *)(out + i),
                            _mm512_cvtps_ph((__m512)vf_load(in + i),
                                            _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
#elif defined(__AVX2__)
    for (; i + 8 <= count; i += 8)
        _mm_storeu_si128((__m128i *)(void *)(out + i),
                         _mm256_cvtps_ph((__m256)vf_load(in + i), _MM_FROUND_TO_NEAREST_INT));
#endif
    for (; i < count; i++)
        out[i] = onnxd_float_to_float16(in[i]);
}

static void cast_FLOAT16_FLOAT(const uint16_t *in, size_t count, float *out)
{
    size_t i = 0;
#if defined(__AVX512F__)
    for (; i + 16 <= count; i += 16)
        vf_store(out + i,
                 (vf)_mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)(const void *)(in + i))));
#elif defined(__AVX2__)
    for (; i + 8 <= count; i += 8)
        vf_store(out + i,
                 (vf)_mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(const void *)(in + i))));
#endif
    for (; i < count; i++)
        out[i] = onnxd_float16_to_float(in[i]);
}

/* ---- loops ----------------------------------------------------------------------------------- */

#define DEFINE(from, to, S, D, CONVERT)                                                            \
    static void cast_##from##_##to(const S *in, size_t count, D *out)                              \
    {                                                                                              \
        for (size_t i = 0; i < count; i++)                                                         \
            out[i] = CONVERT(in[i]);                                                               \
    }
DEFINE(FLOAT, DOUBLE, float, double, AS_DOUBLE)
DEFINE(FLOAT, INT8, float, int8_t, AS_INT8_OF_REAL)
DEFINE(FLOAT, UINT8, float, uint8_t, AS_UINT8_OF_REAL)
DEFINE(FLOAT, INT32, float, int32_t, whole_32)
DEFINE(FLOAT, INT64, float, int64_t, whole_64)
DEFINE(FLOAT, BOOL, float, uint8_t, IS_SET)
DEFINE(DOUBLE, FLOAT, double, float, AS_FLOAT)
DEFINE(INT8, FLOAT, int8_t, float, AS_FLOAT)
DEFINE(UINT8, FLOAT, uint8_t, float, AS_FLOAT)
DEFINE(UINT8, INT32, uint8_t, int32_t, AS_INT32)
DEFINE(INT32, FLOAT, int32_t, float, AS_FLOAT)
DEFINE(INT32, INT64, int32_t, int64_t, AS_INT64)
DEFINE(INT32, BOOL, int32_t, uint8_t, IS_SET)
DEFINE(INT64, FLOAT, int64_t, float, AS_FLOAT)
DEFINE(INT64, INT32, int64_t, int32_t, AS_INT32)
DEFINE(INT64, BOOL, int64_t, uint8_t, IS_SET)
/* A true is any byte but 0. */
DEFINE(BOOL, FLOAT, uint8_t, float, IS_SET)
DEFINE(BOOL, INT32, uint8_t, int32_t, IS_SET)
DEFINE(BOOL, INT64, uint8_t, int64_t, IS_SET)

void LEVEL_NAME(onnxd_simd_cast)(onnxd_simd_cast cast, const void *in, size_t count, void *out)
{
    switch (cast) {
#define CASE(from, to)                                                                             \
    case ONNXD_SIMD_CAST_##from##_##to:                                                            \
        cast_##from##_##to(in, count, out);                                                        \
        return;
        ONNXD_SIMD_EACH_CAST(CASE)
#undef CASE
    case ONNXD_SIMD_CAST_COUNT:
        break;
    }
}
