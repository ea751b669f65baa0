#include "base/status.h"

#include <criterion/criterion.h>
#include <string.h>

#include "base/alloc.h"
#include "tests/base/status_check.h"

Test(status, null_is_success)
{
    cr_assert_eq(onnxd_status_code(NULL), ONNXD_OK);
    cr_assert_str_eq(onnxd_status_message(NULL), "ok");
    cr_assert_eq(onnxd_status_requested_bytes(NULL), 0);
    cr_assert_eq(onnxd_status_available_bytes(NULL), 0);
    cr_assert_null(onnxd_status_context(NULL, "never seen"));
    cr_assert_null(onnxd_status_clone(NULL));
    cr_assert_null(onnxd_status_join(NULL, NULL));
    onnxd_status_free(NULL);
}

Test(status, carries_code_and_message)
{
    onnxd_status *status = onnxd_error(ONNXD_NOT_FOUND, "model '%s' has no version %d", "m", 3);
    cr_assert_eq(onnxd_status_code(status), ONNXD_NOT_FOUND);
    cr_assert_str_eq(onnxd_status_message(status), "model 'm' has no version 3");
    onnxd_status_free(status);
}

Test(status, context_comes_first)
{
    onnxd_status *status = onnxd_error(ONNXD_INVALID_ARGUMENT, "inner");
    status = onnxd_status_context(status, "outer %d", 1);
    cr_assert_eq(onnxd_status_code(status), ONNXD_INVALID_ARGUMENT);
    cr_assert_str_eq(onnxd_status_message(status), "outer 1: inner");
    onnxd_status_free(status);
}

Test(status, out_of_memory_has_both_numbers)
{
    onnxd_status *status = onnxd_error_out_of_memory("weights", 300, 200);
    status = onnxd_status_context(status, "model m");
    onnxd_status *copy = onnxd_status_clone(status);
    onnxd_status_free(status);
    cr_assert_eq(onnxd_status_code(copy), ONNXD_OUT_OF_MEMORY);
    cr_assert_eq(onnxd_status_requested_bytes(copy), 300);
    cr_assert_eq(onnxd_status_available_bytes(copy), 200);
    check_error(copy, ONNXD_OUT_OF_MEMORY,
                "model m: no memory for weights: 300 bytes requested, 200 available");
    check_error(onnxd_error_out_of_memory("a line", 7, UINT64_MAX), ONNXD_OUT_OF_MEMORY,
                "no memory for a line: 7 bytes requested");
}

Test(status, join_keeps_the_first)
{
    onnxd_status *first = onnxd_error(ONNXD_NOT_FOUND, "first");
    onnxd_status *second = onnxd_error(ONNXD_INTERNAL, "second");
    onnxd_status *joined = onnxd_status_join(first, second);
    cr_assert_eq(joined, first);
    joined = onnxd_status_join(joined, NULL);
    cr_assert_eq(joined, first);
    onnxd_status_free(joined);
    check_error(onnxd_status_join(NULL, onnxd_error(ONNXD_INTERNAL, "x")), ONNXD_INTERNAL, "x");
}

Test(status, long_messages_are_cut)
{
    char text[5000];
    memset(text, 'a', sizeof(text));
    text[sizeof(text) - 1] = '\0';
    onnxd_status *status = onnxd_error(ONNXD_INTERNAL, "%s", text);
    cr_assert_eq(strlen(onnxd_status_message(status)), 1023);
    status = onnxd_status_context(status, "%s", text);
    cr_assert_eq(strlen(onnxd_status_message(status)), 1023);
    onnxd_status_free(status);
}

Test(status, error_without_memory_is_static)
{
    uint64_t live = onnxd_alloc_query().live_count;
    onnxd_alloc_fail_at(1, 1);
    onnxd_status *status = onnxd_error(ONNXD_NOT_FOUND, "lost");
    onnxd_status *again = onnxd_error_out_of_memory("lost", 1, 2);
    cr_assert_eq(onnxd_status_code(status), ONNXD_OUT_OF_MEMORY);
    cr_assert_eq(onnxd_status_requested_bytes(again), 0);
    cr_assert_eq(onnxd_status_context(status, "more"), status);
    cr_assert_eq(onnxd_status_clone(status), status);
    onnxd_alloc_fail_at(0, 0);
    onnxd_status_free(status);
    onnxd_status_free(again);
    cr_assert_eq(onnxd_alloc_query().live_count, live);
}

Test(status, context_without_memory_keeps_the_cause)
{
    onnxd_status *status = onnxd_error(ONNXD_NOT_FOUND, "cause");
    onnxd_alloc_fail_at(1, 0);
    status = onnxd_status_context(status, "more");
    check_error(status, ONNXD_NOT_FOUND, "cause");
}

static onnxd_status *fail_or_reach(onnxd_status *status, int *reached)
{
    ONNXD_TRY(status);
    *reached = 1;
    return NULL;
}

Test(status, try_returns_errors_only)
{
    int reached = 0;
    check_error(fail_or_reach(onnxd_error(ONNXD_CANCELLED, "c"), &reached), ONNXD_CANCELLED, "c");
    cr_assert_eq(reached, 0);
    check_ok(fail_or_reach(NULL, &reached));
    cr_assert_eq(reached, 1);
}

Test(status, codes_have_text_and_http)
{
    for (int code = 0; code < ONNXD_CODE_COUNT; code++) {
        cr_assert_not_null(onnxd_code_text((onnxd_code)code));
        int http = onnxd_code_http((onnxd_code)code);
        cr_assert(http == 200 || (http >= 400 && http < 600));
    }
    cr_assert_eq(onnxd_code_http(ONNXD_OK), 200);
    cr_assert_eq(onnxd_code_http(ONNXD_PAYLOAD_TOO_LARGE), 413);
    cr_assert_eq(onnxd_code_http((onnxd_code)9999), 500);
    cr_assert_str_eq(onnxd_code_text((onnxd_code)9999), "unknown error");
}
