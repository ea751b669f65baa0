#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "daemon/notify.h"
#include "daemon/service.h"

#define STARTUP_TICK_MS 5000u
#define STARTUP_EXTENSION_US UINT64_C(15000000)
/* How long the end waits for what cannot be interrupted: a kernel, the load of a model. */
#define LAST_PATIENCE_S 3u

/* ---- state --------------------------------------------------------------------------------- */

typedef struct model_counts {
    uint32_t ready, loading, failed;
} model_counts;

static void count_model(const onnxd_store_entry *entry, void *user)
{
    model_counts *counts = user;
    counts->ready += entry->state == ONNXD_MODEL_READY;
    counts->loading += entry->state == ONNXD_MODEL_LOADING;
    counts->failed += entry->state == ONNXD_MODEL_UNAVAILABLE;
}

void onnxd_service_refresh(onnxd_service *service)
{
    char status[128];
    model_counts counts = {0};

    if (service->phase > ONNXD_PHASE_SERVING)
        return;
    onnxd_store_visit(service->store, count_model, &counts);
    snprintf(status, sizeof(status), "models: %u ready, %u loading, %u failed", counts.ready,
             counts.loading, counts.failed);
    onnxd_log(ONNXD_LOG_DEBUG, "daemon", "%s", status);
    if (service->phase == ONNXD_PHASE_SERVING) {
        onnxd_notify_status(status);
        return;
    }
    if (!onnxd_store_is_loaded(service->store, NULL)) {
        onnxd_notify_status(status);
        return;
    }
    service->phase = ONNXD_PHASE_SERVING;
    uv_timer_stop(&service->startup);
    onnxd_notify_ready(status);
    onnxd_log(counts.failed != 0 ? ONNXD_LOG_WARN : ONNXD_LOG_INFO, "daemon",
              "ready models=%u failed=%u", counts.ready, counts.failed);
}

static void on_changed(uv_async_t *handle)
{
    onnxd_service_refresh(handle->data);
}

/* Models may take longer to load than systemd waits for a start. */
static void on_startup_tick(uv_timer_t *handle)
{
    onnxd_service *service = handle->data;
    onnxd_notify_extend(STARTUP_EXTENSION_US);
    onnxd_service_refresh(service);
}

static void on_watchdog(uv_timer_t *handle)
{
    (void)handle;
    onnxd_notify_watchdog();
}

/* ---- the end ------------------------------------------------------------------------------- */

static void on_http_closed(void *user)
{
    onnxd_service *service = user;
    service->phase = ONNXD_PHASE_CLOSED;
    uv_stop(&service->loop);
}

void onnxd_service_close_http(onnxd_service *service)
{
    if (service->phase >= ONNXD_PHASE_CLOSING)
        return;
    service->phase = ONNXD_PHASE_CLOSING;
    onnxd_http_server_close(service->http, on_http_closed, service);
}

static void on_drained(void *user)
{
    onnxd_log(ONNXD_LOG_INFO, "daemon", "drained");
    onnxd_service_close_http(user);
}

/* Cutting requests off is a failure that a supervisor should see. */
static void cut_off(onnxd_service *service)
{
    if (onnxd_http_server_query(service->http).in_flight != 0)
        service->exit_code = EXIT_FAILURE;
    onnxd_service_arm_last_resort(service);
    onnxd_service_close_http(service);
}

static void on_drain_deadline(uv_timer_t *handle)
{
    onnxd_service *service = handle->data;
    onnxd_log(ONNXD_LOG_WARN, "daemon", "drain timeout passed, cancelling what is in flight=%u",
              onnxd_http_server_query(service->http).in_flight);
    cut_off(service);
}

/* Of the process, since a signal handler reads it. */
static volatile sig_atomic_t last_exit_code;

static void on_last_resort(int number)
{
    static const char message[] = "onnxd: something did not end in time, exiting\n";
    (void)number;
    ssize_t ignored = write(STDERR_FILENO, message, sizeof(message) - 1);
    (void)ignored;
    _exit(last_exit_code);
}

void onnxd_service_arm_last_resort(onnxd_service *service)
{
    struct sigaction action = {.sa_handler = on_last_resort};
    last_exit_code = service->exit_code;
    if (sigaction(SIGALRM, &action, NULL) == 0)
        alarm(LAST_PATIENCE_S);
}

static void drain(onnxd_service *service, int number)
{
    uint32_t grace_ms = service->current->daemon_drain_grace_ms;
    uint32_t timeout_ms = service->current->daemon_drain_timeout_ms;

    service->phase = ONNXD_PHASE_DRAINING;
    uv_timer_stop(&service->startup);
    onnxd_notify_stopping();
    onnxd_log(ONNXD_LOG_INFO, "daemon", "draining signal=%d grace_ms=%u timeout_ms=%u in_flight=%u",
              number, grace_ms, timeout_ms, onnxd_http_server_query(service->http).in_flight);
    uv_timer_start(&service->deadline, on_drain_deadline, (uint64_t)grace_ms + timeout_ms, 0);
    onnxd_http_server_drain(service->http, grace_ms, on_drained, service);
}

static void on_terminate(uv_signal_t *handle, int number)
{
    onnxd_service *service = handle->data;
    if (service->phase < ONNXD_PHASE_DRAINING) {
        drain(service, number);
        return;
    }
    onnxd_log(ONNXD_LOG_WARN, "daemon", "second signal=%d, ending at once in_flight=%u", number,
              onnxd_http_server_query(service->http).in_flight);
    cut_off(service);
}

static void on_hangup(uv_signal_t *handle, int number)
{
    onnxd_service *service = handle->data;
    (void)number;
    if (service->phase <= ONNXD_PHASE_SERVING)
        onnxd_service_reload(service);
}

/* ---- handles ------------------------------------------------------------------------------- */

static onnxd_status *check_uv(int code, const char *what)
{
    if (code == 0)
        return NULL;
    return onnxd_error(ONNXD_INTERNAL, "%s: %s", what, uv_strerror(code));
}

static void init_handles(onnxd_service *service)
{
    uv_timer_init(&service->loop, &service->watchdog);
    uv_timer_init(&service->loop, &service->startup);
    uv_timer_init(&service->loop, &service->deadline);
    service->watchdog.data = service;
    service->startup.data = service;
    service->deadline.data = service;
    service->terminate.data = service;
    service->interrupt.data = service;
    service->hangup.data = service;
    service->changed.data = service;
}

onnxd_status *onnxd_service_start_events(onnxd_service *service)
{
    uint64_t watchdog_ms = onnxd_notify_watchdog_interval_ms();

    /* uv_signal_init fails for the first handle of a loop only: it makes the pipe they share. The
     * async handle comes first, so that a failure leaves no half-made set. */
    ONNXD_TRY(check_uv(uv_async_init(&service->loop, &service->changed, on_changed), "async"));
    int code = uv_signal_init(&service->loop, &service->terminate);
    if (code != 0) {
        uv_close((uv_handle_t *)&service->changed, NULL);
        return check_uv(code, "signals");
    }
    uv_signal_init(&service->loop, &service->interrupt);
    uv_signal_init(&service->loop, &service->hangup);
    init_handles(service);
    service->has_handles = true;

    ONNXD_TRY(check_uv(uv_signal_start(&service->terminate, on_terminate, SIGTERM), "SIGTERM"));
    ONNXD_TRY(check_uv(uv_signal_start(&service->interrupt, on_terminate, SIGINT), "SIGINT"));
    ONNXD_TRY(check_uv(uv_signal_start(&service->hangup, on_hangup, SIGHUP), "SIGHUP"));
    ONNXD_TRY(
        check_uv(uv_timer_start(&service->startup, on_startup_tick, 0, STARTUP_TICK_MS), "timer"));
    if (watchdog_ms != 0)
        ONNXD_TRY(check_uv(uv_timer_start(&service->watchdog, on_watchdog, 0, watchdog_ms),
                           "watchdog timer"));
    return NULL;
}

/* libuv gives the signal back to the system, which would end the process by it. */
static void close_hangup(onnxd_service *service)
{
    sigset_t hangup;
    sigemptyset(&hangup);
    sigaddset(&hangup, SIGHUP);
    pthread_sigmask(SIG_BLOCK, &hangup, NULL);
    uv_close((uv_handle_t *)&service->hangup, NULL);
    signal(SIGHUP, SIG_IGN);
}

void onnxd_service_close_events(onnxd_service *service)
{
    if (!service->has_handles)
        return;
    service->has_handles = false;
    uv_close((uv_handle_t *)&service->terminate, NULL);
    uv_close((uv_handle_t *)&service->interrupt, NULL);
    close_hangup(service);
    uv_close((uv_handle_t *)&service->watchdog, NULL);
    uv_close((uv_handle_t *)&service->startup, NULL);
    uv_close((uv_handle_t *)&service->deadline, NULL);
    uv_close((uv_handle_t *)&service->changed, NULL);
}
