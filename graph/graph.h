/*
 * The graph: onnxd's intermediate representation of one ONNX graph.
 *
 * Arrays of values and nodes with 32-bit ids, no webs of pointers. Everything but constant tensors
 * lives in the graph's arena. A value has at most one producer (SSA). Nodes are kept in an order in
 * which every producer comes before its consumers; passes keep that true.
 *
 *   value ── producer ──► node ── inputs ──► value
 *     └── constant (an initializer, or what folding made of the producer)
 *
 * Threads: mutable while one thread loads and optimises it, immutable and shared afterwards.
 */
#ifndef ONNXD_GRAPH_GRAPH_H
#define ONNXD_GRAPH_GRAPH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/path.h"
#include "base/tensor.h"

typedef uint32_t onnxd_value_id;
typedef uint32_t onnxd_node_id;
/* An absent optional input or output; a value without a producer. */
#define ONNXD_NONE UINT32_MAX

typedef struct onnxd_graph onnxd_graph;
typedef struct onnxd_op_def onnxd_op_def; /* graph/op.h */

/* A name with its length; not necessarily NUL-free, always NUL-terminated. */
typedef struct onnxd_text {
    const char *data;
    size_t size;
} onnxd_text;

/* The numbers of ONNX's AttributeProto.AttributeType. */
typedef enum onnxd_attribute_kind {
    ONNXD_ATTRIBUTE_UNDEFINED = 0,
    ONNXD_ATTRIBUTE_FLOAT = 1,
    ONNXD_ATTRIBUTE_INT = 2,
    ONNXD_ATTRIBUTE_STRING = 3,
    ONNXD_ATTRIBUTE_TENSOR = 4,
    ONNXD_ATTRIBUTE_GRAPH = 5,
    ONNXD_ATTRIBUTE_FLOATS = 6,
    ONNXD_ATTRIBUTE_INTS = 7,
    ONNXD_ATTRIBUTE_STRINGS = 8,
    ONNXD_ATTRIBUTE_TENSORS = 9,
    ONNXD_ATTRIBUTE_GRAPHS = 10,
    ONNXD_ATTRIBUTE_SPARSE_TENSOR = 11,
    ONNXD_ATTRIBUTE_SPARSE_TENSORS = 12,
    ONNXD_ATTRIBUTE_TYPE_PROTO = 13,
    ONNXD_ATTRIBUTE_TYPE_PROTOS = 14
} onnxd_attribute_kind;

typedef struct onnxd_attribute {
    const char *name;
    onnxd_attribute_kind kind;
    size_t count; /* elements of the plural kinds; 1 otherwise */
    union {
        float f;
        int64_t i;
        onnxd_text s;
        const onnxd_tensor *tensor; /* owned by the graph; SPARSE_TENSOR too, made dense */
        onnxd_graph *graph;         /* owned by the graph */
        const onnxd_tensor_type *type;
        const float *floats;
        const int64_t *ints;
        const onnxd_text *strings;
        const onnxd_tensor *const *tensors; /* SPARSE_TENSORS too */
        onnxd_graph *const *graphs;
        const onnxd_tensor_type *types;
    } value;
} onnxd_attribute;

typedef struct onnxd_value {
    const char *name;       /* unique in its graph; "" never occurs */
    onnxd_tensor_type type; /* dtype UNDEFINED until inferred */
    onnxd_node_id producer; /* ONNXD_NONE: graph input, constant, or outer-scope value */
    onnxd_tensor *constant; /* NULL unless known at load; the graph holds a reference */
    bool is_input;          /* listed as a graph input that callers must supply */
    bool is_output;
} onnxd_value;

typedef struct onnxd_node {
    const char *name;   /* "" when the model gives none */
    const char *domain; /* "" is ai.onnx; "ai.onnx" is normalised to "" */
    const char *op_type;
    int64_t opset;           /* the model's import for the domain */
    const onnxd_op_def *def; /* resolved by the resolve pass; NULL before */
    const void *params;      /* the def's parsed attributes; in the arena; NULL when it has none */
    onnxd_value_id *inputs;  /* ONNXD_NONE for an absent optional input */
    onnxd_value_id *outputs;
    onnxd_attribute *attributes;
    uint32_t input_count, output_count, attribute_count;
    /* The last inputs are values that the node's subgraphs use from around them, each once. They
     * are counted in input_count; no formal of the operator describes them. */
    uint32_t capture_count;
    bool is_removed; /* set by passes; onnxd_graph_compact() drops the node */
} onnxd_node;

typedef struct onnxd_opset_import {
    const char *domain; /* normalised */
    int64_t version;
} onnxd_opset_import;

/* A value of the enclosing graph that a subgraph uses: what the subgraph calls `value` is input
 * `input` of the node that owns it. */
typedef struct onnxd_capture {
    onnxd_value_id value;
    uint32_t input;
} onnxd_capture;

/* A file beside the model's from which tensors were read. */
typedef struct onnxd_external_file {
    const char *location;   /* relative to the model's directory */
    onnxd_file_stamp stamp; /* before the first of them was read */
} onnxd_external_file;

struct onnxd_graph {
    const char *name;
    onnxd_arena arena;
    onnxd_value *values;
    onnxd_node *nodes;       /* topological order */
    onnxd_value_id *inputs;  /* what callers supply, in signature order (no initializers) */
    onnxd_value_id *outputs; /* in signature order */
    const char **symbols;    /* names of symbolic dimensions */
    onnxd_opset_import *opsets;
    uint32_t value_count, value_capacity;
    uint32_t node_count, node_capacity;
    uint32_t input_count, output_count;
    uint32_t symbol_count, symbol_capacity;
    uint32_t opset_count;
    int64_t ir_version;
    const char *producer_name; /* "" when the model gives none */
    /* What constant folding has spent on this graph, over all its runs. */
    uint64_t folded_bytes, folding_work;
    onnxd_external_file *external_files; /* of the model, subgraphs included; empty in subgraphs */
    uint32_t external_file_count, external_file_capacity;
    onnxd_graph *parent;     /* the enclosing graph of a subgraph, else NULL */
    onnxd_capture *captures; /* of a subgraph */
    uint32_t capture_count;
    /* Subgraphs whose nodes have moved into this graph, linked by their own `absorbed`: what the
     * nodes refer to still lies in their arenas. */
    onnxd_graph *absorbed;
};

/* An empty graph whose arena never passes max_bytes. */
ONNXD_NODISCARD onnxd_status *onnxd_graph_create(size_t max_bytes, onnxd_graph **out_graph);
void onnxd_graph_destroy(onnxd_graph *graph); /* subgraphs too */

/* Building. All copy what they are given into the arena.
 * Errors: OUT_OF_MEMORY, INVALID_ARGUMENT. */
ONNXD_NODISCARD onnxd_status *onnxd_graph_add_value(onnxd_graph *graph, const char *name,
                                                    onnxd_value_id *out_value);
/* attributes are copied shallowly: their payloads must live in the arena already. On success the
 * graph owns the tensors and subgraphs that they hold; on failure the caller still does.
 * INVALID_ARGUMENT when an output has a producer already or an id is out of range. */
ONNXD_NODISCARD onnxd_status *onnxd_graph_add_node(onnxd_graph *graph, const onnxd_node *node,
                                                   onnxd_node_id *out_node);
/* The code of a symbolic dimension called `name`, for onnxd_shape.dims. */
ONNXD_NODISCARD onnxd_status *onnxd_graph_symbol(onnxd_graph *graph, const char *name,
                                                 int64_t *out_dim);
/* The signature, in order, in place of an earlier one. `ids` holds no ONNXD_NONE. */
ONNXD_NODISCARD onnxd_status *onnxd_graph_set_inputs(onnxd_graph *graph, const onnxd_value_id *ids,
                                                     uint32_t count);
ONNXD_NODISCARD onnxd_status *onnxd_graph_set_outputs(onnxd_graph *graph, const onnxd_value_id *ids,
                                                      uint32_t count);
/* Makes `value` a constant without a producer: retains the tensor (the caller keeps its own
 * reference) and sets the value's type. A producing node must be removed by the caller. */
void onnxd_graph_set_constant(onnxd_graph *graph, onnxd_value_id value, onnxd_tensor *tensor);

/* Drops nodes marked removed and restores the topological order.
 * Errors: INVALID_ARGUMENT naming a node on a cycle. */
ONNXD_NODISCARD onnxd_status *onnxd_graph_compact(onnxd_graph *graph);
/* SSA, id ranges, topological order, outputs produced by somebody. Errors name the node or value.
 */
ONNXD_NODISCARD onnxd_status *onnxd_graph_verify(const onnxd_graph *graph);

/* The most inputs and the most outputs that a node has, at least 1: what scratch arrays for one
 * node at a time must hold. */
void onnxd_graph_widest(const onnxd_graph *graph, uint32_t *out_inputs, uint32_t *out_outputs);

/* ONNXD_NONE when there is none; linear search, for tests and messages. */
onnxd_value_id onnxd_graph_find_value(const onnxd_graph *graph, const char *name);
/* 0 when the model does not import the domain ("" is ai.onnx). */
int64_t onnxd_graph_opset(const onnxd_graph *graph, const char *domain);
const onnxd_attribute *onnxd_node_attribute(const onnxd_node *node, const char *name);

/* "node 'conv1' (Conv)" or "node #3 (Conv)" into `buffer` for messages; returns `buffer`. Long
 * names are cut and control characters escaped. Without a graph, a nameless node is "node (Conv)".
 */
const char *onnxd_node_label(const onnxd_graph *graph, const onnxd_node *node, char *buffer,
                             size_t capacity);
#define ONNXD_NODE_LABEL 256
/* "node 'x' (Conv): " before the message of `status`, unless that is NULL or begins so. Consumes
 * it. */
onnxd_status *onnxd_node_context(const onnxd_graph *graph, const onnxd_node *node,
                                 onnxd_status *status);

#endif
