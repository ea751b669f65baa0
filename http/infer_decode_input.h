/* One element of "inputs", and the state that decoding shares. Within http/ only. */
#ifndef ONNXD_HTTP_INFER_DECODE_INPUT_H
#define ONNXD_HTTP_INFER_DECODE_INPUT_H

#include "base/json_reader.h"
#include "http/fault.h"
#include "http/infer_codec.h"

typedef struct onnxd_http_decoder {
    const onnxd_http_decoding *input;
    onnxd_http_call *call;
    onnxd_json_reader reader;
    onnxd_http_span blobs; /* binary data that no input has taken yet */
    bool *is_requested;    /* [outputs of the model] */
    bool *is_form_stated;  /* [entries of call->outputs] */
} onnxd_http_decoder;

/* The '{' has been read. Adds the input to the request and fills it in. */
ONNXD_NODISCARD onnxd_status *onnxd_http_decode_input(onnxd_http_decoder *decoder);

#endif
