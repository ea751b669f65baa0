#include "graph/reshape_target.h"

bool onnxd_reshape_target(const onnxd_shape *from, const onnxd_shape *to, int64_t *target)
{
    int32_t rests = 0;
    bool may_be_empty = false;
    if (from->rank == ONNXD_RANK_UNKNOWN || to->rank == ONNXD_RANK_UNKNOWN)
        return false;
    for (int32_t i = 0; i < to->rank; i++) {
        const int64_t dim = to->dims[i];
        if (onnxd_dim_is_static(dim) && dim != 0) {
            target[i] = dim;
        } else if (dim != ONNXD_DIM_UNKNOWN && i < from->rank && from->dims[i] == dim) {
            target[i] = 0;
            may_be_empty = true;
        } else if (dim != 0) {
            target[i] = -1;
            rests++;
        } else {
            return false;
        }
    }
    return rests == 0 || (rests == 1 && !may_be_empty);
}

bool onnxd_reshape_is_same(const onnxd_shape *from, const onnxd_shape *to)
{
    int32_t open = 0;
    bool has_symbol = false;
    if (from->rank != to->rank || from->rank == ONNXD_RANK_UNKNOWN)
        return false;
    for (int32_t i = 0; i < from->rank; i++) {
        const bool is_equal = from->dims[i] == to->dims[i] && from->dims[i] != ONNXD_DIM_UNKNOWN;
        open += is_equal ? 0 : 1;
        has_symbol |= is_equal && from->dims[i] <= 0;
    }
    /* The others divide the number of elements, unless one of them is 0. */
    return open == 0 || (open == 1 && !has_symbol);
}
