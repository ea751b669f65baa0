/*
 * Tensors that are read more than once: those in functions, and in attributes that functions are
 * given. Reading takes the bytes out of the message, and one copy serves all calls.
 */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "graph/internal.h"
#include "graph/loader_internal.h"

#define FIRST_CAPACITY 16u
#define KEY_BYTES 24u

/* A message's address tells it apart: all messages live as long as the load. */
static void make_key(const void *message, char key[KEY_BYTES])
{
    (void)snprintf(key, KEY_BYTES, "%p", message);
}

static bool find(const onnxd_loader *loader, const void *message, onnxd_tensor **out_tensor)
{
    char key[KEY_BYTES];
    make_key(message, key);
    uint32_t index = onnxd_name_map_find(&loader->shared, key);
    if (index == UINT32_MAX)
        return false;
    *out_tensor = onnxd_tensor_retain(loader->shared_tensors[index]);
    return true;
}

static onnxd_status *reserve(onnxd_loader *loader)
{
    if (loader->shared_count < loader->shared_capacity)
        return NULL;
    uint32_t capacity = loader->shared_capacity == 0 ? FIRST_CAPACITY : loader->shared_capacity * 2;
    void *tensors = onnxd_realloc_array(loader->shared_tensors, capacity, sizeof(onnxd_tensor *));
    if (tensors == NULL)
        return onnxd_error_out_of_memory("tensors of functions",
                                         (uint64_t)capacity * sizeof(onnxd_tensor *), UINT64_MAX);
    loader->shared_tensors = tensors;
    loader->shared_capacity = capacity;
    return NULL;
}

static onnxd_status *keep(onnxd_loader *loader, const void *message, onnxd_tensor *tensor)
{
    char key[KEY_BYTES];
    make_key(message, key);
    ONNXD_TRY(reserve(loader));
    const char *copy = onnxd_arena_strndup(&loader->keys, key, strlen(key));
    if (copy == NULL)
        return onnxd_error_out_of_memory("tensors of functions", KEY_BYTES, loader->keys.max_bytes);
    uint32_t known;
    bool added;
    ONNXD_TRY(onnxd_name_map_add(&loader->shared, copy, loader->shared_count, &known, &added));
    loader->shared_tensors[loader->shared_count++] = onnxd_tensor_retain(tensor);
    return NULL;
}

/* Hands on `tensor`, kept where a function may ask for it again. */
static onnxd_status *finish(onnxd_loader *loader, const void *message, onnxd_status *status,
                            onnxd_tensor *tensor, onnxd_tensor **out_tensor)
{
    if (status == NULL && loader->open_calls > 0)
        status = keep(loader, message, tensor);
    if (status == NULL)
        *out_tensor = tensor;
    else
        onnxd_tensor_release(tensor);
    return status;
}

onnxd_status *onnxd_loader_shared_tensor(onnxd_loader *loader, Onnx__TensorProto *proto,
                                         onnxd_tensor **out_tensor)
{
    onnxd_tensor *tensor = NULL;
    if (loader->open_calls > 0 && find(loader, proto, out_tensor))
        return NULL;
    onnxd_status *status = onnxd_loader_tensor(loader, proto, &tensor);
    return finish(loader, proto, status, tensor, out_tensor);
}

onnxd_status *onnxd_loader_shared_sparse(onnxd_loader *loader, Onnx__SparseTensorProto *proto,
                                         onnxd_tensor **out_tensor)
{
    onnxd_tensor *tensor = NULL;
    if (loader->open_calls > 0 && find(loader, proto, out_tensor))
        return NULL;
    onnxd_status *status = onnxd_loader_sparse(loader, proto, &tensor);
    return finish(loader, proto, status, tensor, out_tensor);
}
