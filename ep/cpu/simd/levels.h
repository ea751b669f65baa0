/* What the files that are built per level define, for table_kernels.c and levels.c. */
#ifndef ONNXD_EP_CPU_SIMD_LEVELS_H
#define ONNXD_EP_CPU_SIMD_LEVELS_H

#include "ep/cpu/simd/simd.h"

#define ONNXD_SIMD_DECLARE(level)                                                                  \
    extern const onnxd_simd onnxd_simd_##level;                                                    \
    void onnxd_simd_product_##level(const onnxd_simd_tile *tile);                                  \
    void onnxd_simd_pack_rows_##level(const onnxd_simd_tile *tile, float *out);                    \
    void onnxd_simd_bf16_product_##level(const onnxd_simd_bf16_tile *tile);                        \
    void onnxd_simd_bf16_round_##level(const float *in, size_t count, uint16_t *out);              \
    void onnxd_simd_bf16_pair_##level(const float *first, const float *second, uint16_t *out);     \
    void onnxd_simd_maximum_##level(const onnxd_simd_window *window, size_t channels);             \
    void onnxd_simd_sum_##level(const onnxd_simd_window *window, size_t channels, float scale);    \
    void onnxd_simd_depthwise_##level(const onnxd_simd_depthwise *pixels);                         \
    void onnxd_simd_winograd_weights_##level(size_t tile, const float *kernels, size_t stride,     \
                                             size_t columns, float *out, size_t matrix);           \
    void onnxd_simd_winograd_in_##level(size_t tile, const float *const *pixels, size_t channels,  \
                                        float *out, size_t matrix);                                \
    void onnxd_simd_winograd_out_##level(const onnxd_simd_winograd_out *tile, size_t maps);        \
    void onnxd_simd_softmax_##level(const float *in, size_t length, float *out);                   \
    float onnxd_simd_weigh_##level(float *scores, size_t length, float scale, const float *mask);  \
    void onnxd_simd_layer_norm_##level(const onnxd_simd_layer_norm *norm, const float *in,         \
                                       float *out);                                                \
    void onnxd_simd_lrn_##level(const onnxd_simd_lrn *lrn, const float *in, float *out);           \
    void onnxd_simd_transpose_bytes_##level(const uint8_t *in, size_t rows, size_t columns,        \
                                            size_t in_stride, uint8_t *out, size_t out_stride);    \
    void onnxd_simd_transpose_##level(const float *in, size_t rows, size_t columns,                \
                                      size_t in_stride, float *out, size_t out_stride);            \
    void onnxd_simd_binary_##level(onnxd_simd_binary op, const onnxd_simd_row *row);               \
    void onnxd_simd_activate_##level(const onnxd_simd_activation *activation, size_t count,        \
                                     const float *in, float *out);                                 \
    void onnxd_simd_cast_##level(onnxd_simd_cast cast, const void *in, size_t count, void *out);   \
    float onnxd_simd_reduce_##level(onnxd_simd_reduction how, const float *in, size_t count);      \
    void onnxd_simd_reduce_columns_##level(onnxd_simd_reduction how, const float *in, size_t rows, \
                                           size_t columns, size_t in_stride, float *out);          \
    float onnxd_simd_spread_##level(const float *in, size_t count, float center);                  \
    size_t onnxd_simd_find_##level(const float *in, size_t count, float value);                    \
    void onnxd_simd_affine_##level(const float *in, size_t count, const onnxd_simd_line *line,     \
                                   float *out);                                                    \
    void onnxd_simd_lstm_##level(const onnxd_simd_cell *cell);                                     \
    void onnxd_simd_gru_reset_##level(const onnxd_simd_cell *cell);                                \
    void onnxd_simd_gru_##level(const onnxd_simd_cell *cell);                                      \
    double onnxd_simd_arithmetic_##level(size_t steps);                                            \
    float onnxd_simd_read_##level(const float *from, size_t count);                                \
    void onnxd_simd_integer_product_##level(const onnxd_simd_integer_tile *tile);                  \
    void onnxd_simd_byte_product_##level(const onnxd_simd_byte_tile *tile);                        \
    void onnxd_simd_integer_store_##level(const onnxd_simd_integer_post *post,                     \
                                          const int32_t *sums, size_t rows, size_t columns,        \
                                          void *out, size_t out_stride);                           \
    void onnxd_simd_integer_unpack_##level(const int8_t *in, size_t steps, const int16_t *zeros,   \
                                           int16_t *out);                                          \
    void onnxd_simd_integer_widen_##level(const uint8_t *in, size_t count, onnxd_simd_zero zero,   \
                                          int16_t *out);                                           \
    void onnxd_simd_dequantize_##level(const uint8_t *in, size_t count, onnxd_simd_zero zero,      \
                                       float scale, float *out);                                   \
    void onnxd_simd_quantize_##level(const float *in, size_t count, float scale,                   \
                                     const onnxd_simd_range *range, uint8_t *out);                 \
    void onnxd_simd_bounds_##level(const float *in, size_t count, float *inout_low,                \
                                   float *inout_high);                                             \
    void onnxd_simd_quantized_sum_##level(const onnxd_simd_quantized_sum *sum);                    \
    void onnxd_simd_quantized_maximum_##level(const uint8_t *const *pixels, size_t count,          \
                                              size_t channels, uint8_t flip, uint8_t *out);

ONNXD_SIMD_DECLARE(portable)
ONNXD_SIMD_DECLARE(avx2)
ONNXD_SIMD_DECLARE(avx512)
#undef ONNXD_SIMD_DECLARE
extern const onnxd_simd onnxd_simd_avx512_vnni;
void onnxd_simd_byte_product_avx512_vnni(const onnxd_simd_byte_tile *tile);
extern const onnxd_simd onnxd_simd_avx512_bf16;
void onnxd_simd_byte_product_avx512_bf16(const onnxd_simd_byte_tile *tile);
void onnxd_simd_bf16_product_avx512_bf16(const onnxd_simd_bf16_tile *tile);

#endif
