#include "ep/module.h"

#include <dlfcn.h>
#include <string.h>

/* Every entry that a provider must fill, with its name for the message. */
typedef struct required_entry {
    size_t offset;
    const char *name;
} required_entry;

#define REQUIRED(member)                                                                           \
    {                                                                                              \
        offsetof(onnxd_ep_api, member), #member                                                    \
    }

static const required_entry required_entries[] = {
    REQUIRED(create),        REQUIRED(destroy),     REQUIRED(initialize),  REQUIRED(shutdown),
    REQUIRED(get_info),      REQUIRED(get_stats),   REQUIRED(supports_op), REQUIRED(get_kernel),
    REQUIRED(allocate),      REQUIRED(deallocate),  REQUIRED(copy),        REQUIRED(copy_async),
    REQUIRED(fence_wait),    REQUIRED(fence_query), REQUIRED(stream_wait), REQUIRED(fence_record),
    REQUIRED(fence_release), REQUIRED(sync),
};

static bool is_provider_name(const char *name)
{
    size_t length = name == NULL ? 0 : strnlen(name, 33);
    if (length < 4 || length > 32 || strcmp(name + length - 3, "_ep") != 0)
        return false;
    for (size_t i = 0; i < length; i++) {
        char c = name[i];
        if (!(c == '_' || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9' && i > 0)))
            return false;
    }
    return true;
}

onnxd_status *onnxd_ep_api_check(const onnxd_ep_api *api, const char *origin)
{
    if (api == NULL)
        return onnxd_error(ONNXD_EP_LOAD_FAILED, "%s: it returns no interface", origin);
    if (api->abi_version != ONNXD_EP_ABI_VERSION)
        return onnxd_error(ONNXD_EP_LOAD_FAILED,
                           "%s: it was built for interface version %u, this is version %u", origin,
                           api->abi_version, ONNXD_EP_ABI_VERSION);
    if (api->struct_size != sizeof(onnxd_ep_api))
        return onnxd_error(ONNXD_EP_LOAD_FAILED, "%s: its interface has %u bytes instead of %zu",
                           origin, api->struct_size, sizeof(onnxd_ep_api));
    if (!is_provider_name(api->name) || api->version == NULL)
        return onnxd_error(ONNXD_EP_LOAD_FAILED,
                           "%s: it needs a version and a snake_case name of at most 32 characters "
                           "that ends in _ep",
                           origin);
    for (size_t i = 0; i < ONNXD_COUNT(required_entries); i++) {
        void *entry;
        memcpy(&entry, (const char *)api + required_entries[i].offset, sizeof(entry));
        if (entry == NULL)
            return onnxd_error(ONNXD_EP_LOAD_FAILED, "%s: provider %s lacks the required %s()",
                               origin, api->name, required_entries[i].name);
    }
    return NULL;
}

static onnxd_status *dl_error(const char *path)
{
    const char *reason = dlerror();
    return onnxd_error(ONNXD_EP_LOAD_FAILED, "provider module '%s': %s", path,
                       reason != NULL ? reason : "unknown reason");
}

onnxd_status *onnxd_ep_module_load(const char *path, const onnxd_ep_api **out_api)
{
    if (path == NULL || strchr(path, '/') == NULL)
        return onnxd_error(ONNXD_EP_LOAD_FAILED,
                           "provider module '%s': a path with a directory is needed, the system's "
                           "library path is not searched",
                           path != NULL ? path : "");
    dlerror();
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL)
        return dl_error(path);
    onnxd_status *status = NULL;
    onnxd_ep_module_function function = NULL;
    void *symbol = dlsym(library, ONNXD_EP_MODULE_SYMBOL);
    if (symbol == NULL) {
        status = dl_error(path);
        goto fail;
    }
    memcpy(&function, &symbol, sizeof(function));
    const onnxd_ep_api *api = function();
    status = onnxd_status_context(onnxd_ep_api_check(api, path), "provider module");
    if (status != NULL)
        goto fail;
    *out_api = api;
    return NULL;

fail:
    dlclose(library);
    return status;
}
