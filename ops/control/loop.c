/*
 * Loop: runs its body while a count and a condition allow it. The body has the inputs (iteration,
 * condition, carried...) and the outputs (condition, carried..., scanned...); what it scans is
 * stacked over the iterations.
 *
 * A condition that the node is not given begins as true; what the body makes of it counts, as in
 * ONNX Runtime, although the text of ONNX has it ignored.
 */
#include <inttypes.h>
#include <stdio.h>

#include "base/alloc.h"
#include "graph/subgraph.h"
#include "ops/control/control.h"
#include "ops/control/pieces.h"
#include "ops/ops.h"

typedef struct loop_params {
    const onnxd_graph *body;
    uint32_t carried_count, scanned_count;
} loop_params;

static onnxd_status *parse(const onnxd_node *node, int64_t opset, onnxd_arena *arena, void *params)
{
    (void)opset, (void)arena;
    static const char *const names[] = {"body", NULL};
    loop_params *p = params;
    ONNXD_TRY(onnxd_attributes_allow(node, names));
    ONNXD_TRY(onnxd_control_graph(node, "body", &p->body));
    uint32_t carried = onnxd_control_formals(node) - 2;
    ONNXD_TRY(
        onnxd_control_check_graph(node, "body", p->body, carried + 2, node->output_count + 1));
    if (node->output_count < carried)
        return onnxd_op_error(node,
                              "%" PRIu32 " outputs for %" PRIu32 " values that are carried along",
                              node->output_count, carried);
    p->carried_count = carried;
    p->scanned_count = node->output_count - carried;
    return NULL;
}

/* ---- types --------------------------------------------------------------------------------- */

/* The rank of a body's input that holds one element: 0, or 1 where it is declared so. */
static int32_t declared_rank(const onnxd_graph *body, uint32_t input)
{
    return body->values[body->inputs[input]].type.shape.rank == 1 ? 1 : 0;
}

/* Types of the body's first two inputs, which the loop makes. */
static void set_own_types(const loop_params *p, onnxd_tensor_type *types)
{
    types[0] = (onnxd_tensor_type){.dtype = ONNXD_INT64,
                                   .shape = {.rank = declared_rank(p->body, 0), .dims = {1}}};
    types[1] = (onnxd_tensor_type){.dtype = ONNXD_BOOL,
                                   .shape = {.rank = declared_rank(p->body, 1), .dims = {1}}};
}

static onnxd_status *check_condition_type(const onnxd_infer *infer, const onnxd_tensor_type *type)
{
    if (type->dtype == ONNXD_UNDEFINED ||
        (type->dtype == ONNXD_BOOL && type->kind == ONNXD_VALUE_TENSOR))
        return NULL;
    return onnxd_op_error(infer->node,
                          "output 0 of the body, the condition, is a %s of %s, it must be a bool",
                          onnxd_value_kind_name(type->kind), onnxd_dtype_name(type->dtype));
}

/* A value ends as what the body makes of it, or as what it began as. */
static onnxd_status *infer_carried(onnxd_infer *infer, uint32_t index,
                                   const onnxd_tensor_type *made)
{
    const onnxd_tensor_type *first = &infer->inputs[2 + index];
    onnxd_tensor_type *output = &infer->outputs[index];
    if (first->dtype != ONNXD_UNDEFINED && made->dtype != ONNXD_UNDEFINED &&
        first->dtype != made->dtype)
        return onnxd_op_error(
            infer->node, "input %" PRIu32 " is %s, the body makes it %s in output %" PRIu32,
            2 + index, onnxd_dtype_name(first->dtype), onnxd_dtype_name(made->dtype), 1 + index);
    *output = made->dtype != ONNXD_UNDEFINED ? *made : *first;
    output->shape = onnxd_control_join(&first->shape, &made->shape);
    return NULL;
}

static onnxd_status *infer_scanned(onnxd_infer *infer, uint32_t index,
                                   const onnxd_tensor_type *made)
{
    if (made->dtype == ONNXD_UNDEFINED)
        return NULL;
    if (made->kind != ONNXD_VALUE_TENSOR)
        return onnxd_op_error(infer->node,
                              "output %" PRIu32 " of the body is a %s, only tensors can be stacked",
                              1 + index, onnxd_value_kind_name(made->kind));
    infer->outputs[index] = *made;
    infer->outputs[index].shape = onnxd_control_with_axis(&made->shape, 0, ONNXD_DIM_UNKNOWN);
    return NULL;
}

static onnxd_status *infer_outputs(onnxd_infer *infer, const loop_params *p,
                                   const onnxd_tensor_type *made)
{
    ONNXD_TRY(check_condition_type(infer, &made[0]));
    for (uint32_t i = 0; i < infer->output_count; i++)
        ONNXD_TRY(i < p->carried_count ? infer_carried(infer, i, &made[1 + i])
                                       : infer_scanned(infer, i, &made[1 + i]));
    return NULL;
}

static onnxd_status *infer(onnxd_infer *infer)
{
    const loop_params *p = infer->params;
    onnxd_tensor_type *given = NULL, *made = NULL;
    ONNXD_TRY(onnxd_control_check_single(infer, 0));
    ONNXD_TRY(onnxd_control_check_single(infer, 1));
    onnxd_status *status = onnxd_control_types(p->body->input_count, &given);
    if (status == NULL)
        status = onnxd_control_types(p->body->output_count, &made);
    if (status != NULL)
        goto done;
    set_own_types(p, given);
    for (uint32_t i = 2; i < p->body->input_count; i++) {
        given[i] = infer->inputs[i];
        /* It may change from one iteration to the next. */
        given[i].shape = onnxd_shape_unknown();
    }
    status = onnxd_graph_infer_outputs(p->body, infer->inputs, given, made);
    if (status == NULL)
        status = infer_outputs(infer, p, made);
done:
    onnxd_free(given);
    onnxd_free(made);
    return status;
}

/* ---- running ------------------------------------------------------------------------------- */

typedef struct loop_run {
    onnxd_dynamic *dynamic;
    const loop_params *params;
    int64_t most; /* iterations; INT64_MAX without a count */
    bool goes_on;
    onnxd_datum **given; /* of the body: iteration, condition, carried... */
    onnxd_datum **made;  /* condition, carried..., scanned... */
    onnxd_stack *stacks; /* [scanned_count] */
} loop_run;

static void loop_deinit(loop_run *r)
{
    for (uint32_t i = 0; r->stacks != NULL && i < r->params->scanned_count; i++)
        onnxd_stack_deinit(&r->stacks[i]);
    onnxd_free(r->stacks);
    onnxd_datums_free(r->given, r->params->body->input_count);
    onnxd_datums_free(r->made, r->params->body->output_count);
}

/* How often and whether at all, from inputs 0 and 1. */
static onnxd_status *read_bounds(loop_run *r)
{
    const onnxd_dynamic *dynamic = r->dynamic;
    r->most = INT64_MAX;
    r->goes_on = true;
    if (dynamic->inputs[0] != NULL)
        ONNXD_TRY(onnxd_control_int(dynamic->node, "input 0", dynamic->inputs[0], &r->most));
    if (dynamic->inputs[1] != NULL)
        ONNXD_TRY(onnxd_control_bool(dynamic->node, "input 1", dynamic->inputs[1], &r->goes_on));
    return NULL;
}

static onnxd_status *loop_init(loop_run *r)
{
    const onnxd_dynamic *dynamic = r->dynamic;
    const loop_params *p = r->params;
    uint8_t goes_on = 1;
    ONNXD_TRY(onnxd_control_datums(p->body->input_count, &r->given));
    ONNXD_TRY(onnxd_control_datums(p->body->output_count, &r->made));
    r->stacks = onnxd_alloc_zero((size_t)p->scanned_count + 1, sizeof(*r->stacks));
    if (r->stacks == NULL)
        return onnxd_error_out_of_memory("results of a loop", p->scanned_count * sizeof(*r->stacks),
                                         UINT64_MAX);
    ONNXD_TRY(read_bounds(r));
    for (uint32_t i = 0; i < p->scanned_count; i++)
        onnxd_stack_init(&r->stacks[i], dynamic->env, r->most < 0 ? 0 : (size_t)r->most);
    for (uint32_t i = 0; i < p->carried_count; i++) {
        onnxd_datum *first = dynamic->inputs[2 + i];
        if (first != NULL)
            r->given[2 + i] = onnxd_datum_retain(first);
        else
            ONNXD_TRY(onnxd_datum_nothing(ONNXD_UNDEFINED, &r->given[2 + i]));
    }
    return onnxd_control_single(dynamic, ONNXD_BOOL, declared_rank(p->body, 1), &goes_on,
                                &r->given[1]);
}

static bool is_optional(const onnxd_datum *datum)
{
    return datum->kind == ONNXD_VALUE_OPTIONAL;
}

/* A value stays of one kind and element type; an optional may hold something or nothing. */
static onnxd_status *check_carried(const loop_run *r, uint32_t index, const onnxd_datum *before,
                                   const onnxd_datum *after)
{
    bool is_same = is_optional(before) || is_optional(after) || before->kind == after->kind;
    if (before->dtype != ONNXD_UNDEFINED && after->dtype != ONNXD_UNDEFINED)
        is_same = is_same && before->dtype == after->dtype;
    if (is_same)
        return NULL;
    return onnxd_op_error(r->dynamic->node,
                          "output %" PRIu32 " of the body is a %s of %s, it was carried in as a %s "
                          "of %s",
                          index, onnxd_value_kind_name(after->kind), onnxd_dtype_name(after->dtype),
                          onnxd_value_kind_name(before->kind), onnxd_dtype_name(before->dtype));
}

static onnxd_status *stack_scanned(loop_run *r, uint32_t index, const onnxd_datum *made)
{
    const onnxd_node *node = r->dynamic->node;
    uint32_t output = 1 + r->params->carried_count + index;
    const onnxd_tensor *tensor = NULL;
    char what[48];
    (void)snprintf(what, sizeof(what), "output %" PRIu32 " of the body", output);
    if (!onnxd_op_has_output(node, output - 1))
        return NULL;
    ONNXD_TRY(onnxd_control_tensor(node, what, made, &tensor));
    return onnxd_status_context(onnxd_stack_push(&r->stacks[index], made->tensor), "%s", what);
}

/* What the body made becomes what it is given next. */
static onnxd_status *take_made(loop_run *r)
{
    const loop_params *p = r->params;
    ONNXD_TRY(onnxd_control_bool(r->dynamic->node, "output 0 of the body, the condition,",
                                 r->made[0], &r->goes_on));
    for (uint32_t i = 0; i < p->scanned_count; i++)
        ONNXD_TRY(stack_scanned(r, i, r->made[1 + p->carried_count + i]));
    for (uint32_t i = 0; i < p->carried_count; i++) {
        if (r->made[1 + i] == NULL)
            ONNXD_TRY(onnxd_datum_nothing(ONNXD_UNDEFINED, &r->made[1 + i]));
        ONNXD_TRY(check_carried(r, 1 + i, r->given[2 + i], r->made[1 + i]));
        onnxd_datum_release(r->given[2 + i]);
        r->given[2 + i] = r->made[1 + i];
        r->made[1 + i] = NULL;
    }
    for (uint32_t i = 0; i < p->body->output_count; i++) {
        onnxd_datum_release(r->made[i]);
        r->made[i] = NULL;
    }
    return NULL;
}

static onnxd_status *iterate(loop_run *r)
{
    const onnxd_dynamic *dynamic = r->dynamic;
    const loop_params *p = r->params;
    for (int64_t i = 0; i < r->most && r->goes_on; i++) {
        ONNXD_TRY(dynamic->env->check(dynamic->env));
        onnxd_datum_release(r->given[0]);
        r->given[0] = NULL;
        ONNXD_TRY(onnxd_control_single(dynamic, ONNXD_INT64, declared_rank(p->body, 0), &i,
                                       &r->given[0]));
        ONNXD_TRY(
            dynamic->env->run_subgraph(dynamic->env, p->body, dynamic->inputs, r->given, r->made));
        ONNXD_TRY(take_made(r));
    }
    return NULL;
}

/* A stack of nothing has no extent along its first axis. */
static onnxd_status *finish_empty(const loop_run *r, uint32_t output, onnxd_tensor **out_tensor)
{
    onnxd_tensor_type *given = NULL, type;
    ONNXD_TRY(onnxd_control_types(r->params->body->input_count, &given));
    set_own_types(r->params, given);
    for (uint32_t i = 2; i < r->params->body->input_count; i++)
        given[i] = onnxd_datum_type(r->given[i]);
    onnxd_status *status =
        onnxd_control_unrun_type(r->dynamic, r->params->body, given, 1 + output, &type);
    onnxd_free(given);
    if (status != NULL)
        return status;
    if (type.shape.rank == ONNXD_MAX_RANK)
        return onnxd_op_error(r->dynamic->node,
                              "output %" PRIu32 " of the body has rank %d, which leaves no room "
                              "for another axis",
                              1 + output, ONNXD_MAX_RANK);
    onnxd_shape shape = onnxd_control_with_axis(&type.shape, 0, 0);
    return onnxd_pieces_allocate(r->dynamic->env, type.dtype, &shape, out_tensor);
}

static onnxd_status *finish(loop_run *r)
{
    onnxd_dynamic *dynamic = r->dynamic;
    const loop_params *p = r->params;
    for (uint32_t i = 0; i < dynamic->output_count; i++) {
        if (!onnxd_op_has_output(dynamic->node, i))
            continue;
        if (i < p->carried_count) {
            dynamic->outputs[i] = onnxd_datum_retain(r->given[2 + i]);
            continue;
        }
        onnxd_tensor *tensor = NULL;
        onnxd_stack *stack = &r->stacks[i - p->carried_count];
        ONNXD_TRY(onnxd_stack_is_empty(stack) ? finish_empty(r, i, &tensor)
                                              : onnxd_stack_finish(stack, &tensor));
        ONNXD_TRY(onnxd_control_datum(tensor, &dynamic->outputs[i]));
    }
    return NULL;
}

static onnxd_status *run(onnxd_dynamic *dynamic)
{
    loop_run r = {.dynamic = dynamic, .params = dynamic->params};
    onnxd_status *status = loop_init(&r);
    if (status == NULL)
        status = iterate(&r);
    if (status == NULL)
        status = finish(&r);
    loop_deinit(&r);
    return status;
}

#define ROW_OF(first, last, least, set, set_of_kinds)                                              \
    {                                                                                              \
        .op_type = "Loop", .domain = "", .since = first, .until = last, .min_inputs = least,       \
        .max_inputs = ONNXD_OP_VARIADIC, .min_outputs = 1, .max_outputs = ONNXD_OP_VARIADIC,       \
        .inputs = {{.types = ONNXD_SET(INT64), .is_optional = true},                               \
                   {.types = ONNXD_SET(BOOL), .is_optional = true},                                \
                   {.types = set, .kinds = set_of_kinds}},                                         \
        .outputs = {{.types = set, .kinds = set_of_kinds, .is_optional = true}},                   \
        .params_bytes = sizeof(loop_params), .parse = parse, .infer = infer, .run = run            \
    }
#define ROW(first, last, set) ROW_OF(first, last, 2, set, ONNXD_KINDS_OPTIONAL)

const onnxd_op_def onnxd_op_loop[] = {
    ROW_OF(1, 10, 3, ONNXD_SET_ANY_1, ONNXD_KIND(TENSOR)),
    ROW_OF(11, 12, 2, ONNXD_SET_ANY_1, ONNXD_KIND(TENSOR)),
    ROW_OF(13, 15, 2, ONNXD_SET_ANY_1, ONNXD_KINDS_SEQUENCE),
    ROW(16, 18, ONNXD_SET_ANY_13),
    ROW(19, 20, ONNXD_SET_ANY_19),
    ONNXD_ROWS_ANY_21(ROW),
    {.op_type = NULL},
};
