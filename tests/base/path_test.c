#include "base/path.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/alloc.h"
#include "tests/base/status_check.h"

/* `top` holds outside.txt beside the directory `root`; made for each test, removed after it. */
static char top[64];
static char root[80];

static char *at(const char *directory, const char *name)
{
    static char paths[4][512];
    static int next;
    char *path = paths[next++ % 4];
    snprintf(path, sizeof(paths[0]), "%s/%s", directory, name);
    return path;
}

static void write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    cr_assert_not_null(file, "%s", path);
    fputs(text, file);
    fclose(file);
}

static void make_tree(void)
{
    snprintf(top, sizeof(top), "/tmp/onnxd_path_test.XXXXXX");
    cr_assert_not_null(mkdtemp(top));
    snprintf(root, sizeof(root), "%s/root", top);
    cr_assert_eq(mkdir(root, 0700), 0);
    cr_assert_eq(mkdir(at(root, "sub"), 0700), 0);
    write_file(at(top, "outside.txt"), "outside");
    write_file(at(root, "inside.txt"), "inside");
    write_file(at(root, "sub/deep.txt"), "deep");
    write_file(at(root, "empty.txt"), "");
    cr_assert_eq(symlink("../outside.txt", at(root, "link_out")), 0);
    cr_assert_eq(symlink("inside.txt", at(root, "link_in")), 0);
    cr_assert_eq(symlink("..", at(root, "directory_link")), 0);
    cr_assert_eq(symlink("loop", at(root, "loop")), 0);
    cr_assert_eq(mkfifo(at(root, "fifo"), 0600), 0);
}

static void remove_tree(void)
{
    static const char *const names[] = {"inside.txt", "sub/deep.txt", "sub",  "empty.txt",
                                        "link_out",   "link_in",      "loop", "directory_link",
                                        "fifo",       "socket",       "big",  "secret"};
    for (size_t i = 0; i < ONNXD_COUNT(names); i++)
        remove(at(root, names[i]));
    remove(root);
    remove(at(top, "outside.txt"));
    remove(top);
}

TestSuite(path, .init = make_tree, .fini = remove_tree);

static void check_content(const char *directory, const char *path, const char *expected)
{
    onnxd_file file = {0};
    check_ok(onnxd_file_open(directory, path, 1 << 20, &file));
    cr_assert_eq(file.size, strlen(expected));
    cr_assert_not_null(file.data);
    cr_assert_eq(memcmp(file.data, expected, file.size), 0);
    onnxd_file_close(&file);
    cr_assert_null(file.data);
    onnxd_file_close(&file);
}

static void check_refused(const char *path, onnxd_code code)
{
    onnxd_file file = {.size = 77};
    onnxd_status *status = onnxd_file_open(root, path, 1 << 20, &file);
    cr_assert_not_null(status, "'%s' was opened", path);
    cr_assert_eq(onnxd_status_code(status), code, "'%s': %s", path, onnxd_status_message(status));
    cr_assert(strstr(path, top) != NULL || strstr(onnxd_status_message(status), top) == NULL,
              "the message shows the root");
    cr_assert_eq(file.size, 77);
    onnxd_status_free(status);
}

Test(path, opens_beneath_the_root)
{
    check_content(root, "inside.txt", "inside");
    check_content(root, "sub/deep.txt", "deep");
    check_content(root, "./sub/../inside.txt", "inside");
    check_content(root, "empty.txt", "");
    check_content(root, "sub//deep.txt", "deep");
}

Test(path, refuses_what_leads_out)
{
    check_refused("../outside.txt", ONNXD_INVALID_ARGUMENT);
    check_refused("sub/../../outside.txt", ONNXD_INVALID_ARGUMENT);
    check_refused("/etc/passwd", ONNXD_INVALID_ARGUMENT);
    check_refused(at(top, "outside.txt"), ONNXD_INVALID_ARGUMENT);
}

Test(path, refuses_every_link)
{
    check_refused("link_out", ONNXD_INVALID_ARGUMENT);
    check_refused("link_in", ONNXD_INVALID_ARGUMENT);
    check_refused("directory_link/outside.txt", ONNXD_INVALID_ARGUMENT);
    check_refused("loop", ONNXD_INVALID_ARGUMENT);
}

Test(path, refuses_what_is_no_regular_file)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int listener = socket(AF_UNIX, SOCK_STREAM, 0);
    snprintf(address.sun_path, sizeof(address.sun_path), "%s/socket", root);
    cr_assert_eq(bind(listener, (struct sockaddr *)&address, sizeof(address)), 0);
    check_refused("fifo", ONNXD_INVALID_ARGUMENT);
    check_refused("sub", ONNXD_INVALID_ARGUMENT);
    check_refused(".", ONNXD_INVALID_ARGUMENT);
    check_refused("socket", ONNXD_INVALID_ARGUMENT);
    close(listener);
    onnxd_file file;
    check_error(onnxd_file_open(NULL, "/dev/null", 1, &file), ONNXD_INVALID_ARGUMENT,
                "not a regular file");
    check_error(onnxd_file_open(NULL, at(root, "fifo"), 1, &file), ONNXD_INVALID_ARGUMENT,
                "not a regular file");
}

Test(path, missing_files_are_not_found)
{
    check_refused("nothing", ONNXD_NOT_FOUND);
    check_refused("", ONNXD_NOT_FOUND);
    check_refused("inside.txt/x", ONNXD_NOT_FOUND);
    check_refused("no/such/directory", ONNXD_NOT_FOUND);
    onnxd_file file;
    check_error(onnxd_file_open("/no/such/root", "x", 1, &file), ONNXD_NOT_FOUND, "'x'");
}

Test(path, refuses_endless_names)
{
    char name[PATH_MAX + 100];
    memset(name, 'a', sizeof(name));
    name[sizeof(name) - 1] = '\0';
    onnxd_file file;
    check_error(onnxd_file_open(root, name, 1, &file), ONNXD_INVALID_ARGUMENT, NULL);
    name[300] = '\0';
    check_error(onnxd_file_open(root, name, 1, &file), ONNXD_INVALID_ARGUMENT, NULL);
}

Test(path, size_limit)
{
    onnxd_file file = {0};
    check_ok(onnxd_file_open(root, "inside.txt", 6, &file));
    onnxd_file_close(&file);
    check_error(onnxd_file_open(root, "inside.txt", 5, &file), ONNXD_INVALID_ARGUMENT,
                "has 6 bytes, at most 5 are allowed");
    check_ok(onnxd_file_open(root, "empty.txt", 0, &file));
    onnxd_file_close(&file);
    /* A sparse file of a tebibyte costs nothing to make and must cost nothing to refuse. */
    int big = open(at(root, "big"), O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    if (ftruncate(big, (off_t)1 << 40) == 0)
        check_refused("big", ONNXD_INVALID_ARGUMENT);
    close(big);
}

/* What was read stays what it was, whatever becomes of the file. */
Test(path, content_is_a_copy)
{
    onnxd_file file = {0};
    check_ok(onnxd_file_open(root, "inside.txt", 6, &file));
    write_file(at(root, "inside.txt"), "OTHER!");
    cr_assert_eq(memcmp(file.data, "inside", 6), 0);
    cr_assert_eq(truncate(at(root, "inside.txt"), 0), 0);
    cr_assert_eq(memcmp(file.data, "inside", 6), 0);
    onnxd_file_close(&file);
}

Test(path, files_that_change_meanwhile_are_refused)
{
    char bytes[8] = "";
    onnxd_file_reader reader;
    check_ok(onnxd_file_reader_open(root, "inside.txt", 6, &reader));
    cr_assert_eq(reader.size, 6);
    cr_assert_eq(reader.link_count, 1);
    check_ok(onnxd_file_reader_read(&reader, "inside.txt", 2, 4, bytes));
    cr_assert_str_eq(bytes, "side");
    check_error(onnxd_file_reader_read(&reader, "inside.txt", 3, 4, bytes), ONNXD_INVALID_ARGUMENT,
                "has 6 bytes, 4 from 3 on asked");
    check_error(onnxd_file_reader_read(&reader, "inside.txt", SIZE_MAX, 4, bytes),
                ONNXD_INVALID_ARGUMENT, "has 6 bytes");
    cr_assert_eq(truncate(at(root, "inside.txt"), 5), 0);
    check_ok(onnxd_file_reader_read(&reader, "inside.txt", 1, 4, bytes));
    check_error(onnxd_file_reader_read(&reader, "inside.txt", 2, 4, bytes), ONNXD_INVALID_ARGUMENT,
                "'inside.txt' changed while it was read");
    onnxd_file_reader_close(&reader);
    /* The kernel makes this file as it is read, and claims that it has no bytes. */
    onnxd_file file;
    check_error(onnxd_file_open(NULL, "/proc/self/status", 1 << 20, &file), ONNXD_INVALID_ARGUMENT,
                "changed while it was read");
}

enum { RACE_BYTES = 1 << 16 };

/* Shrinks and grows the file until told to stop. */
static void *keep_changing(void *stop)
{
    const char *path = at(root, "big");
    while (!atomic_load((atomic_bool *)stop)) {
        cr_assert_eq(truncate(path, 0), 0);
        cr_assert_eq(truncate(path, RACE_BYTES), 0);
    }
    return NULL;
}

Test(path, changing_files_never_fault)
{
    atomic_bool stop = false;
    pthread_t thread;
    write_file(at(root, "big"), "");
    cr_assert_eq(pthread_create(&thread, NULL, keep_changing, &stop), 0);
    for (int i = 0; i < 300; i++) {
        onnxd_file file = {0};
        onnxd_status *status = onnxd_file_open(root, "big", RACE_BYTES, &file);
        if (status != NULL)
            check_error(status, ONNXD_INVALID_ARGUMENT, "changed while it was read");
        for (size_t k = 0; k < file.size; k++)
            cr_assert_eq(file.data[k], 0);
        onnxd_file_close(&file);
    }
    atomic_store(&stop, true);
    pthread_join(thread, NULL);
}

Test(path, memory_may_be_short)
{
    onnxd_file file;
    uint64_t live = onnxd_alloc_query().live_count;
    onnxd_alloc_fail_at(1, 0);
    check_error(onnxd_file_open(root, "inside.txt", 6, &file), ONNXD_OUT_OF_MEMORY, NULL);
    onnxd_alloc_fail_at(0, 0);
    cr_assert_eq(onnxd_alloc_query().live_count, live);
}

Test(path, trusted_paths_follow_links)
{
    check_content(NULL, at(root, "link_out"), "outside");
    check_content(NULL, at(root, "directory_link/outside.txt"), "outside");
}

Test(path, leaks_no_descriptor)
{
    int before = open("/dev/null", O_RDONLY | O_CLOEXEC);
    close(before);
    static const char *const paths[] = {"inside.txt", "nothing", "fifo", "../outside.txt", "sub"};
    for (size_t i = 0; i < 50; i++) {
        onnxd_file file = {0};
        onnxd_status_free(onnxd_file_open(root, paths[i % ONNXD_COUNT(paths)], 3 + i, &file));
        onnxd_file_close(&file);
    }
    int after = open("/dev/null", O_RDONLY | O_CLOEXEC);
    close(after);
    cr_assert_eq(before, after);
}

Test(path, model_names)
{
    static const char *const good[] = {"a", "_", "0", "resnet-50_v1.5", "A.b-C", "x..y"};
    static const char *const bad[] = {"",     ".",    "..",       ".a",  "-a", "a/b", "a b",
                                      "a\\b", "a%2e", "\xc3\xa9", "a\n", "~a", "a:b"};
    for (size_t i = 0; i < ONNXD_COUNT(good); i++)
        cr_assert(onnxd_is_model_name(good[i], strlen(good[i])), "%s", good[i]);
    for (size_t i = 0; i < ONNXD_COUNT(bad); i++)
        cr_assert_not(onnxd_is_model_name(bad[i], strlen(bad[i])), "%s", bad[i]);
    char name[130];
    memset(name, 'a', sizeof(name));
    cr_assert(onnxd_is_model_name(name, 128));
    cr_assert_not(onnxd_is_model_name(name, 129));
    cr_assert_not(onnxd_is_model_name("a\0b", 3));
}
