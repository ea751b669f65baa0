/* QGemm: alpha * scale of A * scale of B * (A' * B' + C) of quantised matrices, quantised again or
 * as real numbers. */
#include <inttypes.h>

#include "base/size_math.h"
#include "ops/contrib/affine.h"
#include "ops/contrib/columns.h"
#include "ops/contrib/contrib.h"
#include "ops/loop.h"
#include "ops/ops.h"
#include "ops/quant/matrix_parameter.h"
#include "ops/support.h"
#include "ops/types.h"

enum { A, A_SCALE, A_ZERO, B, B_SCALE, B_ZERO, C, Y_SCALE, Y_ZERO };

typedef struct qgemm_params {
    float alpha;
    bool transposes_a, transposes_b;
} qgemm_params;

static onnxd_status *parse(const onnxd_node *node, int64_t opset, onnxd_arena *arena, void *params)
{
    (void)opset, (void)arena;
    static const char *const names[] = {"alpha", "transA", "transB", NULL};
    qgemm_params *p = params;
    int64_t a = 0, b = 0;
    p->alpha = 1;
    ONNXD_TRY(onnxd_attributes_allow(node, names));
    ONNXD_TRY(onnxd_attribute_float(node, "alpha", &p->alpha));
    ONNXD_TRY(onnxd_attribute_int(node, "transA", INT64_MIN, INT64_MAX, &a));
    ONNXD_TRY(onnxd_attribute_int(node, "transB", INT64_MIN, INT64_MAX, &b));
    p->transposes_a = a != 0;
    p->transposes_b = b != 0;
    return NULL;
}

/* ---- inference ------------------------------------------------------------------------------- */

static onnxd_status *check_output_type(onnxd_infer *infer)
{
    bool has_zero = onnxd_op_has_input(infer->node, Y_ZERO);
    if (has_zero != onnxd_op_has_input(infer->node, Y_SCALE))
        return onnxd_op_error(infer->node,
                              "inputs 7 and 8, the scale and zero point of the output, must be "
                              "given both or not at all");
    infer->outputs[0].dtype = has_zero ? infer->inputs[Y_ZERO].dtype : ONNXD_FLOAT;
    return onnxd_affine_check(infer, Y_SCALE);
}

/* C broadcasts to the output and not the other way round. */
static onnxd_status *check_bias(const onnxd_infer *infer, const onnxd_shape *output)
{
    if (!onnxd_op_has_input(infer->node, C))
        return NULL;
    const onnxd_shape *c = &infer->inputs[C].shape;
    bool fits = c->rank <= output->rank;
    for (int32_t i = 0; fits && i < c->rank; i++) {
        int64_t have = c->dims[i], room = output->dims[output->rank - c->rank + i];
        fits =
            have == 1 || have == room || !onnxd_dim_is_static(have) || !onnxd_dim_is_static(room);
    }
    if (fits)
        return NULL;
    char own[ONNXD_SHAPE_TEXT], other[ONNXD_SHAPE_TEXT];
    return onnxd_op_error(infer->node, "input 6 has shape %s, which does not broadcast to %s",
                          onnxd_shape_format(c, own, sizeof(own)),
                          onnxd_shape_format(output, other, sizeof(other)));
}

static onnxd_status *infer(onnxd_infer *infer)
{
    static const int64_t any[] = {ONNXD_DIM_UNKNOWN, ONNXD_DIM_UNKNOWN};
    const qgemm_params *p = infer->params;
    const onnxd_shape *a = &infer->inputs[A].shape, *b = &infer->inputs[B].shape;
    onnxd_shape *output = &infer->outputs[0].shape;
    ONNXD_TRY(check_output_type(infer));
    ONNXD_TRY(onnxd_affine_check(infer, A_SCALE));
    ONNXD_TRY(onnxd_infer_check_dims(infer, A, 2, any));
    ONNXD_TRY(onnxd_infer_check_dims(infer, B, 2, any));
    *output = onnxd_shape_of_rank(2);
    int64_t a_depth = ONNXD_DIM_UNKNOWN, b_depth = ONNXD_DIM_UNKNOWN;
    if (a->rank == 2) {
        output->dims[0] = a->dims[p->transposes_a ? 1 : 0];
        a_depth = a->dims[p->transposes_a ? 0 : 1];
    }
    if (b->rank == 2) {
        output->dims[1] = b->dims[p->transposes_b ? 0 : 1];
        b_depth = b->dims[p->transposes_b ? 1 : 0];
    }
    if (onnxd_dim_is_static(a_depth) && onnxd_dim_is_static(b_depth) && a_depth != b_depth)
        return onnxd_op_error(
            infer->node, "A has a depth of %" PRId64 ", B one of %" PRId64 ", they must be equal",
            a_depth, b_depth);
    ONNXD_TRY(check_bias(infer, output));
    ONNXD_TRY(onnxd_matrix_parameter_check(infer->node, B_SCALE, &infer->inputs[B_SCALE].shape,
                                           output, ONNXD_PER_COLUMN));
    return onnxd_matrix_parameter_check(infer->node, B_ZERO, &infer->inputs[B_ZERO].shape, output,
                                        ONNXD_PER_COLUMN);
}

/* ---- the kernel ------------------------------------------------------------------------------ */

static size_t workspace_bytes(const onnxd_compute *compute)
{
    size_t bytes;
    return onnxd_size_mul(onnxd_tensor_view_count(&compute->outputs[0]), sizeof(int32_t), &bytes) &&
                   onnxd_size_add(bytes, ONNXD_INTEGER_PRODUCT_WORKSPACE, &bytes)
               ? bytes
               : SIZE_MAX;
}

static onnxd_integer_vectors side_of(const onnxd_compute *compute, uint32_t index, bool is_strided,
                                     size_t zero_step)
{
    const onnxd_tensor_view *data = &compute->inputs[index];
    size_t pitch = (size_t)data->shape.dims[1];
    onnxd_integer_vectors vectors = {.data = onnxd_tensor_view_data(data),
                                     .is_signed = data->dtype == ONNXD_INT8,
                                     .vector_stride = is_strided ? 1 : pitch,
                                     .element_stride = is_strided ? pitch : 1,
                                     .zero_points =
                                         onnxd_tensor_view_data(&compute->inputs[index + 2]),
                                     .zero_step = zero_step};
    onnxd_integer_vectors_init(&vectors);
    return vectors;
}

/* Adds C to the sums, modulo 2^32. */
static void add_bias(const onnxd_compute *compute, int32_t *sums)
{
    const onnxd_tensor_view *c = onnxd_compute_input(compute, C);
    if (c == NULL)
        return;
    const onnxd_shape *shapes[] = {&c->shape};
    onnxd_loop loop;
    onnxd_loop_cursor cursor;
    onnxd_loop_init_broadcast(&loop, &compute->outputs[0].shape, 1, shapes);
    if (!onnxd_loop_begin(&loop, &cursor))
        return;
    int64_t step = onnxd_loop_step(&loop, 1);
    do {
        int32_t *to = sums + cursor.offsets[0];
        const int32_t *from = (const int32_t *)onnxd_tensor_view_data(c) + cursor.offsets[1];
        for (size_t i = 0; i < onnxd_loop_row(&loop); i++)
            to[i] = (int32_t)((uint32_t)to[i] + (uint32_t)from[(int64_t)i * step]);
    } while (onnxd_loop_next(&loop, &cursor));
}

static void store(const onnxd_compute *compute, const int32_t *sums, size_t rows, size_t columns)
{
    const qgemm_params *p = compute->params;
    const onnxd_tensor_view *output = &compute->outputs[0], *b_scale = &compute->inputs[B_SCALE];
    onnxd_affine a = onnxd_affine_of(compute, A_SCALE), y = onnxd_affine_of(compute, Y_SCALE);
    onnxd_matrix_parameter parameter =
        onnxd_matrix_parameter_of(&b_scale->shape, &output->shape, ONNXD_PER_COLUMN);
    float factors[ONNXD_QUANT_CHUNK], zeros[ONNXD_QUANT_CHUNK];
    void *out = onnxd_tensor_view_data(output);
    onnxd_affine_zeros(&y, zeros);
    for (size_t j = 0; j < columns; j += ONNXD_QUANT_CHUNK) {
        size_t part = columns - j < ONNXD_QUANT_CHUNK ? columns - j : ONNXD_QUANT_CHUNK;
        onnxd_columns_read(b_scale, 0, parameter.column_step, j, part, factors);
        for (size_t x = 0; x < part; x++)
            factors[x] = p->alpha * a.scale * factors[x] / y.scale;
        for (size_t i = 0; i < rows; i++) {
            size_t at = i * columns + j;
            if (output->dtype != ONNXD_FLOAT)
                onnxd_quant_store_sums(output->dtype, sums + at, factors, zeros, part, true, out,
                                       at);
            for (size_t x = 0; x < part && output->dtype == ONNXD_FLOAT; x++)
                ((float *)out)[at + x] = (float)sums[at + x] * factors[x];
        }
    }
}

static onnxd_status *compute(const onnxd_compute *compute)
{
    const qgemm_params *p = compute->params;
    const onnxd_shape *a_shape = &compute->inputs[A].shape, *output = &compute->outputs[0].shape;
    if (onnxd_tensor_view_count(&compute->outputs[0]) == 0)
        return NULL;
    size_t rows = (size_t)output->dims[0], columns = (size_t)output->dims[1];
    size_t depth = (size_t)a_shape->dims[p->transposes_a ? 0 : 1];
    int32_t *sums = compute->workspace;
    onnxd_matrix_parameter zeros =
        onnxd_matrix_parameter_of(&compute->inputs[B_ZERO].shape, output, ONNXD_PER_COLUMN);
    onnxd_integer_vectors a = side_of(compute, A, p->transposes_a, 0);
    onnxd_integer_vectors b = side_of(compute, B, !p->transposes_b, zeros.column_step);
    onnxd_integer_product(rows, columns, depth, &a.side, &b.side, sums + rows * columns, sums,
                          columns);
    add_bias(compute, sums);
    store(compute, sums, rows, columns);
    return NULL;
}

#define SCALE                                                                                      \
    {                                                                                              \
        .types = ONNXD_SET(FLOAT)                                                                  \
    }
#define BYTES(variable)                                                                            \
    {                                                                                              \
        .types = ONNXD_CONTRIB_BYTES, .type_variable = variable                                    \
    }

const onnxd_op_def onnxd_op_qgemm[] = {
    {ONNXD_CONTRIB_NAME("QGemm"), .min_inputs = 6, .max_inputs = 9, .min_outputs = 1,
     .max_outputs = 1,
     .inputs = {BYTES(1),
                SCALE,
                BYTES(1),
                BYTES(2),
                SCALE,
                BYTES(2),
                {.types = ONNXD_SET(INT32), .is_optional = true},
                {.types = ONNXD_SET(FLOAT), .is_optional = true},
                {.types = ONNXD_CONTRIB_BYTES, .is_optional = true}},
     .outputs = {{.types = ONNXD_CONTRIB_BYTES | ONNXD_SET(FLOAT)}},
     .params_bytes = sizeof(qgemm_params), .parse = parse, .infer = infer,
     .workspace_bytes = workspace_bytes, .compute = compute, .batch_inputs = 1u},
    {.op_type = NULL},
};
