/*
 * What the files of the pass channels_last share:
 *
 *   channels_last.c        the walk, and the twins of values
 *   channels_last_rules.c  which operators follow, and how
 *   channels_last_axes.c   those that name dimensions
 *   channels_last_transposed.c  ConvTranspose
 *   channels_last_quantized.c   those on INT8 and UINT8
 *
 * Rules change nodes and may add some, which move nodes in memory: a node is named by its id.
 * Errors: OUT_OF_MEMORY, and those of resolving a node.
 */
#ifndef ONNXD_EP_CPU_PASSES_CHANNELS_LAST_H
#define ONNXD_EP_CPU_PASSES_CHANNELS_LAST_H

#include "graph/passes.h"
#include "graph/rewrite.h"

typedef struct onnxd_layout {
    onnxd_graph *graph;
    const onnxd_op_registry *registry;
    onnxd_value_id *twins; /* of each value that was there before the pass; ONNXD_NONE: none */
    uint32_t count;        /* of them */
    uint32_t changes;
} onnxd_layout;

/* ---- values ---------------------------------------------------------------------------------- */

int32_t onnxd_layout_rank_of(const onnxd_layout *l, onnxd_value_id value);
/* A FLOAT tensor of one to three spatial dimensions. */
bool onnxd_layout_is_image(const onnxd_layout *l, onnxd_value_id value);
bool onnxd_layout_has_twin(const onnxd_layout *l, onnxd_value_id value);
/* The twin of a value; a Transpose makes it where nothing does yet. */
ONNXD_NODISCARD onnxd_status *onnxd_layout_require_twin(onnxd_layout *l, onnxd_value_id value,
                                                        onnxd_value_id *out_twin);
/* The node makes the twins of what it made before, whose readers may never come. */
ONNXD_NODISCARD onnxd_status *onnxd_layout_turn_output(onnxd_layout *l, onnxd_node *node);

/* Whether an input of an elementwise node over images of `rank` can be had channels-last: an image
 * or a constant. */
bool onnxd_layout_can_turn(const onnxd_layout *l, onnxd_value_id value, int32_t rank);
/* All inputs of a node can, and one has a twin. */
bool onnxd_layout_can_turn_all(const onnxd_layout *l, const onnxd_node *node, int32_t rank);
ONNXD_NODISCARD onnxd_status *onnxd_layout_turn_input(onnxd_layout *l, onnxd_node_id id,
                                                      uint32_t index, int32_t rank);
/* The permutation [rank] that puts an image channels-last, or back. */
void onnxd_layout_perm(int32_t rank, bool to_last, int64_t *perm);
/* Where a dimension of an image of `rank` lies channels-last; negative ones count from the end. */
int32_t onnxd_layout_axis(int64_t axis, int32_t rank);

/* ---- nodes ----------------------------------------------------------------------------------- */

/* The node as an operator of the domain onnxd. */
ONNXD_NODISCARD onnxd_status *onnxd_layout_rename_node(onnxd_layout *l, onnxd_node *node,
                                                       const char *op_type);
/* The rule of a node, where it has one and can follow. */
ONNXD_NODISCARD onnxd_status *onnxd_layout_visit(onnxd_layout *l, onnxd_node_id id);

/* channels_last_axes.c */
ONNXD_NODISCARD onnxd_status *onnxd_layout_turn_concat(onnxd_layout *l, onnxd_node_id id);
ONNXD_NODISCARD onnxd_status *onnxd_layout_turn_axis(onnxd_layout *l, onnxd_node_id id);
ONNXD_NODISCARD onnxd_status *onnxd_layout_turn_resize(onnxd_layout *l, onnxd_node_id id);
ONNXD_NODISCARD onnxd_status *onnxd_layout_turn_pad(onnxd_layout *l, onnxd_node_id id);
ONNXD_NODISCARD onnxd_status *onnxd_layout_turn_slice(onnxd_layout *l, onnxd_node_id id);
ONNXD_NODISCARD onnxd_status *onnxd_layout_turn_mean(onnxd_layout *l, onnxd_node_id id);
ONNXD_NODISCARD onnxd_status *onnxd_layout_turn_squeeze(onnxd_layout *l, onnxd_node_id id);
ONNXD_NODISCARD onnxd_status *onnxd_layout_turn_transpose(onnxd_layout *l, onnxd_node_id id);
/* channels_last_transposed.c */
ONNXD_NODISCARD onnxd_status *onnxd_layout_turn_transposed(onnxd_layout *l, onnxd_node_id id);
/* channels_last_quantized.c */
ONNXD_NODISCARD onnxd_status *onnxd_layout_turn_quantized(onnxd_layout *l, onnxd_node_id id);
ONNXD_NODISCARD onnxd_status *onnxd_layout_turn_quantized_sum(onnxd_layout *l, onnxd_node_id id);
ONNXD_NODISCARD onnxd_status *onnxd_layout_turn_quantize(onnxd_layout *l, onnxd_node_id id);

#endif
