#include "model/interpreter_memory.h"

#include <string.h>

#include "base/size_math.h"

/* Lies behind the data in its block. */
typedef struct block_owner {
    onnxd_pool *pool;
    onnxd_pool_block block;
} block_owner;

static void release_block(void *owner, void *data)
{
    (void)data;
    const block_owner held = *(block_owner *)owner;
    onnxd_pool_release(held.pool, held.block);
}

static onnxd_status *check_size(onnxd_dtype dtype, const onnxd_shape *shape, uint64_t max_bytes,
                                size_t *out_bytes)
{
    char text[ONNXD_SHAPE_TEXT];
    size_t count, bytes;
    if (!onnxd_shape_is_static(shape))
        return onnxd_error(ONNXD_INVALID_ARGUMENT, "a tensor of %s%s has no size",
                           onnxd_dtype_name(dtype), onnxd_shape_format(shape, text, sizeof(text)));
    if (!onnxd_shape_count(shape, &count) || !onnxd_dtype_bytes(dtype, count, &bytes) ||
        bytes > max_bytes)
        return onnxd_error(ONNXD_PAYLOAD_TOO_LARGE,
                           "a value would be %s%s, beyond the limit of %llu bytes for a tensor",
                           onnxd_dtype_name(dtype), onnxd_shape_format(shape, text, sizeof(text)),
                           (unsigned long long)max_bytes);
    *out_bytes = bytes;
    return NULL;
}

onnxd_status *onnxd_pooled_tensor_create(onnxd_pool *pool, uint64_t max_bytes, onnxd_dtype dtype,
                                         const onnxd_shape *shape, onnxd_tensor **out_tensor)
{
    size_t bytes, owner_offset, total;
    onnxd_pool_block block;
    ONNXD_TRY(check_size(dtype, shape, max_bytes, &bytes));
    if (!onnxd_size_align(bytes, _Alignof(block_owner), &owner_offset) ||
        !onnxd_size_add(owner_offset, sizeof(block_owner), &total))
        return onnxd_error_out_of_memory("a value", SIZE_MAX, UINT64_MAX);
    ONNXD_TRY(onnxd_pool_acquire(pool, total, &block));
    block_owner *owner = (block_owner *)((char *)block.data + owner_offset);
    *owner = (block_owner){.pool = pool, .block = block};
    if (dtype == ONNXD_STRING && bytes > 0)
        memset(block.data, 0, bytes);
    onnxd_status *status =
        onnxd_tensor_adopt(dtype, shape, block.data, bytes, release_block, owner, out_tensor);
    if (status != NULL)
        onnxd_pool_release(pool, block);
    return status;
}

static void release_base(void *owner, void *data)
{
    (void)data;
    onnxd_tensor_release(owner);
}

onnxd_status *onnxd_tensor_alias(onnxd_tensor *base, const onnxd_shape *shape,
                                 onnxd_tensor **out_tensor)
{
    onnxd_tensor *held = onnxd_tensor_retain(base);
    onnxd_status *status = onnxd_tensor_adopt(base->dtype, shape, base->data, base->bytes,
                                              release_base, held, out_tensor);
    if (status != NULL)
        onnxd_tensor_release(held);
    return status;
}

static bool borrows_strings(const onnxd_tensor *tensor)
{
    return tensor != NULL && tensor->dtype == ONNXD_STRING && tensor->release == release_block;
}

static onnxd_status *own(onnxd_tensor **tensor, uint64_t max_bytes)
{
    onnxd_tensor *owned;
    uint64_t bytes = 0;
    if (!borrows_strings(*tensor))
        return NULL;
    const onnxd_string *strings = (*tensor)->data;
    for (size_t i = 0; i < (*tensor)->count; i++) {
        if (strings[i].size > max_bytes - bytes)
            return onnxd_error(ONNXD_PAYLOAD_TOO_LARGE,
                               "the strings of a value have more than %llu bytes",
                               (unsigned long long)max_bytes);
        bytes += strings[i].size;
    }
    ONNXD_TRY(onnxd_tensor_create_strings(&(*tensor)->shape, strings, &owned));
    onnxd_tensor_release(*tensor);
    *tensor = owned;
    return NULL;
}

/* Items of a sequence may be shared, but those that borrow have just been made. */
onnxd_status *onnxd_datum_own_strings(onnxd_datum *datum, uint64_t max_bytes)
{
    ONNXD_TRY(own(&datum->tensor, max_bytes));
    ONNXD_TRY(own(&datum->keys, max_bytes));
    for (size_t i = 0; i < datum->item_count; i++) {
        ONNXD_TRY(own(&datum->items[i]->tensor, max_bytes));
        ONNXD_TRY(own(&datum->items[i]->keys, max_bytes));
    }
    return NULL;
}
