#include "ep/options.h"

#include <string.h>

#include "base/number.h"
#include "base/suggest.h"

static const onnxd_ep_option_def *find_def(const onnxd_ep_option_def *defs, size_t count,
                                           const char *key)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(defs[i].key, key) == 0)
            return &defs[i];
    return NULL;
}

static onnxd_status *unknown_key(const onnxd_ep_option_def *defs, size_t count, const char *key)
{
    onnxd_suggest suggest = {.name = key};
    for (size_t i = 0; i < count; i++)
        onnxd_suggest_offer(&suggest, defs[i].key);
    if (suggest.best == NULL)
        return onnxd_error(ONNXD_INVALID_ARGUMENT, "unknown option '%s'", key);
    return onnxd_error(ONNXD_INVALID_ARGUMENT, "unknown option '%s', did you mean '%s'?", key,
                       suggest.best);
}

static onnxd_status *bad_choice(const onnxd_ep_option_def *def, const char *value)
{
    char allowed[256];
    size_t used = 0;
    allowed[0] = '\0';
    for (size_t i = 0; def->choices[i] != NULL; i++) {
        size_t length = strlen(def->choices[i]);
        if (used + length + 3 > sizeof(allowed))
            break;
        if (i > 0) {
            memcpy(allowed + used, ", ", 2);
            used += 2;
        }
        memcpy(allowed + used, def->choices[i], length + 1);
        used += length;
    }
    return onnxd_error(ONNXD_INVALID_ARGUMENT, "option '%s' is '%s', it must be one of: %s",
                       def->key, value, allowed);
}

/* Each parser checks the value and writes it where `out` says, or nowhere when that is NULL. */

static onnxd_status *parse_int(const onnxd_ep_option_def *def, const char *value, void *out)
{
    int64_t number;
    if (!onnxd_parse_i64(value, strlen(value), &number) || (double)number < def->minimum ||
        (double)number > def->maximum)
        return onnxd_error(ONNXD_INVALID_ARGUMENT,
                           "option '%s' is '%s', it must be an integer from %.0f to %.0f", def->key,
                           value, def->minimum, def->maximum);
    if (out != NULL)
        memcpy(out, &number, sizeof(number));
    return NULL;
}

static onnxd_status *parse_float(const onnxd_ep_option_def *def, const char *value, void *out)
{
    double number;
    /* A NaN fails both comparisons when they are written this way. */
    if (!onnxd_parse_f64(value, strlen(value), &number) ||
        !(number >= def->minimum && number <= def->maximum))
        return onnxd_error(ONNXD_INVALID_ARGUMENT,
                           "option '%s' is '%s', it must be a number from %g to %g", def->key,
                           value, def->minimum, def->maximum);
    if (out != NULL)
        memcpy(out, &number, sizeof(number));
    return NULL;
}

static onnxd_status *parse_bool(const onnxd_ep_option_def *def, const char *value, void *out)
{
    bool flag = strcmp(value, "true") == 0;
    if (!flag && strcmp(value, "false") != 0)
        return onnxd_error(ONNXD_INVALID_ARGUMENT, "option '%s' is '%s', it must be true or false",
                           def->key, value);
    if (out != NULL)
        memcpy(out, &flag, sizeof(flag));
    return NULL;
}

static onnxd_status *parse_enum(const onnxd_ep_option_def *def, const char *value, void *out)
{
    for (int i = 0; def->choices[i] != NULL; i++) {
        if (strcmp(def->choices[i], value) != 0)
            continue;
        if (out != NULL)
            memcpy(out, &i, sizeof(i));
        return NULL;
    }
    return bad_choice(def, value);
}

static onnxd_status *parse_value(const onnxd_ep_option_def *def, const char *value, void *out)
{
    switch (def->kind) {
    case ONNXD_EP_OPTION_INT:
        return parse_int(def, value, out);
    case ONNXD_EP_OPTION_FLOAT:
        return parse_float(def, value, out);
    case ONNXD_EP_OPTION_BOOL:
        return parse_bool(def, value, out);
    case ONNXD_EP_OPTION_ENUM:
        return parse_enum(def, value, out);
    case ONNXD_EP_OPTION_STRING:
        if (out != NULL)
            memcpy(out, &value, sizeof(value));
        return NULL;
    }
    return onnxd_error(ONNXD_INTERNAL, "option '%s' is of no known kind", def->key);
}

static onnxd_status *check_option(const onnxd_ep_option_def *defs, size_t def_count,
                                  const onnxd_ep_config *config, size_t index)
{
    const onnxd_ep_option *option = &config->options[index];
    if (option->key == NULL || option->value == NULL)
        return onnxd_error(ONNXD_INVALID_ARGUMENT, "option %zu has no key or no value", index);
    const onnxd_ep_option_def *def = find_def(defs, def_count, option->key);
    if (def == NULL)
        return unknown_key(defs, def_count, option->key);
    for (size_t i = 0; i < index; i++)
        if (strcmp(config->options[i].key, option->key) == 0)
            return onnxd_error(ONNXD_INVALID_ARGUMENT, "option '%s' is given twice", option->key);
    return parse_value(def, option->value, NULL);
}

onnxd_status *onnxd_ep_options_parse(const onnxd_ep_option_def *defs, size_t def_count,
                                     const onnxd_ep_config *config, void *out_options)
{
    for (size_t i = 0; i < config->option_count; i++)
        ONNXD_TRY(check_option(defs, def_count, config, i));
    for (size_t i = 0; i < config->option_count; i++) {
        const onnxd_ep_option *option = &config->options[i];
        const onnxd_ep_option_def *def = find_def(defs, def_count, option->key);
        ONNXD_TRY(parse_value(def, option->value, (char *)out_options + def->offset));
    }
    return NULL;
}
