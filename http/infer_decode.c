/* The JSON of an inference request, read once from front to back, tensors straight to their place.
 */
#include <string.h>

#include "base/number.h"
#include "http/infer_codec.h"
#include "http/infer_decode_input.h"
#include "http/infer_parameters.h"
#include "http/tensor_element.h"

enum { KEY_ID = 1, KEY_PARAMETERS = 2, KEY_INPUTS = 4, KEY_OUTPUTS = 8 };

static onnxd_status *expected(const char *what, const char *kind, const onnxd_json_token *token)
{
    return onnxd_error(ONNXD_INVALID_ARGUMENT, "%s must be %s, at byte %zu", what, kind,
                       token->offset);
}

static onnxd_status *read_id(onnxd_http_decoder *decoder)
{
    onnxd_json_token token;
    ONNXD_TRY(onnxd_json_next(&decoder->reader, &token));
    if (token.kind != ONNXD_JSON_STRING)
        return expected("\"id\"", "a string", &token);
    onnxd_http_span id;
    if (onnxd_json_decoded_length(&token) > decoder->input->options->max_id_bytes)
        return onnxd_error(ONNXD_INVALID_ARGUMENT, "\"id\" has %zu bytes; at most %u are allowed",
                           onnxd_json_decoded_length(&token),
                           (unsigned)decoder->input->options->max_id_bytes);
    ONNXD_TRY(onnxd_http_token_text(&token, decoder->input->arena, &id));
    decoder->call->id = id.data;
    decoder->call->id_bytes = id.size;
    return NULL;
}

static onnxd_status *read_request_parameters(onnxd_http_decoder *decoder)
{
    onnxd_http_parameters found = {0};
    ONNXD_TRY(onnxd_http_read_parameters(&decoder->reader, decoder->input->options,
                                         decoder->input->arena, ONNXD_HTTP_REQUEST_PARAMETERS,
                                         &found));
    decoder->call->timeout_us = found.timeout_us;
    decoder->call->prefers_binary = found.is_binary;
    return NULL;
}

static onnxd_status *read_inputs(onnxd_http_decoder *decoder)
{
    onnxd_json_token token;
    ONNXD_TRY(onnxd_json_next(&decoder->reader, &token));
    if (token.kind != ONNXD_JSON_ARRAY_BEGIN)
        return expected("\"inputs\"", "an array", &token);
    for (;;) {
        ONNXD_TRY(onnxd_json_next(&decoder->reader, &token));
        if (token.kind == ONNXD_JSON_ARRAY_END)
            return NULL;
        if (token.kind != ONNXD_JSON_OBJECT_BEGIN)
            return expected("an element of \"inputs\"", "an object", &token);
        ONNXD_TRY(onnxd_http_decode_input(decoder));
    }
}

/* -- outputs ----------------------------------------------------------------------------------- */

typedef struct output_fields {
    onnxd_http_span name;
    bool has_name, has_parameters;
    onnxd_http_parameters parameters;
} output_fields;

static onnxd_status *read_output_member(onnxd_http_decoder *decoder, const onnxd_json_token *key,
                                        output_fields *fields)
{
    onnxd_json_reader *reader = &decoder->reader;
    onnxd_json_token token;
    if (onnxd_json_text_is(key, "name")) {
        ONNXD_TRY(onnxd_json_next(reader, &token));
        if (fields->has_name || token.kind != ONNXD_JSON_STRING)
            return expected("\"name\" of an output", "one string", &token);
        fields->has_name = true;
        return onnxd_http_token_text(&token, decoder->input->arena, &fields->name);
    }
    if (onnxd_json_text_is(key, "parameters")) {
        if (fields->has_parameters)
            return expected("\"parameters\" of an output", "given once", key);
        fields->has_parameters = true;
        return onnxd_http_read_parameters(reader, decoder->input->options, decoder->input->arena,
                                          ONNXD_HTTP_OUTPUT_PARAMETERS, &fields->parameters);
    }
    ONNXD_TRY(onnxd_json_next(reader, &token));
    return onnxd_json_skip(reader, &token);
}

static onnxd_status *add_output(onnxd_http_decoder *decoder, const output_fields *fields)
{
    const onnxd_model *model = decoder->input->request->model;
    onnxd_http_call *call = decoder->call;
    uint32_t index = onnxd_model_find_output(model, fields->name.data, fields->name.size);
    if (index == UINT32_MAX)
        return onnxd_error(ONNXD_INVALID_ARGUMENT,
                           "unexpected inference output '%.*s' for model '%s'",
                           ONNXD_HTTP_NAME_ARGS(fields->name), onnxd_model_name(model));
    if (decoder->is_requested[index])
        return onnxd_error(ONNXD_INVALID_ARGUMENT, "output '%.*s' is requested twice",
                           ONNXD_HTTP_NAME_ARGS(fields->name));
    decoder->is_requested[index] = true;
    decoder->is_form_stated[call->output_count] = fields->parameters.has_binary;
    call->outputs[call->output_count++] =
        (onnxd_http_output){.index = index, .is_binary = fields->parameters.is_binary};
    return NULL;
}

static onnxd_status *read_output(onnxd_http_decoder *decoder)
{
    output_fields fields = {0};
    onnxd_json_token token;
    for (;;) {
        ONNXD_TRY(onnxd_json_next(&decoder->reader, &token));
        if (token.kind == ONNXD_JSON_OBJECT_END)
            break;
        ONNXD_TRY(read_output_member(decoder, &token, &fields));
    }
    if (!fields.has_name)
        return expected("an output", "an object with a \"name\"", &token);
    return add_output(decoder, &fields);
}

static onnxd_status *read_outputs(onnxd_http_decoder *decoder)
{
    onnxd_json_token token;
    ONNXD_TRY(onnxd_json_next(&decoder->reader, &token));
    if (token.kind != ONNXD_JSON_ARRAY_BEGIN)
        return expected("\"outputs\"", "an array", &token);
    for (;;) {
        ONNXD_TRY(onnxd_json_next(&decoder->reader, &token));
        if (token.kind == ONNXD_JSON_ARRAY_END)
            return NULL;
        if (token.kind != ONNXD_JSON_OBJECT_BEGIN)
            return expected("an element of \"outputs\"", "an object", &token);
        ONNXD_TRY(read_output(decoder));
    }
}

static onnxd_status *make_output_lists(onnxd_http_decoder *decoder)
{
    onnxd_arena *arena = decoder->input->arena;
    uint32_t count = onnxd_model_output_count(decoder->input->request->model);
    decoder->call->outputs =
        onnxd_arena_alloc_zero(arena, count, sizeof(decoder->call->outputs[0]));
    decoder->is_requested = onnxd_arena_alloc_zero(arena, count, sizeof(bool));
    decoder->is_form_stated = onnxd_arena_alloc_zero(arena, count, sizeof(bool));
    if (decoder->call->outputs == NULL || decoder->is_requested == NULL ||
        decoder->is_form_stated == NULL)
        return onnxd_error_out_of_memory("the list of outputs", count, UINT64_MAX);
    return NULL;
}

/* None requested means all; what does not say how it wants to come takes the request's word. */
static void settle_outputs(onnxd_http_decoder *decoder)
{
    onnxd_http_call *call = decoder->call;
    if (call->output_count == 0) {
        call->output_count = onnxd_model_output_count(decoder->input->request->model);
        for (uint32_t i = 0; i < call->output_count; i++)
            call->outputs[i].index = i;
    }
    for (uint32_t i = 0; i < call->output_count; i++) {
        if (!decoder->is_form_stated[i])
            call->outputs[i].is_binary = call->prefers_binary;
    }
}

/* -- the request ------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    unsigned bit;
    onnxd_status *(*read)(onnxd_http_decoder *decoder);
} members[] = {
    {"id", KEY_ID, read_id},
    {"parameters", KEY_PARAMETERS, read_request_parameters},
    {"inputs", KEY_INPUTS, read_inputs},
    {"outputs", KEY_OUTPUTS, read_outputs},
};

static onnxd_status *read_member(onnxd_http_decoder *decoder, const onnxd_json_token *key,
                                 unsigned *seen)
{
    for (size_t i = 0; i < ONNXD_COUNT(members); i++) {
        if (!onnxd_json_text_is(key, members[i].name))
            continue;
        if ((*seen & members[i].bit) != 0)
            return onnxd_error(ONNXD_INVALID_ARGUMENT, "\"%s\" is given twice, at byte %zu",
                               members[i].name, key->offset);
        *seen |= members[i].bit;
        return members[i].read(decoder);
    }
    onnxd_json_token token;
    ONNXD_TRY(onnxd_json_next(&decoder->reader, &token));
    return onnxd_json_skip(&decoder->reader, &token);
}

static onnxd_status *read_request(onnxd_http_decoder *decoder)
{
    onnxd_json_token token;
    unsigned seen = 0;
    ONNXD_TRY(onnxd_json_next(&decoder->reader, &token));
    if (token.kind != ONNXD_JSON_OBJECT_BEGIN)
        return expected("the request", "a JSON object", &token);
    for (;;) {
        ONNXD_TRY(onnxd_json_next(&decoder->reader, &token));
        if (token.kind == ONNXD_JSON_OBJECT_END)
            break;
        ONNXD_TRY(read_member(decoder, &token, &seen));
    }
    ONNXD_TRY(onnxd_json_next(&decoder->reader, &token)); /* nothing but the end may follow */
    if (decoder->blobs.size != 0)
        return onnxd_error(ONNXD_INVALID_ARGUMENT,
                           "unexpected additional input data for model '%s'",
                           onnxd_model_name(decoder->input->request->model));
    settle_outputs(decoder);
    return onnxd_request_check(decoder->input->request);
}

onnxd_status *onnxd_http_decode_infer(const onnxd_http_decoding *decoding,
                                      onnxd_http_call *out_call)
{
    *out_call = (onnxd_http_call){0};
    size_t json_bytes = decoding->body_bytes;
    if (decoding->has_json_bytes) {
        if (decoding->json_bytes > decoding->body_bytes)
            return onnxd_error(
                ONNXD_INVALID_ARGUMENT,
                "Inference-Header-Content-Length is %llu, but the body has %zu bytes",
                (unsigned long long)decoding->json_bytes, decoding->body_bytes);
        json_bytes = (size_t)decoding->json_bytes;
    }
    onnxd_http_decoder decoder = {
        .input = decoding,
        .call = out_call,
        .blobs = {decoding->body + json_bytes, decoding->body_bytes - json_bytes},
    };
    ONNXD_TRY(make_output_lists(&decoder));
    if (decoding->has_json_bytes && json_bytes == 0)
        return onnxd_http_decode_raw(decoding, out_call);
    if (json_bytes == 0)
        return onnxd_error(ONNXD_INVALID_ARGUMENT, "the request has no body");
    onnxd_json_init(&decoder.reader, decoding->body, json_bytes);
    return read_request(&decoder);
}
