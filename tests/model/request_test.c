#include "model/request.h"

#include <criterion/criterion.h>
#include <string.h>

#include "base/alloc.h"
#include "tests/model/support.h"

static onnxd_model *load_two_inputs(onnxd_runtime *runtime, const onnxd_model_options *options)
{
    onnx_file file = onnx_file_begin();
    onnx_input(&file, "a", ONNXD_FLOAT, "N,3");
    onnx_input(&file, "b", ONNXD_FLOAT, "N,3");
    onnx_node(&file, "Add", "a,b", "y");
    onnx_output(&file, "y", ONNXD_FLOAT, "N,3");
    return support_load(runtime, &file, options);
}

static onnxd_shape shape_of(int64_t rows, int64_t columns)
{
    const int64_t dims[] = {rows, columns};
    return onnxd_shape_from(2, dims);
}

Test(request, checks_its_inputs)
{
    onnxd_request *request;
    void *data;
    size_t bytes;
    onnxd_runtime *runtime = support_runtime("cpu;cpu.threads=1");
    onnxd_model_options options = onnxd_model_options_default();
    options.max_tensor_bytes = 1200;
    onnxd_model *model = load_two_inputs(runtime, &options);
    support_ok(onnxd_request_create(model, &request));
    onnxd_shape shape = shape_of(1, 4);
    support_error(onnxd_request_add_input(request, 0, &shape, &data, &bytes),
                  ONNXD_INVALID_ARGUMENT,
                  "unexpected shape for input 'a' for model 'test'. Expected [-1,3], got [1,4]");
    shape = shape_of(-1, 3);
    support_error(onnxd_request_add_input(request, 0, &shape, &data, &bytes),
                  ONNXD_INVALID_ARGUMENT, "unexpected shape");
    shape = shape_of(101, 3);
    support_error(onnxd_request_add_input(request, 0, &shape, &data, &bytes),
                  ONNXD_PAYLOAD_TOO_LARGE, "limit of 1200 bytes");
    shape = shape_of(INT64_MAX / 2, 3);
    support_error(onnxd_request_add_input(request, 0, &shape, &data, &bytes),
                  ONNXD_PAYLOAD_TOO_LARGE, "limit of 1200 bytes");
    shape = shape_of(100, 3);
    support_ok(onnxd_request_add_input(request, 0, &shape, &data, &bytes));
    cr_expect_eq(bytes, 1200);
    memset(data, 0, bytes);
    support_error(onnxd_request_add_input(request, 0, &shape, &data, &bytes),
                  ONNXD_INVALID_ARGUMENT, "input 'a' for model 'test' is given twice");
    support_error(onnxd_request_check(request), ONNXD_INVALID_ARGUMENT,
                  "expected 2 inputs but got 1 inputs for model 'test'. Got input(s) ['a'], but "
                  "missing required input(s) ['b']. Please provide all required input(s).");
    support_ok(onnxd_request_add_input(request, 1, &shape, &data, &bytes));
    support_ok(onnxd_request_check(request));
    onnxd_request_release(request);
    onnxd_request_release(NULL);
    cr_expect_eq(onnxd_pool_query(runtime->host_pool).in_use_bytes, 0);
    onnxd_model_release(model);
    onnxd_runtime_destroy(runtime);
}

/* y = Reshape(x, shape) */
static onnxd_model *load_reshape(onnxd_runtime *runtime, const onnxd_model_options *options)
{
    onnx_file file = onnx_file_begin();
    onnx_input(&file, "x", ONNXD_FLOAT, "N");
    onnx_input(&file, "shape", ONNXD_INT64, "R");
    onnx_node(&file, "Neg", "x", "a");
    onnx_node(&file, "Reshape", "a,shape", "y");
    onnx_output(&file, "y", ONNXD_FLOAT, "");
    return support_load(runtime, &file, options);
}

Test(request, bounds_a_value_that_decides_shapes)
{
    onnxd_request *request;
    void *data;
    size_t bytes;
    const int64_t most = 8192, more = most + 1;
    onnxd_runtime *runtime = support_runtime("cpu;cpu.threads=1");
    onnxd_model *model = load_reshape(runtime, NULL);
    cr_assert(onnxd_model_input(model, 1)->value_decides_shapes);
    support_ok(onnxd_request_create(model, &request));
    onnxd_shape shape = onnxd_shape_from(1, &more);
    support_error(onnxd_request_add_input(request, 1, &shape, &data, &bytes),
                  ONNXD_PAYLOAD_TOO_LARGE,
                  "input 'shape' for model 'test' decides shapes by its value and has 65544 bytes, "
                  "beyond the limit of 65536 bytes");
    support_ok(onnxd_request_add_input(request, 0, &shape, &data, &bytes));
    shape = onnxd_shape_from(1, &most);
    support_ok(onnxd_request_add_input(request, 1, &shape, &data, &bytes));
    onnxd_request_release(request);
    onnxd_model_release(model);

    onnxd_model_options options = onnxd_model_options_default();
    options.max_shape_input_bytes = 16;
    model = load_reshape(runtime, &options);
    support_ok(onnxd_request_create(model, &request));
    const int64_t three = 3;
    shape = onnxd_shape_from(1, &three);
    support_error(onnxd_request_add_input(request, 1, &shape, &data, &bytes),
                  ONNXD_PAYLOAD_TOO_LARGE, "has 24 bytes, beyond the limit of 16 bytes");
    onnxd_request_release(request);
    onnxd_model_release(model);
    onnxd_runtime_destroy(runtime);
}

Test(request, is_recycled_clean)
{
    onnxd_request *request;
    void *data;
    char *text;
    size_t bytes;
    uint64_t calls = 0;
    const onnxd_shape shape = shape_of(2, 3);
    onnxd_runtime *runtime = support_runtime("cpu;cpu.threads=1");
    onnxd_model *model = load_two_inputs(runtime, NULL);
    for (int i = 0; i < 20; i++) {
        if (i == 2)
            calls = onnxd_alloc_query().calls;
        support_ok(onnxd_request_create(model, &request));
        cr_expect_not(atomic_load(&request->cancelled));
        cr_expect_not(onnxd_tensor_view_is_present(&request->inputs[1]));
        support_ok(onnxd_request_add_input(request, 0, &shape, &data, &bytes));
        support_ok(onnxd_request_add_input(request, 1, &shape, &data, &bytes));
        support_ok(onnxd_request_string_bytes(request, 100, &text));
        memset(text, 'x', 100);
        atomic_store(&request->cancelled, true);
        onnxd_request_release(request);
    }
    cr_expect_eq(onnxd_alloc_query().calls, calls);
    onnxd_model_release(model);
    onnxd_runtime_destroy(runtime);
}

Test(request, keeps_its_model)
{
    onnxd_request *request;
    onnxd_runtime *runtime = support_runtime("cpu;cpu.threads=1");
    onnxd_model *model = load_two_inputs(runtime, NULL);
    support_ok(onnxd_request_create(model, &request));
    onnxd_model_release(model);
    cr_expect_str_eq(onnxd_model_name(request->model), "test");
    onnxd_request_release(request);
    onnxd_runtime_destroy(runtime);
}
