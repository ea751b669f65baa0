/* What the conformance tests share. Helpers assert: they return only what a test may rely on. */
#ifndef ONNXD_TESTS_EP_CONFORMANCE_SUPPORT_H
#define ONNXD_TESTS_EP_CONFORMANCE_SUPPORT_H

#include <criterion/criterion.h>

#include "ep/ep.h"
#include "graph/graph.h"
#include "provider.h"

/* A test that runs unless the provider's list of skips names it. */
#define CONFORMANCE_TEST(suite, name)                                                              \
    static void suite##_##name(void);                                                              \
    Test(suite, name)                                                                              \
    {                                                                                              \
        if (!is_skipped(#suite "." #name))                                                         \
            suite##_##name();                                                                      \
    }                                                                                              \
    static void suite##_##name(void)

bool is_skipped(const char *name);
/* Says that the provider cannot show what the rest of the test is about, and why. */
void skip(const char *reason);

/* Whether a test can show what happens without a wait: when work takes its time, and nobody watches
 * for the data race that this is. */
bool can_show_races(void);

/* The host that instances are given: the operator library, and cpu_ep to borrow from. */
const onnxd_ep_host *test_host(void);

#define expect_ok(expression) expect_ok_at(expression, #expression, __LINE__)
#define expect_code(expression, code) expect_code_at(expression, code, #expression, __LINE__)
void expect_ok_at(onnxd_status *status, const char *what, int line);
void expect_code_at(onnxd_status *status, onnxd_code code, const char *what, int line);
/* The same, and the message contains `part`. */
void expect_message(onnxd_status *status, onnxd_code code, const char *part);

/* An instance, not initialised. */
onnxd_ep *create_ep(uint32_t device_index);
/* Initialised with `options`, which may be NULL. End with close_ep. */
onnxd_ep *open_ep(const onnxd_ep_option *options, size_t option_count);
onnxd_ep *open_default_ep(void);
/* With one option. */
onnxd_ep *open_ep_with(const char *key, const char *value);
/* With the list of options that ends in a NULL key. */
onnxd_ep *open_ep_list(const onnxd_ep_option *options);
/* Shuts down, checks that nothing is left, destroys. */
void close_ep(onnxd_ep *ep);

/* ---- memory ---- */

onnxd_buffer allocate(onnxd_ep *ep, size_t bytes);
void deallocate(onnxd_ep *ep, onnxd_buffer buffer);
/* Whole-buffer copies from and to host memory, finished on return. */
void upload(onnxd_ep *ep, onnxd_buffer buffer, const void *data, size_t bytes);
void download(onnxd_ep *ep, onnxd_buffer buffer, void *data, size_t bytes);
/* A buffer of `bytes` times `value`. */
onnxd_buffer filled(onnxd_ep *ep, size_t bytes, unsigned char value);
/* Whether all bytes are `value`. */
bool is_filled(const void *data, size_t bytes, unsigned char value);
onnxd_copy copy_of(onnxd_buffer source, onnxd_buffer destination, size_t bytes);
/* Issues a copy, and waits for a fence and releases it. */
onnxd_fence issue(onnxd_ep *ep, const onnxd_copy *copy);
void finish(onnxd_ep *ep, onnxd_fence fence);
void finish_with(onnxd_ep *ep, onnxd_fence fence, onnxd_code code);

/* ---- operators ---- */

/* A graph of one node, and the query for it. */
typedef struct one_node {
    onnxd_graph *graph;
    onnxd_node *node;
    onnxd_tensor_type inputs[8], outputs[8];
    onnxd_tensor *constants[8];
    onnxd_op_query query;
} one_node;

/* A node with the given numbers of inputs and outputs, all of type UNDEFINED. Not resolved. */
void make_node(one_node *self, const char *op_type, int64_t opset, uint32_t input_count,
               uint32_t output_count);
void drop_node(one_node *self);
void add_int_attribute(one_node *self, const char *name, int64_t value);
void add_ints_attribute(one_node *self, const char *name, const int64_t *values, size_t count);
/* A vector of two floats. */
void add_tensor_attribute(one_node *self, const char *name);
/* Resolves the node; false when the library refuses it. */
bool resolve_node(one_node *self);
/* Types of the outputs from those of the inputs; false when the library refuses them. */
bool infer_node(one_node *self);
onnxd_tensor_type type_of(onnxd_dtype dtype, int32_t rank, const int64_t *dims);

/* Relu on `count` floats, resolved and inferred: one input, one output. */
void make_relu(one_node *self, int64_t count);
/* The kernel for a node that is supported. */
onnxd_kernel *kernel_for(onnxd_ep *ep, one_node *node);
/* A view of `buffer` as a vector of floats. */
onnxd_tensor_view float_view(onnxd_buffer buffer, int64_t count);
/* Issues kernel(input) -> output, both vectors of floats. */
onnxd_status *enqueue_unary(onnxd_kernel *kernel, onnxd_buffer input, onnxd_buffer output,
                            int64_t count);

/* Milliseconds of CLOCK_MONOTONIC. */
double now_ms(void);

#endif
