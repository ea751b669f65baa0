#include "ops/index/offsets.h"

#include <inttypes.h>
#include <string.h>

static onnxd_status *out_of_range(const onnxd_node *node, int64_t index, size_t position,
                                  int64_t dim)
{
    if (dim == 0)
        return onnxd_op_error(node,
                              "index %" PRId64 " (element %zu of input 1) names an element of an "
                              "axis that has none",
                              index, position);
    return onnxd_op_error(node,
                          "index %" PRId64 " (element %zu of input 1) is outside "
                          "[%" PRId64 ", %" PRId64 "]",
                          index, position, -dim, dim - 1);
}

onnxd_status *onnxd_element_check(const onnxd_node *node, const onnxd_shape *data,
                                  const onnxd_shape *indices, int64_t axis, int32_t *out_axis)
{
    const onnxd_shape *known = data->rank >= 0 ? data : indices;
    int32_t at = -1;
    if (known->rank >= 0)
        ONNXD_TRY(onnxd_op_axis(node, "attribute 'axis'", axis, known->rank, &at));
    if (data->rank >= 0 && indices->rank >= 0) {
        if (data->rank != indices->rank)
            return onnxd_op_error(node,
                                  "input 1 has rank %" PRId32 ", but input 0 has rank %" PRId32,
                                  indices->rank, data->rank);
        for (int32_t i = 0; i < data->rank; i++)
            if (i != at && onnxd_dim_is_static(data->dims[i]) && indices->dims[i] > data->dims[i])
                return onnxd_op_error(node,
                                      "input 1 has extent %" PRId64 " at axis %" PRId32
                                      ", more than the %" PRId64 " of input 0",
                                      indices->dims[i], i, data->dims[i]);
    }
    *out_axis = at;
    return NULL;
}

void onnxd_element_walk_init(onnxd_element_walk *walk, const onnxd_node *node,
                             const onnxd_shape *data, const onnxd_tensor_view *indices,
                             int32_t axis)
{
    int64_t strides[2][ONNXD_LOOP_MAX_RANK] = {{0}};
    memset(walk, 0, sizeof(*walk));
    onnxd_strides_of(&indices->shape, strides[0]);
    walk->node = node;
    walk->indices = indices;
    walk->dim = data->dims[axis];
    /* Without elements on the axis every index is refused, and products of the other extents may
     * not fit. */
    if (walk->dim != 0)
        onnxd_strides_of(data, strides[1]);
    walk->axis_stride = strides[1][axis];
    strides[1][axis] = 0;
    onnxd_loop_init(&walk->loop, data->rank, indices->shape.dims, 2,
                    (const int64_t(*)[ONNXD_LOOP_MAX_RANK])strides);
    walk->is_done = !onnxd_loop_begin(&walk->loop, &walk->cursor);
}

static void load_indices(const onnxd_tensor_view *view, size_t first, size_t count, int64_t *out)
{
    if (view->dtype == ONNXD_INT64) {
        memcpy(out, (const int64_t *)onnxd_tensor_view_data(view) + first, count * sizeof(*out));
        return;
    }
    const int32_t *from = (const int32_t *)onnxd_tensor_view_data(view) + first;
    for (size_t i = 0; i < count; i++)
        out[i] = from[i];
}

/* Part of one row of the loop. */
static onnxd_status *add_run(const onnxd_element_walk *walk, int64_t *offsets, size_t count)
{
    size_t first = (size_t)walk->cursor.offsets[0] + walk->column;
    int64_t step = onnxd_loop_step(&walk->loop, 1), dim = walk->dim;
    int64_t base = walk->cursor.offsets[1] + (int64_t)walk->column * step;
    bool is_bad = false;
    load_indices(walk->indices, first, count, offsets);
    for (size_t i = 0; i < count; i++) {
        int64_t index = offsets[i] < 0 ? offsets[i] + dim : offsets[i];
        is_bad |= (uint64_t)index >= (uint64_t)dim;
        /* Modulo 2^64: an index that is out of range must not overflow before it is refused. */
        offsets[i] = (int64_t)((uint64_t)base + i * (uint64_t)step +
                               (uint64_t)index * (uint64_t)walk->axis_stride);
    }
    if (!is_bad)
        return NULL;
    for (size_t i = first;; i++) {
        int64_t index = onnxd_op_int_at(walk->indices, i);
        if (index < -dim || index >= dim)
            return out_of_range(walk->node, index, i, dim);
    }
}

onnxd_status *onnxd_element_walk_next(onnxd_element_walk *walk, int64_t *offsets, size_t *out_count)
{
    size_t filled = 0, row = onnxd_loop_row(&walk->loop);
    while (filled < ONNXD_OFFSETS_CHUNK && !walk->is_done) {
        size_t run = row - walk->column;
        if (run > ONNXD_OFFSETS_CHUNK - filled)
            run = ONNXD_OFFSETS_CHUNK - filled;
        ONNXD_TRY(add_run(walk, offsets + filled, run));
        filled += run;
        walk->column += run;
        if (walk->column == row) {
            walk->column = 0;
            walk->is_done = !onnxd_loop_next(&walk->loop, &walk->cursor);
        }
    }
    *out_count = filled;
    return NULL;
}

static onnxd_status *check_ranks(const onnxd_node *node, const onnxd_shape *data,
                                 const onnxd_shape *indices, int32_t batch_dims)
{
    const onnxd_shape *shapes[] = {data, indices};
    for (uint32_t i = 0; i < ONNXD_COUNT(shapes); i++)
        if (shapes[i]->rank >= 0 && shapes[i]->rank <= batch_dims)
            return onnxd_op_error(node,
                                  "input %" PRIu32 " has rank %" PRId32 ", with %" PRId32
                                  " batch dimensions at least %" PRId32 " is needed",
                                  i, shapes[i]->rank, batch_dims, batch_dims + 1);
    if (data->rank < 0 || indices->rank < 0)
        return NULL;
    for (int32_t i = 0; i < batch_dims; i++)
        if (onnxd_dim_is_static(data->dims[i]) && onnxd_dim_is_static(indices->dims[i]) &&
            data->dims[i] != indices->dims[i])
            return onnxd_op_error(node,
                                  "batch dimension %" PRId32 " is %" PRId64
                                  " in input 0, but %" PRId64 " in input 1",
                                  i, data->dims[i], indices->dims[i]);
    return NULL;
}

onnxd_status *onnxd_tuples_check(const onnxd_node *node, const onnxd_shape *data,
                                 const onnxd_shape *indices, int32_t batch_dims,
                                 onnxd_shape *out_shape)
{
    ONNXD_TRY(check_ranks(node, data, indices, batch_dims));
    onnxd_shape shape = onnxd_shape_unknown();
    if (data->rank >= 0 && indices->rank >= 0 &&
        onnxd_dim_is_static(indices->dims[indices->rank - 1])) {
        int64_t width = indices->dims[indices->rank - 1];
        int32_t last = indices->rank - 1;
        if (width > data->rank - batch_dims)
            return onnxd_op_error(node,
                                  "the tuples of input 1 have %" PRId64
                                  " indices, more than the %" PRId32 " axes they can name",
                                  width, data->rank - batch_dims);
        int32_t first = batch_dims + (int32_t)width;
        if (last + data->rank - first > ONNXD_MAX_RANK)
            return onnxd_op_error(node,
                                  "the slices would have rank %" PRId32 ", at most %d is supported",
                                  last + data->rank - first, ONNXD_MAX_RANK);
        shape.rank = 0;
        for (int32_t i = 0; i < last; i++)
            shape.dims[shape.rank++] = indices->dims[i];
        for (int32_t i = first; i < data->rank; i++)
            shape.dims[shape.rank++] = data->dims[i];
    }
    *out_shape = shape;
    return NULL;
}

onnxd_status *onnxd_tuples_init(const onnxd_node *node, const onnxd_shape *data,
                                const onnxd_shape *indices, int32_t batch_dims,
                                onnxd_tuples *out_tuples)
{
    onnxd_tuples t = {.width = (size_t)indices->dims[indices->rank - 1]};
    int64_t strides[ONNXD_MAX_RANK];
    size_t batch;
    char text[2][ONNXD_SHAPE_TEXT];
    if (!onnxd_shape_span(indices, 0, indices->rank - 1, &t.count) ||
        !onnxd_shape_span(data, batch_dims + (int32_t)t.width, data->rank, &t.slice) ||
        !onnxd_shape_span(data, 0, batch_dims, &t.batch_count) ||
        !onnxd_shape_span(data, batch_dims, data->rank, &batch) || batch > INT64_MAX)
        return onnxd_op_error(node,
                              "inputs 0 and 1 of shapes %s and %s have slices of more elements "
                              "than %" PRId64 ", the most that fit",
                              onnxd_shape_format(data, text[0], sizeof(text[0])),
                              onnxd_shape_format(indices, text[1], sizeof(text[1])), INT64_MAX);
    t.batch_stride = (int64_t)batch;
    onnxd_strides_of(data, strides);
    for (size_t i = 0; i < t.width; i++) {
        t.dims[i] = data->dims[(size_t)batch_dims + i];
        t.strides[i] = strides[(size_t)batch_dims + i];
    }
    *out_tuples = t;
    return NULL;
}

onnxd_status *onnxd_tuples_offsets(const onnxd_tuples *tuples, const onnxd_node *node,
                                   const onnxd_tensor_view *indices, size_t first, size_t count,
                                   int64_t *offsets)
{
    size_t per_batch = tuples->batch_count == 0 ? 1 : tuples->count / tuples->batch_count;
    const int64_t *at = (const int64_t *)onnxd_tensor_view_data(indices) + first * tuples->width;
    for (size_t i = 0; i < count; i++, at += tuples->width) {
        int64_t offset = (int64_t)((first + i) / per_batch) * tuples->batch_stride;
        for (size_t j = 0; j < tuples->width; j++) {
            int64_t dim = tuples->dims[j], index = at[j] < 0 ? at[j] + dim : at[j];
            if ((uint64_t)index >= (uint64_t)dim)
                return out_of_range(node, at[j], (first + i) * tuples->width + j, dim);
            offset += index * tuples->strides[j];
        }
        offsets[i] = offset;
    }
    return NULL;
}
