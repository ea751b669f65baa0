/*
 * The reaper: where models go to die. Ending a model may block, so the last release, wherever it
 * happens, only hands the model over; the thread that waits here destroys it. That thread is the
 * store's loader, which receives its orders the same way.
 *
 * Counted: the store and every model that was given to it hold a reference, so a model that
 * outlives its store still finds it, closed, and is then destroyed where it is released.
 *
 * Threads: any; wait and close by the owner.
 */
#ifndef ONNXD_MODEL_REAPER_H
#define ONNXD_MODEL_REAPER_H

#include <stdint.h>

#include "base/list.h"
#include "base/status.h"

typedef struct onnxd_reaper onnxd_reaper;
typedef struct onnxd_model onnxd_model;

ONNXD_NODISCARD onnxd_status *onnxd_reaper_create(onnxd_reaper **out_reaper);
onnxd_reaper *onnxd_reaper_retain(onnxd_reaper *reaper);
void onnxd_reaper_release(onnxd_reaper *reaper);
/* Takes a model without references, or destroys it when the reaper is closed. */
void onnxd_reaper_take(onnxd_reaper *reaper, onnxd_model *model);
/* Adds bits to what the next wait returns. */
void onnxd_reaper_order(onnxd_reaper *reaper, uint32_t orders);
/* Destroys what was taken and returns the orders given since; waits until there are some. */
uint32_t onnxd_reaper_wait(onnxd_reaper *reaper);
/* Destroys what was taken; nothing is taken afterwards. */
void onnxd_reaper_close(onnxd_reaper *reaper);

#endif
