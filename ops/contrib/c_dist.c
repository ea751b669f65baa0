/* CDist: the distance of each row of A from each row of B, Euclidean or its square. */
#include <inttypes.h>
#include <math.h>

#include "ops/choice.h"
#include "ops/contrib/contrib.h"
#include "ops/ops.h"
#include "ops/support.h"
#include "ops/types.h"

enum { METRIC_SQUARED, METRIC_EUCLIDEAN };

typedef struct distance_params {
    size_t metric;
} distance_params;

static onnxd_status *parse(const onnxd_node *node, int64_t opset, onnxd_arena *arena, void *params)
{
    (void)opset, (void)arena;
    static const char *const names[] = {"metric", NULL};
    static const char *const metrics[] = {"sqeuclidean", "euclidean"};
    distance_params *p = params;
    ONNXD_TRY(onnxd_attributes_allow(node, names));
    return onnxd_op_choice(node, "metric", metrics, 2, &p->metric);
}

static onnxd_status *infer(onnxd_infer *infer)
{
    int64_t any[] = {ONNXD_DIM_UNKNOWN, ONNXD_DIM_UNKNOWN};
    const onnxd_shape *a = &infer->inputs[0].shape, *b = &infer->inputs[1].shape;
    onnxd_shape *output = &infer->outputs[0].shape;
    infer->outputs[0].dtype = infer->inputs[0].dtype;
    ONNXD_TRY(onnxd_infer_check_dims(infer, 0, 2, any));
    any[1] = a->rank == 2 ? a->dims[1] : ONNXD_DIM_UNKNOWN;
    ONNXD_TRY(onnxd_infer_check_dims(infer, 1, 2, any));
    *output = onnxd_shape_of_rank(2);
    if (a->rank == 2)
        output->dims[0] = a->dims[0];
    if (b->rank == 2)
        output->dims[1] = b->dims[0];
    return NULL;
}

/* Differences are squared, so that near rows do not cancel. */
#define DISTANCES(T, root)                                                                         \
    static void distances_##T(const T *a, const T *b, size_t rows, size_t columns, size_t width,   \
                              bool is_squared, T *out)                                             \
    {                                                                                              \
        for (size_t i = 0; i < rows; i++, a += width) {                                            \
            const T *other = b;                                                                    \
            for (size_t j = 0; j < columns; j++, other += width) {                                 \
                T sum = 0;                                                                         \
                for (size_t k = 0; k < width; k++)                                                 \
                    sum += (a[k] - other[k]) * (a[k] - other[k]);                                  \
                *out++ = is_squared ? sum : root(sum);                                             \
            }                                                                                      \
        }                                                                                          \
    }
DISTANCES(float, sqrtf)
DISTANCES(double, sqrt)

static onnxd_status *compute(const onnxd_compute *compute)
{
    const distance_params *p = compute->params;
    const onnxd_tensor_view *a = &compute->inputs[0], *b = &compute->inputs[1];
    size_t rows = (size_t)a->shape.dims[0], columns = (size_t)b->shape.dims[0];
    size_t width = (size_t)a->shape.dims[1];
    bool is_squared = p->metric == METRIC_SQUARED;
    void *out = onnxd_tensor_view_data(&compute->outputs[0]);
    if (onnxd_tensor_view_count(&compute->outputs[0]) == 0)
        return NULL;
    if (a->dtype == ONNXD_FLOAT)
        distances_float(onnxd_tensor_view_data(a), onnxd_tensor_view_data(b), rows, columns, width,
                        is_squared, out);
    else
        distances_double(onnxd_tensor_view_data(a), onnxd_tensor_view_data(b), rows, columns, width,
                         is_squared, out);
    return NULL;
}

#define REALS (ONNXD_SET(FLOAT) | ONNXD_SET(DOUBLE))
#define REAL                                                                                       \
    {                                                                                              \
        .types = REALS, .type_variable = 1                                                         \
    }

const onnxd_op_def onnxd_op_c_dist[] = {
    {ONNXD_CONTRIB_NAME("CDist"), .min_inputs = 2, .max_inputs = 2, .min_outputs = 1,
     .max_outputs = 1, .inputs = {REAL, REAL}, .outputs = {REAL},
     .params_bytes = sizeof(distance_params), .parse = parse, .infer = infer, .compute = compute},
    {.op_type = NULL},
};
