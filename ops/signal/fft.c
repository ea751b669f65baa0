#include "ops/signal/fft.h"

#include <math.h>
#include <string.h>

#include "base/size_math.h"

#define PI 3.14159265358979323846
#define LARGEST_RADIX 13

typedef struct narrow_complex {
    float re, im;
} narrow_complex;

#define T float
#define C narrow_complex
#define NAME(f) f##_narrow
#include "ops/signal/fft_pass.inc"
#undef T
#undef C
#undef NAME
#define T double
#define C onnxd_complex
#define NAME(f) f##_double
#include "ops/signal/fft_pass.inc"
#undef T
#undef C
#undef NAME

/* exp(-pi i numerator / denominator) */
static onnxd_complex root(size_t numerator, size_t denominator)
{
    double angle = -PI * ((double)numerator / (double)denominator);
    return (onnxd_complex){cos(angle), sin(angle)};
}

/* ---- smooth lengths -------------------------------------------------------------------------- */

/* Factors of a length, fours before twos. False when one of them is too large. */
static bool factorize(size_t length, uint8_t *factors, uint32_t *out_count)
{
    static const uint8_t radices[] = {4, 2, 3, 5, 7, 11, LARGEST_RADIX};
    uint32_t count = 0;
    for (size_t i = 0; i < ONNXD_COUNT(radices); i++) {
        for (; length % radices[i] == 0; length /= radices[i])
            factors[count++] = radices[i];
    }
    *out_count = count;
    return length == 1;
}

static void smooth_init(onnxd_fft_smooth *smooth, size_t length, bool is_narrow,
                        onnxd_complex *memory)
{
    smooth->length = length;
    smooth->is_narrow = is_narrow;
    smooth->roots = memory;
    smooth->scratch = is_narrow ? (void *)((narrow_complex *)memory + length) : memory + length;
    (void)factorize(length, smooth->factors, &smooth->factor_count);
    for (size_t k = 0; k < length; k++) {
        onnxd_complex value = root(2 * k, length);
        if (is_narrow)
            ((narrow_complex *)smooth->roots)[k] =
                (narrow_complex){(float)value.re, (float)value.im};
        else
            memory[k] = value;
    }
}

static void smooth_run(const onnxd_fft_smooth *smooth, onnxd_complex *data)
{
    size_t length = smooth->length;
    if (smooth->is_narrow) {
        narrow_complex *first = smooth->scratch;
        for (size_t k = 0; k < length; k++)
            first[k] = (narrow_complex){(float)data[k].re, (float)data[k].im};
        const narrow_complex *result = run_passes_narrow(smooth, first, first + length);
        for (size_t k = 0; k < length; k++)
            data[k] = (onnxd_complex){(double)result[k].re, (double)result[k].im};
    } else {
        const onnxd_complex *result = run_passes_double(smooth, data, smooth->scratch);
        if (result != data)
            memcpy(data, result, length * sizeof(*data));
    }
}

/* ---- any length ------------------------------------------------------------------------------ */

/* The convolution's length: a power of two that holds 2 length - 1. */
static bool convolution_length(size_t length, size_t *out_length)
{
    size_t needed, power = 1;
    if (!onnxd_size_mul(length, 2, &needed))
        return false;
    while (power < needed - 1)
        if (!onnxd_size_mul(power, 2, &power))
            return false;
    *out_length = power;
    return true;
}

bool onnxd_fft_bytes(size_t length, size_t *out_bytes)
{
    uint8_t factors[ONNXD_FFT_MAX_FACTORS];
    uint32_t count;
    size_t total, convolution;
    if (factorize(length, factors, &count))
        return onnxd_size_mul(length, 2 * sizeof(onnxd_complex), out_bytes);
    /* Roots, scratch, spectrum and buffer of the convolution, and the chirp. */
    return convolution_length(length, &convolution) && onnxd_size_mul(convolution, 4, &total) &&
           onnxd_size_add(total, length, &total) &&
           onnxd_size_mul(total, sizeof(onnxd_complex), out_bytes);
}

/* k k of a chirp modulo 2 length, from one k to the next, so that nothing overflows. */
static void chirp_init(onnxd_complex *chirp, size_t length)
{
    size_t square = 0;
    for (size_t k = 0; k < length; k++) {
        chirp[k] = root(square, length);
        square = (square + 2 * k + 1) % (2 * length);
    }
}

void onnxd_fft_init(onnxd_fft *fft, size_t length, bool is_narrow, void *memory)
{
    onnxd_complex *next = memory;
    size_t size = 0;
    *fft = (onnxd_fft){.length = length};
    if (factorize(length, fft->smooth.factors, &fft->smooth.factor_count) ||
        !convolution_length(length, &size)) {
        smooth_init(&fft->smooth, length, is_narrow, next);
        return;
    }
    smooth_init(&fft->smooth, size, false, next);
    next += 2 * size;
    fft->spectrum = next;
    fft->buffer = next + size;
    fft->chirp = next + 2 * size;
    chirp_init(fft->chirp, length);
    memset(fft->spectrum, 0, size * sizeof(*fft->spectrum));
    for (size_t k = 0; k < length; k++) {
        onnxd_complex conjugate = {fft->chirp[k].re, -fft->chirp[k].im};
        fft->spectrum[k] = conjugate;
        fft->spectrum[(size - k) % size] = conjugate;
    }
    smooth_run(&fft->smooth, fft->spectrum);
}

void onnxd_fft_run(const onnxd_fft *fft, onnxd_complex *data)
{
    if (fft->chirp == NULL) {
        smooth_run(&fft->smooth, data);
        return;
    }
    size_t size = fft->smooth.length;
    memset(fft->buffer, 0, size * sizeof(*data));
    for (size_t k = 0; k < fft->length; k++)
        fft->buffer[k] = multiply_double(data[k], fft->chirp[k]);
    smooth_run(&fft->smooth, fft->buffer);
    /* Swapping the parts makes the next transform an inverse one. */
    for (size_t k = 0; k < size; k++) {
        onnxd_complex product = multiply_double(fft->buffer[k], fft->spectrum[k]);
        fft->buffer[k] = (onnxd_complex){product.im, product.re};
    }
    smooth_run(&fft->smooth, fft->buffer);
    for (size_t k = 0; k < fft->length; k++) {
        onnxd_complex value = {fft->buffer[k].im / (double)size, fft->buffer[k].re / (double)size};
        data[k] = multiply_double(value, fft->chirp[k]);
    }
}
