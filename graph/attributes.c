#include "graph/attributes.h"

#include <stdio.h>
#include <string.h>

#include "graph/internal.h"

static const char *const kind_names[] = {
    "undefined",      "float",      "int",        "string",  "tensor", "graph",
    "floats",         "ints",       "strings",    "tensors", "graphs", "sparse_tensor",
    "sparse_tensors", "type_proto", "type_protos"};

static const char *kind_name(onnxd_attribute_kind kind)
{
    return (size_t)kind < ONNXD_COUNT(kind_names) ? kind_names[kind] : "invalid";
}

static onnxd_status *attribute_error(const onnxd_node *node, const char *name, const char *what)
{
    char label[ONNXD_NODE_LABEL];
    char text[ONNXD_NAME_TEXT];
    return onnxd_error(ONNXD_INVALID_ARGUMENT, "attribute '%s' of %s: %s",
                       onnxd_name_text(name, text, sizeof(text)),
                       onnxd_node_label(NULL, node, label, sizeof(label)), what);
}

/* NULL in *out_attribute when absent; an error when present with another kind. */
static onnxd_status *find(const onnxd_node *node, const char *name, onnxd_attribute_kind kind,
                          const onnxd_attribute **out_attribute)
{
    const onnxd_attribute *attribute = onnxd_node_attribute(node, name);
    if (attribute != NULL && attribute->kind != kind) {
        char what[96];
        (void)snprintf(what, sizeof(what), "kind is %s, must be %s", kind_name(attribute->kind),
                       kind_name(kind));
        return attribute_error(node, name, what);
    }
    *out_attribute = attribute;
    return NULL;
}

onnxd_status *onnxd_attribute_check_kind(const onnxd_node *node, const char *name,
                                         onnxd_attribute_kind kind)
{
    const onnxd_attribute *attribute = NULL;
    return find(node, name, kind, &attribute);
}

onnxd_status *onnxd_attributes_allow(const onnxd_node *node, const char *const *names)
{
    for (uint32_t i = 0; i < node->attribute_count; i++) {
        const char *const *name = names;
        while (*name != NULL && strcmp(*name, node->attributes[i].name) != 0)
            name++;
        if (*name == NULL)
            return attribute_error(node, node->attributes[i].name,
                                   "the operator has no such attribute in this opset");
    }
    return onnxd_attribute_check_kind(node, "consumed_inputs", ONNXD_ATTRIBUTE_INTS);
}

static onnxd_status *check_range(const onnxd_node *node, const char *name, int64_t value,
                                 int64_t minimum, int64_t maximum)
{
    if (value >= minimum && value <= maximum)
        return NULL;
    char what[128];
    (void)snprintf(what, sizeof(what), "value %lld, allowed are %lld to %lld", (long long)value,
                   (long long)minimum, (long long)maximum);
    return attribute_error(node, name, what);
}

onnxd_status *onnxd_attribute_int(const onnxd_node *node, const char *name, int64_t minimum,
                                  int64_t maximum, int64_t *inout_value)
{
    const onnxd_attribute *attribute = NULL;
    ONNXD_TRY(find(node, name, ONNXD_ATTRIBUTE_INT, &attribute));
    if (attribute == NULL)
        return NULL;
    ONNXD_TRY(check_range(node, name, attribute->value.i, minimum, maximum));
    *inout_value = attribute->value.i;
    return NULL;
}

onnxd_status *onnxd_attribute_float(const onnxd_node *node, const char *name, float *inout_value)
{
    const onnxd_attribute *attribute = NULL;
    ONNXD_TRY(find(node, name, ONNXD_ATTRIBUTE_FLOAT, &attribute));
    if (attribute != NULL)
        *inout_value = attribute->value.f;
    return NULL;
}

onnxd_status *onnxd_attribute_string(const onnxd_node *node, const char *name,
                                     onnxd_text *inout_text)
{
    const onnxd_attribute *attribute = NULL;
    ONNXD_TRY(find(node, name, ONNXD_ATTRIBUTE_STRING, &attribute));
    if (attribute != NULL)
        *inout_text = attribute->value.s;
    return NULL;
}

onnxd_status *onnxd_attribute_ints(const onnxd_node *node, const char *name, size_t min_count,
                                   size_t max_count, int64_t minimum, int64_t maximum,
                                   int64_t *values, size_t *inout_count)
{
    const onnxd_attribute *attribute = NULL;
    ONNXD_TRY(find(node, name, ONNXD_ATTRIBUTE_INTS, &attribute));
    if (attribute == NULL)
        return NULL;
    if (attribute->count < min_count || attribute->count > max_count) {
        char what[128];
        (void)snprintf(what, sizeof(what), "%zu values, allowed are %zu to %zu", attribute->count,
                       min_count, max_count);
        return attribute_error(node, name, what);
    }
    for (size_t i = 0; i < attribute->count; i++)
        ONNXD_TRY(check_range(node, name, attribute->value.ints[i], minimum, maximum));
    if (attribute->count > 0)
        memcpy(values, attribute->value.ints, attribute->count * sizeof(*values));
    *inout_count = attribute->count;
    return NULL;
}

onnxd_status *onnxd_attribute_int_list(const onnxd_node *node, const char *name,
                                       const int64_t **inout_values, size_t *inout_count)
{
    const onnxd_attribute *attribute = NULL;
    ONNXD_TRY(find(node, name, ONNXD_ATTRIBUTE_INTS, &attribute));
    if (attribute != NULL) {
        *inout_values = attribute->value.ints;
        *inout_count = attribute->count;
    }
    return NULL;
}

onnxd_status *onnxd_attribute_float_list(const onnxd_node *node, const char *name,
                                         const float **inout_values, size_t *inout_count)
{
    const onnxd_attribute *attribute = NULL;
    ONNXD_TRY(find(node, name, ONNXD_ATTRIBUTE_FLOATS, &attribute));
    if (attribute != NULL) {
        *inout_values = attribute->value.floats;
        *inout_count = attribute->count;
    }
    return NULL;
}

onnxd_status *onnxd_attribute_string_list(const onnxd_node *node, const char *name,
                                          const onnxd_text **inout_values, size_t *inout_count)
{
    const onnxd_attribute *attribute = NULL;
    ONNXD_TRY(find(node, name, ONNXD_ATTRIBUTE_STRINGS, &attribute));
    if (attribute != NULL) {
        *inout_values = attribute->value.strings;
        *inout_count = attribute->count;
    }
    return NULL;
}

onnxd_status *onnxd_attribute_tensor(const onnxd_node *node, const char *name,
                                     const onnxd_tensor **inout_tensor)
{
    const onnxd_attribute *attribute = NULL;
    ONNXD_TRY(find(node, name, ONNXD_ATTRIBUTE_TENSOR, &attribute));
    if (attribute != NULL)
        *inout_tensor = attribute->value.tensor;
    return NULL;
}

onnxd_status *onnxd_attribute_type(const onnxd_node *node, const char *name,
                                   const onnxd_tensor_type **inout_type)
{
    const onnxd_attribute *attribute = NULL;
    ONNXD_TRY(find(node, name, ONNXD_ATTRIBUTE_TYPE_PROTO, &attribute));
    if (attribute != NULL)
        *inout_type = attribute->value.type;
    return NULL;
}

onnxd_status *onnxd_attribute_graph(const onnxd_node *node, const char *name,
                                    const onnxd_graph **inout_graph)
{
    const onnxd_attribute *attribute = NULL;
    ONNXD_TRY(find(node, name, ONNXD_ATTRIBUTE_GRAPH, &attribute));
    if (attribute != NULL)
        *inout_graph = attribute->value.graph;
    return NULL;
}

onnxd_status *onnxd_attribute_require(const onnxd_node *node, const char *name)
{
    if (onnxd_node_attribute(node, name) != NULL)
        return NULL;
    char label[ONNXD_NODE_LABEL];
    return onnxd_error(ONNXD_INVALID_ARGUMENT, "attribute '%s' of %s is required", name,
                       onnxd_node_label(NULL, node, label, sizeof(label)));
}
