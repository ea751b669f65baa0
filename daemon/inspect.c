#include <stdlib.h>

#include "daemon/command.h"
#include "daemon/model_io.h"

#define MAX_TEXT_BYTES ((size_t)256 << 20)

/* Makes the plan for the given shapes, which the model's description then includes. */
static onnxd_status *prepare_plan(const onnxd_config *config, onnxd_model *model)
{
    onnxd_tensor_list inputs = {0};
    onnxd_plan *plan = NULL;
    onnxd_generator generator = {config->inputs_seed, 1, config->inputs_shapes};

    ONNXD_TRY(onnxd_generate_inputs(model, &generator, &inputs));
    onnxd_status *status = onnxd_model_prepare(model, inputs.views, &plan);
    if (status == NULL)
        onnxd_plan_release(plan);
    onnxd_tensor_list_deinit(&inputs);
    return status;
}

int onnxd_command_inspect(const onnxd_invocation *invocation, const onnxd_config *config)
{
    onnxd_session session = {0};
    onnxd_strbuf text;

    onnxd_strbuf_init(&text, MAX_TEXT_BYTES);
    onnxd_status *status =
        onnxd_session_open(config, invocation->positionals[0], 0, false, &session);
    if (status == NULL && config->inputs_shapes[0] != NULL)
        status = prepare_plan(config, session.model);
    if (status == NULL)
        onnxd_model_describe(session.model, &text);
    if (status == NULL && text.failed)
        status = onnxd_error_out_of_memory("description", text.length, MAX_TEXT_BYTES);
    if (status == NULL)
        fputs(text.data, stdout);
    onnxd_strbuf_deinit(&text);
    onnxd_session_close(&session);
    return status != NULL ? onnxd_cli_fail(status, false) : EXIT_SUCCESS;
}
