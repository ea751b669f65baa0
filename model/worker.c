#include "model/worker.h"

#include <signal.h>
#include <string.h>

#define STACK_BYTES ((size_t)8 << 20)

static int create_thread(pthread_t *thread, void *(*main)(void *argument), void *argument)
{
    pthread_attr_t attributes;
    int error = pthread_attr_init(&attributes);
    if (error != 0)
        return error;
    error = pthread_attr_setstacksize(&attributes, STACK_BYTES);
    if (error == 0)
        error = pthread_create(thread, &attributes, main, argument);
    pthread_attr_destroy(&attributes);
    return error;
}

onnxd_status *onnxd_worker_start(onnxd_worker *worker, const char *name,
                                 void *(*main)(void *argument), void *argument)
{
    static const int own_signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS};
    sigset_t blocked, before;
    char text[128];
    sigfillset(&blocked);
    for (size_t i = 0; i < ONNXD_COUNT(own_signals); i++)
        sigdelset(&blocked, own_signals[i]);
    pthread_sigmask(SIG_SETMASK, &blocked, &before);
    const int error = create_thread(&worker->thread, main, argument);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (error != 0)
        return onnxd_error(ONNXD_RESOURCE_EXHAUSTED, "cannot start thread '%s': %s", name,
                           strerror_r(error, text, sizeof(text)));
    pthread_setname_np(worker->thread, name);
    worker->is_started = true;
    return NULL;
}

void onnxd_worker_join(onnxd_worker *worker)
{
    if (!worker->is_started)
        return;
    pthread_join(worker->thread, NULL);
    worker->is_started = false;
}
