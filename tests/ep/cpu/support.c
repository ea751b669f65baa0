#include "tests/ep/cpu/support.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include <criterion/criterion.h>

#include "base/alloc.h"
#include "ops/ops.h"
#include "ops/real.h"

void expect_ok(onnxd_status *status)
{
    cr_assert_null(status, "%s", onnxd_status_message(status));
}

void expect_error(onnxd_status *status, onnxd_code code)
{
    cr_assert_eq(onnxd_status_code(status), code, "%s", onnxd_status_message(status));
    onnxd_status_free(status);
}

static void log_nothing(onnxd_log_level level, const char *module, const char *message)
{
    (void)level;
    (void)module;
    (void)message;
}

static onnxd_status *open_none(const onnxd_ep_host *host, const char *name, uint32_t device_index,
                               onnxd_ep **out_ep)
{
    (void)host;
    (void)device_index;
    (void)out_ep;
    return onnxd_error(ONNXD_NOT_FOUND, "no provider '%s'", name);
}

const onnxd_ep_host *ep_host(void)
{
    static onnxd_ep_host host = {ONNXD_EP_ABI_VERSION, sizeof(onnxd_ep_host), NULL, open_none,
                                 log_nothing};
    host.ops = onnxd_ops();
    return &host;
}

onnxd_ep *ep_open(size_t count, const char *const (*options)[2])
{
    onnxd_ep_option list[8];
    onnxd_ep *ep = NULL;
    for (size_t i = 0; i < count; i++)
        list[i] = (onnxd_ep_option){options[i][0], options[i][1]};
    onnxd_ep_config config = {list, count};
    expect_ok(onnxd_ep_create(onnxd_cpu_ep_api(), ep_host(), 0, &ep));
    expect_ok(onnxd_ep_initialize(ep, &config));
    return ep;
}

onnxd_ep *ep_open_default(void)
{
    return ep_open(0, NULL);
}

onnxd_ep *ep_open_portable(void)
{
    static const char *const options[][2] = {{"cpu.onednn", "false"},
                                             {"cpu.vector_kernels", "false"}};
    return ep_open(2, options);
}

/* ---- nodes ----------------------------------------------------------------------------------- */

void node_init(test_node *t, const char *op_type, int64_t opset, uint32_t inputs, uint32_t outputs)
{
    onnxd_value_id ids[2 * MAX_OPERANDS];
    memset(t, 0, sizeof(*t));
    expect_ok(onnxd_graph_create((size_t)64 << 20, &t->graph));
    for (uint32_t i = 0; i < inputs + outputs; i++) {
        char name[16];
        snprintf(name, sizeof(name), "v%u", i);
        expect_ok(onnxd_graph_add_value(t->graph, name, &ids[i]));
    }
    onnxd_node node = {.name = "n",
                       .domain = "",
                       .op_type = op_type,
                       .opset = opset,
                       .inputs = ids,
                       .outputs = ids + inputs,
                       .input_count = inputs,
                       .output_count = outputs};
    onnxd_node_id id;
    expect_ok(onnxd_graph_add_node(t->graph, &node, &id));
    t->node = &t->graph->nodes[id];
}

void node_deinit(test_node *t)
{
    /* The attributes are the test's own. */
    t->node->attributes = NULL;
    t->node->attribute_count = 0;
    onnxd_graph_destroy(t->graph);
}

static onnxd_attribute *add_attribute(test_node *t, const char *name, onnxd_attribute_kind kind)
{
    onnxd_attribute *attribute = &t->attributes[t->attribute_count++];
    attribute->name = name;
    attribute->kind = kind;
    attribute->count = 1;
    return attribute;
}

void node_int(test_node *t, const char *name, int64_t value)
{
    add_attribute(t, name, ONNXD_ATTRIBUTE_INT)->value.i = value;
}

void node_float(test_node *t, const char *name, float value)
{
    add_attribute(t, name, ONNXD_ATTRIBUTE_FLOAT)->value.f = value;
}

void node_string(test_node *t, const char *name, const char *value)
{
    add_attribute(t, name, ONNXD_ATTRIBUTE_STRING)->value.s = (onnxd_text){value, strlen(value)};
}

void node_ints(test_node *t, const char *name, size_t count, const int64_t *values)
{
    int64_t *copy = t->ints[t->attribute_count];
    onnxd_attribute *attribute = add_attribute(t, name, ONNXD_ATTRIBUTE_INTS);
    memcpy(copy, values, count * sizeof(*copy));
    attribute->count = count;
    attribute->value.ints = copy;
}

void node_strings(test_node *t, const char *name, size_t count, const char *const *values)
{
    onnxd_text *copy = t->texts[t->attribute_count];
    onnxd_attribute *attribute = add_attribute(t, name, ONNXD_ATTRIBUTE_STRINGS);
    for (size_t i = 0; i < count; i++)
        copy[i] = (onnxd_text){values[i], strlen(values[i])};
    attribute->count = count;
    attribute->value.strings = copy;
}

onnxd_status *node_resolve(test_node *t)
{
    t->node->attributes = t->attributes;
    t->node->attribute_count = t->attribute_count;
    return onnxd_op_resolve(onnxd_ops(), t->graph, t->node);
}

/* ---- tensors --------------------------------------------------------------------------------- */

uint64_t next_random(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return *seed >> 33;
}

void relu_query_init(relu_query *r, int64_t count)
{
    node_init(&r->node, "Relu", 14, 1, 1);
    expect_ok(node_resolve(&r->node));
    r->input = r->output =
        (onnxd_tensor_type){.dtype = ONNXD_FLOAT, .shape = onnxd_shape_from(1, &count)};
    r->query = (onnxd_op_query){.node = r->node.node,
                                .opset = 14,
                                .input_count = 1,
                                .output_count = 1,
                                .inputs = &r->input,
                                .outputs = &r->output};
}

onnxd_kernel *kernel_get(onnxd_ep *ep, const onnxd_op_query *query)
{
    onnxd_kernel *kernel = NULL;
    expect_ok(onnxd_ep_get_kernel(ep, query, &kernel));
    return kernel;
}

onnxd_tensor *tensor_random(uint64_t *seed, int32_t rank, const int64_t *dims)
{
    onnxd_shape shape = onnxd_shape_from(rank, dims);
    onnxd_tensor *tensor = NULL;
    expect_ok(onnxd_tensor_create(ONNXD_FLOAT, &shape, &tensor));
    float *data = tensor->data;
    for (size_t i = 0; i < tensor->count; i++)
        data[i] = (float)next_random(seed) / 0x40000000 - 1.0f;
    return tensor;
}

onnxd_tensor *tensor_of(int32_t rank, const int64_t *dims, const float *values)
{
    onnxd_shape shape = onnxd_shape_from(rank, dims);
    onnxd_tensor *tensor = NULL;
    expect_ok(onnxd_tensor_create(ONNXD_FLOAT, &shape, &tensor));
    memcpy(tensor->data, values, tensor->bytes);
    return tensor;
}

double tensor_at(const onnxd_tensor *tensor, size_t index)
{
    return onnxd_real_load(tensor->dtype, tensor->data, index);
}

onnxd_tensor *tensor_cast(const onnxd_tensor *tensor, onnxd_dtype dtype)
{
    onnxd_tensor *cast = NULL;
    expect_ok(onnxd_tensor_create(dtype, &tensor->shape, &cast));
    for (size_t i = 0; i < cast->count; i++)
        onnxd_real_store(dtype, cast->data, i, tensor_at(tensor, i));
    return cast;
}

double difference(const onnxd_tensor *a, const onnxd_tensor *b)
{
    double largest = 0, scale = 0.1;
    cr_assert(onnxd_shape_equal(&a->shape, &b->shape), "shapes differ");
    for (size_t i = 0; i < a->count; i++) {
        double left = tensor_at(a, i), right = tensor_at(b, i);
        double distance = fabs(left - right);
        if (isnan(left) != isnan(right))
            return INFINITY;
        if (distance > largest)
            largest = distance;
        if (fabs(right) > scale)
            scale = fabs(right);
    }
    return largest / scale;
}

/* ---- runs ------------------------------------------------------------------------------------ */

typedef struct operands {
    onnxd_tensor_type input_types[MAX_OPERANDS], output_types[MAX_OPERANDS];
    onnxd_tensor *constants[MAX_OPERANDS];
    onnxd_tensor_view inputs[MAX_OPERANDS], outputs[MAX_OPERANDS];
} operands;

static onnxd_status *infer(const test_node *t, const test_run *run, operands *o)
{
    memset(o, 0, sizeof(*o));
    for (uint32_t i = 0; i < t->node->input_count; i++) {
        if (run->inputs[i] == NULL)
            continue;
        o->input_types[i].dtype = run->inputs[i]->dtype;
        o->input_types[i].shape = run->inputs[i]->shape;
        o->inputs[i] = onnxd_tensor_as_view(run->inputs[i]);
        if (run->is_constant[i])
            o->constants[i] = run->inputs[i];
    }
    return onnxd_op_infer(t->node, o->input_types, (const onnxd_tensor *const *)o->constants,
                          o->output_types);
}

static onnxd_status *make_outputs(const test_node *t, test_run *run, operands *o)
{
    for (uint32_t i = 0; i < t->node->output_count; i++) {
        if (o->output_types[i].dtype == ONNXD_UNDEFINED)
            continue;
        ONNXD_TRY(onnxd_tensor_create(o->output_types[i].dtype, &o->output_types[i].shape,
                                      &run->outputs[i]));
        memset(run->outputs[i]->data, 0xa5, run->outputs[i]->bytes);
        o->outputs[i] = onnxd_tensor_as_view(run->outputs[i]);
    }
    return NULL;
}

onnxd_status *run_node(onnxd_ep *ep, const test_node *t, test_run *run)
{
    operands o;
    onnxd_kernel *kernel = NULL;
    ONNXD_TRY(infer(t, run, &o));
    onnxd_op_query query = {.node = t->node,
                            .opset = t->node->opset,
                            .input_count = t->node->input_count,
                            .output_count = t->node->output_count,
                            .inputs = o.input_types,
                            .outputs = o.output_types,
                            .constants = o.constants};
    ONNXD_TRY(onnxd_ep_get_kernel(ep, &query, &kernel));
    ONNXD_TRY(make_outputs(t, run, &o));
    void *workspace = onnxd_alloc_aligned(kernel->workspace_bytes + 64, 64);
    cr_assert_not_null(workspace);
    memset(workspace, 0xa5, kernel->workspace_bytes + 64);
    onnxd_kernel_args args = {.inputs = o.inputs,
                              .outputs = o.outputs,
                              .input_count = t->node->input_count,
                              .output_count = t->node->output_count,
                              .workspace = kernel->workspace_bytes > 0 ? workspace : NULL};
    onnxd_status *status = onnxd_kernel_enqueue(kernel, &args);
    for (size_t i = 0; i < 64; i++)
        cr_assert_eq(((unsigned char *)workspace)[kernel->workspace_bytes + i], 0xa5,
                     "the kernel wrote behind its workspace");
    snprintf(run->implementation, sizeof(run->implementation), "%s", kernel->implementation);
    onnxd_free(workspace);
    onnxd_kernel_release(kernel);
    return status;
}

void run_deinit(test_run *run)
{
    for (int i = 0; i < MAX_OPERANDS; i++) {
        onnxd_tensor_release(run->inputs[i]);
        onnxd_tensor_release(run->outputs[i]);
    }
    memset(run, 0, sizeof(*run));
}
