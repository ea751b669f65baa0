/*
 * The activations that weigh a number x of type C, float or double, with a gate between 0 and 1.
 * NaN stays NaN. Users include <tgmath.h>.
 */
#ifndef ONNXD_OPS_GATE_H
#define ONNXD_OPS_GATE_H

/* 1 / sqrt(2) and 2 sqrt(2 / pi). */
#define ONNXD_SQRT_HALF 0.70710678118654752440
#define ONNXD_TWO_SQRT_2_OVER_PI 1.59576912160573071176

/* x times the normal distribution's function, which is erfc(-x / sqrt(2)) / 2. */
#define ONNXD_GELU(C, x) ((C)0.5 * (x)*erfc(-(x) * (C)ONNXD_SQRT_HALF))
/* (1 + tanh(u)) / 2 is the logistic function of 2 u. */
#define ONNXD_TANH_GELU(C, x)                                                                      \
    ((x) / (1 + exp(-(C)ONNXD_TWO_SQRT_2_OVER_PI * ((x) + (C)0.044715 * (x) * (x) * (x)))))
#define ONNXD_SWISH(C, x, alpha) ((x) / (1 + exp(-(C)(alpha) * (x))))

#endif
