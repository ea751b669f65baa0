#include <stdio.h>
#include <string.h>

#include "base/number.h"
#include "base/size_math.h"
#include "config/internal.h"

static void *field_of(const onnxd_option *option, void *config)
{
    return (char *)config + option->offset;
}

static const void *const_field_of(const onnxd_option *option, const void *config)
{
    return (const char *)config + option->offset;
}

const char *onnxd_option_expected(const onnxd_option *option, char *buffer)
{
    const char *what = "an integer";
    switch (option->kind) {
    case ONNXD_OPTION_BOOL:
        return "true or false";
    case ONNXD_OPTION_STRING:
        return "a string";
    case ONNXD_OPTION_LIST:
        return "a list of strings";
    case ONNXD_OPTION_LEVEL:
        return "error, warn, info or debug";
    case ONNXD_OPTION_F64:
        snprintf(buffer, ONNXD_OPTION_EXPECTED, "a number from %g to %g", option->least_real,
                 option->most_real);
        return buffer;
    case ONNXD_OPTION_BYTES:
        what = "an integer or a size like \"64MiB\"";
        break;
    case ONNXD_OPTION_U32:
    case ONNXD_OPTION_U64:
        break;
    }
    if (option->most == ONNXD_UNLIMITED)
        snprintf(buffer, ONNXD_OPTION_EXPECTED, "%s of at least %llu, or \"unlimited\"", what,
                 (unsigned long long)option->least);
    else
        snprintf(buffer, ONNXD_OPTION_EXPECTED, "%s from %llu to %llu", what,
                 (unsigned long long)option->least, (unsigned long long)option->most);
    return buffer;
}

/* ---- numbers ------------------------------------------------------------------------------- */

static bool is_integer_text(const char *text)
{
    if (*text == '-')
        text++;
    size_t digits = strspn(text, "0123456789");
    return digits > 0 && text[digits] == '\0' && (digits == 1 || text[0] != '0');
}

ONNXD_RETURNS_NONNULL static onnxd_status *not_allowed(const onnxd_option *option, const char *text,
                                                       const char *wanted)
{
    char shown[ONNXD_CONFIG_SHOWN];
    onnxd_config_show(text, strlen(text), shown);
    if (option->most == ONNXD_UNLIMITED && option->kind != ONNXD_OPTION_F64)
        return onnxd_error(ONNXD_INVALID_ARGUMENT,
                           "%s '%s', allowed are at least %llu or \"unlimited\"", wanted, shown,
                           (unsigned long long)option->least);
    return onnxd_error(ONNXD_INVALID_ARGUMENT, "%s '%s', allowed are %llu to %llu", wanted, shown,
                       (unsigned long long)option->least, (unsigned long long)option->most);
}

/* "64MiB": the digits' length and what a unit stands for; false when it is no size. */
static bool split_size(const char *text, size_t *out_digits, uint64_t *out_unit)
{
    static const struct {
        const char *name;
        uint64_t bytes;
    } units[] = {
        {"", 1},
        {"B", 1},
        {"KiB", UINT64_C(1) << 10},
        {"MiB", UINT64_C(1) << 20},
        {"GiB", UINT64_C(1) << 30},
        {"TiB", UINT64_C(1) << 40},
    };
    size_t digits = strspn(text, "0123456789");
    if (digits == 0 || (digits > 1 && text[0] == '0'))
        return false;
    for (size_t i = 0; i < ONNXD_COUNT(units); i++) {
        if (strcmp(text + digits, units[i].name) == 0) {
            *out_digits = digits;
            *out_unit = units[i].bytes;
            return true;
        }
    }
    return false;
}

static onnxd_status *parse_unsigned(const onnxd_option *option, const char *text, uint64_t *out)
{
    bool is_size = option->kind == ONNXD_OPTION_BYTES;
    size_t digits = strlen(text);
    uint64_t unit = 1;
    uint64_t count;
    uint64_t value;

    if (option->most == ONNXD_UNLIMITED && strcmp(text, "unlimited") == 0) {
        *out = ONNXD_UNLIMITED;
        return NULL;
    }
    if (!is_integer_text(text) && !(is_size && split_size(text, &digits, &unit)))
        return not_allowed(
            option, text,
            is_size ? "expected an integer or a size like \"64MiB\" (KiB, MiB, GiB, TiB),"
                      " got"
                    : "expected an integer, got");
    if (!onnxd_parse_u64(text, digits, &count) || __builtin_mul_overflow(count, unit, &value) ||
        value < option->least || value > option->most)
        return not_allowed(option, text, "out of range:");
    *out = value;
    return NULL;
}

static onnxd_status *parse_real(const onnxd_option *option, const char *text, double *out)
{
    char shown[ONNXD_CONFIG_SHOWN];
    double value;
    if (!onnxd_parse_f64(text, strlen(text), &value) ||
        !(value >= option->least_real && value <= option->most_real))
        return onnxd_error(ONNXD_INVALID_ARGUMENT, "expected a number from %g to %g, got '%s'",
                           option->least_real, option->most_real,
                           onnxd_config_show(text, strlen(text), shown));
    *out = value;
    return NULL;
}

/* ---- text ---------------------------------------------------------------------------------- */

static onnxd_status *copy_string(onnxd_arena *arena, const char *text, size_t length,
                                 const char **out)
{
    char *copy = onnxd_arena_strndup(arena, text, length);
    if (copy == NULL)
        return onnxd_error_out_of_memory("configuration", length + 1, UINT64_MAX);
    *out = copy;
    return NULL;
}

onnxd_status *onnxd_option_set_list(const onnxd_option *option, const char *const *elements,
                                    size_t count, onnxd_arena *arena, void *config)
{
    const char **list = onnxd_arena_alloc_zero(arena, count + 1, sizeof(*list));
    if (list == NULL)
        return onnxd_error_out_of_memory("configuration list", (count + 1) * sizeof(*list),
                                         UINT64_MAX);
    for (size_t i = 0; i < count; i++) {
        if (elements[i][0] == '\0')
            return onnxd_error(ONNXD_INVALID_ARGUMENT, "element %zu is empty", i);
        ONNXD_TRY(copy_string(arena, elements[i], strlen(elements[i]), &list[i]));
    }
    *(const char *const **)field_of(option, config) = list;
    return NULL;
}

static onnxd_status *parse_list(const onnxd_option *option, const char *text, onnxd_arena *arena,
                                void *config)
{
    size_t count = *text != '\0';
    for (const char *c = text; *c != '\0'; c++)
        count += *c == ',';
    const char **list = onnxd_arena_alloc_zero(arena, count + 1, sizeof(*list));
    if (list == NULL)
        return onnxd_error_out_of_memory("configuration list", (count + 1) * sizeof(*list),
                                         UINT64_MAX);
    for (size_t i = 0; i < count; i++) {
        size_t length = strcspn(text, ",");
        if (length == 0)
            return onnxd_error(ONNXD_INVALID_ARGUMENT, "element %zu is empty", i);
        ONNXD_TRY(copy_string(arena, text, length, &list[i]));
        text += length + 1;
    }
    *(const char *const **)field_of(option, config) = list;
    return NULL;
}

static onnxd_status *parse_bool(const char *text, bool *out)
{
    char shown[ONNXD_CONFIG_SHOWN];
    if (strcmp(text, "true") != 0 && strcmp(text, "false") != 0)
        return onnxd_error(ONNXD_INVALID_ARGUMENT, "expected true or false, got '%s'",
                           onnxd_config_show(text, strlen(text), shown));
    *out = text[0] == 't';
    return NULL;
}

static onnxd_status *parse_level(const char *text, onnxd_log_level *out)
{
    char shown[ONNXD_CONFIG_SHOWN];
    if (!onnxd_log_level_from_name(text, out))
        return onnxd_error(ONNXD_INVALID_ARGUMENT, "expected error, warn, info or debug, got '%s'",
                           onnxd_config_show(text, strlen(text), shown));
    return NULL;
}

onnxd_status *onnxd_option_parse(const onnxd_option *option, const char *text, onnxd_arena *arena,
                                 void *config)
{
    void *field = field_of(option, config);
    uint64_t value;

    switch (option->kind) {
    case ONNXD_OPTION_BOOL:
        return parse_bool(text, field);
    case ONNXD_OPTION_U32:
        ONNXD_TRY(parse_unsigned(option, text, &value));
        *(uint32_t *)field = (uint32_t)value;
        return NULL;
    case ONNXD_OPTION_U64:
    case ONNXD_OPTION_BYTES:
        return parse_unsigned(option, text, field);
    case ONNXD_OPTION_F64:
        return parse_real(option, text, field);
    case ONNXD_OPTION_STRING:
        return copy_string(arena, text, strlen(text), field);
    case ONNXD_OPTION_LIST:
        return parse_list(option, text, arena, config);
    case ONNXD_OPTION_LEVEL:
        return parse_level(text, field);
    }
    return onnxd_error(ONNXD_INTERNAL, "option '%s' has no kind", option->key);
}

/* ---- comparison ---------------------------------------------------------------------------- */

static bool lists_equal(const char *const *a, const char *const *b)
{
    while (*a != NULL && *b != NULL && strcmp(*a, *b) == 0) {
        a++;
        b++;
    }
    return *a == NULL && *b == NULL;
}

bool onnxd_option_equal(const onnxd_option *option, const void *config_a, const void *config_b)
{
    const void *a = const_field_of(option, config_a);
    const void *b = const_field_of(option, config_b);

    switch (option->kind) {
    case ONNXD_OPTION_BOOL:
        return *(const bool *)a == *(const bool *)b;
    case ONNXD_OPTION_U32:
        return *(const uint32_t *)a == *(const uint32_t *)b;
    case ONNXD_OPTION_U64:
    case ONNXD_OPTION_BYTES:
        return *(const uint64_t *)a == *(const uint64_t *)b;
    case ONNXD_OPTION_F64:
        return !(*(const double *)a < *(const double *)b) &&
               !(*(const double *)a > *(const double *)b);
    case ONNXD_OPTION_STRING:
        return strcmp(*(const char *const *)a, *(const char *const *)b) == 0;
    case ONNXD_OPTION_LIST:
        return lists_equal(*(const char *const *const *)a, *(const char *const *const *)b);
    case ONNXD_OPTION_LEVEL:
        return *(const onnxd_log_level *)a == *(const onnxd_log_level *)b;
    }
    return false;
}
