/* A run's parts, for run.c, which makes and ends them, and run_issue.c, which puts them to work. */
#ifndef ONNXD_MODEL_RUN_INTERNAL_H
#define ONNXD_MODEL_RUN_INTERNAL_H

#include "model/internal.h"
#include "model/run.h"

/* The memory of one space during a run. */
typedef struct onnxd_run_space {
    bool is_held;
    onnxd_buffer buffer;    /* devices */
    onnxd_pool_block block; /* the host */
} onnxd_run_space;

struct onnxd_run {
    onnxd_link link; /* the plan's list of spare runs */
    onnxd_plan *plan;
    const onnxd_tensor_view *inputs; /* the caller's */
    onnxd_run_space *spaces;         /* [model->space_count] */
    bool has_memory;                 /* all spaces were taken; some may be given back already */
    onnxd_tensor_view *views;        /* the plan's, with addresses */
    onnxd_kernel_args *args;         /* [step_count] */
    onnxd_string_arena strings;
    onnxd_interpreter *tail; /* NULL: the plan has none */
};

/* Where the memory of a space begins that the run has taken. */
static inline void *onnxd_run_space_base(const onnxd_run *run, uint32_t space)
{
    const onnxd_run_space *held = &run->spaces[space];
    return space == ONNXD_HOST_SPACE ? held->block.data : held->buffer.data;
}

#endif
