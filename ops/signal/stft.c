/* STFT: transforms of frames of a signal [batch, length, parts], each weighted by a window. */
#include <inttypes.h>

#include "base/size_math.h"
#include "ops/ops.h"
#include "ops/real.h"
#include "ops/signal/fft.h"
#include "ops/signal/number.h"
#include "ops/support.h"
#include "ops/types.h"

enum { SIGNAL, STEP, WINDOW, LENGTH };

typedef struct stft_params {
    bool is_onesided;
} stft_params;

static onnxd_status *parse(const onnxd_node *node, int64_t opset, onnxd_arena *arena, void *params)
{
    (void)opset, (void)arena;
    static const char *const names[] = {"onesided", NULL};
    int64_t onesided = 1;
    ONNXD_TRY(onnxd_attributes_allow(node, names));
    ONNXD_TRY(onnxd_attribute_int(node, "onesided", 0, 1, &onesided));
    ((stft_params *)params)->is_onesided = onesided != 0;
    return NULL;
}

static onnxd_status *check_shapes(const onnxd_infer *infer)
{
    const stft_params *p = infer->params;
    const onnxd_shape *signal = &infer->inputs[SIGNAL].shape;
    if (signal->rank >= 0 && signal->rank != 3)
        return onnxd_op_error(infer->node, "input 0 has rank %" PRId32 ", allowed is 3",
                              signal->rank);
    if (signal->rank == 3 && onnxd_dim_is_static(signal->dims[2]) && signal->dims[2] != 1 &&
        (signal->dims[2] != 2 || p->is_onesided))
        return onnxd_op_error(
            infer->node, "the last dimension of input 0 is %" PRId64 ", allowed is %s",
            signal->dims[2], p->is_onesided ? "1 for a one-sided transform" : "1 or 2");
    if (onnxd_op_has_input(infer->node, WINDOW) && infer->inputs[WINDOW].shape.rank >= 0 &&
        infer->inputs[WINDOW].shape.rank != 1)
        return onnxd_op_error(infer->node, "input 2 has rank %" PRId32 ", allowed is 1",
                              infer->inputs[WINDOW].shape.rank);
    return NULL;
}

/* Elements of a frame: as input 3 says, else those of the window, else all of the signal. They must
 * agree. `given` is ONNXD_DIM_UNKNOWN where input 3 is absent or not known. */
static onnxd_status *frame_length(const onnxd_node *node, int64_t given, const onnxd_shape *window,
                                  int64_t signal_length, bool has_given, int64_t *out_length)
{
    int64_t length = given;
    if (window != NULL && window->rank == 1 && onnxd_dim_is_static(window->dims[0])) {
        if (onnxd_dim_is_static(given) && given != window->dims[0])
            return onnxd_op_error(node,
                                  "the window has %" PRId64 " elements, input 3 says %" PRId64,
                                  window->dims[0], given);
        length = window->dims[0];
    } else if (window == NULL && !has_given) {
        length = signal_length;
    }
    if (onnxd_dim_is_static(length) && length < 1)
        return onnxd_op_error(node, "frames have %" PRId64 " elements, needed is 1 or more",
                              length);
    if (onnxd_dim_is_static(length) && onnxd_dim_is_static(signal_length) && length > signal_length)
        return onnxd_op_error(node,
                              "frames have %" PRId64 " elements, more than the signal's %" PRId64,
                              length, signal_length);
    *out_length = length;
    return NULL;
}

static void output_shape(const stft_params *p, int64_t batch, int64_t signal_length, int64_t step,
                         int64_t length, onnxd_shape *out_shape)
{
    *out_shape = onnxd_shape_of_rank(4);
    out_shape->dims[0] = batch;
    out_shape->dims[3] = 2;
    if (!onnxd_dim_is_static(length))
        return;
    out_shape->dims[2] = p->is_onesided ? length / 2 + 1 : length;
    if (onnxd_dim_is_static(step) && onnxd_dim_is_static(signal_length))
        out_shape->dims[1] = (signal_length - length) / step + 1;
}

static onnxd_status *infer(onnxd_infer *infer)
{
    const onnxd_shape *signal = &infer->inputs[SIGNAL].shape;
    int64_t step = ONNXD_DIM_UNKNOWN, given = ONNXD_DIM_UNKNOWN, length = ONNXD_DIM_UNKNOWN;
    int64_t batch = ONNXD_DIM_UNKNOWN, signal_length = ONNXD_DIM_UNKNOWN;
    bool is_known;
    infer->outputs[0].dtype = infer->inputs[SIGNAL].dtype;
    ONNXD_TRY(check_shapes(infer));
    if (signal->rank == 3) {
        batch = signal->dims[0];
        signal_length = signal->dims[1];
    }
    ONNXD_TRY(onnxd_signal_infer_int(infer, STEP, 1, INT64_MAX, &step, &is_known));
    ONNXD_TRY(onnxd_signal_infer_int(infer, LENGTH, 1, INT64_MAX, &given, &is_known));
    ONNXD_TRY(
        frame_length(infer->node, given,
                     onnxd_op_has_input(infer->node, WINDOW) ? &infer->inputs[WINDOW].shape : NULL,
                     signal_length, onnxd_op_has_input(infer->node, LENGTH), &length));
    output_shape(infer->params, batch, signal_length, step, length, &infer->outputs[0].shape);
    return NULL;
}

static bool add_frame_bytes(size_t length, size_t *inout_most)
{
    size_t bytes, line;
    if (length == 0)
        return true;
    if (!onnxd_fft_bytes(length, &bytes) || !onnxd_size_mul(length, sizeof(onnxd_complex), &line) ||
        !onnxd_size_add(bytes, line, &bytes))
        return false;
    *inout_most = bytes > *inout_most ? bytes : *inout_most;
    return true;
}

/* A plan and one frame; a one-sided output is that of two lengths. */
static size_t workspace_bytes(const onnxd_compute *compute)
{
    const stft_params *p = compute->params;
    size_t bins = (size_t)compute->outputs[0].shape.dims[2], twice, most = 0;
    if (onnxd_tensor_view_count(&compute->outputs[0]) == 0)
        return 0;
    if (!p->is_onesided)
        return add_frame_bytes(bins, &most) ? most : SIZE_MAX;
    if (onnxd_size_mul(bins, 2, &twice) && add_frame_bytes(twice - 2, &most) &&
        add_frame_bytes(twice - 1, &most))
        return most;
    return SIZE_MAX;
}

/* The frame that starts at number `first` of the signal. */
static void load_frame(const onnxd_tensor_view *signal, const onnxd_tensor_view *window,
                       size_t first, size_t length, onnxd_complex *frame)
{
    size_t parts = (size_t)signal->shape.dims[2];
    const void *in = onnxd_tensor_view_data(signal);
    for (size_t k = 0; k < length; k++) {
        double weight =
            window == NULL ? 1 : onnxd_real_load(window->dtype, onnxd_tensor_view_data(window), k);
        frame[k].re = weight * onnxd_real_load(signal->dtype, in, (first + k) * parts);
        frame[k].im =
            parts == 1 ? 0 : weight * onnxd_real_load(signal->dtype, in, (first + k) * parts + 1);
    }
}

static onnxd_status *compute(const onnxd_compute *compute)
{
    const onnxd_tensor_view *inputs = compute->inputs, *output = &compute->outputs[0];
    const onnxd_tensor_view *signal = &inputs[SIGNAL], *window = NULL;
    int64_t step, given = ONNXD_DIM_UNKNOWN, length;
    onnxd_shape shape;
    bool has_given = compute->input_count > LENGTH && onnxd_tensor_view_is_present(&inputs[LENGTH]);
    if (compute->input_count > WINDOW && onnxd_tensor_view_is_present(&inputs[WINDOW]))
        window = &inputs[WINDOW];
    ONNXD_TRY(onnxd_signal_int(compute->node, STEP, &inputs[STEP], 1, INT64_MAX, &step));
    if (has_given)
        ONNXD_TRY(onnxd_signal_int(compute->node, LENGTH, &inputs[LENGTH], 1, INT64_MAX, &given));
    ONNXD_TRY(frame_length(compute->node, given, window == NULL ? NULL : &window->shape,
                           signal->shape.dims[1], has_given, &length));
    output_shape(compute->params, signal->shape.dims[0], signal->shape.dims[1], step, length,
                 &shape);
    ONNXD_TRY(onnxd_op_check_output(compute, 0, &shape));
    if (onnxd_tensor_view_count(output) == 0)
        return NULL;
    size_t n = (size_t)length, frames = (size_t)shape.dims[1], bins = (size_t)shape.dims[2];
    size_t at = 0;
    onnxd_complex *frame = compute->workspace;
    void *out = onnxd_tensor_view_data(output);
    onnxd_fft fft;
    onnxd_fft_init(&fft, n, false, frame + n);
    for (size_t i = 0; i < (size_t)shape.dims[0] * frames; i++) {
        size_t first = i / frames * (size_t)signal->shape.dims[1] + i % frames * (size_t)step;
        load_frame(signal, window, first, n, frame);
        onnxd_fft_run(&fft, frame);
        for (size_t k = 0; k < bins; k++) {
            onnxd_real_store(output->dtype, out, at++, frame[k].re);
            onnxd_real_store(output->dtype, out, at++, frame[k].im);
        }
    }
    return NULL;
}

const onnxd_op_def onnxd_op_stft[] = {
    {.op_type = "STFT",
     .domain = "",
     .since = 17,
     .until = ONNXD_OPSET_MAX,
     .min_inputs = 2,
     .max_inputs = 4,
     .min_outputs = 1,
     .max_outputs = 1,
     .inputs = {{.types = ONNXD_SET_FLOATS, .type_variable = 1},
                {.types = ONNXD_SET_INDEX, .type_variable = 2},
                {.types = ONNXD_SET_FLOATS, .type_variable = 1, .is_optional = true},
                {.types = ONNXD_SET_INDEX, .type_variable = 2, .is_optional = true}},
     .outputs = {{.types = ONNXD_SET_FLOATS, .type_variable = 1}},
     .params_bytes = sizeof(stft_params),
     .parse = parse,
     .infer = infer,
     .shape_inputs = 1u << STEP | 1u << LENGTH,
     .workspace_bytes = workspace_bytes,
     .compute = compute},
    {.op_type = NULL},
};
