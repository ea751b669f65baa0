#include "ep/cpu/simd/levels.h"

const char *onnxd_simd_level_name(onnxd_simd_level level)
{
    switch (level) {
    case ONNXD_SIMD_AVX2:
        return "avx2";
    case ONNXD_SIMD_AVX512:
        return "avx512";
    case ONNXD_SIMD_AVX512_VNNI:
        return "avx512_vnni";
    case ONNXD_SIMD_AVX512_BF16:
        return "avx512_bf16";
    case ONNXD_SIMD_PORTABLE:
    case ONNXD_SIMD_LEVEL_COUNT:
        break;
    }
    return "portable";
}

#if defined(__x86_64__)

#include <cpuid.h>

/* Not every compiler knows the feature by name. */
static bool has_f16c(void)
{
    unsigned a, b, c, d;
    return __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & bit_F16C) != 0;
}

/* The compiler's run-time checks include whether the operating system saves the registers. */
bool onnxd_simd_is_available(onnxd_simd_level level)
{
    switch (level) {
    case ONNXD_SIMD_AVX2:
        return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && has_f16c();
    case ONNXD_SIMD_AVX512:
        return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
               __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
               __builtin_cpu_supports("fma");
    case ONNXD_SIMD_AVX512_VNNI:
        return onnxd_simd_is_available(ONNXD_SIMD_AVX512) && __builtin_cpu_supports("avx512vnni");
    case ONNXD_SIMD_AVX512_BF16:
        return onnxd_simd_is_available(ONNXD_SIMD_AVX512_VNNI) &&
               __builtin_cpu_supports("avx512bf16");
    case ONNXD_SIMD_PORTABLE:
        return true;
    case ONNXD_SIMD_LEVEL_COUNT:
        break;
    }
    return false;
}

const onnxd_simd *onnxd_simd_table(onnxd_simd_level level)
{
    switch (level) {
    case ONNXD_SIMD_AVX2:
        return &onnxd_simd_avx2;
    case ONNXD_SIMD_AVX512:
        return &onnxd_simd_avx512;
    case ONNXD_SIMD_AVX512_VNNI:
        return &onnxd_simd_avx512_vnni;
    case ONNXD_SIMD_AVX512_BF16:
        return &onnxd_simd_avx512_bf16;
    case ONNXD_SIMD_PORTABLE:
    case ONNXD_SIMD_LEVEL_COUNT:
        break;
    }
    return &onnxd_simd_portable;
}

#else

bool onnxd_simd_is_available(onnxd_simd_level level)
{
    return level == ONNXD_SIMD_PORTABLE;
}

const onnxd_simd *onnxd_simd_table(onnxd_simd_level level)
{
    (void)level;
    return &onnxd_simd_portable;
}

#endif

onnxd_simd_level onnxd_simd_best(void)
{
    onnxd_simd_level best = ONNXD_SIMD_PORTABLE;
    for (int level = 0; level < ONNXD_SIMD_LEVEL_COUNT; level++)
        if (onnxd_simd_is_available((onnxd_simd_level)level))
            best = (onnxd_simd_level)level;
    return best;
}
