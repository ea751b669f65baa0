/*
 * The operators of the build as a sorted list, and the forms in which `onnxd list-operators` writes
 * it.
 *
 * Threads: pure functions over constant data.
 */
#ifndef ONNXD_DAEMON_OPERATOR_TABLE_H
#define ONNXD_DAEMON_OPERATOR_TABLE_H

#include "base/strbuf.h"
#include "graph/op.h"

typedef struct onnxd_operator_list {
    const onnxd_op_def **defs; /* by domain, operator, first opset */
    size_t count;
} onnxd_operator_list;

/* Errors: OUT_OF_MEMORY. */
ONNXD_NODISCARD onnxd_status *onnxd_operator_list_init(const onnxd_op_registry *registry,
                                                       onnxd_operator_list *out_list);
void onnxd_operator_list_deinit(onnxd_operator_list *list);

/* A line each: domain, operator, opsets. */
void onnxd_operators_write_text(const onnxd_operator_list *list, onnxd_strbuf *out);
/* A JSON object a line for each definition:
 *   domain ("ai.onnx" for ""), operator, since, until,
 *   min_inputs, max_inputs, min_outputs, max_outputs (null: any number),
 *   inputs, outputs: [{types: [ONNX names], kinds: ["tensor", ...], variable (0: none), optional,
 *                      variadic}],
 *   run (made node by node on the host), random. */
void onnxd_operators_write_json(const onnxd_operator_list *list, onnxd_strbuf *out);
/* docs/operators.md. */
void onnxd_operators_write_markdown(const onnxd_operator_list *list, onnxd_strbuf *out);

#endif
