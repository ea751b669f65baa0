#include "daemon/check.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/suggest.h"
#include "daemon/wire.h"
#include "ep/cpu/cpu_ep.h"
#include "ep/options.h"
#include "graph/passes.h"

#define KEY_BYTES 256
/* The largest field that an option of a provider is written to. */
#define FIELD_BYTES sizeof(int64_t)

/* Puts `status` into the report, unless it says that memory is short. */
static onnxd_status *take(onnxd_config_report *report, const char *where, const char *key,
                          onnxd_status *status)
{
    if (status == NULL || onnxd_status_code(status) == ONNXD_OUT_OF_MEMORY)
        return status;
    onnxd_config_fault(report, where, key, "%s", onnxd_status_message(status));
    onnxd_status_free(status);
    return NULL;
}

/* ---- passes -------------------------------------------------------------------------------- */

static void check_pass(const onnxd_config *config, const char *name, onnxd_config_report *report)
{
    static const char key[] = "models.disabled_passes";
    const onnxd_pass *const *const lists[] = {onnxd_passes, onnxd_cpu_ep_passes()};
    onnxd_suggest suggest = {.name = name};
    for (size_t i = 0; i < ONNXD_COUNT(lists); i++)
        for (const onnxd_pass *const *pass = lists[i]; *pass != NULL; pass++) {
            if (strcmp((*pass)->name, name) == 0)
                return;
            onnxd_suggest_offer(&suggest, (*pass)->name);
        }
    if (suggest.best != NULL)
        onnxd_config_fault(report, onnxd_config_origin(config, key), key,
                           "'%.128s' is no graph pass, did you mean '%s'?", name, suggest.best);
    else
        onnxd_config_fault(report, onnxd_config_origin(config, key), key,
                           "'%.128s' is no graph pass", name);
}

/* ---- providers ----------------------------------------------------------------------------- */

/* One at a time, so that each option is reported at its own place. */
static onnxd_status *check_option(const onnxd_ep_option_def *defs, const onnxd_config_pair *pair)
{
    onnxd_ep_option option = {pair->key, pair->value};
    onnxd_ep_config config = {.options = &option, .option_count = 1};
    size_t count = 0;
    size_t bytes = FIELD_BYTES;

    for (; defs[count].key != NULL; count++)
        if (defs[count].offset + FIELD_BYTES > bytes)
            bytes = defs[count].offset + FIELD_BYTES;
    void *fields = onnxd_alloc_zero(1, bytes);
    if (fields == NULL)
        return onnxd_error_out_of_memory("provider options", bytes, UINT64_MAX);
    onnxd_status *status = onnxd_ep_options_parse(defs, count, &config, fields);
    onnxd_free(fields);
    return status;
}

static onnxd_status *check_provider(onnxd_provider_set *set, const onnxd_config_provider *provider,
                                    size_t index, onnxd_config_report *report)
{
    static const onnxd_ep_option_def no_options[] = {{.key = NULL}};
    char key[KEY_BYTES];

    snprintf(key, sizeof(key), "providers[%zu].%s", index,
             provider->module != NULL ? "module" : "name");
    uint32_t before = report->error_count;
    ONNXD_TRY(take(report, provider->origin, key, onnxd_provider_set_add(set, provider)));
    if (report->error_count != before)
        return NULL;
    const onnxd_ep_api *api = onnxd_provider_set_find(set, provider->name);
    for (size_t i = 0; i < provider->option_count; i++) {
        const onnxd_config_pair *pair = &provider->options[i];
        snprintf(key, sizeof(key), "providers[%zu].options.%.128s", index, pair->key);
        ONNXD_TRY(
            take(report, pair->origin, key,
                 check_option(api->option_defs != NULL ? api->option_defs : no_options, pair)));
    }
    return NULL;
}

onnxd_status *onnxd_check_config(const onnxd_config *config, onnxd_config_report *report)
{
    onnxd_provider_set *set = NULL;
    onnxd_status *status = NULL;

    ONNXD_TRY(onnxd_provider_set_create_basic(&set));
    for (const char *const *name = config->models_disabled_passes; *name != NULL; name++)
        check_pass(config, *name, report);
    for (size_t i = 0; i < config->provider_count && status == NULL; i++)
        status = check_provider(set, &config->providers[i], i, report);
    onnxd_provider_set_destroy(set);
    if (status == NULL && report->error_count != 0)
        status = onnxd_error(ONNXD_INVALID_ARGUMENT, "%u problem%s in the configuration",
                             report->error_count, report->error_count == 1 ? "" : "s");
    return status;
}
