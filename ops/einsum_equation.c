#include "ops/einsum_equation.h"

#include <string.h>

#include "graph/attributes.h"
#include "ops/support.h"

/* While parsing, a letter is its rank in ASCII. */
#define ALPHABET 52

static bool rank_of(char letter, uint8_t *out_rank)
{
    if (letter >= 'A' && letter <= 'Z')
        *out_rank = (uint8_t)(letter - 'A');
    else if (letter >= 'a' && letter <= 'z')
        *out_rank = (uint8_t)(26 + (letter - 'a'));
    else
        return false;
    return true;
}

static char letter_of(uint8_t rank)
{
    return (char)(rank < 26 ? 'A' + rank : 'a' + rank - 26);
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
        uint8_t rank;
        skip_spaces(c);
        if (c->at < c->end && rank_of(*c->at, &rank)) {
            if (term.count == ONNXD_MAX_RANK)
                return onnxd_op_error(node,
                                      "a term of the equation has more than %d letters, which no "
                                      "tensor has dimensions for",
                                      ONNXD_MAX_RANK);
            term.letters[term.count++] = rank;
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
    uint32_t uses[ALPHABET] = {0};
    onnxd_einsum_term *output = &equation->output;
    *output = (onnxd_einsum_term){.count = 0};
    for (uint32_t t = 0; t < equation->term_count; t++) {
        const onnxd_einsum_term *term = &equation->terms[t];
        output->has_ellipsis = output->has_ellipsis || term->has_ellipsis;
        for (uint8_t i = 0; i < term->count; i++)
            uses[term->letters[i]]++;
    }
    for (uint8_t rank = 0; rank < ALPHABET; rank++) {
        if (uses[rank] != 1)
            continue;
        if (output->count == ONNXD_MAX_RANK)
            return onnxd_op_error(node, "the equation makes an output of more than %d dimensions",
                                  ONNXD_MAX_RANK);
        output->letters[output->count++] = rank;
    }
    return NULL;
}

static onnxd_status *check_output(const onnxd_node *node, const onnxd_einsum_equation *equation)
{
    bool is_known[ALPHABET] = {false}, is_used[ALPHABET] = {false};
    for (uint32_t t = 0; t < equation->term_count; t++)
        for (uint8_t i = 0; i < equation->terms[t].count; i++)
            is_known[equation->terms[t].letters[i]] = true;
    for (uint8_t i = 0; i < equation->output.count; i++) {
        uint8_t rank = equation->output.letters[i];
        if (!is_known[rank] || is_used[rank])
            return onnxd_op_error(node, "the output of the equation names '%c', which %s",
                                  letter_of(rank),
                                  is_used[rank] ? "it names already" : "no input has");
        is_used[rank] = true;
    }
    return NULL;
}

static void relabel(onnxd_einsum_term *term, const uint8_t *labels)
{
    for (uint8_t i = 0; i < term->count; i++)
        term->letters[i] = labels[term->letters[i]];
}

/* From ranks to labels. */
static onnxd_status *number_letters(const onnxd_node *node, onnxd_einsum_equation *equation)
{
    bool is_used[ALPHABET] = {false};
    uint8_t labels[ALPHABET] = {0}, count = 0;
    for (uint32_t t = 0; t < equation->term_count; t++)
        for (uint8_t i = 0; i < equation->terms[t].count; i++)
            is_used[equation->terms[t].letters[i]] = true;
    for (uint8_t rank = 0; rank < ALPHABET; rank++) {
        if (!is_used[rank])
            continue;
        if (count == ONNXD_EINSUM_MAX_LETTERS)
            return onnxd_op_error(node,
                                  "the equation has more than %d letters, which is not supported",
                                  ONNXD_EINSUM_MAX_LETTERS);
        equation->letters[count] = letter_of(rank);
        labels[rank] = (uint8_t)(ONNXD_MAX_RANK + count++);
    }
    for (uint32_t t = 0; t < equation->term_count; t++)
        relabel(&equation->terms[t], labels);
    relabel(&equation->output, labels);
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
    ONNXD_TRY(check_output(node, equation));
    return number_letters(node, equation);
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
