/* Constant: a tensor that the node carries as one of several attributes. A sparse one is dense
 * here: the loader has made it so. */
#include <inttypes.h>
#include <string.h>

#include "ops/ops.h"
#include "ops/support.h"
#include "ops/types.h"

typedef struct constant_params {
    onnxd_tensor_type type;
    const void *data; /* borrowed from the graph; for strings an array of onnxd_string */
} constant_params;

_Static_assert(sizeof(onnxd_text) == sizeof(onnxd_string) &&
                   offsetof(onnxd_text, data) == offsetof(onnxd_string, data) &&
                   offsetof(onnxd_text, size) == offsetof(onnxd_string, size),
               "a list of texts is used as the elements of a string tensor");

static void set_scalar(constant_params *p, onnxd_dtype dtype, const void *data)
{
    p->type.dtype = dtype;
    p->type.shape = onnxd_shape_of_rank(0);
    p->data = data;
}

static void set_list(constant_params *p, onnxd_dtype dtype, const void *data, size_t count)
{
    int64_t dim = (int64_t)count;
    p->type.dtype = dtype;
    p->type.shape = onnxd_shape_from(1, &dim);
    p->data = data;
}

/* The attributes, with the kind each must have. */
static const struct {
    const char *name;
    onnxd_attribute_kind kind;
} forms[] = {
    {"value", ONNXD_ATTRIBUTE_TENSOR},        {"sparse_value", ONNXD_ATTRIBUTE_SPARSE_TENSOR},
    {"value_float", ONNXD_ATTRIBUTE_FLOAT},   {"value_floats", ONNXD_ATTRIBUTE_FLOATS},
    {"value_int", ONNXD_ATTRIBUTE_INT},       {"value_ints", ONNXD_ATTRIBUTE_INTS},
    {"value_string", ONNXD_ATTRIBUTE_STRING}, {"value_strings", ONNXD_ATTRIBUTE_STRINGS},
};

static void take(constant_params *p, const onnxd_attribute *attribute)
{
    switch (attribute->kind) {
    case ONNXD_ATTRIBUTE_FLOAT:
        set_scalar(p, ONNXD_FLOAT, &attribute->value.f);
        break;
    case ONNXD_ATTRIBUTE_FLOATS:
        set_list(p, ONNXD_FLOAT, attribute->value.floats, attribute->count);
        break;
    case ONNXD_ATTRIBUTE_INT:
        set_scalar(p, ONNXD_INT64, &attribute->value.i);
        break;
    case ONNXD_ATTRIBUTE_INTS:
        set_list(p, ONNXD_INT64, attribute->value.ints, attribute->count);
        break;
    case ONNXD_ATTRIBUTE_STRING:
        set_scalar(p, ONNXD_STRING, &attribute->value.s);
        break;
    case ONNXD_ATTRIBUTE_STRINGS:
        set_list(p, ONNXD_STRING, attribute->value.strings, attribute->count);
        break;
    default: /* a tensor, sparse or not */
        p->type.dtype = attribute->value.tensor->dtype;
        p->type.shape = attribute->value.tensor->shape;
        p->data = attribute->value.tensor->data;
        break;
    }
}

static onnxd_status *parse(const onnxd_node *node, int64_t opset, onnxd_arena *arena, void *params)
{
    (void)arena;
    /* Opset 11 brought the second form, opset 12 the others. */
    size_t form_count = opset >= 12 ? ONNXD_COUNT(forms) : opset == 11 ? 2 : 1;
    const char *names[ONNXD_COUNT(forms) + 1] = {NULL};
    const onnxd_attribute *found = NULL;
    for (size_t i = 0; i < form_count; i++)
        names[i] = forms[i].name;
    ONNXD_TRY(onnxd_attributes_allow(node, names));
    for (size_t i = 0; i < form_count; i++) {
        const onnxd_attribute *attribute = onnxd_node_attribute(node, forms[i].name);
        if (attribute == NULL)
            continue;
        ONNXD_TRY(onnxd_attribute_check_kind(node, forms[i].name, forms[i].kind));
        if (found != NULL)
            return onnxd_op_error(node, "attributes '%s' and '%s' exclude each other", found->name,
                                  attribute->name);
        found = attribute;
    }
    if (found == NULL)
        return onnxd_op_error(node, "attribute 'value' is required");
    take(params, found);
    return NULL;
}

static onnxd_status *infer(onnxd_infer *infer)
{
    const constant_params *p = infer->params;
    onnxd_dtype_set allowed = infer->node->def->outputs[0].types;
    if ((allowed & ((onnxd_dtype_set)1u << p->type.dtype)) == 0) {
        char text[ONNXD_DTYPE_SET_TEXT];
        return onnxd_op_error(infer->node,
                              "the value has type %s, allowed in opset %" PRId64 " are %s",
                              onnxd_dtype_name(p->type.dtype), infer->opset,
                              onnxd_dtype_set_format(allowed, text, sizeof(text)));
    }
    infer->outputs[0] = p->type;
    return NULL;
}

static onnxd_status *compute(const onnxd_compute *compute)
{
    const constant_params *p = compute->params;
    onnxd_tensor_view *output = &compute->outputs[0];
    size_t bytes = onnxd_tensor_view_bytes(output);
    if (bytes != 0)
        memcpy(onnxd_tensor_view_data(output), p->data, bytes);
    return NULL;
}

#define ROW(first, last, set)                                                                      \
    {                                                                                              \
        .op_type = "Constant", .domain = "", .since = first, .until = last, .min_outputs = 1,      \
        .max_outputs = 1, .outputs = {{.types = set}}, .params_bytes = sizeof(constant_params),    \
        .parse = parse, .infer = infer, .compute = compute                                         \
    }

const onnxd_op_def onnxd_op_constant[] = {
    ROW(1, 8, ONNXD_SET_FLOATS_1), ROW(9, 12, ONNXD_SET_ANY_1), ROW(13, 18, ONNXD_SET_ANY_13),
    ROW(19, 20, ONNXD_SET_ANY_19), ONNXD_ROWS_ANY_21(ROW),      {.op_type = NULL},
};
