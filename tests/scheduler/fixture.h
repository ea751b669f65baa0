/* A runtime, a scheduler and a model for tests of scheduler/. Failures fail the test. */
#ifndef ONNXD_TESTS_SCHEDULER_FIXTURE_H
#define ONNXD_TESTS_SCHEDULER_FIXTURE_H

#include "tests/model/support.h"
#include "tests/scheduler/collector.h"

#define MILLISECOND_NS ((int64_t)1000000)
#define CPU "cpu;cpu.threads=1"
#define WIDE_CPU "cpu;cpu.threads=4"
#define SIM "sim;sim.memory_bytes=16777216"
#define SLOW_SIM SIM ";sim.kernel_latency_us=20000"
/* Neg on the device, Relu on the host, Add on the device. */
#define SPLIT CPU BEHIND
#define WIDE_SPLIT WIDE_CPU BEHIND
#define BEHIND " " SIM ";sim.unsupported_ops=Relu;sim.claim_ops=Neg,Add"

typedef struct fixture {
    onnxd_runtime *runtime;
    onnxd_scheduler *scheduler;
    onnxd_model *model;
    collector done;
} fixture;

/* The instances are as support_runtime() takes them; the model computes y = relu(-x) - x for any
 * number of elements. */
void fixture_setup(fixture *f, const char *spec, uint32_t max_queue_size, uint32_t max_in_flight);
/* Releases what has arrived; everything has. */
void fixture_teardown(fixture *f);
float fixture_expected_of(float x);
/* A request that is admitted; it ends in `done`. */
onnxd_request *fixture_submit(fixture *f, int64_t elements, float value);
/* Makes the plan for one element, so that what follows does not wait for it. */
void fixture_warm_up(fixture *f);
/* The result is that of the request's own input: requests overtake each other while the first ones
 * wait for their plan. */
void fixture_expect(const onnxd_request *request);

#endif
