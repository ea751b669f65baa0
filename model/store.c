#include "model/store.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "model/internal.h"
#include "model/reaper.h"
#include "model/store_scan.h"
#include "model/worker.h"

#define DEFAULT_MAX_MODELS 64
#define DEFAULT_MAX_VERSIONS 4

enum { ORDER_SCAN = 1, ORDER_STOP = 2 };

/* One version. Written by the loader thread under the store's mutex, so that thread may read it
 * without. */
typedef struct store_version {
    char *name;
    char *path;
    int64_t version;
    onnxd_file_stamp stamp; /* of what was loaded, or tried, last */
    bool is_over_limit, has_failed;
    bool is_listed; /* by the scan in hand */
    bool is_fresh;  /* made by the scan in hand */
    onnxd_model_state state;
    char *reason;       /* NULL: none */
    onnxd_model *model; /* READY only */
} store_version;

struct onnxd_store {
    onnxd_runtime *runtime;
    onnxd_store_options options;
    char **sources;
    char *file_model_name; /* NULL: none */
    onnxd_reaper *reaper;
    onnxd_worker loader;
    atomic_bool is_stopping;
    onnxd_scan first_scan; /* what start() saw, until the loader thread has taken it */
    bool has_first_scan;
    pthread_mutex_t mutex;
    /* under the mutex */
    store_version **versions; /* by name, then version */
    size_t version_count;
    bool is_loaded;
};

const char *onnxd_model_state_name(onnxd_model_state state)
{
    static const char *const names[] = {"LOADING", "READY", "UNLOADING", "UNAVAILABLE"};
    return (size_t)state < ONNXD_COUNT(names) ? names[state] : "UNKNOWN";
}

/* ---- versions, on the loader thread -------------------------------------------------------- */

static void version_destroy(store_version *version)
{
    if (version == NULL)
        return;
    onnxd_model_release(version->model);
    onnxd_free(version->name);
    onnxd_free(version->path);
    onnxd_free(version->reason);
    onnxd_free(version);
}

static store_version *version_create(const onnxd_scan_item *item)
{
    store_version *version = onnxd_alloc_zero(1, sizeof(*version));
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

static int compare(const store_version *version, const char *name, int64_t number)
{
    const int order = strcmp(version->name, name);
    if (order != 0)
        return order;
    return (version->version > number) - (version->version < number);
}

static void publish(onnxd_store *store, store_version *version, onnxd_model *model)
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
static void publish_failure(onnxd_store *store, store_version *version, const char *message)
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

static void load_version(onnxd_store *store, store_version *version, const onnxd_scan_item *item)
{
    const int64_t start_ns = onnxd_now_ns();
    onnxd_model *model = NULL;
    onnxd_status *status = NULL;
    version->stamp = item->stamp;
    version->is_over_limit = item->is_over_limit;
    if (item->is_over_limit)
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

static bool needs_load(const store_version *version, const onnxd_scan_item *item)
{
    return version->has_failed || version->state == ONNXD_MODEL_LOADING ||
           version->is_over_limit != item->is_over_limit ||
           strcmp(version->path, item->path) != 0 ||
           !onnxd_file_stamp_equal(&version->stamp, &item->stamp);
}

/* ---- reconciling with a scan --------------------------------------------------------------- */

static void end_version(onnxd_store *store, store_version *version)
{
    onnxd_log(ONNXD_LOG_INFO, "model", "unloaded: model=%s version=%" PRId64, version->name,
              version->version);
    version_destroy(version);
    tell_changed(store);
}

/* Fills `table` with the version of every item: the one known already, or a fresh one. Both lists
 * are in one order. False when memory is short. */
static bool match_versions(onnxd_store *store, const onnxd_scan *scan, store_version **table)
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
    store_version **table = onnxd_alloc_zero(scan->count, sizeof(store_version *));
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
    store_version **old = store->versions;
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

static onnxd_scan_options scan_options(const onnxd_store *store)
{
    return (onnxd_scan_options){
        .sources = (const char *const *)store->sources,
        .file_model_name = store->file_model_name,
        .max_models = store->options.max_models,
        .max_versions = store->options.max_versions,
    };
}

static onnxd_status *take_scan(onnxd_store *store, onnxd_scan *out_scan)
{
    const onnxd_scan_options options = scan_options(store);
    if (!store->has_first_scan)
        return onnxd_scan_sources(&options, out_scan);
    *out_scan = store->first_scan;
    store->has_first_scan = false;
    return NULL;
}

static void load_all(onnxd_store *store, const onnxd_scan *scan)
{
    for (size_t i = 0; i < scan->count && !atomic_load(&store->is_stopping); i++)
        if (needs_load(store->versions[i], &scan->items[i]))
            load_version(store, store->versions[i], &scan->items[i]);
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
}

static void drop_all(onnxd_store *store)
{
    pthread_mutex_lock(&store->mutex);
    store_version **versions = store->versions;
    const size_t count = store->version_count;
    store->versions = NULL;
    store->version_count = 0;
    pthread_mutex_unlock(&store->mutex);
    for (size_t i = 0; i < count; i++)
        version_destroy(versions[i]);
    onnxd_free(versions);
}

static void *loader_main(void *argument)
{
    onnxd_store *store = argument;
    for (;;) {
        const uint32_t orders = onnxd_reaper_wait(store->reaper);
        if ((orders & ORDER_STOP) != 0)
            break;
        scan_once(store);
    }
    drop_all(store);
    onnxd_reaper_close(store->reaper);
    return NULL;
}

/* ---- life ---------------------------------------------------------------------------------- */

static void free_sources(char **sources)
{
    for (size_t i = 0; sources != NULL && sources[i] != NULL; i++)
        onnxd_free(sources[i]);
    onnxd_free(sources);
}

static onnxd_status *copy_sources(const char *const *sources, char ***out_copy)
{
    size_t count = 0;
    while (sources[count] != NULL)
        count++;
    char **copy = onnxd_alloc_zero(count + 1, sizeof(char *));
    bool is_complete = copy != NULL;
    for (size_t i = 0; i < count && is_complete; i++) {
        copy[i] = onnxd_strdup(sources[i]);
        is_complete = copy[i] != NULL;
    }
    if (!is_complete) {
        free_sources(copy);
        return onnxd_error_out_of_memory("the store's sources", count * sizeof(char *), UINT64_MAX);
    }
    *out_copy = copy;
    return NULL;
}

onnxd_status *onnxd_store_create(onnxd_runtime *runtime, const onnxd_store_options *options,
                                 onnxd_store **out_store)
{
    onnxd_status *status = NULL;
    onnxd_store *store = onnxd_alloc_zero(1, sizeof(*store));
    if (store == NULL)
        return onnxd_error_out_of_memory("the store", sizeof(*store), UINT64_MAX);
    pthread_mutex_init(&store->mutex, NULL);
    store->runtime = runtime;
    store->options = *options;
    if (store->options.max_models == 0)
        store->options.max_models = DEFAULT_MAX_MODELS;
    if (store->options.max_versions == 0)
        store->options.max_versions = DEFAULT_MAX_VERSIONS;
    status = copy_sources(options->sources, &store->sources);
    if (status != NULL)
        goto fail;
    if (options->file_model_name != NULL) {
        store->file_model_name = onnxd_strdup(options->file_model_name);
        if (store->file_model_name == NULL) {
            status = onnxd_error_out_of_memory("the store", 0, UINT64_MAX);
            goto fail;
        }
    }
    status = onnxd_reaper_create(&store->reaper);
    if (status != NULL)
        goto fail;
    *out_store = store;
    return NULL;
fail:
    onnxd_store_destroy(store);
    return status;
}

onnxd_status *onnxd_store_start(onnxd_store *store)
{
    const onnxd_scan_options options = scan_options(store);
    ONNXD_TRY(onnxd_scan_sources(&options, &store->first_scan));
    store->has_first_scan = true;
    onnxd_reaper_order(store->reaper, ORDER_SCAN);
    return onnxd_worker_start(&store->loader, "onnxd-loader", loader_main, store);
}

void onnxd_store_reload(onnxd_store *store)
{
    onnxd_reaper_order(store->reaper, ORDER_SCAN);
}

void onnxd_store_stop(onnxd_store *store)
{
    atomic_store(&store->is_stopping, true);
    onnxd_reaper_order(store->reaper, ORDER_STOP);
    onnxd_worker_join(&store->loader);
}

void onnxd_store_destroy(onnxd_store *store)
{
    if (store == NULL)
        return;
    if (store->reaper != NULL)
        onnxd_store_stop(store);
    onnxd_reaper_release(store->reaper);
    if (store->has_first_scan)
        onnxd_scan_deinit(&store->first_scan);
    free_sources(store->sources);
    onnxd_free(store->file_model_name);
    pthread_mutex_destroy(&store->mutex);
    onnxd_free(store);
}

/* ---- look-up ------------------------------------------------------------------------------- */

static bool has_name(const store_version *version, const char *name, size_t length)
{
    return strlen(version->name) == length && memcmp(version->name, name, length) == 0;
}

/* The newest ready version, or the newest of all when none is ready. NULL: no such name. */
static store_version *newest_locked(const onnxd_store *store, const char *name, size_t length)
{
    store_version *newest = NULL, *ready = NULL;
    for (size_t i = 0; i < store->version_count; i++) {
        store_version *version = store->versions[i];
        if (!has_name(version, name, length))
            continue;
        newest = version;
        if (version->state == ONNXD_MODEL_READY)
            ready = version;
    }
    return ready != NULL ? ready : newest;
}

static store_version *version_locked(const onnxd_store *store, const char *name, size_t length,
                                     int64_t number)
{
    for (size_t i = 0; i < store->version_count; i++)
        if (store->versions[i]->version == number && has_name(store->versions[i], name, length))
            return store->versions[i];
    return NULL;
}

/* What onnxd_store_find() found, copied out from under the mutex. */
typedef struct finding {
    bool is_known;
    onnxd_model *model;
    onnxd_model_state state;
    int64_t version;
    char reason[512];
} finding;

static void look_up(onnxd_store *store, const char *name, size_t length, int64_t number,
                    finding *out)
{
    pthread_mutex_lock(&store->mutex);
    const store_version *version = number == 0 ? newest_locked(store, name, length)
                                               : version_locked(store, name, length, number);
    if (version != NULL) {
        out->is_known = true;
        out->state = version->state;
        out->version = version->version;
        if (version->model != NULL)
            out->model = onnxd_model_retain(version->model);
        else if (version->reason != NULL)
            snprintf(out->reason, sizeof(out->reason), "%s", version->reason);
    }
    pthread_mutex_unlock(&store->mutex);
}

onnxd_status *onnxd_store_find(onnxd_store *store, const char *name, size_t name_length,
                               int64_t version, onnxd_model **out_model)
{
    finding found = {.is_known = false};
    const int shown = (int)(name_length > 128 ? 128 : name_length);
    look_up(store, name, name_length, version, &found);
    if (found.model != NULL) {
        *out_model = found.model;
        return NULL;
    }
    if (!found.is_known && version == 0)
        return onnxd_error(ONNXD_NOT_FOUND, "Request for unknown model: '%.*s' is not found", shown,
                           name);
    if (!found.is_known)
        return onnxd_error(ONNXD_NOT_FOUND,
                           "Request for unknown model: '%.*s' version %" PRId64 " is not found",
                           shown, name, version);
    if (found.state == ONNXD_MODEL_UNAVAILABLE)
        return onnxd_error(ONNXD_UNAVAILABLE, "'%.*s' version %" PRId64 " is not available: %s",
                           shown, name, found.version, found.reason);
    return onnxd_error(ONNXD_UNAVAILABLE, "'%.*s' version %" PRId64 " is not at ready state", shown,
                       name, found.version);
}

void onnxd_store_release_model(onnxd_store *store, onnxd_model *model)
{
    (void)store; /* the model itself knows its reaper */
    onnxd_model_release(model);
}

void onnxd_store_visit(onnxd_store *store,
                       void (*visit)(const onnxd_store_entry *entry, void *user), void *user)
{
    pthread_mutex_lock(&store->mutex);
    for (size_t i = 0; i < store->version_count; i++) {
        const store_version *version = store->versions[i];
        const onnxd_store_entry entry = {
            .name = version->name,
            .version = version->version,
            .state = version->state,
            .reason = version->state == ONNXD_MODEL_UNAVAILABLE && version->reason != NULL
                          ? version->reason
                          : "",
        };
        visit(&entry, user);
    }
    pthread_mutex_unlock(&store->mutex);
}

bool onnxd_store_is_loaded(onnxd_store *store, uint32_t *out_failed_count)
{
    uint32_t failed = 0;
    pthread_mutex_lock(&store->mutex);
    const bool is_loaded = store->is_loaded;
    for (size_t i = 0; i < store->version_count; i++)
        failed += store->versions[i]->state == ONNXD_MODEL_UNAVAILABLE;
    pthread_mutex_unlock(&store->mutex);
    if (out_failed_count != NULL)
        *out_failed_count = failed;
    return is_loaded;
}
