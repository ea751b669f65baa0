/*
 * Tokenizer: the pieces of each string, padded to the longest list. Pieces are the matches of
 * `tokenexp`, what lies between matches of the `separators`, or with one empty separator the
 * characters. Pieces of fewer than `mincharnum` characters are dropped; `mark` puts U+0002 and
 * U+0003 around each list, unless no string has a piece: then all lists are empty.
 */
#include <string.h>

#include "base/utf8.h"
#include "ops/contrib/contrib.h"
#include "ops/index/output.h"
#include "ops/ops.h"
#include "ops/support.h"
#include "ops/text/regex.h"

#define REASON_BYTES 160
#define MAX_SEPARATORS 64
/* The memory of one run. */
#define BLOCK_BYTES ((size_t)4 << 10)
#define MAX_BYTES ((size_t)1 << 30)

typedef struct tokenizer_params {
    int64_t has_marks, least_characters;
    onnxd_text padding;
    onnxd_text expression; /* data NULL: separators */
    const onnxd_text *separators;
    size_t separator_count;
    bool is_by_character;
} tokenizer_params;

/* ---- attributes ---------------------------------------------------------------------------- */

static onnxd_status *compile(const onnxd_node *node, const char *name, const onnxd_text *pattern,
                             onnxd_regex **out_regex)
{
    char reason[REASON_BYTES];
    *out_regex = onnxd_regex_create(pattern->data, pattern->size, reason, sizeof(reason));
    return *out_regex != NULL
               ? NULL
               : onnxd_op_error(node, "attribute '%s' is not a regular expression of RE2: %s", name,
                                reason);
}

static onnxd_status *check_pattern(const onnxd_node *node, const char *name,
                                   const onnxd_text *pattern)
{
    onnxd_regex *regex;
    if (pattern->size == 0)
        return onnxd_op_error(node, "attribute '%s' holds an empty pattern", name);
    ONNXD_TRY(compile(node, name, pattern, &regex));
    onnxd_regex_destroy(regex);
    return NULL;
}

static onnxd_status *parse_patterns(const onnxd_node *node, tokenizer_params *p)
{
    if ((onnxd_node_attribute(node, "tokenexp") != NULL) ==
        (onnxd_node_attribute(node, "separators") != NULL))
        return onnxd_op_error(
            node, "exactly one of the attributes 'separators' and 'tokenexp' must be given");
    ONNXD_TRY(onnxd_attribute_string(node, "tokenexp", &p->expression));
    if (p->expression.data != NULL)
        return check_pattern(node, "tokenexp", &p->expression);
    ONNXD_TRY(onnxd_attribute_string_list(node, "separators", &p->separators, &p->separator_count));
    if (p->separator_count == 0 || p->separator_count > MAX_SEPARATORS)
        return onnxd_op_error(node, "attribute 'separators' has %zu elements, allowed are 1 to %d",
                              p->separator_count, MAX_SEPARATORS);
    p->is_by_character = p->separator_count == 1 && p->separators[0].size == 0;
    for (size_t i = 0; i < p->separator_count && !p->is_by_character; i++)
        ONNXD_TRY(check_pattern(node, "separators", &p->separators[i]));
    return NULL;
}

static onnxd_status *parse(const onnxd_node *node, int64_t opset, onnxd_arena *arena, void *params)
{
    (void)opset, (void)arena;
    static const char *const names[] = {"mark",       "mincharnum", "pad_value",
                                        "separators", "tokenexp",   NULL};
    tokenizer_params *p = params;
    ONNXD_TRY(onnxd_attributes_allow(node, names));
    ONNXD_TRY(onnxd_attribute_require(node, "mark"));
    ONNXD_TRY(onnxd_attribute_require(node, "mincharnum"));
    ONNXD_TRY(onnxd_attribute_require(node, "pad_value"));
    ONNXD_TRY(onnxd_attribute_int(node, "mark", 0, 1, &p->has_marks));
    ONNXD_TRY(onnxd_attribute_int(node, "mincharnum", 1, INT64_MAX, &p->least_characters));
    ONNXD_TRY(onnxd_attribute_string(node, "pad_value", &p->padding));
    return parse_patterns(node, p);
}

static onnxd_status *infer(onnxd_infer *infer)
{
    const onnxd_shape *input = &infer->inputs[0].shape;
    infer->outputs[0].dtype = ONNXD_STRING;
    if (input->rank == ONNXD_RANK_UNKNOWN)
        return NULL;
    if (input->rank != 1 && input->rank != 2)
        return onnxd_op_error(infer->node, "the input has rank %d, allowed are 1 and 2",
                              (int)input->rank);
    infer->outputs[0].shape = *input;
    infer->outputs[0].shape.dims[infer->outputs[0].shape.rank++] = ONNXD_DIM_UNKNOWN;
    return NULL;
}

/* ---- pieces -------------------------------------------------------------------------------- */

typedef struct piece {
    struct piece *next;
    onnxd_string text;
} piece;

typedef struct pieces {
    piece *first, **end;
    size_t count;
} pieces;

typedef struct tokenizer {
    const tokenizer_params *params;
    const onnxd_run_env *env;
    onnxd_regex *regexes[MAX_SEPARATORS];
    size_t regex_count;
    onnxd_arena arena;
    pieces *lists; /* of each string */
} tokenizer;

static onnxd_status *add(tokenizer *t, pieces *list, const char *text, size_t size)
{
    piece *p = onnxd_arena_alloc(&t->arena, sizeof(*p));
    if (p == NULL)
        return onnxd_error(ONNXD_RESOURCE_EXHAUSTED, "the tokens take more than %zu bytes",
                           MAX_BYTES);
    *p = (piece){NULL, {text, size}};
    *list->end = p;
    list->end = &p->next;
    list->count++;
    return NULL;
}

static size_t next_character(const char *text, size_t size)
{
    const size_t bytes = onnxd_utf8_sequence(text, size);
    return bytes == 0 ? 1 : bytes;
}

static bool is_long_enough(const tokenizer *t, const char *text, size_t size)
{
    int64_t characters = 0;
    for (size_t at = 0; at < size && characters < t->params->least_characters; characters++)
        at += next_character(text + at, size - at);
    return characters >= t->params->least_characters;
}

static onnxd_status *add_if_long(tokenizer *t, pieces *list, const char *text, size_t size)
{
    return size > 0 && is_long_enough(t, text, size) ? add(t, list, text, size) : NULL;
}

static onnxd_status *take_characters(tokenizer *t, const onnxd_string *text, pieces *list)
{
    for (size_t at = 0; at < text->size;) {
        const size_t bytes = next_character(text->data + at, text->size - at);
        ONNXD_TRY(add_if_long(t, list, text->data + at, bytes));
        at += bytes;
    }
    return NULL;
}

/* What matches, or with `is_separator` what lies between. A match of nothing moves on by a
 * character. To find one match the whole rest may have to be read, so that a long string can take
 * as long as its square. */
static onnxd_status *take_matches(tokenizer *t, const onnxd_regex *regex, const onnxd_string *text,
                                  bool is_separator, bool is_last, pieces *list)
{
    size_t from = 0, begun = 0, first, end;
    while (from <= text->size &&
           onnxd_regex_find(regex, text->data, text->size, from, &first, &end)) {
        ONNXD_TRY(t->env->check(t->env));
        if (end == first) {
            from = end < text->size ? end + next_character(text->data + end, text->size - end)
                                    : text->size + 1;
            continue;
        }
        const size_t cut = is_separator ? begun : first;
        const size_t size = is_separator ? first - begun : end - first;
        if (is_last)
            ONNXD_TRY(add_if_long(t, list, text->data + cut, size));
        else if (size > 0)
            ONNXD_TRY(add(t, list, text->data + cut, size));
        begun = from = end;
    }
    if (!is_separator)
        return NULL;
    return is_last              ? add_if_long(t, list, text->data + begun, text->size - begun)
           : begun < text->size ? add(t, list, text->data + begun, text->size - begun)
                                : NULL;
}

/* Each separator cuts what the ones before it left. */
static onnxd_status *take_between(tokenizer *t, const onnxd_string *text, pieces *list)
{
    pieces now = {.end = &now.first};
    ONNXD_TRY(add(t, &now, text->data, text->size));
    for (size_t i = 0; i < t->regex_count; i++) {
        pieces next = {.end = &next.first};
        for (const piece *p = now.first; p != NULL; p = p->next)
            ONNXD_TRY(
                take_matches(t, t->regexes[i], &p->text, true, i + 1 == t->regex_count, &next));
        now = next;
    }
    for (const piece *p = now.first; p != NULL; p = p->next)
        ONNXD_TRY(add(t, list, p->text.data, p->text.size));
    return NULL;
}

static onnxd_status *tokenize(tokenizer *t, const onnxd_string *text, pieces *list)
{
    if (t->params->is_by_character)
        return take_characters(t, text, list);
    if (t->params->expression.data != NULL)
        return take_matches(t, t->regexes[0], text, false, true, list);
    return take_between(t, text, list);
}

/* ---- the node ------------------------------------------------------------------------------ */

static onnxd_status *open_tokenizer(tokenizer *t, const onnxd_node *node, size_t strings)
{
    const tokenizer_params *p = t->params;
    t->lists = onnxd_arena_alloc_zero(&t->arena, strings + 1, sizeof(pieces));
    if (t->lists == NULL)
        return onnxd_error_out_of_memory("tokens", strings * sizeof(pieces), UINT64_MAX);
    if (p->expression.data != NULL) {
        ONNXD_TRY(compile(node, "tokenexp", &p->expression, &t->regexes[0]));
        t->regex_count = 1;
    }
    for (size_t i = 0; i < p->separator_count && !p->is_by_character; i++) {
        ONNXD_TRY(compile(node, "separators", &p->separators[i], &t->regexes[i]));
        t->regex_count++;
    }
    return NULL;
}

static void close_tokenizer(tokenizer *t)
{
    for (size_t i = 0; i < t->regex_count; i++)
        onnxd_regex_destroy(t->regexes[i]);
    onnxd_arena_deinit(&t->arena);
}

static void write_list(const tokenizer *t, const pieces *list, size_t width, onnxd_string *out)
{
    const bool is_marked = t->params->has_marks != 0 && width > 0;
    size_t at = 0;
    if (is_marked)
        out[at++] = (onnxd_string){"\x02", 1};
    for (const piece *p = list->first; p != NULL; p = p->next)
        out[at++] = p->text;
    if (is_marked)
        out[at++] = (onnxd_string){"\x03", 1};
    while (at < width)
        out[at++] = (onnxd_string){t->params->padding.data, t->params->padding.size};
}

static onnxd_status *publish(onnxd_dynamic *dynamic, const tokenizer *t)
{
    const onnxd_tensor *input = dynamic->inputs[0]->tensor;
    onnxd_shape shape = input->shape;
    onnxd_tensor *output;
    size_t width = 0;
    for (size_t i = 0; i < input->count; i++)
        width = t->lists[i].count > width ? t->lists[i].count : width;
    if (width > 0 && t->params->has_marks != 0)
        width += 2;
    shape.dims[shape.rank++] = (int64_t)width;
    ONNXD_TRY(dynamic->env->allocate(dynamic->env, ONNXD_STRING, &shape, &output));
    for (size_t i = 0; i < input->count; i++)
        write_list(t, &t->lists[i], width, (onnxd_string *)output->data + i * width);
    return onnxd_publish_output(dynamic, 0, output);
}

static onnxd_status *run(onnxd_dynamic *dynamic)
{
    const onnxd_tensor *input = dynamic->inputs[0]->tensor;
    const onnxd_string *texts = input->data;
    tokenizer t = {.params = dynamic->params, .env = dynamic->env};
    if (input->shape.rank != 1 && input->shape.rank != 2)
        return onnxd_op_error(dynamic->node, "the input has rank %d, allowed are 1 and 2",
                              (int)input->shape.rank);
    onnxd_arena_init(&t.arena, BLOCK_BYTES, MAX_BYTES);
    onnxd_status *status = open_tokenizer(&t, dynamic->node, input->count);
    for (size_t i = 0; i < input->count && status == NULL; i++) {
        t.lists[i].end = &t.lists[i].first;
        status = tokenize(&t, &texts[i], &t.lists[i]);
        if (status == NULL)
            status = dynamic->env->check(dynamic->env);
    }
    if (status == NULL)
        status = publish(dynamic, &t);
    close_tokenizer(&t);
    return status;
}

const onnxd_op_def onnxd_op_contrib_tokenizer[] = {
    {ONNXD_CONTRIB_NAME("Tokenizer"), .min_inputs = 1, .max_inputs = 1, .min_outputs = 1,
     .max_outputs = 1, .inputs = {{.types = ONNXD_SET(STRING)}},
     .outputs = {{.types = ONNXD_SET(STRING)}}, .params_bytes = sizeof(tokenizer_params),
     .parse = parse, .infer = infer, .run = run},
    {.op_type = NULL},
};
