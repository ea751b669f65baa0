/* BitwiseAnd, BitwiseOr, BitwiseXor, BitwiseNot and BitShift. */
#include "ops/binary.h"
#include "ops/choice.h"
#include "ops/ops.h"
#include "ops/support.h"
#include "ops/unary.h"

#define and_EXPRESSION(C, x, y) ((x) & (y))
#define or_EXPRESSION(C, x, y) ((x) | (y))
#define xor_EXPRESSION(C, x, y) ((x) ^ (y))
#define not_EXPRESSION(C, x, p) (~(x))

/* The bits are the same for signed and unsigned integers, so one kernel serves both. */
#define BOTH(op, signed_id, id) [ONNXD_##signed_id] = op##_##id, [ONNXD_##id] = op##_##id
#define KERNELS(op)                                                                                \
    BOTH(op, INT8, UINT8), BOTH(op, INT16, UINT16), BOTH(op, INT32, UINT32), BOTH(op, INT64, UINT64)

#define DEFINE_COMPUTE(op)                                                                         \
    ONNXD_EACH_UNSIGNED(ONNXD_BINARY_KERNEL, op)                                                   \
    static onnxd_status *compute_##op(const onnxd_compute *compute)                                \
    {                                                                                              \
        static const onnxd_binary_kernel kernels[ONNXD_DTYPE_COUNT] = {KERNELS(op)};               \
        return onnxd_binary_run(compute, kernels);                                                 \
    }
DEFINE_COMPUTE(and)
DEFINE_COMPUTE(or)
DEFINE_COMPUTE(xor)

ONNXD_EACH_UNSIGNED(ONNXD_UNARY_KERNEL, not )
static onnxd_status *compute_not(const onnxd_compute *compute)
{
    static const onnxd_unary_kernel kernels[ONNXD_DTYPE_COUNT] = {KERNELS(not )};
    return onnxd_unary_run(compute, kernels);
}

/* ---- BitShift ---- */

typedef struct shift_params {
    onnxd_binary_params binary;
    bool is_right;
} shift_params;

static onnxd_status *parse_shift(const onnxd_node *node, int64_t opset, onnxd_arena *arena,
                                 void *params)
{
    (void)opset, (void)arena;
    static const char *const names[] = {"direction", NULL};
    static const char *const choices[] = {"LEFT", "RIGHT"};
    size_t choice = 0;
    ONNXD_TRY(onnxd_attributes_allow(node, names));
    ONNXD_TRY(onnxd_attribute_require(node, "direction"));
    ONNXD_TRY(onnxd_op_choice(node, "direction", choices, ONNXD_COUNT(choices), &choice));
    ((shift_params *)params)->is_right = choice == 1;
    return NULL;
}

/* Shifting by a negative number, or by all bits or more, leaves copies of the sign. */
#define BITS(C) (8 * sizeof(C))
#define left_EXPRESSION(C, x, y)                                                                   \
    ((uint64_t)(y) < BITS(C) ? (C)((uint64_t)(x) << ((uint64_t)(y)&63)) : (C)0)
#define right_EXPRESSION(C, x, y) ((uint64_t)(y) < BITS(C) ? (C)((x) >> ((uint64_t)(y)&63)) : (C)0)
/* ~(~x >> y) is a shift that drags the sign along, without relying on how the compiler shifts. */
#define signed_right_EXPRESSION(C, x, y)                                                           \
    ((uint64_t)(y) < BITS(C) ? ((x) < 0 ? (C) ~(~(x) >> (y)) : (C)((x) >> (y)))                    \
                             : (C)((x) < 0 ? -1 : 0))
ONNXD_EACH_INTEGER(ONNXD_BINARY_KERNEL, left)
ONNXD_EACH_UNSIGNED(ONNXD_BINARY_KERNEL, right)
ONNXD_EACH_SIGNED(ONNXD_BINARY_KERNEL, signed_right)

static onnxd_status *compute_shift(const onnxd_compute *compute)
{
    static const onnxd_binary_kernel left[ONNXD_DTYPE_COUNT] = {
        ONNXD_EACH_INTEGER(ONNXD_KERNEL_ENTRY, left)};
    static const onnxd_binary_kernel right[ONNXD_DTYPE_COUNT] = {ONNXD_EACH_UNSIGNED(
        ONNXD_KERNEL_ENTRY, right) ONNXD_EACH_SIGNED(ONNXD_KERNEL_ENTRY, signed_right)};
    const shift_params *p = compute->params;
    return onnxd_binary_run(compute, p->is_right ? right : left);
}

#define ROW(name, op)                                                                              \
    {                                                                                              \
        ONNXD_BINARY_COMMON(name, 18, ONNXD_OPSET_MAX, ONNXD_SET_INTEGERS, ONNXD_SET_INTEGERS),    \
            .infer = onnxd_binary_infer, .compute = compute_##op                                   \
    }
#define SHIFT_ROW(first, last, set)                                                                \
    {                                                                                              \
        ONNXD_BINARY_FORMALS("BitShift", first, last, set, set),                                   \
            .params_bytes = sizeof(shift_params), .parse = parse_shift,                            \
            .infer = onnxd_binary_infer, .compute = compute_shift                                  \
    }

const onnxd_op_def onnxd_op_bitwise[] = {
    ROW("BitwiseAnd", and),
    ROW("BitwiseOr", or),
    ROW("BitwiseXor", xor),
    ONNXD_UNARY_ROW("BitwiseNot", not, 18, ONNXD_OPSET_MAX, ONNXD_SET_INTEGERS, NULL, 0),
    SHIFT_ROW(11, 27, ONNXD_SET_UNSIGNED),
    SHIFT_ROW(28, ONNXD_OPSET_MAX, ONNXD_SET_INTEGERS),
    {.op_type = NULL},
};
