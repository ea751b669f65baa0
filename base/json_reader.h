/*
 * A strict JSON pull reader (RFC 8259) over a buffer that is already in memory. It builds nothing:
 * the caller asks for the next token and decodes it in place, so tensor data goes straight from
 * text to its destination. Iterative, nesting bounded, no allocation.
 *
 * Strictness: one document, nothing but white space after it, valid UTF-8, no raw control
 * characters, no lone surrogates, no leading zeros. The bare tokens NaN, Infinity and -Infinity are
 * numbers here (existing clients send them); set `strict_numbers` to refuse them.
 *
 * Threads: one at a time. Errors: INVALID_ARGUMENT with the byte offset and what was expected.
 */
#ifndef ONNXD_BASE_JSON_READER_H
#define ONNXD_BASE_JSON_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

#define ONNXD_JSON_MAX_DEPTH 32

typedef enum onnxd_json_kind {
    ONNXD_JSON_END, /* the document is complete */
    ONNXD_JSON_OBJECT_BEGIN,
    ONNXD_JSON_OBJECT_END,
    ONNXD_JSON_ARRAY_BEGIN,
    ONNXD_JSON_ARRAY_END,
    ONNXD_JSON_KEY, /* text as for STRING; the value's token follows */
    ONNXD_JSON_STRING,
    ONNXD_JSON_NUMBER,
    ONNXD_JSON_TRUE,
    ONNXD_JSON_FALSE,
    ONNXD_JSON_NULL
} onnxd_json_kind;

typedef struct onnxd_json_token {
    onnxd_json_kind kind;
    size_t offset;    /* of the token's first byte in the text */
    const char *text; /* KEY, STRING: between the quotes, escapes untouched; NUMBER: the digits */
    size_t length;
    bool has_escapes; /* KEY, STRING */
} onnxd_json_token;

typedef struct onnxd_json_reader {
    const char *text;
    size_t length;
    size_t position;
    unsigned depth;
    unsigned max_depth; /* <= ONNXD_JSON_MAX_DEPTH */
    bool strict_numbers;
    uint8_t state;                           /* private */
    uint8_t stack[ONNXD_JSON_MAX_DEPTH + 1]; /* private */
} onnxd_json_reader;

/* `text` is borrowed and must outlive the reader and its tokens. */
void onnxd_json_init(onnxd_json_reader *reader, const char *text, size_t length);
/* The next token; END again and again after the document. After an error the reader must not be
 * used again and *out holds nothing. */
ONNXD_NODISCARD onnxd_status *onnxd_json_next(onnxd_json_reader *reader, onnxd_json_token *out);
/* Skips the value whose first token is `token` (a whole array or object), or the one behind a KEY.
 */
ONNXD_NODISCARD onnxd_status *onnxd_json_skip(onnxd_json_reader *reader,
                                              const onnxd_json_token *token);

/* KEY and STRING: whether the decoded text equals `expected`. */
bool onnxd_json_text_is(const onnxd_json_token *token, const char *expected);
/* KEY and STRING: the decoded length in bytes, and the decoding itself, which writes exactly that
 * many bytes (no NUL) and may run in place over the token's own text. Validated by the reader. */
size_t onnxd_json_decoded_length(const onnxd_json_token *token);
void onnxd_json_decode(const onnxd_json_token *token, char *out);

/* Line (from 1) of a byte offset, for messages about files. */
size_t onnxd_json_line(const char *text, size_t length, size_t offset);

/* Appends `text` as a JSON string body (quotes excluded) to buffer: at most 6 bytes for each byte
 * of input. Invalid UTF-8 becomes U+FFFD. Returns the bytes written. */
size_t onnxd_json_escape(char *buffer, const char *text, size_t length);

#endif
