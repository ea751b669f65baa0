/* Unique: the different elements of the flattened input, or the different slices along an axis,
 * sorted or in the order of their first occurrence. */
#include <inttypes.h>
#include <string.h>

#include "ops/index/order.h"
#include "ops/index/output.h"
#include "ops/move.h"
#include "ops/ops.h"
#include "ops/support.h"
#include "ops/types.h"

typedef struct unique_params {
    bool has_axis, is_sorted;
    bool is_contrib; /* com.microsoft's, of vectors and without the output of first positions */
    int64_t axis;
} unique_params;

/* Elements between two looks at whether the request still stands. */
#define CHECK_EVERY ((size_t)1 << 13)

enum { VALUES, INDICES, INVERSE, COUNTS };

static onnxd_status *parse(const onnxd_node *node, int64_t opset, onnxd_arena *arena, void *params)
{
    (void)opset, (void)arena;
    static const char *const names[] = {"axis", "sorted", NULL};
    unique_params *p = params;
    int64_t sorted = 1;
    ONNXD_TRY(onnxd_attributes_allow(node, names));
    ONNXD_TRY(onnxd_attribute_int(node, "sorted", 0, 1, &sorted));
    p->is_sorted = sorted != 0;
    p->has_axis = onnxd_node_attribute(node, "axis") != NULL;
    return onnxd_attribute_int(node, "axis", -ONNXD_MAX_RANK, ONNXD_MAX_RANK - 1, &p->axis);
}

static onnxd_status *parse_contrib(const onnxd_node *node, int64_t opset, onnxd_arena *arena,
                                   void *params)
{
    (void)opset, (void)arena;
    static const char *const none[] = {NULL};
    unique_params *p = params;
    p->is_contrib = true;
    return onnxd_attributes_allow(node, none);
}

static onnxd_status *infer(onnxd_infer *infer)
{
    const unique_params *p = infer->params;
    const onnxd_shape *input = &infer->inputs[0].shape;
    if (p->is_contrib && input->rank != ONNXD_RANK_UNKNOWN && input->rank != 1)
        return onnxd_op_error(infer->node, "input 0 has rank %" PRId32 ", it must be a vector",
                              input->rank);
    for (uint32_t i = 0; i < infer->output_count; i++) {
        if (!onnxd_op_has_output(infer->node, i))
            continue;
        infer->outputs[i].dtype = i == VALUES ? infer->inputs[0].dtype : ONNXD_INT64;
        if (i != VALUES || !p->has_axis)
            infer->outputs[i].shape = onnxd_shape_of_rank(1);
    }
    if (!p->has_axis || input->rank < 0)
        return NULL;
    int32_t axis;
    ONNXD_TRY(onnxd_op_axis(infer->node, "attribute 'axis'", p->axis, input->rank, &axis));
    if (onnxd_op_has_output(infer->node, VALUES)) {
        infer->outputs[VALUES].shape = *input;
        infer->outputs[VALUES].shape.dims[axis] = ONNXD_DIM_UNKNOWN;
    }
    return NULL;
}

/* One call: the input as [outer, dim, inner], and its `group_count` groups of equal slices. */
typedef struct unique_call {
    onnxd_dynamic *dynamic;
    const onnxd_tensor *input;
    int32_t axis; /* -1: flattened */
    size_t outer, dim, inner;
    onnxd_tensor *slices;  /* the input as [dim, outer, inner], where that is another order */
    onnxd_tensor *scratch; /* of the arrays below */
    int64_t *first;        /* [group_count] position of the first slice of each group */
    int64_t *group;        /* [dim] of each slice */
    int64_t *count;        /* [group_count] slices in each group */
    size_t group_count;
} unique_call;

static onnxd_status *measure(unique_call *c)
{
    const unique_params *p = c->dynamic->params;
    const onnxd_shape *shape = &c->input->shape;
    *c = (unique_call){.dynamic = c->dynamic, .input = c->input, .axis = -1};
    c->outer = c->inner = 1;
    c->dim = c->input->count;
    if (!p->has_axis)
        return NULL;
    ONNXD_TRY(onnxd_op_axis(c->dynamic->node, "attribute 'axis'", p->axis, shape->rank, &c->axis));
    c->dim = (size_t)shape->dims[c->axis];
    ONNXD_TRY(onnxd_op_around_axis(c->dynamic->node, shape, c->axis, &c->outer, &c->inner));
    return NULL;
}

/* The slices one after the other; borrowed from the input where they lie so. */
static onnxd_status *gather_slices(unique_call *c, const void **out_data)
{
    *out_data = c->input->data;
    if (c->outer == 1)
        return NULL;
    const onnxd_run_env *env = c->dynamic->env;
    int64_t outer = (int64_t)c->outer, dim = (int64_t)c->dim, inner = (int64_t)c->inner;
    onnxd_shape shape = {.rank = 3, .dims = {dim, outer, inner}};
    const int64_t strides[ONNXD_MAX_RANK] = {inner, dim * inner, 1};
    ONNXD_TRY(env->allocate(env, c->input->dtype, &shape, &c->slices));
    onnxd_move_contiguous(&shape, strides, onnxd_dtype_size(c->input->dtype), c->slices->data,
                          c->input->data);
    *out_data = c->slices->data;
    return NULL;
}

/* Numbers the groups in the order of their first slices. `renamed` has room for group_count. */
static void order_by_occurrence(unique_call *c, int64_t *renamed)
{
    int64_t next = 0;
    for (size_t i = 0; i < c->dim; i++)
        if (c->first[c->group[i]] == (int64_t)i)
            renamed[c->group[i]] = next++;
    for (size_t i = 0; i < c->dim; i++)
        c->group[i] = renamed[c->group[i]];
    memset(c->count, 0, c->group_count * sizeof(*c->count));
    for (size_t i = c->dim; i-- > 0;) {
        c->first[c->group[i]] = (int64_t)i;
        c->count[c->group[i]]++;
    }
}

static onnxd_status *find_groups(unique_call *c)
{
    const unique_params *p = c->dynamic->params;
    const onnxd_run_env *env = c->dynamic->env;
    size_t slice = c->outer * c->inner, bytes = slice * onnxd_dtype_size(c->input->dtype);
    onnxd_compare compare = onnxd_compare_of(c->input->dtype);
    onnxd_shape shape = {.rank = 2, .dims = {5, (int64_t)c->dim}};
    const void *data;
    ONNXD_TRY(gather_slices(c, &data));
    ONNXD_TRY(env->allocate(env, ONNXD_INT64, &shape, &c->scratch));
    int64_t *order = c->scratch->data, *spare = order + c->dim;
    c->first = spare + c->dim;
    c->group = c->first + c->dim;
    c->count = c->group + c->dim;
    for (size_t i = 0; i < c->dim; i++)
        order[i] = (int64_t)i;
    ONNXD_TRY(onnxd_sort_positions(env, order, spare, c->dim, compare, data, slice, bytes));
    for (size_t i = 0, compared = 0; i < c->dim; i++, compared += slice) {
        if (compared >= CHECK_EVERY) {
            compared = 0;
            ONNXD_TRY(env->check(env));
        }
        const char *at = (const char *)data + (size_t)order[i] * bytes;
        if (i == 0 || compare((const char *)data + (size_t)order[i - 1] * bytes, at, slice) != 0) {
            c->first[c->group_count] = order[i];
            c->count[c->group_count++] = 0;
        }
        c->group[order[i]] = (int64_t)c->group_count - 1;
        c->count[c->group_count - 1]++;
    }
    if (!p->is_sorted)
        order_by_occurrence(c, spare);
    return NULL;
}

static onnxd_status *publish_values(const unique_call *c)
{
    const onnxd_run_env *env = c->dynamic->env;
    onnxd_shape shape = {.rank = 1};
    int32_t axis = 0;
    if (c->axis >= 0) {
        shape = c->input->shape;
        axis = c->axis;
    }
    shape.dims[axis] = (int64_t)c->group_count;
    onnxd_tensor *output;
    ONNXD_TRY(env->allocate(env, c->input->dtype, &shape, &output));
    size_t block = c->inner * onnxd_dtype_size(c->input->dtype);
    const char *from = c->input->data;
    char *to = output->data;
    for (size_t o = 0; o < c->outer && output->count != 0; o++, from += c->dim * block)
        for (size_t i = 0; i < c->group_count; i++, to += block)
            memcpy(to, from + (size_t)c->first[i] * block, block);
    return onnxd_publish_output(c->dynamic, VALUES, output);
}

/* `values` of NULL stands for zeros. */
static onnxd_status *publish_list(const unique_call *c, uint32_t index, const int64_t *values,
                                  size_t count)
{
    const onnxd_run_env *env = c->dynamic->env;
    onnxd_shape shape = {.rank = 1, .dims = {(int64_t)count}};
    onnxd_tensor *output;
    if (!onnxd_op_has_output(c->dynamic->node, index))
        return NULL;
    ONNXD_TRY(env->allocate(env, ONNXD_INT64, &shape, &output));
    if (count != 0 && values != NULL)
        memcpy(output->data, values, count * sizeof(*values));
    else if (count != 0)
        memset(output->data, 0, count * sizeof(*values));
    return onnxd_publish_output(c->dynamic, index, output);
}

static onnxd_status *publish(unique_call *c)
{
    const unique_params *p = c->dynamic->params;
    uint32_t omitted = p->is_contrib ? 1 : 0;
    if (onnxd_op_has_output(c->dynamic->node, VALUES))
        ONNXD_TRY(publish_values(c));
    if (!p->is_contrib)
        ONNXD_TRY(publish_list(c, INDICES, c->first, c->group_count));
    ONNXD_TRY(publish_list(c, INVERSE - omitted, c->group, c->dim));
    return publish_list(c, COUNTS - omitted, c->count, c->group_count);
}

static onnxd_status *run(onnxd_dynamic *dynamic)
{
    unique_call call = {.dynamic = dynamic, .input = dynamic->inputs[0]->tensor};
    int64_t zero = 0, all;
    onnxd_status *status = measure(&call);
    if (status != NULL)
        goto done;
    if (call.input->count == 0 && call.dim != 0) {
        /* Slices without elements are all equal, however many there are. */
        all = (int64_t)call.dim;
        call.first = &zero;
        call.count = &all;
        call.group_count = 1;
    } else {
        status = find_groups(&call);
    }
    if (status == NULL)
        status = publish(&call);
done:
    onnxd_tensor_release(call.slices);
    onnxd_tensor_release(call.scratch);
    return status;
}

#define ROW(first_opset, last_opset, set)                                                          \
    {                                                                                              \
        .op_type = "Unique", .domain = "", .since = first_opset, .until = last_opset,              \
        .min_inputs = 1, .max_inputs = 1, .min_outputs = 1, .max_outputs = 4,                      \
        .inputs = {{.types = set, .type_variable = 1}},                                            \
        .outputs = {{.types = set, .type_variable = 1},                                            \
                    {.types = ONNXD_SET(INT64), .is_optional = true},                              \
                    {.types = ONNXD_SET(INT64), .is_optional = true},                              \
                    {.types = ONNXD_SET(INT64), .is_optional = true}},                             \
        .params_bytes = sizeof(unique_params), .parse = parse, .infer = infer, .run = run          \
    }

const onnxd_op_def onnxd_op_unique[] = {
    ROW(11, 27, ONNXD_SET_ANY_1),
    ROW(28, ONNXD_OPSET_MAX, ONNXD_SET_ANY_13),
    {.op_type = "Unique",
     .domain = "com.microsoft",
     .since = 1,
     .until = 1,
     .min_inputs = 1,
     .max_inputs = 1,
     .min_outputs = 3,
     .max_outputs = 3,
     .inputs = {{.types = ONNXD_SET_ANY_1, .type_variable = 1}},
     .outputs = {{.types = ONNXD_SET_ANY_1, .type_variable = 1},
                 {.types = ONNXD_SET(INT64)},
                 {.types = ONNXD_SET(INT64)}},
     .params_bytes = sizeof(unique_params),
     .parse = parse_contrib,
     .infer = infer,
     .run = run},
    {.op_type = NULL},
};
