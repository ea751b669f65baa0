/* Issuing a run's stages on their instances. */
#include <inttypes.h>
#include <time.h>

#include "base/clock.h"
#include "model/run_internal.h"
#include "model/tail.h"

/* Waits until all kernels issued so far have run. */
static onnxd_status *finish_kernels(onnxd_ep *ep)
{
    onnxd_fence fence;
    ONNXD_TRY(onnxd_ep_fence_record(ep, ONNXD_STREAM_COMPUTE, &fence));
    onnxd_status *status = onnxd_ep_fence_wait(ep, fence, -1);
    return onnxd_status_join(status, onnxd_ep_fence_release(ep, fence));
}

static onnxd_status *enqueue_measured(onnxd_run *run, const onnxd_stage *stage, uint32_t step,
                                      int64_t *inout_ns)
{
    onnxd_ep *ep = run->plan->model->eps[stage->ep];
    ONNXD_TRY(finish_kernels(ep));
    const int64_t start = onnxd_now_ns();
    ONNXD_TRY(onnxd_kernel_enqueue(run->plan->steps[step].kernel, &run->args[step]));
    if (stage->space != ONNXD_HOST_SPACE)
        ONNXD_TRY(finish_kernels(ep));
    *inout_ns += onnxd_now_ns() - start;
    return NULL;
}

/* `count` steps from `first` on. */
static onnxd_status *issue_steps(onnxd_run *run, const onnxd_stage *stage, uint32_t first,
                                 uint32_t count, const onnxd_run_control *control)
{
    const atomic_bool *cancelled = control == NULL ? NULL : control->cancelled;
    int64_t *step_ns = control == NULL ? NULL : control->step_ns;
    const onnxd_plan *plan = run->plan;
    const onnxd_graph *graph = plan->model->graph;
    for (uint32_t i = first; i < first + count; i++) {
        const onnxd_step *step = &plan->steps[i];
        if (cancelled != NULL && atomic_load_explicit(cancelled, memory_order_relaxed))
            return onnxd_error(ONNXD_CANCELLED, "the request was cancelled");
        if (step->workspace_offset != ONNXD_NO_WORKSPACE)
            run->args[i].workspace =
                (char *)onnxd_run_space_base(run, stage->space) + step->workspace_offset;
        onnxd_status *status = step_ns == NULL ? onnxd_kernel_enqueue(step->kernel, &run->args[i])
                                               : enqueue_measured(run, stage, i, &step_ns[i]);
        if (ONNXD_UNLIKELY(status != NULL))
            return onnxd_node_context(graph, &graph->nodes[step->node], status);
    }
    return NULL;
}

/* Takes the views of a section `parts` parts further, or back to the first one. */
static void move_views(onnxd_run *run, const onnxd_plan_section *section, size_t parts, bool back)
{
    const onnxd_part_move *moves = run->plan->moves + section->first_move;
    for (uint32_t i = 0; i < section->move_count; i++) {
        onnxd_tensor_view *view = &run->views[moves[i].view];
        const size_t bytes = parts * moves[i].bytes;
        view->byte_offset = back ? view->byte_offset - bytes : view->byte_offset + bytes;
    }
}

static onnxd_status *issue_section(onnxd_run *run, const onnxd_stage *stage,
                                   const onnxd_plan_section *section,
                                   const onnxd_run_control *control)
{
    onnxd_status *status = NULL;
    size_t part = 0;
    for (; part < section->parts && status == NULL; part++) {
        status = issue_steps(run, stage, section->first_step, section->step_count, control);
        /* Kernels name elements by their place in the part. */
        if (ONNXD_UNLIKELY(onnxd_status_code(status) == ONNXD_INVALID_ARGUMENT))
            status = onnxd_status_context(status, "part %zu of %" PRIu32 " of the batch", part + 1,
                                          section->parts);
        move_views(run, section, 1, false);
    }
    move_views(run, section, part, true);
    return status;
}

static onnxd_status *issue_stage(onnxd_run *run, const onnxd_stage *stage,
                                 const onnxd_run_control *control)
{
    const uint32_t end = stage->first_step + stage->step_count;
    uint32_t next = stage->first_step;
    for (uint32_t i = 0; i < stage->section_count; i++) {
        const onnxd_plan_section *section = &run->plan->sections[stage->first_section + i];
        ONNXD_TRY(issue_steps(run, stage, next, section->first_step - next, control));
        ONNXD_TRY(issue_section(run, stage, section, control));
        next = section->first_step + section->step_count;
    }
    return issue_steps(run, stage, next, end - next, control);
}

static onnxd_buffer host_end(const onnxd_run *run, const onnxd_transfer *transfer)
{
    if (transfer->input != ONNXD_NONE)
        return onnxd_buffer_borrow_host(onnxd_tensor_view_data(&run->inputs[transfer->input]),
                                        transfer->bytes);
    return onnxd_buffer_borrow_host(onnxd_run_space_base(run, ONNXD_HOST_SPACE),
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

static onnxd_status *issue_tail(onnxd_run *run, const onnxd_run_control *control)
{
    const onnxd_plan *plan = run->plan;
    const int64_t start = onnxd_now_ns();
    ONNXD_TRY(onnxd_tail_run(plan, run->tail, run->views, control));
    if (control != NULL && control->step_ns != NULL)
        control->step_ns[plan->step_count] += onnxd_now_ns() - start;
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
                                     const onnxd_run_control *control, onnxd_fence *out_fence)
{
    const atomic_bool *cancelled = control == NULL ? NULL : control->cancelled;
    onnxd_ep *ep = run->plan->model->eps[stage->ep];
    onnxd_fence fence;
    ONNXD_TRY(issue_uploads(run, stage, ep, cancelled));
    ONNXD_TRY(issue_stage(run, stage, control));
    ONNXD_TRY(record(ep, ONNXD_STREAM_COMPUTE, cancelled, &fence));
    ONNXD_TRY(issue_downloads(run, stage, ep, cancelled, &fence));
    *out_fence = fence;
    return NULL;
}

onnxd_status *onnxd_run_issue(onnxd_run *run, uint32_t stage_index,
                              const onnxd_run_control *control, onnxd_fence *out_fence)
{
    const onnxd_stage *stage = &run->plan->stages[stage_index];
    onnxd_fence fence = ONNXD_FENCE_SIGNALLED;
    uint32_t short_ep;
    ONNXD_TRY(onnxd_run_take_memory(run, &short_ep));
    if (stage_index == run->plan->tail.stage) {
        ONNXD_TRY(issue_tail(run, control));
    } else if (stage->space == ONNXD_HOST_SPACE) {
        ONNXD_TRY(issue_stage(run, stage, control));
    } else {
        onnxd_status *status = issue_on_device(run, stage, control, &fence);
        if (status != NULL) {
            drain(run->plan->model->eps[stage->ep]);
            return status;
        }
    }
    *out_fence = fence;
    return NULL;
}
