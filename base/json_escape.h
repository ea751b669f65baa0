/* Escapes inside JSON strings, shared by the reader, which checks them, and by the decoder. */
#ifndef ONNXD_BASE_JSON_ESCAPE_H
#define ONNXD_BASE_JSON_ESCAPE_H

#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"

/* Reads the escape at `text`, which starts with a backslash: a surrogate pair is one. Returns its
 * length, 0 when it is malformed or half of a pair. */
ONNXD_NODISCARD size_t onnxd_json_read_escape(const char *text, size_t length,
                                              uint32_t *out_character);

#endif
