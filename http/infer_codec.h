/*
 * Bodies of inference requests and responses. No sockets, no threads of its own: works on memory,
 * on whichever thread it is called.
 */
#ifndef ONNXD_HTTP_INFER_CODEC_H
#define ONNXD_HTTP_INFER_CODEC_H

#include "base/arena.h"
#include "http/infer.h"
#include "http/response.h"

typedef struct onnxd_http_decoding {
    const onnxd_http_options *options;
    onnxd_request *request; /* without inputs yet */
    onnxd_arena *arena;     /* for what *call refers to */
    char *body;             /* writable; strings are decoded in place and referred to */
    size_t body_bytes;
    bool has_json_bytes; /* Inference-Header-Content-Length was given */
    uint64_t json_bytes;
} onnxd_http_decoding;

/* Fills in the request's inputs and *out_call, and checks that every input is there. With
 * json_bytes 0 the body is the data of the model's one input.
 * Errors: INVALID_ARGUMENT, UNIMPLEMENTED for features that are not offered, PAYLOAD_TOO_LARGE,
 * OUT_OF_MEMORY. */
ONNXD_NODISCARD onnxd_status *onnxd_http_decode_infer(const onnxd_http_decoding *decoding,
                                                      onnxd_http_call *out_call);

/* The body without any JSON. */
ONNXD_NODISCARD onnxd_status *onnxd_http_decode_raw(const onnxd_http_decoding *decoding,
                                                    onnxd_http_call *out_call);

/* Makes the response of a request that has succeeded. Binary outputs are referred to where they
 * lie: the request must outlive the response. `blobs` takes BYTES outputs in their binary form.
 * Errors: those of onnxd_http_tensor_to_json(); PAYLOAD_TOO_LARGE, before memory is taken, when the
 * binary outputs together are more than max_binary_bytes. */
ONNXD_NODISCARD onnxd_status *onnxd_http_encode_infer(const onnxd_request *request,
                                                      const onnxd_http_call *call,
                                                      uint64_t max_binary_bytes, onnxd_arena *arena,
                                                      onnxd_strbuf *blobs,
                                                      onnxd_http_response *out_response);
/* About how many bytes of text or strings encoding has to write: what decides whether it is done on
 * the loop. Binary outputs of other types cost nothing. */
uint64_t onnxd_http_encode_cost(const onnxd_request *request, const onnxd_http_call *call);

#endif
