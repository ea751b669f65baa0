/*
 * A factor and an addend for each channel of a result, all constant, become part of the weights
 * that made it. They come as a BatchNormalization in inference, a Mul or an Add; what takes them in
 * is a convolution, a transposed one or another BatchNormalization.
 *
 *   convolution     W'[m] = W[m] factor[m]       B'[m] = B[m] factor[m] + addend[m]
 *   normalisation   scale' = scale factor        B' = B factor + addend
 */
#include <string.h>

#include "base/alloc.h"
#include "graph/batch_norm.h"
#include "graph/passes.h"
#include "graph/rewrite.h"

enum { X, WEIGHTS, BIAS }; /* of Conv; BatchNormalization's are named scale and B */
/* Before this opset Mul and Add broadcast as an attribute said. */
#define BROADCAST_SINCE 7

/* What a node does to each channel. */
typedef struct affine {
    float *factors, *addends; /* [channels] */
    size_t channels;
} affine;

/* ---- what is folded -------------------------------------------------------------------------- */

/* A constant that is broadcast over images of `rank` along all dimensions but that of the channels,
 * as one value per channel. */
static bool read_channels(const onnxd_tensor *constant, int32_t rank, size_t channels, float *out)
{
    const float *from = constant->data;
    const int32_t axis = 1 - (rank - constant->shape.rank);
    if (constant->count == 1) {
        for (size_t c = 0; c < channels; c++)
            out[c] = from[0];
        return constant->shape.rank <= rank;
    }
    if (axis < 0 || constant->count != channels || (size_t)constant->shape.dims[axis] != channels)
        return false;
    memcpy(out, from, channels * sizeof(float));
    return true;
}

static bool read_binary(const onnxd_graph *graph, const onnxd_node *node, affine *a)
{
    const bool is_product = onnxd_node_is(node, "", "Mul");
    if (!is_product && !onnxd_node_is(node, "", "Add"))
        return false;
    const onnxd_tensor *constant = onnxd_node_float_constant(graph, node, 1);
    if (constant == NULL)
        constant = onnxd_node_float_constant(graph, node, 0);
    if (constant == NULL || node->opset < BROADCAST_SINCE)
        return false;
    for (size_t c = 0; c < a->channels; c++) {
        a->factors[c] = 1;
        a->addends[c] = 0;
    }
    return read_channels(constant, graph->values[node->outputs[0]].type.shape.rank, a->channels,
                         is_product ? a->factors : a->addends);
}

static bool read_affine(const onnxd_graph *graph, const onnxd_node *node, affine *a)
{
    if (!onnxd_node_is(node, "", "BatchNormalization"))
        return read_binary(graph, node, a);
    if (!onnxd_batch_norm_is_affine(graph, node) ||
        onnxd_batch_norm_channels(graph, node) != a->channels)
        return false;
    onnxd_batch_norm_affine(graph, node, a->factors, a->addends);
    return true;
}

/* ---- what takes it in ------------------------------------------------------------------------ */

static int64_t groups_of(const onnxd_node *node)
{
    const onnxd_attribute *group = onnxd_node_attribute(node, "group");
    return group == NULL || group->kind != ONNXD_ATTRIBUTE_INT ? 1 : group->value.i;
}

/* Channels of the result of a node whose weights can be changed; 0: it is none. */
static size_t channels_of(const onnxd_graph *graph, const onnxd_node *node)
{
    if (node == NULL)
        return 0;
    if (onnxd_node_is(node, "", "BatchNormalization"))
        return onnxd_batch_norm_is_affine(graph, node) ? onnxd_batch_norm_channels(graph, node) : 0;
    const onnxd_tensor *weights = onnxd_node_float_constant(graph, node, WEIGHTS);
    const bool has_bias = node->input_count > BIAS && node->inputs[BIAS] != ONNXD_NONE;
    const bool is_transposed = onnxd_node_is(node, "", "ConvTranspose");
    if ((!is_transposed && !onnxd_node_is(node, "", "Conv")) || weights == NULL ||
        weights->count == 0 || (has_bias && onnxd_node_float_constant(graph, node, BIAS) == NULL))
        return 0;
    if (!is_transposed)
        return (size_t)weights->shape.dims[0];
    const int64_t groups = groups_of(node);
    const bool fits = weights->shape.rank > 2 && groups > 0 && weights->shape.dims[0] % groups == 0;
    return fits ? (size_t)(weights->shape.dims[1] * groups) : 0;
}

/* By elements that lie side by side and are for one channel. The weights of a ConvTranspose, which
 * begin with the input's channels, are [channels, maps / groups, taps]. */
static void scale_weights(const onnxd_node *node, const onnxd_tensor *weights, const affine *a,
                          float *scaled)
{
    const bool is_transposed = onnxd_node_is(node, "", "ConvTranspose");
    const size_t maps = is_transposed ? (size_t)weights->shape.dims[1] : 0;
    const size_t channels = (size_t)weights->shape.dims[0];
    const size_t group_channels = is_transposed ? channels / (size_t)groups_of(node) : 0;
    const size_t runs = is_transposed ? channels * maps : channels, length = weights->count / runs;
    const float *from = weights->data;
    for (size_t r = 0; r < runs; r++, from += length, scaled += length) {
        const size_t channel = is_transposed ? r / maps / group_channels * maps + r % maps : r;
        const float factor = a->factors[channel];
        for (size_t i = 0; i < length; i++)
            scaled[i] = from[i] * factor;
    }
}

static onnxd_status *set_weights(onnxd_graph *graph, onnxd_node *node, onnxd_value_id weights,
                                 onnxd_value_id bias)
{
    onnxd_value_id inputs[5] = {ONNXD_NONE, ONNXD_NONE, ONNXD_NONE, ONNXD_NONE, ONNXD_NONE};
    memcpy(inputs, node->inputs, node->input_count * sizeof(inputs[0]));
    inputs[WEIGHTS] = weights;
    inputs[BIAS] = bias;
    const uint32_t count = node->input_count > BIAS ? node->input_count : BIAS + 1;
    return onnxd_graph_set_node_inputs(graph, node, inputs, count);
}

static onnxd_status *take_in(onnxd_graph *graph, onnxd_node *node, const affine *a)
{
    const onnxd_tensor *weights = onnxd_node_float_constant(graph, node, WEIGHTS);
    const onnxd_tensor *bias = onnxd_node_float_constant(graph, node, BIAS);
    const onnxd_shape vector = {.rank = 1, .dims = {(int64_t)a->channels}};
    onnxd_tensor *scaled = NULL;
    onnxd_value_id new_weights = ONNXD_NONE, new_bias = ONNXD_NONE;
    for (size_t c = 0; bias != NULL && c < a->channels; c++)
        a->addends[c] += ((const float *)bias->data)[c] * a->factors[c];
    ONNXD_TRY(onnxd_tensor_create(ONNXD_FLOAT, &weights->shape, &scaled));
    scale_weights(node, weights, a, scaled->data);
    onnxd_status *status =
        onnxd_graph_derive_from(graph, node->inputs[WEIGHTS], "scaled", scaled, &new_weights);
    onnxd_tensor_release(scaled);
    ONNXD_TRY(status);
    ONNXD_TRY(onnxd_graph_derive_constant(graph, node->inputs[WEIGHTS], "shifted", &vector,
                                          a->addends, &new_bias));
    return set_weights(graph, node, new_weights, new_bias);
}

/* ---- the pass -------------------------------------------------------------------------------- */

static void replace(onnxd_graph *graph, uint32_t *uses, onnxd_node *node, onnxd_node *folded)
{
    uses[node->outputs[0]] = 0;
    graph->values[node->outputs[0]].producer = ONNXD_NONE;
    graph->values[folded->outputs[0]].producer = (onnxd_node_id)(node - graph->nodes);
    node->outputs[0] = folded->outputs[0];
    folded->is_removed = true;
}

static onnxd_status *fold(onnxd_graph *graph, uint32_t *uses, onnxd_node *node, onnxd_node *after,
                          bool *out_changed)
{
    const size_t channels = channels_of(graph, node);
    if (channels == 0)
        return NULL;
    float *scratch = onnxd_alloc_zero(channels, 2 * sizeof(float));
    if (scratch == NULL)
        return onnxd_error_out_of_memory("factors of channels", channels * 2 * sizeof(float),
                                         UINT64_MAX);
    affine a = {scratch, scratch + channels, channels};
    onnxd_status *status = NULL;
    if (read_affine(graph, after, &a)) {
        status = take_in(graph, node, &a);
        if (status == NULL) {
            replace(graph, uses, node, after);
            *out_changed = true;
        }
    }
    onnxd_free(scratch);
    return status;
}

/* A node that follows something for its only reader, by input 0 or, of Mul and Add, either. */
static onnxd_status *visit(onnxd_graph *graph, uint32_t *uses, onnxd_node *after, uint32_t *changes)
{
    bool has_changed = false;
    for (uint32_t i = 0; i < 2 && i < after->input_count && !has_changed; i++) {
        onnxd_node *node = onnxd_graph_only_producer(graph, uses, after->inputs[i]);
        ONNXD_TRY(fold(graph, uses, node, after, &has_changed));
    }
    *changes += has_changed ? 1 : 0;
    return NULL;
}

static bool is_foldable(const onnxd_node *node)
{
    return onnxd_node_is(node, "", "BatchNormalization") || onnxd_node_is(node, "", "Mul") ||
           onnxd_node_is(node, "", "Add");
}

static onnxd_status *run(onnxd_graph *graph, const onnxd_pass_env *env, uint32_t *out_changes)
{
    uint32_t *uses = NULL, changes = 0;
    (void)env;
    ONNXD_TRY(onnxd_graph_count_uses(graph, &uses));
    onnxd_status *status = NULL;
    for (uint32_t n = 0; n < graph->node_count && status == NULL; n++)
        if (is_foldable(&graph->nodes[n]))
            status = visit(graph, uses, &graph->nodes[n], &changes);
    onnxd_free(uses);
    if (status == NULL)
        status = onnxd_graph_compact(graph);
    if (status == NULL)
        *out_changes = changes;
    return status;
}

const onnxd_pass onnxd_pass_fold_affine = {
    .name = "fold_affine",
    .summary = "make factors and addends per channel part of the weights before them",
    .run = run,
};
