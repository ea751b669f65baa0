/* What the files of model/ share of a model and its plans. Included by model/ alone. */
#ifndef ONNXD_MODEL_INTERNAL_H
#define ONNXD_MODEL_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/list.h"
#include "model/model.h"
#include "model/placement.h"
#include "model/plan.h"
#include "model/plan_cache.h"
#include "model/run.h"

/* The space that the host and all host-addressable instances share. */
#define ONNXD_HOST_SPACE 0u

/* One memory in which activations lie. */
typedef struct onnxd_space {
    onnxd_ep *ep;           /* NULL: the host */
    uint32_t ep_index;      /* of the instance, in the runtime */
    size_t alignment;       /* of everything in it */
    size_t piece_alignment; /* but of what lies within something else */
} onnxd_space;

/* Takes a model whose last reference is gone; see onnxd_model_set_reaper(). */
typedef struct onnxd_reaper onnxd_reaper;

struct onnxd_model {
    onnxd_link link; /* the reaper's */
    atomic_uint references;
    onnxd_runtime *runtime;
    char *name;
    int64_t version;
    onnxd_graph *graph;
    onnxd_model_port *inputs, *outputs; /* as many as the graph has */
    onnxd_model_options options;        /* only_ep and passes are not kept */
    onnxd_ep **eps;                     /* the instances this model may use */
    uint32_t *ep_indices;               /* [ep_count]: of each in the runtime */
    uint32_t *ep_spaces;                /* [ep_count] */
    bool *is_left_out;                  /* [ep_count]: its memory is too small for this model */
    size_t ep_count;
    onnxd_space *spaces;
    uint32_t space_count;
    onnxd_placement placement;
    bool *is_dynamic; /* [node_count]: of onnxd_graph_mark_dynamic() */
    onnxd_plan_cache plans;
    onnxd_weight **weights; /* [value_count]; NULL for values that are no constants */
    onnxd_statistics statistics;
    /* Requests between uses. */
    pthread_mutex_t requests_mutex;
    onnxd_fifo requests;
    onnxd_reaper *reaper;
};

/* Index into eps of the first instance in host memory that is in use, or ONNXD_NONE. */
uint32_t onnxd_model_host_ep(const onnxd_model *model);
/* Ends every request kept for reuse. */
void onnxd_model_drop_requests(onnxd_model *model);

/* ---- what callers see, while a model is loaded ------------------------------------------------
 */

/* Ports with the names that the file gives them, before any pass. Where callers can only pass
 * tensors, an output that a ZipMap makes becomes the tensor of its values. Errors: OUT_OF_MEMORY.
 */
ONNXD_NODISCARD onnxd_status *onnxd_model_name_ports(onnxd_model *model);
/* Their types, after placement. Errors: UNIMPLEMENTED for a port that callers cannot pass,
 * INVALID_ARGUMENT for one without a type. */
ONNXD_NODISCARD onnxd_status *onnxd_model_type_ports(onnxd_model *model);
/* Placement sees the outermost nodes alone. Errors: NO_EP_FOR_OP naming a node of a subgraph whose
 * operator is not known. */
ONNXD_NODISCARD onnxd_status *onnxd_model_check_subgraphs(const onnxd_model *model);

/* ---- placing, while a model is loaded -------------------------------------------------------- */

/* Errors: OUT_OF_MEMORY; what was acquired stays with the model. */
ONNXD_NODISCARD onnxd_status *onnxd_model_share_weights(onnxd_model *model);
void onnxd_model_drop_weights(onnxd_model *model);
/* Nodes on instances and constants in their memories; an instance that lacks the memory is left
 * out. Errors: those of onnxd_place() and of uploads; the shortage when nobody else can run the
 * model. */
ONNXD_NODISCARD onnxd_status *onnxd_model_place(onnxd_model *model);
/* The same once more, without one of the devices in use, because of `shortage`, which it consumes;
 * returns it when there is no device. No plan of the model is left. */
ONNXD_NODISCARD onnxd_status *onnxd_model_place_again(onnxd_model *model, onnxd_status *shortage);

/* ---- plans --------------------------------------------------------------------------------- */

/* A copy between the host and the stage's device. */
typedef struct onnxd_transfer {
    onnxd_value_id value;
    uint32_t stage;
    uint32_t input; /* uploads: of this input of the model; ONNXD_NONE: from the host's arena */
    size_t host_offset, device_offset, bytes;
} onnxd_transfer;

/* Consecutive steps of a stage in host memory that run once per part of a batch. */
typedef struct onnxd_plan_section {
    uint32_t first_step, step_count, parts;
    uint32_t first_move, move_count;
} onnxd_plan_section;

/* How far a view goes on from one part to the next. */
typedef struct onnxd_part_move {
    uint32_t view;
    size_t bytes;
} onnxd_part_move;

#define ONNXD_NO_WORKSPACE SIZE_MAX

typedef struct onnxd_step {
    onnxd_node_id node;
    onnxd_kernel *kernel;
    uint32_t stage;
    uint32_t first_view; /* inputs, then outputs */
    uint32_t input_count, output_count;
    size_t workspace_offset; /* in the arena of the stage's space, or ONNXD_NO_WORKSPACE */
} onnxd_step;

typedef struct onnxd_stage {
    uint32_t ep; /* index into model->eps */
    uint32_t space;
    uint32_t first_step, step_count;
    uint32_t first_section, section_count;
    uint32_t first_upload, upload_count;
    uint32_t first_download, download_count;
} onnxd_stage;

/* Which stages use the arena of a space. An arena that holds an output is never given back before
 * the run ends: last_stage is then the number of stages. */
typedef struct onnxd_plan_space {
    bool is_used;
    size_t arena_bytes, peak_bytes;
    uint32_t first_stage, last_stage;
} onnxd_plan_space;

/* A view whose address is known only to a run. */
typedef struct onnxd_view_patch {
    uint32_t view;
    uint32_t source; /* a space, or space_count + index of the model's input */
} onnxd_view_patch;

/* A constant that this plan's shapes brought about, on a device. */
typedef struct onnxd_plan_constant {
    onnxd_ep *ep;
    onnxd_buffer buffer;
} onnxd_plan_constant;

/* Nodes that are run one by one after all others; see model/tail.h. */
typedef struct onnxd_plan_tail {
    uint32_t stage;         /* ONNXD_NONE: there is no such node */
    bool *selected;         /* [node_count] */
    onnxd_value_id *inputs; /* what they read of the rest */
    uint32_t input_count, first_view;
} onnxd_plan_tail;

struct onnxd_plan {
    onnxd_link link; /* the reaper's */
    atomic_uint references;
    onnxd_model *model; /* outlives its plans */
    onnxd_tensor_type *input_types, *output_types;
    onnxd_stage *stages;
    onnxd_step *steps;
    onnxd_transfer *uploads, *downloads; /* by stage */
    onnxd_plan_space *spaces;            /* [model->space_count] */
    uint32_t stage_count, step_count, upload_count, download_count;
    uint32_t most_downloads; /* of any stage */
    /* Views of all steps, then one per input of the tail, then one per output of the model. */
    onnxd_tensor_view *views;
    uint32_t view_count, first_output_view;
    onnxd_view_patch *patches; /* by source */
    uint32_t *patch_starts;    /* of each space, then of the inputs, then the end */
    onnxd_tensor **known;      /* host constants of this plan's shapes */
    onnxd_plan_constant *constants;
    uint32_t known_count, constant_count;
    onnxd_plan_section *sections; /* by step */
    onnxd_part_move *moves;       /* by section */
    uint32_t section_count, move_count;
    onnxd_plan_tail tail;
    /* Runs between uses. */
    pthread_mutex_t runs_mutex;
    onnxd_fifo runs;
};

/* Builds a plan, without the cache. `inputs` as for onnxd_model_prepare(); data is read only of
 * those inputs that decide shapes. */
ONNXD_NODISCARD onnxd_status *onnxd_plan_build(onnxd_model *model, const onnxd_tensor_view *inputs,
                                               onnxd_plan **out_plan);
/* Whether a tensor of this type can be the input. Errors: INVALID_ARGUMENT in Triton's words. */
ONNXD_NODISCARD onnxd_status *onnxd_model_check_input(const onnxd_model *model, uint32_t index,
                                                      onnxd_dtype dtype, const onnxd_shape *shape);
/* As onnxd_plan_release(), but the last one destroys the plan on this thread. */
void onnxd_plan_release_here(onnxd_plan *plan);
void onnxd_plan_destroy(onnxd_plan *plan);
/* Frees a run for good. */
void onnxd_run_destroy(onnxd_run *run);
onnxd_run *onnxd_run_of_link(onnxd_link *link);

/* ---- the end of models ---------------------------------------------------------------------- */

/* From then on the last release hands the model to `reaper`, whose thread destroys it, instead of
 * destroying it on the releasing thread. Before the model is shared. */
void onnxd_model_set_reaper(onnxd_model *model, onnxd_reaper *reaper);
void onnxd_model_destroy(onnxd_model *model);

#endif
