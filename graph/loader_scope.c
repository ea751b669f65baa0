/*
 * Names in a graph and in those around it. A name that a subgraph uses from outside becomes a value
 * of its own there, a capture, in every graph between; the nodes that own those graphs get what is
 * captured as further inputs.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "graph/internal.h"
#include "graph/loader_internal.h"

#define FIRST_CAPACITY 8u

static bool is_taken(const onnxd_scope *scope, const char *name)
{
    return onnxd_name_map_find(&scope->names, name) != ONNXD_NONE ||
           onnxd_name_map_find(&scope->generated, name) != ONNXD_NONE;
}

/* A value called "<prefix><name>", with a number behind it where the graph has that already.
 * `scope` is a graph's. */
static onnxd_status *add_generated(onnxd_scope *scope, const char *prefix, const char *name,
                                   onnxd_value_id *out_value)
{
    size_t capacity = strlen(prefix) + strlen(name) + sizeof("#4294967295");
    char *text = onnxd_alloc(capacity);
    if (text == NULL)
        return onnxd_error_out_of_memory("name of a value", capacity, UINT64_MAX);
    (void)snprintf(text, capacity, "%s%s", prefix, name);
    for (uint32_t number = 1; is_taken(scope, text); number++)
        (void)snprintf(text, capacity, "%s%s#%" PRIu32, prefix, name, number);
    onnxd_value_id value;
    onnxd_status *status = onnxd_graph_add_value(scope->graph, text, &value);
    onnxd_free(text);
    ONNXD_TRY(status);
    bool added;
    return onnxd_name_map_add(&scope->generated, scope->graph->values[value].name, value, out_value,
                              &added);
}

onnxd_status *onnxd_loader_define(onnxd_scope *scope, const char *name, const char *what,
                                  onnxd_value_id *out_value)
{
    char text[ONNXD_NAME_TEXT];
    if (name == NULL || name[0] == '\0')
        return onnxd_error(ONNXD_INVALID_ARGUMENT, "%s has no name", what);
    if (onnxd_name_map_find(&scope->names, name) != ONNXD_NONE)
        return onnxd_error(ONNXD_INVALID_ARGUMENT, "%s '%s' is defined twice", what,
                           onnxd_name_text(name, text, sizeof(text)));
    onnxd_value_id value;
    if (onnxd_name_map_find(&scope->generated, name) == ONNXD_NONE)
        ONNXD_TRY(onnxd_graph_add_value(scope->graph, name, &value));
    else
        ONNXD_TRY(add_generated(scope, "", name, &value));
    bool added;
    return onnxd_name_map_add(&scope->names, name, value, out_value, &added);
}

onnxd_status *onnxd_loader_generate(onnxd_scope *scope, const char *name, onnxd_value_id *out_value)
{
    return add_generated(scope->home, scope->call->prefix, name, out_value);
}

static onnxd_status *add_capture(onnxd_scope *scope, onnxd_value_id value, onnxd_value_id outer)
{
    if (scope->capture_count == scope->capture_capacity) {
        uint32_t capacity =
            scope->capture_capacity == 0 ? FIRST_CAPACITY : scope->capture_capacity * 2;
        void *captures = onnxd_realloc_array(scope->captures, capacity, sizeof(*scope->captures));
        if (captures == NULL)
            return onnxd_error_out_of_memory(
                "captures", (uint64_t)capacity * sizeof(*scope->captures), UINT64_MAX);
        scope->captures = captures;
        scope->capture_capacity = capacity;
    }
    scope->captures[scope->capture_count++] = (onnxd_capture){.value = value, .input = outer};
    return NULL;
}

/* Recursion ends at the outermost graph, which the limit on nested subgraphs keeps near. */
onnxd_status *onnxd_loader_lookup(onnxd_scope *scope, const char *name, // NOLINT(misc-no-recursion)
                                  onnxd_value_id *out_value)
{
    onnxd_value_id value = onnxd_name_map_find(&scope->names, name);
    if (value == ONNXD_NONE && scope->parent == NULL) {
        char text[ONNXD_NAME_TEXT];
        return onnxd_error(ONNXD_INVALID_ARGUMENT, "value '%s' is produced by nothing",
                           onnxd_name_text(name, text, sizeof(text)));
    }
    if (value == ONNXD_NONE) {
        onnxd_value_id outer = ONNXD_NONE;
        ONNXD_TRY(onnxd_loader_lookup(scope->parent, name, &outer));
        if (outer == ONNXD_NONE) {
            *out_value = ONNXD_NONE;
            return NULL;
        }
        ONNXD_TRY(onnxd_loader_define(scope, name, "value", &value));
        ONNXD_TRY(add_capture(scope, value, outer));
    }
    *out_value = value == ONNXD_LOADER_ABSENT ? ONNXD_NONE : value;
    return NULL;
}

onnxd_status *onnxd_loader_set_captures(const onnxd_scope *scope)
{
    onnxd_graph *graph = scope->graph;
    if (scope->capture_count == 0)
        return NULL;
    void *memory = NULL;
    ONNXD_TRY(onnxd_graph_alloc(graph, scope->capture_count, sizeof(*graph->captures), &memory));
    memcpy(memory, scope->captures, scope->capture_count * sizeof(*graph->captures));
    graph->captures = memory;
    graph->capture_count = scope->capture_count;
    return NULL;
}

/* The values that the subgraphs of one node capture. */
typedef struct capture_list {
    onnxd_value_id *values;
    uint32_t count, capacity;
    uint32_t first; /* the node's first capture input */
} capture_list;

static void count_captures(onnxd_graph *subgraph, void *context)
{
    capture_list *list = context;
    list->capacity += subgraph->capture_count;
}

static void list_captures(onnxd_graph *subgraph, void *context)
{
    capture_list *list = context;
    for (uint32_t i = 0; i < subgraph->capture_count; i++)
        list->values[list->count++] = subgraph->captures[i].input;
}

static int compare_ids(const void *a, const void *b)
{
    const onnxd_value_id *left = a;
    const onnxd_value_id *right = b;
    return (*left > *right) - (*left < *right);
}

static void drop_repeated(capture_list *list)
{
    qsort(list->values, list->count, sizeof(*list->values), compare_ids);
    uint32_t kept = 0;
    for (uint32_t i = 0; i < list->count; i++)
        if (kept == 0 || list->values[kept - 1] != list->values[i])
            list->values[kept++] = list->values[i];
    list->count = kept;
}

static void number_captures(onnxd_graph *subgraph, void *context)
{
    const capture_list *list = context;
    for (uint32_t i = 0; i < subgraph->capture_count; i++) {
        const onnxd_value_id *found = bsearch(&subgraph->captures[i].input, list->values,
                                              list->count, sizeof(*list->values), compare_ids);
        subgraph->captures[i].input = list->first + (uint32_t)(found - list->values);
    }
}

static onnxd_status *append_inputs(onnxd_node *node, const capture_list *list)
{
    size_t total = (size_t)node->input_count + list->count;
    void *inputs = onnxd_realloc_array(node->inputs, total, sizeof(*node->inputs));
    if (inputs == NULL)
        return onnxd_error_out_of_memory("node inputs", total * sizeof(*node->inputs), UINT64_MAX);
    node->inputs = inputs;
    memcpy(node->inputs + node->input_count, list->values, list->count * sizeof(*list->values));
    node->input_count += list->count;
    node->capture_count = list->count;
    return NULL;
}

onnxd_status *onnxd_loader_captures(onnxd_node *node)
{
    capture_list list = {.first = node->input_count};
    onnxd_node_subgraphs(node, count_captures, &list);
    if (list.capacity == 0)
        return NULL;
    list.values = onnxd_alloc_zero(list.capacity, sizeof(*list.values));
    if (list.values == NULL)
        return onnxd_error_out_of_memory("captures", (uint64_t)list.capacity * sizeof(*list.values),
                                         UINT64_MAX);
    onnxd_node_subgraphs(node, list_captures, &list);
    drop_repeated(&list);
    onnxd_status *status = append_inputs(node, &list);
    if (status == NULL)
        onnxd_node_subgraphs(node, number_captures, &list);
    onnxd_free(list.values);
    return status;
}
