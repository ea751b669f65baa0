/*
 * Shared between the loader's files. Together they are the only users of protobuf.
 */
#ifndef ONNXD_GRAPH_LOADER_INTERNAL_H
#define ONNXD_GRAPH_LOADER_INTERNAL_H

#include "onnx_data.pb-c.h"

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
/* What protobuf calls the root. */
const ProtobufCMessageDescriptor *onnxd_prescan_message(onnxd_prescan_root root);
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
    onnxd_name_map functions; /* keys of model-local functions, to indices into the model's list */
    onnxd_arena keys;         /* of `functions` and `shared` */
    /* Tensors of functions, which every call reads anew: the address of the message as a key, to
     * indices into shared_tensors. */
    onnxd_name_map shared;
    onnxd_tensor **shared_tensors;
    uint32_t shared_count, shared_capacity;
    uint32_t open_calls;     /* of functions, nested */
    uint32_t call_count;     /* all so far */
    uint32_t node_count;     /* converted so far, calls of functions included */
    uint32_t subgraph_count; /* converted so far */
    uint64_t expanded_names; /* inputs, outputs and declarations of the functions called so far and
                              * of the subgraphs in them */
} onnxd_loader;

/* `directory` is where external data may lie, NULL to refuse it; `registry` is NULL where no nodes
 * are read. */
void onnxd_loader_init(onnxd_loader *loader, const char *directory,
                       const onnxd_op_registry *registry, const onnxd_load_limits *limits);
void onnxd_loader_deinit(onnxd_loader *loader);
/* Scans and unpacks one copy of the file, which is gone before anything is made of the message. */
ONNXD_NODISCARD onnxd_status *onnxd_loader_unpack_file(const char *path, onnxd_prescan_root root,
                                                       const onnxd_load_limits *limits,
                                                       onnxd_proto_memory *memory,
                                                       ProtobufCMessage **out_message);

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

/* The scope of one graph while it is converted, or of one call of a function within it: names to
 * values, and the scopes around it. What a call makes belongs to the graph of the caller. */
typedef struct onnxd_call onnxd_call;
typedef struct onnxd_scope {
    onnxd_loader *loader;
    onnxd_graph *graph;
    onnxd_name_map names; /* to values, or ONNXD_LOADER_ABSENT */
    onnxd_name_map symbols;
    struct onnxd_scope *parent; /* NULL also of a call: functions see nothing around them */
    struct onnxd_scope *home;   /* the scope of the graph itself */
    onnxd_call *call;           /* the innermost call, NULL outside of functions */
    onnxd_name_map generated;   /* names in the graph that no model wrote */
    uint32_t depth;             /* graphs around this one */
    /* What the graph uses from around it; `input` is a value of the parent's graph until the node
     * that owns the graph is complete. */
    onnxd_capture *captures;
    uint32_t capture_count, capture_capacity;
} onnxd_scope;

/* What the name of a function's input stands for that the call leaves out. */
#define ONNXD_LOADER_ABSENT (ONNXD_NONE - 1)

/* What a function's attribute is in one call. */
typedef struct onnxd_binding {
    const char *name;
    Onnx__AttributeProto *proto; /* no reference */
    onnxd_scope *scope;          /* where its graph, if it is one, finds names */
} onnxd_binding;

/* One call of a function under way. */
struct onnxd_call {
    const Onnx__FunctionProto *function;
    onnxd_call *caller; /* around this one, or NULL */
    char *prefix;       /* of the names of what it makes */
    onnxd_binding *bindings;
    uint32_t binding_count;
    uint32_t depth; /* calls around this one */
};

/* Checks the model's functions and makes them known by name. */
ONNXD_NODISCARD onnxd_status *onnxd_loader_functions(onnxd_loader *loader);
/* The function that a node calls, or NULL. `domain` is normalised. ONNX leaves open which of an
 * operator and a function of its name is meant; as in ONNX Runtime it is the operator, where this
 * build has it. */
ONNXD_NODISCARD onnxd_status *onnxd_loader_find_function(const onnxd_scope *scope,
                                                         const Onnx__NodeProto *proto,
                                                         const char *domain,
                                                         const Onnx__FunctionProto **out_function);
/* Puts the function's nodes in place of the call `proto`, whose inputs and outputs `node` has. */
ONNXD_NODISCARD onnxd_status *onnxd_loader_call(onnxd_scope *scope,
                                                const Onnx__FunctionProto *function,
                                                const Onnx__NodeProto *proto,
                                                const onnxd_node *node);
/* Counts `names` and those of the nodes as read once more by a call. INVALID_ARGUMENT when all
 * calls together read too many. */
ONNXD_NODISCARD onnxd_status *onnxd_loader_charge_names(onnxd_loader *loader, uint64_t names,
                                                        Onnx__NodeProto *const *nodes,
                                                        size_t node_count);
/* What `name` refers to in the innermost call: the caller's attribute or the function's default.
 * proto NULL: neither; the attribute that refers to it is then absent too. */
onnxd_binding onnxd_loader_binding(onnxd_scope *scope, const char *name);
/* 0 when neither the innermost function nor, outside of functions, the model imports the domain. */
int64_t onnxd_loader_opset(const onnxd_scope *scope, const char *domain);
/* Opset imports of a model or a function. */
#define ONNXD_LOADER_MAX_IMPORTS 256
/* "" for ai.onnx. */
const char *onnxd_loader_domain(const char *domain);
/* Errors: INVALID_ARGUMENT, UNIMPLEMENTED for a version that is too new. */
ONNXD_NODISCARD onnxd_status *onnxd_loader_check_import(const Onnx__OperatorSetIdProto *proto);
/* Some exporters list an import more than once. INVALID_ARGUMENT unless it has this version. */
ONNXD_NODISCARD onnxd_status *onnxd_loader_same_import(const Onnx__OperatorSetIdProto *proto,
                                                       int64_t version);

/* As onnxd_loader_tensor() and onnxd_loader_sparse(), for messages that a function may be made of:
 * the same tensor each time. */
ONNXD_NODISCARD onnxd_status *onnxd_loader_shared_tensor(onnxd_loader *loader,
                                                         Onnx__TensorProto *proto,
                                                         onnxd_tensor **out_tensor);
ONNXD_NODISCARD onnxd_status *onnxd_loader_shared_sparse(onnxd_loader *loader,
                                                         Onnx__SparseTensorProto *proto,
                                                         onnxd_tensor **out_tensor);

/* Converts a node or a call. `index` is its place, for messages. */
ONNXD_NODISCARD onnxd_status *onnxd_loader_node(onnxd_scope *scope, const Onnx__NodeProto *proto,
                                                size_t index);
/* The type that `proto` declares for `value`, if any. */
ONNXD_NODISCARD onnxd_status *onnxd_loader_value_type(onnxd_scope *scope,
                                                      const Onnx__ValueInfoProto *proto,
                                                      onnxd_value_id value);
/* Adds a value of a call to the graph, under a name that is made of the call's prefix and `name`;
 * the scope does not learn it. */
ONNXD_NODISCARD onnxd_status *onnxd_loader_generate(onnxd_scope *scope, const char *name,
                                                    onnxd_value_id *out_value);

/* The value called `name` as the scope sees it: its own, or one that stands for an outer one, which
 * then is captured by every graph between. ONNXD_NONE for an input of a function that the call
 * leaves out. */
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
