/* DFT along one axis of a tensor whose last dimension holds a real number (1) or real and
 * imaginary part (2). One-sided: forward, the non-redundant half of a real signal's spectrum;
 * inverse, the real signal of such a half. The axis is an attribute in opset 17 and input 2 since
 * 20. */
#include <inttypes.h>

#include "base/size_math.h"
#include "ops/ops.h"
#include "ops/real.h"
#include "ops/signal/fft.h"
#include "ops/signal/number.h"
#include "ops/support.h"
#include "ops/types.h"

enum { SIGNAL, LENGTH, AXIS };

typedef struct dft_params {
    bool is_inverse, is_onesided;
    int64_t axis; /* where input 2 does not give it */
} dft_params;

static onnxd_status *parse(const onnxd_node *node, int64_t opset, onnxd_arena *arena, void *params)
{
    (void)arena;
    static const char *const names_17[] = {"axis", "inverse", "onesided", NULL};
    static const char *const names_20[] = {"inverse", "onesided", NULL};
    dft_params *p = params;
    int64_t inverse = 0, onesided = 0;
    p->axis = opset < 20 ? 1 : -2;
    ONNXD_TRY(onnxd_attributes_allow(node, opset < 20 ? names_17 : names_20));
    ONNXD_TRY(onnxd_attribute_int(node, "axis", -ONNXD_MAX_RANK, ONNXD_MAX_RANK - 1, &p->axis));
    ONNXD_TRY(onnxd_attribute_int(node, "inverse", 0, 1, &inverse));
    ONNXD_TRY(onnxd_attribute_int(node, "onesided", 0, 1, &onesided));
    p->is_inverse = inverse != 0;
    p->is_onesided = onesided != 0;
    return NULL;
}

/* ---- shapes ---------------------------------------------------------------------------------- */

static onnxd_status *resolve_axis(const onnxd_node *node, int64_t axis, int32_t rank,
                                  int32_t *out_axis)
{
    int32_t resolved;
    ONNXD_TRY(onnxd_op_axis(node, "axis", axis, rank, &resolved));
    if (resolved == rank - 1)
        return onnxd_op_error(
            node, "axis is %" PRId64 ", the last dimension, which holds the parts of a number",
            axis);
    *out_axis = resolved;
    return NULL;
}

static onnxd_status *check_signal(const onnxd_infer *infer)
{
    const dft_params *p = infer->params;
    const onnxd_shape *shape = &infer->inputs[SIGNAL].shape;
    if (shape->rank < 2)
        return onnxd_op_error(infer->node, "input 0 has rank %" PRId32 ", needed is 2 or more",
                              shape->rank);
    int64_t parts = shape->dims[shape->rank - 1];
    if (!onnxd_dim_is_static(parts))
        return NULL;
    bool fits = p->is_onesided ? parts == (p->is_inverse ? 2 : 1) : parts == 1 || parts == 2;
    if (fits)
        return NULL;
    return onnxd_op_error(infer->node,
                          "the last dimension of input 0 is %" PRId64 ", allowed is %s", parts,
                          !p->is_onesided ? "1 or 2"
                          : p->is_inverse ? "2 for a one-sided inverse transform"
                                          : "1 for a one-sided transform");
}

/* The default length over `dim` elements, and the extent of a transform's output. */
static int64_t default_length(const dft_params *p, int64_t dim)
{
    if (!p->is_inverse || !p->is_onesided)
        return dim;
    return dim > INT64_MAX / 2 ? INT64_MAX : 2 * (dim - 1);
}

static int64_t output_dim(const dft_params *p, int64_t length)
{
    return p->is_onesided && !p->is_inverse ? length / 2 + 1 : length;
}

static onnxd_status *check_length(const onnxd_node *node, int64_t length)
{
    if (length >= 1)
        return NULL;
    return onnxd_op_error(node, "the length of the transform is %" PRId64 ", needed is 1 or more",
                          length);
}

/* What becomes of the axis. */
static onnxd_status *infer_axis(const onnxd_infer *infer, int32_t axis)
{
    const dft_params *p = infer->params;
    int64_t *dim = &infer->outputs[0].shape.dims[axis];
    int64_t length = ONNXD_DIM_UNKNOWN;
    bool is_known;
    ONNXD_TRY(onnxd_signal_infer_int(infer, LENGTH, 1, INT64_MAX, &length, &is_known));
    if (!onnxd_op_has_input(infer->node, LENGTH)) {
        if (!onnxd_dim_is_static(*dim) && !p->is_onesided)
            return NULL; /* the symbol stays */
        is_known = onnxd_dim_is_static(*dim);
        length = is_known ? default_length(p, *dim) : length;
        if (is_known)
            ONNXD_TRY(check_length(infer->node, length));
    }
    *dim = is_known ? output_dim(p, length) : ONNXD_DIM_UNKNOWN;
    return NULL;
}

static onnxd_status *infer(onnxd_infer *infer)
{
    const dft_params *p = infer->params;
    onnxd_tensor_type *output = &infer->outputs[0];
    const onnxd_shape *input = &infer->inputs[SIGNAL].shape;
    output->dtype = infer->inputs[SIGNAL].dtype;
    if (input->rank < 0)
        return NULL;
    ONNXD_TRY(check_signal(infer));
    int64_t axis = p->axis;
    bool is_known;
    ONNXD_TRY(onnxd_signal_infer_int(infer, AXIS, INT64_MIN, INT64_MAX, &axis, &is_known));
    output->shape = onnxd_shape_of_rank(input->rank);
    if (is_known || !onnxd_op_has_input(infer->node, AXIS)) {
        int32_t resolved = 0;
        ONNXD_TRY(resolve_axis(infer->node, axis, input->rank, &resolved));
        output->shape = *input;
        ONNXD_TRY(infer_axis(infer, resolved));
    }
    output->shape.dims[input->rank - 1] = p->is_onesided && p->is_inverse ? 1 : 2;
    return NULL;
}

/* ---- kernel ---------------------------------------------------------------------------------- */

static bool add_line_bytes(size_t length, size_t *inout_most)
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

/* A plan and one line. Values of inputs are not known here: a one-sided output is that of two
 * lengths, and an axis that is an input may be any. */
static size_t workspace_bytes(const onnxd_compute *compute)
{
    const dft_params *p = compute->params;
    const onnxd_shape *shape = &compute->outputs[0].shape;
    bool has_axis =
        compute->input_count > AXIS && onnxd_tensor_view_is_present(&compute->inputs[AXIS]);
    int64_t axis = p->axis < 0 ? p->axis + shape->rank : p->axis;
    size_t most = 0;
    if (onnxd_tensor_view_count(&compute->outputs[0]) == 0)
        return 0;
    for (int32_t i = 0; i + 1 < shape->rank; i++) {
        size_t dim = (size_t)shape->dims[i], longest = dim;
        bool is_half = p->is_onesided && !p->is_inverse;
        if (!has_axis && i != axis)
            continue;
        if (is_half && !onnxd_size_mul(dim, 2, &longest))
            return SIZE_MAX;
        if (!(is_half ? add_line_bytes(longest - 2, &most) && add_line_bytes(longest - 1, &most)
                      : add_line_bytes(dim, &most)))
            return SIZE_MAX;
    }
    return most;
}

/* How lines lie in memory: elements are `inner` numbers apart. */
typedef struct lines {
    const dft_params *params;
    onnxd_dtype dtype;
    size_t in_dim, out_dim, inner, in_parts, out_parts;
    const void *in;
    void *out;
} lines;

/* Line number (outer, inner), as many elements as the transform takes; the rest are zeros. An
 * inverse transform has its parts swapped. */
static void load_line(const lines *l, size_t outer, size_t inner, size_t length,
                      onnxd_complex *line)
{
    bool mirrors = l->params->is_inverse && l->params->is_onesided;
    size_t wanted = mirrors ? length / 2 + 1 : length;
    size_t count = l->in_dim < wanted ? l->in_dim : wanted;
    for (size_t k = 0; k < length; k++) {
        onnxd_complex value = {0, 0};
        size_t at = ((outer * l->in_dim + k) * l->inner + inner) * l->in_parts;
        if (k < count) {
            value.re = onnxd_real_load(l->dtype, l->in, at);
            if (l->in_parts == 2)
                value.im = onnxd_real_load(l->dtype, l->in, at + 1);
        }
        line[k] = l->params->is_inverse ? (onnxd_complex){value.im, value.re} : value;
    }
    /* The other half is the conjugate of the first, which is swapped. */
    for (size_t k = wanted; mirrors && k < length; k++)
        line[k] = (onnxd_complex){-line[length - k].re, line[length - k].im};
}

static void store_line(const lines *l, size_t outer, size_t inner, size_t length,
                       const onnxd_complex *line)
{
    double divisor = (double)length;
    for (size_t k = 0; k < l->out_dim; k++) {
        onnxd_complex value = line[k];
        size_t at = ((outer * l->out_dim + k) * l->inner + inner) * l->out_parts;
        if (l->params->is_inverse)
            value = (onnxd_complex){line[k].im / divisor, line[k].re / divisor};
        onnxd_real_store(l->dtype, l->out, at, value.re);
        if (l->out_parts == 2)
            onnxd_real_store(l->dtype, l->out, at + 1, value.im);
    }
}

/* The axis, the length and the output that they make. */
static onnxd_status *read_inputs(const onnxd_compute *compute, int32_t *out_axis,
                                 int64_t *out_length)
{
    const dft_params *p = compute->params;
    const onnxd_tensor_view *inputs = compute->inputs;
    onnxd_shape shape = inputs[SIGNAL].shape;
    int64_t axis = p->axis;
    if (compute->input_count > AXIS && onnxd_tensor_view_is_present(&inputs[AXIS]))
        ONNXD_TRY(
            onnxd_signal_int(compute->node, AXIS, &inputs[AXIS], INT64_MIN, INT64_MAX, &axis));
    ONNXD_TRY(resolve_axis(compute->node, axis, shape.rank, out_axis));
    *out_length = default_length(p, shape.dims[*out_axis]);
    if (compute->input_count > LENGTH && onnxd_tensor_view_is_present(&inputs[LENGTH]))
        ONNXD_TRY(
            onnxd_signal_int(compute->node, LENGTH, &inputs[LENGTH], 1, INT64_MAX, out_length));
    ONNXD_TRY(check_length(compute->node, *out_length));
    shape.dims[*out_axis] = output_dim(p, *out_length);
    shape.dims[shape.rank - 1] = p->is_onesided && p->is_inverse ? 1 : 2;
    return onnxd_op_check_output(compute, 0, &shape);
}

static onnxd_status *compute(const onnxd_compute *compute)
{
    const onnxd_tensor_view *input = &compute->inputs[SIGNAL], *output = &compute->outputs[0];
    int32_t axis = 0, rank = input->shape.rank;
    int64_t length;
    ONNXD_TRY(read_inputs(compute, &axis, &length));
    if (onnxd_tensor_view_count(output) == 0)
        return NULL;
    lines l = {.params = compute->params,
               .dtype = input->dtype,
               .in_dim = (size_t)input->shape.dims[axis],
               .out_dim = (size_t)output->shape.dims[axis],
               .inner = 1,
               .in_parts = (size_t)input->shape.dims[rank - 1],
               .out_parts = (size_t)output->shape.dims[rank - 1],
               .in = onnxd_tensor_view_data(input),
               .out = onnxd_tensor_view_data(output)};
    size_t outer = 1, n = (size_t)length;
    for (int32_t i = 0; i + 1 < rank; i++) {
        if (i < axis)
            outer *= (size_t)input->shape.dims[i];
        else if (i > axis)
            l.inner *= (size_t)input->shape.dims[i];
    }
    onnxd_complex *line = compute->workspace;
    onnxd_fft fft;
    /* Complex numbers of float are transformed in float. Others do so too, and where a result
     * cancels to 0, the noise that is left of it is all there is to agree on. */
    onnxd_fft_init(&fft, n, l.in_parts == 2 && input->dtype != ONNXD_DOUBLE, line + n);
    for (size_t o = 0; o < outer; o++) {
        for (size_t i = 0; i < l.inner; i++) {
            load_line(&l, o, i, n, line);
            onnxd_fft_run(&fft, line);
            store_line(&l, o, i, n, line);
        }
    }
    return NULL;
}

#define COMMON(first, last, inputs_max)                                                            \
    .op_type = "DFT", .domain = "", .since = first, .until = last, .min_inputs = 1,                \
    .max_inputs = inputs_max, .min_outputs = 1, .max_outputs = 1,                                  \
    .inputs = {{.types = ONNXD_SET_FLOATS, .type_variable = 1},                                    \
               {.types = ONNXD_SET_INDEX, .is_optional = true},                                    \
               {.types = ONNXD_SET(INT64), .is_optional = true}},                                  \
    .outputs = {{.types = ONNXD_SET_FLOATS, .type_variable = 1}},                                  \
    .params_bytes = sizeof(dft_params), .parse = parse, .infer = infer,                            \
    .workspace_bytes = workspace_bytes, .compute = compute

const onnxd_op_def onnxd_op_dft[] = {
    {COMMON(17, 19, 2), .shape_inputs = 1u << LENGTH},
    {COMMON(20, ONNXD_OPSET_MAX, 3), .shape_inputs = 1u << LENGTH | 1u << AXIS},
    {.op_type = NULL},
};
