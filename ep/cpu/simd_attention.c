/* Attention without a cache of keys and values, its Q, K and V packed by heads or not. */
#include <math.h>

#include "ep/cpu/compute/attention.h"
#include "ep/cpu/simd.h"
#include "ops/attention/attention.h"

enum { Q, K, V, MASK, PAST_KEY };

static bool takes(const onnxd_cpu_case *c)
{
    const onnxd_attention_params *params = c->node->params;
    if (!c->runtime->uses_vector_kernels || params->softcap > 0 || params->left_window >= 0 ||
        params->right_window >= 0 ||
        (params->softmax_dtype != ONNXD_UNDEFINED && params->softmax_dtype != ONNXD_FLOAT))
        return false;
    for (uint32_t i = Q; i <= V; i++)
        if (c->query->inputs[i].dtype != ONNXD_FLOAT)
            return false;
    if (onnxd_cpu_has_input(c, MASK) && c->query->inputs[MASK].dtype != ONNXD_FLOAT &&
        c->query->inputs[MASK].dtype != ONNXD_BOOL)
        return false;
    for (uint32_t i = PAST_KEY; i < c->query->input_count; i++)
        if (onnxd_cpu_has_input(c, i))
            return false;
    for (uint32_t i = 1; i < c->query->output_count; i++)
        if (onnxd_cpu_has_output(c, i))
            return false;
    return true;
}

/* [batch, length, heads * size] or [batch, heads, length, size] */
typedef struct operand {
    size_t heads, length, size;
    onnxd_head_strides strides;
} operand;

static operand operand_of(const onnxd_shape *shape, int64_t heads)
{
    const int64_t *dims = shape->dims;
    operand o;
    if (shape->rank == 4) {
        o = (operand){.heads = (size_t)dims[1], .length = (size_t)dims[2], .size = (size_t)dims[3]};
        o.strides = (onnxd_head_strides){o.heads * o.length * o.size, o.length * o.size, o.size};
        return o;
    }
    const size_t row = (size_t)dims[2];
    o = (operand){.heads = (size_t)heads, .length = (size_t)dims[1], .size = row / (size_t)heads};
    o.strides = (onnxd_head_strides){o.length * row, o.size, row};
    return o;
}

/* A mask broadcasts; one of fewer keys hides those behind. */
static void set_mask(onnxd_head_attention *a, const onnxd_tensor_type *mask)
{
    const onnxd_shape *shape = &mask->shape;
    size_t *const strides[] = {&a->mask.row, &a->mask.head, &a->mask.batch};
    const size_t length = (size_t)shape->dims[shape->rank - 1];
    size_t stride = length;
    a->mask_kind = mask->dtype == ONNXD_BOOL ? ONNXD_MASK_BOOLEAN : ONNXD_MASK_ADDED;
    a->keys = length < a->keys ? length : a->keys;
    for (int32_t i = shape->rank - 1, s = 0; i-- > 0 && s < 3; s++) {
        *strides[s] = shape->dims[i] == 1 ? 0 : stride;
        stride *= (size_t)shape->dims[i];
    }
}

static onnxd_head_attention attention_of(const onnxd_cpu_case *c)
{
    const onnxd_attention_params *params = c->node->params;
    const onnxd_tensor_type *inputs = c->query->inputs;
    const operand q = operand_of(&inputs[Q].shape, params->q_heads);
    const operand k = operand_of(&inputs[K].shape, params->kv_heads);
    const operand v = operand_of(&inputs[V].shape, params->kv_heads);
    onnxd_head_attention a = {.simd = c->runtime->simd,
                              .batch = (size_t)inputs[Q].shape.dims[0],
                              .heads = q.heads,
                              .group = k.heads == 0 ? 0 : q.heads / k.heads,
                              .queries = q.length,
                              .keys = k.length,
                              .head_size = q.size,
                              .v_head_size = v.size,
                              .q = q.strides,
                              .k = k.strides,
                              .v = v.strides,
                              .y = operand_of(&c->outputs[0].shape, params->q_heads).strides,
                              .is_causal = params->is_causal};
    a.scale = params->has_scale ? params->scale : (float)(1 / sqrt((double)q.size));
    if (onnxd_cpu_has_input(c, MASK))
        set_mask(&a, &inputs[MASK]);
    return a;
}

static onnxd_status *make(const onnxd_cpu_case *c, onnxd_cpu_kernel *kernel)
{
    size_t elements;
    onnxd_head_attention *a = onnxd_arena_alloc_zero(&kernel->arena, 1, sizeof(*a));
    if (a == NULL)
        return onnxd_error_out_of_memory("an attention", sizeof(*a), UINT64_MAX);
    *a = attention_of(c);
    if (a->batch == 0 || a->heads == 0 || a->group == 0 || a->queries == 0 || a->keys == 0 ||
        a->head_size == 0 || a->v_head_size == 0)
        return onnxd_error(ONNXD_UNIMPLEMENTED, "this attention has no elements");
    if (!onnxd_head_attention_plan(a, onnxd_team_threads(c->runtime->team), &elements))
        return onnxd_error(ONNXD_UNIMPLEMENTED, "this attention is too large");
    kernel->base.workspace_bytes = elements * sizeof(float);
    kernel->state = a;
    onnxd_simd_name(kernel, "attention");
    return NULL;
}

static onnxd_status *enqueue(onnxd_cpu_kernel *kernel, const onnxd_kernel_args *args)
{
    const onnxd_head_attention_data data = {.q = onnxd_simd_input(args, Q),
                                            .k = onnxd_simd_input(args, K),
                                            .v = onnxd_simd_input(args, V),
                                            .mask = onnxd_simd_input(args, MASK),
                                            .y = onnxd_simd_output(args, 0)};
    onnxd_head_attention_run(kernel->state, kernel->runtime->team, &data, args->workspace);
    return NULL;
}

static void unmake(onnxd_cpu_kernel *kernel)
{
    kernel->state = NULL;
}

const onnxd_cpu_implementation onnxd_cpu_simd_attention = {
    .name = "simd:attention",
    .takes = takes,
    .make = make,
    .enqueue = enqueue,
    .unmake = unmake,
    .flops_per_us = 60e3,
    .may_refuse = true,
};
