#include "base/json_reader.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/utf8.h"
#include "tests/base/json_text.h"
#include "tests/base/random.h"
#include "tests/base/status_check.h"

Test(json_reader, tokens_in_order)
{
    static const char document[] = " {\"k\" : [ 12, -3.5e2 ,\"a\\n\"], \"\\u006b\":{}, \"n\":null}";
    static const struct {
        onnxd_json_kind kind;
        const char *text;
        size_t offset;
    } expected[] = {
        {ONNXD_JSON_OBJECT_BEGIN, NULL, 1},  {ONNXD_JSON_KEY, "k", 2},
        {ONNXD_JSON_ARRAY_BEGIN, NULL, 8},   {ONNXD_JSON_NUMBER, "12", 10},
        {ONNXD_JSON_NUMBER, "-3.5e2", 14},   {ONNXD_JSON_STRING, "a\\n", 22},
        {ONNXD_JSON_ARRAY_END, NULL, 27},    {ONNXD_JSON_KEY, "\\u006b", 30},
        {ONNXD_JSON_OBJECT_BEGIN, NULL, 39}, {ONNXD_JSON_OBJECT_END, NULL, 40},
        {ONNXD_JSON_KEY, "n", 43},           {ONNXD_JSON_NULL, "null", 47},
        {ONNXD_JSON_OBJECT_END, NULL, 51},   {ONNXD_JSON_END, NULL, 52},
        {ONNXD_JSON_END, NULL, 52},
    };
    onnxd_json_reader reader;
    onnxd_json_token token;
    onnxd_json_init(&reader, document, sizeof(document) - 1);
    for (size_t i = 0; i < ONNXD_COUNT(expected); i++) {
        check_ok(onnxd_json_next(&reader, &token));
        cr_assert_eq(token.kind, expected[i].kind, "token %zu", i);
        cr_assert_eq(token.offset, expected[i].offset, "token %zu at %zu", i, token.offset);
        if (expected[i].text != NULL) {
            cr_assert_eq(token.length, strlen(expected[i].text), "token %zu", i);
            cr_assert_eq(memcmp(token.text, expected[i].text, token.length), 0, "token %zu", i);
            cr_assert_eq(token.has_escapes, strchr(expected[i].text, '\\') != NULL);
        }
    }
}

Test(json_reader, errors_say_where_and_what)
{
    check_error(read_all("[1,]", 4, false), ONNXD_INVALID_ARGUMENT,
                "json at byte 3: expected a value, found ']'");
    check_error(read_all("[1 2]", 5, false), ONNXD_INVALID_ARGUMENT,
                "json at byte 3: expected ',' or ']', found '2'");
    check_error(read_all("{\"a\" 1}", 7, false), ONNXD_INVALID_ARGUMENT,
                "json at byte 5: expected ':', found '1'");
    check_error(read_all("{\"a\":1,}", 8, false), ONNXD_INVALID_ARGUMENT,
                "json at byte 7: expected a quoted key, found '}'");
    check_error(read_all("[\"a\n\"]", 6, false), ONNXD_INVALID_ARGUMENT,
                "json at byte 3: expected control characters to be escaped, found byte 0x0a");
    check_error(read_all("[1", 2, false), ONNXD_INVALID_ARGUMENT,
                "json at byte 2: expected ',' or ']', found the end");
    check_error(read_all("[1.]", 4, false), ONNXD_INVALID_ARGUMENT,
                "json at byte 1: expected a well-formed number, found '1'");
    check_error(read_all("[] x", 4, false), ONNXD_INVALID_ARGUMENT,
                "json at byte 3: expected nothing after the document, found 'x'");
}

Test(json_reader, skip_takes_whole_values)
{
    static const char document[] =
        "{\"a\":[1,[2,{\"x\":[]}],\"]\"],\"b\":{\"c\":{\"d\":1}},\"e\":5,\"f\":true}";
    onnxd_json_reader reader;
    onnxd_json_token token;
    onnxd_json_init(&reader, document, sizeof(document) - 1);
    check_ok(onnxd_json_next(&reader, &token));
    static const char *const keys[] = {"a", "b", "e", "f"};
    for (size_t i = 0; i < ONNXD_COUNT(keys); i++) {
        check_ok(onnxd_json_next(&reader, &token));
        cr_assert(onnxd_json_text_is(&token, keys[i]));
        if (i % 2 == 0)
            check_ok(onnxd_json_next(&reader, &token));
        check_ok(onnxd_json_skip(&reader, &token));
    }
    check_ok(onnxd_json_next(&reader, &token));
    cr_assert_eq(token.kind, ONNXD_JSON_OBJECT_END);
    check_ok(onnxd_json_next(&reader, &token));
    cr_assert_eq(token.kind, ONNXD_JSON_END);

    onnxd_json_init(&reader, "[[1,}]]", 7);
    check_ok(onnxd_json_next(&reader, &token));
    check_error(onnxd_json_skip(&reader, &token), ONNXD_INVALID_ARGUMENT, "byte 4");
}

static onnxd_json_token read_string(const char *bytes, size_t length)
{
    onnxd_json_reader reader;
    onnxd_json_token token = {0};
    onnxd_json_init(&reader, bytes, length);
    check_ok(onnxd_json_next(&reader, &token));
    cr_assert_eq(token.kind, ONNXD_JSON_STRING);
    return token;
}

Test(json_reader, strings_decode)
{
    static const struct {
        text json, decoded;
    } cases[] = {
        {T("\"\""), T("")},
        {T("\"plain\""), T("plain")},
        {T("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\""), T("\"\\/\b\f\n\r\t")},
        {T("\"a\\u0000b\""), T("a\0b")},
        {T("\"\\u0041\\u007f\\u0080\\u07ff\\u0800\\uFFFF\""),
         T("A\x7f\xc2\x80\xdf\xbf\xe0\xa0\x80\xef\xbf\xbf")},
        {T("\"\\ud83d\\ude00\""), T("\xf0\x9f\x98\x80")},
        {T("\"\\uD800\\uDC00x\\uDBFF\\uDFFF\""), T("\xf0\x90\x80\x80x\xf4\x8f\xbf\xbf")},
        {T("\"\xc3\xa9\\n\xc3\xa9\""), T("\xc3\xa9\n\xc3\xa9")},
        {T("\"long enough for a word \\n and another word behind\""),
         T("long enough for a word \n and another word behind")},
    };
    for (size_t i = 0; i < ONNXD_COUNT(cases); i++) {
        char buffer[128], out[128];
        memcpy(buffer, cases[i].json.bytes, cases[i].json.length);
        onnxd_json_token token = read_string(buffer, cases[i].json.length);
        size_t length = onnxd_json_decoded_length(&token);
        cr_assert_eq(length, cases[i].decoded.length, "case %zu", i);
        memset(out, '#', sizeof(out));
        onnxd_json_decode(&token, out);
        cr_assert_eq(memcmp(out, cases[i].decoded.bytes, length), 0, "case %zu", i);
        cr_assert_eq(out[length], '#');
        onnxd_json_decode(&token, buffer + 1);
        cr_assert_eq(memcmp(buffer + 1, cases[i].decoded.bytes, length), 0, "case %zu", i);
        cr_assert_eq(buffer[0], '"');
    }
}

Test(json_reader, text_is_compares_what_is_meant)
{
    onnxd_json_token token = read_string("\"shape\"", 7);
    cr_assert(onnxd_json_text_is(&token, "shape"));
    cr_assert_not(onnxd_json_text_is(&token, "shap"));
    cr_assert_not(onnxd_json_text_is(&token, "shapes"));
    cr_assert_not(onnxd_json_text_is(&token, ""));
    token = read_string("\"sh\\u0061pe\"", 12);
    cr_assert(onnxd_json_text_is(&token, "shape"));
    cr_assert_not(onnxd_json_text_is(&token, "shapes"));
    cr_assert_not(onnxd_json_text_is(&token, "sha"));
    cr_assert_not(onnxd_json_text_is(&token, "sh\\u0061pe"));
    token = read_string("\"shape\\u0000\"", 13);
    cr_assert_not(onnxd_json_text_is(&token, "shape"));
    token = read_string("\"\\u00e9\"", 8);
    cr_assert(onnxd_json_text_is(&token, "\xc3\xa9"));
    cr_assert_not(onnxd_json_text_is(&token, "\xc3"));
}

Test(json_reader, escape_and_read_back)
{
    uint64_t random = 3;
    for (int round = 0; round < 2000; round++) {
        char bytes[64], json[64 * 6 + 2], decoded[64 * 3];
        size_t length = random_below(&random, sizeof(bytes) + 1);
        bool ascii = round % 2 == 0;
        for (size_t i = 0; i < length; i++)
            bytes[i] = (char)random_below(&random, ascii ? 128 : 256);
        json[0] = '"';
        size_t escaped = onnxd_json_escape(json + 1, bytes, length);
        cr_assert_leq(escaped, 6 * length);
        json[1 + escaped] = '"';
        onnxd_json_token token = read_string(json, escaped + 2);
        size_t decoded_length = onnxd_json_decoded_length(&token);
        cr_assert_leq(decoded_length, sizeof(decoded));
        onnxd_json_decode(&token, decoded);
        if (ascii) {
            cr_assert_eq(decoded_length, length);
            cr_assert_eq(memcmp(decoded, bytes, length), 0);
        }
        cr_assert(onnxd_utf8_is_valid(decoded, decoded_length));
    }
}

Test(json_reader, lines)
{
    static const char document[] = "a\nbb\n\nc";
    static const size_t lines[] = {1, 1, 2, 2, 2, 3, 4, 4, 4};
    for (size_t offset = 0; offset < ONNXD_COUNT(lines); offset++)
        cr_assert_eq(onnxd_json_line(document, sizeof(document) - 1, offset), lines[offset],
                     "offset %zu", offset);
    cr_assert_eq(onnxd_json_line(document, sizeof(document) - 1, SIZE_MAX), 4);
    cr_assert_eq(onnxd_json_line("", 0, 0), 1);
}

Test(json_reader, allocates_nothing)
{
    static const char document[] = "{\"a\\n\":[1.5,{\"b\":\"\\u00e9\"},[]],\"c\":null}";
    onnxd_json_reader reader;
    onnxd_json_token token = {0};
    uint64_t calls = onnxd_alloc_query().calls;
    onnxd_json_init(&reader, document, sizeof(document) - 1);
    do {
        cr_assert_null(onnxd_json_next(&reader, &token));
    } while (token.kind != ONNXD_JSON_END);
    cr_assert_eq(onnxd_alloc_query().calls, calls);
}

/* Random damage to a document ends in tokens or an error, and never in a read beyond the text. */
Test(json_reader, survives_mutation)
{
    static const char document[] =
        "{\"inputs\":[{\"name\":\"x\\u00e9\",\"shape\":[1,3],\"datatype\":"
        "\"FP32\",\"data\":[1.5,-2e3,NaN]}],\"id\":\"\xe2\x82\xac\"}";
    static const char alphabet[] = "{}[]\",:\\u0129eE+-.tfnNI \n\xc3\x80\xff";
    uint64_t random = 4;
    int accepted_count = 0;
    for (int round = 0; round < 200000; round++) {
        char bytes[sizeof(document)];
        size_t length = sizeof(document) - 1;
        memcpy(bytes, document, sizeof(document));
        for (uint64_t edits = 1 + random_below(&random, 3); edits > 0; edits--)
            bytes[random_below(&random, length)] =
                alphabet[random_below(&random, sizeof(alphabet) - 1)];
        if (round % 4 == 0)
            length = random_below(&random, length);
        onnxd_status *status = read_all(bytes, length, false);
        accepted_count += status == NULL ? 1 : 0;
        onnxd_status_free(status);
    }
    cr_assert(accepted_count > 1000 && accepted_count < 100000, "%d accepted", accepted_count);
}

static bool text_is(const char *token_text, bool has_escapes, const char *expected)
{
    /* Both end where the block ends, so that a sanitizer sees a read beyond them. */
    size_t length = strlen(token_text);
    char *copy = malloc(length == 0 ? 1 : length);
    char *wanted = strdup(expected);
    memcpy(copy, token_text, length);
    onnxd_json_token token = {
        .kind = ONNXD_JSON_STRING, .text = copy, .length = length, .has_escapes = has_escapes};
    bool result = onnxd_json_text_is(&token, wanted);
    free(copy);
    free(wanted);
    return result;
}

Test(json_reader, comparisons_stay_inside_both_texts)
{
    cr_assert(text_is("ab", false, "ab"));
    cr_assert_not(text_is("ab", false, "abcdefghijklmnopqrstuvwxyz"));
    cr_assert_not(text_is("abcdefghijklmnopqrstuvwxyz", false, "ab"));
    cr_assert_not(text_is("", false, "a"));
    cr_assert(text_is("", false, ""));
    cr_assert(text_is("a\\u20ac", true, "a\xe2\x82\xac"));
    cr_assert_not(text_is("a\\u20ac", true, "a"));
    cr_assert_not(text_is("a\\u20ac", true, "a\xe2\x82"));
    cr_assert_not(text_is("a\\ud83d\\ude00", true, "a"));
    cr_assert_not(text_is("a\\u0000", true, "a"));
    cr_assert_not(text_is("\\u0061", true, "ab"));
}
