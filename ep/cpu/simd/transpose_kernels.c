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

/* ---- few rows -------------------------------------------------------------------------------- */

#if LEVEL_LANES >= 8

/* Two to four rows become one: groups of channels that are shuffled, the planes of an image. Eight
 * columns at a time, the halves of a vector apart, as the processor's shuffles want them. */
typedef float v8 __attribute__((vector_size(32)));
typedef float v8_anywhere __attribute__((vector_size(32), aligned(4)));

#define PIECE ((size_t)8)

INLINED v8 load8(const float *from)
{
    return *(const v8_anywhere *)from;
}

/* The low halves of the vectors one after the other, then the high ones. */
INLINED void store_halves(const v8 *v, const size_t rows, float *out)
{
    UNROLLED
    for (size_t i = 0; i < rows; i++) {
        *(v4_anywhere *)(out + 4 * i) = __builtin_shufflevector(v[i], v[i], 0, 1, 2, 3);
        *(v4_anywhere *)(out + 4 * (rows + i)) = __builtin_shufflevector(v[i], v[i], 4, 5, 6, 7);
    }
}

INLINED v8 low_pairs(v8 a, v8 b)
{
    return __builtin_shufflevector(a, b, 0, 8, 1, 9, 4, 12, 5, 13);
}

INLINED v8 high_pairs(v8 a, v8 b)
{
    return __builtin_shufflevector(a, b, 2, 10, 3, 11, 6, 14, 7, 15);
}

INLINED void interleave_2(const float *in, size_t stride, float *out)
{
    const v8 a = load8(in), b = load8(in + stride);
    const v8 mixed[2] = {low_pairs(a, b), high_pairs(a, b)};
    store_halves(mixed, 2, out);
}

/* a0 b0 c0 a1, b1 c1 a2 b2, c2 a3 b3 c3 */
INLINED void interleave_3(const float *in, size_t stride, float *out)
{
    const v8 a = load8(in), b = load8(in + stride), c = load8(in + 2 * stride);
    const v8 ab_low = low_pairs(a, b), ab_high = high_pairs(a, b), bc_high = high_pairs(b, c);
    const v8 ca = __builtin_shufflevector(c, a, 0, 2, 9, 11, 4, 6, 13, 15);
    const v8 bc_low = low_pairs(b, c);
    const v8 mixed[3] = {__builtin_shufflevector(ab_low, ca, 0, 1, 8, 10, 4, 5, 12, 14),
                         __builtin_shufflevector(bc_low, ab_high, 2, 3, 8, 9, 6, 7, 12, 13),
                         __builtin_shufflevector(ca, bc_high, 1, 3, 10, 11, 5, 7, 14, 15)};
    store_halves(mixed, 3, out);
}

INLINED void interleave_4(const float *in, size_t stride, float *out)
{
    const v8 a = load8(in), b = load8(in + stride);
    const v8 c = load8(in + 2 * stride), d = load8(in + 3 * stride);
    const v8 ab_low = low_pairs(a, b), ab_high = high_pairs(a, b);
    const v8 cd_low = low_pairs(c, d), cd_high = high_pairs(c, d);
    const v8 mixed[4] = {__builtin_shufflevector(ab_low, cd_low, 0, 1, 8, 9, 4, 5, 12, 13),
                         __builtin_shufflevector(ab_low, cd_low, 2, 3, 10, 11, 6, 7, 14, 15),
                         __builtin_shufflevector(ab_high, cd_high, 0, 1, 8, 9, 4, 5, 12, 13),
                         __builtin_shufflevector(ab_high, cd_high, 2, 3, 10, 11, 6, 7, 14, 15)};
    store_halves(mixed, 4, out);
}

/* The last piece overlaps the one before it. */
INLINED void interleave(const float *in, const size_t rows, size_t columns, size_t stride,
                        float *out)
{
    for (size_t c = 0; c < columns; c += PIECE) {
        const size_t at = columns - c < PIECE ? columns - PIECE : c;
        if (rows == 2)
            interleave_2(in + at, stride, out + at * 2);
        else if (rows == 3)
            interleave_3(in + at, stride, out + at * 3);
        else
            interleave_4(in + at, stride, out + at * 4);
    }
}

static bool interleave_few(const float *in, size_t rows, size_t columns, size_t stride, float *out)
{
    if (columns < PIECE)
        return false;
    if (rows == 2)
        interleave(in, 2, columns, stride, out);
    else if (rows == 3)
        interleave(in, 3, columns, stride, out);
    else if (rows == 4)
        interleave(in, 4, columns, stride, out);
    else
        return false;
    return true;
}

#else

static bool interleave_few(const float *in ONNXD_UNUSED, size_t rows ONNXD_UNUSED,
                           size_t columns ONNXD_UNUSED, size_t stride ONNXD_UNUSED,
                           float *out ONNXD_UNUSED)
{
    return false;
}

#endif

void LEVEL_NAME(onnxd_simd_transpose)(const float *in, size_t rows, size_t columns,
                                      size_t in_stride, float *out, size_t out_stride)
{
    if (out_stride == rows && interleave_few(in, rows, columns, in_stride, out))
        return;
    for (size_t r = 0; r < rows; r += BLOCK) {
        for (size_t c = 0; c < columns; c += BLOCK)
            transpose_block(in + r * in_stride + c, rows - r < BLOCK ? rows - r : BLOCK,
                            columns - c < BLOCK ? columns - c : BLOCK, in_stride,
                            out + c * out_stride + r, out_stride);
    }
}

/* ---- bytes ----------------------------------------------------------------------------------- */

/* `lines` lines become one, or the reverse: the planes and the pixels of an image. Compilers make
 * shuffles of whole vectors of it where the count is a constant. */
INLINED void interleave_bytes(const uint8_t *restrict in, const size_t lines, size_t count,
                              size_t stride, uint8_t *restrict out)
{
    for (size_t i = 0; i < count; i++) {
        UNROLLED
        for (size_t line = 0; line < lines; line++)
            out[i * lines + line] = in[line * stride + i];
    }
}

INLINED void separate_bytes(const uint8_t *restrict in, const size_t lines, size_t count,
                            uint8_t *restrict out, size_t stride)
{
    for (size_t i = 0; i < count; i++) {
        UNROLLED
        for (size_t line = 0; line < lines; line++)
            out[line * stride + i] = in[i * lines + line];
    }
}

static void transpose_block_bytes(const uint8_t *restrict in, size_t rows, size_t columns,
                                  size_t in_stride, uint8_t *restrict out, size_t out_stride)
{
    for (size_t c = 0; c < columns; c++)
        for (size_t r = 0; r < rows; r++)
            out[c * out_stride + r] = in[r * in_stride + c];
}

#define FOR_FEW(count, call)                                                                       \
    switch (count) {                                                                               \
    case 2:                                                                                        \
        call(2);                                                                                   \
        return;                                                                                    \
    case 3:                                                                                        \
        call(3);                                                                                   \
        return;                                                                                    \
    case 4:                                                                                        \
        call(4);                                                                                   \
        return;                                                                                    \
    default:                                                                                       \
        break;                                                                                     \
    }

void LEVEL_NAME(onnxd_simd_transpose_bytes)(const uint8_t *in, size_t rows, size_t columns,
                                            size_t in_stride, uint8_t *out, size_t out_stride)
{
#define INTERLEAVE(lines) interleave_bytes(in, lines, columns, in_stride, out)
#define SEPARATE(lines) separate_bytes(in, lines, rows, out, out_stride)
    if (out_stride == rows)
        FOR_FEW(rows, INTERLEAVE)
    if (in_stride == columns)
        FOR_FEW(columns, SEPARATE)
    for (size_t r = 0; r < rows; r += BLOCK)
        for (size_t c = 0; c < columns; c += BLOCK)
            transpose_block_bytes(in + r * in_stride + c, rows - r < BLOCK ? rows - r : BLOCK,
                                  columns - c < BLOCK ? columns - c : BLOCK, in_stride,
                                  out + c * out_stride + r, out_stride);
}
