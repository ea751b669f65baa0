/* MatMulNBits: Y = A * B' + bias with weights of 2, 4 or 8 bits that are quantised in blocks along
 * the depth K. B' [K x N] is never made as a whole: some of its columns at a time are widened to
 * floats and multiplied. */
#include <inttypes.h>
#include <string.h>

#include "base/size_math.h"
#include "ops/contrib/contrib.h"
#include "ops/contrib/n_bits.h"
#include "ops/gemm_core.h"
#include "ops/ops.h"
#include "ops/real.h"
#include "ops/support.h"
#include "ops/types.h"

enum { A, B, SCALES, ZEROS, GROUPS, BIAS };

typedef struct n_bits_params {
    int64_t depth, columns; /* K and N */
    int64_t bits, block;
    int64_t blocks; /* of a column */
} n_bits_params;

/* ---- attributes and shapes ------------------------------------------------------------------- */

static onnxd_status *parse(const onnxd_node *node, int64_t opset, onnxd_arena *arena, void *params)
{
    (void)opset, (void)arena;
    static const char *const names[] = {
        "K", "N", "accuracy_level", "bits", "block_size", "weight_prepacked", NULL};
    n_bits_params *p = params;
    int64_t level = 0, prepacked = 0;
    p->bits = 4;
    ONNXD_TRY(onnxd_attributes_allow(node, names));
    ONNXD_TRY(onnxd_attribute_require(node, "K"));
    ONNXD_TRY(onnxd_attribute_require(node, "N"));
    ONNXD_TRY(onnxd_attribute_require(node, "block_size"));
    ONNXD_TRY(onnxd_attribute_int(node, "K", 1, INT32_MAX, &p->depth));
    ONNXD_TRY(onnxd_attribute_int(node, "N", 1, INT32_MAX, &p->columns));
    ONNXD_TRY(onnxd_attribute_int(node, "bits", 2, 8, &p->bits));
    ONNXD_TRY(onnxd_attribute_int(node, "block_size", 16, INT32_MAX, &p->block));
    /* How exact others must be at least; this is always exact in float. */
    ONNXD_TRY(onnxd_attribute_int(node, "accuracy_level", 0, 4, &level));
    /* Other layouts belong to other devices. */
    ONNXD_TRY(onnxd_attribute_int(node, "weight_prepacked", 0, 0, &prepacked));
    if ((p->bits & (p->bits - 1)) != 0)
        return onnxd_op_error(node, "attribute 'bits' is %" PRId64 ", allowed are 2, 4 and 8",
                              p->bits);
    if ((p->block & (p->block - 1)) != 0)
        return onnxd_op_error(
            node, "attribute 'block_size' is %" PRId64 ", it must be a power of two", p->block);
    p->blocks = (p->depth - 1) / p->block + 1;
    return NULL;
}

/* Scales and zero points may be a matrix with a row for each column of B', or the same flat. */
static onnxd_status *check_rows(const onnxd_infer *infer, uint32_t index, int64_t rows,
                                int64_t length)
{
    if (!onnxd_op_has_input(infer->node, index))
        return NULL;
    int64_t count = rows * length; /* both are below 2^31 */
    if (infer->inputs[index].shape.rank == 1)
        return onnxd_infer_check_dims(infer, index, 1, &count);
    return onnxd_infer_check_dims(infer, index, 2, (int64_t[]){rows, length});
}

/* B with an extent of 0 stands for weights of zero. */
static onnxd_status *check_weights(const onnxd_infer *infer)
{
    const n_bits_params *p = infer->params;
    int64_t dims[] = {p->columns, p->blocks, p->block / 8 * p->bits};
    const onnxd_shape *b = &infer->inputs[B].shape;
    for (int32_t i = 0; b->rank == 3 && i < 3; i++)
        if (b->dims[i] == 0)
            dims[i] = 0;
    return onnxd_infer_check_dims(infer, B, 3, dims);
}

static onnxd_status *check_groups(const onnxd_infer *infer)
{
    const n_bits_params *p = infer->params;
    if (!onnxd_op_has_input(infer->node, GROUPS))
        return NULL;
    const onnxd_shape *groups = &infer->inputs[GROUPS].shape;
    int64_t padded = p->blocks * p->block;
    if (groups->rank == 1 && groups->dims[0] == padded)
        return NULL;
    return onnxd_infer_check_dims(infer, GROUPS, 1, &p->depth);
}

static onnxd_status *infer(onnxd_infer *infer)
{
    const n_bits_params *p = infer->params;
    const onnxd_tensor_type *a = &infer->inputs[A];
    onnxd_dtype zeros = infer->input_count > ZEROS ? infer->inputs[ZEROS].dtype : ONNXD_UNDEFINED;
    infer->outputs[0] = *a;
    if (zeros != ONNXD_UNDEFINED && zeros != ONNXD_UINT8 && a->dtype != ONNXD_UNDEFINED &&
        zeros != a->dtype)
        return onnxd_op_error(infer->node, "the zero points have type %s, allowed are uint8 and %s",
                              onnxd_dtype_name(zeros), onnxd_dtype_name(a->dtype));
    int64_t depth;
    ONNXD_TRY(onnxd_contrib_last_dim(infer, A, &depth));
    if (onnxd_dim_is_static(depth) && depth != p->depth)
        return onnxd_op_error(
            infer->node, "the last dimension of input 0 is %" PRId64 ", attribute 'K' is %" PRId64,
            depth, p->depth);
    ONNXD_TRY(check_weights(infer));
    ONNXD_TRY(check_rows(infer, SCALES, p->columns, p->blocks));
    int64_t zero_length = zeros == ONNXD_UINT8
                              ? (int64_t)onnxd_n_bits_bytes((size_t)p->bits, (size_t)p->blocks)
                              : p->blocks;
    if (zeros != ONNXD_UNDEFINED)
        ONNXD_TRY(check_rows(infer, ZEROS, p->columns, zero_length));
    ONNXD_TRY(check_groups(infer));
    ONNXD_TRY(onnxd_infer_check_dims(infer, BIAS, 1, &p->columns));
    if (a->shape.rank > 0)
        infer->outputs[0].shape.dims[a->shape.rank - 1] = p->columns;
    return NULL;
}

/* ---- the kernel ------------------------------------------------------------------------------ */

/* What columns widened at a time may take: they should stay in cache. */
#define PANEL_BYTES ((size_t)1 << 18)

/* Parts of the workspace, in floats. */
typedef struct n_bits_plan {
    size_t rows, depth, columns, blocks;
    size_t panel;                    /* columns at a time, at least 1 */
    size_t a, b, scales, out, whole; /* where A (of half types), the panel, ... begin; the end */
} n_bits_plan;

static bool plan_of(const onnxd_compute *compute, n_bits_plan *out_plan)
{
    const n_bits_params *p = compute->params;
    const onnxd_tensor_view *a = &compute->inputs[A];
    size_t a_count = onnxd_tensor_view_count(a), part;
    n_bits_plan plan = {.rows = a_count / (size_t)p->depth,
                        .depth = (size_t)p->depth,
                        .columns = (size_t)p->columns,
                        .blocks = (size_t)p->blocks};
    plan.panel = PANEL_BYTES / sizeof(float) / plan.depth;
    plan.panel = plan.panel < 4 ? 4 : plan.panel;
    plan.panel = plan.panel < plan.columns ? plan.panel : plan.columns;
    plan.b = a->dtype == ONNXD_FLOAT ? 0 : a_count;
    if (!onnxd_size_mul(plan.panel, plan.depth, &part) ||
        !onnxd_size_add(plan.b, part, &plan.scales) ||
        !onnxd_size_add(plan.scales, 2 * plan.blocks, &plan.out) ||
        !onnxd_size_mul(plan.panel, plan.rows, &part) ||
        !onnxd_size_add(plan.out, part, &plan.whole))
        return false;
    *out_plan = plan;
    return true;
}

static size_t workspace_bytes(const onnxd_compute *compute)
{
    n_bits_plan plan;
    size_t bytes;
    if (onnxd_tensor_view_count(&compute->outputs[0]) == 0)
        return 0;
    return plan_of(compute, &plan) && onnxd_size_mul(plan.whole, sizeof(float), &bytes) ? bytes
                                                                                        : SIZE_MAX;
}

/* The zero points of a column; without any they lie in the middle of the range. */
static void read_zeros(const onnxd_compute *compute, const n_bits_plan *plan, size_t column,
                       float *out)
{
    const n_bits_params *p = compute->params;
    const onnxd_tensor_view *zeros = onnxd_compute_input(compute, ZEROS);
    size_t bits = (size_t)p->bits;
    if (zeros == NULL) {
        for (size_t i = 0; i < plan->blocks; i++)
            out[i] = (float)(1u << (bits - 1));
    } else if (zeros->dtype == ONNXD_UINT8) {
        const uint8_t *rows = onnxd_tensor_view_data(zeros);
        onnxd_n_bits_read(rows + column * onnxd_n_bits_bytes(bits, plan->blocks), bits,
                          plan->blocks, out);
    } else {
        onnxd_real_read_float(zeros->dtype, onnxd_tensor_view_data(zeros), column * plan->blocks,
                              plan->blocks, out);
    }
}

/* Column `column` of B' as floats; `scales` has room for a scale and a zero point per block. */
static void widen_column(const onnxd_compute *compute, const n_bits_plan *plan, size_t column,
                         float *scales, float *out)
{
    const n_bits_params *p = compute->params;
    const onnxd_tensor_view *scale_view = &compute->inputs[SCALES];
    const onnxd_tensor_view *groups = onnxd_compute_input(compute, GROUPS);
    size_t block = (size_t)p->block, bits = (size_t)p->bits;
    /* A block is a whole number of bytes, and blocks follow one another without gaps. */
    const uint8_t *weights = (const uint8_t *)onnxd_tensor_view_data(&compute->inputs[B]) +
                             column * plan->blocks * (block / 8 * bits);
    float *zeros = scales + plan->blocks;
    onnxd_real_read_float(scale_view->dtype, onnxd_tensor_view_data(scale_view),
                          column * plan->blocks, plan->blocks, scales);
    read_zeros(compute, plan, column, zeros);
    onnxd_n_bits_read(weights, bits, plan->depth, out);
    if (groups != NULL) {
        const int32_t *group = onnxd_tensor_view_data(groups);
        for (size_t k = 0; k < plan->depth; k++)
            out[k] = (out[k] - zeros[group[k]]) * scales[group[k]];
        return;
    }
    for (size_t i = 0; i < plan->blocks; i++) {
        size_t first = i * block, end = first + block < plan->depth ? first + block : plan->depth;
        const float zero = zeros[i], scale = scales[i];
        for (size_t k = first; k < end; k++)
            out[k] = (out[k] - zero) * scale;
    }
}

static onnxd_status *check_group_values(const onnxd_compute *compute, const n_bits_plan *plan)
{
    const onnxd_tensor_view *groups = onnxd_compute_input(compute, GROUPS);
    if (groups == NULL)
        return NULL;
    const int32_t *group = onnxd_tensor_view_data(groups);
    for (size_t k = 0; k < plan->depth; k++)
        if (group[k] < 0 || (size_t)group[k] >= plan->blocks)
            return onnxd_op_error(compute->node,
                                  "element %zu of input 4 is %" PRId32 ", allowed is 0 to %zu", k,
                                  group[k], plan->blocks - 1);
    return NULL;
}

/* Columns [first, first + count) of the output from their products (NULL: zeros). */
static void store(const onnxd_compute *compute, const n_bits_plan *plan, size_t first, size_t count,
                  float *products)
{
    const onnxd_tensor_view *output = &compute->outputs[0];
    const onnxd_tensor_view *bias = onnxd_compute_input(compute, BIAS);
    for (size_t i = 0; i < plan->rows; i++, products += count) {
        for (size_t j = 0; bias != NULL && j < count; j++)
            products[j] +=
                (float)onnxd_real_load(bias->dtype, onnxd_tensor_view_data(bias), first + j);
        onnxd_real_write_float(output->dtype, products, count, onnxd_tensor_view_data(output),
                               i * plan->columns + first);
    }
}

static onnxd_status *compute(const onnxd_compute *compute)
{
    const onnxd_tensor_view *a_view = &compute->inputs[A];
    n_bits_plan plan;
    if (onnxd_tensor_view_count(&compute->outputs[0]) == 0)
        return NULL;
    if (!plan_of(compute, &plan))
        return onnxd_op_error(compute->node, "the shapes are too large");
    ONNXD_TRY(check_group_values(compute, &plan));
    bool is_omitted = onnxd_tensor_view_count(&compute->inputs[B]) == 0;
    float *space = compute->workspace, *panel = space + plan.b, *products = space + plan.out;
    const float *a = onnxd_tensor_view_data(a_view);
    if (a_view->dtype != ONNXD_FLOAT) {
        onnxd_real_widen(a_view->dtype, a, plan.rows * plan.depth, space);
        a = space;
    }
    for (size_t first = 0; first < plan.columns; first += plan.panel) {
        size_t rest = plan.columns - first, count = rest < plan.panel ? rest : plan.panel;
        const onnxd_product product = {plan.rows, plan.depth, count, plan.depth, 1, 1, plan.depth};
        for (size_t j = 0; j < count && !is_omitted; j++)
            widen_column(compute, &plan, first + j, space + plan.scales, panel + j * plan.depth);
        if (is_omitted)
            memset(products, 0, plan.rows * count * sizeof(float));
        else
            onnxd_product_run(&product, ONNXD_FLOAT, a, panel, products);
        store(compute, &plan, first, count, products);
    }
    return NULL;
}

#define REALS (ONNXD_SET(FLOAT) | ONNXD_SET(FLOAT16) | ONNXD_SET(BFLOAT16))

const onnxd_op_def onnxd_op_matmul_n_bits[] = {
    {ONNXD_CONTRIB_NAME("MatMulNBits"), .min_inputs = 3, .max_inputs = 6, .min_outputs = 1,
     .max_outputs = 1,
     .inputs = {{.types = REALS, .type_variable = 1},
                {.types = ONNXD_SET(UINT8)},
                {.types = REALS, .type_variable = 1},
                {.types = REALS | ONNXD_SET(UINT8), .is_optional = true},
                {.types = ONNXD_SET(INT32), .is_optional = true},
                {.types = REALS, .type_variable = 1, .is_optional = true}},
     .outputs = {{.types = REALS, .type_variable = 1}}, .params_bytes = sizeof(n_bits_params),
     .parse = parse, .infer = infer, .workspace_bytes = workspace_bytes, .compute = compute},
    {.op_type = NULL},
};
