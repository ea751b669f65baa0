/* NGramRepeatBlock: scores of -infinity for the tokens that would repeat an n-gram of the sequence
 * if they came next. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "ops/contrib/contrib.h"
#include "ops/ops.h"
#include "ops/support.h"
#include "ops/types.h"

enum { TOKENS, SCORES };

typedef struct block_params {
    int64_t size; /* of an n-gram, at least 1 */
} block_params;

static onnxd_status *parse(const onnxd_node *node, int64_t opset, onnxd_arena *arena, void *params)
{
    (void)opset, (void)arena;
    static const char *const names[] = {"ngram_size", NULL};
    block_params *p = params;
    ONNXD_TRY(onnxd_attributes_allow(node, names));
    ONNXD_TRY(onnxd_attribute_require(node, "ngram_size"));
    return onnxd_attribute_int(node, "ngram_size", 1, INT64_MAX, &p->size);
}

static onnxd_status *infer(onnxd_infer *infer)
{
    int64_t dims[] = {ONNXD_DIM_UNKNOWN, ONNXD_DIM_UNKNOWN};
    const onnxd_shape *tokens = &infer->inputs[TOKENS].shape;
    infer->outputs[0] = infer->inputs[SCORES];
    ONNXD_TRY(onnxd_infer_check_dims(infer, TOKENS, 2, dims));
    if (tokens->rank == 2)
        dims[0] = tokens->dims[0];
    return onnxd_infer_check_dims(infer, SCORES, 2, dims);
}

/* Blocks what followed each earlier occurrence of the last size - 1 tokens. */
static onnxd_status *block(const onnxd_compute *compute, size_t row, const int64_t *tokens,
                           size_t length, float *scores, int64_t vocabulary)
{
    const block_params *p = compute->params;
    if ((uint64_t)p->size > length)
        return NULL;
    size_t prefix = (size_t)p->size - 1;
    for (size_t i = 0; i + prefix < length; i++) {
        int64_t next = tokens[i + prefix];
        if (memcmp(tokens + i, tokens + length - prefix, prefix * sizeof(*tokens)) != 0)
            continue;
        if (next < 0 || next >= vocabulary)
            return onnxd_op_error(compute->node,
                                  "element [%zu, %zu] of input 0 is %" PRId64
                                  ", allowed is 0 to %" PRId64,
                                  row, i + prefix, next, vocabulary - 1);
        scores[next] = -INFINITY;
    }
    return NULL;
}

static onnxd_status *compute(const onnxd_compute *compute)
{
    const onnxd_tensor_view *tokens = &compute->inputs[TOKENS], *scores = &compute->inputs[SCORES];
    size_t batch = (size_t)tokens->shape.dims[0], length = (size_t)tokens->shape.dims[1];
    int64_t vocabulary = scores->shape.dims[1];
    if (onnxd_tensor_view_count(scores) == 0)
        return NULL;
    float *out = onnxd_tensor_view_data(&compute->outputs[0]);
    const int64_t *ids = onnxd_tensor_view_data(tokens);
    memcpy(out, onnxd_tensor_view_data(scores), onnxd_tensor_view_bytes(scores));
    for (size_t row = 0; row < batch && length > 0; row++)
        ONNXD_TRY(block(compute, row, ids + row * length, length, out + row * (size_t)vocabulary,
                        vocabulary));
    return NULL;
}

const onnxd_op_def onnxd_op_n_gram_repeat_block[] = {
    {ONNXD_CONTRIB_NAME("NGramRepeatBlock"), .min_inputs = 2, .max_inputs = 2, .min_outputs = 1,
     .max_outputs = 1, .inputs = {{.types = ONNXD_SET(INT64)}, {.types = ONNXD_SET(FLOAT)}},
     .outputs = {{.types = ONNXD_SET(FLOAT)}}, .params_bytes = sizeof(block_params), .parse = parse,
     .infer = infer, .compute = compute},
    {.op_type = NULL},
};
