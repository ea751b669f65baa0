#include "tests/graph/toy_ops.h"

#include <string.h>

#include "graph/attributes.h"
#include "graph/subgraph.h"

#define ANY_NUMBER                                                                                 \
    {                                                                                              \
        .types = ONNXD_SET_PROTOCOL, .type_variable = 1                                            \
    }
#define INT64_ONLY                                                                                 \
    {                                                                                              \
        .types = ONNXD_SET(INT64)                                                                  \
    }

static onnxd_status *infer_same(onnxd_infer *infer)
{
    infer->outputs[0] = infer->inputs[0];
    return NULL;
}

static onnxd_status *copy_input(const onnxd_compute *compute)
{
    memcpy(onnxd_tensor_view_data(&compute->outputs[0]),
           onnxd_tensor_view_data(&compute->inputs[0]),
           onnxd_tensor_view_bytes(&compute->inputs[0]));
    return NULL;
}

static onnxd_status *infer_dropout(onnxd_infer *infer)
{
    infer->outputs[0] = infer->inputs[0];
    if (infer->output_count > 1)
        infer->outputs[1] =
            (onnxd_tensor_type){.dtype = ONNXD_BOOL, .shape = infer->inputs[0].shape};
    return NULL;
}

static onnxd_status *compute_dropout(const onnxd_compute *compute)
{
    if (compute->output_count > 1 && onnxd_tensor_view_is_present(&compute->outputs[1]))
        memset(onnxd_tensor_view_data(&compute->outputs[1]), 1,
               onnxd_tensor_view_bytes(&compute->outputs[1]));
    return copy_input(compute);
}

static onnxd_status *infer_add(onnxd_infer *infer)
{
    const onnxd_shape *a = &infer->inputs[0].shape;
    const onnxd_shape *b = &infer->inputs[1].shape;
    infer->outputs[0] = infer->inputs[0];
    if (onnxd_shape_is_static(a) && onnxd_shape_is_static(b) && !onnxd_shape_equal(a, b))
        return onnxd_error(ONNXD_INVALID_ARGUMENT, "inputs differ in shape");
    if (a->rank == ONNXD_RANK_UNKNOWN)
        infer->outputs[0].shape = *b;
    return NULL;
}

static onnxd_status *compute_add(const onnxd_compute *compute)
{
    const void *a = onnxd_tensor_view_data(&compute->inputs[0]);
    const void *b = onnxd_tensor_view_data(&compute->inputs[1]);
    void *out = onnxd_tensor_view_data(&compute->outputs[0]);
    size_t count = onnxd_tensor_view_count(&compute->outputs[0]);
    for (size_t i = 0; i < count; i++) {
        if (compute->outputs[0].dtype == ONNXD_FLOAT)
            ((float *)out)[i] = ((const float *)a)[i] + ((const float *)b)[i];
        else
            ((int64_t *)out)[i] = ((const int64_t *)a)[i] + ((const int64_t *)b)[i];
    }
    return NULL;
}

static onnxd_status *infer_shape(onnxd_infer *infer)
{
    infer->outputs[0] = (onnxd_tensor_type){.dtype = ONNXD_INT64, .shape = onnxd_shape_of_rank(1)};
    if (infer->inputs[0].shape.rank != ONNXD_RANK_UNKNOWN)
        infer->outputs[0].shape.dims[0] = infer->inputs[0].shape.rank;
    return NULL;
}

static onnxd_status *compute_shape(const onnxd_compute *compute)
{
    const onnxd_shape *shape = &compute->inputs[0].shape;
    memcpy(onnxd_tensor_view_data(&compute->outputs[0]), shape->dims,
           (size_t)shape->rank * sizeof(int64_t));
    return NULL;
}

typedef struct constant_params {
    const onnxd_tensor *value;
} constant_params;

static onnxd_status *parse_constant(const onnxd_node *node, int64_t opset, onnxd_arena *arena,
                                    void *params)
{
    (void)opset;
    (void)arena;
    static const char *const names[] = {"value", NULL};
    constant_params *parsed = params;
    ONNXD_TRY(onnxd_attributes_allow(node, names));
    ONNXD_TRY(onnxd_attribute_require(node, "value"));
    return onnxd_attribute_tensor(node, "value", &parsed->value);
}

static onnxd_status *infer_constant(onnxd_infer *infer)
{
    const constant_params *params = infer->params;
    infer->outputs[0].dtype = params->value->dtype;
    infer->outputs[0].shape = params->value->shape;
    return NULL;
}

static onnxd_status *compute_constant(const onnxd_compute *compute)
{
    const constant_params *params = compute->params;
    memcpy(onnxd_tensor_view_data(&compute->outputs[0]), params->value->data, params->value->bytes);
    return NULL;
}

static onnxd_status *infer_concat(onnxd_infer *infer)
{
    int64_t total = 0;
    for (uint32_t i = 0; i < infer->input_count; i++) {
        if (!onnxd_shape_is_static(&infer->inputs[i].shape))
            total = -1;
        if (total >= 0)
            total += infer->inputs[i].shape.dims[0];
    }
    infer->outputs[0] = (onnxd_tensor_type){.dtype = ONNXD_INT64, .shape = onnxd_shape_of_rank(1)};
    infer->outputs[0].shape.dims[0] = total;
    return NULL;
}

static onnxd_status *compute_concat(const onnxd_compute *compute)
{
    char *out = onnxd_tensor_view_data(&compute->outputs[0]);
    for (uint32_t i = 0; i < compute->input_count; i++) {
        size_t bytes = onnxd_tensor_view_bytes(&compute->inputs[i]);
        memcpy(out, onnxd_tensor_view_data(&compute->inputs[i]), bytes);
        out += bytes;
    }
    return NULL;
}

static onnxd_status *shape_from_value(const onnxd_tensor *value, onnxd_shape *out_shape)
{
    if (value == NULL || value->count > ONNXD_MAX_RANK)
        return NULL;
    const int64_t *dims = value->data;
    for (size_t i = 0; i < value->count; i++)
        if (dims[i] < 0)
            return onnxd_error(ONNXD_INVALID_ARGUMENT, "shape value is negative");
    *out_shape = onnxd_shape_from((int32_t)value->count, dims);
    return NULL;
}

static onnxd_status *infer_reshape(onnxd_infer *infer)
{
    infer->outputs[0].dtype = infer->inputs[0].dtype;
    return shape_from_value(infer->constants[1], &infer->outputs[0].shape);
}

static onnxd_status *infer_constant_of_shape(onnxd_infer *infer)
{
    infer->outputs[0].dtype = ONNXD_FLOAT;
    return shape_from_value(infer->constants[0], &infer->outputs[0].shape);
}

static onnxd_status *compute_nothing(const onnxd_compute *compute)
{
    (void)compute;
    return NULL;
}

static onnxd_status *infer_non_zero(onnxd_infer *infer)
{
    infer->outputs[0] = (onnxd_tensor_type){.dtype = ONNXD_INT64, .shape = onnxd_shape_of_rank(1)};
    return NULL;
}

static onnxd_status *infer_random(onnxd_infer *infer)
{
    int64_t dims[1] = {2};
    infer->outputs[0].dtype = ONNXD_FLOAT;
    infer->outputs[0].shape = onnxd_shape_from(1, dims);
    return NULL;
}

static onnxd_status *infer_matmul(onnxd_infer *infer)
{
    int64_t dims[2] = {infer->inputs[0].shape.dims[0], infer->inputs[1].shape.dims[1]};
    infer->outputs[0].dtype = infer->inputs[0].dtype;
    infer->outputs[0].shape = onnxd_shape_from(2, dims);
    return NULL;
}

/* Each string doubled, its bytes in the run's arena. */
static onnxd_status *compute_decode(const onnxd_compute *compute)
{
    const onnxd_string *in = onnxd_tensor_view_data(&compute->inputs[0]);
    onnxd_string *out = onnxd_tensor_view_data(&compute->outputs[0]);
    for (size_t i = 0; i < onnxd_tensor_view_count(&compute->inputs[0]); i++) {
        char *bytes = onnxd_arena_alloc(&compute->strings->arena, 2 * in[i].size + 1);
        if (bytes == NULL)
            return onnxd_error(ONNXD_RESOURCE_EXHAUSTED, "no room for strings");
        if (in[i].size > 0) {
            memcpy(bytes, in[i].data, in[i].size);
            memcpy(bytes + in[i].size, in[i].data, in[i].size);
        }
        out[i] = (onnxd_string){.data = bytes, .size = 2 * in[i].size};
    }
    return NULL;
}

typedef struct if_params {
    const onnxd_graph *then_branch;
} if_params;

static onnxd_status *parse_if(const onnxd_node *node, int64_t opset, onnxd_arena *arena,
                              void *params)
{
    (void)opset, (void)arena;
    if_params *parsed = params;
    return onnxd_attribute_graph(node, "then_branch", &parsed->then_branch);
}

/* The types of the first branch. */
static onnxd_status *infer_if(onnxd_infer *infer)
{
    const if_params *params = infer->params;
    if (params->then_branch == NULL || params->then_branch->output_count != infer->output_count)
        return NULL;
    return onnxd_graph_infer_outputs(params->then_branch, infer->inputs, NULL, infer->outputs);
}

static onnxd_status *run_nothing(onnxd_dynamic *dynamic)
{
    (void)dynamic;
    return onnxd_error(ONNXD_INTERNAL, "ran");
}

/* The elements above zero. */
static onnxd_status *run_positive(onnxd_dynamic *dynamic)
{
    const onnxd_tensor *in = dynamic->inputs[0]->tensor;
    const int64_t *values = in->data;
    int64_t kept = 0;
    for (size_t i = 0; i < in->count; i++)
        kept += values[i] > 0 ? 1 : 0;
    const onnxd_shape shape = onnxd_shape_from(1, &kept);
    onnxd_tensor *out = NULL;
    ONNXD_TRY(dynamic->env->check(dynamic->env));
    ONNXD_TRY(dynamic->env->allocate(dynamic->env, ONNXD_INT64, &shape, &out));
    int64_t *next = out->data;
    for (size_t i = 0; i < in->count; i++)
        if (values[i] > 0)
            *next++ = values[i];
    onnxd_status *status = onnxd_datum_of_tensor(out, &dynamic->outputs[0]);
    onnxd_tensor_release(out);
    return status;
}

static onnxd_status *infer_pack(onnxd_infer *infer)
{
    infer->outputs[0] = infer->inputs[0];
    infer->outputs[0].kind = ONNXD_VALUE_SEQUENCE;
    return NULL;
}

static onnxd_status *run_pack(onnxd_dynamic *dynamic)
{
    return onnxd_datum_of_items(ONNXD_VALUE_SEQUENCE, dynamic->inputs[0]->dtype, dynamic->inputs, 1,
                                &dynamic->outputs[0]);
}

static onnxd_status *infer_unpack(onnxd_infer *infer)
{
    infer->outputs[0] = infer->inputs[0];
    infer->outputs[0].kind = ONNXD_VALUE_TENSOR;
    return NULL;
}

#define OP(name, first, last, in_min, in_max, out_min, out_max)                                    \
    .domain = "", .op_type = name, .since = first, .until = last, .min_inputs = in_min,            \
    .max_inputs = in_max, .min_outputs = out_min, .max_outputs = out_max

static const onnxd_op_def defs[] = {
    {OP("Identity", 1, 28, 1, 1, 1, 1), .inputs = {ANY_NUMBER}, .outputs = {ANY_NUMBER},
     .infer = infer_same, .compute = copy_input, .is_view = true},
    {OP("Dropout", 7, 28, 1, 3, 1, 2),
     .inputs = {ANY_NUMBER,
                {.types = ONNXD_SET(FLOAT), .is_optional = true},
                {.types = ONNXD_SET(BOOL), .is_optional = true}},
     .outputs = {ANY_NUMBER, {.types = ONNXD_SET(BOOL), .is_optional = true}},
     .infer = infer_dropout, .compute = compute_dropout},
    {OP("Add", 1, 28, 2, 2, 1, 1), .inputs = {ANY_NUMBER, ANY_NUMBER}, .outputs = {ANY_NUMBER},
     .infer = infer_add, .compute = compute_add},
    {OP("Shape", 1, 28, 1, 1, 1, 1), .inputs = {ANY_NUMBER}, .outputs = {INT64_ONLY},
     .infer = infer_shape, .compute = compute_shape},
    {OP("Constant", 1, 28, 0, 0, 1, 1), .outputs = {ANY_NUMBER},
     .params_bytes = sizeof(constant_params), .parse = parse_constant, .infer = infer_constant,
     .compute = compute_constant},
    {OP("Concat", 1, 28, 1, ONNXD_OP_VARIADIC, 1, 1), .inputs = {INT64_ONLY},
     .outputs = {INT64_ONLY}, .infer = infer_concat, .compute = compute_concat},
    {OP("Reshape", 1, 28, 2, 2, 1, 1), .inputs = {ANY_NUMBER, INT64_ONLY}, .outputs = {ANY_NUMBER},
     .infer = infer_reshape, .compute = copy_input, .shape_inputs = 1u << 1, .is_view = true},
    {OP("NonZero", 1, 28, 1, 1, 1, 1), .inputs = {ANY_NUMBER}, .outputs = {INT64_ONLY},
     .infer = infer_non_zero, .compute = compute_nothing},
    {OP("RandomNormal", 1, 28, 0, 0, 1, 1), .outputs = {ANY_NUMBER}, .infer = infer_random,
     .compute = compute_nothing, .is_nondeterministic = true},
    {OP("ConstantOfShape", 9, 28, 1, 1, 1, 1), .inputs = {INT64_ONLY}, .outputs = {ANY_NUMBER},
     .infer = infer_constant_of_shape, .compute = compute_nothing, .shape_inputs = 1},
    {OP("MatMul", 1, 28, 2, 2, 1, 1), .inputs = {ANY_NUMBER, ANY_NUMBER}, .outputs = {ANY_NUMBER},
     .infer = infer_matmul},
    {OP("Old", 1, 9, 1, 1, 1, 1), .inputs = {ANY_NUMBER}, .outputs = {ANY_NUMBER},
     .infer = infer_same, .compute = copy_input},
    {OP("Decode", 1, 28, 1, 1, 1, 1), .inputs = {{.types = ONNXD_SET(STRING)}},
     .outputs = {{.types = ONNXD_SET(STRING)}}, .infer = infer_same, .compute = compute_decode},
    {OP("If", 1, 28, 1, 1, 1, ONNXD_OP_VARIADIC), .inputs = {{.types = ONNXD_SET_PROTOCOL}},
     .outputs = {{.types = ONNXD_SET_PROTOCOL, .is_optional = true}},
     .params_bytes = sizeof(if_params), .parse = parse_if, .infer = infer_if, .run = run_nothing},
    {OP("Positive", 1, 28, 1, 1, 1, 1), .inputs = {INT64_ONLY}, .outputs = {INT64_ONLY},
     .infer = infer_non_zero, .run = run_positive},
    {OP("Pack", 1, 28, 1, 1, 1, 1), .inputs = {ANY_NUMBER},
     .outputs = {{.types = ONNXD_SET_PROTOCOL, .kinds = ONNXD_KIND(SEQUENCE)}}, .infer = infer_pack,
     .run = run_pack},
    {OP("Unpack", 1, 28, 1, 1, 1, 1),
     .inputs = {{.types = ONNXD_SET_PROTOCOL, .kinds = ONNXD_KIND(SEQUENCE)}},
     .outputs = {ANY_NUMBER}, .infer = infer_unpack, .run = run_nothing},
    {.op_type = NULL},
};

static const onnxd_op_def *const tables[] = {defs};
const onnxd_op_registry toy_ops = {.tables = tables, .table_count = 1};
