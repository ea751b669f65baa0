#include "ep/cpu/packed.h"

#include <string.h>

#include "base/alloc.h"

struct onnxd_cpu_packed {
    onnxd_cpu_packed *next;
    const onnxd_tensor *tensor;
    const char *form;
    uint64_t parameters[ONNXD_CPU_PACKING_PARAMETERS];
    onnxd_slab_piece piece;
    size_t bytes;
    size_t holders;
};

onnxd_status *onnxd_cpu_packed_list_init(onnxd_cpu_packed_list *list)
{
    ONNXD_TRY(onnxd_slabs_create(&list->slabs));
    pthread_mutex_init(&list->mutex, NULL);
    list->first = NULL;
    return NULL;
}

void onnxd_cpu_packed_list_deinit(onnxd_cpu_packed_list *list)
{
    if (list->slabs == NULL)
        return;
    onnxd_slabs_destroy(list->slabs);
    pthread_mutex_destroy(&list->mutex);
}

static void packed_destroy(onnxd_cpu_packed_list *list, onnxd_cpu_packed *packed)
{
    if (packed == NULL)
        return;
    onnxd_slabs_release(list->slabs, packed->piece);
    onnxd_free(packed);
}

static onnxd_status *packed_create(onnxd_cpu_packed_list *list, const onnxd_tensor *tensor,
                                   const onnxd_cpu_packing *packing, onnxd_cpu_packed **out_packed)
{
    onnxd_cpu_packed *packed = onnxd_alloc_zero(1, sizeof(*packed));
    if (packed == NULL)
        return onnxd_error_out_of_memory("packed weights", sizeof(*packed), UINT64_MAX);
    onnxd_status *status = onnxd_slabs_acquire(list->slabs, packing->bytes, &packed->piece);
    if (status != NULL) {
        onnxd_status_free(status);
        packed_destroy(list, packed);
        return onnxd_error_out_of_memory("packed weights", packing->bytes, UINT64_MAX);
    }
    packed->tensor = tensor;
    packed->form = packing->form;
    memcpy(packed->parameters, packing->parameters, sizeof(packed->parameters));
    packed->bytes = packing->bytes;
    packing->pack(packing->context, tensor, packed->piece.data);
    *out_packed = packed;
    return NULL;
}

static bool is_same(const onnxd_cpu_packed *packed, const onnxd_tensor *tensor,
                    const onnxd_cpu_packing *packing)
{
    return packed->tensor == tensor && strcmp(packed->form, packing->form) == 0 &&
           memcmp(packed->parameters, packing->parameters, sizeof(packed->parameters)) == 0;
}

static onnxd_cpu_packed *find_locked(onnxd_cpu_packed_list *list, const onnxd_tensor *tensor,
                                     const onnxd_cpu_packing *packing)
{
    onnxd_cpu_packed *packed = list->first;
    while (packed != NULL && !is_same(packed, tensor, packing))
        packed = packed->next;
    if (packed != NULL)
        packed->holders++;
    return packed;
}

/* Packing takes its time, so it is done without the lock: of two threads that pack the same, the
 * second one's work is dropped. */
onnxd_status *onnxd_cpu_packed_acquire(onnxd_cpu_packed_list *list, const onnxd_tensor *tensor,
                                       const onnxd_cpu_packing *packing,
                                       onnxd_cpu_packed **out_packed)
{
    onnxd_cpu_packed *fresh = NULL;
    pthread_mutex_lock(&list->mutex);
    onnxd_cpu_packed *packed = find_locked(list, tensor, packing);
    pthread_mutex_unlock(&list->mutex);
    if (packed == NULL) {
        ONNXD_TRY(packed_create(list, tensor, packing, &fresh));
        pthread_mutex_lock(&list->mutex);
        packed = find_locked(list, tensor, packing);
        if (packed == NULL) {
            packed = fresh;
            packed->holders = 1;
            packed->next = list->first;
            list->first = packed;
            fresh = NULL;
        }
        pthread_mutex_unlock(&list->mutex);
    }
    packed_destroy(list, fresh);
    *out_packed = packed;
    return NULL;
}

void onnxd_cpu_packed_release(onnxd_cpu_packed_list *list, onnxd_cpu_packed *packed)
{
    pthread_mutex_lock(&list->mutex);
    const bool is_last = --packed->holders == 0;
    if (is_last) {
        onnxd_cpu_packed **link = &list->first;
        while (*link != packed)
            link = &(*link)->next;
        *link = packed->next;
    }
    pthread_mutex_unlock(&list->mutex);
    if (is_last)
        packed_destroy(list, packed);
}

const void *onnxd_cpu_packed_data(const onnxd_cpu_packed *packed)
{
    return packed->piece.data;
}

void onnxd_cpu_packed_query(onnxd_cpu_packed_list *list, size_t *out_count, size_t *out_bytes)
{
    size_t count = 0, bytes = 0;
    pthread_mutex_lock(&list->mutex);
    for (const onnxd_cpu_packed *packed = list->first; packed != NULL; packed = packed->next) {
        count++;
        bytes += packed->bytes;
    }
    pthread_mutex_unlock(&list->mutex);
    *out_count = count;
    *out_bytes = bytes;
}
