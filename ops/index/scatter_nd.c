/* ScatterND: a copy of the data in which slices that tuples of indices name are replaced by updates
 * or combined with them. */
#include <inttypes.h>

#include "ops/index/combine.h"
#include "ops/index/offsets.h"
#include "ops/ops.h"
#include "ops/types.h"

typedef struct scatter_nd_params {
    onnxd_reduction reduction;
} scatter_nd_params;

enum { DATA, INDICES, UPDATES };

static onnxd_status *parse(const onnxd_node *node, int64_t opset, onnxd_arena *arena, void *params)
{
    (void)arena;
    static const char *const names[] = {"reduction", NULL};
    scatter_nd_params *p = params;
    ONNXD_TRY(onnxd_attributes_allow(node, names));
    return onnxd_reduction_parse(node, opset, &p->reduction);
}

/* Before opset 16 there are no attributes, and so no parameters. */
static onnxd_reduction reduction_of(const scatter_nd_params *p)
{
    return p == NULL ? ONNXD_REDUCTION_NONE : p->reduction;
}

static onnxd_status *check(const onnxd_node *node, const onnxd_shape *data,
                           const onnxd_shape *indices, const onnxd_shape *updates)
{
    onnxd_shape slices;
    ONNXD_TRY(onnxd_tuples_check(node, data, indices, 0, &slices));
    if (slices.rank < 0 || updates->rank < 0)
        return NULL;
    bool are_equal = slices.rank == updates->rank;
    for (int32_t i = 0; are_equal && i < slices.rank; i++)
        are_equal = !onnxd_dim_is_static(slices.dims[i]) ||
                    !onnxd_dim_is_static(updates->dims[i]) || slices.dims[i] == updates->dims[i];
    if (are_equal)
        return NULL;
    char slices_text[ONNXD_SHAPE_TEXT], updates_text[ONNXD_SHAPE_TEXT];
    return onnxd_op_error(node, "input 2 has shape %s, must have that of the slices, %s",
                          onnxd_shape_format(updates, updates_text, sizeof(updates_text)),
                          onnxd_shape_format(&slices, slices_text, sizeof(slices_text)));
}

static onnxd_status *infer(onnxd_infer *infer)
{
    const onnxd_tensor_type *inputs = infer->inputs;
    infer->outputs[0] = inputs[DATA];
    ONNXD_TRY(onnxd_reduction_check(infer->node, inputs[DATA].dtype, reduction_of(infer->params)));
    return check(infer->node, &inputs[DATA].shape, &inputs[INDICES].shape, &inputs[UPDATES].shape);
}

static onnxd_status *compute(const onnxd_compute *compute)
{
    const onnxd_tensor_view *data = &compute->inputs[DATA], *indices = &compute->inputs[INDICES];
    const onnxd_tensor_view *updates = &compute->inputs[UPDATES];
    onnxd_tuples tuples;
    ONNXD_TRY(check(compute->node, &data->shape, &indices->shape, &updates->shape));
    ONNXD_TRY(onnxd_tuples_init(compute->node, &data->shape, &indices->shape, 0, &tuples));
    ONNXD_TRY(onnxd_op_compute_copy(compute));
    if (tuples.width == 0 && tuples.slice == 0)
        return NULL;
    onnxd_combiner combiner = {.compute = compute,
                               .reduction = reduction_of(compute->params),
                               .dtype = data->dtype,
                               .out = onnxd_tensor_view_data(&compute->outputs[0]),
                               .updates = onnxd_tensor_view_data(updates)};
    int64_t offsets[ONNXD_OFFSETS_CHUNK];
    for (size_t first = 0; first < tuples.count; first += ONNXD_OFFSETS_CHUNK) {
        size_t rest = tuples.count - first;
        size_t count = rest < ONNXD_OFFSETS_CHUNK ? rest : ONNXD_OFFSETS_CHUNK;
        ONNXD_TRY(onnxd_tuples_offsets(&tuples, compute->node, indices, first, count, offsets));
        if (tuples.slice == 1)
            ONNXD_TRY(onnxd_combine_at(&combiner, offsets, first, count));
        for (size_t i = 0; i < count && tuples.slice > 1; i++)
            ONNXD_TRY(
                onnxd_combine_run(&combiner, offsets[i], (first + i) * tuples.slice, tuples.slice));
    }
    return NULL;
}

#define COMMON(first, last, set)                                                                   \
    .op_type = "ScatterND", .domain = "", .since = first, .until = last, .min_inputs = 3,          \
    .max_inputs = 3, .min_outputs = 1, .max_outputs = 1,                                           \
    .inputs = {{.types = set, .type_variable = 1},                                                 \
               {.types = ONNXD_SET(INT64)},                                                        \
               {.types = set, .type_variable = 1}},                                                \
    .outputs = {{.types = set, .type_variable = 1}}, .infer = infer, .compute = compute

const onnxd_op_def onnxd_op_scatter_nd[] = {
    {COMMON(11, 12, ONNXD_SET_ANY_1)},
    {COMMON(13, 15, ONNXD_SET_ANY_13)},
    {COMMON(16, ONNXD_OPSET_MAX, ONNXD_SET_ANY_13), .params_bytes = sizeof(scatter_nd_params),
     .parse = parse},
    {.op_type = NULL},
};
