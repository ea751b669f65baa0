/* Bernoulli: 1 with the probability that the input says, else 0. */
#include <inttypes.h>

#include "ops/convert.h"
#include "ops/ops.h"
#include "ops/random/generator.h"
#include "ops/support.h"
#include "ops/types.h"

typedef struct bernoulli_params {
    onnxd_dtype dtype; /* UNDEFINED: that of the input */
    onnxd_seed seed;
} bernoulli_params;

#define OUTPUT_TYPES (ONNXD_SET_NUMBERS | ONNXD_SET(BOOL))

static onnxd_status *parse(const onnxd_node *node, int64_t opset, onnxd_arena *arena, void *params)
{
    (void)opset, (void)arena;
    static const char *const names[] = {"dtype", "seed", NULL};
    bernoulli_params *p = params;
    ONNXD_TRY(onnxd_attributes_allow(node, names));
    ONNXD_TRY(onnxd_seed_parse(node, &p->seed));
    return onnxd_random_dtype_parse(node, OUTPUT_TYPES, &p->dtype);
}

static onnxd_status *infer(onnxd_infer *infer)
{
    const bernoulli_params *p = infer->params;
    infer->outputs[0] = infer->inputs[0];
    if (p->dtype != ONNXD_UNDEFINED)
        infer->outputs[0].dtype = p->dtype;
    return NULL;
}

static onnxd_status *compute(const onnxd_compute *compute)
{
    static const onnxd_rounding unused = {.saturates = true};
    const bernoulli_params *p = compute->params;
    const onnxd_tensor_view *input = &compute->inputs[0], *output = &compute->outputs[0];
    size_t count = onnxd_tensor_view_count(input);
    double uniform[ONNXD_WIDE_CHUNK];
    onnxd_wide wide[ONNXD_WIDE_CHUNK];
    onnxd_generator generator;
    ONNXD_TRY(onnxd_op_check_output(compute, 0, &input->shape));
    ONNXD_TRY(onnxd_generator_init(&generator, compute->node, &p->seed));
    for (size_t first = 0; first < count; first += ONNXD_WIDE_CHUNK) {
        size_t rest = count - first, run = rest < ONNXD_WIDE_CHUNK ? rest : ONNXD_WIDE_CHUNK;
        onnxd_generator_uniform(&generator, uniform, run);
        onnxd_wide_load(input->dtype, onnxd_tensor_view_data(input), first, run, wide);
        for (size_t i = 0; i < run; i++) {
            if (!(wide[i].f >= 0 && wide[i].f <= 1))
                return onnxd_op_error(compute->node,
                                      "element %zu of input 0 is %g, no probability in [0, 1]",
                                      first + i, wide[i].f);
            wide[i].u = uniform[i] < wide[i].f;
        }
        onnxd_wide_store(output->dtype, ONNXD_WIDE_UNSIGNED, wide, run, &unused,
                         onnxd_tensor_view_data(output), first);
    }
    return NULL;
}

#define ROW(first, last, set)                                                                      \
    {                                                                                              \
        .op_type = "Bernoulli", .domain = "", .since = first, .until = last, .min_inputs = 1,      \
        .max_inputs = 1, .min_outputs = 1, .max_outputs = 1, .inputs = {{.types = set}},           \
        .outputs = {{.types = OUTPUT_TYPES}}, .params_bytes = sizeof(bernoulli_params),            \
        .parse = parse, .infer = infer, .compute = compute, .is_nondeterministic = true            \
    }

const onnxd_op_def onnxd_op_bernoulli[] = {
    ROW(15, 21, ONNXD_SET_FLOATS_1),
    ROW(22, ONNXD_OPSET_MAX, ONNXD_SET_FLOATS),
    {.op_type = NULL},
};
