/*
 * The log: one line per event, key=value, to standard error with systemd's priority prefixes when
 * the journal reads it. Lines go through a bounded ring and are written by a thread of their own,
 * so no caller ever waits for a disk or a pipe; when the ring is full the line is dropped and
 * counted. Control characters and invalid UTF-8 in values are escaped, so a client cannot forge a
 * line.
 *
 * Threads: any. Before onnxd_log_start() and after onnxd_log_stop() lines are written directly.
 */
#ifndef ONNXD_BASE_LOG_H
#define ONNXD_BASE_LOG_H

#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/status.h"

typedef enum onnxd_log_level {
    ONNXD_LOG_ERROR,
    ONNXD_LOG_WARN,
    ONNXD_LOG_INFO,
    ONNXD_LOG_DEBUG
} onnxd_log_level;

/* One event. `module` is the folder, `format` the message; keep request-supplied text in %s values.
 * Cut at 4 KiB. */
void onnxd_log(onnxd_log_level level, const char *module, const char *format, ...)
    ONNXD_PRINTF(3, 4);
/* Lines above this level are discarded before they are formatted. Default: INFO. */
void onnxd_log_set_level(onnxd_log_level level);
bool onnxd_log_level_from_name(const char *name, onnxd_log_level *out_level);

/* Starts the writer thread. Errors: INTERNAL when the thread cannot be made. */
ONNXD_NODISCARD onnxd_status *onnxd_log_start(void);
/* Writes out what the ring holds and ends the thread. */
void onnxd_log_stop(void);
/* Lines lost because the ring was full. */
uint64_t onnxd_log_dropped(void);

#endif
