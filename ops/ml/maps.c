/* Maps and tensors: ZipMap, DictVectorizer and CastMap. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/number.h"
#include "ops/choice.h"
#include "ops/convert.h"
#include "ops/ml/keys.h"
#include "ops/ml/ml.h"
#include "ops/ops.h"

static onnxd_status *give(onnxd_dynamic *dynamic, onnxd_tensor *tensor)
{
    onnxd_status *status = onnxd_datum_of_tensor(tensor, &dynamic->outputs[0]);
    onnxd_tensor_release(tensor);
    return status;
}

/* ---- ZipMap -------------------------------------------------------------------------------- */

typedef struct zip_params {
    onnxd_ml_labels labels;
} zip_params;

static onnxd_status *parse_zip(const onnxd_node *node, int64_t opset, onnxd_arena *arena,
                               void *params)
{
    (void)opset, (void)arena;
    static const char *const names[] = {"classlabels_int64s", "classlabels_strings", NULL};
    zip_params *p = params;
    ONNXD_TRY(onnxd_attributes_allow(node, names));
    ONNXD_TRY(
        onnxd_ml_parse_labels(node, "classlabels_int64s", "classlabels_strings", true, &p->labels));
    /* Rows without elements could be any number of maps. */
    return p->labels.count > 0 ? NULL : onnxd_op_error(node, "there are no class labels");
}

static onnxd_status *infer_zip(onnxd_infer *infer)
{
    infer->outputs[0].dtype = ONNXD_FLOAT;
    infer->outputs[0].kind = ONNXD_VALUE_SEQUENCE_OF_MAPS;
    return NULL;
}

static onnxd_status *make_keys(const onnxd_ml_labels *labels, onnxd_tensor **out_keys)
{
    const onnxd_shape shape = {.rank = 1, .dims = {(int64_t)labels->count}};
    if (labels->texts != NULL) {
        onnxd_string *texts = onnxd_alloc_zero(labels->count, sizeof(texts[0]));
        if (texts == NULL)
            return onnxd_error_out_of_memory("class labels", labels->count * sizeof(texts[0]),
                                             UINT64_MAX);
        for (size_t i = 0; i < labels->count; i++)
            texts[i] = (onnxd_string){labels->texts[i].data, labels->texts[i].size};
        onnxd_status *status = onnxd_tensor_create_strings(&shape, texts, out_keys);
        onnxd_free(texts);
        return status;
    }
    ONNXD_TRY(onnxd_tensor_create(ONNXD_INT64, &shape, out_keys));
    if (labels->count > 0)
        memcpy((*out_keys)->data, labels->integers, labels->count * sizeof(int64_t));
    return NULL;
}

static onnxd_status *make_map(onnxd_dynamic *dynamic, onnxd_tensor *keys, const float *values,
                              onnxd_datum **out_map)
{
    onnxd_tensor *row;
    ONNXD_TRY(dynamic->env->allocate(dynamic->env, ONNXD_FLOAT, &keys->shape, &row));
    if (row->bytes > 0)
        memcpy(row->data, values, row->bytes);
    onnxd_status *status = onnxd_datum_of_map(keys, row, out_map);
    onnxd_tensor_release(row);
    return status;
}

static onnxd_status *run_zip(onnxd_dynamic *dynamic)
{
    const zip_params *p = dynamic->params;
    const onnxd_tensor *input = dynamic->inputs[0]->tensor;
    onnxd_tensor *keys = NULL;
    onnxd_datum **maps = NULL;
    onnxd_status *status = NULL;
    if (input->shape.rank > 2)
        return onnxd_op_error(dynamic->node, "the input has rank %d, at most 2 is allowed",
                              (int)input->shape.rank);
    const onnxd_ml_rows rows = onnxd_ml_rows_of(&input->shape);
    if (rows.width != p->labels.count)
        return onnxd_op_error(dynamic->node, "the input has %zu columns for %zu class labels",
                              rows.width, p->labels.count);
    maps = onnxd_alloc_zero(rows.count, sizeof(onnxd_datum *));
    if (maps == NULL)
        return onnxd_error_out_of_memory("maps", rows.count * sizeof(onnxd_datum *), UINT64_MAX);
    status = make_keys(&p->labels, &keys);
    for (size_t r = 0; r < rows.count && status == NULL; r++)
        status = make_map(dynamic, keys, (const float *)input->data + r * rows.width, &maps[r]);
    if (status == NULL)
        status = onnxd_datum_of_items(ONNXD_VALUE_SEQUENCE_OF_MAPS, ONNXD_FLOAT, maps, rows.count,
                                      &dynamic->outputs[0]);
    for (size_t r = 0; r < rows.count; r++)
        onnxd_datum_release(maps[r]);
    onnxd_free(maps);
    onnxd_tensor_release(keys);
    return status;
}

/* ---- DictVectorizer ------------------------------------------------------------------------ */

typedef struct dict_params {
    onnxd_ml_keys keys;
    int64_t count;
} dict_params;

static onnxd_status *parse_dict(const onnxd_node *node, int64_t opset, onnxd_arena *arena,
                                void *params)
{
    (void)opset;
    static const char *const names[] = {"int64_vocabulary", "string_vocabulary", NULL};
    dict_params *p = params;
    onnxd_ml_labels labels = {.count = 0};
    ONNXD_TRY(onnxd_attributes_allow(node, names));
    ONNXD_TRY(onnxd_ml_parse_labels(node, "int64_vocabulary", "string_vocabulary", true, &labels));
    const void *list = labels.integers;
    if (labels.texts != NULL)
        list = onnxd_ml_strings_of(labels.texts, labels.count, arena);
    if (list == NULL && labels.count > 0)
        return onnxd_error_out_of_memory("a vocabulary", labels.count * sizeof(onnxd_string),
                                         UINT64_MAX);
    p->count = (int64_t)labels.count;
    return onnxd_ml_keys_make(onnxd_ml_label_dtype(&labels), list, labels.count, arena, &p->keys);
}

static onnxd_status *infer_dict(onnxd_infer *infer)
{
    const dict_params *p = infer->params;
    infer->outputs[0].dtype = infer->inputs[0].dtype;
    infer->outputs[0].shape = onnxd_shape_of_rank(2);
    infer->outputs[0].shape.dims[0] = 1;
    infer->outputs[0].shape.dims[1] = p->count;
    return NULL;
}

/* What a key that the map lacks has: zero, or an empty string, is all zero bytes. */
static onnxd_status *run_dict(onnxd_dynamic *dynamic)
{
    const dict_params *p = dynamic->params;
    const onnxd_datum *map = dynamic->inputs[0];
    const onnxd_shape shape = {.rank = 2, .dims = {1, p->count}};
    const size_t bytes = onnxd_dtype_size(map->tensor->dtype);
    onnxd_tensor *output;
    if ((map->keys->dtype == ONNXD_STRING) != p->keys.is_text)
        return onnxd_op_error(dynamic->node,
                              "the keys of the map are %s, those of the vocabulary "
                              "%s",
                              p->keys.is_text ? "integers" : "strings",
                              p->keys.is_text ? "strings" : "integers");
    ONNXD_TRY(dynamic->env->allocate(dynamic->env, map->tensor->dtype, &shape, &output));
    if (output->bytes > 0)
        memset(output->data, 0, output->bytes);
    for (size_t i = 0; i < map->keys->count; i++) {
        const uint32_t place = onnxd_ml_keys_find(&p->keys, map->keys->dtype, map->keys->data, i);
        if (place != ONNXD_ML_NOT_FOUND)
            memcpy((char *)output->data + place * bytes,
                   (const char *)map->tensor->data + i * bytes, bytes);
    }
    return give(dynamic, output);
}

/* ---- CastMap ------------------------------------------------------------------------------- */

typedef struct cast_params {
    onnxd_dtype dtype;
    bool is_sparse;
    int64_t max_map;
} cast_params;

static onnxd_status *parse_cast(const onnxd_node *node, int64_t opset, onnxd_arena *arena,
                                void *params)
{
    (void)opset, (void)arena;
    static const char *const names[] = {"cast_to", "map_form", "max_map", NULL};
    static const char *const types[] = {"TO_FLOAT", "TO_STRING", "TO_INT64"};
    static const char *const forms[] = {"DENSE", "SPARSE"};
    static const onnxd_dtype dtypes[] = {ONNXD_FLOAT, ONNXD_STRING, ONNXD_INT64};
    cast_params *p = params;
    size_t type = 0, form = 0;
    ONNXD_TRY(onnxd_attributes_allow(node, names));
    ONNXD_TRY(onnxd_op_choice(node, "cast_to", types, ONNXD_COUNT(types), &type));
    ONNXD_TRY(onnxd_op_choice(node, "map_form", forms, ONNXD_COUNT(forms), &form));
    p->dtype = dtypes[type];
    p->is_sparse = form == 1;
    p->max_map = 1;
    return onnxd_attribute_int(node, "max_map", 1, INT64_MAX, &p->max_map);
}

static onnxd_status *infer_cast(onnxd_infer *infer)
{
    const cast_params *p = infer->params;
    infer->outputs[0].dtype = p->dtype;
    infer->outputs[0].shape = onnxd_shape_of_rank(2);
    infer->outputs[0].shape.dims[0] = 1;
    if (p->is_sparse)
        infer->outputs[0].shape.dims[1] = p->max_map;
    return NULL;
}

/* Element `from` of the values, a string or a float, as element `to` of the output. `text` receives
 * the digits of a number. */
static onnxd_status *cast_value(const onnxd_dynamic *dynamic, const onnxd_tensor *values,
                                size_t from, onnxd_dtype dtype, void *out, size_t to, char *text)
{
    onnxd_wide_kind kind = dtype == ONNXD_INT64 ? ONNXD_WIDE_SIGNED : ONNXD_WIDE_FLOAT;
    onnxd_wide value = {.f = 0.0};
    if (values->dtype == ONNXD_STRING && dtype == ONNXD_STRING) {
        ((onnxd_string *)out)[to] = ((const onnxd_string *)values->data)[from];
        return NULL;
    }
    if (values->dtype == ONNXD_STRING) {
        if (!onnxd_wide_parse(&((const onnxd_string *)values->data)[from], &kind, &value))
            return onnxd_op_error(dynamic->node, "value %zu of the map is no number", from);
    } else {
        kind = ONNXD_WIDE_FLOAT;
        value.f = (double)((const float *)values->data)[from];
    }
    if (dtype == ONNXD_STRING) {
        ((onnxd_string *)out)[to] = (onnxd_string){text, onnxd_format_f32(text, (float)value.f)};
        return NULL;
    }
    onnxd_wide_store(dtype, kind, &value, 1, &(onnxd_rounding){.saturates = true}, out, to);
    return NULL;
}

/* A key and the element of the map that it belongs to. */
typedef struct place {
    int64_t key;
    size_t from;
} place;

static int compare_places(const void *a, const void *b)
{
    const place *left = a, *right = b;
    if (left->key != right->key)
        return left->key < right->key ? -1 : 1;
    return (left->from > right->from) - (left->from < right->from);
}

/* The keys in ascending order, or as they are, each then a place in the output. */
static onnxd_status *find_places(const onnxd_dynamic *dynamic, const onnxd_tensor *keys,
                                 const cast_params *p, place *places)
{
    const int64_t *list = keys->data;
    for (size_t i = 0; i < keys->count; i++) {
        places[i] = (place){list[i], i};
        if (p->is_sparse && (list[i] < 0 || list[i] >= p->max_map))
            return onnxd_op_error(dynamic->node,
                                  "key %zu of the map is %" PRId64 ", allowed are 0 to %" PRId64, i,
                                  list[i], p->max_map - 1);
    }
    if (!p->is_sparse && keys->count > 1)
        qsort(places, keys->count, sizeof(place), compare_places);
    return NULL;
}

static onnxd_status *fill_cast(const onnxd_dynamic *dynamic, const onnxd_datum *map,
                               const place *places, char *texts, onnxd_tensor *output)
{
    const cast_params *p = dynamic->params;
    for (size_t i = 0; i < map->keys->count; i++) {
        const size_t to = p->is_sparse ? (size_t)places[i].key : i;
        ONNXD_TRY(cast_value(dynamic, map->tensor, places[i].from, p->dtype, output->data, to,
                             texts + i * ONNXD_WIDE_TEXT));
    }
    return NULL;
}

static onnxd_status *run_cast(onnxd_dynamic *dynamic)
{
    const cast_params *p = dynamic->params;
    const onnxd_datum *map = dynamic->inputs[0];
    const size_t count = map->keys->count;
    const onnxd_shape shape = {.rank = 2, .dims = {1, p->is_sparse ? p->max_map : (int64_t)count}};
    onnxd_tensor *output = NULL, *owned = NULL;
    onnxd_status *status = NULL;
    if (map->keys->dtype != ONNXD_INT64)
        return onnxd_op_error(dynamic->node, "the keys of the map are strings, not integers");
    if (map->tensor->dtype != ONNXD_STRING && map->tensor->dtype != ONNXD_FLOAT)
        return onnxd_op_error(dynamic->node,
                              "the values of the map have type %s, allowed are "
                              "string and float",
                              onnxd_dtype_name(map->tensor->dtype));
    place *places = onnxd_alloc_zero(count, sizeof(place));
    char *texts = onnxd_alloc_zero(count, ONNXD_WIDE_TEXT);
    if (places == NULL || texts == NULL)
        status = onnxd_error_out_of_memory("a map", count * ONNXD_WIDE_TEXT, UINT64_MAX);
    if (status == NULL)
        status = find_places(dynamic, map->keys, p, places);
    if (status == NULL)
        status = dynamic->env->allocate(dynamic->env, p->dtype, &shape, &output);
    if (status == NULL) {
        if (output->bytes > 0)
            memset(output->data, 0, output->bytes);
        status = fill_cast(dynamic, map, places, texts, output);
    }
    /* The strings lie in `texts`. */
    if (status == NULL && p->dtype == ONNXD_STRING) {
        status = onnxd_tensor_create_strings(&shape, output->data, &owned);
        onnxd_tensor_release(output);
        output = owned;
    }
    if (status == NULL)
        status = onnxd_datum_of_tensor(output, &dynamic->outputs[0]);
    onnxd_tensor_release(output);
    onnxd_free(places);
    onnxd_free(texts);
    return status;
}

/* ---- definitions --------------------------------------------------------------------------- */

#define COMMON(name, op)                                                                           \
    .op_type = name, .domain = ONNXD_ML_DOMAIN, .since = 1, .until = ONNXD_ML_OPSET_MAX,           \
    .min_inputs = 1, .max_inputs = 1, .min_outputs = 1, .max_outputs = 1,                          \
    .params_bytes = sizeof(op##_params), .parse = parse_##op, .infer = infer_##op, .run = run_##op
#define DICT_TYPES (ONNXD_SET(INT64) | ONNXD_SET(FLOAT) | ONNXD_SET(DOUBLE) | ONNXD_SET(STRING))
#define CAST_TYPES (ONNXD_SET(STRING) | ONNXD_SET(FLOAT) | ONNXD_SET(INT64))

const onnxd_op_def onnxd_op_maps[] = {
    {COMMON("ZipMap", zip), .inputs = {{.types = ONNXD_SET(FLOAT)}},
     .outputs = {{.types = ONNXD_SET(FLOAT), .kinds = ONNXD_KIND(SEQUENCE_OF_MAPS)}}},
    {COMMON("DictVectorizer", dict), .inputs = {{.types = DICT_TYPES, .kinds = ONNXD_KIND(MAP)}},
     .outputs = {{.types = DICT_TYPES}}},
    {COMMON("CastMap", cast),
     .inputs = {{.types = ONNXD_SET(STRING) | ONNXD_SET(FLOAT), .kinds = ONNXD_KIND(MAP)}},
     .outputs = {{.types = CAST_TYPES}}},
    {.op_type = NULL},
};
