/* Buffers through the pool and the handle table; copies. */
#include <inttypes.h>
#include <string.h>

#include "base/size_math.h"
#include "ep/cpu/internal.h"
#include "memory/host_source.h"

#define GRANULARITY_BYTES 256

onnxd_status *onnxd_cpu_memory_init(onnxd_cpu_ep *cpu)
{
    const onnxd_cpu_options *options = &cpu->options;
    onnxd_pool_options pool = {
        .alignment = ONNXD_CPU_ALIGNMENT,
        .granularity_bytes = GRANULARITY_BYTES,
        .limit_bytes =
            options->memory_limit_bytes > 0 ? (size_t)options->memory_limit_bytes : SIZE_MAX,
        .cache_bytes = (size_t)options->memory_cache_bytes,
    };
    ONNXD_TRY(onnxd_pool_create(&pool, onnxd_host_pool_source(), &cpu->pool));
    return onnxd_handle_table_create(ONNXD_HANDLE_TABLE_MAX, cpu->tag, &cpu->handles);
}

static void release_entry(onnxd_cpu_ep *cpu, const onnxd_handle_entry *entry)
{
    onnxd_pool_release(cpu->pool, (onnxd_pool_block){entry->base, entry->base_bytes});
}

void onnxd_cpu_memory_deinit(onnxd_cpu_ep *cpu)
{
    onnxd_handle_entry entry;
    while (cpu->handles != NULL && onnxd_handle_table_drain(cpu->handles, &entry))
        release_entry(cpu, &entry);
    onnxd_handle_table_destroy(cpu->handles);
    cpu->handles = NULL;
    if (cpu->pool != NULL)
        onnxd_pool_destroy(cpu->pool);
    cpu->pool = NULL;
}

/* Gives retired buffers back whose work is done. */
static void reap(onnxd_cpu_ep *cpu)
{
    uint64_t completed[ONNXD_STREAM_COUNT];
    onnxd_handle_entry entry;
    for (int i = 0; i < ONNXD_STREAM_COUNT; i++)
        completed[i] = onnxd_cpu_stream_completed(cpu, (onnxd_stream)i);
    while (onnxd_handle_table_reap(cpu->handles, completed, &entry))
        release_entry(cpu, &entry);
}

onnxd_status *onnxd_cpu_allocate(onnxd_ep *ep, size_t bytes, size_t alignment,
                                 onnxd_buffer *out_buffer)
{
    onnxd_cpu_ep *cpu = onnxd_cpu_ep_of(ep);
    onnxd_pool_block block;
    size_t padded = bytes;
    __atomic_add_fetch(&cpu->allocate_calls, 1, __ATOMIC_RELAXED);
    reap(cpu);
    if (alignment > ONNXD_CPU_ALIGNMENT &&
        !onnxd_size_add(bytes, alignment - ONNXD_CPU_ALIGNMENT, &padded))
        return onnxd_error_out_of_memory("a buffer", SIZE_MAX, UINT64_MAX);
    ONNXD_TRY(onnxd_pool_acquire(cpu->pool, padded, &block));
    uintptr_t address = (uintptr_t)block.data;
    if (alignment > ONNXD_CPU_ALIGNMENT)
        address = (address + alignment - 1) & ~(uintptr_t)(alignment - 1);
    onnxd_handle_entry entry = {(void *)address, bytes, block.data, block.bytes};
    uint64_t handle = 0;
    onnxd_status *status = onnxd_handle_table_insert(cpu->handles, &entry, &handle);
    if (status != NULL)
        goto fail;
    *out_buffer = (onnxd_buffer){entry.data, bytes, cpu->device, handle};
    return NULL;

fail:
    onnxd_pool_release(cpu->pool, block);
    return status;
}

onnxd_status *onnxd_cpu_deallocate(onnxd_ep *ep, onnxd_buffer buffer)
{
    onnxd_cpu_ep *cpu = onnxd_cpu_ep_of(ep);
    uint64_t points[ONNXD_STREAM_COUNT];
    for (int i = 0; i < ONNXD_STREAM_COUNT; i++)
        points[i] = onnxd_cpu_stream_issued(cpu, (onnxd_stream)i);
    ONNXD_TRY(onnxd_handle_table_retire(cpu->handles, &buffer, points));
    reap(cpu);
    return NULL;
}

/* ---- copies ---------------------------------------------------------------------------------- */

typedef struct move {
    char *destination;
    const char *source;
    size_t bytes;
} move;

/* An end of a copy is a live buffer of this instance or borrowed host memory. Whether a buffer of
 * another instance lives, its owner alone knows. */
static onnxd_status *check_end(onnxd_cpu_ep *cpu, const onnxd_buffer *buffer, bool *out_is_own)
{
    *out_is_own = false;
    if (buffer->device.type != ONNXD_DEVICE_CPU)
        return onnxd_error(ONNXD_FOREIGN_BUFFER,
                           "memory of device %" PRIu32 ":%" PRIu32 " cannot be reached from the "
                           "CPU, its own provider copies it",
                           buffer->device.type, buffer->device.index);
    if (buffer->handle == 0)
        return NULL;
    if (!onnxd_device_id_equal(buffer->device, cpu->device))
        return onnxd_error(ONNXD_FOREIGN_BUFFER,
                           "a buffer of CPU instance %" PRIu32 " cannot be checked by '%s', borrow "
                           "it as host memory",
                           buffer->device.index, cpu->base.label);
    ONNXD_TRY(onnxd_handle_table_find(cpu->handles, buffer, NULL));
    *out_is_own = true;
    return NULL;
}

static onnxd_status *resolve(onnxd_cpu_ep *cpu, const onnxd_copy *copy, move *out_move,
                             onnxd_stream *out_stream)
{
    bool is_source_own = false, is_destination_own = false;
    ONNXD_TRY(check_end(cpu, &copy->source, &is_source_own));
    ONNXD_TRY(check_end(cpu, &copy->destination, &is_destination_own));
    if (!is_source_own && !is_destination_own)
        return onnxd_error(ONNXD_FOREIGN_BUFFER, "neither end of the copy is a buffer of '%s'",
                           cpu->base.label);
    out_move->destination = (char *)copy->destination.data + copy->destination_offset;
    out_move->source = (const char *)copy->source.data + copy->source_offset;
    out_move->bytes = copy->bytes;
    *out_stream = is_destination_own ? ONNXD_STREAM_COPY_IN : ONNXD_STREAM_COPY_OUT;
    return NULL;
}

static onnxd_status *run_move(void *self ONNXD_UNUSED, void *payload, int64_t ready_ns ONNXD_UNUSED)
{
    const move *m = payload;
    if (m->bytes > 0)
        memmove(m->destination, m->source, m->bytes);
    return NULL;
}

onnxd_status *onnxd_cpu_copy(onnxd_ep *ep, const onnxd_copy *copy)
{
    onnxd_cpu_ep *cpu = onnxd_cpu_ep_of(ep);
    onnxd_stream stream;
    move m;
    ONNXD_TRY(resolve(cpu, copy, &m, &stream));
    __atomic_add_fetch(&cpu->copies_issued, 1, __ATOMIC_RELAXED);
    return run_move(NULL, &m, 0);
}

onnxd_status *onnxd_cpu_copy_async(onnxd_ep *ep, const onnxd_copy *copy, onnxd_fence *out_fence)
{
    onnxd_cpu_ep *cpu = onnxd_cpu_ep_of(ep);
    onnxd_stream stream;
    onnxd_fence fence;
    move m;
    ONNXD_TRY(resolve(cpu, copy, &m, &stream));
    ONNXD_TRY(onnxd_fence_table_acquire(cpu->fences, &fence));
    onnxd_worker_call call = {.run = run_move};
    onnxd_worker_piece piece = {&m, sizeof(m)};
    onnxd_status *status = onnxd_worker_stream_call(cpu->streams[stream], &call, &piece, 1, fence);
    if (status != NULL)
        goto fail;
    __atomic_add_fetch(&cpu->copies_issued, 1, __ATOMIC_RELAXED);
    *out_fence = fence;
    return NULL;

fail:
    onnxd_fence_table_signal(cpu->fences, fence, NULL);
    return onnxd_status_join(status, onnxd_fence_table_release(cpu->fences, fence));
}
