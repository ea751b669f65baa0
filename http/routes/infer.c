#include "http/infer.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "http/infer_codec.h"
#include "http/routes/routes.h"
#include "http/server_internal.h"

#define NS_PER_US 1000

static onnxd_http_exchange *exchange_of(onnxd_http_infer *infer)
{
    return ONNXD_CONTAINER_OF(infer, onnxd_http_exchange, infer);
}

/* -- codec jobs -------------------------------------------------------------------------------- */

/* Runs `job` on a work thread and `after` on the loop; the exchange stays until then. When no work
 * can be queued both run at once. */
static void start_job(onnxd_http_exchange *exchange, uv_work_cb job, uv_after_work_cb after)
{
    onnxd_http_infer *infer = &exchange->infer;
    onnxd_http_exchange_retain(exchange);
    if (uv_queue_work(exchange->server->loop, &infer->work, job, after) != 0) {
        job(&infer->work);
        after(&infer->work, 0);
    }
}

/* Back on the loop. False: nobody waits any more, and the exchange may be gone. */
static bool end_job(onnxd_http_exchange *exchange)
{
    bool is_wanted = exchange->conn != NULL;
    if (!is_wanted)
        onnxd_http_exchange_release(exchange);
    return is_wanted;
}

/* Answers with the job's error, if there is one. */
static bool fail_with_job(onnxd_http_exchange *exchange)
{
    onnxd_status *status = exchange->infer.status;
    exchange->infer.status = NULL;
    if (status == NULL)
        return false;
    onnxd_http_exchange_fail(exchange, status);
    return true;
}

/* -- response ---------------------------------------------------------------------------------- */

static void encode(uv_work_t *work)
{
    onnxd_http_infer *infer = ONNXD_CONTAINER_OF(work, onnxd_http_infer, work);
    onnxd_http_exchange *exchange = exchange_of(infer);
    infer->status = onnxd_http_encode_infer(infer->request, &infer->call,
                                            exchange->server->options.max_output_bytes,
                                            &exchange->arena, &infer->blobs, &exchange->response);
}

static void answer(onnxd_http_exchange *exchange)
{
    if (fail_with_job(exchange))
        return;
    /* What was not foreseen of the response counts, but is not refused: it is made. */
    uint64_t bytes = onnxd_http_response_body_bytes(&exchange->response);
    bytes -= bytes < exchange->infer.foreseen_bytes ? bytes : exchange->infer.foreseen_bytes;
    exchange->server->inflight_bytes += bytes;
    exchange->charged_bytes += bytes;
    onnxd_http_exchange_finish(exchange);
}

static void after_encode(uv_work_t *work, int result)
{
    (void)result;
    onnxd_http_exchange *exchange = exchange_of(ONNXD_CONTAINER_OF(work, onnxd_http_infer, work));
    if (!end_job(exchange))
        return;
    answer(exchange);
    onnxd_http_exchange_release(exchange);
}

static void respond(onnxd_http_exchange *exchange)
{
    onnxd_http_infer *infer = &exchange->infer;
    onnxd_status *status = infer->request->status;
    if (status != NULL) {
        infer->request->status = NULL;
        onnxd_http_exchange_fail(exchange, status);
        return;
    }
    const onnxd_http_options *options = &exchange->server->options;
    infer->foreseen_bytes = onnxd_http_encode_cost(infer->request, &infer->call);
    /* Beyond the limits encoding refuses by itself, naming the output. */
    if (infer->foreseen_bytes > options->max_output_bytes)
        infer->foreseen_bytes = 0;
    if (!onnxd_http_exchange_charge(exchange, infer->foreseen_bytes)) {
        onnxd_http_exchange_fail(exchange, onnxd_error(ONNXD_RESOURCE_EXHAUSTED,
                                                       "the responses in flight are too large"));
        return;
    }
    if (infer->foreseen_bytes > options->inline_codec_bytes) {
        start_job(exchange, encode, after_encode);
        return;
    }
    encode(&infer->work);
    answer(exchange);
}

void onnxd_http_infer_received(onnxd_request *request)
{
    onnxd_http_exchange *exchange = request->user;
    exchange->infer.is_submitted = false;
    if (exchange->state == ONNXD_HTTP_HANDLING && exchange->conn != NULL) {
        exchange->deadline_ms = 0;
        respond(exchange);
    }
    onnxd_http_exchange_release(exchange);
}

/* -- request ----------------------------------------------------------------------------------- */

static void on_done(onnxd_request *request)
{
    const onnxd_http_exchange *exchange = request->user;
    onnxd_mailbox_post(&exchange->server->mailbox, &request->link);
}

static uint64_t timeout_of(const onnxd_http_options *options, uint64_t asked_us)
{
    uint64_t timeout_us = asked_us != 0 ? asked_us : options->default_timeout_us;
    return timeout_us < options->max_timeout_us ? timeout_us : options->max_timeout_us;
}

static void submit(onnxd_http_exchange *exchange)
{
    onnxd_http_infer *infer = &exchange->infer;
    onnxd_http_server *server = exchange->server;
    uint64_t timeout_us = timeout_of(&server->options, infer->call.timeout_us);
    int64_t deadline_ns = infer->begun_ns + (int64_t)timeout_us * NS_PER_US;
    infer->request->deadline_ns = deadline_ns;
    infer->request->user = exchange;
    infer->request->done = on_done;
    onnxd_http_exchange_retain(exchange); /* for the scheduler */
    infer->is_submitted = true;
    onnxd_status *status = onnxd_scheduler_submit(server->services.scheduler, infer->request);
    if (status != NULL) {
        infer->is_submitted = false;
        onnxd_http_exchange_fail(exchange, status);
        onnxd_http_exchange_release(exchange);
        return;
    }
    /* The loop answers when the deadline has passed, also while a kernel still runs. */
    exchange->deadline_ms = onnxd_http_server_loop_ms(server, deadline_ns);
    onnxd_http_server_arm(server, exchange->deadline_ms);
}

static void decode(uv_work_t *work)
{
    onnxd_http_infer *infer = ONNXD_CONTAINER_OF(work, onnxd_http_infer, work);
    onnxd_http_exchange *exchange = exchange_of(infer);
    static char nothing[1];
    onnxd_http_decoding decoding = {
        .options = &exchange->server->options,
        .request = infer->request,
        .arena = &exchange->arena,
        .body = exchange->body.data != NULL ? exchange->body.data : nothing,
        .body_bytes = exchange->body.length,
        .has_json_bytes = exchange->head.has_json_length,
        .json_bytes = exchange->head.json_length,
    };
    infer->status = onnxd_http_decode_infer(&decoding, &infer->call);
}

static void after_decode(uv_work_t *work, int result)
{
    (void)result;
    onnxd_http_exchange *exchange = exchange_of(ONNXD_CONTAINER_OF(work, onnxd_http_infer, work));
    if (!end_job(exchange))
        return;
    if (!fail_with_job(exchange))
        submit(exchange);
    onnxd_http_exchange_release(exchange);
}

void onnxd_http_infer_begin(onnxd_http_exchange *exchange)
{
    onnxd_http_infer *infer = &exchange->infer;
    infer->begun_ns = onnxd_now_ns();
    onnxd_status *status = onnxd_http_find_model(exchange, &infer->model);
    if (status == NULL)
        status = onnxd_request_create(infer->model, &infer->request);
    if (status != NULL) {
        onnxd_http_exchange_fail(exchange, status);
        return;
    }
    if (exchange->body.length > exchange->server->options.inline_codec_bytes) {
        start_job(exchange, decode, after_decode);
        return;
    }
    decode(&infer->work);
    if (!fail_with_job(exchange))
        submit(exchange);
}

void onnxd_http_handle_model_infer(onnxd_http_exchange *exchange)
{
    onnxd_http_infer_begin(exchange);
}

/* -- end --------------------------------------------------------------------------------------- */

void onnxd_http_infer_cancel(onnxd_http_exchange *exchange)
{
    if (exchange->infer.is_submitted)
        onnxd_scheduler_cancel(exchange->server->services.scheduler, exchange->infer.request);
}

void onnxd_http_infer_reset(onnxd_http_exchange *exchange)
{
    onnxd_http_infer *infer = &exchange->infer;
    onnxd_status_free(infer->status);
    onnxd_request_release(infer->request);
    if (infer->model != NULL)
        onnxd_store_release_model(exchange->server->services.store, infer->model);
    onnxd_strbuf blobs = infer->blobs;
    *infer = (onnxd_http_infer){.blobs = blobs};
}
