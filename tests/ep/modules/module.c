/* Modules that must be refused. Each build of this file defines one MODULE_... of those below. */
#include "ep/ep.h"

ONNXD_EXPORT const onnxd_ep_api *onnxd_ep_module(void);
ONNXD_EXPORT int onnxd_other_symbol(void);

#ifdef MODULE_NO_SYMBOL
int onnxd_other_symbol(void)
{
    return 1;
}
#else
const onnxd_ep_api *onnxd_ep_module(void)
{
#ifdef MODULE_NO_INTERFACE
    return NULL;
#else
    static onnxd_ep_api api = {.abi_version = ONNXD_EP_ABI_VERSION,
                               .struct_size = sizeof(onnxd_ep_api),
                               .name = "odd_ep",
                               .version = "1",
                               .device_type = ONNXD_DEVICE_CUSTOM};
#ifdef MODULE_WRONG_ABI
    api.abi_version = ONNXD_EP_ABI_VERSION + 1;
#endif
#ifdef MODULE_WRONG_SIZE
    api.struct_size = 8;
#endif
#ifdef MODULE_BAD_NAME
    api.name = "Odd";
#endif
    return &api;
#endif
}
#endif
