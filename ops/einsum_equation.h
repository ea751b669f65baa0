/*
 * The equation of Einsum, parsed: which label every dimension of every operand carries.
 *
 * Labels are numbers. The last n of [0, ONNXD_MAX_RANK) stand for the n dimensions of an ellipsis,
 * the 52 after them for the letters in ASCII order, so that sorting labels is what the implicit
 * form of an equation asks for.
 */
#ifndef ONNXD_OPS_EINSUM_EQUATION_H
#define ONNXD_OPS_EINSUM_EQUATION_H

#include "graph/op.h"

#define ONNXD_EINSUM_LABELS (ONNXD_MAX_RANK + 52)
/* Steps are chosen by looking at every pair of operands. */
#define ONNXD_EINSUM_MAX_OPERANDS 64

/* Labels of one operand without those of its ellipsis, which stands before letters[ellipsis_at]. */
typedef struct onnxd_einsum_term {
    bool has_ellipsis;
    uint8_t count, ellipsis_at;
    uint8_t letters[ONNXD_MAX_RANK];
} onnxd_einsum_term;

typedef struct onnxd_einsum_equation {
    uint32_t term_count; /* one per input */
    onnxd_einsum_term *terms;
    onnxd_einsum_term output;
} onnxd_einsum_equation;

/* Parses the attribute 'equation' of a node; the terms live in `arena`.
 * Errors: INVALID_ARGUMENT saying what is wrong with the equation, or with its number of terms. */
ONNXD_NODISCARD onnxd_status *onnxd_einsum_parse(const onnxd_node *node, onnxd_arena *arena,
                                                 onnxd_einsum_equation *equation);

/* The labels of a term whose ellipsis, if it has one, stands for ellipsis_rank dimensions. Returns
 * their number, which may pass ONNXD_MAX_RANK; no more than that are written. */
int32_t onnxd_einsum_labels(const onnxd_einsum_term *term, int32_t ellipsis_rank, uint8_t *labels);

/* A letter, or '.' for a dimension of an ellipsis. */
char onnxd_einsum_letter(uint8_t label);

#endif
