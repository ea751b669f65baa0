/*
 * The conformance suite: what ep/ep.h promises, checked the same way for every provider. Each
 * provider adds one file that defines conformance_provider; everything else is shared.
 */
#ifndef ONNXD_TESTS_EP_CONFORMANCE_PROVIDER_H
#define ONNXD_TESTS_EP_CONFORMANCE_PROVIDER_H

#include "ep/ep.h"

/* An option, two values, and a number that must be smaller under the first one. */
typedef struct option_effect {
    const char *key;
    const char *lesser, *greater;
    double (*measure)(onnxd_ep *ep);
    /* A further option that makes the effect visible, or NULLs. */
    onnxd_ep_option also;
} option_effect;

/* A test that a provider cannot pass, or an option whose effect cannot be measured, and why. */
typedef struct exemption {
    const char *name; /* "suite.test", or the option's key */
    const char *reason;
} exemption;

typedef struct conformance_provider_description {
    const char *name;
    uint32_t device_type;
    /* Errors end the test run. */
    const onnxd_ep_api *(*load)(void);
    bool runs_strings;
    /* Options under which each copy takes 100 ms, so that a missing wait shows; NULL when the
     * provider has none. Then only the half with the wait is checked. */
    const onnxd_ep_option *slow_copies;
    /* The same for kernels. */
    const onnxd_ep_option *slow_kernels;
    /* Option keys that make the nth operation fail; NULL when the provider has none. */
    const char *fault_copy, *fault_kernel, *fault_alloc;
    /* A key that is nearly one of the provider's, and that one. */
    const char *wrong_key, *nearest_key;
    const char *limit_key;         /* bounds the memory, in bytes */
    const char *claim_key;         /* operators to claim; NULL when the provider claims none */
    const option_effect *effects;  /* ends with a NULL key; every option has a line */
    const exemption *unmeasurable; /* but these; ends with a NULL name */
    const exemption *skips;        /* ends with a NULL name; meant to be empty */
} conformance_provider_description;

extern const conformance_provider_description conformance_provider;

#endif
