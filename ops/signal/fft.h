/*
 * Discrete Fourier transforms of any length in O(n log n): mixed radices for lengths whose prime
 * factors are at most 13, otherwise the convolution of L. I. Bluestein ("A linear filtering
 * approach to the computation of discrete Fourier transform", 1970), whose length is a power of
 * two.
 *
 * Roots are calculated in double. Narrow transforms, for data that was float or less, are
 * calculated in float where the length allows mixed radices.
 *
 * A plan lives in memory of its user's. Threads: a plan has scratch memory, so one at a time.
 */
#ifndef ONNXD_OPS_SIGNAL_FFT_H
#define ONNXD_OPS_SIGNAL_FFT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"

typedef struct onnxd_complex {
    double re, im;
} onnxd_complex;

#define ONNXD_FFT_MAX_FACTORS 64

/* A transform of smooth length: factors, exp(-2 pi i k / length), and scratch: as long as the
 * transform, or twice that for a narrow one, in the type that it is calculated in. */
typedef struct onnxd_fft_smooth {
    size_t length;
    bool is_narrow;
    uint32_t factor_count;
    uint8_t factors[ONNXD_FFT_MAX_FACTORS];
    void *roots, *scratch;
} onnxd_fft_smooth;

typedef struct onnxd_fft {
    size_t length;
    onnxd_fft_smooth smooth; /* of `length`, or of the convolution */
    /* Of a convolution, else NULL: exp(-pi i k k / length), the spectrum of its conjugate, and a
     * buffer, the last two of smooth.length. */
    onnxd_complex *chirp, *spectrum, *buffer;
} onnxd_fft;

/* Bytes of a plan for `length`, which is at least 1; false when they fit no size. */
ONNXD_NODISCARD bool onnxd_fft_bytes(size_t length, size_t *out_bytes);
/* `memory` holds onnxd_fft_bytes() bytes, aligned for double. */
void onnxd_fft_init(onnxd_fft *fft, size_t length, bool is_narrow, void *memory);
/* data[k] = sum over n of data[n] exp(-2 pi i n k / length), in place. With real and imaginary
 * parts swapped before and after, the inverse without its factor. */
void onnxd_fft_run(const onnxd_fft *fft, onnxd_complex *data);

#endif
