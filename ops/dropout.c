/* Dropout. In inference the output is the input and the mask (where asked for) all true; in
 * training, which is an input since opset 12, elements are dropped at random and the others scaled,
 * so that their sum stays what it was on average. */
#include <string.h>

#include "ops/convert.h"
#include "ops/move.h"
#include "ops/ops.h"
#include "ops/random/generator.h"
#include "ops/random/mersenne.h"
#include "ops/support.h"
#include "ops/types.h"

enum { DATA, RATIO, TRAINING };

typedef struct dropout_params {
    bool has_seed;
    uint32_t seed; /* of the attribute's bits those that the reference takes */
} dropout_params;

static onnxd_status *parse(const onnxd_node *node, int64_t opset, onnxd_arena *arena, void *params)
{
    (void)arena;
    static const char *const names_1[] = {"is_test", "ratio", "consumed_inputs", NULL};
    static const char *const names_7[] = {"ratio", NULL};
    static const char *const names_12[] = {"seed", NULL};
    ONNXD_TRY(onnxd_attributes_allow(node, opset < 7 ? names_1 : opset < 12 ? names_7 : names_12));
    /* Before opset 7 the default of is_test was 0, which asks for training; a model in a server is
     * always meant for inference, and other runtimes read it so. */
    int64_t is_test = 0, seed = 0;
    float ratio = 0;
    dropout_params *p = params;
    ONNXD_TRY(onnxd_attribute_int(node, "is_test", INT64_MIN, INT64_MAX, &is_test));
    ONNXD_TRY(onnxd_attribute_int(node, "seed", INT64_MIN, INT64_MAX, &seed));
    p->has_seed = onnxd_node_attribute(node, "seed") != NULL;
    p->seed = (uint32_t)seed;
    return onnxd_attribute_float(node, "ratio", &ratio);
}

/* The probability with which elements are dropped: 0 in inference. `ratio` and `training` are NULL
 * where absent. */
static onnxd_status *find_ratio(const onnxd_node *node, const onnxd_tensor_view *ratio,
                                const onnxd_tensor_view *training, double *out_ratio)
{
    onnxd_wide value = {.f = 0.5};
    *out_ratio = 0;
    if (training == NULL)
        return NULL;
    if (onnxd_tensor_view_count(training) != 1)
        return onnxd_op_error(node, "input 2 must have one element");
    if (*(const uint8_t *)onnxd_tensor_view_data(training) == 0)
        return NULL;
    if (ratio != NULL && onnxd_tensor_view_count(ratio) != 1)
        return onnxd_op_error(node, "input 1 must have one element");
    if (ratio != NULL)
        onnxd_wide_load(ratio->dtype, onnxd_tensor_view_data(ratio), 0, 1, &value);
    if (!(value.f >= 0 && value.f < 1))
        return onnxd_op_error(node, "input 1, the ratio, is %g, must be at least 0 and below 1",
                              value.f);
    *out_ratio = value.f;
    return NULL;
}

static onnxd_status *infer(onnxd_infer *infer)
{
    infer->outputs[0] = infer->inputs[DATA];
    if (onnxd_op_has_output(infer->node, 1)) {
        infer->outputs[1] = infer->inputs[DATA];
        if (infer->opset >= 10)
            infer->outputs[1].dtype = ONNXD_BOOL;
    }
    onnxd_tensor_view ratio, training;
    double unused;
    bool is_ratio_known = onnxd_infer_known(infer, RATIO, &ratio);
    if (is_ratio_known == onnxd_op_has_input(infer->node, RATIO) &&
        onnxd_infer_known(infer, TRAINING, &training))
        return find_ratio(infer->node, is_ratio_known ? &ratio : NULL, &training, &unused);
    return NULL;
}

/* With a seed the numbers of ONNX's reference, else new ones. */
typedef struct draws {
    bool has_seed;
    onnxd_mersenne mersenne;
    onnxd_generator generator;
} draws;

static onnxd_status *begin_draws(const onnxd_compute *compute, draws *d)
{
    static const onnxd_seed no_seed = {.is_given = false};
    const dropout_params *p = compute->params;
    d->has_seed = p->has_seed;
    if (!p->has_seed)
        return onnxd_generator_init(&d->generator, compute->node, &no_seed);
    onnxd_mersenne_init(&d->mersenne, p->seed);
    return NULL;
}

static void draw(draws *d, double *values, size_t count)
{
    if (d->has_seed)
        onnxd_mersenne_uniform(&d->mersenne, values, count);
    else
        onnxd_generator_uniform(&d->generator, values, count);
}

/* `mask` is NULL where it is not asked for. */
static onnxd_status *drop(const onnxd_compute *compute, double ratio, uint8_t *mask)
{
    static const onnxd_rounding rounding = {.saturates = true};
    const onnxd_tensor_view *input = &compute->inputs[DATA];
    const void *from = onnxd_tensor_view_data(input);
    void *to = onnxd_tensor_view_data(&compute->outputs[0]);
    size_t count = onnxd_tensor_view_count(input);
    double scale = 1 / (1 - ratio);
    draws d;
    ONNXD_TRY(begin_draws(compute, &d));
    for (size_t first = 0; first < count; first += ONNXD_WIDE_CHUNK) {
        onnxd_wide values[ONNXD_WIDE_CHUNK];
        double drawn[ONNXD_WIDE_CHUNK];
        size_t part = count - first < ONNXD_WIDE_CHUNK ? count - first : ONNXD_WIDE_CHUNK;
        draw(&d, drawn, part);
        onnxd_wide_load(input->dtype, from, first, part, values);
        for (size_t i = 0; i < part; i++) {
            bool is_kept = drawn[i] >= ratio;
            values[i].f = is_kept ? values[i].f * scale : 0;
            if (mask != NULL)
                mask[first + i] = is_kept;
        }
        onnxd_wide_store(input->dtype, ONNXD_WIDE_FLOAT, values, part, &rounding, to, first);
    }
    return NULL;
}

static void fill_mask(const onnxd_tensor_view *mask)
{
    static const onnxd_rounding unused = {.saturates = true};
    static const onnxd_wide one = {.u = 1};
    uint64_t value = 0;
    onnxd_wide_store(mask->dtype, ONNXD_WIDE_UNSIGNED, &one, 1, &unused, &value, 0);
    onnxd_fill(onnxd_tensor_view_data(mask), onnxd_tensor_view_count(mask),
               onnxd_dtype_size(mask->dtype), &value);
}

static onnxd_status *compute(const onnxd_compute *compute)
{
    bool has_mask = compute->output_count > 1 && onnxd_tensor_view_is_present(&compute->outputs[1]);
    double ratio;
    ONNXD_TRY(find_ratio(compute->node, onnxd_compute_input(compute, RATIO),
                         onnxd_compute_input(compute, TRAINING), &ratio));
    if (ratio != 0)
        return drop(compute, ratio, has_mask ? onnxd_tensor_view_data(&compute->outputs[1]) : NULL);
    if (has_mask)
        fill_mask(&compute->outputs[1]);
    return onnxd_op_compute_copy(compute);
}

#define COMMON(first, last, set, mask_set)                                                         \
    .op_type = "Dropout", .domain = "", .since = first, .until = last, .min_inputs = 1,            \
    .min_outputs = 1, .max_outputs = 2,                                                            \
    .outputs = {{.types = set, .type_variable = 1}, {.types = mask_set, .is_optional = true}},     \
    .params_bytes = sizeof(dropout_params), .parse = parse, .infer = infer, .compute = compute
#define INFERENCE_ROW(first, last, set, mask_set)                                                  \
    {                                                                                              \
        COMMON(first, last, set, mask_set),                                                        \
            .max_inputs = 1, .inputs = {{.types = set, .type_variable = 1}}, .is_view = true       \
    }
/* What training drops differs from run to run, and is not what went in. */
#define TRAINING_ROW(first, last, set, ratio_set)                                                  \
    {                                                                                              \
        COMMON(first, last, set, ONNXD_SET(BOOL)),                                                 \
            .max_inputs = 3,                                                                       \
            .inputs = {{.types = set, .type_variable = 1},                                         \
                       {.types = ratio_set, .is_optional = true},                                  \
                       {.types = ONNXD_SET(BOOL), .is_optional = true}},                           \
            .is_nondeterministic = true                                                            \
    }
#define FLOATS_22 (ONNXD_SET_FLOATS | ONNXD_SET_FLOAT8)

const onnxd_op_def onnxd_op_dropout[] = {
    INFERENCE_ROW(1, 9, ONNXD_SET_FLOATS_1, ONNXD_SET_FLOATS_1),
    INFERENCE_ROW(10, 11, ONNXD_SET_FLOATS_1, ONNXD_SET(BOOL)),
    TRAINING_ROW(12, 12, ONNXD_SET_FLOATS_1, ONNXD_SET_FLOATS_1),
    TRAINING_ROW(13, 21, ONNXD_SET_FLOATS, ONNXD_SET_FLOATS_1),
    TRAINING_ROW(22, ONNXD_OPSET_MAX, FLOATS_22, FLOATS_22),
    {.op_type = NULL},
};
