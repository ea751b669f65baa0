/*
 * A frame: the values and prepared kernels of one graph that is run node by node. The frames of a
 * graph's subgraphs hang below it and are kept between runs, so a loop finds its kernels again.
 *
 * Threads: one at a time.
 */
#ifndef ONNXD_MODEL_FRAME_H
#define ONNXD_MODEL_FRAME_H

#include "ep/ep.h"
#include "graph/datum.h"

/* What a node used last, for when inputs of the same types come again. */
typedef struct onnxd_node_slot {
    onnxd_kernel *kernel; /* for these types; NULL: none yet, or output 0 is a view of input 0 */
    onnxd_tensor_type *types; /* inputs, then outputs; NULL until the first use */
    onnxd_tensor_view *views; /* the same; where the data lie is each run's own */
    /* The types of the outputs follow from those of the inputs: no value but constants decides. */
    bool is_settled;
} onnxd_node_slot;

typedef struct onnxd_frame onnxd_frame;
struct onnxd_frame {
    const onnxd_graph *graph;
    const bool *selected;       /* [node_count]: the nodes that run; NULL: all */
    onnxd_datum **values;       /* [value_count]; constants are always there */
    onnxd_node_id *last_reader; /* [value_count]: after it a value goes; ONNXD_NONE: it stays */
    onnxd_node_slot *slots;     /* [node_count] */
    onnxd_frame *children, *sibling;
    /* Room for the widest node: inputs, then outputs. */
    onnxd_datum **operands;
    onnxd_tensor_type *types;
    onnxd_tensor_view *views;
    onnxd_tensor **constants;
    const onnxd_tensor **known; /* of the inputs, as inference sees them */
};

/* `graph` and `selected` are borrowed. Errors: OUT_OF_MEMORY. */
ONNXD_NODISCARD onnxd_status *onnxd_frame_create(const onnxd_graph *graph, const bool *selected,
                                                 onnxd_frame **out_frame);
void onnxd_frame_destroy(onnxd_frame *frame); /* those below it, too; NULL is fine */
/* The frame of a subgraph of one of the graph's nodes, made when it is not there. */
ONNXD_NODISCARD onnxd_status *onnxd_frame_child(onnxd_frame *frame, const onnxd_graph *subgraph,
                                                onnxd_frame **out_child);
/* Makes `datum`, or nothing, the value, with a reference of its own. A constant stays as it is. */
void onnxd_frame_set(onnxd_frame *frame, onnxd_value_id value, onnxd_datum *datum);
/* Lets go of the values that no node after `node` reads. */
void onnxd_frame_drop_after(onnxd_frame *frame, onnxd_node_id node);
/* Lets go of everything but constants and kernels. */
void onnxd_frame_clear(onnxd_frame *frame);
/* Makes the frame's types and views those of the node's slot, and `kernel`, which may be NULL, its
 * kernel; takes over the reference, also on failure. Errors: OUT_OF_MEMORY. */
ONNXD_NODISCARD onnxd_status *onnxd_frame_keep_kernel(onnxd_frame *frame, onnxd_node_id node,
                                                      onnxd_kernel *kernel);

#endif
