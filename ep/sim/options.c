#include <string.h>

#include "base/alloc.h"
#include "ep/options.h"
#include "ep/sim/sim.h"

#define OPTION(key, kind, member, minimum, maximum, help)                                          \
    {                                                                                              \
        "sim." key, ONNXD_EP_OPTION_##kind, offsetof(onnxd_sim_options, member), minimum, maximum, \
            NULL, help                                                                             \
    }

#define HOUR_US 3.6e9
#define COUNT_MAX 1e15

const onnxd_ep_option_def onnxd_sim_option_defs[] = {
    OPTION("memory_bytes", INT, memory_bytes, 65536, 1099511627776.0, "size of the device memory"),
    OPTION("copy_bandwidth_bytes_per_s", INT, copy_bandwidth_bytes_per_s, 0, COUNT_MAX,
           "rate of each copy stream, 0 for no limit"),
    OPTION("copy_latency_us", INT, copy_latency_us, 0, HOUR_US, "fixed duration of each copy"),
    OPTION("launch_latency_us", INT, launch_latency_us, 0, HOUR_US,
           "added to the duration of each kernel"),
    OPTION("kernel_latency_us", INT, kernel_latency_us, 0, HOUR_US, "least duration of a kernel"),
    OPTION("async", BOOL, is_async, 0, 0,
           "false: copies and kernels run on the calling thread, nothing overlaps"),
    OPTION("compute_scale", FLOAT, compute_scale, 0, 1e6,
           "reported compute cost as a multiple of the CPU's"),
    OPTION("max_fences", INT, max_fences, 1, ONNXD_FENCE_TABLE_MAX, "fences held at once"),
    OPTION("max_buffers", INT, max_buffers, 1, ONNXD_HANDLE_TABLE_MAX, "buffers held at once"),
    OPTION("fault_copy_at", INT, fault_copy_at, 0, COUNT_MAX, "this copy fails, 0 for none"),
    OPTION("fault_kernel_at", INT, fault_kernel_at, 0, COUNT_MAX, "this kernel fails, 0 for none"),
    OPTION("fault_alloc_at", INT, fault_alloc_at, 0, COUNT_MAX,
           "this allocation fails, 0 for none"),
    OPTION("unsupported_ops", STRING, unsupported_ops, 0, 0,
           "comma-separated operators that it declines"),
    OPTION("claim_ops", STRING, claim_ops, 0, 0,
           "comma-separated operators that it takes whatever they cost"),
    OPTION("private_pass", BOOL, has_private_pass, 0, 0, "fuse a Relu of a Relu"),
    OPTION("context_source", STRING, context_source, 0, 0,
           "the source of EPContext nodes that it answers for"),
    {.key = NULL},
};

static onnxd_status *own_string(const char **inout_text)
{
    const char *copy = onnxd_strdup(*inout_text);
    if (copy == NULL)
        return onnxd_error_out_of_memory("option value", strlen(*inout_text) + 1, UINT64_MAX);
    *inout_text = copy;
    return NULL;
}

onnxd_status *onnxd_sim_options_init(const onnxd_ep_config *config, onnxd_sim_options *out_options)
{
    onnxd_sim_options options = {.memory_bytes = (int64_t)1 << 30,
                                 .is_async = true,
                                 .compute_scale = 1,
                                 .max_fences = 4096,
                                 .max_buffers = 65536,
                                 .unsupported_ops = "",
                                 .claim_ops = "",
                                 .context_source = ""};
    ONNXD_TRY(onnxd_ep_options_parse(onnxd_sim_option_defs, ONNXD_COUNT(onnxd_sim_option_defs) - 1,
                                     config, &options));
    const char **strings[] = {&options.unsupported_ops, &options.claim_ops,
                              &options.context_source};
    size_t owned = 0;
    onnxd_status *status = NULL;
    for (; owned < ONNXD_COUNT(strings); owned++) {
        status = own_string(strings[owned]);
        if (status != NULL)
            goto fail;
    }
    *out_options = options;
    return NULL;

fail:
    while (owned-- > 0)
        onnxd_free((void *)(uintptr_t)*strings[owned]);
    return status;
}

void onnxd_sim_options_deinit(onnxd_sim_options *options)
{
    onnxd_free((void *)(uintptr_t)options->unsupported_ops);
    onnxd_free((void *)(uintptr_t)options->claim_ops);
    onnxd_free((void *)(uintptr_t)options->context_source);
    options->unsupported_ops = options->claim_ops = options->context_source = NULL;
}

bool onnxd_sim_list_has(const char *list, const char *name)
{
    size_t length = strlen(name);
    while (*list != '\0') {
        size_t item = strcspn(list, ",");
        if (item == length && memcmp(list, name, length) == 0)
            return true;
        list += item;
        list += *list == ',';
    }
    return false;
}
