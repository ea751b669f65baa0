/* SkipLayerNormalization and SkipSimplifiedLayerNormalization: the sum of an input, a skip
 * connection and a bias, normalised over its last dimension. */
#include <inttypes.h>

#include "base/size_math.h"
#include "ops/contrib/contrib.h"
#include "ops/norm/rows.h"
#include "ops/ops.h"
#include "ops/real.h"
#include "ops/support.h"
#include "ops/types.h"

enum { X, SKIP, GAMMA };
enum { Y, MEAN, INVERSE, SUM };

typedef struct skip_params {
    float epsilon;
    bool is_root_mean_square;
    uint32_t beta, bias; /* positions of the inputs; beta's is UINT32_MAX where there is none */
} skip_params;

static onnxd_status *parse_with(const onnxd_node *node, skip_params *params)
{
    static const char *const names[] = {"epsilon", NULL};
    params->epsilon = 1e-12f;
    ONNXD_TRY(onnxd_attributes_allow(node, names));
    return onnxd_attribute_float(node, "epsilon", &params->epsilon);
}

static onnxd_status *parse_skip(const onnxd_node *node, int64_t opset, onnxd_arena *arena,
                                void *params)
{
    (void)opset, (void)arena;
    *(skip_params *)params = (skip_params){.beta = 3, .bias = 4};
    return parse_with(node, params);
}

static onnxd_status *parse_simplified(const onnxd_node *node, int64_t opset, onnxd_arena *arena,
                                      void *params)
{
    (void)opset, (void)arena;
    *(skip_params *)params =
        (skip_params){.is_root_mean_square = true, .beta = UINT32_MAX, .bias = 3};
    return parse_with(node, params);
}

/* The skip connection has X's shape, perhaps with a first dimension of 1 or without the first. */
static onnxd_status *check_skip(const onnxd_infer *context)
{
    const onnxd_shape *x = &context->inputs[X].shape, *skip = &context->inputs[SKIP].shape;
    if (x->rank == ONNXD_RANK_UNKNOWN || skip->rank == ONNXD_RANK_UNKNOWN)
        return NULL;
    int32_t missing = x->rank - skip->rank;
    bool fits = missing == 0 || (missing == 1 && x->rank == 3);
    for (int32_t i = 0; fits && i < skip->rank; i++) {
        int64_t own = skip->dims[i], whole = x->dims[i + missing];
        fits = !onnxd_dim_is_static(own) || !onnxd_dim_is_static(whole) || own == whole ||
               (i == 0 && x->rank == 3 && missing == 0 && own == 1);
    }
    if (fits)
        return NULL;
    char found[ONNXD_SHAPE_TEXT], allowed[ONNXD_SHAPE_TEXT];
    return onnxd_op_error(context->node, "input 1 has shape %s, which does not go with %s",
                          onnxd_shape_format(skip, found, sizeof(found)),
                          onnxd_shape_format(x, allowed, sizeof(allowed)));
}

static onnxd_status *infer(onnxd_infer *context)
{
    const skip_params *params = context->params;
    const onnxd_shape *x = &context->inputs[X].shape;
    if (x->rank != ONNXD_RANK_UNKNOWN && x->rank != 2 && x->rank != 3)
        return onnxd_op_error(context->node, "input 0 has rank %" PRId32 ", allowed are 2 and 3",
                              x->rank);
    int64_t width;
    ONNXD_TRY(onnxd_contrib_last_dim(context, X, &width));
    ONNXD_TRY(check_skip(context));
    ONNXD_TRY(onnxd_infer_check_dims(context, GAMMA, 1, &width));
    if (params->beta != UINT32_MAX)
        ONNXD_TRY(onnxd_infer_check_dims(context, params->beta, 1, &width));
    ONNXD_TRY(onnxd_infer_check_dims(context, params->bias, 1, &width));
    context->outputs[Y] = context->inputs[X];
    if (onnxd_op_has_output(context->node, SUM))
        context->outputs[SUM] = context->inputs[X];
    for (uint32_t i = MEAN; i <= INVERSE; i++) {
        if (!onnxd_op_has_output(context->node, i))
            continue;
        context->outputs[i] = (onnxd_tensor_type){.dtype = ONNXD_FLOAT, .shape = *x};
        if (x->rank != ONNXD_RANK_UNKNOWN)
            context->outputs[i].shape.dims[x->rank - 1] = 1;
    }
    return NULL;
}

/* ---- kernel ---------------------------------------------------------------------------------- */

/* Vectors of a row's length: the row, what is added to it, and gamma, beta and bias. Their number
 * is even, so that doubles may follow. */
enum { ROW_SUM, TERM, GAMMA_ROW, BETA_ROW, BIAS_ROW, VECTORS = 6 };

static onnxd_norm_rows norm_of(const onnxd_compute *context)
{
    const skip_params *params = context->params;
    const onnxd_tensor_view *x = &context->inputs[X];
    return (onnxd_norm_rows){.rows = 1,
                             .columns = (size_t)x->shape.dims[x->shape.rank - 1],
                             .input_dtype = ONNXD_FLOAT,
                             .output_dtype = x->dtype,
                             .is_root_mean_square = params->is_root_mean_square,
                             .epsilon = (double)params->epsilon};
}

static size_t workspace_bytes(const onnxd_compute *context)
{
    if (onnxd_tensor_view_count(&context->inputs[X]) == 0)
        return 0;
    onnxd_norm_rows norm = norm_of(context);
    size_t bytes;
    if (onnxd_size_mul(norm.columns, VECTORS * sizeof(float), &bytes) &&
        onnxd_size_add(bytes, onnxd_norm_rows_workspace_bytes(&norm), &bytes))
        return bytes;
    return SIZE_MAX;
}

/* Input `index` as floats in `to`; NULL where absent. */
static const float *vector_of(const onnxd_compute *context, uint32_t index, float *to)
{
    const onnxd_tensor_view *view = onnxd_compute_input(context, index);
    if (view == NULL)
        return NULL;
    onnxd_real_read_float(view->dtype, onnxd_tensor_view_data(view), 0,
                          onnxd_tensor_view_count(view), to);
    return to;
}

static onnxd_norm_affine affine_of(const float *values, size_t columns)
{
    return (onnxd_norm_affine){values, values == NULL ? ONNXD_UNDEFINED : ONNXD_FLOAT, columns,
                               columns};
}

static float *statistic_at(const onnxd_compute *context, uint32_t output, size_t row)
{
    const onnxd_tensor_view *view = onnxd_compute_output(context, output);
    return view == NULL ? NULL : (float *)onnxd_tensor_view_data(view) + row;
}

static onnxd_status *compute(const onnxd_compute *context)
{
    const skip_params *params = context->params;
    const onnxd_tensor_view *x = &context->inputs[X], *skip = &context->inputs[SKIP];
    const onnxd_tensor_view *sum = onnxd_compute_output(context, SUM);
    size_t count = onnxd_tensor_view_count(x), skip_count = onnxd_tensor_view_count(skip);
    if (count == 0)
        return NULL;
    onnxd_norm_rows norm = norm_of(context);
    size_t columns = norm.columns, bytes = columns * onnxd_dtype_size(x->dtype);
    float *vectors = context->workspace, *row = vectors, *term = vectors + columns;
    void *scratch = vectors + VECTORS * columns;
    norm.input = row;
    norm.scale = affine_of(vector_of(context, GAMMA, vectors + GAMMA_ROW * columns), columns);
    norm.bias = affine_of(vector_of(context, params->beta, vectors + BETA_ROW * columns), columns);
    norm.statistics_dtype = ONNXD_FLOAT;
    const float *bias = vector_of(context, params->bias, vectors + BIAS_ROW * columns);
    for (size_t r = 0; r < count / columns; r++) {
        onnxd_real_read_float(x->dtype, onnxd_tensor_view_data(x), r * columns, columns, row);
        onnxd_real_read_float(skip->dtype, onnxd_tensor_view_data(skip), r * columns % skip_count,
                              columns, term);
        onnxd_contrib_add(term, columns, row);
        if (bias != NULL)
            onnxd_contrib_add(bias, columns, row);
        if (sum != NULL)
            onnxd_real_write_float(sum->dtype, row, columns, onnxd_tensor_view_data(sum),
                                   r * columns);
        norm.output = (char *)onnxd_tensor_view_data(&context->outputs[Y]) + r * bytes;
        norm.means = statistic_at(context, MEAN, r);
        norm.inverses = statistic_at(context, INVERSE, r);
        onnxd_norm_rows_run(&norm, scratch);
    }
    return NULL;
}

#define TYPES (ONNXD_SET(FLOAT) | ONNXD_SET(FLOAT16) | ONNXD_SET(BFLOAT16))
#define FORMAL(optional)                                                                           \
    {                                                                                              \
        .types = TYPES, .type_variable = 1, .is_optional = optional                                \
    }
#define STATISTIC                                                                                  \
    {                                                                                              \
        .types = ONNXD_SET(FLOAT), .is_optional = true                                             \
    }
#define ROW(name, most, parse_function)                                                            \
    {                                                                                              \
        ONNXD_CONTRIB_NAME(name),                                                                  \
            .min_inputs = 3, .max_inputs = most, .min_outputs = 1, .max_outputs = 4,               \
            .inputs = {FORMAL(false), FORMAL(false), FORMAL(false), FORMAL(true), FORMAL(true)},   \
            .outputs = {FORMAL(false), STATISTIC, STATISTIC, FORMAL(true)},                        \
            .params_bytes = sizeof(skip_params), .parse = parse_function, .infer = infer,          \
            .workspace_bytes = workspace_bytes, .compute = compute                                 \
    }

const onnxd_op_def onnxd_op_contrib_skip_layer_normalization[] = {
    ROW("SkipLayerNormalization", 5, parse_skip),
    ROW("SkipSimplifiedLayerNormalization", 4, parse_simplified),
    {.op_type = NULL},
};
