/* Small helpers on tensor elements, shared by the codecs. Threads: any. */
#ifndef ONNXD_HTTP_TENSOR_ELEMENT_H
#define ONNXD_HTTP_TENSOR_ELEMENT_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* The protocol's byte order is the host's: elements are copied as they are. */
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the codecs need a little-endian host");

/* A name from a request as the two arguments of "%.*s", cut. */
#define ONNXD_HTTP_NAME_BYTES 128
#define ONNXD_HTTP_NAME_ARGS(span)                                                                 \
    (int)((span).size < ONNXD_HTTP_NAME_BYTES ? (span).size : ONNXD_HTTP_NAME_BYTES), (span).data

typedef struct onnxd_http_integer_range {
    int64_t min;
    uint64_t max;
    size_t bytes; /* of an element */
} onnxd_http_integer_range;

/* The low `bytes` bytes of `value`. */
static inline void onnxd_http_store_bits(void *out, size_t bytes, uint64_t value)
{
    memcpy(out, &value, bytes);
}

/* To float such that rounding the result once more, to a shorter type, gives what rounding `value`
 * itself to that type would have given. */
static inline float onnxd_http_round_to_odd(double value)
{
    float nearest = (float)value;
    if (!isfinite(value) || (double)nearest == value)
        return nearest;
    if (!isfinite(nearest))
        return nearest;
    uint32_t bits;
    memcpy(&bits, &nearest, sizeof(bits));
    if (fabs((double)nearest) > fabs(value))
        bits--; /* towards zero: magnitude and bits go together */
    bits |= 1;
    memcpy(&nearest, &bits, sizeof(bits));
    return nearest;
}

#endif
