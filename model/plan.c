#include "model/plan.h"

#include "base/alloc.h"
#include "model/internal.h"
#include "model/reaper.h"

static void drop_runs(onnxd_plan *plan)
{
    onnxd_link *link;
    while ((link = onnxd_fifo_pop(&plan->runs)) != NULL)
        onnxd_run_destroy(onnxd_run_of_link(link));
}

static void drop_constants(onnxd_plan *plan)
{
    for (uint32_t i = 0; i < plan->constant_count; i++)
        onnxd_status_free(onnxd_ep_deallocate(plan->constants[i].ep, plan->constants[i].buffer));
    onnxd_free(plan->constants);
    for (uint32_t i = 0; i < plan->known_count; i++)
        onnxd_tensor_release(plan->known[i]);
    onnxd_free(plan->known);
}

void onnxd_plan_destroy(onnxd_plan *plan)
{
    drop_runs(plan);
    for (uint32_t i = 0; i < plan->step_count; i++)
        onnxd_kernel_release(plan->steps[i].kernel);
    drop_constants(plan);
    onnxd_free(plan->input_types);
    onnxd_free(plan->output_types);
    onnxd_free(plan->stages);
    onnxd_free(plan->steps);
    onnxd_free(plan->uploads);
    onnxd_free(plan->downloads);
    onnxd_free(plan->spaces);
    onnxd_free(plan->views);
    onnxd_free(plan->patches);
    onnxd_free(plan->patch_starts);
    onnxd_free(plan->sections);
    onnxd_free(plan->moves);
    onnxd_free(plan->tail.selected);
    onnxd_free(plan->tail.inputs);
    pthread_mutex_destroy(&plan->runs_mutex);
    onnxd_free(plan);
}

onnxd_plan *onnxd_model_find_plan(onnxd_model *model, const onnxd_tensor_view *inputs)
{
    return onnxd_plan_cache_find(&model->plans, model, inputs);
}

onnxd_status *onnxd_model_prepare(onnxd_model *model, const onnxd_tensor_view *inputs,
                                  onnxd_plan **out_plan)
{
    onnxd_plan *plan = onnxd_plan_cache_find(&model->plans, model, inputs);
    if (plan == NULL) {
        /* Plans are dropped as fast as they are made here; the reaper's thread may be busy with a
         * model for long. */
        onnxd_reaper_bury_plans(model->reaper);
        ONNXD_TRY(onnxd_plan_build(model, inputs, &plan));
        onnxd_status *status = onnxd_plan_cache_add(&model->plans, model, inputs, &plan);
        if (status != NULL) {
            onnxd_plan_release_here(plan);
            return status;
        }
    }
    *out_plan = plan;
    return NULL;
}

onnxd_plan *onnxd_plan_retain(onnxd_plan *plan)
{
    atomic_fetch_add_explicit(&plan->references, 1, memory_order_relaxed);
    return plan;
}

static bool drop_reference(onnxd_plan *plan)
{
    /* Acquire and release: what other holders did to the plan happens before its end. */
    return plan != NULL &&
           atomic_fetch_sub_explicit(&plan->references, 1, memory_order_acq_rel) == 1;
}

void onnxd_plan_release(onnxd_plan *plan)
{
    if (!drop_reference(plan))
        return;
    if (plan->model->reaper != NULL)
        onnxd_reaper_take_plan(plan->model->reaper, plan);
    else
        onnxd_plan_destroy(plan);
}

void onnxd_plan_release_here(onnxd_plan *plan)
{
    if (drop_reference(plan))
        onnxd_plan_destroy(plan);
}

uint32_t onnxd_plan_stage_count(const onnxd_plan *plan)
{
    return plan->stage_count;
}

uint32_t onnxd_plan_stage_ep(const onnxd_plan *plan, uint32_t stage)
{
    return plan->model->ep_indices[plan->stages[stage].ep];
}

const onnxd_tensor_type *onnxd_plan_output_type(const onnxd_plan *plan, uint32_t output)
{
    return &plan->output_types[output];
}
