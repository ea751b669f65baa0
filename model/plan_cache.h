/*
 * The plans of a model, by what they were made for: the shapes of all inputs and the values of
 * those that decide shapes. Bounded; the least recently used goes.
 *
 * Threads: any; one mutex, held for a look-up.
 */
#ifndef ONNXD_MODEL_PLAN_CACHE_H
#define ONNXD_MODEL_PLAN_CACHE_H

#include <pthread.h>

#include "model/plan.h"

typedef struct onnxd_plan_cache_entry onnxd_plan_cache_entry;
typedef struct onnxd_plan_cache {
    pthread_mutex_t mutex;
    onnxd_plan_cache_entry *entries; /* [capacity] */
    uint32_t *buckets;               /* [bucket_count], a power of two */
    uint32_t capacity, bucket_count, count;
    uint32_t newest, oldest; /* ends of the list by use */
} onnxd_plan_cache;

typedef struct onnxd_plan_cache_stats {
    uint32_t count, capacity;
} onnxd_plan_cache_stats;

/* capacity 0 counts as 1. Errors: OUT_OF_MEMORY. */
ONNXD_NODISCARD onnxd_status *onnxd_plan_cache_init(onnxd_plan_cache *cache, uint32_t capacity);
/* Releases every plan. */
void onnxd_plan_cache_deinit(onnxd_plan_cache *cache);
/* A reference to the plan for these inputs, or NULL. */
onnxd_plan *onnxd_plan_cache_find(onnxd_plan_cache *cache, const onnxd_model *model,
                                  const onnxd_tensor_view *inputs);
/* Adds *plan, which the cache retains. When another thread was faster, *plan is exchanged for its
 * plan. What goes for it may be destroyed on this thread. Errors: OUT_OF_MEMORY; the plan stays
 * good.
 */
ONNXD_NODISCARD onnxd_status *onnxd_plan_cache_add(onnxd_plan_cache *cache,
                                                   const onnxd_model *model,
                                                   const onnxd_tensor_view *inputs,
                                                   onnxd_plan **plan);
/* A reference to the plan used last, or NULL. */
onnxd_plan *onnxd_plan_cache_newest(onnxd_plan_cache *cache);
onnxd_plan_cache_stats onnxd_plan_cache_query(onnxd_plan_cache *cache);

#endif
