/*
 * The transformations of Winograd's convolutions F(4x4, 3x3) and F(2x2, 3x3), channel by channel,
 * with the matrices of Lavin and Gray (2015). A tile of (tile + 2)^2 pixels becomes as many
 * elements, one for each of as many products, and these become tile x tile pixels.
 *
 * Everything is inlined into one function for each `tile`, 4 or 2, a constant there.
 */
#include "ep/cpu/simd/levels.h"
#include "ep/cpu/simd/vector_math.h"

enum { KERNEL = 3, MOST_OUT = 4, MOST_IN = 6 };
/* Pixels that a tile reads along each axis. */
#define EXTENT(tile) ((tile) + KERNEL - 1)

/* G g */
INLINED void transform_kernel(const size_t tile, const vf g[KERNEL], vf u[MOST_IN])
{
    const vf even = g[0] + g[2];
    if (tile == 2) {
        u[0] = g[0];
        u[1] = 0.5f * (even + g[1]);
        u[2] = 0.5f * (even - g[1]);
        u[3] = g[2];
        return;
    }
    const vf wide = 0.25f * g[0] + g[2];
    u[0] = 0.25f * g[0];
    u[1] = -(even + g[1]) / 6.0f;
    u[2] = -(even - g[1]) / 6.0f;
    u[3] = (wide + 0.5f * g[1]) / 6.0f;
    u[4] = (wide - 0.5f * g[1]) / 6.0f;
    u[5] = g[2];
}

INLINED void weights_of(const size_t tile, const float *kernels, size_t stride, size_t columns,
                        float *out, size_t matrix)
{
    enum { ELEMENTS = KERNEL * KERNEL };
    float elements[ELEMENTS][TILE_COLUMNS] = {{0}};
    for (size_t j = 0; j < columns; j++)
        for (size_t i = 0; i < ELEMENTS; i++)
            elements[i][j] = kernels[j * stride + i];
    for (size_t j = 0; j < TILE_COLUMNS; j += LANES) {
        vf rows[KERNEL][MOST_IN];
        for (size_t y = 0; y < KERNEL; y++) {
            const vf g[KERNEL] = {vf_load(elements[y * KERNEL] + j),
                                  vf_load(elements[y * KERNEL + 1] + j),
                                  vf_load(elements[y * KERNEL + 2] + j)};
            transform_kernel(tile, g, rows[y]);
        }
        for (size_t x = 0; x < EXTENT(tile); x++) {
            const vf g[KERNEL] = {rows[0][x], rows[1][x], rows[2][x]};
            vf u[MOST_IN];
            transform_kernel(tile, g, u);
            for (size_t y = 0; y < EXTENT(tile); y++)
                vf_store(out + (y * EXTENT(tile) + x) * matrix + j, u[y]);
        }
    }
}

void LEVEL_NAME(onnxd_simd_winograd_weights)(size_t tile, const float *kernels, size_t stride,
                                             size_t columns, float *out, size_t matrix)
{
    if (tile == 2)
        weights_of(2, kernels, stride, columns, out, matrix);
    else
        weights_of(4, kernels, stride, columns, out, matrix);
}

/* B^T d */
INLINED void transform_in(const size_t tile, const vf d[MOST_IN], vf t[MOST_IN])
{
    if (tile == 2) {
        t[0] = d[0] - d[2];
        t[1] = d[1] + d[2];
        t[2] = d[2] - d[1];
        t[3] = d[1] - d[3];
        return;
    }
    const vf a = d[4] - 4.0f * d[2], b = d[3] - 4.0f * d[1];
    const vf c = d[4] - d[2], e = 2.0f * (d[3] - d[1]);
    t[0] = 4.0f * d[0] - 5.0f * d[2] + d[4];
    t[1] = a + b;
    t[2] = a - b;
    t[3] = c + e;
    t[4] = c - e;
    t[5] = 4.0f * d[1] - 5.0f * d[3] + d[5];
}

/* A^T m */
INLINED void transform_out(const size_t tile, const vf m[MOST_IN], vf y[MOST_OUT])
{
    const vf a = m[1] + m[2], b = m[1] - m[2];
    if (tile == 2) {
        y[0] = m[0] + a;
        y[1] = b - m[3];
        return;
    }
    const vf c = m[3] + m[4], e = m[3] - m[4];
    y[0] = m[0] + a + c;
    y[1] = b + 2.0f * e;
    y[2] = a + 4.0f * c;
    y[3] = b + 8.0f * e + m[5];
}

INLINED void tile_in(const size_t tile, const float *const *pixels, size_t at, const size_t lanes,
                     float *out, size_t matrix)
{
    vf rows[MOST_IN][MOST_IN];
    for (size_t y = 0; y < EXTENT(tile); y++) {
        vf d[MOST_IN];
        UNROLLED
        for (size_t x = 0; x < EXTENT(tile); x++)
            d[x] = vf_load_some(pixels[y * EXTENT(tile) + x] + at, lanes);
        transform_in(tile, d, rows[y]);
    }
    for (size_t x = 0; x < EXTENT(tile); x++) {
        vf d[MOST_IN], t[MOST_IN];
        UNROLLED
        for (size_t y = 0; y < EXTENT(tile); y++)
            d[y] = rows[y][x];
        transform_in(tile, d, t);
        UNROLLED
        for (size_t y = 0; y < EXTENT(tile); y++)
            vf_store_some(out + (y * EXTENT(tile) + x) * matrix + at, t[y], lanes);
    }
}

INLINED void channels_in(const size_t tile, const float *const *pixels, size_t channels, float *out,
                         size_t matrix)
{
    size_t at = 0;
    for (; at + LANES <= channels; at += LANES)
        tile_in(tile, pixels, at, LANES, out, matrix);
    if (at < channels)
        tile_in(tile, pixels, at, channels - at, out, matrix);
}

void LEVEL_NAME(onnxd_simd_winograd_in)(size_t tile, const float *const *pixels, size_t channels,
                                        float *out, size_t matrix)
{
    if (tile == 2)
        channels_in(2, pixels, channels, out, matrix);
    else
        channels_in(4, pixels, channels, out, matrix);
}

INLINED void tile_out(const size_t tile, const onnxd_simd_winograd_out *o, size_t at,
                      const size_t lanes)
{
    vf columns[MOST_IN][MOST_OUT];
    const vf bias = o->post.bias == NULL ? vf_all(0) : vf_load_some(o->post.bias + at, lanes);
    for (size_t x = 0; x < EXTENT(tile); x++) {
        vf m[MOST_IN];
        UNROLLED
        for (size_t y = 0; y < EXTENT(tile); y++)
            m[y] = vf_load_some(o->in + (y * EXTENT(tile) + x) * o->matrix + at, lanes);
        transform_out(tile, m, columns[x]);
    }
    for (size_t y = 0; y < tile && y < o->rows; y++) {
        vf m[MOST_IN], result[MOST_OUT];
        UNROLLED
        for (size_t x = 0; x < EXTENT(tile); x++)
            m[x] = columns[x][y];
        transform_out(tile, m, result);
        for (size_t x = 0; x < tile && x < o->columns; x++) {
            const size_t to = y * o->row_stride + x * o->pixel_stride + at;
            vf v = result[x] + bias;
            if (o->post.residual != NULL)
                v += vf_load_some(o->post.residual + to, lanes);
            if (o->post.activation.function != ONNXD_SIMD_IDENTITY)
                v = vf_activate(&o->post.activation, v);
            vf_store_some(o->out + to, v, lanes);
        }
    }
}

INLINED void maps_out(const size_t tile, const onnxd_simd_winograd_out *o, size_t maps)
{
    size_t at = 0;
    for (; at + LANES <= maps; at += LANES)
        tile_out(tile, o, at, LANES);
    if (at < maps)
        tile_out(tile, o, at, maps - at);
}

void LEVEL_NAME(onnxd_simd_winograd_out)(const onnxd_simd_winograd_out *tile, size_t maps)
{
    if (tile->tile == 2)
        maps_out(2, tile, maps);
    else
        maps_out(4, tile, maps);
}
