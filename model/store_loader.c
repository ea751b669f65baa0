/*
 * The store's loader thread: brings the table of versions in line with what a scan finds.
 */
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "model/internal.h"
#include "model/store_internal.h"

/* ---- versions, on the loader thread -------------------------------------------------------- */

static void version_destroy(onnxd_store_version *version)
{
    if (version == NULL)
        return;
    onnxd_model_release(version->model);
    onnxd_free(version->name);
    onnxd_free(version->path);
    onnxd_free(version->reason);
    onnxd_free(version);
}

static onnxd_store_version *version_create(const onnxd_scan_item *item)
{
    onnxd_store_version *version = onnxd_alloc_zero(1, sizeof(*version));
    if (version == NULL)
        return NULL;
    version->state = ONNXD_MODEL_LOADING;
    version->is_fresh = true;
    version->version = item->version;
    version->name = onnxd_strdup(item->name);
    version->path = onnxd_strdup(item->path);
    if (version->name == NULL || version->path == NULL) {
        version_destroy(version);
        return NULL;
    }
    return version;
}

static void tell_changed(const onnxd_store *store)
{
    if (store->options.changed != NULL)
        store->options.changed(store->options.user);
}

static int compare(const onnxd_store_version *version, const char *name, int64_t number)
{
    const int order = strcmp(version->name, name);
    if (order != 0)
        return order;
    return (version->version > number) - (version->version < number);
}

static void publish(onnxd_store *store, onnxd_store_version *version, onnxd_model *model)
{
    pthread_mutex_lock(&store->mutex);
    onnxd_model *old = version->model;
    char *reason = version->reason;
    version->model = model;
    version->reason = NULL;
    version->state = ONNXD_MODEL_READY;
    pthread_mutex_unlock(&store->mutex);
    onnxd_model_release(old);
    onnxd_free(reason);
}

/* A version that serves goes on serving. */
static void publish_failure(onnxd_store *store, onnxd_store_version *version, const char *message)
{
    char *reason = onnxd_strdup(message);
    pthread_mutex_lock(&store->mutex);
    if (version->model == NULL) {
        char *old = version->reason;
        version->reason = reason;
        version->state = ONNXD_MODEL_UNAVAILABLE;
        reason = old;
    }
    pthread_mutex_unlock(&store->mutex);
    onnxd_free(reason);
}

/* False when memory is short; then the version is tried again at the next scan. */
static bool take_path(onnxd_store_version *version, const char *path)
{
    if (strcmp(version->path, path) == 0)
        return true;
    char *copy = onnxd_strdup(path);
    if (copy == NULL)
        return false;
    onnxd_free(version->path);
    version->path = copy;
    return true;
}

static void load_version(onnxd_store *store, onnxd_store_version *version,
                         const onnxd_scan_item *item)
{
    const int64_t start_ns = onnxd_now_ns();
    onnxd_model *model = NULL;
    onnxd_status *status = NULL;
    version->stamp = item->stamp;
    if (!take_path(version, item->path))
        status = onnxd_error_out_of_memory("a model's path", strlen(item->path), UINT64_MAX);
    else if (!version->has_place)
        status = onnxd_error(ONNXD_RESOURCE_EXHAUSTED,
                             "the store holds %u models, which is its limit (max_models)",
                             store->options.max_models);
    else
        status = onnxd_model_load(store->runtime, item->name, item->version, item->path,
                                  &store->options.model, &model);
    version->has_failed = status != NULL;
    if (status == NULL) {
        onnxd_model_set_reaper(model, store->reaper);
        publish(store, version, model);
        onnxd_log(ONNXD_LOG_INFO, "model", "loaded: model=%s version=%" PRId64 " ms=%" PRId64,
                  item->name, item->version, (onnxd_now_ns() - start_ns) / 1000000);
    } else {
        publish_failure(store, version, onnxd_status_message(status));
        onnxd_log(ONNXD_LOG_ERROR, "model", "%s: model=%s version=%" PRId64 " reason=%s",
                  version->model != NULL ? "reload failed, the old version serves on"
                                         : "not loaded",
                  item->name, item->version, onnxd_status_message(status));
        onnxd_status_free(status);
    }
    tell_changed(store);
}

/* Whether a file of external data that the version was loaded from is another by now. */
static bool has_external_changes(const onnxd_store_version *version)
{
    if (version->model == NULL)
        return false;
    const onnxd_graph *graph = onnxd_model_graph(version->model);
    const char *slash = strrchr(version->path, '/');
    const int length = slash == NULL ? 0 : (int)(slash + 1 - version->path);
    for (uint32_t i = 0; i < graph->external_file_count; i++) {
        const onnxd_external_file *file = &graph->external_files[i];
        char path[PATH_MAX];
        struct stat info;
        const int written =
            snprintf(path, sizeof(path), "%.*s%s", length, version->path, file->location);
        if (written < 0 || (size_t)written >= sizeof(path) || stat(path, &info) != 0)
            return true;
        const onnxd_file_stamp stamp = onnxd_file_stamp_of(&info);
        if (!onnxd_file_stamp_equal(&stamp, &file->stamp))
            return true;
    }
    return false;
}

static bool needs_load(const onnxd_store_version *version, const onnxd_scan_item *item)
{
    return version->has_failed || version->state == ONNXD_MODEL_LOADING ||
           strcmp(version->path, item->path) != 0 ||
           !onnxd_file_stamp_equal(&version->stamp, &item->stamp) || has_external_changes(version);
}

/* ---- reconciling with a scan --------------------------------------------------------------- */

static void end_version(onnxd_store *store, onnxd_store_version *version)
{
    onnxd_log(ONNXD_LOG_INFO, "model", "unloaded: model=%s version=%" PRId64, version->name,
              version->version);
    version_destroy(version);
    tell_changed(store);
}

/* Fills `table` with the version of every item: the one known already, or a fresh one. Both lists
 * are in one order. False when memory is short. */
static bool match_versions(onnxd_store *store, const onnxd_scan *scan, onnxd_store_version **table)
{
    size_t known = 0;
    for (size_t i = 0; i < store->version_count; i++)
        store->versions[i]->is_listed = false;
    for (size_t i = 0; i < scan->count; i++) {
        const onnxd_scan_item *item = &scan->items[i];
        while (known < store->version_count &&
               compare(store->versions[known], item->name, item->version) < 0)
            known++;
        if (known < store->version_count &&
            compare(store->versions[known], item->name, item->version) == 0)
            table[i] = store->versions[known];
        else
            table[i] = version_create(item);
        if (table[i] == NULL)
            return false;
        table[i]->is_listed = true;
    }
    return true;
}

/* Shows what is about to go; it still serves. */
static void mark_unloading(onnxd_store *store)
{
    bool is_any = false;
    pthread_mutex_lock(&store->mutex);
    for (size_t i = 0; i < store->version_count; i++) {
        if (store->versions[i]->is_listed)
            continue;
        store->versions[i]->state = ONNXD_MODEL_UNLOADING;
        is_any = true;
    }
    pthread_mutex_unlock(&store->mutex);
    if (is_any)
        tell_changed(store);
}

/* Exchanges the table for one with exactly the versions of the scan, and ends the others. */
static onnxd_status *exchange(onnxd_store *store, const onnxd_scan *scan)
{
    onnxd_store_version **table = onnxd_alloc_zero(scan->count, sizeof(onnxd_store_version *));
    if (table == NULL || !match_versions(store, scan, table)) {
        for (size_t i = 0; table != NULL && i < scan->count; i++)
            if (table[i] != NULL && table[i]->is_fresh)
                version_destroy(table[i]);
        onnxd_free(table);
        return onnxd_error_out_of_memory("the table of models", scan->count * sizeof(table[0]),
                                         UINT64_MAX);
    }
    for (size_t i = 0; i < scan->count; i++)
        table[i]->is_fresh = false;
    mark_unloading(store);
    pthread_mutex_lock(&store->mutex);
    onnxd_store_version **old = store->versions;
    const size_t old_count = store->version_count;
    store->versions = table;
    store->version_count = scan->count;
    pthread_mutex_unlock(&store->mutex);
    for (size_t i = 0; i < old_count; i++)
        if (!old[i]->is_listed)
            end_version(store, old[i]);
    onnxd_free(old);
    return NULL;
}

onnxd_scan_options onnxd_store_scan_options(const onnxd_store *store)
{
    return (onnxd_scan_options){
        .sources = (const char *const *)store->sources,
        .file_model_name = store->file_model_name,
        .max_versions = store->options.max_versions,
    };
}

static onnxd_status *take_scan(onnxd_store *store, onnxd_scan *out_scan)
{
    const onnxd_scan_options options = onnxd_store_scan_options(store);
    if (!store->has_first_scan)
        return onnxd_scan_sources(&options, out_scan);
    *out_scan = store->first_scan;
    store->has_first_scan = false;
    return NULL;
}

/* The versions of one name: [first, end). */
static size_t end_of_name(const onnxd_store *store, size_t first)
{
    size_t end = first + 1;
    while (end < store->version_count &&
           strcmp(store->versions[end]->name, store->versions[first]->name) == 0)
        end++;
    return end;
}

static bool is_serving(const onnxd_store *store, size_t first, size_t end)
{
    for (size_t i = first; i < end; i++)
        if (store->versions[i]->model != NULL)
            return true;
    return false;
}

/* What serves keeps its place; the places left go to the others by name. */
static void give_places(onnxd_store *store)
{
    uint32_t places = store->options.max_models;
    for (size_t first = 0, end; first < store->version_count; first = end) {
        end = end_of_name(store, first);
        if (places > 0 && is_serving(store, first, end))
            places--;
    }
    for (size_t first = 0, end; first < store->version_count; first = end) {
        end = end_of_name(store, first);
        bool has_place = is_serving(store, first, end);
        if (!has_place && places > 0) {
            has_place = true;
            places--;
        }
        for (size_t i = first; i < end; i++)
            store->versions[i]->has_place = has_place;
    }
}

static void load_all(onnxd_store *store, const onnxd_scan *scan)
{
    give_places(store);
    for (size_t i = 0; i < scan->count && !atomic_load(&store->is_stopping); i++)
        if (needs_load(store->versions[i], &scan->items[i]))
            load_version(store, store->versions[i], &scan->items[i]);
}

static void log_scan(onnxd_store *store)
{
    size_t ready = 0;
    size_t failed = 0;
    pthread_mutex_lock(&store->mutex);
    for (size_t i = 0; i < store->version_count; i++) {
        ready += store->versions[i]->state == ONNXD_MODEL_READY;
        failed += store->versions[i]->state == ONNXD_MODEL_UNAVAILABLE;
    }
    pthread_mutex_unlock(&store->mutex);
    onnxd_log(failed != 0 ? ONNXD_LOG_WARN : ONNXD_LOG_INFO, "model",
              "models reloaded: ready=%zu failed=%zu", ready, failed);
}

static void scan_once(onnxd_store *store)
{
    onnxd_scan scan = {.items = NULL};
    onnxd_status *status = take_scan(store, &scan);
    if (status == NULL)
        status = exchange(store, &scan);
    if (status == NULL)
        load_all(store, &scan);
    else
        onnxd_log(ONNXD_LOG_ERROR, "model", "scan failed, what is loaded stays: reason=%s",
                  onnxd_status_message(status));
    onnxd_status_free(status);
    onnxd_scan_deinit(&scan);
    pthread_mutex_lock(&store->mutex);
    const bool is_first = !store->is_loaded;
    store->is_loaded = true;
    pthread_mutex_unlock(&store->mutex);
    if (is_first)
        tell_changed(store);
    else
        log_scan(store);
}

static void drop_all(onnxd_store *store)
{
    pthread_mutex_lock(&store->mutex);
    onnxd_store_version **versions = store->versions;
    const size_t count = store->version_count;
    store->versions = NULL;
    store->version_count = 0;
    pthread_mutex_unlock(&store->mutex);
    for (size_t i = 0; i < count; i++)
        version_destroy(versions[i]);
    onnxd_free(versions);
}

void *onnxd_store_loader_main(void *argument)
{
    onnxd_store *store = argument;
    for (;;) {
        const uint32_t orders = onnxd_reaper_wait(store->reaper);
        if ((orders & ONNXD_STORE_STOP) != 0)
            break;
        scan_once(store);
    }
    drop_all(store);
    onnxd_reaper_close(store->reaper);
    return NULL;
}
