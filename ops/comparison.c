/* Equal, Greater, Less, GreaterOrEqual and LessOrEqual. NaN compares false. */
#include <string.h>

#include "ops/binary.h"
#include "ops/ops.h"

#define equal_EXPRESSION(C, x, y) ((x) == (y))
#define greater_EXPRESSION(C, x, y) ((x) > (y))
#define less_EXPRESSION(C, x, y) ((x) < (y))
#define greater_or_equal_EXPRESSION(C, x, y) ((x) >= (y))
#define less_or_equal_EXPRESSION(C, x, y) ((x) <= (y))

#define KERNEL(op, id, T, C, LOAD, STORE)                                                          \
    ONNXD_BINARY_KERNEL_TO(op, id, T, uint8_t, C, LOAD, ONNXD_STORE_PLAIN)
ONNXD_EACH_NUMBER(KERNEL, equal)
ONNXD_EACH_NUMBER(KERNEL, greater)
ONNXD_EACH_NUMBER(KERNEL, less)
ONNXD_EACH_NUMBER(KERNEL, greater_or_equal)
ONNXD_EACH_NUMBER(KERNEL, less_or_equal)

/* A true is any byte but 0. */
#define LOAD_BOOL(C, x) ((C)((x) != 0))
ONNXD_BINARY_KERNEL_TO(equal, BOOL, uint8_t, uint8_t, uint8_t, LOAD_BOOL, ONNXD_STORE_PLAIN)

static void equal_STRING(void *out_data, const void *a_data, const void *b_data, size_t count,
                         int64_t a_step, int64_t b_step)
{
    uint8_t *out = out_data;
    const onnxd_string *a = a_data, *b = b_data;
    for (size_t i = 0; i < count; i++, a += a_step, b += b_step)
        out[i] = a->size == b->size && (a->size == 0 || memcmp(a->data, b->data, a->size) == 0);
}

#define DEFINE_COMPUTE(op)                                                                         \
    static onnxd_status *compute_##op(const onnxd_compute *compute)                                \
    {                                                                                              \
        static const onnxd_binary_kernel kernels[ONNXD_DTYPE_COUNT] = {                            \
            ONNXD_EACH_NUMBER(ONNXD_KERNEL_ENTRY, op)};                                            \
        return onnxd_binary_run(compute, kernels);                                                 \
    }
DEFINE_COMPUTE(greater)
DEFINE_COMPUTE(less)
DEFINE_COMPUTE(greater_or_equal)
DEFINE_COMPUTE(less_or_equal)

static onnxd_status *compute_equal(const onnxd_compute *compute)
{
    static const onnxd_binary_kernel kernels[ONNXD_DTYPE_COUNT] = {
        ONNXD_EACH_NUMBER(ONNXD_KERNEL_ENTRY, equal)[ONNXD_BOOL] = equal_BOOL, [ONNXD_STRING] =
                                                                                   equal_STRING};
    return onnxd_binary_run(compute, kernels);
}

#define ROW(name, op, first, last, set)                                                            \
    {                                                                                              \
        ONNXD_BINARY_COMMON(name, first, last, set, ONNXD_SET(BOOL)),                              \
            .infer = onnxd_binary_infer_bool, .compute = compute_##op                              \
    }
#define ORDER_ROWS(name, op)                                                                       \
    ROW(name, op, 1, 8, ONNXD_SET_FLOATS_1), ROW(name, op, 9, 12, ONNXD_SET_NUMBERS_1),            \
        ROW(name, op, 13, ONNXD_OPSET_MAX, ONNXD_SET_NUMBERS)
#define OR_EQUAL_ROWS(name, op)                                                                    \
    ROW(name, op, 12, 15, ONNXD_SET_NUMBERS_1),                                                    \
        ROW(name, op, 16, ONNXD_OPSET_MAX, ONNXD_SET_NUMBERS)

const onnxd_op_def onnxd_op_comparison[] = {
    ROW("Equal", equal, 1, 10, ONNXD_SET_INDEX | ONNXD_SET(BOOL)),
    ROW("Equal", equal, 11, 12, ONNXD_SET_NUMBERS_1 | ONNXD_SET(BOOL)),
    ROW("Equal", equal, 13, 18, ONNXD_SET_NUMBERS | ONNXD_SET(BOOL)),
    ROW("Equal", equal, 19, ONNXD_OPSET_MAX,
        ONNXD_SET_NUMBERS | ONNXD_SET(BOOL) | ONNXD_SET(STRING)),
    ORDER_ROWS("Greater", greater),
    ORDER_ROWS("Less", less),
    OR_EQUAL_ROWS("GreaterOrEqual", greater_or_equal),
    OR_EQUAL_ROWS("LessOrEqual", less_or_equal),
    {.op_type = NULL},
};
