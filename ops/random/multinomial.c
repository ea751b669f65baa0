/* Multinomial: outcomes drawn by inverting the distribution that a row of unnormalised logarithms
 * of probabilities makes. */
#include <inttypes.h>
#include <math.h>

#include "base/size_math.h"
#include "ops/convert.h"
#include "ops/ops.h"
#include "ops/random/generator.h"
#include "ops/real.h"
#include "ops/support.h"
#include "ops/types.h"

typedef struct multinomial_params {
    onnxd_dtype dtype;
    onnxd_seed seed;
    int64_t sample_size;
} multinomial_params;

static onnxd_status *parse(const onnxd_node *node, int64_t opset, onnxd_arena *arena, void *params)
{
    (void)opset, (void)arena;
    static const char *const names[] = {"dtype", "sample_size", "seed", NULL};
    multinomial_params *p = params;
    p->dtype = ONNXD_INT32;
    p->sample_size = 1;
    ONNXD_TRY(onnxd_attributes_allow(node, names));
    ONNXD_TRY(onnxd_seed_parse(node, &p->seed));
    ONNXD_TRY(onnxd_attribute_int(node, "sample_size", 1, INT64_MAX, &p->sample_size));
    return onnxd_random_dtype_parse(node, ONNXD_SET_INDEX, &p->dtype);
}

static onnxd_status *infer(onnxd_infer *infer)
{
    const multinomial_params *p = infer->params;
    const onnxd_shape *input = &infer->inputs[0].shape;
    onnxd_tensor_type *output = &infer->outputs[0];
    output->dtype = p->dtype;
    output->shape = onnxd_shape_of_rank(2);
    output->shape.dims[1] = p->sample_size;
    if (input->rank < 0)
        return NULL;
    if (input->rank != 2)
        return onnxd_op_error(infer->node, "input 0 has rank %" PRId32 ", must have 2",
                              input->rank);
    if (input->dims[1] == 0)
        return onnxd_op_error(infer->node, "input 0 has no outcomes to draw from");
    output->shape.dims[0] = input->dims[0];
    return NULL;
}

static size_t workspace_bytes(const onnxd_compute *compute)
{
    size_t bytes;
    if (!onnxd_size_mul((size_t)compute->inputs[0].shape.dims[1], sizeof(double), &bytes))
        return SIZE_MAX;
    return onnxd_tensor_view_count(&compute->inputs[0]) == 0 ? 0 : bytes;
}

/* Sums of the probabilities up to each outcome, not normalised: the greatest term is 1. */
static onnxd_status *accumulate(const onnxd_node *node, const onnxd_tensor_view *input, size_t row,
                                size_t count, double *sums)
{
    const void *data = onnxd_tensor_view_data(input);
    double highest = -(double)INFINITY, total = 0;
    for (size_t i = 0; i < count; i++) {
        sums[i] = onnxd_real_load(input->dtype, data, row * count + i);
        if (isnan(sums[i]) || sums[i] == (double)INFINITY)
            return onnxd_op_error(node,
                                  "element %zu of input 0 is %g, no logarithm of a probability",
                                  row * count + i, sums[i]);
        highest = sums[i] > highest ? sums[i] : highest;
    }
    if (isinf(highest))
        return onnxd_op_error(node, "row %zu of input 0 makes every outcome impossible", row);
    for (size_t i = 0; i < count; i++) {
        total += exp(sums[i] - highest);
        sums[i] = total;
    }
    return NULL;
}

/* The first outcome whose sum is above `target`, which is below the last sum. */
static size_t find_outcome(const double *sums, size_t count, double target)
{
    size_t low = 0, high = count - 1;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (sums[middle] > target)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

static void draw(onnxd_generator *generator, const double *sums, size_t count,
                 const onnxd_tensor_view *output, size_t first, size_t samples)
{
    static const onnxd_rounding unused = {.saturates = true};
    double uniform[ONNXD_WIDE_CHUNK];
    onnxd_wide wide[ONNXD_WIDE_CHUNK];
    double total = sums[count - 1];
    for (size_t done = 0; done < samples; done += ONNXD_WIDE_CHUNK) {
        size_t rest = samples - done, run = rest < ONNXD_WIDE_CHUNK ? rest : ONNXD_WIDE_CHUNK;
        onnxd_generator_uniform(generator, uniform, run);
        for (size_t i = 0; i < run; i++) {
            double target = uniform[i] * total;
            /* The product may round up to the end, where outcomes of no probability may lie. */
            wide[i].u = find_outcome(sums, count, target < total ? target : nextafter(total, 0));
        }
        onnxd_wide_store(output->dtype, ONNXD_WIDE_UNSIGNED, wide, run, &unused,
                         onnxd_tensor_view_data(output), first + done);
    }
}

static onnxd_status *compute(const onnxd_compute *compute)
{
    const multinomial_params *p = compute->params;
    const onnxd_tensor_view *input = &compute->inputs[0], *output = &compute->outputs[0];
    onnxd_shape shape = {.rank = 2, .dims = {input->shape.dims[0], p->sample_size}};
    ONNXD_TRY(onnxd_op_check_output(compute, 0, &shape));
    if (onnxd_tensor_view_count(output) == 0)
        return NULL;
    size_t rows = (size_t)input->shape.dims[0], count = (size_t)input->shape.dims[1];
    size_t samples = (size_t)p->sample_size;
    double *sums = compute->workspace;
    onnxd_generator generator;
    ONNXD_TRY(onnxd_generator_init(&generator, compute->node, &p->seed));
    for (size_t row = 0; row < rows; row++) {
        ONNXD_TRY(accumulate(compute->node, input, row, count, sums));
        draw(&generator, sums, count, output, row * samples, samples);
    }
    return NULL;
}

#define ROW(first, last, set)                                                                      \
    {                                                                                              \
        .op_type = "Multinomial", .domain = "", .since = first, .until = last, .min_inputs = 1,    \
        .max_inputs = 1, .min_outputs = 1, .max_outputs = 1, .inputs = {{.types = set}},           \
        .outputs = {{.types = ONNXD_SET_INDEX}}, .params_bytes = sizeof(multinomial_params),       \
        .parse = parse, .infer = infer, .workspace_bytes = workspace_bytes, .compute = compute,    \
        .is_nondeterministic = true                                                                \
    }

const onnxd_op_def onnxd_op_multinomial[] = {
    ROW(7, 21, ONNXD_SET_FLOATS_1),
    ROW(22, ONNXD_OPSET_MAX, ONNXD_SET_FLOATS),
    {.op_type = NULL},
};
