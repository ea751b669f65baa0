/* ReduceL2, ReduceLogSum and ReduceLogSumExp: sums whose root or logarithm is the result. Integers
 * are summed as floating-point numbers and the result is cut to the type, the nearest number of it
 * where that is out of range. */
#include <math.h>

#include "ops/ops.h"
#include "ops/reduce_kernel.h"
#include "ops/saturate.h"

#define l2_START(A, first) 0
#define l2_MAP(A, x) ((x) * (x))
#define l2_COMBINE(A, a, b) ((a) + (b))
#define l2_FINISH(A, a, n) sqrt(a)
#define log_sum_START(A, first) 0
#define log_sum_MAP(A, x) (x)
#define log_sum_COMBINE(A, a, b) ((a) + (b))
#define log_sum_FINISH(A, a, n) log(a)

/* exp(shift) * sum: exponentials of numbers far from 0 without overflow. */
typedef struct scaled_sum {
    double shift, sum;
} scaled_sum;

/* Exponentials of narrow types need no more than float. */
#define DEFINE_ADD(name, exponential)                                                              \
    static inline scaled_sum name(scaled_sum a, scaled_sum b)                                      \
    {                                                                                              \
        if (a.shift > b.shift)                                                                     \
            return (scaled_sum){a.shift, a.sum + b.sum * exponential(b.shift - a.shift)};          \
        if (a.shift < b.shift)                                                                     \
            return (scaled_sum){b.shift, b.sum + a.sum * exponential(a.shift - b.shift)};          \
        /* Equal, also when infinite; or NaN, which the sum keeps. */                              \
        return (scaled_sum){a.shift == b.shift ? a.shift : (double)NAN, a.sum + b.sum};            \
    }
#define NARROW_EXP(x) (double)expf((float)(x))
DEFINE_ADD(add_scaled, exp)
DEFINE_ADD(add_narrow, NARROW_EXP)

#define wide_exp_START(A, first) ((scaled_sum){-(double)INFINITY, 0})
#define wide_exp_MAP(A, x) ((scaled_sum){(x), 1})
#define wide_exp_COMBINE(A, a, b) add_scaled(a, b)
#define wide_exp_FINISH(A, a, n) ((a).shift + log((a).sum))
#define narrow_exp_START(A, first) wide_exp_START(A, first)
#define narrow_exp_MAP(A, x) wide_exp_MAP(A, x)
#define narrow_exp_COMBINE(A, a, b) add_narrow(a, b)
#define narrow_exp_FINISH(A, a, n) wide_exp_FINISH(A, a, n)

/* onnxd_saturate_<type>() */
#define STORE_CUT(T, x) onnxd_saturate_##T(x)
#define EACH_INTEGER(X, op)                                                                        \
    X(op, INT32, int32_t, int32_t, ONNXD_LOAD_PLAIN, STORE_CUT)                                    \
    X(op, INT64, int64_t, int64_t, ONNXD_LOAD_PLAIN, STORE_CUT)                                    \
    X(op, UINT32, uint32_t, uint32_t, ONNXD_LOAD_PLAIN, STORE_CUT)                                 \
    X(op, UINT64, uint64_t, uint64_t, ONNXD_LOAD_PLAIN, STORE_CUT)
#define EACH(X, op) ONNXD_REDUCE_EACH_FLOAT(X, op) EACH_INTEGER(X, op)
#define DEFINE(op, empty)                                                                          \
    EACH(ONNXD_REDUCE_DOUBLE, op)                                                                  \
    static onnxd_status *compute_##op(const onnxd_compute *compute)                                \
    {                                                                                              \
        static const onnxd_reduce_kernel kernels[ONNXD_DTYPE_COUNT] = {                            \
            EACH(ONNXD_KERNEL_ENTRY, op)};                                                         \
        return onnxd_reduce_run(compute, kernels, empty);                                          \
    }
DEFINE(l2, ONNXD_REDUCE_EMPTY_ZERO)
DEFINE(log_sum, ONNXD_REDUCE_EMPTY_LOG_0)

#define SCALED(op, id, T, C, LOAD, STORE)                                                          \
    ONNXD_REDUCE_KERNEL(op, id, T, double, scaled_sum, LOAD, STORE)
#define EACH_NARROW(X, op)                                                                         \
    X(op, FLOAT, float, float, ONNXD_LOAD_PLAIN, ONNXD_STORE_PLAIN)                                \
    X(op, FLOAT16, uint16_t, float, ONNXD_LOAD_FLOAT16, ONNXD_REDUCE_STORE_HALF)                   \
    X(op, BFLOAT16, uint16_t, float, ONNXD_LOAD_BFLOAT16, ONNXD_REDUCE_STORE_BHALF)
#define EACH_WIDE(X, op)                                                                           \
    X(op, DOUBLE, double, double, ONNXD_LOAD_PLAIN, ONNXD_STORE_PLAIN) EACH_INTEGER(X, op)
EACH_NARROW(SCALED, narrow_exp)
EACH_WIDE(SCALED, wide_exp)
static onnxd_status *compute_log_sum_exp(const onnxd_compute *compute)
{
    static const onnxd_reduce_kernel kernels[ONNXD_DTYPE_COUNT] = {
        EACH_NARROW(ONNXD_KERNEL_ENTRY, narrow_exp) EACH_WIDE(ONNXD_KERNEL_ENTRY, wide_exp)};
    return onnxd_reduce_run(compute, kernels, ONNXD_REDUCE_EMPTY_LOG_0);
}

#define ROWS(name, op, last)                                                                       \
    ONNXD_REDUCE_ATTRIBUTE_ROW(name, op, 1, 12, ONNXD_REDUCE_TYPES_1),                             \
        ONNXD_REDUCE_ATTRIBUTE_ROW(name, op, 13, 17, ONNXD_REDUCE_TYPES_13),                       \
        ONNXD_REDUCE_INPUT_ROW(name, op, 18, last, ONNXD_REDUCE_TYPES_13)
#define LOG_ROWS(name, op)                                                                         \
    ROWS(name, op, 27), ONNXD_REDUCE_INPUT_ROW(name, op, 28, ONNXD_OPSET_MAX, ONNXD_SET_FLOATS)

const onnxd_op_def onnxd_op_reduce_log[] = {
    ROWS("ReduceL2", l2, ONNXD_OPSET_MAX),
    LOG_ROWS("ReduceLogSum", log_sum),
    LOG_ROWS("ReduceLogSumExp", log_sum_exp),
    {.op_type = NULL},
};
