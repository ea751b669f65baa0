/*
 * Scan of opset 8: a batch of sequences along axis 1 of every source, which may end early. Input 0
 * is where each ends. States, sources and outputs have the batch as axis 0.
 */
#include <inttypes.h>

#include "base/alloc.h"
#include "graph/subgraph.h"
#include "ops/control/scan.h"
#include "ops/ops.h"

static onnxd_status *parse(const onnxd_node *node, int64_t opset, onnxd_arena *arena, void *params)
{
    (void)opset, (void)arena;
    static const char *const names[] = {"body", "num_scan_inputs", "directions", NULL};
    onnxd_scan_loop_params *p = params;
    ONNXD_TRY(onnxd_attributes_allow(node, names));
    ONNXD_TRY(onnxd_scan_loop_parse(node, onnxd_control_formals(node) - 1, p));
    return onnxd_scan_loop_parse_list(node, names[2], p->source_count, 0, 1, &p->source_directions);
}

/* Axis `axis`, the batch or the sequence, of input `index` must fit what the others say. */
static onnxd_status *check_extent(const onnxd_node *node, uint32_t index, const onnxd_shape *shape,
                                  int32_t axis, int64_t *inout_extent)
{
    if (shape->rank <= axis)
        return onnxd_op_error(node,
                              "input %" PRIu32 " has rank %" PRId32 ", it must be at least %d",
                              index, shape->rank, axis + 1);
    int64_t dim = shape->dims[axis];
    if (onnxd_dim_is_static(dim) && onnxd_dim_is_static(*inout_extent) && dim != *inout_extent)
        return onnxd_op_error(node,
                              "input %" PRIu32 " has extent %" PRId64 " at axis %" PRId32
                              ", the inputs before it %" PRId64,
                              index, dim, axis, *inout_extent);
    if (onnxd_dim_is_static(dim) || *inout_extent == ONNXD_DIM_UNKNOWN)
        *inout_extent = dim;
    return NULL;
}

/* ---- types --------------------------------------------------------------------------------- */

/* Types of the body's inputs, for one sequence of the batch. */
static onnxd_status *infer_given(const onnxd_infer *infer, const onnxd_scan_loop_params *p,
                                 onnxd_tensor_type *given, int64_t *batch, int64_t *length)
{
    for (uint32_t i = 0; i < p->body->input_count; i++) {
        const onnxd_shape *shape = &infer->inputs[1 + i].shape;
        given[i] = infer->inputs[1 + i];
        if (shape->rank < 0)
            continue;
        ONNXD_TRY(check_extent(infer->node, 1 + i, shape, 0, batch));
        given[i].shape = onnxd_control_without_axis(shape, 0);
        if (i < p->state_count)
            continue;
        ONNXD_TRY(check_extent(infer->node, 1 + i, shape, 1, length));
        given[i].shape = onnxd_control_without_axis(&given[i].shape, 0);
    }
    return NULL;
}

static onnxd_status *infer(onnxd_infer *infer)
{
    const onnxd_scan_loop_params *p = infer->params;
    onnxd_tensor_type *given = NULL, *made = NULL;
    int64_t batch = ONNXD_DIM_UNKNOWN, length = ONNXD_DIM_UNKNOWN;
    onnxd_status *status = onnxd_control_types(p->body->input_count, &given);
    if (status == NULL)
        status = onnxd_control_types(p->body->output_count, &made);
    if (status == NULL)
        status = infer_given(infer, p, given, &batch, &length);
    if (status == NULL)
        status = onnxd_graph_infer_outputs(p->body, infer->inputs, given, made);
    for (uint32_t i = 0; i < infer->output_count && status == NULL; i++) {
        infer->outputs[i] = i < p->state_count ? infer->inputs[1 + i] : made[i];
        if (i < p->state_count)
            continue;
        onnxd_shape scanned = onnxd_control_with_axis(&made[i].shape, 0, length);
        infer->outputs[i].shape = onnxd_control_with_axis(&scanned, 0, batch);
    }
    onnxd_free(given);
    onnxd_free(made);
    return status;
}

/* ---- running ------------------------------------------------------------------------------- */

typedef struct batch_run {
    onnxd_dynamic *dynamic;
    const onnxd_scan_loop_params *params;
    const onnxd_tensor **inputs; /* states, sources */
    onnxd_tensor **sources;      /* of the sequence under way */
    int32_t *axes;               /* all 0 */
    int64_t batch, length;
    const int64_t *lengths; /* NULL: all are `length` */
    onnxd_stack *stacks;    /* [output_count], over the batch */
} batch_run;

static void batch_deinit(batch_run *r)
{
    union {
        const onnxd_tensor **typed;
        void *memory;
    } inputs = {.typed = r->inputs};
    for (uint32_t i = 0; r->sources != NULL && i < r->params->source_count; i++)
        onnxd_tensor_release(r->sources[i]);
    for (uint32_t i = 0; r->stacks != NULL && i < r->dynamic->output_count; i++)
        onnxd_stack_deinit(&r->stacks[i]);
    onnxd_free(inputs.memory);
    onnxd_free(r->sources);
    onnxd_free(r->axes);
    onnxd_free(r->stacks);
}

static onnxd_status *read_lengths(batch_run *r)
{
    const onnxd_node *node = r->dynamic->node;
    const onnxd_tensor *lengths = NULL;
    if (!onnxd_op_has_input(node, 0))
        return NULL;
    ONNXD_TRY(onnxd_scan_loop_inputs(r->dynamic, 0, 1, &lengths));
    if (lengths->dtype != ONNXD_INT64 || lengths->shape.rank != 1 ||
        lengths->shape.dims[0] != r->batch) {
        char shape[ONNXD_SHAPE_TEXT];
        return onnxd_op_error(node, "input 0 is %s%s, it must be int64[%" PRId64 "]",
                              onnxd_dtype_name(lengths->dtype),
                              onnxd_shape_format(&lengths->shape, shape, sizeof(shape)), r->batch);
    }
    r->lengths = lengths->data;
    for (int64_t b = 0; b < r->batch; b++)
        if (r->lengths[b] < 0 || r->lengths[b] > r->length)
            return onnxd_op_error(node,
                                  "element %" PRId64 " of input 0 is %" PRId64
                                  ", allowed are 0 to %" PRId64 ", the length of the sequences",
                                  b, r->lengths[b], r->length);
    return NULL;
}

static onnxd_status *batch_init(batch_run *r)
{
    const onnxd_scan_loop_params *p = r->params;
    const onnxd_dynamic *dynamic = r->dynamic;
    uint32_t count = p->state_count + p->source_count;
    r->inputs = onnxd_alloc_zero(count, sizeof(onnxd_tensor *));
    r->sources = onnxd_alloc_zero(p->source_count, sizeof(onnxd_tensor *));
    r->axes = onnxd_alloc_zero(p->source_count, sizeof(*r->axes));
    r->stacks = onnxd_alloc_zero(dynamic->output_count, sizeof(*r->stacks));
    if (r->inputs == NULL || r->sources == NULL || r->axes == NULL || r->stacks == NULL)
        return onnxd_error_out_of_memory("inputs of a scan", count * sizeof(onnxd_tensor *),
                                         UINT64_MAX);
    ONNXD_TRY(onnxd_scan_loop_inputs(dynamic, 1, count, r->inputs));
    r->batch = r->length = ONNXD_DIM_UNKNOWN;
    for (uint32_t i = 0; i < count; i++) {
        const onnxd_shape *shape = &r->inputs[i]->shape;
        ONNXD_TRY(check_extent(dynamic->node, 1 + i, shape, 0, &r->batch));
        if (i >= p->state_count)
            ONNXD_TRY(check_extent(dynamic->node, 1 + i, shape, 1, &r->length));
    }
    for (uint32_t i = 0; i < dynamic->output_count; i++)
        onnxd_stack_init_fixed(&r->stacks[i], dynamic->env, (size_t)r->batch, false);
    return read_lengths(r);
}

/* Entry `batch` of a tensor whose axis 0 is the batch. */
static onnxd_status *take_entry(const batch_run *r, const onnxd_tensor *tensor, int64_t batch,
                                onnxd_tensor **out_entry)
{
    onnxd_shape shape = onnxd_control_without_axis(&tensor->shape, 0);
    return onnxd_pieces_take(r->dynamic->env, tensor, 0, batch, 1, &shape, out_entry);
}

static onnxd_status *begin_entry(batch_run *r, onnxd_scan_loop *scan, int64_t batch)
{
    const onnxd_scan_loop_params *p = r->params;
    for (uint32_t i = 0; i < p->state_count; i++) {
        onnxd_tensor *state = NULL;
        ONNXD_TRY(take_entry(r, r->inputs[i], batch, &state));
        ONNXD_TRY(onnxd_control_datum(state, &scan->given[i]));
    }
    for (uint32_t i = 0; i < p->source_count; i++) {
        onnxd_tensor_release(r->sources[i]);
        r->sources[i] = NULL;
        ONNXD_TRY(take_entry(r, r->inputs[p->state_count + i], batch, &r->sources[i]));
    }
    return NULL;
}

static onnxd_status *end_entry(batch_run *r, onnxd_scan_loop *scan)
{
    const onnxd_scan_loop_params *p = r->params;
    for (uint32_t i = 0; i < p->state_count; i++)
        ONNXD_TRY(onnxd_stack_push(&r->stacks[i], scan->given[i]->tensor));
    for (uint32_t i = 0; i < p->scanned_count; i++) {
        onnxd_stack *stack = &r->stacks[p->state_count + i];
        onnxd_tensor *scanned = NULL;
        if (onnxd_stack_is_empty(&scan->stacks[i])) {
            onnxd_stack_skip(stack);
            continue;
        }
        ONNXD_TRY(onnxd_stack_finish(&scan->stacks[i], &scanned));
        onnxd_status *status = onnxd_stack_push(stack, scanned);
        onnxd_tensor_release(scanned);
        if (status != NULL)
            return status;
    }
    return NULL;
}

static onnxd_status *run_entry(batch_run *r, int64_t batch)
{
    onnxd_scan_loop scan = {.dynamic = r->dynamic,
                            .params = r->params,
                            .sources = (const onnxd_tensor *const *)r->sources,
                            .axes = r->axes,
                            .iterations = r->lengths != NULL ? r->lengths[batch] : r->length,
                            .extent = r->length};
    onnxd_status *status = r->dynamic->env->check(r->dynamic->env);
    if (status == NULL)
        status = onnxd_scan_loop_init(&scan);
    if (status == NULL)
        status = begin_entry(r, &scan, batch);
    if (status == NULL)
        status = onnxd_scan_loop_run(&scan);
    if (status == NULL)
        status = end_entry(r, &scan);
    onnxd_scan_loop_deinit(&scan);
    return status;
}

/* Also a batch without bounds costs nothing where its sequences have no entries. */
static bool has_no_iterations(const batch_run *r)
{
    return r->batch == 0 || r->length == 0;
}

/* Where no sequence had an iteration, only inference tells what would have been scanned. */
static onnxd_status *finish_empty(const batch_run *r, uint32_t output, onnxd_tensor **out_tensor)
{
    const onnxd_scan_loop_params *p = r->params;
    onnxd_tensor_type *given = NULL, type;
    ONNXD_TRY(onnxd_control_types(p->body->input_count, &given));
    for (uint32_t i = 0; i < p->body->input_count; i++) {
        given[i] = onnxd_datum_type(r->dynamic->inputs[1 + i]);
        given[i].shape = onnxd_control_without_axis(&given[i].shape, 0);
        if (i >= p->state_count)
            given[i].shape = onnxd_control_without_axis(&given[i].shape, 0);
    }
    onnxd_status *status = onnxd_control_unrun_type(r->dynamic, p->body, given, output, &type);
    onnxd_free(given);
    if (status != NULL)
        return status;
    if (type.shape.rank > ONNXD_MAX_RANK - 2)
        return onnxd_op_error(r->dynamic->node,
                              "output %" PRIu32 " of the body has rank %" PRId32
                              ", which leaves no room for two more axes",
                              output, type.shape.rank);
    onnxd_shape scanned = onnxd_control_with_axis(&type.shape, 0, r->length);
    onnxd_shape shape = onnxd_control_with_axis(&scanned, 0, r->batch);
    return onnxd_pieces_zeros(r->dynamic->env, type.dtype, &shape, out_tensor);
}

static onnxd_status *finish(batch_run *r)
{
    onnxd_dynamic *dynamic = r->dynamic;
    for (uint32_t i = 0; i < dynamic->output_count; i++) {
        onnxd_tensor *tensor = NULL;
        if (!onnxd_op_has_output(dynamic->node, i))
            continue;
        if (has_no_iterations(r) && i < r->params->state_count) {
            dynamic->outputs[i] = onnxd_datum_retain(dynamic->inputs[1 + i]);
            continue;
        }
        ONNXD_TRY(onnxd_stack_is_empty(&r->stacks[i]) ? finish_empty(r, i, &tensor)
                                                      : onnxd_stack_finish(&r->stacks[i], &tensor));
        ONNXD_TRY(onnxd_control_datum(tensor, &dynamic->outputs[i]));
    }
    return NULL;
}

static onnxd_status *run(onnxd_dynamic *dynamic)
{
    batch_run r = {.dynamic = dynamic, .params = dynamic->params};
    onnxd_status *status = batch_init(&r);
    for (int64_t b = 0; status == NULL && !has_no_iterations(&r) && b < r.batch; b++)
        status = run_entry(&r, b);
    if (status == NULL)
        status = finish(&r);
    batch_deinit(&r);
    return status;
}

const onnxd_op_def onnxd_op_scan_batch[] = {
    {
        .op_type = "Scan",
        .domain = "",
        .since = 8,
        .until = 8,
        .min_inputs = 2,
        .max_inputs = ONNXD_OP_VARIADIC,
        .min_outputs = 1,
        .max_outputs = ONNXD_OP_VARIADIC,
        .inputs = {{.types = ONNXD_SET(INT64), .is_optional = true}, {.types = ONNXD_SET_ANY_1}},
        .outputs = {{.types = ONNXD_SET_ANY_1, .is_optional = true}},
        .params_bytes = sizeof(onnxd_scan_loop_params),
        .parse = parse,
        .infer = infer,
        .run = run,
    },
    {.op_type = NULL},
};
