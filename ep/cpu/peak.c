#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "ep/cpu/internal.h"

/* Each is measured so often, and the best counts: whatever else runs only makes it slower. */
#define TRIES 20
#define ARITHMETIC_STEPS ((size_t)100000)
/* Beyond what the caches of usual machines hold. */
#define READ_FLOATS ((size_t)64 << 20)
#define READ_PIECES ((size_t)64)

typedef struct peak_run {
    const onnxd_simd *simd;
    float *memory;
    float results[READ_PIECES]; /* so that they are wanted */
} peak_run;

static void compute(void *context, size_t index ONNXD_UNUSED, uint32_t worker ONNXD_UNUSED)
{
    const peak_run *run = context;
    run->simd->arithmetic(ARITHMETIC_STEPS);
}

static void read_piece(void *context, size_t index, uint32_t worker ONNXD_UNUSED)
{
    peak_run *run = context;
    const size_t count = READ_FLOATS / READ_PIECES;
    run->results[index] = run->simd->read(run->memory + index * count, count);
}

static double best_seconds(onnxd_team *team, size_t pieces, onnxd_team_task task, peak_run *run)
{
    int64_t best = INT64_MAX;
    for (int i = 0; i < TRIES; i++) {
        const int64_t start = onnxd_now_ns();
        onnxd_team_run(team, pieces, task, run);
        const int64_t duration = onnxd_now_ns() - start;
        if (duration < best)
            best = duration;
    }
    return (double)(best < 1 ? 1 : best) / 1e9;
}

onnxd_status *onnxd_cpu_ep_measure_peak(onnxd_ep *ep, onnxd_cpu_peak *out_peak)
{
    const onnxd_cpu_runtime *runtime = onnxd_cpu_ep_of(ep)->runtime;
    const uint32_t threads = onnxd_team_threads(runtime->team);
    const size_t bytes = READ_FLOATS * sizeof(float);
    peak_run run = {.simd = runtime->simd, .memory = onnxd_alloc_aligned(bytes, 64)};
    if (run.memory == NULL)
        return onnxd_error_out_of_memory("measuring", bytes, UINT64_MAX);
    /* Pages that were never written are all the same one, which the caches hold. */
    memset(run.memory, 1, bytes);
    out_peak->flops_per_s = run.simd->arithmetic(ARITHMETIC_STEPS) * threads /
                            best_seconds(runtime->team, threads, compute, &run);
    out_peak->bytes_per_s =
        (double)bytes / best_seconds(runtime->team, READ_PIECES, read_piece, &run);
    onnxd_free(run.memory);
    return NULL;
}
