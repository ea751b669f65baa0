#include "graph/shape_values.h"

#include <string.h>

#include "base/alloc.h"
#include "base/size_math.h"
#include "graph/rewrite.h"

#define ARENA_BLOCK_BYTES ((size_t)16 << 10)
#define ARENA_MAX_BYTES ((size_t)16 << 20)

onnxd_status *onnxd_shape_values_init(onnxd_shape_values *v, const onnxd_derivation *types)
{
    *v = (onnxd_shape_values){.types = types};
    onnxd_arena_init(&v->arena, ARENA_BLOCK_BYTES, ARENA_MAX_BYTES);
    void *lists = onnxd_alloc_zero(types->capacity, sizeof(onnxd_element_list *));
    v->lists = lists;
    if (lists == NULL)
        return onnxd_error_out_of_memory(
            "values of shapes", types->capacity * sizeof(onnxd_element_list *), UINT64_MAX);
    return NULL;
}

void onnxd_shape_values_deinit(onnxd_shape_values *v)
{
    union {
        const onnxd_element_list **typed;
        void *memory;
    } lists = {.typed = v->lists};
    onnxd_free(lists.memory);
    onnxd_arena_deinit(&v->arena);
    v->lists = NULL;
}

/* ---- lists ----------------------------------------------------------------------------------- */

static const onnxd_element unknown = {ONNXD_ELEMENT_UNKNOWN, 0};

static onnxd_element number(int64_t value)
{
    return (onnxd_element){ONNXD_ELEMENT_NUMBER, value};
}

static bool is_number(onnxd_element e, int64_t value)
{
    return e.kind == ONNXD_ELEMENT_NUMBER && e.value == value;
}

/* All unknown. NULL: too long, or the arena is full. */
static onnxd_element_list *make(onnxd_shape_values *v, size_t count)
{
    if (count > ONNXD_ELEMENTS_MAX)
        return NULL;
    onnxd_element_list *list =
        onnxd_arena_alloc_zero(&v->arena, 1, sizeof(*list) + count * sizeof(list->elements[0]));
    if (list != NULL)
        list->count = count;
    return list;
}

static const onnxd_element_list *of_constant(onnxd_shape_values *v, const onnxd_tensor *tensor)
{
    int64_t elements[ONNXD_ELEMENTS_MAX];
    size_t count = tensor->count;
    if (tensor->shape.rank > 1 || count > ONNXD_ELEMENTS_MAX)
        return NULL;
    if (tensor->dtype == ONNXD_BOOL) {
        for (size_t i = 0; i < count; i++)
            elements[i] = ((const unsigned char *)tensor->data)[i] != 0;
    } else if (!onnxd_tensor_read_ints(tensor, ONNXD_ELEMENTS_MAX, elements, &count)) {
        return NULL;
    }
    onnxd_element_list *list = make(v, count);
    for (size_t i = 0; list != NULL && i < count; i++)
        list->elements[i] = number(elements[i]);
    return list;
}

const onnxd_element_list *onnxd_shape_values_of(onnxd_shape_values *v, onnxd_value_id value)
{
    if (value == ONNXD_NONE)
        return NULL;
    const onnxd_tensor *constant = v->types->graph->values[value].constant;
    if (v->lists[value] == NULL && constant != NULL)
        v->lists[value] = of_constant(v, constant);
    return v->lists[value];
}

static const onnxd_element_list *input_of(onnxd_shape_values *v, const onnxd_node *node,
                                          uint32_t index)
{
    return index < node->input_count ? onnxd_shape_values_of(v, node->inputs[index]) : NULL;
}

static const onnxd_shape *shape_of(const onnxd_shape_values *v, onnxd_value_id value)
{
    return &v->types->types[value].shape;
}

/* ---- nodes ----------------------------------------------------------------------------------- */

static const onnxd_element_list *of_shape(onnxd_shape_values *v, const onnxd_node *node)
{
    const onnxd_shape *shape = shape_of(v, node->inputs[0]);
    const onnxd_attribute *bounds[] = {onnxd_node_attribute(node, "start"),
                                       onnxd_node_attribute(node, "end")};
    if (shape->rank == ONNXD_RANK_UNKNOWN)
        return NULL;
    int64_t range[] = {0, shape->rank};
    for (int i = 0; i < 2; i++) {
        if (bounds[i] == NULL)
            continue;
        const int64_t bound = bounds[i]->value.i, from_end = bound + (bound < 0 ? shape->rank : 0);
        range[i] = from_end < 0 ? 0 : from_end > shape->rank ? shape->rank : from_end;
    }
    onnxd_element_list *list = make(v, range[1] > range[0] ? (size_t)(range[1] - range[0]) : 0);
    for (size_t i = 0; list != NULL && i < list->count; i++) {
        const int64_t dim = shape->dims[range[0] + (int64_t)i];
        list->elements[i] = (onnxd_element){onnxd_dim_is_static(dim)   ? ONNXD_ELEMENT_NUMBER
                                            : onnxd_dim_is_symbol(dim) ? ONNXD_ELEMENT_EXTENT
                                                                       : ONNXD_ELEMENT_UNKNOWN,
                                            dim};
    }
    return list;
}

/* Of a list there is but one axis. */
static const onnxd_element_list *of_gather(onnxd_shape_values *v, const onnxd_node *node)
{
    const onnxd_element_list *data = input_of(v, node, 0), *indices = input_of(v, node, 1);
    if (data == NULL || indices == NULL || shape_of(v, node->inputs[0])->rank != 1)
        return NULL;
    onnxd_element_list *list = make(v, indices->count);
    const int64_t length = (int64_t)data->count;
    for (size_t i = 0; list != NULL && i < list->count; i++) {
        const onnxd_element at = indices->elements[i];
        if (at.kind == ONNXD_ELEMENT_NUMBER && at.value >= -length && at.value < length)
            list->elements[i] = data->elements[at.value + (at.value < 0 ? length : 0)];
    }
    return list;
}

static int64_t clamp(int64_t value, int64_t length)
{
    const int64_t from_start = value < 0 ? value + length : value;
    return from_start < 0 ? 0 : from_start > length ? length : from_start;
}

/* In steps of 1. */
static const onnxd_element_list *of_slice(onnxd_shape_values *v, const onnxd_node *node)
{
    const onnxd_element_list *data = input_of(v, node, 0);
    const onnxd_graph *graph = v->types->graph;
    int64_t start, end, step = 1;
    size_t starts, ends, steps;
    if (data == NULL || shape_of(v, node->inputs[0])->rank != 1 ||
        !onnxd_node_read_ints(graph, node, 1, "starts", 1, &start, &starts) || starts != 1 ||
        !onnxd_node_read_ints(graph, node, 2, "ends", 1, &end, &ends) || ends != 1 ||
        !onnxd_node_read_ints(graph, node, 4, "steps", 1, &step, &steps) || step != 1)
        return NULL;
    const int64_t first = clamp(start, (int64_t)data->count);
    const int64_t last = clamp(end, (int64_t)data->count);
    onnxd_element_list *list = make(v, last > first ? (size_t)(last - first) : 0);
    if (list != NULL)
        memcpy(list->elements, data->elements + first, list->count * sizeof(list->elements[0]));
    return list;
}

static const onnxd_element_list *of_concat(onnxd_shape_values *v, const onnxd_node *node)
{
    size_t count = 0, at = 0;
    for (uint32_t i = 0; i < node->input_count; i++) {
        const onnxd_element_list *part = input_of(v, node, i);
        const onnxd_shape *shape =
            node->inputs[i] == ONNXD_NONE ? NULL : shape_of(v, node->inputs[i]);
        if (shape == NULL || shape->rank != 1 || !onnxd_dim_is_static(shape->dims[0]) ||
            shape->dims[0] > ONNXD_ELEMENTS_MAX || count > ONNXD_ELEMENTS_MAX)
            return NULL;
        count += part != NULL ? part->count : (size_t)shape->dims[0];
    }
    onnxd_element_list *list = make(v, count);
    for (uint32_t i = 0; list != NULL && i < node->input_count; i++) {
        const onnxd_element_list *part = input_of(v, node, i);
        if (part != NULL)
            memcpy(list->elements + at, part->elements, part->count * sizeof(list->elements[0]));
        at += part != NULL ? part->count : (size_t)shape_of(v, node->inputs[i])->dims[0];
    }
    return list;
}

/* The element as one of this type; an extent may pass those of INT32. */
static onnxd_element fitting(onnxd_dtype dtype, onnxd_element e)
{
    const bool fits = e.kind == ONNXD_ELEMENT_NUMBER && e.value == (int32_t)e.value;
    return dtype != ONNXD_INT32 || fits ? e : unknown;
}

/* From INT64, INT32 and BOOL. */
static const onnxd_element_list *of_cast(onnxd_shape_values *v, const onnxd_node *node)
{
    const onnxd_element_list *from = input_of(v, node, 0);
    const onnxd_dtype dtype = v->types->types[node->outputs[0]].dtype;
    if (from == NULL || (dtype != ONNXD_INT64 && dtype != ONNXD_INT32))
        return NULL;
    onnxd_element_list *list = make(v, from->count);
    for (size_t i = 0; list != NULL && i < list->count; i++)
        list->elements[i] = fitting(dtype, from->elements[i]);
    return list;
}

static const onnxd_element_list *of_same(onnxd_shape_values *v, const onnxd_node *node)
{
    return input_of(v, node, 0);
}

/* ---- element by element ---------------------------------------------------------------------- */

static bool are_numbers(const onnxd_element *e)
{
    return e[0].kind == ONNXD_ELEMENT_NUMBER && e[1].kind == ONNXD_ELEMENT_NUMBER;
}

static onnxd_element add(const onnxd_element *e)
{
    int64_t sum;
    if (is_number(e[0], 0) || is_number(e[1], 0))
        return is_number(e[0], 0) ? e[1] : e[0];
    return are_numbers(e) && onnxd_i64_add(e[0].value, e[1].value, &sum) ? number(sum) : unknown;
}

static onnxd_element subtract(const onnxd_element *e)
{
    if (is_number(e[1], 0))
        return e[0];
    if (!are_numbers(e) || e[1].value == INT64_MIN)
        return unknown;
    return add((const onnxd_element[]){e[0], number(-e[1].value)});
}

static onnxd_element multiply(const onnxd_element *e)
{
    int64_t product;
    if (is_number(e[0], 1) || is_number(e[1], 1))
        return is_number(e[0], 1) ? e[1] : e[0];
    return are_numbers(e) && onnxd_i64_mul(e[0].value, e[1].value, &product) ? number(product)
                                                                             : unknown;
}

static onnxd_element divide(const onnxd_element *e)
{
    if (is_number(e[1], 1))
        return e[0];
    return are_numbers(e) && e[1].value > 0 ? number(e[0].value / e[1].value) : unknown;
}

/* An extent is no negative number. */
static onnxd_element equal(const onnxd_element *e)
{
    bool has_extent = false, has_negative = false;
    for (int i = 0; i < 2; i++) {
        has_extent |= e[i].kind == ONNXD_ELEMENT_EXTENT;
        has_negative |= e[i].kind == ONNXD_ELEMENT_NUMBER && e[i].value < 0;
    }
    if (are_numbers(e))
        return number(e[0].value == e[1].value);
    if (has_extent && e[0].kind == e[1].kind && e[0].value == e[1].value)
        return number(1);
    return has_extent && has_negative ? number(0) : unknown;
}

static onnxd_element choose(const onnxd_element *e)
{
    if (e[0].kind != ONNXD_ELEMENT_NUMBER)
        return unknown;
    return e[0].value != 0 ? e[1] : e[2];
}

#define MAX_OPERANDS 3

/* Of lists that are broadcast against each other. */
static const onnxd_element_list *combine(onnxd_shape_values *v, const onnxd_node *node,
                                         uint32_t operand_count,
                                         onnxd_element (*function)(const onnxd_element *operands))
{
    const onnxd_dtype dtype = v->types->types[node->outputs[0]].dtype;
    const onnxd_element_list *inputs[MAX_OPERANDS];
    size_t count = 1;
    for (uint32_t k = 0; k < operand_count; k++) {
        inputs[k] = input_of(v, node, k);
        if (inputs[k] == NULL || (count != 1 && inputs[k]->count != 1 && inputs[k]->count != count))
            return NULL;
        count = inputs[k]->count != 1 ? inputs[k]->count : count;
    }
    onnxd_element_list *list = make(v, count);
    for (size_t i = 0; list != NULL && i < count; i++) {
        onnxd_element operands[MAX_OPERANDS];
        for (uint32_t k = 0; k < operand_count; k++)
            operands[k] = inputs[k]->elements[inputs[k]->count == 1 ? 0 : i];
        list->elements[i] = fitting(dtype, function(operands));
    }
    return list;
}

/* ---- the step -------------------------------------------------------------------------------- */

/* Of each either the function of the node or that of its elements. */
static const struct {
    const char *op_type;
    const onnxd_element_list *(*read)(onnxd_shape_values *v, const onnxd_node *node);
    onnxd_element (*function)(const onnxd_element *operands);
    uint32_t operand_count;
} rows[] = {
    {"Add", NULL, add, 2},          {"Cast", of_cast, NULL, 0},      {"Concat", of_concat, NULL, 0},
    {"Div", NULL, divide, 2},       {"Equal", NULL, equal, 2},       {"Gather", of_gather, NULL, 0},
    {"Identity", of_same, NULL, 0}, {"Mul", NULL, multiply, 2},      {"Reshape", of_same, NULL, 0},
    {"Shape", of_shape, NULL, 0},   {"Slice", of_slice, NULL, 0},    {"Squeeze", of_same, NULL, 0},
    {"Sub", NULL, subtract, 2},     {"Unsqueeze", of_same, NULL, 0}, {"Where", NULL, choose, 3},
};

void onnxd_shape_values_step(onnxd_shape_values *v, const onnxd_node *node)
{
    if (node->is_removed || node->def == NULL || node->domain[0] != '\0' ||
        node->output_count != 1 || node->outputs[0] == ONNXD_NONE || node->input_count == 0 ||
        node->inputs[0] == ONNXD_NONE)
        return;
    const onnxd_tensor_type *type = &v->types->types[node->outputs[0]];
    const bool has_integers =
        type->dtype == ONNXD_INT64 || type->dtype == ONNXD_INT32 || type->dtype == ONNXD_BOOL;
    if (type->kind != ONNXD_VALUE_TENSOR || !has_integers || type->shape.rank < 0 ||
        type->shape.rank > 1)
        return;
    for (size_t i = 0; i < ONNXD_COUNT(rows); i++)
        if (strcmp(rows[i].op_type, node->op_type) == 0)
            v->lists[node->outputs[0]] =
                rows[i].function != NULL ? combine(v, node, rows[i].operand_count, rows[i].function)
                                         : rows[i].read(v, node);
}
