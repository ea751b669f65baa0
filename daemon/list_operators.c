#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "daemon/command.h"
#include "ops/ops.h"

/* The standard's name for the domain that is written as "". */
static const char *domain_name(const onnxd_op_def *def)
{
    return def->domain[0] != '\0' ? def->domain : "ai.onnx";
}

static int compare(const void *a, const void *b)
{
    const onnxd_op_def *left = *(const onnxd_op_def *const *)a;
    const onnxd_op_def *right = *(const onnxd_op_def *const *)b;
    int order = strcmp(domain_name(left), domain_name(right));
    if (order == 0)
        order = strcmp(left->op_type, right->op_type);
    if (order == 0)
        order = (left->since > right->since) - (left->since < right->since);
    return order;
}

static bool is_same_operator(const onnxd_op_def *a, const onnxd_op_def *b)
{
    return strcmp(a->domain, b->domain) == 0 && strcmp(a->op_type, b->op_type) == 0;
}

static size_t collect(const onnxd_op_registry *registry, const onnxd_op_def **out_defs)
{
    size_t count = 0;
    for (size_t i = 0; i < registry->table_count; i++)
        for (const onnxd_op_def *def = registry->tables[i]; def->op_type != NULL; def++, count++)
            if (out_defs != NULL)
                out_defs[count] = def;
    return count;
}

/* Definitions that follow each other without a gap are one range. Returns the index of the next
 * operator's first definition. */
static size_t write_operator(const onnxd_op_def *const *defs, size_t count, size_t first,
                             onnxd_strbuf *out)
{
    size_t i = first;
    onnxd_strbuf_printf(out, "%-10s %-28s ", domain_name(defs[first]), defs[first]->op_type);
    while (i < count && is_same_operator(defs[i], defs[first])) {
        int64_t until = defs[i]->until;
        size_t next = i + 1;
        for (; next < count && is_same_operator(defs[next], defs[first]) &&
               defs[next]->since <= until + 1;
             next++)
            until = defs[next]->until > until ? defs[next]->until : until;
        onnxd_strbuf_printf(out, "%s%" PRId64 "-%" PRId64, i == first ? "" : ", ", defs[i]->since,
                            until);
        i = next;
    }
    onnxd_strbuf_puts(out, "\n");
    return i;
}

int onnxd_command_list_operators(const onnxd_invocation *invocation, const onnxd_config *config)
{
    (void)invocation;
    (void)config;
    onnxd_strbuf text;
    size_t count = collect(onnxd_ops(), NULL);
    const onnxd_op_def **defs = onnxd_alloc_zero(count, sizeof(*defs));
    if (defs == NULL)
        return onnxd_cli_fail(
            onnxd_error_out_of_memory("operators", count * sizeof(*defs), UINT64_MAX), false);
    (void)collect(onnxd_ops(), defs);
    qsort(defs, count, sizeof(const onnxd_op_def *), compare);
    onnxd_strbuf_init(&text, (size_t)1024 * 1024);
    for (size_t i = 0; i < count;)
        i = write_operator(defs, count, i, &text);
    bool failed = text.failed || fwrite(text.data, 1, text.length, stdout) != text.length ||
                  fflush(stdout) != 0;
    onnxd_strbuf_deinit(&text);
    onnxd_free(defs);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
