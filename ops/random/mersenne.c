#include "ops/random/mersenne.h"

#define WORDS ONNXD_MERSENNE_WORDS
#define MIDDLE 397
#define UPPER_BIT UINT32_C(0x80000000)
#define TWIST UINT32_C(0x9908b0df)

void onnxd_mersenne_init(onnxd_mersenne *mersenne, uint32_t seed)
{
    uint32_t word = seed;
    for (uint32_t i = 0; i < WORDS; i++) {
        mersenne->words[i] = word;
        word = UINT32_C(1812433253) * (word ^ word >> 30) + i + 1;
    }
    mersenne->next = WORDS;
}

static void renew(onnxd_mersenne *mersenne)
{
    uint32_t *words = mersenne->words;
    for (size_t i = 0; i < WORDS; i++) {
        uint32_t mixed = (words[i] & UPPER_BIT) | (words[(i + 1) % WORDS] & (UPPER_BIT - 1));
        words[i] = words[(i + MIDDLE) % WORDS] ^ mixed >> 1 ^ ((mixed & 1) != 0 ? TWIST : 0);
    }
    mersenne->next = 0;
}

static uint32_t draw(onnxd_mersenne *mersenne)
{
    if (mersenne->next == WORDS)
        renew(mersenne);
    uint32_t word = mersenne->words[mersenne->next++];
    word ^= word >> 11;
    word ^= word << 7 & UINT32_C(0x9d2c5680);
    word ^= word << 15 & UINT32_C(0xefc60000);
    return word ^ word >> 18;
}

void onnxd_mersenne_uniform(onnxd_mersenne *mersenne, double *values, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint32_t high = draw(mersenne) >> 5, low = draw(mersenne) >> 6;
        values[i] = ((double)high * 0x1p26 + (double)low) * 0x1p-53;
    }
}
