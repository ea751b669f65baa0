/*
 * Positions that index tensors name, as offsets in elements, a chunk at a time: what the operators
 * that gather and scatter have in common. Indices are int32 or int64 and count from the end of
 * their axis when negative. Errors: INVALID_ARGUMENT with the input, the position and the value of
 * the first index that is out of range.
 */
#ifndef ONNXD_OPS_INDEX_OFFSETS_H
#define ONNXD_OPS_INDEX_OFFSETS_H

#include "ops/loop.h"
#include "ops/support.h"

#define ONNXD_OFFSETS_CHUNK 256

/* GatherElements and ScatterElements: index tensors of the rank of `data`, each entry of which
 * names an element of `data` at its own position but for one axis. */
typedef struct onnxd_element_walk {
    const onnxd_node *node;
    const onnxd_tensor_view *indices;
    int64_t dim, axis_stride; /* of the axis in `data` */
    onnxd_loop loop;          /* operand 0: indices, 1: data without the axis */
    onnxd_loop_cursor cursor;
    size_t column; /* next in the row of the loop */
    bool is_done;
} onnxd_element_walk;

/* Shape rule of both: the ranks agree and no dimension of `indices` but `axis` is larger than
 * data's. Unknown ranks and dimensions are accepted; out_axis is then -1. */
ONNXD_NODISCARD onnxd_status *onnxd_element_check(const onnxd_node *node, const onnxd_shape *data,
                                                  const onnxd_shape *indices, int64_t axis,
                                                  int32_t *out_axis);
/* `indices` is input 1 of the node, borrowed for the walk. */
void onnxd_element_walk_init(onnxd_element_walk *walk, const onnxd_node *node,
                             const onnxd_shape *data, const onnxd_tensor_view *indices,
                             int32_t axis);
/* Offsets of the next entries in row-major order, at most ONNXD_OFFSETS_CHUNK; *out_count is 0
 * after the last. */
ONNXD_NODISCARD onnxd_status *onnxd_element_walk_next(onnxd_element_walk *walk, int64_t *offsets,
                                                      size_t *out_count);

/* GatherND and ScatterND: the last dimension of `indices` is a tuple that names a slice of `data`,
 * from axis `batch_dims` on. */
typedef struct onnxd_tuples {
    size_t count;              /* tuples */
    size_t slice;              /* elements that one names */
    size_t batch_count, width; /* tuples per batch is count / batch_count; elements of a tuple */
    int64_t batch_stride;      /* elements of `data` in a batch */
    int64_t dims[ONNXD_MAX_RANK], strides[ONNXD_MAX_RANK]; /* of the axes that tuples index */
} onnxd_tuples;

/* Shape rule: ranks, equal batch dimensions, width of the tuples. *out_shape is
 * indices.shape[:-1] + data.shape[batch_dims + width:], of unknown rank when that is not known. */
ONNXD_NODISCARD onnxd_status *onnxd_tuples_check(const onnxd_node *node, const onnxd_shape *data,
                                                 const onnxd_shape *indices, int32_t batch_dims,
                                                 onnxd_shape *out_shape);
/* For shapes that passed the check and are static.
 * Errors: INVALID_ARGUMENT when a product does not fit. */
ONNXD_NODISCARD onnxd_status *onnxd_tuples_init(const onnxd_node *node, const onnxd_shape *data,
                                                const onnxd_shape *indices, int32_t batch_dims,
                                                onnxd_tuples *out_tuples);
/* Offsets of the slices of tuples [first, first + count), count <= ONNXD_OFFSETS_CHUNK. */
ONNXD_NODISCARD onnxd_status *onnxd_tuples_offsets(const onnxd_tuples *tuples,
                                                   const onnxd_node *node,
                                                   const onnxd_tensor_view *indices, size_t first,
                                                   size_t count, int64_t *offsets);

#endif
