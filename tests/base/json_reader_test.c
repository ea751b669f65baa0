#include "base/json_reader.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/utf8.h"
#include "tests/base/random.h"
#include "tests/base/status_check.h"

typedef struct text {
    const char *bytes;
    size_t length;
} text;
#define T(literal)                                                                                 \
    {                                                                                              \
        literal, sizeof(literal) - 1                                                               \
    }

/* Reads a copy that ends where the text ends, so that a sanitizer sees a read beyond it. */
static onnxd_status *read_all(const char *bytes, size_t length, bool strict)
{
    char *copy = malloc(length == 0 ? 1 : length);
    onnxd_json_reader reader;
    onnxd_json_token token;
    onnxd_status *status;
    memcpy(copy, bytes, length);
    onnxd_json_init(&reader, copy, length);
    reader.strict_numbers = strict;
    do {
        status = onnxd_json_next(&reader, &token);
    } while (status == NULL && token.kind != ONNXD_JSON_END);
    free(copy);
    return status;
}

static const text accepted[] = {
    T("null"),
    T("true"),
    T("false"),
    T("0"),
    T("-0"),
    T("\"\""),
    T("[]"),
    T("{}"),
    T(" [ ] "),
    T("\t{\n}\r\n"),
    T("[1,2]"),
    T("[ 1 , 2 ]"),
    T("{\"a\":1}"),
    T("{ \"a\" : 1 }"),
    T("{\"a\":1,\"b\":2}"),
    T("{\"a\":1,\"a\":1}"),
    T("{\"\":0}"),
    T("[[],{},[{}]]"),
    T("[null,true,false,0,\"\",[],{}]"),
    T("-1"),
    T("1.5"),
    T("-1.5e10"),
    T("1E+2"),
    T("1e-2"),
    T("0e0"),
    T("0.0"),
    T("123456789012345678901234567890"),
    T("1e99999"),
    T("0e+1"),
    T("20e1"),
    T("\"a\""),
    T("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\""),
    T("\"\\u0000\""),
    T("\"\\u00e9\\uABCD\""),
    T("\"\\uD834\\uDd1e\""),
    T("\"\\ud800\\udc00\""),
    T("\"\\udbff\\udfff\""),
    T("\"\\uffff\""),
    T("\"\xc3\xa9\""),
    T("\"\xe2\x82\xac\""),
    T("\"\xf0\x9f\x98\x80\""),
    T("\"\xf4\x8f\xbf\xbf\""),
    T("\"\x7f\""),
    T("\"\xed\x9f\xbf\xee\x80\x80\""),
    T("\"/ & ' <\""),
    T("[\"\\\\u0000\"]"),
    T("\"new\\u000Aline\""),
    T("\"\xe2\x80\xa8\""),
    T("[1]\n"),
    T("\"{[,]:}\""),
    T("[\"\\\\\\\\\"]"),
    T("\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\\n\""),
    T(" 7 "),
    T("\"\\ud7ff\""),
};

static const text refused[] = {
    /* nothing, or white space of other kinds */
    T(""),
    T(" "),
    T("\n"),
    T("\xef\xbb\xbf[]"),
    T("\xef\xbb\xbf"),
    T("[\x0c]"),
    T("\x0b[]"),
    T("\xc2\xa0[]"),
    T("[\xe2\x81\xa0]"),
    T("\0"),
    T("[]\0"),
    T("\0[]"),
    /* UTF-16 */
    T("[\0]\0"),
    T("\xff\xfe[\0]\0"),
    T("\0[\0]"),
    /* numbers */
    T("-"),
    T("+1"),
    T("+"),
    T("01"),
    T("-01"),
    T("00"),
    T("-00"),
    T("[012]"),
    T("1."),
    T("-1."),
    T("[1.]"),
    T("1.e1"),
    T(".5"),
    T("-.5"),
    T("[.123]"),
    T("1e"),
    T("1e+"),
    T("1E-"),
    T("[0e]"),
    T("0e+"),
    T("[1eE2]"),
    T("1e+-2"),
    T("0x1"),
    T("[0x42]"),
    T("1_0"),
    T("1 000"),
    T("[1 2]"),
    T("--1"),
    T("[-]"),
    T("++1"),
    T("[-a]"),
    T("[1a]"),
    T("[1.2a]"),
    T("9.3e+"),
    T("[2.e3]"),
    T("1.5.2"),
    T("[- 1]"),
    T("[1e1.5]"),
    T("\xef\xbc\x91"),
    T("[1+2]"),
    T("[0.3e]"),
    T("[-2.]"),
    /* what looks like the special numbers */
    T("nan"),
    T("NAN"),
    T("-NaN"),
    T("+NaN"),
    T("inf"),
    T("Inf"),
    T("-Inf"),
    T("INFINITY"),
    T("infinity"),
    T("+Infinity"),
    T("Infinit"),
    T("[NaN1]"),
    T("- Infinity"),
    T("[NaNNaN]"),
    /* literals */
    T("nul"),
    T("nulll"),
    T("True"),
    T("TRUE"),
    T("tru"),
    T("truee"),
    T("falsee"),
    T("fals"),
    T("undefined"),
    T("[truefalse]"),
    T("a"),
    T("*"),
    T("'a'"),
    T("$"),
    T("\xe5"),
    T("n"),
    /* arrays */
    T("["),
    T("]"),
    T("[1"),
    T("[1,"),
    T("[1,]"),
    T("[,1]"),
    T("[,]"),
    T("[1,,2]"),
    T("[1}"),
    T("[1:2]"),
    T("[;]"),
    T("[1;2]"),
    T("[[1]"),
    T("[]]"),
    T("[1]]"),
    T("[\"a\",\n4\n,1,"),
    T("[\"\": 1]"),
    T("[1\n2]"),
    T("[\"a\" \"b\"]"),
    T("[1,\n1\n,1"),
    T("[\"x\""),
    T("[*]"),
    /* objects */
    T("{"),
    T("}"),
    T("{]"),
    T("{1}"),
    T("{1:2}"),
    T("{\"a\"}"),
    T("{\"a\":}"),
    T("{\"a\" 1}"),
    T("{\"a\":1"),
    T("{\"a\":1,"),
    T("{\"a\":1,}"),
    T("{,\"a\":1}"),
    T("{,}"),
    T("{\"a\":1,,}"),
    T("{\"a\"::1}"),
    T("{\"a\":1:2}"),
    T("{a:1}"),
    T("{'a':1}"),
    T("{\"a\":1 \"b\":2}"),
    T("{\"a\",1}"),
    T("{\"a\":1]"),
    T("{\"a\":1}}"),
    T("{null:1}"),
    T("{true:1}"),
    T("{[]:1}"),
    T("{\"a\":\"b\"}#"),
    T("{\"a\":/*c*/1}"),
    T("{\"a\":\"a\" 123}"),
    T("{\"a\""),
    T("{\"a\":"),
    T("{\"a"),
    T("{\"a\":1,\"b\"}"),
    T("{\"\\q\":1}"),
    T("{\"\xff\":1}"),
    T("{\"a\":1;\"b\":2}"),
    /* after the document */
    T("1 2"),
    T("[][]"),
    T("{}{}"),
    T("null null"),
    T("[] x"),
    T("{},"),
    T("\"a\"\"b\""),
    T("1]"),
    T("[1]//"),
    T("[1]/**/"),
    T("//\n1"),
    T("/**/1"),
    T("#\n1"),
    T("<null>"),
    T("[1] \xff"),
    /* strings */
    T("\""),
    T("\"a"),
    T("\"\\\""),
    T("\"\\"),
    T("[\"\\\\\\\"]"),
    T("\"\\a\""),
    T("\"\\x41\""),
    T("\"\\'\""),
    T("\"\\0\""),
    T("\"\\v\""),
    T("\"\\U0041\""),
    T("\"\\ \""),
    T("\"\\\n\""),
    T("\"\\\xc3\xa9\""),
    T("\"\\u\""),
    T("\"\\u1\""),
    T("\"\\u12\""),
    T("\"\\u123\""),
    T("\"\\u123g\""),
    T("\"\\u 123\""),
    T("\"\\u+123\""),
    T("\"\\u-123\""),
    T("\"\\u00"),
    T("\"\\u{41}\""),
    T("\"\n\""),
    T("\"\t\""),
    T("\"\r\""),
    T("\"\0\""),
    T("\"\x1f\""),
    T("\"\x01\""),
    T("\"aaaaaaaaaaaaaaaa\x1f\""),
    T("\"aaaaaaa\naaaaaaaaa\""),
    T("'single'"),
    /* surrogates */
    T("\"\\ud800\""),
    T("\"\\udbff\""),
    T("\"\\udc00\""),
    T("\"\\udfff\""),
    T("\"\\ud800a\""),
    T("\"\\ud800\\n\""),
    T("\"\\ud800\\u0041\""),
    T("\"\\ud800\\ud800\""),
    T("\"\\udc00\\ud800\""),
    T("\"\\ud800\\ue000\""),
    T("\"\\ud800\\u\""),
    T("\"\\ud800\\udc0\""),
    T("\"\\ud800\\"),
    T("\"\\ud800\\udc00\\udc00\""),
    T("\"\\uDADA\""),
    T("\"\\uDd1e\\uD834\""),
    T("\"\\ud800u\""),
    /* UTF-8 */
    T("\"\x80\""),
    T("\"\xbf\""),
    T("\"\xc0\x80\""),
    T("\"\xc0\xaf\""),
    T("\"\xc1\xbf\""),
    T("\"\xe0\x80\xaf\""),
    T("\"\xe0\x9f\xbf\""),
    T("\"\xf0\x80\x80\xaf\""),
    T("\"\xf0\x8f\xbf\xbf\""),
    T("\"\xfc\x80\x80\x80\x80\xaf\""),
    T("\"\xed\xa0\x80\""),
    T("\"\xed\xbf\xbf\""),
    T("\"\xed\xa0\x80\xed\xb0\x80\""),
    T("\"\xf4\x90\x80\x80\""),
    T("\"\xf5\x80\x80\x80\""),
    T("\"\xff\""),
    T("\"\xfe\""),
    T("\"\xc3\""),
    T("\"\xe2\x82\""),
    T("\"\xf0\x9f\x98\""),
    T("\"\xc3("),
    T("\"\xc3"),
    T("\"\xf0\x9f"),
    T("\"aaaaaaaaaaaaaaaaa\xe9\""),
    T("\"\xe9t\xe9\""),
    T("[\"\xc3\xa9\xa9\"]"),
    T("[\xff]"),
    T("\"\xf8\x88\x80\x80\x80\""),
};

Test(json_reader, accepts_json)
{
    for (size_t i = 0; i < ONNXD_COUNT(accepted); i++) {
        onnxd_status *status = read_all(accepted[i].bytes, accepted[i].length, true);
        cr_assert_null(status, "%s: %s", accepted[i].bytes, onnxd_status_message(status));
    }
}

Test(json_reader, refuses_everything_else)
{
    for (size_t i = 0; i < ONNXD_COUNT(refused); i++) {
        onnxd_status *status = read_all(refused[i].bytes, refused[i].length, false);
        cr_assert_not_null(status, "number %zu is accepted: %s", i, refused[i].bytes);
        cr_assert_eq(onnxd_status_code(status), ONNXD_INVALID_ARGUMENT);
        cr_assert_eq(strncmp(onnxd_status_message(status), "json at byte ", 13), 0);
        cr_assert(onnxd_utf8_is_valid(onnxd_status_message(status),
                                      strlen(onnxd_status_message(status))));
        onnxd_status_free(status);
    }
}

/* Strings are read by the word: no position in it may hide a byte that has to be seen. */
Test(json_reader, every_byte_at_every_position)
{
    enum { LENGTH = 24 };
    for (int byte = 0; byte < 256; byte++) {
        bool plain = byte >= 0x20 && byte < 0x80 && byte != '"' && byte != '\\';
        for (size_t position = 1; position <= LENGTH; position++) {
            char bytes[LENGTH + 2];
            memset(bytes, 'a', sizeof(bytes));
            bytes[position] = (char)byte;
            bytes[0] = bytes[LENGTH + 1] = '"';
            onnxd_status *status = read_all(bytes, sizeof(bytes), true);
            if ((status == NULL) != plain)
                cr_assert_fail("byte 0x%02x at %zu: %s", byte, position,
                               onnxd_status_message(status));
            onnxd_status_free(status);
        }
    }
}

/* Cutting a document that closes something leaves none, wherever it is cut. */
Test(json_reader, refuses_every_prefix)
{
    static const char document[] = "{\"a\\u00e9\\ud800\\udc00\":[1.5e-3,-0,\"x\xe2\x82\xac\",true,"
                                   "{\"b\":[[],{}]},null,false,-Infinity,NaN]}";
    for (size_t length = 0; length < sizeof(document) - 1; length++) {
        onnxd_status *status = read_all(document, length, false);
        cr_assert_not_null(status, "the first %zu bytes are accepted", length);
        onnxd_status_free(status);
    }
    check_ok(read_all(document, sizeof(document) - 1, false));
}

Test(json_reader, special_numbers_can_be_refused)
{
    static const char *const texts[] = {"NaN", "Infinity", "-Infinity", "[NaN,-Infinity]"};
    for (size_t i = 0; i < ONNXD_COUNT(texts); i++) {
        check_ok(read_all(texts[i], strlen(texts[i]), false));
        check_error(read_all(texts[i], strlen(texts[i]), true), ONNXD_INVALID_ARGUMENT, NULL);
    }
}

static onnxd_status *read_nested(size_t depth, const char *open, const char *close,
                                 unsigned max_depth)
{
    size_t open_length = strlen(open), close_length = strlen(close);
    char *bytes = malloc(depth * (open_length + close_length) + 1);
    size_t length = 0;
    for (size_t i = 0; i < depth; i++, length += open_length)
        memcpy(bytes + length, open, open_length);
    bytes[length++] = '1';
    for (size_t i = 0; i < depth; i++, length += close_length)
        memcpy(bytes + length, close, close_length);
    onnxd_json_reader reader;
    onnxd_json_token token;
    onnxd_status *status;
    onnxd_json_init(&reader, bytes, length);
    reader.max_depth = max_depth;
    do {
        status = onnxd_json_next(&reader, &token);
    } while (status == NULL && token.kind != ONNXD_JSON_END);
    free(bytes);
    return status;
}

Test(json_reader, nesting_is_bounded)
{
    check_ok(read_nested(32, "[", "]", ONNXD_JSON_MAX_DEPTH));
    check_ok(read_nested(32, "{\"a\":", "}", ONNXD_JSON_MAX_DEPTH));
    check_ok(read_nested(16, "[{\"a\":", "}]", ONNXD_JSON_MAX_DEPTH));
    check_error(read_nested(33, "[", "]", ONNXD_JSON_MAX_DEPTH), ONNXD_INVALID_ARGUMENT,
                "json at byte 32: nested deeper than the allowed 32 levels");
    check_error(read_nested(33, "{\"a\":", "}", ONNXD_JSON_MAX_DEPTH), ONNXD_INVALID_ARGUMENT,
                "nested deeper");
    check_error(read_nested(1000000, "[", "]", ONNXD_JSON_MAX_DEPTH), ONNXD_INVALID_ARGUMENT,
                "nested deeper");
    check_error(read_nested(1000000, "{\"a\":", "}", ONNXD_JSON_MAX_DEPTH), ONNXD_INVALID_ARGUMENT,
                "nested deeper");
    check_error(read_nested(4, "[", "]", 3), ONNXD_INVALID_ARGUMENT, "allowed 3 levels");
    check_ok(read_nested(0, "[", "]", 0));
    check_error(read_nested(1, "[", "]", 0), ONNXD_INVALID_ARGUMENT, "allowed 0 levels");
    check_error(read_nested(33, "[", "]", 1000), ONNXD_INVALID_ARGUMENT, "allowed 32 levels");
}

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
