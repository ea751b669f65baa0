#include "base/tensor.h"

#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/size_math.h"

/* What onnxd_tensor_create promises for `data`, enough for every vector load. */
#define DATA_ALIGNMENT ((size_t)64)

const char *onnxd_value_kind_name(onnxd_value_kind kind)
{
    static const char *const names[ONNXD_VALUE_KIND_COUNT] = {
        [ONNXD_VALUE_TENSOR] = "tensor",
        [ONNXD_VALUE_SEQUENCE] = "sequence",
        [ONNXD_VALUE_OPTIONAL] = "optional",
        [ONNXD_VALUE_OPTIONAL_SEQUENCE] = "optional sequence",
        [ONNXD_VALUE_MAP] = "map",
        [ONNXD_VALUE_SEQUENCE_OF_MAPS] = "sequence of maps",
        [ONNXD_VALUE_SPARSE_TENSOR] = "sparse tensor",
    };
    return (size_t)kind < ONNXD_VALUE_KIND_COUNT ? names[kind] : "invalid";
}

/* Row-major strides. A shape that holds no elements may have extents whose product does not fit;
 * its strides are never used, so they may wrap. */
static void fill_strides(const onnxd_shape *shape, int64_t *strides)
{
    uint64_t stride = 1;
    for (int32_t i = shape->rank - 1; i >= 0; i--) {
        strides[i] = (int64_t)stride;
        stride *= (uint64_t)shape->dims[i];
    }
}

onnxd_tensor_view onnxd_tensor_view_of(void *data, onnxd_dtype dtype, const onnxd_shape *shape)
{
    onnxd_tensor_view view = {.data = data, .dtype = dtype, .shape = *shape};
    fill_strides(shape, view.strides);
    return view;
}

bool onnxd_tensor_view_is_contiguous(const onnxd_tensor_view *view)
{
    size_t count;
    if (!onnxd_shape_count(&view->shape, &count))
        return false;
    if (count == 0)
        return true;
    int64_t expected = 1;
    for (int32_t i = view->shape.rank - 1; i >= 0; i--) {
        if (view->shape.dims[i] == 1)
            continue;
        if (view->strides[i] != expected)
            return false;
        expected *= view->shape.dims[i]; /* at most count, which fits */
    }
    return true;
}

bool onnxd_tensor_view_pitch(const onnxd_tensor_view *view, size_t *out_pitch)
{
    size_t count;
    if (!onnxd_shape_count(&view->shape, &count))
        return false;
    const int32_t last = view->shape.rank - 1;
    const int64_t length = last < 0 ? 1 : view->shape.dims[last];
    int64_t pitch = length, expected = 0;
    if (count > 0 && length > 1 && view->strides[last] != 1)
        return false;
    for (int32_t i = last - 1; i >= 0 && count > 0; i--) {
        if (view->shape.dims[i] == 1)
            continue;
        if (expected == 0)
            expected = pitch = view->strides[i];
        if (view->strides[i] != expected || pitch < length ||
            !onnxd_i64_mul(expected, view->shape.dims[i], &expected))
            return false;
    }
    *out_pitch = (size_t)pitch;
    return true;
}

bool onnxd_tensor_view_is_dense(const onnxd_tensor_view *view)
{
    size_t count;
    if (!onnxd_shape_count(&view->shape, &count))
        return false;
    if (count == 0)
        return true;
    /* Each pass finds the dimension that continues where the ones before it end. Extents above 1
     * have distinct strides in a dense view, so the choice is never ambiguous. */
    uint32_t taken = 0;
    int64_t expected = 1;
    for (int32_t pass = 0; pass < view->shape.rank; pass++) {
        int32_t found = -1;
        bool left = false;
        for (int32_t i = 0; i < view->shape.rank && found < 0; i++) {
            if (view->shape.dims[i] == 1 || (taken & (1u << i)) != 0)
                continue;
            left = true;
            if (view->strides[i] == expected)
                found = i;
        }
        if (!left)
            return true;
        if (found < 0)
            return false;
        taken |= 1u << found;
        expected *= view->shape.dims[found];
    }
    return true;
}

/* Alignment in memory, which for the two-part and packed types is less than the size. */
static size_t dtype_alignment(onnxd_dtype dtype)
{
    switch (dtype) {
    case ONNXD_COMPLEX64:
        return _Alignof(float);
    case ONNXD_COMPLEX128:
        return _Alignof(double);
    case ONNXD_STRING:
        return _Alignof(onnxd_string);
    default: {
        size_t size = onnxd_dtype_size(dtype);
        return size == 0 ? 1 : size;
    }
    }
}

/* The lowest and highest element index that the view reaches, relative to its start. */
static bool find_reach(const onnxd_tensor_view *view, int64_t *out_low, int64_t *out_high)
{
    int64_t low = 0, high = 0;
    for (int32_t i = 0; i < view->shape.rank; i++) {
        int64_t reach;
        if (!onnxd_i64_mul(view->shape.dims[i] - 1, view->strides[i], &reach) ||
            !onnxd_i64_add(reach < 0 ? low : high, reach, reach < 0 ? &low : &high))
            return false;
    }
    *out_low = low;
    *out_high = high;
    return true;
}

/* Bytes from the buffer's start to the view's lowest and past its highest element. */
static bool find_range(const onnxd_tensor_view *view, size_t count, int64_t *out_low,
                       int64_t *out_end)
{
    int64_t low, high, offset, end;
    size_t bytes;
    size_t element_bytes = onnxd_dtype_size(view->dtype);
    if (view->byte_offset > INT64_MAX)
        return false;
    offset = (int64_t)view->byte_offset;
    if (element_bytes == 0) {
        if (!onnxd_dtype_bytes(view->dtype, count, &bytes) || bytes > INT64_MAX ||
            !onnxd_i64_add(offset, (int64_t)bytes, &end))
            return false;
        *out_low = offset;
        *out_end = end;
        return true;
    }
    if (!find_reach(view, &low, &high) || !onnxd_i64_mul(low, (int64_t)element_bytes, &low) ||
        !onnxd_i64_add(high, 1, &end) || !onnxd_i64_mul(end, (int64_t)element_bytes, &end) ||
        !onnxd_i64_add(offset, low, &low) || !onnxd_i64_add(offset, end, &end))
        return false;
    *out_low = low;
    *out_end = end;
    return true;
}

static onnxd_status *check_present(const onnxd_tensor_view *view, size_t buffer_bytes,
                                   const char *name)
{
    char shape[ONNXD_SHAPE_TEXT];
    size_t count;
    int64_t low, end;
    if (!onnxd_shape_count(&view->shape, &count))
        return onnxd_error(ONNXD_INVALID_TENSOR_VIEW,
                           "view %s: shape %s is not static or has too many elements", name,
                           onnxd_shape_format(&view->shape, shape, sizeof(shape)));
    if (view->byte_offset > buffer_bytes)
        return onnxd_error(ONNXD_INVALID_TENSOR_VIEW,
                           "view %s: offset %zu is past the end of a buffer of %zu bytes", name,
                           view->byte_offset, buffer_bytes);
    if (count == 0)
        return NULL;
    if (view->data == NULL)
        return onnxd_error(ONNXD_INVALID_TENSOR_VIEW, "view %s: no data for %zu elements", name,
                           count);
    if (onnxd_dtype_size(view->dtype) == 0 && !onnxd_tensor_view_is_contiguous(view))
        return onnxd_error(ONNXD_INVALID_TENSOR_VIEW,
                           "view %s: elements of type %s must be contiguous", name,
                           onnxd_dtype_name(view->dtype));
    if (!find_range(view, count, &low, &end) || low < 0 || (uint64_t)end > buffer_bytes)
        return onnxd_error(ONNXD_INVALID_TENSOR_VIEW,
                           "view %s: %s%s at offset %zu with its strides leaves the buffer of %zu "
                           "bytes",
                           name, onnxd_dtype_name(view->dtype),
                           onnxd_shape_format(&view->shape, shape, sizeof(shape)),
                           view->byte_offset, buffer_bytes);
    size_t alignment = dtype_alignment(view->dtype);
    if (((uintptr_t)view->data + view->byte_offset) % alignment != 0)
        return onnxd_error(ONNXD_INVALID_TENSOR_VIEW,
                           "view %s: address is not a multiple of %zu, the alignment of %s", name,
                           alignment, onnxd_dtype_name(view->dtype));
    return NULL;
}

onnxd_status *onnxd_tensor_view_check(const onnxd_tensor_view *view, size_t buffer_bytes,
                                      const char *name)
{
    if (onnxd_dtype_bits(view->dtype) != 0)
        return check_present(view, buffer_bytes, name);
    if (view->dtype != ONNXD_UNDEFINED)
        return onnxd_error(ONNXD_INVALID_TENSOR_VIEW, "view %s: %d is no element type", name,
                           (int)view->dtype);
    if (view->data != NULL)
        return onnxd_error(ONNXD_INVALID_TENSOR_VIEW, "view %s: data without an element type",
                           name);
    return NULL;
}

size_t onnxd_tensor_view_count(const onnxd_tensor_view *view)
{
    size_t count;
    if (!onnxd_tensor_view_is_present(view) || !onnxd_shape_count(&view->shape, &count))
        return 0;
    return count;
}

size_t onnxd_tensor_view_bytes(const onnxd_tensor_view *view)
{
    size_t bytes;
    if (!onnxd_dtype_bytes(view->dtype, onnxd_tensor_view_count(view), &bytes))
        return 0;
    return bytes;
}

/* Elements and bytes that type and shape ask for. */
static onnxd_status *measure(onnxd_dtype dtype, const onnxd_shape *shape, size_t *out_count,
                             size_t *out_bytes)
{
    char text[ONNXD_SHAPE_TEXT];
    if (onnxd_dtype_bits(dtype) == 0)
        return onnxd_error(ONNXD_INVALID_ARGUMENT, "tensor type %d is no element type", (int)dtype);
    if (!onnxd_shape_is_static(shape))
        return onnxd_error(ONNXD_INVALID_ARGUMENT, "tensor shape %s is not static",
                           onnxd_shape_format(shape, text, sizeof(text)));
    if (!onnxd_shape_count(shape, out_count) || !onnxd_dtype_bytes(dtype, *out_count, out_bytes) ||
        *out_bytes > PTRDIFF_MAX)
        return onnxd_error(ONNXD_INVALID_ARGUMENT, "tensor shape %s has too many %s elements",
                           onnxd_shape_format(shape, text, sizeof(text)), onnxd_dtype_name(dtype));
    return NULL;
}

/* A tensor whose data of `bytes`, and extra_bytes after it, follow it in the same allocation. */
static onnxd_status *create_inline(onnxd_dtype dtype, const onnxd_shape *shape, size_t extra_bytes,
                                   onnxd_tensor **out_tensor)
{
    size_t count, bytes, header_bytes, data_bytes, total_bytes;
    ONNXD_TRY(measure(dtype, shape, &count, &bytes));
    if (!onnxd_size_align(sizeof(onnxd_tensor), DATA_ALIGNMENT, &header_bytes) ||
        !onnxd_size_add(bytes, extra_bytes, &data_bytes) ||
        !onnxd_size_add(header_bytes, data_bytes, &total_bytes))
        return onnxd_error_out_of_memory("a tensor", SIZE_MAX, UINT64_MAX);
    onnxd_tensor *tensor = onnxd_alloc_aligned(total_bytes, DATA_ALIGNMENT);
    if (tensor == NULL)
        return onnxd_error_out_of_memory("a tensor", total_bytes, UINT64_MAX);
    *tensor = (onnxd_tensor){
        .dtype = dtype,
        .shape = *shape,
        .count = count,
        .bytes = bytes,
        .data = (char *)tensor + header_bytes,
        .references = 1,
    };
    *out_tensor = tensor;
    return NULL;
}

onnxd_status *onnxd_tensor_create(onnxd_dtype dtype, const onnxd_shape *shape,
                                  onnxd_tensor **out_tensor)
{
    onnxd_tensor *tensor;
    ONNXD_TRY(create_inline(dtype, shape, 0, &tensor));
    memset(tensor->data, 0, tensor->bytes);
    *out_tensor = tensor;
    return NULL;
}

onnxd_status *onnxd_tensor_adopt(onnxd_dtype dtype, const onnxd_shape *shape, void *data,
                                 size_t data_bytes, void (*release)(void *owner, void *data),
                                 void *owner, onnxd_tensor **out_tensor)
{
    size_t count, bytes;
    ONNXD_TRY(measure(dtype, shape, &count, &bytes));
    if (bytes != data_bytes) {
        char text[ONNXD_SHAPE_TEXT];
        return onnxd_error(ONNXD_INVALID_ARGUMENT, "tensor %s%s needs %zu bytes of data, not %zu",
                           onnxd_dtype_name(dtype), onnxd_shape_format(shape, text, sizeof(text)),
                           bytes, data_bytes);
    }
    onnxd_tensor *tensor = onnxd_alloc(sizeof(*tensor));
    if (tensor == NULL)
        return onnxd_error_out_of_memory("a tensor", sizeof(*tensor), UINT64_MAX);
    *tensor = (onnxd_tensor){
        .dtype = dtype,
        .shape = *shape,
        .count = count,
        .bytes = bytes,
        .data = data,
        .references = 1,
        .release = release,
        .owner = owner,
    };
    *out_tensor = tensor;
    return NULL;
}

onnxd_status *onnxd_tensor_create_strings(const onnxd_shape *shape, const onnxd_string *strings,
                                          onnxd_tensor **out_tensor)
{
    size_t count, bytes;
    size_t text_bytes = 0;
    ONNXD_TRY(measure(ONNXD_STRING, shape, &count, &bytes));
    for (size_t i = 0; i < count; i++)
        if (!onnxd_size_add(text_bytes, strings[i].size, &text_bytes))
            return onnxd_error(ONNXD_INVALID_ARGUMENT,
                               "string tensor's bytes do not fit memory at element %zu", i);
    onnxd_tensor *tensor;
    ONNXD_TRY(create_inline(ONNXD_STRING, shape, text_bytes, &tensor));
    onnxd_string *elements = tensor->data;
    char *text = (char *)tensor->data + tensor->bytes;
    for (size_t i = 0; i < count; i++) {
        elements[i] = (onnxd_string){.data = text, .size = strings[i].size};
        if (strings[i].size != 0)
            memcpy(text, strings[i].data, strings[i].size);
        text += strings[i].size;
    }
    *out_tensor = tensor;
    return NULL;
}

onnxd_tensor *onnxd_tensor_retain(onnxd_tensor *tensor)
{
    /* Whoever retains holds a reference already, so there is nothing to order. */
    __atomic_fetch_add(&tensor->references, 1, __ATOMIC_RELAXED);
    return tensor;
}

void onnxd_tensor_release(onnxd_tensor *tensor)
{
    /* Release: this holder's accesses come before the end. Acquire: the last one sees them all. */
    if (tensor == NULL || __atomic_fetch_sub(&tensor->references, 1, __ATOMIC_ACQ_REL) != 1)
        return;
    if (tensor->release != NULL)
        tensor->release(tensor->owner, tensor->data);
    onnxd_free(tensor);
}

onnxd_tensor_view onnxd_tensor_as_view(const onnxd_tensor *tensor)
{
    return onnxd_tensor_view_of(tensor->data, tensor->dtype, &tensor->shape);
}
