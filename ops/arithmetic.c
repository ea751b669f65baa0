/* Add, Sub, Mul and Div. Integers wrap; dividing one by zero is an error, and the quotient of the
 * smallest one by -1 wraps to itself. */
#include "ops/binary.h"
#include "ops/ops.h"

#define add_EXPRESSION(C, x, y) ((x) + (y))
#define sub_EXPRESSION(C, x, y) ((x) - (y))
#define mul_EXPRESSION(C, x, y) ((x) * (y))
#define div_EXPRESSION(C, x, y) ((x) / (y))
/* -x for a signed x without overflow; the other quotients are defined. */
#define signed_div_EXPRESSION(C, x, y) ((y) == -1 ? (C)(0 - (uint64_t)(x)) : (C)((x) / (y)))

#define WRAPPING(op)                                                                               \
    ONNXD_EACH_FLOAT(ONNXD_BINARY_KERNEL, op)                                                      \
    ONNXD_EACH_INTEGER_WRAPPING(ONNXD_BINARY_KERNEL, op)
WRAPPING(add)
WRAPPING(sub)
WRAPPING(mul)
ONNXD_EACH_FLOAT(ONNXD_BINARY_KERNEL, div)
ONNXD_EACH_UNSIGNED(ONNXD_BINARY_KERNEL, div)
ONNXD_EACH_SIGNED(ONNXD_BINARY_KERNEL, signed_div)

#define DEFINE_COMPUTE(op)                                                                         \
    static onnxd_status *compute_##op(const onnxd_compute *compute)                                \
    {                                                                                              \
        static const onnxd_binary_kernel kernels[ONNXD_DTYPE_COUNT] = {                            \
            ONNXD_EACH_NUMBER(ONNXD_KERNEL_ENTRY, op)};                                            \
        return onnxd_binary_run(compute, kernels);                                                 \
    }
DEFINE_COMPUTE(add)
DEFINE_COMPUTE(sub)
DEFINE_COMPUTE(mul)

static onnxd_status *compute_div(const onnxd_compute *compute)
{
    static const onnxd_binary_kernel kernels[ONNXD_DTYPE_COUNT] = {
        ONNXD_EACH_FLOAT(ONNXD_KERNEL_ENTRY, div) ONNXD_EACH_UNSIGNED(ONNXD_KERNEL_ENTRY, div)
            ONNXD_EACH_SIGNED(ONNXD_KERNEL_ENTRY, signed_div)};
    ONNXD_TRY(onnxd_binary_check_divisor(compute));
    return onnxd_binary_run(compute, kernels);
}

#define ROW(name, op, first, last, set)                                                            \
    {                                                                                              \
        ONNXD_BINARY_COMMON(name, first, last, set, set), .infer = onnxd_binary_infer,             \
                                                          .compute = compute_##op                  \
    }
#define ROWS(name, op)                                                                             \
    ROW(name, op, 1, 5, ONNXD_SET_FLOATS_1),                                                       \
        ROW(name, op, 6, 12, ONNXD_SET_FLOATS_1 | ONNXD_SET_WIDE_INTEGERS),                        \
        ROW(name, op, 13, 13, ONNXD_SET_FLOATS | ONNXD_SET_WIDE_INTEGERS),                         \
        ROW(name, op, 14, ONNXD_OPSET_MAX, ONNXD_SET_NUMBERS)

const onnxd_op_def onnxd_op_arithmetic[] = {
    ROWS("Add", add), ROWS("Sub", sub), ROWS("Mul", mul), ROWS("Div", div), {.op_type = NULL},
};
