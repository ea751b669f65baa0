#include "tests/ops/run_env.h"

#include <criterion/criterion.h>
#include <string.h>

#define MAX_VALUES 64

static onnxd_status *allocate(const onnxd_run_env *env, onnxd_dtype dtype, const onnxd_shape *shape,
                              onnxd_tensor **out_tensor)
{
    (void)env;
    size_t count, bytes;
    if (!onnxd_shape_count(shape, &count) || !onnxd_dtype_bytes(dtype, count, &bytes) ||
        bytes > RUN_ENV_MAX_BYTES)
        return onnxd_error(ONNXD_RESOURCE_EXHAUSTED, "a tensor would pass the limit of %zu bytes",
                           RUN_ENV_MAX_BYTES);
    return onnxd_tensor_create(dtype, shape, out_tensor);
}

static onnxd_status *run_subgraph(const onnxd_run_env *env, const onnxd_graph *subgraph,
                                  onnxd_datum *const *node_inputs, onnxd_datum *const *inputs,
                                  onnxd_datum **outputs)
{
    (void)env, (void)subgraph, (void)node_inputs, (void)inputs, (void)outputs;
    return onnxd_error(ONNXD_UNIMPLEMENTED, "no subgraphs here");
}

static onnxd_status *check(const onnxd_run_env *env)
{
    (void)env;
    return NULL;
}

static const onnxd_run_env test_env = {allocate, run_subgraph, check};

const onnxd_run_env *run_env(void)
{
    return &test_env;
}

static onnxd_status *take_output(const onnxd_node *node, uint32_t index,
                                 const onnxd_tensor_type *inferred, const onnxd_datum *datum,
                                 onnxd_tensor **out_tensor)
{
    if (node->outputs[index] == ONNXD_NONE)
        return NULL;
    cr_assert(datum != NULL, "%s made no output %u", node->op_type, index);
    if (datum->kind != ONNXD_VALUE_TENSOR)
        return onnxd_error(ONNXD_UNIMPLEMENTED, "output %u of %s is no tensor", index,
                           node->op_type);
    cr_expect_eq(datum->dtype, inferred->dtype, "%s: output %u has another type than inferred",
                 node->op_type, index);
    cr_expect(onnxd_shape_admits(&inferred->shape, &datum->tensor->shape),
              "%s: output %u has another shape than inferred", node->op_type, index);
    *out_tensor = onnxd_tensor_retain(datum->tensor);
    return NULL;
}

onnxd_status *run_env_evaluate(const onnxd_node *node, const onnxd_tensor *const *inputs,
                               onnxd_tensor **outputs)
{
    onnxd_tensor_type types[MAX_VALUES] = {{0}}, results[MAX_VALUES];
    onnxd_datum *values[MAX_VALUES] = {NULL}, *made[MAX_VALUES] = {NULL};
    cr_assert(node->input_count <= MAX_VALUES && node->output_count <= MAX_VALUES);
    for (uint32_t i = 0; i < node->input_count; i++)
        if (inputs[i] != NULL)
            types[i] = (onnxd_tensor_type){.dtype = inputs[i]->dtype, .shape = inputs[i]->shape};
    onnxd_status *status = onnxd_op_infer(node, types, inputs, results);
    for (uint32_t i = 0; i < node->input_count && status == NULL; i++)
        if (inputs[i] != NULL) {
            onnxd_tensor *copy = NULL;
            if (inputs[i]->dtype == ONNXD_STRING)
                status = onnxd_tensor_create_strings(&inputs[i]->shape, inputs[i]->data, &copy);
            else
                status = onnxd_tensor_create(inputs[i]->dtype, &inputs[i]->shape, &copy);
            cr_assert(status == NULL);
            if (inputs[i]->dtype != ONNXD_STRING && copy->bytes != 0)
                memcpy(copy->data, inputs[i]->data, copy->bytes);
            status = onnxd_datum_of_tensor(copy, &values[i]);
            onnxd_tensor_release(copy);
        }
    onnxd_dynamic dynamic = {.node = node,
                             .params = node->params,
                             .opset = node->opset,
                             .input_count = node->input_count,
                             .output_count = node->output_count,
                             .inputs = values,
                             .outputs = made,
                             .env = &test_env};
    if (status == NULL)
        status = node->def->run(&dynamic);
    /* What was made must not need the inputs any more. */
    for (uint32_t i = 0; i < node->input_count; i++)
        onnxd_datum_release(values[i]);
    for (uint32_t i = 0; i < node->output_count; i++) {
        if (status == NULL)
            status = take_output(node, i, &results[i], made[i], &outputs[i]);
        onnxd_datum_release(made[i]);
    }
    return status;
}
