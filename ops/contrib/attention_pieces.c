#include "ops/contrib/attention_pieces.h"

#include <math.h>
#include <string.h>

#include "base/size_math.h"
#include "ops/real.h"

void *onnxd_carve(onnxd_carver *carver, size_t count, size_t element)
{
    size_t bytes, start = carver->used;
    if (start == SIZE_MAX)
        return NULL;
    if (!onnxd_size_mul(count, element, &bytes) || !onnxd_size_align(bytes, 16, &bytes) ||
        !onnxd_size_add(start, bytes, &carver->used))
        carver->used = SIZE_MAX;
    return carver->base == NULL || count == 0 ? NULL : carver->base + start;
}

onnxd_attention_operand onnxd_attention_by_head(const void *data, onnxd_dtype dtype, size_t heads,
                                                size_t length, size_t size)
{
    return (onnxd_attention_operand){.data = data,
                                     .dtype = dtype,
                                     .batch = heads * length * size,
                                     .head = length * size,
                                     .row = size};
}

onnxd_attention_operand onnxd_attention_by_row(const void *data, onnxd_dtype dtype, size_t length,
                                               size_t width, size_t size)
{
    return (onnxd_attention_operand){
        .data = data, .dtype = dtype, .batch = length * width, .head = size, .row = width};
}

void onnxd_cache_store(const onnxd_cache *c, size_t batch, size_t at, size_t count,
                       const onnxd_attention_operand *from, float *scratch)
{
    size_t element = onnxd_dtype_size(c->dtype);
    for (size_t h = 0; h < c->heads; h++) {
        size_t to = ((batch * c->heads + h) * c->capacity + at) * c->size;
        size_t source = batch * from->batch + h * from->head;
        for (size_t s = 0; s < count; s++, to += c->size, source += from->row) {
            if (from->dtype == c->dtype) {
                memcpy((char *)c->data + to * element, (const char *)from->data + source * element,
                       c->size * element);
                continue;
            }
            onnxd_real_read_float(from->dtype, from->data, source, c->size, scratch);
            onnxd_real_write_float(c->dtype, scratch, c->size, c->data, to);
        }
    }
}

void onnxd_attention_add_bias(const onnxd_attention_operand *from, onnxd_dtype bias_dtype,
                              const void *bias, size_t bias_first, size_t batch, size_t heads,
                              size_t length, size_t size, float *out)
{
    float terms[64];
    for (size_t b = 0; b < batch; b++)
        for (size_t s = 0; s < length; s++)
            for (size_t h = 0; h < heads; h++, out += size) {
                onnxd_real_read_float(from->dtype, from->data,
                                      b * from->batch + h * from->head + s * from->row, size, out);
                for (size_t i = 0; i < size; i += ONNXD_COUNT(terms)) {
                    size_t part = size - i < ONNXD_COUNT(terms) ? size - i : ONNXD_COUNT(terms);
                    onnxd_real_read_float(bias_dtype, bias, bias_first + h * size + i, part, terms);
                    for (size_t k = 0; k < part; k++)
                        out[i + k] += terms[k];
                }
            }
}

double onnxd_attention_scale(float scale, size_t head_size)
{
    return scale != 0 ? (double)scale : 1 / sqrt((double)head_size);
}
