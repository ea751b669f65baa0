#include <string.h>

#include "daemon/command.h"

#define HELP_COLUMN 30
#define LINE_COLUMNS 96

/* "  left              right, wrapped" */
static void write_entry(onnxd_strbuf *out, const char *left, const char *right)
{
    size_t column = strlen(left) + 2;
    onnxd_strbuf_printf(out, "  %s", left);
    if (column + 2 > HELP_COLUMN) {
        onnxd_strbuf_puts(out, "\n");
        column = 0;
    }
    onnxd_strbuf_printf(out, "%*s", (int)(HELP_COLUMN - column), "");
    column = HELP_COLUMN;
    while (*right != '\0') {
        size_t word = strcspn(right, " ");
        bool is_first = column == HELP_COLUMN;
        if (!is_first && column + 1 + word > LINE_COLUMNS) {
            onnxd_strbuf_printf(out, "\n%*s", HELP_COLUMN, "");
            column = HELP_COLUMN;
        } else if (!is_first) {
            onnxd_strbuf_puts(out, " ");
            column++;
        }
        onnxd_strbuf_append(out, right, word);
        column += word;
        right += word + (right[word] == ' ');
    }
    onnxd_strbuf_puts(out, "\n");
}

static const char *value_name(const onnxd_option *option)
{
    switch (option->kind) {
    case ONNXD_OPTION_BOOL:
        return "";
    case ONNXD_OPTION_U32:
    case ONNXD_OPTION_U64:
        return " N";
    case ONNXD_OPTION_BYTES:
        return " SIZE";
    case ONNXD_OPTION_F64:
        return " X";
    case ONNXD_OPTION_STRING:
    case ONNXD_OPTION_LEVEL:
        return " TEXT";
    case ONNXD_OPTION_LIST:
        return " TEXT ...";
    }
    return "";
}

static void write_flag(onnxd_strbuf *out, const onnxd_option *option)
{
    char left[96];
    char right[1024];
    char environment[ONNXD_OPTION_ENVIRONMENT];
    char expected[ONNXD_OPTION_EXPECTED];
    snprintf(left, sizeof(left), "%s%s", option->flag, value_name(option));
    snprintf(right, sizeof(right), "%s (%s; default %s; key %s; variable %s)", option->help,
             onnxd_option_expected(option, expected),
             option->default_text[0] != '\0' ? option->default_text : "empty", option->key,
             onnxd_option_environment(option, environment));
    write_entry(out, left, right);
}

static void write_command_help(const onnxd_command *command, onnxd_strbuf *out)
{
    onnxd_strbuf_printf(out, "usage: onnxd %s [FLAG ...] %s\n\n%s\n\nflags:\n", command->name,
                        command->positionals, command->paragraph);
    for (size_t i = 0; i < onnxd_option_count(); i++) {
        const onnxd_option *option = onnxd_option_at(i);
        if (option->flag != NULL && (option->commands & command->options) != 0)
            write_flag(out, option);
    }
    if (command->options != 0) {
        write_entry(out, "--config FILE", "the configuration file (variable ONNXD_CONFIG)");
        write_entry(out, "--set KEY=VALUE", "any option of the configuration, by its key");
        write_entry(out, "--print-config",
                    "print the configuration that results from file, environment and flags");
    }
    write_entry(out, "--help", "this text");
    if (command->options == 0)
        return;
    onnxd_strbuf_puts(out, "\nEvery option of the configuration, with its range, default and "
                           "variable: docs/config.md, or\n'onnxd config-reference'.\n");
}

void onnxd_cli_write_help(const onnxd_command *command, onnxd_strbuf *out)
{
    if (command != NULL) {
        write_command_help(command, out);
        return;
    }
    onnxd_strbuf_puts(out, "onnxd serves ONNX models over HTTP.\n\n"
                           "usage: onnxd COMMAND [FLAG ...] [ARGUMENT ...]\n\ncommands:\n");
    for (size_t i = 0; onnxd_commands[i] != NULL; i++)
        write_entry(out, onnxd_commands[i]->name, onnxd_commands[i]->summary);
    write_entry(out, "version", "print the version");
    write_entry(out, "help [COMMAND]", "this text, or a command's own");
    onnxd_strbuf_puts(out, "\n'onnxd COMMAND --help' lists the flags of a command.\n"
                           "exit codes: 0 done, 1 it failed, 64 wrong command line, 78 wrong "
                           "configuration\n");
}
