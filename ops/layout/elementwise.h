/* The parsed attributes of Elementwise, as providers read them through node->params. */
#ifndef ONNXD_OPS_LAYOUT_ELEMENTWISE_H
#define ONNXD_OPS_LAYOUT_ELEMENTWISE_H

#include <stdbool.h>
#include <stddef.h>

#define ONNXD_ELEMENTWISE_MAX_INPUTS 8
#define ONNXD_ELEMENTWISE_MAX_STEPS 16

/* Named as ONNX's operators are; those behind ONNXD_ELEMENTWISE_DIV take one operand. */
typedef enum onnxd_elementwise_function {
    ONNXD_ELEMENTWISE_ADD,
    ONNXD_ELEMENTWISE_SUB,
    ONNXD_ELEMENTWISE_MUL,
    ONNXD_ELEMENTWISE_DIV,
    ONNXD_ELEMENTWISE_CLIP, /* to [alpha, beta]; beta where they contradict */
    ONNXD_ELEMENTWISE_ERF,
    ONNXD_ELEMENTWISE_EXP,
    ONNXD_ELEMENTWISE_GELU,
    ONNXD_ELEMENTWISE_GELU_TANH,    /* Gelu's approximation */
    ONNXD_ELEMENTWISE_HARD_SIGMOID, /* alpha, beta */
    ONNXD_ELEMENTWISE_HARD_SWISH,
    ONNXD_ELEMENTWISE_LEAKY_RELU, /* alpha */
    ONNXD_ELEMENTWISE_RELU,
    ONNXD_ELEMENTWISE_SIGMOID,
    ONNXD_ELEMENTWISE_SWISH, /* alpha */
    ONNXD_ELEMENTWISE_TANH,
    ONNXD_ELEMENTWISE_FUNCTION_COUNT
} onnxd_elementwise_function;

/* The functions' names in the attribute `steps`, in the order of the enumerators. */
extern const char *const onnxd_elementwise_names[ONNXD_ELEMENTWISE_FUNCTION_COUNT];

static inline bool onnxd_elementwise_is_binary(onnxd_elementwise_function function)
{
    return function <= ONNXD_ELEMENTWISE_DIV;
}

/* An operand is the input of that number, or, below 0, the result of step -1 - operand. */
typedef struct onnxd_elementwise_step {
    onnxd_elementwise_function function;
    float alpha, beta;
    int a, b; /* of one operand: a */
} onnxd_elementwise_step;

typedef struct onnxd_elementwise_params {
    size_t step_count; /* the last one's result is the output */
    onnxd_elementwise_step steps[ONNXD_ELEMENTWISE_MAX_STEPS];
} onnxd_elementwise_params;

#endif
