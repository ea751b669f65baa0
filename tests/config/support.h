/* Loading configurations from text. */
#ifndef ONNXD_TESTS_CONFIG_SUPPORT_H
#define ONNXD_TESTS_CONFIG_SUPPORT_H

#include "config/config.h"

/* One load from the parts that are not NULL. `file` is the text of the configuration file, which
 * messages call "F"; errors are the report's lines. */
typedef struct loaded {
    onnxd_config *config; /* NULL when refused */
    char errors[64 * 1024];
    char warnings[8 * 1024];
    onnxd_code code;
} loaded;

loaded *load(const char *file, const char *const *environment, const onnxd_config_assignment *flags,
             size_t flag_count);
void unload(loaded *result);

#endif
