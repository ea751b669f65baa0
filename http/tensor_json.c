#include "http/tensor_json.h"

#include <math.h>
#include <string.h>

#include "base/number.h"
#include "base/utf8.h"
#include "http/tensor_element.h"

#define ELEMENTS_PER_RESERVE 256
/* No single append to a JSON response is longer: one that fails with more room failed for memory.
 */
#define LONGEST_APPEND_BYTES 2048

typedef struct json_row {
    onnxd_dtype dtype;
    const char *expects; /* for messages */
    bool (*read)(const onnxd_json_token *token, const onnxd_http_integer_range *range, void *out);
    size_t (*write)(char *buffer, const void *element);
    onnxd_http_integer_range range; /* integers only */
} json_row;

/* -- reading one element ----------------------------------------------------------------------- */

static bool read_bool(const onnxd_json_token *token, const onnxd_http_integer_range *range,
                      void *out)
{
    (void)range;
    if (token->kind != ONNXD_JSON_TRUE && token->kind != ONNXD_JSON_FALSE)
        return false;
    *(uint8_t *)out = token->kind == ONNXD_JSON_TRUE;
    return true;
}

static bool read_signed(const onnxd_json_token *token, const onnxd_http_integer_range *range,
                        void *out)
{
    int64_t value;
    if (token->kind != ONNXD_JSON_NUMBER || !onnxd_parse_i64(token->text, token->length, &value) ||
        value < range->min || (value > 0 && (uint64_t)value > range->max))
        return false;
    onnxd_http_store_bits(out, range->bytes, (uint64_t)value);
    return true;
}

static bool read_unsigned(const onnxd_json_token *token, const onnxd_http_integer_range *range,
                          void *out)
{
    uint64_t value;
    if (token->kind != ONNXD_JSON_NUMBER || !onnxd_parse_u64(token->text, token->length, &value) ||
        value > range->max)
        return false;
    onnxd_http_store_bits(out, range->bytes, value);
    return true;
}

static bool read_f32(const onnxd_json_token *token, const onnxd_http_integer_range *range,
                     void *out)
{
    (void)range;
    return token->kind == ONNXD_JSON_NUMBER && onnxd_parse_f32(token->text, token->length, out);
}

static bool read_f64(const onnxd_json_token *token, const onnxd_http_integer_range *range,
                     void *out)
{
    (void)range;
    return token->kind == ONNXD_JSON_NUMBER && onnxd_parse_f64(token->text, token->length, out);
}

static bool read_f16(const onnxd_json_token *token, const onnxd_http_integer_range *range,
                     void *out)
{
    (void)range;
    double value;
    if (token->kind != ONNXD_JSON_NUMBER || !onnxd_parse_f64(token->text, token->length, &value))
        return false;
    uint16_t bits = onnxd_double_to_float16(value);
    if (isfinite(value) && !isfinite(onnxd_float16_to_float(bits)))
        return false;
    *(uint16_t *)out = bits;
    return true;
}

static bool read_bf16(const onnxd_json_token *token, const onnxd_http_integer_range *range,
                      void *out)
{
    (void)range;
    double value;
    if (token->kind != ONNXD_JSON_NUMBER || !onnxd_parse_f64(token->text, token->length, &value))
        return false;
    uint16_t bits = onnxd_float_to_bfloat16(onnxd_http_round_to_odd(value));
    if (isfinite(value) && !isfinite(onnxd_bfloat16_to_float(bits)))
        return false;
    *(uint16_t *)out = bits;
    return true;
}

/* -- writing one element ----------------------------------------------------------------------- */

static size_t write_bool(char *buffer, const void *element)
{
    bool is_set = *(const uint8_t *)element != 0;
    memcpy(buffer, is_set ? "true" : "false", 5);
    return is_set ? 4 : 5;
}

static size_t write_f32(char *buffer, const void *element)
{
    return onnxd_format_f32(buffer, *(const float *)element);
}

static size_t write_f64(char *buffer, const void *element)
{
    return onnxd_format_f64(buffer, *(const double *)element);
}

static size_t write_f16(char *buffer, const void *element)
{
    return onnxd_format_f32(buffer, onnxd_float16_to_float(*(const uint16_t *)element));
}

static size_t write_bf16(char *buffer, const void *element)
{
    return onnxd_format_f32(buffer, onnxd_bfloat16_to_float(*(const uint16_t *)element));
}

#define INTEGER_WRITER(name, type, format)                                                         \
    static size_t name(char *buffer, const void *element)                                          \
    {                                                                                              \
        return format(buffer, *(const type *)element);                                             \
    }
INTEGER_WRITER(write_i8, int8_t, onnxd_format_i64)
INTEGER_WRITER(write_i16, int16_t, onnxd_format_i64)
INTEGER_WRITER(write_i32, int32_t, onnxd_format_i64)
INTEGER_WRITER(write_i64, int64_t, onnxd_format_i64)
INTEGER_WRITER(write_u8, uint8_t, onnxd_format_u64)
INTEGER_WRITER(write_u16, uint16_t, onnxd_format_u64)
INTEGER_WRITER(write_u32, uint32_t, onnxd_format_u64)
INTEGER_WRITER(write_u64, uint64_t, onnxd_format_u64)

static const json_row rows[] = {
    {ONNXD_BOOL, "true or false", read_bool, write_bool, {0}},
    {ONNXD_INT8, "an integer from -128 to 127", read_signed, write_i8, {INT8_MIN, INT8_MAX, 1}},
    {ONNXD_INT16,
     "an integer from -32768 to 32767",
     read_signed,
     write_i16,
     {INT16_MIN, INT16_MAX, 2}},
    {ONNXD_INT32,
     "an integer from -2147483648 to 2147483647",
     read_signed,
     write_i32,
     {INT32_MIN, INT32_MAX, 4}},
    {ONNXD_INT64,
     "an integer from -9223372036854775808 to 9223372036854775807",
     read_signed,
     write_i64,
     {INT64_MIN, INT64_MAX, 8}},
    {ONNXD_UINT8, "an integer from 0 to 255", read_unsigned, write_u8, {0, UINT8_MAX, 1}},
    {ONNXD_UINT16, "an integer from 0 to 65535", read_unsigned, write_u16, {0, UINT16_MAX, 2}},
    {ONNXD_UINT32, "an integer from 0 to 4294967295", read_unsigned, write_u32, {0, UINT32_MAX, 4}},
    {ONNXD_UINT64,
     "an integer from 0 to 18446744073709551615",
     read_unsigned,
     write_u64,
     {0, UINT64_MAX, 8}},
    {ONNXD_FLOAT, "a number that FP32 can hold", read_f32, write_f32, {0}},
    {ONNXD_DOUBLE, "a number that FP64 can hold", read_f64, write_f64, {0}},
    {ONNXD_FLOAT16, "a number that FP16 can hold", read_f16, write_f16, {0}},
    {ONNXD_BFLOAT16, "a number that BF16 can hold", read_bf16, write_bf16, {0}},
};

static const json_row *row_of(onnxd_dtype dtype)
{
    for (size_t i = 0; i < ONNXD_COUNT(rows); i++) {
        if (rows[i].dtype == dtype)
            return &rows[i];
    }
    return NULL;
}

/* -- a whole tensor from text ------------------------------------------------------------------ */

bool onnxd_http_json_can_hold(onnxd_dtype dtype, size_t count, size_t bytes)
{
    /* A character and a comma for each but the last; strings have two quotes. */
    size_t each = dtype == ONNXD_STRING ? 3 : 2;
    return count <= bytes / each + 1;
}

typedef struct reading {
    const onnxd_http_tensor_target *target;
    const json_row *row; /* NULL: strings */
    size_t element_bytes;
    size_t done;
} reading;

static onnxd_status *bad_element(const reading *state, const onnxd_json_token *token,
                                 const char *expects)
{
    return onnxd_error(ONNXD_INVALID_ARGUMENT, "element %zu of input '%.*s' is not %s, at byte %zu",
                       state->done, ONNXD_HTTP_NAME_ARGS(state->target->name), expects,
                       token->offset);
}

static onnxd_status *wrong_count(const reading *state)
{
    return onnxd_error(ONNXD_INVALID_ARGUMENT,
                       "data of input '%.*s' does not have the %zu elements that its shape says",
                       ONNXD_HTTP_NAME_ARGS(state->target->name), state->target->count);
}

static onnxd_status *read_string(reading *state, const onnxd_json_token *token)
{
    if (token->kind != ONNXD_JSON_STRING)
        return bad_element(state, token, "a string");
    size_t length = onnxd_json_decoded_length(token);
    if (length > state->target->max_string_bytes)
        return onnxd_error(ONNXD_PAYLOAD_TOO_LARGE,
                           "element %zu of input '%.*s' has %zu bytes; at most %llu are allowed",
                           state->done, ONNXD_HTTP_NAME_ARGS(state->target->name), length,
                           (unsigned long long)state->target->max_string_bytes);
    char *text = (char *)token->text; /* writable: see the header */
    if (token->has_escapes)
        onnxd_json_decode(token, text);
    onnxd_string *element = (onnxd_string *)state->target->data + state->done;
    *element = (onnxd_string){.data = text, .size = length};
    return NULL;
}

static onnxd_status *read_element(reading *state, const onnxd_json_token *token)
{
    if (state->done >= state->target->count)
        return wrong_count(state);
    if (state->row == NULL) {
        ONNXD_TRY(read_string(state, token));
    } else {
        char *out = (char *)state->target->data + state->done * state->element_bytes;
        if (!state->row->read(token, &state->row->range, out))
            return bad_element(state, token, state->row->expects);
    }
    state->done++;
    return NULL;
}

/* Behind the '[' of a flat array. */
static onnxd_status *read_flat(reading *state, onnxd_json_reader *reader, onnxd_json_token token)
{
    while (token.kind != ONNXD_JSON_ARRAY_END) {
        ONNXD_TRY(read_element(state, &token));
        ONNXD_TRY(onnxd_json_next(reader, &token));
    }
    return state->done == state->target->count ? NULL : wrong_count(state);
}

static onnxd_status *wrong_nesting(const reading *state, const onnxd_json_token *token)
{
    return onnxd_error(ONNXD_INVALID_ARGUMENT,
                       "nested data of input '%.*s' does not match its shape, at byte %zu",
                       ONNXD_HTTP_NAME_ARGS(state->target->name), token->offset);
}

/* Behind the first '[', at the second: every level must have its dimension's extent. */
static onnxd_status *read_nested(reading *state, onnxd_json_reader *reader, onnxd_json_token token)
{
    const onnxd_shape *shape = &state->target->shape;
    int64_t counts[ONNXD_MAX_RANK] = {0}; /* entries seen at each open level */
    int32_t depth = 1;
    while (depth > 0) {
        if (token.kind == ONNXD_JSON_ARRAY_END) {
            if (counts[depth - 1] != shape->dims[depth - 1])
                return wrong_nesting(state, &token);
            depth--;
        } else {
            if (counts[depth - 1] >= shape->dims[depth - 1])
                return wrong_nesting(state, &token);
            counts[depth - 1]++;
            bool opens = token.kind == ONNXD_JSON_ARRAY_BEGIN;
            if (opens != (depth < shape->rank))
                return wrong_nesting(state, &token);
            if (opens)
                counts[depth++] = 0;
            else
                ONNXD_TRY(read_element(state, &token));
        }
        if (depth > 0)
            ONNXD_TRY(onnxd_json_next(reader, &token));
    }
    return state->done == state->target->count ? NULL : wrong_count(state);
}

onnxd_status *onnxd_http_tensor_from_json(onnxd_json_reader *reader, const onnxd_json_token *first,
                                          const onnxd_http_tensor_target *target)
{
    reading state = {.target = target,
                     .row = row_of(target->dtype),
                     .element_bytes = onnxd_dtype_size(target->dtype)};
    if (state.row == NULL && target->dtype != ONNXD_STRING)
        return onnxd_error(ONNXD_UNIMPLEMENTED, "input '%.*s' has a type that JSON cannot carry",
                           ONNXD_HTTP_NAME_ARGS(target->name));
    if (first->kind != ONNXD_JSON_ARRAY_BEGIN) {
        if (target->shape.rank != 0) /* a scalar may stand without brackets */
            return onnxd_error(ONNXD_INVALID_ARGUMENT,
                               "data of input '%.*s' is not an array, at byte %zu",
                               ONNXD_HTTP_NAME_ARGS(target->name), first->offset);
        return read_element(&state, first);
    }
    onnxd_json_token token;
    ONNXD_TRY(onnxd_json_next(reader, &token));
    if (token.kind == ONNXD_JSON_ARRAY_BEGIN && target->shape.rank > 0)
        return read_nested(&state, reader, token);
    return read_flat(&state, reader, token);
}

/* -- a whole tensor to text -------------------------------------------------------------------- */

onnxd_status *onnxd_http_json_check(const onnxd_strbuf *out)
{
    if (!out->failed)
        return NULL;
    if (out->max_bytes - out->length < LONGEST_APPEND_BYTES)
        return onnxd_error(ONNXD_PAYLOAD_TOO_LARGE,
                           "the JSON response would be larger than %zu bytes; ask for binary "
                           "outputs",
                           out->max_bytes);
    return onnxd_error_out_of_memory("the JSON response", out->length, UINT64_MAX);
}

static onnxd_status *write_strings(const onnxd_tensor_view *view, const char *name, size_t count,
                                   onnxd_strbuf *out)
{
    const onnxd_string *elements = onnxd_tensor_view_data(view);
    for (size_t i = 0; i < count; i++) {
        if (!onnxd_utf8_is_valid(elements[i].data, elements[i].size))
            return onnxd_error(ONNXD_INVALID_ARGUMENT,
                               "element %zu of output '%s' is not UTF-8; ask for it with "
                               "binary_data",
                               i, name);
        if (i > 0)
            onnxd_strbuf_append(out, ",", 1);
        onnxd_strbuf_json_string(out, elements[i].data, elements[i].size);
        ONNXD_TRY(onnxd_http_json_check(out));
    }
    return NULL;
}

/* Elements with commas between them; returns the length. */
static size_t format_numbers(char *text, const json_row *row, const char *element,
                             size_t element_bytes, size_t count)
{
    size_t length = 0;
    for (size_t i = 0; i < count; i++, element += element_bytes) {
        if (i > 0)
            text[length++] = ',';
        length += row->write(text + length, element);
    }
    return length;
}

/* Straight into the buffer while the longest text fits; near the limit one by one, so that only
 * what is really too long is refused. */
static onnxd_status *write_numbers(const onnxd_tensor_view *view, const json_row *row, size_t count,
                                   onnxd_strbuf *out)
{
    const char *element = onnxd_tensor_view_data(view);
    size_t element_bytes = onnxd_dtype_size(view->dtype);
    for (size_t done = 0; done < count;) {
        size_t batch = count - done < ELEMENTS_PER_RESERVE ? count - done : ELEMENTS_PER_RESERVE;
        size_t longest = batch * (ONNXD_NUMBER_TEXT + 1);
        char single[ONNXD_NUMBER_TEXT + 1];
        if (done > 0)
            onnxd_strbuf_append(out, ",", 1);
        if (longest <= out->max_bytes - out->length) {
            char *text = onnxd_strbuf_reserve(out, longest);
            if (text != NULL)
                onnxd_strbuf_commit(out, format_numbers(text, row, element, element_bytes, batch));
        } else {
            batch = 1;
            onnxd_strbuf_append(out, single, row->write(single, element));
        }
        ONNXD_TRY(onnxd_http_json_check(out));
        done += batch;
        element += batch * element_bytes;
    }
    return NULL;
}

onnxd_status *onnxd_http_tensor_to_json(const onnxd_tensor_view *view, const char *name,
                                        onnxd_strbuf *out)
{
    const json_row *row = row_of(view->dtype);
    if (row == NULL && view->dtype != ONNXD_STRING)
        return onnxd_error(ONNXD_UNIMPLEMENTED, "output '%s' has type %s, which JSON cannot carry",
                           name, onnxd_dtype_name(view->dtype));
    size_t count = onnxd_tensor_view_count(view);
    onnxd_strbuf_puts(out, "[");
    if (row == NULL)
        ONNXD_TRY(write_strings(view, name, count, out));
    else
        ONNXD_TRY(write_numbers(view, row, count, out));
    onnxd_strbuf_puts(out, "]");
    return onnxd_http_json_check(out);
}
