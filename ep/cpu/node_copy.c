/*
 * A kernel's own copy of its node, and the key that finds the kernel again. Both read the
 * attributes themselves rather than the parsed params, which may point into the graph's arena.
 */
#include <string.h>

#include "base/alloc.h"
#include "base/size_math.h"
#include "base/strbuf.h"
#include "ep/cpu/internal.h"

/* Room for a key of the longest attributes and all else that it has. */
#define KEY_MAX_BYTES (2 * ONNXD_CPU_ATTRIBUTES_MAX_BYTES)

static onnxd_status *no_memory(size_t bytes)
{
    return onnxd_error_out_of_memory("the attributes of a kernel", bytes, UINT64_MAX);
}

/* What an attribute takes in a key and in a copy, about; tensors are shared. */
static size_t attribute_bytes(const onnxd_attribute *attribute)
{
    size_t bytes = strlen(attribute->name) + sizeof(*attribute);
    bool fits = true;
    switch (attribute->kind) {
    case ONNXD_ATTRIBUTE_STRING:
        fits = onnxd_size_add(bytes, attribute->value.s.size, &bytes);
        break;
    case ONNXD_ATTRIBUTE_STRINGS:
        for (size_t i = 0; fits && i < attribute->count; i++)
            fits = onnxd_size_add(bytes, attribute->value.strings[i].size + sizeof(onnxd_text),
                                  &bytes);
        break;
    case ONNXD_ATTRIBUTE_FLOATS:
    case ONNXD_ATTRIBUTE_INTS:
    case ONNXD_ATTRIBUTE_TENSORS: {
        size_t array;
        fits = onnxd_size_mul(attribute->count, sizeof(int64_t), &array) &&
               onnxd_size_add(bytes, array, &bytes);
        break;
    }
    default:
        break;
    }
    return fits ? bytes : SIZE_MAX;
}

size_t onnxd_cpu_attributes_bytes(const onnxd_node *node)
{
    size_t bytes = strlen(node->name);
    for (uint32_t i = 0; i < node->attribute_count; i++)
        if (!onnxd_size_add(bytes, attribute_bytes(&node->attributes[i]), &bytes))
            return SIZE_MAX;
    return bytes;
}

/* ---- the key --------------------------------------------------------------------------------- */

static void put(onnxd_strbuf *key, const void *data, size_t bytes)
{
    onnxd_strbuf_append(key, &bytes, sizeof(bytes));
    onnxd_strbuf_append(key, data, bytes);
}

static void put_text(onnxd_strbuf *key, const char *text)
{
    put(key, text, strlen(text));
}

static void put_attribute(onnxd_strbuf *key, const onnxd_attribute *attribute)
{
    put_text(key, attribute->name);
    put(key, &attribute->kind, sizeof(attribute->kind));
    switch (attribute->kind) {
    case ONNXD_ATTRIBUTE_FLOAT:
        put(key, &attribute->value.f, sizeof(float));
        break;
    case ONNXD_ATTRIBUTE_INT:
        put(key, &attribute->value.i, sizeof(int64_t));
        break;
    case ONNXD_ATTRIBUTE_STRING:
        put(key, attribute->value.s.data, attribute->value.s.size);
        break;
    case ONNXD_ATTRIBUTE_FLOATS:
        put(key, attribute->value.floats, attribute->count * sizeof(float));
        break;
    case ONNXD_ATTRIBUTE_INTS:
        put(key, attribute->value.ints, attribute->count * sizeof(int64_t));
        break;
    case ONNXD_ATTRIBUTE_STRINGS:
        put(key, &attribute->count, sizeof(attribute->count));
        for (size_t i = 0; i < attribute->count; i++)
            put(key, attribute->value.strings[i].data, attribute->value.strings[i].size);
        break;
    case ONNXD_ATTRIBUTE_TENSOR:
        /* By identity: the kernel holds the tensor, so its address stays its own. */
        put(key, &attribute->value.tensor, sizeof(attribute->value.tensor));
        break;
    case ONNXD_ATTRIBUTE_TENSORS:
        put(key, attribute->value.tensors, attribute->count * sizeof(onnxd_tensor *));
        break;
    default:
        break; /* refused before a kernel is made */
    }
}

static void put_types(onnxd_strbuf *key, const onnxd_tensor_type *types, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        const onnxd_shape *shape = &types[i].shape;
        bool is_present = types[i].dtype != ONNXD_UNDEFINED;
        put(key, &types[i].dtype, sizeof(types[i].dtype));
        put(key, shape->dims, is_present ? (size_t)shape->rank * sizeof(int64_t) : 0);
    }
}

onnxd_status *onnxd_cpu_key_make(const onnxd_cpu_case *c, onnxd_cpu_key_kind kind, void **out_key,
                                 size_t *out_bytes)
{
    const onnxd_op_query *query = c->query;
    onnxd_strbuf key;
    onnxd_strbuf_init(&key, KEY_MAX_BYTES);
    put(&key, &c->def, sizeof(c->def));
    put(&key, &query->opset, sizeof(query->opset));
    if (kind == ONNXD_CPU_KEY_KERNEL)
        put_text(&key, c->node->name);
    put(&key, &query->input_count, sizeof(query->input_count));
    put(&key, &query->output_count, sizeof(query->output_count));
    put(&key, &c->node->attribute_count, sizeof(c->node->attribute_count));
    put_types(&key, query->inputs, query->input_count);
    put_types(&key, c->outputs, query->output_count);
    for (uint32_t i = 0; i < query->input_count; i++) {
        const onnxd_tensor *constant = onnxd_cpu_constant(c, i);
        bool is_constant = constant != NULL;
        if (kind == ONNXD_CPU_KEY_KERNEL)
            put(&key, &constant, sizeof(constant));
        else
            put(&key, &is_constant, sizeof(is_constant));
    }
    for (uint32_t i = 0; i < c->node->attribute_count; i++)
        put_attribute(&key, &c->node->attributes[i]);
    if (key.failed) {
        onnxd_strbuf_deinit(&key);
        return no_memory(onnxd_cpu_attributes_bytes(c->node));
    }
    *out_key = key.data;
    *out_bytes = key.length;
    return NULL;
}

/* ---- the copy -------------------------------------------------------------------------------- */

static void *copy_bytes(onnxd_arena *arena, const void *data, size_t count, size_t element_bytes)
{
    size_t bytes;
    if (!onnxd_size_mul(count, element_bytes, &bytes))
        return NULL;
    void *copy = onnxd_arena_alloc(arena, bytes + 1);
    if (copy == NULL)
        return NULL;
    if (bytes > 0)
        memcpy(copy, data, bytes);
    ((char *)copy)[bytes] = '\0';
    return copy;
}

static bool copy_text(onnxd_arena *arena, const onnxd_text *text, onnxd_text *out)
{
    out->size = text->size;
    out->data = copy_bytes(arena, text->data, text->size, 1);
    return out->data != NULL;
}

static bool copy_strings(onnxd_arena *arena, const onnxd_attribute *from, onnxd_attribute *to)
{
    onnxd_text *strings = onnxd_arena_alloc_zero(arena, from->count + 1, sizeof(*strings));
    if (strings == NULL)
        return false;
    to->value.strings = strings;
    for (size_t i = 0; i < from->count; i++) {
        if (!copy_text(arena, &from->value.strings[i], &strings[i]))
            return false;
    }
    return true;
}

/* Tensors are shared; onnxd_cpu_node_drop() lets them go again. */
static bool copy_value(onnxd_arena *arena, const onnxd_attribute *from, onnxd_attribute *to)
{
    switch (from->kind) {
    case ONNXD_ATTRIBUTE_STRING:
        return copy_text(arena, &from->value.s, &to->value.s);
    case ONNXD_ATTRIBUTE_FLOATS:
        to->value.floats = copy_bytes(arena, from->value.floats, from->count, sizeof(float));
        return to->value.floats != NULL;
    case ONNXD_ATTRIBUTE_INTS:
        to->value.ints = copy_bytes(arena, from->value.ints, from->count, sizeof(int64_t));
        return to->value.ints != NULL;
    case ONNXD_ATTRIBUTE_STRINGS:
        return copy_strings(arena, from, to);
    case ONNXD_ATTRIBUTE_TENSORS:
        to->value.tensors = copy_bytes(arena, (const void *)from->value.tensors, from->count,
                                       sizeof(onnxd_tensor *));
        return to->value.tensors != NULL;
    default:
        return true;
    }
}

/* Every tensor of an attribute, retained or released. */
static void visit_tensors(const onnxd_attribute *attribute, bool retains)
{
    const onnxd_tensor *const *tensors = &attribute->value.tensor;
    size_t count = 0;
    if (attribute->kind == ONNXD_ATTRIBUTE_TENSOR) {
        count = 1;
    } else if (attribute->kind == ONNXD_ATTRIBUTE_TENSORS) {
        tensors = attribute->value.tensors;
        count = attribute->count;
    }
    for (size_t i = 0; i < count; i++) {
        onnxd_tensor *tensor = (onnxd_tensor *)(uintptr_t)tensors[i];
        if (retains)
            (void)onnxd_tensor_retain(tensor);
        else
            onnxd_tensor_release(tensor);
    }
}

static onnxd_status *copy_attributes(const onnxd_node *node, onnxd_cpu_kernel *kernel)
{
    onnxd_arena *arena = &kernel->arena;
    onnxd_attribute *copies =
        onnxd_arena_alloc_zero(arena, (size_t)node->attribute_count + 1, sizeof(*copies));
    if (copies == NULL)
        return no_memory(onnxd_cpu_attributes_bytes(node));
    kernel->node.attributes = copies;
    for (uint32_t i = 0; i < node->attribute_count; i++) {
        copies[i] = node->attributes[i];
        copies[i].name =
            onnxd_arena_strndup(arena, node->attributes[i].name, strlen(node->attributes[i].name));
        if (copies[i].name == NULL || !copy_value(arena, &node->attributes[i], &copies[i]))
            return no_memory(onnxd_cpu_attributes_bytes(node));
        /* Only counted ones hold their tensors. */
        kernel->node.attribute_count = i + 1;
        visit_tensors(&copies[i], true);
    }
    return NULL;
}

/* Ids become positions; absent ones stay absent. */
static onnxd_value_id *copy_ids(onnxd_arena *arena, const onnxd_value_id *ids, uint32_t count)
{
    onnxd_value_id *copies = onnxd_arena_alloc_zero(arena, (size_t)count + 1, sizeof(*copies));
    for (uint32_t i = 0; copies != NULL && i < count; i++)
        copies[i] = ids[i] == ONNXD_NONE ? ONNXD_NONE : i;
    return copies;
}

onnxd_status *onnxd_cpu_node_copy(const onnxd_cpu_case *c, onnxd_cpu_kernel *kernel)
{
    onnxd_arena *arena = &kernel->arena;
    const onnxd_node *from = c->node;
    onnxd_node *node = &kernel->node;
    node->domain = c->def->domain;
    node->op_type = c->def->op_type;
    node->opset = from->opset;
    node->def = c->def;
    node->name = onnxd_arena_strndup(arena, from->name, strlen(from->name));
    node->inputs = copy_ids(arena, from->inputs, from->input_count);
    node->outputs = copy_ids(arena, from->outputs, from->output_count);
    if (node->name == NULL || node->inputs == NULL || node->outputs == NULL)
        return no_memory(onnxd_cpu_attributes_bytes(from));
    node->input_count = from->input_count;
    node->output_count = from->output_count;
    ONNXD_TRY(copy_attributes(from, kernel));
    if (c->def->parse == NULL)
        return NULL;
    void *params = onnxd_arena_alloc_zero(arena, 1, c->def->params_bytes);
    if (params == NULL)
        return no_memory(onnxd_cpu_attributes_bytes(from));
    ONNXD_TRY(c->def->parse(node, node->opset, arena, params));
    node->params = params;
    return NULL;
}

void onnxd_cpu_node_drop(onnxd_cpu_kernel *kernel)
{
    for (uint32_t i = 0; i < kernel->node.attribute_count; i++)
        visit_tensors(&kernel->node.attributes[i], false);
    kernel->node.attribute_count = 0;
}
