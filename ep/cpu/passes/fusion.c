#include "ep/cpu/passes/fusion.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "ep/cpu/passes/pattern.h"
#include "graph/attributes.h"
#include "graph/moves.h"

/* Attributes and inputs of a node, with room for those that are added. */
#define MAX_ATTRIBUTES 16
#define MAX_INPUTS 4
/* Broadcasting was an attribute before. */
#define BROADCAST_SINCE 7

onnxd_status *onnxd_fusion_init(onnxd_fusion *f, onnxd_graph *graph, const onnxd_pass_env *env)
{
    *f = (onnxd_fusion){.graph = graph, .registry = env->registry};
    return onnxd_graph_count_uses(graph, &f->uses);
}

void onnxd_fusion_deinit(onnxd_fusion *f)
{
    onnxd_free(f->uses);
    f->uses = NULL;
}

void onnxd_fusion_take_over(onnxd_fusion *f, onnxd_node *before, onnxd_node *node)
{
    f->graph->values[before->outputs[0]].producer = ONNXD_NONE;
    f->graph->values[node->outputs[0]].producer = (onnxd_node_id)(before - f->graph->nodes);
    f->uses[before->outputs[0]] = 0;
    before->outputs[0] = node->outputs[0];
    node->is_removed = true;
    f->changes++;
}

bool onnxd_fusion_is_same_type(const onnxd_fusion *f, onnxd_value_id a, onnxd_value_id b)
{
    const onnxd_tensor_type *left = &f->graph->values[a].type, *right = &f->graph->values[b].type;
    return left->dtype == right->dtype && onnxd_graph_same_shape(&left->shape, &right->shape);
}

/* The node of the rule that makes `value` for one reader alone and can still take something in. */
static onnxd_node *open_node(const onnxd_fusion *f, const onnxd_fusion_rule *rule,
                             onnxd_value_id value)
{
    onnxd_node *node = onnxd_graph_only_producer(f->graph, f->uses, value);
    if (node == NULL || !onnxd_node_is(node, ONNXD_INTERNAL_DOMAIN, rule->op_type))
        return NULL;
    return node->attribute_count + 2 <= MAX_ATTRIBUTES && rule->is_open(node) ? node : NULL;
}

/* ---- activations ----------------------------------------------------------------------------- */

/* An activation as FusedConv's attributes have it. */
typedef struct activation {
    const char *name;
    float params[2];
    size_t param_count;
} activation;

static bool read_floats(const onnxd_node *node, activation *a, const char *const *names)
{
    onnxd_status *status = NULL;
    for (size_t i = 0; i < a->param_count && status == NULL; i++)
        status = onnxd_attribute_float(node, names[i], &a->params[i]);
    const bool is_read = status == NULL;
    onnxd_status_free(status);
    return is_read;
}

static bool activation_of(const onnxd_fusion *f, const onnxd_node *node, activation *out)
{
    static const char *const names[] = {"alpha", "beta"};
    static const activation known[] = {
        {"Relu", {0}, 0},
        {"Tanh", {0}, 0},
        {"Sigmoid", {0}, 0},
        {"HardSwish", {0}, 0},
        {"Gelu", {0}, 0},
        {"LeakyRelu", {0.01f}, 1},
        {"Swish", {1}, 1},
        {"HardSigmoid", {0.2f, 0.5f}, 2},
        {"Clip", {-FLT_MAX, FLT_MAX}, 2},
    };
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        if (!onnxd_node_is(node, "", known[i].name))
            continue;
        *out = known[i];
        /* Another formula. */
        if (strcmp(out->name, "Gelu") == 0 && node->attribute_count > 0)
            return false;
        if (strcmp(out->name, "Clip") == 0)
            return onnxd_pattern_clip_bounds(f->graph, node, &out->params[0], &out->params[1]);
        return read_floats(node, out, names);
    }
    return false;
}

static onnxd_status *set_activation(onnxd_fusion *f, onnxd_node *node, const activation *a)
{
    onnxd_attribute attributes[MAX_ATTRIBUTES];
    uint32_t count = 0;
    for (uint32_t i = 0; i < node->attribute_count; i++)
        if (strncmp(node->attributes[i].name, "activation", strlen("activation")) != 0)
            attributes[count++] = node->attributes[i];
    attributes[count++] = onnxd_text_attribute("activation", a->name);
    if (a->param_count > 0)
        ONNXD_TRY(onnxd_graph_floats(f->graph, "activation_params", a->params, a->param_count,
                                     &attributes[count++]));
    ONNXD_TRY(onnxd_graph_set_attributes(f->graph, node, attributes, count));
    return onnxd_op_resolve(f->registry, f->graph, node);
}

static onnxd_status *fuse_activation(onnxd_fusion *f, const onnxd_fusion_rule *rule,
                                     onnxd_node *after)
{
    activation a;
    onnxd_node *last = onnxd_graph_only_producer(f->graph, f->uses, after->inputs[0]), *node;
    if (last == NULL)
        return NULL;
    /* Where elements only change their places, the activation may come before. */
    const bool is_moved = onnxd_node_is(last, ONNXD_INTERNAL_DOMAIN, "DepthToSpace");
    node = open_node(f, rule, is_moved ? last->inputs[0] : after->inputs[0]);
    if (node == NULL || !activation_of(f, after, &a))
        return NULL;
    ONNXD_TRY(set_activation(f, node, &a));
    onnxd_fusion_take_over(f, last, after);
    return NULL;
}

/* ---- a factor and an addend behind an activation --------------------------------------------- */

/* The finite constant of one element that `after` multiplies with or adds, of its input `index`. */
static bool read_scalar(const onnxd_fusion *f, const onnxd_node *after, uint32_t index,
                        float *out_scalar)
{
    const onnxd_tensor *constant = onnxd_node_float_constant(f->graph, after, index);
    const int32_t rank = f->graph->values[after->inputs[1 - index]].type.shape.rank;
    if (constant == NULL || constant->count != 1 || constant->shape.rank > rank)
        return false;
    *out_scalar = *(const float *)constant->data;
    return isfinite(*out_scalar) != 0;
}

/* Reads (Scaled)HardSwish of a node. */
static bool read_affine(const onnxd_node *node, activation *out)
{
    const onnxd_attribute *name = onnxd_node_attribute(node, "activation");
    const onnxd_attribute *params = onnxd_node_attribute(node, "activation_params");
    *out = (activation){"ScaledHardSwish", {1, 0}, 2};
    if (name == NULL || name->kind != ONNXD_ATTRIBUTE_STRING)
        return false;
    if (strcmp(name->value.s.data, "HardSwish") == 0)
        return true;
    if (strcmp(name->value.s.data, out->name) != 0 || params == NULL || params->count != 2)
        return false;
    memcpy(out->params, params->value.floats, sizeof(out->params));
    return true;
}

/* A Mul or Add of one constant behind a node that ends in a HardSwish, as networks with learnt
 * scales have it. */
static onnxd_status *fuse_affine(onnxd_fusion *f, const onnxd_fusion_rule *rule, onnxd_node *after)
{
    for (uint32_t i = 0; i < 2; i++) {
        activation a;
        float scalar;
        onnxd_node *node = onnxd_graph_only_producer(f->graph, f->uses, after->inputs[1 - i]);
        if (node == NULL || !onnxd_node_is(node, ONNXD_INTERNAL_DOMAIN, rule->op_type) ||
            node->attribute_count + 2 > MAX_ATTRIBUTES || !read_affine(node, &a) ||
            !read_scalar(f, after, i, &scalar))
            continue;
        if (onnxd_node_is(after, "", "Add")) {
            a.params[1] += scalar;
        } else {
            a.params[0] *= scalar;
            a.params[1] *= scalar;
        }
        ONNXD_TRY(set_activation(f, node, &a));
        onnxd_fusion_take_over(f, node, after);
        return NULL;
    }
    return NULL;
}

/* ---- additions ------------------------------------------------------------------------------- */

static onnxd_status *set_addend(onnxd_fusion *f, const onnxd_fusion_rule *rule, onnxd_node *node,
                                onnxd_value_id addend)
{
    onnxd_value_id inputs[MAX_INPUTS] = {ONNXD_NONE, ONNXD_NONE, ONNXD_NONE, ONNXD_NONE};
    memcpy(inputs, node->inputs, node->input_count * sizeof(inputs[0]));
    inputs[rule->addend] = addend;
    ONNXD_TRY(onnxd_graph_set_node_inputs(f->graph, node, inputs, rule->addend + 1));
    return onnxd_op_resolve(f->registry, f->graph, node);
}

static onnxd_status *fuse_addition(onnxd_fusion *f, const onnxd_fusion_rule *rule,
                                   onnxd_node *after)
{
    /* The later of two, so that the other's result is there when it runs. */
    for (uint32_t i = 2; i-- > 0;) {
        const onnxd_value_id input = after->inputs[i], addend = after->inputs[1 - i];
        onnxd_node *node = open_node(f, rule, input);
        if (node == NULL ||
            (node->input_count > rule->addend && node->inputs[rule->addend] != ONNXD_NONE) ||
            f->graph->values[addend].constant != NULL || addend == input ||
            !onnxd_fusion_is_same_type(f, addend, input))
            continue;
        ONNXD_TRY(set_addend(f, rule, node, addend));
        onnxd_fusion_take_over(f, node, after);
        return NULL;
    }
    return NULL;
}

onnxd_status *onnxd_fusion_try(onnxd_fusion *f, const onnxd_fusion_rule *rule, onnxd_node *after)
{
    if (after->is_removed || after->input_count == 0 || after->output_count != 1)
        return NULL;
    const bool is_sum = onnxd_node_is(after, "", "Sum") && after->input_count == 2;
    const bool is_addition = is_sum || onnxd_node_is(after, "", "Add");
    if (is_addition)
        ONNXD_TRY(fuse_addition(f, rule, after));
    if (after->is_removed || is_sum)
        return NULL;
    if (after->input_count == 2 && after->opset >= BROADCAST_SINCE &&
        (is_addition || onnxd_node_is(after, "", "Mul")))
        return fuse_affine(f, rule, after);
    return fuse_activation(f, rule, after);
}
