#include "daemon/command.h"

static const onnxd_command serve = {
    .name = "serve",
    .positionals = "[MODEL.onnx ...]",
    .positional_key = "models.sources",
    .options = ONNXD_SERVE,
    .summary = "serve models over HTTP",
    .paragraph =
        "Loads the models of the repositories and files given and answers inference requests (Open "
        "Inference\nProtocol v2). SIGTERM drains and ends, SIGHUP reads configuration and "
        "repositories again.",
    .run = onnxd_command_serve,
};

static const onnxd_command run = {
    .name = "run",
    .positionals = "MODEL",
    .least_positionals = 1,
    .most_positionals = 1,
    .options = ONNXD_RUN,
    .summary = "run a model once, on test data or generated inputs",
    .paragraph =
        "MODEL is an .onnx file, or a folder with model.onnx. With --data, which may name the same"
        "\nfolder, outputs are compared and the exit code is 0 only when all are equal within the"
        "\ntolerances. Without, inputs are generated; then, and where --data has inputs alone, a"
        "\nsummary of the outputs is printed.",
    .run = onnxd_command_run,
};

static const onnxd_command bench = {
    .name = "bench",
    .positionals = "MODEL",
    .least_positionals = 1,
    .most_positionals = 1,
    .options = ONNXD_BENCH,
    .summary = "measure latency and throughput of a model",
    .paragraph = "Runs the model on generated inputs, one run after another, without HTTP.",
    .run = onnxd_command_bench,
};

static const onnxd_command inspect = {
    .name = "inspect",
    .positionals = "MODEL",
    .least_positionals = 1,
    .most_positionals = 1,
    .options = ONNXD_INSPECT,
    .summary = "show a model's signature, placement and memory plan",
    .paragraph = "For each node: the provider that runs it, at what cost, and why the others "
                 "declined. With static\ninput shapes, or with --shape, also the memory plan.",
    .run = onnxd_command_inspect,
};

static const onnxd_command check_config = {
    .name = "check-config",
    .positionals = "FILE",
    .least_positionals = 1,
    .most_positionals = 1,
    .summary = "check a configuration file",
    .paragraph = "Prints each problem as file:line: key: reason and exits with 78 when there are "
                 "any.\nModules of providers are loaded to learn their options; neither "
                 "environment nor devices are\nlooked at.",
    .run = onnxd_command_check_config,
};

static const onnxd_command list_eps = {
    .name = "list-eps",
    .positionals = "",
    .options = ONNXD_LIST_EPS,
    .summary = "list the execution providers, their devices and options",
    .paragraph = "Shows the providers that are linked in and those of the configuration.",
    .run = onnxd_command_list_eps,
};

static const onnxd_command list_operators = {
    .name = "list-operators",
    .positionals = "",
    .options = ONNXD_LIST_OPERATORS,
    .summary = "list the operators that models may use",
    .paragraph = "One line each: domain, operator, and the opsets of the domain that it is known "
                 "in. A model with\nanother operator is refused when it is loaded.",
    .run = onnxd_command_list_operators,
};

static const onnxd_command list_passes = {
    .name = "list-passes",
    .positionals = "",
    .summary = "list the graph passes",
    .paragraph = "In the order in which they run. models.disabled_passes leaves out those that it "
                 "names.",
    .run = onnxd_command_list_passes,
};

static const onnxd_command healthcheck = {
    .name = "healthcheck",
    .positionals = "",
    .options = ONNXD_HEALTHCHECK,
    .summary = "ask a running server whether it is ready",
    .paragraph =
        "Exits with 0 when the answer is 200. For containers without a shell. Without --url "
        "the server is\nlooked for at the first address of http.listen, which "
        "--config, --set and ONNXD_HTTP_LISTEN give.",
    .run = onnxd_command_healthcheck,
};

static const onnxd_command config_reference = {
    .name = "config-reference",
    .positionals = "",
    .summary = "print docs/config.md",
    .paragraph = "Every option with its type, range, default and meaning, as Markdown.",
    .run = onnxd_command_config_reference,
};

const onnxd_command *const onnxd_commands[] = {
    &serve,          &run,         &bench,       &inspect,          &check_config, &list_eps,
    &list_operators, &list_passes, &healthcheck, &config_reference, NULL};
