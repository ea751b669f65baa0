#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "daemon/command.h"
#include "daemon/model_io.h"
#include "model/interpreter.h"

#define MAX_DATA_SETS 1000u

/* What one `onnxd run` is about. */
typedef struct runner {
    const onnxd_config *config;
    onnxd_session session;
    uint32_t equal_count, different_count;
} runner;

/* ---- one execution ------------------------------------------------------------------------- */

static onnxd_status *execute(runner *r, const onnxd_tensor_list *inputs, onnxd_plan **out_plan,
                             onnxd_run **out_run)
{
    onnxd_plan *plan = NULL;
    ONNXD_TRY(onnxd_model_prepare(r->session.model, inputs->views, &plan));
    onnxd_status *status = onnxd_run_once(plan, inputs->views, out_run);
    if (status != NULL) {
        onnxd_plan_release(plan);
        return status;
    }
    *out_plan = plan;
    return NULL;
}

static onnxd_status *save_outputs(runner *r, const onnxd_tensor_view *outputs)
{
    const char *folder = r->config->run_save_outputs;
    char path[ONNXD_PATH_BYTES];
    if (folder[0] == '\0')
        return NULL;
    for (uint32_t i = 0; i < onnxd_model_output_count(r->session.model); i++) {
        ONNXD_TRY(onnxd_format_path(path, "%s/output_%u.pb", folder, i));
        ONNXD_TRY(
            onnxd_save_tensor(path, onnxd_model_output(r->session.model, i)->name, &outputs[i]));
    }
    return NULL;
}

/* ---- test data ----------------------------------------------------------------------------- */

static void print_elements(const onnxd_tensor_view *actual, const onnxd_tensor_view *expected,
                           size_t index)
{
    onnxd_strbuf text;
    onnxd_strbuf_init(&text, 65536);
    onnxd_strbuf_puts(&text, "found ");
    onnxd_write_element(actual, index, &text);
    onnxd_strbuf_puts(&text, ", expected ");
    onnxd_write_element(expected, index, &text);
    printf(": %s", text.failed || text.data == NULL ? "too long to show" : text.data);
    onnxd_strbuf_deinit(&text);
}

static void report(runner *r, const char *folder, uint32_t output,
                   const onnxd_datum_comparison *where)
{
    const onnxd_comparison *result = &where->tensors;
    printf("%s: output '%s': ", folder, onnxd_model_output(r->session.model, output)->name);
    if (result->is_equal) {
        printf("equal");
        r->equal_count++;
    } else {
        r->different_count++;
    }
    if (where->item != SIZE_MAX)
        printf("element %zu of the sequence: ", where->item);
    if (result->reason[0] != '\0') {
        printf("%s", result->reason);
    } else if (!result->is_equal) {
        printf("%zu of %zu elements differ, the first at %zu", result->different_count,
               result->count, result->first_different);
        print_elements(&where->actual, &where->expected, result->first_different);
    }
    if (result->has_numbers)
        printf(", greatest difference %.3g absolute, %.3g relative", result->greatest_absolute,
               result->greatest_relative);
    printf("\n");
}

static void compare_output(runner *r, const char *folder, uint32_t output,
                           const onnxd_tensor_view *actual, const onnxd_tensor_view *expected)
{
    onnxd_datum_comparison where = {.item = SIZE_MAX, .actual = *actual, .expected = *expected};
    onnxd_compare_tensors(actual, expected, r->config->run_rtol, r->config->run_atol,
                          &where.tensors);
    report(r, folder, output, &where);
}

/* Types of test data against the signature, so that a wrong folder is named as such. */
static onnxd_status *check_inputs(runner *r, const char *folder, const onnxd_tensor_list *inputs)
{
    for (uint32_t i = 0; i < inputs->count; i++) {
        const onnxd_model_port *port = onnxd_model_input(r->session.model, i);
        if (inputs->tensors[i]->dtype != port->type.dtype)
            return onnxd_error(ONNXD_INVALID_ARGUMENT,
                               "%s/input_%u.pb is %s, but input '%s' of the model is %s", folder, i,
                               onnxd_dtype_name(inputs->tensors[i]->dtype), port->name,
                               onnxd_dtype_name(port->type.dtype));
    }
    return NULL;
}

static onnxd_status *run_data_set(runner *r, const char *folder)
{
    onnxd_status *status = NULL;
    onnxd_tensor_list inputs = {0}, expected = {0};
    onnxd_plan *plan = NULL;
    onnxd_run *run = NULL;
    const onnxd_model *model = r->session.model;
    onnxd_load_limits limits = onnxd_wire_model_options(r->config).limits;

    status = onnxd_load_tensors(folder, "input", onnxd_model_input_count(model), &limits, &inputs);
    if (status != NULL)
        goto done;
    status =
        onnxd_load_tensors(folder, "output", onnxd_model_output_count(model), &limits, &expected);
    if (status != NULL)
        goto done;
    status = check_inputs(r, folder, &inputs);
    if (status != NULL)
        goto done;
    status = execute(r, &inputs, &plan, &run);
    if (status != NULL)
        goto done;
    for (uint32_t i = 0; i < expected.count; i++)
        compare_output(r, folder, i, &onnxd_run_outputs(run)[i], &expected.views[i]);
    status = save_outputs(r, onnxd_run_outputs(run));
done:
    if (run != NULL)
        onnxd_run_release(run);
    if (plan != NULL)
        onnxd_plan_release(plan);
    onnxd_tensor_list_deinit(&inputs);
    onnxd_tensor_list_deinit(&expected);
    return status;
}

/* ---- models whose inputs and outputs are not all tensors ----------------------------------- */

static onnxd_status *save_datums(runner *r, const onnxd_datum_list *outputs)
{
    const char *folder = r->config->run_save_outputs;
    char path[ONNXD_PATH_BYTES];
    for (uint32_t i = 0; i < outputs->count && folder[0] != '\0'; i++) {
        const onnxd_model_port *port = onnxd_model_output(r->session.model, i);
        ONNXD_TRY(onnxd_format_path(path, "%s/output_%u.pb", folder, i));
        ONNXD_TRY(onnxd_save_datum(path, port->name, port->type.kind, outputs->datums[i]));
    }
    return NULL;
}

static onnxd_status *execute_datums(runner *r, const onnxd_datum_list *inputs,
                                    onnxd_datum_list *out_outputs)
{
    onnxd_datum_list outputs;
    onnxd_model *model = r->session.model;
    ONNXD_TRY(onnxd_datum_list_init(onnxd_model_output_count(model), &outputs));
    onnxd_status *status = onnxd_model_run_datums(model, inputs->datums, outputs.datums);
    if (status != NULL)
        onnxd_datum_list_deinit(&outputs);
    else
        *out_outputs = outputs;
    return status;
}

static onnxd_status *compare_datum(runner *r, const char *folder, uint32_t output,
                                   const onnxd_datum *actual, const onnxd_datum *expected)
{
    onnxd_datum_comparison where;
    onnxd_datum *nothing = NULL;
    if (expected == NULL) {
        ONNXD_TRY(onnxd_datum_nothing(actual->dtype, &nothing));
        expected = nothing;
    }
    onnxd_status *status =
        onnxd_compare_datums(actual, expected, r->config->run_rtol, r->config->run_atol, &where);
    if (status == NULL) {
        report(r, folder, output, &where);
        onnxd_datum_comparison_deinit(&where);
    }
    onnxd_datum_release(nothing);
    return status;
}

static onnxd_status *run_datum_set(runner *r, const char *folder)
{
    onnxd_datum_list inputs = {0}, expected = {0}, outputs = {0};
    const onnxd_model *model = r->session.model;
    onnxd_load_limits limits = onnxd_wire_model_options(r->config).limits;
    onnxd_status *status = onnxd_load_inputs(model, folder, &limits, &inputs);
    if (status == NULL)
        status = onnxd_load_outputs(model, folder, &limits, &expected);
    if (status == NULL)
        status = execute_datums(r, &inputs, &outputs);
    for (uint32_t i = 0; i < outputs.count && status == NULL; i++)
        status = compare_datum(r, folder, i, outputs.datums[i], expected.datums[i]);
    if (status == NULL)
        status = save_datums(r, &outputs);
    onnxd_datum_list_deinit(&inputs);
    onnxd_datum_list_deinit(&expected);
    onnxd_datum_list_deinit(&outputs);
    return status;
}

static void print_datum(const char *kind, const onnxd_model_port *port, const onnxd_datum *datum)
{
    onnxd_strbuf text;
    onnxd_strbuf_init(&text, 65536);
    onnxd_summarize_datum(datum, &text);
    printf("%s '%s' %s\n", kind, port->name, text.data != NULL ? text.data : "");
    onnxd_strbuf_deinit(&text);
}

/* Runs on inputs of which no outputs are expected. */
static onnxd_status *show_datums(runner *r, const onnxd_datum_list *inputs)
{
    const onnxd_model *model = r->session.model;
    onnxd_datum_list outputs = {0};
    onnxd_status *status = execute_datums(r, inputs, &outputs);
    for (uint32_t i = 0; i < inputs->count && status == NULL; i++)
        print_datum("input", onnxd_model_input(model, i), inputs->datums[i]);
    for (uint32_t i = 0; i < outputs.count && status == NULL; i++)
        print_datum("output", onnxd_model_output(model, i), outputs.datums[i]);
    if (status == NULL)
        status = save_datums(r, &outputs);
    onnxd_datum_list_deinit(&outputs);
    return status;
}

/* ---- models whose inputs and outputs are tensors ------------------------------------------- */

static void print_ports(const char *kind, const onnxd_model_port *port,
                        const onnxd_tensor_view *view)
{
    onnxd_strbuf text;
    onnxd_strbuf_init(&text, 65536);
    onnxd_summarize_tensor(view, &text);
    printf("%s '%s' %s\n", kind, port->name, text.data != NULL ? text.data : "");
    onnxd_strbuf_deinit(&text);
}

/* Runs on inputs of which no outputs are expected. */
static onnxd_status *show_tensors(runner *r, const onnxd_tensor_list *inputs)
{
    onnxd_plan *plan = NULL;
    onnxd_run *run = NULL;
    const onnxd_model *model = r->session.model;

    ONNXD_TRY(execute(r, inputs, &plan, &run));
    for (uint32_t i = 0; i < inputs->count; i++)
        print_ports("input", onnxd_model_input(model, i), &inputs->views[i]);
    for (uint32_t i = 0; i < onnxd_model_output_count(model); i++)
        print_ports("output", onnxd_model_output(model, i), &onnxd_run_outputs(run)[i]);
    onnxd_status *status = save_outputs(r, onnxd_run_outputs(run));
    onnxd_run_release(run);
    onnxd_plan_release(plan);
    return status;
}

/* ---- folders ------------------------------------------------------------------------------- */

static onnxd_status *run_set(runner *r, const char *folder)
{
    return onnxd_model_is_tensors_only(r->session.model) ? run_data_set(r, folder)
                                                         : run_datum_set(r, folder);
}

/* Shows what comes of input_0.pb, _1.pb, ... in a folder without outputs to compare with. */
static onnxd_status *run_inputs(runner *r, const char *folder)
{
    onnxd_tensor_list tensors = {0};
    onnxd_datum_list datums = {0};
    const onnxd_model *model = r->session.model;
    const onnxd_load_limits limits = onnxd_wire_model_options(r->config).limits;
    onnxd_status *status;
    if (onnxd_model_is_tensors_only(model)) {
        status =
            onnxd_load_tensors(folder, "input", onnxd_model_input_count(model), &limits, &tensors);
        if (status == NULL)
            status = check_inputs(r, folder, &tensors);
        if (status == NULL)
            status = show_tensors(r, &tensors);
    } else {
        status = onnxd_load_inputs(model, folder, &limits, &datums);
        if (status == NULL)
            status = show_datums(r, &datums);
    }
    onnxd_tensor_list_deinit(&tensors);
    onnxd_datum_list_deinit(&datums);
    return status;
}

static bool exists(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0;
}

/* `folder` is one data set, or inputs alone, or holds test_data_set_0, _1, ... */
static onnxd_status *run_data(runner *r, const char *folder)
{
    char path[ONNXD_PATH_BYTES];

    ONNXD_TRY(onnxd_format_path(path, "%s/output_0.pb", folder));
    if (exists(path))
        return run_set(r, folder);
    ONNXD_TRY(onnxd_format_path(path, "%s/input_0.pb", folder));
    if (exists(path))
        return run_inputs(r, folder);
    if (!exists(folder))
        return onnxd_error(ONNXD_NOT_FOUND, "folder '%s' not found", folder);
    for (uint32_t count = 0; count < MAX_DATA_SETS; count++) {
        ONNXD_TRY(onnxd_format_path(path, "%s/test_data_set_%u", folder, count));
        if (!exists(path) && count > 0)
            break;
        if (!exists(path))
            return onnxd_error(
                ONNXD_NOT_FOUND,
                "folder '%s' has none of input_0.pb, output_0.pb and test_data_set_0", folder);
        ONNXD_TRY(run_set(r, path));
    }
    return NULL;
}

/* ---- generated inputs ---------------------------------------------------------------------- */

static onnxd_status *run_generated(runner *r)
{
    onnxd_tensor_list tensors = {0};
    onnxd_datum_list datums = {0};
    onnxd_generator generator = {r->config->inputs_seed, 1, r->config->inputs_shapes};
    onnxd_status *status = onnxd_generate_inputs(r->session.model, &generator, &tensors);
    if (status == NULL && onnxd_model_is_tensors_only(r->session.model)) {
        status = show_tensors(r, &tensors);
    } else if (status == NULL) {
        status = onnxd_datum_list_of_tensors(&tensors, &datums);
        if (status == NULL)
            status = show_datums(r, &datums);
    }
    onnxd_tensor_list_deinit(&tensors);
    onnxd_datum_list_deinit(&datums);
    return status;
}

int onnxd_command_run(const onnxd_invocation *invocation, const onnxd_config *config)
{
    runner r = {.config = config};
    onnxd_status *status =
        onnxd_session_open(config, invocation->positionals[0], 0, true, &r.session);
    if (status == NULL)
        status = config->run_data[0] != '\0' ? run_data(&r, config->run_data) : run_generated(&r);
    onnxd_session_close(&r.session);
    if (status != NULL)
        return onnxd_cli_fail(status, false);
    if (r.equal_count + r.different_count > 0)
        printf("%u outputs equal, %u different\n", r.equal_count, r.different_count);
    return r.different_count == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
