/*
 * Graph passes: each one file graph/passes/<name>.c and one line in graph/passes.inc, idempotent,
 * disabled by name, verified before/after by text dumps in tests.
 */
#ifndef ONNXD_GRAPH_PASSES_H
#define ONNXD_GRAPH_PASSES_H

#include "graph/graph.h"
#include "graph/op.h"

typedef struct onnxd_pass_env {
    const onnxd_op_registry *registry;
    uint64_t fold_max_node_bytes;  /* a folded output beyond this stays a node; default 16 MiB */
    uint64_t fold_max_total_bytes; /* default 256 MiB */
    const char *const *disabled;   /* NULL-terminated pass names, or NULL */
    /* DequantizeLinear of constants stays, for passes that want quantised weights. */
    bool keeps_quantized;
} onnxd_pass_env;

typedef struct onnxd_pass {
    const char *name;
    const char *summary; /* one line for --help and docs */
    onnxd_status *(*run)(onnxd_graph *graph, const onnxd_pass_env *env, uint32_t *out_changes);
    /* Of a provider's pass: it makes nodes that other providers need not know, and is left out
     * where a model may use an instance of another one. */
    bool is_private;
    /* Runs before DequantizeLinear of constants is computed. */
    bool wants_quantized;
} onnxd_pass;

/* All passes in the order in which they run; NULL-terminated. */
extern const onnxd_pass *const onnxd_passes[];

/* Of use behind passes that leave nodes and constants which nobody reads. */
extern const onnxd_pass onnxd_pass_remove_dead;

bool onnxd_pass_is_disabled(const onnxd_pass_env *env, const char *name);
/* INVALID_ARGUMENT for a disabled name that is no pass of any of the lists; each of them and their
 * array are NULL-terminated. */
ONNXD_NODISCARD onnxd_status *onnxd_pass_check_disabled(const onnxd_pass_env *env,
                                                        const onnxd_pass *const *const *lists);

/* Runs them to a fixed point (bounded), on subgraphs too, and shape inference whenever something
 * has changed and at the end. */
ONNXD_NODISCARD onnxd_status *onnxd_passes_run(onnxd_graph *graph, const onnxd_pass_env *env);

/* Runs one pass, such as a provider's, on a graph whose types are inferred and then on its
 * subgraphs; what it has changed is verified, compacted and inferred again. */
ONNXD_NODISCARD onnxd_status *onnxd_pass_run(onnxd_graph *graph, const onnxd_pass *pass,
                                             const onnxd_pass_env *env);

/* Infers every value's type from the inputs' declared types, in subgraphs too. A contradiction with
 * a declared type is INVALID_ARGUMENT; a node without a definition, or with inputs of unknown
 * types, leaves its outputs unknown. So does, in a subgraph, whatever is wrong there: it is wrong
 * only when it is run. */
ONNXD_NODISCARD onnxd_status *onnxd_infer_shapes(onnxd_graph *graph);

/* Which nodes have to be run one by one on the host: is_dynamic[n] (node_count entries) is set
 * where the definition of node n has run() and no compute(), an input or output of it is no tensor,
 * or an input comes from such a node. The others can be planned for as soon as the shapes of the
 * graph's inputs are known. Wants the kinds of values, hence inference, before. Errors:
 * INVALID_ARGUMENT naming a node that comes before what it depends on. */
ONNXD_NODISCARD onnxd_status *onnxd_graph_mark_dynamic(const onnxd_graph *graph, bool *is_dynamic);

/*
 * Concrete types for one set of input shapes, without changing the graph.
 *
 * `types` has value_count entries, `known` (evaluated values; the caller releases each) too.
 * Inputs' static types are given in types[graph->inputs[i]]; `known` may hold the values of inputs
 * that decide shapes, which stay. Nodes whose inputs are all known and whose result some shape
 * depends upon are evaluated, within max_bytes each, 16 times as much alive together, and a fixed
 * amount of work. What only evaluated nodes read is dropped again: a node that still has to run
 * finds every input that was evaluated in `known`.
 *
 * Nodes that `is_dynamic` marks (onnxd_graph_mark_dynamic(); NULL: none) are left out: the types of
 * their outputs are those that were inferred at load, and graph inputs that are no tensors need no
 * type. Errors: INVALID_ARGUMENT naming the node; UNIMPLEMENTED when a shape depends on data that
 * only running the model could tell; RESOURCE_EXHAUSTED naming the node that passes a bound.
 */
ONNXD_NODISCARD onnxd_status *onnxd_specialize(const onnxd_graph *graph, size_t max_bytes,
                                               const bool *is_dynamic, onnxd_tensor_type *types,
                                               onnxd_tensor **known);
/* Marks (true) each graph input whose value, not just shape, onnxd_specialize() needs.
 * `needs_value` has input_count entries; `is_dynamic` is as above. */
ONNXD_NODISCARD onnxd_status *onnxd_shape_value_inputs(const onnxd_graph *graph,
                                                       const bool *is_dynamic, bool *needs_value);

#endif
