/*
 * AttributeProto and TypeProto.
 */
#include <inttypes.h>
#include <string.h>

#include "graph/internal.h"
#include "graph/loader_internal.h"

static const char *attribute_name(const Onnx__AttributeProto *proto)
{
    return proto->name == NULL ? "" : proto->name;
}

static onnxd_status *copy_bytes(onnxd_graph *graph, const ProtobufCBinaryData *bytes,
                                onnxd_text *out_text)
{
    const char *data = bytes->data == NULL ? "" : (const char *)bytes->data;
    char *copy = onnxd_arena_strndup(&graph->arena, data, bytes->len);
    if (copy == NULL)
        return onnxd_error_out_of_memory("graph arena", bytes->len + 1,
                                         graph->arena.max_bytes - graph->arena.used_bytes);
    *out_text = (onnxd_text){.data = copy, .size = bytes->len};
    return NULL;
}

static onnxd_status *copy_array(onnxd_graph *graph, const void *source, size_t count,
                                size_t element_bytes, void **out_copy)
{
    *out_copy = NULL;
    if (count == 0)
        return NULL;
    ONNXD_TRY(onnxd_graph_alloc(graph, count, element_bytes, out_copy));
    memcpy(*out_copy, source, count * element_bytes);
    return NULL;
}

static onnxd_status *read_strings(onnxd_graph *graph, const Onnx__AttributeProto *proto,
                                  onnxd_attribute *attribute)
{
    if (proto->n_strings == 0)
        return NULL;
    void *memory = NULL;
    ONNXD_TRY(onnxd_graph_alloc(graph, proto->n_strings, sizeof(onnxd_text), &memory));
    onnxd_text *texts = memory;
    for (size_t i = 0; i < proto->n_strings; i++)
        ONNXD_TRY(copy_bytes(graph, &proto->strings[i], &texts[i]));
    attribute->value.strings = texts;
    attribute->count = proto->n_strings;
    return NULL;
}

/* attribute->count counts what the attribute owns already, so that a failure can be undone. */
static onnxd_status *read_tensors(onnxd_scope *scope, Onnx__TensorProto **protos, size_t count,
                                  onnxd_attribute *attribute)
{
    if (count == 0)
        return NULL;
    void *memory = NULL;
    ONNXD_TRY(onnxd_graph_alloc(scope->graph, count, sizeof(onnxd_tensor *), &memory));
    onnxd_tensor **tensors = memory;
    attribute->value.tensors = (const onnxd_tensor *const *)tensors;
    for (; attribute->count < count; attribute->count++)
        ONNXD_TRY(onnxd_loader_shared_tensor(scope->loader, protos[attribute->count],
                                             &tensors[attribute->count]));
    return NULL;
}

static onnxd_status *read_sparse_tensors(onnxd_scope *scope, Onnx__SparseTensorProto **protos,
                                         size_t count, onnxd_attribute *attribute)
{
    if (count == 0)
        return NULL;
    void *memory = NULL;
    ONNXD_TRY(onnxd_graph_alloc(scope->graph, count, sizeof(onnxd_tensor *), &memory));
    onnxd_tensor **tensors = memory;
    attribute->value.tensors = (const onnxd_tensor *const *)tensors;
    for (; attribute->count < count; attribute->count++)
        ONNXD_TRY(onnxd_loader_shared_sparse(scope->loader, protos[attribute->count],
                                             &tensors[attribute->count]));
    return NULL;
}

static onnxd_status *read_graphs(onnxd_scope *scope, Onnx__GraphProto **protos, size_t count,
                                 onnxd_attribute *attribute)
{
    if (count == 0)
        return NULL;
    void *memory = NULL;
    ONNXD_TRY(onnxd_graph_alloc(scope->graph, count, sizeof(onnxd_graph *), &memory));
    onnxd_graph **graphs = memory;
    attribute->value.graphs = graphs;
    for (; attribute->count < count; attribute->count++)
        ONNXD_TRY(onnxd_loader_graph(scope->loader, protos[attribute->count], scope,
                                     &graphs[attribute->count]));
    return NULL;
}

static onnxd_status *read_tensor(onnxd_scope *scope, Onnx__TensorProto *proto,
                                 onnxd_attribute *attribute)
{
    if (proto == NULL)
        return onnxd_error(ONNXD_INVALID_ARGUMENT, "the tensor is missing");
    onnxd_tensor *tensor = NULL;
    ONNXD_TRY(onnxd_loader_shared_tensor(scope->loader, proto, &tensor));
    attribute->value.tensor = tensor;
    return NULL;
}

static onnxd_status *read_sparse_tensor(onnxd_scope *scope, Onnx__SparseTensorProto *proto,
                                        onnxd_attribute *attribute)
{
    if (proto == NULL)
        return onnxd_error(ONNXD_INVALID_ARGUMENT, "the sparse tensor is missing");
    onnxd_tensor *tensor = NULL;
    ONNXD_TRY(onnxd_loader_shared_sparse(scope->loader, proto, &tensor));
    attribute->value.tensor = tensor;
    return NULL;
}

static onnxd_status *read_types(onnxd_scope *scope, Onnx__TypeProto *const *protos, size_t count,
                                onnxd_attribute *attribute)
{
    if (count == 0)
        return NULL;
    void *memory = NULL;
    ONNXD_TRY(onnxd_graph_alloc(scope->graph, count, sizeof(onnxd_tensor_type), &memory));
    onnxd_tensor_type *types = memory;
    for (size_t i = 0; i < count; i++)
        ONNXD_TRY(onnxd_loader_type(scope, protos[i], &types[i]));
    attribute->value.types = types;
    attribute->count = count;
    return NULL;
}

static onnxd_status *read_type(onnxd_scope *scope, Onnx__TypeProto *proto,
                               onnxd_attribute *attribute)
{
    if (proto == NULL)
        return onnxd_error(ONNXD_INVALID_ARGUMENT, "the type is missing");
    ONNXD_TRY(read_types(scope, &proto, 1, attribute));
    attribute->value.type = attribute->value.types;
    return NULL;
}

static onnxd_status *read_graph(onnxd_scope *scope, Onnx__GraphProto *proto,
                                onnxd_attribute *attribute)
{
    if (proto == NULL)
        return onnxd_error(ONNXD_INVALID_ARGUMENT, "the graph is missing");
    return onnxd_loader_graph(scope->loader, proto, scope, &attribute->value.graph);
}

static onnxd_status *read_numbers(onnxd_graph *graph, const Onnx__AttributeProto *proto,
                                  onnxd_attribute *attribute)
{
    void *copy = NULL;
    if (attribute->kind == ONNXD_ATTRIBUTE_FLOATS) {
        ONNXD_TRY(copy_array(graph, proto->floats, proto->n_floats, sizeof(float), &copy));
        attribute->value.floats = copy;
        attribute->count = proto->n_floats;
    } else {
        ONNXD_TRY(copy_array(graph, proto->ints, proto->n_ints, sizeof(int64_t), &copy));
        attribute->value.ints = copy;
        attribute->count = proto->n_ints;
    }
    return NULL;
}

static bool is_reference(const Onnx__AttributeProto *proto)
{
    return proto->ref_attr_name != NULL && proto->ref_attr_name[0] != '\0';
}

/* A payload of another kind than the declared one makes the model ambiguous. */
static onnxd_status *check_payload(const Onnx__AttributeProto *proto)
{
    const struct {
        onnxd_attribute_kind kind;
        bool is_set;
    } payloads[] = {
        {ONNXD_ATTRIBUTE_FLOAT, proto->has_f && proto->f != 0.0f},
        {ONNXD_ATTRIBUTE_INT, proto->has_i && proto->i != 0},
        {ONNXD_ATTRIBUTE_STRING, proto->s.len > 0},
        {ONNXD_ATTRIBUTE_TENSOR, proto->t != NULL},
        {ONNXD_ATTRIBUTE_GRAPH, proto->g != NULL},
        {ONNXD_ATTRIBUTE_FLOATS, proto->n_floats > 0},
        {ONNXD_ATTRIBUTE_INTS, proto->n_ints > 0},
        {ONNXD_ATTRIBUTE_STRINGS, proto->n_strings > 0},
        {ONNXD_ATTRIBUTE_TENSORS, proto->n_tensors > 0},
        {ONNXD_ATTRIBUTE_GRAPHS, proto->n_graphs > 0},
        {ONNXD_ATTRIBUTE_SPARSE_TENSOR, proto->sparse_tensor != NULL},
        {ONNXD_ATTRIBUTE_SPARSE_TENSORS, proto->n_sparse_tensors > 0},
        {ONNXD_ATTRIBUTE_TYPE_PROTO, proto->tp != NULL},
        {ONNXD_ATTRIBUTE_TYPE_PROTOS, proto->n_type_protos > 0},
    };
    if (proto->type < ONNXD_ATTRIBUTE_FLOAT || proto->type > ONNXD_ATTRIBUTE_TYPE_PROTOS)
        return onnxd_error(ONNXD_INVALID_ARGUMENT, "type %d, allowed are 1 to 14", proto->type);
    for (size_t i = 0; i < ONNXD_COUNT(payloads); i++)
        if (payloads[i].is_set && (int)payloads[i].kind != proto->type)
            return onnxd_error(ONNXD_INVALID_ARGUMENT, "type %d, but data of type %d", proto->type,
                               payloads[i].kind);
    if (is_reference(proto))
        return onnxd_error(ONNXD_INVALID_ARGUMENT,
                           "a reference to a function's attribute, outside of a function");
    return NULL;
}

static onnxd_status *read_attribute(onnxd_scope *scope, Onnx__AttributeProto *proto,
                                    onnxd_attribute *attribute)
{
    ONNXD_TRY(check_payload(proto));
    attribute->kind = (onnxd_attribute_kind)proto->type;
    switch (attribute->kind) {
    case ONNXD_ATTRIBUTE_FLOAT:
        attribute->value.f = proto->f;
        break;
    case ONNXD_ATTRIBUTE_INT:
        attribute->value.i = proto->i;
        break;
    case ONNXD_ATTRIBUTE_STRING:
        ONNXD_TRY(copy_bytes(scope->graph, &proto->s, &attribute->value.s));
        break;
    case ONNXD_ATTRIBUTE_TENSOR:
        ONNXD_TRY(read_tensor(scope, proto->t, attribute));
        break;
    case ONNXD_ATTRIBUTE_GRAPH:
        ONNXD_TRY(read_graph(scope, proto->g, attribute));
        break;
    case ONNXD_ATTRIBUTE_FLOATS:
    case ONNXD_ATTRIBUTE_INTS:
        return read_numbers(scope->graph, proto, attribute);
    case ONNXD_ATTRIBUTE_STRINGS:
        return read_strings(scope->graph, proto, attribute);
    case ONNXD_ATTRIBUTE_TENSORS:
        return read_tensors(scope, proto->tensors, proto->n_tensors, attribute);
    case ONNXD_ATTRIBUTE_GRAPHS:
        return read_graphs(scope, proto->graphs, proto->n_graphs, attribute);
    case ONNXD_ATTRIBUTE_SPARSE_TENSOR:
        ONNXD_TRY(read_sparse_tensor(scope, proto->sparse_tensor, attribute));
        break;
    case ONNXD_ATTRIBUTE_SPARSE_TENSORS:
        return read_sparse_tensors(scope, proto->sparse_tensors, proto->n_sparse_tensors,
                                   attribute);
    case ONNXD_ATTRIBUTE_TYPE_PROTO:
        return read_type(scope, proto->tp, attribute);
    case ONNXD_ATTRIBUTE_TYPE_PROTOS:
        return read_types(scope, proto->type_protos, proto->n_type_protos, attribute);
    default:
        return NULL;
    }
    attribute->count = 1;
    return NULL;
}

static onnxd_status *check_name(const Onnx__AttributeProto *proto, const onnxd_node *node)
{
    if (attribute_name(proto)[0] == '\0')
        return onnxd_error(ONNXD_INVALID_ARGUMENT, "has no name");
    if (onnxd_node_attribute(node, proto->name) != NULL)
        return onnxd_error(ONNXD_INVALID_ARGUMENT, "occurs twice");
    return NULL;
}

/* Reads what `proto` says or refers to; *out_is_absent where it refers to nothing. */
static onnxd_status *read_bound(onnxd_scope *scope, Onnx__AttributeProto *proto,
                                onnxd_attribute *attribute, bool *out_is_absent)
{
    *out_is_absent = false;
    if (scope->call == NULL || !is_reference(proto))
        return read_attribute(scope, proto, attribute);
    onnxd_binding binding = onnxd_loader_binding(scope, proto->ref_attr_name);
    if (binding.proto == NULL) {
        *out_is_absent = true;
        return NULL;
    }
    if (proto->type != ONNXD_ATTRIBUTE_UNDEFINED && proto->type != binding.proto->type)
        return onnxd_error(ONNXD_INVALID_ARGUMENT,
                           "type %d, but what it refers to in the function has type %d",
                           proto->type, binding.proto->type);
    bool is_graph = binding.proto->type == ONNXD_ATTRIBUTE_GRAPH ||
                    binding.proto->type == ONNXD_ATTRIBUTE_GRAPHS;
    if (is_graph && binding.scope->graph != scope->graph)
        return onnxd_error(ONNXD_UNIMPLEMENTED,
                           "a graph that is given to a function is used inside of another graph");
    return read_attribute(binding.scope, binding.proto, attribute);
}

onnxd_status *onnxd_loader_attributes(onnxd_scope *scope, Onnx__AttributeProto *const *protos,
                                      size_t count, onnxd_node *node)
{
    for (size_t i = 0; i < count; i++) {
        onnxd_attribute *attribute = &node->attributes[node->attribute_count];
        *attribute = (onnxd_attribute){.name = attribute_name(protos[i])};
        bool is_absent = false;
        onnxd_status *status = check_name(protos[i], node);
        if (status == NULL) {
            status = read_bound(scope, protos[i], attribute, &is_absent);
            node->attribute_count += is_absent ? 0 : 1;
        }
        if (status != NULL) {
            char name[ONNXD_NAME_TEXT];
            return onnxd_status_context(
                status, "attribute '%s'",
                onnxd_name_text(attribute_name(protos[i]), name, sizeof(name)));
        }
    }
    return NULL;
}

/* The code of a symbol; the scope's map spares a search through all of them. */
static onnxd_status *read_symbol(onnxd_scope *scope, const char *name, int64_t *out_dim)
{
    /* A function's names for dimensions mean something else in every call. */
    if (scope->call != NULL) {
        *out_dim = ONNXD_DIM_UNKNOWN;
        return NULL;
    }
    uint32_t known = onnxd_name_map_find(&scope->symbols, name);
    if (known != UINT32_MAX) {
        *out_dim = ONNXD_DIM_FROM_SYMBOL(known);
        return NULL;
    }
    ONNXD_TRY(onnxd_graph_add_symbol(scope->graph, name, out_dim));
    uint32_t number = ONNXD_DIM_SYMBOL(*out_dim);
    bool added;
    return onnxd_name_map_add(&scope->symbols, scope->graph->symbols[number], number, &known,
                              &added);
}

static onnxd_status *read_dim(onnxd_scope *scope, const Onnx__TensorShapeProto__Dimension *proto,
                              int64_t *out_dim)
{
    *out_dim = ONNXD_DIM_UNKNOWN;
    if (proto->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM &&
        proto->dim_param != NULL && proto->dim_param[0] != '\0')
        return read_symbol(scope, proto->dim_param, out_dim);
    if (proto->value_case != ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE)
        return NULL;
    /* Some exporters write -1 for a dimension that they do not know. */
    if (proto->dim_value < ONNXD_DIM_UNKNOWN)
        return onnxd_error(ONNXD_INVALID_ARGUMENT, "dimension %" PRId64 ", it must not be negative",
                           proto->dim_value);
    *out_dim = proto->dim_value;
    return NULL;
}

static onnxd_status *read_tensor_type(onnxd_scope *scope, const Onnx__TypeProto__Tensor *proto,
                                      onnxd_tensor_type *out_type)
{
    out_type->dtype = onnxd_dtype_from_onnx(proto->elem_type);
    if (out_type->dtype == ONNXD_UNDEFINED)
        return onnxd_error(ONNXD_INVALID_ARGUMENT, "data type %d is not known", proto->elem_type);
    if (proto->shape == NULL)
        return NULL;
    if (proto->shape->n_dim > ONNXD_MAX_RANK)
        return onnxd_error(ONNXD_INVALID_ARGUMENT, "rank %zu, at most %d is allowed",
                           proto->shape->n_dim, ONNXD_MAX_RANK);
    out_type->shape = onnxd_shape_of_rank((int32_t)proto->shape->n_dim);
    for (size_t i = 0; i < proto->shape->n_dim; i++)
        ONNXD_TRY(read_dim(scope, proto->shape->dim[i], &out_type->shape.dims[i]));
    return NULL;
}

/* The value type of a map, whose keys each operator checks for itself. */
static onnxd_status *read_map_type(onnxd_scope *scope, const Onnx__TypeProto__Map *proto,
                                   onnxd_tensor_type *out_type)
{
    if (proto->value_type == NULL ||
        proto->value_type->value_case != ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE)
        return onnxd_error(ONNXD_UNIMPLEMENTED, "maps to other values than tensors");
    return read_tensor_type(scope, proto->value_type->tensor_type, out_type);
}

/* What a sequence or an optional holds: `whole` when it is a tensor. */
static onnxd_status *read_element_type(onnxd_scope *scope, const Onnx__TypeProto *element,
                                       onnxd_value_kind whole, onnxd_tensor_type *out_type)
{
    if (element == NULL)
        return onnxd_error(ONNXD_INVALID_ARGUMENT, "the type of the elements is missing");
    out_type->kind = whole;
    if (element->value_case == ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE)
        return read_tensor_type(scope, element->tensor_type, out_type);
    if (whole == ONNXD_VALUE_SEQUENCE && element->value_case == ONNX__TYPE_PROTO__VALUE_MAP_TYPE) {
        out_type->kind = ONNXD_VALUE_SEQUENCE_OF_MAPS;
        return read_map_type(scope, element->map_type, out_type);
    }
    if (whole == ONNXD_VALUE_OPTIONAL &&
        element->value_case == ONNX__TYPE_PROTO__VALUE_SEQUENCE_TYPE) {
        const Onnx__TypeProto *inner = element->sequence_type->elem_type;
        out_type->kind = ONNXD_VALUE_OPTIONAL_SEQUENCE;
        if (inner != NULL && inner->value_case == ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE)
            return read_tensor_type(scope, inner->tensor_type, out_type);
    }
    return onnxd_error(ONNXD_UNIMPLEMENTED,
                       "sequences and optionals of anything but tensors, sequences of maps aside");
}

onnxd_status *onnxd_loader_type(onnxd_scope *scope, const Onnx__TypeProto *proto,
                                onnxd_tensor_type *out_type)
{
    onnxd_tensor_type type = {.dtype = ONNXD_UNDEFINED, .shape = onnxd_shape_unknown()};
    switch (proto->value_case) {
    case ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE:
        ONNXD_TRY(read_tensor_type(scope, proto->tensor_type, &type));
        break;
    case ONNX__TYPE_PROTO__VALUE_SEQUENCE_TYPE:
        ONNXD_TRY(
            read_element_type(scope, proto->sequence_type->elem_type, ONNXD_VALUE_SEQUENCE, &type));
        break;
    case ONNX__TYPE_PROTO__VALUE_OPTIONAL_TYPE:
        ONNXD_TRY(
            read_element_type(scope, proto->optional_type->elem_type, ONNXD_VALUE_OPTIONAL, &type));
        break;
    case ONNX__TYPE_PROTO__VALUE_MAP_TYPE:
        type.kind = ONNXD_VALUE_MAP;
        ONNXD_TRY(read_map_type(scope, proto->map_type, &type));
        break;
    case ONNX__TYPE_PROTO__VALUE_SPARSE_TENSOR_TYPE:
        type.kind = ONNXD_VALUE_SPARSE_TENSOR;
        break;
    case ONNX__TYPE_PROTO__VALUE_OPAQUE_TYPE:
        return onnxd_error(ONNXD_UNIMPLEMENTED, "opaque types are not supported");
    default:
        return onnxd_error(ONNXD_INVALID_ARGUMENT, "the type is empty");
    }
    *out_type = type;
    return NULL;
}
