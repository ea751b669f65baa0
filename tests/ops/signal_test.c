/* Fourier transforms, windows and the mel matrix: shapes, lengths, and inputs that are wrong. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

#include "base/compiler.h"
#include "ops/signal/fft.h"
#include "tests/ops/op_text.h"

/* Every length, by any of the methods, against the definition. */
Test(signal, transforms_of_any_length)
{
    static const size_t lengths[] = {1, 2, 3, 4, 5, 6, 7, 8, 12, 13, 16, 17, 19, 30, 34, 60, 97};
    for (size_t n = 0; n < ONNXD_COUNT(lengths) * 2; n++) {
        size_t length = lengths[n / 2], bytes = 0;
        bool is_narrow = n % 2 != 0;
        cr_assert(onnxd_fft_bytes(length, &bytes));
        void *memory = malloc(bytes);
        onnxd_complex *data = malloc(length * sizeof(*data));
        cr_assert(memory != NULL && data != NULL);
        for (size_t k = 0; k < length; k++)
            data[k] = (onnxd_complex){(double)(k * 7 % 5), (double)(k * 3 % 4)};
        onnxd_fft fft;
        onnxd_fft_init(&fft, length, is_narrow, memory);
        onnxd_fft_run(&fft, data);
        for (size_t k = 0; k < length; k++) {
            double re = 0, im = 0;
            for (size_t i = 0; i < length; i++) {
                double angle = -2 * acos(-1) * (double)(i * k % length) / (double)length;
                double x = (double)(i * 7 % 5), y = (double)(i * 3 % 4);
                re += x * cos(angle) - y * sin(angle);
                im += x * sin(angle) + y * cos(angle);
            }
            double tolerance = is_narrow ? 1e-3 : 1e-10;
            cr_expect(fabs(data[k].re - re) < tolerance && fabs(data[k].im - im) < tolerance,
                      "length %zu, element %zu", length, k);
        }
        free(data);
        free(memory);
    }
}

Test(signal, sizes_that_fit_nothing)
{
    size_t bytes = 1;
    cr_expect(!onnxd_fft_bytes(SIZE_MAX, &bytes));
    cr_expect(!onnxd_fft_bytes((size_t)1 << 62, &bytes));
    cr_expect(!onnxd_fft_bytes(((size_t)1 << 62) + 1, &bytes));
    cr_expect(bytes == 1);
}

Test(signal, dft_shapes)
{
    static const op_text calls[] = {
        {"DFT", 17, "", "float[s0,8,1]", "float[s0,8,2]"},
        {"DFT", 17, "onesided=1", "float[s0,8,1]", "float[s0,5,2]"},
        {"DFT", 17, "onesided=1", "float[s0,s1,1]", "float[s0,?,2]"},
        {"DFT", 17, "", "float[s0,s1,2]", "float[s0,s1,2]"},
        {"DFT", 17, "axis=2", "float[1,4,6,2]; int32[]{5}", "float[1,4,5,2]"},
        {"DFT", 17, "", "float[1,4,6,2]; int64[]", "float[1,?,6,2]"},
        {"DFT", 20, "", "float[1,4,6,2]", "float[1,4,6,2]"},
        {"DFT", 20, "onesided=1", "float[1,4,6,1]; -; int64[]{0}", "float[1,4,6,2]"},
        {"DFT", 20, "onesided=1", "float[1,4,6,1]; -; int64[]", "float[?,?,?,2]"},
        {"DFT", 20, "onesided=1 inverse=1", "float[1,4,6,2]", "float[1,4,10,1]"},
        {"DFT", 20, "", "float*", "float*"},
        {"DFT", 17, "axis=2", "float[1,4,2]", "error: axis is 2, the last dimension"},
        {"DFT", 17, "axis=3", "float[1,4,2]", "error: axis is 3"},
        {"DFT", 20, "axis=1", "float[1,4,2]", "error: 'axis'"},
        {"DFT", 20, "", "float[1,4,2]; -; int64[]{-1}", "error: axis is -1, the last dimension"},
        {"DFT", 17, "", "float[1,4,3]", "error: the last dimension of input 0 is 3"},
        {"DFT", 17, "onesided=1", "float[1,4,2]", "error: allowed is 1 for a one-sided transform"},
        {"DFT", 17, "onesided=1 inverse=1", "float[1,4,1]", "error: allowed is 2 for a one-sided"},
        {"DFT", 17, "onesided=1 inverse=1", "float[1,1,2]",
         "error: the length of the transform is 0, needed is 1 or more"},
        {"DFT", 17, "", "float[1,4,1]; int64[]{0}", "error: input 1 is 0, allowed are 1"},
        {"DFT", 17, "", "float[1,4,1]; int64[2]", "error: input 1 has 2 elements"},
        {"DFT", 17, "", "float[4]", "error: input 0 has rank 1"},
    };
    EXPECT_INFERRED(calls);
}

Test(signal, dft_values)
{
    static const op_text calls[] = {
        {"DFT", 17, "", "float[1,2,1]{3,1}", "float[1,2,2]{4,0,2,0}"},
        {"DFT", 17, "", "float[1,2,1]{3,1}; int64[]{1}", "float[1,1,2]{3,0}"},
        {"DFT", 17, "onesided=1", "float[1,1,1]{3}; int64[]{2}", "float[1,2,2]{3,0,3,0}"},
        {"DFT", 20, "inverse=1", "double[1,2,2]{4,0,2,0}", "double[1,2,2]{3,0,1,0}"},
        {"DFT", 20, "inverse=1 onesided=1", "float16[1,2,2]{4,9,2,9}", "float16[1,2,1]{3,1}"},
        {"DFT", 20, "inverse=1", "bfloat16[1,2,1]{4,2}", "bfloat16[1,2,2]{3,0,1,0}"},
        {"DFT", 20, "", "float[2,2,1]{1,2,3,4}; -; int64[]{0}", "float[2,2,2]{4,0,6,0,-2,0,-2,0}"},
        {"DFT", 17, "", "float[1,0,1]{}; int64[]{2}", "float[1,2,2]{0,0,0,0}"},
        {"DFT", 17, "", "float[0,4,1]{}", "float[0,4,2]{}"},
    };
    EXPECT_EVALUATED(calls);
}

Test(signal, stft)
{
    static const op_text shapes[] = {
        {"STFT", 17, "", "float[s0,16,1]; int64[]{4}; -; int64[]{8}", "float[s0,3,5,2]"},
        {"STFT", 17, "onesided=0", "float[2,16,2]; int32[]{3}; float[5]", "float[2,4,5,2]"},
        {"STFT", 17, "", "float[2,16,1]; int64[]{1}", "float[2,1,9,2]"},
        {"STFT", 17, "", "float[2,16,1]; int64[]; float[s1]", "float[2,?,?,2]"},
        {"STFT", 17, "", "float[2,s0,1]; int64[]{2}; float[4]", "float[2,?,3,2]"},
        {"STFT", 17, "", "float*; int64[]", "float[?,?,?,2]"},
        {"STFT", 17, "", "float[2,16,2]; int64[]{4}; float[8]", "error: for a one-sided transform"},
        {"STFT", 17, "", "float[2,16,1]; int64[]{0}; float[8]", "error: input 1 is 0"},
        {"STFT", 17, "", "float[2,16,1]; int64[]{1}; float[8]; int64[]{7}",
         "error: the window has 8 elements, input 3 says 7"},
        {"STFT", 17, "", "float[2,4,1]; int64[]{1}; float[8]",
         "error: frames have 8 elements, more than the signal's 4"},
        {"STFT", 17, "", "float[2,4,1]; int64[]{1}; float[0]", "error: frames have 0 elements"},
        {"STFT", 17, "", "float[4,1]; int64[]{1}", "error: input 0 has rank 2"},
        {"STFT", 17, "", "float[1,4,1]; int64[]{1}; float[2,1]", "error: input 2 has rank 2"},
    };
    EXPECT_INFERRED(shapes);
    static const op_text values[] = {
        {"STFT", 17, "", "float[1,4,1]{1,2,3,4}; int64[]{2}; float[2]{1,2}",
         "float[1,2,2,2]{5,0,-3,0,11,0,-5,0}"},
        {"STFT", 17, "onesided=0", "float16[1,2,2]{1,1,2,3}; int64[]{9223372036854775807}",
         "float16[1,1,2,2]{3,4,-1,-2}"},
    };
    EXPECT_EVALUATED(values);
}

Test(signal, windows)
{
    static const op_text values[] = {
        {"HannWindow", 17, "", "int64[]{2}", "float[2]{0,1}"},
        {"HannWindow", 17, "output_datatype=11", "int32[]{2}", "double[2]{0,1}"},
        {"HannWindow", 17, "periodic=0", "int64[]{1}", "float[1]{1}"},
        {"HammingWindow", 17, "output_datatype=6", "int64[]{2}", "int32[2]{0,1}"},
        {"BlackmanWindow", 17, "output_datatype=2 periodic=0", "int64[1]{3}", "uint8[3]{0,1,0}"},
        {"BlackmanWindow", 17, "", "int64[]{0}", "float[0]{}"},
        {"HannWindow", 17, "", "int64[]{-1}", "error: input 0 is -1"},
        {"HannWindow", 17, "", "int64[2]{1,2}", "error: input 0 has 2 elements"},
        {"HannWindow", 17, "output_datatype=8", "int64[]{2}", "error: 'output_datatype' is 8"},
        {"HannWindow", 17, "output_datatype=99", "int64[]{2}", "error: 'output_datatype' is 99"},
    };
    EXPECT_EVALUATED(values);
    static const op_text shapes[] = {
        {"HannWindow", 17, "output_datatype=16", "int64[]", "bfloat16[?]"},
        {"MelWeightMatrix", 17, "", "int64[]{3}; int64[]; int64[]; float[]; float[]", "float[?,3]"},
        {"MelWeightMatrix", 17, "", "int64[]{3}; int64[]{9}; int64[]{0}; float[]; float[]",
         "error: input 2 is 0"},
        {"MelWeightMatrix", 17, "", "int64[]{-3}; int64[]{9}; int64[]; float[]; float[]",
         "error: input 0 is -3"},
        {"MelWeightMatrix", 17, "", "int64[]{3}; int64[]{9}; int64[]; float[2]; float[]",
         "error: input 3 has 2 elements"},
    };
    EXPECT_INFERRED(shapes);
}

Test(signal, mel_weights)
{
    static const op_text values[] = {
        {"MelWeightMatrix", 17, "", "int64[]{0}; int64[]{2}; int64[]{8}; float[]{0}; float[]{4}",
         "float[2,0]{}"},
        {"MelWeightMatrix", 17, "output_datatype=7",
         "int32[]{1}; int32[]{4}; int32[]{8000}; float[]{0}; float[]{100}", "int64[3,1]{1,0,0}"},
        {"MelWeightMatrix", 17, "",
         "int64[]{2}; int64[]{4}; int64[]{100}; float[]{0}; float[]{1e6}",
         "error: an edge of band"},
        {"MelWeightMatrix", 17, "",
         "int64[]{2}; int64[]{4}; int64[]{100}; float[]{-20}; float[]{40}", "error: an edge of"},
        {"MelWeightMatrix", 17, "",
         "int64[]{2}; int64[]{4}; int64[]{100}; float[]{nan}; float[]{40}", "error: an edge of"},
    };
    EXPECT_EVALUATED(values);
}
