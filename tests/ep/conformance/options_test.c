/* Every option of the provider changes something that can be measured; others are refused. */
#include <string.h>

#include "ep/options.h"
#include "support.h"

static double measure(const option_effect *effect, const char *value)
{
    const onnxd_ep_option options[] = {{effect->key, value}, effect->also};
    onnxd_ep *ep = open_ep(options, effect->also.key != NULL ? 2 : 1);
    double result = effect->measure(ep);
    onnxd_ep_destroy(ep);
    return result;
}

CONFORMANCE_TEST(options, each_one_changes_something)
{
    for (const option_effect *effect = conformance_provider.effects; effect->key != NULL;
         effect++) {
        double lesser = measure(effect, effect->lesser), greater = measure(effect, effect->greater);
        cr_assert_lt(lesser, greater, "%s=%s gives %g, %s=%s gives %g", effect->key, effect->lesser,
                     lesser, effect->key, effect->greater, greater);
    }
}

static bool is_listed(const char *key)
{
    for (const option_effect *effect = conformance_provider.effects; effect->key != NULL; effect++)
        if (strcmp(effect->key, key) == 0)
            return true;
    for (const exemption *other = conformance_provider.unmeasurable; other->name != NULL; other++)
        if (strcmp(other->name, key) == 0)
            return true;
    return false;
}

CONFORMANCE_TEST(options, each_one_is_described_and_measured)
{
    const onnxd_ep_option_def *defs = conformance_provider.load()->option_defs;
    cr_assert_not_null(defs);
    cr_assert_not_null(defs[0].key);
    for (; defs->key != NULL; defs++) {
        cr_assert(is_listed(defs->key), "nothing shows what %s does", defs->key);
        cr_assert_gt(strlen(defs->help), 0, "%s has no help", defs->key);
        size_t prefix = strcspn(conformance_provider.name, "_");
        cr_assert_eq(strncmp(defs->key, conformance_provider.name, prefix), 0);
        cr_assert_eq(defs->key[prefix], '.', "%s is not in the provider's name space", defs->key);
    }
}

CONFORMANCE_TEST(options, unknown_keys_name_the_nearest)
{
    const onnxd_ep_option bad = {conformance_provider.wrong_key, "1"};
    const onnxd_ep_config config = {&bad, 1};
    onnxd_ep *ep = create_ep(0);
    onnxd_status *status = onnxd_ep_initialize(ep, &config);
    const char *message = onnxd_status_message(status);
    cr_assert_not_null(strstr(message, conformance_provider.wrong_key), "%s", message);
    cr_assert_not_null(strstr(message, conformance_provider.nearest_key), "%s", message);
    expect_code(status, ONNXD_INVALID_ARGUMENT);
    onnxd_ep_destroy(ep);
}

CONFORMANCE_TEST(options, bad_values_name_the_option)
{
    for (const option_effect *effect = conformance_provider.effects; effect->key != NULL;
         effect++) {
        if (strchr(effect->lesser, ',') != NULL || strcmp(effect->lesser, "") == 0 ||
            strcmp(effect->greater, "") == 0)
            continue; /* lists of names: any text is one */
        const onnxd_ep_option bad = {effect->key, "-?"};
        const onnxd_ep_config config = {&bad, 1};
        onnxd_ep *ep = create_ep(0);
        expect_message(onnxd_ep_initialize(ep, &config), ONNXD_INVALID_ARGUMENT, effect->key);
        onnxd_ep_destroy(ep);
    }
}
