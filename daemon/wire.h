/*
 * Where concrete objects meet: from a configuration to providers, runtime, model options, store,
 * scheduler and server options.
 *
 * Threads: the main thread, before and after the event loop.
 */
#ifndef ONNXD_DAEMON_WIRE_H
#define ONNXD_DAEMON_WIRE_H

#include "config/config.h"
#include "ep/module.h"
#include "http/server.h"
#include "model/store.h"
#include "scheduler/scheduler.h"

/* ---- providers ----------------------------------------------------------------------------- */

typedef struct onnxd_provider_set onnxd_provider_set;

/* The providers that are linked in and those whose modules the configuration names. Errors:
 * EP_LOAD_FAILED, INVALID_ARGUMENT for a name that is neither linked in nor has a module. */
ONNXD_NODISCARD onnxd_status *onnxd_provider_set_create(const onnxd_config *config,
                                                        onnxd_provider_set **out_set);
/* A set of those that are linked in, and one provider more for it, with the errors above. */
ONNXD_NODISCARD onnxd_status *onnxd_provider_set_create_basic(onnxd_provider_set **out_set);
ONNXD_NODISCARD onnxd_status *onnxd_provider_set_add(onnxd_provider_set *set,
                                                     const onnxd_config_provider *provider);
/* After every instance. NULL is fine. */
void onnxd_provider_set_destroy(onnxd_provider_set *set);
size_t onnxd_provider_set_count(const onnxd_provider_set *set);
const onnxd_ep_api *onnxd_provider_set_at(const onnxd_provider_set *set, size_t index);
const onnxd_ep_api *onnxd_provider_set_find(const onnxd_provider_set *set, const char *name);
const onnxd_ep_host *onnxd_provider_set_host(const onnxd_provider_set *set);

/* An instance for one device of `provider`, initialised with its options and `extra` (may be NULL),
 * which overrides the option of the same key. */
ONNXD_NODISCARD onnxd_status *
onnxd_provider_open(const onnxd_provider_set *set, const onnxd_config_provider *provider,
                    uint32_t device_id, const onnxd_config_pair *extra, onnxd_ep **out_ep);

/* ---- engine -------------------------------------------------------------------------------- */

/* Providers and the runtime over all configured instances. */
typedef struct onnxd_engine {
    onnxd_provider_set *providers;
    onnxd_runtime *runtime;
} onnxd_engine;

/* `cpu_threads` 0: what the configuration says. Errors: those of the providers with the place in
 * the configuration. */
ONNXD_NODISCARD onnxd_status *onnxd_engine_open(const onnxd_config *config, uint32_t cpu_threads,
                                                onnxd_engine *out_engine);
/* After every model. Half-open is fine. */
void onnxd_engine_close(onnxd_engine *engine);

/* ---- options ------------------------------------------------------------------------------- */

/* The results borrow from the configuration. */
onnxd_model_options onnxd_wire_model_options(const onnxd_config *config);
onnxd_http_options onnxd_wire_http_options(const onnxd_config *config);
onnxd_scheduler_options onnxd_wire_scheduler_options(const onnxd_config *config);
onnxd_runtime_options onnxd_wire_runtime_options(const onnxd_config *config);

/* Compute threads of the first instance of cpu_ep with onnxd_engine_open()'s `cpu_threads`; 0 when
 * there is no such instance. */
uint32_t onnxd_wire_cpu_threads(const onnxd_config *config, uint32_t cpu_threads);

/* Memory that this process may use: the control group's limit or the machine's, the smaller. */
uint64_t onnxd_usable_memory_bytes(void);

#endif
