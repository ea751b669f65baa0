/*
 * The contractions of Einsum. Operands are views over labels; two at a time become one by a batch
 * of matrix products, the smallest result first, until one is left:
 *
 *   labels of both and needed later: batch     of one: rows or columns     of both and not: summed
 *
 * Everything is calculated in float, double, or unsigned integers of 32 or 64 bits, which wrap and
 * give the signed types' bits too. The same functions measure the workspace: they then touch no
 * data.
 */
#ifndef ONNXD_OPS_EINSUM_CONTRACT_H
#define ONNXD_OPS_EINSUM_CONTRACT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ops/einsum_equation.h"

/* A tensor over the labels in the set `labels` (bit n is label n). */
typedef struct onnxd_einsum_part {
    uint64_t labels;
    int64_t strides[ONNXD_EINSUM_LABELS]; /* in elements */
    const void *data;                     /* of the type calculated in */
} onnxd_einsum_part;

typedef struct onnxd_einsum_run {
    onnxd_dtype dtype; /* of inputs and output */
    size_t dims[ONNXD_EINSUM_LABELS];
    onnxd_einsum_part parts[ONNXD_EINSUM_MAX_OPERANDS];
    uint32_t part_count;
    uint8_t output_labels[ONNXD_MAX_RANK];
    int32_t output_count;
    /* A stack of scratch memory. */
    bool is_measuring, overflows;
    char *memory;
    size_t used_bytes, peak_bytes;
} onnxd_einsum_run;

/* Gives part `index` its `count` elements at `data`, converted where the type needs it. */
void onnxd_einsum_load(onnxd_einsum_run *run, uint32_t index, const void *data, size_t count);
/* Contracts all parts into `output`, dense over output_labels and not empty. */
void onnxd_einsum_contract(onnxd_einsum_run *run, void *output);

#endif
