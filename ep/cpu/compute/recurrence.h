/*
 * RNN, GRU and LSTM of FLOAT with constant weights, as ONNX defines them.
 *
 * The products with W are one product, for all steps and both directions; the steps follow one
 * another with a product with R and a pass over the hidden units each. Directions, and parts of the
 * batch, share nothing after the first product and are work for different threads.
 *
 * Threads: preparing from any; run by one thread and its team.
 */
#ifndef ONNXD_EP_CPU_COMPUTE_RECURRENCE_H
#define ONNXD_EP_CPU_COMPUTE_RECURRENCE_H

#include "ep/cpu/compute/product.h"
#include "ep/cpu/compute/team.h"

typedef enum onnxd_recurrence_kind {
    ONNXD_RECURRENCE_RNN,
    ONNXD_RECURRENCE_GRU,
    ONNXD_RECURRENCE_LSTM
} onnxd_recurrence_kind;

/* With G gates of `hidden` columns each. Weights are packed by onnxd_product_pack(), the B of a
 * product being a matrix of W or R transposed; biases are padded to whole panels of their product.
 */
typedef struct onnxd_recurrence_direction {
    bool is_reverse;
    onnxd_simd_activation activations[3];
    const float *r; /* of all gates, but not of the last where `late` is there */
    const float *r_bias;
    const float *late; /* GRU: the hidden gate's, whose product waits for the reset gate; or NULL */
} onnxd_recurrence_direction;

typedef struct onnxd_recurrence {
    const onnxd_simd *simd;
    onnxd_recurrence_kind kind;
    size_t steps, batch, width, hidden; /* none is 0 */
    uint32_t directions;                /* 1 or 2 */
    bool is_batch_first;                /* layout 1 */
    bool couples_input_and_forget;
    float clip;     /* INFINITY: none */
    const float *w; /* of all gates of all directions, one after the other */
    const float *w_bias;
    onnxd_recurrence_direction of[2];
} onnxd_recurrence;

/* Tensors of the shapes that ONNX gives them; those that may be NULL are absent. */
typedef struct onnxd_recurrence_tensors {
    const float *x;
    const int32_t *lengths;                         /* [batch], each in [0, steps]; or NULL */
    const float *initial_h, *initial_c, *peepholes; /* or NULL */
    float *y, *last_h, *last_c;                     /* or NULL */
    void *workspace; /* of onnxd_recurrence_workspace() bytes, aligned to 64 */
} onnxd_recurrence_tensors;

/* G. */
uint32_t onnxd_recurrence_gates(onnxd_recurrence_kind kind);
/* False when it does not fit. */
bool onnxd_recurrence_workspace(const onnxd_recurrence *r, size_t *out_bytes);
/* Neither allocates nor fails. */
void onnxd_recurrence_run(const onnxd_recurrence *r, onnxd_team *team,
                          const onnxd_recurrence_tensors *tensors);

#endif
