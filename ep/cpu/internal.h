/*
 * The parts of the CPU provider, for files of this folder only.
 *
 *   cpu_ep.c      the table of functions; life of an instance
 *   options.c     its options
 *   memory.c      buffers and copies
 *   stream.c      streams and fences
 *   progress.h    which kernels have ended
 *   runtime.c     what kernels share and may outlive the instance with: oneDNN, the kernel cache
 *   selection.c   which implementation runs a query, and at what cost
 *   kernel.c      one kernel: its own copy of the node, keys, enqueue
 *   packed.c      weights in the order that kernels read them in
 *   kernels.inc   the implementations in order of preference; simd_*.c, onednn_*.c and portable.c
 *                 define them
 *   compute/      threads and loops of the kernels of simd_*.c; simd/ their inner loops
 */
#ifndef ONNXD_EP_CPU_INTERNAL_H
#define ONNXD_EP_CPU_INTERNAL_H

#include <pthread.h>

#include "base/arena.h"
#include "ep/cpu/compute/team.h"
#include "ep/cpu/cpu_ep.h"
#include "ep/cpu/dnnl/primitive.h"
#include "ep/cpu/packed.h"
#include "ep/cpu/progress.h"
#include "ep/cpu/simd/simd.h"
#include "ep/ep.h"
#include "ep/fence_table.h"
#include "ep/handle_table.h"
#include "ep/options.h"
#include "ep/worker_stream.h"
#include "memory/pool.h"

#define ONNXD_CPU_ALIGNMENT 64

/* ---- options --------------------------------------------------------------------------------- */

typedef struct onnxd_cpu_options {
    int64_t threads; /* 0: as many as the process may use */
    int64_t memory_limit_bytes;
    int64_t memory_cache_bytes;
    int64_t batch_cache_bytes; /* -1: of second-level caches */
    int64_t kernel_cache;      /* kernels kept that nobody uses */
    int isa;                   /* ONNXD_CPU_ISA_AUTO or a level */
    int winograd;              /* ONNXD_CPU_WINOGRAD_AUTO or _OFF */
    double winograd_error;
    int precision; /* ONNXD_CPU_PRECISION_FP32 or _BF16 */
    bool uses_onednn, uses_vector_kernels;
} onnxd_cpu_options;

enum { ONNXD_CPU_WINOGRAD_AUTO, ONNXD_CPU_WINOGRAD_OFF };
enum { ONNXD_CPU_PRECISION_FP32, ONNXD_CPU_PRECISION_BF16 };

/* cpu.isa: the choices are this and the levels after it. */
#define ONNXD_CPU_ISA_AUTO 0

extern const onnxd_ep_option_def onnxd_cpu_option_defs[]; /* ends with a NULL key */
ONNXD_NODISCARD onnxd_status *onnxd_cpu_options_parse(const onnxd_ep_config *config,
                                                      onnxd_cpu_options *out_options);

/* Bytes of physical memory. UINT64_MAX when it cannot be told. */
uint64_t onnxd_cpu_memory_bytes(void);
/* Of one core; a usual size where the system does not tell. */
uint64_t onnxd_cpu_second_level_cache_bytes(void);
/* One line of a cpu.max file, "<quota or max> <period>", as CPUs rounded up; 0 for no limit or a
 * malformed line. */
int onnxd_cpu_parse_quota(const char *line);
/* CPUs that the quotas of the process's control groups and all above them leave it, rounded up; 0
 * for no limit. `groups`: the file /proc/self/cgroup; `root`: where the file systems of control
 * groups are mounted, version 2 itself, and version 1 in a folder per set of controllers. Format:
 * cgroups(7), and cgroup-v2.rst and sched-bwc.rst of the kernel. */
int onnxd_cpu_quota(const char *groups, const char *root);

/* ---- what kernels share ---------------------------------------------------------------------- */

typedef struct onnxd_cpu_kernel onnxd_cpu_kernel;
struct onnxd_cpu_implementation;

/* Which implementation ran queries of one kind, by the hash of what tells kinds apart. */
typedef struct onnxd_cpu_verdict {
    uint64_t hash;
    const struct onnxd_cpu_implementation *implementation;
} onnxd_cpu_verdict;
#define ONNXD_CPU_VERDICTS 4096

#define ONNXD_CPU_KERNEL_BUCKETS 1024

/* Counted: by the instance and by every kernel. */
typedef struct onnxd_cpu_runtime {
    const onnxd_op_registry *ops;
    onnxd_dnnl *dnnl; /* NULL when switched off */
    const onnxd_simd *simd;
    onnxd_team *team;
    onnxd_cpu_packed_list packed;
    int threads;
    uint64_t batch_cache_bytes;
    bool uses_vector_kernels, uses_winograd;
    double winograd_error;
    onnxd_simd_bf16_gain bf16; /* of which products factors are rounded; all 0: of none */
    uint64_t references;       /* atomic */
    /* Kernels run on the thread that enqueues them, which others learn of here alone. */
    onnxd_cpu_progress progress;
    uint64_t kernels_enqueued; /* atomic, relaxed */
    bool is_open;              /* atomic; false when the instance is shut down */
    pthread_mutex_t mutex;     /* guards all below */
    size_t kernel_capacity;    /* of unused kernels */
    size_t unused_count;
    /* Every kernel that can be found, by hash. */
    onnxd_cpu_kernel *kernels[ONNXD_CPU_KERNEL_BUCKETS];
    onnxd_cpu_verdict verdicts[ONNXD_CPU_VERDICTS]; /* a later one of the same place replaces it */
    onnxd_cpu_kernel *oldest, *youngest; /* those that nobody uses, by when they became unused */
} onnxd_cpu_runtime;

ONNXD_NODISCARD onnxd_status *onnxd_cpu_runtime_create(const onnxd_op_registry *ops,
                                                       const onnxd_cpu_options *options,
                                                       onnxd_cpu_runtime **out_runtime);
void onnxd_cpu_runtime_retain(onnxd_cpu_runtime *runtime);
void onnxd_cpu_runtime_release(onnxd_cpu_runtime *runtime); /* NULL is fine */

/* The cached kernel for `key`, held for the caller; NULL when there is none. */
onnxd_cpu_kernel *onnxd_cpu_runtime_find(onnxd_cpu_runtime *runtime, const void *key,
                                         size_t key_bytes, uint64_t hash);
/* What a kernel of this kind was made by; NULL when there was none, or it is forgotten. */
const struct onnxd_cpu_implementation *onnxd_cpu_runtime_verdict(onnxd_cpu_runtime *runtime,
                                                                 uint64_t hash);
void onnxd_cpu_runtime_judge(onnxd_cpu_runtime *runtime, uint64_t hash,
                             const struct onnxd_cpu_implementation *implementation);
/* Makes a fresh kernel findable. */
void onnxd_cpu_runtime_add(onnxd_cpu_runtime *runtime, onnxd_cpu_kernel *kernel);
/* Ends one hold. A kernel without constants stays for later, one with them would keep a model's
 * weights alive and ends at once. */
void onnxd_cpu_runtime_put(onnxd_cpu_kernel *kernel);
/* Marks a kernel as running, until onnxd_cpu_progress_end(*out_epoch). While oneDNN's threads are
 * busy for another caller it waits for the kernel that they run.
 * Errors: NOT_INITIALIZED after close. */
ONNXD_NODISCARD onnxd_status *onnxd_cpu_runtime_begin(onnxd_cpu_runtime *runtime, const char *name,
                                                      uint64_t *out_epoch);
/* Returns when the kernels that were running are done. */
void onnxd_cpu_runtime_drain(onnxd_cpu_runtime *runtime);
/* Refuses kernels from here on, waits for those that run, ends all that nobody uses and keeps none.
 */
void onnxd_cpu_runtime_close(onnxd_cpu_runtime *runtime);

/* ---- kernels --------------------------------------------------------------------------------- */

/* A query with what was found out about it. Types of outputs are inferred. */
typedef struct onnxd_cpu_case {
    const onnxd_cpu_runtime *runtime;
    const onnxd_op_query *query;
    const onnxd_node *node;
    const onnxd_op_def *def;
    onnxd_tensor_type *outputs; /* query->output_count */
    bool is_static;             /* every present input and output */
} onnxd_cpu_case;

static inline bool onnxd_cpu_has_input(const onnxd_cpu_case *c, uint32_t index)
{
    return index < c->query->input_count && c->query->inputs[index].dtype != ONNXD_UNDEFINED;
}
static inline bool onnxd_cpu_has_output(const onnxd_cpu_case *c, uint32_t index)
{
    return index < c->query->output_count && c->outputs[index].dtype != ONNXD_UNDEFINED;
}
/* The constant behind an input, or NULL. */
static inline onnxd_tensor *onnxd_cpu_constant(const onnxd_cpu_case *c, uint32_t index)
{
    return c->query->constants != NULL ? c->query->constants[index] : NULL;
}

typedef struct onnxd_cpu_implementation {
    const char *name;
    /* Whether it takes the case, shapes static or not; a case of static shapes that is taken may
     * still fail in make(). */
    bool (*takes)(const onnxd_cpu_case *c);
    /* Fills in kernel->state, kernel->base.workspace_bytes and .implementation. UNIMPLEMENTED hands
     * the case on to the next implementation. */
    onnxd_status *(*make)(const onnxd_cpu_case *c, onnxd_cpu_kernel *kernel);
    onnxd_status *(*enqueue)(onnxd_cpu_kernel *kernel, const onnxd_kernel_args *args);
    void (*unmake)(onnxd_cpu_kernel *kernel);
    double flops_per_us; /* of one thread, for the cost model */
    bool may_refuse;     /* make() may give UNIMPLEMENTED for a static case that is taken */
} onnxd_cpu_implementation;

/* A line of kernels.inc. */
typedef struct onnxd_cpu_entry {
    const char *domain;
    const char *op_type; /* NULL: any operator of any domain */
    const onnxd_cpu_implementation *implementation;
} onnxd_cpu_entry;

extern const onnxd_cpu_implementation onnxd_cpu_portable;
extern const onnxd_cpu_implementation onnxd_cpu_concat;
extern const onnxd_cpu_implementation onnxd_cpu_onednn_convolution;
extern const onnxd_cpu_implementation onnxd_cpu_onednn_max_pool;
extern const onnxd_cpu_implementation onnxd_cpu_onednn_average_pool;
extern const onnxd_cpu_implementation onnxd_cpu_onednn_global_max;
extern const onnxd_cpu_implementation onnxd_cpu_onednn_global_average;
extern const onnxd_cpu_implementation onnxd_cpu_onednn_gemm;
extern const onnxd_cpu_implementation onnxd_cpu_onednn_matmul;
extern const onnxd_cpu_implementation onnxd_cpu_onednn_softmax;
extern const onnxd_cpu_implementation onnxd_cpu_onednn_lrn;
extern const onnxd_cpu_implementation onnxd_cpu_simd_blocks;
extern const onnxd_cpu_implementation onnxd_cpu_simd_convolution;
extern const onnxd_cpu_implementation onnxd_cpu_simd_conv_transpose;
extern const onnxd_cpu_implementation onnxd_cpu_simd_pool;
extern const onnxd_cpu_implementation onnxd_cpu_simd_softmax;
extern const onnxd_cpu_implementation onnxd_cpu_simd_norm;
extern const onnxd_cpu_implementation onnxd_cpu_simd_lrn;
extern const onnxd_cpu_implementation onnxd_cpu_simd_attention;
extern const onnxd_cpu_implementation onnxd_cpu_simd_transpose;
extern const onnxd_cpu_implementation onnxd_cpu_simd_unary;
extern const onnxd_cpu_implementation onnxd_cpu_simd_clip;
extern const onnxd_cpu_implementation onnxd_cpu_simd_binary;
extern const onnxd_cpu_implementation onnxd_cpu_simd_cast;
extern const onnxd_cpu_implementation onnxd_cpu_simd_reduce;
extern const onnxd_cpu_implementation onnxd_cpu_simd_arg;
extern const onnxd_cpu_implementation onnxd_cpu_simd_group_norm;
extern const onnxd_cpu_implementation onnxd_cpu_simd_chain;
extern const onnxd_cpu_implementation onnxd_cpu_simd_dense;
extern const onnxd_cpu_implementation onnxd_cpu_simd_gemm;
extern const onnxd_cpu_implementation onnxd_cpu_simd_matmul;
extern const onnxd_cpu_implementation onnxd_cpu_simd_batched_matmul;
extern const onnxd_cpu_implementation onnxd_cpu_simd_recurrent;
extern const onnxd_cpu_implementation onnxd_cpu_simd_integer_convolution;
extern const onnxd_cpu_implementation onnxd_cpu_simd_integer_product;
extern const onnxd_cpu_implementation onnxd_cpu_simd_dynamic_product;
extern const onnxd_cpu_implementation onnxd_cpu_simd_quantize;
extern const onnxd_cpu_implementation onnxd_cpu_simd_dequantize;
extern const onnxd_cpu_implementation onnxd_cpu_simd_dynamic_quantize;
extern const onnxd_cpu_implementation onnxd_cpu_simd_quantized_sum;

struct onnxd_cpu_kernel {
    onnxd_kernel base;
    const onnxd_cpu_implementation *implementation;
    onnxd_cpu_runtime *runtime; /* held */
    /* Guarded by runtime->mutex. */
    size_t holders;
    bool is_findable;
    onnxd_cpu_kernel *previous, *next; /* of the findable kernels of one bucket */
    onnxd_cpu_kernel *older, *younger; /* of the unused ones */
    /* Constant once made. The node is a copy, which may outlive the graph: inputs and outputs are
     * numbered by position, attributes are copied, params are parsed again. */
    onnxd_arena arena;
    onnxd_node node;
    int64_t opset;
    uint32_t input_count, output_count;
    onnxd_tensor_type *inputs, *outputs;
    onnxd_tensor **constants; /* [input_count], held; NULL when there is none */
    const void *key;
    size_t key_bytes;
    uint64_t hash;
    void *state; /* the implementation's */
    char name[96];
};

/* A kernel takes no node with more: supports_op says so. */
#define ONNXD_CPU_ATTRIBUTES_MAX_BYTES ((size_t)64 << 20)
/* What the node's name and attributes take in a kernel, about. */
size_t onnxd_cpu_attributes_bytes(const onnxd_node *node);
typedef enum onnxd_cpu_key_kind {
    ONNXD_CPU_KEY_KERNEL, /* operator, opset, attributes, types, name, constants */
    ONNXD_CPU_KEY_VERDICT /* what decides which implementation runs: all but the name and values */
} onnxd_cpu_key_kind;
/* The bytes that tell one kernel, or one kind of them, from another. The caller frees *out_key. */
ONNXD_NODISCARD onnxd_status *onnxd_cpu_key_make(const onnxd_cpu_case *c, onnxd_cpu_key_kind kind,
                                                 void **out_key, size_t *out_bytes);
/* A copy of `node` for the kernel, all in its arena. */
ONNXD_NODISCARD onnxd_status *onnxd_cpu_node_copy(const onnxd_cpu_case *c,
                                                  onnxd_cpu_kernel *kernel);
void onnxd_cpu_node_drop(onnxd_cpu_kernel *kernel);

/* A kernel for a static case, made by the first implementation that can; held for the caller. */
ONNXD_NODISCARD onnxd_status *onnxd_cpu_kernel_create(const onnxd_cpu_case *c,
                                                      onnxd_cpu_runtime *runtime,
                                                      onnxd_cpu_kernel **out_kernel);
/* Nobody may hold it or find it. */
void onnxd_cpu_kernel_destroy(onnxd_cpu_kernel *kernel);

/* ---- selection ------------------------------------------------------------------------------- */

/* The implementations that take the case, one after another: starts behind `after` (NULL: from the
 * top), NULL at the end. */
const onnxd_cpu_implementation *onnxd_cpu_next(const onnxd_cpu_case *c,
                                               const onnxd_cpu_implementation *after);

void onnxd_cpu_supports_op(onnxd_ep *ep, const onnxd_op_query *query,
                           onnxd_kernel_match *out_match);
ONNXD_NODISCARD onnxd_status *onnxd_cpu_get_kernel(onnxd_ep *ep, const onnxd_op_query *query,
                                                   onnxd_kernel **out_kernel);
/* Floating-point operations of a static case. */
double onnxd_cpu_flops(const onnxd_cpu_case *c);
void onnxd_cpu_cost(const onnxd_cpu_case *c, const onnxd_cpu_implementation *implementation,
                    onnxd_cost *out_cost);

/* ---- the instance ---------------------------------------------------------------------------- */

typedef struct onnxd_cpu_ep {
    onnxd_ep base;
    onnxd_cpu_options options;
    uint16_t tag;
    onnxd_device_id device;
    onnxd_cpu_runtime *runtime;
    onnxd_pool *pool;
    onnxd_handle_table *handles;
    onnxd_fence_table *fences;
    onnxd_worker_stream *streams[ONNXD_STREAM_COUNT]; /* COMPUTE is inline */
    /* Atomic, relaxed. */
    uint64_t allocate_calls, copies_issued, sync_calls;
} onnxd_cpu_ep;

static inline onnxd_cpu_ep *onnxd_cpu_ep_of(onnxd_ep *ep)
{
    return ONNXD_CONTAINER_OF(ep, onnxd_cpu_ep, base);
}
static inline const onnxd_cpu_ep *onnxd_cpu_ep_of_const(const onnxd_ep *ep)
{
    return (const onnxd_cpu_ep *)(const void *)ep;
}

/* memory.c */
ONNXD_NODISCARD onnxd_status *onnxd_cpu_memory_init(onnxd_cpu_ep *cpu);
void onnxd_cpu_memory_deinit(onnxd_cpu_ep *cpu);
ONNXD_NODISCARD onnxd_status *onnxd_cpu_allocate(onnxd_ep *ep, size_t bytes, size_t alignment,
                                                 onnxd_buffer *out_buffer);
ONNXD_NODISCARD onnxd_status *onnxd_cpu_deallocate(onnxd_ep *ep, onnxd_buffer buffer);
ONNXD_NODISCARD onnxd_status *onnxd_cpu_copy(onnxd_ep *ep, const onnxd_copy *copy);
ONNXD_NODISCARD onnxd_status *onnxd_cpu_copy_async(onnxd_ep *ep, const onnxd_copy *copy,
                                                   onnxd_fence *out_fence);

/* stream.c */
ONNXD_NODISCARD onnxd_status *onnxd_cpu_streams_init(onnxd_cpu_ep *cpu);
/* Finishes what was issued. */
void onnxd_cpu_streams_deinit(onnxd_cpu_ep *cpu);
/* How far the stream's work that uses buffers has come. */
uint64_t onnxd_cpu_stream_issued(const onnxd_cpu_ep *cpu, onnxd_stream stream);
uint64_t onnxd_cpu_stream_completed(const onnxd_cpu_ep *cpu, onnxd_stream stream);
ONNXD_NODISCARD onnxd_status *onnxd_cpu_fence_wait(onnxd_ep *ep, onnxd_fence fence,
                                                   int64_t timeout_ns);
ONNXD_NODISCARD onnxd_status *onnxd_cpu_fence_query(onnxd_ep *ep, onnxd_fence fence,
                                                    bool *out_done);
ONNXD_NODISCARD onnxd_status *onnxd_cpu_stream_wait(onnxd_ep *ep, onnxd_stream stream,
                                                    onnxd_fence fence);
ONNXD_NODISCARD onnxd_status *onnxd_cpu_fence_record(onnxd_ep *ep, onnxd_stream stream,
                                                     onnxd_fence *out_fence);
ONNXD_NODISCARD onnxd_status *onnxd_cpu_fence_release(onnxd_ep *ep, onnxd_fence fence);
ONNXD_NODISCARD onnxd_status *onnxd_cpu_sync(onnxd_ep *ep);

#endif
