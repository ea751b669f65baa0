/*
 * Reductions over some axes (by default all): attributes, shape rule, and the loops that every one
 * of them shares. Operator files bring kernels, made with ops/reduce_kernel.h, and tables.
 *
 * Axes are an attribute in early opsets and an input later. With noop_with_empty_axes and no axes
 * each element is a reduction of its own.
 */
#ifndef ONNXD_OPS_REDUCE_H
#define ONNXD_OPS_REDUCE_H

#include "ops/loop.h"
#include "ops/support.h"
#include "ops/types.h"

typedef struct onnxd_reduce_params {
    bool keeps_dims, is_noop_without_axes;
    onnxd_axes axes;
} onnxd_reduce_params;

/* out[kept] = f(in[kept, reduced]) with both parts as loops: operand 0 of `kept` is the output and
 * 1 the input, operand 0 of `reduced` is the input. */
typedef struct onnxd_reduction {
    onnxd_loop kept, reduced;
    size_t reduced_count; /* not 0 */
    void *out;
    const void *in;
} onnxd_reduction;

typedef void (*onnxd_reduce_kernel)(const onnxd_reduction *reduction);

/* What an operator makes of no elements. */
typedef enum onnxd_reduce_empty {
    ONNXD_REDUCE_EMPTY_ZERO,
    ONNXD_REDUCE_EMPTY_ONE,
    ONNXD_REDUCE_EMPTY_NAN,     /* an error for integers */
    ONNXD_REDUCE_EMPTY_LOWEST,  /* -infinity for floating-point types */
    ONNXD_REDUCE_EMPTY_HIGHEST, /* infinity for floating-point types */
    ONNXD_REDUCE_EMPTY_LOG_0    /* -infinity, cut to the type */
} onnxd_reduce_empty;

/* With the axes as an attribute, and as input 1. */
ONNXD_NODISCARD onnxd_status *onnxd_reduce_parse_attribute(const onnxd_node *node, int64_t opset,
                                                           onnxd_arena *arena, void *params);
ONNXD_NODISCARD onnxd_status *onnxd_reduce_parse_input(const onnxd_node *node, int64_t opset,
                                                       onnxd_arena *arena, void *params);
ONNXD_NODISCARD onnxd_status *onnxd_reduce_infer(onnxd_infer *infer);
/* Runs the kernel for the input's type from a table with ONNXD_DTYPE_COUNT entries. */
ONNXD_NODISCARD onnxd_status *onnxd_reduce_run(const onnxd_compute *compute,
                                               const onnxd_reduce_kernel *kernels,
                                               onnxd_reduce_empty empty);

/* Which axes of an input of `rank` dimensions go; `axes` is the value of input 1, NULL where the
 * node has none. */
ONNXD_NODISCARD onnxd_status *onnxd_reduce_select(const onnxd_node *node,
                                                  const onnxd_tensor_view *axes, int32_t rank,
                                                  bool *out_reduced);

/* `compute` of ReduceMean. */
ONNXD_NODISCARD onnxd_status *onnxd_reduce_mean(const onnxd_compute *compute);

/* Rows of a table; compute_##op is the operator's compute(). */
#define ONNXD_REDUCE_COMMON(name, op, first, last, set)                                            \
    .op_type = name, .domain = "", .since = first, .until = last, .min_inputs = 1,                 \
    .min_outputs = 1, .max_outputs = 1, .outputs = {{.types = set, .type_variable = 1}},           \
    .params_bytes = sizeof(onnxd_reduce_params), .infer = onnxd_reduce_infer,                      \
    .compute = compute_##op, .batch_inputs = 1u
#define ONNXD_REDUCE_ATTRIBUTE_ROW(name, op, first, last, set)                                     \
    {                                                                                              \
        ONNXD_REDUCE_COMMON(name, op, first, last, set),                                           \
            .max_inputs = 1, .parse = onnxd_reduce_parse_attribute, .inputs = {                    \
                {.types = set, .type_variable = 1}                                                 \
            }                                                                                      \
    }
#define ONNXD_REDUCE_INPUT_ROW(name, op, first, last, set)                                         \
    {                                                                                              \
        ONNXD_REDUCE_COMMON(name, op, first, last, set),                                           \
            .max_inputs = 2, .parse = onnxd_reduce_parse_input,                                    \
            .inputs = {{.types = set, .type_variable = 1},                                         \
                       {.types = ONNXD_SET(INT64), .is_optional = true}},                          \
            .shape_inputs = 1u << 1                                                                \
    }

#define ONNXD_REDUCE_TYPES_1 (ONNXD_SET_FLOATS_1 | ONNXD_SET_WIDE_INTEGERS)
#define ONNXD_REDUCE_TYPES_13 (ONNXD_SET_FLOATS | ONNXD_SET_WIDE_INTEGERS)

#endif
