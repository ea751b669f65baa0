#include "model/reaper.h"

#include <stdatomic.h>

#include "base/alloc.h"
#include "model/internal.h"

struct onnxd_reaper {
    atomic_uint references;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    /* under the mutex */
    onnxd_fifo models, plans;
    uint32_t orders;
    bool is_closed;
};

onnxd_status *onnxd_reaper_create(onnxd_reaper **out_reaper)
{
    onnxd_reaper *reaper = onnxd_alloc_zero(1, sizeof(*reaper));
    if (reaper == NULL)
        return onnxd_error_out_of_memory("the loader's inbox", sizeof(*reaper), UINT64_MAX);
    atomic_init(&reaper->references, 1);
    pthread_mutex_init(&reaper->mutex, NULL);
    pthread_cond_init(&reaper->changed, NULL);
    *out_reaper = reaper;
    return NULL;
}

onnxd_reaper *onnxd_reaper_retain(onnxd_reaper *reaper)
{
    atomic_fetch_add_explicit(&reaper->references, 1, memory_order_relaxed);
    return reaper;
}

void onnxd_reaper_release(onnxd_reaper *reaper)
{
    if (reaper == NULL ||
        atomic_fetch_sub_explicit(&reaper->references, 1, memory_order_acq_rel) != 1)
        return;
    pthread_cond_destroy(&reaper->changed);
    pthread_mutex_destroy(&reaper->mutex);
    onnxd_free(reaper);
}

void onnxd_reaper_take(onnxd_reaper *reaper, onnxd_model *model)
{
    pthread_mutex_lock(&reaper->mutex);
    const bool is_closed = reaper->is_closed;
    if (!is_closed) {
        onnxd_fifo_push(&reaper->models, &model->link);
        pthread_cond_signal(&reaper->changed);
    }
    pthread_mutex_unlock(&reaper->mutex);
    if (is_closed)
        onnxd_model_destroy(model);
}

void onnxd_reaper_take_plan(onnxd_reaper *reaper, onnxd_plan *plan)
{
    onnxd_model *model = onnxd_model_retain(plan->model);
    pthread_mutex_lock(&reaper->mutex);
    const bool is_closed = reaper->is_closed;
    if (!is_closed) {
        onnxd_fifo_push(&reaper->plans, &plan->link);
        pthread_cond_signal(&reaper->changed);
    }
    pthread_mutex_unlock(&reaper->mutex);
    if (is_closed) {
        onnxd_plan_destroy(plan);
        onnxd_model_release(model);
    }
}

void onnxd_reaper_order(onnxd_reaper *reaper, uint32_t orders)
{
    pthread_mutex_lock(&reaper->mutex);
    reaper->orders |= orders;
    pthread_cond_signal(&reaper->changed);
    pthread_mutex_unlock(&reaper->mutex);
}

/* Each holds its model until then. */
static void destroy_plans(onnxd_link *plans)
{
    while (plans != NULL) {
        onnxd_link *next = plans->next;
        onnxd_plan *plan = ONNXD_CONTAINER_OF(plans, onnxd_plan, link);
        onnxd_model *model = plan->model;
        onnxd_plan_destroy(plan);
        onnxd_model_release(model);
        plans = next;
    }
}

void onnxd_reaper_bury_plans(onnxd_reaper *reaper)
{
    if (reaper == NULL)
        return;
    pthread_mutex_lock(&reaper->mutex);
    onnxd_link *plans = onnxd_fifo_take(&reaper->plans);
    pthread_mutex_unlock(&reaper->mutex);
    destroy_plans(plans);
}

static void destroy_models(onnxd_link *models)
{
    while (models != NULL) {
        onnxd_link *next = models->next;
        onnxd_model_destroy(ONNXD_CONTAINER_OF(models, onnxd_model, link));
        models = next;
    }
}

uint32_t onnxd_reaper_wait(onnxd_reaper *reaper)
{
    uint32_t orders = 0;
    while (orders == 0) {
        pthread_mutex_lock(&reaper->mutex);
        while (reaper->orders == 0 && reaper->models.head == NULL && reaper->plans.head == NULL)
            pthread_cond_wait(&reaper->changed, &reaper->mutex);
        onnxd_link *models = onnxd_fifo_take(&reaper->models);
        onnxd_link *plans = onnxd_fifo_take(&reaper->plans);
        orders = reaper->orders;
        reaper->orders = 0;
        pthread_mutex_unlock(&reaper->mutex);
        destroy_plans(plans);
        destroy_models(models);
    }
    return orders;
}

void onnxd_reaper_close(onnxd_reaper *reaper)
{
    pthread_mutex_lock(&reaper->mutex);
    reaper->is_closed = true;
    onnxd_link *models = onnxd_fifo_take(&reaper->models);
    onnxd_link *plans = onnxd_fifo_take(&reaper->plans);
    pthread_mutex_unlock(&reaper->mutex);
    destroy_plans(plans);
    destroy_models(models);
}
