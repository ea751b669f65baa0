#include "memory/planner.h"

#include "base/alloc.h"
#include "base/size_math.h"
#include "memory/planner_layout.h"

/* Placement by size keeps a list of neighbours; past this many pairs placement by time has to do.
 */
#define MAX_NEIGHBOUR_COUNT ((uint64_t)1 << 22)

static onnxd_status *check_record(const onnxd_plan_record *record, size_t index)
{
    if (record->first_step > record->last_step)
        return onnxd_error(ONNXD_INVALID_ARGUMENT,
                           "plan record %zu: first step %u is after last step %u", index,
                           record->first_step, record->last_step);
    if (record->alignment == 0 || (record->alignment & (record->alignment - 1)) != 0)
        return onnxd_error(ONNXD_INVALID_ARGUMENT,
                           "plan record %zu: alignment %zu is not a power of two", index,
                           record->alignment);
    return NULL;
}

/* One block for each record that has bytes. */
static size_t make_blocks(const onnxd_plan_record *records, size_t count, onnxd_plan_block *blocks)
{
    size_t block_count = 0;
    for (size_t i = 0; i < count; i++) {
        if (records[i].bytes == 0)
            continue;
        blocks[block_count++] = (onnxd_plan_block){
            .record = i,
            .first_step = records[i].first_step,
            .last_step = records[i].last_step,
            .bytes = records[i].bytes,
            .alignment = records[i].alignment,
        };
    }
    return block_count;
}

/* The sum that no plan may pass; SIZE_MAX when it does not fit. */
static size_t sum_blocks(const onnxd_plan_block *blocks, size_t count)
{
    size_t sum = 0;
    for (size_t i = 0; i < count; i++) {
        size_t padded;
        if (!onnxd_size_align(blocks[i].bytes, blocks[i].alignment, &padded) ||
            !onnxd_size_add(sum, padded, &sum))
            return SIZE_MAX;
    }
    return sum;
}

/* Which strategy gave the offsets that stand in the blocks is settled by the arena's size alone, so
 * the plan is a function of the records. */
static onnxd_status *choose_layout(onnxd_plan_block *blocks, size_t count, size_t *out_arena_bytes,
                                   size_t *out_peak_bytes)
{
    onnxd_plan_layout layout;
    size_t arena_bytes;
    size_t peak_bytes;
    size_t limit = sum_blocks(blocks, count);
    onnxd_plan_sort(blocks, count);
    ONNXD_TRY(onnxd_plan_peak(blocks, count, &peak_bytes));
    ONNXD_TRY(onnxd_plan_by_time(blocks, count, &layout));
    arena_bytes = layout.arena_bytes;
    if (!layout.gave_up && arena_bytes != peak_bytes &&
        layout.neighbour_count <= MAX_NEIGHBOUR_COUNT) {
        ONNXD_TRY(onnxd_plan_by_size(blocks, count, layout.neighbour_count, &arena_bytes));
        if (layout.arena_bytes < arena_bytes) {
            ONNXD_TRY(onnxd_plan_by_time(blocks, count, &layout));
            arena_bytes = layout.arena_bytes;
        }
    }
    /* Alignment can push blocks apart by more than sharing wins. */
    if (layout.gave_up || arena_bytes > limit)
        ONNXD_TRY(onnxd_plan_stacked(blocks, count, &arena_bytes));
    *out_arena_bytes = arena_bytes;
    *out_peak_bytes = peak_bytes;
    return NULL;
}

static void write_offsets(onnxd_plan_record *records, size_t count, const onnxd_plan_block *blocks,
                          size_t block_count)
{
    for (size_t i = 0; i < count; i++)
        records[i].offset = 0;
    for (size_t i = 0; i < block_count; i++)
        records[blocks[i].record].offset = blocks[i].offset;
}

onnxd_status *onnxd_plan_memory(onnxd_plan_record *records, size_t count, size_t *out_arena_bytes,
                                size_t *out_peak_bytes)
{
    size_t arena_bytes = 0;
    size_t peak_bytes = 0;
    if (count > UINT32_MAX)
        return onnxd_error(ONNXD_INVALID_ARGUMENT, "%zu plan records, at most %u are allowed",
                           count, UINT32_MAX);
    for (size_t i = 0; i < count; i++)
        ONNXD_TRY(check_record(&records[i], i));

    onnxd_plan_block *blocks = onnxd_realloc_array(NULL, count, sizeof(*blocks));
    if (blocks == NULL)
        return onnxd_error_out_of_memory("the memory planner", count * sizeof(*blocks), UINT64_MAX);
    size_t block_count = make_blocks(records, count, blocks);
    onnxd_status *status = choose_layout(blocks, block_count, &arena_bytes, &peak_bytes);
    if (status == NULL) {
        write_offsets(records, count, blocks, block_count);
        *out_arena_bytes = arena_bytes;
        *out_peak_bytes = peak_bytes;
    }
    onnxd_free(blocks);
    return status;
}
