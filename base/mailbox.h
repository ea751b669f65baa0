/*
 * Mailbox: the one way in which objects cross threads. Any thread posts an intrusive link; the
 * owner takes the whole list at once. Wake-ups coalesce, so the consumer must take all each time.
 *
 * Threads: post from any thread; take by the consumer alone. `wake` is called by the posting thread
 * with no lock held and must not block (uv_async_send, a condition variable's signal).
 */
#ifndef ONNXD_BASE_MAILBOX_H
#define ONNXD_BASE_MAILBOX_H

#include <pthread.h>

#include "base/list.h"

typedef struct onnxd_mailbox {
    pthread_mutex_t mutex;
    onnxd_fifo fifo;
    void (*wake)(void *user);
    void *user;
} onnxd_mailbox;

void onnxd_mailbox_init(onnxd_mailbox *mailbox, void (*wake)(void *user), void *user);
void onnxd_mailbox_deinit(onnxd_mailbox *mailbox);
void onnxd_mailbox_post(onnxd_mailbox *mailbox, onnxd_link *link);
/* The posted links in order, linked through `next`; NULL when there are none. */
onnxd_link *onnxd_mailbox_take(onnxd_mailbox *mailbox);

#endif
