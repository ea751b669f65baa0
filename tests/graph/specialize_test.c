#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "graph/passes.h"
#include "tests/graph/build_graph.h"

typedef struct result {
    onnxd_tensor_type *types;
    onnxd_tensor **known;
    uint32_t count;
} result;

static result prepare(const onnxd_graph *graph)
{
    result r = {.count = graph->value_count};
    r.types = onnxd_alloc_zero(r.count, sizeof(*r.types));
    r.known = onnxd_alloc_zero(r.count, sizeof(onnxd_tensor *));
    cr_assert(r.types != NULL && r.known != NULL);
    return r;
}

static void set_input(result *r, onnxd_value_id value, onnxd_dtype dtype, int32_t rank,
                      const int64_t *dims)
{
    r->types[value] = (onnxd_tensor_type){.dtype = dtype, .shape = onnxd_shape_from(rank, dims)};
}

static void finish(result *r)
{
    for (uint32_t i = 0; i < r->count; i++)
        onnxd_tensor_release(r->known[i]);
    onnxd_free(r->types);
    onnxd_free(r->known);
}

/* y = Reshape(x, Concat(Shape(x), one)) */
static onnxd_graph *dynamic_reshape(void)
{
    onnxd_graph *graph = build_graph();
    int64_t unknown[1] = {-1};
    int64_t one[1] = {1};
    build_type(graph, "x", ONNXD_FLOAT, 1, unknown);
    build_int64(graph, "one", 1, one);
    build_node(graph, "Shape", "x", "s");
    build_node(graph, "Concat", "s,one", "t");
    build_node(graph, "Reshape", "x,t", "y");
    build_signature(graph, "x", "y");
    return graph;
}

Test(specialize, shape_values_are_evaluated)
{
    onnxd_graph *graph = dynamic_reshape();
    result r = prepare(graph);
    int64_t dims[1] = {7};
    set_input(&r, build_value(graph, "x"), ONNXD_FLOAT, 1, dims);
    expect_ok(onnxd_specialize(graph, 1024, NULL, r.types, r.known));
    const onnxd_tensor_type *y = &r.types[build_value(graph, "y")];
    cr_expect(y->dtype == ONNXD_FLOAT && y->shape.rank == 2);
    cr_expect(y->shape.dims[0] == 7 && y->shape.dims[1] == 1);
    const onnxd_tensor *t = r.known[build_value(graph, "t")];
    cr_assert(t != NULL);
    cr_expect(((const int64_t *)t->data)[0] == 7);
    cr_expect(r.known[build_value(graph, "s")] == NULL, "only t needed it");
    cr_expect(r.known[build_value(graph, "x")] == NULL);
    cr_expect(r.known[build_value(graph, "y")] == NULL, "y's value decides no shape");
    /* The graph itself is unchanged. */
    cr_expect(graph->values[build_value(graph, "x")].type.shape.dims[0] == -1);
    finish(&r);
    onnxd_graph_destroy(graph);
}

Test(specialize, inputs_need_static_shapes)
{
    onnxd_graph *graph = dynamic_reshape();
    result r = prepare(graph);
    expect_error(onnxd_specialize(graph, 1024, NULL, r.types, r.known), ONNXD_INVALID_ARGUMENT,
                 "graph input 'x' has no static shape");
    finish(&r);
    onnxd_graph_destroy(graph);
}

Test(specialize, evaluation_is_bounded)
{
    onnxd_graph *graph = dynamic_reshape();
    result r = prepare(graph);
    int64_t dims[1] = {7};
    set_input(&r, build_value(graph, "x"), ONNXD_FLOAT, 1, dims);
    expect_error(onnxd_specialize(graph, 15, NULL, r.types, r.known), ONNXD_RESOURCE_EXHAUSTED,
                 "15 bytes");
    finish(&r);
    onnxd_graph_destroy(graph);
}

/* v0 = Shape(x), v1 = Identity(v0), ... up to `length`. */
static onnxd_graph *chain(uint32_t length)
{
    onnxd_graph *graph = build_graph();
    int64_t unknown[1] = {-1};
    build_type(graph, "x", ONNXD_FLOAT, 1, unknown);
    build_node(graph, "Shape", "x", "v0");
    for (uint32_t i = 0; i < length; i++) {
        char from[16];
        char to[16];
        (void)snprintf(from, sizeof(from), "v%u", i);
        (void)snprintf(to, sizeof(to), "v%u", i + 1);
        build_node(graph, "Identity", from, to);
    }
    return graph;
}

/* What a node that runs does not read is dropped, so a long chain takes no more than two values. */
Test(specialize, values_end_with_their_last_reader)
{
    enum { LENGTH = 200 };
    onnxd_graph *graph = chain(LENGTH);
    build_node(graph, "Reshape", "x,v200", "y");
    build_node(graph, "Identity", "v100", "z");
    build_signature(graph, "x", "y,z,v50");
    result r = prepare(graph);
    int64_t dims[1] = {7};
    set_input(&r, build_value(graph, "x"), ONNXD_FLOAT, 1, dims);
    /* 201 values of eight bytes would pass the limit of 16 times as much. */
    expect_ok(onnxd_specialize(graph, 8, NULL, r.types, r.known));
    for (uint32_t v = 0; v < graph->value_count; v++) {
        bool stays = v == build_value(graph, "v200") || v == build_value(graph, "v100") ||
                     v == build_value(graph, "v50");
        cr_expect((r.known[v] != NULL) == stays, "%s", graph->values[v].name);
    }
    finish(&r);
    onnxd_graph_destroy(graph);
}

/* Each value is read at the end, too, so all are alive. */
Test(specialize, bytes_of_all_values_are_bounded)
{
    onnxd_graph *graph = chain(17);
    build_node(graph, "Reshape", "x,v17", "y");
    for (uint32_t i = 0; i < 17; i++) {
        char from[16];
        char to[16];
        (void)snprintf(from, sizeof(from), "x,v%u", i);
        (void)snprintf(to, sizeof(to), "y%u", i);
        build_node(graph, "Reshape", from, to);
    }
    build_signature(graph, "x", "y");
    result r = prepare(graph);
    int64_t dims[1] = {7};
    set_input(&r, build_value(graph, "x"), ONNXD_FLOAT, 1, dims);
    expect_error(onnxd_specialize(graph, 8, NULL, r.types, r.known), ONNXD_RESOURCE_EXHAUSTED,
                 "node #16 (Identity): the values that shapes depend on take more than 128 bytes "
                 "together");
    finish(&r);
    onnxd_graph_destroy(graph);
}

static onnxd_status *refuse_to_run(const onnxd_compute *compute)
{
    (void)compute;
    return onnxd_error(ONNXD_INTERNAL, "this would take minutes");
}

Test(specialize, work_is_bounded)
{
    onnxd_graph *graph = build_graph();
    int64_t dims[2] = {2048, 2048};
    onnxd_shape shape = onnxd_shape_from(2, dims);
    onnxd_tensor *tensor = NULL;
    expect_ok(onnxd_tensor_create(ONNXD_FLOAT, &shape, &tensor));
    onnxd_graph_set_constant(graph, build_value(graph, "w"), tensor);
    onnxd_tensor_release(tensor);
    onnxd_op_def slow = *build_node(graph, "MatMul", "w,w", "v")->def;
    slow.compute = refuse_to_run;
    graph->nodes[0].def = &slow;
    build_node(graph, "Decide", "v", "y");
    onnxd_op_def decide = slow;
    decide.op_type = "Decide";
    decide.min_inputs = decide.max_inputs = 1;
    decide.shape_inputs = 1;
    graph->nodes[1].def = &decide;
    build_signature(graph, "", "y");
    result r = prepare(graph);
    expect_error(onnxd_specialize(graph, (size_t)1 << 40, NULL, r.types, r.known),
                 ONNXD_RESOURCE_EXHAUSTED,
                 "node #0 (MatMul): the values that shapes depend on take more than 536870912 "
                 "elements to evaluate");
    finish(&r);
    onnxd_graph_destroy(graph);
}

Test(specialize, memory_may_be_short)
{
    onnxd_graph *graph = dynamic_reshape();
    uint64_t live = onnxd_alloc_query().live_count;
    bool reached_the_end = false;
    for (uint64_t n = 1; !reached_the_end; n++) {
        cr_assert(n < 1000);
        result r = prepare(graph);
        int64_t dims[1] = {7};
        set_input(&r, build_value(graph, "x"), ONNXD_FLOAT, 1, dims);
        onnxd_alloc_fail_at(n, 0);
        onnxd_status *status = onnxd_specialize(graph, 1024, NULL, r.types, r.known);
        onnxd_alloc_fail_at(0, 0);
        reached_the_end = status == NULL;
        cr_expect(status == NULL || onnxd_status_code(status) == ONNXD_OUT_OF_MEMORY);
        onnxd_status_free(status);
        finish(&r);
        cr_expect(onnxd_alloc_query().live_count == live);
    }
    onnxd_graph_destroy(graph);
}

Test(specialize, input_values_that_decide_shapes)
{
    onnxd_graph *graph = build_graph();
    int64_t unknown[1] = {-1};
    int64_t two[1] = {2};
    build_type(graph, "x", ONNXD_FLOAT, 1, unknown);
    build_type(graph, "shape", ONNXD_INT64, 1, two);
    build_node(graph, "Identity", "shape", "s");
    build_node(graph, "Reshape", "x,s", "y");
    build_signature(graph, "x,shape", "y");
    bool needs[2] = {true, false};
    expect_ok(onnxd_shape_value_inputs(graph, NULL, needs));
    cr_expect(!needs[0] && needs[1]);

    result r = prepare(graph);
    int64_t six[1] = {6};
    int64_t wanted[2] = {2, 3};
    onnxd_value_id shape = build_value(graph, "shape");
    set_input(&r, build_value(graph, "x"), ONNXD_FLOAT, 1, six);
    set_input(&r, shape, ONNXD_INT64, 1, two);
    expect_error(onnxd_specialize(graph, 1024, NULL, r.types, r.known), ONNXD_UNIMPLEMENTED,
                 "node #1 (Reshape): the shape of output 0 depends on data");
    expect_ok(onnxd_tensor_create(ONNXD_INT64, &r.types[shape].shape, &r.known[shape]));
    memcpy(r.known[shape]->data, wanted, sizeof(wanted));
    expect_ok(onnxd_specialize(graph, 1024, NULL, r.types, r.known));
    cr_expect(r.types[build_value(graph, "y")].shape.dims[1] == 3);
    finish(&r);
    onnxd_graph_destroy(graph);
}

Test(specialize, a_shape_needs_no_value)
{
    onnxd_graph *graph = dynamic_reshape();
    bool needs[1] = {true};
    expect_ok(onnxd_shape_value_inputs(graph, NULL, needs));
    cr_expect(!needs[0]);
    onnxd_graph_destroy(graph);
}

Test(specialize, unknown_operators_are_errors)
{
    onnxd_graph *graph = build_graph();
    int64_t dims[1] = {2};
    build_node(graph, "Mystery", "x", "y");
    build_signature(graph, "x", "y");
    result r = prepare(graph);
    set_input(&r, build_value(graph, "x"), ONNXD_FLOAT, 1, dims);
    expect_error(onnxd_specialize(graph, 1024, NULL, r.types, r.known), ONNXD_NO_EP_FOR_OP,
                 "Mystery");
    finish(&r);
    onnxd_graph_destroy(graph);
}

/* Work that grew with the square of the length would not end in a test's time. */
Test(specialize, long_graphs_take_linear_work)
{
    enum { LENGTH = 20000 };
    onnxd_graph *graph = build_graph();
    onnxd_value_id value;
    for (uint32_t i = 0; i <= LENGTH; i++) {
        char name[16];
        (void)snprintf(name, sizeof(name), "v%u", i);
        expect_ok(onnxd_graph_add_value(graph, name, &value));
    }
    onnxd_node *sample = build_node(graph, "Identity", "a", "b");
    const onnxd_op_def *def = sample->def;
    sample->is_removed = true;
    for (uint32_t i = 0; i < LENGTH; i++) {
        onnxd_value_id ids[2] = {i, i + 1};
        onnxd_node node = {.op_type = "Identity",
                           .def = def,
                           .inputs = &ids[0],
                           .outputs = &ids[1],
                           .input_count = 1,
                           .output_count = 1};
        onnxd_node_id id;
        expect_ok(onnxd_graph_add_node(graph, &node, &id));
    }
    expect_ok(onnxd_graph_compact(graph));
    onnxd_value_id first = 0;
    onnxd_value_id last = LENGTH;
    expect_ok(onnxd_graph_set_inputs(graph, &first, 1));
    expect_ok(onnxd_graph_set_outputs(graph, &last, 1));
    result r = prepare(graph);
    int64_t dims[1] = {2};
    set_input(&r, 0, ONNXD_FLOAT, 1, dims);
    expect_ok(onnxd_specialize(graph, 1024, NULL, r.types, r.known));
    cr_expect(r.types[LENGTH].shape.dims[0] == 2);
    finish(&r);
    onnxd_graph_destroy(graph);
}
