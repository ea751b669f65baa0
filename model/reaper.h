/*
 * The reaper: where models and plans go to die. Ending one may block, so the last release, wherever
 * it happens, only hands it over; the thread that waits here destroys it. That thread is the
 * store's loader, which receives its orders the same way. Plans are destroyed by whoever prepares
 * the next one, too, so that they cannot pile up while the loader is busy.
 *
 * Counted: the store and every model that was given to it hold a reference, so a model that
 * outlives its store still finds it, closed, and is then destroyed where it is released.
 *
 * Threads: any; wait and close by the owner, bury_plans where it may block.
 */
#ifndef ONNXD_MODEL_REAPER_H
#define ONNXD_MODEL_REAPER_H

#include <stdint.h>

#include "base/list.h"
#include "base/status.h"

typedef struct onnxd_reaper onnxd_reaper;
typedef struct onnxd_model onnxd_model;
typedef struct onnxd_plan onnxd_plan;

ONNXD_NODISCARD onnxd_status *onnxd_reaper_create(onnxd_reaper **out_reaper);
onnxd_reaper *onnxd_reaper_retain(onnxd_reaper *reaper);
void onnxd_reaper_release(onnxd_reaper *reaper);
/* Takes a model without references, or destroys it when the reaper is closed. */
void onnxd_reaper_take(onnxd_reaper *reaper, onnxd_model *model);
/* The same for a plan; it keeps its model until it is destroyed. */
void onnxd_reaper_take_plan(onnxd_reaper *reaper, onnxd_plan *plan);
/* Destroys the plans that were taken, on this thread. NULL is fine. */
void onnxd_reaper_bury_plans(onnxd_reaper *reaper);
/* Adds bits to what the next wait returns. */
void onnxd_reaper_order(onnxd_reaper *reaper, uint32_t orders);
/* Destroys what was taken and returns the orders given since; waits until there are some. */
uint32_t onnxd_reaper_wait(onnxd_reaper *reaper);
/* Destroys what was taken; nothing is taken afterwards. */
void onnxd_reaper_close(onnxd_reaper *reaper);

#endif
