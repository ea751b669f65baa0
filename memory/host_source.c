#include "memory/host_source.h"

#include "base/alloc.h"

static onnxd_status *host_alloc(void *self ONNXD_UNUSED, size_t bytes, size_t alignment,
                                void **out_data)
{
    if (alignment < sizeof(void *))
        alignment = sizeof(void *);
    void *data = onnxd_alloc_aligned(bytes, alignment);
    if (data == NULL)
        return onnxd_error_out_of_memory("a host block", bytes, UINT64_MAX);
    *out_data = data;
    return NULL;
}

static void host_free(void *self ONNXD_UNUSED, void *data, size_t bytes ONNXD_UNUSED)
{
    onnxd_free(data);
}

onnxd_pool_source onnxd_host_pool_source(void)
{
    return (onnxd_pool_source){.alloc = host_alloc, .free = host_free};
}
