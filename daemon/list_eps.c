#include <stdlib.h>
#include <string.h>

#include "daemon/command.h"
#include "daemon/wire.h"
#include "ep/options.h"

static void print_option(const onnxd_ep_option_def *option)
{
    printf("    %-34s ", option->key);
    switch (option->kind) {
    case ONNXD_EP_OPTION_INT:
        printf("integer, %.0f to %.0f", option->minimum, option->maximum);
        break;
    case ONNXD_EP_OPTION_FLOAT:
        printf("number, %g to %g", option->minimum, option->maximum);
        break;
    case ONNXD_EP_OPTION_BOOL:
        printf("true or false");
        break;
    case ONNXD_EP_OPTION_ENUM:
        for (size_t i = 0; option->choices[i] != NULL; i++)
            printf("%s%s", i == 0 ? "" : ", ", option->choices[i]);
        break;
    case ONNXD_EP_OPTION_STRING:
        printf("text");
        break;
    }
    printf(": %s\n", option->help);
}

static void print_instance(const onnxd_ep *ep)
{
    onnxd_ep_info info = onnxd_ep_get_info(ep);
    printf("  device %s: %s memory, ", onnxd_ep_label(ep),
           info.is_host_addressable ? "host" : "its own");
    if (info.memory_bytes == UINT64_MAX)
        printf("of unknown size");
    else
        printf("%.1f MiB", (double)info.memory_bytes / (1024.0 * 1024.0));
    printf(", alignment %zu\n", info.alignment_bytes);
}

/* Instances that do not open are shown with the reason: the list is how one finds out. */
static bool print_devices(const onnxd_config *config, const onnxd_provider_set *set,
                          const char *name)
{
    bool all_opened = true;
    for (size_t i = 0; i < config->provider_count; i++) {
        const onnxd_config_provider *provider = &config->providers[i];
        if (strcmp(provider->name, name) != 0)
            continue;
        for (size_t j = 0; j < provider->device_count; j++) {
            onnxd_ep *ep = NULL;
            onnxd_status *status =
                onnxd_provider_open(set, provider, provider->device_ids[j], NULL, &ep);
            if (status == NULL) {
                print_instance(ep);
            } else {
                printf("  device %s:%u: %s\n", name, provider->device_ids[j],
                       onnxd_status_message(status));
                all_opened = false;
            }
            onnxd_status_free(status);
            onnxd_ep_destroy(ep);
        }
    }
    return all_opened;
}

int onnxd_command_list_eps(const onnxd_invocation *invocation, const onnxd_config *config)
{
    (void)invocation;
    onnxd_provider_set *set = NULL;
    bool all_opened = true;
    onnxd_status *status = onnxd_provider_set_create(config, &set);
    if (status != NULL)
        return onnxd_cli_fail(status, true);
    for (size_t i = 0; i < onnxd_provider_set_count(set); i++) {
        const onnxd_ep_api *api = onnxd_provider_set_at(set, i);
        printf("%s %s\n", api->name, api->version);
        all_opened &= print_devices(config, set, api->name);
        if (api->option_defs != NULL)
            printf("  options:\n");
        for (size_t j = 0; api->option_defs != NULL && api->option_defs[j].key != NULL; j++)
            print_option(&api->option_defs[j]);
    }
    onnxd_provider_set_destroy(set);
    return all_opened ? EXIT_SUCCESS : EXIT_FAILURE;
}
