/*
 * A number that tells the ids of one instance from those of another, so that a fence or buffer
 * handed to the wrong instance is noticed.
 *
 * Half of it comes from the device id, which tells providers and devices apart even when their code
 * lies in different modules; the other half counts the instances that this module made.
 */
#ifndef ONNXD_EP_INSTANCE_TAG_H
#define ONNXD_EP_INSTANCE_TAG_H

#include <stdint.h>

#include "base/tensor.h"

/* Never 0, and unlike for any two of the last 255 instances of one device. Threads: any. */
uint16_t onnxd_instance_tag(onnxd_device_id device);

#endif
