/* LpPool and GlobalLpPool: (sum of |x|^p)^(1/p) over windows, and over everything. */
#include <math.h>

#include "base/size_math.h"
#include "ops/ops.h"
#include "ops/pool.h"
#include "ops/real.h"
#include "ops/support.h"
#include "ops/types.h"

typedef struct lp_pool_params {
    onnxd_pool_params pool; /* first: the shape rule reads it */
    double p;
} lp_pool_params;

/* p is a float in opset 1, an integer later. */
static onnxd_status *parse_p(const onnxd_node *node, int64_t opset, double *out_p)
{
    int64_t whole = 2;
    float real = 2;
    if (opset < 2) {
        ONNXD_TRY(onnxd_attribute_float(node, "p", &real));
        if (!(real > 0) || !isfinite(real))
            return onnxd_op_error(node, "attribute 'p' is %g, allowed are finite numbers above 0",
                                  (double)real);
        *out_p = (double)real;
        return NULL;
    }
    ONNXD_TRY(onnxd_attribute_int(node, "p", 1, INT32_MAX, &whole));
    *out_p = (double)whole;
    return NULL;
}

static onnxd_status *parse(const onnxd_node *node, int64_t opset, onnxd_arena *arena, void *out)
{
    static const char *const names_1[] = {"auto_pad", "kernel_shape", "p", "pads", "strides", NULL};
    static const char *const names_18[] = {"auto_pad", "ceil_mode", "dilations", "kernel_shape",
                                           "p",        "pads",      "strides",   NULL};
    lp_pool_params *params = out;
    (void)arena;
    ONNXD_TRY(onnxd_pool_parse(node, opset < 18 ? names_1 : names_18, &params->pool));
    return parse_p(node, opset, &params->p);
}

static onnxd_status *parse_global(const onnxd_node *node, int64_t opset, onnxd_arena *arena,
                                  void *out)
{
    static const char *const names[] = {"p", NULL};
    lp_pool_params *params = out;
    (void)arena;
    ONNXD_TRY(onnxd_attributes_allow(node, names));
    return parse_p(node, opset, &params->p);
}

/* ---- kernels --------------------------------------------------------------------------------- */

static double root_of(double sum, double p)
{
    return p == 1 ? sum : p == 2 ? sqrt(sum) : pow(sum, 1 / p);
}

#define KERNEL_FILE "ops/image/lp_pool_kernel.inc"
#include "ops/for_floats.inc"
#undef KERNEL_FILE

static size_t plane_count(const onnxd_compute *context)
{
    const int64_t *dims = context->inputs[0].shape.dims;
    return (size_t)dims[0] * (size_t)dims[1];
}

/* The powers of a plane, and its sums. */
static size_t workspace_bytes(const onnxd_compute *context)
{
    size_t count;
    if (onnxd_tensor_view_count(&context->outputs[0]) == 0)
        return 0;
    if (!onnxd_size_add(onnxd_pool_plane(&context->inputs[0].shape),
                        onnxd_pool_plane(&context->outputs[0].shape), &count) ||
        !onnxd_size_mul(count, sizeof(double), &count))
        return SIZE_MAX;
    return count;
}

static onnxd_status *compute(const onnxd_compute *context)
{
    const lp_pool_params *params = context->params;
    const onnxd_shape *input = &context->inputs[0].shape;
    onnxd_dtype dtype = context->inputs[0].dtype;
    if (onnxd_tensor_view_count(&context->outputs[0]) == 0)
        return NULL;
    onnxd_window_geometry geometry =
        onnxd_window_resolve(&params->pool.window, input->rank - 2, input->dims + 2, NULL);
    size_t in_size = onnxd_pool_plane(input),
           out_size = onnxd_pool_plane(&context->outputs[0].shape);
    size_t element = onnxd_dtype_size(dtype);
    const char *in = onnxd_tensor_view_data(&context->inputs[0]);
    char *out = onnxd_tensor_view_data(&context->outputs[0]);
    double *powers = context->workspace, *sums = powers + in_size;
    for (size_t i = 0; i < plane_count(context); i++) {
        ONNXD_FOR_FLOAT(dtype, raise)(in + i * in_size * element, in_size, params->p, powers);
        onnxd_pool_sum(&geometry, powers, sums);
        ONNXD_FOR_FLOAT(dtype, extract)(sums, out_size, params->p, out + i * out_size * element);
    }
    return NULL;
}

static onnxd_status *compute_global(const onnxd_compute *context)
{
    const lp_pool_params *params = context->params;
    onnxd_dtype dtype = context->inputs[0].dtype;
    size_t size = onnxd_pool_plane(&context->inputs[0].shape), element = onnxd_dtype_size(dtype);
    const char *in = onnxd_tensor_view_data(&context->inputs[0]);
    char *out = onnxd_tensor_view_data(&context->outputs[0]);
    for (size_t i = 0; i < plane_count(context); i++) {
        double sum = ONNXD_FOR_FLOAT(dtype, sum_powers)(in + i * size * element, size, params->p);
        ONNXD_FOR_FLOAT(dtype, extract)(&sum, 1, params->p, out + i * element);
    }
    return NULL;
}

#define COMMON(name, first, last, set)                                                             \
    .op_type = name, .domain = "", .since = first, .until = last, .min_inputs = 1,                 \
    .max_inputs = 1, .min_outputs = 1, .max_outputs = 1,                                           \
    .inputs = {{.types = set, .type_variable = 1}},                                                \
    .outputs = {{.types = set, .type_variable = 1}}, .params_bytes = sizeof(lp_pool_params)

#define LP_POOL(first, last, set)                                                                  \
    {                                                                                              \
        COMMON("LpPool", first, last, set), .parse = parse, .infer = onnxd_pool_infer,             \
                                            .workspace_bytes = workspace_bytes, .compute = compute \
    }
#define GLOBAL_LP_POOL(first, last, set)                                                           \
    {                                                                                              \
        COMMON("GlobalLpPool", first, last, set),                                                  \
            .parse = parse_global, .infer = onnxd_global_pool_infer, .compute = compute_global     \
    }

const onnxd_op_def onnxd_op_lp_pool[] = {
    LP_POOL(1, 1, ONNXD_SET_FLOATS_1),
    LP_POOL(2, 10, ONNXD_SET_FLOATS_1),
    LP_POOL(11, 17, ONNXD_SET_FLOATS_1),
    LP_POOL(18, 21, ONNXD_SET_FLOATS_1),
    LP_POOL(22, ONNXD_OPSET_MAX, ONNXD_SET_FLOATS),
    GLOBAL_LP_POOL(1, 1, ONNXD_SET_FLOATS_1),
    GLOBAL_LP_POOL(2, 21, ONNXD_SET_FLOATS_1),
    GLOBAL_LP_POOL(22, ONNXD_OPSET_MAX, ONNXD_SET_FLOATS),
    {.op_type = NULL},
};
