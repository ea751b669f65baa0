#include <stdio.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "ep/sim/sim.h"

/* A borrowed kernel. One object per borrowed kernel, so that equal queries get equal kernels. */
struct onnxd_sim_kernel {
    onnxd_kernel base;
    onnxd_sim *sim; /* held */
    onnxd_kernel *inner;
    onnxd_sim_kernel *next;      /* in the instance's bucket */
    int64_t work_ns;             /* what its last run took; the compute stream's */
    _Atomic uint32_t references; /* reaches 0 under the instance's kernel_mutex */
    char implementation[96];
};

/* What a command carries; the views follow, inputs first. */
typedef struct kernel_payload {
    onnxd_sim_kernel *kernel;
    void *workspace; /* device address */
    uint64_t fault_number;
    uint32_t input_count, output_count;
} kernel_payload;

/* ---- running, on the compute stream -------------------------------------------------------- */

/* Makes device views into views that the CPU's kernel may use. */
static void translate(const onnxd_sim *sim, onnxd_tensor_view *views, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (!onnxd_tensor_view_is_present(&views[i]))
            continue;
        views[i].data = onnxd_sim_host_address(sim, views[i].data);
        views[i].device = onnxd_ep_device_id(sim->cpu);
    }
}

static onnxd_status *run_kernel(void *self, void *payload, int64_t ready_ns)
{
    onnxd_sim_lane *lane = self;
    onnxd_sim *sim = lane->sim;
    const kernel_payload *head = payload;
    char *views = (char *)payload + ONNXD_WORKER_ALIGN_UP(sizeof(*head));
    size_t input_bytes = head->input_count * sizeof(onnxd_tensor_view);
    onnxd_tensor_view *inputs = (onnxd_tensor_view *)(void *)views;
    onnxd_tensor_view *outputs =
        (onnxd_tensor_view *)(void *)(views + ONNXD_WORKER_ALIGN_UP(input_bytes));
    translate(sim, inputs, head->input_count);
    translate(sim, outputs, head->output_count);
    const onnxd_kernel_args args = {.inputs = inputs,
                                    .outputs = outputs,
                                    .input_count = head->input_count,
                                    .output_count = head->output_count,
                                    .workspace = onnxd_sim_host_address(sim, head->workspace)};
    int64_t cost_us = sim->options.launch_latency_us + sim->options.kernel_latency_us;
    onnxd_sim_lane_begin(lane, ready_ns, cost_us * 1000, head->kernel->work_ns);
    int64_t start_ns = onnxd_now_ns();
    onnxd_status *status = NULL;
    if (head->fault_number != 0)
        status = onnxd_error(ONNXD_KERNEL_FAILED, "%s: simulated fault in kernel %llu (%s)",
                             sim->base.label, (unsigned long long)head->fault_number,
                             head->kernel->implementation);
    else
        status = onnxd_kernel_enqueue(head->kernel->inner, &args);
    head->kernel->work_ns = onnxd_now_ns() - start_ns;
    onnxd_sim_lane_end(lane);
    return status;
}

static void release_kernel(onnxd_kernel *base);

static void drop_kernel(void *self, void *payload)
{
    (void)self;
    release_kernel(&((kernel_payload *)payload)->kernel->base);
}

/* ---- issuing ------------------------------------------------------------------------------- */

/* Whether each view lies in the device's memory. Which buffer it belongs to, the executor knows. */
static onnxd_status *check_views(const onnxd_sim *sim, const onnxd_tensor_view *views,
                                 uint32_t count, const char *name)
{
    for (uint32_t i = 0; i < count; i++) {
        if (!onnxd_tensor_view_is_present(&views[i]))
            continue;
        if (!onnxd_device_id_equal(views[i].device, sim->base.device_id) ||
            onnxd_sim_host_address(sim, views[i].data) == NULL)
            return onnxd_error(ONNXD_INVALID_TENSOR_VIEW, "%s: %s %u is not in device memory",
                               sim->base.label, name, i);
        ONNXD_TRY(
            onnxd_tensor_view_check(&views[i], onnxd_sim_bytes_from(sim, views[i].data), name));
    }
    return NULL;
}

static onnxd_status *enqueue_kernel(onnxd_kernel *base, const onnxd_kernel_args *args)
{
    onnxd_sim_kernel *kernel = (onnxd_sim_kernel *)(void *)base;
    onnxd_sim *sim = kernel->sim;
    if (!atomic_load_explicit(&sim->is_open, memory_order_acquire))
        return onnxd_error(ONNXD_NOT_INITIALIZED, "%s is shut down", sim->base.label);
    ONNXD_TRY(check_views(sim, args->inputs, args->input_count, "input"));
    ONNXD_TRY(check_views(sim, args->outputs, args->output_count, "output"));
    if (base->workspace_bytes > onnxd_sim_bytes_from(sim, args->workspace))
        return onnxd_error(ONNXD_INVALID_ARGUMENT,
                           "%s: the workspace of %zu bytes is not in device memory",
                           sim->base.label, base->workspace_bytes);
    kernel_payload head = {.kernel = kernel,
                           .workspace = args->workspace,
                           .input_count = args->input_count,
                           .output_count = args->output_count};
    uint64_t number =
        atomic_fetch_add_explicit(&sim->kernels_enqueued, 1, memory_order_relaxed) + 1;
    if (number == (uint64_t)sim->options.fault_kernel_at)
        head.fault_number = number;
    onnxd_sim_lane *lane = &sim->lanes[ONNXD_STREAM_COMPUTE];
    const onnxd_worker_call call = {run_kernel, drop_kernel, lane};
    const onnxd_worker_piece pieces[] = {
        {&head, sizeof(head)},
        {args->inputs, args->input_count * sizeof(onnxd_tensor_view)},
        {args->outputs, args->output_count * sizeof(onnxd_tensor_view)}};
    atomic_fetch_add_explicit(&kernel->references, 1, memory_order_relaxed);
    onnxd_status *status =
        onnxd_worker_stream_call(lane->stream, &call, pieces, ONNXD_COUNT(pieces), 0);
    if (status != NULL)
        release_kernel(base);
    return status;
}

/* ---- kernels by borrowed kernel ------------------------------------------------------------ */

static onnxd_sim_kernel **bucket_of(onnxd_sim *sim, const onnxd_kernel *inner)
{
    return &sim->kernels[((uintptr_t)inner >> 6) % ONNXD_SIM_KERNEL_BUCKETS];
}

static void release_kernel(onnxd_kernel *base)
{
    onnxd_sim_kernel *kernel = (onnxd_sim_kernel *)(void *)base;
    onnxd_sim *sim = kernel->sim;
    /* Once the reference is gone, others may end the kernel and the sim: it must outlive the
     * unlock below. */
    onnxd_sim_retain(sim);
    pthread_mutex_lock(&sim->kernel_mutex);
    bool is_last = atomic_fetch_sub_explicit(&kernel->references, 1, memory_order_acq_rel) == 1;
    if (is_last) {
        onnxd_sim_kernel **link = bucket_of(sim, kernel->inner);
        while (*link != kernel)
            link = &(*link)->next;
        *link = kernel->next;
    }
    pthread_mutex_unlock(&sim->kernel_mutex);
    if (is_last) {
        onnxd_kernel_release(kernel->inner);
        onnxd_free(kernel);
        onnxd_sim_release(sim);
    }
    onnxd_sim_release(sim);
}

static const onnxd_kernel_api kernel_api = {sizeof(onnxd_kernel_api), enqueue_kernel,
                                            release_kernel};

/* Takes over `inner`, also on failure. */
static onnxd_status *wrap(onnxd_sim *sim, onnxd_kernel *inner, onnxd_kernel **out_kernel)
{
    onnxd_sim_kernel *fresh = onnxd_alloc_zero(1, sizeof(*fresh));
    if (fresh == NULL) {
        onnxd_kernel_release(inner);
        return onnxd_error_out_of_memory("kernel", sizeof(*fresh), UINT64_MAX);
    }
    *fresh = (onnxd_sim_kernel){.sim = sim, .inner = inner, .references = 1};
    snprintf(fresh->implementation, sizeof(fresh->implementation), "sim:%s", inner->implementation);
    /* Whatever the borrowed kernel allows. */
    fresh->base = *inner;
    fresh->base.api = &kernel_api;
    fresh->base.implementation = fresh->implementation;

    pthread_mutex_lock(&sim->kernel_mutex);
    onnxd_sim_kernel **bucket = bucket_of(sim, inner), *found = *bucket;
    while (found != NULL && found->inner != inner)
        found = found->next;
    if (found != NULL) {
        atomic_fetch_add_explicit(&found->references, 1, memory_order_relaxed);
    } else {
        fresh->next = *bucket;
        *bucket = fresh;
        onnxd_sim_retain(sim);
    }
    pthread_mutex_unlock(&sim->kernel_mutex);
    if (found != NULL) {
        onnxd_kernel_release(inner);
        onnxd_free(fresh);
    }
    *out_kernel = found != NULL ? &found->base : &fresh->base;
    return NULL;
}

/* ---- what it supports ---------------------------------------------------------------------- */

static bool has_strings(const onnxd_tensor_type *types, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (types[i].dtype == ONNXD_STRING)
            return true;
    return false;
}

/* The device's own reasons to decline, in one place for supports_op and get_kernel. False when it
 * has none; then the CPU's answer holds. */
static bool declines(const onnxd_sim *sim, const onnxd_op_query *query, char *reason,
                     size_t capacity)
{
    const char *op_type = query->node->op_type;
    if (onnxd_sim_list_has(sim->options.unsupported_ops, op_type)) {
        snprintf(reason, capacity, "option sim.unsupported_ops lists %s", op_type);
        return true;
    }
    if (has_strings(query->inputs, query->input_count) ||
        has_strings(query->outputs, query->output_count)) {
        snprintf(reason, capacity,
                 "strings lie in host memory, which the device cannot address; place %s on the CPU",
                 op_type);
        return true;
    }
    size_t room = onnxd_worker_stream_payload_max(sim->lanes[ONNXD_STREAM_COMPUTE].stream);
    size_t most =
        (room - sizeof(kernel_payload) - 3 * ONNXD_WORKER_ALIGN) / sizeof(onnxd_tensor_view);
    if ((size_t)query->input_count + query->output_count > most) {
        snprintf(reason, capacity, "%s has %zu inputs and outputs, a kernel takes at most %zu",
                 op_type, (size_t)query->input_count + query->output_count, most);
        return true;
    }
    return false;
}

void onnxd_sim_supports_op(onnxd_ep *ep, const onnxd_op_query *query, onnxd_kernel_match *out_match)
{
    onnxd_sim *sim = onnxd_sim_of(ep);
    onnxd_kernel_match match = {0};
    if (declines(sim, query, match.reason, sizeof(match.reason))) {
        *out_match = match;
        return;
    }
    onnxd_ep_supports_op(sim->cpu, query, &match);
    if (match.is_supported && match.cost.is_known) {
        double least_us = (double)sim->options.kernel_latency_us;
        match.cost.compute_us *= sim->options.compute_scale;
        match.cost.memory_us *= sim->options.compute_scale;
        if (match.cost.compute_us < least_us)
            match.cost.compute_us = least_us;
        match.cost.launch_us += (double)sim->options.launch_latency_us;
    }
    *out_match = match;
}

onnxd_status *onnxd_sim_get_kernel(onnxd_ep *ep, const onnxd_op_query *query,
                                   onnxd_kernel **out_kernel)
{
    onnxd_sim *sim = onnxd_sim_of(ep);
    char reason[sizeof(((onnxd_kernel_match *)NULL)->reason)];
    if (declines(sim, query, reason, sizeof(reason)))
        return onnxd_error(ONNXD_NO_EP_FOR_OP, "%s", reason);
    onnxd_kernel *inner;
    ONNXD_TRY(onnxd_ep_get_kernel(sim->cpu, query, &inner));
    return wrap(sim, inner, out_kernel);
}

void onnxd_sim_claim_nodes(onnxd_ep *ep, const onnxd_graph *graph, bool *claimed)
{
    const onnxd_sim *sim = onnxd_sim_of(ep);
    for (uint32_t i = 0; i < graph->node_count; i++)
        if (!graph->nodes[i].is_removed &&
            onnxd_sim_list_has(sim->options.claim_ops, graph->nodes[i].op_type))
            claimed[i] = true;
}
