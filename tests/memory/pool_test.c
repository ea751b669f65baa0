#include "memory/pool.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "memory/host_source.h"
#include "tests/base/random.h"
#include "tests/base/status_check.h"

/* A source that hands out addresses which nobody may touch, and keeps books of its own. */
typedef struct fake_source {
    pthread_mutex_t mutex;
    uintptr_t next_address;
    size_t live_bytes, live_blocks, peak_bytes;
    size_t room_bytes;       /* allocations beyond this fail */
    int failures_to_come;    /* the next ones fail */
    size_t largest_freed;    /* of all */
    size_t last_freed_bytes; /* the order of frees */
    int calls;
    bool slow_free;
} fake_source;

static onnxd_status *fake_alloc(void *self, size_t bytes, size_t alignment, void **out_data)
{
    fake_source *source = self;
    onnxd_status *status = NULL;
    pthread_mutex_lock(&source->mutex);
    source->calls++;
    if (source->failures_to_come > 0) {
        source->failures_to_come--;
        status = onnxd_error_out_of_memory("the fake device", bytes, 4242);
    } else if (bytes > source->room_bytes - source->live_bytes) {
        status = onnxd_error_out_of_memory("the fake device", bytes,
                                           source->room_bytes - source->live_bytes);
    } else {
        source->next_address += alignment;
        *out_data = (void *)(source->next_address & ~(alignment - 1));
        source->live_bytes += bytes;
        source->live_blocks++;
        if (source->live_bytes > source->peak_bytes)
            source->peak_bytes = source->live_bytes;
    }
    pthread_mutex_unlock(&source->mutex);
    return status;
}

static void fake_free(void *self, void *data, size_t bytes)
{
    fake_source *source = self;
    cr_assert_not_null(data);
    /* Leaves the processor to the others while the block is on its way. */
    if (source->slow_free)
        usleep(1);
    pthread_mutex_lock(&source->mutex);
    source->live_bytes -= bytes;
    source->live_blocks--;
    source->last_freed_bytes = bytes;
    if (bytes > source->largest_freed)
        source->largest_freed = bytes;
    pthread_mutex_unlock(&source->mutex);
}

static fake_source make_source(void)
{
    return (fake_source){
        .mutex = PTHREAD_MUTEX_INITIALIZER, .next_address = 1 << 20, .room_bytes = SIZE_MAX};
}

static onnxd_pool *create(fake_source *source, size_t limit_bytes, size_t cache_bytes)
{
    onnxd_pool_options options = {.alignment = 256,
                                  .granularity_bytes = 256,
                                  .limit_bytes = limit_bytes,
                                  .cache_bytes = cache_bytes};
    onnxd_pool_source functions = {fake_alloc, fake_free, source};
    onnxd_pool *pool = NULL;
    check_ok(onnxd_pool_create(&options, functions, &pool));
    return pool;
}

static onnxd_pool_block take(onnxd_pool *pool, size_t bytes)
{
    onnxd_pool_block block = {0};
    check_ok(onnxd_pool_acquire(pool, bytes, &block));
    cr_assert_geq(block.bytes, bytes);
    cr_assert_eq((uintptr_t)block.data % 256, 0);
    return block;
}

static void check_refused(onnxd_pool *pool, size_t bytes, uint64_t available_bytes)
{
    onnxd_pool_block block = {.bytes = 77};
    onnxd_status *status = onnxd_pool_acquire(pool, bytes, &block);
    cr_assert_eq(onnxd_status_code(status), ONNXD_OUT_OF_MEMORY);
    cr_assert_eq(onnxd_status_available_bytes(status), available_bytes, "%s",
                 onnxd_status_message(status));
    cr_assert_eq(block.bytes, 77);
    onnxd_status_free(status);
}

static void check_books(onnxd_pool *pool, const fake_source *source)
{
    onnxd_pool_stats stats = onnxd_pool_query(pool);
    cr_assert_eq(stats.in_use_bytes + stats.cached_bytes, stats.committed_bytes);
    cr_assert_eq(stats.committed_bytes, source->live_bytes);
    cr_assert_eq(stats.source_allocs - stats.source_frees, source->live_blocks);
    cr_assert_geq(stats.peak_committed_bytes, stats.committed_bytes);
}

Test(pool, classes_waste_a_quarter_at_most)
{
    fake_source source = make_source();
    onnxd_pool *pool = create(&source, SIZE_MAX, 0);
    size_t last = 0;
    for (size_t bytes = 0; bytes < 20000; bytes++) {
        onnxd_pool_block block = take(pool, bytes);
        cr_assert_geq(block.bytes, 256);
        cr_assert_geq(block.bytes, last);
        if (bytes > 256)
            cr_assert_leq(block.bytes - bytes, bytes / 4);
        last = block.bytes;
        onnxd_pool_release(pool, block);
    }
    static const size_t exact[] = {256, 320, 384, 448, 512, 640, 1024, 1280, 1 << 20, 7 << 20};
    for (size_t i = 0; i < ONNXD_COUNT(exact); i++) {
        onnxd_pool_block block = take(pool, exact[i]);
        cr_assert_eq(block.bytes, exact[i]);
        onnxd_pool_release(pool, block);
    }
    onnxd_pool_destroy(pool);
    cr_assert_eq(source.live_bytes, 0);
}

Test(pool, released_blocks_come_back)
{
    fake_source source = make_source();
    onnxd_pool *pool = create(&source, SIZE_MAX, SIZE_MAX);
    onnxd_pool_block first = take(pool, 1000);
    onnxd_pool_release(pool, first);
    onnxd_pool_block second = take(pool, 1024);
    cr_assert_eq(first.data, second.data);
    onnxd_pool_block third = take(pool, 1024);
    cr_assert_neq(third.data, second.data);
    onnxd_pool_stats stats = onnxd_pool_query(pool);
    cr_assert_eq(stats.acquires, 3);
    cr_assert_eq(stats.source_allocs, 2);
    cr_assert_eq(stats.live_blocks, 2);
    cr_assert_eq(stats.in_use_bytes, 2048);
    onnxd_pool_release(pool, second);
    onnxd_pool_release(pool, third);
    check_books(pool, &source);
    cr_assert_eq(onnxd_pool_query(pool).cached_bytes, 2048);
    onnxd_pool_destroy(pool);
    cr_assert_eq(source.live_blocks, 0);
}

Test(pool, steady_state_asks_nobody)
{
    fake_source source = make_source();
    onnxd_pool *pool = create(&source, SIZE_MAX, SIZE_MAX);
    uint64_t calls = 0;
    for (int round = 0; round < 100; round++) {
        onnxd_pool_block blocks[10];
        if (round == 1) {
            calls = onnxd_alloc_query().calls;
            source.calls = 0;
        }
        for (size_t i = 0; i < 10; i++)
            blocks[i] = take(pool, 1000 * i);
        for (size_t i = 0; i < 10; i++)
            onnxd_pool_release(pool, blocks[i]);
    }
    cr_assert_eq(onnxd_alloc_query().calls, calls);
    cr_assert_eq(source.calls, 0);
    onnxd_pool_destroy(pool);
}

Test(pool, zero_bytes_are_unique)
{
    fake_source source = make_source();
    onnxd_pool *pool = create(&source, SIZE_MAX, SIZE_MAX);
    onnxd_pool_block a = take(pool, 0), b = take(pool, 0);
    cr_assert(a.data != NULL && b.data != NULL && a.data != b.data);
    onnxd_pool_release(pool, a);
    onnxd_pool_release(pool, b);
    onnxd_pool_destroy(pool);
}

Test(pool, high_water_mark)
{
    fake_source source = make_source();
    onnxd_pool *pool = create(&source, SIZE_MAX, 2048);
    onnxd_pool_block a = take(pool, 1024), b = take(pool, 1024), c = take(pool, 256);
    onnxd_pool_block huge = take(pool, 4096);
    onnxd_pool_release(pool, huge);
    cr_assert_eq(onnxd_pool_query(pool).cached_bytes, 4096);
    onnxd_pool_release(pool, a);
    onnxd_pool_release(pool, b);
    cr_assert_eq(onnxd_pool_query(pool).cached_bytes, 4096 + 2048);
    cr_assert_eq(onnxd_pool_query(pool).source_frees, 0);
    /* Does not fit either, and is the latest. */
    onnxd_pool_release(pool, c);
    cr_assert_eq(onnxd_pool_query(pool).cached_bytes, 2048 + 256);
    cr_assert_eq(onnxd_pool_query(pool).source_frees, 1);
    cr_assert_eq(source.last_freed_bytes, 4096);
    check_books(pool, &source);
    /* With room in the cache it is one of many. */
    a = take(pool, 1024);
    onnxd_pool_release(pool, take(pool, 4096));
    cr_assert_eq(onnxd_pool_query(pool).cached_bytes, 1024 + 256 + 4096);
    onnxd_pool_release(pool, a);
    check_books(pool, &source);
    onnxd_pool_destroy(pool);
    cr_assert_eq(source.live_blocks, 0);
}

/* A plan whose arena is larger than the whole cache. */
Test(pool, a_block_larger_than_the_cache_is_kept)
{
    fake_source source = make_source();
    onnxd_pool *pool = create(&source, 16384, 1024);
    for (int round = 0; round < 10; round++) {
        onnxd_pool_block arena = take(pool, 8192), small = take(pool, 512);
        onnxd_pool_release(pool, small);
        onnxd_pool_release(pool, arena);
        check_books(pool, &source);
    }
    cr_assert_eq(source.calls, 2);
    cr_assert_eq(onnxd_pool_query(pool).source_allocs, 2);
    /* It gives way to the limit, and to a trim. */
    onnxd_pool_block other = take(pool, 14336);
    cr_assert_eq(source.last_freed_bytes, 8192);
    onnxd_pool_release(pool, other);
    onnxd_pool_trim(pool, 600);
    cr_assert_eq(onnxd_pool_query(pool).cached_bytes, 512);
    check_books(pool, &source);
    cr_assert_leq(source.peak_bytes, 16384);
    onnxd_pool_destroy(pool);
    cr_assert_eq(source.live_blocks, 0);
}

Test(pool, no_cache_keeps_nothing)
{
    fake_source source = make_source();
    onnxd_pool *pool = create(&source, SIZE_MAX, 0);
    onnxd_pool_release(pool, take(pool, 8192));
    cr_assert_eq(onnxd_pool_query(pool).cached_bytes, 0);
    cr_assert_eq(source.live_blocks, 0);
    onnxd_pool_destroy(pool);
}

Test(pool, limit_counts_every_byte)
{
    fake_source source = make_source();
    onnxd_pool *pool = create(&source, 4096, SIZE_MAX);
    onnxd_pool_block a = take(pool, 2048), b = take(pool, 2048);
    check_refused(pool, 1, 0);
    onnxd_pool_release(pool, b);
    check_refused(pool, 2049, 2048);
    /* A refusal that giving back could not avoid leaves the cache alone. */
    cr_assert_eq(onnxd_pool_query(pool).cached_bytes, 2048);
    /* This one fits only once the cached block has gone. */
    onnxd_pool_block c = take(pool, 1024);
    cr_assert_eq(onnxd_pool_query(pool).cached_bytes, 0);
    cr_assert_eq(onnxd_pool_query(pool).failures, 2);
    cr_assert_eq(source.peak_bytes, 4096);
    cr_assert_eq(onnxd_pool_query(pool).peak_committed_bytes, 4096);
    check_books(pool, &source);
    onnxd_pool_release(pool, a);
    onnxd_pool_release(pool, c);
    check_refused(pool, SIZE_MAX, 4096);
    check_refused(pool, SIZE_MAX / 2 + 2, 4096);
    onnxd_pool_destroy(pool);
}

Test(pool, limit_gives_back_no_more_than_it_must)
{
    fake_source source = make_source();
    onnxd_pool *pool = create(&source, 8192, SIZE_MAX);
    onnxd_pool_block blocks[4];
    static const size_t sizes[] = {4096, 2048, 1024, 512};
    for (size_t i = 0; i < 4; i++)
        blocks[i] = take(pool, sizes[i]);
    for (size_t i = 0; i < 4; i++)
        onnxd_pool_release(pool, blocks[i]);
    onnxd_pool_block block = take(pool, 1280);
    cr_assert_eq(source.last_freed_bytes, 4096);
    cr_assert_eq(onnxd_pool_query(pool).source_frees, 1);
    onnxd_pool_release(pool, block);
    check_books(pool, &source);
    onnxd_pool_destroy(pool);
}

Test(pool, source_failure_gives_the_cache_back_and_tries_again)
{
    fake_source source = make_source();
    source.room_bytes = 4096;
    onnxd_pool *pool = create(&source, SIZE_MAX, SIZE_MAX);
    onnxd_pool_release(pool, take(pool, 4096));
    onnxd_pool_block block = take(pool, 2048);
    cr_assert_eq(onnxd_pool_query(pool).source_frees, 1);
    check_refused(pool, 4096, 2048);
    check_books(pool, &source);
    /* With nothing to give back the source is asked once. */
    source.calls = 0;
    source.failures_to_come = 1;
    check_refused(pool, 1024, 4242);
    cr_assert_eq(source.calls, 1);
    onnxd_pool_release(pool, take(pool, 1024));
    onnxd_pool_release(pool, block);
    cr_assert_eq(onnxd_pool_query(pool).failures, 2);
    check_books(pool, &source);
    onnxd_pool_destroy(pool);
    cr_assert_eq(source.live_bytes, 0);
}

Test(pool, trim_largest_first)
{
    fake_source source = make_source();
    onnxd_pool *pool = create(&source, SIZE_MAX, SIZE_MAX);
    onnxd_pool_block blocks[4];
    static const size_t sizes[] = {512, 8192, 1024, 2048};
    for (size_t i = 0; i < 4; i++)
        blocks[i] = take(pool, sizes[i]);
    onnxd_pool_block kept = take(pool, 16384);
    for (size_t i = 0; i < 4; i++)
        onnxd_pool_release(pool, blocks[i]);
    onnxd_pool_trim(pool, SIZE_MAX);
    cr_assert_eq(onnxd_pool_query(pool).cached_bytes, 11776);
    onnxd_pool_trim(pool, 4000);
    cr_assert_eq(onnxd_pool_query(pool).cached_bytes, 3584);
    cr_assert_eq(source.last_freed_bytes, 8192);
    onnxd_pool_trim(pool, 3583);
    cr_assert_eq(onnxd_pool_query(pool).cached_bytes, 1536);
    onnxd_pool_trim(pool, 0);
    cr_assert_eq(onnxd_pool_query(pool).cached_bytes, 0);
    check_books(pool, &source);
    onnxd_pool_release(pool, kept);
    onnxd_pool_destroy(pool);
    cr_assert_eq(source.live_blocks, 0);
}

Test(pool, blocks_in_use_survive_their_pool)
{
    uint64_t live = onnxd_alloc_query().live_count;
    fake_source source = make_source();
    onnxd_pool *pool = create(&source, SIZE_MAX, SIZE_MAX);
    take(pool, 1000);
    onnxd_pool_destroy(pool);
    onnxd_pool_destroy(NULL);
    cr_assert_eq(source.live_blocks, 1);
    cr_assert_eq(onnxd_alloc_query().live_count, live);
}

Test(pool, bad_options_are_refused)
{
    fake_source source = make_source();
    onnxd_pool_source functions = {fake_alloc, fake_free, &source};
    onnxd_pool *pool = NULL;
    onnxd_pool_options options = {.alignment = 48, .granularity_bytes = 256};
    check_error(onnxd_pool_create(&options, functions, &pool), ONNXD_INVALID_ARGUMENT, "48");
    options = (onnxd_pool_options){.alignment = 64, .granularity_bytes = 0};
    check_error(onnxd_pool_create(&options, functions, &pool), ONNXD_INVALID_ARGUMENT, "0");
    cr_assert_null(pool);
}

Test(pool, every_allocation_may_fail)
{
    uint64_t live = onnxd_alloc_query().live_count;
    fake_source source = make_source();
    onnxd_pool_source functions = {fake_alloc, fake_free, &source};
    onnxd_pool_options options = {.alignment = 64, .granularity_bytes = 64, .limit_bytes = 1 << 20};
    onnxd_pool *pool = NULL;
    onnxd_alloc_fail_at(1, 0);
    check_error(onnxd_pool_create(&options, functions, &pool), ONNXD_OUT_OF_MEMORY, NULL);
    check_ok(onnxd_pool_create(&options, functions, &pool));
    onnxd_pool_block block = {.bytes = 77};
    onnxd_alloc_fail_at(1, 0);
    check_error(onnxd_pool_acquire(pool, 100, &block), ONNXD_OUT_OF_MEMORY, NULL);
    cr_assert_eq(block.bytes, 77);
    check_books(pool, &source);
    cr_assert_eq(onnxd_pool_query(pool).failures, 1);
    check_ok(onnxd_pool_acquire(pool, 100, &block));
    onnxd_alloc_fail_at(1, 1);
    onnxd_pool_release(pool, block);
    onnxd_alloc_fail_at(0, 0);
    check_books(pool, &source);
    onnxd_pool_destroy(pool);
    cr_assert_eq(onnxd_alloc_query().live_count, live);
}

Test(pool, random_use_keeps_the_books)
{
    enum { MOST = 100 };
    fake_source source = make_source();
    onnxd_pool *pool = create(&source, 1 << 20, 1 << 18);
    onnxd_pool_block blocks[MOST];
    size_t count = 0, in_use = 0;
    uint64_t random = 41, failures = 0, acquires = 0;
    for (int round = 0; round < 30000; round++) {
        if (count < MOST && random_below(&random, 2) == 0) {
            onnxd_pool_block block;
            source.failures_to_come = random_below(&random, 20) == 0 ? 1 : 0;
            onnxd_status *status = onnxd_pool_acquire(pool, random_below(&random, 60000), &block);
            acquires++;
            failures += status != NULL ? 1 : 0;
            if (status == NULL) {
                blocks[count++] = block;
                in_use += block.bytes;
            }
            onnxd_status_free(status);
        } else if (count > 0) {
            size_t index = random_below(&random, count);
            in_use -= blocks[index].bytes;
            onnxd_pool_release(pool, blocks[index]);
            blocks[index] = blocks[--count];
        }
        if (random_below(&random, 500) == 0)
            onnxd_pool_trim(pool, random_below(&random, 1 << 18));
        onnxd_pool_stats stats = onnxd_pool_query(pool);
        cr_assert_eq(stats.in_use_bytes, in_use);
        cr_assert_eq(stats.live_blocks, count);
        cr_assert(stats.acquires == acquires && stats.failures == failures);
        cr_assert_leq(stats.cached_bytes, (1 << 18) + (1 << 16));
        check_books(pool, &source);
    }
    cr_assert_leq(source.peak_bytes, 1 << 20);
    cr_assert_gt(failures, 0);
    while (count > 0)
        onnxd_pool_release(pool, blocks[--count]);
    onnxd_pool_destroy(pool);
    cr_assert_eq(source.live_bytes, 0);
}

enum { THREAD_COUNT = 4 };

typedef struct worker {
    onnxd_pool *pool;
    uint64_t random;
    uint64_t failures;
} worker;

static void *work(void *argument)
{
    worker *self = argument;
    onnxd_pool_block blocks[8];
    size_t count = 0;
    for (int round = 0; round < 20000; round++) {
        if (count < 8 && random_below(&self->random, 2) == 0) {
            onnxd_status *status =
                onnxd_pool_acquire(self->pool, random_below(&self->random, 10000), &blocks[count]);
            count += status == NULL ? 1 : 0;
            self->failures += status != NULL ? 1 : 0;
            onnxd_status_free(status);
        } else if (count > 0) {
            onnxd_pool_release(self->pool, blocks[--count]);
        }
        if (round % 1000 == 0)
            onnxd_pool_trim(self->pool, 1000);
    }
    while (count > 0)
        onnxd_pool_release(self->pool, blocks[--count]);
    return NULL;
}

static void run_threads(fake_source *source, size_t limit_bytes, bool may_fail)
{
    onnxd_pool *pool = create(source, limit_bytes, limit_bytes / 2);
    worker workers[THREAD_COUNT];
    pthread_t threads[THREAD_COUNT];
    for (uint64_t i = 0; i < THREAD_COUNT; i++) {
        workers[i] = (worker){.pool = pool, .random = i};
        cr_assert_eq(pthread_create(&threads[i], NULL, work, &workers[i]), 0);
    }
    for (int i = 0; i < THREAD_COUNT; i++) {
        pthread_join(threads[i], NULL);
        cr_assert(may_fail || workers[i].failures == 0);
    }
    check_books(pool, source);
    cr_assert_eq(onnxd_pool_query(pool).in_use_bytes, 0);
    cr_assert_leq(source->peak_bytes, limit_bytes);
    onnxd_pool_destroy(pool);
    cr_assert_eq(source->live_blocks, 0);
}

/* The limit holds for the source itself, also while others give blocks back. */
Test(pool, threads_keep_the_limit)
{
    fake_source source = make_source();
    source.slow_free = true;
    run_threads(&source, 100000, true);
}

/* Room for all that can be in use at once: then nobody may be refused because of what is cached or
 * on its way back. */
Test(pool, threads_with_room_are_never_refused)
{
    fake_source source = make_source();
    run_threads(&source, THREAD_COUNT * 8 * 10240, false);
}

Test(host_source, gives_usable_aligned_memory)
{
    uint64_t live = onnxd_alloc_query().live_count;
    onnxd_pool_options options = {
        .alignment = 4096, .granularity_bytes = 64, .limit_bytes = SIZE_MAX, .cache_bytes = 0};
    onnxd_pool *pool = NULL;
    onnxd_pool_block block;
    check_ok(onnxd_pool_create(&options, onnxd_host_pool_source(), &pool));
    check_ok(onnxd_pool_acquire(pool, 10000, &block));
    cr_assert_eq((uintptr_t)block.data % 4096, 0);
    memset(block.data, 1, block.bytes);
    onnxd_pool_release(pool, block);
    check_error(onnxd_pool_acquire(pool, (size_t)1 << 62, &block), ONNXD_OUT_OF_MEMORY, NULL);
    onnxd_pool_destroy(pool);
    options.alignment = 1;
    check_ok(onnxd_pool_create(&options, onnxd_host_pool_source(), &pool));
    check_ok(onnxd_pool_acquire(pool, 10, &block));
    onnxd_pool_release(pool, block);
    onnxd_pool_destroy(pool);
    cr_assert_eq(onnxd_alloc_query().live_count, live);
}
