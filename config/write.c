#include <string.h>

#include "base/number.h"
#include "config/internal.h"

static void write_text(onnxd_strbuf *out, const char *text)
{
    onnxd_strbuf_json_string(out, text, strlen(text));
}

static const char *level_name(onnxd_log_level level)
{
    static const char *const names[] = {"error", "warn", "info", "debug"};
    return names[level];
}

static void write_list(onnxd_strbuf *out, const char *const *list)
{
    onnxd_strbuf_puts(out, "[");
    for (size_t i = 0; list[i] != NULL; i++) {
        onnxd_strbuf_puts(out, i == 0 ? "" : ", ");
        write_text(out, list[i]);
    }
    onnxd_strbuf_puts(out, "]");
}

static void write_unsigned(onnxd_strbuf *out, const onnxd_option *option, uint64_t value)
{
    if (option->most == ONNXD_UNLIMITED && value == ONNXD_UNLIMITED)
        onnxd_strbuf_puts(out, "\"unlimited\"");
    else
        onnxd_strbuf_printf(out, "%llu", (unsigned long long)value);
}

static void write_value(onnxd_strbuf *out, const onnxd_option *option, const onnxd_config *config)
{
    const void *field = (const char *)config + option->offset;
    char number[ONNXD_NUMBER_TEXT];

    switch (option->kind) {
    case ONNXD_OPTION_BOOL:
        onnxd_strbuf_puts(out, *(const bool *)field ? "true" : "false");
        break;
    case ONNXD_OPTION_U32:
        write_unsigned(out, option, *(const uint32_t *)field);
        break;
    case ONNXD_OPTION_U64:
    case ONNXD_OPTION_BYTES:
        write_unsigned(out, option, *(const uint64_t *)field);
        break;
    case ONNXD_OPTION_F64:
        onnxd_strbuf_append(out, number, onnxd_format_f64(number, *(const double *)field));
        break;
    case ONNXD_OPTION_STRING:
        write_text(out, *(const char *const *)field);
        break;
    case ONNXD_OPTION_LIST:
        write_list(out, *(const char *const *const *)field);
        break;
    case ONNXD_OPTION_LEVEL:
        write_text(out, level_name(*(const onnxd_log_level *)field));
        break;
    }
}

static void write_provider(onnxd_strbuf *out, const onnxd_config_provider *provider)
{
    onnxd_strbuf_puts(out, "    {\"name\": ");
    write_text(out, provider->name);
    if (provider->module != NULL) {
        onnxd_strbuf_puts(out, ", \"module\": ");
        write_text(out, provider->module);
    }
    onnxd_strbuf_puts(out, ", \"device_ids\": [");
    for (size_t i = 0; i < provider->device_count; i++)
        onnxd_strbuf_printf(out, "%s%u", i == 0 ? "" : ", ", provider->device_ids[i]);
    onnxd_strbuf_puts(out, "], \"options\": {");
    for (size_t i = 0; i < provider->option_count; i++) {
        onnxd_strbuf_puts(out, i == 0 ? "" : ", ");
        write_text(out, provider->options[i].key);
        onnxd_strbuf_puts(out, ": ");
        write_text(out, provider->options[i].value);
    }
    onnxd_strbuf_puts(out, "}}");
}

void onnxd_config_print(const onnxd_config *config, onnxd_strbuf *out)
{
    const char *group = "";

    onnxd_strbuf_puts(out, "{\n  \"providers\": [\n");
    for (size_t i = 0; i < config->provider_count; i++) {
        write_provider(out, &config->providers[i]);
        onnxd_strbuf_puts(out, i + 1 < config->provider_count ? ",\n" : "\n");
    }
    onnxd_strbuf_puts(out, "  ]");
    for (size_t i = 0; i < onnxd_option_count(); i++) {
        const onnxd_option *option = onnxd_option_at(i);
        bool is_new = strcmp(option->group, group) != 0;
        if (is_new && i != 0)
            onnxd_strbuf_puts(out, "\n  }");
        if (is_new)
            onnxd_strbuf_printf(out, ",\n  \"%s\": {", option->group);
        group = option->group;
        onnxd_strbuf_printf(out, "%s\n    \"%s\": ", is_new ? "" : ",", option->field);
        write_value(out, option, config);
    }
    onnxd_strbuf_puts(out, "\n  }\n}\n");
}

/* ---- docs/config.md ------------------------------------------------------------------------ */

static const char introduction[] =
    "# Configuration\n"
    "\n"
    "Made from `config/options.inc` by `onnxd config-reference`; edit that file, not this one.\n"
    "\n"
    "One JSON file, named by `--config` or `ONNXD_CONFIG`. Every option may also be set by its\n"
    "environment variable, by `--set KEY=VALUE`, and where it has one by its flag. The flag wins\n"
    "over the environment, the environment over the file, the file over the default.\n"
    "\n"
    "An unknown key, a key given twice, a value out of range, an address that cannot be listened\n"
    "on, and an unknown provider, option of a provider or graph pass are errors:\n"
    "`onnxd check-config FILE` prints each as `file:line: key: reason` and exits with 78.\n"
    "Sizes are integers or text with a unit (`\"64MiB\"`; KiB, MiB, GiB, TiB). Durations have the\n"
    "unit that ends their name. Lists are arrays of strings, and one string stands for a list of\n"
    "one; in an environment variable their elements are separated by commas, and a flag is\n"
    "repeated. Relative paths start at the working directory. Options marked *reload* are taken\n"
    "over on SIGHUP, the others at the next start.\n"
    "\n"
    "## providers\n"
    "\n"
    "An array of execution providers, the preferred one first; the default is `cpu_ep` on device "
    "0.\n"
    "`onnxd list-eps` prints the options of each.\n"
    "\n"
    "| member | type | meaning |\n"
    "|---|---|---|\n"
    "| `name` | string | the provider: a small letter, then small letters, digits, underscores |\n"
    "| `module` | string | path of its shared object; absent for a provider that is linked in |\n"
    "| `device_id` | integer | the device, 0 when absent; for `cpu_ep` a number that tells its "
    "instances apart, each with threads of its own on the same CPUs |\n"
    "| `device_ids` | array of integers | one instance on each of these devices |\n"
    "| `options` | object | the provider's own options |\n";

static void write_range(onnxd_strbuf *out, const onnxd_option *option)
{
    switch (option->kind) {
    case ONNXD_OPTION_U32:
    case ONNXD_OPTION_U64:
    case ONNXD_OPTION_BYTES:
        onnxd_strbuf_printf(out, "%s, %llu to ", onnxd_option_kind_name(option->kind),
                            (unsigned long long)option->least);
        if (option->most == ONNXD_UNLIMITED)
            onnxd_strbuf_puts(out, "`\"unlimited\"`");
        else
            onnxd_strbuf_printf(out, "%llu", (unsigned long long)option->most);
        break;
    case ONNXD_OPTION_F64:
        onnxd_strbuf_printf(out, "number, %g to %g", option->least_real, option->most_real);
        break;
    case ONNXD_OPTION_BOOL:
    case ONNXD_OPTION_STRING:
    case ONNXD_OPTION_LIST:
    case ONNXD_OPTION_LEVEL:
        onnxd_strbuf_puts(out, onnxd_option_kind_name(option->kind));
        break;
    }
}

static void write_row(onnxd_strbuf *out, const onnxd_option *option)
{
    char environment[ONNXD_OPTION_ENVIRONMENT];
    onnxd_strbuf_printf(out, "| `%s` | ", option->key);
    write_range(out, option);
    if (option->default_text[0] == '\0')
        onnxd_strbuf_puts(out, " | empty | ");
    else
        onnxd_strbuf_printf(out, " | `%s` | ", option->default_text);
    onnxd_strbuf_printf(out, "%s%s | `%s`", option->help,
                        option->is_reloadable ? " (*reload*)" : "",
                        onnxd_option_environment(option, environment));
    if (option->flag != NULL)
        onnxd_strbuf_printf(out, ", `%s`", option->flag);
    onnxd_strbuf_puts(out, " |\n");
}

void onnxd_config_write_reference(onnxd_strbuf *out)
{
    const char *group = "";

    onnxd_strbuf_puts(out, introduction);
    for (size_t i = 0; i < onnxd_option_count(); i++) {
        const onnxd_option *option = onnxd_option_at(i);
        if (strcmp(option->group, group) != 0)
            onnxd_strbuf_printf(out,
                                "\n## %s\n\n| key | type and range | default | meaning | "
                                "environment variable, flag |\n|---|---|---|---|---|\n",
                                option->group);
        group = option->group;
        write_row(out, option);
    }
}
