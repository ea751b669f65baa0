/* PRelu: x below 0 times a slope. Since opset 7 the slope broadcasts to the input; before, a list
 * of slopes holds one per channel (dimension 1), and shapes of today's rule are taken too. Integers
 * wrap. */
#include "ops/loop.h"
#include "ops/ops.h"
#include "ops/support.h"
#include "ops/types.h"

/* The slope as today's rule would have it. */
static onnxd_shape slope_shape(int64_t opset, const onnxd_shape *input, const onnxd_shape *slope)
{
    onnxd_shape shape = *slope;
    if (opset < 7 && slope->rank == 1 && input->rank > 2 && slope->dims[0] != 1)
        while (shape.rank < input->rank - 1)
            shape.dims[shape.rank++] = 1;
    return shape;
}

/* Whether dimensions of `slope` agree with those of `input` or are 1. */
static bool fits(const onnxd_shape *input, const onnxd_shape *slope)
{
    if (slope->rank > input->rank)
        return false;
    for (int32_t i = 0; i < slope->rank; i++) {
        int64_t from = slope->dims[i], to = input->dims[input->rank - slope->rank + i];
        if (from != 1 && onnxd_dim_is_static(from) && onnxd_dim_is_static(to) && from != to)
            return false;
    }
    return true;
}

static onnxd_status *infer(onnxd_infer *infer)
{
    const onnxd_shape *input = &infer->inputs[0].shape, *slope = &infer->inputs[1].shape;
    infer->outputs[0] = infer->inputs[infer->inputs[0].dtype == ONNXD_UNDEFINED ? 1 : 0];
    infer->outputs[0].shape = *input;
    if (input->rank < 0 || slope->rank < 0)
        return NULL;
    onnxd_shape aligned = slope_shape(infer->opset, input, slope);
    if (fits(input, &aligned))
        return NULL;
    char text[ONNXD_SHAPE_TEXT], slope_text[ONNXD_SHAPE_TEXT];
    return onnxd_op_error(infer->node, "slope of shape %s does not broadcast to %s",
                          onnxd_shape_format(slope, slope_text, sizeof(slope_text)),
                          onnxd_shape_format(input, text, sizeof(text)));
}

typedef void (*prelu_kernel)(void *out, const void *in, const void *slope, size_t count,
                             int64_t slope_step);

/* The step of the input is that of the output, 1. */
#define KERNEL(op, id, T, C, LOAD, STORE)                                                          \
    static void op##_##id(void *out_data, const void *in_data, const void *slope_data,             \
                          size_t count, int64_t slope_step)                                        \
    {                                                                                              \
        T *out = out_data;                                                                         \
        const T *in = in_data, *slope = slope_data;                                                \
        if (slope_step == 0) {                                                                     \
            const C factor = LOAD(C, *slope);                                                      \
            ONNXD_VECTORIZE                                                                        \
            for (size_t i = 0; i < count; i++) {                                                   \
                C x = LOAD(C, in[i]);                                                              \
                out[i] = STORE(T, op##_EXPRESSION(C, x, factor));                                  \
            }                                                                                      \
        } else {                                                                                   \
            ONNXD_VECTORIZE                                                                        \
            for (size_t i = 0; i < count; i++) {                                                   \
                C x = LOAD(C, in[i]);                                                              \
                out[i] = STORE(T, op##_EXPRESSION(C, x, LOAD(C, slope[i])));                       \
            }                                                                                      \
        }                                                                                          \
    }
#define float_EXPRESSION(C, x, y) ((x) < 0 ? (x) * (y) : (x))
#define signed_EXPRESSION(C, x, y) ((x) < 0 ? (C)((uint64_t)(x) * (uint64_t)(y)) : (x))
ONNXD_EACH_FLOAT(KERNEL, float)
#define EACH_INDEX(X, op)                                                                          \
    X(op, INT32, int32_t, int32_t, ONNXD_LOAD_PLAIN, ONNXD_STORE_PLAIN)                            \
    X(op, INT64, int64_t, int64_t, ONNXD_LOAD_PLAIN, ONNXD_STORE_PLAIN)
EACH_INDEX(KERNEL, signed)

static onnxd_status *compute(const onnxd_compute *compute)
{
    static const prelu_kernel kernels[ONNXD_DTYPE_COUNT] = {
        ONNXD_EACH_FLOAT(ONNXD_KERNEL_ENTRY, float) EACH_INDEX(ONNXD_KERNEL_ENTRY, signed)};
    const onnxd_tensor_view *input = &compute->inputs[0], *output = &compute->outputs[0];
    prelu_kernel kernel = kernels[input->dtype];
    if (kernel == NULL) /* no unsigned number is below 0 */
        return onnxd_op_compute_copy(compute);
    onnxd_shape slope = slope_shape(compute->opset, &input->shape, &compute->inputs[1].shape);
    const onnxd_shape *shapes[] = {&input->shape, &slope};
    onnxd_loop loop;
    onnxd_loop_cursor cursor;
    onnxd_loop_init_broadcast(&loop, &output->shape, 2, shapes);
    int64_t width = (int64_t)onnxd_dtype_size(input->dtype);
    char *out = onnxd_tensor_view_data(output);
    const char *in = onnxd_tensor_view_data(input);
    const char *factors = onnxd_tensor_view_data(&compute->inputs[1]);
    if (!onnxd_loop_begin(&loop, &cursor))
        return NULL;
    do
        kernel(out + cursor.offsets[0] * width, in + cursor.offsets[1] * width,
               factors + cursor.offsets[2] * width, onnxd_loop_row(&loop),
               onnxd_loop_step(&loop, 2));
    while (onnxd_loop_next(&loop, &cursor));
    return NULL;
}

#define ROW(first, last, set, parse_function)                                                      \
    {                                                                                              \
        .op_type = "PRelu", .domain = "", .since = first, .until = last, .min_inputs = 2,          \
        .max_inputs = 2, .min_outputs = 1, .max_outputs = 1,                                       \
        .inputs = {{.types = set, .type_variable = 1}, {.types = set, .type_variable = 1}},        \
        .outputs = {{.types = set, .type_variable = 1}}, .parse = parse_function, .infer = infer,  \
        .compute = compute, .in_place_inputs = 1u, .batch_inputs = 3u                              \
    }

const onnxd_op_def onnxd_op_prelu[] = {
    ROW(1, 5, ONNXD_SET_FLOATS_1, onnxd_op_parse_consumed),
    ROW(6, 8, ONNXD_SET_FLOATS_1, NULL),
    ROW(9, 15, ONNXD_SET_FLOATS_1 | ONNXD_SET_WIDE_INTEGERS, NULL),
    ROW(16, ONNXD_OPSET_MAX, ONNXD_SET_FLOATS | ONNXD_SET_WIDE_INTEGERS, NULL),
    {.op_type = NULL},
};
