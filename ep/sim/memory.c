#include <sys/mman.h>

#include "base/size_math.h"
#include "ep/instance_tag.h"
#include "ep/sim/sim.h"

/* ---- the pool's source: ranges of the device's address space ------------------------------- */

static onnxd_status *space_alloc(void *self, size_t bytes, size_t alignment, void **out_data)
{
    onnxd_sim *sim = self;
    size_t offset, left = 0;
    pthread_mutex_lock(&sim->space_mutex);
    bool found = onnxd_offset_allocator_alloc(sim->space, bytes, alignment, &offset);
    if (!found)
        left = onnxd_offset_allocator_free_bytes(sim->space);
    pthread_mutex_unlock(&sim->space_mutex);
    if (!found)
        return onnxd_error_out_of_memory("device memory", bytes, left);
    *out_data = sim->device_base + offset;
    return NULL;
}

static void space_free(void *self, void *data, size_t bytes)
{
    onnxd_sim *sim = self;
    (void)bytes;
    pthread_mutex_lock(&sim->space_mutex);
    bool freed = onnxd_offset_allocator_free(sim->space, (size_t)((char *)data - sim->device_base));
    pthread_mutex_unlock(&sim->space_mutex);
    if (!freed)
        sim->base.host->log(ONNXD_LOG_ERROR, "ep", "sim_ep freed device memory that was not live");
}

/* ---- life ---------------------------------------------------------------------------------- */

/* Address space is not charged before it is used, so the device may be larger than the host. */
static onnxd_status *map(size_t bytes, int protection, char **out_base)
{
    void *base = mmap(NULL, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (base == MAP_FAILED)
        return onnxd_error_out_of_memory("simulated device memory", bytes, UINT64_MAX);
    *out_base = base;
    return NULL;
}

onnxd_status *onnxd_sim_memory_open(onnxd_sim *sim)
{
    size_t bytes = (size_t)sim->options.memory_bytes & ~(ONNXD_SIM_ALIGNMENT - 1);
    sim->memory_bytes = bytes;
    ONNXD_TRY(map(bytes, PROT_NONE, &sim->device_base));
    ONNXD_TRY(map(bytes, PROT_READ | PROT_WRITE, &sim->host_base));
    ONNXD_TRY(onnxd_offset_allocator_create(bytes, ONNXD_SIM_ALIGNMENT, &sim->space));
    const onnxd_pool_options options = {.alignment = ONNXD_SIM_ALIGNMENT,
                                        .granularity_bytes = ONNXD_SIM_ALIGNMENT,
                                        .limit_bytes = bytes,
                                        .cache_bytes = bytes};
    const onnxd_pool_source source = {space_alloc, space_free, sim};
    ONNXD_TRY(onnxd_pool_create(&options, source, &sim->pool));
    return onnxd_handle_table_create((uint32_t)sim->options.max_buffers,
                                     onnxd_instance_tag(sim->base.device_id), &sim->handles);
}

static void release_block(onnxd_sim *sim, const onnxd_handle_entry *entry)
{
    onnxd_pool_release(sim->pool, (onnxd_pool_block){entry->base, entry->base_bytes});
}

void onnxd_sim_memory_close(onnxd_sim *sim)
{
    onnxd_handle_entry entry;
    while (sim->handles != NULL && onnxd_handle_table_drain(sim->handles, &entry))
        release_block(sim, &entry);
    onnxd_handle_table_destroy(sim->handles);
    sim->handles = NULL;
    if (sim->pool != NULL)
        sim->device_allocations = onnxd_pool_query(sim->pool).source_allocs;
    onnxd_pool_destroy(sim->pool);
    sim->pool = NULL;
    onnxd_offset_allocator_destroy(sim->space);
    sim->space = NULL;
    if (sim->host_base != NULL)
        munmap(sim->host_base, sim->memory_bytes);
    if (sim->device_base != NULL)
        munmap(sim->device_base, sim->memory_bytes);
    sim->host_base = sim->device_base = NULL;
}

/* ---- buffers ------------------------------------------------------------------------------- */

/* Gives retired buffers back that no issued work can use any more. */
static void reap(onnxd_sim *sim)
{
    uint64_t completed[ONNXD_STREAM_COUNT];
    for (int i = 0; i < ONNXD_STREAM_COUNT; i++)
        completed[i] = onnxd_worker_stream_completed(sim->lanes[i].stream);
    onnxd_handle_entry entry;
    while (onnxd_handle_table_reap(sim->handles, completed, &entry))
        release_block(sim, &entry);
}

static onnxd_status *acquire_block(onnxd_sim *sim, size_t bytes, onnxd_pool_block *out_block)
{
    reap(sim);
    onnxd_status *status = onnxd_pool_acquire(sim->pool, bytes, out_block);
    if (onnxd_status_code(status) != ONNXD_OUT_OF_MEMORY ||
        onnxd_handle_table_query(sim->handles).retiring_count == 0)
        return status;
    /* Buffers that work in flight still holds may be all that is missing. */
    onnxd_status_free(status);
    onnxd_sim_streams_drain(sim);
    reap(sim);
    return onnxd_pool_acquire(sim->pool, bytes, out_block);
}

/* A block that holds `bytes` at any multiple of `alignment`. */
static onnxd_status *acquire_aligned(onnxd_sim *sim, size_t bytes, size_t alignment,
                                     onnxd_pool_block *out_block)
{
    size_t padding = alignment > ONNXD_SIM_ALIGNMENT ? alignment - ONNXD_SIM_ALIGNMENT : 0;
    size_t padded;
    onnxd_status *status = NULL;
    uint64_t left = sim->memory_bytes - onnxd_pool_query(sim->pool).in_use_bytes;
    if (onnxd_size_add(bytes, padding, &padded) && padded <= sim->memory_bytes) {
        status = acquire_block(sim, padded, out_block);
        if (onnxd_status_code(status) != ONNXD_OUT_OF_MEMORY)
            return status;
        left = onnxd_status_available_bytes(status);
        onnxd_status_free(status);
    }
    return onnxd_error_out_of_memory("device buffer", bytes, left);
}

onnxd_status *onnxd_sim_allocate(onnxd_ep *ep, size_t bytes, size_t alignment,
                                 onnxd_buffer *out_buffer)
{
    onnxd_sim *sim = onnxd_sim_of(ep);
    uint64_t number = atomic_fetch_add_explicit(&sim->allocate_calls, 1, memory_order_relaxed) + 1;
    if (number == (uint64_t)sim->options.fault_alloc_at)
        return onnxd_error_out_of_memory("device buffer (simulated fault)", bytes, 0);
    onnxd_pool_block block;
    ONNXD_TRY(acquire_aligned(sim, bytes, alignment, &block));
    uintptr_t address = ((uintptr_t)block.data + (alignment - 1)) & ~((uintptr_t)alignment - 1);
    onnxd_buffer buffer = {.data = (void *)address, .bytes = bytes, .device = ep->device_id};
    onnxd_handle_entry entry = {buffer.data, bytes, block.data, block.bytes};
    onnxd_status *status = onnxd_handle_table_insert(sim->handles, &entry, &buffer.handle);
    if (status != NULL) {
        release_block(sim, &entry);
        return status;
    }
    *out_buffer = buffer;
    return NULL;
}

onnxd_status *onnxd_sim_deallocate(onnxd_ep *ep, onnxd_buffer buffer)
{
    onnxd_sim *sim = onnxd_sim_of(ep);
    uint64_t points[ONNXD_STREAM_COUNT];
    for (int i = 0; i < ONNXD_STREAM_COUNT; i++)
        points[i] = onnxd_worker_stream_issued(sim->lanes[i].stream);
    ONNXD_TRY(onnxd_handle_table_retire(sim->handles, &buffer, points));
    reap(sim);
    return NULL;
}

/* ---- addresses ----------------------------------------------------------------------------- */

size_t onnxd_sim_bytes_from(const onnxd_sim *sim, const void *device_address)
{
    uintptr_t base = (uintptr_t)sim->device_base, address = (uintptr_t)device_address;
    if (address < base || address - base > sim->memory_bytes)
        return 0;
    return sim->memory_bytes - (address - base);
}

void *onnxd_sim_host_address(const onnxd_sim *sim, const void *device_address)
{
    uintptr_t base = (uintptr_t)sim->device_base, address = (uintptr_t)device_address;
    if (address < base || address - base > sim->memory_bytes)
        return NULL;
    return sim->host_base + (address - base);
}
