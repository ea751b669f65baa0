#include "base/log.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "tests/base/status_check.h"

/* Standard error goes to a file in memory while a test logs, and back before it asserts. */
static int saved_stderr = -1;
static int capture = -1;
static char captured[8 << 20];

static void begin_capture(void)
{
    saved_stderr = dup(STDERR_FILENO);
    capture = memfd_create("log", MFD_CLOEXEC);
    dup2(capture, STDERR_FILENO);
}

/* What was logged, NUL-terminated. */
static char *end_capture(void)
{
    dup2(saved_stderr, STDERR_FILENO);
    close(saved_stderr);
    ssize_t length = pread(capture, captured, sizeof(captured) - 1, 0);
    close(capture);
    captured[length > 0 ? length : 0] = '\0';
    return captured;
}

static int count_lines(const char *text)
{
    int lines = 0;
    for (; *text != '\0'; text++)
        lines += *text == '\n' ? 1 : 0;
    return lines;
}

Test(log, line_has_time_level_module_and_message)
{
    begin_capture();
    onnxd_log(ONNXD_LOG_WARN, "model", "name=%s version=%d", "m", 3);
    char *text = end_capture();
    cr_assert_eq(strncmp(text, "time=", 5), 0, "%s", text);
    cr_assert_str_eq(strstr(text, " level="), " level=warn module=model name=m version=3\n");
}

Test(log, levels_filter)
{
    begin_capture();
    onnxd_log(ONNXD_LOG_DEBUG, "base", "one");
    onnxd_log(ONNXD_LOG_INFO, "base", "two");
    onnxd_log_set_level(ONNXD_LOG_ERROR);
    onnxd_log(ONNXD_LOG_WARN, "base", "three");
    onnxd_log(ONNXD_LOG_ERROR, "base", "four");
    onnxd_log_set_level(ONNXD_LOG_DEBUG);
    onnxd_log(ONNXD_LOG_DEBUG, "base", "five");
    char *text = end_capture();
    cr_assert_eq(count_lines(text), 3);
    cr_assert(strstr(text, "two") && strstr(text, "four") && strstr(text, "five"));
}

Test(log, level_names)
{
    onnxd_log_level level = ONNXD_LOG_INFO;
    cr_assert(onnxd_log_level_from_name("debug", &level) && level == ONNXD_LOG_DEBUG);
    cr_assert(onnxd_log_level_from_name("error", &level) && level == ONNXD_LOG_ERROR);
    cr_assert_not(onnxd_log_level_from_name("Error", &level));
    cr_assert_not(onnxd_log_level_from_name("", &level));
    cr_assert_eq(level, ONNXD_LOG_ERROR);
}

Test(log, values_cannot_forge_lines)
{
    begin_capture();
    onnxd_log(ONNXD_LOG_INFO, "http", "path=%s", "a\nlevel=error\r\x1b[2J\x7f");
    onnxd_log(ONNXD_LOG_INFO, "http", "path=%s", "\xff\xc3 \xc3\xa9 \xc2\x9b");
    char *text = end_capture();
    cr_assert_eq(count_lines(text), 2);
    cr_assert_not_null(strstr(text, "path=a\\x0alevel=error\\x0d\\x1b[2J\\x7f\n"), "%s", text);
    cr_assert_not_null(strstr(text, "path=\\xff\\xc3 \xc3\xa9 \\xc2\\x9b\n"), "%s", text);
}

Test(log, long_lines_are_cut)
{
    static char value[20000];
    begin_capture();
    for (int kind = 0; kind < 2; kind++) {
        memset(value, kind == 0 ? 'a' : '\x01', sizeof(value) - 1);
        onnxd_log(ONNXD_LOG_INFO, "base", "v=%s", value);
    }
    char *text = end_capture();
    cr_assert_eq(count_lines(text), 2);
    cr_assert_leq(strlen(text), 2 * 4096);
    cr_assert_geq(strlen(text), 2 * 4000);
}

Test(log, errno_is_kept)
{
    begin_capture();
    errno = 33;
    onnxd_log(ONNXD_LOG_INFO, "base", "x");
    int after = errno;
    end_capture();
    cr_assert_eq(after, 33);
}

Test(log, journal_gets_priorities)
{
    begin_capture();
    struct stat info;
    char stream[64];
    fstat(capture, &info);
    snprintf(stream, sizeof(stream), "%ju:%ju", (uintmax_t)info.st_dev, (uintmax_t)info.st_ino);
    setenv("JOURNAL_STREAM", stream, 1);
    onnxd_status *started = onnxd_log_start();
    onnxd_log(ONNXD_LOG_ERROR, "base", "one");
    onnxd_log(ONNXD_LOG_INFO, "base", "two");
    onnxd_log_stop();
    char *text = end_capture();
    check_ok(started);
    cr_assert_str_eq(text, "<3>level=error module=base one\n<6>level=info module=base two\n");
}

Test(log, another_processes_journal_is_ignored)
{
    begin_capture();
    setenv("JOURNAL_STREAM", "1:1", 1);
    onnxd_log(ONNXD_LOG_INFO, "base", "one");
    char *text = end_capture();
    cr_assert_eq(strncmp(text, "time=", 5), 0);
}

Test(log, start_and_stop)
{
    begin_capture();
    onnxd_status *first = onnxd_log_start();
    onnxd_status *second = onnxd_log_start();
    onnxd_log(ONNXD_LOG_INFO, "base", "ringed");
    onnxd_log_stop();
    onnxd_log_stop();
    onnxd_log(ONNXD_LOG_INFO, "base", "direct");
    onnxd_status *third = onnxd_log_start();
    onnxd_log(ONNXD_LOG_INFO, "base", "again");
    onnxd_log_stop();
    char *text = end_capture();
    check_ok(first);
    check_error(second, ONNXD_INTERNAL, "already");
    check_ok(third);
    cr_assert_eq(count_lines(text), 3);
    cr_assert(strstr(text, "ringed") < strstr(text, "direct"));
    cr_assert(strstr(text, "direct") < strstr(text, "again"));
}

enum { THREAD_COUNT = 4, LINE_COUNT = 4000 };

static void *log_lines(void *argument)
{
    int thread = *(int *)argument;
    for (int i = 0; i < LINE_COUNT; i++)
        onnxd_log(ONNXD_LOG_INFO, "base", "thread=%d number=%d .", thread, i);
    return NULL;
}

/* Every line is whole, in its thread's order, and written or counted as dropped. */
Test(log, threads_share_the_ring)
{
    pthread_t threads[THREAD_COUNT];
    int numbers[THREAD_COUNT];
    begin_capture();
    onnxd_status *started = onnxd_log_start();
    for (int i = 0; i < THREAD_COUNT; i++) {
        numbers[i] = i;
        pthread_create(&threads[i], NULL, log_lines, &numbers[i]);
    }
    for (int i = 0; i < THREAD_COUNT; i++)
        pthread_join(threads[i], NULL);
    onnxd_log_stop();
    char *text = end_capture();
    check_ok(started);
    int last[THREAD_COUNT] = {-1, -1, -1, -1};
    uint64_t seen = 0;
    for (char *line = text, *end; (end = strchr(line, '\n')) != NULL; line = end + 1) {
        *end = '\0';
        int thread, number;
        char mark;
        const char *message = strstr(line, "thread=");
        if (message == NULL) {
            cr_assert_not_null(strstr(line, "dropped"), "%s", line);
            continue;
        }
        cr_assert_eq(sscanf(message, "thread=%d number=%d %c", &thread, &number, &mark), 3, "%s",
                     line);
        cr_assert(mark == '.' && number > last[thread]);
        last[thread] = number;
        seen++;
    }
    cr_assert_eq(seen + onnxd_log_dropped(), THREAD_COUNT * LINE_COUNT);
}

/* A reader that takes nothing must hold up neither the callers nor, for long, the end. */
Test(log, blocked_reader_costs_lines_only)
{
    enum { COUNT = 3000 };
    int ends[2];
    static char value[1000];
    memset(value, 'v', sizeof(value) - 1);
    cr_assert_eq(pipe(ends), 0);
    saved_stderr = dup(STDERR_FILENO);
    dup2(ends[1], STDERR_FILENO);
    onnxd_status *started = onnxd_log_start();
    for (int i = 0; i < COUNT; i++)
        onnxd_log(ONNXD_LOG_INFO, "base", "v=%s", value);
    uint64_t dropped = onnxd_log_dropped();
    onnxd_log_stop();
    dup2(saved_stderr, STDERR_FILENO);
    check_ok(started);
    /* A mebibyte in the ring and a pipe's worth beside it; the rest is lost. */
    cr_assert_gt(dropped, COUNT / 2);
    cr_assert_lt(dropped, COUNT);
}

Test(log, closed_stderr_is_survived)
{
    saved_stderr = dup(STDERR_FILENO);
    close(STDERR_FILENO);
    onnxd_status *started = onnxd_log_start();
    for (int i = 0; i < 100; i++)
        onnxd_log(ONNXD_LOG_INFO, "base", "nobody reads this");
    onnxd_log_stop();
    onnxd_log(ONNXD_LOG_INFO, "base", "nor this");
    dup2(saved_stderr, STDERR_FILENO);
    check_ok(started);
}

/* Lost lines are announced where they are missing, once there is room. */
Test(log, drops_are_reported)
{
    int ends[2];
    static char value[1000];
    static char text[4 << 20];
    memset(value, 'v', sizeof(value) - 1);
    cr_assert_eq(pipe(ends), 0);
    saved_stderr = dup(STDERR_FILENO);
    dup2(ends[1], STDERR_FILENO);
    onnxd_status *started = onnxd_log_start();
    for (int i = 0; i < 3000; i++)
        onnxd_log(ONNXD_LOG_INFO, "base", "v=%s", value);
    size_t length = 0;
    while (length < sizeof(text) - 1) {
        ssize_t count = read(ends[0], text + length, sizeof(text) - 1 - length);
        cr_assert_gt(count, 0);
        size_t from = length < 100 ? 0 : length - 100;
        length += (size_t)count;
        if (memmem(text + from, length - from, "log lines dropped count=", 24) != NULL)
            break;
    }
    dup2(saved_stderr, STDERR_FILENO);
    close(ends[0]);
    check_ok(started);
    cr_assert_not_null(memmem(text, length, "log lines dropped count=", 24));
}
