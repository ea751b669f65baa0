#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "ep/cpu/compute/bf16_product.h"

/* A tile that the first-level cache holds. */
#define DEPTH ((size_t)256)
/* Both are measured so often, in turns, so many tiles at a time, and the best counts: whatever else
 * runs only makes it slower. */
#define TRIES 12
#define TILES 16

typedef struct tiles {
    const onnxd_simd *simd;
    onnxd_simd_tile of_float;
    onnxd_simd_bf16_tile of_bf16;
} tiles;

static void run_float(const tiles *t)
{
    t->simd->product(&t->of_float);
}

static void run_bf16(const tiles *t)
{
    t->simd->bf16_product(&t->of_bf16);
}

static void measure(const tiles *t, void (*run)(const tiles *), int64_t *inout_best_ns)
{
    const int64_t start = onnxd_now_ns();
    for (int i = 0; i < TILES; i++)
        run(t);
    const int64_t duration = onnxd_now_ns() - start;
    *inout_best_ns = duration < *inout_best_ns ? duration : *inout_best_ns;
}

/* By their rates, processors take half of the other tile's time or twice of it: noise does not
 * decide. */
static bool is_faster(const tiles *t)
{
    int64_t of_float = INT64_MAX, of_bf16 = INT64_MAX;
    for (int i = 0; i < TRIES; i++) {
        measure(t, run_float, &of_float);
        measure(t, run_bf16, &of_bf16);
    }
    return of_bf16 < of_float;
}

onnxd_status *onnxd_bf16_gain(const onnxd_simd *simd, onnxd_simd_bf16_gain *out_gain)
{
    const size_t rows = simd->tile_rows, columns = simd->tile_columns;
    const size_t elements = (rows + columns) * DEPTH + rows * columns;
    if (simd->bf16_gain.rows <= ONNXD_BF16_FEW_ROWS) {
        *out_gain = simd->bf16_gain;
        return NULL;
    }
    float *memory = onnxd_alloc_aligned(elements * sizeof(float), ONNXD_PACKED_ALIGNMENT);
    if (memory == NULL)
        return onnxd_error_out_of_memory("measuring", elements * sizeof(float), UINT64_MAX);
    memset(memory, 0, elements * sizeof(float));
    /* B first: it is the one that has to be aligned. */
    float *a = memory + columns * DEPTH, *c = a + rows * DEPTH;
    const tiles t = {.simd = simd,
                     .of_float = {.a_packed = a,
                                  .taps = 1,
                                  .depth = DEPTH,
                                  .b = memory,
                                  .c = c,
                                  .c_stride = columns,
                                  .rows = (uint32_t)rows,
                                  .columns = (uint32_t)columns},
                     .of_bf16 = {.a = (const uint16_t *)(const void *)a,
                                 .a_stride = DEPTH,
                                 .pairs = DEPTH / 2,
                                 .b = (const uint16_t *)(const void *)memory,
                                 .c = c,
                                 .c_stride = columns,
                                 .rows = (uint32_t)rows,
                                 .columns = (uint32_t)columns}};
    *out_gain = is_faster(&t) ? simd->bf16_gain : (onnxd_simd_bf16_gain)ONNXD_BF16_GAIN_FROM_MEMORY;
    onnxd_free(memory);
    return NULL;
}
