#include "daemon/notify.h"

#include <inttypes.h>
#include <systemd/sd-daemon.h>

#include "base/clock.h"

void onnxd_notify_ready(const char *status)
{
    sd_notifyf(0, "READY=1\nSTATUS=%s", status);
}

void onnxd_notify_status(const char *status)
{
    sd_notifyf(0, "STATUS=%s", status);
}

void onnxd_notify_reloading(void)
{
    sd_notifyf(0, "RELOADING=1\nMONOTONIC_USEC=%" PRIi64, onnxd_now_ns() / 1000);
}

void onnxd_notify_stopping(void)
{
    sd_notify(0, "STOPPING=1\nSTATUS=draining");
}

void onnxd_notify_watchdog(void)
{
    sd_notify(0, "WATCHDOG=1");
}

void onnxd_notify_extend(uint64_t timeout_us)
{
    sd_notifyf(0, "EXTEND_TIMEOUT_USEC=%" PRIu64, timeout_us);
}

uint64_t onnxd_notify_watchdog_interval_ms(void)
{
    uint64_t timeout_us = 0;
    if (sd_watchdog_enabled(0, &timeout_us) <= 0)
        return 0;
    uint64_t interval_ms = timeout_us / 2000;
    return interval_ms != 0 ? interval_ms : 1;
}
