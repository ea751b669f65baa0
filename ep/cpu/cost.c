/*
 * The cost model: a roofline of arithmetic and memory traffic. What arithmetic hides behind memory
 * is not counted twice: compute_us is only what goes beyond memory_us.
 */
#include <string.h>

#include "ep/cpu/internal.h"

/* Traffic that one thread, and all threads together, sustain; and what starting a kernel costs. */
#define THREAD_BYTES_PER_US 12e3
#define MACHINE_BYTES_PER_US 40e3
#define LAUNCH_US 0.2
#define TEAM_US 2.0

static double count_of(const onnxd_tensor_type *type)
{
    double count = 1;
    for (int32_t i = 0; i < type->shape.rank; i++)
        count *= (double)type->shape.dims[i];
    return type->dtype == ONNXD_UNDEFINED ? 0 : count;
}

static double bytes_of(const onnxd_tensor_type *types, uint32_t count)
{
    double bytes = 0;
    for (uint32_t i = 0; i < count; i++)
        bytes += count_of(&types[i]) * onnxd_dtype_bits(types[i].dtype) / 8;
    return bytes;
}

/* Of whatever domain: those of one name do the same work. */
static bool is_op(const onnxd_cpu_case *c, const char *op_type)
{
    return strcmp(c->def->op_type, op_type) == 0;
}

static bool is_product(const onnxd_cpu_case *c)
{
    static const char *const names[] = {"MatMul",
                                        "Dense",
                                        "MatMulInteger",
                                        "QLinearMatMul",
                                        "MatMulIntegerToFloat",
                                        "DynamicQuantizeMatMul"};
    bool is_one = false;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        is_one = is_one || is_op(c, names[i]);
    return is_one;
}

double onnxd_cpu_flops(const onnxd_cpu_case *c)
{
    const onnxd_tensor_type *inputs = c->query->inputs;
    double out = c->query->output_count > 0 ? count_of(&c->outputs[0]) : 0;
    if (is_op(c, "Conv") || is_op(c, "ConvInteger") || is_op(c, "QLinearConv")) {
        /* Each output element takes one map's weights. */
        const onnxd_tensor_type *weights = &inputs[is_op(c, "QLinearConv") ? 3 : 1];
        double maps = (double)weights->shape.dims[0];
        return maps > 0 ? 2 * out * count_of(weights) / maps : 0;
    }
    if (is_product(c)) {
        const onnxd_shape *a = &inputs[0].shape;
        return 2 * out * (double)a->dims[a->rank - 1];
    }
    if (is_op(c, "Attention")) {
        /* Two products: of queries by keys, and of their weights by values. */
        const onnxd_shape *keys = &inputs[1].shape;
        return 4 * out * (double)keys->dims[keys->rank - 2];
    }
    if (is_op(c, "Gemm") || is_op(c, "QGemm")) {
        double rows = (double)c->outputs[0].shape.dims[0];
        return rows > 0 ? 2 * out * count_of(&inputs[0]) / rows : 0;
    }
    if (is_op(c, "LSTM") || is_op(c, "GRU") || is_op(c, "RNN")) {
        const onnxd_shape *x = &inputs[0].shape;
        return 2 * (double)x->dims[0] * (double)x->dims[1] *
               (count_of(&inputs[1]) + count_of(&inputs[2]));
    }
    /* Everything else touches each element a few times. */
    return c->query->input_count > 0 ? 4 * (out + count_of(&inputs[0])) : 4 * out;
}

void onnxd_cpu_cost(const onnxd_cpu_case *c, const onnxd_cpu_implementation *implementation,
                    onnxd_cost *out_cost)
{
    onnxd_cost cost = {.is_known = false};
    if (c->is_static) {
        bool is_portable = implementation == &onnxd_cpu_portable;
        double threads = is_portable ? 1 : (double)c->runtime->threads;
        double bandwidth = threads * THREAD_BYTES_PER_US;
        if (bandwidth > MACHINE_BYTES_PER_US)
            bandwidth = MACHINE_BYTES_PER_US;
        double bytes = bytes_of(c->query->inputs, c->query->input_count) +
                       bytes_of(c->outputs, c->query->output_count);
        double flops = onnxd_cpu_flops(c);
        double arithmetic_us = flops / (implementation->flops_per_us * threads);
        cost.is_known = true;
        cost.flops = flops;
        /* The sum may pass what an integer holds; 2^63 is exact in both. */
        cost.bytes_moved = bytes < 0x1p63 ? (uint64_t)bytes : (uint64_t)1 << 63;
        cost.memory_us = bytes / bandwidth;
        cost.compute_us = arithmetic_us > cost.memory_us ? arithmetic_us - cost.memory_us : 0;
        cost.launch_us = threads > 1 ? TEAM_US : LAUNCH_US;
    }
    *out_cost = cost;
}
