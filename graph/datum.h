/*
 * A value of any kind that ONNX knows, on the host: what operators exchange that are run node by
 * node (sequences, optionals, maps, results whose shapes follow from data).
 *
 *   TENSOR             tensor
 *   SEQUENCE           items: tensors, all of one element type
 *   OPTIONAL(_SEQUENCE) never occurs by itself: an optional that holds something is that thing,
 *                      one that holds nothing has kind OPTIONAL and no item
 *   MAP                keys (int64 or string) and values, two tensors of one length
 *   SEQUENCE_OF_MAPS   items: maps
 *
 * Counted and immutable once shared, so a sequence that grows by an element shares the others.
 *
 * Threads: retain and release from any thread; the rest by who made it, before it is shared.
 */
#ifndef ONNXD_GRAPH_DATUM_H
#define ONNXD_GRAPH_DATUM_H

#include "base/tensor.h"

typedef struct onnxd_datum onnxd_datum;
struct onnxd_datum {
    onnxd_value_kind kind;
    onnxd_dtype dtype;    /* of the elements, also of an empty sequence; UNDEFINED: not known */
    onnxd_tensor *tensor; /* TENSOR; of a MAP the values */
    onnxd_tensor *keys;   /* MAP */
    onnxd_datum **items;  /* SEQUENCE, SEQUENCE_OF_MAPS */
    size_t item_count;
    /* implementation */
    uint32_t references; /* atomic */
};

/* Makers retain the tensors and items that they are given. Errors: OUT_OF_MEMORY. */
ONNXD_NODISCARD onnxd_status *onnxd_datum_of_tensor(onnxd_tensor *tensor, onnxd_datum **out_datum);
/* SEQUENCE or SEQUENCE_OF_MAPS of `count` items.
 * Errors: INVALID_ARGUMENT when an item is not of the sequence's kind or its element type is not
 * `dtype`. */
ONNXD_NODISCARD onnxd_status *onnxd_datum_of_items(onnxd_value_kind kind, onnxd_dtype dtype,
                                                   onnxd_datum *const *items, size_t count,
                                                   onnxd_datum **out_datum);
/* An optional of `dtype` that holds nothing. */
ONNXD_NODISCARD onnxd_status *onnxd_datum_nothing(onnxd_dtype dtype, onnxd_datum **out_datum);
/* Errors: INVALID_ARGUMENT when the lengths differ or keys are neither int64 nor string. */
ONNXD_NODISCARD onnxd_status *onnxd_datum_of_map(onnxd_tensor *keys, onnxd_tensor *values,
                                                 onnxd_datum **out_datum);
onnxd_datum *onnxd_datum_retain(onnxd_datum *datum);
void onnxd_datum_release(onnxd_datum *datum); /* NULL is fine */
/* Releases the datums and frees their array, one of onnxd_alloc's; NULL is fine for any of them. */
void onnxd_datums_free(onnxd_datum **datums, size_t count);

/* Its type as inference sees it: static shape of a tensor, unknown shape otherwise. */
onnxd_tensor_type onnxd_datum_type(const onnxd_datum *datum);

#endif
