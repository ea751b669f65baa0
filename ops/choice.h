/*
 * String attributes that name one of a few choices.
 */
#ifndef ONNXD_OPS_CHOICE_H
#define ONNXD_OPS_CHOICE_H

#include "graph/graph.h"

/* Sets *inout_index to the position of the attribute's value among `count` choices; an absent
 * attribute leaves it as it was.
 * Errors: INVALID_ARGUMENT with the value found and the choices. */
ONNXD_NODISCARD onnxd_status *onnxd_op_choice(const onnxd_node *node, const char *name,
                                              const char *const *choices, size_t count,
                                              size_t *inout_index);

#endif
