/*
 * Shared between the loader's files. Together they are the only users of protobuf.
 */
#ifndef ONNXD_GRAPH_LOADER_INTERNAL_H
#define ONNXD_GRAPH_LOADER_INTERNAL_H

#include "onnx.pb-c.h"

#include "base/path.h"
#include "graph/loader.h"
#include "graph/name_map.h"
#include "graph/prescan.h"

/*
 * Memory of unpacked messages, within the budget that the prescan computed. Zeroed, since
 * protobuf-c frees some pointers that it has not set when it fails half-way. Blocks of 4 KiB and
 * more are 64-byte aligned, so that weights can be used where protobuf-c put them.
 */
typedef struct onnxd_proto_memory {
    ProtobufCAllocator allocator;
    uint64_t left_bytes;
    bool is_exhausted;
} onnxd_proto_memory;

void onnxd_proto_memory_init(onnxd_proto_memory *memory, uint64_t budget_bytes);
/* Ends a block that was taken out of a message; of the type of onnxd_tensor.release. */
void onnxd_proto_release(void *owner, void *data);
/* Prescans and unpacks; the result is freed with protobuf_c_message_free_unpacked(). */
ONNXD_NODISCARD onnxd_status *onnxd_proto_unpack(const void *data, size_t size,
                                                 onnxd_prescan_root root,
                                                 const onnxd_load_limits *limits,
                                                 onnxd_proto_memory *memory,
                                                 ProtobufCMessage **out_message);

/* One load under way. */
typedef struct onnxd_loader {
    const onnxd_load_limits *limits;
    const onnxd_op_registry *registry;
    const char *directory;        /* of external data; NULL refuses it */
    char *location;               /* of `file`; NULL when none is open */
    onnxd_file_reader file;       /* the external file of the latest tensor that has one */
    onnxd_name_map locations;     /* of all external files, to indices into the root's list */
    uint64_t graph_bytes_left;    /* arenas of all graphs together */
    uint64_t sparse_bytes_left;   /* sparse tensors made dense, together */
    uint64_t external_bytes_left; /* external tensors, together */
    Onnx__ModelProto *model;
    onnxd_graph *root;        /* for the opset imports */
    onnxd_name_map functions; /* "domain:name" of model-local functions */
    onnxd_arena keys;         /* of `functions` */
} onnxd_loader;

/* The static shape `dims`. Errors: INVALID_ARGUMENT for a bad rank or dimension. */
ONNXD_NODISCARD onnxd_status *onnxd_loader_shape(size_t count, const int64_t *dims,
                                                 onnxd_shape *out_shape);
/* Each byte is 0 or 1. */
ONNXD_NODISCARD onnxd_status *onnxd_loader_check_bools(const uint8_t *data, size_t count);
/* Takes raw data out of `proto` where it can. */
ONNXD_NODISCARD onnxd_status *onnxd_loader_tensor(onnxd_loader *loader, Onnx__TensorProto *proto,
                                                  onnxd_tensor **out_tensor);
ONNXD_NODISCARD onnxd_status *onnxd_loader_sparse(onnxd_loader *loader,
                                                  Onnx__SparseTensorProto *proto,
                                                  onnxd_tensor **out_tensor);
/* The external data of a tensor of this type; `bytes` is its exact size. */
ONNXD_NODISCARD onnxd_status *onnxd_loader_external(onnxd_loader *loader,
                                                    const Onnx__TensorProto *proto,
                                                    onnxd_dtype dtype, const onnxd_shape *shape,
                                                    size_t bytes, onnxd_tensor **out_tensor);
/* Closes the external file that is open, if any. */
void onnxd_loader_close_file(onnxd_loader *loader);

/* The scope of one graph while it is converted: names to values, and the scopes around it. */
typedef struct onnxd_scope {
    onnxd_loader *loader;
    onnxd_graph *graph;
    onnxd_name_map names;
    onnxd_name_map symbols;
    struct onnxd_scope *parent;
    /* What the graph uses from around it; `input` is a value of the parent's graph until the node
     * that owns the graph is complete. */
    onnxd_capture *captures;
    uint32_t capture_count, capture_capacity;
} onnxd_scope;

/* The value called `name` as the scope sees it: its own, or one that stands for an outer one, which
 * then is captured by every graph between. */
ONNXD_NODISCARD onnxd_status *onnxd_loader_lookup(onnxd_scope *scope, const char *name,
                                                  onnxd_value_id *out_value);
/* Appends what the node's subgraphs capture to its inputs, an array of onnxd_alloc's. */
ONNXD_NODISCARD onnxd_status *onnxd_loader_captures(onnxd_node *node);
/* The scope's captures become those of its graph. */
ONNXD_NODISCARD onnxd_status *onnxd_loader_set_captures(const onnxd_scope *scope);
/* Adds a value whose name nothing in the scope has yet. `what` is for the message. */
ONNXD_NODISCARD onnxd_status *onnxd_loader_define(onnxd_scope *scope, const char *name,
                                                  const char *what, onnxd_value_id *out_value);

ONNXD_NODISCARD onnxd_status *onnxd_loader_type(onnxd_scope *scope, const Onnx__TypeProto *proto,
                                                onnxd_tensor_type *out_type);
/* Appends the attributes to `node`, whose array has room for them, with payloads in the scope's
 * graph. After a failure the caller releases those that were appended. */
ONNXD_NODISCARD onnxd_status *onnxd_loader_attributes(onnxd_scope *scope,
                                                      Onnx__AttributeProto *const *protos,
                                                      size_t count, onnxd_node *node);
/* The model's IR version, producer and opset imports into the outermost graph. */
ONNXD_NODISCARD onnxd_status *onnxd_loader_imports(const onnxd_loader *loader, onnxd_graph *graph);
/* Converts a graph; `parent` is the scope around a subgraph, or NULL. */
ONNXD_NODISCARD onnxd_status *onnxd_loader_graph(onnxd_loader *loader, Onnx__GraphProto *proto,
                                                 onnxd_scope *parent, onnxd_graph **out_graph);

#endif
