/* Mod: the remainder of a division whose quotient is rounded down (fmod 0, the result has the sign
 * of the divisor) or towards zero (fmod 1, the sign of the dividend). Before opset 28 the former
 * is for integers alone. */
#include <tgmath.h>

#include "graph/attributes.h"
#include "ops/binary.h"
#include "ops/ops.h"
#include "ops/support.h"

typedef struct modulo_params {
    onnxd_binary_params binary;
    bool truncates;
} modulo_params;

static onnxd_status *parse(const onnxd_node *node, int64_t opset, onnxd_arena *arena, void *params)
{
    (void)opset, (void)arena;
    static const char *const names[] = {"fmod", NULL};
    int64_t truncates = 0;
    ONNXD_TRY(onnxd_attributes_allow(node, names));
    ONNXD_TRY(onnxd_attribute_int(node, "fmod", 0, 1, &truncates));
    ((modulo_params *)params)->truncates = truncates != 0;
    return NULL;
}

static onnxd_status *infer(onnxd_infer *infer)
{
    const modulo_params *p = infer->params;
    ONNXD_TRY(onnxd_binary_infer(infer));
    onnxd_dtype dtype = infer->outputs[0].dtype;
    if (infer->opset < 28 && !p->truncates &&
        (ONNXD_SET_FLOATS & ((onnxd_dtype_set)1u << dtype)) != 0)
        return onnxd_op_error(infer->node,
                              "attribute 'fmod' is 0 for %s inputs, before opset 28 it must be 1",
                              onnxd_dtype_name(dtype));
    return NULL;
}

/* The divisor of integers is not 0. A signed one of -1 is not divided by: the quotient of the
 * smallest number would overflow. */
#define truncated_EXPRESSION(C, x, y) ((C)((x) % (y)))
#define signed_truncated_EXPRESSION(C, x, y) ((y) == -1 ? (C)0 : (C)((x) % (y)))
#define signed_floored_EXPRESSION(C, x, y)                                                         \
    ((y) == -1 ? (C)0 : to_divisor_sign_##C((C)((x) % (y)), (y)))
#define DEFINE_TO_SIGN(op, id, T, C, LOAD, STORE)                                                  \
    static inline T to_divisor_sign_##T(T remainder, T divisor)                                    \
    {                                                                                              \
        return (T)(remainder != 0 && (remainder < 0) != (divisor < 0) ? remainder + divisor        \
                                                                      : remainder);                \
    }
ONNXD_EACH_SIGNED(DEFINE_TO_SIGN, unused)

#define float_truncated_EXPRESSION(C, x, y) fmod(x, y)
#define float_floored_EXPRESSION(C, x, y) floored_##C(x, y)
/* fmod() is exact; a remainder of 0 takes the sign of the divisor. */
#define DEFINE_FLOORED(C)                                                                          \
    static inline C floored_##C(C x, C y)                                                          \
    {                                                                                              \
        C remainder = fmod(x, y);                                                                  \
        if (remainder == 0)                                                                        \
            return copysign((C)0, y);                                                              \
        return (remainder < 0) != (y < 0) ? remainder + y : remainder;                             \
    }
DEFINE_FLOORED(float)
DEFINE_FLOORED(double)

ONNXD_EACH_UNSIGNED(ONNXD_BINARY_KERNEL, truncated)
ONNXD_EACH_SIGNED(ONNXD_BINARY_KERNEL, signed_truncated)
ONNXD_EACH_SIGNED(ONNXD_BINARY_KERNEL, signed_floored)
ONNXD_EACH_FLOAT(ONNXD_BINARY_KERNEL, float_truncated)
ONNXD_EACH_FLOAT(ONNXD_BINARY_KERNEL, float_floored)

static onnxd_status *compute(const onnxd_compute *compute)
{
    static const onnxd_binary_kernel truncated[ONNXD_DTYPE_COUNT] = {
        ONNXD_EACH_UNSIGNED(ONNXD_KERNEL_ENTRY, truncated)
            ONNXD_EACH_SIGNED(ONNXD_KERNEL_ENTRY, signed_truncated)
                ONNXD_EACH_FLOAT(ONNXD_KERNEL_ENTRY, float_truncated)};
    static const onnxd_binary_kernel floored[ONNXD_DTYPE_COUNT] = {
        ONNXD_EACH_UNSIGNED(ONNXD_KERNEL_ENTRY, truncated)
            ONNXD_EACH_SIGNED(ONNXD_KERNEL_ENTRY, signed_floored)
                ONNXD_EACH_FLOAT(ONNXD_KERNEL_ENTRY, float_floored)};
    const modulo_params *p = compute->params;
    ONNXD_TRY(onnxd_binary_check_divisor(compute));
    return onnxd_binary_run(compute, p->truncates ? truncated : floored);
}

#define ROW(first, last, set)                                                                      \
    {                                                                                              \
        ONNXD_BINARY_FORMALS("Mod", first, last, set, set), .params_bytes = sizeof(modulo_params), \
                                                            .parse = parse, .infer = infer,        \
                                                            .compute = compute                     \
    }

const onnxd_op_def onnxd_op_modulo[] = {
    ROW(10, 12, ONNXD_SET_NUMBERS_1),
    ROW(13, ONNXD_OPSET_MAX, ONNXD_SET_NUMBERS),
    {.op_type = NULL},
};
