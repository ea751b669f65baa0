#include <inttypes.h>
#include <stdio.h>

#include "base/alloc.h"
#include "ops/control/scan.h"

/* ---- attributes ---------------------------------------------------------------------------- */

onnxd_status *onnxd_scan_loop_parse(const onnxd_node *node, uint32_t formal_count,
                                    onnxd_scan_loop_params *p)
{
    int64_t sources = 0;
    ONNXD_TRY(onnxd_control_graph(node, "body", &p->body));
    ONNXD_TRY(onnxd_attribute_require(node, "num_scan_inputs"));
    ONNXD_TRY(onnxd_attribute_int(node, "num_scan_inputs", 1, formal_count, &sources));
    p->source_count = (uint32_t)sources;
    p->state_count = formal_count - p->source_count;
    if (node->output_count < p->state_count)
        return onnxd_op_error(node, "%" PRIu32 " outputs for %" PRIu32 " states",
                              node->output_count, p->state_count);
    p->scanned_count = node->output_count - p->state_count;
    return onnxd_control_check_graph(node, "body", p->body, formal_count, node->output_count);
}

onnxd_status *onnxd_scan_loop_parse_list(const onnxd_node *node, const char *name, size_t count,
                                         int64_t minimum, int64_t maximum,
                                         const int64_t **out_values)
{
    const onnxd_attribute *attribute = onnxd_node_attribute(node, name);
    if (attribute == NULL)
        return NULL;
    ONNXD_TRY(onnxd_attribute_check_kind(node, name, ONNXD_ATTRIBUTE_INTS));
    if (attribute->count != count)
        return onnxd_op_error(node, "attribute '%s' has %zu elements, it must have %zu", name,
                              attribute->count, count);
    for (size_t i = 0; i < count; i++)
        if (attribute->value.ints[i] < minimum || attribute->value.ints[i] > maximum)
            return onnxd_op_error(node,
                                  "attribute '%s': element %zu is %" PRId64 ", allowed are %" PRId64
                                  " to %" PRId64,
                                  name, i, attribute->value.ints[i], minimum, maximum);
    *out_values = attribute->value.ints;
    return NULL;
}

onnxd_status *onnxd_scan_loop_inputs(const onnxd_dynamic *dynamic, uint32_t first, uint32_t count,
                                     const onnxd_tensor **tensors)
{
    char what[32];
    for (uint32_t i = 0; i < count; i++) {
        (void)snprintf(what, sizeof(what), "input %" PRIu32, first + i);
        ONNXD_TRY(
            onnxd_control_tensor(dynamic->node, what, dynamic->inputs[first + i], &tensors[i]));
    }
    return NULL;
}

/* ---- iterations ---------------------------------------------------------------------------- */

onnxd_status *onnxd_scan_loop_init(onnxd_scan_loop *scan)
{
    const onnxd_scan_loop_params *p = scan->params;
    ONNXD_TRY(onnxd_control_datums(p->body->input_count, &scan->given));
    ONNXD_TRY(onnxd_control_datums(p->body->output_count, &scan->made));
    scan->stacks = onnxd_alloc_zero((size_t)p->scanned_count + 1, sizeof(*scan->stacks));
    if (scan->stacks == NULL)
        return onnxd_error_out_of_memory("results of a scan",
                                         p->scanned_count * sizeof(*scan->stacks), UINT64_MAX);
    for (uint32_t i = 0; i < p->scanned_count; i++)
        onnxd_stack_init_fixed(&scan->stacks[i], scan->dynamic->env, (size_t)scan->extent,
                               p->scanned_directions != NULL && p->scanned_directions[i] != 0);
    return NULL;
}

void onnxd_scan_loop_deinit(onnxd_scan_loop *scan)
{
    for (uint32_t i = 0; scan->stacks != NULL && i < scan->params->scanned_count; i++)
        onnxd_stack_deinit(&scan->stacks[i]);
    onnxd_free(scan->stacks);
    onnxd_datums_free(scan->given, scan->params->body->input_count);
    onnxd_datums_free(scan->made, scan->params->body->output_count);
}

/* The elements of all sources in one iteration. */
static onnxd_status *take_elements(onnxd_scan_loop *scan, int64_t iteration)
{
    const onnxd_scan_loop_params *p = scan->params;
    for (uint32_t i = 0; i < p->source_count; i++) {
        onnxd_datum **given = &scan->given[p->state_count + i];
        const onnxd_tensor *source = scan->sources[i];
        onnxd_tensor *element = NULL;
        bool is_backward = p->source_directions != NULL && p->source_directions[i] != 0;
        int64_t position = is_backward ? scan->iterations - 1 - iteration : iteration;
        onnxd_shape shape = onnxd_control_without_axis(&source->shape, scan->axes[i]);
        onnxd_datum_release(*given);
        *given = NULL;
        ONNXD_TRY(onnxd_pieces_take(scan->dynamic->env, source, scan->axes[i], position, 1, &shape,
                                    &element));
        ONNXD_TRY(onnxd_control_datum(element, given));
    }
    return NULL;
}

static onnxd_status *check_state(const onnxd_scan_loop *scan, uint32_t index,
                                 const onnxd_datum *after)
{
    const onnxd_tensor *before = scan->given[index]->tensor, *tensor = NULL;
    char what[48], found[ONNXD_SHAPE_TEXT], wanted[ONNXD_SHAPE_TEXT];
    (void)snprintf(what, sizeof(what), "output %" PRIu32 " of the body", index);
    ONNXD_TRY(onnxd_control_tensor(scan->dynamic->node, what, after, &tensor));
    if (tensor->dtype == before->dtype && onnxd_shape_equal(&tensor->shape, &before->shape))
        return NULL;
    return onnxd_op_error(scan->dynamic->node, "%s is %s%s, the state was %s%s", what,
                          onnxd_dtype_name(tensor->dtype),
                          onnxd_shape_format(&tensor->shape, found, sizeof(found)),
                          onnxd_dtype_name(before->dtype),
                          onnxd_shape_format(&before->shape, wanted, sizeof(wanted)));
}

static onnxd_status *stack_scanned(onnxd_scan_loop *scan, uint32_t index, const onnxd_datum *made)
{
    const onnxd_scan_loop_params *p = scan->params;
    onnxd_stack *stack = &scan->stacks[index];
    const onnxd_tensor *tensor = NULL;
    char what[48];
    if (!onnxd_op_has_output(scan->dynamic->node, p->state_count + index))
        return NULL;
    (void)snprintf(what, sizeof(what), "output %" PRIu32 " of the body", p->state_count + index);
    ONNXD_TRY(onnxd_control_tensor(scan->dynamic->node, what, made, &tensor));
    if (onnxd_stack_is_empty(stack) && p->scanned_axes != NULL)
        ONNXD_TRY(onnxd_op_axis(scan->dynamic->node, "attribute 'scan_output_axes'",
                                p->scanned_axes[index], tensor->shape.rank + 1, &stack->axis));
    return onnxd_status_context(onnxd_stack_push(stack, made->tensor), "%s", what);
}

static onnxd_status *take_made(onnxd_scan_loop *scan)
{
    const onnxd_scan_loop_params *p = scan->params;
    for (uint32_t i = 0; i < p->state_count; i++) {
        ONNXD_TRY(check_state(scan, i, scan->made[i]));
        onnxd_datum_release(scan->given[i]);
        scan->given[i] = scan->made[i];
        scan->made[i] = NULL;
    }
    for (uint32_t i = 0; i < p->scanned_count; i++) {
        onnxd_datum **made = &scan->made[p->state_count + i];
        ONNXD_TRY(stack_scanned(scan, i, *made));
        onnxd_datum_release(*made);
        *made = NULL;
    }
    return NULL;
}

onnxd_status *onnxd_scan_loop_run(onnxd_scan_loop *scan)
{
    const onnxd_dynamic *dynamic = scan->dynamic;
    for (int64_t i = 0; i < scan->iterations; i++) {
        ONNXD_TRY(dynamic->env->check(dynamic->env));
        ONNXD_TRY(take_elements(scan, i));
        ONNXD_TRY(dynamic->env->run_subgraph(dynamic->env, scan->params->body, dynamic->inputs,
                                             scan->given, scan->made));
        ONNXD_TRY(take_made(scan));
    }
    return NULL;
}
