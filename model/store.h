/*
 * The store: which models are served. It reads a repository (or one file), loads every version on
 * its loader thread, publishes what is ready, and keeps the reason of what is not. One bad model
 * never hinders the others, and a failed reload leaves the old version serving.
 *
 * Repository forms: <dir>/<name>/<version>/model.onnx, <dir>/<name>/model.onnx (version 1),
 * <dir>/<name>.onnx (version 1), or a single file (its stem is the name).
 *
 * Threads: find, visit and is_loaded from any thread, never blocking for longer than a look-up;
 * start, reload and stop from one.
 */
#ifndef ONNXD_MODEL_STORE_H
#define ONNXD_MODEL_STORE_H

#include "model/model.h"

typedef enum onnxd_model_state {
    ONNXD_MODEL_LOADING,
    ONNXD_MODEL_READY,
    ONNXD_MODEL_UNLOADING,
    ONNXD_MODEL_UNAVAILABLE
} onnxd_model_state;
const char *onnxd_model_state_name(onnxd_model_state state); /* "LOADING", ... */

typedef struct onnxd_store_options {
    const char *const *sources; /* directories and .onnx files; NULL-terminated */
    /* The name of a source that is a single file, instead of its stem; NULL: the stem. With several
     * such sources it is INVALID_ARGUMENT at start. */
    const char *file_model_name;
    /* Per store, default 64: models that serve keep their place, further ones are UNAVAILABLE until
     * there is one. Per model, the newest are kept, default 4. 0 takes the default. */
    uint32_t max_models, max_versions;
    onnxd_model_options model; /* what it points to outlives the store */
    /* Called on the loader thread after each load or unload; may only post. May be NULL. */
    void (*changed)(void *user);
    void *user;
} onnxd_store_options;

typedef struct onnxd_store onnxd_store;

ONNXD_NODISCARD onnxd_status *onnxd_store_create(onnxd_runtime *runtime,
                                                 const onnxd_store_options *options,
                                                 onnxd_store **out_store);
/* Starts the loader thread and the first scan. A source that does not exist is an error at once. */
ONNXD_NODISCARD onnxd_status *onnxd_store_start(onnxd_store *store);
/* Scans again: new versions are loaded, vanished ones unloaded, those whose file or external data
 * changed reloaded. Returns at once; the work is done by the loader thread. */
void onnxd_store_reload(onnxd_store *store);
/* Cancels what is waiting, ends the loader thread, drops every version. Requests that still hold
 * one keep it alive. */
void onnxd_store_stop(onnxd_store *store);
void onnxd_store_destroy(onnxd_store *store);

/* A ready version, retained. `version` 0 is the newest ready one.
 * Errors: NOT_FOUND "Request for unknown model: 'x' is not found"; NOT_FOUND "... version 9 is not
 * found"; UNAVAILABLE while loading; UNAVAILABLE with the reason of the failure. */
ONNXD_NODISCARD onnxd_status *onnxd_store_find(onnxd_store *store, const char *name,
                                               size_t name_length, int64_t version,
                                               onnxd_model **out_model);
/* Gives a model back from any thread, the event loop included: a last release is carried out by the
 * loader thread. */
void onnxd_store_release_model(onnxd_store *store, onnxd_model *model);

typedef struct onnxd_store_entry {
    const char *name;
    int64_t version;
    onnxd_model_state state;
    const char *reason;                 /* of UNAVAILABLE; "" otherwise */
    const onnxd_statistics *statistics; /* of a version that serves; else NULL */
} onnxd_store_entry;
/* Calls visit for every known version, by name, then version ascending, under the store's lock:
 * visit must copy and return. */
void onnxd_store_visit(onnxd_store *store,
                       void (*visit)(const onnxd_store_entry *entry, void *user), void *user);
/* Every version of the first scan is ready or has failed. `out_failed_count` may be NULL. */
bool onnxd_store_is_loaded(onnxd_store *store, uint32_t *out_failed_count);

#endif
