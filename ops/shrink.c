/* Shrink: x + bias below -lambd, x - bias above lambd, 0 between. Integers wrap where the bias is
 * a whole number; otherwise they are computed as floating-point numbers and cut. */
#include <math.h>

#include "graph/attributes.h"
#include "ops/convert.h"
#include "ops/ops.h"
#include "ops/support.h"
#include "ops/types.h"

typedef struct shrink_params {
    float bias, lambd;
} shrink_params;

static onnxd_status *parse(const onnxd_node *node, int64_t opset, onnxd_arena *arena, void *params)
{
    (void)opset, (void)arena;
    static const char *const names[] = {"bias", "lambd", NULL};
    shrink_params *p = params;
    *p = (shrink_params){.bias = 0, .lambd = 0.5f};
    ONNXD_TRY(onnxd_attributes_allow(node, names));
    ONNXD_TRY(onnxd_attribute_float(node, "bias", &p->bias));
    return onnxd_attribute_float(node, "lambd", &p->lambd);
}

/* NaN is between. */
static double shrink(double x, const shrink_params *p)
{
    double bias = (double)p->bias, lambd = (double)p->lambd;
    return x < -lambd ? x + bias : x > lambd ? x - bias : 0;
}

/* Elements of the wide form that is integer, by a bias that is. */
static void shrink_wide(onnxd_wide *values, size_t count, onnxd_wide_kind kind,
                        const shrink_params *p)
{
    uint64_t bias = (uint64_t)(int64_t)p->bias;
    double lambd = (double)p->lambd;
    for (size_t i = 0; i < count; i++) {
        double x = kind == ONNXD_WIDE_SIGNED ? (double)values[i].i : (double)values[i].u;
        values[i].u = x < -lambd ? values[i].u + bias : x > lambd ? values[i].u - bias : 0;
    }
}

static onnxd_status *compute(const onnxd_compute *compute)
{
    static const onnxd_rounding unused = {.saturates = true};
    const shrink_params *p = compute->params;
    const onnxd_tensor_view *input = &compute->inputs[0];
    const void *in = onnxd_tensor_view_data(input);
    void *out = onnxd_tensor_view_data(&compute->outputs[0]);
    size_t total = onnxd_tensor_view_count(input);
    onnxd_wide_kind kind = onnxd_wide_kind_of(input->dtype);
    bool is_whole = truncf(p->bias) == p->bias && fabsf(p->bias) < 0x1p62f;
    onnxd_wide values[ONNXD_WIDE_CHUNK];
    for (size_t first = 0; first < total; first += ONNXD_WIDE_CHUNK) {
        size_t count = total - first < ONNXD_WIDE_CHUNK ? total - first : ONNXD_WIDE_CHUNK;
        onnxd_wide_load(input->dtype, in, first, count, values);
        onnxd_wide_kind result = kind;
        if (kind != ONNXD_WIDE_FLOAT && is_whole) {
            shrink_wide(values, count, kind, p);
        } else {
            result = ONNXD_WIDE_FLOAT;
            for (size_t i = 0; i < count; i++)
                values[i].f = shrink(kind == ONNXD_WIDE_FLOAT    ? values[i].f
                                     : kind == ONNXD_WIDE_SIGNED ? (double)values[i].i
                                                                 : (double)values[i].u,
                                     p);
        }
        onnxd_wide_store(input->dtype, result, values, count, &unused, out, first);
    }
    return NULL;
}

const onnxd_op_def onnxd_op_shrink[] = {
    {.op_type = "Shrink",
     .domain = "",
     .since = 9,
     .until = ONNXD_OPSET_MAX,
     .min_inputs = 1,
     .max_inputs = 1,
     .min_outputs = 1,
     .max_outputs = 1,
     .inputs = {{.types = ONNXD_SET_NUMBERS_1, .type_variable = 1}},
     .outputs = {{.types = ONNXD_SET_NUMBERS_1, .type_variable = 1}},
     .params_bytes = sizeof(shrink_params),
     .parse = parse,
     .infer = onnxd_op_infer_same,
     .compute = compute},
    {.op_type = NULL},
};
