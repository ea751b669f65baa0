#include "model/interpreter.h"

#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "model/frame.h"
#include "model/internal.h"
#include "model/interpreter_memory.h"

#define STRING_BLOCK_BYTES ((size_t)4 << 10)

struct onnxd_interpreter {
    onnxd_run_env env;
    const onnxd_graph *graph;
    onnxd_ep *ep;
    onnxd_pool *pool;
    uint64_t max_tensor_bytes;
    const onnxd_run_control *control;
    onnxd_frame *root, *current;
    onnxd_string_arena strings; /* of the node in hand */
};

/* ---- what operators may use ---------------------------------------------------------------- */

/* The environment is constant to operators alone. */
static onnxd_interpreter *of_env(const onnxd_run_env *env)
{
    return ONNXD_CONTAINER_OF(env, onnxd_interpreter, env);
}

static onnxd_status *allocate(const onnxd_run_env *env, onnxd_dtype dtype, const onnxd_shape *shape,
                              onnxd_tensor **out_tensor)
{
    const onnxd_interpreter *it = of_env(env);
    return onnxd_pooled_tensor_create(it->pool, it->max_tensor_bytes, dtype, shape, out_tensor);
}

static onnxd_status *check(const onnxd_run_env *env)
{
    const onnxd_run_control *control = of_env(env)->control;
    if (control == NULL)
        return NULL;
    if (control->cancelled != NULL &&
        atomic_load_explicit(control->cancelled, memory_order_relaxed))
        return onnxd_error(ONNXD_CANCELLED, "the request was cancelled");
    if (control->deadline_ns != ONNXD_NO_DEADLINE && onnxd_now_ns() >= control->deadline_ns)
        return onnxd_error(ONNXD_DEADLINE_EXCEEDED, "Request timeout expired");
    return NULL;
}

/* ---- one node by its kernel ---------------------------------------------------------------- */

/* Types, values and views of the inputs, from the frame. */
static onnxd_status *gather(onnxd_interpreter *it, onnxd_frame *frame, const onnxd_node *node)
{
    const onnxd_device_id device = onnxd_ep_device_id(it->ep);
    for (uint32_t i = 0; i < node->input_count; i++) {
        const onnxd_datum *datum = frame->operands[i];
        const bool decides = i < 32 && ((node->def->shape_inputs >> i) & 1u) != 0;
        frame->known[i] = NULL;
        frame->constants[i] = NULL;
        frame->views[i] = (onnxd_tensor_view){.dtype = ONNXD_UNDEFINED, .device = device};
        frame->types[i] = (onnxd_tensor_type){.shape = onnxd_shape_unknown()};
        if (datum == NULL)
            continue;
        if (datum->kind != ONNXD_VALUE_TENSOR)
            return onnxd_error(ONNXD_INVALID_ARGUMENT, "input %u is not a tensor", i);
        frame->types[i] = onnxd_datum_type(datum);
        frame->constants[i] = frame->graph->values[node->inputs[i]].constant;
        if (decides || frame->constants[i] != NULL)
            frame->known[i] = datum->tensor;
        frame->views[i] = onnxd_tensor_as_view(datum->tensor);
        frame->views[i].device = device;
    }
    return NULL;
}

/* The slot gets a kernel for the frame's types, unless it is for them already. */
static onnxd_status *find_kernel(onnxd_interpreter *it, onnxd_frame *frame, onnxd_node_id id)
{
    const onnxd_node *node = &frame->graph->nodes[id];
    const size_t count = (size_t)node->input_count + node->output_count;
    const onnxd_node_slot *slot = &frame->slots[id];
    bool is_same = slot->kernel != NULL;
    for (size_t i = 0; i < count && is_same; i++)
        is_same = slot->types[i].dtype == frame->types[i].dtype &&
                  onnxd_shape_equal(&slot->types[i].shape, &frame->types[i].shape);
    if (is_same)
        return NULL;
    onnxd_kernel *kernel;
    const onnxd_op_query query = {
        .node = node,
        .opset = node->opset,
        .input_count = node->input_count,
        .output_count = node->output_count,
        .inputs = frame->types,
        .outputs = frame->types + node->input_count,
        .constants = frame->constants,
    };
    ONNXD_TRY(onnxd_ep_get_kernel(it->ep, &query, &kernel));
    return onnxd_frame_keep_kernel(frame, id, kernel);
}

/* A tensor for output `i` into the frame's operands. */
static onnxd_status *make_output(onnxd_interpreter *it, onnxd_frame *frame, const onnxd_node *node,
                                 uint32_t i, const onnxd_tensor_type *type,
                                 onnxd_tensor **out_tensor)
{
    onnxd_tensor *tensor;
    ONNXD_TRY(allocate(&it->env, type->dtype, &type->shape, &tensor));
    onnxd_status *status = onnxd_datum_of_tensor(tensor, &frame->operands[node->input_count + i]);
    onnxd_tensor_release(tensor);
    if (status == NULL)
        *out_tensor = tensor; /* the operand's */
    return status;
}

/* All of them, and their views. */
static onnxd_status *make_outputs(onnxd_interpreter *it, onnxd_frame *frame, const onnxd_node *node)
{
    const onnxd_device_id device = onnxd_ep_device_id(it->ep);
    for (uint32_t i = 0; i < node->output_count; i++) {
        const uint32_t at = node->input_count + i;
        onnxd_tensor_type *type = &frame->types[at];
        onnxd_tensor *tensor;
        frame->views[at] = (onnxd_tensor_view){.dtype = ONNXD_UNDEFINED, .device = device};
        if (node->outputs[i] == ONNXD_NONE) {
            *type = (onnxd_tensor_type){.shape = onnxd_shape_unknown()};
            continue;
        }
        if (type->dtype == ONNXD_UNDEFINED || !onnxd_shape_is_static(&type->shape))
            return onnxd_error(ONNXD_UNIMPLEMENTED,
                               "the type of output %u does not follow from the inputs", i);
        ONNXD_TRY(make_output(it, frame, node, i, type, &tensor));
        frame->views[at] = onnxd_tensor_as_view(tensor);
        frame->views[at].device = device;
    }
    return NULL;
}

static onnxd_status *enqueue(onnxd_interpreter *it, onnxd_kernel *kernel, const onnxd_node *node,
                             onnxd_tensor_view *views)
{
    onnxd_tensor *workspace = NULL;
    onnxd_kernel_args args = {
        .inputs = views,
        .outputs = views + node->input_count,
        .input_count = node->input_count,
        .output_count = node->output_count,
        .strings = &it->strings,
    };
    if (kernel->workspace_bytes > 0) {
        const onnxd_shape shape = onnxd_shape_from(1, &(int64_t){(int64_t)kernel->workspace_bytes});
        ONNXD_TRY(allocate(&it->env, ONNXD_UINT8, &shape, &workspace));
        args.workspace = workspace->data;
    }
    onnxd_status *status = onnxd_kernel_enqueue(kernel, &args);
    onnxd_tensor_release(workspace);
    return status;
}

/* Output 0 shares the bytes of input 0. */
static onnxd_status *make_view(onnxd_frame *frame, const onnxd_node *node, const onnxd_shape *shape)
{
    onnxd_tensor *alias;
    ONNXD_TRY(onnxd_tensor_alias(frame->operands[0]->tensor, shape, &alias));
    onnxd_status *status = onnxd_datum_of_tensor(alias, &frame->operands[node->input_count]);
    onnxd_tensor_release(alias);
    return status;
}

static bool is_view(const onnxd_frame *frame, const onnxd_node *node)
{
    return node->def->is_view && node->output_count == 1 && node->outputs[0] != ONNXD_NONE &&
           node->input_count > 0 && frame->operands[0] != NULL &&
           onnxd_shape_is_static(&frame->types[node->input_count].shape);
}

/* Whether the values that inference has looked at are the same in every run. */
static bool is_decided_by_types(const onnxd_frame *frame, const onnxd_node *node)
{
    for (uint32_t i = 0; i < node->input_count && i < 32; i++)
        if (((node->def->shape_inputs >> i) & 1u) != 0 && frame->operands[i] != NULL &&
            frame->constants[i] == NULL)
            return false;
    return true;
}

/* Infers, and finds a kernel. */
static onnxd_status *run_anew(onnxd_interpreter *it, onnxd_frame *frame, onnxd_node_id id)
{
    const onnxd_node *node = &frame->graph->nodes[id];
    onnxd_node_slot *slot = &frame->slots[id];
    slot->is_settled = false;
    ONNXD_TRY(gather(it, frame, node));
    ONNXD_TRY(onnxd_op_infer(node, frame->types, frame->known, frame->types + node->input_count));
    const bool has_view = is_view(frame, node);
    if (has_view) {
        ONNXD_TRY(onnxd_frame_keep_kernel(frame, id, NULL));
    } else {
        ONNXD_TRY(make_outputs(it, frame, node));
        ONNXD_TRY(find_kernel(it, frame, id));
    }
    slot->is_settled = is_decided_by_types(frame, node);
    return has_view ? make_view(frame, node, &frame->types[node->input_count].shape)
                    : enqueue(it, slot->kernel, node, frame->views);
}

static bool has_last_types(const onnxd_frame *frame, const onnxd_node *node,
                           const onnxd_node_slot *slot)
{
    /* Without a kernel there is a view of input 0. */
    if (slot->kernel == NULL && frame->operands[0] == NULL)
        return false;
    for (uint32_t i = 0; i < node->input_count; i++) {
        const onnxd_datum *datum = frame->operands[i];
        const onnxd_tensor_type *last = &slot->types[i];
        const onnxd_dtype dtype = datum == NULL ? ONNXD_UNDEFINED : datum->dtype;
        if (dtype != last->dtype)
            return false;
        if (datum != NULL && (datum->kind != ONNXD_VALUE_TENSOR ||
                              !onnxd_shape_equal(&datum->tensor->shape, &last->shape)))
            return false;
    }
    return true;
}

/* As last time, on other data. */
static onnxd_status *run_again(onnxd_interpreter *it, onnxd_frame *frame, const onnxd_node *node,
                               const onnxd_node_slot *slot)
{
    onnxd_tensor_view *views = slot->views;
    onnxd_tensor *tensor;
    if (slot->kernel == NULL)
        return make_view(frame, node, &slot->types[node->input_count].shape);
    for (uint32_t i = 0; i < node->input_count; i++)
        if (frame->operands[i] != NULL)
            views[i].data = frame->operands[i]->tensor->data;
    for (uint32_t i = 0; i < node->output_count; i++) {
        const uint32_t at = node->input_count + i;
        if (node->outputs[i] == ONNXD_NONE)
            continue;
        ONNXD_TRY(make_output(it, frame, node, i, &slot->types[at], &tensor));
        views[at].data = tensor->data;
    }
    return enqueue(it, slot->kernel, node, views);
}

static onnxd_status *run_kernel(onnxd_interpreter *it, onnxd_frame *frame, onnxd_node_id id)
{
    const onnxd_node *node = &frame->graph->nodes[id];
    const onnxd_node_slot *slot = &frame->slots[id];
    if (slot->is_settled && has_last_types(frame, node, slot))
        return run_again(it, frame, node, slot);
    return run_anew(it, frame, id);
}

/* ---- one node of any kind ------------------------------------------------------------------ */

/* The formal of an input; the last one stands for those that a variadic operator has beyond it. */
static const onnxd_op_formal *formal_of(const onnxd_op_def *def, uint32_t input)
{
    uint32_t index = input < ONNXD_OP_MAX_FORMALS ? input : ONNXD_OP_MAX_FORMALS - 1;
    while (index > 0 && def->inputs[index].types == 0)
        index--;
    return &def->inputs[index];
}

/* An input that the node names may still have no value: an optional of the model that was left
 * out. */
static onnxd_status *check_presence(const onnxd_frame *frame, const onnxd_node *node)
{
    for (uint32_t i = 0; i < node->input_count - node->capture_count; i++) {
        const onnxd_op_formal *formal = formal_of(node->def, i);
        const unsigned optional = ONNXD_KIND(OPTIONAL) | ONNXD_KIND(OPTIONAL_SEQUENCE);
        if (frame->operands[i] == NULL && !formal->is_optional && (formal->kinds & optional) == 0)
            return onnxd_error(ONNXD_INVALID_ARGUMENT, "input %u has no value, one is required", i);
    }
    return NULL;
}

static onnxd_status *run_dynamic(onnxd_interpreter *it, onnxd_frame *frame, const onnxd_node *node)
{
    const uint32_t formals = node->input_count - node->capture_count;
    for (uint32_t i = 0; i < formals; i++)
        frame->types[i] = frame->operands[i] == NULL
                              ? (onnxd_tensor_type){.shape = onnxd_shape_unknown()}
                              : onnxd_datum_type(frame->operands[i]);
    ONNXD_TRY(onnxd_op_check_types(node->def, node, frame->types, formals));
    onnxd_dynamic dynamic = {
        .node = node,
        .params = node->params,
        .opset = node->opset,
        .input_count = node->input_count,
        .output_count = node->output_count,
        .inputs = frame->operands,
        .outputs = frame->operands + node->input_count,
        .env = &it->env,
    };
    return node->def->run(&dynamic);
}

static bool has_tensors_only(const onnxd_frame *frame, const onnxd_node *node)
{
    for (uint32_t i = 0; i < node->input_count; i++)
        if (frame->operands[i] != NULL && frame->operands[i]->kind != ONNXD_VALUE_TENSOR)
            return false;
    return true;
}

static void take_operands(const onnxd_frame *frame, const onnxd_node *node)
{
    for (uint32_t i = 0; i < node->input_count; i++) {
        const onnxd_value_id value = node->inputs[i];
        frame->operands[i] = value == ONNXD_NONE ? NULL : frame->values[value];
    }
    for (uint32_t i = 0; i < node->output_count; i++)
        frame->operands[node->input_count + i] = NULL;
}

/* Whether somebody reads the value. */
static bool is_wanted(const onnxd_frame *frame, onnxd_value_id value)
{
    return frame->last_reader[value] != ONNXD_NONE || frame->graph->values[value].is_output;
}

/* The outputs into the frame; every reference that the node made is given away or released. */
static onnxd_status *keep_outputs(onnxd_interpreter *it, onnxd_frame *frame, const onnxd_node *node,
                                  onnxd_status *status)
{
    for (uint32_t i = 0; i < node->output_count; i++) {
        onnxd_datum *made = frame->operands[node->input_count + i];
        if (made == NULL)
            continue;
        const bool is_read = node->outputs[i] != ONNXD_NONE && is_wanted(frame, node->outputs[i]);
        if (status == NULL && is_read)
            status = onnxd_datum_own_strings(it->pool, made, it->max_tensor_bytes);
        if (status == NULL && is_read)
            onnxd_frame_set(frame, node->outputs[i], made);
        onnxd_datum_release(made);
        frame->operands[node->input_count + i] = NULL;
    }
    onnxd_arena_reset(&it->strings.arena);
    return status;
}

static onnxd_status *run_node(onnxd_interpreter *it, onnxd_frame *frame, onnxd_node_id id)
{
    const onnxd_node *node = &frame->graph->nodes[id];
    onnxd_status *status = check(&it->env);
    if (status != NULL)
        return status;
    if (node->def == NULL)
        return onnxd_node_context(frame->graph, node,
                                  onnxd_error(ONNXD_NO_EP_FOR_OP, "the operator is not known"));
    take_operands(frame, node);
    status = check_presence(frame, node);
    if (status == NULL && node->def->run != NULL &&
        (node->def->compute == NULL || !has_tensors_only(frame, node)))
        status = run_dynamic(it, frame, node);
    else if (status == NULL)
        status = run_kernel(it, frame, id);
    status = keep_outputs(it, frame, node, status);
    onnxd_frame_drop_after(frame, id);
    return onnxd_node_context(frame->graph, node, status);
}

/* ---- graphs -------------------------------------------------------------------------------- */

static onnxd_status *run_frame(onnxd_interpreter *it, onnxd_frame *frame)
{
    onnxd_frame *outer = it->current;
    onnxd_status *status = NULL;
    it->current = frame;
    for (onnxd_node_id n = 0; n < frame->graph->node_count && status == NULL; n++)
        if (frame->selected == NULL || frame->selected[n])
            status = run_node(it, frame, n);
    it->current = outer;
    return status;
}

static onnxd_status *take_outputs(const onnxd_frame *frame, onnxd_datum **outputs)
{
    const onnxd_graph *graph = frame->graph;
    for (uint32_t i = 0; i < graph->output_count; i++)
        if (frame->values[graph->outputs[i]] == NULL)
            return onnxd_error(ONNXD_INVALID_ARGUMENT, "output '%s' of graph '%s' has no value",
                               graph->values[graph->outputs[i]].name, graph->name);
    for (uint32_t i = 0; i < graph->output_count; i++)
        outputs[i] = onnxd_datum_retain(frame->values[graph->outputs[i]]);
    return NULL;
}

static onnxd_status *run_subgraph(const onnxd_run_env *env, const onnxd_graph *subgraph,
                                  onnxd_datum *const *node_inputs, onnxd_datum *const *inputs,
                                  onnxd_datum **outputs)
{
    onnxd_interpreter *it = of_env(env);
    onnxd_frame *frame;
    ONNXD_TRY(onnxd_frame_child(it->current, subgraph, &frame));
    for (uint32_t i = 0; i < subgraph->input_count; i++)
        onnxd_frame_set(frame, subgraph->inputs[i], inputs[i]);
    for (uint32_t i = 0; i < subgraph->capture_count; i++)
        onnxd_frame_set(frame, subgraph->captures[i].value,
                        node_inputs[subgraph->captures[i].input]);
    onnxd_status *status = run_frame(it, frame);
    if (status == NULL)
        status = take_outputs(frame, outputs);
    onnxd_frame_clear(frame);
    return status;
}

/* ---- the interpreter ----------------------------------------------------------------------- */

onnxd_status *onnxd_interpreter_create(const onnxd_graph *graph, const bool *selected,
                                       const onnxd_runtime *runtime, onnxd_ep *ep,
                                       uint64_t max_tensor_bytes,
                                       onnxd_interpreter **out_interpreter)
{
    onnxd_interpreter *it = onnxd_alloc_zero(1, sizeof(*it));
    if (it == NULL)
        return onnxd_error_out_of_memory("an interpreter", sizeof(*it), UINT64_MAX);
    it->env = (onnxd_run_env){.allocate = allocate, .run_subgraph = run_subgraph, .check = check};
    it->graph = graph;
    it->ep = ep;
    it->pool = runtime->host_pool;
    it->max_tensor_bytes = max_tensor_bytes;
    onnxd_arena_init(&it->strings.arena, STRING_BLOCK_BYTES,
                     max_tensor_bytes > SIZE_MAX / 2 ? SIZE_MAX / 2 : (size_t)max_tensor_bytes);
    onnxd_status *status = onnxd_frame_create(graph, selected, &it->root);
    if (status != NULL) {
        onnxd_interpreter_destroy(it);
        return status;
    }
    *out_interpreter = it;
    return NULL;
}

void onnxd_interpreter_destroy(onnxd_interpreter *interpreter)
{
    if (interpreter == NULL)
        return;
    onnxd_frame_destroy(interpreter->root);
    onnxd_arena_deinit(&interpreter->strings.arena);
    onnxd_free(interpreter);
}

void onnxd_interpreter_set(onnxd_interpreter *interpreter, onnxd_value_id value, onnxd_datum *datum)
{
    onnxd_frame_set(interpreter->root, value, datum);
}

static void release_nothing(void *owner, void *data)
{
    (void)owner, (void)data;
}

onnxd_status *onnxd_interpreter_set_view(onnxd_interpreter *interpreter, onnxd_value_id value,
                                         const onnxd_tensor_view *view)
{
    onnxd_tensor *tensor;
    onnxd_datum *datum;
    ONNXD_TRY(onnxd_tensor_adopt(view->dtype, &view->shape, onnxd_tensor_view_data(view),
                                 onnxd_tensor_view_bytes(view), release_nothing, NULL, &tensor));
    onnxd_status *status = onnxd_datum_of_tensor(tensor, &datum);
    onnxd_tensor_release(tensor);
    ONNXD_TRY(status);
    onnxd_frame_set(interpreter->root, value, datum);
    onnxd_datum_release(datum);
    return NULL;
}

onnxd_status *onnxd_interpreter_run(onnxd_interpreter *interpreter,
                                    const onnxd_run_control *control)
{
    interpreter->control = control;
    onnxd_status *status = run_frame(interpreter, interpreter->root);
    interpreter->control = NULL;
    return status;
}

onnxd_datum *onnxd_interpreter_get(const onnxd_interpreter *interpreter, onnxd_value_id value)
{
    return interpreter->root->values[value];
}

void onnxd_interpreter_clear(onnxd_interpreter *interpreter)
{
    onnxd_frame_clear(interpreter->root);
}
