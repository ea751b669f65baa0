#include "ep/options.h"

#include <criterion/criterion.h>
#include <string.h>

typedef struct settings {
    int64_t threads;
    double scale;
    bool is_async;
    int precision;
    const char *name;
} settings;

static const char *const precisions[] = {"fp32", "bf16", NULL};

static const onnxd_ep_option_def defs[] = {
    {"x.threads", ONNXD_EP_OPTION_INT, offsetof(settings, threads), 1, 64, NULL, "threads"},
    {"x.scale", ONNXD_EP_OPTION_FLOAT, offsetof(settings, scale), 0, 10, NULL, "scale"},
    {"x.async", ONNXD_EP_OPTION_BOOL, offsetof(settings, is_async), 0, 0, NULL, "async"},
    {"x.precision", ONNXD_EP_OPTION_ENUM, offsetof(settings, precision), 0, 0, precisions, "type"},
    {"x.name", ONNXD_EP_OPTION_STRING, offsetof(settings, name), 0, 0, NULL, "name"},
};

static onnxd_status *parse(const onnxd_ep_option *options, size_t count, settings *out)
{
    onnxd_ep_config config = {options, count};
    return onnxd_ep_options_parse(defs, ONNXD_COUNT(defs), &config, out);
}

static void expect_message(onnxd_status *status, const char *message)
{
    cr_assert_eq(onnxd_status_code(status), ONNXD_INVALID_ARGUMENT);
    cr_assert_str_eq(onnxd_status_message(status), message);
    onnxd_status_free(status);
}

Test(options, each_kind_is_written_and_others_stay)
{
    settings given = {.threads = 3, .scale = 1};
    cr_assert_null(parse(NULL, 0, &given));
    cr_assert_eq(given.threads, 3);
    const onnxd_ep_option all[] = {
        {"x.threads", "8"}, {"x.async", "true"}, {"x.precision", "bf16"}, {"x.name", "anything"}};
    cr_assert_null(parse(all, ONNXD_COUNT(all), &given));
    cr_assert_eq(given.threads, 8);
    cr_assert_eq(given.scale, 1.0);
    cr_assert(given.is_async);
    cr_assert_eq(given.precision, 1);
    cr_assert_str_eq(given.name, "anything");
    const onnxd_ep_option scale[] = {{"x.scale", "2.5"}, {"x.async", "false"}};
    cr_assert_null(parse(scale, 2, &given));
    cr_assert_eq(given.scale, 2.5);
    cr_assert_not(given.is_async);
}

Test(options, unknown_keys_name_the_nearest)
{
    settings given = {0};
    const onnxd_ep_option near[] = {{"x.thread", "8"}};
    expect_message(parse(near, 1, &given), "unknown option 'x.thread', did you mean 'x.threads'?");
    const onnxd_ep_option far[] = {{"entirely-other", "8"}};
    expect_message(parse(far, 1, &given), "unknown option 'entirely-other'");
}

Test(options, bad_values_say_what_is_allowed)
{
    static const struct {
        onnxd_ep_option option;
        const char *message;
    } cases[] = {
        {{"x.threads", "0"}, "option 'x.threads' is '0', it must be an integer from 1 to 64"},
        {{"x.threads", "65"}, "option 'x.threads' is '65', it must be an integer from 1 to 64"},
        {{"x.threads", "8x"}, "option 'x.threads' is '8x', it must be an integer from 1 to 64"},
        {{"x.threads", ""}, "option 'x.threads' is '', it must be an integer from 1 to 64"},
        {{"x.scale", "11"}, "option 'x.scale' is '11', it must be a number from 0 to 10"},
        {{"x.scale", "NaN"}, "option 'x.scale' is 'NaN', it must be a number from 0 to 10"},
        {{"x.async", "yes"}, "option 'x.async' is 'yes', it must be true or false"},
        {{"x.precision", "fp8"}, "option 'x.precision' is 'fp8', it must be one of: fp32, bf16"},
    };
    for (size_t i = 0; i < ONNXD_COUNT(cases); i++) {
        settings given = {.threads = 3};
        expect_message(parse(&cases[i].option, 1, &given), cases[i].message);
    }
}

Test(options, nothing_is_written_when_one_is_bad)
{
    settings given = {.threads = 3};
    const onnxd_ep_option options[] = {{"x.threads", "8"}, {"x.async", "maybe"}};
    onnxd_status_free(parse(options, 2, &given));
    cr_assert_eq(given.threads, 3);
}

Test(options, repeated_and_missing_parts_are_refused)
{
    settings given = {0};
    const onnxd_ep_option twice[] = {{"x.threads", "8"}, {"x.threads", "9"}};
    expect_message(parse(twice, 2, &given), "option 'x.threads' is given twice");
    const onnxd_ep_option no_value[] = {{"x.threads", NULL}};
    expect_message(parse(no_value, 1, &given), "option 0 has no key or no value");
    const onnxd_ep_option no_key[] = {{NULL, "8"}};
    expect_message(parse(no_key, 1, &given), "option 0 has no key or no value");
}
