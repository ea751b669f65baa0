/*
 * MaxPool, AveragePool and the global pools.
 *
 * oneDNN begins a maximum with the lowest finite number, so a window of negative infinities gives
 * that in their place.
 */
#include <float.h>
#include <string.h>

#include "ep/cpu/onednn.h"
#include "ops/nn.h"

static bool is_average(const onnxd_cpu_case *c)
{
    return strcmp(c->def->op_type, "AveragePool") == 0 ||
           strcmp(c->def->op_type, "GlobalAveragePool") == 0;
}

/* Windows as oneDNN counts them; false for those that it would count otherwise. */
static bool window_of(const onnxd_pool_params *params, const onnxd_shape *input, bool averages_pads,
                      onnxd_dnnl_window *out_window)
{
    onnxd_window_geometry g =
        onnxd_window_resolve(&params->window, input->rank - 2, input->dims + 2, NULL);
    onnxd_dnnl_window w = {.spatial = g.spatial};
    for (int i = 0; i < g.spatial; i++) {
        int from = 3 - g.spatial + i;
        w.in[i] = input->dims[2 + i];
        w.out[i] = g.out[from];
        w.kernel[i] = g.kernel[from];
        w.stride[i] = g.stride[from];
        w.dilation[i] = 1;
        w.pad_begin[i] = g.pad_begin[from];
        w.pad_end[i] = g.pad_end[from];
        if (g.dilation[from] != 1)
            return false;
        /* In ceil mode the last window may end beyond the padding, which then grows. */
        int64_t needed = (w.out[i] - 1) * w.stride[i] + w.kernel[i] - w.in[i] - w.pad_begin[i];
        if (needed > w.pad_end[i]) {
            if (averages_pads)
                return false;
            w.pad_end[i] = needed;
        }
    }
    *out_window = w;
    return true;
}

static bool takes_pool(const onnxd_cpu_case *c)
{
    const onnxd_pool_params *params = c->node->params;
    onnxd_dnnl_window window;
    if (!onnxd_onednn_takes(c) || onnxd_cpu_has_output(c, 1))
        return false;
    return !c->is_static || window_of(params, &c->query->inputs[0].shape,
                                      is_average(c) && params->counts_pads, &window);
}

static onnxd_status *make_any(const onnxd_cpu_case *c, onnxd_dnnl_pool kind,
                              const onnxd_dnnl_window *window, onnxd_cpu_kernel *kernel)
{
    const onnxd_shape *input = &c->query->inputs[0].shape;
    onnxd_dnnl_op *op = NULL;
    ONNXD_TRY(onnxd_dnnl_pool_create(c->runtime->dnnl, kind, window, input->dims[0], input->dims[1],
                                     &op));
    onnxd_onednn_adopt(kernel, op);
    return NULL;
}

static onnxd_status *make_pool(const onnxd_cpu_case *c, onnxd_cpu_kernel *kernel)
{
    const onnxd_pool_params *params = kernel->node.params;
    bool averages_pads = is_average(c) && params->counts_pads;
    onnxd_dnnl_pool kind = !is_average(c)  ? ONNXD_DNNL_POOL_MAX
                           : averages_pads ? ONNXD_DNNL_POOL_AVERAGE_WITH_PADS
                                           : ONNXD_DNNL_POOL_AVERAGE;
    onnxd_dnnl_window window;
    if (!window_of(params, &c->query->inputs[0].shape, averages_pads, &window))
        return onnxd_error(ONNXD_UNIMPLEMENTED, "oneDNN counts these windows otherwise");
    return make_any(c, kind, &window, kernel);
}

static bool takes_global(const onnxd_cpu_case *c)
{
    int32_t rank = c->query->inputs[0].shape.rank;
    return onnxd_onednn_takes(c) && rank >= 3 && rank <= 5;
}

/* One window over everything. */
static onnxd_status *make_global(const onnxd_cpu_case *c, onnxd_cpu_kernel *kernel)
{
    const onnxd_shape *input = &c->query->inputs[0].shape;
    onnxd_dnnl_window window = {.spatial = input->rank - 2};
    for (int i = 0; i < window.spatial; i++) {
        window.in[i] = window.kernel[i] = input->dims[2 + i];
        window.out[i] = window.stride[i] = window.dilation[i] = 1;
    }
    return make_any(c, is_average(c) ? ONNXD_DNNL_POOL_AVERAGE : ONNXD_DNNL_POOL_MAX, &window,
                    kernel);
}

static bool takes_max_pool(const onnxd_cpu_case *c)
{
    return takes_pool(c) && onnxd_onednn_can_fall_back(c);
}

static bool takes_global_max(const onnxd_cpu_case *c)
{
    return takes_global(c) && onnxd_onednn_can_fall_back(c);
}

static onnxd_status *enqueue_max(onnxd_cpu_kernel *kernel, const onnxd_kernel_args *args)
{
    ONNXD_TRY(onnxd_onednn_enqueue(kernel, args));
    const float *out = onnxd_tensor_view_data(&args->outputs[0]);
    const onnxd_shape *shape = &args->outputs[0].shape;
    size_t count = 1;
    for (int32_t i = 0; i < shape->rank; i++)
        count *= (size_t)shape->dims[i];
    int is_odd = 0;
    for (size_t i = 0; i < count; i++)
        is_odd |= !(out[i] > -FLT_MAX);
    return ONNXD_UNLIKELY(is_odd) ? onnxd_onednn_fall_back(kernel, args) : NULL;
}

ONNXD_ONEDNN_IMPLEMENTATION(onnxd_cpu_onednn_average_pool, takes_pool, make_pool,
                            ONNXD_ONEDNN_SIMPLE);
ONNXD_ONEDNN_IMPLEMENTATION(onnxd_cpu_onednn_global_average, takes_global, make_global,
                            ONNXD_ONEDNN_SIMPLE);
ONNXD_ONEDNN_GUARDED(onnxd_cpu_onednn_max_pool, takes_max_pool, make_pool, enqueue_max,
                     ONNXD_ONEDNN_SIMPLE);
ONNXD_ONEDNN_GUARDED(onnxd_cpu_onednn_global_max, takes_global_max, make_global, enqueue_max,
                     ONNXD_ONEDNN_SIMPLE);
