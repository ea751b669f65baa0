/*
 * A node whose operator makes its own outputs, on the host and outside of any request.
 */
#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "graph/internal.h"
#include "graph/op.h"

/* All tensors that a node asks for may take this many times what one may. */
#define MAX_TOTAL_FACTOR 4

/* `base` comes first: operators hand it back. */
typedef struct host_env {
    onnxd_run_env base;
    size_t max_bytes;
    uint64_t *left_bytes;
} host_env;

static onnxd_status *allocate(const onnxd_run_env *env, onnxd_dtype dtype, const onnxd_shape *shape,
                              onnxd_tensor **out_tensor)
{
    const host_env *host = (const host_env *)env;
    size_t count;
    size_t bytes;
    if (!onnxd_shape_count(shape, &count) || !onnxd_dtype_bytes(dtype, count, &bytes) ||
        bytes > host->max_bytes || bytes > *host->left_bytes)
        return onnxd_error(ONNXD_RESOURCE_EXHAUSTED, "a result would pass the limit of %zu bytes",
                           host->max_bytes);
    ONNXD_TRY(onnxd_tensor_create(dtype, shape, out_tensor));
    *host->left_bytes -= bytes;
    return NULL;
}

static onnxd_status *run_subgraph(const onnxd_run_env *env, const onnxd_graph *subgraph,
                                  onnxd_datum *const *node_inputs, onnxd_datum *const *inputs,
                                  onnxd_datum **outputs)
{
    (void)env, (void)subgraph, (void)node_inputs, (void)inputs, (void)outputs;
    return onnxd_error(ONNXD_UNIMPLEMENTED, "subgraphs are run with a request only");
}

static onnxd_status *check(const onnxd_run_env *env)
{
    (void)env;
    return NULL;
}

static onnxd_status *make_inputs(const onnxd_node *node, const onnxd_tensor *const *inputs,
                                 onnxd_datum **datums)
{
    for (uint32_t i = 0; i < node->input_count; i++) {
        if (node->inputs[i] == ONNXD_NONE)
            continue;
        if (inputs[i] == NULL)
            return onnxd_error(ONNXD_INVALID_ARGUMENT, "the value of input %u is not known", i);
        union {
            const onnxd_tensor *shared;
            onnxd_tensor *counted;
        } tensor = {.shared = inputs[i]};
        ONNXD_TRY(onnxd_datum_of_tensor(tensor.counted, &datums[i]));
    }
    return NULL;
}

/* The tensor of a result, which nobody else's bytes are part of. */
static onnxd_status *take_output(const onnxd_datum *datum, uint32_t index, size_t max_bytes,
                                 onnxd_tensor **out_tensor)
{
    if (datum == NULL || datum->kind != ONNXD_VALUE_TENSOR)
        return onnxd_error(ONNXD_UNIMPLEMENTED, "output %u is no tensor", index);
    onnxd_tensor *tensor = datum->tensor;
    if (tensor->bytes > max_bytes)
        return onnxd_error(ONNXD_RESOURCE_EXHAUSTED,
                           "output %u has %zu bytes and would pass the limit of %zu bytes", index,
                           tensor->bytes, max_bytes);
    if (tensor->dtype == ONNXD_STRING)
        return onnxd_tensor_own_strings(tensor, index, max_bytes, out_tensor);
    *out_tensor = onnxd_tensor_retain(tensor);
    return NULL;
}

static onnxd_status *run(const onnxd_node *node, size_t max_bytes, onnxd_datum *const *inputs,
                         onnxd_datum **outputs)
{
    uint64_t left_bytes = UINT64_MAX;
    if (max_bytes < UINT64_MAX / MAX_TOTAL_FACTOR)
        left_bytes = (uint64_t)max_bytes * MAX_TOTAL_FACTOR;
    const host_env env = {
        .base = {.allocate = allocate, .run_subgraph = run_subgraph, .check = check},
        .max_bytes = max_bytes,
        .left_bytes = &left_bytes,
    };
    onnxd_dynamic dynamic = {
        .node = node,
        .params = node->params,
        .opset = node->opset,
        .input_count = node->input_count,
        .output_count = node->output_count,
        .inputs = inputs,
        .outputs = outputs,
        .env = &env.base,
    };
    return node->def->run(&dynamic);
}

onnxd_status *onnxd_op_evaluate_run(const onnxd_node *node, const onnxd_tensor *const *inputs,
                                    size_t max_bytes, onnxd_tensor **outputs)
{
    onnxd_datum **in = onnxd_alloc_zero((size_t)node->input_count + 1, sizeof(onnxd_datum *));
    onnxd_datum **out = onnxd_alloc_zero((size_t)node->output_count + 1, sizeof(onnxd_datum *));
    onnxd_status *status = NULL;
    uint32_t taken = 0;
    if (in == NULL || out == NULL)
        status = onnxd_error_out_of_memory("evaluation of a node",
                                           (uint64_t)node->input_count * sizeof(onnxd_datum *),
                                           UINT64_MAX);
    if (status == NULL)
        status = make_inputs(node, inputs, in);
    if (status == NULL)
        status = run(node, max_bytes, in, out);
    for (; status == NULL && taken < node->output_count; taken++) {
        outputs[taken] = NULL;
        if (node->outputs[taken] != ONNXD_NONE)
            status = take_output(out[taken], taken, max_bytes, &outputs[taken]);
    }
    for (uint32_t i = 0; status != NULL && i < taken; i++) {
        onnxd_tensor_release(outputs[i]);
        outputs[i] = NULL;
    }
    onnxd_datums_free(in, node->input_count);
    onnxd_datums_free(out, node->output_count);
    return status;
}
