/* RNN, GRU and LSTM by the vector kernels, at every level and with more than one thread, against
 * the definition in double. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <criterion/criterion.h>

#include "ep/cpu/simd/simd.h"
#include "tests/ep/cpu/support.h"

enum { X, W, R, BIAS, LENGTHS, INITIAL_H, INITIAL_C, PEEPHOLES };
enum { Y, LAST_H, LAST_C };

typedef struct recurrent_case {
    const char *op_type, *direction;
    int64_t steps, batch, width, hidden;
    bool is_batch_first, is_linear, couples, has_bias, has_state, has_lengths, has_peepholes;
    bool lacks_y, lacks_last;
    float clip;
    const char *activations[6]; /* of all directions; NULL: the defaults */
} recurrent_case;

/* ---- the definition -------------------------------------------------------------------------- */

static double apply(const char *name, double clip, double x)
{
    if (clip > 0)
        x = fmin(fmax(x, -clip), clip);
    if (strcmp(name, "Sigmoid") == 0)
        return 1 / (1 + exp(-x));
    if (strcmp(name, "Tanh") == 0)
        return tanh(x);
    if (strcmp(name, "Relu") == 0)
        return fmax(x, 0);
    cr_assert_str_eq(name, "HardSigmoid");
    return fmin(fmax((double)0.2f * x + 0.5, 0), 1);
}

typedef struct reference {
    const recurrent_case *c;
    const test_run *run;
    int64_t gates, directions, direction, entry;
    const char *functions[3];
    double h[64], c_state[64]; /* of one entry */
} reference;

static int64_t gates_of(const recurrent_case *c)
{
    if (strcmp(c->op_type, "RNN") == 0)
        return 1;
    return strcmp(c->op_type, "GRU") == 0 ? 3 : 4;
}

static double input_at(const reference *r, int input, int64_t index)
{
    const onnxd_tensor *tensor = r->run->inputs[input];
    return tensor == NULL ? 0 : tensor_at(tensor, (size_t)index);
}

/* A gate's row of `matrix` (W or R) times `vector`, and its bias. */
static double product(const reference *r, int matrix, int64_t row, const double *vector)
{
    const int64_t depth = matrix == W ? r->c->width : r->c->hidden;
    const int64_t rows = r->gates * r->c->hidden;
    double sum = input_at(r, BIAS, (r->direction * 2 + (matrix == R)) * rows + row);
    for (int64_t k = 0; k < depth; k++)
        sum += input_at(r, matrix, (r->direction * rows + row) * depth + k) * vector[k];
    return sum;
}

static double gate(const reference *r, const double *x, int64_t index, int64_t unit)
{
    const int64_t row = index * r->c->hidden + unit;
    return product(r, W, row, x) + product(r, R, row, r->h);
}

static double peep(const reference *r, int64_t index, int64_t unit, double state)
{
    return input_at(r, PEEPHOLES, (r->direction * 3 + index) * r->c->hidden + unit) * state;
}

static void lstm_step(reference *r, const double *x)
{
    const double clip = (double)r->c->clip;
    const char *const *f = r->functions;
    double h[64];
    for (int64_t i = 0; i < r->c->hidden; i++) {
        const double c = r->c_state[i];
        const double in = apply(f[0], clip, gate(r, x, 0, i) + peep(r, 0, i, c));
        const double forget =
            r->c->couples ? 1 - in : apply(f[0], clip, gate(r, x, 2, i) + peep(r, 2, i, c));
        r->c_state[i] = forget * c + in * apply(f[1], clip, gate(r, x, 3, i));
        h[i] = apply(f[0], clip, gate(r, x, 1, i) + peep(r, 1, i, r->c_state[i])) *
               apply(f[2], 0, r->c_state[i]);
    }
    memcpy(r->h, h, sizeof(h));
}

static void gru_step(reference *r, const double *x)
{
    const double clip = (double)r->c->clip;
    const int64_t hidden = r->c->hidden;
    double reset[64], masked[64] = {0}, h[64];
    for (int64_t i = 0; i < hidden; i++) {
        reset[i] = apply(r->functions[0], clip, gate(r, x, 1, i));
        masked[i] = reset[i] * r->h[i];
    }
    for (int64_t i = 0; i < hidden; i++) {
        const double recur = r->c->is_linear ? reset[i] * product(r, R, 2 * hidden + i, r->h)
                                             : product(r, R, 2 * hidden + i, masked);
        const double fresh = apply(r->functions[1], clip, product(r, W, 2 * hidden + i, x) + recur);
        const double update = apply(r->functions[0], clip, gate(r, x, 0, i));
        h[i] = (1 - update) * fresh + update * r->h[i];
    }
    memcpy(r->h, h, sizeof(h));
}

static void rnn_step(reference *r, const double *x)
{
    double h[64];
    for (int64_t i = 0; i < r->c->hidden; i++)
        h[i] = apply(r->functions[0], (double)r->c->clip, gate(r, x, 0, i));
    memcpy(r->h, h, sizeof(h));
}

/* ---- comparison ------------------------------------------------------------------------------ */

static int64_t state_at(const reference *r)
{
    return (r->c->is_batch_first ? r->entry * r->directions + r->direction
                                 : r->direction * r->c->batch + r->entry) *
           r->c->hidden;
}

static void expect_row(const reference *r, int output, int64_t at, const double *want,
                       const char *what)
{
    const onnxd_tensor *tensor = r->run->outputs[output];
    for (int64_t i = 0; tensor != NULL && i < r->c->hidden; i++) {
        const double got = tensor_at(tensor, (size_t)(at + i));
        cr_assert_lt(fabs(got - want[i]), 1e-5 * fmax(1, fabs(want[i])),
                     "%s: %s of direction %d, entry %d: unit %d is %g, "
                     "not %g",
                     r->run->implementation, what, (int)r->direction, (int)r->entry, (int)i, got,
                     want[i]);
    }
}

static void expect_y(const reference *r, int64_t time, const double *want)
{
    const int64_t row = r->c->is_batch_first
                            ? (r->entry * r->c->steps + time) * r->directions + r->direction
                            : (time * r->directions + r->direction) * r->c->batch + r->entry;
    expect_row(r, Y, row * r->c->hidden, want, "Y");
}

static void check_entry(reference *r)
{
    static const double zeros[64];
    const recurrent_case *c = r->c;
    const int64_t length =
        c->has_lengths ? ((const int32_t *)r->run->inputs[LENGTHS]->data)[r->entry] : c->steps;
    const bool is_reverse = r->direction == 1 || strcmp(c->direction, "reverse") == 0;
    for (int64_t i = 0; i < c->hidden; i++) {
        r->h[i] = input_at(r, INITIAL_H, state_at(r) + i);
        r->c_state[i] = r->gates == 4 ? input_at(r, INITIAL_C, state_at(r) + i) : 0;
    }
    for (int64_t step = 0; step < length; step++) {
        const int64_t time = is_reverse ? length - 1 - step : step;
        const int64_t row =
            c->is_batch_first ? r->entry * c->steps + time : time * c->batch + r->entry;
        double x[64];
        for (int64_t k = 0; k < c->width; k++)
            x[k] = input_at(r, X, row * c->width + k);
        (r->gates == 1 ? rnn_step : r->gates == 3 ? gru_step : lstm_step)(r, x);
        expect_y(r, time, r->h);
    }
    for (int64_t time = length; time < c->steps; time++)
        expect_y(r, time, zeros);
    expect_row(r, LAST_H, state_at(r), r->h, "Y_h");
    expect_row(r, LAST_C, state_at(r), r->c_state, "Y_c");
}

static void check_outputs(const recurrent_case *c, const test_run *run, int64_t directions)
{
    static const char *const defaults[5][3] = {
        [1] = {"Tanh"}, [3] = {"Sigmoid", "Tanh"}, [4] = {"Sigmoid", "Tanh", "Tanh"}};
    static const int counts[5] = {[1] = 1, [3] = 2, [4] = 3};
    reference r = {.c = c, .run = run, .gates = gates_of(c), .directions = directions};
    for (r.direction = 0; r.direction < directions; r.direction++) {
        const int count = counts[r.gates];
        for (int i = 0; i < count; i++)
            r.functions[i] = c->activations[0] == NULL ? defaults[r.gates][i]
                                                       : c->activations[r.direction * count + i];
        for (r.entry = 0; r.entry < c->batch; r.entry++)
            check_entry(&r);
    }
}

/* ---- running --------------------------------------------------------------------------------- */

static void set_attributes(const recurrent_case *c, test_node *t)
{
    size_t count = 0;
    node_string(t, "direction", c->direction);
    node_int(t, "hidden_size", c->hidden);
    node_int(t, "layout", c->is_batch_first);
    if (gates_of(c) == 3)
        node_int(t, "linear_before_reset", c->is_linear);
    if (gates_of(c) == 4)
        node_int(t, "input_forget", c->couples);
    if (c->clip > 0)
        node_float(t, "clip", c->clip);
    while (count < 6 && c->activations[count] != NULL)
        count++;
    if (count > 0)
        node_strings(t, "activations", count, c->activations);
}

static onnxd_tensor *lengths_of(const recurrent_case *c)
{
    onnxd_tensor *tensor = NULL;
    const onnxd_shape shape = onnxd_shape_from(1, &c->batch);
    expect_ok(onnxd_tensor_create(ONNXD_INT32, &shape, &tensor));
    for (int64_t b = 0; b < c->batch; b++)
        ((int32_t *)tensor->data)[b] = (int32_t)((c->steps + 2 * b) % (c->steps + 1));
    return tensor;
}

/* Weights that neither let a state grow nor a rounding error. */
static onnxd_tensor *small_weights(uint64_t *seed, const int64_t *dims)
{
    onnxd_tensor *tensor = tensor_random(seed, 3, dims);
    for (size_t i = 0; i < tensor->count; i++)
        ((float *)tensor->data)[i] *= 1.0f / 8;
    return tensor;
}

static void set_inputs(const recurrent_case *c, int64_t directions, test_run *run)
{
    uint64_t seed = (uint64_t)(c->hidden * 100 + c->steps);
    const int64_t rows = gates_of(c) * c->hidden;
    const bool is_first = c->is_batch_first;
    const int64_t state[3] = {is_first ? c->batch : directions, is_first ? directions : c->batch,
                              c->hidden};
    run->inputs[X] = tensor_random(
        &seed, 3,
        (int64_t[]){is_first ? c->batch : c->steps, is_first ? c->steps : c->batch, c->width});
    run->inputs[W] = tensor_random(&seed, 3, (int64_t[]){directions, rows, c->width});
    run->inputs[R] = small_weights(&seed, (int64_t[]){directions, rows, c->hidden});
    run->is_constant[W] = run->is_constant[R] = run->is_constant[BIAS] = true;
    if (c->has_bias)
        run->inputs[BIAS] = tensor_random(&seed, 2, (int64_t[]){directions, 2 * rows});
    if (c->has_lengths)
        run->inputs[LENGTHS] = lengths_of(c);
    if (c->has_state) {
        run->inputs[INITIAL_H] = tensor_random(&seed, 3, state);
        run->inputs[INITIAL_C] = gates_of(c) == 4 ? tensor_random(&seed, 3, state) : NULL;
    }
    if (c->has_peepholes)
        run->inputs[PEEPHOLES] = tensor_random(&seed, 2, (int64_t[]){directions, 3 * c->hidden});
}

/* With the inputs that `run` holds, the others being absent. */
static onnxd_status *run_case(onnxd_ep *ep, const recurrent_case *c, test_run *run)
{
    const bool is_lstm = gates_of(c) == 4;
    test_node t;
    node_init(&t, c->op_type, 22, is_lstm ? 8 : 6, is_lstm ? 3 : 2);
    set_attributes(c, &t);
    for (uint32_t i = 0; i < t.node->input_count; i++)
        if (run->inputs[i] == NULL)
            t.node->inputs[i] = ONNXD_NONE;
    if (c->lacks_y)
        t.node->outputs[Y] = ONNXD_NONE;
    for (uint32_t i = LAST_H; c->lacks_last && i < t.node->output_count; i++)
        t.node->outputs[i] = ONNXD_NONE;
    expect_ok(node_resolve(&t));
    onnxd_status *status = run_node(ep, &t, run);
    node_deinit(&t);
    return status;
}

static void check_case(onnxd_ep *ep, const recurrent_case *c)
{
    const int64_t directions = strcmp(c->direction, "bidirectional") == 0 ? 2 : 1;
    test_run run = {0};
    set_inputs(c, directions, &run);
    expect_ok(run_case(ep, c, &run));
    cr_assert_eq(strncmp(run.implementation, "simd:recurrent:", 15), 0, "ran %s",
                 run.implementation);
    check_outputs(c, &run, directions);
    run_deinit(&run);
}

static const recurrent_case cases[] = {
    {"LSTM", "forward", 1, 1, 5, 8, .has_bias = true, .has_state = true},
    {"LSTM", "forward", 7, 1, 3, 17, .has_bias = true},
    {"LSTM", "reverse", 7, 3, 20, 33, .has_state = true},
    {"LSTM", "bidirectional", 7, 3, 4, 9, .has_bias = true, .has_state = true},
    {"LSTM", "bidirectional", 7, 3, 4, 9, .is_batch_first = true, .has_bias = true,
     .has_state = true},
    {"LSTM", "bidirectional", 7, 14, 4, 61, .has_bias = true},
    {"LSTM", "forward", 7, 3, 4, 5, .couples = true, .lacks_y = true},
    {"LSTM", "forward", 7, 3, 4, 5, .has_peepholes = true, .has_state = true, .lacks_last = true},
    {"LSTM", "bidirectional", 7, 3, 4, 12, .has_peepholes = true, .has_state = true, .clip = 0.5f},
    {"LSTM", "bidirectional", 7, 3, 4, 12, .has_lengths = true, .has_state = true},
    {"LSTM", "reverse", 7, 3, 4, 12, .has_lengths = true, .is_batch_first = true},
    {"LSTM", "bidirectional", 3, 2, 4, 11, .has_bias = true,
     .activations = {"HardSigmoid", "Relu", "Tanh", "Sigmoid", "Tanh", "Relu"}},
    {"GRU", "forward", 1, 1, 5, 8, .has_bias = true, .has_state = true},
    {"GRU", "forward", 7, 1, 3, 17, .has_bias = true, .is_linear = true},
    {"GRU", "forward", 7, 1, 3, 17, .has_bias = true},
    {"GRU", "reverse", 7, 3, 20, 33, .has_state = true, .has_bias = true},
    {"GRU", "bidirectional", 7, 3, 4, 9, .is_linear = true, .has_bias = true, .has_state = true},
    {"GRU", "bidirectional", 7, 3, 4, 9, .is_batch_first = true, .has_bias = true,
     .has_state = true},
    {"GRU", "bidirectional", 7, 14, 4, 61, .has_bias = true},
    {"GRU", "bidirectional", 7, 14, 4, 61, .is_linear = true, .lacks_y = true},
    {"GRU", "bidirectional", 7, 3, 4, 12, .has_lengths = true, .has_state = true, .clip = 0.5f},
    {"GRU", "forward", 3, 2, 4, 11, .has_bias = true, .lacks_last = true,
     .activations = {"HardSigmoid", "Relu"}},
    {"GRU", "forward", 3, 2, 4, 11, .has_bias = true, .is_linear = true, .has_state = true,
     .activations = {"HardSigmoid", "Tanh"}},
    {"RNN", "forward", 1, 1, 5, 8, .has_bias = true, .has_state = true},
    {"RNN", "reverse", 7, 3, 5, 13, .has_bias = true},
    {"RNN", "bidirectional", 7, 3, 5, 13, .is_batch_first = true, .has_state = true, .clip = 0.5f},
    {"RNN", "bidirectional", 7, 14, 5, 64, .has_bias = true, .has_lengths = true,
     .activations = {"Relu", "Tanh"}},
};

Test(recurrent, every_case_at_every_level)
{
    static const char *const threads[] = {"1", "4"};
    for (int i = 0; i < ONNXD_SIMD_LEVEL_COUNT; i++) {
        const char *level = onnxd_simd_level_name((onnxd_simd_level)i);
        if (!onnxd_simd_is_available((onnxd_simd_level)i)) {
            fprintf(stderr, "skipped: %s: this processor or build has not got it\n", level);
            continue;
        }
        for (size_t t = 0; t < sizeof(threads) / sizeof(threads[0]); t++) {
            const char *const options[][2] = {
                {"cpu.isa", level}, {"cpu.threads", threads[t]}, {"cpu.onednn", "false"}};
            onnxd_ep *ep = ep_open(3, options);
            for (size_t n = 0; n < sizeof(cases) / sizeof(cases[0]); n++)
                check_case(ep, &cases[n]);
            onnxd_ep_destroy(ep);
        }
    }
}

/* ---- what is left to others ------------------------------------------------------------------ */

static void expect_portable(const recurrent_case *c, int variable)
{
    onnxd_ep *ep = ep_open_default();
    test_run run = {0};
    set_inputs(c, 1, &run);
    if (variable >= 0)
        run.is_constant[variable] = false;
    expect_ok(run_case(ep, c, &run));
    cr_expect_str_eq(run.implementation, "portable");
    run_deinit(&run);
    onnxd_ep_destroy(ep);
}

Test(recurrent, leaves_variable_weights_and_rare_functions)
{
    const recurrent_case usual = {"LSTM", "forward", 2, 1, 3, 4, .has_bias = true};
    const recurrent_case empty = {"LSTM", "forward", 0, 1, 3, 4, .has_bias = true};
    const recurrent_case rare = {"GRU", "forward", 2, 1, 3, 4, .activations = {"Elu", "Tanh"}};
    expect_portable(&usual, W);
    expect_portable(&usual, R);
    expect_portable(&usual, BIAS);
    expect_portable(&empty, -1);
    expect_portable(&rare, -1);
}

Test(recurrent, refuses_a_length_beyond_the_sequence)
{
    const recurrent_case c = {"GRU", "forward", 3, 2, 4, 8, .has_lengths = true};
    onnxd_ep *ep = ep_open_default();
    for (int32_t length = -1; length <= 4; length += 5) {
        test_run run = {0};
        set_inputs(&c, 1, &run);
        ((int32_t *)run.inputs[LENGTHS]->data)[1] = length;
        expect_error(run_case(ep, &c, &run), ONNXD_INVALID_ARGUMENT);
        run_deinit(&run);
    }
    onnxd_ep_destroy(ep);
}
