/* Nodes and runs for the tests of the CPU provider: build a node, resolve it, run it on an
 * instance. Failures inside are Criterion failures unless a status is returned. */
#ifndef ONNXD_TESTS_EP_CPU_SUPPORT_H
#define ONNXD_TESTS_EP_CPU_SUPPORT_H

#include "ep/cpu/cpu_ep.h"
#include "ep/ep.h"

#define MAX_OPERANDS 8

/* An initialised instance with `count` pairs of key and value. */
onnxd_ep *ep_open(size_t count, const char *const (*options)[2]);
onnxd_ep *ep_open_default(void);
onnxd_ep *ep_open_portable(void); /* without oneDNN and vector kernels */
const onnxd_ep_host *ep_host(void);

typedef struct test_node {
    onnxd_graph *graph;
    onnxd_node *node;
    onnxd_attribute attributes[12];
    int64_t ints[12][8];
    onnxd_text texts[12][8];
    uint32_t attribute_count;
} test_node;

/* Inputs and outputs are all present; set node->inputs[i] to ONNXD_NONE for an absent one. */
void node_init(test_node *t, const char *op_type, int64_t opset, uint32_t inputs, uint32_t outputs);
void node_deinit(test_node *t);
void node_int(test_node *t, const char *name, int64_t value);
void node_float(test_node *t, const char *name, float value);
void node_string(test_node *t, const char *name, const char *value);
void node_ints(test_node *t, const char *name, size_t count, const int64_t *values);
void node_strings(test_node *t, const char *name, size_t count, const char *const *values);
onnxd_status *node_resolve(test_node *t);

/* Relu of `count` floats and the query for it. End with node_deinit(&r->node). */
typedef struct relu_query {
    test_node node;
    onnxd_tensor_type input, output;
    onnxd_op_query query;
} relu_query;
void relu_query_init(relu_query *r, int64_t count);
/* The kernel for a query that is supported. */
onnxd_kernel *kernel_get(onnxd_ep *ep, const onnxd_op_query *query);

/* A FLOAT tensor of seeded values in [-1, 1). */
onnxd_tensor *tensor_random(uint64_t *seed, int32_t rank, const int64_t *dims);
onnxd_tensor *tensor_of(int32_t rank, const int64_t *dims, const float *values);
/* The same values in another type of ONNXD_SET_FLOATS. */
onnxd_tensor *tensor_cast(const onnxd_tensor *tensor, onnxd_dtype dtype);
double tensor_at(const onnxd_tensor *tensor, size_t index);
uint64_t next_random(uint64_t *seed);

typedef struct test_run {
    onnxd_tensor *inputs[MAX_OPERANDS]; /* NULL: absent */
    bool is_constant[MAX_OPERANDS];
    onnxd_tensor *outputs[MAX_OPERANDS]; /* made by the run */
    char implementation[96];
} test_run;

/* Infers, gets a kernel, runs it on fresh buffers with workspace that was filled with garbage. */
onnxd_status *run_node(onnxd_ep *ep, const test_node *t, test_run *run);
void run_deinit(test_run *run); /* inputs and outputs */
/* Largest |a - b| relative to the largest |b|, which counts as at least 0.1. */
double difference(const onnxd_tensor *a, const onnxd_tensor *b);
/* Fails unless the status is an error of `code`; frees it. */
void expect_error(onnxd_status *status, onnxd_code code);
void expect_ok(onnxd_status *status);

#endif
