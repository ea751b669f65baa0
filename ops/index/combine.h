/*
 * The `reduction` of the scatter operators: what becomes of an element that an update meets.
 *
 * Integers wrap; float16 and bfloat16 are computed in float and rounded after each update; bool
 * adds as "or" and multiplies as "and"; strings add by joining. The larger (smaller) of two numbers
 * of which one is NaN is the update, as in other runtimes.
 */
#ifndef ONNXD_OPS_INDEX_COMBINE_H
#define ONNXD_OPS_INDEX_COMBINE_H

#include "graph/op.h"

typedef enum onnxd_reduction {
    ONNXD_REDUCTION_NONE,
    ONNXD_REDUCTION_ADD,
    ONNXD_REDUCTION_MUL,
    ONNXD_REDUCTION_MAX,
    ONNXD_REDUCTION_MIN
} onnxd_reduction;

/* Attribute 'reduction', NONE when absent. Opset 16 brought add and mul, 18 max and min. */
ONNXD_NODISCARD onnxd_status *onnxd_reduction_parse(const onnxd_node *node, int64_t opset,
                                                    onnxd_reduction *out_reduction);
/* INVALID_ARGUMENT where elements of `dtype` cannot be combined so: complex numbers have no order,
 * strings no product. */
ONNXD_NODISCARD onnxd_status *onnxd_reduction_check(const onnxd_node *node, onnxd_dtype dtype,
                                                    onnxd_reduction reduction);

/* What a scatter operator writes with: its output and updates, which passed the check. */
typedef struct onnxd_combiner {
    const onnxd_compute *compute;
    onnxd_reduction reduction;
    onnxd_dtype dtype;
    void *out;
    const void *updates;
} onnxd_combiner;

/* out[offsets[i]] = f(out[offsets[i]], updates[first + i]), one after the other.
 * Errors: RESOURCE_EXHAUSTED when joined strings need too much memory. */
ONNXD_NODISCARD onnxd_status *onnxd_combine_at(const onnxd_combiner *combiner,
                                               const int64_t *offsets, size_t first, size_t count);
/* The same for `count` neighbours: out[offset + i] = f(out[offset + i], updates[first + i]). */
ONNXD_NODISCARD onnxd_status *onnxd_combine_run(const onnxd_combiner *combiner, int64_t offset,
                                                size_t first, size_t count);

/* Appends `more` to *inout. Errors: RESOURCE_EXHAUSTED when the run's strings need too much memory.
 */
ONNXD_NODISCARD onnxd_status *onnxd_join_strings(const onnxd_compute *compute, onnxd_string *inout,
                                                 const onnxd_string *more);

#endif
