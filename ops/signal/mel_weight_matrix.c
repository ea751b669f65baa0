/* MelWeightMatrix: triangles that are evenly spaced on the mel scale, as weights of the bins of a
 * one-sided spectrum [dft_length / 2 + 1, num_mel_bins]. Integers are cut. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "ops/convert.h"
#include "ops/ops.h"
#include "ops/real.h"
#include "ops/signal/number.h"
#include "ops/support.h"
#include "ops/types.h"

enum { MEL_BINS, DFT_LENGTH, SAMPLE_RATE, LOWER_EDGE, UPPER_EDGE, INPUT_COUNT };

typedef struct mel_params {
    onnxd_dtype dtype;
} mel_params;

static onnxd_status *parse(const onnxd_node *node, int64_t opset, onnxd_arena *arena, void *params)
{
    (void)opset, (void)arena;
    static const char *const names[] = {"output_datatype", NULL};
    ONNXD_TRY(onnxd_attributes_allow(node, names));
    return onnxd_signal_parse_type(node, &((mel_params *)params)->dtype);
}

/* Bins are counted in double, which is exact below this. */
#define MAX_COUNT ((int64_t)1 << 52)

static onnxd_status *infer(onnxd_infer *infer)
{
    int64_t mel_bins = ONNXD_DIM_UNKNOWN, length = 0, unused;
    bool is_known;
    infer->outputs[0].dtype = ((const mel_params *)infer->params)->dtype;
    infer->outputs[0].shape = onnxd_shape_of_rank(2);
    for (uint32_t i = LOWER_EDGE; i < INPUT_COUNT; i++) {
        size_t count;
        if (onnxd_shape_count(&infer->inputs[i].shape, &count) && count != 1)
            return onnxd_op_error(infer->node, "input %" PRIu32 " has %zu elements, needed is one",
                                  i, count);
    }
    ONNXD_TRY(onnxd_signal_infer_int(infer, SAMPLE_RATE, 1, MAX_COUNT, &unused, &is_known));
    ONNXD_TRY(onnxd_signal_infer_int(infer, MEL_BINS, 0, MAX_COUNT, &mel_bins, &is_known));
    infer->outputs[0].shape.dims[1] = mel_bins;
    ONNXD_TRY(onnxd_signal_infer_int(infer, DFT_LENGTH, 1, MAX_COUNT, &length, &is_known));
    infer->outputs[0].shape.dims[0] = is_known ? length / 2 + 1 : ONNXD_DIM_UNKNOWN;
    return NULL;
}

/* hertz = 700 (10^(mel / 2595) - 1) */
static double mel_of(double hertz)
{
    return 2595 * log1p(hertz / 700) / log(10);
}

static double hertz_of(double mel)
{
    return 700 * expm1(mel / 2595 * log(10));
}

/* What the inputs say. Triangle i rises from edge i to edge i + 1 and falls to edge i + 2. */
typedef struct mel_bands {
    double lower, step; /* mel of the first edge, and between neighbours */
    double length, sample_rate;
    int64_t bins;
} mel_bands;

static onnxd_status *edge_of(const onnxd_node *node, const mel_bands *bands, size_t index,
                             int64_t *out_bin)
{
    double hertz = hertz_of((double)index * bands->step + bands->lower);
    double bin = floor((bands->length + 1) * hertz / bands->sample_rate);
    if (!(bin >= 0 && bin <= (double)bands->bins))
        return onnxd_op_error(
            node, "an edge of band %zu lies at bin %g of the spectrum, which has %" PRId64, index,
            bin, bands->bins);
    *out_bin = (int64_t)bin;
    return NULL;
}

/* The weight of spectrum bin `bin` in a triangle. The fall wins where both sides meet. */
static double weight_of(int64_t bin, int64_t left, int64_t center, int64_t right)
{
    if (bin >= center && bin < right)
        return (double)(right - bin) / (double)(right - center);
    if (left == center)
        return bin == center ? 1 : 0;
    return bin >= left && bin <= center ? (double)(bin - left) / (double)(center - left) : 0;
}

static onnxd_status *read_bands(const onnxd_compute *compute, mel_bands *out_bands,
                                onnxd_shape *out_shape)
{
    const onnxd_tensor_view *inputs = compute->inputs;
    int64_t mel_bins, length, sample_rate;
    ONNXD_TRY(
        onnxd_signal_int(compute->node, MEL_BINS, &inputs[MEL_BINS], 0, MAX_COUNT, &mel_bins));
    ONNXD_TRY(
        onnxd_signal_int(compute->node, DFT_LENGTH, &inputs[DFT_LENGTH], 1, MAX_COUNT, &length));
    ONNXD_TRY(onnxd_signal_int(compute->node, SAMPLE_RATE, &inputs[SAMPLE_RATE], 1, MAX_COUNT,
                               &sample_rate));
    double edges[2];
    for (uint32_t i = 0; i < 2; i++) {
        const onnxd_tensor_view *edge = &inputs[LOWER_EDGE + i];
        edges[i] = mel_of(onnxd_real_load(edge->dtype, onnxd_tensor_view_data(edge), 0));
    }
    *out_bands = (mel_bands){.lower = edges[0],
                             .step = (edges[1] - edges[0]) / (double)(mel_bins + 2),
                             .length = (double)length,
                             .sample_rate = (double)sample_rate,
                             .bins = length / 2 + 1};
    *out_shape = (onnxd_shape){.rank = 2, .dims = {length / 2 + 1, mel_bins}};
    return NULL;
}

static onnxd_status *compute(const onnxd_compute *compute)
{
    static const onnxd_rounding unused = {.saturates = true};
    const onnxd_tensor_view *output = &compute->outputs[0];
    void *out = onnxd_tensor_view_data(output);
    mel_bands bands;
    onnxd_shape shape;
    ONNXD_TRY(read_bands(compute, &bands, &shape));
    ONNXD_TRY(onnxd_op_check_output(compute, 0, &shape));
    size_t columns = (size_t)shape.dims[1];
    for (size_t i = 0; i < columns; i++) {
        int64_t edges[3];
        for (size_t k = 0; k < 3; k++)
            ONNXD_TRY(edge_of(compute->node, &bands, i + k, &edges[k]));
        for (int64_t bin = 0; bin < bands.bins; bin++) {
            onnxd_wide weight = {.f = weight_of(bin, edges[0], edges[1], edges[2])};
            onnxd_wide_store(output->dtype, ONNXD_WIDE_FLOAT, &weight, 1, &unused, out,
                             (size_t)bin * columns + i);
        }
    }
    return NULL;
}

const onnxd_op_def onnxd_op_mel_weight_matrix[] = {
    {.op_type = "MelWeightMatrix",
     .domain = "",
     .since = 17,
     .until = ONNXD_OPSET_MAX,
     .min_inputs = INPUT_COUNT,
     .max_inputs = INPUT_COUNT,
     .min_outputs = 1,
     .max_outputs = 1,
     .inputs = {{.types = ONNXD_SET_INDEX, .type_variable = 1},
                {.types = ONNXD_SET_INDEX, .type_variable = 1},
                {.types = ONNXD_SET_INDEX, .type_variable = 1},
                {.types = ONNXD_SET_FLOATS, .type_variable = 2},
                {.types = ONNXD_SET_FLOATS, .type_variable = 2}},
     .outputs = {{.types = ONNXD_SET_NUMBERS}},
     .params_bytes = sizeof(mel_params),
     .parse = parse,
     .infer = infer,
     .shape_inputs = 1u << MEL_BINS | 1u << DFT_LENGTH,
     .compute = compute},
    {.op_type = NULL},
};
