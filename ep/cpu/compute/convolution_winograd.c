/*
 * Winograd's convolution F(4x4, 3x3). The output is cut into tiles of 4 x 4 pixels, whose inputs of
 * 6 x 6 overlap; tiles are worked on in groups:
 *
 *   pixels ─► V [36][tiles][channels]  ─► 36 products with U ─► M [36][tiles][maps] ─► pixels
 */
#include <string.h>

#include "base/size_math.h"
#include "ep/cpu/compute/convolution_internal.h"

enum { TILE = 4, WINDOW = 3, EXTENT = 6 };
#define MATRICES ONNXD_WINOGRAD_MATRICES

/* Tiles of a group, for each thread: as many as let V and M stay in the caches, and enough rows for
 * the products. */
#define TILES_PER_THREAD ((size_t)48)
/* Elements of V and M of a group may be more than that where images are small, so that weights are
 * read once: up to this many rows of a product. */
#define MOST_TILES ((size_t)ONNXD_BLOCK_ROWS)
/* Columns of a piece of a product. */
#define PIECE_COLUMNS ((size_t)256)

/* ---- weights --------------------------------------------------------------------------------- */

/* G g */
static void transform_weights(const float g[WINDOW], float u[EXTENT])
{
    const float even = g[0] + g[2], wide = g[0] / 4 + g[2];
    u[0] = g[0] / 4;
    u[1] = -(even + g[1]) / 6;
    u[2] = -(even - g[1]) / 6;
    u[3] = (wide + g[1] / 2) / 6;
    u[4] = (wide - g[1] / 2) / 6;
    u[5] = g[2];
}

static void transform_kernel(const float *g, float u[MATRICES])
{
    float rows[WINDOW][EXTENT];
    for (size_t y = 0; y < WINDOW; y++)
        transform_weights(g + y * WINDOW, rows[y]);
    for (int x = 0; x < EXTENT; x++) {
        const float column[WINDOW] = {rows[0][x], rows[1][x], rows[2][x]};
        float t[EXTENT];
        transform_weights(column, t);
        for (int y = 0; y < EXTENT; y++)
            u[y * EXTENT + x] = t[y];
    }
}

/* Packed as onnxd_product_pack() does, one matrix after the other. */
void onnxd_convolution_winograd_pack(const onnxd_simd *simd, const onnxd_convolution_shape *shape,
                                     const float *weights, float *packed)
{
    const size_t channels = shape->window.channels, width = simd->tile_columns;
    size_t matrix = 0;
    if (!onnxd_product_packed_count(simd, channels, shape->maps, &matrix))
        return;
    memset(packed, 0, MATRICES * matrix * sizeof(float));
    for (size_t m = 0; m < shape->maps; m++) {
        float *column = packed + m / width * width * channels + m % width;
        for (size_t c = 0; c < channels; c++) {
            float u[MATRICES];
            transform_kernel(weights + (m * channels + c) * WINDOW * WINDOW, u);
            for (size_t i = 0; i < MATRICES; i++)
                column[i * matrix + c * width] = u[i];
        }
    }
}

/* ---- a run ----------------------------------------------------------------------------------- */

typedef struct winograd_run {
    const onnxd_convolution_call *call;
    size_t across, per_image; /* tiles of a row, of an image */
    size_t first, count;      /* of the group */
    size_t channels, maps;
    float *v, *m;
    size_t v_matrix, m_matrix; /* elements of one matrix of a group */
    size_t pieces;             /* of a product's columns */
} winograd_run;

static size_t tiles_along(int64_t extent)
{
    return (size_t)((extent + TILE - 1) / TILE);
}

static size_t count_tiles(const onnxd_image_window *w)
{
    return w->batch * tiles_along(w->out[1]) * tiles_along(w->out[2]);
}

static size_t group_tiles(const onnxd_convolution *c)
{
    const size_t tiles = count_tiles(&c->shape.window);
    size_t most = TILES_PER_THREAD * c->threads;
    if (most > MOST_TILES)
        most = MOST_TILES;
    if (tiles <= MOST_TILES)
        most = tiles;
    return most;
}

bool onnxd_convolution_winograd_workspace(const onnxd_convolution *c, size_t *out_elements)
{
    size_t width;
    return onnxd_size_add(c->shape.window.channels, c->shape.maps, &width) &&
           onnxd_size_mul(width, group_tiles(c) * MATRICES, out_elements) &&
           *out_elements <= SIZE_MAX / sizeof(float);
}

typedef struct tile_place {
    size_t batch;
    int64_t y, x; /* of its first output pixel */
} tile_place;

static tile_place place_of(const winograd_run *run, size_t tile)
{
    const size_t rest = tile % run->per_image;
    return (tile_place){tile / run->per_image, (int64_t)(rest / run->across) * TILE,
                        (int64_t)(rest % run->across) * TILE};
}

static void transform_input(void *context, size_t index, uint32_t worker)
{
    const winograd_run *run = context;
    const onnxd_convolution *c = run->call->c;
    const onnxd_image_window *w = &c->shape.window;
    const tile_place tile = place_of(run, run->first + index);
    const float *pixels[MATRICES];
    (void)worker;
    for (int64_t i = 0; i < MATRICES; i++) {
        const int64_t y = tile.y - w->pad_begin[1] + i / EXTENT;
        const int64_t x = tile.x - w->pad_begin[2] + i % EXTENT;
        const bool is_inside = y >= 0 && y < w->in[1] && x >= 0 && x < w->in[2];
        pixels[i] =
            !is_inside
                ? c->zeros
                : run->call->in + ((int64_t)tile.batch * w->in[1] * w->in[2] + y * w->in[2] + x) *
                                      (int64_t)w->channels;
    }
    c->simd->winograd_in(pixels, run->channels, run->v + index * run->channels, run->v_matrix);
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
        rows[i] = run->v + matrix * run->v_matrix + i * run->channels;
    const onnxd_product_block product = {
        .a = rows,
        .taps = 1,
        .depth = run->channels,
        .packed = c->packed + matrix * c->group_packed,
        .first_column = column,
        .columns = left < PIECE_COLUMNS ? left : PIECE_COLUMNS,
        .c = run->m + matrix * run->m_matrix,
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
    const size_t row_stride = (size_t)w->out[2] * run->maps;
    const size_t corner =
        (tile.batch * (size_t)w->out[1] + (size_t)tile.y) * row_stride + (size_t)tile.x * run->maps;
    const int64_t rows = w->out[1] - tile.y, columns = w->out[2] - tile.x;
    const float *residual = run->call->residual;
    (void)worker;
    const onnxd_simd_winograd_out out = {
        .in = run->m + index * run->maps,
        .matrix = run->m_matrix,
        .out = run->call->out + corner,
        .row_stride = row_stride,
        .pixel_stride = run->maps,
        .rows = rows < TILE ? (uint32_t)rows : TILE,
        .columns = columns < TILE ? (uint32_t)columns : TILE,
        .post = {.activation = c->activation,
                 .bias = c->bias,
                 .residual = residual == NULL ? NULL : residual + corner},
    };
    c->simd->winograd_out(&out, run->maps);
}

void onnxd_convolution_winograd_run(const onnxd_convolution_call *call)
{
    const onnxd_convolution *c = call->c;
    const onnxd_image_window *w = &c->shape.window;
    const size_t tiles = count_tiles(w), group = group_tiles(c);
    winograd_run run = {.call = call,
                        .across = tiles_along(w->out[2]),
                        .per_image = tiles_along(w->out[1]) * tiles_along(w->out[2]),
                        .channels = w->channels,
                        .maps = c->shape.maps,
                        .v = call->workspace,
                        .v_matrix = group * w->channels,
                        .m_matrix = group * c->shape.maps};
    run.m = run.v + MATRICES * run.v_matrix;
    run.pieces = (run.maps + PIECE_COLUMNS - 1) / PIECE_COLUMNS;
    for (run.first = 0; run.first < tiles; run.first += group) {
        run.count = tiles - run.first < group ? tiles - run.first : group;
        onnxd_team_run(call->team, run.count, transform_input, &run);
        onnxd_team_run(call->team, MATRICES * run.pieces, multiply, &run);
        onnxd_team_run(call->team, run.count, transform_output, &run);
    }
}
