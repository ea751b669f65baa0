#include "tests/ep/cpu/compute/convolutions.h"

#include <math.h>
#include <string.h>

#include <criterion/criterion.h>

#include "base/alloc.h"
#include "base/dtype.h"

onnxd_convolution_shape convolution_shape_of(const convolution_case *of)
{
    onnxd_convolution_shape shape = {.window = {.batch = of->batch, .channels = of->channels},
                                     .groups = of->groups,
                                     .maps = of->maps};
    onnxd_image_window *w = &shape.window;
    for (int d = 0; d < 3; d++) {
        w->in[d] = of->in[d];
        w->kernel[d] = of->kernel[d];
        w->stride[d] = of->stride[d];
        w->dilation[d] = of->dilation[d];
        w->pad_begin[d] = of->pad_begin[d];
        w->pad_end[d] = of->pad_end[d];
        w->out[d] = extent_out(w, d);
    }
    return shape;
}

bool convolution_suits(const onnxd_convolution_shape *s, onnxd_convolution_method method)
{
    const onnxd_image_window *w = &s->window;
    bool is_3x3 = s->groups == 1 && w->out[0] == 1 && w->kernel[0] == 1;
    switch (method) {
    case ONNXD_CONVOLUTION_DIRECT:
        return onnxd_image_window_taps(w) <= ONNXD_BLOCK_TAPS;
    case ONNXD_CONVOLUTION_GATHERED:
        return true;
    case ONNXD_CONVOLUTION_DEPTHWISE:
        return s->groups == w->channels && s->groups == s->maps;
    case ONNXD_CONVOLUTION_WINOGRAD:
    case ONNXD_CONVOLUTION_WINOGRAD_2X2:
        for (int d = 0; d < 3; d++)
            is_3x3 = is_3x3 && w->stride[d] == 1 && w->dilation[d] == 1 &&
                     w->kernel[d] == (d == 0 ? 1 : 3);
        return is_3x3;
    }
    return false;
}

/* ---- what should be -------------------------------------------------------------------------- */

/* One element, by going through every tap of its window. */
static double sum_of(const convolution_data *data, size_t pixel, size_t map)
{
    const onnxd_image_window *w = &data->shape.window;
    const size_t channels = w->channels / data->shape.groups;
    const size_t group = map / (data->shape.maps / data->shape.groups);
    const int64_t taps = w->kernel[0] * w->kernel[1] * w->kernel[2];
    const int64_t pixels[3] = {(int64_t)pixel / w->out[2] / w->out[1] % w->out[0],
                               (int64_t)pixel / w->out[2] % w->out[1], (int64_t)pixel % w->out[2]};
    double sum = 0;
    for (int64_t tap = 0; tap < taps; tap++) {
        const int64_t along[3] = {tap / w->kernel[2] / w->kernel[1],
                                  tap / w->kernel[2] % w->kernel[1], tap % w->kernel[2]};
        size_t at = pixel / (size_t)(w->out[0] * w->out[1] * w->out[2]);
        bool is_within = true;
        for (int d = 0; d < 3; d++) {
            const int64_t x =
                pixels[d] * w->stride[d] - w->pad_begin[d] + along[d] * w->dilation[d];
            is_within = is_within && x >= 0 && x < w->in[d];
            at = at * (size_t)w->in[d] + (size_t)x;
        }
        for (size_t c = 0; is_within && c < channels; c++)
            sum += (double)data->in[at * w->channels + group * channels + c] *
                   (double)data->weights[(map * channels + c) * (size_t)taps + (size_t)tap];
    }
    return sum;
}

static void add_up(convolution_data *data)
{
    data->largest = 0;
    for (size_t i = 0; i < data->count; i++) {
        data->sums[i] = sum_of(data, i / data->shape.maps, i % data->shape.maps);
        data->largest = fmax(data->largest, fabs(data->sums[i]));
    }
}

void convolution_data_init(const convolution_case *of, uint64_t seed, convolution_data *data)
{
    *data = (convolution_data){.shape = convolution_shape_of(of)};
    const onnxd_image_window *w = &data->shape.window;
    const size_t taps = onnxd_image_window_taps(w), maps = of->maps;
    data->count = onnxd_image_window_pixels(w) * maps;
    data->in_count = w->batch * (size_t)(w->in[0] * w->in[1] * w->in[2]) * w->channels;
    data->weight_count = maps * (w->channels / of->groups) * taps;
    data->in = random_floats(&seed, data->in_count);
    data->weights = random_floats(&seed, data->weight_count);
    data->bias = random_floats(&seed, maps);
    data->residual = random_floats(&seed, data->count);
    data->sums = onnxd_alloc(data->count * sizeof(data->sums[0]));
    cr_assert_not_null(data->sums);
    add_up(data);
}

static void round_all(float *values, size_t count)
{
    for (size_t i = 0; i < count; i++)
        values[i] = onnxd_bfloat16_to_float(onnxd_float_to_bfloat16(values[i]));
}

void convolution_data_round(convolution_data *data)
{
    data->shape.is_bf16 = true;
    round_all(data->in, data->in_count);
    round_all(data->weights, data->weight_count);
    add_up(data);
}

void convolution_data_deinit(convolution_data *data)
{
    onnxd_free(data->in);
    onnxd_free(data->weights);
    onnxd_free(data->bias);
    onnxd_free(data->residual);
    onnxd_free(data->sums);
}

/* ---- a run ----------------------------------------------------------------------------------- */

/* Memory of exactly that size, every element NaN. */
static void *make_garbage(size_t bytes)
{
    void *garbage = onnxd_alloc_aligned(bytes, ONNXD_PACKED_ALIGNMENT);
    cr_assert_not_null(garbage);
    return memset(garbage, 0xff, bytes);
}

static double difference(const convolution_data *data, const convolution_extras *extras,
                         const float *out)
{
    double worst = 0;
    for (size_t i = 0; i < data->count; i++) {
        double want = data->sums[i];
        want += extras->has_bias ? (double)data->bias[i % data->shape.maps] : 0;
        want += extras->has_residual ? (double)data->residual[i] : 0;
        want = (double)activation_reference(&each_activation[extras->function], want);
        if (isnan(out[i]))
            return INFINITY;
        worst = fmax(worst, fabs((double)out[i] - want));
    }
    return worst / fmax(data->largest, 1);
}

/* Pixels of `length` elements with gaps of NaN between them. */
static float *spread(const float *from, size_t pixels, size_t length, size_t pitch)
{
    float *to = make_garbage((pixels * pitch + 1) * sizeof(float));
    for (size_t i = 0; i < pixels; i++)
        memcpy(to + i * pitch, from + i * length, length * sizeof(float));
    return to;
}

/* Moves pixels together, and checks that nothing was written between them. */
static void close_up(float *pixels, size_t count, size_t length, size_t pitch)
{
    for (size_t i = 0; i < count; i++) {
        cr_assert(is_guarded(pixels + i * pitch + length, pitch - length), "wrote behind pixel %zu",
                  i);
        memmove(pixels + i * length, pixels + i * pitch, length * sizeof(float));
    }
}

double convolution_run(const onnxd_simd *simd, const convolution_data *data,
                       onnxd_convolution_method method, const convolution_extras *extras,
                       onnxd_team *team)
{
    enum { MARGIN = ONNXD_SIMD_MAX_LANES };
    size_t bytes = 0;
    onnxd_convolution *convolution = NULL;
    cr_assert(onnxd_convolution_packed_bytes(simd, &data->shape, method, &bytes));
    float *packed = make_garbage(bytes);
    onnxd_convolution_pack(simd, &data->shape, method, data->weights, packed);
    onnxd_status *status = onnxd_convolution_create(
        simd, &data->shape, method, packed, extras->has_bias ? data->bias : NULL,
        &each_activation[extras->function], onnxd_team_threads(team), &convolution);
    cr_assert_null(status, "%s", onnxd_status_message(status));
    void *workspace = make_garbage(onnxd_convolution_workspace_bytes(convolution));
    const onnxd_image_window *w = &data->shape.window;
    const size_t pixels = onnxd_image_window_pixels(w), maps = data->shape.maps;
    const size_t in_pitch =
        w->channels + (onnxd_convolution_takes_pitch_in(convolution) ? extras->gap : 0);
    const bool may_gap = !extras->has_residual && onnxd_convolution_takes_pitch_out(convolution);
    const size_t out_pitch = maps + (may_gap ? extras->gap : 0);
    float *in = spread(data->in, w->batch * (size_t)(w->in[0] * w->in[1] * w->in[2]), w->channels,
                       in_pitch);
    float *out = guard_floats(pixels * out_pitch + MARGIN);
    const uint64_t calls = onnxd_alloc_thread_calls();
    onnxd_convolution_run(convolution, team, (onnxd_pixels_in){in, in_pitch},
                          extras->has_residual ? data->residual : NULL,
                          (onnxd_pixels_out){out, out_pitch}, workspace);
    cr_expect_eq(onnxd_alloc_thread_calls(), calls, "a run allocates");
    cr_assert(is_guarded(out + pixels * out_pitch, MARGIN), "%s: wrote beyond its end",
              onnxd_convolution_method_name(method));
    close_up(out, pixels, maps, out_pitch);
    const double worst = difference(data, extras, out);
    onnxd_free(in);
    onnxd_free(out);
    onnxd_free(workspace);
    onnxd_convolution_destroy(convolution);
    onnxd_free(packed);
    return worst;
}
