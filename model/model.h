/*
 * One version of one model: loaded, optimised, placed on the runtime's instances, with its weights
 * where they are needed. Immutable after loading and shared by all requests.
 *
 * Threads: load on the loader thread (reads files, compiles; may take seconds); everything else
 * from any thread.
 */
#ifndef ONNXD_MODEL_MODEL_H
#define ONNXD_MODEL_MODEL_H

#include "base/strbuf.h"
#include "graph/loader.h"
#include "graph/passes.h"
#include "model/runtime.h"
#include "model/statistics.h"

typedef struct onnxd_model onnxd_model;

typedef struct onnxd_model_options {
    onnxd_load_limits limits;
    onnxd_pass_env passes; /* registry is set from the runtime */
    uint32_t
        plan_cache_capacity; /* prepared input shapes kept; least recently used goes. Default 64 */
    uint64_t max_tensor_bytes;      /* of any one value in a plan */
    uint64_t max_shape_value_bytes; /* of values evaluated to find shapes; default 16 MiB */
    /* Of an input whose value decides shapes: it is part of the key of a plan. Default 64 KiB */
    uint64_t max_shape_input_bytes;
    const char *only_ep; /* label or name of the one provider to use; NULL: all */
    /* Inputs and outputs may be sequences, optionals and maps, for onnxd_model_run_datums(). */
    bool allows_datums;
} onnxd_model_options;
onnxd_model_options onnxd_model_options_default(void);

/* `name` and `version` are for messages and responses. When every input shape is static the plan
 * for it is built too, so that the first request finds it. Errors: those of loading and of the
 * passes; NO_EP_FOR_OP listing the operators that no instance can run, each with every instance's
 * reason. */
ONNXD_NODISCARD onnxd_status *onnxd_model_load(onnxd_runtime *runtime, const char *name,
                                               int64_t version, const char *path,
                                               const onnxd_model_options *options,
                                               onnxd_model **out_model);
onnxd_model *onnxd_model_retain(onnxd_model *model);
/* The last release ends the model, which frees its weights on their devices and may block. For a
 * model of a store that has not been stopped it only hands the model to the store's loader thread,
 * so that any thread may release it, the event loop included. */
void onnxd_model_release(onnxd_model *model);

typedef struct onnxd_model_port {
    const char *name;
    onnxd_tensor_type type;    /* dims may be symbolic or unknown */
    bool value_decides_shapes; /* inputs only: part of the key of a plan */
} onnxd_model_port;

const char *onnxd_model_name(const onnxd_model *model);
int64_t onnxd_model_version(const onnxd_model *model);
/* For who serves the model to count in. */
onnxd_statistics *onnxd_model_statistics(onnxd_model *model);
uint32_t onnxd_model_input_count(const onnxd_model *model);
uint32_t onnxd_model_output_count(const onnxd_model *model);
const onnxd_model_port *onnxd_model_input(const onnxd_model *model, uint32_t index);
const onnxd_model_port *onnxd_model_output(const onnxd_model *model, uint32_t index);
/* UINT32_MAX when there is none. */
uint32_t onnxd_model_find_input(const onnxd_model *model, const char *name, size_t length);
uint32_t onnxd_model_find_output(const onnxd_model *model, const char *name, size_t length);
onnxd_runtime *onnxd_model_runtime(const onnxd_model *model);
const onnxd_graph *onnxd_model_graph(const onnxd_model *model);

/* For `onnxd inspect`: signature; per node its instance, implementation and cost, and why the
 * others declined; partitions; the memory plan of the static or given shapes. Text, deterministic.
 */
void onnxd_model_describe(onnxd_model *model, onnxd_strbuf *out);

#endif
