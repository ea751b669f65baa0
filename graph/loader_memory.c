#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/size_math.h"
#include "graph/loader_internal.h"

#define ALIGNED_FROM_BYTES 4096u
#define LARGE_ALIGNMENT 64u
#define SMALL_ALIGNMENT 16u
/* What each block counts on top of its bytes: this header and malloc's own. */
#define BLOCK_OVERHEAD_BYTES 32u

/* Lies directly before each block. */
typedef struct block_header {
    void *base;
    size_t bytes;
} block_header;

_Static_assert(sizeof(block_header) == SMALL_ALIGNMENT, "blocks keep malloc's alignment");

static block_header *header_of(void *data)
{
    return (block_header *)data - 1;
}

static void *budget_alloc(void *context, size_t bytes)
{
    onnxd_proto_memory *memory = context;
    size_t alignment = bytes >= ALIGNED_FROM_BYTES ? LARGE_ALIGNMENT : SMALL_ALIGNMENT;
    size_t total;
    if (!onnxd_size_add(bytes, sizeof(block_header) + alignment, &total) ||
        memory->left_bytes < BLOCK_OVERHEAD_BYTES ||
        bytes > memory->left_bytes - BLOCK_OVERHEAD_BYTES) {
        memory->is_exhausted = true;
        return NULL;
    }
    char *base = onnxd_alloc(total);
    if (base == NULL)
        return NULL;
    uintptr_t address = (uintptr_t)base + sizeof(block_header);
    size_t padding = (alignment - (address & (alignment - 1))) & (alignment - 1);
    void *data = base + sizeof(block_header) + padding;
    *header_of(data) = (block_header){.base = base, .bytes = bytes};
    memory->left_bytes -= bytes + BLOCK_OVERHEAD_BYTES;
    return data;
}

static void budget_free(void *context, void *data)
{
    onnxd_proto_memory *memory = context;
    if (data == NULL)
        return;
    memory->left_bytes += header_of(data)->bytes + BLOCK_OVERHEAD_BYTES;
    onnxd_free(header_of(data)->base);
}

void onnxd_proto_memory_init(onnxd_proto_memory *memory, uint64_t budget_bytes)
{
    *memory = (onnxd_proto_memory){.left_bytes = budget_bytes};
    memory->allocator.alloc = budget_alloc;
    memory->allocator.free = budget_free;
    memory->allocator.allocator_data = memory;
}

void onnxd_proto_release(void *owner, void *data)
{
    (void)owner;
    onnxd_free(header_of(data)->base);
}

onnxd_status *onnxd_proto_unpack(const void *data, size_t size, onnxd_prescan_root root,
                                 const onnxd_load_limits *limits, onnxd_proto_memory *memory,
                                 ProtobufCMessage **out_message)
{
    static const char *const names[] = {
        [ONNXD_PRESCAN_MODEL] = "model",       [ONNXD_PRESCAN_TENSOR] = "tensor",
        [ONNXD_PRESCAN_SEQUENCE] = "sequence", [ONNXD_PRESCAN_OPTIONAL] = "optional",
        [ONNXD_PRESCAN_MAP] = "map",
    };
    onnxd_prescan_result scan;
    if (size == 0)
        return onnxd_error(ONNXD_INVALID_ARGUMENT, "the file is empty");
    ONNXD_TRY(onnxd_status_context(onnxd_prescan(data, size, root, limits, &scan),
                                   "not a well-formed ONNX %s", names[root]));
    onnxd_proto_memory_init(memory, scan.heap_budget_bytes);
    ProtobufCMessage *message =
        protobuf_c_message_unpack(onnxd_prescan_message(root), &memory->allocator, size, data);
    if (message == NULL && memory->is_exhausted)
        return onnxd_error(ONNXD_INVALID_ARGUMENT,
                           "the file of %zu bytes unpacks to more than %" PRIu64 " bytes", size,
                           scan.heap_budget_bytes);
    if (message == NULL)
        return onnxd_error_out_of_memory("unpacked model", scan.heap_bytes, UINT64_MAX);
    *out_message = message;
    return NULL;
}
