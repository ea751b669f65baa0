#include "ops/gemm_core.h"

#include <string.h>

/* A panel of B of this size, at most 1 MiB, stays in the second-level cache. */
#define PANEL_COLUMNS 512
#define PANEL_DEPTH 256
/* Sums of a dot product that do not wait for each other. */
#define DOT_LANES 32

#define KERNEL_FILE "ops/gemm_core_kernel.inc"
#include "ops/for_float_double.inc"
#undef KERNEL_FILE
/* Unsigned arithmetic wraps around, and gives the signed types' bits too. */
#define T uint32_t
#define NAME(f) f##_uint32
#include "ops/gemm_core_kernel.inc"
#undef T
#undef NAME
#define T uint64_t
#define NAME(f) f##_uint64
#include "ops/gemm_core_kernel.inc"
#undef T
#undef NAME

void onnxd_product_run(const onnxd_product *product, onnxd_dtype dtype, const void *a,
                       const void *b, void *out)
{
    switch (dtype) {
    case ONNXD_FLOAT:
        product_float(product, a, b, out);
        break;
    case ONNXD_DOUBLE:
        product_double(product, a, b, out);
        break;
    case ONNXD_INT32:
    case ONNXD_UINT32:
        product_uint32(product, a, b, out);
        break;
    default:
        product_uint64(product, a, b, out);
        break;
    }
}
