/*
 * Operators of two inputs that broadcast, element by element: shape rule, the legacy broadcasting
 * of opsets before 7, and the loop over rows. Operator files bring kernels and tables.
 */
#ifndef ONNXD_OPS_BINARY_H
#define ONNXD_OPS_BINARY_H

#include "ops/loop.h"
#include "ops/types.h"

/* Before opset 7 both shapes are equal unless `broadcast`; then B's dimensions line up with A's
 * from `axis` on (by default at the end) and the result has A's shape. */
typedef struct onnxd_binary_params {
    bool is_legacy, is_broadcast, has_axis;
    int64_t axis;
} onnxd_binary_params;

/* `count` elements; a step is 1, or 0 for one repeated element. */
typedef void (*onnxd_binary_kernel)(void *out, const void *a, const void *b, size_t count,
                                    int64_t a_step, int64_t b_step);

ONNXD_NODISCARD onnxd_status *onnxd_binary_parse(const onnxd_node *node, int64_t opset,
                                                 onnxd_arena *arena, void *params);
/* Output type is that of the inputs. */
ONNXD_NODISCARD onnxd_status *onnxd_binary_infer(onnxd_infer *infer);
/* Output type is BOOL. */
ONNXD_NODISCARD onnxd_status *onnxd_binary_infer_bool(onnxd_infer *infer);

/* A loop with the output as operand 0 and the inputs as 1 and 2. */
ONNXD_NODISCARD onnxd_status *onnxd_binary_loop(const onnxd_compute *compute, onnxd_loop *loop);
/* Runs the kernel for the type of input 0 from a table with ONNXD_DTYPE_COUNT entries. */
ONNXD_NODISCARD onnxd_status *onnxd_binary_run(const onnxd_compute *compute,
                                               const onnxd_binary_kernel *kernels);

/* INVALID_ARGUMENT naming the first zero of input 1 when it is of an integer type and the output is
 * not empty. */
ONNXD_NODISCARD onnxd_status *onnxd_binary_check_divisor(const onnxd_compute *compute);

/* A kernel from an expression macro op##_EXPRESSION(C, x, y) that yields a C; T in, O out. */
#define ONNXD_BINARY_KERNEL_TO(op, id, T, O, C, LOAD, STORE)                                       \
    static void op##_##id(void *out_data, const void *a_data, const void *b_data, size_t count,    \
                          int64_t a_step, int64_t b_step)                                          \
    {                                                                                              \
        O *out = out_data;                                                                         \
        const T *a = a_data, *b = b_data;                                                          \
        if (a_step != 0 && b_step != 0) {                                                          \
            ONNXD_VECTORIZE                                                                        \
            for (size_t i = 0; i < count; i++) {                                                   \
                C x = LOAD(C, a[i]), y = LOAD(C, b[i]);                                            \
                out[i] = STORE(O, op##_EXPRESSION(C, x, y));                                       \
            }                                                                                      \
        } else if (a_step != 0) {                                                                  \
            const C y = LOAD(C, *b);                                                               \
            ONNXD_VECTORIZE                                                                        \
            for (size_t i = 0; i < count; i++) {                                                   \
                C x = LOAD(C, a[i]);                                                               \
                out[i] = STORE(O, op##_EXPRESSION(C, x, y));                                       \
            }                                                                                      \
        } else {                                                                                   \
            const C x = LOAD(C, *a);                                                               \
            ONNXD_VECTORIZE                                                                        \
            for (size_t i = 0; i < count; i++) {                                                   \
                C y = LOAD(C, b[i]);                                                               \
                out[i] = STORE(O, op##_EXPRESSION(C, x, y));                                       \
            }                                                                                      \
        }                                                                                          \
    }
#define ONNXD_BINARY_KERNEL(op, id, T, C, LOAD, STORE)                                             \
    ONNXD_BINARY_KERNEL_TO(op, id, T, T, C, LOAD, STORE)

/* Params of other operators begin with onnxd_binary_params. */
#define ONNXD_BINARY_FORMALS(name, first, last, set, out_set)                                      \
    .op_type = name, .domain = "", .since = first, .until = last, .min_inputs = 2,                 \
    .max_inputs = 2, .min_outputs = 1, .max_outputs = 1,                                           \
    .inputs = {{.types = set, .type_variable = 1}, {.types = set, .type_variable = 1}},            \
    .outputs = {{.types = out_set}}, .in_place_inputs = 3u, .batch_inputs = 3u
#define ONNXD_BINARY_COMMON(name, first, last, set, out_set)                                       \
    ONNXD_BINARY_FORMALS(name, first, last, set, out_set),                                         \
        .params_bytes = sizeof(onnxd_binary_params), .parse = onnxd_binary_parse

#endif
