#include "model/store_scan.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/path.h"

#define MODEL_FILE "model.onnx"
#define MODEL_SUFFIX ".onnx"

/* ---- items --------------------------------------------------------------------------------- */

static void item_deinit(onnxd_scan_item *item)
{
    onnxd_free(item->name);
    onnxd_free(item->path);
}

void onnxd_scan_deinit(onnxd_scan *scan)
{
    for (size_t i = 0; i < scan->count; i++)
        item_deinit(&scan->items[i]);
    onnxd_free(scan->items);
    *scan = (onnxd_scan){.items = NULL};
}

static onnxd_status *add_item(onnxd_scan *scan, const char *name, size_t name_length,
                              int64_t version, const char *path, const struct stat *info)
{
    if (scan->count == scan->capacity) {
        const size_t capacity = scan->capacity == 0 ? 16 : scan->capacity * 2;
        onnxd_scan_item *grown = onnxd_realloc_array(scan->items, capacity, sizeof(grown[0]));
        if (grown == NULL)
            return onnxd_error_out_of_memory("the list of models", capacity * sizeof(grown[0]),
                                             UINT64_MAX);
        scan->items = grown;
        scan->capacity = capacity;
    }
    onnxd_scan_item item = {
        .name = onnxd_strndup(name, name_length),
        .path = onnxd_strdup(path),
        .version = version,
        .stamp = onnxd_file_stamp_of(info),
        .found = scan->count,
    };
    if (item.name == NULL || item.path == NULL) {
        item_deinit(&item);
        return onnxd_error_out_of_memory("the list of models", name_length, UINT64_MAX);
    }
    scan->items[scan->count++] = item;
    return NULL;
}

/* ---- directories --------------------------------------------------------------------------- */

/* False when the path does not fit or nothing is there. */
static bool look_at(const char *directory, const char *entry, char *path, size_t capacity,
                    struct stat *out_info)
{
    const int length = snprintf(path, capacity, "%s/%s", directory, entry);
    return length >= 0 && (size_t)length < capacity && stat(path, out_info) == 0;
}

/* Length of the stem when `file` ends in .onnx, else 0. */
static size_t stem_length(const char *file)
{
    const size_t length = strlen(file), suffix = strlen(MODEL_SUFFIX);
    if (length <= suffix || strcmp(file + length - suffix, MODEL_SUFFIX) != 0)
        return 0;
    return length - suffix;
}

/* A version directory's number: decimal, from 1, without leading zeros. 0 when it is none. */
static int64_t version_of(const char *name)
{
    int64_t version = 0;
    if (name[0] < '1' || name[0] > '9')
        return 0;
    for (const char *digit = name; *digit != '\0'; digit++) {
        if (*digit < '0' || *digit > '9' || version > (INT64_MAX - 9) / 10)
            return 0;
        version = version * 10 + (*digit - '0');
    }
    return version;
}

static onnxd_status *open_directory(const char *path, DIR **out_directory)
{
    char text[128];
    DIR *directory = opendir(path);
    if (directory == NULL)
        return onnxd_error(errno == ENOENT ? ONNXD_NOT_FOUND : ONNXD_INVALID_ARGUMENT,
                           "cannot read directory '%s': %s", path,
                           strerror_r(errno, text, sizeof(text)));
    *out_directory = directory;
    return NULL;
}

/* <directory>/model.onnx as version 1 and <directory>/<version>/model.onnx. */
static onnxd_status *scan_model(onnxd_scan *scan, const char *name, const char *directory)
{
    char path[PATH_MAX], inner[PATH_MAX];
    struct stat info;
    struct dirent *entry;
    DIR *listing = NULL;
    onnxd_status *status = NULL;
    const size_t before = scan->count;
    if (look_at(directory, MODEL_FILE, path, sizeof(path), &info) && S_ISREG(info.st_mode))
        ONNXD_TRY(add_item(scan, name, strlen(name), 1, path, &info));
    ONNXD_TRY(open_directory(directory, &listing));
    while (status == NULL && (entry = readdir(listing)) != NULL) {
        const int64_t version = version_of(entry->d_name);
        if (version != 0 && look_at(directory, entry->d_name, inner, sizeof(inner), &info) &&
            S_ISDIR(info.st_mode) && look_at(inner, MODEL_FILE, path, sizeof(path), &info) &&
            S_ISREG(info.st_mode))
            status = add_item(scan, name, strlen(name), version, path, &info);
    }
    closedir(listing);
    if (status == NULL && scan->count == before)
        onnxd_log(ONNXD_LOG_WARN, "model",
                  "directory without model.onnx or VERSION/model.onnx, a number from 1: path=%s",
                  directory);
    return status;
}

static onnxd_status *scan_entry(onnxd_scan *scan, const char *directory, const char *name)
{
    char path[PATH_MAX];
    struct stat info;
    if (name[0] == '.' || !look_at(directory, name, path, sizeof(path), &info))
        return NULL;
    const bool is_directory = S_ISDIR(info.st_mode);
    const size_t length = is_directory ? strlen(name) : stem_length(name);
    if (length == 0 || (!is_directory && !S_ISREG(info.st_mode)))
        return NULL;
    if (!onnxd_is_model_name(name, length)) {
        onnxd_log(ONNXD_LOG_WARN, "model",
                  "not a name for a model, left out: path=%s allowed=letters, digits, '_', '.' and "
                  "'-', at most 128",
                  path);
        return NULL;
    }
    if (!is_directory)
        return add_item(scan, name, length, 1, path, &info);
    onnxd_status *status = scan_model(scan, name, path);
    if (status != NULL && onnxd_status_code(status) != ONNXD_OUT_OF_MEMORY) {
        /* One unreadable directory hides its own models alone. */
        onnxd_log(ONNXD_LOG_WARN, "model", "left out: %s", onnxd_status_message(status));
        onnxd_status_free(status);
        status = NULL;
    }
    return status;
}

static onnxd_status *scan_directory(onnxd_scan *scan, const char *path)
{
    DIR *listing = NULL;
    struct dirent *entry;
    onnxd_status *status = NULL;
    ONNXD_TRY(open_directory(path, &listing));
    while (status == NULL && (entry = readdir(listing)) != NULL)
        status = scan_entry(scan, path, entry->d_name);
    closedir(listing);
    return status;
}

static onnxd_status *scan_file(onnxd_scan *scan, const char *path, const struct stat *info,
                               const char *name)
{
    const char *slash = strrchr(path, '/');
    const char *file = slash != NULL ? slash + 1 : path;
    size_t length = name != NULL ? strlen(name) : stem_length(file);
    if (name == NULL)
        name = file;
    if (length == 0)
        length = strlen(name);
    if (!onnxd_is_model_name(name, length))
        return onnxd_error(ONNXD_INVALID_ARGUMENT,
                           "'%.*s' cannot be the name of a model: letters, digits, '_', '.' and "
                           "'-', at most 128",
                           (int)(length > 256 ? 256 : length), name);
    return add_item(scan, name, length, 1, path, info);
}

/* *file_count counts the sources that are files. */
static onnxd_status *scan_source(onnxd_scan *scan, const char *path, const char *file_model_name,
                                 uint32_t *file_count)
{
    char text[128];
    struct stat info;
    if (stat(path, &info) != 0)
        return onnxd_error(errno == ENOENT ? ONNXD_NOT_FOUND : ONNXD_INVALID_ARGUMENT,
                           "cannot read model source '%s': %s", path,
                           strerror_r(errno, text, sizeof(text)));
    if (S_ISDIR(info.st_mode))
        return scan_directory(scan, path);
    if (!S_ISREG(info.st_mode))
        return onnxd_error(ONNXD_INVALID_ARGUMENT,
                           "model source '%s' is neither a directory nor a file", path);
    if (++*file_count > 1 && file_model_name != NULL)
        return onnxd_error(ONNXD_INVALID_ARGUMENT,
                           "the name '%s' is given for one file, but '%s' is another",
                           file_model_name, path);
    return scan_file(scan, path, &info, file_model_name);
}

/* ---- order and limits ---------------------------------------------------------------------- */

static int compare_versions(const onnxd_scan_item *a, const onnxd_scan_item *b)
{
    const int order = strcmp(a->name, b->name);
    return order != 0 ? order : (a->version > b->version) - (a->version < b->version);
}

static int by_version_and_source(const void *left, const void *right)
{
    const onnxd_scan_item *a = left, *b = right;
    const int order = compare_versions(a, b);
    return order != 0 ? order : (a->found > b->found) - (a->found < b->found);
}

/* Sorts, and drops all but the first of several files for one version. */
static void sort_items(onnxd_scan *scan)
{
    size_t kept = 0;
    if (scan->count > 0)
        qsort(scan->items, scan->count, sizeof(scan->items[0]), by_version_and_source);
    for (size_t i = 0; i < scan->count; i++) {
        if (kept == 0 || compare_versions(&scan->items[kept - 1], &scan->items[i]) != 0) {
            scan->items[kept++] = scan->items[i];
            continue;
        }
        onnxd_log(ONNXD_LOG_WARN, "model", "two files for one version, left out: path=%s",
                  scan->items[i].path);
        item_deinit(&scan->items[i]);
    }
    scan->count = kept;
}

static void apply_limits(onnxd_scan *scan, const onnxd_scan_options *limits)
{
    size_t kept = 0;
    for (size_t first = 0, end; first < scan->count; first = end) {
        end = first + 1;
        while (end < scan->count && strcmp(scan->items[end].name, scan->items[first].name) == 0)
            end++;
        for (size_t i = first; i < end; i++) {
            if (end - i > limits->max_versions) {
                onnxd_log(ONNXD_LOG_WARN, "model",
                          "older than the newest %u versions, left out: path=%s",
                          limits->max_versions, scan->items[i].path);
                item_deinit(&scan->items[i]);
                continue;
            }
            scan->items[kept++] = scan->items[i];
        }
    }
    scan->count = kept;
}

onnxd_status *onnxd_scan_sources(const onnxd_scan_options *options, onnxd_scan *out_scan)
{
    onnxd_scan scan = {.items = NULL};
    uint32_t file_count = 0;
    for (const char *const *source = options->sources; *source != NULL; source++) {
        onnxd_status *status = scan_source(&scan, *source, options->file_model_name, &file_count);
        if (status != NULL) {
            onnxd_scan_deinit(&scan);
            return status;
        }
    }
    sort_items(&scan);
    apply_limits(&scan, options);
    *out_scan = scan;
    return NULL;
}
