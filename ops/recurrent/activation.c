/* The activation functions of the recurrent operators. */
#include <tgmath.h>

#include "ops/recurrent/recurrent.h"

#define T float
#define NAME(f) f##_float
#include "ops/recurrent/activation_kernel.inc"
#undef T
#undef NAME

#define T double
#define NAME(f) f##_double
#include "ops/recurrent/activation_kernel.inc"
#undef T
#undef NAME
