/* Rows of elements, one after the other. */
#include "ep/cpu/simd/levels.h"
#include "ep/cpu/simd/vector_math.h"

/* `function` is a constant wherever this is inlined, so that the loop holds one function only. */
INLINED void activate_row(onnxd_simd_function function, const onnxd_simd_activation *from,
                          size_t count, const float *in, float *out)
{
    const onnxd_simd_activation activation = {function, from->alpha, from->beta};
    size_t i = 0;
    for (; i + LANES <= count; i += LANES)
        vf_store(out + i, vf_activate(&activation, vf_load(in + i)));
    if (i < count)
        vf_store_part(out + i, vf_activate(&activation, vf_load_part(in + i, count - i)),
                      count - i);
}

#define EACH_FUNCTION(X)                                                                           \
    X(RELU)                                                                                        \
    X(LEAKY_RELU)                                                                                  \
    X(CLIP)                                                                                        \
    X(HARD_SIGMOID)                                                                                \
    X(HARD_SWISH) X(SCALED_HARD_SWISH) X(SIGMOID) X(SILU) X(TANH) X(ERF) X(EXP) X(GELU) X(GELU_TANH)

void LEVEL_NAME(onnxd_simd_activate)(const onnxd_simd_activation *activation, size_t count,
                                     const float *in, float *out)
{
    switch (activation->function) {
#define CASE(function)                                                                             \
    case ONNXD_SIMD_##function:                                                                    \
        activate_row(ONNXD_SIMD_##function, activation, count, in, out);                           \
        return;
        EACH_FUNCTION(CASE)
#undef CASE
    case ONNXD_SIMD_IDENTITY:
    case ONNXD_SIMD_FUNCTION_COUNT:
        break;
    }
    memmove(out, in, count * sizeof(float));
}

INLINED vf apply(const onnxd_simd_binary op, vf a, vf b)
{
    switch (op) {
    case ONNXD_SIMD_ADD:
        return a + b;
    case ONNXD_SIMD_SUBTRACT:
        return a - b;
    case ONNXD_SIMD_MULTIPLY:
        return a * b;
    case ONNXD_SIMD_DIVIDE:
        return a / b;
    case ONNXD_SIMD_BINARY_COUNT:
        break;
    }
    return a;
}

/* All but `row` is constant wherever this is inlined. */
INLINED void binary_row(const onnxd_simd_binary op, const bool a_step, const bool b_step,
                        const onnxd_simd_row *row)
{
    const vf a_all = vf_all(a_step ? 0 : row->a[0]), b_all = vf_all(b_step ? 0 : row->b[0]);
    size_t i = 0;
    for (; i + LANES <= row->count; i += LANES)
        vf_store(row->out + i, apply(op, a_step ? vf_load(row->a + i) : a_all,
                                     b_step ? vf_load(row->b + i) : b_all));
    if (i < row->count) {
        const size_t left = row->count - i;
        vf_store_part(row->out + i,
                      apply(op, a_step ? vf_load_part(row->a + i, left) : a_all,
                            b_step ? vf_load_part(row->b + i, left) : b_all),
                      left);
    }
}

INLINED void binary_steps(const onnxd_simd_binary op, const onnxd_simd_row *row)
{
    if (row->count == 0)
        return;
    if (row->a_step && row->b_step)
        binary_row(op, true, true, row);
    else if (row->a_step)
        binary_row(op, true, false, row);
    else
        binary_row(op, false, row->b_step, row);
}

void LEVEL_NAME(onnxd_simd_binary)(onnxd_simd_binary op, const onnxd_simd_row *row)
{
    switch (op) {
    case ONNXD_SIMD_ADD:
        binary_steps(ONNXD_SIMD_ADD, row);
        return;
    case ONNXD_SIMD_SUBTRACT:
        binary_steps(ONNXD_SIMD_SUBTRACT, row);
        return;
    case ONNXD_SIMD_MULTIPLY:
        binary_steps(ONNXD_SIMD_MULTIPLY, row);
        return;
    case ONNXD_SIMD_DIVIDE:
        binary_steps(ONNXD_SIMD_DIVIDE, row);
        return;
    case ONNXD_SIMD_BINARY_COUNT:
        break;
    }
}
