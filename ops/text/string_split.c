/*
 * StringSplit: the pieces of each string, padded with empty ones to the longest list, and how many
 * there are. Without a delimiter runs of blanks separate, and blanks at both ends belong to no
 * piece; with one, every occurrence separates. After `maxsplit` cuts the rest is the last piece.
 */
#include <string.h>

#include "base/utf8.h"
#include "ops/index/output.h"
#include "ops/ops.h"
#include "ops/support.h"

/* Bytes between two looks at whether the request still stands. */
#define CHECK_EVERY ((size_t)1 << 13)

typedef struct split_params {
    onnxd_text delimiter; /* size 0: blanks */
    int64_t max_cuts;     /* negative: no limit */
} split_params;

/* What is left of a string, and how many cuts may still be made. */
typedef struct rest {
    const char *text;
    size_t size;
    int64_t cuts;
    bool is_over;
} rest;

static onnxd_status *parse(const onnxd_node *node, int64_t opset, onnxd_arena *arena, void *params)
{
    (void)opset, (void)arena;
    static const char *const names[] = {"delimiter", "maxsplit", NULL};
    split_params *p = params;
    ONNXD_TRY(onnxd_attributes_allow(node, names));
    p->max_cuts = -1;
    ONNXD_TRY(onnxd_attribute_string(node, "delimiter", &p->delimiter));
    return onnxd_attribute_int(node, "maxsplit", INT64_MIN, INT64_MAX, &p->max_cuts);
}

/* Bytes of the blank character (Unicode's White_Space and the four separators below U+0020 that
 * Python takes for blanks) that the text begins with; 0 when it begins with none. */
static size_t blank_at(const char *text, size_t size)
{
    const unsigned char *u = (const unsigned char *)text;
    if (size == 0)
        return 0;
    if (u[0] < 0x80)
        return u[0] == ' ' || (u[0] >= '\t' && u[0] <= '\r') || (u[0] >= 0x1c && u[0] <= 0x1f);
    if (size >= 2 && u[0] == 0xc2)
        return u[1] == 0x85 || u[1] == 0xa0 ? 2 : 0;
    if (size < 3)
        return 0;
    const uint32_t code = (uint32_t)u[0] << 16 | (uint32_t)u[1] << 8 | u[2];
    const bool is_general = code >= 0xe28080 && code <= 0xe2808a; /* U+2000 to U+200A */
    return is_general || code == 0xe19a80 || code == 0xe280a8 || code == 0xe280a9 ||
                   code == 0xe280af || code == 0xe2819f || code == 0xe38080
               ? 3
               : 0;
}

static void advance(rest *r, size_t bytes)
{
    r->text += bytes;
    r->size -= bytes;
}

static void skip_blanks(rest *r)
{
    for (size_t bytes = blank_at(r->text, r->size); bytes > 0; bytes = blank_at(r->text, r->size))
        advance(r, bytes);
}

static size_t word_length(const rest *r)
{
    size_t at = 0;
    while (at < r->size && blank_at(r->text + at, r->size - at) == 0) {
        const size_t bytes = onnxd_utf8_sequence(r->text + at, r->size - at);
        at += bytes == 0 ? 1 : bytes;
    }
    return at;
}

static bool next_word(rest *r, onnxd_string *out)
{
    skip_blanks(r);
    if (r->size == 0)
        return false;
    const size_t length = r->cuts == 0 ? r->size : word_length(r);
    *out = (onnxd_string){r->text, length};
    advance(r, length);
    r->cuts -= r->cuts > 0;
    return true;
}

static bool next_field(rest *r, const onnxd_text *delimiter, onnxd_string *out)
{
    if (r->is_over)
        return false;
    const char *cut = r->cuts == 0 || r->size == 0
                          ? NULL
                          : memmem(r->text, r->size, delimiter->data, delimiter->size);
    if (cut == NULL) {
        *out = (onnxd_string){r->text, r->size};
        r->is_over = true;
        return true;
    }
    *out = (onnxd_string){r->text, (size_t)(cut - r->text)};
    advance(r, out->size + delimiter->size);
    r->cuts -= r->cuts > 0;
    return true;
}

static bool next_piece(const split_params *p, rest *r, onnxd_string *out)
{
    return p->delimiter.size == 0 ? next_word(r, out) : next_field(r, &p->delimiter, out);
}

static rest rest_of(const split_params *p, const onnxd_string *string)
{
    return (rest){.text = string->data, .size = string->size, .cuts = p->max_cuts};
}

static onnxd_status *infer(onnxd_infer *infer)
{
    const onnxd_shape *input = &infer->inputs[0].shape;
    infer->outputs[0] = (onnxd_tensor_type){.dtype = ONNXD_STRING, .shape = *input};
    infer->outputs[1] = (onnxd_tensor_type){.dtype = ONNXD_INT64, .shape = *input};
    if (input->rank < 0)
        return NULL;
    if (input->rank == ONNXD_MAX_RANK)
        return onnxd_op_error(infer->node, "the input has rank %d, at most %d is allowed",
                              ONNXD_MAX_RANK, ONNXD_MAX_RANK - 1);
    infer->outputs[0].shape.dims[infer->outputs[0].shape.rank++] = ONNXD_DIM_UNKNOWN;
    return NULL;
}

/* Counts the bytes of one more string. */
static onnxd_status *check(const onnxd_run_env *env, size_t bytes, size_t *inout_since_check)
{
    *inout_since_check += bytes + 1;
    if (*inout_since_check < CHECK_EVERY)
        return NULL;
    *inout_since_check = 0;
    return env->check(env);
}

/* Fills `counts` and finds the greatest. */
static onnxd_status *count_pieces(const split_params *p, const onnxd_run_env *env,
                                  const onnxd_tensor *input, int64_t *counts, int64_t *out_most)
{
    const onnxd_string *strings = input->data;
    int64_t most = 0;
    size_t since_check = 0;
    for (size_t i = 0; i < input->count; i++) {
        ONNXD_TRY(check(env, strings[i].size, &since_check));
        rest r = rest_of(p, &strings[i]);
        onnxd_string piece;
        counts[i] = 0;
        while (next_piece(p, &r, &piece))
            counts[i]++;
        most = counts[i] > most ? counts[i] : most;
    }
    *out_most = most;
    return NULL;
}

static onnxd_status *fill(const split_params *p, const onnxd_run_env *env,
                          const onnxd_tensor *input, int64_t most, onnxd_string *out)
{
    const onnxd_string *strings = input->data;
    size_t since_check = 0;
    for (size_t i = 0; i < input->count; i++) {
        ONNXD_TRY(check(env, strings[i].size + (size_t)most, &since_check));
        rest r = rest_of(p, &strings[i]);
        for (int64_t k = 0; k < most; k++) {
            onnxd_string *piece = out + i * (size_t)most + (size_t)k;
            if (!next_piece(p, &r, piece))
                *piece = (onnxd_string){NULL, 0};
        }
    }
    return NULL;
}

static onnxd_status *run(onnxd_dynamic *dynamic)
{
    const split_params *p = dynamic->params;
    const onnxd_tensor *input = dynamic->inputs[0]->tensor;
    onnxd_shape shape = input->shape;
    onnxd_tensor *counts, *pieces;
    onnxd_status *status;
    if (shape.rank >= ONNXD_MAX_RANK)
        return onnxd_op_error(dynamic->node, "the input has rank %d, at most %d is allowed",
                              (int)shape.rank, ONNXD_MAX_RANK - 1);
    ONNXD_TRY(dynamic->env->allocate(dynamic->env, ONNXD_INT64, &shape, &counts));
    int64_t most = 0;
    status = count_pieces(p, dynamic->env, input, counts->data, &most);
    if (status != NULL) {
        onnxd_tensor_release(counts);
        return status;
    }
    ONNXD_TRY(onnxd_publish_output(dynamic, 1, counts));
    shape.dims[shape.rank++] = most;
    ONNXD_TRY(dynamic->env->allocate(dynamic->env, ONNXD_STRING, &shape, &pieces));
    status = fill(p, dynamic->env, input, most, pieces->data);
    if (status == NULL)
        return onnxd_publish_output(dynamic, 0, pieces);
    onnxd_tensor_release(pieces);
    return status;
}

const onnxd_op_def onnxd_op_string_split[] = {
    {.op_type = "StringSplit",
     .domain = "",
     .since = 20,
     .until = ONNXD_OPSET_MAX,
     .min_inputs = 1,
     .max_inputs = 1,
     .min_outputs = 2,
     .max_outputs = 2,
     .inputs = {{.types = ONNXD_SET(STRING)}},
     .outputs = {{.types = ONNXD_SET(STRING)}, {.types = ONNXD_SET(INT64)}},
     .params_bytes = sizeof(split_params),
     .parse = parse,
     .infer = infer,
     .run = run},
    {.op_type = NULL},
};
