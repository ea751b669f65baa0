/* What the files of config/ share. */
#ifndef ONNXD_CONFIG_INTERNAL_H
#define ONNXD_CONFIG_INTERNAL_H

#include <cjson/cJSON.h>

#include "base/json_reader.h"
#include "base/path.h"
#include "config/config.h"

/* ---- report -------------------------------------------------------------------------------- */

/* As onnxd_config_fault(), for what may be a mistake. */
void onnxd_config_warning(onnxd_config_report *report, const char *where, const char *key,
                          const char *format, ...) ONNXD_PRINTF(4, 5);

/* No further problem would be listed: what looks for them may stop. */
bool onnxd_config_report_is_full(const onnxd_config_report *report);

/* Text from outside for a message: escaped, cut. */
#define ONNXD_CONFIG_SHOWN_INPUT 128
#define ONNXD_CONFIG_SHOWN (6 * ONNXD_CONFIG_SHOWN_INPUT + 4)
const char *onnxd_config_show(const char *text, size_t length, char *buffer);

/* ---- document ------------------------------------------------------------------------------ */

/* Where a value stands in the text. Values are numbered in the order in which they begin. */
typedef struct onnxd_config_position {
    size_t key_offset; /* of the member's key; of the value itself outside objects */
    size_t offset, length;
    size_t next; /* number of the first value that is not inside this one */
} onnxd_config_position;

/* A file that is well-formed: a tree of values, each with its position. */
typedef struct onnxd_config_document {
    const char *file;
    onnxd_file content;
    const char *text; /* of `content` */
    size_t length;
    cJSON *root;
    onnxd_config_position *positions;
    size_t count;
} onnxd_config_document;

/* A value of the tree together with its number. */
typedef struct onnxd_config_node {
    const onnxd_config_document *document;
    const cJSON *item; /* NULL: none */
    size_t number;
} onnxd_config_node;

/* Problems with the text go into the report; `document` then has no root. */
ONNXD_NODISCARD onnxd_status *onnxd_config_document_open(const char *file,
                                                         onnxd_config_report *report,
                                                         onnxd_config_document *document);
void onnxd_config_document_close(onnxd_config_document *document);

onnxd_config_node onnxd_config_root(const onnxd_config_document *document);
onnxd_config_node onnxd_config_first(onnxd_config_node node);
onnxd_config_node onnxd_config_next(onnxd_config_node node);
/* "file:line" of the node's key into `buffer`. */
#define ONNXD_CONFIG_WHERE 512
const char *onnxd_config_where(onnxd_config_node node, char *buffer);
/* "a string", "a number", ... */
const char *onnxd_config_kind(onnxd_config_node node);
/* The digits of a number, NUL-terminated, as they stand in the text. Numbers longer than
 * ONNXD_CONFIG_NUMBER - 1 were refused with the document. */
#define ONNXD_CONFIG_NUMBER 64
const char *onnxd_config_number(onnxd_config_node node, char *buffer);

/* ---- parts --------------------------------------------------------------------------------- */

/* State of one load. */
typedef struct onnxd_config_load_state {
    onnxd_config *config;
    onnxd_config_report *report;
    const char **origins; /* per option: where its value came from; NULL for the default */
    bool out_of_memory;
} onnxd_config_load_state;

/* Reads the members of the root object into state->config. */
void onnxd_config_read_file(onnxd_config_load_state *state, const onnxd_config_document *document);
/* The "providers" array. */
void onnxd_config_read_providers(onnxd_config_load_state *state, onnxd_config_node array);
/* What holds between options, and the grammar of addresses and names. After all values are set. */
void onnxd_config_check(onnxd_config_load_state *state);
/* Puts a failed onnxd_option_parse() into the report; frees `status`. */
void onnxd_config_take_status(onnxd_config_load_state *state, const char *where, const char *key,
                              onnxd_status *status);

#endif
