/* Convolutions of 8-bit integers, against sums in 64 bits over windows found pixel by pixel. */
#include <string.h>

#include <criterion/criterion.h>

#include "base/alloc.h"
#include "ep/cpu/compute/integer_convolution.h"
#include "tests/ep/cpu/compute/convolutions.h"

/* Behind the output. */
#define BEHIND 0x5a

typedef struct integer_data {
    onnxd_convolution_shape shape;
    size_t in_count, weight_count, out_count, taps;
    uint8_t *in, *weights;
    uint8_t zero; /* of `in` */
} integer_data;

/* UINT8 images; INT8 weights of at most `most` in magnitude. */
static void data_init(const convolution_case *of, int most, integer_data *data)
{
    uint64_t seed = 77;
    const onnxd_image_window *w;
    data->shape = convolution_shape_of(of);
    w = &data->shape.window;
    data->taps = onnxd_image_window_taps(w);
    data->in_count = w->batch * (size_t)(w->in[0] * w->in[1] * w->in[2]) * w->channels;
    data->weight_count = data->shape.maps * (w->channels / data->shape.groups) * data->taps;
    data->out_count = onnxd_image_window_pixels(w) * data->shape.maps;
    data->zero = 19;
    data->in = onnxd_alloc(data->in_count + 1);
    data->weights = onnxd_alloc(data->weight_count + 1);
    cr_assert(data->in != NULL && data->weights != NULL);
    for (size_t i = 0; i < data->in_count; i++)
        data->in[i] = (uint8_t)(engine_random(&seed) >> 9);
    for (size_t i = 0; i < data->weight_count; i++)
        data->weights[i] = (uint8_t)((int)(engine_random(&seed) % (2 * (uint64_t)most + 1)) - most);
}

static void data_deinit(integer_data *data)
{
    onnxd_free(data->in);
    onnxd_free(data->weights);
}

/* The sum of map `m` at a pixel, whose bias is the map's number. */
static int64_t expected(const integer_data *data, const onnxd_window_place *place, size_t m)
{
    const onnxd_image_window *w = &data->shape.window;
    const size_t channels = w->channels / data->shape.groups;
    const size_t group = m / (data->shape.maps / data->shape.groups);
    int64_t sum = (int64_t)m;
    size_t t = 0;
    for (int64_t z = 0; z < w->kernel[0]; z++) {
        for (int64_t y = 0; y < w->kernel[1]; y++) {
            for (int64_t x = 0; x < w->kernel[2]; x++, t++) {
                const int64_t at = onnxd_window_tap(w, place, z, y, x);
                for (size_t c = 0; at >= 0 && c < channels; c++)
                    sum += ((int64_t)data->in[(size_t)at + group * channels + c] - data->zero) *
                           (int8_t)data->weights[(m * channels + c) * data->taps + t];
            }
        }
    }
    return sum;
}

static void compare(const integer_data *data, const int32_t *out, const char *name)
{
    const onnxd_image_window *w = &data->shape.window;
    onnxd_window_place place;
    onnxd_window_place_init(w, 0, &place);
    for (size_t pixel = 0; pixel < onnxd_image_window_pixels(w); pixel++) {
        for (size_t m = 0; m < data->shape.maps; m++)
            cr_assert_eq(out[pixel * data->shape.maps + m], expected(data, &place, m),
                         "%s: pixel %zu, map %zu", name, pixel, m);
        onnxd_window_place_next(w, &place);
    }
}

static void check_case(const onnxd_simd *simd, const convolution_case *of, int most,
                       onnxd_team *team)
{
    integer_data data;
    onnxd_integer_convolution c;
    const bool wants_fours = most < 128;
    data_init(of, most, &data);
    cr_assert(onnxd_integer_convolution_init(
        &c, simd, &data.shape, wants_fours ? data.weights : NULL, onnxd_team_threads(team)));
    cr_assert(wants_fours || !c.is_fours);
    cr_assert(!(wants_fours && simd->takes_any_bytes && c.is_gathered) || c.is_fours);
    const size_t columns = c.shape.groups * c.padded_maps;
    int8_t *packed =
        onnxd_alloc_aligned(onnxd_integer_convolution_packed_bytes(&c) + 1, ONNXD_PACKED_ALIGNMENT);
    void *workspace = onnxd_alloc_aligned(c.workspace_bytes + 1, ONNXD_PACKED_ALIGNMENT);
    int32_t *sums = onnxd_alloc_zero(data.shape.maps, sizeof(*sums));
    int32_t *addends = onnxd_alloc_zero(columns, sizeof(*addends));
    uint8_t *out = onnxd_alloc(data.out_count * sizeof(int32_t) + 1);
    cr_assert(packed != NULL && workspace != NULL && sums != NULL && addends != NULL);
    memset(workspace, 0xee, c.workspace_bytes);
    out[data.out_count * sizeof(int32_t)] = BEHIND;
    onnxd_integer_convolution_pack(&c, data.weights, 0, packed);
    onnxd_integer_convolution_sum(&c, data.weights, sums);
    for (size_t m = 0; m < data.shape.maps; m++)
        addends[m / c.group_maps * c.padded_maps + m % c.group_maps] =
            (int32_t)m - (c.is_fours ? data.zero * sums[m] : 0);
    const onnxd_integer_convolution_call call = {
        .c = &c,
        .team = team,
        .in = data.in,
        .in_byte = data.zero,
        .in_zero = onnxd_integer_zero(false, data.zero),
        .packed = packed,
        .post = {.kind = ONNXD_SIMD_SUMS, .addends = addends},
        .out = out,
        .workspace = workspace,
    };
    onnxd_integer_convolution_run(&call);
    compare(&data, (const int32_t *)(const void *)out, of->name);
    cr_assert_eq(out[data.out_count * sizeof(int32_t)], BEHIND);
    onnxd_free(packed);
    onnxd_free(workspace);
    onnxd_free(sums);
    onnxd_free(addends);
    onnxd_free(out);
    data_deinit(&data);
}

static void check_all(const onnxd_simd *simd)
{
    onnxd_team *team = NULL;
    cr_assert_null(onnxd_team_create(2, &team));
    for (size_t i = 0; i < convolution_case_count; i++) {
        check_case(simd, &convolution_cases[i], 128, team);
        check_case(simd, &convolution_cases[i], 127, team);
        check_case(simd, &convolution_cases[i], 32, team);
        check_case(simd, &convolution_cases[i], 64, team);
    }
    onnxd_team_destroy(team);
}

Test(integer_convolution, sums_are_exact)
{
    each_level(check_all);
}

/* ---- the method ------------------------------------------------------------------------------ */

typedef struct method_case {
    convolution_case of;
    bool is_gathered, is_by_rows;
    size_t row_taps;
} method_case;

#define SQUARE(channels, maps, groups, kernel, stride, dilation)                                   \
    {                                                                                              \
        "", 1, channels, maps, groups, {1, 19, 19}, {1, kernel, kernel}, {1, stride, stride},      \
            {1, dilation, dilation}, {0, 1, 1}, {0, 1, 1}, 0                                       \
    }
static const method_case methods[] = {
    {SQUARE(3, 8, 1, 7, 2, 1), true, true, 7},   {SQUARE(1, 8, 1, 3, 1, 1), true, true, 3},
    {SQUARE(3, 8, 1, 3, 1, 2), true, false, 9},  {SQUARE(4, 8, 2, 3, 1, 1), true, false, 9},
    {SQUARE(16, 8, 1, 1, 1, 1), true, false, 1}, {SQUARE(16, 8, 1, 3, 1, 1), false, false, 1},
};

static void check_methods(const onnxd_simd *simd)
{
    for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]) && simd->byte_product != NULL;
         i++) {
        const method_case *of = &methods[i];
        integer_data data;
        onnxd_integer_convolution c;
        data_init(&of->of, 32, &data);
        cr_assert(onnxd_integer_convolution_init(&c, simd, &data.shape, data.weights, 1));
        cr_expect_eq(c.is_gathered, of->is_gathered, "%zu", i);
        cr_expect_eq(c.is_by_rows, of->is_by_rows, "%zu", i);
        cr_expect_eq(c.row_taps, of->row_taps, "%zu: %zu", i, c.row_taps);
        /* Not as bytes: windows are copied, to be widened. */
        cr_assert(onnxd_integer_convolution_init(&c, simd, &data.shape, NULL, 1));
        cr_expect_not(c.is_by_rows, "%zu", i);
        data_deinit(&data);
    }
}

/* Two weights of 100 next to each other do not fit: by rows the fourth and the fifth are, in all of
 * the window the third and the fourth. */
static void check_fitting_methods(const onnxd_simd *simd)
{
    static const convolution_case of = SQUARE(1, 1, 1, 3, 1, 1);
    for (size_t first = 2; first <= 3 && simd->byte_product != NULL; first++) {
        integer_data data;
        onnxd_integer_convolution c;
        data_init(&of, 32, &data);
        memset(data.weights, 0, data.weight_count);
        data.weights[first] = data.weights[first + 1] = 100;
        cr_assert(onnxd_integer_convolution_init(&c, simd, &data.shape, data.weights, 1));
        const bool is_by_rows = simd->takes_any_bytes || first == 2;
        cr_expect(c.is_fours, "%zu", first);
        cr_expect_eq(c.is_by_rows, is_by_rows, "%zu", first);
        cr_expect_eq(c.row_taps, is_by_rows ? 3 : 9, "%zu", first);
        data_deinit(&data);
    }
}

Test(integer_convolution, windows_of_few_channels_are_read_by_rows)
{
    each_level(check_methods);
    each_level(check_fitting_methods);
}
