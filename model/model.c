#include "model/model.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "model/internal.h"
#include "model/reaper.h"

onnxd_model_options onnxd_model_options_default(void)
{
    const onnxd_model_options options = {
        .limits = onnxd_load_limits_default(),
        .passes = {.fold_max_node_bytes = (uint64_t)16 << 20,
                   .fold_max_total_bytes = (uint64_t)256 << 20},
        .plan_cache_capacity = 64,
        .max_tensor_bytes = (uint64_t)1 << 30,
        .max_shape_value_bytes = (uint64_t)16 << 20,
        .max_shape_input_bytes = (uint64_t)64 << 10,
    };
    return options;
}

uint32_t onnxd_model_host_ep(const onnxd_model *model)
{
    for (uint32_t i = 0; i < model->ep_count; i++)
        if (model->ep_spaces[i] == ONNXD_HOST_SPACE && !model->is_left_out[i])
            return i;
    return ONNXD_NONE;
}

/* ---- references and the end ---------------------------------------------------------------- */

onnxd_model *onnxd_model_retain(onnxd_model *model)
{
    atomic_fetch_add_explicit(&model->references, 1, memory_order_relaxed);
    return model;
}

void onnxd_model_release(onnxd_model *model)
{
    if (model == NULL ||
        atomic_fetch_sub_explicit(&model->references, 1, memory_order_acq_rel) != 1)
        return;
    if (model->reaper != NULL)
        onnxd_reaper_take(model->reaper, model);
    else
        onnxd_model_destroy(model);
}

void onnxd_model_set_reaper(onnxd_model *model, onnxd_reaper *reaper)
{
    model->reaper = onnxd_reaper_retain(reaper);
}

void onnxd_model_destroy(onnxd_model *model)
{
    if (model == NULL)
        return;
    onnxd_model_drop_requests(model);
    onnxd_plan_cache_deinit(&model->plans);
    onnxd_model_drop_weights(model);
    onnxd_placement_deinit(&model->placement);
    onnxd_free(model->is_dynamic);
    onnxd_graph_destroy(model->graph);
    onnxd_free(model->inputs);
    onnxd_free(model->outputs);
    onnxd_free(model->eps);
    onnxd_free(model->ep_indices);
    onnxd_free(model->ep_spaces);
    onnxd_free(model->is_left_out);
    onnxd_free(model->spaces);
    onnxd_free(model->name);
    onnxd_reaper_release(model->reaper);
    pthread_mutex_destroy(&model->requests_mutex);
    onnxd_free(model);
}

/* ---- signature ----------------------------------------------------------------------------- */

const char *onnxd_model_name(const onnxd_model *model)
{
    return model->name;
}

int64_t onnxd_model_version(const onnxd_model *model)
{
    return model->version;
}

onnxd_statistics *onnxd_model_statistics(onnxd_model *model)
{
    return &model->statistics;
}

uint32_t onnxd_model_input_count(const onnxd_model *model)
{
    return model->graph->input_count;
}

uint32_t onnxd_model_output_count(const onnxd_model *model)
{
    return model->graph->output_count;
}

const onnxd_model_port *onnxd_model_input(const onnxd_model *model, uint32_t index)
{
    return &model->inputs[index];
}

const onnxd_model_port *onnxd_model_output(const onnxd_model *model, uint32_t index)
{
    return &model->outputs[index];
}

static uint32_t find_port(const onnxd_model_port *ports, uint32_t count, const char *name,
                          size_t length)
{
    for (uint32_t i = 0; i < count; i++)
        if (strlen(ports[i].name) == length && memcmp(ports[i].name, name, length) == 0)
            return i;
    return UINT32_MAX;
}

uint32_t onnxd_model_find_input(const onnxd_model *model, const char *name, size_t length)
{
    return find_port(model->inputs, model->graph->input_count, name, length);
}

uint32_t onnxd_model_find_output(const onnxd_model *model, const char *name, size_t length)
{
    return find_port(model->outputs, model->graph->output_count, name, length);
}

onnxd_runtime *onnxd_model_runtime(const onnxd_model *model)
{
    return model->runtime;
}

const onnxd_graph *onnxd_model_graph(const onnxd_model *model)
{
    return model->graph;
}

/* ---- inputs -------------------------------------------------------------------------------- */

/* As the protocol writes shapes: every extent that is not fixed is -1. */
static const char *protocol_shape(const onnxd_shape *shape, char *buffer, size_t capacity)
{
    onnxd_shape plain = *shape;
    size_t used = 0;
    if (shape->rank == ONNXD_RANK_UNKNOWN)
        return "any shape";
    buffer[used++] = '[';
    for (int32_t i = 0; i < plain.rank; i++) {
        const int64_t dim = onnxd_dim_is_static(plain.dims[i]) ? plain.dims[i] : -1;
        const int written =
            snprintf(buffer + used, capacity - used, "%s%lld", i == 0 ? "" : ",", (long long)dim);
        if (written < 0 || (size_t)written >= capacity - used)
            break;
        used += (size_t)written;
    }
    snprintf(buffer + used, capacity - used, "]");
    return buffer;
}

static const char *protocol_type(onnxd_dtype dtype)
{
    const char *name = onnxd_dtype_protocol_name(dtype);
    return name != NULL ? name : onnxd_dtype_name(dtype);
}

onnxd_status *onnxd_model_check_input(const onnxd_model *model, uint32_t index, onnxd_dtype dtype,
                                      const onnxd_shape *shape)
{
    const onnxd_model_port *port = &model->inputs[index];
    char expected[ONNXD_SHAPE_TEXT], got[ONNXD_SHAPE_TEXT];
    if (dtype != port->type.dtype)
        return onnxd_error(ONNXD_INVALID_ARGUMENT,
                           "inference input '%s' data-type is '%s', but model '%s' expects '%s'",
                           port->name, protocol_type(dtype), model->name,
                           protocol_type(port->type.dtype));
    if (!onnxd_shape_is_static(shape) || !onnxd_shape_admits(&port->type.shape, shape))
        return onnxd_error(ONNXD_INVALID_ARGUMENT,
                           "unexpected shape for input '%s' for model '%s'. Expected %s, got %s",
                           port->name, model->name,
                           protocol_shape(&port->type.shape, expected, sizeof(expected)),
                           protocol_shape(shape, got, sizeof(got)));
    return NULL;
}
