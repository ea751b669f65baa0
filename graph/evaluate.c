/*
 * The portable kernel of one node on the host: constant folding and shape values.
 */
#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "graph/internal.h"
#include "graph/op.h"

bool onnxd_node_needs_types_only(const onnxd_node *node)
{
    return node->domain[0] == '\0' &&
           (strcmp(node->op_type, "Shape") == 0 || strcmp(node->op_type, "Size") == 0);
}

typedef struct evaluation {
    const onnxd_node *node;
    size_t max_bytes;
    onnxd_tensor_type *types; /* of the outputs */
    onnxd_tensor_view *input_views;
    onnxd_tensor_view *output_views;
    onnxd_tensor **outputs; /* of strings: the elements, whose bytes others own */
    onnxd_string_arena strings;
    void *workspace;
} evaluation;

static void evaluation_deinit(evaluation *e)
{
    for (uint32_t i = 0; e->outputs != NULL && i < e->node->output_count; i++)
        onnxd_tensor_release(e->outputs[i]);
    onnxd_free(e->types);
    onnxd_free(e->input_views);
    onnxd_free(e->output_views);
    onnxd_free(e->outputs);
    onnxd_free(e->workspace);
    onnxd_arena_deinit(&e->strings.arena);
}

static onnxd_status *evaluation_init(evaluation *e, const onnxd_node *node, size_t max_bytes)
{
    memset(e, 0, sizeof(*e));
    e->node = node;
    e->max_bytes = max_bytes;
    onnxd_arena_init(&e->strings.arena, 4096, max_bytes);
    size_t inputs = (size_t)node->input_count + 1;
    size_t outputs = (size_t)node->output_count + 1;
    e->types = onnxd_alloc_zero(outputs, sizeof(*e->types));
    e->input_views = onnxd_alloc_zero(inputs, sizeof(*e->input_views));
    e->output_views = onnxd_alloc_zero(outputs, sizeof(*e->output_views));
    e->outputs = onnxd_alloc_zero(outputs, sizeof(onnxd_tensor *));
    if (e->types == NULL || e->input_views == NULL || e->output_views == NULL || e->outputs == NULL)
        return onnxd_error_out_of_memory("evaluation of a node", inputs * sizeof(*e->input_views),
                                         UINT64_MAX);
    return NULL;
}

static onnxd_status *make_input_views(evaluation *e, const onnxd_tensor_type *types,
                                      const onnxd_tensor *const *inputs)
{
    const onnxd_node *node = e->node;
    for (uint32_t i = 0; i < node->input_count; i++) {
        if (node->inputs[i] == ONNXD_NONE)
            continue;
        if (inputs[i] != NULL)
            e->input_views[i] = onnxd_tensor_as_view(inputs[i]);
        else if (onnxd_node_needs_types_only(node) && onnxd_shape_is_static(&types[i].shape))
            e->input_views[i] = onnxd_tensor_view_of(NULL, types[i].dtype, &types[i].shape);
        else
            return onnxd_error(ONNXD_INVALID_ARGUMENT, "the value of input %u is not known", i);
    }
    return NULL;
}

static onnxd_status *make_outputs(evaluation *e)
{
    for (uint32_t i = 0; i < e->node->output_count; i++) {
        const onnxd_tensor_type *type = &e->types[i];
        if (e->node->outputs[i] == ONNXD_NONE)
            continue;
        size_t count;
        size_t bytes;
        if (type->dtype == ONNXD_UNDEFINED || !onnxd_shape_is_static(&type->shape))
            return onnxd_error(ONNXD_UNIMPLEMENTED, "the shape of output %u depends on data", i);
        if (!onnxd_shape_count(&type->shape, &count) ||
            !onnxd_dtype_bytes(type->dtype, count, &bytes) || bytes > e->max_bytes)
            return onnxd_error(ONNXD_RESOURCE_EXHAUSTED,
                               "output %u would pass the limit of %zu bytes", i, e->max_bytes);
        ONNXD_TRY(onnxd_tensor_create(type->dtype, &type->shape, &e->outputs[i]));
        e->output_views[i] = onnxd_tensor_as_view(e->outputs[i]);
    }
    return NULL;
}

static onnxd_status *run(evaluation *e)
{
    const onnxd_op_def *def = e->node->def;
    onnxd_compute compute = {
        .node = e->node,
        .params = e->node->params,
        .opset = e->node->opset,
        .input_count = e->node->input_count,
        .output_count = e->node->output_count,
        .inputs = e->input_views,
        .outputs = e->output_views,
        .strings = &e->strings,
    };
    size_t workspace_bytes = def->workspace_bytes == NULL ? 0 : def->workspace_bytes(&compute);
    if (workspace_bytes > e->max_bytes)
        return onnxd_error(ONNXD_RESOURCE_EXHAUSTED,
                           "a workspace of %zu bytes would pass the limit of %zu bytes",
                           workspace_bytes, e->max_bytes);
    if (workspace_bytes > 0) {
        e->workspace = onnxd_alloc_aligned(workspace_bytes, 64);
        if (e->workspace == NULL)
            return onnxd_error_out_of_memory("workspace of a node", workspace_bytes, UINT64_MAX);
    }
    compute.workspace = e->workspace;
    return def->compute(&compute);
}

onnxd_status *onnxd_tensor_own_strings(const onnxd_tensor *tensor, uint32_t output,
                                       size_t max_bytes, onnxd_tensor **out_tensor)
{
    uint64_t bytes = onnxd_tensor_string_bytes(tensor);
    if (bytes > max_bytes)
        return onnxd_error(ONNXD_RESOURCE_EXHAUSTED,
                           "the strings of output %u have %" PRIu64
                           " bytes and would pass the limit of %zu bytes",
                           output, bytes, max_bytes);
    return onnxd_tensor_create_strings(&tensor->shape, tensor->data, out_tensor);
}

/* String elements borrow from inputs and the string arena, many maybe the same bytes; the result
 * must own its bytes. */
static onnxd_status *own_strings(evaluation *e)
{
    for (uint32_t i = 0; i < e->node->output_count; i++) {
        onnxd_tensor *output = e->outputs[i];
        if (output == NULL || output->dtype != ONNXD_STRING)
            continue;
        onnxd_tensor *owned = NULL;
        ONNXD_TRY(onnxd_tensor_own_strings(output, i, e->max_bytes, &owned));
        e->outputs[i] = owned;
        onnxd_tensor_release(output);
    }
    return NULL;
}

static onnxd_status *evaluate(evaluation *e, const onnxd_tensor_type *types,
                              const onnxd_tensor *const *inputs)
{
    ONNXD_TRY(make_input_views(e, types, inputs));
    ONNXD_TRY(make_outputs(e));
    ONNXD_TRY(run(e));
    return own_strings(e);
}

onnxd_status *onnxd_op_evaluate_types(const onnxd_node *node, const onnxd_tensor_type *types,
                                      const onnxd_tensor *const *inputs, size_t max_bytes,
                                      onnxd_tensor **outputs)
{
    char label[ONNXD_NODE_LABEL];
    if (node->def == NULL || (node->def->compute == NULL && node->def->run == NULL))
        return onnxd_error(ONNXD_UNIMPLEMENTED, "%s has no portable kernel",
                           onnxd_node_label(NULL, node, label, sizeof(label)));
    evaluation e;
    onnxd_status *status = evaluation_init(&e, node, max_bytes);
    if (status != NULL)
        goto done;
    status = onnxd_op_infer(node, types, inputs, e.types);
    if (status != NULL)
        goto done;
    if (node->def->compute == NULL)
        status = onnxd_op_evaluate_run(node, inputs, max_bytes, e.outputs);
    else
        status = evaluate(&e, types, inputs);
    status = onnxd_node_context(NULL, node, status);
    if (status != NULL)
        goto done;
    for (uint32_t i = 0; i < node->output_count; i++) {
        outputs[i] = e.outputs[i];
        e.outputs[i] = NULL;
    }
done:
    evaluation_deinit(&e);
    return status;
}

onnxd_status *onnxd_op_evaluate(const onnxd_node *node, const onnxd_tensor *const *inputs,
                                size_t max_bytes, onnxd_tensor **outputs)
{
    onnxd_tensor_type *types = onnxd_alloc_zero((size_t)node->input_count + 1, sizeof(*types));
    if (types == NULL)
        return onnxd_error_out_of_memory("evaluation of a node", node->input_count * sizeof(*types),
                                         UINT64_MAX);
    for (uint32_t i = 0; i < node->input_count; i++)
        if (inputs[i] != NULL)
            types[i] = (onnxd_tensor_type){.dtype = inputs[i]->dtype, .shape = inputs[i]->shape};
    onnxd_status *status = onnxd_op_evaluate_types(node, types, inputs, max_bytes, outputs);
    onnxd_free(types);
    return status;
}
