#include "base/json_reader.h"

#include <string.h>

#include "base/json_escape.h"
#include "base/number_scan.h"
#include "base/utf8.h"

/* What may come next, white space aside. */
enum reader_state {
    VALUE,        /* at the start and after ':' */
    VALUE_OR_END, /* after '[' */
    KEY_OR_END,   /* after '{' */
    AFTER_VALUE   /* ',' or the container's end; the text's end at depth 0 */
};

enum container { OBJECT, ARRAY };

void onnxd_json_init(onnxd_json_reader *reader, const char *text, size_t length)
{
    *reader = (onnxd_json_reader){
        .text = length != 0 ? text : "",
        .length = length,
        .max_depth = ONNXD_JSON_MAX_DEPTH,
        .state = VALUE,
    };
}

/* An error at `cursor`, with what is there instead. */
static onnxd_status *unexpected(const onnxd_json_reader *reader, const char *cursor,
                                const char *expected)
{
    size_t offset = (size_t)(cursor - reader->text);
    if (offset >= reader->length)
        return onnxd_error(ONNXD_INVALID_ARGUMENT, "json at byte %zu: expected %s, found the end",
                           offset, expected);
    unsigned char byte = (unsigned char)*cursor;
    if (byte > 0x20 && byte < 0x7f)
        return onnxd_error(ONNXD_INVALID_ARGUMENT, "json at byte %zu: expected %s, found '%c'",
                           offset, expected, byte);
    return onnxd_error(ONNXD_INVALID_ARGUMENT, "json at byte %zu: expected %s, found byte 0x%02x",
                       offset, expected, byte);
}

static const char *skip_space(const char *cursor, const char *end)
{
    while (cursor != end &&
           (*cursor == ' ' || *cursor == '\n' || *cursor == '\r' || *cursor == '\t'))
        cursor++;
    return cursor;
}

/* Whether any of eight bytes is a quote, a backslash, a control character or not ASCII. A byte can
 * be reported for its lower neighbour's sake, which only costs the slow path a look. */
static bool has_special(uint64_t word)
{
    const uint64_t ones = 0x0101010101010101u;
    uint64_t quote = word ^ (ones * '"');
    uint64_t backslash = word ^ (ones * '\\');
    uint64_t found = word | (word - ones * 0x20) | (quote - ones) | (backslash - ones);
    return (found & (ones * 0x80)) != 0;
}

/* The end of the run of plain string characters at `cursor`. */
static const char *skip_plain(const char *cursor, const char *end)
{
    uint64_t word;
    while ((size_t)(end - cursor) >= sizeof(word)) {
        memcpy(&word, cursor, sizeof(word));
        if (has_special(word))
            break;
        cursor += sizeof(word);
    }
    while (cursor != end && (unsigned char)*cursor >= 0x20 && (unsigned char)*cursor < 0x80 &&
           *cursor != '"' && *cursor != '\\')
        cursor++;
    return cursor;
}

/* Reads the string whose opening quote is at `cursor` and moves the position behind it. */
static onnxd_status *read_string(onnxd_json_reader *reader, const char *cursor,
                                 onnxd_json_token *out)
{
    const char *end = reader->text + reader->length;
    const char *start = cursor + 1;
    bool has_escapes = false;
    cursor = start;
    for (;;) {
        cursor = skip_plain(cursor, end);
        if (cursor == end)
            return unexpected(reader, cursor, "the end of a string");
        if (*cursor == '"')
            break;
        size_t left = (size_t)(end - cursor);
        size_t step;
        if (*cursor == '\\') {
            uint32_t character;
            step = onnxd_json_read_escape(cursor, left, &character);
            if (step == 0)
                return unexpected(reader, cursor, "a valid escape or surrogate pair");
            has_escapes = true;
        } else if ((unsigned char)*cursor < 0x20) {
            return unexpected(reader, cursor, "control characters to be escaped");
        } else {
            step = onnxd_utf8_sequence(cursor, left);
            if (step == 0)
                return unexpected(reader, cursor, "valid utf-8");
        }
        cursor += step;
    }
    out->text = start;
    out->length = (size_t)(cursor - start);
    out->has_escapes = has_escapes;
    reader->position = (size_t)(cursor + 1 - reader->text);
    return NULL;
}

static onnxd_status *read_key(onnxd_json_reader *reader, const char *cursor, onnxd_json_token *out)
{
    const char *end = reader->text + reader->length;
    if (cursor == end || *cursor != '"')
        return unexpected(reader, cursor, "a quoted key");
    ONNXD_TRY(read_string(reader, cursor, out));
    cursor = skip_space(reader->text + reader->position, end);
    if (cursor == end || *cursor != ':')
        return unexpected(reader, cursor, "':'");
    out->kind = ONNXD_JSON_KEY;
    reader->position = (size_t)(cursor + 1 - reader->text);
    reader->state = VALUE;
    return NULL;
}

static onnxd_status *begin_container(onnxd_json_reader *reader, enum container container)
{
    unsigned max_depth =
        reader->max_depth < ONNXD_JSON_MAX_DEPTH ? reader->max_depth : ONNXD_JSON_MAX_DEPTH;
    if (reader->depth >= max_depth)
        return onnxd_error(ONNXD_INVALID_ARGUMENT,
                           "json at byte %zu: nested deeper than the allowed %u levels",
                           reader->position - 1, max_depth);
    reader->depth++;
    reader->stack[reader->depth] = (uint8_t)container;
    reader->state = container == ARRAY ? VALUE_OR_END : KEY_OR_END;
    return NULL;
}

static void end_container(onnxd_json_reader *reader, const char *cursor, onnxd_json_token *out)
{
    out->kind =
        reader->stack[reader->depth] == ARRAY ? ONNXD_JSON_ARRAY_END : ONNXD_JSON_OBJECT_END;
    reader->position = (size_t)(cursor + 1 - reader->text);
    reader->depth--;
    reader->state = AFTER_VALUE;
}

static bool starts_with(const char *cursor, const char *end, const char *word)
{
    size_t length = strlen(word);
    return (size_t)(end - cursor) >= length && memcmp(cursor, word, length) == 0;
}

/* The literal at `cursor`: its length, 0 when there is none. */
static size_t find_literal(const onnxd_json_reader *reader, const char *cursor,
                           onnxd_json_kind *out_kind)
{
    static const struct {
        const char *word;
        onnxd_json_kind kind;
    } literals[] = {
        {"true", ONNXD_JSON_TRUE},       {"false", ONNXD_JSON_FALSE},
        {"null", ONNXD_JSON_NULL},       {"NaN", ONNXD_JSON_NUMBER},
        {"Infinity", ONNXD_JSON_NUMBER}, {"-Infinity", ONNXD_JSON_NUMBER},
    };
    const char *end = reader->text + reader->length;
    for (size_t i = 0; i < ONNXD_COUNT(literals); i++) {
        if (literals[i].kind == ONNXD_JSON_NUMBER && reader->strict_numbers)
            continue;
        if (starts_with(cursor, end, literals[i].word)) {
            *out_kind = literals[i].kind;
            return strlen(literals[i].word);
        }
    }
    return 0;
}

/* Numbers and literals. */
static onnxd_status *read_scalar(onnxd_json_reader *reader, const char *cursor,
                                 onnxd_json_token *out)
{
    onnxd_number_scan scan;
    out->kind = ONNXD_JSON_NUMBER;
    const char *end = onnxd_scan_number(cursor, reader->text + reader->length, &scan);
    if (end == NULL) {
        size_t length = find_literal(reader, cursor, &out->kind);
        bool is_numeric = *cursor == '-' || (*cursor >= '0' && *cursor <= '9');
        if (length == 0)
            return unexpected(reader, cursor, is_numeric ? "a well-formed number" : "a value");
        end = cursor + length;
    }
    out->text = cursor;
    out->length = (size_t)(end - cursor);
    reader->position = (size_t)(end - reader->text);
    reader->state = AFTER_VALUE;
    return NULL;
}

static onnxd_status *read_value(onnxd_json_reader *reader, const char *cursor,
                                onnxd_json_token *out)
{
    if (cursor == reader->text + reader->length)
        return unexpected(reader, cursor, "a value");
    switch (*cursor) {
    case '"':
        out->kind = ONNXD_JSON_STRING;
        reader->state = AFTER_VALUE;
        return read_string(reader, cursor, out);
    case '{':
        out->kind = ONNXD_JSON_OBJECT_BEGIN;
        reader->position = (size_t)(cursor + 1 - reader->text);
        return begin_container(reader, OBJECT);
    case '[':
        out->kind = ONNXD_JSON_ARRAY_BEGIN;
        reader->position = (size_t)(cursor + 1 - reader->text);
        return begin_container(reader, ARRAY);
    default:
        return read_scalar(reader, cursor, out);
    }
}

/* After a value inside a container: its end, or the comma and what comes behind it. */
static onnxd_status *read_after_value(onnxd_json_reader *reader, const char *cursor,
                                      onnxd_json_token *out)
{
    const char *end = reader->text + reader->length;
    bool in_array = reader->stack[reader->depth] == ARRAY;
    if (cursor != end && *cursor == ',') {
        cursor = skip_space(cursor + 1, end);
        out->offset = (size_t)(cursor - reader->text);
        return in_array ? read_value(reader, cursor, out) : read_key(reader, cursor, out);
    }
    if (cursor == end || *cursor != (in_array ? ']' : '}'))
        return unexpected(reader, cursor, in_array ? "',' or ']'" : "',' or '}'");
    end_container(reader, cursor, out);
    return NULL;
}

onnxd_status *onnxd_json_next(onnxd_json_reader *reader, onnxd_json_token *out)
{
    const char *end = reader->text + reader->length;
    const char *cursor = skip_space(reader->text + reader->position, end);
    *out = (onnxd_json_token){.offset = (size_t)(cursor - reader->text)};
    switch ((enum reader_state)reader->state) {
    case VALUE_OR_END:
        if (cursor == end || *cursor != ']')
            return read_value(reader, cursor, out);
        end_container(reader, cursor, out);
        return NULL;
    case KEY_OR_END:
        if (cursor == end || *cursor != '}')
            return read_key(reader, cursor, out);
        end_container(reader, cursor, out);
        return NULL;
    case VALUE:
        return read_value(reader, cursor, out);
    case AFTER_VALUE:
        break;
    }
    if (reader->depth != 0)
        return read_after_value(reader, cursor, out);
    if (cursor != end)
        return unexpected(reader, cursor, "nothing after the document");
    out->kind = ONNXD_JSON_END;
    return NULL;
}

onnxd_status *onnxd_json_skip(onnxd_json_reader *reader, const onnxd_json_token *token)
{
    onnxd_json_token current = *token;
    if (current.kind == ONNXD_JSON_KEY)
        ONNXD_TRY(onnxd_json_next(reader, &current));
    if (current.kind != ONNXD_JSON_OBJECT_BEGIN && current.kind != ONNXD_JSON_ARRAY_BEGIN)
        return NULL;
    unsigned outer_depth = reader->depth - 1;
    while (reader->depth != outer_depth)
        ONNXD_TRY(onnxd_json_next(reader, &current));
    return NULL;
}

size_t onnxd_json_line(const char *text, size_t length, size_t offset)
{
    size_t line = 1;
    size_t position = 0;
    if (offset > length)
        offset = length;
    while (position < offset) {
        const char *newline = memchr(text + position, '\n', offset - position);
        if (newline == NULL)
            break;
        line++;
        position = (size_t)(newline - text) + 1;
    }
    return line;
}
