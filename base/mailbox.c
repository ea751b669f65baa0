#include "base/mailbox.h"

void onnxd_mailbox_init(onnxd_mailbox *mailbox, void (*wake)(void *user), void *user)
{
    *mailbox = (onnxd_mailbox){.wake = wake, .user = user};
    pthread_mutex_init(&mailbox->mutex, NULL);
}

void onnxd_mailbox_deinit(onnxd_mailbox *mailbox)
{
    pthread_mutex_destroy(&mailbox->mutex);
}

void onnxd_mailbox_post(onnxd_mailbox *mailbox, onnxd_link *link)
{
    /* Read before the link is visible: the consumer may act on it, and end the mailbox's owner, as
     * soon as the lock is open. */
    void (*wake)(void *user) = mailbox->wake;
    void *user = mailbox->user;
    pthread_mutex_lock(&mailbox->mutex);
    onnxd_fifo_push(&mailbox->fifo, link);
    pthread_mutex_unlock(&mailbox->mutex);
    wake(user);
}

onnxd_link *onnxd_mailbox_take(onnxd_mailbox *mailbox)
{
    pthread_mutex_lock(&mailbox->mutex);
    onnxd_link *links = onnxd_fifo_take(&mailbox->fifo);
    pthread_mutex_unlock(&mailbox->mutex);
    return links;
}
