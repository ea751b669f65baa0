#include "ep/cpu/compute/quantize.h"

/* Elements of one piece of work; fewer are not worth waking the team for. */
#define PIECE ((size_t)16384)

static size_t pieces_of(size_t count)
{
    return count / PIECE + (count % PIECE != 0);
}

static size_t part_of(size_t count, size_t first)
{
    return count - first < PIECE ? count - first : PIECE;
}

typedef struct quantize_run {
    const onnxd_quantization *q;
    const void *in;
    void *out;
} quantize_run;

static void quantize_piece(void *context, size_t index, uint32_t worker)
{
    const quantize_run *run = context;
    const size_t first = index * PIECE;
    (void)worker;
    run->q->simd->quantize((const float *)run->in + first, part_of(run->q->count, first),
                           run->q->scale, &run->q->range, (uint8_t *)run->out + first);
}

void onnxd_quantize(const onnxd_quantization *quantization, onnxd_team *team, const float *in,
                    uint8_t *out)
{
    quantize_run run = {quantization, in, out};
    onnxd_team_run(team, pieces_of(quantization->count), quantize_piece, &run);
}

static void dequantize_piece(void *context, size_t index, uint32_t worker)
{
    const quantize_run *run = context;
    const size_t first = index * PIECE;
    (void)worker;
    run->q->simd->dequantize((const uint8_t *)run->in + first, part_of(run->q->count, first),
                             run->q->zero, run->q->scale, (float *)run->out + first);
}

void onnxd_dequantize(const onnxd_quantization *quantization, onnxd_team *team, const uint8_t *in,
                      float *out)
{
    quantize_run run = {quantization, in, out};
    onnxd_team_run(team, pieces_of(quantization->count), dequantize_piece, &run);
}

/* ---- scale and zero point by the data -------------------------------------------------------- */

/* Parts that the bounds are found of; an array of their results fits the stack. */
#define MOST_PARTS ((size_t)64)

typedef struct bounds_run {
    const onnxd_simd *simd;
    const float *in;
    size_t count, part;
    float low[MOST_PARTS], high[MOST_PARTS];
} bounds_run;

static void bounds_piece(void *context, size_t index, uint32_t worker)
{
    bounds_run *run = context;
    const size_t first = index * run->part, left = run->count - first;
    float low = 0, high = 0;
    (void)worker;
    run->simd->bounds(run->in + first, left < run->part ? left : run->part, &low, &high);
    run->low[index] = low;
    run->high[index] = high;
}

void onnxd_quantize_dynamically(const onnxd_simd *simd, onnxd_team *team, const float *in,
                                size_t count, uint8_t *out, float *out_scale,
                                uint8_t *out_zero_point)
{
    bounds_run run = {.simd = simd, .in = in, .count = count, .part = count / MOST_PARTS + 1};
    if (run.part < PIECE)
        run.part = PIECE;
    const size_t parts = (count + run.part - 1) / run.part;
    /* 0 belongs to the range. */
    float low = 0, high = 0;
    onnxd_team_run(team, parts, bounds_piece, &run);
    for (size_t i = 0; i < parts; i++) {
        low = run.low[i] < low ? run.low[i] : low;
        high = run.high[i] > high ? run.high[i] : high;
    }
    onnxd_quantization q = {.simd = simd,
                            .count = count,
                            .scale = high == low ? 1 : (high - low) / (float)UINT8_MAX,
                            .range = {0, UINT8_MAX, 0}};
    /* The number that becomes 0, rounded to the range. */
    const float zero = -low;
    simd->quantize(&zero, 1, q.scale, &q.range, out_zero_point);
    q.range = (onnxd_simd_range){-(float)*out_zero_point, (float)(UINT8_MAX - *out_zero_point),
                                 (float)*out_zero_point};
    *out_scale = q.scale;
    if (out != NULL)
        onnxd_quantize(&q, team, in, out);
}

/* ---- sums ------------------------------------------------------------------------------------ */

typedef struct sum_run {
    const onnxd_simd *simd;
    const onnxd_simd_quantized_sum *sum;
} sum_run;

static void sum_piece(void *context, size_t index, uint32_t worker)
{
    const sum_run *run = context;
    const size_t first = index * PIECE;
    onnxd_simd_quantized_sum sum = *run->sum;
    (void)worker;
    sum.a += first;
    sum.b += first;
    sum.out += first;
    sum.count = part_of(sum.count, first);
    run->simd->quantized_sum(&sum);
}

void onnxd_quantized_sum(const onnxd_simd *simd, onnxd_team *team,
                         const onnxd_simd_quantized_sum *sum)
{
    sum_run run = {simd, sum};
    onnxd_team_run(team, pieces_of(sum->count), sum_piece, &run);
}
