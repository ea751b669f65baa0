#include "ep/worker_stream.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <string.h>

#include "base/alloc.h"
#include "ep/instance_tag.h"

/* Both kinds of stream share their meaning, so every test that needs no gate runs on both. */
typedef struct fixture {
    onnxd_fence_table *fences;
    onnxd_worker_stream *stream;
} fixture;

static fixture make_sized(bool is_inline, size_t ring_bytes)
{
    fixture f = {0};
    cr_assert_null(onnxd_fence_table_create(64, 3, &f.fences));
    onnxd_worker_stream_options options = {.name = "test-stream-with-a-long-name",
                                           .ring_bytes = ring_bytes,
                                           .fences = f.fences,
                                           .is_inline = is_inline};
    cr_assert_null(onnxd_worker_stream_create(&options, &f.stream));
    return f;
}

static fixture make(bool is_inline)
{
    return make_sized(is_inline, 4096);
}

static void end(fixture *f)
{
    onnxd_worker_stream_destroy(f->stream);
    cr_assert_eq(onnxd_fence_table_live(f->fences), 0, "fences leaked");
    onnxd_fence_table_destroy(f->fences);
}

static void expect_code(onnxd_status *status, onnxd_code code)
{
    cr_assert_eq(onnxd_status_code(status), code, "%s", onnxd_status_message(status));
    onnxd_status_free(status);
}

static onnxd_fence record(fixture *f)
{
    onnxd_fence fence = 0;
    cr_assert_null(onnxd_fence_table_acquire(f->fences, &fence));
    onnxd_worker_stream_signal(f->stream, fence);
    return fence;
}

static void finish(fixture *f, onnxd_fence fence, onnxd_code code)
{
    expect_code(onnxd_fence_table_wait(f->fences, fence, -1), code);
    cr_assert_null(onnxd_fence_table_release(f->fences, fence));
}

/* What a stream did, in order. */
typedef struct journal {
    int entries[64];
    int count, dropped;
    sem_t gate;
} journal;

static onnxd_status *note(void *self, void *payload, int64_t ready_ns)
{
    journal *log = self;
    cr_assert_gt(ready_ns, 0);
    log->entries[log->count++ % 64] = *(int *)payload;
    return NULL;
}

static onnxd_status *note_and_fail(void *self, void *payload, int64_t ready_ns)
{
    onnxd_status_free(note(self, payload, ready_ns));
    return onnxd_error(ONNXD_KERNEL_FAILED, "call %d", *(int *)payload);
}

static onnxd_status *pass_gate(void *self, void *payload, int64_t ready_ns)
{
    journal *log = self;
    while (sem_wait(&log->gate) != 0)
        ;
    return note(self, payload, ready_ns);
}

static void count_drop(void *self, void *payload)
{
    journal *log = self;
    (void)payload;
    log->dropped++;
}

static void call(fixture *f, journal *log,
                 onnxd_status *(*run)(void *self, void *payload, int64_t ready_ns), int number,
                 onnxd_fence fence)
{
    onnxd_worker_call command = {run, count_drop, log};
    onnxd_worker_piece piece = {&number, sizeof(number)};
    cr_assert_null(onnxd_worker_stream_call(f->stream, &command, &piece, 1, fence));
}

Test(worker_stream, commands_run_in_the_order_of_issue)
{
    for (int is_inline = 0; is_inline <= 1; is_inline++) {
        fixture f = make(is_inline);
        journal log = {0};
        for (int i = 0; i < 50; i++)
            call(&f, &log, note, i, 0);
        finish(&f, record(&f), ONNXD_OK);
        cr_assert_eq(log.count, 50);
        for (int i = 0; i < 50; i++)
            cr_assert_eq(log.entries[i], i);
        onnxd_worker_stream_drain(f.stream);
        cr_assert_eq(log.dropped, 50);
        cr_assert_eq(onnxd_worker_stream_issued(f.stream), 51);
        cr_assert_eq(onnxd_worker_stream_completed(f.stream), 51);
        end(&f);
    }
}

Test(worker_stream, a_failure_skips_up_to_the_next_fence_and_no_further)
{
    for (int is_inline = 0; is_inline <= 1; is_inline++) {
        fixture f = make(is_inline);
        journal log = {0};
        call(&f, &log, note_and_fail, 1, 0);
        call(&f, &log, note, 2, 0);
        call(&f, &log, note_and_fail, 3, 0);
        onnxd_fence failed = record(&f);
        call(&f, &log, note, 4, 0);
        onnxd_fence clean = record(&f);
        onnxd_status *status = onnxd_fence_table_wait(f.fences, failed, -1);
        cr_assert_str_eq(onnxd_status_message(status), "call 1");
        onnxd_status_free(status);
        finish(&f, failed, ONNXD_KERNEL_FAILED);
        finish(&f, clean, ONNXD_OK);
        cr_assert_eq(log.count, 2);
        cr_assert_eq(log.entries[1], 4);
        onnxd_worker_stream_drain(f.stream);
        cr_assert_eq(log.dropped, 4, "skipped calls are dropped too");
        end(&f);
    }
}

Test(worker_stream, a_call_s_own_fence_takes_its_failure)
{
    for (int is_inline = 0; is_inline <= 1; is_inline++) {
        fixture f = make(is_inline);
        journal log = {0};
        onnxd_fence own = 0;
        cr_assert_null(onnxd_fence_table_acquire(f.fences, &own));
        call(&f, &log, note_and_fail, 1, own);
        finish(&f, record(&f), ONNXD_OK);
        finish(&f, own, ONNXD_KERNEL_FAILED);
        end(&f);
    }
}

Test(worker_stream, a_wait_passes_the_failure_of_its_fence_on)
{
    for (int is_inline = 0; is_inline <= 1; is_inline++) {
        fixture f = make(is_inline);
        journal log = {0};
        onnxd_fence outside = 0;
        cr_assert_null(onnxd_fence_table_acquire(f.fences, &outside));
        onnxd_fence_table_signal(f.fences, outside, onnxd_error(ONNXD_INTERNAL, "no power"));
        cr_assert_null(onnxd_worker_stream_wait(f.stream, outside));
        cr_assert_null(onnxd_fence_table_release(f.fences, outside));
        call(&f, &log, note, 1, 0);
        finish(&f, record(&f), ONNXD_INTERNAL);
        cr_assert_eq(log.count, 0);
        finish(&f, record(&f), ONNXD_OK);
        expect_code(onnxd_worker_stream_wait(f.stream, outside), ONNXD_STALE_FENCE);
        end(&f);
    }
}

Test(worker_stream, a_wait_holds_back_what_follows)
{
    fixture f = make(false);
    journal log = {0};
    onnxd_fence outside = 0;
    cr_assert_null(onnxd_fence_table_acquire(f.fences, &outside));
    cr_assert_null(onnxd_worker_stream_wait(f.stream, outside));
    cr_assert_null(onnxd_fence_table_release(f.fences, outside));
    call(&f, &log, note, 1, 0);
    onnxd_fence after = record(&f);
    expect_code(onnxd_fence_table_wait(f.fences, after, 20000000), ONNXD_DEADLINE_EXCEEDED);
    onnxd_fence_table_signal(f.fences, outside, NULL);
    finish(&f, after, ONNXD_OK);
    cr_assert_eq(log.count, 1);
    end(&f);
}

/* Payloads of many sizes keep their contents and alignment while the ring wraps. */
typedef struct check_sum {
    int calls, bad;
} check_sum;

static onnxd_status *verify(void *self, void *payload, int64_t ready_ns)
{
    check_sum *sum = self;
    size_t bytes;
    (void)ready_ns;
    memcpy(&bytes, payload, sizeof(bytes));
    const unsigned char *text = (unsigned char *)payload + ONNXD_WORKER_ALIGN_UP(sizeof(bytes));
    sum->bad += (uintptr_t)payload % ONNXD_WORKER_ALIGN != 0;
    for (size_t i = 0; i < bytes; i++)
        sum->bad += text[i] != (unsigned char)(bytes + i);
    sum->calls++;
    return NULL;
}

Test(worker_stream, payloads_survive_a_wrapping_ring)
{
    for (int is_inline = 0; is_inline <= 1; is_inline++) {
        fixture f = make(is_inline);
        check_sum sum = {0};
        unsigned char text[3000];
        for (size_t i = 0; i < 5000; i++) {
            size_t bytes = (i * 7919) % sizeof(text);
            for (size_t k = 0; k < bytes; k++)
                text[k] = (unsigned char)(bytes + k);
            onnxd_worker_call command = {verify, NULL, &sum};
            const onnxd_worker_piece pieces[] = {{&bytes, sizeof(bytes)}, {text, bytes}};
            cr_assert_null(onnxd_worker_stream_call(f.stream, &command, pieces, 2, 0));
        }
        onnxd_worker_stream_drain(f.stream);
        cr_assert_eq(sum.calls, 5000);
        cr_assert_eq(sum.bad, 0);
        end(&f);
    }
}

Test(worker_stream, the_largest_payload_fits_and_a_larger_one_is_refused)
{
    for (int is_inline = 0; is_inline <= 1; is_inline++) {
        fixture f = make(is_inline);
        size_t most = onnxd_worker_stream_payload_max(f.stream);
        int *payload = onnxd_alloc_zero(1, most + 1);
        cr_assert_not_null(payload);
        journal log = {0};
        onnxd_worker_call command = {note, count_drop, &log};
        for (int i = 0; i < 3; i++) {
            onnxd_worker_piece piece = {payload, most};
            cr_assert_null(onnxd_worker_stream_call(f.stream, &command, &piece, 1, 0));
        }
        const onnxd_worker_piece pieces[] = {{payload, most}, {payload, 1}};
        expect_code(onnxd_worker_stream_call(f.stream, &command, pieces, 2, 0),
                    ONNXD_RESOURCE_EXHAUSTED);
        const onnxd_worker_piece huge = {payload, SIZE_MAX};
        expect_code(onnxd_worker_stream_call(f.stream, &command, &huge, 1, 0),
                    ONNXD_RESOURCE_EXHAUSTED);
        onnxd_worker_stream_drain(f.stream);
        cr_assert_eq(log.count, 3);
        cr_assert_eq(log.dropped, 3);
        onnxd_free(payload);
        end(&f);
    }
}

static void *open_gate_later(void *user)
{
    journal *log = user;
    for (int i = 0; i < 200; i++) {
        sched_yield();
        sem_post(&log->gate);
    }
    return NULL;
}

Test(worker_stream, a_full_ring_holds_the_issuer_back_without_loss)
{
    fixture f = make(false);
    journal log = {0};
    sem_init(&log.gate, 0, 0);
    pthread_t opener;
    cr_assert_eq(pthread_create(&opener, NULL, open_gate_later, &log), 0);
    for (int i = 0; i < 200; i++)
        call(&f, &log, pass_gate, i, 0);
    pthread_join(opener, NULL);
    onnxd_worker_stream_drain(f.stream);
    cr_assert_eq(log.count, 200);
    cr_assert_eq(log.entries[199 % 64], 199);
    sem_destroy(&log.gate);
    end(&f);
}

Test(worker_stream, destroying_finishes_what_was_issued)
{
    fixture f = make(false);
    journal log = {0};
    for (int i = 0; i < 30; i++)
        call(&f, &log, note, i, 0);
    onnxd_fence fence = record(&f);
    onnxd_worker_stream_destroy(f.stream);
    f.stream = NULL;
    cr_assert_eq(log.count, 30);
    finish(&f, fence, ONNXD_OK);
    end(&f);
}

Test(worker_stream, a_failure_that_no_fence_covers_is_not_leaked)
{
    fixture f = make(false);
    journal log = {0};
    call(&f, &log, note_and_fail, 1, 0);
    end(&f);
}

typedef struct issuer {
    fixture *f;
    _Atomic int *sum;
} issuer;

static onnxd_status *add(void *self, void *payload, int64_t ready_ns)
{
    (void)ready_ns;
    atomic_fetch_add((_Atomic int *)self, *(int *)payload);
    return NULL;
}

static void *issue_main(void *user)
{
    issuer *self = user;
    intptr_t failures = 0;
    for (int i = 0; i < 500; i++) {
        int one = 1;
        onnxd_fence fence = 0;
        onnxd_worker_call command = {add, NULL, self->sum};
        onnxd_worker_piece piece = {&one, sizeof(one)};
        onnxd_status *status = onnxd_fence_table_acquire(self->f->fences, &fence);
        if (status == NULL)
            status = onnxd_worker_stream_call(self->f->stream, &command, &piece, 1, fence);
        if (status == NULL)
            status = onnxd_fence_table_wait(self->f->fences, fence, -1);
        if (status == NULL)
            status = onnxd_fence_table_release(self->f->fences, fence);
        failures += status != NULL;
        onnxd_status_free(status);
    }
    return (void *)failures;
}

Test(worker_stream, many_threads_issue)
{
    for (int is_inline = 0; is_inline <= 1; is_inline++) {
        fixture f = make(is_inline);
        _Atomic int sum = 0;
        issuer self = {&f, &sum};
        pthread_t threads[4];
        for (int i = 0; i < 4; i++)
            cr_assert_eq(pthread_create(&threads[i], NULL, issue_main, &self), 0);
        for (int i = 0; i < 4; i++) {
            void *failures;
            pthread_join(threads[i], &failures);
            cr_assert_null(failures);
        }
        cr_assert_eq(sum, 2000);
        end(&f);
    }
}

Test(worker_stream, issuing_allocates_nothing)
{
    fixture f = make(false);
    journal log = {0};
    onnxd_worker_stream_drain(f.stream);
    uint64_t before = onnxd_alloc_query().calls;
    for (int i = 0; i < 1000; i++)
        call(&f, &log, note, i, 0);
    onnxd_worker_stream_drain(f.stream);
    cr_assert_eq(onnxd_alloc_query().calls, before);
    end(&f);
}

Test(worker_stream, creation_survives_failed_allocations)
{
    onnxd_fence_table *fences = NULL;
    cr_assert_null(onnxd_fence_table_create(8, 1, &fences));
    uint64_t live = onnxd_alloc_query().live_count;
    for (uint64_t n = 1; n <= 2; n++) {
        onnxd_worker_stream *stream = NULL;
        onnxd_worker_stream_options options = {"x", 4096, fences, false};
        onnxd_alloc_fail_at(n, 0);
        onnxd_status *status = onnxd_worker_stream_create(&options, &stream);
        onnxd_alloc_fail_at(0, 0);
        expect_code(status, ONNXD_OUT_OF_MEMORY);
        cr_assert_null(stream);
    }
    cr_assert_eq(onnxd_alloc_query().live_count, live);
    onnxd_fence_table_destroy(fences);
}
