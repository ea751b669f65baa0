/*
 * What an operator is, independent of any device: its versions, attributes, types, shape rule, and
 * a portable kernel that computes it on host memory. One file in ops/ and one line in ops/ops.inc
 * make an operator; shape inference, constant folding, the CPU provider's fallback and the
 * generated support table all read this one definition.
 *
 *   resolve: find(domain, op_type, opset) ─► parse(attributes) ─► node->params
 *   infer:   types (and known values) of the inputs ─► types of the outputs
 *   compute: host views in ─► host views out
 *   run:     values in ─► values out, for operators whose results compute() cannot be given room
 *            for in advance: shapes that depend on data, sequences, subgraphs
 */
#ifndef ONNXD_GRAPH_OP_H
#define ONNXD_GRAPH_OP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/tensor.h"
#include "graph/datum.h"
#include "graph/graph.h"

/* The newest ai.onnx opset and IR version this build knows. Newer models are refused by number,
 * since nobody can promise that the next opset keeps an operator's meaning. */
#define ONNXD_OPSET_MAX 28
#define ONNXD_IR_VERSION_MAX 14

/* The domain of operators that only graph passes make. Models may not import it. */
#define ONNXD_INTERNAL_DOMAIN "onnxd"

#define ONNXD_OP_VARIADIC UINT16_MAX

/* One formal input or output. */
typedef struct onnxd_op_formal {
    onnxd_dtype_set types;
    uint8_t type_variable; /* formals with equal non-zero numbers must have one type: T1 = 1, ... */
    bool is_optional;
    uint8_t kinds; /* ONNXD_KIND bits of what it may be; 0: a tensor */
} onnxd_op_formal;

#define ONNXD_OP_MAX_FORMALS 17
/* batch_inputs of operators all of whose inputs may hold a batch. */
#define ONNXD_OP_ALL_INPUTS UINT32_MAX

/* Context of an inference call. Everything is borrowed. */
typedef struct onnxd_infer {
    const onnxd_node *node;
    const void *params;
    int64_t opset;
    uint32_t input_count, output_count;   /* as on the node, absent ones included */
    const onnxd_tensor_type *inputs;      /* dtype UNDEFINED: absent, or (at load) not known */
    const onnxd_tensor *const *constants; /* [input_count], NULL where the value is not known */
    onnxd_tensor_type *outputs; /* preset to UNDEFINED and unknown rank; left so when absent */
} onnxd_infer;

/* Hands out bytes of strings that a kernel makes (Cast to string). They live as long as the run. */
typedef struct onnxd_string_arena {
    onnxd_arena arena;
} onnxd_string_arena;

/* Context of a computation. Inputs and outputs are contiguous host views whose types and shapes
 * infer() has accepted; an absent one has dtype UNDEFINED. Outputs never overlap inputs, except as
 * in_place_inputs allows. */
typedef struct onnxd_compute {
    const onnxd_node *node;
    const void *params;
    int64_t opset;
    uint32_t input_count, output_count;
    const onnxd_tensor_view *inputs;
    onnxd_tensor_view *outputs;
    void *workspace; /* workspace_bytes() bytes, 64-byte aligned; NULL when that is 0 */
    onnxd_string_arena *strings;
} onnxd_compute;

/* What an operator that makes its own outputs may use. Given by the executor. */
typedef struct onnxd_run_env onnxd_run_env;
struct onnxd_run_env {
    /* A tensor with room for its elements, not zeroed, counted against the run's memory. Errors:
     * PAYLOAD_TOO_LARGE beyond the limit for one tensor, OUT_OF_MEMORY. */
    onnxd_status *(*allocate)(const onnxd_run_env *env, onnxd_dtype dtype, const onnxd_shape *shape,
                              onnxd_tensor **out_tensor);
    /* Runs a subgraph of the node. `inputs` are those the subgraph lists, borrowed; what it
     * captures comes from the node's own inputs, `node_inputs`. Each entry of `outputs`, as many as
     * the subgraph lists, becomes a reference of the caller's. */
    onnxd_status *(*run_subgraph)(const onnxd_run_env *env, const onnxd_graph *subgraph,
                                  onnxd_datum *const *node_inputs, onnxd_datum *const *inputs,
                                  onnxd_datum **outputs);
    /* CANCELLED when the request is, or DEADLINE_EXCEEDED; for loops to ask now and then. */
    onnxd_status *(*check)(const onnxd_run_env *env);
};

/* Context of such an operator. Inputs are borrowed, NULL where absent; tensors are contiguous and
 * on the host. Each present output receives a reference; after a failure the caller releases those
 * that were set. Outputs may be inputs, retained. */
typedef struct onnxd_dynamic {
    const onnxd_node *node;
    const void *params;
    int64_t opset;
    uint32_t input_count, output_count; /* captures included */
    onnxd_datum *const *inputs;
    onnxd_datum **outputs; /* preset to NULL */
    const onnxd_run_env *env;
} onnxd_dynamic;

/* Operators that only move whole boxes of elements. */
typedef enum onnxd_op_pieces {
    ONNXD_PIECES_NONE,
    ONNXD_PIECES_JOINED, /* the inputs are boxes of output 0 and fill it */
    ONNXD_PIECES_CUT     /* the outputs are boxes of input 0 */
} onnxd_op_pieces;

struct onnxd_op_def {
    const char *domain; /* "" is ai.onnx */
    const char *op_type;
    /* The opsets of the domain for which this definition holds, both inclusive. */
    int64_t since, until;
    uint16_t min_inputs, max_inputs; /* max may be ONNXD_OP_VARIADIC */
    uint16_t min_outputs, max_outputs;
    /* Formals in order; a variadic operator's last formal repeats. */
    onnxd_op_formal inputs[ONNXD_OP_MAX_FORMALS];
    onnxd_op_formal outputs[ONNXD_OP_MAX_FORMALS];

    /* Attributes into params: kinds, lengths, ranges and defaults are checked here, once, with
     * graph/attributes.h. `params` is params_bytes of zeroed memory; longer parts come from
     * `arena`. NULL when the operator has no attributes (then any attribute is an error). */
    size_t params_bytes;
    onnxd_status *(*parse)(const onnxd_node *node, int64_t opset, onnxd_arena *arena, void *params);

    /* Required. Output types from input types; dims may be symbolic or unknown, rank may be
     * unknown. With static inputs and the constants it asks for, the result must be static. All
     * checks that compute() relies on are made here, on values too when they are known. Errors:
     * INVALID_ARGUMENT saying which input, what and what is allowed. */
    onnxd_status *(*infer)(onnxd_infer *infer);

    /* Bit i set: the value (not just the type) of input i decides output shapes or is needed to
     * check the node. The executor makes such values known before it infers. */
    uint32_t shape_inputs;

    /* The portable kernel. NULL: only providers can run it. Must check what infer() could not know
     * (indices taken from data) and return errors naming the value.
     * workspace_bytes: NULL means none. */
    size_t (*workspace_bytes)(const onnxd_compute *compute);
    onnxd_status *(*compute)(const onnxd_compute *compute);

    /* In place of compute(), for operators whose output shapes follow from data or whose inputs or
     * outputs are not all tensors. infer() then leaves unknown what it cannot tell. Everything that
     * depends on such an output is run node by node on the host. */
    onnxd_status *(*run)(onnxd_dynamic *dynamic);

    /* Output 0 has the same bytes in the same order as input 0 (Reshape, Identity, ...): the
     * executor may let both share memory instead of copying, where the node has no other output. */
    bool is_view;
    /* Bit i set: compute() may be given the memory of input i for output 0 where both have one type
     * and shape, whichever other inputs are that memory too: it reads each element before it writes
     * the one at its place, and no more after. */
    uint32_t in_place_inputs;
    /* With pieces: finds the row-major index in the whole of the first element of a piece, which is
     * an input or output of infer's, all of whose types are static. Dimension for dimension, the
     * piece has the elements that follow it. False when it is no such box or not known. */
    onnxd_op_pieces pieces;
    bool (*find_piece)(const onnxd_infer *infer, uint32_t piece, size_t *out_first);
    /* Bit i set (bit 31: input 31 and all after it): input i may hold a batch. What every output
     * has at an index of the first dimension then follows from what those inputs that have the
     * output's extent there, and no lower rank, have at the same index, and from all of the other
     * inputs. 0: nothing is known. */
    uint32_t batch_inputs;
    /* Where that depends on attributes or outputs in a way that shapes do not show: whether it is
     * so for a node whose types are static. NULL: it always is. */
    bool (*has_batch)(const onnxd_infer *infer);
    /* The result is not a function of the inputs alone (random numbers): never folded. */
    bool is_nondeterministic;
};

/* The operators of a build: arrays of definitions, each ended by one with a NULL op_type. */
typedef struct onnxd_op_registry {
    const onnxd_op_def *const *tables;
    size_t table_count;
} onnxd_op_registry;

/* The definition that holds for (domain, op_type) at `opset`, or NULL. */
const onnxd_op_def *onnxd_op_find(const onnxd_op_registry *registry, const char *domain,
                                  const char *op_type, int64_t opset);
/* Why onnxd_op_find() found nothing: unknown operator, or which opsets are known. NO_EP_FOR_OP. */
ONNXD_NODISCARD onnxd_status *onnxd_op_missing(const onnxd_op_registry *registry,
                                               const char *domain, const char *op_type,
                                               int64_t opset);

/* Finds the node's definition, checks counts, and parses attributes into node->params. The same
 * check that every provider's supports_op rests on.
 * Errors: NO_EP_FOR_OP, INVALID_ARGUMENT with the attribute's name. */
ONNXD_NODISCARD onnxd_status *onnxd_op_resolve(const onnxd_op_registry *registry,
                                               onnxd_graph *graph, onnxd_node *node);
/* Whether present input types obey the definition's formals. Errors name the input and the allowed
 * types. */
ONNXD_NODISCARD onnxd_status *onnxd_op_check_types(const onnxd_op_def *def, const onnxd_node *node,
                                                   const onnxd_tensor_type *inputs,
                                                   uint32_t input_count);
/* Types of the node's outputs: onnxd_op_check_types(), then def->infer. */
ONNXD_NODISCARD onnxd_status *onnxd_op_infer(const onnxd_node *node,
                                             const onnxd_tensor_type *inputs,
                                             const onnxd_tensor *const *constants,
                                             onnxd_tensor_type *outputs);
/* Runs the portable kernel on the host and returns new tensors: constant folding and the
 * evaluation of shape values. max_bytes bounds each output, and the bytes of its strings.
 * Errors: those of infer and compute; UNIMPLEMENTED without a portable kernel;
 * RESOURCE_EXHAUSTED beyond max_bytes. `outputs` holds node->output_count entries; absent ones are
 * NULL. */
ONNXD_NODISCARD onnxd_status *onnxd_op_evaluate(const onnxd_node *node,
                                                const onnxd_tensor *const *inputs, size_t max_bytes,
                                                onnxd_tensor **outputs);

#endif
