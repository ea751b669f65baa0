#include "ep/worker_stream.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/size_math.h"

typedef enum record_kind { RECORD_CALL, RECORD_WAIT, RECORD_SIGNAL } record_kind;

/* A command in the ring; a call's payload follows. */
typedef struct record {
    _Alignas(16) size_t bytes; /* with payload; a multiple of ONNXD_WORKER_ALIGN */
    record_kind kind;
    onnxd_worker_call call;
    onnxd_fence fence; /* RECORD_CALL: 0 when nothing is to be signalled */
    int64_t issued_ns;
} record;

struct onnxd_worker_stream {
    pthread_mutex_t mutex;
    pthread_cond_t work;  /* commands came, or is_stopping */
    pthread_cond_t space; /* a command was completed */
    pthread_t thread;
    onnxd_fence_table *fences;
    bool is_inline, is_stopping, has_thread;

    /* The ring: commands lie in [tail, head), or when wrapped in [tail, wrap_at) and [0, head). */
    char *ring;
    size_t capacity, head, tail, wrap_at;
    bool is_wrapped;
    _Atomic uint64_t issued, completed;

    /* The worker's own. */
    onnxd_status *failure; /* for the next fence */
    int64_t wait_end_ns;
};

/* ---- running commands ---------------------------------------------------------------------- */

static void fail_stream(onnxd_worker_stream *stream, onnxd_status *status)
{
    stream->failure = onnxd_status_join(stream->failure, status);
}

static void signal_fence(onnxd_worker_stream *stream, onnxd_fence fence)
{
    onnxd_status *failure = stream->failure;
    stream->failure = NULL;
    onnxd_fence_table_signal(stream->fences, fence, failure);
}

static void run_call(onnxd_worker_stream *stream, record *command)
{
    void *payload = command + 1;
    if (stream->failure == NULL) {
        int64_t ready_ns =
            command->issued_ns > stream->wait_end_ns ? command->issued_ns : stream->wait_end_ns;
        stream->failure = command->call.run(command->call.self, payload, ready_ns);
    }
    if (command->call.drop != NULL)
        command->call.drop(command->call.self, payload);
}

static void run_wait(onnxd_worker_stream *stream, const record *command)
{
    bool waited = false;
    fail_stream(stream, onnxd_fence_table_wait_held(stream->fences, command->fence, &waited));
    if (waited)
        stream->wait_end_ns = onnxd_now_ns();
}

static void run_command(onnxd_worker_stream *stream, record *command)
{
    if (command->kind == RECORD_CALL)
        run_call(stream, command);
    if (command->kind == RECORD_WAIT)
        run_wait(stream, command);
    else if (command->fence != ONNXD_FENCE_SIGNALLED)
        signal_fence(stream, command->fence);
}

/* ---- the ring ------------------------------------------------------------------------------ */

static bool is_empty(const onnxd_worker_stream *stream)
{
    return atomic_load_explicit(&stream->issued, memory_order_relaxed) ==
           atomic_load_explicit(&stream->completed, memory_order_relaxed);
}

/* Room for `bytes` in one piece, or NULL until commands are completed. */
static record *ring_reserve_locked(onnxd_worker_stream *stream, size_t bytes)
{
    if (is_empty(stream)) {
        stream->head = stream->tail = 0;
        stream->is_wrapped = false;
    }
    if (!stream->is_wrapped && stream->capacity - stream->head < bytes && stream->tail >= bytes) {
        stream->wrap_at = stream->head;
        stream->head = 0;
        stream->is_wrapped = true;
    }
    size_t end = stream->is_wrapped ? stream->tail : stream->capacity;
    if (end - stream->head < bytes)
        return NULL;
    record *command = (record *)(void *)(stream->ring + stream->head);
    stream->head += bytes;
    return command;
}

static record *ring_first_locked(onnxd_worker_stream *stream)
{
    if (stream->is_wrapped && stream->tail == stream->wrap_at) {
        stream->tail = 0;
        stream->is_wrapped = false;
    }
    return (record *)(void *)(stream->ring + stream->tail);
}

/* Runs the oldest command and takes it out. The lock is given up while a worker runs it; an inline
 * stream keeps it, which is what makes its commands run one at a time. */
static void ring_step_locked(onnxd_worker_stream *stream)
{
    record *command = ring_first_locked(stream);
    if (!stream->is_inline)
        pthread_mutex_unlock(&stream->mutex);
    run_command(stream, command);
    if (!stream->is_inline)
        pthread_mutex_lock(&stream->mutex);
    stream->tail += command->bytes;
    atomic_fetch_add_explicit(&stream->completed, 1, memory_order_release);
    pthread_cond_broadcast(&stream->space);
}

static void *worker_main(void *user)
{
    onnxd_worker_stream *stream = user;
    pthread_mutex_lock(&stream->mutex);
    for (;;) {
        while (is_empty(stream) && !stream->is_stopping)
            pthread_cond_wait(&stream->work, &stream->mutex);
        if (is_empty(stream))
            break;
        ring_step_locked(stream);
    }
    pthread_mutex_unlock(&stream->mutex);
    return NULL;
}

/* ---- life ---------------------------------------------------------------------------------- */

/* Signals are for the thread that asks for them, never for a worker. */
static onnxd_status *start_thread(onnxd_worker_stream *stream, const char *name)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = pthread_create(&stream->thread, NULL, worker_main, stream);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (error != 0)
        return onnxd_error(ONNXD_INTERNAL, "cannot start thread '%s', error %d", name, error);
    stream->has_thread = true;
    char short_name[16] = {0};
    strncpy(short_name, name, sizeof(short_name) - 1);
    pthread_setname_np(stream->thread, short_name);
    return NULL;
}

onnxd_status *onnxd_worker_stream_create(const onnxd_worker_stream_options *options,
                                         onnxd_worker_stream **out_stream)
{
    onnxd_status *status = NULL;
    onnxd_worker_stream *stream = onnxd_alloc_zero(1, sizeof(*stream));
    if (stream == NULL)
        return onnxd_error_out_of_memory("stream", sizeof(*stream), UINT64_MAX);
    pthread_mutex_init(&stream->mutex, NULL);
    pthread_cond_init(&stream->work, NULL);
    pthread_cond_init(&stream->space, NULL);
    stream->fences = options->fences;
    stream->is_inline = options->is_inline;
    if (!onnxd_size_align(options->ring_bytes != 0 ? options->ring_bytes : 1, 4096,
                          &stream->capacity)) {
        status = onnxd_error(ONNXD_INVALID_ARGUMENT, "a ring of %zu bytes is too large",
                             options->ring_bytes);
        goto fail;
    }
    stream->ring = onnxd_alloc_aligned(stream->capacity, 64);
    if (stream->ring == NULL) {
        status = onnxd_error_out_of_memory("stream ring", stream->capacity, UINT64_MAX);
        goto fail;
    }
    if (!stream->is_inline)
        status = start_thread(stream, options->name);
    if (status != NULL)
        goto fail;
    *out_stream = stream;
    return NULL;

fail:
    onnxd_worker_stream_destroy(stream);
    return status;
}

void onnxd_worker_stream_destroy(onnxd_worker_stream *stream)
{
    if (stream == NULL)
        return;
    if (stream->has_thread) {
        pthread_mutex_lock(&stream->mutex);
        stream->is_stopping = true;
        pthread_cond_signal(&stream->work);
        pthread_mutex_unlock(&stream->mutex);
        pthread_join(stream->thread, NULL);
    }
    pthread_cond_destroy(&stream->space);
    pthread_cond_destroy(&stream->work);
    pthread_mutex_destroy(&stream->mutex);
    onnxd_status_free(stream->failure);
    onnxd_free(stream->ring);
    onnxd_free(stream);
}

/* ---- issuing ------------------------------------------------------------------------------- */

size_t onnxd_worker_stream_payload_max(const onnxd_worker_stream *stream)
{
    return stream->capacity - sizeof(record);
}

static void copy_pieces(char *to, const onnxd_worker_piece *pieces, size_t piece_count)
{
    for (size_t i = 0; i < piece_count; i++) {
        if (pieces[i].bytes > 0)
            memcpy(to, pieces[i].data, pieces[i].bytes);
        to += ONNXD_WORKER_ALIGN_UP(pieces[i].bytes);
    }
}

/* `head` is the command without its payload; head->bytes covers both and fits the ring. */
static void issue(onnxd_worker_stream *stream, const record *head, const onnxd_worker_piece *pieces,
                  size_t piece_count)
{
    pthread_mutex_lock(&stream->mutex);
    record *command;
    while ((command = ring_reserve_locked(stream, head->bytes)) == NULL)
        pthread_cond_wait(&stream->space, &stream->mutex);
    *command = *head;
    copy_pieces((char *)(command + 1), pieces, piece_count);
    atomic_fetch_add_explicit(&stream->issued, 1, memory_order_release);
    if (stream->is_inline)
        ring_step_locked(stream);
    else
        pthread_cond_signal(&stream->work);
    pthread_mutex_unlock(&stream->mutex);
}

onnxd_status *onnxd_worker_stream_call(onnxd_worker_stream *stream, const onnxd_worker_call *call,
                                       const onnxd_worker_piece *pieces, size_t piece_count,
                                       onnxd_fence fence)
{
    size_t left = onnxd_worker_stream_payload_max(stream);
    for (size_t i = 0; i < piece_count; i++) {
        /* `left` is a multiple of the alignment, so the padding fits where the bytes do. */
        if (pieces[i].bytes > left)
            return onnxd_error(ONNXD_RESOURCE_EXHAUSTED,
                               "a command of more than %zu bytes does not fit the stream",
                               onnxd_worker_stream_payload_max(stream));
        left -= ONNXD_WORKER_ALIGN_UP(pieces[i].bytes);
    }
    record head = {.bytes = stream->capacity - left,
                   .kind = RECORD_CALL,
                   .call = *call,
                   .fence = fence,
                   .issued_ns = onnxd_now_ns()};
    issue(stream, &head, pieces, piece_count);
    return NULL;
}

onnxd_status *onnxd_worker_stream_wait(onnxd_worker_stream *stream, onnxd_fence fence)
{
    ONNXD_TRY(onnxd_fence_table_hold(stream->fences, fence));
    record head = {.bytes = sizeof(record), .kind = RECORD_WAIT, .fence = fence};
    issue(stream, &head, NULL, 0);
    return NULL;
}

void onnxd_worker_stream_signal(onnxd_worker_stream *stream, onnxd_fence fence)
{
    record head = {.bytes = sizeof(record), .kind = RECORD_SIGNAL, .fence = fence};
    issue(stream, &head, NULL, 0);
}

void onnxd_worker_stream_drain(onnxd_worker_stream *stream)
{
    pthread_mutex_lock(&stream->mutex);
    uint64_t target = atomic_load_explicit(&stream->issued, memory_order_relaxed);
    while (atomic_load_explicit(&stream->completed, memory_order_relaxed) < target)
        pthread_cond_wait(&stream->space, &stream->mutex);
    pthread_mutex_unlock(&stream->mutex);
}

uint64_t onnxd_worker_stream_issued(const onnxd_worker_stream *stream)
{
    return atomic_load_explicit(&stream->issued, memory_order_acquire);
}

uint64_t onnxd_worker_stream_completed(const onnxd_worker_stream *stream)
{
    return atomic_load_explicit(&stream->completed, memory_order_acquire);
}
