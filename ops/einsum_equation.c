#include "ops/einsum_equation.h"

#include <string.h>

#include "graph/attributes.h"
#include "ops/support.h"

static bool label_of(char letter, uint8_t *out_label)
{
    if (letter >= 'A' && letter <= 'Z')
        *out_label = (uint8_t)(ONNXD_MAX_RANK + (letter - 'A'));
    else if (letter >= 'a' && letter <= 'z')
        *out_label = (uint8_t)(ONNXD_MAX_RANK + 26 + (letter - 'a'));
    else
        return false;
    return true;
}

char onnxd_einsum_letter(uint8_t label)
{
    int letter = label - ONNXD_MAX_RANK;
    return (char)(letter < 0 ? '.' : letter < 26 ? 'A' + letter : 'a' + letter - 26);
}

/* What is left of the text. */
typedef struct cursor {
    const char *at, *end;
} cursor;

static void skip_spaces(cursor *c)
{
    while (c->at < c->end && *c->at == ' ')
        c->at++;
}

static bool accept(cursor *c, const char *token)
{
    size_t length = strlen(token);
    skip_spaces(c);
    if ((size_t)(c->end - c->at) < length || memcmp(c->at, token, length) != 0)
        return false;
    c->at += length;
    return true;
}

/* Up to a comma, an arrow or the end. */
static onnxd_status *parse_term(const onnxd_node *node, cursor *c, onnxd_einsum_term *out_term)
{
    onnxd_einsum_term term = {.count = 0};
    for (;;) {
        uint8_t label;
        skip_spaces(c);
        if (c->at < c->end && label_of(*c->at, &label)) {
            if (term.count == ONNXD_MAX_RANK)
                return onnxd_op_error(node,
                                      "a term of the equation has more than %d letters, which no "
                                      "tensor has dimensions for",
                                      ONNXD_MAX_RANK);
            term.letters[term.count++] = label;
            c->at++;
        } else if (accept(c, "...")) {
            if (term.has_ellipsis)
                return onnxd_op_error(node, "a term of the equation has more than one ellipsis");
            term.has_ellipsis = true;
            term.ellipsis_at = term.count;
        } else {
            *out_term = term;
            return NULL;
        }
    }
}

/* The ellipsis, then every letter that occurs once in all terms, sorted. */
static onnxd_status *make_implicit_output(const onnxd_node *node, onnxd_einsum_equation *equation)
{
    uint32_t uses[ONNXD_EINSUM_LABELS] = {0};
    onnxd_einsum_term *output = &equation->output;
    *output = (onnxd_einsum_term){.count = 0};
    for (uint32_t t = 0; t < equation->term_count; t++) {
        const onnxd_einsum_term *term = &equation->terms[t];
        output->has_ellipsis = output->has_ellipsis || term->has_ellipsis;
        for (uint8_t i = 0; i < term->count; i++)
            uses[term->letters[i]]++;
    }
    for (uint8_t label = 0; label < ONNXD_EINSUM_LABELS; label++) {
        if (uses[label] != 1)
            continue;
        if (output->count == ONNXD_MAX_RANK)
            return onnxd_op_error(node, "the equation makes an output of more than %d dimensions",
                                  ONNXD_MAX_RANK);
        output->letters[output->count++] = label;
    }
    return NULL;
}

static onnxd_status *check_output(const onnxd_node *node, const onnxd_einsum_equation *equation)
{
    bool is_known[ONNXD_EINSUM_LABELS] = {false}, is_used[ONNXD_EINSUM_LABELS] = {false};
    for (uint32_t t = 0; t < equation->term_count; t++)
        for (uint8_t i = 0; i < equation->terms[t].count; i++)
            is_known[equation->terms[t].letters[i]] = true;
    for (uint8_t i = 0; i < equation->output.count; i++) {
        uint8_t label = equation->output.letters[i];
        if (!is_known[label] || is_used[label])
            return onnxd_op_error(node, "the output of the equation names '%c', which %s",
                                  onnxd_einsum_letter(label),
                                  is_used[label] ? "it names already" : "no input has");
        is_used[label] = true;
    }
    return NULL;
}

onnxd_status *onnxd_einsum_parse(const onnxd_node *node, onnxd_arena *arena,
                                 onnxd_einsum_equation *equation)
{
    static const char *const names[] = {"equation", NULL};
    onnxd_text text = {"", 0};
    ONNXD_TRY(onnxd_attributes_allow(node, names));
    ONNXD_TRY(onnxd_attribute_require(node, "equation"));
    ONNXD_TRY(onnxd_attribute_string(node, "equation", &text));
    if (node->input_count > ONNXD_EINSUM_MAX_OPERANDS)
        return onnxd_op_error(node, "it has %u inputs, at most %d are supported",
                              (unsigned)node->input_count, ONNXD_EINSUM_MAX_OPERANDS);
    size_t bytes = node->input_count * sizeof(*equation->terms);
    equation->terms = onnxd_arena_alloc_zero(arena, node->input_count, sizeof(*equation->terms));
    if (equation->terms == NULL)
        return onnxd_error_out_of_memory("graph arena", bytes, arena->max_bytes);
    cursor c = {text.data, text.data + text.size};
    do {
        if (equation->term_count == node->input_count)
            return onnxd_op_error(node, "the equation has more terms than the node inputs, %u",
                                  (unsigned)node->input_count);
        ONNXD_TRY(parse_term(node, &c, &equation->terms[equation->term_count++]));
    } while (accept(&c, ","));
    if (equation->term_count != node->input_count)
        return onnxd_op_error(node, "the equation has %u terms for %u inputs",
                              (unsigned)equation->term_count, (unsigned)node->input_count);
    bool is_explicit = accept(&c, "->");
    if (is_explicit)
        ONNXD_TRY(parse_term(node, &c, &equation->output));
    else
        ONNXD_TRY(make_implicit_output(node, equation));
    skip_spaces(&c);
    if (c.at != c.end)
        return onnxd_op_error(node, "the equation has a character at offset %zu that it may not",
                              (size_t)(c.at - text.data));
    return check_output(node, equation);
}

int32_t onnxd_einsum_labels(const onnxd_einsum_term *term, int32_t ellipsis_rank, uint8_t *labels)
{
    int32_t count = 0;
    for (int32_t i = 0; i <= term->count; i++) {
        if (term->has_ellipsis && i == term->ellipsis_at)
            for (int32_t k = ONNXD_MAX_RANK - ellipsis_rank; k < ONNXD_MAX_RANK; k++, count++)
                if (count < ONNXD_MAX_RANK)
                    labels[count] = (uint8_t)k;
        if (i == term->count)
            break;
        if (count < ONNXD_MAX_RANK)
            labels[count] = term->letters[i];
        count++;
    }
    return count;
}
