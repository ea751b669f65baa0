/* How fast the level can be. */
#include "ep/cpu/simd/levels.h"
#include "ep/cpu/simd/vector_math.h"

/* As many as a tile of the product has, by rows for the sake of UNROLLED. */
typedef struct peak_sums {
    vf of[TILE_ROWS][TILE_VECTORS];
} peak_sums;

INLINED void add_all(vf factor, vf addend, peak_sums *s)
{
    UNROLLED
    for (size_t i = 0; i < TILE_ROWS; i++) {
        UNROLLED
        for (size_t j = 0; j < TILE_VECTORS; j++)
            s->of[i][j] = s->of[i][j] * factor + addend;
    }
}

/* All different: equal ones would be worked out once. */
INLINED void start(peak_sums *s)
{
    UNROLLED
    for (size_t i = 0; i < TILE_ROWS; i++) {
        UNROLLED
        for (size_t j = 0; j < TILE_VECTORS; j++)
            s->of[i][j] = vf_all((float)(i * TILE_VECTORS + j));
    }
}

INLINED vf total_of(const peak_sums *s)
{
    vf total = vf_all(0);
    UNROLLED
    for (size_t i = 0; i < TILE_ROWS; i++) {
        UNROLLED
        for (size_t j = 0; j < TILE_VECTORS; j++)
            total += s->of[i][j];
    }
    return total;
}

/* Sums that stay in registers, enough of them that none has to wait for its own last addition. */
double LEVEL_NAME(onnxd_simd_arithmetic)(size_t steps)
{
    const vf factor = vf_all(0.5f), addend = vf_all(0.25f);
    peak_sums s;
    start(&s);
    for (size_t step = 0; step < steps; step++) {
        add_all(factor, addend, &s);
        /* The compiler may not work out where the sums end. */
        __asm__ volatile("" : "+r"(step));
    }
    /* Each sum tends to a half, so the total is never negative; read so that it is worked out. */
    return total_of(&s)[0] < 0 ? 0 : 2.0 * (double)(steps * TILE_ROWS * TILE_VECTORS * LANES);
}

float LEVEL_NAME(onnxd_simd_read)(const float *from, size_t count)
{
    vf sums[8];
    UNROLLED
    for (size_t i = 0; i < 8; i++)
        sums[i] = vf_all(0);
    for (size_t k = 0; k + 8 * LANES <= count; k += 8 * LANES) {
        UNROLLED
        for (size_t i = 0; i < 8; i++)
            sums[i] += vf_load(from + k + i * LANES);
    }
    UNROLLED
    for (size_t i = 1; i < 8; i++)
        sums[0] += sums[i];
    return sums[0][0];
}
