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

/* A block for `bytes` of data and its owner behind them. */
static onnxd_status *acquire(onnxd_pool *pool, size_t bytes, onnxd_pool_block *out_block,
                             block_owner **out_owner)
{
    size_t owner_offset, total;
    if (!onnxd_size_align(bytes, _Alignof(block_owner), &owner_offset) ||
        !onnxd_size_add(owner_offset, sizeof(block_owner), &total))
        return onnxd_error_out_of_memory("a value", SIZE_MAX, UINT64_MAX);
    ONNXD_TRY(onnxd_pool_acquire(pool, total, out_block));
    block_owner *owner = (block_owner *)(void *)((char *)out_block->data + owner_offset);
    *owner = (block_owner){.pool = pool, .block = *out_block};
    *out_owner = owner;
    return NULL;
}

onnxd_status *onnxd_pooled_tensor_create(onnxd_pool *pool, uint64_t max_bytes, onnxd_dtype dtype,
                                         const onnxd_shape *shape, onnxd_tensor **out_tensor)
{
    size_t bytes;
    onnxd_pool_block block;
    block_owner *owner;
    ONNXD_TRY(check_size(dtype, shape, max_bytes, &bytes));
    ONNXD_TRY(acquire(pool, bytes, &block, &owner));
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
    /* Of an alias the tensor behind it: aliases never make a chain. */
    onnxd_tensor *held = onnxd_tensor_retain(base->release == release_base ? base->owner : base);
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

/* As release_block(), of a tensor whose strings lie in its own block. */
static void release_strings(void *owner, void *data)
{
    release_block(owner, data);
}

static onnxd_status *measure_strings(const onnxd_tensor *tensor, uint64_t max_bytes,
                                     size_t *out_bytes)
{
    const onnxd_string *strings = tensor->data;
    uint64_t bytes = 0;
    for (size_t i = 0; i < tensor->count; i++) {
        if (strings[i].size > max_bytes - bytes)
            return onnxd_error(ONNXD_PAYLOAD_TOO_LARGE,
                               "the strings of a value have more than %llu bytes",
                               (unsigned long long)max_bytes);
        bytes += strings[i].size;
    }
    *out_bytes = (size_t)bytes;
    return NULL;
}

static onnxd_status *own(onnxd_pool *pool, onnxd_tensor **tensor, uint64_t max_bytes)
{
    const onnxd_tensor *borrowed = *tensor;
    size_t text_bytes, bytes;
    onnxd_pool_block block;
    block_owner *owner;
    onnxd_tensor *owned;
    if (!borrows_strings(borrowed))
        return NULL;
    ONNXD_TRY(measure_strings(borrowed, max_bytes, &text_bytes));
    if (!onnxd_size_add(borrowed->bytes, text_bytes, &bytes))
        return onnxd_error_out_of_memory("strings", SIZE_MAX, UINT64_MAX);
    ONNXD_TRY(acquire(pool, bytes, &block, &owner));
    onnxd_string *strings = block.data;
    char *text = (char *)block.data + borrowed->bytes;
    for (size_t i = 0; i < borrowed->count; i++) {
        const onnxd_string *from = &((const onnxd_string *)borrowed->data)[i];
        strings[i] = (onnxd_string){text, from->size};
        if (from->size > 0)
            memcpy(text, from->data, from->size);
        text += from->size;
    }
    onnxd_status *status = onnxd_tensor_adopt(ONNXD_STRING, &borrowed->shape, block.data,
                                              borrowed->bytes, release_strings, owner, &owned);
    if (status != NULL) {
        onnxd_pool_release(pool, block);
        return status;
    }
    onnxd_tensor_release(*tensor);
    *tensor = owned;
    return NULL;
}

/* Items of a sequence may be shared, but those that borrow have just been made. */
onnxd_status *onnxd_datum_own_strings(onnxd_pool *pool, onnxd_datum *datum, uint64_t max_bytes)
{
    ONNXD_TRY(own(pool, &datum->tensor, max_bytes));
    ONNXD_TRY(own(pool, &datum->keys, max_bytes));
    for (size_t i = 0; i < datum->item_count; i++) {
        ONNXD_TRY(own(pool, &datum->items[i]->tensor, max_bytes));
        ONNXD_TRY(own(pool, &datum->items[i]->keys, max_bytes));
    }
    return NULL;
}
