/* The steps of a plan, how long each takes, and how near that is to what the machine can do. */
#ifndef ONNXD_DAEMON_BENCH_PROFILE_H
#define ONNXD_DAEMON_BENCH_PROFILE_H

#include "daemon/model_io.h"
#include "model/profile.h"

typedef struct onnxd_bench_step {
    double us; /* the least of the runs */
    onnxd_step_facts facts;
} onnxd_bench_step;

typedef struct onnxd_bench_profile {
    onnxd_bench_step *steps;
    uint32_t count;
    double total_us;
    /* Of the first instance of cpu_ep, with all its threads; 0 where there is none. */
    double peak_flops_per_s, peak_bytes_per_s;
} onnxd_bench_profile;

/* Runs the plan `runs` times, at least once. The profile lives no longer than the plan. */
ONNXD_NODISCARD onnxd_status *onnxd_bench_profile_measure(const onnxd_session *session,
                                                          onnxd_plan *plan,
                                                          const onnxd_tensor_list *inputs,
                                                          uint32_t runs,
                                                          onnxd_bench_profile *out_profile);
void onnxd_bench_profile_deinit(onnxd_bench_profile *profile);
/* A table of the steps, longest first. */
void onnxd_bench_profile_text(const onnxd_bench_profile *profile, const onnxd_graph *graph,
                              onnxd_strbuf *out);
/* An object, its steps in the order they run in. */
void onnxd_bench_profile_json(const onnxd_bench_profile *profile, const onnxd_graph *graph,
                              onnxd_strbuf *out);

#endif
