#include "golden.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

#include "base/alloc.h"

#define MAX_REQUEST ((size_t)64 << 20)

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    return (c | 0x20) - 'a' + 10;
}

/* Appends text with its escapes and repetitions expanded; {{length}} stays. */
static void expand(onnxd_strbuf *out, const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        const char *rest = text + i;
        const char *end =
            length - i > 4 && memcmp(rest, "{{", 2) == 0 ? memmem(rest, length - i, "}}", 2) : NULL;
        const char *star = end != NULL ? memrchr(rest, '*', (size_t)(end - rest)) : NULL;
        if (star != NULL) {
            unsigned long count = strtoul(star + 1, NULL, 10);
            for (unsigned long n = 0; n < count; n++)
                expand(out, rest + 2, (size_t)(star - rest) - 2);
            i += (size_t)(end - rest) + 1;
        } else if (*rest == '\\' && i + 1 < length) {
            static const char from[] = "rnt\\", to[] = "\r\n\t\\";
            const char *at = strchr(from, rest[1]);
            if (at != NULL) {
                onnxd_strbuf_append(out, to + (at - from), 1);
                i++;
            } else {
                cr_assert(rest[1] == 'x' && i + 3 < length, "bad escape in '%.*s'", (int)length,
                          text);
                char byte = (char)(hex_digit(rest[2]) * 16 + hex_digit(rest[3]));
                onnxd_strbuf_append(out, &byte, 1);
                i += 3;
            }
        } else {
            onnxd_strbuf_append(out, rest, 1);
        }
    }
}

/* Replaces {{length}}, {{length+N}} and {{length-N}}. */
static void settle_length(onnxd_strbuf *request)
{
    char *mark = request->length > 0 ? memmem(request->data, request->length, "{{length", 8) : NULL;
    if (mark == NULL)
        return;
    char *blank = memmem(request->data, request->length, "\r\n\r\n", 4);
    cr_assert(blank != NULL);
    long length = (long)(request->data + request->length - (blank + 4));
    char *end = strstr(mark, "}}");
    length += strtol(mark + 8, NULL, 10);
    onnxd_strbuf settled;
    onnxd_strbuf_init(&settled, MAX_REQUEST);
    onnxd_strbuf_append(&settled, request->data, (size_t)(mark - request->data));
    onnxd_strbuf_printf(&settled, "%ld", length);
    onnxd_strbuf_append(&settled, end + 2, (size_t)(request->data + request->length - (end + 2)));
    onnxd_strbuf_deinit(request);
    *request = settled;
}

static void add_request_line(golden_case *at, const char *line, size_t length)
{
    bool continues =
        length > 0 && line[length - 1] == '\\' && (length == 1 || line[length - 2] != '\\');
    expand(&at->request, line, continues ? length - 1 : length);
    if (!continues)
        onnxd_strbuf_puts(&at->request, "\r\n");
}

static void add_expectation(golden_case *at, const char *path, char *line)
{
    size_t length = strlen(line);
    if (length > 4 && strncmp(line, "  ", 2) == 0) {
        cr_assert(at->response_count > 0, "%s: %s: a check without a response", path, at->name);
        golden_response *response = &at->responses[at->response_count - 1];
        cr_assert(response->check_count < GOLDEN_MAX_CHECKS);
        onnxd_strbuf text;
        onnxd_strbuf_init(&text, MAX_REQUEST);
        expand(&text, line + 4, length - 4);
        response->checks[response->check_count++] =
            (golden_check){.kind = line[2], .text = text.data, .length = text.length};
    } else if (line[0] >= '1' && line[0] <= '9') {
        cr_assert(at->response_count < GOLDEN_MAX_RESPONSES);
        at->responses[at->response_count++].status = (int)strtol(line, NULL, 10);
    } else {
        cr_assert(strcmp(line, "open") == 0 || strcmp(line, "closed") == 0,
                  "%s: %s: not an expectation: '%s'", path, at->name, line);
        at->stays_open = line[0] == 'o';
    }
}

/* The line break before "---" is not part of a body, unless it ends an empty line. */
static void end_request(golden_case *at)
{
    onnxd_strbuf *request = &at->request;
    const char *blank =
        request->length > 0 ? memmem(request->data, request->length, "\r\n\r\n", 4) : NULL;
    const char *end = blank != NULL ? request->data + request->length : NULL;
    if (blank != NULL && blank + 4 < end && memcmp(end - 4, "\r\n\r\n", 4) != 0)
        request->length -= 2;
    settle_length(request);
}

golden_case *golden_load(const char *path)
{
    FILE *file = fopen(path, "r");
    cr_assert(file != NULL, "cannot open %s", path);
    golden_case *first = NULL, **next = &first, *at = NULL;
    bool in_request = false;
    char *line = NULL;
    size_t capacity = 0;
    ssize_t got;
    while ((got = getline(&line, &capacity, file)) >= 0) {
        size_t length = (size_t)got;
        if (length > 0 && line[length - 1] == '\n')
            line[--length] = '\0';
        if (strncmp(line, "=== ", 4) == 0) {
            at = onnxd_alloc_zero(1, sizeof(*at));
            cr_assert(at != NULL);
            at->name = onnxd_strdup(line + 4);
            onnxd_strbuf_init(&at->request, MAX_REQUEST);
            *next = at;
            next = &at->next;
            in_request = true;
        } else if (at != NULL && in_request && strncmp(line, "---", 3) == 0) {
            at->ends = strstr(line, "eof") != NULL;
            in_request = false;
            end_request(at);
        } else if (at != NULL && in_request) {
            add_request_line(at, line, length);
        } else if (at != NULL && length > 0 && line[0] != '#') {
            add_expectation(at, path, line);
        }
    }
    free(line);
    (void)fclose(file);
    cr_assert(first != NULL && !in_request, "%s ends within a case", path);
    return first;
}

void golden_free(golden_case *cases)
{
    while (cases != NULL) {
        golden_case *next = cases->next;
        for (size_t i = 0; i < cases->response_count; i++) {
            for (size_t k = 0; k < cases->responses[i].check_count; k++)
                onnxd_free(cases->responses[i].checks[k].text);
        }
        onnxd_strbuf_deinit(&cases->request);
        onnxd_free(cases->name);
        onnxd_free(cases);
        cases = next;
    }
}
