#include "ep/handle_table.h"

#include <criterion/criterion.h>
#include <pthread.h>

#include "base/alloc.h"
#include "ep/instance_tag.h"

static onnxd_handle_table *make(uint32_t capacity)
{
    onnxd_handle_table *table = NULL;
    uint16_t tag = onnxd_instance_tag((onnxd_device_id){ONNXD_DEVICE_CPU, 0});
    cr_assert_null(onnxd_handle_table_create(capacity, tag, &table));
    return table;
}

static onnxd_buffer insert(onnxd_handle_table *table, void *data, size_t bytes)
{
    onnxd_buffer buffer = {.data = data, .bytes = bytes};
    onnxd_handle_entry entry = {data, bytes, data, bytes};
    cr_assert_null(onnxd_handle_table_insert(table, &entry, &buffer.handle));
    cr_assert_neq(buffer.handle, 0);
    return buffer;
}

static void expect_code(onnxd_status *status, onnxd_code code)
{
    cr_assert_eq(onnxd_status_code(status), code, "%s", onnxd_status_message(status));
    onnxd_status_free(status);
}

Test(handle_table, an_ended_handle_is_foreign)
{
    onnxd_handle_table *table = make(8);
    char memory[16];
    onnxd_buffer buffer = insert(table, memory, sizeof(memory));
    onnxd_handle_entry entry = {0};
    cr_assert_null(onnxd_handle_table_find(table, &buffer, &entry));
    cr_assert_eq(entry.data, memory);
    cr_assert_eq(onnxd_handle_table_query(table).live_bytes, sizeof(memory));
    cr_assert_null(onnxd_handle_table_remove(table, &buffer, &entry));
    expect_code(onnxd_handle_table_find(table, &buffer, NULL), ONNXD_FOREIGN_BUFFER);
    expect_code(onnxd_handle_table_remove(table, &buffer, &entry), ONNXD_FOREIGN_BUFFER);
    cr_assert_eq(onnxd_handle_table_query(table).live_count, 0);
    onnxd_handle_table_destroy(table);
}

Test(handle_table, a_reused_slot_does_not_revive_old_handles)
{
    onnxd_handle_table *table = make(1);
    char memory[16];
    onnxd_handle_entry entry;
    onnxd_buffer first = insert(table, memory, sizeof(memory));
    for (int i = 0; i < 100; i++) {
        cr_assert_null(onnxd_handle_table_remove(table, &first, &entry));
        onnxd_buffer second = insert(table, memory, sizeof(memory));
        cr_assert_neq(first.handle, second.handle);
        expect_code(onnxd_handle_table_find(table, &first, NULL), ONNXD_FOREIGN_BUFFER);
        first = second;
    }
    onnxd_handle_table_destroy(table);
}

Test(handle_table, forged_buffers_are_foreign)
{
    onnxd_handle_table *table = make(8), *other = make(8);
    char memory[16];
    onnxd_buffer buffer = insert(table, memory, sizeof(memory));
    onnxd_buffer twin = insert(other, memory, sizeof(memory));
    cr_assert_neq(buffer.handle, twin.handle, "two instances hand out one handle");
    expect_code(onnxd_handle_table_find(table, &twin, NULL), ONNXD_FOREIGN_BUFFER);

    onnxd_buffer forged = buffer;
    forged.bytes++;
    expect_code(onnxd_handle_table_find(table, &forged, NULL), ONNXD_FOREIGN_BUFFER);
    forged = buffer;
    forged.data = memory + 1;
    expect_code(onnxd_handle_table_find(table, &forged, NULL), ONNXD_FOREIGN_BUFFER);
    for (int bit = 0; bit < 64; bit++) {
        forged = buffer;
        forged.handle ^= (uint64_t)1 << bit;
        expect_code(onnxd_handle_table_find(table, &forged, NULL), ONNXD_FOREIGN_BUFFER);
    }
    forged = buffer;
    forged.handle = 0;
    expect_code(onnxd_handle_table_find(table, &forged, NULL), ONNXD_FOREIGN_BUFFER);
    forged.handle = UINT64_MAX;
    expect_code(onnxd_handle_table_find(table, &forged, NULL), ONNXD_FOREIGN_BUFFER);
    onnxd_handle_table_destroy(table);
    onnxd_handle_table_destroy(other);
}

Test(handle_table, capacity_is_a_bound_and_comes_back)
{
    enum { CAPACITY = 150 };
    onnxd_handle_table *table = make(CAPACITY);
    onnxd_buffer buffers[CAPACITY];
    for (int i = 0; i < CAPACITY; i++)
        buffers[i] = insert(table, &buffers[i], sizeof(buffers[i]));
    onnxd_handle_entry entry = {0};
    uint64_t handle = 7;
    expect_code(onnxd_handle_table_insert(table, &entry, &handle), ONNXD_RESOURCE_EXHAUSTED);
    cr_assert_eq(handle, 7, "the out-parameter was touched on failure");
    cr_assert_null(onnxd_handle_table_remove(table, &buffers[77], &entry));
    buffers[77] = insert(table, &buffers[77], sizeof(buffers[77]));
    for (int i = 0; i < CAPACITY; i++)
        cr_assert_null(onnxd_handle_table_find(table, &buffers[i], NULL));
    onnxd_handle_table_destroy(table);
}

Test(handle_table, capacity_out_of_range_is_refused)
{
    onnxd_handle_table *table = NULL;
    expect_code(onnxd_handle_table_create(0, 1, &table), ONNXD_INVALID_ARGUMENT);
    expect_code(onnxd_handle_table_create(ONNXD_HANDLE_TABLE_MAX + 1, 1, &table),
                ONNXD_INVALID_ARGUMENT);
    cr_assert_null(table);
}

Test(handle_table, a_retired_entry_waits_for_every_stream)
{
    onnxd_handle_table *table = make(8);
    char memory[16];
    onnxd_buffer buffer = insert(table, memory, sizeof(memory));
    const uint64_t points[ONNXD_STREAM_COUNT] = {5, 9, 2};
    cr_assert_null(onnxd_handle_table_retire(table, &buffer, points));
    expect_code(onnxd_handle_table_find(table, &buffer, NULL), ONNXD_FOREIGN_BUFFER);
    cr_assert_eq(onnxd_handle_table_query(table).live_count, 0);
    cr_assert_eq(onnxd_handle_table_query(table).retiring_count, 1);

    onnxd_handle_entry entry = {0};
    for (int lagging = 0; lagging < ONNXD_STREAM_COUNT; lagging++) {
        uint64_t completed[ONNXD_STREAM_COUNT] = {5, 9, 2};
        completed[lagging]--;
        cr_assert_not(onnxd_handle_table_reap(table, completed, &entry), "stream %d", lagging);
    }
    cr_assert(onnxd_handle_table_reap(table, points, &entry));
    cr_assert_eq(entry.base, memory);
    cr_assert_not(onnxd_handle_table_reap(table, points, &entry));
    onnxd_handle_table_destroy(table);
}

Test(handle_table, drain_yields_live_and_retired_entries_once)
{
    onnxd_handle_table *table = make(100);
    char memory[10];
    const uint64_t never[ONNXD_STREAM_COUNT] = {UINT64_MAX, UINT64_MAX, UINT64_MAX};
    for (int i = 0; i < 10; i++) {
        onnxd_buffer buffer = insert(table, &memory[i], 1);
        if (i % 3 == 0)
            cr_assert_null(onnxd_handle_table_retire(table, &buffer, never));
    }
    unsigned seen = 0;
    onnxd_handle_entry entry;
    while (onnxd_handle_table_drain(table, &entry)) {
        unsigned bit = 1u << ((char *)entry.data - memory);
        cr_assert_eq(seen & bit, 0);
        seen |= bit;
    }
    cr_assert_eq(seen, 0x3ffu);
    onnxd_handle_stats stats = onnxd_handle_table_query(table);
    cr_assert_eq(stats.live_count + stats.live_bytes + stats.retiring_count, 0);
    onnxd_handle_table_destroy(table);
}

Test(handle_table, a_steady_state_allocates_nothing)
{
    onnxd_handle_table *table = make(64);
    char memory[16];
    onnxd_handle_entry entry;
    onnxd_buffer buffer = insert(table, memory, sizeof(memory));
    cr_assert_null(onnxd_handle_table_remove(table, &buffer, &entry));
    uint64_t before = onnxd_alloc_thread_calls();
    for (int i = 0; i < 1000; i++) {
        buffer = insert(table, memory, sizeof(memory));
        cr_assert_null(onnxd_handle_table_remove(table, &buffer, &entry));
    }
    cr_assert_eq(onnxd_alloc_thread_calls(), before);
    onnxd_handle_table_destroy(table);
}

Test(handle_table, growing_survives_a_failed_allocation)
{
    onnxd_handle_table *table = make(1000);
    onnxd_buffer buffers[64];
    for (int i = 0; i < 64; i++)
        buffers[i] = insert(table, &buffers[i], sizeof(buffers[i]));
    onnxd_handle_entry entry = {0};
    uint64_t handle;
    onnxd_alloc_fail_at(1, 0);
    onnxd_status *status = onnxd_handle_table_insert(table, &entry, &handle);
    onnxd_alloc_fail_at(0, 0);
    expect_code(status, ONNXD_OUT_OF_MEMORY);
    for (int i = 0; i < 64; i++)
        cr_assert_null(onnxd_handle_table_find(table, &buffers[i], NULL));
    insert(table, &entry, sizeof(entry));
    onnxd_handle_table_destroy(table);
}

static void *churn(void *user)
{
    onnxd_handle_table *table = user;
    const uint64_t points[ONNXD_STREAM_COUNT] = {0};
    int failures = 0;
    for (int i = 0; i < 2000; i++) {
        onnxd_buffer buffer = {.data = &failures, .bytes = 4};
        onnxd_handle_entry entry = {&failures, 4, &failures, 4};
        onnxd_status *status = onnxd_handle_table_insert(table, &entry, &buffer.handle);
        if (status == NULL)
            status = onnxd_handle_table_find(table, &buffer, &entry);
        if (status == NULL)
            status = onnxd_handle_table_retire(table, &buffer, points);
        failures += status != NULL;
        onnxd_status_free(status);
        /* Another thread may have reaped the own entry, but then this one meets another's. */
        if (onnxd_handle_table_reap(table, points, &entry))
            failures += entry.bytes != 4;
    }
    return (void *)(intptr_t)failures;
}

Test(handle_table, threads_share_it)
{
    onnxd_handle_table *table = make(16);
    pthread_t threads[4];
    for (int i = 0; i < 4; i++)
        cr_assert_eq(pthread_create(&threads[i], NULL, churn, table), 0);
    for (int i = 0; i < 4; i++) {
        void *failures;
        pthread_join(threads[i], &failures);
        cr_assert_null(failures);
    }
    cr_assert_eq(onnxd_handle_table_query(table).live_count, 0);
    onnxd_handle_table_destroy(table);
}
