/*
 * Operators of one input, element by element, with up to two numbers as attributes. An operator is
 * an expression macro op##_EXPRESSION(C, x, p) over the loaded element x of type C and the
 * attributes p, a kernel per type and a compute function:
 *
 *   #define exp_EXPRESSION(C, x, p) exp(x)
 *   ONNXD_EACH_FLOAT(ONNXD_UNARY_KERNEL, exp)
 *   ONNXD_UNARY_COMPUTE(exp, ONNXD_EACH_FLOAT)
 */
#ifndef ONNXD_OPS_UNARY_H
#define ONNXD_OPS_UNARY_H

#include "graph/op.h"
#include "ops/support.h"
#include "ops/types.h"

typedef struct onnxd_unary_params {
    float alpha, beta;
} onnxd_unary_params;

typedef void (*onnxd_unary_kernel)(void *out, const void *in, size_t count,
                                   const onnxd_unary_params *params);

/* Kernels take the parameters whether they use them or not. */
#define ONNXD_UNARY_KERNEL(op, id, T, C, LOAD, STORE)                                              \
    static void op##_##id(void *out_data, const void *in_data, size_t count,                       \
                          ONNXD_UNUSED const onnxd_unary_params *params)                           \
    {                                                                                              \
        T *out = out_data;                                                                         \
        const T *in = in_data;                                                                     \
        ONNXD_VECTORIZE                                                                            \
        for (size_t i = 0; i < count; i++) {                                                       \
            C x = LOAD(C, in[i]);                                                                  \
            out[i] = STORE(T, op##_EXPRESSION(C, x, params));                                      \
        }                                                                                          \
    }

static inline onnxd_status *onnxd_unary_run(const onnxd_compute *compute,
                                            const onnxd_unary_kernel *kernels)
{
    const onnxd_tensor_view *input = &compute->inputs[0];
    kernels[input->dtype](onnxd_tensor_view_data(&compute->outputs[0]),
                          onnxd_tensor_view_data(input), onnxd_tensor_view_count(input),
                          compute->params);
    return NULL;
}

/* EACH lists the types for which kernels were made. */
#define ONNXD_UNARY_COMPUTE(op, EACH)                                                              \
    static onnxd_status *compute_##op(const onnxd_compute *compute)                                \
    {                                                                                              \
        static const onnxd_unary_kernel kernels[ONNXD_DTYPE_COUNT] = {                             \
            EACH(ONNXD_KERNEL_ENTRY, op)};                                                         \
        return onnxd_unary_run(compute, kernels);                                                  \
    }

/* A row without attributes (params_bytes 0: parse is NULL or onnxd_op_parse_consumed) or with. */
#define ONNXD_UNARY_ROW(name, op, first, last, set, parse_function, bytes)                         \
    {                                                                                              \
        .op_type = name, .domain = "", .since = first, .until = last, .min_inputs = 1,             \
        .max_inputs = 1, .min_outputs = 1, .max_outputs = 1,                                       \
        .inputs = {{.types = set, .type_variable = 1}},                                            \
        .outputs = {{.types = set, .type_variable = 1}}, .params_bytes = bytes,                    \
        .parse = parse_function, .infer = onnxd_op_infer_same, .compute = compute_##op,            \
        .in_place_inputs = 1u, .batch_inputs = 1u                                                  \
    }
/* The history that most operators without attributes share: bfloat16 since opset 13. */
#define ONNXD_UNARY_FLOAT_ROWS(name, op)                                                           \
    ONNXD_UNARY_ROW(name, op, 1, 5, ONNXD_SET_FLOATS_1, onnxd_op_parse_consumed, 0),               \
        ONNXD_UNARY_ROW(name, op, 6, 12, ONNXD_SET_FLOATS_1, NULL, 0),                             \
        ONNXD_UNARY_ROW(name, op, 13, ONNXD_OPSET_MAX, ONNXD_SET_FLOATS, NULL, 0)

#endif
