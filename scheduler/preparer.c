#include "scheduler/internal.h"

static onnxd_request *take(onnxd_preparer *preparer)
{
    pthread_mutex_lock(&preparer->mutex);
    while (preparer->queue.head == NULL && !preparer->is_ending)
        pthread_cond_wait(&preparer->work, &preparer->mutex);
    onnxd_link *link = onnxd_fifo_pop(&preparer->queue);
    onnxd_request *request = onnxd_request_of_link(link);
    preparer->preparing = request;
    pthread_mutex_unlock(&preparer->mutex);
    return request;
}

static void leave(onnxd_preparer *preparer)
{
    pthread_mutex_lock(&preparer->mutex);
    preparer->preparing = NULL;
    pthread_mutex_unlock(&preparer->mutex);
}

static onnxd_status *prepare(const onnxd_scheduler *scheduler, onnxd_request *request)
{
    ONNXD_TRY(onnxd_scheduler_check(scheduler, request));
    return onnxd_model_prepare(request->model, request->inputs, &request->plan);
}

static void *preparer_main(void *argument)
{
    onnxd_preparer *preparer = argument;
    onnxd_scheduler *scheduler = preparer->scheduler;
    onnxd_request *request;
    while ((request = take(preparer)) != NULL) {
        onnxd_status *status = prepare(scheduler, request);
        leave(preparer);
        if (status == NULL && !onnxd_scheduler_admit(scheduler, request))
            status = onnxd_error(ONNXD_RESOURCE_EXHAUSTED, "Exceeds maximum queue size");
        if (status != NULL)
            onnxd_scheduler_finish(scheduler, request, status);
    }
    return NULL;
}

void onnxd_preparer_init(onnxd_preparer *preparer, onnxd_scheduler *scheduler)
{
    preparer->scheduler = scheduler;
    pthread_mutex_init(&preparer->mutex, NULL);
    pthread_cond_init(&preparer->work, NULL);
}

onnxd_status *onnxd_preparer_start(onnxd_preparer *preparer)
{
    return onnxd_worker_start(&preparer->worker, "onnxd-prepare", preparer_main, preparer);
}

void onnxd_preparer_stop(onnxd_preparer *preparer)
{
    pthread_mutex_lock(&preparer->mutex);
    preparer->is_ending = true;
    pthread_cond_broadcast(&preparer->work);
    pthread_mutex_unlock(&preparer->mutex);
    onnxd_worker_join(&preparer->worker);
}

void onnxd_preparer_deinit(onnxd_preparer *preparer)
{
    pthread_cond_destroy(&preparer->work);
    pthread_mutex_destroy(&preparer->mutex);
}

bool onnxd_preparer_admit(onnxd_preparer *preparer, onnxd_request *request)
{
    bool is_admitted = false;
    pthread_mutex_lock(&preparer->mutex);
    if (preparer->queue.count < preparer->scheduler->options.max_queue_size) {
        onnxd_fifo_push(&preparer->queue, &request->link);
        pthread_cond_signal(&preparer->work);
        is_admitted = true;
    }
    pthread_mutex_unlock(&preparer->mutex);
    return is_admitted;
}

void onnxd_preparer_cancel_all(onnxd_preparer *preparer)
{
    pthread_mutex_lock(&preparer->mutex);
    onnxd_cancel_list(&preparer->queue, preparer->preparing);
    pthread_mutex_unlock(&preparer->mutex);
}

void onnxd_preparer_count(onnxd_preparer *preparer, uint32_t *waiting)
{
    pthread_mutex_lock(&preparer->mutex);
    *waiting += (uint32_t)preparer->queue.count + (preparer->preparing != NULL);
    pthread_mutex_unlock(&preparer->mutex);
}
