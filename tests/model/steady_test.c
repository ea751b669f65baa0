/* A thousand runs of each of four models, in turns on three shapes, allocate nothing: neither by
 * onnxd_alloc() nor, where no sanitizer has taken malloc() over, in any library. */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "model/run.h"
#include "tests/model/support.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define COUNTS_MALLOC 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define COUNTS_MALLOC 0
#endif
#endif
#ifndef COUNTS_MALLOC
#define COUNTS_MALLOC 1
#endif

static atomic_ullong malloc_calls;

#if COUNTS_MALLOC
/* glibc's own, under the names that it has for those who replace them. */
void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t count, size_t bytes);
void *__libc_realloc(void *pointer, size_t bytes);
void *__libc_memalign(size_t alignment, size_t bytes);

__attribute__((visibility("default"))) void *malloc(size_t bytes)
{
    atomic_fetch_add_explicit(&malloc_calls, 1, memory_order_relaxed);
    return __libc_malloc(bytes);
}

__attribute__((visibility("default"))) void *calloc(size_t count, size_t bytes)
{
    atomic_fetch_add_explicit(&malloc_calls, 1, memory_order_relaxed);
    return __libc_calloc(count, bytes);
}

__attribute__((visibility("default"))) void *realloc(void *pointer, size_t bytes)
{
    atomic_fetch_add_explicit(&malloc_calls, 1, memory_order_relaxed);
    return __libc_realloc(pointer, bytes);
}

__attribute__((visibility("default"))) int posix_memalign(void **out, size_t alignment,
                                                          size_t bytes)
{
    atomic_fetch_add_explicit(&malloc_calls, 1, memory_order_relaxed);
    *out = __libc_memalign(alignment, bytes);
    return *out == NULL ? ENOMEM : 0;
}

__attribute__((visibility("default"))) void *aligned_alloc(size_t alignment, size_t bytes)
{
    atomic_fetch_add_explicit(&malloc_calls, 1, memory_order_relaxed);
    return __libc_memalign(alignment, bytes);
}
#endif

#define MOST_FLOATS 16384
#define SHAPES 3
#define RUNS 1000

static float floats[MOST_FLOATS];

static void fill_floats(void)
{
    uint32_t random = 7;
    for (size_t i = 0; i < MOST_FLOATS; i++) {
        random = random * 1664525u + 1013904223u;
        floats[i] = (float)(random >> 8) / (float)(1u << 24) - 0.5f;
    }
}

static void add_weights(onnx_file *file, const char *name, const char *dims, size_t count)
{
    cr_assert_leq(count, MOST_FLOATS);
    onnx_floats(file, name, dims, count, floats);
}

/* ---- the models ---------------------------------------------------------------------------- */

static void add_convolution(onnx_file *file, const char *inputs, const char *output)
{
    onnx_node(file, "Conv", inputs, output);
    onnx_attribute_ints(file, "pads", 4, (const int64_t[]){1, 1, 1, 1});
}

/* Convolutions, a residual addition and pools over images of any size. */
static void write_images(onnx_file *file)
{
    *file = onnx_file_begin();
    onnx_input(file, "x", ONNXD_FLOAT, "n,3,h,w");
    add_weights(file, "w1", "16,3,3,3", 16 * 27);
    add_weights(file, "w2", "16,16,3,3", 16 * 144);
    add_weights(file, "w3", "16,1,3,3", 144);
    add_weights(file, "b", "16", 16);
    add_weights(file, "w4", "16,10", 160);
    add_convolution(file, "x,w1,b", "c1");
    onnx_node(file, "Relu", "c1", "r1");
    onnx_node(file, "MaxPool", "r1", "p1");
    onnx_attribute_ints(file, "kernel_shape", 2, (const int64_t[]){2, 2});
    onnx_attribute_ints(file, "strides", 2, (const int64_t[]){2, 2});
    add_convolution(file, "p1,w2,b", "c2");
    onnx_node(file, "Add", "c2,p1", "a2");
    onnx_node(file, "Relu", "a2", "r2");
    add_convolution(file, "r2,w3,b", "c3");
    onnx_attribute_int(file, "group", 16);
    onnx_node(file, "Sigmoid", "c3", "s3");
    onnx_node(file, "Mul", "c3,s3", "m3");
    onnx_node(file, "Concat", "m3,r2", "both");
    onnx_attribute_int(file, "axis", 1);
    onnx_node(file, "GlobalAveragePool", "m3", "g");
    onnx_node(file, "Flatten", "g", "f");
    onnx_node(file, "Gemm", "f,w4", "y");
    onnx_output(file, "y", ONNXD_FLOAT, "n,10");
}

static void add_heads(onnx_file *file, const char *weights, const char *product, const char *split,
                      const char *heads)
{
    char inputs[64];
    snprintf(inputs, sizeof(inputs), "x,%s", weights);
    onnx_node(file, "MatMul", inputs, product);
    snprintf(inputs, sizeof(inputs), "%s,by_heads", product);
    onnx_node(file, "Reshape", inputs, split);
    onnx_node(file, "Transpose", split, heads);
    onnx_attribute_ints(file, "perm", 4, (const int64_t[]){0, 2, 1, 3});
}

/* Attention with two heads, and a layer of its own behind it, over texts of any length. */
static void write_texts(onnx_file *file)
{
    *file = onnx_file_begin();
    onnx_input(file, "x", ONNXD_FLOAT, "n,t,32");
    onnx_int64s(file, "by_heads", "4", 4, (const int64_t[]){0, 0, 2, 16});
    onnx_int64s(file, "joined", "3", 3, (const int64_t[]){0, 0, 32});
    add_weights(file, "wq", "32,32", 1024);
    add_weights(file, "wk", "32,32", 1024);
    add_weights(file, "wv", "32,32", 1024);
    add_weights(file, "wo", "32,64", 2048);
    add_weights(file, "scale", "32", 32);
    add_heads(file, "wq", "q1", "q2", "q");
    add_heads(file, "wk", "k1", "k2", "k");
    add_heads(file, "wv", "v1", "v2", "v");
    onnx_node(file, "Transpose", "k", "kt");
    onnx_attribute_ints(file, "perm", 4, (const int64_t[]){0, 1, 3, 2});
    onnx_node(file, "MatMul", "q,kt", "scores");
    onnx_node(file, "Softmax", "scores", "weights");
    onnx_attribute_int(file, "axis", -1);
    onnx_node(file, "MatMul", "weights,v", "mixed");
    onnx_node(file, "Transpose", "mixed", "back");
    onnx_attribute_ints(file, "perm", 4, (const int64_t[]){0, 2, 1, 3});
    onnx_node(file, "Reshape", "back,joined", "flat");
    onnx_node(file, "Add", "flat,x", "sum");
    onnx_node(file, "LayerNormalization", "sum,scale", "norm");
    onnx_node(file, "MatMul", "norm,wo", "out");
    onnx_node(file, "Tanh", "out", "y");
    onnx_output(file, "y", ONNXD_FLOAT, "n,t,64");
}

/* A recurrent layer over sequences of any length. */
static void write_sequences(onnx_file *file)
{
    *file = onnx_file_begin();
    onnx_input(file, "x", ONNXD_FLOAT, "t,n,8");
    add_weights(file, "w", "1,48,8", 384);
    add_weights(file, "r", "1,48,12", 576);
    add_weights(file, "b", "1,96", 96);
    onnx_node(file, "LSTM", "x,w,r,b", "y");
    onnx_attribute_int(file, "hidden_size", 12);
    onnx_output(file, "y", ONNXD_FLOAT, "t,1,n,12");
}

/* ---- runs ---------------------------------------------------------------------------------- */

typedef struct steady_case {
    void (*write)(onnx_file *file);
    const char *dims[SHAPES];
} steady_case;

static void run_once(onnxd_plan *plan, const onnxd_tensor_view *input)
{
    onnxd_run *run;
    support_ok(onnxd_run_once(plan, input, &run));
    onnxd_run_release(run);
}

static void expect_no_allocation(onnxd_model *model, const steady_case *of)
{
    onnxd_plan *plans[SHAPES];
    onnxd_tensor_view views[SHAPES];
    for (int s = 0; s < SHAPES; s++) {
        views[s] = support_view(floats, ONNXD_FLOAT, of->dims[s]);
        cr_assert_leq(onnxd_tensor_view_count(&views[s]), MOST_FLOATS);
        support_ok(onnxd_model_prepare(model, &views[s], &plans[s]));
        for (int i = 0; i < 3; i++)
            run_once(plans[s], &views[s]);
        onnxd_plan_release(plans[s]);
    }
    const unsigned long long before = atomic_load(&malloc_calls);
    const uint64_t own = onnxd_alloc_query().calls;
    for (int i = 0; i < RUNS; i++) {
        const onnxd_tensor_view *view = &views[i % SHAPES];
        /* As a request does. */
        onnxd_plan *plan = onnxd_model_find_plan(model, view);
        cr_assert_not_null(plan);
        run_once(plan, view);
        onnxd_plan_release(plan);
    }
    cr_expect_eq(onnxd_alloc_query().calls, own);
    cr_expect_eq(atomic_load(&malloc_calls), before, "%s: %llu calls of malloc()", of->dims[0],
                 atomic_load(&malloc_calls) - before);
}

static void expect_steady(const char *spec, const steady_case *of)
{
    onnx_file file;
    onnxd_runtime *runtime = support_runtime(spec);
    fill_floats();
    of->write(&file);
    onnxd_model *model = support_load(runtime, &file, NULL);
    expect_no_allocation(model, of);
    onnxd_model_release(model);
    onnxd_runtime_destroy(runtime);
}

Test(steady, vectors)
{
    expect_steady("cpu;cpu.threads=2", &(steady_case){support_write_mlp, {"3,4", "1,4", "100,4"}});
}

Test(steady, images)
{
    expect_steady("cpu;cpu.threads=2",
                  &(steady_case){write_images, {"1,3,32,32", "2,3,24,40", "1,3,17,9"}});
}

Test(steady, texts)
{
    expect_steady("cpu;cpu.threads=2",
                  &(steady_case){write_texts, {"1,16,32", "2,128,32", "3,7,32"}});
}

Test(steady, sequences)
{
    expect_steady("cpu;cpu.threads=2",
                  &(steady_case){write_sequences, {"16,1,8", "64,3,8", "1,2,8"}});
}

Test(steady, malloc_is_counted)
{
    if (!COUNTS_MALLOC)
        cr_skip_test("a sanitizer has taken malloc() over: onnxd_alloc() alone is counted");
    const unsigned long long before = atomic_load(&malloc_calls);
    void *volatile pointer = malloc(10);
    cr_expect_gt(atomic_load(&malloc_calls), before);
    free(pointer);
}
