/*
 * StringNormalizer: drops stop words and changes the case of the rest. Elements are compared whole.
 * The input is a list or a single row; when nothing is left the result is one empty string.
 */
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <wctype.h>

#include "base/alloc.h"
#include "base/utf8.h"
#include "ops/choice.h"
#include "ops/index/output.h"
#include "ops/ops.h"
#include "ops/support.h"

typedef enum case_action { CASE_NONE, CASE_LOWER, CASE_UPPER } case_action;

typedef struct normalizer_params {
    case_action action;
    bool is_case_sensitive;
    const onnxd_text *stop_words;
    size_t stop_word_count;
    onnxd_text locale;
} normalizer_params;

static onnxd_status *parse_action(const onnxd_node *node, case_action *out_action)
{
    static const char *const names[] = {
        [CASE_NONE] = "NONE", [CASE_LOWER] = "LOWER", [CASE_UPPER] = "UPPER"};
    size_t action = CASE_NONE;
    ONNXD_TRY(onnxd_op_choice(node, "case_change_action", names, ONNXD_COUNT(names), &action));
    *out_action = (case_action)action;
    return NULL;
}

static onnxd_status *parse(const onnxd_node *node, int64_t opset, onnxd_arena *arena, void *params)
{
    (void)opset, (void)arena;
    static const char *const names[] = {"case_change_action", "is_case_sensitive", "locale",
                                        "stopwords", NULL};
    normalizer_params *p = params;
    int64_t is_case_sensitive = 0;
    ONNXD_TRY(onnxd_attributes_allow(node, names));
    ONNXD_TRY(parse_action(node, &p->action));
    ONNXD_TRY(onnxd_attribute_int(node, "is_case_sensitive", 0, 1, &is_case_sensitive));
    ONNXD_TRY(onnxd_attribute_string(node, "locale", &p->locale));
    p->is_case_sensitive = is_case_sensitive != 0;
    return onnxd_attribute_string_list(node, "stopwords", &p->stop_words, &p->stop_word_count);
}

/* ---- case ---------------------------------------------------------------------------------- */

/* The locale that the node names, or where the system lacks it one that knows Unicode. */
static locale_t open_locale(const normalizer_params *p)
{
    locale_t locale = (locale_t)0;
    if (p->locale.size > 0)
        locale = newlocale(LC_CTYPE_MASK, p->locale.data, (locale_t)0);
    if (locale == (locale_t)0)
        locale = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
    return locale != (locale_t)0 ? locale : newlocale(LC_CTYPE_MASK, "C", (locale_t)0);
}

/* The code point of a well-formed sequence of `bytes` bytes. */
static uint32_t decode(const char *text, size_t bytes)
{
    static const uint8_t masks[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
    uint32_t code = (uint8_t)text[0] & masks[bytes];
    for (size_t i = 1; i < bytes; i++)
        code = code << 6 | ((uint8_t)text[i] & 0x3f);
    return code;
}

static size_t encode(uint32_t code, char *out)
{
    if (code < 0x80) {
        out[0] = (char)code;
        return 1;
    }
    const size_t bytes = code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    static const uint8_t leads[] = {0, 0, 0xc0, 0xe0, 0xf0};
    for (size_t i = bytes - 1; i > 0; i--, code >>= 6)
        out[i] = (char)(0x80 | (code & 0x3f));
    out[0] = (char)(leads[bytes] | code);
    return bytes;
}

/* Into `out`, which has room for two bytes for every one: no simple mapping doubles the length.
 * Bytes that are not UTF-8 stay. */
static size_t change_case(const onnxd_string *in, case_action action, locale_t locale, char *out)
{
    size_t length = 0;
    for (size_t at = 0; at < in->size;) {
        const size_t bytes = onnxd_utf8_sequence(in->data + at, in->size - at);
        if (bytes == 0) {
            out[length++] = in->data[at++];
            continue;
        }
        const wint_t code = (wint_t)decode(in->data + at, bytes);
        char mapped[4];
        const size_t mapped_bytes =
            encode((uint32_t)(action == CASE_LOWER   ? towlower_l(code, locale)
                              : action == CASE_UPPER ? towupper_l(code, locale)
                                                     : code),
                   mapped);
        memcpy(out + length, mapped, mapped_bytes);
        length += mapped_bytes;
        at += bytes;
    }
    return length;
}

/* ---- what is left -------------------------------------------------------------------------- */

/* The memory of one run. */
#define BLOCK_BYTES ((size_t)4 << 10)
#define MAX_BYTES ((size_t)1 << 30)

typedef struct normalizer {
    const normalizer_params *params;
    locale_t locale;
    onnxd_arena arena;
    onnxd_string *stop_words; /* sorted; in lower case unless case counts */
    onnxd_string *kept;
    size_t kept_count;
} normalizer;

static onnxd_status *convert(normalizer *n, const onnxd_string *text, case_action action,
                             onnxd_string *out)
{
    char *data =
        text->size > MAX_BYTES / 2 ? NULL : onnxd_arena_alloc(&n->arena, 2 * text->size + 1);
    if (data == NULL)
        return onnxd_error(ONNXD_RESOURCE_EXHAUSTED, "the strings take more than %zu bytes",
                           MAX_BYTES);
    *out = (onnxd_string){data, change_case(text, action, n->locale, data)};
    return NULL;
}

/* As a text is compared with the stop words. */
static onnxd_status *key_of(normalizer *n, const onnxd_string *text, onnxd_string *out)
{
    *out = *text;
    return n->params->is_case_sensitive ? NULL : convert(n, text, CASE_LOWER, out);
}

static int compare(const void *a, const void *b)
{
    const onnxd_string *x = a, *y = b;
    const size_t common = x->size < y->size ? x->size : y->size;
    const int order = common == 0 ? 0 : memcmp(x->data, y->data, common);
    return order != 0 ? order : (x->size > y->size) - (x->size < y->size);
}

static onnxd_status *take_stop_words(normalizer *n)
{
    const normalizer_params *p = n->params;
    for (size_t i = 0; i < p->stop_word_count; i++) {
        const onnxd_string word = {p->stop_words[i].data, p->stop_words[i].size};
        ONNXD_TRY(key_of(n, &word, &n->stop_words[i]));
    }
    if (p->stop_word_count > 1)
        qsort(n->stop_words, p->stop_word_count, sizeof(onnxd_string), compare);
    return NULL;
}

static onnxd_status *take(normalizer *n, const onnxd_string *text)
{
    const normalizer_params *p = n->params;
    onnxd_string key;
    if (p->stop_word_count > 0) {
        ONNXD_TRY(key_of(n, text, &key));
        if (bsearch(&key, n->stop_words, p->stop_word_count, sizeof(key), compare) != NULL)
            return NULL;
    }
    onnxd_string *kept = &n->kept[n->kept_count++];
    *kept = *text;
    return p->action == CASE_NONE ? NULL : convert(n, text, p->action, kept);
}

static onnxd_status *normalize(normalizer *n, const onnxd_tensor *input)
{
    const onnxd_string *texts = input->data;
    n->stop_words =
        onnxd_arena_alloc_zero(&n->arena, n->params->stop_word_count + 1, sizeof(onnxd_string));
    n->kept = onnxd_arena_alloc_zero(&n->arena, input->count + 1, sizeof(onnxd_string));
    if (n->stop_words == NULL || n->kept == NULL)
        return onnxd_error_out_of_memory("strings", input->count * sizeof(onnxd_string),
                                         UINT64_MAX);
    ONNXD_TRY(take_stop_words(n));
    for (size_t i = 0; i < input->count; i++)
        ONNXD_TRY(take(n, &texts[i]));
    /* Nothing left: one empty string, which is there already. */
    if (n->kept_count == 0)
        n->kept_count = 1;
    return NULL;
}

static onnxd_status *publish(onnxd_dynamic *dynamic, const normalizer *n, int32_t rank)
{
    onnxd_shape shape = {.rank = rank, .dims = {1, 1}};
    onnxd_tensor *output;
    shape.dims[rank - 1] = (int64_t)n->kept_count;
    ONNXD_TRY(onnxd_tensor_create_strings(&shape, n->kept, &output));
    onnxd_status *status = onnxd_datum_of_tensor(output, &dynamic->outputs[0]);
    onnxd_tensor_release(output);
    return status;
}

static onnxd_status *check_shape(const onnxd_node *node, const onnxd_shape *shape)
{
    char text[ONNXD_SHAPE_TEXT];
    if (shape->rank == ONNXD_RANK_UNKNOWN || shape->rank == 1 ||
        (shape->rank == 2 && (shape->dims[0] == 1 || shape->dims[0] < 0)))
        return NULL;
    return onnxd_op_error(node, "the input has shape %s, allowed are [C] and [1,C]",
                          onnxd_shape_format(shape, text, sizeof(text)));
}

static onnxd_status *infer(onnxd_infer *infer)
{
    const onnxd_shape *input = &infer->inputs[0].shape;
    ONNXD_TRY(check_shape(infer->node, input));
    infer->outputs[0].dtype = ONNXD_STRING;
    if (input->rank > 0)
        infer->outputs[0].shape = onnxd_shape_of_rank(input->rank);
    if (input->rank == 2)
        infer->outputs[0].shape.dims[0] = 1;
    return NULL;
}

static onnxd_status *run(onnxd_dynamic *dynamic)
{
    const onnxd_tensor *input = dynamic->inputs[0]->tensor;
    normalizer n = {.params = dynamic->params};
    ONNXD_TRY(check_shape(dynamic->node, &input->shape));
    n.locale = open_locale(n.params);
    if (n.locale == (locale_t)0)
        return onnxd_error_out_of_memory("a locale", 1, UINT64_MAX);
    onnxd_arena_init(&n.arena, BLOCK_BYTES, MAX_BYTES);
    onnxd_status *status = normalize(&n, input);
    if (status == NULL)
        status = publish(dynamic, &n, input->shape.rank);
    onnxd_arena_deinit(&n.arena);
    freelocale(n.locale);
    return status;
}

const onnxd_op_def onnxd_op_string_normalizer[] = {
    {.op_type = "StringNormalizer",
     .domain = "",
     .since = 10,
     .until = ONNXD_OPSET_MAX,
     .min_inputs = 1,
     .max_inputs = 1,
     .min_outputs = 1,
     .max_outputs = 1,
     .inputs = {{.types = ONNXD_SET(STRING)}},
     .outputs = {{.types = ONNXD_SET(STRING)}},
     .params_bytes = sizeof(normalizer_params),
     .parse = parse,
     .infer = infer,
     .run = run},
    {.op_type = NULL},
};
