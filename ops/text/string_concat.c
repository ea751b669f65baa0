/* StringConcat: the strings of both inputs one after the other, with broadcasting. */
#include <string.h>

#include "base/size_math.h"
#include "ops/binary.h"
#include "ops/ops.h"
#include "ops/support.h"

static onnxd_status *join(const onnxd_compute *compute, const onnxd_string *a,
                          const onnxd_string *b, onnxd_string *out)
{
    size_t size;
    if (a->size == 0 || b->size == 0) {
        *out = a->size == 0 ? *b : *a;
        return NULL;
    }
    char *data = onnxd_size_add(a->size, b->size, &size)
                     ? onnxd_arena_alloc(&compute->strings->arena, size)
                     : NULL;
    if (data == NULL)
        return onnxd_op_error_code(ONNXD_RESOURCE_EXHAUSTED, compute->node,
                                   "the strings take more memory than a run may use");
    memcpy(data, a->data, a->size);
    memcpy(data + a->size, b->data, b->size);
    *out = (onnxd_string){data, size};
    return NULL;
}

static onnxd_status *compute(const onnxd_compute *compute)
{
    const onnxd_string *a = onnxd_tensor_view_data(&compute->inputs[0]);
    const onnxd_string *b = onnxd_tensor_view_data(&compute->inputs[1]);
    onnxd_string *out = onnxd_tensor_view_data(&compute->outputs[0]);
    onnxd_loop loop;
    onnxd_loop_cursor cursor;
    ONNXD_TRY(onnxd_binary_loop(compute, &loop));
    if (!onnxd_loop_begin(&loop, &cursor))
        return NULL;
    const int64_t a_step = onnxd_loop_step(&loop, 1), b_step = onnxd_loop_step(&loop, 2);
    do {
        for (size_t i = 0; i < onnxd_loop_row(&loop); i++)
            ONNXD_TRY(join(compute, a + cursor.offsets[1] + (int64_t)i * a_step,
                           b + cursor.offsets[2] + (int64_t)i * b_step,
                           out + cursor.offsets[0] + (int64_t)i));
    } while (onnxd_loop_next(&loop, &cursor));
    return NULL;
}

const onnxd_op_def onnxd_op_string_concat[] = {
    {ONNXD_BINARY_COMMON("StringConcat", 20, ONNXD_OPSET_MAX, ONNXD_SET(STRING), ONNXD_SET(STRING)),
     .infer = onnxd_binary_infer, .compute = compute},
    {.op_type = NULL},
};
