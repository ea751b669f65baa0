#include "tests/scheduler/fixture.h"

#include <criterion/criterion.h>

/* y = relu(-x) - x, with any number of elements. */
static onnxd_model *fixture_model(onnxd_runtime *runtime)
{
    onnx_file file = onnx_file_begin();
    onnx_input(&file, "x", ONNXD_FLOAT, "N");
    onnx_node(&file, "Neg", "x", "a");
    onnx_node(&file, "Relu", "a", "b");
    onnx_node(&file, "Add", "a,b", "y");
    onnx_output(&file, "y", ONNXD_FLOAT, "N");
    return support_load(runtime, &file, NULL);
}

float fixture_expected_of(float x)
{
    return (x < 0 ? -x : 0) - x;
}

void fixture_setup(fixture *f, const char *spec, uint32_t max_queue_size, uint32_t max_in_flight)
{
    const onnxd_scheduler_options options = {max_queue_size, max_in_flight};
    f->runtime = support_runtime(spec);
    f->model = fixture_model(f->runtime);
    support_ok(onnxd_scheduler_create(f->runtime, &options, &f->scheduler));
    collector_init(&f->done);
}

void fixture_teardown(fixture *f)
{
    collector_clear(&f->done);
    collector_deinit(&f->done);
    onnxd_scheduler_destroy(f->scheduler);
    onnxd_model_release(f->model);
    cr_expect_eq(onnxd_pool_query(f->runtime->host_pool).in_use_bytes, 0);
    onnxd_runtime_destroy(f->runtime);
}

onnxd_request *fixture_submit(fixture *f, int64_t elements, float value)
{
    onnxd_request *request = collector_request(&f->done, f->model, elements, value);
    support_ok(onnxd_scheduler_submit(f->scheduler, request));
    return request;
}

void fixture_warm_up(fixture *f)
{
    fixture_submit(f, 1, 0);
    collector_wait(&f->done, 1);
    collector_clear(&f->done);
}

void fixture_expect(const onnxd_request *request)
{
    const float x = *(const float *)onnxd_tensor_view_data(&request->inputs[0]);
    cr_expect_eq(collector_result(request), fixture_expected_of(x));
}
