/* SequenceMap: runs its body once for each element of a sequence; inputs that are tensors are the
 * same in each run. */
#include <inttypes.h>
#include <stdio.h>

#include "base/alloc.h"
#include "graph/subgraph.h"
#include "ops/control/control.h"
#include "ops/ops.h"

typedef struct map_params {
    const onnxd_graph *body;
} map_params;

static onnxd_status *parse(const onnxd_node *node, int64_t opset, onnxd_arena *arena, void *params)
{
    (void)opset, (void)arena;
    static const char *const names[] = {"body", NULL};
    map_params *p = params;
    ONNXD_TRY(onnxd_attributes_allow(node, names));
    ONNXD_TRY(onnxd_control_graph(node, "body", &p->body));
    return onnxd_control_check_graph(node, "body", p->body, onnxd_control_formals(node),
                                     node->output_count);
}

/* What the body is given of an input of this type. */
static onnxd_tensor_type element_type(const onnxd_tensor_type *input)
{
    onnxd_tensor_type type = *input;
    type.kind = ONNXD_VALUE_TENSOR;
    return type;
}

static onnxd_status *infer_types(onnxd_infer *infer, const map_params *p, onnxd_tensor_type *given)
{
    if (infer->inputs[0].dtype != ONNXD_UNDEFINED && infer->inputs[0].kind != ONNXD_VALUE_SEQUENCE)
        return onnxd_op_error(infer->node, "input 0 is a %s, a sequence is needed",
                              onnxd_value_kind_name(infer->inputs[0].kind));
    for (uint32_t i = 0; i < p->body->input_count; i++)
        given[i] = element_type(&infer->inputs[i]);
    ONNXD_TRY(onnxd_graph_infer_outputs(p->body, infer->inputs, given, infer->outputs));
    for (uint32_t i = 0; i < infer->output_count; i++) {
        onnxd_tensor_type *output = &infer->outputs[i];
        if (output->dtype != ONNXD_UNDEFINED && output->kind != ONNXD_VALUE_TENSOR)
            return onnxd_op_error(infer->node,
                                  "output %" PRIu32 " of the body is a %s, it must be a tensor", i,
                                  onnxd_value_kind_name(output->kind));
        output->kind = ONNXD_VALUE_SEQUENCE;
    }
    return NULL;
}

static onnxd_status *infer(onnxd_infer *infer)
{
    const map_params *p = infer->params;
    onnxd_tensor_type *given = NULL;
    ONNXD_TRY(onnxd_control_types(p->body->input_count, &given));
    onnxd_status *status = infer_types(infer, p, given);
    onnxd_free(given);
    return status;
}

/* ---- running ------------------------------------------------------------------------------- */

typedef struct map_run {
    onnxd_dynamic *dynamic;
    const onnxd_graph *body;
    size_t length;
    onnxd_datum **given; /* of the body, borrowed */
    onnxd_datum **made;  /* of all runs: [output_count] of the first, of the second, ... */
} map_run;

static onnxd_status *check_inputs(const map_run *r)
{
    const onnxd_node *node = r->dynamic->node;
    for (uint32_t i = 0; i < r->body->input_count; i++) {
        const onnxd_datum *input = r->dynamic->inputs[i];
        bool is_sequence = input != NULL && input->kind == ONNXD_VALUE_SEQUENCE;
        bool is_tensor = input != NULL && input->kind == ONNXD_VALUE_TENSOR;
        if (!is_sequence && (i == 0 || !is_tensor))
            return onnxd_op_error(node, "input %" PRIu32 " is %s, a sequence%s is needed", i,
                                  input == NULL ? "missing" : onnxd_value_kind_name(input->kind),
                                  i == 0 ? "" : " or a tensor");
        if (is_sequence && input->item_count != r->dynamic->inputs[0]->item_count)
            return onnxd_op_error(node,
                                  "input %" PRIu32 " is a sequence of %zu elements, input 0 of %zu",
                                  i, input->item_count, r->dynamic->inputs[0]->item_count);
    }
    return NULL;
}

static onnxd_status *map_elements(map_run *r)
{
    const onnxd_dynamic *dynamic = r->dynamic;
    for (size_t e = 0; e < r->length; e++) {
        ONNXD_TRY(dynamic->env->check(dynamic->env));
        for (uint32_t i = 0; i < r->body->input_count; i++) {
            onnxd_datum *input = dynamic->inputs[i];
            r->given[i] = input->kind == ONNXD_VALUE_SEQUENCE ? input->items[e] : input;
        }
        ONNXD_TRY(dynamic->env->run_subgraph(dynamic->env, r->body, dynamic->inputs, r->given,
                                             r->made + e * r->body->output_count));
    }
    return NULL;
}

/* The element type of what the body makes, also where it did not run. */
static onnxd_status *unrun_dtype(const map_run *r, uint32_t output, onnxd_dtype *out_dtype)
{
    onnxd_tensor_type *given = NULL, type;
    ONNXD_TRY(onnxd_control_types(r->body->input_count, &given));
    for (uint32_t i = 0; i < r->body->input_count; i++) {
        onnxd_tensor_type input = onnxd_datum_type(r->dynamic->inputs[i]);
        given[i] = element_type(&input);
    }
    onnxd_status *status = onnxd_control_unrun_type(r->dynamic, r->body, given, output, &type);
    onnxd_free(given);
    if (status == NULL)
        *out_dtype = type.dtype;
    return status;
}

static onnxd_status *collect(map_run *r, uint32_t output, onnxd_datum **items)
{
    onnxd_dtype dtype = ONNXD_UNDEFINED;
    const onnxd_tensor *tensor = NULL;
    char what[48];
    (void)snprintf(what, sizeof(what), "output %" PRIu32 " of the body", output);
    for (size_t e = 0; e < r->length; e++) {
        items[e] = r->made[e * r->body->output_count + output];
        ONNXD_TRY(onnxd_control_tensor(r->dynamic->node, what, items[e], &tensor));
        if (e > 0 && tensor->dtype != dtype)
            return onnxd_op_error(r->dynamic->node,
                                  "%s is %s for element %zu, %s for those before it", what,
                                  onnxd_dtype_name(tensor->dtype), e, onnxd_dtype_name(dtype));
        dtype = tensor->dtype;
    }
    if (r->length == 0)
        ONNXD_TRY(unrun_dtype(r, output, &dtype));
    return onnxd_datum_of_items(ONNXD_VALUE_SEQUENCE, dtype, items, r->length,
                                &r->dynamic->outputs[output]);
}

static onnxd_status *run(onnxd_dynamic *dynamic)
{
    const map_params *p = dynamic->params;
    map_run r = {.dynamic = dynamic, .body = p->body};
    onnxd_datum **items = NULL;
    size_t made_count = 0;
    ONNXD_TRY(check_inputs(&r));
    r.length = dynamic->inputs[0]->item_count;
    onnxd_status *status = NULL;
    /* Both factors count things that are there. */
    made_count = r.length * r.body->output_count;
    status = onnxd_control_datums(made_count, &r.made);
    if (status == NULL)
        status = onnxd_control_datums(r.body->input_count, &r.given);
    if (status == NULL)
        status = onnxd_control_datums(r.length, &items);
    if (status == NULL)
        status = map_elements(&r);
    for (uint32_t i = 0; i < dynamic->output_count && status == NULL; i++)
        if (onnxd_op_has_output(dynamic->node, i))
            status = collect(&r, i, items);
    onnxd_free(items);
    onnxd_free(r.given);
    onnxd_datums_free(r.made, made_count);
    return status;
}

const onnxd_op_def onnxd_op_sequence_map[] = {
    {
        .op_type = "SequenceMap",
        .domain = "",
        .since = 17,
        .until = ONNXD_OPSET_MAX,
        .min_inputs = 1,
        .max_inputs = ONNXD_OP_VARIADIC,
        .min_outputs = 1,
        .max_outputs = ONNXD_OP_VARIADIC,
        .inputs = {{.types = ONNXD_SET_ANY_1, .kinds = ONNXD_KIND(SEQUENCE)},
                   {.types = ONNXD_SET_ANY_1, .kinds = ONNXD_KINDS_SEQUENCE}},
        .outputs = {{.types = ONNXD_SET_ANY_1, .kinds = ONNXD_KIND(SEQUENCE), .is_optional = true}},
        .params_bytes = sizeof(map_params),
        .parse = parse,
        .infer = infer,
        .run = run,
    },
    {.op_type = NULL},
};
