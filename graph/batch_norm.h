/*
 * A BatchNormalization in inference as what it is to each channel: a factor and an addend.
 *
 *   factor = scale / sqrt(variance + epsilon)      addend = bias - mean factor
 */
#ifndef ONNXD_GRAPH_BATCH_NORM_H
#define ONNXD_GRAPH_BATCH_NORM_H

#include "graph/graph.h"

/* Whether `node`, a BatchNormalization of ai.onnx, only does that, with constants of FLOAT. */
bool onnxd_batch_norm_is_affine(const onnxd_graph *graph, const onnxd_node *node);
/* Its channels, as far as its constants tell. */
size_t onnxd_batch_norm_channels(const onnxd_graph *graph, const onnxd_node *node);
/* Both hold a value per channel. */
void onnxd_batch_norm_affine(const onnxd_graph *graph, const onnxd_node *node, float *factors,
                             float *addends);

#endif
