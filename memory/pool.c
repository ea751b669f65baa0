#include "memory/pool.h"

#include <pthread.h>
#include <stdbool.h>

#include "base/alloc.h"

#define BITS_PER_SIZE (8 * sizeof(size_t))
#define CLASSES_PER_POWER ((size_t)4)
#define CLASS_COUNT (BITS_PER_SIZE * CLASSES_PER_POWER)

/* Bookkeeping of one block. A block in use has an empty node waiting among the spare ones, so that
 * releasing it needs no memory. */
typedef struct node {
    struct node *next;
    void *data;
    size_t bytes;
} node;

struct onnxd_pool {
    onnxd_pool_options options;
    onnxd_pool_source source;

    pthread_mutex_t mutex;
    pthread_cond_t moved_out; /* moving_out_bytes fell */
    /* All below is guarded by the mutex. */
    node *classes[CLASS_COUNT];
    node *extra; /* the cached block beyond cache_bytes, or NULL */
    size_t extra_class;
    node *spare;
    onnxd_pool_stats stats;
    /* Blocks that a source call is making or ending: outside the statistics, inside the limit. */
    size_t moving_in_bytes, moving_out_bytes;
};

static bool is_power_of_two(size_t value)
{
    return value != 0 && (value & (value - 1)) == 0;
}

/* Rounds up to one of 4, 5, 6 or 7 quarters of a power of two. False when that does not fit. */
static bool find_class(const onnxd_pool *pool, size_t bytes, size_t *out_index, size_t *out_bytes)
{
    size_t least = pool->options.granularity_bytes < CLASSES_PER_POWER
                       ? CLASSES_PER_POWER
                       : pool->options.granularity_bytes;
    if (bytes < least)
        bytes = least;
    size_t power = BITS_PER_SIZE - 1 - (size_t)__builtin_clzl(bytes);
    size_t step = (size_t)1 << (power - 2);
    size_t quarters = bytes / step + (bytes % step != 0 ? 1 : 0);
    if (quarters == 2 * CLASSES_PER_POWER) {
        quarters = CLASSES_PER_POWER;
        power++;
        step *= 2;
    }
    if (power >= BITS_PER_SIZE)
        return false;
    *out_index = power * CLASSES_PER_POWER + quarters - CLASSES_PER_POWER;
    *out_bytes = quarters * step;
    return true;
}

static node *pop(node **list)
{
    node *first = *list;
    *list = first->next;
    first->next = NULL;
    return first;
}

static void push(node **list, node *entry)
{
    entry->next = *list;
    *list = entry;
}

onnxd_status *onnxd_pool_create(const onnxd_pool_options *options, onnxd_pool_source source,
                                onnxd_pool **out_pool)
{
    if (!is_power_of_two(options->alignment))
        return onnxd_error(ONNXD_INVALID_ARGUMENT, "pool's alignment %zu is not a power of two",
                           options->alignment);
    if (!is_power_of_two(options->granularity_bytes))
        return onnxd_error(ONNXD_INVALID_ARGUMENT, "pool's granularity %zu is not a power of two",
                           options->granularity_bytes);
    onnxd_pool *pool = onnxd_alloc_zero(1, sizeof(*pool));
    if (pool == NULL)
        return onnxd_error_out_of_memory("a pool", sizeof(*pool), UINT64_MAX);
    pool->options = *options;
    pool->source = source;
    pthread_mutex_init(&pool->mutex, NULL);
    pthread_cond_init(&pool->moved_out, NULL);
    *out_pool = pool;
    return NULL;
}

void onnxd_pool_destroy(onnxd_pool *pool)
{
    if (pool == NULL)
        return;
    onnxd_pool_trim(pool, 0);
    while (pool->spare != NULL)
        onnxd_free(pop(&pool->spare));
    pthread_cond_destroy(&pool->moved_out);
    pthread_mutex_destroy(&pool->mutex);
    onnxd_free(pool);
}

/* Ends blocks that moving_out_bytes counts already. Without the mutex. */
static void give_back(onnxd_pool *pool, node *list)
{
    while (list != NULL) {
        node *entry = pop(&list);
        pool->source.free(pool->source.self, entry->data, entry->bytes);
        pthread_mutex_lock(&pool->mutex);
        pool->moving_out_bytes -= entry->bytes;
        pool->stats.source_frees++;
        pthread_cond_broadcast(&pool->moved_out);
        pthread_mutex_unlock(&pool->mutex);
        onnxd_free(entry);
    }
}

/* Where a cached block of the class is, or NULL. */
static node **find_cached(onnxd_pool *pool, size_t index)
{
    if (pool->classes[index] != NULL)
        return &pool->classes[index];
    return pool->extra != NULL && pool->extra_class == index ? &pool->extra : NULL;
}

/* Takes cached blocks out, largest first, until at most keep_bytes stay. With the mutex held; the
 * caller gives the list back. */
static node *take_cached(onnxd_pool *pool, size_t keep_bytes)
{
    node *taken = NULL;
    node **last = &taken;
    for (size_t i = CLASS_COUNT; i-- > 0 && pool->stats.cached_bytes > keep_bytes;) {
        node **list;
        while (pool->stats.cached_bytes > keep_bytes && (list = find_cached(pool, i)) != NULL) {
            node *entry = pop(list);
            pool->stats.cached_bytes -= entry->bytes;
            pool->moving_out_bytes += entry->bytes;
            *last = entry;
            last = &entry->next;
        }
    }
    return taken;
}

/* Whether there was anything to give back. */
static bool trim(onnxd_pool *pool, size_t keep_bytes)
{
    pthread_mutex_lock(&pool->mutex);
    node *taken = take_cached(pool, keep_bytes);
    pthread_mutex_unlock(&pool->mutex);
    give_back(pool, taken);
    return taken != NULL;
}

void onnxd_pool_trim(onnxd_pool *pool, size_t keep_bytes)
{
    trim(pool, keep_bytes);
}

/* Reserves `bytes` of the limit, at the cost of cached blocks where it takes them. False when the
 * blocks in use leave no room. */
static bool reserve(onnxd_pool *pool, size_t bytes)
{
    size_t limit = pool->options.limit_bytes;
    bool reserved = false;
    pthread_mutex_lock(&pool->mutex);
    for (;;) {
        /* None of these sums passes the limit, so none overflows. */
        size_t needed = pool->stats.in_use_bytes + pool->moving_in_bytes;
        if (bytes > limit - needed)
            break;
        size_t room = limit - needed - bytes;
        if (pool->stats.cached_bytes + pool->moving_out_bytes <= room) {
            pool->moving_in_bytes += bytes;
            reserved = true;
            break;
        }
        if (pool->stats.cached_bytes > room) {
            node *taken = take_cached(pool, room);
            pthread_mutex_unlock(&pool->mutex);
            give_back(pool, taken);
            pthread_mutex_lock(&pool->mutex);
        } else {
            /* Another thread is giving enough back; its memory is free when the source says so. */
            pthread_cond_wait(&pool->moved_out, &pool->mutex);
        }
    }
    pthread_mutex_unlock(&pool->mutex);
    return reserved;
}

/* Turns a reservation into a block in use, or drops it. */
static void settle(onnxd_pool *pool, size_t bytes, node *spare)
{
    onnxd_pool_stats *stats = &pool->stats;
    pthread_mutex_lock(&pool->mutex);
    pool->moving_in_bytes -= bytes;
    if (spare != NULL) {
        push(&pool->spare, spare);
        stats->in_use_bytes += bytes;
        stats->live_blocks++;
        stats->source_allocs++;
        size_t committed_bytes = stats->in_use_bytes + stats->cached_bytes;
        if (committed_bytes > stats->peak_committed_bytes)
            stats->peak_committed_bytes = committed_bytes;
    }
    pthread_mutex_unlock(&pool->mutex);
}

static onnxd_status *out_of_memory(onnxd_pool *pool, size_t requested_bytes)
{
    size_t limit = pool->options.limit_bytes;
    uint64_t available_bytes =
        limit == SIZE_MAX ? UINT64_MAX : limit - onnxd_pool_query(pool).in_use_bytes;
    return onnxd_error_out_of_memory("a pool block", requested_bytes, available_bytes);
}

/* One try. *out_refused_by_source tells whether giving cached blocks back can still help. */
static onnxd_status *try_grow(onnxd_pool *pool, size_t requested_bytes, size_t bytes, node *spare,
                              bool *out_refused_by_source, void **out_data)
{
    if (!reserve(pool, bytes))
        return out_of_memory(pool, requested_bytes);
    void *data;
    onnxd_status *status =
        pool->source.alloc(pool->source.self, bytes, pool->options.alignment, &data);
    settle(pool, bytes, status == NULL ? spare : NULL);
    if (status != NULL) {
        *out_refused_by_source = true;
        return status;
    }
    *out_data = data;
    return NULL;
}

/* A new block from the source. */
static onnxd_status *grow(onnxd_pool *pool, size_t requested_bytes, size_t bytes,
                          onnxd_pool_block *out_block)
{
    node *spare = onnxd_alloc_zero(1, sizeof(*spare));
    if (spare == NULL)
        return onnxd_error_out_of_memory("a pool block's record", sizeof(*spare), UINT64_MAX);
    bool refused_by_source = false;
    void *data = NULL;
    onnxd_status *status = try_grow(pool, requested_bytes, bytes, spare, &refused_by_source, &data);
    if (refused_by_source && trim(pool, 0)) {
        onnxd_status_free(status);
        status = try_grow(pool, requested_bytes, bytes, spare, &refused_by_source, &data);
    }
    if (status != NULL) {
        onnxd_free(spare);
        return status;
    }
    *out_block = (onnxd_pool_block){.data = data, .bytes = bytes};
    return NULL;
}

/* A cached block of the class; false when there is none. */
static bool reuse(onnxd_pool *pool, size_t index, onnxd_pool_block *out_block)
{
    pthread_mutex_lock(&pool->mutex);
    pool->stats.acquires++;
    node **list = find_cached(pool, index);
    if (list != NULL) {
        node *entry = pop(list);
        *out_block = (onnxd_pool_block){.data = entry->data, .bytes = entry->bytes};
        pool->stats.cached_bytes -= entry->bytes;
        pool->stats.in_use_bytes += entry->bytes;
        pool->stats.live_blocks++;
        push(&pool->spare, entry);
    }
    pthread_mutex_unlock(&pool->mutex);
    return list != NULL;
}

onnxd_status *onnxd_pool_acquire(onnxd_pool *pool, size_t bytes, onnxd_pool_block *out_block)
{
    size_t index = 0;
    size_t class_bytes = 0;
    onnxd_status *status;
    bool fits = find_class(pool, bytes, &index, &class_bytes);
    if (fits && reuse(pool, index, out_block))
        return NULL;
    if (fits)
        status = grow(pool, bytes, class_bytes, out_block);
    else
        status = out_of_memory(pool, bytes);
    if (status != NULL) {
        pthread_mutex_lock(&pool->mutex);
        pool->stats.failures++;
        /* reuse() counts the others. */
        pool->stats.acquires += fits ? 0 : 1;
        pthread_mutex_unlock(&pool->mutex);
    }
    return status;
}

/* Caches a block that is in use no longer. Returns what has to go back to the source for it, if
 * anything: itself or another. With the mutex held. */
static node *cache(onnxd_pool *pool, size_t index, node *entry)
{
    const size_t limit = pool->options.cache_bytes;
    node *leaving = NULL;
    if (pool->extra != NULL && pool->stats.cached_bytes <= limit)
        push(&pool->classes[pool->extra_class], pop(&pool->extra));
    const size_t extra_bytes = pool->extra != NULL ? pool->extra->bytes : 0;
    const size_t listed_bytes = pool->stats.cached_bytes - extra_bytes;
    if (entry->bytes <= limit && listed_bytes <= limit - entry->bytes) {
        push(&pool->classes[index], entry);
    } else if (limit == 0) {
        leaving = entry;
    } else {
        leaving = pool->extra;
        pool->extra = entry;
        pool->extra_class = index;
    }
    pool->stats.cached_bytes += entry->bytes;
    if (leaving != NULL) {
        pool->stats.cached_bytes -= leaving->bytes;
        pool->moving_out_bytes += leaving->bytes;
    }
    return leaving;
}

void onnxd_pool_release(onnxd_pool *pool, onnxd_pool_block block)
{
    size_t index, class_bytes;
    if (!find_class(pool, block.bytes, &index, &class_bytes))
        return;
    pthread_mutex_lock(&pool->mutex);
    if (pool->spare == NULL) {
        /* Nothing is in use, so this block is not of this pool. */
        pthread_mutex_unlock(&pool->mutex);
        return;
    }
    node *entry = pop(&pool->spare);
    entry->data = block.data;
    entry->bytes = block.bytes;
    pool->stats.in_use_bytes -= block.bytes;
    pool->stats.live_blocks--;
    node *leaving = cache(pool, index, entry);
    pthread_mutex_unlock(&pool->mutex);
    give_back(pool, leaving);
}

onnxd_pool_stats onnxd_pool_query(onnxd_pool *pool)
{
    pthread_mutex_lock(&pool->mutex);
    onnxd_pool_stats stats = pool->stats;
    pthread_mutex_unlock(&pool->mutex);
    stats.committed_bytes = stats.in_use_bytes + stats.cached_bytes;
    return stats;
}
