/*
 * Products of bfloat16 (onnxd_simd_bf16_tile): B is rounded when it is packed, A block by block
 * when it is read. Sums and all that follows them are in float.
 *
 * The taps of a product are one depth here. Packed B is cut into panels of tile_columns columns. A
 * panel holds, for each pair of steps of the depth, its columns one after the other, of each the
 * two elements; zeros behind the last column and the last step.
 */
#ifndef ONNXD_EP_CPU_COMPUTE_BF16_PRODUCT_H
#define ONNXD_EP_CPU_COMPUTE_BF16_PRODUCT_H

#include "base/status.h"
#include "ep/cpu/compute/product.h"

/* Elements that packed B takes, `depth` of all taps. False when they do not fit size_t. */
bool onnxd_bf16_packed_count(const onnxd_simd *simd, size_t depth, size_t columns,
                             size_t *out_count);
/* As onnxd_product_pack(). */
void onnxd_bf16_pack(const onnxd_simd *simd, size_t taps, size_t depth, size_t columns,
                     const float *b, const onnxd_product_strides *strides, uint16_t *packed);

/* What the level gains on this processor. Some have the instruction, but multiply fewer pairs with
 * it than they multiply floats: where the level's table says that all products gain, both are
 * measured first, in some hundred microseconds, and where bfloat16 is not clearly faster only those
 * products gain that wait for memory. Error: no memory. */
onnxd_status *onnxd_bf16_gain(const onnxd_simd *simd, onnxd_simd_bf16_gain *out_gain);

/* A block that has packed_bf16. */
void onnxd_bf16_block_run(const onnxd_simd *simd, const onnxd_product_block *block);

#endif
