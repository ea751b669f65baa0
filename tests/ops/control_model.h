/*
 * Graphs made by hand for operators over subgraphs and sequences, and a small evaluator that runs
 * them node by node.
 *
 * Names are separated by spaces; "-" is an absent input or output. All graphs of a test live until
 * control_end().
 */
#ifndef ONNXD_TESTS_OPS_CONTROL_MODEL_H
#define ONNXD_TESTS_OPS_CONTROL_MODEL_H

#include "graph/datum.h"
#include "graph/op.h"

/* Limits of the evaluator, set by control_begin() to 1 MiB and 10000. */
typedef struct control_limits {
    uint64_t tensor_bytes;
    int64_t checks; /* after so many calls of check() it says CANCELLED */
} control_limits;
extern control_limits control_limit;

void control_begin(void);
void control_end(void);

/* ---- graphs -------------------------------------------------------------------------------- */

onnxd_graph *control_graph(const char *inputs);
void control_constant(onnxd_graph *graph, const char *name, onnxd_tensor *tensor); /* consumes it */
void control_declare(onnxd_graph *graph, const char *name, onnxd_dtype dtype, int32_t rank,
                     const int64_t *dims);
/* `op_type` has the domain in front where that is not ai.onnx: "ai.onnx.preview/FlexAttention".
 * Attributes are in `attributes`; graphs there become the node's. The node is resolved: errors are
 * those of that. */
onnxd_status *control_try_node(onnxd_graph *graph, const char *op_type, int64_t opset,
                               const char *inputs, const char *outputs,
                               const onnxd_attribute *attributes, uint32_t count);
void control_node(onnxd_graph *graph, const char *op_type, int64_t opset, const char *inputs,
                  const char *outputs, const onnxd_attribute *attributes, uint32_t count);
void control_outputs(onnxd_graph *graph, const char *outputs);

onnxd_attribute control_int(const char *name, int64_t value);
onnxd_attribute control_ints(const char *name, size_t count, const int64_t *values);
onnxd_attribute control_subgraph(const char *name, onnxd_graph *graph);

/* ---- values -------------------------------------------------------------------------------- */

onnxd_tensor *control_tensor(onnxd_dtype dtype, int32_t rank, const int64_t *dims,
                             const void *data);
onnxd_datum *control_ints_1d(size_t count, const int64_t *values); /* int64[count] */
onnxd_datum *control_scalar(int64_t value);                        /* int64[] */
onnxd_datum *control_flag(bool value);                             /* bool[] */
onnxd_datum *control_text(size_t count, const char *const *texts); /* string[count] */
/* Consumes the items. */
onnxd_datum *control_sequence(onnxd_dtype dtype, size_t count, onnxd_datum *const *items);

/* ---- running ------------------------------------------------------------------------------- */

/* Runs the graph; consumes the inputs (NULL: absent). `outputs` are references. */
onnxd_status *control_run(const onnxd_graph *graph, onnxd_datum *const *inputs,
                          onnxd_datum **outputs);
/* Infers the one node of the graph from these types. */
onnxd_status *control_infer(const onnxd_graph *graph, const onnxd_tensor_type *inputs,
                            onnxd_tensor_type *outputs);
/* Fails unless the status is an error whose message contains `text`; ends it. */
void control_expect_error(onnxd_status *status, const char *text);
/* "int64[2]{1,2}", "seq(int64){int64[]{1}; ...}", "nothing": of a value, which it releases. The
 * text is valid until the next call. */
const char *control_show(onnxd_datum *datum);
#define EXPECT_VALUE(datum, text) cr_expect_str_eq(control_show(datum), text)

#endif
