/* OneHotEncoder: each element becomes a row with a one at its category. */
#include <string.h>

#include "ops/ml/keys.h"
#include "ops/ml/ml.h"
#include "ops/ops.h"

typedef struct encoder_params {
    onnxd_ml_keys keys;
    int64_t count; /* of categories */
    int64_t zeros; /* 1: an unknown category is a row of zeros; 0: an error */
} encoder_params;

static onnxd_status *parse(const onnxd_node *node, int64_t opset, onnxd_arena *arena, void *params)
{
    (void)opset;
    static const char *const names[] = {"cats_int64s", "cats_strings", "zeros", NULL};
    encoder_params *p = params;
    onnxd_ml_labels labels = {.count = 0};
    const void *list;
    ONNXD_TRY(onnxd_attributes_allow(node, names));
    ONNXD_TRY(onnxd_ml_parse_labels(node, "cats_int64s", "cats_strings", true, &labels));
    p->zeros = 1;
    ONNXD_TRY(onnxd_attribute_int(node, "zeros", 0, 1, &p->zeros));
    p->count = (int64_t)labels.count;
    list = labels.integers;
    if (labels.texts != NULL)
        list = onnxd_ml_strings_of(labels.texts, labels.count, arena);
    if (list == NULL && labels.count > 0)
        return onnxd_error_out_of_memory("categories", labels.count * sizeof(onnxd_string),
                                         UINT64_MAX);
    return onnxd_ml_keys_make(onnxd_ml_label_dtype(&labels), list, labels.count, arena, &p->keys);
}

static onnxd_status *infer(onnxd_infer *infer)
{
    const encoder_params *p = infer->params;
    const onnxd_tensor_type *input = &infer->inputs[0];
    onnxd_tensor_type *output = &infer->outputs[0];
    output->dtype = ONNXD_FLOAT;
    if (input->dtype != ONNXD_UNDEFINED && (input->dtype == ONNXD_STRING) != p->keys.is_text)
        return onnxd_op_error(infer->node, "the input has type %s, the categories are %s",
                              onnxd_dtype_name(input->dtype),
                              p->keys.is_text ? "strings" : "integers");
    if (input->shape.rank < 0)
        return NULL;
    if (input->shape.rank == ONNXD_MAX_RANK)
        return onnxd_op_error(infer->node, "the input has rank %d, at most %d is allowed",
                              ONNXD_MAX_RANK, ONNXD_MAX_RANK - 1);
    output->shape = input->shape;
    output->shape.dims[output->shape.rank++] = p->count;
    return NULL;
}

/* The place of the element's category. Floats are cut to integers; what no integer holds is no
 * category. */
static uint32_t find(const encoder_params *p, const onnxd_tensor_view *input, size_t index)
{
    const void *data = onnxd_tensor_view_data(input);
    if (input->dtype != ONNXD_FLOAT && input->dtype != ONNXD_DOUBLE)
        return onnxd_ml_keys_find(&p->keys, input->dtype, data, index);
    double value;
    onnxd_ml_load_doubles(input, index, 1, &value);
    if (!(value > -9.2e18 && value < 9.2e18))
        return ONNXD_ML_NOT_FOUND;
    const int64_t integer = (int64_t)value;
    return onnxd_ml_keys_find(&p->keys, ONNXD_INT64, &integer, 0);
}

static onnxd_status *compute(const onnxd_compute *compute)
{
    const encoder_params *p = compute->params;
    const size_t count = onnxd_tensor_view_count(&compute->inputs[0]), width = (size_t)p->count;
    float *out = onnxd_tensor_view_data(&compute->outputs[0]);
    if (count * width > 0)
        memset(out, 0, count * width * sizeof(float));
    for (size_t i = 0; i < count; i++) {
        const uint32_t place = find(p, &compute->inputs[0], i);
        if (place != ONNXD_ML_NOT_FOUND)
            out[i * width + place] = 1.0f;
        else if (p->zeros == 0)
            return onnxd_op_error(
                compute->node, "element %zu of the input is none of the %zu categories", i, width);
    }
    return NULL;
}

const onnxd_op_def onnxd_op_one_hot_encoder[] = {
    {.op_type = "OneHotEncoder",
     .domain = ONNXD_ML_DOMAIN,
     .since = 1,
     .until = ONNXD_ML_OPSET_MAX,
     .min_inputs = 1,
     .max_inputs = 1,
     .min_outputs = 1,
     .max_outputs = 1,
     .inputs = {{.types = ONNXD_SET_ML_NUMBERS | ONNXD_SET(STRING)}},
     .outputs = {{.types = ONNXD_SET(FLOAT)}},
     .params_bytes = sizeof(encoder_params),
     .parse = parse,
     .infer = infer,
     .compute = compute},
    {.op_type = NULL},
};
