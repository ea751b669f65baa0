/*
 * The equation of Einsum, parsed: which label every dimension of every operand carries.
 *
 * Labels are numbers. The last n of [0, ONNXD_MAX_RANK) stand for the n dimensions of an ellipsis,
 * those after them for the letters that the equation uses, in ASCII order. A set of labels fits 64
 * bits.
 */
#ifndef ONNXD_OPS_EINSUM_EQUATION_H
#define ONNXD_OPS_EINSUM_EQUATION_H

#include "graph/op.h"

#define ONNXD_EINSUM_LABELS 64
#define ONNXD_EINSUM_MAX_LETTERS (ONNXD_EINSUM_LABELS - ONNXD_MAX_RANK)
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
    char letters[ONNXD_EINSUM_MAX_LETTERS]; /* of label ONNXD_MAX_RANK and so on */
} onnxd_einsum_equation;

/* Parses the attribute 'equation' of a node; the terms live in `arena`.
 * Errors: INVALID_ARGUMENT saying what is wrong with the equation, or with its number of terms. */
ONNXD_NODISCARD onnxd_status *onnxd_einsum_parse(const onnxd_node *node, onnxd_arena *arena,
                                                 onnxd_einsum_equation *equation);

/* The labels of a term whose ellipsis, if it has one, stands for ellipsis_rank dimensions. Returns
 * their number, which may pass ONNXD_MAX_RANK; no more than that are written. */
int32_t onnxd_einsum_labels(const onnxd_einsum_term *term, int32_t ellipsis_rank, uint8_t *labels);

/* The letter of a label, or '.' for a dimension of an ellipsis. */
static inline char onnxd_einsum_letter(const onnxd_einsum_equation *equation, uint8_t label)
{
    if (label < ONNXD_MAX_RANK)
        return '.';
    return equation->letters[label - ONNXD_MAX_RANK];
}

#endif
