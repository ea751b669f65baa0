#include "model/run.h"

#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "model/internal.h"
#include "model/tail.h"

/* Runs kept by a plan for reuse; more than are ever in flight on a few devices. */
#define MAX_SPARE_RUNS 32
#define STRING_BLOCK_BYTES ((size_t)4 << 10)

/* The memory of one space during a run. */
typedef struct run_space {
    bool is_held;
    onnxd_buffer buffer;    /* devices */
    onnxd_pool_block block; /* the host */
} run_space;

struct onnxd_run {
    onnxd_link link; /* the plan's list of spare runs */
    onnxd_plan *plan;
    const onnxd_tensor_view *inputs; /* the caller's */
    run_space *spaces;               /* [model->space_count] */
    bool has_memory;                 /* all spaces were taken; some may be given back already */
    onnxd_tensor_view *views;        /* the plan's, with addresses */
    onnxd_kernel_args *args;         /* [step_count] */
    onnxd_string_arena strings;
    onnxd_interpreter *tail; /* NULL: the plan has none */
};

/* ---- making and recycling ------------------------------------------------------------------ */

onnxd_run *onnxd_run_of_link(onnxd_link *link)
{
    return ONNXD_CONTAINER_OF(link, onnxd_run, link);
}

void onnxd_run_destroy(onnxd_run *run)
{
    if (run == NULL)
        return;
    onnxd_arena_deinit(&run->strings.arena);
    onnxd_interpreter_destroy(run->tail);
    onnxd_free(run->spaces);
    onnxd_free(run->views);
    onnxd_free(run->args);
    onnxd_free(run);
}

static size_t string_limit(const onnxd_model *model)
{
    const uint64_t limit = model->options.max_tensor_bytes;
    return limit > SIZE_MAX / 2 ? SIZE_MAX / 2 : (size_t)limit;
}

static onnxd_status *run_create(const onnxd_plan *plan, onnxd_run **out_run)
{
    onnxd_run *run = onnxd_alloc_zero(1, sizeof(*run));
    if (run == NULL)
        return onnxd_error_out_of_memory("a run", sizeof(*run), UINT64_MAX);
    onnxd_arena_init(&run->strings.arena, STRING_BLOCK_BYTES, string_limit(plan->model));
    run->spaces = onnxd_alloc_zero(plan->model->space_count, sizeof(run->spaces[0]));
    run->views = onnxd_alloc_zero(plan->view_count, sizeof(run->views[0]));
    run->args = onnxd_alloc_zero(plan->step_count, sizeof(run->args[0]));
    if (run->spaces == NULL || run->views == NULL || run->args == NULL) {
        onnxd_run_destroy(run);
        return onnxd_error_out_of_memory("a run", plan->view_count * sizeof(run->views[0]),
                                         UINT64_MAX);
    }
    if (plan->tail.stage != ONNXD_NONE) {
        onnxd_status *status = onnxd_tail_create(plan, &run->tail);
        if (status != NULL) {
            onnxd_run_destroy(run);
            return status;
        }
    }
    if (plan->view_count > 0)
        memcpy(run->views, plan->views, plan->view_count * sizeof(run->views[0]));
    for (uint32_t i = 0; i < plan->step_count; i++) {
        const onnxd_step *step = &plan->steps[i];
        run->args[i] = (onnxd_kernel_args){
            .inputs = run->views + step->first_view,
            .outputs = run->views + step->first_view + step->input_count,
            .input_count = step->input_count,
            .output_count = step->output_count,
            .strings = plan->stages[step->stage].space == ONNXD_HOST_SPACE ? &run->strings : NULL,
        };
    }
    *out_run = run;
    return NULL;
}

static onnxd_status *check_inputs(const onnxd_plan *plan, const onnxd_tensor_view *inputs)
{
    for (uint32_t i = 0; i < plan->model->graph->input_count; i++)
        if (inputs[i].dtype != plan->input_types[i].dtype ||
            !onnxd_shape_equal(&inputs[i].shape, &plan->input_types[i].shape) ||
            !onnxd_tensor_view_is_contiguous(&inputs[i]))
            return onnxd_error(ONNXD_INVALID_ARGUMENT,
                               "input '%s' for model '%s' is not what the plan was made for",
                               plan->model->inputs[i].name, plan->model->name);
    return NULL;
}

static void patch_inputs(onnxd_run *run)
{
    const onnxd_plan *plan = run->plan;
    const uint32_t spaces = plan->model->space_count;
    for (uint32_t i = plan->patch_starts[spaces]; i < plan->patch_starts[spaces + 1]; i++) {
        const onnxd_tensor_view *input = &run->inputs[plan->patches[i].source - spaces];
        run->views[plan->patches[i].view].data = input->data;
        run->views[plan->patches[i].view].byte_offset = input->byte_offset;
    }
}

onnxd_status *onnxd_run_acquire(onnxd_plan *plan, const onnxd_tensor_view *inputs,
                                onnxd_run **out_run)
{
    onnxd_run *run;
    ONNXD_TRY(check_inputs(plan, inputs));
    pthread_mutex_lock(&plan->runs_mutex);
    onnxd_link *link = onnxd_fifo_pop(&plan->runs);
    pthread_mutex_unlock(&plan->runs_mutex);
    if (link != NULL)
        run = onnxd_run_of_link(link);
    else
        ONNXD_TRY(run_create(plan, &run));
    run->plan = onnxd_plan_retain(plan);
    run->inputs = inputs;
    patch_inputs(run);
    *out_run = run;
    return NULL;
}

/* ---- memory of the spaces ------------------------------------------------------------------ */

/* False when it was not held. */
static bool give_back(onnxd_run *run, uint32_t space)
{
    run_space *held = &run->spaces[space];
    if (!held->is_held)
        return false;
    held->is_held = false;
    if (space == ONNXD_HOST_SPACE)
        onnxd_pool_release(run->plan->model->runtime->host_pool, held->block);
    else
        onnxd_status_free(onnxd_ep_deallocate(run->plan->model->spaces[space].ep, held->buffer));
    return true;
}

static onnxd_status *take(onnxd_run *run, uint32_t space)
{
    const onnxd_model *model = run->plan->model;
    const size_t bytes = run->plan->spaces[space].arena_bytes;
    run_space *held = &run->spaces[space];
    void *base;
    if (space == ONNXD_HOST_SPACE) {
        ONNXD_TRY(onnxd_pool_acquire(model->runtime->host_pool, bytes, &held->block));
        base = held->block.data;
    } else {
        ONNXD_TRY(onnxd_ep_allocate(model->spaces[space].ep, bytes, model->spaces[space].alignment,
                                    &held->buffer));
        base = held->buffer.data;
    }
    held->is_held = true;
    for (uint32_t i = run->plan->patch_starts[space]; i < run->plan->patch_starts[space + 1]; i++)
        run->views[run->plan->patches[i].view].data = base;
    return NULL;
}

static void *space_base(const onnxd_run *run, uint32_t space)
{
    const run_space *held = &run->spaces[space];
    return space == ONNXD_HOST_SPACE ? held->block.data : held->buffer.data;
}

onnxd_status *onnxd_run_take_memory(onnxd_run *run, uint32_t *out_ep)
{
    const onnxd_model *model = run->plan->model;
    for (uint32_t s = 0; s < model->space_count && !run->has_memory; s++) {
        if (!run->plan->spaces[s].is_used)
            continue;
        onnxd_status *status = take(run, s);
        if (status != NULL) {
            for (uint32_t taken = 0; taken < s; taken++)
                give_back(run, taken);
            *out_ep = s == ONNXD_HOST_SPACE ? ONNXD_RUN_HOST : model->spaces[s].ep_index;
            return status;
        }
    }
    run->has_memory = true;
    return NULL;
}

/* ---- issuing a stage ----------------------------------------------------------------------- */

static onnxd_status *issue_steps(onnxd_run *run, const onnxd_stage *stage,
                                 const atomic_bool *cancelled)
{
    const onnxd_plan *plan = run->plan;
    const onnxd_graph *graph = plan->model->graph;
    for (uint32_t i = stage->first_step; i < stage->first_step + stage->step_count; i++) {
        const onnxd_step *step = &plan->steps[i];
        if (cancelled != NULL && atomic_load_explicit(cancelled, memory_order_relaxed))
            return onnxd_error(ONNXD_CANCELLED, "the request was cancelled");
        if (step->workspace_offset != ONNXD_NO_WORKSPACE)
            run->args[i].workspace = (char *)space_base(run, stage->space) + step->workspace_offset;
        onnxd_status *status = onnxd_kernel_enqueue(step->kernel, &run->args[i]);
        if (ONNXD_UNLIKELY(status != NULL))
            return onnxd_node_context(graph, &graph->nodes[step->node], status);
    }
    return NULL;
}

static onnxd_buffer host_end(const onnxd_run *run, const onnxd_transfer *transfer)
{
    if (transfer->input != ONNXD_NONE)
        return onnxd_buffer_borrow_host(onnxd_tensor_view_data(&run->inputs[transfer->input]),
                                        transfer->bytes);
    return onnxd_buffer_borrow_host(space_base(run, ONNXD_HOST_SPACE),
                                    run->plan->spaces[ONNXD_HOST_SPACE].arena_bytes);
}

/*
 * An instance has a bounded number of fences. Each one used here is released as soon as a stream
 * has been made to wait for it, so a stage makes do with one; those in use come back as the
 * device gets on and as other stages are retired, on other threads. A stage that finds none
 * therefore waits, first for the copy that it issued last, then in steps.
 */
#define FENCE_FIRST_STEP_NS ((int64_t)20 * 1000)
#define FENCE_LAST_STEP_NS ((int64_t)1000 * 1000)
/* A device that gives no fence back for so long is taken for one that has lost them. */
#define FENCE_PATIENCE_NS ((int64_t)60 * 1000 * 1000 * 1000)

typedef struct fence_wait {
    const atomic_bool *cancelled;
    onnxd_fence *previous; /* of the copy before; released and made 0 when it is waited for */
    int64_t step_ns, until_ns;
} fence_wait;

static void sleep_ns(int64_t duration_ns)
{
    const struct timespec duration = {.tv_nsec = (long)duration_ns};
    nanosleep(&duration, NULL);
}

/* Whether to try again after `*status`, which is then freed, or replaced by CANCELLED. */
static bool wait_for_fence(onnxd_ep *ep, fence_wait *wait, onnxd_status **status)
{
    if (onnxd_status_code(*status) != ONNXD_RESOURCE_EXHAUSTED)
        return false;
    const int64_t now_ns = onnxd_now_ns();
    if (wait->until_ns == 0) {
        wait->until_ns = now_ns + FENCE_PATIENCE_NS;
        wait->step_ns = FENCE_FIRST_STEP_NS;
    }
    if (wait->cancelled != NULL && atomic_load_explicit(wait->cancelled, memory_order_relaxed)) {
        onnxd_status_free(*status);
        *status = onnxd_error(ONNXD_CANCELLED, "the request was cancelled");
        return false;
    }
    if (now_ns >= wait->until_ns)
        return false;
    onnxd_status_free(*status);
    *status = NULL;
    if (wait->previous != NULL && *wait->previous != ONNXD_FENCE_SIGNALLED) {
        /* Its failure travels by the stream that waits for it. */
        onnxd_status_free(onnxd_ep_fence_wait(ep, *wait->previous, -1));
        *status = onnxd_ep_fence_release(ep, *wait->previous);
        *wait->previous = ONNXD_FENCE_SIGNALLED;
        wait->until_ns = 0;
        return *status == NULL;
    }
    sleep_ns(wait->step_ns);
    if (wait->step_ns < FENCE_LAST_STEP_NS)
        wait->step_ns *= 2;
    return true;
}

/* Makes `stream` wait for *inout_fence, issues the copy and puts its fence in the place of the
 * other one, which is released; after a failure 0. */
static onnxd_status *issue_copy(onnxd_ep *ep, onnxd_stream stream, const onnxd_copy *copy,
                                const atomic_bool *cancelled, onnxd_fence *inout_fence)
{
    fence_wait wait = {.cancelled = cancelled, .previous = inout_fence};
    onnxd_fence fence = ONNXD_FENCE_SIGNALLED;
    onnxd_status *status = onnxd_ep_stream_wait(ep, stream, *inout_fence);
    if (status == NULL) {
        do
            status = onnxd_ep_copy_async(ep, copy, &fence);
        while (wait_for_fence(ep, &wait, &status));
    }
    status = onnxd_status_join(status, onnxd_ep_fence_release(ep, *inout_fence));
    *inout_fence = fence;
    return status;
}

static onnxd_status *record(onnxd_ep *ep, onnxd_stream stream, const atomic_bool *cancelled,
                            onnxd_fence *out_fence)
{
    fence_wait wait = {.cancelled = cancelled};
    onnxd_status *status;
    do
        status = onnxd_ep_fence_record(ep, stream, out_fence);
    while (wait_for_fence(ep, &wait, &status));
    return status;
}

/* Uploads on COPY_IN; compute waits for each. */
static onnxd_status *issue_uploads(onnxd_run *run, const onnxd_stage *stage, onnxd_ep *ep,
                                   const atomic_bool *cancelled)
{
    onnxd_fence fence = ONNXD_FENCE_SIGNALLED;
    onnxd_status *status = NULL;
    for (uint32_t i = 0; i < stage->upload_count && status == NULL; i++) {
        const onnxd_transfer *transfer = &run->plan->uploads[stage->first_upload + i];
        const onnxd_copy copy = {
            .source = host_end(run, transfer),
            .source_offset = transfer->host_offset,
            .destination = run->spaces[stage->space].buffer,
            .destination_offset = transfer->device_offset,
            .bytes = transfer->bytes,
        };
        status = issue_copy(ep, ONNXD_STREAM_COMPUTE, &copy, cancelled, &fence);
    }
    if (status == NULL)
        status = onnxd_ep_stream_wait(ep, ONNXD_STREAM_COMPUTE, fence);
    return onnxd_status_join(status, onnxd_ep_fence_release(ep, fence));
}

/* Copies on COPY_OUT after *inout_fence, in whose place comes the fence of the last one. Each copy
 * reports to its own fence, so the stream is made to wait for it before the next: the last fence
 * then carries the first failure of all. */
static onnxd_status *issue_downloads(onnxd_run *run, const onnxd_stage *stage, onnxd_ep *ep,
                                     const atomic_bool *cancelled, onnxd_fence *inout_fence)
{
    for (uint32_t i = 0; i < stage->download_count; i++) {
        const onnxd_transfer *transfer = &run->plan->downloads[stage->first_download + i];
        const onnxd_copy copy = {
            .source = run->spaces[stage->space].buffer,
            .source_offset = transfer->device_offset,
            .destination = host_end(run, transfer),
            .destination_offset = transfer->host_offset,
            .bytes = transfer->bytes,
        };
        ONNXD_TRY(issue_copy(ep, ONNXD_STREAM_COPY_OUT, &copy, cancelled, inout_fence));
    }
    return NULL;
}

/* Waits until nothing of the stage is in flight. What failed is known already. */
static void drain(onnxd_ep *ep)
{
    for (int stream = 0; stream < ONNXD_STREAM_COUNT; stream++) {
        onnxd_fence fence;
        onnxd_status *status = onnxd_ep_fence_record(ep, (onnxd_stream)stream, &fence);
        if (status != NULL) {
            /* No fence to wait with: the device as a whole is waited for. */
            onnxd_status_free(onnxd_status_join(status, onnxd_ep_sync(ep)));
            return;
        }
        status = onnxd_ep_fence_wait(ep, fence, -1);
        onnxd_status_free(onnxd_status_join(status, onnxd_ep_fence_release(ep, fence)));
    }
}

static onnxd_status *issue_on_device(onnxd_run *run, const onnxd_stage *stage,
                                     const atomic_bool *cancelled, onnxd_fence *out_fence)
{
    onnxd_ep *ep = run->plan->model->eps[stage->ep];
    onnxd_fence fence;
    ONNXD_TRY(issue_uploads(run, stage, ep, cancelled));
    ONNXD_TRY(issue_steps(run, stage, cancelled));
    ONNXD_TRY(record(ep, ONNXD_STREAM_COMPUTE, cancelled, &fence));
    ONNXD_TRY(issue_downloads(run, stage, ep, cancelled, &fence));
    *out_fence = fence;
    return NULL;
}

onnxd_status *onnxd_run_issue(onnxd_run *run, uint32_t stage_index,
                              const onnxd_run_control *control, onnxd_fence *out_fence)
{
    const onnxd_stage *stage = &run->plan->stages[stage_index];
    const atomic_bool *cancelled = control == NULL ? NULL : control->cancelled;
    onnxd_fence fence = ONNXD_FENCE_SIGNALLED;
    uint32_t short_ep;
    ONNXD_TRY(onnxd_run_take_memory(run, &short_ep));
    if (stage_index == run->plan->tail.stage) {
        ONNXD_TRY(onnxd_tail_run(run->plan, run->tail, run->views, control));
    } else if (stage->space == ONNXD_HOST_SPACE) {
        ONNXD_TRY(issue_steps(run, stage, cancelled));
    } else {
        onnxd_status *status = issue_on_device(run, stage, cancelled, &fence);
        if (status != NULL) {
            drain(run->plan->model->eps[stage->ep]);
            return status;
        }
    }
    *out_fence = fence;
    return NULL;
}

/* ---- the end of stages and runs ------------------------------------------------------------ */

bool onnxd_run_retire(onnxd_run *run, uint32_t stage, onnxd_fence fence)
{
    const onnxd_plan *plan = run->plan;
    bool has_given = false;
    onnxd_status_free(onnxd_ep_fence_release(plan->model->eps[plan->stages[stage].ep], fence));
    for (uint32_t s = 0; s < plan->model->space_count; s++)
        if (plan->spaces[s].is_used && plan->spaces[s].last_stage == stage)
            has_given |= give_back(run, s);
    return has_given;
}

const onnxd_tensor_view *onnxd_run_outputs(const onnxd_run *run)
{
    return run->views + run->plan->first_output_view;
}

void onnxd_run_release(onnxd_run *run)
{
    if (run == NULL)
        return;
    onnxd_plan *plan = run->plan;
    for (uint32_t s = 0; s < plan->model->space_count; s++)
        give_back(run, s);
    onnxd_arena_reset(&run->strings.arena);
    if (run->tail != NULL)
        onnxd_interpreter_clear(run->tail);
    run->has_memory = false;
    run->inputs = NULL;
    run->plan = NULL;
    bool is_kept = false;
    pthread_mutex_lock(&plan->runs_mutex);
    if (plan->runs.count < MAX_SPARE_RUNS) {
        onnxd_fifo_push(&plan->runs, &run->link);
        is_kept = true;
    }
    pthread_mutex_unlock(&plan->runs_mutex);
    if (!is_kept)
        onnxd_run_destroy(run);
    onnxd_plan_release(plan);
}

onnxd_status *onnxd_run_once(onnxd_plan *plan, const onnxd_tensor_view *inputs, onnxd_run **out_run)
{
    onnxd_run *run;
    onnxd_status *status = NULL;
    ONNXD_TRY(onnxd_run_acquire(plan, inputs, &run));
    for (uint32_t stage = 0; stage < plan->stage_count && status == NULL; stage++) {
        onnxd_fence fence;
        status = onnxd_run_issue(run, stage, NULL, &fence);
        if (status == NULL) {
            onnxd_ep *ep = plan->model->eps[plan->stages[stage].ep];
            status = onnxd_ep_fence_wait(ep, fence, -1);
            onnxd_run_retire(run, stage, fence);
        }
    }
    if (status != NULL) {
        onnxd_run_release(run);
        return status;
    }
    *out_run = run;
    return NULL;
}
