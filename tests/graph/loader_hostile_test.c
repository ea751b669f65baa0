/* Files that nobody wrote on purpose, and some that somebody did. Any answer but a crash, a hang or
 * a leak will do, unless a test says which error it must be. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/alloc.h"
#include "graph/passes.h"
#include "tests/graph/build_graph.h"
#include "tests/graph/load.h"
#include "tests/graph/toy_ops.h"

static const int64_t two[1] = {2};

/* f(i) = { m = If(i) { then: Identity(i) {p = a} }; o = Add(m, i) } with attribute a. */
static void write_rich_function(wire *w)
{
    wire_begin(w, MODEL_FUNCTIONS);
    wire_text(w, FUNCTION_NAME, "f");
    wire_text(w, FUNCTION_DOMAIN, "local");
    wire_text(w, FUNCTION_INPUT, "i");
    wire_text(w, FUNCTION_OUTPUT, "o");
    wire_text(w, FUNCTION_ATTRIBUTE, "a");
    wire_begin(w, FUNCTION_OPSET_IMPORT);
    wire_int(w, 2, 13);
    wire_end(w);
    wire_node_begin_in(w, FUNCTION_NODE, "If", "", "i", "m");
    wire_begin(w, NODE_ATTRIBUTE);
    wire_text(w, ATTRIBUTE_NAME, "then_branch");
    wire_begin(w, ATTRIBUTE_G);
    wire_node_begin(w, "Mystery", "", "i", "t");
    wire_begin(w, NODE_ATTRIBUTE);
    wire_text(w, ATTRIBUTE_NAME, "p");
    wire_text(w, ATTRIBUTE_REF, "a");
    wire_int(w, ATTRIBUTE_TYPE, 2);
    wire_end(w);
    wire_end(w);
    wire_value_info(w, GRAPH_OUTPUT, "t", 1, 1, two);
    wire_end(w);
    wire_int(w, ATTRIBUTE_TYPE, 5);
    wire_end(w);
    wire_end(w);
    wire_node_begin_in(w, FUNCTION_NODE, "Add", "", "m,i", "o");
    wire_end(w);
    wire_end(w);
}

/* A model with one of most things: typed and raw data, a subgraph, attributes, value infos, a
 * branch that is always taken, a function that is called twice. */
static void write_rich_model(wire *w)
{
    static const float weights[2] = {1.0f, 2.0f};
    static const int64_t shape[1] = {2};
    wire_init(w);
    wire_model_begin(w);
    wire_value_info(w, GRAPH_INPUT, "x", 1, 1, two);
    wire_raw_initializer(w, "w", 1, 1, two, weights, sizeof(weights));
    wire_raw_initializer(w, "shape", 7, 1, (const int64_t[]){1}, shape, sizeof(shape));
    wire_begin(w, GRAPH_INITIALIZER);
    wire_tensor_header(w, "names", 8, 1, two);
    wire_text(w, TENSOR_STRING_DATA, "a");
    wire_text(w, TENSOR_STRING_DATA, "b");
    wire_end(w);
    wire_node(w, "Add", "sum", "x,w", "s");
    wire_node(w, "Reshape", "", "s,shape", "r");
    wire_node_begin(w, "If", "branch", "x", "i");
    wire_begin(w, NODE_ATTRIBUTE);
    wire_text(w, ATTRIBUTE_NAME, "then_branch");
    wire_begin(w, ATTRIBUTE_G);
    wire_node(w, "Identity", "", "r", "t");
    wire_value_info(w, GRAPH_OUTPUT, "t", 1, 1, two);
    wire_end(w);
    wire_int(w, ATTRIBUTE_TYPE, 5);
    wire_end(w);
    wire_attribute_int(w, "axis", -1);
    wire_end(w);
    wire_value_info(w, GRAPH_VALUE_INFO, "s", 1, 1, two);
    wire_node(w, "Dropout", "", "r", "y");
    for (int i = 0; i < 2; i++) {
        wire_node_begin(w, "f", "", i == 0 ? "y" : "f1", i == 0 ? "f1" : "f2");
        wire_text(w, NODE_DOMAIN, "local");
        wire_attribute_int(w, "a", i);
        wire_end(w);
    }
    wire_raw_initializer(w, "always", 9, 0, NULL, "\1", 1);
    wire_node_begin(w, "If", "", "always", "j");
    wire_begin(w, NODE_ATTRIBUTE);
    wire_text(w, ATTRIBUTE_NAME, "then_branch");
    wire_begin(w, ATTRIBUTE_G);
    wire_node(w, "Add", "", "f2,w", "t");
    wire_value_info(w, GRAPH_OUTPUT, "t", 1, 1, two);
    wire_end(w);
    wire_int(w, ATTRIBUTE_TYPE, 5);
    wire_end(w);
    wire_end(w);
    wire_value_info(w, GRAPH_OUTPUT, "y", 1, 1, two);
    wire_value_info(w, GRAPH_OUTPUT, "i", 1, 1, two);
    wire_value_info(w, GRAPH_OUTPUT, "j", 1, 1, two);
    wire_model_end(w);
    write_rich_function(w);
}

/* Loads and optimises from a heap block of exactly `size` bytes, so that a sanitizer sees the end.
 */
static bool try_load(const uint8_t *data, size_t size)
{
    onnxd_load_limits limits = onnxd_load_limits_default();
    onnxd_pass_env env = {
        .registry = &toy_ops, .fold_max_node_bytes = 1024, .fold_max_total_bytes = 4096};
    onnxd_graph *graph = NULL;
    uint8_t *copy = onnxd_alloc(size);
    cr_assert(copy != NULL);
    memcpy(copy, data, size);
    onnxd_status *status =
        onnxd_graph_load_memory(copy, size, "/nonexistent", &toy_ops, &limits, &graph);
    onnxd_free(copy);
    if (status == NULL)
        status = onnxd_passes_run(graph, &env);
    bool loaded = status == NULL;
    if (!loaded)
        cr_assert(onnxd_status_message(status)[0] != '\0');
    onnxd_status_free(status);
    onnxd_graph_destroy(graph);
    return loaded;
}

Test(loader_hostile, the_rich_model_is_sound)
{
    wire w;
    write_rich_model(&w);
    cr_expect(try_load(wire_data(&w), wire_size(&w)));
    wire_deinit(&w);
}

Test(loader_hostile, truncation_at_every_byte)
{
    wire w;
    write_rich_model(&w);
    uint64_t live = onnxd_alloc_query().live_count;
    for (size_t size = 0; size < wire_size(&w); size++)
        cr_expect(!try_load(wire_data(&w), size), "%zu bytes load", size);
    cr_expect(onnxd_alloc_query().live_count == live);
    wire_deinit(&w);
}

Test(loader_hostile, every_bit_flipped)
{
    wire w;
    write_rich_model(&w);
    uint64_t live = onnxd_alloc_query().live_count;
    uint8_t *bytes = onnxd_alloc(wire_size(&w));
    cr_assert(bytes != NULL);
    size_t refused = 0;
    for (size_t bit = 0; bit < 8 * wire_size(&w); bit++) {
        memcpy(bytes, wire_data(&w), wire_size(&w));
        bytes[bit / 8] ^= (uint8_t)(1u << (bit % 8));
        refused += try_load(bytes, wire_size(&w)) ? 0 : 1;
    }
    onnxd_free(bytes);
    cr_expect(refused > 0);
    cr_expect(onnxd_alloc_query().live_count == live);
    wire_deinit(&w);
}

/* Every byte replaced by values that mean something on the wire. */
Test(loader_hostile, every_byte_replaced)
{
    static const uint8_t values[] = {0x00, 0x01, 0x0a, 0x12, 0x2a, 0x3a, 0x7f, 0x80, 0xff};
    wire w;
    write_rich_model(&w);
    uint8_t *bytes = onnxd_alloc(wire_size(&w));
    cr_assert(bytes != NULL);
    size_t loaded = 0;
    for (size_t i = 0; i < wire_size(&w); i++) {
        for (size_t v = 0; v < ONNXD_COUNT(values); v++) {
            memcpy(bytes, wire_data(&w), wire_size(&w));
            bytes[i] = values[v];
            loaded += try_load(bytes, wire_size(&w)) ? 1 : 0;
        }
    }
    cr_expect(loaded > 0);
    onnxd_free(bytes);
    wire_deinit(&w);
}

/* Pseudo-random mutants: several bytes at once, pieces moved, pieces repeated. */
Test(loader_hostile, mutants)
{
    wire w;
    write_rich_model(&w);
    size_t size = wire_size(&w);
    uint8_t *bytes = onnxd_alloc(2 * size);
    cr_assert(bytes != NULL);
    uint64_t state = 88172645463325252u;
    for (int round = 0; round < 4000; round++) {
        uint64_t r[4];
        for (int i = 0; i < 4; i++) {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            r[i] = state;
        }
        memcpy(bytes, wire_data(&w), size);
        size_t length = 1 + r[0] % 32;
        size_t from = r[1] % (size - length);
        size_t to = r[2] % (size - length);
        size_t mutant = size;
        if (r[3] % 3 == 0) {
            memmove(bytes + to, bytes + from, length);
        } else if (r[3] % 3 == 1) {
            memcpy(bytes + size, bytes + from, length);
            mutant += length;
        } else {
            for (size_t i = 0; i < 4; i++)
                bytes[(r[i] >> 8) % size] = (uint8_t)r[i];
        }
        (void)try_load(bytes, mutant);
    }
    onnxd_free(bytes);
    wire_deinit(&w);
}

Test(loader_hostile, names_are_only_names)
{
    wire w;
    wire_init(&w);
    wire_model_begin(&w);
    wire_node(&w, "%n%s%n", "%s%n\n\x1b[2J", "%n", "%n%n");
    wire_model_end(&w);
    onnxd_graph *graph = NULL;
    onnxd_status *status = load_wire(&w, &graph);
    cr_assert(status != NULL);
    cr_expect_str_eq(onnxd_status_message(status),
                     "node '%s%n\\x0a\\x1b[2J' (%n%s%n): value '%n' is produced by nothing");
    onnxd_status_free(status);
    wire_deinit(&w);
}

/* Many names must not make the loader quadratic. */
Test(loader_hostile, many_nodes)
{
    enum { NODES = 50000 };
    wire w;
    wire_init(&w);
    wire block;
    wire_init(&block);
    for (int i = NODES; i > 0; i--) {
        char names[2][16];
        (void)snprintf(names[0], sizeof(names[0]), "v%d", i - 1);
        (void)snprintf(names[1], sizeof(names[1]), "v%d", i);
        wire_node(&block, "Identity", "", names[0], names[1]);
    }
    wire_int(&w, MODEL_IR_VERSION, 8);
    wire_opset(&w, "", 13);
    wire_value_info(&block, GRAPH_INPUT, "v0", 1, 1, two);
    wire_bytes(&w, MODEL_GRAPH, wire_data(&block), wire_size(&block));
    wire_deinit(&block);
    onnxd_graph *graph = load_good(&w);
    cr_expect(graph->node_count == NODES);
    expect_ok(onnxd_infer_shapes(graph));
    onnxd_graph_destroy(graph);
}

/* Many symbols, many inputs of one node, many opset imports. */
Test(loader_hostile, many_of_everything)
{
    wire w;
    wire block;
    wire_init(&w);
    wire_init(&block);
    for (int i = 0; i < 20000; i++) {
        char name[16];
        (void)snprintf(name, sizeof(name), "s%d", i);
        wire_begin(&block, GRAPH_INPUT);
        wire_text(&block, 1, name);
        wire_begin(&block, 2);
        wire_begin(&block, 1);
        wire_int(&block, 1, 1);
        wire_begin(&block, 2);
        wire_begin(&block, 1);
        wire_text(&block, 2, name);
        for (int open = 0; open < 5; open++)
            wire_end(&block);
    }
    wire_int(&w, MODEL_IR_VERSION, 8);
    wire_opset(&w, "", 13);
    wire_bytes(&w, MODEL_GRAPH, wire_data(&block), wire_size(&block));
    onnxd_graph *graph = load_good(&w);
    cr_expect(graph->symbol_count == 20000);
    onnxd_graph_destroy(graph);
    wire_deinit(&block);
    wire_init(&w);
    wire_small_model(&w);
    for (int i = 0; i < 300; i++) {
        char name[16];
        (void)snprintf(name, sizeof(name), "d%d", i);
        wire_opset(&w, name, 1);
    }
    load_bad(&w, ONNXD_INVALID_ARGUMENT, "301 opset imports, at most 256");
}

static uint64_t peak_bytes(void)
{
    struct rusage usage;
    cr_assert(getrusage(RUSAGE_SELF, &usage) == 0);
    return (uint64_t)usage.ru_maxrss * 1024;
}

/* A claim of a size allocates nothing of that size. */
Test(loader_hostile, claimed_sizes_are_not_allocated)
{
    uint64_t before = peak_bytes();
    static const int64_t huge[2] = {(int64_t)1 << 20, (int64_t)1 << 14};
    wire w;
    wire_init(&w);
    wire_model_begin(&w);
    wire_raw_initializer(&w, "t", 1, 2, huge, "abcd", 4);
    wire_model_end(&w);
    load_bad(&w, ONNXD_INVALID_ARGUMENT, "raw_data holds 4 bytes");
    cr_expect(peak_bytes() - before < (uint64_t)64 << 20);
}

/* A chain of large constants stays a chain of nodes. */
Test(loader_hostile, folding_bombs)
{
    static const int64_t shape[2] = {1 << 14, 1 << 14};
    wire w;
    wire_init(&w);
    wire_model_begin(&w);
    wire_raw_initializer(&w, "shape", 7, 1, two, shape, sizeof(shape));
    for (int i = 0; i < 100; i++) {
        char name[16];
        (void)snprintf(name, sizeof(name), "c%d", i);
        wire_node(&w, "ConstantOfShape", "", "shape", name);
        wire_begin(&w, GRAPH_OUTPUT);
        wire_text(&w, 1, name);
        wire_end(&w);
    }
    wire_model_end(&w);
    uint64_t before = peak_bytes();
    onnxd_graph *graph = load_good(&w);
    onnxd_pass_env env = {
        .registry = &toy_ops, .fold_max_node_bytes = 16 << 20, .fold_max_total_bytes = 256 << 20};
    expect_ok(onnxd_passes_run(graph, &env));
    cr_expect(graph->node_count == 100);
    cr_expect(peak_bytes() - before < (uint64_t)64 << 20);
    onnxd_graph_destroy(graph);
}

/* Files of 2 GiB are refused unread; one byte less is scanned, and these zeros end at once. */
Test(loader_hostile, two_gibibytes)
{
    char path[] = "/tmp/onnxd-sparse-XXXXXX";
    int descriptor = mkstemp(path);
    cr_assert(descriptor >= 0);
    onnxd_load_limits limits = onnxd_load_limits_default();
    onnxd_graph *graph = NULL;
    cr_assert(ftruncate(descriptor, (off_t)1 << 31) == 0);
    expect_error(onnxd_graph_load_file(path, NULL, &limits, &graph), ONNXD_INVALID_ARGUMENT,
                 "has 2147483648 bytes, at most 2147483647 are allowed");
    limits.max_file_bytes = UINT64_MAX;
    expect_error(onnxd_graph_load_file(path, NULL, &limits, &graph), ONNXD_INVALID_ARGUMENT,
                 "protobuf allows at most 2147483647");
    cr_assert(ftruncate(descriptor, ((off_t)1 << 31) - 1) == 0);
    expect_error(onnxd_graph_load_file(path, NULL, &limits, &graph), ONNXD_INVALID_ARGUMENT,
                 "field number 0");
    (void)close(descriptor);
    cr_assert(unlink(path) == 0);
}
