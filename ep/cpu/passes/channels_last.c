/*
 * Images channels-last: [N, D1 ... Dk, C] in place of ONNX's [N, C, D1 ... Dk], which is how the
 * kernels for convolutions want them.
 *
 * A convolution becomes one of the domain onnxd, whose input and result are the channels-last twins
 * of the former ones. What stands between convolutions follows where it can: pools, elementwise
 * operators, Concat. A Transpose is added only where a twin meets a node that stayed as it was.
 *
 *   Conv ─► Relu ─► MaxPool ─► Flatten   becomes   T ─► Conv ─► Relu ─► MaxPool ─► T ─► Flatten
 */
#include "ep/cpu/passes/channels_last.h"

#include <string.h>

#include "base/alloc.h"
#include "ep/cpu/passes/passes.h"
#include "ops/layout/channels_last.h"

static const onnxd_tensor_type *type_of(const onnxd_layout *l, onnxd_value_id value)
{
    return &l->graph->values[value].type;
}

int32_t onnxd_layout_rank_of(const onnxd_layout *l, onnxd_value_id value)
{
    const onnxd_tensor_type *type = type_of(l, value);
    return type->kind == ONNXD_VALUE_TENSOR ? type->shape.rank : ONNXD_RANK_UNKNOWN;
}

bool onnxd_layout_is_image(const onnxd_layout *l, onnxd_value_id value)
{
    return value != ONNXD_NONE && type_of(l, value)->dtype == ONNXD_FLOAT &&
           onnxd_layout_rank_of(l, value) >= 3 && onnxd_layout_rank_of(l, value) <= 5;
}

bool onnxd_layout_has_twin(const onnxd_layout *l, onnxd_value_id value)
{
    return value != ONNXD_NONE && l->twins[value] != ONNXD_NONE;
}

/* ---- twins ----------------------------------------------------------------------------------- */

void onnxd_layout_perm(int32_t rank, bool to_last, int64_t *perm)
{
    perm[0] = 0;
    for (int32_t i = 1; i < rank; i++)
        perm[i] = to_last ? (i + 1 < rank ? i + 1 : 1) : (i == 1 ? rank - 1 : i - 1);
}

/* An image of one pixel has its elements in one order either way. */
static bool is_pixel(const onnxd_shape *first)
{
    bool is_one = first->rank >= 3 && onnxd_dim_is_static(first->dims[1]);
    for (int32_t i = 2; i < first->rank; i++)
        is_one = is_one && first->dims[i] == 1;
    return is_one;
}

static onnxd_status *add_reshape(onnxd_layout *l, onnxd_value_id from, onnxd_value_id to,
                                 const onnxd_shape *shape)
{
    onnxd_value_id inputs[] = {from, ONNXD_NONE};
    int64_t dims[ONNXD_MAX_RANK];
    memcpy(dims, shape->dims, sizeof(dims));
    dims[0] = 0; /* as it is */
    ONNXD_TRY(
        onnxd_graph_derive_ints(l->graph, from, "shape", dims, (size_t)shape->rank, &inputs[1]));
    const onnxd_node node = {.name = "",
                             .domain = "",
                             .op_type = "Reshape",
                             .opset = onnxd_graph_opset(l->graph, ""),
                             .inputs = inputs,
                             .outputs = &to,
                             .input_count = 2,
                             .output_count = 1};
    return onnxd_graph_add_resolved(l->graph, l->registry, &node);
}

/* Before opset 5 the shape of a Reshape was an attribute. */
#define SHAPE_INPUT_SINCE 5

/* `first` is the shape of the one that is not channels-last. */
static onnxd_status *add_transpose(onnxd_layout *l, onnxd_value_id from, onnxd_value_id to,
                                   const onnxd_shape *first, bool to_last)
{
    int64_t perm[ONNXD_MAX_RANK];
    onnxd_attribute attribute;
    if (is_pixel(first) && first->dims[1] > 0 &&
        onnxd_graph_opset(l->graph, "") >= SHAPE_INPUT_SINCE) {
        const onnxd_shape last = onnxd_channels_last(first);
        return add_reshape(l, from, to, to_last ? &last : first);
    }
    onnxd_layout_perm(first->rank, to_last, perm);
    ONNXD_TRY(onnxd_graph_ints(l->graph, "perm", perm, (size_t)first->rank, &attribute));
    const onnxd_node node = {.name = "",
                             .domain = "",
                             .op_type = "Transpose",
                             .opset = onnxd_graph_opset(l->graph, ""),
                             .inputs = &from,
                             .outputs = &to,
                             .attributes = &attribute,
                             .input_count = 1,
                             .output_count = 1,
                             .attribute_count = 1};
    return onnxd_graph_add_resolved(l->graph, l->registry, &node);
}

/* The twin of a value; a Transpose makes it where nothing does yet. */
onnxd_status *onnxd_layout_require_twin(onnxd_layout *l, onnxd_value_id value,
                                        onnxd_value_id *out_twin)
{
    if (l->twins[value] == ONNXD_NONE) {
        onnxd_value_id twin = ONNXD_NONE;
        ONNXD_TRY(onnxd_graph_derive_value(l->graph, value, "channels_last", &twin));
        const onnxd_shape shape = type_of(l, value)->shape;
        ONNXD_TRY(add_transpose(l, value, twin, &shape, true));
        l->twins[value] = twin;
    }
    *out_twin = l->twins[value];
    return NULL;
}

/* The node makes the twin of what it made before, whose reader may never come. */
onnxd_status *onnxd_layout_turn_output(onnxd_layout *l, onnxd_node *node)
{
    for (uint32_t i = 0; i < node->output_count; i++) {
        const onnxd_value_id value = node->outputs[i];
        onnxd_value_id twin = ONNXD_NONE;
        if (value == ONNXD_NONE)
            continue;
        ONNXD_TRY(onnxd_graph_derive_value(l->graph, value, "channels_last", &twin));
        l->graph->values[twin].producer = l->graph->values[value].producer;
        l->graph->values[value].producer = ONNXD_NONE;
        node->outputs[i] = twin;
        l->twins[value] = twin;
    }
    l->changes++;
    return NULL;
}

static onnxd_status *restore_value(onnxd_layout *l, onnxd_value_id value)
{
    const onnxd_shape shape = type_of(l, value)->shape;
    return add_transpose(l, l->twins[value], value, &shape, false);
}

/* The former values that are read still come from their twins. */
static onnxd_status *restore_values(onnxd_layout *l)
{
    uint32_t *uses = NULL;
    onnxd_status *status = NULL;
    ONNXD_TRY(onnxd_graph_count_uses(l->graph, &uses));
    for (onnxd_value_id v = 0; v < l->count && status == NULL; v++) {
        const onnxd_value *value = &l->graph->values[v];
        if (l->twins[v] != ONNXD_NONE && uses[v] > 0 && value->producer == ONNXD_NONE &&
            !value->is_input && value->constant == NULL)
            status = restore_value(l, v);
    }
    onnxd_free(uses);
    return status;
}

/* ---- constants that are broadcast ------------------------------------------------------------ */

static bool is_scalar(const onnxd_tensor *constant)
{
    return constant->count == 1;
}

/* A constant of a shape such as [C, 1, 1] as [1, 1, C], for images of `rank`. */
static onnxd_status *turn_constant(onnxd_layout *l, onnxd_value_id value, int32_t rank,
                                   onnxd_value_id *out_value)
{
    const onnxd_tensor *constant = l->graph->values[value].constant;
    onnxd_shape first = {.rank = rank}, last;
    const int32_t lacking = rank - constant->shape.rank;
    for (int32_t i = 0; i < rank; i++)
        first.dims[i] = i < lacking ? 1 : constant->shape.dims[i - lacking];
    last = onnxd_channels_last(&first);
    float *elements = onnxd_alloc_zero(constant->count, sizeof(float));
    if (elements == NULL)
        return onnxd_error_out_of_memory("a constant", constant->bytes, UINT64_MAX);
    const size_t channels = (size_t)first.dims[1], batch = (size_t)first.dims[0];
    if (batch == 0 || channels == 0) {
        onnxd_free(elements);
        return onnxd_error(ONNXD_INVALID_ARGUMENT, "a constant has no elements");
    }
    const size_t inner = constant->count / (batch * channels);
    const float *from = constant->data;
    for (size_t n = 0; n < batch; n++)
        for (size_t c = 0; c < channels; c++)
            for (size_t i = 0; i < inner; i++)
                elements[(n * inner + i) * channels + c] = from[(n * channels + c) * inner + i];
    onnxd_status *status =
        onnxd_graph_derive_constant(l->graph, value, "channels_last", &last, elements, out_value);
    onnxd_free(elements);
    return status;
}

/* Whether an input of an elementwise node over images of `rank` can be had channels-last. */
bool onnxd_layout_can_turn(const onnxd_layout *l, onnxd_value_id value, int32_t rank)
{
    if (value == ONNXD_NONE)
        return false;
    const onnxd_tensor *constant = l->graph->values[value].constant;
    if (constant != NULL)
        return constant->dtype == ONNXD_FLOAT && constant->count > 0 &&
               constant->shape.rank <= rank;
    return onnxd_layout_is_image(l, value) && onnxd_layout_rank_of(l, value) == rank;
}

onnxd_status *onnxd_layout_turn_input(onnxd_layout *l, onnxd_node_id id, uint32_t index,
                                      int32_t rank)
{
    const onnxd_value_id value = l->graph->nodes[id].inputs[index];
    const onnxd_tensor *constant = l->graph->values[value].constant;
    onnxd_value_id turned = value;
    if (constant == NULL)
        ONNXD_TRY(onnxd_layout_require_twin(l, value, &turned));
    else if (!is_scalar(constant))
        ONNXD_TRY(turn_constant(l, value, rank, &turned));
    l->graph->nodes[id].inputs[index] = turned;
    return NULL;
}

static onnxd_status *run(onnxd_graph *graph, const onnxd_pass_env *env, uint32_t *out_changes)
{
    onnxd_layout l = {.graph = graph, .registry = env->registry, .count = graph->value_count};
    const uint32_t node_count = graph->node_count;
    onnxd_status *status = NULL;
    l.twins = onnxd_alloc_zero((size_t)l.count + 1, sizeof(l.twins[0]));
    if (l.twins == NULL)
        return onnxd_error_out_of_memory("twins of values", l.count * sizeof(l.twins[0]),
                                         UINT64_MAX);
    for (uint32_t v = 0; v < l.count; v++)
        l.twins[v] = ONNXD_NONE;
    for (uint32_t n = 0; n < node_count && status == NULL; n++)
        status = onnxd_layout_visit(&l, n);
    if (status == NULL && l.changes > 0)
        status = restore_values(&l);
    if (status == NULL)
        status = onnxd_graph_compact(graph);
    onnxd_free(l.twins);
    if (status == NULL)
        *out_changes = l.changes;
    return status;
}

const onnxd_pass onnxd_cpu_pass_channels_last = {
    .name = "channels_last",
    .summary = "keep images channels-last between convolutions",
    .run = run,
    .is_private = true,
};
