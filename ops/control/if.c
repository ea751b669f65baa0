/* If: the outputs of one of two subgraphs without inputs. */
#include <inttypes.h>

#include "base/alloc.h"
#include "graph/subgraph.h"
#include "ops/control/control.h"
#include "ops/ops.h"

typedef struct if_params {
    const onnxd_graph *then_branch, *else_branch;
} if_params;

static onnxd_status *parse(const onnxd_node *node, int64_t opset, onnxd_arena *arena, void *params)
{
    (void)opset, (void)arena;
    static const char *const names[] = {"then_branch", "else_branch", NULL};
    if_params *p = params;
    ONNXD_TRY(onnxd_attributes_allow(node, names));
    ONNXD_TRY(onnxd_control_graph(node, names[0], &p->then_branch));
    ONNXD_TRY(onnxd_control_graph(node, names[1], &p->else_branch));
    ONNXD_TRY(onnxd_control_check_graph(node, names[0], p->then_branch, 0, node->output_count));
    return onnxd_control_check_graph(node, names[1], p->else_branch, 0, node->output_count);
}

/* The kind of what is of kind `a` or `b`: an optional, where only one of them is. */
static bool join_kinds(onnxd_value_kind a, onnxd_value_kind b, onnxd_value_kind *out_kind)
{
    static const struct {
        onnxd_value_kind plain, optional;
    } pairs[] = {{ONNXD_VALUE_TENSOR, ONNXD_VALUE_OPTIONAL},
                 {ONNXD_VALUE_SEQUENCE, ONNXD_VALUE_OPTIONAL_SEQUENCE}};
    *out_kind = a;
    if (a == b)
        return true;
    for (size_t i = 0; i < ONNXD_COUNT(pairs); i++) {
        *out_kind = pairs[i].optional;
        if ((a == pairs[i].plain && b == pairs[i].optional) ||
            (a == pairs[i].optional && b == pairs[i].plain))
            return true;
    }
    return false;
}

/* Output `index`, which has the type from 'then_branch', can have the one from 'else_branch' too. A
 * type that is not known is that of a branch which cannot work, or the same one. */
static onnxd_status *join(const onnxd_infer *infer, uint32_t index,
                          const onnxd_tensor_type *from_else)
{
    onnxd_tensor_type *type = &infer->outputs[index];
    bool is_known = type->dtype != ONNXD_UNDEFINED && from_else->dtype != ONNXD_UNDEFINED;
    onnxd_value_kind kind = type->kind;
    if (is_known && !join_kinds(type->kind, from_else->kind, &kind))
        return onnxd_op_error(infer->node,
                              "output %" PRIu32 " is a %s from 'then_branch', a %s from "
                              "'else_branch'",
                              index, onnxd_value_kind_name(type->kind),
                              onnxd_value_kind_name(from_else->kind));
    if (is_known && type->dtype != from_else->dtype)
        return onnxd_op_error(
            infer->node, "output %" PRIu32 " is %s from 'then_branch', %s from 'else_branch'",
            index, onnxd_dtype_name(type->dtype), onnxd_dtype_name(from_else->dtype));
    if (type->dtype == ONNXD_UNDEFINED) {
        type->dtype = from_else->dtype;
        kind = from_else->kind;
    }
    type->kind = kind;
    type->shape = onnxd_control_join(&type->shape, &from_else->shape);
    return NULL;
}

static onnxd_status *infer(onnxd_infer *infer)
{
    const if_params *p = infer->params;
    onnxd_tensor_view condition;
    ONNXD_TRY(onnxd_control_check_single(infer, 0));
    if (onnxd_infer_known(infer, 0, &condition)) {
        bool is_true = *(const uint8_t *)onnxd_tensor_view_data(&condition) != 0;
        return onnxd_graph_infer_outputs(is_true ? p->then_branch : p->else_branch, infer->inputs,
                                         NULL, infer->outputs);
    }
    onnxd_tensor_type *types = NULL;
    ONNXD_TRY(onnxd_control_types(infer->output_count, &types));
    onnxd_status *status =
        onnxd_graph_infer_outputs(p->then_branch, infer->inputs, NULL, infer->outputs);
    if (status == NULL)
        status = onnxd_graph_infer_outputs(p->else_branch, infer->inputs, NULL, types);
    for (uint32_t i = 0; i < infer->output_count && status == NULL; i++)
        status = join(infer, i, &types[i]);
    onnxd_free(types);
    return status;
}

static onnxd_status *run(onnxd_dynamic *dynamic)
{
    const if_params *p = dynamic->params;
    bool is_true = false;
    ONNXD_TRY(onnxd_control_bool(dynamic->node, "input 0", dynamic->inputs[0], &is_true));
    ONNXD_TRY(dynamic->env->run_subgraph(dynamic->env, is_true ? p->then_branch : p->else_branch,
                                         dynamic->inputs, NULL, dynamic->outputs));
    for (uint32_t i = 0; i < dynamic->output_count; i++) {
        if (onnxd_op_has_output(dynamic->node, i))
            continue;
        onnxd_datum_release(dynamic->outputs[i]);
        dynamic->outputs[i] = NULL;
    }
    return NULL;
}

#define ROW_OF(first, last, set, set_of_kinds)                                                     \
    {                                                                                              \
        .op_type = "If", .domain = "", .since = first, .until = last, .min_inputs = 1,             \
        .max_inputs = 1, .min_outputs = 1, .max_outputs = ONNXD_OP_VARIADIC,                       \
        .inputs = {{.types = ONNXD_SET(BOOL)}},                                                    \
        .outputs = {{.types = set, .kinds = set_of_kinds, .is_optional = true}},                   \
        .params_bytes = sizeof(if_params), .parse = parse, .infer = infer, .run = run              \
    }
#define ROW(first, last, set) ROW_OF(first, last, set, ONNXD_KINDS_OPTIONAL)

const onnxd_op_def onnxd_op_if[] = {
    ROW_OF(1, 12, ONNXD_SET_ANY_1, ONNXD_KIND(TENSOR)),
    ROW_OF(13, 15, ONNXD_SET_ANY_1, ONNXD_KINDS_SEQUENCE),
    ROW(16, 18, ONNXD_SET_ANY_13),
    ROW(19, 20, ONNXD_SET_ANY_19),
    ONNXD_ROWS_ANY_21(ROW),
    {.op_type = NULL},
};
