/* Add, Mul and the Sum of two inputs where nothing is broadcast. */
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

/* Two inputs of the shape of the output. */
static bool takes_equal(const onnxd_cpu_case *c)
{
    if (!onnxd_onednn_takes(c) || c->query->input_count != 2)
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

ONNXD_ONEDNN_IMPLEMENTATION(onnxd_cpu_onednn_add, takes_equal, make_add, ONNXD_ONEDNN_SIMPLE);
ONNXD_ONEDNN_IMPLEMENTATION(onnxd_cpu_onednn_multiply, takes_equal, make_multiply,
                            ONNXD_ONEDNN_SIMPLE);
