#include "model/plan_cache.h"

#include <string.h>

#include "base/alloc.h"
#include "base/size_math.h"
#include "model/internal.h"

#define NO_ENTRY UINT32_MAX
#define FNV_OFFSET 14695981039346656037ull
#define FNV_PRIME 1099511628211ull

struct onnxd_plan_cache_entry {
    onnxd_plan *plan;
    uint64_t hash;
    uint8_t *key;
    size_t key_bytes;
    uint32_t next_in_bucket;
    uint32_t newer, older;
};

/* ---- keys ---------------------------------------------------------------------------------- */

/*
 * A key is never stored for a look-up: the same walk over the inputs hashes, measures, writes or
 * compares it, so finding a plan allocates nothing.
 */
typedef struct key_walk {
    uint64_t hash;
    size_t bytes;
    uint8_t *write;      /* NULL: do not write */
    const uint8_t *read; /* NULL: do not compare */
    bool differs;
} key_walk;

static void hash_word(key_walk *walk, uint64_t word)
{
    walk->hash = (walk->hash ^ word) * FNV_PRIME;
    walk->hash ^= walk->hash >> 29;
}

static void hash_bytes(key_walk *walk, const uint8_t *source, size_t bytes)
{
    while (bytes > 0) {
        uint64_t word = 0;
        const size_t step = bytes < sizeof(word) ? bytes : sizeof(word);
        memcpy(&word, source, step);
        hash_word(walk, word);
        source += step;
        bytes -= step;
    }
}

static void walk_bytes(key_walk *walk, const void *data, size_t bytes)
{
    if (walk->write != NULL)
        memcpy(walk->write + walk->bytes, data, bytes);
    else if (walk->read != NULL)
        walk->differs = walk->differs || memcmp(walk->read + walk->bytes, data, bytes) != 0;
    else
        hash_bytes(walk, data, bytes);
    walk->bytes += bytes;
}

static void walk_word(key_walk *walk, int64_t word)
{
    walk_bytes(walk, &word, sizeof(word));
}

/* Strings are no value that a shape is found from, and their bytes are not in the tensor. */
static bool is_in_key(const onnxd_model *model, uint32_t index, const onnxd_tensor_view *input)
{
    return onnxd_model_input(model, index)->value_decides_shapes && input->data != NULL &&
           input->dtype != ONNXD_STRING;
}

static void walk_inputs(key_walk *walk, const onnxd_model *model, const onnxd_tensor_view *inputs)
{
    const uint32_t count = onnxd_model_input_count(model);
    for (uint32_t i = 0; i < count; i++) {
        const onnxd_tensor_view *input = &inputs[i];
        walk_word(walk, input->shape.rank);
        for (int32_t d = 0; d < input->shape.rank; d++)
            walk_word(walk, input->shape.dims[d]);
        if (is_in_key(model, i, input))
            walk_bytes(walk, onnxd_tensor_view_data(input), onnxd_tensor_view_bytes(input));
    }
}

/* The same for hashing and measuring: a walk that neither writes nor compares. */
static key_walk measure_key(const onnxd_model *model, const onnxd_tensor_view *inputs)
{
    key_walk walk = {.hash = FNV_OFFSET};
    walk_inputs(&walk, model, inputs);
    return walk;
}

static bool key_matches(const onnxd_plan_cache_entry *entry, const onnxd_model *model,
                        const onnxd_tensor_view *inputs)
{
    key_walk walk = {.read = entry->key};
    walk_inputs(&walk, model, inputs);
    return !walk.differs;
}

/* ---- the table, under the mutex ------------------------------------------------------------ */

static uint32_t find_locked(const onnxd_plan_cache *cache, const key_walk *key,
                            const onnxd_model *model, const onnxd_tensor_view *inputs)
{
    uint32_t at = cache->buckets[key->hash & (cache->bucket_count - 1)];
    while (at != NO_ENTRY) {
        const onnxd_plan_cache_entry *entry = &cache->entries[at];
        if (entry->hash == key->hash && entry->key_bytes == key->bytes &&
            key_matches(entry, model, inputs))
            return at;
        at = entry->next_in_bucket;
    }
    return NO_ENTRY;
}

static void unlink_use(onnxd_plan_cache *cache, uint32_t at)
{
    const onnxd_plan_cache_entry *entry = &cache->entries[at];
    if (entry->newer != NO_ENTRY)
        cache->entries[entry->newer].older = entry->older;
    else
        cache->newest = entry->older;
    if (entry->older != NO_ENTRY)
        cache->entries[entry->older].newer = entry->newer;
    else
        cache->oldest = entry->newer;
}

static void link_newest(onnxd_plan_cache *cache, uint32_t at)
{
    onnxd_plan_cache_entry *entry = &cache->entries[at];
    entry->newer = NO_ENTRY;
    entry->older = cache->newest;
    if (cache->newest != NO_ENTRY)
        cache->entries[cache->newest].newer = at;
    else
        cache->oldest = at;
    cache->newest = at;
}

static void unlink_bucket(onnxd_plan_cache *cache, uint32_t at)
{
    uint32_t *link = &cache->buckets[cache->entries[at].hash & (cache->bucket_count - 1)];
    while (*link != at)
        link = &cache->entries[*link].next_in_bucket;
    *link = cache->entries[at].next_in_bucket;
}

/* An entry to fill; what it held is handed back for the caller to end outside the mutex. */
static uint32_t take_entry_locked(onnxd_plan_cache *cache, onnxd_plan **out_plan, uint8_t **out_key)
{
    *out_plan = NULL;
    *out_key = NULL;
    if (cache->count < cache->capacity)
        return cache->count++;
    const uint32_t at = cache->oldest;
    unlink_use(cache, at);
    unlink_bucket(cache, at);
    *out_plan = cache->entries[at].plan;
    *out_key = cache->entries[at].key;
    return at;
}

static void insert_locked(onnxd_plan_cache *cache, uint32_t at, onnxd_plan *plan,
                          const key_walk *key, uint8_t *bytes)
{
    uint32_t *bucket = &cache->buckets[key->hash & (cache->bucket_count - 1)];
    cache->entries[at] = (onnxd_plan_cache_entry){
        .plan = onnxd_plan_retain(plan),
        .hash = key->hash,
        .key = bytes,
        .key_bytes = key->bytes,
        .next_in_bucket = *bucket,
    };
    *bucket = at;
    link_newest(cache, at);
}

/* ---- public -------------------------------------------------------------------------------- */

onnxd_status *onnxd_plan_cache_init(onnxd_plan_cache *cache, uint32_t capacity)
{
    onnxd_plan_cache made = {.capacity = capacity == 0 ? 1 : capacity,
                             .bucket_count = 1,
                             .newest = NO_ENTRY,
                             .oldest = NO_ENTRY};
    while (made.bucket_count < made.capacity && made.bucket_count < 1u << 31)
        made.bucket_count *= 2;
    made.entries = onnxd_alloc_zero(made.capacity, sizeof(made.entries[0]));
    made.buckets = onnxd_alloc_zero(made.bucket_count, sizeof(made.buckets[0]));
    if (made.entries == NULL || made.buckets == NULL) {
        onnxd_free(made.entries);
        onnxd_free(made.buckets);
        return onnxd_error_out_of_memory("the cache of prepared shapes",
                                         (uint64_t)made.capacity * sizeof(made.entries[0]),
                                         UINT64_MAX);
    }
    memset(made.buckets, 0xff, made.bucket_count * sizeof(made.buckets[0]));
    *cache = made;
    pthread_mutex_init(&cache->mutex, NULL);
    return NULL;
}

void onnxd_plan_cache_deinit(onnxd_plan_cache *cache)
{
    if (cache->entries == NULL)
        return;
    for (uint32_t i = 0; i < cache->count; i++) {
        onnxd_plan_release_here(cache->entries[i].plan);
        onnxd_free(cache->entries[i].key);
    }
    onnxd_free(cache->entries);
    onnxd_free(cache->buckets);
    cache->entries = NULL;
    pthread_mutex_destroy(&cache->mutex);
}

onnxd_plan *onnxd_plan_cache_find(onnxd_plan_cache *cache, const onnxd_model *model,
                                  const onnxd_tensor_view *inputs)
{
    const key_walk key = measure_key(model, inputs);
    onnxd_plan *plan = NULL;
    pthread_mutex_lock(&cache->mutex);
    const uint32_t at = find_locked(cache, &key, model, inputs);
    if (at != NO_ENTRY) {
        unlink_use(cache, at);
        link_newest(cache, at);
        plan = onnxd_plan_retain(cache->entries[at].plan);
    }
    pthread_mutex_unlock(&cache->mutex);
    return plan;
}

onnxd_status *onnxd_plan_cache_add(onnxd_plan_cache *cache, const onnxd_model *model,
                                   const onnxd_tensor_view *inputs, onnxd_plan **plan)
{
    const key_walk key = measure_key(model, inputs);
    onnxd_plan *dropped = NULL;
    uint8_t *dropped_key = NULL;
    uint8_t *bytes = onnxd_alloc(key.bytes);
    if (bytes == NULL)
        return onnxd_error_out_of_memory("the key of prepared shapes", key.bytes, UINT64_MAX);
    key_walk writer = {.write = bytes};
    walk_inputs(&writer, model, inputs);
    pthread_mutex_lock(&cache->mutex);
    const uint32_t found = find_locked(cache, &key, model, inputs);
    if (found != NO_ENTRY) {
        dropped = *plan;
        dropped_key = bytes;
        *plan = onnxd_plan_retain(cache->entries[found].plan);
    } else {
        const uint32_t at = take_entry_locked(cache, &dropped, &dropped_key);
        insert_locked(cache, at, *plan, &key, bytes);
    }
    pthread_mutex_unlock(&cache->mutex);
    onnxd_plan_release_here(dropped);
    onnxd_free(dropped_key);
    return NULL;
}

onnxd_plan *onnxd_plan_cache_newest(onnxd_plan_cache *cache)
{
    pthread_mutex_lock(&cache->mutex);
    onnxd_plan *plan =
        cache->newest == NO_ENTRY ? NULL : onnxd_plan_retain(cache->entries[cache->newest].plan);
    pthread_mutex_unlock(&cache->mutex);
    return plan;
}

onnxd_plan_cache_stats onnxd_plan_cache_query(onnxd_plan_cache *cache)
{
    pthread_mutex_lock(&cache->mutex);
    const onnxd_plan_cache_stats stats = {cache->count, cache->capacity};
    pthread_mutex_unlock(&cache->mutex);
    return stats;
}
