#define ONNXD_OPS_SUPPORT_IMPLEMENTATION
#include "ops/support.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/size_math.h"

static onnxd_status *op_error_v(onnxd_code code, const onnxd_node *node, const char *format,
                                va_list args) ONNXD_PRINTF(3, 0);
static onnxd_status *op_error_v(onnxd_code code, const onnxd_node *node, const char *format,
                                va_list args)
{
    onnxd_status *status = onnxd_error_v(code, format, args);
    char label[ONNXD_NODE_LABEL];
    return onnxd_status_context(status, "%s", onnxd_node_label(NULL, node, label, sizeof(label)));
}

onnxd_status *onnxd_op_error(const onnxd_node *node, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    onnxd_status *status = op_error_v(ONNXD_INVALID_ARGUMENT, node, format, args);
    va_end(args);
    return status;
}

onnxd_status *onnxd_op_error_code(onnxd_code code, const onnxd_node *node, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    onnxd_status *status = op_error_v(code, node, format, args);
    va_end(args);
    return status;
}

bool onnxd_op_has_input(const onnxd_node *node, uint32_t index)
{
    return index < node->input_count && node->inputs[index] != ONNXD_NONE;
}

bool onnxd_op_has_output(const onnxd_node *node, uint32_t index)
{
    return index < node->output_count && node->outputs[index] != ONNXD_NONE;
}

onnxd_status *onnxd_op_axis(const onnxd_node *node, const char *what, int64_t axis, int32_t rank,
                            int32_t *out_axis)
{
    if (onnxd_shape_axis(rank, axis, out_axis))
        return NULL;
    if (rank == 0)
        return onnxd_op_error(node, "%s is %" PRId64 ", but a scalar has no axes", what, axis);
    return onnxd_op_error(
        node, "%s is %" PRId64 ", which is outside [%" PRId32 ", %" PRId32 "] for rank %" PRId32,
        what, axis, -rank, rank - 1, rank);
}

onnxd_status *onnxd_op_axes(const onnxd_node *node, const int64_t *axes, size_t count, int32_t rank,
                            bool *out_selected)
{
    bool selected[ONNXD_MAX_RANK] = {false};
    for (size_t i = 0; i < count; i++) {
        char what[32];
        snprintf(what, sizeof(what), "axes[%zu]", i);
        int32_t axis;
        ONNXD_TRY(onnxd_op_axis(node, what, axes[i], rank, &axis));
        if (selected[axis])
            return onnxd_op_error(
                node, "axes[%zu] is %" PRId64 ", which names axis %" PRId32 " a second time", i,
                axes[i], axis);
        selected[axis] = true;
    }
    memcpy(out_selected, selected, sizeof(selected));
    return NULL;
}

onnxd_status *onnxd_op_around_axis(const onnxd_node *node, const onnxd_shape *shape, int32_t axis,
                                   size_t *out_outer, size_t *out_inner)
{
    size_t outer, inner;
    char text[ONNXD_SHAPE_TEXT];
    if (!onnxd_shape_span(shape, 0, axis, &outer) ||
        !onnxd_shape_span(shape, axis + 1, shape->rank, &inner))
        return onnxd_op_error(node,
                              "shape %s has more elements around axis %" PRId32 " than %zu, the "
                              "most that fit",
                              onnxd_shape_format(shape, text, sizeof(text)), axis, SIZE_MAX);
    *out_outer = outer;
    *out_inner = inner;
    return NULL;
}

bool onnxd_op_part_along(const onnxd_shape *whole, int64_t axis, const onnxd_tensor_type *parts,
                         uint32_t index, size_t *out_first)
{
    int32_t at;
    size_t inner, before = 0;
    if (!onnxd_shape_axis(whole->rank, axis, &at) ||
        !onnxd_shape_span(whole, at + 1, whole->rank, &inner))
        return false;
    for (uint32_t i = 0; i < index; i++) {
        if (parts[i].dtype == ONNXD_UNDEFINED)
            return false;
        before += (size_t)parts[i].shape.dims[at];
    }
    return onnxd_size_mul(before, inner, out_first);
}

bool onnxd_infer_known(const onnxd_infer *infer, uint32_t index, onnxd_tensor_view *out_view)
{
    if (infer->constants == NULL || index >= infer->input_count || infer->constants[index] == NULL)
        return false;
    *out_view = onnxd_tensor_as_view(infer->constants[index]);
    return true;
}

int64_t onnxd_op_int_at(const onnxd_tensor_view *view, size_t index)
{
    const void *data = onnxd_tensor_view_data(view);
    if (view->dtype == ONNXD_INT32)
        return ((const int32_t *)data)[index];
    return ((const int64_t *)data)[index];
}

onnxd_status *onnxd_op_read_ints(const onnxd_node *node, uint32_t index,
                                 const onnxd_tensor_view *view, size_t max_count, int64_t *values,
                                 size_t *out_count)
{
    if (view->dtype != ONNXD_INT64 && view->dtype != ONNXD_INT32)
        return onnxd_op_error(node, "input %" PRIu32 " is %s, but int32 or int64 is needed", index,
                              onnxd_dtype_name(view->dtype));
    if (view->shape.rank > 1)
        return onnxd_op_error(node, "input %" PRIu32 " has rank %" PRId32 ", but a list is needed",
                              index, view->shape.rank);
    size_t count = onnxd_tensor_view_count(view);
    if (count > max_count)
        return onnxd_op_error(node, "input %" PRIu32 " has %zu elements, at most %zu are allowed",
                              index, count, max_count);
    for (size_t i = 0; i < count; i++)
        values[i] = onnxd_op_int_at(view, i);
    *out_count = count;
    return NULL;
}

onnxd_status *onnxd_op_float_type(const onnxd_node *node, const char *name,
                                  onnxd_dtype *inout_dtype)
{
    int64_t number = *inout_dtype;
    if (onnxd_node_attribute(node, name) == NULL)
        return NULL;
    ONNXD_TRY(onnxd_attribute_int(node, name, INT64_MIN, INT64_MAX, &number));
    onnxd_dtype dtype = onnxd_dtype_from_onnx(number);
    if ((ONNXD_SET_FLOATS >> dtype & 1) == 0)
        return onnxd_op_error(
            node,
            "attribute '%s' is %" PRId64 ", allowed are %d (float), %d (float16), "
            "%d (double) and %d (bfloat16)",
            name, number, ONNXD_FLOAT, ONNXD_FLOAT16, ONNXD_DOUBLE, ONNXD_BFLOAT16);
    *inout_dtype = dtype;
    return NULL;
}

onnxd_status *onnxd_op_list_length(const onnxd_infer *infer, uint32_t index, int64_t *out_length)
{
    const onnxd_shape *shape = &infer->inputs[index].shape;
    if (shape->rank > 1)
        return onnxd_op_error(infer->node,
                              "input %" PRIu32 " has rank %" PRId32 ", but a list is needed", index,
                              shape->rank);
    if (shape->rank == 0)
        *out_length = 1;
    else if (shape->rank == 1 && onnxd_dim_is_static(shape->dims[0]))
        *out_length = shape->dims[0];
    else
        *out_length = -1;
    return NULL;
}

onnxd_status *onnxd_op_read_shape(const onnxd_node *node, uint32_t index,
                                  const onnxd_tensor_view *view, int64_t minimum,
                                  onnxd_shape *out_shape)
{
    onnxd_shape shape;
    size_t count;
    ONNXD_TRY(onnxd_op_read_ints(node, index, view, ONNXD_MAX_RANK, shape.dims, &count));
    for (size_t i = 0; i < count; i++)
        if (shape.dims[i] < minimum)
            return onnxd_op_error(node,
                                  "element %zu of the shape is %" PRId64 ", less than %" PRId64, i,
                                  shape.dims[i], minimum);
    shape.rank = (int32_t)count;
    *out_shape = shape;
    return NULL;
}

onnxd_status *onnxd_infer_shape_list(const onnxd_infer *infer, uint32_t index, int64_t minimum,
                                     onnxd_shape *out_shape, bool *out_is_known)
{
    onnxd_shape shape = onnxd_shape_unknown();
    onnxd_tensor_view view;
    bool is_known = onnxd_infer_known(infer, index, &view);
    if (is_known) {
        ONNXD_TRY(onnxd_op_read_shape(infer->node, index, &view, minimum, &shape));
    } else {
        int64_t length = ONNXD_DIM_UNKNOWN;
        ONNXD_TRY(onnxd_op_list_length(infer, index, &length));
        if (length > ONNXD_MAX_RANK)
            return onnxd_op_error(infer->node,
                                  "the shape has %" PRId64 " elements, at most %d are supported",
                                  length, ONNXD_MAX_RANK);
        if (length >= 0)
            shape = onnxd_shape_of_rank((int32_t)length);
    }
    *out_shape = shape;
    *out_is_known = is_known;
    return NULL;
}

onnxd_status *onnxd_op_flag(const onnxd_node *node, const char *name, bool *out_is_set)
{
    int64_t value = 0;
    ONNXD_TRY(onnxd_attribute_int(node, name, 0, 1, &value));
    *out_is_set = value != 0;
    return NULL;
}

onnxd_status *onnxd_op_parse_axes(const onnxd_node *node, const char *name, onnxd_axes *out_axes)
{
    onnxd_axes axes = {.is_given = onnxd_node_attribute(node, name) != NULL};
    ONNXD_TRY(onnxd_attribute_ints(node, name, 0, ONNXD_MAX_RANK, -ONNXD_MAX_RANK,
                                   ONNXD_MAX_RANK - 1, axes.values, &axes.count));
    *out_axes = axes;
    return NULL;
}

onnxd_status *onnxd_infer_axes(const onnxd_infer *infer, uint32_t index,
                               const onnxd_axes *attribute, onnxd_axes *out_axes,
                               bool *out_is_known)
{
    onnxd_axes axes = {.is_given = false};
    if (onnxd_op_has_input(infer->node, index)) {
        onnxd_tensor_view view;
        if (!onnxd_infer_known(infer, index, &view)) {
            *out_is_known = false;
            return NULL;
        }
        axes.is_given = true;
        ONNXD_TRY(onnxd_op_read_ints(infer->node, index, &view, ONNXD_MAX_RANK, axes.values,
                                     &axes.count));
    } else if (attribute != NULL) {
        axes = *attribute;
    }
    *out_axes = axes;
    *out_is_known = true;
    return NULL;
}

const onnxd_tensor_view *onnxd_compute_input(const onnxd_compute *compute, uint32_t index)
{
    if (index >= compute->input_count || !onnxd_tensor_view_is_present(&compute->inputs[index]))
        return NULL;
    return &compute->inputs[index];
}

const onnxd_tensor_view *onnxd_compute_output(const onnxd_compute *compute, uint32_t index)
{
    if (index >= compute->output_count || !onnxd_tensor_view_is_present(&compute->outputs[index]))
        return NULL;
    return &compute->outputs[index];
}

bool onnxd_compute_has_work(const onnxd_compute *compute)
{
    for (uint32_t i = 0; i < compute->output_count; i++)
        if (onnxd_tensor_view_count(&compute->outputs[i]) != 0)
            return true;
    return false;
}

onnxd_status *onnxd_compute_axes(const onnxd_compute *compute, uint32_t index,
                                 const onnxd_axes *attribute, onnxd_axes *out_axes)
{
    onnxd_axes axes = {.is_given = false};
    if (index < compute->input_count && onnxd_tensor_view_is_present(&compute->inputs[index])) {
        axes.is_given = true;
        ONNXD_TRY(onnxd_op_read_ints(compute->node, index, &compute->inputs[index], ONNXD_MAX_RANK,
                                     axes.values, &axes.count));
    } else if (attribute != NULL) {
        axes = *attribute;
    }
    *out_axes = axes;
    return NULL;
}

onnxd_status *onnxd_op_parse_consumed(const onnxd_node *node, int64_t opset, onnxd_arena *arena,
                                      void *params)
{
    (void)opset, (void)arena, (void)params;
    static const char *const names[] = {"consumed_inputs", NULL};
    return onnxd_attributes_allow(node, names);
}

onnxd_status *onnxd_infer_check_dims(const onnxd_infer *infer, uint32_t index, int32_t rank,
                                     const int64_t *expected)
{
    if (!onnxd_op_has_input(infer->node, index))
        return NULL;
    const onnxd_shape *shape = &infer->inputs[index].shape;
    if (shape->rank == ONNXD_RANK_UNKNOWN)
        return NULL;
    if (shape->rank != rank)
        return onnxd_op_error(infer->node,
                              "input %" PRIu32 " has rank %" PRId32 ", but %" PRId32 " is needed",
                              index, shape->rank, rank);
    for (int32_t i = 0; i < rank; i++)
        if (onnxd_dim_is_static(shape->dims[i]) && onnxd_dim_is_static(expected[i]) &&
            shape->dims[i] != expected[i])
            return onnxd_op_error(infer->node,
                                  "dimension %" PRId32 " of input %" PRIu32 " is %" PRId64
                                  ", but %" PRId64 " is needed",
                                  i, index, shape->dims[i], expected[i]);
    return NULL;
}

onnxd_status *onnxd_op_infer_same(onnxd_infer *infer)
{
    infer->outputs[0] = infer->inputs[0];
    return NULL;
}

onnxd_status *onnxd_op_compute_copy(const onnxd_compute *compute)
{
    size_t bytes = onnxd_tensor_view_bytes(&compute->inputs[0]);
    size_t out_bytes = onnxd_tensor_view_bytes(&compute->outputs[0]);
    if (bytes != out_bytes)
        return onnxd_op_error_code(ONNXD_INTERNAL, compute->node,
                                   "output 0 was planned with %zu bytes, input 0 has %zu",
                                   out_bytes, bytes);
    void *to = onnxd_tensor_view_data(&compute->outputs[0]);
    const void *from = onnxd_tensor_view_data(&compute->inputs[0]);
    if (bytes != 0 && to != from)
        memcpy(to, from, bytes);
    return NULL;
}

onnxd_status *onnxd_op_check_output(const onnxd_compute *compute, uint32_t index,
                                    const onnxd_shape *shape)
{
    const onnxd_shape *given = &compute->outputs[index].shape;
    if (onnxd_shape_equal(given, shape))
        return NULL;
    char given_text[ONNXD_SHAPE_TEXT], needed_text[ONNXD_SHAPE_TEXT];
    return onnxd_op_error_code(ONNXD_INTERNAL, compute->node,
                               "output %" PRIu32 " was planned as %s, but its inputs make it %s",
                               index, onnxd_shape_format(given, given_text, sizeof(given_text)),
                               onnxd_shape_format(shape, needed_text, sizeof(needed_text)));
}
