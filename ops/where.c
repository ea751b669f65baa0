/* Where: input 1 where the condition (input 0) is true, input 2 elsewhere; all three broadcast. */
#include "ops/loop.h"
#include "ops/ops.h"
#include "ops/support.h"
#include "ops/types.h"

static onnxd_status *infer(onnxd_infer *infer)
{
    onnxd_dtype x = infer->inputs[1].dtype, y = infer->inputs[2].dtype;
    infer->outputs[0].dtype = x != ONNXD_UNDEFINED ? x : y;
    return onnxd_broadcast_inputs(infer, &infer->outputs[0].shape);
}

typedef void (*select_row)(void *out, const uint8_t *condition, const void *x, const void *y,
                           size_t count, const int64_t *steps);

/* What is repeated is read once. */
#define SELECT(T, WHEN_TRUE, WHEN_FALSE)                                                           \
    do {                                                                                           \
        ONNXD_VECTORIZE                                                                            \
        for (size_t i = 0; i < count; i++) {                                                       \
            const T when_true = WHEN_TRUE, when_false = WHEN_FALSE;                                \
            out[i] = condition[i] != 0 ? when_true : when_false;                                   \
        }                                                                                          \
    } while (0)

#define DEFINE_SELECT(bytes, T)                                                                    \
    static void select_##bytes(void *out_data, const uint8_t *condition, const void *x_data,       \
                               const void *y_data, size_t count, const int64_t *steps)             \
    {                                                                                              \
        T *out = out_data;                                                                         \
        const T *x = x_data, *y = y_data, first_x = *x, first_y = *y;                              \
        int64_t c_step = steps[0], x_step = steps[1], y_step = steps[2];                           \
        if (c_step == 1 && x_step == 1 && y_step == 1) {                                           \
            SELECT(T, x[i], y[i]);                                                                 \
        } else if (c_step == 1 && x_step == 1) {                                                   \
            SELECT(T, x[i], first_y);                                                              \
        } else if (c_step == 1 && y_step == 1) {                                                   \
            SELECT(T, first_x, y[i]);                                                              \
        } else if (c_step == 1) {                                                                  \
            SELECT(T, first_x, first_y);                                                           \
        } else {                                                                                   \
            for (int64_t i = 0; i < (int64_t)count; i++)                                           \
                out[i] = condition[i * c_step] != 0 ? x[i * x_step] : y[i * y_step];               \
        }                                                                                          \
    }
ONNXD_EACH_SIZE(DEFINE_SELECT)
#undef DEFINE_SELECT

static onnxd_status *compute(const onnxd_compute *compute)
{
#define ENTRY(bytes, T) [bytes] = select_##bytes,
    static const select_row rows[] = {ONNXD_EACH_SIZE(ENTRY)};
#undef ENTRY
    const onnxd_tensor_view *inputs = compute->inputs;
    const onnxd_shape *shapes[] = {&inputs[0].shape, &inputs[1].shape, &inputs[2].shape};
    onnxd_loop loop;
    onnxd_loop_init_broadcast(&loop, &compute->outputs[0].shape, 3, shapes);
    int64_t width = (int64_t)onnxd_dtype_size(inputs[1].dtype);
    const int64_t steps[] = {onnxd_loop_step(&loop, 1), onnxd_loop_step(&loop, 2),
                             onnxd_loop_step(&loop, 3)};
    char *out = onnxd_tensor_view_data(&compute->outputs[0]);
    const uint8_t *condition = onnxd_tensor_view_data(&inputs[0]);
    const char *x = onnxd_tensor_view_data(&inputs[1]), *y = onnxd_tensor_view_data(&inputs[2]);
    onnxd_loop_cursor cursor;
    if (!onnxd_loop_begin(&loop, &cursor))
        return NULL;
    do
        rows[width](out + cursor.offsets[0] * width, condition + cursor.offsets[1],
                    x + cursor.offsets[2] * width, y + cursor.offsets[3] * width,
                    onnxd_loop_row(&loop), steps);
    while (onnxd_loop_next(&loop, &cursor));
    return NULL;
}

#define ROW(first, last, set)                                                                      \
    {                                                                                              \
        .op_type = "Where", .domain = "", .since = first, .until = last, .min_inputs = 3,          \
        .max_inputs = 3, .min_outputs = 1, .max_outputs = 1,                                       \
        .inputs = {{.types = ONNXD_SET(BOOL)},                                                     \
                   {.types = set, .type_variable = 1},                                             \
                   {.types = set, .type_variable = 1}},                                            \
        .outputs = {{.types = set, .type_variable = 1}}, .infer = infer, .compute = compute,       \
        .in_place_inputs = 6u, .batch_inputs = 7u                                                  \
    }

const onnxd_op_def onnxd_op_where[] = {
    ROW(9, 15, ONNXD_SET_ANY_1),
    ROW(16, ONNXD_OPSET_MAX, ONNXD_SET_ANY_13),
    {.op_type = NULL},
};
