/* QLinearAveragePool, QLinearGlobalAveragePool and NhwcMaxPool: pools of int8 and uint8 whose
 * channels may be the last dimension. */
#include <string.h>

#include "base/size_math.h"
#include "ops/contrib/affine.h"
#include "ops/contrib/contrib.h"
#include "ops/ops.h"
#include "ops/pool.h"
#include "ops/quant/quantized.h"
#include "ops/support.h"
#include "ops/types.h"

enum { X, X_SCALE, X_ZERO, Y_SCALE, Y_ZERO };

typedef struct pool_params {
    onnxd_pool_params pool; /* not used by the global pool */
    int64_t is_channels_last;
} pool_params;

/* ---- attributes and shapes ------------------------------------------------------------------- */

static onnxd_status *parse_average(const onnxd_node *node, int64_t opset, onnxd_arena *arena,
                                   void *params)
{
    (void)opset, (void)arena;
    static const char *const names[] = {"auto_pad",     "ceil_mode", "channels_last",
                                        "kernel_shape", "pads",      "count_include_pad",
                                        "strides",      NULL};
    pool_params *p = params;
    ONNXD_TRY(onnxd_pool_parse(node, names, &p->pool));
    return onnxd_attribute_int(node, "channels_last", 0, 1, &p->is_channels_last);
}

static onnxd_status *parse_global(const onnxd_node *node, int64_t opset, onnxd_arena *arena,
                                  void *params)
{
    (void)opset, (void)arena;
    static const char *const names[] = {"channels_last", NULL};
    pool_params *p = params;
    ONNXD_TRY(onnxd_attributes_allow(node, names));
    return onnxd_attribute_int(node, "channels_last", 0, 1, &p->is_channels_last);
}

static onnxd_status *parse_maximum(const onnxd_node *node, int64_t opset, onnxd_arena *arena,
                                   void *params)
{
    (void)opset, (void)arena;
    static const char *const names[] = {"auto_pad", "ceil_mode", "dilations", "kernel_shape",
                                        "pads",     "strides",   NULL};
    pool_params *p = params;
    p->is_channels_last = 1;
    return onnxd_pool_parse(node, names, &p->pool);
}

/* Moves the dimension of the channels from the end behind the batch, or back. */
static void move_channels(onnxd_shape *shape, bool to_end)
{
    if (shape->rank < 3)
        return;
    int64_t *dims = shape->dims + 1;
    size_t bytes = ((size_t)shape->rank - 2) * sizeof(*dims);
    int64_t channels = to_end ? dims[0] : dims[shape->rank - 2];
    memmove(to_end ? dims : dims + 1, to_end ? dims + 1 : dims, bytes);
    dims[to_end ? shape->rank - 2 : 0] = channels;
}

/* The rule of a pool whose channels come first, for either order. */
static onnxd_status *infer_by(onnxd_infer *infer, onnxd_status *(*rule)(onnxd_infer *context))
{
    const pool_params *p = infer->params;
    onnxd_tensor_type input = infer->inputs[X];
    onnxd_infer inner = *infer;
    inner.inputs = &input;
    if (p->is_channels_last != 0)
        move_channels(&input.shape, false);
    ONNXD_TRY(rule(&inner));
    if (p->is_channels_last != 0)
        move_channels(&infer->outputs[0].shape, true);
    return NULL;
}

static onnxd_status *infer_maximum(onnxd_infer *infer)
{
    return infer_by(infer, onnxd_pool_infer);
}

static onnxd_status *infer_average(onnxd_infer *infer)
{
    ONNXD_TRY(onnxd_affine_check(infer, X_SCALE));
    ONNXD_TRY(onnxd_affine_check(infer, Y_SCALE));
    return infer_by(infer, onnxd_pool_infer);
}

static onnxd_status *infer_global(onnxd_infer *infer)
{
    ONNXD_TRY(onnxd_affine_check(infer, X_SCALE));
    ONNXD_TRY(onnxd_affine_check(infer, Y_SCALE));
    return infer_by(infer, onnxd_global_pool_infer);
}

/* ---- planes ---------------------------------------------------------------------------------- */

/* Plane (n, c): its elements start at n * channels * size + c * `pitch` and are `stride` apart. */
typedef struct planes {
    size_t batch, channels;
    size_t in_size, out_size;   /* elements of one */
    size_t in_pitch, out_pitch; /* from channel to channel */
    size_t stride;
    onnxd_window_geometry geometry; /* of the pools with windows */
} planes;

static planes planes_of(const onnxd_compute *compute, bool has_windows)
{
    const pool_params *params = compute->params;
    onnxd_shape in = compute->inputs[X].shape, out = compute->outputs[0].shape;
    bool is_last = params->is_channels_last != 0;
    if (is_last) {
        move_channels(&in, false);
        move_channels(&out, false);
    }
    planes p = {.batch = (size_t)in.dims[0],
                .channels = (size_t)in.dims[1],
                .in_size = onnxd_pool_plane(&in),
                .out_size = onnxd_pool_plane(&out)};
    p.in_pitch = is_last ? 1 : p.in_size;
    p.out_pitch = is_last ? 1 : p.out_size;
    p.stride = is_last ? p.channels : 1;
    if (has_windows)
        p.geometry = onnxd_window_resolve(&params->pool.window, in.rank - 2, in.dims + 2, NULL);
    return p;
}

static size_t workspace_bytes_of(const onnxd_compute *compute, size_t element)
{
    size_t count;
    if (onnxd_tensor_view_count(&compute->outputs[0]) == 0)
        return 0;
    planes p = planes_of(compute, false);
    return onnxd_size_add(p.in_size, p.out_size, &count) && onnxd_size_mul(count, element, &count)
               ? count
               : SIZE_MAX;
}

/* ---- the average of windows ------------------------------------------------------------------ */

static size_t workspace_average(const onnxd_compute *compute)
{
    return workspace_bytes_of(compute, sizeof(float));
}

/* Averages as elements of a plane of the output. */
static void store_plane(onnxd_dtype dtype, const onnxd_affine *to, const float *values,
                        size_t count, uint8_t *out, size_t stride)
{
    uint8_t bytes[ONNXD_QUANT_CHUNK];
    for (size_t first = 0; first < count; first += ONNXD_QUANT_CHUNK) {
        size_t part = count - first < ONNXD_QUANT_CHUNK ? count - first : ONNXD_QUANT_CHUNK;
        onnxd_affine_write(dtype, to, values + first, part, bytes, 0);
        for (size_t i = 0; i < part; i++)
            out[(first + i) * stride] = bytes[i];
    }
}

/* Where padding counts, a window that ends beyond it in ceil mode counts all of its taps, as
 * onnxruntime has it; AveragePool leaves those out. */
static void widen_pads(onnxd_window_geometry *g)
{
    for (int i = 0; i < 3; i++) {
        int64_t end = (g->out[i] - 1) * g->stride[i] + (g->kernel[i] - 1) * g->dilation[i] + 1;
        int64_t needed = end - g->in[i] - g->pad_begin[i];
        g->pad_end[i] = needed > g->pad_end[i] ? needed : g->pad_end[i];
    }
}

static onnxd_status *compute_average(const onnxd_compute *compute)
{
    const pool_params *params = compute->params;
    const onnxd_tensor_view *input = &compute->inputs[X];
    if (onnxd_tensor_view_count(&compute->outputs[0]) == 0)
        return NULL;
    planes p = planes_of(compute, true);
    onnxd_affine from = onnxd_affine_of(compute, X_SCALE), to = onnxd_affine_of(compute, Y_SCALE);
    if (params->pool.counts_pads)
        widen_pads(&p.geometry);
    float *plane = compute->workspace, *averages = plane + p.in_size;
    uint8_t *out = onnxd_tensor_view_data(&compute->outputs[0]);
    for (size_t n = 0; n < p.batch; n++, out += p.channels * p.out_size) {
        for (size_t c = 0; c < p.channels; c++) {
            onnxd_affine_read(input->dtype, &from, onnxd_tensor_view_data(input),
                              n * p.channels * p.in_size + c * p.in_pitch, p.stride, p.in_size,
                              plane);
            for (size_t i = 0; i < p.in_size; i++)
                plane[i] *= from.scale;
            onnxd_pool_average(&p.geometry, params->pool.counts_pads, plane, averages);
            store_plane(input->dtype, &to, averages, p.out_size, out + c * p.out_pitch, p.stride);
        }
    }
    return NULL;
}

/* ---- the largest of windows ------------------------------------------------------------------ */

static size_t workspace_maximum(const onnxd_compute *compute)
{
    return workspace_bytes_of(compute, 1);
}

static onnxd_status *compute_maximum(const onnxd_compute *compute)
{
    if (onnxd_tensor_view_count(&compute->outputs[0]) == 0)
        return NULL;
    planes p = planes_of(compute, true);
    uint8_t *plane = compute->workspace, *largest = plane + p.in_size;
    const uint8_t *in = onnxd_tensor_view_data(&compute->inputs[X]);
    uint8_t *out = onnxd_tensor_view_data(&compute->outputs[0]);
    for (size_t n = 0; n < p.batch; n++) {
        for (size_t c = 0; c < p.channels; c++) {
            for (size_t i = 0; i < p.in_size; i++)
                plane[i] = in[i * p.channels + c];
            onnxd_pool_maximum(compute->inputs[X].dtype, &p.geometry, plane, largest);
            for (size_t i = 0; i < p.out_size; i++)
                out[i * p.channels + c] = largest[i];
        }
        in += p.channels * p.in_size;
        out += p.channels * p.out_size;
    }
    return NULL;
}

/* ---- the average of everything --------------------------------------------------------------- */

/* A sum for each channel. */
static size_t workspace_global(const onnxd_compute *compute)
{
    size_t bytes;
    if (onnxd_tensor_view_count(&compute->outputs[0]) == 0)
        return 0;
    planes p = planes_of(compute, false);
    return onnxd_size_mul(p.channels, sizeof(double), &bytes) ? bytes : SIZE_MAX;
}

/* Sums of element - zero point over each plane of image `n`, a row of neighbours at a time. */
static void sum_planes(const onnxd_compute *compute, const planes *p, const onnxd_affine *from,
                       size_t n, double *sums)
{
    const onnxd_tensor_view *input = &compute->inputs[X];
    bool is_last = p->in_pitch == 1;
    size_t rows = is_last ? p->in_size : p->channels, length = is_last ? p->channels : p->in_size;
    float values[ONNXD_QUANT_CHUNK];
    memset(sums, 0, p->channels * sizeof(*sums));
    for (size_t row = 0; row < rows; row++) {
        for (size_t first = 0; first < length; first += ONNXD_QUANT_CHUNK) {
            size_t part = length - first < ONNXD_QUANT_CHUNK ? length - first : ONNXD_QUANT_CHUNK;
            onnxd_affine_read(input->dtype, from, onnxd_tensor_view_data(input),
                              (n * rows + row) * length + first, 1, part, values);
            for (size_t i = 0; i < part; i++)
                sums[is_last ? first + i : row] += (double)values[i];
        }
    }
}

static onnxd_status *compute_global(const onnxd_compute *compute)
{
    const onnxd_tensor_view *output = &compute->outputs[0];
    if (onnxd_tensor_view_count(output) == 0)
        return NULL;
    planes p = planes_of(compute, false);
    onnxd_affine from = onnxd_affine_of(compute, X_SCALE), to = onnxd_affine_of(compute, Y_SCALE);
    double *sums = compute->workspace;
    for (size_t n = 0; n < p.batch; n++) {
        sum_planes(compute, &p, &from, n, sums);
        for (size_t c = 0; c < p.channels; c++) {
            float average = (float)(sums[c] * (double)from.scale / (double)p.in_size);
            onnxd_affine_write(output->dtype, &to, &average, 1, onnxd_tensor_view_data(output),
                               n * p.channels + c);
        }
    }
    return NULL;
}

/* ---- definitions ----------------------------------------------------------------------------- */

#define DATA                                                                                       \
    {                                                                                              \
        .types = ONNXD_CONTRIB_BYTES, .type_variable = 1                                           \
    }
#define AVERAGE(name, is_zero_optional, least, parse_function, infer_function, bytes_function,     \
                compute_function)                                                                  \
    {                                                                                              \
        ONNXD_CONTRIB_NAME(name),                                                                  \
            .min_inputs = least, .max_inputs = 5, .min_outputs = 1, .max_outputs = 1,              \
            .inputs = {DATA,                                                                       \
                       {.types = ONNXD_SET(FLOAT)},                                                \
                       {.types = ONNXD_CONTRIB_BYTES,                                              \
                        .type_variable = 1,                                                        \
                        .is_optional = is_zero_optional},                                          \
                       {.types = ONNXD_SET(FLOAT)},                                                \
                       {.types = ONNXD_CONTRIB_BYTES,                                              \
                        .type_variable = 1,                                                        \
                        .is_optional = is_zero_optional}},                                         \
            .outputs = {DATA}, .params_bytes = sizeof(pool_params), .parse = parse_function,       \
            .infer = infer_function, .workspace_bytes = bytes_function,                            \
            .compute = compute_function, .batch_inputs = 1u                                        \
    }

const onnxd_op_def onnxd_op_qlinear_pool[] = {
    AVERAGE("QLinearAveragePool", true, 4, parse_average, infer_average, workspace_average,
            compute_average),
    AVERAGE("QLinearGlobalAveragePool", false, 5, parse_global, infer_global, workspace_global,
            compute_global),
    {ONNXD_CONTRIB_NAME("NhwcMaxPool"), .min_inputs = 1, .max_inputs = 1, .min_outputs = 1,
     .max_outputs = 1, .inputs = {DATA}, .outputs = {DATA}, .params_bytes = sizeof(pool_params),
     .parse = parse_maximum, .infer = infer_maximum, .workspace_bytes = workspace_maximum,
     .compute = compute_maximum, .batch_inputs = 1u},
    {.op_type = NULL},
};
