#include <stdlib.h>

#include "daemon/check.h"
#include "daemon/command.h"

int onnxd_command_check_config(const onnxd_invocation *invocation, const onnxd_config *config)
{
    (void)config;
    const char *file = invocation->positionals[0];
    onnxd_config_sources sources = {.file = file};
    onnxd_config_report report;
    onnxd_config *loaded = NULL;

    onnxd_config_report_init(&report);
    onnxd_status *status = onnxd_config_load(&sources, &report, &loaded);
    if (status == NULL)
        status = onnxd_check_config(loaded, &report);
    if (report.errors.length != 0)
        fputs(report.errors.data, stderr);
    onnxd_config_report_deinit(&report);
    onnxd_config_destroy(loaded);
    if (status != NULL)
        return onnxd_cli_fail(status, true);
    printf("%s: no problems found\n", file);
    return EXIT_SUCCESS;
}

int onnxd_command_config_reference(const onnxd_invocation *invocation, const onnxd_config *config)
{
    (void)invocation;
    (void)config;
    onnxd_strbuf text;
    onnxd_strbuf_init(&text, (size_t)1024 * 1024);
    onnxd_config_write_reference(&text);
    bool failed = text.failed || fwrite(text.data, 1, text.length, stdout) != text.length ||
                  fflush(stdout) != 0;
    onnxd_strbuf_deinit(&text);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
