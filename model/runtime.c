#include "model/runtime.h"

#include <string.h>

#include "base/alloc.h"
#include "memory/host_source.h"

/* What every host block is aligned to at least: a cache line, and a full vector register. */
#define HOST_ALIGNMENT ((size_t)64)
/* The smallest host block; requests of a few elements are common. */
#define HOST_GRANULARITY ((size_t)256)

static onnxd_status *check_instances(onnxd_ep *const *eps, size_t ep_count)
{
    if (ep_count == 0)
        return onnxd_error(ONNXD_INVALID_ARGUMENT,
                           "no execution provider: at least one instance is needed");
    for (size_t i = 0; i < ep_count; i++)
        for (size_t j = 0; j < i; j++)
            if (strcmp(onnxd_ep_label(eps[i]), onnxd_ep_label(eps[j])) == 0)
                return onnxd_error(ONNXD_INVALID_ARGUMENT,
                                   "execution provider '%s' is listed twice",
                                   onnxd_ep_label(eps[i]));
    return NULL;
}

static const char *shared_source(const onnxd_ep *one, const onnxd_ep *other)
{
    const char *const *keys = onnxd_ep_context_source_keys(one);
    for (; keys != NULL && *keys != NULL; keys++) {
        const char *const *others = onnxd_ep_context_source_keys(other);
        for (; others != NULL && *others != NULL; others++)
            if (strcmp(*keys, *others) == 0)
                return *keys;
    }
    return NULL;
}

/* EPContext nodes are dispatched by their source alone, so one provider may own each. */
static onnxd_status *check_context_sources(onnxd_ep *const *eps, size_t ep_count)
{
    for (size_t i = 0; i < ep_count; i++)
        for (size_t j = 0; j < i; j++) {
            const char *source = strcmp(onnxd_ep_name(eps[i]), onnxd_ep_name(eps[j])) != 0
                                     ? shared_source(eps[j], eps[i])
                                     : NULL;
            if (source != NULL)
                return onnxd_error(ONNXD_DUPLICATE_CONTEXT_SOURCE,
                                   "EPContext source '%s' belongs to '%s', '%s' claims it too",
                                   source, onnxd_ep_name(eps[j]), onnxd_ep_name(eps[i]));
        }
    return NULL;
}

/* The strictest alignment that any host-addressable instance asks for. */
static size_t host_alignment(onnxd_ep *const *eps, size_t ep_count)
{
    size_t alignment = HOST_ALIGNMENT;
    for (size_t i = 0; i < ep_count; i++) {
        onnxd_ep_info info = onnxd_ep_get_info(eps[i]);
        if (info.is_host_addressable && info.alignment_bytes > alignment)
            alignment = info.alignment_bytes;
    }
    return alignment;
}

static void free_runtime(onnxd_runtime *runtime)
{
    if (runtime == NULL)
        return;
    onnxd_pool_destroy(runtime->host_pool);
    onnxd_weights_destroy(runtime->weights);
    onnxd_free(runtime->eps);
    onnxd_free(runtime);
}

onnxd_status *onnxd_runtime_create(onnxd_ep *const *eps, size_t ep_count,
                                   const onnxd_op_registry *registry,
                                   const onnxd_runtime_options *options,
                                   onnxd_runtime **out_runtime)
{
    ONNXD_TRY(check_instances(eps, ep_count));
    ONNXD_TRY(check_context_sources(eps, ep_count));
    onnxd_status *status = NULL;
    onnxd_runtime *runtime = onnxd_alloc_zero(1, sizeof(*runtime));
    if (runtime == NULL)
        return onnxd_error_out_of_memory("the runtime", sizeof(*runtime), UINT64_MAX);
    runtime->registry = registry;
    runtime->ep_count = ep_count;
    runtime->eps = onnxd_alloc_zero(ep_count, sizeof(runtime->eps[0]));
    if (runtime->eps == NULL) {
        status = onnxd_error_out_of_memory("the runtime's instances",
                                           ep_count * sizeof(runtime->eps[0]), UINT64_MAX);
        goto fail;
    }
    memcpy(runtime->eps, eps, ep_count * sizeof(runtime->eps[0]));
    status = onnxd_weights_create(runtime->eps, ep_count, &runtime->weights);
    if (status != NULL)
        goto fail;
    const size_t alignment = host_alignment(eps, ep_count);
    const onnxd_pool_options pool = {
        .alignment = alignment,
        .granularity_bytes = alignment > HOST_GRANULARITY ? alignment : HOST_GRANULARITY,
        .limit_bytes = options->host_memory_limit_bytes,
        .cache_bytes = options->host_memory_cache_bytes,
    };
    status = onnxd_pool_create(&pool, onnxd_host_pool_source(), &runtime->host_pool);
    if (status != NULL)
        goto fail;
    *out_runtime = runtime;
    return NULL;
fail:
    free_runtime(runtime);
    return status;
}

void onnxd_runtime_destroy(onnxd_runtime *runtime)
{
    if (runtime == NULL)
        return;
    for (size_t i = runtime->ep_count; i > 0; i--)
        onnxd_ep_destroy(runtime->eps[i - 1]);
    free_runtime(runtime);
}
