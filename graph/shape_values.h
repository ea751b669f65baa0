/*
 * Values that shapes are made of: short lists of integers, each a number, an extent that has a
 * symbol, or unknown. Nodes are gone through in order, as exporters write what reads and writes
 * shapes: Shape, Gather, Slice, Concat, arithmetic and their like.
 *
 * Threads: one at a time. Errors: OUT_OF_MEMORY.
 */
#ifndef ONNXD_GRAPH_SHAPE_VALUES_H
#define ONNXD_GRAPH_SHAPE_VALUES_H

#include "graph/internal.h"

typedef enum onnxd_element_kind {
    ONNXD_ELEMENT_UNKNOWN,
    ONNXD_ELEMENT_NUMBER,
    ONNXD_ELEMENT_EXTENT /* `value` is a symbol's code, as a dimension has it; not negative */
} onnxd_element_kind;

typedef struct onnxd_element {
    onnxd_element_kind kind;
    int64_t value;
} onnxd_element;

/* Of rank 0 or 1. */
typedef struct onnxd_element_list {
    size_t count;
    onnxd_element elements[];
} onnxd_element_list;

/* Longer lists are not followed. */
#define ONNXD_ELEMENTS_MAX 64

typedef struct onnxd_shape_values {
    const onnxd_derivation *types;
    const onnxd_element_list **lists; /* [types->capacity]; NULL: none */
    onnxd_arena arena;
} onnxd_shape_values;

ONNXD_NODISCARD onnxd_status *onnxd_shape_values_init(onnxd_shape_values *values,
                                                      const onnxd_derivation *types);
void onnxd_shape_values_deinit(onnxd_shape_values *values); /* also after a failed init */
/* The list that a value is; NULL: none is known. */
const onnxd_element_list *onnxd_shape_values_of(onnxd_shape_values *values, onnxd_value_id value);
/* Sets the list of what the node makes; its types are derived. */
void onnxd_shape_values_step(onnxd_shape_values *values, const onnxd_node *node);

#endif
