#include "memory/planner.h"

#include <criterion/criterion.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "tests/base/random.h"
#include "tests/base/status_check.h"

static onnxd_plan_record record(uint32_t first_step, uint32_t last_step, size_t bytes)
{
    return (onnxd_plan_record){
        .first_step = first_step, .last_step = last_step, .bytes = bytes, .alignment = 64};
}

static bool overlap(const onnxd_plan_record *a, const onnxd_plan_record *b)
{
    return a->bytes != 0 && b->bytes != 0 && a->offset < b->offset + b->bytes &&
           b->offset < a->offset + a->bytes;
}

static void check_pairs(const onnxd_plan_record *records, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        cr_assert_eq(records[i].offset % records[i].alignment, 0, "record %zu", i);
        if (records[i].bytes == 0)
            cr_assert_eq(records[i].offset, 0);
        for (size_t k = 0; k < i; k++) {
            bool same_time = records[i].first_step <= records[k].last_step &&
                             records[k].first_step <= records[i].last_step;
            if (same_time && overlap(&records[i], &records[k]))
                cr_assert_fail("records %zu and %zu share memory", i, k);
        }
    }
}

/* Every promise of the planner's header, checked by brute force. */
static size_t check_plan(onnxd_plan_record *records, size_t count)
{
    size_t arena_bytes = 77, peak_bytes = 77;
    check_ok(onnxd_plan_memory(records, count, &arena_bytes, &peak_bytes));
    check_pairs(records, count);
    size_t end = 0, sum = 0, peak = 0;
    for (size_t i = 0; i < count; i++) {
        if (records[i].bytes != 0 && records[i].offset + records[i].bytes > end)
            end = records[i].offset + records[i].bytes;
        const onnxd_plan_record *self = &records[i];
        sum += (self->bytes + self->alignment - 1) / self->alignment * self->alignment;
        /* The peak is reached in a step where some record begins. */
        size_t live = 0;
        for (size_t k = 0; k < count; k++)
            if (records[k].first_step <= self->first_step &&
                self->first_step <= records[k].last_step)
                live += records[k].bytes;
        if (live > peak)
            peak = live;
    }
    cr_assert_eq(arena_bytes, end);
    cr_assert_eq(peak_bytes, peak);
    cr_assert_geq(arena_bytes, peak_bytes);
    cr_assert_leq(arena_bytes, sum);
    return arena_bytes;
}

Test(planner, nothing)
{
    size_t arena_bytes = 77, peak_bytes = 77;
    check_ok(onnxd_plan_memory(NULL, 0, &arena_bytes, &peak_bytes));
    cr_assert_eq(arena_bytes, 0);
    cr_assert_eq(peak_bytes, 0);
}

Test(planner, chain_needs_two_neighbours)
{
    enum { COUNT = 50 };
    onnxd_plan_record records[COUNT];
    for (uint32_t i = 0; i < COUNT; i++)
        records[i] = record(i, i + 1, 1024);
    cr_assert_eq(check_plan(records, COUNT), 2048);
}

Test(planner, one_step_is_a_lifetime)
{
    onnxd_plan_record records[] = {record(3, 3, 100), record(4, 4, 100), record(3, 4, 10)};
    cr_assert_leq(check_plan(records, 3), 192);
    records[2].last_step = 3;
    records[2].first_step = 0;
    check_plan(records, 3);
}

Test(planner, zero_bytes_take_nothing)
{
    onnxd_plan_record records[] = {record(0, 9, 0), record(0, 9, 64), record(0, 9, 0)};
    cr_assert_eq(check_plan(records, 3), 64);
}

/* In order of time the gaps between the long-lived are too small for the large one. */
Test(planner, packs_by_size_where_that_is_better)
{
    onnxd_plan_record records[] = {record(0, 1, 128), record(0, 3, 64), record(2, 3, 256)};
    cr_assert_eq(check_plan(records, 3), 320);
}

Test(planner, mixed_alignments_do_not_pass_the_sum)
{
    onnxd_plan_record records[] = {record(0, 9, 4160), record(0, 9, 4096), record(0, 9, 64),
                                   record(0, 9, 8192)};
    records[1].alignment = 4096;
    records[3].alignment = 8192;
    check_plan(records, 4);
}

Test(planner, random_records)
{
    uint64_t random = 21;
    for (int round = 0; round < 400; round++) {
        enum { MOST = 120 };
        onnxd_plan_record records[MOST], again[MOST];
        size_t count = 1 + random_below(&random, MOST);
        uint32_t steps = 1 + (uint32_t)random_below(&random, 60);
        uint32_t longest = 1 + (uint32_t)random_below(&random, steps);
        for (size_t i = 0; i < count; i++) {
            uint32_t first = (uint32_t)random_below(&random, steps);
            records[i] = record(first, first + (uint32_t)random_below(&random, longest),
                                random_below(&random, 5000));
            records[i].alignment = (size_t)1 << random_below(&random, round % 2 == 0 ? 7 : 13);
            records[i].offset = SIZE_MAX;
        }
        memcpy(again, records, sizeof(records));
        cr_assert_eq(check_plan(records, count), check_plan(again, count));
        for (size_t i = 0; i < count; i++)
            cr_assert_eq(records[i].offset, again[i].offset, "the plan is not deterministic");
    }
}

/* Not one number is promised here, but a packing that wastes half the arena would be a bug. */
Test(planner, stays_close_to_the_peak)
{
    uint64_t random = 22;
    enum { COUNT = 600 };
    static onnxd_plan_record records[COUNT];
    for (size_t i = 0; i < COUNT; i++)
        records[i] = record((uint32_t)i, (uint32_t)(i + 1 + random_below(&random, 6)),
                            64 * (1 + random_below(&random, 100)));
    size_t arena_bytes, peak_bytes;
    check_ok(onnxd_plan_memory(records, COUNT, &arena_bytes, &peak_bytes));
    cr_assert_leq(arena_bytes, peak_bytes + peak_bytes / 4);
}

Test(planner, large_graphs_are_planned)
{
    enum { COUNT = 20000 };
    uint64_t random = 23;
    onnxd_plan_record *records = malloc(COUNT * sizeof(*records));
    for (int kind = 0; kind < 2; kind++) {
        /* Many pairs live together in the second kind: more than placement by size takes on. */
        uint64_t longest = kind == 0 ? 20 : 2000;
        for (size_t i = 0; i < COUNT; i++)
            records[i] = record((uint32_t)i, (uint32_t)(i + random_below(&random, longest)),
                                random_below(&random, 1 << 20));
        size_t arena_bytes = 0, peak_bytes = 0;
        check_ok(onnxd_plan_memory(records, COUNT, &arena_bytes, &peak_bytes));
        cr_assert_geq(arena_bytes, peak_bytes);
        for (size_t i = 0; i < COUNT; i++)
            for (size_t k = i + 1; k < COUNT && records[k].first_step <= records[i].last_step; k++)
                if (overlap(&records[i], &records[k]))
                    cr_assert_fail("records %zu and %zu share memory", i, k);
    }
    free(records);
}

/* Placing each among all the others would take minutes. */
Test(planner, many_that_live_together_are_stacked)
{
    enum { COUNT = 400000 };
    onnxd_plan_record *records = malloc(COUNT * sizeof(*records));
    size_t arena_bytes = 0, peak_bytes = 0;
    for (size_t i = 0; i < COUNT; i++)
        records[i] = record((uint32_t)i, COUNT + (uint32_t)(i % 7), 1 + i % 2);
    records[COUNT - 1].first_step = records[COUNT - 1].last_step = UINT32_MAX;
    check_ok(onnxd_plan_memory(records, COUNT, &arena_bytes, &peak_bytes));
    cr_assert_eq(peak_bytes, COUNT / 2 * 3 - 2);
    cr_assert_eq(arena_bytes, (size_t)(COUNT - 1) * 64 + 2);
    /* All of one alignment, so in order. */
    size_t in_order = 0;
    while (in_order < COUNT && records[in_order].offset == in_order * 64)
        in_order++;
    cr_assert_eq(in_order, COUNT);
    free(records);
}

static void check_refused(onnxd_plan_record *records, size_t count, onnxd_code code,
                          const char *part)
{
    size_t arena_bytes = 77, peak_bytes = 78;
    records[0].offset = 79;
    check_error(onnxd_plan_memory(records, count, &arena_bytes, &peak_bytes), code, part);
    cr_assert(arena_bytes == 77 && peak_bytes == 78 && records[0].offset == 79);
}

Test(planner, bad_records_are_refused)
{
    onnxd_plan_record good[] = {record(0, 1, 64), record(0, 1, 64)};
    onnxd_plan_record records[2];
    memcpy(records, good, sizeof(good));
    records[1].first_step = 2;
    check_refused(records, 2, ONNXD_INVALID_ARGUMENT, "plan record 1: first step 2");
    memcpy(records, good, sizeof(good));
    records[1].alignment = 0;
    check_refused(records, 2, ONNXD_INVALID_ARGUMENT, "plan record 1: alignment 0");
    records[1].alignment = 48;
    check_refused(records, 2, ONNXD_INVALID_ARGUMENT, "alignment 48");
}

Test(planner, what_does_not_fit_the_address_space_is_refused)
{
    onnxd_plan_record records[] = {record(0, 1, SIZE_MAX / 2), record(1, 2, SIZE_MAX / 2),
                                   record(1, 1, 64)};
    check_refused(records, 3, ONNXD_OUT_OF_MEMORY, "address space");
    records[0].bytes = SIZE_MAX;
    check_refused(records, 3, ONNXD_OUT_OF_MEMORY, NULL);
    /* One after the other they fit, although their sum does not. */
    onnxd_plan_record apart[] = {record(0, 1, SIZE_MAX / 2), record(2, 3, SIZE_MAX - 64),
                                 record(4, 5, SIZE_MAX / 2)};
    size_t arena_bytes, peak_bytes;
    check_ok(onnxd_plan_memory(apart, 3, &arena_bytes, &peak_bytes));
    cr_assert_eq(arena_bytes, SIZE_MAX - 64);
    cr_assert_eq(peak_bytes, SIZE_MAX - 64);
}

Test(planner, every_allocation_may_fail)
{
    uint64_t live = onnxd_alloc_query().live_count;
    onnxd_status *status = NULL;
    uint64_t n = 0;
    do {
        onnxd_plan_record records[] = {record(0, 1, 128), record(0, 3, 64), record(2, 3, 256)};
        size_t arena_bytes = 77, peak_bytes;
        onnxd_alloc_fail_at(++n, 0);
        status = onnxd_plan_memory(records, 3, &arena_bytes, &peak_bytes);
        onnxd_alloc_fail_at(0, 0);
        if (status != NULL) {
            cr_assert_eq(onnxd_status_code(status), ONNXD_OUT_OF_MEMORY);
            cr_assert_eq(arena_bytes, 77);
        }
        onnxd_status_free(status);
        cr_assert_eq(onnxd_alloc_query().live_count, live);
    } while (status != NULL);
    cr_assert_gt(n, 6);
}
