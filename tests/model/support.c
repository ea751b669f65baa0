#include "tests/model/support.h"

#include <criterion/criterion.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ep/cpu/cpu_ep.h"
#include "ep/module.h"
#include "ops/ops.h"

#define MAX_INSTANCES 4
#define MAX_OPTIONS 16

void support_ok(onnxd_status *status)
{
    cr_assert_null(status, "%s", onnxd_status_message(status));
}

void support_error(onnxd_status *status, onnxd_code code, const char *text)
{
    cr_assert_eq(onnxd_status_code(status), code, "%s: %s",
                 onnxd_code_text(onnxd_status_code(status)), onnxd_status_message(status));
    cr_assert_not_null(strstr(onnxd_status_message(status), text), "%s",
                       onnxd_status_message(status));
    onnxd_status_free(status);
}

/* ---- runtimes ------------------------------------------------------------------------------ */

static onnxd_status *open_provider(const onnxd_ep_host *host, const char *name,
                                   uint32_t device_index, onnxd_ep **out_ep)
{
    if (strcmp(name, "cpu_ep") != 0)
        return onnxd_error(ONNXD_NOT_FOUND, "no provider '%s'", name);
    return onnxd_ep_create(onnxd_cpu_ep_api(), host, device_index, out_ep);
}

static void write_log(onnxd_log_level level, const char *module, const char *message)
{
    onnxd_log(level, module, "%s", message);
}

static const onnxd_ep_host *the_host(void)
{
    static onnxd_ep_host host;
    host = (onnxd_ep_host){
        .abi_version = ONNXD_EP_ABI_VERSION,
        .struct_size = sizeof(onnxd_ep_host),
        .ops = onnxd_ops(),
        .open_provider = open_provider,
        .log = write_log,
    };
    return &host;
}

static const onnxd_ep_api *api_of(const char *name)
{
    const onnxd_ep_api *api;
    if (strcmp(name, "cpu") == 0)
        return onnxd_cpu_ep_api();
    cr_assert_str_eq(name, "sim");
    support_ok(onnxd_ep_module_load(ONNXD_SIM_MODULE, &api));
    return api;
}

/* `text` is one instance: a name, then key=value pairs, separated by semicolons; it is cut up. */
static onnxd_ep *open_instance(char *text)
{
    onnxd_ep_option options[MAX_OPTIONS];
    onnxd_ep_config config = {.options = options};
    onnxd_ep *ep;
    char *next = strchr(text, ';');
    while (next != NULL) {
        char *key = next + 1, *value = strchr(key, '=');
        cr_assert_not_null(value);
        cr_assert(config.option_count < MAX_OPTIONS);
        *next = *value++ = '\0';
        options[config.option_count++] = (onnxd_ep_option){key, value};
        next = strchr(value, ';');
    }
    support_ok(onnxd_ep_create(api_of(text), the_host(), 0, &ep));
    support_ok(onnxd_ep_initialize(ep, &config));
    return ep;
}

onnxd_runtime *support_runtime_of(onnxd_ep *const *eps, size_t count)
{
    const onnxd_runtime_options options = {.host_memory_limit_bytes = SIZE_MAX,
                                           .host_memory_cache_bytes = (size_t)64 << 20};
    onnxd_runtime *runtime;
    support_ok(onnxd_runtime_create(eps, count, onnxd_ops(), &options, &runtime));
    return runtime;
}

size_t support_open(const char *spec, onnxd_ep **eps, size_t capacity)
{
    char text[512];
    size_t count = 0;
    cr_assert(strlen(spec) < sizeof(text));
    strcpy(text, spec);
    for (char *next = text; next != NULL;) {
        char *blank = strchr(next, ' ');
        if (blank != NULL)
            *blank++ = '\0';
        cr_assert(count < capacity);
        eps[count++] = open_instance(next);
        next = blank;
    }
    return count;
}

onnxd_runtime *support_runtime(const char *spec)
{
    onnxd_ep *eps[MAX_INSTANCES];
    const size_t count = support_open(spec, eps, MAX_INSTANCES);
    return support_runtime_of(eps, count);
}

/* ---- files --------------------------------------------------------------------------------- */

void support_make_directory(char *path, size_t capacity)
{
    snprintf(path, capacity, "/tmp/onnxd-test-XXXXXX");
    cr_assert_not_null(mkdtemp(path));
}

static int remove_entry(const char *path, const struct stat *info, int type, struct FTW *where)
{
    (void)info;
    (void)type;
    (void)where;
    return remove(path);
}

void support_remove_directory(const char *path)
{
    cr_assert_eq(strncmp(path, "/tmp/onnxd-test-", 16), 0);
    nftw(path, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

onnxd_status *support_try_load(onnxd_runtime *runtime, onnx_file *file,
                               const onnxd_model_options *options, onnxd_model **out_model)
{
    const onnxd_model_options defaults = onnxd_model_options_default();
    char path[] = "/tmp/onnxd-test-XXXXXX";
    const int descriptor = mkstemp(path);
    cr_assert_geq(descriptor, 0);
    close(descriptor);
    onnx_file_write(file, path);
    onnxd_status *status = onnxd_model_load(runtime, "test", 1, path,
                                            options != NULL ? options : &defaults, out_model);
    unlink(path);
    return status;
}

onnxd_model *support_load(onnxd_runtime *runtime, onnx_file *file,
                          const onnxd_model_options *options)
{
    onnxd_model *model;
    support_ok(support_try_load(runtime, file, options, &model));
    return model;
}

/* ---- tensors ------------------------------------------------------------------------------- */

onnxd_tensor_view support_view(const void *data, onnxd_dtype dtype, const char *dims)
{
    onnxd_shape shape = {.rank = 0};
    while (*dims != '\0') {
        char *end;
        shape.dims[shape.rank++] = strtoll(dims, &end, 10);
        dims = *end == ',' ? end + 1 : end;
    }
    return onnxd_tensor_view_of((void *)(uintptr_t)data, dtype, &shape);
}

void support_expect_floats(onnxd_model *model, const onnxd_tensor_view *inputs, size_t count,
                           const float *expected)
{
    onnxd_plan *plan;
    onnxd_run *run;
    support_ok(onnxd_model_prepare(model, inputs, &plan));
    support_ok(onnxd_run_once(plan, inputs, &run));
    const onnxd_tensor_view *output = &onnxd_run_outputs(run)[0];
    cr_assert_eq(output->dtype, ONNXD_FLOAT);
    cr_assert_eq(onnxd_tensor_view_count(output), count);
    const float *values = onnxd_tensor_view_data(output);
    for (size_t i = 0; i < count; i++)
        cr_assert_eq(values[i], expected[i], "element %zu is %.9g, not %.9g", i, (double)values[i],
                     (double)expected[i]);
    onnxd_run_release(run);
    onnxd_plan_release(plan);
}

void support_write_mlp(onnx_file *file)
{
    float first[4 * 8], bias[8], second[8 * 3];
    for (int i = 0; i < 32; i++)
        first[i] = (float)(i % 7) - 3.0f;
    for (int i = 0; i < 8; i++)
        bias[i] = (float)i - 4.0f;
    for (int i = 0; i < 24; i++)
        second[i] = (float)(i % 5) - 2.0f;
    *file = onnx_file_begin();
    onnx_input(file, "x", ONNXD_FLOAT, "N,4");
    onnx_floats(file, "w1", "4,8", 32, first);
    onnx_floats(file, "b1", "8", 8, bias);
    onnx_floats(file, "w2", "8,3", 24, second);
    onnx_node(file, "MatMul", "x,w1", "h1");
    onnx_node(file, "Add", "h1,b1", "h2");
    onnx_node(file, "Relu", "h2", "h3");
    onnx_node(file, "MatMul", "h3,w2", "y");
    onnx_output(file, "y", ONNXD_FLOAT, "N,3");
}
