#include "base/shape.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/size_math.h"

onnxd_shape onnxd_shape_of_rank(int32_t rank)
{
    onnxd_shape shape = {.rank = rank};
    for (int32_t i = 0; i < rank; i++)
        shape.dims[i] = ONNXD_DIM_UNKNOWN;
    return shape;
}

onnxd_shape onnxd_shape_from(int32_t rank, const int64_t *dims)
{
    onnxd_shape shape = {.rank = rank};
    if (rank > 0)
        memcpy(shape.dims, dims, (size_t)rank * sizeof(dims[0]));
    return shape;
}

bool onnxd_shape_is_static(const onnxd_shape *shape)
{
    if (shape->rank < 0 || shape->rank > ONNXD_MAX_RANK)
        return false;
    for (int32_t i = 0; i < shape->rank; i++)
        if (!onnxd_dim_is_static(shape->dims[i]))
            return false;
    return true;
}

bool onnxd_shape_equal(const onnxd_shape *a, const onnxd_shape *b)
{
    if (a->rank != b->rank)
        return false;
    for (int32_t i = 0; i < a->rank; i++)
        if (a->dims[i] != b->dims[i])
            return false;
    return true;
}

bool onnxd_shape_admits(const onnxd_shape *declared, const onnxd_shape *actual)
{
    if (declared->rank == ONNXD_RANK_UNKNOWN)
        return true;
    if (declared->rank != actual->rank)
        return false;
    for (int32_t i = 0; i < declared->rank; i++)
        if (onnxd_dim_is_static(declared->dims[i]) && declared->dims[i] != actual->dims[i])
            return false;
    return true;
}

bool onnxd_shape_count(const onnxd_shape *shape, size_t *out_count)
{
    if (!onnxd_shape_is_static(shape))
        return false;
    return onnxd_shape_span(shape, 0, shape->rank, out_count);
}

bool onnxd_shape_span(const onnxd_shape *shape, int32_t first, int32_t last, size_t *out_count)
{
    if (shape->rank < 0 || shape->rank > ONNXD_MAX_RANK || first < 0 || last > shape->rank ||
        first > last)
        return false;
    bool has_zero = false;
    for (int32_t i = first; i < last; i++) {
        if (!onnxd_dim_is_static(shape->dims[i]))
            return false;
        has_zero |= shape->dims[i] == 0;
    }
    /* A zero makes the product zero wherever it stands, also behind a pair that overflows. */
    size_t count = has_zero ? 0 : 1;
    for (int32_t i = first; i < last && !has_zero; i++)
        if (!onnxd_size_mul(count, (size_t)shape->dims[i], &count))
            return false;
    *out_count = count;
    return true;
}

bool onnxd_shape_axis(int32_t rank, int64_t axis, int32_t *out_axis)
{
    if (axis < -(int64_t)rank || axis >= rank)
        return false;
    *out_axis = (int32_t)(axis < 0 ? axis + rank : axis);
    return true;
}

static void append(char *buffer, size_t capacity, size_t *length, const char *text)
{
    size_t bytes = strlen(text);
    size_t room = capacity - 1 - *length;
    if (bytes > room)
        bytes = room;
    memcpy(buffer + *length, text, bytes);
    *length += bytes;
    buffer[*length] = '\0';
}

const char *onnxd_shape_format(const onnxd_shape *shape, char *buffer, size_t capacity)
{
    if (capacity == 0)
        return buffer;
    size_t length = 0;
    buffer[0] = '\0';
    if (shape->rank < 0 || shape->rank > ONNXD_MAX_RANK) {
        append(buffer, capacity, &length, "[?]*");
        return buffer;
    }
    append(buffer, capacity, &length, "[");
    for (int32_t i = 0; i < shape->rank; i++) {
        char text[24] = "?";
        int64_t dim = shape->dims[i];
        if (onnxd_dim_is_static(dim))
            snprintf(text, sizeof(text), "%" PRId64, dim);
        else if (onnxd_dim_is_symbol(dim))
            snprintf(text, sizeof(text), "s%" PRIu32, ONNXD_DIM_SYMBOL(dim));
        if (i != 0)
            append(buffer, capacity, &length, ",");
        append(buffer, capacity, &length, text);
    }
    append(buffer, capacity, &length, "]");
    return buffer;
}
