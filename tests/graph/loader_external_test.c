#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "tests/graph/build_graph.h"
#include "tests/graph/load.h"

/* A directory for models with "weights.bin" of 64 bytes 0..63, and a secret beside it. */
static char root[64];
static char models[96];

static void write_file(const char *directory, const char *name, const void *data, size_t size)
{
    char path[256];
    (void)snprintf(path, sizeof(path), "%s/%s", directory, name);
    FILE *file = fopen(path, "wb");
    cr_assert(file != NULL);
    cr_assert(fwrite(data, 1, size, file) == size);
    cr_assert(fclose(file) == 0);
}

static void set_up(void)
{
    uint8_t bytes[64];
    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = (uint8_t)i;
    (void)snprintf(root, sizeof(root), "/tmp/onnxd-external-XXXXXX");
    cr_assert(mkdtemp(root) != NULL);
    (void)snprintf(models, sizeof(models), "%s/models", root);
    cr_assert(mkdir(models, 0700) == 0);
    write_file(models, "weights.bin", bytes, sizeof(bytes));
    write_file(root, "secret", bytes, sizeof(bytes));
}

static void tear_down(void)
{
    char path[160];
    static const char *const names[] = {"weights.bin", "link",  "hard",          "fifo",
                                        "socket",      "empty", "sub/inner.bin", "bools"};
    for (size_t i = 0; i < ONNXD_COUNT(names); i++) {
        (void)snprintf(path, sizeof(path), "%s/%s", models, names[i]);
        (void)unlink(path);
    }
    (void)snprintf(path, sizeof(path), "%s/sub", models);
    (void)rmdir(path);
    (void)snprintf(path, sizeof(path), "%s/dirlink", models);
    (void)unlink(path);
    (void)snprintf(path, sizeof(path), "%s/secret", root);
    (void)unlink(path);
    (void)rmdir(models);
    cr_expect(rmdir(root) == 0, "%s is not empty", root);
}

TestSuite(loader_external, .init = set_up, .fini = tear_down);

typedef struct entry {
    const char *key, *value;
} entry;

static onnxd_status *load_entries(int32_t dtype, int64_t count, const entry *entries, size_t n,
                                  onnxd_graph **out_graph)
{
    wire w;
    wire_init(&w);
    wire_model_begin(&w);
    wire_begin(&w, GRAPH_INITIALIZER);
    wire_tensor_header(&w, "t", dtype, 1, &count);
    for (size_t i = 0; i < n; i++)
        wire_external(&w, entries[i].key, entries[i].value);
    wire_int(&w, TENSOR_DATA_LOCATION, 1);
    wire_end(&w);
    wire_model_end(&w);
    onnxd_load_limits limits = onnxd_load_limits_default();
    onnxd_status *status =
        onnxd_graph_load_memory(wire_data(&w), wire_size(&w), models, NULL, &limits, out_graph);
    wire_deinit(&w);
    return status;
}

#define LOAD(dtype, count, out_graph, ...)                                                         \
    load_entries(dtype, count, (const entry[]){__VA_ARGS__},                                       \
                 sizeof((const entry[]){__VA_ARGS__}) / sizeof(entry), out_graph)

static void expect_bad_location(const char *location, onnxd_code code, const char *text)
{
    onnxd_graph *graph = NULL;
    expect_error(LOAD(ONNXD_UINT8, 4, &graph, {"location", location}), code, text);
}

Test(loader_external, data_is_read_from_its_place)
{
    onnxd_graph *graph = NULL;
    expect_ok(LOAD(ONNXD_UINT8, 4, &graph, {"location", "weights.bin"}, {"offset", "8"},
                   {"length", "4"}, {"checksum", "whatever"}));
    const onnxd_tensor *tensor = graph->values[0].constant;
    cr_expect(memcmp(tensor->data, "\x08\x09\x0a\x0b", 4) == 0);
    onnxd_graph_destroy(graph);
    expect_ok(LOAD(ONNXD_UINT8, 64, &graph, {"location", "./weights.bin"}));
    onnxd_graph_destroy(graph);
}

Test(loader_external, unaligned_data_becomes_aligned)
{
    onnxd_graph *graph = NULL;
    expect_ok(LOAD(ONNXD_FLOAT, 2, &graph, {"location", "weights.bin"}, {"offset", "3"}));
    const onnxd_tensor *tensor = graph->values[0].constant;
    cr_expect((uintptr_t)tensor->data % 64 == 0);
    cr_expect(memcmp(tensor->data, "\x03\x04\x05\x06\x07\x08\x09\x0a", 8) == 0);
    onnxd_graph_destroy(graph);
}

/* Three tensors of 16 bytes: of the whole of weights.bin at 0, of the same range again, and at 4.
 */
static onnxd_status *load_overlapping(const onnxd_load_limits *limits, onnxd_graph **out_graph)
{
    static const int64_t dims[1] = {4};
    wire w;
    wire_init(&w);
    wire_model_begin(&w);
    for (int i = 0; i < 3; i++) {
        char name[8];
        (void)snprintf(name, sizeof(name), "t%d", i);
        wire_begin(&w, GRAPH_INITIALIZER);
        wire_tensor_header(&w, name, ONNXD_FLOAT, 1, dims);
        wire_external(&w, "location", i == 1 ? "./weights.bin" : "weights.bin");
        wire_external(&w, "offset", i == 2 ? "4" : "0");
        wire_int(&w, TENSOR_DATA_LOCATION, 1);
        wire_end(&w);
    }
    wire_model_end(&w);
    onnxd_status *status =
        onnxd_graph_load_memory(wire_data(&w), wire_size(&w), models, NULL, limits, out_graph);
    wire_deinit(&w);
    return status;
}

Test(loader_external, ranges_may_overlap)
{
    onnxd_load_limits limits = onnxd_load_limits_default();
    onnxd_graph *graph = NULL;
    expect_ok(load_overlapping(&limits, &graph));
    cr_expect(memcmp(graph->values[0].constant->data, "\x00\x01\x02\x03", 4) == 0);
    cr_expect(memcmp(graph->values[1].constant->data, "\x00\x01\x02\x03", 4) == 0);
    /* One tensor outlives the graph. */
    onnxd_tensor *kept = onnxd_tensor_retain(graph->values[2].constant);
    onnxd_graph_destroy(graph);
    cr_expect(memcmp(kept->data, "\x04\x05\x06\x07", 4) == 0);
    onnxd_tensor_release(kept);
}

/* A small model must not make much of one large file. */
Test(loader_external, bytes_of_all_tensors_are_bounded)
{
    char path[160];
    onnxd_load_limits limits = onnxd_load_limits_default();
    onnxd_graph *graph = NULL;
    (void)snprintf(path, sizeof(path), "%s/weights.bin", models);
    cr_assert(truncate(path, 20) == 0);
    limits.max_external_bytes = 47;
    expect_error(load_overlapping(&limits, &graph), ONNXD_INVALID_ARGUMENT,
                 "initializer 't2': external_data needs 16 bytes, the tensors before it left 15 of "
                 "the allowed 47");
    limits.max_external_bytes = 48;
    expect_ok(load_overlapping(&limits, &graph));
    onnxd_graph_destroy(graph);
}

/* Whoever truncates or overwrites the file in place does not reach a loaded model. */
Test(loader_external, tensors_do_not_depend_on_the_file)
{
    char path[160];
    onnxd_graph *graph = NULL;
    (void)snprintf(path, sizeof(path), "%s/weights.bin", models);
    expect_ok(LOAD(ONNXD_UINT8, 64, &graph, {"location", "weights.bin"}));
    const uint8_t *data = graph->values[0].constant->data;
    write_file(models, "weights.bin", "overwritten", 11);
    cr_expect(data[0] == 0 && data[63] == 63);
    cr_assert(truncate(path, 0) == 0);
    cr_expect(data[0] == 0 && data[63] == 63);
    onnxd_graph_destroy(graph);
}

Test(loader_external, ranges_are_checked)
{
    onnxd_graph *graph = NULL;
    expect_error(LOAD(ONNXD_UINT8, 4, &graph, {"location", "weights.bin"}, {"length", "5"}),
                 ONNXD_INVALID_ARGUMENT, "external_data length is 5, type and shape need 4");
    expect_error(LOAD(ONNXD_UINT8, 65, &graph, {"location", "weights.bin"}), ONNXD_INVALID_ARGUMENT,
                 "which has 64");
    expect_error(LOAD(ONNXD_UINT8, 4, &graph, {"location", "weights.bin"}, {"offset", "61"}),
                 ONNXD_INVALID_ARGUMENT, "which has 64");
    expect_error(LOAD(ONNXD_UINT8, 4, &graph, {"location", "weights.bin"},
                      {"offset", "18446744073709551615"}),
                 ONNXD_INVALID_ARGUMENT, "which has 64");
    expect_error(LOAD(ONNXD_UINT8, (int64_t)1 << 40, &graph, {"location", "weights.bin"}),
                 ONNXD_INVALID_ARGUMENT, "which has 64");
    expect_error(LOAD(ONNXD_UINT8, 4, &graph, {"location", "weights.bin"}, {"offset", "-1"}),
                 ONNXD_INVALID_ARGUMENT, "'offset' is not a number");
    expect_error(LOAD(ONNXD_UINT8, 4, &graph, {"location", "weights.bin"}, {"offset", ""}),
                 ONNXD_INVALID_ARGUMENT, "'offset' is not a number");
    expect_error(LOAD(ONNXD_UINT8, 4, &graph, {"location", "weights.bin"}, {"length", "0x4"}),
                 ONNXD_INVALID_ARGUMENT, "'length' is not a number");
    expect_error(LOAD(ONNXD_UINT8, 4, &graph, {"location", "weights.bin"},
                      {"offset", "18446744073709551616"}),
                 ONNXD_INVALID_ARGUMENT, "'offset' is not a number");
}

Test(loader_external, keys_are_checked)
{
    onnxd_graph *graph = NULL;
    expect_error(LOAD(ONNXD_UINT8, 4, &graph, {"offset", "0"}), ONNXD_INVALID_ARGUMENT,
                 "has no location");
    expect_error(LOAD(ONNXD_UINT8, 4, &graph, {"location", "weights.bin"}, {"basepath", "/"}),
                 ONNXD_INVALID_ARGUMENT, "key 'basepath' is unknown");
    expect_error(
        LOAD(ONNXD_UINT8, 4, &graph, {"location", "weights.bin"}, {"location", "weights.bin"}),
        ONNXD_INVALID_ARGUMENT, "occurs twice");
    expect_error(
        LOAD(ONNXD_UINT8, 4, &graph, {"location", "weights.bin"}, {"offset", "0"}, {"offset", "0"}),
        ONNXD_INVALID_ARGUMENT, "occurs twice");
    expect_error(LOAD(ONNXD_STRING, 1, &graph, {"location", "weights.bin"}), ONNXD_INVALID_ARGUMENT,
                 "strings cannot lie in an external file");
    expect_error(LOAD(ONNXD_BOOL, 4, &graph, {"location", "weights.bin"}), ONNXD_INVALID_ARGUMENT,
                 "bool element 2 is 2");
}

Test(loader_external, locations_stay_in_the_directory)
{
    char long_name[5000];
    memset(long_name, 'a', sizeof(long_name) - 1);
    long_name[sizeof(long_name) - 1] = '\0';
    expect_bad_location("", ONNXD_INVALID_ARGUMENT, "no location");
    expect_bad_location("../secret", ONNXD_INVALID_ARGUMENT, "leaves the model's directory");
    expect_bad_location("sub/../../secret", ONNXD_INVALID_ARGUMENT, "leaves the model's directory");
    expect_bad_location("./../models/weights.bin", ONNXD_INVALID_ARGUMENT, "leaves");
    expect_bad_location("..", ONNXD_INVALID_ARGUMENT, "leaves");
    expect_bad_location("a/..", ONNXD_INVALID_ARGUMENT, "leaves");
    expect_bad_location("/etc/passwd", ONNXD_INVALID_ARGUMENT, "leaves");
    expect_bad_location("//etc/passwd", ONNXD_INVALID_ARGUMENT, "leaves");
    expect_bad_location("/proc/self/environ", ONNXD_INVALID_ARGUMENT, "leaves");
    expect_bad_location("..\\secret", ONNXD_NOT_FOUND, "not found");
    expect_bad_location("%2e%2e/secret", ONNXD_NOT_FOUND, "not found");
    expect_bad_location("weights.bin ", ONNXD_NOT_FOUND, "not found");
    expect_bad_location("weights.bin/", ONNXD_NOT_FOUND, "not found");
    expect_bad_location("missing", ONNXD_NOT_FOUND, "initializer 't': ");
    expect_bad_location(".", ONNXD_INVALID_ARGUMENT, "regular file");
    expect_bad_location(long_name, ONNXD_INVALID_ARGUMENT, "more than 4096 bytes");
    long_name[4000] = '\0';
    expect_bad_location(long_name, ONNXD_INVALID_ARGUMENT, "file");
}

Test(loader_external, nul_in_a_location)
{
    static const int64_t dims[1] = {4};
    wire w;
    wire_init(&w);
    wire_model_begin(&w);
    wire_begin(&w, GRAPH_INITIALIZER);
    wire_tensor_header(&w, "t", ONNXD_UINT8, 1, dims);
    wire_begin(&w, TENSOR_EXTERNAL_DATA);
    wire_text(&w, 1, "location");
    wire_bytes(&w, 2, "weights.bin\0x", 13);
    wire_end(&w);
    wire_int(&w, TENSOR_DATA_LOCATION, 1);
    wire_end(&w);
    wire_model_end(&w);
    onnxd_load_limits limits = onnxd_load_limits_default();
    onnxd_graph *graph = NULL;
    expect_error(
        onnxd_graph_load_memory(wire_data(&w), wire_size(&w), models, NULL, &limits, &graph),
        ONNXD_INVALID_ARGUMENT, "contains NUL");
    expect_error(onnxd_graph_load_memory(wire_data(&w), wire_size(&w), NULL, NULL, &limits, &graph),
                 ONNXD_INVALID_ARGUMENT, "external data is not allowed here");
    wire_deinit(&w);
}

static void make(char *path, size_t capacity, const char *name)
{
    (void)snprintf(path, capacity, "%s/%s", models, name);
}

Test(loader_external, only_plain_files_with_one_name)
{
    char path[160];
    char target[160];
    (void)snprintf(target, sizeof(target), "%s/secret", root);
    make(path, sizeof(path), "link");
    cr_assert(symlink("weights.bin", path) == 0);
    expect_bad_location("link", ONNXD_INVALID_ARGUMENT, "symbolic link");
    make(path, sizeof(path), "dirlink");
    cr_assert(symlink(".", path) == 0);
    expect_bad_location("dirlink/weights.bin", ONNXD_INVALID_ARGUMENT, "symbolic link");
    make(path, sizeof(path), "hard");
    cr_assert(link(target, path) == 0);
    expect_bad_location("hard", ONNXD_INVALID_ARGUMENT, "has 2 hard links, it must have one");
    make(path, sizeof(path), "fifo");
    cr_assert(mkfifo(path, 0600) == 0);
    expect_bad_location("fifo", ONNXD_INVALID_ARGUMENT, "not a regular file");
    write_file(models, "empty", "", 0);
    expect_bad_location("empty", ONNXD_INVALID_ARGUMENT, "which has 0");

    struct sockaddr_un address = {.sun_family = AF_UNIX};
    make(address.sun_path, sizeof(address.sun_path), "socket");
    int socket_descriptor = socket(AF_UNIX, SOCK_STREAM, 0);
    cr_assert(socket_descriptor >= 0);
    cr_assert(bind(socket_descriptor, (struct sockaddr *)&address, sizeof(address)) == 0);
    expect_bad_location("socket", ONNXD_INVALID_ARGUMENT, "not a regular file");
    (void)close(socket_descriptor);
}

Test(loader_external, files_in_subdirectories)
{
    char path[160];
    make(path, sizeof(path), "sub");
    cr_assert(mkdir(path, 0700) == 0);
    write_file(path, "inner.bin", "abcd", 4);
    onnxd_graph *graph = NULL;
    expect_ok(LOAD(ONNXD_UINT8, 4, &graph, {"location", "sub/inner.bin"}));
    cr_expect(memcmp(graph->values[0].constant->data, "abcd", 4) == 0);
    onnxd_graph_destroy(graph);
}

Test(loader_external, model_files_find_their_directory)
{
    char path[160];
    static const int64_t dims[1] = {4};
    wire w;
    wire_init(&w);
    wire_model_begin(&w);
    wire_begin(&w, GRAPH_INITIALIZER);
    wire_tensor_header(&w, "t", ONNXD_UINT8, 1, dims);
    wire_external(&w, "location", "weights.bin");
    wire_int(&w, TENSOR_DATA_LOCATION, 1);
    wire_end(&w);
    wire_model_end(&w);
    write_file(models, "bools", wire_data(&w), wire_size(&w));
    wire_deinit(&w);
    make(path, sizeof(path), "bools");
    onnxd_load_limits limits = onnxd_load_limits_default();
    onnxd_graph *graph = NULL;
    expect_ok(onnxd_graph_load_file(path, NULL, &limits, &graph));
    onnxd_graph_destroy(graph);
    limits.max_external_bytes = 63;
    expect_error(onnxd_graph_load_file(path, NULL, &limits, &graph), ONNXD_INVALID_ARGUMENT,
                 "at most 63");
    cr_assert(chdir(models) == 0);
    limits.max_external_bytes = 64;
    expect_ok(onnxd_graph_load_file("bools", NULL, &limits, &graph));
    onnxd_graph_destroy(graph);
}
