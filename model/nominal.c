#include "model/nominal.h"

#include "base/alloc.h"
#include "graph/passes.h"

/* Static types for the graph's inputs. False when a rank or a type is not known. */
static bool assume_inputs(const onnxd_graph *graph, onnxd_nominal *nominal)
{
    for (uint32_t i = 0; i < graph->input_count; i++) {
        onnxd_tensor_type *type = &nominal->types[graph->inputs[i]];
        *type = graph->values[graph->inputs[i]].type;
        if (type->kind != ONNXD_VALUE_TENSOR)
            continue;
        if (type->shape.rank == ONNXD_RANK_UNKNOWN || type->dtype == ONNXD_UNDEFINED)
            return false;
        for (int32_t d = 0; d < type->shape.rank; d++) {
            if (onnxd_dim_is_static(type->shape.dims[d]))
                continue;
            type->shape.dims[d] = 1;
            nominal->is_assumed = true;
        }
    }
    return true;
}

static void drop_known(onnxd_nominal *nominal)
{
    for (onnxd_value_id v = 0; nominal->known != NULL && v < nominal->value_count; v++) {
        onnxd_tensor_release(nominal->known[v]);
        nominal->known[v] = NULL;
    }
}

static void take_declared(const onnxd_graph *graph, onnxd_nominal *nominal)
{
    drop_known(nominal);
    for (onnxd_value_id v = 0; v < graph->value_count; v++)
        nominal->types[v] = graph->values[v].type;
    nominal->is_assumed = false;
}

static onnxd_status *find(const onnxd_graph *graph, size_t max_bytes, onnxd_nominal *nominal)
{
    if (nominal->types == NULL || nominal->known == NULL || nominal->is_dynamic == NULL)
        return onnxd_error_out_of_memory(
            "nominal types", graph->value_count * sizeof(onnxd_tensor_type), UINT64_MAX);
    ONNXD_TRY(onnxd_graph_mark_dynamic(graph, nominal->is_dynamic));
    if (!assume_inputs(graph, nominal)) {
        take_declared(graph, nominal);
        return NULL;
    }
    onnxd_status *status =
        onnxd_specialize(graph, max_bytes, nominal->is_dynamic, nominal->types, nominal->known);
    if (onnxd_status_code(status) == ONNXD_OUT_OF_MEMORY)
        return status;
    if (status != NULL)
        take_declared(graph, nominal);
    onnxd_status_free(status);
    return NULL;
}

onnxd_status *onnxd_nominal_find(const onnxd_graph *graph, size_t max_bytes,
                                 onnxd_nominal *out_nominal)
{
    onnxd_nominal nominal = {
        .types = onnxd_alloc_zero(graph->value_count, sizeof(onnxd_tensor_type)),
        .known = onnxd_alloc_zero(graph->value_count, sizeof(onnxd_tensor *)),
        .is_dynamic = onnxd_alloc_zero(graph->node_count, sizeof(bool)),
        .value_count = graph->value_count,
    };
    onnxd_status *status = find(graph, max_bytes, &nominal);
    if (status != NULL) {
        onnxd_nominal_deinit(&nominal);
        return status;
    }
    *out_nominal = nominal;
    return NULL;
}

void onnxd_nominal_deinit(onnxd_nominal *nominal)
{
    drop_known(nominal);
    onnxd_free(nominal->types);
    onnxd_free(nominal->known);
    onnxd_free(nominal->is_dynamic);
    *nominal = (onnxd_nominal){.types = NULL};
}
