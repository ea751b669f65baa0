#include "daemon/bench_requests.h"

#include <pthread.h>
#include <string.h>

#include "base/alloc.h"

struct onnxd_bench_requests {
    const onnxd_session *session;
    const onnxd_tensor_list *inputs;
    uint32_t concurrency;
    onnxd_scheduler *scheduler;
    pthread_mutex_t mutex;
    pthread_cond_t ended;
    onnxd_fifo done; /* under the mutex */
};

onnxd_status *onnxd_bench_requests_create(const onnxd_config *config, const onnxd_session *session,
                                          const onnxd_tensor_list *inputs, uint32_t concurrency,
                                          onnxd_bench_requests **out_requests)
{
    const onnxd_scheduler_options options = onnxd_wire_scheduler_options(config);
    onnxd_bench_requests *requests = onnxd_alloc_zero(1, sizeof(*requests));
    if (requests == NULL)
        return onnxd_error_out_of_memory("requests", sizeof(*requests), UINT64_MAX);
    requests->session = session;
    requests->inputs = inputs;
    requests->concurrency = concurrency;
    pthread_mutex_init(&requests->mutex, NULL);
    pthread_cond_init(&requests->ended, NULL);
    onnxd_status *status =
        onnxd_scheduler_create(session->engine.runtime, &options, &requests->scheduler);
    if (status != NULL) {
        onnxd_bench_requests_destroy(requests);
        return status;
    }
    *out_requests = requests;
    return NULL;
}

void onnxd_bench_requests_destroy(onnxd_bench_requests *requests)
{
    if (requests == NULL)
        return;
    onnxd_scheduler_destroy(requests->scheduler);
    pthread_cond_destroy(&requests->ended);
    pthread_mutex_destroy(&requests->mutex);
    onnxd_free(requests);
}

/* On a thread of the scheduler. */
static void done(onnxd_request *request)
{
    onnxd_bench_requests *requests = request->user;
    pthread_mutex_lock(&requests->mutex);
    onnxd_fifo_push(&requests->done, &request->link);
    pthread_cond_signal(&requests->ended);
    pthread_mutex_unlock(&requests->mutex);
}

static onnxd_request *await_one(onnxd_bench_requests *requests)
{
    pthread_mutex_lock(&requests->mutex);
    while (requests->done.head == NULL)
        pthread_cond_wait(&requests->ended, &requests->mutex);
    onnxd_link *link = onnxd_fifo_pop(&requests->done);
    pthread_mutex_unlock(&requests->mutex);
    return ONNXD_CONTAINER_OF(link, onnxd_request, link);
}

static onnxd_status *fill(onnxd_request *request, const onnxd_tensor_list *inputs)
{
    for (uint32_t i = 0; i < inputs->count; i++) {
        void *data;
        size_t bytes;
        ONNXD_TRY(onnxd_request_add_input(request, i, &inputs->views[i].shape, &data, &bytes));
        if (bytes > 0)
            memcpy(data, onnxd_tensor_view_data(&inputs->views[i]), bytes);
    }
    return NULL;
}

static onnxd_status *submit(onnxd_bench_requests *requests)
{
    onnxd_request *request;
    ONNXD_TRY(onnxd_request_create(requests->session->model, &request));
    request->done = done;
    request->user = requests;
    onnxd_status *status = fill(request, requests->inputs);
    if (status == NULL)
        status = onnxd_scheduler_submit(requests->scheduler, request);
    if (status != NULL)
        onnxd_request_release(request);
    return status;
}

onnxd_status *onnxd_bench_requests_run(onnxd_bench_requests *requests, uint32_t count,
                                       int64_t *latencies_ns)
{
    onnxd_status *status = NULL;
    uint32_t submitted = 0, ended = 0;
    while (ended < submitted || (submitted < count && status == NULL)) {
        if (status == NULL && submitted < count && submitted - ended < requests->concurrency) {
            status = submit(requests);
            submitted += status == NULL;
            continue;
        }
        onnxd_request *request = await_one(requests);
        if (latencies_ns != NULL)
            latencies_ns[ended] = request->finished_ns - request->submitted_ns;
        ended++;
        status = onnxd_status_join(status, request->status);
        request->status = NULL;
        onnxd_request_release(request);
    }
    return status;
}
