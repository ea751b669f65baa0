/* Convolutions as products: direct, and gathered where channels are few. */
#include <string.h>

#include "ep/cpu/compute/convolution_internal.h"
#include "ep/cpu/compute/pieces.h"

typedef struct product_run {
    const onnxd_convolution_call *call;
    onnxd_product_pieces pieces;
} product_run;

/* A block of output pixels and one group. */
typedef struct pixel_block {
    size_t group, first;
    uint32_t count;
    size_t strip_count;
    onnxd_window_strip strips[ONNXD_BLOCK_ROWS];
} pixel_block;

size_t onnxd_convolution_product_workspace(const onnxd_convolution *c)
{
    return ONNXD_BLOCK_ROWS * c->taps * c->group_channels * c->threads;
}

/* Where a strip's pixels under one tap lie. */
static void point_strip(const onnxd_strip_tap *tap, uint32_t count, const float *in,
                        const float *zeros, const float **rows)
{
    uint32_t i = 0;
    for (; i < tap->first; i++)
        rows[i] = zeros;
    for (; i < tap->last; i++)
        rows[i] = in + tap->at + i * tap->step;
    for (; i < count; i++)
        rows[i] = zeros;
}

/* Where the pixels lie, tap by tap. */
static void point(const onnxd_convolution_call *call, const pixel_block *block, const float **rows)
{
    const onnxd_image_window *w = &call->places;
    const float *in = call->in + block->group * call->c->group_channels;
    for (int64_t z = 0; z < w->kernel[0]; z++) {
        for (int64_t y = 0; y < w->kernel[1]; y++) {
            for (int64_t x = 0; x < w->kernel[2]; x++, rows += ONNXD_BLOCK_ROWS) {
                const float **of_strip = rows;
                for (size_t s = 0; s < block->strip_count; s++) {
                    const onnxd_window_strip *strip = &block->strips[s];
                    const onnxd_strip_tap tap = onnxd_window_strip_tap(w, strip, z, y, x);
                    point_strip(&tap, strip->count, in, call->c->zeros, of_strip);
                    of_strip += strip->count;
                }
            }
        }
    }
}

/* ---- few channels ---------------------------------------------------------------------------- */

/* One row of a window, zeros beyond the image. */
static void gather_row(const onnxd_convolution_call *call, const pixel_block *block,
                       const onnxd_window_place *place, int64_t z, int64_t y, float *to)
{
    const onnxd_image_window *w = &call->places;
    const size_t channels = call->c->group_channels;
    const float *in = call->in + block->group * channels;
    for (int64_t x = 0; x < w->kernel[2]; x++, to += channels) {
        const int64_t at = onnxd_window_tap(w, place, z, y, x);
        if (at >= 0)
            memcpy(to, in + at, channels * sizeof(float));
        else
            memset(to, 0, channels * sizeof(float));
    }
}

/* Where the rows of the windows lie, tap by tap. Those that do not lie side by side in the image,
 * as they do in a row of the product, are copied. */
static void point_rows(const onnxd_convolution_call *call, const pixel_block *block,
                       float *gathered, const float **rows)
{
    const onnxd_image_window *w = &call->places;
    const bool is_dense = w->channels == call->c->group_channels && w->dilation[2] == 1;
    for (int64_t z = 0; z < w->kernel[0]; z++) {
        for (int64_t y = 0; y < w->kernel[1]; y++, rows += ONNXD_BLOCK_ROWS) {
            const float **of_strip = rows;
            for (size_t s = 0; s < block->strip_count; s++) {
                const onnxd_window_strip *strip = &block->strips[s];
                const onnxd_strip_tap tap = onnxd_window_strip_row(w, strip, z, y);
                for (uint32_t i = 0; i < strip->count; i++) {
                    if (is_dense && i >= tap.first && i < tap.last) {
                        of_strip[i] = call->in + tap.at + i * tap.step;
                        continue;
                    }
                    const onnxd_window_place place = onnxd_window_strip_place(w, strip, i);
                    gather_row(call, block, &place, z, y, gathered);
                    of_strip[i] = gathered;
                    gathered += call->c->row_elements;
                }
                of_strip += strip->count;
            }
        }
    }
}

/* All taps of each window side by side, where there are too many rows of them to point to. */
static void gather(const onnxd_convolution_call *call, const pixel_block *block, float *gathered,
                   const float **rows)
{
    const onnxd_image_window *w = &call->places;
    for (size_t s = 0; s < block->strip_count; s++) {
        for (uint32_t i = 0; i < block->strips[s].count; i++) {
            const onnxd_window_place place = onnxd_window_strip_place(w, &block->strips[s], i);
            *rows++ = gathered;
            for (int64_t z = 0; z < w->kernel[0]; z++) {
                for (int64_t y = 0; y < w->kernel[1]; y++) {
                    gather_row(call, block, &place, z, y, gathered);
                    gathered += call->c->row_elements;
                }
            }
        }
    }
}

static void run_block(const product_run *run, const pixel_block *block,
                      const onnxd_product_piece *piece, uint32_t worker)
{
    const onnxd_convolution_call *call = run->call;
    const onnxd_convolution *c = call->c;
    const bool is_gathered = c->method == ONNXD_CONVOLUTION_GATHERED;
    const size_t window_rows = (size_t)(c->shape.window.kernel[0] * c->shape.window.kernel[1]);
    const bool is_by_rows = is_gathered && window_rows <= ONNXD_BLOCK_TAPS;
    const size_t maps = c->shape.maps, map = block->group * c->group_maps;
    float *gathered =
        is_gathered ? call->workspace + worker * c->taps * c->group_channels * ONNXD_BLOCK_ROWS
                    : NULL;
    size_t taps = c->taps, depth = c->group_channels;
    const float *rows[ONNXD_BLOCK_TAPS * ONNXD_BLOCK_ROWS];
    if (c->is_pointwise)
        for (uint32_t i = 0; i < block->count; i++)
            rows[i] = call->in + (block->first + i) * call->places.channels +
                      block->group * c->group_channels;
    else if (is_by_rows)
        point_rows(call, block, gathered, rows);
    else if (is_gathered)
        gather(call, block, gathered, rows);
    else
        point(call, block, rows);
    if (is_gathered) {
        taps = is_by_rows ? window_rows : 1;
        depth = c->taps * c->group_channels / taps;
    }
    onnxd_product_block product = {
        .a = rows,
        .taps = taps,
        .depth = depth,
        .packs_rows = is_by_rows,
        .first_column = piece->column,
        .columns = piece->columns,
        .c = call->out + block->first * call->out_pitch + map,
        .c_stride = call->out_pitch,
        .rows = block->count,
        .post = {.activation = c->activation,
                 .bias = c->bias == NULL ? NULL : c->bias + block->group * c->group_bias,
                 .residual =
                     call->residual == NULL ? NULL : call->residual + block->first * maps + map,
                 .residual_stride = maps},
    };
    if (c->packed_bf16 != NULL)
        product.packed_bf16 = c->packed_bf16 + block->group * c->group_packed;
    else
        product.packed = c->packed + block->group * c->group_packed;
    onnxd_product_block_run(c->simd, &product);
}

static void run_piece(void *context, size_t index, uint32_t worker)
{
    const product_run *run = context;
    const onnxd_product_piece piece = onnxd_product_piece_at(&run->pieces, index);
    pixel_block block;
    block.group = piece.group;
    block.first = piece.first_row;
    block.count = piece.rows;
    if (!run->call->c->is_pointwise)
        block.strip_count =
            onnxd_window_strips(&run->call->places, block.first, block.count, block.strips);
    run_block(run, &block, &piece, worker);
}

void onnxd_convolution_product_run(const onnxd_convolution_call *call)
{
    const onnxd_convolution *c = call->c;
    const double channel_bytes = (double)(c->group_channels * sizeof(float));
    const onnxd_product_extent extent = {.rows = c->pixels,
                                         .columns = c->group_maps,
                                         .groups = c->shape.groups,
                                         .weight_bytes =
                                             (double)(c->taps * c->group_maps) * channel_bytes,
                                         .row_bytes = (double)c->pixels * channel_bytes};
    product_run run = {.call = call,
                       .pieces = onnxd_product_cut(c->simd, &extent, onnxd_team_width(call->team))};
    onnxd_team_run(call->team, run.pieces.count, run_piece, &run);
}
