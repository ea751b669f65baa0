/* HannWindow, HammingWindow and BlackmanWindow: `size` samples of a window of that period, or, when
 * not periodic, of one that ends with the last sample. Integers are cut. */
#include <math.h>

#include "ops/convert.h"
#include "ops/ops.h"
#include "ops/signal/number.h"
#include "ops/support.h"
#include "ops/types.h"

#define PI 3.14159265358979323846

typedef struct window_params {
    bool is_periodic;
    onnxd_dtype dtype;
} window_params;

static onnxd_status *parse(const onnxd_node *node, int64_t opset, onnxd_arena *arena, void *params)
{
    (void)opset, (void)arena;
    static const char *const names[] = {"output_datatype", "periodic", NULL};
    window_params *p = params;
    int64_t periodic = 1;
    ONNXD_TRY(onnxd_attributes_allow(node, names));
    ONNXD_TRY(onnxd_attribute_int(node, "periodic", 0, 1, &periodic));
    p->is_periodic = periodic != 0;
    return onnxd_signal_parse_type(node, &p->dtype);
}

static onnxd_status *infer(onnxd_infer *infer)
{
    const window_params *p = infer->params;
    int64_t size = ONNXD_DIM_UNKNOWN;
    bool is_known;
    ONNXD_TRY(onnxd_signal_infer_int(infer, 0, 0, INT64_MAX, &size, &is_known));
    infer->outputs[0].dtype = p->dtype;
    infer->outputs[0].shape = onnxd_shape_of_rank(1);
    infer->outputs[0].shape.dims[0] = size;
    return NULL;
}

/* A window at `phase` in [0, 1] of its period. */
typedef double (*window_function)(double phase);

static double hann(double phase)
{
    double root = sin(PI * phase);
    return root * root;
}

/* The coefficient is Hamming's before it was rounded to 0.54. */
static double hamming(double phase)
{
    double alpha = 25.0 / 46.0;
    return alpha - (1 - alpha) * cos(2 * PI * phase);
}

static double blackman(double phase)
{
    /* In this order the middle is 1, not a little less, which integers would cut to 0. */
    return -0.5 * cos(2 * PI * phase) + 0.08 * cos(4 * PI * phase) + 0.42;
}

static onnxd_status *run(const onnxd_compute *compute, window_function function)
{
    static const onnxd_rounding unused = {.saturates = true};
    const window_params *p = compute->params;
    const onnxd_tensor_view *output = &compute->outputs[0];
    onnxd_shape shape = {.rank = 1};
    ONNXD_TRY(
        onnxd_signal_int(compute->node, 0, &compute->inputs[0], 0, INT64_MAX, &shape.dims[0]));
    ONNXD_TRY(onnxd_op_check_output(compute, 0, &shape));
    size_t size = (size_t)shape.dims[0];
    double period = (double)(p->is_periodic ? size : size - 1);
    onnxd_wide values[ONNXD_WIDE_CHUNK];
    for (size_t first = 0; first < size; first += ONNXD_WIDE_CHUNK) {
        size_t count = size - first < ONNXD_WIDE_CHUNK ? size - first : ONNXD_WIDE_CHUNK;
        for (size_t i = 0; i < count; i++)
            values[i].f = period == 0 ? 1 : function((double)(first + i) / period);
        onnxd_wide_store(output->dtype, ONNXD_WIDE_FLOAT, values, count, &unused,
                         onnxd_tensor_view_data(output), first);
    }
    return NULL;
}

#define DEFINE_COMPUTE(function)                                                                   \
    static onnxd_status *compute_##function(const onnxd_compute *compute)                          \
    {                                                                                              \
        return run(compute, function);                                                             \
    }
DEFINE_COMPUTE(hann)
DEFINE_COMPUTE(hamming)
DEFINE_COMPUTE(blackman)

#define ROW(name, function)                                                                        \
    {                                                                                              \
        .op_type = name, .domain = "", .since = 17, .until = ONNXD_OPSET_MAX, .min_inputs = 1,     \
        .max_inputs = 1, .min_outputs = 1, .max_outputs = 1,                                       \
        .inputs = {{.types = ONNXD_SET_INDEX}}, .outputs = {{.types = ONNXD_SET_NUMBERS}},         \
        .params_bytes = sizeof(window_params), .parse = parse, .infer = infer,                     \
        .shape_inputs = 1u << 0, .compute = compute_##function                                     \
    }

const onnxd_op_def onnxd_op_signal_window[] = {
    ROW("HannWindow", hann),
    ROW("HammingWindow", hamming),
    ROW("BlackmanWindow", blackman),
    {.op_type = NULL},
};
