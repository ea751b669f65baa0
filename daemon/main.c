/* The entry point: reads the command line, loads the configuration, hands over to the command. */
#include <signal.h>
#include <stdlib.h>

#include "base/log.h"
#include "daemon/command.h"
#include "daemon/version.h"

#define MAX_TEXT_BYTES ((size_t)1024 * 1024)

/* Writes the text to standard output and ends it; EXIT_FAILURE when that cannot be. */
static int print(onnxd_strbuf *text)
{
    bool failed = text->failed || text->data == NULL ||
                  fwrite(text->data, 1, text->length, stdout) != text->length ||
                  fflush(stdout) != 0;
    onnxd_strbuf_deinit(text);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

static int print_help(const onnxd_command *command)
{
    onnxd_strbuf text;
    onnxd_strbuf_init(&text, MAX_TEXT_BYTES);
    onnxd_cli_write_help(command, &text);
    return print(&text);
}

static int print_config(const onnxd_config *config)
{
    onnxd_strbuf text;
    onnxd_strbuf_init(&text, MAX_TEXT_BYTES);
    onnxd_config_print(config, &text);
    return print(&text);
}

static int run_with_config(const onnxd_invocation *invocation)
{
    int exit_code = EXIT_FAILURE;
    onnxd_config *config = onnxd_cli_load_config(invocation, &exit_code);
    if (config == NULL)
        return exit_code;
    onnxd_log_set_level(config->logging_level);
    exit_code = invocation->wants_print_config ? print_config(config)
                                               : invocation->command->run(invocation, config);
    onnxd_config_destroy(config);
    return exit_code;
}

int main(int argc, char **argv)
{
    static onnxd_invocation invocation;

    /* A client, or the reader of our output, that goes away is an error of that write alone. */
    signal(SIGPIPE, SIG_IGN);
    onnxd_status *status = onnxd_cli_parse(argc, (const char *const *)argv, &invocation);
    if (status != NULL) {
        onnxd_cli_fail(status, false);
        return EX_USAGE;
    }
    if (invocation.wants_help)
        return print_help(invocation.command);
    if (invocation.wants_version)
        return printf("onnxd %s\n", ONNXD_VERSION) > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
    if (invocation.command->options == 0)
        return invocation.command->run(&invocation, NULL);
    return run_with_config(&invocation);
}
