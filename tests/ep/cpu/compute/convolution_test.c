/* Convolutions: each method that suits a case against sums in double, the choice, failures. */
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include <criterion/criterion.h>

#include "base/alloc.h"
#include "tests/ep/cpu/compute/convolutions.h"

#define METHODS (ONNXD_CONVOLUTION_WINOGRAD_2X2 + 1)

/* Differences relative to the largest sum. Sums of products are as exact as their order lets them;
 * Winograd's transformations add and take away multiples of up to 25 times the values. */
#define SUM_TOLERANCE 2e-6
#define WINOGRAD_TOLERANCE 2e-5

static onnxd_team *make_team(uint32_t threads)
{
    onnxd_team *team = NULL;
    cr_assert_null(onnxd_team_create(threads, &team));
    return team;
}

/* Whether products of bfloat16 are something else to the method. */
static bool rounds(onnxd_convolution_method method)
{
    return method == ONNXD_CONVOLUTION_DIRECT || method == ONNXD_CONVOLUTION_GATHERED;
}

static void check_methods(const onnxd_simd *simd, onnxd_team *team, const convolution_case *of,
                          const convolution_data *data, double worst[METHODS])
{
    static const convolution_extras extras[] = {{false, false, ONNXD_SIMD_IDENTITY, 0},
                                                {true, false, ONNXD_SIMD_RELU, 0},
                                                {true, false, ONNXD_SIMD_RELU, 3},
                                                {false, true, ONNXD_SIMD_SIGMOID, 5},
                                                {true, true, ONNXD_SIMD_LEAKY_RELU, 0}};
    const bool is_bf16 = data->shape.is_bf16;
    for (int m = 0; m < METHODS; m++) {
        const onnxd_convolution_method method = (onnxd_convolution_method)m;
        const double most =
            onnxd_convolution_is_winograd(method) ? WINOGRAD_TOLERANCE : SUM_TOLERANCE;
        if (!convolution_suits(&data->shape, method) || (is_bf16 && !rounds(method)))
            continue;
        for (size_t e = 0; e < sizeof(extras) / sizeof(extras[0]); e++) {
            const double off = convolution_run(simd, data, method, &extras[e], team);
            worst[m] = fmax(worst[m], off);
            cr_assert_leq(off, most, "%s, %u threads, %s%s, %s, extras %zu: off by %g",
                          onnxd_simd_level_name(simd->level), onnxd_team_threads(team),
                          is_bf16 ? "bfloat16, " : "", of->name,
                          onnxd_convolution_method_name(method), e, off);
        }
    }
}

/* What the trial tells of a case's weights. */
static double error_of(const onnxd_simd *simd, const convolution_case *of,
                       onnxd_convolution_method method, float first_weight)
{
    convolution_data data;
    size_t bytes = 0;
    convolution_data_init(of, 5, &data);
    data.weights[0] = first_weight;
    cr_assert(onnxd_convolution_packed_bytes(simd, &data.shape, method, &bytes));
    float *packed = guard_floats(bytes / sizeof(float));
    onnxd_convolution_pack(simd, &data.shape, method, data.weights, packed);
    const double error =
        onnxd_convolution_winograd_error(simd, &data.shape, method, data.weights, packed);
    onnxd_free(packed);
    convolution_data_deinit(&data);
    return error;
}

static void check_trials(const onnxd_simd *simd)
{
    int count = 0;
    for (size_t n = 0; n < convolution_case_count; n++) {
        const convolution_case *of = &convolution_cases[n];
        if (!onnxd_convolution_is_winograd(of->chosen))
            continue;
        for (int m = ONNXD_CONVOLUTION_WINOGRAD; m <= ONNXD_CONVOLUTION_WINOGRAD_2X2; m++) {
            const onnxd_convolution_method method = (onnxd_convolution_method)m;
            const double error = error_of(simd, of, method, 0.5f);
            cr_expect(error > 0 && error < WINOGRAD_TOLERANCE, "%s: %g", of->name, error);
            cr_expect_eq(error_of(simd, of, method, INFINITY), INFINITY);
            cr_expect_eq(error_of(simd, of, method, NAN), INFINITY);
        }
        count++;
    }
    cr_expect_gt(count, 2);
}

Test(convolution, winograd_is_tried_with_its_weights)
{
    each_level(check_trials);
}

static void check_cases(const onnxd_simd *simd)
{
    double worst[METHODS] = {0};
    onnxd_team *one = make_team(1), *three = make_team(3);
    for (size_t n = 0; n < convolution_case_count; n++) {
        const convolution_case *of = &convolution_cases[n];
        convolution_data data;
        convolution_data_init(of, of->channels, &data);
        check_methods(simd, one, of, &data, worst);
        check_methods(simd, three, of, &data, worst);
        convolution_data_round(&data);
        check_methods(simd, one, of, &data, worst);
        check_methods(simd, three, of, &data, worst);
        convolution_data_deinit(&data);
    }
    onnxd_team_destroy(one);
    onnxd_team_destroy(three);
    for (int m = 0; m < METHODS; m++)
        fprintf(stderr, "%s, %s: off by at most %.2g of the largest\n",
                onnxd_simd_level_name(simd->level),
                onnxd_convolution_method_name((onnxd_convolution_method)m), worst[m]);
}

Test(convolution, every_method)
{
    each_level(check_cases);
}

/* All functions but exp, whose error is that of its argument, and what else follows, once for each
 * method. */
static void check_extras(const onnxd_simd *simd)
{
    static const convolution_case cases[METHODS] = {
        [ONNXD_CONVOLUTION_DIRECT] =
            {"", 1, 16, 35, 1, {1, 6, 5}, {1, 3, 3}, {1, 2, 1}, {1, 1, 1}, {0, 1, 1}, {0, 1, 1}, 0},
        [ONNXD_CONVOLUTION_GATHERED] =
            {"", 1, 3, 18, 1, {1, 6, 5}, {1, 3, 3}, {1, 1, 1}, {1, 1, 1}, {0, 1, 1}, {0, 1, 1}, 0},
        [ONNXD_CONVOLUTION_DEPTHWISE] = {"",
                                         1,
                                         21,
                                         21,
                                         21,
                                         {1, 6, 5},
                                         {1, 3, 3},
                                         {1, 1, 1},
                                         {1, 1, 1},
                                         {0, 1, 1},
                                         {0, 1, 1},
                                         0},
        [ONNXD_CONVOLUTION_WINOGRAD] =
            {"", 1, 16, 35, 1, {1, 6, 5}, {1, 3, 3}, {1, 1, 1}, {1, 1, 1}, {0, 1, 1}, {0, 1, 1}, 0},
        [ONNXD_CONVOLUTION_WINOGRAD_2X2] =
            {"", 1, 16, 35, 1, {1, 6, 5}, {1, 3, 3}, {1, 1, 1}, {1, 1, 1}, {0, 1, 1}, {0, 1, 1}, 0},
    };
    onnxd_team *team = make_team(2);
    for (int m = 0; m < METHODS; m++) {
        convolution_data data;
        convolution_data_init(&cases[m], 4, &data);
        for (int function = 0; function < ONNXD_SIMD_FUSED_COUNT; function++) {
            for (unsigned bits = 0; bits < 4 && function != ONNXD_SIMD_EXP; bits++) {
                const convolution_extras extras = {(bits & 1) != 0, (bits & 2) != 0,
                                                   (onnxd_simd_function)function, 0};
                const double off =
                    convolution_run(simd, &data, (onnxd_convolution_method)m, &extras, team);
                cr_assert_leq(off, WINOGRAD_TOLERANCE, "%s, method %d, function %d, extras %u: %g",
                              onnxd_simd_level_name(simd->level), m, function, bits, off);
            }
        }
        convolution_data_deinit(&data);
    }
    onnxd_team_destroy(team);
}

Test(convolution, what_follows)
{
    each_level(check_extras);
}

/* ---- the choice ------------------------------------------------------------------------------ */

Test(convolution, the_choice)
{
    const onnxd_simd simd = {.lanes = 8};
    for (size_t n = 0; n < convolution_case_count; n++) {
        const convolution_case *of = &convolution_cases[n];
        onnxd_convolution_shape shape = convolution_shape_of(of);
        const onnxd_convolution_method with = onnxd_convolution_choose(&simd, &shape, true);
        const onnxd_convolution_method without = onnxd_convolution_choose(&simd, &shape, false);
        cr_expect_eq(with, of->chosen, "%s: %s, not %s", of->name,
                     onnxd_convolution_method_name(with),
                     onnxd_convolution_method_name(of->chosen));
        cr_expect(convolution_suits(&shape, with), "%s", of->name);
        cr_expect(convolution_suits(&shape, without), "%s", of->name);
        cr_expect_not(onnxd_convolution_is_winograd(without), "%s", of->name);
        cr_expect(with == without || onnxd_convolution_is_winograd(with), "%s", of->name);
        shape.is_bf16 = true;
        cr_expect_eq(onnxd_convolution_choose(&simd, &shape, true), without, "%s", of->name);
    }
}

/* Small images want few matrices, since each is read for few tiles, the more so the faster the
 * level multiplies. */
Test(convolution, the_choice_of_winograds_tiles)
{
    static const struct {
        size_t channels;
        int64_t extent;
        onnxd_convolution_method of_8_lanes, of_16_lanes;
    } rows[] = {
        {64, 56, ONNXD_CONVOLUTION_WINOGRAD, ONNXD_CONVOLUTION_WINOGRAD},
        {128, 28, ONNXD_CONVOLUTION_WINOGRAD, ONNXD_CONVOLUTION_WINOGRAD},
        {256, 14, ONNXD_CONVOLUTION_WINOGRAD, ONNXD_CONVOLUTION_WINOGRAD_2X2},
        {512, 14, ONNXD_CONVOLUTION_WINOGRAD, ONNXD_CONVOLUTION_WINOGRAD_2X2},
        {512, 7, ONNXD_CONVOLUTION_WINOGRAD_2X2, ONNXD_CONVOLUTION_DIRECT},
        {512, 1, ONNXD_CONVOLUTION_DIRECT, ONNXD_CONVOLUTION_DIRECT},
    };
    const onnxd_simd narrow = {.lanes = 8}, wide = {.lanes = 16};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const convolution_case of = {
            "square",         1,         rows[i].channels,
            rows[i].channels, 1,         {1, rows[i].extent, rows[i].extent},
            {1, 3, 3},        {1, 1, 1}, {1, 1, 1},
            {0, 1, 1},        {0, 1, 1}, 0};
        const onnxd_convolution_shape shape = convolution_shape_of(&of);
        const onnxd_convolution_method by_8 = onnxd_convolution_choose(&narrow, &shape, true);
        const onnxd_convolution_method by_16 = onnxd_convolution_choose(&wide, &shape, true);
        cr_expect_eq(by_8, rows[i].of_8_lanes, "row %zu: %s", i,
                     onnxd_convolution_method_name(by_8));
        cr_expect_eq(by_16, rows[i].of_16_lanes, "row %zu: %s", i,
                     onnxd_convolution_method_name(by_16));
    }
}

Test(convolution, methods_have_names)
{
    static const char *const names[METHODS] = {"direct", "gathered", "depthwise", "winograd",
                                               "winograd_2x2"};
    for (int m = 0; m < METHODS; m++)
        cr_expect_str_eq(onnxd_convolution_method_name((onnxd_convolution_method)m), names[m]);
}

/* ---- no channels, no maps -------------------------------------------------------------------- */

/* Of no channels the sums are 0, and what follows them stays; of no maps there is nothing. */
static void check_empty(const onnxd_simd *simd)
{
    static const convolution_case cases[] = {
        {"no channels", 1, 0, 5, 1, {1, 3, 3}, {1, 2, 2}, {1, 1, 1}, {1, 1, 1}, {0}, {0}, 0},
        {"no maps", 1, 5, 0, 1, {1, 3, 3}, {1, 2, 2}, {1, 1, 1}, {1, 1, 1}, {0}, {0}, 0}};
    const convolution_extras extras = {true, true, ONNXD_SIMD_TANH, 0};
    onnxd_team *team = make_team(3);
    for (size_t n = 0; n < sizeof(cases) / sizeof(cases[0]); n++) {
        convolution_data data;
        convolution_data_init(&cases[n], 1, &data);
        for (int m = 0; m <= ONNXD_CONVOLUTION_GATHERED; m++) {
            const double off =
                convolution_run(simd, &data, (onnxd_convolution_method)m, &extras, team);
            cr_expect_leq(off, SUM_TOLERANCE, "%s, %s, method %d: %g",
                          onnxd_simd_level_name(simd->level), cases[n].name, m, off);
        }
        convolution_data_deinit(&data);
    }
    onnxd_team_destroy(team);
}

Test(convolution, nothing_to_sum)
{
    each_level(check_empty);
}

/* ---- failures -------------------------------------------------------------------------------- */

static onnxd_status *create(const onnxd_convolution_shape *shape, onnxd_convolution_method method,
                            onnxd_convolution **out)
{
    static const float bias[64];
    return onnxd_convolution_create(onnxd_simd_table(ONNXD_SIMD_PORTABLE), shape, method, NULL,
                                    bias, &each_activation[0], 2, out);
}

Test(convolution, memory_fails)
{
    for (int m = 0; m < METHODS; m++) {
        const onnxd_convolution_shape shape = {.window = {.batch = 1,
                                                          .channels = 32,
                                                          .in = {1, 8, 8},
                                                          .out = {1, 6, 6},
                                                          .kernel = {1, 3, 3},
                                                          .stride = {1, 1, 1},
                                                          .dilation = {1, 1, 1}},
                                               .groups = m == ONNXD_CONVOLUTION_DEPTHWISE ? 32 : 1,
                                               .maps = 32};
        const uint64_t live = onnxd_alloc_query().live_count;
        uint64_t n = 1;
        for (bool is_made = false; !is_made; n++) {
            onnxd_convolution *convolution = NULL;
            onnxd_alloc_fail_at(n, 0);
            onnxd_status *status = create(&shape, (onnxd_convolution_method)m, &convolution);
            onnxd_alloc_fail_at(0, 0);
            is_made = status == NULL;
            cr_expect_eq(convolution != NULL, is_made, "a failure touched its result");
            cr_expect(is_made || onnxd_status_code(status) == ONNXD_OUT_OF_MEMORY);
            onnxd_status_free(status);
            onnxd_convolution_destroy(convolution);
            cr_assert_eq(onnxd_alloc_query().live_count, live, "method %d, allocation %lu", m, n);
            cr_assert_lt(n, 100);
        }
        cr_expect_eq(n, 4, "two allocations, and a try without a failure");
    }
}

/* Weights beyond what size_t counts. */
Test(convolution, sizes_do_not_fit)
{
    onnxd_convolution_shape shape = {.window = {.batch = 1,
                                                .channels = 1,
                                                .in = {1, 1, 1},
                                                .out = {1, 1, 1},
                                                .kernel = {1, INT64_C(1) << 31, INT64_C(1) << 31},
                                                .stride = {1, 1, 1},
                                                .dilation = {1, 1, 1}},
                                     .groups = 1,
                                     .maps = 1};
    const onnxd_simd *simd = onnxd_simd_table(ONNXD_SIMD_PORTABLE);
    const uint64_t live = onnxd_alloc_query().live_count;
    onnxd_convolution *convolution = NULL;
    size_t bytes = 7;
    cr_expect_not(onnxd_convolution_packed_bytes(simd, &shape, ONNXD_CONVOLUTION_GATHERED, &bytes));
    onnxd_status *status = create(&shape, ONNXD_CONVOLUTION_GATHERED, &convolution);
    cr_assert_not_null(status);
    cr_expect_eq(onnxd_status_code(status), ONNXD_UNIMPLEMENTED, "%s",
                 onnxd_status_message(status));
    cr_expect_null(convolution);
    onnxd_status_free(status);
    cr_expect_eq(onnxd_alloc_query().live_count, live);
    shape.window.channels = shape.maps = SIZE_MAX / 4;
    cr_expect_not(onnxd_convolution_packed_bytes(simd, &shape, ONNXD_CONVOLUTION_WINOGRAD, &bytes));
}

/* ---- several at a time ----------------------------------------------------------------------- */

typedef struct runner {
    onnxd_team *team;
    const convolution_data *data;
    onnxd_convolution_method method;
    double worst;
} runner;

static void *run_often(void *context)
{
    static const convolution_extras extras = {true, true, ONNXD_SIMD_RELU, 0};
    runner *r = context;
    for (int round = 0; round < 10; round++)
        r->worst = fmax(r->worst, convolution_run(onnxd_simd_table(onnxd_simd_best()), r->data,
                                                  r->method, &extras, r->team));
    return NULL;
}

/* Each with its own workspace, on one team. */
Test(convolution, several_at_a_time)
{
    static const convolution_case wide = {"wide",    1,           16,        48,
                                          1,         {1, 14, 14}, {1, 3, 3}, {1, 1, 1},
                                          {1, 1, 1}, {0, 1, 1},   {0, 1, 1}, 0};
    onnxd_team *team = make_team(3);
    convolution_data data;
    runner runners[METHODS];
    pthread_t threads[METHODS];
    convolution_data_init(&wide, 2, &data);
    for (int m = 0; m < METHODS; m++) {
        runners[m] = (runner){team, &data, (onnxd_convolution_method)m, 0};
        if (!convolution_suits(&data.shape, runners[m].method))
            runners[m].method = ONNXD_CONVOLUTION_WINOGRAD;
        cr_assert_eq(pthread_create(&threads[m], NULL, run_often, &runners[m]), 0);
    }
    for (int m = 0; m < METHODS; m++) {
        pthread_join(threads[m], NULL);
        cr_expect_leq(runners[m].worst, WINOGRAD_TOLERANCE, "%s: %g",
                      onnxd_convolution_method_name(runners[m].method), runners[m].worst);
    }
    convolution_data_deinit(&data);
    onnxd_team_destroy(team);
}
