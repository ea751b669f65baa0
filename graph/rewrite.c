#include "graph/rewrite.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "graph/internal.h"

onnxd_status *onnxd_graph_count_uses(const onnxd_graph *graph, uint32_t **out_uses)
{
    const size_t count = (size_t)graph->value_count + 1;
    uint32_t *uses = onnxd_alloc_zero(count, sizeof(*uses));
    if (uses == NULL)
        return onnxd_error_out_of_memory("uses of values", count * sizeof(*uses), UINT64_MAX);
    for (uint32_t n = 0; n < graph->node_count; n++) {
        const onnxd_node *node = &graph->nodes[n];
        for (uint32_t i = 0; i < node->input_count && !node->is_removed; i++)
            if (node->inputs[i] != ONNXD_NONE)
                uses[node->inputs[i]]++;
    }
    for (uint32_t i = 0; i < graph->output_count; i++)
        uses[graph->outputs[i]]++;
    *out_uses = uses;
    return NULL;
}

onnxd_status *onnxd_graph_derive_value(onnxd_graph *graph, onnxd_value_id base, const char *what,
                                       onnxd_value_id *out_value)
{
    char name[ONNXD_NAME_TEXT + 64];
    snprintf(name, sizeof(name), "%.128s/%.32s/%u", graph->values[base].name, what,
             graph->value_count);
    return onnxd_graph_add_value(graph, name, out_value);
}

onnxd_status *onnxd_graph_derive_from(onnxd_graph *graph, onnxd_value_id base, const char *what,
                                      onnxd_tensor *tensor, onnxd_value_id *out_value)
{
    onnxd_value_id value = ONNXD_NONE;
    ONNXD_TRY(onnxd_graph_derive_value(graph, base, what, &value));
    onnxd_graph_set_constant(graph, value, tensor);
    *out_value = value;
    return NULL;
}

onnxd_status *onnxd_graph_derive_tensor(onnxd_graph *graph, onnxd_value_id base, const char *what,
                                        onnxd_dtype dtype, const onnxd_shape *shape,
                                        const void *elements, onnxd_value_id *out_value)
{
    onnxd_tensor *tensor = NULL;
    ONNXD_TRY(onnxd_tensor_create(dtype, shape, &tensor));
    memcpy(tensor->data, elements, tensor->bytes);
    onnxd_status *status = onnxd_graph_derive_from(graph, base, what, tensor, out_value);
    onnxd_tensor_release(tensor);
    return status;
}

onnxd_status *onnxd_graph_derive_constant(onnxd_graph *graph, onnxd_value_id base, const char *what,
                                          const onnxd_shape *shape, const float *elements,
                                          onnxd_value_id *out_value)
{
    return onnxd_graph_derive_tensor(graph, base, what, ONNXD_FLOAT, shape, elements, out_value);
}

onnxd_status *onnxd_graph_derive_ints(onnxd_graph *graph, onnxd_value_id base, const char *what,
                                      const int64_t *elements, size_t count,
                                      onnxd_value_id *out_value)
{
    const onnxd_shape shape = {.rank = 1, .dims = {(int64_t)count}};
    return onnxd_graph_derive_tensor(graph, base, what, ONNXD_INT64, &shape, elements, out_value);
}

onnxd_status *onnxd_graph_ints(onnxd_graph *graph, const char *name, const int64_t *values,
                               size_t count, onnxd_attribute *out_attribute)
{
    void *copy = NULL;
    ONNXD_TRY(onnxd_graph_alloc(graph, count, sizeof(*values), &copy));
    memcpy(copy, values, count * sizeof(*values));
    *out_attribute = (onnxd_attribute){
        .name = name, .kind = ONNXD_ATTRIBUTE_INTS, .count = count, .value.ints = copy};
    return NULL;
}

onnxd_status *onnxd_graph_floats(onnxd_graph *graph, const char *name, const float *values,
                                 size_t count, onnxd_attribute *out_attribute)
{
    void *copy = NULL;
    ONNXD_TRY(onnxd_graph_alloc(graph, count, sizeof(*values), &copy));
    memcpy(copy, values, count * sizeof(*values));
    *out_attribute = (onnxd_attribute){
        .name = name, .kind = ONNXD_ATTRIBUTE_FLOATS, .count = count, .value.floats = copy};
    return NULL;
}

onnxd_status *onnxd_graph_texts(onnxd_graph *graph, const char *name, const char *const *texts,
                                size_t count, onnxd_attribute *out_attribute)
{
    void *memory = NULL;
    ONNXD_TRY(onnxd_graph_alloc(graph, count, sizeof(onnxd_text), &memory));
    onnxd_text *copies = memory;
    for (size_t i = 0; i < count; i++)
        copies[i] = (onnxd_text){texts[i], strlen(texts[i])};
    *out_attribute = (onnxd_attribute){
        .name = name, .kind = ONNXD_ATTRIBUTE_STRINGS, .count = count, .value.strings = copies};
    return NULL;
}

onnxd_attribute onnxd_text_attribute(const char *name, const char *text)
{
    return (onnxd_attribute){
        .name = name, .kind = ONNXD_ATTRIBUTE_STRING, .count = 1, .value.s = {text, strlen(text)}};
}

onnxd_status *onnxd_graph_add_resolved(onnxd_graph *graph, const onnxd_op_registry *registry,
                                       const onnxd_node *node)
{
    onnxd_node_id id = ONNXD_NONE;
    ONNXD_TRY(onnxd_graph_add_node(graph, node, &id));
    return onnxd_op_resolve(registry, graph, &graph->nodes[id]);
}

onnxd_status *onnxd_graph_set_node_inputs(onnxd_graph *graph, onnxd_node *node,
                                          const onnxd_value_id *inputs, uint32_t count)
{
    void *copy = NULL;
    ONNXD_TRY(onnxd_graph_alloc(graph, count, sizeof(*inputs), &copy));
    memcpy(copy, inputs, count * sizeof(*inputs));
    node->inputs = copy;
    node->input_count = count;
    return NULL;
}

onnxd_status *onnxd_graph_set_attributes(onnxd_graph *graph, onnxd_node *node,
                                         const onnxd_attribute *attributes, uint32_t count)
{
    void *copy = NULL;
    ONNXD_TRY(onnxd_graph_alloc(graph, count, sizeof(*attributes), &copy));
    if (count > 0)
        memcpy(copy, attributes, count * sizeof(*attributes));
    node->attributes = copy;
    node->attribute_count = count;
    return NULL;
}

onnxd_node *onnxd_graph_only_producer(const onnxd_graph *graph, const uint32_t *uses,
                                      onnxd_value_id value)
{
    if (value == ONNXD_NONE || uses[value] != 1 || graph->values[value].is_output ||
        graph->values[value].producer == ONNXD_NONE)
        return NULL;
    return &graph->nodes[graph->values[value].producer];
}

bool onnxd_node_is(const onnxd_node *node, const char *domain, const char *op_type)
{
    /* Most are told apart by their first letter; every pass asks every node, some of them often. */
    return node->op_type[0] == op_type[0] && !node->is_removed && node->def != NULL &&
           strcmp(node->op_type, op_type) == 0 && strcmp(node->domain, domain) == 0;
}

int64_t onnxd_node_int(const onnxd_node *node, const char *name, int64_t absent)
{
    const onnxd_attribute *attribute = onnxd_node_attribute(node, name);
    return attribute != NULL && attribute->kind == ONNXD_ATTRIBUTE_INT ? attribute->value.i
                                                                       : absent;
}

const onnxd_tensor *onnxd_node_float_constant(const onnxd_graph *graph, const onnxd_node *node,
                                              uint32_t index)
{
    if (index >= node->input_count || node->inputs[index] == ONNXD_NONE)
        return NULL;
    const onnxd_tensor *constant = graph->values[node->inputs[index]].constant;
    return constant != NULL && constant->dtype == ONNXD_FLOAT ? constant : NULL;
}

bool onnxd_tensor_read_ints(const onnxd_tensor *tensor, size_t capacity, int64_t *values,
                            size_t *out_count)
{
    if (tensor->count > capacity || (tensor->dtype != ONNXD_INT64 && tensor->dtype != ONNXD_INT32))
        return false;
    for (size_t i = 0; i < tensor->count; i++)
        values[i] = tensor->dtype == ONNXD_INT64 ? ((const int64_t *)tensor->data)[i]
                                                 : ((const int32_t *)tensor->data)[i];
    *out_count = tensor->count;
    return true;
}

bool onnxd_node_read_ints(const onnxd_graph *graph, const onnxd_node *node, uint32_t index,
                          const char *name, size_t capacity, int64_t *values, size_t *out_count)
{
    if (index < node->input_count && node->inputs[index] != ONNXD_NONE) {
        const onnxd_tensor *constant = graph->values[node->inputs[index]].constant;
        return constant != NULL && onnxd_tensor_read_ints(constant, capacity, values, out_count);
    }
    const onnxd_attribute *attribute = onnxd_node_attribute(node, name);
    *out_count = 0;
    if (attribute == NULL)
        return true;
    if (attribute->kind != ONNXD_ATTRIBUTE_INTS || attribute->count > capacity)
        return false;
    if (attribute->count > 0)
        memcpy(values, attribute->value.ints, attribute->count * sizeof(*values));
    *out_count = attribute->count;
    return true;
}
