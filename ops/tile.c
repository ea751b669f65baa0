/* Tile: the input repeated along its axes. Opset 1 has a count and an axis, 6 a list of counts. */
#include <inttypes.h>

#include "base/size_math.h"
#include "ops/convert.h"
#include "ops/move.h"
#include "ops/ops.h"
#include "ops/support.h"
#include "ops/types.h"

/* Repeats per axis of opset 1, whose inputs are floating-point scalars. */
static onnxd_status *read_legacy(const onnxd_node *node, const onnxd_tensor_view *tiles,
                                 const onnxd_tensor_view *axis_view, int32_t rank, int64_t *repeats)
{
    static const onnxd_rounding unused = {.saturates = true};
    int64_t numbers[2];
    const onnxd_tensor_view *views[] = {tiles, axis_view};
    for (uint32_t i = 0; i < 2; i++) {
        onnxd_wide value;
        if (onnxd_tensor_view_count(views[i]) != 1)
            return onnxd_op_error(node, "input %" PRIu32 " must have one element", i + 1);
        onnxd_wide_load(views[i]->dtype, onnxd_tensor_view_data(views[i]), 0, 1, &value);
        onnxd_wide_store(ONNXD_INT64, onnxd_wide_kind_of(views[i]->dtype), &value, 1, &unused,
                         numbers, i);
    }
    int32_t axis;
    ONNXD_TRY(onnxd_op_axis(node, "input 2, the axis,", numbers[1], rank, &axis));
    for (int32_t i = 0; i < rank; i++)
        repeats[i] = i == axis ? numbers[0] : 1;
    return NULL;
}

static onnxd_status *read_repeats(const onnxd_node *node, const onnxd_tensor_view *tiles,
                                  const onnxd_tensor_view *axis, int32_t rank, int64_t *repeats)
{
    if (axis != NULL) {
        ONNXD_TRY(read_legacy(node, tiles, axis, rank, repeats));
    } else {
        size_t count;
        ONNXD_TRY(onnxd_op_read_ints(node, 1, tiles, ONNXD_MAX_RANK, repeats, &count));
        if (count != (size_t)rank)
            return onnxd_op_error(node, "input 1 has %zu repeats for an input of rank %" PRId32,
                                  count, rank);
    }
    for (int32_t i = 0; i < rank; i++)
        if (repeats[i] < 0)
            return onnxd_op_error(node, "repeat %" PRId32 " is %" PRId64 ", less than 0", i,
                                  repeats[i]);
    return NULL;
}

static onnxd_status *infer(onnxd_infer *infer)
{
    const onnxd_shape *input = &infer->inputs[0].shape;
    onnxd_tensor_type *output = &infer->outputs[0];
    output->dtype = infer->inputs[0].dtype;
    if (input->rank < 0)
        return NULL;
    output->shape = onnxd_shape_of_rank(input->rank);
    onnxd_tensor_view tiles, axis;
    bool is_legacy = infer->opset < 6;
    if (!onnxd_infer_known(infer, 1, &tiles) || (is_legacy && !onnxd_infer_known(infer, 2, &axis)))
        return NULL;
    int64_t repeats[ONNXD_MAX_RANK] = {0};
    ONNXD_TRY(read_repeats(infer->node, &tiles, is_legacy ? &axis : NULL, input->rank, repeats));
    for (int32_t i = 0; i < input->rank; i++) {
        if (repeats[i] == 1)
            output->shape.dims[i] = input->dims[i];
        else if (repeats[i] == 0)
            output->shape.dims[i] = 0;
        else if (onnxd_dim_is_static(input->dims[i]) &&
                 !onnxd_i64_mul(input->dims[i], repeats[i], &output->shape.dims[i]))
            return onnxd_op_error(infer->node,
                                  "extent %" PRId64 " repeated %" PRId64 " times is too large",
                                  input->dims[i], repeats[i]);
    }
    return NULL;
}

static onnxd_status *compute(const onnxd_compute *compute)
{
    const onnxd_tensor_view *input = &compute->inputs[0], *output = &compute->outputs[0];
    int32_t rank = input->shape.rank;
    int64_t repeats[ONNXD_MAX_RANK] = {0}, natural[ONNXD_MAX_RANK], out_natural[ONNXD_MAX_RANK];
    ONNXD_TRY(read_repeats(compute->node, &compute->inputs[1],
                           compute->opset < 6 ? &compute->inputs[2] : NULL, rank, repeats));
    if (onnxd_tensor_view_count(output) == 0)
        return NULL;
    onnxd_shape shape = {.rank = rank};
    for (int32_t i = 0; i < rank; i++)
        if (!onnxd_i64_mul(input->shape.dims[i], repeats[i], &shape.dims[i]))
            return onnxd_op_error(compute->node, "the output is too large");
    ONNXD_TRY(onnxd_op_check_output(compute, 0, &shape));
    /* Each axis as two: the repeat, which does not move in the input, and the extent. */
    int64_t dims[ONNXD_LOOP_MAX_RANK], strides[2][ONNXD_LOOP_MAX_RANK] = {{0}};
    onnxd_strides_of(&input->shape, natural);
    onnxd_strides_of(&shape, out_natural);
    for (int32_t i = 0; i < rank; i++) {
        const size_t repeat = 2 * (size_t)i, extent = repeat + 1;
        dims[repeat] = repeats[i];
        dims[extent] = input->shape.dims[i];
        strides[0][repeat] = out_natural[i] * input->shape.dims[i];
        strides[0][extent] = out_natural[i];
        strides[1][extent] = natural[i];
    }
    onnxd_loop loop;
    onnxd_loop_init(&loop, 2 * rank, dims, 2, (const int64_t(*)[ONNXD_LOOP_MAX_RANK])strides);
    onnxd_move(&loop, onnxd_dtype_size(input->dtype), onnxd_tensor_view_data(output),
               onnxd_tensor_view_data(input));
    return NULL;
}

#define COMMON(first, last, set)                                                                   \
    .op_type = "Tile", .domain = "", .since = first, .until = last, .min_outputs = 1,              \
    .max_outputs = 1, .outputs = {{.types = set, .type_variable = 1}}, .infer = infer,             \
    .compute = compute
#define ROW(first, last, set)                                                                      \
    {                                                                                              \
        COMMON(first, last, set),                                                                  \
            .min_inputs = 2, .max_inputs = 2,                                                      \
            .inputs = {{.types = set, .type_variable = 1}, {.types = ONNXD_SET(INT64)}},           \
            .shape_inputs = 1u << 1                                                                \
    }

const onnxd_op_def onnxd_op_tile[] = {
    {COMMON(1, 5, ONNXD_SET_FLOATS_1), .min_inputs = 3, .max_inputs = 3,
     .inputs = {{.types = ONNXD_SET_FLOATS_1, .type_variable = 1},
                {.types = ONNXD_SET_FLOATS_1, .type_variable = 1},
                {.types = ONNXD_SET_FLOATS_1, .type_variable = 1}},
     .shape_inputs = 1u << 1 | 1u << 2},
    ROW(6, 12, ONNXD_SET_ANY_1),
    ROW(13, ONNXD_OPSET_MAX, ONNXD_SET_ANY_13),
    {.op_type = NULL},
};
