/* Adagrad, Adam and Momentum of ai.onnx.preview.training: one step of an optimizer over any number
 * of tensors X with their gradients G and states S. Inputs are R (learning rate), T (steps made),
 * then all X, all G, and all of each state; outputs all new X, and all of each new state.
 * Calculated in double. */
#include <inttypes.h>
#include <math.h>

#include "ops/choice.h"
#include "ops/ops.h"
#include "ops/real.h"
#include "ops/support.h"
#include "ops/types.h"

enum { RATE, STEPS, FIRST };

/* Of all three; each reads its own. */
typedef struct optimizer_params {
    float alpha, beta, epsilon, norm_coefficient, norm_coefficient_post, decay_factor;
    bool is_nesterov;
} optimizer_params;

static onnxd_status *parse_adagrad(const onnxd_node *node, int64_t opset, onnxd_arena *arena,
                                   void *params)
{
    (void)opset, (void)arena;
    static const char *const names[] = {"decay_factor", "epsilon", "norm_coefficient", NULL};
    optimizer_params *p = params;
    p->epsilon = 1e-6f;
    ONNXD_TRY(onnxd_attributes_allow(node, names));
    ONNXD_TRY(onnxd_attribute_float(node, "decay_factor", &p->decay_factor));
    ONNXD_TRY(onnxd_attribute_float(node, "epsilon", &p->epsilon));
    return onnxd_attribute_float(node, "norm_coefficient", &p->norm_coefficient);
}

static onnxd_status *parse_adam(const onnxd_node *node, int64_t opset, onnxd_arena *arena,
                                void *params)
{
    (void)opset, (void)arena;
    static const char *const names[] = {
        "alpha", "beta", "epsilon", "norm_coefficient", "norm_coefficient_post", NULL};
    optimizer_params *p = params;
    p->alpha = 0.9f;
    p->beta = 0.999f;
    p->epsilon = 1e-6f;
    ONNXD_TRY(onnxd_attributes_allow(node, names));
    ONNXD_TRY(onnxd_attribute_float(node, "alpha", &p->alpha));
    ONNXD_TRY(onnxd_attribute_float(node, "beta", &p->beta));
    ONNXD_TRY(onnxd_attribute_float(node, "epsilon", &p->epsilon));
    ONNXD_TRY(onnxd_attribute_float(node, "norm_coefficient", &p->norm_coefficient));
    return onnxd_attribute_float(node, "norm_coefficient_post", &p->norm_coefficient_post);
}

static onnxd_status *parse_momentum(const onnxd_node *node, int64_t opset, onnxd_arena *arena,
                                    void *params)
{
    (void)opset, (void)arena;
    static const char *const names[] = {"alpha", "beta", "mode", "norm_coefficient", NULL};
    static const char *const modes[] = {"standard", "nesterov"};
    optimizer_params *p = params;
    size_t mode = 0;
    ONNXD_TRY(onnxd_attributes_allow(node, names));
    for (size_t i = 0; names[i] != NULL; i++)
        ONNXD_TRY(onnxd_attribute_require(node, names[i]));
    ONNXD_TRY(onnxd_attribute_float(node, "alpha", &p->alpha));
    ONNXD_TRY(onnxd_attribute_float(node, "beta", &p->beta));
    ONNXD_TRY(onnxd_attribute_float(node, "norm_coefficient", &p->norm_coefficient));
    ONNXD_TRY(onnxd_op_choice(node, "mode", modes, ONNXD_COUNT(modes), &mode));
    p->is_nesterov = mode == 1;
    return NULL;
}

/* ---- shapes ---------------------------------------------------------------------------------- */

static onnxd_status *check_scalar(const onnxd_infer *infer, uint32_t index)
{
    size_t count;
    if (!onnxd_shape_count(&infer->inputs[index].shape, &count) || count == 1)
        return NULL;
    return onnxd_op_error(infer->node, "input %" PRIu32 " has %zu elements, needed is one", index,
                          count);
}

/* Whether input `index` may have the type of the tensor that it belongs to, input `of`. */
static onnxd_status *check_member(const onnxd_infer *infer, uint32_t index, uint32_t of)
{
    const onnxd_tensor_type *a = &infer->inputs[of], *b = &infer->inputs[index];
    bool fits = a->dtype == ONNXD_UNDEFINED || b->dtype == ONNXD_UNDEFINED || a->dtype == b->dtype;
    fits = fits && (a->shape.rank < 0 || b->shape.rank < 0 || a->shape.rank == b->shape.rank);
    for (int32_t i = 0; fits && b->shape.rank >= 0 && i < a->shape.rank; i++)
        fits = !onnxd_dim_is_static(a->shape.dims[i]) || !onnxd_dim_is_static(b->shape.dims[i]) ||
               a->shape.dims[i] == b->shape.dims[i];
    if (fits)
        return NULL;
    char text[ONNXD_SHAPE_TEXT], of_text[ONNXD_SHAPE_TEXT];
    return onnxd_op_error(
        infer->node, "input %" PRIu32 " is %s %s, input %" PRIu32 ", to which it belongs, is %s %s",
        index, onnxd_dtype_name(b->dtype), onnxd_shape_format(&b->shape, text, sizeof(text)), of,
        onnxd_dtype_name(a->dtype), onnxd_shape_format(&a->shape, of_text, sizeof(of_text)));
}

/* `states` per tensor. */
static onnxd_status *infer_states(onnxd_infer *infer, uint32_t states)
{
    uint32_t given = infer->input_count - FIRST, tensors = given / (states + 2);
    if (given % (states + 2) != 0 || infer->output_count != tensors * (states + 1))
        return onnxd_op_error(
            infer->node,
            "it has %" PRIu32 " inputs and %" PRIu32
            " outputs, for n tensors there are %d + n * %" PRIu32 " and n * %" PRIu32,
            infer->input_count, infer->output_count, FIRST, states + 2, states + 1);
    ONNXD_TRY(check_scalar(infer, RATE));
    ONNXD_TRY(check_scalar(infer, STEPS));
    for (uint32_t i = tensors; i < given; i++)
        ONNXD_TRY(check_member(infer, FIRST + i, FIRST + i % tensors));
    for (uint32_t i = 0; i < infer->output_count; i++)
        if (onnxd_op_has_output(infer->node, i))
            infer->outputs[i] = infer->inputs[FIRST + i % tensors];
    return NULL;
}

static onnxd_status *infer_one_state(onnxd_infer *infer)
{
    return infer_states(infer, 1);
}

static onnxd_status *infer_two_states(onnxd_infer *infer)
{
    return infer_states(infer, 2);
}

/* ---- kernels --------------------------------------------------------------------------------- */

#define MAX_STATES 2

/* One step for all elements: the rate and corrections that the number of steps makes. */
typedef struct step {
    const optimizer_params *params;
    double rate;            /* with the correction */
    double gradient_factor; /* Momentum: of the gradient in its state */
} step;

/* New value from an element's value and gradient; `state` is updated. */
typedef double (*update_function)(const step *s, double x, double gradient, double *state);

static double adagrad(const step *s, double x, double gradient, double *state)
{
    state[0] += gradient * gradient;
    return x - s->rate * gradient / (sqrt(state[0]) + (double)s->params->epsilon);
}

static double adam(const step *s, double x, double gradient, double *state)
{
    double alpha = (double)s->params->alpha, beta = (double)s->params->beta;
    state[0] = alpha * state[0] + (1 - alpha) * gradient;
    state[1] = beta * state[1] + (1 - beta) * gradient * gradient;
    x -= s->rate * state[0] / (sqrt(state[1]) + (double)s->params->epsilon);
    return (1 - (double)s->params->norm_coefficient_post) * x;
}

static double momentum(const step *s, double x, double gradient, double *state)
{
    double alpha = (double)s->params->alpha;
    state[0] = alpha * state[0] + s->gradient_factor * gradient;
    return x - s->rate * (s->params->is_nesterov ? gradient + alpha * state[0] : state[0]);
}

/* Tensor number `tensor` of `tensors`. */
static void update_tensor(const onnxd_compute *compute, const step *s, uint32_t states,
                          uint32_t tensor, uint32_t tensors, update_function update)
{
    const onnxd_tensor_view *inputs = compute->inputs + FIRST + tensor;
    onnxd_tensor_view *outputs = compute->outputs + tensor;
    onnxd_dtype dtype = inputs->dtype;
    size_t count = onnxd_tensor_view_count(inputs);
    double norm = (double)s->params->norm_coefficient;
    for (size_t i = 0; i < count; i++) {
        double state[MAX_STATES] = {0};
        double x = onnxd_real_load(dtype, onnxd_tensor_view_data(inputs), i);
        double gradient = onnxd_real_load(dtype, onnxd_tensor_view_data(&inputs[tensors]), i);
        for (uint32_t k = 0; k < states; k++)
            state[k] = onnxd_real_load(
                dtype, onnxd_tensor_view_data(&inputs[(size_t)(k + 2) * tensors]), i);
        x = update(s, x, norm * x + gradient, state);
        if (onnxd_tensor_view_is_present(outputs))
            onnxd_real_store(dtype, onnxd_tensor_view_data(outputs), i, x);
        for (uint32_t k = 0; k < states; k++) {
            onnxd_tensor_view *out = &outputs[(size_t)(k + 1) * tensors];
            if (onnxd_tensor_view_is_present(out))
                onnxd_real_store(dtype, onnxd_tensor_view_data(out), i, state[k]);
        }
    }
}

static onnxd_status *run(const onnxd_compute *compute, const step *s, uint32_t states,
                         update_function update)
{
    uint32_t tensors = (compute->input_count - FIRST) / (states + 2);
    for (uint32_t i = 0; i < tensors; i++)
        update_tensor(compute, s, states, i, tensors, update);
    return NULL;
}

static double rate_of(const onnxd_compute *compute)
{
    const onnxd_tensor_view *rate = &compute->inputs[RATE];
    return onnxd_real_load(rate->dtype, onnxd_tensor_view_data(rate), 0);
}

static onnxd_status *compute_adagrad(const onnxd_compute *compute)
{
    const optimizer_params *p = compute->params;
    double steps = (double)onnxd_op_int_at(&compute->inputs[STEPS], 0);
    step s = {.params = p, .rate = rate_of(compute) / (1 + steps * (double)p->decay_factor)};
    return run(compute, &s, 1, adagrad);
}

static onnxd_status *compute_adam(const onnxd_compute *compute)
{
    const optimizer_params *p = compute->params;
    double steps = (double)onnxd_op_int_at(&compute->inputs[STEPS], 0);
    step s = {.params = p, .rate = rate_of(compute)};
    if (steps > 0)
        s.rate *= sqrt(1 - pow((double)p->beta, steps)) / (1 - pow((double)p->alpha, steps));
    return run(compute, &s, 2, adam);
}

static onnxd_status *compute_momentum(const onnxd_compute *compute)
{
    const optimizer_params *p = compute->params;
    bool is_first = onnxd_op_int_at(&compute->inputs[STEPS], 0) <= 0;
    step s = {
        .params = p, .rate = rate_of(compute), .gradient_factor = is_first ? 1 : (double)p->beta};
    return run(compute, &s, 1, momentum);
}

#define TYPES (ONNXD_SET(FLOAT) | ONNXD_SET(DOUBLE))
#define ROW(name, op, infer_function)                                                              \
    {                                                                                              \
        .op_type = name, .domain = "ai.onnx.preview.training", .since = 1, .until = 1,             \
        .min_inputs = 3, .max_inputs = ONNXD_OP_VARIADIC, .min_outputs = 1,                        \
        .max_outputs = ONNXD_OP_VARIADIC,                                                          \
        .inputs = {{.types = TYPES}, {.types = ONNXD_SET(INT64)}, {.types = TYPES}},               \
        .outputs = {{.types = TYPES}}, .params_bytes = sizeof(optimizer_params),                   \
        .parse = parse_##op, .infer = infer_function, .compute = compute_##op                      \
    }

const onnxd_op_def onnxd_op_optimizer[] = {
    ROW("Adagrad", adagrad, infer_one_state),
    ROW("Adam", adam, infer_two_states),
    ROW("Momentum", momentum, infer_one_state),
    {.op_type = NULL},
};
