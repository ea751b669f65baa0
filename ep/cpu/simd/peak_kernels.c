/* How fast the level can be. */
#include "ep/cpu/simd/levels.h"
#include "ep/cpu/simd/vector_math.h"

#define SUMS ((size_t)TILE_ROWS * TILE_VECTORS)

/* Sums that stay in registers, enough of them that none has to wait for its own last addition. */
double LEVEL_NAME(onnxd_simd_arithmetic)(size_t steps)
{
    vf sums[SUMS], factor = vf_all(0.5f), addend = vf_all(0.25f);
    UNROLLED
    for (size_t i = 0; i < SUMS; i++)
        sums[i] = vf_all((float)i);
    for (size_t step = 0; step < steps; step++) {
        UNROLLED
        for (size_t i = 0; i < SUMS; i++)
            sums[i] = sums[i] * factor + addend;
        /* The compiler may not work out where the sums end. */
        __asm__ volatile("" : "+m"(*(char *)&steps));
    }
    vf total = sums[0];
    UNROLLED
    for (size_t i = 1; i < SUMS; i++)
        total += sums[i];
    /* Each sum tends to a half, so the total is never negative; read so that it is worked out. */
    return total[0] < 0 ? 0 : 2.0 * (double)(steps * SUMS * LANES);
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
