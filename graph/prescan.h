/*
 * The first pass over a serialised model: an iterative walk over the wire format that allocates
 * nothing and refuses whatever the second pass (protobuf-c, which recurses and allocates freely)
 * must not see. The messages and fields are those of the .proto files; there is no second table.
 *
 * Refused, with the byte offset: truncated or overlong varints, lengths beyond the enclosing
 * message, field number 0, groups, wrong wire types, a field twice that may come once, names that
 * are not UTF-8 or contain NUL, and everything beyond a limit: message depth, subgraph depth,
 * nodes, initializers, attributes, name length, and the heap that unpacking would take.
 *
 * Threads: any.
 */
#ifndef ONNXD_GRAPH_PRESCAN_H
#define ONNXD_GRAPH_PRESCAN_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "graph/loader.h"

typedef enum onnxd_prescan_root {
    ONNXD_PRESCAN_MODEL,    /* ModelProto */
    ONNXD_PRESCAN_TENSOR,   /* TensorProto */
    ONNXD_PRESCAN_SEQUENCE, /* SequenceProto */
    ONNXD_PRESCAN_OPTIONAL, /* OptionalProto */
    ONNXD_PRESCAN_MAP       /* MapProto */
} onnxd_prescan_root;

/* The deepest nesting of messages that any limit can allow. */
#define ONNXD_PRESCAN_MAX_DEPTH 100
/* Subgraphs in one model: each costs an arena. */
#define ONNXD_PRESCAN_MAX_SUBGRAPHS 16384

typedef struct onnxd_prescan_result {
    uint64_t raw_bytes;         /* in raw_data fields */
    uint64_t heap_bytes;        /* what unpacking takes, roughly */
    uint64_t heap_budget_bytes; /* what it may take: 64 MiB + 4 x other bytes + raw bytes */
} onnxd_prescan_result;

/* `size` is at most INT32_MAX, protobuf's own limit.
 * Errors: INVALID_ARGUMENT. */
ONNXD_NODISCARD onnxd_status *onnxd_prescan(const void *data, size_t size, onnxd_prescan_root root,
                                            const onnxd_load_limits *limits,
                                            onnxd_prescan_result *out_result);

#endif
