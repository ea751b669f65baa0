#include "config/config.h"

#include <string.h>

#include "base/alloc.h"
#include "base/suggest.h"
#include "config/internal.h"

#define ARENA_BLOCK_BYTES ((size_t)16 * 1024)
#define ARENA_MAX_BYTES ((size_t)16 * 1024 * 1024)

/* ---- environment --------------------------------------------------------------------------- */

/* The value of `name` in the environment, or NULL. */
static const char *look_up(const char *const *environment, const char *name)
{
    size_t length = strlen(name);
    for (; environment != NULL && *environment != NULL; environment++)
        if (strncmp(*environment, name, length) == 0 && (*environment)[length] == '=')
            return *environment + length + 1;
    return NULL;
}

static void keep_origin(onnxd_config_load_state *state, const onnxd_option *option,
                        const char *origin)
{
    const char *kept = onnxd_arena_strndup(&state->config->arena, origin, strlen(origin));
    state->origins[onnxd_option_index(option)] = kept;
    if (kept == NULL)
        state->out_of_memory = true;
}

static void set(onnxd_config_load_state *state, const onnxd_option *option, const char *origin,
                const char *text)
{
    onnxd_config *config = state->config;
    onnxd_status *status = onnxd_option_parse(option, text, &config->arena, config);
    if (status != NULL)
        onnxd_config_take_status(state, origin, option->key, status);
    keep_origin(state, option, origin);
}

/* A variable that begins like one of ours but is none is most likely misspelt. It is no error:
 * Kubernetes injects variables named after services. */
static void warn_unknown(onnxd_config_load_state *state, const char *entry)
{
    static const char prefix[] = "ONNXD_";
    char name[ONNXD_OPTION_ENVIRONMENT + 1];
    char spelling[ONNXD_OPTION_ENVIRONMENT];
    size_t length = strcspn(entry, "=");

    if (strncmp(entry, prefix, sizeof(prefix) - 1) != 0 || length >= sizeof(name))
        return;
    memcpy(name, entry, length);
    name[length] = '\0';
    if (strcmp(name, "ONNXD_CONFIG") == 0)
        return;
    onnxd_suggest suggest = {.name = name, .distance = SIZE_MAX};
    const onnxd_option *nearest = NULL;
    for (size_t i = 0; i < onnxd_option_count() && suggest.distance != 0; i++) {
        size_t before = suggest.distance;
        onnxd_suggest_offer(&suggest, onnxd_option_environment(onnxd_option_at(i), spelling));
        if (suggest.distance < before)
            nearest = onnxd_option_at(i);
    }
    if (nearest != NULL && suggest.distance > 0 && suggest.distance <= 2)
        onnxd_config_warning(state->report, name, NULL, "unknown variable, did you mean '%s'?",
                             onnxd_option_environment(nearest, spelling));
}

static void apply_environment(onnxd_config_load_state *state, const char *const *environment)
{
    char name[ONNXD_OPTION_ENVIRONMENT];
    for (size_t i = 0; i < onnxd_option_count(); i++) {
        const onnxd_option *option = onnxd_option_at(i);
        const char *text = look_up(environment, onnxd_option_environment(option, name));
        if (text != NULL)
            set(state, option, name, text);
    }
    for (; environment != NULL && *environment != NULL; environment++)
        warn_unknown(state, *environment);
}

/* ---- flags --------------------------------------------------------------------------------- */

/* All elements that flags give a list. */
static void set_elements(onnxd_config_load_state *state, const onnxd_config_sources *sources,
                         size_t first)
{
    const onnxd_config_assignment *flags = sources->flags;
    const onnxd_option *option = flags[first].option;
    size_t count = 0;
    const char **elements = onnxd_alloc_zero(sources->flag_count, sizeof(*elements));
    if (elements == NULL) {
        state->out_of_memory = true;
        return;
    }
    for (size_t i = first; i < sources->flag_count; i++)
        if (flags[i].option == option && flags[i].is_element)
            elements[count++] = flags[i].text;
    onnxd_status *status =
        onnxd_option_set_list(option, elements, count, &state->config->arena, state->config);
    if (status != NULL)
        onnxd_config_take_status(state, flags[first].origin, option->key, status);
    keep_origin(state, option, flags[first].origin);
    onnxd_free(elements);
}

static void apply_flags(onnxd_config_load_state *state, const onnxd_config_sources *sources)
{
    for (size_t i = 0; i < sources->flag_count; i++) {
        const onnxd_config_assignment *flag = &sources->flags[i];
        bool is_first = true;
        if (!flag->is_element || flag->option->kind != ONNXD_OPTION_LIST) {
            set(state, flag->option, flag->origin, flag->text);
            continue;
        }
        for (size_t j = 0; j < i; j++)
            is_first &= sources->flags[j].option != flag->option || !sources->flags[j].is_element;
        if (is_first)
            set_elements(state, sources, i);
    }
}

/* ---- load ---------------------------------------------------------------------------------- */

static void apply_defaults(onnxd_config_load_state *state)
{
    static const uint32_t device_zero = 0;
    static const onnxd_config_provider provider = {
        .name = "cpu_ep", .device_ids = &device_zero, .device_count = 1, .origin = "default"};

    state->config->providers = &provider;
    state->config->provider_count = 1;
    for (size_t i = 0; i < onnxd_option_count(); i++) {
        const onnxd_option *option = onnxd_option_at(i);
        onnxd_status *status =
            onnxd_option_parse(option, option->default_text, &state->config->arena, state->config);
        if (status != NULL)
            onnxd_config_take_status(state, "default", option->key, status);
    }
}

static onnxd_status *apply_file(onnxd_config_load_state *state, const char *file)
{
    onnxd_config_document document;
    if (file == NULL)
        return NULL;
    state->config->file = onnxd_arena_strndup(&state->config->arena, file, strlen(file));
    if (state->config->file == NULL)
        state->out_of_memory = true;
    onnxd_status *status = onnxd_config_document_open(file, state->report, &document);
    if (status == NULL && document.root != NULL)
        onnxd_config_read_file(state, &document);
    onnxd_config_document_close(&document);
    return status;
}

onnxd_status *onnxd_config_load(const onnxd_config_sources *sources, onnxd_config_report *report,
                                onnxd_config **out_config)
{
    onnxd_status *status = NULL;
    onnxd_config_load_state state = {.report = report};
    const char *file = sources->file;

    if (file == NULL)
        file = look_up(sources->environment, "ONNXD_CONFIG");
    state.config = onnxd_alloc_zero(1, sizeof(*state.config));
    if (state.config == NULL)
        return onnxd_error_out_of_memory("configuration", sizeof(*state.config), UINT64_MAX);
    onnxd_arena_init(&state.config->arena, ARENA_BLOCK_BYTES, ARENA_MAX_BYTES);
    state.origins =
        onnxd_arena_alloc_zero(&state.config->arena, onnxd_option_count(), sizeof(*state.origins));
    if (state.origins == NULL) {
        status = onnxd_error_out_of_memory("configuration", ARENA_BLOCK_BYTES, UINT64_MAX);
        goto done;
    }
    state.config->origins = state.origins;
    apply_defaults(&state);
    status = apply_file(&state, file);
    if (status != NULL)
        goto done;
    apply_environment(&state, sources->environment);
    apply_flags(&state, sources);
    if (report->error_count == 0 && !state.out_of_memory)
        onnxd_config_check(&state);
    if (state.out_of_memory || report->errors.failed)
        status = onnxd_error_out_of_memory("configuration", ARENA_BLOCK_BYTES, UINT64_MAX);
    else if (report->error_count != 0)
        status = onnxd_error(ONNXD_INVALID_ARGUMENT, "%u problem%s in the configuration",
                             report->error_count, report->error_count == 1 ? "" : "s");
    if (status == NULL) {
        *out_config = state.config;
        state.config = NULL;
    }
done:
    onnxd_config_destroy(state.config);
    return status;
}

void onnxd_config_destroy(onnxd_config *config)
{
    if (config == NULL)
        return;
    onnxd_arena_deinit(&config->arena);
    onnxd_free(config);
}

const char *onnxd_config_origin(const onnxd_config *config, const char *key)
{
    const onnxd_option *option = onnxd_option_find(key);
    const char *origin = option != NULL ? config->origins[onnxd_option_index(option)] : NULL;
    return origin != NULL ? origin : "default";
}

/* ---- comparison ---------------------------------------------------------------------------- */

static bool texts_equal(const char *a, const char *b)
{
    return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

static bool providers_equal(const onnxd_config_provider *a, const onnxd_config_provider *b)
{
    if (!texts_equal(a->name, b->name) || !texts_equal(a->module, b->module) ||
        a->device_count != b->device_count || a->option_count != b->option_count)
        return false;
    for (size_t i = 0; i < a->device_count; i++)
        if (a->device_ids[i] != b->device_ids[i])
            return false;
    for (size_t i = 0; i < a->option_count; i++)
        if (!texts_equal(a->options[i].key, b->options[i].key) ||
            !texts_equal(a->options[i].value, b->options[i].value))
            return false;
    return true;
}

bool onnxd_config_providers_equal(const onnxd_config *a, const onnxd_config *b)
{
    if (a->provider_count != b->provider_count)
        return false;
    for (size_t i = 0; i < a->provider_count; i++)
        if (!providers_equal(&a->providers[i], &b->providers[i]))
            return false;
    return true;
}
