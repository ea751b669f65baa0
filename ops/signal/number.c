#include "ops/signal/number.h"

#include <inttypes.h>

#include "ops/support.h"
#include "ops/types.h"

onnxd_status *onnxd_signal_int(const onnxd_node *node, uint32_t index,
                               const onnxd_tensor_view *view, int64_t minimum, int64_t maximum,
                               int64_t *out_value)
{
    size_t count;
    int64_t value;
    ONNXD_TRY(onnxd_op_read_ints(node, index, view, 1, &value, &count));
    if (count != 1)
        return onnxd_op_error(node, "input %" PRIu32 " is empty, needed is one number", index);
    if (value < minimum || value > maximum)
        return onnxd_op_error(
            node, "input %" PRIu32 " is %" PRId64 ", allowed are %" PRId64 " to %" PRId64, index,
            value, minimum, maximum);
    *out_value = value;
    return NULL;
}

onnxd_status *onnxd_signal_infer_int(const onnxd_infer *infer, uint32_t index, int64_t minimum,
                                     int64_t maximum, int64_t *out_value, bool *out_is_known)
{
    onnxd_tensor_view view;
    *out_is_known = false;
    if (!onnxd_op_has_input(infer->node, index))
        return NULL;
    int64_t length = ONNXD_DIM_UNKNOWN;
    ONNXD_TRY(onnxd_op_list_length(infer, index, &length));
    if (length >= 0 && length != 1)
        return onnxd_op_error(infer->node,
                              "input %" PRIu32 " has %" PRId64 " elements, needed is one", index,
                              length);
    if (!onnxd_infer_known(infer, index, &view))
        return NULL;
    ONNXD_TRY(onnxd_signal_int(infer->node, index, &view, minimum, maximum, out_value));
    *out_is_known = true;
    return NULL;
}

onnxd_status *onnxd_signal_parse_type(const onnxd_node *node, onnxd_dtype *out_dtype)
{
    int64_t number = ONNXD_FLOAT;
    ONNXD_TRY(onnxd_attribute_int(node, "output_datatype", INT64_MIN, INT64_MAX, &number));
    onnxd_dtype dtype = onnxd_dtype_from_onnx(number);
    if ((ONNXD_SET_NUMBERS & ((onnxd_dtype_set)1u << dtype)) == 0)
        return onnxd_op_error(node,
                              "attribute 'output_datatype' is %" PRId64
                              ", which is not the number of an integer or floating-point type",
                              number);
    *out_dtype = dtype;
    return NULL;
}
