#include "http/tensor_binary.h"

#include <string.h>

#include "base/size_math.h"
#include "http/tensor_element.h"

#define LENGTH_BYTES 4

bool onnxd_http_binary_can_hold(onnxd_dtype dtype, size_t count, size_t bytes)
{
    if (dtype == ONNXD_STRING)
        return count <= bytes / LENGTH_BYTES;
    size_t needed;
    return onnxd_dtype_bytes(dtype, count, &needed) && needed == bytes;
}

static onnxd_status *strings_from_binary(const onnxd_http_tensor_target *target,
                                         onnxd_http_span blob)
{
    onnxd_string *elements = target->data;
    for (size_t i = 0; i < target->count; i++) {
        uint32_t length;
        if (blob.size < LENGTH_BYTES)
            return onnxd_error(ONNXD_INVALID_ARGUMENT,
                               "data of input '%.*s' ends before element %zu of %zu",
                               ONNXD_HTTP_NAME_ARGS(target->name), i, target->count);
        memcpy(&length, blob.data, LENGTH_BYTES);
        blob = (onnxd_http_span){blob.data + LENGTH_BYTES, blob.size - LENGTH_BYTES};
        if (length > blob.size)
            return onnxd_error(ONNXD_INVALID_ARGUMENT,
                               "element %zu of input '%.*s' says %u bytes, but %zu are left", i,
                               ONNXD_HTTP_NAME_ARGS(target->name), (unsigned)length, blob.size);
        if (length > target->max_string_bytes)
            return onnxd_error(ONNXD_PAYLOAD_TOO_LARGE,
                               "element %zu of input '%.*s' has %u bytes; at most %llu are allowed",
                               i, ONNXD_HTTP_NAME_ARGS(target->name), (unsigned)length,
                               (unsigned long long)target->max_string_bytes);
        elements[i] = (onnxd_string){.data = blob.data, .size = length};
        blob = (onnxd_http_span){blob.data + length, blob.size - length};
    }
    if (blob.size != 0)
        return onnxd_error(ONNXD_INVALID_ARGUMENT,
                           "data of input '%.*s' has %zu bytes behind its %zu elements",
                           ONNXD_HTTP_NAME_ARGS(target->name), blob.size, target->count);
    return NULL;
}

static onnxd_status *check_bools(const onnxd_http_tensor_target *target)
{
    const uint8_t *elements = target->data;
    for (size_t i = 0; i < target->count; i++) {
        if (elements[i] > 1)
            return onnxd_error(ONNXD_INVALID_ARGUMENT,
                               "element %zu of input '%.*s' is %u; BOOL allows 0 and 1", i,
                               ONNXD_HTTP_NAME_ARGS(target->name), (unsigned)elements[i]);
    }
    return NULL;
}

onnxd_status *onnxd_http_tensor_from_binary(const onnxd_http_tensor_target *target,
                                            onnxd_http_span blob)
{
    if (target->dtype == ONNXD_STRING)
        return strings_from_binary(target, blob);
    if (!onnxd_http_binary_can_hold(target->dtype, target->count, blob.size))
        return onnxd_error(ONNXD_INVALID_ARGUMENT, "input '%.*s' has %zu bytes of data",
                           ONNXD_HTTP_NAME_ARGS(target->name), blob.size);
    if (blob.size != 0)
        memcpy(target->data, blob.data, blob.size);
    return target->dtype == ONNXD_BOOL ? check_bools(target) : NULL;
}

bool onnxd_http_binary_bytes(const onnxd_tensor_view *view, size_t *out_bytes)
{
    size_t count = onnxd_tensor_view_count(view);
    if (view->dtype != ONNXD_STRING)
        return onnxd_dtype_bytes(view->dtype, count, out_bytes);
    const onnxd_string *elements = onnxd_tensor_view_data(view);
    size_t total = 0;
    for (size_t i = 0; i < count; i++) {
        if (elements[i].size > UINT32_MAX || !onnxd_size_add(total, LENGTH_BYTES, &total) ||
            !onnxd_size_add(total, elements[i].size, &total))
            return false;
    }
    *out_bytes = total;
    return true;
}

void onnxd_http_strings_to_binary(const onnxd_tensor_view *view, onnxd_strbuf *out)
{
    const onnxd_string *elements = onnxd_tensor_view_data(view);
    size_t count = onnxd_tensor_view_count(view);
    for (size_t i = 0; i < count; i++) {
        uint32_t length = (uint32_t)elements[i].size;
        if (length != elements[i].size) {
            out->failed = true;
            return;
        }
        onnxd_strbuf_append(out, &length, LENGTH_BYTES);
        onnxd_strbuf_append(out, elements[i].data, length);
    }
}
