#include "ops/binary.h"

#include <inttypes.h>

#include "ops/support.h"

onnxd_status *onnxd_binary_parse(const onnxd_node *node, int64_t opset, onnxd_arena *arena,
                                 void *params)
{
    (void)arena;
    static const char *const names_1[] = {"axis", "broadcast", "consumed_inputs", NULL};
    static const char *const no_names[] = {NULL};
    onnxd_binary_params *p = params;
    p->is_legacy = opset < 7;
    ONNXD_TRY(onnxd_attributes_allow(node, p->is_legacy ? names_1 : no_names));
    int64_t broadcast = 0;
    ONNXD_TRY(onnxd_attribute_int(node, "broadcast", 0, 1, &broadcast));
    p->is_broadcast = broadcast != 0;
    p->has_axis = onnxd_node_attribute(node, "axis") != NULL;
    return onnxd_attribute_int(node, "axis", -ONNXD_MAX_RANK, ONNXD_MAX_RANK - 1, &p->axis);
}

/* The shape with which B broadcasts to A by today's rule: its own, followed by ones. */
static onnxd_status *legacy_shape(const onnxd_node *node, const onnxd_binary_params *p,
                                  const onnxd_shape *a, const onnxd_shape *b,
                                  onnxd_shape *out_shape)
{
    int64_t first = a->rank - b->rank;
    if (p->has_axis && p->axis != -1)
        first = p->axis < 0 ? p->axis + a->rank : p->axis;
    if (b->rank > a->rank || first < 0 || first + b->rank > a->rank)
        return onnxd_op_error(
            node, "input 1 of rank %" PRId32 " does not fit into rank %" PRId32 " at axis %" PRId64,
            b->rank, a->rank, p->has_axis ? p->axis : first);
    onnxd_shape shape = *b;
    while (first + shape.rank < a->rank)
        shape.dims[shape.rank++] = 1;
    *out_shape = shape;
    return NULL;
}

static bool may_be_equal(const onnxd_shape *a, const onnxd_shape *b)
{
    if (a->rank != b->rank)
        return false;
    for (int32_t i = 0; i < a->rank; i++)
        if (onnxd_dim_is_static(a->dims[i]) && onnxd_dim_is_static(b->dims[i]) &&
            a->dims[i] != b->dims[i])
            return false;
    return true;
}

static onnxd_status *infer_legacy(const onnxd_infer *infer, const onnxd_binary_params *p,
                                  onnxd_shape *out_shape)
{
    const onnxd_shape *a = &infer->inputs[0].shape, *b = &infer->inputs[1].shape;
    *out_shape = *a;
    if (a->rank < 0 || b->rank < 0)
        return NULL;
    onnxd_shape aligned = *b, joint;
    if (p->is_broadcast) {
        ONNXD_TRY(legacy_shape(infer->node, p, a, b, &aligned));
        ONNXD_TRY(onnxd_broadcast_shapes(infer->node, a, &aligned, &joint));
    }
    if (!may_be_equal(a, p->is_broadcast ? &joint : b)) {
        char text_a[ONNXD_SHAPE_TEXT], text_b[ONNXD_SHAPE_TEXT];
        return onnxd_op_error(infer->node, "input 1 of shape %s does not fit input 0 of shape %s%s",
                              onnxd_shape_format(b, text_b, sizeof(text_b)),
                              onnxd_shape_format(a, text_a, sizeof(text_a)),
                              p->is_broadcast ? "" : " without attribute 'broadcast'");
    }
    return NULL;
}

static onnxd_status *infer_shape(const onnxd_infer *infer, onnxd_shape *out_shape)
{
    const onnxd_binary_params *p = infer->params;
    if (p != NULL && p->is_legacy)
        return infer_legacy(infer, p, out_shape);
    return onnxd_broadcast_shapes(infer->node, &infer->inputs[0].shape, &infer->inputs[1].shape,
                                  out_shape);
}

onnxd_status *onnxd_binary_infer(onnxd_infer *infer)
{
    onnxd_dtype a = infer->inputs[0].dtype;
    infer->outputs[0].dtype = a != ONNXD_UNDEFINED ? a : infer->inputs[1].dtype;
    return infer_shape(infer, &infer->outputs[0].shape);
}

onnxd_status *onnxd_binary_infer_bool(onnxd_infer *infer)
{
    infer->outputs[0].dtype = ONNXD_BOOL;
    return infer_shape(infer, &infer->outputs[0].shape);
}

onnxd_status *onnxd_binary_loop(const onnxd_compute *compute, onnxd_loop *loop)
{
    const onnxd_binary_params *p = compute->params;
    const onnxd_shape *a = &compute->inputs[0].shape, *b = &compute->inputs[1].shape;
    onnxd_shape aligned;
    if (p != NULL && p->is_legacy && p->is_broadcast) {
        ONNXD_TRY(legacy_shape(compute->node, p, a, b, &aligned));
        b = &aligned;
    }
    const onnxd_shape *shapes[] = {a, b};
    onnxd_loop_init_broadcast(loop, &compute->outputs[0].shape, 2, shapes);
    return NULL;
}

onnxd_status *onnxd_binary_run(const onnxd_compute *compute, const onnxd_binary_kernel *kernels)
{
    onnxd_loop loop;
    ONNXD_TRY(onnxd_binary_loop(compute, &loop));
    onnxd_binary_kernel kernel = kernels[compute->inputs[0].dtype];
    int64_t in_width = (int64_t)onnxd_dtype_size(compute->inputs[0].dtype);
    int64_t out_width = (int64_t)onnxd_dtype_size(compute->outputs[0].dtype);
    char *out = onnxd_tensor_view_data(&compute->outputs[0]);
    const char *a = onnxd_tensor_view_data(&compute->inputs[0]);
    const char *b = onnxd_tensor_view_data(&compute->inputs[1]);
    onnxd_loop_cursor cursor;
    if (!onnxd_loop_begin(&loop, &cursor))
        return NULL;
    do
        kernel(out + cursor.offsets[0] * out_width, a + cursor.offsets[1] * in_width,
               b + cursor.offsets[2] * in_width, onnxd_loop_row(&loop), onnxd_loop_step(&loop, 1),
               onnxd_loop_step(&loop, 2));
    while (onnxd_loop_next(&loop, &cursor));
    return NULL;
}

/* Position of the first zero among `count` integers of `width` bytes; `count` when there is none.
 */
static size_t find_zero(const void *data, size_t count, size_t width)
{
    size_t i = 0;
#define SCAN(bytes, T)                                                                             \
    case bytes:                                                                                    \
        while (i < count && ((const T *)data)[i] != 0)                                             \
            i++;                                                                                   \
        break;
    switch (width) {
        SCAN(1, uint8_t)
        SCAN(2, uint16_t)
        SCAN(4, uint32_t)
        SCAN(8, uint64_t)
    default:
        break;
    }
#undef SCAN
    return i;
}

onnxd_status *onnxd_binary_check_divisor(const onnxd_compute *compute)
{
    const onnxd_tensor_view *divisor = &compute->inputs[1];
    bool is_integer = (ONNXD_SET_INTEGERS & ((onnxd_dtype_set)1u << divisor->dtype)) != 0;
    if (!is_integer || onnxd_tensor_view_count(&compute->outputs[0]) == 0)
        return NULL;
    size_t count = onnxd_tensor_view_count(divisor);
    size_t zero =
        find_zero(onnxd_tensor_view_data(divisor), count, onnxd_dtype_size(divisor->dtype));
    if (zero == count)
        return NULL;
    return onnxd_op_error(compute->node, "integer division by 0: element %zu of input 1 is 0",
                          zero);
}
