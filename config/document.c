#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "config/internal.h"

#define MAX_VALUES 65536u

/* ---- first pass: strictness and positions -------------------------------------------------- */

typedef struct scan {
    onnxd_json_reader reader;
    onnxd_config_document *document;
    size_t capacity;
    size_t open[ONNXD_JSON_MAX_DEPTH + 1]; /* numbers of the values that contain the current one */
    unsigned depth;
    size_t key_offset; /* of the key just read; SIZE_MAX when none waits for its value */
} scan;

static onnxd_status *add_position(scan *s, const onnxd_json_token *token)
{
    onnxd_config_document *document = s->document;
    if (document->count == MAX_VALUES)
        return onnxd_error(ONNXD_INVALID_ARGUMENT, "more than %u values", MAX_VALUES);
    if (document->count == s->capacity) {
        size_t capacity = s->capacity == 0 ? 64 : s->capacity * 2;
        void *grown =
            onnxd_realloc_array(document->positions, capacity, sizeof(*document->positions));
        if (grown == NULL)
            return onnxd_error_out_of_memory("configuration", capacity, UINT64_MAX);
        document->positions = grown;
        s->capacity = capacity;
    }
    size_t number = document->count++;
    document->positions[number] = (onnxd_config_position){
        .key_offset = s->key_offset == SIZE_MAX ? token->offset : s->key_offset,
        .offset = token->offset,
        .length = token->length,
        .next = number + 1,
    };
    s->key_offset = SIZE_MAX;
    return NULL;
}

/* What the strict reader allows and a C string, or the tree's numbers, cannot hold. */
static onnxd_status *check_token(const onnxd_json_token *token)
{
    if (token->kind == ONNXD_JSON_NUMBER && token->length >= ONNXD_CONFIG_NUMBER)
        return onnxd_error(ONNXD_INVALID_ARGUMENT, "number of %zu characters, allowed are %d",
                           token->length, ONNXD_CONFIG_NUMBER - 1);
    if (!token->has_escapes)
        return NULL;
    for (size_t i = 0; i + 6 <= token->length; i++) {
        if (token->text[i] != '\\')
            continue;
        if (memcmp(token->text + i, "\\u0000", 6) == 0)
            return onnxd_error(ONNXD_INVALID_ARGUMENT, "text contains a NUL character");
        i++; /* the escaped character is no backslash of its own */
    }
    return NULL;
}

static onnxd_status *take_token(scan *s, const onnxd_json_token *token)
{
    ONNXD_TRY(check_token(token));
    switch (token->kind) {
    case ONNXD_JSON_END:
        return NULL;
    case ONNXD_JSON_KEY:
        s->key_offset = token->offset;
        return NULL;
    case ONNXD_JSON_OBJECT_END:
    case ONNXD_JSON_ARRAY_END:
        s->depth--;
        s->document->positions[s->open[s->depth]].next = s->document->count;
        return NULL;
    case ONNXD_JSON_OBJECT_BEGIN:
    case ONNXD_JSON_ARRAY_BEGIN:
        s->open[s->depth++] = s->document->count;
        return add_position(s, token);
    case ONNXD_JSON_STRING:
    case ONNXD_JSON_NUMBER:
    case ONNXD_JSON_TRUE:
    case ONNXD_JSON_FALSE:
    case ONNXD_JSON_NULL:
        return add_position(s, token);
    }
    return NULL;
}

/* On an error *out_offset says where. */
static onnxd_status *scan_text(onnxd_config_document *document, size_t *out_offset)
{
    scan s = {.document = document, .key_offset = SIZE_MAX};
    onnxd_json_token token = {0};

    onnxd_json_init(&s.reader, document->text, document->length);
    s.reader.strict_numbers = true;
    do {
        onnxd_status *status = onnxd_json_next(&s.reader, &token);
        *out_offset = status != NULL ? s.reader.position : token.offset;
        ONNXD_TRY(status);
        ONNXD_TRY(take_token(&s, &token));
    } while (token.kind != ONNXD_JSON_END);
    return NULL;
}

/* ---- second pass: the tree ----------------------------------------------------------------- */

static onnxd_status *build_tree(onnxd_config_document *document)
{
    cJSON_Hooks hooks = {.malloc_fn = onnxd_alloc, .free_fn = onnxd_free};
    cJSON_InitHooks(&hooks);
    /* The text was accepted by the stricter reader, so only memory can be short. */
    document->root = cJSON_ParseWithLength(document->text, document->length);
    if (document->root == NULL)
        return onnxd_error_out_of_memory("configuration", document->length, UINT64_MAX);
    return NULL;
}

/* ---- the text ------------------------------------------------------------------------------ */

/* Where an error of the reader lies: it stops before the white space that precedes it. */
static size_t error_line(const onnxd_config_document *document, size_t offset)
{
    while (offset < document->length && strchr(" \t\r\n", document->text[offset]) != NULL)
        offset++;
    return onnxd_json_line(document->text, document->length, offset);
}

onnxd_status *onnxd_config_document_open(const char *file, onnxd_config_report *report,
                                         onnxd_config_document *document)
{
    char where[ONNXD_CONFIG_WHERE];
    size_t offset = 0;

    memset(document, 0, sizeof(*document));
    document->file = file;
    onnxd_status *status =
        onnxd_file_open(NULL, file, ONNXD_CONFIG_MAX_FILE_BYTES, &document->content);
    if (status != NULL)
        return onnxd_status_context(status, "configuration");
    document->text = (const char *)document->content.data;
    document->length = document->content.size;
    status = scan_text(document, &offset);
    if (status == NULL)
        return build_tree(document);
    if (onnxd_status_code(status) != ONNXD_INVALID_ARGUMENT)
        return status;
    snprintf(where, sizeof(where), "%.480s:%zu", file, error_line(document, offset));
    onnxd_config_fault(report, where, NULL, "%s", onnxd_status_message(status));
    onnxd_status_free(status);
    return NULL;
}

void onnxd_config_document_close(onnxd_config_document *document)
{
    cJSON_Delete(document->root);
    onnxd_free(document->positions);
    onnxd_file_close(&document->content);
    memset(document, 0, sizeof(*document));
}

/* ---- walking ------------------------------------------------------------------------------- */

onnxd_config_node onnxd_config_root(const onnxd_config_document *document)
{
    return (onnxd_config_node){document, document->root, 0};
}

onnxd_config_node onnxd_config_first(onnxd_config_node node)
{
    return (onnxd_config_node){node.document, node.item->child, node.number + 1};
}

onnxd_config_node onnxd_config_next(onnxd_config_node node)
{
    return (onnxd_config_node){node.document, node.item->next,
                               node.document->positions[node.number].next};
}

const char *onnxd_config_where(onnxd_config_node node, char *buffer)
{
    const onnxd_config_document *document = node.document;
    size_t offset = document->positions[node.number].key_offset;
    snprintf(buffer, ONNXD_CONFIG_WHERE, "%.480s:%zu", document->file,
             onnxd_json_line(document->text, document->length, offset));
    return buffer;
}

const char *onnxd_config_kind(onnxd_config_node node)
{
    switch (node.item->type & 0xff) {
    case cJSON_False:
    case cJSON_True:
        return "true or false";
    case cJSON_NULL:
        return "null";
    case cJSON_Number:
        return "a number";
    case cJSON_String:
        return "a string";
    case cJSON_Array:
        return "an array";
    case cJSON_Object:
        return "an object";
    default:
        return "a value";
    }
}

const char *onnxd_config_number(onnxd_config_node node, char *buffer)
{
    const onnxd_config_position *position = &node.document->positions[node.number];
    memcpy(buffer, node.document->text + position->offset, position->length);
    buffer[position->length] = '\0';
    return buffer;
}
