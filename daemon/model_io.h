/*
 * What the commands that run a model without a server share: opening it, inputs from files or
 * generated, and comparing and saving outputs.
 *
 * Threads: the main thread.
 */
#ifndef ONNXD_DAEMON_MODEL_IO_H
#define ONNXD_DAEMON_MODEL_IO_H

#include "base/strbuf.h"
#include "daemon/wire.h"
#include "graph/datum.h"
#include "model/plan.h"
#include "model/run.h"

/* A path into `out` of ONNXD_PATH_BYTES. Errors: INVALID_ARGUMENT when it is longer. */
#define ONNXD_PATH_BYTES 4096
ONNXD_NODISCARD onnxd_status *onnxd_format_path(char *out, const char *format, ...)
    ONNXD_PRINTF(2, 3);

/* ---- opening ------------------------------------------------------------------------------- */

/* An engine with one model. */
typedef struct onnxd_session {
    onnxd_engine engine;
    onnxd_model *model;
} onnxd_session;

/* `path` is an .onnx file or a folder with model.onnx. `cpu_threads` as for onnxd_engine_open().
 * With `allows_datums` the model's inputs and outputs may be no tensors. */
ONNXD_NODISCARD onnxd_status *onnxd_session_open(const onnxd_config *config, const char *path,
                                                 uint32_t cpu_threads, bool allows_datums,
                                                 onnxd_session *out_session);
void onnxd_session_close(onnxd_session *session);

/* ---- tensors ------------------------------------------------------------------------------- */

/* Some tensors in signature order and their views. */
typedef struct onnxd_tensor_list {
    onnxd_tensor **tensors;
    onnxd_tensor_view *views;
    uint32_t count;
} onnxd_tensor_list;

void onnxd_tensor_list_deinit(onnxd_tensor_list *list);

/* How inputs are generated. */
typedef struct onnxd_generator {
    uint64_t seed;
    uint32_t batch;            /* extent of a free first dimension */
    const char *const *shapes; /* "name=1x3x224x224"; NULL-terminated */
} onnxd_generator;

/* Pseudo-random inputs, the same for the same seed: floats in [0, 1), 8-bit integers over their
 * range, other integers 0 or 1, short strings. Free dimensions are 1, the first one `batch`. An
 * optional is absent: a NULL tensor. Errors: UNIMPLEMENTED for sequences and maps; INVALID_ARGUMENT
 * for a shape that names no input or does not fit it, and for an input of unknown rank without one.
 */
ONNXD_NODISCARD onnxd_status *onnxd_generate_inputs(const onnxd_model *model,
                                                    const onnxd_generator *generator,
                                                    onnxd_tensor_list *out_list);

/* <folder>/<stem>_0.pb, _1.pb, ... for `count` tensors. Errors: NOT_FOUND naming the file. */
ONNXD_NODISCARD onnxd_status *onnxd_load_tensors(const char *folder, const char *stem,
                                                 uint32_t count, const onnxd_load_limits *limits,
                                                 onnxd_tensor_list *out_list);

/* The same files for values of any kind. */
typedef struct onnxd_datum_list {
    onnxd_datum **datums; /* NULL: an optional that is absent */
    uint32_t count;
} onnxd_datum_list;

void onnxd_datum_list_deinit(onnxd_datum_list *list);
/* `count` values that are absent. */
ONNXD_NODISCARD onnxd_status *onnxd_datum_list_init(uint32_t count, onnxd_datum_list *out_list);
/* The tensors as values. */
ONNXD_NODISCARD onnxd_status *onnxd_datum_list_of_tensors(const onnxd_tensor_list *tensors,
                                                          onnxd_datum_list *out_list);
/* The model's inputs or outputs; an optional input without a file is absent. */
ONNXD_NODISCARD onnxd_status *onnxd_load_inputs(const onnxd_model *model, const char *folder,
                                                const onnxd_load_limits *limits,
                                                onnxd_datum_list *out_list);
ONNXD_NODISCARD onnxd_status *onnxd_load_outputs(const onnxd_model *model, const char *folder,
                                                 const onnxd_load_limits *limits,
                                                 onnxd_datum_list *out_list);

/* Writes a value that is declared to be of this kind: a TensorProto, SequenceProto, OptionalProto
 * or MapProto. */
ONNXD_NODISCARD onnxd_status *onnxd_save_datum(const char *path, const char *name,
                                               onnxd_value_kind declared, const onnxd_datum *datum);
/* Writes a TensorProto. */
ONNXD_NODISCARD onnxd_status *onnxd_save_tensor(const char *path, const char *name,
                                                const onnxd_tensor_view *view);

/* ---- comparing ----------------------------------------------------------------------------- */

typedef struct onnxd_comparison {
    bool is_equal;
    size_t count, different_count;
    size_t first_different; /* index of an element */
    /* Of numbers; infinite where one side alone is infinite or NaN. */
    double greatest_absolute, greatest_relative;
    bool has_numbers; /* the elements are numbers, so the greatest differences say something */
    char reason[160]; /* of a difference in type or shape; "" otherwise */
} onnxd_comparison;

/* Floats: |actual - expected| <= atol + rtol * |expected|, NaN equals NaN. Everything else exactly.
 */
void onnxd_compare_tensors(const onnxd_tensor_view *actual, const onnxd_tensor_view *expected,
                           double rtol, double atol, onnxd_comparison *out);

/* Where two values differ first; all of them where they do not. */
typedef struct onnxd_datum_comparison {
    onnxd_comparison tensors;
    size_t item;                        /* of the sequences; SIZE_MAX when they are none */
    onnxd_tensor_view actual, expected; /* what was compared, borrowed; of maps in one order */
    onnxd_tensor *reordered;            /* keeps the view, or NULL */
} onnxd_datum_comparison;

/* Element by element of sequences, value by value of maps, in whatever order those are. */
ONNXD_NODISCARD onnxd_status *onnxd_compare_datums(const onnxd_datum *actual,
                                                   const onnxd_datum *expected, double rtol,
                                                   double atol, onnxd_datum_comparison *out);
void onnxd_datum_comparison_deinit(onnxd_datum_comparison *comparison);

/* One element as text: a number, a quoted string, or the hexadecimal digits of a type that has no
 * other form here. */
void onnxd_write_element(const onnxd_tensor_view *view, size_t index, onnxd_strbuf *out);

/* "[1,10] FP32: 0.1, 0.2, ... (least, mean, greatest)" */
void onnxd_summarize_tensor(const onnxd_tensor_view *view, onnxd_strbuf *out);
/* The same of any value, a line for each of the first elements of a sequence. NULL: absent. */
void onnxd_summarize_datum(const onnxd_datum *datum, onnxd_strbuf *out);

#endif
