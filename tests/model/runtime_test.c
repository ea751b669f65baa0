/* Which instances may share a runtime. */
#include "model/runtime.h"

#include <criterion/criterion.h>
#include <string.h>

#include "ep/cpu/cpu_ep.h"
#include "ops/ops.h"

static const char *const no_source[] = {NULL};
static const char *const vendor[] = {"other", "vendor", NULL};
static const char *const vendor_too[] = {"vendor", NULL};

static const char *const *of_none(const onnxd_ep *ep ONNXD_UNUSED)
{
    return no_source;
}
static const char *const *of_vendor(const onnxd_ep *ep ONNXD_UNUSED)
{
    return vendor;
}
static const char *const *of_vendor_too(const onnxd_ep *ep ONNXD_UNUSED)
{
    return vendor_too;
}

/* cpu_ep under another name and with sources of its own; `api` is to outlive it. */
static onnxd_ep *open_as(onnxd_ep_api *api, const char *name, uint32_t index,
                         const char *const *(*sources)(const onnxd_ep *ep))
{
    static onnxd_ep_host host = {.abi_version = ONNXD_EP_ABI_VERSION,
                                 .struct_size = sizeof(onnxd_ep_host)};
    onnxd_ep *ep = NULL;
    host.ops = onnxd_ops();
    *api = *onnxd_cpu_ep_api();
    api->name = name;
    api->context_source_keys = sources;
    onnxd_status *status = onnxd_ep_create(api, &host, index, &ep);
    cr_assert_null(status, "%s", onnxd_status_message(status));
    status = onnxd_ep_initialize(ep, NULL);
    cr_assert_null(status, "%s", onnxd_status_message(status));
    return ep;
}

/* The status of a runtime with two instances, which end here. */
static onnxd_status *join(onnxd_ep *one, onnxd_ep *other)
{
    const onnxd_runtime_options options = {SIZE_MAX, 0};
    onnxd_ep *eps[] = {one, other};
    onnxd_runtime *runtime = NULL;
    onnxd_status *status = onnxd_runtime_create(eps, 2, onnxd_ops(), &options, &runtime);
    cr_assert_eq(runtime == NULL, status != NULL);
    onnxd_runtime_destroy(runtime);
    if (status != NULL) {
        onnxd_ep_destroy(one);
        onnxd_ep_destroy(other);
    }
    return status;
}

Test(runtime, one_provider_owns_an_ep_context_source)
{
    onnxd_ep_api one, other;
    onnxd_status *status =
        join(open_as(&one, "one_ep", 0, of_vendor), open_as(&other, "other_ep", 0, of_vendor_too));
    cr_assert_eq(onnxd_status_code(status), ONNXD_DUPLICATE_CONTEXT_SOURCE);
    const char *message = onnxd_status_message(status);
    cr_expect_not_null(strstr(message, "'vendor'"), "%s", message);
    cr_expect_not_null(strstr(message, "'one_ep'"), "%s", message);
    cr_expect_not_null(strstr(message, "'other_ep'"), "%s", message);
    onnxd_status_free(status);
    status = join(open_as(&one, "one_ep", 0, of_vendor), open_as(&other, "other_ep", 0, of_none));
    cr_expect_null(status, "%s", onnxd_status_message(status));
    status = join(open_as(&one, "one_ep", 0, of_vendor), open_as(&other, "one_ep", 1, of_vendor));
    cr_expect_null(status, "instances of one provider share what it owns: %s",
                   onnxd_status_message(status));
}
