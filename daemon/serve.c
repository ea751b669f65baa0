#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/clock.h"
#include "daemon/service.h"
#include "daemon/version.h"

#define RESERVED_DESCRIPTORS 64u
#define ADDRESS_BYTES 256

/* ---- start --------------------------------------------------------------------------------- */

/* Connections and the process's own descriptors must fit under the hard limit: running out while
 * serving would refuse health checks too. */
static onnxd_status *reserve_descriptors(const onnxd_config *config)
{
    struct rlimit limit;
    rlim_t needed = (rlim_t)config->http_max_connections + RESERVED_DESCRIPTORS;

    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= needed)
        return NULL;
    limit.rlim_cur = limit.rlim_max < needed ? limit.rlim_max : needed;
    if (setrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur >= needed)
        return NULL;
    return onnxd_error(ONNXD_INVALID_ARGUMENT,
                       "http.max_connections: %u connections need %llu file descriptors, the limit "
                       "of this process is %llu",
                       config->http_max_connections, (unsigned long long)needed,
                       (unsigned long long)limit.rlim_max);
}

/* On the loader thread. */
static void on_store_changed(void *user)
{
    onnxd_service *service = user;
    uv_async_send(&service->changed);
}

static onnxd_status *create_parts(onnxd_service *service)
{
    const onnxd_config *config = service->started;
    onnxd_store_options store_options = {
        .sources = config->models_sources,
        .file_model_name = config->models_name[0] != '\0' ? config->models_name : NULL,
        .max_models = config->models_max_models,
        .max_versions = config->models_max_versions,
        .model = onnxd_wire_model_options(config),
        .changed = on_store_changed,
        .user = service,
    };
    onnxd_scheduler_options scheduler_options = onnxd_wire_scheduler_options(config);
    onnxd_http_options http_options = onnxd_wire_http_options(config);

    ONNXD_TRY(onnxd_engine_open(config, 0, &service->engine));
    ONNXD_TRY(onnxd_store_create(service->engine.runtime, &store_options, &service->store));
    ONNXD_TRY(
        onnxd_scheduler_create(service->engine.runtime, &scheduler_options, &service->scheduler));
    onnxd_http_services services = {
        .store = service->store,
        .scheduler = service->scheduler,
        .server_name = "onnxd",
        .server_version = ONNXD_VERSION,
        .write_metrics = onnxd_service_write_metrics,
        .user = service,
    };
    return onnxd_http_server_create(&service->loop, &http_options, &services, &service->http);
}

static onnxd_status *listen_all(onnxd_service *service)
{
    char bound[ADDRESS_BYTES];
    const char *const *addresses = service->started->http_listen;

    if (addresses[0] == NULL)
        return onnxd_error(ONNXD_INVALID_ARGUMENT, "http.listen is empty: give an address");
    for (size_t i = 0; addresses[i] != NULL; i++) {
        ONNXD_TRY(onnxd_http_server_listen(service->http, addresses[i], bound, sizeof(bound)));
        onnxd_log(ONNXD_LOG_INFO, "daemon", "listening address=%s", bound);
    }
    return NULL;
}

static onnxd_status *open_service(onnxd_service *service)
{
    if (service->started->models_sources[0] == NULL)
        return onnxd_error(ONNXD_INVALID_ARGUMENT, "models.sources is empty: give an .onnx file or "
                                                   "--model-repository");
    ONNXD_TRY(reserve_descriptors(service->started));
    if (uv_loop_init(&service->loop) != 0)
        return onnxd_error(ONNXD_INTERNAL, "cannot make an event loop");
    service->has_loop = true;
    ONNXD_TRY(onnxd_service_start_events(service));
    ONNXD_TRY(create_parts(service));
    ONNXD_TRY(onnxd_store_start(service->store));
    return listen_all(service);
}

/* ---- end ----------------------------------------------------------------------------------- */

static void log_served(const onnxd_http_server *http)
{
    onnxd_http_stats stats = onnxd_http_server_query(http);
    onnxd_log(ONNXD_LOG_INFO, "daemon",
              "served requests=%" PRIu64 " responses_2xx=%" PRIu64 " responses_4xx=%" PRIu64
              " responses_5xx=%" PRIu64,
              stats.requests, stats.responses_2xx, stats.responses_4xx, stats.responses_5xx);
}

/* Threads before what they call back: a device thread may still be inside the wake-up of the
 * server's mailbox when the last request has come back, and the loader thread may send `changed`
 * for as long as it lives. */
static void close_service(onnxd_service *service)
{
    onnxd_service_arm_last_resort(service);
    if (service->http != NULL) {
        onnxd_service_close_http(service);
        while (service->phase != ONNXD_PHASE_CLOSED)
            uv_run(&service->loop, UV_RUN_ONCE);
        log_served(service->http);
    }
    if (service->scheduler != NULL)
        onnxd_scheduler_stop(service->scheduler, onnxd_now_ns());
    if (service->store != NULL)
        onnxd_store_stop(service->store);
    onnxd_scheduler_destroy(service->scheduler);
    onnxd_http_server_destroy(service->http);
    onnxd_store_destroy(service->store);
    onnxd_engine_close(&service->engine);
    if (!service->has_loop)
        return;
    onnxd_service_close_events(service);
    uv_run(&service->loop, UV_RUN_DEFAULT);
    int code = uv_loop_close(&service->loop);
    if (code != 0) {
        onnxd_log(ONNXD_LOG_ERROR, "daemon", "the event loop did not close clean: %s",
                  uv_strerror(code));
        service->exit_code = EXIT_FAILURE;
    }
}

/* What is not at its default, and where it was set. */
static void log_settings(const onnxd_config *config)
{
    for (size_t i = 0; i < onnxd_option_count(); i++)
        if (config->origins[i] != NULL)
            onnxd_log(ONNXD_LOG_DEBUG, "config", "set: key=%s by=%s", onnxd_option_at(i)->key,
                      config->origins[i]);
}

int onnxd_command_serve(const onnxd_invocation *invocation, const onnxd_config *config)
{
    onnxd_service service = {
        .invocation = invocation,
        .started = config,
        .current = config,
        .exit_code = EXIT_SUCCESS,
    };
    /* There is nothing to reload until the loop runs, and no reason to end. */
    signal(SIGHUP, SIG_IGN);
    onnxd_status *status = onnxd_log_start();
    if (status != NULL)
        return onnxd_cli_fail(status, false);
    onnxd_log(ONNXD_LOG_INFO, "daemon", "starting version=%s config=%s", ONNXD_VERSION,
              config->file != NULL ? config->file : "none");
    log_settings(config);
    status = open_service(&service);
    if (status == NULL)
        uv_run(&service.loop, UV_RUN_DEFAULT);
    else
        service.exit_code = onnxd_cli_exit_code(status, true);
    close_service(&service);
    onnxd_config_destroy(service.owned);
    if (status == NULL) {
        onnxd_log(ONNXD_LOG_INFO, "daemon", "stopped");
    } else {
        onnxd_log(ONNXD_LOG_ERROR, "daemon", "start failed: %s", onnxd_status_message(status));
        onnxd_status_free(status);
    }
    onnxd_log_stop();
    return service.exit_code;
}
