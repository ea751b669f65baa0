#include "base/mailbox.h"

#include <criterion/criterion.h>
#include <stdatomic.h>

#include "base/clock.h"

typedef struct message {
    onnxd_link link;
    int sender, number;
} message;

static void count_wake(void *user)
{
    atomic_fetch_add((atomic_int *)user, 1);
}

Test(mailbox, keeps_order_and_wakes)
{
    atomic_int wakes = 0;
    onnxd_mailbox mailbox;
    message messages[3] = {{.number = 0}, {.number = 1}, {.number = 2}};
    onnxd_mailbox_init(&mailbox, count_wake, &wakes);
    cr_assert_null(onnxd_mailbox_take(&mailbox));
    for (int i = 0; i < 3; i++)
        onnxd_mailbox_post(&mailbox, &messages[i].link);
    cr_assert_geq(atomic_load(&wakes), 1);
    onnxd_link *link = onnxd_mailbox_take(&mailbox);
    for (int i = 0; i < 3; i++, link = link->next)
        cr_assert_eq(ONNXD_CONTAINER_OF(link, message, link)->number, i);
    cr_assert_null(link);
    cr_assert_null(onnxd_mailbox_take(&mailbox));
    onnxd_mailbox_deinit(&mailbox);
}

enum { SENDER_COUNT = 4, MESSAGE_COUNT = 5000 };

typedef struct sender {
    onnxd_mailbox *mailbox;
    message messages[MESSAGE_COUNT];
} sender;

static sender senders[SENDER_COUNT];

static void *send_all(void *argument)
{
    sender *self = argument;
    for (int i = 0; i < MESSAGE_COUNT; i++)
        onnxd_mailbox_post(self->mailbox, &self->messages[i].link);
    return NULL;
}

typedef struct bell {
    pthread_mutex_t mutex;
    pthread_cond_t rung;
    bool ringing;
} bell;

static void ring_bell(void *user)
{
    bell *self = user;
    pthread_mutex_lock(&self->mutex);
    self->ringing = true;
    pthread_cond_signal(&self->rung);
    pthread_mutex_unlock(&self->mutex);
}

static void wait_for_bell(bell *self)
{
    pthread_mutex_lock(&self->mutex);
    while (!self->ringing)
        pthread_cond_wait(&self->rung, &self->mutex);
    self->ringing = false;
    pthread_mutex_unlock(&self->mutex);
}

/* The consumer sleeps between takes: a wake-up that got lost would leave it asleep for ever. */
Test(mailbox, loses_nothing_between_threads)
{
    bell wake = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, false};
    onnxd_mailbox mailbox;
    pthread_t threads[SENDER_COUNT];
    onnxd_mailbox_init(&mailbox, ring_bell, &wake);
    for (int s = 0; s < SENDER_COUNT; s++) {
        senders[s].mailbox = &mailbox;
        for (int i = 0; i < MESSAGE_COUNT; i++)
            senders[s].messages[i] = (message){.sender = s, .number = i};
        cr_assert_eq(pthread_create(&threads[s], NULL, send_all, &senders[s]), 0);
    }
    int next[SENDER_COUNT] = {0};
    int received = 0;
    while (received < SENDER_COUNT * MESSAGE_COUNT) {
        onnxd_link *link = onnxd_mailbox_take(&mailbox);
        if (link == NULL)
            wait_for_bell(&wake);
        for (; link != NULL; link = link->next, received++) {
            message *found = ONNXD_CONTAINER_OF(link, message, link);
            cr_assert_eq(found->number, next[found->sender]++);
        }
    }
    for (int s = 0; s < SENDER_COUNT; s++)
        pthread_join(threads[s], NULL);
    cr_assert_null(onnxd_mailbox_take(&mailbox));
    onnxd_mailbox_deinit(&mailbox);
}

Test(clock, never_goes_back)
{
    int64_t last = onnxd_now_ns();
    cr_assert_gt(last, 0);
    for (int i = 0; i < 10000; i++) {
        int64_t now = onnxd_now_ns();
        cr_assert_geq(now, last);
        last = now;
    }
}
