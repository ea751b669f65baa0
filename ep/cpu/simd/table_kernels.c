/* The level's table. */
#include "ep/cpu/simd/levels.h"
#include "ep/cpu/simd/vector.h"

#if defined(__AVX512BF16__)
#define LEVEL ONNXD_SIMD_AVX512_BF16
#elif defined(__AVX512VNNI__)
#define LEVEL ONNXD_SIMD_AVX512_VNNI
#elif LEVEL_LANES == 16
#define LEVEL ONNXD_SIMD_AVX512
#elif LEVEL_LANES == 8
#define LEVEL ONNXD_SIMD_AVX2
#else
#define LEVEL ONNXD_SIMD_PORTABLE
#endif

const onnxd_simd OWN_NAME(onnxd_simd) = {
    .level = LEVEL,
    .lanes = LANES,
    .tile_rows = TILE_ROWS,
    .tile_columns = TILE_COLUMNS,
    .product = LEVEL_NAME(onnxd_simd_product),
    .pack_rows = LEVEL_NAME(onnxd_simd_pack_rows),
    .bf16_product = BF16_NAME(onnxd_simd_bf16_product),
    .bf16_round = LEVEL_NAME(onnxd_simd_bf16_round),
    .bf16_pair = LEVEL_NAME(onnxd_simd_bf16_pair),
#if defined(__AVX512BF16__)
    .bf16_gain = {SIZE_MAX, 0},
#else
    /* Widening costs more than multiplying. */
    .bf16_gain = ONNXD_BF16_GAIN_FROM_MEMORY,
#endif
    .maximum = LEVEL_NAME(onnxd_simd_maximum),
    .sum = LEVEL_NAME(onnxd_simd_sum),
    .depthwise = LEVEL_NAME(onnxd_simd_depthwise),
    .winograd_weights = LEVEL_NAME(onnxd_simd_winograd_weights),
    .winograd_in = LEVEL_NAME(onnxd_simd_winograd_in),
    .winograd_out = LEVEL_NAME(onnxd_simd_winograd_out),
    .softmax = LEVEL_NAME(onnxd_simd_softmax),
    .weigh = LEVEL_NAME(onnxd_simd_weigh),
    .layer_norm = LEVEL_NAME(onnxd_simd_layer_norm),
    .lrn = LEVEL_NAME(onnxd_simd_lrn),
    .transpose = LEVEL_NAME(onnxd_simd_transpose),
    .transpose_bytes = LEVEL_NAME(onnxd_simd_transpose_bytes),
    .binary = LEVEL_NAME(onnxd_simd_binary),
    .activate = LEVEL_NAME(onnxd_simd_activate),
    .cast = LEVEL_NAME(onnxd_simd_cast),
    .reduce = LEVEL_NAME(onnxd_simd_reduce),
    .reduce_columns = LEVEL_NAME(onnxd_simd_reduce_columns),
    .spread = LEVEL_NAME(onnxd_simd_spread),
    .find = LEVEL_NAME(onnxd_simd_find),
    .affine = LEVEL_NAME(onnxd_simd_affine),
    .lstm = LEVEL_NAME(onnxd_simd_lstm),
    .gru_reset = LEVEL_NAME(onnxd_simd_gru_reset),
    .gru = LEVEL_NAME(onnxd_simd_gru),
    .arithmetic = LEVEL_NAME(onnxd_simd_arithmetic),
    .read = LEVEL_NAME(onnxd_simd_read),
    .integer_product = LEVEL_NAME(onnxd_simd_integer_product),
#if LEVEL_LANES > 4
    .byte_product = OWN_NAME(onnxd_simd_byte_product),
#endif
#if defined(__AVX512VNNI__)
    .takes_any_bytes = true,
#endif
    .integer_store = LEVEL_NAME(onnxd_simd_integer_store),
    .integer_unpack = LEVEL_NAME(onnxd_simd_integer_unpack),
    .integer_widen = LEVEL_NAME(onnxd_simd_integer_widen),
    .dequantize = LEVEL_NAME(onnxd_simd_dequantize),
    .quantize = LEVEL_NAME(onnxd_simd_quantize),
    .bounds = LEVEL_NAME(onnxd_simd_bounds),
    .quantized_sum = LEVEL_NAME(onnxd_simd_quantized_sum),
    .quantized_maximum = LEVEL_NAME(onnxd_simd_quantized_maximum),
};
