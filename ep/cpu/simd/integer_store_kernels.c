/* What becomes of the sums of a tile of integers. */
#include "ep/cpu/simd/integer_vector.h"
#include "ep/cpu/simd/levels.h"

INLINED void store_sums(const int32_t *sums, vi addend, size_t rows, size_t count, int32_t *out,
                        size_t stride)
{
    for (size_t i = 0; i < rows; i++) {
        const vi v = vi_add(vi_load(sums + i * TILE_COLUMNS), addend);
        vf_store_some((float *)(void *)(out + i * stride), (vf)v, count);
    }
}

INLINED void store_reals(const int32_t *sums, vi addend, vf factor, vf bias, size_t rows,
                         size_t count, float *out, size_t stride)
{
    for (size_t i = 0; i < rows; i++) {
        const vi v = vi_add(vi_load(sums + i * TILE_COLUMNS), addend);
        vf_store_some(out + i * stride, __builtin_convertvector(v, vf) * factor + bias, count);
    }
}

/* ---- bytes ----------------------------------------------------------------------------------- */

/* A vector of the result, rounded as it would be if it were stored, and what is added to it. */
INLINED vf add_bytes(vf product, vb bytes, const onnxd_simd_range *range,
                     const onnxd_simd_byte_addend *other)
{
    const vf own = __builtin_convertvector(vf_to_nearest(vf_limit(product, range)), vf);
    const vf added = __builtin_convertvector(vi_less_zero(bytes, other->zero), vf);
    return own * other->own_factor + added * other->factor;
}

/* How the columns of a vector become bytes. `adds`: there is another image. */
typedef struct byte_store {
    vi addend;
    vf factor;
    onnxd_simd_range range, last; /* of the product, of what is stored */
    onnxd_simd_byte_addend other;
} byte_store;

/* The number to round, of a row's sums. */
INLINED vf value_of(const byte_store *s, const bool adds, const int32_t *sums, size_t row,
                    size_t count)
{
    const vi v = vi_add(vi_load(sums + row * TILE_COLUMNS), s->addend);
    const vf product = __builtin_convertvector(v, vf) * s->factor;
    if (!adds)
        return product;
    return add_bytes(product, vb_load_some(s->other.rows + row * s->other.stride, count), &s->range,
                     &s->other);
}

/* Rows from `first` on. */
INLINED void store_column(const byte_store *s, const bool adds, const int32_t *sums, size_t first,
                          size_t rows, const size_t count, uint8_t *out, size_t stride)
{
    for (size_t i = first; i < rows; i++)
        vb_store_some(out + i * stride, vf_quantize(value_of(s, adds, sums, i, count), &s->last),
                      count);
}

#if defined(__AVX2__)

/* Two rows of all columns at a time: numbers of 32 bits become bytes in pairs of vectors, by
 * instructions that keep them in the range of the type. */
INLINED void store_rows(const byte_store *s, const bool adds, const int32_t *sums, size_t rows,
                        uint8_t *out, size_t stride)
{
    size_t i = 0;
    for (; i + 2 <= rows; i += 2) {
        vf values[2][TILE_VECTORS];
        UNROLLED
        for (size_t r = 0; r < 2; r++) {
            UNROLLED
            for (size_t j = 0; j < TILE_VECTORS; j++)
                values[r][j] = value_of(&s[j], adds, sums + j * LANES, i + r, LANES);
        }
        vf_quantize_rows(values[0], values[1], &s->last, out + i * stride, stride);
    }
    UNROLLED
    for (size_t j = 0; j < TILE_VECTORS; j++)
        store_column(&s[j], adds, sums + j * LANES, i, rows, LANES, out + j * LANES, stride);
}

#else

INLINED void store_rows(const byte_store *s, const bool adds, const int32_t *sums, size_t rows,
                        uint8_t *out, size_t stride)
{
    UNROLLED
    for (size_t j = 0; j < TILE_VECTORS; j++)
        store_column(&s[j], adds, sums + j * LANES, 0, rows, LANES, out + j * LANES, stride);
}

#endif

INLINED void store_tile(const onnxd_simd_integer_post *post, const bool adds, const int32_t *sums,
                        size_t rows, size_t columns, uint8_t *out, size_t stride)
{
    byte_store s[TILE_VECTORS];
    UNROLLED
    for (size_t j = 0; j < TILE_VECTORS; j++) {
        s[j] = (byte_store){
            .addend = post->addends == NULL ? vi_all(0) : vi_load(post->addends + j * LANES),
            .factor = post->factors == NULL ? vf_all(1) : vf_load(post->factors + j * LANES),
            .range = post->range,
            .last = adds ? post->other.range : post->range,
            .other = post->other,
        };
        s[j].other.rows = adds ? post->other.rows + j * LANES : NULL;
    }
    if (columns == TILE_COLUMNS) {
        store_rows(s, adds, sums, rows, out, stride);
        return;
    }
    for (size_t j = 0; j * LANES < columns; j++)
        store_column(&s[j], adds, sums + j * LANES, 0, rows,
                     columns - j * LANES < LANES ? columns - j * LANES : LANES, out + j * LANES,
                     stride);
}

/* ---- a tile ---------------------------------------------------------------------------------- */

static void store_words(const onnxd_simd_integer_post *post, const int32_t *sums, size_t rows,
                        size_t columns, void *out, size_t out_stride)
{
    for (size_t j = 0; j < columns; j += LANES) {
        const size_t count = columns - j < LANES ? columns - j : LANES;
        const vi addend = post->addends == NULL ? vi_all(0) : vi_load(post->addends + j);
        const vf factor = post->factors == NULL ? vf_all(1) : vf_load(post->factors + j);
        const vf bias = post->bias == NULL ? vf_all(0) : vf_load(post->bias + j);
        if (post->kind == ONNXD_SIMD_SUMS)
            store_sums(sums + j, addend, rows, count, (int32_t *)out + j, out_stride);
        else
            store_reals(sums + j, addend, factor, bias, rows, count, (float *)out + j, out_stride);
    }
}

void LEVEL_NAME(onnxd_simd_integer_store)(const onnxd_simd_integer_post *post, const int32_t *sums,
                                          size_t rows, size_t columns, void *out, size_t out_stride)
{
    if (post->kind != ONNXD_SIMD_BYTES)
        store_words(post, sums, rows, columns, out, out_stride);
    else if (post->other.rows != NULL)
        store_tile(post, true, sums, rows, columns, out, out_stride);
    else
        store_tile(post, false, sums, rows, columns, out, out_stride);
}
