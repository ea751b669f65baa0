#include <stdio.h>
#include <string.h>

#include "base/number.h"
#include "base/suggest.h"
#include "config/internal.h"

/* Text of onnxd_config_show() in quotes. */
#define QUOTED (ONNXD_CONFIG_SHOWN + 2)

/* The array as it is being read. */
typedef struct provider_reader {
    onnxd_config_load_state *state;
    onnxd_config_provider *provider;
    size_t index; /* in the array */
    unsigned seen;
} provider_reader;

enum { NAME = 1, MODULE = 2, DEVICE_ID = 4, DEVICE_IDS = 8, OPTIONS = 16 };

static const struct {
    const char *name;
    unsigned bit;
} members[] = {
    {"name", NAME},       {"module", MODULE}, {"device_id", DEVICE_ID}, {"device_ids", DEVICE_IDS},
    {"options", OPTIONS},
};

static void fault(provider_reader *reader, onnxd_config_node node, const char *member,
                  const char *reason, const char *found)
{
    char where[ONNXD_CONFIG_WHERE];
    char key[ONNXD_CONFIG_SHOWN + 64];
    snprintf(key, sizeof(key), "providers[%zu]%s%s", reader->index, member != NULL ? "." : "",
             member != NULL ? member : "");
    onnxd_config_fault(reader->state->report, onnxd_config_where(node, where), key, "%s%s%s",
                       reason, found != NULL ? ", got " : "", found != NULL ? found : "");
}

static const char *copy(provider_reader *reader, const char *text)
{
    const char *result = onnxd_arena_strndup(&reader->state->config->arena, text, strlen(text));
    if (result == NULL)
        reader->state->out_of_memory = true;
    return result;
}

/* ---- members ------------------------------------------------------------------------------- */

static bool is_provider_name(const char *name)
{
    size_t length = strlen(name);
    if (length == 0 || length > 32 || name[0] < 'a' || name[0] > 'z')
        return false;
    return strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_") == length;
}

static const char *quote(const char *text, char *buffer)
{
    char shown[ONNXD_CONFIG_SHOWN];
    snprintf(buffer, QUOTED, "'%s'", onnxd_config_show(text, strlen(text), shown));
    return buffer;
}

static void read_name(provider_reader *reader, onnxd_config_node node)
{
    char shown[QUOTED];
    if (!cJSON_IsString(node.item))
        fault(reader, node, "name", "expected a string", onnxd_config_kind(node));
    else if (!is_provider_name(node.item->valuestring))
        fault(reader, node, "name",
              "expected a small letter and then up to 31 small letters, digits or underscores",
              quote(node.item->valuestring, shown));
    else
        reader->provider->name = copy(reader, node.item->valuestring);
}

static void read_module(provider_reader *reader, onnxd_config_node node)
{
    if (!cJSON_IsString(node.item) || node.item->valuestring[0] == '\0')
        fault(reader, node, "module", "expected the path of a shared object",
              cJSON_IsString(node.item) ? "an empty string" : onnxd_config_kind(node));
    else
        reader->provider->module = copy(reader, node.item->valuestring);
}

static bool read_device(provider_reader *reader, onnxd_config_node node, const char *member,
                        uint32_t *out_device)
{
    char number[ONNXD_CONFIG_NUMBER];
    uint64_t value;
    if (!cJSON_IsNumber(node.item)) {
        fault(reader, node, member, "expected an integer from 0 to 65535", onnxd_config_kind(node));
        return false;
    }
    onnxd_config_number(node, number);
    if (!onnxd_parse_u64(number, strlen(number), &value) || value > ONNXD_CONFIG_MAX_DEVICE_ID) {
        fault(reader, node, member, "expected an integer from 0 to 65535", number);
        return false;
    }
    *out_device = (uint32_t)value;
    return true;
}

static void read_devices(provider_reader *reader, onnxd_config_node node, const char *member)
{
    bool is_array = cJSON_IsArray(node.item);
    size_t count = is_array ? (size_t)cJSON_GetArraySize(node.item) : 1;
    if (member[sizeof("device_id") - 1] == 's' && !is_array) {
        fault(reader, node, member, "expected an array of integers", onnxd_config_kind(node));
        return;
    }
    if (member[sizeof("device_id") - 1] == '\0' && is_array) {
        fault(reader, node, member, "expected an integer from 0 to 65535", onnxd_config_kind(node));
        return;
    }
    if (count == 0 || count > ONNXD_CONFIG_MAX_DEVICES) {
        fault(reader, node, member, "expected 1 to 64 device ids", NULL);
        return;
    }
    uint32_t *devices =
        onnxd_arena_alloc_zero(&reader->state->config->arena, count, sizeof(*devices));
    if (devices == NULL) {
        reader->state->out_of_memory = true;
        return;
    }
    onnxd_config_node element = is_array ? onnxd_config_first(node) : node;
    for (size_t i = 0; i < count; i++, element = onnxd_config_next(element)) {
        if (!read_device(reader, element, member, &devices[i]))
            return;
        for (size_t j = 0; j < i; j++) {
            if (devices[j] == devices[i]) {
                fault(reader, element, member, "the same device id twice", NULL);
                return;
            }
        }
    }
    reader->provider->device_ids = devices;
    reader->provider->device_count = count;
}

static const char *option_text(onnxd_config_node node, char *number)
{
    if (cJSON_IsString(node.item))
        return node.item->valuestring;
    if (cJSON_IsNumber(node.item))
        return onnxd_config_number(node, number);
    if (cJSON_IsBool(node.item))
        return cJSON_IsTrue(node.item) ? "true" : "false";
    return NULL;
}

static void read_options(provider_reader *reader, onnxd_config_node object)
{
    char number[ONNXD_CONFIG_NUMBER];
    size_t count = cJSON_IsObject(object.item) ? (size_t)cJSON_GetArraySize(object.item) : 0;
    if (!cJSON_IsObject(object.item) || count > ONNXD_CONFIG_MAX_PROVIDER_OPTIONS) {
        fault(reader, object, "options", "expected an object of at most 64 members",
              count == 0 ? onnxd_config_kind(object) : NULL);
        return;
    }
    onnxd_config_pair *pairs =
        onnxd_arena_alloc_zero(&reader->state->config->arena, count, sizeof(*pairs));
    if (pairs == NULL) {
        reader->state->out_of_memory = true;
        return;
    }
    size_t used = 0;
    for (onnxd_config_node node = onnxd_config_first(object);
         node.item != NULL && !onnxd_config_report_is_full(reader->state->report);
         node = onnxd_config_next(node)) {
        char member[ONNXD_CONFIG_SHOWN + 16];
        char shown[ONNXD_CONFIG_SHOWN];
        char where[ONNXD_CONFIG_WHERE];
        const char *text = option_text(node, number);
        bool is_known = false;
        for (size_t i = 0; i < used; i++)
            is_known |= strcmp(pairs[i].key, node.item->string) == 0;
        snprintf(member, sizeof(member), "options.%s",
                 onnxd_config_show(node.item->string, strlen(node.item->string), shown));
        if (text == NULL)
            fault(reader, node, member, "expected a string, a number, true or false",
                  onnxd_config_kind(node));
        else if (is_known)
            fault(reader, node, member, "given twice", NULL);
        else {
            pairs[used].key = copy(reader, node.item->string);
            pairs[used].value = copy(reader, text);
            pairs[used].origin = copy(reader, onnxd_config_where(node, where));
            if (pairs[used].key == NULL || pairs[used].value == NULL || pairs[used].origin == NULL)
                return;
            used++;
        }
    }
    reader->provider->options = pairs;
    reader->provider->option_count = used;
}

/* ---- one provider -------------------------------------------------------------------------- */

static unsigned member_bit(provider_reader *reader, onnxd_config_node node)
{
    onnxd_suggest suggest = {.name = node.item->string};
    char shown[ONNXD_CONFIG_SHOWN];
    char reason[128];

    onnxd_config_show(node.item->string, strlen(node.item->string), shown);
    for (size_t i = 0; i < ONNXD_COUNT(members); i++) {
        if (strcmp(node.item->string, members[i].name) == 0) {
            if ((reader->seen & members[i].bit) != 0) {
                fault(reader, node, shown, "given twice", NULL);
                return 0;
            }
            return members[i].bit;
        }
        onnxd_suggest_offer(&suggest, members[i].name);
    }
    if (suggest.best != NULL)
        snprintf(reason, sizeof(reason), "unknown key, did you mean '%s'?", suggest.best);
    else
        snprintf(reason, sizeof(reason),
                 "unknown key, known are name, module, device_id, device_ids and options");
    fault(reader, node, shown, reason, NULL);
    return 0;
}

static void read_member(provider_reader *reader, onnxd_config_node node)
{
    unsigned bit = member_bit(reader, node);
    reader->seen |= bit;
    if (bit == NAME)
        read_name(reader, node);
    else if (bit == MODULE)
        read_module(reader, node);
    else if (bit == OPTIONS)
        read_options(reader, node);
    else if (bit == DEVICE_ID || bit == DEVICE_IDS)
        read_devices(reader, node, node.item->string);
}

static void read_provider(provider_reader *reader, onnxd_config_node object)
{
    static const uint32_t device_zero = 0;
    char where[ONNXD_CONFIG_WHERE];

    reader->provider->device_ids = &device_zero;
    reader->provider->device_count = 1;
    reader->provider->origin = copy(reader, onnxd_config_where(object, where));
    reader->seen = 0;
    if (!cJSON_IsObject(object.item)) {
        fault(reader, object, NULL, "expected an object", onnxd_config_kind(object));
        return;
    }
    for (onnxd_config_node node = onnxd_config_first(object);
         node.item != NULL && !onnxd_config_report_is_full(reader->state->report);
         node = onnxd_config_next(node))
        read_member(reader, node);
    if ((reader->seen & NAME) == 0)
        fault(reader, object, "name", "missing", NULL);
    if ((reader->seen & DEVICE_ID) != 0 && (reader->seen & DEVICE_IDS) != 0)
        fault(reader, object, "device_ids", "device_id and device_ids exclude each other", NULL);
}

/* No device may be opened twice, and one name may stand for one module only. */
static void check_against_earlier(provider_reader *reader, const onnxd_config_provider *all,
                                  onnxd_config_node object)
{
    const onnxd_config_provider *mine = reader->provider;
    for (size_t i = 0; i < reader->index; i++) {
        const onnxd_config_provider *other = &all[i];
        if (mine->name == NULL || other->name == NULL || strcmp(mine->name, other->name) != 0)
            continue;
        if (strcmp(mine->module != NULL ? mine->module : "",
                   other->module != NULL ? other->module : "") != 0)
            fault(reader, object, "module",
                  "another module than that of an earlier provider of "
                  "the same name",
                  NULL);
        for (size_t a = 0; a < mine->device_count; a++)
            for (size_t b = 0; b < other->device_count; b++)
                if (mine->device_ids[a] == other->device_ids[b])
                    fault(reader, object, "device_ids",
                          "a device that an earlier provider of the same name has", NULL);
    }
}

void onnxd_config_read_providers(onnxd_config_load_state *state, onnxd_config_node array)
{
    char where[ONNXD_CONFIG_WHERE];
    size_t count = cJSON_IsArray(array.item) ? (size_t)cJSON_GetArraySize(array.item) : 0;

    if (count == 0 || count > ONNXD_CONFIG_MAX_PROVIDERS) {
        onnxd_config_fault(state->report, onnxd_config_where(array, where), "providers",
                           "expected an array of 1 to %u objects, got %s of %zu",
                           ONNXD_CONFIG_MAX_PROVIDERS, onnxd_config_kind(array), count);
        return;
    }
    onnxd_config_provider *providers =
        onnxd_arena_alloc_zero(&state->config->arena, count, sizeof(*providers));
    if (providers == NULL) {
        state->out_of_memory = true;
        return;
    }
    provider_reader reader = {.state = state};
    for (onnxd_config_node node = onnxd_config_first(array);
         node.item != NULL && !onnxd_config_report_is_full(state->report);
         node = onnxd_config_next(node), reader.index++) {
        reader.provider = &providers[reader.index];
        read_provider(&reader, node);
        check_against_earlier(&reader, providers, node);
    }
    state->config->providers = providers;
    state->config->provider_count = count;
}
