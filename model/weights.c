#include "model/weights.h"

#include <pthread.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"

/* Below this a constant costs less than looking for its equal. */
#define SHARED_BYTES ((size_t)4 << 10)
#define BUCKET_COUNT 1024

struct onnxd_weight {
    onnxd_weight *next; /* in its bucket */
    uint64_t hash;
    onnxd_tensor *tensor;
    uint32_t references;   /* under the table's mutex */
    bool is_listed;        /* in a bucket: may be found by others */
    onnxd_buffer *buffers; /* [ep_count]; handle 0: not there. Under the table's mutex */
};

struct onnxd_weights {
    onnxd_ep *const *eps;
    size_t ep_count;
    pthread_mutex_t mutex;
    onnxd_weight *buckets[BUCKET_COUNT]; /* under the mutex */
};

/* ---- comparing ----------------------------------------------------------------------------- */

static uint64_t hash_tensor(const onnxd_tensor *tensor)
{
    uint64_t hash = onnxd_hash_word(ONNXD_HASH_SEED, (uint64_t)tensor->dtype);
    for (int32_t i = 0; i < tensor->shape.rank; i++)
        hash = onnxd_hash_word(hash, (uint64_t)tensor->shape.dims[i]);
    return onnxd_hash_bytes(hash, tensor->data, tensor->bytes);
}

static bool may_share(const onnxd_tensor *tensor)
{
    return tensor->bytes >= SHARED_BYTES && tensor->dtype != ONNXD_STRING;
}

static bool is_equal(const onnxd_tensor *a, const onnxd_tensor *b)
{
    return a->dtype == b->dtype && onnxd_shape_equal(&a->shape, &b->shape) &&
           a->bytes == b->bytes && memcmp(a->data, b->data, a->bytes) == 0;
}

/* ---- the table ----------------------------------------------------------------------------- */

onnxd_status *onnxd_weights_create(onnxd_ep *const *eps, size_t ep_count,
                                   onnxd_weights **out_weights)
{
    onnxd_weights *weights = onnxd_alloc_zero(1, sizeof(*weights));
    if (weights == NULL)
        return onnxd_error_out_of_memory("the table of weights", sizeof(*weights), UINT64_MAX);
    weights->eps = eps;
    weights->ep_count = ep_count;
    pthread_mutex_init(&weights->mutex, NULL);
    *out_weights = weights;
    return NULL;
}

void onnxd_weights_destroy(onnxd_weights *weights)
{
    if (weights == NULL)
        return;
    pthread_mutex_destroy(&weights->mutex);
    onnxd_free(weights);
}

static void unlist(onnxd_weights *weights, const onnxd_weight *weight)
{
    onnxd_weight **link = &weights->buckets[weight->hash % BUCKET_COUNT];
    while (*link != weight)
        link = &(*link)->next;
    *link = weight->next;
}

static void weight_free(const onnxd_weights *weights, onnxd_weight *weight)
{
    for (size_t i = 0; weight->buffers != NULL && i < weights->ep_count; i++)
        if (weight->buffers[i].handle != 0)
            onnxd_status_free(onnxd_ep_deallocate(weights->eps[i], weight->buffers[i]));
    onnxd_free(weight->buffers);
    onnxd_tensor_release(weight->tensor);
    onnxd_free(weight);
}

static onnxd_status *weight_create(const onnxd_weights *weights, onnxd_tensor *tensor,
                                   uint64_t hash, onnxd_weight **out_weight)
{
    onnxd_weight *weight = onnxd_alloc_zero(1, sizeof(*weight));
    onnxd_buffer *buffers = onnxd_alloc_zero(weights->ep_count, sizeof(onnxd_buffer));
    if (weight == NULL || buffers == NULL) {
        onnxd_free(weight);
        onnxd_free(buffers);
        return onnxd_error_out_of_memory("a weight", sizeof(*weight), UINT64_MAX);
    }
    *weight = (onnxd_weight){
        .hash = hash,
        .tensor = onnxd_tensor_retain(tensor),
        .references = 1,
        .is_listed = may_share(tensor),
        .buffers = buffers,
    };
    *out_weight = weight;
    return NULL;
}

/* A reference to the first listed weight with this hash, or NULL. */
static onnxd_weight *find(onnxd_weights *weights, uint64_t hash)
{
    pthread_mutex_lock(&weights->mutex);
    onnxd_weight *weight = weights->buckets[hash % BUCKET_COUNT];
    while (weight != NULL && weight->hash != hash)
        weight = weight->next;
    if (weight != NULL)
        weight->references++;
    pthread_mutex_unlock(&weights->mutex);
    return weight;
}

onnxd_status *onnxd_weights_acquire(onnxd_weights *weights, onnxd_tensor *tensor,
                                    onnxd_weight **out_weight)
{
    onnxd_weight *weight;
    uint64_t hash = 0;
    if (may_share(tensor)) {
        hash = hash_tensor(tensor);
        weight = find(weights, hash);
        if (weight != NULL && is_equal(weight->tensor, tensor)) {
            *out_weight = weight;
            return NULL;
        }
        onnxd_weights_release(weights, weight);
    }
    ONNXD_TRY(weight_create(weights, tensor, hash, &weight));
    if (weight->is_listed) {
        /* Two threads may list equal weights at once; both are good, only less is shared. */
        pthread_mutex_lock(&weights->mutex);
        weight->next = weights->buckets[hash % BUCKET_COUNT];
        weights->buckets[hash % BUCKET_COUNT] = weight;
        pthread_mutex_unlock(&weights->mutex);
    }
    *out_weight = weight;
    return NULL;
}

void onnxd_weights_release(onnxd_weights *weights, onnxd_weight *weight)
{
    if (weight == NULL)
        return;
    pthread_mutex_lock(&weights->mutex);
    const bool is_last = --weight->references == 0;
    if (is_last && weight->is_listed)
        unlist(weights, weight);
    pthread_mutex_unlock(&weights->mutex);
    if (is_last)
        weight_free(weights, weight);
}

onnxd_tensor *onnxd_weight_tensor(const onnxd_weight *weight)
{
    return weight->tensor;
}

/* ---- devices ------------------------------------------------------------------------------- */

onnxd_status *onnxd_tensor_upload(onnxd_ep *ep, const onnxd_tensor *tensor,
                                  onnxd_buffer *out_buffer)
{
    onnxd_buffer buffer;
    const onnxd_ep_info info = onnxd_ep_get_info(ep);
    ONNXD_TRY(onnxd_ep_allocate(ep, tensor->bytes, info.alignment_bytes, &buffer));
    if (tensor->bytes > 0) {
        const onnxd_copy copy = {
            .source = onnxd_buffer_borrow_host(tensor->data, tensor->bytes),
            .destination = buffer,
            .bytes = tensor->bytes,
        };
        onnxd_status *status = onnxd_ep_copy(ep, &copy);
        if (status != NULL)
            return onnxd_status_join(status, onnxd_ep_deallocate(ep, buffer));
    }
    *out_buffer = buffer;
    return NULL;
}

static onnxd_buffer look(onnxd_weights *weights, const onnxd_weight *weight, uint32_t ep)
{
    pthread_mutex_lock(&weights->mutex);
    const onnxd_buffer buffer = weight->buffers[ep];
    pthread_mutex_unlock(&weights->mutex);
    return buffer;
}

/* Keeps `buffer` unless another thread was faster; returns what is kept. */
static onnxd_buffer keep(onnxd_weights *weights, onnxd_weight *weight, uint32_t ep,
                         onnxd_buffer buffer)
{
    pthread_mutex_lock(&weights->mutex);
    if (weight->buffers[ep].handle == 0)
        weight->buffers[ep] = buffer;
    const onnxd_buffer kept = weight->buffers[ep];
    pthread_mutex_unlock(&weights->mutex);
    return kept;
}

onnxd_status *onnxd_weights_on(onnxd_weights *weights, onnxd_weight *weight, uint32_t ep,
                               onnxd_buffer *out_buffer)
{
    onnxd_buffer buffer = look(weights, weight, ep);
    if (buffer.handle == 0) {
        onnxd_buffer fresh = {.handle = 0};
        ONNXD_TRY(onnxd_tensor_upload(weights->eps[ep], weight->tensor, &fresh));
        buffer = keep(weights, weight, ep, fresh);
        if (buffer.handle != fresh.handle)
            ONNXD_TRY(onnxd_ep_deallocate(weights->eps[ep], fresh));
    }
    *out_buffer = buffer;
    return NULL;
}
