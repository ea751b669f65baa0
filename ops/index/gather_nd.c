/* GatherND: slices of the data that tuples of indices name, batch by batch. */
#include <inttypes.h>
#include <string.h>

#include "ops/index/offsets.h"
#include "ops/ops.h"
#include "ops/types.h"

typedef struct gather_nd_params {
    int64_t batch_dims;
} gather_nd_params;

static onnxd_status *parse(const onnxd_node *node, int64_t opset, onnxd_arena *arena, void *params)
{
    (void)opset, (void)arena;
    static const char *const names[] = {"batch_dims", NULL};
    gather_nd_params *p = params;
    ONNXD_TRY(onnxd_attributes_allow(node, names));
    return onnxd_attribute_int(node, "batch_dims", 0, ONNXD_MAX_RANK - 1, &p->batch_dims);
}

/* Opset 11 has no attributes, and so no parameters. */
static int32_t batch_dims_of(const gather_nd_params *p)
{
    return p == NULL ? 0 : (int32_t)p->batch_dims;
}

static onnxd_status *infer(onnxd_infer *infer)
{
    infer->outputs[0].dtype = infer->inputs[0].dtype;
    return onnxd_tuples_check(infer->node, &infer->inputs[0].shape, &infer->inputs[1].shape,
                              batch_dims_of(infer->params), &infer->outputs[0].shape);
}

static onnxd_status *compute(const onnxd_compute *compute)
{
    const onnxd_tensor_view *data = &compute->inputs[0], *indices = &compute->inputs[1];
    int32_t batch_dims = batch_dims_of(compute->params);
    onnxd_tuples tuples;
    onnxd_shape shape;
    ONNXD_TRY(onnxd_tuples_check(compute->node, &data->shape, &indices->shape, batch_dims, &shape));
    ONNXD_TRY(onnxd_op_check_output(compute, 0, &shape));
    ONNXD_TRY(onnxd_tuples_init(compute->node, &data->shape, &indices->shape, batch_dims, &tuples));
    size_t element = onnxd_dtype_size(data->dtype), block = tuples.slice * element;
    if (tuples.width == 0 && block == 0)
        return NULL;
    int64_t offsets[ONNXD_OFFSETS_CHUNK];
    const char *from = onnxd_tensor_view_data(data);
    char *to = onnxd_tensor_view_data(&compute->outputs[0]);
    for (size_t first = 0; first < tuples.count; first += ONNXD_OFFSETS_CHUNK) {
        size_t rest = tuples.count - first;
        size_t count = rest < ONNXD_OFFSETS_CHUNK ? rest : ONNXD_OFFSETS_CHUNK;
        ONNXD_TRY(onnxd_tuples_offsets(&tuples, compute->node, indices, first, count, offsets));
        for (size_t i = 0; i < count && block != 0; i++, to += block)
            memcpy(to, from + (size_t)offsets[i] * element, block);
    }
    return NULL;
}

#define COMMON(first, last, set)                                                                   \
    .op_type = "GatherND", .domain = "", .since = first, .until = last, .min_inputs = 2,           \
    .max_inputs = 2, .min_outputs = 1, .max_outputs = 1,                                           \
    .inputs = {{.types = set, .type_variable = 1}, {.types = ONNXD_SET(INT64)}},                   \
    .outputs = {{.types = set, .type_variable = 1}}, .infer = infer, .compute = compute
#define ROW(first, last, set)                                                                      \
    {                                                                                              \
        COMMON(first, last, set), .params_bytes = sizeof(gather_nd_params), .parse = parse         \
    }

const onnxd_op_def onnxd_op_gather_nd[] = {
    {COMMON(11, 11, ONNXD_SET_ANY_1)},
    ROW(12, 12, ONNXD_SET_ANY_1),
    ROW(13, ONNXD_OPSET_MAX, ONNXD_SET_ANY_13),
    {.op_type = NULL},
};
