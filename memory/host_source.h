/* The pool source for host memory: aligned heap blocks. Stateless, any thread. */
#ifndef ONNXD_MEMORY_HOST_SOURCE_H
#define ONNXD_MEMORY_HOST_SOURCE_H

#include "memory/pool.h"

onnxd_pool_source onnxd_host_pool_source(void);

#endif
