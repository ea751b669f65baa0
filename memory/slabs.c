#include "memory/slabs.h"

#include <pthread.h>

#include "base/alloc.h"
#include "memory/offset_allocator.h"

#define FIRST_SLAB_BYTES ((size_t)1 << 20)
#define SLAB_BYTES ((size_t)16 << 20)
/* Pieces of more than this part of a slab have one of their own. */
#define LARGE_PART 2

struct onnxd_slab {
    onnxd_slab *next;
    char *data;
    size_t bytes, pieces;
    onnxd_offset_allocator *room;
};

struct onnxd_slabs {
    pthread_mutex_t mutex;
    onnxd_slab *first;
};

onnxd_status *onnxd_slabs_create(onnxd_slabs **out_slabs)
{
    onnxd_slabs *slabs = onnxd_alloc_zero(1, sizeof(*slabs));
    if (slabs == NULL)
        return onnxd_error_out_of_memory("a list of slabs", sizeof(*slabs), UINT64_MAX);
    pthread_mutex_init(&slabs->mutex, NULL);
    *out_slabs = slabs;
    return NULL;
}

static void slab_destroy(onnxd_slab *slab)
{
    if (slab == NULL)
        return;
    onnxd_offset_allocator_destroy(slab->room);
    onnxd_free(slab->data);
    onnxd_free(slab);
}

void onnxd_slabs_destroy(onnxd_slabs *slabs)
{
    if (slabs == NULL)
        return;
    while (slabs->first != NULL) {
        onnxd_slab *slab = slabs->first;
        slabs->first = slab->next;
        slab_destroy(slab);
    }
    pthread_mutex_destroy(&slabs->mutex);
    onnxd_free(slabs);
}

static onnxd_status *slab_create(size_t bytes, onnxd_slab **out_slab)
{
    onnxd_slab *slab = onnxd_alloc_zero(1, sizeof(*slab));
    onnxd_status *status = NULL;
    if (slab != NULL)
        slab->data = onnxd_alloc_aligned(bytes, ONNXD_SLAB_ALIGNMENT);
    if (slab == NULL || slab->data == NULL)
        status = onnxd_error_out_of_memory("a slab", bytes, UINT64_MAX);
    if (status == NULL)
        status = onnxd_offset_allocator_create(bytes, ONNXD_SLAB_ALIGNMENT, &slab->room);
    if (status != NULL) {
        slab_destroy(slab);
        return status;
    }
    slab->bytes = bytes;
    *out_slab = slab;
    return NULL;
}

static bool cut(onnxd_slab *slab, size_t bytes, onnxd_slab_piece *out_piece)
{
    size_t offset;
    if (!onnxd_offset_allocator_alloc(slab->room, bytes, ONNXD_SLAB_ALIGNMENT, &offset))
        return false;
    slab->pieces++;
    *out_piece = (onnxd_slab_piece){slab->data + offset, slab};
    return true;
}

static onnxd_status *acquire_locked(onnxd_slabs *slabs, size_t bytes, onnxd_slab_piece *out_piece)
{
    onnxd_slab **link = &slabs->first;
    for (; *link != NULL; link = &(*link)->next)
        if (cut(*link, bytes, out_piece))
            return NULL;
    size_t capacity = slabs->first == NULL ? FIRST_SLAB_BYTES : SLAB_BYTES;
    if (bytes > capacity / LARGE_PART)
        capacity = bytes < SLAB_BYTES / LARGE_PART ? SLAB_BYTES : bytes + ONNXD_SLAB_ALIGNMENT;
    onnxd_slab *slab = NULL;
    ONNXD_TRY(slab_create(capacity, &slab));
    *link = slab;
    return cut(slab, bytes, out_piece)
               ? NULL
               : onnxd_error(ONNXD_INTERNAL, "a new slab of %zu bytes has no room for %zu",
                             capacity, bytes);
}

onnxd_status *onnxd_slabs_acquire(onnxd_slabs *slabs, size_t bytes, onnxd_slab_piece *out_piece)
{
    if (bytes > PTRDIFF_MAX)
        return onnxd_error_out_of_memory("a slab", bytes, UINT64_MAX);
    pthread_mutex_lock(&slabs->mutex);
    onnxd_status *status = acquire_locked(slabs, bytes, out_piece);
    pthread_mutex_unlock(&slabs->mutex);
    return status;
}

void onnxd_slabs_release(onnxd_slabs *slabs, onnxd_slab_piece piece)
{
    onnxd_slab *slab = piece.slab, *unused = NULL;
    if (slab == NULL)
        return;
    pthread_mutex_lock(&slabs->mutex);
    (void)!onnxd_offset_allocator_free(slab->room, (size_t)((char *)piece.data - slab->data));
    if (--slab->pieces == 0) {
        onnxd_slab **link = &slabs->first;
        while (*link != slab)
            link = &(*link)->next;
        *link = slab->next;
        unused = slab;
    }
    pthread_mutex_unlock(&slabs->mutex);
    slab_destroy(unused);
}

size_t onnxd_slabs_committed_bytes(onnxd_slabs *slabs)
{
    size_t bytes = 0;
    pthread_mutex_lock(&slabs->mutex);
    for (const onnxd_slab *slab = slabs->first; slab != NULL; slab = slab->next)
        bytes += slab->bytes;
    pthread_mutex_unlock(&slabs->mutex);
    return bytes;
}
