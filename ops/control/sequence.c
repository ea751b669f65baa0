/*
 * SequenceConstruct, SequenceEmpty, SequenceAt, SequenceInsert, SequenceErase, SequenceLength.
 * Sequences share their elements: each operator makes a new list of references.
 */
#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "ops/control/control.h"
#include "ops/ops.h"

/* ---- shared -------------------------------------------------------------------------------- */

static onnxd_status *sequence_at(const onnxd_dynamic *dynamic, uint32_t index,
                                 const onnxd_datum **out_sequence)
{
    const onnxd_datum *datum = dynamic->inputs[index];
    if (datum == NULL || datum->kind != ONNXD_VALUE_SEQUENCE)
        return onnxd_op_error(dynamic->node, "input %" PRIu32 " is %s%s, a sequence is needed",
                              index, datum == NULL ? "missing" : "a ",
                              datum == NULL ? "" : onnxd_value_kind_name(datum->kind));
    *out_sequence = datum;
    return NULL;
}

/* A position in [-n, past), counted from the back where negative; `otherwise` without the input. */
static onnxd_status *read_position(const onnxd_dynamic *dynamic, uint32_t index,
                                   const onnxd_datum *sequence, size_t past, size_t otherwise,
                                   size_t *out_position)
{
    int64_t position = 0, count = (int64_t)sequence->item_count;
    char what[32] = "input 1";
    what[6] = (char)('0' + index);
    *out_position = otherwise;
    if (!onnxd_op_has_input(dynamic->node, index))
        return NULL;
    ONNXD_TRY(onnxd_control_int(dynamic->node, what, dynamic->inputs[index], &position));
    if (position < -count || position >= (int64_t)past)
        return onnxd_op_error(dynamic->node,
                              "position %" PRId64 " in input %" PRIu32 " is outside [%" PRId64
                              ", %" PRId64 "] for a sequence of %zu elements",
                              position, index, -count, (int64_t)past - 1, sequence->item_count);
    *out_position = (size_t)(position < 0 ? position + count : position);
    return NULL;
}

/* ---- SequenceConstruct, SequenceEmpty ------------------------------------------------------ */

static onnxd_status *infer_construct(onnxd_infer *infer)
{
    onnxd_tensor_type *output = &infer->outputs[0];
    *output = infer->inputs[0];
    for (uint32_t i = 1; i < infer->input_count; i++) {
        output->shape = onnxd_control_join(&output->shape, &infer->inputs[i].shape);
        if (output->dtype == ONNXD_UNDEFINED)
            output->dtype = infer->inputs[i].dtype;
    }
    output->kind = ONNXD_VALUE_SEQUENCE;
    return NULL;
}

static onnxd_status *run_construct(onnxd_dynamic *dynamic)
{
    return onnxd_datum_of_items(ONNXD_VALUE_SEQUENCE, dynamic->inputs[0]->dtype, dynamic->inputs,
                                dynamic->input_count, &dynamic->outputs[0]);
}

typedef struct empty_params {
    onnxd_dtype dtype;
} empty_params;

static onnxd_status *parse_empty(const onnxd_node *node, int64_t opset, onnxd_arena *arena,
                                 void *params)
{
    (void)opset, (void)arena;
    static const char *const names[] = {"dtype", NULL};
    empty_params *p = params;
    int64_t number = ONNXD_FLOAT;
    ONNXD_TRY(onnxd_attributes_allow(node, names));
    ONNXD_TRY(onnxd_attribute_int(node, "dtype", 1, INT32_MAX, &number));
    p->dtype = onnxd_dtype_from_onnx(number);
    if ((ONNXD_SET_ANY_1 & ((onnxd_dtype_set)1u << p->dtype)) == 0)
        return onnxd_op_error(node,
                              "attribute 'dtype' is %" PRId64 " (%s), which no sequence can hold",
                              number, onnxd_dtype_name(p->dtype));
    return NULL;
}

static onnxd_status *infer_empty(onnxd_infer *infer)
{
    const empty_params *p = infer->params;
    infer->outputs[0].dtype = p->dtype;
    infer->outputs[0].kind = ONNXD_VALUE_SEQUENCE;
    return NULL;
}

static onnxd_status *run_empty(onnxd_dynamic *dynamic)
{
    const empty_params *p = dynamic->params;
    return onnxd_datum_of_items(ONNXD_VALUE_SEQUENCE, p->dtype, NULL, 0, &dynamic->outputs[0]);
}

/* ---- SequenceAt, SequenceLength ------------------------------------------------------------ */

static onnxd_status *infer_at(onnxd_infer *infer)
{
    infer->outputs[0] = infer->inputs[0];
    infer->outputs[0].kind = ONNXD_VALUE_TENSOR;
    return onnxd_control_check_single(infer, 1);
}

static onnxd_status *run_at(onnxd_dynamic *dynamic)
{
    const onnxd_datum *sequence = NULL;
    size_t position = 0;
    ONNXD_TRY(sequence_at(dynamic, 0, &sequence));
    if (sequence->item_count == 0)
        return onnxd_op_error(dynamic->node, "input 0 is an empty sequence");
    ONNXD_TRY(read_position(dynamic, 1, sequence, sequence->item_count, 0, &position));
    dynamic->outputs[0] = onnxd_datum_retain(sequence->items[position]);
    return NULL;
}

static onnxd_status *infer_length(onnxd_infer *infer)
{
    infer->outputs[0] = (onnxd_tensor_type){.dtype = ONNXD_INT64, .shape = {.rank = 0}};
    return NULL;
}

static onnxd_status *run_length(onnxd_dynamic *dynamic)
{
    const onnxd_datum *sequence = NULL;
    ONNXD_TRY(sequence_at(dynamic, 0, &sequence));
    int64_t length = (int64_t)sequence->item_count;
    return onnxd_control_single(dynamic, ONNXD_INT64, 0, &length, &dynamic->outputs[0]);
}

/* ---- SequenceInsert, SequenceErase --------------------------------------------------------- */

/* The sequence with `removed` elements taken out at `position` and `added`, if any, put there. */
static onnxd_status *splice(onnxd_dynamic *dynamic, const onnxd_datum *sequence, size_t position,
                            size_t removed, onnxd_datum *added)
{
    size_t count = sequence->item_count - removed + (added != NULL ? 1 : 0);
    onnxd_datum **items = NULL, **to;
    if (count > ONNXD_SEQUENCE_MAX_ITEMS)
        return onnxd_op_error_code(ONNXD_RESOURCE_EXHAUSTED, dynamic->node,
                                   "a sequence of %zu elements, at most %zu are supported", count,
                                   ONNXD_SEQUENCE_MAX_ITEMS);
    ONNXD_TRY(onnxd_control_datums(count, &items));
    to = items;
    for (size_t i = 0; i < position; i++)
        *to++ = sequence->items[i];
    if (added != NULL)
        *to++ = added;
    for (size_t i = position + removed; i < sequence->item_count; i++)
        *to++ = sequence->items[i];
    onnxd_status *status = onnxd_datum_of_items(ONNXD_VALUE_SEQUENCE, sequence->dtype, items, count,
                                                &dynamic->outputs[0]);
    onnxd_free(items);
    return status;
}

static onnxd_status *infer_insert(onnxd_infer *infer)
{
    infer->outputs[0] = infer->inputs[0];
    infer->outputs[0].kind = ONNXD_VALUE_SEQUENCE;
    infer->outputs[0].shape = onnxd_control_join(&infer->inputs[0].shape, &infer->inputs[1].shape);
    return onnxd_control_check_single(infer, 2);
}

static onnxd_status *run_insert(onnxd_dynamic *dynamic)
{
    const onnxd_datum *sequence = NULL;
    const onnxd_tensor *tensor = NULL;
    size_t position = 0;
    ONNXD_TRY(sequence_at(dynamic, 0, &sequence));
    ONNXD_TRY(onnxd_control_tensor(dynamic->node, "input 1", dynamic->inputs[1], &tensor));
    if (tensor->dtype != sequence->dtype)
        return onnxd_op_error(dynamic->node, "input 1 is %s, the sequence in input 0 holds %s",
                              onnxd_dtype_name(tensor->dtype), onnxd_dtype_name(sequence->dtype));
    ONNXD_TRY(read_position(dynamic, 2, sequence, sequence->item_count + 1, sequence->item_count,
                            &position));
    return splice(dynamic, sequence, position, 0, dynamic->inputs[1]);
}

static onnxd_status *infer_erase(onnxd_infer *infer)
{
    infer->outputs[0] = infer->inputs[0];
    infer->outputs[0].kind = ONNXD_VALUE_SEQUENCE;
    return onnxd_control_check_single(infer, 1);
}

static onnxd_status *run_erase(onnxd_dynamic *dynamic)
{
    const onnxd_datum *sequence = NULL;
    size_t position = 0;
    ONNXD_TRY(sequence_at(dynamic, 0, &sequence));
    if (sequence->item_count == 0)
        return onnxd_op_error(dynamic->node, "input 0 is an empty sequence");
    ONNXD_TRY(read_position(dynamic, 1, sequence, sequence->item_count, sequence->item_count - 1,
                            &position));
    return splice(dynamic, sequence, position, 1, NULL);
}

/* ---- table --------------------------------------------------------------------------------- */

#define TENSOR_FORMAL                                                                              \
    {                                                                                              \
        .types = ONNXD_SET_ANY_1, .type_variable = 1                                               \
    }
#define SEQUENCE_FORMAL                                                                            \
    {                                                                                              \
        .types = ONNXD_SET_ANY_1, .type_variable = 1, .kinds = ONNXD_KIND(SEQUENCE)                \
    }
#define POSITION_FORMAL(optional)                                                                  \
    {                                                                                              \
        .types = ONNXD_SET_INDEX, .is_optional = optional                                          \
    }
#define COMMON(name, least, most, rule, runner)                                                    \
    .op_type = name, .domain = "", .since = 11, .until = ONNXD_OPSET_MAX, .min_inputs = least,     \
    .max_inputs = most, .min_outputs = 1, .max_outputs = 1, .infer = rule, .run = runner

const onnxd_op_def onnxd_op_sequence[] = {
    {COMMON("SequenceConstruct", 1, ONNXD_OP_VARIADIC, infer_construct, run_construct),
     .inputs = {TENSOR_FORMAL}, .outputs = {SEQUENCE_FORMAL}},
    {COMMON("SequenceEmpty", 0, 0, infer_empty, run_empty), .outputs = {SEQUENCE_FORMAL},
     .params_bytes = sizeof(empty_params), .parse = parse_empty},
    {COMMON("SequenceAt", 2, 2, infer_at, run_at),
     .inputs = {SEQUENCE_FORMAL, POSITION_FORMAL(false)}, .outputs = {TENSOR_FORMAL}},
    {COMMON("SequenceInsert", 2, 3, infer_insert, run_insert),
     .inputs = {SEQUENCE_FORMAL, TENSOR_FORMAL, POSITION_FORMAL(true)},
     .outputs = {SEQUENCE_FORMAL}},
    {COMMON("SequenceErase", 1, 2, infer_erase, run_erase),
     .inputs = {SEQUENCE_FORMAL, POSITION_FORMAL(true)}, .outputs = {SEQUENCE_FORMAL}},
    {COMMON("SequenceLength", 1, 1, infer_length, run_length), .inputs = {SEQUENCE_FORMAL},
     .outputs = {{.types = ONNXD_SET(INT64)}}},
    {.op_type = NULL},
};
