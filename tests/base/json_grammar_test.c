#include "base/json_reader.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "tests/base/json_text.h"
#include "tests/base/status_check.h"

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

Test(json_grammar, accepts_json)
{
    for (size_t i = 0; i < ONNXD_COUNT(accepted); i++) {
        onnxd_status *status = read_all(accepted[i].bytes, accepted[i].length, true);
        cr_assert_null(status, "%s: %s", accepted[i].bytes, onnxd_status_message(status));
    }
}

Test(json_grammar, refuses_everything_else)
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
Test(json_grammar, every_byte_at_every_position)
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
Test(json_grammar, refuses_every_prefix)
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

Test(json_grammar, special_numbers_can_be_refused)
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

Test(json_grammar, nesting_is_bounded)
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
