/* ReduceSum, ReduceMean, ReduceMax and ReduceMin over some axes (by default all). Axes are an
 * attribute in early opsets and an input since 13 (Sum) or 18 (the others). Sums of floating-point
 * numbers are taken in double, those of integers wrap. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "ops/convert.h"
#include "ops/loop.h"
#include "ops/ops.h"
#include "ops/support.h"
#include "ops/types.h"

typedef struct reduce_params {
    bool keeps_dims, is_noop_without_axes;
    onnxd_axes axes;
} reduce_params;

static onnxd_status *parse_common(const onnxd_node *node, reduce_params *p)
{
    int64_t keeps = 1, noop = 0;
    ONNXD_TRY(onnxd_attribute_int(node, "keepdims", 0, 1, &keeps));
    ONNXD_TRY(onnxd_attribute_int(node, "noop_with_empty_axes", 0, 1, &noop));
    p->keeps_dims = keeps != 0;
    p->is_noop_without_axes = noop != 0;
    return NULL;
}

static onnxd_status *parse_attribute(const onnxd_node *node, int64_t opset, onnxd_arena *arena,
                                     void *params)
{
    (void)opset, (void)arena;
    static const char *const names[] = {"axes", "keepdims", NULL};
    reduce_params *p = params;
    ONNXD_TRY(onnxd_attributes_allow(node, names));
    ONNXD_TRY(onnxd_op_parse_axes(node, "axes", &p->axes));
    return parse_common(node, p);
}

static onnxd_status *parse_input(const onnxd_node *node, int64_t opset, onnxd_arena *arena,
                                 void *params)
{
    (void)opset, (void)arena;
    static const char *const names[] = {"keepdims", "noop_with_empty_axes", NULL};
    ONNXD_TRY(onnxd_attributes_allow(node, names));
    return parse_common(node, params);
}

/* Which axes go. */
static onnxd_status *select_axes(const onnxd_node *node, const reduce_params *p,
                                 const onnxd_axes *axes, int32_t rank, bool *out_reduced)
{
    if (axes->count != 0)
        return onnxd_op_axes(node, axes->values, axes->count, rank, out_reduced);
    for (int32_t i = 0; i < ONNXD_MAX_RANK; i++)
        out_reduced[i] = !p->is_noop_without_axes;
    return NULL;
}

static void reduced_shape(const onnxd_shape *input, const bool *reduced, bool keeps_dims,
                          onnxd_shape *out)
{
    out->rank = 0;
    for (int32_t i = 0; i < input->rank; i++) {
        if (!reduced[i])
            out->dims[out->rank++] = input->dims[i];
        else if (keeps_dims)
            out->dims[out->rank++] = 1;
    }
}

static onnxd_status *infer(onnxd_infer *infer)
{
    const reduce_params *p = infer->params;
    const onnxd_shape *input = &infer->inputs[0].shape;
    onnxd_tensor_type *output = &infer->outputs[0];
    output->dtype = infer->inputs[0].dtype;
    onnxd_axes axes;
    bool is_known, reduced[ONNXD_MAX_RANK];
    ONNXD_TRY(onnxd_infer_axes(infer, 1, &p->axes, &axes, &is_known));
    if (input->rank < 0)
        return NULL;
    if (is_known) {
        ONNXD_TRY(select_axes(infer->node, p, &axes, input->rank, reduced));
        reduced_shape(input, reduced, p->keeps_dims, &output->shape);
    } else if (p->keeps_dims) {
        output->shape = onnxd_shape_of_rank(input->rank);
    }
    return NULL;
}

/* out[kept] = f(in[kept, reduced]) with both parts as loops: operand 0 of `kept` is the output and
 * 1 the input, operand 0 of `reduced` is the input. */
typedef struct reduction {
    onnxd_loop kept, reduced;
    size_t reduced_count; /* not 0 */
    void *out;
    const void *in;
} reduction;

typedef void (*reduce_kernel)(const reduction *r);

/* Independent partial results, which the compiler can keep in one vector. */
#define LANES 8
#define COLUMNS 64

/* A is what is accumulated in. op##_START(A, first), op##_COMBINE(A, a, b), op##_FINISH(A, a, n).
 */
#define REDUCE_KERNEL(op, id, T, A, LOAD, STORE)                                                   \
    static A op##_row_##id(A start, const T *in, size_t count, int64_t step)                       \
    {                                                                                              \
        A lanes[LANES];                                                                            \
        size_t i = 0;                                                                              \
        if (step != 1 || count < LANES) {                                                          \
            for (int64_t at = 0; at < (int64_t)count; at++)                                        \
                start = (A)op##_COMBINE(A, start, (A)LOAD(A, in[at * step]));                      \
            return start;                                                                          \
        }                                                                                          \
        for (; i < LANES; i++)                                                                     \
            lanes[i] = (A)LOAD(A, in[i]);                                                          \
        for (; i + LANES <= count; i += LANES)                                                     \
            for (size_t lane = 0; lane < LANES; lane++)                                            \
                lanes[lane] = (A)op##_COMBINE(A, lanes[lane], (A)LOAD(A, in[i + lane]));           \
        for (; i < count; i++)                                                                     \
            start = (A)op##_COMBINE(A, start, (A)LOAD(A, in[i]));                                  \
        for (size_t lane = 0; lane < LANES; lane++)                                                \
            start = (A)op##_COMBINE(A, start, lanes[lane]);                                        \
        return start;                                                                              \
    }                                                                                              \
    static A op##_one_##id(const reduction *r, const T *in)                                        \
    {                                                                                              \
        A result = op##_START(A, (A)LOAD(A, *in));                                                 \
        onnxd_loop_cursor cursor;                                                                  \
        bool has_row = onnxd_loop_begin(&r->reduced, &cursor);                                     \
        for (; has_row; has_row = onnxd_loop_next(&r->reduced, &cursor))                           \
            result = op##_row_##id(result, in + cursor.offsets[0], onnxd_loop_row(&r->reduced),    \
                                   onnxd_loop_step(&r->reduced, 0));                               \
        return op##_FINISH(A, result, r->reduced_count);                                           \
    }                                                                                              \
    /* Neighbours in both input and output: many results at a time, reading along the rows. */     \
    static void op##_columns_##id(const reduction *r, T *out, const T *in, size_t count)           \
    {                                                                                              \
        A lanes[COLUMNS];                                                                          \
        onnxd_loop_cursor cursor;                                                                  \
        bool has_row = onnxd_loop_begin(&r->reduced, &cursor);                                     \
        int64_t row = (int64_t)onnxd_loop_row(&r->reduced);                                        \
        int64_t step = onnxd_loop_step(&r->reduced, 0);                                            \
        for (size_t lane = 0; lane < count; lane++)                                                \
            lanes[lane] = op##_START(A, (A)LOAD(A, in[lane]));                                     \
        for (; has_row; has_row = onnxd_loop_next(&r->reduced, &cursor)) {                         \
            for (int64_t i = 0; i < row; i++) {                                                    \
                const T *at = in + cursor.offsets[0] + i * step;                                   \
                for (size_t lane = 0; lane < count; lane++)                                        \
                    lanes[lane] = (A)op##_COMBINE(A, lanes[lane], (A)LOAD(A, at[lane]));           \
            }                                                                                      \
        }                                                                                          \
        for (size_t lane = 0; lane < count; lane++)                                                \
            out[lane] = STORE(T, op##_FINISH(A, lanes[lane], r->reduced_count));                   \
    }                                                                                              \
    static void op##_##id(const reduction *r)                                                      \
    {                                                                                              \
        onnxd_loop_cursor cursor;                                                                  \
        bool has_row = onnxd_loop_begin(&r->kept, &cursor);                                        \
        int64_t row = (int64_t)onnxd_loop_row(&r->kept);                                           \
        int64_t out_step = onnxd_loop_step(&r->kept, 0), in_step = onnxd_loop_step(&r->kept, 1);   \
        bool by_columns = row > 1 && out_step == 1 && in_step == 1;                                \
        for (; has_row; has_row = onnxd_loop_next(&r->kept, &cursor)) {                            \
            T *out = (T *)r->out + cursor.offsets[0];                                              \
            const T *in = (const T *)r->in + cursor.offsets[1];                                    \
            for (int64_t i = 0; by_columns && i < row; i += COLUMNS)                               \
                op##_columns_##id(r, out + i, in + i,                                              \
                                  (size_t)(row - i < COLUMNS ? row - i : COLUMNS));                \
            for (int64_t i = 0; !by_columns && i < row; i++)                                       \
                out[i * out_step] = STORE(T, op##_one_##id(r, in + i * in_step));                  \
        }                                                                                          \
    }

#define sum_START(A, first) 0
#define sum_COMBINE(A, a, b) ((a) + (b))
#define sum_FINISH(A, a, n) (a)
#define mean_START(A, first) 0
#define mean_COMBINE(A, a, b) ((a) + (b))
#define mean_FINISH(A, a, n) ((a) / (A)(n))
/* The last branch is taken by NaN only. */
#define max_START(A, first) (first)
#define max_COMBINE(A, a, b) ((a) > (b) ? (a) : (a) <= (b) ? (b) : (A)((a) + (b)))
#define max_FINISH(A, a, n) (a)
#define min_START(A, first) (first)
#define min_COMBINE(A, a, b) ((a) < (b) ? (a) : (a) >= (b) ? (b) : (A)((a) + (b)))
#define min_FINISH(A, a, n) (a)
/* Signed sums wrap in unsigned arithmetic; the mean divides the signed result. */
#define wrapping_sum_START(A, first) 0
#define wrapping_sum_COMBINE(A, a, b) ((A)((uint64_t)(a) + (uint64_t)(b)))
#define wrapping_sum_FINISH(A, a, n) (a)
#define wrapping_mean_START(A, first) 0
#define wrapping_mean_COMBINE(A, a, b) ((A)((uint64_t)(a) + (uint64_t)(b)))
#define wrapping_mean_FINISH(A, a, n) ((a) / (A)(n))

/* Sums: wide accumulators. */
#define IN_DOUBLE(op, id, T, C, LOAD, STORE) REDUCE_KERNEL(op, id, T, double, LOAD, STORE)
#define IN_INT64(op, id, T, C, LOAD, STORE) REDUCE_KERNEL(op, id, T, int64_t, LOAD, STORE)
#define IN_UINT64(op, id, T, C, LOAD, STORE) REDUCE_KERNEL(op, id, T, uint64_t, LOAD, STORE)
#define STORE_HALF(T, x) onnxd_double_to_float16(x)
#define STORE_BHALF(T, x) onnxd_float_to_bfloat16((float)(x))
#define EACH_WIDE_SIGNED(X, op)                                                                    \
    X(op, INT32, int32_t, int32_t, ONNXD_LOAD_PLAIN, ONNXD_STORE_PLAIN)                            \
    X(op, INT64, int64_t, int64_t, ONNXD_LOAD_PLAIN, ONNXD_STORE_PLAIN)
#define EACH_WIDE_UNSIGNED(X, op)                                                                  \
    X(op, UINT32, uint32_t, uint32_t, ONNXD_LOAD_PLAIN, ONNXD_STORE_PLAIN)                         \
    X(op, UINT64, uint64_t, uint64_t, ONNXD_LOAD_PLAIN, ONNXD_STORE_PLAIN)
#define EACH_SUM_FLOAT(X, op)                                                                      \
    X(op, FLOAT, float, double, ONNXD_LOAD_PLAIN, ONNXD_STORE_PLAIN)                               \
    X(op, DOUBLE, double, double, ONNXD_LOAD_PLAIN, ONNXD_STORE_PLAIN)                             \
    X(op, FLOAT16, uint16_t, double, ONNXD_LOAD_FLOAT16, STORE_HALF)                               \
    X(op, BFLOAT16, uint16_t, double, ONNXD_LOAD_BFLOAT16, STORE_BHALF)
#define SUMS(op)                                                                                   \
    EACH_SUM_FLOAT(IN_DOUBLE, op)                                                                  \
    EACH_WIDE_SIGNED(IN_INT64, wrapping_##op)                                                      \
    EACH_WIDE_UNSIGNED(IN_UINT64, wrapping_##op)
SUMS(sum)
SUMS(mean)

#define EACH_EXTREME(X, op)                                                                        \
    ONNXD_EACH_FLOAT(X, op)                                                                        \
    EACH_WIDE_SIGNED(X, op)                                                                        \
    EACH_WIDE_UNSIGNED(X, op)                                                                      \
    X(op, INT8, int8_t, int8_t, ONNXD_LOAD_PLAIN, ONNXD_STORE_PLAIN)                               \
    X(op, UINT8, uint8_t, uint8_t, ONNXD_LOAD_PLAIN, ONNXD_STORE_PLAIN)                            \
    X(op, BOOL, uint8_t, uint8_t, LOAD_BOOL, ONNXD_STORE_PLAIN)
#define LOAD_BOOL(C, x) ((C)((x) != 0))
EACH_EXTREME(REDUCE_KERNEL, max)
EACH_EXTREME(REDUCE_KERNEL, min)

/* What each operator makes of no elements: 0, the lowest or the highest number. */
typedef enum empty_rule { EMPTY_ZERO, EMPTY_MEAN, EMPTY_LOWEST, EMPTY_HIGHEST } empty_rule;

static onnxd_status *fill_empty(const onnxd_compute *compute, empty_rule rule)
{
    static const onnxd_rounding unused = {.saturates = true};
    const onnxd_tensor_view *output = &compute->outputs[0];
    onnxd_wide_kind kind = onnxd_wide_kind_of(output->dtype);
    unsigned bits = output->dtype == ONNXD_BOOL ? 1 : onnxd_dtype_bits(output->dtype);
    onnxd_wide value = {.u = 0};
    if (rule == EMPTY_MEAN && kind != ONNXD_WIDE_FLOAT)
        return onnxd_op_error(compute->node, "the mean of no integers is not defined");
    if (kind == ONNXD_WIDE_FLOAT)
        value.f = rule == EMPTY_ZERO     ? 0
                  : rule == EMPTY_MEAN   ? (double)NAN
                  : rule == EMPTY_LOWEST ? -(double)INFINITY
                                         : (double)INFINITY;
    else if (kind == ONNXD_WIDE_SIGNED && rule != EMPTY_ZERO)
        value.i = rule == EMPTY_LOWEST ? INT64_MIN >> (64 - bits) : INT64_MAX >> (64 - bits);
    else if (rule == EMPTY_HIGHEST)
        value.u = UINT64_MAX >> (64 - bits);
    size_t count = onnxd_tensor_view_count(output);
    for (size_t i = 0; i < count; i++)
        onnxd_wide_store(output->dtype, kind, &value, 1, &unused, onnxd_tensor_view_data(output),
                         i);
    return NULL;
}

static onnxd_status *run(const onnxd_compute *compute, const reduce_kernel *kernels,
                         empty_rule rule)
{
    const reduce_params *p = compute->params;
    const onnxd_tensor_view *input = &compute->inputs[0], *output = &compute->outputs[0];
    int32_t rank = input->shape.rank;
    onnxd_axes axes;
    bool reduced[ONNXD_MAX_RANK];
    onnxd_shape shape, kept;
    ONNXD_TRY(onnxd_compute_axes(compute, 1, &p->axes, &axes));
    ONNXD_TRY(select_axes(compute->node, p, &axes, rank, reduced));
    reduced_shape(&input->shape, reduced, p->keeps_dims, &shape);
    ONNXD_TRY(onnxd_op_check_output(compute, 0, &shape));
    if (onnxd_tensor_view_count(output) == 0)
        return NULL;
    if (onnxd_tensor_view_count(input) == 0)
        return fill_empty(compute, rule);
    reduction r = {.out = onnxd_tensor_view_data(output), .in = onnxd_tensor_view_data(input)};
    int64_t natural[ONNXD_MAX_RANK], kept_strides[2][ONNXD_LOOP_MAX_RANK] = {{0}};
    int64_t dims[ONNXD_MAX_RANK], strides[1][ONNXD_LOOP_MAX_RANK] = {{0}};
    int32_t count = 0, kept_count = 0;
    onnxd_strides_of(&input->shape, natural);
    reduced_shape(&input->shape, reduced, false, &kept);
    onnxd_strides_of(&kept, kept_strides[0]);
    r.reduced_count = 1;
    for (int32_t i = 0; i < rank; i++) {
        if (!reduced[i]) {
            kept_strides[1][kept_count++] = natural[i];
            continue;
        }
        strides[0][count] = natural[i];
        dims[count++] = input->shape.dims[i];
        r.reduced_count *= (size_t)input->shape.dims[i];
    }
    onnxd_loop_init(&r.kept, kept.rank, kept.dims, 2,
                    (const int64_t(*)[ONNXD_LOOP_MAX_RANK])kept_strides);
    onnxd_loop_init(&r.reduced, count, dims, 1, (const int64_t(*)[ONNXD_LOOP_MAX_RANK])strides);
    kernels[input->dtype](&r);
    return NULL;
}

#define DEFINE_SUM(op, rule)                                                                       \
    static onnxd_status *compute_##op(const onnxd_compute *compute)                                \
    {                                                                                              \
        static const reduce_kernel kernels[ONNXD_DTYPE_COUNT] = {                                  \
            EACH_SUM_FLOAT(ONNXD_KERNEL_ENTRY, op)                                                 \
                EACH_WIDE_SIGNED(ONNXD_KERNEL_ENTRY, wrapping_##op)                                \
                    EACH_WIDE_UNSIGNED(ONNXD_KERNEL_ENTRY, wrapping_##op)};                        \
        return run(compute, kernels, rule);                                                        \
    }
#define DEFINE_EXTREME(op, rule)                                                                   \
    static onnxd_status *compute_##op(const onnxd_compute *compute)                                \
    {                                                                                              \
        static const reduce_kernel kernels[ONNXD_DTYPE_COUNT] = {                                  \
            EACH_EXTREME(ONNXD_KERNEL_ENTRY, op)};                                                 \
        return run(compute, kernels, rule);                                                        \
    }
DEFINE_SUM(sum, EMPTY_ZERO)
DEFINE_SUM(mean, EMPTY_MEAN)
DEFINE_EXTREME(max, EMPTY_LOWEST)
DEFINE_EXTREME(min, EMPTY_HIGHEST)

#define COMMON(name, op, first, last, set)                                                         \
    .op_type = name, .domain = "", .since = first, .until = last, .min_inputs = 1,                 \
    .min_outputs = 1, .max_outputs = 1, .outputs = {{.types = set, .type_variable = 1}},           \
    .params_bytes = sizeof(reduce_params), .infer = infer, .compute = compute_##op
#define ATTRIBUTE_ROW(name, op, first, last, set)                                                  \
    {                                                                                              \
        COMMON(name, op, first, last, set), .max_inputs = 1, .parse = parse_attribute, .inputs = { \
            {.types = set, .type_variable = 1}                                                     \
        }                                                                                          \
    }
#define INPUT_ROW(name, op, first, last, set)                                                      \
    {                                                                                              \
        COMMON(name, op, first, last, set),                                                        \
            .max_inputs = 2, .parse = parse_input,                                                 \
            .inputs = {{.types = set, .type_variable = 1},                                         \
                       {.types = ONNXD_SET(INT64), .is_optional = true}},                          \
            .shape_inputs = 1u << 1                                                                \
    }
#define TYPES_1 (ONNXD_SET_FLOATS_1 | ONNXD_SET_WIDE_INTEGERS)
#define TYPES_13 (ONNXD_SET_FLOATS | ONNXD_SET_WIDE_INTEGERS)
#define BYTES (ONNXD_SET(INT8) | ONNXD_SET(UINT8))
#define EXTREME_ROWS(name, op)                                                                     \
    ATTRIBUTE_ROW(name, op, 1, 11, TYPES_1), ATTRIBUTE_ROW(name, op, 12, 12, TYPES_1 | BYTES),     \
        ATTRIBUTE_ROW(name, op, 13, 17, TYPES_13 | BYTES),                                         \
        INPUT_ROW(name, op, 18, 19, TYPES_13 | BYTES),                                             \
        INPUT_ROW(name, op, 20, ONNXD_OPSET_MAX, TYPES_13 | BYTES | ONNXD_SET(BOOL))

const onnxd_op_def onnxd_op_reduce[] = {
    ATTRIBUTE_ROW("ReduceSum", sum, 1, 12, TYPES_1),
    INPUT_ROW("ReduceSum", sum, 13, ONNXD_OPSET_MAX, TYPES_13),
    ATTRIBUTE_ROW("ReduceMean", mean, 1, 12, TYPES_1),
    ATTRIBUTE_ROW("ReduceMean", mean, 13, 17, TYPES_13),
    INPUT_ROW("ReduceMean", mean, 18, ONNXD_OPSET_MAX, TYPES_13),
    EXTREME_ROWS("ReduceMax", max),
    EXTREME_ROWS("ReduceMin", min),
    {.op_type = NULL},
};
