/* What the implementations on top of oneDNN share. Files of this folder only. */
#ifndef ONNXD_EP_CPU_ONEDNN_H
#define ONNXD_EP_CPU_ONEDNN_H

#include "ep/cpu/internal.h"

/* oneDNN is switched on, every present tensor is FLOAT and none is empty. */
bool onnxd_onednn_takes(const onnxd_cpu_case *c);
/* The kernel owns `op` from here on. */
void onnxd_onednn_adopt(onnxd_cpu_kernel *kernel, onnxd_dnnl_op *op);
/* Runs the op on the kernel's inputs and output 0, by position. */
onnxd_status *onnxd_onednn_enqueue(onnxd_cpu_kernel *kernel, const onnxd_kernel_args *args);
void onnxd_onednn_unmake(onnxd_cpu_kernel *kernel);

/* Where oneDNN's result for some values is not ONNX's (a NaN that it loses), enqueue looks for them
 * and has the portable kernel run in its place, for which takes() asks this first. */
bool onnxd_onednn_can_fall_back(const onnxd_cpu_case *c);
onnxd_status *onnxd_onednn_fall_back(onnxd_cpu_kernel *kernel, const onnxd_kernel_args *args);

/* The implementation record of the file's takes() and make(). */
#define ONNXD_ONEDNN_IMPLEMENTATION(identifier, takes_function, make_function, rate)               \
    ONNXD_ONEDNN_GUARDED(identifier, takes_function, make_function, onnxd_onednn_enqueue, rate)
/* The same with an enqueue() that may fall back. */
#define ONNXD_ONEDNN_GUARDED(identifier, takes_function, make_function, enqueue_function, rate)    \
    const onnxd_cpu_implementation identifier = {.name = "onednn",                                 \
                                                 .takes = takes_function,                          \
                                                 .make = make_function,                            \
                                                 .enqueue = enqueue_function,                      \
                                                 .unmake = onnxd_onednn_unmake,                    \
                                                 .flops_per_us = rate,                             \
                                                 .may_refuse = true}

/* flops_per_us of one thread where arithmetic or memory is the limit. */
#define ONNXD_ONEDNN_ARITHMETIC 80e3
#define ONNXD_ONEDNN_SIMPLE 8e3

#endif
