/*
 * Every operator in its first and last opset, with random attributes, types, shapes and values from
 * pools of hostile ones. The calls are mostly wrong; none may crash, and each that is accepted must
 * keep the promises of graph/op.h.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "graph/graph.h"
#include "ops/ops.h"
#include "tests/ops/run_env.h"

#define ROUNDS 60
#define MAX_INPUTS ONNXD_OP_MAX_FORMALS
#define MAX_ATTRIBUTES 3
#define MAX_COUNT 128 /* elements of an input with values */

static uint64_t state;

static uint64_t random_below(uint64_t bound)
{
    uint64_t z = (state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (z ^ (z >> 31)) % bound;
}

static int64_t hostile_int(void)
{
    static const int64_t pool[] = {
        0,  1,  -1,   2,         -2,        3,         4,         7,
        16, 17, 1000, INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN, INT64_MAX / 2};
    /* Mostly small ones, or nothing would ever be accepted. */
    return pool[random_below(random_below(3) == 0 ? ONNXD_COUNT(pool) : 6)];
}

static onnxd_shape random_shape(bool is_static)
{
    onnxd_shape shape = {.rank = (int32_t)random_below(random_below(4) == 0 ? 9 : 4)};
    if (!is_static && random_below(8) == 0)
        return onnxd_shape_unknown();
    for (int32_t i = 0; i < shape.rank; i++) {
        shape.dims[i] = (int64_t)random_below(4);
        if (!is_static && random_below(4) == 0)
            shape.dims[i] = -(int64_t)random_below(4) - 1;
    }
    return shape;
}

static onnxd_dtype random_dtype(onnxd_dtype_set set)
{
    onnxd_dtype_set usable = set != 0 ? set : ONNXD_SET(FLOAT);
    for (;;) {
        unsigned number = 1 + (unsigned)random_below(ONNXD_DTYPE_COUNT - 1);
        if ((usable & ((onnxd_dtype_set)1u << number)) != 0)
            return (onnxd_dtype)number;
    }
}

static void fill(onnxd_tensor *tensor)
{
    static const onnxd_string texts[] = {
        {NULL, 0}, {"1", 1}, {"-1e400", 6}, {"nan", 3}, {"x\0y", 3}};
    if (tensor->dtype == ONNXD_STRING) {
        for (size_t i = 0; i < tensor->count; i++)
            ((onnxd_string *)tensor->data)[i] = texts[random_below(ONNXD_COUNT(texts))];
    } else if (tensor->dtype == ONNXD_INT64) {
        for (size_t i = 0; i < tensor->count; i++)
            ((int64_t *)tensor->data)[i] = hostile_int();
    } else if (tensor->dtype == ONNXD_INT32) {
        for (size_t i = 0; i < tensor->count; i++)
            ((int32_t *)tensor->data)[i] = (int32_t)hostile_int();
    } else {
        for (size_t i = 0; i < tensor->bytes; i++)
            ((uint8_t *)tensor->data)[i] = (uint8_t)random_below(random_below(2) == 0 ? 2 : 256);
    }
}

/* A string tensor borrows the texts above, which outlive it. */
static onnxd_tensor *random_tensor(onnxd_dtype dtype, const onnxd_shape *shape)
{
    onnxd_tensor *tensor = NULL;
    size_t count;
    if (!onnxd_shape_count(shape, &count) || count > MAX_COUNT)
        return NULL;
    cr_assert(onnxd_tensor_create(dtype, shape, &tensor) == NULL);
    fill(tensor);
    return tensor;
}

typedef struct call {
    onnxd_graph *graph;
    onnxd_node node;
    onnxd_value_id inputs[MAX_INPUTS], outputs[4];
    onnxd_attribute attributes[MAX_ATTRIBUTES];
    int64_t ints[MAX_ATTRIBUTES][4];
    onnxd_tensor_type types[MAX_INPUTS], results[4];
    onnxd_tensor *values[MAX_INPUTS], *products[4];
    onnxd_tensor *attribute_tensor;
} call;

static void make_attribute(call *c, uint32_t index)
{
    static const char *const names[] = {
        "axis",      "axes",        "perm",    "to",           "starts",  "ends",
        "split",     "keepdims",    "pads",    "mode",         "value",   "shape",
        "broadcast", "num_outputs", "alpha",   "allowzero",    "strides", "dilations",
        "group",     "size",        "epsilon", "kernel_shape", "transA",  "start"};
    static const float floats[] = {0.5f, 0.0f, 1e38f};
    static const onnxd_text text = {"edge", 4};
    onnxd_attribute *attribute = &c->attributes[index];
    attribute->name = names[random_below(ONNXD_COUNT(names))];
    attribute->count = 1;
    if (c->attribute_tensor == NULL) {
        onnxd_shape shape = {.rank = 1, .dims = {1 + (int64_t)random_below(2)}};
        c->attribute_tensor = random_tensor(random_dtype(ONNXD_SET_PROTOCOL), &shape);
    }
    switch (random_below(8)) {
    case 0:
        attribute->kind = ONNXD_ATTRIBUTE_FLOAT;
        attribute->value.f = floats[random_below(3)];
        break;
    case 1:
        attribute->kind = ONNXD_ATTRIBUTE_STRING;
        attribute->value.s = text;
        break;
    case 2:
        attribute->kind = ONNXD_ATTRIBUTE_TENSOR;
        attribute->value.tensor = c->attribute_tensor;
        break;
    case 3:
    case 4:
        attribute->kind = ONNXD_ATTRIBUTE_INT;
        attribute->value.i = hostile_int();
        break;
    default:
        attribute->kind = ONNXD_ATTRIBUTE_INTS;
        attribute->count = random_below(5);
        for (size_t i = 0; i < 4; i++)
            c->ints[index][i] = hostile_int();
        attribute->value.ints = c->ints[index];
        break;
    }
}

static void make_inputs(call *c, const onnxd_op_def *def, bool is_static)
{
    uint32_t maximum = def->max_inputs < MAX_INPUTS ? def->max_inputs : MAX_INPUTS;
    c->node.input_count = def->min_inputs + (uint32_t)random_below(maximum - def->min_inputs + 1);
    onnxd_dtype of_variable[UINT8_MAX + 1] = {ONNXD_UNDEFINED};
    onnxd_shape shared = random_shape(is_static);
    for (uint32_t i = 0; i < c->node.input_count; i++) {
        uint32_t formal_index = i;
        while (formal_index > 0 && def->inputs[formal_index].types == 0)
            formal_index--;
        const onnxd_op_formal *formal = &def->inputs[formal_index];
        c->inputs[i] = formal->is_optional && random_below(3) == 0 ? ONNXD_NONE : i;
        c->types[i].shape = onnxd_shape_unknown();
        if (c->inputs[i] == ONNXD_NONE)
            continue;
        onnxd_dtype *joint = &of_variable[formal->type_variable];
        if (formal->type_variable == 0 || *joint == ONNXD_UNDEFINED)
            *joint = random_dtype(formal->types);
        c->types[i].dtype = *joint;
        c->types[i].shape = random_below(2) == 0 ? shared : random_shape(is_static);
        if ((def->shape_inputs >> i & 1) != 0) {
            int64_t length = (int64_t)random_below(4);
            c->types[i].shape = onnxd_shape_from((int32_t)(random_below(8) != 0), &length);
        }
        if (is_static || random_below(2) == 0)
            c->values[i] = random_tensor(c->types[i].dtype, &c->types[i].shape);
    }
}

static void close_call(call *c)
{
    for (size_t i = 0; i < MAX_INPUTS; i++)
        onnxd_tensor_release(c->values[i]);
    for (size_t i = 0; i < ONNXD_COUNT(c->products); i++)
        onnxd_tensor_release(c->products[i]);
    onnxd_tensor_release(c->attribute_tensor);
    onnxd_graph_destroy(c->graph);
}

/* Errors must name the operator and be the caller's fault or a limit. */
static void check_error(const call *c, onnxd_status *status)
{
    onnxd_code code = onnxd_status_code(status);
    const char *message = onnxd_status_message(status);
    cr_expect(strstr(message, c->node.op_type) != NULL, "%s: %s", c->node.op_type, message);
    cr_expect(code == ONNXD_INVALID_ARGUMENT || code == ONNXD_UNIMPLEMENTED ||
                  code == ONNXD_RESOURCE_EXHAUSTED,
              "%s-%lld: code %d: %s", c->node.op_type, (long long)c->node.opset, (int)code,
              message);
    onnxd_status_free(status);
}

static bool has_all_values(const call *c)
{
    for (uint32_t i = 0; i < c->node.input_count; i++)
        if (c->inputs[i] != ONNXD_NONE && c->values[i] == NULL)
            return false;
    return true;
}

static void check_results(call *c)
{
    for (uint32_t i = 0; i < c->node.output_count; i++)
        cr_expect(c->results[i].dtype != ONNXD_UNDEFINED &&
                      onnxd_shape_is_static(&c->results[i].shape),
                  "%s-%lld: output %u is not static although everything is known", c->node.op_type,
                  (long long)c->node.opset, i);
}

/* Returns whether the kernel ran. */
static bool try_call(const onnxd_op_def *def, int64_t opset, bool is_static)
{
    call c;
    memset(&c, 0, sizeof(c));
    cr_assert(onnxd_graph_create(1 << 20, &c.graph) == NULL);
    c.node = (onnxd_node){.name = "",
                          .domain = def->domain,
                          .op_type = def->op_type,
                          .opset = opset,
                          .inputs = c.inputs,
                          .outputs = c.outputs,
                          .attributes = c.attributes};
    c.node.output_count = def->min_outputs;
    if (def->max_outputs > 1 && random_below(2) == 0)
        c.node.output_count = 2;
    c.node.attribute_count = (uint32_t)random_below(MAX_ATTRIBUTES + 1);
    for (uint32_t i = 0; i < c.node.attribute_count; i++)
        make_attribute(&c, i);
    make_inputs(&c, def, is_static);
    bool has_run = false;
    onnxd_status *status = onnxd_op_resolve(onnxd_ops(), c.graph, &c.node);
    const onnxd_tensor *values[MAX_INPUTS];
    memcpy(values, c.values, sizeof(values));
    if (status == NULL)
        status = onnxd_op_infer(&c.node, c.types, values, c.results);
    if (status == NULL && has_all_values(&c)) {
        if (def->compute != NULL) {
            check_results(&c);
            status = onnxd_op_evaluate(&c.node, values, 1 << 20, c.products);
        } else {
            status =
                onnxd_node_context(NULL, &c.node, run_env_evaluate(&c.node, values, c.products));
        }
        has_run = status == NULL;
    }
    if (status != NULL)
        check_error(&c, status);
    close_call(&c);
    return has_run;
}

static void sweep(bool is_static, unsigned *out_runs)
{
    const onnxd_op_registry *registry = onnxd_ops();
    *out_runs = 0;
    for (size_t t = 0; t < registry->table_count; t++)
        for (const onnxd_op_def *def = registry->tables[t]; def->op_type != NULL; def++)
            for (unsigned round = 0; round < ROUNDS; round++)
                *out_runs += try_call(def, round % 2 == 0 ? def->since : def->until, is_static);
}

Test(sweep, static_calls)
{
    unsigned runs;
    state = 1;
    sweep(true, &runs);
    /* The sweep is worth something only if many calls get as far as the kernel. */
    cr_expect(runs > 1000, "only %u kernels ran", runs);
}

Test(sweep, symbolic_calls)
{
    unsigned runs;
    state = 2;
    sweep(false, &runs);
    cr_expect(runs > 100, "only %u kernels ran", runs);
}

/* One operator has one definition in each opset, and the opsets are those this build knows. */
Test(sweep, definitions_do_not_overlap)
{
    const onnxd_op_registry *registry = onnxd_ops();
    for (size_t t = 0; t < registry->table_count; t++) {
        for (const onnxd_op_def *def = registry->tables[t]; def->op_type != NULL; def++) {
            cr_expect(def->since >= 1 && def->since <= def->until && def->until <= ONNXD_OPSET_MAX,
                      "%s: opsets %lld to %lld", def->op_type, (long long)def->since,
                      (long long)def->until);
            cr_expect_eq(onnxd_op_find(registry, def->domain, def->op_type, def->since), def,
                         "%s at %lld", def->op_type, (long long)def->since);
            cr_expect_eq(onnxd_op_find(registry, def->domain, def->op_type, def->until), def,
                         "%s at %lld", def->op_type, (long long)def->until);
        }
    }
}
