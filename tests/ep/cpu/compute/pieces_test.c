/* Products cut into pieces: every element once, and about as many for every thread. */
#include "ep/cpu/compute/pieces.h"

#include <criterion/criterion.h>
#include <string.h>

#include "ep/cpu/simd/levels.h"

enum { MOST_ELEMENTS = 1 << 17 };

static const onnxd_simd *simd_of(onnxd_simd_level level)
{
    return onnxd_simd_is_available(level) ? onnxd_simd_table(level) : NULL;
}

static void expect_cover(const onnxd_simd *simd, const onnxd_product_extent *extent,
                         uint32_t threads)
{
    static uint8_t seen[MOST_ELEMENTS];
    const size_t elements = extent->rows * extent->columns * extent->groups;
    const onnxd_product_pieces pieces = onnxd_product_cut(simd, extent, threads);
    cr_assert_leq(elements, MOST_ELEMENTS);
    memset(seen, 0, elements);
    for (size_t i = 0; i < pieces.count; i++) {
        const onnxd_product_piece piece = onnxd_product_piece_at(&pieces, i);
        cr_assert(piece.rows > 0 && piece.rows <= ONNXD_BLOCK_ROWS && piece.columns > 0);
        cr_assert_eq(piece.column % simd->tile_columns, 0);
        for (size_t row = piece.first_row; row < piece.first_row + piece.rows; row++)
            for (size_t j = piece.column; j < piece.column + piece.columns; j++) {
                cr_assert(row < extent->rows && j < extent->columns &&
                          piece.group < extent->groups);
                seen[(row * extent->groups + piece.group) * extent->columns + j]++;
            }
    }
    for (size_t i = 0; i < elements; i++)
        cr_assert_eq(seen[i], 1, "%zu x %zu in %zu groups on %u threads: element %zu %u times",
                     extent->rows, extent->columns, extent->groups, threads, i, seen[i]);
}

Test(pieces, every_element_is_in_one_piece)
{
    static const size_t rows[] = {1, 7, 49, 96, 97, 196, 392}, columns[] = {1, 31, 64, 100, 257};
    static const uint32_t threads[] = {1, 2, 3, 16};
    for (int level = 0; level < ONNXD_SIMD_LEVEL_COUNT; level++) {
        const onnxd_simd *simd = simd_of((onnxd_simd_level)level);
        for (size_t i = 0; i < 7 * 5 * 4 * 3 && simd != NULL; i++) {
            const bool is_far = i % 3 == 0;
            const onnxd_product_extent extent = {.rows = rows[i / 3 % 7],
                                                 .columns = columns[i / 21 % 5],
                                                 .groups = i % 3 == 1 ? 1 : 1 + i % 2,
                                                 .weight_bytes = is_far ? 1e9 : 1e3,
                                                 .row_bytes = 1e4};
            if (extent.rows * extent.columns * extent.groups <= MOST_ELEMENTS)
                expect_cover(simd, &extent, threads[i / 105]);
        }
    }
}

/* Blocks hold whole tiles but for the last one, and none has few rows beside others. */
static void expect_even_blocks(const onnxd_simd *simd, size_t rows, uint32_t threads)
{
    const onnxd_product_extent extent = {rows, 1, 1, 0, 0};
    const onnxd_product_pieces pieces = onnxd_product_cut(simd, &extent, threads);
    cr_assert_geq(pieces.count, (rows + ONNXD_BLOCK_ROWS - 1) / ONNXD_BLOCK_ROWS);
    for (size_t i = 0; i < pieces.count; i++) {
        const onnxd_product_piece piece = onnxd_product_piece_at(&pieces, i);
        cr_assert(i + 1 == pieces.count || piece.rows % simd->tile_rows == 0);
        cr_assert(pieces.count == 1 || piece.rows > simd->tile_rows,
                  "%zu rows on %u threads: block %zu has %u", rows, threads, i, piece.rows);
    }
}

Test(pieces, blocks_are_even_whatever_the_threads)
{
    for (int level = 0; level < ONNXD_SIMD_LEVEL_COUNT; level++) {
        const onnxd_simd *simd = simd_of((onnxd_simd_level)level);
        for (size_t rows = 1; rows <= 1000 && simd != NULL; rows++)
            for (uint32_t threads = 1; threads <= 17; threads++)
                expect_even_blocks(simd, rows, threads);
    }
}

/* Elements of the pieces that a thread begins with, of the most and of the mean. */
static double imbalance(const onnxd_product_pieces *pieces, uint32_t threads)
{
    double most = 0, all = 0;
    for (uint32_t t = 0; t < threads; t++) {
        double own = 0;
        for (size_t i = t * pieces->count / threads; i < (t + 1) * pieces->count / threads; i++) {
            const onnxd_product_piece piece = onnxd_product_piece_at(pieces, i);
            own += (double)piece.rows * (double)piece.columns;
        }
        all += own;
        most = own > most ? own : most;
    }
    return most * threads / all;
}

/* Layers of a ResNet-50, whose pixels and maps are not multiples of what a piece has. */
Test(pieces, two_threads_have_about_the_same)
{
    static const onnxd_product_extent layers[] = {
        {784, 512, 1, 262144, 401408},   {196, 256, 1, 1048576, 802816},
        {196, 1024, 1, 1048576, 200704}, {49, 512, 1, 9437184, 100352},
        {49, 2048, 1, 4194304, 100352},  {392, 512, 1, 262144, 200704},
    };
    const onnxd_simd *simd = onnxd_simd_table(onnxd_simd_best());
    for (size_t i = 0; i < sizeof(layers) / sizeof(layers[0]); i++) {
        const onnxd_product_pieces pieces = onnxd_product_cut(simd, &layers[i], 2);
        cr_expect_lt(imbalance(&pieces, 2), 1.08, "layer %zu: %g", i, imbalance(&pieces, 2));
    }
}

Test(pieces, many_weights_are_read_by_one_thread_each)
{
    const onnxd_product_extent far = {196, 1024, 1, 1048576, 200704};
    const onnxd_product_extent near = {196, 256, 1, 65536, 50176};
    const onnxd_simd *simd = onnxd_simd_table(onnxd_simd_best());
    const onnxd_product_pieces by_parts = onnxd_product_cut(simd, &far, 2);
    const onnxd_product_piece first = onnxd_product_piece_at(&by_parts, 0);
    const onnxd_product_piece last = onnxd_product_piece_at(&by_parts, by_parts.count / 2 - 1);
    cr_expect(by_parts.is_by_parts);
    cr_expect_leq(last.column + last.columns, 512);
    cr_expect_eq(first.column, 0);
    cr_expect_not(onnxd_product_cut(simd, &near, 2).is_by_parts);
    cr_expect_not(onnxd_product_cut(simd, &far, 1).is_by_parts);
}
