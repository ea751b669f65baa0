/*
 * `onnxd serve` as one object: the loop, what it serves with, and how it starts, reloads and ends.
 *
 *   open ─► listen ─► loop { SIGHUP: reload; SIGTERM: drain } ─► http closed ─► loop stops ─► close
 *
 * The loop thread never waits: the configuration is read again on a work thread, models are loaded
 * by the store's own thread. What may block at the end (stopping scheduler and store) runs after
 * the loop.
 *
 * Threads: the loop thread, which is the main thread, except where a function says otherwise.
 */
#ifndef ONNXD_DAEMON_SERVICE_H
#define ONNXD_DAEMON_SERVICE_H

#include <uv.h>

#include "daemon/command.h"
#include "daemon/wire.h"

typedef enum onnxd_service_phase {
    ONNXD_PHASE_LOADING, /* until every version of the first scan is ready or has failed */
    ONNXD_PHASE_SERVING,
    ONNXD_PHASE_DRAINING,
    ONNXD_PHASE_CLOSING,
    ONNXD_PHASE_CLOSED /* the server's handles are closed */
} onnxd_service_phase;

typedef struct onnxd_service {
    const onnxd_invocation *invocation;
    const onnxd_config *started; /* the configuration of the start */
    const onnxd_config *current; /* of the last reload, or `started` */
    onnxd_config *owned;         /* `current` when a reload made it */

    uv_loop_t loop;
    bool has_loop, has_handles;
    uv_signal_t terminate, interrupt, hangup;
    uv_timer_t watchdog, startup, deadline;
    uv_async_t changed; /* sent by the store's thread */

    onnxd_engine engine;
    onnxd_store *store;
    onnxd_scheduler *scheduler;
    onnxd_http_server *http;

    onnxd_service_phase phase;
    int exit_code;

    /* reload: written by the work thread between queueing and its end */
    uv_work_t work;
    bool is_reloading, reload_again;
    onnxd_config_report report;
    onnxd_config *loaded;
    onnxd_status *load_status;
} onnxd_service;

/* ---- service_events.c ---------------------------------------------------------------------- */

/* Makes and starts signals, timers and the async handle. */
ONNXD_NODISCARD onnxd_status *onnxd_service_start_events(onnxd_service *service);
/* Closes them; the loop has to run once more. */
void onnxd_service_close_events(onnxd_service *service);
/* Looks at the store: tells systemd and the log when loading is over or has changed. */
void onnxd_service_refresh(onnxd_service *service);
/* Ends connections and requests at once; the loop stops when that is done. */
void onnxd_service_close_http(onnxd_service *service);
/* From here on the process ends within seconds, whatever does not return: an alarm exits it with
 * the service's exit code. Again: starts the time anew. */
void onnxd_service_arm_last_resort(onnxd_service *service);

/* ---- service_reload.c ---------------------------------------------------------------------- */

/* Reads the configuration again on a work thread, takes the reloadable options over and lets the
 * store scan. While one is running, another is remembered. */
void onnxd_service_reload(onnxd_service *service);

/* ---- metrics.c ----------------------------------------------------------------------------- */

/* Metrics of memory, providers and log, as text. `user` is the service. */
void onnxd_service_write_metrics(onnxd_strbuf *out, void *user);

#endif
