/* RandomNormal and RandomUniform, whose shape is an attribute, and the ...Like operators, which
 * take shape and type from an input. */
#include <inttypes.h>

#include "ops/convert.h"
#include "ops/ops.h"
#include "ops/random/generator.h"
#include "ops/support.h"
#include "ops/types.h"

typedef struct random_params {
    onnxd_dtype dtype; /* UNDEFINED: that of the input */
    onnxd_seed seed;
    float scale, offset; /* deviation and mean; width and low end */
    onnxd_shape shape;
} random_params;

#define TYPES_1 ONNXD_SET_FLOATS_1
#define TYPES_22 ONNXD_SET_FLOATS

static onnxd_status *parse_common(const onnxd_node *node, int64_t opset, random_params *p)
{
    ONNXD_TRY(onnxd_seed_parse(node, &p->seed));
    return onnxd_random_dtype_parse(node, opset < 22 ? TYPES_1 : TYPES_22, &p->dtype);
}

static onnxd_status *parse_shape(const onnxd_node *node, random_params *p)
{
    size_t rank = 0;
    p->dtype = ONNXD_FLOAT;
    ONNXD_TRY(onnxd_attribute_require(node, "shape"));
    ONNXD_TRY(
        onnxd_attribute_ints(node, "shape", 0, ONNXD_MAX_RANK, 0, INT64_MAX, p->shape.dims, &rank));
    p->shape.rank = (int32_t)rank;
    return NULL;
}

static onnxd_status *parse_normal_attributes(const onnxd_node *node, random_params *p)
{
    p->scale = 1;
    ONNXD_TRY(onnxd_attribute_float(node, "mean", &p->offset));
    return onnxd_attribute_float(node, "scale", &p->scale);
}

/* The width may overflow a float where both ends fit one, so `scale` holds the high end. */
static onnxd_status *parse_uniform_attributes(const onnxd_node *node, random_params *p)
{
    p->scale = 1;
    ONNXD_TRY(onnxd_attribute_float(node, "low", &p->offset));
    return onnxd_attribute_float(node, "high", &p->scale);
}

static onnxd_status *parse_normal(const onnxd_node *node, int64_t opset, onnxd_arena *arena,
                                  void *params)
{
    (void)arena;
    static const char *const names[] = {"dtype", "mean", "scale", "seed", "shape", NULL};
    ONNXD_TRY(onnxd_attributes_allow(node, names));
    ONNXD_TRY(parse_shape(node, params));
    ONNXD_TRY(parse_normal_attributes(node, params));
    return parse_common(node, opset, params);
}

static onnxd_status *parse_normal_like(const onnxd_node *node, int64_t opset, onnxd_arena *arena,
                                       void *params)
{
    (void)arena;
    static const char *const names[] = {"dtype", "mean", "scale", "seed", NULL};
    ONNXD_TRY(onnxd_attributes_allow(node, names));
    ONNXD_TRY(parse_normal_attributes(node, params));
    return parse_common(node, opset, params);
}

static onnxd_status *parse_uniform(const onnxd_node *node, int64_t opset, onnxd_arena *arena,
                                   void *params)
{
    (void)arena;
    static const char *const names[] = {"dtype", "high", "low", "seed", "shape", NULL};
    ONNXD_TRY(onnxd_attributes_allow(node, names));
    ONNXD_TRY(parse_shape(node, params));
    ONNXD_TRY(parse_uniform_attributes(node, params));
    return parse_common(node, opset, params);
}

static onnxd_status *parse_uniform_like(const onnxd_node *node, int64_t opset, onnxd_arena *arena,
                                        void *params)
{
    (void)arena;
    static const char *const names[] = {"dtype", "high", "low", "seed", NULL};
    ONNXD_TRY(onnxd_attributes_allow(node, names));
    ONNXD_TRY(parse_uniform_attributes(node, params));
    return parse_common(node, opset, params);
}

static onnxd_status *infer_shaped(onnxd_infer *infer)
{
    const random_params *p = infer->params;
    infer->outputs[0].dtype = p->dtype;
    infer->outputs[0].shape = p->shape;
    return NULL;
}

static onnxd_status *infer_like(onnxd_infer *infer)
{
    const random_params *p = infer->params;
    onnxd_dtype dtype = infer->inputs[0].dtype;
    onnxd_dtype_set allowed = infer->opset < 22 ? TYPES_1 : TYPES_22;
    infer->outputs[0].shape = infer->inputs[0].shape;
    infer->outputs[0].dtype = p->dtype != ONNXD_UNDEFINED ? p->dtype : dtype;
    if (p->dtype == ONNXD_UNDEFINED && dtype != ONNXD_UNDEFINED && ((allowed >> dtype) & 1) == 0)
        return onnxd_op_error(infer->node,
                              "input 0 is %s, which the output cannot be: attribute 'dtype' is "
                              "needed",
                              onnxd_dtype_name(dtype));
    return NULL;
}

typedef void (*draw)(onnxd_generator *generator, const random_params *p, double *values,
                     size_t count);

static void draw_normal(onnxd_generator *generator, const random_params *p, double *values,
                        size_t count)
{
    onnxd_generator_normal(generator, values, count);
    for (size_t i = 0; i < count; i++)
        values[i] = (double)p->offset + (double)p->scale * values[i];
}

static void draw_uniform(onnxd_generator *generator, const random_params *p, double *values,
                         size_t count)
{
    double low = (double)p->offset, width = (double)p->scale - low;
    onnxd_generator_uniform(generator, values, count);
    for (size_t i = 0; i < count; i++)
        values[i] = low + width * values[i];
}

static onnxd_status *fill(const onnxd_compute *compute, draw draw_chunk)
{
    static const onnxd_rounding unused = {.saturates = true};
    const random_params *p = compute->params;
    const onnxd_tensor_view *output = &compute->outputs[0];
    size_t count = onnxd_tensor_view_count(output);
    double values[ONNXD_WIDE_CHUNK];
    onnxd_wide wide[ONNXD_WIDE_CHUNK];
    onnxd_generator generator;
    ONNXD_TRY(onnxd_generator_init(&generator, compute->node, &p->seed));
    for (size_t first = 0; first < count; first += ONNXD_WIDE_CHUNK) {
        size_t rest = count - first, run = rest < ONNXD_WIDE_CHUNK ? rest : ONNXD_WIDE_CHUNK;
        draw_chunk(&generator, p, values, run);
        for (size_t i = 0; i < run; i++)
            wide[i].f = values[i];
        onnxd_wide_store(output->dtype, ONNXD_WIDE_FLOAT, wide, run, &unused,
                         onnxd_tensor_view_data(output), first);
    }
    return NULL;
}

static onnxd_status *compute_normal(const onnxd_compute *compute)
{
    return fill(compute, draw_normal);
}

static onnxd_status *compute_uniform(const onnxd_compute *compute)
{
    return fill(compute, draw_uniform);
}

#define COMMON(name, kind, first, last, set)                                                       \
    .op_type = name, .domain = "", .since = first, .until = last, .min_outputs = 1,                \
    .max_outputs = 1, .outputs = {{.types = set}}, .params_bytes = sizeof(random_params),          \
    .compute = compute_##kind, .is_nondeterministic = true
#define SHAPED(name, kind, first, last, set)                                                       \
    {                                                                                              \
        COMMON(name, kind, first, last, set), .parse = parse_##kind, .infer = infer_shaped         \
    }
#define LIKE(name, kind, first, last, input_set, set)                                              \
    {                                                                                              \
        COMMON(name, kind, first, last, set), .min_inputs = 1, .max_inputs = 1,                    \
                                              .inputs = {{.types = input_set}},                    \
                                              .parse = parse_##kind##_like, .infer = infer_like    \
    }

const onnxd_op_def onnxd_op_random[] = {
    SHAPED("RandomNormal", normal, 1, 21, TYPES_1),
    SHAPED("RandomNormal", normal, 22, ONNXD_OPSET_MAX, TYPES_22),
    LIKE("RandomNormalLike", normal, 1, 21, ONNXD_SET_ANY_1, TYPES_1),
    LIKE("RandomNormalLike", normal, 22, ONNXD_OPSET_MAX, ONNXD_SET_ANY_13, TYPES_22),
    SHAPED("RandomUniform", uniform, 1, 21, TYPES_1),
    SHAPED("RandomUniform", uniform, 22, ONNXD_OPSET_MAX, TYPES_22),
    LIKE("RandomUniformLike", uniform, 1, 21, ONNXD_SET_ANY_1, TYPES_1),
    LIKE("RandomUniformLike", uniform, 22, ONNXD_OPSET_MAX, ONNXD_SET_ANY_13, TYPES_22),
    {.op_type = NULL},
};
