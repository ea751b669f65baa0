/*
 * Element by element from one set of values to another: LabelEncoder and CategoryMapper. The keys
 * are sorted once; an element that is none of them becomes the default.
 */
#include <string.h>

#include "ops/ml/keys.h"
#include "ops/ml/ml.h"
#include "ops/ops.h"

typedef struct mapping {
    onnxd_ml_keys keys;
    onnxd_dtype dtype; /* of the values */
    const void *values;
    union {
        char bytes[16];
        int64_t i64;
        float f32;
        double f64;
        onnxd_string string;
    } missing;
} mapping;

/* A list of keys or values, from an attribute of whatever kind. */
typedef struct list {
    onnxd_dtype dtype; /* UNDEFINED: the node has none */
    const void *data;
    size_t count;
} list;

typedef struct mapping_params {
    mapping of_text, of_number; /* keys NULL: inputs of that kind are not mapped */
} mapping_params;

static onnxd_status *strings_list(const onnxd_node *node, const char *name, onnxd_arena *arena,
                                  list *out)
{
    const onnxd_text *texts = NULL;
    ONNXD_TRY(onnxd_attribute_string_list(node, name, &texts, &out->count));
    if (onnxd_node_attribute(node, name) == NULL)
        return NULL;
    out->dtype = ONNXD_STRING;
    out->data = onnxd_ml_strings_of(texts, out->count, arena);
    return out->data != NULL
               ? NULL
               : onnxd_error_out_of_memory(name, out->count * sizeof(onnxd_string), UINT64_MAX);
}

/* ---- LabelEncoder -------------------------------------------------------------------------- */

#define LABEL_TYPES_2 (ONNXD_SET(STRING) | ONNXD_SET(INT64) | ONNXD_SET(FLOAT))
#define LABEL_TYPES_4 (LABEL_TYPES_2 | ONNXD_SET(INT32) | ONNXD_SET(INT16) | ONNXD_SET(DOUBLE))

static onnxd_status *tensor_list(const onnxd_node *node, const char *name, list *out)
{
    const onnxd_tensor *tensor = NULL;
    ONNXD_TRY(onnxd_attribute_tensor(node, name, &tensor));
    if (tensor == NULL)
        return NULL;
    if (((LABEL_TYPES_4 >> tensor->dtype) & 1) == 0 || tensor->shape.rank > 1) {
        char allowed[ONNXD_DTYPE_SET_TEXT];
        return onnxd_op_error(
            node, "attribute '%s' has type %s and rank %d, allowed are rank 0 or 1 and %s", name,
            onnxd_dtype_name(tensor->dtype), (int)tensor->shape.rank,
            onnxd_dtype_set_format(LABEL_TYPES_4, allowed, sizeof(allowed)));
    }
    *out = (list){tensor->dtype, tensor->data, tensor->count};
    return NULL;
}

/* The one attribute of <side>_int64s, _strings, _floats and _tensor that the node has. */
static onnxd_status *read_side(const onnxd_node *node, const char *const *names, onnxd_arena *arena,
                               list *out)
{
    list lists[4] = {{.dtype = ONNXD_UNDEFINED}};
    const int64_t *integers = NULL;
    const float *floats = NULL;
    int given = 0;
    ONNXD_TRY(onnxd_attribute_int_list(node, names[0], &integers, &lists[0].count));
    ONNXD_TRY(onnxd_attribute_float_list(node, names[2], &floats, &lists[2].count));
    if (onnxd_node_attribute(node, names[0]) != NULL)
        lists[0] = (list){ONNXD_INT64, integers, lists[0].count};
    ONNXD_TRY(strings_list(node, names[1], arena, &lists[1]));
    if (onnxd_node_attribute(node, names[2]) != NULL)
        lists[2] = (list){ONNXD_FLOAT, floats, lists[2].count};
    ONNXD_TRY(tensor_list(node, names[3], &lists[3]));
    for (int i = 0; i < 4; i++)
        if (lists[i].dtype != ONNXD_UNDEFINED) {
            *out = lists[i];
            given++;
        }
    if (given != 1)
        return onnxd_op_error(node,
                              "%d of the attributes '%s', '%s', '%s' and '%s' are given, "
                              "exactly one is needed",
                              given, names[0], names[1], names[2], names[3]);
    return NULL;
}

static onnxd_status *read_default(const onnxd_node *node, mapping *m)
{
    const onnxd_tensor *tensor = NULL;
    onnxd_text text = {"_Unused", 7};
    /* The default of another type than the values' is not read. */
    ONNXD_TRY(onnxd_attribute_check_kind(node, "default_float", ONNXD_ATTRIBUTE_FLOAT));
    ONNXD_TRY(onnxd_attribute_check_kind(node, "default_int64", ONNXD_ATTRIBUTE_INT));
    ONNXD_TRY(onnxd_attribute_check_kind(node, "default_string", ONNXD_ATTRIBUTE_STRING));
    ONNXD_TRY(onnxd_attribute_tensor(node, "default_tensor", &tensor));
    if (tensor != NULL) {
        if (tensor->dtype != m->dtype || tensor->count != 1)
            return onnxd_op_error(node,
                                  "attribute 'default_tensor' has %zu elements of type %s, one of "
                                  "type %s is needed",
                                  tensor->count, onnxd_dtype_name(tensor->dtype),
                                  onnxd_dtype_name(m->dtype));
        memcpy(m->missing.bytes, tensor->data, onnxd_dtype_size(m->dtype));
        return NULL;
    }
    if (m->dtype == ONNXD_INT64) {
        m->missing.i64 = -1;
        return onnxd_attribute_int(node, "default_int64", INT64_MIN, INT64_MAX, &m->missing.i64);
    }
    if (m->dtype == ONNXD_FLOAT) {
        m->missing.f32 = -0.0f;
        return onnxd_attribute_float(node, "default_float", &m->missing.f32);
    }
    if (m->dtype == ONNXD_DOUBLE) {
        m->missing.f64 = -0.0;
        return NULL;
    }
    if (m->dtype != ONNXD_STRING) {
        /* The integers that only tensors can give: -1. */
        memset(m->missing.bytes, 0xff, sizeof(m->missing.bytes));
        return NULL;
    }
    ONNXD_TRY(onnxd_attribute_string(node, "default_string", &text));
    m->missing.string = (onnxd_string){text.data, text.size};
    return NULL;
}

static onnxd_status *parse_encoder(const onnxd_node *node, int64_t opset, onnxd_arena *arena,
                                   void *params)
{
    static const char *const allowed_2[] = {
        "default_float", "default_int64", "default_string", "keys_floats",    "keys_int64s",
        "keys_strings",  "values_floats", "values_int64s",  "values_strings", NULL};
    static const char *const allowed_4[] = {"default_float",
                                            "default_int64",
                                            "default_string",
                                            "default_tensor",
                                            "keys_floats",
                                            "keys_int64s",
                                            "keys_strings",
                                            "keys_tensor",
                                            "values_floats",
                                            "values_int64s",
                                            "values_strings",
                                            "values_tensor",
                                            NULL};
    static const char *const key_names[] = {"keys_int64s", "keys_strings", "keys_floats",
                                            "keys_tensor"};
    static const char *const value_names[] = {"values_int64s", "values_strings", "values_floats",
                                              "values_tensor"};
    mapping_params *p = params;
    list keys, values;
    ONNXD_TRY(onnxd_attributes_allow(node, opset < 4 ? allowed_2 : allowed_4));
    ONNXD_TRY(read_side(node, key_names, arena, &keys));
    ONNXD_TRY(read_side(node, value_names, arena, &values));
    if (keys.count != values.count)
        return onnxd_op_error(node, "there are %zu keys and %zu values", keys.count, values.count);
    mapping *m = keys.dtype == ONNXD_STRING ? &p->of_text : &p->of_number;
    m->dtype = values.dtype;
    m->values = values.data;
    ONNXD_TRY(read_default(node, m));
    return onnxd_ml_keys_make(keys.dtype, keys.data, keys.count, arena, &m->keys);
}

/* ---- strings and integers, both ways ------------------------------------------------------- */

/* `integers` and `texts` are equally long. */
static onnxd_status *map_both_ways(const onnxd_node *node, const int64_t *integers,
                                   const onnxd_string *texts, size_t count, onnxd_arena *arena,
                                   mapping_params *p)
{
    onnxd_text text = {"_Unused", 7};
    p->of_text.dtype = ONNXD_INT64;
    p->of_text.values = integers;
    p->of_text.missing.i64 = -1;
    p->of_number.dtype = ONNXD_STRING;
    p->of_number.values = texts;
    ONNXD_TRY(
        onnxd_attribute_int(node, "default_int64", INT64_MIN, INT64_MAX, &p->of_text.missing.i64));
    ONNXD_TRY(onnxd_attribute_string(node, "default_string", &text));
    p->of_number.missing.string = (onnxd_string){text.data, text.size};
    ONNXD_TRY(onnxd_ml_keys_make(ONNXD_STRING, texts, count, arena, &p->of_text.keys));
    return onnxd_ml_keys_make(ONNXD_INT64, integers, count, arena, &p->of_number.keys);
}

/* LabelEncoder of version 1: a class and its place in the list. */
static onnxd_status *parse_encoder_1(const onnxd_node *node, int64_t opset, onnxd_arena *arena,
                                     void *params)
{
    (void)opset;
    static const char *const names[] = {"classes_strings", "default_int64", "default_string", NULL};
    list texts = {.dtype = ONNXD_UNDEFINED};
    ONNXD_TRY(onnxd_attributes_allow(node, names));
    ONNXD_TRY(onnxd_attribute_require(node, "classes_strings"));
    ONNXD_TRY(strings_list(node, "classes_strings", arena, &texts));
    int64_t *places = onnxd_arena_alloc_zero(arena, texts.count + 1, sizeof(places[0]));
    if (places == NULL)
        return onnxd_error_out_of_memory("classes", texts.count * sizeof(places[0]), UINT64_MAX);
    for (size_t i = 0; i < texts.count; i++)
        places[i] = (int64_t)i;
    return map_both_ways(node, places, texts.data, texts.count, arena, params);
}

static onnxd_status *parse_categories(const onnxd_node *node, int64_t opset, onnxd_arena *arena,
                                      void *params)
{
    (void)opset;
    static const char *const names[] = {"cats_int64s", "cats_strings", "default_int64",
                                        "default_string", NULL};
    list texts = {.dtype = ONNXD_UNDEFINED};
    const int64_t *integers = NULL;
    size_t count = 0;
    ONNXD_TRY(onnxd_attributes_allow(node, names));
    ONNXD_TRY(onnxd_attribute_require(node, "cats_int64s"));
    ONNXD_TRY(onnxd_attribute_require(node, "cats_strings"));
    ONNXD_TRY(onnxd_attribute_int_list(node, "cats_int64s", &integers, &count));
    ONNXD_TRY(strings_list(node, "cats_strings", arena, &texts));
    if (count != texts.count)
        return onnxd_op_error(node,
                              "attribute 'cats_int64s' has %zu elements, 'cats_strings' has %zu",
                              count, texts.count);
    return map_both_ways(node, integers, texts.data, count, arena, params);
}

/* ---- all ----------------------------------------------------------------------------------- */

static const mapping *mapping_for(const mapping_params *p, onnxd_dtype dtype)
{
    const mapping *m = dtype == ONNXD_STRING ? &p->of_text : &p->of_number;
    const bool is_float = dtype == ONNXD_FLOAT || dtype == ONNXD_DOUBLE;
    return m->keys.sorted != NULL && m->keys.is_float == is_float ? m : NULL;
}

static onnxd_status *infer(onnxd_infer *infer)
{
    const onnxd_dtype dtype = infer->inputs[0].dtype;
    infer->outputs[0].shape = infer->inputs[0].shape;
    if (dtype == ONNXD_UNDEFINED)
        return NULL;
    const mapping *m = mapping_for(infer->params, dtype);
    if (m == NULL)
        return onnxd_op_error(infer->node, "the input has type %s, for which there are no keys",
                              onnxd_dtype_name(dtype));
    infer->outputs[0].dtype = m->dtype;
    return NULL;
}

static onnxd_status *compute(const onnxd_compute *compute)
{
    const onnxd_tensor_view *input = &compute->inputs[0];
    const mapping *m = mapping_for(compute->params, input->dtype);
    const size_t count = onnxd_tensor_view_count(input), bytes = onnxd_dtype_size(m->dtype);
    const void *in = onnxd_tensor_view_data(input);
    char *out = onnxd_tensor_view_data(&compute->outputs[0]);
    for (size_t i = 0; i < count; i++, out += bytes) {
        const uint32_t place = onnxd_ml_keys_find(&m->keys, input->dtype, in, i);
        memcpy(out,
               place == ONNXD_ML_NOT_FOUND ? m->missing.bytes
                                           : (const char *)m->values + place * bytes,
               bytes);
    }
    return NULL;
}

#define ROW(name, first, last, set, parse_function)                                                \
    {                                                                                              \
        .op_type = name, .domain = ONNXD_ML_DOMAIN, .since = first, .until = last,                 \
        .min_inputs = 1, .max_inputs = 1, .min_outputs = 1, .max_outputs = 1,                      \
        .inputs = {{.types = set}}, .outputs = {{.types = set}},                                   \
        .params_bytes = sizeof(mapping_params), .parse = parse_function, .infer = infer,           \
        .compute = compute                                                                         \
    }
#define TEXT_OR_INTEGER (ONNXD_SET(STRING) | ONNXD_SET(INT64))

const onnxd_op_def onnxd_op_mapping[] = {
    ROW("LabelEncoder", 1, 1, TEXT_OR_INTEGER, parse_encoder_1),
    ROW("LabelEncoder", 2, 3, LABEL_TYPES_2, parse_encoder),
    ROW("LabelEncoder", 4, ONNXD_ML_OPSET_MAX, LABEL_TYPES_4, parse_encoder),
    ROW("CategoryMapper", 1, ONNXD_ML_OPSET_MAX, TEXT_OR_INTEGER, parse_categories),
    {.op_type = NULL},
};
