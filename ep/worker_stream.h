/*
 * A stream of work on a thread of its own: commands run one after another in the order of issue.
 *
 *   call(run, payload) ─┐
 *   wait(fence)         ├─► ring of commands ─► worker thread
 *   signal(fence)      ─┘
 *
 * Commands and their payloads are copied into a ring that is allocated once; issuing allocates
 * nothing. A full ring makes the issuer wait until the worker has made room (back-pressure). The
 * worker takes commands only, so an issuer that waits is always let go.
 *
 * Failure. When a call fails, or a wait meets a failed fence, the calls after it are skipped up to
 * and including the one that signals the next fence; that fence gets the failure, and the stream is
 * clean again.
 *
 * An inline stream has no thread: each command runs on its issuer before the issuing call returns.
 * Failures travel through fences all the same.
 *
 * Threads: issuing from any thread; commands of one issuer keep their order. create and destroy:
 * one thread, with no other call in flight.
 */
#ifndef ONNXD_EP_WORKER_STREAM_H
#define ONNXD_EP_WORKER_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "ep/fence_table.h"

typedef struct onnxd_worker_stream onnxd_worker_stream;

typedef struct onnxd_worker_stream_options {
    const char *name;  /* of the thread; the first 15 characters count */
    size_t ring_bytes; /* rounded up to 4 KiB; ONNXD_WORKER_RING_BYTES is a good size */
    onnxd_fence_table *fences;
    bool is_inline;
} onnxd_worker_stream_options;

#define ONNXD_WORKER_RING_BYTES ((size_t)1 << 20)

/* What a call command does. */
typedef struct onnxd_worker_call {
    /* Runs on the worker. `payload` is the copy in the ring, aligned for any type, and may be
     * written to. ready_ns is the earliest time at which the work could have begun: when it was
     * issued, or when the last wait before it ended. Its status goes to the next fence. */
    onnxd_status *(*run)(void *self, void *payload, int64_t ready_ns);
    /* Ends what the payload holds, after run or instead of it. NULL: nothing to do. */
    void (*drop)(void *self, void *payload);
    void *self;
} onnxd_worker_call;

/* A piece of a payload. Pieces follow each other in the ring, each starting at a multiple of
 * ONNXD_WORKER_ALIGN bytes. */
typedef struct onnxd_worker_piece {
    const void *data;
    size_t bytes;
} onnxd_worker_piece;

#define ONNXD_WORKER_ALIGN ((size_t)16)
#define ONNXD_WORKER_ALIGN_UP(bytes)                                                               \
    (((bytes) + ONNXD_WORKER_ALIGN - 1) & ~(ONNXD_WORKER_ALIGN - 1))

/* Errors: OUT_OF_MEMORY, INTERNAL when the thread cannot be made. */
ONNXD_NODISCARD onnxd_status *onnxd_worker_stream_create(const onnxd_worker_stream_options *options,
                                                         onnxd_worker_stream **out_stream);
/* Finishes what was issued and ends the thread. NULL is fine. */
void onnxd_worker_stream_destroy(onnxd_worker_stream *stream);

/* The largest payload that one call can carry, all pieces with their padding. */
size_t onnxd_worker_stream_payload_max(const onnxd_worker_stream *stream);

/* Issues a call and, unless `fence` is 0, the signal of that fence in one step, so that no other
 * issuer's command comes between.
 * Errors: RESOURCE_EXHAUSTED for a payload beyond the maximum; then nothing was issued and `drop`
 * is not called. */
ONNXD_NODISCARD onnxd_status *onnxd_worker_stream_call(onnxd_worker_stream *stream,
                                                       const onnxd_worker_call *call,
                                                       const onnxd_worker_piece *pieces,
                                                       size_t piece_count, onnxd_fence fence);
/* What is issued later starts after `fence`, which may be released meanwhile.
 * Errors: STALE_FENCE. */
ONNXD_NODISCARD onnxd_status *onnxd_worker_stream_wait(onnxd_worker_stream *stream,
                                                       onnxd_fence fence);
/* Signals `fence` when everything issued before is done. */
void onnxd_worker_stream_signal(onnxd_worker_stream *stream, onnxd_fence fence);

/* Returns when everything issued so far is done. */
void onnxd_worker_stream_drain(onnxd_worker_stream *stream);
/* Commands ever issued and completed. A command is completed after its fence is signalled and its
 * payload dropped. */
uint64_t onnxd_worker_stream_issued(const onnxd_worker_stream *stream);
uint64_t onnxd_worker_stream_completed(const onnxd_worker_stream *stream);

#endif
