#include "ep/cpu/compute/pieces.h"

/* Fewer weights than this come fast enough for every thread to read them all: then pieces of one
 * block, whose rows are found once, are better. */
#define FAR_BYTES 524288.0

static size_t divide_up(size_t count, size_t by)
{
    return (count + by - 1) / by;
}

/* As few blocks as can be, or, so that no thread gets one more than another, a multiple of the
 * threads. A block then has many rows wherever there are more than one of them: how few rows are
 * summed differs from how many are, and must not depend on the threads. */
static size_t blocks_of(size_t rows, uint32_t threads)
{
    const size_t blocks = divide_up(rows, ONNXD_BLOCK_ROWS);
    return blocks < threads ? blocks : divide_up(blocks, threads) * threads;
}

onnxd_product_pieces onnxd_product_cut(const onnxd_simd *simd, const onnxd_product_extent *extent,
                                       uint32_t threads)
{
    onnxd_product_pieces p = {.extent = *extent,
                              .width = simd->tile_columns,
                              .panels = divide_up(extent->columns, simd->tile_columns),
                              .tile_rows = simd->tile_rows,
                              .tiles = divide_up(extent->rows, simd->tile_rows)};
    /* Either all threads read all of the weights, or all of them the rows: what is less. */
    p.is_by_parts = threads > 1 && extent->groups == 1 && p.panels >= threads &&
                    extent->weight_bytes >= FAR_BYTES && extent->weight_bytes > extent->row_bytes;
    p.blocks = blocks_of(extent->rows, p.is_by_parts ? 1 : threads);
    size_t parts = onnxd_pieces_wanted(threads) / (p.blocks * extent->groups);
    if (p.is_by_parts && parts < threads)
        parts = threads;
    p.parts = parts < 1 ? 1 : parts > p.panels ? p.panels : parts;
    p.count = p.blocks * extent->groups * p.parts;
    return p;
}

onnxd_product_piece onnxd_product_piece_at(const onnxd_product_pieces *p, size_t index)
{
    const size_t block_pieces = p->extent.groups * p->parts;
    const size_t part = p->is_by_parts ? index / p->blocks : index % p->parts;
    const size_t block = p->is_by_parts ? index % p->blocks : index / block_pieces;
    const size_t column = part * p->panels / p->parts * p->width;
    const size_t end = (part + 1) * p->panels / p->parts * p->width;
    const size_t row = block * p->tiles / p->blocks * p->tile_rows;
    const size_t row_end = (block + 1) * p->tiles / p->blocks * p->tile_rows;
    return (onnxd_product_piece){
        .first_row = row,
        .rows = (uint32_t)((row_end < p->extent.rows ? row_end : p->extent.rows) - row),
        /* All groups of a block one after the other: they read the same pixels. */
        .group = p->is_by_parts ? 0 : index % block_pieces / p->parts,
        .column = column,
        .columns = (end < p->extent.columns ? end : p->extent.columns) - column,
    };
}
