/*
 * The command line: subcommands as data, their flags from the table of options.
 *
 *   argv ─► onnxd_cli_parse ─► invocation ─► onnxd_config_load ─► command->run
 *
 * Exit codes: 0 done, 1 it failed, 64 (EX_USAGE) wrong command line, 78 (EX_CONFIG) wrong
 * configuration.
 *
 * Threads: the main thread.
 */
#ifndef ONNXD_DAEMON_COMMAND_H
#define ONNXD_DAEMON_COMMAND_H

#include <stdio.h>
#include <sysexits.h>

#include "config/config.h"

#define ONNXD_MAX_FLAGS 128
#define ONNXD_MAX_POSITIONALS 8

typedef struct onnxd_command onnxd_command;

/* A command line that was understood. Texts are those of argv. */
typedef struct onnxd_invocation {
    const onnxd_command *command; /* NULL: help about everything, or the version */
    onnxd_config_assignment flags[ONNXD_MAX_FLAGS];
    size_t flag_count;
    const char *config_file;
    const char *positionals[ONNXD_MAX_POSITIONALS];
    size_t positional_count;
    bool wants_help, wants_version, wants_print_config;
} onnxd_invocation;

struct onnxd_command {
    const char *name;
    const char *positionals; /* "MODEL", "[MODEL.onnx]", "" */
    size_t least_positionals, most_positionals;
    const char *positional_key; /* list option that positionals are added to; NULL: none */
    uint32_t options;           /* ONNXD_SERVE ...; 0: takes no configuration */
    const char *summary;        /* one line */
    const char *paragraph;      /* for its --help */
    /* Returns the exit code. `config` is NULL where `options` is 0. */
    int (*run)(const onnxd_invocation *invocation, const onnxd_config *config);
};

/* NULL-terminated. */
extern const onnxd_command *const onnxd_commands[];

int onnxd_command_serve(const onnxd_invocation *invocation, const onnxd_config *config);
int onnxd_command_run(const onnxd_invocation *invocation, const onnxd_config *config);
int onnxd_command_bench(const onnxd_invocation *invocation, const onnxd_config *config);
int onnxd_command_inspect(const onnxd_invocation *invocation, const onnxd_config *config);
int onnxd_command_check_config(const onnxd_invocation *invocation, const onnxd_config *config);
int onnxd_command_list_eps(const onnxd_invocation *invocation, const onnxd_config *config);
int onnxd_command_list_operators(const onnxd_invocation *invocation, const onnxd_config *config);
int onnxd_command_list_passes(const onnxd_invocation *invocation, const onnxd_config *config);
int onnxd_command_healthcheck(const onnxd_invocation *invocation, const onnxd_config *config);
int onnxd_command_config_reference(const onnxd_invocation *invocation, const onnxd_config *config);

/* Reads argv. Errors: INVALID_ARGUMENT, the message for standard error; the exit code is EX_USAGE.
 */
ONNXD_NODISCARD onnxd_status *onnxd_cli_parse(int argc, const char *const *argv,
                                              onnxd_invocation *out_invocation);

/* The text of --help: of one command, or of the program when `command` is NULL. */
void onnxd_cli_write_help(const onnxd_command *command, onnxd_strbuf *out);

/* The configuration of a command: file, environment and flags. Problems and warnings go to standard
 * error. NULL after problems; *out_exit_code says with what to exit. */
onnxd_config *onnxd_cli_load_config(const onnxd_invocation *invocation, int *out_exit_code);

/* The exit code that an error stands for: EX_CONFIG when `is_config` and the code is
 * INVALID_ARGUMENT or NOT_FOUND, else 1. */
int onnxd_cli_exit_code(const onnxd_status *status, bool is_config);
/* Writes "onnxd: <message>" to standard error, ends the status and returns its exit code. */
int onnxd_cli_fail(onnxd_status *status, bool is_config);

#endif
