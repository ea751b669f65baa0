/*
 * Reading attributes with checks. Each getter leaves *out at its default when the attribute is
 * absent. Errors: INVALID_ARGUMENT "attribute 'axis' of node 'x' (Softmax): ...".
 */
#ifndef ONNXD_GRAPH_ATTRIBUTES_H
#define ONNXD_GRAPH_ATTRIBUTES_H

#include "graph/graph.h"

/* Fails unless every attribute of the node is one of `names` (NULL-terminated). The kind of
 * consumed_inputs, which opset 1 gave to many operators and none reads, is checked here. */
ONNXD_NODISCARD onnxd_status *onnxd_attributes_allow(const onnxd_node *node,
                                                     const char *const *names);
/* Fails unless the attribute is absent or of that kind: for what is read without a getter, and for
 * what is allowed and means nothing. */
ONNXD_NODISCARD onnxd_status *onnxd_attribute_check_kind(const onnxd_node *node, const char *name,
                                                         onnxd_attribute_kind kind);
ONNXD_NODISCARD onnxd_status *onnxd_attribute_int(const onnxd_node *node, const char *name,
                                                  int64_t minimum, int64_t maximum,
                                                  int64_t *inout_value);
ONNXD_NODISCARD onnxd_status *onnxd_attribute_float(const onnxd_node *node, const char *name,
                                                    float *inout_value);
/* `out_text` borrows from the graph. */
ONNXD_NODISCARD onnxd_status *onnxd_attribute_string(const onnxd_node *node, const char *name,
                                                     onnxd_text *inout_text);
/* INTS with min_count <= count <= max_count and each value in [minimum, maximum]; copies into
 * `values` (capacity max_count). *inout_count stays as it was when absent. */
ONNXD_NODISCARD onnxd_status *onnxd_attribute_ints(const onnxd_node *node, const char *name,
                                                   size_t min_count, size_t max_count,
                                                   int64_t minimum, int64_t maximum,
                                                   int64_t *values, size_t *inout_count);
/* Lists of any length, borrowed from the graph. *inout_count stays as it was when absent. */
ONNXD_NODISCARD onnxd_status *onnxd_attribute_int_list(const onnxd_node *node, const char *name,
                                                       const int64_t **inout_values,
                                                       size_t *inout_count);
ONNXD_NODISCARD onnxd_status *onnxd_attribute_float_list(const onnxd_node *node, const char *name,
                                                         const float **inout_values,
                                                         size_t *inout_count);
ONNXD_NODISCARD onnxd_status *onnxd_attribute_string_list(const onnxd_node *node, const char *name,
                                                          const onnxd_text **inout_values,
                                                          size_t *inout_count);
ONNXD_NODISCARD onnxd_status *onnxd_attribute_tensor(const onnxd_node *node, const char *name,
                                                     const onnxd_tensor **inout_tensor);
/* The type of values, as Optional's `type`. */
ONNXD_NODISCARD onnxd_status *onnxd_attribute_type(const onnxd_node *node, const char *name,
                                                   const onnxd_tensor_type **inout_type);
ONNXD_NODISCARD onnxd_status *onnxd_attribute_graph(const onnxd_node *node, const char *name,
                                                    const onnxd_graph **inout_graph);
/* Fails with "attribute 'x' of node ... is required" when absent. */
ONNXD_NODISCARD onnxd_status *onnxd_attribute_require(const onnxd_node *node, const char *name);

#endif
