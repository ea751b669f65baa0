#include "ep/cpu/simd_quantized.h"

#include <string.h>

#include "base/size_math.h"

bool onnxd_is_bytes(onnxd_dtype dtype)
{
    return dtype == ONNXD_INT8 || dtype == ONNXD_UINT8;
}

/* ---- cases ----------------------------------------------------------------------------------- */

bool onnxd_quantized_is_parameter(const onnxd_cpu_case *c, uint32_t index, onnxd_dtype dtype,
                                  int64_t columns)
{
    size_t count;
    if (index == ONNXD_ABSENT || !onnxd_cpu_has_input(c, index))
        return true;
    const onnxd_tensor_type *type = &c->query->inputs[index];
    return type->dtype == dtype && onnxd_shape_is_static(&type->shape) &&
           onnxd_shape_count(&type->shape, &count) &&
           (count == 1 || (columns > 0 && count == (uint64_t)columns));
}

bool onnxd_quantized_takes(const onnxd_cpu_case *c, const onnxd_quantized_inputs *at,
                           int64_t columns)
{
    const onnxd_dtype out = c->outputs[0].dtype;
    const onnxd_tensor_type *inputs = c->query->inputs;
    return c->runtime->uses_vector_kernels && onnxd_is_bytes(inputs[at->a].dtype) &&
           onnxd_is_bytes(inputs[at->b].dtype) && onnxd_cpu_constant(c, at->b) != NULL &&
           (onnxd_is_bytes(out) || out == ONNXD_FLOAT || out == ONNXD_INT32) &&
           onnxd_quantized_is_parameter(c, at->a_scale, ONNXD_FLOAT, 0) &&
           onnxd_quantized_is_parameter(c, at->a_zero, inputs[at->a].dtype, 0) &&
           onnxd_quantized_is_parameter(c, at->b_scale, ONNXD_FLOAT, columns) &&
           onnxd_quantized_is_parameter(c, at->b_zero, inputs[at->b].dtype, columns) &&
           onnxd_quantized_is_parameter(c, at->y_scale, ONNXD_FLOAT, 0) &&
           onnxd_quantized_is_parameter(c, at->y_zero, out, 0);
}

bool onnxd_quantized_allows_fours(const onnxd_cpu_case *c, const onnxd_quantized_inputs *at)
{
    if (c->query->inputs[at->b].dtype != ONNXD_INT8)
        return false;
    if (at->b_zero == ONNXD_ABSENT || !onnxd_cpu_has_input(c, at->b_zero))
        return true;
    const onnxd_tensor *zeros = onnxd_cpu_constant(c, at->b_zero);
    bool has_none = zeros != NULL;
    for (size_t i = 0; has_none && i < zeros->count; i++)
        has_none = ((const int8_t *)zeros->data)[i] == 0;
    return has_none;
}

/* ---- arguments ------------------------------------------------------------------------------- */

const onnxd_tensor_view *onnxd_quantized_view(const onnxd_kernel_args *args, uint32_t index)
{
    if (index >= args->input_count || !onnxd_tensor_view_is_present(&args->inputs[index]))
        return NULL;
    return &args->inputs[index];
}

float onnxd_quantized_scale(const onnxd_kernel_args *args, uint32_t index)
{
    const onnxd_tensor_view *view = onnxd_quantized_view(args, index);
    return view == NULL ? 1 : *(const float *)onnxd_tensor_view_data(view);
}

uint8_t onnxd_quantized_zero_byte(const onnxd_kernel_args *args, uint32_t index)
{
    const onnxd_tensor_view *view = onnxd_quantized_view(args, index);
    return view == NULL ? 0 : *(const uint8_t *)onnxd_tensor_view_data(view);
}

onnxd_simd_zero onnxd_quantized_zero(const onnxd_kernel_args *args, uint32_t index,
                                     onnxd_dtype dtype)
{
    return onnxd_integer_zero(dtype == ONNXD_INT8, onnxd_quantized_zero_byte(args, index));
}

onnxd_simd_range onnxd_quantized_range(const onnxd_kernel_args *args, uint32_t index,
                                       onnxd_dtype dtype)
{
    return onnxd_integer_range(dtype == ONNXD_INT8, onnxd_quantized_zero_byte(args, index));
}

/* ---- columns --------------------------------------------------------------------------------- */

/* Bytes of a column: factor, bias, addend and two zeros. */
#define COLUMN_BYTES (2 * sizeof(float) + sizeof(int32_t) + 2 * sizeof(int16_t))

bool onnxd_quantized_columns_bytes(const onnxd_simd *simd, size_t groups, size_t count,
                                   size_t *out_bytes)
{
    size_t padded;
    return onnxd_integer_padded_columns(simd, count, &padded) &&
           onnxd_size_mul(padded, groups, &padded) &&
           onnxd_size_mul(padded, COLUMN_BYTES, out_bytes);
}

/* The factors' operations are those, in that order, of the portable kernels. */
static void fill_factors(const onnxd_quantized_columns *c, const onnxd_kernel_args *args,
                         const onnxd_quantized_inputs *at, float alpha)
{
    const float a = onnxd_quantized_scale(args, at->a_scale);
    const float y = onnxd_quantized_scale(args, at->y_scale);
    const onnxd_tensor_view *scales = onnxd_quantized_view(args, at->b_scale);
    const float one = 1, *b = scales == NULL ? &one : onnxd_tensor_view_data(scales);
    const size_t step = scales != NULL && onnxd_tensor_view_count(scales) > 1;
    for (size_t g = 0; g < c->groups; g++)
        for (size_t j = 0; j < c->count; j++)
            c->factors[g * c->padded + j] = alpha * a * b[step * (g * c->count + j)] / y;
}

/* True when one of them is not 0. */
static bool fill_zeros(const onnxd_quantized_columns *c, const onnxd_tensor_view *zeros,
                       bool is_signed)
{
    const uint8_t none = 0, *b = zeros == NULL ? &none : onnxd_tensor_view_data(zeros);
    const size_t step = zeros != NULL && onnxd_tensor_view_count(zeros) > 1;
    bool is_needed = false;
    for (size_t g = 0; g < c->groups; g++) {
        int16_t *to = c->zeros + 2 * g * c->padded;
        for (size_t j = 0; j < c->count; j++) {
            const int16_t zero = onnxd_integer_zero(is_signed, b[step * (g * c->count + j)]).value;
            to[2 * j] = to[2 * j + 1] = zero;
            is_needed = is_needed || zero != 0;
        }
    }
    return is_needed;
}

static void fill_words(const onnxd_quantized_columns *c, const onnxd_tensor_view *from, void *to)
{
    const uint32_t *words = onnxd_tensor_view_data(from);
    const size_t step = onnxd_tensor_view_count(from) > 1;
    for (size_t g = 0; g < c->groups; g++)
        for (size_t j = 0; j < c->count; j++)
            ((uint32_t *)to)[g * c->padded + j] = words[step * (g * c->count + j)];
}

static void take_off_zero(const onnxd_quantized_columns *c, const int32_t *column_sums,
                          uint8_t a_zero)
{
    for (size_t g = 0; g < c->groups; g++) {
        for (size_t j = 0; j < c->count; j++) {
            int32_t *addend = &c->addends[g * c->padded + j];
            *addend = (int32_t)((uint32_t)*addend -
                                (uint32_t)a_zero * (uint32_t)column_sums[g * c->count + j]);
        }
    }
}

onnxd_quantized_columns
onnxd_quantized_columns_of(const onnxd_simd *simd, const onnxd_kernel_args *args,
                           const onnxd_quantized_inputs *at, size_t groups, size_t count,
                           float alpha, const int32_t *column_sums, uint8_t a_zero, void *scratch)
{
    const onnxd_dtype out = args->outputs[0].dtype;
    const onnxd_tensor_view *bias = onnxd_quantized_view(args, at->bias);
    const bool is_signed = args->inputs[at->b].dtype == ONNXD_INT8;
    onnxd_quantized_columns c = {.groups = groups, .count = count};
    (void)!onnxd_integer_padded_columns(simd, count, &c.padded);
    const size_t all = groups * c.padded;
    memset(scratch, 0, all * COLUMN_BYTES);
    c.factors = scratch;
    c.bias = c.factors + all;
    c.addends = (int32_t *)(void *)(c.bias + all);
    c.zeros = (int16_t *)(void *)(c.addends + all);
    if (out == ONNXD_INT32)
        c.factors = NULL;
    else
        fill_factors(&c, args, at, alpha);
    if (!fill_zeros(&c, onnxd_quantized_view(args, at->b_zero), is_signed))
        c.zeros = NULL;
    if (bias != NULL)
        fill_words(&c, bias, bias->dtype == ONNXD_FLOAT ? (void *)c.bias : (void *)c.addends);
    if (bias == NULL || bias->dtype != ONNXD_FLOAT)
        c.bias = NULL;
    if (column_sums != NULL)
        take_off_zero(&c, column_sums, a_zero);
    else if (bias == NULL || bias->dtype != ONNXD_INT32)
        c.addends = NULL;
    return c;
}

onnxd_simd_integer_post onnxd_quantized_post(const onnxd_quantized_columns *columns,
                                             const onnxd_kernel_args *args,
                                             const onnxd_quantized_inputs *at)
{
    const onnxd_dtype out = args->outputs[0].dtype;
    onnxd_simd_integer_post post = {.kind = out == ONNXD_INT32   ? ONNXD_SIMD_SUMS
                                            : out == ONNXD_FLOAT ? ONNXD_SIMD_REALS
                                                                 : ONNXD_SIMD_BYTES,
                                    .addends = columns->addends,
                                    .factors = columns->factors,
                                    .bias = columns->bias};
    if (post.kind == ONNXD_SIMD_BYTES)
        post.range = onnxd_quantized_range(args, at->y_zero, out);
    return post;
}
