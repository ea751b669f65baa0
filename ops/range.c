/* Range: start, start + delta, ... up to but without limit. */
#include <inttypes.h>
#include <math.h>

#include "ops/convert.h"
#include "ops/ops.h"
#include "ops/real.h"
#include "ops/support.h"
#include "ops/types.h"

enum { START, LIMIT, DELTA, INPUT_COUNT };

/* Since opset 27; NULL before. */
typedef struct range_params {
    bool is_in_double; /* float16 and bfloat16 are computed in double, else in float */
} range_params;

static onnxd_status *parse(const onnxd_node *node, int64_t opset, onnxd_arena *arena, void *params)
{
    (void)opset, (void)arena;
    static const char *const names[] = {"stash_type", NULL};
    range_params *p = params;
    int64_t stash = ONNXD_FLOAT;
    ONNXD_TRY(onnxd_attributes_allow(node, names));
    ONNXD_TRY(onnxd_attribute_int(node, "stash_type", 0, INT32_MAX, &stash));
    if (stash != ONNXD_FLOAT && stash != ONNXD_DOUBLE)
        return onnxd_op_error(node,
                              "attribute 'stash_type' is %" PRId64 ", must be 1 (float) or 11 "
                              "(double)",
                              stash);
    p->is_in_double = stash == ONNXD_DOUBLE;
    return NULL;
}

static onnxd_status *load(const onnxd_node *node, const onnxd_tensor_view *views,
                          onnxd_wide *values)
{
    for (uint32_t i = 0; i < INPUT_COUNT; i++) {
        if (onnxd_tensor_view_count(&views[i]) != 1)
            return onnxd_op_error(node, "input %" PRIu32 " has %zu elements, must have one", i,
                                  onnxd_tensor_view_count(&views[i]));
        onnxd_wide_load(views[i].dtype, onnxd_tensor_view_data(&views[i]), 0, 1, &values[i]);
    }
    return NULL;
}

static onnxd_status *count_integers(const onnxd_node *node, const onnxd_wide *v, int64_t *out_count)
{
    int64_t start = v[START].i, limit = v[LIMIT].i, delta = v[DELTA].i;
    if (delta == 0)
        return onnxd_op_error(node, "input 2, the step, is 0");
    *out_count = 0;
    if (delta > 0 ? limit <= start : limit >= start)
        return NULL;
    /* Distances are taken modulo 2^64, where they always fit. */
    uint64_t distance =
        delta > 0 ? (uint64_t)limit - (uint64_t)start : (uint64_t)start - (uint64_t)limit;
    uint64_t step = delta > 0 ? (uint64_t)delta : 0 - (uint64_t)delta;
    uint64_t count = (distance - 1) / step + 1;
    if (count > INT64_MAX)
        return onnxd_op_error(node, "the range has %" PRIu64 " elements, too many", count);
    *out_count = (int64_t)count;
    return NULL;
}

static onnxd_status *count_elements(const onnxd_node *node, onnxd_dtype dtype, const onnxd_wide *v,
                                    int64_t *out_count)
{
    if (onnxd_wide_kind_of(dtype) == ONNXD_WIDE_SIGNED)
        return count_integers(node, v, out_count);
    if (v[DELTA].f == 0 || isnan(v[START].f) || isnan(v[LIMIT].f) || isnan(v[DELTA].f))
        return onnxd_op_error(node, "start %g, limit %g and step %g make no range", v[START].f,
                              v[LIMIT].f, v[DELTA].f);
    double count = ceil((v[LIMIT].f - v[START].f) / v[DELTA].f);
    if (count > 0x1p53 || isnan(count))
        return onnxd_op_error(node, "the range has %g elements, too many", count);
    *out_count = count > 0 ? (int64_t)count : 0;
    return NULL;
}

static onnxd_status *infer(onnxd_infer *infer)
{
    onnxd_tensor_type *output = &infer->outputs[0];
    onnxd_tensor_view views[INPUT_COUNT];
    bool is_known = true;
    output->shape = onnxd_shape_of_rank(1);
    for (uint32_t i = 0; i < INPUT_COUNT; i++) {
        if (output->dtype == ONNXD_UNDEFINED)
            output->dtype = infer->inputs[i].dtype;
        is_known = is_known && onnxd_infer_known(infer, i, &views[i]);
    }
    if (!is_known)
        return NULL;
    onnxd_wide values[INPUT_COUNT] = {{0}};
    ONNXD_TRY(load(infer->node, views, values));
    return count_elements(infer->node, output->dtype, values, &output->shape.dims[0]);
}

#define DEFINE_FILL(op, id, T, C, LOAD, STORE)                                                     \
    static void fill_##id(T *out, size_t count, C start, C delta)                                  \
    {                                                                                              \
        for (size_t i = 0; i < count; i++)                                                         \
            out[i] = STORE(T, start + (C)i * delta);                                               \
    }
ONNXD_EACH_FLOAT(DEFINE_FILL, )

/* Integers: modulo 2^64, so that the product needs no care. */
static void fill_integers(onnxd_dtype dtype, void *out, size_t count, const onnxd_wide *v)
{
    static const onnxd_rounding unused = {.saturates = true};
    for (size_t i = 0; i < count; i++) {
        onnxd_wide value = {.u = v[START].u + i * v[DELTA].u};
        onnxd_wide_store(dtype, ONNXD_WIDE_SIGNED, &value, 1, &unused, out, i);
    }
}

static void fill_in_double(onnxd_dtype dtype, void *out, size_t count, const onnxd_wide *v)
{
    static const onnxd_rounding unused = {.saturates = true};
    onnxd_wide chunk[ONNXD_WIDE_CHUNK];
    for (size_t first = 0; first < count; first += ONNXD_WIDE_CHUNK) {
        size_t rest = count - first, run = rest < ONNXD_WIDE_CHUNK ? rest : ONNXD_WIDE_CHUNK;
        for (size_t i = 0; i < run; i++)
            chunk[i].f = v[START].f + (double)(first + i) * v[DELTA].f;
        onnxd_wide_store(dtype, ONNXD_WIDE_FLOAT, chunk, run, &unused, out, first);
    }
}

static onnxd_status *compute(const onnxd_compute *compute)
{
    const onnxd_tensor_view *output = &compute->outputs[0];
    onnxd_wide v[INPUT_COUNT] = {{0}};
    onnxd_shape shape = {.rank = 1};
    ONNXD_TRY(load(compute->node, compute->inputs, v));
    ONNXD_TRY(count_elements(compute->node, output->dtype, v, &shape.dims[0]));
    ONNXD_TRY(onnxd_op_check_output(compute, 0, &shape));
    size_t count = (size_t)shape.dims[0];
    void *out = onnxd_tensor_view_data(output);
    const range_params *p = compute->params;
    if (p != NULL && p->is_in_double && onnxd_real_is_half(output->dtype)) {
        fill_in_double(output->dtype, out, count, v);
        return NULL;
    }
#define FILL(op, id, T, C, LOAD, STORE)                                                            \
    case ONNXD_##id:                                                                               \
        fill_##id(out, count, (C)v[START].f, (C)v[DELTA].f);                                       \
        break;
    switch (output->dtype) {
        ONNXD_EACH_FLOAT(FILL, )
    default:
        fill_integers(output->dtype, out, count, v);
        break;
    }
    return NULL;
}

#define ROW(first, last, set, parse_function, size)                                                \
    {                                                                                              \
        .op_type = "Range", .domain = "", .since = first, .until = last, .min_inputs = 3,          \
        .max_inputs = 3, .min_outputs = 1, .max_outputs = 1,                                       \
        .inputs = {{.types = set, .type_variable = 1},                                             \
                   {.types = set, .type_variable = 1},                                             \
                   {.types = set, .type_variable = 1}},                                            \
        .outputs = {{.types = set, .type_variable = 1}}, .parse = parse_function,                  \
        .params_bytes = size, .infer = infer, .compute = compute,                                  \
        .shape_inputs = 1u << START | 1u << LIMIT | 1u << DELTA                                    \
    }
#define TYPES (ONNXD_SET(FLOAT) | ONNXD_SET(DOUBLE) | ONNXD_SET(INT16) | ONNXD_SET_INDEX)

const onnxd_op_def onnxd_op_range[] = {
    ROW(11, 26, TYPES, NULL, 0),
    ROW(27, ONNXD_OPSET_MAX, TYPES | ONNXD_SET_FLOATS, parse, sizeof(range_params)),
    {.op_type = NULL},
};
