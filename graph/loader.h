/*
 * ONNX file to graph. Two passes: an iterative, allocation-free scan of the protobuf wire format
 * that enforces every limit (depth, counts, lengths, heap estimate), then protobuf-c under a
 * budgeted allocator, then conversion. The only user of protobuf in the daemon.
 *
 * Files are read, never mapped: a file that changes meanwhile is refused or loads as what was read,
 * and once loaded, a graph does not depend on any file.
 *
 * Threads: any thread but the event loop; needs 8 MiB of stack for the deepest accepted model.
 */
#ifndef ONNXD_GRAPH_LOADER_H
#define ONNXD_GRAPH_LOADER_H

#include "graph/graph.h"
#include "graph/op.h"

typedef struct onnxd_load_limits {
    uint64_t max_file_bytes;     /* of the .onnx file; protobuf's own limit is 2 GiB - 1 */
    uint64_t max_external_bytes; /* of each external data file, and of all tensors read from them */
    uint32_t max_depth;          /* nested messages */
    uint32_t max_subgraph_depth;
    uint32_t max_nodes, max_initializers, max_attributes_per_node, max_name_bytes;
    uint64_t max_graph_bytes; /* the graph's arena */
} onnxd_load_limits;

/* 2 GiB - 1, 16 GiB, 100, 32, 1 M, 1 M, 256, 4096, 1 GiB. */
onnxd_load_limits onnxd_load_limits_default(void);

/* Loads `path`; external data is resolved beneath the file's directory. The graph is verified, its
 * nodes sorted, resolved against `registry` where known (unknown operators keep def NULL, so that
 * placement can report all of them).
 * Errors: NOT_FOUND, INVALID_ARGUMENT naming node, tensor or byte offset, UNIMPLEMENTED for a newer
 * opset or IR version, OUT_OF_MEMORY. */
ONNXD_NODISCARD onnxd_status *onnxd_graph_load_file(const char *path,
                                                    const onnxd_op_registry *registry,
                                                    const onnxd_load_limits *limits,
                                                    onnxd_graph **out_graph);
/* The same from memory. `directory` is where external data may lie, NULL to refuse it. */
ONNXD_NODISCARD onnxd_status *onnxd_graph_load_memory(const void *data, size_t size,
                                                      const char *directory,
                                                      const onnxd_op_registry *registry,
                                                      const onnxd_load_limits *limits,
                                                      onnxd_graph **out_graph);
/* One serialised TensorProto (the input_N.pb and output_N.pb files of ONNX test data). */
ONNXD_NODISCARD onnxd_status *onnxd_tensor_load_file(const char *path,
                                                     const onnxd_load_limits *limits,
                                                     onnxd_tensor **out_tensor);

#endif
