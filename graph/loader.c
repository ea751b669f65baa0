#include "graph/loader.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/path.h"
#include "graph/internal.h"
#include "graph/loader_internal.h"

#define MIN_IR_VERSION 3
#define MAX_SPARSE_DENSE_BYTES ((uint64_t)64 << 20)

onnxd_load_limits onnxd_load_limits_default(void)
{
    return (onnxd_load_limits){
        .max_file_bytes = INT32_MAX,
        .max_external_bytes = (uint64_t)16 << 30,
        .max_depth = ONNXD_PRESCAN_MAX_DEPTH,
        .max_subgraph_depth = 32,
        .max_nodes = 1000000,
        .max_initializers = 1000000,
        .max_attributes_per_node = 256,
        .max_name_bytes = 4096,
        .max_graph_bytes = (uint64_t)1 << 30,
    };
}

static onnxd_status *check_versions(const Onnx__ModelProto *model)
{
    if (model->ir_version > ONNXD_IR_VERSION_MAX)
        return onnxd_error(ONNXD_UNIMPLEMENTED, "ir version %" PRId64 ", at most %d is supported",
                           model->ir_version, ONNXD_IR_VERSION_MAX);
    if (model->ir_version < MIN_IR_VERSION)
        return onnxd_error(ONNXD_INVALID_ARGUMENT, "ir version %" PRId64 ", allowed are %d to %d",
                           model->ir_version, MIN_IR_VERSION, ONNXD_IR_VERSION_MAX);
    if (model->graph == NULL)
        return onnxd_error(ONNXD_INVALID_ARGUMENT, "the model has no graph");
    if (model->n_opset_import == 0)
        return onnxd_error(ONNXD_INVALID_ARGUMENT, "the model imports no operator set");
    return NULL;
}

const char *onnxd_loader_domain(const char *domain)
{
    return domain == NULL || strcmp(domain, "ai.onnx") == 0 ? "" : domain;
}

onnxd_status *onnxd_loader_check_import(const Onnx__OperatorSetIdProto *proto)
{
    char text[ONNXD_NAME_TEXT];
    const char *domain = onnxd_loader_domain(proto->domain);
    onnxd_name_text(domain[0] == '\0' ? "ai.onnx" : domain, text, sizeof(text));
    if (proto->version < 1)
        return onnxd_error(ONNXD_INVALID_ARGUMENT,
                           "opset import %" PRId64 " of domain '%s', it must be at least 1",
                           proto->version, text);
    if (strcmp(domain, ONNXD_INTERNAL_DOMAIN) == 0)
        return onnxd_error(ONNXD_INVALID_ARGUMENT,
                           "opset import of domain '%s', which is reserved for graph passes", text);
    if (domain[0] == '\0' && proto->version > ONNXD_OPSET_MAX)
        return onnxd_error(ONNXD_UNIMPLEMENTED,
                           "opset %" PRId64 " of domain 'ai.onnx', at most %d is supported",
                           proto->version, ONNXD_OPSET_MAX);
    return NULL;
}

onnxd_status *onnxd_loader_same_import(const Onnx__OperatorSetIdProto *proto, int64_t version)
{
    if (proto->version == version)
        return NULL;
    char text[ONNXD_NAME_TEXT];
    const char *domain = onnxd_loader_domain(proto->domain);
    return onnxd_error(ONNXD_INVALID_ARGUMENT,
                       "domain '%s' is imported twice, as version %" PRId64 " and as %" PRId64,
                       domain[0] == '\0' ? "ai.onnx" : onnxd_name_text(domain, text, sizeof(text)),
                       version, proto->version);
}

static onnxd_status *copy_import(onnxd_graph *graph, const Onnx__OperatorSetIdProto *proto)
{
    const char *domain = onnxd_loader_domain(proto->domain);
    int64_t version = onnxd_graph_opset(graph, domain);
    if (version != 0)
        return onnxd_loader_same_import(proto, version);
    char *copy = onnxd_arena_strndup(&graph->arena, domain, strlen(domain));
    if (copy == NULL)
        return onnxd_error_out_of_memory("graph arena", strlen(domain), graph->arena.max_bytes);
    graph->opsets[graph->opset_count++] =
        (onnxd_opset_import){.domain = copy, .version = proto->version};
    return NULL;
}

onnxd_status *onnxd_loader_imports(const onnxd_loader *loader, onnxd_graph *graph)
{
    const Onnx__ModelProto *model = loader->model;
    graph->ir_version = model->ir_version;
    if (model->n_opset_import > ONNXD_LOADER_MAX_IMPORTS)
        return onnxd_error(ONNXD_INVALID_ARGUMENT, "%zu opset imports, at most %d are allowed",
                           model->n_opset_import, ONNXD_LOADER_MAX_IMPORTS);
    void *memory = NULL;
    ONNXD_TRY(onnxd_graph_alloc(graph, model->n_opset_import, sizeof(onnxd_opset_import), &memory));
    graph->opsets = memory;
    for (size_t i = 0; i < model->n_opset_import; i++) {
        ONNXD_TRY(onnxd_loader_check_import(model->opset_import[i]));
        ONNXD_TRY(copy_import(graph, model->opset_import[i]));
    }
    if (model->producer_name == NULL)
        return NULL;
    char *producer =
        onnxd_arena_strndup(&graph->arena, model->producer_name, strlen(model->producer_name));
    if (producer == NULL)
        return onnxd_error_out_of_memory("graph arena", strlen(model->producer_name),
                                         graph->arena.max_bytes);
    graph->producer_name = producer;
    return NULL;
}

void onnxd_loader_init(onnxd_loader *loader, const char *directory,
                       const onnxd_op_registry *registry, const onnxd_load_limits *limits)
{
    *loader = (onnxd_loader){
        .limits = limits,
        .registry = registry,
        .directory = directory,
        .graph_bytes_left = limits->max_graph_bytes,
        .sparse_bytes_left = MAX_SPARSE_DENSE_BYTES,
        .external_bytes_left = limits->max_external_bytes,
    };
    onnxd_arena_init(&loader->keys, 4096, (size_t)limits->max_graph_bytes);
    onnxd_name_map_init(&loader->functions);
    onnxd_name_map_init(&loader->shared);
    onnxd_name_map_init(&loader->locations);
}

void onnxd_loader_deinit(onnxd_loader *loader)
{
    onnxd_loader_close_file(loader);
    onnxd_name_map_deinit(&loader->functions);
    onnxd_name_map_deinit(&loader->shared);
    onnxd_name_map_deinit(&loader->locations);
    for (uint32_t i = 0; i < loader->shared_count; i++)
        onnxd_tensor_release(loader->shared_tensors[i]);
    onnxd_free(loader->shared_tensors);
    onnxd_arena_deinit(&loader->keys);
}

static onnxd_status *convert_model(onnxd_loader *loader, onnxd_graph **out_graph)
{
    ONNXD_TRY(check_versions(loader->model));
    ONNXD_TRY(onnxd_loader_functions(loader));
    return onnxd_loader_graph(loader, loader->model->graph, NULL, out_graph);
}

/* Ends the message. */
static onnxd_status *load_message(ProtobufCMessage *message, onnxd_proto_memory *memory,
                                  const char *directory, const onnxd_op_registry *registry,
                                  const onnxd_load_limits *limits, onnxd_graph **out_graph)
{
    onnxd_loader loader;
    onnxd_loader_init(&loader, directory, registry, limits);
    loader.model = (Onnx__ModelProto *)message;
    onnxd_status *status = convert_model(&loader, out_graph);
    onnxd_loader_deinit(&loader);
    protobuf_c_message_free_unpacked(message, &memory->allocator);
    return status;
}

onnxd_status *onnxd_graph_load_memory(const void *data, size_t size, const char *directory,
                                      const onnxd_op_registry *registry,
                                      const onnxd_load_limits *limits, onnxd_graph **out_graph)
{
    if (size > limits->max_file_bytes)
        return onnxd_error(ONNXD_INVALID_ARGUMENT,
                           "the model has %zu bytes, at most %" PRIu64 " are allowed", size,
                           limits->max_file_bytes);
    onnxd_proto_memory memory;
    ProtobufCMessage *message = NULL;
    ONNXD_TRY(onnxd_proto_unpack(data, size, ONNXD_PRESCAN_MODEL, limits, &memory, &message));
    return load_message(message, &memory, directory, registry, limits, out_graph);
}

onnxd_status *onnxd_loader_unpack_file(const char *path, onnxd_prescan_root root,
                                       const onnxd_load_limits *limits, onnxd_proto_memory *memory,
                                       ProtobufCMessage **out_message)
{
    onnxd_file file = {0};
    ONNXD_TRY(onnxd_file_open(NULL, path, limits->max_file_bytes, &file));
    onnxd_status *status =
        onnxd_proto_unpack(file.data, file.size, root, limits, memory, out_message);
    onnxd_file_close(&file);
    return status;
}

/* The directory part of `path`. */
static onnxd_status *directory_of(const char *path, char **out_directory)
{
    const char *slash = strrchr(path, '/');
    size_t length = slash == NULL ? 0 : (size_t)(slash - path);
    char *directory =
        slash == NULL ? onnxd_strdup(".") : onnxd_strndup(path, length == 0 ? 1 : length);
    if (directory == NULL)
        return onnxd_error_out_of_memory("path", length + 1, UINT64_MAX);
    *out_directory = directory;
    return NULL;
}

onnxd_status *onnxd_graph_load_file(const char *path, const onnxd_op_registry *registry,
                                    const onnxd_load_limits *limits, onnxd_graph **out_graph)
{
    onnxd_proto_memory memory;
    ProtobufCMessage *message = NULL;
    char *directory = NULL;
    ONNXD_TRY(directory_of(path, &directory));
    onnxd_status *status =
        onnxd_loader_unpack_file(path, ONNXD_PRESCAN_MODEL, limits, &memory, &message);
    if (status == NULL)
        status = load_message(message, &memory, directory, registry, limits, out_graph);
    onnxd_free(directory);
    return status;
}

onnxd_status *onnxd_tensor_load_file(const char *path, const onnxd_load_limits *limits,
                                     onnxd_tensor **out_tensor)
{
    onnxd_proto_memory memory;
    ProtobufCMessage *message = NULL;
    ONNXD_TRY(onnxd_loader_unpack_file(path, ONNXD_PRESCAN_TENSOR, limits, &memory, &message));
    onnxd_loader loader;
    onnxd_loader_init(&loader, NULL, NULL, limits);
    onnxd_status *status = onnxd_loader_tensor(&loader, (Onnx__TensorProto *)message, out_tensor);
    onnxd_loader_deinit(&loader);
    protobuf_c_message_free_unpacked(message, &memory.allocator);
    return status;
}
