/* docs/config.md is what the table of options makes of it. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "base/path.h"
#include "config/config.h"

Test(reference, is_up_to_date)
{
    onnxd_strbuf expected;
    onnxd_file file;
    onnxd_strbuf_init(&expected, 1 << 20);
    onnxd_config_write_reference(&expected);
    cr_assert_not(expected.failed);
    onnxd_status *status =
        onnxd_file_open(NULL, ONNXD_SOURCE_DIR "/docs/config.md", 1 << 20, &file);
    cr_assert_null(status);
    cr_assert(file.size == expected.length && memcmp(file.data, expected.data, file.size) == 0,
              "docs/config.md is out of date: onnxd config-reference > docs/config.md");
    onnxd_file_close(&file);
    onnxd_strbuf_deinit(&expected);
}
