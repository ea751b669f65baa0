#include "tests/scheduler/collector.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <time.h>

#include "tests/model/support.h"

void collector_init(collector *c)
{
    pthread_mutex_init(&c->mutex, NULL);
    pthread_cond_init(&c->arrived, NULL);
    c->count = 0;
}

void collector_deinit(collector *c)
{
    cr_assert_eq(c->count, 0);
    pthread_cond_destroy(&c->arrived);
    pthread_mutex_destroy(&c->mutex);
}

static void collect(onnxd_request *request)
{
    collector *c = request->user;
    pthread_mutex_lock(&c->mutex);
    c->requests[c->count++ % COLLECTOR_MAX] = request;
    pthread_cond_broadcast(&c->arrived);
    pthread_mutex_unlock(&c->mutex);
}

void collector_wait(collector *c, size_t count)
{
    struct timespec until;
    int error = 0;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 60;
    pthread_mutex_lock(&c->mutex);
    while (c->count < count && error == 0)
        error = pthread_cond_timedwait(&c->arrived, &c->mutex, &until);
    const size_t arrived = c->count;
    pthread_mutex_unlock(&c->mutex);
    cr_assert_geq(arrived, count, "%zu of %zu requests ended", arrived, count);
}

void collector_clear(collector *c)
{
    for (size_t i = 0; i < c->count; i++)
        onnxd_request_release(c->requests[i]);
    c->count = 0;
}

onnxd_request *collector_request(collector *c, onnxd_model *model, int64_t elements, float value)
{
    onnxd_request *request;
    void *data;
    size_t bytes;
    const onnxd_shape shape = onnxd_shape_from(1, &elements);
    support_ok(onnxd_request_create(model, &request));
    support_ok(onnxd_request_add_input(request, 0, &shape, &data, &bytes));
    float *values = data;
    for (int64_t i = 0; i < elements; i++)
        values[i] = value;
    request->done = collect;
    request->user = c;
    return request;
}

float collector_result(const onnxd_request *request)
{
    cr_assert_null(request->status, "%s", onnxd_status_message(request->status));
    return *(const float *)onnxd_tensor_view_data(&request->outputs[0]);
}
