/*
 * Shapes that a model computes from shapes. What is certain in advance becomes constant, though
 * other extents are not known before a request:
 *
 *   Gather(Shape(x: [n, 8]), 1)                    8
 *   Reshape(x: [n, 8], Concat(Shape(x)[0], 2, 4))  Reshape(x, [0, 2, 4])
 *   Expand(x: [n, 1], Concat(Shape(x)[0], 5))      Expand(x, [1, 5])
 */
#include <string.h>

#include "graph/passes.h"
#include "graph/rewrite.h"
#include "graph/shape_values.h"

enum { DATA, TARGET };

typedef struct propagation {
    onnxd_graph *graph;
    const onnxd_pass_env *env;
    onnxd_derivation types;
    onnxd_shape_values values;
    uint32_t changes;
} propagation;

/* ---- values that are known ------------------------------------------------------------------- */

static bool are_numbers(const onnxd_element_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        if (list->elements[i].kind != ONNXD_ELEMENT_NUMBER)
            return false;
    return true;
}

static void write_elements(const onnxd_element_list *list, const onnxd_tensor *tensor)
{
    for (size_t i = 0; i < list->count; i++) {
        const int64_t value = list->elements[i].value;
        if (tensor->dtype == ONNXD_INT64)
            ((int64_t *)tensor->data)[i] = value;
        else if (tensor->dtype == ONNXD_INT32)
            ((int32_t *)tensor->data)[i] = (int32_t)value;
        else
            ((unsigned char *)tensor->data)[i] = value != 0;
    }
}

/* The node goes where all that it makes is known. */
static onnxd_status *fold(propagation *p, onnxd_node *node)
{
    if (node->output_count != 1 || node->outputs[0] == ONNXD_NONE)
        return NULL;
    const onnxd_value_id output = node->outputs[0];
    const onnxd_element_list *list = onnxd_shape_values_of(&p->values, output);
    onnxd_tensor_type type = p->types.types[output];
    if (list == NULL || !are_numbers(list) || p->graph->values[output].constant != NULL)
        return NULL;
    if (type.shape.rank == 1)
        type.shape.dims[0] = (int64_t)list->count;
    onnxd_tensor *tensor = NULL;
    ONNXD_TRY(onnxd_tensor_create(type.dtype, &type.shape, &tensor));
    write_elements(list, tensor);
    onnxd_graph_set_constant(p->graph, output, tensor);
    onnxd_tensor_release(tensor);
    node->is_removed = true;
    p->changes++;
    return NULL;
}

/* ---- nodes that take a shape ----------------------------------------------------------------- */

/* Whether an element is the extent that the data has there. */
static bool is_kept(onnxd_element element, const onnxd_shape *shape, int64_t axis)
{
    return element.kind == ONNXD_ELEMENT_EXTENT && axis >= 0 && axis < shape->rank &&
           shape->dims[axis] == element.value;
}

/* What Reshape takes in place of the list, which may leave one element open. False: there is
 * none. */
static bool reshape_target(const onnxd_shape *shape, const onnxd_element_list *list,
                           int64_t *target)
{
    size_t rests = 0, made_rests = 0;
    bool may_be_empty = false;
    for (size_t i = 0; i < list->count; i++) {
        const onnxd_element element = list->elements[i];
        if (element.kind == ONNXD_ELEMENT_NUMBER)
            target[i] = element.value;
        else
            target[i] = is_kept(element, shape, (int64_t)i) ? 0 : -1;
        may_be_empty |= target[i] == 0;
        rests += target[i] == -1;
        made_rests += target[i] == -1 && element.kind != ONNXD_ELEMENT_NUMBER;
    }
    /* Beside an extent of 0 the rest could be anything; the model may risk that, the pass may
     * not. */
    return rests <= 1 && (made_rests == 0 || !may_be_empty);
}

/* The same of Expand, whose elements stand at the end of the shape. */
static bool expand_target(const onnxd_shape *shape, const onnxd_element_list *list, int64_t *target)
{
    for (size_t i = 0; i < list->count; i++) {
        const onnxd_element element = list->elements[i];
        const int64_t axis = (int64_t)i + shape->rank - (int64_t)list->count;
        if (element.kind != ONNXD_ELEMENT_NUMBER && !is_kept(element, shape, axis))
            return false;
        target[i] = element.kind == ONNXD_ELEMENT_NUMBER ? element.value : 1;
    }
    return true;
}

static bool allows_zero(const onnxd_node *node)
{
    const onnxd_attribute *attribute = onnxd_node_attribute(node, "allowzero");
    return attribute != NULL && attribute->value.i != 0;
}

static onnxd_status *set_target(propagation *p, onnxd_node *node)
{
    int64_t target[ONNXD_MAX_RANK];
    const bool is_reshape = onnxd_node_is(node, "", "Reshape");
    if ((!is_reshape && !onnxd_node_is(node, "", "Expand")) || node->input_count != 2 ||
        node->inputs[DATA] == ONNXD_NONE || node->inputs[TARGET] == ONNXD_NONE ||
        p->graph->values[node->inputs[TARGET]].constant != NULL || allows_zero(node))
        return NULL;
    const onnxd_element_list *list = onnxd_shape_values_of(&p->values, node->inputs[TARGET]);
    const onnxd_shape *shape = &p->types.types[node->inputs[DATA]].shape;
    if (list == NULL || list->count > ONNXD_MAX_RANK || shape->rank == ONNXD_RANK_UNKNOWN ||
        !(is_reshape ? reshape_target(shape, list, target) : expand_target(shape, list, target)))
        return NULL;
    onnxd_value_id inputs[] = {node->inputs[DATA], ONNXD_NONE};
    ONNXD_TRY(onnxd_graph_derive_ints(p->graph, node->outputs[0], "shape", target, list->count,
                                      &inputs[TARGET]));
    ONNXD_TRY(onnxd_graph_set_node_inputs(p->graph, node, inputs, ONNXD_COUNT(inputs)));
    p->types.types[inputs[TARGET]] = p->graph->values[inputs[TARGET]].type;
    p->changes++;
    return onnxd_op_resolve(p->env->registry, p->graph, node);
}

/* ---- the pass -------------------------------------------------------------------------------- */

static onnxd_status *visit(propagation *p, onnxd_node *node)
{
    if (node->is_removed)
        return NULL;
    ONNXD_TRY(set_target(p, node));
    ONNXD_TRY(onnxd_derivation_step(&p->types, node));
    onnxd_shape_values_step(&p->values, node);
    return fold(p, node);
}

static bool has_shapes(const onnxd_graph *graph)
{
    for (uint32_t n = 0; n < graph->node_count; n++)
        if (onnxd_node_is(&graph->nodes[n], "", "Shape"))
            return true;
    return false;
}

static onnxd_status *run(onnxd_graph *graph, const onnxd_pass_env *env, uint32_t *out_changes)
{
    propagation p = {.graph = graph, .env = env};
    *out_changes = 0;
    /* What else there is to know, constants tell. */
    if (!has_shapes(graph))
        return NULL;
    onnxd_status *status = onnxd_derivation_init(&p.types, graph);
    if (status == NULL)
        status = onnxd_shape_values_init(&p.values, &p.types);
    for (uint32_t n = 0; n < graph->node_count && status == NULL; n++)
        status = visit(&p, &graph->nodes[n]);
    onnxd_derivation_deinit(&p.types);
    onnxd_shape_values_deinit(&p.values);
    if (status == NULL)
        status = onnxd_graph_compact(graph);
    if (status == NULL)
        *out_changes = p.changes;
    return status;
}

const onnxd_pass onnxd_pass_propagate_shapes = {
    .name = "propagate_shapes",
    .summary = "make constants of what models compute from shapes, as far as it is known",
    .run = run,
};
