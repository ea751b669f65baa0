/* What the tests of the compute engine (ep/cpu/simd/, ep/cpu/compute/) share: its levels, data, and
 * what it should compute. */
#ifndef ONNXD_TESTS_EP_CPU_ENGINE_H
#define ONNXD_TESTS_EP_CPU_ENGINE_H

#include "ep/cpu/compute/window.h"
#include "ep/cpu/simd/simd.h"

/* What stands where nothing may be written. */
#define GUARD (-7654321.0f)

/* For every level that can run here, or for the one that ONNXD_TEST_LEVEL names in the environment;
 * says why another is left out. Fails when it is for none. */
void each_level(void (*check)(const onnxd_simd *simd));

uint64_t engine_random(uint64_t *seed);
/* `count` seeded values in [-1, 1), of `count` times GUARD, in memory that ends behind the last;
 * aligned as packed weights are. End with onnxd_free(). */
float *random_floats(uint64_t *seed, size_t count);
float *guard_floats(size_t count);
bool is_guarded(const float *from, size_t count);

/* Every function with parameters. */
extern const onnxd_simd_activation each_activation[ONNXD_SIMD_FUNCTION_COUNT];
long double activation_reference(const onnxd_simd_activation *activation, long double x);

/* How far `got` is from the true value, in units in the last place of a float of that size. */
double units_off(float got, long double want);

/* Fails unless `got` is within `tolerance` of `expected`, or both are the same infinity or NaN.
 * What comes behind is a format that says where. */
#define expect_near(got, expected, tolerance, ...)                                                 \
    cr_assert(is_near(got, expected, tolerance), __VA_ARGS__)
bool is_near(double got, double expected, double tolerance);

/* The extent of the output along one dimension, without partial windows. */
int64_t extent_out(const onnxd_image_window *window, int d);

#endif
