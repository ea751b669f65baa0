/* Quantised operators, and packed and small types: rounding, saturation, granularities, wrong
 * shapes and types. The numbers are those of onnxruntime, or of ONNX's text where it has none. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "ops/move.h"
#include "ops/quant/integer_gemm.h"
#include "tests/ops/op_text.h"

Test(quant, quantize_rounds_and_saturates)
{
    static const op_text calls[] = {
        {"QuantizeLinear", 13, "", "float[8]{0.5,1.5,2.5,-0.5,nan,inf,-inf,1e30}; float[]{1}",
         "uint8[8]{0,2,2,0,0,255,0,255}"},
        {"QuantizeLinear", 13, "", "float[5]{nan,127.5,-129,1,-1}; float[]{1}; int8[]{2}",
         "int8[5]{-128,127,-127,3,1}"},
        {"QuantizeLinear", 21, "", "float[4]{40000,-40000,2.5,3.5}; float[]{1}; int16[]{-2}",
         "int16[4]{32767,-32768,0,2}"},
        {"QuantizeLinear", 21, "", "float[2]{-5,70000}; float[]{1}; uint16[]{7}",
         "uint16[2]{2,65535}"},
        {"QuantizeLinear", 21, "output_dtype=22", "float[5]{7.4,7.6,-8.5,-9,0}; float[]{1}",
         "int4[5]{7,7,-8,-8,0}"},
        {"QuantizeLinear", 25, "", "float[5]{-9,0.5,1.5,3,9}; float[]{1}; uint2[]{0}",
         "uint2[5]{0,0,2,3,3}"},
        {"QuantizeLinear", 23, "output_dtype=23", "float[4]{0.3,-7,2.5,5}; float[]{1}",
         "float4e2m1[4]{0.5,-6,2,4}"},
        {"QuantizeLinear", 28, "output_dtype=27", "float[3]{9,-0.0625,0.07}; float[]{1}",
         "float6e2m3[3]{7.5,-0,0.125}"},
        {"QuantizeLinear", 28, "output_dtype=28", "float[3]{30,-29,0.09}; float[]{1}",
         "float6e3m2[3]{28,-28,0.0625}"},
        {"QuantizeLinear", 19, "saturate=0", "float[2]{500,1}; float[]{1}; float8e4m3fn[]{0}",
         "float8e4m3fn[2]{NaN,1}"},
        {"QuantizeLinear", 13, "", "int32[3]{2147483647,5,-7}; float[]{2}; int8[]{0}",
         "int8[3]{127,2,-4}"},
        {"QuantizeLinear", 13, "", "float[0]{}; float[]{1}", "uint8[0]{}"},
        {"QuantizeLinear", 13, "", "float[]{3}; float[1]{2}", "uint8[]{2}"},
        /* 2049 is no float16, and 2.5 of the quotient no bfloat16 beyond 256. */
        {"QuantizeLinear", 23, "precision=10 output_dtype=4", "float[1]{2049}; float[]{1}",
         "uint16[1]{2048}"},
        {"QuantizeLinear", 23, "precision=1 output_dtype=4", "float[1]{2049}; bfloat16[]{1}",
         "uint16[1]{2049}"},
        {"QuantizeLinear", 24, "", "float[2]{3,5}; float8e8m0[]{2}", "uint8[2]{2,2}"},
    };
    EXPECT_EVALUATED(calls);
}

Test(quant, granularities)
{
    static const op_text calls[] = {
        {"QuantizeLinear", 13, "axis=0", "float[2,2]{1,2,3,4}; float[2]{1,2}; uint8[2]{0,1}",
         "uint8[2,2]{1,2,3,3}"},
        {"QuantizeLinear", 13, "axis=-1", "float[2,2]{1,2,3,4}; float[2]{1,2}",
         "uint8[2,2]{1,1,3,2}"},
        {"QuantizeLinear", 13, "", "float[3]{2,4,6}; float[3]{1,2,3}", "uint8[3]{2,2,2}"},
        {"QuantizeLinear", 21, "axis=1 block_size=2",
         "float[2,3]{1,2,3,4,5,6}; float[2,2]{1,3,2,6}; uint8[2,2]{0,1,2,3}",
         "uint8[2,3]{1,2,2,4,4,4}"},
        {"DequantizeLinear", 21, "axis=0 block_size=2",
         "int4[3,2]{1,2,3,4,-5,-6}; float[2,2]{1,2,3,4}; int4[2,2]{0,1,2,-1}",
         "float[3,2]{1,2,3,6,-21,-20}"},
        {"DequantizeLinear", 13, "axis=1", "int8[1,2,2]{1,2,3,4}; float[2]{1,10}; int8[2]{1,0}",
         "float[1,2,2]{0,1,30,40}"},
        {"DequantizeLinear", 13, "", "int32[2]{2147483647,-2147483648}; float[]{1}",
         "float[2]{2.1474836e+09,-2.1474836e+09}"},
        {"DequantizeLinear", 13, "", "int32[1]{-2147483648}; float[]{1}; int32[]{2147483647}",
         "float[1]{-4.2949673e+09}"},
        {"DequantizeLinear", 23, "output_dtype=10", "uint8[1]{3}; float[]{0.1}; uint8[]{0}",
         "float16[1]{0.30004883}"},
        {"DequantizeLinear", 24, "output_dtype=1", "float4e2m1[2]{6,-0.5}; float8e8m0[]{4}",
         "float[2]{24,-2}"},
        {"DequantizeLinear", 28, "", "float6e3m2[2]{28,-0.0625}; float16[]{2}",
         "float16[2]{56,-0.125}"},
    };
    EXPECT_EVALUATED(calls);
}

Test(quant, wrong_scales)
{
    static const op_text calls[] = {
        {"QuantizeLinear", 13, "", "float[s0,3]; float[3]; int8[3]", "int8[s0,3]"},
        {"QuantizeLinear", 13, "", "float*; float[?]", "uint8*"},
        {"QuantizeLinear", 13, "", "float[2,3]; float[2]", "error: 2 scales for axis 1"},
        {"QuantizeLinear", 13, "", "float[2,3]; float[2,3]", "error: input 1 has rank 2"},
        {"QuantizeLinear", 13, "axis=2", "float[2,3]; float[3]", "error: 'axis'"},
        {"QuantizeLinear", 13, "", "float[2,3]; float[3]; int8[]", "error: must be equal"},
        {"QuantizeLinear", 13, "block_size=2", "float[2]; float[]", "error: 'block_size'"},
        {"QuantizeLinear", 21, "block_size=2", "float[2,3]; float[2,3]",
         "error: input 1 has extent 3 at axis 1, needed for blocks of 2 is 2"},
        {"QuantizeLinear", 21, "output_dtype=3", "float[2]; float[]; uint8[]",
         "error: 'output_dtype' is int8"},
        {"QuantizeLinear", 21, "output_dtype=25", "float[2]; float[]",
         "error: 'output_dtype' is 25 (uint2), allowed are uint8, int8, uint16, int16, "},
        {"QuantizeLinear", 23, "precision=11", "float[2]; float[]",
         "error: 'precision' is 11 (double), allowed are float, float16, bfloat16"},
        {"QuantizeLinear", 19, "", "float[2]; float16[]", "error: input 1 has type float16"},
        {"DequantizeLinear", 24, "", "int8[2]; float8e8m0[]", "error: 'output_dtype'"},
        {"DequantizeLinear", 23, "", "int8[s0]; bfloat16[]", "bfloat16[s0]"},
        {"DequantizeLinear", 13, "", "int8[]; float[3]", "error: scalar"},
    };
    EXPECT_INFERRED(calls);
}

Test(quant, dynamic)
{
    static const op_text calls[] = {
        {"DynamicQuantizeLinear:3", 11, "", "float[3]{0,2,-3}",
         "uint8[3]{153,255,0}; float[]{0.019607844}; uint8[]{153}"},
        {"DynamicQuantizeLinear:3", 11, "", "float[2]{1,2}",
         "uint8[2]{127,255}; float[]{0.0078431377}; uint8[]{0}"},
        {"DynamicQuantizeLinear:3", 11, "", "float[2]{0,0}",
         "uint8[2]{0,0}; float[]{1}; uint8[]{0}"},
        {"DynamicQuantizeLinear:3", 11, "", "float[0]{}", "uint8[0]{}; float[]{1}; uint8[]{0}"},
        {"DynamicQuantizeLinear:3", 11, "", "float[2]{nan,255}",
         "uint8[2]{0,255}; float[]{1}; uint8[]{0}"},
    };
    EXPECT_EVALUATED(calls);
}

Test(quant, matrix_products)
{
    static const op_text calls[] = {
        {"MatMulInteger", 10, "", "uint8[2,2]{1,2,3,255}; int8[2,1]{-128,127}",
         "int32[2,1]{126,32001}"},
        {"MatMulInteger", 10, "",
         "int8[2,2]{1,2,3,4}; uint8[2,2]{1,0,0,1}; int8[2]{1,3}; uint8[2]{0,2}",
         "int32[2,2]{0,-1,0,-1}"},
        {"MatMulInteger", 10, "",
         "uint8[2,1,1]{5,6}; uint8[2,1,1]{7,8}; uint8[2,1,1]{1,2}; uint8[2,1,1]{3,4}",
         "int32[2,1,1]{16,16}"},
        {"MatMulInteger", 10, "", "uint8[0]{}; uint8[0,2]{}", "int32[2]{0,0}"},
        {"MatMulInteger", 10, "", "uint8[2]{1,2}; uint8[2]{3,4}; uint8[]{1}", "int32[]{4}"},
        {"QLinearMatMul", 10, "",
         "uint8[1,2]{2,4}; float[]{0.5}; uint8[]{0}; int8[2,2]{1,-1,1,127}; float[2]{1,2}; "
         "int8[2]{0,0}; float[]{2}; int8[]{-1}",
         "int8[1,2]{1,127}"},
        {"QLinearMatMul", 10, "",
         "uint8[2,1]{1,3}; float[2]{1,2}; uint8[2]{0,1}; uint8[1,1]{3}; float[]{1}; uint8[]{0}; "
         "float[2,1]{2,4}; uint8[2,1]{10,20}",
         "uint8[2,1]{12,23}"},
        {"QLinearMatMul", 21, "",
         "float8e4m3fn[1,2]{1.5,-2}; float16[]{1}; float8e4m3fn[]{0}; int8[2,1]{2,1}; "
         "float16[]{1}; "
         "int8[]{0}; float16[]{1}; float8e5m2[]{0}",
         "float8e5m2[1,1]{1}"},
    };
    EXPECT_EVALUATED(calls);
    static const op_text shapes[] = {
        {"MatMulInteger", 10, "", "uint8[s0,3]; uint8[3,?]", "int32[s0,?]"},
        {"MatMulInteger", 10, "", "uint8[2,3]; uint8[2,3]", "error: cannot multiply"},
        {"MatMulInteger", 10, "", "uint8[2,3]; uint8[3,4]; uint8[3]",
         "error: input 2 has shape [3], which fits neither a matrix of shape [2,3]"},
        {"MatMulInteger", 10, "", "uint8[2,3]; uint8[3,4]; uint8[]; uint8[3]", "error: input 3"},
        {"MatMulInteger", 10, "", "uint8[2,3]; uint8[3,4]; int8[]", "error: type int8"},
        {"QLinearMatMul", 10, "",
         "uint8[2,3]; float[]; uint8[]; uint8[3,4]; float[]; uint8[]; float[4]; uint8[]",
         "error: input 6"},
        {"QLinearMatMul", 10, "",
         "uint8*; float[]; uint8[]; uint8[3,4]; float[4]; uint8[1,4]; float[]; int8[]", "int8*"},
    };
    EXPECT_INFERRED(shapes);
}

Test(quant, convolutions)
{
    static const op_text calls[] = {
        {"ConvInteger", 10, "pads=[1,1]", "uint8[1,1,3]{1,2,3}; int8[1,1,3]{1,-1,2}; uint8[]{1}",
         "int32[1,1,3]{2,3,-1}"},
        {"ConvInteger", 10, "group=2", "int8[1,2,1]{-128,3}; uint8[2,1,1]{255,2}; -; uint8[2]{0,1}",
         "int32[1,2,1]{-32640,3}"},
        {"ConvInteger", 10, "strides=[2] dilations=[2]",
         "uint8[1,1,5]{1,2,3,4,5}; uint8[1,1,2]{1,1}", "int32[1,1,2]{4,8}"},
        {"QLinearConv", 10, "",
         "uint8[1,1,2]{1,3}; float[]{1}; uint8[]{0}; int8[2,1,1]{1,-1}; float[2]{0.5,2}; "
         "int8[2]{0,0}; float[]{1}; uint8[]{3}; int32[2]{2,4}",
         "uint8[1,2,2]{5,5,9,5}"},
    };
    EXPECT_EVALUATED(calls);
    static const op_text shapes[] = {
        {"ConvInteger", 10, "", "uint8[s0,2,?]; uint8[4,2,3]", "int32[s0,4,?]"},
        {"ConvInteger", 10, "", "uint8[1,2,5]; uint8[4,2,3]; uint8[2]", "error: must be a scalar"},
        {"ConvInteger", 10, "", "uint8[1,2,5]; uint8[4,2,3]; uint8[]; uint8[3]",
         "error: each output channel"},
        {"ConvInteger", 10, "", "uint8[1,3,5]; uint8[4,2,3]", "error: 3 channels"},
        {"QLinearConv", 10, "",
         "uint8[1,2,5]; float[]; uint8[]; int8[4,2,3]; float[4]; int8[4]; float[]; int8[]; "
         "int32[3]",
         "error: the bias has 3 values"},
        {"QLinearConv", 10, "",
         "uint8[1,2,5]; float[]; uint8[]; int8[4,2,3]; float[4]; int8[4]; float[]; int32[]",
         "error: input 7 has type int32"},
        {"QLinearConv", 10, "",
         "uint8[1,2,5]; float[]; uint8[]; int8[4,2,3]; float[4]; int8[4]; float[]; int8[]; int8[4]",
         "error: input 8 has type int8"},
    };
    EXPECT_INFERRED(shapes);
}

Test(quant, bits)
{
    static const op_text calls[] = {
        {"BitCast", 26, "to=6", "float[2]{1,-0.0}", "int32[2]{1065353216,-2147483648}"},
        {"BitCast", 26, "to=21", "int4[3]{-1,7,-8}", "uint4[3]{15,7,8}"},
        {"BitCast", 26, "to=7", "double[0]{}", "int64[0]{}"},
        {"Cast", 28, "to=27", "float[5]{0.06,7.75,-0.0625,nan,1.0625}",
         "float6e2m3[5]{0,7.5,-0,-0,1}"},
        {"Cast", 28, "to=1", "float6e3m2[3]{0.0625,28,-3.5}", "float[3]{0.0625,28,-3.5}"},
        {"Cast", 27, "to=27", "float[1]{1}", "error: float6e2m3"},
        {"Cast", 24, "to=24 saturate=0", "float[3]{0,1e-40,inf}", "float8e8m0[3]{NaN,NaN,NaN}"},
        {"Cast", 25, "to=25", "string[5]{1,2,3,-1,100.5}", "uint2[5]{1,2,3,3,0}"},
        {"Pad", 25, "", "int2[3]{1,-1,-2}; int64[2]{1,2}; int2[]{-1}", "int2[6]{-1,1,-1,-2,-1,-1}"},
        {"Pad", 21, "mode='reflect'", "uint4[3]{1,2,3}; int64[2]{2,0}", "uint4[5]{3,2,1,2,3}"},
    };
    EXPECT_EVALUATED(calls);
    static const op_text types[] = {
        {"BitCast", 26, "to=7", "float[s0]", "error: 32 bits"},
        {"BitCast", 26, "to=8", "float[s0]", "error: (string)"},
        {"BitCast", 26, "to=99", "float[s0]", "error: 'to' is 99"},
        {"BitCast", 26, "to=12", "float[s0,?]", "uint32[s0,?]"},
    };
    EXPECT_INFERRED(types);
}

/* ---- the shared product and packing, across the edges of their blocks ---- */

static uint8_t next_byte(uint32_t *state)
{
    *state = *state * 1664525 + 1013904223;
    return (uint8_t)(*state >> 24);
}

static int number_of(uint8_t byte, bool is_signed)
{
    return is_signed ? (int8_t)byte : byte;
}

static void expect_product(size_t rows, size_t columns, size_t depth, bool is_a_signed,
                           bool is_b_signed)
{
    uint32_t state = (uint32_t)(rows * 31 + columns * 7 + depth);
    uint8_t *a = malloc(rows * depth + 1), *b = malloc(depth * columns + 1);
    uint8_t *a_zeros = malloc(rows), *b_zeros = malloc(columns);
    int32_t *out = malloc(rows * (columns + 3) * sizeof(*out));
    void *workspace = malloc(ONNXD_INTEGER_PRODUCT_WORKSPACE);
    for (size_t i = 0; i < rows * depth; i++)
        a[i] = next_byte(&state);
    for (size_t i = 0; i < depth * columns; i++)
        b[i] = next_byte(&state);
    for (size_t i = 0; i < rows; i++)
        a_zeros[i] = next_byte(&state);
    for (size_t i = 0; i < columns; i++)
        b_zeros[i] = next_byte(&state);
    onnxd_integer_vectors left = {.data = a,
                                  .is_signed = is_a_signed,
                                  .vector_stride = depth,
                                  .element_stride = 1,
                                  .zero_points = a_zeros,
                                  .zero_step = 1};
    onnxd_integer_vectors right = {.data = b,
                                   .is_signed = is_b_signed,
                                   .vector_stride = 1,
                                   .element_stride = columns,
                                   .zero_points = b_zeros,
                                   .zero_step = 1};
    onnxd_integer_vectors_init(&left);
    onnxd_integer_vectors_init(&right);
    onnxd_integer_product(rows, columns, depth, &left.side, &right.side, workspace, out,
                          columns + 3);
    for (size_t i = 0; i < rows; i++) {
        for (size_t j = 0; j < columns; j++) {
            int64_t sum = 0;
            for (size_t k = 0; k < depth; k++)
                sum += (int64_t)(number_of(a[i * depth + k], is_a_signed) -
                                 number_of(a_zeros[i], is_a_signed)) *
                       (number_of(b[k * columns + j], is_b_signed) -
                        number_of(b_zeros[j], is_b_signed));
            cr_assert_eq(out[i * (columns + 3) + j], (int32_t)(uint32_t)sum,
                         "%zu x %zu x %zu at %zu, %zu", rows, depth, columns, i, j);
        }
    }
    free(a);
    free(b);
    free(a_zeros);
    free(b_zeros);
    free(out);
    free(workspace);
}

Test(quant, product_across_blocks)
{
    static const size_t sizes[] = {1, 2, 5, 63, 64, 67};
    static const size_t depths[] = {0, 1, 15, 16, 17, 511, 513};
    for (size_t i = 0; i < 6; i++)
        for (size_t k = 0; k < 7; k++)
            expect_product(sizes[i], sizes[5 - i], depths[k], i % 2 == 0, k % 2 == 0);
}

Test(quant, product_wraps_around)
{
    enum { DEPTH = 40000 }; /* times 255 * 255 is above 2^31 */
    uint8_t *ones = malloc(DEPTH);
    memset(ones, 0xff, DEPTH);
    onnxd_integer_vectors side = {.data = ones, .vector_stride = DEPTH, .element_stride = 1};
    onnxd_integer_vectors_init(&side);
    void *workspace = malloc(ONNXD_INTEGER_PRODUCT_WORKSPACE);
    int32_t out = 0;
    onnxd_integer_product(1, 1, DEPTH, &side.side, &side.side, workspace, &out, 1);
    cr_expect_eq(out, (int32_t)(uint32_t)(UINT64_C(65025) * DEPTH));
    free(ones);
    free(workspace);
}

Test(quant, packing_keeps_every_element)
{
    static const onnxd_dtype dtypes[] = {ONNXD_UINT2, ONNXD_UINT4, ONNXD_FLOAT6E2M3, ONNXD_UINT8};
    for (size_t d = 0; d < 4; d++) {
        unsigned bits = onnxd_dtype_bits(dtypes[d]);
        for (size_t count = 0; count < 40; count++) {
            uint8_t bytes[40], packed[41], back[40];
            uint32_t state = (uint32_t)count;
            size_t packed_bytes;
            cr_assert(onnxd_dtype_bytes(dtypes[d], count, &packed_bytes));
            memset(packed, 0xaa, sizeof(packed));
            for (size_t i = 0; i < count; i++)
                bytes[i] = next_byte(&state);
            onnxd_pack(dtypes[d], count, bytes, packed);
            cr_assert_eq(packed[packed_bytes], 0xaa, "written past the end");
            onnxd_unpack(dtypes[d], count, packed, back);
            for (size_t i = 0; i < count; i++)
                cr_assert_eq(back[i], bytes[i] & ((1u << bits) - 1));
            if (count * bits % 8 != 0)
                cr_assert_eq(packed[packed_bytes - 1] >> (count * bits % 8), 0, "stale bits");
        }
    }
}
