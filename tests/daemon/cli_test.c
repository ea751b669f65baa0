/* The command line: what is understood, what is refused and with which words. */
#include <criterion/criterion.h>
#include <string.h>

#include "daemon/command.h"

static onnxd_invocation parsed;

#define ARGUMENTS(...)                                                                             \
    ((const char *const[]){"onnxd", __VA_ARGS__}),                                                 \
        (int)(sizeof((const char *const[]){"onnxd", __VA_ARGS__}) / sizeof(char *))

static void accept(const char *const *argv, int argc)
{
    onnxd_status *status = onnxd_cli_parse(argc, argv, &parsed);
    cr_assert_null(status, "%s", onnxd_status_message(status));
}

static void refuse(const char *const *argv, int argc, const char *message)
{
    onnxd_status *status = onnxd_cli_parse(argc, argv, &parsed);
    cr_assert_not_null(status, "accepted: %s", message);
    cr_expect_str_eq(onnxd_status_message(status), message);
    cr_expect_eq(onnxd_status_code(status), ONNXD_INVALID_ARGUMENT);
    onnxd_status_free(status);
}

Test(cli, flags_and_arguments)
{
    accept(ARGUMENTS("run", "--ep", "cpu_ep", "--rtol=1e-4", "model.onnx", "--shape", "a=1x2",
                     "--shape=b=3"));
    cr_assert_eq(parsed.command->run, onnxd_command_run);
    cr_assert_eq(parsed.positional_count, 1);
    cr_assert_str_eq(parsed.positionals[0], "model.onnx");
    cr_assert_eq(parsed.flag_count, 4);
    cr_assert_str_eq(parsed.flags[0].option->key, "models.ep");
    cr_assert_str_eq(parsed.flags[0].text, "cpu_ep");
    cr_assert_str_eq(parsed.flags[1].text, "1e-4");
    cr_assert_str_eq(parsed.flags[2].text, "a=1x2");
    cr_assert(parsed.flags[2].is_element);
    cr_assert_str_eq(parsed.flags[3].text, "b=3");
}

Test(cli, common_flags)
{
    accept(ARGUMENTS("serve", "--config", "/c.json", "--set", "http.max_chunks=5", "--set",
                     "models.name=a=b"));
    cr_assert_str_eq(parsed.config_file, "/c.json");
    cr_assert_eq(parsed.flag_count, 2);
    cr_assert_str_eq(parsed.flags[0].option->key, "http.max_chunks");
    cr_assert_str_eq(parsed.flags[0].origin, "--set");
    cr_assert_not(parsed.flags[0].is_element);
    cr_assert_str_eq(parsed.flags[1].text, "a=b");
    accept(ARGUMENTS("run", "--print-config"));
    cr_assert(parsed.wants_print_config);
    accept(ARGUMENTS("bench", "--help"));
    cr_assert(parsed.wants_help);
    cr_assert_str_eq(parsed.command->name, "bench");
    accept(ARGUMENTS("help", "bench"));
    cr_assert_str_eq(parsed.command->name, "bench");
    accept(ARGUMENTS("--version"));
    cr_assert(parsed.wants_version);
}

Test(cli, switches_take_no_separate_value)
{
    accept(ARGUMENTS("bench", "--json", "model.onnx"));
    cr_assert_str_eq(parsed.flags[0].text, "true");
    cr_assert_str_eq(parsed.positionals[0], "model.onnx");
    accept(ARGUMENTS("bench", "--json=false", "model.onnx"));
    cr_assert_str_eq(parsed.flags[0].text, "false");
}

Test(cli, two_dashes_end_the_flags)
{
    accept(ARGUMENTS("run", "--", "--model.onnx"));
    cr_assert_str_eq(parsed.positionals[0], "--model.onnx");
    accept(ARGUMENTS("run", "-"));
    cr_assert_str_eq(parsed.positionals[0], "-");
}

Test(cli, models_to_serve_are_sources)
{
    accept(ARGUMENTS("serve", "a.onnx", "--model-repository", "/models", "b.onnx"));
    cr_assert_eq(parsed.positional_count, 0);
    cr_assert_eq(parsed.flag_count, 3);
    for (size_t i = 0; i < 3; i++)
        cr_assert_str_eq(parsed.flags[i].option->key, "models.sources");
    cr_assert_str_eq(parsed.flags[2].text, "b.onnx");
}

Test(cli, refused_with_a_hint)
{
    const char *const nothing[] = {"onnxd"};
    refuse(nothing, 1, "a command is missing; see 'onnxd --help'");
    refuse(ARGUMENTS("serv"), "unknown command 'serv', did you mean 'serve'?; see 'onnxd --help'");
    refuse(ARGUMENTS("qqqqqqq"), "unknown command 'qqqqqqq'; see 'onnxd --help'");
    refuse(ARGUMENTS("serve", "--lisen", "x"),
           "unknown flag '--lisen', did you mean '--listen'?; see 'onnxd serve --help'");
    refuse(ARGUMENTS("serve", "--rtol", "x"), "unknown flag '--rtol'; see 'onnxd serve --help'");
    refuse(ARGUMENTS("serve", "-x"), "unknown flag '-x'; see 'onnxd serve --help'");
    refuse(ARGUMENTS("serve", "--listen"),
           "flag '--listen' needs a value; see 'onnxd serve --help'");
    refuse(ARGUMENTS("serve", "--set", "http.max_chunks"),
           "flag '--set' needs KEY=VALUE, got 'http.max_chunks'; see 'onnxd serve --help'");
    refuse(ARGUMENTS("serve", "--set", "http.max_chunk=1"),
           "unknown key 'http.max_chunk', did you mean 'http.max_chunks'?; see 'onnxd serve "
           "--help'");
    refuse(ARGUMENTS("serve", "--print-config=1"),
           "flag '--print-config' takes no value; see 'onnxd serve --help'");
    refuse(ARGUMENTS("run"), "MODEL is missing; see 'onnxd run --help'");
    refuse(ARGUMENTS("run", "a", "b"), "unexpected argument 'b'; see 'onnxd run --help'");
    refuse(ARGUMENTS("check-config", "--config", "f", "g"),
           "unknown flag '--config'; see 'onnxd check-config --help'");
}

Test(cli, too_much_is_refused)
{
    const char *argv[2 + 2 * ONNXD_MAX_FLAGS + 2] = {"onnxd", "serve"};
    for (size_t i = 0; i < ONNXD_MAX_FLAGS + 1; i++) {
        argv[2 + 2 * i] = "--listen";
        argv[3 + 2 * i] = "127.0.0.1:0";
    }
    refuse(argv, 2 + 2 * (ONNXD_MAX_FLAGS + 1), "more than 128 flags; see 'onnxd serve --help'");
    refuse(ARGUMENTS("run", "1", "2", "3", "4", "5", "6", "7", "8", "9"),
           "too many arguments; see 'onnxd run --help'");
}

/* --help is the documentation of a command's own flags: each with its range, default, key and
 * variable. Flags of others are not in it. */
Test(cli, help_is_complete)
{
    for (size_t c = 0; onnxd_commands[c] != NULL; c++) {
        const onnxd_command *command = onnxd_commands[c];
        onnxd_strbuf text;
        onnxd_strbuf_init(&text, 1 << 20);
        onnxd_cli_write_help(command, &text);
        cr_assert_not_null(strstr(text.data, command->name));
        cr_assert_eq(strstr(text.data, "docs/config.md") != NULL, command->options != 0);
        for (size_t i = 0; i < onnxd_option_count(); i++) {
            const onnxd_option *option = onnxd_option_at(i);
            char environment[ONNXD_OPTION_ENVIRONMENT];
            onnxd_option_environment(option, environment);
            bool is_flag = option->flag != NULL && (option->commands & command->options) != 0;
            if (is_flag)
                cr_assert(strstr(text.data, option->flag) && strstr(text.data, option->key) &&
                              strstr(text.data, environment) &&
                              strstr(text.data, option->default_text),
                          "%s %s", command->name, option->key);
            else
                cr_assert(strstr(text.data, environment) == NULL ||
                              strcmp(option->key, "http.listen") == 0,
                          "%s %s", command->name, option->key);
        }
        onnxd_strbuf_deinit(&text);
    }
    onnxd_strbuf text;
    onnxd_strbuf_init(&text, 1 << 20);
    onnxd_cli_write_help(NULL, &text);
    for (size_t c = 0; onnxd_commands[c] != NULL; c++)
        cr_assert_not_null(strstr(text.data, onnxd_commands[c]->name));
    onnxd_strbuf_deinit(&text);
}

Test(cli, help_shows_ranges)
{
    onnxd_strbuf text;
    const onnxd_command *command = onnxd_commands[0];
    for (size_t c = 0; strcmp(command->name, "bench") != 0; c++)
        command = onnxd_commands[c];
    onnxd_strbuf_init(&text, 1 << 20);
    onnxd_cli_write_help(command, &text);
    cr_assert_not_null(strstr(text.data, "an integer from 1 to 10000000"));
    onnxd_strbuf_deinit(&text);
}
