/* Cases of convolutions, and what each of them should give. */
#ifndef ONNXD_TESTS_EP_CPU_COMPUTE_CONVOLUTIONS_H
#define ONNXD_TESTS_EP_CPU_COMPUTE_CONVOLUTIONS_H

#include "ep/cpu/compute/convolution.h"
#include "tests/ep/cpu/engine.h"

typedef struct convolution_case {
    const char *name;
    size_t batch, channels, maps, groups;
    int64_t in[3], kernel[3], stride[3], dilation[3], pad_begin[3], pad_end[3];
    onnxd_convolution_method chosen; /* where Winograd's is allowed */
} convolution_case;

extern const convolution_case convolution_cases[];
extern const size_t convolution_case_count;

onnxd_convolution_shape convolution_shape_of(const convolution_case *of);
/* Whether a method can compute it, chosen or not. */
bool convolution_suits(const onnxd_convolution_shape *shape, onnxd_convolution_method method);

/* What follows the products. */
typedef struct convolution_extras {
    bool has_bias, has_residual;
    onnxd_simd_function function;
    size_t gap; /* elements between pixels, where the convolution takes them */
} convolution_extras;

/* A case's data and results in double. */
typedef struct convolution_data {
    onnxd_convolution_shape shape;
    size_t count; /* elements of the output */
    size_t in_count, weight_count;
    float *in, *weights, *bias, *residual;
    double *sums;   /* [count]: without what follows */
    double largest; /* magnitude of the sums */
} convolution_data;

void convolution_data_init(const convolution_case *of, uint64_t seed, convolution_data *data);
/* Makes it a convolution of bfloat16, whose factors are such already. */
void convolution_data_round(convolution_data *data);
void convolution_data_deinit(convolution_data *data);

/* Packs, makes, runs on a team of its threads, and checks that nothing else was written, nor what
 * is between pixels read. Returns
 * the largest difference from what should be, relative to the largest of the sums or 1. */
double convolution_run(const onnxd_simd *simd, const convolution_data *data,
                       onnxd_convolution_method method, const convolution_extras *extras,
                       onnxd_team *team);

#endif
