#include <stdio.h>
#include <string.h>

#include "config/internal.h"

#define MAX_REPORT_BYTES ((size_t)256 * 1024)
#define MAX_LINES 100u

void onnxd_config_report_init(onnxd_config_report *report)
{
    memset(report, 0, sizeof(*report));
    onnxd_strbuf_init(&report->errors, MAX_REPORT_BYTES);
    onnxd_strbuf_init(&report->warnings, MAX_REPORT_BYTES);
}

void onnxd_config_report_deinit(onnxd_config_report *report)
{
    onnxd_strbuf_deinit(&report->errors);
    onnxd_strbuf_deinit(&report->warnings);
}

static void add_line(onnxd_strbuf *lines, uint32_t *count, const char *where, const char *key,
                     const char *format, va_list args) ONNXD_PRINTF(5, 0);

static void add_line(onnxd_strbuf *lines, uint32_t *count, const char *where, const char *key,
                     const char *format, va_list args)
{
    char reason[1024];

    (*count)++;
    if (*count == MAX_LINES + 1)
        onnxd_strbuf_puts(lines, "more problems follow that are not listed\n");
    if (*count > MAX_LINES)
        return;
    vsnprintf(reason, sizeof(reason), format, args);
    if (key != NULL)
        onnxd_strbuf_printf(lines, "%s: %s: %s\n", where, key, reason);
    else
        onnxd_strbuf_printf(lines, "%s: %s\n", where, reason);
}

void onnxd_config_fault(onnxd_config_report *report, const char *where, const char *key,
                        const char *format, ...)
{
    va_list args;
    va_start(args, format);
    add_line(&report->errors, &report->error_count, where, key, format, args);
    va_end(args);
}

void onnxd_config_warning(onnxd_config_report *report, const char *where, const char *key,
                          const char *format, ...)
{
    va_list args;
    va_start(args, format);
    add_line(&report->warnings, &report->warning_count, where, key, format, args);
    va_end(args);
}

bool onnxd_config_report_is_full(const onnxd_config_report *report)
{
    return report->error_count > MAX_LINES;
}

const char *onnxd_config_show(const char *text, size_t length, char *buffer)
{
    size_t shown = length;
    if (shown > ONNXD_CONFIG_SHOWN_INPUT) {
        shown = ONNXD_CONFIG_SHOWN_INPUT;
        while (shown > 0 && ((unsigned char)text[shown] & 0xc0u) == 0x80u)
            shown--; /* not within a character */
    }
    size_t written = onnxd_json_escape(buffer, text, shown);
    snprintf(buffer + written, ONNXD_CONFIG_SHOWN - written, "%s", shown < length ? "..." : "");
    return buffer;
}
