/* The flag wins over the environment, that over the file, that over the default. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "support.h"

static uint64_t number(const onnxd_option *option, const onnxd_config *config)
{
    const void *field = (const char *)config + option->offset;
    return option->kind == ONNXD_OPTION_U32 ? *(const uint32_t *)field : *(const uint64_t *)field;
}

/* Values that no check across options refuses: the least ones of those that must be small. */
static bool is_ordered(const onnxd_option *option)
{
    return strstr(option->key, "timeout_us") != NULL || strstr(option->key, "fold_max") != NULL ||
           strstr(option->key, "max_body_bytes") != NULL ||
           strstr(option->key, "inflight_bytes") != NULL ||
           strstr(option->key, "max_header") != NULL;
}

Test(precedence, of_every_number)
{
    size_t seen = 0;
    for (size_t i = 0; i < onnxd_option_count(); i++) {
        const onnxd_option *option = onnxd_option_at(i);
        char file[256], variable[256], flag_text[32], name[ONNXD_OPTION_ENVIRONMENT];
        if ((option->kind != ONNXD_OPTION_U32 && option->kind != ONNXD_OPTION_U64 &&
             option->kind != ONNXD_OPTION_BYTES) ||
            is_ordered(option) || option->most - option->least < 3)
            continue;
        seen++;
        unsigned long long from_file = option->least, from_variable = option->least + 1,
                           from_flag = option->least + 2;
        snprintf(file, sizeof(file), "{\"%s\": {\"%s\": %llu}}", option->group, option->field,
                 from_file);
        snprintf(variable, sizeof(variable), "%s=%llu", onnxd_option_environment(option, name),
                 from_variable);
        snprintf(flag_text, sizeof(flag_text), "%llu", from_flag);
        const char *environment[] = {"PATH=/bin", variable, NULL};
        onnxd_config_assignment flag = {option, "--set", flag_text, false};

        loaded *result = load(file, NULL, NULL, 0);
        cr_assert_eq(number(option, result->config), from_file, "%s", option->key);
        unload(result);
        result = load(file, environment, NULL, 0);
        cr_assert_eq(number(option, result->config), from_variable, "%s", option->key);
        unload(result);
        result = load(file, environment, &flag, 1);
        cr_assert_eq(number(option, result->config), from_flag, "%s", option->key);
        unload(result);
    }
    cr_assert(seen > 30);
}

Test(precedence, of_lists_replaces_the_whole)
{
    static const char file[] = "{\"http\": {\"listen\": [\"127.0.0.1:1\", \"127.0.0.1:2\"]}}";
    const char *environment[] = {"ONNXD_HTTP_LISTEN=[::1]:1,[::1]:2,[::1]:3", NULL};
    const onnxd_option *listen = onnxd_option_find("http.listen");
    onnxd_config_assignment flags[] = {{listen, "--listen", "unix:/a,b", true},
                                       {listen, "--listen", "0.0.0.0:1", true}};

    loaded *result = load(file, environment, NULL, 0);
    cr_assert_str_eq(result->config->http_listen[2], "[::1]:3");
    cr_assert_null(result->config->http_listen[3]);
    unload(result);

    result = load(file, environment, flags, 2);
    cr_assert_str_eq(result->config->http_listen[0], "unix:/a,b");
    cr_assert_str_eq(result->config->http_listen[1], "0.0.0.0:1");
    cr_assert_null(result->config->http_listen[2]);
    unload(result);
}

Test(precedence, errors_name_where_the_value_came_from)
{
    const char *environment[] = {"ONNXD_HTTP_MAX_CHUNKS=none", NULL};
    onnxd_config_assignment flag = {onnxd_option_find("logging.level"), "--log-level", "loud",
                                    false};
    loaded *result = load("{\"http\": {\"max_pipelined\": 0}}", environment, &flag, 1);
    cr_assert_str_eq(result->errors,
                     "F:1: http.max_pipelined: out of range: '0', allowed are 1 to 65536\n"
                     "ONNXD_HTTP_MAX_CHUNKS: http.max_chunks: expected an integer, got 'none', "
                     "allowed are 1 to 4294967295\n"
                     "--log-level: logging.level: expected error, warn, info or debug, got "
                     "'loud'\n");
    unload(result);
}

Test(precedence, the_environment_may_name_the_file)
{
    const char *environment[] = {"ONNXD_CONFIG=/nonexistent/onnxd.json", NULL};
    loaded *result = load(NULL, environment, NULL, 0);
    cr_assert_eq(result->code, ONNXD_NOT_FOUND);
    unload(result);
    /* the flag wins here too */
    result = load("{}", environment, NULL, 0);
    cr_assert_str_eq(result->errors, "");
    unload(result);
}

Test(precedence, a_misspelt_variable_is_a_warning)
{
    const char *environment[] = {"ONNXD_HTTP_MAX_CHUNK=1", "ONNXD_SERVICE_HOST=10.0.0.1",
                                 "ONNXD_HTTP_MAX_CHUNKS=7", NULL};
    loaded *result = load(NULL, environment, NULL, 0);
    cr_assert_str_eq(result->errors, "");
    cr_assert_str_eq(result->warnings, "ONNXD_HTTP_MAX_CHUNK: unknown variable, did you mean "
                                       "'ONNXD_HTTP_MAX_CHUNKS'?\n");
    cr_assert_eq(result->config->http_max_chunks, 7);
    unload(result);
}
