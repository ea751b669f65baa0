/*
 * What RNN, GRU and LSTM share: attributes, shapes, and the walk through the sequence. A cell adds
 * one step for a whole batch.
 *
 * Per direction and step t the walk computes, with G gates of H numbers in the order of W and R,
 *
 *   x     [batch][G * H]        X[t] * W^T, biases added
 *   recur [batch][columns * H]  H[t-1] * R^T for the first `columns` gates, biases added
 *
 * where the products with W for all steps are one product. The recurrence bias of gates beyond
 * `columns` is in x. The cell makes next_h (and next_c) of these; entries of the batch whose
 * sequence is over are then left as they were.
 */
#ifndef ONNXD_OPS_RECURRENT_H
#define ONNXD_OPS_RECURRENT_H

#include "graph/op.h"

/* The functions and their names are those that ONNX's RNN, GRU and LSTM list. */
typedef enum onnxd_activation_kind {
    ONNXD_ACTIVATION_RELU,             /* max(0, x) */
    ONNXD_ACTIVATION_TANH,             /* tanh(x) */
    ONNXD_ACTIVATION_SIGMOID,          /* 1 / (1 + e^-x) */
    ONNXD_ACTIVATION_AFFINE,           /* alpha * x + beta */
    ONNXD_ACTIVATION_LEAKY_RELU,       /* x, or alpha * x where x < 0 */
    ONNXD_ACTIVATION_THRESHOLDED_RELU, /* x, or 0 where x < alpha */
    ONNXD_ACTIVATION_SCALED_TANH,      /* alpha * tanh(beta * x) */
    ONNXD_ACTIVATION_HARD_SIGMOID,     /* min(max(alpha * x + beta, 0), 1) */
    ONNXD_ACTIVATION_ELU,              /* x, or alpha * (e^x - 1) where x < 0 */
    ONNXD_ACTIVATION_SOFTSIGN,         /* x / (1 + |x|) */
    ONNXD_ACTIVATION_SOFTPLUS          /* log(1 + e^x) */
} onnxd_activation_kind;

typedef struct onnxd_activation {
    onnxd_activation_kind kind;
    float alpha, beta;
} onnxd_activation;

/* In place. `clip` bounds the values first; 0 or less: it does not. */
void onnxd_activate_float(const onnxd_activation *activation, float clip, float *values,
                          size_t count);
void onnxd_activate_double(const onnxd_activation *activation, float clip, double *values,
                           size_t count);

#define ONNXD_RECURRENT_MAX_ACTIVATIONS 3

typedef struct onnxd_recurrent_params {
    int64_t hidden_size; /* 0: not given */
    uint32_t directions; /* 1 or 2 */
    bool is_reverse;     /* of the only direction; the second of two always is */
    bool is_batch_first; /* layout 1 */
    bool couples_input_and_forget;
    bool is_linear_before_reset;
    float clip;                                                       /* 0: none */
    onnxd_activation activations[2][ONNXD_RECURRENT_MAX_ACTIVATIONS]; /* per direction */
} onnxd_recurrent_params;

/* One step. Matrices are row-major of float, or of double where the operator's type is. */
typedef struct onnxd_recurrent_step {
    const onnxd_recurrent_params *params;
    const onnxd_activation *activations; /* of the direction */
    size_t batch, hidden;
    void *x, *recur;       /* may be overwritten */
    const void *r;         /* [G * hidden][hidden] */
    const void *peepholes; /* [3 * hidden]: input, output, forget; NULL: none */
    const void *h, *c;     /* [batch][hidden]: the state before */
    void *next_h, *next_c; /* the state after */
    void *spare;           /* [batch][hidden] */
} onnxd_recurrent_step;

typedef struct onnxd_recurrent_cell {
    uint32_t gates;
    bool has_cell_state;       /* c, inputs 6 and 7, output 2 */
    uint32_t activations;      /* per direction */
    bool keeps_second_default; /* RNN lists two activations although one direction needs one */
    onnxd_activation_kind defaults[ONNXD_RECURRENT_MAX_ACTIVATIONS];
    /* How many gates, from the first on, have their product with R made by the walk. */
    uint32_t (*columns)(const onnxd_recurrent_params *params);
    void (*step_float)(const onnxd_recurrent_step *step);
    void (*step_double)(const onnxd_recurrent_step *step);
    /* What the product with R makes of the state of the batch, in place; float only. NULL: takes it
     * as it is. The cell must not need `spare` across steps. */
    void (*approximate)(float *state, size_t count);
} onnxd_recurrent_cell;

extern const onnxd_recurrent_cell onnxd_lstm_cell;

/* `names` are the allowed attributes. Errors: INVALID_ARGUMENT naming the attribute. */
ONNXD_NODISCARD onnxd_status *onnxd_recurrent_parse(const onnxd_node *node,
                                                    const onnxd_recurrent_cell *cell,
                                                    const char *const *names,
                                                    onnxd_recurrent_params *params);
/* With the operators' positions of inputs and outputs: X, W, R, B, sequence_lens, initial_h,
 * initial_c, P; Y, Y_h, Y_c. Errors: INVALID_ARGUMENT naming the input and its dimension. */
ONNXD_NODISCARD onnxd_status *onnxd_recurrent_infer(onnxd_infer *context,
                                                    const onnxd_recurrent_cell *cell);
/* SIZE_MAX beyond size_t. */
size_t onnxd_recurrent_workspace_bytes(const onnxd_compute *context,
                                       const onnxd_recurrent_cell *cell);
/* Errors: INVALID_ARGUMENT for a length in sequence_lens beyond X's. */
ONNXD_NODISCARD onnxd_status *onnxd_recurrent_compute(const onnxd_compute *context,
                                                      const onnxd_recurrent_cell *cell);

#define ONNXD_RECURRENT_STATE(set)                                                                 \
    {                                                                                              \
        .types = set, .type_variable = 1, .is_optional = true                                      \
    }
/* A row of the table; uses the functions parse, infer, workspace_bytes and compute. */
#define ONNXD_RECURRENT_ROW(name, first, last, set, inputs_max, outputs_min, outputs_max)          \
    {                                                                                              \
        .op_type = name, .domain = "", .since = first, .until = last, .min_inputs = 3,             \
        .max_inputs = inputs_max, .min_outputs = outputs_min, .max_outputs = outputs_max,          \
        .inputs = {{.types = set, .type_variable = 1},                                             \
                   {.types = set, .type_variable = 1},                                             \
                   {.types = set, .type_variable = 1},                                             \
                   ONNXD_RECURRENT_STATE(set),                                                     \
                   {.types = ONNXD_SET(INT32), .is_optional = true},                               \
                   ONNXD_RECURRENT_STATE(set),                                                     \
                   ONNXD_RECURRENT_STATE(set),                                                     \
                   ONNXD_RECURRENT_STATE(set)},                                                    \
        .outputs = {ONNXD_RECURRENT_STATE(set), ONNXD_RECURRENT_STATE(set),                        \
                    ONNXD_RECURRENT_STATE(set)},                                                   \
        .params_bytes = sizeof(onnxd_recurrent_params), .parse = parse, .infer = infer,            \
        .workspace_bytes = workspace_bytes, .compute = compute                                     \
    }
/* infer, workspace_bytes and compute for the cell `cell`. */
#define ONNXD_RECURRENT_FUNCTIONS(cell)                                                            \
    static onnxd_status *infer(onnxd_infer *context)                                               \
    {                                                                                              \
        return onnxd_recurrent_infer(context, &(cell));                                            \
    }                                                                                              \
    static size_t workspace_bytes(const onnxd_compute *context)                                    \
    {                                                                                              \
        return onnxd_recurrent_workspace_bytes(context, &(cell));                                  \
    }                                                                                              \
    static onnxd_status *compute(const onnxd_compute *context)                                     \
    {                                                                                              \
        return onnxd_recurrent_compute(context, &(cell));                                          \
    }

#endif
