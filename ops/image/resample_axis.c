/* Coordinates and weights of one axis. Formulas: ONNX's Resize, attributes
 * coordinate_transformation_mode, nearest_mode, antialias and cubic_coeff_a. */
#include <math.h>

#include "ops/image/resample.h"

bool onnxd_resample_keeps(const onnxd_resample *how, const onnxd_resample_axis *axis)
{
    if (axis->in != axis->out || axis->scale != 1)
        return false;
    return how->coordinates != ONNXD_RESAMPLE_TF_CROP_AND_RESIZE ||
           (axis->roi_start == 0 && axis->roi_end == 1);
}

/* The coordinate in the input. `in_float` rounds every step to float, as other runtimes do: which
 * of two neighbours is the nearest may hang on that. */
static double coordinate(const onnxd_resample *how, const onnxd_resample_axis *axis,
                         int64_t position, bool in_float)
{
#define STEP(value) (in_float ? (double)(float)(value) : (value))
    double x = STEP((double)position), in = STEP((double)axis->in), out = STEP((double)axis->out);
    double scale = STEP(axis->scale), span = in - 1;
    double start = STEP(axis->roi_start), end = STEP(axis->roi_end);
    double length = STEP(axis->length);
    double half = STEP(STEP(STEP(x + 0.5) / scale) - 0.5);
    switch (how->coordinates) {
    case ONNXD_RESAMPLE_HALF_PIXEL:
        return half;
    case ONNXD_RESAMPLE_HALF_PIXEL_SYMMETRIC:
        return STEP(STEP(in / 2 * STEP(1 - STEP(out / length))) + half);
    case ONNXD_RESAMPLE_PYTORCH_HALF_PIXEL:
        return axis->out > 1 ? half : 0;
    case ONNXD_RESAMPLE_ALIGN_CORNERS:
        return axis->out > 1 ? STEP(STEP(x * span) / STEP(length - 1)) : 0;
    case ONNXD_RESAMPLE_TF_HALF_PIXEL_FOR_NN:
        return STEP(STEP(x + 0.5) / scale);
    case ONNXD_RESAMPLE_TF_CROP_AND_RESIZE:
        if (axis->out <= 1)
            return STEP(0.5 * STEP(STEP(start + end) * span));
        return STEP(STEP(start * span) +
                    STEP(STEP(STEP(x * STEP(end - start)) * span) / STEP(out - 1)));
    case ONNXD_RESAMPLE_ASYMMETRIC:
    default:
        return STEP(x / scale);
    }
#undef STEP
}

static bool lies_outside(const onnxd_resample *how, const onnxd_resample_axis *axis, double x)
{
    return how->coordinates == ONNXD_RESAMPLE_TF_CROP_AND_RESIZE &&
           !(x >= 0 && x <= (double)(axis->in - 1));
}

bool onnxd_resample_is_outside(const onnxd_resample *how, const onnxd_resample_axis *axis,
                               int64_t position)
{
    return !onnxd_resample_keeps(how, axis) &&
           lies_outside(how, axis,
                        coordinate(how, axis, position, how->mode == ONNXD_RESAMPLE_NEAREST));
}

int64_t onnxd_resample_nearest(const onnxd_resample *how, const onnxd_resample_axis *axis,
                               int64_t position)
{
    if (onnxd_resample_keeps(how, axis))
        return position;
    double x = coordinate(how, axis, position, true);
    if (lies_outside(how, axis, x))
        return -1;
    switch (how->rounding) {
    case ONNXD_RESAMPLE_ROUND_PREFER_FLOOR:
        x = ceil(x - 0.5);
        break;
    case ONNXD_RESAMPLE_ROUND_PREFER_CEIL:
        x = floor(x + 0.5);
        break;
    case ONNXD_RESAMPLE_CEIL:
        x = ceil(x);
        break;
    case ONNXD_RESAMPLE_SIMPLE:
        x = axis->scale < 1 ? ceil(x) : floor(x);
        break;
    case ONNXD_RESAMPLE_FLOOR:
    default:
        x = floor(x);
        break;
    }
    /* Rounded to float, the last of a long axis may be one too many. */
    if (!(x > 0))
        return 0;
    return x < (double)axis->in ? (int64_t)x : axis->in - 1;
}

/* ---- weights --------------------------------------------------------------------------------- */

/* Elements below and above a coordinate that a filter of mode `how` reaches, stretched by
 * 1 / `scale`: taps [*out_below, 1 - *out_below] around the element below the coordinate. */
static int64_t reach_below(const onnxd_resample *how, double scale)
{
    double radius = how->mode == ONNXD_RESAMPLE_LINEAR ? 1 : 2;
    return (int64_t)floor(-radius / scale) + 1;
}

static double filter_scale(const onnxd_resample *how, double scale)
{
    return how->is_antialiased && scale < 1 ? scale : 1;
}

size_t onnxd_resample_max_taps(const onnxd_resample *how, const onnxd_resample_axis *axis)
{
    if (axis->out == 0 || axis->in == 0)
        return 1;
    /* The extents come from the scale by rounding, so this is none larger than it. */
    double scale = ((double)axis->out - 0.5) / ((double)axis->in + 0.5);
    size_t taps = 2 - 2 * (size_t)reach_below(how, filter_scale(how, scale));
    return taps < (size_t)axis->in ? taps : (size_t)axis->in;
}

/* The filter at a distance of at least 0. Cubic: R. Keys, "Cubic convolution interpolation for
 * digital image processing", equation 4. */
static double filter(const onnxd_resample *how, double distance)
{
    double a = (double)how->cubic_a, x = distance;
    if (how->mode == ONNXD_RESAMPLE_LINEAR)
        return x < 1 ? 1 - x : 0;
    if (x <= 1)
        return ((a + 2) * x - (a + 3)) * x * x + 1;
    return x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : 0;
}

/* Taps without weight at either end are none, so that NaN there does not matter. */
static void trim(double *weights, int64_t *first, size_t *count)
{
    size_t skip = 0;
    while (*count > 1 && weights[*count - 1] == 0)
        (*count)--;
    while (skip + 1 < *count && weights[skip] == 0)
        skip++;
    for (size_t i = 0; skip > 0 && i + skip < *count; i++)
        weights[i] = weights[i + skip];
    *first += (int64_t)skip;
    *count -= skip;
}

static int64_t clamp(int64_t value, int64_t high)
{
    return value < 0 ? 0 : value > high ? high : value;
}

void onnxd_resample_taps(const onnxd_resample *how, const onnxd_resample_axis *axis,
                         int64_t position, size_t max_taps, double *weights, int64_t *out_first,
                         size_t *out_count)
{
    double x = coordinate(how, axis, position, false);
    double scale = filter_scale(how, axis->scale);
    int64_t high = axis->in - 1, below = reach_below(how, scale);
    /* Where x is no number or far off, every tap is at the edge anyway. */
    double limit = 4.0 * (double)axis->in + 8;
    x = fmin(fmax(x, -limit), limit);
    double base = ceil(x) - 1;
    int64_t low = (int64_t)base + below, taps = 2 - 2 * below;
    int64_t first = clamp(low, high), last = clamp(low + taps - 1, high);
    size_t count = (size_t)(last - first) + 1;
    if (count > max_taps)
        count = max_taps;
    for (size_t i = 0; i < count; i++)
        weights[i] = 0;
    double sum = 0;
    for (int64_t i = 0; i < taps; i++) {
        double weight = filter(how, fabs((double)(below + i) - (x - base)) * scale);
        int64_t at = clamp(low + i, high) - first;
        if ((how->excludes_outside && at + first != low + i) || at >= (int64_t)count)
            continue;
        weights[at] += weight;
        sum += weight;
    }
    if ((how->excludes_outside || how->is_antialiased) && sum != 0)
        for (size_t i = 0; i < count; i++)
            weights[i] /= sum;
    trim(weights, &first, &count);
    *out_first = first;
    *out_count = count;
}
