/* What the two files of the store share. Included by them alone. */
#ifndef ONNXD_MODEL_STORE_INTERNAL_H
#define ONNXD_MODEL_STORE_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>

#include "model/reaper.h"
#include "model/store.h"
#include "model/store_scan.h"
#include "model/worker.h"

/* What the loader thread is told through its reaper. */
enum { ONNXD_STORE_SCAN = 1, ONNXD_STORE_STOP = 2 };

/* One version. The mutex guards `state`, `reason` and `model`: only the loader thread writes them,
 * so that thread may read them without. Name and number never change; everything else is the loader
 * thread's own. */
typedef struct onnxd_store_version {
    char *name;
    char *path; /* of the file that was loaded, or tried, last */
    int64_t version;
    onnxd_file_stamp stamp; /* of that file */
    bool has_failed;
    bool has_place; /* within max_models; others are known, never loaded */
    bool is_listed; /* by the scan in hand */
    bool is_fresh;  /* made by the scan in hand */
    onnxd_model_state state;
    char *reason;       /* NULL: none */
    onnxd_model *model; /* NULL unless it serves */
} onnxd_store_version;

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
    /* Under the mutex, with the same exception for the loader thread. */
    onnxd_store_version **versions; /* by name, then version */
    size_t version_count;
    bool is_loaded;
};

/* They borrow from the store. */
onnxd_scan_options onnxd_store_scan_options(const onnxd_store *store);
/* The loader thread: scans, loads and unloads until it is told to stop. `argument` is the store. */
void *onnxd_store_loader_main(void *argument);

#endif
