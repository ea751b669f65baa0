/* Convolutions as products: direct, and gathered where channels are few. */
#include <string.h>

#include "ep/cpu/compute/convolution_internal.h"

/* Pieces of work for each thread that one convolution is cut into at least, where it can be. */
#define PIECES_PER_THREAD ((size_t)3)

typedef struct product_run {
    const onnxd_convolution_call *call;
    size_t block_pixels;
    size_t blocks, parts; /* of the pixels, of the columns of each block */
    size_t part_columns;  /* a multiple of tile_columns */
} product_run;

/* A block of output pixels and one group. */
typedef struct pixel_block {
    size_t group, first;
    uint32_t count;
    onnxd_window_place places[ONNXD_BLOCK_ROWS];
} pixel_block;

size_t onnxd_convolution_product_workspace(const onnxd_convolution *c)
{
    return ONNXD_BLOCK_ROWS * c->taps * c->group_channels * c->threads;
}

static void locate(const onnxd_convolution *c, pixel_block *block)
{
    onnxd_window_place place;
    onnxd_window_place_init(&c->shape.window, block->first, &place);
    for (uint32_t i = 0; i < block->count; i++) {
        block->places[i] = place;
        onnxd_window_place_next(&c->shape.window, &place);
    }
}

/* Where the pixels lie, tap by tap. */
static void point(const onnxd_convolution_call *call, const pixel_block *block, const float **rows)
{
    const onnxd_image_window *w = &call->c->shape.window;
    const float *in = call->in + block->group * call->c->group_channels;
    for (int64_t z = 0; z < w->kernel[0]; z++) {
        for (int64_t y = 0; y < w->kernel[1]; y++) {
            for (int64_t x = 0; x < w->kernel[2]; x++, rows += ONNXD_BLOCK_ROWS) {
                for (uint32_t i = 0; i < block->count; i++) {
                    const int64_t at = onnxd_window_tap(w, &block->places[i], z, y, x);
                    rows[i] = at < 0 ? call->c->zeros : in + at;
                }
            }
        }
    }
}

/* The taps of one row of a window: those within the image are copied at once where they lie side by
 * side. */
static float *gather_row(const onnxd_convolution_call *call, const pixel_block *block,
                         const onnxd_window_place *place, int64_t z, int64_t y, float *to)
{
    const onnxd_image_window *w = &call->c->shape.window;
    const size_t channels = call->c->group_channels;
    const float *in = call->in + block->group * channels;
    const bool is_dense = w->dilation[2] == 1 && call->c->shape.groups == 1;
    for (int64_t x = 0; x < w->kernel[2];) {
        const int64_t at = onnxd_window_tap(w, place, z, y, x);
        int64_t count = 1;
        if (at >= 0 && is_dense) {
            const int64_t left = w->in[2] - (place->start[2] + x);
            count = left < w->kernel[2] - x ? left : w->kernel[2] - x;
        }
        const size_t elements = (size_t)count * channels;
        if (at >= 0)
            memcpy(to, in + at, elements * sizeof(float));
        else
            memset(to, 0, elements * sizeof(float));
        to += elements;
        x += count;
    }
    return to;
}

static void gather(const onnxd_convolution_call *call, const pixel_block *block, float *gathered,
                   const float **rows)
{
    const onnxd_image_window *w = &call->c->shape.window;
    for (uint32_t i = 0; i < block->count; i++) {
        rows[i] = gathered;
        for (int64_t z = 0; z < w->kernel[0]; z++)
            for (int64_t y = 0; y < w->kernel[1]; y++)
                gathered = gather_row(call, block, &block->places[i], z, y, gathered);
    }
}

static void run_block(const product_run *run, const pixel_block *block, size_t part,
                      uint32_t worker)
{
    const onnxd_convolution_call *call = run->call;
    const onnxd_convolution *c = call->c;
    const bool is_gathered = c->method == ONNXD_CONVOLUTION_GATHERED;
    const size_t maps = c->shape.maps, corner = block->first * maps + block->group * c->group_maps;
    const size_t column = part * run->part_columns, left = c->group_maps - column;
    const size_t gathered = ONNXD_BLOCK_ROWS * c->taps * c->group_channels;
    const float *rows[ONNXD_BLOCK_TAPS * ONNXD_BLOCK_ROWS];
    if (c->is_pointwise)
        for (uint32_t i = 0; i < block->count; i++)
            rows[i] = call->in + (block->first + i) * c->shape.window.channels +
                      block->group * c->group_channels;
    else if (is_gathered)
        gather(call, block, call->workspace + worker * gathered, rows);
    else
        point(call, block, rows);
    const onnxd_product_block product = {
        .a = rows,
        .taps = is_gathered ? 1 : c->taps,
        .depth = is_gathered ? c->taps * c->group_channels : c->group_channels,
        .packed = c->packed + block->group * c->group_packed,
        .first_column = column,
        .columns = left < run->part_columns ? left : run->part_columns,
        .c = call->out + corner,
        .c_stride = maps,
        .rows = block->count,
        .post = {.activation = c->activation,
                 .bias = c->bias == NULL ? NULL : c->bias + block->group * c->group_bias,
                 .residual = call->residual == NULL ? NULL : call->residual + corner,
                 .residual_stride = maps},
    };
    onnxd_product_block_run(c->simd, &product);
}

static void run_piece(void *context, size_t index, uint32_t worker)
{
    const product_run *run = context;
    const onnxd_convolution *c = run->call->c;
    pixel_block block = {.group = index / run->parts / run->blocks,
                         .first = index / run->parts % run->blocks * run->block_pixels};
    const size_t left = c->pixels - block.first;
    block.count = (uint32_t)(left < run->block_pixels ? left : run->block_pixels);
    if (!c->is_pointwise)
        locate(c, &block);
    run_block(run, &block, index % run->parts, worker);
}

/* Where the pixels alone do not make enough pieces for all threads, columns are divided too. */
static void divide(product_run *run)
{
    const onnxd_convolution *c = run->call->c;
    const size_t width = c->simd->tile_columns, panels = (c->group_maps + width - 1) / width;
    const size_t wanted = c->threads == 1 ? 1 : c->threads * PIECES_PER_THREAD;
    run->block_pixels = onnxd_product_block_rows(c->simd, c->pixels);
    run->blocks = (c->pixels + run->block_pixels - 1) / run->block_pixels;
    size_t parts = wanted / (run->blocks * c->shape.groups);
    parts = parts < 1 ? 1 : parts > panels ? panels : parts;
    run->part_columns = (panels + parts - 1) / parts * width;
    run->parts = (panels * width + run->part_columns - 1) / run->part_columns;
}

void onnxd_convolution_product_run(const onnxd_convolution_call *call)
{
    product_run run = {.call = call};
    divide(&run);
    onnxd_team_run(call->team, run.parts * run.blocks * call->c->shape.groups, run_piece, &run);
}
