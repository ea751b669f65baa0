/* Attributes and shapes of the recurrent operators. */
#include "ops/recurrent/recurrent.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <strings.h>

#include "graph/attributes.h"
#include "ops/choice.h"
#include "ops/support.h"

/* ---- attributes ------------------------------------------------------------------------------ */

/* What a function is called, and the values of alpha and beta where none are given: those of the
 * operators with these names, and for Affine and ScaledTanh, which are none, 1 and 0, 1 and 1. */
typedef struct function {
    const char *name;
    onnxd_activation_kind kind;
    bool has_alpha, has_beta;
    float alpha, beta;
} function;

static const function functions[] = {
    {"Affine", ONNXD_ACTIVATION_AFFINE, true, true, 1, 0},
    {"Elu", ONNXD_ACTIVATION_ELU, true, false, 1, 0},
    {"HardSigmoid", ONNXD_ACTIVATION_HARD_SIGMOID, true, true, 0.2f, 0.5f},
    {"LeakyRelu", ONNXD_ACTIVATION_LEAKY_RELU, true, false, 0.01f, 0},
    {"Relu", ONNXD_ACTIVATION_RELU, false, false, 0, 0},
    {"ScaledTanh", ONNXD_ACTIVATION_SCALED_TANH, true, true, 1, 1},
    {"Sigmoid", ONNXD_ACTIVATION_SIGMOID, false, false, 0, 0},
    {"Softplus", ONNXD_ACTIVATION_SOFTPLUS, false, false, 0, 0},
    {"Softsign", ONNXD_ACTIVATION_SOFTSIGN, false, false, 0, 0},
    {"Tanh", ONNXD_ACTIVATION_TANH, false, false, 0, 0},
    {"ThresholdedRelu", ONNXD_ACTIVATION_THRESHOLDED_RELU, true, false, 1, 0},
};

/* Exporters write the names in any case. */
static const function *find_function(const onnxd_text *name)
{
    for (size_t i = 0; i < ONNXD_COUNT(functions); i++)
        if (strlen(functions[i].name) == name->size &&
            strncasecmp(functions[i].name, name->data, name->size) == 0)
            return &functions[i];
    return NULL;
}

static onnxd_activation default_activation(onnxd_activation_kind kind)
{
    for (size_t i = 0; i < ONNXD_COUNT(functions); i++)
        if (functions[i].kind == kind)
            return (onnxd_activation){kind, functions[i].alpha, functions[i].beta};
    return (onnxd_activation){kind, 0, 0};
}

/* The next of a list of values: each function takes one if it has a use for it. */
static float next_value(const onnxd_attribute *list, size_t *at, bool is_used, float otherwise)
{
    if (!is_used || list == NULL || *at >= list->count)
        return otherwise;
    return list->value.floats[(*at)++];
}

static onnxd_status *parse_activations(const onnxd_node *node, const onnxd_recurrent_cell *cell,
                                       onnxd_recurrent_params *params)
{
    const onnxd_attribute *names = onnxd_node_attribute(node, "activations");
    const onnxd_attribute *alphas = onnxd_node_attribute(node, "activation_alpha");
    const onnxd_attribute *betas = onnxd_node_attribute(node, "activation_beta");
    ONNXD_TRY(onnxd_attribute_check_kind(node, "activations", ONNXD_ATTRIBUTE_STRINGS));
    ONNXD_TRY(onnxd_attribute_check_kind(node, "activation_alpha", ONNXD_ATTRIBUTE_FLOATS));
    ONNXD_TRY(onnxd_attribute_check_kind(node, "activation_beta", ONNXD_ATTRIBUTE_FLOATS));
    size_t count = cell->activations, needed = count * params->directions;
    bool has_spare = names != NULL && cell->keeps_second_default && names->count == 2;
    if (names != NULL && names->count != needed && !has_spare)
        return onnxd_op_error(node, "attribute 'activations' has %zu elements, needed are %zu",
                              names->count, needed);
    size_t alpha_at = 0, beta_at = 0;
    for (size_t i = 0; i < needed; i++) {
        onnxd_activation *to = &params->activations[i / count][i % count];
        *to = default_activation(cell->defaults[i % count]);
        if (names == NULL)
            continue;
        const function *f = find_function(&names->value.strings[i]);
        if (f == NULL)
            return onnxd_op_error(node,
                                  "element %zu of attribute 'activations' is '%.64s', which is no "
                                  "activation function",
                                  i, names->value.strings[i].data);
        to->kind = f->kind;
        to->alpha = next_value(alphas, &alpha_at, f->has_alpha, f->alpha);
        to->beta = next_value(betas, &beta_at, f->has_beta, f->beta);
    }
    return NULL;
}

static onnxd_status *parse_direction(const onnxd_node *node, onnxd_recurrent_params *params)
{
    enum { FORWARD, REVERSE, BIDIRECTIONAL };
    static const char *const directions[] = {
        [FORWARD] = "forward", [REVERSE] = "reverse", [BIDIRECTIONAL] = "bidirectional"};
    size_t direction = FORWARD;
    ONNXD_TRY(onnxd_op_choice(node, "direction", directions, ONNXD_COUNT(directions), &direction));
    params->directions = direction == BIDIRECTIONAL ? 2 : 1;
    params->is_reverse = direction == REVERSE;
    return NULL;
}

onnxd_status *onnxd_recurrent_parse(const onnxd_node *node, const onnxd_recurrent_cell *cell,
                                    const char *const *names, onnxd_recurrent_params *params)
{
    int64_t layout = 0, input_forget = 0, linear_before_reset = 0, unused = 0;
    ONNXD_TRY(onnxd_attributes_allow(node, names));
    ONNXD_TRY(onnxd_attribute_int(node, "hidden_size", 1, INT32_MAX, &params->hidden_size));
    ONNXD_TRY(onnxd_attribute_int(node, "layout", 0, 1, &layout));
    ONNXD_TRY(onnxd_attribute_int(node, "input_forget", INT64_MIN, INT64_MAX, &input_forget));
    ONNXD_TRY(onnxd_attribute_int(node, "linear_before_reset", INT64_MIN, INT64_MAX,
                                  &linear_before_reset));
    /* Whether the first output is there says as much. */
    ONNXD_TRY(onnxd_attribute_int(node, "output_sequence", INT64_MIN, INT64_MAX, &unused));
    ONNXD_TRY(onnxd_attribute_float(node, "clip", &params->clip));
    if (onnxd_node_attribute(node, "clip") != NULL && !(params->clip > 0))
        return onnxd_op_error(node, "attribute 'clip' is %g, but must be above 0",
                              (double)params->clip);
    params->is_batch_first = layout != 0;
    params->couples_input_and_forget = input_forget != 0;
    params->is_linear_before_reset = linear_before_reset != 0;
    ONNXD_TRY(parse_direction(node, params));
    return parse_activations(node, cell, params);
}

/* ---- shapes ---------------------------------------------------------------------------------- */

enum { X, W, R, BIAS, LENGTHS, INITIAL_H, INITIAL_C, PEEPHOLES };

typedef struct extents {
    int64_t steps, batch, width, hidden;
} extents;

static int64_t dim_of(const onnxd_infer *context, uint32_t index, int32_t rank, int32_t axis)
{
    const onnxd_shape *shape = &context->inputs[index].shape;
    return shape->rank == rank ? shape->dims[axis] : ONNXD_DIM_UNKNOWN;
}

static int64_t times(int64_t dim, int64_t factor)
{
    int64_t product;
    if (!onnxd_dim_is_static(dim) || __builtin_mul_overflow(dim, factor, &product))
        return ONNXD_DIM_UNKNOWN;
    return product;
}

static void state_dims(const onnxd_recurrent_params *params, const extents *e, int64_t dims[3])
{
    dims[params->is_batch_first ? 1 : 0] = params->directions;
    dims[params->is_batch_first ? 0 : 1] = e->batch;
    dims[2] = e->hidden;
}

static onnxd_status *check_inputs(const onnxd_infer *context, const onnxd_recurrent_cell *cell,
                                  const extents *e)
{
    const onnxd_recurrent_params *params = context->params;
    int64_t directions = params->directions, rows = times(e->hidden, cell->gates), state[3];
    state_dims(params, e, state);
    ONNXD_TRY(onnxd_infer_check_dims(context, X, 3,
                                     params->is_batch_first
                                         ? (int64_t[]){e->batch, e->steps, e->width}
                                         : (int64_t[]){e->steps, e->batch, e->width}));
    ONNXD_TRY(onnxd_infer_check_dims(context, W, 3, (int64_t[]){directions, rows, e->width}));
    ONNXD_TRY(onnxd_infer_check_dims(context, R, 3, (int64_t[]){directions, rows, e->hidden}));
    ONNXD_TRY(onnxd_infer_check_dims(context, BIAS, 2, (int64_t[]){directions, times(rows, 2)}));
    ONNXD_TRY(onnxd_infer_check_dims(context, LENGTHS, 1, (int64_t[]){e->batch}));
    ONNXD_TRY(onnxd_infer_check_dims(context, INITIAL_H, 3, state));
    ONNXD_TRY(onnxd_infer_check_dims(context, INITIAL_C, 3, state));
    return onnxd_infer_check_dims(context, PEEPHOLES, 2,
                                  (int64_t[]){directions, times(e->hidden, 3)});
}

onnxd_status *onnxd_recurrent_infer(onnxd_infer *context, const onnxd_recurrent_cell *cell)
{
    const onnxd_recurrent_params *params = context->params;
    bool is_batch_first = params->is_batch_first;
    extents e = {.steps = dim_of(context, X, 3, is_batch_first ? 1 : 0),
                 .batch = dim_of(context, X, 3, is_batch_first ? 0 : 1),
                 .width = dim_of(context, X, 3, 2),
                 .hidden =
                     params->hidden_size != 0 ? params->hidden_size : dim_of(context, R, 3, 2)};
    if (!onnxd_dim_is_static(e.width))
        e.width = dim_of(context, W, 3, 2);
    ONNXD_TRY(check_inputs(context, cell, &e));
    int64_t state[3];
    state_dims(params, &e, state);
    onnxd_tensor_type types[3] = {context->inputs[X], context->inputs[X], context->inputs[X]};
    types[0].shape = onnxd_shape_from(
        4, is_batch_first ? (int64_t[]){e.batch, e.steps, params->directions, e.hidden}
                          : (int64_t[]){e.steps, params->directions, e.batch, e.hidden});
    types[1].shape = types[2].shape = onnxd_shape_from(3, state);
    for (uint32_t i = 0; i < context->output_count; i++)
        if (onnxd_op_has_output(context->node, i))
            context->outputs[i] = types[i];
    return NULL;
}
