#include "model/placement.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "tests/model/fake_ep.h"

static void ok(onnxd_status *status)
{
    cr_assert_null(status, "%s", onnxd_status_message(status));
}

/* ---- graphs of unresolved operators -------------------------------------------------------- */

static onnxd_graph *graph_create(void)
{
    onnxd_graph *graph;
    ok(onnxd_graph_create((size_t)256 << 20, &graph));
    return graph;
}

static onnxd_value_id add_value(onnxd_graph *graph, const char *name)
{
    onnxd_value_id id;
    const int64_t dims[] = {1000};
    ok(onnxd_graph_add_value(graph, name, &id));
    graph->values[id].type =
        (onnxd_tensor_type){.dtype = ONNXD_FLOAT, .shape = onnxd_shape_from(1, dims)};
    return id;
}

static onnxd_value_id add_node(onnxd_graph *graph, const char *op_type, onnxd_value_id first,
                               onnxd_value_id second)
{
    char name[32];
    onnxd_node_id node;
    onnxd_value_id inputs[] = {first, second};
    snprintf(name, sizeof(name), "n%u", graph->node_count);
    onnxd_value_id output = add_value(graph, name);
    const onnxd_node record = {
        .name = name,
        .domain = "",
        .op_type = op_type,
        .opset = 17,
        .inputs = inputs,
        .outputs = &output,
        .input_count = second == ONNXD_NONE ? 1 : 2,
        .output_count = 1,
    };
    ok(onnxd_graph_add_node(graph, &record, &node));
    return output;
}

/* A chain of `count` nodes "Op"; the one at `odd` (if below count) is an "Odd". */
static onnxd_graph *make_chain(uint32_t count, uint32_t odd)
{
    onnxd_graph *graph = graph_create();
    onnxd_value_id value = add_value(graph, "x");
    graph->values[value].is_input = true;
    for (uint32_t i = 0; i < count; i++)
        value = add_node(graph, i == odd ? "Odd" : "Op", value, ONNXD_NONE);
    graph->values[value].is_output = true;
    static onnxd_value_id outputs[1];
    outputs[0] = value;
    graph->outputs = outputs;
    graph->output_count = 1;
    return graph;
}

static void close_all(onnxd_ep **eps, size_t count)
{
    for (size_t i = 0; i < count; i++)
        onnxd_ep_destroy(eps[i]);
}

static const onnxd_placement_options defaults = {.max_shape_value_bytes = 1 << 20};
static const fake_ep_settings slow_host = {.node_us = 100};
static const fake_ep_settings fast_device = {
    .is_device = true, .node_us = 1, .copy_latency_us = 10, .copy_bytes_per_us = 1000};

/* ---- tests --------------------------------------------------------------------------------- */

Test(placement, prefers_the_instance_listed_first_on_a_tie)
{
    onnxd_ep *eps[] = {fake_ep_open(0, &slow_host), fake_ep_open(1, &slow_host)};
    onnxd_graph *graph = make_chain(5, UINT32_MAX);
    onnxd_placement placement;
    ok(onnxd_place(graph, eps, 2, &defaults, &placement));
    cr_expect_eq(placement.partition_count, 1);
    cr_expect_eq(placement.partitions[0].ep, 0);
    onnxd_placement_deinit(&placement);
    onnxd_graph_destroy(graph);
    close_all(eps, 2);
}

Test(placement, moves_to_a_device_when_that_pays)
{
    onnxd_ep *eps[] = {fake_ep_open(0, &slow_host), fake_ep_open(1, &fast_device)};
    onnxd_graph *graph = make_chain(10, UINT32_MAX);
    onnxd_placement placement;
    ok(onnxd_place(graph, eps, 2, &defaults, &placement));
    cr_expect_eq(placement.partition_count, 1);
    cr_expect_eq(placement.partitions[0].ep, 1);
    onnxd_placement_deinit(&placement);
    onnxd_graph_destroy(graph);
    close_all(eps, 2);
}

Test(placement, counts_transfers_of_inputs_and_outputs)
{
    /* 4000 bytes in and out: 14 us each way at this rate, against 20 us on the host. */
    fake_ep_settings host = {.node_us = 20};
    onnxd_ep *eps[] = {fake_ep_open(0, &host), fake_ep_open(1, &fast_device)};
    onnxd_graph *graph = make_chain(1, UINT32_MAX);
    onnxd_placement placement;
    ok(onnxd_place(graph, eps, 2, &defaults, &placement));
    cr_expect_eq(placement.nodes[0].ep, 0);
    onnxd_placement_deinit(&placement);
    onnxd_graph_destroy(graph);
    close_all(eps, 2);
}

Test(placement, one_unsupported_node_costs_one_small_partition)
{
    fake_ep_settings device = fast_device;
    device.unsupported_op = "Odd";
    onnxd_ep *eps[] = {fake_ep_open(0, &slow_host), fake_ep_open(1, &device)};
    onnxd_graph *graph = make_chain(101, 50);
    onnxd_placement placement;
    ok(onnxd_place(graph, eps, 2, &defaults, &placement));
    cr_assert_eq(placement.partition_count, 3);
    cr_expect_eq(placement.partitions[1].ep, 0);
    cr_expect_eq(placement.partitions[1].first_node, 50);
    cr_expect_eq(placement.partitions[1].last_node, 50);
    cr_expect_eq(placement.nodes[49].ep, 1);
    cr_expect_eq(placement.nodes[51].ep, 1);
    cr_expect_str_eq(placement.matches[50 * 2 + 1].reason, "fake cannot");
    onnxd_placement_deinit(&placement);
    onnxd_graph_destroy(graph);
    close_all(eps, 2);
}

Test(placement, a_claim_wins_over_cost)
{
    fake_ep_settings claimer = {.node_us = 1e6, .claimed_op = "Odd"};
    onnxd_ep *eps[] = {fake_ep_open(0, &slow_host), fake_ep_open(1, &claimer)};
    onnxd_graph *graph = make_chain(9, 4);
    onnxd_placement placement;
    ok(onnxd_place(graph, eps, 2, &defaults, &placement));
    cr_expect_eq(placement.nodes[4].ep, 1);
    cr_expect(placement.nodes[4].is_claimed);
    cr_expect_eq(placement.partition_count, 3);
    onnxd_placement_deinit(&placement);
    onnxd_graph_destroy(graph);
    close_all(eps, 2);
}

Test(placement, a_claim_on_what_the_claimer_cannot_run_is_none)
{
    fake_ep_settings claimer = {.node_us = 1, .claimed_op = "Odd", .unsupported_op = "Odd"};
    onnxd_ep *eps[] = {fake_ep_open(0, &slow_host), fake_ep_open(1, &claimer)};
    onnxd_graph *graph = make_chain(3, 1);
    onnxd_placement placement;
    ok(onnxd_place(graph, eps, 2, &defaults, &placement));
    cr_expect_eq(placement.nodes[1].ep, 0);
    cr_expect_not(placement.nodes[1].is_claimed);
    onnxd_placement_deinit(&placement);
    onnxd_graph_destroy(graph);
    close_all(eps, 2);
}

Test(placement, an_unknown_cost_is_not_zero)
{
    fake_ep_settings known = {.node_us = ONNXD_UNKNOWN_NODE_COST_US / 2};
    fake_ep_settings unknown = {.node_us = -1};
    onnxd_ep *eps[] = {fake_ep_open(0, &unknown), fake_ep_open(1, &known)};
    onnxd_graph *graph = make_chain(4, UINT32_MAX);
    onnxd_placement placement;
    ok(onnxd_place(graph, eps, 2, &defaults, &placement));
    cr_expect_eq(placement.nodes[0].ep, 1);
    onnxd_placement_deinit(&placement);
    onnxd_graph_destroy(graph);
    close_all(eps, 2);
}

Test(placement, names_every_operator_that_nobody_runs)
{
    fake_ep_settings cannot = {.node_us = 1, .unsupported_op = "Odd"};
    fake_ep_settings layout = {.node_us = 1, .wants_layout = true};
    onnxd_ep *eps[] = {fake_ep_open(0, &cannot), fake_ep_open(1, &layout)};
    onnxd_graph *graph = make_chain(3, 1);
    onnxd_placement placement;
    onnxd_status *status = onnxd_place(graph, eps, 2, &defaults, &placement);
    cr_assert_eq(onnxd_status_code(status), ONNXD_NO_EP_FOR_OP);
    const char *message = onnxd_status_message(status);
    cr_expect_not_null(strstr(message, "Odd"), "%s", message);
    cr_expect_not_null(strstr(message, "fake_ep:0: fake cannot"), "%s", message);
    cr_expect_not_null(strstr(message, "fake_ep:1: needs a layout"), "%s", message);
    cr_expect_not_null(strstr(message, "1 of the graph's 3 nodes"), "%s", message);
    onnxd_status_free(status);
    onnxd_graph_destroy(graph);
    close_all(eps, 2);
}

Test(placement, names_an_operator_once_however_many_nodes_have_it)
{
    fake_ep_settings cannot = {.node_us = 1, .unsupported_op = "Op"};
    onnxd_ep *eps[] = {fake_ep_open(0, &cannot)};
    onnxd_graph *graph = make_chain(41, 40);
    onnxd_placement placement;
    onnxd_status *status = onnxd_place(graph, eps, 1, &defaults, &placement);
    cr_assert_eq(onnxd_status_code(status), ONNXD_NO_EP_FOR_OP);
    const char *message = onnxd_status_message(status);
    cr_expect_not_null(strstr(message, "40 of the graph's 41 nodes"), "%s", message);
    const char *named = strstr(message, "(Op) and 39 more");
    cr_expect_not_null(named, "%s", message);
    cr_expect(named == NULL || strstr(named + 1, "(Op)") == NULL, "%s", message);
    onnxd_status_free(status);
    onnxd_graph_destroy(graph);
    close_all(eps, 1);
}

Test(placement, an_empty_graph_has_no_partitions)
{
    onnxd_ep *eps[] = {fake_ep_open(0, &slow_host)};
    onnxd_graph *graph = graph_create();
    onnxd_placement placement;
    ok(onnxd_place(graph, eps, 1, &defaults, &placement));
    cr_expect_eq(placement.partition_count, 0);
    onnxd_placement_deinit(&placement);
    onnxd_graph_destroy(graph);
    close_all(eps, 1);
}

static void check_partitions(const onnxd_graph *graph, const onnxd_placement *placement)
{
    uint32_t next = 0;
    for (uint32_t p = 0; p < placement->partition_count; p++) {
        const onnxd_partition *partition = &placement->partitions[p];
        cr_assert_eq(partition->first_node, next);
        cr_assert_geq(partition->last_node, partition->first_node);
        for (uint32_t n = partition->first_node; n <= partition->last_node; n++)
            cr_assert_eq(placement->nodes[n].ep, partition->ep);
        next = partition->last_node + 1;
    }
    cr_assert_eq(next, graph->node_count);
}

/* Two chains from one input, node by node in turn, and a node that joins them. */
static onnxd_graph *make_branches(uint32_t length)
{
    static onnxd_value_id outputs[1];
    onnxd_graph *graph = graph_create();
    onnxd_value_id a = add_value(graph, "x"), b = a;
    graph->values[a].is_input = true;
    for (uint32_t i = 0; i < length; i++) {
        a = add_node(graph, "Op", a, ONNXD_NONE);
        b = add_node(graph, "Odd", b, ONNXD_NONE);
    }
    outputs[0] = add_node(graph, "Op", a, b);
    graph->values[outputs[0]].is_output = true;
    graph->outputs = outputs;
    graph->output_count = 1;
    return graph;
}

static bool is_named(const onnxd_graph *graph, onnxd_node_id node, uint32_t number)
{
    char name[32];
    snprintf(name, sizeof(name), "n%u", number);
    return strcmp(graph->nodes[node].name, name) == 0;
}

Test(placement, interleaved_branches_are_few_partitions)
{
    fake_ep_settings device = fast_device;
    device.unsupported_op = "Odd";
    onnxd_ep *eps[] = {fake_ep_open(0, &slow_host), fake_ep_open(1, &device)};
    onnxd_graph *graph = make_branches(50);
    onnxd_placement placement;
    ok(onnxd_place(graph, eps, 2, &defaults, &placement));
    ok(onnxd_graph_verify(graph));
    cr_expect_leq(placement.partition_count, 3);
    cr_expect_geq(placement.partition_count, 2);
    check_partitions(graph, &placement);
    for (uint32_t i = 0; i < 50; i++) {
        cr_assert(is_named(graph, i, 2 * i), "node %u is %s", i, graph->nodes[i].name);
        cr_assert_eq(placement.nodes[i].ep, 1);
        cr_assert(is_named(graph, 50 + i, 2 * i + 1));
        cr_assert_eq(placement.nodes[50 + i].ep, 0);
        cr_assert_str_eq(placement.matches[(50 + i) * 2 + 1].reason, "fake cannot");
    }
    onnxd_placement_deinit(&placement);
    onnxd_graph_destroy(graph);
    close_all(eps, 2);
}

Test(placement, the_order_of_the_file_stays_where_it_does_not_matter)
{
    onnxd_ep *eps[] = {fake_ep_open(0, &slow_host), fake_ep_open(1, &fast_device)};
    for (size_t count = 1; count <= 2; count++) {
        onnxd_graph *graph = make_branches(20);
        onnxd_placement placement;
        ok(onnxd_place(graph, eps, count, &defaults, &placement));
        for (uint32_t n = 0; n < graph->node_count; n++)
            cr_assert(is_named(graph, n, n));
        onnxd_placement_deinit(&placement);
        onnxd_graph_destroy(graph);
    }
    close_all(eps, 2);
}

Test(placement, claimed_branches_are_few_partitions)
{
    fake_ep_settings claimer = {.node_us = 200, .claimed_op = "Odd"};
    onnxd_ep *eps[] = {fake_ep_open(0, &slow_host), fake_ep_open(1, &claimer)};
    onnxd_graph *graph = make_branches(20);
    onnxd_placement placement;
    ok(onnxd_place(graph, eps, 2, &defaults, &placement));
    cr_expect_leq(placement.partition_count, 3);
    for (uint32_t n = 0; n < graph->node_count; n++) {
        const bool is_odd = strcmp(graph->nodes[n].op_type, "Odd") == 0;
        cr_assert_eq(placement.nodes[n].is_claimed, is_odd);
        cr_assert_eq(placement.nodes[n].ep, is_odd ? 1 : 0);
    }
    onnxd_placement_deinit(&placement);
    onnxd_graph_destroy(graph);
    close_all(eps, 2);
}

/* A pseudo-random graph in which nodes read what was made up to 200 nodes before. */
static onnxd_graph *make_large(uint32_t count)
{
    static onnxd_value_id outputs[1];
    uint32_t random = 12345;
    onnxd_graph *graph = graph_create();
    onnxd_value_id first = add_value(graph, "x");
    for (uint32_t i = 0; i < count; i++) {
        const onnxd_value_id last = graph->value_count - 1;
        random = random * 1664525u + 1013904223u;
        const uint32_t back = (random >> 8) % 200;
        const onnxd_value_id other = last > first + back ? last - back : first;
        outputs[0] = add_node(graph, (random >> 20) % 7 == 0 ? "Odd" : "Op", last, other);
    }
    graph->values[outputs[0]].is_output = true;
    graph->outputs = outputs;
    graph->output_count = 1;
    return graph;
}

Test(placement, large_graphs_are_placed_alike_every_time_in_convex_partitions)
{
    fake_ep_settings device = fast_device, other = fast_device;
    device.unsupported_op = "Odd";
    other.node_us = 5;
    onnxd_ep *eps[] = {fake_ep_open(0, &slow_host), fake_ep_open(1, &device),
                       fake_ep_open(2, &other)};
    onnxd_graph *graph = make_large(20000);
    onnxd_placement a, b;
    ok(onnxd_place(graph, eps, 3, &defaults, &a));
    ok(onnxd_place(graph, eps, 3, &defaults, &b));
    check_partitions(graph, &a);
    cr_assert_eq(a.partition_count, b.partition_count);
    for (uint32_t n = 0; n < graph->node_count; n++)
        cr_assert_eq(a.nodes[n].ep, b.nodes[n].ep);
    onnxd_placement_deinit(&a);
    onnxd_placement_deinit(&b);
    onnxd_graph_destroy(graph);
    close_all(eps, 3);
}

/* Nodes that must change instance again and again, each of which reads its predecessor, the input
 * that all read, and one from anywhere before. */
static onnxd_graph *make_hostile(uint32_t count)
{
    static onnxd_value_id outputs[1];
    uint32_t random = 12345;
    onnxd_graph *graph = graph_create();
    const onnxd_value_id first = add_value(graph, "x");
    graph->values[first].is_input = true;
    onnxd_value_id last = first;
    for (uint32_t i = 0; i < count; i++) {
        random = random * 1664525u + 1013904223u;
        const onnxd_value_id any = first + (random >> 8) % (last - first + 1);
        last = add_node(graph, i % 2 == 0 ? "Odd" : "Op", last, i % 3 == 0 ? first : any);
    }
    outputs[0] = last;
    graph->values[last].is_output = true;
    graph->outputs = outputs;
    graph->output_count = 1;
    return graph;
}

static uint64_t count_steps(uint32_t node_count)
{
    fake_ep_settings device = fast_device, host = slow_host;
    device.unsupported_op = "Odd";
    host.unsupported_op = "Op";
    onnxd_ep *eps[] = {fake_ep_open(0, &host), fake_ep_open(1, &device)};
    onnxd_graph *graph = make_hostile(node_count);
    onnxd_placement placement;
    ok(onnxd_place(graph, eps, 2, &defaults, &placement));
    cr_assert_eq(placement.partition_count, node_count);
    const uint64_t steps = placement.search_steps;
    onnxd_placement_deinit(&placement);
    onnxd_graph_destroy(graph);
    close_all(eps, 2);
    return steps;
}

Test(placement, the_search_grows_with_the_graph_and_no_faster)
{
    const uint64_t small = count_steps(1000), large = count_steps(4000);
    cr_expect_gt(small, 1000);
    cr_expect_leq(large, 5 * small, "%llu steps for 1000 nodes, %llu for 4000",
                  (unsigned long long)small, (unsigned long long)large);
}
