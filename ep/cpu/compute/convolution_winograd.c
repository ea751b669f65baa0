/*
 * Winograd's convolutions F(4x4, 3x3) and F(2x2, 3x3). The output is cut into tiles of 4 x 4 or
 * 2 x 2 pixels, whose inputs, two pixels wider and higher, overlap; tiles are worked on in groups,
 * n being 36 or 16:
 *
 *   pixels ─► V [n][tiles][channels]  ─► n products with U ─► M [n][tiles][maps] ─► pixels
 *
 * Where there are groups for all threads, each thread has groups of its own, whose V and M stay in
 * its caches; else all of them share the one group at a time.
 */
#include <string.h>

#include "base/size_math.h"
#include "ep/cpu/compute/convolution_internal.h"

enum { WINDOW = 3 };
/* Elements of a cache line. */
#define LINE ((size_t)16)

/* Tiles of a group times matrices: few enough for V and M to stay in the second-level cache where
 * channels are few, enough rows for the products. */
#define GROUP_ROWS ((size_t)1296)
/* Where U is so large that it comes from memory for each group, groups are as large as a block of a
 * product can be. */
#define FAR_BYTES ((size_t)16 << 20)
#define MOST_TILES ((size_t)ONNXD_BLOCK_ROWS)
/* Columns of a piece of a product. */
#define PIECE_COLUMNS ((size_t)256)

/* ---- weights --------------------------------------------------------------------------------- */

/* Packed as onnxd_product_pack() does, one matrix after the other. */
void onnxd_convolution_winograd_pack(const onnxd_simd *simd, const onnxd_convolution_shape *shape,
                                     size_t tile, const float *weights, float *packed)
{
    const size_t channels = shape->window.channels, width = simd->tile_columns;
    const size_t kernel = (size_t)WINDOW * WINDOW, stride = channels * kernel;
    size_t matrix = 0;
    if (!onnxd_product_packed_count(simd, channels, shape->maps, &matrix))
        return;
    for (size_t m = 0; m < shape->maps; m += width) {
        const size_t left = shape->maps - m, columns = left < width ? left : width;
        for (size_t c = 0; c < channels; c++)
            simd->winograd_weights(tile, weights + m * stride + c * kernel, stride, columns,
                                   packed + m * channels + c * width, matrix);
    }
}

/* ---- groups ---------------------------------------------------------------------------------- */

/* How the tiles are dealt out. */
typedef struct tile_groups {
    size_t tile, matrices;     /* pixels of a tile along each axis */
    size_t tiles;              /* of all images */
    size_t count;              /* groups */
    size_t size;               /* tiles of the largest; the others have as many, or one less */
    bool are_shared;           /* all threads work on one group */
    size_t v_matrix, m_matrix; /* elements from one matrix to the next */
    size_t elements;           /* of V and M of a group */
} tile_groups;

static size_t tiles_along(int64_t extent, size_t tile)
{
    return ((size_t)extent + tile - 1) / tile;
}

/* An odd count of cache lines: a tile touches all matrices at once, and at powers of two they would
 * all share one set of the cache. */
static bool matrix_stride(size_t tiles, size_t width, size_t *out_elements)
{
    size_t count;
    if (!onnxd_size_mul(tiles, width, &count) || !onnxd_size_add(count, LINE - 1, &count))
        return false;
    return onnxd_size_mul(count / LINE | 1, LINE, out_elements);
}

/* False when the sizes do not fit. */
static bool deal_out(const onnxd_convolution *c, tile_groups *out)
{
    const onnxd_image_window *w = &c->shape.window;
    const size_t tile = onnxd_convolution_winograd_tile(c->method);
    const size_t matrices = ONNXD_SIMD_WINOGRAD_MATRICES(tile);
    const bool is_far = c->group_packed >= FAR_BYTES / sizeof(float) / matrices;
    const size_t most = is_far ? MOST_TILES : GROUP_ROWS / matrices;
    tile_groups g = {.tile = tile,
                     .matrices = matrices,
                     .tiles =
                         w->batch * tiles_along(w->out[1], tile) * tiles_along(w->out[2], tile)};
    size_t groups = (g.tiles + most - 1) / most;
    if (groups == 0) {
        *out = g;
        return true;
    }
    /* As many for each thread, or one for all. */
    if (c->threads > 1 && !is_far && groups >= c->threads)
        groups = (groups + c->threads - 1) / c->threads * c->threads;
    else
        g.are_shared = true;
    if (g.are_shared && g.tiles <= MOST_TILES && c->threads > 1)
        groups = 1;
    g.count = groups;
    g.size = (g.tiles + groups - 1) / groups;
    if (!matrix_stride(g.size, w->channels, &g.v_matrix) ||
        !matrix_stride(g.size, c->shape.maps, &g.m_matrix) ||
        !onnxd_size_add(g.v_matrix, g.m_matrix, &g.elements) ||
        !onnxd_size_mul(g.elements, matrices, &g.elements))
        return false;
    *out = g;
    return true;
}

bool onnxd_convolution_winograd_workspace(const onnxd_convolution *c, size_t *out_elements)
{
    tile_groups groups;
    size_t bytes;
    return deal_out(c, &groups) &&
           onnxd_size_mul(groups.elements, groups.are_shared ? 1 : c->threads, out_elements) &&
           onnxd_size_mul(*out_elements, sizeof(float), &bytes);
}

/* ---- a run ----------------------------------------------------------------------------------- */

typedef struct winograd_run {
    const onnxd_convolution_call *call;
    tile_groups groups;
    size_t across, per_image; /* tiles of a row, of an image */
    size_t first, count;      /* of the group */
    size_t channels, maps;
    float *v, *m;  /* of the group */
    size_t pieces; /* of a product's columns */
} winograd_run;

typedef struct tile_place {
    size_t batch;
    int64_t y, x; /* of its first output pixel */
} tile_place;

static tile_place place_of(const winograd_run *run, size_t index)
{
    const size_t rest = index % run->per_image;
    const int64_t extent = (int64_t)run->groups.tile;
    return (tile_place){index / run->per_image, (int64_t)(rest / run->across) * extent,
                        (int64_t)(rest % run->across) * extent};
}

static void transform_input(void *context, size_t index, uint32_t worker)
{
    const winograd_run *run = context;
    const onnxd_convolution *c = run->call->c;
    const onnxd_image_window *w = &c->shape.window;
    const tile_place tile = place_of(run, run->first + index);
    const float *pixels[ONNXD_SIMD_MOST_MATRICES];
    const int64_t in_extent = (int64_t)run->groups.tile + WINDOW - 1;
    (void)worker;
    for (int64_t i = 0; i < in_extent * in_extent; i++) {
        const int64_t y = tile.y - w->pad_begin[1] + i / in_extent;
        const int64_t x = tile.x - w->pad_begin[2] + i % in_extent;
        const bool is_inside = y >= 0 && y < w->in[1] && x >= 0 && x < w->in[2];
        pixels[i] =
            !is_inside
                ? c->zeros
                : run->call->in + ((int64_t)tile.batch * w->in[1] * w->in[2] + y * w->in[2] + x) *
                                      (int64_t)run->call->places.channels;
    }
    c->simd->winograd_in(run->groups.tile, pixels, run->channels, run->v + index * run->channels,
                         run->groups.v_matrix);
}

static void multiply(void *context, size_t index, uint32_t worker)
{
    const winograd_run *run = context;
    const onnxd_convolution *c = run->call->c;
    const size_t matrix = index / run->pieces, column = index % run->pieces * PIECE_COLUMNS;
    const size_t left = run->maps - column;
    const float *rows[ONNXD_BLOCK_ROWS];
    (void)worker;
    for (size_t i = 0; i < run->count; i++)
        rows[i] = run->v + matrix * run->groups.v_matrix + i * run->channels;
    const onnxd_product_block product = {
        .a = rows,
        .taps = 1,
        .depth = run->channels,
        .packed = c->packed + matrix * c->group_packed,
        .first_column = column,
        .columns = left < PIECE_COLUMNS ? left : PIECE_COLUMNS,
        .c = run->m + matrix * run->groups.m_matrix,
        .c_stride = run->maps,
        .rows = (uint32_t)run->count,
    };
    onnxd_product_block_run(c->simd, &product);
}

static void transform_output(void *context, size_t index, uint32_t worker)
{
    const winograd_run *run = context;
    const onnxd_convolution *c = run->call->c;
    const onnxd_image_window *w = &c->shape.window;
    const tile_place tile = place_of(run, run->first + index);
    const size_t pitch = run->call->out_pitch, row_stride = (size_t)w->out[2] * pitch;
    const size_t corner =
        (tile.batch * (size_t)w->out[1] + (size_t)tile.y) * row_stride + (size_t)tile.x * pitch;
    const int64_t extent = (int64_t)run->groups.tile;
    const int64_t rows = w->out[1] - tile.y, columns = w->out[2] - tile.x;
    const float *residual = run->call->residual;
    (void)worker;
    const onnxd_simd_winograd_out out = {
        .tile = run->groups.tile,
        .in = run->m + index * run->maps,
        .matrix = run->groups.m_matrix,
        .out = run->call->out + corner,
        .row_stride = row_stride,
        .pixel_stride = pitch,
        .rows = (uint32_t)(rows < extent ? rows : extent),
        .columns = (uint32_t)(columns < extent ? columns : extent),
        .post = {.activation = c->activation,
                 .bias = c->bias,
                 .residual = residual == NULL ? NULL : residual + corner},
    };
    c->simd->winograd_out(&out, run->maps);
}

/* ---- the phases of a group ------------------------------------------------------------------- */

static void share(const winograd_run *run, size_t count, onnxd_team_task task, winograd_run *group)
{
    if (run->groups.are_shared)
        onnxd_team_run(run->call->team, count, task, group);
    else
        for (size_t i = 0; i < count; i++)
            task(group, i, 0);
}

static void run_group(void *context, size_t index, uint32_t worker)
{
    const winograd_run *run = context;
    winograd_run group = *run;
    group.first = index * run->groups.tiles / run->groups.count;
    group.count = (index + 1) * run->groups.tiles / run->groups.count - group.first;
    group.v = run->call->workspace + worker * run->groups.elements;
    group.m = group.v + run->groups.matrices * run->groups.v_matrix;
    share(run, group.count, transform_input, &group);
    share(run, run->groups.matrices * group.pieces, multiply, &group);
    share(run, group.count, transform_output, &group);
}

void onnxd_convolution_winograd_run(const onnxd_convolution_call *call)
{
    const onnxd_convolution *c = call->c;
    const onnxd_image_window *w = &c->shape.window;
    const size_t tile = onnxd_convolution_winograd_tile(c->method);
    winograd_run run = {.call = call,
                        .across = tiles_along(w->out[2], tile),
                        .per_image = tiles_along(w->out[1], tile) * tiles_along(w->out[2], tile),
                        .channels = w->channels,
                        .maps = c->shape.maps};
    if (!deal_out(c, &run.groups))
        return;
    run.pieces = (run.maps + PIECE_COLUMNS - 1) / PIECE_COLUMNS;
    if (run.groups.are_shared)
        for (size_t i = 0; i < run.groups.count; i++)
            run_group(&run, i, 0);
    else
        onnxd_team_run(call->team, run.groups.count, run_group, &run);
}
