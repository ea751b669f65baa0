/*
 * The configuration: one JSON file, the environment and the command line, checked and merged into a
 * structure that never changes afterwards. A reload makes a new one.
 *
 *   defaults ◄─ file ◄─ environment ◄─ flags        the right one wins
 *
 * Nothing here touches the network, a device or a module: providers and their options, and names of
 * graph passes, are checked by daemon/check.h.
 *
 * Threads: any, one at a time per object.
 */
#ifndef ONNXD_CONFIG_CONFIG_H
#define ONNXD_CONFIG_CONFIG_H

#include "base/arena.h"
#include "base/log.h"
#include "base/strbuf.h"
#include "config/option.h"

#define ONNXD_CONFIG_MAX_FILE_BYTES 1048576u
#define ONNXD_CONFIG_MAX_PROVIDERS 64u
#define ONNXD_CONFIG_MAX_DEVICES 64u
#define ONNXD_CONFIG_MAX_DEVICE_ID 65535u
#define ONNXD_CONFIG_MAX_PROVIDER_OPTIONS 64u

typedef struct onnxd_config_pair {
    const char *key, *value;
    const char *origin; /* as of the provider */
} onnxd_config_pair;

/* {"name": "sim_ep", "module": "/usr/lib/onnxd/sim_ep.so", "device_ids": [0, 1], "options": {...}}
 */
typedef struct onnxd_config_provider {
    const char *name;   /* [a-z][a-z0-9_]{0,31} */
    const char *module; /* shared object; NULL for a provider that is linked in */
    const uint32_t *device_ids;
    size_t device_count; /* at least one */
    const onnxd_config_pair *options;
    size_t option_count;
    const char *origin; /* "file:line" or "default", for messages */
} onnxd_config_provider;

#define ONNXD_FIELD_BOOL bool
#define ONNXD_FIELD_U32 uint32_t
#define ONNXD_FIELD_U64 uint64_t
#define ONNXD_FIELD_BYTES uint64_t
#define ONNXD_FIELD_F64 double
#define ONNXD_FIELD_STRING const char *
#define ONNXD_FIELD_LIST const char *const *
#define ONNXD_FIELD_LEVEL onnxd_log_level

/* Field names are group_field of options.inc: config->http_listen. */
typedef struct onnxd_config {
    const onnxd_config_provider *providers; /* at least one, in order of preference */
    size_t provider_count;
#define ONNXD_OPTION(group, field, KIND, ...) ONNXD_FIELD_##KIND group##_##field;
#include "config/options.inc"
    /* Per option of the table: "file:line", the variable or the flag that gave it its value; NULL
     * for the default. */
    const char *const *origins;
    const char *file;  /* where it came from, NULL without one */
    onnxd_arena arena; /* holds every string above */
} onnxd_config;

/* What was wrong, one line each: "file:line: key: reason", "ENVIRONMENT_VARIABLE: key: reason" or
 * "--flag: key: reason". All problems are listed, up to a bound that is mentioned when passed. */
typedef struct onnxd_config_report {
    onnxd_strbuf errors, warnings; /* every line ends in a newline */
    uint32_t error_count, warning_count;
} onnxd_config_report;
void onnxd_config_report_init(onnxd_config_report *report);
void onnxd_config_report_deinit(onnxd_config_report *report);
/* Adds "<where>: <key>: <reason>" as one line; without a key "<where>: <reason>". For checks that
 * this folder cannot make. */
void onnxd_config_fault(onnxd_config_report *report, const char *where, const char *key,
                        const char *format, ...) ONNXD_PRINTF(4, 5);
/* Where the value of `key`, an option of the table, came from; "default" for none. */
const char *onnxd_config_origin(const onnxd_config *config, const char *key);

/* One value from the command line. */
typedef struct onnxd_config_assignment {
    const onnxd_option *option;
    const char *origin; /* "--listen" */
    const char *text;
    bool is_element; /* LIST: one more element; otherwise the whole, separated by commas */
} onnxd_config_assignment;

typedef struct onnxd_config_sources {
    const char *file;               /* NULL: that of ONNXD_CONFIG, or none */
    const char *const *environment; /* "NAME=value", NULL-terminated; NULL for none */
    const onnxd_config_assignment *flags;
    size_t flag_count;
} onnxd_config_sources;

/* Errors: INVALID_ARGUMENT with the number of problems (the lines are in `report`), OUT_OF_MEMORY,
 * those of opening the file, with its path (the report says nothing then). Sources are borrowed for
 * the call. */
ONNXD_NODISCARD onnxd_status *onnxd_config_load(const onnxd_config_sources *sources,
                                                onnxd_config_report *report,
                                                onnxd_config **out_config);
void onnxd_config_destroy(onnxd_config *config); /* NULL is fine */

bool onnxd_config_providers_equal(const onnxd_config *a, const onnxd_config *b);

/* The whole configuration as a file that loads into the same. */
void onnxd_config_print(const onnxd_config *config, onnxd_strbuf *out);
/* docs/config.md. */
void onnxd_config_write_reference(onnxd_strbuf *out);

#endif
