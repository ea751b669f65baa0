/*
 * Numbers of 2, 4 or 8 bits in bytes, the first in the lowest bits, as weights that are quantised
 * block by block have them.
 */
#ifndef ONNXD_OPS_CONTRIB_N_BITS_H
#define ONNXD_OPS_CONTRIB_N_BITS_H

#include <stddef.h>
#include <stdint.h>

/* Number `index` of a row of numbers of `bits`. */
static inline uint8_t onnxd_n_bits_at(const uint8_t *row, size_t bits, size_t index)
{
    size_t per_byte = 8 / bits;
    unsigned shift = (unsigned)(index % per_byte * bits);
    return (uint8_t)((unsigned)row[index / per_byte] >> shift & ((1u << bits) - 1));
}

/* The first `count` numbers of a row, as floats. */
static inline void onnxd_n_bits_read(const uint8_t *row, size_t bits, size_t count, float *out)
{
    if (bits == 8) {
        for (size_t i = 0; i < count; i++)
            out[i] = row[i];
    } else if (bits == 4) {
        for (size_t i = 0; i + 1 < count; i += 2) {
            out[i] = (float)(row[i / 2] & 0xf);
            out[i + 1] = (float)(row[i / 2] >> 4);
        }
        if (count % 2 != 0)
            out[count - 1] = (float)(row[count / 2] & 0xf);
    } else {
        for (size_t i = 0; i < count; i++)
            out[i] = onnxd_n_bits_at(row, bits, i);
    }
}

/* Bytes of a row of `count` numbers. */
static inline size_t onnxd_n_bits_bytes(size_t bits, size_t count)
{
    size_t per_byte = 8 / bits;
    return count / per_byte + (count % per_byte != 0);
}

#endif
