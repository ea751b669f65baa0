#include "tests/ops/hostile.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "ops/convert.h"
#include "ops/ops.h"

/* Elements of a value that takes another shape. */
#define MAX_ELEMENTS 4096

#define CALL(op_type, attributes, inputs) {op_type, 0, attributes, inputs, ""},
static const op_text accepted_calls[] = {
#include "tests/ops/accepted_calls.inc"
};
#undef CALL

/* ---- the table ----------------------------------------------------------------------------- */

static bool is_of(const op_text *call, const onnxd_op_def *def)
{
    const char *slash = strchr(call->op_type, '/');
    const char *name = slash == NULL ? call->op_type : slash + 1;
    size_t domain_length = slash == NULL ? 0 : (size_t)(slash - call->op_type);
    size_t length = strcspn(name, ":");
    return strlen(def->op_type) == length && memcmp(def->op_type, name, length) == 0 &&
           strlen(def->domain) == domain_length &&
           memcmp(def->domain, call->op_type, domain_length) == 0;
}

static bool is_accepted(const op_text *call)
{
    static op_call c;
    op_call_open(&c, call);
    onnxd_status *status = op_call_evaluate(&c);
    /* A sequence has no text, but was made. */
    bool result = status == NULL || strstr(onnxd_status_message(status), " is no tensor") != NULL;
    onnxd_status_free(status);
    op_call_close(&c);
    return result;
}

/* Number of definitions; definition `at` in *out_def. */
static size_t definition(size_t at, const onnxd_op_def **out_def)
{
    const onnxd_op_registry *registry = onnxd_ops();
    size_t count = 0;
    for (size_t t = 0; t < registry->table_count; t++)
        for (const onnxd_op_def *def = registry->tables[t]; def->op_type != NULL; def++)
            if (count++ == at)
                *out_def = def;
    return count;
}

static void visit_calls(const onnxd_op_def *def, int64_t opset,
                        void (*visit)(const op_text *call, const onnxd_op_def *def))
{
    for (size_t i = 0; i < ONNXD_COUNT(accepted_calls); i++) {
        op_text call = accepted_calls[i];
        call.opset = opset;
        if (is_of(&call, def) && is_accepted(&call))
            visit(&call, def);
    }
}

void hostile_for_each(void (*visit)(const op_text *call, const onnxd_op_def *def))
{
    const onnxd_op_registry *registry = onnxd_ops();
    for (size_t t = 0; t < registry->table_count; t++)
        for (const onnxd_op_def *def = registry->tables[t]; def->op_type != NULL; def++) {
            visit_calls(def, def->since, visit);
            if (def->until != def->since)
                visit_calls(def, def->until, visit);
        }
}

/* Whether the operator can be called with text alone: its inputs may be tensors, and it has no
 * subgraphs. */
static bool has_text(const onnxd_op_def *def)
{
    static const char *const with_subgraphs[] = {"If", "Loop", "Scan", "SequenceMap"};
    for (uint32_t i = 0; i < ONNXD_OP_MAX_FORMALS; i++)
        if (def->inputs[i].kinds != 0 && (def->inputs[i].kinds & ONNXD_KIND(TENSOR)) == 0)
            return false;
    for (size_t i = 0; i < ONNXD_COUNT(with_subgraphs); i++)
        if (strcmp(def->op_type, with_subgraphs[i]) == 0)
            return false;
    return true;
}

const onnxd_op_def *hostile_next_without_call(size_t *inout_at)
{
    const onnxd_op_def *def = NULL;
    while (*inout_at < definition(*inout_at, &def)) {
        bool has_call = !has_text(def);
        (*inout_at)++;
        for (size_t i = 0; i < ONNXD_COUNT(accepted_calls) && !has_call; i++) {
            op_text call = accepted_calls[i];
            call.opset = def->since;
            has_call = is_of(&call, def) && is_accepted(&call);
        }
        if (!has_call)
            return def;
    }
    return NULL;
}

/* ---- calls --------------------------------------------------------------------------------- */

static const char *finish(op_call *call, onnxd_status *status)
{
    static char message[2048];
    char label[ONNXD_NODE_LABEL];
    onnxd_code code = onnxd_status_code(status);
    message[0] = '\0';
    if (status != NULL) {
        onnxd_node_label(NULL, &call->node, label, sizeof(label));
        (void)snprintf(message, sizeof(message), "%s", onnxd_status_message(status));
        cr_expect(strstr(message, label) != NULL, "%s-%lld: %s", call->node.op_type,
                  (long long)call->node.opset, message);
        cr_expect(code == ONNXD_INVALID_ARGUMENT || code == ONNXD_UNIMPLEMENTED ||
                      code == ONNXD_RESOURCE_EXHAUSTED,
                  "%s-%lld: code %d: %s", call->node.op_type, (long long)call->node.opset,
                  (int)code, message);
    }
    onnxd_status_free(status);
    op_call_close(call);
    return message;
}

const char *hostile_infer(op_call *call)
{
    return finish(call, op_call_infer(call));
}

const char *hostile_evaluate(op_call *call)
{
    return finish(call, op_call_evaluate(call));
}

/* ---- changes ------------------------------------------------------------------------------- */

/* Element `to` of a tensor from element `from` of another of the same type. */
static void copy_element(onnxd_tensor *target, size_t to, const onnxd_tensor *source, size_t from)
{
    static const onnxd_rounding rounding = {.saturates = true};
    size_t size = onnxd_dtype_size(target->dtype);
    if (size != 0) {
        memcpy((char *)target->data + to * size, (const char *)source->data + from * size, size);
        return;
    }
    /* Packed: the elements up to `to` of a chunk are written again. */
    onnxd_wide chunk[ONNXD_WIDE_CHUNK], value[8];
    size_t first = to - to % 8;
    onnxd_wide_load(source->dtype, source->data, from - from % 8, from % 8 + 1, value);
    onnxd_wide_load(target->dtype, target->data, first, to % 8 + 1, chunk);
    chunk[to % 8] = value[from % 8];
    onnxd_wide_store(target->dtype, onnxd_wide_kind_of(target->dtype), chunk, to % 8 + 1, &rounding,
                     target->data, first);
}

static onnxd_tensor *repeated(const onnxd_tensor *source, const onnxd_shape *shape)
{
    static const onnxd_string nothing;
    static onnxd_string strings[MAX_ELEMENTS];
    onnxd_tensor *target = NULL;
    if (source->dtype == ONNXD_STRING) {
        for (size_t i = 0; i < MAX_ELEMENTS; i++)
            strings[i] = source->count == 0
                             ? nothing
                             : ((const onnxd_string *)source->data)[i % source->count];
        cr_assert(onnxd_tensor_create_strings(shape, strings, &target) == NULL);
        return target;
    }
    cr_assert(onnxd_tensor_create(source->dtype, shape, &target) == NULL);
    for (size_t i = 0; i < target->count && source->count > 0; i++)
        copy_element(target, i, source, i % source->count);
    return target;
}

bool hostile_set_shape(op_call *call, uint32_t input, const onnxd_shape *shape)
{
    size_t count;
    onnxd_tensor *before = call->values[input];
    call->types[input].shape = *shape;
    call->values[input] = NULL;
    bool is_made = before != NULL && onnxd_shape_count(shape, &count) && count <= MAX_ELEMENTS;
    if (is_made)
        call->values[input] = repeated(before, shape);
    onnxd_tensor_release(before);
    return is_made;
}

size_t hostile_value_count(onnxd_dtype dtype)
{
    return dtype == ONNXD_STRING ? 5 : onnxd_wide_has(dtype) ? HOSTILE_VALUES : 0;
}

void hostile_store(onnxd_tensor *tensor, size_t index, size_t which)
{
    static const onnxd_rounding rounding = {.saturates = false};
    static const onnxd_string texts[] = {
        {NULL, 0}, {"-1e400", 6}, {"nan", 3}, {"x\0y", 3}, {"\xff\xc3", 2}};
    static const double floats[HOSTILE_VALUES] = {NAN,  INFINITY, -INFINITY, -1,     0,   -0.0,
                                                  1e10, -1e10,    3.4e38,    9.3e18, 0.5, 1e-40};
    static const int64_t ints[HOSTILE_VALUES] = {
        INT64_MIN, INT64_MAX, INT32_MIN, INT32_MAX, -1, 0, 1, 2, 3, -2, 255, (int64_t)1 << 32};
    onnxd_wide values[8];
    if (tensor->dtype == ONNXD_STRING) {
        ((onnxd_string *)tensor->data)[index] = texts[which];
        return;
    }
    if (tensor->dtype == ONNXD_BOOL) {
        ((uint8_t *)tensor->data)[index] = which % 2;
        return;
    }
    onnxd_wide_kind kind = onnxd_wide_kind_of(tensor->dtype);
    size_t first = onnxd_dtype_size(tensor->dtype) != 0 ? index : index - index % 8;
    onnxd_wide_load(tensor->dtype, tensor->data, first, index - first + 1, values);
    if (kind == ONNXD_WIDE_FLOAT)
        values[index - first].f = floats[which];
    else
        values[index - first].i = ints[which];
    onnxd_wide_store(tensor->dtype, kind, values, index - first + 1, &rounding, tensor->data,
                     first);
}
