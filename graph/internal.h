/*
 * Shared between the files of graph/ only.
 */
#ifndef ONNXD_GRAPH_INTERNAL_H
#define ONNXD_GRAPH_INTERNAL_H

#include "graph/graph.h"
#include "graph/op.h"

/* A name from a model, cut to 128 bytes and with control characters escaped, into `buffer`. */
#define ONNXD_NAME_TEXT 160
const char *onnxd_name_text(const char *name, char *buffer, size_t capacity);

/* As onnxd_graph_symbol() without the search: the caller knows that the name is new. */
ONNXD_NODISCARD onnxd_status *onnxd_graph_add_symbol(onnxd_graph *graph, const char *name,
                                                     int64_t *out_dim);
/* bytes from the graph's arena, zeroed; the error names the arena's limit. */
ONNXD_NODISCARD onnxd_status *onnxd_graph_alloc(onnxd_graph *graph, size_t count,
                                                size_t element_bytes, void **out_memory);

/* A node that makes `to` the same as `from`: an Identity of the newest opset, which takes every
 * kind of value. It is not resolved. */
ONNXD_NODISCARD onnxd_status *onnxd_graph_add_identity(onnxd_graph *graph, onnxd_value_id from,
                                                       onnxd_value_id to, onnxd_node_id *out_node);
/* Ends the tensors and subgraphs that the node's attributes own. */
void onnxd_node_release_attributes(onnxd_node *node);
/* Room for this many values and nodes in all, so that adding them leaves no outgrown arrays behind.
 */
ONNXD_NODISCARD onnxd_status *onnxd_graph_reserve(onnxd_graph *graph, size_t value_count,
                                                  size_t node_count);
/* Calls visit(subgraph, context) for each subgraph that the node owns, those within them aside. */
void onnxd_node_subgraphs(const onnxd_node *node,
                          void (*visit)(onnxd_graph *subgraph, void *context), void *context);
/* Symbols become unknown dimensions: those of one graph mean nothing in another. */
onnxd_tensor_type onnxd_type_without_symbols(const onnxd_tensor_type *type);

/* Room for what onnxd_op_infer() takes and gives, for any node of one graph. */
typedef struct onnxd_infer_scratch {
    onnxd_tensor_type *inputs;
    onnxd_tensor_type *outputs;
    const onnxd_tensor **constants;
} onnxd_infer_scratch;

ONNXD_NODISCARD onnxd_status *onnxd_infer_scratch_init(onnxd_infer_scratch *scratch,
                                                       const onnxd_graph *graph);
/* Also after a failed init, and of a zeroed one. */
void onnxd_infer_scratch_deinit(onnxd_infer_scratch *scratch);

/* The types of a graph's values as far as they follow from those of its inputs: symbols that a
 * model declares for what a node makes are left out, since exporters give one name to different
 * extents. Equal symbols are equal extents. */
typedef struct onnxd_derivation {
    const onnxd_graph *graph;
    onnxd_tensor_type *types; /* [capacity]; values added since the last step have none */
    size_t capacity;
    onnxd_infer_scratch scratch;
} onnxd_derivation;

/* Inputs and constants have their types; nodes are to be gone through in order, by
 * onnxd_derivation_step(). There is room for one more value per node. */
ONNXD_NODISCARD onnxd_status *onnxd_derivation_init(onnxd_derivation *derivation,
                                                    const onnxd_graph *graph);
void onnxd_derivation_deinit(onnxd_derivation *derivation); /* also after a failed init */
/* Sets the types of what the node makes. */
ONNXD_NODISCARD onnxd_status *onnxd_derivation_step(onnxd_derivation *derivation,
                                                    const onnxd_node *node);
/* init() and all steps. */
ONNXD_NODISCARD onnxd_status *onnxd_derivation_run(onnxd_derivation *derivation,
                                                   const onnxd_graph *graph);

/* Applies replacement[v] (v itself where nothing changes) to all node inputs and graph outputs. */
void onnxd_graph_replace_all(onnxd_graph *graph, const onnxd_value_id *replacement);

/* Ops whose outputs depend on the types of their inputs alone. */
bool onnxd_node_needs_types_only(const onnxd_node *node);
/* onnxd_op_evaluate() on types and those values that are known. A missing value is fine where
 * onnxd_node_needs_types_only() holds. */
ONNXD_NODISCARD onnxd_status *onnxd_op_evaluate_types(const onnxd_node *node,
                                                      const onnxd_tensor_type *types,
                                                      const onnxd_tensor *const *inputs,
                                                      size_t max_bytes, onnxd_tensor **outputs);

/* The same for an operator that has run(). An output that is no tensor is UNIMPLEMENTED, and so is
 * running a subgraph. */
ONNXD_NODISCARD onnxd_status *onnxd_op_evaluate_run(const onnxd_node *node,
                                                    const onnxd_tensor *const *inputs,
                                                    size_t max_bytes, onnxd_tensor **outputs);
/* A copy of a STRING tensor that owns its bytes. RESOURCE_EXHAUSTED, naming the output, beyond
 * max_bytes of them. */
ONNXD_NODISCARD onnxd_status *onnxd_tensor_own_strings(const onnxd_tensor *tensor, uint32_t output,
                                                       size_t max_bytes, onnxd_tensor **out_tensor);

/* Elements read, written or multiplied that one thread evaluates in a few seconds: what constant
 * folding may spend on a graph, and the evaluation of shape values on a set of input shapes. */
#define ONNXD_EVALUATION_MAX_WORK ((uint64_t)1 << 29)

/* Upper bounds, UINT64_MAX where they do not fit. */
typedef struct onnxd_evaluation_cost {
    uint64_t largest_bytes; /* of one output, without the bytes of strings */
    uint64_t bytes;         /* of all outputs */
    uint64_t work;          /* elements read, written or multiplied */
} onnxd_evaluation_cost;

/* `inputs` holds NULL where a value is not known or absent. What `output_types` leave open is not
 * counted. */
onnxd_evaluation_cost onnxd_node_evaluation_cost(const onnxd_node *node,
                                                 const onnxd_tensor *const *inputs,
                                                 const onnxd_tensor_type *output_types);
/* The bytes that the elements of a STRING tensor point to; 0 for other types. */
uint64_t onnxd_tensor_string_bytes(const onnxd_tensor *tensor);
uint64_t onnxd_saturating_add(uint64_t a, uint64_t b);

/* The context of a call of the node's definition; everything is borrowed. */
static inline onnxd_infer onnxd_infer_of(const onnxd_node *node, const onnxd_tensor_type *inputs,
                                         const onnxd_tensor *const *constants,
                                         onnxd_tensor_type *outputs)
{
    return (onnxd_infer){
        .node = node,
        .params = node->params,
        .opset = node->opset,
        .input_count = node->input_count,
        .output_count = node->output_count,
        .inputs = inputs,
        .constants = constants,
        .outputs = outputs,
    };
}

#endif
