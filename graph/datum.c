#include "graph/datum.h"

#include "base/alloc.h"

static onnxd_status *create(onnxd_value_kind kind, onnxd_dtype dtype, onnxd_datum **out_datum)
{
    onnxd_datum *datum = onnxd_alloc_zero(1, sizeof(*datum));
    if (datum == NULL)
        return onnxd_error_out_of_memory("value", sizeof(*datum), UINT64_MAX);
    datum->kind = kind;
    datum->dtype = dtype;
    datum->references = 1;
    *out_datum = datum;
    return NULL;
}

onnxd_status *onnxd_datum_of_tensor(onnxd_tensor *tensor, onnxd_datum **out_datum)
{
    onnxd_datum *datum;
    ONNXD_TRY(create(ONNXD_VALUE_TENSOR, tensor->dtype, &datum));
    datum->tensor = onnxd_tensor_retain(tensor);
    *out_datum = datum;
    return NULL;
}

static onnxd_status *check_item(onnxd_value_kind kind, onnxd_dtype dtype, const onnxd_datum *item,
                                size_t index)
{
    const onnxd_value_kind wanted =
        kind == ONNXD_VALUE_SEQUENCE ? ONNXD_VALUE_TENSOR : ONNXD_VALUE_MAP;
    if (item == NULL || item->kind != wanted)
        return onnxd_error(ONNXD_INVALID_ARGUMENT, "element %zu of a %s is of kind %s, not %s",
                           index, onnxd_value_kind_name(kind),
                           item == NULL ? "nothing" : onnxd_value_kind_name(item->kind),
                           onnxd_value_kind_name(wanted));
    if (item->dtype != dtype)
        return onnxd_error(ONNXD_INVALID_ARGUMENT, "element %zu of a %s of %s has element type %s",
                           index, onnxd_value_kind_name(kind), onnxd_dtype_name(dtype),
                           onnxd_dtype_name(item->dtype));
    return NULL;
}

onnxd_status *onnxd_datum_of_items(onnxd_value_kind kind, onnxd_dtype dtype,
                                   onnxd_datum *const *items, size_t count, onnxd_datum **out_datum)
{
    onnxd_datum *datum;
    for (size_t i = 0; i < count; i++)
        ONNXD_TRY(check_item(kind, dtype, items[i], i));
    ONNXD_TRY(create(kind, dtype, &datum));
    if (count > 0) {
        datum->items = onnxd_alloc_zero(count, sizeof(onnxd_datum *));
        if (datum->items == NULL) {
            onnxd_datum_release(datum);
            return onnxd_error_out_of_memory("sequence", (uint64_t)count * sizeof(onnxd_datum *),
                                             UINT64_MAX);
        }
    }
    for (size_t i = 0; i < count; i++)
        datum->items[i] = onnxd_datum_retain(items[i]);
    datum->item_count = count;
    *out_datum = datum;
    return NULL;
}

onnxd_status *onnxd_datum_nothing(onnxd_dtype dtype, onnxd_datum **out_datum)
{
    return create(ONNXD_VALUE_OPTIONAL, dtype, out_datum);
}

onnxd_status *onnxd_datum_of_map(onnxd_tensor *keys, onnxd_tensor *values, onnxd_datum **out_datum)
{
    onnxd_datum *datum;
    if (keys->dtype != ONNXD_INT64 && keys->dtype != ONNXD_STRING)
        return onnxd_error(ONNXD_INVALID_ARGUMENT,
                           "the keys of a map have type %s, allowed are int64 and string",
                           onnxd_dtype_name(keys->dtype));
    if (keys->count != values->count)
        return onnxd_error(ONNXD_INVALID_ARGUMENT, "a map of %zu keys has %zu values", keys->count,
                           values->count);
    ONNXD_TRY(create(ONNXD_VALUE_MAP, values->dtype, &datum));
    datum->keys = onnxd_tensor_retain(keys);
    datum->tensor = onnxd_tensor_retain(values);
    *out_datum = datum;
    return NULL;
}

onnxd_datum *onnxd_datum_retain(onnxd_datum *datum)
{
    __atomic_fetch_add(&datum->references, 1, __ATOMIC_RELAXED);
    return datum;
}

/* Items hold tensors or maps, never sequences, so the recursion is two deep at most. */
void onnxd_datum_release(onnxd_datum *datum) // NOLINT(misc-no-recursion)
{
    if (datum == NULL || __atomic_sub_fetch(&datum->references, 1, __ATOMIC_ACQ_REL) != 0)
        return;
    for (size_t i = 0; i < datum->item_count; i++)
        onnxd_datum_release(datum->items[i]);
    onnxd_free(datum->items);
    onnxd_tensor_release(datum->tensor);
    onnxd_tensor_release(datum->keys);
    onnxd_free(datum);
}

void onnxd_datums_free(onnxd_datum **datums, size_t count)
{
    for (size_t i = 0; datums != NULL && i < count; i++)
        onnxd_datum_release(datums[i]);
    onnxd_free(datums);
}

onnxd_tensor_type onnxd_datum_type(const onnxd_datum *datum)
{
    onnxd_tensor_type type = {
        .dtype = datum->dtype, .kind = datum->kind, .shape = onnxd_shape_unknown()};
    if (datum->kind == ONNXD_VALUE_TENSOR)
        type.shape = datum->tensor->shape;
    return type;
}
