/*
 * Tiles of the matrix product, one below the other. The sums of a tile stay in registers over the
 * whole depth: each step loads the tile's columns of B once and one element of A for each row.
 *
 * Everything is inlined into one function per count of rows, where loops over rows, vectors and
 * parts are straight code.
 */
#include "ep/cpu/simd/levels.h"
#include "ep/cpu/simd/panel_fetch.h"
#include "ep/cpu/simd/row_lists.h"
#include "ep/cpu/simd/stored_rows.h"
#include "ep/cpu/simd/vector_math.h"

typedef struct sums {
    vf of[TILE_ROWS][TILE_VECTORS];
} sums;

/* By memset() they would be memory, not registers. */
INLINED void clear(const size_t rows, sums *s)
{
    UNROLLED
    for (size_t i = 0; i < rows; i++) {
        UNROLLED
        for (size_t j = 0; j < TILE_VECTORS; j++)
            s->of[i][j] = vf_all(0);
    }
}

/* ---- the depth ------------------------------------------------------------------------------- */

INLINED void load_columns(const float *b, vf column[TILE_VECTORS])
{
    UNROLLED
    for (size_t j = 0; j < TILE_VECTORS; j++)
        column[j] = vf_load(b + j * LANES);
}

INLINED void add_row(vf element, const vf column[TILE_VECTORS], vf sums_of_row[TILE_VECTORS])
{
    UNROLLED
    for (size_t j = 0; j < TILE_VECTORS; j++)
        sums_of_row[j] += element * column[j];
}

INLINED void add_step(const float *const *a, size_t k, const float *b, const size_t rows, sums *s)
{
    vf column[TILE_VECTORS];
    load_columns(b, column);
    UNROLLED
    for (size_t i = 0; i < rows; i++)
        add_row(vf_all(a[i][k]), column, s->of[i]);
}

/* All taps, of rows that lie side by side. */
INLINED void multiply_packed(const onnxd_simd_tile *tile, size_t first, const size_t rows,
                             const bool is_fetching, panel_fetch *next, sums *s)
{
    const size_t steps = tile->taps * tile->depth;
    const float *a = tile->a_packed + first * steps, *b = tile->b;
    const float *const end = b + steps * TILE_COLUMNS;
    for (; b != end; a += TILE_ROWS, b += TILE_COLUMNS) {
        vf column[TILE_VECTORS];
        panel_fetch_step(is_fetching, next);
        panel_expect(true, b);
        load_columns(b, column);
        UNROLLED
        for (size_t i = 0; i < rows; i++)
            add_row(vf_all(a[i]), column, s->of[i]);
    }
}

INLINED void add_sums(const sums *from, const size_t rows, sums *to)
{
    UNROLLED
    for (size_t i = 0; i < rows; i++) {
        UNROLLED
        for (size_t j = 0; j < TILE_VECTORS; j++)
            to->of[i][j] += from->of[i][j];
    }
}

/* Additions to one sum wait for each other. Few rows have too few sums to fill that time, so the
 * depth is dealt out to `parts` sums of each. */
INLINED void multiply(const onnxd_simd_tile *tile, size_t first, const size_t rows,
                      const size_t parts, const bool is_fetching, panel_fetch *next, sums *s)
{
    sums part[3];
    const float *b = tile->b;
    UNROLLED
    for (size_t p = 0; p + 1 < parts; p++)
        clear(rows, &part[p]);
    for (size_t t = 0; t < tile->taps; t++) {
        const float *a[TILE_ROWS];
        size_t k = 0;
        UNROLLED
        for (size_t i = 0; i < rows; i++)
            a[i] = tile->a[t * tile->a_stride + first + i];
        for (; k + parts <= tile->depth; k += parts) {
            UNROLLED
            for (size_t p = 0; p < parts; p++, b += TILE_COLUMNS) {
                panel_fetch_step(is_fetching, next);
                panel_expect(parts == 1, b);
                add_step(a, k + p, b, rows, p == 0 ? s : &part[p - 1]);
            }
        }
        for (; parts > 1 && k < tile->depth; k++, b += TILE_COLUMNS)
            add_step(a, k, b, rows, s);
    }
    UNROLLED
    for (size_t p = 1; p < parts; p++)
        add_sums(&part[p - 1], rows, s);
}

/* ---- before and after ------------------------------------------------------------------------ */

/* What follows the product touches rows that are far apart, which the processor does not foresee.
 */
INLINED void expect_rows(const float *c, size_t c_stride, const float *residual,
                         size_t residual_stride, const size_t rows)
{
    UNROLLED
    for (size_t i = 0; i < rows; i++) {
        __builtin_prefetch(c + i * c_stride, 1);
        if (residual != NULL)
            __builtin_prefetch(residual + i * residual_stride);
    }
}

/* Lanes of vector j, of whose last vectors `last` lanes are columns. */
INLINED size_t lanes_of(size_t j, size_t last)
{
    return j + 1 == TILE_VECTORS ? last : LANES;
}

INLINED void add_rows(const float *from, size_t stride, const size_t rows, const size_t last,
                      sums *s)
{
    UNROLLED
    for (size_t i = 0; i < rows; i++) {
        UNROLLED
        for (size_t j = 0; j < TILE_VECTORS; j++)
            s->of[i][j] += vf_load_some(from + i * stride + j * LANES, lanes_of(j, last));
    }
}

INLINED void add_bias(const float *bias, const size_t rows, sums *s)
{
    vf column[TILE_VECTORS];
    load_columns(bias, column);
    UNROLLED
    for (size_t i = 0; i < rows; i++) {
        UNROLLED
        for (size_t j = 0; j < TILE_VECTORS; j++)
            s->of[i][j] += column[j];
    }
}

/* Applies `expression` to each x of the sums. */
#define EACH_SUM(expression)                                                                       \
    do {                                                                                           \
        UNROLLED                                                                                   \
        for (size_t i = 0; i < rows; i++) {                                                        \
            UNROLLED                                                                               \
            for (size_t j = 0; j < TILE_VECTORS; j++) {                                            \
                const vf x = s->of[i][j];                                                          \
                s->of[i][j] = expression;                                                          \
            }                                                                                      \
        }                                                                                          \
    } while (0)

/* Other functions than vf_is_light() are left. */
INLINED void finish(const onnxd_simd_activation *a, const size_t rows, sums *s)
{
    if (a->function == ONNXD_SIMD_RELU) {
        EACH_SUM(vf_max(vf_all(0), x));
    } else if (a->function == ONNXD_SIMD_CLIP) {
        EACH_SUM(vf_min(vf_all(a->beta), vf_max(vf_all(a->alpha), x)));
    } else if (a->function == ONNXD_SIMD_HARD_SWISH) {
        EACH_SUM(x * vf_hard_sigmoid(x, a->alpha, a->beta));
    } else if (a->function == ONNXD_SIMD_SCALED_HARD_SWISH) {
        EACH_SUM(vf_scaled_hard_swish(x, a->alpha, a->beta));
    }
}

INLINED void store(float *c, size_t stride, const size_t rows, const size_t last, const sums *s)
{
    UNROLLED
    for (size_t i = 0; i < rows; i++) {
        UNROLLED
        for (size_t j = 0; j < TILE_VECTORS; j++)
            vf_store_some(c + i * stride + j * LANES, s->of[i][j], lanes_of(j, last));
    }
}

/* All columns of a tile, of whose last vectors `last` lanes are some. Light functions are applied
 * to the sums; every other one to what was stored, so that the sums need never be in memory. */
INLINED void run(const onnxd_simd_tile *tile, size_t first, panel_fetch next, const size_t rows,
                 const size_t parts, const size_t last, const bool is_packed,
                 const bool is_fetching)
{
    const onnxd_simd_post *post = tile->post;
    const float *residual = post == NULL ? NULL : post->residual;
    float *c = tile->c + first * tile->c_stride;
    sums s;
    clear(rows, &s);
    if (residual != NULL)
        residual += first * post->residual_stride;
    expect_rows(c, tile->c_stride, residual, post == NULL ? 0 : post->residual_stride, rows);
    if (is_packed)
        multiply_packed(tile, first, rows, is_fetching, &next, &s);
    else
        multiply(tile, first, rows, parts, is_fetching, &next, &s);
    if (tile->is_continued)
        add_rows(c, tile->c_stride, rows, last, &s);
    if (post != NULL) {
        if (post->bias != NULL)
            add_bias(post->bias, rows, &s);
        if (residual != NULL)
            add_rows(residual, post->residual_stride, rows, last, &s);
        finish(&post->activation, rows, &s);
    }
    store(c, tile->c_stride, rows, last, &s);
}

/* ---- by rows --------------------------------------------------------------------------------- */

typedef void (*tile_function)(const onnxd_simd_tile *tile, size_t first, panel_fetch next);

/* Each case apart: what it does not need takes no register from its loop. */
#define ROWS_CASE(name, rows, parts, last, is_packed, is_fetching)                                 \
    static void name(const onnxd_simd_tile *tile, size_t first, panel_fetch next)                  \
    {                                                                                              \
        run(tile, first, next, rows, parts, last, is_packed, is_fetching);                         \
    }
/* Of as many columns as a tile has, and of fewer. */
#define NEAR_CASES(name, rows, parts)                                                              \
    ROWS_CASE(name, rows, parts, LANES, false, false)                                              \
    ROWS_CASE(packed_##name, rows, parts, LANES, true, false)                                      \
    ROWS_CASE(some_##name, rows, parts, tile->columns % LANES, tile->a_packed != NULL, false)
#define BY_ROWS(rows)                                                                              \
    NEAR_CASES(run_##rows, rows, 1)                                                                \
    ROWS_CASE(fetching_run_##rows, rows, 1, LANES, false, true)                                    \
    ROWS_CASE(fetching_packed_run_##rows, rows, 1, LANES, true, true)
/* One or two rows that are all there are: the only pass reads B in the order of memory, which the
 * processor foresees. */
NEAR_CASES(only_1, 1, 4)
NEAR_CASES(only_2, 2, 2)
EACH_ROWS(TILE_ROWS, BY_ROWS)
#undef BY_ROWS
#undef NEAR_CASES
#undef ROWS_CASE

typedef struct tile_functions {
    tile_function only[2], rows[TILE_ROWS];
} tile_functions;
#define FUNCTIONS(prefix, only)                                                                    \
    {                                                                                              \
        {only##only_1, only##only_2},                                                              \
        {                                                                                          \
            ROWS_LIST(TILE_ROWS, prefix##run_)                                                     \
        }                                                                                          \
    }
/* [is_fetching][is_packed] */
static const tile_functions of_all_columns[2][2] = {
    {FUNCTIONS(, ), FUNCTIONS(packed_, packed_)},
    {FUNCTIONS(fetching_, ), FUNCTIONS(fetching_packed_, packed_)}};
static const tile_functions of_some_columns = FUNCTIONS(some_, some_);
#undef FUNCTIONS

/* How the rows of a tile are worked on: `tiles` passes of TILE_ROWS rows, then at most two of
 * fewer. */
typedef struct row_passes {
    size_t tiles, rest[2];
} row_passes;

/* Passes of fewer rows read B faster than they multiply: such a rest is made two halves with the
 * full tile before it. */
#define FEW_ROWS (TILE_ROWS / 3 + 1)

static row_passes passes_of(const onnxd_simd_tile *tile)
{
    /* Packed rows are worked on as they were packed. */
    const size_t few = tile->a_packed == NULL ? FEW_ROWS : 1, rest = tile->rows % TILE_ROWS;
    const size_t whole = tile->rows / TILE_ROWS;
    if (whole == 0 || rest == 0 || rest >= few)
        return (row_passes){whole, {rest, 0}};
    const size_t half = (TILE_ROWS + rest + 1) / 2;
    return (row_passes){whole - 1, {half, TILE_ROWS + rest - half}};
}

static size_t run_pass(const onnxd_simd_tile *tile, const tile_functions *f, size_t first,
                       size_t rows, panel_fetch *next)
{
    if (rows == 0)
        return first;
    f->rows[rows - 1](tile, first, *next);
    panel_fetch_pass(next, tile->taps * tile->depth);
    return first + rows;
}

static void run_wide(const onnxd_simd_tile *tile, const tile_functions *f)
{
    if (tile->rows <= 2 && tile->rows > 0) {
        f->only[tile->rows - 1](tile, 0, panel_fetch_of(NULL, 1));
        return;
    }
    const row_passes passes = passes_of(tile);
    const size_t count = passes.tiles + (passes.rest[0] > 0) + (passes.rest[1] > 0);
    panel_fetch next = panel_fetch_of(tile->b_next, count);
    size_t first = 0;
    for (size_t i = 0; i < passes.tiles; i++)
        first = run_pass(tile, f, first, TILE_ROWS, &next);
    for (size_t i = 0; i < 2; i++)
        first = run_pass(tile, f, first, passes.rest[i], &next);
}

/* ---- narrow tiles ---------------------------------------------------------------------------- */

/* Rows at a time where a whole tile is not left: their additions do not wait for each other. */
#define NARROW_ROWS 4

/* Of a tile whose columns fill one vector at most. Each row's sums are dealt out as those of a
 * whole tile are: equal columns of a product have equal results, whichever tile they are in. */
typedef struct narrow_sums {
    vf of[4][TILE_ROWS];
} narrow_sums;

INLINED void narrow_step(const float *const *a, size_t k, const float *b, const size_t rows, vf *s)
{
    const vf column = vf_load(b);
    UNROLLED
    for (size_t i = 0; i < rows; i++)
        s[i] += vf_all(a[i][k]) * column;
}

INLINED void narrow_multiply(const onnxd_simd_tile *tile, size_t first, const size_t rows,
                             const size_t parts, narrow_sums *s)
{
    const float *b = tile->b;
    for (size_t t = 0; t < tile->taps; t++) {
        const float *a[TILE_ROWS];
        size_t k = 0;
        UNROLLED
        for (size_t i = 0; i < rows; i++)
            a[i] = tile->a[t * tile->a_stride + first + i];
        for (; k + parts <= tile->depth; k += parts) {
            UNROLLED
            for (size_t p = 0; p < parts; p++, b += TILE_COLUMNS)
                narrow_step(a, k + p, b, rows, s->of[p]);
        }
        for (; k < tile->depth; k++, b += TILE_COLUMNS)
            narrow_step(a, k, b, rows, s->of[0]);
    }
    UNROLLED
    for (size_t p = 1; p < parts; p++) {
        UNROLLED
        for (size_t i = 0; i < rows; i++)
            s->of[0][i] += s->of[p][i];
    }
}

INLINED void narrow_multiply_packed(const onnxd_simd_tile *tile, size_t first, const size_t rows,
                                    narrow_sums *s)
{
    const size_t steps = tile->taps * tile->depth;
    const float *a = tile->a_packed + first / TILE_ROWS * TILE_ROWS * steps + first % TILE_ROWS;
    const float *b = tile->b;
    for (size_t k = 0; k < steps; k++, a += TILE_ROWS, b += TILE_COLUMNS) {
        const vf column = vf_load(b);
        UNROLLED
        for (size_t i = 0; i < rows; i++)
            s->of[0][i] += vf_all(a[i]) * column;
    }
}

INLINED void narrow(const onnxd_simd_tile *tile, size_t first, const size_t rows,
                    const size_t parts)
{
    const onnxd_simd_post *post = tile->post;
    const vf bias = post == NULL || post->bias == NULL ? vf_all(0) : vf_load(post->bias);
    const float *residual = post == NULL ? NULL : post->residual;
    float *c = tile->c + first * tile->c_stride;
    narrow_sums s;
    UNROLLED
    for (size_t p = 0; p < parts; p++) {
        UNROLLED
        for (size_t i = 0; i < rows; i++)
            s.of[p][i] = vf_all(0);
    }
    if (tile->a_packed != NULL)
        narrow_multiply_packed(tile, first, rows, &s);
    else
        narrow_multiply(tile, first, rows, parts, &s);
    UNROLLED
    for (size_t i = 0; i < rows; i++) {
        vf v = s.of[0][i];
        if (tile->is_continued)
            v += vf_load_some(c + i * tile->c_stride, tile->columns);
        v += bias;
        if (residual != NULL)
            v += vf_load_some(residual + (first + i) * post->residual_stride, tile->columns);
        if (post != NULL)
            v = vf_light(&post->activation, v);
        vf_store_some(c + i * tile->c_stride, v, tile->columns);
    }
}

#define NARROW(name, rows, parts)                                                                  \
    static void name(const onnxd_simd_tile *tile, size_t first)                                    \
    {                                                                                              \
        narrow(tile, first, rows, parts);                                                          \
    }
NARROW(narrow_whole, TILE_ROWS, 1)
NARROW(narrow_rows, NARROW_ROWS, 1)
NARROW(narrow_row, 1, 1)
NARROW(narrow_1, 1, 4)
NARROW(narrow_2, 2, 2)
#undef NARROW

static void run_narrow(const onnxd_simd_tile *tile)
{
    size_t first = 0;
    if (tile->rows == 1) {
        narrow_1(tile, 0);
        return;
    }
    if (tile->rows == 2) {
        narrow_2(tile, 0);
        return;
    }
    for (; first + TILE_ROWS <= tile->rows; first += TILE_ROWS)
        narrow_whole(tile, first);
    for (; first + NARROW_ROWS <= tile->rows; first += NARROW_ROWS)
        narrow_rows(tile, first);
    for (; first < tile->rows; first++)
        narrow_row(tile, first);
}

/* ---- the tile -------------------------------------------------------------------------------- */

void LEVEL_NAME(onnxd_simd_product)(const onnxd_simd_tile *tile)
{
    if (ONNXD_LIKELY(tile->columns == TILE_COLUMNS))
        run_wide(tile, &of_all_columns[tile->b_next != NULL][tile->a_packed != NULL]);
    else if (tile->columns <= LANES)
        run_narrow(tile);
    else
        run_wide(tile, &of_some_columns);
    activate_stored(tile->post, tile->rows, tile->columns, tile->c, tile->c_stride);
}
