#include <omp.h>
#include <pthread.h>
#include <stdatomic.h>

#include "base/alloc.h"
#include "ep/cpu/dnnl/op.h"

/* oneDNN keeps made primitives of the whole process; ours are cached by the provider already, so a
 * few are enough for equal shapes with different weights. */
#define PRIMITIVE_CACHE 256

struct onnxd_dnnl_packed {
    onnxd_dnnl_packed *next;
    const onnxd_tensor *tensor;
    onnxd_md from, md; /* how the tensor is read, and what became of it */
    void *data;
    size_t bytes;
    size_t holders;
};

struct onnxd_dnnl {
    dnnl_engine_t engine;
    dnnl_stream_t stream; /* of the caller that has `running` */
    dnnl_primitive_attr_t attr;
    int threads;
    pthread_mutex_t running; /* held while an op runs */
    atomic_bool is_running;
    bool has_running;
    pthread_mutex_t mutex; /* guards the packed list */
    bool has_mutex;
    onnxd_dnnl_packed *packed;
};

onnxd_status *onnxd_dnnl_error(dnnl_status_t code, const char *what)
{
    switch (code) {
    case dnnl_success:
        return NULL;
    case dnnl_out_of_memory:
        return onnxd_error(ONNXD_OUT_OF_MEMORY, "oneDNN has no memory for %s", what);
    case dnnl_unimplemented:
    case dnnl_invalid_arguments:
        return onnxd_error(ONNXD_UNIMPLEMENTED, "oneDNN has no implementation for %s", what);
    default:
        return onnxd_error(ONNXD_INTERNAL, "oneDNN failed at %s with code %d", what, (int)code);
    }
}

dnnl_engine_t onnxd_dnnl_engine(const onnxd_dnnl *dnnl)
{
    return dnnl->engine;
}

const_dnnl_primitive_attr_t onnxd_dnnl_attr(const onnxd_dnnl *dnnl)
{
    return dnnl->attr;
}

dnnl_stream_t onnxd_dnnl_acquire(onnxd_dnnl *dnnl)
{
    pthread_mutex_lock(&dnnl->running);
    atomic_store_explicit(&dnnl->is_running, true, memory_order_relaxed);
    onnxd_dnnl_enter(dnnl);
    return dnnl->stream;
}

void onnxd_dnnl_release(onnxd_dnnl *dnnl)
{
    atomic_store_explicit(&dnnl->is_running, false, memory_order_relaxed);
    pthread_mutex_unlock(&dnnl->running);
}

void onnxd_dnnl_yield(onnxd_dnnl *dnnl)
{
    if (ONNXD_LIKELY(!atomic_load_explicit(&dnnl->is_running, memory_order_relaxed)))
        return;
    pthread_mutex_lock(&dnnl->running);
    pthread_mutex_unlock(&dnnl->running);
}

void onnxd_dnnl_enter(const onnxd_dnnl *dnnl)
{
    static _Thread_local int current = 0;
    if (ONNXD_UNLIKELY(current != dnnl->threads)) {
        omp_set_dynamic(0);
        omp_set_num_threads(dnnl->threads);
        current = dnnl->threads;
    }
}

onnxd_status *onnxd_dnnl_create(int threads, onnxd_dnnl **out_dnnl)
{
    onnxd_status *status = NULL;
    onnxd_dnnl *dnnl = onnxd_alloc_zero(1, sizeof(*dnnl));
    if (dnnl == NULL)
        return onnxd_error_out_of_memory("the oneDNN context", sizeof(*dnnl), UINT64_MAX);
    dnnl->threads = threads;
    if (pthread_mutex_init(&dnnl->mutex, NULL) != 0) {
        status = onnxd_error(ONNXD_INTERNAL, "cannot make a mutex");
        goto fail;
    }
    dnnl->has_mutex = true;
    if (pthread_mutex_init(&dnnl->running, NULL) != 0) {
        status = onnxd_error(ONNXD_INTERNAL, "cannot make a mutex");
        goto fail;
    }
    dnnl->has_running = true;
    status = onnxd_dnnl_error(dnnl_engine_create(&dnnl->engine, dnnl_cpu, 0), "its engine");
    if (status != NULL)
        goto fail;
    status = onnxd_dnnl_error(
        dnnl_stream_create(&dnnl->stream, dnnl->engine, dnnl_stream_default_flags), "its stream");
    if (status != NULL)
        goto fail;
    status = onnxd_dnnl_error(dnnl_primitive_attr_create(&dnnl->attr), "attributes");
    if (status != NULL)
        goto fail;
    status = onnxd_dnnl_error(
        dnnl_primitive_attr_set_scratchpad_mode(dnnl->attr, dnnl_scratchpad_mode_user),
        "attributes");
    if (status != NULL)
        goto fail;
    status = onnxd_dnnl_error(dnnl_set_primitive_cache_capacity(PRIMITIVE_CACHE), "its cache");
    if (status != NULL)
        goto fail;
    *out_dnnl = dnnl;
    return NULL;

fail:
    onnxd_dnnl_destroy(dnnl);
    return status;
}

void onnxd_dnnl_destroy(onnxd_dnnl *dnnl)
{
    if (dnnl == NULL)
        return;
    if (dnnl->attr != NULL)
        dnnl_primitive_attr_destroy(dnnl->attr);
    if (dnnl->stream != NULL)
        dnnl_stream_destroy(dnnl->stream);
    if (dnnl->engine != NULL)
        dnnl_engine_destroy(dnnl->engine);
    if (dnnl->has_running)
        pthread_mutex_destroy(&dnnl->running);
    if (dnnl->has_mutex)
        pthread_mutex_destroy(&dnnl->mutex);
    onnxd_free(dnnl);
}

void onnxd_dnnl_query_packed(onnxd_dnnl *dnnl, size_t *out_count, size_t *out_bytes)
{
    size_t count = 0, bytes = 0;
    pthread_mutex_lock(&dnnl->mutex);
    for (const onnxd_dnnl_packed *packed = dnnl->packed; packed != NULL; packed = packed->next) {
        count++;
        bytes += packed->bytes;
    }
    pthread_mutex_unlock(&dnnl->mutex);
    *out_count = count;
    *out_bytes = bytes;
}

/* ---- packed weights -------------------------------------------------------------------------- */

static void packed_destroy(onnxd_dnnl_packed *packed)
{
    onnxd_md_deinit(&packed->from);
    onnxd_md_deinit(&packed->md);
    onnxd_free(packed->data);
    onnxd_free(packed);
}

/* Runs one reorder at once. */
static onnxd_status *reorder_now(onnxd_dnnl *dnnl, onnxd_md_ref from_md, void *from,
                                 onnxd_md_ref to_md, void *to)
{
    dnnl_primitive_desc_t pd = NULL;
    dnnl_primitive_t primitive = NULL;
    dnnl_memory_t source = NULL, destination = NULL;
    dnnl_stream_t stream = NULL;
    dnnl_status_t code =
        dnnl_reorder_primitive_desc_create(&pd, from_md, dnnl->engine, to_md, dnnl->engine, NULL);
    if (code == dnnl_success)
        code = dnnl_stream_create(&stream, dnnl->engine, dnnl_stream_default_flags);
    if (code == dnnl_success)
        code = dnnl_primitive_create(&primitive, pd);
    if (code == dnnl_success)
        code = dnnl_memory_create(&source, from_md, dnnl->engine, from);
    if (code == dnnl_success)
        code = dnnl_memory_create(&destination, to_md, dnnl->engine, to);
    if (code == dnnl_success) {
        dnnl_exec_arg_t args[] = {{DNNL_ARG_FROM, source}, {DNNL_ARG_TO, destination}};
        code = dnnl_primitive_execute(primitive, stream, 2, args);
    }
    if (code == dnnl_success)
        code = dnnl_stream_wait(stream);
    dnnl_memory_destroy(source);
    dnnl_memory_destroy(destination);
    dnnl_primitive_destroy(primitive);
    dnnl_primitive_desc_destroy(pd);
    if (stream != NULL)
        dnnl_stream_destroy(stream);
    return onnxd_dnnl_error(code, "packing weights");
}

static onnxd_status *packed_create(onnxd_dnnl *dnnl, const onnxd_tensor *tensor,
                                   const onnxd_md *from, onnxd_md_ref to,
                                   onnxd_dnnl_packed **out_packed)
{
    onnxd_status *status = NULL;
    size_t bytes = dnnl_memory_desc_get_size(to);
    onnxd_dnnl_packed *packed = onnxd_alloc_zero(1, sizeof(*packed));
    if (packed == NULL)
        return onnxd_error_out_of_memory("packed weights", sizeof(*packed), UINT64_MAX);
    packed->tensor = tensor;
    packed->bytes = bytes;
    packed->data = onnxd_alloc_aligned(bytes, 64);
    if (packed->data == NULL) {
        status = onnxd_error_out_of_memory("packed weights", bytes, UINT64_MAX);
        goto fail;
    }
    status = onnxd_dnnl_error(onnxd_md_init_copy(&packed->md, to), "a memory descriptor");
    if (status != NULL)
        goto fail;
    status = onnxd_dnnl_error(onnxd_md_init_copy(&packed->from, onnxd_md_get(from)),
                              "a memory descriptor");
    if (status != NULL)
        goto fail;
    status = reorder_now(dnnl, onnxd_md_get(from), tensor->data, to, packed->data);
    if (status != NULL)
        goto fail;
    *out_packed = packed;
    return NULL;

fail:
    packed_destroy(packed);
    return status;
}

static bool is_same(const onnxd_dnnl_packed *packed, const onnxd_tensor *tensor,
                    const onnxd_md *from, onnxd_md_ref to)
{
    return packed->tensor == tensor && dnnl_memory_desc_equal(onnxd_md_get(&packed->md), to) &&
           dnnl_memory_desc_equal(onnxd_md_get(&packed->from), onnxd_md_get(from));
}

static onnxd_dnnl_packed *find_locked(onnxd_dnnl *dnnl, const onnxd_tensor *tensor,
                                      const onnxd_md *from, onnxd_md_ref to)
{
    onnxd_dnnl_packed *packed = dnnl->packed;
    while (packed != NULL && !is_same(packed, tensor, from, to))
        packed = packed->next;
    if (packed != NULL)
        packed->holders++;
    return packed;
}

/* Packing takes its time, so it is done without the lock: of two threads that pack the same, the
 * second one's work is dropped. */
onnxd_status *onnxd_dnnl_packed_acquire(onnxd_dnnl *dnnl, const onnxd_tensor *tensor,
                                        const onnxd_md *from, onnxd_md_ref to,
                                        onnxd_dnnl_packed **out_packed)
{
    onnxd_dnnl_packed *fresh = NULL;
    pthread_mutex_lock(&dnnl->mutex);
    onnxd_dnnl_packed *packed = find_locked(dnnl, tensor, from, to);
    pthread_mutex_unlock(&dnnl->mutex);
    if (packed == NULL) {
        ONNXD_TRY(packed_create(dnnl, tensor, from, to, &fresh));
        pthread_mutex_lock(&dnnl->mutex);
        packed = find_locked(dnnl, tensor, from, to);
        if (packed == NULL) {
            packed = fresh;
            packed->holders = 1;
            packed->next = dnnl->packed;
            dnnl->packed = packed;
            fresh = NULL;
        }
        pthread_mutex_unlock(&dnnl->mutex);
    }
    if (fresh != NULL)
        packed_destroy(fresh);
    *out_packed = packed;
    return NULL;
}

void onnxd_dnnl_packed_release(onnxd_dnnl *dnnl, onnxd_dnnl_packed *packed)
{
    pthread_mutex_lock(&dnnl->mutex);
    bool is_last = --packed->holders == 0;
    if (is_last) {
        onnxd_dnnl_packed **link = &dnnl->packed;
        while (*link != packed)
            link = &(*link)->next;
        *link = packed->next;
    }
    pthread_mutex_unlock(&dnnl->mutex);
    if (is_last)
        packed_destroy(packed);
}

void *onnxd_dnnl_packed_data(onnxd_dnnl_packed *packed)
{
    return packed->data;
}
