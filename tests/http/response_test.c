#include "http/response.h"

#include <string.h>

#include <criterion/criterion.h>

#include "base/alloc.h"

static const onnxd_http_response_context plain = {.date = "D"};

Test(response, formats_dates)
{
    char date[ONNXD_HTTP_DATE_BYTES];
    onnxd_http_format_date(784111777, date);
    cr_assert_str_eq(date, "Sun, 06 Nov 1994 08:49:37 GMT");
    onnxd_http_format_date(0, date);
    cr_assert_str_eq(date, "Thu, 01 Jan 1970 00:00:00 GMT");
    onnxd_http_format_date(4102444799, date);
    cr_assert_str_eq(date, "Thu, 31 Dec 2099 23:59:59 GMT");
}

Test(response, hides_where_files_lie)
{
    static const struct {
        const char *message, *expected;
    } cases[] = {
        {"file '/srv/models/a/1/model.onnx' not found", "file 'model.onnx' not found"},
        {"'m' is not available: cannot open file '/a/b': no", "'m' is not available: cannot open "
                                                              "file 'b': no"},
        {"file '/a' and file '/b/c'", "file 'a' and file 'c'"},
        {"file '/it's/here' has 3 bytes", "file 'here' has 3 bytes"},
        {"file '/cut/of", "file 'of"},
        {"file '/'", "file ''"},
        {"file '/", "file '"},
        {"file 'weights.bin' leaves its directory", "file 'weights.bin' leaves its directory"},
        {"node '/conv1/Conv' (Conv): no", "node '/conv1/Conv' (Conv): no"},
        {"", ""},
    };
    for (size_t i = 0; i < ONNXD_COUNT(cases); i++) {
        char *message = onnxd_strdup(cases[i].message); /* of exactly its size */
        onnxd_http_hide_paths(message);
        cr_assert_str_eq(message, cases[i].expected);
        onnxd_free(message);
    }
}

/* The head has a fixed size: everything at once must fit. */
Test(response, has_room_for_every_field)
{
    onnxd_http_response response = {
        .status = 431,
        .content_type = "application/octet-stream",
        .part_bytes = UINT64_MAX / 2,
        .has_json_length = true,
        .allowed = UINT32_MAX,
        .retry_after_s = UINT32_MAX,
        .names_encodings = true,
        .closes = true,
    };
    onnxd_http_response_context context = {.date = "Sun, 06 Nov 1994 08:49:37 GMT",
                                           .asked_http_1_0 = true};
    unsigned count;
    const uv_buf_t *buffers = onnxd_http_response_seal(&response, &context, &count);
    cr_assert_eq(count, 1u);
    cr_assert_lt(buffers[0].len, (size_t)ONNXD_HTTP_RESPONSE_HEAD_BYTES - 32);
    cr_assert_eq(memcmp(buffers[0].base + buffers[0].len - 4, "\r\n\r\n", 4), 0);
    cr_assert(
        strstr(buffers[0].base, "Allow: GET, HEAD, POST, PUT, DELETE, PATCH, OPTIONS, TRACE"));
}

Test(response, escapes_and_cuts_errors)
{
    onnxd_http_response response = {0};
    unsigned count;
    onnxd_strbuf_init(&response.text, 1u << 20);
    onnxd_http_response_set_error(&response, 400, "a \"quote\",\r\na line and \xff");
    cr_assert_str_eq(response.text.data,
                     "{\"error\":\"a \\\"quote\\\",\\r\\na line and \xef\xbf\xbd\"}");
    char message[5000];
    memset(message, 'x', sizeof(message) - 1);
    message[sizeof(message) - 1] = '\0';
    onnxd_http_response_set_error(&response, 400, message);
    cr_assert_lt(response.text.length, 1100u);
    const uv_buf_t *buffers = onnxd_http_response_seal(&response, &plain, &count);
    cr_assert_eq(count, 2u);
    cr_assert_eq(buffers[1].len, response.text.length);
    onnxd_strbuf_deinit(&response.text);
}

Test(response, answers_without_memory)
{
    onnxd_http_response response = {0};
    unsigned count;
    onnxd_strbuf_init(&response.text, 1u << 20);
    onnxd_alloc_fail_at(1, 1);
    onnxd_http_response_set_error(&response, 503, "anything");
    onnxd_alloc_fail_at(0, 0);
    const uv_buf_t *buffers = onnxd_http_response_seal(&response, &plain, &count);
    cr_assert_eq(count, 2u);
    cr_assert_eq(strncmp(buffers[1].base, "{\"error\":\"out of memory\"}", buffers[1].len), 0);
    cr_assert(strstr(buffers[0].base, "Content-Length: 25\r\n") != NULL);
    onnxd_strbuf_deinit(&response.text);
}
