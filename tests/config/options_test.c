/* The table itself: every line is checked, so a new option needs no new test. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "support.h"

static const onnxd_option *option_of_kind(onnxd_option_kind kind, size_t *position)
{
    for (; *position < onnxd_option_count(); (*position)++)
        if (onnxd_option_at(*position)->kind == kind)
            return onnxd_option_at((*position)++);
    return NULL;
}

static uint64_t number(const onnxd_option *option, const onnxd_config *config)
{
    const void *field = (const char *)config + option->offset;
    return option->kind == ONNXD_OPTION_U32 ? *(const uint32_t *)field : *(const uint64_t *)field;
}

/* Whether the option takes `text`; the parsed number in *out_value. */
static bool accepts(const onnxd_option *option, const char *text, uint64_t *out_value)
{
    static onnxd_config config;
    onnxd_arena arena;
    onnxd_arena_init(&arena, 1024, 65536);
    onnxd_status *status = onnxd_option_parse(option, text, &arena, &config);
    bool accepted = status == NULL;
    if (!accepted)
        cr_assert_eq(onnxd_status_code(status), ONNXD_INVALID_ARGUMENT, "%s", option->key);
    if (accepted && option->kind <= ONNXD_OPTION_BYTES && option->kind != ONNXD_OPTION_BOOL)
        *out_value = number(option, &config);
    onnxd_status_free(status);
    onnxd_arena_deinit(&arena);
    return accepted;
}

static void check_bound(const onnxd_option *option, uint64_t value, bool expected)
{
    char text[32];
    uint64_t parsed = 0;
    snprintf(text, sizeof(text), "%llu", (unsigned long long)value);
    cr_assert_eq(accepts(option, text, &parsed), expected, "%s = %s", option->key, text);
    if (expected)
        cr_assert_eq(parsed, value, "%s = %s", option->key, text);
}

Test(options, numbers_keep_their_bounds)
{
    for (size_t i = 0; i < onnxd_option_count(); i++) {
        const onnxd_option *option = onnxd_option_at(i);
        uint64_t ignored;
        if (option->kind != ONNXD_OPTION_U32 && option->kind != ONNXD_OPTION_U64 &&
            option->kind != ONNXD_OPTION_BYTES)
            continue;
        cr_assert(option->least < option->most, "%s", option->key);
        check_bound(option, option->least, true);
        check_bound(option, option->most, true);
        if (option->least > 0)
            check_bound(option, option->least - 1, false);
        else
            cr_assert_not(accepts(option, "-1", &ignored), "%s", option->key);
        if (option->most < UINT64_MAX)
            check_bound(option, option->most + 1, false);
        else
            cr_assert_not(accepts(option, "18446744073709551616", &ignored), "%s", option->key);
        cr_assert_eq(accepts(option, "unlimited", &ignored), option->most == ONNXD_UNLIMITED, "%s",
                     option->key);
        cr_assert_eq(accepts(option, "1TiB", &ignored) || accepts(option, "1KiB", &ignored) ||
                         accepts(option, "1MiB", &ignored),
                     option->kind == ONNXD_OPTION_BYTES, "%s", option->key);
    }
}

Test(options, malformed_numbers_are_refused)
{
    static const char *const texts[] = {
        "",     " 1",  "1 ", "+1",  "0x1", "1.0",   "1e3",  "one",    "007",
        "1MB",  "MiB", "-",  "--1", "1,2", "1 MiB", "1mib", "1.5MiB", "99999999999999TiB",
        "-1MiB"};
    for (size_t i = 0; i < onnxd_option_count(); i++) {
        const onnxd_option *option = onnxd_option_at(i);
        uint64_t ignored;
        if (option->kind == ONNXD_OPTION_STRING || option->kind == ONNXD_OPTION_LIST)
            continue;
        for (size_t t = 0; t < ONNXD_COUNT(texts); t++) {
            bool is_real = option->kind == ONNXD_OPTION_F64 &&
                           (strcmp(texts[t], "1.0") == 0 || strcmp(texts[t], "1e3") == 0);
            cr_assert_eq(accepts(option, texts[t], &ignored), is_real, "%s = '%s'", option->key,
                         texts[t]);
        }
    }
}

Test(options, sizes_have_units)
{
    static const struct {
        const char *text;
        uint64_t bytes;
    } cases[] = {{"65536", 65536},          {"65536B", 65536},  {"64KiB", 65536},
                 {"3MiB", 3 * 1024 * 1024}, {"1GiB", 1u << 30}, {"1TiB", UINT64_C(1) << 40}};
    const onnxd_option *option = onnxd_option_find("http.max_body_bytes");
    for (size_t i = 0; i < ONNXD_COUNT(cases); i++) {
        uint64_t value = 0;
        cr_assert(accepts(option, cases[i].text, &value), "%s", cases[i].text);
        cr_assert_eq(value, cases[i].bytes);
    }
}

Test(options, reals_keep_their_bounds)
{
    size_t position = 0;
    const onnxd_option *option;
    size_t seen = 0;
    while ((option = option_of_kind(ONNXD_OPTION_F64, &position)) != NULL) {
        uint64_t ignored;
        char text[64];
        seen++;
        snprintf(text, sizeof(text), "%.17g", option->most_real);
        cr_assert(accepts(option, text, &ignored), "%s", option->key);
        snprintf(text, sizeof(text), "%.17g", option->most_real * 1.001);
        cr_assert_not(accepts(option, text, &ignored), "%s", option->key);
        snprintf(text, sizeof(text), "%.17g", option->least_real - 0.001);
        cr_assert_not(accepts(option, text, &ignored), "%s", option->key);
        cr_assert_not(accepts(option, "NaN", &ignored), "%s", option->key);
        cr_assert_not(accepts(option, "Infinity", &ignored), "%s", option->key);
    }
    cr_assert(seen > 0);
}

Test(options, names_are_unique_and_derived)
{
    for (size_t i = 0; i < onnxd_option_count(); i++) {
        const onnxd_option *option = onnxd_option_at(i);
        char environment[ONNXD_OPTION_ENVIRONMENT];
        char key[128];
        snprintf(key, sizeof(key), "%s.%s", option->group, option->field);
        cr_assert_str_eq(option->key, key);
        cr_assert_eq(onnxd_option_find(key), option);
        cr_assert_eq(onnxd_option_index(option), i);
        onnxd_option_environment(option, environment);
        cr_assert_eq(strlen(environment), strlen("ONNXD_") + strlen(key), "%s is cut", key);
        cr_assert(option->help[0] != '\0' && strchr(option->help, '|') == NULL, "%s", key);
        cr_assert_eq(option->flag != NULL, option->commands != 0, "%s", key);
        for (size_t j = 0; j < i; j++) {
            const onnxd_option *other = onnxd_option_at(j);
            cr_assert(strcmp(other->key, key) != 0, "%s", key);
            /* Commands that share no option may call different ones alike. */
            cr_assert(option->flag == NULL || other->flag == NULL ||
                          (option->commands & other->commands) == 0 ||
                          strcmp(option->flag, other->flag) != 0,
                      "%s", key);
        }
    }
    char environment[ONNXD_OPTION_ENVIRONMENT];
    cr_assert_str_eq(
        onnxd_option_environment(onnxd_option_find("http.max_body_bytes"), environment),
        "ONNXD_HTTP_MAX_BODY_BYTES");
}

Test(options, groups_are_contiguous)
{
    for (size_t i = 1; i < onnxd_option_count(); i++) {
        const char *group = onnxd_option_at(i)->group;
        if (strcmp(onnxd_option_at(i - 1)->group, group) == 0)
            continue;
        for (size_t j = 0; j < i; j++)
            cr_assert(strcmp(onnxd_option_at(j)->group, group) != 0, "%s", group);
    }
}

/* A default that its own option refuses would fail every load. */
Test(options, defaults_load)
{
    loaded *result = load(NULL, NULL, NULL, 0);
    cr_assert_str_eq(result->errors, "");
    cr_assert_eq(result->config->provider_count, 1);
    cr_assert_str_eq(result->config->providers[0].name, "cpu_ep");
    cr_assert_str_eq(result->config->http_listen[0], "127.0.0.1:8000");
    cr_assert_null(result->config->http_listen[1]);
    cr_assert_eq(result->config->http_max_body_bytes, 64u << 20);
    cr_assert_null(result->config->models_sources[0]);
    cr_assert_str_eq(result->config->models_ep, "");
    unload(result);
}
