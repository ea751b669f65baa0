/*
 * The iterations of Scan, which its versions share: a body with the inputs (states..., elements...)
 * and the outputs (states..., scanned...) over the elements of sources along an axis of each.
 */
#ifndef ONNXD_OPS_CONTROL_SCAN_H
#define ONNXD_OPS_CONTROL_SCAN_H

#include "ops/control/control.h"
#include "ops/control/pieces.h"

/* What the attributes say. Lists are borrowed from the graph, NULL when not given. */
typedef struct onnxd_scan_loop_params {
    const onnxd_graph *body;
    uint32_t state_count, source_count, scanned_count;
    const int64_t *source_axes, *source_directions;   /* [source_count] */
    const int64_t *scanned_axes, *scanned_directions; /* [scanned_count] */
} onnxd_scan_loop_params;

/* Attributes 'body' and 'num_scan_inputs', and how many states and scanned outputs follow from
 * them, for a node with `formal_count` states and sources. */
ONNXD_NODISCARD onnxd_status *onnxd_scan_loop_parse(const onnxd_node *node, uint32_t formal_count,
                                                    onnxd_scan_loop_params *p);
/* A list of `count` numbers in [minimum, maximum], NULL when absent. */
ONNXD_NODISCARD onnxd_status *onnxd_scan_loop_parse_list(const onnxd_node *node, const char *name,
                                                         size_t count, int64_t minimum,
                                                         int64_t maximum,
                                                         const int64_t **out_values);

/* One scan under way. */
typedef struct onnxd_scan_loop {
    onnxd_dynamic *dynamic;
    const onnxd_scan_loop_params *params;
    const onnxd_tensor *const *sources; /* [source_count], borrowed */
    const int32_t *axes;                /* [source_count] */
    int64_t iterations;
    int64_t extent;      /* of what is scanned, at least `iterations`; what is missing is zero */
    onnxd_datum **given; /* [body->input_count]; states come from the caller, with a reference */
    onnxd_datum **made;  /* [body->output_count] */
    onnxd_stack *stacks; /* [scanned_count] */
} onnxd_scan_loop;

/* The arrays of a scan whose other members are set. Errors: OUT_OF_MEMORY. */
ONNXD_NODISCARD onnxd_status *onnxd_scan_loop_init(onnxd_scan_loop *scan);
void onnxd_scan_loop_deinit(onnxd_scan_loop *scan);
/* All iterations: `given` then begins with the final states, `stacks` are filled. */
ONNXD_NODISCARD onnxd_status *onnxd_scan_loop_run(onnxd_scan_loop *scan);

/* A list of tensors among the node's inputs, from `first` on, borrowed. */
ONNXD_NODISCARD onnxd_status *onnxd_scan_loop_inputs(const onnxd_dynamic *dynamic, uint32_t first,
                                                     uint32_t count, const onnxd_tensor **tensors);

#endif
