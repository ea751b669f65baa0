/*
 * Opening files beneath a directory. The kernel resolves the path (openat2 with RESOLVE_BENEATH and
 * RESOLVE_NO_SYMLINKS), so "..", absolute paths and links that lead out are refused.
 *
 * Threads: any, but never the event loop: these calls may block.
 */
#ifndef ONNXD_BASE_PATH_H
#define ONNXD_BASE_PATH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/* A read-only view of a regular file, mapped, so it takes no heap and shares the page cache.
 * Whoever shortens the file in place meanwhile makes later accesses fault; files are replaced by
 * rename. */
typedef struct onnxd_file {
    const uint8_t *data;
    size_t size;
    uint64_t link_count; /* names that the file had when it was opened */
    /* implementation */
    void *mapping;
} onnxd_file;

/* Opens `path` for reading beneath the directory `root` (NULL: `path` is trusted and opened as it
 * is). Errors: NOT_FOUND, INVALID_ARGUMENT (not a regular file, escapes the root, larger than
 * max_bytes). The message names `path` only. */
ONNXD_NODISCARD onnxd_status *onnxd_file_open(const char *root, const char *path,
                                              uint64_t max_bytes, onnxd_file *out_file);
void onnxd_file_close(onnxd_file *file);

/* A name that may stand in a URL and a directory: [A-Za-z0-9_][A-Za-z0-9_.-]{0,127}. */
bool onnxd_is_model_name(const char *name, size_t length);

#endif
