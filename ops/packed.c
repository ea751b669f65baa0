#include <string.h>

#include "base/size_math.h"
#include "ops/move.h"
#include "ops/support.h"

/* Eight elements of `bits` each fill `bits` bytes exactly. */
#define GROUP 8

static uint64_t read_group(const uint8_t *from, size_t byte_count)
{
    uint64_t word = 0;
    for (size_t i = 0; i < byte_count; i++)
        word |= (uint64_t)from[i] << (8 * i);
    return word;
}

static inline __attribute__((always_inline)) void unpack_bits(unsigned bits, const uint8_t *from,
                                                              size_t count, uint8_t *to)
{
    const uint64_t mask = ((uint64_t)1 << bits) - 1;
    size_t whole = count / GROUP;
    for (size_t g = 0; g < whole; g++, from += bits, to += GROUP) {
        uint64_t word = read_group(from, bits);
        for (unsigned i = 0; i < GROUP; i++)
            to[i] = (uint8_t)(word >> (i * bits) & mask);
    }
    size_t rest = count % GROUP;
    uint64_t word = read_group(from, (rest * bits + 7) / 8);
    for (size_t i = 0; i < rest; i++)
        to[i] = (uint8_t)(word >> (i * bits) & mask);
}

static uint64_t join_group(unsigned bits, const uint8_t *from, size_t count)
{
    const uint64_t mask = ((uint64_t)1 << bits) - 1;
    uint64_t word = 0;
    for (size_t i = 0; i < count; i++)
        word |= (from[i] & mask) << (i * bits);
    return word;
}

static inline __attribute__((always_inline)) void pack_bits(unsigned bits, const uint8_t *from,
                                                            size_t count, uint8_t *to)
{
    size_t whole = count / GROUP;
    for (size_t g = 0; g < whole; g++, from += GROUP, to += bits) {
        uint64_t word = join_group(bits, from, GROUP);
        for (unsigned i = 0; i < bits; i++)
            to[i] = (uint8_t)(word >> (8 * i));
    }
    size_t rest = count % GROUP;
    uint64_t word = join_group(bits, from, rest);
    for (size_t i = 0; i < (rest * bits + 7) / 8; i++)
        to[i] = (uint8_t)(word >> (8 * i));
}

void onnxd_unpack(onnxd_dtype dtype, size_t count, const void *packed, uint8_t *bytes)
{
    switch (onnxd_dtype_bits(dtype)) {
    case 2:
        unpack_bits(2, packed, count, bytes);
        break;
    case 4:
        unpack_bits(4, packed, count, bytes);
        break;
    case 6:
        unpack_bits(6, packed, count, bytes);
        break;
    default:
        if (count != 0)
            memcpy(bytes, packed, count);
        break;
    }
}

void onnxd_pack(onnxd_dtype dtype, size_t count, const uint8_t *bytes, void *packed)
{
    switch (onnxd_dtype_bits(dtype)) {
    case 2:
        pack_bits(2, bytes, count, packed);
        break;
    case 4:
        pack_bits(4, bytes, count, packed);
        break;
    case 6:
        pack_bits(6, bytes, count, packed);
        break;
    default:
        if (count != 0)
            memcpy(packed, bytes, count);
        break;
    }
}

static bool is_packed(const onnxd_tensor_view *view)
{
    return onnxd_tensor_view_is_present(view) && onnxd_dtype_size(view->dtype) == 0;
}

static size_t packed_bytes(const onnxd_tensor_view *views, uint32_t view_count)
{
    size_t total = 0;
    for (uint32_t i = 0; i < view_count; i++)
        if (is_packed(&views[i]) &&
            !onnxd_size_add(total, onnxd_tensor_view_count(&views[i]), &total))
            return SIZE_MAX;
    return total;
}

size_t onnxd_packed_workspace_bytes(const onnxd_compute *compute)
{
    size_t inputs = packed_bytes(compute->inputs, compute->input_count);
    size_t outputs = packed_bytes(compute->outputs, compute->output_count);
    size_t total;
    return onnxd_size_add(inputs, outputs, &total) ? total : SIZE_MAX;
}

bool onnxd_packed_is_used(const onnxd_compute *compute)
{
    for (uint32_t i = 0; i < compute->input_count; i++)
        if (is_packed(&compute->inputs[i]))
            return true;
    return false;
}

onnxd_status *onnxd_packed_compute(const onnxd_compute *compute,
                                   onnxd_status *(*kernel)(const onnxd_compute *compute))
{
    onnxd_tensor_view inputs[ONNXD_OP_MAX_FORMALS], outputs[ONNXD_OP_MAX_FORMALS];
    if (compute->input_count > ONNXD_OP_MAX_FORMALS || compute->output_count > ONNXD_OP_MAX_FORMALS)
        return onnxd_op_error(compute->node,
                              "at most %d inputs or outputs of packed types are supported",
                              ONNXD_OP_MAX_FORMALS);
    uint8_t *room = compute->workspace;
    for (uint32_t i = 0; i < compute->input_count; i++) {
        const onnxd_tensor_view *view = &compute->inputs[i];
        inputs[i] = *view;
        if (!is_packed(view))
            continue;
        size_t count = onnxd_tensor_view_count(view);
        inputs[i].dtype = ONNXD_UINT8;
        if (count == 0)
            continue;
        onnxd_unpack(view->dtype, count, onnxd_tensor_view_data(view), room);
        inputs[i] = onnxd_tensor_view_of(room, ONNXD_UINT8, &view->shape);
        room += count;
    }
    for (uint32_t i = 0; i < compute->output_count; i++) {
        const onnxd_tensor_view *view = &compute->outputs[i];
        outputs[i] = *view;
        if (!is_packed(view))
            continue;
        size_t count = onnxd_tensor_view_count(view);
        outputs[i].dtype = ONNXD_UINT8;
        if (count == 0)
            continue;
        outputs[i] = onnxd_tensor_view_of(room, ONNXD_UINT8, &view->shape);
        room += count;
    }
    onnxd_compute bytes = *compute;
    bytes.inputs = inputs;
    bytes.outputs = outputs;
    bytes.workspace = NULL;
    ONNXD_TRY(kernel(&bytes));
    for (uint32_t i = 0; i < compute->output_count; i++)
        if (is_packed(&compute->outputs[i]))
            onnxd_pack(compute->outputs[i].dtype, onnxd_tensor_view_count(&compute->outputs[i]),
                       onnxd_tensor_view_data(&outputs[i]),
                       onnxd_tensor_view_data(&compute->outputs[i]));
    return NULL;
}
