/*
 * The transformations of Winograd's convolution F(4x4, 3x3), channel by channel, with the matrices
 * of Lavin and Gray (2015). A tile of 6 x 6 pixels becomes 36 elements, one for each of 36
 * products, and 36 elements become 4 x 4 pixels.
 */
#include "ep/cpu/simd/levels.h"
#include "ep/cpu/simd/vector_math.h"

enum { IN = 6, OUT = 4, KERNEL = 3 };

/* G g */
INLINED void transform_kernel(const vf g[KERNEL], vf u[IN])
{
    const vf even = g[0] + g[2], wide = 0.25f * g[0] + g[2];
    u[0] = 0.25f * g[0];
    u[1] = -(even + g[1]) / 6.0f;
    u[2] = -(even - g[1]) / 6.0f;
    u[3] = (wide + 0.5f * g[1]) / 6.0f;
    u[4] = (wide - 0.5f * g[1]) / 6.0f;
    u[5] = g[2];
}

void LEVEL_NAME(onnxd_simd_winograd_weights)(const float *kernels, size_t stride, size_t columns,
                                             float *out, size_t matrix)
{
    enum { ELEMENTS = KERNEL * KERNEL };
    float elements[ELEMENTS][TILE_COLUMNS] = {{0}};
    for (size_t j = 0; j < columns; j++)
        for (size_t i = 0; i < ELEMENTS; i++)
            elements[i][j] = kernels[j * stride + i];
    for (size_t j = 0; j < TILE_COLUMNS; j += LANES) {
        vf rows[KERNEL][IN];
        for (size_t y = 0; y < KERNEL; y++) {
            const vf g[KERNEL] = {vf_load(elements[y * KERNEL] + j),
                                  vf_load(elements[y * KERNEL + 1] + j),
                                  vf_load(elements[y * KERNEL + 2] + j)};
            transform_kernel(g, rows[y]);
        }
        for (size_t x = 0; x < IN; x++) {
            const vf g[KERNEL] = {rows[0][x], rows[1][x], rows[2][x]};
            vf u[IN];
            transform_kernel(g, u);
            for (size_t y = 0; y < IN; y++)
                vf_store(out + (y * IN + x) * matrix + j, u[y]);
        }
    }
}

/* B^T d */
INLINED void transform_in(const vf d[IN], vf t[IN])
{
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
INLINED void transform_out(const vf m[IN], vf y[OUT])
{
    const vf a = m[1] + m[2], b = m[1] - m[2], c = m[3] + m[4], e = m[3] - m[4];
    y[0] = m[0] + a + c;
    y[1] = b + 2.0f * e;
    y[2] = a + 4.0f * c;
    y[3] = b + 8.0f * e + m[5];
}

INLINED void tile_in(const float *const *pixels, size_t at, const size_t lanes, float *out,
                     size_t matrix)
{
    vf rows[IN][IN];
    for (size_t y = 0; y < IN; y++) {
        vf d[IN];
        UNROLLED
        for (size_t x = 0; x < IN; x++)
            d[x] = vf_load_some(pixels[y * IN + x] + at, lanes);
        transform_in(d, rows[y]);
    }
    for (size_t x = 0; x < IN; x++) {
        vf d[IN], t[IN];
        UNROLLED
        for (size_t y = 0; y < IN; y++)
            d[y] = rows[y][x];
        transform_in(d, t);
        UNROLLED
        for (size_t y = 0; y < IN; y++)
            vf_store_some(out + (y * IN + x) * matrix + at, t[y], lanes);
    }
}

void LEVEL_NAME(onnxd_simd_winograd_in)(const float *const *pixels, size_t channels, float *out,
                                        size_t matrix)
{
    size_t at = 0;
    for (; at + LANES <= channels; at += LANES)
        tile_in(pixels, at, LANES, out, matrix);
    if (at < channels)
        tile_in(pixels, at, channels - at, out, matrix);
}

INLINED void tile_out(const onnxd_simd_winograd_out *o, size_t at, const size_t lanes)
{
    vf columns[IN][OUT];
    const vf bias = o->post.bias == NULL ? vf_all(0) : vf_load_some(o->post.bias + at, lanes);
    for (size_t x = 0; x < IN; x++) {
        vf m[IN];
        UNROLLED
        for (size_t y = 0; y < IN; y++)
            m[y] = vf_load_some(o->in + (y * IN + x) * o->matrix + at, lanes);
        transform_out(m, columns[x]);
    }
    for (size_t y = 0; y < o->rows; y++) {
        vf m[IN], result[OUT];
        UNROLLED
        for (size_t x = 0; x < IN; x++)
            m[x] = columns[x][y];
        transform_out(m, result);
        for (size_t x = 0; x < o->columns; x++) {
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

void LEVEL_NAME(onnxd_simd_winograd_out)(const onnxd_simd_winograd_out *tile, size_t maps)
{
    size_t at = 0;
    for (; at + LANES <= maps; at += LANES)
        tile_out(tile, at, LANES);
    if (at < maps)
        tile_out(tile, at, maps - at);
}
