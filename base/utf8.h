/* UTF-8, strictly after RFC 3629: no overlong forms, no surrogates, nothing above U+10FFFF. */
#ifndef ONNXD_BASE_UTF8_H
#define ONNXD_BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>

/* Bytes (1 to 4) of the well-formed character that text[0..length) starts with; 0 when it starts
 * with none. */
size_t onnxd_utf8_sequence(const char *text, size_t length);
/* Whether all of it is well-formed. */
bool onnxd_utf8_is_valid(const char *text, size_t length);

#endif
