#include "ep/cpu/compute/attention.h"
#include "ep/cpu/compute/pieces.h"

#include <math.h>
#include <string.h>

#include "base/size_math.h"

/* Elements of a block of scores: about half of a first-level cache. */
#define SCORES ((size_t)6144)
/* Parts of a thread's scratch memory begin on cache lines. */
#define LINE (ONNXD_PACKED_ALIGNMENT / sizeof(float))

/* ---- preparing ------------------------------------------------------------------------------- */

static size_t round_up(size_t count, size_t unit)
{
    return (count + unit - 1) / unit * unit;
}

/* Blocks of about equal length, of whole tiles. */
static void choose_blocks(onnxd_head_attention *a)
{
    const size_t tile = a->simd->tile_rows;
    size_t most = SCORES / a->keys / tile * tile;
    most = most < tile ? tile : most > ONNXD_BLOCK_ROWS ? ONNXD_BLOCK_ROWS : most;
    const size_t blocks = (a->queries - 1) / most + 1;
    a->block = round_up((a->queries - 1) / blocks + 1, tile);
    a->blocks = (a->queries - 1) / a->block + 1;
}

static void choose_parts(onnxd_head_attention *a, uint32_t threads)
{
    const size_t wanted = onnxd_pieces_wanted(threads);
    const size_t heads = a->batch * a->heads;
    a->parts = heads == 0 || heads >= wanted ? 1 : (wanted - 1) / heads + 1;
    a->parts = a->parts > a->blocks ? a->blocks : a->parts;
}

bool onnxd_head_attention_plan(onnxd_head_attention *a, uint32_t threads, size_t *out_elements)
{
    size_t keys, scores;
    if (!onnxd_size_add(a->keys, LINE + a->simd->tile_columns, &keys))
        return false;
    choose_blocks(a);
    choose_parts(a, threads);
    /* Keys, values, scores, and a row for a boolean mask. */
    return onnxd_product_packed_count(a->simd, a->head_size, a->keys, &a->packed_keys) &&
           onnxd_product_packed_count(a->simd, a->keys, a->v_head_size, &a->packed_values) &&
           onnxd_size_mul(a->block + 1, keys, &scores) &&
           onnxd_size_add(a->packed_keys, a->packed_values, &a->scratch) &&
           onnxd_size_add(a->scratch, scores, &a->scratch) &&
           onnxd_size_add(a->scratch, 3 * LINE, &a->scratch) &&
           onnxd_size_mul(a->scratch / LINE * LINE, threads, out_elements) &&
           *out_elements <= SIZE_MAX / sizeof(float);
}

/* ---- one block of queries -------------------------------------------------------------------- */

typedef struct attention_run {
    const onnxd_head_attention *a;
    const onnxd_head_attention_data *data;
    float *workspace;
} attention_run;

/* A head with its keys and values packed. */
typedef struct head_run {
    const onnxd_head_attention *a;
    const onnxd_head_attention_data *data;
    size_t batch, head;
    float *keys, *values;
    float *scores, *mask;
    size_t score_stride;
} head_run;

static size_t offset_of(const onnxd_head_strides *strides, size_t batch, size_t head, size_t row)
{
    return batch * strides->batch + head * strides->head + row * strides->row;
}

/* C = rows of A times packed B, of which the first `depth` steps of `packed_depth` count. */
typedef struct block_product {
    const float *a;
    size_t a_stride, depth;
    const float *packed;
    size_t packed_depth, columns;
    float *c;
    size_t c_stride;
    uint32_t rows;
} block_product;

static void multiply(const onnxd_simd *simd, const block_product *p)
{
    const float *pointers[ONNXD_BLOCK_ROWS];
    for (uint32_t i = 0; i < p->rows; i++)
        pointers[i] = p->a + i * p->a_stride;
    onnxd_product_block block = {
        .a = pointers, .taps = 1, .depth = p->depth, .c_stride = p->c_stride, .rows = p->rows};
    for (size_t j = 0; j < p->columns; j += simd->tile_columns) {
        block.packed = p->packed + j * p->packed_depth;
        block.columns = p->columns - j < simd->tile_columns ? p->columns - j : simd->tile_columns;
        block.c = p->c + j;
        onnxd_product_block_run(simd, &block);
    }
}

/* What is added to the scores of query `i`; NULL: nothing. */
static const float *mask_of(const head_run *h, size_t i, size_t keys)
{
    const onnxd_head_attention *a = h->a;
    const size_t at = offset_of(&a->mask, h->batch, h->head, i);
    if (a->mask_kind == ONNXD_MASK_NONE)
        return NULL;
    if (a->mask_kind == ONNXD_MASK_ADDED)
        return (const float *)h->data->mask + at;
    const unsigned char *is_seen = (const unsigned char *)h->data->mask + at;
    for (size_t j = 0; j < keys; j++)
        h->mask[j] = is_seen[j] != 0 ? 0 : -INFINITY;
    return h->mask;
}

/* Scores become weights that are yet to be multiplied by *out_factor. Keys beyond those that the
 * query sees, but not the block, have none. */
static void weigh(const head_run *h, size_t i, float *scores, size_t keys, float *out_factor)
{
    const size_t seen = h->a->is_causal && i + 1 < keys ? i + 1 : keys;
    const float sum = h->a->simd->weigh(scores, seen, h->a->scale, mask_of(h, i, seen));
    memset(scores + seen, 0, (keys - seen) * sizeof(float));
    *out_factor = sum == 0 ? 0 : 1 / sum;
}

static void run_block(const head_run *h, size_t first)
{
    const onnxd_head_attention *a = h->a;
    const onnxd_simd *simd = a->simd;
    const size_t left = a->queries - first;
    const uint32_t rows = (uint32_t)(left < a->block ? left : a->block);
    const size_t last = first + rows, keys = a->is_causal && last < a->keys ? last : a->keys;
    float factors[ONNXD_BLOCK_ROWS];
    const float *q = h->data->q + offset_of(&a->q, h->batch, h->head, first);
    float *y = h->data->y + offset_of(&a->y, h->batch, h->head, first);
    const block_product of_keys = {.a = q,
                                   .a_stride = a->q.row,
                                   .depth = a->head_size,
                                   .packed = h->keys,
                                   .packed_depth = a->head_size,
                                   .columns = keys,
                                   .c = h->scores,
                                   .c_stride = h->score_stride,
                                   .rows = rows};
    const block_product of_values = {.a = h->scores,
                                     .a_stride = h->score_stride,
                                     .depth = keys,
                                     .packed = h->values,
                                     .packed_depth = a->keys,
                                     .columns = a->v_head_size,
                                     .c = y,
                                     .c_stride = a->y.row,
                                     .rows = rows};
    multiply(simd, &of_keys);
    for (uint32_t i = 0; i < rows; i++)
        weigh(h, first + i, h->scores + i * h->score_stride, keys, &factors[i]);
    multiply(simd, &of_values);
    for (uint32_t i = 0; i < rows; i++) {
        float *to = y + i * a->y.row;
        simd->binary(
            ONNXD_SIMD_MULTIPLY,
            &(onnxd_simd_row){
                .a = to, .b = &factors[i], .out = to, .count = a->v_head_size, .a_step = true});
    }
}

/* ---- pieces of work -------------------------------------------------------------------------- */

static void run_piece(void *context, size_t index, uint32_t worker)
{
    const attention_run *run = context;
    const onnxd_head_attention *a = run->a;
    const size_t part = index % a->parts, head = index / a->parts % a->heads;
    const size_t batch = index / a->parts / a->heads;
    float *scratch = run->workspace + worker * (a->scratch / LINE * LINE);
    head_run h = {.a = a, .data = run->data, .batch = batch, .head = head};
    h.keys = scratch;
    h.values = h.keys + round_up(a->packed_keys, LINE);
    h.mask = h.values + round_up(a->packed_values, LINE);
    h.scores = h.mask + round_up(a->keys, LINE);
    h.score_stride = round_up(a->keys, LINE);
    const onnxd_product_strides of_keys = {.step = 1, .column = a->k.row};
    const onnxd_product_strides of_values = {.step = a->v.row, .column = 1};
    onnxd_product_pack(a->simd, 1, a->head_size, a->keys,
                       run->data->k + offset_of(&a->k, batch, head / a->group, 0), &of_keys,
                       h.keys);
    onnxd_product_pack(a->simd, 1, a->keys, a->v_head_size,
                       run->data->v + offset_of(&a->v, batch, head / a->group, 0), &of_values,
                       h.values);
    for (size_t block = part; block < a->blocks; block += a->parts)
        run_block(&h, block * a->block);
}

void onnxd_head_attention_run(const onnxd_head_attention *a, onnxd_team *team,
                              const onnxd_head_attention_data *data, float *workspace)
{
    attention_run run = {a, data, workspace};
    onnxd_team_run(team, a->batch * a->heads * a->parts, run_piece, &run);
}
