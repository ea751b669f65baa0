#include "ops/window.h"

#include <inttypes.h>
#include <string.h>

#include "graph/attributes.h"
#include "ops/choice.h"
#include "ops/support.h"

static onnxd_status *parse_auto_pad(const onnxd_node *node, onnxd_window *window)
{
    static const char *const names[] = {
        [ONNXD_AUTO_PAD_NOTSET] = "NOTSET",
        [ONNXD_AUTO_PAD_SAME_UPPER] = "SAME_UPPER",
        [ONNXD_AUTO_PAD_SAME_LOWER] = "SAME_LOWER",
        [ONNXD_AUTO_PAD_VALID] = "VALID",
    };
    size_t choice = ONNXD_AUTO_PAD_NOTSET;
    ONNXD_TRY(onnxd_op_choice(node, "auto_pad", names, ONNXD_COUNT(names), &choice));
    window->auto_pad = (onnxd_auto_pad)choice;
    return NULL;
}

/* One list of `per_dimension` values for each spatial dimension. */
static onnxd_status *parse_list(const onnxd_node *node, const char *name, size_t per_dimension,
                                int64_t minimum, int64_t *values, onnxd_window *window)
{
    size_t count = 0;
    ONNXD_TRY(onnxd_attribute_ints(node, name, 0, per_dimension * ONNXD_WINDOW_MAX_SPATIAL, minimum,
                                   ONNXD_WINDOW_MAX_VALUE, values, &count));
    if (count == 0)
        return NULL;
    size_t spatial = count / per_dimension;
    if (count % per_dimension != 0 || (window->spatial != 0 && window->spatial != spatial))
        return onnxd_op_error(node,
                              "attribute '%s' has %zu values, which does not fit %zu spatial "
                              "dimensions",
                              name, count, window->spatial);
    window->spatial = spatial;
    return NULL;
}

onnxd_status *onnxd_window_parse(const onnxd_node *node, onnxd_window *out_window)
{
    onnxd_window window = {.is_ceil_mode = out_window->is_ceil_mode,
                           .limits_pads = out_window->limits_pads};
    for (size_t i = 0; i < ONNXD_WINDOW_MAX_SPATIAL; i++)
        window.kernel[i] = window.strides[i] = window.dilations[i] = 1;
    ONNXD_TRY(parse_auto_pad(node, &window));
    ONNXD_TRY(parse_list(node, "kernel_shape", 1, 1, window.kernel, &window));
    window.kernel_count = window.spatial;
    ONNXD_TRY(parse_list(node, "strides", 1, 1, window.strides, &window));
    ONNXD_TRY(parse_list(node, "dilations", 1, 1, window.dilations, &window));
    ONNXD_TRY(parse_list(node, "pads", 2, 0, window.pads, &window));
    *out_window = window;
    return NULL;
}

/* Everything about one dimension, static. */
typedef struct axis {
    int64_t in, out, kernel, stride, dilation, pad_begin, pad_end;
} axis;

static axis axis_of(const onnxd_window *window, size_t spatial, size_t i, int64_t in,
                    int64_t kernel)
{
    axis a = {
        .in = in, .kernel = kernel, .stride = window->strides[i], .dilation = window->dilations[i]};
    if (window->auto_pad == ONNXD_AUTO_PAD_NOTSET) {
        a.pad_begin = window->pads[i];
        a.pad_end = window->pads[spatial + i];
    }
    return a;
}

/* Fills in `out` and the automatic pads. False when the window does not fit even once. Values are
 * bounded by ONNXD_WINDOW_MAX_VALUE and `in` by INT64_MAX / 4, so nothing overflows. */
static bool axis_resolve(const onnxd_window *window, axis *a)
{
    int64_t effective = (a->kernel - 1) * a->dilation + 1;
    if (window->auto_pad == ONNXD_AUTO_PAD_SAME_UPPER ||
        window->auto_pad == ONNXD_AUTO_PAD_SAME_LOWER) {
        a->out = a->in / a->stride + (a->in % a->stride != 0);
        int64_t total = a->out == 0 ? 0 : (a->out - 1) * a->stride + effective - a->in;
        if (total < 0)
            total = 0;
        int64_t smaller = total / 2;
        bool is_upper = window->auto_pad == ONNXD_AUTO_PAD_SAME_UPPER;
        a->pad_begin = is_upper ? smaller : total - smaller;
        a->pad_end = total - a->pad_begin;
        return true;
    }
    int64_t room = a->in + a->pad_begin + a->pad_end - effective;
    if (window->is_ceil_mode)
        room += a->stride - 1;
    if (room < 0)
        return false;
    a->out = room / a->stride + 1;
    /* A window that would begin in the padding at the end is dropped. */
    if (window->is_ceil_mode && (a->out - 1) * a->stride >= a->in + a->pad_begin)
        a->out--;
    return true;
}

static onnxd_status *infer_axis(const onnxd_window *window, const onnxd_node *node, size_t spatial,
                                size_t i, int64_t in, int64_t kernel, int64_t *out_dim)
{
    bool is_same = window->auto_pad == ONNXD_AUTO_PAD_SAME_UPPER ||
                   window->auto_pad == ONNXD_AUTO_PAD_SAME_LOWER;
    *out_dim = ONNXD_DIM_UNKNOWN;
    if (!onnxd_dim_is_static(in)) {
        if (is_same && window->strides[i] == 1)
            *out_dim = in;
        return NULL;
    }
    if (in > INT64_MAX / 4)
        return onnxd_op_error(node,
                              "spatial dimension %zu is too large: "
                              "%" PRId64,
                              i, in);
    if (!onnxd_dim_is_static(kernel))
        return NULL;
    if (kernel < 1 || kernel > ONNXD_WINDOW_MAX_VALUE)
        return onnxd_op_error(node,
                              "kernel dimension %zu is %" PRId64 ", allowed are 1 to %" PRId32, i,
                              kernel, ONNXD_WINDOW_MAX_VALUE);
    axis a = axis_of(window, spatial, i, in, kernel);
    int64_t effective = (kernel - 1) * a.dilation + 1;
    if (window->limits_pads && (a.pad_begin >= effective || a.pad_end >= effective))
        return onnxd_op_error(node,
                              "pads %" PRId64 " and %" PRId64 " of spatial dimension %zu must be "
                              "smaller than the window, %" PRId64,
                              a.pad_begin, a.pad_end, i, effective);
    if (!axis_resolve(window, &a))
        return onnxd_op_error(node,
                              "spatial dimension %zu is %" PRId64 " with pads %" PRId64
                              " and %" PRId64 ", smaller than the window, %" PRId64,
                              i, in, a.pad_begin, a.pad_end, effective);
    *out_dim = a.out;
    return NULL;
}

onnxd_status *onnxd_window_infer(const onnxd_window *window, const onnxd_node *node,
                                 int32_t spatial, const int64_t *in, const int64_t *kernel,
                                 int64_t *out_dims)
{
    if (spatial < 1 || spatial > ONNXD_WINDOW_MAX_SPATIAL)
        return onnxd_op_error(node,
                              "the input has %" PRId32 " spatial dimensions, allowed are 1 to %d",
                              spatial, ONNXD_WINDOW_MAX_SPATIAL);
    size_t count = (size_t)spatial;
    if (window->spatial != 0 && window->spatial != count)
        return onnxd_op_error(node, "the input has %zu spatial dimensions, the attributes have %zu",
                              count, window->spatial);
    int64_t dims[ONNXD_WINDOW_MAX_SPATIAL];
    for (size_t i = 0; i < count; i++) {
        int64_t size = kernel != NULL ? kernel[i] : window->kernel[i];
        if (window->kernel_count != 0 && onnxd_dim_is_static(size) && size != window->kernel[i])
            return onnxd_op_error(node,
                                  "attribute 'kernel_shape' has %" PRId64 " in dimension %zu, the "
                                  "weights have %" PRId64,
                                  window->kernel[i], i, size);
        if (window->kernel_count != 0)
            size = window->kernel[i];
        ONNXD_TRY(infer_axis(window, node, count, i, in[i], size, &dims[i]));
    }
    memcpy(out_dims, dims, count * sizeof(*dims));
    return NULL;
}

onnxd_window_geometry onnxd_window_resolve(const onnxd_window *window, int32_t spatial,
                                           const int64_t *in, const int64_t *kernel)
{
    onnxd_window_geometry geometry = {.spatial = spatial};
    size_t absent = 3 - (size_t)spatial;
    for (size_t i = 0; i < absent; i++) {
        geometry.in[i] = geometry.out[i] = geometry.kernel[i] = 1;
        geometry.stride[i] = geometry.dilation[i] = 1;
    }
    for (size_t i = 0; i < (size_t)spatial; i++) {
        axis a = axis_of(window, (size_t)spatial, i, in[i],
                         kernel != NULL ? kernel[i] : window->kernel[i]);
        (void)axis_resolve(window, &a);
        geometry.in[absent + i] = a.in;
        geometry.out[absent + i] = a.out;
        geometry.kernel[absent + i] = a.kernel;
        geometry.stride[absent + i] = a.stride;
        geometry.dilation[absent + i] = a.dilation;
        geometry.pad_begin[absent + i] = a.pad_begin;
        geometry.pad_end[absent + i] = a.pad_end;
    }
    /* The other extents of an input without elements may be huge. With nothing to read, all are 0:
     * no window then has a tap to visit, and no offset to compute. */
    if (geometry.in[0] == 0 || geometry.in[1] == 0 || geometry.in[2] == 0)
        memset(geometry.in, 0, sizeof(geometry.in));
    return geometry;
}

void onnxd_window_clip(int64_t start, int64_t kernel, int64_t dilation, int64_t extent,
                       int64_t *out_first, int64_t *out_last)
{
    int64_t first = 0, last = 0;
    if (start < 0)
        first = -start / dilation + (-start % dilation != 0);
    if (start < extent)
        last = (extent - 1 - start) / dilation + 1;
    if (last > kernel)
        last = kernel;
    *out_first = first < last ? first : 0;
    *out_last = first < last ? last : 0;
}
