#include "ep/cpu/dnnl/op.h"

#include <string.h>

#include "base/alloc.h"
#include "base/size_math.h"

#define WORKSPACE_ALIGNMENT 64

typedef struct op_memory {
    dnnl_memory_t memory;
    onnxd_dnnl_place place;
    size_t index; /* of the input or output; byte offset in the workspace */
} op_memory;

typedef struct op_step {
    dnnl_primitive_t primitive;
    dnnl_exec_arg_t *args;
    int arg_count;
} op_step;

struct onnxd_dnnl_op {
    onnxd_dnnl *dnnl;
    op_memory *memories; /* ONNXD_DNNL_MAX_MEMORIES */
    size_t memory_count;
    op_step steps[ONNXD_DNNL_MAX_STEPS];
    size_t step_count;
    onnxd_dnnl_packed *packed;
    size_t workspace_bytes;
    char implementation[64];
};

onnxd_status *onnxd_md_plain(onnxd_md *md, int rank, const int64_t *dims)
{
    dnnl_dims_t extents = {0}, strides = {0};
    int64_t stride = 1;
    for (int i = rank; i-- > 0;) {
        extents[i] = dims[i];
        strides[i] = stride;
        stride *= dims[i];
    }
    return onnxd_dnnl_error(onnxd_md_init_strided(md, rank, extents, dnnl_f32, strides),
                            "this shape");
}

onnxd_status *onnxd_md_tagged(onnxd_md *md, int rank, const int64_t *dims, dnnl_format_tag_t tag)
{
    dnnl_dims_t extents = {0};
    for (int i = 0; i < rank; i++)
        extents[i] = dims[i];
    return onnxd_dnnl_error(onnxd_md_init_tagged(md, rank, extents, dnnl_f32, tag), "this shape");
}

onnxd_md_ref onnxd_pd_md(const_dnnl_primitive_desc_t pd, int argument)
{
    return dnnl_primitive_desc_query_md(pd, dnnl_query_exec_arg_md, argument);
}

onnxd_status *onnxd_dnnl_op_create(onnxd_dnnl *dnnl, onnxd_dnnl_op **out_op)
{
    onnxd_dnnl_op *op = onnxd_alloc_zero(1, sizeof(*op));
    if (op == NULL)
        return onnxd_error_out_of_memory("a oneDNN kernel", sizeof(*op), UINT64_MAX);
    op->dnnl = dnnl;
    op->memories = onnxd_alloc_zero(ONNXD_DNNL_MAX_MEMORIES, sizeof(*op->memories));
    if (op->memories == NULL) {
        onnxd_free(op);
        return onnxd_error_out_of_memory(
            "a oneDNN kernel", ONNXD_DNNL_MAX_MEMORIES * sizeof(*op->memories), UINT64_MAX);
    }
    *out_op = op;
    return NULL;
}

void onnxd_dnnl_op_destroy(onnxd_dnnl_op *op)
{
    if (op == NULL)
        return;
    for (size_t i = 0; i < op->step_count; i++) {
        dnnl_primitive_destroy(op->steps[i].primitive);
        onnxd_free(op->steps[i].args);
    }
    for (size_t i = 0; i < op->memory_count; i++)
        dnnl_memory_destroy(op->memories[i].memory);
    if (op->packed != NULL)
        onnxd_dnnl_packed_release(op->dnnl, op->packed);
    onnxd_free(op->memories);
    onnxd_free(op);
}

size_t onnxd_dnnl_op_workspace_bytes(const onnxd_dnnl_op *op)
{
    return op->workspace_bytes;
}

const char *onnxd_dnnl_op_implementation(const onnxd_dnnl_op *op)
{
    return op->implementation;
}

/* ---- memory ---------------------------------------------------------------------------------- */

static onnxd_status *add_memory(onnxd_dnnl_op *op, onnxd_dnnl_place place, size_t index,
                                onnxd_md_ref md, void *data, dnnl_memory_t *out_memory)
{
    if (op->memory_count == ONNXD_DNNL_MAX_MEMORIES)
        return onnxd_error(ONNXD_UNIMPLEMENTED, "a oneDNN kernel has more than %d operands",
                           ONNXD_DNNL_MAX_MEMORIES);
    dnnl_memory_t memory = NULL;
    ONNXD_TRY(onnxd_dnnl_error(dnnl_memory_create(&memory, md, onnxd_dnnl_engine(op->dnnl), data),
                               "a memory object"));
    op->memories[op->memory_count++] = (op_memory){memory, place, index};
    *out_memory = memory;
    return NULL;
}

onnxd_status *onnxd_dnnl_op_add_external(onnxd_dnnl_op *op, onnxd_dnnl_place place, size_t index,
                                         onnxd_md_ref md, dnnl_memory_t *out_memory)
{
    return add_memory(op, place, index, md, DNNL_MEMORY_NONE, out_memory);
}

onnxd_status *onnxd_dnnl_op_add_scratch(onnxd_dnnl_op *op, onnxd_md_ref md,
                                        dnnl_memory_t *out_memory)
{
    size_t offset = op->workspace_bytes, end;
    if (!onnxd_size_add(offset, dnnl_memory_desc_get_size(md), &end) ||
        !onnxd_size_align(end, WORKSPACE_ALIGNMENT, &end))
        return onnxd_error(ONNXD_UNIMPLEMENTED, "the workspace of a oneDNN kernel is too large");
    ONNXD_TRY(add_memory(op, ONNXD_DNNL_WORKSPACE, offset, md, DNNL_MEMORY_NONE, out_memory));
    op->workspace_bytes = end;
    return NULL;
}

onnxd_status *onnxd_dnnl_op_add_input(onnxd_dnnl_op *op, size_t index, const onnxd_md *given,
                                      onnxd_md_ref wanted, dnnl_memory_t *out_memory)
{
    dnnl_memory_t external = NULL, copy = NULL;
    onnxd_md_ref given_md = onnxd_md_get(given);
    ONNXD_TRY(onnxd_dnnl_op_add_external(op, ONNXD_DNNL_INPUT, index, given_md, &external));
    if (dnnl_memory_desc_equal(given_md, wanted)) {
        *out_memory = external;
        return NULL;
    }
    ONNXD_TRY(onnxd_dnnl_op_add_scratch(op, wanted, &copy));
    ONNXD_TRY(onnxd_dnnl_op_add_reorder(op, given_md, external, wanted, copy));
    *out_memory = copy;
    return NULL;
}

onnxd_status *onnxd_dnnl_op_add_output(onnxd_dnnl_op *op, size_t index, const onnxd_md *given,
                                       onnxd_md_ref written, dnnl_memory_t *out_output,
                                       dnnl_memory_t *out_result)
{
    dnnl_memory_t output = NULL, result = NULL;
    ONNXD_TRY(
        onnxd_dnnl_op_add_external(op, ONNXD_DNNL_OUTPUT, index, onnxd_md_get(given), &output));
    result = output;
    if (!dnnl_memory_desc_equal(onnxd_md_get(given), written))
        ONNXD_TRY(onnxd_dnnl_op_add_scratch(op, written, &result));
    *out_output = output;
    *out_result = result;
    return NULL;
}

onnxd_status *onnxd_dnnl_op_finish_output(onnxd_dnnl_op *op, const onnxd_md *given,
                                          dnnl_memory_t output, onnxd_md_ref written,
                                          dnnl_memory_t result)
{
    if (output == result)
        return NULL;
    return onnxd_dnnl_op_add_reorder(op, written, result, onnxd_md_get(given), output);
}

onnxd_status *onnxd_dnnl_op_add_constant(onnxd_dnnl_op *op, const onnxd_tensor *tensor,
                                         const onnxd_md *given, onnxd_md_ref wanted,
                                         dnnl_memory_t *out_memory)
{
    if (dnnl_memory_desc_equal(onnxd_md_get(given), wanted))
        return add_memory(op, ONNXD_DNNL_FIXED, 0, wanted, tensor->data, out_memory);
    if (op->packed != NULL)
        return onnxd_error(ONNXD_INTERNAL, "a oneDNN kernel packs one constant only");
    ONNXD_TRY(onnxd_dnnl_packed_acquire(op->dnnl, tensor, given, wanted, &op->packed));
    return add_memory(op, ONNXD_DNNL_FIXED, 0, wanted, onnxd_dnnl_packed_data(op->packed),
                      out_memory);
}

/* ---- steps ----------------------------------------------------------------------------------- */

/* Names the op after its first primitive that is no reorder. oneDNN's unoptimised code is slower
 * than the portable kernels, and so refused. */
static onnxd_status *name_op(onnxd_dnnl_op *op, const_dnnl_primitive_desc_t pd)
{
    const char *info = NULL;
    dnnl_primitive_kind_t kind = dnnl_undefined_primitive;
    dnnl_primitive_desc_query(pd, dnnl_query_primitive_kind, 0, &kind);
    if (kind == dnnl_reorder || op->implementation[0] != '\0')
        return NULL;
    if (dnnl_primitive_desc_query(pd, dnnl_query_impl_info_str, 0, &info) != dnnl_success)
        return NULL;
    if (strstr(info, "ref") != NULL || strstr(info, "simple") != NULL)
        return onnxd_error(ONNXD_UNIMPLEMENTED, "oneDNN has unoptimised code only");
    size_t length = strnlen(info, sizeof(op->implementation) - 1);
    memcpy(op->implementation, info, length);
    op->implementation[length] = '\0';
    return NULL;
}

onnxd_status *onnxd_dnnl_op_add_step(onnxd_dnnl_op *op, const_dnnl_primitive_desc_t pd,
                                     const dnnl_exec_arg_t *args, int arg_count)
{
    if (op->step_count == ONNXD_DNNL_MAX_STEPS)
        return onnxd_error(ONNXD_INTERNAL, "a oneDNN kernel has more than %d steps",
                           ONNXD_DNNL_MAX_STEPS);
    size_t count = (size_t)arg_count;
    op_step *step = &op->steps[op->step_count];
    step->args = onnxd_alloc_zero(count + 1, sizeof(*args));
    if (step->args == NULL)
        return onnxd_error_out_of_memory("a oneDNN kernel", (count + 1) * sizeof(*args),
                                         UINT64_MAX);
    op->step_count++; /* from here on destroy ends what the step holds */
    memcpy(step->args, args, count * sizeof(*args));
    onnxd_md_ref scratch_md = dnnl_primitive_desc_query_md(pd, dnnl_query_scratchpad_md, 0);
    if (scratch_md != NULL && dnnl_memory_desc_get_size(scratch_md) > 0) {
        dnnl_memory_t scratch = NULL;
        ONNXD_TRY(onnxd_dnnl_op_add_scratch(op, scratch_md, &scratch));
        step->args[count++] = (dnnl_exec_arg_t){DNNL_ARG_SCRATCHPAD, scratch};
    }
    step->arg_count = (int)count;
    ONNXD_TRY(name_op(op, pd));
    return onnxd_dnnl_error(dnnl_primitive_create(&step->primitive, pd), "a primitive");
}

onnxd_status *onnxd_dnnl_op_add_reorder(onnxd_dnnl_op *op, onnxd_md_ref from_md, dnnl_memory_t from,
                                        onnxd_md_ref to_md, dnnl_memory_t to)
{
    dnnl_engine_t engine = onnxd_dnnl_engine(op->dnnl);
    dnnl_primitive_desc_t pd = NULL;
    ONNXD_TRY(onnxd_dnnl_error(dnnl_reorder_primitive_desc_create(
                                   &pd, from_md, engine, to_md, engine, onnxd_dnnl_attr(op->dnnl)),
                               "a reorder"));
    dnnl_exec_arg_t args[] = {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}};
    onnxd_status *status = onnxd_dnnl_op_add_step(op, pd, args, 2);
    dnnl_primitive_desc_destroy(pd);
    return status;
}

onnxd_status *onnxd_dnnl_op_finish_plain(onnxd_dnnl *dnnl, dnnl_primitive_desc_t pd,
                                         const onnxd_md *const *sources, const int *arguments,
                                         size_t count, const onnxd_md *dst, onnxd_dnnl_op **out_op)
{
    onnxd_dnnl_op *op = NULL;
    dnnl_exec_arg_t args[ONNXD_DNNL_MAX_MEMORIES];
    onnxd_status *status = onnxd_dnnl_op_create(dnnl, &op);
    if (status != NULL)
        goto fail;
    for (size_t i = 0; i < count; i++) {
        args[i].arg = arguments[i];
        status = onnxd_dnnl_op_add_external(op, ONNXD_DNNL_INPUT, i, onnxd_md_get(sources[i]),
                                            &args[i].memory);
        if (status != NULL)
            goto fail;
    }
    args[count].arg = DNNL_ARG_DST;
    status = onnxd_dnnl_op_add_external(op, ONNXD_DNNL_OUTPUT, 0, onnxd_md_get(dst),
                                        &args[count].memory);
    if (status != NULL)
        goto fail;
    status = onnxd_dnnl_op_add_step(op, pd, args, (int)count + 1);
    if (status != NULL)
        goto fail;
    dnnl_primitive_desc_destroy(pd);
    *out_op = op;
    return NULL;

fail:
    dnnl_primitive_desc_destroy(pd);
    onnxd_dnnl_op_destroy(op);
    return status;
}

/* ---- running --------------------------------------------------------------------------------- */

static dnnl_status_t set_addresses(const onnxd_dnnl_op *op, const void *const *inputs,
                                   void *const *outputs, void *workspace)
{
    dnnl_status_t code = dnnl_success;
    for (size_t i = 0; i < op->memory_count && code == dnnl_success; i++) {
        const op_memory *memory = &op->memories[i];
        void *data = NULL;
        if (memory->place == ONNXD_DNNL_FIXED)
            continue;
        if (memory->place == ONNXD_DNNL_INPUT)
            data = (void *)(uintptr_t)inputs[memory->index];
        else if (memory->place == ONNXD_DNNL_OUTPUT)
            data = outputs[memory->index];
        else
            data = (char *)workspace + memory->index;
        code = dnnl_memory_set_data_handle(memory->memory, data);
    }
    return code;
}

onnxd_status *onnxd_dnnl_op_run(onnxd_dnnl_op *op, const void *const *inputs, void *const *outputs,
                                void *workspace)
{
    const dnnl_stream_t stream = onnxd_dnnl_acquire(op->dnnl);
    dnnl_status_t code = set_addresses(op, inputs, outputs, workspace);
    for (size_t i = 0; i < op->step_count && code == dnnl_success; i++)
        code = dnnl_primitive_execute(op->steps[i].primitive, stream, op->steps[i].arg_count,
                                      op->steps[i].args);
    onnxd_dnnl_release(op->dnnl);
    if (code != dnnl_success)
        return onnxd_error(ONNXD_KERNEL_FAILED, "oneDNN failed to run %s with code %d",
                           op->implementation, (int)code);
    return NULL;
}
