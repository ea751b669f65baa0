/*
 * Softmax, LogSoftmax and LRN.
 *
 * oneDNN's Softmax makes numbers of a NaN, an infinity and a row of negative infinities, all of
 * which have to give NaN. Its LRN keeps the sum of squares while it goes along the channels, so one
 * value that is far larger than the others takes the precision of those behind it, and an infinity
 * all of it.
 */
#include <float.h>
#include <math.h>
#include <string.h>

#include "ep/cpu/onednn.h"
#include "ops/nn.h"

static bool takes_softmax(const onnxd_cpu_case *c)
{
    return onnxd_onednn_takes(c) && onnxd_onednn_can_fall_back(c);
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

static size_t count_of(const onnxd_tensor_view *view)
{
    size_t count = 1;
    for (int32_t i = 0; i < view->shape.rank; i++)
        count *= (size_t)view->shape.dims[i];
    return count;
}

/* Whether one of the rows along the middle dimension has no value above negative infinity. */
static bool has_empty_row(const float *in, const onnxd_softmax_extent *e)
{
    for (size_t row = 0; row < e->outer * e->inner; row++) {
        const float *at = in + row / e->inner * e->length * e->inner + row % e->inner;
        size_t i = 0;
        while (i < e->length && at[i * e->inner] == -INFINITY)
            i++;
        if (i == e->length)
            return true;
    }
    return false;
}

static onnxd_status *enqueue_softmax(onnxd_cpu_kernel *kernel, const onnxd_kernel_args *args)
{
    const float *in = onnxd_tensor_view_data(&args->inputs[0]);
    size_t count = count_of(&args->inputs[0]);
    int is_odd = 0, has_lowest = 0;
    for (size_t i = 0; i < count; i++) {
        is_odd |= !(in[i] <= FLT_MAX);
        has_lowest |= in[i] < -FLT_MAX;
    }
    if (ONNXD_UNLIKELY(has_lowest && !is_odd)) {
        onnxd_softmax_extent e =
            onnxd_softmax_extent_of(kernel->node.params, &args->inputs[0].shape);
        is_odd = has_empty_row(in, &e);
    }
    return ONNXD_UNLIKELY(is_odd) ? onnxd_onednn_fall_back(kernel, args)
                                  : onnxd_onednn_enqueue(kernel, args);
}

/* oneDNN sums over as many channels on both sides, so an even size is not its. */
static bool takes_lrn(const onnxd_cpu_case *c)
{
    const onnxd_lrn_params *params = c->node->params;
    int32_t rank = c->query->inputs[0].shape.rank;
    return onnxd_onednn_takes(c) && onnxd_onednn_can_fall_back(c) && rank >= 3 && rank <= 5 &&
           params->size % 2 == 1;
}

/* What the sum may be off by without being seen next to the bias: 1e-5 of it. */
static float lrn_limit(const onnxd_lrn_params *params, const onnxd_shape *shape)
{
    double rounding = (double)FLT_EPSILON / 2 * (double)shape->dims[1];
    double allowed = 1e-5 * fabs((double)params->bias);
    double share = fabs((double)params->alpha) / (double)params->size * rounding;
    return share > 0 ? (float)fmin(sqrt(allowed / share), 1e15) : 1e15f;
}

static onnxd_status *enqueue_lrn(onnxd_cpu_kernel *kernel, const onnxd_kernel_args *args)
{
    const float *in = onnxd_tensor_view_data(&args->inputs[0]);
    size_t count = count_of(&args->inputs[0]);
    float limit = lrn_limit(kernel->node.params, &args->inputs[0].shape);
    int is_odd = 0;
    for (size_t i = 0; i < count; i++)
        is_odd |= !(fabsf(in[i]) <= limit);
    return ONNXD_UNLIKELY(is_odd) ? onnxd_onednn_fall_back(kernel, args)
                                  : onnxd_onednn_enqueue(kernel, args);
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

ONNXD_ONEDNN_GUARDED(onnxd_cpu_onednn_softmax, takes_softmax, make_softmax, enqueue_softmax,
                     ONNXD_ONEDNN_SIMPLE);
ONNXD_ONEDNN_GUARDED(onnxd_cpu_onednn_lrn, takes_lrn, make_lrn, enqueue_lrn, ONNXD_ONEDNN_SIMPLE);
