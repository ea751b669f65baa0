#include "ops/contrib/attention_mask.h"

#include <inttypes.h>
#include <string.h>

#include "base/size_math.h"
#include "ops/support.h"

static bool may_equal(int64_t dim, int64_t expected)
{
    return !onnxd_dim_is_static(dim) || !onnxd_dim_is_static(expected) || dim == expected;
}

static bool fits_list(int64_t count, int64_t batch)
{
    if (!onnxd_dim_is_static(count) || !onnxd_dim_is_static(batch))
        return true;
    return count == batch ||
           (batch <= (INT64_MAX - 2) / 3 && (count == 2 * batch || count == 3 * batch + 2));
}

static bool fits(const onnxd_shape *shape, const onnxd_mask_extent *e)
{
    const int64_t *dims = shape->dims;
    switch (shape->rank) {
    case ONNXD_RANK_UNKNOWN:
        return true;
    case 1:
        return fits_list(dims[0], e->batch);
    case 2:
        return may_equal(dims[0], e->batch) &&
               (may_equal(dims[1], e->keys) || may_equal(dims[1], e->fresh));
    case 3:
        return may_equal(dims[0], e->batch) && may_equal(dims[1], e->queries) &&
               may_equal(dims[2], e->keys);
    case 4:
        return may_equal(dims[0], e->batch) && may_equal(dims[1], 1) &&
               may_equal(dims[2], dims[3]) &&
               (!onnxd_dim_is_static(dims[3]) || !onnxd_dim_is_static(e->keys) ||
                dims[3] >= e->keys) &&
               (!onnxd_dim_is_static(dims[2]) || !onnxd_dim_is_static(e->keys) ||
                !onnxd_dim_is_static(e->fresh) || !onnxd_dim_is_static(e->queries) ||
                e->queries <= dims[2] - (e->keys - e->fresh));
    default:
        return false;
    }
}

onnxd_status *onnxd_mask_check(const onnxd_node *node, uint32_t index, const onnxd_shape *shape,
                               const onnxd_mask_extent *e)
{
    if (fits(shape, e))
        return NULL;
    char found[ONNXD_SHAPE_TEXT];
    return onnxd_op_error(
        node,
        "input %" PRIu32 " has shape %s, no form of a mask for batch size %" PRId64 ", %" PRId64
        " queries and %" PRId64 " keys",
        index, onnxd_shape_format(shape, found, sizeof(found)), e->batch, e->queries, e->keys);
}

/* Rows of the mask for each entry of the batch. */
static size_t rows_of(const onnxd_shape *shape, const onnxd_mask_extent *e)
{
    return shape->rank >= 3 ? (size_t)e->queries : 1;
}

bool onnxd_mask_bytes(const onnxd_shape *shape, const onnxd_mask_extent *e, size_t *out_bytes)
{
    return onnxd_size_mul((size_t)e->batch, rows_of(shape, e), out_bytes) &&
           onnxd_size_mul(*out_bytes, (size_t)e->keys, out_bytes);
}

static onnxd_status *make_list(const onnxd_node *node, uint32_t index,
                               const onnxd_tensor_view *view, const onnxd_mask_extent *e,
                               uint8_t *bytes)
{
    const int32_t *values = onnxd_tensor_view_data(view);
    bool has_starts = view->shape.dims[0] == 2 * e->batch && e->batch != 0;
    for (int64_t b = 0; b < (has_starts ? 2 : 1) * e->batch; b++)
        if (values[b] < 0)
            return onnxd_op_error(node,
                                  "element %" PRId64 " of input %" PRIu32 " is %" PRId32
                                  ", but numbers of keys are at least 0",
                                  b, index, values[b]);
    for (int64_t b = 0; b < e->batch; b++) {
        int64_t first = has_starts ? values[e->batch + b] : 0, end = values[b];
        for (int64_t j = 0; j < e->keys; j++)
            *bytes++ = j >= first && j < end;
    }
    return NULL;
}

onnxd_status *onnxd_mask_make(const onnxd_node *node, uint32_t index, const onnxd_tensor_view *view,
                              const onnxd_mask_extent *e, float filter, uint8_t *bytes,
                              onnxd_attention_mask *out_mask)
{
    const onnxd_shape *shape = &view->shape;
    size_t keys = (size_t)e->keys, rows = rows_of(shape, e);
    *out_mask = (onnxd_attention_mask){.data = bytes,
                                       .dtype = ONNXD_BOOL,
                                       .is_boolean = true,
                                       .filter = (double)filter,
                                       .batch = rows * keys,
                                       .row = rows == 1 ? 0 : keys,
                                       .length = keys};
    if (shape->rank == 1)
        return make_list(node, index, view, e, bytes);
    const int32_t *values = onnxd_tensor_view_data(view);
    size_t width = (size_t)shape->dims[shape->rank - 1];
    size_t past = (size_t)(e->keys - e->fresh);
    /* Keys that the mask leaves out, and rows of it that belong to the past. */
    size_t skipped = width < keys ? keys - width : 0;
    size_t first_row = shape->rank == 4 ? past : 0;
    size_t stored_rows = shape->rank == 4 ? (size_t)shape->dims[2] : rows;
    for (size_t b = 0; b < (size_t)e->batch; b++)
        for (size_t i = 0; i < rows; i++, bytes += keys) {
            const int32_t *row = values + (b * stored_rows + first_row + i) * width;
            memset(bytes, 1, skipped);
            for (size_t j = skipped; j < keys; j++)
                bytes[j] = row[j - skipped] > 0;
        }
    return NULL;
}

onnxd_status *onnxd_mask_check_bias(const onnxd_infer *infer, uint32_t index, int64_t batch,
                                    int64_t heads, int64_t queries, int64_t keys)
{
    int64_t dims[] = {batch, heads, queries, keys};
    if (!onnxd_op_has_input(infer->node, index))
        return NULL;
    const onnxd_shape *shape = &infer->inputs[index].shape;
    for (int32_t i = 0; i < 2; i++)
        if (shape->rank == 4 && shape->dims[i] == 1)
            dims[i] = 1;
    return onnxd_infer_check_dims(infer, index, 4, dims);
}

onnxd_attention_mask onnxd_mask_of_bias(const onnxd_tensor_view *bias)
{
    const int64_t *dims = bias->shape.dims;
    size_t row = (size_t)dims[3], head = (size_t)dims[2] * row;
    return (onnxd_attention_mask){.data = onnxd_tensor_view_data(bias),
                                  .dtype = bias->dtype,
                                  .batch = dims[0] == 1 ? 0 : (size_t)dims[1] * head,
                                  .head = dims[1] == 1 ? 0 : head,
                                  .row = row,
                                  .length = row};
}
