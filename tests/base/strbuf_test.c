#include "base/strbuf.h"

#include <criterion/criterion.h>
#include <stdint.h>
#include <string.h>

#include "base/alloc.h"

Test(strbuf, appends_and_stays_terminated)
{
    onnxd_strbuf buffer;
    onnxd_strbuf_init(&buffer, 10000);
    cr_assert_null(buffer.data);
    for (int i = 0; i < 1000; i++) {
        onnxd_strbuf_puts(&buffer, "ab");
        onnxd_strbuf_append(&buffer, "cdX", 2);
        onnxd_strbuf_printf(&buffer, "%d", i % 10);
        cr_assert_eq(buffer.length, 5 * ((size_t)i + 1));
        cr_assert_eq(strlen(buffer.data), buffer.length);
    }
    cr_assert_not(buffer.failed);
    cr_assert_eq(memcmp(buffer.data + 45, "abcd9", 5), 0);
    onnxd_strbuf_deinit(&buffer);
    cr_assert_null(buffer.data);
}

Test(strbuf, empty_append_makes_an_empty_string)
{
    onnxd_strbuf buffer;
    onnxd_strbuf_init(&buffer, 0);
    onnxd_strbuf_append(&buffer, NULL, 0);
    cr_assert_str_eq(buffer.data, "");
    onnxd_strbuf_puts(&buffer, "x");
    cr_assert(buffer.failed);
    cr_assert_str_eq(buffer.data, "");
    onnxd_strbuf_deinit(&buffer);
}

Test(strbuf, maximum_poisons)
{
    onnxd_strbuf buffer;
    onnxd_strbuf_init(&buffer, 5);
    onnxd_strbuf_puts(&buffer, "12345");
    cr_assert_not(buffer.failed);
    onnxd_strbuf_puts(&buffer, "6");
    cr_assert(buffer.failed);
    onnxd_strbuf_puts(&buffer, "");
    cr_assert_null(onnxd_strbuf_reserve(&buffer, 0));
    cr_assert_str_eq(buffer.data, "12345");
    onnxd_strbuf_reset(&buffer);
    cr_assert_not(buffer.failed);
    onnxd_strbuf_puts(&buffer, "abc");
    cr_assert_str_eq(buffer.data, "abc");
    onnxd_strbuf_deinit(&buffer);
}

Test(strbuf, printf_at_the_limit)
{
    for (size_t max = 0; max < 12; max++) {
        onnxd_strbuf buffer;
        onnxd_strbuf_init(&buffer, max);
        onnxd_strbuf_puts(&buffer, max >= 2 ? "ab" : "");
        size_t length = buffer.length;
        onnxd_strbuf_printf(&buffer, "%s", "12345678");
        cr_assert_eq(buffer.failed, max < length + 8);
        cr_assert_str_eq(buffer.data + length, buffer.failed ? "" : "12345678");
        onnxd_strbuf_deinit(&buffer);
    }
}

Test(strbuf, reserve_and_commit)
{
    onnxd_strbuf buffer;
    onnxd_strbuf_init(&buffer, SIZE_MAX);
    char *room = onnxd_strbuf_reserve(&buffer, 100);
    memset(room, 'a', 100);
    cr_assert_eq(buffer.length, 0);
    onnxd_strbuf_commit(&buffer, 3);
    cr_assert_str_eq(buffer.data, "aaa");
    cr_assert_null(onnxd_strbuf_reserve(&buffer, SIZE_MAX));
    cr_assert(buffer.failed);
    onnxd_strbuf_reset(&buffer);
    onnxd_strbuf_commit(&buffer, buffer.capacity);
    cr_assert(buffer.failed);
    onnxd_strbuf_deinit(&buffer);
}

Test(strbuf, memory_failure_poisons)
{
    onnxd_strbuf buffer;
    onnxd_strbuf_init(&buffer, SIZE_MAX);
    onnxd_strbuf_puts(&buffer, "start");
    onnxd_alloc_fail_at(1, 0);
    onnxd_strbuf_printf(&buffer, "%200s", "");
    cr_assert(buffer.failed);
    cr_assert_str_eq(buffer.data, "start");
    onnxd_strbuf_deinit(&buffer);
}

static void check_json(const char *text, size_t length, const char *expected)
{
    onnxd_strbuf buffer;
    onnxd_strbuf_init(&buffer, SIZE_MAX);
    onnxd_strbuf_json_string(&buffer, text, length);
    cr_assert_str_eq(buffer.data, expected);
    onnxd_strbuf_deinit(&buffer);
}

Test(strbuf, json_strings_are_escaped)
{
    check_json("", 0, "\"\"");
    check_json("plain", 5, "\"plain\"");
    check_json("a\"b\\c/", 6, "\"a\\\"b\\\\c/\"");
    check_json("\0\b\f\n\r\t\x1f\x7f", 8, "\"\\u0000\\b\\f\\n\\r\\t\\u001f\\u007f\"");
    check_json("\xc3\xa9\xf0\x9f\x98\x80", 6, "\"\xc3\xa9\xf0\x9f\x98\x80\"");
    check_json("a\xff\xc3", 3, "\"a\xef\xbf\xbd\xef\xbf\xbd\"");
}

/* Characters must survive wherever the writer cuts a long text into pieces. */
Test(strbuf, json_strings_are_not_cut_inside_characters)
{
    for (size_t shift = 0; shift < 8; shift++) {
        char text[2048];
        memset(text, 'a', shift);
        size_t length = shift;
        while (length + 4 <= sizeof(text)) {
            memcpy(text + length, "\xf0\x9f\x98\x80", 4);
            length += 4;
        }
        onnxd_strbuf buffer;
        onnxd_strbuf_init(&buffer, SIZE_MAX);
        onnxd_strbuf_json_string(&buffer, text, length);
        cr_assert_eq(buffer.length, length + 2);
        cr_assert_eq(memcmp(buffer.data + 1, text, length), 0);
        onnxd_strbuf_deinit(&buffer);
    }
    char stray[1000];
    memset(stray, 0x80, sizeof(stray));
    onnxd_strbuf buffer;
    onnxd_strbuf_init(&buffer, SIZE_MAX);
    onnxd_strbuf_json_string(&buffer, stray, sizeof(stray));
    cr_assert_eq(buffer.length, 2 + 3 * sizeof(stray));
    onnxd_strbuf_deinit(&buffer);
}
