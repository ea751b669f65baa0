/* Transposing matrices: blocks of 4 x 4 in registers, in larger blocks that stay in the cache. */
#include "ep/cpu/simd/levels.h"
#include "ep/cpu/simd/vector.h"

#define BLOCK 32

typedef float v4 __attribute__((vector_size(16)));
typedef float v4_anywhere __attribute__((vector_size(16), aligned(4)));

static void transpose_4(const float *in, size_t in_stride, float *out, size_t out_stride)
{
    const v4 a = *(const v4_anywhere *)in;
    const v4 b = *(const v4_anywhere *)(in + in_stride);
    const v4 c = *(const v4_anywhere *)(in + 2 * in_stride);
    const v4 d = *(const v4_anywhere *)(in + 3 * in_stride);
    const v4 ab_low = __builtin_shufflevector(a, b, 0, 4, 1, 5);
    const v4 ab_high = __builtin_shufflevector(a, b, 2, 6, 3, 7);
    const v4 cd_low = __builtin_shufflevector(c, d, 0, 4, 1, 5);
    const v4 cd_high = __builtin_shufflevector(c, d, 2, 6, 3, 7);
    *(v4_anywhere *)out = __builtin_shufflevector(ab_low, cd_low, 0, 1, 4, 5);
    *(v4_anywhere *)(out + out_stride) = __builtin_shufflevector(ab_low, cd_low, 2, 3, 6, 7);
    *(v4_anywhere *)(out + 2 * out_stride) = __builtin_shufflevector(ab_high, cd_high, 0, 1, 4, 5);
    *(v4_anywhere *)(out + 3 * out_stride) = __builtin_shufflevector(ab_high, cd_high, 2, 3, 6, 7);
}

static void transpose_block(const float *in, size_t rows, size_t columns, size_t in_stride,
                            float *out, size_t out_stride)
{
    size_t r = 0;
    for (; r + 4 <= rows; r += 4) {
        size_t c = 0;
        for (; c + 4 <= columns; c += 4)
            transpose_4(in + r * in_stride + c, in_stride, out + c * out_stride + r, out_stride);
        for (; c < columns; c++)
            for (size_t i = r; i < r + 4; i++)
                out[c * out_stride + i] = in[i * in_stride + c];
    }
    for (; r < rows; r++)
        for (size_t c = 0; c < columns; c++)
            out[c * out_stride + r] = in[r * in_stride + c];
}

void LEVEL_NAME(onnxd_simd_transpose)(const float *in, size_t rows, size_t columns,
                                      size_t in_stride, float *out, size_t out_stride)
{
    for (size_t r = 0; r < rows; r += BLOCK) {
        for (size_t c = 0; c < columns; c += BLOCK)
            transpose_block(in + r * in_stride + c, rows - r < BLOCK ? rows - r : BLOCK,
                            columns - c < BLOCK ? columns - c : BLOCK, in_stride,
                            out + c * out_stride + r, out_stride);
    }
}
