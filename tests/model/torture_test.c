/* Every allocation on the way from a file to a result fails once: each time there is an error, no
 * leak, and what stays is usable. */
#include <criterion/criterion.h>
#include <stdio.h>

#include "base/alloc.h"
#include "tests/model/support.h"

#define MAX_FAILURES 20000

static const float data[4 * 3] = {1, 2, 3, 4};

typedef struct result {
    onnxd_model *model;
    onnxd_plan *plan;
    onnxd_run *run;
} result;

static onnxd_status *load_and_run(onnxd_runtime *runtime, const char *path, result *out)
{
    const onnxd_model_options options = onnxd_model_options_default();
    const onnxd_tensor_view input = support_view(data, ONNXD_FLOAT, "3,4");
    ONNXD_TRY(onnxd_model_load(runtime, "test", 1, path, &options, &out->model));
    ONNXD_TRY(onnxd_model_prepare(out->model, &input, &out->plan));
    return onnxd_run_once(out->plan, &input, &out->run);
}

static void end(result *made)
{
    onnxd_run_release(made->run);
    onnxd_plan_release(made->plan);
    onnxd_model_release(made->model);
}

static void expect_survival(const char *spec)
{
    char root[64], path[128];
    onnx_file file;
    onnxd_status *status;
    uint64_t n = 0;
    onnxd_runtime *runtime = support_runtime(spec);
    support_make_directory(root, sizeof(root));
    snprintf(path, sizeof(path), "%s/m.onnx", root);
    support_write_mlp(&file);
    onnx_file_write(&file, path);
    /* Pools and kernel caches keep what the first time brings. */
    result first = {NULL, NULL, NULL};
    support_ok(load_and_run(runtime, path, &first));
    end(&first);
    const uint64_t live = onnxd_alloc_query().live_count;
    do {
        result made = {NULL, NULL, NULL};
        const uint64_t calls = onnxd_alloc_query().calls;
        onnxd_alloc_fail_at(++n, 0);
        status = load_and_run(runtime, path, &made);
        onnxd_alloc_fail_at(0, 0);
        const bool is_done = onnxd_alloc_query().calls - calls < n;
        /* An instance that lacks memory to answer a question declines the node, and one that lacks
         * memory for weights is done without. */
        if (is_done)
            cr_assert_null(status, "%s", onnxd_status_message(status));
        if (status != NULL)
            cr_assert(onnxd_status_code(status) == ONNXD_OUT_OF_MEMORY ||
                          onnxd_status_code(status) == ONNXD_NO_EP_FOR_OP,
                      "%llu: %s", (unsigned long long)n, onnxd_status_message(status));
        onnxd_status_free(status);
        end(&made);
        cr_assert_leq(onnxd_alloc_query().live_count, live, "%llu", (unsigned long long)n);
        if (is_done)
            break;
    } while (n < MAX_FAILURES);
    cr_expect_lt(n, MAX_FAILURES);
    cr_expect_gt(n, 20);
    onnxd_runtime_destroy(runtime);
    support_remove_directory(root);
}

Test(torture, no_allocation_failure_leaks_on_the_cpu)
{
    expect_survival("cpu;cpu.threads=1");
}

Test(torture, no_allocation_failure_leaks_when_split)
{
    expect_survival("cpu;cpu.threads=1 sim;sim.memory_bytes=16777216;sim.unsupported_ops=Relu;"
                    "sim.claim_ops=MatMul,Add");
}
