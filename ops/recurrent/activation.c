/* The activation functions of the recurrent operators. */
#include <tgmath.h>

#include "ops/recurrent/recurrent.h"

#define KERNEL_FILE "ops/recurrent/activation_kernel.inc"
#include "ops/for_float_double.inc"
#undef KERNEL_FILE
