/* Clip: limits to [min, max]; attributes before opset 11, optional scalar inputs since. NaN stays
 * NaN; where min > max the result is max. From opset 6 on an absent bound is the lowest or the
 * greatest finite number, so that infinities are limited too. */
#include <float.h>
#include <inttypes.h>
#include <math.h>

#include "ops/ops.h"
#include "ops/support.h"
#include "ops/types.h"

typedef struct clip_params {
    float minimum, maximum; /* of the attribute form */
} clip_params;

enum { MINIMUM = 1, MAXIMUM };

static onnxd_status *parse(const onnxd_node *node, int64_t opset, onnxd_arena *arena, void *params)
{
    (void)arena;
    static const char *const names[] = {"min", "max", "consumed_inputs", NULL};
    static const char *const names_6[] = {"min", "max", NULL};
    clip_params *p = params;
    p->minimum = opset < 6 ? -INFINITY : -FLT_MAX;
    p->maximum = opset < 6 ? INFINITY : FLT_MAX;
    ONNXD_TRY(onnxd_attributes_allow(node, opset < 6 ? names : names_6));
    ONNXD_TRY(onnxd_attribute_float(node, "min", &p->minimum));
    return onnxd_attribute_float(node, "max", &p->maximum);
}

static onnxd_status *infer(onnxd_infer *infer)
{
    for (uint32_t i = MINIMUM; i <= MAXIMUM && i < infer->input_count; i++) {
        const onnxd_shape *shape = &infer->inputs[i].shape;
        size_t count;
        /* The standard asks for scalars; lists of one are common and harmless. */
        if (onnxd_op_has_input(infer->node, i) && onnxd_shape_count(shape, &count) && count != 1)
            return onnxd_op_error(infer->node, "input %" PRIu32 " has %zu elements, must have one",
                                  i, count);
    }
    infer->outputs[0] = infer->inputs[0];
    return NULL;
}

/* A bound is NULL when there is none; then its comparison is left out. */
typedef void (*clip_kernel)(void *out, const void *in, size_t count, const void *minimum,
                            const void *maximum);

#define KERNEL(op, id, T, C, LOAD, STORE)                                                          \
    static void op##_##id(void *out_data, const void *in_data, size_t count, const void *minimum,  \
                          const void *maximum)                                                     \
    {                                                                                              \
        T *out = out_data;                                                                         \
        const T *in = in_data;                                                                     \
        bool has_low = minimum != NULL, has_high = maximum != NULL;                                \
        const C low = has_low ? LOAD(C, *(const T *)minimum) : (C)0;                               \
        const C high = has_high ? LOAD(C, *(const T *)maximum) : (C)0;                             \
        if (has_low && has_high) {                                                                 \
            ONNXD_VECTORIZE                                                                        \
            for (size_t i = 0; i < count; i++) {                                                   \
                C x = LOAD(C, in[i]);                                                              \
                x = x < low ? low : x;                                                             \
                out[i] = STORE(T, x > high ? high : x);                                            \
            }                                                                                      \
        } else {                                                                                   \
            for (size_t i = 0; i < count; i++) {                                                   \
                C x = LOAD(C, in[i]);                                                              \
                x = has_low && x < low ? low : x;                                                  \
                out[i] = STORE(T, has_high && x > high ? high : x);                                \
            }                                                                                      \
        }                                                                                          \
    }
ONNXD_EACH_NUMBER(KERNEL, clip)

static onnxd_status *run(const onnxd_compute *compute, const void *minimum, const void *maximum)
{
    static const clip_kernel kernels[ONNXD_DTYPE_COUNT] = {
        ONNXD_EACH_NUMBER(ONNXD_KERNEL_ENTRY, clip)};
    const onnxd_tensor_view *input = &compute->inputs[0];
    kernels[input->dtype](onnxd_tensor_view_data(&compute->outputs[0]),
                          onnxd_tensor_view_data(input), onnxd_tensor_view_count(input), minimum,
                          maximum);
    return NULL;
}

/* The bounds where the node gives none; NULL for integers, which have no others. */
static void find_default_bounds(onnxd_dtype dtype, const void **bounds)
{
    static const float floats[] = {-FLT_MAX, FLT_MAX};
    static const double doubles[] = {-DBL_MAX, DBL_MAX};
    static const uint16_t halves[] = {0xfbff, 0x7bff}, brains[] = {0xff7f, 0x7f7f};
    for (int i = 0; i < 2; i++) {
        bounds[MINIMUM + i] = dtype == ONNXD_FLOAT      ? (const void *)&floats[i]
                              : dtype == ONNXD_DOUBLE   ? (const void *)&doubles[i]
                              : dtype == ONNXD_FLOAT16  ? (const void *)&halves[i]
                              : dtype == ONNXD_BFLOAT16 ? (const void *)&brains[i]
                                                        : NULL;
    }
}

static onnxd_status *compute_inputs(const onnxd_compute *compute)
{
    const void *bounds[MAXIMUM + 1] = {NULL};
    find_default_bounds(compute->inputs[0].dtype, bounds);
    for (uint32_t i = MINIMUM; i <= MAXIMUM && i < compute->input_count; i++)
        if (onnxd_tensor_view_is_present(&compute->inputs[i]))
            bounds[i] = onnxd_tensor_view_data(&compute->inputs[i]);
    return run(compute, bounds[MINIMUM], bounds[MAXIMUM]);
}

static onnxd_status *compute_attributes(const onnxd_compute *compute)
{
    const clip_params *p = compute->params;
    double low_double = (double)p->minimum, high_double = (double)p->maximum;
    uint16_t low_half = onnxd_float_to_float16(p->minimum);
    uint16_t high_half = onnxd_float_to_float16(p->maximum);
    switch (compute->inputs[0].dtype) {
    case ONNXD_DOUBLE:
        return run(compute, &low_double, &high_double);
    case ONNXD_FLOAT16:
        return run(compute, &low_half, &high_half);
    default:
        return run(compute, &p->minimum, &p->maximum);
    }
}

#define COMMON(first, last, set, limit)                                                            \
    .op_type = "Clip", .domain = "", .since = first, .until = last, .min_inputs = 1,               \
    .max_inputs = limit, .min_outputs = 1, .max_outputs = 1,                                       \
    .inputs = {{.types = set, .type_variable = 1},                                                 \
               {.types = set, .type_variable = 1, .is_optional = true},                            \
               {.types = set, .type_variable = 1, .is_optional = true}},                           \
    .outputs = {{.types = set, .type_variable = 1}}, .infer = infer, .in_place_inputs = 1u,        \
    .batch_inputs = 1u
#define INPUT_ROW(first, last, set)                                                                \
    {                                                                                              \
        COMMON(first, last, set, 3), .compute = compute_inputs                                     \
    }

const onnxd_op_def onnxd_op_clip[] = {
    {COMMON(1, 10, ONNXD_SET_FLOATS_1, 1), .params_bytes = sizeof(clip_params), .parse = parse,
     .compute = compute_attributes},
    INPUT_ROW(11, 11, ONNXD_SET_FLOATS_1),
    INPUT_ROW(12, 12, ONNXD_SET_NUMBERS_1),
    INPUT_ROW(13, ONNXD_OPSET_MAX, ONNXD_SET_NUMBERS),
    {.op_type = NULL},
};
