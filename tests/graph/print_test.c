#include "graph/print.h"

#include <criterion/criterion.h>

#include "tests/graph/build_graph.h"

static onnxd_tensor *make_tensor(onnxd_dtype dtype, int64_t count, unsigned char fill)
{
    onnxd_shape shape = onnxd_shape_from(1, &count);
    onnxd_tensor *tensor = NULL;
    expect_ok(onnxd_tensor_create(dtype, &shape, &tensor));
    if (tensor->bytes > 0)
        ((unsigned char *)tensor->data)[0] = fill;
    return tensor;
}

static void add_node(onnxd_graph *graph, onnxd_attribute *attributes, uint32_t count)
{
    onnxd_value_id output = build_value(graph, "y");
    onnxd_node node = {.domain = "my",
                       .name = "a \"b\"",
                       .op_type = "Op",
                       .outputs = &output,
                       .output_count = 1,
                       .attributes = attributes,
                       .attribute_count = count};
    onnxd_node_id id;
    expect_ok(onnxd_graph_add_node(graph, &node, &id));
}

Test(print, attributes_of_every_kind)
{
    static const float floats[2] = {0.5f, -1.0f};
    static const int64_t ints[2] = {1, -2};
    static const onnxd_text strings[2] = {{"a", 1}, {"\n", 1}};
    const onnxd_tensor *tensors[2] = {make_tensor(ONNXD_INT32, 1, 7),
                                      make_tensor(ONNXD_FLOAT, 9, 0)};
    const int64_t two[1] = {2};
    const onnxd_tensor_type types[3] = {
        {.dtype = ONNXD_FLOAT, .shape = onnxd_shape_from(1, two)},
        {.dtype = ONNXD_INT64, .shape = onnxd_shape_unknown(), .kind = ONNXD_VALUE_SEQUENCE},
        {.dtype = ONNXD_UNDEFINED, .kind = ONNXD_VALUE_OPTIONAL}};
    onnxd_graph *inner = build_graph();
    onnxd_graph *graph = build_graph();
    onnxd_graph *graphs[1] = {inner};
    inner->parent = graph;
    onnxd_attribute attributes[] = {
        {.name = "f", .kind = ONNXD_ATTRIBUTE_FLOAT, .count = 1, .value.f = 0.1f},
        {.name = "i", .kind = ONNXD_ATTRIBUTE_INT, .count = 1, .value.i = INT64_MIN},
        {.name = "s", .kind = ONNXD_ATTRIBUTE_STRING, .count = 1, .value.s = {"x", 1}},
        {.name = "t",
         .kind = ONNXD_ATTRIBUTE_TENSOR,
         .count = 1,
         .value.tensor = make_tensor(ONNXD_BOOL, 1, 1)},
        {.name = "fs", .kind = ONNXD_ATTRIBUTE_FLOATS, .count = 2, .value.floats = floats},
        {.name = "is", .kind = ONNXD_ATTRIBUTE_INTS, .count = 2, .value.ints = ints},
        {.name = "ss", .kind = ONNXD_ATTRIBUTE_STRINGS, .count = 2, .value.strings = strings},
        {.name = "ts", .kind = ONNXD_ATTRIBUTE_TENSORS, .count = 2, .value.tensors = tensors},
        {.name = "none", .kind = ONNXD_ATTRIBUTE_INTS},
        {.name = "gs", .kind = ONNXD_ATTRIBUTE_GRAPHS, .count = 1, .value.graphs = graphs},
        {.name = "st",
         .kind = ONNXD_ATTRIBUTE_SPARSE_TENSOR,
         .count = 1,
         .value.tensor = make_tensor(ONNXD_INT32, 1, 3)},
        {.name = "tp", .kind = ONNXD_ATTRIBUTE_TYPE_PROTO, .count = 1, .value.type = &types[0]},
        {.name = "tps", .kind = ONNXD_ATTRIBUTE_TYPE_PROTOS, .count = 3, .value.types = types},
    };
    add_node(graph, attributes, ONNXD_COUNT(attributes));
    build_signature(graph, "", "y");
    expect_graph(graph, "graph \"\" ir 8 opset ai.onnx 13\n"
                        "node my.Op \"a \\\"b\\\"\" () -> (y: ?) {f=0.1, i=-9223372036854775808, "
                        "s=\"x\", t=bool[1] {1}, fs=[0.5,-1.0], is=[1,-2], ss=[\"a\",\"\\n\"], "
                        "ts=[int32[1] {7},float[9]], none=[], gs=[\n"
                        "  graph \"\"\n"
                        "], st=int32[1] {3}, tp=float[2], "
                        "tps=[float[2],sequence(int64[?]*),optional]}\n"
                        "output y: ?\n");
    onnxd_graph_destroy(graph);
}

Test(print, constants_of_many_types)
{
    onnxd_graph *graph = build_graph();
    static const struct {
        const char *name;
        onnxd_dtype dtype;
    } values[] = {{"a", ONNXD_DOUBLE},
                  {"b", ONNXD_UINT8},
                  {"c", ONNXD_INT64},
                  {"d", ONNXD_FLOAT16},
                  {"e", ONNXD_STRING}};
    for (size_t i = 0; i < ONNXD_COUNT(values); i++) {
        onnxd_tensor *tensor = make_tensor(values[i].dtype, 2, 0);
        onnxd_graph_set_constant(graph, build_value(graph, values[i].name), tensor);
        onnxd_tensor_release(tensor);
    }
    expect_graph(graph, "graph \"\" ir 8 opset ai.onnx 13\n"
                        "constant a: double[2] {0.0, 0.0}\n"
                        "constant b: uint8[2] {0, 0}\n"
                        "constant c: int64[2] {0, 0}\n"
                        "constant d: float16[2] {.., ..}\n"
                        "constant e: string[2] {\"\", \"\"}\n");
    onnxd_graph_destroy(graph);
}

static void check_type(const onnxd_graph *graph, onnxd_dtype dtype, onnxd_shape shape,
                       const char *expected)
{
    onnxd_strbuf text;
    onnxd_strbuf_init(&text, 1024);
    onnxd_tensor_type type = {.dtype = dtype, .shape = shape};
    onnxd_print_type(graph, &type, &text);
    cr_expect_str_eq(text.data, expected);
    onnxd_strbuf_deinit(&text);
}

Test(print, types)
{
    onnxd_graph *graph = build_graph();
    int64_t dims[4] = {7, 0, ONNXD_DIM_UNKNOWN, 0};
    int64_t batch;
    expect_ok(onnxd_graph_symbol(graph, "batch", &batch));
    dims[1] = batch;
    check_type(graph, ONNXD_FLOAT, onnxd_shape_from(4, dims), "float[7,batch,?,0]");
    dims[1] = ONNXD_DIM_FROM_SYMBOL(5);
    check_type(graph, ONNXD_INT2, onnxd_shape_from(2, dims), "int2[7,?]");
    check_type(graph, ONNXD_STRING, onnxd_shape_from(0, dims), "string[]");
    check_type(graph, ONNXD_BOOL, onnxd_shape_unknown(), "bool[?]*");
    check_type(graph, ONNXD_UNDEFINED, onnxd_shape_unknown(), "?");
    onnxd_graph_destroy(graph);
}
