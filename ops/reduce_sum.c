/* ReduceSum, ReduceMean, ReduceSumSquare, ReduceL1 and ReduceProd. Sums of floating-point numbers
 * are taken in double, those of integers wrap. */
#include <math.h>

#include "ops/ops.h"
#include "ops/reduce_kernel.h"

#define sum_START(A, first) 0
#define sum_MAP(A, x) (x)
#define sum_COMBINE(A, a, b) ((a) + (b))
#define sum_FINISH(A, a, n) (a)
#define signed_sum_START(A, first) 0
#define signed_sum_MAP(A, x) (x)
#define signed_sum_COMBINE(A, a, b) ONNXD_REDUCE_ADD(a, b)
#define signed_sum_FINISH(A, a, n) (a)
#define unsigned_sum_START(A, first) 0
#define unsigned_sum_MAP(A, x) (x)
#define unsigned_sum_COMBINE(A, a, b) ((a) + (b))
#define unsigned_sum_FINISH(A, a, n) (a)
ONNXD_REDUCE_SUMS(sum, ONNXD_REDUCE_EMPTY_ZERO)

#define mean_START(A, first) 0
#define mean_MAP(A, x) (x)
#define mean_COMBINE(A, a, b) ((a) + (b))
#define mean_FINISH(A, a, n) ((a) / (A)(n))
#define signed_mean_START(A, first) 0
#define signed_mean_MAP(A, x) (x)
#define signed_mean_COMBINE(A, a, b) ONNXD_REDUCE_ADD(a, b)
#define signed_mean_FINISH(A, a, n) ((a) / (A)(n))
#define unsigned_mean_START(A, first) 0
#define unsigned_mean_MAP(A, x) (x)
#define unsigned_mean_COMBINE(A, a, b) ((a) + (b))
#define unsigned_mean_FINISH(A, a, n) ((a) / (A)(n))
ONNXD_REDUCE_SUMS(mean, ONNXD_REDUCE_EMPTY_NAN)

onnxd_status *onnxd_reduce_mean(const onnxd_compute *compute)
{
    return compute_mean(compute);
}

#define square_START(A, first) 0
#define square_MAP(A, x) ((x) * (x))
#define square_COMBINE(A, a, b) ((a) + (b))
#define square_FINISH(A, a, n) (a)
#define signed_square_START(A, first) 0
#define signed_square_MAP(A, x) ONNXD_REDUCE_MULTIPLY(x, x)
#define signed_square_COMBINE(A, a, b) ONNXD_REDUCE_ADD(a, b)
#define signed_square_FINISH(A, a, n) (a)
#define unsigned_square_START(A, first) 0
#define unsigned_square_MAP(A, x) ((x) * (x))
#define unsigned_square_COMBINE(A, a, b) ((a) + (b))
#define unsigned_square_FINISH(A, a, n) (a)
ONNXD_REDUCE_SUMS(square, ONNXD_REDUCE_EMPTY_ZERO)

#define l1_START(A, first) 0
#define l1_MAP(A, x) fabs(x)
#define l1_COMBINE(A, a, b) ((a) + (b))
#define l1_FINISH(A, a, n) (a)
#define signed_l1_START(A, first) 0
#define signed_l1_MAP(A, x) ((x) < 0 ? (int64_t)(0 - (uint64_t)(x)) : (x))
#define signed_l1_COMBINE(A, a, b) ONNXD_REDUCE_ADD(a, b)
#define signed_l1_FINISH(A, a, n) (a)
#define unsigned_l1_START(A, first) 0
#define unsigned_l1_MAP(A, x) (x)
#define unsigned_l1_COMBINE(A, a, b) ((a) + (b))
#define unsigned_l1_FINISH(A, a, n) (a)
ONNXD_REDUCE_SUMS(l1, ONNXD_REDUCE_EMPTY_ZERO)

#define prod_START(A, first) 1
#define prod_MAP(A, x) (x)
#define prod_COMBINE(A, a, b) ((a) * (b))
#define prod_FINISH(A, a, n) (a)
#define signed_prod_START(A, first) 1
#define signed_prod_MAP(A, x) (x)
#define signed_prod_COMBINE(A, a, b) ONNXD_REDUCE_MULTIPLY(a, b)
#define signed_prod_FINISH(A, a, n) (a)
#define unsigned_prod_START(A, first) 1
#define unsigned_prod_MAP(A, x) (x)
#define unsigned_prod_COMBINE(A, a, b) ((a) * (b))
#define unsigned_prod_FINISH(A, a, n) (a)
ONNXD_REDUCE_SUMS(prod, ONNXD_REDUCE_EMPTY_ONE)

#define ROWS(name, op)                                                                             \
    ONNXD_REDUCE_ATTRIBUTE_ROW(name, op, 1, 12, ONNXD_REDUCE_TYPES_1),                             \
        ONNXD_REDUCE_ATTRIBUTE_ROW(name, op, 13, 17, ONNXD_REDUCE_TYPES_13),                       \
        ONNXD_REDUCE_INPUT_ROW(name, op, 18, ONNXD_OPSET_MAX, ONNXD_REDUCE_TYPES_13)

const onnxd_op_def onnxd_op_reduce_sum[] = {
    ONNXD_REDUCE_ATTRIBUTE_ROW("ReduceSum", sum, 1, 12, ONNXD_REDUCE_TYPES_1),
    ONNXD_REDUCE_INPUT_ROW("ReduceSum", sum, 13, ONNXD_OPSET_MAX, ONNXD_REDUCE_TYPES_13),
    ROWS("ReduceMean", mean),
    ROWS("ReduceSumSquare", square),
    ROWS("ReduceL1", l1),
    ROWS("ReduceProd", prod),
    {.op_type = NULL},
};
