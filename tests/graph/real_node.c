#include "tests/graph/real_node.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "ops/ops.h"

#define OPSET 13

onnxd_node *real_node(onnxd_graph *graph, const char *op_type, const char *inputs,
                      const char *outputs, const onnxd_attribute *attributes)
{
    onnxd_node *node = build_node(graph, op_type, inputs, outputs);
    uint32_t count = 0;
    while (attributes != NULL && attributes[count].name != NULL)
        count++;
    if (count > 0) {
        node->attributes = onnxd_arena_alloc_zero(&graph->arena, count, sizeof(*attributes));
        cr_assert(node->attributes != NULL);
        memcpy(node->attributes, attributes, count * sizeof(*attributes));
        node->attribute_count = count;
    }
    node->opset = OPSET;
    expect_ok(onnxd_op_resolve(onnxd_ops(), graph, node));
    return node;
}

static onnxd_shape shape_of(const char *dims)
{
    onnxd_shape shape = {.rank = 0};
    while (*dims != '\0') {
        char *end;
        shape.dims[shape.rank++] = strtol(dims, &end, 10);
        dims = *end == 'x' ? end + 1 : end;
    }
    return shape;
}

void real_type(onnxd_graph *graph, const char *name, const char *dims)
{
    const onnxd_shape shape = shape_of(dims);
    build_type(graph, name, ONNXD_FLOAT, shape.rank, shape.dims);
}

void real_constant(onnxd_graph *graph, const char *name, const char *dims, float first)
{
    const onnxd_shape shape = shape_of(dims);
    onnxd_tensor *tensor = NULL;
    expect_ok(onnxd_tensor_create(ONNXD_FLOAT, &shape, &tensor));
    for (size_t i = 0; i < tensor->count; i++)
        ((float *)tensor->data)[i] = first + (float)i;
    onnxd_graph_set_constant(graph, build_value(graph, name), tensor);
    onnxd_tensor_release(tensor);
}

void real_pass(onnxd_graph *graph, const onnxd_pass *pass, bool expect_change)
{
    const onnxd_pass_env env = {.registry = onnxd_ops()};
    uint32_t changes = 0;
    expect_ok(onnxd_infer_shapes(graph));
    expect_ok(pass->run(graph, &env, &changes));
    cr_expect((changes > 0) == expect_change, "%u changes", changes);
    expect_ok(onnxd_graph_verify(graph));
    expect_ok(onnxd_infer_shapes(graph));
    expect_ok(pass->run(graph, &env, &changes));
    cr_expect(changes == 0, "%s is not idempotent", pass->name);
    expect_ok(onnxd_pass_remove_dead.run(graph, &env, &changes));
    expect_ok(onnxd_infer_shapes(graph));
}
