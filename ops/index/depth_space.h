/* The parsed attributes of DepthToSpace and SpaceToDepth, as providers read them through
 * node->params. */
#ifndef ONNXD_OPS_INDEX_DEPTH_SPACE_H
#define ONNXD_OPS_INDEX_DEPTH_SPACE_H

#include <stdbool.h>
#include <stdint.h>

typedef struct onnxd_depth_params {
    int64_t block;         /* at least 1 */
    bool is_channel_first; /* mode CRD */
} onnxd_depth_params;

#endif
