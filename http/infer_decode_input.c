#include "http/infer_decode_input.h"

#include <inttypes.h>
#include <string.h>

#include "base/number.h"
#include "http/infer_parameters.h"
#include "http/tensor_binary.h"
#include "http/tensor_element.h"

enum { KEY_NAME = 1, KEY_SHAPE = 2, KEY_DATATYPE = 4, KEY_PARAMETERS = 8, KEY_DATA = 16 };
#define KEYS_BEFORE_DATA (KEY_NAME | KEY_SHAPE | KEY_DATATYPE)

typedef struct input_fields {
    unsigned seen; /* keys */
    onnxd_http_span name, datatype;
    onnxd_shape shape;
    onnxd_http_parameters parameters;
    bool is_filled; /* the data went to its place already */
    /* data that came before what is needed to place it */
    onnxd_json_reader data_reader;
    onnxd_json_token data_token;
} input_fields;

static onnxd_status *expected(const char *what, const char *kind, const onnxd_json_token *token)
{
    return onnxd_error(ONNXD_INVALID_ARGUMENT, "%s of an input must be %s, at byte %zu", what, kind,
                       token->offset);
}

/* -- members ----------------------------------------------------------------------------------- */

static onnxd_status *read_text(onnxd_http_decoder *decoder, const char *what,
                               onnxd_http_span *out_text)
{
    onnxd_json_token token;
    ONNXD_TRY(onnxd_json_next(&decoder->reader, &token));
    if (token.kind != ONNXD_JSON_STRING)
        return expected(what, "a string", &token);
    return onnxd_http_token_text(&token, decoder->input->arena, out_text);
}

static onnxd_status *read_shape(onnxd_http_decoder *decoder, onnxd_shape *out_shape)
{
    onnxd_json_token token;
    uint32_t max_rank = decoder->input->options->max_tensor_rank;
    onnxd_shape shape = {.rank = 0};
    if (max_rank > ONNXD_MAX_RANK)
        max_rank = ONNXD_MAX_RANK;
    ONNXD_TRY(onnxd_json_next(&decoder->reader, &token));
    if (token.kind != ONNXD_JSON_ARRAY_BEGIN)
        return expected("\"shape\"", "an array of non-negative integers", &token);
    for (;;) {
        int64_t dim;
        ONNXD_TRY(onnxd_json_next(&decoder->reader, &token));
        if (token.kind == ONNXD_JSON_ARRAY_END)
            break;
        if (token.kind != ONNXD_JSON_NUMBER || !onnxd_parse_i64(token.text, token.length, &dim) ||
            dim < 0)
            return expected("\"shape\"", "an array of non-negative integers", &token);
        if ((uint32_t)shape.rank >= max_rank)
            return onnxd_error(ONNXD_INVALID_ARGUMENT,
                               "\"shape\" of an input has more than %u dimensions, at byte %zu",
                               (unsigned)max_rank, token.offset);
        shape.dims[shape.rank++] = dim;
    }
    *out_shape = shape;
    return NULL;
}

/* -- placing ----------------------------------------------------------------------------------- */

static onnxd_status *check_dtype(const onnxd_model *model, const onnxd_model_port *port,
                                 onnxd_http_span datatype)
{
    const char *wanted = onnxd_dtype_protocol_name(port->type.dtype);
    if (wanted == NULL)
        return onnxd_error(ONNXD_UNIMPLEMENTED,
                           "input '%s' of model '%s' has type %s, which the protocol cannot carry",
                           port->name, onnxd_model_name(model), onnxd_dtype_name(port->type.dtype));
    if (onnxd_dtype_from_protocol_name(datatype.data, datatype.size) == port->type.dtype)
        return NULL;
    return onnxd_error(ONNXD_INVALID_ARGUMENT,
                       "inference input '%s' data-type is '%.*s', but model '%s' expects '%s'",
                       port->name, ONNXD_HTTP_NAME_ARGS(datatype), onnxd_model_name(model), wanted);
}

/* Bytes of data there are for the input: what its claimed shape is held against before memory is
 * taken. */
typedef struct data_size {
    size_t bytes;
    bool is_binary;
} data_size;

static onnxd_status *check_size(const onnxd_model *model, const onnxd_model_port *port,
                                const onnxd_shape *shape, data_size size, size_t *out_count)
{
    size_t count, bytes = 0;
    onnxd_dtype dtype = port->type.dtype;
    if (!onnxd_shape_count(shape, &count) || !onnxd_dtype_bytes(dtype, count, &bytes))
        return onnxd_error(ONNXD_PAYLOAD_TOO_LARGE,
                           "the shape of input '%s' has more elements than can be counted",
                           port->name);
    *out_count = count;
    if (size.is_binary) {
        if (onnxd_http_binary_can_hold(dtype, count, size.bytes))
            return NULL;
        if (dtype == ONNXD_STRING)
            bytes = count <= SIZE_MAX / 4 ? count * 4 : SIZE_MAX; /* at least */
        return onnxd_error(ONNXD_INVALID_ARGUMENT,
                           "input byte size mismatch for input '%s' for model '%s'. Expected %zu, "
                           "got %zu",
                           port->name, onnxd_model_name(model), bytes, size.bytes);
    }
    if (!onnxd_http_json_can_hold(dtype, count, size.bytes))
        return onnxd_error(ONNXD_INVALID_ARGUMENT,
                           "the shape of input '%s' says %zu elements, more than its data can hold",
                           port->name, count);
    return NULL;
}

static onnxd_status *place(const onnxd_http_decoding *input, onnxd_http_span name,
                           onnxd_http_span datatype, const onnxd_shape *shape, data_size size,
                           onnxd_http_tensor_target *out)
{
    const onnxd_model *model = input->request->model;
    uint32_t index = onnxd_model_find_input(model, name.data, name.size);
    if (index == UINT32_MAX)
        return onnxd_error(ONNXD_INVALID_ARGUMENT,
                           "unexpected inference input '%.*s' for model '%s'",
                           ONNXD_HTTP_NAME_ARGS(name), onnxd_model_name(model));
    const onnxd_model_port *port = onnxd_model_input(model, index);
    ONNXD_TRY(check_dtype(model, port, datatype));
    size_t count, bytes;
    void *data;
    ONNXD_TRY(check_size(model, port, shape, size, &count));
    ONNXD_TRY(onnxd_request_add_input(input->request, index, shape, &data, &bytes));
    *out = (onnxd_http_tensor_target){
        .name = {port->name, strlen(port->name)},
        .dtype = port->type.dtype,
        .shape = *shape,
        .count = count,
        .data = data,
        .max_string_bytes = input->options->max_string_bytes,
    };
    return NULL;
}

static onnxd_status *fill_from_json(onnxd_http_decoder *decoder, const input_fields *fields,
                                    onnxd_json_reader *reader, const onnxd_json_token *first)
{
    onnxd_http_tensor_target target;
    data_size size = {.bytes = reader->length - first->offset};
    ONNXD_TRY(place(decoder->input, fields->name, fields->datatype, &fields->shape, size, &target));
    return onnxd_http_tensor_from_json(reader, first, &target);
}

static onnxd_status *fill_from_binary(onnxd_http_decoder *decoder, const input_fields *fields)
{
    onnxd_http_tensor_target target;
    uint64_t size = fields->parameters.binary_size;
    const onnxd_model *model = decoder->input->request->model;
    if (size > decoder->blobs.size)
        return onnxd_error(ONNXD_INVALID_ARGUMENT,
                           "unexpected size for input '%.*s', expecting %" PRIu64
                           " bytes for model '%s', but %zu are left in the body",
                           ONNXD_HTTP_NAME_ARGS(fields->name), size, onnxd_model_name(model),
                           decoder->blobs.size);
    onnxd_http_span blob = {decoder->blobs.data, (size_t)size};
    data_size claimed = {.bytes = blob.size, .is_binary = true};
    ONNXD_TRY(
        place(decoder->input, fields->name, fields->datatype, &fields->shape, claimed, &target));
    decoder->blobs.data += blob.size;
    decoder->blobs.size -= blob.size;
    return onnxd_http_tensor_from_binary(&target, blob);
}

/* -- an input ---------------------------------------------------------------------------------- */

static onnxd_status *read_name(onnxd_http_decoder *decoder, input_fields *fields)
{
    return read_text(decoder, "\"name\"", &fields->name);
}

static onnxd_status *read_datatype(onnxd_http_decoder *decoder, input_fields *fields)
{
    return read_text(decoder, "\"datatype\"", &fields->datatype);
}

static onnxd_status *read_shape_member(onnxd_http_decoder *decoder, input_fields *fields)
{
    return read_shape(decoder, &fields->shape);
}

static onnxd_status *read_input_parameters(onnxd_http_decoder *decoder, input_fields *fields)
{
    return onnxd_http_read_parameters(&decoder->reader, decoder->input->options,
                                      decoder->input->arena, ONNXD_HTTP_INPUT_PARAMETERS,
                                      &fields->parameters);
}

/* Straight to its place when that is known, which is how clients write it; otherwise read over, and
 * read again from a copy of the reader once the rest is known. */
static onnxd_status *read_data(onnxd_http_decoder *decoder, input_fields *fields)
{
    onnxd_json_token token;
    ONNXD_TRY(onnxd_json_next(&decoder->reader, &token));
    if ((fields->seen & KEYS_BEFORE_DATA) == KEYS_BEFORE_DATA &&
        !fields->parameters.has_binary_size) {
        fields->is_filled = true;
        return fill_from_json(decoder, fields, &decoder->reader, &token);
    }
    fields->data_reader = decoder->reader;
    fields->data_token = token;
    return onnxd_json_skip(&decoder->reader, &token);
}

static const struct {
    const char *name;
    unsigned bit;
    onnxd_status *(*read)(onnxd_http_decoder *decoder, input_fields *fields);
} members[] = {
    {"name", KEY_NAME, read_name},
    {"shape", KEY_SHAPE, read_shape_member},
    {"datatype", KEY_DATATYPE, read_datatype},
    {"parameters", KEY_PARAMETERS, read_input_parameters},
    {"data", KEY_DATA, read_data},
};

static onnxd_status *read_member(onnxd_http_decoder *decoder, const onnxd_json_token *key,
                                 input_fields *fields)
{
    for (size_t i = 0; i < ONNXD_COUNT(members); i++) {
        if (!onnxd_json_text_is(key, members[i].name))
            continue;
        if ((fields->seen & members[i].bit) != 0)
            return onnxd_error(ONNXD_INVALID_ARGUMENT,
                               "\"%s\" of an input is given twice, at byte %zu", members[i].name,
                               key->offset);
        ONNXD_TRY(members[i].read(decoder, fields));
        fields->seen |= members[i].bit;
        return NULL;
    }
    onnxd_json_token token;
    ONNXD_TRY(onnxd_json_next(&decoder->reader, &token));
    return onnxd_json_skip(&decoder->reader, &token);
}

static onnxd_status *check_members(const input_fields *fields)
{
    for (size_t i = 0; i < ONNXD_COUNT(members); i++) {
        if ((KEYS_BEFORE_DATA & members[i].bit) != 0 && (fields->seen & members[i].bit) == 0)
            return onnxd_error(ONNXD_INVALID_ARGUMENT, "input '%.*s' has no \"%s\"",
                               ONNXD_HTTP_NAME_ARGS(fields->name), members[i].name);
    }
    bool has_data = (fields->seen & KEY_DATA) != 0;
    if (has_data == fields->parameters.has_binary_size)
        return onnxd_error(ONNXD_INVALID_ARGUMENT,
                           has_data ? "input '%.*s' has both \"data\" and binary_data_size"
                                    : "input '%.*s' has neither \"data\" nor binary_data_size",
                           ONNXD_HTTP_NAME_ARGS(fields->name));
    return NULL;
}

onnxd_status *onnxd_http_decode_input(onnxd_http_decoder *decoder)
{
    input_fields fields = {.name = {"", 0}};
    onnxd_json_token token;
    for (;;) {
        ONNXD_TRY(onnxd_json_next(&decoder->reader, &token));
        if (token.kind == ONNXD_JSON_OBJECT_END)
            break;
        ONNXD_TRY(read_member(decoder, &token, &fields));
    }
    ONNXD_TRY(check_members(&fields));
    if (fields.is_filled)
        return NULL;
    if (fields.parameters.has_binary_size)
        return fill_from_binary(decoder, &fields);
    return fill_from_json(decoder, &fields, &fields.data_reader, &fields.data_token);
}

/* -- a body without JSON ----------------------------------------------------------------------- */

/* The shape that `bytes` bytes fill, when at most one dimension is open. */
static onnxd_status *derive_shape(const onnxd_model_port *port, size_t bytes, onnxd_shape *out)
{
    onnxd_shape shape = port->type.shape;
    size_t element_bytes = onnxd_dtype_size(port->type.dtype), known = 1;
    int32_t open = -1;
    bool is_known = shape.rank != ONNXD_RANK_UNKNOWN && element_bytes != 0;
    for (int32_t i = 0; is_known && i < shape.rank; i++) {
        if (onnxd_dim_is_static(shape.dims[i]))
            is_known = !__builtin_mul_overflow(known, (size_t)shape.dims[i], &known);
        else if (open >= 0)
            is_known = false;
        else
            open = i;
    }
    if (!is_known || (open >= 0 && known == 0))
        return onnxd_error(ONNXD_INVALID_ARGUMENT,
                           "the shape of input '%s' does not follow from the size of a body "
                           "without JSON",
                           port->name);
    size_t count = port->type.dtype == ONNXD_STRING ? 1 : bytes / element_bytes;
    if (open >= 0)
        shape.dims[open] = (int64_t)(count / known);
    *out = shape;
    return NULL;
}

onnxd_status *onnxd_http_decode_raw(const onnxd_http_decoding *decoding, onnxd_http_call *out_call)
{
    const onnxd_model *model = decoding->request->model;
    onnxd_http_span blob = {decoding->body, decoding->body_bytes};
    if (onnxd_model_input_count(model) != 1)
        return onnxd_error(ONNXD_INVALID_ARGUMENT,
                           "model '%s' has %u inputs; a body without JSON needs exactly one",
                           onnxd_model_name(model), onnxd_model_input_count(model));
    const onnxd_model_port *port = onnxd_model_input(model, 0);
    const char *datatype = onnxd_dtype_protocol_name(port->type.dtype);
    bool is_string = port->type.dtype == ONNXD_STRING;
    onnxd_shape shape;
    onnxd_http_tensor_target target;
    ONNXD_TRY(derive_shape(port, blob.size, &shape));
    /* The whole body is one string: its length is not in the body. */
    data_size size = {.bytes = is_string ? 4 : blob.size, .is_binary = true};
    ONNXD_TRY(place(decoding, (onnxd_http_span){port->name, strlen(port->name)},
                    (onnxd_http_span){datatype, datatype != NULL ? strlen(datatype) : 0}, &shape,
                    size, &target));
    if (!is_string) {
        ONNXD_TRY(onnxd_http_tensor_from_binary(&target, blob));
    } else {
        if (target.count != 1 || blob.size > target.max_string_bytes)
            return onnxd_error(ONNXD_INVALID_ARGUMENT,
                               "a body without JSON is one string of at most %llu bytes, but "
                               "input '%s' takes %zu strings",
                               (unsigned long long)target.max_string_bytes, port->name,
                               target.count);
        *(onnxd_string *)target.data = (onnxd_string){.data = blob.data, .size = blob.size};
    }
    out_call->output_count = onnxd_model_output_count(model);
    out_call->prefers_binary = true;
    for (uint32_t i = 0; i < out_call->output_count; i++)
        out_call->outputs[i] = (onnxd_http_output){.index = i, .is_binary = true};
    return onnxd_request_check(decoding->request);
}
