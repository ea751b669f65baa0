#include "daemon/model_io.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/number.h"
#include "base/size_math.h"
#include "base/suggest.h"

onnxd_status *onnxd_format_path(char *out, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int length = vsnprintf(out, ONNXD_PATH_BYTES, format, args);
    va_end(args);
    if (length < 0 || length >= ONNXD_PATH_BYTES)
        return onnxd_error(ONNXD_INVALID_ARGUMENT, "path '%.60s...' has %d bytes, allowed are %d",
                           out, length, ONNXD_PATH_BYTES - 1);
    return NULL;
}

/* ---- opening ------------------------------------------------------------------------------- */

static void stem_of(const char *path, char *out, size_t capacity)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash != NULL ? slash + 1 : path;
    size_t length = strcspn(name, ".");
    snprintf(out, capacity, "%.*s", (int)(length < capacity ? length : capacity - 1), name);
}

onnxd_status *onnxd_session_open(const onnxd_config *config, const char *path, uint32_t cpu_threads,
                                 bool allows_datums, onnxd_session *out_session)
{
    onnxd_session session = {0};
    onnxd_model_options options = onnxd_wire_model_options(config);
    char file[ONNXD_PATH_BYTES];
    char name[128];
    struct stat info;

    options.allows_datums = allows_datums;
    bool is_folder = stat(path, &info) == 0 && S_ISDIR(info.st_mode);
    ONNXD_TRY(onnxd_format_path(file, "%s%s", path, is_folder ? "/model.onnx" : ""));
    stem_of(path, name, sizeof(name));
    ONNXD_TRY(onnxd_engine_open(config, cpu_threads, &session.engine));
    onnxd_status *status =
        onnxd_model_load(session.engine.runtime, name[0] != '\0' ? name : "model", 1, file,
                         &options, &session.model);
    if (status != NULL) {
        onnxd_session_close(&session);
        return onnxd_status_context(status, "%s", file);
    }
    *out_session = session;
    return NULL;
}

void onnxd_session_close(onnxd_session *session)
{
    if (session->model != NULL)
        onnxd_model_release(session->model);
    session->model = NULL;
    onnxd_engine_close(&session->engine);
}

/* ---- lists --------------------------------------------------------------------------------- */

void onnxd_tensor_list_deinit(onnxd_tensor_list *list)
{
    for (uint32_t i = 0; list->tensors != NULL && i < list->count; i++)
        onnxd_tensor_release(list->tensors[i]);
    onnxd_free(list->tensors);
    onnxd_free(list->views);
    memset(list, 0, sizeof(*list));
}

static onnxd_status *list_init(onnxd_tensor_list *list, uint32_t count)
{
    memset(list, 0, sizeof(*list));
    list->tensors = onnxd_alloc_zero(count, sizeof(onnxd_tensor *));
    list->views = onnxd_alloc_zero(count, sizeof(onnxd_tensor_view));
    list->count = count;
    if (list->tensors != NULL && list->views != NULL)
        return NULL;
    onnxd_tensor_list_deinit(list);
    return onnxd_error_out_of_memory("tensors", count * sizeof(onnxd_tensor_view), UINT64_MAX);
}

onnxd_status *onnxd_load_tensors(const char *folder, const char *stem, uint32_t count,
                                 const onnxd_load_limits *limits, onnxd_tensor_list *out_list)
{
    onnxd_tensor_list list;
    char path[ONNXD_PATH_BYTES];

    ONNXD_TRY(list_init(&list, count));
    for (uint32_t i = 0; i < count; i++) {
        onnxd_status *status = onnxd_format_path(path, "%s/%s_%u.pb", folder, stem, i);
        if (status == NULL)
            status = onnxd_tensor_load_file(path, limits, &list.tensors[i]);
        if (status != NULL) {
            onnxd_tensor_list_deinit(&list);
            return onnxd_status_context(status, "%s", path);
        }
        list.views[i] = onnxd_tensor_as_view(list.tensors[i]);
    }
    *out_list = list;
    return NULL;
}

/* ---- shapes of generated inputs ------------------------------------------------------------ */

/* "1x3x224x224"; empty is a scalar. */
static bool parse_shape(const char *text, onnxd_shape *out)
{
    onnxd_shape shape = {.rank = 0};
    while (*text != '\0') {
        size_t length = strcspn(text, "x");
        if (shape.rank == ONNXD_MAX_RANK ||
            !onnxd_parse_i64(text, length, &shape.dims[shape.rank]) || shape.dims[shape.rank] < 0)
            return false;
        shape.rank++;
        text += length;
        if (*text == 'x' && *++text == '\0')
            return false;
    }
    *out = shape;
    return true;
}

/* The given shapes by input, in `out_given` with rank unknown where none is given. */
static onnxd_status *given_shapes(const onnxd_model *model, const char *const *texts,
                                  onnxd_shape *out_given)
{
    uint32_t count = onnxd_model_input_count(model);
    for (uint32_t i = 0; i < count; i++)
        out_given[i] = onnxd_shape_unknown();
    for (; *texts != NULL; texts++) {
        /* names may contain '=': the shape is behind the last one */
        const char *equals = strrchr(*texts, '=');
        char name[256];
        if (equals == NULL || (size_t)(equals - *texts) >= sizeof(name))
            return onnxd_error(ONNXD_INVALID_ARGUMENT,
                               "shape '%.200s' is not of the form name=1x3x224x224", *texts);
        snprintf(name, sizeof(name), "%.*s", (int)(equals - *texts), *texts);
        uint32_t index = onnxd_model_find_input(model, name, strlen(name));
        onnxd_suggest suggest = {.name = name};
        for (uint32_t i = 0; i < count; i++)
            onnxd_suggest_offer(&suggest, onnxd_model_input(model, i)->name);
        if (index == UINT32_MAX)
            return onnxd_error(ONNXD_INVALID_ARGUMENT, "the model has no input '%s'%s%s%s", name,
                               suggest.best != NULL ? ", did you mean '" : "",
                               suggest.best != NULL ? suggest.best : "",
                               suggest.best != NULL ? "'?" : "");
        if (!parse_shape(equals + 1, &out_given[index]))
            return onnxd_error(ONNXD_INVALID_ARGUMENT,
                               "shape '%.200s' of input '%s' is not of the form 1x3x224x224",
                               equals + 1, name);
    }
    return NULL;
}

static onnxd_status *choose_shape(const onnxd_model_port *port, const onnxd_shape *given,
                                  uint32_t batch, onnxd_shape *out)
{
    char declared_text[ONNXD_SHAPE_TEXT], given_text[ONNXD_SHAPE_TEXT];
    const onnxd_shape *declared = &port->type.shape;

    if (port->type.kind != ONNXD_VALUE_TENSOR)
        return onnxd_error(ONNXD_UNIMPLEMENTED,
                           "input '%s' is no tensor, its value is not generated: give it with "
                           "--data",
                           port->name);
    if (given->rank != ONNXD_RANK_UNKNOWN) {
        if (!onnxd_shape_admits(declared, given))
            return onnxd_error(
                ONNXD_INVALID_ARGUMENT, "shape %s does not fit input '%s', which is %s",
                onnxd_shape_format(given, given_text, sizeof(given_text)), port->name,
                onnxd_shape_format(declared, declared_text, sizeof(declared_text)));
        *out = *given;
        return NULL;
    }
    if (declared->rank == ONNXD_RANK_UNKNOWN)
        return onnxd_error(ONNXD_INVALID_ARGUMENT,
                           "input '%s' has no declared rank: give its shape with --shape",
                           port->name);
    *out = *declared;
    for (int32_t i = 0; i < out->rank; i++)
        if (!onnxd_dim_is_static(out->dims[i]))
            out->dims[i] = i == 0 ? (int64_t)batch : 1;
    return NULL;
}

/* ---- values of generated inputs ------------------------------------------------------------ */

/* splitmix64 */
static uint64_t next_random(uint64_t *state)
{
    uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static double next_unit(uint64_t *state)
{
    return (double)(next_random(state) >> 11) * 0x1p-53;
}

/* False for a type that cannot be generated. */
static bool fill_element(onnxd_dtype dtype, void *data, size_t index, uint64_t *state)
{
    static const onnxd_string words[] = {{"a", 1}, {"bc", 2}, {"", 0}, {"onnx", 4}};
    switch ((int)dtype) {
    case ONNXD_FLOAT:
        ((float *)data)[index] = (float)next_unit(state);
        return true;
    case ONNXD_DOUBLE:
        ((double *)data)[index] = next_unit(state);
        return true;
    case ONNXD_FLOAT16:
        ((uint16_t *)data)[index] = onnxd_float_to_float16((float)next_unit(state));
        return true;
    case ONNXD_BFLOAT16:
        ((uint16_t *)data)[index] = onnxd_float_to_bfloat16((float)next_unit(state));
        return true;
    case ONNXD_UINT8:
    case ONNXD_INT8:
        ((uint8_t *)data)[index] = (uint8_t)next_random(state);
        return true;
    case ONNXD_BOOL:
        ((uint8_t *)data)[index] = next_random(state) & 1;
        return true;
    case ONNXD_UINT16:
    case ONNXD_INT16:
        ((uint16_t *)data)[index] = next_random(state) & 1;
        return true;
    case ONNXD_UINT32:
    case ONNXD_INT32:
        ((uint32_t *)data)[index] = next_random(state) & 1;
        return true;
    case ONNXD_UINT64:
    case ONNXD_INT64:
        ((uint64_t *)data)[index] = next_random(state) & 1;
        return true;
    case ONNXD_STRING:
        ((onnxd_string *)data)[index] = words[next_random(state) % ONNXD_COUNT(words)];
        return true;
    default:
        return false;
    }
}

static onnxd_status *generate(const onnxd_model_port *port, const onnxd_shape *shape,
                              uint64_t *state, onnxd_tensor **out_tensor)
{
    onnxd_tensor *tensor = NULL;
    onnxd_status *status = onnxd_tensor_create(port->type.dtype, shape, &tensor);
    for (size_t i = 0; status == NULL && i < tensor->count; i++)
        if (!fill_element(tensor->dtype, tensor->data, i, state))
            status = onnxd_error(ONNXD_UNIMPLEMENTED, "inputs of type %s are not generated",
                                 onnxd_dtype_name(tensor->dtype));
    if (status != NULL) {
        onnxd_tensor_release(tensor);
        return onnxd_status_context(status, "input '%s'", port->name);
    }
    *out_tensor = tensor;
    return NULL;
}

static bool is_optional(onnxd_value_kind kind)
{
    return kind == ONNXD_VALUE_OPTIONAL || kind == ONNXD_VALUE_OPTIONAL_SEQUENCE;
}

onnxd_status *onnxd_generate_inputs(const onnxd_model *model, const onnxd_generator *generator,
                                    onnxd_tensor_list *out_list)
{
    onnxd_status *status = NULL;
    onnxd_tensor_list list = {0};
    uint32_t count = onnxd_model_input_count(model);
    uint64_t state = generator->seed;
    onnxd_shape *given = onnxd_alloc_zero(count, sizeof(*given));

    if (given == NULL)
        return onnxd_error_out_of_memory("shapes", count * sizeof(*given), UINT64_MAX);
    status = list_init(&list, count);
    if (status != NULL)
        goto done;
    status = given_shapes(model, generator->shapes, given);
    for (uint32_t i = 0; status == NULL && i < count; i++) {
        const onnxd_model_port *port = onnxd_model_input(model, i);
        onnxd_shape shape;
        if (is_optional(port->type.kind))
            continue;
        status = choose_shape(port, &given[i], generator->batch, &shape);
        if (status == NULL)
            status = generate(port, &shape, &state, &list.tensors[i]);
        if (status == NULL)
            list.views[i] = onnxd_tensor_as_view(list.tensors[i]);
    }
    if (status == NULL)
        *out_list = list;
done:
    if (status != NULL)
        onnxd_tensor_list_deinit(&list);
    onnxd_free(given);
    return status;
}
