/* Sum, Mean, Max and Min of one or more inputs. They broadcast since opset 8; before, all shapes
 * are equal. Max and Min of a NaN are NaN. */
#include <inttypes.h>

#include "ops/binary.h"
#include "ops/move.h"
#include "ops/ops.h"
#include "ops/support.h"

#define sum_EXPRESSION(C, x, y) ((x) + (y))
/* The last branch is taken by NaN only. */
#define max_EXPRESSION(C, x, y) ((x) > (y) ? (x) : (x) <= (y) ? (y) : (C)((x) + (y)))
#define min_EXPRESSION(C, x, y) ((x) < (y) ? (x) : (x) >= (y) ? (y) : (C)((x) + (y)))
#define integer_max_EXPRESSION(C, x, y) ((x) > (y) ? (x) : (y))
#define integer_min_EXPRESSION(C, x, y) ((x) < (y) ? (x) : (y))

ONNXD_EACH_FLOAT(ONNXD_BINARY_KERNEL, sum)
ONNXD_EACH_FLOAT(ONNXD_BINARY_KERNEL, max)
ONNXD_EACH_FLOAT(ONNXD_BINARY_KERNEL, min)
ONNXD_EACH_INTEGER(ONNXD_BINARY_KERNEL, integer_max)
ONNXD_EACH_INTEGER(ONNXD_BINARY_KERNEL, integer_min)

static onnxd_status *infer(onnxd_infer *infer)
{
    onnxd_tensor_type *output = &infer->outputs[0];
    for (uint32_t i = 0; i < infer->input_count && output->dtype == ONNXD_UNDEFINED; i++)
        output->dtype = infer->inputs[i].dtype;
    if (infer->opset < 8)
        for (uint32_t i = 1; i < infer->input_count; i++) {
            const onnxd_shape *first = &infer->inputs[0].shape, *other = &infer->inputs[i].shape;
            if (onnxd_shape_is_static(first) && onnxd_shape_is_static(other) &&
                !onnxd_shape_equal(first, other))
                return onnxd_op_error(infer->node,
                                      "input %" PRIu32 " has another shape than input 0, allowed "
                                      "since opset 8 only",
                                      i);
        }
    return onnxd_broadcast_inputs(infer, &output->shape);
}

/* out = kernel(a, input); `a` is the output itself or a first input of the same shape. */
static void combine(const onnxd_compute *compute, onnxd_binary_kernel kernel, const char *a,
                    const onnxd_tensor_view *input)
{
    const onnxd_tensor_view *output = &compute->outputs[0];
    const onnxd_shape *shapes[] = {&output->shape, &input->shape};
    onnxd_loop loop;
    onnxd_loop_init_broadcast(&loop, &output->shape, 2, shapes);
    int64_t width = (int64_t)onnxd_dtype_size(output->dtype);
    char *out = onnxd_tensor_view_data(output);
    const char *b = onnxd_tensor_view_data(input);
    onnxd_loop_cursor cursor;
    if (!onnxd_loop_begin(&loop, &cursor))
        return;
    do
        kernel(out + cursor.offsets[0] * width, a + cursor.offsets[1] * width,
               b + cursor.offsets[2] * width, onnxd_loop_row(&loop), onnxd_loop_step(&loop, 1),
               onnxd_loop_step(&loop, 2));
    while (onnxd_loop_next(&loop, &cursor));
}

static onnxd_status *fold(const onnxd_compute *compute, const onnxd_binary_kernel *kernels)
{
    const onnxd_tensor_view *output = &compute->outputs[0], *first = &compute->inputs[0];
    onnxd_binary_kernel kernel = kernels[output->dtype];
    const char *a = onnxd_tensor_view_data(first);
    if (compute->input_count == 1 || !onnxd_shape_equal(&first->shape, &output->shape)) {
        const onnxd_shape *shapes[] = {&first->shape};
        onnxd_loop loop;
        onnxd_loop_init_broadcast(&loop, &output->shape, 1, shapes);
        onnxd_move(&loop, onnxd_dtype_size(output->dtype), onnxd_tensor_view_data(output), a);
        a = onnxd_tensor_view_data(output);
    }
    for (uint32_t i = 1; i < compute->input_count; i++) {
        combine(compute, kernel, a, &compute->inputs[i]);
        a = onnxd_tensor_view_data(output);
    }
    return NULL;
}

#define DEFINE_COMPUTE(op)                                                                         \
    static onnxd_status *compute_##op(const onnxd_compute *compute)                                \
    {                                                                                              \
        static const onnxd_binary_kernel kernels[ONNXD_DTYPE_COUNT] = {ONNXD_EACH_FLOAT(           \
            ONNXD_KERNEL_ENTRY, op) ONNXD_EACH_INTEGER(ONNXD_KERNEL_ENTRY, integer_##op)};         \
        return fold(compute, kernels);                                                             \
    }
DEFINE_COMPUTE(max)
DEFINE_COMPUTE(min)

static const onnxd_binary_kernel sum_kernels[ONNXD_DTYPE_COUNT] = {
    ONNXD_EACH_FLOAT(ONNXD_KERNEL_ENTRY, sum)};

static onnxd_status *compute_sum(const onnxd_compute *compute)
{
    return fold(compute, sum_kernels);
}

#define DIVIDE(op, id, T, C, LOAD, STORE)                                                          \
    case ONNXD_##id:                                                                               \
        for (size_t i = 0; i < count; i++)                                                         \
            ((T *)data)[i] = STORE(T, LOAD(C, ((T *)data)[i]) / (C)compute->input_count);          \
        break;

static onnxd_status *compute_mean(const onnxd_compute *compute)
{
    ONNXD_TRY(fold(compute, sum_kernels));
    void *data = onnxd_tensor_view_data(&compute->outputs[0]);
    size_t count = onnxd_tensor_view_count(&compute->outputs[0]);
    switch (compute->outputs[0].dtype) {
        ONNXD_EACH_FLOAT(DIVIDE, unused)
    default:
        break;
    }
    return NULL;
}

#define ROW(name, op, first, last, set, parse_function)                                            \
    {                                                                                              \
        .op_type = name, .domain = "", .since = first, .until = last, .min_inputs = 1,             \
        .max_inputs = ONNXD_OP_VARIADIC, .min_outputs = 1, .max_outputs = 1,                       \
        .inputs = {{.types = set, .type_variable = 1}},                                            \
        .outputs = {{.types = set, .type_variable = 1}}, .parse = parse_function, .infer = infer,  \
        .compute = compute_##op, .batch_inputs = ONNXD_OP_ALL_INPUTS                               \
    }
#define SUM_ROWS(name, op)                                                                         \
    ROW(name, op, 1, 5, ONNXD_SET_FLOATS_1, onnxd_op_parse_consumed),                              \
        ROW(name, op, 6, 12, ONNXD_SET_FLOATS_1, NULL),                                            \
        ROW(name, op, 13, ONNXD_OPSET_MAX, ONNXD_SET_FLOATS, NULL)
#define MAX_ROWS(name, op)                                                                         \
    ROW(name, op, 1, 5, ONNXD_SET_FLOATS_1, onnxd_op_parse_consumed),                              \
        ROW(name, op, 6, 11, ONNXD_SET_FLOATS_1, NULL),                                            \
        ROW(name, op, 12, 12, ONNXD_SET_NUMBERS_1, NULL),                                          \
        ROW(name, op, 13, ONNXD_OPSET_MAX, ONNXD_SET_NUMBERS, NULL)

const onnxd_op_def onnxd_op_variadic[] = {
    SUM_ROWS("Sum", sum), SUM_ROWS("Mean", mean), MAX_ROWS("Max", max),
    MAX_ROWS("Min", min), {.op_type = NULL},
};
