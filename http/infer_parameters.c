#include "http/infer_parameters.h"

#include <string.h>

#include "base/number.h"
#include "http/tensor_element.h"

typedef struct parameter {
    onnxd_http_span name;
    onnxd_json_token value;
} parameter;

onnxd_status *onnxd_http_token_text(const onnxd_json_token *token, onnxd_arena *arena,
                                    onnxd_http_span *out_text)
{
    if (!token->has_escapes) {
        *out_text = (onnxd_http_span){token->text, token->length};
        return NULL;
    }
    size_t length = onnxd_json_decoded_length(token);
    char *text = onnxd_arena_alloc(arena, length);
    if (text == NULL)
        return onnxd_error_out_of_memory("a name in the request", length, UINT64_MAX);
    onnxd_json_decode(token, text);
    *out_text = (onnxd_http_span){text, length};
    return NULL;
}

static bool is_named(const parameter *found, const char *name)
{
    return found->name.size == strlen(name) &&
           memcmp(found->name.data, name, found->name.size) == 0;
}

static bool has_prefix(const parameter *found, const char *prefix)
{
    return found->name.size >= strlen(prefix) &&
           memcmp(found->name.data, prefix, strlen(prefix)) == 0;
}

static onnxd_status *bad_value(const parameter *found, const char *expects)
{
    return onnxd_error(ONNXD_INVALID_ARGUMENT, "parameter '%.*s' must be %s, at byte %zu",
                       ONNXD_HTTP_NAME_ARGS(found->name), expects, found->value.offset);
}

static onnxd_status *take_unsigned(const parameter *found, uint64_t *out)
{
    if (found->value.kind != ONNXD_JSON_NUMBER ||
        !onnxd_parse_u64(found->value.text, found->value.length, out))
        return bad_value(found, "a non-negative integer");
    return NULL;
}

static onnxd_status *take_bool(const parameter *found, bool *out)
{
    if (found->value.kind != ONNXD_JSON_TRUE && found->value.kind != ONNXD_JSON_FALSE)
        return bad_value(found, "true or false");
    *out = found->value.kind == ONNXD_JSON_TRUE;
    return NULL;
}

static onnxd_status *take_request_parameter(const parameter *found, onnxd_http_parameters *out)
{
    if (is_named(found, "binary_data_output")) {
        out->has_binary = true;
        return take_bool(found, &out->is_binary);
    }
    if (is_named(found, "timeout"))
        return take_unsigned(found, &out->timeout_us);
    if (is_named(found, "priority"))
        return take_unsigned(found, &out->priority);
    if (is_named(found, "headers") || has_prefix(found, "triton_"))
        return onnxd_error(ONNXD_INVALID_ARGUMENT, "parameter '%.*s' is reserved",
                           ONNXD_HTTP_NAME_ARGS(found->name));
    return NULL;
}

static onnxd_status *take_input_parameter(const parameter *found, onnxd_http_parameters *out)
{
    if (!is_named(found, "binary_data_size"))
        return NULL;
    out->has_binary_size = true;
    return take_unsigned(found, &out->binary_size);
}

static onnxd_status *take_output_parameter(const parameter *found, onnxd_http_parameters *out)
{
    if (is_named(found, "classification"))
        return onnxd_error(ONNXD_UNIMPLEMENTED, "the classification extension is not supported");
    if (!is_named(found, "binary_data"))
        return NULL;
    out->has_binary = true;
    return take_bool(found, &out->is_binary);
}

static onnxd_status *take_parameter(const parameter *found, onnxd_http_parameter_scope scope,
                                    onnxd_http_parameters *out)
{
    if (scope == ONNXD_HTTP_REQUEST_PARAMETERS)
        return take_request_parameter(found, out);
    if (has_prefix(found, "shared_memory_"))
        return onnxd_error(ONNXD_UNIMPLEMENTED, "shared memory is not supported");
    return scope == ONNXD_HTTP_INPUT_PARAMETERS ? take_input_parameter(found, out)
                                                : take_output_parameter(found, out);
}

static onnxd_status *check_unique(const onnxd_http_span *names, size_t count,
                                  const parameter *found)
{
    for (size_t i = 0; i < count; i++) {
        if (names[i].size == found->name.size &&
            memcmp(names[i].data, found->name.data, found->name.size) == 0)
            return onnxd_error(ONNXD_INVALID_ARGUMENT, "parameter '%.*s' is given twice",
                               ONNXD_HTTP_NAME_ARGS(found->name));
    }
    return NULL;
}

onnxd_status *onnxd_http_read_parameters(onnxd_json_reader *reader,
                                         const onnxd_http_options *options, onnxd_arena *arena,
                                         onnxd_http_parameter_scope scope,
                                         onnxd_http_parameters *out)
{
    onnxd_json_token token;
    ONNXD_TRY(onnxd_json_next(reader, &token));
    if (token.kind != ONNXD_JSON_OBJECT_BEGIN)
        return onnxd_error(ONNXD_INVALID_ARGUMENT, "\"parameters\" must be an object, at byte %zu",
                           token.offset);
    onnxd_http_span *names = onnxd_arena_alloc_zero(arena, options->max_parameters, sizeof(*names));
    if (names == NULL)
        return onnxd_error_out_of_memory("parameters", options->max_parameters, UINT64_MAX);
    for (size_t count = 0;; count++) {
        parameter found;
        ONNXD_TRY(onnxd_json_next(reader, &token));
        if (token.kind == ONNXD_JSON_OBJECT_END)
            return NULL;
        if (count >= options->max_parameters)
            return onnxd_error(ONNXD_INVALID_ARGUMENT,
                               "\"parameters\" has more than %u members, at byte %zu",
                               (unsigned)options->max_parameters, token.offset);
        ONNXD_TRY(onnxd_http_token_text(&token, arena, &found.name));
        ONNXD_TRY(check_unique(names, count, &found));
        names[count] = found.name;
        ONNXD_TRY(onnxd_json_next(reader, &found.value));
        if (found.value.kind != ONNXD_JSON_STRING && found.value.kind != ONNXD_JSON_NUMBER &&
            found.value.kind != ONNXD_JSON_TRUE && found.value.kind != ONNXD_JSON_FALSE)
            return bad_value(&found, "a string, a number, true or false");
        ONNXD_TRY(take_parameter(&found, scope, out));
    }
}
