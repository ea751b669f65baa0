/* Products of quantised matrices with constant weights: MatMulInteger, QLinearMatMul, QGemm,
 * MatMulIntegerToFloat, and DynamicQuantizeMatMul, which quantises its left factor itself. */
#include <string.h>

#include "base/alloc.h"
#include "base/size_math.h"
#include "ep/cpu/compute/quantize.h"
#include "ep/cpu/simd_quantized.h"
#include "graph/attributes.h"
#include "ops/nn.h"

/* ---- operators ------------------------------------------------------------------------------- */

static const struct {
    const char *op_type;
    onnxd_quantized_inputs at;
} operators[] = {
    {"MatMulInteger",
     {0, ONNXD_ABSENT, 2, 1, ONNXD_ABSENT, 3, ONNXD_ABSENT, ONNXD_ABSENT, ONNXD_ABSENT}},
    {"QLinearMatMul", {0, 1, 2, 3, 4, 5, 6, 7, ONNXD_ABSENT}},
    {"QGemm", {0, 1, 2, 3, 4, 5, 7, 8, 6}},
    {"MatMulIntegerToFloat", {0, 2, 4, 1, 3, 5, ONNXD_ABSENT, ONNXD_ABSENT, 6}},
    {"DynamicQuantizeMatMul",
     {0, ONNXD_ABSENT, ONNXD_ABSENT, 1, 2, 3, ONNXD_ABSENT, ONNXD_ABSENT, 4}},
};

static const onnxd_quantized_inputs *positions_of(const onnxd_op_def *def)
{
    size_t i = 0;
    while (strcmp(operators[i].op_type, def->op_type) != 0)
        i++;
    return &operators[i].at;
}

static bool is_gemm(const onnxd_op_def *def)
{
    return strcmp(def->op_type, "QGemm") == 0;
}

static int64_t int_attribute(const onnxd_node *node, const char *name)
{
    const onnxd_attribute *attribute = onnxd_node_attribute(node, name);
    return attribute == NULL ? 0 : attribute->value.i;
}

static float alpha_of(const onnxd_node *node)
{
    const onnxd_attribute *attribute = onnxd_node_attribute(node, "alpha");
    return attribute == NULL ? 1 : attribute->value.f;
}

static bool transposes_b(const onnxd_cpu_case *c)
{
    return is_gemm(c->def) && int_attribute(c->node, "transB") != 0;
}

/* ---- what is taken --------------------------------------------------------------------------- */

/* None, one value, or one for each of the columns: [], [1], [columns], [1, columns]. */
static bool is_row(const onnxd_cpu_case *c, uint32_t index, int64_t columns)
{
    size_t count;
    if (index == ONNXD_ABSENT || !onnxd_cpu_has_input(c, index))
        return true;
    const onnxd_shape *shape = &c->query->inputs[index].shape;
    if (!onnxd_shape_is_static(shape) || !onnxd_shape_count(shape, &count) || shape->rank > 2)
        return false;
    return count == 1 || (shape->rank > 0 && shape->dims[shape->rank - 1] == columns &&
                          count == (uint64_t)columns);
}

static int64_t columns_of(const onnxd_cpu_case *c, const onnxd_quantized_inputs *at)
{
    return onnxd_cpu_constant(c, at->b)->shape.dims[transposes_b(c) ? 0 : 1];
}

static bool has_matrix(const onnxd_cpu_case *c, const onnxd_quantized_inputs *at)
{
    const onnxd_tensor *b = onnxd_cpu_constant(c, at->b);
    return b != NULL && b->shape.rank == 2 && b->count > 0 &&
           !(is_gemm(c->def) && int_attribute(c->node, "transA") != 0) &&
           is_row(c, at->bias, columns_of(c, at));
}

static bool takes(const onnxd_cpu_case *c)
{
    const onnxd_quantized_inputs *at = positions_of(c->def);
    return has_matrix(c, at) && onnxd_quantized_takes(c, at, columns_of(c, at));
}

static bool takes_dynamic(const onnxd_cpu_case *c)
{
    const onnxd_quantized_inputs *at = positions_of(c->def);
    return c->runtime->uses_vector_kernels && has_matrix(c, at) &&
           c->query->inputs[at->a].dtype == ONNXD_FLOAT &&
           onnxd_quantized_is_parameter(c, at->b_scale, ONNXD_FLOAT, columns_of(c, at)) &&
           onnxd_quantized_is_parameter(c, at->b_zero, c->query->inputs[at->b].dtype,
                                        columns_of(c, at));
}

/* ---- the kernel ------------------------------------------------------------------------------ */

typedef struct product_state {
    const onnxd_quantized_inputs *at;
    onnxd_cpu_packed *packed;
    size_t rows, depth, columns, steps;
    bool is_fours; /* multiplied as bytes; behind the packed weights are the sums of the columns */
    size_t packed_bytes;
    size_t columns_bytes, quantized_bytes; /* of the workspace's first parts */
    float alpha;
} product_state;

typedef struct pack_context {
    const onnxd_simd *simd;
    onnxd_integer_matrix matrix;
    size_t sums; /* fours: where the sums of the columns stand */
} pack_context;

static void pack(const void *context, const onnxd_tensor *tensor, void *out)
{
    const pack_context *p = context;
    onnxd_integer_matrix matrix = p->matrix;
    matrix.data = tensor->data;
    onnxd_integer_pack(p->simd, &matrix, out);
    if (matrix.step == ONNXD_FOUR)
        onnxd_integer_sum_columns(&matrix, (int32_t *)(void *)((char *)out + p->sums));
}

static void unmake(onnxd_cpu_kernel *kernel)
{
    product_state *state = kernel->state;
    if (state == NULL)
        return;
    if (state->packed != NULL)
        onnxd_cpu_packed_release(&kernel->runtime->packed, state->packed);
    onnxd_free(state);
    kernel->state = NULL;
}

static void measure(const onnxd_cpu_case *c, product_state *state)
{
    const onnxd_shape *a = &c->query->inputs[state->at->a].shape;
    if (is_gemm(c->def)) {
        state->rows = (size_t)a->dims[0];
        state->depth = (size_t)a->dims[1];
    } else {
        const onnxd_matmul_extent e =
            onnxd_matmul_extent_of(a, &c->query->inputs[state->at->b].shape);
        /* One B for all: the batch of A is just more rows. */
        state->rows = e.rows * onnxd_matmul_batches(&e);
        state->depth = e.depth;
    }
    state->columns = (size_t)columns_of(c, state->at);
}

static size_t aligned(size_t bytes)
{
    return (bytes + ONNXD_PACKED_ALIGNMENT - 1) / ONNXD_PACKED_ALIGNMENT * ONNXD_PACKED_ALIGNMENT;
}

/* The columns' parameters, what is quantised here, and A widened. */
static bool divide_workspace(const onnxd_cpu_kernel *kernel, product_state *state, bool is_dynamic,
                             size_t *out_bytes)
{
    size_t bytes, elements;
    if (!onnxd_size_mul(state->rows, ONNXD_FOUR * state->steps, &elements) ||
        elements > SIZE_MAX / 8 ||
        !onnxd_quantized_columns_bytes(kernel->runtime->simd, 1, state->columns, &bytes) ||
        bytes > SIZE_MAX / 8)
        return false;
    state->columns_bytes = aligned(bytes);
    state->quantized_bytes = is_dynamic ? aligned(state->rows * state->depth) : 0;
    *out_bytes = state->columns_bytes + state->quantized_bytes;
    if (!state->is_fours)
        *out_bytes += aligned(state->rows * ONNXD_PAIR * state->steps * sizeof(int16_t));
    return true;
}

/* Bytes where A has them and its rows are whole steps. */
static void choose_step(const onnxd_cpu_case *c, product_state *state, bool is_dynamic,
                        onnxd_integer_matrix *matrix)
{
    onnxd_integer_matrix b = *matrix;
    b.data = onnxd_cpu_constant(c, state->at->b)->data;
    state->is_fours = (is_dynamic || c->query->inputs[state->at->a].dtype == ONNXD_UINT8) &&
                      state->depth % ONNXD_FOUR == 0 &&
                      onnxd_quantized_allows_fours(c, state->at) &&
                      onnxd_integer_fits_fours(c->runtime->simd, &b);
    matrix->step = state->is_fours ? ONNXD_FOUR : ONNXD_PAIR;
}

static onnxd_status *build(const onnxd_cpu_case *c, onnxd_cpu_kernel *kernel, product_state *state,
                           bool is_dynamic)
{
    const onnxd_simd *simd = kernel->runtime->simd;
    const bool is_transposed = transposes_b(c);
    state->at = positions_of(c->def);
    state->alpha = is_gemm(c->def) ? alpha_of(c->node) : 1;
    measure(c, state);
    pack_context context = {
        .simd = simd,
        .matrix = {.flip = c->query->inputs[state->at->b].dtype == ONNXD_INT8 ? 0 : 0x80,
                   .taps = 1,
                   .depth = state->depth,
                   .columns = state->columns,
                   .step_stride = is_transposed ? 1 : state->columns,
                   .column_stride = is_transposed ? state->depth : 1}};
    choose_step(c, state, is_dynamic, &context.matrix);
    onnxd_cpu_packing packing = {
        .form = "integer_product",
        .parameters = {state->depth, state->columns, is_transposed, context.matrix.step},
        .pack = pack,
        .context = &context};
    state->steps = onnxd_integer_steps(&context.matrix);
    if (!onnxd_integer_packed_bytes(simd, &context.matrix, &packing.bytes) ||
        packing.bytes > SIZE_MAX / 8 ||
        !divide_workspace(kernel, state, is_dynamic, &kernel->base.workspace_bytes))
        return onnxd_error(ONNXD_UNIMPLEMENTED, "this product is too large");
    context.sums = state->packed_bytes = aligned(packing.bytes);
    packing.bytes = context.sums + state->columns * sizeof(int32_t);
    ONNXD_TRY(onnxd_cpu_packed_acquire(&kernel->runtime->packed, kernel->constants[state->at->b],
                                       &packing, &state->packed));
    onnxd_simd_name(kernel, state->is_fours ? "byte_product" : "integer_product");
    return NULL;
}

static onnxd_status *make_either(const onnxd_cpu_case *c, onnxd_cpu_kernel *kernel, bool is_dynamic)
{
    product_state *state = onnxd_alloc_zero(1, sizeof(*state));
    if (state == NULL)
        return onnxd_error_out_of_memory("a product", sizeof(*state), UINT64_MAX);
    kernel->state = state;
    onnxd_status *status = build(c, kernel, state, is_dynamic);
    if (status != NULL)
        unmake(kernel);
    return status;
}

static onnxd_status *make(const onnxd_cpu_case *c, onnxd_cpu_kernel *kernel)
{
    return make_either(c, kernel, false);
}

/* The product of the bytes `a` of a type; `alpha` is one factor more of the result. */
static void multiply(onnxd_cpu_kernel *kernel, const onnxd_kernel_args *args, const uint8_t *a,
                     bool is_signed, uint8_t zero, float alpha)
{
    const product_state *state = kernel->state;
    const onnxd_simd *simd = kernel->runtime->simd;
    const char *packed = onnxd_cpu_packed_data(state->packed);
    char *scratch = args->workspace;
    const int32_t *column_sums =
        state->is_fours ? (const int32_t *)(const void *)(packed + state->packed_bytes) : NULL;
    const onnxd_quantized_columns columns = onnxd_quantized_columns_of(
        simd, args, state->at, 1, state->columns, alpha, column_sums, zero, scratch);
    int16_t *widened = (int16_t *)(void *)(scratch + state->columns_bytes + state->quantized_bytes);
    const onnxd_integer_widening widening = {
        .simd = simd,
        .rows = state->rows,
        .depth = state->depth,
        .out_stride = ONNXD_PAIR * state->steps,
        .in = a,
        .zero = onnxd_integer_zero(is_signed, zero),
        .out = widened,
    };
    if (!state->is_fours)
        onnxd_integer_widen(&widening, kernel->runtime->team);
    const onnxd_integer_dense dense = {
        .simd = simd,
        .rows = state->rows,
        .steps = state->steps,
        .columns = state->columns,
        .pairs = state->is_fours ? NULL : widened,
        .fours = state->is_fours ? a : NULL,
        .packed = (const int8_t *)packed,
        .zeros = columns.zeros,
        .post = onnxd_quantized_post(&columns, args, state->at),
        .out = onnxd_tensor_view_data(&args->outputs[0]),
    };
    onnxd_integer_dense_run(&dense, kernel->runtime->team);
}

static onnxd_status *enqueue(onnxd_cpu_kernel *kernel, const onnxd_kernel_args *args)
{
    const product_state *state = kernel->state;
    const onnxd_tensor_view *a = &args->inputs[state->at->a];
    multiply(kernel, args, onnxd_tensor_view_data(a), a->dtype == ONNXD_INT8,
             onnxd_quantized_zero_byte(args, state->at->a_zero), state->alpha);
    return NULL;
}

const onnxd_cpu_implementation onnxd_cpu_simd_integer_product = {
    .name = "simd:integer_product",
    .takes = takes,
    .make = make,
    .enqueue = enqueue,
    .unmake = unmake,
    .flops_per_us = 150e3,
    .may_refuse = true,
};

/* ---- a left factor that is quantised here ---------------------------------------------------- */

static onnxd_status *make_dynamic(const onnxd_cpu_case *c, onnxd_cpu_kernel *kernel)
{
    return make_either(c, kernel, true);
}

static onnxd_status *enqueue_dynamic(onnxd_cpu_kernel *kernel, const onnxd_kernel_args *args)
{
    const product_state *state = kernel->state;
    uint8_t *quantized = (uint8_t *)args->workspace + state->columns_bytes;
    float scale;
    uint8_t zero;
    onnxd_quantize_dynamically(kernel->runtime->simd, kernel->runtime->team,
                               onnxd_simd_input(args, state->at->a), state->rows * state->depth,
                               quantized, &scale, &zero);
    multiply(kernel, args, quantized, false, zero, scale);
    return NULL;
}

const onnxd_cpu_implementation onnxd_cpu_simd_dynamic_product = {
    .name = "simd:integer_product",
    .takes = takes_dynamic,
    .make = make_dynamic,
    .enqueue = enqueue_dynamic,
    .unmake = unmake,
    .flops_per_us = 150e3,
    .may_refuse = true,
};
