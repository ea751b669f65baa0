/*
 * Golden cases: text files with requests and what must come back. A file holds any number of cases:
 *
 *   === name of the case
 *   GET /v2/health/live HTTP/1.1        each line ends in CR LF, unless it ends in a lone backslash
 *   Host: x                             (the next line then follows directly)
 *
 *   body text                           \r \n \t \\ \xHH are single bytes; {{a*500}} repeats;
 *                                       {{length}} is the number of bytes behind the empty line,
 *                                       {{length+3}} that many more or (-) fewer
 *   --- [eof]                           eof: the client ends its side behind the request
 *   200                                 one line for each response, in order
 *     = exact body                      indented: about the response above; also
 *     ~ part of the body
 *     @ Field: value
 *   open                                or "closed": what becomes of the connection
 *
 * Lines before the first case that start with '#' are comments. The last line break of a request
 * without a body is the end of the empty line.
 */
#ifndef ONNXD_TESTS_HTTP_GOLDEN_H
#define ONNXD_TESTS_HTTP_GOLDEN_H

#include <stdbool.h>
#include <stddef.h>

#include "base/strbuf.h"

#define GOLDEN_MAX_RESPONSES 8
#define GOLDEN_MAX_CHECKS 8

typedef struct golden_check {
    char kind; /* '=', '~' or '@' */
    char *text;
    size_t length;
} golden_check;

typedef struct golden_response {
    int status;
    golden_check checks[GOLDEN_MAX_CHECKS];
    size_t check_count;
} golden_response;

typedef struct golden_case {
    char *name;
    onnxd_strbuf request;
    bool ends; /* the client's end follows */
    golden_response responses[GOLDEN_MAX_RESPONSES];
    size_t response_count;
    bool stays_open;
    struct golden_case *next;
} golden_case;

/* Fails the test when the file cannot be read or is not well-formed. */
golden_case *golden_load(const char *path);
void golden_free(golden_case *cases);

#endif
