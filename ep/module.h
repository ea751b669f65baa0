/* Loading a provider's shared object. Threads: before the loop starts. */
#ifndef ONNXD_EP_MODULE_H
#define ONNXD_EP_MODULE_H

#include "ep/ep.h"

/* Opens `path`, finds ONNXD_EP_MODULE_SYMBOL and checks abi_version, struct_size and the required
 * entries. The module stays loaded for the life of the process: its code may be on any stack.
 * Errors: EP_LOAD_FAILED {path, reason}. */
ONNXD_NODISCARD onnxd_status *onnxd_ep_module_load(const char *path, const onnxd_ep_api **out_api);
/* The checks alone, for providers that are linked in. */
ONNXD_NODISCARD onnxd_status *onnxd_ep_api_check(const onnxd_ep_api *api, const char *origin);

#endif
