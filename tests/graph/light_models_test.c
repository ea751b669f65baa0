/*
 * Nine public architectures, weights made by ConstantOfShape. The directory light/ is looked for in
 * $ONNXD_SHARED_DATA, else where CMake's ONNXD_SHARED_DATA says.
 */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "graph/loader.h"
#include "graph/passes.h"
#include "ops/ops.h"
#include "tests/graph/build_graph.h"

typedef struct light_model {
    char name[32];
} light_model;

static light_model light_models[] = {
    {"bvlc_alexnet"}, {"densenet121"}, {"inception_v1"}, {"inception_v2"}, {"resnet50"},
    {"shufflenet"},   {"squeezenet"},  {"vgg19"},        {"zfnet512"},
};

static bool find_model(const char *name, char *path, size_t capacity)
{
    const char *root = getenv("ONNXD_SHARED_DATA");
    if (root == NULL)
        root = ONNXD_SHARED_DATA;
    (void)snprintf(path, capacity, "%s/light/light_%s.onnx", root, name);
    if (access(path, R_OK) == 0)
        return true;
    (void)fprintf(stderr, "skipped: no %s; set ONNXD_SHARED_DATA\n", path);
    return false;
}

static void expect_static(const onnxd_graph *graph)
{
    for (uint32_t n = 0; n < graph->node_count; n++) {
        const onnxd_node *node = &graph->nodes[n];
        for (uint32_t i = 0; i < node->output_count; i++) {
            const onnxd_value *value = &graph->values[node->outputs[i]];
            cr_expect(value->type.dtype != ONNXD_UNDEFINED &&
                          onnxd_shape_is_static(&value->type.shape),
                      "'%s' of %s is not static", value->name, node->op_type);
        }
    }
}

static void expect_specializes(const onnxd_graph *graph)
{
    onnxd_tensor_type *types = onnxd_alloc_zero(graph->value_count, sizeof(*types));
    onnxd_tensor **known = onnxd_alloc_zero(graph->value_count, sizeof(*known));
    cr_assert(types != NULL && known != NULL);
    for (uint32_t i = 0; i < graph->input_count; i++)
        types[graph->inputs[i]] = graph->values[graph->inputs[i]].type;
    expect_ok(onnxd_specialize(graph, 1 << 20, NULL, types, known));
    for (uint32_t i = 0; i < graph->output_count; i++)
        cr_expect(onnxd_shape_equal(&types[graph->outputs[i]].shape,
                                    &graph->values[graph->outputs[i]].type.shape));
    for (uint32_t v = 0; v < graph->value_count; v++)
        onnxd_tensor_release(known[v]);
    onnxd_free(types);
    onnxd_free(known);
}

ParameterizedTestParameters(light_models, load_and_fold)
{
    return cr_make_param_array(light_model, light_models, ONNXD_COUNT(light_models));
}

ParameterizedTest(light_model *model, light_models, load_and_fold)
{
    char path[1024];
    if (!find_model(model->name, path, sizeof(path)))
        return;
    onnxd_load_limits limits = onnxd_load_limits_default();
    onnxd_pass_env env = {.registry = onnxd_ops(),
                          .fold_max_node_bytes = (uint64_t)1 << 30,
                          .fold_max_total_bytes = (uint64_t)2 << 30};
    onnxd_graph *graph = NULL;
    expect_ok(onnxd_graph_load_file(path, onnxd_ops(), &limits, &graph));
    cr_expect(graph->input_count == 1, "weights are listed as inputs, but are none");
    for (uint32_t n = 0; n < graph->node_count; n++)
        cr_expect(graph->nodes[n].def != NULL, "no definition of %s", graph->nodes[n].op_type);
    expect_ok(onnxd_infer_shapes(graph));
    expect_static(graph);
    expect_ok(onnxd_passes_run(graph, &env));
    expect_static(graph);
    for (uint32_t n = 0; n < graph->node_count; n++)
        cr_expect_str_neq(graph->nodes[n].op_type, "ConstantOfShape");
    expect_specializes(graph);
    onnxd_graph_destroy(graph);
}
