/* LSTM: input, output, forget and cell gate. */
#include <string.h>

#include "ops/ops.h"
#include "ops/recurrent/recurrent.h"
#include "ops/types.h"

#define KERNEL_FILE "ops/recurrent/lstm_kernel.inc"
#include "ops/for_float_double.inc"
#undef KERNEL_FILE

static uint32_t columns(const onnxd_recurrent_params *params)
{
    (void)params;
    return 4;
}

const onnxd_recurrent_cell onnxd_lstm_cell = {
    .gates = 4,
    .has_cell_state = true,
    .activations = 3,
    .defaults = {ONNXD_ACTIVATION_SIGMOID, ONNXD_ACTIVATION_TANH, ONNXD_ACTIVATION_TANH},
    .columns = columns,
    .step_float = step_float,
    .step_double = step_double};

static onnxd_status *parse(const onnxd_node *node, int64_t opset, onnxd_arena *arena, void *params)
{
    (void)arena;
    static const char *const names_1[] = {
        "activation_alpha", "activation_beta", "activations",     "clip", "direction",
        "hidden_size",      "input_forget",    "output_sequence", NULL};
    static const char *const names_7[] = {
        "activation_alpha", "activation_beta", "activations",  "clip",
        "direction",        "hidden_size",     "input_forget", NULL};
    static const char *const names_14[] = {
        "activation_alpha", "activation_beta", "activations", "clip", "direction",
        "hidden_size",      "input_forget",    "layout",      NULL};
    return onnxd_recurrent_parse(node, &onnxd_lstm_cell,
                                 opset < 7    ? names_1
                                 : opset < 14 ? names_7
                                              : names_14,
                                 params);
}

ONNXD_RECURRENT_FUNCTIONS(onnxd_lstm_cell)

const onnxd_op_def onnxd_op_lstm[] = {
    ONNXD_RECURRENT_ROW("LSTM", 1, 6, ONNXD_SET_FLOATS_1, 8, 0, 3),
    ONNXD_RECURRENT_ROW("LSTM", 7, 13, ONNXD_SET_FLOATS_1, 8, 0, 3),
    ONNXD_RECURRENT_ROW("LSTM", 14, 21, ONNXD_SET_FLOATS_1, 8, 0, 3),
    ONNXD_RECURRENT_ROW("LSTM", 22, ONNXD_OPSET_MAX, ONNXD_SET_FLOATS, 8, 0, 3),
    {.op_type = NULL},
};
