/*
 * The framing of a chunked body, checked byte by byte before anything else reads it. Like the
 * head's scan it is an automaton: how the bytes were split does not matter.
 *
 * Sizes are 1 to 16 hex digits; extensions are read over, their bytes bounded; trailer fields are
 * checked, bounded and dropped, and those that would change the framing are refused.
 *
 * Threads: the loop. Nothing allocates.
 */
#ifndef ONNXD_HTTP_CHUNKED_H
#define ONNXD_HTTP_CHUNKED_H

#include <stdbool.h>
#include <stdint.h>

#include "http/fault.h"
#include "http/server.h"

#define ONNXD_HTTP_TRAILER_NAME 24

typedef struct onnxd_http_chunk_scan {
    uint8_t state;
    bool is_done;
    bool in_quotes, after_backslash;
    uint8_t digits, name_length;
    char name[ONNXD_HTTP_TRAILER_NAME]; /* of the trailer field being read, cut */
    uint64_t remaining;                 /* bytes of the current chunk's data still to come */
    uint32_t chunk_count, overhead_bytes, trailer_bytes;
} onnxd_http_chunk_scan;

typedef enum onnxd_http_chunk_piece {
    ONNXD_HTTP_CHUNK_FRAMING, /* size lines and line ends */
    ONNXD_HTTP_CHUNK_DATA,    /* bytes of the body */
    ONNXD_HTTP_CHUNK_IGNORED  /* extensions and trailer fields, which mean nothing here */
} onnxd_http_chunk_piece;

/* All zero is the start. Returns the length of the next piece of data[0..length), all of it of one
 * kind. Stops behind the last byte of the body (is_done) or at the byte that made it invalid
 * (*out_fault). */
size_t onnxd_http_chunk_scan_feed(onnxd_http_chunk_scan *scan, const onnxd_http_options *options,
                                  const char *data, size_t length,
                                  onnxd_http_chunk_piece *out_piece, onnxd_http_fault *out_fault);

#endif
