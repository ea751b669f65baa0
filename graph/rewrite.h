/*
 * What passes that put nodes in the place of others share: readers of values, fresh values, nodes
 * and constants. Passes of providers use it too.
 *
 * Threads: as for the graph. Errors: OUT_OF_MEMORY, and those of resolving a node.
 */
#ifndef ONNXD_GRAPH_REWRITE_H
#define ONNXD_GRAPH_REWRITE_H

#include "graph/graph.h"
#include "graph/op.h"

/* Counts per value: the inputs of nodes that are not removed, and graph outputs. The caller frees
 * it with onnxd_free(). */
ONNXD_NODISCARD onnxd_status *onnxd_graph_count_uses(const onnxd_graph *graph, uint32_t **out_uses);

/* A value named after another: "<base>/<what>/<id>", of no type yet. */
ONNXD_NODISCARD onnxd_status *onnxd_graph_derive_value(onnxd_graph *graph, onnxd_value_id base,
                                                       const char *what, onnxd_value_id *out_value);

/* A constant value named so, which holds the tensor with the caller. */
ONNXD_NODISCARD onnxd_status *onnxd_graph_derive_from(onnxd_graph *graph, onnxd_value_id base,
                                                      const char *what, onnxd_tensor *tensor,
                                                      onnxd_value_id *out_value);

/* The same of a type without strings, its elements copied. `shape` is static. */
ONNXD_NODISCARD onnxd_status *onnxd_graph_derive_tensor(onnxd_graph *graph, onnxd_value_id base,
                                                        const char *what, onnxd_dtype dtype,
                                                        const onnxd_shape *shape,
                                                        const void *elements,
                                                        onnxd_value_id *out_value);

/* The same of FLOAT. */
ONNXD_NODISCARD onnxd_status *onnxd_graph_derive_constant(onnxd_graph *graph, onnxd_value_id base,
                                                          const char *what,
                                                          const onnxd_shape *shape,
                                                          const float *elements,
                                                          onnxd_value_id *out_value);

/* The same of INT64, of rank 1. */
ONNXD_NODISCARD onnxd_status *onnxd_graph_derive_ints(onnxd_graph *graph, onnxd_value_id base,
                                                      const char *what, const int64_t *elements,
                                                      size_t count, onnxd_value_id *out_value);

/* Attributes for onnxd_graph_add_resolved(); the lists are copied into the graph. */
ONNXD_NODISCARD onnxd_status *onnxd_graph_ints(onnxd_graph *graph, const char *name,
                                               const int64_t *values, size_t count,
                                               onnxd_attribute *out_attribute);
ONNXD_NODISCARD onnxd_status *onnxd_graph_floats(onnxd_graph *graph, const char *name,
                                                 const float *values, size_t count,
                                                 onnxd_attribute *out_attribute);
/* The texts are constant. */
ONNXD_NODISCARD onnxd_status *onnxd_graph_texts(onnxd_graph *graph, const char *name,
                                                const char *const *texts, size_t count,
                                                onnxd_attribute *out_attribute);
/* Both texts are constant. */
onnxd_attribute onnxd_text_attribute(const char *name, const char *text);

/* onnxd_graph_add_node() and onnxd_op_resolve(). Nodes may move in memory. The new one stands last:
 * onnxd_graph_compact() puts it in its place. */
ONNXD_NODISCARD onnxd_status *onnxd_graph_add_resolved(onnxd_graph *graph,
                                                       const onnxd_op_registry *registry,
                                                       const onnxd_node *node);

/* Other inputs, other attributes for a node; copied into the graph. It is to be resolved again. */
ONNXD_NODISCARD onnxd_status *onnxd_graph_set_node_inputs(onnxd_graph *graph, onnxd_node *node,
                                                          const onnxd_value_id *inputs,
                                                          uint32_t count);
ONNXD_NODISCARD onnxd_status *onnxd_graph_set_attributes(onnxd_graph *graph, onnxd_node *node,
                                                         const onnxd_attribute *attributes,
                                                         uint32_t count);

/* The node that makes `value`, if a node does and nobody reads it but one input; else NULL. */
onnxd_node *onnxd_graph_only_producer(const onnxd_graph *graph, const uint32_t *uses,
                                      onnxd_value_id value);

/* Whether the node is the operator of this domain and not removed. */
bool onnxd_node_is(const onnxd_node *node, const char *domain, const char *op_type);
/* An INT attribute; `absent` where there is none. */
int64_t onnxd_node_int(const onnxd_node *node, const char *name, int64_t absent);
/* The constant FLOAT tensor behind input `index`; NULL when there is none. */
const onnxd_tensor *onnxd_node_float_constant(const onnxd_graph *graph, const onnxd_node *node,
                                              uint32_t index);

/* The elements of a tensor of INT64 or INT32; false for others, and for more than `capacity`. */
bool onnxd_tensor_read_ints(const onnxd_tensor *tensor, size_t capacity, int64_t *values,
                            size_t *out_count);
/* Integers of an operator whose attribute `name` became input `index`: the elements of that input,
 * a constant of INT64 or INT32, or where there is none those of the attribute. `values` has room
 * for `capacity`. *out_count is 0 where the node has neither. False: they are not known, or too
 * many. */
bool onnxd_node_read_ints(const onnxd_graph *graph, const onnxd_node *node, uint32_t index,
                          const char *name, size_t capacity, int64_t *values, size_t *out_count);

#endif
