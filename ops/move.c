#include "ops/move.h"

#include <string.h>

#include "ops/types.h"

/* Edge of the square that a transposing copy works on. Its rows may lie a power of two apart, where
 * few lines of them fit into the cache together. */
#define TILE 8

typedef struct plane {
    size_t rows, columns;
    int64_t destination_row, destination_column; /* strides */
    int64_t source_row, source_column;
} plane;

#define DEFINE_MOVES(bytes, T)                                                                     \
    static void move_row_##bytes(void *destination, const void *source, size_t count,              \
                                 int64_t destination_step, int64_t source_step)                    \
    {                                                                                              \
        T *to = destination;                                                                       \
        const T *from = source;                                                                    \
        ONNXD_VECTORIZE                                                                            \
        for (int64_t i = 0; i < (int64_t)count; i++)                                               \
            to[i * destination_step] = from[i * source_step];                                      \
    }                                                                                              \
    static void fill_##bytes(void *destination, const void *value, size_t count)                   \
    {                                                                                              \
        T *to = destination;                                                                       \
        const T element = *(const T *)value;                                                       \
        ONNXD_VECTORIZE                                                                            \
        for (size_t i = 0; i < count; i++)                                                         \
            to[i] = element;                                                                       \
    }                                                                                              \
    static void move_tile_##bytes(const plane *p, void *destination, const void *source,           \
                                  size_t first_row, size_t first_column)                           \
    {                                                                                              \
        size_t end_row = first_row + TILE < p->rows ? first_row + TILE : p->rows;                  \
        size_t end_column = first_column + TILE < p->columns ? first_column + TILE : p->columns;   \
        for (size_t row = first_row; row < end_row; row++) {                                       \
            T *to = (T *)destination + (int64_t)row * p->destination_row;                          \
            const T *from = (const T *)source + (int64_t)row * p->source_row;                      \
            for (size_t column = first_column; column < end_column; column++)                      \
                to[(int64_t)column * p->destination_column] =                                      \
                    from[(int64_t)column * p->source_column];                                      \
        }                                                                                          \
    }
ONNXD_EACH_SIZE(DEFINE_MOVES)
#undef DEFINE_MOVES

typedef struct moves {
    void (*row)(void *destination, const void *source, size_t count, int64_t destination_step,
                int64_t source_step);
    void (*fill)(void *destination, const void *value, size_t count);
    void (*tile)(const plane *p, void *destination, const void *source, size_t first_row,
                 size_t first_column);
} moves;

/* One entry for each power of two, in order. */
static const moves *moves_of(size_t element_bytes)
{
#define DEFINE_TABLE(bytes, T) {move_row_##bytes, fill_##bytes, move_tile_##bytes},
    static const moves table[] = {ONNXD_EACH_SIZE(DEFINE_TABLE)};
#undef DEFINE_TABLE
    return &table[__builtin_ctzll(element_bytes)];
}

void onnxd_fill(void *destination, size_t count, size_t element_bytes, const void *value)
{
    if (count != 0)
        moves_of(element_bytes)->fill(destination, value, count);
}

static void move_plane(const moves *move, const plane *p, void *destination, const void *source)
{
    for (size_t row = 0; row < p->rows; row += TILE)
        for (size_t column = 0; column < p->columns; column += TILE)
            move->tile(p, destination, source, row, column);
}

/* The two last dimensions as a plane, when reading along rows would jump and reading along columns
 * would not. */
static bool is_transposing(const onnxd_loop *loop)
{
    int32_t last = loop->rank - 1;
    return loop->rank >= 2 && loop->strides[1][last] != 1 && loop->strides[1][last] != 0 &&
           loop->strides[1][last - 1] == 1 && loop->dims[last - 1] > 1;
}

static void move_planes(const onnxd_loop *loop, size_t element_bytes, char *destination,
                        const char *source)
{
    int32_t last = loop->rank - 1;
    plane p = {.rows = loop->dims[last - 1],
               .columns = loop->dims[last],
               .destination_row = loop->strides[0][last - 1],
               .destination_column = loop->strides[0][last],
               .source_row = loop->strides[1][last - 1],
               .source_column = loop->strides[1][last]};
    onnxd_loop outer = *loop;
    outer.rank = last;
    outer.dims[last - 1] = 1; /* the row of the outer loop is the plane */
    const moves *move = moves_of(element_bytes);
    onnxd_loop_cursor cursor;
    if (!onnxd_loop_begin(loop, &cursor))
        return;
    do
        move_plane(move, &p, destination + cursor.offsets[0] * (int64_t)element_bytes,
                   source + cursor.offsets[1] * (int64_t)element_bytes);
    while (onnxd_loop_next(&outer, &cursor));
}

void onnxd_move(const onnxd_loop *loop, size_t element_bytes, void *destination, const void *source)
{
    char *to = destination;
    const char *from = source;
    if (is_transposing(loop)) {
        move_planes(loop, element_bytes, to, from);
        return;
    }
    const moves *move = moves_of(element_bytes);
    int64_t width = (int64_t)element_bytes;
    int64_t to_step = onnxd_loop_step(loop, 0), from_step = onnxd_loop_step(loop, 1);
    size_t row = onnxd_loop_row(loop);
    onnxd_loop_cursor cursor;
    if (!onnxd_loop_begin(loop, &cursor))
        return;
    do {
        char *row_to = to + cursor.offsets[0] * width;
        const char *row_from = from + cursor.offsets[1] * width;
        if (to_step == 1 && from_step == 1)
            memcpy(row_to, row_from, row * element_bytes);
        else if (to_step == 1 && from_step == 0)
            move->fill(row_to, row_from, row);
        else
            move->row(row_to, row_from, row, to_step, from_step);
    } while (onnxd_loop_next(loop, &cursor));
}

void onnxd_move_contiguous(const onnxd_shape *out, const int64_t *source_strides,
                           size_t element_bytes, void *destination, const void *source)
{
    int64_t strides[2][ONNXD_LOOP_MAX_RANK] = {{0}};
    onnxd_strides_of(out, strides[0]);
    for (int32_t i = 0; i < out->rank; i++)
        strides[1][i] = source_strides[i];
    onnxd_loop loop;
    onnxd_loop_init(&loop, out->rank, out->dims, 2, (const int64_t(*)[ONNXD_LOOP_MAX_RANK])strides);
    onnxd_move(&loop, element_bytes, destination, source);
}
