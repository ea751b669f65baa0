#include "base/alloc.h"
#include "ep/cpu/compute/bf16_product.h"
#include "ep/cpu/internal.h"

#include <string.h>
#include <time.h>

onnxd_status *onnxd_cpu_runtime_create(const onnxd_op_registry *ops,
                                       const onnxd_cpu_options *options,
                                       onnxd_cpu_runtime **out_runtime)
{
    onnxd_cpu_runtime *runtime = onnxd_alloc_zero(1, sizeof(*runtime));
    if (runtime == NULL)
        return onnxd_error_out_of_memory("the CPU provider", sizeof(*runtime), UINT64_MAX);
    runtime->ops = ops;
    runtime->threads = options->threads > 0 ? (int)options->threads : onnxd_cpu_count_allowed();
    runtime->batch_cache_bytes =
        options->batch_cache_bytes >= 0
            ? (uint64_t)options->batch_cache_bytes
            : (uint64_t)runtime->threads * onnxd_cpu_second_level_cache_bytes() / 2;
    runtime->uses_vector_kernels = options->uses_vector_kernels;
    runtime->uses_winograd = options->winograd == ONNXD_CPU_WINOGRAD_AUTO;
    runtime->winograd_error = options->winograd_error;
    runtime->kernel_capacity = (size_t)options->kernel_cache;
    runtime->references = 1;
    runtime->is_open = true;
    runtime->simd =
        onnxd_simd_table(options->isa == ONNXD_CPU_ISA_AUTO ? onnxd_simd_best()
                                                            : (onnxd_simd_level)(options->isa - 1));
    onnxd_status *status = onnxd_cpu_packed_list_init(&runtime->packed);
    if (status == NULL && options->precision == ONNXD_CPU_PRECISION_BF16)
        status = onnxd_bf16_gain(runtime->simd, &runtime->bf16);
    if (status == NULL)
        status = onnxd_team_create((uint32_t)runtime->threads, &runtime->team);
    if (status == NULL && options->uses_onednn)
        status = onnxd_dnnl_create(runtime->threads, &runtime->dnnl);
    if (status == NULL && pthread_mutex_init(&runtime->mutex, NULL) != 0)
        status = onnxd_error(ONNXD_INTERNAL, "cannot make a mutex");
    if (status != NULL)
        goto fail;
    *out_runtime = runtime;
    return NULL;

fail:
    onnxd_dnnl_destroy(runtime->dnnl);
    onnxd_team_destroy(runtime->team);
    onnxd_cpu_packed_list_deinit(&runtime->packed);
    onnxd_free(runtime);
    return status;
}

void onnxd_cpu_runtime_retain(onnxd_cpu_runtime *runtime)
{
    __atomic_add_fetch(&runtime->references, 1, __ATOMIC_RELAXED);
}

void onnxd_cpu_runtime_release(onnxd_cpu_runtime *runtime)
{
    if (runtime == NULL || __atomic_sub_fetch(&runtime->references, 1, __ATOMIC_ACQ_REL) != 0)
        return;
    onnxd_dnnl_destroy(runtime->dnnl);
    onnxd_team_destroy(runtime->team);
    onnxd_cpu_packed_list_deinit(&runtime->packed);
    pthread_mutex_destroy(&runtime->mutex);
    onnxd_free(runtime);
}

/* ---- lists ----------------------------------------------------------------------------------- */

static void unused_remove(onnxd_cpu_runtime *runtime, onnxd_cpu_kernel *kernel)
{
    if (kernel->older != NULL)
        kernel->older->younger = kernel->younger;
    else
        runtime->oldest = kernel->younger;
    if (kernel->younger != NULL)
        kernel->younger->older = kernel->older;
    else
        runtime->youngest = kernel->older;
    kernel->older = kernel->younger = NULL;
    runtime->unused_count--;
}

static void unused_add(onnxd_cpu_runtime *runtime, onnxd_cpu_kernel *kernel)
{
    kernel->older = runtime->youngest;
    if (runtime->youngest != NULL)
        runtime->youngest->younger = kernel;
    else
        runtime->oldest = kernel;
    runtime->youngest = kernel;
    runtime->unused_count++;
}

static onnxd_cpu_kernel **bucket_of(onnxd_cpu_runtime *runtime, uint64_t hash)
{
    return &runtime->kernels[hash % ONNXD_CPU_KERNEL_BUCKETS];
}

static void hide(onnxd_cpu_runtime *runtime, onnxd_cpu_kernel *kernel)
{
    if (kernel->previous != NULL)
        kernel->previous->next = kernel->next;
    else
        *bucket_of(runtime, kernel->hash) = kernel->next;
    if (kernel->next != NULL)
        kernel->next->previous = kernel->previous;
    kernel->is_findable = false;
}

/* Takes the unused kernels beyond `capacity` out, linked by `older`; the caller destroys them
 * without the lock. */
static onnxd_cpu_kernel *evict_locked(onnxd_cpu_runtime *runtime, size_t capacity)
{
    onnxd_cpu_kernel *evicted = NULL;
    onnxd_cpu_kernel *kernel;
    while (runtime->unused_count > capacity && (kernel = runtime->oldest) != NULL) {
        unused_remove(runtime, kernel);
        hide(runtime, kernel);
        kernel->older = evicted;
        evicted = kernel;
    }
    return evicted;
}

static void destroy_all(onnxd_cpu_kernel *kernels)
{
    while (kernels != NULL) {
        onnxd_cpu_kernel *next = kernels->older;
        onnxd_cpu_kernel_destroy(kernels);
        kernels = next;
    }
}

/* ---- the cache ------------------------------------------------------------------------------- */

onnxd_cpu_kernel *onnxd_cpu_runtime_find(onnxd_cpu_runtime *runtime, const void *key,
                                         size_t key_bytes, uint64_t hash)
{
    pthread_mutex_lock(&runtime->mutex);
    onnxd_cpu_kernel *kernel = *bucket_of(runtime, hash);
    while (kernel != NULL && (kernel->hash != hash || kernel->key_bytes != key_bytes ||
                              memcmp(kernel->key, key, key_bytes) != 0))
        kernel = kernel->next;
    if (kernel != NULL && kernel->holders++ == 0)
        unused_remove(runtime, kernel);
    pthread_mutex_unlock(&runtime->mutex);
    return kernel;
}

const onnxd_cpu_implementation *onnxd_cpu_runtime_verdict(onnxd_cpu_runtime *runtime, uint64_t hash)
{
    pthread_mutex_lock(&runtime->mutex);
    onnxd_cpu_verdict verdict = runtime->verdicts[hash % ONNXD_CPU_VERDICTS];
    pthread_mutex_unlock(&runtime->mutex);
    return verdict.hash == hash ? verdict.implementation : NULL;
}

void onnxd_cpu_runtime_judge(onnxd_cpu_runtime *runtime, uint64_t hash,
                             const onnxd_cpu_implementation *implementation)
{
    pthread_mutex_lock(&runtime->mutex);
    runtime->verdicts[hash % ONNXD_CPU_VERDICTS] = (onnxd_cpu_verdict){hash, implementation};
    pthread_mutex_unlock(&runtime->mutex);
}

void onnxd_cpu_runtime_add(onnxd_cpu_runtime *runtime, onnxd_cpu_kernel *kernel)
{
    pthread_mutex_lock(&runtime->mutex);
    onnxd_cpu_kernel **bucket = bucket_of(runtime, kernel->hash);
    kernel->next = *bucket;
    if (*bucket != NULL)
        (*bucket)->previous = kernel;
    *bucket = kernel;
    kernel->is_findable = true;
    pthread_mutex_unlock(&runtime->mutex);
}

void onnxd_cpu_runtime_put(onnxd_cpu_kernel *kernel)
{
    onnxd_cpu_runtime *runtime = kernel->runtime;
    onnxd_cpu_kernel *ended = NULL;
    pthread_mutex_lock(&runtime->mutex);
    if (--kernel->holders == 0) {
        if (kernel->is_findable && kernel->constants == NULL) {
            unused_add(runtime, kernel);
            ended = evict_locked(runtime, runtime->kernel_capacity);
        } else {
            if (kernel->is_findable)
                hide(runtime, kernel);
            kernel->older = NULL;
            ended = kernel;
        }
    }
    /* Kernels hold the runtime: it must outlive the unlock below. */
    onnxd_cpu_runtime_retain(runtime);
    pthread_mutex_unlock(&runtime->mutex);
    destroy_all(ended);
    onnxd_cpu_runtime_release(runtime);
}

/* ---- running --------------------------------------------------------------------------------- */

onnxd_status *onnxd_cpu_runtime_begin(onnxd_cpu_runtime *runtime, const char *name,
                                      uint64_t *out_epoch)
{
    if (runtime->dnnl != NULL)
        onnxd_dnnl_yield(runtime->dnnl);
    /* First counted, then checked: close() first closes, then looks at the count, so one of the
     * two sees the other. */
    const uint64_t epoch = onnxd_cpu_progress_begin(&runtime->progress);
    if (ONNXD_UNLIKELY(!__atomic_load_n(&runtime->is_open, __ATOMIC_SEQ_CST))) {
        onnxd_cpu_progress_end(&runtime->progress, epoch);
        return onnxd_error(ONNXD_NOT_INITIALIZED, "the instance that made kernel '%s' is shut down",
                           name);
    }
    __atomic_add_fetch(&runtime->kernels_enqueued, 1, __ATOMIC_RELAXED);
    *out_epoch = epoch;
    return NULL;
}

/* Polls, since kernels shall not pay for a wake-up that only sync and shutdown need. */
void onnxd_cpu_runtime_drain(onnxd_cpu_runtime *runtime)
{
    const struct timespec pause = {.tv_nsec = 50000};
    const uint64_t point = onnxd_cpu_progress_point(&runtime->progress);
    while (onnxd_cpu_progress_passed(&runtime->progress) < point)
        nanosleep(&pause, NULL);
}

void onnxd_cpu_runtime_close(onnxd_cpu_runtime *runtime)
{
    __atomic_store_n(&runtime->is_open, false, __ATOMIC_SEQ_CST);
    onnxd_cpu_runtime_drain(runtime);
    pthread_mutex_lock(&runtime->mutex);
    runtime->kernel_capacity = 0;
    onnxd_cpu_kernel *ended = evict_locked(runtime, 0);
    pthread_mutex_unlock(&runtime->mutex);
    destroy_all(ended);
}
