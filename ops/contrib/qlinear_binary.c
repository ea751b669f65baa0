/* QLinearAdd and QLinearMul: sums and products of quantised tensors, with numpy's broadcasting. */
#include "ops/contrib/affine.h"
#include "ops/contrib/contrib.h"
#include "ops/loop.h"
#include "ops/ops.h"
#include "ops/quant/quantized.h"
#include "ops/support.h"
#include "ops/types.h"

enum { A, A_SCALE, A_ZERO, B, B_SCALE, B_ZERO, C_SCALE, C_ZERO };

static onnxd_status *infer(onnxd_infer *infer)
{
    infer->outputs[0].dtype = infer->inputs[A].dtype;
    ONNXD_TRY(onnxd_affine_check(infer, A_SCALE));
    ONNXD_TRY(onnxd_affine_check(infer, B_SCALE));
    ONNXD_TRY(onnxd_affine_check(infer, C_SCALE));
    return onnxd_broadcast_shapes(infer->node, &infer->inputs[A].shape, &infer->inputs[B].shape,
                                  &infer->outputs[0].shape);
}

typedef struct binary_call {
    onnxd_affine a, b, c;
    bool multiplies;
} binary_call;

/* Numbers of the output's scale. The operations are those of the operators' formulas. */
static void combine(const binary_call *call, const float *b, size_t count, float *inout_a)
{
    if (call->multiplies) {
        const float factor = call->a.scale * call->b.scale / call->c.scale;
        for (size_t i = 0; i < count; i++)
            inout_a[i] = inout_a[i] * b[i] * factor;
        return;
    }
    const float a_factor = call->a.scale / call->c.scale, b_factor = call->b.scale / call->c.scale;
    for (size_t i = 0; i < count; i++)
        inout_a[i] = inout_a[i] * a_factor + b[i] * b_factor;
}

static onnxd_status *run(const onnxd_compute *compute, bool multiplies)
{
    const onnxd_tensor_view *a = &compute->inputs[A], *b = &compute->inputs[B];
    const onnxd_tensor_view *output = &compute->outputs[0];
    const binary_call call = {onnxd_affine_of(compute, A_SCALE), onnxd_affine_of(compute, B_SCALE),
                              onnxd_affine_of(compute, C_SCALE), multiplies};
    const onnxd_shape *shapes[] = {&a->shape, &b->shape};
    float zeros[ONNXD_QUANT_CHUNK], values[ONNXD_QUANT_CHUNK], others[ONNXD_QUANT_CHUNK];
    onnxd_loop loop;
    onnxd_loop_cursor cursor;
    onnxd_loop_init_broadcast(&loop, &output->shape, 2, shapes);
    onnxd_affine_zeros(&call.c, zeros);
    if (!onnxd_loop_begin(&loop, &cursor))
        return NULL;
    size_t row = onnxd_loop_row(&loop);
    size_t a_step = (size_t)onnxd_loop_step(&loop, 1), b_step = (size_t)onnxd_loop_step(&loop, 2);
    do {
        for (size_t first = 0; first < row; first += ONNXD_QUANT_CHUNK) {
            size_t part = row - first < ONNXD_QUANT_CHUNK ? row - first : ONNXD_QUANT_CHUNK;
            onnxd_affine_read(a->dtype, &call.a, onnxd_tensor_view_data(a),
                              (size_t)cursor.offsets[1] + first * a_step, a_step, part, values);
            onnxd_affine_read(b->dtype, &call.b, onnxd_tensor_view_data(b),
                              (size_t)cursor.offsets[2] + first * b_step, b_step, part, others);
            combine(&call, others, part, values);
            onnxd_quant_store(output->dtype, values, zeros, part, true,
                              onnxd_tensor_view_data(output), (size_t)cursor.offsets[0] + first);
        }
    } while (onnxd_loop_next(&loop, &cursor));
    return NULL;
}

static onnxd_status *compute_add(const onnxd_compute *compute)
{
    return run(compute, false);
}

static onnxd_status *compute_multiply(const onnxd_compute *compute)
{
    return run(compute, true);
}

#define DATA                                                                                       \
    {                                                                                              \
        .types = ONNXD_CONTRIB_BYTES, .type_variable = 1                                           \
    }
#define SCALE                                                                                      \
    {                                                                                              \
        .types = ONNXD_SET(FLOAT)                                                                  \
    }
#define ZERO                                                                                       \
    {                                                                                              \
        .types = ONNXD_CONTRIB_BYTES, .type_variable = 1, .is_optional = true                      \
    }
#define BINARY(name, compute_function)                                                             \
    {                                                                                              \
        ONNXD_CONTRIB_NAME(name),                                                                  \
            .min_inputs = 7, .max_inputs = 8, .min_outputs = 1, .max_outputs = 1,                  \
            .inputs = {DATA, SCALE, ZERO, DATA, SCALE, ZERO, SCALE, ZERO}, .outputs = {DATA},      \
            .infer = infer, .compute = compute_function, .in_place_inputs = 9u, .batch_inputs = 9u \
    }

const onnxd_op_def onnxd_op_qlinear_binary[] = {
    BINARY("QLinearAdd", compute_add),
    BINARY("QLinearMul", compute_multiply),
    {.op_type = NULL},
};
