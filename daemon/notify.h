/*
 * Telling systemd how the service is (sd_notify). Without systemd every call does nothing.
 *
 * Threads: any.
 */
#ifndef ONNXD_DAEMON_NOTIFY_H
#define ONNXD_DAEMON_NOTIFY_H

#include <stdint.h>

void onnxd_notify_ready(const char *status);
void onnxd_notify_status(const char *status);
void onnxd_notify_reloading(void);
void onnxd_notify_stopping(void);
void onnxd_notify_watchdog(void);
/* Start-up takes this much longer. */
void onnxd_notify_extend(uint64_t timeout_us);
/* How often the watchdog wants to hear, halved for safety; 0 when there is none. */
uint64_t onnxd_notify_watchdog_interval_ms(void);

#endif
