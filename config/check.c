#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include <sys/un.h>

#include "base/number.h"
#include "base/path.h"
#include "base/suggest.h"
#include "config/internal.h"

/* Puts a problem with the value of `key` into the report, where that value came from. */
#define FAULT(state, key, ...)                                                                     \
    onnxd_config_fault((state)->report, onnxd_config_origin((state)->config, key), key, __VA_ARGS__)

/* ---- order --------------------------------------------------------------------------------- */

/* The first must not be more than the second. */
static const char *const ordered_keys[][2] = {
    {"http.default_timeout_us", "http.max_timeout_us"},
    {"http.max_body_bytes", "http.max_inflight_bytes"},
    {"http.max_header_field_bytes", "http.max_header_bytes"},
    {"limits.fold_max_node_bytes", "limits.fold_max_total_bytes"},
};

static uint64_t number_of(const onnxd_option *option, const onnxd_config *config)
{
    const void *field = (const char *)config + option->offset;
    return option->kind == ONNXD_OPTION_U32 ? *(const uint32_t *)field : *(const uint64_t *)field;
}

static void check_order(onnxd_config_load_state *state)
{
    for (size_t i = 0; i < ONNXD_COUNT(ordered_keys); i++) {
        const char *lesser = ordered_keys[i][0];
        const char *greater = ordered_keys[i][1];
        const onnxd_option *option = onnxd_option_find(lesser);
        uint64_t low = number_of(option, state->config);
        uint64_t high = number_of(onnxd_option_find(greater), state->config);
        if (low <= high)
            continue;
        if (state->origins[onnxd_option_index(option)] != NULL)
            FAULT(state, lesser, "is %llu, must not be more than %s, which is %llu",
                  (unsigned long long)low, greater, (unsigned long long)high);
        else
            FAULT(state, greater, "is %llu, must not be less than %s, which is %llu",
                  (unsigned long long)high, lesser, (unsigned long long)low);
    }
}

/* ---- addresses ----------------------------------------------------------------------------- */

static bool is_host(const char *text, size_t length, bool is_bracketed)
{
    char host[INET6_ADDRSTRLEN];
    struct in6_addr address;

    if (is_bracketed && length > 0) {
        const char *zone = memchr(text, '%', length); /* "fe80::1%eth0" */
        length = zone != NULL ? (size_t)(zone - text) : length;
    }
    if (length == 0 || length >= sizeof(host))
        return false;
    memcpy(host, text, length);
    host[length] = '\0';
    return inet_pton(is_bracketed ? AF_INET6 : AF_INET, host, &address) == 1;
}

/* The reason why an address cannot be listened on, or NULL. */
static const char *find_address_fault(const char *address)
{
    static const char prefix[] = "unix:";
    struct sockaddr_un local;
    const char *colon = strrchr(address, ':');
    uint64_t port;

    if (strncmp(address, prefix, sizeof(prefix) - 1) == 0) {
        size_t length = strlen(address) - (sizeof(prefix) - 1);
        return length > 0 && length < sizeof(local.sun_path)
                   ? NULL
                   : "has no path, or one longer than 107 bytes";
    }
    if (colon == NULL || !onnxd_parse_u64(colon + 1, strlen(colon + 1), &port) || port > 65535)
        return "does not end in a port from 0 to 65535";
    size_t length = (size_t)(colon - address);
    bool is_bracketed = address[0] == '[' && length >= 2 && address[length - 1] == ']';
    if (is_bracketed ? is_host(address + 1, length - 2, true) : is_host(address, length, false))
        return NULL;
    return "has no numeric IPv4 address, or IPv6 address in brackets, before its port";
}

static void check_addresses(onnxd_config_load_state *state)
{
    static const char key[] = "http.listen";
    char shown[ONNXD_CONFIG_SHOWN];
    const char *const *address = state->config->http_listen;

    if (*address == NULL)
        FAULT(state, key, "is empty, at least one address is needed");
    for (; *address != NULL; address++) {
        const char *fault = find_address_fault(*address);
        if (fault != NULL)
            FAULT(state, key, "address '%s' %s; allowed are 127.0.0.1:8000, [::1]:8000, unix:/path",
                  onnxd_config_show(*address, strlen(*address), shown), fault);
    }
}

/* ---- names --------------------------------------------------------------------------------- */

static void check_model_name(onnxd_config_load_state *state)
{
    char shown[ONNXD_CONFIG_SHOWN];
    const char *name = state->config->models_name;
    if (name[0] != '\0' && !onnxd_is_model_name(name, strlen(name)))
        FAULT(state, "models.name",
              "'%s' is no name of a model: expected a letter, digit or underscore and then up to "
              "127 letters, digits, underscores, dots or dashes",
              onnxd_config_show(name, strlen(name), shown));
}

/* models.ep is a provider's name, or name:device. */
static void check_chosen_provider(onnxd_config_load_state *state)
{
    const onnxd_config *config = state->config;
    const char *chosen = config->models_ep;
    onnxd_suggest suggest = {.name = chosen};
    char shown[ONNXD_CONFIG_SHOWN];
    char label[64];

    if (chosen[0] == '\0')
        return;
    for (size_t i = 0; i < config->provider_count; i++) {
        const onnxd_config_provider *provider = &config->providers[i];
        onnxd_suggest_offer(&suggest, provider->name);
        for (size_t j = 0; j < provider->device_count; j++) {
            snprintf(label, sizeof(label), "%s:%u", provider->name, provider->device_ids[j]);
            if (strcmp(chosen, provider->name) == 0 || strcmp(chosen, label) == 0)
                return;
        }
    }
    onnxd_config_show(chosen, strlen(chosen), shown);
    if (suggest.best != NULL)
        FAULT(state, "models.ep", "provider '%s' is not configured, did you mean '%s'?", shown,
              suggest.best);
    else
        FAULT(state, "models.ep", "provider '%s' is not configured", shown);
}

void onnxd_config_check(onnxd_config_load_state *state)
{
    check_order(state);
    check_addresses(state);
    check_model_name(state);
    check_chosen_provider(state);
}
