/* RNN, GRU and LSTM. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/size_math.h"
#include "ep/cpu/compute/recurrence.h"
#include "ep/cpu/simd.h"
#include "ops/recurrent/recurrent.h"
#include "ops/support.h"

enum { X, W, R, BIAS, LENGTHS, INITIAL_H, INITIAL_C, PEEPHOLES };
enum { Y, LAST_H, LAST_C };

typedef struct recurrent_state {
    onnxd_recurrence recurrence;
    onnxd_cpu_packed *w, *r;
    float *biases;
} recurrent_state;

/* ---- which cases ----------------------------------------------------------------------------- */

static onnxd_recurrence_kind kind_of(const onnxd_cpu_case *c)
{
    if (strcmp(c->def->op_type, "RNN") == 0)
        return ONNXD_RECURRENCE_RNN;
    return strcmp(c->def->op_type, "GRU") == 0 ? ONNXD_RECURRENCE_GRU : ONNXD_RECURRENCE_LSTM;
}

/* RNN has one function, GRU two, LSTM three. */
static bool activations_of(const onnxd_activation *from, onnxd_recurrence_kind kind,
                           onnxd_simd_activation out[3])
{
    static const size_t counts[] = {
        [ONNXD_RECURRENCE_RNN] = 1, [ONNXD_RECURRENCE_GRU] = 2, [ONNXD_RECURRENCE_LSTM] = 3};
    for (size_t i = 0; i < counts[kind]; i++) {
        const onnxd_fused_activation activation = {
            .kind = ONNXD_FUSED_SCALED, .function = from[i], .before = 1, .after = 1};
        if (!onnxd_simd_activation_of(&activation, &out[i]))
            return false;
    }
    return true;
}

/* All tensors but the lengths have X's type. */
static bool takes(const onnxd_cpu_case *c)
{
    const onnxd_recurrent_params *params = c->node->params;
    const onnxd_tensor *w = onnxd_cpu_constant(c, W), *r = onnxd_cpu_constant(c, R);
    const onnxd_shape *x = &c->query->inputs[X].shape;
    onnxd_simd_activation activations[3];
    if (!c->runtime->uses_vector_kernels || c->query->inputs[X].dtype != ONNXD_FLOAT || w == NULL ||
        r == NULL || w->count == 0 || r->count == 0)
        return false;
    if (onnxd_cpu_has_input(c, BIAS) && onnxd_cpu_constant(c, BIAS) == NULL)
        return false;
    for (int32_t i = 0; i < x->rank; i++)
        if (x->dims[i] == 0)
            return false;
    for (uint32_t d = 0; d < params->directions; d++)
        if (!activations_of(params->activations[d], kind_of(c), activations))
            return false;
    return true;
}

/* ---- weights --------------------------------------------------------------------------------- */

/* Matrices of columns + late rows, each transposed and packed as one B or, where there are late
 * ones, as two. */
typedef struct pack_context {
    const onnxd_simd *simd;
    size_t matrices, depth, columns, late;
    size_t counts[2]; /* packed elements of one B, and of the late one */
} pack_context;

static void pack(const void *context, const onnxd_tensor *tensor, void *out)
{
    const pack_context *p = context;
    const onnxd_product_strides strides = {.step = 1, .column = p->depth};
    const float *from = tensor->data;
    float *to = out;
    for (size_t i = 0; i < p->matrices; i++) {
        onnxd_product_pack(p->simd, 1, p->depth, p->columns, from, &strides, to);
        from += p->columns * p->depth;
        to += p->counts[0];
        onnxd_product_pack(p->simd, 1, p->depth, p->late, from, &strides, to);
        from += p->late * p->depth;
        to += p->counts[1];
    }
}

static onnxd_status *acquire(onnxd_cpu_kernel *kernel, const onnxd_tensor *weights,
                             pack_context *context, onnxd_cpu_packed **out_packed)
{
    size_t elements;
    const onnxd_simd *simd = context->simd;
    onnxd_cpu_packing packing = {
        .form = "recurrent",
        .parameters = {context->matrices, context->depth, context->columns, context->late},
        .pack = pack,
        .context = context};
    if (!onnxd_product_packed_count(simd, context->depth, context->columns, &context->counts[0]) ||
        !onnxd_product_packed_count(simd, context->depth, context->late, &context->counts[1]) ||
        !onnxd_size_add(context->counts[0], context->counts[1], &elements) ||
        !onnxd_size_mul(elements, context->matrices, &elements) ||
        !onnxd_size_mul(elements, sizeof(float), &packing.bytes))
        return onnxd_error(ONNXD_UNIMPLEMENTED, "the weights of this operator are too large");
    return onnxd_cpu_packed_acquire(&kernel->runtime->packed, weights, &packing, out_packed);
}

static size_t padded(const onnxd_simd *simd, size_t columns)
{
    return (columns + simd->tile_columns - 1) / simd->tile_columns * simd->tile_columns;
}

/* Both biases of a gate go to the product with W, except that the hidden gate of a GRU that is
 * linear before the reset multiplies the second by the reset gate. */
static onnxd_status *build_biases(recurrent_state *state, const onnxd_tensor *bias, bool is_linear)
{
    onnxd_recurrence *r = &state->recurrence;
    const size_t gates = onnxd_recurrence_gates(r->kind) * r->hidden;
    const size_t of_w = padded(r->simd, gates * r->directions), of_r = padded(r->simd, gates);
    const size_t apart = is_linear ? r->hidden : 0;
    state->biases = onnxd_alloc_zero(of_w + of_r * r->directions, sizeof(float));
    if (state->biases == NULL)
        return onnxd_error_out_of_memory("biases", (of_w + of_r) * sizeof(float), UINT64_MAX);
    r->w_bias = state->biases;
    for (size_t d = 0; d < r->directions; d++) {
        float *w_bias = state->biases + d * gates, *r_bias = state->biases + of_w + d * of_r;
        r->of[d].r_bias = r_bias;
        if (bias == NULL)
            continue;
        const float *from = (const float *)bias->data + d * 2 * gates;
        for (size_t i = 0; i < gates; i++) {
            w_bias[i] = from[i] + (i < gates - apart ? from[gates + i] : 0);
            r_bias[i] = i < gates - apart ? 0 : from[gates + i];
        }
    }
    return NULL;
}

/* ---- life ------------------------------------------------------------------------------------ */

static void unmake(onnxd_cpu_kernel *kernel)
{
    recurrent_state *state = kernel->state;
    if (state == NULL)
        return;
    if (state->w != NULL)
        onnxd_cpu_packed_release(&kernel->runtime->packed, state->w);
    if (state->r != NULL)
        onnxd_cpu_packed_release(&kernel->runtime->packed, state->r);
    onnxd_free(state->biases);
    onnxd_free(state);
    kernel->state = NULL;
}

static void describe(const onnxd_cpu_case *c, onnxd_recurrence *r)
{
    const onnxd_recurrent_params *params = c->node->params;
    const int64_t *x = c->query->inputs[X].shape.dims;
    *r = (onnxd_recurrence){.simd = c->runtime->simd,
                            .kind = kind_of(c),
                            .steps = (size_t)x[params->is_batch_first ? 1 : 0],
                            .batch = (size_t)x[params->is_batch_first ? 0 : 1],
                            .width = (size_t)x[2],
                            .hidden = (size_t)c->query->inputs[R].shape.dims[2],
                            .directions = params->directions,
                            .is_batch_first = params->is_batch_first,
                            .couples_input_and_forget = params->couples_input_and_forget,
                            .clip = params->clip > 0 ? params->clip : INFINITY};
    for (uint32_t d = 0; d < r->directions; d++) {
        r->of[d].is_reverse = d == 1 || params->is_reverse;
        /* Known to succeed: the case was taken. */
        activations_of(params->activations[d], r->kind, r->of[d].activations);
    }
}

static onnxd_status *build(const onnxd_cpu_case *c, onnxd_cpu_kernel *kernel,
                           recurrent_state *state)
{
    onnxd_recurrence *r = &state->recurrence;
    const onnxd_recurrent_params *params = c->node->params;
    describe(c, r);
    const bool is_gru = r->kind == ONNXD_RECURRENCE_GRU;
    const bool is_linear = is_gru && params->is_linear_before_reset;
    const bool is_late = is_gru && !params->is_linear_before_reset;
    const size_t gates = onnxd_recurrence_gates(r->kind) * r->hidden;
    const size_t late = is_late ? r->hidden : 0;
    pack_context of_w = {
        .simd = r->simd, .matrices = 1, .depth = r->width, .columns = gates * r->directions};
    pack_context of_r = {.simd = r->simd,
                         .matrices = r->directions,
                         .depth = r->hidden,
                         .columns = gates - late,
                         .late = late};
    if (!onnxd_recurrence_workspace(r, &kernel->base.workspace_bytes))
        return onnxd_error(ONNXD_UNIMPLEMENTED, "this sequence is too large");
    ONNXD_TRY(acquire(kernel, kernel->constants[W], &of_w, &state->w));
    ONNXD_TRY(acquire(kernel, kernel->constants[R], &of_r, &state->r));
    r->w = onnxd_cpu_packed_data(state->w);
    for (size_t d = 0; d < r->directions; d++) {
        r->of[d].r =
            (const float *)onnxd_cpu_packed_data(state->r) + d * (of_r.counts[0] + of_r.counts[1]);
        r->of[d].late = is_late ? r->of[d].r + of_r.counts[0] : NULL;
    }
    return build_biases(state, onnxd_cpu_constant(c, BIAS), is_linear);
}

static onnxd_status *make(const onnxd_cpu_case *c, onnxd_cpu_kernel *kernel)
{
    recurrent_state *state = onnxd_alloc_zero(1, sizeof(*state));
    if (state == NULL)
        return onnxd_error_out_of_memory("a kernel", sizeof(*state), UINT64_MAX);
    kernel->state = state;
    onnxd_status *status = build(c, kernel, state);
    if (status != NULL)
        unmake(kernel);
    else
        onnxd_simd_name(kernel, "recurrent");
    return status;
}

/* ---- a run ----------------------------------------------------------------------------------- */

static onnxd_status *check_lengths(const onnxd_cpu_kernel *kernel, const int32_t *lengths)
{
    const onnxd_recurrence *r = &((const recurrent_state *)kernel->state)->recurrence;
    for (size_t b = 0; lengths != NULL && b < r->batch; b++)
        if (lengths[b] < 0 || (size_t)lengths[b] > r->steps)
            return onnxd_op_error(&kernel->node,
                                  "element %zu of input 4 is %" PRId32 ", allowed is 0 to %zu", b,
                                  lengths[b], r->steps);
    return NULL;
}

static const void *input(const onnxd_kernel_args *args, uint32_t index)
{
    return onnxd_simd_input(args, index);
}

static float *output(const onnxd_kernel_args *args, uint32_t index)
{
    if (index >= args->output_count || !onnxd_tensor_view_is_present(&args->outputs[index]))
        return NULL;
    return onnxd_simd_output(args, index);
}

static onnxd_status *enqueue(onnxd_cpu_kernel *kernel, const onnxd_kernel_args *args)
{
    const recurrent_state *state = kernel->state;
    const onnxd_recurrence_tensors tensors = {.x = input(args, X),
                                              .lengths = input(args, LENGTHS),
                                              .initial_h = input(args, INITIAL_H),
                                              .initial_c = input(args, INITIAL_C),
                                              .peepholes = input(args, PEEPHOLES),
                                              .y = output(args, Y),
                                              .last_h = output(args, LAST_H),
                                              .last_c = output(args, LAST_C),
                                              .workspace = args->workspace};
    ONNXD_TRY(check_lengths(kernel, tensors.lengths));
    onnxd_recurrence_run(&state->recurrence, kernel->runtime->team, &tensors);
    return NULL;
}

const onnxd_cpu_implementation onnxd_cpu_simd_recurrent = {
    .name = "simd:recurrent",
    .takes = takes,
    .make = make,
    .enqueue = enqueue,
    .unmake = unmake,
    .flops_per_us = 40e3,
};
