#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "model/internal.h"

/* ---- instances ----------------------------------------------------------------------------- */

static bool is_wanted(const onnxd_ep *ep, const char *only)
{
    return only == NULL || strcmp(onnxd_ep_label(ep), only) == 0 ||
           strcmp(onnxd_ep_name(ep), only) == 0;
}

static onnxd_status *choose_instances(onnxd_model *model, const char *only)
{
    const onnxd_runtime *runtime = model->runtime;
    for (uint32_t i = 0; i < runtime->ep_count; i++) {
        if (!is_wanted(runtime->eps[i], only))
            continue;
        model->eps[model->ep_count] = runtime->eps[i];
        model->ep_indices[model->ep_count++] = i;
    }
    if (model->ep_count == 0)
        return onnxd_error(ONNXD_NOT_FOUND, "execution provider '%s' is not configured", only);
    return NULL;
}

/* One space for the host, one for each instance whose memory the host cannot address. */
static onnxd_status *make_spaces(onnxd_model *model)
{
    size_t host_alignment = 64, host_piece_alignment = 1;
    model->spaces = onnxd_alloc_zero(model->ep_count + 1, sizeof(model->spaces[0]));
    if (model->spaces == NULL)
        return onnxd_error_out_of_memory("a model", model->ep_count * sizeof(model->spaces[0]),
                                         UINT64_MAX);
    model->space_count = 1;
    for (size_t i = 0; i < model->ep_count; i++) {
        const onnxd_ep_info info = onnxd_ep_get_info(model->eps[i]);
        const size_t piece_alignment =
            info.piece_alignment_bytes == 0 ? info.alignment_bytes : info.piece_alignment_bytes;
        if (info.is_host_addressable) {
            model->ep_spaces[i] = ONNXD_HOST_SPACE;
            if (info.alignment_bytes > host_alignment)
                host_alignment = info.alignment_bytes;
            if (piece_alignment > host_piece_alignment)
                host_piece_alignment = piece_alignment;
            continue;
        }
        model->ep_spaces[i] = model->space_count;
        model->spaces[model->space_count++] = (onnxd_space){.ep = model->eps[i],
                                                            .ep_index = model->ep_indices[i],
                                                            .alignment = info.alignment_bytes,
                                                            .piece_alignment = piece_alignment};
    }
    model->spaces[ONNXD_HOST_SPACE] =
        (onnxd_space){.alignment = host_alignment, .piece_alignment = host_piece_alignment};
    return NULL;
}

/* ---- passes -------------------------------------------------------------------------------- */

/* Names of generic passes and of those of the model's instances. */
static onnxd_status *check_disabled(const onnxd_model *model, const onnxd_pass_env *env)
{
    const onnxd_pass *const **lists = onnxd_alloc_zero(model->ep_count + 2, sizeof(lists[0]));
    size_t count = 0;
    if (lists == NULL)
        return onnxd_error_out_of_memory("lists of passes", model->ep_count * sizeof(lists[0]),
                                         UINT64_MAX);
    lists[count++] = onnxd_passes;
    for (size_t i = 0; i < model->ep_count; i++) {
        const onnxd_pass *const *passes = onnxd_ep_custom_passes(model->eps[i]);
        if (passes != NULL)
            lists[count++] = passes;
    }
    onnxd_status *status = onnxd_pass_check_disabled(env, lists);
    onnxd_free(lists);
    return status;
}

/* Whether all instances that the model may use are of the provider of instance `i`. */
static bool is_alone(const onnxd_model *model, size_t i)
{
    for (size_t k = 0; k < model->ep_count; k++)
        if (strcmp(onnxd_ep_name(model->eps[k]), onnxd_ep_name(model->eps[i])) != 0)
            return false;
    return true;
}

/* Whether a pass of instance `i` runs for the model. */
static bool is_run(const onnxd_model *model, size_t i, const onnxd_pass *pass,
                   const onnxd_pass_env *env)
{
    return !onnxd_pass_is_disabled(env, pass->name) && !(pass->is_private && !is_alone(model, i));
}

static bool has_pass_for_quantized(const onnxd_model *model, const onnxd_pass_env *env)
{
    for (size_t i = 0; i < model->ep_count; i++) {
        const onnxd_pass *const *passes = onnxd_ep_custom_passes(model->eps[i]);
        for (; passes != NULL && *passes != NULL; passes++)
            if ((*passes)->wants_quantized && is_run(model, i, *passes, env))
                return true;
    }
    return false;
}

/* The passes of the instances: those that want quantised weights, or the others. */
static onnxd_status *run_custom_passes(onnxd_model *model, const onnxd_pass_env *env,
                                       bool wants_quantized)
{
    for (size_t i = 0; i < model->ep_count; i++) {
        const onnxd_pass *const *passes = onnxd_ep_custom_passes(model->eps[i]);
        for (; passes != NULL && *passes != NULL; passes++) {
            if ((*passes)->wants_quantized != wants_quantized || !is_run(model, i, *passes, env))
                continue;
            onnxd_status *status = onnxd_pass_run(model->graph, *passes, env);
            /* What nobody reads any more would count as a reader to the next pass, and weights that
             * have been replaced would stay in memory. */
            if (status == NULL)
                status = onnxd_pass_run(model->graph, &onnxd_pass_remove_dead, env);
            if (status != NULL)
                return onnxd_status_context(status, "pass '%s' of %s", (*passes)->name,
                                            onnxd_ep_label(model->eps[i]));
        }
    }
    return NULL;
}

static onnxd_status *run_passes(onnxd_model *model, onnxd_pass_env *env)
{
    env->keeps_quantized = has_pass_for_quantized(model, env);
    ONNXD_TRY(onnxd_passes_run(model->graph, env));
    if (env->keeps_quantized) {
        ONNXD_TRY(run_custom_passes(model, env, true));
        env->keeps_quantized = false;
        ONNXD_TRY(onnxd_passes_run(model->graph, env));
    }
    return run_custom_passes(model, env, false);
}

/* ---- the plan of static shapes ------------------------------------------------------------- */

static bool is_static(const onnxd_model *model)
{
    for (uint32_t i = 0; i < model->graph->input_count; i++)
        if (model->inputs[i].value_decides_shapes ||
            model->inputs[i].type.kind != ONNXD_VALUE_TENSOR ||
            !onnxd_shape_is_static(&model->inputs[i].type.shape))
            return false;
    return true;
}

static onnxd_status *prepare_static(onnxd_model *model)
{
    onnxd_plan *plan = NULL;
    if (!is_static(model))
        return NULL;
    onnxd_tensor_view *inputs =
        onnxd_alloc_zero(model->graph->input_count, sizeof(onnxd_tensor_view));
    if (inputs == NULL)
        return onnxd_error_out_of_memory(
            "a model's inputs", model->graph->input_count * sizeof(onnxd_tensor_view), UINT64_MAX);
    for (uint32_t i = 0; i < model->graph->input_count; i++)
        inputs[i] =
            onnxd_tensor_view_of(NULL, model->inputs[i].type.dtype, &model->inputs[i].type.shape);
    onnxd_status *status = onnxd_model_prepare(model, inputs, &plan);
    onnxd_free(inputs);
    onnxd_plan_release(plan);
    return status;
}

static onnxd_status *prepare_within_memory(onnxd_model *model)
{
    for (;;) {
        onnxd_status *status = prepare_static(model);
        if (onnxd_status_code(status) != ONNXD_OUT_OF_MEMORY)
            return status;
        ONNXD_TRY(onnxd_model_place_again(model, status));
    }
}

/* ---- loading ------------------------------------------------------------------------------- */

static onnxd_status *model_create(onnxd_runtime *runtime, const char *name, int64_t version,
                                  const onnxd_model_options *options, onnxd_model **out_model)
{
    onnxd_model *model = onnxd_alloc_zero(1, sizeof(*model));
    if (model == NULL)
        return onnxd_error_out_of_memory("a model", sizeof(*model), UINT64_MAX);
    atomic_init(&model->references, 1);
    pthread_mutex_init(&model->requests_mutex, NULL);
    model->runtime = runtime;
    model->version = version;
    model->options = *options;
    model->options.only_ep = NULL;
    model->options.passes.disabled = NULL;
    model->name = onnxd_strdup(name);
    model->eps = onnxd_alloc_zero(runtime->ep_count, sizeof(model->eps[0]));
    model->ep_indices = onnxd_alloc_zero(runtime->ep_count, sizeof(uint32_t));
    model->ep_spaces = onnxd_alloc_zero(runtime->ep_count, sizeof(uint32_t));
    model->is_left_out = onnxd_alloc_zero(runtime->ep_count, sizeof(bool));
    if (model->name == NULL || model->eps == NULL || model->ep_indices == NULL ||
        model->ep_spaces == NULL || model->is_left_out == NULL) {
        onnxd_model_destroy(model);
        return onnxd_error_out_of_memory("a model", sizeof(*model), UINT64_MAX);
    }
    *out_model = model;
    return NULL;
}

static onnxd_status *load(onnxd_model *model, const char *path, const onnxd_model_options *options)
{
    onnxd_pass_env env = options->passes;
    env.registry = model->runtime->registry;
    ONNXD_TRY(choose_instances(model, options->only_ep));
    ONNXD_TRY(check_disabled(model, &env));
    ONNXD_TRY(make_spaces(model));
    ONNXD_TRY(
        onnxd_graph_load_file(path, model->runtime->registry, &options->limits, &model->graph));
    ONNXD_TRY(onnxd_model_name_ports(model));
    ONNXD_TRY(run_passes(model, &env));
    ONNXD_TRY(onnxd_model_check_subgraphs(model));
    ONNXD_TRY(onnxd_model_share_weights(model));
    ONNXD_TRY(onnxd_model_place(model));
    ONNXD_TRY(onnxd_model_type_ports(model));
    ONNXD_TRY(onnxd_plan_cache_init(&model->plans, options->plan_cache_capacity));
    return prepare_within_memory(model);
}

onnxd_status *onnxd_model_load(onnxd_runtime *runtime, const char *name, int64_t version,
                               const char *path, const onnxd_model_options *options,
                               onnxd_model **out_model)
{
    onnxd_model *model;
    ONNXD_TRY(model_create(runtime, name, version, options, &model));
    onnxd_status *status = load(model, path, options);
    if (status != NULL) {
        onnxd_model_destroy(model);
        return status;
    }
    *out_model = model;
    return NULL;
}
