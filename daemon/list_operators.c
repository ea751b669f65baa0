#include <stdlib.h>

#include "daemon/command.h"
#include "daemon/operator_table.h"
#include "ops/ops.h"

#define MAX_TEXT_BYTES ((size_t)16 * 1024 * 1024)

int onnxd_command_list_operators(const onnxd_invocation *invocation, const onnxd_config *config)
{
    (void)invocation;
    onnxd_operator_list list;
    onnxd_strbuf text;
    onnxd_status *status = onnxd_operator_list_init(onnxd_ops(), &list);
    if (status != NULL)
        return onnxd_cli_fail(status, false);
    onnxd_strbuf_init(&text, MAX_TEXT_BYTES);
    if (config->operators_json)
        onnxd_operators_write_json(&list, &text);
    else if (config->operators_markdown)
        onnxd_operators_write_markdown(&list, &text);
    else
        onnxd_operators_write_text(&list, &text);
    bool failed = text.failed || fwrite(text.data, 1, text.length, stdout) != text.length ||
                  fflush(stdout) != 0;
    onnxd_strbuf_deinit(&text);
    onnxd_operator_list_deinit(&list);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
