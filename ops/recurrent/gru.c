/* GRU: update, reset and hidden gate. */
#include "ops/gemm_core.h"
#include "ops/ops.h"
#include "ops/recurrent/recurrent.h"
#include "ops/types.h"

#define KERNEL_FILE "ops/recurrent/gru_kernel.inc"
#include "ops/for_float_double.inc"
#undef KERNEL_FILE

/* The hidden gate's product waits for the reset gate, unless it is linear before the reset. */
static uint32_t columns(const onnxd_recurrent_params *params)
{
    return params->is_linear_before_reset ? 3 : 2;
}

static const onnxd_recurrent_cell cell = {
    .gates = 3,
    .activations = 2,
    .defaults = {ONNXD_ACTIVATION_SIGMOID, ONNXD_ACTIVATION_TANH},
    .columns = columns,
    .step_float = step_float,
    .step_double = step_double};

static onnxd_status *parse(const onnxd_node *node, int64_t opset, onnxd_arena *arena, void *params)
{
    (void)arena;
    static const char *const names_1[] = {
        "activation_alpha", "activation_beta", "activations",     "clip",
        "direction",        "hidden_size",     "output_sequence", NULL};
    static const char *const names_3[] = {
        "activation_alpha", "activation_beta",     "activations",     "clip", "direction",
        "hidden_size",      "linear_before_reset", "output_sequence", NULL};
    static const char *const names_7[] = {
        "activation_alpha", "activation_beta", "activations",         "clip",
        "direction",        "hidden_size",     "linear_before_reset", NULL};
    static const char *const names_14[] = {
        "activation_alpha", "activation_beta",     "activations", "clip", "direction",
        "hidden_size",      "linear_before_reset", "layout",      NULL};
    return onnxd_recurrent_parse(node, &cell,
                                 opset < 3    ? names_1
                                 : opset < 7  ? names_3
                                 : opset < 14 ? names_7
                                              : names_14,
                                 params);
}

ONNXD_RECURRENT_FUNCTIONS(cell)

const onnxd_op_def onnxd_op_gru[] = {
    ONNXD_RECURRENT_ROW("GRU", 1, 2, ONNXD_SET_FLOATS_1, 6, 2, 2),
    ONNXD_RECURRENT_ROW("GRU", 3, 6, ONNXD_SET_FLOATS_1, 6, 0, 2),
    ONNXD_RECURRENT_ROW("GRU", 7, 13, ONNXD_SET_FLOATS_1, 6, 0, 2),
    ONNXD_RECURRENT_ROW("GRU", 14, 21, ONNXD_SET_FLOATS_1, 6, 0, 2),
    ONNXD_RECURRENT_ROW("GRU", 22, ONNXD_OPSET_MAX, ONNXD_SET_FLOATS, 6, 0, 2),
    {.op_type = NULL},
};
