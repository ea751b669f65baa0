/*
 * Nominal types: those that the values of a graph have when every extent that only a request could
 * tell is 1. Costs are asked with them, so that dynamic shapes do not leave placement blind; what
 * they say of the instances' ratio is right for the smallest request.
 */
#ifndef ONNXD_MODEL_NOMINAL_H
#define ONNXD_MODEL_NOMINAL_H

#include <stdbool.h>

#include "graph/graph.h"

typedef struct onnxd_nominal {
    onnxd_tensor_type *types; /* [value_count] */
    onnxd_tensor **known;     /* [value_count]: values that follow from these types, or NULL */
    bool *is_dynamic;         /* [node_count]: of onnxd_graph_mark_dynamic() */
    uint32_t value_count;
    /* Some extent was taken to be 1. False: the types are those of every request, or the graph's
     * own, with nothing known, where 1 will not do (a rank or a value that only a request could
     * tell, a kernel wider than its input). */
    bool is_assumed;
} onnxd_nominal;

/* Values that shapes depend upon are evaluated within max_bytes each. Errors: OUT_OF_MEMORY. */
ONNXD_NODISCARD onnxd_status *onnxd_nominal_find(const onnxd_graph *graph, size_t max_bytes,
                                                 onnxd_nominal *out_nominal);
/* A zeroed one is fine. */
void onnxd_nominal_deinit(onnxd_nominal *nominal);

#endif
