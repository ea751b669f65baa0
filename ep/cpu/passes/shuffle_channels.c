/*
 * A shuffle of channels, as ShuffleNet has it, on images channels-last. Exporters write it as a
 * Reshape that parts the channels, a Transpose of the two parts and a Reshape that joins them, for
 * which channels_last had to bring back ONNX's order of dimensions:
 *
 *   Transpose ─► Reshape [N,a,b,H,W] ─► Transpose [0,2,1,3,4] ─► Reshape [N,C,H,W] ─► Transpose
 *   becomes      Reshape [N,H,W,a,b] ─► Transpose [0,1,2,4,3] ─► Reshape [N,H,W,C]
 */
#include <string.h>

#include "base/alloc.h"
#include "ep/cpu/passes/passes.h"
#include "graph/attributes.h"
#include "graph/rewrite.h"

#define RANK 4

/* The nodes of one shuffle, from the last to the first. */
typedef struct shuffle {
    onnxd_node *to_last, *join, *swap, *part, *to_first;
} shuffle;

static bool has_perm(const onnxd_node *node, size_t count, const int64_t *perm)
{
    const onnxd_attribute *attribute = onnxd_node_attribute(node, "perm");
    return onnxd_node_is(node, "", "Transpose") && attribute != NULL &&
           attribute->kind == ONNXD_ATTRIBUTE_INTS && attribute->count == count &&
           memcmp(attribute->value.ints, perm, count * sizeof(perm[0])) == 0;
}

static onnxd_node *producer_of(const onnxd_graph *graph, const uint32_t *uses,
                               const onnxd_node *node)
{
    return onnxd_graph_only_producer(graph, uses, node->inputs[0]);
}

/* The node that makes the input of `node`, whoever else reads it. */
static onnxd_node *any_producer(const onnxd_graph *graph, const onnxd_node *node)
{
    const onnxd_node_id id = graph->values[node->inputs[0]].producer;
    return id == ONNXD_NONE ? NULL : &graph->nodes[id];
}

static const onnxd_shape *shape_of(const onnxd_graph *graph, onnxd_value_id value)
{
    return &graph->values[value].type.shape;
}

static bool has_known_channels(const onnxd_graph *graph, const shuffle *s)
{
    const onnxd_shape *parts = shape_of(graph, s->part->outputs[0]);
    const onnxd_shape *before = shape_of(graph, s->to_first->outputs[0]);
    const onnxd_shape *after = shape_of(graph, s->join->outputs[0]);
    if (parts->rank != RANK + 1 || before->rank != RANK || after->rank != RANK)
        return false;
    for (int32_t i = 0; i < RANK; i++)
        if (before->dims[i] != after->dims[i] || before->dims[i] == ONNXD_DIM_UNKNOWN)
            return false;
    return onnxd_dim_is_static(parts->dims[1]) && onnxd_dim_is_static(parts->dims[2]) &&
           onnxd_dim_is_static(before->dims[1]) && parts->dims[3] == before->dims[2] &&
           parts->dims[4] == before->dims[3] && parts->dims[0] == before->dims[0];
}

static bool match(const onnxd_graph *graph, const uint32_t *uses, onnxd_node *last, shuffle *out)
{
    static const int64_t to_last[] = {0, 2, 3, 1}, to_first[] = {0, 3, 1, 2};
    static const int64_t swap[] = {0, 2, 1, 3, 4};
    shuffle s = {.to_last = last};
    if (!has_perm(last, RANK, to_last))
        return false;
    s.join = producer_of(graph, uses, last);
    if (s.join == NULL || !onnxd_node_is(s.join, "", "Reshape"))
        return false;
    s.swap = producer_of(graph, uses, s.join);
    if (s.swap == NULL || !has_perm(s.swap, RANK + 1, swap))
        return false;
    s.part = producer_of(graph, uses, s.swap);
    if (s.part == NULL || !onnxd_node_is(s.part, "", "Reshape"))
        return false;
    s.to_first = any_producer(graph, s.part);
    if (s.to_first == NULL || !has_perm(s.to_first, RANK, to_first))
        return false;
    *out = s;
    return has_known_channels(graph, &s);
}

/* A Reshape that keeps the first three dimensions. */
static onnxd_status *set_reshape(onnxd_graph *graph, const onnxd_op_registry *registry,
                                 onnxd_node *node, onnxd_value_id input, const int64_t *dims,
                                 size_t count)
{
    onnxd_value_id shape = ONNXD_NONE;
    ONNXD_TRY(onnxd_graph_derive_ints(graph, input, "shape", dims, count, &shape));
    const onnxd_value_id inputs[] = {input, shape};
    ONNXD_TRY(onnxd_graph_set_node_inputs(graph, node, inputs, 2));
    ONNXD_TRY(onnxd_graph_set_attributes(graph, node, NULL, 0));
    return onnxd_op_resolve(registry, graph, node);
}

static onnxd_status *rewrite(onnxd_graph *graph, const onnxd_op_registry *registry,
                             const shuffle *s)
{
    static const int64_t swap[] = {0, 1, 2, 4, 3};
    const onnxd_shape *parts = shape_of(graph, s->part->outputs[0]);
    const int64_t parted[] = {0, 0, 0, parts->dims[1], parts->dims[2]};
    const int64_t joined[] = {0, 0, 0, parts->dims[1] * parts->dims[2]};
    onnxd_attribute perm;
    ONNXD_TRY(set_reshape(graph, registry, s->part, s->to_first->inputs[0], parted, RANK + 1));
    ONNXD_TRY(onnxd_graph_ints(graph, "perm", swap, RANK + 1, &perm));
    ONNXD_TRY(onnxd_graph_set_attributes(graph, s->swap, &perm, 1));
    ONNXD_TRY(onnxd_op_resolve(registry, graph, s->swap));
    ONNXD_TRY(set_reshape(graph, registry, s->join, s->join->inputs[0], joined, RANK));
    /* To be inferred anew. */
    graph->values[s->part->outputs[0]].type.shape = onnxd_shape_unknown();
    graph->values[s->swap->outputs[0]].type.shape = onnxd_shape_unknown();
    graph->values[s->join->outputs[0]].producer = ONNXD_NONE;
    graph->values[s->to_last->outputs[0]].producer = (onnxd_node_id)(s->join - graph->nodes);
    s->join->outputs[0] = s->to_last->outputs[0];
    s->to_last->is_removed = true;
    return NULL;
}

/* Before opset 5 the shape was an attribute. */
#define SHAPE_INPUT_SINCE 5

static onnxd_status *run(onnxd_graph *graph, const onnxd_pass_env *env, uint32_t *out_changes)
{
    uint32_t *uses = NULL, changes = 0;
    ONNXD_TRY(onnxd_graph_count_uses(graph, &uses));
    onnxd_status *status = NULL;
    for (uint32_t n = 0; n < graph->node_count && status == NULL; n++) {
        shuffle s;
        if (graph->nodes[n].opset < SHAPE_INPUT_SINCE || !match(graph, uses, &graph->nodes[n], &s))
            continue;
        status = rewrite(graph, env->registry, &s);
        changes++;
    }
    onnxd_free(uses);
    if (status == NULL)
        status = onnxd_graph_compact(graph);
    if (status == NULL)
        *out_changes = changes;
    return status;
}

const onnxd_pass onnxd_cpu_pass_shuffle_channels = {
    .name = "shuffle_channels",
    .summary = "shuffle channels without leaving the order channels-last",
    .run = run,
    .is_private = true,
};
