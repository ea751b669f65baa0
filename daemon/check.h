/*
 * The checks of a configuration that need more than its text: what providers there are, which
 * options they take, and the names of graph passes. Modules are loaded for their tables; no device
 * is opened.
 *
 * Threads: the main thread, before the event loop.
 */
#ifndef ONNXD_DAEMON_CHECK_H
#define ONNXD_DAEMON_CHECK_H

#include "config/config.h"

/* Adds every problem to `report`. Errors: INVALID_ARGUMENT with the number of problems in `report`;
 * OUT_OF_MEMORY. */
ONNXD_NODISCARD onnxd_status *onnxd_check_config(const onnxd_config *config,
                                                 onnxd_config_report *report);

#endif
