/*
 * Provider options from a table: one line each. Values are checked, unknown keys refused with the
 * nearest known one, and the tables are what `onnxd list-eps` prints.
 */
#ifndef ONNXD_EP_OPTIONS_H
#define ONNXD_EP_OPTIONS_H

#include "ep/ep.h"

typedef enum onnxd_ep_option_kind {
    ONNXD_EP_OPTION_INT,   /* int64_t */
    ONNXD_EP_OPTION_FLOAT, /* double */
    ONNXD_EP_OPTION_BOOL,  /* bool: "true" or "false" */
    ONNXD_EP_OPTION_ENUM,  /* int: index into `choices` */
    ONNXD_EP_OPTION_STRING /* const char *, borrowed from the config */
} onnxd_ep_option_kind;

typedef struct onnxd_ep_option_def {
    const char *key;
    onnxd_ep_option_kind kind;
    size_t offset;              /* of the field in the provider's options struct */
    double minimum, maximum;    /* INT, FLOAT */
    const char *const *choices; /* ENUM; NULL-terminated */
    const char *help;
} onnxd_ep_option_def;

/* Writes each given option into `out_options` (preset to the defaults by the caller).
 * Errors: INVALID_ARGUMENT "unknown option 'cpu.thread', did you mean 'cpu.threads'?", or the value
 * and what is allowed. */
ONNXD_NODISCARD onnxd_status *onnxd_ep_options_parse(const onnxd_ep_option_def *defs,
                                                     size_t def_count,
                                                     const onnxd_ep_config *config,
                                                     void *out_options);

#endif
