/* Add, Sub, Mul and Div. Integers wrap; dividing one by zero is an error, and the quotient of the
 * smallest one by -1 wraps to itself. */
#include "ops/binary.h"
#include "ops/ops.h"
#include "ops/support.h"

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

/* Position of the first zero among `count` integers of `width` bytes; `count` when there is none.
 */
static size_t find_zero(const void *data, size_t count, size_t width)
{
    size_t i = 0;
#define SCAN(bytes, T)                                                                             \
    case bytes:                                                                                    \
        while (i < count && ((const T *)data)[i] != 0)                                             \
            i++;                                                                                   \
        break;
    switch (width) {
        SCAN(1, uint8_t)
        SCAN(2, uint16_t)
        SCAN(4, uint32_t)
        SCAN(8, uint64_t)
    default:
        break;
    }
#undef SCAN
    return i;
}

static onnxd_status *compute_div(const onnxd_compute *compute)
{
    static const onnxd_binary_kernel kernels[ONNXD_DTYPE_COUNT] = {
        ONNXD_EACH_FLOAT(ONNXD_KERNEL_ENTRY, div) ONNXD_EACH_UNSIGNED(ONNXD_KERNEL_ENTRY, div)
            ONNXD_EACH_SIGNED(ONNXD_KERNEL_ENTRY, signed_div)};
    const onnxd_tensor_view *divisor = &compute->inputs[1];
    bool is_integer = (ONNXD_SET_INTEGERS & ((onnxd_dtype_set)1u << compute->inputs[0].dtype)) != 0;
    if (is_integer && onnxd_tensor_view_count(&compute->outputs[0]) != 0) {
        size_t count = onnxd_tensor_view_count(divisor);
        size_t zero =
            find_zero(onnxd_tensor_view_data(divisor), count, onnxd_dtype_size(divisor->dtype));
        if (zero < count)
            return onnxd_op_error(compute->node,
                                  "integer division by 0: element %zu of input 1 is 0", zero);
    }
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
