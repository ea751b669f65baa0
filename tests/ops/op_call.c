#include "tests/ops/op_call.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "ops/convert.h"
#include "ops/ops.h"
#include "tests/ops/run_env.h"

#define MAX_ELEMENTS 128 /* of a tensor or a list */

typedef struct reader {
    const char *at;
    onnxd_arena *arena;
} reader;

static void skip_blanks(reader *r)
{
    while (*r->at == ' ')
        r->at++;
}

static bool take(reader *r, char c)
{
    if (*r->at != c)
        return false;
    r->at++;
    return true;
}

static void *zeroed(onnxd_arena *arena, size_t count, size_t bytes)
{
    void *memory = onnxd_arena_alloc_zero(arena, count, bytes);
    cr_assert(memory != NULL);
    return memory;
}

static onnxd_text read_text(reader *r, const char *end)
{
    size_t size = strcspn(r->at, end);
    onnxd_text text = {onnxd_arena_strndup(r->arena, r->at, size), size};
    cr_assert(text.data != NULL);
    r->at += size;
    return text;
}

static onnxd_dtype read_dtype(reader *r)
{
    onnxd_text name = read_text(r, "[*");
    for (int number = 1; number < ONNXD_DTYPE_COUNT; number++)
        if (strcmp(onnxd_dtype_name((onnxd_dtype)number), name.data) == 0)
            return (onnxd_dtype)number;
    cr_assert(name.size == 1 && name.data[0] == '?', "no such type: %s", name.data);
    return ONNXD_UNDEFINED;
}

static onnxd_shape read_shape(reader *r)
{
    onnxd_shape shape = {.rank = 0};
    if (take(r, '*'))
        return onnxd_shape_unknown();
    cr_assert(take(r, '['));
    while (!take(r, ']')) {
        char *end = NULL;
        if (take(r, '?'))
            shape.dims[shape.rank] = ONNXD_DIM_UNKNOWN;
        else if (take(r, 's'))
            shape.dims[shape.rank] = ONNXD_DIM_FROM_SYMBOL(strtoll(r->at, &end, 10));
        else
            shape.dims[shape.rank] = strtoll(r->at, &end, 10);
        shape.rank++;
        r->at = end != NULL ? end : r->at;
        (void)take(r, ',');
    }
    return shape;
}

static void read_number(reader *r, onnxd_dtype dtype, void *data, size_t index)
{
    static const onnxd_rounding rounding = {.saturates = true};
    onnxd_wide_kind kind = onnxd_wide_kind_of(dtype);
    onnxd_wide value;
    char *end;
    if (kind == ONNXD_WIDE_FLOAT)
        value.f = strtod(r->at, &end);
    else if (kind == ONNXD_WIDE_SIGNED)
        value.i = strtoll(r->at, &end, 10);
    else
        value.u = strtoull(r->at, &end, 10);
    cr_assert(end != r->at, "no number at %s", r->at);
    r->at = end;
    onnxd_wide_store(dtype, kind, &value, 1, &rounding, data, index);
}

/* The values in braces, or NULL without. */
static onnxd_tensor *read_values(reader *r, const onnxd_tensor_type *type)
{
    if (!take(r, '{'))
        return NULL;
    onnxd_tensor *tensor = NULL;
    onnxd_string *strings = zeroed(r->arena, MAX_ELEMENTS, sizeof(*strings));
    uint64_t *numbers = zeroed(r->arena, MAX_ELEMENTS, sizeof(*numbers));
    size_t count = 0;
    while (!take(r, '}')) {
        cr_assert(count < MAX_ELEMENTS);
        if (type->dtype == ONNXD_STRING) {
            onnxd_text text = read_text(r, ",}");
            strings[count] = (onnxd_string){text.data, text.size};
        } else {
            read_number(r, type->dtype, numbers, count);
        }
        count++;
        (void)take(r, ',');
    }
    onnxd_status *status;
    if (type->dtype == ONNXD_STRING) {
        status = onnxd_tensor_create_strings(&type->shape, strings, &tensor);
    } else {
        status = onnxd_tensor_create(type->dtype, &type->shape, &tensor);
        if (status == NULL && tensor->bytes != 0)
            memcpy(tensor->data, numbers, tensor->bytes);
    }
    cr_assert(status == NULL, "%s", onnxd_status_message(status));
    cr_assert_eq(tensor->count, count, "%zu values for %zu elements", count, tensor->count);
    return tensor;
}

static onnxd_tensor *read_tensor(reader *r, onnxd_tensor_type *type)
{
    type->dtype = read_dtype(r);
    type->shape = read_shape(r);
    return read_values(r, type);
}

/* Quoted texts up to ']'. */
static void read_texts(reader *r, onnxd_attribute *attribute)
{
    onnxd_text *texts = zeroed(r->arena, OP_CALL_MAX, sizeof(*texts));
    attribute->kind = ONNXD_ATTRIBUTE_STRINGS;
    attribute->count = 0;
    attribute->value.strings = texts;
    while (!take(r, ']')) {
        cr_assert(take(r, '\'') && attribute->count < OP_CALL_MAX);
        texts[attribute->count++] = read_text(r, "'");
        (void)take(r, '\'');
        (void)take(r, ',');
    }
}

/* Numbers up to ']': FLOATS when one has a point, else INTS. */
static void read_list(reader *r, onnxd_attribute *attribute)
{
    if (*r->at == '\'') {
        read_texts(r, attribute);
        return;
    }
    float *floats = zeroed(r->arena, OP_CALL_MAX, sizeof(*floats));
    int64_t *ints = zeroed(r->arena, OP_CALL_MAX, sizeof(*ints));
    bool has_point = memchr(r->at, '.', strcspn(r->at, "]")) != NULL;
    attribute->count = 0;
    while (!take(r, ']')) {
        char *end;
        ints[attribute->count] = strtoll(r->at, &end, 10);
        floats[attribute->count] = strtof(r->at, has_point ? &end : NULL);
        attribute->count++;
        cr_assert(end != r->at);
        r->at = end;
        (void)take(r, ',');
    }
    attribute->kind = has_point ? ONNXD_ATTRIBUTE_FLOATS : ONNXD_ATTRIBUTE_INTS;
    if (has_point)
        attribute->value.floats = floats;
    else
        attribute->value.ints = ints;
}

static void read_attribute(reader *r, onnxd_attribute *attribute, onnxd_tensor **out_owned)
{
    attribute->name = read_text(r, "=").data;
    attribute->count = 1;
    cr_assert(take(r, '='));
    if (take(r, '[')) {
        read_list(r, attribute);
    } else if (take(r, '\'')) {
        attribute->kind = ONNXD_ATTRIBUTE_STRING;
        attribute->value.s = read_text(r, "'");
        (void)take(r, '\'');
    } else if (take(r, '<')) {
        onnxd_tensor_type type;
        attribute->kind = ONNXD_ATTRIBUTE_TENSOR;
        *out_owned = read_tensor(r, &type);
        attribute->value.tensor = *out_owned;
        cr_assert(take(r, '>'));
    } else {
        char *end;
        size_t length = strcspn(r->at, " ");
        if (memchr(r->at, '.', length) != NULL || strncmp(r->at, "nan", 3) == 0) {
            attribute->kind = ONNXD_ATTRIBUTE_FLOAT;
            attribute->value.f = strtof(r->at, &end);
        } else {
            attribute->kind = ONNXD_ATTRIBUTE_INT;
            attribute->value.i = strtoll(r->at, &end, 10);
        }
        cr_assert(end != r->at);
        r->at = end;
    }
}

/* "Split:3": operator and number of outputs; "ai.onnx.ml/Scaler" names the domain too. */
static void read_name(op_call *c, const char *text)
{
    reader r = {text, &c->graph->arena};
    if (strchr(text, '/') != NULL) {
        c->node.domain = read_text(&r, "/").data;
        (void)take(&r, '/');
    }
    c->node.op_type = read_text(&r, ":").data;
    c->node.output_count = take(&r, ':') ? (uint32_t)strtoul(r.at, NULL, 10) : 1;
    for (uint32_t i = 0; i < c->node.output_count; i++)
        c->output_ids[i] = OP_CALL_MAX + i;
}

void op_call_open(op_call *c, const op_text *text)
{
    memset(c, 0, sizeof(*c));
    cr_assert(onnxd_graph_create(1 << 20, &c->graph) == NULL);
    reader r = {text->inputs, &c->graph->arena};
    onnxd_node *node = &c->node;
    *node = (onnxd_node){.name = "n",
                         .domain = "",
                         .op_type = NULL,
                         .opset = text->opset,
                         .inputs = c->inputs,
                         .outputs = c->output_ids,
                         .attributes = c->attributes};
    read_name(c, text->op_type);
    for (skip_blanks(&r); *r.at != '\0'; skip_blanks(&r)) {
        uint32_t index = node->input_count++;
        c->inputs[index] = take(&r, '-') ? ONNXD_NONE : index;
        if (c->inputs[index] != ONNXD_NONE)
            c->values[index] = read_tensor(&r, &c->types[index]);
        else
            c->types[index].shape = onnxd_shape_unknown();
        (void)take(&r, ';');
    }
    r.at = text->attributes;
    for (skip_blanks(&r); *r.at != '\0'; skip_blanks(&r)) {
        uint32_t index = node->attribute_count++;
        read_attribute(&r, &c->attributes[index], &c->attribute_tensors[index]);
    }
}

void op_call_close(op_call *c)
{
    for (size_t i = 0; i < OP_CALL_MAX; i++) {
        onnxd_tensor_release(c->values[i]);
        onnxd_tensor_release(c->attribute_tensors[i]);
        onnxd_tensor_release(c->outputs[i]);
    }
    onnxd_graph_destroy(c->graph);
}

onnxd_status *op_call_infer(op_call *c)
{
    const onnxd_tensor *values[OP_CALL_MAX];
    memcpy(values, c->values, sizeof(values));
    ONNXD_TRY(onnxd_op_resolve(onnxd_ops(), c->graph, &c->node));
    return onnxd_op_infer(&c->node, c->types, values, c->results);
}

onnxd_status *op_call_evaluate(op_call *c)
{
    const onnxd_tensor *values[OP_CALL_MAX];
    memcpy(values, c->values, sizeof(values));
    ONNXD_TRY(onnxd_op_resolve(onnxd_ops(), c->graph, &c->node));
    if (c->node.def->compute != NULL)
        return onnxd_op_evaluate(&c->node, values, OP_CALL_MAX_BYTES, c->outputs);
    return onnxd_node_context(NULL, &c->node, run_env_evaluate(&c->node, values, c->outputs));
}
