#include "base/alloc.h"
#include "model/plan_build.h"

/* ---- arenas -------------------------------------------------------------------------------- */

/* The stage that a tick belongs to; past the last, the number of stages. */
static uint32_t stage_of_tick(const onnxd_plan_builder *b, uint32_t tick)
{
    uint32_t low = 0, high = b->plan->stage_count;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (b->ticks[middle].downloads < tick)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void note_use(onnxd_plan_builder *b, const onnxd_live_range *range)
{
    onnxd_plan_space *space = &b->plan->spaces[range->space];
    const uint32_t first = stage_of_tick(b, range->first_tick);
    const uint32_t last = stage_of_tick(b, range->last_tick);
    if (!space->is_used || first < space->first_stage)
        space->first_stage = first;
    if (!space->is_used || last > space->last_stage)
        space->last_stage = last;
    space->is_used = true;
}

static onnxd_status *lay_out_space(onnxd_plan_builder *b, uint32_t space,
                                   onnxd_plan_record *records)
{
    onnxd_plan_space *result = &b->plan->spaces[space];
    size_t count = 0;
    for (uint32_t i = 0; i < b->range_count; i++) {
        if (b->ranges[i].space != space || b->ranges[i].within != ONNXD_NONE)
            continue;
        records[count++] = (onnxd_plan_record){
            .first_step = b->ranges[i].first_tick,
            .last_step = b->ranges[i].last_tick,
            .bytes = b->ranges[i].bytes,
            .alignment = b->model->spaces[space].alignment,
        };
        note_use(b, &b->ranges[i]);
    }
    ONNXD_TRY(onnxd_plan_memory(records, count, &result->arena_bytes, &result->peak_bytes));
    count = 0;
    for (uint32_t i = 0; i < b->range_count; i++)
        if (b->ranges[i].space == space && b->ranges[i].within == ONNXD_NONE)
            b->ranges[i].offset = records[count++].offset;
    for (uint32_t i = 0; i < b->range_count; i++)
        if (b->ranges[i].space == space && b->ranges[i].within != ONNXD_NONE)
            b->ranges[i].offset = b->ranges[b->ranges[i].within].offset + b->ranges[i].distance;
    return NULL;
}

static onnxd_status *lay_out_spaces(onnxd_plan_builder *b)
{
    onnxd_status *status = NULL;
    b->plan->spaces = onnxd_alloc_zero(b->model->space_count, sizeof(onnxd_plan_space));
    onnxd_plan_record *records = onnxd_alloc_zero(b->range_count, sizeof(onnxd_plan_record));
    if (b->plan->spaces == NULL || records == NULL)
        status = onnxd_error_out_of_memory(
            "the memory plan", (uint64_t)b->range_count * sizeof(onnxd_plan_record), UINT64_MAX);
    for (uint32_t s = 0; s < b->model->space_count && status == NULL; s++)
        status = lay_out_space(b, s, records);
    onnxd_free(records);
    return status;
}

/* ---- transfers ----------------------------------------------------------------------------- */

static void place_transfer(const onnxd_plan_builder *b, const onnxd_pending_transfer *pending,
                           onnxd_transfer *out)
{
    *out = pending->transfer;
    out->device_offset = b->ranges[pending->device_range].offset;
    if (pending->host_range != ONNXD_NONE)
        out->host_offset = b->ranges[pending->host_range].offset;
}

/* Uploads are added stage by stage; downloads belong to the stage that made the value, in whatever
 * order they were asked for. A counting sort brings both in order. */
static onnxd_status *sort_transfers(const onnxd_plan_builder *b,
                                    const onnxd_pending_transfers *pending,
                                    onnxd_transfer **out_transfers, uint32_t **out_starts)
{
    const uint32_t stages = b->plan->stage_count;
    onnxd_transfer *transfers = onnxd_alloc_zero(pending->count, sizeof(transfers[0]));
    uint32_t *starts = onnxd_alloc_zero((size_t)stages + 2, sizeof(starts[0]));
    if (transfers == NULL || starts == NULL) {
        onnxd_free(transfers);
        onnxd_free(starts);
        return onnxd_error_out_of_memory(
            "copies of a plan", (uint64_t)pending->count * sizeof(transfers[0]), UINT64_MAX);
    }
    /* starts[s + 2] counts stage s, then becomes the end of s + 1; filling moves it back by one. */
    for (uint32_t i = 0; i < pending->count; i++)
        starts[pending->items[i].transfer.stage + 2]++;
    for (uint32_t s = 0; s < stages; s++)
        starts[s + 2] += starts[s + 1];
    for (uint32_t i = 0; i < pending->count; i++)
        place_transfer(b, &pending->items[i],
                       &transfers[starts[pending->items[i].transfer.stage + 1]++]);
    *out_transfers = transfers;
    *out_starts = starts;
    return NULL;
}

static onnxd_status *lay_out_transfers(onnxd_plan_builder *b)
{
    onnxd_plan *plan = b->plan;
    uint32_t *up = NULL, *down = NULL;
    onnxd_status *status = sort_transfers(b, &b->uploads, &plan->uploads, &up);
    if (status != NULL)
        goto done;
    status = sort_transfers(b, &b->downloads, &plan->downloads, &down);
    if (status != NULL)
        goto done;
    plan->upload_count = b->uploads.count;
    plan->download_count = b->downloads.count;
    for (uint32_t s = 0; s < plan->stage_count; s++) {
        onnxd_stage *stage = &plan->stages[s];
        stage->first_upload = up[s];
        stage->upload_count = up[s + 1] - up[s];
        stage->first_download = down[s];
        stage->download_count = down[s + 1] - down[s];
        if (stage->download_count > plan->most_downloads)
            plan->most_downloads = stage->download_count;
    }
done:
    onnxd_free(up);
    onnxd_free(down);
    return status;
}

onnxd_status *onnxd_builder_lay_out(onnxd_plan_builder *b)
{
    ONNXD_TRY(lay_out_spaces(b));
    ONNXD_TRY(lay_out_transfers(b));
    for (uint32_t i = 0; i < b->plan->step_count; i++)
        if (b->workspace_ranges[i] != ONNXD_NONE)
            b->plan->steps[i].workspace_offset = b->ranges[b->workspace_ranges[i]].offset;
    return NULL;
}
