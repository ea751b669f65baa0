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

/* Tells whether a file is still the one that was looked at. */
typedef struct onnxd_file_stamp {
    int64_t modified_ns;
    uint64_t size, inode, device;
} onnxd_file_stamp;
struct stat;
onnxd_file_stamp onnxd_file_stamp_of(const struct stat *info);
bool onnxd_file_stamp_equal(const onnxd_file_stamp *a, const onnxd_file_stamp *b);

/* The bytes of a regular file, copied into memory: whatever happens to the file afterwards does not
 * show. */
typedef struct onnxd_file {
    const uint8_t *data; /* never NULL */
    size_t size;
    uint64_t link_count; /* names that the file had when it was opened */
    /* implementation */
    void *memory;
} onnxd_file;

/* Reads `path` beneath the directory `root` (NULL: `path` is trusted and opened as it is). Takes
 * memory for the size that the file has, which max_bytes bounds. Errors: NOT_FOUND,
 * INVALID_ARGUMENT (not a regular file, escapes the root, larger than max_bytes, grew or shrank
 * while it was read), OUT_OF_MEMORY. The message names `path` only. */
ONNXD_NODISCARD onnxd_status *onnxd_file_open(const char *root, const char *path,
                                              uint64_t max_bytes, onnxd_file *out_file);
void onnxd_file_close(onnxd_file *file);

/* An open regular file that is read in parts. Other processes may write to it meanwhile, so two
 * reads of one place may differ. */
typedef struct onnxd_file_reader {
    int descriptor;
    size_t size; /* when it was opened */
    uint64_t link_count;
    onnxd_file_stamp stamp; /* when it was opened */
} onnxd_file_reader;

/* As onnxd_file_open(), without reading. */
ONNXD_NODISCARD onnxd_status *onnxd_file_reader_open(const char *root, const char *path,
                                                     uint64_t max_bytes,
                                                     onnxd_file_reader *out_reader);
void onnxd_file_reader_close(onnxd_file_reader *reader);
/* Copies `bytes` bytes from `offset` on; `path` is for messages. Errors: INVALID_ARGUMENT (outside
 * the file, or the file has shrunk), INTERNAL when the system cannot read. */
ONNXD_NODISCARD onnxd_status *onnxd_file_reader_read(const onnxd_file_reader *reader,
                                                     const char *path, size_t offset, size_t bytes,
                                                     void *data);

/* A name that may stand in a URL and a directory: [A-Za-z0-9_][A-Za-z0-9_.-]{0,127}. */
bool onnxd_is_model_name(const char *name, size_t length);

#endif
