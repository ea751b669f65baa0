#include "ep/cpu/compute/bf16_product.h"

#include <string.h>

#include "base/size_math.h"

/* Pairs of the depth that are worked on together where several tiles of rows read them: a panel's
 * part of that many stays in the first-level cache. */
#define BLOCK_PAIRS ((size_t)384)
/* Elements behind each rounded row, which rounding may write. */
#define SLACK ((size_t)ONNXD_SIMD_MAX_LANES)
/* Of the rounded rows of a block. */
#define ROUNDED_ELEMENTS (ONNXD_BLOCK_ROWS * (2 * BLOCK_PAIRS + SLACK))
/* Steps of B that are packed together; even. */
#define PACKED_STEPS ((size_t)64)

static size_t pairs_of(size_t depth)
{
    return depth / 2 + depth % 2;
}

/* Consecutive steps of one tap. */
typedef struct span {
    size_t tap, step, count;
} span;

/* From step `at` of all taps on, below `end`. */
static span span_at(size_t depth, size_t at, size_t end)
{
    const size_t left = depth - at % depth;
    return (span){at / depth, at % depth, end - at < left ? end - at : left};
}

/* ---- packing --------------------------------------------------------------------------------- */

bool onnxd_bf16_packed_count(const onnxd_simd *simd, size_t depth, size_t columns,
                             size_t *out_count)
{
    size_t count;
    if (!onnxd_product_packed_count(simd, pairs_of(depth), columns, &count))
        return false;
    return onnxd_size_mul(count, 2, out_count);
}

typedef struct packing {
    const onnxd_simd *simd;
    size_t depth;
    const onnxd_product_strides *strides;
} packing;

/* Some columns of the steps [first, end), which begin with a whole pair. */
static void pack_steps(const packing *p, const float *b, size_t columns, size_t first, size_t end,
                       uint16_t *packed)
{
    const size_t width = p->simd->tile_columns, count = end - first;
    _Alignas(ONNXD_PACKED_ALIGNMENT) float steps[PACKED_STEPS * ONNXD_SIMD_MAX_COLUMNS];
    for (size_t at = first; at < end;) {
        const span s = span_at(p->depth, at, end);
        onnxd_product_pack(p->simd, 1, s.count, columns,
                           b + s.tap * p->strides->tap + s.step * p->strides->step, p->strides,
                           steps + (at - first) * width);
        at += s.count;
    }
    if (count % 2 != 0)
        memset(steps + count * width, 0, width * sizeof(float));
    for (size_t i = 0; i < count; i += 2)
        p->simd->bf16_pair(steps + i * width, steps + (i + 1) * width, packed + i * width);
}

void onnxd_bf16_pack(const onnxd_simd *simd, size_t taps, size_t depth, size_t columns,
                     const float *b, const onnxd_product_strides *strides, uint16_t *packed)
{
    const packing p = {simd, depth, strides};
    const size_t width = simd->tile_columns, steps = taps * depth, pairs = pairs_of(steps);
    for (size_t j = 0; j < columns; j += width) {
        const size_t count = columns - j < width ? columns - j : width;
        for (size_t first = 0; first < steps; first += PACKED_STEPS) {
            const size_t end = steps - first < PACKED_STEPS ? steps : first + PACKED_STEPS;
            pack_steps(&p, b + j * strides->column, count, first, end,
                       packed + 2 * j * pairs + first * width);
        }
    }
}

/* ---- running --------------------------------------------------------------------------------- */

/* Pairs of the depth: [first, first + pairs), of all there are. */
typedef struct piece {
    size_t first, pairs, all;
    const uint16_t *a;
    size_t a_stride;
} piece;

/* The block's rows of the steps [first, end), `stride` elements apart, zeros up to whole pairs. */
static void round_rows(const onnxd_simd *simd, const onnxd_product_block *block, size_t first,
                       size_t end, size_t stride, uint16_t *rounded)
{
    for (size_t at = first; at < end;) {
        const span s = span_at(block->depth, at, end);
        for (uint32_t i = 0; i < block->rows; i++)
            simd->bf16_round(block->a[s.tap * ONNXD_BLOCK_ROWS + i] + s.step, s.count,
                             rounded + i * stride + (at - first));
        at += s.count;
    }
    for (uint32_t i = 0; (end - first) % 2 != 0 && i < block->rows; i++)
        rounded[i * stride + (end - first)] = 0;
}

static void run_panels(const onnxd_simd *simd, const onnxd_product_block *block, const piece *p)
{
    const size_t width = simd->tile_columns, end = block->first_column + block->columns;
    const bool is_far = onnxd_product_is_far(p->all, block->columns);
    for (size_t j = block->first_column; j < end; j += width) {
        onnxd_simd_post post = block->post;
        post.bias = post.bias == NULL ? NULL : post.bias + j;
        post.residual = post.residual == NULL ? NULL : post.residual + j;
        const uint16_t *b = block->packed_bf16 + 2 * (j * p->all + p->first * width);
        const onnxd_simd_bf16_tile tile = {
            .a = p->a,
            .a_stride = p->a_stride,
            .pairs = p->pairs,
            .b = b,
            .b_next = is_far && end - j > width ? b + 2 * width * p->all : NULL,
            .c = block->c + j,
            .c_stride = block->c_stride,
            .rows = block->rows,
            .columns = (uint32_t)(end - j < width ? end - j : width),
            .is_continued = p->first > 0,
            .post = p->first + p->pairs == p->all ? &post : NULL,
        };
        simd->bf16_product(&tile);
    }
}

void onnxd_bf16_block_run(const onnxd_simd *simd, const onnxd_product_block *block)
{
    _Alignas(ONNXD_PACKED_ALIGNMENT) uint16_t rounded[ROUNDED_ELEMENTS];
    const size_t steps = block->taps * block->depth, all = pairs_of(steps);
    /* One tile of rows reads B once in any case. */
    const size_t most = block->rows > simd->tile_rows
                            ? BLOCK_PAIRS
                            : (ROUNDED_ELEMENTS / simd->tile_rows - SLACK) / 2;
    const size_t pieces = all == 0 ? 1 : (all - 1) / most + 1, each = (all + pieces - 1) / pieces;
    size_t first = 0;
    do {
        const size_t pairs = all - first < each ? all - first : each, end = 2 * (first + pairs);
        const piece p = {first, pairs, all, rounded, 2 * each + SLACK};
        round_rows(simd, block, 2 * first, end < steps ? end : steps, p.a_stride, rounded);
        run_panels(simd, block, &p);
        first += each;
    } while (first < all);
}
