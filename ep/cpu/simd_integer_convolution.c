/* QLinearConv and ConvInteger of the domain onnxd: channels-last, with constant weights. */
#include <string.h>

#include "base/alloc.h"
#include "ep/cpu/compute/integer_convolution.h"
#include "ep/cpu/simd_quantized.h"
#include "ops/layout/channels_last.h"

static const onnxd_quantized_inputs quantized = {0, 1, 2, 3, 4, 5, 6, 7, 8};
static const onnxd_quantized_inputs integer = {
    0, ONNXD_ABSENT, 2, 1, ONNXD_ABSENT, 3, ONNXD_ABSENT, ONNXD_ABSENT, ONNXD_ABSENT};

/* What is added to the result of QLinearConv. */
enum { OTHER = 9, OTHER_SCALE, OTHER_ZERO, SUM_SCALE, SUM_ZERO };

static const onnxd_quantized_inputs *positions_of(const onnxd_op_def *def)
{
    return strcmp(def->op_type, "QLinearConv") == 0 ? &quantized : &integer;
}

/* One channel for each map and group would fill a tile's columns with one. */
static bool is_depthwise(const onnxd_shape *weights, int64_t groups)
{
    return groups > 1 && weights->dims[1] == 1;
}

static bool takes_addition(const onnxd_cpu_case *c)
{
    const onnxd_dtype dtype = c->outputs[0].dtype;
    return onnxd_is_bytes(dtype) && c->query->inputs[OTHER].dtype == dtype &&
           onnxd_quantized_is_parameter(c, OTHER_SCALE, ONNXD_FLOAT, 0) &&
           onnxd_quantized_is_parameter(c, OTHER_ZERO, dtype, 0) &&
           onnxd_quantized_is_parameter(c, SUM_SCALE, ONNXD_FLOAT, 0) &&
           onnxd_quantized_is_parameter(c, SUM_ZERO, dtype, 0);
}

static bool takes(const onnxd_cpu_case *c)
{
    const onnxd_quantized_inputs *at = positions_of(c->def);
    const onnxd_conv_params *params = c->node->params;
    const onnxd_tensor *weights = onnxd_cpu_constant(c, at->b);
    return weights != NULL && !is_depthwise(&weights->shape, params->group) &&
           onnxd_quantized_takes(c, at, weights->shape.dims[0]) &&
           (!onnxd_cpu_has_input(c, OTHER) || takes_addition(c));
}

typedef struct convolution_state {
    onnxd_integer_convolution convolution;
    onnxd_cpu_packed *packed;
    /* Of constant scales, zero points and bias, in memory of their own; NULL: made for each run. */
    void *columns_memory;
    onnxd_quantized_columns columns;
    size_t columns_bytes; /* of the workspace's first part; 0 where they are there */
    size_t packed_bytes;  /* fours: behind them are the sums of the maps */
} convolution_state;

typedef struct pack_context {
    const onnxd_integer_convolution *convolution;
    uint8_t flip;
    size_t sums; /* fours: where the sums of the maps stand */
} pack_context;

static void pack(const void *context, const onnxd_tensor *tensor, void *out)
{
    const pack_context *p = context;
    onnxd_integer_convolution_pack(p->convolution, tensor->data, p->flip, out);
    if (p->convolution->is_fours)
        onnxd_integer_convolution_sum(p->convolution, tensor->data,
                                      (int32_t *)(void *)((char *)out + p->sums));
}

static void unmake(onnxd_cpu_kernel *kernel)
{
    convolution_state *state = kernel->state;
    if (state == NULL)
        return;
    if (state->packed != NULL)
        onnxd_cpu_packed_release(&kernel->runtime->packed, state->packed);
    onnxd_free(state->columns_memory);
    onnxd_free(state);
    kernel->state = NULL;
}

static onnxd_convolution_shape shape_of(const onnxd_cpu_case *c, const onnxd_quantized_inputs *at)
{
    const onnxd_conv_params *params = c->node->params;
    const onnxd_shape *weights = &c->query->inputs[at->b].shape;
    return (onnxd_convolution_shape){
        .window = onnxd_simd_window_of(&c->query->inputs[at->a].shape, &params->window,
                                       weights->dims + 2),
        .groups = (size_t)params->group,
        .maps = (size_t)weights->dims[0],
    };
}

static size_t aligned(size_t bytes)
{
    return (bytes + ONNXD_PACKED_ALIGNMENT - 1) / ONNXD_PACKED_ALIGNMENT * ONNXD_PACKED_ALIGNMENT;
}

static const char *form_of(const onnxd_integer_convolution *c)
{
    if (c->is_fours)
        return c->is_by_rows ? "byte_rows" : c->is_gathered ? "byte_gathered" : "byte_direct";
    return c->is_gathered ? "integer_gathered" : "integer_direct";
}

/* The columns for these arguments, in memory of columns_bytes. */
static onnxd_quantized_columns columns_of(const onnxd_cpu_kernel *kernel,
                                          const convolution_state *state,
                                          const onnxd_quantized_inputs *at,
                                          const onnxd_kernel_args *args, void *memory)
{
    const onnxd_integer_convolution *convolution = &state->convolution;
    const char *packed = onnxd_cpu_packed_data(state->packed);
    const int32_t *sums = convolution->is_fours
                              ? (const int32_t *)(const void *)(packed + state->packed_bytes)
                              : NULL;
    return onnxd_quantized_columns_of(kernel->runtime->simd, args, at, convolution->shape.groups,
                                      convolution->group_maps, 1, sums,
                                      onnxd_quantized_zero_byte(args, at->a_zero), memory);
}

static bool are_constant(const onnxd_cpu_case *c, const onnxd_quantized_inputs *at)
{
    const uint32_t parameters[] = {at->a_scale, at->a_zero, at->b_scale, at->b_zero,
                                   at->y_scale, at->y_zero, at->bias};
    for (size_t i = 0; i < ONNXD_COUNT(parameters); i++)
        if (parameters[i] != ONNXD_ABSENT && onnxd_cpu_has_input(c, parameters[i]) &&
            onnxd_cpu_constant(c, parameters[i]) == NULL)
            return false;
    return true;
}

static onnxd_status *keep_columns(const onnxd_cpu_kernel *kernel, const onnxd_quantized_inputs *at,
                                  size_t bytes, convolution_state *state)
{
    onnxd_tensor_view inputs[SUM_ZERO + 1];
    onnxd_tensor_view output = {.dtype = kernel->outputs[0].dtype};
    const onnxd_kernel_args args = {.inputs = inputs,
                                    .outputs = &output,
                                    .input_count = kernel->input_count,
                                    .output_count = 1};
    for (uint32_t i = 0; i < kernel->input_count; i++)
        inputs[i] = kernel->constants[i] != NULL ? onnxd_tensor_as_view(kernel->constants[i])
                                                 : (onnxd_tensor_view){.dtype = ONNXD_UNDEFINED};
    state->columns_memory = onnxd_alloc(bytes);
    if (state->columns_memory == NULL)
        return onnxd_error_out_of_memory("a convolution", bytes, UINT64_MAX);
    state->columns = columns_of(kernel, state, at, &args, state->columns_memory);
    return NULL;
}

static onnxd_status *build(const onnxd_cpu_case *c, onnxd_cpu_kernel *kernel,
                           convolution_state *state)
{
    const onnxd_quantized_inputs *at = positions_of(c->def);
    const onnxd_convolution_shape shape = shape_of(c, at);
    onnxd_integer_convolution *convolution = &state->convolution;
    const uint8_t *weights = onnxd_cpu_constant(c, at->b)->data;
    const bool allows_fours =
        c->query->inputs[at->a].dtype == ONNXD_UINT8 && onnxd_quantized_allows_fours(c, at);
    size_t bytes;
    if (!onnxd_integer_convolution_init(convolution, c->runtime->simd, &shape,
                                        allows_fours ? weights : NULL,
                                        onnxd_team_threads(c->runtime->team)) ||
        !onnxd_quantized_columns_bytes(c->runtime->simd, shape.groups, convolution->group_maps,
                                       &bytes) ||
        bytes > SIZE_MAX / 4 || convolution->workspace_bytes > SIZE_MAX / 4)
        return onnxd_error(ONNXD_UNIMPLEMENTED, "this convolution is too large");
    state->packed_bytes = aligned(onnxd_integer_convolution_packed_bytes(convolution));
    const pack_context context = {.convolution = convolution,
                                  .flip = c->query->inputs[at->b].dtype == ONNXD_INT8 ? 0 : 0x80,
                                  .sums = state->packed_bytes};
    const onnxd_cpu_packing packing = {.form = form_of(convolution),
                                       .parameters = {shape.groups},
                                       .bytes = state->packed_bytes + shape.maps * sizeof(int32_t),
                                       .pack = pack,
                                       .context = &context};
    ONNXD_TRY(onnxd_cpu_packed_acquire(&kernel->runtime->packed, kernel->constants[at->b], &packing,
                                       &state->packed));
    if (are_constant(c, at))
        ONNXD_TRY(keep_columns(kernel, at, bytes, state));
    else
        state->columns_bytes = aligned(bytes);
    kernel->base.workspace_bytes = state->columns_bytes + convolution->workspace_bytes;
    onnxd_simd_name(kernel, packing.form);
    return NULL;
}

static onnxd_status *make(const onnxd_cpu_case *c, onnxd_cpu_kernel *kernel)
{
    convolution_state *state = onnxd_alloc_zero(1, sizeof(*state));
    if (state == NULL)
        return onnxd_error_out_of_memory("a convolution", sizeof(*state), UINT64_MAX);
    kernel->state = state;
    onnxd_status *status = build(c, kernel, state);
    if (status != NULL)
        unmake(kernel);
    return status;
}

static onnxd_simd_byte_addend other_of(const onnxd_kernel_args *args,
                                       const onnxd_quantized_inputs *at, size_t maps)
{
    const onnxd_tensor_view *other = onnxd_quantized_view(args, OTHER);
    const float scale = onnxd_quantized_scale(args, SUM_SCALE);
    if (other == NULL)
        return (onnxd_simd_byte_addend){.rows = NULL};
    return (onnxd_simd_byte_addend){
        .rows = onnxd_tensor_view_data(other),
        .stride = maps,
        .zero = onnxd_quantized_zero(args, OTHER_ZERO, other->dtype),
        .own_factor = onnxd_quantized_scale(args, at->y_scale) / scale,
        .factor = onnxd_quantized_scale(args, OTHER_SCALE) / scale,
        .range = onnxd_quantized_range(args, SUM_ZERO, other->dtype),
    };
}

static onnxd_status *enqueue(onnxd_cpu_kernel *kernel, const onnxd_kernel_args *args)
{
    const convolution_state *state = kernel->state;
    const onnxd_integer_convolution *c = &state->convolution;
    const onnxd_quantized_inputs *at = positions_of(kernel->node.def);
    const onnxd_tensor_view *in = &args->inputs[at->a];
    const uint8_t zero = onnxd_quantized_zero_byte(args, at->a_zero);
    const onnxd_quantized_columns columns =
        state->columns_memory != NULL ? state->columns
                                      : columns_of(kernel, state, at, args, args->workspace);
    onnxd_simd_integer_post post = onnxd_quantized_post(&columns, args, at);
    post.other = other_of(args, at, c->shape.maps);
    const onnxd_integer_convolution_call call = {
        .c = c,
        .team = kernel->runtime->team,
        .in = onnxd_tensor_view_data(in),
        .in_byte = zero,
        .in_zero = onnxd_quantized_zero(args, at->a_zero, in->dtype),
        .packed = onnxd_cpu_packed_data(state->packed),
        .zeros = columns.zeros,
        .post = post,
        .out = onnxd_tensor_view_data(&args->outputs[0]),
        .workspace = (char *)args->workspace + state->columns_bytes,
    };
    onnxd_integer_convolution_run(&call);
    return NULL;
}

const onnxd_cpu_implementation onnxd_cpu_simd_integer_convolution = {
    .name = "simd:integer_convolution",
    .takes = takes,
    .make = make,
    .enqueue = enqueue,
    .unmake = unmake,
    .flops_per_us = 150e3,
    .may_refuse = true,
};
