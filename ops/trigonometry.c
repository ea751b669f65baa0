/* The circular and hyperbolic functions and their inverses. Outside of a function's domain the
 * result is NaN. */
#include <tgmath.h>

#include "ops/ops.h"
#include "ops/unary.h"

#define acos_EXPRESSION(C, x, p) acos(x)
#define acosh_EXPRESSION(C, x, p) acosh(x)
#define asin_EXPRESSION(C, x, p) asin(x)
#define asinh_EXPRESSION(C, x, p) asinh(x)
#define atan_EXPRESSION(C, x, p) atan(x)
#define atanh_EXPRESSION(C, x, p) atanh(x)
#define cos_EXPRESSION(C, x, p) cos(x)
#define cosh_EXPRESSION(C, x, p) cosh(x)
#define sin_EXPRESSION(C, x, p) sin(x)
#define sinh_EXPRESSION(C, x, p) sinh(x)
#define tan_EXPRESSION(C, x, p) tan(x)

#define FLOATS(op)                                                                                 \
    ONNXD_EACH_FLOAT(ONNXD_UNARY_KERNEL, op)                                                       \
    ONNXD_UNARY_COMPUTE(op, ONNXD_EACH_FLOAT)
FLOATS(acos)
FLOATS(acosh)
FLOATS(asin)
FLOATS(asinh)
FLOATS(atan)
FLOATS(atanh)
FLOATS(cos)
FLOATS(cosh)
FLOATS(sin)
FLOATS(sinh)
FLOATS(tan)

/* Circular functions came with opset 7, hyperbolic ones with 9. */
#define ROWS(name, op, first)                                                                      \
    ONNXD_UNARY_ROW(name, op, first, 21, ONNXD_SET_FLOATS_1, NULL, 0),                             \
        ONNXD_UNARY_ROW(name, op, 22, ONNXD_OPSET_MAX, ONNXD_SET_FLOATS, NULL, 0)

const onnxd_op_def onnxd_op_trigonometry[] = {
    ROWS("Acos", acos, 7), ROWS("Acosh", acosh, 9), ROWS("Asin", asin, 7), ROWS("Asinh", asinh, 9),
    ROWS("Atan", atan, 7), ROWS("Atanh", atanh, 9), ROWS("Cos", cos, 7),   ROWS("Cosh", cosh, 9),
    ROWS("Sin", sin, 7),   ROWS("Sinh", sinh, 9),   ROWS("Tan", tan, 7),   {.op_type = NULL},
};
