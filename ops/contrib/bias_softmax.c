/* BiasSoftmax: the softmax over the dimensions from an axis on, of the input with a bias added,
 * usually a mask. The bias has fewer rows: each serves neighbouring rows, or all are repeated. */
#include <inttypes.h>

#include "base/size_math.h"
#include "ops/contrib/contrib.h"
#include "ops/nn.h"
#include "ops/ops.h"
#include "ops/real.h"
#include "ops/support.h"
#include "ops/types.h"

enum { X, BIAS };

typedef struct bias_params {
    int64_t axis, is_inner;
} bias_params;

static onnxd_status *parse(const onnxd_node *node, int64_t opset, onnxd_arena *arena, void *out)
{
    (void)opset, (void)arena;
    static const char *const names[] = {"axis", "is_inner_broadcast", NULL};
    bias_params *params = out;
    params->axis = 1;
    ONNXD_TRY(onnxd_attributes_allow(node, names));
    ONNXD_TRY(onnxd_attribute_require(node, "is_inner_broadcast"));
    ONNXD_TRY(onnxd_attribute_int(node, "is_inner_broadcast", 0, 1, &params->is_inner));
    return onnxd_attribute_int(node, "axis", -ONNXD_MAX_RANK, ONNXD_MAX_RANK - 1, &params->axis);
}

/* Products of the dimensions before and from `axis` on; false when one is not known or too large.
 */
static bool counts_of(const onnxd_shape *shape, int32_t axis, size_t *out_rows, size_t *out_length)
{
    *out_rows = *out_length = 1;
    for (int32_t i = 0; i < shape->rank; i++) {
        size_t *count = i < axis ? out_rows : out_length;
        if (!onnxd_dim_is_static(shape->dims[i]) ||
            !onnxd_size_mul(*count, (size_t)shape->dims[i], count))
            return false;
    }
    return true;
}

static onnxd_status *infer(onnxd_infer *context)
{
    const bias_params *params = context->params;
    const onnxd_shape *x = &context->inputs[X].shape, *bias = &context->inputs[BIAS].shape;
    int32_t axis = 0;
    size_t rows, length, bias_rows, bias_length;
    context->outputs[0] = context->inputs[X];
    if (x->rank == ONNXD_RANK_UNKNOWN)
        return NULL;
    ONNXD_TRY(onnxd_op_axis(context->node, "attribute 'axis'", params->axis, x->rank, &axis));
    if (bias->rank == ONNXD_RANK_UNKNOWN)
        return NULL;
    /* The bias ends in the same dimensions. */
    int32_t tail = x->rank - axis;
    if (bias->rank >= tail && (!counts_of(x, axis, &rows, &length) ||
                               !counts_of(bias, bias->rank - tail, &bias_rows, &bias_length)))
        return NULL;
    bool fits = bias->rank >= tail && bias_length == length &&
                (bias_rows == 0 ? rows == 0 : rows % bias_rows == 0);
    for (int32_t i = 1; fits && i <= tail; i++)
        fits = bias->dims[bias->rank - i] == x->dims[x->rank - i];
    if (fits)
        return NULL;
    char found[ONNXD_SHAPE_TEXT], whole[ONNXD_SHAPE_TEXT];
    return onnxd_op_error(context->node,
                          "input 1 has shape %s, whose rows from axis %" PRId32
                          " on do not go with those of %s",
                          onnxd_shape_format(bias, found, sizeof(found)), axis,
                          onnxd_shape_format(x, whole, sizeof(whole)));
}

/* ---- kernel ---------------------------------------------------------------------------------- */

/* A row of the input and one of the bias. */
static size_t workspace_bytes(const onnxd_compute *context)
{
    const bias_params *params = context->params;
    const onnxd_shape *x = &context->inputs[X].shape;
    size_t rows, length, bytes;
    if (onnxd_tensor_view_count(&context->inputs[X]) == 0)
        return 0;
    int32_t axis = (int32_t)(params->axis < 0 ? params->axis + x->rank : params->axis);
    if (counts_of(x, axis, &rows, &length) && onnxd_size_mul(length, 2 * sizeof(double), &bytes))
        return bytes;
    return SIZE_MAX;
}

static void run_float(const onnxd_tensor_view *x, const onnxd_tensor_view *bias, size_t at,
                      size_t bias_at, size_t length, void *scratch, const onnxd_tensor_view *y)
{
    float *row = scratch, *terms = row + length;
    onnxd_real_read_float(x->dtype, onnxd_tensor_view_data(x), at, length, row);
    onnxd_real_read_float(bias->dtype, onnxd_tensor_view_data(bias), bias_at, length, terms);
    for (size_t i = 0; i < length; i++)
        row[i] += terms[i];
    onnxd_softmax_rows(ONNXD_FLOAT, 1, length, row, row);
    onnxd_real_write_float(y->dtype, row, length, onnxd_tensor_view_data(y), at);
}

static void run_double(const onnxd_tensor_view *x, const onnxd_tensor_view *bias, size_t at,
                       size_t bias_at, size_t length, void *scratch, const onnxd_tensor_view *y)
{
    const double *from = (const double *)onnxd_tensor_view_data(x) + at;
    const double *terms = (const double *)onnxd_tensor_view_data(bias) + bias_at;
    double *row = scratch;
    for (size_t i = 0; i < length; i++)
        row[i] = from[i] + terms[i];
    onnxd_softmax_rows(ONNXD_DOUBLE, 1, length, row, (double *)onnxd_tensor_view_data(y) + at);
}

static onnxd_status *compute(const onnxd_compute *context)
{
    const bias_params *params = context->params;
    const onnxd_tensor_view *x = &context->inputs[X], *bias = &context->inputs[BIAS];
    int32_t rank = x->shape.rank;
    int32_t axis = (int32_t)(params->axis < 0 ? params->axis + rank : params->axis);
    size_t rows, length;
    if (onnxd_tensor_view_count(x) == 0 || !counts_of(&x->shape, axis, &rows, &length))
        return NULL;
    size_t bias_rows = onnxd_tensor_view_count(bias) / length;
    /* Beside a zero, dimensions may be too large for the rows to be compared before. */
    if (bias_rows == 0)
        return onnxd_op_error(context->node, "input 1 has no rows, input 0 has %zu", rows);
    for (size_t r = 0; r < rows; r++) {
        size_t source = params->is_inner != 0 ? r / (rows / bias_rows) : r % bias_rows;
        (x->dtype == ONNXD_DOUBLE ? run_double : run_float)(
            x, bias, r * length, source * length, length, context->workspace, &context->outputs[0]);
    }
    return NULL;
}

#define FORMAL                                                                                     \
    {                                                                                              \
        .types = ONNXD_SET_FLOATS_1, .type_variable = 1                                            \
    }

const onnxd_op_def onnxd_op_contrib_bias_softmax[] = {
    {ONNXD_CONTRIB_NAME("BiasSoftmax"), .min_inputs = 2, .max_inputs = 2, .min_outputs = 1,
     .max_outputs = 1, .inputs = {FORMAL, FORMAL}, .outputs = {FORMAL},
     .params_bytes = sizeof(bias_params), .parse = parse, .infer = infer,
     .workspace_bytes = workspace_bytes, .compute = compute},
    {.op_type = NULL},
};
