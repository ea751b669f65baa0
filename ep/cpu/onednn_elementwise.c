/* Relu, Add and Mul of equal shapes, Sum of equal shapes, Concat. */
#include "ep/cpu/onednn.h"

static int64_t count_of(const onnxd_shape *shape)
{
    int64_t count = 1;
    for (int32_t i = 0; i < shape->rank; i++)
        count *= shape->dims[i];
    return count;
}

static onnxd_status *make_elementwise(const onnxd_cpu_case *c, onnxd_dnnl_elementwise kind,
                                      onnxd_cpu_kernel *kernel)
{
    onnxd_dnnl_op *op = NULL;
    ONNXD_TRY(
        onnxd_dnnl_elementwise_create(c->runtime->dnnl, kind, count_of(&c->outputs[0].shape), &op));
    onnxd_onednn_adopt(kernel, op);
    return NULL;
}

static bool takes_relu(const onnxd_cpu_case *c)
{
    return onnxd_onednn_takes(c);
}

static onnxd_status *make_relu(const onnxd_cpu_case *c, onnxd_cpu_kernel *kernel)
{
    return make_elementwise(c, ONNXD_DNNL_RELU, kernel);
}

/* Every input has the shape of the output: nothing is broadcast. */
static bool takes_equal(const onnxd_cpu_case *c)
{
    if (!onnxd_onednn_takes(c) || c->query->input_count < 2)
        return false;
    for (uint32_t i = 0; i < c->query->input_count; i++) {
        if (!onnxd_shape_equal(&c->query->inputs[i].shape, &c->outputs[0].shape))
            return false;
    }
    return true;
}

static onnxd_status *make_add(const onnxd_cpu_case *c, onnxd_cpu_kernel *kernel)
{
    return make_elementwise(c, ONNXD_DNNL_ADD, kernel);
}

static onnxd_status *make_multiply(const onnxd_cpu_case *c, onnxd_cpu_kernel *kernel)
{
    return make_elementwise(c, ONNXD_DNNL_MULTIPLY, kernel);
}

static onnxd_status *make_sum(const onnxd_cpu_case *c, onnxd_cpu_kernel *kernel)
{
    onnxd_dnnl_op *op = NULL;
    ONNXD_TRY(onnxd_dnnl_sum_create(c->runtime->dnnl, count_of(&c->outputs[0].shape),
                                    (int)c->query->input_count, &op));
    onnxd_onednn_adopt(kernel, op);
    return NULL;
}

/* ---- Concat ---------------------------------------------------------------------------------- */

static int32_t concat_axis(const onnxd_node *node, int32_t rank)
{
    const onnxd_attribute *attribute = onnxd_node_attribute(node, "axis");
    int64_t axis = attribute != NULL ? attribute->value.i : 1;
    return (int32_t)(axis < 0 ? axis + rank : axis);
}

static bool takes_concat(const onnxd_cpu_case *c)
{
    return onnxd_onednn_takes(c) && c->query->input_count >= 2 && c->outputs[0].shape.rank >= 1;
}

static onnxd_status *make_concat(const onnxd_cpu_case *c, onnxd_cpu_kernel *kernel)
{
    const onnxd_shape *output = &c->outputs[0].shape;
    int32_t axis = concat_axis(c->node, output->rank);
    int64_t lengths[ONNXD_DNNL_MAX_SOURCES], outer = 1, inner = 1;
    for (int32_t i = 0; i < output->rank; i++) {
        if (i < axis)
            outer *= output->dims[i];
        else if (i > axis)
            inner *= output->dims[i];
    }
    for (uint32_t i = 0; i < c->query->input_count; i++)
        lengths[i] = c->query->inputs[i].shape.dims[axis];
    onnxd_dnnl_op *op = NULL;
    ONNXD_TRY(onnxd_dnnl_concat_create(c->runtime->dnnl, outer, inner, (int)c->query->input_count,
                                       lengths, &op));
    onnxd_onednn_adopt(kernel, op);
    return NULL;
}

ONNXD_ONEDNN_IMPLEMENTATION(onnxd_cpu_onednn_relu, takes_relu, make_relu, ONNXD_ONEDNN_SIMPLE);
ONNXD_ONEDNN_IMPLEMENTATION(onnxd_cpu_onednn_add, takes_equal, make_add, ONNXD_ONEDNN_SIMPLE);
ONNXD_ONEDNN_IMPLEMENTATION(onnxd_cpu_onednn_multiply, takes_equal, make_multiply,
                            ONNXD_ONEDNN_SIMPLE);
ONNXD_ONEDNN_IMPLEMENTATION(onnxd_cpu_onednn_sum, takes_equal, make_sum, ONNXD_ONEDNN_SIMPLE);
ONNXD_ONEDNN_IMPLEMENTATION(onnxd_cpu_onednn_concat, takes_concat, make_concat,
                            ONNXD_ONEDNN_SIMPLE);
