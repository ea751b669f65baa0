/* Scan since opset 9: one sequence, along an axis that each source has for itself. */
#include <inttypes.h>
#include <stdio.h>

#include "base/alloc.h"
#include "graph/subgraph.h"
#include "ops/control/scan.h"
#include "ops/ops.h"

static onnxd_status *parse(const onnxd_node *node, int64_t opset, onnxd_arena *arena, void *params)
{
    (void)opset, (void)arena;
    static const char *const names[] = {"body",
                                        "num_scan_inputs",
                                        "scan_input_axes",
                                        "scan_input_directions",
                                        "scan_output_axes",
                                        "scan_output_directions",
                                        NULL};
    onnxd_scan_loop_params *p = params;
    const int64_t lowest = -ONNXD_MAX_RANK, highest = ONNXD_MAX_RANK - 1;
    ONNXD_TRY(onnxd_attributes_allow(node, names));
    ONNXD_TRY(onnxd_scan_loop_parse(node, onnxd_control_formals(node), p));
    ONNXD_TRY(onnxd_scan_loop_parse_list(node, names[2], p->source_count, lowest, highest,
                                         &p->source_axes));
    ONNXD_TRY(
        onnxd_scan_loop_parse_list(node, names[3], p->source_count, 0, 1, &p->source_directions));
    ONNXD_TRY(onnxd_scan_loop_parse_list(node, names[4], p->scanned_count, lowest, highest,
                                         &p->scanned_axes));
    return onnxd_scan_loop_parse_list(node, names[5], p->scanned_count, 0, 1,
                                      &p->scanned_directions);
}

/* The axis of source `index`, which has this rank. */
static onnxd_status *source_axis(const onnxd_node *node, const onnxd_scan_loop_params *p,
                                 uint32_t index, int32_t rank, int32_t *out_axis)
{
    char what[64];
    (void)snprintf(what, sizeof(what), "the axis of input %" PRIu32, p->state_count + index);
    return onnxd_op_axis(node, what, p->source_axes == NULL ? 0 : p->source_axes[index], rank,
                         out_axis);
}

static onnxd_status *length_error(const onnxd_node *node, const onnxd_scan_loop_params *p,
                                  uint32_t index, int64_t length, int64_t before)
{
    return onnxd_op_error(node,
                          "input %" PRIu32 " has %" PRId64
                          " elements along its axis, those before it have %" PRId64,
                          p->state_count + index, length, before);
}

/* ---- types --------------------------------------------------------------------------------- */

/* Types of the body's inputs, and the length of the sequence where it is known. */
static onnxd_status *infer_given(const onnxd_infer *infer, const onnxd_scan_loop_params *p,
                                 onnxd_tensor_type *given, int64_t *out_length)
{
    int64_t length = ONNXD_DIM_UNKNOWN;
    for (uint32_t i = 0; i < p->body->input_count; i++) {
        given[i] = infer->inputs[i];
        if (i < p->state_count || given[i].shape.rank < 0)
            continue;
        int32_t axis;
        const onnxd_shape *shape = &infer->inputs[i].shape;
        ONNXD_TRY(source_axis(infer->node, p, i - p->state_count, shape->rank, &axis));
        int64_t dim = shape->dims[axis];
        if (onnxd_dim_is_static(dim) && onnxd_dim_is_static(length) && dim != length)
            return length_error(infer->node, p, i - p->state_count, dim, length);
        if (onnxd_dim_is_static(dim) || length == ONNXD_DIM_UNKNOWN)
            length = dim;
        given[i].shape = onnxd_control_without_axis(shape, axis);
    }
    *out_length = length;
    return NULL;
}

static onnxd_status *infer_output(onnxd_infer *infer, const onnxd_scan_loop_params *p,
                                  uint32_t index, const onnxd_tensor_type *made, int64_t length)
{
    onnxd_tensor_type *output = &infer->outputs[index];
    *output = *made;
    if (made->dtype != ONNXD_UNDEFINED && made->kind != ONNXD_VALUE_TENSOR)
        return onnxd_op_error(infer->node, "output %" PRIu32 " of the body is a %s, not a tensor",
                              index, onnxd_value_kind_name(made->kind));
    if (index < p->state_count) {
        const onnxd_tensor_type *first = &infer->inputs[index];
        if (first->dtype != ONNXD_UNDEFINED && made->dtype != ONNXD_UNDEFINED &&
            first->dtype != made->dtype)
            return onnxd_op_error(infer->node, "state %" PRIu32 " is %s, the body makes it %s",
                                  index, onnxd_dtype_name(first->dtype),
                                  onnxd_dtype_name(made->dtype));
        if (first->dtype != ONNXD_UNDEFINED)
            *output = *first;
        return NULL;
    }
    output->shape = onnxd_shape_unknown();
    if (made->shape.rank < 0 || made->shape.rank >= ONNXD_MAX_RANK)
        return NULL;
    int32_t axis = 0;
    if (p->scanned_axes != NULL)
        ONNXD_TRY(onnxd_op_axis(infer->node, "attribute 'scan_output_axes'",
                                p->scanned_axes[index - p->state_count], made->shape.rank + 1,
                                &axis));
    output->shape = onnxd_control_with_axis(&made->shape, axis, length);
    return NULL;
}

static onnxd_status *infer(onnxd_infer *infer)
{
    const onnxd_scan_loop_params *p = infer->params;
    onnxd_tensor_type *given = NULL, *made = NULL;
    int64_t length = ONNXD_DIM_UNKNOWN;
    onnxd_status *status = onnxd_control_types(p->body->input_count, &given);
    if (status == NULL)
        status = onnxd_control_types(p->body->output_count, &made);
    if (status == NULL)
        status = infer_given(infer, p, given, &length);
    if (status == NULL)
        status = onnxd_graph_infer_outputs(p->body, infer->inputs, given, made);
    for (uint32_t i = 0; i < infer->output_count && status == NULL; i++)
        status = infer_output(infer, p, i, &made[i], length);
    onnxd_free(given);
    onnxd_free(made);
    return status;
}

/* ---- running ------------------------------------------------------------------------------- */

/* Axes and length of the sources. */
static onnxd_status *measure(const onnxd_dynamic *dynamic, const onnxd_scan_loop_params *p,
                             const onnxd_tensor *const *sources, int32_t *axes, int64_t *out_length)
{
    int64_t length = 0;
    for (uint32_t i = 0; i < p->source_count; i++) {
        const onnxd_shape *shape = &sources[i]->shape;
        ONNXD_TRY(source_axis(dynamic->node, p, i, shape->rank, &axes[i]));
        if (i > 0 && shape->dims[axes[i]] != length)
            return length_error(dynamic->node, p, i, shape->dims[axes[i]], length);
        length = shape->dims[axes[i]];
    }
    *out_length = length;
    return NULL;
}

/* What would have been scanned, in no iterations. */
static onnxd_status *finish_empty(onnxd_scan_loop *scan, uint32_t output, onnxd_tensor **out_tensor)
{
    const onnxd_scan_loop_params *p = scan->params;
    onnxd_tensor_type *given = NULL, type;
    int32_t axis = 0;
    ONNXD_TRY(onnxd_control_types(p->body->input_count, &given));
    for (uint32_t i = 0; i < p->body->input_count; i++) {
        given[i] = onnxd_datum_type(scan->dynamic->inputs[i]);
        if (i >= p->state_count)
            given[i].shape =
                onnxd_control_without_axis(&given[i].shape, scan->axes[i - p->state_count]);
    }
    onnxd_status *status = onnxd_control_unrun_type(scan->dynamic, p->body, given, output, &type);
    onnxd_free(given);
    if (status != NULL)
        return status;
    if (type.shape.rank == ONNXD_MAX_RANK)
        return onnxd_op_error(scan->dynamic->node,
                              "output %" PRIu32
                              " of the body has rank %d, which leaves no room for another axis",
                              output, ONNXD_MAX_RANK);
    if (p->scanned_axes != NULL)
        ONNXD_TRY(onnxd_op_axis(scan->dynamic->node, "attribute 'scan_output_axes'",
                                p->scanned_axes[output - p->state_count], type.shape.rank + 1,
                                &axis));
    onnxd_shape shape = onnxd_control_with_axis(&type.shape, axis, 0);
    return onnxd_pieces_allocate(scan->dynamic->env, type.dtype, &shape, out_tensor);
}

static onnxd_status *finish(onnxd_scan_loop *scan)
{
    onnxd_dynamic *dynamic = scan->dynamic;
    uint32_t state_count = scan->params->state_count;
    for (uint32_t i = 0; i < dynamic->output_count; i++) {
        onnxd_tensor *tensor = NULL;
        if (!onnxd_op_has_output(dynamic->node, i))
            continue;
        if (i < state_count) {
            dynamic->outputs[i] = onnxd_datum_retain(scan->given[i]);
            continue;
        }
        onnxd_stack *stack = &scan->stacks[i - state_count];
        ONNXD_TRY(onnxd_stack_is_empty(stack) ? finish_empty(scan, i, &tensor)
                                              : onnxd_stack_finish(stack, &tensor));
        ONNXD_TRY(onnxd_control_datum(tensor, &dynamic->outputs[i]));
    }
    return NULL;
}

static onnxd_status *run_with(onnxd_dynamic *dynamic, const onnxd_tensor **inputs, int32_t *axes)
{
    const onnxd_scan_loop_params *p = dynamic->params;
    onnxd_scan_loop scan = {.dynamic = dynamic, .params = p, .axes = axes};
    scan.sources = inputs + p->state_count;
    ONNXD_TRY(onnxd_scan_loop_inputs(dynamic, 0, p->state_count + p->source_count, inputs));
    ONNXD_TRY(measure(dynamic, p, scan.sources, axes, &scan.iterations));
    scan.extent = scan.iterations;
    onnxd_status *status = onnxd_scan_loop_init(&scan);
    if (status != NULL)
        goto done;
    for (uint32_t i = 0; i < p->state_count; i++)
        scan.given[i] = onnxd_datum_retain(dynamic->inputs[i]);
    status = onnxd_scan_loop_run(&scan);
    if (status == NULL)
        status = finish(&scan);
done:
    onnxd_scan_loop_deinit(&scan);
    return status;
}

static onnxd_status *run(onnxd_dynamic *dynamic)
{
    const onnxd_scan_loop_params *p = dynamic->params;
    size_t count = (size_t)p->state_count + p->source_count;
    union {
        const onnxd_tensor **typed;
        void *memory;
    } inputs = {.memory = onnxd_alloc_zero(count, sizeof(onnxd_tensor *))};
    int32_t *axes = onnxd_alloc_zero(p->source_count, sizeof(*axes));
    onnxd_status *status = NULL;
    if (inputs.memory == NULL || axes == NULL)
        status = onnxd_error_out_of_memory("inputs of a scan",
                                           (uint64_t)count * sizeof(onnxd_tensor *), UINT64_MAX);
    else
        status = run_with(dynamic, inputs.typed, axes);
    onnxd_free(inputs.memory);
    onnxd_free(axes);
    return status;
}

#define ROW(first, last, set)                                                                      \
    {                                                                                              \
        .op_type = "Scan", .domain = "", .since = first, .until = last, .min_inputs = 1,           \
        .max_inputs = ONNXD_OP_VARIADIC, .min_outputs = 1, .max_outputs = ONNXD_OP_VARIADIC,       \
        .inputs = {{.types = set}}, .outputs = {{.types = set, .is_optional = true}},              \
        .params_bytes = sizeof(onnxd_scan_loop_params), .parse = parse, .infer = infer, .run = run \
    }

const onnxd_op_def onnxd_op_scan[] = {
    ROW(9, 15, ONNXD_SET_ANY_1),
    ROW(16, 18, ONNXD_SET_ANY_13),
    ROW(19, 20, ONNXD_SET_ANY_19),
    ONNXD_ROWS_ANY_21(ROW),
    {.op_type = NULL},
};
