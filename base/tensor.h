/*
 * Tensors: a counted, immutable host tensor (constants, test data) and a view, which borrows.
 */
#ifndef ONNXD_BASE_TENSOR_H
#define ONNXD_BASE_TENSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/dtype.h"
#include "base/shape.h"
#include "base/status.h"

/* Which memory an address belongs to: {type, index}. Every buffer and view carries the id of the
 * instance that owns its memory. */
typedef enum onnxd_device_type {
    ONNXD_DEVICE_CPU = 0,
    ONNXD_DEVICE_CUDA = 1,
    ONNXD_DEVICE_CUSTOM = 256 /* custom(n) is ONNXD_DEVICE_CUSTOM + n */
} onnxd_device_type;

typedef struct onnxd_device_id {
    uint32_t type; /* onnxd_device_type */
    uint32_t index;
} onnxd_device_id;

static inline bool onnxd_device_id_equal(onnxd_device_id a, onnxd_device_id b)
{
    return a.type == b.type && a.index == b.index;
}

/* What a value holds. */
typedef enum onnxd_value_kind {
    ONNXD_VALUE_TENSOR = 0,
    ONNXD_VALUE_SEQUENCE,          /* of tensors */
    ONNXD_VALUE_OPTIONAL,          /* a tensor or nothing */
    ONNXD_VALUE_OPTIONAL_SEQUENCE, /* a sequence of tensors or nothing */
    ONNXD_VALUE_MAP,               /* from int64 or string to scalars */
    ONNXD_VALUE_SEQUENCE_OF_MAPS,
    ONNXD_VALUE_SPARSE_TENSOR
} onnxd_value_kind;
/* Sets of kinds: bit n is kind n. */
#define ONNXD_KIND(id) ((uint8_t)(1u << ONNXD_VALUE_##id))
#define ONNXD_VALUE_KIND_COUNT ((unsigned)ONNXD_VALUE_SPARSE_TENSOR + 1)
/* "tensor", "optional sequence"; "invalid" for what is no kind. */
const char *onnxd_value_kind_name(onnxd_value_kind kind);

/* Type and shape of a value, without data. dtype UNDEFINED marks an absent optional value. Of
 * sequences and optionals dtype and shape are those that every element has, of maps those of the
 * values. */
typedef struct onnxd_tensor_type {
    onnxd_dtype dtype;
    onnxd_shape shape;
    onnxd_value_kind kind;
} onnxd_tensor_type;

/*
 * A borrowed view of tensor data on some device. The elements start at data + byte_offset and lie
 * at the given strides (in elements, may be negative). An absent optional input keeps its position
 * as a view with dtype UNDEFINED and data NULL. `data` is an address of `device`: only host code
 * may touch it, and only where the device is host-addressable.
 */
typedef struct onnxd_tensor_view {
    void *data;
    size_t byte_offset;
    onnxd_dtype dtype;
    onnxd_shape shape; /* static */
    int64_t strides[ONNXD_MAX_RANK];
    onnxd_device_id device;
} onnxd_tensor_view;

/* A contiguous row-major view. `shape` must be static. */
onnxd_tensor_view onnxd_tensor_view_of(void *data, onnxd_dtype dtype, const onnxd_shape *shape);
static inline bool onnxd_tensor_view_is_present(const onnxd_tensor_view *view)
{
    return view->dtype != ONNXD_UNDEFINED;
}
/* Row-major without gaps; dimensions of extent 1 may have any stride. */
bool onnxd_tensor_view_is_contiguous(const onnxd_tensor_view *view);
/* Whether the elements of the last dimension lie side by side, and the rows that they make at one
 * distance, which is not less than their length: *out_pitch, in elements. A contiguous view is so;
 * a view without elements, too. */
bool onnxd_tensor_view_pitch(const onnxd_tensor_view *view, size_t *out_pitch);
/* The elements cover their range exactly once, in any order of dimensions, and the view starts at
 * its lowest address: a dimension of extent above 1 that runs backwards is not dense. */
bool onnxd_tensor_view_is_dense(const onnxd_tensor_view *view);
static inline void *onnxd_tensor_view_data(const onnxd_tensor_view *view)
{
    return (char *)view->data + view->byte_offset;
}
/* ONNXD_INVALID_TENSOR_VIEW unless every element of the view lies in a buffer of buffer_bytes that
 * starts at view->data, at an address aligned for the element type. `name` is for the message. */
ONNXD_NODISCARD onnxd_status *onnxd_tensor_view_check(const onnxd_tensor_view *view,
                                                      size_t buffer_bytes, const char *name);
/* Elements and bytes of a contiguous view; 0 for an absent one. The view was checked before. */
size_t onnxd_tensor_view_count(const onnxd_tensor_view *view);
size_t onnxd_tensor_view_bytes(const onnxd_tensor_view *view);

/* A counted host tensor, contiguous, read-only once shared. Strings: `data` is an array of
 * onnxd_string whose bytes live as long as the tensor. */
typedef struct onnxd_tensor {
    onnxd_dtype dtype;
    onnxd_shape shape; /* static */
    size_t count;
    size_t bytes; /* of `data` */
    void *data;   /* 64-byte aligned when made by onnxd_tensor_create */
    /* implementation */
    uint32_t references; /* atomic */
    void (*release)(void *owner, void *data);
    void *owner;
} onnxd_tensor;

/* Zeroed data. Errors: INVALID_ARGUMENT (not static, overflow), OUT_OF_MEMORY. */
ONNXD_NODISCARD onnxd_status *onnxd_tensor_create(onnxd_dtype dtype, const onnxd_shape *shape,
                                                  onnxd_tensor **out_tensor);
/* Takes over `data` of data_bytes; when the last reference goes, release(owner, data) is called.
 * Errors: INVALID_ARGUMENT when data_bytes is not what type and shape need. On failure `data` stays
 * with the caller. */
ONNXD_NODISCARD onnxd_status *onnxd_tensor_adopt(onnxd_dtype dtype, const onnxd_shape *shape,
                                                 void *data, size_t data_bytes,
                                                 void (*release)(void *owner, void *data),
                                                 void *owner, onnxd_tensor **out_tensor);
/* A STRING tensor from `count` strings; copies the bytes into one block. */
ONNXD_NODISCARD onnxd_status *onnxd_tensor_create_strings(const onnxd_shape *shape,
                                                          const onnxd_string *strings,
                                                          onnxd_tensor **out_tensor);
onnxd_tensor *onnxd_tensor_retain(onnxd_tensor *tensor);
void onnxd_tensor_release(onnxd_tensor *tensor); /* NULL is fine */
onnxd_tensor_view onnxd_tensor_as_view(const onnxd_tensor *tensor);

#endif
