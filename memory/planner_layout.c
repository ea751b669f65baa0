#include "memory/planner_layout.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/size_math.h"

/* Placement by time looks at every neighbour of every block: these take a fraction of a second. */
#define MAX_PAIR_COUNT ((uint64_t)1 << 26)

/* A part of the arena that is taken. */
typedef struct span {
    size_t offset, end;
    uint32_t block;
} span;

static int compare_sizes(size_t a, size_t b)
{
    return (a > b) - (a < b);
}

static int compare_time(const void *left, const void *right)
{
    const onnxd_plan_block *a = left, *b = right;
    int order = (a->first_step > b->first_step) - (a->first_step < b->first_step);
    return order != 0 ? order : compare_sizes(a->record, b->record);
}

void onnxd_plan_sort(onnxd_plan_block *blocks, size_t count)
{
    qsort(blocks, count, sizeof(blocks[0]), compare_time);
}

static int compare_spans(const void *left, const void *right)
{
    const span *a = left, *b = right;
    int order = compare_sizes(a->offset, b->offset);
    if (order == 0)
        order = compare_sizes(a->end, b->end);
    return order != 0 ? order : compare_sizes(a->block, b->block);
}

static int compare_largest(const void *left, const void *right, void *context)
{
    const onnxd_plan_block *blocks = context;
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    int order = compare_sizes(blocks[b].bytes, blocks[a].bytes);
    return order != 0 ? order : compare_sizes(a, b);
}

static int compare_end(const void *left, const void *right, void *context)
{
    const onnxd_plan_block *blocks = context;
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    return (blocks[a].last_step > blocks[b].last_step) -
           (blocks[a].last_step < blocks[b].last_step);
}

static int compare_alignment(const void *left, const void *right, void *context)
{
    const onnxd_plan_block *blocks = context;
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    int order = compare_sizes(blocks[b].alignment, blocks[a].alignment);
    return order != 0 ? order : compare_sizes(a, b);
}

static onnxd_status *no_memory(size_t bytes)
{
    return onnxd_error_out_of_memory("the memory planner", bytes, UINT64_MAX);
}

static onnxd_status *does_not_fit(void)
{
    return onnxd_error(ONNXD_OUT_OF_MEMORY, "planned memory does not fit the address space");
}

static uint32_t *make_order(size_t count)
{
    uint32_t *order = onnxd_realloc_array(NULL, count, sizeof(*order));
    for (size_t i = 0; i < count && order != NULL; i++)
        order[i] = (uint32_t)i;
    return order;
}

onnxd_status *onnxd_plan_peak(const onnxd_plan_block *blocks, size_t count, size_t *out_peak_bytes)
{
    onnxd_status *status = NULL;
    size_t live_bytes = 0;
    size_t peak_bytes = 0;
    size_t ended = 0;
    uint32_t *by_end = make_order(count);
    if (by_end == NULL)
        return no_memory(count * sizeof(*by_end));
    union {
        const onnxd_plan_block *blocks;
        void *memory;
    } context = {.blocks = blocks};
    qsort_r(by_end, count, sizeof(by_end[0]), compare_end, context.memory);
    for (size_t i = 0; i < count && status == NULL; i++) {
        while (blocks[by_end[ended]].last_step < blocks[i].first_step)
            live_bytes -= blocks[by_end[ended++]].bytes;
        if (!onnxd_size_add(live_bytes, blocks[i].bytes, &live_bytes))
            status = does_not_fit();
        if (live_bytes > peak_bytes)
            peak_bytes = live_bytes;
    }
    onnxd_free(by_end);
    if (status == NULL)
        *out_peak_bytes = peak_bytes;
    return status;
}

/* Finds the tightest gap between `taken`, sorted by offset and possibly overlapping one another, or
 * the end behind them all. False when that does not fit size_t. */
static bool find_place(const span *taken, size_t count, const onnxd_plan_block *block,
                       size_t *out_offset)
{
    size_t end = 0; /* of what lies before the current gap */
    size_t best_gap = SIZE_MAX;
    size_t best_offset = 0;
    bool found = false;
    for (size_t i = 0; i < count; i++) {
        size_t offset, stop;
        if (taken[i].offset > end && onnxd_size_align(end, block->alignment, &offset) &&
            onnxd_size_add(offset, block->bytes, &stop) && stop <= taken[i].offset &&
            taken[i].offset - end < best_gap) {
            best_gap = taken[i].offset - end;
            best_offset = offset;
            found = true;
        }
        if (taken[i].end > end)
            end = taken[i].end;
    }
    size_t stop;
    if (!found && (!onnxd_size_align(end, block->alignment, &best_offset) ||
                   !onnxd_size_add(best_offset, block->bytes, &stop)))
        return false;
    *out_offset = best_offset;
    return true;
}

/* Drops what ended before `step`, keeping the order. */
static size_t expire(span *live, size_t live_count, const onnxd_plan_block *blocks, uint32_t step)
{
    size_t kept = 0;
    for (size_t i = 0; i < live_count; i++)
        if (blocks[live[i].block].last_step >= step)
            live[kept++] = live[i];
    return kept;
}

static void insert_span(span *live, size_t live_count, span fresh)
{
    size_t index = live_count;
    while (index > 0 && live[index - 1].offset > fresh.offset) {
        live[index] = live[index - 1];
        index--;
    }
    live[index] = fresh;
}

onnxd_status *onnxd_plan_by_time(onnxd_plan_block *blocks, size_t count, onnxd_plan_layout *out)
{
    onnxd_status *status = NULL;
    onnxd_plan_layout layout = {0};
    size_t live_count = 0;
    span *live = onnxd_realloc_array(NULL, count, sizeof(*live));
    if (live == NULL)
        return no_memory(count * sizeof(*live));
    for (size_t i = 0; i < count; i++) {
        onnxd_plan_block *block = &blocks[i];
        live_count = expire(live, live_count, blocks, block->first_step);
        layout.neighbour_count += live_count;
        if (layout.neighbour_count > MAX_PAIR_COUNT) {
            layout.gave_up = true;
            break;
        }
        if (!find_place(live, live_count, block, &block->offset)) {
            status = does_not_fit();
            goto done;
        }
        size_t end = block->offset + block->bytes;
        insert_span(live, live_count++, (span){block->offset, end, (uint32_t)i});
        if (end > layout.arena_bytes)
            layout.arena_bytes = end;
    }
    *out = layout;
done:
    onnxd_free(live);
    return status;
}

/* Who lives at the same time as whom: the neighbours of block i are
 * ids[starts[i]] to ids[starts[i + 1]]. */
typedef struct neighbours {
    size_t *starts;
    uint32_t *ids;
} neighbours;

/* Calls for each pair of blocks that live at the same time: counts into starts[i + 2], or with
 * `fill` writes the ids at starts[i + 1], which moves on. */
static void walk_pairs(const onnxd_plan_block *blocks, size_t count, uint32_t *live,
                       neighbours *table, bool fill)
{
    size_t live_count = 0;
    for (size_t i = 0; i < count; i++) {
        size_t kept = 0;
        for (size_t k = 0; k < live_count; k++)
            if (blocks[live[k]].last_step >= blocks[i].first_step)
                live[kept++] = live[k];
        live_count = kept;
        for (size_t k = 0; k < live_count; k++) {
            size_t j = live[k];
            if (fill) {
                table->ids[table->starts[i + 1]++] = (uint32_t)j;
                table->ids[table->starts[j + 1]++] = (uint32_t)i;
            } else {
                table->starts[i + 2]++;
                table->starts[j + 2]++;
            }
        }
        live[live_count++] = (uint32_t)i;
    }
}

static void find_neighbours(const onnxd_plan_block *blocks, size_t count, uint32_t *scratch,
                            neighbours *table)
{
    walk_pairs(blocks, count, scratch, table, false);
    for (size_t i = 2; i < count + 2; i++)
        table->starts[i] += table->starts[i - 1];
    walk_pairs(blocks, count, scratch, table, true);
}

/* Places one block among those of its neighbours that have a place. */
static bool place_block(onnxd_plan_block *blocks, uint32_t id, const neighbours *table,
                        const uint8_t *is_placed, span *taken)
{
    size_t taken_count = 0;
    for (size_t k = table->starts[id]; k < table->starts[id + 1]; k++) {
        uint32_t other = table->ids[k];
        if (is_placed[other] != 0)
            taken[taken_count++] =
                (span){blocks[other].offset, blocks[other].offset + blocks[other].bytes, other};
    }
    qsort(taken, taken_count, sizeof(taken[0]), compare_spans);
    return find_place(taken, taken_count, &blocks[id], &blocks[id].offset);
}

onnxd_status *onnxd_plan_by_size(onnxd_plan_block *blocks, size_t count, uint64_t neighbour_count,
                                 size_t *out_arena_bytes)
{
    onnxd_status *status = NULL;
    size_t arena_bytes = 0;
    uint32_t *order = make_order(count);
    uint8_t *is_placed = onnxd_alloc_zero(count, sizeof(*is_placed));
    span *taken = onnxd_realloc_array(NULL, count, sizeof(*taken));
    uint32_t *scratch = onnxd_realloc_array(NULL, count, sizeof(*scratch));
    neighbours table = {
        .starts = onnxd_alloc_zero(count + 2, sizeof(size_t)),
        .ids = onnxd_realloc_array(NULL, (size_t)neighbour_count * 2, sizeof(uint32_t)),
    };
    if (order == NULL || is_placed == NULL || taken == NULL || scratch == NULL ||
        table.starts == NULL || table.ids == NULL) {
        status = no_memory((size_t)neighbour_count * 2 * sizeof(uint32_t));
        goto done;
    }
    find_neighbours(blocks, count, scratch, &table);
    qsort_r(order, count, sizeof(order[0]), compare_largest, blocks);
    for (size_t i = 0; i < count; i++) {
        uint32_t id = order[i];
        if (!place_block(blocks, id, &table, is_placed, taken)) {
            status = does_not_fit();
            goto done;
        }
        is_placed[id] = 1;
        size_t end = blocks[id].offset + blocks[id].bytes;
        if (end > arena_bytes)
            arena_bytes = end;
    }
    *out_arena_bytes = arena_bytes;
done:
    onnxd_free(order);
    onnxd_free(is_placed);
    onnxd_free(taken);
    onnxd_free(scratch);
    onnxd_free(table.starts);
    onnxd_free(table.ids);
    return status;
}

onnxd_status *onnxd_plan_stacked(onnxd_plan_block *blocks, size_t count, size_t *out_arena_bytes)
{
    size_t arena_bytes = 0;
    uint32_t *order = make_order(count);
    if (order == NULL)
        return no_memory(count * sizeof(*order));
    qsort_r(order, count, sizeof(order[0]), compare_alignment, blocks);
    onnxd_status *status = NULL;
    for (size_t i = 0; i < count; i++) {
        onnxd_plan_block *block = &blocks[order[i]];
        if (!onnxd_size_align(arena_bytes, block->alignment, &block->offset) ||
            !onnxd_size_add(block->offset, block->bytes, &arena_bytes)) {
            status = does_not_fit();
            break;
        }
    }
    onnxd_free(order);
    if (status == NULL)
        *out_arena_bytes = arena_bytes;
    return status;
}
