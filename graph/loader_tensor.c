/*
 * TensorProto to tensor: every element type, from raw bytes, typed fields or a file, with exact
 * lengths.
 */
#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/size_math.h"
#include "graph/loader_internal.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "raw_data is little-endian");

onnxd_status *onnxd_loader_shape(size_t count, const int64_t *dims, onnxd_shape *out_shape)
{
    if (count > ONNXD_MAX_RANK)
        return onnxd_error(ONNXD_INVALID_ARGUMENT, "rank %zu, at most %d is allowed", count,
                           ONNXD_MAX_RANK);
    for (size_t i = 0; i < count; i++)
        if (dims[i] < 0)
            return onnxd_error(ONNXD_INVALID_ARGUMENT,
                               "dimension %zu is %" PRId64 ", it must not be negative", i, dims[i]);
    *out_shape = onnxd_shape_from((int32_t)count, dims);
    return NULL;
}

/* The repeated fields that can hold data. */
typedef enum typed_kind {
    FLOATS,
    INT32S,
    STRINGS,
    INT64S,
    DOUBLES,
    UINT64S,
    TYPED_COUNT
} typed_kind;

typedef struct typed_field {
    const char *name;
    size_t count_offset, data_offset;
    size_t element_bytes;
} typed_field;

#define TYPED_FIELD(member, bytes)                                                                 \
    {                                                                                              \
#member, offsetof(Onnx__TensorProto, n_##member), offsetof(Onnx__TensorProto, member),     \
            bytes                                                                                  \
    }
static const typed_field typed_fields[TYPED_COUNT] = {
    [FLOATS] = TYPED_FIELD(float_data, 4),    [INT32S] = TYPED_FIELD(int32_data, 4),
    [STRINGS] = TYPED_FIELD(string_data, 16), [INT64S] = TYPED_FIELD(int64_data, 8),
    [DOUBLES] = TYPED_FIELD(double_data, 8),  [UINT64S] = TYPED_FIELD(uint64_data, 8)};

static size_t typed_count(const Onnx__TensorProto *proto, typed_kind kind)
{
    size_t count;
    memcpy(&count, (const char *)proto + typed_fields[kind].count_offset, sizeof(count));
    return count;
}

static void **typed_data(Onnx__TensorProto *proto, typed_kind kind)
{
    return (void **)(void *)((char *)proto + typed_fields[kind].data_offset);
}

/* The width of the only types that int32_data, unlike raw_data, holds unpacked. */
#define SIX_BITS 6

static bool has_six_bits(onnxd_dtype dtype)
{
    return onnxd_dtype_bits(dtype) == SIX_BITS;
}

/* Where a type's elements lie when they are not raw. */
typedef struct typed_rule {
    typed_kind kind;
    bool is_direct;           /* the field's array has the tensor's layout */
    int64_t minimum, maximum; /* of one entry otherwise */
} typed_rule;

static typed_rule rule_of(onnxd_dtype dtype)
{
    switch (dtype) {
    case ONNXD_FLOAT:
    case ONNXD_COMPLEX64:
        return (typed_rule){.kind = FLOATS, .is_direct = true};
    case ONNXD_DOUBLE:
    case ONNXD_COMPLEX128:
        return (typed_rule){.kind = DOUBLES, .is_direct = true};
    case ONNXD_INT64:
        return (typed_rule){.kind = INT64S, .is_direct = true};
    case ONNXD_UINT64:
        return (typed_rule){.kind = UINT64S, .is_direct = true};
    case ONNXD_INT32:
        return (typed_rule){.kind = INT32S, .is_direct = true};
    case ONNXD_STRING:
        return (typed_rule){.kind = STRINGS};
    case ONNXD_UINT32:
        return (typed_rule){.kind = UINT64S, .maximum = UINT32_MAX};
    case ONNXD_INT8:
        return (typed_rule){.kind = INT32S, .minimum = INT8_MIN, .maximum = INT8_MAX};
    case ONNXD_INT16:
        return (typed_rule){.kind = INT32S, .minimum = INT16_MIN, .maximum = INT16_MAX};
    case ONNXD_BOOL:
        return (typed_rule){.kind = INT32S, .maximum = 1};
    case ONNXD_UINT16:
    case ONNXD_FLOAT16:
    case ONNXD_BFLOAT16:
        return (typed_rule){.kind = INT32S, .maximum = UINT16_MAX};
    case ONNXD_FLOAT6E2M3:
    case ONNXD_FLOAT6E3M2:
        return (typed_rule){.kind = INT32S, .maximum = (1 << SIX_BITS) - 1};
    default: /* one byte: 8-bit floats and integers, or several packed elements */
        return (typed_rule){.kind = INT32S, .maximum = UINT8_MAX};
    }
}

static onnxd_status *length_error(const char *field, size_t found, size_t needed, const char *unit)
{
    return onnxd_error(ONNXD_INVALID_ARGUMENT, "%s holds %zu %s, type and shape need %zu", field,
                       found, unit, needed);
}

/* The tensor takes the array over from the message. */
static onnxd_status *adopt(void **data, onnxd_dtype dtype, const onnxd_shape *shape, size_t bytes,
                           onnxd_tensor **out_tensor)
{
    ONNXD_TRY(
        onnxd_tensor_adopt(dtype, shape, *data, bytes, onnxd_proto_release, NULL, out_tensor));
    *data = NULL;
    return NULL;
}

static onnxd_status *from_strings(const Onnx__TensorProto *proto, const onnxd_shape *shape,
                                  size_t count, onnxd_tensor **out_tensor)
{
    onnxd_string *strings = onnxd_alloc_zero(count + 1, sizeof(*strings));
    if (strings == NULL)
        return onnxd_error_out_of_memory("strings of a tensor", count * sizeof(*strings),
                                         UINT64_MAX);
    for (size_t i = 0; i < count; i++)
        strings[i] = (onnxd_string){.data = (const char *)proto->string_data[i].data,
                                    .size = proto->string_data[i].len};
    onnxd_status *status = onnxd_tensor_create_strings(shape, strings, out_tensor);
    onnxd_free(strings);
    return status;
}

static int64_t entry_at(const Onnx__TensorProto *proto, typed_kind kind, size_t index)
{
    if (kind == INT32S)
        return proto->int32_data[index];
    uint64_t value = proto->uint64_data[index];
    return value > INT64_MAX ? INT64_MAX : (int64_t)value;
}

static onnxd_status *read_entry(const Onnx__TensorProto *proto, const typed_rule *rule,
                                onnxd_dtype dtype, size_t index, int64_t *out_entry)
{
    int64_t entry = entry_at(proto, rule->kind, index);
    if (entry < rule->minimum || entry > rule->maximum)
        return onnxd_error(ONNXD_INVALID_ARGUMENT,
                           "%s entry %zu is %" PRId64 ", allowed for %s are %" PRId64
                           " to %" PRId64,
                           typed_fields[rule->kind].name, index, entry, onnxd_dtype_name(dtype),
                           rule->minimum, rule->maximum);
    *out_entry = entry;
    return NULL;
}

/* Entries wider than the elements: each is checked and narrowed. */
static onnxd_status *from_wider(const Onnx__TensorProto *proto, const typed_rule *rule,
                                size_t element_bytes, onnxd_tensor *tensor)
{
    unsigned char *out = tensor->data;
    size_t count = tensor->bytes / element_bytes;
    for (size_t i = 0; i < count; i++) {
        int64_t entry;
        ONNXD_TRY(read_entry(proto, rule, tensor->dtype, i, &entry));
        memcpy(out + i * element_bytes, &entry, element_bytes);
    }
    return NULL;
}

/* One entry for each element, which are packed here. `tensor` is zeroed. */
static onnxd_status *from_six_bits(const Onnx__TensorProto *proto, const typed_rule *rule,
                                   onnxd_tensor *tensor)
{
    unsigned char *out = tensor->data;
    for (size_t i = 0; i < tensor->count; i++) {
        int64_t entry;
        ONNXD_TRY(read_entry(proto, rule, tensor->dtype, i, &entry));
        /* Four elements take three bytes. */
        size_t byte = i / 4 * 3 + i % 4 * SIX_BITS / 8;
        unsigned bits = (unsigned)entry << (i % 4 * SIX_BITS % 8);
        out[byte] = (unsigned char)(out[byte] | bits);
        if (bits > UINT8_MAX)
            out[byte + 1] = (unsigned char)(bits >> 8);
    }
    return NULL;
}

static onnxd_status *from_typed(Onnx__TensorProto *proto, onnxd_dtype dtype,
                                const onnxd_shape *shape, size_t count, size_t bytes,
                                onnxd_tensor **out_tensor)
{
    typed_rule rule = rule_of(dtype);
    const typed_field *field = &typed_fields[rule.kind];
    size_t element_bytes = onnxd_dtype_size(dtype) == 0 ? 1 : onnxd_dtype_size(dtype);
    size_t entries = typed_count(proto, rule.kind);
    size_t needed = bytes / element_bytes;
    if (rule.is_direct)
        needed = bytes / field->element_bytes;
    if (dtype == ONNXD_STRING || has_six_bits(dtype))
        needed = count;
    if (entries != needed)
        return length_error(field->name, entries, needed, "entries");
    if (dtype == ONNXD_STRING)
        return from_strings(proto, shape, count, out_tensor);
    if (rule.is_direct && bytes > 0)
        return adopt(typed_data(proto, rule.kind), dtype, shape, bytes, out_tensor);
    onnxd_tensor *tensor = NULL;
    ONNXD_TRY(onnxd_tensor_create(dtype, shape, &tensor));
    onnxd_status *status = NULL;
    if (has_six_bits(dtype))
        status = from_six_bits(proto, &rule, tensor);
    else if (bytes > 0)
        status = from_wider(proto, &rule, element_bytes, tensor);
    if (status != NULL)
        onnxd_tensor_release(tensor);
    else
        *out_tensor = tensor;
    return status;
}

onnxd_status *onnxd_loader_check_bools(const uint8_t *data, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (data[i] > 1)
            return onnxd_error(ONNXD_INVALID_ARGUMENT,
                               "bool element %zu is %u, allowed are 0 and 1", i, data[i]);
    return NULL;
}

static onnxd_status *from_raw(Onnx__TensorProto *proto, onnxd_dtype dtype, const onnxd_shape *shape,
                              size_t bytes, onnxd_tensor **out_tensor)
{
    if (dtype == ONNXD_STRING)
        return onnxd_error(ONNXD_INVALID_ARGUMENT, "strings cannot lie in raw_data");
    if (proto->raw_data.len != bytes)
        return length_error("raw_data", proto->raw_data.len, bytes, "bytes");
    if (dtype == ONNXD_BOOL)
        ONNXD_TRY(onnxd_loader_check_bools(proto->raw_data.data, bytes));
    void *data = proto->raw_data.data;
    ONNXD_TRY(adopt(&data, dtype, shape, bytes, out_tensor));
    proto->raw_data = (ProtobufCBinaryData){0};
    return NULL;
}

/* Data must lie in one place, the right one. */
static onnxd_status *check_places(const Onnx__TensorProto *proto, onnxd_dtype dtype,
                                  bool is_external)
{
    typed_kind wanted = rule_of(dtype).kind;
    bool has_raw = proto->raw_data.len > 0;
    for (int kind = 0; kind < TYPED_COUNT; kind++) {
        if (typed_count(proto, (typed_kind)kind) == 0)
            continue;
        if (has_raw || is_external)
            return onnxd_error(ONNXD_INVALID_ARGUMENT, "data in both %s and %s",
                               typed_fields[kind].name, has_raw ? "raw_data" : "an external file");
        if ((typed_kind)kind != wanted)
            return onnxd_error(ONNXD_INVALID_ARGUMENT, "data of type %s in %s, it belongs in %s",
                               onnxd_dtype_name(dtype), typed_fields[kind].name,
                               typed_fields[wanted].name);
    }
    if (has_raw && is_external)
        return onnxd_error(ONNXD_INVALID_ARGUMENT, "data in both raw_data and an external file");
    return NULL;
}

static onnxd_status *read_header(const Onnx__TensorProto *proto, onnxd_dtype *out_dtype,
                                 onnxd_shape *out_shape, size_t *out_count, size_t *out_bytes)
{
    onnxd_dtype dtype = onnxd_dtype_from_onnx(proto->data_type);
    if (dtype == ONNXD_UNDEFINED)
        return onnxd_error(ONNXD_INVALID_ARGUMENT, "data type %d is not known", proto->data_type);
    if (proto->segment != NULL)
        return onnxd_error(ONNXD_UNIMPLEMENTED, "tensors in segments are not supported");
    if (proto->data_location != 0 && proto->data_location != 1)
        return onnxd_error(ONNXD_INVALID_ARGUMENT, "data location %d, allowed are 0 and 1",
                           proto->data_location);
    ONNXD_TRY(onnxd_loader_shape(proto->n_dims, proto->dims, out_shape));
    if (!onnxd_shape_count(out_shape, out_count) ||
        !onnxd_dtype_bytes(dtype, *out_count, out_bytes))
        return onnxd_error(ONNXD_INVALID_ARGUMENT, "more elements than memory can hold");
    *out_dtype = dtype;
    return NULL;
}

onnxd_status *onnxd_loader_tensor(onnxd_loader *loader, Onnx__TensorProto *proto,
                                  onnxd_tensor **out_tensor)
{
    onnxd_dtype dtype = ONNXD_UNDEFINED;
    onnxd_shape shape;
    size_t count;
    size_t bytes;
    ONNXD_TRY(read_header(proto, &dtype, &shape, &count, &bytes));
    bool is_external = proto->data_location == 1;
    ONNXD_TRY(check_places(proto, dtype, is_external));
    if (is_external)
        return onnxd_loader_external(loader, proto, dtype, &shape, bytes, out_tensor);
    if (proto->n_external_data > 0)
        return onnxd_error(ONNXD_INVALID_ARGUMENT,
                           "external_data is set, but data_location is not external");
    if (proto->raw_data.len > 0)
        return from_raw(proto, dtype, &shape, bytes, out_tensor);
    return from_typed(proto, dtype, &shape, count, bytes, out_tensor);
}

/* The offset in the dense tensor of entry `entry`. */
static onnxd_status *sparse_offset(const onnxd_tensor *indices, const onnxd_shape *shape,
                                   size_t entry, size_t total, size_t *out_offset)
{
    const int64_t *values = indices->data;
    if (indices->shape.rank == 1) {
        if (values[entry] < 0 || (uint64_t)values[entry] >= total)
            return onnxd_error(ONNXD_INVALID_ARGUMENT,
                               "index %" PRId64 " of entry %zu, the tensor "
                               "has %zu elements",
                               values[entry], entry, total);
        *out_offset = (size_t)values[entry];
        return NULL;
    }
    size_t offset = 0;
    const int64_t *row = values + entry * (size_t)shape->rank;
    for (int32_t axis = 0; axis < shape->rank; axis++) {
        if (row[axis] < 0 || row[axis] >= shape->dims[axis])
            return onnxd_error(ONNXD_INVALID_ARGUMENT,
                               "index %" PRId64 " of entry %zu on axis %d, "
                               "which has extent %" PRId64,
                               row[axis], entry, axis, shape->dims[axis]);
        offset = offset * (size_t)shape->dims[axis] + (size_t)row[axis];
    }
    *out_offset = offset;
    return NULL;
}

static onnxd_status *scatter(const onnxd_tensor *values, const onnxd_tensor *indices,
                             onnxd_tensor *dense)
{
    size_t element_bytes = onnxd_dtype_size(dense->dtype);
    size_t previous = 0;
    for (size_t i = 0; i < values->count; i++) {
        size_t offset;
        ONNXD_TRY(sparse_offset(indices, &dense->shape, i, dense->count, &offset));
        if (i > 0 && offset <= previous)
            return onnxd_error(ONNXD_INVALID_ARGUMENT,
                               "indices are not in ascending order without repetition at entry %zu",
                               i);
        previous = offset;
        memcpy((char *)dense->data + offset * element_bytes,
               (const char *)values->data + i * element_bytes, element_bytes);
    }
    return NULL;
}

static onnxd_status *check_sparse(const onnxd_tensor *values, const onnxd_tensor *indices,
                                  const onnxd_shape *shape)
{
    if (onnxd_dtype_size(values->dtype) == 0 || values->dtype == ONNXD_STRING)
        return onnxd_error(ONNXD_UNIMPLEMENTED, "sparse tensors of type %s are not supported",
                           onnxd_dtype_name(values->dtype));
    if (values->shape.rank != 1)
        return onnxd_error(ONNXD_INVALID_ARGUMENT, "values of rank %d, it must be 1",
                           values->shape.rank);
    bool is_linear = indices->shape.rank == 1;
    bool is_matrix = indices->shape.rank == 2 && indices->shape.dims[1] == shape->rank;
    if (indices->dtype != ONNXD_INT64 || (!is_linear && !is_matrix) ||
        indices->shape.dims[0] != values->shape.dims[0]) {
        char text[ONNXD_SHAPE_TEXT];
        return onnxd_error(ONNXD_INVALID_ARGUMENT,
                           "indices are %s%s, they must be int64 of shape [n] or [n,%d] with n = "
                           "%" PRId64 " values",
                           onnxd_dtype_name(indices->dtype),
                           onnxd_shape_format(&indices->shape, text, sizeof(text)), shape->rank,
                           values->shape.dims[0]);
    }
    return NULL;
}

static onnxd_status *create_dense(onnxd_loader *loader, onnxd_dtype dtype, const onnxd_shape *shape,
                                  onnxd_tensor **out_tensor)
{
    size_t count;
    size_t bytes;
    if (!onnxd_shape_count(shape, &count) || !onnxd_dtype_bytes(dtype, count, &bytes) ||
        bytes > loader->sparse_bytes_left)
        return onnxd_error(ONNXD_INVALID_ARGUMENT,
                           "sparse tensors may take %" PRIu64 " more bytes when made dense",
                           loader->sparse_bytes_left);
    ONNXD_TRY(onnxd_tensor_create(dtype, shape, out_tensor));
    loader->sparse_bytes_left -= bytes;
    return NULL;
}

onnxd_status *onnxd_loader_sparse(onnxd_loader *loader, Onnx__SparseTensorProto *proto,
                                  onnxd_tensor **out_tensor)
{
    onnxd_tensor *values = NULL;
    onnxd_tensor *indices = NULL;
    onnxd_tensor *dense = NULL;
    onnxd_shape shape;
    ONNXD_TRY(onnxd_loader_shape(proto->n_dims, proto->dims, &shape));
    if (proto->values == NULL || proto->indices == NULL)
        return onnxd_error(ONNXD_INVALID_ARGUMENT, "values or indices are missing");
    onnxd_status *status = onnxd_loader_tensor(loader, proto->values, &values);
    if (status != NULL)
        goto done;
    status = onnxd_loader_tensor(loader, proto->indices, &indices);
    if (status != NULL)
        goto done;
    status = check_sparse(values, indices, &shape);
    if (status != NULL)
        goto done;
    status = create_dense(loader, values->dtype, &shape, &dense);
    if (status != NULL)
        goto done;
    status = scatter(values, indices, dense);
    if (status != NULL)
        goto done;
    *out_tensor = dense;
    dense = NULL;
done:
    onnxd_tensor_release(values);
    onnxd_tensor_release(indices);
    onnxd_tensor_release(dense);
    return status;
}
