#include "model/run.h"

#include <string.h>

#include "base/alloc.h"
#include "model/profile.h"
#include "model/run_internal.h"
#include "model/tail.h"

/* Runs kept by a plan for reuse; more than are ever in flight on a few devices. */
#define MAX_SPARE_RUNS 32
#define STRING_BLOCK_BYTES ((size_t)4 << 10)

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
    onnxd_run_space *held = &run->spaces[space];
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
    onnxd_run_space *held = &run->spaces[space];
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

static onnxd_status *run_all(onnxd_plan *plan, const onnxd_tensor_view *inputs,
                             const onnxd_run_control *control, onnxd_run **out_run)
{
    onnxd_run *run;
    onnxd_status *status = NULL;
    ONNXD_TRY(onnxd_run_acquire(plan, inputs, &run));
    for (uint32_t stage = 0; stage < plan->stage_count && status == NULL; stage++) {
        onnxd_fence fence;
        status = onnxd_run_issue(run, stage, control, &fence);
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

onnxd_status *onnxd_run_once(onnxd_plan *plan, const onnxd_tensor_view *inputs, onnxd_run **out_run)
{
    return run_all(plan, inputs, NULL, out_run);
}

onnxd_status *onnxd_run_profiled(onnxd_plan *plan, const onnxd_tensor_view *inputs,
                                 int64_t *step_ns, onnxd_run **out_run)
{
    const onnxd_run_control control = {.deadline_ns = INT64_MAX, .step_ns = step_ns};
    return run_all(plan, inputs, &control, out_run);
}
