/*
 * What a repository holds: a list of versions, by name, then version. Reads directories, no models.
 *
 * Threads: any but the event loop; it may block.
 */
#ifndef ONNXD_MODEL_STORE_SCAN_H
#define ONNXD_MODEL_STORE_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/path.h"
#include "base/status.h"

typedef struct onnxd_scan_item {
    char *name;
    char *path; /* of the .onnx file */
    int64_t version;
    onnxd_file_stamp stamp;
    size_t found; /* how many were found before it: the order of the sources */
} onnxd_scan_item;

typedef struct onnxd_scan {
    onnxd_scan_item *items;
    size_t count, capacity;
} onnxd_scan;

typedef struct onnxd_scan_options {
    const char *const *sources;  /* NULL-terminated */
    const char *file_model_name; /* of the one source that is a file; NULL: its stem */
    uint32_t max_versions;       /* of each model: the newest stay */
} onnxd_scan_options;

/* What cannot be a model (a bad name, a directory without a version)
 * is logged and left out; of two files for one version the first source's is taken.
 * Errors: NOT_FOUND or INVALID_ARGUMENT naming a source that is missing, unreadable, or a file with
 * a name that no model can have, or several files for one file_model_name; OUT_OF_MEMORY. */
ONNXD_NODISCARD onnxd_status *onnxd_scan_sources(const onnxd_scan_options *options,
                                                 onnxd_scan *out_scan);
void onnxd_scan_deinit(onnxd_scan *scan);

#endif
