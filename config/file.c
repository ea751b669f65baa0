#include <stdio.h>
#include <string.h>

#include "base/suggest.h"
#include "config/internal.h"

void onnxd_config_take_status(onnxd_config_load_state *state, const char *where, const char *key,
                              onnxd_status *status)
{
    if (onnxd_status_code(status) == ONNXD_OUT_OF_MEMORY)
        state->out_of_memory = true;
    else
        onnxd_config_fault(state->report, where, key, "%s", onnxd_status_message(status));
    onnxd_status_free(status);
}

/* ---- one option ---------------------------------------------------------------------------- */

static bool is_text_kind(onnxd_option_kind kind)
{
    return kind == ONNXD_OPTION_STRING || kind == ONNXD_OPTION_LIST || kind == ONNXD_OPTION_LEVEL;
}

/* The value as text for onnxd_option_parse(), or NULL when the JSON type does not fit. */
static const char *text_of(const onnxd_option *option, onnxd_config_node node, char *number)
{
    bool is_sized = option->kind == ONNXD_OPTION_BYTES || option->most == ONNXD_UNLIMITED;

    if (cJSON_IsBool(node.item))
        return option->kind != ONNXD_OPTION_BOOL ? NULL
               : cJSON_IsTrue(node.item)         ? "true"
                                                 : "false";
    if (cJSON_IsNumber(node.item))
        return option->kind == ONNXD_OPTION_BOOL || is_text_kind(option->kind)
                   ? NULL
                   : onnxd_config_number(node, number);
    if (cJSON_IsString(node.item))
        return is_text_kind(option->kind) || is_sized ? node.item->valuestring : NULL;
    return NULL;
}

static onnxd_status *read_list(onnxd_config_load_state *state, const onnxd_option *option,
                               onnxd_config_node array)
{
    size_t count = 0;
    for (onnxd_config_node node = onnxd_config_first(array); node.item != NULL;
         node = onnxd_config_next(node), count++)
        if (!cJSON_IsString(node.item))
            return onnxd_error(ONNXD_INVALID_ARGUMENT, "element %zu: expected a string, got %s",
                               count, onnxd_config_kind(node));

    const char **elements =
        onnxd_arena_alloc_zero(&state->config->arena, count + 1, sizeof(*elements));
    if (elements == NULL)
        return onnxd_error_out_of_memory("configuration list", (count + 1) * sizeof(*elements),
                                         UINT64_MAX);
    size_t i = 0;
    for (const cJSON *item = array.item->child; item != NULL; item = item->next)
        elements[i++] = item->valuestring;
    return onnxd_option_set_list(option, elements, count, &state->config->arena, state->config);
}

static onnxd_status *read_value(onnxd_config_load_state *state, const onnxd_option *option,
                                onnxd_config_node node)
{
    char number[ONNXD_CONFIG_NUMBER];
    char shown[ONNXD_CONFIG_SHOWN];
    char expected[ONNXD_OPTION_EXPECTED];

    if (option->kind == ONNXD_OPTION_LIST && cJSON_IsArray(node.item))
        return read_list(state, option, node);
    const char *text = text_of(option, node, number);
    if (text == NULL && node.item->valuestring != NULL)
        return onnxd_error(
            ONNXD_INVALID_ARGUMENT, "expected %s, got the string '%s'",
            onnxd_option_expected(option, expected),
            onnxd_config_show(node.item->valuestring, strlen(node.item->valuestring), shown));
    if (text == NULL)
        return onnxd_error(ONNXD_INVALID_ARGUMENT, "expected %s, got %s",
                           onnxd_option_expected(option, expected), onnxd_config_kind(node));
    if (option->kind == ONNXD_OPTION_LIST)
        return onnxd_option_set_list(option, &text, 1, &state->config->arena, state->config);
    return onnxd_option_parse(option, text, &state->config->arena, state->config);
}

static void read_option(onnxd_config_load_state *state, const onnxd_option *option,
                        onnxd_config_node node)
{
    char where[ONNXD_CONFIG_WHERE];
    size_t index = onnxd_option_index(option);

    onnxd_config_where(node, where);
    if (state->origins[index] != NULL) {
        onnxd_config_fault(state->report, where, option->key, "given twice, first at %s",
                           state->origins[index]);
        return;
    }
    state->origins[index] = onnxd_arena_strndup(&state->config->arena, where, strlen(where));
    if (state->origins[index] == NULL) {
        state->out_of_memory = true;
        return;
    }
    onnxd_status *status = read_value(state, option, node);
    if (status != NULL)
        onnxd_config_take_status(state, where, option->key, status);
}

/* ---- groups -------------------------------------------------------------------------------- */

static bool is_group(const char *name)
{
    for (size_t i = 0; i < onnxd_option_count(); i++)
        if (strcmp(onnxd_option_at(i)->group, name) == 0)
            return true;
    return false;
}

static const onnxd_option *find_in_group(const char *group, const char *field)
{
    for (size_t i = 0; i < onnxd_option_count(); i++) {
        const onnxd_option *option = onnxd_option_at(i);
        if (strcmp(option->group, group) == 0 && strcmp(option->field, field) == 0)
            return option;
    }
    return NULL;
}

/* "unknown key" with the nearest name of the group, or of all groups when `group` is NULL. */
static void refuse_key(onnxd_config_load_state *state, const char *group, onnxd_config_node node)
{
    char where[ONNXD_CONFIG_WHERE];
    char key[ONNXD_CONFIG_SHOWN];
    char full[ONNXD_CONFIG_SHOWN + 64];
    const char *name = node.item->string;
    onnxd_suggest suggest = {.name = name};
    const char *elsewhere = NULL;

    for (size_t i = 0; i < onnxd_option_count(); i++) {
        const onnxd_option *option = onnxd_option_at(i);
        if (group == NULL)
            onnxd_suggest_offer(&suggest, option->group);
        else if (strcmp(option->group, group) == 0)
            onnxd_suggest_offer(&suggest, option->field);
        if (strcmp(option->field, name) == 0)
            elsewhere = option->key;
    }
    if (group == NULL)
        onnxd_suggest_offer(&suggest, "providers");
    onnxd_config_where(node, where);
    onnxd_config_show(name, strlen(name), key);
    snprintf(full, sizeof(full), "%s%s%s", group != NULL ? group : "", group != NULL ? "." : "",
             key);
    if (elsewhere != NULL)
        onnxd_config_fault(state->report, where, full, "unknown key, did you mean '%s'?",
                           elsewhere);
    else if (suggest.best != NULL)
        onnxd_config_fault(state->report, where, full, "unknown key, did you mean '%s%s%s'?",
                           group != NULL ? group : "", group != NULL ? "." : "", suggest.best);
    else
        onnxd_config_fault(state->report, where, full, "unknown key");
}

static void read_group(onnxd_config_load_state *state, onnxd_config_node object)
{
    char where[ONNXD_CONFIG_WHERE];
    const char *group = object.item->string;

    if (!cJSON_IsObject(object.item)) {
        onnxd_config_fault(state->report, onnxd_config_where(object, where), group,
                           "expected an object, got %s", onnxd_config_kind(object));
        return;
    }
    for (onnxd_config_node node = onnxd_config_first(object);
         node.item != NULL && !onnxd_config_report_is_full(state->report);
         node = onnxd_config_next(node)) {
        const onnxd_option *option = find_in_group(group, node.item->string);
        if (option != NULL)
            read_option(state, option, node);
        else
            refuse_key(state, group, node);
    }
}

/* Names of the root's members that were read. Only known names enter it. */
typedef struct seen_names {
    const char *names[32];
    size_t count;
} seen_names;

static bool is_repeated(onnxd_config_load_state *state, onnxd_config_node node, seen_names *seen)
{
    char where[ONNXD_CONFIG_WHERE];
    for (size_t i = 0; i < seen->count; i++) {
        if (strcmp(seen->names[i], node.item->string) == 0) {
            onnxd_config_fault(state->report, onnxd_config_where(node, where), node.item->string,
                               "given twice");
            return true;
        }
    }
    if (seen->count < ONNXD_COUNT(seen->names))
        seen->names[seen->count++] = node.item->string;
    return false;
}

void onnxd_config_read_file(onnxd_config_load_state *state, const onnxd_config_document *document)
{
    char where[ONNXD_CONFIG_WHERE];
    onnxd_config_node root = onnxd_config_root(document);
    seen_names seen = {.count = 0};

    if (!cJSON_IsObject(root.item)) {
        onnxd_config_fault(state->report, onnxd_config_where(root, where), NULL,
                           "expected an object, got %s", onnxd_config_kind(root));
        return;
    }
    for (onnxd_config_node node = onnxd_config_first(root);
         node.item != NULL && !onnxd_config_report_is_full(state->report);
         node = onnxd_config_next(node)) {
        bool is_providers = strcmp(node.item->string, "providers") == 0;
        if (!is_providers && !is_group(node.item->string))
            refuse_key(state, NULL, node);
        else if (is_repeated(state, node, &seen))
            continue;
        else if (is_providers)
            onnxd_config_read_providers(state, node);
        else
            read_group(state, node);
    }
}
