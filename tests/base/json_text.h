/* Texts with a length, and reading one as JSON to its end. */
#ifndef ONNXD_TESTS_BASE_JSON_TEXT_H
#define ONNXD_TESTS_BASE_JSON_TEXT_H

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_reader.h"

typedef struct text {
    const char *bytes;
    size_t length;
} text;
#define T(literal)                                                                                 \
    {                                                                                              \
        literal, sizeof(literal) - 1                                                               \
    }

/* Reads a copy that ends where the text ends, so that a sanitizer sees a read beyond it. */
static inline onnxd_status *read_all(const char *bytes, size_t length, bool strict)
{
    char *copy = malloc(length == 0 ? 1 : length);
    onnxd_json_reader reader;
    onnxd_json_token token;
    onnxd_status *status;
    memcpy(copy, bytes, length);
    onnxd_json_init(&reader, copy, length);
    reader.strict_numbers = strict;
    do {
        status = onnxd_json_next(&reader, &token);
    } while (status == NULL && token.kind != ONNXD_JSON_END);
    free(copy);
    return status;
}

#endif
