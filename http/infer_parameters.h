/*
 * The "parameters" objects of a request, of an input and of an output. Known names are checked and
 * taken, unknown ones are tolerated, all of them counted; what belongs to a feature that is not
 * offered is refused by name.
 */
#ifndef ONNXD_HTTP_INFER_PARAMETERS_H
#define ONNXD_HTTP_INFER_PARAMETERS_H

#include "base/arena.h"
#include "base/json_reader.h"
#include "http/fault.h"
#include "http/server.h"

typedef enum onnxd_http_parameter_scope {
    ONNXD_HTTP_REQUEST_PARAMETERS,
    ONNXD_HTTP_INPUT_PARAMETERS,
    ONNXD_HTTP_OUTPUT_PARAMETERS
} onnxd_http_parameter_scope;

typedef struct onnxd_http_parameters {
    bool has_binary_size; /* inputs */
    uint64_t binary_size;
    bool has_binary; /* outputs: binary_data; requests: binary_data_output */
    bool is_binary;
    uint64_t timeout_us, priority; /* requests; 0: not given */
} onnxd_http_parameters;

/* Reads the value behind the key "parameters". Errors: INVALID_ARGUMENT, UNIMPLEMENTED. */
ONNXD_NODISCARD onnxd_status *onnxd_http_read_parameters(onnxd_json_reader *reader,
                                                         const onnxd_http_options *options,
                                                         onnxd_arena *arena,
                                                         onnxd_http_parameter_scope scope,
                                                         onnxd_http_parameters *out);

/* KEY and STRING tokens as decoded text, in the arena where they have escapes. */
ONNXD_NODISCARD onnxd_status *onnxd_http_token_text(const onnxd_json_token *token,
                                                    onnxd_arena *arena, onnxd_http_span *out_text);

#endif
