/* Operators of the domain onnxd: the vector kernels and the portable ones agree. */
#include <string.h>

#include <criterion/criterion.h>

#include "tests/ep/cpu/support.h"

typedef struct both {
    onnxd_ep *fast, *portable;
} both;

/* Runs the node, which is resolved, on both; takes over `run` and ends the node. */
static void check(both *b, test_node *t, test_run *run, const char *implementation)
{
    test_run reference = {0};
    for (int i = 0; i < MAX_OPERANDS; i++)
        if (run->inputs[i] != NULL)
            reference.inputs[i] = onnxd_tensor_retain(run->inputs[i]);
    expect_ok(run_node(b->fast, t, run));
    expect_ok(run_node(b->portable, t, &reference));
    cr_expect_eq(strncmp(run->implementation, implementation, strlen(implementation)), 0,
                 "%s ran %s", t->node->op_type, run->implementation);
    cr_expect_str_eq(reference.implementation, "portable");
    const double error = difference(run->outputs[0], reference.outputs[0]);
    cr_expect_lt(error, 2e-5, "%s with %s differs by %g", t->node->op_type, run->implementation,
                 error);
    run_deinit(run);
    run_deinit(&reference);
    node_deinit(t);
}

static void init(test_node *t, const char *op_type, uint32_t inputs)
{
    node_init(t, op_type, 1, inputs, 1);
    t->node->domain = "onnxd";
}

Test(layout, depth_to_space)
{
    static const struct {
        int64_t dims[4], block;
    } cases[] = {{{1, 1, 1, 4}, 2}, {{2, 3, 5, 8}, 2}, {{1, 4, 7, 96}, 2},
                 {{1, 2, 3, 9}, 3}, {{3, 1, 2, 5}, 1}, {{1, 2, 3, 100}, 5}};
    both b = {ep_open_default(), ep_open_portable()};
    uint64_t seed = 3;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        for (int mode = 0; mode < 2; mode++) {
            test_node t;
            test_run run = {0};
            init(&t, "DepthToSpace", 1);
            node_int(&t, "blocksize", cases[i].block);
            node_string(&t, "mode", mode == 0 ? "DCR" : "CRD");
            expect_ok(node_resolve(&t));
            run.inputs[0] = tensor_random(&seed, 4, cases[i].dims);
            check(&b, &t, &run, mode == 0 ? "simd:blocks" : "portable");
        }
    }
    onnxd_ep_destroy(b.fast);
    onnxd_ep_destroy(b.portable);
}
