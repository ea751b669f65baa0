/*
 * What operators over subgraphs, sequences and optionals share: their attributes, single values,
 * types of what is one thing or another, and inference into subgraphs.
 */
#ifndef ONNXD_OPS_CONTROL_CONTROL_H
#define ONNXD_OPS_CONTROL_CONTROL_H

#include "ops/support.h"
#include "ops/types.h"

/* The most elements of a sequence that is made here. ONNX sets no limit; each costs a few hundred
 * bytes whatever it holds. */
#define ONNXD_SEQUENCE_MAX_ITEMS ((size_t)1 << 20)

#define ONNXD_KINDS_SEQUENCE (ONNXD_KIND(TENSOR) | ONNXD_KIND(SEQUENCE))
#define ONNXD_KINDS_OPTIONAL                                                                       \
    (ONNXD_KIND(TENSOR) | ONNXD_KIND(SEQUENCE) | ONNXD_KIND(OPTIONAL) |                            \
     ONNXD_KIND(OPTIONAL_SEQUENCE))

/* The node's inputs without those that its subgraphs capture. */
static inline uint32_t onnxd_control_formals(const onnxd_node *node)
{
    return node->input_count - node->capture_count;
}

/* A required attribute that is a graph. */
ONNXD_NODISCARD onnxd_status *onnxd_control_graph(const onnxd_node *node, const char *name,
                                                  const onnxd_graph **out_graph);
/* INVALID_ARGUMENT unless the subgraph has so many inputs and outputs. `name` is the attribute's.
 */
ONNXD_NODISCARD onnxd_status *onnxd_control_check_graph(const onnxd_node *node, const char *name,
                                                        const onnxd_graph *graph,
                                                        uint32_t input_count,
                                                        uint32_t output_count);

/* A bool or an integer (int32 or int64) of one element. `what` names it in the message. */
ONNXD_NODISCARD onnxd_status *onnxd_control_bool(const onnxd_node *node, const char *what,
                                                 const onnxd_datum *datum, bool *out_value);
ONNXD_NODISCARD onnxd_status *onnxd_control_int(const onnxd_node *node, const char *what,
                                                const onnxd_datum *datum, int64_t *out_value);
/* INVALID_ARGUMENT when input `index` is known to have another number of elements than one. */
ONNXD_NODISCARD onnxd_status *onnxd_control_check_single(const onnxd_infer *infer, uint32_t index);
/* A tensor of one element with the bytes at `value`, of rank 0 or 1. */
ONNXD_NODISCARD onnxd_status *onnxd_control_single(const onnxd_dynamic *dynamic, onnxd_dtype dtype,
                                                   int32_t rank, const void *value,
                                                   onnxd_datum **out_datum);
/* A tensor as a value; consumes the caller's reference, also on failure. */
ONNXD_NODISCARD onnxd_status *onnxd_control_datum(onnxd_tensor *tensor, onnxd_datum **out_datum);
/* INVALID_ARGUMENT unless the value is there and a tensor. */
ONNXD_NODISCARD onnxd_status *onnxd_control_tensor(const onnxd_node *node, const char *what,
                                                   const onnxd_datum *datum,
                                                   const onnxd_tensor **out_tensor);

/* The shape of what has shape `a` or shape `b`. */
onnxd_shape onnxd_control_join(const onnxd_shape *a, const onnxd_shape *b);
/* The shape without one axis (0 <= axis < rank), and with one of extent `dim` (0 <= axis <= rank <
 * ONNXD_MAX_RANK). An unknown rank stays unknown. */
onnxd_shape onnxd_control_without_axis(const onnxd_shape *shape, int32_t axis);
onnxd_shape onnxd_control_with_axis(const onnxd_shape *shape, int32_t axis, int64_t dim);

/* Arrays of `count` entries, at least one, unknown or NULL; ended with onnxd_free() and with
 * onnxd_datums_free(). */
ONNXD_NODISCARD onnxd_status *onnxd_control_types(uint32_t count, onnxd_tensor_type **out_types);
ONNXD_NODISCARD onnxd_status *onnxd_control_datums(size_t count, onnxd_datum ***out_datums);
/* The type of what a subgraph would have given in output `output`, had it run on such inputs: for
 * results of no iterations. Dimensions that are not known are 0, as ONNX Runtime has it.
 * Errors: INVALID_ARGUMENT when its element type is not known. */
ONNXD_NODISCARD onnxd_status *onnxd_control_unrun_type(const onnxd_dynamic *dynamic,
                                                       const onnxd_graph *graph,
                                                       const onnxd_tensor_type *inputs,
                                                       uint32_t output,
                                                       onnxd_tensor_type *out_type);

#endif
