#include "support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "ep/cpu/cpu_ep.h"
#include "ops/ops.h"

bool is_skipped(const char *name)
{
    for (const exemption *at = conformance_provider.skips; at->name != NULL; at++) {
        if (strcmp(at->name, name) != 0)
            continue;
        fprintf(stderr, "%s is skipped for %s: %s\n", name, conformance_provider.name, at->reason);
        return true;
    }
    return false;
}

void skip(const char *reason)
{
    fprintf(stderr, "a part of the test is skipped for %s: %s\n", conformance_provider.name,
            reason);
}

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define IS_WATCHED 1
#endif
#endif
#if defined(__SANITIZE_THREAD__)
#define IS_WATCHED 1
#endif

bool can_show_races(void)
{
#ifdef IS_WATCHED
    return false;
#else
    return conformance_provider.slow_copies != NULL && conformance_provider.slow_kernels != NULL;
#endif
}

static onnxd_status *open_provider(const onnxd_ep_host *host, const char *name,
                                   uint32_t device_index, onnxd_ep **out_ep)
{
    if (strcmp(name, "cpu_ep") != 0)
        return onnxd_error(ONNXD_NOT_FOUND, "there is no provider '%s'", name);
    return onnxd_ep_create(onnxd_cpu_ep_api(), host, device_index, out_ep);
}

static void host_log(onnxd_log_level level, const char *module, const char *message)
{
    cr_assert_gt(level, ONNXD_LOG_ERROR, "%s logs an error: %s", module, message);
}

const onnxd_ep_host *test_host(void)
{
    static onnxd_ep_host host;
    host = (onnxd_ep_host){.abi_version = ONNXD_EP_ABI_VERSION,
                           .struct_size = sizeof(onnxd_ep_host),
                           .ops = onnxd_ops(),
                           .open_provider = open_provider,
                           .log = host_log};
    return &host;
}

void expect_ok_at(onnxd_status *status, const char *what, int line)
{
    cr_assert_null(status, "line %d: %s: %s", line, what, onnxd_status_message(status));
}

void expect_code_at(onnxd_status *status, onnxd_code code, const char *what, int line)
{
    cr_assert_eq(onnxd_status_code(status), code, "line %d: %s: %s instead of %s (%s)", line, what,
                 onnxd_code_text(onnxd_status_code(status)), onnxd_code_text(code),
                 onnxd_status_message(status));
    onnxd_status_free(status);
}

void expect_message(onnxd_status *status, onnxd_code code, const char *part)
{
    const char *message = onnxd_status_message(status);
    cr_assert_not_null(strstr(message, part), "'%s' does not say '%s'", message, part);
    expect_code(status, code);
}

/* ---- instances ----------------------------------------------------------------------------- */

onnxd_ep *create_ep(uint32_t device_index)
{
    onnxd_ep *ep = NULL;
    expect_ok(onnxd_ep_create(conformance_provider.load(), test_host(), device_index, &ep));
    return ep;
}

onnxd_ep *open_ep(const onnxd_ep_option *options, size_t option_count)
{
    onnxd_ep *ep = create_ep(0);
    const onnxd_ep_config config = {options, option_count};
    expect_ok(onnxd_ep_initialize(ep, &config));
    return ep;
}

onnxd_ep *open_default_ep(void)
{
    return open_ep(NULL, 0);
}

onnxd_ep *open_ep_with(const char *key, const char *value)
{
    const onnxd_ep_option option = {key, value};
    return open_ep(&option, 1);
}

onnxd_ep *open_ep_list(const onnxd_ep_option *options)
{
    size_t count = 0;
    while (options != NULL && options[count].key != NULL)
        count++;
    return open_ep(options, count);
}

void close_ep(onnxd_ep *ep)
{
    expect_ok(onnxd_ep_shutdown(ep));
    onnxd_ep_stats stats = onnxd_ep_get_stats(ep);
    cr_assert_eq(stats.allocated_bytes, 0);
    cr_assert_eq(stats.buffers_live, 0);
    cr_assert_eq(stats.fences_live, 0);
    onnxd_ep_destroy(ep);
}

/* ---- memory -------------------------------------------------------------------------------- */

onnxd_buffer allocate(onnxd_ep *ep, size_t bytes)
{
    onnxd_buffer buffer = {0};
    expect_ok(onnxd_ep_allocate(ep, bytes, 64, &buffer));
    return buffer;
}

void deallocate(onnxd_ep *ep, onnxd_buffer buffer)
{
    expect_ok(onnxd_ep_deallocate(ep, buffer));
}

onnxd_copy copy_of(onnxd_buffer source, onnxd_buffer destination, size_t bytes)
{
    onnxd_copy copy = {.source = source, .destination = destination, .bytes = bytes};
    return copy;
}

void upload(onnxd_ep *ep, onnxd_buffer buffer, const void *data, size_t bytes)
{
    onnxd_copy copy = copy_of(onnxd_buffer_borrow_host(data, bytes), buffer, bytes);
    expect_ok(onnxd_ep_copy(ep, &copy));
}

void download(onnxd_ep *ep, onnxd_buffer buffer, void *data, size_t bytes)
{
    onnxd_copy copy = copy_of(buffer, onnxd_buffer_borrow_host(data, bytes), bytes);
    expect_ok(onnxd_ep_copy(ep, &copy));
}

onnxd_buffer filled(onnxd_ep *ep, size_t bytes, unsigned char value)
{
    onnxd_buffer buffer = allocate(ep, bytes);
    unsigned char *data = malloc(bytes + 1);
    cr_assert_not_null(data);
    memset(data, value, bytes);
    upload(ep, buffer, data, bytes);
    free(data);
    return buffer;
}

bool is_filled(const void *data, size_t bytes, unsigned char value)
{
    const unsigned char *at = data;
    for (size_t i = 0; i < bytes; i++)
        if (at[i] != value)
            return false;
    return true;
}

onnxd_fence issue(onnxd_ep *ep, const onnxd_copy *copy)
{
    onnxd_fence fence = 0;
    expect_ok(onnxd_ep_copy_async(ep, copy, &fence));
    return fence;
}

void finish_with(onnxd_ep *ep, onnxd_fence fence, onnxd_code code)
{
    expect_code(onnxd_ep_fence_wait(ep, fence, -1), code);
    expect_ok(onnxd_ep_fence_release(ep, fence));
}

void finish(onnxd_ep *ep, onnxd_fence fence)
{
    finish_with(ep, fence, ONNXD_OK);
}

/* ---- operators ----------------------------------------------------------------------------- */

static onnxd_value_id add_value(onnxd_graph *graph, const char *prefix, uint32_t index)
{
    char name[32];
    onnxd_value_id value = ONNXD_NONE;
    snprintf(name, sizeof(name), "%s%u", prefix, index);
    expect_ok(onnxd_graph_add_value(graph, name, &value));
    return value;
}

void make_node(one_node *self, const char *op_type, int64_t opset, uint32_t input_count,
               uint32_t output_count)
{
    *self = (one_node){0};
    cr_assert_leq(input_count, ONNXD_COUNT(self->inputs));
    cr_assert_leq(output_count, ONNXD_COUNT(self->outputs));
    expect_ok(onnxd_graph_create((size_t)1 << 24, &self->graph));
    onnxd_value_id inputs[8], outputs[8];
    for (uint32_t i = 0; i < input_count; i++)
        inputs[i] = add_value(self->graph, "in", i);
    for (uint32_t i = 0; i < output_count; i++)
        outputs[i] = add_value(self->graph, "out", i);
    const onnxd_node node = {.name = "subject",
                             .domain = "",
                             .op_type = op_type,
                             .opset = opset,
                             .inputs = inputs,
                             .outputs = outputs,
                             .input_count = input_count,
                             .output_count = output_count};
    onnxd_node_id id;
    expect_ok(onnxd_graph_add_node(self->graph, &node, &id));
    self->node = &self->graph->nodes[id];
    for (int i = 0; i < 8; i++) {
        self->inputs[i].shape = onnxd_shape_unknown();
        self->outputs[i].shape = onnxd_shape_unknown();
    }
    self->query = (onnxd_op_query){.node = self->node,
                                   .opset = opset,
                                   .input_count = input_count,
                                   .output_count = output_count,
                                   .inputs = self->inputs,
                                   .outputs = self->outputs,
                                   .constants = self->constants};
}

void drop_node(one_node *self)
{
    for (int i = 0; i < 8; i++)
        onnxd_tensor_release(self->constants[i]);
    onnxd_graph_destroy(self->graph);
}

static onnxd_attribute *add_attribute(one_node *self, const char *name)
{
    onnxd_node *node = self->node;
    size_t count = node->attribute_count;
    onnxd_attribute *attributes =
        onnxd_arena_alloc_zero(&self->graph->arena, count + 1, sizeof(*attributes));
    cr_assert_not_null(attributes);
    if (count > 0)
        memcpy(attributes, node->attributes, count * sizeof(*attributes));
    attributes[count].name = name;
    attributes[count].count = 1;
    node->attributes = attributes;
    node->attribute_count++;
    return &attributes[count];
}

void add_int_attribute(one_node *self, const char *name, int64_t value)
{
    onnxd_attribute *attribute = add_attribute(self, name);
    attribute->kind = ONNXD_ATTRIBUTE_INT;
    attribute->value.i = value;
}

void add_ints_attribute(one_node *self, const char *name, const int64_t *values, size_t count)
{
    onnxd_attribute *attribute = add_attribute(self, name);
    attribute->kind = ONNXD_ATTRIBUTE_INTS;
    attribute->value.ints = values;
    attribute->count = count;
}

void add_tensor_attribute(one_node *self, const char *name)
{
    const int64_t count = 2;
    const onnxd_shape shape = onnxd_shape_from(1, &count);
    onnxd_tensor *tensor = NULL;
    expect_ok(onnxd_tensor_create(ONNXD_FLOAT, &shape, &tensor));
    onnxd_attribute *attribute = add_attribute(self, name);
    attribute->kind = ONNXD_ATTRIBUTE_TENSOR;
    attribute->value.tensor = tensor; /* the graph's */
}

bool resolve_node(one_node *self)
{
    onnxd_status *status = onnxd_op_resolve(onnxd_ops(), self->graph, self->node);
    bool is_resolved = status == NULL;
    onnxd_status_free(status);
    return is_resolved;
}

bool infer_node(one_node *self)
{
    onnxd_status *status = onnxd_op_infer(
        self->node, self->inputs, (const onnxd_tensor *const *)self->constants, self->outputs);
    bool is_inferred = status == NULL;
    onnxd_status_free(status);
    return is_inferred;
}

onnxd_tensor_type type_of(onnxd_dtype dtype, int32_t rank, const int64_t *dims)
{
    onnxd_tensor_type type = {.dtype = dtype, .shape = onnxd_shape_from(rank, dims)};
    return type;
}

void make_relu(one_node *self, int64_t count)
{
    make_node(self, "Relu", 14, 1, 1);
    self->inputs[0] = type_of(ONNXD_FLOAT, 1, &count);
    cr_assert(resolve_node(self));
    cr_assert(infer_node(self));
}

onnxd_kernel *kernel_for(onnxd_ep *ep, one_node *node)
{
    onnxd_kernel *kernel = NULL;
    expect_ok(onnxd_ep_get_kernel(ep, &node->query, &kernel));
    return kernel;
}

onnxd_tensor_view float_view(onnxd_buffer buffer, int64_t count)
{
    onnxd_shape shape = onnxd_shape_from(1, &count);
    onnxd_tensor_view view = onnxd_tensor_view_of(buffer.data, ONNXD_FLOAT, &shape);
    view.device = buffer.device;
    return view;
}

onnxd_status *enqueue_unary(onnxd_kernel *kernel, onnxd_buffer input, onnxd_buffer output,
                            int64_t count)
{
    const onnxd_tensor_view in = float_view(input, count);
    onnxd_tensor_view out = float_view(output, count);
    cr_assert_eq(kernel->workspace_bytes, 0, "the tests give no workspace");
    const onnxd_kernel_args args = {
        .inputs = &in, .outputs = &out, .input_count = 1, .output_count = 1};
    return onnxd_kernel_enqueue(kernel, &args);
}

double now_ms(void)
{
    return (double)onnxd_now_ns() / 1e6;
}
