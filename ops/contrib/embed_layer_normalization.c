/* EmbedLayerNormalization: rows of tables of words, positions and segments, added and normalised,
 * and how many ones each row of a mask has. */
#include <inttypes.h>

#include "base/size_math.h"
#include "ops/contrib/contrib.h"
#include "ops/norm/rows.h"
#include "ops/ops.h"
#include "ops/real.h"
#include "ops/support.h"
#include "ops/types.h"

enum { WORD_IDS, SEGMENT_IDS, WORDS, POSITIONS, SEGMENTS, GAMMA, BETA, MASK, POSITION_IDS };
enum { Y, MASK_INDEX, SUM };

typedef struct embed_params {
    float epsilon;
    int64_t mask_index_type; /* a hint to shape inference, which does not need it */
} embed_params;

static onnxd_status *parse(const onnxd_node *node, int64_t opset, onnxd_arena *arena, void *out)
{
    (void)opset, (void)arena;
    static const char *const names[] = {"epsilon", "mask_index_type", NULL};
    embed_params *params = out;
    params->epsilon = 1e-12f;
    ONNXD_TRY(onnxd_attributes_allow(node, names));
    ONNXD_TRY(onnxd_attribute_int(node, "mask_index_type", 0, 1, &params->mask_index_type));
    return onnxd_attribute_float(node, "epsilon", &params->epsilon);
}

/* Dimension `i` of input `index` if its rank is `rank`, else unknown. */
static int64_t dim_of(const onnxd_infer *context, uint32_t index, int32_t rank, int32_t i)
{
    if (!onnxd_op_has_input(context->node, index))
        return ONNXD_DIM_UNKNOWN;
    const onnxd_shape *shape = &context->inputs[index].shape;
    return shape->rank == rank ? shape->dims[i] : ONNXD_DIM_UNKNOWN;
}

static onnxd_status *check_shapes(const onnxd_infer *context, const int64_t *ids, int64_t width)
{
    const int64_t table[] = {ONNXD_DIM_UNKNOWN, width};
    int64_t batch = dim_of(context, POSITION_IDS, 2, 0) == 1 ? 1 : ids[0];
    ONNXD_TRY(onnxd_infer_check_dims(context, WORD_IDS, 2, ids));
    ONNXD_TRY(onnxd_infer_check_dims(context, SEGMENT_IDS, 2, ids));
    ONNXD_TRY(onnxd_infer_check_dims(context, WORDS, 2, table));
    ONNXD_TRY(onnxd_infer_check_dims(context, POSITIONS, 2, table));
    ONNXD_TRY(onnxd_infer_check_dims(context, SEGMENTS, 2, table));
    ONNXD_TRY(onnxd_infer_check_dims(context, GAMMA, 1, &width));
    ONNXD_TRY(onnxd_infer_check_dims(context, BETA, 1, &width));
    ONNXD_TRY(onnxd_infer_check_dims(context, MASK, 2, ids));
    ONNXD_TRY(onnxd_infer_check_dims(context, POSITION_IDS, 2, (int64_t[]){batch, ids[1]}));
    if (onnxd_op_has_input(context->node, SEGMENT_IDS) !=
        onnxd_op_has_input(context->node, SEGMENTS))
        return onnxd_op_error(context->node, "inputs 1 and 4, segment_ids and segment_embedding, "
                                             "must be given together");
    /* Without position_ids the positions count up. */
    int64_t positions = dim_of(context, POSITIONS, 2, 0);
    if (!onnxd_op_has_input(context->node, POSITION_IDS) && onnxd_dim_is_static(positions) &&
        onnxd_dim_is_static(ids[1]) && ids[1] > positions)
        return onnxd_op_error(context->node,
                              "sequences of %" PRId64 " words have more than the %" PRId64
                              " positions of input 3",
                              ids[1], positions);
    return NULL;
}

static onnxd_status *infer(onnxd_infer *context)
{
    int64_t ids[] = {dim_of(context, WORD_IDS, 2, 0), dim_of(context, WORD_IDS, 2, 1)};
    int64_t width = dim_of(context, WORDS, 2, 1);
    if (!onnxd_dim_is_static(width))
        width = dim_of(context, GAMMA, 1, 0);
    ONNXD_TRY(check_shapes(context, ids, width));
    onnxd_shape shape = onnxd_shape_from(3, (int64_t[]){ids[0], ids[1], width});
    context->outputs[Y] =
        (onnxd_tensor_type){.dtype = context->inputs[WORDS].dtype, .shape = shape};
    if (onnxd_op_has_output(context->node, MASK_INDEX))
        context->outputs[MASK_INDEX] =
            (onnxd_tensor_type){.dtype = ONNXD_INT32, .shape = onnxd_shape_from(1, ids)};
    if (onnxd_op_has_output(context->node, SUM))
        context->outputs[SUM] = context->outputs[Y];
    return NULL;
}

/* ---- kernel ---------------------------------------------------------------------------------- */

static onnxd_norm_rows norm_of(const onnxd_compute *context)
{
    const embed_params *params = context->params;
    size_t columns = (size_t)context->inputs[WORDS].shape.dims[1];
    onnxd_norm_rows norm = {.rows = 1,
                            .columns = columns,
                            .input_dtype = ONNXD_FLOAT,
                            .output_dtype = context->outputs[Y].dtype,
                            .epsilon = (double)params->epsilon};
    return norm;
}

/* Four rows of floats: the sum, a term, gamma and beta. What the normalisation needs comes behind.
 */
enum { VECTORS = 4 };

static size_t workspace_bytes(const onnxd_compute *context)
{
    if (onnxd_tensor_view_count(&context->outputs[Y]) == 0)
        return 0;
    onnxd_norm_rows norm = norm_of(context);
    size_t bytes;
    if (onnxd_size_mul(norm.columns, VECTORS * sizeof(float), &bytes) &&
        onnxd_size_add(bytes, onnxd_norm_rows_workspace_bytes(&norm), &bytes))
        return bytes;
    return SIZE_MAX;
}

/* Row `id` of the table that is input `table`, as floats. */
static onnxd_status *read_row(const onnxd_compute *context, uint32_t table, uint32_t ids,
                              size_t index, int64_t id, float *out)
{
    const onnxd_tensor_view *view = &context->inputs[table];
    size_t columns = (size_t)view->shape.dims[1];
    if (id < 0 || id >= view->shape.dims[0])
        return onnxd_op_error(context->node,
                              "element %zu of input %" PRIu32 " is %" PRId64 ", but input %" PRIu32
                              " has %" PRId64 " rows",
                              index, ids, id, table, view->shape.dims[0]);
    onnxd_real_read_float(view->dtype, onnxd_tensor_view_data(view), (size_t)id * columns, columns,
                          out);
    return NULL;
}

/* The embeddings of one word: `row` becomes their sum, `term` is scratch. */
static onnxd_status *embed(const onnxd_compute *context, size_t index, size_t columns, float *row,
                           float *term)
{
    const onnxd_tensor_view *inputs = context->inputs;
    const onnxd_tensor_view *segments = onnxd_compute_input(context, SEGMENT_IDS);
    const onnxd_tensor_view *positions = onnxd_compute_input(context, POSITION_IDS);
    size_t length = (size_t)inputs[WORD_IDS].shape.dims[1], at = index % length;
    int64_t position = (int64_t)at;
    if (positions != NULL) {
        at = index % onnxd_tensor_view_count(positions);
        position = onnxd_op_int_at(positions, at);
    }
    ONNXD_TRY(
        read_row(context, WORDS, WORD_IDS, index, onnxd_op_int_at(&inputs[WORD_IDS], index), row));
    ONNXD_TRY(read_row(context, POSITIONS, POSITION_IDS, at, position, term));
    onnxd_contrib_add(term, columns, row);
    if (segments == NULL)
        return NULL;
    ONNXD_TRY(
        read_row(context, SEGMENTS, SEGMENT_IDS, index, onnxd_op_int_at(segments, index), term));
    onnxd_contrib_add(term, columns, row);
    return NULL;
}

static void count_mask(const onnxd_compute *context)
{
    const onnxd_tensor_view *mask = onnxd_compute_input(context, MASK);
    const onnxd_tensor_view *index = onnxd_compute_output(context, MASK_INDEX);
    if (index == NULL)
        return;
    const int32_t *bits = mask == NULL ? NULL : onnxd_tensor_view_data(mask);
    int32_t *counts = onnxd_tensor_view_data(index);
    size_t length = mask == NULL ? 0 : (size_t)mask->shape.dims[1];
    for (size_t b = 0; b < (size_t)index->shape.dims[0]; b++) {
        counts[b] = 0;
        for (size_t i = 0; i < length; i++)
            counts[b] += bits[b * length + i] == 1;
    }
}

static onnxd_status *compute(const onnxd_compute *context)
{
    const onnxd_tensor_view *y = &context->outputs[Y], *sum = onnxd_compute_output(context, SUM);
    const onnxd_tensor_view *gamma = &context->inputs[GAMMA], *beta = &context->inputs[BETA];
    count_mask(context);
    if (onnxd_tensor_view_count(y) == 0)
        return NULL;
    onnxd_norm_rows norm = norm_of(context);
    size_t columns = norm.columns;
    float *row = context->workspace, *term = row + columns;
    float *factors = term + columns, *terms = factors + columns;
    void *scratch = row + VECTORS * columns;
    onnxd_real_read_float(gamma->dtype, onnxd_tensor_view_data(gamma), 0, columns, factors);
    onnxd_real_read_float(beta->dtype, onnxd_tensor_view_data(beta), 0, columns, terms);
    norm.input = row;
    norm.scale = (onnxd_norm_affine){factors, ONNXD_FLOAT, columns, columns};
    norm.bias = (onnxd_norm_affine){terms, ONNXD_FLOAT, columns, columns};
    for (size_t i = 0; i < onnxd_tensor_view_count(&context->inputs[WORD_IDS]); i++) {
        ONNXD_TRY(embed(context, i, columns, row, term));
        if (sum != NULL)
            onnxd_real_write_float(sum->dtype, row, columns, onnxd_tensor_view_data(sum),
                                   i * columns);
        norm.output = (char *)onnxd_tensor_view_data(y) + i * columns * onnxd_dtype_size(y->dtype);
        onnxd_norm_rows_run(&norm, scratch);
    }
    return NULL;
}

#define IDS(optional)                                                                              \
    {                                                                                              \
        .types = ONNXD_SET(INT32), .type_variable = 1, .is_optional = optional                     \
    }
#define TABLE(optional)                                                                            \
    {                                                                                              \
        .types = ONNXD_SET(FLOAT) | ONNXD_SET(FLOAT16), .type_variable = 2,                        \
        .is_optional = optional                                                                    \
    }

const onnxd_op_def onnxd_op_contrib_embed_layer_normalization[] = {
    {ONNXD_CONTRIB_NAME("EmbedLayerNormalization"), .min_inputs = 7, .max_inputs = 9,
     .min_outputs = 1, .max_outputs = 3,
     .inputs = {IDS(false), IDS(true), TABLE(false), TABLE(false), TABLE(true), TABLE(false),
                TABLE(false), IDS(true), IDS(true)},
     .outputs = {TABLE(false), IDS(true), TABLE(true)}, .params_bytes = sizeof(embed_params),
     .parse = parse, .infer = infer, .workspace_bytes = workspace_bytes, .compute = compute},
    {.op_type = NULL},
};
