#include "graph/graph.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/size_math.h"
#include "graph/internal.h"

/* Subgraphs are small and can be many, so that a fresh block must cost little. */
#define ARENA_BLOCK_BYTES ((size_t)4096)
#define FIRST_CAPACITY 8u

onnxd_status *onnxd_graph_create(size_t max_bytes, onnxd_graph **out_graph)
{
    onnxd_graph *graph = onnxd_alloc_zero(1, sizeof(*graph));
    if (graph == NULL)
        return onnxd_error_out_of_memory("graph", sizeof(*graph), UINT64_MAX);
    onnxd_arena_init(&graph->arena, ARENA_BLOCK_BYTES, max_bytes);
    graph->name = "";
    graph->producer_name = "";
    *out_graph = graph;
    return NULL;
}

static void release_tensor(const onnxd_tensor *tensor)
{
    union {
        const onnxd_tensor *shared;
        onnxd_tensor *owned;
    } reference = {.shared = tensor};
    onnxd_tensor_release(reference.owned);
}

static void release_attribute(const onnxd_attribute *attribute)
{
    switch (attribute->kind) {
    case ONNXD_ATTRIBUTE_TENSOR:
    case ONNXD_ATTRIBUTE_SPARSE_TENSOR:
        release_tensor(attribute->value.tensor);
        break;
    case ONNXD_ATTRIBUTE_TENSORS:
    case ONNXD_ATTRIBUTE_SPARSE_TENSORS:
        for (size_t i = 0; i < attribute->count; i++)
            release_tensor(attribute->value.tensors[i]);
        break;
    case ONNXD_ATTRIBUTE_GRAPH:
        onnxd_graph_destroy(attribute->value.graph);
        break;
    case ONNXD_ATTRIBUTE_GRAPHS:
        for (size_t i = 0; i < attribute->count; i++)
            onnxd_graph_destroy(attribute->value.graphs[i]);
        break;
    default:
        break;
    }
}

void onnxd_node_release_attributes(onnxd_node *node)
{
    for (uint32_t i = 0; i < node->attribute_count; i++)
        release_attribute(&node->attributes[i]);
    node->attribute_count = 0;
}

/* Recursion ends at the loader's limit on nested subgraphs. */
void onnxd_graph_destroy(onnxd_graph *graph)
{
    if (graph == NULL)
        return;
    for (uint32_t i = 0; i < graph->node_count; i++)
        onnxd_node_release_attributes(&graph->nodes[i]);
    for (uint32_t i = 0; i < graph->value_count; i++)
        onnxd_tensor_release(graph->values[i].constant);
    /* Last: arrays that attributes of the nodes point to lie in the arenas of these. A graph comes
     * before those that it has absorbed itself. */
    for (onnxd_graph *absorbed = graph->absorbed; absorbed != NULL; absorbed = graph->absorbed) {
        graph->absorbed = absorbed->absorbed;
        absorbed->absorbed = NULL;
        onnxd_graph_destroy(absorbed);
    }
    onnxd_arena_deinit(&graph->arena);
    onnxd_free(graph);
}

onnxd_status *onnxd_graph_alloc(onnxd_graph *graph, size_t count, size_t element_bytes,
                                void **out_memory)
{
    void *memory = onnxd_arena_alloc_zero(&graph->arena, count, element_bytes);
    if (memory == NULL) {
        size_t bytes = SIZE_MAX;
        if (!onnxd_size_mul(count, element_bytes, &bytes))
            bytes = SIZE_MAX;
        return onnxd_error_out_of_memory("graph arena", bytes,
                                         graph->arena.max_bytes - graph->arena.used_bytes);
    }
    *out_memory = memory;
    return NULL;
}

static onnxd_status *copy_text(onnxd_graph *graph, const char *text, const char **out_copy)
{
    if (text == NULL || text[0] == '\0') {
        *out_copy = "";
        return NULL;
    }
    size_t length = strlen(text);
    char *copy = onnxd_arena_strndup(&graph->arena, text, length);
    if (copy == NULL)
        return onnxd_error_out_of_memory("graph arena", length + 1,
                                         graph->arena.max_bytes - graph->arena.used_bytes);
    *out_copy = copy;
    return NULL;
}

/* An array of `larger` elements in place of one of *capacity; the old one stays in the arena. */
static onnxd_status *resize(onnxd_graph *graph, uint32_t count, size_t larger, uint32_t *capacity,
                            void **array, size_t element_bytes)
{
    if (larger <= *capacity)
        return NULL;
    if (larger > UINT32_MAX / 2)
        return onnxd_error(ONNXD_INVALID_ARGUMENT, "graph has too many elements (%zu)", larger);
    void *memory = NULL;
    ONNXD_TRY(onnxd_graph_alloc(graph, larger, element_bytes, &memory));
    if (count > 0)
        memcpy(memory, *array, count * element_bytes);
    *array = memory;
    *capacity = (uint32_t)larger;
    return NULL;
}

/* Makes room for one more element. */
static onnxd_status *grow(onnxd_graph *graph, uint32_t count, uint32_t *capacity, void **array,
                          size_t element_bytes)
{
    size_t larger = *capacity == 0 ? FIRST_CAPACITY : (size_t)*capacity * 2;
    return count < *capacity ? NULL : resize(graph, count, larger, capacity, array, element_bytes);
}

onnxd_status *onnxd_graph_reserve(onnxd_graph *graph, size_t value_count, size_t node_count)
{
    void *values = graph->values;
    void *nodes = graph->nodes;
    ONNXD_TRY(resize(graph, graph->value_count, value_count, &graph->value_capacity, &values,
                     sizeof(onnxd_value)));
    graph->values = values;
    ONNXD_TRY(resize(graph, graph->node_count, node_count, &graph->node_capacity, &nodes,
                     sizeof(onnxd_node)));
    graph->nodes = nodes;
    return NULL;
}

onnxd_status *onnxd_graph_add_value(onnxd_graph *graph, const char *name, onnxd_value_id *out_value)
{
    if (name == NULL || name[0] == '\0')
        return onnxd_error(ONNXD_INVALID_ARGUMENT, "a value must have a name");
    onnxd_value value = {.producer = ONNXD_NONE};
    value.type.shape = onnxd_shape_unknown();
    ONNXD_TRY(copy_text(graph, name, &value.name));
    void *array = graph->values;
    ONNXD_TRY(grow(graph, graph->value_count, &graph->value_capacity, &array, sizeof(value)));
    graph->values = array;
    graph->values[graph->value_count] = value;
    *out_value = graph->value_count++;
    return NULL;
}

static onnxd_status *copy_ids(onnxd_graph *graph, const onnxd_value_id *ids, uint32_t count,
                              onnxd_value_id **out_copy)
{
    *out_copy = NULL;
    if (count == 0)
        return NULL;
    for (uint32_t i = 0; i < count; i++)
        if (ids[i] != ONNXD_NONE && ids[i] >= graph->value_count)
            return onnxd_error(ONNXD_INVALID_ARGUMENT, "value id %u, the graph has %u values",
                               ids[i], graph->value_count);
    void *memory = NULL;
    ONNXD_TRY(onnxd_graph_alloc(graph, count, sizeof(*ids), &memory));
    memcpy(memory, ids, count * sizeof(*ids));
    *out_copy = memory;
    return NULL;
}

static onnxd_status *copy_attributes(onnxd_graph *graph, const onnxd_node *node,
                                     onnxd_attribute **out_copy)
{
    *out_copy = NULL;
    if (node->attribute_count == 0)
        return NULL;
    void *memory = NULL;
    ONNXD_TRY(onnxd_graph_alloc(graph, node->attribute_count, sizeof(onnxd_attribute), &memory));
    onnxd_attribute *attributes = memory;
    for (uint32_t i = 0; i < node->attribute_count; i++) {
        attributes[i] = node->attributes[i];
        ONNXD_TRY(copy_text(graph, node->attributes[i].name, &attributes[i].name));
    }
    *out_copy = attributes;
    return NULL;
}

/* Makes the next node the producer of its outputs; changes nothing on failure. */
static onnxd_status *claim_outputs(onnxd_graph *graph, const onnxd_node *node)
{
    for (uint32_t i = 0; i < node->output_count; i++) {
        if (node->outputs[i] == ONNXD_NONE)
            continue;
        onnxd_value *value = &graph->values[node->outputs[i]];
        if (value->producer != ONNXD_NONE || value->is_input || value->constant != NULL) {
            for (uint32_t j = 0; j < i; j++)
                if (node->outputs[j] != ONNXD_NONE)
                    graph->values[node->outputs[j]].producer = ONNXD_NONE;
            return onnxd_error(ONNXD_INVALID_ARGUMENT, "value '%.128s' is produced twice",
                               value->name);
        }
        value->producer = graph->node_count;
    }
    return NULL;
}

onnxd_status *onnxd_graph_add_node(onnxd_graph *graph, const onnxd_node *node,
                                   onnxd_node_id *out_node)
{
    onnxd_node copy = *node;
    const char *domain = node->domain == NULL ? "" : node->domain;
    ONNXD_TRY(copy_text(graph, node->name, &copy.name));
    ONNXD_TRY(copy_text(graph, strcmp(domain, "ai.onnx") == 0 ? "" : domain, &copy.domain));
    ONNXD_TRY(copy_text(graph, node->op_type, &copy.op_type));
    ONNXD_TRY(copy_ids(graph, node->inputs, node->input_count, &copy.inputs));
    ONNXD_TRY(copy_ids(graph, node->outputs, node->output_count, &copy.outputs));
    ONNXD_TRY(copy_attributes(graph, node, &copy.attributes));
    void *array = graph->nodes;
    ONNXD_TRY(grow(graph, graph->node_count, &graph->node_capacity, &array, sizeof(copy)));
    graph->nodes = array;
    ONNXD_TRY(claim_outputs(graph, &copy));
    graph->nodes[graph->node_count] = copy;
    *out_node = graph->node_count++;
    return NULL;
}

onnxd_status *onnxd_graph_add_identity(onnxd_graph *graph, onnxd_value_id from, onnxd_value_id to,
                                       onnxd_node_id *out_node)
{
    onnxd_node node = {.op_type = "Identity",
                       .opset = ONNXD_OPSET_MAX,
                       .inputs = &from,
                       .outputs = &to,
                       .input_count = 1,
                       .output_count = 1};
    return onnxd_graph_add_node(graph, &node, out_node);
}

onnxd_status *onnxd_graph_set_inputs(onnxd_graph *graph, const onnxd_value_id *ids, uint32_t count)
{
    onnxd_value_id *copy = NULL;
    ONNXD_TRY(copy_ids(graph, ids, count, &copy));
    for (uint32_t i = 0; i < graph->input_count; i++)
        graph->values[graph->inputs[i]].is_input = false;
    for (uint32_t i = 0; i < count; i++)
        graph->values[copy[i]].is_input = true;
    graph->inputs = copy;
    graph->input_count = count;
    return NULL;
}

onnxd_status *onnxd_graph_set_outputs(onnxd_graph *graph, const onnxd_value_id *ids, uint32_t count)
{
    onnxd_value_id *copy = NULL;
    ONNXD_TRY(copy_ids(graph, ids, count, &copy));
    for (uint32_t i = 0; i < graph->output_count; i++)
        graph->values[graph->outputs[i]].is_output = false;
    for (uint32_t i = 0; i < count; i++)
        graph->values[copy[i]].is_output = true;
    graph->outputs = copy;
    graph->output_count = count;
    return NULL;
}

onnxd_status *onnxd_graph_add_symbol(onnxd_graph *graph, const char *name, int64_t *out_dim)
{
    const char *copy = NULL;
    ONNXD_TRY(copy_text(graph, name, &copy));
    union {
        const char **names;
        void *memory;
    } array = {.names = graph->symbols};
    ONNXD_TRY(
        grow(graph, graph->symbol_count, &graph->symbol_capacity, &array.memory, sizeof(copy)));
    graph->symbols = array.names;
    graph->symbols[graph->symbol_count] = copy;
    *out_dim = ONNXD_DIM_FROM_SYMBOL(graph->symbol_count);
    graph->symbol_count++;
    return NULL;
}

onnxd_status *onnxd_graph_symbol(onnxd_graph *graph, const char *name, int64_t *out_dim)
{
    for (uint32_t i = 0; i < graph->symbol_count; i++) {
        if (strcmp(graph->symbols[i], name) == 0) {
            *out_dim = ONNXD_DIM_FROM_SYMBOL(i);
            return NULL;
        }
    }
    return onnxd_graph_add_symbol(graph, name, out_dim);
}

void onnxd_graph_set_constant(onnxd_graph *graph, onnxd_value_id value, onnxd_tensor *tensor)
{
    onnxd_value *target = &graph->values[value];
    onnxd_tensor *previous = target->constant;
    target->constant = onnxd_tensor_retain(tensor);
    target->type.kind = ONNXD_VALUE_TENSOR;
    target->type.dtype = tensor->dtype;
    target->type.shape = tensor->shape;
    target->producer = ONNXD_NONE;
    onnxd_tensor_release(previous);
}

void onnxd_graph_replace_all(onnxd_graph *graph, const onnxd_value_id *replacement)
{
    for (uint32_t n = 0; n < graph->node_count; n++) {
        onnxd_node *node = &graph->nodes[n];
        for (uint32_t i = 0; i < node->input_count; i++)
            if (node->inputs[i] != ONNXD_NONE)
                node->inputs[i] = replacement[node->inputs[i]];
    }
    for (uint32_t i = 0; i < graph->output_count; i++)
        graph->values[graph->outputs[i]].is_output = false;
    for (uint32_t i = 0; i < graph->output_count; i++) {
        graph->outputs[i] = replacement[graph->outputs[i]];
        graph->values[graph->outputs[i]].is_output = true;
    }
}

void onnxd_graph_widest(const onnxd_graph *graph, uint32_t *out_inputs, uint32_t *out_outputs)
{
    uint32_t inputs = 1;
    uint32_t outputs = 1;
    for (uint32_t n = 0; n < graph->node_count; n++) {
        if (graph->nodes[n].input_count > inputs)
            inputs = graph->nodes[n].input_count;
        if (graph->nodes[n].output_count > outputs)
            outputs = graph->nodes[n].output_count;
    }
    *out_inputs = inputs;
    *out_outputs = outputs;
}

onnxd_value_id onnxd_graph_find_value(const onnxd_graph *graph, const char *name)
{
    for (uint32_t i = 0; i < graph->value_count; i++)
        if (strcmp(graph->values[i].name, name) == 0)
            return i;
    return ONNXD_NONE;
}

int64_t onnxd_graph_opset(const onnxd_graph *graph, const char *domain)
{
    const char *wanted = strcmp(domain, "ai.onnx") == 0 ? "" : domain;
    for (uint32_t i = 0; i < graph->opset_count; i++)
        if (strcmp(graph->opsets[i].domain, wanted) == 0)
            return graph->opsets[i].version;
    return 0;
}

const onnxd_attribute *onnxd_node_attribute(const onnxd_node *node, const char *name)
{
    for (uint32_t i = 0; i < node->attribute_count; i++)
        if (strcmp(node->attributes[i].name, name) == 0)
            return &node->attributes[i];
    return NULL;
}

const char *onnxd_name_text(const char *name, char *buffer, size_t capacity)
{
    size_t length = 0;
    size_t source = 0;
    for (; name[source] != '\0' && source < 128 && length + 5 < capacity; source++) {
        unsigned char byte = (unsigned char)name[source];
        if (byte < 0x20 || byte == 0x7f)
            length += (size_t)snprintf(buffer + length, capacity - length, "\\x%02x", byte);
        else
            buffer[length++] = (char)byte;
    }
    /* A cut must not leave half of a UTF-8 sequence behind. */
    if (name[source] != '\0') {
        while (length > 0 && ((unsigned char)buffer[length - 1] & 0xc0) == 0x80)
            length--;
        if (length > 0 && ((unsigned char)buffer[length - 1] & 0xc0) == 0xc0)
            length--;
        for (size_t dots = 0; dots < 3 && length + 1 < capacity; dots++)
            buffer[length++] = '.';
    }
    buffer[length] = '\0';
    return buffer;
}

const char *onnxd_node_label(const onnxd_graph *graph, const onnxd_node *node, char *buffer,
                             size_t capacity)
{
    char name[ONNXD_NAME_TEXT];
    char type[ONNXD_NAME_TEXT];
    const char *op_type = onnxd_name_text(node->op_type, type, 80);
    if (node->name != NULL && node->name[0] != '\0')
        (void)snprintf(buffer, capacity, "node '%s' (%s)",
                       onnxd_name_text(node->name, name, sizeof(name)), op_type);
    else if (graph != NULL && node >= graph->nodes && node < graph->nodes + graph->node_count)
        (void)snprintf(buffer, capacity, "node #%zu (%s)", (size_t)(node - graph->nodes), op_type);
    else
        (void)snprintf(buffer, capacity, "node (%s)", op_type);
    return buffer;
}

onnxd_status *onnxd_node_context(const onnxd_graph *graph, const onnxd_node *node,
                                 onnxd_status *status)
{
    if (status == NULL)
        return NULL;
    char label[ONNXD_NODE_LABEL], own[ONNXD_NODE_LABEL];
    const char *message = onnxd_status_message(status);
    onnxd_node_label(graph, node, label, sizeof(label));
    /* Operators name their node themselves, one without a name by its operator alone. */
    onnxd_node_label(NULL, node, own, sizeof(own));
    if (strncmp(message, label, strlen(label)) == 0)
        return status;
    if (strncmp(message, own, strlen(own)) != 0)
        return onnxd_status_context(status, "%s", label);
    onnxd_status *renamed =
        onnxd_error(onnxd_status_code(status), "%s%s", label, message + strlen(own));
    onnxd_status_free(status);
    return renamed;
}
