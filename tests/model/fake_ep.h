/*
 * A provider that only answers questions, for placement: what it supports, claims and charges is
 * set by the test. It runs nothing.
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
} fake_ep_settings;

/* An initialised instance with this index (below FAKE_EP_MAX) and these settings. */
onnxd_ep *fake_ep_open(uint32_t index, const fake_ep_settings *settings);

#endif
