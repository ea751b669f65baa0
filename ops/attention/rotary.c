#include "ops/attention/rotary.h"

#include <string.h>

#include "ops/real.h"

static void turn(const onnxd_rotary *r, const float *cosines, const float *sines, const float *in,
                 float *out)
{
    size_t step = r->is_interleaved ? 2 : 1, apart = r->is_interleaved ? 1 : r->half;
    for (size_t i = 0; i < r->half; i++) {
        float a = in[i * step], b = in[i * step + apart];
        out[i * step] = cosines[i] * a - sines[i] * b;
        out[i * step + apart] = sines[i] * a + cosines[i] * b;
    }
    memcpy(out + 2 * r->half, in + 2 * r->half, (r->size - 2 * r->half) * sizeof(float));
}

void onnxd_rotary_turn(const onnxd_rotary *r, size_t row, size_t count,
                       const onnxd_rotary_heads *in, onnxd_dtype out_dtype, void *out,
                       size_t out_at, size_t out_head, float *scratch)
{
    float *before = scratch, *after = before + r->size;
    float *cosines = after + r->size, *sines = cosines + r->half;
    onnxd_real_read_float(r->dtype, r->cosines, row * r->half, r->half, cosines);
    onnxd_real_read_float(r->dtype, r->sines, row * r->half, r->half, sines);
    for (size_t h = 0; h < count; h++) {
        onnxd_real_read_float(in->dtype, in->data, in->at + h * in->head, r->size, before);
        turn(r, cosines, sines, before, after);
        onnxd_real_write_float(out_dtype, after, r->size, out, out_at + h * out_head);
    }
}
