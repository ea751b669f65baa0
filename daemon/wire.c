#include "daemon/wire.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/suggest.h"
#include "ep/cpu/cpu_ep.h"
#include "ops/ops.h"

/* ---- the set of providers ------------------------------------------------------------------ */

#define MAX_APIS (ONNXD_CONFIG_MAX_PROVIDERS + 1)

struct onnxd_provider_set {
    onnxd_ep_host host;
    const onnxd_ep_api *apis[MAX_APIS];
    size_t count;
};

static void log_for_provider(onnxd_log_level level, const char *module, const char *message)
{
    onnxd_log(level, module, "%s", message);
}

static onnxd_status *open_provider(const onnxd_ep_host *host, const char *name,
                                   uint32_t device_index, onnxd_ep **out_ep)
{
    const onnxd_provider_set *set = (const onnxd_provider_set *)(const void *)host;
    const onnxd_ep_api *api = onnxd_provider_set_find(set, name);
    if (api == NULL)
        return onnxd_error(ONNXD_NOT_FOUND, "no execution provider '%s'", name);
    return onnxd_ep_create(api, host, device_index, out_ep);
}

static onnxd_status *not_linked_in(const onnxd_provider_set *set, const char *name)
{
    onnxd_suggest suggest = {.name = name};
    for (size_t i = 0; i < set->count; i++)
        onnxd_suggest_offer(&suggest, set->apis[i]->name);
    if (suggest.best != NULL)
        return onnxd_error(ONNXD_INVALID_ARGUMENT,
                           "no provider '%s' is linked in, did you mean '%s'? Others need their "
                           "shared object as \"module\"",
                           name, suggest.best);
    return onnxd_error(ONNXD_INVALID_ARGUMENT,
                       "no provider '%s' is linked in: give its shared object as \"module\"", name);
}

/* The provider's code is linked in, loaded already, or loaded from its module. */
onnxd_status *onnxd_provider_set_add(onnxd_provider_set *set, const onnxd_config_provider *provider)
{
    const onnxd_ep_api *api = onnxd_provider_set_find(set, provider->name);
    if (api != NULL && (provider->module == NULL || api != onnxd_cpu_ep_api()))
        return NULL;
    if (provider->module == NULL)
        return not_linked_in(set, provider->name);
    ONNXD_TRY(onnxd_ep_module_load(provider->module, &api));
    if (strcmp(api->name, provider->name) != 0)
        return onnxd_error(ONNXD_INVALID_ARGUMENT, "module '%s' is provider '%s', not '%s'",
                           provider->module, api->name, provider->name);
    set->apis[set->count++] = api;
    onnxd_log(ONNXD_LOG_DEBUG, "ep", "module loaded: provider=%s version=%s path=%s", api->name,
              api->version, provider->module);
    return NULL;
}

onnxd_status *onnxd_provider_set_create_basic(onnxd_provider_set **out_set)
{
    onnxd_provider_set *set = onnxd_alloc_zero(1, sizeof(*set));
    if (set == NULL)
        return onnxd_error_out_of_memory("providers", sizeof(*set), UINT64_MAX);
    set->host = (onnxd_ep_host){
        .abi_version = ONNXD_EP_ABI_VERSION,
        .struct_size = sizeof(onnxd_ep_host),
        .ops = onnxd_ops(),
        .open_provider = open_provider,
        .log = log_for_provider,
    };
    set->apis[set->count++] = onnxd_cpu_ep_api();
    *out_set = set;
    return NULL;
}

onnxd_status *onnxd_provider_set_create(const onnxd_config *config, onnxd_provider_set **out_set)
{
    onnxd_provider_set *set = NULL;
    ONNXD_TRY(onnxd_provider_set_create_basic(&set));
    for (size_t i = 0; i < config->provider_count; i++) {
        const onnxd_config_provider *provider = &config->providers[i];
        onnxd_status *status = onnxd_provider_set_add(set, provider);
        if (status != NULL) {
            onnxd_provider_set_destroy(set);
            return onnxd_status_context(status, "%s: providers[%zu]", provider->origin, i);
        }
    }
    *out_set = set;
    return NULL;
}

void onnxd_provider_set_destroy(onnxd_provider_set *set)
{
    onnxd_free(set);
}

size_t onnxd_provider_set_count(const onnxd_provider_set *set)
{
    return set->count;
}

const onnxd_ep_api *onnxd_provider_set_at(const onnxd_provider_set *set, size_t index)
{
    return set->apis[index];
}

const onnxd_ep_api *onnxd_provider_set_find(const onnxd_provider_set *set, const char *name)
{
    for (size_t i = 0; i < set->count; i++)
        if (strcmp(set->apis[i]->name, name) == 0)
            return set->apis[i];
    return NULL;
}

const onnxd_ep_host *onnxd_provider_set_host(const onnxd_provider_set *set)
{
    return &set->host;
}

/* ---- instances ----------------------------------------------------------------------------- */

onnxd_status *onnxd_provider_open(const onnxd_provider_set *set,
                                  const onnxd_config_provider *provider, uint32_t device_id,
                                  const onnxd_config_pair *extra, onnxd_ep **out_ep)
{
    onnxd_ep_option options[ONNXD_CONFIG_MAX_PROVIDER_OPTIONS + 1];
    size_t count = 0;
    onnxd_ep *ep = NULL;

    for (size_t i = 0; i < provider->option_count; i++)
        if (extra == NULL || strcmp(provider->options[i].key, extra->key) != 0)
            options[count++] =
                (onnxd_ep_option){provider->options[i].key, provider->options[i].value};
    if (extra != NULL)
        options[count++] = (onnxd_ep_option){extra->key, extra->value};
    onnxd_ep_config config = {.options = options, .option_count = count};
    int64_t start_ns = onnxd_now_ns();

    const onnxd_ep_api *api = onnxd_provider_set_find(set, provider->name);
    onnxd_status *status = onnxd_ep_create(api, &set->host, device_id, &ep);
    if (status == NULL)
        status = onnxd_ep_initialize(ep, &config);
    if (status != NULL) {
        onnxd_ep_destroy(ep);
        return onnxd_status_context(status, "%s: provider '%s', device %u", provider->origin,
                                    provider->name, device_id);
    }
    onnxd_log(ONNXD_LOG_DEBUG, "ep", "provider opened: label=%s version=%s options=%zu us=%" PRId64,
              onnxd_ep_label(ep), api->version, count, (onnxd_now_ns() - start_ns) / 1000);
    *out_ep = ep;
    return NULL;
}

/* ---- engine -------------------------------------------------------------------------------- */

/* The instances, until the runtime takes them over. */
typedef struct instances {
    onnxd_ep **eps;
    size_t count;
} instances;

static onnxd_status *open_instances(const onnxd_config *config, uint32_t cpu_threads,
                                    const onnxd_provider_set *set, instances *out)
{
    char threads[16];
    onnxd_config_pair extra = {.key = "cpu.threads", .value = threads};
    size_t total = 0;

    snprintf(threads, sizeof(threads), "%u", cpu_threads);
    for (size_t i = 0; i < config->provider_count; i++)
        total += config->providers[i].device_count;
    out->eps = onnxd_alloc_zero(total, sizeof(*out->eps));
    if (out->eps == NULL)
        return onnxd_error_out_of_memory("providers", total * sizeof(*out->eps), UINT64_MAX);
    for (size_t i = 0; i < config->provider_count; i++) {
        const onnxd_config_provider *provider = &config->providers[i];
        bool is_cpu = strcmp(provider->name, "cpu_ep") == 0;
        for (size_t j = 0; j < provider->device_count; j++) {
            ONNXD_TRY(onnxd_provider_open(set, provider, provider->device_ids[j],
                                          is_cpu && cpu_threads != 0 ? &extra : NULL,
                                          &out->eps[out->count]));
            out->count++;
        }
    }
    return NULL;
}

onnxd_status *onnxd_engine_open(const onnxd_config *config, uint32_t cpu_threads,
                                onnxd_engine *out_engine)
{
    onnxd_status *status = NULL;
    onnxd_engine engine = {0};
    instances all = {0};
    onnxd_runtime_options options = onnxd_wire_runtime_options(config);

    status = onnxd_provider_set_create(config, &engine.providers);
    if (status != NULL)
        goto fail;
    status = open_instances(config, cpu_threads, engine.providers, &all);
    if (status != NULL)
        goto fail;
    status = onnxd_runtime_create(all.eps, all.count, onnxd_ops(), &options, &engine.runtime);
    if (status != NULL)
        goto fail;
    onnxd_free(all.eps);
    *out_engine = engine;
    return NULL;
fail:
    for (size_t i = 0; i < all.count; i++)
        onnxd_ep_destroy(all.eps[i]);
    onnxd_free(all.eps);
    onnxd_engine_close(&engine);
    return status;
}

void onnxd_engine_close(onnxd_engine *engine)
{
    onnxd_runtime_destroy(engine->runtime);
    onnxd_provider_set_destroy(engine->providers);
    memset(engine, 0, sizeof(*engine));
}
