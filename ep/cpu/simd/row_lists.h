/*
 * Tiles of a product have a function for each count of rows, in which loops over the rows are
 * straight code: lists of these, and how rows are dealt out. For files of this folder that are
 * built per level.
 */
#ifndef ONNXD_EP_CPU_SIMD_ROW_LISTS_H
#define ONNXD_EP_CPU_SIMD_ROW_LISTS_H

#include <stddef.h>

/* X(1) ... X(count), and prefix1, ..., prefixCOUNT; count is 4, 6, 8 or 12, or a macro for it. */
#define EACH_ROWS(count, X) EACH_ROWS_OF(count, X)
#define ROWS_LIST(count, prefix) ROWS_LIST_OF(count, prefix)

#define EACH_ROWS_OF(count, X) EACH_ROWS_##count(X)
#define EACH_ROWS_4(X) X(1) X(2) X(3) X(4)
#define EACH_ROWS_6(X) EACH_ROWS_4(X) X(5) X(6)
#define EACH_ROWS_8(X) EACH_ROWS_6(X) X(7) X(8)
#define EACH_ROWS_12(X) EACH_ROWS_8(X) X(9) X(10) X(11) X(12)

#define ROWS_LIST_OF(count, prefix) ROWS_LIST_##count(prefix)
#define ROWS_LIST_4(prefix) prefix##1, prefix##2, prefix##3, prefix##4
#define ROWS_LIST_6(prefix) ROWS_LIST_4(prefix), prefix##5, prefix##6
#define ROWS_LIST_8(prefix) ROWS_LIST_6(prefix), prefix##7, prefix##8
#define ROWS_LIST_12(prefix) ROWS_LIST_8(prefix), prefix##9, prefix##10, prefix##11, prefix##12

static inline size_t row_passes_of(size_t rows, size_t most)
{
    return (rows + most - 1) / most;
}

/* Rows of the next of `passes` passes of about equally many: those of few read B faster than they
 * multiply. */
static inline size_t rows_of_pass(size_t rows_left, size_t passes)
{
    return (rows_left + passes - 1) / passes;
}

#endif
