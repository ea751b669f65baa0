/* MaxPool, AveragePool, GlobalMaxPool and GlobalAveragePool. */
#include <inttypes.h>
#include <math.h>

#include "graph/attributes.h"
#include "ops/nn.h"
#include "ops/ops.h"
#include "ops/pool.h"
#include "ops/real.h"
#include "ops/support.h"
#include "ops/types.h"

/* ---- attributes and shapes ------------------------------------------------------------------- */

onnxd_status *onnxd_pool_parse(const onnxd_node *node, const char *const *names,
                               onnxd_pool_params *params)
{
    ONNXD_TRY(onnxd_attributes_allow(node, names));
    ONNXD_TRY(onnxd_attribute_require(node, "kernel_shape"));
    params->window.limits_pads = true;
    ONNXD_TRY(onnxd_op_flag(node, "ceil_mode", &params->window.is_ceil_mode));
    ONNXD_TRY(onnxd_op_flag(node, "count_include_pad", &params->counts_pads));
    ONNXD_TRY(onnxd_op_flag(node, "storage_order", &params->is_column_major));
    ONNXD_TRY(onnxd_window_parse(node, &params->window));
    if (params->window.kernel_count == 0)
        return onnxd_op_error(node, "attribute 'kernel_shape' is empty");
    return NULL;
}

static onnxd_status *parse_max_pool(const onnxd_node *node, int64_t opset, onnxd_arena *arena,
                                    void *params)
{
    static const char *const names_1[] = {"auto_pad", "kernel_shape", "pads", "strides", NULL};
    static const char *const names_8[] = {"auto_pad",      "kernel_shape", "pads",
                                          "storage_order", "strides",      NULL};
    static const char *const names_10[] = {"auto_pad", "ceil_mode",     "dilations", "kernel_shape",
                                           "pads",     "storage_order", "strides",   NULL};
    (void)arena;
    return onnxd_pool_parse(node, opset < 8 ? names_1 : opset < 10 ? names_8 : names_10, params);
}

static onnxd_status *parse_average_pool(const onnxd_node *node, int64_t opset, onnxd_arena *arena,
                                        void *params)
{
    static const char *const names_1[] = {"auto_pad", "kernel_shape", "pads", "strides", NULL};
    static const char *const names_7[] = {"auto_pad", "count_include_pad", "kernel_shape",
                                          "pads",     "strides",           NULL};
    static const char *const names_10[] = {
        "auto_pad", "ceil_mode", "count_include_pad", "kernel_shape", "pads", "strides", NULL};
    static const char *const names_19[] = {
        "auto_pad",     "ceil_mode", "count_include_pad", "dilations",
        "kernel_shape", "pads",      "strides",           NULL};
    (void)arena;
    return onnxd_pool_parse(node,
                            opset < 7    ? names_1
                            : opset < 10 ? names_7
                            : opset < 19 ? names_10
                                         : names_19,
                            params);
}

onnxd_status *onnxd_pool_infer(onnxd_infer *context)
{
    const onnxd_pool_params *params = context->params;
    const onnxd_shape *input = &context->inputs[0].shape;
    bool has_indices = context->output_count > 1;
    context->outputs[0].dtype = context->inputs[0].dtype;
    if (has_indices)
        context->outputs[1].dtype = ONNXD_INT64;
    onnxd_shape shape = onnxd_shape_of_rank((int32_t)params->window.spatial + 2);
    if (input->rank != ONNXD_RANK_UNKNOWN) {
        if (input->rank != shape.rank)
            return onnxd_op_error(context->node,
                                  "the input has rank %" PRId32 ", kernel_shape needs %" PRId32,
                                  input->rank, shape.rank);
        shape.dims[0] = input->dims[0];
        shape.dims[1] = input->dims[1];
        ONNXD_TRY(onnxd_window_infer(&params->window, context->node, input->rank - 2,
                                     input->dims + 2, NULL, shape.dims + 2));
    }
    context->outputs[0].shape = shape;
    if (has_indices)
        context->outputs[1].shape = shape;
    return NULL;
}

onnxd_status *onnxd_global_pool_infer(onnxd_infer *context)
{
    const onnxd_shape *input = &context->inputs[0].shape;
    context->outputs[0].dtype = context->inputs[0].dtype;
    if (input->rank == ONNXD_RANK_UNKNOWN)
        return NULL;
    if (input->rank < 2)
        return onnxd_op_error(context->node, "the input has rank %" PRId32 ", needed is at least 2",
                              input->rank);
    onnxd_shape shape = *input;
    for (int32_t i = 2; i < shape.rank; i++) {
        if (shape.dims[i] == 0)
            return onnxd_op_error(context->node, "the input is empty in dimension %" PRId32, i);
        shape.dims[i] = 1;
    }
    context->outputs[0].shape = shape;
    return NULL;
}

/* ---- kernels --------------------------------------------------------------------------------- */

/* The taps of one window along one dimension: start + tap * step for tap in [first, last). */
typedef struct window_span {
    int64_t start, step, first, last;
} window_span;

/* The taps of the window at `at` along dimension `axis`; returns how many an average counts: those
 * that lie in the input, or with counts_pads in the padded input. */
static double span_axis(const onnxd_window_geometry *g, int axis, int64_t at, bool counts_pads,
                        window_span *span)
{
    int64_t kernel = g->kernel[axis], dilation = g->dilation[axis];
    span->start = at * g->stride[axis] - g->pad_begin[axis];
    span->step = dilation;
    onnxd_window_clip(span->start, kernel, dilation, g->in[axis], &span->first, &span->last);
    int64_t first = span->first, last = span->last;
    if (counts_pads)
        onnxd_window_clip(span->start + g->pad_begin[axis], kernel, dilation,
                          g->in[axis] + g->pad_begin[axis] + g->pad_end[axis], &first, &last);
    return (double)(last - first);
}

/* Outputs averaged at a time. */
#define POOL_RUN 64

#define KERNEL_FILE "ops/pool_kernel.inc"
#include "ops/for_floats.inc"
#undef KERNEL_FILE

void onnxd_pool_sum(const onnxd_window_geometry *g, const double *in, double *out)
{
    window_span span[3];
    for (int64_t row = 0; row < g->out[0] * g->out[1]; row++) {
        (void)span_axis(g, 0, row / g->out[1], false, &span[0]);
        (void)span_axis(g, 1, row % g->out[1], false, &span[1]);
        for (int64_t x = 0; x < g->out[2]; x++)
            out[x] = 0;
        average_run_double(g, in, span, 0, g->out[2], out);
        out += g->out[2];
    }
}

void onnxd_pool_average(const onnxd_window_geometry *g, bool counts_pads, const float *in,
                        float *out)
{
    average_plane_float(g, counts_pads, in, out);
}

#define T float
#define NAME(f) f##_float
#define LOAD(x) (x)
#define LOWEST (-INFINITY)
#define IS_NAN(x) isnan(x)
#include "ops/max_pool_kernel.inc"
#undef T
#undef NAME
#define T double
#define NAME(f) f##_double
#include "ops/max_pool_kernel.inc"
#undef T
#undef NAME
#undef LOWEST
#undef IS_NAN
#define T int8_t
#define NAME(f) f##_int8
#define LOWEST INT8_MIN
#define IS_NAN(x) false
#include "ops/max_pool_kernel.inc"
#undef T
#undef NAME
#undef LOWEST
#define T uint8_t
#define NAME(f) f##_uint8
#define LOWEST 0
#include "ops/max_pool_kernel.inc"
#undef T
#undef NAME
#undef LOAD
#undef LOWEST
#undef IS_NAN
#define T uint16_t
#define NAME(f) f##_float16
#define LOAD(x) onnxd_float16_to_float(x)
#define LOWEST 0xfc00u
#define IS_NAN(x) isnan(x)
#include "ops/max_pool_kernel.inc"
#undef NAME
#undef LOAD
#undef LOWEST
#define NAME(f) f##_bfloat16
#define LOAD(x) onnxd_bfloat16_to_float(x)
#define LOWEST 0xff80u
#include "ops/max_pool_kernel.inc"
#undef T
#undef NAME
#undef LOAD
#undef LOWEST
#undef IS_NAN

typedef struct planes {
    size_t count;             /* batch times channels; anything when the output is empty */
    size_t in_size, out_size; /* elements of one */
    size_t in_bytes, out_bytes;
} planes;

size_t onnxd_pool_plane(const onnxd_shape *shape)
{
    size_t size = 1;
    for (int32_t i = 2; i < shape->rank; i++)
        size *= (size_t)shape->dims[i];
    return size;
}

static planes planes_of(const onnxd_compute *context)
{
    const onnxd_shape *input = &context->inputs[0].shape;
    size_t element = onnxd_dtype_size(context->inputs[0].dtype);
    planes p = {.count = (size_t)input->dims[0] * (size_t)input->dims[1],
                .in_size = onnxd_pool_plane(input),
                .out_size = onnxd_pool_plane(&context->outputs[0].shape)};
    p.in_bytes = p.in_size * element;
    p.out_bytes = p.out_size * element;
    return p;
}

static onnxd_window_geometry geometry_of(const onnxd_compute *context)
{
    const onnxd_pool_params *params = context->params;
    const onnxd_shape *input = &context->inputs[0].shape;
    return onnxd_window_resolve(&params->window, input->rank - 2, input->dims + 2, NULL);
}

static onnxd_status *compute_average_pool(const onnxd_compute *context)
{
    const onnxd_pool_params *params = context->params;
    if (onnxd_tensor_view_count(&context->outputs[0]) == 0)
        return NULL;
    onnxd_window_geometry geometry = geometry_of(context);
    planes p = planes_of(context);
    const char *in = onnxd_tensor_view_data(&context->inputs[0]);
    char *out = onnxd_tensor_view_data(&context->outputs[0]);
    void (*run)(const onnxd_window_geometry *, bool, const void *, void *) =
        ONNXD_FOR_FLOAT(context->inputs[0].dtype, average_plane);
    for (size_t i = 0; i < p.count; i++)
        run(&geometry, params->counts_pads, in + i * p.in_bytes, out + i * p.out_bytes);
    return NULL;
}

typedef void (*maximum_function)(const onnxd_window_geometry *geometry, const void *input,
                                 void *output, int64_t *positions);

static maximum_function maximum_for(onnxd_dtype dtype)
{
    if (dtype == ONNXD_INT8)
        return maximum_plane_int8;
    if (dtype == ONNXD_UINT8)
        return maximum_plane_uint8;
    return ONNXD_FOR_FLOAT(dtype, maximum_plane);
}

void onnxd_pool_maximum(onnxd_dtype dtype, const onnxd_window_geometry *g, const void *in,
                        void *out)
{
    maximum_for(dtype)(g, in, out, NULL);
}

/* Row-major positions within a plane become indices into the whole input. */
static void finish_indices(const onnxd_window_geometry *g, bool is_column_major, int64_t base,
                           int64_t *indices, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        int64_t at = indices[i];
        /* Windows over nothing have position 0 in either order. */
        if (is_column_major && at != 0) {
            int64_t x = at % g->in[2], y = at / g->in[2] % g->in[1], z = at / g->in[2] / g->in[1];
            /* The first spatial dimension runs fastest; absent ones have extent 1. */
            at = z + (y + x * g->in[1]) * g->in[0];
        }
        indices[i] = base + at;
    }
}

static onnxd_status *compute_max_pool(const onnxd_compute *context)
{
    const onnxd_pool_params *params = context->params;
    if (onnxd_tensor_view_count(&context->outputs[0]) == 0)
        return NULL;
    onnxd_window_geometry geometry = geometry_of(context);
    planes p = planes_of(context);
    const char *in = onnxd_tensor_view_data(&context->inputs[0]);
    char *out = onnxd_tensor_view_data(&context->outputs[0]);
    bool has_indices =
        context->output_count > 1 && onnxd_tensor_view_is_present(&context->outputs[1]);
    int64_t *indices = has_indices ? onnxd_tensor_view_data(&context->outputs[1]) : NULL;
    maximum_function run = maximum_for(context->inputs[0].dtype);
    for (size_t i = 0; i < p.count; i++) {
        run(&geometry, in + i * p.in_bytes, out + i * p.out_bytes, indices);
        if (indices == NULL)
            continue;
        finish_indices(&geometry, params->is_column_major, (int64_t)(i * p.in_size), indices,
                       p.out_size);
        indices += p.out_size;
    }
    return NULL;
}

static void compute_global(const onnxd_compute *context, void (*run)(const void *, size_t, void *))
{
    planes p = planes_of(context);
    const char *in = onnxd_tensor_view_data(&context->inputs[0]);
    char *out = onnxd_tensor_view_data(&context->outputs[0]);
    for (size_t i = 0; i < p.count; i++)
        run(in + i * p.in_bytes, p.in_size, out + i * p.out_bytes);
}

static onnxd_status *compute_global_average(const onnxd_compute *context)
{
    compute_global(context, ONNXD_FOR_FLOAT(context->inputs[0].dtype, average_all));
    return NULL;
}

static onnxd_status *compute_global_maximum(const onnxd_compute *context)
{
    compute_global(context, ONNXD_FOR_FLOAT(context->inputs[0].dtype, maximum_all));
    return NULL;
}

/* ---- definitions ----------------------------------------------------------------------------- */

/* Indices are those in the whole batch. */
static bool has_batch(const onnxd_infer *context)
{
    return !onnxd_op_has_output(context->node, 1);
}

#define BYTES (ONNXD_SET(INT8) | ONNXD_SET(UINT8))

#define ONE_TO_ONE(name, first, last, set, infer_function, compute_function)                       \
    .op_type = name, .domain = "", .since = first, .until = last, .min_inputs = 1,                 \
    .max_inputs = 1, .min_outputs = 1, .max_outputs = 1,                                           \
    .inputs = {{.types = set, .type_variable = 1}},                                                \
    .outputs = {{.types = set, .type_variable = 1}}, .infer = infer_function,                      \
    .compute = compute_function, .batch_inputs = 1u

#define MAX_POOL(first, last, set, outputs_max)                                                    \
    {                                                                                              \
        .op_type = "MaxPool", .domain = "", .since = first, .until = last, .min_inputs = 1,        \
        .max_inputs = 1, .min_outputs = 1, .max_outputs = outputs_max,                             \
        .inputs = {{.types = set, .type_variable = 1}},                                            \
        .outputs = {{.types = set, .type_variable = 1},                                            \
                    {.types = ONNXD_SET(INT64), .is_optional = true}},                             \
        .params_bytes = sizeof(onnxd_pool_params), .parse = parse_max_pool,                        \
        .infer = onnxd_pool_infer, .compute = compute_max_pool, .batch_inputs = 1u,                \
        .has_batch = has_batch                                                                     \
    }

#define AVERAGE_POOL(first, last, set)                                                             \
    {                                                                                              \
        ONE_TO_ONE("AveragePool", first, last, set, onnxd_pool_infer, compute_average_pool),       \
            .params_bytes = sizeof(onnxd_pool_params), .parse = parse_average_pool                 \
    }

const onnxd_op_def onnxd_op_pool[] = {
    MAX_POOL(1, 7, ONNXD_SET_FLOATS_1, 1),
    MAX_POOL(8, 9, ONNXD_SET_FLOATS_1, 2),
    MAX_POOL(10, 10, ONNXD_SET_FLOATS_1, 2),
    MAX_POOL(11, 11, ONNXD_SET_FLOATS_1, 2),
    MAX_POOL(12, 21, ONNXD_SET_FLOATS_1 | BYTES, 2),
    MAX_POOL(22, ONNXD_OPSET_MAX, ONNXD_SET_FLOATS | BYTES, 2),
    AVERAGE_POOL(1, 6, ONNXD_SET_FLOATS_1),
    AVERAGE_POOL(7, 9, ONNXD_SET_FLOATS_1),
    AVERAGE_POOL(10, 10, ONNXD_SET_FLOATS_1),
    AVERAGE_POOL(11, 18, ONNXD_SET_FLOATS_1),
    AVERAGE_POOL(19, 21, ONNXD_SET_FLOATS_1),
    AVERAGE_POOL(22, ONNXD_OPSET_MAX, ONNXD_SET_FLOATS),
    {ONE_TO_ONE("GlobalAveragePool", 1, 21, ONNXD_SET_FLOATS_1, onnxd_global_pool_infer,
                compute_global_average)},
    {ONE_TO_ONE("GlobalAveragePool", 22, ONNXD_OPSET_MAX, ONNXD_SET_FLOATS, onnxd_global_pool_infer,
                compute_global_average)},
    {ONE_TO_ONE("GlobalMaxPool", 1, 21, ONNXD_SET_FLOATS_1, onnxd_global_pool_infer,
                compute_global_maximum)},
    {ONE_TO_ONE("GlobalMaxPool", 22, ONNXD_OPSET_MAX, ONNXD_SET_FLOATS, onnxd_global_pool_infer,
                compute_global_maximum)},
    {.op_type = NULL},
};
