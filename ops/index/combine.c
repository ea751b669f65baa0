#include "ops/index/combine.h"

#include <string.h>

#include "base/size_math.h"
#include "ops/choice.h"
#include "ops/support.h"
#include "ops/types.h"

static const char *const names[] = {[ONNXD_REDUCTION_NONE] = "none",
                                    [ONNXD_REDUCTION_ADD] = "add",
                                    [ONNXD_REDUCTION_MUL] = "mul",
                                    [ONNXD_REDUCTION_MAX] = "max",
                                    [ONNXD_REDUCTION_MIN] = "min"};

onnxd_status *onnxd_reduction_parse(const onnxd_node *node, int64_t opset,
                                    onnxd_reduction *out_reduction)
{
    size_t known = opset < 18 ? ONNXD_REDUCTION_MAX : ONNXD_COUNT(names);
    size_t choice = ONNXD_REDUCTION_NONE;
    ONNXD_TRY(onnxd_op_choice(node, "reduction", names, known, &choice));
    *out_reduction = (onnxd_reduction)choice;
    return NULL;
}

onnxd_status *onnxd_reduction_check(const onnxd_node *node, onnxd_dtype dtype,
                                    onnxd_reduction reduction)
{
    bool is_complex = dtype == ONNXD_COMPLEX64 || dtype == ONNXD_COMPLEX128;
    bool has_order = reduction == ONNXD_REDUCTION_MAX || reduction == ONNXD_REDUCTION_MIN;
    if ((is_complex && has_order) || (dtype == ONNXD_STRING && reduction == ONNXD_REDUCTION_MUL))
        return onnxd_op_error(node, "reduction '%s' is not defined for elements of type %s",
                              names[reduction], onnxd_dtype_name(dtype));
    return NULL;
}

typedef struct combine_kernel {
    void (*at)(void *out, const void *updates, const int64_t *offsets, size_t count);
    void (*run)(void *out, const void *updates, size_t count);
} combine_kernel;

#define add_OF(C, a, b) ((a) + (b))
#define mul_OF(C, a, b) ((a) * (b))
#define max_OF(C, a, b) ((a) > (b) ? (a) : (b))
#define min_OF(C, a, b) ((a) < (b) ? (a) : (b))
#define or_OF(C, a, b) ((a) | (b))
#define and_OF(C, a, b) ((a) & (b))

#define KERNEL(op, id, T, C, LOAD, STORE)                                                          \
    static void op##_at_##id(void *out_data, const void *updates_data, const int64_t *offsets,     \
                             size_t count)                                                         \
    {                                                                                              \
        T *out = out_data;                                                                         \
        const T *updates = updates_data;                                                           \
        for (size_t i = 0; i < count; i++) {                                                       \
            C a = LOAD(C, out[offsets[i]]), b = LOAD(C, updates[i]);                               \
            out[offsets[i]] = STORE(T, op##_OF(C, a, b));                                          \
        }                                                                                          \
    }                                                                                              \
    static void op##_run_##id(void *out_data, const void *updates_data, size_t count)              \
    {                                                                                              \
        T *out = out_data;                                                                         \
        const T *updates = updates_data;                                                           \
        ONNXD_VECTORIZE                                                                            \
        for (size_t i = 0; i < count; i++) {                                                       \
            C a = LOAD(C, out[i]), b = LOAD(C, updates[i]);                                        \
            out[i] = STORE(T, op##_OF(C, a, b));                                                   \
        }                                                                                          \
    }

#define LOAD_BOOL(C, x) ((C)((x) != 0))
#define EACH_BOOL(X, op) X(op, BOOL, uint8_t, unsigned, LOAD_BOOL, ONNXD_STORE_PLAIN)
#define EACH_COMPLEX(X, op)                                                                        \
    X(op, COMPLEX64, float _Complex, float _Complex, ONNXD_LOAD_PLAIN, ONNXD_STORE_PLAIN)          \
    X(op, COMPLEX128, double _Complex, double _Complex, ONNXD_LOAD_PLAIN, ONNXD_STORE_PLAIN)
#define EACH_SUMMED(X, op)                                                                         \
    ONNXD_EACH_FLOAT(X, op) ONNXD_EACH_INTEGER_WRAPPING(X, op) EACH_COMPLEX(X, op)
EACH_SUMMED(KERNEL, add)
EACH_SUMMED(KERNEL, mul)
ONNXD_EACH_NUMBER(KERNEL, max)
ONNXD_EACH_NUMBER(KERNEL, min)
EACH_BOOL(KERNEL, or)
EACH_BOOL(KERNEL, and)

#define ENTRY(op, id, T, C, LOAD, STORE) [ONNXD_##id] = {op##_at_##id, op##_run_##id},
static const combine_kernel kernels[][ONNXD_DTYPE_COUNT] = {
    [ONNXD_REDUCTION_ADD] = {EACH_SUMMED(ENTRY, add) EACH_BOOL(ENTRY, or)},
    [ONNXD_REDUCTION_MUL] = {EACH_SUMMED(ENTRY, mul) EACH_BOOL(ENTRY, and)},
    [ONNXD_REDUCTION_MAX] = {ONNXD_EACH_NUMBER(ENTRY, max) EACH_BOOL(ENTRY, or)},
    [ONNXD_REDUCTION_MIN] = {ONNXD_EACH_NUMBER(ENTRY, min) EACH_BOOL(ENTRY, and)},
};

#define DEFINE_PUT(bytes, T)                                                                       \
    static void put_##bytes(void *out_data, const void *updates_data, const int64_t *offsets,      \
                            size_t count)                                                          \
    {                                                                                              \
        T *out = out_data;                                                                         \
        const T *updates = updates_data;                                                           \
        for (size_t i = 0; i < count; i++)                                                         \
            out[offsets[i]] = updates[i];                                                          \
    }
ONNXD_EACH_SIZE(DEFINE_PUT)

static void put(const onnxd_combiner *c, const int64_t *offsets, const void *updates, size_t count)
{
#define PUT(bytes, T)                                                                              \
    case bytes:                                                                                    \
        put_##bytes(c->out, updates, offsets, count);                                              \
        break;
    switch (onnxd_dtype_size(c->dtype)) {
        ONNXD_EACH_SIZE(PUT)
    default:
        break;
    }
}

/* Order of bytes, a prefix first. */
static int compare_strings(const onnxd_string *a, const onnxd_string *b)
{
    size_t common = a->size < b->size ? a->size : b->size;
    int order = common == 0 ? 0 : memcmp(a->data, b->data, common);
    return order != 0 ? order : (a->size > b->size) - (a->size < b->size);
}

onnxd_status *onnxd_join_strings(const onnxd_compute *compute, onnxd_string *inout,
                                 const onnxd_string *more)
{
    size_t size;
    char *text = NULL;
    if (more->size == 0)
        return NULL;
    if (onnxd_size_add(inout->size, more->size, &size))
        text = onnxd_arena_alloc(&compute->strings->arena, size);
    if (text == NULL)
        return onnxd_op_error_code(ONNXD_RESOURCE_EXHAUSTED, compute->node,
                                   "the strings of the output need too much memory");
    if (inout->size != 0)
        memcpy(text, inout->data, inout->size);
    memcpy(text + inout->size, more->data, more->size);
    *inout = (onnxd_string){.data = text, .size = size};
    return NULL;
}

static onnxd_status *combine_string(const onnxd_combiner *c, onnxd_string *out,
                                    const onnxd_string *update)
{
    if (c->reduction == ONNXD_REDUCTION_ADD)
        return onnxd_join_strings(c->compute, out, update);
    int order = compare_strings(out, update);
    if (c->reduction == ONNXD_REDUCTION_MAX ? order < 0 : order > 0)
        *out = *update;
    return NULL;
}

static const void *updates_from(const onnxd_combiner *c, size_t first)
{
    return (const char *)c->updates + first * onnxd_dtype_size(c->dtype);
}

onnxd_status *onnxd_combine_at(const onnxd_combiner *combiner, const int64_t *offsets, size_t first,
                               size_t count)
{
    const onnxd_combiner *c = combiner;
    if (c->reduction == ONNXD_REDUCTION_NONE) {
        put(c, offsets, updates_from(c, first), count);
        return NULL;
    }
    if (c->dtype != ONNXD_STRING) {
        kernels[c->reduction][c->dtype].at(c->out, updates_from(c, first), offsets, count);
        return NULL;
    }
    const onnxd_string *updates = updates_from(c, first);
    for (size_t i = 0; i < count; i++)
        ONNXD_TRY(combine_string(c, (onnxd_string *)c->out + offsets[i], &updates[i]));
    return NULL;
}

onnxd_status *onnxd_combine_run(const onnxd_combiner *combiner, int64_t offset, size_t first,
                                size_t count)
{
    const onnxd_combiner *c = combiner;
    size_t width = onnxd_dtype_size(c->dtype);
    char *out = (char *)c->out + (size_t)offset * width;
    if (c->reduction == ONNXD_REDUCTION_NONE) {
        memcpy(out, updates_from(c, first), count * width);
        return NULL;
    }
    if (c->dtype != ONNXD_STRING) {
        kernels[c->reduction][c->dtype].run(out, updates_from(c, first), count);
        return NULL;
    }
    const onnxd_string *updates = updates_from(c, first);
    for (size_t i = 0; i < count; i++)
        ONNXD_TRY(combine_string(c, (onnxd_string *)(void *)out + i, &updates[i]));
    return NULL;
}
