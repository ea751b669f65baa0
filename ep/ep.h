/*
 * The execution provider contract: what a device back end must do, and the one header a provider
 * includes. A provider kind is a struct of functions (onnxd_ep_api); an instance is opened per
 * (provider, device_id), initialised once at start and shared by every model.
 *
 *   create ─► initialize(config) ─► { supports_op, get_kernel, allocate, copy_async, enqueue ... }
 *          ─► shutdown ─► destroy
 *
 * Streams. An instance has one compute stream and one copy stream in each direction. Work on one
 * stream runs in the order in which it was issued; work on different streams overlaps. Order
 * between them is made with fences only:
 *
 *   copy_async(host -> device)  ─► fence a        on COPY_IN
 *   stream_wait(COMPUTE, a)                       compute starts after the copy
 *   kernel enqueue ...                            on COMPUTE
 *   fence_record(COMPUTE)       ─► fence b
 *   stream_wait(COPY_OUT, b)                      the copy starts after compute
 *   copy_async(device -> host)  ─► fence c        on COPY_OUT
 *   fence_wait(c)                                 the host reads the result
 *
 * Failure. Every function that can fail returns a status; out-parameters are untouched on failure.
 * Nothing aborts or prints on bad input. A failure of work that was already issued is reported by
 * the fence that covers it: a copy's own fence, or the next fence recorded on the stream. Waiting
 * on a failed fence returns (a copy of) its error; a stream that waits on a failed fence passes the
 * error to its own next fence. A failure does not stick to the stream beyond that fence.
 *
 * Threads. initialize, shutdown and destroy: one thread, with no other call in flight.
 * stream_wait, fence_record and kernel enqueue: as many threads at a time as info.issuers says (the
 * instance's device threads), also of one kernel, each time with memory of its own. All others: any
 * thread.
 *
 * Callers use the onnxd_ep_* functions; the tables at the end are for those who write a provider.
 */
#ifndef ONNXD_EP_EP_H
#define ONNXD_EP_EP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/log.h"
#include "base/status.h"
#include "base/tensor.h"
#include "graph/graph.h"
#include "graph/op.h"
#include "graph/passes.h"

/* Changes with every change of a type that crosses the border to a module. */
#define ONNXD_EP_ABI_VERSION 7u

typedef struct onnxd_ep onnxd_ep;
typedef struct onnxd_ep_api onnxd_ep_api;
typedef struct onnxd_ep_host onnxd_ep_host;
typedef struct onnxd_kernel onnxd_kernel;

/* ---- configuration ------------------------------------------------------------------------- */

typedef struct onnxd_ep_option {
    const char *key; /* namespaced: "cpu.threads" */
    const char *value;
} onnxd_ep_option;

/* An unknown key is INVALID_ARGUMENT naming the key and the nearest known one (ep/options.h). */
typedef struct onnxd_ep_config {
    const onnxd_ep_option *options;
    size_t option_count;
} onnxd_ep_config;

/* ---- what an instance is ------------------------------------------------------------------- */

typedef struct onnxd_ep_info {
    /* Device addresses may be read and written by host code; copies are not needed. */
    bool is_host_addressable;
    /* Threads that may issue at the same time; 1 where work is issued to a device's queue. More
     * where kernels run on the thread that enqueues them: requests then run side by side. 0 says
     * 1. */
    uint32_t issuers;
    size_t alignment_bytes; /* of every buffer: a power of two, >= 64 on the CPU, >= 256 on CUDA */
    /* Of inputs and outputs of kernels that are a piece of another one: a power of two. 1: that of
     * an element; 0: that of buffers. */
    size_t piece_alignment_bytes;
    uint64_t memory_bytes; /* of the device; UINT64_MAX when unknown */
    /* Where kernels are much faster on values that fit so many bytes together: a batch beyond that
     * is then better computed in parts, which begin at any element (piece_alignment_bytes is 1).
     * Host-addressable instances only; 0: it makes no difference. */
    uint64_t batch_cache_bytes;
    /* Transfer between host memory and the device: fixed cost and rate. 0 when host-addressable. */
    double copy_latency_us;
    double copy_bytes_per_us;
} onnxd_ep_info;

/* Counters since initialize(); relaxed, for metrics and tests. */
typedef struct onnxd_ep_stats {
    uint64_t allocated_bytes; /* in live buffers */
    uint64_t buffers_live;
    uint64_t allocate_calls;
    uint64_t device_allocations; /* allocations that reached the device, behind the pool */
    uint64_t kernels_enqueued;
    uint64_t copies_issued;
    uint64_t sync_calls; /* never rises on the request path */
    uint64_t fences_live;
} onnxd_ep_stats;

/* ---- memory -------------------------------------------------------------------------------- */

/* Device memory. Made only by allocate, ended only by deallocate of the same instance; a stale or
 * foreign buffer is an error (FOREIGN_BUFFER), never a crash. A value: copies name the same memory.
 */
typedef struct onnxd_buffer {
    void *data; /* an address of `device` */
    size_t bytes;
    onnxd_device_id device;
    uint64_t handle; /* slot and generation; 0 for borrowed host memory */
} onnxd_buffer;

/* Host memory owned by somebody else (a request, an initializer) as an end of a copy.
 * Deallocating it is a no-op. */
static inline onnxd_buffer onnxd_buffer_borrow_host(const void *data, size_t bytes)
{
    onnxd_buffer buffer = {(void *)(uintptr_t)data, bytes, {ONNXD_DEVICE_CPU, 0}, 0};
    return buffer;
}

/* [offset, offset + bytes) of `source` to the same of `destination`; each range is checked against
 * its buffer. One end belongs to the instance; the other is host memory, the same instance, or a
 * peer that the instance can reach and whose buffers it can check. A host-addressable peer's buffer
 * is copied as borrowed host memory. */
typedef struct onnxd_copy {
    onnxd_buffer source, destination;
    size_t source_offset, destination_offset;
    size_t bytes;
} onnxd_copy;

/* ---- fences and streams -------------------------------------------------------------------- */

typedef enum onnxd_stream {
    ONNXD_STREAM_COMPUTE,
    ONNXD_STREAM_COPY_IN,  /* host or peer to device */
    ONNXD_STREAM_COPY_OUT, /* device to host */
    ONNXD_STREAM_COUNT
} onnxd_stream;

/* A point in a stream's work: slot and generation, pooled by its instance. 0 is the fence that was
 * signalled always. Every other fence is released exactly once, before or after it is signalled; an
 * unknown or released one is STALE_FENCE. */
typedef uint64_t onnxd_fence;
#define ONNXD_FENCE_SIGNALLED ((onnxd_fence)0)

/* ---- operators and kernels ----------------------------------------------------------------- */

/* How a tensor lies in memory beyond its shape. `blocked` names a layout private to the provider;
 * NULL means strides. strides_are_default: row-major. */
typedef struct onnxd_tensor_layout {
    const char *blocked;
    bool strides_are_default;
    int64_t strides[ONNXD_MAX_RANK]; /* in elements, may be negative */
} onnxd_tensor_layout;

/* One node with what is known of it. For supports_op shapes may be symbolic or unknown; for
 * get_kernel they are static. `constants` holds host values of inputs that never change (weights,
 * folded shapes): a kernel may prepack them, and keeps its own reference if it does. */
typedef struct onnxd_op_query {
    const onnxd_node *node; /* resolved; node->def is NULL for operators the library lacks */
    int64_t opset;
    uint32_t input_count, output_count;
    const onnxd_tensor_type *inputs;
    const onnxd_tensor_type *outputs;
    onnxd_tensor *const *constants;           /* [input_count], or NULL when none is constant */
    const onnxd_tensor_layout *input_layouts; /* [input_count], or NULL when all are row-major */
} onnxd_op_query;

/* Microseconds; the total is the sum of the four times. Unknown is not zero. */
typedef struct onnxd_cost {
    bool is_known;
    double compute_us, memory_us, transfer_us, launch_us;
    uint64_t bytes_moved;
    double flops; /* floating-point operations by the operator's definition; 0: not told */
} onnxd_cost;
/* The sum of the four times; means nothing when the cost is not known. */
double onnxd_cost_total_us(const onnxd_cost *cost);

typedef struct onnxd_kernel_match {
    bool is_supported;
    onnxd_cost cost;
    /* The layout that each input has to have and each output will have, for providers that want
     * others than row-major. A count is 0, for all row-major, or the query's own. The arrays are
     * the provider's, constant, and valid until it is shut down. */
    const onnxd_tensor_layout *input_layouts, *output_layouts;
    uint32_t input_layout_count, output_layout_count;
    /* Supported: which implementation would run. Unsupported: why, and what to change. */
    char reason[192];
} onnxd_kernel_match;
/* Whether every input and output of a supported match is row-major. */
bool onnxd_kernel_match_is_row_major(const onnxd_kernel_match *match);

/* A kernel specialised to one node and concrete shapes. Counted by its provider's cache. */
struct onnxd_kernel {
    const struct onnxd_kernel_api *api;
    const char *implementation; /* "onednn:brgconv", "portable": for inspect and profiles */
    size_t workspace_bytes;     /* scratch that enqueue needs on the device */
    /* What the kernel allows beside outputs that lie apart from the inputs, all of them row-major
     * without gaps. Bit i is input or output i, those from 64 on have none. */
    /* Output 0 may be the memory of input i where both have one type and shape, whichever other
     * inputs are that memory too. */
    uint64_t in_place_inputs;
    /* Rows of the last dimension may lie at a distance: onnxd_tensor_view_pitch(). */
    uint64_t pitched_inputs, pitched_outputs;
    /* Of operators that join tensors (graph/op.h): an input that lies at its place in the output is
     * left alone. */
    bool skips_placed_inputs;
};
static inline bool onnxd_kernel_allows(uint64_t mask, uint32_t index)
{
    return index < 64 && ((mask >> index) & 1u) != 0;
}

/* Arguments of one execution. Views lie on the instance's device and as the kernel allows; checked
 * by the executor. */
typedef struct onnxd_kernel_args {
    const onnxd_tensor_view *inputs;
    onnxd_tensor_view *outputs;
    uint32_t input_count, output_count;
    void *workspace;             /* device address of workspace_bytes, aligned; NULL when 0 */
    onnxd_string_arena *strings; /* host-addressable devices only */
} onnxd_kernel_args;

/* ---- EPContext and the ONNX Runtime plugin ------------------------------------------------- */

typedef struct onnxd_ep_context {
    const char *ep_name, *ep_version;
    const char *device_fingerprint; /* device, driver and build the blob holds for */
    const void *data;
    size_t bytes;
    const onnxd_node_id *covered_nodes;
    size_t covered_count;
    void (*release)(struct onnxd_ep_context *context);
} onnxd_ep_context;

/* The ONNX Runtime plugin this provider is exported as. */
typedef struct onnxd_ort_plugin {
    const char *library_path;
    const char *registration_name;
    uint32_t ort_api_version;
} onnxd_ort_plugin;

/* ---- the calls ----------------------------------------------------------------------------- */

/* snake_case kind: "cpu_ep". Constant. */
const char *onnxd_ep_name(const onnxd_ep *ep);
onnxd_device_id onnxd_ep_device_id(const onnxd_ep *ep);
/* Short text for messages and metrics: "cpu_ep:0". Constant per instance. */
const char *onnxd_ep_label(const onnxd_ep *ep);

/* A fresh instance, not initialised. EP_LOAD_FAILED when the api's ABI is another. */
ONNXD_NODISCARD onnxd_status *onnxd_ep_create(const onnxd_ep_api *api, const onnxd_ep_host *host,
                                              uint32_t device_index, onnxd_ep **out_ep);
/* Shuts down first if need be. NULL is fine. */
void onnxd_ep_destroy(onnxd_ep *ep);

/* Binds the device, its streams, threads and pools. A second call is INVALID_ARGUMENT; after a
 * failure only shutdown and destroy are legal. Everything below is NOT_INITIALIZED before it. */
ONNXD_NODISCARD onnxd_status *onnxd_ep_initialize(onnxd_ep *ep, const onnxd_ep_config *config);
/* Refuses new work, finishes what is issued, frees everything. Idempotent. */
ONNXD_NODISCARD onnxd_status *onnxd_ep_shutdown(onnxd_ep *ep);
/* All zero unless the instance is initialised. */
onnxd_ep_info onnxd_ep_get_info(const onnxd_ep *ep);
/* All zero before initialize; after shutdown (also of a failed initialize) what is left, which is
 * nothing live. */
onnxd_ep_stats onnxd_ep_get_stats(const onnxd_ep *ep);

/* Whether and at what cost. Runs the same checks as get_kernel: a claim is never followed by a
 * refusal for the same types. */
void onnxd_ep_supports_op(onnxd_ep *ep, const onnxd_op_query *query, onnxd_kernel_match *out_match);
/* A kernel for concrete shapes; from the instance's bounded cache when it made the same before.
 * Ended by onnxd_kernel_release().
 * Errors: NO_EP_FOR_OP with the reason supports_op gives; OUT_OF_MEMORY; INVALID_ARGUMENT. */
ONNXD_NODISCARD onnxd_status *onnxd_ep_get_kernel(onnxd_ep *ep, const onnxd_op_query *query,
                                                  onnxd_kernel **out_kernel);
/* Any time, also after the instance was destroyed; until then everything a kernel holds stays. NULL
 * is fine. */
void onnxd_kernel_release(onnxd_kernel *kernel);
/* Issues the kernel on the compute stream. Neither allocates, logs nor reads attributes, and takes
 * no lock but that of the stream's queue, or one that keeps a library's threads for one kernel.
 * Errors: NOT_INITIALIZED after shutdown, INVALID_ARGUMENT
 * and INVALID_TENSOR_VIEW for other arguments than the kernel was made for; and where the kernel
 * runs on the calling thread those of the work, which the next fence reports elsewhere:
 * INVALID_ARGUMENT for values that the operator refuses (an index out of range),
 * RESOURCE_EXHAUSTED, OUT_OF_MEMORY and UNIMPLEMENTED, and KERNEL_FAILED for every other failure;
 * each names the node. */
ONNXD_NODISCARD onnxd_status *onnxd_kernel_enqueue(onnxd_kernel *kernel,
                                                   const onnxd_kernel_args *args);

/* Through the instance's pool. alignment: power of two, at least the instance's own is given.
 * Size 0 is legal. Errors: OUT_OF_MEMORY with both numbers, ALIGNMENT_ERROR. */
ONNXD_NODISCARD onnxd_status *onnxd_ep_allocate(onnxd_ep *ep, size_t bytes, size_t alignment,
                                                onnxd_buffer *out_buffer);
/* Takes effect once the work issued so far is done; never waits. Errors: FOREIGN_BUFFER. */
ONNXD_NODISCARD onnxd_status *onnxd_ep_deallocate(onnxd_ep *ep, onnxd_buffer buffer);
/* Returns when the bytes have arrived. Errors: INVALID_ARGUMENT (ranges), FOREIGN_BUFFER. */
ONNXD_NODISCARD onnxd_status *onnxd_ep_copy(onnxd_ep *ep, const onnxd_copy *copy);
/* Issues the copy on the stream of its direction (device to device: COPY_IN) and returns at once.
 */
ONNXD_NODISCARD onnxd_status *onnxd_ep_copy_async(onnxd_ep *ep, const onnxd_copy *copy,
                                                  onnxd_fence *out_fence);

/* Waits up to timeout_ns (negative: for ever). Errors: DEADLINE_EXCEEDED, STALE_FENCE, or the
 * failure of the work. */
ONNXD_NODISCARD onnxd_status *onnxd_ep_fence_wait(onnxd_ep *ep, onnxd_fence fence,
                                                  int64_t timeout_ns);
/* Whether it is signalled (successfully or not). Errors: STALE_FENCE. */
ONNXD_NODISCARD onnxd_status *onnxd_ep_fence_query(onnxd_ep *ep, onnxd_fence fence, bool *out_done);
/* Work issued on `stream` later starts after `fence`. */
ONNXD_NODISCARD onnxd_status *onnxd_ep_stream_wait(onnxd_ep *ep, onnxd_stream stream,
                                                   onnxd_fence fence);
/* A fence that is signalled when all work issued on `stream` so far is done. */
ONNXD_NODISCARD onnxd_status *onnxd_ep_fence_record(onnxd_ep *ep, onnxd_stream stream,
                                                    onnxd_fence *out_fence);
/* Ends the caller's hold; 0 is a no-op. Errors: STALE_FENCE. */
ONNXD_NODISCARD onnxd_status *onnxd_ep_fence_release(onnxd_ep *ep, onnxd_fence fence);
/* Drains all streams. Shutdown and tests only. */
ONNXD_NODISCARD onnxd_status *onnxd_ep_sync(onnxd_ep *ep);

/* Provided methods: the defaults stand in for NULL entries of the table. */
/* The calling thread issues kernels from here on, until end_issuing: those that do so at the same
 * time share the instance's threads between them. Who issues without saying so is not counted.
 * From initialize() on, also after shutdown. Never blocks. Default: nothing. */
void onnxd_ep_begin_issuing(onnxd_ep *ep);
void onnxd_ep_end_issuing(onnxd_ep *ep);
/* NULL: not exported as a plugin. */
const onnxd_ort_plugin *onnxd_ep_as_ort_plugin(const onnxd_ep *ep);
/* NULL-terminated, run after the generic passes and before shapes are inferred again. */
const onnxd_pass *const *onnxd_ep_custom_passes(const onnxd_ep *ep);
/* Sets claimed[i] for nodes taken unconditionally, before the cost model. [graph->node_count]. */
void onnxd_ep_claim_nodes(onnxd_ep *ep, const onnxd_graph *graph, bool *claimed);
/* NULL-terminated; empty: takes no part in EPContext. From the instance's configuration. */
const char *const *onnxd_ep_context_source_keys(const onnxd_ep *ep);
/* Default: UNSUPPORTED_CONTEXT. */
ONNXD_NODISCARD onnxd_status *onnxd_ep_save_context(onnxd_ep *ep, onnxd_ep_context *out_context);
ONNXD_NODISCARD onnxd_status *onnxd_ep_load_context(onnxd_ep *ep, const onnxd_ep_context *context);

/* ---- for those who write a provider -------------------------------------------------------- */

typedef struct onnxd_kernel_api {
    uint32_t struct_size;
    onnxd_status *(*enqueue)(onnxd_kernel *kernel, const onnxd_kernel_args *args);
    void (*release)(onnxd_kernel *kernel);
} onnxd_kernel_api;

/* First member of every instance. The onnxd_ep_* functions keep `state`, so that NOT_INITIALIZED,
 * double initialisation and shutdown mean the same for every provider. */
struct onnxd_ep {
    const onnxd_ep_api *api;
    const onnxd_ep_host *host;
    onnxd_device_id device_id;
    uint32_t state; /* atomic; ep/ep.c only */
    char label[40];
};

/* What the daemon offers a provider. Constant, outlives every instance. */
struct onnxd_ep_host {
    uint32_t abi_version, struct_size;
    const onnxd_op_registry *ops;
    /* A fresh, uninitialised instance of another provider, to borrow its kernels; the caller
     * initialises and destroys it. Errors: NOT_FOUND. */
    onnxd_status *(*open_provider)(const onnxd_ep_host *host, const char *name,
                                   uint32_t device_index, onnxd_ep **out_ep);
    void (*log)(onnxd_log_level level, const char *module, const char *message);
};

struct onnxd_ep_api {
    uint32_t abi_version; /* ONNXD_EP_ABI_VERSION */
    uint32_t struct_size; /* sizeof(onnxd_ep_api) */
    const char *name;     /* snake_case, ends in _ep */
    const char *version;
    uint32_t device_type; /* onnxd_device_type */

    /* Required. create fills everything but the members that ep.c sets (api, host, device_id,
     * state, label). */
    onnxd_status *(*create)(const onnxd_ep_host *host, uint32_t device_index, onnxd_ep **out_ep);
    void (*destroy)(onnxd_ep *ep);
    onnxd_status *(*initialize)(onnxd_ep *ep, const onnxd_ep_config *config);
    onnxd_status *(*shutdown)(onnxd_ep *ep);
    void (*get_info)(const onnxd_ep *ep, onnxd_ep_info *out_info);
    void (*get_stats)(const onnxd_ep *ep, onnxd_ep_stats *out_stats);
    void (*supports_op)(onnxd_ep *ep, const onnxd_op_query *query, onnxd_kernel_match *out_match);
    onnxd_status *(*get_kernel)(onnxd_ep *ep, const onnxd_op_query *query,
                                onnxd_kernel **out_kernel);
    onnxd_status *(*allocate)(onnxd_ep *ep, size_t bytes, size_t alignment,
                              onnxd_buffer *out_buffer);
    onnxd_status *(*deallocate)(onnxd_ep *ep, onnxd_buffer buffer);
    onnxd_status *(*copy)(onnxd_ep *ep, const onnxd_copy *copy);
    onnxd_status *(*copy_async)(onnxd_ep *ep, const onnxd_copy *copy, onnxd_fence *out_fence);
    onnxd_status *(*fence_wait)(onnxd_ep *ep, onnxd_fence fence, int64_t timeout_ns);
    onnxd_status *(*fence_query)(onnxd_ep *ep, onnxd_fence fence, bool *out_done);
    onnxd_status *(*stream_wait)(onnxd_ep *ep, onnxd_stream stream, onnxd_fence fence);
    onnxd_status *(*fence_record)(onnxd_ep *ep, onnxd_stream stream, onnxd_fence *out_fence);
    onnxd_status *(*fence_release)(onnxd_ep *ep, onnxd_fence fence);
    onnxd_status *(*sync)(onnxd_ep *ep);

    /* Provided: NULL takes the default documented at the onnxd_ep_* function. */
    void (*begin_issuing)(onnxd_ep *ep);
    void (*end_issuing)(onnxd_ep *ep);
    const onnxd_ort_plugin *(*as_ort_plugin)(const onnxd_ep *ep);
    const onnxd_pass *const *(*custom_passes)(const onnxd_ep *ep);
    void (*claim_nodes)(onnxd_ep *ep, const onnxd_graph *graph, bool *claimed);
    const char *const *(*context_source_keys)(const onnxd_ep *ep);
    onnxd_status *(*save_context)(onnxd_ep *ep, onnxd_ep_context *out_context);
    onnxd_status *(*load_context)(onnxd_ep *ep, const onnxd_ep_context *context);

    /* The options that initialize() knows (ep/options.h), for `onnxd list-eps`; ends with a NULL
     * key. NULL: none. */
    const struct onnxd_ep_option_def *option_defs;
};

/* The one symbol that a provider's shared object exports for the daemon. */
#define ONNXD_EP_MODULE_SYMBOL "onnxd_ep_module"
typedef const onnxd_ep_api *(*onnxd_ep_module_function)(void);

#endif
