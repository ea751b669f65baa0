#include "graph/prescan.h"

#include <criterion/criterion.h>
#include <string.h>

#include "base/alloc.h"
#include "tests/graph/build_graph.h"
#include "tests/graph/wire.h"

static onnxd_status *scan(const wire *w)
{
    onnxd_load_limits limits = onnxd_load_limits_default();
    onnxd_prescan_result result;
    return onnxd_prescan(wire_data(w), wire_size(w), ONNXD_PRESCAN_MODEL, &limits, &result);
}

/* Bytes that stand for a whole model. */
static onnxd_status *scan_raw(const void *data, size_t size)
{
    onnxd_load_limits limits = onnxd_load_limits_default();
    onnxd_prescan_result result;
    return onnxd_prescan(data, size, ONNXD_PRESCAN_MODEL, &limits, &result);
}

#define SCAN_BYTES(...)                                                                            \
    scan_raw((const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__}))

Test(prescan, sound_models_pass)
{
    wire w;
    wire_init(&w);
    wire_small_model(&w);
    onnxd_load_limits limits = onnxd_load_limits_default();
    onnxd_prescan_result result = {0};
    expect_ok(onnxd_prescan(wire_data(&w), wire_size(&w), ONNXD_PRESCAN_MODEL, &limits, &result));
    cr_expect(result.raw_bytes == 8);
    cr_expect(result.heap_bytes > wire_size(&w));
    cr_expect(result.heap_bytes < 16384);
    wire_deinit(&w);
    expect_ok(scan_raw("", 0));
}

Test(prescan, allocates_nothing)
{
    wire w;
    wire_init(&w);
    wire_small_model(&w);
    uint64_t before = onnxd_alloc_query().calls;
    expect_ok(scan(&w));
    cr_expect(onnxd_alloc_query().calls == before);
    wire_deinit(&w);
}

Test(prescan, malformed_varints)
{
    expect_error(SCAN_BYTES(0x08), ONNXD_INVALID_ARGUMENT, "byte 0 in ModelProto: truncated");
    expect_error(SCAN_BYTES(0x08, 0x80), ONNXD_INVALID_ARGUMENT, "truncated or overlong varint");
    expect_error(SCAN_BYTES(0x88), ONNXD_INVALID_ARGUMENT, "field tag");
    expect_error(SCAN_BYTES(0x88, 0x80, 0x80, 0x80, 0x80, 0x00, 0x01), ONNXD_INVALID_ARGUMENT,
                 "overlong field tag");
    expect_error(SCAN_BYTES(0xff, 0xff, 0xff, 0xff, 0x7f, 0x01), ONNXD_INVALID_ARGUMENT,
                 "overlong field tag");
    expect_error(SCAN_BYTES(0x08, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x01),
                 ONNXD_INVALID_ARGUMENT, "overlong varint");
    expect_error(SCAN_BYTES(0x08, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02),
                 ONNXD_INVALID_ARGUMENT, "overlong varint");
    expect_ok(SCAN_BYTES(0x08, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01));
    expect_error(SCAN_BYTES(0x12, 0x80, 0x80, 0x80, 0x80, 0x80, 0x00), ONNXD_INVALID_ARGUMENT,
                 "overlong length");
}

Test(prescan, malformed_structure)
{
    expect_error(SCAN_BYTES(0x00, 0x00), ONNXD_INVALID_ARGUMENT, "field number 0");
    expect_error(SCAN_BYTES(0x3b, 0x3c), ONNXD_INVALID_ARGUMENT, "groups");
    expect_error(SCAN_BYTES(0x3c), ONNXD_INVALID_ARGUMENT, "groups");
    expect_error(SCAN_BYTES(0x0e, 0x00), ONNXD_INVALID_ARGUMENT, "reserved wire types");
    expect_error(SCAN_BYTES(0x0f, 0x00), ONNXD_INVALID_ARGUMENT, "reserved wire types");
    expect_error(SCAN_BYTES(0x12, 0x02, 'a'), ONNXD_INVALID_ARGUMENT,
                 "length exceeds the enclosing message");
    expect_error(SCAN_BYTES(0x3a, 0x03, 0x0a, 0x02, 0x00), ONNXD_INVALID_ARGUMENT,
                 "byte 2 in GraphProto: length exceeds");
    expect_error(SCAN_BYTES(0x08, 0x01, 0x08, 0x01), ONNXD_INVALID_ARGUMENT,
                 "byte 2: field 'ir_version' of ModelProto occurs twice");
    expect_error(SCAN_BYTES(0x3a, 0x00, 0x3a, 0x00), ONNXD_INVALID_ARGUMENT,
                 "field 'graph' of ModelProto occurs twice");
}

/* Every known field of ModelProto with every other wire type. */
Test(prescan, wrong_wire_types)
{
    static const struct {
        uint32_t field;
        uint32_t right;
    } fields[] = {{1, 0}, {2, 2}, {3, 2},  {4, 2},  {5, 0},  {6, 2},
                  {7, 2}, {8, 2}, {14, 2}, {20, 2}, {25, 2}, {26, 2}};
    for (size_t i = 0; i < ONNXD_COUNT(fields); i++) {
        for (uint32_t type = 0; type < 6; type++) {
            wire w;
            wire_init(&w);
            wire_tag(&w, fields[i].field, type);
            for (int pad = 0; pad < 8; pad++)
                wire_varint(&w, 0);
            if (type == 3 || type == 4)
                expect_error(scan(&w), ONNXD_INVALID_ARGUMENT, "groups");
            else if (type != fields[i].right)
                expect_error(scan(&w), ONNXD_INVALID_ARGUMENT, "wrong wire type");
            wire_deinit(&w);
        }
    }
}

static onnxd_status *scan_name(const void *name, size_t size)
{
    wire w;
    wire_init(&w);
    wire_begin(&w, MODEL_GRAPH);
    wire_bytes(&w, GRAPH_NAME, name, size);
    wire_end(&w);
    onnxd_status *status = scan(&w);
    wire_deinit(&w);
    return status;
}

Test(prescan, names_are_utf8)
{
    expect_ok(scan_name("caf\xc3\xa9", 5));
    expect_error(scan_name("\xc3", 1), ONNXD_INVALID_ARGUMENT,
                 "field 'name' of GraphProto is not UTF-8");
    expect_error(scan_name("\xc0\xaf", 2), ONNXD_INVALID_ARGUMENT, "not UTF-8");
    expect_error(scan_name("\xed\xa0\x80", 3), ONNXD_INVALID_ARGUMENT, "not UTF-8");
    expect_error(scan_name("\xf4\x90\x80\x80", 4), ONNXD_INVALID_ARGUMENT, "not UTF-8");
    expect_error(scan_name("a\0b", 3), ONNXD_INVALID_ARGUMENT, "contains NUL");
}

Test(prescan, names_have_a_limit)
{
    char name[4097];
    memset(name, 'n', sizeof(name));
    expect_ok(scan_name(name, 4095));
    expect_ok(scan_name(name, 4096));
    expect_error(scan_name(name, 4097), ONNXD_INVALID_ARGUMENT,
                 "has 4097 bytes, at most 4096 are allowed");
}

/* Doc strings are text that nobody reads: no limit but the heap's, no rules. */
Test(prescan, doc_strings_are_opaque)
{
    char text[8192];
    memset(text, 0xff, sizeof(text));
    wire w;
    wire_init(&w);
    wire_bytes(&w, 6, text, sizeof(text));
    wire_bytes(&w, MODEL_TRAINING_INFO, text, sizeof(text));
    expect_ok(scan(&w));
    wire_deinit(&w);
}

Test(prescan, packed_fields)
{
    static const uint8_t varints[] = {0x01, 0xff, 0x01};
    static const uint8_t open_varint[] = {0x01, 0x80};
    static const uint8_t floats[6] = {0};
    const struct {
        uint32_t field;
        const void *data;
        size_t size;
        const char *error;
    } cases[] = {{TENSOR_DIMS, varints, 3, NULL},
                 {TENSOR_DIMS, open_varint, 2, "field 'dims' of TensorProto holds a truncated"},
                 {TENSOR_FLOAT_DATA, floats, 4, NULL},
                 {TENSOR_FLOAT_DATA, floats, 6, "no multiple of its elements"},
                 {TENSOR_DOUBLE_DATA, floats, 4, "no multiple of its elements"},
                 {TENSOR_INT64_DATA, "", 0, NULL}};
    onnxd_load_limits limits = onnxd_load_limits_default();
    onnxd_prescan_result result;
    for (size_t i = 0; i < ONNXD_COUNT(cases); i++) {
        wire w;
        wire_init(&w);
        wire_bytes(&w, cases[i].field, cases[i].data, cases[i].size);
        onnxd_status *status =
            onnxd_prescan(wire_data(&w), wire_size(&w), ONNXD_PRESCAN_TENSOR, &limits, &result);
        if (cases[i].error == NULL)
            expect_ok(status);
        else
            expect_error(status, ONNXD_INVALID_ARGUMENT, cases[i].error);
        wire_deinit(&w);
    }
}

/* Graph in attribute in node in graph, `levels` deep below the outermost graph or a function. */
static onnxd_status *scan_levels(uint32_t outermost, uint32_t node, size_t levels,
                                 uint32_t max_levels)
{
    onnxd_load_limits limits = onnxd_load_limits_default();
    limits.max_subgraph_depth = max_levels;
    onnxd_prescan_result result;
    wire w;
    wire_init(&w);
    wire_begin(&w, outermost);
    for (size_t i = 0; i < levels; i++) {
        wire_begin(&w, i == 0 ? node : GRAPH_NODE);
        wire_begin(&w, NODE_ATTRIBUTE);
        wire_begin(&w, ATTRIBUTE_G);
    }
    for (size_t i = 0; i < 3 * levels + 1; i++)
        wire_end(&w);
    onnxd_status *status =
        onnxd_prescan(wire_data(&w), wire_size(&w), ONNXD_PRESCAN_MODEL, &limits, &result);
    wire_deinit(&w);
    return status;
}

static onnxd_status *scan_subgraphs(size_t levels, uint32_t max_levels)
{
    return scan_levels(MODEL_GRAPH, GRAPH_NODE, levels, max_levels);
}

Test(prescan, subgraph_depth)
{
    expect_ok(scan_subgraphs(0, 32));
    expect_ok(scan_subgraphs(31, 32));
    expect_ok(scan_subgraphs(32, 32));
    expect_error(scan_subgraphs(33, 32), ONNXD_INVALID_ARGUMENT, "levels of nested");
    expect_error(scan_subgraphs(100, 32), ONNXD_INVALID_ARGUMENT, "levels of nested");
    expect_ok(scan_subgraphs(0, 0));
    expect_ok(scan_subgraphs(5, 5));
    expect_error(scan_subgraphs(6, 5), ONNXD_INVALID_ARGUMENT,
                 "more than 5 levels of nested subgraphs");
    expect_ok(scan_levels(MODEL_FUNCTIONS, FUNCTION_NODE, 5, 5));
    expect_error(scan_levels(MODEL_FUNCTIONS, FUNCTION_NODE, 6, 5), ONNXD_INVALID_ARGUMENT,
                 "more than 5 levels of nested subgraphs");
}

/* What a function holds counts as what the graph holds. */
Test(prescan, functions_are_counted)
{
    onnxd_load_limits limits = onnxd_load_limits_default();
    limits.max_nodes = 3;
    onnxd_prescan_result result;
    wire w;
    wire_init(&w);
    for (int i = 0; i < 4; i++) {
        wire_begin(&w, MODEL_FUNCTIONS);
        wire_node_begin_in(&w, FUNCTION_NODE, "Identity", "", "a", "b");
        wire_end(&w);
        wire_end(&w);
    }
    expect_error(onnxd_prescan(wire_data(&w), wire_size(&w), ONNXD_PRESCAN_MODEL, &limits, &result),
                 ONNXD_INVALID_ARGUMENT, "more than 3 nodes");
    wire_deinit(&w);
    wire_init(&w);
    wire_begin(&w, MODEL_FUNCTIONS);
    wire_bytes(&w, FUNCTION_INPUT, "a\0b", 3);
    wire_end(&w);
    expect_error(onnxd_prescan(wire_data(&w), wire_size(&w), ONNXD_PRESCAN_MODEL, &limits, &result),
                 ONNXD_INVALID_ARGUMENT, "field 'input' of FunctionProto contains NUL");
    wire_deinit(&w);
}

Test(prescan, message_depth)
{
    onnxd_load_limits limits = onnxd_load_limits_default();
    onnxd_prescan_result result;
    wire w;
    wire_init(&w);
    wire_small_model(&w); /* model, graph, value info, type, tensor type, shape, dimension */
    limits.max_depth = 7;
    expect_ok(onnxd_prescan(wire_data(&w), wire_size(&w), ONNXD_PRESCAN_MODEL, &limits, &result));
    limits.max_depth = 6;
    expect_error(onnxd_prescan(wire_data(&w), wire_size(&w), ONNXD_PRESCAN_MODEL, &limits, &result),
                 ONNXD_INVALID_ARGUMENT, "more than 6 levels of nested messages");
    limits.max_depth = 0;
    expect_error(onnxd_prescan(wire_data(&w), wire_size(&w), ONNXD_PRESCAN_MODEL, &limits, &result),
                 ONNXD_INVALID_ARGUMENT, "more than 0 levels");
    wire_deinit(&w);
}

/* Written from the inside out, since the lengths of the outer levels follow from the inner ones. */
static onnxd_status *scan_deep(size_t levels)
{
    size_t capacity = levels * 3 * 8 + 64;
    uint8_t *buffer = onnxd_alloc(capacity);
    cr_assert(buffer != NULL);
    size_t start = capacity;
    static const uint8_t tags[3] = {0x32, 0x2a, 0x0a}; /* attribute.g, node.attribute, graph.node */
    for (size_t i = 0; i < 3 * levels + 1; i++) {
        uint8_t prefix[11] = {i < 3 * levels ? tags[i % 3] : 0x3a};
        size_t size = 1;
        for (size_t length = capacity - start; size == 1 || length > 0; length >>= 7) {
            prefix[size] = (uint8_t)(length & 0x7f);
            if (length >> 7 != 0)
                prefix[size] |= 0x80;
            size++;
        }
        start -= size;
        memcpy(buffer + start, prefix, size);
    }
    onnxd_status *status = scan_raw(buffer + start, capacity - start);
    onnxd_free(buffer);
    return status;
}

Test(prescan, absurd_depth)
{
    expect_ok(scan_deep(32));
    expect_error(scan_deep(3000), ONNXD_INVALID_ARGUMENT, "levels of nested");
    expect_error(scan_deep(1000000), ONNXD_INVALID_ARGUMENT, "levels of nested");
}

Test(prescan, counts_are_limited)
{
    onnxd_load_limits limits = onnxd_load_limits_default();
    onnxd_prescan_result result;
    wire w;
    wire_init(&w);
    wire_begin(&w, MODEL_GRAPH);
    wire_begin(&w, GRAPH_INITIALIZER);
    wire_end(&w);
    wire_begin(&w, GRAPH_SPARSE_INITIALIZER);
    wire_end(&w);
    wire_begin(&w, GRAPH_NODE);
    wire_begin(&w, NODE_ATTRIBUTE);
    wire_end(&w);
    wire_begin(&w, NODE_ATTRIBUTE);
    wire_end(&w);
    wire_end(&w);
    wire_begin(&w, GRAPH_NODE);
    wire_begin(&w, NODE_ATTRIBUTE);
    wire_end(&w);
    wire_end(&w);
    wire_end(&w);
    const struct {
        uint32_t nodes, initializers, attributes;
        const char *error;
    } cases[] = {{2, 2, 2, NULL},
                 {1, 2, 2, "more than 1 nodes"},
                 {2, 1, 2, "more than 1 initializers"},
                 {2, 2, 1, "more than 1 attributes in one node"}};
    for (size_t i = 0; i < ONNXD_COUNT(cases); i++) {
        limits.max_nodes = cases[i].nodes;
        limits.max_initializers = cases[i].initializers;
        limits.max_attributes_per_node = cases[i].attributes;
        onnxd_status *status =
            onnxd_prescan(wire_data(&w), wire_size(&w), ONNXD_PRESCAN_MODEL, &limits, &result);
        if (cases[i].error == NULL)
            expect_ok(status);
        else
            expect_error(status, ONNXD_INVALID_ARGUMENT, cases[i].error);
    }
    wire_deinit(&w);
}

Test(prescan, subgraphs_are_counted)
{
    wire w;
    wire_init(&w);
    wire_begin(&w, MODEL_GRAPH);
    for (int i = 0; i <= ONNXD_PRESCAN_MAX_SUBGRAPHS; i++) {
        wire_begin(&w, GRAPH_NODE);
        wire_begin(&w, NODE_ATTRIBUTE);
        wire_begin(&w, ATTRIBUTE_G);
        wire_end(&w);
        wire_end(&w);
        wire_end(&w);
    }
    wire_end(&w);
    expect_error(scan(&w), ONNXD_INVALID_ARGUMENT, "more than 16384 subgraphs");
    wire_deinit(&w);
}

/* 16 MiB of the smallest messages, which unpack to 20 to 120 times their size. */
static void expect_bomb(uint32_t graph_field, uint32_t model_field)
{
    enum { BLOCK_COUNT = 4096, BOMB_BYTES = 16 << 20 };
    onnxd_load_limits limits = onnxd_load_limits_default();
    limits.max_nodes = limits.max_initializers = UINT32_MAX;
    onnxd_prescan_result result;
    wire block;
    wire w;
    wire_init(&block);
    wire_init(&w);
    for (int i = 0; i < BLOCK_COUNT; i++) {
        wire_tag(&block, model_field != 0 ? model_field : graph_field, 2);
        wire_varint(&block, 0);
    }
    if (model_field == 0)
        wire_begin(&w, MODEL_GRAPH);
    while (wire_size(&w) < BOMB_BYTES)
        onnxd_strbuf_append(&w.bytes, wire_data(&block), wire_size(&block));
    if (model_field == 0)
        wire_end(&w);
    expect_error(onnxd_prescan(wire_data(&w), wire_size(&w), ONNXD_PRESCAN_MODEL, &limits, &result),
                 ONNXD_INVALID_ARGUMENT, "would unpack to more than");
    wire_deinit(&w);
    wire_deinit(&block);
}

Test(prescan, amplifiers_are_refused)
{
    expect_bomb(GRAPH_INITIALIZER, 0);
    expect_bomb(GRAPH_NODE, 0);
    expect_bomb(GRAPH_VALUE_INFO, 0);
    expect_bomb(16, 0);   /* metadata_props */
    expect_bomb(0, 14);   /* metadata_props of the model */
    expect_bomb(0, 1000); /* an unknown field */
    expect_bomb(0, MODEL_FUNCTIONS);
}
