/*
 * Batches in parts. A batch whose values do not fit what a device reaches fast (batch_cache_bytes
 * of onnxd_ep_info) is read and written far away between any two steps; an image alone may fit. So
 * where consecutive steps treat the indices of the first dimension apart, the plan may run them for
 * one part of the batch after the other, a *section*: what lives within one has the size of a part.
 * The weights of the section are read once more per part, which is why steps with many weights stay
 * outside.
 *
 *   step ─► [ step ─► step ─► step ] × parts ─► step
 *
 * Only stages in host memory have sections: elsewhere launching costs more.
 */
#ifndef ONNXD_MODEL_PLAN_PARTS_H
#define ONNXD_MODEL_PLAN_PARTS_H

#include "model/plan_build.h"

/* After roots were found, before steps are made: finds sections and gives the values that live
 * within one the type of a part. Errors: OUT_OF_MEMORY. */
ONNXD_NODISCARD onnxd_status *onnxd_builder_find_sections(onnxd_plan_builder *b);
void onnxd_builder_drop_sections(onnxd_plan_builder *b);

/* The section of a node, or ONNXD_NONE. */
uint32_t onnxd_builder_section(const onnxd_plan_builder *b, const onnxd_node *node);
/* Whether the value lives within one section, and has the type of a part. */
bool onnxd_builder_is_part(const onnxd_plan_builder *b, onnxd_value_id value);
/* Whether the step of a node reads or writes, at this input or (from input_count on) output, a part
 * of a value that is there as a whole. */
bool onnxd_builder_takes_part(const onnxd_plan_builder *b, const onnxd_node *node,
                              uint32_t operand);
/* The query that a kernel is made for; see onnxd_query_make(). */
onnxd_op_query onnxd_builder_query(onnxd_plan_builder *b, const onnxd_node *node);

/* After steps are made: what enters or leaves a section lives as long as all of it runs. */
void onnxd_builder_extend_over_sections(onnxd_plan_builder *b);

#endif
