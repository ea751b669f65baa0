#include "ep/module.h"

#include <criterion/criterion.h>
#include <dlfcn.h>
#include <string.h>

static void expect_refused(const char *path, const char *reason)
{
    const onnxd_ep_api *api = NULL;
    onnxd_status *status = onnxd_ep_module_load(path, &api);
    cr_assert_eq(onnxd_status_code(status), ONNXD_EP_LOAD_FAILED);
    const char *message = onnxd_status_message(status);
    cr_assert_not_null(strstr(message, path), "'%s' does not name the path", message);
    cr_assert_not_null(strstr(message, reason), "'%s' does not say '%s'", message, reason);
    cr_assert_null(api, "the out-parameter was touched on failure");
    onnxd_status_free(status);
}

Test(module, bad_modules_are_refused_with_path_and_reason)
{
    expect_refused("/nonexistent/x_ep.so", "No such file");
    expect_refused("x_ep.so", "a path with a directory is needed");
    expect_refused("", "a path with a directory is needed");
    expect_refused(NOT_A_MODULE, "invalid ELF header");
    expect_refused(MODULES "/no_symbol.so", ONNXD_EP_MODULE_SYMBOL);
    expect_refused(MODULES "/no_interface.so", "returns no interface");
    expect_refused(MODULES "/wrong_abi.so", "built for interface version 8, this is version 7");
    expect_refused(MODULES "/wrong_size.so", "8 bytes instead of");
    expect_refused(MODULES "/bad_name.so", "snake_case");
    expect_refused(MODULES "/missing_entry.so", "lacks the required create()");
}

Test(module, no_path_is_refused)
{
    const onnxd_ep_api *api = NULL;
    onnxd_status *status = onnxd_ep_module_load(NULL, &api);
    cr_assert_eq(onnxd_status_code(status), ONNXD_EP_LOAD_FAILED);
    onnxd_status_free(status);
}

/* The table's pointers between two members, both included. */
#define POINTERS(first, last)                                                                      \
    ((offsetof(onnxd_ep_api, last) - offsetof(onnxd_ep_api, first)) / sizeof(void *) + 1)

Test(module, every_required_entry_is_asked_for_and_no_other)
{
    const onnxd_ep_api *whole = NULL;
    onnxd_status *status = onnxd_ep_module_load(SIM_MODULE, &whole);
    cr_assert_null(status, "%s", onnxd_status_message(status));
    for (size_t i = 0; i < POINTERS(create, load_context); i++) {
        onnxd_ep_api api = *whole;
        memset((char *)&api + offsetof(onnxd_ep_api, create) + i * sizeof(void *), 0,
               sizeof(void *));
        status = onnxd_ep_api_check(&api, "here");
        onnxd_code wanted = i < POINTERS(create, sync) ? ONNXD_EP_LOAD_FAILED : ONNXD_OK;
        cr_assert_eq(onnxd_status_code(status), wanted, "entry %zu", i);
        onnxd_status_free(status);
    }
}

Test(module, the_simulator_loads_and_exports_one_symbol)
{
    const onnxd_ep_api *api = NULL, *again = NULL;
    onnxd_status *status = onnxd_ep_module_load(SIM_MODULE, &api);
    cr_assert_null(status, "%s", onnxd_status_message(status));
    cr_assert_str_eq(api->name, "sim_ep");
    cr_assert_null(onnxd_ep_module_load(SIM_MODULE, &again));
    cr_assert_eq(api, again);
    void *library = dlopen(SIM_MODULE, RTLD_NOW | RTLD_NOLOAD);
    cr_assert_not_null(library);
    cr_assert_not_null(dlsym(library, ONNXD_EP_MODULE_SYMBOL));
    const char *const private[] = {"onnxd_error", "onnxd_pool_create", "onnxd_ep_create"};
    for (size_t i = 0; i < ONNXD_COUNT(private); i++)
        cr_assert_null(dlsym(library, private[i]), "%s is exported", private[i]);
    dlclose(library);
}
