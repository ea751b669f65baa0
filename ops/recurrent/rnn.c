/* RNN: one gate. */
#include "ops/ops.h"
#include "ops/recurrent/recurrent.h"
#include "ops/types.h"

/* Ht = f(Xt * W^T + Ht-1 * R^T + Wb + Rb) */
#define STEP(T, suffix)                                                                            \
    static void step_##suffix(const onnxd_recurrent_step *s)                                       \
    {                                                                                              \
        const T *x = s->x, *recur = s->recur;                                                      \
        T *h = s->next_h;                                                                          \
        size_t count = s->batch * s->hidden;                                                       \
        for (size_t i = 0; i < count; i++)                                                         \
            h[i] = x[i] + recur[i];                                                                \
        onnxd_activate_##suffix(&s->activations[0], s->params->clip, h, count);                    \
    }
STEP(float, float)
STEP(double, double)

static uint32_t columns(const onnxd_recurrent_params *params)
{
    (void)params;
    return 1;
}

static const onnxd_recurrent_cell cell = {.gates = 1,
                                          .activations = 1,
                                          .keeps_second_default = true,
                                          .defaults = {ONNXD_ACTIVATION_TANH},
                                          .columns = columns,
                                          .step_float = step_float,
                                          .step_double = step_double};

static onnxd_status *parse(const onnxd_node *node, int64_t opset, onnxd_arena *arena, void *params)
{
    (void)arena;
    static const char *const names_1[] = {
        "activation_alpha", "activation_beta", "activations",     "clip",
        "direction",        "hidden_size",     "output_sequence", NULL};
    static const char *const names_7[] = {
        "activation_alpha", "activation_beta", "activations", "clip",
        "direction",        "hidden_size",     NULL};
    static const char *const names_14[] = {
        "activation_alpha", "activation_beta", "activations", "clip",
        "direction",        "hidden_size",     "layout",      NULL};
    return onnxd_recurrent_parse(node, &cell,
                                 opset < 7    ? names_1
                                 : opset < 14 ? names_7
                                              : names_14,
                                 params);
}

ONNXD_RECURRENT_FUNCTIONS(cell)

const onnxd_op_def onnxd_op_rnn[] = {
    ONNXD_RECURRENT_ROW("RNN", 1, 6, ONNXD_SET_FLOATS_1, 6, 0, 2),
    ONNXD_RECURRENT_ROW("RNN", 7, 13, ONNXD_SET_FLOATS_1, 6, 0, 2),
    ONNXD_RECURRENT_ROW("RNN", 14, 21, ONNXD_SET_FLOATS_1, 6, 0, 2),
    ONNXD_RECURRENT_ROW("RNN", 22, ONNXD_OPSET_MAX, ONNXD_SET_FLOATS, 6, 0, 2),
    {.op_type = NULL},
};
