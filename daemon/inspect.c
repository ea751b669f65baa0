#include <stdlib.h>

#include "daemon/command.h"
#include "daemon/model_io.h"

#define MAX_TEXT_BYTES ((size_t)256 << 20)

static bool has_static_inputs(const onnxd_model *model)
{
    for (uint32_t i = 0; i < onnxd_model_input_count(model); i++)
        if (!onnxd_shape_is_static(&onnxd_model_input(model, i)->type.shape))
            return false;
    return true;
}

static onnxd_status *describe_plan(const onnxd_config *config, onnxd_model *model,
                                   onnxd_strbuf *out)
{
    onnxd_tensor_list inputs = {0};
    onnxd_plan *plan = NULL;
    onnxd_generator generator = {config->inputs_seed, 1, config->inputs_shapes};

    ONNXD_TRY(onnxd_generate_inputs(model, &generator, &inputs));
    onnxd_status *status = onnxd_model_prepare(model, inputs.views, &plan);
    if (status == NULL) {
        onnxd_plan_describe(plan, out);
        onnxd_plan_release(plan);
    }
    onnxd_tensor_list_deinit(&inputs);
    return status;
}

int onnxd_command_inspect(const onnxd_invocation *invocation, const onnxd_config *config)
{
    onnxd_session session = {0};
    onnxd_strbuf text;

    onnxd_strbuf_init(&text, MAX_TEXT_BYTES);
    onnxd_status *status = onnxd_session_open(config, invocation->positionals[0], 0, &session);
    if (status == NULL) {
        onnxd_model_describe(session.model, &text);
        if (has_static_inputs(session.model) || config->inputs_shapes[0] != NULL)
            status = describe_plan(config, session.model, &text);
        else
            onnxd_strbuf_puts(&text, "\nmemory plan: inputs have free dimensions, give their "
                                     "shapes with --shape\n");
    }
    if (status == NULL && text.failed)
        status = onnxd_error_out_of_memory("description", text.length, MAX_TEXT_BYTES);
    if (text.data != NULL)
        fputs(text.data, stdout);
    onnxd_strbuf_deinit(&text);
    onnxd_session_close(&session);
    return status != NULL ? onnxd_cli_fail(status, false) : EXIT_SUCCESS;
}
