#include "tests/graph/build_graph.h"

#include <criterion/criterion.h>
#include <string.h>

#include "graph/op.h"
#include "graph/print.h"
#include "tests/graph/toy_ops.h"

#define MAX_NAMES 64
#define OPSET 13

void expect_ok(onnxd_status *status)
{
    cr_assert(status == NULL, "unexpected error: %s", onnxd_status_message(status));
}

void expect_error(onnxd_status *status, onnxd_code code, const char *text)
{
    cr_assert(status != NULL, "no error, expected one with '%s'", text);
    cr_expect(onnxd_status_code(status) == code, "code %s, expected %s: %s",
              onnxd_code_text(onnxd_status_code(status)), onnxd_code_text(code),
              onnxd_status_message(status));
    cr_expect(strstr(onnxd_status_message(status), text) != NULL, "'%s' does not contain '%s'",
              onnxd_status_message(status), text);
    onnxd_status_free(status);
}

onnxd_graph *build_graph(void)
{
    onnxd_graph *graph = NULL;
    expect_ok(onnxd_graph_create((size_t)64 << 20, &graph));
    graph->ir_version = 8;
    graph->opsets = onnxd_arena_alloc_zero(&graph->arena, 1, sizeof(*graph->opsets));
    cr_assert(graph->opsets != NULL);
    graph->opsets[0] = (onnxd_opset_import){.domain = "", .version = OPSET};
    graph->opset_count = 1;
    return graph;
}

onnxd_value_id build_value(onnxd_graph *graph, const char *name)
{
    onnxd_value_id value = onnxd_graph_find_value(graph, name);
    if (value == ONNXD_NONE)
        expect_ok(onnxd_graph_add_value(graph, name, &value));
    return value;
}

void build_type(onnxd_graph *graph, const char *name, onnxd_dtype dtype, int32_t rank,
                const int64_t *dims)
{
    onnxd_value_id id = build_value(graph, name);
    onnxd_value *value = &graph->values[id];
    value->type.dtype = dtype;
    value->type.shape =
        rank == ONNXD_RANK_UNKNOWN ? onnxd_shape_unknown() : onnxd_shape_from(rank, dims);
}

static void build_constant(onnxd_graph *graph, const char *name, onnxd_dtype dtype, size_t count,
                           const void *values)
{
    int64_t dims[1] = {(int64_t)count};
    onnxd_shape shape = onnxd_shape_from(1, dims);
    onnxd_tensor *tensor = NULL;
    expect_ok(onnxd_tensor_create(dtype, &shape, &tensor));
    if (count > 0)
        memcpy(tensor->data, values, tensor->bytes);
    onnxd_graph_set_constant(graph, build_value(graph, name), tensor);
    onnxd_tensor_release(tensor);
}

void build_int64(onnxd_graph *graph, const char *name, size_t count, const int64_t *values)
{
    build_constant(graph, name, ONNXD_INT64, count, values);
}

void build_float(onnxd_graph *graph, const char *name, size_t count, const float *values)
{
    build_constant(graph, name, ONNXD_FLOAT, count, values);
}

static uint32_t split(onnxd_graph *graph, const char *names, onnxd_value_id *ids)
{
    uint32_t count = 0;
    while (*names != '\0') {
        char name[64];
        size_t length = strcspn(names, ",");
        cr_assert(length < sizeof(name) && count < MAX_NAMES);
        memcpy(name, names, length);
        name[length] = '\0';
        ids[count++] = length == 0 ? ONNXD_NONE : build_value(graph, name);
        names += length + (names[length] == ',' ? 1 : 0);
    }
    return count;
}

onnxd_node *build_node(onnxd_graph *graph, const char *op_type, const char *inputs,
                       const char *outputs)
{
    onnxd_value_id input_ids[MAX_NAMES];
    onnxd_value_id output_ids[MAX_NAMES];
    onnxd_node node = {.op_type = op_type, .opset = OPSET};
    node.inputs = input_ids;
    node.outputs = output_ids;
    node.input_count = split(graph, inputs, input_ids);
    node.output_count = split(graph, outputs, output_ids);
    onnxd_node_id id;
    expect_ok(onnxd_graph_add_node(graph, &node, &id));
    if (onnxd_op_find(&toy_ops, "", op_type, OPSET) != NULL && strcmp(op_type, "Constant") != 0)
        expect_ok(onnxd_op_resolve(&toy_ops, graph, &graph->nodes[id]));
    return &graph->nodes[id];
}

onnxd_graph *build_subgraph(onnxd_graph *outer)
{
    onnxd_graph *graph = build_graph();
    graph->parent = outer;
    return graph;
}

void build_capture(onnxd_graph *subgraph, const char *name, uint32_t input)
{
    onnxd_capture *captures =
        onnxd_arena_alloc_zero(&subgraph->arena, subgraph->capture_count + 1, sizeof(*captures));
    cr_assert(captures != NULL);
    if (subgraph->capture_count > 0)
        memcpy(captures, subgraph->captures, subgraph->capture_count * sizeof(*captures));
    captures[subgraph->capture_count++] =
        (onnxd_capture){.value = build_value(subgraph, name), .input = input};
    subgraph->captures = captures;
}

onnxd_node *build_if(onnxd_graph *graph, const char *inputs, uint32_t captures, const char *outputs,
                     onnxd_graph *then_branch, onnxd_graph *else_branch)
{
    onnxd_value_id input_ids[MAX_NAMES];
    onnxd_value_id output_ids[MAX_NAMES];
    onnxd_attribute branches[2];
    onnxd_node node = {.op_type = "If", .opset = OPSET, .capture_count = captures};
    if (then_branch != NULL)
        branches[node.attribute_count++] = (onnxd_attribute){.name = "then_branch",
                                                             .kind = ONNXD_ATTRIBUTE_GRAPH,
                                                             .count = 1,
                                                             .value.graph = then_branch};
    if (else_branch != NULL)
        branches[node.attribute_count++] = (onnxd_attribute){.name = "else_branch",
                                                             .kind = ONNXD_ATTRIBUTE_GRAPH,
                                                             .count = 1,
                                                             .value.graph = else_branch};
    node.attributes = branches;
    node.inputs = input_ids;
    node.outputs = output_ids;
    node.input_count = split(graph, inputs, input_ids);
    node.output_count = split(graph, outputs, output_ids);
    onnxd_node_id id;
    expect_ok(onnxd_graph_add_node(graph, &node, &id));
    expect_ok(onnxd_op_resolve(&toy_ops, graph, &graph->nodes[id]));
    return &graph->nodes[id];
}

void build_signature(onnxd_graph *graph, const char *inputs, const char *outputs)
{
    onnxd_value_id ids[MAX_NAMES];
    uint32_t count = split(graph, inputs, ids);
    expect_ok(onnxd_graph_set_inputs(graph, ids, count));
    count = split(graph, outputs, ids);
    expect_ok(onnxd_graph_set_outputs(graph, ids, count));
}

void expect_graph(const onnxd_graph *graph, const char *expected)
{
    onnxd_strbuf text;
    onnxd_strbuf_init(&text, 1 << 20);
    onnxd_graph_print(graph, &text);
    cr_assert(!text.failed);
    cr_expect(strcmp(text.data, expected) == 0, "graph is\n%s\nexpected\n%s", text.data, expected);
    onnxd_strbuf_deinit(&text);
}
