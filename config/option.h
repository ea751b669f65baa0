/*
 * The table of options (options.inc) as data: what the command line, the documentation and the
 * tests iterate over.
 *
 * Threads: constant data and pure functions.
 */
#ifndef ONNXD_CONFIG_OPTION_H
#define ONNXD_CONFIG_OPTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/status.h"

#define ONNXD_UNLIMITED UINT64_MAX

/* Commands that show an option's flag. */
#define ONNXD_SERVE 1u
#define ONNXD_RUN 2u
#define ONNXD_BENCH 4u
#define ONNXD_INSPECT 8u
#define ONNXD_LIST_EPS 16u
#define ONNXD_HEALTHCHECK 32u
#define ONNXD_LIST_OPERATORS 64u
#define ONNXD_ALL_COMMANDS 127u

typedef enum onnxd_option_kind {
    ONNXD_OPTION_BOOL,   /* bool */
    ONNXD_OPTION_U32,    /* uint32_t */
    ONNXD_OPTION_U64,    /* uint64_t */
    ONNXD_OPTION_BYTES,  /* uint64_t */
    ONNXD_OPTION_F64,    /* double */
    ONNXD_OPTION_STRING, /* const char *, never NULL */
    ONNXD_OPTION_LIST,   /* const char *const *, NULL-terminated, never NULL */
    ONNXD_OPTION_LEVEL   /* onnxd_log_level */
} onnxd_option_kind;

typedef struct onnxd_option {
    const char *group, *field;
    const char *key; /* "http.listen" */
    onnxd_option_kind kind;
    size_t offset; /* in onnxd_config */
    const char *default_text;
    uint64_t least, most;         /* U32, U64, BYTES; most UNLIMITED admits "unlimited" */
    double least_real, most_real; /* F64 */
    bool is_reloadable;
    const char *flag; /* "--listen" or NULL */
    uint32_t commands;
    const char *help;
} onnxd_option;

size_t onnxd_option_count(void);
const onnxd_option *onnxd_option_at(size_t index);
size_t onnxd_option_index(const onnxd_option *option);
/* By dotted key, or by flag of one of `commands`; NULL when there is none. */
const onnxd_option *onnxd_option_find(const char *key);
const onnxd_option *onnxd_option_find_flag(const char *flag, uint32_t commands);
/* "ONNXD_HTTP_LISTEN" into `buffer` of ONNXD_OPTION_ENVIRONMENT bytes; returns it. */
#define ONNXD_OPTION_ENVIRONMENT 64
const char *onnxd_option_environment(const onnxd_option *option, char *buffer);
/* "integer", "size", "list of strings", ... for the reference. */
const char *onnxd_option_kind_name(onnxd_option_kind kind);

/* "an integer from 1 to 5": what the option takes, for help and messages. May use `buffer` of
 * ONNXD_OPTION_EXPECTED bytes. */
#define ONNXD_OPTION_EXPECTED 128
const char *onnxd_option_expected(const onnxd_option *option, char *buffer);

/* Reads text as an environment variable gives it (lists are separated by commas) into the option's
 * field of `config`. Strings are copied into `arena`.
 * Errors: INVALID_ARGUMENT with the value and what is allowed; OUT_OF_MEMORY. */
ONNXD_NODISCARD onnxd_status *onnxd_option_parse(const onnxd_option *option, const char *text,
                                                 onnxd_arena *arena, void *config);
/* LIST only: the field becomes these strings, copied into `arena`. */
ONNXD_NODISCARD onnxd_status *onnxd_option_set_list(const onnxd_option *option,
                                                    const char *const *elements, size_t count,
                                                    onnxd_arena *arena, void *config);
/* Whether two configurations agree in this option. */
bool onnxd_option_equal(const onnxd_option *option, const void *config_a, const void *config_b);

#endif
