/* Elements as JSON and as binary: every type, exact values, exact sizes. */
#include <math.h>
#include <string.h>

#include <criterion/criterion.h>

#include "base/alloc.h"
#include "http/tensor_binary.h"
#include "http/tensor_element.h"
#include "tests/base/random.h"

#define MAX_TEXT ((size_t)1 << 24)

static onnxd_status *decode(onnxd_http_tensor_target *target, char *text, size_t length)
{
    onnxd_json_reader reader;
    onnxd_json_token first;
    onnxd_json_init(&reader, text, length);
    onnxd_status *status = onnxd_json_next(&reader, &first);
    if (status != NULL)
        return status;
    return onnxd_http_tensor_from_json(&reader, &first, target);
}

/* To text and back; the result lies in memory of exactly its size. The caller frees it. */
static void *round_trip(onnxd_dtype dtype, void *data, size_t count, onnxd_strbuf *text)
{
    onnxd_shape shape = onnxd_shape_from(1, (int64_t[]){(int64_t)count});
    onnxd_tensor_view view = onnxd_tensor_view_of(data, dtype, &shape);
    onnxd_strbuf_init(text, MAX_TEXT);
    onnxd_status *status = onnxd_http_tensor_to_json(&view, "y", text);
    cr_assert(status == NULL, "%s", onnxd_status_message(status));
    onnxd_http_tensor_target target = {
        .name = {"x", 1},
        .dtype = dtype,
        .shape = shape,
        .count = count,
        .data = onnxd_alloc_aligned(count * onnxd_dtype_size(dtype), 64),
        .max_string_bytes = 1000,
    };
    cr_assert(onnxd_http_json_can_hold(dtype, count, text->length));
    status = decode(&target, text->data, text->length);
    cr_assert(status == NULL, "%s", onnxd_status_message(status));
    return target.data;
}

static void expect_same(onnxd_dtype dtype, void *data, size_t count)
{
    onnxd_strbuf text;
    void *back = round_trip(dtype, data, count, &text);
    cr_assert_eq(memcmp(back, data, count * onnxd_dtype_size(dtype)), 0, "%s",
                 onnxd_dtype_name(dtype));
    onnxd_free(back);
    onnxd_strbuf_deinit(&text);
}

/* -- numbers ----------------------------------------------------------------------------------- */

static void every_half(onnxd_dtype dtype, uint16_t nan_mask, uint16_t exponent)
{
    uint16_t *values = onnxd_alloc(65536 * sizeof(*values));
    size_t count = 0;
    for (uint32_t bits = 0; bits < 65536; bits++) {
        if ((bits & exponent) == exponent && (bits & nan_mask) != 0)
            continue; /* a NaN's payload has no text */
        values[count++] = (uint16_t)bits;
    }
    expect_same(dtype, values, count);
    onnxd_free(values);
}

Test(tensor, carries_every_fp16)
{
    every_half(ONNXD_FLOAT16, 0x3ff, 0x7c00);
}

Test(tensor, carries_every_bf16)
{
    every_half(ONNXD_BFLOAT16, 0x7f, 0x7f80);
}

Test(tensor, carries_random_bits_of_every_type)
{
    enum { COUNT = 20000 };
    static const onnxd_dtype types[] = {ONNXD_INT8,  ONNXD_INT16,  ONNXD_INT32,  ONNXD_INT64,
                                        ONNXD_UINT8, ONNXD_UINT16, ONNXD_UINT32, ONNXD_UINT64,
                                        ONNXD_FLOAT, ONNXD_DOUBLE};
    uint64_t seed = 7;
    uint64_t *values = onnxd_alloc(COUNT * sizeof(*values));
    for (size_t k = 0; k < ONNXD_COUNT(types); k++) {
        for (size_t i = 0; i < COUNT; i++)
            values[i] = random_next(&seed);
        if (types[k] == ONNXD_FLOAT) {
            for (size_t i = 0; i < 2 * COUNT; i++) {
                if (isnan(((float *)values)[i]))
                    ((float *)values)[i] = INFINITY;
            }
        }
        for (size_t i = 0; types[k] == ONNXD_DOUBLE && i < COUNT; i++) {
            if (isnan(((double *)values)[i]))
                ((double *)values)[i] = -INFINITY;
        }
        expect_same(types[k], values, COUNT);
    }
    onnxd_free(values);
}

Test(tensor, writes_the_shortest_text)
{
    float values[] = {1.1f, 0.1f, 16777216.0f, -0.0f, 1e-45f, 3.4028235e38f, NAN, -INFINITY};
    onnxd_shape shape = onnxd_shape_from(1, (int64_t[]){8});
    onnxd_tensor_view view = onnxd_tensor_view_of(values, ONNXD_FLOAT, &shape);
    onnxd_strbuf text;
    onnxd_strbuf_init(&text, MAX_TEXT);
    cr_assert_null(onnxd_http_tensor_to_json(&view, "y", &text));
    cr_assert_str_eq(text.data, "[1.1,0.1,16777216.0,-0.0,1e-45,3.4028235e+38,NaN,-Infinity]");
    onnxd_strbuf_deinit(&text);
}

/* The nearest bfloat16, found by looking at the two around the value. */
static uint16_t nearest_bf16(double value)
{
    float single = (float)value;
    uint32_t bits;
    memcpy(&bits, &single, sizeof(bits));
    uint16_t best = 0;
    double best_distance = INFINITY;
    for (int step = -1; step <= 1; step++) {
        uint16_t candidate = (uint16_t)((bits >> 16) + (uint32_t)step);
        double distance = fabs((double)onnxd_bfloat16_to_float(candidate) - value);
        bool wins_tie = distance == best_distance && (candidate & 1) == 0;
        if (distance < best_distance || wins_tie) {
            best = candidate;
            best_distance = distance;
        }
    }
    return best;
}

Test(tensor, rounds_bf16_once)
{
    uint64_t seed = 3;
    for (int i = 0; i < 200000; i++) {
        /* Close to the middle between two bfloat16, where rounding twice goes wrong. */
        uint32_t high = (uint32_t)(random_next(&seed) % 0x7e00 + 0x80) << 16 | 0x8000;
        float middle;
        memcpy(&middle, &high, sizeof(middle));
        double value = (double)middle;
        switch (i % 4) {
        case 0:
            value = nextafter(value, 0);
            break;
        case 1:
            value = nextafter(value, INFINITY);
            break;
        case 2:
            value = -value;
            break;
        default:
            value *= 1 + (double)(random_next(&seed) % 1000) * 1e-6;
            break;
        }
        uint16_t got = onnxd_float_to_bfloat16(onnxd_http_round_to_odd(value));
        cr_assert_eq(got, nearest_bf16(value), "%a: %04x, nearest is %04x", value, got,
                     nearest_bf16(value));
    }
}

/* -- strings ----------------------------------------------------------------------------------- */

Test(tensor, carries_strings)
{
    onnxd_string values[] = {
        {"", 0}, {"plain", 5}, {"\"\\\n\t\x01", 5}, {"\xf0\x9f\x98\x80", 4}, {"a\0b", 3}};
    onnxd_strbuf text;
    onnxd_string *back = round_trip(ONNXD_STRING, values, 5, &text);
    for (size_t i = 0; i < 5; i++)
        cr_assert(back[i].size == values[i].size &&
                      memcmp(back[i].data, values[i].data, values[i].size) == 0,
                  "%zu", i);
    onnxd_free(back);
    onnxd_strbuf_deinit(&text);
}

Test(tensor, refuses_strings_that_json_cannot_carry)
{
    onnxd_string value = {"\xff", 1};
    onnxd_shape shape = onnxd_shape_from(0, NULL);
    onnxd_tensor_view view = onnxd_tensor_view_of(&value, ONNXD_STRING, &shape);
    onnxd_strbuf text;
    onnxd_strbuf_init(&text, MAX_TEXT);
    onnxd_status *status = onnxd_http_tensor_to_json(&view, "y", &text);
    cr_assert_eq(onnxd_status_code(status), ONNXD_INVALID_ARGUMENT);
    onnxd_status_free(status);
    onnxd_strbuf_deinit(&text);
}

Test(tensor, limits_strings)
{
    char text[] = "[\"abcd\"]";
    onnxd_string element;
    onnxd_http_tensor_target target = {
        .name = {"x", 1},
        .dtype = ONNXD_STRING,
        .shape = onnxd_shape_from(1, (int64_t[]){1}),
        .count = 1,
        .data = &element,
        .max_string_bytes = 4,
    };
    cr_assert_null(decode(&target, text, strlen(text)));
    target.max_string_bytes = 3;
    onnxd_status *status = decode(&target, text, strlen(text));
    cr_assert_eq(onnxd_status_code(status), ONNXD_PAYLOAD_TOO_LARGE);
    onnxd_status_free(status);
    char blob[] = "\4\0\0\0abcd";
    status = onnxd_http_tensor_from_binary(&target, (onnxd_http_span){blob, 8});
    cr_assert_eq(onnxd_status_code(status), ONNXD_PAYLOAD_TOO_LARGE);
    onnxd_status_free(status);
}

/* -- limits ------------------------------------------------------------------------------------ */

Test(tensor, stops_at_the_largest_json)
{
    static float values[10000];
    onnxd_shape shape = onnxd_shape_from(1, (int64_t[]){10000});
    onnxd_tensor_view view = onnxd_tensor_view_of(values, ONNXD_FLOAT, &shape);
    onnxd_strbuf text;
    onnxd_strbuf_init(&text, 20000);
    onnxd_status *status = onnxd_http_tensor_to_json(&view, "y", &text);
    cr_assert_eq(onnxd_status_code(status), ONNXD_PAYLOAD_TOO_LARGE);
    cr_assert(strstr(onnxd_status_message(status), "binary") != NULL);
    onnxd_status_free(status);
    onnxd_strbuf_deinit(&text);
}

/* Exactly as long as it is: nothing is refused for what it might have been. */
static void expect_limit(const onnxd_tensor_view *view)
{
    onnxd_strbuf text;
    onnxd_strbuf_init(&text, MAX_TEXT);
    cr_assert_null(onnxd_http_tensor_to_json(view, "y", &text));
    size_t length = text.length;
    onnxd_strbuf_deinit(&text);
    onnxd_strbuf_init(&text, length);
    onnxd_status *status = onnxd_http_tensor_to_json(view, "y", &text);
    cr_assert(status == NULL, "%s: %s", onnxd_dtype_name(view->dtype),
              onnxd_status_message(status));
    cr_assert_eq(text.length, length);
    cr_assert_leq(text.capacity, length + 1);
    onnxd_strbuf_deinit(&text);
    onnxd_strbuf_init(&text, length - 1);
    status = onnxd_http_tensor_to_json(view, "y", &text);
    cr_assert_eq(onnxd_status_code(status), ONNXD_PAYLOAD_TOO_LARGE);
    onnxd_status_free(status);
    onnxd_strbuf_deinit(&text);
}

Test(tensor, fills_a_response_to_its_limit)
{
    enum { TEXT_BYTES = 12 << 20, COUNT = 1000 };
    static float numbers[COUNT];
    char *letters = onnxd_alloc(TEXT_BYTES);
    memset(letters, 'a', TEXT_BYTES);
    onnxd_string strings[] = {{letters, TEXT_BYTES}, {"\x01\n\xc3\xa4", 4}, {"", 0}};
    onnxd_shape shape = onnxd_shape_from(1, (int64_t[]){ONNXD_COUNT(strings)});
    onnxd_tensor_view view = onnxd_tensor_view_of(strings, ONNXD_STRING, &shape);
    expect_limit(&view);
    onnxd_strbuf text;
    onnxd_strbuf_init(&text, (size_t)64 << 20);
    cr_assert_null(onnxd_http_tensor_to_json(&view, "y", &text));
    cr_assert_leq(text.capacity, (size_t)2 * TEXT_BYTES);
    onnxd_strbuf_deinit(&text);
    onnxd_free(letters);

    for (size_t i = 0; i < COUNT; i++)
        numbers[i] = (float)i / 3;
    shape = onnxd_shape_from(1, (int64_t[]){COUNT});
    view = onnxd_tensor_view_of(numbers, ONNXD_FLOAT, &shape);
    expect_limit(&view);
}

Test(tensor, knows_what_text_and_blobs_can_hold)
{
    cr_assert(onnxd_http_json_can_hold(ONNXD_FLOAT, 3, strlen("1,2,3")));
    cr_assert_not(onnxd_http_json_can_hold(ONNXD_FLOAT, 4, strlen("1,2,3")));
    cr_assert(onnxd_http_json_can_hold(ONNXD_STRING, 2, strlen("\"\",\"\"")));
    cr_assert_not(onnxd_http_json_can_hold(ONNXD_STRING, 3, strlen("\"\",\"\"")));
    cr_assert_not(onnxd_http_json_can_hold(ONNXD_UINT8, SIZE_MAX, 1000));
    cr_assert(onnxd_http_binary_can_hold(ONNXD_FLOAT, 3, 12));
    cr_assert_not(onnxd_http_binary_can_hold(ONNXD_FLOAT, 3, 11));
    cr_assert_not(onnxd_http_binary_can_hold(ONNXD_FLOAT, 3, 13));
    cr_assert_not(onnxd_http_binary_can_hold(ONNXD_FLOAT, SIZE_MAX / 2, 12));
    cr_assert(onnxd_http_binary_can_hold(ONNXD_STRING, 3, 12));
    cr_assert_not(onnxd_http_binary_can_hold(ONNXD_STRING, 4, 15));
}

/* Binary data may start anywhere in a body. */
Test(tensor, takes_blobs_at_any_address)
{
    static const onnxd_dtype types[] = {ONNXD_INT16, ONNXD_INT32, ONNXD_INT64, ONNXD_DOUBLE};
    char body[64] = "";
    for (size_t i = 0; i < sizeof(body); i++)
        body[i] = (char)i;
    for (size_t k = 0; k < ONNXD_COUNT(types); k++) {
        size_t bytes = 4 * onnxd_dtype_size(types[k]);
        for (size_t at = 0; at < 16; at++) {
            onnxd_http_tensor_target target = {
                .name = {"x", 1},
                .dtype = types[k],
                .shape = onnxd_shape_from(1, (int64_t[]){4}),
                .count = 4,
                .data = onnxd_alloc_aligned(bytes, 64),
            };
            cr_assert_null(
                onnxd_http_tensor_from_binary(&target, (onnxd_http_span){body + at, bytes}));
            cr_assert_eq(memcmp(target.data, body + at, bytes), 0);
            onnxd_free(target.data);
        }
    }
}
