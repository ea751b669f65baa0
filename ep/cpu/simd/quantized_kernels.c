/* Rows of quantised elements. */
#include "ep/cpu/simd/integer_vector.h"
#include "ep/cpu/simd/levels.h"

/* Whole vectors, then what is left: runs `step` with `i` and the constant or remaining `n`. */
#define BY_VECTOR(count, step)                                                                     \
    do {                                                                                           \
        size_t i = 0;                                                                              \
        for (; i + LANES <= (count); i += LANES)                                                   \
            step(i, LANES);                                                                        \
        if (i < (count))                                                                           \
            step(i, (count)-i);                                                                    \
    } while (0)

void LEVEL_NAME(onnxd_simd_dequantize)(const uint8_t *in, size_t count, onnxd_simd_zero zero,
                                       float scale, float *out)
{
#define STEP(i, n)                                                                                 \
    vf_store_some(                                                                                 \
        out + (i),                                                                                 \
        __builtin_convertvector(vi_less_zero(vb_load_some(in + (i), n), zero), vf) * scale, n)
    BY_VECTOR(count, STEP);
#undef STEP
}

void LEVEL_NAME(onnxd_simd_quantize)(const float *in, size_t count, float scale,
                                     const onnxd_simd_range *range, uint8_t *out)
{
    const onnxd_simd_range copy = *range;
#define STEP(i, n)                                                                                 \
    vb_store_some(out + (i), vf_quantize(vf_load_some(in + (i), n) / scale, &copy), n)
    BY_VECTOR(count, STEP);
#undef STEP
}

void LEVEL_NAME(onnxd_simd_bounds)(const float *in, size_t count, float *inout_low,
                                   float *inout_high)
{
    vf low[2] = {vf_all(*inout_low), vf_all(*inout_low)};
    vf high[2] = {vf_all(*inout_high), vf_all(*inout_high)};
    size_t i = 0;
    for (; i + 2 * LANES <= count; i += 2 * LANES) {
        UNROLLED
        for (size_t j = 0; j < 2; j++) {
            const vf x = vf_load(in + i + j * LANES);
            low[j] = vf_min(x, low[j]);
            high[j] = vf_max(x, high[j]);
        }
    }
    low[0] = vf_min(low[1], low[0]);
    high[0] = vf_max(high[1], high[0]);
    for (size_t j = 0; j < LANES; j++) {
        *inout_low = low[0][j] < *inout_low ? low[0][j] : *inout_low;
        *inout_high = high[0][j] > *inout_high ? high[0][j] : *inout_high;
    }
    for (; i < count; i++) {
        *inout_low = in[i] < *inout_low ? in[i] : *inout_low;
        *inout_high = in[i] > *inout_high ? in[i] : *inout_high;
    }
}

/* Elements from `i` on. */
INLINED void add(const onnxd_simd_quantized_sum *s, size_t i, size_t count)
{
    const vi a = vi_less_zero(vb_load_some(s->a + i, count), s->a_zero);
    const vi b = vi_less_zero(vb_load_some(s->b + i, count), s->b_zero);
    const vf sum =
        __builtin_convertvector(a, vf) * s->a_factor + __builtin_convertvector(b, vf) * s->b_factor;
    vb_store_some(s->out + i, vf_quantize(sum, &s->range), count);
}

void LEVEL_NAME(onnxd_simd_quantized_sum)(const onnxd_simd_quantized_sum *sum)
{
    /* A copy: what is stored could otherwise be its members. */
    const onnxd_simd_quantized_sum copy = *sum;
#define STEP(i, n) add(&copy, i, n)
    BY_VECTOR(copy.count, STEP);
#undef STEP
}

/* ---- the largest ----------------------------------------------------------------------------- */

/* Bytes of the widest vectors. */
#define WIDTH (4 * LANES)
typedef uint8_t bytes __attribute__((vector_size(4 * LANES)));
typedef uint8_t bytes_anywhere __attribute__((vector_size(4 * LANES), aligned(1)));

void LEVEL_NAME(onnxd_simd_quantized_maximum)(const uint8_t *const *pixels, size_t count,
                                              size_t channels, uint8_t flip, uint8_t *out)
{
    /* Bytes without sign are compared: INT8's signs are flipped. */
    const uint8_t sign = flip ^ 0x80;
    size_t c = 0;
    for (; c + WIDTH <= channels; c += WIDTH) {
        bytes largest = *(const bytes_anywhere *)(pixels[0] + c) ^ sign;
        for (size_t i = 1; i < count; i++) {
            const bytes x = *(const bytes_anywhere *)(pixels[i] + c) ^ sign;
            const bytes is_larger = (bytes)(x > largest);
            largest = (x & is_larger) | (largest & ~is_larger);
        }
        *(bytes_anywhere *)(out + c) = largest ^ sign;
    }
    for (; c < channels; c++) {
        uint8_t largest = pixels[0][c] ^ sign;
        for (size_t i = 1; i < count; i++) {
            const uint8_t x = pixels[i][c] ^ sign;
            largest = x > largest ? x : largest;
        }
        out[c] = largest ^ sign;
    }
}
