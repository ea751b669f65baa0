/* Exp, Log, Sqrt, Reciprocal, Floor, Ceil, Round, Erf, Neg, Abs and Sign. Integers wrap: the
 * smallest one is its own negative and its own magnitude. */
#include <tgmath.h>

#include "ops/ops.h"
#include "ops/unary.h"

#define exp_EXPRESSION(C, x, p) exp(x)
#define log_EXPRESSION(C, x, p) log(x)
#define sqrt_EXPRESSION(C, x, p) sqrt(x)
#define reciprocal_EXPRESSION(C, x, p) (1 / (x))
#define floor_EXPRESSION(C, x, p) floor(x)
#define ceil_EXPRESSION(C, x, p) ceil(x)
/* Halves go to the even neighbour, which is the rounding mode that C starts with. */
#define round_EXPRESSION(C, x, p) rint(x)
#define erf_EXPRESSION(C, x, p) erf(x)
#define neg_EXPRESSION(C, x, p) (-(x))
#define wrapping_neg_EXPRESSION(C, x, p) (0 - (x))
#define abs_EXPRESSION(C, x, p) fabs(x)
#define same_EXPRESSION(C, x, p) (x)
#define signed_abs_EXPRESSION(C, x, p) ((x) < 0 ? (C)(0 - (uint64_t)(x)) : (x))
/* A whole number's error function is a float, rounded towards zero: 1, 0 or -1. */
#define integer_erf_EXPRESSION(C, x, p) (float)erf((double)(x))
/* A zero keeps its sign, and NaN stays NaN. */
#define sign_EXPRESSION(C, x, p) ((x) > 0 ? (C)1 : (x) < 0 ? (C)-1 : (x))
#define unsigned_sign_EXPRESSION(C, x, p) ((x) != 0)

#define FLOATS(op)                                                                                 \
    ONNXD_EACH_FLOAT(ONNXD_UNARY_KERNEL, op)                                                       \
    ONNXD_UNARY_COMPUTE(op, ONNXD_EACH_FLOAT)
FLOATS(exp)
FLOATS(log)
FLOATS(sqrt)
FLOATS(reciprocal)
FLOATS(floor)
FLOATS(ceil)
FLOATS(round)

ONNXD_EACH_FLOAT(ONNXD_UNARY_KERNEL, erf)
ONNXD_EACH_INTEGER(ONNXD_UNARY_KERNEL, integer_erf)
#define ERF_TABLE(X, op) ONNXD_EACH_FLOAT(X, erf) ONNXD_EACH_INTEGER(X, integer_erf)
ONNXD_UNARY_COMPUTE(erf, ERF_TABLE)

ONNXD_EACH_FLOAT(ONNXD_UNARY_KERNEL, neg)
ONNXD_EACH_SIGNED_WRAPPING(ONNXD_UNARY_KERNEL, wrapping_neg)
#define NEG_TABLE(X, op) ONNXD_EACH_FLOAT(X, neg) ONNXD_EACH_SIGNED_WRAPPING(X, wrapping_neg)
ONNXD_UNARY_COMPUTE(neg, NEG_TABLE)

ONNXD_EACH_FLOAT(ONNXD_UNARY_KERNEL, abs)
ONNXD_EACH_SIGNED(ONNXD_UNARY_KERNEL, signed_abs)
ONNXD_EACH_UNSIGNED(ONNXD_UNARY_KERNEL, same)
#define ABS_TABLE(X, op)                                                                           \
    ONNXD_EACH_FLOAT(X, abs) ONNXD_EACH_SIGNED(X, signed_abs) ONNXD_EACH_UNSIGNED(X, same)
ONNXD_UNARY_COMPUTE(abs, ABS_TABLE)

ONNXD_EACH_FLOAT(ONNXD_UNARY_KERNEL, sign)
ONNXD_EACH_SIGNED(ONNXD_UNARY_KERNEL, sign)
ONNXD_EACH_UNSIGNED(ONNXD_UNARY_KERNEL, unsigned_sign)
#define SIGN_TABLE(X, op)                                                                          \
    ONNXD_EACH_FLOAT(X, sign) ONNXD_EACH_SIGNED(X, sign) ONNXD_EACH_UNSIGNED(X, unsigned_sign)
ONNXD_UNARY_COMPUTE(sign, SIGN_TABLE)

const onnxd_op_def onnxd_op_elementary[] = {
    ONNXD_UNARY_FLOAT_ROWS("Exp", exp),
    ONNXD_UNARY_FLOAT_ROWS("Log", log),
    ONNXD_UNARY_FLOAT_ROWS("Sqrt", sqrt),
    ONNXD_UNARY_FLOAT_ROWS("Reciprocal", reciprocal),
    ONNXD_UNARY_FLOAT_ROWS("Floor", floor),
    ONNXD_UNARY_FLOAT_ROWS("Ceil", ceil),
    ONNXD_UNARY_ROW("Round", round, 11, 21, ONNXD_SET_FLOATS_1, NULL, 0),
    ONNXD_UNARY_ROW("Round", round, 22, ONNXD_OPSET_MAX, ONNXD_SET_FLOATS, NULL, 0),
    ONNXD_UNARY_ROW("Sign", sign, 9, 12, ONNXD_SET_NUMBERS_1, NULL, 0),
    ONNXD_UNARY_ROW("Sign", sign, 13, ONNXD_OPSET_MAX, ONNXD_SET_NUMBERS, NULL, 0),
    ONNXD_UNARY_ROW("Erf", erf, 9, 12, ONNXD_SET_NUMBERS_1, NULL, 0),
    ONNXD_UNARY_ROW("Erf", erf, 13, ONNXD_OPSET_MAX, ONNXD_SET_FLOATS, NULL, 0),
    ONNXD_UNARY_ROW("Neg", neg, 1, 5, ONNXD_SET_FLOATS_1, onnxd_op_parse_consumed, 0),
    ONNXD_UNARY_ROW("Neg", neg, 6, 12, ONNXD_SET_FLOATS_1 | ONNXD_SET_SIGNED, NULL, 0),
    ONNXD_UNARY_ROW("Neg", neg, 13, ONNXD_OPSET_MAX, ONNXD_SET_FLOATS | ONNXD_SET_SIGNED, NULL, 0),
    ONNXD_UNARY_ROW("Abs", abs, 1, 5, ONNXD_SET_FLOATS_1, onnxd_op_parse_consumed, 0),
    ONNXD_UNARY_ROW("Abs", abs, 6, 12, ONNXD_SET_NUMBERS_1, NULL, 0),
    ONNXD_UNARY_ROW("Abs", abs, 13, ONNXD_OPSET_MAX, ONNXD_SET_NUMBERS, NULL, 0),
    {.op_type = NULL},
};
