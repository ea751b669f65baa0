#include "ep/cpu/compute/convolution.h"

#include <string.h>

#include "base/alloc.h"
#include "base/size_math.h"
#include "ep/cpu/compute/bf16_product.h"
#include "ep/cpu/compute/convolution_internal.h"

/* Fewer channels than this are gathered: a product this short per tap spends its time between
 * taps. */
#define LEAST_DIRECT_CHANNELS ((size_t)8)
/* Fewer channels or maps than this make Winograd's transformations dearer than what they save. */
#define LEAST_WINOGRAD_CHANNELS ((size_t)16)

/* ---- choosing -------------------------------------------------------------------------------- */

/* Roughly, of one thread: multiplications per second of each lane of the level, and weights read
 * from memory, which is done meanwhile. What 3 x 3 windows over small images save in
 * multiplications, several times the weights can cost. */
#define MULTIPLICATIONS_PER_LANE 6e9
#define BYTES_PER_S 12e9
/* Transforming an element takes about as long as so many multiplications. */
#define TRANSFORMATION 12

/* Seconds of `rows` rows through `matrices` matrices of weights. */
static double cost(const onnxd_simd *simd, const onnxd_convolution_shape *s, double matrices,
                   double rows)
{
    const double weights = matrices * (double)s->window.channels * (double)s->maps;
    const double multiplying = weights * rows / (MULTIPLICATIONS_PER_LANE * simd->lanes);
    const double reading = weights * sizeof(float) / BYTES_PER_S;
    return multiplying > reading ? multiplying : reading;
}

static double winograd_cost(const onnxd_simd *simd, const onnxd_convolution_shape *s, size_t tile)
{
    const onnxd_image_window *w = &s->window;
    const double matrices = (double)ONNXD_SIMD_WINOGRAD_MATRICES(tile);
    const size_t down = ((size_t)w->out[1] + tile - 1) / tile;
    const size_t across = ((size_t)w->out[2] + tile - 1) / tile;
    const double tiles = (double)(w->batch * down * across);
    const double transformed = matrices * tiles * (double)(w->channels + s->maps);
    return cost(simd, s, matrices, tiles) +
           TRANSFORMATION * transformed / (MULTIPLICATIONS_PER_LANE * simd->lanes);
}

/* Of direct and both of Winograd's. */
static onnxd_convolution_method cheapest(const onnxd_simd *simd, const onnxd_convolution_shape *s)
{
    const double direct = cost(simd, s, 9, (double)onnxd_image_window_pixels(&s->window));
    const double large = winograd_cost(simd, s, 4), small = winograd_cost(simd, s, 2);
    if (direct <= large && direct <= small)
        return ONNXD_CONVOLUTION_DIRECT;
    return large <= small ? ONNXD_CONVOLUTION_WINOGRAD : ONNXD_CONVOLUTION_WINOGRAD_2X2;
}

static bool can_winograd(const onnxd_convolution_shape *s)
{
    const onnxd_image_window *w = &s->window;
    bool fits = s->groups == 1 && w->channels >= LEAST_WINOGRAD_CHANNELS &&
                s->maps >= LEAST_WINOGRAD_CHANNELS && w->kernel[0] == 1;
    /* One image in and, without padding around it, one out. */
    fits = fits && w->in[0] == 1 && w->out[0] == 1;
    for (int d = 0; d < 3; d++)
        fits = fits && w->stride[d] == 1 && w->dilation[d] == 1 && (d == 0 || w->kernel[d] == 3);
    return fits;
}

bool onnxd_convolution_is_winograd(onnxd_convolution_method method)
{
    return method == ONNXD_CONVOLUTION_WINOGRAD || method == ONNXD_CONVOLUTION_WINOGRAD_2X2;
}

onnxd_convolution_method onnxd_convolution_choose(const onnxd_simd *simd,
                                                  const onnxd_convolution_shape *shape,
                                                  bool allows_winograd)
{
    const size_t taps = onnxd_image_window_taps(&shape->window);
    const size_t channels = shape->window.channels / shape->groups;
    if (channels == 1 && shape->maps == shape->groups)
        return ONNXD_CONVOLUTION_DEPTHWISE;
    if (allows_winograd && !shape->is_bf16 && can_winograd(shape)) {
        const onnxd_convolution_method method = cheapest(simd, shape);
        if (onnxd_convolution_is_winograd(method))
            return method;
    }
    if (taps > 1 && (channels < LEAST_DIRECT_CHANNELS || taps > ONNXD_BLOCK_TAPS))
        return ONNXD_CONVOLUTION_GATHERED;
    return ONNXD_CONVOLUTION_DIRECT;
}

const char *onnxd_convolution_method_name(onnxd_convolution_method method)
{
    switch (method) {
    case ONNXD_CONVOLUTION_GATHERED:
        return "gathered";
    case ONNXD_CONVOLUTION_DEPTHWISE:
        return "depthwise";
    case ONNXD_CONVOLUTION_WINOGRAD:
        return "winograd";
    case ONNXD_CONVOLUTION_WINOGRAD_2X2:
        return "winograd_2x2";
    case ONNXD_CONVOLUTION_DIRECT:
        break;
    }
    return "direct";
}

/* ---- weights --------------------------------------------------------------------------------- */

/* Whether it is a product of bfloat16. */
static bool is_bf16(const onnxd_convolution_shape *shape, onnxd_convolution_method method)
{
    return shape->is_bf16 &&
           (method == ONNXD_CONVOLUTION_DIRECT || method == ONNXD_CONVOLUTION_GATHERED);
}

/* Elements of one of the equal parts that packed weights consist of, and how many there are. */
static bool part_of(const onnxd_simd *simd, const onnxd_convolution_shape *shape,
                    onnxd_convolution_method method, size_t *out_count, size_t *out_parts)
{
    const size_t channels = shape->window.channels / shape->groups;
    size_t depth = channels;
    const bool is_winograd = onnxd_convolution_is_winograd(method);
    *out_parts = is_winograd ? ONNXD_SIMD_WINOGRAD_MATRICES(onnxd_convolution_winograd_tile(method))
                             : shape->groups;
    if (method == ONNXD_CONVOLUTION_DEPTHWISE) {
        *out_count = onnxd_image_window_taps(&shape->window);
        return true;
    }
    return (is_winograd ||
            onnxd_size_mul(channels, onnxd_image_window_taps(&shape->window), &depth)) &&
           (is_bf16(shape, method) ? onnxd_bf16_packed_count : onnxd_product_packed_count)(
               simd, depth, shape->maps / shape->groups, out_count);
}

bool onnxd_convolution_packed_bytes(const onnxd_simd *simd, const onnxd_convolution_shape *shape,
                                    onnxd_convolution_method method, size_t *out_bytes)
{
    size_t count, parts;
    return part_of(simd, shape, method, &count, &parts) && onnxd_size_mul(count, parts, &count) &&
           onnxd_size_mul(count, is_bf16(shape, method) ? sizeof(uint16_t) : sizeof(float),
                          out_bytes);
}

static void pack_groups(const onnxd_simd *simd, const onnxd_convolution_shape *shape,
                        size_t group_packed, const float *weights, void *packed)
{
    const size_t taps = onnxd_image_window_taps(&shape->window);
    const size_t channels = shape->window.channels / shape->groups;
    const size_t maps = shape->maps / shape->groups;
    const onnxd_product_strides strides = {.tap = 1, .step = taps, .column = channels * taps};
    for (size_t g = 0; g < shape->groups; g++, weights += maps * channels * taps) {
        if (shape->is_bf16)
            onnxd_bf16_pack(simd, taps, channels, maps, weights, &strides,
                            (uint16_t *)packed + g * group_packed);
        else
            onnxd_product_pack(simd, taps, channels, maps, weights, &strides,
                               (float *)packed + g * group_packed);
    }
}

void onnxd_convolution_pack(const onnxd_simd *simd, const onnxd_convolution_shape *shape,
                            onnxd_convolution_method method, const float *weights, void *packed)
{
    size_t count = 0, parts;
    if (method == ONNXD_CONVOLUTION_DEPTHWISE)
        onnxd_convolution_depthwise_pack(shape, weights, packed);
    else if (onnxd_convolution_is_winograd(method))
        onnxd_convolution_winograd_pack(simd, shape, onnxd_convolution_winograd_tile(method),
                                        weights, packed);
    else if (part_of(simd, shape, method, &count, &parts))
        pack_groups(simd, shape, count, weights, packed);
}

static bool is_pointwise(const onnxd_image_window *w)
{
    bool is_so = true;
    for (int d = 0; d < 3; d++)
        is_so = is_so && w->kernel[d] == 1 && w->stride[d] == 1 && w->pad_begin[d] == 0 &&
                w->in[d] == w->out[d];
    return is_so;
}

/* ---- life ------------------------------------------------------------------------------------ */

static onnxd_status *make_extras(onnxd_convolution *c, const float *bias)
{
    const size_t width = c->simd->tile_columns;
    size_t biases = 0;
    c->group_bias = c->method == ONNXD_CONVOLUTION_DEPTHWISE
                        ? c->group_maps
                        : (c->group_maps + width - 1) / width * width;
    if (bias != NULL)
        biases = c->group_bias * c->shape.groups;
    const size_t count = biases + c->shape.window.channels;
    c->extras = onnxd_alloc_zero(count, sizeof(float));
    if (c->extras == NULL)
        return onnxd_error_out_of_memory("a convolution", count * sizeof(float), UINT64_MAX);
    for (size_t g = 0; bias != NULL && g < c->shape.groups; g++)
        memcpy(c->extras + g * c->group_bias, bias + g * c->group_maps,
               c->group_maps * sizeof(float));
    c->bias = bias == NULL ? NULL : c->extras;
    c->zeros = c->extras + biases;
    return NULL;
}

onnxd_status *onnxd_convolution_create(const onnxd_simd *simd, const onnxd_convolution_shape *shape,
                                       onnxd_convolution_method method, const void *packed,
                                       const float *bias, const onnxd_simd_activation *activation,
                                       uint32_t threads, onnxd_convolution **out)
{
    size_t parts, elements;
    onnxd_convolution *c = onnxd_alloc_zero(1, sizeof(*c));
    if (c == NULL)
        return onnxd_error_out_of_memory("a convolution", sizeof(*c), UINT64_MAX);
    *c = (onnxd_convolution){.simd = simd,
                             .shape = *shape,
                             .method = method,
                             .activation = *activation,
                             .threads = threads,
                             .taps = onnxd_image_window_taps(&shape->window),
                             .pixels = onnxd_image_window_pixels(&shape->window),
                             .group_channels = shape->window.channels / shape->groups,
                             .group_maps = shape->maps / shape->groups,
                             .packed = is_bf16(shape, method) ? NULL : packed,
                             .packed_bf16 = is_bf16(shape, method) ? packed : NULL};
    c->row_elements = (size_t)shape->window.kernel[2] * c->group_channels;
    c->is_pointwise = is_pointwise(&shape->window);
    onnxd_status *status = make_extras(c, bias);
    if (status == NULL && (!part_of(simd, shape, method, &c->group_packed, &parts) ||
                           (onnxd_convolution_is_winograd(method) &&
                            !onnxd_convolution_winograd_workspace(c, &elements))))
        status = onnxd_error(ONNXD_UNIMPLEMENTED, "this convolution is too large");
    if (status != NULL) {
        onnxd_convolution_destroy(c);
        return status;
    }
    *out = c;
    return NULL;
}

void onnxd_convolution_destroy(onnxd_convolution *convolution)
{
    if (convolution == NULL)
        return;
    onnxd_free(convolution->extras);
    onnxd_free(convolution);
}

size_t onnxd_convolution_workspace_bytes(const onnxd_convolution *convolution)
{
    size_t elements = 0;
    if (onnxd_convolution_is_winograd(convolution->method))
        (void)!onnxd_convolution_winograd_workspace(convolution, &elements);
    else if (convolution->method == ONNXD_CONVOLUTION_GATHERED)
        elements = onnxd_convolution_product_workspace(convolution);
    return elements * sizeof(float);
}

bool onnxd_convolution_takes_pitch_in(const onnxd_convolution *convolution)
{
    return convolution->method != ONNXD_CONVOLUTION_DEPTHWISE || convolution->is_pointwise;
}

bool onnxd_convolution_takes_pitch_out(const onnxd_convolution *convolution)
{
    return convolution->method != ONNXD_CONVOLUTION_DEPTHWISE;
}

void onnxd_convolution_run(const onnxd_convolution *convolution, onnxd_team *team,
                           onnxd_pixels_in in, const float *residual, onnxd_pixels_out out,
                           void *workspace)
{
    onnxd_convolution_call call = {.c = convolution,
                                   .team = team,
                                   .in = in.at,
                                   .places = convolution->shape.window,
                                   .residual = residual,
                                   .out = out.at,
                                   .out_pitch = out.pitch,
                                   .workspace = workspace};
    call.places.channels = in.pitch;
    if (convolution->pixels == 0 || convolution->shape.maps == 0)
        return;
    if (onnxd_convolution_is_winograd(convolution->method))
        onnxd_convolution_winograd_run(&call);
    else if (convolution->method == ONNXD_CONVOLUTION_DEPTHWISE)
        onnxd_convolution_depthwise_run(&call);
    else
        onnxd_convolution_product_run(&call);
}
