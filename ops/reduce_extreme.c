/* ReduceMax and ReduceMin. Of a NaN the result is NaN. */
#include "ops/ops.h"
#include "ops/reduce_kernel.h"

#define max_START(A, first) (first)
#define max_MAP(A, x) (x)
/* The last branch is taken by NaN only. */
#define max_COMBINE(A, a, b) ((a) > (b) ? (a) : (a) <= (b) ? (b) : (A)((a) + (b)))
#define max_FINISH(A, a, n) (a)
#define min_START(A, first) (first)
#define min_MAP(A, x) (x)
#define min_COMBINE(A, a, b) ((a) < (b) ? (a) : (a) >= (b) ? (b) : (A)((a) + (b)))
#define min_FINISH(A, a, n) (a)
#define whole_max_START(A, first) (first)
#define whole_max_MAP(A, x) (x)
#define whole_max_COMBINE(A, a, b) ((A)((a) > (b) ? (a) : (b)))
#define whole_max_FINISH(A, a, n) (a)
#define whole_min_START(A, first) (first)
#define whole_min_MAP(A, x) (x)
#define whole_min_COMBINE(A, a, b) ((A)((a) < (b) ? (a) : (b)))
#define whole_min_FINISH(A, a, n) (a)

/* A true is any byte but 0. */
#define LOAD_BOOL(C, x) ((C)((x) != 0))
#define EACH_WHOLE(X, op)                                                                          \
    ONNXD_REDUCE_EACH_SIGNED(X, op)                                                                \
    ONNXD_REDUCE_EACH_UNSIGNED(X, op)                                                              \
    X(op, INT8, int8_t, int8_t, ONNXD_LOAD_PLAIN, ONNXD_STORE_PLAIN)                               \
    X(op, UINT8, uint8_t, uint8_t, ONNXD_LOAD_PLAIN, ONNXD_STORE_PLAIN)                            \
    X(op, BOOL, uint8_t, uint8_t, LOAD_BOOL, ONNXD_STORE_PLAIN)
#define KERNEL(op, id, T, C, LOAD, STORE) ONNXD_REDUCE_KERNEL(op, id, T, C, C, LOAD, STORE)

#define DEFINE(op, empty)                                                                          \
    ONNXD_EACH_FLOAT(KERNEL, op)                                                                   \
    EACH_WHOLE(KERNEL, whole_##op)                                                                 \
    static onnxd_status *compute_##op(const onnxd_compute *compute)                                \
    {                                                                                              \
        static const onnxd_reduce_kernel kernels[ONNXD_DTYPE_COUNT] = {                            \
            ONNXD_EACH_FLOAT(ONNXD_KERNEL_ENTRY, op) EACH_WHOLE(ONNXD_KERNEL_ENTRY, whole_##op)};  \
        return onnxd_reduce_run(compute, kernels, empty);                                          \
    }
DEFINE(max, ONNXD_REDUCE_EMPTY_LOWEST)
DEFINE(min, ONNXD_REDUCE_EMPTY_HIGHEST)

#define BYTES (ONNXD_SET(INT8) | ONNXD_SET(UINT8))
#define ROWS(name, op)                                                                             \
    ONNXD_REDUCE_ATTRIBUTE_ROW(name, op, 1, 11, ONNXD_REDUCE_TYPES_1),                             \
        ONNXD_REDUCE_ATTRIBUTE_ROW(name, op, 12, 12, ONNXD_REDUCE_TYPES_1 | BYTES),                \
        ONNXD_REDUCE_ATTRIBUTE_ROW(name, op, 13, 17, ONNXD_REDUCE_TYPES_13 | BYTES),               \
        ONNXD_REDUCE_INPUT_ROW(name, op, 18, 19, ONNXD_REDUCE_TYPES_13 | BYTES),                   \
        ONNXD_REDUCE_INPUT_ROW(name, op, 20, ONNXD_OPSET_MAX,                                      \
                               ONNXD_REDUCE_TYPES_13 | BYTES | ONNXD_SET(BOOL))

const onnxd_op_def onnxd_op_reduce_extreme[] = {
    ROWS("ReduceMax", max),
    ROWS("ReduceMin", min),
    {.op_type = NULL},
};
