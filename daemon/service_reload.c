#include <string.h>
#include <unistd.h>

#include "daemon/notify.h"
#include "daemon/service.h"

static void log_lines(const onnxd_strbuf *lines, onnxd_log_level level)
{
    const char *line = lines->data;
    while (line != NULL && *line != '\0') {
        size_t length = strcspn(line, "\n");
        onnxd_log(level, "config", "%.*s", (int)length, line);
        line += length + (line[length] == '\n');
    }
}

/* On a work thread. */
static void read_again(uv_work_t *work)
{
    onnxd_service *service = work->data;
    onnxd_config_sources sources = {
        .file = service->invocation->config_file,
        .environment = (const char *const *)environ,
        .flags = service->invocation->flags,
        .flag_count = service->invocation->flag_count,
    };
    onnxd_config_report_init(&service->report);
    service->load_status = onnxd_config_load(&sources, &service->report, &service->loaded);
}

/* What a reload cannot take over is said, not silently dropped. */
static void log_startup_changes(const onnxd_config *started, const onnxd_config *loaded)
{
    for (size_t i = 0; i < onnxd_option_count(); i++) {
        const onnxd_option *option = onnxd_option_at(i);
        if (!option->is_reloadable && !onnxd_option_equal(option, started, loaded))
            onnxd_log(ONNXD_LOG_WARN, "config", "takes effect at the next start key=%s",
                      option->key);
    }
    if (!onnxd_config_providers_equal(started, loaded))
        onnxd_log(ONNXD_LOG_WARN, "config", "takes effect at the next start key=providers");
}

static void apply(onnxd_service *service)
{
    log_startup_changes(service->started, service->loaded);
    onnxd_config_destroy(service->owned);
    service->owned = service->loaded;
    service->current = service->loaded;
    service->loaded = NULL;
    onnxd_log_set_level(service->current->logging_level);
    onnxd_store_reload(service->store);
    onnxd_log(ONNXD_LOG_INFO, "daemon", "configuration reloaded, scanning for models");
}

static void finish(uv_work_t *work, int code)
{
    onnxd_service *service = work->data;
    (void)code;
    service->is_reloading = false;
    log_lines(&service->report.warnings, ONNXD_LOG_WARN);
    log_lines(&service->report.errors, ONNXD_LOG_ERROR);
    onnxd_config_report_deinit(&service->report);
    if (service->load_status != NULL) {
        onnxd_log(ONNXD_LOG_ERROR, "daemon", "reload refused, nothing has changed: %s",
                  onnxd_status_message(service->load_status));
        onnxd_status_free(service->load_status);
        service->load_status = NULL;
    } else if (service->phase <= ONNXD_PHASE_SERVING) {
        apply(service);
    }
    onnxd_config_destroy(service->loaded);
    service->loaded = NULL;
    if (service->phase > ONNXD_PHASE_SERVING)
        return;
    if (service->phase == ONNXD_PHASE_SERVING)
        onnxd_notify_ready("reloaded");
    onnxd_service_refresh(service);
    if (service->reload_again)
        onnxd_service_reload(service);
}

void onnxd_service_reload(onnxd_service *service)
{
    service->reload_again = service->is_reloading;
    if (service->is_reloading)
        return;
    if (service->phase == ONNXD_PHASE_SERVING)
        onnxd_notify_reloading();
    service->work.data = service;
    service->is_reloading = uv_queue_work(&service->loop, &service->work, read_again, finish) == 0;
    if (service->is_reloading)
        return;
    onnxd_log(ONNXD_LOG_ERROR, "daemon", "reload refused: no work thread");
    if (service->phase == ONNXD_PHASE_SERVING)
        onnxd_notify_ready("reload refused");
}
