#include "ep/cpu/compute/integer_product.h"
#include "ep/cpu/compute/pieces.h"

#include <string.h>

#include "base/size_math.h"

/* Steps of the depth that are worked on together: as many as let a panel's part of them, widened,
 * stay in the first-level cache while all rows of the block pass by. */
#define BLOCK_STEPS ((size_t)256)
/* Multiplications, and elements, that are worth waking the team for. */
#define TEAM_WORK 131072.0
#define TEAM_ELEMENTS ((size_t)32768)

/* ---- packing --------------------------------------------------------------------------------- */

static size_t joined_of(const onnxd_integer_matrix *b)
{
    return b->joined == 0 ? 1 : b->joined;
}

size_t onnxd_integer_steps(const onnxd_integer_matrix *b)
{
    const size_t depth = joined_of(b) * b->depth;
    return depth / b->step + (depth % b->step != 0);
}

bool onnxd_integer_padded_columns(const onnxd_simd *simd, size_t columns, size_t *out_columns)
{
    if (!onnxd_size_add(columns, simd->tile_columns - 1, out_columns))
        return false;
    *out_columns -= *out_columns % simd->tile_columns;
    return true;
}

/* Of a panel of fours, where the level needs marks. */
static size_t marks_bytes(const onnxd_simd *simd, uint8_t step, size_t taps, size_t steps)
{
    const bool has_marks = step == ONNXD_FOUR && !simd->takes_any_bytes;
    const size_t bytes = has_marks ? taps * (steps / 2) : 0;
    return (bytes + ONNXD_PACKED_ALIGNMENT - 1) / ONNXD_PACKED_ALIGNMENT * ONNXD_PACKED_ALIGNMENT;
}

static size_t panel_bytes(const onnxd_simd *simd, uint8_t step, size_t taps, size_t steps)
{
    return marks_bytes(simd, step, taps, steps) + taps * steps * step * simd->tile_columns;
}

bool onnxd_integer_packed_bytes(const onnxd_simd *simd, const onnxd_integer_matrix *b,
                                size_t *out_bytes)
{
    size_t bytes, columns;
    /* More than a panel takes, whatever its step. */
    if (!onnxd_size_add(b->depth, (size_t)2 * ONNXD_FOUR, &bytes) ||
        !onnxd_size_mul(b->taps, bytes, &bytes) ||
        !onnxd_size_add(bytes, ONNXD_PACKED_ALIGNMENT, &bytes) ||
        !onnxd_integer_padded_columns(simd, b->columns, &columns) ||
        !onnxd_size_mul(bytes, columns, &bytes) || bytes > SIZE_MAX / 2)
        return false;
    *out_bytes = columns / simd->tile_columns *
                 panel_bytes(simd, b->step, b->taps / joined_of(b), onnxd_integer_steps(b));
    return true;
}

static int8_t element_of(const onnxd_integer_matrix *b, size_t tap, size_t step, size_t column)
{
    const uint8_t byte =
        b->data[tap * b->tap_stride + step * b->step_stride + column * b->column_stride];
    return (int8_t)(byte ^ b->flip);
}

/* Columns [column, column + count) of a panel, `to` that of the first. */
static void pack_columns(const onnxd_integer_matrix *b, size_t column, size_t count, size_t width,
                         int8_t *to)
{
    /* A copy: bytes that are stored could otherwise be its members. */
    const onnxd_integer_matrix m = *b;
    const size_t joined = joined_of(b);
    size_t within = 0; /* elements of the step that are there */
    for (size_t t = 0; t < m.taps; t++) {
        for (size_t k = 0; k < m.depth; k++) {
            for (size_t j = 0; j < count; j++)
                to[j * m.step + within] = element_of(&m, t, k, column + j);
            if (++within == m.step) {
                within = 0;
                to += m.step * width;
            }
        }
        if ((t + 1) % joined == 0 && within > 0) {
            within = 0;
            to += m.step * width;
        }
    }
}

/* Along what lies side by side in B. */
static void pack_panel(const onnxd_integer_matrix *b, size_t column, size_t width, int8_t *packed)
{
    const size_t left = b->columns - column, count = left < width ? left : width;
    if (b->column_stride <= b->step_stride) {
        pack_columns(b, column, count, width, packed);
        return;
    }
    for (size_t j = 0; j < count; j++)
        pack_columns(b, column + j, 1, width, packed + j * b->step);
}

/* What of weights with one sign 255 can be multiplied by within 16 bits. */
#define MOST_ABOVE (INT16_MAX / UINT8_MAX)
#define MOST_BELOW (INT16_MIN / UINT8_MAX)

/* Whether, of each column, products of one half of both steps with any bytes of A have a sum of 16
 * bits. Without a way out of the loop, which is to be vector code. */
static bool can_mark(const int8_t *steps, size_t width)
{
    const int8_t *next = steps + ONNXD_FOUR * width;
    int worst_above = 0, worst_below = 0;
    for (size_t i = 0; i < ONNXD_FOUR * width; i += 2) {
        const int w[4] = {steps[i], steps[i + 1], next[i], next[i + 1]};
        int above = 0, below = 0;
        for (size_t k = 0; k < 4; k++) {
            above += w[k] > 0 ? w[k] : 0;
            below += w[k] < 0 ? w[k] : 0;
        }
        worst_above = above > worst_above ? above : worst_above;
        worst_below = below < worst_below ? below : worst_below;
    }
    return worst_above <= MOST_ABOVE && worst_below >= MOST_BELOW;
}

/* The weights stand behind the marks, `marks_size` bytes. */
static void mark_panel(int8_t *panel, size_t marks_size, size_t taps, size_t steps, size_t width)
{
    const int8_t *packed = panel + marks_size;
    bool *marks = (bool *)(void *)panel;
    for (size_t t = 0; t < taps; t++)
        for (size_t k = 0; k < steps / 2; k++)
            *marks++ = can_mark(packed + (t * steps + 2 * k) * ONNXD_FOUR * width, width);
}

void onnxd_integer_pack(const onnxd_simd *simd, const onnxd_integer_matrix *b, int8_t *packed)
{
    size_t bytes = 0;
    if (!onnxd_integer_packed_bytes(simd, b, &bytes))
        return;
    const size_t taps = b->taps / joined_of(b), steps = onnxd_integer_steps(b);
    const size_t width = simd->tile_columns, marks = marks_bytes(simd, b->step, taps, steps);
    memset(packed, 0, bytes);
    for (size_t j = 0; j < b->columns; j += width) {
        pack_panel(b, j, width, packed + marks);
        if (marks > 0)
            mark_panel(packed, marks, taps, steps, width);
        packed += panel_bytes(simd, b->step, taps, steps);
    }
}

/* Whether products with two bytes of A, each up to 255, have a sum of 16 bits. */
static bool fits_pair(int first, int second)
{
    const int above = (first > 0 ? first : 0) + (second > 0 ? second : 0);
    const int below = (first < 0 ? first : 0) + (second < 0 ? second : 0);
    return above <= MOST_ABOVE && below >= MOST_BELOW;
}

/* Two of at most this magnitude always fit. */
#define ALWAYS_FITS 64

/* In the order of memory: most matrices that fit are of 7 bits, and need no search. */
static bool is_small(const onnxd_integer_matrix *b)
{
    const size_t count = b->taps * b->depth * b->columns;
    bool is_so = true;
    for (size_t i = 0; i < count; i++) {
        const int8_t element = (int8_t)(b->data[i] ^ b->flip);
        is_so = is_so & (element <= ALWAYS_FITS) & (element >= -ALWAYS_FITS);
    }
    return is_so;
}

bool onnxd_integer_fits_fours(const onnxd_simd *simd, const onnxd_integer_matrix *b)
{
    if (simd->byte_product == NULL)
        return false;
    if (simd->takes_any_bytes || is_small(b))
        return true;
    for (size_t j = 0; j < b->columns; j++) {
        int8_t first = 0;
        size_t at = 0;
        for (size_t t = 0; t < b->taps; t++) {
            at = t % joined_of(b) == 0 ? 0 : at;
            for (size_t k = 0; k < b->depth; k++, at++) {
                const int8_t element = element_of(b, t, k, j);
                if (at % 2 == 0)
                    first = element;
                else if (!fits_pair(first, element))
                    return false;
            }
        }
    }
    return true;
}

void onnxd_integer_sum_columns(const onnxd_integer_matrix *b, int32_t *sums)
{
    for (size_t j = 0; j < b->columns; j++) {
        int64_t sum = 0;
        for (size_t t = 0; t < b->taps; t++)
            for (size_t k = 0; k < b->depth; k++)
                sum += element_of(b, t, k, j);
        sums[j] = (int32_t)(uint32_t)sum;
    }
}

/* ---- a block --------------------------------------------------------------------------------- */

/* What a panel is worked on with. */
typedef struct panel {
    const onnxd_simd *simd;
    const onnxd_integer_block *block;
    const bool *marks;
    const int8_t *packed;
    const int8_t *end, *next; /* of this panel, and what is read then; NULL: nothing */
    bool is_far;              /* as onnxd_product_is_far() has it */
    const int16_t *zeros;
    int16_t unpacked[2 * BLOCK_STEPS * ONNXD_SIMD_MAX_COLUMNS] __attribute__((aligned(64)));
    int32_t sums[ONNXD_BLOCK_ROWS * ONNXD_SIMD_MAX_COLUMNS] __attribute__((aligned(64)));
} panel;

/* Adds the products of the next steps of the panel: `taps` taps from `tap` on, of each the steps
 * [first, first + steps). */
static void add_pairs(panel *p, size_t tap, size_t taps, size_t first, size_t steps)
{
    const int16_t *rows[ONNXD_BLOCK_ROWS];
    const onnxd_integer_block *block = p->block;
    onnxd_simd_integer_tile tile = {.a = block->pairs + tap * ONNXD_BLOCK_ROWS,
                                    .a_stride = ONNXD_BLOCK_ROWS,
                                    .taps = taps,
                                    .pairs = steps,
                                    .b = p->unpacked,
                                    .c = p->sums,
                                    .rows = block->rows,
                                    .is_continued = tap > 0 || first > 0};
    for (uint32_t i = 0; first > 0 && i < block->rows; i++)
        rows[i] = tile.a[i] + ONNXD_PAIR * first;
    if (first > 0)
        tile.a = rows;
    p->simd->integer_unpack(p->packed, taps * steps, p->zeros, p->unpacked);
    p->simd->integer_product(&tile);
}

/* What is read after the next `steps` fours of the panel, if it has to be fetched. */
static const int8_t *read_after(const panel *p, size_t steps)
{
    const int8_t *after = p->packed + steps * ONNXD_FOUR * p->simd->tile_columns;
    if (!p->is_far)
        return NULL;
    return after < p->end ? after : p->next;
}

static void add_fours(panel *p, size_t tap, size_t taps, size_t first, size_t steps)
{
    const uint8_t *rows[ONNXD_BLOCK_ROWS];
    const onnxd_integer_block *block = p->block;
    onnxd_simd_byte_tile tile = {.a = block->fours + tap * ONNXD_BLOCK_ROWS,
                                 .a_stride = ONNXD_BLOCK_ROWS,
                                 .taps = taps,
                                 .steps = steps,
                                 .b = p->packed,
                                 .b_next = read_after(p, taps * steps),
                                 .marks = p->marks,
                                 .c = p->sums,
                                 .rows = block->rows,
                                 .is_continued = tap > 0 || first > 0};
    for (uint32_t i = 0; first > 0 && i < block->rows; i++)
        rows[i] = tile.a[i] + ONNXD_FOUR * first;
    if (first > 0)
        tile.a = rows;
    p->marks += taps * (steps / 2);
    p->simd->byte_product(&tile);
}

static void add_steps(panel *p, size_t tap, size_t taps, size_t first, size_t steps)
{
    const bool is_fours = p->block->fours != NULL;
    if (is_fours)
        add_fours(p, tap, taps, first, steps);
    else
        add_pairs(p, tap, taps, first, steps);
    p->packed += taps * steps * (is_fours ? ONNXD_FOUR : ONNXD_PAIR) * p->simd->tile_columns;
}

/* Whole taps, as many as fit. */
static void multiply_by_taps(panel *p)
{
    const onnxd_integer_block *block = p->block;
    const size_t fitting = BLOCK_STEPS / block->steps;
    for (size_t t = 0; t < block->taps; t += fitting)
        add_steps(p, t, block->taps - t < fitting ? block->taps - t : fitting, 0, block->steps);
}

/* Each tap in pieces of about equal length. */
static void multiply_by_steps(panel *p)
{
    const onnxd_integer_block *block = p->block;
    const size_t pieces = (block->steps + BLOCK_STEPS - 1) / BLOCK_STEPS;
    size_t steps = (block->steps + pieces - 1) / pieces;
    /* Marks are of two steps. */
    steps += steps % 2;
    for (size_t t = 0; t < block->taps; t++)
        for (size_t k = 0; k < block->steps; k += steps)
            add_steps(p, t, 1, k, block->steps - k < steps ? block->steps - k : steps);
}

static void store(const panel *p, size_t column)
{
    static const size_t sizes[] = {sizeof(int32_t), sizeof(float), 1};
    const onnxd_integer_block *block = p->block;
    const size_t left = block->first_column + block->columns - column;
    onnxd_simd_integer_post post = block->post;
    post.addends = post.addends == NULL ? NULL : post.addends + column;
    post.factors = post.factors == NULL ? NULL : post.factors + column;
    post.bias = post.bias == NULL ? NULL : post.bias + column;
    post.other.rows = post.other.rows == NULL ? NULL : post.other.rows + column;
    p->simd->integer_store(&post, p->sums, block->rows,
                           left < p->simd->tile_columns ? left : p->simd->tile_columns,
                           (char *)block->out + column * sizes[post.kind], block->out_stride);
}

void onnxd_integer_block_run(const onnxd_simd *simd, const onnxd_integer_block *block)
{
    panel p;
    const size_t end = block->first_column + block->columns;
    const uint8_t step = block->fours != NULL ? ONNXD_FOUR : ONNXD_PAIR;
    const size_t steps = block->taps * block->steps;
    const size_t marks = marks_bytes(simd, step, block->taps, block->steps);
    p.simd = simd;
    p.block = block;
    p.is_far = onnxd_product_is_far(steps, block->columns);
    for (size_t j = block->first_column; j < end; j += simd->tile_columns) {
        const int8_t *first =
            block->packed +
            j / simd->tile_columns * panel_bytes(simd, step, block->taps, block->steps);
        p.marks = (const bool *)(const void *)first;
        p.packed = first + marks;
        p.end = p.packed + steps * step * simd->tile_columns;
        p.next = end - j > simd->tile_columns ? p.end + marks : NULL;
        p.zeros = block->zeros == NULL ? NULL : block->zeros + 2 * j;
        if (steps == 0)
            memset(p.sums, 0, sizeof(p.sums));
        else if (block->steps <= BLOCK_STEPS)
            multiply_by_taps(&p);
        else
            multiply_by_steps(&p);
        store(&p, j);
    }
}

/* ---- a product ------------------------------------------------------------------------------- */

typedef struct dense_run {
    const onnxd_integer_dense *dense;
    onnxd_product_pieces pieces;
} dense_run;

static void run_piece(void *context, size_t index, uint32_t worker)
{
    static const size_t sizes[] = {sizeof(int32_t), sizeof(float), 1};
    const dense_run *run = context;
    const onnxd_integer_dense *d = run->dense;
    const onnxd_product_piece piece = onnxd_product_piece_at(&run->pieces, index);
    const size_t first = piece.first_row;
    const int16_t *pairs[ONNXD_BLOCK_ROWS];
    const uint8_t *fours[ONNXD_BLOCK_ROWS];
    (void)worker;
    onnxd_integer_block block = {
        .pairs = d->pairs == NULL ? NULL : pairs,
        .fours = d->fours == NULL ? NULL : fours,
        .taps = 1,
        .steps = d->steps,
        .packed = d->packed,
        .zeros = d->zeros,
        .first_column = piece.column,
        .columns = piece.columns,
        .out = (char *)d->out + first * d->columns * sizes[d->post.kind],
        .out_stride = d->columns,
        .rows = piece.rows,
        .post = d->post,
    };
    for (uint32_t i = 0; i < block.rows; i++) {
        if (d->fours != NULL)
            fours[i] = d->fours + (first + i) * ONNXD_FOUR * d->steps;
        else
            pairs[i] = d->pairs + (first + i) * ONNXD_PAIR * d->steps;
    }
    onnxd_integer_block_run(d->simd, &block);
}

void onnxd_integer_dense_run(const onnxd_integer_dense *dense, onnxd_team *team)
{
    const double step_bytes = dense->fours != NULL ? ONNXD_FOUR : ONNXD_PAIR * sizeof(int16_t);
    const double depth_bytes = (double)dense->steps * step_bytes;
    const onnxd_product_extent extent = {.rows = dense->rows,
                                         .columns = dense->columns,
                                         .groups = 1,
                                         .weight_bytes = (double)dense->columns * depth_bytes,
                                         .row_bytes = (double)dense->rows * depth_bytes};
    if (dense->rows == 0 || dense->columns == 0)
        return;
    const bool is_large =
        (double)dense->rows * (double)dense->steps * 2 * (double)dense->columns >= TEAM_WORK;
    dense_run run = {
        .dense = dense,
        .pieces = onnxd_product_cut(dense->simd, &extent, is_large ? onnxd_team_width(team) : 1)};
    onnxd_team_run(team, run.pieces.count, run_piece, &run);
}

/* ---- widening -------------------------------------------------------------------------------- */

typedef struct widening_run {
    const onnxd_integer_widening *widening;
    size_t rows; /* of a piece */
} widening_run;

static void widen_rows(void *context, size_t index, uint32_t worker)
{
    const widening_run *run = context;
    const onnxd_integer_widening *w = run->widening;
    const size_t first = index * run->rows;
    const size_t last = w->rows - first < run->rows ? w->rows : first + run->rows;
    (void)worker;
    if (w->out_stride == w->depth) {
        w->simd->integer_widen(w->in + first * w->depth, (last - first) * w->depth, w->zero,
                               w->out + first * w->depth);
        return;
    }
    for (size_t i = first; i < last; i++) {
        int16_t *to = w->out + i * w->out_stride;
        w->simd->integer_widen(w->in + i * w->depth, w->depth, w->zero, to);
        memset(to + w->depth, 0, (w->out_stride - w->depth) * sizeof(*to));
    }
}

void onnxd_integer_widen(const onnxd_integer_widening *widening, onnxd_team *team)
{
    const size_t depth = widening->depth == 0 ? 1 : widening->depth;
    widening_run run = {.widening = widening, .rows = TEAM_ELEMENTS / depth + 1};
    if (widening->rows > 0)
        onnxd_team_run(team, (widening->rows - 1) / run.rows + 1, widen_rows, &run);
}
