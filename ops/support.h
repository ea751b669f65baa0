/*
 * What operator files share: messages, axes, values of small integer inputs, trivial inference.
 * Broadcasting and loops over several operands are in ops/loop.h, copies in ops/move.h, element
 * types in ops/types.h.
 */
#ifndef ONNXD_OPS_SUPPORT_H
#define ONNXD_OPS_SUPPORT_H

#include "graph/attributes.h"
#include "graph/op.h"

/* INVALID_ARGUMENT "node 'x' (Slice): <formatted>". */
ONNXD_NODISCARD onnxd_status *onnxd_op_error(const onnxd_node *node, const char *format, ...)
    ONNXD_PRINTF(2, 3);
/* The same with another code. */
ONNXD_NODISCARD onnxd_status *onnxd_op_error_code(onnxd_code code, const onnxd_node *node,
                                                  const char *format, ...) ONNXD_PRINTF(3, 4);

/* Whether the node names an input (output) at that position; its type may still be unknown. */
bool onnxd_op_has_input(const onnxd_node *node, uint32_t index);
bool onnxd_op_has_output(const onnxd_node *node, uint32_t index);

/* Maps `axis` in [-rank, rank) to [0, rank). `what` names it in the message ("axis", "axes[1]"). */
ONNXD_NODISCARD onnxd_status *onnxd_op_axis(const onnxd_node *node, const char *what, int64_t axis,
                                            int32_t rank, int32_t *out_axis);
/* The same for `count` axes, which must differ; sets out_selected[axis] for each and leaves the
 * others false. `out_selected` holds ONNXD_MAX_RANK entries, 0 <= rank <= ONNXD_MAX_RANK. */
ONNXD_NODISCARD onnxd_status *onnxd_op_axes(const onnxd_node *node, const int64_t *axes,
                                            size_t count, int32_t rank, bool *out_selected);

/* Elements before and behind `axis` of a static shape: the products of those dimensions, either of
 * which may not fit beside a zero. Errors: INVALID_ARGUMENT with the shape. */
ONNXD_NODISCARD onnxd_status *onnxd_op_around_axis(const onnxd_node *node, const onnxd_shape *shape,
                                                   int32_t axis, size_t *out_outer,
                                                   size_t *out_inner);

/* The row-major index in a tensor of shape `whole` of the first element of part `index`, when parts
 * of these types, static, lie one after the other along `axis`, as an attribute says it. False when
 * a type before it is not given. */
bool onnxd_op_part_along(const onnxd_shape *whole, int64_t axis, const onnxd_tensor_type *parts,
                         uint32_t index, size_t *out_first);

/* The value of input `index` as a view when inference knows it; false otherwise. */
bool onnxd_infer_known(const onnxd_infer *infer, uint32_t index, onnxd_tensor_view *out_view);
/* Element `index` of a view of an integer type. */
int64_t onnxd_op_int_at(const onnxd_tensor_view *view, size_t index);
/* Copies the elements of an int32 or int64 view of rank 0 or 1. `index` is the input's position for
 * messages. INVALID_ARGUMENT for more than max_count elements, another rank or another type. */
ONNXD_NODISCARD onnxd_status *onnxd_op_read_ints(const onnxd_node *node, uint32_t index,
                                                 const onnxd_tensor_view *view, size_t max_count,
                                                 int64_t *values, size_t *out_count);
/* An attribute that names a floating-point type of ONNXD_SET_FLOATS by ONNX's number; an absent one
 * leaves *inout_dtype as it was. INVALID_ARGUMENT naming what is allowed. */
ONNXD_NODISCARD onnxd_status *onnxd_op_float_type(const onnxd_node *node, const char *name,
                                                  onnxd_dtype *inout_dtype);
/* Number of elements of a list input from its type alone: -1 when not known.
 * INVALID_ARGUMENT when it has more than one dimension. */
ONNXD_NODISCARD onnxd_status *onnxd_op_list_length(const onnxd_infer *infer, uint32_t index,
                                                   int64_t *out_length);

/* The value of input `index`, a shape, as dimensions; *out_is_known is false when inference does
 * not know it, and *out_shape then has as many unknown dimensions as the list has elements (unknown
 * rank when that is not known either). Dimensions below `minimum` are refused. */
ONNXD_NODISCARD onnxd_status *onnxd_infer_shape_list(const onnxd_infer *infer, uint32_t index,
                                                     int64_t minimum, onnxd_shape *out_shape,
                                                     bool *out_is_known);
/* The same from a view, for a kernel. */
ONNXD_NODISCARD onnxd_status *onnxd_op_read_shape(const onnxd_node *node, uint32_t index,
                                                  const onnxd_tensor_view *view, int64_t minimum,
                                                  onnxd_shape *out_shape);

/* An attribute of 0 or 1; false when absent. */
ONNXD_NODISCARD onnxd_status *onnxd_op_flag(const onnxd_node *node, const char *name,
                                            bool *out_is_set);

/* Axes that are an attribute in early opsets and an input in later ones. */
typedef struct onnxd_axes {
    bool is_given;
    size_t count;
    int64_t values[ONNXD_MAX_RANK];
} onnxd_axes;

/* Reads the attribute; not given when the node has none. */
ONNXD_NODISCARD onnxd_status *onnxd_op_parse_axes(const onnxd_node *node, const char *name,
                                                  onnxd_axes *out_axes);
/* Axes from input `index` if the node has it, else `attribute` (NULL: none). *out_is_known is false
 * when the input's value is not known; out_axes is then untouched. */
ONNXD_NODISCARD onnxd_status *onnxd_infer_axes(const onnxd_infer *infer, uint32_t index,
                                               const onnxd_axes *attribute, onnxd_axes *out_axes,
                                               bool *out_is_known);
/* The same for a kernel, to which every value is known. */
ONNXD_NODISCARD onnxd_status *onnxd_compute_axes(const onnxd_compute *compute, uint32_t index,
                                                 const onnxd_axes *attribute, onnxd_axes *out_axes);

/* An input or output of a computation, NULL where absent. */
const onnxd_tensor_view *onnxd_compute_input(const onnxd_compute *compute, uint32_t index);
const onnxd_tensor_view *onnxd_compute_output(const onnxd_compute *compute, uint32_t index);
/* Whether an output has elements. Without, there is nothing to do, and dimensions of the inputs may
 * be huge. */
bool onnxd_compute_has_work(const onnxd_compute *compute);

/* `parse` of operators whose only attribute is opset 1's consumed_inputs, which means nothing. */
ONNXD_NODISCARD onnxd_status *onnxd_op_parse_consumed(const onnxd_node *node, int64_t opset,
                                                      onnxd_arena *arena, void *params);

/* INVALID_ARGUMENT unless input `index` is absent, of unknown rank, or of rank `rank` with the
 * dimensions `expected`, of which only static ones are compared. */
ONNXD_NODISCARD onnxd_status *onnxd_infer_check_dims(const onnxd_infer *infer, uint32_t index,
                                                     int32_t rank, const int64_t *expected);

/* `infer` of operators whose output 0 has the type and shape of input 0. */
ONNXD_NODISCARD onnxd_status *onnxd_op_infer_same(onnxd_infer *infer);
/* `compute` of operators whose output 0 has the bytes of input 0: INTERNAL when their numbers of
 * bytes differ. */
ONNXD_NODISCARD onnxd_status *onnxd_op_compute_copy(const onnxd_compute *compute);

/* INTERNAL unless an output has the shape that the kernel is about to write. Guards kernels that
 * derive their loops from values of inputs. */
ONNXD_NODISCARD onnxd_status *onnxd_op_check_output(const onnxd_compute *compute, uint32_t index,
                                                    const onnxd_shape *shape);

/* As with onnxd_error() in base/status.h: the analyser would follow paths on which making an error
 * yields success. */
#if defined(__clang_analyzer__) && !defined(ONNXD_OPS_SUPPORT_IMPLEMENTATION)
#define onnxd_op_error(...)                                                                        \
    ({                                                                                             \
        onnxd_status *onnxd_op_made = (onnxd_op_error)(__VA_ARGS__);                               \
        if (onnxd_op_made == NULL)                                                                 \
            __builtin_unreachable();                                                               \
        onnxd_op_made;                                                                             \
    })
#define onnxd_op_error_code(...)                                                                   \
    ({                                                                                             \
        onnxd_status *onnxd_op_coded = (onnxd_op_error_code)(__VA_ARGS__);                         \
        if (onnxd_op_coded == NULL)                                                                \
            __builtin_unreachable();                                                               \
        onnxd_op_coded;                                                                            \
    })
#endif

#endif
