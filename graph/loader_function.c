/*
 * Model-local functions. A node that calls one is replaced by the function's nodes: the names of
 * inputs and outputs stand for the caller's values, every other name for a value of its own, and
 * references to attributes for what the caller gives or the function's default. Functions may call
 * functions, never themselves. Nodes, subgraphs and names are counted for each call, so that a few
 * functions that call each other twice do not describe a graph without end.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "graph/internal.h"
#include "graph/loader_internal.h"

#define MAX_CALL_DEPTH 32
/* Inputs, outputs and declared types of all calls, and of the subgraphs in them, together. */
#define MAX_EXPANDED_NAMES ((uint64_t)1 << 23)

static const char *text_of(const char *text)
{
    return text == NULL ? "" : text;
}

/* What tells functions apart; no name from a file is likely to hold the separator. */
static char *make_key(const char *domain, const char *name, const char *overload)
{
    size_t bytes = strlen(domain) + strlen(name) + strlen(overload) + 3;
    char *key = onnxd_alloc(bytes);
    if (key != NULL)
        (void)snprintf(key, bytes, "%s\x1f%s\x1f%s", domain, name, overload);
    return key;
}

static onnxd_status *check_imports(const Onnx__FunctionProto *function)
{
    if (function->n_opset_import > ONNXD_LOADER_MAX_IMPORTS)
        return onnxd_error(ONNXD_INVALID_ARGUMENT, "%zu opset imports, at most %d are allowed",
                           function->n_opset_import, ONNXD_LOADER_MAX_IMPORTS);
    for (size_t i = 0; i < function->n_opset_import; i++) {
        const char *domain = onnxd_loader_domain(function->opset_import[i]->domain);
        ONNXD_TRY(onnxd_loader_check_import(function->opset_import[i]));
        for (size_t other = 0; other < i; other++)
            if (strcmp(domain, onnxd_loader_domain(function->opset_import[other]->domain)) == 0)
                ONNXD_TRY(onnxd_loader_same_import(function->opset_import[i],
                                                   function->opset_import[other]->version));
    }
    return NULL;
}

static const char *default_name(const Onnx__FunctionProto *function, size_t index)
{
    return text_of(function->attribute_proto[index]->name);
}

static bool has_attribute(const Onnx__FunctionProto *function, const char *name)
{
    for (size_t i = 0; i < function->n_attribute; i++)
        if (strcmp(function->attribute[i], name) == 0)
            return true;
    for (size_t i = 0; i < function->n_attribute_proto; i++)
        if (strcmp(default_name(function, i), name) == 0)
            return true;
    return false;
}

static onnxd_status *check_function(const onnxd_loader *loader, const Onnx__FunctionProto *function)
{
    size_t attributes = function->n_attribute + function->n_attribute_proto;
    if (text_of(function->name)[0] == '\0')
        return onnxd_error(ONNXD_INVALID_ARGUMENT, "it has no name");
    if (attributes > loader->limits->max_attributes_per_node)
        return onnxd_error(ONNXD_INVALID_ARGUMENT,
                           "%zu attributes, at most %" PRIu32 " are allowed", attributes,
                           loader->limits->max_attributes_per_node);
    return check_imports(function);
}

static onnxd_status *add_function(onnxd_loader *loader, const Onnx__FunctionProto *function,
                                  uint32_t index)
{
    char *key = make_key(onnxd_loader_domain(function->domain), text_of(function->name),
                         text_of(function->overload));
    const char *copy = key == NULL ? NULL : onnxd_arena_strndup(&loader->keys, key, strlen(key));
    onnxd_free(key);
    if (copy == NULL)
        return onnxd_error_out_of_memory("names of functions", strlen(text_of(function->name)),
                                         loader->keys.max_bytes);
    uint32_t known;
    bool added;
    ONNXD_TRY(onnxd_name_map_add(&loader->functions, copy, index, &known, &added));
    if (!added)
        return onnxd_error(ONNXD_INVALID_ARGUMENT, "it is defined twice");
    return check_function(loader, function);
}

onnxd_status *onnxd_loader_functions(onnxd_loader *loader)
{
    const Onnx__ModelProto *model = loader->model;
    for (size_t i = 0; i < model->n_functions; i++) {
        char name[ONNXD_NAME_TEXT];
        onnxd_status *status = add_function(loader, model->functions[i], (uint32_t)i);
        if (status != NULL)
            return onnxd_status_context(
                status, "function '%s'",
                onnxd_name_text(text_of(model->functions[i]->name), name, sizeof(name)));
    }
    return NULL;
}

static bool is_operator(const onnxd_scope *scope, const char *domain, const char *op_type)
{
    int64_t opset = onnxd_loader_opset(scope, domain);
    return opset != 0 && scope->loader->registry != NULL &&
           onnxd_op_find(scope->loader->registry, domain, op_type, opset) != NULL;
}

onnxd_status *onnxd_loader_find_function(const onnxd_scope *scope, const Onnx__NodeProto *proto,
                                         const char *domain,
                                         const Onnx__FunctionProto **out_function)
{
    const onnxd_loader *loader = scope->loader;
    if (loader->functions.count == 0)
        return NULL;
    char *key = make_key(domain, text_of(proto->op_type), text_of(proto->overload));
    if (key == NULL)
        return onnxd_error_out_of_memory("name of a function", strlen(text_of(proto->op_type)),
                                         UINT64_MAX);
    uint32_t index = onnxd_name_map_find(&loader->functions, key);
    onnxd_free(key);
    if (index != UINT32_MAX && !is_operator(scope, domain, text_of(proto->op_type)))
        *out_function = loader->model->functions[index];
    return NULL;
}

int64_t onnxd_loader_opset(const onnxd_scope *scope, const char *domain)
{
    if (scope->call == NULL)
        return onnxd_graph_opset(scope->loader->root, domain);
    const Onnx__FunctionProto *function = scope->call->function;
    for (size_t i = 0; i < function->n_opset_import; i++)
        if (strcmp(onnxd_loader_domain(function->opset_import[i]->domain), domain) == 0)
            return function->opset_import[i]->version;
    return 0;
}

onnxd_binding onnxd_loader_binding(onnxd_scope *scope, const char *name)
{
    const onnxd_call *call = scope->call;
    for (uint32_t i = 0; i < call->binding_count; i++)
        if (strcmp(call->bindings[i].name, name) == 0)
            return call->bindings[i];
    for (size_t i = 0; i < call->function->n_attribute_proto; i++)
        if (strcmp(default_name(call->function, i), name) == 0)
            return (onnxd_binding){
                .name = name, .proto = call->function->attribute_proto[i], .scope = scope};
    return (onnxd_binding){.name = name};
}

/* The attribute of a call, which may itself refer to one of the function around the call. */
static onnxd_status *bind_attribute(onnxd_scope *caller, onnxd_call *call,
                                    Onnx__AttributeProto *proto)
{
    const char *name = text_of(proto->name);
    if (!has_attribute(call->function, name))
        return onnxd_error(ONNXD_INVALID_ARGUMENT, "the function has no such attribute");
    for (uint32_t i = 0; i < call->binding_count; i++)
        if (strcmp(call->bindings[i].name, name) == 0)
            return onnxd_error(ONNXD_INVALID_ARGUMENT, "occurs twice");
    onnxd_binding binding = {.name = name, .proto = proto, .scope = caller};
    if (text_of(proto->ref_attr_name)[0] != '\0') {
        if (caller->call == NULL)
            return onnxd_error(ONNXD_INVALID_ARGUMENT,
                               "a reference to a function's attribute, outside of a function");
        binding = onnxd_loader_binding(caller, proto->ref_attr_name);
        binding.name = name;
    }
    if (binding.proto != NULL)
        call->bindings[call->binding_count++] = binding;
    return NULL;
}

static onnxd_status *bind_attributes(onnxd_scope *caller, const Onnx__NodeProto *proto,
                                     onnxd_call *call)
{
    call->bindings = onnxd_alloc_zero(proto->n_attribute + 1, sizeof(*call->bindings));
    if (call->bindings == NULL)
        return onnxd_error_out_of_memory("attributes of a call", proto->n_attribute, UINT64_MAX);
    for (size_t i = 0; i < proto->n_attribute; i++) {
        onnxd_status *status = bind_attribute(caller, call, proto->attribute[i]);
        char name[ONNXD_NAME_TEXT];
        if (status != NULL)
            return onnxd_status_context(
                status, "attribute '%s'",
                onnxd_name_text(text_of(proto->attribute[i]->name), name, sizeof(name)));
    }
    return NULL;
}

onnxd_status *onnxd_loader_charge_names(onnxd_loader *loader, uint64_t names,
                                        Onnx__NodeProto *const *nodes, size_t node_count)
{
    loader->expanded_names += names;
    for (size_t n = 0; n < node_count; n++)
        loader->expanded_names += 1 + (uint64_t)nodes[n]->n_input + nodes[n]->n_output;
    if (loader->expanded_names > MAX_EXPANDED_NAMES)
        return onnxd_error(ONNXD_INVALID_ARGUMENT,
                           "the calls of functions have more than %" PRIu64
                           " inputs, outputs and values",
                           MAX_EXPANDED_NAMES);
    return NULL;
}

static onnxd_status *check_call(onnxd_scope *caller, const Onnx__FunctionProto *function,
                                const onnxd_node *node)
{
    for (const onnxd_call *call = caller->call; call != NULL; call = call->caller)
        if (call->function == function)
            return onnxd_error(ONNXD_INVALID_ARGUMENT, "the function calls itself");
    if (caller->call != NULL && caller->call->depth + 1 >= MAX_CALL_DEPTH)
        return onnxd_error(ONNXD_INVALID_ARGUMENT, "more than %d functions that call each other",
                           MAX_CALL_DEPTH);
    if (node->input_count > function->n_input || node->output_count > function->n_output)
        return onnxd_error(
            ONNXD_INVALID_ARGUMENT, "%u inputs and %u outputs, the function has %zu and %zu",
            node->input_count, node->output_count, function->n_input, function->n_output);
    return onnxd_loader_charge_names(
        caller->loader, function->n_input + function->n_output + function->n_value_info,
        function->node, function->n_node);
}

static onnxd_status *learn(onnxd_scope *scope, const char *name, onnxd_value_id value,
                           const char *what)
{
    uint32_t known;
    bool added = false;
    char text[ONNXD_NAME_TEXT];
    if (name[0] == '\0')
        return onnxd_error(ONNXD_INVALID_ARGUMENT, "%s of the function has no name", what);
    ONNXD_TRY(onnxd_name_map_add(&scope->names, name, value, &known, &added));
    if (added)
        return NULL;
    return onnxd_error(ONNXD_INVALID_ARGUMENT, "%s '%s' of the function is defined twice", what,
                       onnxd_name_text(name, text, sizeof(text)));
}

static onnxd_status *bind_inputs(onnxd_scope *scope, const onnxd_node *node)
{
    const Onnx__FunctionProto *function = scope->call->function;
    for (uint32_t i = 0; i < function->n_input; i++) {
        bool is_given = i < node->input_count && node->inputs[i] != ONNXD_NONE;
        ONNXD_TRY(learn(scope, function->input[i], is_given ? node->inputs[i] : ONNXD_LOADER_ABSENT,
                        "input"));
    }
    return NULL;
}

/* The caller's values by the names of the function's outputs; of one name the first. */
static onnxd_status *map_outputs(const onnxd_scope *scope, const onnxd_node *node,
                                 onnxd_name_map *targets)
{
    for (uint32_t i = 0; i < node->output_count; i++) {
        uint32_t known;
        bool added;
        if (node->outputs[i] != ONNXD_NONE)
            ONNXD_TRY(onnxd_name_map_add(targets, scope->call->function->output[i],
                                         node->outputs[i], &known, &added));
    }
    return NULL;
}

/* A name for every output of the function's nodes. */
static onnxd_status *define_values(onnxd_scope *scope, const onnxd_name_map *targets)
{
    const Onnx__FunctionProto *function = scope->call->function;
    for (size_t n = 0; n < function->n_node; n++) {
        for (size_t i = 0; i < function->node[n]->n_output; i++) {
            const char *name = function->node[n]->output[i];
            if (name[0] == '\0')
                continue;
            onnxd_value_id value = onnxd_name_map_find(targets, name);
            bool is_new = onnxd_name_map_find(&scope->names, name) == ONNXD_NONE;
            if (value == ONNXD_NONE && is_new)
                ONNXD_TRY(onnxd_loader_generate(scope, name, &value));
            ONNXD_TRY(learn(scope, name, value, "value"));
        }
    }
    return NULL;
}

/* `first` is the first value that the call has made; the others have the caller's types. */
static onnxd_status *read_types(onnxd_scope *scope, onnxd_value_id first)
{
    const Onnx__FunctionProto *function = scope->call->function;
    for (size_t i = 0; i < function->n_value_info; i++) {
        const char *name = text_of(function->value_info[i]->name);
        onnxd_value_id value = onnxd_name_map_find(&scope->names, name);
        if (value >= first && value < ONNXD_LOADER_ABSENT)
            ONNXD_TRY(onnxd_loader_value_type(scope, function->value_info[i], value));
    }
    return NULL;
}

/* Outputs that no node of the function makes for the caller: inputs, and those listed twice. */
static onnxd_status *finish_outputs(onnxd_scope *scope, const onnxd_node *node)
{
    const Onnx__FunctionProto *function = scope->call->function;
    for (uint32_t i = 0; i < node->output_count; i++) {
        if (node->outputs[i] == ONNXD_NONE)
            continue;
        char text[ONNXD_NAME_TEXT];
        onnxd_node_id id;
        onnxd_value_id value = onnxd_name_map_find(&scope->names, function->output[i]);
        if (value == ONNXD_NONE || value == ONNXD_LOADER_ABSENT)
            return onnxd_error(ONNXD_INVALID_ARGUMENT,
                               "output '%s' of the function is produced by nothing",
                               onnxd_name_text(function->output[i], text, sizeof(text)));
        if (value != node->outputs[i])
            ONNXD_TRY(onnxd_graph_add_identity(scope->graph, value, node->outputs[i], &id));
    }
    return NULL;
}

static onnxd_status *convert_body(onnxd_scope *scope,
                                  const onnxd_node *node, // NOLINT(misc-no-recursion)
                                  onnxd_name_map *targets)
{
    const Onnx__FunctionProto *function = scope->call->function;
    const onnxd_value_id first = scope->graph->value_count;
    ONNXD_TRY(bind_inputs(scope, node));
    ONNXD_TRY(map_outputs(scope, node, targets));
    ONNXD_TRY(define_values(scope, targets));
    ONNXD_TRY(read_types(scope, first));
    for (size_t n = 0; n < function->n_node; n++)
        ONNXD_TRY(onnxd_loader_node(scope, function->node[n], n));
    return finish_outputs(scope, node);
}

/* "f.3/" for the third call. */
static onnxd_status *make_prefix(onnxd_loader *loader, onnxd_call *call)
{
    const char *name = text_of(call->function->name);
    size_t bytes = strlen(name) + sizeof(".4294967295/");
    call->prefix = onnxd_alloc(bytes);
    if (call->prefix == NULL)
        return onnxd_error_out_of_memory("name of a call", bytes, UINT64_MAX);
    loader->call_count++;
    (void)snprintf(call->prefix, bytes, "%s.%" PRIu32 "/", name, loader->call_count);
    return NULL;
}

onnxd_status *onnxd_loader_call(onnxd_scope *caller, // NOLINT(misc-no-recursion)
                                const Onnx__FunctionProto *function, const Onnx__NodeProto *proto,
                                const onnxd_node *node)
{
    onnxd_call call = {.function = function, .caller = caller->call};
    if (caller->call != NULL)
        call.depth = caller->call->depth + 1;
    onnxd_scope scope = {.loader = caller->loader,
                         .graph = caller->graph,
                         .home = caller->home,
                         .call = &call,
                         .depth = caller->depth};
    onnxd_name_map targets;
    onnxd_name_map_init(&targets);
    onnxd_name_map_init(&scope.names);
    caller->loader->open_calls++;
    onnxd_status *status = check_call(caller, function, node);
    if (status == NULL)
        status = make_prefix(caller->loader, &call);
    if (status == NULL)
        status = bind_attributes(caller, proto, &call);
    if (status == NULL)
        status = convert_body(&scope, node, &targets);
    caller->loader->open_calls--;
    onnxd_name_map_deinit(&targets);
    onnxd_name_map_deinit(&scope.names);
    onnxd_free(call.bindings);
    onnxd_free(call.prefix);
    return status;
}
