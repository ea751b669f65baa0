/* GroupNorm and SkipGroupNorm: the groups of channels of each image brought to unit variance,
 * scaled by channel, perhaps weighed with their logistic function; a skip connection and a bias may
 * be added first. */
#include <inttypes.h>
#include <string.h>
#include <tgmath.h>

#include "base/size_math.h"
#include "ops/contrib/contrib.h"
#include "ops/gate.h"
#include "ops/norm/rows.h"
#include "ops/ops.h"
#include "ops/real.h"
#include "ops/support.h"
#include "ops/types.h"

enum { X, GAMMA, BETA, SKIP, BIAS };
enum { Y, SUM };

typedef struct group_params {
    float epsilon;
    int64_t groups, channels_last, activation;
} group_params;

static onnxd_status *parse(const onnxd_node *node, int64_t opset, onnxd_arena *arena, void *out)
{
    (void)opset, (void)arena;
    static const char *const names[] = {"activation", "channels_last", "epsilon", "groups", NULL};
    group_params *params = out;
    params->epsilon = 1e-5f;
    params->channels_last = 1;
    ONNXD_TRY(onnxd_attributes_allow(node, names));
    ONNXD_TRY(onnxd_attribute_require(node, "groups"));
    ONNXD_TRY(onnxd_attribute_int(node, "groups", 1, INT32_MAX, &params->groups));
    ONNXD_TRY(onnxd_attribute_require(node, "activation"));
    ONNXD_TRY(onnxd_attribute_int(node, "activation", 0, 1, &params->activation));
    ONNXD_TRY(onnxd_attribute_int(node, "channels_last", 0, 1, &params->channels_last));
    return onnxd_attribute_float(node, "epsilon", &params->epsilon);
}

/* The skip connection has X's shape or one number per channel of an image. */
static onnxd_status *check_skip(const onnxd_infer *context, int64_t channels)
{
    const group_params *params = context->params;
    const onnxd_shape *x = &context->inputs[X].shape;
    int64_t dims[4] = {x->dims[0], x->dims[1], x->dims[2], x->dims[3]};
    if (!onnxd_op_has_input(context->node, SKIP))
        return NULL;
    const onnxd_shape *skip = &context->inputs[SKIP].shape;
    if (skip->rank == 2)
        return onnxd_infer_check_dims(context, SKIP, 2, (int64_t[]){dims[0], channels});
    int32_t spatial = params->channels_last != 0 ? 1 : 2;
    if (skip->rank == 4 && skip->dims[spatial] == 1 && skip->dims[spatial + 1] == 1)
        dims[spatial] = dims[spatial + 1] = 1;
    return onnxd_infer_check_dims(context, SKIP, 4, dims);
}

static onnxd_status *infer(onnxd_infer *context)
{
    const group_params *params = context->params;
    const onnxd_shape *x = &context->inputs[X].shape;
    int64_t channels = ONNXD_DIM_UNKNOWN;
    if (x->rank != ONNXD_RANK_UNKNOWN) {
        if (x->rank != 4)
            return onnxd_op_error(context->node, "input 0 has rank %" PRId32 ", allowed is 4",
                                  x->rank);
        channels = x->dims[params->channels_last != 0 ? 3 : 1];
        ONNXD_TRY(check_skip(context, channels));
    }
    if (onnxd_dim_is_static(channels) && channels % params->groups != 0)
        return onnxd_op_error(context->node,
                              "%" PRId64 " groups do not divide %" PRId64 " channels",
                              params->groups, channels);
    ONNXD_TRY(onnxd_infer_check_dims(context, GAMMA, 1, &channels));
    ONNXD_TRY(onnxd_infer_check_dims(context, BETA, 1, &channels));
    ONNXD_TRY(onnxd_infer_check_dims(context, BIAS, 1, &channels));
    context->outputs[Y] = context->inputs[X];
    if (onnxd_op_has_output(context->node, SUM))
        context->outputs[SUM] = context->inputs[X];
    return NULL;
}

/* ---- kernel ---------------------------------------------------------------------------------- */

/* A group of an image is `runs` runs of `length` neighbouring elements, `stride` apart: its
 * channels one after the other, or with channels last, all of its channels for each position. */
typedef struct extent {
    bool is_last;
    size_t images, channels, plane, per_group;
    size_t runs, length, stride;
} extent;

static extent extent_of(const onnxd_compute *context)
{
    const group_params *params = context->params;
    const int64_t *dims = context->inputs[X].shape.dims;
    extent e = {.is_last = params->channels_last != 0, .images = (size_t)dims[0]};
    e.channels = (size_t)dims[e.is_last ? 3 : 1];
    e.plane = (size_t)dims[e.is_last ? 1 : 2] * (size_t)dims[e.is_last ? 2 : 3];
    e.per_group = e.channels / (size_t)params->groups;
    e.runs = e.is_last ? e.plane : e.per_group;
    e.length = e.is_last ? e.per_group : e.plane;
    e.stride = e.is_last ? e.channels : e.plane;
    return e;
}

/* Scratch memory: numbers per channel, a group before and after, and a run. */
typedef struct scratch {
    float *gamma, *beta, *terms, *before, *after, *run;
    void *norm;
} scratch;

static onnxd_norm_rows norm_of(const onnxd_compute *context, const extent *e)
{
    const group_params *params = context->params;
    return (onnxd_norm_rows){.rows = 1,
                             .columns = e->runs * e->length,
                             .input_dtype = ONNXD_FLOAT,
                             .output_dtype = ONNXD_FLOAT,
                             .epsilon = (double)params->epsilon};
}

static size_t workspace_bytes(const onnxd_compute *context)
{
    if (onnxd_tensor_view_count(&context->inputs[X]) == 0)
        return 0;
    extent e = extent_of(context);
    onnxd_norm_rows norm = norm_of(context, &e);
    size_t bytes, channels;
    if (onnxd_size_mul(norm.columns, 3, &bytes) && onnxd_size_mul(e.channels, 3, &channels) &&
        onnxd_size_add(bytes, channels, &bytes) && onnxd_size_mul(bytes, sizeof(float), &bytes) &&
        onnxd_size_add(bytes, onnxd_norm_rows_workspace_bytes(&norm), &bytes))
        return bytes;
    return SIZE_MAX;
}

static scratch scratch_of(const onnxd_compute *context, const extent *e)
{
    size_t columns = e->runs * e->length;
    scratch s = {.norm = context->workspace};
    onnxd_norm_rows norm = norm_of(context, e);
    s.gamma = (float *)((char *)context->workspace + onnxd_norm_rows_workspace_bytes(&norm));
    s.beta = s.gamma + e->channels;
    s.terms = s.beta + e->channels;
    s.before = s.terms + e->channels;
    s.after = s.before + columns;
    s.run = s.after + columns;
    return s;
}

static void read(const onnxd_tensor_view *view, size_t first, size_t count, float *out)
{
    onnxd_real_read_float(view->dtype, onnxd_tensor_view_data(view), first, count, out);
}

/* What is added to the channels of an image: the bias and a skip connection without positions. */
static void set_terms(const onnxd_compute *context, const extent *e, size_t image, scratch *s)
{
    const onnxd_tensor_view *skip = onnxd_compute_input(context, SKIP);
    const onnxd_tensor_view *bias = onnxd_compute_input(context, BIAS);
    memset(s->terms, 0, e->channels * sizeof(float));
    if (bias != NULL)
        read(bias, 0, e->channels, s->terms);
    if (skip == NULL || onnxd_tensor_view_count(skip) != e->images * e->channels)
        return;
    /* The run has room for a group; channels are read in groups. */
    for (size_t first = 0; first < e->channels; first += e->per_group) {
        read(skip, image * e->channels + first, e->per_group, s->run);
        onnxd_contrib_add(s->run, e->per_group, s->terms + first);
    }
}

/* The group from channel `first` on becomes s->before; `at` is its first element. */
static void gather(const onnxd_compute *context, const extent *e, size_t at, size_t first,
                   const scratch *s)
{
    const onnxd_tensor_view *skip = onnxd_compute_input(context, SKIP);
    const onnxd_tensor_view *sum = onnxd_compute_output(context, SUM);
    bool is_whole = skip != NULL && onnxd_tensor_view_count(skip) != e->images * e->channels;
    float *out = s->before;
    for (size_t r = 0; r < e->runs; r++, at += e->stride, out += e->length) {
        read(&context->inputs[X], at, e->length, out);
        if (is_whole) {
            read(skip, at, e->length, s->run);
            onnxd_contrib_add(s->run, e->length, out);
        }
        if (e->is_last) {
            onnxd_contrib_add(s->terms + first, e->length, out);
        } else {
            for (size_t i = 0; i < e->length; i++)
                out[i] += s->terms[first + r];
        }
        if (sum != NULL)
            onnxd_real_write_float(sum->dtype, out, e->length, onnxd_tensor_view_data(sum), at);
    }
}

/* Scales s->after by channel, applies the activation and stores it. */
static void scatter(const onnxd_compute *context, const extent *e, size_t at, size_t first,
                    const scratch *s)
{
    const group_params *params = context->params;
    const onnxd_tensor_view *y = &context->outputs[Y];
    float *values = s->after;
    for (size_t r = 0; r < e->runs; r++, at += e->stride, values += e->length) {
        const float *gamma = s->gamma + first, *beta = s->beta + first;
        if (e->is_last) {
            for (size_t i = 0; i < e->length; i++)
                values[i] = values[i] * gamma[i] + beta[i];
        } else {
            for (size_t i = 0; i < e->length; i++)
                values[i] = values[i] * gamma[r] + beta[r];
        }
        if (params->activation != 0)
            for (size_t i = 0; i < e->length; i++)
                values[i] = ONNXD_SWISH(float, values[i], 1);
        onnxd_real_write_float(y->dtype, values, e->length, onnxd_tensor_view_data(y), at);
    }
}

static onnxd_status *compute(const onnxd_compute *context)
{
    if (onnxd_tensor_view_count(&context->inputs[X]) == 0)
        return NULL;
    extent e = extent_of(context);
    scratch s = scratch_of(context, &e);
    onnxd_norm_rows norm = norm_of(context, &e);
    norm.input = s.before;
    norm.output = s.after;
    read(&context->inputs[GAMMA], 0, e.channels, s.gamma);
    read(&context->inputs[BETA], 0, e.channels, s.beta);
    for (size_t image = 0; image < e.images; image++) {
        set_terms(context, &e, image, &s);
        for (size_t first = 0; first < e.channels; first += e.per_group) {
            size_t at = image * e.channels * e.plane + first * (e.is_last ? 1 : e.plane);
            gather(context, &e, at, first, &s);
            onnxd_norm_rows_run(&norm, s.norm);
            scatter(context, &e, at, first, &s);
        }
    }
    return NULL;
}

#define TYPES (ONNXD_SET(FLOAT) | ONNXD_SET(FLOAT16))
#define FORMAL(variable, optional)                                                                 \
    {                                                                                              \
        .types = TYPES, .type_variable = variable, .is_optional = optional                         \
    }
#define COMMON                                                                                     \
    .min_outputs = 1, .params_bytes = sizeof(group_params), .parse = parse, .infer = infer,        \
    .workspace_bytes = workspace_bytes, .compute = compute

const onnxd_op_def onnxd_op_contrib_group_norm[] = {
    {ONNXD_CONTRIB_NAME("GroupNorm"), .min_inputs = 3, .max_inputs = 3, .max_outputs = 1,
     .inputs = {FORMAL(1, false), FORMAL(2, false), FORMAL(2, false)},
     .outputs = {FORMAL(1, false)}, COMMON},
    {ONNXD_CONTRIB_NAME("SkipGroupNorm"), .min_inputs = 4, .max_inputs = 5, .max_outputs = 2,
     .inputs = {FORMAL(1, false), FORMAL(2, false), FORMAL(2, false), FORMAL(1, false),
                FORMAL(1, true)},
     .outputs = {FORMAL(1, false), FORMAL(1, true)}, COMMON},
    {.op_type = NULL},
};
