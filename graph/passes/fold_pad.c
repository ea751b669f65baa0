/*
 * A Pad of images becomes part of the windows that follow it, whose own pads save a copy:
 *
 *   Pad(x, [0, 0, 1, 1, 0, 0, 1, 1]) ─► Conv   becomes   Conv(x) {pads = [1, 1, 1, 1]}
 *
 * where what it pads with is what the window's operator pads with: 0 for Conv, the zero point for
 * ConvInteger and QLinearConv, 0 that counts for AveragePool, and for MaxPool the lowest number, or
 * 0 where the images hold nothing below. In ceil mode pads and images decide differently about the
 * last window, and nothing is done.
 */
#include <string.h>

#include "graph/internal.h"
#include "graph/passes.h"
#include "graph/rewrite.h"

#define MAX_SPATIAL 3
#define MAX_PADS ((size_t)2 * (MAX_SPATIAL + 2))
/* The opset that brought count_include_pad. */
#define COUNTS_PADS_SINCE 7
/* Room for one more than any of the operators has. */
#define MAX_ATTRIBUTES 16

enum { X, PAD_VALUE = 2, PAD_AXES = 3, ZERO_POINT = 2 };

/* What a Pad adds around the spatial dimensions. */
typedef struct padding {
    int32_t spatial;
    int64_t pads[2 * MAX_SPATIAL]; /* all begins, then all ends; none below 0 */
    onnxd_dtype dtype;
    unsigned char value[sizeof(uint64_t)]; /* an element; zeros behind it */
} padding;

/* ---- the Pad --------------------------------------------------------------------------------- */

static bool read_value(const onnxd_graph *graph, const onnxd_node *pad, padding *p)
{
    const onnxd_attribute *attribute = onnxd_node_attribute(pad, "value");
    if (attribute != NULL)
        return attribute->kind == ONNXD_ATTRIBUTE_FLOAT && attribute->value.f == 0;
    if (pad->input_count <= PAD_VALUE || pad->inputs[PAD_VALUE] == ONNXD_NONE)
        return true;
    const onnxd_tensor *constant = graph->values[pad->inputs[PAD_VALUE]].constant;
    if (constant == NULL || constant->count != 1 || constant->bytes > sizeof(p->value))
        return false;
    memcpy(p->value, constant->data, constant->bytes);
    return true;
}

static bool is_constant_mode(const onnxd_node *pad)
{
    const onnxd_attribute *mode = onnxd_node_attribute(pad, "mode");
    return mode == NULL ||
           (mode->kind == ONNXD_ATTRIBUTE_STRING && strcmp(mode->value.s.data, "constant") == 0);
}

/* Pads in the order of the axes that the node names, or of all; those of batch and channels are to
 * be 0. */
static bool read_pads(const onnxd_graph *graph, const onnxd_node *pad, int32_t rank, padding *p)
{
    int64_t pads[MAX_PADS], axes[MAX_PADS];
    size_t count, axis_count;
    if (!onnxd_node_read_ints(graph, pad, 1, pad->opset < 2 ? "paddings" : "pads", MAX_PADS, pads,
                              &count) ||
        !onnxd_node_read_ints(graph, pad, PAD_AXES, "", MAX_PADS, axes, &axis_count))
        return false;
    const bool has_axes = pad->input_count > PAD_AXES && pad->inputs[PAD_AXES] != ONNXD_NONE;
    const size_t padded = has_axes ? axis_count : (size_t)rank;
    if (count != 2 * padded)
        return false;
    for (size_t i = 0; i < padded; i++) {
        int32_t axis;
        const int64_t begin = pads[i], end = pads[padded + i];
        if (!onnxd_shape_axis(rank, has_axes ? axes[i] : (int64_t)i, &axis) || begin < 0 ||
            end < 0 || begin > INT32_MAX || end > INT32_MAX || (axis < 2 && (begin | end) != 0))
            return false;
        if (axis < 2)
            continue;
        p->pads[axis - 2] = begin;
        p->pads[axis - 2 + p->spatial] = end;
    }
    return true;
}

static bool read_padding(const onnxd_graph *graph, const onnxd_node *pad, padding *p)
{
    if (pad == NULL || !onnxd_node_is(pad, "", "Pad") || pad->inputs[X] == ONNXD_NONE)
        return false;
    const onnxd_tensor_type *x = &graph->values[pad->inputs[X]].type;
    *p = (padding){.spatial = x->shape.rank - 2, .dtype = x->dtype};
    return p->spatial >= 1 && p->spatial <= MAX_SPATIAL && is_constant_mode(pad) &&
           read_value(graph, pad, p) && read_pads(graph, pad, x->shape.rank, p);
}

static bool is_zero(const padding *p)
{
    static const unsigned char zeros[sizeof(p->value)];
    return memcmp(p->value, zeros, sizeof(zeros)) == 0;
}

static bool is_lowest(const padding *p)
{
    static const struct {
        onnxd_dtype dtype;
        uint64_t bits;
    } lowest[] = {{ONNXD_FLOAT, 0xff800000}, {ONNXD_DOUBLE, 0xfffull << 52},
                  {ONNXD_FLOAT16, 0xfc00},   {ONNXD_BFLOAT16, 0xff80},
                  {ONNXD_INT8, 0x80},        {ONNXD_UINT8, 0}};
    for (size_t i = 0; i < ONNXD_COUNT(lowest); i++)
        if (lowest[i].dtype == p->dtype)
            return memcmp(p->value, &lowest[i].bits, sizeof(p->value)) == 0;
    return false;
}

/* ---- the window ------------------------------------------------------------------------------ */

/* The node's own pads on top. */
static bool add_own_pads(const onnxd_node *node, padding *p, bool *out_has_own)
{
    const onnxd_attribute *pads = onnxd_node_attribute(node, "pads");
    const onnxd_attribute *automatic = onnxd_node_attribute(node, "auto_pad");
    const size_t count = (size_t)p->spatial * 2;
    const bool is_valid = automatic != NULL && strcmp(automatic->value.s.data, "VALID") == 0;
    if (automatic != NULL && !is_valid && strcmp(automatic->value.s.data, "NOTSET") != 0)
        return false;
    *out_has_own = false;
    if (pads == NULL || pads->count == 0 || is_valid)
        return true;
    for (size_t i = 0; pads->count == count && i < count; i++) {
        p->pads[i] += pads->value.ints[i];
        *out_has_own |= pads->value.ints[i] != 0;
        if (p->pads[i] > INT32_MAX)
            return false;
    }
    return pads->count == count;
}

/* Pads are smaller than the window, whose taps are side by side. */
static bool is_narrow(const onnxd_node *node, const padding *p)
{
    const onnxd_attribute *kernel = onnxd_node_attribute(node, "kernel_shape");
    const onnxd_attribute *dilations = onnxd_node_attribute(node, "dilations");
    if (kernel == NULL || kernel->count != (size_t)p->spatial ||
        onnxd_node_int(node, "ceil_mode", 0) != 0)
        return false;
    for (size_t i = 0; dilations != NULL && i < dilations->count; i++)
        if (dilations->value.ints[i] != 1)
            return false;
    for (size_t i = 0; i < 2 * kernel->count; i++)
        if (p->pads[i] >= kernel->value.ints[i % kernel->count])
            return false;
    return true;
}

/* Whether every image has an element, and none below 0. */
static bool is_positive(const onnxd_graph *graph, onnxd_value_id image)
{
    const onnxd_value *value = &graph->values[image];
    for (int32_t i = 2; i < value->type.shape.rank; i++)
        if (value->type.shape.dims[i] < 1)
            return false;
    return value->producer != ONNXD_NONE &&
           (onnxd_node_is(&graph->nodes[value->producer], "", "Relu") ||
            onnxd_node_is(&graph->nodes[value->producer], "", "Sigmoid"));
}

static bool is_zero_point(const onnxd_graph *graph, const onnxd_node *node, const padding *p)
{
    if (node->input_count <= ZERO_POINT || node->inputs[ZERO_POINT] == ONNXD_NONE)
        return is_zero(p);
    const onnxd_tensor *zero = graph->values[node->inputs[ZERO_POINT]].constant;
    return zero != NULL && zero->count == 1 && zero->bytes == 1 &&
           memcmp(zero->data, p->value, 1) == 0;
}

/* QLinearConv's zero point is its input 2 as ConvInteger's is. `image` is what is padded. */
static bool takes(const onnxd_graph *graph, const onnxd_node *node, onnxd_value_id image,
                  const padding *p, bool has_own)
{
    if (onnxd_node_is(node, "", "Conv"))
        return is_zero(p);
    if (onnxd_node_is(node, "", "ConvInteger") || onnxd_node_is(node, "", "QLinearConv"))
        return is_zero_point(graph, node, p);
    if (!is_narrow(node, p))
        return false;
    if (onnxd_node_is(node, "", "AveragePool"))
        return is_zero(p) && node->opset >= COUNTS_PADS_SINCE &&
               (!has_own || onnxd_node_int(node, "count_include_pad", 0) != 0);
    return node->output_count == 1 && (is_lowest(p) || (is_zero(p) && is_positive(graph, image)));
}

/* ---- the pass -------------------------------------------------------------------------------- */

static onnxd_status *set_pads(onnxd_graph *graph, const onnxd_pass_env *env, onnxd_node *node,
                              onnxd_value_id image, const padding *p)
{
    static const char *const replaced[] = {"pads", "auto_pad", "count_include_pad"};
    const bool is_average = onnxd_node_is(node, "", "AveragePool");
    onnxd_attribute attributes[MAX_ATTRIBUTES];
    uint32_t count = 0;
    for (uint32_t i = 0; i < node->attribute_count; i++) {
        bool is_kept = true;
        for (size_t r = 0; r < ONNXD_COUNT(replaced); r++)
            is_kept = is_kept && strcmp(node->attributes[i].name, replaced[r]) != 0;
        if (is_kept)
            attributes[count++] = node->attributes[i];
    }
    ONNXD_TRY(
        onnxd_graph_ints(graph, "pads", p->pads, 2 * (size_t)p->spatial, &attributes[count++]));
    if (is_average)
        attributes[count++] = (onnxd_attribute){
            .name = "count_include_pad", .kind = ONNXD_ATTRIBUTE_INT, .count = 1, .value.i = 1};
    ONNXD_TRY(onnxd_graph_set_attributes(graph, node, attributes, count));
    node->inputs[X] = image;
    return onnxd_op_resolve(env->registry, graph, node);
}

static onnxd_status *visit(onnxd_graph *graph, const onnxd_pass_env *env, onnxd_node *node,
                           uint32_t *changes)
{
    static const char *const names[] = {"Conv", "ConvInteger", "QLinearConv", "AveragePool",
                                        "MaxPool"};
    bool is_one = false, has_own;
    padding p;
    for (size_t i = 0; i < ONNXD_COUNT(names); i++)
        is_one = is_one || onnxd_node_is(node, "", names[i]);
    if (!is_one || node->inputs[X] == ONNXD_NONE || node->attribute_count + 2 > MAX_ATTRIBUTES)
        return NULL;
    const onnxd_node_id producer = graph->values[node->inputs[X]].producer;
    const onnxd_node *pad = producer == ONNXD_NONE ? NULL : &graph->nodes[producer];
    if (!read_padding(graph, pad, &p) || !add_own_pads(node, &p, &has_own) ||
        !takes(graph, node, pad->inputs[X], &p, has_own))
        return NULL;
    (*changes)++;
    return set_pads(graph, env, node, pad->inputs[X], &p);
}

static onnxd_status *run(onnxd_graph *graph, const onnxd_pass_env *env, uint32_t *out_changes)
{
    uint32_t changes = 0;
    for (uint32_t n = 0; n < graph->node_count; n++)
        ONNXD_TRY(visit(graph, env, &graph->nodes[n], &changes));
    *out_changes = changes;
    return NULL;
}

const onnxd_pass onnxd_pass_fold_pad = {
    .name = "fold_pad",
    .summary = "make pads around images part of the windows that follow",
    .run = run,
};
