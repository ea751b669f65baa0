/* Rows of elements, one after the other. */
#include "ep/cpu/simd/levels.h"
#include "ep/cpu/simd/vector_functions.h"

/* `function` is a constant wherever this is inlined, so that the loop holds one function only. */
INLINED void activate_row(onnxd_simd_function function, const onnxd_simd_activation *from,
                          size_t count, const float *in, float *out)
{
    const onnxd_simd_activation activation = {function, from->alpha, from->beta};
    size_t i = 0;
    for (; i + LANES <= count; i += LANES)
        vf_store(out + i, vf_function(&activation, vf_load(in + i)));
    if (i < count)
        vf_store_part(out + i, vf_function(&activation, vf_load_part(in + i, count - i)),
                      count - i);
}

#define EACH_FUNCTION(X)                                                                           \
    X(RELU)                                                                                        \
    X(LEAKY_RELU)                                                                                  \
    X(CLIP)                                                                                        \
    X(HARD_SIGMOID)                                                                                \
    X(HARD_SWISH)                                                                                  \
    X(SCALED_HARD_SWISH)                                                                           \
    X(SIGMOID)                                                                                     \
    X(SILU)                                                                                        \
    X(TANH)                                                                                        \
    X(ERF)                                                                                         \
    X(EXP)                                                                                         \
    X(GELU)                                                                                        \
    X(GELU_TANH)                                                                                   \
    X(ABS)                                                                                         \
    X(NEGATIVE)                                                                                    \
    X(FLOOR)                                                                                       \
    X(CEIL)                                                                                        \
    X(ROUND)                                                                                       \
    X(SQRT)                                                                                        \
    X(RECIPROCAL)                                                                                  \
    X(SQUARE)                                                                                      \
    X(CUBE)                                                                                        \
    X(ROOT)                                                                                        \
    X(INVERSE_ROOT)                                                                                \
    X(LOG)                                                                                         \
    X(SOFTPLUS) X(SOFTSIGN) X(MISH) X(ELU) X(SELU) X(CELU) X(THRESHOLDED_RELU)

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
    case ONNXD_SIMD_GREATEST:
        return vf_select(vf_is_nan(a), a, vf_max(a, b));
    case ONNXD_SIMD_LEAST:
        return vf_select(vf_is_nan(a), a, vf_min(a, b));
    case ONNXD_SIMD_POWER:
        return vf_power(a, b);
    case ONNXD_SIMD_PRELU:
        return vf_select(a < 0.0f, a * b, a);
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

/* Powers of one exponent that are functions of their own. */
static bool raise_row(const onnxd_simd_row *row)
{
    static const struct {
        float exponent;
        onnxd_simd_function function;
    } powers[] = {{2, ONNXD_SIMD_SQUARE},      {0.5f, ONNXD_SIMD_ROOT},
                  {-1, ONNXD_SIMD_RECIPROCAL}, {3, ONNXD_SIMD_CUBE},
                  {1, ONNXD_SIMD_IDENTITY},    {-0.5f, ONNXD_SIMD_INVERSE_ROOT}};
    if (row->b_step || !row->a_step)
        return false;
    for (size_t i = 0; i < sizeof(powers) / sizeof(powers[0]); i++) {
        if (row->b[0] != powers[i].exponent)
            continue;
        const onnxd_simd_activation activation = {.function = powers[i].function};
        LEVEL_NAME(onnxd_simd_activate)(&activation, row->count, row->a, row->out);
        return true;
    }
    return false;
}

void LEVEL_NAME(onnxd_simd_binary)(onnxd_simd_binary op, const onnxd_simd_row *row)
{
    switch (op) {
#define CASE(op)                                                                                   \
    case ONNXD_SIMD_##op:                                                                          \
        binary_steps(ONNXD_SIMD_##op, row);                                                        \
        return;
        CASE(ADD)
        CASE(SUBTRACT)
        CASE(MULTIPLY)
        CASE(DIVIDE)
        CASE(GREATEST)
        CASE(LEAST)
        CASE(PRELU)
#undef CASE
    case ONNXD_SIMD_POWER:
        if (row->count == 0 || !raise_row(row))
            binary_steps(ONNXD_SIMD_POWER, row);
        return;
    case ONNXD_SIMD_BINARY_COUNT:
        break;
    }
}
