#include "ep/handle_table.h"

#include <pthread.h>

#include "base/alloc.h"

/* handle: tag (16) | slot (20) | generation (28). Generations start at 1, so no handle is 0. */
#define SLOT_SHIFT 28
#define TAG_SHIFT 48
#define SLOT_MASK ((uint64_t)ONNXD_HANDLE_TABLE_MAX - 1)
#define GENERATION_MASK (((uint64_t)1 << SLOT_SHIFT) - 1)
#define NO_SLOT UINT32_MAX
#define FIRST_SLOTS 64u

typedef enum slot_state { SLOT_FREE, SLOT_LIVE, SLOT_RETIRING } slot_state;

typedef struct handle_slot {
    onnxd_handle_entry entry;
    uint64_t points[ONNXD_STREAM_COUNT];
    uint32_t generation;
    uint32_t next; /* in the free or the retiring list */
    slot_state state;
} handle_slot;

/* A queue of slots through handle_slot.next. */
typedef struct slot_queue {
    uint32_t head, tail;
} slot_queue;

struct onnxd_handle_table {
    pthread_mutex_t mutex;
    handle_slot *slots;
    uint32_t slot_count, capacity;
    uint16_t tag;
    slot_queue unused, retiring;
    uint32_t drained; /* where drain goes on looking for live slots */
    onnxd_handle_stats stats;
};

static void queue_push(onnxd_handle_table *table, slot_queue *queue, uint32_t slot)
{
    table->slots[slot].next = NO_SLOT;
    if (queue->head == NO_SLOT)
        queue->head = slot;
    else
        table->slots[queue->tail].next = slot;
    queue->tail = slot;
}

static uint32_t queue_pop(onnxd_handle_table *table, slot_queue *queue)
{
    uint32_t slot = queue->head;
    if (slot != NO_SLOT)
        queue->head = table->slots[slot].next;
    return slot;
}

onnxd_status *onnxd_handle_table_create(uint32_t capacity, uint16_t tag,
                                        onnxd_handle_table **out_table)
{
    if (capacity == 0 || capacity > ONNXD_HANDLE_TABLE_MAX)
        return onnxd_error(ONNXD_INVALID_ARGUMENT, "%u buffers are not allowed, 1 to %u are",
                           capacity, ONNXD_HANDLE_TABLE_MAX);
    onnxd_handle_table *table = onnxd_alloc_zero(1, sizeof(*table));
    if (table == NULL)
        return onnxd_error_out_of_memory("buffer table", sizeof(*table), UINT64_MAX);
    pthread_mutex_init(&table->mutex, NULL);
    table->capacity = capacity;
    table->tag = tag;
    table->unused = table->retiring = (slot_queue){NO_SLOT, NO_SLOT};
    *out_table = table;
    return NULL;
}

void onnxd_handle_table_destroy(onnxd_handle_table *table)
{
    if (table == NULL)
        return;
    pthread_mutex_destroy(&table->mutex);
    onnxd_free(table->slots);
    onnxd_free(table);
}

static onnxd_status *grow_locked(onnxd_handle_table *table)
{
    uint32_t count = table->slot_count == 0 ? FIRST_SLOTS : table->slot_count * 2;
    if (count > table->capacity)
        count = table->capacity;
    if (count == table->slot_count)
        return onnxd_error(ONNXD_RESOURCE_EXHAUSTED, "all %u buffers of the instance are in use",
                           table->capacity);
    handle_slot *slots = onnxd_realloc_array(table->slots, count, sizeof(*slots));
    if (slots == NULL)
        return onnxd_error_out_of_memory("buffer table", (uint64_t)count * sizeof(*slots),
                                         UINT64_MAX);
    table->slots = slots;
    for (uint32_t i = table->slot_count; i < count; i++) {
        slots[i] = (handle_slot){.generation = 1, .state = SLOT_FREE};
        queue_push(table, &table->unused, i);
    }
    table->slot_count = count;
    return NULL;
}

onnxd_status *onnxd_handle_table_insert(onnxd_handle_table *table, const onnxd_handle_entry *entry,
                                        uint64_t *out_handle)
{
    onnxd_status *status = NULL;
    pthread_mutex_lock(&table->mutex);
    if (table->unused.head == NO_SLOT)
        status = grow_locked(table);
    if (status == NULL) {
        uint32_t index = queue_pop(table, &table->unused);
        handle_slot *slot = &table->slots[index];
        slot->state = SLOT_LIVE;
        slot->entry = *entry;
        table->stats.live_count++;
        table->stats.live_bytes += entry->bytes;
        *out_handle = ((uint64_t)table->tag << TAG_SHIFT) | ((uint64_t)index << SLOT_SHIFT) |
                      slot->generation;
    }
    pthread_mutex_unlock(&table->mutex);
    return status;
}

/* NULL unless the buffer is live and as it was handed out. */
static handle_slot *lookup_locked(onnxd_handle_table *table, const onnxd_buffer *buffer)
{
    uint64_t index = (buffer->handle >> SLOT_SHIFT) & SLOT_MASK;
    if (buffer->handle >> TAG_SHIFT != table->tag || index >= table->slot_count)
        return NULL;
    handle_slot *slot = &table->slots[index];
    if (slot->state != SLOT_LIVE || slot->generation != (buffer->handle & GENERATION_MASK) ||
        slot->entry.data != buffer->data || slot->entry.bytes != buffer->bytes)
        return NULL;
    return slot;
}

static onnxd_status *foreign(const onnxd_buffer *buffer)
{
    return onnxd_error(ONNXD_FOREIGN_BUFFER,
                       "buffer %#llx of %zu bytes is not live on this instance: it was deallocated "
                       "or made by another",
                       (unsigned long long)buffer->handle, buffer->bytes);
}

/* Ends the slot's handle. */
static void end_locked(onnxd_handle_table *table, handle_slot *slot)
{
    uint32_t next = (slot->generation + 1) & (uint32_t)GENERATION_MASK;
    slot->generation = next == 0 ? 1 : next;
    table->stats.live_count--;
    table->stats.live_bytes -= slot->entry.bytes;
}

static void free_locked(onnxd_handle_table *table, handle_slot *slot)
{
    slot->state = SLOT_FREE;
    queue_push(table, &table->unused, (uint32_t)(slot - table->slots));
}

onnxd_status *onnxd_handle_table_find(onnxd_handle_table *table, const onnxd_buffer *buffer,
                                      onnxd_handle_entry *out_entry)
{
    pthread_mutex_lock(&table->mutex);
    const handle_slot *slot = lookup_locked(table, buffer);
    if (slot != NULL && out_entry != NULL)
        *out_entry = slot->entry;
    pthread_mutex_unlock(&table->mutex);
    return slot != NULL ? NULL : foreign(buffer);
}

onnxd_status *onnxd_handle_table_remove(onnxd_handle_table *table, const onnxd_buffer *buffer,
                                        onnxd_handle_entry *out_entry)
{
    pthread_mutex_lock(&table->mutex);
    handle_slot *slot = lookup_locked(table, buffer);
    if (slot != NULL) {
        *out_entry = slot->entry;
        end_locked(table, slot);
        free_locked(table, slot);
    }
    pthread_mutex_unlock(&table->mutex);
    return slot != NULL ? NULL : foreign(buffer);
}

onnxd_status *onnxd_handle_table_retire(onnxd_handle_table *table, const onnxd_buffer *buffer,
                                        const uint64_t points[ONNXD_STREAM_COUNT])
{
    pthread_mutex_lock(&table->mutex);
    handle_slot *slot = lookup_locked(table, buffer);
    if (slot != NULL) {
        end_locked(table, slot);
        slot->state = SLOT_RETIRING;
        for (int i = 0; i < ONNXD_STREAM_COUNT; i++)
            slot->points[i] = points[i];
        queue_push(table, &table->retiring, (uint32_t)(slot - table->slots));
        table->stats.retiring_count++;
    }
    pthread_mutex_unlock(&table->mutex);
    return slot != NULL ? NULL : foreign(buffer);
}

static bool is_passed(const handle_slot *slot, const uint64_t completed[ONNXD_STREAM_COUNT])
{
    for (int i = 0; i < ONNXD_STREAM_COUNT; i++)
        if (completed[i] < slot->points[i])
            return false;
    return true;
}

/* Takes the oldest retired entry; the caller checked that there is one. */
static void take_retired_locked(onnxd_handle_table *table, onnxd_handle_entry *out_entry)
{
    handle_slot *slot = &table->slots[queue_pop(table, &table->retiring)];
    *out_entry = slot->entry;
    table->stats.retiring_count--;
    free_locked(table, slot);
}

bool onnxd_handle_table_reap(onnxd_handle_table *table,
                             const uint64_t completed[ONNXD_STREAM_COUNT],
                             onnxd_handle_entry *out_entry)
{
    pthread_mutex_lock(&table->mutex);
    uint32_t oldest = table->retiring.head;
    bool found = oldest != NO_SLOT && is_passed(&table->slots[oldest], completed);
    if (found)
        take_retired_locked(table, out_entry);
    pthread_mutex_unlock(&table->mutex);
    return found;
}

bool onnxd_handle_table_drain(onnxd_handle_table *table, onnxd_handle_entry *out_entry)
{
    bool found = false;
    pthread_mutex_lock(&table->mutex);
    if (table->retiring.head != NO_SLOT) {
        take_retired_locked(table, out_entry);
        found = true;
    }
    for (; !found && table->stats.live_count > 0 && table->drained < table->slot_count;
         table->drained++) {
        handle_slot *slot = &table->slots[table->drained];
        if (slot->state != SLOT_LIVE)
            continue;
        *out_entry = slot->entry;
        end_locked(table, slot);
        free_locked(table, slot);
        found = true;
    }
    if (!found)
        table->drained = 0;
    pthread_mutex_unlock(&table->mutex);
    return found;
}

onnxd_handle_stats onnxd_handle_table_query(onnxd_handle_table *table)
{
    pthread_mutex_lock(&table->mutex);
    onnxd_handle_stats stats = table->stats;
    pthread_mutex_unlock(&table->mutex);
    return stats;
}
