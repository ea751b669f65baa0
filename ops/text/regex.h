/*
 * Regular expressions of RE2, which matches in time linear in the text, for C.
 *
 * Threads: any; one regex may be used by several at once.
 */
#ifndef ONNXD_OPS_TEXT_REGEX_H
#define ONNXD_OPS_TEXT_REGEX_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct onnxd_regex onnxd_regex;

/* NULL, with RE2's reason in `reason`, when the pattern is not in RE2's syntax or would take more
 * memory than a few MiB. Ended by onnxd_regex_destroy(). */
onnxd_regex *onnxd_regex_create(const char *pattern, size_t length, char *reason,
                                size_t reason_capacity);
void onnxd_regex_destroy(onnxd_regex *regex); /* NULL is fine */
/* Whether all of the text matches. */
bool onnxd_regex_matches(const onnxd_regex *regex, const char *text, size_t length);
/* The first match, leftmost and then as the pattern prefers, at or after `from`, which is a
 * boundary of characters and at most `length`. */
bool onnxd_regex_find(const onnxd_regex *regex, const char *text, size_t length, size_t from,
                      size_t *out_first, size_t *out_end);

#ifdef __cplusplus
}
#endif

#endif
