#include "ops/control/control.h"

#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "graph/subgraph.h"

/* ---- attributes ---------------------------------------------------------------------------- */

onnxd_status *onnxd_control_graph(const onnxd_node *node, const char *name,
                                  const onnxd_graph **out_graph)
{
    ONNXD_TRY(onnxd_attribute_require(node, name));
    const onnxd_attribute *attribute = onnxd_node_attribute(node, name);
    ONNXD_TRY(onnxd_attribute_check_kind(node, name, ONNXD_ATTRIBUTE_GRAPH));
    if (attribute->value.graph == NULL)
        return onnxd_op_error(node, "attribute '%s' holds no graph", name);
    *out_graph = attribute->value.graph;
    return NULL;
}

onnxd_status *onnxd_control_check_graph(const onnxd_node *node, const char *name,
                                        const onnxd_graph *graph, uint32_t input_count,
                                        uint32_t output_count)
{
    if (graph->input_count != input_count)
        return onnxd_op_error(
            node, "the graph in attribute '%s' has %" PRIu32 " inputs, it must have %" PRIu32, name,
            graph->input_count, input_count);
    if (graph->output_count != output_count)
        return onnxd_op_error(
            node, "the graph in attribute '%s' has %" PRIu32 " outputs, it must have %" PRIu32,
            name, graph->output_count, output_count);
    return NULL;
}

/* ---- single values ------------------------------------------------------------------------- */

onnxd_status *onnxd_control_tensor(const onnxd_node *node, const char *what,
                                   const onnxd_datum *datum, const onnxd_tensor **out_tensor)
{
    if (datum == NULL)
        return onnxd_op_error(node, "%s is missing", what);
    if (datum->kind == ONNXD_VALUE_OPTIONAL)
        return onnxd_op_error(node, "%s holds nothing, a tensor is needed", what);
    if (datum->kind != ONNXD_VALUE_TENSOR)
        return onnxd_op_error(node, "%s is a %s, a tensor is needed", what,
                              onnxd_value_kind_name(datum->kind));
    *out_tensor = datum->tensor;
    return NULL;
}

static onnxd_status *single(const onnxd_node *node, const char *what, const onnxd_datum *datum,
                            const onnxd_tensor **out_tensor)
{
    char shape[ONNXD_SHAPE_TEXT];
    const onnxd_tensor *tensor = NULL;
    ONNXD_TRY(onnxd_control_tensor(node, what, datum, &tensor));
    if (tensor->count != 1)
        return onnxd_op_error(node, "%s has shape %s, it must have one element", what,
                              onnxd_shape_format(&tensor->shape, shape, sizeof(shape)));
    *out_tensor = tensor;
    return NULL;
}

onnxd_status *onnxd_control_bool(const onnxd_node *node, const char *what, const onnxd_datum *datum,
                                 bool *out_value)
{
    const onnxd_tensor *tensor = NULL;
    ONNXD_TRY(single(node, what, datum, &tensor));
    if (tensor->dtype != ONNXD_BOOL)
        return onnxd_op_error(node, "%s is %s, it must be bool", what,
                              onnxd_dtype_name(tensor->dtype));
    *out_value = *(const uint8_t *)tensor->data != 0;
    return NULL;
}

onnxd_status *onnxd_control_int(const onnxd_node *node, const char *what, const onnxd_datum *datum,
                                int64_t *out_value)
{
    const onnxd_tensor *tensor = NULL;
    ONNXD_TRY(single(node, what, datum, &tensor));
    if (tensor->dtype != ONNXD_INT64 && tensor->dtype != ONNXD_INT32)
        return onnxd_op_error(node, "%s is %s, it must be int32 or int64", what,
                              onnxd_dtype_name(tensor->dtype));
    onnxd_tensor_view view = onnxd_tensor_as_view(tensor);
    *out_value = onnxd_op_int_at(&view, 0);
    return NULL;
}

onnxd_status *onnxd_control_check_single(const onnxd_infer *infer, uint32_t index)
{
    if (!onnxd_op_has_input(infer->node, index))
        return NULL;
    const onnxd_shape *shape = &infer->inputs[index].shape;
    bool is_single = shape->rank <= 1;
    for (int32_t i = 0; i < shape->rank; i++)
        is_single = is_single && (!onnxd_dim_is_static(shape->dims[i]) || shape->dims[i] == 1);
    if (is_single)
        return NULL;
    char text[ONNXD_SHAPE_TEXT];
    return onnxd_op_error(infer->node,
                          "input %" PRIu32 " has shape %s, it must be a scalar or have shape [1]",
                          index, onnxd_shape_format(shape, text, sizeof(text)));
}

onnxd_status *onnxd_control_datum(onnxd_tensor *tensor, onnxd_datum **out_datum)
{
    onnxd_status *status = onnxd_datum_of_tensor(tensor, out_datum);
    onnxd_tensor_release(tensor);
    return status;
}

onnxd_status *onnxd_control_single(const onnxd_dynamic *dynamic, onnxd_dtype dtype, int32_t rank,
                                   const void *value, onnxd_datum **out_datum)
{
    onnxd_tensor *tensor = NULL;
    onnxd_shape shape = {.rank = rank, .dims = {1}};
    ONNXD_TRY(dynamic->env->allocate(dynamic->env, dtype, &shape, &tensor));
    memcpy(tensor->data, value, tensor->bytes);
    return onnxd_control_datum(tensor, out_datum);
}

/* ---- shapes -------------------------------------------------------------------------------- */

onnxd_shape onnxd_control_join(const onnxd_shape *a, const onnxd_shape *b)
{
    if (a->rank != b->rank)
        return onnxd_shape_unknown();
    onnxd_shape joint = *a;
    for (int32_t i = 0; i < joint.rank; i++)
        if (a->dims[i] != b->dims[i])
            joint.dims[i] = ONNXD_DIM_UNKNOWN;
    return joint;
}

onnxd_shape onnxd_control_without_axis(const onnxd_shape *shape, int32_t axis)
{
    onnxd_shape less = *shape;
    if (shape->rank < 1)
        return onnxd_shape_unknown();
    less.rank--;
    for (int32_t i = axis; i < less.rank; i++)
        less.dims[i] = shape->dims[i + 1];
    return less;
}

onnxd_shape onnxd_control_with_axis(const onnxd_shape *shape, int32_t axis, int64_t dim)
{
    onnxd_shape more = *shape;
    if (shape->rank < 0 || shape->rank >= ONNXD_MAX_RANK)
        return onnxd_shape_unknown();
    for (int32_t i = shape->rank; i > axis; i--)
        more.dims[i] = shape->dims[i - 1];
    more.dims[axis] = dim;
    more.rank++;
    return more;
}

/* ---- arrays -------------------------------------------------------------------------------- */

onnxd_status *onnxd_control_types(uint32_t count, onnxd_tensor_type **out_types)
{
    onnxd_tensor_type *types = onnxd_alloc_zero((size_t)count + 1, sizeof(*types));
    if (types == NULL)
        return onnxd_error_out_of_memory("types of a subgraph", count * sizeof(*types), UINT64_MAX);
    for (uint32_t i = 0; i < count; i++)
        types[i].shape = onnxd_shape_unknown();
    *out_types = types;
    return NULL;
}

onnxd_status *onnxd_control_datums(size_t count, onnxd_datum ***out_datums)
{
    onnxd_datum **datums = onnxd_alloc_zero(count + 1, sizeof(onnxd_datum *));
    if (datums == NULL)
        return onnxd_error_out_of_memory("values", (uint64_t)count * sizeof(onnxd_datum *),
                                         UINT64_MAX);
    *out_datums = datums;
    return NULL;
}

/* ---- types --------------------------------------------------------------------------------- */

static onnxd_status *infer_unrun(const onnxd_dynamic *dynamic, const onnxd_graph *graph,
                                 const onnxd_tensor_type *inputs, onnxd_tensor_type *outputs)
{
    onnxd_tensor_type *node_inputs = NULL;
    ONNXD_TRY(onnxd_control_types(dynamic->input_count, &node_inputs));
    for (uint32_t i = 0; i < dynamic->input_count; i++)
        if (dynamic->inputs[i] != NULL)
            node_inputs[i] = onnxd_datum_type(dynamic->inputs[i]);
    onnxd_status *status = onnxd_graph_infer_outputs(graph, node_inputs, inputs, outputs);
    onnxd_free(node_inputs);
    return status;
}

onnxd_status *onnxd_control_unrun_type(const onnxd_dynamic *dynamic, const onnxd_graph *graph,
                                       const onnxd_tensor_type *inputs, uint32_t output,
                                       onnxd_tensor_type *out_type)
{
    onnxd_tensor_type *outputs = NULL;
    ONNXD_TRY(onnxd_control_types(graph->output_count, &outputs));
    onnxd_status *status = infer_unrun(dynamic, graph, inputs, outputs);
    onnxd_tensor_type type = outputs[output];
    onnxd_free(outputs);
    if (status != NULL)
        return status;
    if (type.dtype == ONNXD_UNDEFINED)
        return onnxd_op_error(dynamic->node,
                              "no iteration was run, and output %" PRIu32
                              " of the subgraph declares no type",
                              output);
    if (type.shape.rank < 0)
        type.shape.rank = 0;
    for (int32_t i = 0; i < type.shape.rank; i++)
        if (!onnxd_dim_is_static(type.shape.dims[i]))
            type.shape.dims[i] = 0;
    *out_type = type;
    return NULL;
}
