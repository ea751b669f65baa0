#include "ep/instance_tag.h"

#include <stdatomic.h>

uint16_t onnxd_instance_tag(onnxd_device_id device)
{
    static _Atomic uint32_t made;
    /* 1 to 255: no tag is 0, so small numbers are never ids. */
    uint32_t counted = atomic_fetch_add_explicit(&made, 1, memory_order_relaxed) % 255 + 1;
    uint32_t type =
        device.type >= ONNXD_DEVICE_CUSTOM ? 2 + (device.type - ONNXD_DEVICE_CUSTOM) : device.type;
    uint32_t index = device.index & 0x1fu;
    return (uint16_t)(((type & 0x7u) << 13) | (index << 8) | counted);
}
