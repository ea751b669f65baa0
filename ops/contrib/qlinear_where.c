/* QLinearWhere: elements of one of two quantised tensors, brought to one scale and zero point. */
#include "ops/contrib/affine.h"
#include "ops/contrib/contrib.h"
#include "ops/loop.h"
#include "ops/ops.h"
#include "ops/support.h"
#include "ops/types.h"

enum { CONDITION, X, X_SCALE, X_ZERO, Y, Y_SCALE, Y_ZERO, Z_SCALE, Z_ZERO };

static onnxd_status *infer(onnxd_infer *infer)
{
    const onnxd_tensor_type *inputs = infer->inputs;
    onnxd_shape both;
    ONNXD_TRY(onnxd_affine_check(infer, X_SCALE));
    ONNXD_TRY(onnxd_affine_check(infer, Y_SCALE));
    ONNXD_TRY(onnxd_affine_check(infer, Z_SCALE));
    infer->outputs[0].dtype = inputs[X].dtype;
    ONNXD_TRY(onnxd_broadcast_shapes(infer->node, &inputs[X].shape, &inputs[Y].shape, &both));
    return onnxd_broadcast_shapes(infer->node, &inputs[CONDITION].shape, &both,
                                  &infer->outputs[0].shape);
}

static onnxd_status *compute(const onnxd_compute *compute)
{
    const onnxd_tensor_view *inputs = compute->inputs, *output = &compute->outputs[0];
    const onnxd_shape *shapes[] = {&inputs[CONDITION].shape, &inputs[X].shape, &inputs[Y].shape};
    onnxd_affine to = onnxd_affine_of(compute, Z_SCALE);
    onnxd_affine x_from = onnxd_affine_of(compute, X_SCALE);
    onnxd_affine y_from = onnxd_affine_of(compute, Y_SCALE);
    uint8_t x_map[256], y_map[256];
    onnxd_affine_map(output->dtype, &x_from, output->dtype, &to, NULL, NULL, x_map);
    onnxd_affine_map(output->dtype, &y_from, output->dtype, &to, NULL, NULL, y_map);
    onnxd_loop loop;
    onnxd_loop_cursor cursor;
    onnxd_loop_init_broadcast(&loop, &output->shape, 3, shapes);
    if (!onnxd_loop_begin(&loop, &cursor))
        return NULL;
    size_t row = onnxd_loop_row(&loop);
    int64_t steps[] = {onnxd_loop_step(&loop, 1), onnxd_loop_step(&loop, 2),
                       onnxd_loop_step(&loop, 3)};
    do {
        uint8_t *out = (uint8_t *)onnxd_tensor_view_data(output) + cursor.offsets[0];
        const uint8_t *condition =
            (const uint8_t *)onnxd_tensor_view_data(&inputs[CONDITION]) + cursor.offsets[1];
        const uint8_t *x = (const uint8_t *)onnxd_tensor_view_data(&inputs[X]) + cursor.offsets[2];
        const uint8_t *y = (const uint8_t *)onnxd_tensor_view_data(&inputs[Y]) + cursor.offsets[3];
        for (size_t i = 0; i < row; i++) {
            int64_t at = (int64_t)i;
            out[i] =
                condition[at * steps[0]] != 0 ? x_map[x[at * steps[1]]] : y_map[y[at * steps[2]]];
        }
    } while (onnxd_loop_next(&loop, &cursor));
    return NULL;
}

#define BYTES                                                                                      \
    {                                                                                              \
        .types = ONNXD_CONTRIB_BYTES, .type_variable = 1                                           \
    }
#define SCALE                                                                                      \
    {                                                                                              \
        .types = ONNXD_SET(FLOAT)                                                                  \
    }

const onnxd_op_def onnxd_op_qlinear_where[] = {
    {ONNXD_CONTRIB_NAME("QLinearWhere"), .min_inputs = 9, .max_inputs = 9, .min_outputs = 1,
     .max_outputs = 1,
     .inputs = {{.types = ONNXD_SET(BOOL)}, BYTES, SCALE, BYTES, BYTES, SCALE, BYTES, SCALE, BYTES},
     .outputs = {BYTES}, .infer = infer, .compute = compute},
    {.op_type = NULL},
};
