/* Intrusive singly linked FIFO: queueing cannot fail for memory. Threads: the owner guards it. */
#ifndef ONNXD_BASE_LIST_H
#define ONNXD_BASE_LIST_H

#include <stddef.h>

#include "base/compiler.h"

typedef struct onnxd_link {
    struct onnxd_link *next;
} onnxd_link;

typedef struct onnxd_fifo {
    onnxd_link *head, *tail;
    size_t count;
} onnxd_fifo;

static inline void onnxd_fifo_push(onnxd_fifo *fifo, onnxd_link *link)
{
    link->next = NULL;
    if (fifo->tail != NULL)
        fifo->tail->next = link;
    else
        fifo->head = link;
    fifo->tail = link;
    fifo->count++;
}

/* NULL when empty. */
static inline onnxd_link *onnxd_fifo_pop(onnxd_fifo *fifo)
{
    onnxd_link *link = fifo->head;
    if (link == NULL)
        return NULL;
    fifo->head = link->next;
    if (fifo->head == NULL)
        fifo->tail = NULL;
    fifo->count--;
    link->next = NULL;
    return link;
}

/* Takes the whole list, in order; the fifo is empty afterwards. */
static inline onnxd_link *onnxd_fifo_take(onnxd_fifo *fifo)
{
    onnxd_link *head = fifo->head;
    fifo->head = fifo->tail = NULL;
    fifo->count = 0;
    return head;
}

#endif
