/* Every pair of types that the protocol carries, at the values where conversions differ. The
 * numbers are those of onnxruntime. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "base/dtype.h"
#include "tests/ops/op_text.h"

Test(cast, floats_to_integers)
{
    static const op_text calls[] = {
        {"Cast", 13, "to=3", "float[8]{1.5,-1.5,127.9,128,300,70000,inf,nan}",
         "int8[8]{1,-1,127,-128,44,112,0,0}"},
        {"Cast", 13, "to=2", "float[5]{-1.5,255.5,256,300,1e30}", "uint8[5]{255,255,0,44,0}"},
        {"Cast", 13, "to=5", "double[3]{32768,65536,70000}", "int16[3]{-32768,0,4464}"},
        {"Cast", 13, "to=6", "float[5]{2147483648,-2147483649,inf,-inf,nan}",
         "int32[5]{-2147483648,-2147483648,-2147483648,-2147483648,-2147483648}"},
        {"Cast", 13, "to=12", "double[4]{-1,2147483648,4294967295,4294967296}",
         "uint32[4]{4294967295,2147483648,4294967295,0}"},
        {"Cast", 13, "to=7", "float[3]{9.3e18,-inf,nan}",
         "int64[3]{-9223372036854775808,-9223372036854775808,-9223372036854775808}"},
        {"Cast", 13, "to=7", "double[2]{9223372036854775808,-9223372036854775808}",
         "int64[2]{-9223372036854775808,-9223372036854775808}"},
        {"Cast", 13, "to=13", "double[4]{-1,9223372036854775808,1.8e19,1e30}",
         "uint64[4]{18446744073709551615,9223372036854775808,18000000000000000000,0}"},
        {"Cast", 13, "to=9", "float[4]{0,-0.0,1e-8,nan}", "bool[4]{0,0,1,1}"},
        {"Cast", 13, "to=3", "float16[2]{-1.5,65504}", "int8[2]{-1,-32}"},
        {"Cast", 13, "to=6", "bfloat16[2]{-1.5,256}", "int32[2]{-1,256}"},
    };
    EXPECT_EVALUATED(calls);
}

Test(cast, integers)
{
    static const op_text calls[] = {
        {"Cast", 13, "to=3", "int64[4]{128,255,256,-129}", "int8[4]{-128,-1,0,127}"},
        {"Cast", 13, "to=13", "int8[1]{-1}", "uint64[1]{18446744073709551615}"},
        {"Cast", 13, "to=7", "uint64[1]{18446744073709551615}", "int64[1]{-1}"},
        {"Cast", 13, "to=9", "int64[3]{0,256,-1}", "bool[3]{0,1,1}"},
        {"Cast", 13, "to=1", "int64[2]{16777217,-9223372036854775808}",
         "float[2]{16777216,-9.223372e+18}"},
        {"Cast", 13, "to=10", "int64[3]{65519,65520,2049}", "float16[3]{65504,INF,2048}"},
        {"Cast", 13, "to=16", "int32[1]{257}", "bfloat16[1]{256}"},
        {"Cast", 13, "to=11", "uint64[1]{9007199254740993}", "double[1]{9.0071993e+15}"},
        {"Cast", 13, "to=1", "bool[2]{1,0}", "float[2]{1,0}"},
        {"Cast", 21, "to=22", "int32[3]{7,8,-9}", "int4[3]{7,-8,7}"},
        {"Cast", 21, "to=21", "float[3]{15,16,-1}", "uint4[3]{15,0,15}"},
        {"Cast", 21, "to=6", "int4[3]{-8,7,-1}", "int32[3]{-8,7,-1}"},
        {"Cast", 25, "to=6", "int2[5]{-2,1,-1,0,1}", "int32[5]{-2,1,-1,0,1}"},
    };
    EXPECT_EVALUATED(calls);
}

Test(cast, floats)
{
    static const op_text calls[] = {
        {"Cast", 13, "to=10", "double[5]{65519,65520,1e-8,0.1,nan}",
         "float16[5]{65504,INF,0,0.099975586,NaN}"},
        {"Cast", 13, "to=1", "double[3]{1e39,-0.0,0.1}", "float[3]{INF,-0,0.1}"},
        {"Cast", 13, "to=16", "float[3]{1.00390625,1.01171875,inf}", "bfloat16[3]{1,1.015625,INF}"},
        {"Cast", 19, "to=17", "float[4]{0.1,449,1e6,nan}",
         "float8e4m3fn[4]{0.1015625,448,448,NaN}"},
        {"Cast", 19, "to=17", "float[4]{15.6,0.00098,0.0155,-1.96}",
         "float8e4m3fn[4]{16,0.001953125,0.015625,-2}"},
        {"Cast", 19, "to=17 saturate=0", "float[3]{448,1e6,-inf}", "float8e4m3fn[3]{448,NaN,NaN}"},
        {"Cast", 19, "to=19 saturate=0", "float[2]{1e6,-1e6}", "float8e5m2[2]{INF,-INF}"},
        {"Cast", 19, "to=20", "float[3]{-0.0,1e6,nan}", "float8e5m2fnuz[3]{0,57344,NaN}"},
        {"Cast", 24, "to=24", "float[4]{1,3,5,nan}", "float8e8m0[4]{1,4,8,NaN}"},
        {"Cast", 24, "to=24 round_mode='down'", "float[2]{3,5}", "float8e8m0[2]{2,4}"},
        {"Cast", 24, "to=24 round_mode='sideways'", "float[1]{3}",
         "error: 'round_mode' is 'sideways', must be"},
        {"Cast", 13, "to=1 saturate=0", "float[1]{3}", "error: 'saturate'"},
    };
    EXPECT_EVALUATED(calls);
}

Test(cast, strings)
{
    static const op_text calls[] = {
        {"Cast", 13, "to=8", "float[6]{0.1,1e10,-0.0,inf,-inf,nan}",
         "string[6]{0.1,1e+10,-0,INF,-INF,NaN}"},
        {"Cast", 13, "to=8", "double[2]{3.14,123456789}", "string[2]{3.14,1.2345679e+08}"},
        {"Cast", 13, "to=8", "float16[1]{0.1}", "string[1]{0.099975586}"},
        {"Cast", 13, "to=8", "int64[1]{-9223372036854775808}", "string[1]{-9223372036854775808}"},
        {"Cast", 13, "to=8", "uint64[1]{18446744073709551615}", "string[1]{18446744073709551615}"},
        {"Cast", 13, "to=8", "bool[2]{1,0}", "string[2]{1,0}"},
        {"Cast", 13, "to=8", "string[2]{,a}", "string[2]{,a}"},
        {"Cast", 13, "to=1", "string[7]{1e3, 2 ,+INF,-inf,NaN,.5,5.}",
         "float[7]{1000,2,INF,-INF,NaN,0.5,5}"},
        {"Cast", 13, "to=11", "string[2]{1e-400,0.1}", "double[2]{0,0.1}"},
        {"Cast", 13, "to=7", "string[3]{100.5,-9223372036854775808,+7}",
         "int64[3]{100,-9223372036854775808,7}"},
        {"Cast", 13, "to=13", "string[2]{18446744073709551615,-1}",
         "uint64[2]{18446744073709551615,18446744073709551615}"},
        {"Cast", 13, "to=3", "string[2]{300,-1}", "int8[2]{44,-1}"},
        {"Cast", 13, "to=9", "string[2]{0,2}", "bool[2]{0,1}"},
        {"Cast", 13, "to=10", "string[1]{0.1}", "float16[1]{0.099975586}"},
        {"Cast", 13, "to=1", "string[2]{1,abc}",
         "error: node 'n' (Cast): element 1, 'abc', is no number of type float"},
        {"Cast", 13, "to=1", "string[1]{ }", "error: ' '"},
        {"Cast", 13, "to=1", "string[1]{1e400}", "error: '1e400'"},
        {"Cast", 13, "to=1", "string[1]{0x10}", "error: '0x10'"},
        {"Cast", 13, "to=1", "string[1]{1_0}", "error: '1_0'"},
        {"Cast", 13, "to=1", "string[1]{1 2}", "error: '1 2'"},
        {"Cast", 13, "to=1", "string[1]{1e}", "error: '1e'"},
        {"Cast", 13, "to=1", "string[1]{-}", "error: '-'"},
        {"Cast", 13, "to=7", "string[1]{99999999999999999999}", "error: element 0"},
        {"Cast", 13, "to=13", "string[1]{18446744073709551616}", "error: element 0"},
        {"CastLike", 15, "", "string[1]{7}; int8[0]{}", "int8[1]{7}"},
    };
    EXPECT_EVALUATED(calls);
}

/* 1 is 1 in every type. */
Test(cast, every_pair_of_protocol_types)
{
    for (int from = 1; from < ONNXD_DTYPE_COUNT; from++) {
        for (int to = 1; to < ONNXD_DTYPE_COUNT; to++) {
            if ((ONNXD_SET_PROTOCOL & 1u << from) == 0 || (ONNXD_SET_PROTOCOL & 1u << to) == 0)
                continue;
            char attributes[16], input[64], expected[64];
            snprintf(attributes, sizeof(attributes), "to=%d", to);
            snprintf(input, sizeof(input), "%s[3]{1,0,1}", onnxd_dtype_name((onnxd_dtype)from));
            snprintf(expected, sizeof(expected), "%s[3]{1,0,1}", onnxd_dtype_name((onnxd_dtype)to));
            op_text call = {"Cast", 13, attributes, input, expected};
            op_text_expect_evaluated(&call, 1);
        }
    }
}
