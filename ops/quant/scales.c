#include "ops/quant/scales.h"

#include <inttypes.h>
#include <string.h>

#include "ops/move.h"
#include "ops/quant/quantized.h"
#include "ops/support.h"
#include "ops/types.h"

enum { INPUT, SCALES, ZERO_POINTS };

#define PRECISIONS (ONNXD_SET(FLOAT) | ONNXD_SET(FLOAT16) | ONNXD_SET(BFLOAT16))

/* ---- attributes ---- */

static onnxd_status *check_dtype(const onnxd_node *node, const char *name, onnxd_dtype dtype,
                                 onnxd_dtype_set allowed)
{
    if (dtype != ONNXD_UNDEFINED && (allowed & ((onnxd_dtype_set)1u << dtype)) == 0) {
        char text[ONNXD_DTYPE_SET_TEXT];
        return onnxd_op_error(node, "attribute '%s' is %d (%s), allowed are %s", name, (int)dtype,
                              onnxd_dtype_name(dtype),
                              onnxd_dtype_set_format(allowed, text, sizeof(text)));
    }
    return NULL;
}

static onnxd_status *parse_dtype(const onnxd_node *node, const char *name, onnxd_dtype *out_dtype)
{
    int64_t number = 0;
    ONNXD_TRY(onnxd_attribute_int(node, name, 0, ONNXD_DTYPE_COUNT - 1, &number));
    *out_dtype = onnxd_dtype_from_onnx(number);
    return NULL;
}

onnxd_status *onnxd_scale_params_parse(const onnxd_node *node, int64_t opset, onnxd_arena *arena,
                                       void *params)
{
    (void)arena;
    onnxd_scale_params *p = params;
    bool is_quantizing = strcmp(node->op_type, "QuantizeLinear") == 0;
    const char *names[6] = {NULL};
    size_t count = 0;
    if (opset >= 13)
        names[count++] = "axis";
    if (is_quantizing && opset >= 19)
        names[count++] = "saturate";
    if (opset >= 21)
        names[count++] = "block_size";
    if (opset >= (is_quantizing ? 21 : 23))
        names[count++] = "output_dtype";
    if (is_quantizing && opset >= 23)
        names[count++] = "precision";
    ONNXD_TRY(onnxd_attributes_allow(node, names));
    int64_t saturate = 1;
    p->axis = 1;
    ONNXD_TRY(onnxd_attribute_int(node, "axis", -ONNXD_MAX_RANK, ONNXD_MAX_RANK - 1, &p->axis));
    ONNXD_TRY(onnxd_attribute_int(node, "block_size", 0, INT64_MAX, &p->block_size));
    ONNXD_TRY(onnxd_attribute_int(node, "saturate", 0, 1, &saturate));
    p->saturates = saturate != 0;
    ONNXD_TRY(parse_dtype(node, "output_dtype", &p->output_dtype));
    ONNXD_TRY(parse_dtype(node, "precision", &p->precision));
    return check_dtype(node, "precision", p->precision, PRECISIONS);
}

onnxd_status *onnxd_scale_params_parse_contrib(const onnxd_node *node, int64_t opset,
                                               onnxd_arena *arena, void *params)
{
    (void)opset, (void)arena;
    static const char *const names[] = {"axis", "block_size", NULL};
    onnxd_scale_params *p = params;
    p->axis = 1;
    ONNXD_TRY(onnxd_attributes_allow(node, names));
    ONNXD_TRY(onnxd_attribute_int(node, "axis", -ONNXD_MAX_RANK, ONNXD_MAX_RANK - 1, &p->axis));
    return onnxd_attribute_int(node, "block_size", 0, INT64_MAX, &p->block_size);
}

/* ---- shapes ---- */

/* One element, whatever the rank. */
static bool is_single(const onnxd_shape *shape)
{
    size_t count;
    return shape->rank <= 1 && onnxd_shape_count(shape, &count) && count == 1;
}

/* The axis in [0, rank) of an input of rank 1 or more. ONNX gives a vector's axis no meaning, and
 * its default would not exist. */
static onnxd_status *find_axis(const onnxd_node *node, int64_t axis, int32_t rank,
                               int32_t *out_axis)
{
    if (rank == 1) {
        *out_axis = 0;
        return NULL;
    }
    return onnxd_op_axis(node, "attribute 'axis'", axis, rank, out_axis);
}

static onnxd_status *check_axis(const onnxd_infer *infer, const onnxd_shape *input, int32_t axis)
{
    int64_t extent = input->dims[axis], count = infer->inputs[SCALES].shape.dims[0];
    if (onnxd_dim_is_static(extent) && onnxd_dim_is_static(count) && extent != count)
        return onnxd_op_error(
            infer->node, "input 1 has %" PRId64 " scales for axis %" PRId32 " of extent %" PRId64,
            count, axis, extent);
    return NULL;
}

static onnxd_status *check_blocks(const onnxd_infer *infer, const onnxd_shape *input, int32_t axis,
                                  int64_t block)
{
    const onnxd_shape *scales = &infer->inputs[SCALES].shape;
    for (int32_t i = 0; i < input->rank; i++) {
        int64_t extent = input->dims[i], count = scales->dims[i];
        if (!onnxd_dim_is_static(extent) || !onnxd_dim_is_static(count))
            continue;
        int64_t needed = i == axis ? extent / block + (extent % block != 0) : extent;
        if (count != needed)
            return onnxd_op_error(infer->node,
                                  "input 1 has extent %" PRId64 " at axis %" PRId32
                                  ", needed for blocks of %" PRId64 " is %" PRId64,
                                  count, i, block, needed);
    }
    return NULL;
}

static onnxd_status *check_zero_points(const onnxd_infer *infer)
{
    if (!onnxd_op_has_input(infer->node, ZERO_POINTS))
        return NULL;
    const onnxd_shape *scales = &infer->inputs[SCALES].shape;
    const onnxd_shape *zeros = &infer->inputs[ZERO_POINTS].shape;
    bool is_equal = scales->rank == zeros->rank;
    if (scales->rank < 0 || zeros->rank < 0 || (is_single(scales) && is_single(zeros)))
        return NULL;
    for (int32_t i = 0; is_equal && i < scales->rank; i++)
        is_equal = !onnxd_dim_is_static(scales->dims[i]) || !onnxd_dim_is_static(zeros->dims[i]) ||
                   scales->dims[i] == zeros->dims[i];
    /* With an open dimension either may still turn out to be a single element. */
    bool may_be_single = (scales->rank <= 1 && !onnxd_shape_is_static(scales)) ||
                         (zeros->rank <= 1 && !onnxd_shape_is_static(zeros));
    if (is_equal || may_be_single)
        return NULL;
    char left[ONNXD_SHAPE_TEXT], right[ONNXD_SHAPE_TEXT];
    return onnxd_op_error(infer->node,
                          "the scales have shape %s, the zero points %s, must be equal",
                          onnxd_shape_format(scales, left, sizeof(left)),
                          onnxd_shape_format(zeros, right, sizeof(right)));
}

onnxd_status *onnxd_scales_check(const onnxd_infer *infer)
{
    const onnxd_scale_params *p = infer->params;
    const onnxd_shape *input = &infer->inputs[INPUT].shape, *scales = &infer->inputs[SCALES].shape;
    /* Which types are allowed depends on the opset. */
    ONNXD_TRY(check_dtype(infer->node, "output_dtype", p->output_dtype,
                          infer->node->def->outputs[0].types));
    ONNXD_TRY(check_zero_points(infer));
    if (scales->rank <= 0 || input->rank < 0)
        return NULL;
    if (p->block_size == 0 && is_single(scales))
        return NULL;
    int32_t axis;
    if (input->rank == 0)
        return onnxd_op_error(infer->node, "input 0 is a scalar, which takes one scale");
    if (scales->rank != (p->block_size == 0 ? 1 : input->rank))
        return onnxd_op_error(infer->node,
                              "input 1 has rank %" PRId32 ", allowed are 0 and %" PRId32,
                              scales->rank, p->block_size == 0 ? 1 : input->rank);
    ONNXD_TRY(find_axis(infer->node, p->axis, input->rank, &axis));
    return p->block_size == 0 ? check_axis(infer, input, axis)
                              : check_blocks(infer, input, axis, p->block_size);
}

onnxd_scale_layout onnxd_scales_layout(const onnxd_scale_params *params, const onnxd_shape *input,
                                       const onnxd_shape *scales)
{
    onnxd_scale_layout layout = {.kind = ONNXD_SCALES_TENSOR};
    if (scales->rank == 0 || (params->block_size == 0 && is_single(scales)))
        return layout;
    int32_t axis = (int32_t)(params->axis < 0 ? params->axis + input->rank : params->axis);
    if (input->rank == 1)
        axis = 0;
    layout.kind = params->block_size == 0 ? ONNXD_SCALES_AXIS : ONNXD_SCALES_BLOCKED;
    layout.extent = (size_t)input->dims[axis];
    layout.block = (size_t)params->block_size;
    layout.inner = 1;
    for (int32_t i = axis + 1; i < input->rank; i++)
        layout.inner *= (size_t)input->dims[i]; /* at most the number of elements */
    layout.scale_extent = (size_t)scales->dims[layout.kind == ONNXD_SCALES_AXIS ? 0 : axis];
    return layout;
}

/* ---- elements ---- */

void onnxd_scale_read_floats(onnxd_dtype dtype, const void *data, size_t first, size_t count,
                             void *out)
{
    onnxd_quant_read_floats(dtype, data, first, count, out);
}

void onnxd_scale_read_integers(onnxd_dtype dtype, const void *data, size_t first, size_t count,
                               void *out)
{
    onnxd_quant_read_integers(dtype, data, first, count, out);
}

/* Elements from `at` on whose scales are one, or neighbours. */
typedef struct scale_run {
    size_t count, scale, step;
} scale_run;

static scale_run find_run(const onnxd_scale_layout *layout, size_t at)
{
    size_t i = at % layout->inner, row = at / layout->inner;
    size_t a = row % layout->extent, o = row / layout->extent;
    if (layout->kind == ONNXD_SCALES_AXIS)
        return layout->inner == 1 ? (scale_run){layout->extent - a, a, 1}
                                  : (scale_run){layout->inner - i, a, 0};
    size_t scale = (o * layout->scale_extent + a / layout->block) * layout->inner + i;
    if (layout->inner > 1)
        return (scale_run){layout->inner - i, scale, 1};
    size_t in_block = layout->block - a % layout->block, in_row = layout->extent - a;
    return (scale_run){in_block < in_row ? in_block : in_row, scale, 0};
}

/* What both kinds of numbers take. */
#define NUMBER_BYTES ((size_t)4)
_Static_assert(sizeof(float) == NUMBER_BYTES && sizeof(int32_t) == NUMBER_BYTES, "4-byte numbers");

void onnxd_scales_spread(const onnxd_scale_layout *layout, onnxd_scale_reader read,
                         const onnxd_tensor_view *view, size_t first, size_t count, void *out)
{
    if (view == NULL || !onnxd_tensor_view_is_present(view)) {
        memset(out, 0, count * NUMBER_BYTES);
        return;
    }
    const void *data = onnxd_tensor_view_data(view);
    for (size_t done = 0; done < count;) {
        scale_run run = {count, 0, 0};
        if (layout->kind != ONNXD_SCALES_TENSOR)
            run = find_run(layout, first + done);
        size_t part = run.count < count - done ? run.count : count - done;
        char *to = (char *)out + done * NUMBER_BYTES;
        if (run.step == 1) {
            read(view->dtype, data, run.scale, part, to);
        } else {
            uint32_t number;
            read(view->dtype, data, run.scale, 1, &number);
            onnxd_fill(to, part, NUMBER_BYTES, &number);
        }
        done += part;
    }
}
