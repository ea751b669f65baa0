#include "ops/control/pieces.h"

#include <string.h>

#include "base/size_math.h"
#include "ops/control/control.h"

#define FIRST_CAPACITY 4
#define FIRST_TEXT_BYTES ((size_t)256)

/* ---- elements ------------------------------------------------------------------------------ */

static unsigned packed_at(const uint8_t *data, unsigned bits, size_t index)
{
    size_t bit = index * bits;
    unsigned shift = (unsigned)(bit % 8), word = data[bit / 8];
    if (shift + bits > 8)
        word |= (unsigned)data[bit / 8 + 1] << 8;
    return word >> shift & ((1u << bits) - 1);
}

static void set_packed(uint8_t *data, unsigned bits, size_t index, unsigned value)
{
    size_t bit = index * bits;
    unsigned shift = (unsigned)(bit % 8), mask = ((1u << bits) - 1) << shift;
    data[bit / 8] = (uint8_t)((data[bit / 8] & ~mask) | value << shift);
    if (shift + bits > 8)
        data[bit / 8 + 1] = (uint8_t)((data[bit / 8 + 1] & ~(mask >> 8)) | value >> (8 - shift));
}

static void copy_packed(unsigned bits, uint8_t *to, size_t to_index, const uint8_t *from,
                        size_t from_index, size_t count)
{
    size_t done = 0;
    if (to_index * bits % 8 == 0 && from_index * bits % 8 == 0) {
        done = count / 8 * 8;
        if (done != 0)
            memcpy(to + to_index * bits / 8, from + from_index * bits / 8, done * bits / 8);
    }
    for (; done < count; done++)
        set_packed(to, bits, to_index + done, packed_at(from, bits, from_index + done));
}

static void copy_elements(onnxd_dtype dtype, void *to, size_t to_index, const void *from,
                          size_t from_index, size_t count)
{
    size_t size = onnxd_dtype_size(dtype);
    if (size == 0)
        copy_packed(onnxd_dtype_bits(dtype), to, to_index, from, from_index, count);
    else
        memcpy((char *)to + to_index * size, (const char *)from + from_index * size, count * size);
}

onnxd_status *onnxd_pieces_allocate(const onnxd_run_env *env, onnxd_dtype dtype,
                                    const onnxd_shape *shape, onnxd_tensor **out_tensor)
{
    onnxd_tensor *tensor = NULL;
    ONNXD_TRY(env->allocate(env, dtype, shape, &tensor));
    if (onnxd_dtype_size(dtype) == 0 && tensor->bytes != 0)
        memset(tensor->data, 0, tensor->bytes);
    *out_tensor = tensor;
    return NULL;
}

onnxd_status *onnxd_pieces_zeros(const onnxd_run_env *env, onnxd_dtype dtype,
                                 const onnxd_shape *shape, onnxd_tensor **out_tensor)
{
    onnxd_tensor *tensor = NULL;
    ONNXD_TRY(env->allocate(env, dtype, shape, &tensor));
    if (tensor->bytes != 0)
        memset(tensor->data, 0, tensor->bytes);
    *out_tensor = tensor;
    return NULL;
}

/* ---- pieces -------------------------------------------------------------------------------- */

/* A range of an axis as runs of neighbouring elements: run r starts at first + r * pitch. */
typedef struct runs {
    size_t count, length, first, pitch;
} runs;

/* The tensor has elements, so that these products do not overflow. */
static runs runs_of(const onnxd_shape *shape, int32_t axis, int64_t first, int64_t extent)
{
    size_t inner = 1, outer = 1;
    for (int32_t i = 0; i < axis; i++)
        outer *= (size_t)shape->dims[i];
    for (int32_t i = axis + 1; i < shape->rank; i++)
        inner *= (size_t)shape->dims[i];
    return (runs){.count = outer,
                  .length = (size_t)extent * inner,
                  .first = (size_t)first * inner,
                  .pitch = (size_t)shape->dims[axis] * inner};
}

onnxd_status *onnxd_pieces_take(const onnxd_run_env *env, const onnxd_tensor *whole, int32_t axis,
                                int64_t first, int64_t extent, const onnxd_shape *shape,
                                onnxd_tensor **out_piece)
{
    onnxd_tensor *piece = NULL;
    ONNXD_TRY(onnxd_pieces_allocate(env, whole->dtype, shape, &piece));
    if (piece->count != 0) {
        runs r = runs_of(&whole->shape, axis, first, extent);
        for (size_t i = 0; i < r.count; i++)
            copy_elements(whole->dtype, piece->data, i * r.length, whole->data,
                          r.first + i * r.pitch, r.length);
    }
    onnxd_status *status = onnxd_pieces_own_strings(env, &piece);
    if (status != NULL)
        onnxd_tensor_release(piece);
    else
        *out_piece = piece;
    return status;
}

void onnxd_pieces_put(onnxd_tensor *whole, int32_t axis, int64_t first, int64_t extent,
                      const onnxd_tensor *piece)
{
    if (piece->count == 0)
        return;
    runs r = runs_of(&whole->shape, axis, first, extent);
    for (size_t i = 0; i < r.count; i++)
        copy_elements(whole->dtype, whole->data, r.first + i * r.pitch, piece->data, i * r.length,
                      r.length);
}

/* ---- strings ------------------------------------------------------------------------------- */

static void release_block(void *owner, void *data)
{
    (void)data;
    onnxd_tensor_release(owner);
}

/* The elements and behind them their bytes, in one block. */
static void fill_block(const onnxd_tensor *borrowed, void *block)
{
    const onnxd_string *from = borrowed->data;
    onnxd_string *to = block;
    char *bytes = (char *)(to + borrowed->count);
    for (size_t i = 0; i < borrowed->count; i++) {
        to[i] = (onnxd_string){.data = bytes, .size = from[i].size};
        if (from[i].size != 0)
            memcpy(bytes, from[i].data, from[i].size);
        bytes += from[i].size;
    }
}

onnxd_status *onnxd_pieces_own_strings(const onnxd_run_env *env, onnxd_tensor **inout_tensor)
{
    onnxd_tensor *borrowed = *inout_tensor;
    size_t bytes = borrowed->bytes;
    if (borrowed->dtype != ONNXD_STRING || borrowed->count == 0)
        return NULL;
    for (size_t i = 0; i < borrowed->count; i++)
        if (!onnxd_size_add(bytes, ((const onnxd_string *)borrowed->data)[i].size, &bytes))
            return onnxd_error_out_of_memory("strings", SIZE_MAX, UINT64_MAX);
    if (bytes > INT64_MAX)
        return onnxd_error_out_of_memory("strings", bytes, UINT64_MAX);
    int64_t extent = (int64_t)bytes;
    onnxd_shape shape = onnxd_shape_from(1, &extent);
    onnxd_tensor *block = NULL, *owned = NULL;
    ONNXD_TRY(env->allocate(env, ONNXD_UINT8, &shape, &block));
    fill_block(borrowed, block->data);
    onnxd_status *status = onnxd_tensor_adopt(ONNXD_STRING, &borrowed->shape, block->data,
                                              borrowed->bytes, release_block, block, &owned);
    if (status != NULL) {
        onnxd_tensor_release(block);
        return status;
    }
    onnxd_tensor_release(borrowed);
    *inout_tensor = owned;
    return NULL;
}

/* ---- stack --------------------------------------------------------------------------------- */

void onnxd_stack_init(onnxd_stack *stack, const onnxd_run_env *env, size_t most)
{
    *stack = (onnxd_stack){.env = env, .most = most};
}

void onnxd_stack_init_fixed(onnxd_stack *stack, const onnxd_run_env *env, size_t extent,
                            bool is_backward)
{
    *stack =
        (onnxd_stack){.env = env, .most = extent, .is_fixed = true, .is_backward = is_backward};
}

void onnxd_stack_deinit(onnxd_stack *stack)
{
    onnxd_tensor_release(stack->texts);
    onnxd_tensor_release(stack->room);
    *stack = (onnxd_stack){0};
}

/* Room for `capacity` tensors, with those that there are. */
static onnxd_status *resize(onnxd_stack *stack, onnxd_dtype dtype, size_t capacity)
{
    onnxd_tensor *room = NULL;
    onnxd_shape shape = onnxd_control_with_axis(&stack->shape, stack->axis, (int64_t)capacity);
    ONNXD_TRY(stack->is_fixed ? onnxd_pieces_zeros(stack->env, dtype, &shape, &room)
                              : onnxd_pieces_allocate(stack->env, dtype, &shape, &room));
    size_t each;
    if (stack->room != NULL && onnxd_shape_count(&stack->shape, &each) && each != 0)
        copy_elements(dtype, room->data, 0, stack->room->data, 0, each * stack->count);
    onnxd_tensor_release(stack->room);
    stack->room = room;
    stack->capacity = capacity;
    return NULL;
}

static onnxd_status *make_room(onnxd_stack *stack, onnxd_dtype dtype)
{
    size_t capacity = stack->capacity == 0 ? FIRST_CAPACITY : stack->capacity * 2;
    if (stack->room != NULL && stack->count < stack->capacity)
        return NULL;
    if (stack->is_fixed || capacity > stack->most)
        capacity = stack->most;
    if (stack->count >= capacity || capacity > INT64_MAX)
        return onnxd_error(ONNXD_RESOURCE_EXHAUSTED, "more than %zu tensors to stack",
                           stack->count);
    return resize(stack, dtype, capacity);
}

static onnxd_status *check_like(const onnxd_stack *stack, const onnxd_tensor *tensor)
{
    char found[ONNXD_SHAPE_TEXT], wanted[ONNXD_SHAPE_TEXT];
    if (stack->room == NULL && tensor->shape.rank < ONNXD_MAX_RANK)
        return NULL;
    if (stack->room == NULL)
        return onnxd_error(ONNXD_INVALID_ARGUMENT, "rank %d leaves no room for another axis",
                           tensor->shape.rank);
    if (tensor->dtype == stack->room->dtype && onnxd_shape_equal(&tensor->shape, &stack->shape))
        return NULL;
    return onnxd_error(ONNXD_INVALID_ARGUMENT, "it is %s%s in iteration %zu, before it was %s%s",
                       onnxd_dtype_name(tensor->dtype),
                       onnxd_shape_format(&tensor->shape, found, sizeof(found)), stack->count,
                       onnxd_dtype_name(stack->room->dtype),
                       onnxd_shape_format(&stack->shape, wanted, sizeof(wanted)));
}

/* The strings that there are, from where their bytes lie to where they go. */
static void move_strings(onnxd_stack *stack, const char *from, char *to)
{
    onnxd_string *strings = stack->room->data;
    size_t count = stack->room->count;
    if (!stack->is_fixed)
        count = count / stack->capacity * stack->count;
    for (size_t i = 0; i < count; i++)
        if (strings[i].size != 0)
            strings[i].data = to + (strings[i].data - from);
}

/* Room for the bytes of so many more characters. It doubles, as that for the strings does. */
static onnxd_status *make_text_room(onnxd_stack *stack, size_t more)
{
    size_t needed, capacity = stack->texts == NULL ? FIRST_TEXT_BYTES : stack->texts->bytes;
    onnxd_tensor *texts = NULL;
    if (!onnxd_size_add(stack->text_bytes, more, &needed) || needed > INT64_MAX / 2)
        return onnxd_error_out_of_memory("strings to stack", SIZE_MAX, UINT64_MAX);
    while (capacity < needed)
        capacity *= 2;
    if (stack->texts != NULL && stack->texts->bytes == capacity)
        return NULL;
    onnxd_shape shape = {.rank = 1, .dims = {(int64_t)capacity}};
    ONNXD_TRY(stack->env->allocate(stack->env, ONNXD_UINT8, &shape, &texts));
    if (stack->texts != NULL && stack->text_bytes != 0) {
        memcpy(texts->data, stack->texts->data, stack->text_bytes);
        move_strings(stack, stack->texts->data, texts->data);
    }
    onnxd_tensor_release(stack->texts);
    stack->texts = texts;
    return NULL;
}

/* Copies the bytes of a tensor of strings, and the tensor in which they are borrowed from there. */
static onnxd_status *keep_texts(onnxd_stack *stack, const onnxd_tensor *tensor,
                                onnxd_tensor **out_borrowing)
{
    const onnxd_string *from = tensor->data;
    size_t bytes = 0;
    for (size_t i = 0; i < tensor->count; i++)
        if (!onnxd_size_add(bytes, from[i].size, &bytes))
            return onnxd_error_out_of_memory("strings to stack", SIZE_MAX, UINT64_MAX);
    ONNXD_TRY(make_text_room(stack, bytes));
    ONNXD_TRY(stack->env->allocate(stack->env, ONNXD_STRING, &tensor->shape, out_borrowing));
    onnxd_string *to = (*out_borrowing)->data;
    for (size_t i = 0; i < tensor->count; i++) {
        char *text = (char *)stack->texts->data + stack->text_bytes;
        if (from[i].size != 0)
            memcpy(text, from[i].data, from[i].size);
        to[i] = (onnxd_string){.data = from[i].size != 0 ? text : NULL, .size = from[i].size};
        stack->text_bytes += from[i].size;
    }
    return NULL;
}

onnxd_status *onnxd_stack_push(onnxd_stack *stack, onnxd_tensor *tensor)
{
    ONNXD_TRY(check_like(stack, tensor));
    stack->shape = tensor->shape;
    ONNXD_TRY(make_room(stack, tensor->dtype));
    onnxd_tensor *borrowing = NULL;
    if (tensor->dtype == ONNXD_STRING && tensor->count != 0)
        ONNXD_TRY(keep_texts(stack, tensor, &borrowing));
    size_t position = stack->is_backward ? stack->most - 1 - stack->count : stack->count;
    onnxd_pieces_put(stack->room, stack->axis, (int64_t)position, 1,
                     borrowing != NULL ? borrowing : tensor);
    onnxd_tensor_release(borrowing);
    stack->count++;
    return NULL;
}

void onnxd_stack_skip(onnxd_stack *stack)
{
    stack->count++;
}

bool onnxd_stack_is_empty(const onnxd_stack *stack)
{
    return stack->room == NULL;
}

onnxd_status *onnxd_stack_finish(onnxd_stack *stack, onnxd_tensor **out_tensor)
{
    if (!stack->is_fixed && stack->capacity != stack->count)
        ONNXD_TRY(resize(stack, stack->room->dtype, stack->count));
    ONNXD_TRY(onnxd_pieces_own_strings(stack->env, &stack->room));
    *out_tensor = stack->room;
    stack->room = NULL;
    return NULL;
}
