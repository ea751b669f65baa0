#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "daemon/model_io.h"
#include "graph/loader_datum.h"

void onnxd_datum_list_deinit(onnxd_datum_list *list)
{
    for (uint32_t i = 0; list->datums != NULL && i < list->count; i++)
        onnxd_datum_release(list->datums[i]);
    onnxd_free(list->datums);
    memset(list, 0, sizeof(*list));
}

onnxd_status *onnxd_datum_list_init(uint32_t count, onnxd_datum_list *out_list)
{
    onnxd_datum **datums = onnxd_alloc_zero((size_t)count + 1, sizeof(onnxd_datum *));
    if (datums == NULL)
        return onnxd_error_out_of_memory("values", count * sizeof(onnxd_datum *), UINT64_MAX);
    *out_list = (onnxd_datum_list){.datums = datums, .count = count};
    return NULL;
}

onnxd_status *onnxd_datum_list_of_tensors(const onnxd_tensor_list *tensors,
                                          onnxd_datum_list *out_list)
{
    onnxd_datum_list list;
    onnxd_status *status = NULL;
    ONNXD_TRY(onnxd_datum_list_init(tensors->count, &list));
    for (uint32_t i = 0; i < list.count && status == NULL; i++)
        if (tensors->tensors[i] != NULL)
            status = onnxd_datum_of_tensor(tensors->tensors[i], &list.datums[i]);
    if (status != NULL)
        onnxd_datum_list_deinit(&list);
    else
        *out_list = list;
    return status;
}

static bool exists(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0;
}

static bool may_be_absent(const onnxd_model_port *port, const char *path)
{
    return (port->type.kind == ONNXD_VALUE_OPTIONAL ||
            port->type.kind == ONNXD_VALUE_OPTIONAL_SEQUENCE) &&
           !exists(path);
}

/* The values of `count` ports of `port_at`. */
static onnxd_status *load(const onnxd_model *model, uint32_t count,
                          const onnxd_model_port *(*port_at)(const onnxd_model *, uint32_t),
                          const char *folder, const char *stem, const onnxd_load_limits *limits,
                          onnxd_datum_list *out_list)
{
    onnxd_datum_list list;
    char path[ONNXD_PATH_BYTES];
    ONNXD_TRY(onnxd_datum_list_init(count, &list));
    for (uint32_t i = 0; i < count; i++) {
        const onnxd_model_port *port = port_at(model, i);
        onnxd_status *status = onnxd_format_path(path, "%s/%s_%u.pb", folder, stem, i);
        if (status == NULL && may_be_absent(port, path))
            continue;
        if (status == NULL)
            status = onnxd_datum_load_file(path, &port->type, limits, &list.datums[i]);
        if (status != NULL) {
            onnxd_datum_list_deinit(&list);
            return onnxd_status_context(status, "%s", path);
        }
    }
    *out_list = list;
    return NULL;
}

onnxd_status *onnxd_load_inputs(const onnxd_model *model, const char *folder,
                                const onnxd_load_limits *limits, onnxd_datum_list *out_list)
{
    return load(model, onnxd_model_input_count(model), onnxd_model_input, folder, "input", limits,
                out_list);
}

onnxd_status *onnxd_load_outputs(const onnxd_model *model, const char *folder,
                                 const onnxd_load_limits *limits, onnxd_datum_list *out_list)
{
    return load(model, onnxd_model_output_count(model), onnxd_model_output, folder, "output",
                limits, out_list);
}
