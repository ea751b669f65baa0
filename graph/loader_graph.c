/*
 * GraphProto to graph. First all names are defined (inputs, initializers, node outputs), then nodes
 * are read, so that nodes may come in any order and subgraphs may use names from around them.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "graph/internal.h"
#include "graph/loader_internal.h"

static const char *text_of(const char *text)
{
    return text == NULL ? "" : text;
}

onnxd_status *onnxd_loader_value_type(onnxd_scope *scope, const Onnx__ValueInfoProto *proto,
                                      onnxd_value_id value)
{
    /* Some exporters leave the types of what branches make empty: inference tells them. */
    if (proto->type == NULL || proto->type->value_case == ONNX__TYPE_PROTO__VALUE__NOT_SET)
        return NULL;
    onnxd_tensor_type type;
    onnxd_status *status = onnxd_loader_type(scope, proto->type, &type);
    onnxd_value *target = &scope->graph->values[value];
    if (status == NULL && target->constant != NULL) {
        bool fits = type.kind == ONNXD_VALUE_TENSOR && type.dtype == target->type.dtype &&
                    onnxd_shape_admits(&type.shape, &target->type.shape);
        if (!fits)
            status = onnxd_error(ONNXD_INVALID_ARGUMENT,
                                 "its declared type is not that of its initializer");
    } else if (status == NULL) {
        target->type = type;
    }
    char text[ONNXD_NAME_TEXT];
    return status == NULL ? NULL
                          : onnxd_status_context(status, "value '%s'",
                                                 onnxd_name_text(target->name, text, sizeof(text)));
}

static onnxd_status *define_inputs(onnxd_scope *scope, const Onnx__GraphProto *proto)
{
    for (size_t i = 0; i < proto->n_input; i++) {
        onnxd_value_id value;
        ONNXD_TRY(onnxd_loader_define(scope, proto->input[i]->name, "graph input", &value));
        ONNXD_TRY(onnxd_loader_value_type(scope, proto->input[i], value));
    }
    return NULL;
}

/* Before IR version 4 initializers had to be inputs too. Such an input is a constant with a default
 * that nobody may replace, not a part of the signature. */
static onnxd_status *set_initializer(onnxd_scope *scope, const char *name, onnxd_tensor *tensor)
{
    onnxd_value_id value = name == NULL ? ONNXD_NONE : onnxd_name_map_find(&scope->names, name);
    bool is_input = value != ONNXD_NONE && scope->graph->values[value].constant == NULL;
    if (!is_input)
        ONNXD_TRY(onnxd_loader_define(scope, name, "initializer", &value));
    const onnxd_value *declared = &scope->graph->values[value];
    if (declared->type.kind != ONNXD_VALUE_TENSOR ||
        (declared->type.dtype != ONNXD_UNDEFINED && declared->type.dtype != tensor->dtype) ||
        !onnxd_shape_admits(&declared->type.shape, &tensor->shape))
        return onnxd_error(ONNXD_INVALID_ARGUMENT, "its type is not that of the input of its name");
    onnxd_graph_set_constant(scope->graph, value, tensor);
    return NULL;
}

static onnxd_status *name_initializer(const char *name, onnxd_status *status)
{
    char text[ONNXD_NAME_TEXT];
    return status == NULL
               ? NULL
               : onnxd_status_context(status, "initializer '%s'",
                                      onnxd_name_text(text_of(name), text, sizeof(text)));
}

static onnxd_status *define_initializers(onnxd_scope *scope, const Onnx__GraphProto *proto)
{
    for (size_t i = 0; i < proto->n_initializer; i++) {
        onnxd_tensor *tensor = NULL;
        const char *name = proto->initializer[i]->name;
        onnxd_status *status =
            onnxd_loader_shared_tensor(scope->loader, proto->initializer[i], &tensor);
        if (status == NULL)
            status = set_initializer(scope, name, tensor);
        onnxd_tensor_release(tensor);
        ONNXD_TRY(name_initializer(name, status));
    }
    for (size_t i = 0; i < proto->n_sparse_initializer; i++) {
        Onnx__SparseTensorProto *sparse = proto->sparse_initializer[i];
        onnxd_tensor *tensor = NULL;
        const char *name = sparse->values == NULL ? NULL : sparse->values->name;
        onnxd_status *status = onnxd_loader_shared_sparse(scope->loader, sparse, &tensor);
        if (status == NULL)
            status = set_initializer(scope, name, tensor);
        onnxd_tensor_release(tensor);
        ONNXD_TRY(name_initializer(name, status));
    }
    return NULL;
}

static const char *proto_label(const Onnx__NodeProto *proto, size_t index, char *buffer,
                               size_t capacity)
{
    onnxd_node node = {.name = text_of(proto->name), .op_type = text_of(proto->op_type)};
    onnxd_node_label(NULL, &node, buffer, capacity);
    if (node.name[0] == '\0') {
        char type[ONNXD_NAME_TEXT];
        (void)snprintf(buffer, capacity, "node #%zu (%s)", index,
                       onnxd_name_text(node.op_type, type, 80));
    }
    return buffer;
}

static onnxd_status *define_node_outputs(onnxd_scope *scope, const Onnx__GraphProto *proto)
{
    for (size_t n = 0; n < proto->n_node; n++) {
        const Onnx__NodeProto *node = proto->node[n];
        for (size_t i = 0; i < node->n_output; i++) {
            onnxd_value_id value;
            if (node->output[i][0] == '\0')
                continue;
            onnxd_status *status = onnxd_loader_define(scope, node->output[i], "output", &value);
            if (status != NULL) {
                char label[ONNXD_NODE_LABEL];
                return onnxd_status_context(status, "%s",
                                            proto_label(node, n, label, sizeof(label)));
            }
        }
    }
    return NULL;
}

static onnxd_status *set_signature_inputs(onnxd_scope *scope, const Onnx__GraphProto *proto)
{
    onnxd_graph *graph = scope->graph;
    /* Inputs were defined first: their ids are 0 .. n_input - 1. */
    onnxd_value_id *ids = onnxd_alloc_zero(proto->n_input + 1, sizeof(*ids));
    if (ids == NULL)
        return onnxd_error_out_of_memory("graph inputs", proto->n_input * sizeof(*ids), UINT64_MAX);
    uint32_t count = 0;
    onnxd_status *status = NULL;
    for (uint32_t v = 0; v < proto->n_input && status == NULL; v++) {
        const onnxd_value *value = &graph->values[v];
        char text[ONNXD_NAME_TEXT];
        if (value->constant != NULL)
            continue;
        if (scope->parent == NULL && value->type.kind == ONNXD_VALUE_TENSOR &&
            value->type.dtype == ONNXD_UNDEFINED)
            status = onnxd_error(ONNXD_INVALID_ARGUMENT, "graph input '%s' has no type",
                                 onnxd_name_text(value->name, text, sizeof(text)));
        ids[count++] = v;
    }
    if (status == NULL)
        status = onnxd_graph_set_inputs(graph, ids, count);
    onnxd_free(ids);
    return status;
}

static onnxd_status *read_value_infos(onnxd_scope *scope, const Onnx__GraphProto *proto)
{
    for (size_t i = 0; i < proto->n_value_info; i++) {
        const char *name = text_of(proto->value_info[i]->name);
        onnxd_value_id value = onnxd_name_map_find(&scope->names, name);
        /* A graph input's own declaration is the one that callers see. */
        if (value != ONNXD_NONE && !scope->graph->values[value].is_input)
            ONNXD_TRY(onnxd_loader_value_type(scope, proto->value_info[i], value));
    }
    return NULL;
}

static onnxd_status *read_outputs(onnxd_scope *scope, const Onnx__GraphProto *proto)
{
    onnxd_graph *graph = scope->graph;
    onnxd_value_id *ids = onnxd_alloc_zero(proto->n_output + 1, sizeof(*ids));
    if (ids == NULL)
        return onnxd_error_out_of_memory("graph outputs", proto->n_output * sizeof(*ids),
                                         UINT64_MAX);
    onnxd_status *status = NULL;
    for (size_t i = 0; i < proto->n_output && status == NULL; i++) {
        const char *name = text_of(proto->output[i]->name);
        char text[ONNXD_NAME_TEXT];
        status = onnxd_loader_lookup(scope, name, &ids[i]);
        if (status == NULL && ids[i] == ONNXD_NONE)
            status = onnxd_error(ONNXD_INVALID_ARGUMENT, "it is an input that a call leaves out");
        if (status == NULL && graph->values[ids[i]].is_output)
            status = onnxd_error(ONNXD_INVALID_ARGUMENT, "it is listed twice");
        if (status == NULL && !graph->values[ids[i]].is_input)
            status = onnxd_loader_value_type(scope, proto->output[i], ids[i]);
        if (status == NULL)
            graph->values[ids[i]].is_output = true;
        else
            status = onnxd_status_context(status, "graph output '%s'",
                                          onnxd_name_text(name, text, sizeof(text)));
    }
    if (status == NULL)
        status = onnxd_graph_set_outputs(graph, ids, (uint32_t)proto->n_output);
    onnxd_free(ids);
    return status;
}

static onnxd_status *find_opset(const onnxd_scope *scope, onnxd_node *node)
{
    node->opset = onnxd_loader_opset(scope, node->domain);
    if (node->opset != 0)
        return NULL;
    char text[ONNXD_NAME_TEXT];
    return onnxd_error(ONNXD_INVALID_ARGUMENT, "the %s does not import its domain '%s'",
                       scope->call != NULL ? "function" : "model",
                       node->domain[0] == '\0' ? "ai.onnx"
                                               : onnxd_name_text(node->domain, text, sizeof(text)));
}

static onnxd_status *lookup_all(onnxd_scope *scope, char *const *names, size_t count,
                                onnxd_value_id *ids)
{
    for (size_t i = 0; i < count; i++) {
        ids[i] = ONNXD_NONE;
        if (names[i][0] != '\0')
            ONNXD_TRY(onnxd_loader_lookup(scope, names[i], &ids[i]));
    }
    return NULL;
}

static onnxd_status *read_operator(onnxd_scope *scope, const Onnx__NodeProto *proto,
                                   onnxd_node *node)
{
    ONNXD_TRY(find_opset(scope, node));
    ONNXD_TRY(onnxd_loader_attributes(scope, proto->attribute, proto->n_attribute, node));
    ONNXD_TRY(onnxd_loader_captures(node));
    onnxd_node_id id;
    return onnxd_graph_add_node(scope->graph, node, &id);
}

/* Fills `node`, whose arrays have room. `name` is what it is called. */
static onnxd_status *read_node(onnxd_scope *scope, const Onnx__NodeProto *proto, const char *name,
                               onnxd_node *node)
{
    const Onnx__FunctionProto *function = NULL;
    node->name = name;
    node->op_type = text_of(proto->op_type);
    node->domain = onnxd_loader_domain(proto->domain);
    if (node->op_type[0] == '\0')
        return onnxd_error(ONNXD_INVALID_ARGUMENT, "it has no operator type");
    if (scope->loader->node_count++ >= scope->loader->limits->max_nodes)
        return onnxd_error(ONNXD_INVALID_ARGUMENT,
                           "the model has more than %" PRIu32 " nodes, those of its functions "
                           "counted for each call",
                           scope->loader->limits->max_nodes);
    ONNXD_TRY(onnxd_loader_find_function(scope, proto, node->domain, &function));
    ONNXD_TRY(lookup_all(scope, proto->input, proto->n_input, node->inputs));
    ONNXD_TRY(lookup_all(scope, proto->output, proto->n_output, node->outputs));
    node->input_count = (uint32_t)proto->n_input;
    node->output_count = (uint32_t)proto->n_output;
    if (function != NULL)
        return onnxd_loader_call(scope, function, proto, node);
    return read_operator(scope, proto, node);
}

/* A node of a function is told apart from its twins in other calls. */
static onnxd_status *name_node(const onnxd_scope *scope, const Onnx__NodeProto *proto,
                               char **out_name)
{
    const char *prefix = scope->call == NULL ? "" : scope->call->prefix;
    const char *name = text_of(proto->name);
    size_t bytes = name[0] == '\0' ? 1 : strlen(prefix) + strlen(name) + 1;
    *out_name = onnxd_alloc(bytes);
    if (*out_name == NULL)
        return onnxd_error_out_of_memory("name of a node", bytes, UINT64_MAX);
    (void)snprintf(*out_name, bytes, "%s%s", name[0] == '\0' ? "" : prefix, name);
    return NULL;
}

onnxd_status *onnxd_loader_node(onnxd_scope *scope, // NOLINT(misc-no-recursion)
                                const Onnx__NodeProto *proto, size_t index)
{
    onnxd_node node = {0};
    char *name = NULL;
    onnxd_status *status = name_node(scope, proto, &name);
    node.inputs = onnxd_alloc_zero(proto->n_input + 1, sizeof(*node.inputs));
    node.outputs = onnxd_alloc_zero(proto->n_output + 1, sizeof(*node.outputs));
    node.attributes = onnxd_alloc_zero(proto->n_attribute + 1, sizeof(*node.attributes));
    if (status == NULL && (node.inputs == NULL || node.outputs == NULL || node.attributes == NULL))
        status = onnxd_error_out_of_memory("node", proto->n_attribute * sizeof(*node.attributes),
                                           UINT64_MAX);
    if (status == NULL)
        status = read_node(scope, proto, name, &node);
    if (status != NULL) {
        char label[ONNXD_NODE_LABEL];
        status =
            onnxd_status_context(status, "%s", proto_label(proto, index, label, sizeof(label)));
        onnxd_node_release_attributes(&node);
    }
    onnxd_free(name);
    onnxd_free(node.inputs);
    onnxd_free(node.outputs);
    onnxd_free(node.attributes);
    return status;
}

static onnxd_status *reserve(onnxd_graph *graph, const Onnx__GraphProto *proto)
{
    size_t values = proto->n_input + proto->n_initializer + proto->n_sparse_initializer;
    for (size_t n = 0; n < proto->n_node; n++)
        values += proto->node[n]->n_output;
    return onnxd_graph_reserve(graph, values, proto->n_node);
}

static onnxd_status *convert(onnxd_scope *scope, const Onnx__GraphProto *proto)
{
    ONNXD_TRY(reserve(scope->graph, proto));
    ONNXD_TRY(define_inputs(scope, proto));
    ONNXD_TRY(define_initializers(scope, proto));
    ONNXD_TRY(define_node_outputs(scope, proto));
    ONNXD_TRY(set_signature_inputs(scope, proto));
    ONNXD_TRY(read_value_infos(scope, proto));
    for (size_t n = 0; n < proto->n_node; n++)
        ONNXD_TRY(onnxd_loader_node(scope, proto->node[n], n));
    return read_outputs(scope, proto);
}

static onnxd_status *resolve_known(const onnxd_loader *loader, onnxd_graph *graph)
{
    for (uint32_t n = 0; n < graph->node_count && loader->registry != NULL; n++) {
        onnxd_node *node = &graph->nodes[n];
        if (onnxd_op_find(loader->registry, node->domain, node->op_type, node->opset) == NULL)
            continue;
        onnxd_status *status = onnxd_op_resolve(loader->registry, graph, node);
        if (status != NULL)
            return node->name[0] == '\0' ? onnxd_node_context(graph, node, status) : status;
    }
    return NULL;
}

static onnxd_status *create_graph(onnxd_loader *loader, const Onnx__GraphProto *proto,
                                  onnxd_scope *parent, onnxd_graph **out_graph)
{
    onnxd_graph *graph = NULL;
    ONNXD_TRY(onnxd_graph_create((size_t)loader->graph_bytes_left, &graph));
    const char *name = text_of(proto->name);
    char *copy = onnxd_arena_strndup(&graph->arena, name, strlen(name));
    if (copy == NULL) {
        onnxd_graph_destroy(graph);
        return onnxd_error_out_of_memory("graph arena", strlen(name), loader->graph_bytes_left);
    }
    graph->name = copy;
    if (parent != NULL) {
        /* The root outlives its subgraphs, so they share its imports. */
        graph->parent = parent->graph;
        graph->opsets = loader->root->opsets;
        graph->opset_count = loader->root->opset_count;
        graph->ir_version = loader->root->ir_version;
    } else {
        loader->root = graph;
    }
    *out_graph = graph;
    return NULL;
}

/* What a subgraph's arena took, neither its siblings nor the outermost graph can take. */
static void charge_subgraph(onnxd_loader *loader, const onnxd_graph *graph)
{
    uint64_t used = graph->arena.used_bytes + sizeof(*graph);
    onnxd_arena *root = &loader->root->arena;
    loader->graph_bytes_left -= used < loader->graph_bytes_left ? used : loader->graph_bytes_left;
    if (root->max_bytes > loader->graph_bytes_left)
        root->max_bytes = (size_t)loader->graph_bytes_left;
    if (root->max_bytes < root->used_bytes)
        root->max_bytes = root->used_bytes;
}

/* Functions bring subgraphs that the scan of the file could not count. */
static onnxd_status *check_subgraph(onnxd_loader *loader, const Onnx__GraphProto *proto,
                                    const onnxd_scope *parent)
{
    if (parent == NULL)
        return NULL;
    if (parent->depth >= loader->limits->max_subgraph_depth)
        return onnxd_error(ONNXD_INVALID_ARGUMENT, "more than %" PRIu32 " levels of subgraphs",
                           loader->limits->max_subgraph_depth);
    if (loader->subgraph_count++ >= ONNXD_PRESCAN_MAX_SUBGRAPHS)
        return onnxd_error(ONNXD_INVALID_ARGUMENT, "more than %d subgraphs",
                           ONNXD_PRESCAN_MAX_SUBGRAPHS);
    /* Each call reads it again, also where it is given to the call as an attribute. */
    if (loader->open_calls > 0)
        return onnxd_loader_charge_names(loader,
                                         (uint64_t)proto->n_input + proto->n_output +
                                             proto->n_value_info + proto->n_initializer +
                                             proto->n_sparse_initializer,
                                         proto->node, proto->n_node);
    return NULL;
}

onnxd_status *onnxd_loader_graph(onnxd_loader *loader, Onnx__GraphProto *proto, onnxd_scope *parent,
                                 onnxd_graph **out_graph)
{
    onnxd_graph *graph = NULL;
    ONNXD_TRY(check_subgraph(loader, proto, parent));
    ONNXD_TRY(create_graph(loader, proto, parent, &graph));
    onnxd_scope scope = {.loader = loader, .graph = graph, .parent = parent, .home = &scope};
    if (parent != NULL) {
        scope.call = parent->call;
        scope.depth = parent->depth + 1;
    }
    onnxd_name_map_init(&scope.names);
    onnxd_name_map_init(&scope.generated);
    onnxd_name_map_init(&scope.symbols);
    onnxd_status *status = NULL;
    if (parent == NULL)
        status = onnxd_loader_imports(loader, graph);
    if (status == NULL)
        status = convert(&scope, proto);
    if (status == NULL)
        status = onnxd_loader_set_captures(&scope);
    if (status == NULL)
        status = onnxd_graph_compact(graph);
    if (status == NULL)
        status = onnxd_graph_verify(graph);
    if (status == NULL)
        status = resolve_known(loader, graph);
    onnxd_name_map_deinit(&scope.names);
    onnxd_name_map_deinit(&scope.generated);
    onnxd_name_map_deinit(&scope.symbols);
    onnxd_free(scope.captures);
    if (status == NULL) {
        if (parent != NULL)
            charge_subgraph(loader, graph);
        *out_graph = graph;
    } else {
        onnxd_graph_destroy(graph);
    }
    return status;
}
