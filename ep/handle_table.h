/*
 * The buffers of one instance: what each handle stands for. A handle is a slot, the slot's
 * generation and the instance's tag, so a handle that was ended, forged or made by another instance
 * is found out and refused with FOREIGN_BUFFER.
 *
 *   insert ─► live ─┬─ remove ────────────────────────────────► free
 *                   └─ retire(points) ─► retiring ─► reap ────► free
 *
 * A retired buffer is refused from then on, but its memory stays untouched until every stream has
 * passed the point it had reached in issuing when the buffer was retired. That is how deallocate
 * takes effect after the work that uses the buffer, without waiting for it.
 *
 * Slots are made in growing steps up to the capacity and then reused, so a steady state allocates
 * nothing; every operation is O(1).
 *
 * Threads: any; one mutex.
 */
#ifndef ONNXD_EP_HANDLE_TABLE_H
#define ONNXD_EP_HANDLE_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "ep/ep.h"

#define ONNXD_HANDLE_TABLE_MAX ((uint32_t)1 << 20)

typedef struct onnxd_handle_table onnxd_handle_table;

/* What a handle stands for. */
typedef struct onnxd_handle_entry {
    void *data;   /* as in onnxd_buffer */
    size_t bytes; /* as in onnxd_buffer */
    void *base;   /* what goes back to the pool; may differ from data after alignment */
    size_t base_bytes;
} onnxd_handle_entry;

/* At most `capacity` buffers (1 .. ONNXD_HANDLE_TABLE_MAX) live at once. `tag` comes from
 * onnxd_instance_tag(). Errors: INVALID_ARGUMENT, OUT_OF_MEMORY. */
ONNXD_NODISCARD onnxd_status *onnxd_handle_table_create(uint32_t capacity, uint16_t tag,
                                                        onnxd_handle_table **out_table);
/* NULL is fine. Entries still held are forgotten: drain them first. */
void onnxd_handle_table_destroy(onnxd_handle_table *table);

/* Errors: RESOURCE_EXHAUSTED at capacity, OUT_OF_MEMORY. The handle is never 0. */
ONNXD_NODISCARD onnxd_status *onnxd_handle_table_insert(onnxd_handle_table *table,
                                                        const onnxd_handle_entry *entry,
                                                        uint64_t *out_handle);
/* Whether `buffer` is live and says the address and size that it was made with. out_entry may be
 * NULL. Errors: FOREIGN_BUFFER. */
ONNXD_NODISCARD onnxd_status *onnxd_handle_table_find(onnxd_handle_table *table,
                                                      const onnxd_buffer *buffer,
                                                      onnxd_handle_entry *out_entry);
/* Ends the handle at once; the caller takes the entry. Errors: FOREIGN_BUFFER. */
ONNXD_NODISCARD onnxd_status *onnxd_handle_table_remove(onnxd_handle_table *table,
                                                        const onnxd_buffer *buffer,
                                                        onnxd_handle_entry *out_entry);
/* Ends the handle; the entry waits for reap. `points` are the streams' issued counts. Entries come
 * out in the order they went in. Errors: FOREIGN_BUFFER. */
ONNXD_NODISCARD onnxd_status *onnxd_handle_table_retire(onnxd_handle_table *table,
                                                        const onnxd_buffer *buffer,
                                                        const uint64_t points[ONNXD_STREAM_COUNT]);
/* Takes the oldest retired entry if each stream has completed its point; false otherwise. */
ONNXD_NODISCARD bool onnxd_handle_table_reap(onnxd_handle_table *table,
                                             const uint64_t completed[ONNXD_STREAM_COUNT],
                                             onnxd_handle_entry *out_entry);
/* Takes any entry, live or retired; false when there is none. For shutdown. */
ONNXD_NODISCARD bool onnxd_handle_table_drain(onnxd_handle_table *table,
                                              onnxd_handle_entry *out_entry);

typedef struct onnxd_handle_stats {
    uint64_t live_count, live_bytes; /* retired ones are not live */
    uint64_t retiring_count;
} onnxd_handle_stats;
onnxd_handle_stats onnxd_handle_table_query(onnxd_handle_table *table);

#endif
