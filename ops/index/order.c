#include "ops/index/order.h"

#include <string.h>

#include "ops/types.h"

#define INTEGER_ORDER(a, b) (((a) > (b)) - ((a) < (b)))
#define REAL_ORDER(a, b) (((a) > (b)) - ((a) < (b)) + (((a) != (a)) - ((b) != (b))))

#define COMPARE(order, id, T, C, LOAD, STORE)                                                      \
    static int compare_##id(const void *a, const void *b, size_t count)                            \
    {                                                                                              \
        const T *left = a, *right = b;                                                             \
        for (size_t i = 0; i < count; i++) {                                                       \
            const C x = LOAD(C, left[i]), y = LOAD(C, right[i]);                                   \
            int result = order(x, y);                                                              \
            if (result != 0)                                                                       \
                return result;                                                                     \
        }                                                                                          \
        return 0;                                                                                  \
    }
ONNXD_EACH_FLOAT(COMPARE, REAL_ORDER)
ONNXD_EACH_INTEGER(COMPARE, INTEGER_ORDER)
COMPARE(INTEGER_ORDER, BOOL, uint8_t, uint8_t, ONNXD_LOAD_PLAIN, ONNXD_STORE_PLAIN)

/* The order of two parts one after the other is that of an array of twice as many. */
static int compare_COMPLEX64(const void *a, const void *b, size_t count)
{
    return compare_FLOAT(a, b, 2 * count);
}
static int compare_COMPLEX128(const void *a, const void *b, size_t count)
{
    return compare_DOUBLE(a, b, 2 * count);
}

static int compare_STRING(const void *a, const void *b, size_t count)
{
    const onnxd_string *left = a, *right = b;
    for (size_t i = 0; i < count; i++) {
        size_t common = left[i].size < right[i].size ? left[i].size : right[i].size;
        int result = common == 0 ? 0 : memcmp(left[i].data, right[i].data, common);
        if (result == 0)
            result = INTEGER_ORDER(left[i].size, right[i].size);
        if (result != 0)
            return result;
    }
    return 0;
}

onnxd_compare onnxd_compare_of(onnxd_dtype dtype)
{
#define ENTRY(op, id, T, C, LOAD, STORE) [ONNXD_##id] = compare_##id,
    static const onnxd_compare table[ONNXD_DTYPE_COUNT] = {
        ONNXD_EACH_NUMBER(ENTRY, )[ONNXD_BOOL] = compare_BOOL,
        [ONNXD_COMPLEX64] = compare_COMPLEX64,
        [ONNXD_COMPLEX128] = compare_COMPLEX128,
        [ONNXD_STRING] = compare_STRING,
    };
#undef ENTRY
    return table[dtype];
}

/* Elements compared or moved between two looks at whether the request still stands. */
#define CHECK_EVERY ((size_t)1 << 13)

/* What a sort compares by. */
typedef struct sort_keys {
    const onnxd_run_env *env;
    size_t since_check; /* elements */
    onnxd_compare compare;
    const char *data;
    size_t block_count, block_bytes;
} sort_keys;

static bool is_after(const sort_keys *k, int64_t a, int64_t b)
{
    return k->compare(k->data + (size_t)a * k->block_bytes, k->data + (size_t)b * k->block_bytes,
                      k->block_count) > 0;
}

/* Counts `elements` more. */
static onnxd_status *check(sort_keys *k, size_t elements)
{
    k->since_check += elements;
    if (k->since_check < CHECK_EVERY)
        return NULL;
    k->since_check = 0;
    return k->env->check(k->env);
}

/* Merges from[0, middle) and from[middle, count); of equal ones the left come first. */
static onnxd_status *merge(sort_keys *k, const int64_t *from, size_t middle, size_t count,
                           int64_t *to)
{
    size_t left = 0, right = middle, at = 0;
    while (left < middle && right < count) {
        ONNXD_TRY(check(k, k->block_count));
        to[at++] = is_after(k, from[left], from[right]) ? from[right++] : from[left++];
    }
    while (left < middle)
        to[at++] = from[left++];
    while (right < count)
        to[at++] = from[right++];
    return NULL;
}

onnxd_status *onnxd_sort_positions(const onnxd_run_env *env, int64_t *order, int64_t *scratch,
                                   size_t count, onnxd_compare compare, const void *data,
                                   size_t block_count, size_t block_bytes)
{
    sort_keys keys = {.env = env,
                      .compare = compare,
                      .data = data,
                      .block_count = block_count,
                      .block_bytes = block_bytes};
    int64_t *from = order, *to = scratch;
    for (size_t width = 1; width < count; width *= 2) {
        for (size_t i = 0; i < count; i += 2 * width) {
            size_t rest = count - i, both = rest < 2 * width ? rest : 2 * width;
            ONNXD_TRY(merge(&keys, from + i, both < width ? both : width, both, to + i));
        }
        int64_t *swapped = from;
        from = to;
        to = swapped;
    }
    if (from != order)
        memcpy(order, from, count * sizeof(*order));
    return NULL;
}

/* Flips negative numbers whole and others in the sign, which makes the order of the bits that of
 * the numbers. Adding 0 makes -0 into 0. */
static uint64_t key_of_float(float value)
{
    union {
        float f;
        uint32_t u;
    } bits = {.f = value + 0.0f};
    if (value != value)
        return UINT32_MAX;
    return (bits.u & 0x80000000u) != 0 ? (uint32_t)~bits.u : bits.u | 0x80000000u;
}

static uint64_t key_of_double(double value)
{
    const uint64_t sign = (uint64_t)1 << 63;
    union {
        double f;
        uint64_t u;
    } bits = {.f = value + 0.0};
    if (value != value)
        return UINT64_MAX;
    return (bits.u & sign) != 0 ? ~bits.u : bits.u | sign;
}

#define KEY_NARROW_SIGNED(x) ((uint64_t)((uint32_t)(int32_t)(x) ^ 0x80000000u))
#define KEY_WIDE_SIGNED(x) ((uint64_t)(x) ^ (uint64_t)1 << 63)
#define KEY_UNSIGNED(x) ((uint64_t)(x))
#define KEY_FLOAT16(x) key_of_float(onnxd_float16_to_float(x))
#define KEY_BFLOAT16(x) key_of_float(onnxd_bfloat16_to_float(x))

/* X(id, type, key) */
#define EACH_KEYED(X)                                                                              \
    X(FLOAT, float, key_of_float)                                                                  \
    X(DOUBLE, double, key_of_double)                                                               \
    X(FLOAT16, uint16_t, KEY_FLOAT16)                                                              \
    X(BFLOAT16, uint16_t, KEY_BFLOAT16)                                                            \
    X(INT8, int8_t, KEY_NARROW_SIGNED)                                                             \
    X(INT16, int16_t, KEY_NARROW_SIGNED)                                                           \
    X(INT32, int32_t, KEY_NARROW_SIGNED)                                                           \
    X(INT64, int64_t, KEY_WIDE_SIGNED)                                                             \
    X(UINT8, uint8_t, KEY_UNSIGNED)                                                                \
    X(UINT16, uint16_t, KEY_UNSIGNED)                                                              \
    X(UINT32, uint32_t, KEY_UNSIGNED)                                                              \
    X(UINT64, uint64_t, KEY_UNSIGNED)

#define DEFINE_LOAD(id, T, KEY)                                                                    \
    static void load_##id(const void *data, int64_t step, size_t count, uint64_t *keys)            \
    {                                                                                              \
        const T *from = data;                                                                      \
        for (int64_t i = 0; i < (int64_t)count; i++)                                               \
            keys[i] = KEY(from[i * step]);                                                         \
    }
EACH_KEYED(DEFINE_LOAD)

void onnxd_keys_load(onnxd_dtype dtype, const void *data, int64_t step, size_t count,
                     uint64_t *keys)
{
#define ENTRY(id, T, KEY) [ONNXD_##id] = load_##id,
    static void (*const table[ONNXD_DTYPE_COUNT])(const void *, int64_t, size_t,
                                                  uint64_t *) = {EACH_KEYED(ENTRY)};
#undef ENTRY
    table[dtype](data, step, count, keys);
}

bool onnxd_keys_are_narrow(onnxd_dtype dtype)
{
    return dtype != ONNXD_DOUBLE && dtype != ONNXD_INT64 && dtype != ONNXD_UINT64;
}
