/*
 * Orders of elements, for the operators that sort. NaN comes after every number and equals itself,
 * -0 equals 0, complex numbers go by real and then imaginary part, strings by bytes with a prefix
 * before what it begins.
 */
#ifndef ONNXD_OPS_INDEX_ORDER_H
#define ONNXD_OPS_INDEX_ORDER_H

#include <stddef.h>
#include <stdint.h>

#include "graph/op.h"

/* Negative, 0 or positive as `count` elements at `a` come before, equal or come after those at `b`;
 * the first that differ decide. */
typedef int (*onnxd_compare)(const void *a, const void *b, size_t count);
/* For every type in ONNXD_SET_WHOLE_BYTES but the 8-bit floats. */
onnxd_compare onnxd_compare_of(onnxd_dtype dtype);

/* Sorts `order`, positions of blocks of `block_count` elements in `data`, stably. `scratch` has
 * room for as many positions and the result is in `order`. Errors: those of env->check(). */
ONNXD_NODISCARD onnxd_status *onnxd_sort_positions(const onnxd_run_env *env, int64_t *order,
                                                   int64_t *scratch, size_t count,
                                                   onnxd_compare compare, const void *data,
                                                   size_t block_count, size_t block_bytes);

/* Numbers whose unsigned order is that of the elements data[i * step], i in [0, count); they fit 32
 * bits when onnxd_keys_are_narrow(). `dtype` is in ONNXD_SET_NUMBERS. */
void onnxd_keys_load(onnxd_dtype dtype, const void *data, int64_t step, size_t count,
                     uint64_t *keys);
bool onnxd_keys_are_narrow(onnxd_dtype dtype);

#endif
