#include <criterion/criterion.h>
#include <stdio.h>

#include "base/clock.h"
#include "tests/model/support.h"
#include "tests/scheduler/collector.h"

/* Upload, kernel and download of 2 ms each. */
#define STAGE_US 2000
#define REQUESTS 100
#define TRIES 3

static int64_t run_all(bool is_async)
{
    char spec[256];
    collector done;
    onnxd_scheduler *scheduler;
    const onnxd_scheduler_options options = {.max_queue_size = REQUESTS};
    snprintf(spec, sizeof(spec),
             "sim;sim.memory_bytes=16777216;sim.copy_latency_us=%d;sim.kernel_latency_us=%d;"
             "sim.async=%s",
             STAGE_US, STAGE_US, is_async ? "true" : "false");
    onnxd_runtime *runtime = support_runtime(spec);
    onnx_file file = onnx_file_begin();
    onnx_input(&file, "x", ONNXD_FLOAT, "8");
    onnx_node(&file, "Neg", "x", "y");
    onnx_output(&file, "y", ONNXD_FLOAT, "8");
    onnxd_model *model = support_load(runtime, &file, NULL);
    support_ok(onnxd_scheduler_create(runtime, &options, &scheduler));
    collector_init(&done);
    const int64_t start_ns = onnxd_now_ns();
    for (int i = 0; i < REQUESTS; i++)
        support_ok(onnxd_scheduler_submit(scheduler, collector_request(&done, model, 8, (float)i)));
    collector_wait(&done, REQUESTS);
    const int64_t elapsed_ns = onnxd_now_ns() - start_ns;
    for (int i = 0; i < REQUESTS; i++)
        cr_assert_eq(collector_result(done.requests[i]), -(float)i);
    collector_clear(&done);
    collector_deinit(&done);
    onnxd_scheduler_destroy(scheduler);
    onnxd_model_release(model);
    onnxd_runtime_destroy(runtime);
    return elapsed_ns;
}

/* The steady state of three equal stages costs one stage per request. The best of a few tries,
 * since other work on the machine can only make a try slower. */
Test(overlap, three_equal_stages_cost_one)
{
    const int64_t ideal_ns = (int64_t)REQUESTS * STAGE_US * 1000;
    int64_t best_ns = run_all(true);
    for (int i = 1; i < TRIES && best_ns * 100 > ideal_ns * 115; i++) {
        const int64_t elapsed_ns = run_all(true);
        best_ns = elapsed_ns < best_ns ? elapsed_ns : best_ns;
    }
    const int64_t serial_ns = run_all(false);
    printf("overlapped %.1f ms, one after another %.1f ms\n", (double)best_ns / 1e6,
           (double)serial_ns / 1e6);
    cr_expect_leq(best_ns * 100, ideal_ns * 115, "%lld ns", (long long)best_ns);
    cr_expect_geq(serial_ns * 10, best_ns * 25, "%lld ns", (long long)serial_ns);
}
