/* Conv. */
#include "ep/cpu/onednn.h"
#include "ops/nn.h"

static bool takes(const onnxd_cpu_case *c)
{
    return onnxd_onednn_takes(c);
}

static onnxd_status *make(const onnxd_cpu_case *c, onnxd_cpu_kernel *kernel)
{
    const onnxd_conv_params *params = kernel->node.params;
    const onnxd_shape *input = &c->query->inputs[0].shape, *weights = &c->query->inputs[1].shape;
    onnxd_window_geometry g =
        onnxd_window_resolve(&params->window, input->rank - 2, input->dims + 2, weights->dims + 2);
    onnxd_dnnl_convolution convolution = {.batch = input->dims[0],
                                          .channels = input->dims[1],
                                          .maps = weights->dims[0],
                                          .groups = params->group,
                                          .has_bias = onnxd_cpu_has_input(c, 2),
                                          .weights = onnxd_cpu_constant(c, 1)};
    onnxd_dnnl_window *w = &convolution.window;
    w->spatial = g.spatial;
    for (int i = 0; i < g.spatial; i++) {
        int from = 3 - g.spatial + i;
        w->in[i] = input->dims[2 + i];
        w->out[i] = g.out[from];
        w->kernel[i] = g.kernel[from];
        w->stride[i] = g.stride[from];
        w->dilation[i] = g.dilation[from];
        w->pad_begin[i] = g.pad_begin[from];
        w->pad_end[i] = g.pad_end[from];
    }
    onnxd_dnnl_op *op = NULL;
    ONNXD_TRY(onnxd_dnnl_convolution_create(c->runtime->dnnl, &convolution, &op));
    onnxd_onednn_adopt(kernel, op);
    return NULL;
}

ONNXD_ONEDNN_IMPLEMENTATION(onnxd_cpu_onednn_convolution, takes, make, ONNXD_ONEDNN_ARITHMETIC);
