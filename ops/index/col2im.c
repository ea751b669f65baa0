/*
 * Col2Im: columns of blocks put back into an image, where blocks that overlap add up (strings by
 * joining). An image is summed whole before it is rounded to its type.
 */
#include <inttypes.h>
#include <string.h>

#include "base/size_math.h"
#include "ops/index/combine.h"
#include "ops/ops.h"
#include "ops/support.h"
#include "ops/types.h"

/* Batch and channel come before the axes of the image. */
#define MAX_AXES (ONNXD_MAX_RANK - 2)

enum { COLUMNS, IMAGE_SHAPE, BLOCK_SHAPE };

typedef struct col2im_params {
    size_t stride_count, pad_count, dilation_count; /* 0: not given */
    int64_t strides[MAX_AXES], pads[2 * MAX_AXES], dilations[MAX_AXES];
} col2im_params;

static onnxd_status *parse(const onnxd_node *node, int64_t opset, onnxd_arena *arena, void *params)
{
    (void)opset, (void)arena;
    static const char *const names[] = {"dilations", "pads", "strides", NULL};
    col2im_params *p = params;
    ONNXD_TRY(onnxd_attributes_allow(node, names));
    ONNXD_TRY(onnxd_attribute_ints(node, "dilations", 1, MAX_AXES, 1, INT32_MAX, p->dilations,
                                   &p->dilation_count));
    ONNXD_TRY(onnxd_attribute_ints(node, "pads", 2, (size_t)2 * MAX_AXES, 0, INT32_MAX, p->pads,
                                   &p->pad_count));
    return onnxd_attribute_ints(node, "strides", 1, MAX_AXES, 1, INT32_MAX, p->strides,
                                &p->stride_count);
}

/* Blocks over an image, axis by axis. */
typedef struct col2im_plan {
    int32_t rank;
    int64_t image[MAX_AXES], block[MAX_AXES], count[MAX_AXES]; /* extents; blocks side by side */
    int64_t stride[MAX_AXES], pad[MAX_AXES], dilation[MAX_AXES];
    int64_t block_elements, block_count; /* products */
} col2im_plan;

static onnxd_status *check_count(const onnxd_node *node, const char *name, size_t count,
                                 int32_t rank, size_t per_axis)
{
    if (count != 0 && count != (size_t)rank * per_axis)
        return onnxd_op_error(node,
                              "attribute '%s' has %zu values, %zu are needed for %" PRId32 " axes",
                              name, count, (size_t)rank * per_axis, rank);
    return NULL;
}

/* How many blocks fit along an axis. */
static onnxd_status *count_blocks(const onnxd_node *node, col2im_plan *plan, int32_t axis,
                                  int64_t pad_end)
{
    int64_t padded, reach;
    if (!onnxd_i64_add(plan->image[axis], plan->pad[axis] + pad_end, &padded) ||
        !onnxd_i64_mul(plan->block[axis] - 1, plan->dilation[axis], &reach) || reach >= padded)
        return onnxd_op_error(node,
                              "a block of %" PRId64 " with dilation %" PRId64
                              " does not fit axis %" PRId32 " of the image, %" PRId64
                              " with pads %" PRId64 " and %" PRId64,
                              plan->block[axis], plan->dilation[axis], axis, plan->image[axis],
                              plan->pad[axis], pad_end);
    plan->count[axis] = (padded - reach - 1) / plan->stride[axis] + 1;
    if (!onnxd_i64_mul(plan->block_elements, plan->block[axis], &plan->block_elements) ||
        !onnxd_i64_mul(plan->block_count, plan->count[axis], &plan->block_count))
        return onnxd_op_error(node,
                              "%" PRId64 " blocks of %" PRId64 " along axis %" PRId32
                              " make more elements than %" PRId64 ", the most that fit",
                              plan->count[axis], plan->block[axis], axis, INT64_MAX);
    return NULL;
}

static onnxd_status *make_plan(const onnxd_node *node, const col2im_params *p,
                               const onnxd_shape *image, const onnxd_shape *block,
                               col2im_plan *plan)
{
    int32_t rank = image->rank;
    if (rank < 1 || rank > MAX_AXES)
        return onnxd_op_error(node, "input 1 has %" PRId32 " extents, 1 to %d are supported", rank,
                              MAX_AXES);
    if (block->rank != rank)
        return onnxd_op_error(node,
                              "input 2 has %" PRId32 " extents for an image of %" PRId32 " axes",
                              block->rank, rank);
    ONNXD_TRY(check_count(node, "dilations", p->dilation_count, rank, 1));
    ONNXD_TRY(check_count(node, "pads", p->pad_count, rank, 2));
    ONNXD_TRY(check_count(node, "strides", p->stride_count, rank, 1));
    *plan = (col2im_plan){.rank = rank, .block_elements = 1, .block_count = 1};
    for (int32_t i = 0; i < rank; i++) {
        plan->image[i] = image->dims[i];
        plan->block[i] = block->dims[i];
        plan->stride[i] = p->stride_count == 0 ? 1 : p->strides[i];
        plan->dilation[i] = p->dilation_count == 0 ? 1 : p->dilations[i];
        plan->pad[i] = p->pad_count == 0 ? 0 : p->pads[i];
        ONNXD_TRY(count_blocks(node, plan, i, p->pad_count == 0 ? 0 : p->pads[rank + i]));
    }
    return NULL;
}

static onnxd_status *image_shape(const onnxd_node *node, const col2im_plan *plan,
                                 const onnxd_shape *columns, onnxd_shape *out_shape)
{
    onnxd_shape shape = onnxd_shape_of_rank(2 + plan->rank);
    for (int32_t i = 0; i < plan->rank; i++)
        shape.dims[2 + i] = plan->image[i];
    if (columns->rank == 3) {
        int64_t rows = columns->dims[1], blocks = columns->dims[2];
        if (onnxd_dim_is_static(rows) && rows % plan->block_elements != 0)
            return onnxd_op_error(node,
                                  "axis 1 of input 0 has extent %" PRId64
                                  ", must be a multiple of %" PRId64 ", the elements of a block",
                                  rows, plan->block_elements);
        if (onnxd_dim_is_static(blocks) && blocks != plan->block_count)
            return onnxd_op_error(node,
                                  "axis 2 of input 0 has extent %" PRId64
                                  ", but the image holds %" PRId64 " blocks",
                                  blocks, plan->block_count);
        shape.dims[0] = columns->dims[0];
        if (onnxd_dim_is_static(rows))
            shape.dims[1] = rows / plan->block_elements;
    }
    *out_shape = shape;
    return NULL;
}

static onnxd_status *check_columns(const onnxd_node *node, const onnxd_shape *columns)
{
    if (columns->rank >= 0 && columns->rank != 3)
        return onnxd_op_error(node, "input 0 has rank %" PRId32 ", must have 3", columns->rank);
    return NULL;
}

static onnxd_status *infer(onnxd_infer *infer)
{
    const onnxd_shape *columns = &infer->inputs[COLUMNS].shape;
    onnxd_tensor_type *output = &infer->outputs[0];
    onnxd_shape image, block;
    bool is_image_known, is_block_known;
    output->dtype = infer->inputs[COLUMNS].dtype;
    ONNXD_TRY(check_columns(infer->node, columns));
    ONNXD_TRY(onnxd_infer_shape_list(infer, IMAGE_SHAPE, 0, &image, &is_image_known));
    ONNXD_TRY(onnxd_infer_shape_list(infer, BLOCK_SHAPE, 1, &block, &is_block_known));
    if (is_image_known && is_block_known) {
        col2im_plan plan;
        ONNXD_TRY(make_plan(infer->node, infer->params, &image, &block, &plan));
        return image_shape(infer->node, &plan, columns, &output->shape);
    }
    int32_t rank = image.rank >= 0 ? image.rank : block.rank;
    if (rank < 0 || rank > MAX_AXES)
        return NULL;
    output->shape = onnxd_shape_of_rank(2 + rank);
    if (columns->rank == 3)
        output->shape.dims[0] = columns->dims[0];
    for (int32_t i = 0; is_image_known && i < rank; i++)
        output->shape.dims[2 + i] = image.dims[i];
    return NULL;
}

/* Sums of one image, in the type they are taken in. */
typedef struct line_kernel {
    size_t total_bytes;
    /* totals[first + i * step] += in[i] */
    void (*add)(void *totals, int64_t first, int64_t step, const void *in, int64_t count);
    void (*store)(const void *totals, void *out, int64_t count);
} line_kernel;

#define sum_OF(a, b) ((a) + (b))
#define or_OF(a, b) ((a) | (b))
#define KERNEL(op, id, T, C, LOAD, STORE)                                                          \
    static void add_##id(void *totals_data, int64_t first, int64_t step, const void *in_data,      \
                         int64_t count)                                                            \
    {                                                                                              \
        C *totals = totals_data;                                                                   \
        const T *in = in_data;                                                                     \
        for (int64_t i = 0; i < count; i++) {                                                      \
            const C value = LOAD(C, in[i]);                                                        \
            totals[first + i * step] = op##_OF(totals[first + i * step], value);                   \
        }                                                                                          \
    }                                                                                              \
    static void store_##id(const void *totals_data, void *out_data, int64_t count)                 \
    {                                                                                              \
        const C *totals = totals_data;                                                             \
        T *out = out_data;                                                                         \
        for (int64_t i = 0; i < count; i++)                                                        \
            out[i] = STORE(T, totals[i]);                                                          \
    }
#define LOAD_BOOL(C, x) ((C)((x) != 0))
#define EACH(X)                                                                                    \
    ONNXD_EACH_FLOAT(X, sum)                                                                       \
    ONNXD_EACH_INTEGER_WRAPPING(X, sum)                                                            \
    X(sum, COMPLEX64, float _Complex, float _Complex, ONNXD_LOAD_PLAIN, ONNXD_STORE_PLAIN)         \
    X(sum, COMPLEX128, double _Complex, double _Complex, ONNXD_LOAD_PLAIN, ONNXD_STORE_PLAIN)      \
    X(or, BOOL, uint8_t, unsigned, LOAD_BOOL, ONNXD_STORE_PLAIN)
EACH(KERNEL)

#define ENTRY(op, id, T, C, LOAD, STORE) [ONNXD_##id] = {sizeof(C), add_##id, store_##id},
static const line_kernel kernels[ONNXD_DTYPE_COUNT] = {
    EACH(ENTRY)[ONNXD_STRING] = {.total_bytes = sizeof(onnxd_string)}};

/* Pixels of one image of the output. */
static bool count_pixels(const onnxd_shape *output, size_t *out_pixels)
{
    return onnxd_shape_span(output, 2, output->rank, out_pixels);
}

static size_t workspace_bytes(const onnxd_compute *compute)
{
    const onnxd_tensor_view *output = &compute->outputs[0];
    size_t pixels, bytes;
    if (onnxd_tensor_view_count(output) == 0)
        return 0;
    if (output->shape.rank < 2 || !count_pixels(&output->shape, &pixels) ||
        !onnxd_size_mul(pixels, kernels[output->dtype].total_bytes, &bytes))
        return SIZE_MAX;
    return bytes;
}

typedef struct col2im_call {
    const onnxd_compute *compute;
    const col2im_plan *plan;
    const line_kernel *kernel;
    size_t width; /* bytes of an element */
    void *totals;
} col2im_call;

/* Where position `offset` of block `block` falls, both without the last axis: the first pixel of a
 * line. False outside of the image. */
static bool find_line(const col2im_plan *plan, const int64_t *block, const int64_t *offset,
                      int64_t *out_pixel)
{
    int64_t pixel = 0;
    for (int32_t i = 0; i < plan->rank - 1; i++) {
        int64_t at = block[i] * plan->stride[i] + offset[i] * plan->dilation[i] - plan->pad[i];
        if (at < 0 || at >= plan->image[i])
            return false;
        pixel = pixel * plan->image[i] + at;
    }
    *out_pixel = pixel * plan->image[plan->rank - 1];
    return true;
}

static onnxd_status *join(const col2im_call *c, int64_t first, int64_t stride,
                          const onnxd_string *in, int64_t count)
{
    onnxd_string *totals = c->totals;
    for (int64_t i = 0; i < count; i++)
        ONNXD_TRY(onnxd_join_strings(c->compute, &totals[first + i * stride], &in[i]));
    return NULL;
}

/* What one position in a row of blocks, `offset` along the last axis, adds to the line that begins
 * at `pixel`. */
static onnxd_status *add_row(const col2im_call *c, int64_t offset, int64_t pixel, const void *in)
{
    const col2im_plan *plan = c->plan;
    int32_t last = plan->rank - 1;
    int64_t stride = plan->stride[last], shift = offset * plan->dilation[last] - plan->pad[last];
    /* Block w lies at w * stride + shift. */
    int64_t low = shift < 0 ? (-shift + stride - 1) / stride : 0;
    int64_t high =
        plan->image[last] > shift ? (plan->image[last] - shift + stride - 1) / stride : 0;
    if (high > plan->count[last])
        high = plan->count[last];
    if (low >= high)
        return NULL;
    int64_t first = pixel + low * stride + shift;
    if (c->kernel->add == NULL)
        return join(c, first, stride, (const onnxd_string *)in + low, high - low);
    c->kernel->add(c->totals, first, stride, (const char *)in + (size_t)low * c->width, high - low);
    return NULL;
}

/* Steps `index` through extents; false after the last. */
static bool step(int64_t *index, const int64_t *extents, int32_t rank)
{
    for (int32_t i = rank - 1; i >= 0; i--) {
        if (++index[i] < extents[i])
            return true;
        index[i] = 0;
    }
    return false;
}

/* Adds up one channel of one image. */
static onnxd_status *add_image(const col2im_call *c, const char *in)
{
    const col2im_plan *plan = c->plan;
    int32_t last = plan->rank - 1;
    int64_t offset[MAX_AXES] = {0};
    size_t row_bytes = (size_t)plan->count[last] * c->width;
    do {
        for (offset[last] = 0; offset[last] < plan->block[last]; offset[last]++) {
            int64_t block[MAX_AXES] = {0}, pixel;
            do {
                if (find_line(plan, block, offset, &pixel))
                    ONNXD_TRY(add_row(c, offset[last], pixel, in));
                in += row_bytes;
            } while (step(block, plan->count, last));
        }
    } while (step(offset, plan->block, last));
    return NULL;
}

static onnxd_status *compute(const onnxd_compute *compute)
{
    const onnxd_tensor_view *columns = &compute->inputs[COLUMNS], *output = &compute->outputs[0];
    const onnxd_node *node = compute->node;
    onnxd_shape image, block, shape;
    col2im_plan plan;
    ONNXD_TRY(check_columns(node, &columns->shape));
    ONNXD_TRY(onnxd_op_read_shape(node, IMAGE_SHAPE, &compute->inputs[IMAGE_SHAPE], 0, &image));
    ONNXD_TRY(onnxd_op_read_shape(node, BLOCK_SHAPE, &compute->inputs[BLOCK_SHAPE], 1, &block));
    ONNXD_TRY(make_plan(node, compute->params, &image, &block, &plan));
    ONNXD_TRY(image_shape(node, &plan, &columns->shape, &shape));
    ONNXD_TRY(onnxd_op_check_output(compute, 0, &shape));
    if (onnxd_tensor_view_count(output) == 0)
        return NULL;
    size_t unused, pixels;
    ONNXD_TRY(onnxd_op_around_axis(node, &shape, 1, &unused, &pixels));
    col2im_call call = {.compute = compute,
                        .plan = &plan,
                        .kernel = &kernels[columns->dtype],
                        .width = onnxd_dtype_size(columns->dtype),
                        .totals = compute->workspace};
    const char *in = onnxd_tensor_view_data(columns);
    char *out = onnxd_tensor_view_data(output);
    size_t images = (size_t)shape.dims[0] * (size_t)shape.dims[1];
    size_t in_bytes = (size_t)plan.block_elements * (size_t)plan.block_count * call.width;
    for (size_t i = 0; i < images; i++, in += in_bytes, out += pixels * call.width) {
        memset(call.totals, 0, pixels * call.kernel->total_bytes);
        ONNXD_TRY(add_image(&call, in));
        if (call.kernel->store != NULL)
            call.kernel->store(call.totals, out, (int64_t)pixels);
        else
            memcpy(out, call.totals, pixels * call.width);
    }
    return NULL;
}

const onnxd_op_def onnxd_op_col2im[] = {
    {.op_type = "Col2Im",
     .domain = "",
     .since = 18,
     .until = ONNXD_OPSET_MAX,
     .min_inputs = 3,
     .max_inputs = 3,
     .min_outputs = 1,
     .max_outputs = 1,
     .inputs = {{.types = ONNXD_SET_ANY_13, .type_variable = 1},
                {.types = ONNXD_SET(INT64)},
                {.types = ONNXD_SET(INT64)}},
     .outputs = {{.types = ONNXD_SET_ANY_13, .type_variable = 1}},
     .params_bytes = sizeof(col2im_params),
     .parse = parse,
     .infer = infer,
     .workspace_bytes = workspace_bytes,
     .compute = compute,
     .shape_inputs = 1u << IMAGE_SHAPE | 1u << BLOCK_SHAPE},
    {.op_type = NULL},
};
