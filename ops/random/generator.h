/*
 * Random numbers: the counter-based generator Philox4x32-10 of Salmon, Moraes, Dror and Shaw,
 * "Parallel random numbers: as easy as 1, 2, 3" (2011). Its state is a key and a counter, so that
 * every node has a stream of its own and none shares anything with another thread.
 */
#ifndef ONNXD_OPS_RANDOM_GENERATOR_H
#define ONNXD_OPS_RANDOM_GENERATOR_H

#include "graph/op.h"

typedef struct onnxd_seed {
    bool is_given;
    float value;
} onnxd_seed;

typedef struct onnxd_generator {
    uint32_t key[2];
    uint64_t counter; /* of the next block */
} onnxd_generator;

/* Attribute 'seed'. */
ONNXD_NODISCARD onnxd_status *onnxd_seed_parse(const onnxd_node *node, onnxd_seed *out_seed);
/* Attribute 'dtype', which must be in `allowed`; UNDEFINED, or as it was, when absent. */
ONNXD_NODISCARD onnxd_status *
onnxd_random_dtype_parse(const onnxd_node *node, onnxd_dtype_set allowed, onnxd_dtype *inout_dtype);

/* The same stream whenever the seed is given, a new one from the system's entropy otherwise.
 * Errors: INTERNAL when the system has no entropy to give. */
ONNXD_NODISCARD onnxd_status *onnxd_generator_init(onnxd_generator *generator,
                                                   const onnxd_node *node, const onnxd_seed *seed);
/* `count` numbers, uniform in [0, 1) with 53 random bits. Streams are cut into blocks of two: calls
 * with even counts give what one call would. */
void onnxd_generator_uniform(onnxd_generator *generator, double *values, size_t count);
/* `count` numbers of the standard normal distribution. Likewise. */
void onnxd_generator_normal(onnxd_generator *generator, double *values, size_t count);

#endif
