/*
 * Optional, OptionalGetElement, OptionalHasElement. An optional that holds something is that thing
 * (graph/datum.h), so at run time making and opening one change nothing.
 */
#include "ops/control/control.h"
#include "ops/ops.h"

typedef struct optional_params {
    const onnxd_tensor_type *type; /* of what it could hold; NULL when not given */
} optional_params;

static onnxd_status *parse(const onnxd_node *node, int64_t opset, onnxd_arena *arena, void *params)
{
    (void)opset, (void)arena;
    static const char *const names[] = {"type", NULL};
    optional_params *p = params;
    ONNXD_TRY(onnxd_attributes_allow(node, names));
    const onnxd_attribute *type = onnxd_node_attribute(node, "type");
    ONNXD_TRY(onnxd_attribute_check_kind(node, "type", ONNXD_ATTRIBUTE_TYPE_PROTO));
    if (type == NULL && !onnxd_op_has_input(node, 0))
        return onnxd_op_error(node, "either input 0 or attribute 'type' must be given");
    if (type != NULL)
        p->type = type->value.type;
    return NULL;
}

static onnxd_status *infer(onnxd_infer *infer)
{
    const optional_params *p = infer->params;
    onnxd_tensor_type *output = &infer->outputs[0];
    if (onnxd_op_has_input(infer->node, 0))
        *output = infer->inputs[0];
    else if (p->type != NULL)
        *output = *p->type;
    if (p->type != NULL && output->dtype != ONNXD_UNDEFINED && output->dtype != p->type->dtype)
        return onnxd_op_error(infer->node, "input 0 is %s, attribute 'type' says %s",
                              onnxd_dtype_name(output->dtype), onnxd_dtype_name(p->type->dtype));
    output->kind =
        output->kind == ONNXD_VALUE_SEQUENCE ? ONNXD_VALUE_OPTIONAL_SEQUENCE : ONNXD_VALUE_OPTIONAL;
    return NULL;
}

static onnxd_status *run(onnxd_dynamic *dynamic)
{
    const optional_params *p = dynamic->params;
    if (!onnxd_op_has_input(dynamic->node, 0) || dynamic->inputs[0] == NULL)
        return onnxd_datum_nothing(p->type == NULL ? ONNXD_UNDEFINED : p->type->dtype,
                                   &dynamic->outputs[0]);
    dynamic->outputs[0] = onnxd_datum_retain(dynamic->inputs[0]);
    return NULL;
}

static onnxd_status *infer_get(onnxd_infer *infer)
{
    onnxd_tensor_type *output = &infer->outputs[0];
    *output = infer->inputs[0];
    if (output->kind == ONNXD_VALUE_OPTIONAL)
        output->kind = ONNXD_VALUE_TENSOR;
    else if (output->kind == ONNXD_VALUE_OPTIONAL_SEQUENCE)
        output->kind = ONNXD_VALUE_SEQUENCE;
    return NULL;
}

static bool holds_something(const onnxd_dynamic *dynamic)
{
    return dynamic->input_count > 0 && dynamic->inputs[0] != NULL &&
           dynamic->inputs[0]->kind != ONNXD_VALUE_OPTIONAL;
}

static onnxd_status *run_get(onnxd_dynamic *dynamic)
{
    if (!holds_something(dynamic))
        return onnxd_op_error(dynamic->node, "input 0 is an optional that holds nothing");
    dynamic->outputs[0] = onnxd_datum_retain(dynamic->inputs[0]);
    return NULL;
}

static onnxd_status *infer_has(onnxd_infer *infer)
{
    infer->outputs[0] = (onnxd_tensor_type){.dtype = ONNXD_BOOL, .shape = {.rank = 0}};
    return NULL;
}

static onnxd_status *run_has(onnxd_dynamic *dynamic)
{
    uint8_t has = holds_something(dynamic);
    return onnxd_control_single(dynamic, ONNXD_BOOL, 0, &has, &dynamic->outputs[0]);
}

/* "Any tensor" of opset 28, which has the 6-bit floats too. */
#define SET_28 (ONNXD_SET_ANY_25 | ONNXD_SET_FLOAT6)
/* What an optional holds may come as that thing, at every opset: at run time there is no
 * difference. */
#define FORMAL(set, optional)                                                                      \
    {                                                                                              \
        .types = set, .kinds = ONNXD_KINDS_OPTIONAL, .is_optional = optional                       \
    }
#define COMMON(name, first, last, rule, runner)                                                    \
    .op_type = name, .domain = "", .since = first, .until = last, .max_inputs = 1,                 \
    .min_outputs = 1, .max_outputs = 1, .infer = rule, .run = runner
#define OPTIONAL_ROW(first, last, set)                                                             \
    {                                                                                              \
        COMMON("Optional", first, last, infer, run),                                               \
            .inputs = {FORMAL(set, true)}, .outputs = {FORMAL(set, false)},                        \
            .params_bytes = sizeof(optional_params), .parse = parse                                \
    }
#define GET_ROW(first, last, set)                                                                  \
    {                                                                                              \
        COMMON("OptionalGetElement", first, last, infer_get, run_get),                             \
            .min_inputs = 1, .inputs = {FORMAL(set, false)}, .outputs = {                          \
                FORMAL(set, false)                                                                 \
            }                                                                                      \
    }
#define HAS_ROW(first, last, least, set)                                                           \
    {                                                                                              \
        COMMON("OptionalHasElement", first, last, infer_has, run_has),                             \
            .min_inputs = least, .inputs = {FORMAL(set, (least) == 0)}, .outputs = {               \
                {.types = ONNXD_SET(BOOL)}                                                         \
            }                                                                                      \
    }

const onnxd_op_def onnxd_op_optional[] = {
    OPTIONAL_ROW(15, 27, ONNXD_SET_ANY_1),   OPTIONAL_ROW(28, ONNXD_OPSET_MAX, SET_28),
    GET_ROW(15, 27, ONNXD_SET_ANY_1),        GET_ROW(28, ONNXD_OPSET_MAX, SET_28),
    HAS_ROW(15, 17, 1, ONNXD_SET_ANY_1),     HAS_ROW(18, 27, 0, ONNXD_SET_ANY_1),
    HAS_ROW(28, ONNXD_OPSET_MAX, 0, SET_28), {.op_type = NULL},
};
