/* Slice: a strided part of each named axis. Attributes in opset 1, inputs since 10. */
#include <inttypes.h>

#include "ops/move.h"
#include "ops/ops.h"
#include "ops/support.h"
#include "ops/types.h"

/* What the attributes or inputs say. */
typedef struct slice_spec {
    bool has_axes, has_steps;
    size_t start_count, end_count, axis_count, step_count;
    int64_t starts[ONNXD_MAX_RANK], ends[ONNXD_MAX_RANK];
    int64_t axes[ONNXD_MAX_RANK], steps[ONNXD_MAX_RANK];
} slice_spec;

/* What that means for one shape. */
typedef struct slice_plan {
    int64_t first[ONNXD_MAX_RANK];
    int64_t step[ONNXD_MAX_RANK];
    onnxd_shape shape;
} slice_plan;

enum { STARTS = 1, ENDS, AXES, STEPS };

static onnxd_status *parse(const onnxd_node *node, int64_t opset, onnxd_arena *arena, void *params)
{
    (void)opset, (void)arena;
    static const char *const names[] = {"starts", "ends", "axes", NULL};
    slice_spec *p = params;
    ONNXD_TRY(onnxd_attributes_allow(node, names));
    ONNXD_TRY(onnxd_attribute_require(node, "starts"));
    ONNXD_TRY(onnxd_attribute_require(node, "ends"));
    ONNXD_TRY(onnxd_attribute_ints(node, "starts", 0, ONNXD_MAX_RANK, INT64_MIN, INT64_MAX,
                                   p->starts, &p->start_count));
    ONNXD_TRY(onnxd_attribute_ints(node, "ends", 0, ONNXD_MAX_RANK, INT64_MIN, INT64_MAX, p->ends,
                                   &p->end_count));
    p->has_axes = onnxd_node_attribute(node, "axes") != NULL;
    return onnxd_attribute_ints(node, "axes", 0, ONNXD_MAX_RANK, -ONNXD_MAX_RANK,
                                ONNXD_MAX_RANK - 1, p->axes, &p->axis_count);
}

static onnxd_status *check_counts(const onnxd_node *node, const slice_spec *spec)
{
    if (spec->end_count != spec->start_count)
        return onnxd_op_error(node, "%zu starts, but %zu ends", spec->start_count, spec->end_count);
    if (spec->has_axes && spec->axis_count != spec->start_count)
        return onnxd_op_error(node, "%zu starts, but %zu axes", spec->start_count,
                              spec->axis_count);
    if (spec->has_steps && spec->step_count != spec->start_count)
        return onnxd_op_error(node, "%zu starts, but %zu steps", spec->start_count,
                              spec->step_count);
    for (size_t i = 0; i < spec->step_count; i++)
        if (spec->steps[i] == 0)
            return onnxd_op_error(node, "steps[%zu] is 0", i);
    return NULL;
}

static int64_t clamp(int64_t value, int64_t low, int64_t high)
{
    return value < low ? low : value > high ? high : value;
}

/* First index and number of indices of one axis of extent `dim`. */
static void slice_axis(int64_t dim, int64_t start, int64_t end, int64_t step, int64_t *out_first,
                       int64_t *out_count)
{
    if (start < 0)
        start += dim;
    if (end < 0)
        end += dim;
    int64_t high = step > 0 ? dim : dim - 1;
    start = clamp(start, high < 0 ? high : 0, high);
    end = clamp(end, step > 0 ? 0 : -1, high);
    int64_t distance = step > 0 ? end - start : start - end;
    /* The magnitude of INT64_MIN is no int64. */
    uint64_t width = step > 0 ? (uint64_t)step : 0 - (uint64_t)step;
    *out_first = start;
    *out_count = distance <= 0 ? 0 : (int64_t)(((uint64_t)distance - 1) / width + 1);
}

static onnxd_status *make_plan(const onnxd_node *node, const slice_spec *spec,
                               const onnxd_shape *input, slice_plan *plan)
{
    ONNXD_TRY(check_counts(node, spec));
    if (!spec->has_axes && spec->start_count > (size_t)input->rank)
        return onnxd_op_error(node, "%zu starts for an input of rank %" PRId32, spec->start_count,
                              input->rank);
    bool unused[ONNXD_MAX_RANK];
    if (spec->has_axes)
        ONNXD_TRY(onnxd_op_axes(node, spec->axes, spec->axis_count, input->rank, unused));
    plan->shape = *input;
    for (int32_t i = 0; i < input->rank; i++) {
        plan->first[i] = 0;
        plan->step[i] = 1;
    }
    for (size_t i = 0; i < spec->start_count; i++) {
        int32_t axis = (int32_t)i;
        if (spec->has_axes)
            axis = (int32_t)(spec->axes[i] < 0 ? spec->axes[i] + input->rank : spec->axes[i]);
        int64_t step = spec->has_steps ? spec->steps[i] : 1;
        int64_t dim = input->dims[axis];
        plan->step[axis] = step;
        if (onnxd_dim_is_static(dim))
            slice_axis(dim, spec->starts[i], spec->ends[i], step, &plan->first[axis],
                       &plan->shape.dims[axis]);
        else if (spec->starts[i] != 0 || /* an end this large stands for "to the end" */
                 spec->ends[i] < INT32_MAX || step != 1)
            plan->shape.dims[axis] = ONNXD_DIM_UNKNOWN;
    }
    return NULL;
}

/* Reads the inputs; views[i] is NULL where input i is absent. */
static onnxd_status *read_spec(const onnxd_node *node, const onnxd_tensor_view *const *views,
                               slice_spec *spec)
{
    ONNXD_TRY(onnxd_op_read_ints(node, STARTS, views[STARTS], ONNXD_MAX_RANK, spec->starts,
                                 &spec->start_count));
    ONNXD_TRY(
        onnxd_op_read_ints(node, ENDS, views[ENDS], ONNXD_MAX_RANK, spec->ends, &spec->end_count));
    spec->has_axes = views[AXES] != NULL;
    spec->has_steps = views[STEPS] != NULL;
    if (spec->has_axes)
        ONNXD_TRY(onnxd_op_read_ints(node, AXES, views[AXES], ONNXD_MAX_RANK, spec->axes,
                                     &spec->axis_count));
    if (spec->has_steps)
        ONNXD_TRY(onnxd_op_read_ints(node, STEPS, views[STEPS], ONNXD_MAX_RANK, spec->steps,
                                     &spec->step_count));
    return NULL;
}

/* From the attributes, or from inputs where they are all known. */
static onnxd_status *find_spec(const onnxd_infer *infer, slice_spec *spec, bool *out_is_known)
{
    onnxd_tensor_view storage[STEPS + 1];
    const onnxd_tensor_view *views[STEPS + 1] = {NULL};
    *out_is_known = true;
    if (infer->params != NULL) {
        *spec = *(const slice_spec *)infer->params;
        return NULL;
    }
    for (uint32_t i = STARTS; i <= STEPS; i++) {
        if (!onnxd_op_has_input(infer->node, i))
            continue;
        *out_is_known = *out_is_known && onnxd_infer_known(infer, i, &storage[i]);
        views[i] = &storage[i];
    }
    return *out_is_known ? read_spec(infer->node, views, spec) : NULL;
}

static onnxd_status *infer(onnxd_infer *infer)
{
    const onnxd_shape *input = &infer->inputs[0].shape;
    infer->outputs[0].dtype = infer->inputs[0].dtype;
    slice_spec spec = {.has_axes = false};
    bool is_known;
    ONNXD_TRY(find_spec(infer, &spec, &is_known));
    if (input->rank < 0)
        return NULL;
    if (!is_known) {
        infer->outputs[0].shape = onnxd_shape_of_rank(input->rank);
        return NULL;
    }
    slice_plan plan = {0};
    ONNXD_TRY(make_plan(infer->node, &spec, input, &plan));
    infer->outputs[0].shape = plan.shape;
    return NULL;
}

static bool find_piece(const onnxd_infer *infer, uint32_t piece, size_t *out_first)
{
    const onnxd_shape *input = &infer->inputs[0].shape;
    slice_spec spec = {.has_axes = false};
    slice_plan plan = {0};
    bool is_known = false;
    int64_t strides[ONNXD_MAX_RANK];
    size_t first = 0;
    onnxd_status *status = find_spec(infer, &spec, &is_known);
    if (status == NULL && is_known)
        status = make_plan(infer->node, &spec, input, &plan);
    bool is_piece = status == NULL && is_known;
    onnxd_status_free(status);
    if (!is_piece)
        return false;
    (void)piece;
    onnxd_strides_of(input, strides);
    for (int32_t i = 0; i < input->rank; i++) {
        is_piece = is_piece && (plan.step[i] == 1 || plan.shape.dims[i] == 1);
        first += (size_t)(plan.first[i] * strides[i]);
    }
    *out_first = first;
    return is_piece;
}

static onnxd_status *compute(const onnxd_compute *compute)
{
    const onnxd_tensor_view *input = &compute->inputs[0], *output = &compute->outputs[0];
    slice_spec read = {.has_axes = false};
    const slice_spec *spec = compute->params;
    if (spec == NULL) {
        const onnxd_tensor_view *views[STEPS + 1] = {NULL};
        for (uint32_t i = STARTS; i <= STEPS && i < compute->input_count; i++)
            if (onnxd_tensor_view_is_present(&compute->inputs[i]))
                views[i] = &compute->inputs[i];
        ONNXD_TRY(read_spec(compute->node, views, &read));
        spec = &read;
    }
    slice_plan plan = {0};
    ONNXD_TRY(make_plan(compute->node, spec, &input->shape, &plan));
    ONNXD_TRY(onnxd_op_check_output(compute, 0, &plan.shape));
    if (onnxd_tensor_view_count(output) == 0)
        return NULL;
    int64_t strides[ONNXD_MAX_RANK], offset = 0;
    onnxd_strides_of(&input->shape, strides);
    for (int32_t i = 0; i < input->shape.rank; i++) {
        offset += plan.first[i] * strides[i];
        /* A single index takes no step; the product with a huge step could overflow. */
        strides[i] = plan.shape.dims[i] == 1 ? 0 : strides[i] * plan.step[i];
    }
    size_t width = onnxd_dtype_size(input->dtype);
    onnxd_move_contiguous(&plan.shape, strides, width, onnxd_tensor_view_data(output),
                          (const char *)onnxd_tensor_view_data(input) + offset * (int64_t)width);
    return NULL;
}

#define COMMON(first, last, set)                                                                   \
    .op_type = "Slice", .domain = "", .since = first, .until = last, .min_outputs = 1,             \
    .max_outputs = 1, .outputs = {{.types = set, .type_variable = 1}}, .infer = infer,             \
    .compute = compute, .pieces = ONNXD_PIECES_CUT, .find_piece = find_piece
#define INDEX(optional)                                                                            \
    {                                                                                              \
        .types = ONNXD_SET_INDEX, .type_variable = 2, .is_optional = optional                      \
    }
#define INPUT_ROW(first, last, set)                                                                \
    {                                                                                              \
        COMMON(first, last, set),                                                                  \
            .min_inputs = 3, .max_inputs = 5,                                                      \
            .inputs = {{.types = set, .type_variable = 1},                                         \
                       INDEX(false),                                                               \
                       INDEX(false),                                                               \
                       INDEX(true),                                                                \
                       INDEX(true)},                                                               \
            .shape_inputs = 1u << STARTS | 1u << ENDS | 1u << AXES | 1u << STEPS                   \
    }

const onnxd_op_def onnxd_op_slice[] = {
    {COMMON(1, 9, ONNXD_SET_ANY_1), .min_inputs = 1, .max_inputs = 1,
     .inputs = {{.types = ONNXD_SET_ANY_1, .type_variable = 1}}, .params_bytes = sizeof(slice_spec),
     .parse = parse},
    INPUT_ROW(10, 12, ONNXD_SET_ANY_1),
    INPUT_ROW(13, ONNXD_OPSET_MAX, ONNXD_SET_ANY_13),
    {.op_type = NULL},
};
