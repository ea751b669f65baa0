/*
 * The Mersenne Twister MT19937 of Matsumoto and Nishimura (1998), with the seeding and the numbers
 * of 53 bits of their revision of 2002. ONNX's reference draws from it, so an operator whose seed
 * is given can drop what the reference drops.
 */
#ifndef ONNXD_OPS_RANDOM_MERSENNE_H
#define ONNXD_OPS_RANDOM_MERSENNE_H

#include <stddef.h>
#include <stdint.h>

#define ONNXD_MERSENNE_WORDS 624

typedef struct onnxd_mersenne {
    uint32_t words[ONNXD_MERSENNE_WORDS];
    size_t next; /* of the words that are not drawn yet */
} onnxd_mersenne;

void onnxd_mersenne_init(onnxd_mersenne *mersenne, uint32_t seed);
/* `count` numbers, uniform in [0, 1). */
void onnxd_mersenne_uniform(onnxd_mersenne *mersenne, double *values, size_t count);

#endif
