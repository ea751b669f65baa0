/*
 * Tensor data in files beside the model. A location is untrusted text: it is resolved beneath the
 * model's directory by the kernel, and the file must be regular and have one name only, so that a
 * hard link cannot lend a file from elsewhere.
 */
#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/number.h"
#include "base/path.h"
#include "graph/internal.h"
#include "graph/loader_internal.h"

#define MAX_LOCATION_BYTES 4096u
#define DATA_ALIGNMENT 64u

void onnxd_loader_close_file(onnxd_loader *loader)
{
    if (loader->location == NULL)
        return;
    onnxd_file_reader_close(&loader->file);
    onnxd_free(loader->location);
    loader->location = NULL;
}

static void release_data(void *owner, void *data)
{
    (void)owner;
    onnxd_free(data);
}

/* Where a tensor's bytes lie, as the model says. */
typedef struct data_place {
    const ProtobufCBinaryData *path;
    uint64_t offset, length;
    bool has_offset, has_length, has_checksum;
} data_place;

static onnxd_status *read_number(const char *key, const ProtobufCBinaryData *value, bool *has,
                                 uint64_t *out)
{
    if (*has)
        return onnxd_error(ONNXD_INVALID_ARGUMENT, "external_data key '%s' occurs twice", key);
    if (!onnxd_parse_u64((const char *)value->data, value->len, out))
        return onnxd_error(ONNXD_INVALID_ARGUMENT,
                           "external_data key '%s' is not a number of bytes", key);
    *has = true;
    return NULL;
}

static onnxd_status *read_entry(const Onnx__StringStringEntryProto *entry, data_place *where)
{
    const char *key = entry->key == NULL ? "" : entry->key;
    if (strcmp(key, "offset") == 0)
        return read_number(key, &entry->value, &where->has_offset, &where->offset);
    if (strcmp(key, "length") == 0)
        return read_number(key, &entry->value, &where->has_length, &where->length);
    if (strcmp(key, "checksum") == 0 && !where->has_checksum) {
        /* ONNX calls it optional and tools leave it stale; exact sizes are what is checked. */
        where->has_checksum = true;
        return NULL;
    }
    if (strcmp(key, "location") == 0 && where->path == NULL) {
        where->path = &entry->value;
        return NULL;
    }
    return onnxd_error(ONNXD_INVALID_ARGUMENT,
                       "external_data key '%.128s' is unknown or occurs twice, allowed are "
                       "location, offset, length and checksum",
                       key);
}

/* Names a component "..", which openat2 would allow where it stays beneath the directory. */
static bool has_parent_component(const char *path, size_t length)
{
    size_t start = 0;
    for (size_t i = 0; i <= length; i++) {
        if (i < length && path[i] != '/')
            continue;
        if (i - start == 2 && path[start] == '.' && path[start + 1] == '.')
            return true;
        start = i + 1;
    }
    return false;
}

static onnxd_status *check_location(const ProtobufCBinaryData *path)
{
    if (path == NULL || path->len == 0)
        return onnxd_error(ONNXD_INVALID_ARGUMENT, "external_data has no location");
    if (path->len > MAX_LOCATION_BYTES || memchr(path->data, 0, path->len) != NULL)
        return onnxd_error(ONNXD_INVALID_ARGUMENT,
                           "external_data location contains NUL or has more than %u bytes",
                           MAX_LOCATION_BYTES);
    const char *text = (const char *)path->data;
    if (text[0] == '/' || has_parent_component(text, path->len))
        return onnxd_error(ONNXD_INVALID_ARGUMENT,
                           "external_data location '%.*s' leaves the model's directory",
                           path->len < 128 ? (int)path->len : 128, text);
    return NULL;
}

static onnxd_status *grow_list(onnxd_graph *graph)
{
    const uint32_t capacity =
        graph->external_file_capacity == 0 ? 4 : graph->external_file_capacity * 2;
    void *grown;
    ONNXD_TRY(onnxd_graph_alloc(graph, capacity, sizeof(graph->external_files[0]), &grown));
    if (graph->external_file_count > 0)
        memcpy(grown, graph->external_files,
               graph->external_file_count * sizeof(graph->external_files[0]));
    graph->external_files = grown;
    graph->external_file_capacity = capacity;
    return NULL;
}

/* Remembers the open file, as it was when it was opened first. */
static onnxd_status *list_file(onnxd_loader *loader)
{
    onnxd_graph *graph = loader->root;
    uint32_t id;
    bool added;
    if (onnxd_name_map_find(&loader->locations, loader->location) != UINT32_MAX)
        return NULL;
    if (graph->external_file_count == graph->external_file_capacity)
        ONNXD_TRY(grow_list(graph));
    const char *location =
        onnxd_arena_strndup(&graph->arena, loader->location, strlen(loader->location));
    if (location == NULL)
        return onnxd_error_out_of_memory("external data location", strlen(loader->location),
                                         graph->arena.max_bytes);
    ONNXD_TRY(
        onnxd_name_map_add(&loader->locations, location, graph->external_file_count, &id, &added));
    graph->external_files[graph->external_file_count++] =
        (onnxd_external_file){.location = location, .stamp = loader->file.stamp};
    return NULL;
}

/* Makes the file at `path` the loader's open one. Tensors of one file mostly follow each other, so
 * one descriptor serves them. */
static onnxd_status *open_file(onnxd_loader *loader, const ProtobufCBinaryData *path)
{
    if (loader->location != NULL && strlen(loader->location) == path->len &&
        memcmp(loader->location, path->data, path->len) == 0)
        return NULL;
    onnxd_loader_close_file(loader);
    char *location = onnxd_strndup((const char *)path->data, path->len);
    if (location == NULL)
        return onnxd_error_out_of_memory("external data location", path->len, UINT64_MAX);
    onnxd_status *status = onnxd_file_reader_open(
        loader->directory, location, loader->limits->max_external_bytes, &loader->file);
    if (status != NULL) {
        onnxd_free(location);
        return status;
    }
    loader->location = location;
    if (loader->file.link_count != 1)
        return onnxd_error(ONNXD_INVALID_ARGUMENT,
                           "file '%.128s' has %" PRIu64 " hard links, it must have one", location,
                           loader->file.link_count);
    return list_file(loader);
}

static onnxd_status *check_range(const onnxd_loader *loader, const data_place *where, size_t bytes)
{
    size_t size = loader->file.size;
    if (where->has_length && where->length != bytes)
        return onnxd_error(ONNXD_INVALID_ARGUMENT,
                           "external_data length is %" PRIu64 ", type and shape need %zu bytes",
                           where->length, bytes);
    if (where->offset > size || bytes > size - where->offset)
        return onnxd_error(ONNXD_INVALID_ARGUMENT,
                           "external_data needs bytes %" PRIu64 " to %" PRIu64
                           "+%zu of file '%.128s', which has %zu",
                           where->offset, where->offset, bytes, loader->location, size);
    /* Ranges may overlap, and each is copied. */
    if (bytes > loader->external_bytes_left)
        return onnxd_error(ONNXD_INVALID_ARGUMENT,
                           "external_data needs %zu bytes, the tensors before it left %" PRIu64
                           " of the allowed %" PRIu64,
                           bytes, loader->external_bytes_left, loader->limits->max_external_bytes);
    return NULL;
}

/* A copy: a mapping would fault, or change after it was checked, when the file does. */
static onnxd_status *read_tensor(onnxd_loader *loader, size_t offset, onnxd_dtype dtype,
                                 const onnxd_shape *shape, size_t bytes, onnxd_tensor **out_tensor)
{
    if (bytes == 0)
        return onnxd_tensor_create(dtype, shape, out_tensor);
    void *data = onnxd_alloc_aligned(bytes, DATA_ALIGNMENT);
    if (data == NULL)
        return onnxd_error_out_of_memory("external data", bytes, UINT64_MAX);
    onnxd_status *status =
        onnxd_file_reader_read(&loader->file, loader->location, offset, bytes, data);
    if (status == NULL && dtype == ONNXD_BOOL)
        status = onnxd_loader_check_bools(data, bytes);
    if (status == NULL)
        status = onnxd_tensor_adopt(dtype, shape, data, bytes, release_data, NULL, out_tensor);
    if (status != NULL) {
        onnxd_free(data);
        return status;
    }
    loader->external_bytes_left -= bytes;
    return NULL;
}

onnxd_status *onnxd_loader_external(onnxd_loader *loader, const Onnx__TensorProto *proto,
                                    onnxd_dtype dtype, const onnxd_shape *shape, size_t bytes,
                                    onnxd_tensor **out_tensor)
{
    if (loader->directory == NULL)
        return onnxd_error(ONNXD_INVALID_ARGUMENT, "external data is not allowed here");
    if (dtype == ONNXD_STRING)
        return onnxd_error(ONNXD_INVALID_ARGUMENT, "strings cannot lie in an external file");
    data_place where = {0};
    for (size_t i = 0; i < proto->n_external_data; i++)
        ONNXD_TRY(read_entry(proto->external_data[i], &where));
    ONNXD_TRY(check_location(where.path));
    ONNXD_TRY(open_file(loader, where.path));
    ONNXD_TRY(check_range(loader, &where, bytes));
    return read_tensor(loader, (size_t)where.offset, dtype, shape, bytes, out_tensor);
}
