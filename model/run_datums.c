#include "base/alloc.h"
#include "model/internal.h"
#include "model/interpreter.h"

bool onnxd_model_is_tensors_only(const onnxd_model *model)
{
    for (uint32_t i = 0; i < model->graph->input_count; i++)
        if (model->inputs[i].type.kind != ONNXD_VALUE_TENSOR)
            return false;
    for (uint32_t i = 0; i < model->graph->output_count; i++)
        if (model->outputs[i].type.kind != ONNXD_VALUE_TENSOR)
            return false;
    return true;
}

/* An optional may be what it holds, or absent. */
static bool is_kind(onnxd_value_kind declared, const onnxd_datum *datum)
{
    const bool is_optional =
        declared == ONNXD_VALUE_OPTIONAL || declared == ONNXD_VALUE_OPTIONAL_SEQUENCE;
    if (datum == NULL)
        return is_optional;
    if (datum->kind == declared || (is_optional && datum->kind == ONNXD_VALUE_OPTIONAL))
        return true;
    return (declared == ONNXD_VALUE_OPTIONAL && datum->kind == ONNXD_VALUE_TENSOR) ||
           (declared == ONNXD_VALUE_OPTIONAL_SEQUENCE && datum->kind == ONNXD_VALUE_SEQUENCE);
}

static onnxd_status *check_input(const onnxd_model *model, uint32_t index, const onnxd_datum *datum)
{
    const onnxd_model_port *port = &model->inputs[index];
    if (!is_kind(port->type.kind, datum))
        return onnxd_error(ONNXD_INVALID_ARGUMENT,
                           "input '%s' for model '%s' is not of the declared kind", port->name,
                           model->name);
    if (datum != NULL && datum->kind == ONNXD_VALUE_TENSOR)
        return onnxd_model_check_input(model, index, datum->dtype, &datum->tensor->shape);
    return NULL;
}

static onnxd_status *take_outputs(const onnxd_model *model, const onnxd_interpreter *interpreter,
                                  onnxd_datum **outputs)
{
    const onnxd_graph *graph = model->graph;
    for (uint32_t i = 0; i < graph->output_count; i++)
        if (onnxd_interpreter_get(interpreter, graph->outputs[i]) == NULL)
            return onnxd_error(ONNXD_INVALID_ARGUMENT, "output '%s' of model '%s' has no value",
                               model->outputs[i].name, model->name);
    for (uint32_t i = 0; i < graph->output_count; i++)
        outputs[i] = onnxd_datum_retain(onnxd_interpreter_get(interpreter, graph->outputs[i]));
    return NULL;
}

onnxd_status *onnxd_model_run_datums(onnxd_model *model, onnxd_datum *const *inputs,
                                     onnxd_datum **outputs)
{
    const onnxd_graph *graph = model->graph;
    const uint32_t ep = onnxd_model_host_ep(model);
    onnxd_interpreter *interpreter;
    for (uint32_t i = 0; i < graph->input_count; i++)
        ONNXD_TRY(check_input(model, i, inputs[i]));
    if (ep == ONNXD_NONE)
        return onnxd_error(ONNXD_NO_EP_FOR_OP,
                           "model '%s' needs an execution provider in host memory, such as cpu_ep",
                           model->name);
    ONNXD_TRY(onnxd_interpreter_create(graph, NULL, model->runtime, model->eps[ep],
                                       model->options.max_tensor_bytes, &interpreter));
    for (uint32_t i = 0; i < graph->input_count; i++)
        onnxd_interpreter_set(interpreter, graph->inputs[i], inputs[i]);
    onnxd_status *status = onnxd_interpreter_run(interpreter, NULL);
    if (status == NULL)
        status = take_outputs(model, interpreter, outputs);
    onnxd_interpreter_destroy(interpreter);
    return status;
}
