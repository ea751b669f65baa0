/*
 * What follows a channels-last convolution and nobody else reads becomes part of it: an addition of
 * another image of the same shape, then an activation. Each saves a pass over memory.
 *
 *   Conv ─► Add(other) ─► Relu   becomes   Conv(..., other, activation = Relu)
 */
#include <float.h>
#include <string.h>

#include "base/alloc.h"
#include "ep/cpu/passes/passes.h"
#include "graph/attributes.h"
#include "graph/rewrite.h"
#include "ops/contrib/fused_conv.h"
#include "ops/layout/channels_last.h"

enum { X, W, B, Z, CONV_INPUTS };
/* Attributes of a Conv, with room for the two that are added. */
#define MAX_ATTRIBUTES 16

typedef struct fusion {
    onnxd_graph *graph;
    const onnxd_op_registry *registry;
    uint32_t *uses;
    uint32_t changes;
} fusion;

/* The convolution that makes `value` for one reader alone and has no activation yet. */
static onnxd_node *open_convolution(const fusion *f, onnxd_value_id value)
{
    onnxd_node *node = onnxd_graph_only_producer(f->graph, f->uses, value);
    if (node == NULL || !onnxd_node_is(node, ONNXD_INTERNAL_DOMAIN, "Conv"))
        return NULL;
    const onnxd_fused_conv_params *params = node->params;
    return params->activation.kind == ONNXD_FUSED_NONE ? node : NULL;
}

/* `node` goes; `conv` makes what it made. */
static void take_over(fusion *f, onnxd_node *conv, onnxd_node *node)
{
    f->graph->values[conv->outputs[0]].producer = ONNXD_NONE;
    f->graph->values[node->outputs[0]].producer = (onnxd_node_id)(conv - f->graph->nodes);
    f->uses[conv->outputs[0]] = 0;
    conv->outputs[0] = node->outputs[0];
    node->is_removed = true;
    f->changes++;
}

/* ---- activations ----------------------------------------------------------------------------- */

/* An activation as FusedConv's attributes have it. */
typedef struct activation {
    const char *name;
    float params[2];
    size_t param_count;
} activation;

/* A bound of Clip: input `index`, or before opset 11 an attribute. False when it is not known. */
static bool read_bound(const fusion *f, const onnxd_node *node, uint32_t index, const char *name,
                       float *inout_bound)
{
    if (node->opset < 11) {
        onnxd_status *status = onnxd_attribute_float(node, name, inout_bound);
        const bool is_read = status == NULL;
        onnxd_status_free(status);
        return is_read;
    }
    if (index >= node->input_count || node->inputs[index] == ONNXD_NONE)
        return true;
    const onnxd_tensor *constant = onnxd_node_float_constant(f->graph, node, index);
    if (constant == NULL || constant->count != 1)
        return false;
    *inout_bound = *(const float *)constant->data;
    return true;
}

static bool read_floats(const onnxd_node *node, activation *a, const char *const *names)
{
    onnxd_status *status = NULL;
    for (size_t i = 0; i < a->param_count && status == NULL; i++)
        status = onnxd_attribute_float(node, names[i], &a->params[i]);
    const bool is_read = status == NULL;
    onnxd_status_free(status);
    return is_read;
}

static bool activation_of(const fusion *f, const onnxd_node *node, activation *out)
{
    static const char *const names[] = {"alpha", "beta"};
    static const activation known[] = {
        {"Relu", {0}, 0},
        {"Tanh", {0}, 0},
        {"Sigmoid", {0}, 0},
        {"HardSwish", {0}, 0},
        {"LeakyRelu", {0.01f}, 1},
        {"HardSigmoid", {0.2f, 0.5f}, 2},
        {"Clip", {-FLT_MAX, FLT_MAX}, 2},
    };
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        if (!onnxd_node_is(node, "", known[i].name))
            continue;
        *out = known[i];
        if (strcmp(out->name, "Clip") == 0)
            return read_bound(f, node, 1, "min", &out->params[0]) &&
                   read_bound(f, node, 2, "max", &out->params[1]);
        return read_floats(node, out, names);
    }
    return false;
}

static onnxd_status *set_activation(fusion *f, onnxd_node *conv, const activation *a)
{
    onnxd_attribute attributes[MAX_ATTRIBUTES];
    uint32_t count = conv->attribute_count;
    memcpy(attributes, conv->attributes, count * sizeof(attributes[0]));
    attributes[count++] = onnxd_text_attribute("activation", a->name);
    if (a->param_count > 0)
        ONNXD_TRY(onnxd_graph_floats(f->graph, "activation_params", a->params, a->param_count,
                                     &attributes[count++]));
    ONNXD_TRY(onnxd_graph_set_attributes(f->graph, conv, attributes, count));
    return onnxd_op_resolve(f->registry, f->graph, conv);
}

static onnxd_status *fuse_activation(fusion *f, onnxd_node *node)
{
    activation a;
    onnxd_node *conv = open_convolution(f, node->inputs[0]);
    if (conv == NULL || conv->attribute_count + 2 > MAX_ATTRIBUTES || !activation_of(f, node, &a))
        return NULL;
    ONNXD_TRY(set_activation(f, conv, &a));
    take_over(f, conv, node);
    return NULL;
}

/* ---- additions ------------------------------------------------------------------------------- */

static bool has_same_type(const onnxd_graph *graph, onnxd_value_id a, onnxd_value_id b)
{
    const onnxd_tensor_type *left = &graph->values[a].type, *right = &graph->values[b].type;
    if (left->dtype != right->dtype || left->shape.rank != right->shape.rank ||
        left->shape.rank == ONNXD_RANK_UNKNOWN)
        return false;
    for (int32_t i = 0; i < left->shape.rank; i++)
        if (left->shape.dims[i] != right->shape.dims[i] || left->shape.dims[i] == ONNXD_DIM_UNKNOWN)
            return false;
    return true;
}

static onnxd_status *set_addend(fusion *f, onnxd_node *conv, onnxd_value_id addend)
{
    onnxd_value_id inputs[CONV_INPUTS] = {ONNXD_NONE, ONNXD_NONE, ONNXD_NONE, ONNXD_NONE};
    memcpy(inputs, conv->inputs, conv->input_count * sizeof(inputs[0]));
    inputs[Z] = addend;
    ONNXD_TRY(onnxd_graph_set_node_inputs(f->graph, conv, inputs, CONV_INPUTS));
    return onnxd_op_resolve(f->registry, f->graph, conv);
}

static onnxd_status *fuse_addition(fusion *f, onnxd_node *node)
{
    /* The later of two convolutions, so that the other's result is there when it runs. */
    for (uint32_t i = node->input_count; i-- > 0;) {
        const onnxd_value_id addend = node->inputs[1 - i];
        onnxd_node *conv = open_convolution(f, node->inputs[i]);
        if (conv == NULL || (conv->input_count > Z && conv->inputs[Z] != ONNXD_NONE) ||
            f->graph->values[addend].constant != NULL || addend == node->inputs[i] ||
            !has_same_type(f->graph, addend, node->inputs[i]))
            continue;
        ONNXD_TRY(set_addend(f, conv, addend));
        take_over(f, conv, node);
        return NULL;
    }
    return NULL;
}

static onnxd_status *run(onnxd_graph *graph, const onnxd_pass_env *env, uint32_t *out_changes)
{
    fusion f = {.graph = graph, .registry = env->registry};
    onnxd_status *status = NULL;
    ONNXD_TRY(onnxd_graph_count_uses(graph, &f.uses));
    for (uint32_t n = 0; n < graph->node_count && status == NULL; n++) {
        onnxd_node *node = &graph->nodes[n];
        if (node->input_count == 0 || node->output_count != 1)
            continue;
        const bool is_sum = onnxd_node_is(node, "", "Sum") && node->input_count == 2;
        if (is_sum || onnxd_node_is(node, "", "Add"))
            status = fuse_addition(&f, node);
        else
            status = fuse_activation(&f, node);
    }
    onnxd_free(f.uses);
    if (status == NULL)
        status = onnxd_graph_compact(graph);
    if (status == NULL)
        *out_changes = f.changes;
    return status;
}

const onnxd_pass onnxd_cpu_pass_fuse_convolution = {
    .name = "fuse_convolution",
    .summary = "make additions and activations part of the convolution before them",
    .run = run,
};
