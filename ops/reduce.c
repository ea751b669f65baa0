#include "ops/reduce.h"

#include <math.h>
#include <string.h>

#include "ops/convert.h"

static onnxd_status *parse_common(const onnxd_node *node, onnxd_reduce_params *p)
{
    int64_t keeps = 1, noop = 0;
    ONNXD_TRY(onnxd_attribute_int(node, "keepdims", 0, 1, &keeps));
    ONNXD_TRY(onnxd_attribute_int(node, "noop_with_empty_axes", 0, 1, &noop));
    p->keeps_dims = keeps != 0;
    p->is_noop_without_axes = noop != 0;
    return NULL;
}

onnxd_status *onnxd_reduce_parse_attribute(const onnxd_node *node, int64_t opset,
                                           onnxd_arena *arena, void *params)
{
    (void)opset, (void)arena;
    static const char *const names[] = {"axes", "keepdims", NULL};
    onnxd_reduce_params *p = params;
    ONNXD_TRY(onnxd_attributes_allow(node, names));
    ONNXD_TRY(onnxd_op_parse_axes(node, "axes", &p->axes));
    return parse_common(node, p);
}

onnxd_status *onnxd_reduce_parse_input(const onnxd_node *node, int64_t opset, onnxd_arena *arena,
                                       void *params)
{
    (void)opset, (void)arena;
    static const char *const names[] = {"keepdims", "noop_with_empty_axes", NULL};
    ONNXD_TRY(onnxd_attributes_allow(node, names));
    return parse_common(node, params);
}

/* Which axes go. */
static onnxd_status *select_axes(const onnxd_node *node, const onnxd_reduce_params *p,
                                 const onnxd_axes *axes, int32_t rank, bool *out_reduced)
{
    if (axes->count != 0)
        return onnxd_op_axes(node, axes->values, axes->count, rank, out_reduced);
    for (int32_t i = 0; i < ONNXD_MAX_RANK; i++)
        out_reduced[i] = !p->is_noop_without_axes;
    return NULL;
}

onnxd_status *onnxd_reduce_select(const onnxd_node *node, const onnxd_tensor_view *axes,
                                  int32_t rank, bool *out_reduced)
{
    const onnxd_reduce_params *p = node->params;
    onnxd_axes values = p->axes;
    if (axes != NULL)
        ONNXD_TRY(onnxd_op_read_ints(node, 1, axes, ONNXD_MAX_RANK, values.values, &values.count));
    return select_axes(node, p, &values, rank, out_reduced);
}

static void reduced_shape(const onnxd_shape *input, const bool *reduced, bool keeps_dims,
                          onnxd_shape *out)
{
    out->rank = 0;
    for (int32_t i = 0; i < input->rank; i++) {
        if (!reduced[i])
            out->dims[out->rank++] = input->dims[i];
        else if (keeps_dims)
            out->dims[out->rank++] = 1;
    }
}

onnxd_status *onnxd_reduce_infer(onnxd_infer *infer)
{
    const onnxd_reduce_params *p = infer->params;
    const onnxd_shape *input = &infer->inputs[0].shape;
    onnxd_tensor_type *output = &infer->outputs[0];
    output->dtype = infer->inputs[0].dtype;
    onnxd_axes axes;
    bool is_known, reduced[ONNXD_MAX_RANK];
    ONNXD_TRY(onnxd_infer_axes(infer, 1, &p->axes, &axes, &is_known));
    if (input->rank < 0)
        return NULL;
    if (is_known) {
        ONNXD_TRY(select_axes(infer->node, p, &axes, input->rank, reduced));
        reduced_shape(input, reduced, p->keeps_dims, &output->shape);
    } else if (p->keeps_dims) {
        output->shape = onnxd_shape_of_rank(input->rank);
    }
    return NULL;
}

/* What an output of `dtype` holds where there was nothing to reduce. */
static onnxd_wide empty_value(onnxd_dtype dtype, onnxd_reduce_empty empty)
{
    onnxd_wide_kind kind = onnxd_wide_kind_of(dtype);
    unsigned bits = dtype == ONNXD_BOOL ? 1 : onnxd_dtype_bits(dtype);
    bool is_low = empty == ONNXD_REDUCE_EMPTY_LOWEST || empty == ONNXD_REDUCE_EMPTY_LOG_0;
    bool is_high = empty == ONNXD_REDUCE_EMPTY_HIGHEST;
    onnxd_wide value = {.u = empty == ONNXD_REDUCE_EMPTY_ONE};
    if (kind == ONNXD_WIDE_FLOAT)
        value.f = is_low                            ? -(double)INFINITY
                  : is_high                         ? (double)INFINITY
                  : empty == ONNXD_REDUCE_EMPTY_NAN ? (double)NAN
                                                    : (double)value.u;
    else if (kind == ONNXD_WIDE_SIGNED && (is_low || is_high))
        value.i = is_low ? INT64_MIN >> (64 - bits) : INT64_MAX >> (64 - bits);
    else if (is_high)
        value.u = UINT64_MAX >> (64 - bits);
    return value;
}

static onnxd_status *fill_empty(const onnxd_compute *compute, onnxd_reduce_empty empty)
{
    static const onnxd_rounding unused = {.saturates = true};
    const onnxd_tensor_view *output = &compute->outputs[0];
    onnxd_wide_kind kind = onnxd_wide_kind_of(output->dtype);
    if (empty == ONNXD_REDUCE_EMPTY_NAN && kind != ONNXD_WIDE_FLOAT)
        return onnxd_op_error(compute->node, "the mean of no integers is not defined");
    onnxd_wide value = empty_value(output->dtype, empty);
    size_t count = onnxd_tensor_view_count(output);
    for (size_t i = 0; i < count; i++)
        onnxd_wide_store(output->dtype, kind, &value, 1, &unused, onnxd_tensor_view_data(output),
                         i);
    return NULL;
}

onnxd_status *onnxd_reduce_run(const onnxd_compute *compute, const onnxd_reduce_kernel *kernels,
                               onnxd_reduce_empty empty)
{
    const onnxd_reduce_params *p = compute->params;
    const onnxd_tensor_view *input = &compute->inputs[0], *output = &compute->outputs[0];
    int32_t rank = input->shape.rank;
    onnxd_axes axes;
    bool reduced[ONNXD_MAX_RANK];
    onnxd_shape shape, kept;
    ONNXD_TRY(onnxd_compute_axes(compute, 1, &p->axes, &axes));
    ONNXD_TRY(select_axes(compute->node, p, &axes, rank, reduced));
    reduced_shape(&input->shape, reduced, p->keeps_dims, &shape);
    ONNXD_TRY(onnxd_op_check_output(compute, 0, &shape));
    if (onnxd_tensor_view_count(output) == 0)
        return NULL;
    if (onnxd_tensor_view_count(input) == 0)
        return fill_empty(compute, empty);
    onnxd_reduction r = {.out = onnxd_tensor_view_data(output),
                         .in = onnxd_tensor_view_data(input)};
    int64_t natural[ONNXD_MAX_RANK], kept_strides[2][ONNXD_LOOP_MAX_RANK] = {{0}};
    int64_t dims[ONNXD_MAX_RANK], strides[1][ONNXD_LOOP_MAX_RANK] = {{0}};
    int32_t count = 0, kept_count = 0;
    onnxd_strides_of(&input->shape, natural);
    reduced_shape(&input->shape, reduced, false, &kept);
    onnxd_strides_of(&kept, kept_strides[0]);
    r.reduced_count = 1;
    for (int32_t i = 0; i < rank; i++) {
        if (!reduced[i]) {
            kept_strides[1][kept_count++] = natural[i];
            continue;
        }
        strides[0][count] = natural[i];
        dims[count++] = input->shape.dims[i];
        r.reduced_count *= (size_t)input->shape.dims[i];
    }
    onnxd_loop_init(&r.kept, kept.rank, kept.dims, 2,
                    (const int64_t(*)[ONNXD_LOOP_MAX_RANK])kept_strides);
    onnxd_loop_init(&r.reduced, count, dims, 1, (const int64_t(*)[ONNXD_LOOP_MAX_RANK])strides);
    kernels[input->dtype](&r);
    return NULL;
}
