/*
 * The kernel behind every reduction: rows of the input folded into one result, or, where results
 * and elements are neighbours alike, many results at a time.
 *
 *   ONNXD_REDUCE_KERNEL(op, id, T, C, A, LOAD, STORE)
 *
 * defines op_id(). T is the type in memory, C the type loaded, A the type accumulated in. An
 * operator is four macros:
 *   op_START(A, first)    the neutral start, from the first element
 *   op_MAP(A, x)          what a loaded element adds
 *   op_COMBINE(A, a, b)   two partial results in one, in any order
 *   op_FINISH(A, a, n)    the result over n elements, which STORE takes
 */
#ifndef ONNXD_OPS_REDUCE_KERNEL_H
#define ONNXD_OPS_REDUCE_KERNEL_H

#include "ops/reduce.h"

/* Independent partial results, which the compiler can keep in one vector. */
#define ONNXD_REDUCE_LANES 8
#define ONNXD_REDUCE_COLUMNS 64

#define ONNXD_REDUCE_KERNEL(op, id, T, C, A, LOAD, STORE)                                          \
    static A op##_row_##id(A start, const T *in, size_t count, int64_t step)                       \
    {                                                                                              \
        A lanes[ONNXD_REDUCE_LANES];                                                               \
        size_t i = 0;                                                                              \
        if (step != 1 || count < ONNXD_REDUCE_LANES) {                                             \
            for (int64_t at = 0; at < (int64_t)count; at++)                                        \
                start = op##_COMBINE(A, start, op##_MAP(A, (C)LOAD(C, in[at * step])));            \
            return start;                                                                          \
        }                                                                                          \
        for (; i < ONNXD_REDUCE_LANES; i++)                                                        \
            lanes[i] = op##_MAP(A, (C)LOAD(C, in[i]));                                             \
        for (; i + ONNXD_REDUCE_LANES <= count; i += ONNXD_REDUCE_LANES)                           \
            for (size_t lane = 0; lane < ONNXD_REDUCE_LANES; lane++)                               \
                lanes[lane] = op##_COMBINE(A, lanes[lane], op##_MAP(A, (C)LOAD(C, in[i + lane]))); \
        for (; i < count; i++)                                                                     \
            start = op##_COMBINE(A, start, op##_MAP(A, (C)LOAD(C, in[i])));                        \
        for (size_t lane = 0; lane < ONNXD_REDUCE_LANES; lane++)                                   \
            start = op##_COMBINE(A, start, lanes[lane]);                                           \
        return start;                                                                              \
    }                                                                                              \
    static A op##_one_##id(const onnxd_reduction *r, const T *in)                                  \
    {                                                                                              \
        A result = op##_START(A, (C)LOAD(C, *in));                                                 \
        onnxd_loop_cursor cursor;                                                                  \
        bool has_row = onnxd_loop_begin(&r->reduced, &cursor);                                     \
        for (; has_row; has_row = onnxd_loop_next(&r->reduced, &cursor))                           \
            result = op##_row_##id(result, in + cursor.offsets[0], onnxd_loop_row(&r->reduced),    \
                                   onnxd_loop_step(&r->reduced, 0));                               \
        return result;                                                                             \
    }                                                                                              \
    /* Neighbours in both input and output: many results at a time, reading along the rows. */     \
    static void op##_columns_##id(const onnxd_reduction *r, T *out, const T *in, size_t count)     \
    {                                                                                              \
        A lanes[ONNXD_REDUCE_COLUMNS];                                                             \
        onnxd_loop_cursor cursor;                                                                  \
        bool has_row = onnxd_loop_begin(&r->reduced, &cursor);                                     \
        int64_t row = (int64_t)onnxd_loop_row(&r->reduced);                                        \
        int64_t step = onnxd_loop_step(&r->reduced, 0);                                            \
        for (size_t lane = 0; lane < count; lane++)                                                \
            lanes[lane] = op##_START(A, (C)LOAD(C, in[lane]));                                     \
        for (; has_row; has_row = onnxd_loop_next(&r->reduced, &cursor)) {                         \
            for (int64_t i = 0; i < row; i++) {                                                    \
                const T *at = in + cursor.offsets[0] + i * step;                                   \
                for (size_t lane = 0; lane < count; lane++)                                        \
                    lanes[lane] = op##_COMBINE(A, lanes[lane], op##_MAP(A, (C)LOAD(C, at[lane]))); \
            }                                                                                      \
        }                                                                                          \
        for (size_t lane = 0; lane < count; lane++)                                                \
            out[lane] = STORE(T, op##_FINISH(A, lanes[lane], r->reduced_count));                   \
    }                                                                                              \
    static void op##_##id(const onnxd_reduction *r)                                                \
    {                                                                                              \
        onnxd_loop_cursor cursor;                                                                  \
        bool has_row = onnxd_loop_begin(&r->kept, &cursor);                                        \
        int64_t row = (int64_t)onnxd_loop_row(&r->kept);                                           \
        int64_t out_step = onnxd_loop_step(&r->kept, 0), in_step = onnxd_loop_step(&r->kept, 1);   \
        bool by_columns = row > 1 && out_step == 1 && in_step == 1;                                \
        for (; has_row; has_row = onnxd_loop_next(&r->kept, &cursor)) {                            \
            T *out = (T *)r->out + cursor.offsets[0];                                              \
            const T *in = (const T *)r->in + cursor.offsets[1];                                    \
            for (int64_t i = 0; by_columns && i < row; i += ONNXD_REDUCE_COLUMNS)                  \
                op##_columns_##id(                                                                 \
                    r, out + i, in + i,                                                            \
                    (size_t)(row - i < ONNXD_REDUCE_COLUMNS ? row - i : ONNXD_REDUCE_COLUMNS));    \
            for (int64_t i = 0; !by_columns && i < row; i++)                                       \
                out[i * out_step] = STORE(                                                         \
                    T, op##_FINISH(A, op##_one_##id(r, in + i * in_step), r->reduced_count));      \
        }                                                                                          \
    }

/* Sums of floating-point numbers are taken in double and rounded once. */
#define ONNXD_REDUCE_STORE_HALF(T, x) onnxd_double_to_float16(x)
#define ONNXD_REDUCE_STORE_BHALF(T, x) onnxd_float_to_bfloat16((float)(x))
#define ONNXD_REDUCE_DOUBLE(op, id, T, C, LOAD, STORE)                                             \
    ONNXD_REDUCE_KERNEL(op, id, T, double, double, LOAD, STORE)
#define ONNXD_REDUCE_EACH_FLOAT(X, op)                                                             \
    X(op, FLOAT, float, float, ONNXD_LOAD_PLAIN, ONNXD_STORE_PLAIN)                                \
    X(op, DOUBLE, double, double, ONNXD_LOAD_PLAIN, ONNXD_STORE_PLAIN)                             \
    X(op, FLOAT16, uint16_t, float, ONNXD_LOAD_FLOAT16, ONNXD_REDUCE_STORE_HALF)                   \
    X(op, BFLOAT16, uint16_t, float, ONNXD_LOAD_BFLOAT16, ONNXD_REDUCE_STORE_BHALF)
#define ONNXD_REDUCE_INT64(op, id, T, C, LOAD, STORE)                                              \
    ONNXD_REDUCE_KERNEL(op, id, T, int64_t, int64_t, LOAD, STORE)
#define ONNXD_REDUCE_UINT64(op, id, T, C, LOAD, STORE)                                             \
    ONNXD_REDUCE_KERNEL(op, id, T, uint64_t, uint64_t, LOAD, STORE)
#define ONNXD_REDUCE_EACH_SIGNED(X, op)                                                            \
    X(op, INT32, int32_t, int32_t, ONNXD_LOAD_PLAIN, ONNXD_STORE_PLAIN)                            \
    X(op, INT64, int64_t, int64_t, ONNXD_LOAD_PLAIN, ONNXD_STORE_PLAIN)
#define ONNXD_REDUCE_EACH_UNSIGNED(X, op)                                                          \
    X(op, UINT32, uint32_t, uint32_t, ONNXD_LOAD_PLAIN, ONNXD_STORE_PLAIN)                         \
    X(op, UINT64, uint64_t, uint64_t, ONNXD_LOAD_PLAIN, ONNXD_STORE_PLAIN)

/* Kernels and compute function of an operator that sums: `op` for floating-point types, and
 * signed_op and unsigned_op, which wrap. */
#define ONNXD_REDUCE_SUMS(op, empty)                                                               \
    ONNXD_REDUCE_EACH_FLOAT(ONNXD_REDUCE_DOUBLE, op)                                               \
    ONNXD_REDUCE_EACH_SIGNED(ONNXD_REDUCE_INT64, signed_##op)                                      \
    ONNXD_REDUCE_EACH_UNSIGNED(ONNXD_REDUCE_UINT64, unsigned_##op)                                 \
    static onnxd_status *compute_##op(const onnxd_compute *compute)                                \
    {                                                                                              \
        static const onnxd_reduce_kernel kernels[ONNXD_DTYPE_COUNT] = {                            \
            ONNXD_REDUCE_EACH_FLOAT(ONNXD_KERNEL_ENTRY, op)                                        \
                ONNXD_REDUCE_EACH_SIGNED(ONNXD_KERNEL_ENTRY, signed_##op)                          \
                    ONNXD_REDUCE_EACH_UNSIGNED(ONNXD_KERNEL_ENTRY, unsigned_##op)};                \
        return onnxd_reduce_run(compute, kernels, empty);                                          \
    }

/* Sums of signed numbers and their products, modulo 2^64. */
#define ONNXD_REDUCE_ADD(a, b) ((int64_t)((uint64_t)(a) + (uint64_t)(b)))
#define ONNXD_REDUCE_MULTIPLY(a, b) ((int64_t)((uint64_t)(a) * (uint64_t)(b)))

#endif
