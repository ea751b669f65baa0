/* docs/operators.md is what the tables of operators make of it, and nothing is both known and
 * refused. */
#include "daemon/operator_table.h"

#include <criterion/criterion.h>
#include <string.h>

#include "base/path.h"
#include "ops/ops.h"

static onnxd_strbuf text_of(void (*write)(const onnxd_operator_list *, onnxd_strbuf *))
{
    onnxd_operator_list list;
    onnxd_strbuf text;
    cr_assert_null(onnxd_operator_list_init(onnxd_ops(), &list));
    onnxd_strbuf_init(&text, 16u << 20);
    write(&list, &text);
    cr_assert_not(text.failed);
    onnxd_operator_list_deinit(&list);
    return text;
}

Test(operator_table, document_is_up_to_date)
{
    onnxd_strbuf expected = text_of(onnxd_operators_write_markdown);
    onnxd_file file;
    cr_assert_null(onnxd_file_open(NULL, ONNXD_SOURCE_DIR "/docs/operators.md", 16 << 20, &file));
    cr_assert(file.size == expected.length && memcmp(file.data, expected.data, file.size) == 0,
              "docs/operators.md is out of date: onnxd list-operators --markdown > "
              "docs/operators.md");
    onnxd_file_close(&file);
    onnxd_strbuf_deinit(&expected);
}

Test(operator_table, json_has_a_line_for_each_definition)
{
    onnxd_strbuf text = text_of(onnxd_operators_write_json);
    size_t lines = 0;
    size_t definitions = 0;
    for (const char *at = text.data; (at = strchr(at, '\n')) != NULL; at++)
        lines++;
    for (size_t i = 0; i < onnxd_ops()->table_count; i++)
        for (const onnxd_op_def *def = onnxd_ops()->tables[i]; def->op_type != NULL; def++)
            definitions += strcmp(def->domain, ONNXD_INTERNAL_DOMAIN) != 0;
    cr_expect_eq(lines, definitions);
    cr_expect_not_null(strstr(
        text.data,
        "{\"domain\": \"ai.onnx\", \"operator\": \"Not\", \"since\": 1, \"until\": 28, "
        "\"min_inputs\": 1, \"max_inputs\": 1, \"inputs\": [{\"types\": [\"bool\"], \"kinds\": "
        "[\"tensor\"], \"variable\": "));
    onnxd_strbuf_deinit(&text);
}

Test(operator_table, nothing_is_known_and_refused)
{
#define ONNXD_REFUSED(domain, op_type, needs)                                                      \
    for (int64_t opset = 1; opset <= ONNXD_OPSET_MAX; opset++)                                     \
        cr_expect_null(onnxd_op_find(onnxd_ops(), domain, op_type, opset), "%s", op_type);
#include "graph/refused.inc"
}

/* Two definitions of one operator never hold for the same opset. */
Test(operator_table, definitions_do_not_overlap)
{
    onnxd_operator_list list;
    cr_assert_null(onnxd_operator_list_init(onnxd_ops(), &list));
    for (size_t i = 1; i < list.count; i++) {
        const onnxd_op_def *a = list.defs[i - 1];
        const onnxd_op_def *b = list.defs[i];
        if (strcmp(a->domain, b->domain) == 0 && strcmp(a->op_type, b->op_type) == 0)
            cr_expect_lt(a->until, b->since, "%s at %lld", a->op_type, (long long)b->since);
    }
    onnxd_operator_list_deinit(&list);
}
