/* QLinearConcat: quantised tensors side by side along one axis, brought to one scale and zero
 * point. */
#include <inttypes.h>
#include <string.h>

#include "ops/concat.h"
#include "ops/contrib/affine.h"
#include "ops/contrib/contrib.h"
#include "ops/ops.h"
#include "ops/support.h"
#include "ops/types.h"

/* Behind the scale and zero point of the output come data, scale and zero point of each tensor. */
enum { Y_SCALE, Y_ZERO, FIRST };
enum { DATA, SCALE, ZERO, PER_TENSOR };

typedef struct concat_params {
    int64_t axis;
} concat_params;

static onnxd_status *parse(const onnxd_node *node, int64_t opset, onnxd_arena *arena, void *params)
{
    (void)opset, (void)arena;
    static const char *const names[] = {"axis", NULL};
    concat_params *p = params;
    ONNXD_TRY(onnxd_attributes_allow(node, names));
    ONNXD_TRY(onnxd_attribute_require(node, "axis"));
    return onnxd_attribute_int(node, "axis", -ONNXD_MAX_RANK, ONNXD_MAX_RANK - 1, &p->axis);
}

static onnxd_status *infer(onnxd_infer *infer)
{
    const concat_params *p = infer->params;
    if ((infer->input_count - FIRST) % PER_TENSOR != 0)
        return onnxd_op_error(infer->node,
                              "there are %" PRIu32 " inputs, needed are 2 and 3 for each tensor",
                              infer->input_count);
    infer->outputs[0].dtype = infer->inputs[Y_ZERO].dtype;
    ONNXD_TRY(onnxd_affine_check(infer, Y_SCALE));
    for (uint32_t i = FIRST; i < infer->input_count; i += PER_TENSOR) {
        for (uint32_t part = DATA; part < PER_TENSOR; part++)
            if (!onnxd_op_has_input(infer->node, i + part))
                return onnxd_op_error(infer->node, "input %" PRIu32 " is absent", i + part);
        ONNXD_TRY(onnxd_contrib_check_type(infer, i + DATA, ONNXD_CONTRIB_BYTES));
        ONNXD_TRY(onnxd_contrib_check_type(infer, i + SCALE, ONNXD_SET(FLOAT)));
        onnxd_dtype dtype = infer->inputs[i + DATA].dtype;
        ONNXD_TRY(onnxd_contrib_check_type(
            infer, i + ZERO,
            dtype == ONNXD_UNDEFINED ? ONNXD_CONTRIB_BYTES : (onnxd_dtype_set)1u << dtype));
        ONNXD_TRY(onnxd_affine_check(infer, i + SCALE));
    }
    return onnxd_concat_infer(infer, p->axis, FIRST, PER_TENSOR, &infer->outputs[0].shape);
}

static onnxd_status *compute(const onnxd_compute *compute)
{
    const concat_params *p = compute->params;
    const onnxd_tensor_view *output = &compute->outputs[0];
    const onnxd_shape *shape = &output->shape;
    int32_t axis;
    size_t outer, inner;
    ONNXD_TRY(onnxd_op_axis(compute->node, "attribute 'axis'", p->axis, shape->rank, &axis));
    if (onnxd_tensor_view_count(output) == 0)
        return NULL;
    ONNXD_TRY(onnxd_op_around_axis(compute->node, shape, axis, &outer, &inner));
    size_t pitch = (size_t)shape->dims[axis] * inner;
    onnxd_affine to = onnxd_affine_of(compute, Y_SCALE);
    uint8_t *out = onnxd_tensor_view_data(output);
    for (uint32_t i = FIRST; i < compute->input_count; i += PER_TENSOR) {
        const onnxd_tensor_view *input = &compute->inputs[i + DATA];
        size_t block = (size_t)input->shape.dims[axis] * inner;
        if (block == 0)
            continue;
        const uint8_t *in = onnxd_tensor_view_data(input);
        onnxd_affine from = onnxd_affine_of(compute, i + SCALE);
        bool is_same =
            from.scale == to.scale && from.zero == to.zero && input->dtype == output->dtype;
        uint8_t map[256];
        onnxd_affine_map(input->dtype, &from, output->dtype, &to, NULL, NULL, map);
        for (size_t o = 0; o < outer; o++, in += block) {
            if (is_same)
                memcpy(out + o * pitch, in, block);
            for (size_t x = 0; x < block && !is_same; x++)
                out[o * pitch + x] = map[in[x]];
        }
        out += block;
    }
    return NULL;
}

const onnxd_op_def onnxd_op_qlinear_concat[] = {
    {ONNXD_CONTRIB_NAME("QLinearConcat"), .min_inputs = FIRST + PER_TENSOR,
     .max_inputs = ONNXD_OP_VARIADIC, .min_outputs = 1, .max_outputs = 1,
     .inputs = {{.types = ONNXD_SET(FLOAT)},
                {.types = ONNXD_CONTRIB_BYTES, .type_variable = 1},
                {.types = ONNXD_CONTRIB_BYTES | ONNXD_SET(FLOAT)}},
     .outputs = {{.types = ONNXD_CONTRIB_BYTES, .type_variable = 1}},
     .params_bytes = sizeof(concat_params), .parse = parse, .infer = infer, .compute = compute},
    {.op_type = NULL},
};
