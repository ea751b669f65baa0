/* GatherBlockQuantized: Gather from a table that is quantised in blocks along an axis. Only what is
 * picked becomes real numbers. An index outside the table gives zeros, not an error. */
#include <inttypes.h>
#include <string.h>

#include "base/size_math.h"
#include "ops/contrib/contrib.h"
#include "ops/contrib/n_bits.h"
#include "ops/loop.h"
#include "ops/ops.h"
#include "ops/quant/quantized.h"
#include "ops/real.h"
#include "ops/support.h"
#include "ops/types.h"

enum { DATA, INDICES, SCALES, ZEROS };

typedef struct gather_params {
    int64_t bits, block; /* block 0: the whole axis is one */
    int64_t gather_axis, quantize_axis;
} gather_params;

#define SMALL_FLOATS (ONNXD_SET_FLOAT8 | ONNXD_SET(FLOAT4E2M1))

static bool is_small_float(onnxd_dtype dtype)
{
    return (SMALL_FLOATS >> dtype & 1) != 0;
}

static onnxd_status *parse(const onnxd_node *node, int64_t opset, onnxd_arena *arena, void *params)
{
    (void)opset, (void)arena;
    static const char *const names[] = {"bits", "block_size", "gather_axis", "quantize_axis", NULL};
    gather_params *p = params;
    *p = (gather_params){.bits = 4, .block = 128, .quantize_axis = 1};
    ONNXD_TRY(onnxd_attributes_allow(node, names));
    ONNXD_TRY(onnxd_attribute_int(node, "bits", 2, 8, &p->bits));
    ONNXD_TRY(onnxd_attribute_int(node, "block_size", 0, INT32_MAX, &p->block));
    ONNXD_TRY(onnxd_attribute_int(node, "gather_axis", -ONNXD_MAX_RANK, ONNXD_MAX_RANK - 1,
                                  &p->gather_axis));
    ONNXD_TRY(onnxd_attribute_int(node, "quantize_axis", -ONNXD_MAX_RANK, ONNXD_MAX_RANK - 1,
                                  &p->quantize_axis));
    if ((p->bits & (p->bits - 1)) != 0)
        return onnxd_op_error(node, "attribute 'bits' is %" PRId64 ", allowed are 2, 4 and 8",
                              p->bits);
    if ((p->block & (p->block - 1)) != 0 || (p->block != 0 && p->block < 16))
        return onnxd_op_error(node,
                              "attribute 'block_size' is %" PRId64
                              ", it must be a power of two of at least 16, or 0",
                              p->block);
    return NULL;
}

/* ---- shapes ---------------------------------------------------------------------------------- */

/* Numbers in a byte of uint8; 1 where the type says itself how its elements lie. */
static int64_t per_byte(const gather_params *p, onnxd_dtype dtype)
{
    return dtype == ONNXD_UINT8 ? 8 / p->bits : 1;
}

/* The shape in numbers. Numbers in bytes are packed along the last dimension. */
static onnxd_status *number_shape(const onnxd_node *node, const gather_params *p,
                                  const onnxd_tensor_type *data, onnxd_shape *out_shape)
{
    onnxd_shape shape = data->shape;
    int64_t *last = &shape.dims[shape.rank - 1];
    if (onnxd_dim_is_static(*last) && !onnxd_i64_mul(*last, per_byte(p, data->dtype), last))
        return onnxd_op_error(node, "the last dimension of input 0 is too large");
    if (!onnxd_dim_is_static(*last) && per_byte(p, data->dtype) != 1)
        *last = ONNXD_DIM_UNKNOWN;
    *out_shape = shape;
    return NULL;
}

static onnxd_status *check_dim(const onnxd_infer *infer, uint32_t index, int32_t axis,
                               int64_t found, int64_t needed, bool may_be_one)
{
    if (!onnxd_dim_is_static(found) || !onnxd_dim_is_static(needed) || found == needed ||
        (may_be_one && found == 1))
        return NULL;
    return onnxd_op_error(infer->node,
                          "dimension %" PRId32 " of input %" PRIu32 " is %" PRId64 ", but %" PRId64
                          " is needed",
                          axis, index, found, needed);
}

/* Scales have a value per block, and so have zero points, which are packed as the data is. */
static onnxd_status *check_blocks(const onnxd_infer *infer, uint32_t index,
                                  const onnxd_shape *numbers, int32_t quantize_axis)
{
    const gather_params *p = infer->params;
    onnxd_dtype dtype = infer->inputs[DATA].dtype;
    const onnxd_shape *shape = &infer->inputs[index].shape;
    if (shape->rank == ONNXD_RANK_UNKNOWN)
        return NULL;
    if (shape->rank != numbers->rank)
        return onnxd_op_error(infer->node,
                              "input %" PRIu32 " has rank %" PRId32 ", but %" PRId32 " is needed",
                              index, shape->rank, numbers->rank);
    for (int32_t i = 0; i < numbers->rank; i++) {
        int64_t needed = numbers->dims[i];
        if (i == quantize_axis && onnxd_dim_is_static(needed) && needed > 0)
            needed = p->block == 0 ? 1 : (needed - 1) / p->block + 1;
        if (index == ZEROS && i == numbers->rank - 1 && onnxd_dim_is_static(needed) && needed > 0)
            needed = (needed - 1) / per_byte(p, dtype) + 1;
        ONNXD_TRY(check_dim(infer, index, i, shape->dims[i], needed,
                            is_small_float(dtype) && i != quantize_axis));
    }
    return NULL;
}

/* What the type of the data allows. */
static onnxd_status *check_type(const onnxd_infer *infer, int32_t rank, int32_t gather_axis,
                                int32_t quantize_axis)
{
    const gather_params *p = infer->params;
    onnxd_dtype dtype = infer->inputs[DATA].dtype;
    if (is_small_float(dtype) && onnxd_op_has_input(infer->node, ZEROS))
        return onnxd_op_error(infer->node, "data of type %s has no zero points",
                              onnxd_dtype_name(dtype));
    if (!is_small_float(dtype) && p->block == 0)
        return onnxd_op_error(infer->node,
                              "attribute 'block_size' is 0, which data of type %s does not allow",
                              onnxd_dtype_name(dtype));
    if (dtype != ONNXD_UINT8)
        return NULL;
    if (gather_axis != 0)
        return onnxd_op_error(infer->node,
                              "attribute 'gather_axis' is %" PRId64
                              ", with data of type uint8 it must be 0",
                              p->gather_axis);
    /* The packed dimension cannot be picked from. */
    if (p->bits < 8 && (rank == 1 || gather_axis == quantize_axis))
        return onnxd_op_error(infer->node,
                              "data of %" PRId64
                              " bits needs another axis to gather on than the packed and the "
                              "quantized one",
                              p->bits);
    return NULL;
}

static onnxd_status *infer(onnxd_infer *infer)
{
    const gather_params *p = infer->params;
    const onnxd_tensor_type *data = &infer->inputs[DATA];
    const onnxd_shape *indices = &infer->inputs[INDICES].shape;
    int32_t gather_axis, quantize_axis, rank = data->shape.rank;
    onnxd_shape numbers, *output = &infer->outputs[0].shape;
    infer->outputs[0].dtype = infer->inputs[SCALES].dtype;
    if (rank == ONNXD_RANK_UNKNOWN || data->dtype == ONNXD_UNDEFINED)
        return NULL;
    ONNXD_TRY(
        onnxd_op_axis(infer->node, "attribute 'gather_axis'", p->gather_axis, rank, &gather_axis));
    ONNXD_TRY(onnxd_op_axis(infer->node, "attribute 'quantize_axis'", p->quantize_axis, rank,
                            &quantize_axis));
    ONNXD_TRY(check_type(infer, rank, gather_axis, quantize_axis));
    ONNXD_TRY(number_shape(infer->node, p, data, &numbers));
    ONNXD_TRY(check_blocks(infer, SCALES, &numbers, quantize_axis));
    if (onnxd_op_has_input(infer->node, ZEROS))
        ONNXD_TRY(check_blocks(infer, ZEROS, &numbers, quantize_axis));
    if (indices->rank == ONNXD_RANK_UNKNOWN)
        return NULL;
    if (rank - 1 + indices->rank > ONNXD_MAX_RANK)
        return onnxd_op_error(infer->node,
                              "the output would have rank %" PRId32 ", at most %d is supported",
                              rank - 1 + indices->rank, ONNXD_MAX_RANK);
    output->rank = 0;
    for (int32_t i = 0; i < rank; i++) {
        for (int32_t j = 0; i == gather_axis && j < indices->rank; j++)
            output->dims[output->rank++] = indices->dims[j];
        if (i != gather_axis)
            output->dims[output->rank++] = numbers.dims[i];
    }
    return NULL;
}

/* ---- the kernel ------------------------------------------------------------------------------ */

typedef struct gather_call {
    const onnxd_compute *compute;
    const onnxd_tensor_view *data, *scales, *zeros; /* zeros: NULL where absent */
    size_t bits;                                    /* of uint8, else 8 */
    onnxd_shape numbers;
    int32_t quantize_axis;
    size_t block;                         /* numbers along the quantize axis with one scale */
    size_t last, scale_last;              /* last dimensions */
    size_t scale_strides[ONNXD_MAX_RANK]; /* per dimension, 0 where one scale serves all */
    float zero;                           /* where there are no zero points */
} gather_call;

static onnxd_status *prepare(const onnxd_compute *compute, gather_call *call)
{
    const gather_params *p = compute->params;
    const onnxd_tensor_view *data = &compute->inputs[DATA], *scales = &compute->inputs[SCALES];
    const onnxd_tensor_type type = {.dtype = data->dtype, .shape = data->shape};
    int64_t strides[ONNXD_MAX_RANK];
    *call = (gather_call){.compute = compute,
                          .data = data,
                          .scales = scales,
                          .zeros = onnxd_compute_input(compute, ZEROS),
                          .bits = data->dtype == ONNXD_UINT8 ? (size_t)p->bits : 8,
                          .zero = data->dtype == ONNXD_UINT8 ? (float)(1u << (p->bits - 1)) : 0};
    ONNXD_TRY(number_shape(compute->node, p, &type, &call->numbers));
    int32_t rank = call->numbers.rank;
    ONNXD_TRY(onnxd_op_axis(compute->node, "attribute 'quantize_axis'", p->quantize_axis, rank,
                            &call->quantize_axis));
    onnxd_strides_of(&scales->shape, strides);
    for (int32_t i = 0; i < rank; i++)
        call->scale_strides[i] = scales->shape.dims[i] == 1 ? 0 : (size_t)strides[i];
    call->block = (size_t)(p->block != 0 ? p->block : call->numbers.dims[call->quantize_axis]);
    call->last = (size_t)call->numbers.dims[rank - 1];
    call->scale_last = (size_t)scales->shape.dims[rank - 1];
    return NULL;
}

/* Zero points that belong to `count` scales, `step` (0 or 1) apart from number `first` on. */
static void read_zeros(const gather_call *call, size_t first, size_t step, size_t count, float *out)
{
    size_t needed = step == 0 ? 1 : count;
    if (call->zeros == NULL) {
        for (size_t i = 0; i < needed; i++)
            out[i] = call->zero;
    } else if (call->bits == 8) {
        onnxd_quant_read_floats(call->zeros->dtype, onnxd_tensor_view_data(call->zeros), first,
                                needed, out);
    } else {
        const uint8_t *rows = onnxd_tensor_view_data(call->zeros);
        size_t row_bytes = onnxd_n_bits_bytes(call->bits, call->scale_last);
        for (size_t i = 0; i < needed; i++)
            out[i] = onnxd_n_bits_at(rows + (first + i) / call->scale_last * row_bytes, call->bits,
                                     (first + i) % call->scale_last);
    }
    for (size_t i = needed; i < count; i++)
        out[i] = out[0];
}

static void read_numbers(const gather_call *call, size_t first, size_t count, float *out)
{
    const uint8_t *bytes = onnxd_tensor_view_data(call->data);
    if (call->bits == 8)
        onnxd_quant_read_floats(call->data->dtype, bytes, first, count, out);
    for (size_t i = 0; call->bits != 8 && i < count; i++)
        out[i] = onnxd_n_bits_at(bytes, call->bits, first + i);
}

/* Numbers [first, first + count), which have scales `step` (0 or 1) apart from number `scale` on,
 * as elements `to` and following of the output. */
static void dequantize(const gather_call *call, size_t first, size_t count, size_t scale,
                       size_t step, size_t to)
{
    const onnxd_tensor_view *output = &call->compute->outputs[0];
    float values[ONNXD_QUANT_CHUNK], scales[ONNXD_QUANT_CHUNK], zeros[ONNXD_QUANT_CHUNK];
    size_t needed = step == 0 ? 1 : count;
    read_numbers(call, first, count, values);
    read_zeros(call, scale, step, count, zeros);
    onnxd_real_read_float(call->scales->dtype, onnxd_tensor_view_data(call->scales), scale, needed,
                          scales);
    for (size_t i = needed; i < count; i++)
        scales[i] = scales[0];
    for (size_t i = 0; i < count; i++)
        values[i] = (values[i] - zeros[i]) * scales[i];
    onnxd_real_write_float(output->dtype, values, count, onnxd_tensor_view_data(output), to);
}

/* The scale of the first number of a row, all but whose last coordinate `row` stands for. */
static size_t scale_of_row(const gather_call *call, size_t row)
{
    size_t scale = 0;
    for (int32_t i = call->numbers.rank - 2; i >= 0; i--) {
        size_t dim = (size_t)call->numbers.dims[i], at = row % dim;
        row /= dim;
        scale += (i == call->quantize_axis ? at / call->block : at) * call->scale_strides[i];
    }
    return scale;
}

/* Numbers [first, first + count) of the table, row by row and block by block. */
static void dequantize_run(const gather_call *call, size_t first, size_t count, size_t to)
{
    int32_t last_axis = call->numbers.rank - 1;
    bool is_last = call->quantize_axis == last_axis;
    size_t step = is_last ? 0 : call->scale_strides[last_axis];
    while (count > 0) {
        size_t at = first % call->last, part = call->last - at;
        size_t scale = scale_of_row(call, first / call->last);
        if (is_last) {
            scale += at / call->block * call->scale_strides[last_axis];
            part = part < call->block - at % call->block ? part : call->block - at % call->block;
        } else {
            scale += at * step;
        }
        part = part < count ? part : count;
        part = part < ONNXD_QUANT_CHUNK ? part : ONNXD_QUANT_CHUNK;
        dequantize(call, first, part, scale, step, to);
        first += part;
        to += part;
        count -= part;
    }
}

static onnxd_status *compute(const onnxd_compute *compute)
{
    const gather_params *p = compute->params;
    const onnxd_tensor_view *indices = &compute->inputs[INDICES], *output = &compute->outputs[0];
    gather_call call;
    int32_t axis;
    size_t outer, inner, count = onnxd_tensor_view_count(indices), to = 0;
    if (onnxd_tensor_view_count(output) == 0)
        return NULL;
    ONNXD_TRY(prepare(compute, &call));
    const onnxd_shape *numbers = &call.numbers;
    ONNXD_TRY(onnxd_op_axis(compute->node, "attribute 'gather_axis'", p->gather_axis, numbers->rank,
                            &axis));
    ONNXD_TRY(onnxd_op_around_axis(compute->node, numbers, axis, &outer, &inner));
    int64_t dim = numbers->dims[axis];
    size_t element = onnxd_dtype_size(output->dtype);
    for (size_t o = 0; o < outer; o++) {
        for (size_t i = 0; i < count; i++, to += inner) {
            int64_t index = onnxd_op_int_at(indices, i);
            index = index < 0 && index >= -dim ? index + dim : index;
            if (index < 0 || index >= dim)
                memset((char *)onnxd_tensor_view_data(output) + to * element, 0, inner * element);
            else
                dequantize_run(&call, (o * (size_t)dim + (size_t)index) * inner, inner, to);
        }
    }
    return NULL;
}

#define TABLES (ONNXD_SET(INT4) | ONNXD_SET(UINT4) | ONNXD_SET(UINT8) | SMALL_FLOATS)
#define REALS (ONNXD_SET(FLOAT) | ONNXD_SET(FLOAT16) | ONNXD_SET(BFLOAT16))

const onnxd_op_def onnxd_op_gather_block_quantized[] = {
    {ONNXD_CONTRIB_NAME("GatherBlockQuantized"), .min_inputs = 3, .max_inputs = 4, .min_outputs = 1,
     .max_outputs = 1,
     .inputs = {{.types = TABLES, .type_variable = 1},
                {.types = ONNXD_SET_INDEX},
                {.types = REALS, .type_variable = 2},
                {.types = TABLES, .type_variable = 1, .is_optional = true}},
     .outputs = {{.types = REALS, .type_variable = 2}}, .params_bytes = sizeof(gather_params),
     .parse = parse, .infer = infer, .compute = compute},
    {.op_type = NULL},
};
