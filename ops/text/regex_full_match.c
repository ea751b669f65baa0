/* RegexFullMatch: whether each whole string matches a pattern in RE2's syntax. */
#include "ops/ops.h"
#include "ops/support.h"
#include "ops/text/regex.h"

#define REASON_BYTES 160

typedef struct regex_params {
    onnxd_text pattern;
} regex_params;

static onnxd_status *compile(const onnxd_node *node, const regex_params *p, onnxd_regex **out_regex)
{
    char reason[REASON_BYTES];
    *out_regex = onnxd_regex_create(p->pattern.data, p->pattern.size, reason, sizeof(reason));
    if (*out_regex != NULL)
        return NULL;
    return onnxd_op_error(node, "attribute 'pattern' is not a regular expression of RE2: %s",
                          reason);
}

static onnxd_status *parse(const onnxd_node *node, int64_t opset, onnxd_arena *arena, void *params)
{
    (void)opset, (void)arena;
    static const char *const names[] = {"pattern", NULL};
    regex_params *p = params;
    ONNXD_TRY(onnxd_attributes_allow(node, names));
    ONNXD_TRY(onnxd_attribute_require(node, "pattern"));
    ONNXD_TRY(onnxd_attribute_string(node, "pattern", &p->pattern));
    onnxd_regex *regex;
    ONNXD_TRY(compile(node, p, &regex));
    onnxd_regex_destroy(regex);
    return NULL;
}

static onnxd_status *infer(onnxd_infer *infer)
{
    infer->outputs[0].dtype = ONNXD_BOOL;
    infer->outputs[0].shape = infer->inputs[0].shape;
    return NULL;
}

static onnxd_status *compute(const onnxd_compute *compute)
{
    const onnxd_string *texts = onnxd_tensor_view_data(&compute->inputs[0]);
    const size_t count = onnxd_tensor_view_count(&compute->inputs[0]);
    uint8_t *out = onnxd_tensor_view_data(&compute->outputs[0]);
    onnxd_regex *regex;
    ONNXD_TRY(compile(compute->node, compute->params, &regex));
    for (size_t i = 0; i < count; i++)
        out[i] = onnxd_regex_matches(regex, texts[i].data, texts[i].size);
    onnxd_regex_destroy(regex);
    return NULL;
}

const onnxd_op_def onnxd_op_regex_full_match[] = {
    {.op_type = "RegexFullMatch",
     .domain = "",
     .since = 20,
     .until = ONNXD_OPSET_MAX,
     .min_inputs = 1,
     .max_inputs = 1,
     .min_outputs = 1,
     .max_outputs = 1,
     .inputs = {{.types = ONNXD_SET(STRING)}},
     .outputs = {{.types = ONNXD_SET(BOOL)}},
     .params_bytes = sizeof(regex_params),
     .parse = parse,
     .infer = infer,
     .compute = compute},
    {.op_type = NULL},
};
