#include "support.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"

/* Copies the report's lines, with the temporary file's path replaced by "F". */
static void copy_lines(const onnxd_strbuf *lines, const char *path, char *out, size_t capacity)
{
    size_t used = 0;
    const char *from = lines->data != NULL ? lines->data : "";
    while (*from != '\0' && used + 1 < capacity) {
        if (path != NULL && strncmp(from, path, strlen(path)) == 0) {
            out[used++] = 'F';
            from += strlen(path);
        } else {
            out[used++] = *from++;
        }
    }
    out[used] = '\0';
}

static void write_file(char *path, const char *text)
{
    int descriptor = mkstemp(path);
    cr_assert(descriptor >= 0);
    cr_assert_eq(write(descriptor, text, strlen(text)), (ssize_t)strlen(text));
    close(descriptor);
}

loaded *load(const char *file, const char *const *environment, const onnxd_config_assignment *flags,
             size_t flag_count)
{
    char path[] = "/tmp/onnxd_config_XXXXXX";
    onnxd_config_report report;
    loaded *result = calloc(1, sizeof(*result));

    cr_assert_not_null(result);
    if (file != NULL)
        write_file(path, file);
    onnxd_config_sources sources = {
        .file = file != NULL ? path : NULL,
        .environment = environment,
        .flags = flags,
        .flag_count = flag_count,
    };
    onnxd_config_report_init(&report);
    onnxd_status *status = onnxd_config_load(&sources, &report, &result->config);
    result->code = onnxd_status_code(status);
    cr_assert_eq(status == NULL, result->config != NULL);
    onnxd_status_free(status);
    const char *shown = file != NULL ? path : NULL;
    copy_lines(&report.errors, shown, result->errors, sizeof(result->errors));
    copy_lines(&report.warnings, shown, result->warnings, sizeof(result->warnings));
    onnxd_config_report_deinit(&report);
    if (file != NULL)
        unlink(path);
    return result;
}

void unload(loaded *result)
{
    onnxd_config_destroy(result->config);
    free(result);
}
