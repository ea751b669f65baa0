/*
 * Tensor data in files beside the model. A location is untrusted text: it is resolved beneath the
 * model's directory by the kernel, and the file must be regular and have one name only, so that a
 * hard link cannot lend a file from elsewhere.
 */
#include <inttypes.h>
#include <stdatomic.h>
#include <string.h>

#include "base/alloc.h"
#include "base/number.h"
#include "base/path.h"
#include "graph/loader_internal.h"

#define MAX_FILES 4096u
#define MAX_LOCATION_BYTES 4096u

struct onnxd_external_file {
    onnxd_file file;
    char *location;
    atomic_uint references;
};

static void file_release(onnxd_external_file *file)
{
    if (atomic_fetch_sub_explicit(&file->references, 1, memory_order_acq_rel) != 1)
        return;
    onnxd_file_close(&file->file);
    onnxd_free(file->location);
    onnxd_free(file);
}

static void release_data(void *owner, void *data)
{
    (void)data;
    file_release(owner);
}

void onnxd_loader_close_files(onnxd_loader *loader)
{
    for (uint32_t i = 0; i < loader->file_count; i++)
        file_release(loader->files[i]);
    loader->file_count = 0;
    onnxd_free(loader->files);
    loader->files = NULL;
    onnxd_name_map_deinit(&loader->locations);
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

static onnxd_status *open_file(const onnxd_loader *loader, const char *location,
                               onnxd_external_file **out_file)
{
    onnxd_external_file *file = onnxd_alloc_zero(1, sizeof(*file));
    if (file == NULL)
        return onnxd_error_out_of_memory("external data file", sizeof(*file), UINT64_MAX);
    atomic_init(&file->references, 1);
    onnxd_status *status = NULL;
    file->location = onnxd_strdup(location);
    if (file->location == NULL) {
        status = onnxd_error_out_of_memory("external data location", strlen(location), UINT64_MAX);
        goto fail;
    }
    status = onnxd_file_open(loader->directory, location, loader->limits->max_external_bytes,
                             &file->file);
    if (status != NULL)
        goto fail;
    if (file->file.link_count != 1) {
        status = onnxd_error(ONNXD_INVALID_ARGUMENT,
                             "file '%.128s' has %" PRIu64 " hard links, it must have one", location,
                             file->file.link_count);
        goto fail;
    }
    *out_file = file;
    return NULL;
fail:
    file_release(file);
    return status;
}

/* Opens a file that the loader has not met, and keeps it. */
static onnxd_status *add_file(onnxd_loader *loader, const char *location)
{
    if (loader->file_count == MAX_FILES)
        return onnxd_error(ONNXD_INVALID_ARGUMENT, "more than %u external data files", MAX_FILES);
    if (loader->files == NULL) {
        loader->files = onnxd_alloc_zero(MAX_FILES, sizeof(onnxd_external_file *));
        if (loader->files == NULL)
            return onnxd_error_out_of_memory("external data files", MAX_FILES * sizeof(void *),
                                             UINT64_MAX);
    }
    onnxd_external_file *file = NULL;
    ONNXD_TRY(open_file(loader, location, &file));
    uint32_t id;
    bool added;
    onnxd_status *status =
        onnxd_name_map_add(&loader->locations, file->location, loader->file_count, &id, &added);
    if (status != NULL)
        file_release(file);
    else
        loader->files[loader->file_count++] = file;
    return status;
}

/* Borrowed from the loader. */
static onnxd_status *find_file(onnxd_loader *loader, const ProtobufCBinaryData *path,
                               onnxd_external_file **out_file)
{
    char *location = onnxd_strndup((const char *)path->data, path->len);
    if (location == NULL)
        return onnxd_error_out_of_memory("external data location", path->len, UINT64_MAX);
    onnxd_status *status = NULL;
    if (onnxd_name_map_find(&loader->locations, location) == UINT32_MAX)
        status = add_file(loader, location);
    if (status == NULL)
        *out_file = loader->files[onnxd_name_map_find(&loader->locations, location)];
    onnxd_free(location);
    return status;
}

static onnxd_status *check_range(const onnxd_external_file *file, const data_place *where,
                                 size_t bytes)
{
    if (where->has_length && where->length != bytes)
        return onnxd_error(ONNXD_INVALID_ARGUMENT,
                           "external_data length is %" PRIu64 ", type and shape need %zu bytes",
                           where->length, bytes);
    if (where->offset > file->file.size || bytes > file->file.size - where->offset)
        return onnxd_error(ONNXD_INVALID_ARGUMENT,
                           "external_data needs bytes %" PRIu64 " to %" PRIu64
                           "+%zu of file '%.128s', which has %zu",
                           where->offset, where->offset, bytes, file->location, file->file.size);
    return NULL;
}

/* In place when aligned for its elements, else copied. */
static onnxd_status *make_tensor(onnxd_external_file *file, size_t offset, onnxd_dtype dtype,
                                 const onnxd_shape *shape, size_t bytes, onnxd_tensor **out_tensor)
{
    union {
        const uint8_t *source;
        void *data; /* adopted; tensors are read-only once shared */
    } place = {.source = file->file.data + offset};
    size_t alignment = onnxd_dtype_size(dtype) == 0 ? 1 : onnxd_dtype_size(dtype);
    if (bytes > 0 && (uintptr_t)place.source % alignment == 0) {
        ONNXD_TRY(
            onnxd_tensor_adopt(dtype, shape, place.data, bytes, release_data, file, out_tensor));
        atomic_fetch_add_explicit(&file->references, 1, memory_order_relaxed);
        return NULL;
    }
    ONNXD_TRY(onnxd_tensor_create(dtype, shape, out_tensor));
    if (bytes > 0)
        memcpy((*out_tensor)->data, place.source, bytes);
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
    onnxd_external_file *file = NULL;
    ONNXD_TRY(find_file(loader, where.path, &file));
    ONNXD_TRY(check_range(file, &where, bytes));
    if (dtype == ONNXD_BOOL)
        ONNXD_TRY(onnxd_loader_check_bools(file->file.data + where.offset, bytes));
    return make_tensor(file, (size_t)where.offset, dtype, shape, bytes, out_tensor);
}
