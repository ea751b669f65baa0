/* Pad: elements added to (or, with negative counts, taken from) both ends of each axis. Attributes
 * before opset 11, inputs since; axes since 18, mode "wrap" since 19. */
#include <inttypes.h>
#include <string.h>

#include "base/size_math.h"
#include "ops/choice.h"
#include "ops/convert.h"
#include "ops/move.h"
#include "ops/ops.h"
#include "ops/support.h"
#include "ops/types.h"

typedef enum pad_mode { PAD_CONSTANT, PAD_EDGE, PAD_REFLECT, PAD_WRAP } pad_mode;

typedef struct pad_params {
    pad_mode mode;
    bool is_attribute;
    float value;
    size_t count;
    int64_t pads[2 * ONNXD_MAX_RANK];
} pad_params;

enum { PADS = 1, VALUE, AXES };

/* Pads per axis of one input. */
typedef struct pad_plan {
    int64_t before[ONNXD_MAX_RANK], after[ONNXD_MAX_RANK];
} pad_plan;

static onnxd_status *parse_mode(const onnxd_node *node, int64_t opset, pad_mode *out_mode)
{
    static const char *const modes[] = {"constant", "edge", "reflect", "wrap"};
    size_t mode = 0;
    ONNXD_TRY(onnxd_op_choice(node, "mode", modes, opset >= 19 ? ONNXD_COUNT(modes) : 3, &mode));
    *out_mode = (pad_mode)mode;
    return NULL;
}

static onnxd_status *parse(const onnxd_node *node, int64_t opset, onnxd_arena *arena, void *params)
{
    (void)arena;
    const char *pads_name = opset < 2 ? "paddings" : "pads";
    const char *const names_1[] = {"mode", "value", pads_name, NULL};
    static const char *const names_11[] = {"mode", NULL};
    pad_params *p = params;
    p->is_attribute = opset < 11;
    ONNXD_TRY(onnxd_attributes_allow(node, p->is_attribute ? names_1 : names_11));
    ONNXD_TRY(parse_mode(node, opset, &p->mode));
    if (!p->is_attribute)
        return NULL;
    ONNXD_TRY(onnxd_attribute_float(node, "value", &p->value));
    ONNXD_TRY(onnxd_attribute_require(node, pads_name));
    return onnxd_attribute_ints(node, pads_name, 0, ONNXD_COUNT(p->pads), INT64_MIN, INT64_MAX,
                                p->pads, &p->count);
}

static onnxd_status *make_plan(const onnxd_node *node, const int64_t *pads, size_t count,
                               const onnxd_axes *axes, int32_t rank, pad_plan *plan)
{
    size_t axis_count = axes->is_given ? axes->count : (size_t)rank;
    if (count != 2 * axis_count)
        return onnxd_op_error(node, "%zu pads for %zu axes, two for each are needed", count,
                              axis_count);
    bool unused[ONNXD_MAX_RANK];
    if (axes->is_given)
        ONNXD_TRY(onnxd_op_axes(node, axes->values, axes->count, rank, unused));
    memset(plan, 0, sizeof(*plan));
    for (size_t i = 0; i < axis_count; i++) {
        int64_t axis = axes->is_given ? axes->values[i] : (int64_t)i;
        if (axis < 0)
            axis += rank;
        plan->before[axis] = pads[i];
        plan->after[axis] = pads[axis_count + i];
    }
    return NULL;
}

/* Extent of the input that is left after negative pads; modes other than constant read from it.
 * Negative when they take more than there is. */
static int64_t kept_extent(const pad_plan *plan, int32_t axis, int64_t dim)
{
    int64_t before = plan->before[axis] < 0 ? plan->before[axis] : 0;
    int64_t after = plan->after[axis] < 0 ? plan->after[axis] : 0;
    int64_t kept;
    if (!onnxd_i64_add(before, after, &kept) || !onnxd_i64_add(kept, dim, &kept))
        return -1;
    return kept;
}

static onnxd_status *out_shape(const onnxd_node *node, const pad_params *p, const pad_plan *plan,
                               const onnxd_shape *input, onnxd_shape *out)
{
    *out = *input;
    for (int32_t i = 0; i < input->rank; i++) {
        int64_t dim = input->dims[i];
        if (plan->before[i] == 0 && plan->after[i] == 0)
            continue;
        if (!onnxd_dim_is_static(dim)) {
            out->dims[i] = ONNXD_DIM_UNKNOWN;
            continue;
        }
        int64_t sum;
        if (!onnxd_i64_add(plan->before[i], plan->after[i], &sum) ||
            !onnxd_i64_add(sum, dim, &sum) || sum < 0 || kept_extent(plan, i, dim) < 0)
            return onnxd_op_error(node,
                                  "axis %" PRId32 " of extent %" PRId64 " cannot take pads %" PRId64
                                  " and %" PRId64,
                                  i, dim, plan->before[i], plan->after[i]);
        if (p->mode != PAD_CONSTANT && sum > 0 && kept_extent(plan, i, dim) <= 0)
            return onnxd_op_error(
                node, "axis %" PRId32 " has no elements from which to fill its pads", i);
        out->dims[i] = sum;
    }
    return NULL;
}

static onnxd_status *infer(onnxd_infer *infer)
{
    const pad_params *p = infer->params;
    const onnxd_shape *input = &infer->inputs[0].shape;
    infer->outputs[0].dtype = infer->inputs[0].dtype;
    int64_t read[2 * ONNXD_MAX_RANK];
    const int64_t *pads = p->pads;
    size_t count = p->count;
    onnxd_axes axes = {.is_given = false};
    bool is_known = true;
    if (!p->is_attribute) {
        onnxd_tensor_view view;
        is_known = onnxd_infer_known(infer, PADS, &view);
        if (is_known)
            ONNXD_TRY(
                onnxd_op_read_ints(infer->node, PADS, &view, ONNXD_COUNT(read), read, &count));
        pads = read;
        bool are_axes_known;
        ONNXD_TRY(onnxd_infer_axes(infer, AXES, NULL, &axes, &are_axes_known));
        is_known = is_known && are_axes_known;
    }
    if (input->rank < 0)
        return NULL;
    if (!is_known) {
        infer->outputs[0].shape = onnxd_shape_of_rank(input->rank);
        return NULL;
    }
    pad_plan plan = {0};
    ONNXD_TRY(make_plan(infer->node, pads, count, &axes, input->rank, &plan));
    return out_shape(infer->node, p, &plan, input, &infer->outputs[0].shape);
}

/* `at` in [-inf, inf) of an axis of `extent` > 0 elements, by the mode. */
static int64_t source_index(pad_mode mode, int64_t at, int64_t extent)
{
    if (at >= 0 && at < extent)
        return at;
    int64_t period;
    switch (mode) {
    case PAD_EDGE:
        return at < 0 ? 0 : extent - 1;
    case PAD_WRAP:
        at %= extent;
        return at < 0 ? at + extent : at;
    case PAD_REFLECT:
        if (extent == 1)
            return 0;
        period = 2 * (extent - 1);
        at %= period;
        at = at < 0 ? at + period : at;
        return at < extent ? at : period - at;
    default:
        return -1;
    }
}

/* One axis of a call: output index o is input index o - added, plus `skipped`, where that lies in
 * [0, kept). */
typedef struct pad_axis {
    int64_t extent; /* of the output */
    int64_t added, skipped, kept;
    int64_t stride; /* of the input */
    bool is_whole;  /* has no pads */
} pad_axis;

static void describe_axes(const pad_plan *plan, const onnxd_shape *input, const onnxd_shape *output,
                          pad_axis *axes)
{
    int64_t strides[ONNXD_MAX_RANK];
    onnxd_strides_of(input, strides);
    for (int32_t i = 0; i < output->rank; i++) {
        axes[i].extent = output->dims[i];
        axes[i].added = plan->before[i] > 0 ? plan->before[i] : 0;
        axes[i].skipped = plan->before[i] < 0 ? -plan->before[i] : 0;
        axes[i].kept = kept_extent(plan, i, input->dims[i]);
        axes[i].stride = strides[i];
        axes[i].is_whole = plan->before[i] == 0 && plan->after[i] == 0;
    }
}

/* Input index, or -1 for the constant. */
static int64_t find_source(pad_mode mode, const pad_axis *axis, int64_t at)
{
    int64_t source = axis->kept <= 0 ? -1 : source_index(mode, at - axis->added, axis->kept);
    return source < 0 ? -1 : source + axis->skipped;
}

/* How many neighbours from output index `at` on come from neighbours too, or are all constant. */
static int64_t find_run(pad_mode mode, const pad_axis *axis, int64_t at)
{
    int64_t rest = axis->extent - at, inside = at - axis->added;
    if (axis->kept <= 0)
        return rest;
    int64_t run = mode == PAD_CONSTANT ? rest : 1;
    if (inside >= 0 && inside < axis->kept)
        run = axis->kept - inside;
    else if (inside < 0 && mode == PAD_CONSTANT)
        run = -inside;
    return run < rest ? run : rest;
}

/* What a call writes rows with. */
typedef struct pad_writer {
    pad_mode mode;
    size_t width, block_bytes; /* of an element, and of one step along the row's axis */
    const void *value;
} pad_writer;

/* `from` is NULL where the whole row is constant. */
static void pad_row(const pad_writer *writer, const pad_axis *axis, const char *from, char *to)
{
    for (int64_t at = 0; at < axis->extent;) {
        int64_t source = from == NULL ? -1 : find_source(writer->mode, axis, at);
        int64_t run = from == NULL ? axis->extent : find_run(writer->mode, axis, at);
        size_t bytes = (size_t)run * writer->block_bytes;
        if (source < 0)
            onnxd_fill(to, bytes / writer->width, writer->width, writer->value);
        else
            memcpy(to, from + (size_t)source * writer->block_bytes, bytes);
        to += bytes;
        at += run;
    }
}

static void pad_rows(pad_writer *writer, const pad_axis *axes, int32_t rank, const char *from,
                     char *to)
{
    int32_t last = rank - 1;
    int64_t index[ONNXD_MAX_RANK] = {0};
    writer->block_bytes = writer->width;
    /* Axes at the end without pads are copied as they are. */
    while (last > 0 && axes[last].is_whole)
        writer->block_bytes *= (size_t)axes[last--].extent;
    size_t row_bytes = (size_t)axes[last].extent * writer->block_bytes;
    for (;; to += row_bytes) {
        int64_t offset = 0;
        bool is_constant = false;
        for (int32_t i = 0; i < last && !is_constant; i++) {
            int64_t source = find_source(writer->mode, &axes[i], index[i]);
            is_constant = source < 0;
            offset += is_constant ? 0 : source * axes[i].stride;
        }
        pad_row(writer, &axes[last], is_constant ? NULL : from + (size_t)offset * writer->width,
                to);
        int32_t i = last - 1;
        while (i >= 0 && ++index[i] == axes[i].extent)
            index[i--] = 0;
        if (i < 0)
            return;
    }
}

static onnxd_status *move(const onnxd_compute *compute)
{
    static const onnxd_rounding unused = {.saturates = true};
    const pad_params *p = compute->params;
    const onnxd_tensor_view *input = &compute->inputs[0], *output = &compute->outputs[0];
    int64_t pads[2 * ONNXD_MAX_RANK];
    size_t count = p->count;
    onnxd_axes axes = {.is_given = false};
    onnxd_words2 value = {{0}};
    if (p->is_attribute) {
        memcpy(pads, p->pads, sizeof(pads));
        onnxd_wide wide = {.f = (double)p->value};
        onnxd_wide_store(input->dtype, ONNXD_WIDE_FLOAT, &wide, 1, &unused, &value, 0);
    } else {
        ONNXD_TRY(onnxd_op_read_ints(compute->node, PADS, &compute->inputs[PADS], ONNXD_COUNT(pads),
                                     pads, &count));
        ONNXD_TRY(onnxd_compute_axes(compute, AXES, NULL, &axes));
        if (compute->input_count > VALUE && onnxd_tensor_view_is_present(&compute->inputs[VALUE])) {
            if (onnxd_tensor_view_count(&compute->inputs[VALUE]) != 1)
                return onnxd_op_error(compute->node, "input 2 must have one element");
            memcpy(&value, onnxd_tensor_view_data(&compute->inputs[VALUE]),
                   onnxd_dtype_size(input->dtype));
        }
    }
    pad_plan plan = {0};
    onnxd_shape shape;
    ONNXD_TRY(make_plan(compute->node, pads, count, &axes, input->shape.rank, &plan));
    ONNXD_TRY(out_shape(compute->node, p, &plan, &input->shape, &shape));
    ONNXD_TRY(onnxd_op_check_output(compute, 0, &shape));
    if (onnxd_tensor_view_count(output) == 0)
        return NULL;
    if (shape.rank == 0)
        return onnxd_op_compute_copy(compute);
    pad_axis described[ONNXD_MAX_RANK] = {{0}};
    describe_axes(&plan, &input->shape, &shape, described);
    pad_writer writer = {.mode = p->mode, .width = onnxd_dtype_size(input->dtype), .value = &value};
    pad_rows(&writer, described, shape.rank, onnxd_tensor_view_data(input),
             onnxd_tensor_view_data(output));
    return NULL;
}

static onnxd_status *compute(const onnxd_compute *compute)
{
    return onnxd_packed_is_used(compute) ? onnxd_packed_compute(compute, move) : move(compute);
}

#define COMMON(first, last, set)                                                                   \
    .op_type = "Pad", .domain = "", .since = first, .until = last, .min_outputs = 1,               \
    .max_outputs = 1, .outputs = {{.types = set, .type_variable = 1}},                             \
    .params_bytes = sizeof(pad_params), .parse = parse, .infer = infer,                            \
    .workspace_bytes = onnxd_packed_workspace_bytes, .compute = compute
#define DATA(set)                                                                                  \
    {                                                                                              \
        .types = set, .type_variable = 1                                                           \
    }
#define VALUE_INPUT(set)                                                                           \
    {                                                                                              \
        .types = set, .type_variable = 1, .is_optional = true                                      \
    }
#define ATTRIBUTE_ROW(first, last)                                                                 \
    {                                                                                              \
        COMMON(first, last, ONNXD_SET_FLOATS_1), .min_inputs = 1, .max_inputs = 1, .inputs = {     \
            DATA(ONNXD_SET_FLOATS_1)                                                               \
        }                                                                                          \
    }
#define INPUT_ROW(first, last, set)                                                                \
    {                                                                                              \
        COMMON(first, last, set),                                                                  \
            .min_inputs = 2, .max_inputs = 3,                                                      \
            .inputs = {DATA(set), {.types = ONNXD_SET(INT64)}, VALUE_INPUT(set)},                  \
            .shape_inputs = 1u << PADS                                                             \
    }
#define AXES_ROW(first, last, set)                                                                 \
    {                                                                                              \
        COMMON(first, last, set), .min_inputs = 2, .max_inputs = 4,                                \
                                  .inputs = {DATA(set),                                            \
                                             {.types = ONNXD_SET(INT64)},                          \
                                             VALUE_INPUT(set),                                     \
                                             {.types = ONNXD_SET_INDEX, .is_optional = true}},     \
                                  .shape_inputs = 1u << PADS | 1u << AXES                          \
    }

const onnxd_op_def onnxd_op_pad[] = {
    ATTRIBUTE_ROW(1, 1),
    ATTRIBUTE_ROW(2, 10),
    INPUT_ROW(11, 12, ONNXD_SET_NUMBERS_1),
    INPUT_ROW(13, 17, ONNXD_SET_ANY_13),
    AXES_ROW(18, 18, ONNXD_SET_ANY_13),
    AXES_ROW(19, 20, ONNXD_SET_ANY_13),
    ONNXD_ROWS_ANY_21(AXES_ROW),
    {.op_type = NULL},
};
