#include "base/alloc.h"
#include "base/clock.h"
#include "ep/cpu/compute/bf16_product.h"

/* A tile that the first-level cache holds. */
#define DEPTH ((size_t)256)
/* Each is measured so often, so many tiles at a time, and the best counts: whatever else runs only
 * makes it slower. */
#define TRIES 12
#define TILES 16
/* Products of bfloat16 have to take less than this of the time, or what rounding costs is more than
 * what it gains. */
#define MOST_OF_FLOAT 0.8

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

static int64_t best_ns(const tiles *t, void (*run)(const tiles *))
{
    int64_t best = INT64_MAX;
    for (int i = 0; i < TRIES; i++) {
        const int64_t start = onnxd_now_ns();
        for (int j = 0; j < TILES; j++)
            run(t);
        const int64_t duration = onnxd_now_ns() - start;
        best = duration < best ? duration : best;
    }
    return best;
}

onnxd_status *onnxd_bf16_gain(const onnxd_simd *simd, onnxd_simd_bf16_gain *out_gain)
{
    const size_t rows = simd->tile_rows, columns = simd->tile_columns;
    const size_t elements = (rows + columns) * DEPTH + rows * columns;
    *out_gain = simd->bf16_gain;
    if (simd->bf16_gain.rows <= ONNXD_BF16_FEW_ROWS)
        return NULL;
    float *memory = onnxd_alloc_aligned(elements * sizeof(float), ONNXD_PACKED_ALIGNMENT);
    if (memory == NULL)
        return onnxd_error_out_of_memory("measuring", elements * sizeof(float), UINT64_MAX);
    for (size_t i = 0; i < elements; i++)
        memory[i] = 0;
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
    const int64_t of_float = best_ns(&t, run_float), of_bf16 = best_ns(&t, run_bf16);
    onnxd_free(memory);
    if ((double)of_bf16 > MOST_OF_FLOAT * (double)of_float)
        *out_gain = (onnxd_simd_bf16_gain)ONNXD_BF16_GAIN_FROM_MEMORY;
    return NULL;
}
