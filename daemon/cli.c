#include "daemon/command.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/suggest.h"
#include "daemon/check.h"

/* ---- parsing ------------------------------------------------------------------------------- */

/* argv with a cursor. */
typedef struct arguments {
    const char *const *next;
    const char *const *end;
} arguments;

/* Flags of every command that takes a configuration, beyond the options' own. */
static const char config_flag[] = "--config";
static const char set_flag[] = "--set";
static const char print_flag[] = "--print-config";

static const onnxd_command *const no_command = NULL;

/* An error that ends in a hint at the help of `command`, or of the program when that is NULL. */
#define USAGE_ERROR(command, format, ...)                                                          \
    onnxd_error(ONNXD_INVALID_ARGUMENT, format "; see 'onnxd %s%s--help'", __VA_ARGS__,            \
                (command) != NULL ? (command)->name : "", (command) != NULL ? " " : "")

static onnxd_status *find_command(const char *name, const onnxd_command **out_command)
{
    onnxd_suggest suggest = {.name = name};
    for (size_t i = 0; onnxd_commands[i] != NULL; i++) {
        if (strcmp(onnxd_commands[i]->name, name) == 0) {
            *out_command = onnxd_commands[i];
            return NULL;
        }
        onnxd_suggest_offer(&suggest, onnxd_commands[i]->name);
    }
    if (suggest.best != NULL)
        return USAGE_ERROR(no_command, "unknown command '%.100s', did you mean '%s'?", name,
                           suggest.best);
    return USAGE_ERROR(no_command, "unknown command '%.100s'", name);
}

/* "--flag=value" or "--flag value". */
static onnxd_status *take_value(const onnxd_command *command, const char *flag, const char *inline_,
                                arguments *rest, const char **out_value)
{
    if (inline_ != NULL) {
        *out_value = inline_;
        return NULL;
    }
    if (rest->next == rest->end || *rest->next == NULL)
        return USAGE_ERROR(command, "flag '%s' needs a value", flag);
    *out_value = *rest->next++;
    return NULL;
}

static onnxd_status *add_assignment(onnxd_invocation *invocation, const onnxd_option *option,
                                    const char *origin, const char *text, bool is_element)
{
    if (invocation->flag_count == ONNXD_MAX_FLAGS)
        return USAGE_ERROR(invocation->command, "more than %d flags", ONNXD_MAX_FLAGS);
    invocation->flags[invocation->flag_count++] =
        (onnxd_config_assignment){option, origin, text, is_element};
    return NULL;
}

/* --set KEY=VALUE */
static onnxd_status *take_setting(onnxd_invocation *invocation, const char *setting)
{
    char key[128];
    size_t length = strcspn(setting, "=");

    if (setting[length] == '\0' || length >= sizeof(key))
        return USAGE_ERROR(invocation->command, "flag '--set' needs KEY=VALUE, got '%.100s'",
                           setting);
    memcpy(key, setting, length);
    key[length] = '\0';
    const onnxd_option *option = onnxd_option_find(key);
    if (option != NULL)
        return add_assignment(invocation, option, set_flag, setting + length + 1, false);
    onnxd_suggest suggest = {.name = key};
    for (size_t i = 0; i < onnxd_option_count(); i++)
        onnxd_suggest_offer(&suggest, onnxd_option_at(i)->key);
    if (suggest.best != NULL)
        return USAGE_ERROR(invocation->command, "unknown key '%s', did you mean '%s'?", key,
                           suggest.best);
    return USAGE_ERROR(invocation->command, "unknown key '%s'", key);
}

static onnxd_status *unknown_flag(const onnxd_command *command, const char *flag)
{
    onnxd_suggest suggest = {.name = flag};
    for (size_t i = 0; i < onnxd_option_count(); i++) {
        const onnxd_option *option = onnxd_option_at(i);
        if (option->flag != NULL && (option->commands & command->options) != 0)
            onnxd_suggest_offer(&suggest, option->flag);
    }
    onnxd_suggest_offer(&suggest, "--help");
    if (command->options != 0) {
        onnxd_suggest_offer(&suggest, config_flag);
        onnxd_suggest_offer(&suggest, set_flag);
        onnxd_suggest_offer(&suggest, print_flag);
    }
    if (suggest.best != NULL)
        return USAGE_ERROR(command, "unknown flag '%.100s', did you mean '%s'?", flag,
                           suggest.best);
    return USAGE_ERROR(command, "unknown flag '%.100s'", flag);
}

/* Flags that every command with a configuration has. */
static onnxd_status *take_common_flag(onnxd_invocation *invocation, const char *flag,
                                      const char *inline_, arguments *rest, bool *out_taken)
{
    const char *value = NULL;
    *out_taken = true;
    if (strcmp(flag, config_flag) == 0)
        return take_value(invocation->command, flag, inline_, rest, &invocation->config_file);
    if (strcmp(flag, set_flag) == 0) {
        ONNXD_TRY(take_value(invocation->command, flag, inline_, rest, &value));
        return take_setting(invocation, value);
    }
    *out_taken = strcmp(flag, print_flag) == 0;
    if (*out_taken && inline_ != NULL)
        return USAGE_ERROR(invocation->command, "flag '%s' takes no value", flag);
    invocation->wants_print_config |= *out_taken;
    return NULL;
}

static onnxd_status *take_flag(onnxd_invocation *invocation, const char *argument, arguments *rest)
{
    const onnxd_command *command = invocation->command;
    char flag[128];
    size_t length = strcspn(argument, "=");
    const char *value = argument[length] == '=' ? argument + length + 1 : NULL;
    bool taken = false;

    if (strcmp(argument, "--help") == 0 || strcmp(argument, "-h") == 0) {
        invocation->wants_help = true;
        return NULL;
    }
    if (length >= sizeof(flag))
        return unknown_flag(command, argument);
    memcpy(flag, argument, length);
    flag[length] = '\0';
    if (command->options != 0)
        ONNXD_TRY(take_common_flag(invocation, flag, value, rest, &taken));
    if (taken)
        return NULL;
    const onnxd_option *option = onnxd_option_find_flag(flag, command->options);
    if (option == NULL)
        return unknown_flag(command, flag);
    if (option->kind == ONNXD_OPTION_BOOL && value == NULL)
        value = "true";
    ONNXD_TRY(take_value(command, option->flag, value, rest, &value));
    return add_assignment(invocation, option, option->flag, value, true);
}

static onnxd_status *take_arguments(onnxd_invocation *invocation, arguments *rest)
{
    bool flags_ended = false;
    while (rest->next != rest->end) {
        const char *argument = *rest->next++;
        if (argument == NULL)
            break;
        if (!flags_ended && strcmp(argument, "--") == 0) {
            flags_ended = true;
        } else if (!flags_ended && argument[0] == '-' && argument[1] != '\0') {
            ONNXD_TRY(take_flag(invocation, argument, rest));
        } else if (invocation->command->positional_key != NULL) {
            ONNXD_TRY(add_assignment(invocation,
                                     onnxd_option_find(invocation->command->positional_key),
                                     "argument", argument, true));
        } else if (invocation->positional_count < ONNXD_MAX_POSITIONALS) {
            invocation->positionals[invocation->positional_count++] = argument;
        } else {
            return USAGE_ERROR(invocation->command, "%s", "too many arguments");
        }
    }
    return NULL;
}

static onnxd_status *check_positionals(const onnxd_invocation *invocation)
{
    const onnxd_command *command = invocation->command;
    if (invocation->positional_count < command->least_positionals)
        return USAGE_ERROR(command, "%s is missing", command->positionals);
    if (invocation->positional_count > command->most_positionals)
        return USAGE_ERROR(command, "unexpected argument '%.100s'",
                           invocation->positionals[command->most_positionals]);
    return NULL;
}

onnxd_status *onnxd_cli_parse(int argc, const char *const *argv, onnxd_invocation *out_invocation)
{
    onnxd_invocation *invocation = out_invocation;
    arguments rest = {argv + 1, argv + (argc > 0 ? argc : 1)};

    memset(invocation, 0, sizeof(*invocation));
    if (rest.next == rest.end)
        return USAGE_ERROR(no_command, "%s", "a command is missing");
    const char *name = *rest.next++;
    if (strcmp(name, "version") == 0 || strcmp(name, "--version") == 0) {
        invocation->wants_version = true;
        return NULL;
    }
    if (strcmp(name, "help") == 0 || strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0) {
        invocation->wants_help = true;
        return rest.next == rest.end ? NULL : find_command(*rest.next, &invocation->command);
    }
    ONNXD_TRY(find_command(name, &invocation->command));
    ONNXD_TRY(take_arguments(invocation, &rest));
    return invocation->wants_help || invocation->wants_print_config ? NULL
                                                                    : check_positionals(invocation);
}

/* ---- configuration ------------------------------------------------------------------------- */

/* Commands that cannot do without every configured provider. */
static const uint32_t opens_providers = ONNXD_SERVE | ONNXD_RUN | ONNXD_BENCH | ONNXD_INSPECT;

static void write_lines(const onnxd_strbuf *lines, const char *before)
{
    const char *line = lines->data;
    while (line != NULL && *line != '\0') {
        size_t length = strcspn(line, "\n");
        fprintf(stderr, "%s%.*s\n", before, (int)length, line);
        line += length + (line[length] == '\n');
    }
}

onnxd_config *onnxd_cli_load_config(const onnxd_invocation *invocation, int *out_exit_code)
{
    onnxd_config *config = NULL;
    onnxd_config_report report;
    onnxd_config_sources sources = {
        .file = invocation->config_file,
        .environment = (const char *const *)environ,
        .flags = invocation->flags,
        .flag_count = invocation->flag_count,
    };

    onnxd_config_report_init(&report);
    onnxd_status *status = onnxd_config_load(&sources, &report, &config);
    if (status == NULL && (invocation->command->options & opens_providers) != 0) {
        status = onnxd_check_config(config, &report);
        if (status != NULL) {
            onnxd_config_destroy(config);
            config = NULL;
        }
    }
    write_lines(&report.warnings, "warning: ");
    write_lines(&report.errors, "");
    onnxd_config_report_deinit(&report);
    if (status != NULL)
        *out_exit_code = onnxd_cli_fail(status, true);
    return config;
}

int onnxd_cli_exit_code(const onnxd_status *status, bool is_config)
{
    onnxd_code code = onnxd_status_code(status);
    return is_config && (code == ONNXD_INVALID_ARGUMENT || code == ONNXD_NOT_FOUND) ? EX_CONFIG
                                                                                    : EXIT_FAILURE;
}

int onnxd_cli_fail(onnxd_status *status, bool is_config)
{
    int exit_code = onnxd_cli_exit_code(status, is_config);
    fprintf(stderr, "onnxd: %s\n", onnxd_status_message(status));
    onnxd_status_free(status);
    return exit_code;
}
