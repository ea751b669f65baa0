#include "base/arena.h"

#include <stdalign.h>
#include <string.h>

#include "base/alloc.h"
#include "base/size_math.h"

struct onnxd_arena_block {
    onnxd_arena_block *next;
    size_t capacity_bytes;
    size_t used_bytes;
    alignas(max_align_t) unsigned char data[];
};

void onnxd_arena_init(onnxd_arena *arena, size_t block_bytes, size_t max_bytes)
{
    *arena = (onnxd_arena){.block_bytes = block_bytes, .max_bytes = max_bytes};
}

static void free_blocks(onnxd_arena_block *block)
{
    while (block != NULL) {
        onnxd_arena_block *next = block->next;
        onnxd_free(block);
        block = next;
    }
}

void onnxd_arena_deinit(onnxd_arena *arena)
{
    free_blocks(arena->blocks);
    arena->blocks = NULL;
    arena->used_bytes = 0;
}

void onnxd_arena_reset(onnxd_arena *arena)
{
    onnxd_arena_block *kept = NULL;
    onnxd_arena_block *block = arena->blocks;
    while (block != NULL) {
        onnxd_arena_block *next = block->next;
        if (kept == NULL && block->capacity_bytes == arena->block_bytes)
            kept = block;
        else
            onnxd_free(block);
        block = next;
    }
    if (kept != NULL) {
        kept->next = NULL;
        kept->used_bytes = 0;
    }
    arena->blocks = kept;
    arena->used_bytes = 0;
}

static onnxd_arena_block *add_block(onnxd_arena *arena, size_t capacity_bytes)
{
    size_t bytes;
    if (!onnxd_size_add(sizeof(onnxd_arena_block), capacity_bytes, &bytes))
        return NULL;
    onnxd_arena_block *block = onnxd_alloc(bytes);
    if (block == NULL)
        return NULL;
    block->capacity_bytes = capacity_bytes;
    block->used_bytes = 0;
    /* An oversized block is full from the start: it goes behind the one that still has room. */
    if (capacity_bytes > arena->block_bytes && arena->blocks != NULL) {
        block->next = arena->blocks->next;
        arena->blocks->next = block;
    } else {
        block->next = arena->blocks;
        arena->blocks = block;
    }
    return block;
}

void *onnxd_arena_alloc(onnxd_arena *arena, size_t bytes)
{
    size_t padded, used;
    if (!onnxd_size_align(bytes == 0 ? 1 : bytes, alignof(max_align_t), &padded) ||
        !onnxd_size_add(arena->used_bytes, padded, &used) || used > arena->max_bytes)
        return NULL;
    onnxd_arena_block *block = arena->blocks;
    if (block == NULL || block->capacity_bytes - block->used_bytes < padded) {
        block = add_block(arena, padded > arena->block_bytes ? padded : arena->block_bytes);
        if (block == NULL)
            return NULL;
    }
    void *pointer = block->data + block->used_bytes;
    block->used_bytes += padded;
    arena->used_bytes = used;
    return pointer;
}

void *onnxd_arena_alloc_zero(onnxd_arena *arena, size_t count, size_t element_bytes)
{
    size_t bytes;
    if (!onnxd_size_mul(count, element_bytes, &bytes))
        return NULL;
    void *pointer = onnxd_arena_alloc(arena, bytes);
    if (pointer != NULL)
        memset(pointer, 0, bytes);
    return pointer;
}

char *onnxd_arena_strndup(onnxd_arena *arena, const char *text, size_t length)
{
    size_t bytes;
    if (!onnxd_size_add(length, 1, &bytes))
        return NULL;
    char *copy = onnxd_arena_alloc(arena, bytes);
    if (copy == NULL)
        return NULL;
    if (length != 0)
        memcpy(copy, text, length);
    copy[length] = '\0';
    return copy;
}
