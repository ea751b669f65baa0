#include "model/store.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "model/store_internal.h"

#define DEFAULT_MAX_MODELS 64
#define DEFAULT_MAX_VERSIONS 4

const char *onnxd_model_state_name(onnxd_model_state state)
{
    static const char *const names[] = {"LOADING", "READY", "UNLOADING", "UNAVAILABLE"};
    return (size_t)state < ONNXD_COUNT(names) ? names[state] : "UNKNOWN";
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
    const onnxd_scan_options options = onnxd_store_scan_options(store);
    ONNXD_TRY(onnxd_scan_sources(&options, &store->first_scan));
    store->has_first_scan = true;
    onnxd_reaper_order(store->reaper, ONNXD_STORE_SCAN);
    return onnxd_worker_start(&store->loader, "onnxd-loader", onnxd_store_loader_main, store);
}

void onnxd_store_reload(onnxd_store *store)
{
    onnxd_reaper_order(store->reaper, ONNXD_STORE_SCAN);
}

void onnxd_store_stop(onnxd_store *store)
{
    atomic_store(&store->is_stopping, true);
    onnxd_reaper_order(store->reaper, ONNXD_STORE_STOP);
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

/* As strcmp() on the version's name. */
static int compare_name(const onnxd_store_version *version, const char *name, size_t length)
{
    const size_t own = strlen(version->name);
    const int order = memcmp(version->name, name, own < length ? own : length);
    return order != 0 ? order : (own > length) - (own < length);
}

/* The first version that is not before (name, number). */
static size_t lower_bound(const onnxd_store *store, const char *name, size_t length, int64_t number)
{
    size_t low = 0, high = store->version_count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        const onnxd_store_version *version = store->versions[middle];
        const int order = compare_name(version, name, length);
        if (order < 0 || (order == 0 && version->version < number))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The newest ready version, or the newest of all when none is ready. NULL: no such name. */
static onnxd_store_version *newest_locked(const onnxd_store *store, const char *name, size_t length)
{
    onnxd_store_version *newest = NULL;
    const size_t first = lower_bound(store, name, length, 0);
    for (size_t i = first; i < store->version_count; i++) {
        onnxd_store_version *version = store->versions[i];
        if (compare_name(version, name, length) != 0)
            break;
        if (newest == NULL || version->state == ONNXD_MODEL_READY ||
            newest->state != ONNXD_MODEL_READY)
            newest = version;
    }
    return newest;
}

static onnxd_store_version *version_locked(const onnxd_store *store, const char *name,
                                           size_t length, int64_t number)
{
    const size_t at = lower_bound(store, name, length, number);
    if (at == store->version_count || store->versions[at]->version != number ||
        compare_name(store->versions[at], name, length) != 0)
        return NULL;
    return store->versions[at];
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
    const onnxd_store_version *version = number == 0 ? newest_locked(store, name, length)
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
        const onnxd_store_version *version = store->versions[i];
        const onnxd_store_entry entry = {
            .name = version->name,
            .version = version->version,
            .state = version->state,
            .reason = version->state == ONNXD_MODEL_UNAVAILABLE && version->reason != NULL
                          ? version->reason
                          : "",
            .statistics = version->model == NULL ? NULL : onnxd_model_statistics(version->model),
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
