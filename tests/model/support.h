/* Runtimes, models and tensors for tests of model/ and scheduler/. Failures fail the test. */
#ifndef ONNXD_TESTS_MODEL_SUPPORT_H
#define ONNXD_TESTS_MODEL_SUPPORT_H

#include "model/internal.h"
#include "model/model.h"
#include "tests/model/onnx_file.h"

/* Instances separated by blanks, each a provider's short name and its options, separated by
 * semicolons: "cpu;cpu.threads=1 sim;sim.async=false". */
onnxd_runtime *support_runtime(const char *spec);
/* The two halves of it. open returns the number of instances. */
size_t support_open(const char *spec, onnxd_ep **eps, size_t capacity);
onnxd_runtime *support_runtime_of(onnxd_ep *const *eps, size_t count);

/* A directory of its own under the system's, removed by support_remove_directory(). */
void support_make_directory(char *path, size_t capacity);
void support_remove_directory(const char *path);

/* Writes the file, loads it as "test" version 1, and removes it. */
onnxd_model *support_load(onnxd_runtime *runtime, onnx_file *file,
                          const onnxd_model_options *options);
onnxd_status *support_try_load(onnxd_runtime *runtime, onnx_file *file,
                               const onnxd_model_options *options, onnxd_model **out_model);

/* A view of the caller's memory; dims as for onnx_input(), numbers only. */
onnxd_tensor_view support_view(const void *data, onnxd_dtype dtype, const char *dims);

/* Runs on the calling thread and compares output 0 with `count` floats, bit for bit. */
void support_expect_floats(onnxd_model *model, const onnxd_tensor_view *inputs, size_t count,
                           const float *expected);

/* x[N,4] ─► MatMul ─► Add ─► Relu ─► MatMul ─► y[N,3], with fixed weights. */
void support_write_mlp(onnx_file *file);

void support_ok(onnxd_status *status);
/* `status` is an error of that code whose message contains `text`; frees it. */
void support_error(onnxd_status *status, onnxd_code code, const char *text);

#endif
