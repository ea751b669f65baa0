#include "base/log.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/utf8.h"

#define LINE_BYTES 4096
#define RING_BYTES ((size_t)1 << 20)
/* A pipe that poll() calls writable takes at least this much without blocking. */
#define WRITE_BYTES ((size_t)4096)
/* How long a reader that takes nothing can hold up onnxd_log_stop(). */
#define STOP_PATIENCE_NS ((int64_t)1000000000)

static const struct {
    const char *name;
    const char *prefix; /* sd-daemon(3) */
} levels[] = {
    [ONNXD_LOG_ERROR] = {"error", "<3>"},
    [ONNXD_LOG_WARN] = {"warn", "<4>"},
    [ONNXD_LOG_INFO] = {"info", "<6>"},
    [ONNXD_LOG_DEBUG] = {"debug", "<7>"},
};

static atomic_int max_level = ONNXD_LOG_INFO;
static atomic_uint_fast64_t dropped_count;

/* The ring holds whole lines in [head, head + used), modulo its size. Guarded by `mutex`; the
 * writer reads the bytes it has been promised without it, since nobody else moves the head. */
static struct {
    pthread_mutex_t mutex;
    pthread_cond_t filled;
    pthread_t thread;
    bool running;
    bool stopping;
    size_t head, used;
    uint64_t reported_drops;
    char bytes[RING_BYTES];
} ring = {.mutex = PTHREAD_MUTEX_INITIALIZER, .filled = PTHREAD_COND_INITIALIZER};

/* Whether standard error is the journal's stream, as systemd's "<device>:<inode>" says. */
static bool find_journal(void)
{
    const char *stream = getenv("JOURNAL_STREAM");
    struct stat info;
    char expected[64];
    if (stream == NULL || fstat(STDERR_FILENO, &info) != 0)
        return false;
    snprintf(expected, sizeof(expected), "%ju:%ju", (uintmax_t)info.st_dev, (uintmax_t)info.st_ino);
    return strcmp(stream, expected) == 0;
}

static atomic_int journal_state; /* 0: not known yet, 1: no, 2: yes */

static bool is_journal(void)
{
    int state = atomic_load_explicit(&journal_state, memory_order_relaxed);
    if (state == 0) {
        state = find_journal() ? 2 : 1;
        atomic_store_explicit(&journal_state, state, memory_order_relaxed);
    }
    return state == 2;
}

/* "<6>" for the journal, which stamps the line itself, else the wall time. */
static size_t format_head(char *line, onnxd_log_level level, const char *module)
{
    if (is_journal())
        return (size_t)snprintf(line, LINE_BYTES / 2, "%slevel=%s module=%.64s ",
                                levels[level].prefix, levels[level].name, module);
    struct timespec now;
    struct tm utc;
    clock_gettime(CLOCK_REALTIME, &now);
    gmtime_r(&now.tv_sec, &utc);
    size_t length = strftime(line, LINE_BYTES / 2, "time=%Y-%m-%dT%H:%M:%S", &utc);
    length += (size_t)snprintf(line + length, LINE_BYTES / 2, ".%06ldZ level=%s module=%.64s ",
                               now.tv_nsec / 1000, levels[level].name, module);
    return length;
}

/* Bytes of the printable character that text starts with, 0 when it has to be escaped. */
static size_t printable(const char *text, size_t length)
{
    unsigned char byte = (unsigned char)text[0];
    if (byte < 0x20 || byte == 0x7f)
        return 0;
    size_t step = onnxd_utf8_sequence(text, length);
    /* U+0080 to U+009F are control characters too, to terminals that read them. */
    if (step == 2 && byte == 0xc2 && (unsigned char)text[1] < 0xa0)
        return 0;
    return step;
}

/* Copies `text` into at most `room` bytes; what does not fit is cut. Returns the bytes written. */
static size_t copy_escaped(char *out, size_t room, const char *text, size_t length)
{
    static const char digits[] = "0123456789abcdef";
    size_t used = 0;
    size_t position = 0;
    while (position < length) {
        size_t step = printable(text + position, length - position);
        size_t need = step == 0 ? 4 : step;
        if (used + need > room)
            break;
        if (step != 0) {
            memcpy(out + used, text + position, step);
        } else {
            unsigned char byte = (unsigned char)text[position];
            const char escape[4] = {'\\', 'x', digits[byte >> 4], digits[byte & 15]};
            memcpy(out + used, escape, sizeof(escape));
            step = 1;
        }
        used += need;
        position += step;
    }
    return used;
}

static void write_all(const char *bytes, size_t length)
{
    while (length != 0) {
        ssize_t written = write(STDERR_FILENO, bytes, length);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return;
        bytes += written;
        length -= (size_t)written;
    }
}

static void count_dropped(void)
{
    atomic_fetch_add_explicit(&dropped_count, 1, memory_order_relaxed);
}

/* With the mutex held and room checked. */
static void push_bytes(const char *bytes, size_t length)
{
    size_t tail = (ring.head + ring.used) % RING_BYTES;
    size_t first = RING_BYTES - tail < length ? RING_BYTES - tail : length;
    memcpy(ring.bytes + tail, bytes, first);
    memcpy(ring.bytes, bytes + first, length - first);
    ring.used += length;
}

/* False when no thread takes lines from the ring. */
static bool push_line(const char *line, size_t length)
{
    pthread_mutex_lock(&ring.mutex);
    bool running = ring.running;
    bool fits = RING_BYTES - ring.used >= length;
    if (running && fits) {
        push_bytes(line, length);
        pthread_cond_signal(&ring.filled);
    }
    pthread_mutex_unlock(&ring.mutex);
    if (running && !fits)
        count_dropped();
    return running;
}

void onnxd_log(onnxd_log_level level, const char *module, const char *format, ...)
{
    if ((int)level > atomic_load_explicit(&max_level, memory_order_relaxed))
        return;
    int saved_errno = errno;
    char line[LINE_BYTES];
    char text[LINE_BYTES];
    va_list args;
    va_start(args, format);
    int length = vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    if (length >= 0) {
        size_t text_length = (size_t)length < sizeof(text) ? (size_t)length : sizeof(text) - 1;
        size_t used = format_head(line, level, module);
        used += copy_escaped(line + used, sizeof(line) - 1 - used, text, text_length);
        line[used++] = '\n';
        if (!push_line(line, used))
            write_all(line, used);
    }
    errno = saved_errno;
}

void onnxd_log_set_level(onnxd_log_level level)
{
    atomic_store_explicit(&max_level, (int)level, memory_order_relaxed);
}

bool onnxd_log_level_from_name(const char *name, onnxd_log_level *out_level)
{
    for (size_t i = 0; i < ONNXD_COUNT(levels); i++) {
        if (strcmp(name, levels[i].name) == 0) {
            *out_level = (onnxd_log_level)i;
            return true;
        }
    }
    return false;
}

/* Writes the ring's oldest bytes without blocking for long. Returns how many it is done with: 0
 * when the reader takes none at present. */
static size_t write_some(const char *bytes, size_t length)
{
    struct pollfd target = {.fd = STDERR_FILENO, .events = POLLOUT};
    int ready = poll(&target, 1, 100);
    if (ready == 0 || (ready < 0 && errno == EINTR))
        return 0;
    ssize_t written = write(STDERR_FILENO, bytes, length < WRITE_BYTES ? length : WRITE_BYTES);
    if (written >= 0)
        return (size_t)written;
    if (errno == EINTR || errno == EAGAIN)
        return 0;
    /* Nobody will ever read these: keep taking lines so that callers see no difference. */
    return length;
}

/* Puts a line about lines lost into the ring, once there is room again. With the mutex held. */
static void report_drops(void)
{
    uint64_t drops = atomic_load_explicit(&dropped_count, memory_order_relaxed);
    if (drops == ring.reported_drops)
        return;
    char line[LINE_BYTES];
    size_t used = format_head(line, ONNXD_LOG_WARN, "base");
    used += (size_t)snprintf(line + used, sizeof(line) - used, "log lines dropped count=%ju\n",
                             (uintmax_t)(drops - ring.reported_drops));
    if (RING_BYTES - ring.used < used)
        return;
    push_bytes(line, used);
    ring.reported_drops = drops;
}

static void *run_writer(void *unused ONNXD_UNUSED)
{
    int64_t give_up_ns = ONNXD_NO_DEADLINE;
    pthread_mutex_lock(&ring.mutex);
    for (;;) {
        report_drops();
        while (ring.used == 0 && !ring.stopping)
            pthread_cond_wait(&ring.filled, &ring.mutex);
        if (ring.used == 0)
            break;
        if (ring.stopping && give_up_ns == ONNXD_NO_DEADLINE)
            give_up_ns = onnxd_now_ns() + STOP_PATIENCE_NS;
        size_t contiguous = ring.used < RING_BYTES - ring.head ? ring.used : RING_BYTES - ring.head;
        const char *bytes = ring.bytes + ring.head;
        pthread_mutex_unlock(&ring.mutex);
        size_t done = write_some(bytes, contiguous);
        int64_t now_ns = onnxd_now_ns();
        pthread_mutex_lock(&ring.mutex);
        ring.head = (ring.head + done) % RING_BYTES;
        ring.used -= done;
        if (done != 0 && give_up_ns != ONNXD_NO_DEADLINE)
            give_up_ns = now_ns + STOP_PATIENCE_NS;
        if (now_ns > give_up_ns)
            break;
    }
    pthread_mutex_unlock(&ring.mutex);
    return NULL;
}

/* Signals are for the threads that wait for them, so the writer takes none. */
static int create_thread(void)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = pthread_create(&ring.thread, NULL, run_writer, NULL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error;
}

onnxd_status *onnxd_log_start(void)
{
    int error = 0;
    pthread_mutex_lock(&ring.mutex);
    bool was_running = ring.running;
    if (!was_running) {
        atomic_store_explicit(&journal_state, 0, memory_order_relaxed);
        ring.head = ring.used = 0;
        ring.stopping = false;
        error = create_thread();
        ring.running = error == 0;
    }
    pthread_mutex_unlock(&ring.mutex);
    if (was_running)
        return onnxd_error(ONNXD_INTERNAL, "log is started already");
    if (error != 0)
        return onnxd_error(ONNXD_INTERNAL, "cannot start the log's thread: error %d", error);
    return NULL;
}

void onnxd_log_stop(void)
{
    pthread_mutex_lock(&ring.mutex);
    bool was_running = ring.running && !ring.stopping;
    if (was_running)
        ring.stopping = true;
    pthread_cond_signal(&ring.filled);
    pthread_mutex_unlock(&ring.mutex);
    if (!was_running)
        return;
    pthread_join(ring.thread, NULL);
    pthread_mutex_lock(&ring.mutex);
    ring.running = false;
    pthread_mutex_unlock(&ring.mutex);
}

uint64_t onnxd_log_dropped(void)
{
    return atomic_load_explicit(&dropped_count, memory_order_relaxed);
}
