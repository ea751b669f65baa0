/* Pow: input 0 to the power of input 1. The result has the type of input 0; since opset 12 the
 * exponent may have another. Integers to natural powers wrap; other powers of integers are computed
 * as floating-point numbers and cut. */
#include <math.h>

#include "ops/binary.h"
#include "ops/convert.h"
#include "ops/ops.h"

static onnxd_status *infer(onnxd_infer *infer)
{
    ONNXD_TRY(onnxd_binary_infer(infer));
    infer->outputs[0].dtype = infer->inputs[0].dtype;
    return NULL;
}

/* x^y modulo 2^64 by squaring. */
static uint64_t wrapping_power(uint64_t x, uint64_t y)
{
    uint64_t result = 1;
    for (; y != 0; y >>= 1) {
        if ((y & 1) != 0)
            result *= x;
        x *= x;
    }
    return result;
}

/* What a chunk is made of: operands of their own kinds, or the number at [0] where repeated. */
typedef struct operand {
    onnxd_wide_kind kind;
    bool is_repeated;
    bool is_float; /* every value is one */
    onnxd_wide values[ONNXD_WIDE_CHUNK];
} operand;

static double as_double(const operand *o, size_t index)
{
    onnxd_wide value = o->values[o->is_repeated ? 0 : index];
    return o->kind == ONNXD_WIDE_FLOAT    ? value.f
           : o->kind == ONNXD_WIDE_SIGNED ? (double)value.i
                                          : (double)value.u;
}

/* Stores element by element for integers, since each may be of another kind. */
static void power_of_integers(const operand *x, const operand *y, size_t count, onnxd_dtype dtype,
                              void *out, size_t first)
{
    static const onnxd_rounding unused = {.saturates = true};
    for (size_t i = 0; i < count; i++) {
        onnxd_wide exponent = y->values[y->is_repeated ? 0 : i], result;
        onnxd_wide_kind kind = ONNXD_WIDE_FLOAT;
        if (y->kind == ONNXD_WIDE_UNSIGNED || (y->kind == ONNXD_WIDE_SIGNED && exponent.i >= 0)) {
            kind = ONNXD_WIDE_UNSIGNED;
            result.u = wrapping_power(x->values[x->is_repeated ? 0 : i].u, exponent.u);
        } else {
            result.f = pow(as_double(x, i), as_double(y, i));
        }
        onnxd_wide_store(dtype, kind, &result, 1, &unused, out, first + i);
    }
}

static void power_of_floats(const operand *x, const operand *y, size_t count, onnxd_dtype dtype,
                            void *out, size_t first)
{
    bool is_float = x->is_float && y->is_float;
    static const onnxd_rounding unused = {.saturates = true};
    onnxd_wide results[ONNXD_WIDE_CHUNK];
    bool is_square = y->is_repeated && as_double(y, 0) == 2;
    for (size_t i = 0; i < count; i++) {
        double base = as_double(x, i);
        if (is_square)
            results[i].f = base * base;
        else if (is_float)
            results[i].f = (double)powf((float)base, (float)as_double(y, i));
        else
            results[i].f = pow(base, as_double(y, i));
    }
    onnxd_wide_store(dtype, ONNXD_WIDE_FLOAT, results, count, &unused, out, first);
}

static void load(operand *o, const onnxd_tensor_view *view, int64_t offset, size_t first,
                 size_t count)
{
    if (!o->is_repeated)
        onnxd_wide_load(view->dtype, onnxd_tensor_view_data(view), (size_t)offset + first, count,
                        o->values);
    else if (first == 0)
        onnxd_wide_load(view->dtype, onnxd_tensor_view_data(view), (size_t)offset, 1, o->values);
}

static onnxd_status *compute(const onnxd_compute *compute)
{
    const onnxd_tensor_view *base = &compute->inputs[0], *exponent = &compute->inputs[1];
    onnxd_dtype dtype = compute->outputs[0].dtype;
    void *out = onnxd_tensor_view_data(&compute->outputs[0]);
    onnxd_loop loop;
    ONNXD_TRY(onnxd_binary_loop(compute, &loop));
    operand x = {.kind = onnxd_wide_kind_of(base->dtype),
                 .is_repeated = onnxd_loop_step(&loop, 1) == 0,
                 .is_float = base->dtype == ONNXD_FLOAT};
    operand y = {.kind = onnxd_wide_kind_of(exponent->dtype),
                 .is_repeated = onnxd_loop_step(&loop, 2) == 0,
                 .is_float = exponent->dtype == ONNXD_FLOAT};
    size_t row = onnxd_loop_row(&loop);
    onnxd_loop_cursor cursor;
    if (!onnxd_loop_begin(&loop, &cursor))
        return NULL;
    do {
        for (size_t first = 0; first < row; first += ONNXD_WIDE_CHUNK) {
            size_t count = row - first < ONNXD_WIDE_CHUNK ? row - first : ONNXD_WIDE_CHUNK;
            size_t at = (size_t)cursor.offsets[0] + first;
            load(&x, base, cursor.offsets[1], first, count);
            load(&y, exponent, cursor.offsets[2], first, count);
            if (x.kind == ONNXD_WIDE_FLOAT)
                power_of_floats(&x, &y, count, dtype, out, at);
            else
                power_of_integers(&x, &y, count, dtype, out, at);
        }
    } while (onnxd_loop_next(&loop, &cursor));
    return NULL;
}

#define ROW(first, last, set, exponent_set, exponent_variable)                                     \
    {                                                                                              \
        .op_type = "Pow", .domain = "", .since = first, .until = last, .min_inputs = 2,            \
        .max_inputs = 2, .min_outputs = 1, .max_outputs = 1,                                       \
        .inputs = {{.types = set, .type_variable = 1},                                             \
                   {.types = exponent_set, .type_variable = exponent_variable}},                   \
        .outputs = {{.types = set, .type_variable = 1}},                                           \
        .params_bytes = sizeof(onnxd_binary_params), .parse = onnxd_binary_parse, .infer = infer,  \
        .compute = compute                                                                         \
    }

const onnxd_op_def onnxd_op_pow[] = {
    ROW(1, 11, ONNXD_SET_FLOATS_1, ONNXD_SET_FLOATS_1, 1),
    ROW(12, 12, ONNXD_SET_FLOATS_1 | ONNXD_SET_INDEX, ONNXD_SET_NUMBERS_1, 2),
    ROW(13, 14, ONNXD_SET_FLOATS | ONNXD_SET_INDEX, ONNXD_SET_NUMBERS_1, 2),
    ROW(15, ONNXD_OPSET_MAX, ONNXD_SET_FLOATS | ONNXD_SET_INDEX, ONNXD_SET_NUMBERS, 2),
    {.op_type = NULL},
};
