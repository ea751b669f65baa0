#include "graph/op.h"

#include <stdio.h>
#include <string.h>

#include "graph/attributes.h"
#include "graph/internal.h"

const onnxd_op_def *onnxd_op_find(const onnxd_op_registry *registry, const char *domain,
                                  const char *op_type, int64_t opset)
{
    for (size_t t = 0; t < registry->table_count; t++)
        for (const onnxd_op_def *def = registry->tables[t]; def->op_type != NULL; def++)
            if (def->since <= opset && opset <= def->until && def->op_type[0] == op_type[0] &&
                strcmp(def->op_type, op_type) == 0 && strcmp(def->domain, domain) == 0)
                return def;
    return NULL;
}

static const char *domain_text(const char *domain, char *buffer, size_t capacity)
{
    return domain[0] == '\0' ? "ai.onnx" : onnxd_name_text(domain, buffer, capacity);
}

/* What it would take to run an operator that is refused by name, or NULL. */
static const char *refused_needs(const char *domain, const char *op_type)
{
    static const struct {
        const char *domain, *op_type, *needs;
    } refused[] = {
#define ONNXD_REFUSED(domain, op_type, needs) {domain, op_type, needs},
#include "graph/refused.inc"
    };
    for (size_t i = 0; i < ONNXD_COUNT(refused); i++)
        if (strcmp(refused[i].op_type, op_type) == 0 && strcmp(refused[i].domain, domain) == 0)
            return refused[i].needs;
    return NULL;
}

onnxd_status *onnxd_op_missing(const onnxd_op_registry *registry, const char *domain,
                               const char *op_type, int64_t opset)
{
    char type_buffer[ONNXD_NAME_TEXT];
    char domain_buffer[ONNXD_NAME_TEXT];
    const char *type = onnxd_name_text(op_type, type_buffer, sizeof(type_buffer));
    const char *home = domain_text(domain, domain_buffer, sizeof(domain_buffer));
    char known[256] = "";
    size_t length = 0;
    for (size_t t = 0; t < registry->table_count; t++) {
        for (const onnxd_op_def *def = registry->tables[t]; def->op_type != NULL; def++) {
            if (strcmp(def->op_type, op_type) != 0 || strcmp(def->domain, domain) != 0)
                continue;
            int added =
                snprintf(known + length, sizeof(known) - length, "%s%lld to %lld",
                         length == 0 ? "" : ", ", (long long)def->since, (long long)def->until);
            if (added < 0 || length + (size_t)added >= sizeof(known))
                break;
            length += (size_t)added;
        }
    }
    const char *needs = refused_needs(domain, op_type);
    if (needs != NULL)
        return onnxd_error(ONNXD_NO_EP_FOR_OP,
                           "operator '%s' of domain '%s' is not supported, it needs %s", type, home,
                           needs);
    if (length == 0)
        return onnxd_error(ONNXD_NO_EP_FOR_OP, "operator '%s' of domain '%s' is not known", type,
                           home);
    return onnxd_error(ONNXD_NO_EP_FOR_OP,
                       "operator '%s' of domain '%s' is not known at opset %lld, known opsets: %s",
                       type, home, (long long)opset, known);
}

/* The formal that position `index` belongs to: the last one stands for all beyond it. */
static const onnxd_op_formal *formal_at(const onnxd_op_formal *formals, uint32_t index)
{
    uint32_t at = index < ONNXD_OP_MAX_FORMALS ? index : ONNXD_OP_MAX_FORMALS - 1;
    while (at > 0 && formals[at].types == 0)
        at--;
    return &formals[at];
}

static onnxd_status *check_side(const onnxd_node *node, const char *side, uint32_t count,
                                uint16_t minimum, uint16_t maximum, const onnxd_value_id *ids,
                                const onnxd_op_formal *formals)
{
    char label[ONNXD_NODE_LABEL];
    onnxd_node_label(NULL, node, label, sizeof(label));
    if (count < minimum || (maximum != ONNXD_OP_VARIADIC && count > maximum)) {
        if (maximum == ONNXD_OP_VARIADIC)
            return onnxd_error(ONNXD_INVALID_ARGUMENT, "%s has %u %ss, at least %u are needed",
                               label, count, side, minimum);
        return onnxd_error(ONNXD_INVALID_ARGUMENT, "%s has %u %ss, allowed are %u to %u", label,
                           count, side, minimum, maximum);
    }
    for (uint32_t i = 0; i < count; i++)
        if (ids[i] == ONNXD_NONE && !formal_at(formals, i)->is_optional)
            return onnxd_error(ONNXD_INVALID_ARGUMENT, "%s lacks %s %u, which is required", label,
                               side, i);
    return NULL;
}

static onnxd_status *parse(const onnxd_op_def *def, onnxd_graph *graph, const onnxd_node *node,
                           const void **out_params)
{
    *out_params = NULL;
    if (def->parse == NULL) {
        static const char *const none[] = {NULL};
        return onnxd_attributes_allow(node, none);
    }
    void *params = NULL;
    ONNXD_TRY(onnxd_graph_alloc(graph, 1, def->params_bytes, &params));
    ONNXD_TRY(def->parse(node, node->opset, &graph->arena, params));
    *out_params = params;
    return NULL;
}

onnxd_status *onnxd_op_resolve(const onnxd_op_registry *registry, onnxd_graph *graph,
                               onnxd_node *node)
{
    const onnxd_op_def *def = onnxd_op_find(registry, node->domain, node->op_type, node->opset);
    if (def == NULL)
        return onnxd_op_missing(registry, node->domain, node->op_type, node->opset);
    ONNXD_TRY(check_side(node, "input", node->input_count - node->capture_count, def->min_inputs,
                         def->max_inputs, node->inputs, def->inputs));
    ONNXD_TRY(check_side(node, "output", node->output_count, def->min_outputs, def->max_outputs,
                         node->outputs, def->outputs));
    const void *params = NULL;
    ONNXD_TRY(parse(def, graph, node, &params));
    node->params = params;
    node->def = def;
    return NULL;
}

/* "tensor, sequence" into `buffer`. */
static const char *kinds_text(unsigned kinds, char *buffer, size_t capacity)
{
    size_t length = 0;
    buffer[0] = '\0';
    for (unsigned kind = 0; kind < ONNXD_VALUE_KIND_COUNT; kind++) {
        if (((kinds >> kind) & 1) == 0)
            continue;
        int added = snprintf(buffer + length, capacity - length, "%s%s", length == 0 ? "" : ", ",
                             onnxd_value_kind_name((onnxd_value_kind)kind));
        if (added < 0 || length + (size_t)added >= capacity)
            break;
        length += (size_t)added;
    }
    return buffer;
}

static onnxd_status *check_kind(const onnxd_op_formal *formal, const onnxd_node *node,
                                uint32_t index, onnxd_value_kind kind)
{
    const unsigned allowed = formal->kinds == 0 ? ONNXD_KIND(TENSOR) : formal->kinds;
    if (((allowed >> kind) & 1) != 0)
        return NULL;
    char label[ONNXD_NODE_LABEL];
    char names[128];
    return onnxd_error(ONNXD_INVALID_ARGUMENT, "%s: input %u is of kind %s, allowed are %s",
                       onnxd_node_label(NULL, node, label, sizeof(label)), index,
                       onnxd_value_kind_name(kind), kinds_text(allowed, names, sizeof(names)));
}

onnxd_status *onnxd_op_check_types(const onnxd_op_def *def, const onnxd_node *node,
                                   const onnxd_tensor_type *inputs, uint32_t input_count)
{
    char label[ONNXD_NODE_LABEL];
    /* The first input that had each type variable. */
    uint32_t first[UINT8_MAX + 1];
    memset(first, 0xff, sizeof(first));
    for (uint32_t i = 0; i < input_count; i++) {
        onnxd_dtype dtype = inputs[i].dtype;
        /* It is absent, or nothing is known of it. */
        if (dtype == ONNXD_UNDEFINED && inputs[i].kind == ONNXD_VALUE_TENSOR)
            continue;
        const onnxd_op_formal *formal = formal_at(def->inputs, i);
        ONNXD_TRY(check_kind(formal, node, i, inputs[i].kind));
        if (dtype == ONNXD_UNDEFINED)
            continue;
        if ((formal->types & ((onnxd_dtype_set)1u << dtype)) == 0) {
            char allowed[ONNXD_DTYPE_SET_TEXT];
            return onnxd_error(ONNXD_INVALID_ARGUMENT, "%s: input %u has type %s, allowed are %s",
                               onnxd_node_label(NULL, node, label, sizeof(label)), i,
                               onnxd_dtype_name(dtype),
                               onnxd_dtype_set_format(formal->types, allowed, sizeof(allowed)));
        }
        uint32_t *other = &first[formal->type_variable];
        if (formal->type_variable == 0)
            continue;
        if (*other == UINT32_MAX)
            *other = i;
        else if (inputs[*other].dtype != dtype)
            return onnxd_error(
                ONNXD_INVALID_ARGUMENT, "%s: input %u has type %s, it must be that of input %u, %s",
                onnxd_node_label(NULL, node, label, sizeof(label)), i, onnxd_dtype_name(dtype),
                *other, onnxd_dtype_name(inputs[*other].dtype));
    }
    return NULL;
}

/* A static shape whose bytes do not fit into size_t must not reach an allocator. */
static onnxd_status *check_output_sizes(const onnxd_node *node, const onnxd_tensor_type *outputs)
{
    for (uint32_t i = 0; i < node->output_count; i++) {
        size_t count;
        size_t bytes;
        if (outputs[i].dtype == ONNXD_UNDEFINED || !onnxd_shape_is_static(&outputs[i].shape))
            continue;
        if (!onnxd_shape_count(&outputs[i].shape, &count) ||
            !onnxd_dtype_bytes(outputs[i].dtype, count, &bytes) || bytes > INT64_MAX / 2) {
            char shape[ONNXD_SHAPE_TEXT];
            return onnxd_error(ONNXD_INVALID_ARGUMENT,
                               "output %u of shape %s has more elements than memory can hold", i,
                               onnxd_shape_format(&outputs[i].shape, shape, sizeof(shape)));
        }
    }
    return NULL;
}

onnxd_status *onnxd_op_infer(const onnxd_node *node, const onnxd_tensor_type *inputs,
                             const onnxd_tensor *const *constants, onnxd_tensor_type *outputs)
{
    const onnxd_op_def *def = node->def;
    if (def == NULL) {
        char label[ONNXD_NODE_LABEL];
        return onnxd_error(ONNXD_NO_EP_FOR_OP, "%s has no known operator",
                           onnxd_node_label(NULL, node, label, sizeof(label)));
    }
    ONNXD_TRY(onnxd_op_check_types(def, node, inputs, node->input_count - node->capture_count));
    for (uint32_t i = 0; i < node->output_count; i++)
        outputs[i] = (onnxd_tensor_type){.shape = onnxd_shape_unknown()};
    onnxd_infer infer = onnxd_infer_of(node, inputs, constants, outputs);
    onnxd_status *status = def->infer(&infer);
    if (status == NULL)
        status = check_output_sizes(node, outputs);
    return onnxd_node_context(NULL, node, status);
}
