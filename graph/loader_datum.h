/*
 * The input_N.pb and output_N.pb files of ONNX test data, of any kind of value. Read under the same
 * protection as models (graph/loader.h). Format: onnx-data.proto of the ONNX project.
 *
 * Threads: any thread but the event loop.
 */
#ifndef ONNXD_GRAPH_LOADER_DATUM_H
#define ONNXD_GRAPH_LOADER_DATUM_H

#include "graph/datum.h"
#include "graph/loader.h"

/* A value of the kind and element type that `type` declares: a serialised TensorProto,
 * SequenceProto, OptionalProto or MapProto. An element type that is not known (UNDEFINED) admits
 * all. Errors: NOT_FOUND, INVALID_ARGUMENT for a file that holds something else, UNIMPLEMENTED for
 * sequences of anything but tensors and maps. */
ONNXD_NODISCARD onnxd_status *onnxd_datum_load_file(const char *path, const onnxd_tensor_type *type,
                                                    const onnxd_load_limits *limits,
                                                    onnxd_datum **out_datum);

#endif
