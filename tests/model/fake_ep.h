/*
 * A provider that answers questions as the test wants it to: what it supports, claims and charges.
 * It runs what the test gives it, if anything, and has no memory of its own.
 */
#ifndef ONNXD_TESTS_MODEL_FAKE_EP_H
#define ONNXD_TESTS_MODEL_FAKE_EP_H

#include "ep/ep.h"

#define FAKE_EP_MAX 4

typedef struct fake_ep_settings {
    bool is_device; /* with memory of its own */
    double node_us; /* of every node; negative: unknown */
    double copy_latency_us, copy_bytes_per_us;
    const char *unsupported_op;      /* NULL: none */
    const char *claimed_op;          /* NULL: none */
    bool wants_layout;               /* answers with a layout of its own */
    const onnxd_pass *const *passes; /* NULL-terminated; NULL: none */
    uint32_t issuers;                /* 0: says nothing */
    /* What each kernel does. NULL: there are no kernels. */
    onnxd_status *(*compute)(const onnxd_kernel_args *args);
} fake_ep_settings;

/* An initialised instance with this index (below FAKE_EP_MAX) and these settings. */
onnxd_ep *fake_ep_open(uint32_t index, const fake_ep_settings *settings);
/* Threads that have begun issuing and not ended. */
uint32_t fake_ep_issuing(const onnxd_ep *ep);

#endif
