/* Softmax, LogSoftmax and LRN. */
#include <string.h>

#include "ep/cpu/onednn.h"
#include "ops/nn.h"

static bool takes_softmax(const onnxd_cpu_case *c)
{
    return onnxd_onednn_takes(c);
}

static onnxd_status *make_softmax(const onnxd_cpu_case *c, onnxd_cpu_kernel *kernel)
{
    const onnxd_softmax_params *params = kernel->node.params;
    onnxd_softmax_extent e = onnxd_softmax_extent_of(params, &c->query->inputs[0].shape);
    onnxd_dnnl_op *op = NULL;
    ONNXD_TRY(onnxd_dnnl_softmax_create(c->runtime->dnnl, (int64_t)e.outer, (int64_t)e.length,
                                        (int64_t)e.inner, params->is_log, &op));
    onnxd_onednn_adopt(kernel, op);
    return NULL;
}

/* oneDNN sums over as many channels on both sides, so an even size is not its. */
static bool takes_lrn(const onnxd_cpu_case *c)
{
    const onnxd_lrn_params *params = c->node->params;
    int32_t rank = c->query->inputs[0].shape.rank;
    return onnxd_onednn_takes(c) && rank >= 3 && rank <= 5 && params->size % 2 == 1;
}

static onnxd_status *make_lrn(const onnxd_cpu_case *c, onnxd_cpu_kernel *kernel)
{
    const onnxd_lrn_params *params = kernel->node.params;
    const onnxd_shape *input = &c->query->inputs[0].shape;
    onnxd_dnnl_lrn lrn = {.rank = input->rank,
                          .size = params->size,
                          .alpha = params->alpha,
                          .beta = params->beta,
                          .bias = params->bias};
    memcpy(lrn.dims, input->dims, (size_t)input->rank * sizeof(*lrn.dims));
    onnxd_dnnl_op *op = NULL;
    ONNXD_TRY(onnxd_dnnl_lrn_create(c->runtime->dnnl, &lrn, &op));
    onnxd_onednn_adopt(kernel, op);
    return NULL;
}

ONNXD_ONEDNN_IMPLEMENTATION(onnxd_cpu_onednn_softmax, takes_softmax, make_softmax,
                            ONNXD_ONEDNN_SIMPLE);
ONNXD_ONEDNN_IMPLEMENTATION(onnxd_cpu_onednn_lrn, takes_lrn, make_lrn, ONNXD_ONEDNN_SIMPLE);
