/*
 * Building a plan, in the order of the calls below. What a plan does not keep lives in the builder.
 *
 *   types and known values ─► which nodes run ─► sections ─► stages and steps, each value located
 * in every space that reads it ─► what lies within or over something else ─► lifetimes to offsets
 * ─► views
 *
 * Time is counted in ticks: one for the uploads of a stage, one per step, one for its downloads.
 * Two values that live in one space at one tick never share bytes.
 */
#ifndef ONNXD_MODEL_PLAN_BUILD_H
#define ONNXD_MODEL_PLAN_BUILD_H

#include "memory/planner.h"
#include "model/internal.h"
#include "model/query.h"
#include "model/usage.h"

typedef enum onnxd_location_kind {
    ONNXD_NOWHERE,
    ONNXD_IN_ARENA,
    ONNXD_IN_INPUT,
    ONNXD_IN_CONSTANT
} onnxd_location_kind;

/* Where one value is in one space. */
typedef struct onnxd_location {
    onnxd_location_kind kind;
    uint32_t index; /* of the record, or of the model's input */
    void *address;  /* of a constant */
} onnxd_location;

/* A piece of a space's arena. */
typedef struct onnxd_live_range {
    uint32_t space;
    uint32_t first_tick, last_tick;
    size_t bytes, offset;
    uint32_t within; /* the range in whose memory it lies, or ONNXD_NONE */
    size_t distance; /* from the start of that one */
    /* The value whose strides its own has, a piece of it; ONNXD_NONE: it has no gaps. */
    onnxd_value_id strides_of;
} onnxd_live_range;

/* A copy whose offsets are not known yet. */
typedef struct onnxd_pending_transfer {
    onnxd_transfer transfer;
    uint32_t host_range; /* ONNXD_NONE: from an input of the model */
    uint32_t device_range;
} onnxd_pending_transfer;

typedef struct onnxd_pending_transfers {
    onnxd_pending_transfer *items;
    uint32_t count, capacity;
} onnxd_pending_transfers;

typedef struct onnxd_tick_span {
    uint32_t first, last;
} onnxd_tick_span;

typedef struct onnxd_stage_ticks {
    uint32_t uploads, downloads;
} onnxd_stage_ticks;

typedef struct onnxd_plan_builder {
    onnxd_model *model;
    const onnxd_graph *graph;
    onnxd_plan *plan;
    onnxd_tensor_type *types; /* [value_count], concrete */
    onnxd_tensor **known;     /* [value_count], evaluated on the way to the types */
    onnxd_usage usage;
    onnxd_value_id *roots;     /* [value_count]: the value whose memory a view shares; itself */
    uint32_t *input_of;        /* [value_count]: index of the model's input, or ONNXD_NONE */
    uint32_t *made_in;         /* [value_count]: stage that makes the value, or ONNXD_NONE */
    onnxd_location *locations; /* [space_count * value_count], of roots */
    onnxd_live_range *ranges;
    uint32_t range_count, range_capacity;
    onnxd_pending_transfers uploads, downloads;
    onnxd_stage_ticks *ticks;   /* [stage_count] */
    uint32_t *workspace_ranges; /* [step_count], or ONNXD_NONE */
    /* Of plan_parts.h: NULL and 0 where there is nothing to gain. */
    uint32_t parts; /* of the batch in every section */
    uint32_t section_count;
    uint32_t *section_of;           /* [node_count], or ONNXD_NONE */
    uint64_t *cut_inputs;           /* [node_count]: of onnxd_batch_is_divisible() */
    bool *is_part;                  /* [value_count]: lives within one section */
    onnxd_tick_span *section_ticks; /* [section_count]: of its steps */
    uint32_t now;                   /* the tick in hand */
    onnxd_query_maker queries;
} onnxd_plan_builder;

/* The tensor behind a value that is known before the run, or NULL. */
onnxd_tensor *onnxd_builder_constant(const onnxd_plan_builder *b, onnxd_value_id value);
/* Bytes of a value. Errors: UNIMPLEMENTED when its shape is not known, RESOURCE_EXHAUSTED beyond
 * max_tensor_bytes. */
ONNXD_NODISCARD onnxd_status *onnxd_builder_bytes(const onnxd_plan_builder *b, onnxd_value_id value,
                                                  size_t *out_bytes);
onnxd_location *onnxd_builder_location(const onnxd_plan_builder *b, uint32_t space,
                                       onnxd_value_id value);

/* plan_values.c */

/* A fresh range that lives at the current tick. */
ONNXD_NODISCARD onnxd_status *onnxd_builder_add_range(onnxd_plan_builder *b, uint32_t space,
                                                      size_t bytes, uint32_t *out_range);
/* Locates what the step in hand makes. */
ONNXD_NODISCARD onnxd_status *onnxd_builder_define(onnxd_plan_builder *b, onnxd_value_id value,
                                                   uint32_t stage);
/* Sees to it that the value can be read in `space` by `stage` (the stage count: by the caller) at
 * `tick`: downloads and uploads it if need be, each once. */
ONNXD_NODISCARD onnxd_status *onnxd_builder_require(onnxd_plan_builder *b, onnxd_value_id value,
                                                    uint32_t space, uint32_t stage, uint32_t tick);

/* plan_steps.c: stages, steps and kernels; locates every value that a step or the caller reads. */
ONNXD_NODISCARD onnxd_status *onnxd_builder_make_steps(onnxd_plan_builder *b);
/* plan_sharing.c: pieces of Concat, Split and Slice that lie within the whole, results that are
 * written over what is read no more; takes out the steps that have nothing left to do. Then each
 * range lies within one that lies within none, whose lifetime includes its own. Errors:
 * OUT_OF_MEMORY. */
ONNXD_NODISCARD onnxd_status *onnxd_builder_share_memory(onnxd_plan_builder *b);
/* plan_memory.c: offsets of all ranges, arenas, transfers by stage. */
ONNXD_NODISCARD onnxd_status *onnxd_builder_lay_out(onnxd_plan_builder *b);
/* plan_views.c: views, checked, and what a run patches. */
ONNXD_NODISCARD onnxd_status *onnxd_builder_make_views(onnxd_plan_builder *b);

#endif
