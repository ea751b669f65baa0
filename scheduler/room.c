#include "scheduler/internal.h"

/* The space of the host, and those of devices below it. Devices may share a number when there are
 * many: runs then wait for each other without need, which is harmless. */
#define HOST_SPACE 63u

static uint64_t space_of(uint32_t ep)
{
    return (uint64_t)1 << (ep == ONNXD_RUN_HOST ? HOST_SPACE : ep % HOST_SPACE);
}

void onnxd_room_init(onnxd_room *room)
{
    pthread_mutex_init(&room->mutex, NULL);
}

void onnxd_room_deinit(onnxd_room *room)
{
    pthread_mutex_destroy(&room->mutex);
}

void onnxd_room_survey(const onnxd_scheduler *scheduler, onnxd_request *request)
{
    const uint32_t stages = onnxd_plan_stage_count(request->plan);
    uint64_t lanes = 0;
    request->spaces = space_of(ONNXD_RUN_HOST);
    for (uint32_t s = 0; s < stages; s++) {
        const uint32_t ep = onnxd_plan_stage_ep(request->plan, s);
        lanes |= space_of(ep);
        if (!scheduler->lanes[ep].is_host)
            request->spaces |= space_of(ep);
    }
    request->lane_count = lanes == 0 ? 1 : (uint32_t)__builtin_popcountll(lanes);
}

/* ---- under the mutex ----------------------------------------------------------------------- */

/* Returns the spaces that nobody holds any more. */
static uint64_t drop_locked(onnxd_room *room, uint64_t spaces)
{
    uint64_t deserted = 0;
    for (uint64_t left = spaces; left != 0; left &= left - 1) {
        const uint32_t space = (uint32_t)__builtin_ctzll(left);
        if (--room->holders[space] == 0)
            deserted |= (uint64_t)1 << space;
    }
    room->given_count++;
    return deserted;
}

static bool is_held_locked(const onnxd_room *room, uint64_t space)
{
    return room->holders[__builtin_ctzll(space)] > 0;
}

static void let_retry_locked(onnxd_scheduler *scheduler, uint64_t spaces)
{
    for (uint32_t i = 0; i < scheduler->lane_count; i++)
        if ((atomic_load(&scheduler->lanes[i].short_of) & spaces) != 0)
            atomic_store(&scheduler->lanes[i].may_retry, true);
}

/* ---- calls --------------------------------------------------------------------------------- */

static void wake(onnxd_scheduler *scheduler, uint64_t spaces)
{
    for (uint32_t i = 0; i < scheduler->lane_count; i++)
        if ((atomic_load(&scheduler->lanes[i].short_of) & spaces) != 0)
            onnxd_lane_wake(&scheduler->lanes[i]);
}

uint64_t onnxd_room_enter(onnxd_room *room, uint64_t spaces)
{
    pthread_mutex_lock(&room->mutex);
    for (uint64_t left = spaces; left != 0; left &= left - 1)
        room->holders[__builtin_ctzll(left)]++;
    const uint64_t given_count = room->given_count;
    pthread_mutex_unlock(&room->mutex);
    return given_count;
}

void onnxd_room_leave(onnxd_scheduler *scheduler, uint64_t spaces)
{
    onnxd_room *room = &scheduler->room;
    pthread_mutex_lock(&room->mutex);
    drop_locked(room, spaces);
    let_retry_locked(scheduler, spaces);
    pthread_mutex_unlock(&room->mutex);
    wake(scheduler, spaces);
}

void onnxd_room_note(onnxd_scheduler *scheduler, uint64_t spaces)
{
    onnxd_room *room = &scheduler->room;
    pthread_mutex_lock(&room->mutex);
    room->given_count++;
    let_retry_locked(scheduler, spaces);
    pthread_mutex_unlock(&room->mutex);
    wake(scheduler, spaces);
}

bool onnxd_room_wait(onnxd_lane *lane, uint64_t spaces, uint32_t short_ep, uint64_t given_count)
{
    onnxd_room *room = &lane->scheduler->room;
    const uint64_t short_of = space_of(short_ep);
    pthread_mutex_lock(&room->mutex);
    const bool has_changed = room->given_count != given_count;
    const uint64_t deserted = drop_locked(room, spaces);
    const bool waits = has_changed || is_held_locked(room, short_of);
    /* Whoever saw no memory because of this attempt finds out about itself. */
    let_retry_locked(lane->scheduler, deserted);
    if (waits) {
        atomic_store(&lane->may_retry, has_changed);
        atomic_store(&lane->short_of, short_of);
    }
    pthread_mutex_unlock(&room->mutex);
    wake(lane->scheduler, deserted);
    return waits;
}

void onnxd_room_settle(onnxd_lane *lane)
{
    onnxd_scheduler *scheduler = lane->scheduler;
    pthread_mutex_lock(&scheduler->room.mutex);
    atomic_store(&lane->short_of, 0);
    atomic_store(&lane->may_retry, false);
    pthread_mutex_unlock(&scheduler->room.mutex);
    for (uint32_t i = 0; i < scheduler->lane_count; i++)
        onnxd_lane_wake(&scheduler->lanes[i]);
}

bool onnxd_room_is_awaited(const onnxd_lane *lane, uint64_t spaces)
{
    const onnxd_scheduler *scheduler = lane->scheduler;
    for (uint32_t i = 0; i < scheduler->lane_count; i++)
        if (&scheduler->lanes[i] != lane &&
            (atomic_load(&scheduler->lanes[i].short_of) & spaces) != 0)
            return true;
    return false;
}
