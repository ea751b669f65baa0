/*
 * Reductions of rows and of columns, and where in a row a value stands. Sums run in several lanes
 * over blocks, and those of blocks in another sum, so that long ones lose no more than short ones.
 */
#include "ep/cpu/simd/levels.h"
#include "ep/cpu/simd/vector_rows.h"

/* Partial results of a row, enough of them that none waits for its own last operation. */
#define PARTS ((size_t)4)
#define BLOCK ((size_t)4096)
#define BLOCK_ROWS ((size_t)64)

/* ---- one step -------------------------------------------------------------------------------- */

/* `how` is a constant wherever these are inlined. */
INLINED bool is_sum(const onnxd_simd_reduction how)
{
    return how != ONNXD_SIMD_REDUCE_MAX && how != ONNXD_SIMD_REDUCE_MIN;
}

/* What a sum adds for x; an extreme is of x itself. */
INLINED vf term_of(const onnxd_simd_reduction how, vf x, float center)
{
    switch (how) {
    case ONNXD_SIMD_REDUCE_SQUARES:
        return (x - center) * (x - center);
    case ONNXD_SIMD_REDUCE_MAGNITUDES:
        return vf_abs(x);
    default:
        return x;
    }
}

/* Of two partial results one. vf_max() and vf_min() take the second of two where either is NaN. */
INLINED vf combine(const onnxd_simd_reduction how, vf a, vf b)
{
    switch (how) {
    case ONNXD_SIMD_REDUCE_MAX:
        return vf_select(vf_is_nan(a), a, vf_max(a, b));
    case ONNXD_SIMD_REDUCE_MIN:
        return vf_select(vf_is_nan(a), a, vf_min(a, b));
    default:
        return a + b;
    }
}

INLINED float fold(const onnxd_simd_reduction how, vf v)
{
    float lanes[LANES], result;
    if (is_sum(how))
        return sum_of(v);
    vf_store(lanes, v);
    result = lanes[0];
    for (size_t i = 1; i < LANES && !isnan(result); i++) {
        const bool is_further =
            how == ONNXD_SIMD_REDUCE_MAX ? lanes[i] > result : lanes[i] < result;
        if (is_further || isnan(lanes[i]))
            result = lanes[i];
    }
    return result;
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* At most BLOCK elements, at least one. What stands behind the last adds nothing to a sum, and is
 * the first element to an extreme. */
INLINED float reduce_block(const onnxd_simd_reduction how, const float *in, size_t count,
                           float center)
{
    const float beyond = is_sum(how) ? center : in[0];
    vf parts[PARTS];
    size_t i = 0;
    UNROLLED
    for (size_t p = 0; p < PARTS; p++)
        parts[p] = vf_all(is_sum(how) ? 0 : in[0]);
    for (; i + PARTS * LANES <= count; i += PARTS * LANES) {
        UNROLLED
        for (size_t p = 0; p < PARTS; p++)
            parts[p] = combine(how, parts[p], term_of(how, vf_load(in + i + p * LANES), center));
    }
    for (; i < count; i += LANES)
        parts[0] = combine(how, parts[0], term_of(how, part_of(in, i, count, beyond), center));
    const vf low = combine(how, parts[0], parts[1]), high = combine(how, parts[2], parts[3]);
    return fold(how, combine(how, low, high));
}

INLINED float reduce_row(const onnxd_simd_reduction how, const float *in, size_t count,
                         float center)
{
    if (!is_sum(how) || count <= BLOCK)
        return reduce_block(how, in, count, center);
    double sum = 0;
    for (size_t i = 0; i < count; i += BLOCK)
        sum += (double)reduce_block(how, in + i, count - i < BLOCK ? count - i : BLOCK, center);
    return (float)sum;
}

float LEVEL_NAME(onnxd_simd_reduce)(onnxd_simd_reduction how, const float *in, size_t count)
{
    switch (how) {
    case ONNXD_SIMD_REDUCE_SQUARES:
        return reduce_row(ONNXD_SIMD_REDUCE_SQUARES, in, count, 0);
    case ONNXD_SIMD_REDUCE_MAGNITUDES:
        return reduce_row(ONNXD_SIMD_REDUCE_MAGNITUDES, in, count, 0);
    case ONNXD_SIMD_REDUCE_MAX:
        return reduce_row(ONNXD_SIMD_REDUCE_MAX, in, count, 0);
    case ONNXD_SIMD_REDUCE_MIN:
        return reduce_row(ONNXD_SIMD_REDUCE_MIN, in, count, 0);
    case ONNXD_SIMD_REDUCE_SUM:
    case ONNXD_SIMD_REDUCTION_COUNT:
        break;
    }
    return reduce_row(ONNXD_SIMD_REDUCE_SUM, in, count, 0);
}

float LEVEL_NAME(onnxd_simd_spread)(const float *in, size_t count, float center)
{
    return reduce_row(ONNXD_SIMD_REDUCE_SQUARES, in, count, center);
}

/* ---- columns --------------------------------------------------------------------------------- */

/* `vectors` vectors side by side, the last of `count` lanes. */
INLINED void reduce_strip(const onnxd_simd_reduction how, const float *in, size_t rows,
                          size_t in_stride, const size_t vectors, size_t count, float *out)
{
    vf totals[PARTS];
    UNROLLED
    for (size_t v = 0; v < vectors; v++)
        totals[v] = is_sum(how) ? vf_all(0) : vf_load_some(in + v * LANES, count);
    for (size_t first = 0; first < rows; first += BLOCK_ROWS) {
        const size_t last = rows - first < BLOCK_ROWS ? rows : first + BLOCK_ROWS;
        vf parts[PARTS];
        UNROLLED
        for (size_t v = 0; v < vectors; v++)
            parts[v] = is_sum(how) ? vf_all(0) : totals[v];
        for (size_t row = first; row < last; row++) {
            UNROLLED
            for (size_t v = 0; v < vectors; v++) {
                const vf x = vf_load_some(in + row * in_stride + v * LANES, count);
                parts[v] = combine(how, parts[v], term_of(how, x, 0));
            }
        }
        UNROLLED
        for (size_t v = 0; v < vectors; v++)
            totals[v] = is_sum(how) ? totals[v] + parts[v] : parts[v];
    }
    UNROLLED
    for (size_t v = 0; v < vectors; v++)
        vf_store_some(out + v * LANES, totals[v], count);
}

INLINED void reduce_all(const onnxd_simd_reduction how, const float *in, size_t rows,
                        size_t columns, size_t in_stride, float *out)
{
    size_t c = 0;
    for (; c + PARTS * LANES <= columns; c += PARTS * LANES)
        reduce_strip(how, in + c, rows, in_stride, PARTS, LANES, out + c);
    for (; c + LANES <= columns; c += LANES)
        reduce_strip(how, in + c, rows, in_stride, 1, LANES, out + c);
    if (c < columns)
        reduce_strip(how, in + c, rows, in_stride, 1, columns - c, out + c);
}

void LEVEL_NAME(onnxd_simd_reduce_columns)(onnxd_simd_reduction how, const float *in, size_t rows,
                                           size_t columns, size_t in_stride, float *out)
{
    switch (how) {
    case ONNXD_SIMD_REDUCE_SQUARES:
        reduce_all(ONNXD_SIMD_REDUCE_SQUARES, in, rows, columns, in_stride, out);
        return;
    case ONNXD_SIMD_REDUCE_MAGNITUDES:
        reduce_all(ONNXD_SIMD_REDUCE_MAGNITUDES, in, rows, columns, in_stride, out);
        return;
    case ONNXD_SIMD_REDUCE_MAX:
        reduce_all(ONNXD_SIMD_REDUCE_MAX, in, rows, columns, in_stride, out);
        return;
    case ONNXD_SIMD_REDUCE_MIN:
        reduce_all(ONNXD_SIMD_REDUCE_MIN, in, rows, columns, in_stride, out);
        return;
    case ONNXD_SIMD_REDUCE_SUM:
    case ONNXD_SIMD_REDUCTION_COUNT:
        break;
    }
    reduce_all(ONNXD_SIMD_REDUCE_SUM, in, rows, columns, in_stride, out);
}

/* ---- positions and lines --------------------------------------------------------------------- */

INLINED bool has_any(vi mask)
{
    int32_t lanes[LANES], any = 0;
    memcpy(lanes, &mask, sizeof(lanes));
    UNROLLED
    for (size_t i = 0; i < LANES; i++)
        any |= lanes[i];
    return any != 0;
}

size_t LEVEL_NAME(onnxd_simd_find)(const float *in, size_t count, float value)
{
    size_t i = 0;
    while (i + LANES <= count && !has_any(vf_load(in + i) == value))
        i += LANES;
    while (i < count && in[i] != value)
        i++;
    return i;
}

void LEVEL_NAME(onnxd_simd_affine)(const float *in, size_t count, const onnxd_simd_line *line,
                                   float *out)
{
    for (size_t i = 0; i < count; i += LANES)
        put_part(out, i, count,
                 (part_of(in, i, count, 0) - line->center) * line->factor + line->addend);
}
