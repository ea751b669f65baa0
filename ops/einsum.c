/* Einsum: attributes, shapes, and the order of contractions; the contractions themselves are in
 * ops/einsum_contract.c. */
#include <inttypes.h>

#include "base/size_math.h"
#include "ops/einsum_contract.h"
#include "ops/einsum_equation.h"
#include "ops/loop.h"
#include "ops/ops.h"
#include "ops/support.h"
#include "ops/types.h"

static onnxd_status *parse(const onnxd_node *node, int64_t opset, onnxd_arena *arena, void *params)
{
    (void)opset;
    return onnxd_einsum_parse(node, arena, params);
}

/* ---- shapes ---- */

/* How many dimensions an ellipsis stands for: as every input of known rank says, -1 when none
 * does. */
static onnxd_status *find_ellipsis_rank(const onnxd_infer *infer, int32_t *out_rank)
{
    const onnxd_einsum_equation *equation = infer->params;
    int32_t found = -1;
    bool has_ellipsis = false;
    for (uint32_t i = 0; i < infer->input_count; i++) {
        const onnxd_einsum_term *term = &equation->terms[i];
        int32_t rank = infer->inputs[i].shape.rank, own = rank - term->count;
        has_ellipsis = has_ellipsis || term->has_ellipsis;
        if (rank < 0)
            continue;
        if (own < 0 || (!term->has_ellipsis && own != 0))
            return onnxd_op_error(infer->node,
                                  "input %" PRIu32 " has rank %" PRId32 ", its term has %u letters",
                                  i, rank, (unsigned)term->count);
        if (!term->has_ellipsis)
            continue;
        if (found >= 0 && own != found)
            return onnxd_op_error(infer->node,
                                  "the ellipsis of input %" PRIu32 " stands for %" PRId32
                                  " dimensions, that of an input before it for %" PRId32,
                                  i, own, found);
        found = own;
    }
    *out_rank = has_ellipsis ? found : 0;
    return NULL;
}

/* Extents of labels; 0 in `is_known` where nothing is known yet. */
typedef struct extents {
    bool is_known[ONNXD_EINSUM_LABELS];
    int64_t dims[ONNXD_EINSUM_LABELS];
} extents;

static onnxd_status *merge_extent(const onnxd_infer *infer, extents *e, uint32_t input,
                                  uint8_t label, int64_t dim)
{
    int64_t before = e->dims[label];
    if (!e->is_known[label])
        e->dims[label] = dim;
    else if (!onnxd_broadcast_dim(before, dim, &e->dims[label]))
        return onnxd_op_error(infer->node,
                              "dimension '%c' of input %" PRIu32 " is %" PRId64
                              ", of an input before it %" PRId64,
                              onnxd_einsum_letter(infer->params, label), input, dim, before);
    e->is_known[label] = true;
    return NULL;
}

/* A letter that an operand repeats stands for a diagonal: its extents agree. */
static onnxd_status *check_diagonals(const onnxd_infer *infer, uint32_t input,
                                     const uint8_t *labels, const onnxd_shape *shape)
{
    for (int32_t i = 0; i < shape->rank; i++)
        for (int32_t k = 0; k < i; k++)
            if (labels[i] == labels[k] && onnxd_dim_is_static(shape->dims[i]) &&
                onnxd_dim_is_static(shape->dims[k]) && shape->dims[i] != shape->dims[k])
                return onnxd_op_error(infer->node,
                                      "input %" PRIu32 " has extents %" PRId64 " and %" PRId64
                                      " for the letter '%c'",
                                      input, shape->dims[k], shape->dims[i],
                                      onnxd_einsum_letter(infer->params, labels[i]));
    return NULL;
}

static onnxd_status *merge_extents(const onnxd_infer *infer, int32_t ellipsis_rank, extents *e)
{
    const onnxd_einsum_equation *equation = infer->params;
    for (uint32_t i = 0; i < infer->input_count; i++) {
        const onnxd_einsum_term *term = &equation->terms[i];
        const onnxd_shape *shape = &infer->inputs[i].shape;
        uint8_t labels[ONNXD_MAX_RANK];
        /* Of an input of unknown rank the ellipsis may be too long for a tensor. */
        int32_t count = onnxd_einsum_labels(term, ellipsis_rank < 0 ? 0 : ellipsis_rank, labels);
        if (shape->rank >= 0)
            ONNXD_TRY(check_diagonals(infer, i, labels, shape));
        for (int32_t k = 0; k < count && k < ONNXD_MAX_RANK; k++)
            ONNXD_TRY(merge_extent(infer, e, i, labels[k],
                                   shape->rank >= 0 ? shape->dims[k] : ONNXD_DIM_UNKNOWN));
    }
    return NULL;
}

static onnxd_status *infer(onnxd_infer *infer)
{
    const onnxd_einsum_equation *equation = infer->params;
    onnxd_tensor_type *output = &infer->outputs[0];
    for (uint32_t i = 0; i < infer->input_count && output->dtype == ONNXD_UNDEFINED; i++)
        output->dtype = infer->inputs[i].dtype;
    int32_t ellipsis_rank = 0;
    ONNXD_TRY(find_ellipsis_rank(infer, &ellipsis_rank));
    extents e = {.is_known = {false}};
    ONNXD_TRY(merge_extents(infer, ellipsis_rank, &e));
    if (equation->output.has_ellipsis && ellipsis_rank < 0)
        return NULL;
    uint8_t labels[ONNXD_MAX_RANK];
    int32_t rank = onnxd_einsum_labels(&equation->output, ellipsis_rank, labels);
    if (rank > ONNXD_MAX_RANK)
        return onnxd_op_error(infer->node,
                              "the output has %" PRId32 " dimensions, at most %d are "
                              "supported",
                              rank, ONNXD_MAX_RANK);
    output->shape = onnxd_shape_of_rank(rank);
    for (int32_t i = 0; i < rank; i++)
        output->shape.dims[i] = e.dims[labels[i]];
    return NULL;
}

/* ---- kernel ---- */

/* The operand as a view over its labels: repeated ones walk a diagonal, and those that it only
 * repeats (extent 1 against more elsewhere) are left out. */
static onnxd_einsum_part part_of(const onnxd_shape *shape, const uint8_t *labels,
                                 const size_t *dims)
{
    onnxd_einsum_part part = {.labels = 0};
    int64_t strides[ONNXD_MAX_RANK];
    onnxd_strides_of(shape, strides);
    for (int32_t i = 0; i < shape->rank; i++) {
        if ((size_t)shape->dims[i] != dims[labels[i]])
            continue;
        part.labels |= (uint64_t)1 << labels[i];
        part.strides[labels[i]] += strides[i];
    }
    return part;
}

static void read_extents(const onnxd_compute *compute, onnxd_einsum_run *run)
{
    const onnxd_einsum_equation *equation = compute->params;
    uint8_t labels[ONNXD_MAX_RANK];
    int32_t ellipsis_rank = 0;
    for (uint32_t i = 0; i < compute->input_count; i++)
        if (equation->terms[i].has_ellipsis)
            ellipsis_rank = compute->inputs[i].shape.rank - equation->terms[i].count;
    for (uint8_t label = 0; label < ONNXD_EINSUM_LABELS; label++)
        run->dims[label] = 1;
    for (uint32_t i = 0; i < compute->input_count; i++) {
        const onnxd_shape *shape = &compute->inputs[i].shape;
        (void)onnxd_einsum_labels(&equation->terms[i], ellipsis_rank, labels);
        for (int32_t k = 0; k < shape->rank; k++)
            if (shape->dims[k] != 1)
                run->dims[labels[k]] = (size_t)shape->dims[k];
    }
    for (uint32_t i = 0; i < compute->input_count; i++) {
        (void)onnxd_einsum_labels(&equation->terms[i], ellipsis_rank, labels);
        run->parts[i] = part_of(&compute->inputs[i].shape, labels, run->dims);
    }
    run->part_count = compute->input_count;
    run->output_count = onnxd_einsum_labels(&equation->output, ellipsis_rank, run->output_labels);
}

static void walk(const onnxd_compute *compute, bool is_measuring, onnxd_einsum_run *run)
{
    *run = (onnxd_einsum_run){.dtype = compute->outputs[0].dtype,
                              .is_measuring = is_measuring,
                              .memory = compute->workspace};
    read_extents(compute, run);
    for (uint32_t i = 0; i < compute->input_count; i++) {
        const onnxd_tensor_view *input = &compute->inputs[i];
        onnxd_einsum_load(run, i, is_measuring ? NULL : onnxd_tensor_view_data(input),
                          onnxd_tensor_view_count(input));
    }
    onnxd_einsum_contract(run, is_measuring ? NULL : onnxd_tensor_view_data(&compute->outputs[0]));
}

static size_t workspace_bytes(const onnxd_compute *compute)
{
    onnxd_einsum_run run;
    if (onnxd_tensor_view_count(&compute->outputs[0]) == 0)
        return 0;
    walk(compute, true, &run);
    return run.overflows ? SIZE_MAX : run.peak_bytes;
}

static onnxd_status *compute(const onnxd_compute *compute)
{
    onnxd_einsum_run run;
    if (onnxd_tensor_view_count(&compute->outputs[0]) != 0)
        walk(compute, false, &run);
    return NULL;
}

#define ROW(first, last, set)                                                                      \
    {                                                                                              \
        .op_type = "Einsum", .domain = "", .since = first, .until = last, .min_inputs = 1,         \
        .max_inputs = ONNXD_OP_VARIADIC, .min_outputs = 1, .max_outputs = 1,                       \
        .inputs = {{.types = set, .type_variable = 1}},                                            \
        .outputs = {{.types = set, .type_variable = 1}},                                           \
        .params_bytes = sizeof(onnxd_einsum_equation), .parse = parse, .infer = infer,             \
        .workspace_bytes = workspace_bytes, .compute = compute                                     \
    }

const onnxd_op_def onnxd_op_einsum[] = {
    ROW(12, 27, ONNXD_SET_NUMBERS_1),
    ROW(28, ONNXD_OPSET_MAX, ONNXD_SET_NUMBERS),
    {.op_type = NULL},
};
