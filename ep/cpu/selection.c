/*
 * Which implementation runs a query. supports_op and get_kernel both build an onnxd_cpu_case, which
 * makes every check there is, so a claim is never followed by a refusal for the same types.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "ep/cpu/internal.h"

static const onnxd_cpu_entry entries[] = {
#define ONNXD_CPU_KERNEL(domain, op_type, implementation) {domain, op_type, &implementation},
#include "ep/cpu/kernels.inc"
#undef ONNXD_CPU_KERNEL
};

const onnxd_cpu_implementation *onnxd_cpu_next(const onnxd_cpu_case *c,
                                               const onnxd_cpu_implementation *after)
{
    bool is_behind = after == NULL;
    for (size_t i = 0; i < ONNXD_COUNT(entries); i++) {
        const onnxd_cpu_entry *entry = &entries[i];
        bool is_meant = entry->op_type == NULL ||
                        (c->def != NULL && strcmp(entry->domain, c->def->domain) == 0 &&
                         strcmp(entry->op_type, c->def->op_type) == 0);
        if (!is_meant)
            continue;
        if (is_behind && entry->implementation->takes(c))
            return entry->implementation;
        is_behind = is_behind || entry->implementation == after;
    }
    return NULL;
}

/* ---- the checks ------------------------------------------------------------------------------ */

static onnxd_status *find_def(onnxd_ep *ep, const onnxd_op_query *query,
                              const onnxd_op_def **out_def)
{
    const onnxd_node *node = query->node;
    const onnxd_op_registry *ops = ep->host->ops;
    const onnxd_op_def *def = onnxd_op_find(ops, node->domain, node->op_type, query->opset);
    if (def == NULL)
        return onnxd_op_missing(ops, node->domain, node->op_type, query->opset);
    if (node->def != def)
        return onnxd_error(ONNXD_NO_EP_FOR_OP,
                           "operator '%s' was resolved for opset %" PRId64 ", asked for is opset "
                           "%" PRId64 ", where it has another definition",
                           node->op_type, node->opset, query->opset);
    if (query->input_count != node->input_count || query->output_count != node->output_count)
        return onnxd_error(ONNXD_INVALID_ARGUMENT,
                           "the query has %" PRIu32 " inputs and %" PRIu32
                           " outputs, operator '%s' has %" PRIu32 " and %" PRIu32,
                           query->input_count, query->output_count, node->op_type,
                           node->input_count, node->output_count);
    *out_def = def;
    return NULL;
}

static onnxd_status *check_node(const onnxd_op_query *query)
{
    const onnxd_node *node = query->node;
    for (uint32_t i = 0; i < node->attribute_count; i++) {
        onnxd_attribute_kind kind = node->attributes[i].kind;
        if (kind == ONNXD_ATTRIBUTE_GRAPH || kind == ONNXD_ATTRIBUTE_GRAPHS)
            return onnxd_error(ONNXD_NO_EP_FOR_OP,
                               "operator '%s' holds a subgraph, which no kernel of the CPU runs",
                               node->op_type);
    }
    if (onnxd_cpu_attributes_bytes(node) > ONNXD_CPU_ATTRIBUTES_MAX_BYTES)
        return onnxd_error(ONNXD_NO_EP_FOR_OP,
                           "the attributes of operator '%s' take %zu bytes, a kernel takes at most "
                           "%zu",
                           node->op_type, onnxd_cpu_attributes_bytes(node),
                           ONNXD_CPU_ATTRIBUTES_MAX_BYTES);
    for (uint32_t i = 0; query->input_layouts != NULL && i < query->input_count; i++) {
        const onnxd_tensor_layout *layout = &query->input_layouts[i];
        if (layout->blocked != NULL || !layout->strides_are_default)
            return onnxd_error(ONNXD_NO_EP_FOR_OP,
                               "input %" PRIu32 " of operator '%s' is not row-major, which the "
                               "kernels of the CPU need",
                               i, node->op_type);
    }
    for (uint32_t i = 0; i < query->input_count; i++) {
        bool is_named = node->inputs[i] != ONNXD_NONE;
        if (is_named != (query->inputs[i].dtype != ONNXD_UNDEFINED))
            return onnxd_error(ONNXD_NO_EP_FOR_OP,
                               is_named ? "the type of input %" PRIu32 " of operator '%s' is not "
                                          "known"
                                        : "input %" PRIu32 " of operator '%s' is absent, the query "
                                          "gives it a type",
                               i, node->op_type);
    }
    return NULL;
}

/* The inferred type completed by what the caller knows: values that decide shapes are not always at
 * hand here. */
static onnxd_status *merge_output(const onnxd_node *node, uint32_t index,
                                  const onnxd_tensor_type *given, onnxd_tensor_type *type)
{
    if (type->dtype == ONNXD_UNDEFINED || given->dtype == ONNXD_UNDEFINED)
        return NULL;
    bool fits = type->dtype == given->dtype;
    if (type->shape.rank == ONNXD_RANK_UNKNOWN) {
        type->shape = given->shape;
    } else if (given->shape.rank != ONNXD_RANK_UNKNOWN) {
        fits = fits && type->shape.rank == given->shape.rank;
        for (int32_t i = 0; fits && i < type->shape.rank; i++) {
            int64_t own = type->shape.dims[i], other = given->shape.dims[i];
            if (!onnxd_dim_is_static(own))
                type->shape.dims[i] = other;
            else
                fits = !onnxd_dim_is_static(other) || own == other;
        }
    }
    if (fits)
        return NULL;
    char found[ONNXD_SHAPE_TEXT], wanted[ONNXD_SHAPE_TEXT];
    return onnxd_error(ONNXD_INVALID_ARGUMENT,
                       "output %" PRIu32 " of operator '%s' is given as %s %s, it will be %s %s",
                       index, node->op_type, onnxd_dtype_name(given->dtype),
                       onnxd_shape_format(&given->shape, found, sizeof(found)),
                       onnxd_dtype_name(type->dtype),
                       onnxd_shape_format(&type->shape, wanted, sizeof(wanted)));
}

static bool are_static(const onnxd_tensor_type *types, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (types[i].dtype != ONNXD_UNDEFINED && !onnxd_shape_is_static(&types[i].shape))
            return false;
    }
    return true;
}

/* Every element count and size that kernels will calculate fits. */
static onnxd_status *check_sizes(const onnxd_node *node, const onnxd_tensor_type *types,
                                 uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        size_t elements, bytes;
        if (types[i].dtype == ONNXD_UNDEFINED || !onnxd_shape_is_static(&types[i].shape))
            continue;
        if (!onnxd_shape_count(&types[i].shape, &elements) ||
            !onnxd_dtype_bytes(types[i].dtype, elements, &bytes) || bytes > PTRDIFF_MAX)
            return onnxd_error(ONNXD_INVALID_ARGUMENT, "a tensor of operator '%s' is too large",
                               node->op_type);
    }
    return NULL;
}

static void case_deinit(onnxd_cpu_case *c)
{
    onnxd_free(c->outputs);
    c->outputs = NULL;
}

/* All zero but what is known on failure; to be ended with case_deinit() in any case. */
static onnxd_status *case_init(onnxd_cpu_case *c, onnxd_ep *ep, const onnxd_op_query *query)
{
    *c = (onnxd_cpu_case){
        .runtime = onnxd_cpu_ep_of(ep)->runtime, .query = query, .node = query->node};
    ONNXD_TRY(find_def(ep, query, &c->def));
    ONNXD_TRY(check_node(query));
    ONNXD_TRY(check_sizes(c->node, query->inputs, query->input_count));
    c->outputs = onnxd_alloc_zero((size_t)query->output_count + 1, sizeof(*c->outputs));
    if (c->outputs == NULL)
        return onnxd_error_out_of_memory("a query", query->output_count * sizeof(*c->outputs),
                                         UINT64_MAX);
    ONNXD_TRY(onnxd_op_infer(c->node, query->inputs, (const onnxd_tensor *const *)query->constants,
                             c->outputs));
    for (uint32_t i = 0; i < query->output_count; i++) {
        if (c->node->outputs[i] == ONNXD_NONE)
            c->outputs[i] = (onnxd_tensor_type){.dtype = ONNXD_UNDEFINED};
        ONNXD_TRY(merge_output(c->node, i, &query->outputs[i], &c->outputs[i]));
    }
    ONNXD_TRY(check_sizes(c->node, c->outputs, query->output_count));
    c->is_static = are_static(query->inputs, query->input_count) &&
                   are_static(c->outputs, query->output_count);
    if (onnxd_cpu_next(c, NULL) == NULL)
        return onnxd_error(ONNXD_NO_EP_FOR_OP, "operator '%s' has no kernel for the CPU",
                           c->node->op_type);
    return NULL;
}

/* ---- the two questions ----------------------------------------------------------------------- */

static uint64_t hash_of(const void *data, size_t bytes)
{
    const unsigned char *at = data;
    uint64_t hash = 0xcbf29ce484222325u;
    for (size_t i = 0; i < bytes; i++)
        hash = (hash ^ at[i]) * 0x100000001b3u;
    return hash;
}

/* From the cache, or made and put there. Takes over `key`. */
static onnxd_status *find_or_create(const onnxd_cpu_case *c, onnxd_cpu_runtime *runtime, void *key,
                                    size_t key_bytes, onnxd_cpu_kernel **out_kernel)
{
    uint64_t hash = hash_of(key, key_bytes);
    onnxd_cpu_kernel *kernel = onnxd_cpu_runtime_find(runtime, key, key_bytes, hash);
    onnxd_status *status = NULL;
    if (kernel == NULL) {
        status = onnxd_cpu_kernel_create(c, runtime, &kernel);
        if (status == NULL) {
            kernel->key = key;
            kernel->key_bytes = key_bytes;
            kernel->hash = hash;
            key = NULL;
            onnxd_cpu_runtime_add(runtime, kernel);
        }
    }
    onnxd_free(key);
    if (status == NULL)
        *out_kernel = kernel;
    return status;
}

/* Which implementation runs the case. Whether oneDNN has fast code for shapes, only trying tells;
 * what was found out holds for every node of the kind, and a kernel that can be shared stays in the
 * cache for get_kernel. */
static onnxd_status *decide(const onnxd_cpu_case *c, onnxd_cpu_runtime *runtime,
                            const onnxd_cpu_implementation **out_implementation)
{
    const onnxd_cpu_implementation *implementation = onnxd_cpu_next(c, NULL);
    void *key = NULL;
    size_t key_bytes = 0;
    if (!c->is_static || !implementation->may_refuse) {
        *out_implementation = implementation;
        return NULL;
    }
    ONNXD_TRY(onnxd_cpu_key_make(c, ONNXD_CPU_KEY_VERDICT, &key, &key_bytes));
    uint64_t hash = hash_of(key, key_bytes);
    onnxd_free(key);
    implementation = onnxd_cpu_runtime_verdict(runtime, hash);
    if (implementation == NULL) {
        onnxd_cpu_kernel *kernel = NULL;
        ONNXD_TRY(onnxd_cpu_key_make(c, ONNXD_CPU_KEY_KERNEL, &key, &key_bytes));
        ONNXD_TRY(find_or_create(c, runtime, key, key_bytes, &kernel));
        implementation = kernel->implementation;
        onnxd_cpu_runtime_judge(runtime, hash, implementation);
        onnxd_cpu_runtime_put(kernel);
    }
    *out_implementation = implementation;
    return NULL;
}

void onnxd_cpu_supports_op(onnxd_ep *ep, const onnxd_op_query *query, onnxd_kernel_match *out_match)
{
    onnxd_kernel_match match = {0};
    onnxd_cpu_case c;
    const onnxd_cpu_implementation *implementation = NULL;
    onnxd_status *status = case_init(&c, ep, query);
    if (status == NULL)
        status = decide(&c, onnxd_cpu_ep_of(ep)->runtime, &implementation);
    if (status == NULL) {
        match.is_supported = true;
        onnxd_cpu_cost(&c, implementation, &match.cost);
        snprintf(match.reason, sizeof(match.reason), "%s", implementation->name);
    } else {
        snprintf(match.reason, sizeof(match.reason), "%s", onnxd_status_message(status));
    }
    onnxd_status_free(status);
    case_deinit(&c);
    *out_match = match;
}

onnxd_status *onnxd_cpu_get_kernel(onnxd_ep *ep, const onnxd_op_query *query,
                                   onnxd_kernel **out_kernel)
{
    onnxd_cpu_case c;
    void *key = NULL;
    size_t key_bytes = 0;
    onnxd_cpu_kernel *kernel = NULL;
    onnxd_status *status = case_init(&c, ep, query);
    /* What supports_op tells as a reason is the message of one code here. */
    if (status != NULL && onnxd_status_code(status) != ONNXD_OUT_OF_MEMORY &&
        onnxd_status_code(status) != ONNXD_NO_EP_FOR_OP) {
        onnxd_status *refusal = onnxd_error(ONNXD_NO_EP_FOR_OP, "%s", onnxd_status_message(status));
        onnxd_status_free(status);
        status = refusal;
    }
    if (status == NULL && !c.is_static)
        status =
            onnxd_error(ONNXD_INVALID_ARGUMENT, "a kernel for operator '%s' needs static shapes",
                        query->node->op_type);
    if (status == NULL)
        status = onnxd_cpu_key_make(&c, ONNXD_CPU_KEY_KERNEL, &key, &key_bytes);
    if (status == NULL)
        status = find_or_create(&c, onnxd_cpu_ep_of(ep)->runtime, key, key_bytes, &kernel);
    if (status == NULL)
        *out_kernel = &kernel->base;
    case_deinit(&c);
    return status;
}
