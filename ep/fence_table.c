#include "ep/fence_table.h"

#include <errno.h>
#include <pthread.h>
#include <time.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/size_math.h"

/* id: tag (16) | slot (16) | generation (32). Generations start at 1, so no id is 0. */
#define SLOT_SHIFT 32
#define TAG_SHIFT 48
#define NO_SLOT UINT32_MAX

typedef struct fence_slot {
    pthread_cond_t changed;
    onnxd_status *failure;
    uint32_t generation;
    uint32_t holds; /* waiters and queued waits */
    uint32_t next_free;
    bool is_live, is_signalled, is_released;
} fence_slot;

struct onnxd_fence_table {
    pthread_mutex_t mutex;
    uint32_t capacity, conds_made, live;
    uint32_t free_head, free_tail;
    uint16_t tag;
    fence_slot *slots;
};

/* A queue, so that a slot rests as long as possible before its next generation. */
static void push_free(onnxd_fence_table *table, uint32_t index)
{
    table->slots[index].next_free = NO_SLOT;
    if (table->free_head == NO_SLOT)
        table->free_head = index;
    else
        table->slots[table->free_tail].next_free = index;
    table->free_tail = index;
}

static onnxd_status *make_conditions(onnxd_fence_table *table)
{
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    int error = 0;
    for (; error == 0 && table->conds_made < table->capacity; table->conds_made++)
        error = pthread_cond_init(&table->slots[table->conds_made].changed, &attributes);
    pthread_condattr_destroy(&attributes);
    if (error == 0)
        return NULL;
    table->conds_made--;
    return onnxd_error(ONNXD_INTERNAL, "cannot make a condition variable, error %d", error);
}

onnxd_status *onnxd_fence_table_create(uint32_t capacity, uint16_t tag,
                                       onnxd_fence_table **out_table)
{
    if (capacity == 0 || capacity > ONNXD_FENCE_TABLE_MAX)
        return onnxd_error(ONNXD_INVALID_ARGUMENT, "%u fences are not allowed, 1 to %u are",
                           capacity, ONNXD_FENCE_TABLE_MAX);
    onnxd_status *status = NULL;
    onnxd_fence_table *table = onnxd_alloc_zero(1, sizeof(*table));
    if (table == NULL)
        return onnxd_error_out_of_memory("fence table", sizeof(*table), UINT64_MAX);
    pthread_mutex_init(&table->mutex, NULL);
    table->capacity = capacity;
    table->tag = tag;
    table->free_head = NO_SLOT;
    table->slots = onnxd_alloc_zero(capacity, sizeof(*table->slots));
    if (table->slots == NULL) {
        status =
            onnxd_error_out_of_memory("fence table", capacity * sizeof(*table->slots), UINT64_MAX);
        goto fail;
    }
    status = make_conditions(table);
    if (status != NULL)
        goto fail;
    for (uint32_t i = 0; i < capacity; i++) {
        table->slots[i].generation = 1;
        push_free(table, i);
    }
    *out_table = table;
    return NULL;

fail:
    onnxd_fence_table_destroy(table);
    return status;
}

void onnxd_fence_table_destroy(onnxd_fence_table *table)
{
    if (table == NULL)
        return;
    for (uint32_t i = 0; table->slots != NULL && i < table->conds_made; i++) {
        pthread_cond_destroy(&table->slots[i].changed);
        onnxd_status_free(table->slots[i].failure);
    }
    pthread_mutex_destroy(&table->mutex);
    onnxd_free(table->slots);
    onnxd_free(table);
}

/* The slot of a live id, also one that its caller has released; NULL when stale. */
static fence_slot *lookup_locked(onnxd_fence_table *table, onnxd_fence fence)
{
    uint32_t index = (uint32_t)(fence >> SLOT_SHIFT) & 0xffffu;
    if (fence >> TAG_SHIFT != table->tag || index >= table->capacity)
        return NULL;
    fence_slot *slot = &table->slots[index];
    return slot->is_live && slot->generation == (uint32_t)fence ? slot : NULL;
}

/* The same for callers, for whom a released fence has ended. */
static fence_slot *lookup_caller_locked(onnxd_fence_table *table, onnxd_fence fence)
{
    fence_slot *slot = lookup_locked(table, fence);
    return slot != NULL && !slot->is_released ? slot : NULL;
}

static onnxd_status *stale(onnxd_fence fence)
{
    return onnxd_error(ONNXD_STALE_FENCE,
                       "fence %#llx is unknown: it was released or belongs to another instance",
                       (unsigned long long)fence);
}

/* Frees the slot if nobody needs it any more. Returns the failure to free outside the lock. */
static onnxd_status *settle_locked(onnxd_fence_table *table, fence_slot *slot)
{
    if (!slot->is_signalled || !slot->is_released || slot->holds > 0)
        return NULL;
    onnxd_status *failure = slot->failure;
    slot->failure = NULL;
    slot->is_live = false;
    slot->generation = slot->generation == UINT32_MAX ? 1 : slot->generation + 1;
    table->live--;
    push_free(table, (uint32_t)(slot - table->slots));
    return failure;
}

onnxd_status *onnxd_fence_table_acquire(onnxd_fence_table *table, onnxd_fence *out_fence)
{
    pthread_mutex_lock(&table->mutex);
    uint32_t index = table->free_head;
    if (index != NO_SLOT) {
        fence_slot *slot = &table->slots[index];
        table->free_head = slot->next_free;
        slot->is_live = true;
        slot->is_signalled = slot->is_released = false;
        table->live++;
        *out_fence = ((onnxd_fence)table->tag << TAG_SHIFT) | ((onnxd_fence)index << SLOT_SHIFT) |
                     slot->generation;
    }
    pthread_mutex_unlock(&table->mutex);
    if (index == NO_SLOT)
        return onnxd_error(ONNXD_RESOURCE_EXHAUSTED,
                           "all %u fences are held, some must be released first", table->capacity);
    return NULL;
}

void onnxd_fence_table_signal(onnxd_fence_table *table, onnxd_fence fence, onnxd_status *status)
{
    pthread_mutex_lock(&table->mutex);
    fence_slot *slot = lookup_locked(table, fence);
    if (slot != NULL && !slot->is_signalled) {
        slot->is_signalled = true;
        slot->failure = status;
        pthread_cond_broadcast(&slot->changed);
        status = settle_locked(table, slot);
    }
    pthread_mutex_unlock(&table->mutex);
    onnxd_status_free(status);
}

/* CLOCK_MONOTONIC timeout_ns from here, cut to what int64_t holds. */
static struct timespec deadline_after(int64_t timeout_ns)
{
    int64_t deadline_ns;
    if (!onnxd_i64_add(onnxd_now_ns(), timeout_ns, &deadline_ns))
        deadline_ns = INT64_MAX;
    struct timespec deadline = {.tv_sec = (time_t)(deadline_ns / 1000000000),
                                .tv_nsec = (long)(deadline_ns % 1000000000)};
    return deadline;
}

/* Ends a hold; the outcome is a copy because others may ask too. */
static onnxd_status *finish_hold_locked(onnxd_fence_table *table, fence_slot *slot,
                                        onnxd_status **out_dead)
{
    onnxd_status *outcome = slot->is_signalled ? onnxd_status_clone(slot->failure) : NULL;
    slot->holds--;
    *out_dead = settle_locked(table, slot);
    return outcome;
}

onnxd_status *onnxd_fence_table_wait(onnxd_fence_table *table, onnxd_fence fence,
                                     int64_t timeout_ns)
{
    struct timespec deadline = deadline_after(timeout_ns < 0 ? 0 : timeout_ns);
    onnxd_status *dead = NULL;
    pthread_mutex_lock(&table->mutex);
    fence_slot *slot = lookup_caller_locked(table, fence);
    if (slot == NULL) {
        pthread_mutex_unlock(&table->mutex);
        return stale(fence);
    }
    slot->holds++;
    int error = 0;
    while (!slot->is_signalled && error != ETIMEDOUT) {
        if (timeout_ns < 0)
            pthread_cond_wait(&slot->changed, &table->mutex);
        else
            error = pthread_cond_timedwait(&slot->changed, &table->mutex, &deadline);
    }
    bool is_done = slot->is_signalled;
    onnxd_status *outcome = finish_hold_locked(table, slot, &dead);
    pthread_mutex_unlock(&table->mutex);
    onnxd_status_free(dead);
    if (!is_done)
        return onnxd_error(ONNXD_DEADLINE_EXCEEDED,
                           "the work was not done within the %lld ns it was waited for",
                           (long long)timeout_ns);
    return outcome;
}

onnxd_status *onnxd_fence_table_query(onnxd_fence_table *table, onnxd_fence fence, bool *out_done)
{
    pthread_mutex_lock(&table->mutex);
    const fence_slot *slot = lookup_caller_locked(table, fence);
    if (slot != NULL)
        *out_done = slot->is_signalled;
    pthread_mutex_unlock(&table->mutex);
    return slot != NULL ? NULL : stale(fence);
}

onnxd_status *onnxd_fence_table_release(onnxd_fence_table *table, onnxd_fence fence)
{
    onnxd_status *dead = NULL;
    pthread_mutex_lock(&table->mutex);
    fence_slot *slot = lookup_caller_locked(table, fence);
    if (slot != NULL) {
        slot->is_released = true;
        dead = settle_locked(table, slot);
    }
    pthread_mutex_unlock(&table->mutex);
    onnxd_status_free(dead);
    return slot != NULL ? NULL : stale(fence);
}

onnxd_status *onnxd_fence_table_hold(onnxd_fence_table *table, onnxd_fence fence)
{
    pthread_mutex_lock(&table->mutex);
    fence_slot *slot = lookup_caller_locked(table, fence);
    if (slot != NULL)
        slot->holds++;
    pthread_mutex_unlock(&table->mutex);
    return slot != NULL ? NULL : stale(fence);
}

onnxd_status *onnxd_fence_table_wait_held(onnxd_fence_table *table, onnxd_fence fence,
                                          bool *out_waited)
{
    onnxd_status *dead = NULL;
    pthread_mutex_lock(&table->mutex);
    fence_slot *slot = lookup_locked(table, fence);
    if (slot == NULL) {
        pthread_mutex_unlock(&table->mutex);
        return stale(fence);
    }
    if (out_waited != NULL)
        *out_waited = !slot->is_signalled;
    while (!slot->is_signalled)
        pthread_cond_wait(&slot->changed, &table->mutex);
    onnxd_status *outcome = finish_hold_locked(table, slot, &dead);
    pthread_mutex_unlock(&table->mutex);
    onnxd_status_free(dead);
    return outcome;
}

uint32_t onnxd_fence_table_live(onnxd_fence_table *table)
{
    pthread_mutex_lock(&table->mutex);
    uint32_t live = table->live;
    pthread_mutex_unlock(&table->mutex);
    return live;
}
