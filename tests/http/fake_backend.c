#include "fake_backend.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/list.h"
#include "model/store.h"
#include "scheduler/scheduler.h"

#define MAX_PORTS 2
#define MODEL_COUNT 20

struct onnxd_model {
    char name[32];
    int64_t version;
    uint32_t port_count;
    onnxd_model_port inputs[MAX_PORTS], outputs[MAX_PORTS];
    onnxd_statistics statistics;
};

typedef struct fake_request {
    onnxd_request request;
    onnxd_tensor_view inputs[MAX_PORTS];
} fake_request;

fake_backend fake;
static onnxd_fifo held;
static onnxd_model models[MODEL_COUNT];
static uint32_t model_count;

static onnxd_model *add_model(const char *name)
{
    onnxd_model *model = &models[model_count++];
    (void)snprintf(model->name, sizeof(model->name), "%s", name);
    model->version = 3;
    return model;
}

static void add_port(onnxd_model *model, const char *in, const char *out, onnxd_dtype dtype,
                     onnxd_shape shape)
{
    onnxd_tensor_type type = {.dtype = dtype, .shape = shape};
    model->inputs[model->port_count] = (onnxd_model_port){.name = in, .type = type};
    model->outputs[model->port_count++] = (onnxd_model_port){.name = out, .type = type};
}

static void make_models(void)
{
    if (model_count > 0)
        return;
    for (int dtype = 0; dtype < ONNXD_DTYPE_COUNT; dtype++) {
        const char *protocol_name = onnxd_dtype_protocol_name((onnxd_dtype)dtype);
        if (protocol_name == NULL)
            continue;
        char name[32];
        (void)snprintf(name, sizeof(name), "echo_%s", protocol_name);
        for (char *c = name; *c != '\0'; c++)
            *c = (char)(*c >= 'A' && *c <= 'Z' ? *c | 0x20 : *c);
        add_port(add_model(name), "x", "y", (onnxd_dtype)dtype, onnxd_shape_unknown());
    }
    onnxd_model *pair = add_model("pair");
    add_port(pair, "a", "a_out", ONNXD_FLOAT, onnxd_shape_from(2, (int64_t[]){-1, 3}));
    add_port(pair, "b", "b_out", ONNXD_INT32, onnxd_shape_from(1, (int64_t[]){2}));
    add_port(add_model("fixed"), "x", "y", ONNXD_FLOAT, onnxd_shape_from(2, (int64_t[]){2, 2}));
    add_port(add_model("word"), "x", "y", ONNXD_STRING, onnxd_shape_from(1, (int64_t[]){1}));
}

void fake_reset(void)
{
    make_models();
    fake = (fake_backend){0};
}

/* -- model ------------------------------------------------------------------------------------- */

const char *onnxd_model_name(const onnxd_model *model)
{
    return model->name;
}

int64_t onnxd_model_version(const onnxd_model *model)
{
    return model->version;
}

uint32_t onnxd_model_input_count(const onnxd_model *model)
{
    return model->port_count;
}

uint32_t onnxd_model_output_count(const onnxd_model *model)
{
    return model->port_count;
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
    for (uint32_t i = 0; i < count; i++) {
        if (strlen(ports[i].name) == length && memcmp(ports[i].name, name, length) == 0)
            return i;
    }
    return UINT32_MAX;
}

uint32_t onnxd_model_find_input(const onnxd_model *model, const char *name, size_t length)
{
    return find_port(model->inputs, model->port_count, name, length);
}

uint32_t onnxd_model_find_output(const onnxd_model *model, const char *name, size_t length)
{
    return find_port(model->outputs, model->port_count, name, length);
}

/* -- store ------------------------------------------------------------------------------------- */

onnxd_status *onnxd_store_find(onnxd_store *store, const char *name, size_t name_length,
                               int64_t version, onnxd_model **out_model)
{
    (void)store;
    if (name_length == 7 && memcmp(name, "loading", 7) == 0)
        return onnxd_error(ONNXD_UNAVAILABLE, "'loading' version 1 is not at ready state");
    if (name_length == 6 && memcmp(name, "broken", 6) == 0)
        return onnxd_error(ONNXD_UNAVAILABLE,
                           "'broken' version 1 is not available: it is broken: file "
                           "'/srv/models/broken/1/model.onnx' has 3 bytes");
    for (uint32_t i = 0; i < model_count; i++) {
        if (strlen(models[i].name) != name_length || memcmp(models[i].name, name, name_length) != 0)
            continue;
        if (version != 0 && version != 1 && version != 3)
            return onnxd_error(ONNXD_NOT_FOUND,
                               "Request for unknown model: '%s' version %lld is not found",
                               models[i].name, (long long)version);
        fake.live_models++;
        *out_model = &models[i];
        return NULL;
    }
    return onnxd_error(ONNXD_NOT_FOUND, "Request for unknown model: '%.*s' is not found",
                       (int)name_length, name);
}

void onnxd_store_release_model(onnxd_store *store, onnxd_model *model)
{
    (void)store;
    (void)model;
    fake.live_models--;
}

onnxd_statistics *onnxd_model_statistics(onnxd_model *model)
{
    return &model->statistics;
}

const char *onnxd_model_state_name(onnxd_model_state state)
{
    return state == ONNXD_MODEL_READY ? "READY" : "UNAVAILABLE";
}

void onnxd_store_visit(onnxd_store *store,
                       void (*visit)(const onnxd_store_entry *entry, void *user), void *user)
{
    (void)store;
    onnxd_model_state state = fake.is_broken ? ONNXD_MODEL_UNAVAILABLE : ONNXD_MODEL_READY;
    for (uint32_t i = 0; i < model_count && !fake.is_empty; i++) {
        onnxd_store_entry entry = {.name = models[i].name,
                                   .version = 1,
                                   .state = state,
                                   .reason = "",
                                   .statistics = fake.is_broken ? NULL : &models[i].statistics};
        visit(&entry, user);
        entry.version = 2;
        entry.state = ONNXD_MODEL_UNAVAILABLE;
        visit(&entry, user);
        entry.version = 3;
        entry.state = state;
        visit(&entry, user);
    }
}

bool onnxd_store_is_loaded(onnxd_store *store, uint32_t *out_failed_count)
{
    (void)store;
    if (out_failed_count != NULL)
        *out_failed_count = 0;
    return !fake.is_loading;
}

/* -- request ----------------------------------------------------------------------------------- */

onnxd_status *onnxd_request_create(onnxd_model *model, onnxd_request **out_request)
{
    fake_request *request = onnxd_alloc_zero(1, sizeof(*request));
    if (request == NULL)
        return onnxd_error_out_of_memory("a request", sizeof(*request), UINT64_MAX);
    request->request.model = model;
    request->request.inputs = request->inputs;
    fake.live_requests++;
    *out_request = &request->request;
    return NULL;
}

onnxd_status *onnxd_request_add_input(onnxd_request *request, uint32_t index,
                                      const onnxd_shape *shape, void **out_data, size_t *out_bytes)
{
    const onnxd_model_port *port = &request->model->inputs[index];
    size_t count, bytes;
    if (request->inputs[index].dtype != ONNXD_UNDEFINED)
        return onnxd_error(ONNXD_INVALID_ARGUMENT, "input '%s' is given twice", port->name);
    if (!onnxd_shape_admits(&port->type.shape, shape))
        return onnxd_error(ONNXD_INVALID_ARGUMENT, "unexpected shape for input '%s' for model '%s'",
                           port->name, request->model->name);
    if (!onnxd_shape_count(shape, &count) || !onnxd_dtype_bytes(port->type.dtype, count, &bytes) ||
        bytes > FAKE_MAX_TENSOR_BYTES)
        return onnxd_error(ONNXD_PAYLOAD_TOO_LARGE, "input '%s' is too large", port->name);
    void *data = onnxd_alloc_aligned(bytes, 64); /* exactly: a sanitizer sees each byte beyond */
    if (data == NULL)
        return onnxd_error_out_of_memory("an input", bytes, UINT64_MAX);
    fake.input_bytes += bytes;
    request->inputs[index] = onnxd_tensor_view_of(data, port->type.dtype, shape);
    *out_data = data;
    *out_bytes = bytes;
    return NULL;
}

onnxd_status *onnxd_request_check(const onnxd_request *request)
{
    for (uint32_t i = 0; i < request->model->port_count; i++) {
        if (request->inputs[i].dtype == ONNXD_UNDEFINED)
            return onnxd_error(ONNXD_INVALID_ARGUMENT, "missing required input(s) ['%s']",
                               request->model->inputs[i].name);
    }
    return NULL;
}

void onnxd_request_release(onnxd_request *request)
{
    if (request == NULL)
        return;
    for (uint32_t i = 0; i < request->model->port_count; i++)
        onnxd_free(request->inputs[i].data);
    onnxd_status_free(request->status);
    onnxd_free(ONNXD_CONTAINER_OF(request, fake_request, request));
    fake.live_requests--;
}

/* -- scheduler --------------------------------------------------------------------------------- */

static void end_request(onnxd_request *request)
{
    if (atomic_load(&request->cancelled))
        request->status = onnxd_error(ONNXD_CANCELLED, "cancelled");
    else if (fake.fails != ONNXD_OK)
        request->status = onnxd_error(fake.fails, "node 'conv1' (Conv): it failed");
    else
        request->outputs = request->inputs;
    request->done(request);
}

onnxd_status *onnxd_scheduler_submit(onnxd_scheduler *scheduler, onnxd_request *request)
{
    (void)scheduler;
    if (fake.is_full)
        return onnxd_error(ONNXD_RESOURCE_EXHAUSTED, "Exceeds maximum queue size");
    fake.submitted++;
    fake.last_deadline_ns = request->deadline_ns;
    if (fake.holds) {
        fake.held_count++;
        onnxd_fifo_push(&held, &request->link);
    } else {
        end_request(request);
    }
    return NULL;
}

void fake_release_held(void)
{
    onnxd_link *link;
    while ((link = onnxd_fifo_pop(&held)) != NULL) {
        fake.held_count--;
        end_request(ONNXD_CONTAINER_OF(link, onnxd_request, link));
    }
}

void onnxd_scheduler_cancel(onnxd_scheduler *scheduler, onnxd_request *request)
{
    (void)scheduler;
    fake.cancelled++;
    atomic_store(&request->cancelled, true);
}

onnxd_scheduler_stats onnxd_scheduler_query(onnxd_scheduler *scheduler)
{
    (void)scheduler;
    return (onnxd_scheduler_stats){.submitted = fake.submitted};
}
