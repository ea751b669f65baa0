#include "tests/ops/op_text.h"

#include <criterion/criterion.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "ops/convert.h"
#include "tests/ops/op_call.h"

static char result_text[16384];
static size_t result_length;

static void append(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void append(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int added =
        vsnprintf(result_text + result_length, sizeof(result_text) - result_length, format, args);
    va_end(args);
    cr_assert(added >= 0 && result_length + (size_t)added < sizeof(result_text));
    result_length += (size_t)added;
}

static void append_type(onnxd_dtype dtype, const onnxd_shape *shape)
{
    if (result_length != 0)
        append("; ");
    append("%s", dtype == ONNXD_UNDEFINED ? "?" : onnxd_dtype_name(dtype));
    if (shape->rank < 0) {
        append("*");
        return;
    }
    append("[");
    for (int32_t i = 0; i < shape->rank; i++) {
        int64_t dim = shape->dims[i];
        append(i == 0 ? "" : ",");
        if (onnxd_dim_is_symbol(dim))
            append("s%u", ONNXD_DIM_SYMBOL(dim));
        else if (dim == ONNXD_DIM_UNKNOWN)
            append("?");
        else
            append("%lld", (long long)dim);
    }
    append("]");
}

static void append_values(const onnxd_tensor *tensor)
{
    onnxd_wide_kind kind = onnxd_wide_kind_of(tensor->dtype);
    append("{");
    for (size_t i = 0; i < tensor->count; i++) {
        append(i == 0 ? "" : ",");
        if (tensor->dtype == ONNXD_STRING) {
            const onnxd_string *text = &((const onnxd_string *)tensor->data)[i];
            append("%.*s", (int)text->size, text->data == NULL ? "" : text->data);
            continue;
        }
        onnxd_wide chunk[8];
        onnxd_wide_load(tensor->dtype, tensor->data, i - i % 8, i % 8 + 1, chunk);
        char text[ONNXD_WIDE_TEXT + 1];
        text[onnxd_wide_format(kind, chunk[i % 8], text)] = '\0';
        append("%s", text);
    }
    append("}");
}

static const char *fail_with(onnxd_status *status)
{
    result_length = 0;
    append("error: %s", onnxd_status_message(status));
    onnxd_status_free(status);
    return result_text;
}

static const char *run(const op_text *text, bool evaluates)
{
    static op_call c;
    result_length = 0;
    result_text[0] = '\0';
    op_call_open(&c, text);
    onnxd_status *status = evaluates ? op_call_evaluate(&c) : op_call_infer(&c);
    if (status != NULL) {
        op_call_close(&c);
        return fail_with(status);
    }
    for (uint32_t i = 0; i < c.node.output_count; i++) {
        if (evaluates) {
            append_type(c.outputs[i]->dtype, &c.outputs[i]->shape);
            append_values(c.outputs[i]);
        } else {
            append_type(c.results[i].dtype, &c.results[i].shape);
        }
    }
    op_call_close(&c);
    return result_text;
}

const char *op_text_infer(const op_text *call)
{
    return run(call, false);
}

const char *op_text_evaluate(const op_text *call)
{
    return run(call, true);
}

static void expect(const op_text *calls, unsigned count, bool evaluates)
{
    static const char mark[] = "error: ";
    for (unsigned i = 0; i < count; i++) {
        const op_text *call = &calls[i];
        const char *got = run(call, evaluates);
        bool is_error = strncmp(call->expected, mark, sizeof(mark) - 1) == 0;
        bool fits = is_error ? strncmp(got, mark, sizeof(mark) - 1) == 0 &&
                                   strstr(got, call->expected + sizeof(mark) - 1) != NULL
                             : strcmp(got, call->expected) == 0;
        cr_expect(fits, "%s-%lld(%s) {%s}\n  is      %s\n  must be %s", call->op_type,
                  (long long)call->opset, call->inputs, call->attributes, got, call->expected);
    }
}

void op_text_expect_inferred(const op_text *calls, unsigned count)
{
    expect(calls, count, false);
}

void op_text_expect_evaluated(const op_text *calls, unsigned count)
{
    expect(calls, count, true);
}
