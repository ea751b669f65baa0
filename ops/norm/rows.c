#include "ops/norm/rows.h"

#include <math.h>

#include "base/size_math.h"
#include "ops/real.h"

/* Sums that do not wait for each other. */
#define LANES 8

#define KERNEL_FILE "ops/norm/rows_kernel.inc"
#include "ops/for_float_double.inc"
#undef KERNEL_FILE

static bool is_double(const onnxd_norm_rows *n)
{
    return n->input_dtype == ONNXD_DOUBLE || n->output_dtype == ONNXD_DOUBLE ||
           n->scale.dtype == ONNXD_DOUBLE || n->bias.dtype == ONNXD_DOUBLE;
}

/* The row, its scale and its bias. */
size_t onnxd_norm_rows_workspace_bytes(const onnxd_norm_rows *n)
{
    size_t bytes;
    if (onnxd_size_mul(n->columns, 3 * sizeof(double), &bytes))
        return bytes;
    return SIZE_MAX;
}

void onnxd_norm_rows_run(const onnxd_norm_rows *n, void *workspace)
{
    if (is_double(n))
        run_double(n, workspace);
    else
        run_float(n, workspace);
}
