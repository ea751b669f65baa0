#include "graph/prescan.h"

#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

#include "base/utf8.h"
#include "graph/loader_internal.h"

#define BASE_BUDGET_BYTES ((uint64_t)64 << 20)
#define BUDGET_FACTOR 4u
/* Of each allocation, on top of its bytes: malloc's header and rounding, and the loader's header.
 */
#define ALLOCATION_OVERHEAD 32u
/* protobuf-c notes every field of a message before it parses them; the first few lie on its stack.
 */
#define SCANNED_MEMBER_BYTES 48u
#define SCANNED_ON_STACK 16u

typedef enum wire_type {
    WIRE_VARINT = 0,
    WIRE_FIXED64 = 1,
    WIRE_LENGTH = 2,
    WIRE_GROUP_START = 3,
    WIRE_GROUP_END = 4,
    WIRE_FIXED32 = 5
} wire_type;

typedef struct frame {
    const ProtobufCMessageDescriptor *message;
    size_t end;
    uint64_t seen; /* bit per field of `message` that may come once */
    bool oneof_seen;
    uint32_t members;
    uint32_t attributes;
} frame;

typedef struct scanner {
    const uint8_t *data;
    size_t size;
    size_t at;
    size_t field_start; /* offset of the tag under way */
    const onnxd_load_limits *limits;
    frame frames[ONNXD_PRESCAN_MAX_DEPTH];
    uint32_t depth, max_depth;
    uint32_t graph_depth;
    uint32_t nodes, initializers, subgraphs;
    uint64_t raw_bytes, heap_bytes, member_bytes;
    uint64_t budget_bytes;
} scanner;

static frame *top(scanner *s)
{
    return &s->frames[s->depth - 1];
}

static onnxd_status *malformed(const scanner *s, const char *what)
{
    return onnxd_error(ONNXD_INVALID_ARGUMENT, "byte %zu in %s: %s", s->field_start,
                       s->frames[s->depth - 1].message->short_name, what);
}

static onnxd_status *field_error(const scanner *s, const ProtobufCFieldDescriptor *field,
                                 const char *what)
{
    return onnxd_error(ONNXD_INVALID_ARGUMENT, "byte %zu: field '%s' of %s %s", s->field_start,
                       field->name, s->frames[s->depth - 1].message->short_name, what);
}

static onnxd_status *limit_error(const scanner *s, const char *what, uint64_t limit)
{
    return onnxd_error(ONNXD_INVALID_ARGUMENT, "byte %zu: the model has more than %" PRIu64 " %s",
                       s->field_start, limit, what);
}

/* Counts heap that unpacking will take. */
static onnxd_status *charge(scanner *s, uint64_t bytes)
{
    s->heap_bytes += bytes;
    if (s->heap_bytes + s->member_bytes <= s->budget_bytes)
        return NULL;
    return onnxd_error(ONNXD_INVALID_ARGUMENT,
                       "byte %zu: the file of %zu bytes would unpack to more than %" PRIu64
                       " bytes",
                       s->field_start, s->size, s->budget_bytes);
}

/* A varint of at most max_bytes in data[*at, end); false when it does not end there or overflows.
 */
static bool read_varint(const uint8_t *data, size_t *at, size_t end, unsigned max_bytes,
                        uint64_t *out_value)
{
    uint64_t value = 0;
    for (unsigned i = 0; i < max_bytes && *at + i < end; i++) {
        uint8_t byte = data[*at + i];
        if (i == 9 && byte > 1)
            return false;
        value |= (uint64_t)(byte & 0x7f) << (7 * i);
        if ((byte & 0x80) == 0) {
            *at += i + 1;
            *out_value = value;
            return true;
        }
    }
    return false;
}

static onnxd_status *read_length(scanner *s, size_t *out_length)
{
    uint64_t length;
    if (!read_varint(s->data, &s->at, top(s)->end, 5, &length))
        return malformed(s, "truncated or overlong length");
    if (length > top(s)->end - s->at)
        return malformed(s, "length exceeds the enclosing message");
    *out_length = (size_t)length;
    return NULL;
}

static onnxd_status *skip_bytes(scanner *s, size_t count)
{
    if (count > top(s)->end - s->at)
        return malformed(s, "truncated value");
    s->at += count;
    return NULL;
}

static onnxd_status *skip_scalar(scanner *s, wire_type wire)
{
    uint64_t value;
    if (wire == WIRE_FIXED64)
        return skip_bytes(s, 8);
    if (wire == WIRE_FIXED32)
        return skip_bytes(s, 4);
    if (!read_varint(s->data, &s->at, top(s)->end, 10, &value))
        return malformed(s, "truncated or overlong varint");
    return NULL;
}

static onnxd_status *push(scanner *s, const ProtobufCMessageDescriptor *message, size_t end)
{
    if (s->depth == s->max_depth)
        return limit_error(s, "levels of nested messages", s->max_depth);
    if (message == &onnx__function_proto__descriptor)
        s->graph_depth++;
    if (message == &onnx__graph_proto__descriptor) {
        if (s->graph_depth > s->limits->max_subgraph_depth)
            return limit_error(s, "levels of nested subgraphs", s->limits->max_subgraph_depth);
        if (s->graph_depth > 0 && ++s->subgraphs > ONNXD_PRESCAN_MAX_SUBGRAPHS)
            return limit_error(s, "subgraphs", ONNXD_PRESCAN_MAX_SUBGRAPHS);
        s->graph_depth++;
    }
    s->frames[s->depth++] = (frame){.message = message, .end = end};
    return charge(s, message->sizeof_message + ALLOCATION_OVERHEAD + sizeof(void *));
}

static void pop(scanner *s)
{
    const frame *ended = top(s);
    if (ended->message == &onnx__graph_proto__descriptor ||
        ended->message == &onnx__function_proto__descriptor)
        s->graph_depth--;
    if (ended->members > SCANNED_ON_STACK)
        s->member_bytes -= (uint64_t)(ended->members - SCANNED_ON_STACK) * SCANNED_MEMBER_BYTES;
    s->depth--;
}

static onnxd_status *count_message(scanner *s, const ProtobufCMessageDescriptor *message)
{
    bool in_graph = top(s)->message == &onnx__graph_proto__descriptor;
    if (message == &onnx__node_proto__descriptor && ++s->nodes > s->limits->max_nodes)
        return limit_error(s, "nodes", s->limits->max_nodes);
    if (in_graph &&
        (message == &onnx__tensor_proto__descriptor ||
         message == &onnx__sparse_tensor_proto__descriptor) &&
        ++s->initializers > s->limits->max_initializers)
        return limit_error(s, "initializers", s->limits->max_initializers);
    if (message == &onnx__attribute_proto__descriptor &&
        ++top(s)->attributes > s->limits->max_attributes_per_node)
        return limit_error(s, "attributes in one node", s->limits->max_attributes_per_node);
    return NULL;
}

static onnxd_status *check_name(scanner *s, const ProtobufCFieldDescriptor *field, size_t length)
{
    const char *text = (const char *)s->data + s->at;
    if (length > s->limits->max_name_bytes)
        return onnxd_error(ONNXD_INVALID_ARGUMENT,
                           "byte %zu: field '%s' of %s has %zu bytes, at most %u are allowed",
                           s->field_start, field->name, top(s)->message->short_name, length,
                           s->limits->max_name_bytes);
    if (memchr(text, 0, length) != NULL)
        return field_error(s, field, "contains NUL");
    if (!onnxd_utf8_is_valid(text, length))
        return field_error(s, field, "is not UTF-8");
    return NULL;
}

static wire_type natural_wire_type(ProtobufCType type)
{
    switch (type) {
    case PROTOBUF_C_TYPE_FLOAT:
    case PROTOBUF_C_TYPE_FIXED32:
    case PROTOBUF_C_TYPE_SFIXED32:
        return WIRE_FIXED32;
    case PROTOBUF_C_TYPE_DOUBLE:
    case PROTOBUF_C_TYPE_FIXED64:
    case PROTOBUF_C_TYPE_SFIXED64:
        return WIRE_FIXED64;
    case PROTOBUF_C_TYPE_STRING:
    case PROTOBUF_C_TYPE_BYTES:
    case PROTOBUF_C_TYPE_MESSAGE:
        return WIRE_LENGTH;
    default:
        return WIRE_VARINT;
    }
}

static size_t scalar_bytes(ProtobufCType type)
{
    return type == PROTOBUF_C_TYPE_FLOAT || type == PROTOBUF_C_TYPE_INT32 ? 4 : 8;
}

/* Repeated scalars in one length-delimited block. */
static onnxd_status *scan_packed(scanner *s, const ProtobufCFieldDescriptor *field, size_t length)
{
    wire_type wire = natural_wire_type(field->type);
    size_t end = s->at + length;
    uint64_t count = 0;
    if (wire == WIRE_VARINT) {
        while (s->at < end) {
            uint64_t value;
            if (!read_varint(s->data, &s->at, end, 10, &value))
                return field_error(s, field, "holds a truncated or overlong varint");
            count++;
        }
    } else {
        size_t element = wire == WIRE_FIXED32 ? 4 : 8;
        if (length % element != 0)
            return field_error(s, field, "has a length that is no multiple of its elements");
        count = length / element;
        s->at = end;
    }
    return charge(s, count * scalar_bytes(field->type) + ALLOCATION_OVERHEAD);
}

static onnxd_status *scan_bytes(scanner *s, const ProtobufCFieldDescriptor *field, size_t length)
{
    if (field->type == PROTOBUF_C_TYPE_STRING)
        ONNXD_TRY(check_name(s, field, length));
    if (top(s)->message == &onnx__tensor_proto__descriptor && strcmp(field->name, "raw_data") == 0)
        s->raw_bytes += length;
    size_t in_array = field->label == PROTOBUF_C_LABEL_REPEATED ? sizeof(ProtobufCBinaryData) : 0;
    ONNXD_TRY(charge(s, length + in_array + ALLOCATION_OVERHEAD + 1));
    return skip_bytes(s, length);
}

/* A field that may come once comes once; of a oneof, one member does. */
static onnxd_status *check_single(scanner *s, const ProtobufCFieldDescriptor *field)
{
    frame *f = top(s);
    if (field->label == PROTOBUF_C_LABEL_REPEATED)
        return NULL;
    uint64_t bit = (uint64_t)1 << (unsigned)(field - f->message->fields);
    if ((f->seen & bit) != 0)
        return field_error(s, field, "occurs twice");
    f->seen |= bit;
    if ((field->flags & PROTOBUF_C_FIELD_FLAG_ONEOF) == 0)
        return NULL;
    if (f->oneof_seen)
        return field_error(s, field, "occurs beside its alternative");
    f->oneof_seen = true;
    return NULL;
}

static onnxd_status *scan_known(scanner *s, const ProtobufCFieldDescriptor *field, wire_type wire)
{
    wire_type natural = natural_wire_type(field->type);
    bool repeated = field->label == PROTOBUF_C_LABEL_REPEATED;
    bool packed = repeated && wire == WIRE_LENGTH && natural != WIRE_LENGTH;
    if (wire != natural && !packed)
        return field_error(s, field, "has the wrong wire type");
    ONNXD_TRY(check_single(s, field));
    if (natural != WIRE_LENGTH && !packed) {
        if (repeated)
            ONNXD_TRY(charge(s, scalar_bytes(field->type)));
        return skip_scalar(s, wire);
    }
    size_t length = 0;
    ONNXD_TRY(read_length(s, &length));
    if (packed)
        return scan_packed(s, field, length);
    if (field->type != PROTOBUF_C_TYPE_MESSAGE)
        return scan_bytes(s, field, length);
    ONNXD_TRY(count_message(s, field->descriptor));
    return push(s, field->descriptor, s->at + length);
}

/* protobuf-c keeps a copy of every field that it does not know. */
static onnxd_status *scan_unknown(scanner *s, wire_type wire)
{
    size_t length = 10;
    if (wire == WIRE_LENGTH) {
        ONNXD_TRY(read_length(s, &length));
        s->at += length;
    } else {
        ONNXD_TRY(skip_scalar(s, wire));
    }
    return charge(s, length + ALLOCATION_OVERHEAD + sizeof(ProtobufCMessageUnknownField));
}

static onnxd_status *scan_field(scanner *s)
{
    uint64_t tag;
    s->field_start = s->at;
    if (!read_varint(s->data, &s->at, top(s)->end, 5, &tag) || tag > UINT32_MAX)
        return malformed(s, "truncated or overlong field tag");
    wire_type wire = (wire_type)(tag & 7);
    unsigned number = (unsigned)(tag >> 3);
    if (number == 0)
        return malformed(s, "field number 0");
    if (wire == WIRE_GROUP_START || wire == WIRE_GROUP_END || wire > WIRE_FIXED32)
        return malformed(s, "groups and reserved wire types are not allowed");
    if (++top(s)->members > SCANNED_ON_STACK)
        s->member_bytes += SCANNED_MEMBER_BYTES;
    const ProtobufCFieldDescriptor *field =
        protobuf_c_message_descriptor_get_field(top(s)->message, number);
    return field != NULL ? scan_known(s, field, wire) : scan_unknown(s, wire);
}

const ProtobufCMessageDescriptor *onnxd_prescan_message(onnxd_prescan_root root)
{
    static const ProtobufCMessageDescriptor *const messages[] = {
        [ONNXD_PRESCAN_MODEL] = &onnx__model_proto__descriptor,
        [ONNXD_PRESCAN_TENSOR] = &onnx__tensor_proto__descriptor,
        [ONNXD_PRESCAN_SEQUENCE] = &onnx__sequence_proto__descriptor,
        [ONNXD_PRESCAN_OPTIONAL] = &onnx__optional_proto__descriptor,
        [ONNXD_PRESCAN_MAP] = &onnx__map_proto__descriptor,
    };
    return messages[root];
}

onnxd_status *onnxd_prescan(const void *data, size_t size, onnxd_prescan_root root,
                            const onnxd_load_limits *limits, onnxd_prescan_result *out_result)
{
    scanner s = {.data = data, .size = size, .limits = limits};
    s.max_depth =
        limits->max_depth < ONNXD_PRESCAN_MAX_DEPTH ? limits->max_depth : ONNXD_PRESCAN_MAX_DEPTH;
    /* Raw bytes count once only, which is known at the end; until then this is the upper bound. */
    s.budget_bytes = BASE_BUDGET_BYTES + (uint64_t)BUDGET_FACTOR * size;
    if (size > INT32_MAX)
        return onnxd_error(ONNXD_INVALID_ARGUMENT,
                           "the file has %zu bytes, protobuf allows at most %d", size, INT32_MAX);
    ONNXD_TRY(push(&s, onnxd_prescan_message(root), size));
    while (s.depth > 0) {
        if (s.at == top(&s)->end)
            pop(&s);
        else
            ONNXD_TRY(scan_field(&s));
    }
    s.budget_bytes = BASE_BUDGET_BYTES + (uint64_t)BUDGET_FACTOR * (size - s.raw_bytes) +
                     s.raw_bytes + ALLOCATION_OVERHEAD * (uint64_t)s.initializers;
    if (s.heap_bytes > s.budget_bytes)
        return onnxd_error(ONNXD_INVALID_ARGUMENT,
                           "the file of %zu bytes would unpack to %" PRIu64
                           " bytes, at most %" PRIu64 " are allowed",
                           size, s.heap_bytes, s.budget_bytes);
    out_result->raw_bytes = s.raw_bytes;
    out_result->heap_bytes = s.heap_bytes;
    out_result->heap_budget_bytes = s.budget_bytes;
    return NULL;
}
