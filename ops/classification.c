/* IsNaN and IsInf. The float8 types are judged by their bits: of the two with infinities or NaN in
 * the manner of IEEE 754 only float8e5m2 has infinities, and the "uz" types have one NaN, 0x80. */
#include <math.h>

#include "graph/attributes.h"
#include "ops/ops.h"
#include "ops/support.h"
#include "ops/types.h"

typedef struct infinity_params {
    bool finds_negative, finds_positive;
} infinity_params;

static onnxd_status *parse_infinity(const onnxd_node *node, int64_t opset, onnxd_arena *arena,
                                    void *params)
{
    (void)opset, (void)arena;
    static const char *const names[] = {"detect_negative", "detect_positive", NULL};
    infinity_params *p = params;
    int64_t negative = 1, positive = 1;
    ONNXD_TRY(onnxd_attributes_allow(node, names));
    ONNXD_TRY(onnxd_attribute_int(node, "detect_negative", 0, 1, &negative));
    ONNXD_TRY(onnxd_attribute_int(node, "detect_positive", 0, 1, &positive));
    p->finds_negative = negative != 0;
    p->finds_positive = positive != 0;
    return NULL;
}

static onnxd_status *infer(onnxd_infer *infer)
{
    infer->outputs[0].dtype = ONNXD_BOOL;
    infer->outputs[0].shape = infer->inputs[0].shape;
    return NULL;
}

typedef void (*judge_kernel)(const void *in, size_t count, const infinity_params *p, uint8_t *out);

#define KERNEL(op, id, T, C, LOAD, STORE)                                                          \
    static void op##_##id(const void *in_data, size_t count,                                       \
                          ONNXD_UNUSED const infinity_params *p, uint8_t *out)                     \
    {                                                                                              \
        const T *in = in_data;                                                                     \
        for (size_t i = 0; i < count; i++) {                                                       \
            C x = LOAD(C, in[i]);                                                                  \
            out[i] = (uint8_t)(op##_EXPRESSION(x));                                                \
        }                                                                                          \
    }

#define nan_EXPRESSION(x) isnan(x)
#define infinity_EXPRESSION(x)                                                                     \
    isinf(x) && (((x) < 0 && p->finds_negative) || ((x) > 0 && p->finds_positive))
ONNXD_EACH_FLOAT(KERNEL, nan)
ONNXD_EACH_FLOAT(KERNEL, infinity)

#define BYTES(op, id) KERNEL(op, id, uint8_t, unsigned, ONNXD_LOAD_PLAIN, )
#define fn_nan_EXPRESSION(x) ((x)&0x7f) == 0x7f
#define uz_nan_EXPRESSION(x) (x) == 0x80
#define e5_nan_EXPRESSION(x) ((x)&0x7f) > 0x7c
#define e5_infinity_EXPRESSION(x)                                                                  \
    ((x) == 0xfc && p->finds_negative) || ((x) == 0x7c && p->finds_positive)
#define none_EXPRESSION(x) ((void)(x), 0)
BYTES(fn_nan, FLOAT8E4M3FN)
BYTES(uz_nan, FLOAT8E4M3FNUZ)
BYTES(e5_nan, FLOAT8E5M2)
BYTES(uz_nan, FLOAT8E5M2FNUZ)
BYTES(e5_infinity, FLOAT8E5M2)
BYTES(none, UINT8)

static onnxd_status *run(const onnxd_compute *compute, const judge_kernel *kernels)
{
    const onnxd_tensor_view *input = &compute->inputs[0];
    kernels[input->dtype](onnxd_tensor_view_data(input), onnxd_tensor_view_count(input),
                          compute->params, onnxd_tensor_view_data(&compute->outputs[0]));
    return NULL;
}

static onnxd_status *compute_nan(const onnxd_compute *compute)
{
    static const judge_kernel kernels[ONNXD_DTYPE_COUNT] = {
        ONNXD_EACH_FLOAT(ONNXD_KERNEL_ENTRY, nan)[ONNXD_FLOAT8E4M3FN] = fn_nan_FLOAT8E4M3FN,
        [ONNXD_FLOAT8E4M3FNUZ] = uz_nan_FLOAT8E4M3FNUZ, [ONNXD_FLOAT8E5M2] = e5_nan_FLOAT8E5M2,
        [ONNXD_FLOAT8E5M2FNUZ] = uz_nan_FLOAT8E5M2FNUZ};
    return run(compute, kernels);
}

static onnxd_status *compute_infinity(const onnxd_compute *compute)
{
    static const judge_kernel kernels[ONNXD_DTYPE_COUNT] = {
        ONNXD_EACH_FLOAT(ONNXD_KERNEL_ENTRY, infinity)[ONNXD_FLOAT8E4M3FN] = none_UINT8,
        [ONNXD_FLOAT8E4M3FNUZ] = none_UINT8, [ONNXD_FLOAT8E5M2] = e5_infinity_FLOAT8E5M2,
        [ONNXD_FLOAT8E5M2FNUZ] = none_UINT8};
    return run(compute, kernels);
}

#define COMMON(name, op, first, last, set)                                                         \
    .op_type = name, .domain = "", .since = first, .until = last, .min_inputs = 1,                 \
    .max_inputs = 1, .min_outputs = 1, .max_outputs = 1, .inputs = {{.types = set}},               \
    .outputs = {{.types = ONNXD_SET(BOOL)}}, .infer = infer, .compute = compute_##op
#define NAN_ROW(first, last, set)                                                                  \
    {                                                                                              \
        COMMON("IsNaN", nan, first, last, set)                                                     \
    }
#define INFINITY_ROW(first, last, set)                                                             \
    {                                                                                              \
        COMMON("IsInf", infinity, first, last, set), .params_bytes = sizeof(infinity_params),      \
                                                     .parse = parse_infinity                       \
    }

const onnxd_op_def onnxd_op_classification[] = {
    NAN_ROW(9, 12, ONNXD_SET_FLOATS_1),
    NAN_ROW(13, 19, ONNXD_SET_FLOATS),
    NAN_ROW(20, ONNXD_OPSET_MAX, ONNXD_SET_FLOATS | ONNXD_SET_FLOAT8),
    INFINITY_ROW(10, 19, ONNXD_SET(FLOAT) | ONNXD_SET(DOUBLE)),
    INFINITY_ROW(20, ONNXD_OPSET_MAX, ONNXD_SET_FLOATS | ONNXD_SET_FLOAT8),
    {.op_type = NULL},
};
