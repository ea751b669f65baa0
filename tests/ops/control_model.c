#include "tests/ops/control_model.h"

#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/strbuf.h"
#include "ops/convert.h"
#include "ops/ops.h"

#define MAX_NAMES 32
#define MAX_GRAPHS 32

control_limits control_limit;
/* Graphs that no node owns yet. */
static onnxd_graph *graphs[MAX_GRAPHS];
static size_t graph_count;
static onnxd_strbuf shown;

void control_begin(void)
{
    control_limit = (control_limits){.tensor_bytes = 1 << 20, .checks = 10000};
    graph_count = 0;
    onnxd_strbuf_init(&shown, 1 << 20);
}

void control_end(void)
{
    for (size_t i = 0; i < graph_count; i++)
        onnxd_graph_destroy(graphs[i]);
    graph_count = 0;
    onnxd_strbuf_deinit(&shown);
}

static void must(onnxd_status *status)
{
    cr_assert(status == NULL, "%s", onnxd_status_message(status));
}

/* ---- graphs -------------------------------------------------------------------------------- */

static onnxd_value_id value_of(onnxd_graph *graph, const char *name)
{
    onnxd_value_id value = onnxd_graph_find_value(graph, name);
    if (value == ONNXD_NONE)
        must(onnxd_graph_add_value(graph, name, &value));
    return value;
}

static uint32_t values_of(onnxd_graph *graph, const char *names, onnxd_value_id *ids)
{
    uint32_t count = 0;
    while (*names != '\0') {
        char name[64];
        size_t length = strcspn(names, " ");
        (void)snprintf(name, sizeof(name), "%.*s", (int)length, names);
        cr_assert(count < MAX_NAMES);
        ids[count++] = strcmp(name, "-") == 0 ? ONNXD_NONE : value_of(graph, name);
        names += length + (names[length] == ' ' ? 1 : 0);
    }
    return count;
}

onnxd_graph *control_graph(const char *inputs)
{
    onnxd_graph *graph = NULL;
    onnxd_value_id ids[MAX_NAMES];
    cr_assert(graph_count < MAX_GRAPHS);
    must(onnxd_graph_create(1 << 20, &graph));
    graphs[graph_count++] = graph;
    uint32_t count = values_of(graph, inputs, ids);
    must(onnxd_graph_set_inputs(graph, ids, count));
    return graph;
}

void control_constant(onnxd_graph *graph, const char *name, onnxd_tensor *tensor)
{
    onnxd_graph_set_constant(graph, value_of(graph, name), tensor);
    onnxd_tensor_release(tensor);
}

void control_declare(onnxd_graph *graph, const char *name, onnxd_dtype dtype, int32_t rank,
                     const int64_t *dims)
{
    graph->values[value_of(graph, name)].type =
        (onnxd_tensor_type){.dtype = dtype, .shape = onnxd_shape_from(rank, dims)};
}

static void give_away(const onnxd_graph *graph)
{
    for (size_t i = 0; i < graph_count; i++)
        if (graphs[i] == graph)
            graphs[i] = graphs[--graph_count];
}

onnxd_status *control_try_node(onnxd_graph *graph, const char *op_type, int64_t opset,
                               const char *inputs, const char *outputs,
                               const onnxd_attribute *attributes, uint32_t count)
{
    onnxd_value_id input_ids[MAX_NAMES], output_ids[MAX_NAMES];
    onnxd_attribute copies[8];
    onnxd_node_id id;
    char domain[64] = "";
    const char *slash = strchr(op_type, '/');
    cr_assert(slash == NULL || slash - op_type < (ptrdiff_t)sizeof(domain));
    if (slash != NULL)
        memcpy(domain, op_type, (size_t)(slash - op_type));
    onnxd_node node = {.name = "n",
                       .domain = domain,
                       .op_type = slash == NULL ? op_type : slash + 1,
                       .opset = opset,
                       .inputs = input_ids,
                       .outputs = output_ids,
                       .attributes = copies,
                       .attribute_count = count};
    cr_assert(count <= ONNXD_COUNT(copies));
    if (count != 0)
        memcpy(copies, attributes, count * sizeof(*copies));
    node.input_count = values_of(graph, inputs, input_ids);
    node.output_count = values_of(graph, outputs, output_ids);
    must(onnxd_graph_add_node(graph, &node, &id));
    for (uint32_t i = 0; i < count; i++)
        if (attributes[i].kind == ONNXD_ATTRIBUTE_GRAPH)
            give_away(attributes[i].value.graph);
    return onnxd_op_resolve(onnxd_ops(), graph, &graph->nodes[id]);
}

void control_node(onnxd_graph *graph, const char *op_type, int64_t opset, const char *inputs,
                  const char *outputs, const onnxd_attribute *attributes, uint32_t count)
{
    must(control_try_node(graph, op_type, opset, inputs, outputs, attributes, count));
}

void control_outputs(onnxd_graph *graph, const char *outputs)
{
    onnxd_value_id ids[MAX_NAMES];
    uint32_t count = values_of(graph, outputs, ids);
    must(onnxd_graph_set_outputs(graph, ids, count));
}

onnxd_attribute control_int(const char *name, int64_t value)
{
    return (onnxd_attribute){
        .name = name, .kind = ONNXD_ATTRIBUTE_INT, .count = 1, .value.i = value};
}

onnxd_attribute control_ints(const char *name, size_t count, const int64_t *values)
{
    return (onnxd_attribute){
        .name = name, .kind = ONNXD_ATTRIBUTE_INTS, .count = count, .value.ints = values};
}

onnxd_attribute control_subgraph(const char *name, onnxd_graph *graph)
{
    return (onnxd_attribute){
        .name = name, .kind = ONNXD_ATTRIBUTE_GRAPH, .count = 1, .value.graph = graph};
}

/* ---- values -------------------------------------------------------------------------------- */

onnxd_tensor *control_tensor(onnxd_dtype dtype, int32_t rank, const int64_t *dims, const void *data)
{
    onnxd_tensor *tensor = NULL;
    onnxd_shape shape = onnxd_shape_from(rank, dims);
    if (dtype == ONNXD_STRING)
        must(onnxd_tensor_create_strings(&shape, data, &tensor));
    else
        must(onnxd_tensor_create(dtype, &shape, &tensor));
    if (dtype != ONNXD_STRING && tensor->bytes != 0)
        memcpy(tensor->data, data, tensor->bytes);
    return tensor;
}

static onnxd_datum *datum_of(onnxd_tensor *tensor)
{
    onnxd_datum *datum = NULL;
    must(onnxd_datum_of_tensor(tensor, &datum));
    onnxd_tensor_release(tensor);
    return datum;
}

onnxd_datum *control_ints_1d(size_t count, const int64_t *values)
{
    int64_t extent = (int64_t)count;
    return datum_of(control_tensor(ONNXD_INT64, 1, &extent, values));
}

onnxd_datum *control_scalar(int64_t value)
{
    return datum_of(control_tensor(ONNXD_INT64, 0, NULL, &value));
}

onnxd_datum *control_flag(bool value)
{
    uint8_t byte = value;
    return datum_of(control_tensor(ONNXD_BOOL, 0, NULL, &byte));
}

onnxd_datum *control_text(size_t count, const char *const *texts)
{
    onnxd_string strings[MAX_NAMES];
    int64_t extent = (int64_t)count;
    for (size_t i = 0; i < count; i++)
        strings[i] = (onnxd_string){texts[i], strlen(texts[i])};
    return datum_of(control_tensor(ONNXD_STRING, 1, &extent, strings));
}

onnxd_datum *control_sequence(onnxd_dtype dtype, size_t count, onnxd_datum *const *items)
{
    onnxd_datum *sequence = NULL;
    must(onnxd_datum_of_items(ONNXD_VALUE_SEQUENCE, dtype, items, count, &sequence));
    for (size_t i = 0; i < count; i++)
        onnxd_datum_release(items[i]);
    return sequence;
}

/* ---- running ------------------------------------------------------------------------------- */

static onnxd_status *allocate(const onnxd_run_env *env, onnxd_dtype dtype, const onnxd_shape *shape,
                              onnxd_tensor **out_tensor)
{
    (void)env;
    size_t count, bytes;
    if (!onnxd_shape_count(shape, &count) || !onnxd_dtype_bytes(dtype, count, &bytes) ||
        bytes > control_limit.tensor_bytes)
        return onnxd_error(ONNXD_PAYLOAD_TOO_LARGE, "a tensor beyond the limit");
    ONNXD_TRY(onnxd_tensor_create(dtype, shape, out_tensor));
    memset((*out_tensor)->data, 0xa5, (*out_tensor)->bytes);
    return NULL;
}

static onnxd_status *check(const onnxd_run_env *env)
{
    (void)env;
    return control_limit.checks-- > 0 ? NULL : onnxd_error(ONNXD_CANCELLED, "cancelled");
}

static onnxd_status *run_subgraph(const onnxd_run_env *env, const onnxd_graph *subgraph,
                                  onnxd_datum *const *node_inputs, onnxd_datum *const *inputs,
                                  onnxd_datum **outputs);
static const onnxd_run_env environment = {
    .allocate = allocate, .run_subgraph = run_subgraph, .check = check};

static onnxd_status *compute(const onnxd_node *node, onnxd_datum *const *inputs,
                             onnxd_datum **outputs)
{
    const onnxd_tensor *tensors[MAX_NAMES];
    onnxd_tensor *made[MAX_NAMES] = {NULL};
    for (uint32_t i = 0; i < node->input_count; i++)
        tensors[i] = inputs[i] == NULL ? NULL : inputs[i]->tensor;
    ONNXD_TRY(onnxd_op_evaluate(node, tensors, control_limit.tensor_bytes, made));
    for (uint32_t i = 0; i < node->output_count; i++)
        if (made[i] != NULL)
            outputs[i] = datum_of(made[i]);
    return NULL;
}

static onnxd_status *run_node(const onnxd_node *node, onnxd_datum *const *inputs,
                              onnxd_datum **outputs)
{
    bool has_tensors_only = true;
    for (uint32_t i = 0; i < node->input_count; i++)
        if (inputs[i] != NULL && inputs[i]->kind != ONNXD_VALUE_TENSOR)
            has_tensors_only = false;
    if (node->def->compute != NULL && has_tensors_only)
        return compute(node, inputs, outputs);
    onnxd_dynamic dynamic = {.node = node,
                             .params = node->params,
                             .opset = node->opset,
                             .input_count = node->input_count,
                             .output_count = node->output_count,
                             .inputs = inputs,
                             .outputs = outputs,
                             .env = &environment};
    return node->def->run(&dynamic);
}

static onnxd_status *run_nodes(const onnxd_graph *graph, onnxd_datum **values)
{
    onnxd_status *status = NULL;
    for (uint32_t n = 0; n < graph->node_count && status == NULL; n++) {
        const onnxd_node *node = &graph->nodes[n];
        onnxd_datum *inputs[MAX_NAMES] = {NULL}, *outputs[MAX_NAMES] = {NULL};
        for (uint32_t i = 0; i < node->input_count; i++)
            if (node->inputs[i] != ONNXD_NONE)
                inputs[i] = values[node->inputs[i]];
        status = run_node(node, inputs, outputs);
        for (uint32_t i = 0; i < node->output_count; i++) {
            cr_expect(outputs[i] == NULL || node->outputs[i] != ONNXD_NONE,
                      "absent output %u was made", i);
            if (node->outputs[i] != ONNXD_NONE)
                values[node->outputs[i]] = outputs[i];
        }
    }
    return status;
}

static onnxd_status *run_subgraph(const onnxd_run_env *env, const onnxd_graph *subgraph,
                                  onnxd_datum *const *node_inputs, onnxd_datum *const *inputs,
                                  onnxd_datum **outputs)
{
    (void)env, (void)node_inputs;
    onnxd_datum **values = onnxd_alloc_zero(subgraph->value_count + 1, sizeof(onnxd_datum *));
    cr_assert(values != NULL);
    for (uint32_t v = 0; v < subgraph->value_count; v++)
        if (subgraph->values[v].constant != NULL)
            values[v] = datum_of(onnxd_tensor_retain(subgraph->values[v].constant));
    for (uint32_t i = 0; i < subgraph->input_count; i++)
        if (inputs[i] != NULL)
            values[subgraph->inputs[i]] = onnxd_datum_retain(inputs[i]);
    onnxd_status *status = run_nodes(subgraph, values);
    for (uint32_t i = 0; i < subgraph->output_count && status == NULL; i++)
        if (values[subgraph->outputs[i]] != NULL)
            outputs[i] = onnxd_datum_retain(values[subgraph->outputs[i]]);
    for (uint32_t v = 0; v < subgraph->value_count; v++)
        onnxd_datum_release(values[v]);
    onnxd_free(values);
    return status;
}

onnxd_status *control_run(const onnxd_graph *graph, onnxd_datum *const *inputs,
                          onnxd_datum **outputs)
{
    onnxd_status *status = run_subgraph(&environment, graph, NULL, inputs, outputs);
    for (uint32_t i = 0; i < graph->input_count; i++)
        onnxd_datum_release(inputs[i]);
    return status;
}

onnxd_status *control_infer(const onnxd_graph *graph, const onnxd_tensor_type *inputs,
                            onnxd_tensor_type *outputs)
{
    const onnxd_tensor *constants[MAX_NAMES] = {NULL};
    cr_assert_eq(graph->node_count, 1);
    return onnxd_op_infer(&graph->nodes[0], inputs, constants, outputs);
}

void control_expect_error(onnxd_status *status, const char *text)
{
    cr_expect(status != NULL && strstr(onnxd_status_message(status), text) != NULL,
              "is  %s\n  must contain %s", onnxd_status_message(status), text);
    onnxd_status_free(status);
}

/* ---- showing ------------------------------------------------------------------------------- */

static void show_tensor(const onnxd_tensor *tensor)
{
    char shape[ONNXD_SHAPE_TEXT];
    onnxd_strbuf_printf(&shown, "%s%s{", onnxd_dtype_name(tensor->dtype),
                        onnxd_shape_format(&tensor->shape, shape, sizeof(shape)));
    for (size_t i = 0; i < tensor->count; i++) {
        onnxd_strbuf_puts(&shown, i == 0 ? "" : ",");
        if (tensor->dtype == ONNXD_STRING) {
            const onnxd_string *text = &((const onnxd_string *)tensor->data)[i];
            onnxd_strbuf_append(&shown, text->data, text->size);
            continue;
        }
        onnxd_wide chunk[8];
        char text[ONNXD_WIDE_TEXT + 1];
        onnxd_wide_load(tensor->dtype, tensor->data, i - i % 8, i % 8 + 1, chunk);
        text[onnxd_wide_format(onnxd_wide_kind_of(tensor->dtype), chunk[i % 8], text)] = '\0';
        onnxd_strbuf_puts(&shown, text);
    }
    onnxd_strbuf_puts(&shown, "}");
}

const char *control_show(onnxd_datum *datum)
{
    onnxd_strbuf_reset(&shown);
    if (datum == NULL || datum->kind == ONNXD_VALUE_OPTIONAL) {
        onnxd_strbuf_puts(&shown, "nothing");
    } else if (datum->kind == ONNXD_VALUE_TENSOR) {
        show_tensor(datum->tensor);
    } else {
        onnxd_strbuf_printf(&shown, "seq(%s){", onnxd_dtype_name(datum->dtype));
        for (size_t i = 0; i < datum->item_count; i++) {
            onnxd_strbuf_puts(&shown, i == 0 ? "" : "; ");
            show_tensor(datum->items[i]->tensor);
        }
        onnxd_strbuf_puts(&shown, "}");
    }
    onnxd_datum_release(datum);
    return shown.data;
}
