/* Cast and CastLike: the input's values in another element type. */
#include <inttypes.h>
#include <string.h>
#include <strings.h>

#include "ops/choice.h"
#include "ops/convert.h"
#include "ops/ops.h"
#include "ops/support.h"
#include "ops/types.h"

typedef struct cast_params {
    onnxd_dtype to; /* UNDEFINED in CastLike */
    onnxd_rounding rounding;
} cast_params;

/* The types of both ends in an opset; complex numbers were never among them. */
#define WITHOUT_COMPLEX(set) ((set) & ~(ONNXD_SET(COMPLEX64) | ONNXD_SET(COMPLEX128)))
#define TYPES_1 (ONNXD_SET_NUMBERS_1 | ONNXD_SET(BOOL))
#define TYPES_9 WITHOUT_COMPLEX(ONNXD_SET_ANY_1)
#define TYPES_13 WITHOUT_COMPLEX(ONNXD_SET_ANY_13)
#define TYPES_19 WITHOUT_COMPLEX(ONNXD_SET_ANY_19)
#define TYPES_21 WITHOUT_COMPLEX(ONNXD_SET_ANY_21)
#define TYPES_23 WITHOUT_COMPLEX(ONNXD_SET_ANY_23)
#define TYPES_24 WITHOUT_COMPLEX(ONNXD_SET_ANY_24)
#define TYPES_25 WITHOUT_COMPLEX(ONNXD_SET_ANY_25)
#define TYPES_28 (TYPES_25 | ONNXD_SET_FLOAT6)

static onnxd_status *parse_rounding(const onnxd_node *node, onnxd_rounding *rounding)
{
    int64_t saturate = 1;
    static const char *const modes[] = {
        [ONNXD_ROUND_UP] = "up", [ONNXD_ROUND_DOWN] = "down", [ONNXD_ROUND_NEAREST] = "nearest"};
    size_t mode = ONNXD_ROUND_UP;
    ONNXD_TRY(onnxd_attribute_int(node, "saturate", 0, 1, &saturate));
    ONNXD_TRY(onnxd_op_choice(node, "round_mode", modes, ONNXD_COUNT(modes), &mode));
    rounding->saturates = saturate != 0;
    rounding->scale_mode = (unsigned)mode;
    return NULL;
}

/* Opset 1 names the type ("FLOAT"). */
static onnxd_status *parse_name(const onnxd_node *node, int64_t *out_number)
{
    onnxd_text name = {"", 0};
    ONNXD_TRY(onnxd_attribute_string(node, "to", &name));
    for (int64_t number = 1; number < ONNXD_DTYPE_COUNT; number++) {
        if (strcasecmp(onnxd_dtype_name((onnxd_dtype)number), name.data) == 0) {
            *out_number = number;
            return NULL;
        }
    }
    return onnxd_op_error(node, "attribute 'to' names no element type");
}

static onnxd_status *parse(const onnxd_node *node, int64_t opset, onnxd_arena *arena, void *params)
{
    (void)arena;
    static const char *const names[] = {"to", "saturate", "round_mode", NULL};
    static const char *const names_19[] = {"to", "saturate", NULL};
    static const char *const names_1[] = {"to", NULL};
    cast_params *p = params;
    int64_t number = 0;
    ONNXD_TRY(onnxd_attributes_allow(node, opset < 19 ? names_1 : opset < 24 ? names_19 : names));
    ONNXD_TRY(onnxd_attribute_require(node, "to"));
    if (opset < 6)
        ONNXD_TRY(parse_name(node, &number));
    else
        ONNXD_TRY(onnxd_attribute_int(node, "to", INT64_MIN, INT64_MAX, &number));
    onnxd_dtype_set allowed = opset < 9    ? TYPES_1
                              : opset < 13 ? TYPES_9
                              : opset < 19 ? TYPES_13
                              : opset < 21 ? TYPES_19
                              : opset < 23 ? TYPES_21
                              : opset < 24 ? TYPES_23
                              : opset < 25 ? TYPES_24
                              : opset < 28 ? TYPES_25
                                           : TYPES_28;
    p->to = onnxd_dtype_from_onnx(number);
    if ((allowed & ((onnxd_dtype_set)1u << p->to)) == 0)
        return onnxd_op_error(
            node, "attribute 'to' is %" PRId64 " (%s), which opset %" PRId64 " cannot cast to",
            number, onnxd_dtype_name(p->to), opset);
    return parse_rounding(node, &p->rounding);
}

static onnxd_status *parse_like(const onnxd_node *node, int64_t opset, onnxd_arena *arena,
                                void *params)
{
    (void)arena;
    static const char *const names[] = {"saturate", "round_mode", NULL};
    static const char *const names_19[] = {"saturate", NULL};
    static const char *const no_names[] = {NULL};
    ONNXD_TRY(onnxd_attributes_allow(node, opset < 19 ? no_names : opset < 24 ? names_19 : names));
    return parse_rounding(node, &((cast_params *)params)->rounding);
}

static onnxd_status *infer(onnxd_infer *infer)
{
    infer->outputs[0].dtype = ((const cast_params *)infer->params)->to;
    infer->outputs[0].shape = infer->inputs[0].shape;
    return NULL;
}

static onnxd_status *infer_like(onnxd_infer *infer)
{
    infer->outputs[0].dtype = infer->inputs[1].dtype;
    infer->outputs[0].shape = infer->inputs[0].shape;
    return NULL;
}

static void convert_numbers(const onnxd_tensor_view *input, const onnxd_tensor_view *output,
                            const onnxd_rounding *rounding)
{
    onnxd_wide chunk[ONNXD_WIDE_CHUNK];
    onnxd_wide_kind kind = onnxd_wide_kind_of(input->dtype);
    const void *from = onnxd_tensor_view_data(input);
    void *to = onnxd_tensor_view_data(output);
    size_t count = onnxd_tensor_view_count(input);
    for (size_t first = 0; first < count; first += ONNXD_WIDE_CHUNK) {
        size_t part = count - first < ONNXD_WIDE_CHUNK ? count - first : ONNXD_WIDE_CHUNK;
        onnxd_wide_load(input->dtype, from, first, part, chunk);
        onnxd_wide_store(output->dtype, kind, chunk, part, rounding, to, first);
    }
}

static onnxd_status *numbers_to_strings(const onnxd_compute *compute)
{
    const onnxd_tensor_view *input = &compute->inputs[0];
    onnxd_wide_kind kind = onnxd_wide_kind_of(input->dtype);
    const void *from = onnxd_tensor_view_data(input);
    onnxd_string *to = onnxd_tensor_view_data(&compute->outputs[0]);
    size_t count = onnxd_tensor_view_count(input);
    onnxd_wide chunk[ONNXD_WIDE_CHUNK];
    for (size_t i = 0; i < count; i++) {
        size_t at = i % ONNXD_WIDE_CHUNK;
        if (at == 0)
            onnxd_wide_load(input->dtype, from, i,
                            count - i < ONNXD_WIDE_CHUNK ? count - i : ONNXD_WIDE_CHUNK, chunk);
        char text[ONNXD_WIDE_TEXT];
        size_t length = onnxd_wide_format(kind, chunk[at], text);
        to[i].data = onnxd_arena_strndup(&compute->strings->arena, text, length);
        to[i].size = length;
        if (to[i].data == NULL)
            return onnxd_op_error_code(ONNXD_RESOURCE_EXHAUSTED, compute->node,
                                       "the strings of the output need too much memory");
    }
    return NULL;
}

/* At most this much of a client's text is repeated in a message. */
#define QUOTED_BYTES 32

static onnxd_status *strings_to_numbers(const onnxd_compute *compute,
                                        const onnxd_rounding *rounding)
{
    const onnxd_tensor_view *output = &compute->outputs[0];
    const onnxd_string *from = onnxd_tensor_view_data(&compute->inputs[0]);
    void *to = onnxd_tensor_view_data(output);
    size_t count = onnxd_tensor_view_count(output);
    for (size_t i = 0; i < count; i++) {
        onnxd_wide_kind kind = onnxd_wide_kind_of(output->dtype);
        onnxd_wide value;
        if (!onnxd_wide_parse(&from[i], &kind, &value))
            return onnxd_op_error(compute->node, "element %zu, '%.*s', is no number of type %s", i,
                                  (int)(from[i].size < QUOTED_BYTES ? from[i].size : QUOTED_BYTES),
                                  from[i].data == NULL ? "" : from[i].data,
                                  onnxd_dtype_name(output->dtype));
        onnxd_wide_store(output->dtype, kind, &value, 1, rounding, to, i);
    }
    return NULL;
}

static onnxd_status *compute(const onnxd_compute *compute)
{
    const cast_params *p = compute->params;
    const onnxd_tensor_view *input = &compute->inputs[0], *output = &compute->outputs[0];
    if (onnxd_tensor_view_count(input) == 0)
        return NULL;
    if (input->dtype == output->dtype && input->dtype != ONNXD_BOOL)
        return onnxd_op_compute_copy(compute);
    if (input->dtype == ONNXD_STRING)
        return strings_to_numbers(compute, &p->rounding);
    if (output->dtype == ONNXD_STRING)
        return numbers_to_strings(compute);
    convert_numbers(input, output, &p->rounding);
    return NULL;
}

#define COMMON(first, last)                                                                        \
    .domain = "", .since = first, .until = last, .min_outputs = 1, .max_outputs = 1,               \
    .params_bytes = sizeof(cast_params), .compute = compute, .batch_inputs = 1u
#define CAST_ROW(first, last, set)                                                                 \
    {                                                                                              \
        COMMON(first, last), .op_type = "Cast", .min_inputs = 1, .max_inputs = 1,                  \
                             .inputs = {{.types = set}}, .outputs = {{.types = set}},              \
                             .parse = parse, .infer = infer                                        \
    }
#define LIKE_ROW(first, last, set)                                                                 \
    {                                                                                              \
        COMMON(first, last), .op_type = "CastLike", .min_inputs = 2, .max_inputs = 2,              \
                             .inputs = {{.types = set}, {.types = set}},                           \
                             .outputs = {{.types = set}}, .parse = parse_like, .infer = infer_like \
    }
#define ROWS_19(ROW)                                                                               \
    ROW(19, 20, TYPES_19), ROW(21, 22, TYPES_21), ROW(23, 23, TYPES_23), ROW(24, 24, TYPES_24)

const onnxd_op_def onnxd_op_cast[] = {
    CAST_ROW(1, 8, TYPES_1),    CAST_ROW(9, 12, TYPES_9),   CAST_ROW(13, 18, TYPES_13),
    ROWS_19(CAST_ROW),          CAST_ROW(25, 27, TYPES_25), CAST_ROW(28, ONNXD_OPSET_MAX, TYPES_28),
    LIKE_ROW(15, 18, TYPES_13), ROWS_19(LIKE_ROW),          LIKE_ROW(25, ONNXD_OPSET_MAX, TYPES_25),
    {.op_type = NULL},
};
