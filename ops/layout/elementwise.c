/*
 * Elementwise: a chain of functions of elements of inputs that are broadcast against each other, in
 * one go. Attributes, per step: its name in `steps`, in `operands` two numbers, of inputs or, below
 * 0, of earlier steps (-1 the first), the second of no meaning where there is one operand, and in
 * `parameters` alpha and beta. The result is the last step's.
 */
#include "ops/layout/elementwise.h"

#include <inttypes.h>
#include <string.h>
#include <tgmath.h>

#include "graph/attributes.h"
#include "ops/gate.h"
#include "ops/loop.h"
#include "ops/ops.h"
#include "ops/support.h"
#include "ops/types.h"

_Static_assert(ONNXD_ELEMENTWISE_MAX_INPUTS < ONNXD_LOOP_MAX_OPERANDS, "one loop over all of them");

const char *const onnxd_elementwise_names[ONNXD_ELEMENTWISE_FUNCTION_COUNT] = {
    "Add",      "Sub",         "Mul",       "Div",       "Clip", "Erf",     "Exp",   "Gelu",
    "GeluTanh", "HardSigmoid", "HardSwish", "LeakyRelu", "Relu", "Sigmoid", "Swish", "Tanh",
};

/* ---- attributes and shapes ------------------------------------------------------------------- */

static onnxd_status *parse_function(const onnxd_node *node, const onnxd_text *name,
                                    onnxd_elementwise_function *out_function)
{
    for (int i = 0; i < ONNXD_ELEMENTWISE_FUNCTION_COUNT; i++) {
        if (strcmp(name->data, onnxd_elementwise_names[i]) == 0) {
            *out_function = (onnxd_elementwise_function)i;
            return NULL;
        }
    }
    return onnxd_op_error(node, "attribute 'steps' names no function '%.64s'", name->data);
}

static onnxd_status *check_operand(const onnxd_node *node, int64_t operand, size_t step)
{
    if (operand >= -(int64_t)step && operand < (int64_t)node->input_count)
        return NULL;
    return onnxd_op_error(node,
                          "operand %" PRId64 " of step %zu is none of %" PRIu32
                          " inputs and of no earlier step",
                          operand, step, node->input_count);
}

static onnxd_status *parse(const onnxd_node *node, int64_t opset, onnxd_arena *arena, void *out)
{
    (void)opset, (void)arena;
    static const char *const names[] = {"steps", "operands", "parameters", NULL};
    onnxd_elementwise_params *params = out;
    const onnxd_text *steps = NULL;
    const int64_t *operands = NULL;
    const float *parameters = NULL;
    size_t count = 0, operand_count = 0, parameter_count = 0;
    ONNXD_TRY(onnxd_attributes_allow(node, names));
    ONNXD_TRY(onnxd_attribute_string_list(node, "steps", &steps, &count));
    ONNXD_TRY(onnxd_attribute_int_list(node, "operands", &operands, &operand_count));
    ONNXD_TRY(onnxd_attribute_float_list(node, "parameters", &parameters, &parameter_count));
    if (count < 1 || count > ONNXD_ELEMENTWISE_MAX_STEPS || operand_count != 2 * count ||
        parameter_count != 2 * count)
        return onnxd_op_error(node,
                              "%zu steps, %zu operands and %zu parameters: needed are 1 to %d "
                              "steps and two of the others for each",
                              count, operand_count, parameter_count, ONNXD_ELEMENTWISE_MAX_STEPS);
    params->step_count = count;
    for (size_t i = 0; i < count; i++) {
        onnxd_elementwise_step *step = &params->steps[i];
        ONNXD_TRY(parse_function(node, &steps[i], &step->function));
        ONNXD_TRY(check_operand(node, operands[2 * i], i));
        ONNXD_TRY(check_operand(node, operands[2 * i + 1], i));
        step->a = (int)operands[2 * i];
        step->b = (int)operands[2 * i + 1];
        step->alpha = parameters[2 * i];
        step->beta = parameters[2 * i + 1];
    }
    return NULL;
}

static onnxd_status *infer(onnxd_infer *context)
{
    context->outputs[0].dtype = context->inputs[0].dtype;
    return onnxd_broadcast_inputs(context, &context->outputs[0].shape);
}

/* ---- the kernel ------------------------------------------------------------------------------ */

static double hard_sigmoid(double x, double alpha, double beta)
{
    const double gate = alpha * x + beta;
    return gate < 0 ? 0 : gate > 1 ? 1 : gate;
}

static double apply(const onnxd_elementwise_step *step, double a, double b)
{
    const double alpha = step->alpha, beta = step->beta;
    switch (step->function) {
    case ONNXD_ELEMENTWISE_ADD:
        return a + b;
    case ONNXD_ELEMENTWISE_SUB:
        return a - b;
    case ONNXD_ELEMENTWISE_MUL:
        return a * b;
    case ONNXD_ELEMENTWISE_DIV:
        return a / b;
    case ONNXD_ELEMENTWISE_CLIP: {
        const double raised = a < alpha ? alpha : a;
        return raised > beta ? beta : raised;
    }
    case ONNXD_ELEMENTWISE_ERF:
        return erf(a);
    case ONNXD_ELEMENTWISE_EXP:
        return exp(a);
    case ONNXD_ELEMENTWISE_GELU:
        return ONNXD_GELU(double, a);
    case ONNXD_ELEMENTWISE_GELU_TANH:
        return ONNXD_TANH_GELU(double, a);
    case ONNXD_ELEMENTWISE_HARD_SIGMOID:
        return hard_sigmoid(a, alpha, beta);
    case ONNXD_ELEMENTWISE_HARD_SWISH:
        return a * hard_sigmoid(a, 1.0 / 6, 0.5);
    case ONNXD_ELEMENTWISE_LEAKY_RELU:
        return a < 0 ? alpha * a : a;
    case ONNXD_ELEMENTWISE_RELU:
        return a < 0 ? 0 : a;
    case ONNXD_ELEMENTWISE_SIGMOID:
        return 1 / (1 + exp(-a));
    case ONNXD_ELEMENTWISE_SWISH:
        return ONNXD_SWISH(double, a, alpha);
    case ONNXD_ELEMENTWISE_TANH:
        return tanh(a);
    case ONNXD_ELEMENTWISE_FUNCTION_COUNT:
        break;
    }
    return a;
}

/* Each step's result is rounded, as that of a node of its own is. */
static float evaluate(const onnxd_elementwise_params *params, const float *inputs)
{
    float results[ONNXD_ELEMENTWISE_MAX_STEPS] = {0};
    for (size_t i = 0; i < params->step_count; i++) {
        const onnxd_elementwise_step *step = &params->steps[i];
        const float a = step->a < 0 ? results[-1 - step->a] : inputs[step->a];
        const float b = step->b < 0 ? results[-1 - step->b] : inputs[step->b];
        results[i] = (float)apply(step, (double)a, (double)b);
    }
    return results[params->step_count - 1];
}

static onnxd_status *compute(const onnxd_compute *context)
{
    const onnxd_shape *shapes[ONNXD_ELEMENTWISE_MAX_INPUTS];
    const float *from[ONNXD_ELEMENTWISE_MAX_INPUTS];
    float *out = onnxd_tensor_view_data(&context->outputs[0]);
    onnxd_loop loop;
    onnxd_loop_cursor cursor;
    for (uint32_t k = 0; k < context->input_count; k++) {
        shapes[k] = &context->inputs[k].shape;
        from[k] = onnxd_tensor_view_data(&context->inputs[k]);
    }
    onnxd_loop_init_broadcast(&loop, &context->outputs[0].shape, context->input_count, shapes);
    if (!onnxd_loop_begin(&loop, &cursor))
        return NULL;
    do {
        for (size_t i = 0; i < onnxd_loop_row(&loop); i++) {
            float elements[ONNXD_ELEMENTWISE_MAX_INPUTS];
            for (uint32_t k = 0; k < context->input_count; k++)
                elements[k] =
                    from[k][cursor.offsets[k + 1] + (int64_t)i * onnxd_loop_step(&loop, k + 1)];
            out[cursor.offsets[0] + (int64_t)i] = evaluate(context->params, elements);
        }
    } while (onnxd_loop_next(&loop, &cursor));
    return NULL;
}

#define FORMAL                                                                                     \
    {                                                                                              \
        .types = ONNXD_SET(FLOAT), .type_variable = 1                                              \
    }

const onnxd_op_def onnxd_op_elementwise[] = {
    {.domain = ONNXD_INTERNAL_DOMAIN,
     .op_type = "Elementwise",
     .since = 1,
     .until = 1,
     .min_inputs = 1,
     .max_inputs = ONNXD_ELEMENTWISE_MAX_INPUTS,
     .min_outputs = 1,
     .max_outputs = 1,
     .inputs = {FORMAL, FORMAL, FORMAL, FORMAL, FORMAL, FORMAL, FORMAL, FORMAL},
     .outputs = {FORMAL},
     .params_bytes = sizeof(onnxd_elementwise_params),
     .parse = parse,
     .infer = infer,
     .compute = compute,
     .batch_inputs = ONNXD_OP_ALL_INPUTS},
    {.op_type = NULL},
};
