#include "ep/cpu/compute/integer_convolution.h"
#include "ep/cpu/compute/pieces.h"

#include <string.h>

#include "base/size_math.h"

/* Fewer channels than this are gathered: a product this short per tap spends its time between
 * taps. */
#define LEAST_DIRECT_CHANNELS ((size_t)16)

/* ---- sizes ----------------------------------------------------------------------------------- */

static size_t aligned(size_t bytes)
{
    return (bytes + ONNXD_PACKED_ALIGNMENT - 1) / ONNXD_PACKED_ALIGNMENT * ONNXD_PACKED_ALIGNMENT;
}

/* The weights of one group, from ONNX's order. */
static onnxd_integer_matrix group_matrix(const onnxd_integer_convolution *c)
{
    return (onnxd_integer_matrix){.step = c->is_fours ? ONNXD_FOUR : ONNXD_PAIR,
                                  .taps = c->taps,
                                  .depth = c->group_channels,
                                  .columns = c->group_maps,
                                  .joined = c->row_taps,
                                  .tap_stride = 1,
                                  .step_stride = c->taps,
                                  .column_stride = c->group_channels * c->taps};
}

/* Elements of a row of the product, and of all those of a gathered window. */
static size_t row_elements(const onnxd_integer_convolution *c)
{
    return c->steps * (c->is_fours ? ONNXD_FOUR : ONNXD_PAIR);
}

static size_t window_elements(const onnxd_integer_convolution *c)
{
    return c->taps / c->row_taps * row_elements(c);
}

static size_t rows_bytes(const onnxd_integer_convolution *c)
{
    return aligned(ONNXD_BLOCK_ROWS * window_elements(c) * (c->is_fours ? 1 : sizeof(int16_t)));
}

/* Gathered, for each thread: a block's rows and the bytes of one. Direct: the image, widened, and a
 * pixel of zeros; of bytes that pixel alone. */
static bool size_workspace(onnxd_integer_convolution *c)
{
    const onnxd_image_window *w = &c->shape.window;
    size_t pixels;
    if (c->is_gathered) {
        if (c->steps > SIZE_MAX / ONNXD_BLOCK_ROWS / ONNXD_BLOCK_TAPS / 16)
            return false;
        c->thread_bytes = rows_bytes(c) + aligned(row_elements(c));
        return onnxd_size_mul(c->thread_bytes, c->threads, &c->workspace_bytes);
    }
    if (c->is_fours) {
        c->workspace_bytes = aligned(c->group_channels);
        return true;
    }
    return onnxd_size_mul(w->batch, (size_t)(w->in[0] * w->in[1] * w->in[2]), &pixels) &&
           onnxd_size_mul(pixels + 1, c->shape.groups * c->padded_channels, &pixels) &&
           onnxd_size_mul(pixels, sizeof(int16_t), &c->workspace_bytes);
}

static bool fits_fours(const onnxd_integer_convolution *c, const uint8_t *weights)
{
    onnxd_integer_matrix matrix = group_matrix(c);
    bool fits = true;
    matrix.step = ONNXD_FOUR;
    for (size_t g = 0; g < c->shape.groups && fits; g++) {
        matrix.data = weights + g * c->group_maps * c->group_channels * c->taps;
        fits = onnxd_integer_fits_fours(c->simd, &matrix);
    }
    return fits;
}

/* Whether the rows of the windows lie in the image one tap after the other, and are few enough to
 * point to. */
static bool has_rows(const onnxd_integer_convolution *c)
{
    const onnxd_image_window *w = &c->shape.window;
    return c->is_gathered && c->shape.groups == 1 && w->kernel[2] > 1 && w->dilation[2] == 1 &&
           c->taps / (size_t)w->kernel[2] <= ONNXD_BLOCK_TAPS;
}

/* Whether weights may be fours follows from what stands next to each other. */
static void choose_fours(onnxd_integer_convolution *c, const uint8_t *weights)
{
    const size_t all = c->row_taps;
    c->is_by_rows = c->taps > 0 && has_rows(c);
    if (c->is_by_rows)
        c->row_taps = (size_t)c->shape.window.kernel[2];
    c->is_fours = fits_fours(c, weights);
    if (c->is_fours || !c->is_by_rows)
        return;
    c->is_by_rows = false;
    c->row_taps = all;
    c->is_fours = fits_fours(c, weights);
}

bool onnxd_integer_convolution_init(onnxd_integer_convolution *c, const onnxd_simd *simd,
                                    const onnxd_convolution_shape *shape, const uint8_t *weights,
                                    uint32_t threads)
{
    *c = (onnxd_integer_convolution){
        .simd = simd,
        .shape = *shape,
        .threads = threads,
        .taps = onnxd_image_window_taps(&shape->window),
        .pixels = onnxd_image_window_pixels(&shape->window),
        .group_channels = shape->window.channels / shape->groups,
        .group_maps = shape->maps / shape->groups,
    };
    c->is_gathered =
        c->taps == 1 || c->group_channels < LEAST_DIRECT_CHANNELS || c->taps > ONNXD_BLOCK_TAPS;
    c->row_taps = c->is_gathered && c->taps > 0 ? c->taps : 1;
    if (weights != NULL && (c->is_gathered || c->group_channels % ONNXD_FOUR == 0))
        choose_fours(c, weights);
    c->padded_channels = c->group_channels + c->group_channels % 2;
    const onnxd_integer_matrix matrix = group_matrix(c);
    size_t all;
    if (!onnxd_integer_packed_bytes(simd, &matrix, &c->group_packed) ||
        !onnxd_size_mul(c->group_packed, shape->groups, &all) ||
        !onnxd_integer_padded_columns(simd, c->group_maps, &c->padded_maps))
        return false;
    c->steps = onnxd_integer_steps(&matrix);
    return size_workspace(c);
}

size_t onnxd_integer_convolution_packed_bytes(const onnxd_integer_convolution *c)
{
    return c->group_packed * c->shape.groups;
}

void onnxd_integer_convolution_pack(const onnxd_integer_convolution *c, const uint8_t *weights,
                                    uint8_t flip, int8_t *packed)
{
    onnxd_integer_matrix matrix = group_matrix(c);
    matrix.flip = flip;
    for (size_t g = 0; g < c->shape.groups; g++) {
        matrix.data = weights + g * c->group_maps * c->group_channels * c->taps;
        onnxd_integer_pack(c->simd, &matrix, packed + g * c->group_packed);
    }
}

void onnxd_integer_convolution_sum(const onnxd_integer_convolution *c, const uint8_t *weights,
                                   int32_t *sums)
{
    onnxd_integer_matrix matrix = group_matrix(c);
    for (size_t g = 0; g < c->shape.groups; g++) {
        matrix.data = weights + g * c->group_maps * c->group_channels * c->taps;
        onnxd_integer_sum_columns(&matrix, sums + g * c->group_maps);
    }
}

/* ---- rows ------------------------------------------------------------------------------------ */

typedef struct convolution_run {
    const onnxd_integer_convolution_call *call;
    onnxd_image_window window; /* direct: of the widened image */
    const void *zeros;         /* direct: a pixel of zeros, or zero points */
    onnxd_product_pieces pieces;
} convolution_run;

/* A block of output pixels and one group. */
typedef struct pixel_block {
    size_t group, first;
    uint32_t count;
    size_t strip_count;
    onnxd_window_strip strips[ONNXD_BLOCK_ROWS];
} pixel_block;

/* Rows of a block, tap by tap. */
typedef union block_rows {
    const int16_t *pairs[ONNXD_BLOCK_TAPS * ONNXD_BLOCK_ROWS];
    const uint8_t *fours[ONNXD_BLOCK_TAPS * ONNXD_BLOCK_ROWS];
} block_rows;

/* Where a strip's pixels under one tap lie: the `at`-th and following of the rows. */
static void point_strip(const convolution_run *run, const onnxd_strip_tap *tap, uint32_t count,
                        const char *in, size_t at, block_rows *rows)
{
    const bool is_fours = run->call->c->is_fours;
    const int64_t size = is_fours ? 1 : sizeof(int16_t);
    for (uint32_t i = 0; i < count; i++) {
        const bool is_inside = i >= tap->first && i < tap->last;
        const void *row = is_inside ? in + (tap->at + i * tap->step) * size : run->zeros;
        if (is_fours)
            rows->fours[at + i] = row;
        else
            rows->pairs[at + i] = row;
    }
}

/* Where the pixels of the image lie. */
static void point(const convolution_run *run, const pixel_block *block, block_rows *rows)
{
    const onnxd_integer_convolution *c = run->call->c;
    const onnxd_image_window *w = &run->window;
    const size_t group_bytes =
        c->is_fours ? c->group_channels : c->padded_channels * sizeof(int16_t);
    const char *in = c->is_fours ? (const char *)run->call->in : run->call->workspace;
    size_t tap_at = 0;
    in += block->group * group_bytes;
    for (int64_t z = 0; z < w->kernel[0]; z++) {
        for (int64_t y = 0; y < w->kernel[1]; y++) {
            for (int64_t x = 0; x < w->kernel[2]; x++, tap_at += ONNXD_BLOCK_ROWS) {
                size_t at = tap_at;
                for (size_t s = 0; s < block->strip_count; s++) {
                    const onnxd_window_strip *strip = &block->strips[s];
                    const onnxd_strip_tap tap = onnxd_window_strip_tap(w, strip, z, y, x);
                    point_strip(run, &tap, strip->count, in, at, rows);
                    at += strip->count;
                }
            }
        }
    }
}

/* The taps of one row of a window: those within the image are copied at once where they lie side by
 * side. */
static uint8_t *gather_row(const onnxd_integer_convolution_call *call, const uint8_t *in,
                           const onnxd_window_place *place, int64_t z, int64_t y, uint8_t *to)
{
    const onnxd_image_window *w = &call->c->shape.window;
    const size_t channels = call->c->group_channels;
    const bool is_dense = w->dilation[2] == 1 && call->c->shape.groups == 1;
    for (int64_t x = 0; x < w->kernel[2];) {
        const int64_t at = onnxd_window_tap(w, place, z, y, x);
        int64_t count = 1;
        if (at >= 0 && is_dense) {
            const int64_t left = w->in[2] - (place->start[2] + x);
            count = left < w->kernel[2] - x ? left : w->kernel[2] - x;
        }
        const size_t bytes = (size_t)count * channels;
        if (at >= 0)
            memcpy(to, in + at, bytes);
        else
            memset(to, call->in_byte, bytes);
        to += bytes;
        x += count;
    }
    return to;
}

/* The bytes of a window; `scratch` has room for them. */
static const uint8_t *gather_window(const onnxd_integer_convolution_call *call, const uint8_t *in,
                                    const onnxd_window_place *place, uint8_t *scratch)
{
    const onnxd_image_window *w = &call->c->shape.window;
    uint8_t *to = scratch;
    if (call->c->taps == 1) {
        const int64_t at = onnxd_window_tap(w, place, 0, 0, 0);
        if (at >= 0)
            return in + at;
    }
    for (int64_t z = 0; z < w->kernel[0]; z++)
        for (int64_t y = 0; y < w->kernel[1]; y++)
            to = gather_row(call, in, place, z, y, to);
    return scratch;
}

static void gather_pairs(const onnxd_integer_convolution_call *call, const pixel_block *block,
                         char *scratch, const int16_t **rows)
{
    const onnxd_integer_convolution *c = call->c;
    const size_t depth = c->taps * c->group_channels, pitch = row_elements(c);
    const uint8_t *in = call->in + block->group * c->group_channels;
    int16_t *wide = (int16_t *)(void *)scratch;
    uint8_t *bytes = (uint8_t *)scratch + rows_bytes(c);
    onnxd_window_place place;
    onnxd_window_place_init(&c->shape.window, block->first, &place);
    for (uint32_t i = 0; i < block->count; i++, wide += pitch) {
        rows[i] = wide;
        c->simd->integer_widen(gather_window(call, in, &place, bytes), depth, call->in_zero, wide);
        if (pitch > depth)
            wide[depth] = 0;
        onnxd_window_place_next(&c->shape.window, &place);
    }
}

/* Rows of whole steps that lie in the image are read there. */
static void gather_fours(const onnxd_integer_convolution_call *call, const pixel_block *block,
                         char *scratch, const uint8_t **rows)
{
    const onnxd_integer_convolution *c = call->c;
    const size_t depth = c->taps * c->group_channels, pitch = row_elements(c);
    const uint8_t *in = call->in + block->group * c->group_channels;
    uint8_t *to = (uint8_t *)scratch;
    onnxd_window_place place;
    onnxd_window_place_init(&c->shape.window, block->first, &place);
    for (uint32_t i = 0; i < block->count; i++, to += pitch) {
        rows[i] = gather_window(call, in, &place, to);
        onnxd_window_place_next(&c->shape.window, &place);
        if (pitch > depth) {
            if (rows[i] != to)
                memcpy(to, rows[i], depth);
            memset(to + depth, 0, pitch - depth);
            rows[i] = to;
        }
    }
}

/* Rows of windows, tap by tap. Whole steps are read: those at the very end of the image are copied
 * too. */
static void point_rows(const convolution_run *run, const pixel_block *block, char *scratch,
                       const uint8_t **rows)
{
    const onnxd_integer_convolution_call *call = run->call;
    const onnxd_integer_convolution *c = call->c;
    const onnxd_image_window *w = &c->shape.window;
    const int64_t length = (int64_t)row_elements(c);
    const int64_t image =
        (int64_t)(w->batch * (size_t)(w->in[0] * w->in[1] * w->in[2]) * w->channels);
    uint8_t *to = (uint8_t *)scratch;
    for (int64_t z = 0; z < w->kernel[0]; z++) {
        for (int64_t y = 0; y < w->kernel[1]; y++, rows += ONNXD_BLOCK_ROWS) {
            const uint8_t **of_strip = rows;
            for (size_t s = 0; s < block->strip_count; s++) {
                const onnxd_window_strip *strip = &block->strips[s];
                const onnxd_strip_tap row = onnxd_window_strip_row(w, strip, z, y);
                for (uint32_t i = 0; i < strip->count; i++) {
                    const int64_t at = row.at + i * row.step;
                    if (i >= row.first && i < row.last && at + length <= image) {
                        of_strip[i] = call->in + at;
                        continue;
                    }
                    const onnxd_window_place place = onnxd_window_strip_place(w, strip, i);
                    (void)gather_row(call, call->in, &place, z, y, to);
                    of_strip[i] = to;
                    to += length;
                }
                of_strip += strip->count;
            }
        }
    }
}

/* ---- a run ----------------------------------------------------------------------------------- */

static void *element(const onnxd_integer_convolution_call *call, size_t at)
{
    const size_t size = call->post.kind == ONNXD_SIMD_BYTES ? 1 : sizeof(int32_t);
    return (char *)call->out + at * size;
}

static void run_piece(void *context, size_t index, uint32_t worker)
{
    const convolution_run *run = context;
    const onnxd_integer_convolution_call *call = run->call;
    const onnxd_integer_convolution *c = call->c;
    block_rows rows;
    const onnxd_product_piece piece = onnxd_product_piece_at(&run->pieces, index);
    pixel_block block;
    block.group = piece.group;
    block.first = piece.first_row;
    block.count = piece.rows;
    const size_t maps = block.group * c->padded_maps;
    char *scratch = (char *)call->workspace + worker * c->thread_bytes;
    if (!c->is_gathered || c->is_by_rows)
        block.strip_count =
            onnxd_window_strips(&run->window, block.first, block.count, block.strips);
    if (!c->is_gathered) {
        point(run, &block, &rows);
    } else if (c->is_by_rows) {
        point_rows(run, &block, scratch, rows.fours);
    } else if (c->is_fours) {
        gather_fours(call, &block, scratch, rows.fours);
    } else {
        gather_pairs(call, &block, scratch, rows.pairs);
    }
    onnxd_integer_block product = {
        .pairs = c->is_fours ? NULL : rows.pairs,
        .fours = c->is_fours ? rows.fours : NULL,
        .taps = c->taps / c->row_taps,
        .steps = c->steps,
        .packed = call->packed + block.group * c->group_packed,
        .zeros = call->zeros == NULL ? NULL : call->zeros + 2 * maps,
        .first_column = piece.column,
        .columns = piece.columns,
        .out = element(call, block.first * c->shape.maps + block.group * c->group_maps),
        .out_stride = c->shape.maps,
        .rows = block.count,
        .post = call->post,
    };
    if (product.post.factors != NULL)
        product.post.factors += maps;
    if (product.post.addends != NULL)
        product.post.addends += maps;
    if (product.post.other.rows != NULL)
        product.post.other.rows += block.first * c->shape.maps + block.group * c->group_maps;
    onnxd_integer_block_run(c->simd, &product);
}

/* Groups of channels are rows: each is padded to whole pairs. */
static void widen_image(convolution_run *run)
{
    const onnxd_integer_convolution_call *call = run->call;
    const onnxd_integer_convolution *c = call->c;
    const onnxd_image_window *w = &run->window;
    const size_t pixels = w->batch * (size_t)(w->in[0] * w->in[1] * w->in[2]);
    const size_t pixel = c->shape.groups * c->padded_channels;
    int16_t *wide = call->workspace;
    const onnxd_integer_widening widening = {.simd = c->simd,
                                             .rows = pixels * c->shape.groups,
                                             .depth = c->group_channels,
                                             .out_stride = c->padded_channels,
                                             .in = call->in,
                                             .zero = call->in_zero,
                                             .out = wide};
    onnxd_integer_widen(&widening, call->team);
    memset(wide + pixels * pixel, 0, pixel * sizeof(*wide));
    run->window.channels = pixel;
    run->zeros = wide + pixels * pixel;
}

void onnxd_integer_convolution_run(const onnxd_integer_convolution_call *call)
{
    const onnxd_integer_convolution *c = call->c;
    convolution_run run = {.call = call, .window = c->shape.window, .zeros = call->workspace};
    if (c->pixels == 0 || c->shape.maps == 0)
        return;
    if (!c->is_gathered && c->is_fours)
        memset(call->workspace, call->in_byte, c->group_channels);
    else if (!c->is_gathered)
        widen_image(&run);
    const onnxd_product_extent extent = {.rows = c->pixels,
                                         .columns = c->group_maps,
                                         .groups = c->shape.groups,
                                         .weight_bytes =
                                             (double)(c->taps * c->group_channels * c->group_maps),
                                         .row_bytes = (double)(c->pixels * c->group_channels)};
    run.pieces = onnxd_product_cut(c->simd, &extent, onnxd_team_width(call->team));
    onnxd_team_run(call->team, run.pieces.count, run_piece, &run);
}
