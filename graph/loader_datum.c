#include "graph/loader_datum.h"

#include <string.h>

#include "base/alloc.h"
#include "graph/loader_internal.h"

/* SequenceProto.DataType and OptionalProto.DataType. */
typedef enum element_type {
    ELEMENT_UNDEFINED = 0,
    ELEMENT_TENSOR = 1,
    ELEMENT_SEQUENCE = 3,
    ELEMENT_MAP = 4
} element_type;

static onnxd_status *read_tensor(onnxd_loader *loader, Onnx__TensorProto *proto,
                                 onnxd_datum **out_datum)
{
    onnxd_tensor *tensor = NULL;
    ONNXD_TRY(onnxd_loader_tensor(loader, proto, &tensor));
    onnxd_status *status = onnxd_datum_of_tensor(tensor, out_datum);
    onnxd_tensor_release(tensor);
    return status;
}

/* ---- maps ---------------------------------------------------------------------------------- */

static onnxd_status *read_keys(const Onnx__MapProto *proto, onnxd_tensor **out_keys)
{
    size_t count = proto->n_keys != 0 ? proto->n_keys : proto->n_string_keys;
    int64_t extent = (int64_t)count;
    onnxd_shape shape = onnxd_shape_from(1, &extent);
    bool has_strings = proto->key_type == ONNXD_STRING || proto->n_string_keys != 0;
    if (proto->n_keys != 0 && proto->n_string_keys != 0)
        return onnxd_error(ONNXD_INVALID_ARGUMENT, "a map with both numbers and strings as keys");
    if (!has_strings) {
        ONNXD_TRY(onnxd_tensor_create(ONNXD_INT64, &shape, out_keys));
        if (count != 0)
            memcpy((*out_keys)->data, proto->keys, count * sizeof(int64_t));
        return NULL;
    }
    onnxd_string *strings = onnxd_alloc_zero(count + 1, sizeof(*strings));
    if (strings == NULL)
        return onnxd_error_out_of_memory("keys of a map", count * sizeof(*strings), UINT64_MAX);
    for (size_t i = 0; i < count; i++)
        strings[i] = (onnxd_string){.data = (const char *)proto->string_keys[i].data,
                                    .size = proto->string_keys[i].len};
    onnxd_status *status = onnxd_tensor_create_strings(&shape, strings, out_keys);
    onnxd_free(strings);
    return status;
}

/* One tensor of the scalars. */
static onnxd_status *join_scalars(onnxd_tensor *const *scalars, size_t count,
                                  onnxd_tensor **out_values)
{
    onnxd_dtype dtype = count == 0 ? ONNXD_FLOAT : scalars[0]->dtype;
    size_t size = onnxd_dtype_size(dtype);
    int64_t extent = (int64_t)count;
    onnxd_shape shape = onnxd_shape_from(1, &extent);
    for (size_t i = 0; i < count; i++)
        if (scalars[i]->count != 1 || scalars[i]->dtype != dtype || size == 0)
            return onnxd_error(ONNXD_UNIMPLEMENTED,
                               "value %zu of a map is no scalar, or of another type than the first",
                               i);
    onnxd_tensor *joint = NULL;
    ONNXD_TRY(onnxd_tensor_create(dtype, &shape, &joint));
    for (size_t i = 0; i < count; i++)
        memcpy((char *)joint->data + i * size, scalars[i]->data, size);
    if (dtype != ONNXD_STRING) {
        *out_values = joint;
        return NULL;
    }
    onnxd_status *status = onnxd_tensor_create_strings(&shape, joint->data, out_values);
    onnxd_tensor_release(joint);
    return status;
}

static onnxd_status *read_values(onnxd_loader *loader, const Onnx__SequenceProto *proto,
                                 onnxd_tensor **out_values)
{
    size_t count = proto == NULL ? 0 : proto->n_tensor_values;
    onnxd_status *status = NULL;
    onnxd_tensor **scalars = onnxd_alloc_zero(count + 1, sizeof(onnxd_tensor *));
    if (scalars == NULL)
        return onnxd_error_out_of_memory("values of a map", count * sizeof(onnxd_tensor *),
                                         UINT64_MAX);
    for (size_t i = 0; i < count && status == NULL; i++)
        status = onnxd_loader_tensor(loader, proto->tensor_values[i], &scalars[i]);
    if (status == NULL)
        status = join_scalars(scalars, count, out_values);
    for (size_t i = 0; i < count; i++)
        onnxd_tensor_release(scalars[i]);
    onnxd_free(scalars);
    return status;
}

static onnxd_status *read_map(onnxd_loader *loader, const Onnx__MapProto *proto,
                              onnxd_datum **out_datum)
{
    onnxd_tensor *keys = NULL, *values = NULL;
    onnxd_status *status = read_keys(proto, &keys);
    if (status == NULL)
        status = read_values(loader, proto->values, &values);
    if (status == NULL)
        status = onnxd_datum_of_map(keys, values, out_datum);
    onnxd_tensor_release(keys);
    onnxd_tensor_release(values);
    return status;
}

/* ---- sequences ----------------------------------------------------------------------------- */

static onnxd_status *read_items(onnxd_loader *loader, const Onnx__SequenceProto *proto,
                                onnxd_value_kind kind, size_t count, onnxd_datum **items)
{
    for (size_t i = 0; i < count; i++) {
        onnxd_status *status = kind == ONNXD_VALUE_SEQUENCE
                                   ? read_tensor(loader, proto->tensor_values[i], &items[i])
                                   : read_map(loader, proto->map_values[i], &items[i]);
        if (status != NULL)
            return onnxd_status_context(status, "element %zu", i);
    }
    return NULL;
}

/* `dtype` is that of a sequence without elements. */
static onnxd_status *read_sequence(onnxd_loader *loader, const Onnx__SequenceProto *proto,
                                   onnxd_value_kind kind, onnxd_dtype dtype,
                                   onnxd_datum **out_datum)
{
    bool of_tensors = kind == ONNXD_VALUE_SEQUENCE;
    size_t count = of_tensors ? proto->n_tensor_values : proto->n_map_values;
    size_t others = of_tensors ? proto->n_map_values : proto->n_tensor_values;
    if (proto->n_sparse_tensor_values + proto->n_sequence_values + proto->n_optional_values != 0)
        return onnxd_error(
            ONNXD_UNIMPLEMENTED,
            "sequences of sequences, optionals and sparse tensors are not supported");
    if (others != 0 || (count != 0 && proto->has_elem_type &&
                        proto->elem_type != (of_tensors ? ELEMENT_TENSOR : ELEMENT_MAP)))
        return onnxd_error(ONNXD_INVALID_ARGUMENT, "it is not a sequence of %s alone",
                           of_tensors ? "tensors" : "maps");
    onnxd_datum **items = onnxd_alloc_zero(count + 1, sizeof(onnxd_datum *));
    if (items == NULL)
        return onnxd_error_out_of_memory("sequence", count * sizeof(onnxd_datum *), UINT64_MAX);
    onnxd_status *status = read_items(loader, proto, kind, count, items);
    if (status == NULL)
        status = onnxd_datum_of_items(kind, count == 0 ? dtype : items[0]->dtype, items, count,
                                      out_datum);
    onnxd_datums_free(items, count);
    return status;
}

/* ---- any ----------------------------------------------------------------------------------- */

/* What the optional holds must be of the kind that it may hold. */
static onnxd_status *read_optional(onnxd_loader *loader, const Onnx__OptionalProto *proto,
                                   const onnxd_tensor_type *type, onnxd_datum **out_datum)
{
    bool of_tensor = type->kind == ONNXD_VALUE_OPTIONAL;
    if (proto->has_sparse_tensor_value || proto->has_optional_value || proto->map_value != NULL)
        return onnxd_error(ONNXD_UNIMPLEMENTED,
                           "optionals of maps, optionals and sparse tensors are not supported");
    if (proto->tensor_value != NULL && proto->sequence_value == NULL && of_tensor)
        return read_tensor(loader, proto->tensor_value, out_datum);
    if (proto->sequence_value != NULL && proto->tensor_value == NULL && !of_tensor)
        return read_sequence(loader, proto->sequence_value, ONNXD_VALUE_SEQUENCE, type->dtype,
                             out_datum);
    if (proto->tensor_value == NULL && proto->sequence_value == NULL)
        return onnxd_datum_nothing(type->dtype, out_datum);
    return onnxd_error(ONNXD_INVALID_ARGUMENT, "it is not an optional %s",
                       of_tensor ? "tensor" : "sequence");
}

static onnxd_status *read_message(onnxd_loader *loader, ProtobufCMessage *message,
                                  const onnxd_tensor_type *type, onnxd_datum **out_datum)
{
    switch (type->kind) {
    case ONNXD_VALUE_SEQUENCE:
    case ONNXD_VALUE_SEQUENCE_OF_MAPS:
        return read_sequence(loader, (Onnx__SequenceProto *)message, type->kind, type->dtype,
                             out_datum);
    case ONNXD_VALUE_OPTIONAL:
    case ONNXD_VALUE_OPTIONAL_SEQUENCE:
        return read_optional(loader, (Onnx__OptionalProto *)message, type, out_datum);
    case ONNXD_VALUE_MAP:
        return read_map(loader, (Onnx__MapProto *)message, out_datum);
    default:
        return read_tensor(loader, (Onnx__TensorProto *)message, out_datum);
    }
}

static onnxd_prescan_root root_of(onnxd_value_kind kind)
{
    switch (kind) {
    case ONNXD_VALUE_SEQUENCE:
    case ONNXD_VALUE_SEQUENCE_OF_MAPS:
        return ONNXD_PRESCAN_SEQUENCE;
    case ONNXD_VALUE_OPTIONAL:
    case ONNXD_VALUE_OPTIONAL_SEQUENCE:
        return ONNXD_PRESCAN_OPTIONAL;
    case ONNXD_VALUE_MAP:
        return ONNXD_PRESCAN_MAP;
    default:
        return ONNXD_PRESCAN_TENSOR;
    }
}

onnxd_status *onnxd_datum_load_file(const char *path, const onnxd_tensor_type *type,
                                    const onnxd_load_limits *limits, onnxd_datum **out_datum)
{
    onnxd_proto_memory memory;
    ProtobufCMessage *message = NULL;
    onnxd_loader loader;
    onnxd_datum *datum = NULL;
    ONNXD_TRY(onnxd_loader_unpack_file(path, root_of(type->kind), limits, &memory, &message));
    onnxd_loader_init(&loader, NULL, NULL, limits);
    onnxd_status *status = read_message(&loader, message, type, &datum);
    onnxd_loader_deinit(&loader);
    protobuf_c_message_free_unpacked(message, &memory.allocator);
    if (status == NULL && type->dtype != ONNXD_UNDEFINED && datum->dtype != type->dtype) {
        status = onnxd_error(ONNXD_INVALID_ARGUMENT, "it holds %s, %s is declared",
                             onnxd_dtype_name(datum->dtype), onnxd_dtype_name(type->dtype));
        onnxd_datum_release(datum);
    }
    if (status == NULL)
        *out_datum = datum;
    return status;
}
