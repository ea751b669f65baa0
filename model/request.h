/*
 * An inference request: what travels from a connection through the scheduler and back.
 *
 *   create ─► add_input for each ─► submit (ownership moves on success) ─► done ─► release
 *
 * Input memory comes from the runtime's host pool, so a codec decodes straight into what the first
 * stage reads. Requests are recycled by their model; `done` is called exactly once, on a scheduler
 * thread, and may only post the request to a mailbox.
 *
 * Threads: the fields below belong to whoever holds the request; `cancelled` may be set by anyone
 * who knows the request to be alive (the submitter, until it has taken it from its mailbox).
 */
#ifndef ONNXD_MODEL_REQUEST_H
#define ONNXD_MODEL_REQUEST_H

#include <stdatomic.h>

#include "base/list.h"
#include "model/run.h"

typedef struct onnxd_request onnxd_request;
struct onnxd_request {
    onnxd_link link; /* free for the holder's queues and mailboxes */
    onnxd_model *model;
    onnxd_tensor_view *inputs; /* [input_count], signature order; dtype UNDEFINED until added */
    int64_t deadline_ns;       /* monotonic; ONNXD_NO_DEADLINE */
    atomic_bool cancelled;
    void (*done)(onnxd_request *request);
    void *user;

    /* set before done */
    onnxd_status *status;             /* owned by the request; NULL: success */
    const onnxd_tensor_view *outputs; /* [output_count] host views; NULL on failure */
    /* monotonic stamps: submitted, taken by a device, last stage done */
    int64_t submitted_ns, started_ns, finished_ns;

    /* scheduler and model only */
    onnxd_plan *plan;
    onnxd_run *run;
    onnxd_pool_block *input_blocks;
    uint32_t stage;
    onnxd_fence fence;
    uint64_t spaces;     /* whose memory the run takes, a bit each; the scheduler numbers them */
    uint32_t lane_count; /* devices that the plan uses, at least 1 */
    bool is_running;     /* its run has taken its memory and has not ended */
};

/* Retains the model. */
ONNXD_NODISCARD onnxd_status *onnxd_request_create(onnxd_model *model, onnxd_request **out_request);
/* Memory for input `index` of the given static shape and the port's type; the caller fills
 * *out_data. Checks the shape against the model's signature.
 * Errors: INVALID_ARGUMENT (already added; "unexpected shape for input 'x' for model 'm'. Expected
 * [-1,3], got [1,4]"), OUT_OF_MEMORY, PAYLOAD_TOO_LARGE beyond max_tensor_bytes, or
 * max_shape_input_bytes when its value decides shapes. */
ONNXD_NODISCARD onnxd_status *onnxd_request_add_input(onnxd_request *request, uint32_t index,
                                                      const onnxd_shape *shape, void **out_data,
                                                      size_t *out_bytes);
/* Bytes of STRING elements must outlive the request: this hands out such bytes. */
ONNXD_NODISCARD onnxd_status *onnxd_request_string_bytes(onnxd_request *request, size_t bytes,
                                                         char **out_data);
/* Every input present. Errors in Triton's words: "expected 2 inputs but got 1 inputs for model 'm'.
 * Got input(s) ['a'], but missing required input(s) ['b']. ..." */
ONNXD_NODISCARD onnxd_status *onnxd_request_check(const onnxd_request *request);
/* Gives everything back; not while submitted. NULL is fine. */
void onnxd_request_release(onnxd_request *request);

#endif
