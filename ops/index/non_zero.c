/* NonZero: the positions of the elements that are not zero (not empty, for strings), in row-major
 * order, one column each. A scalar has no positions: its result has no rows. */
#include <string.h>

#include "ops/index/output.h"
#include "ops/ops.h"
#include "ops/support.h"
#include "ops/types.h"

#define CHUNK 256
/* Elements between two looks at whether the request still stands; a multiple of CHUNK. */
#define CHECK_EVERY ((size_t)CHUNK * 64)

/* Elements of one or two words (complex numbers), of which `mask` holds the bits that count. */
#define DEFINE_TEST(bytes, T)                                                                      \
    static void test_##bytes(const void *data, size_t first, size_t count, size_t words,           \
                             uint64_t mask, uint8_t *out)                                          \
    {                                                                                              \
        const T *from = (const T *)data + first * words;                                           \
        const T bits = (T)mask;                                                                    \
        if (words == 1)                                                                            \
            for (size_t i = 0; i < count; i++)                                                     \
                out[i] = (from[i] & bits) != 0;                                                    \
        else                                                                                       \
            for (size_t i = 0; i < count; i++)                                                     \
                out[i] = ((from[2 * i] | from[2 * i + 1]) & bits) != 0;                            \
    }
DEFINE_TEST(1, uint8_t)
DEFINE_TEST(2, uint16_t)
DEFINE_TEST(4, uint32_t)
DEFINE_TEST(8, uint64_t)

static void test_strings(const onnxd_string *strings, size_t count, uint8_t *out)
{
    for (size_t i = 0; i < count; i++)
        out[i] = strings[i].size != 0;
}

/* Which of elements [first, first + count) are not zero, count <= CHUNK. */
static void test(const onnxd_tensor *input, size_t first, size_t count, uint8_t *out)
{
    onnxd_dtype dtype = input->dtype;
    if (dtype == ONNXD_STRING) {
        test_strings((const onnxd_string *)input->data + first, count, out);
        return;
    }
    bool is_complex = dtype == ONNXD_COMPLEX64 || dtype == ONNXD_COMPLEX128;
    bool is_float = ((ONNXD_SET_FLOATS >> dtype) & 1) != 0;
    size_t words = is_complex ? 2 : 1, bytes = onnxd_dtype_size(dtype) / words;
    /* Without the sign: minus zero is zero. */
    uint64_t mask = is_complex || is_float ? ~((uint64_t)1 << (8 * bytes - 1)) : UINT64_MAX;
    if (bytes == 1)
        test_1(input->data, first, count, words, mask, out);
    else if (bytes == 2)
        test_2(input->data, first, count, words, mask, out);
    else if (bytes == 4)
        test_4(input->data, first, count, words, mask, out);
    else
        test_8(input->data, first, count, words, mask, out);
}

static onnxd_status *count_nonzero(const onnxd_run_env *env, const onnxd_tensor *input,
                                   size_t *out_total)
{
    uint8_t is_nonzero[CHUNK];
    size_t total = 0;
    for (size_t first = 0; first < input->count; first += CHUNK) {
        if (first % CHECK_EVERY == 0)
            ONNXD_TRY(env->check(env));
        size_t count = input->count - first < CHUNK ? input->count - first : CHUNK;
        test(input, first, count, is_nonzero);
        for (size_t i = 0; i < count; i++)
            total += is_nonzero[i];
    }
    *out_total = total;
    return NULL;
}

/* The position of the row, along the last axis, that the elements being looked at are in. */
typedef struct row_position {
    const onnxd_shape *shape; /* of rank 1 or more */
    size_t start, length;
    int64_t index[ONNXD_MAX_RANK]; /* of the row */
} row_position;

static void move_to(row_position *row, size_t element)
{
    while (element - row->start >= row->length) {
        row->start += row->length;
        for (int32_t i = row->shape->rank - 2; i >= 0; i--) {
            if (++row->index[i] < row->shape->dims[i])
                break;
            row->index[i] = 0;
        }
    }
}

static onnxd_status *fill(const onnxd_run_env *env, const onnxd_tensor *input, size_t total,
                          int64_t *out)
{
    uint8_t is_nonzero[CHUNK];
    int32_t last = input->shape.rank - 1;
    row_position row = {.shape = &input->shape, .length = (size_t)input->shape.dims[last]};
    size_t column = 0;
    for (size_t first = 0; first < input->count; first += CHUNK) {
        if (first % CHECK_EVERY == 0)
            ONNXD_TRY(env->check(env));
        size_t count = input->count - first < CHUNK ? input->count - first : CHUNK;
        test(input, first, count, is_nonzero);
        for (size_t i = 0; i < count; i++) {
            if (is_nonzero[i] == 0)
                continue;
            move_to(&row, first + i);
            for (int32_t axis = 0; axis < last; axis++)
                out[(size_t)axis * total + column] = row.index[axis];
            out[(size_t)last * total + column] = (int64_t)(first + i - row.start);
            column++;
        }
    }
    return NULL;
}

static onnxd_status *infer(onnxd_infer *infer)
{
    infer->outputs[0].dtype = ONNXD_INT64;
    infer->outputs[0].shape = onnxd_shape_of_rank(2);
    if (infer->inputs[0].shape.rank >= 0)
        infer->outputs[0].shape.dims[0] = infer->inputs[0].shape.rank;
    return NULL;
}

static onnxd_status *run(onnxd_dynamic *dynamic)
{
    const onnxd_tensor *input = dynamic->inputs[0]->tensor;
    size_t total = 0;
    ONNXD_TRY(count_nonzero(dynamic->env, input, &total));
    onnxd_shape shape = {.rank = 2, .dims = {input->shape.rank, (int64_t)total}};
    onnxd_tensor *output;
    ONNXD_TRY(dynamic->env->allocate(dynamic->env, ONNXD_INT64, &shape, &output));
    onnxd_status *status = NULL;
    if (output->count != 0)
        status = fill(dynamic->env, input, total, output->data);
    if (status == NULL)
        return onnxd_publish_output(dynamic, 0, output);
    onnxd_tensor_release(output);
    return status;
}

#define ROW(first, last, set)                                                                      \
    {                                                                                              \
        .op_type = "NonZero", .domain = "", .since = first, .until = last, .min_inputs = 1,        \
        .max_inputs = 1, .min_outputs = 1, .max_outputs = 1, .inputs = {{.types = set}},           \
        .outputs = {{.types = ONNXD_SET(INT64)}}, .infer = infer, .run = run                       \
    }

const onnxd_op_def onnxd_op_non_zero[] = {
    ROW(9, 12, ONNXD_SET_ANY_1),
    ROW(13, ONNXD_OPSET_MAX, ONNXD_SET_ANY_13),
    {.op_type = NULL},
};
