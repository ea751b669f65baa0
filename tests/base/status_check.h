/* Checks of statuses for tests. Both end the status. */
#ifndef ONNXD_TESTS_BASE_STATUS_CHECK_H
#define ONNXD_TESTS_BASE_STATUS_CHECK_H

#include <criterion/criterion.h>
#include <string.h>

#include "base/status.h"

static inline void check_ok(onnxd_status *status)
{
    cr_assert_null(status, "unexpected error: %s", onnxd_status_message(status));
}

/* `part` must stand in the message; NULL for any. */
static inline void check_error(onnxd_status *status, onnxd_code code, const char *part)
{
    cr_assert_not_null(status, "an error was expected: %s", part != NULL ? part : "any");
    cr_assert_eq(onnxd_status_code(status), code, "code is '%s': %s",
                 onnxd_code_text(onnxd_status_code(status)), onnxd_status_message(status));
    if (part != NULL)
        cr_assert_not_null(strstr(onnxd_status_message(status), part), "'%s' is not in '%s'", part,
                           onnxd_status_message(status));
    onnxd_status_free(status);
}

#endif
