#include "daemon/operator_table.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

/* ---- the list ------------------------------------------------------------------------------ */

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

static size_t collect(const onnxd_op_registry *registry, const onnxd_op_def **out_defs)
{
    size_t count = 0;
    for (size_t i = 0; i < registry->table_count; i++)
        for (const onnxd_op_def *def = registry->tables[i]; def->op_type != NULL; def++) {
            /* No model can have these. */
            if (strcmp(def->domain, ONNXD_INTERNAL_DOMAIN) == 0)
                continue;
            if (out_defs != NULL)
                out_defs[count] = def;
            count++;
        }
    return count;
}

onnxd_status *onnxd_operator_list_init(const onnxd_op_registry *registry,
                                       onnxd_operator_list *out_list)
{
    size_t count = collect(registry, NULL);
    const onnxd_op_def **defs = onnxd_alloc_zero(count, sizeof(*defs));
    if (defs == NULL)
        return onnxd_error_out_of_memory("operators", count * sizeof(*defs), UINT64_MAX);
    (void)collect(registry, defs);
    qsort(defs, count, sizeof(const onnxd_op_def *), compare);
    *out_list = (onnxd_operator_list){defs, count};
    return NULL;
}

void onnxd_operator_list_deinit(onnxd_operator_list *list)
{
    onnxd_free(list->defs);
    *list = (onnxd_operator_list){0};
}

static bool is_same_operator(const onnxd_op_def *a, const onnxd_op_def *b)
{
    return strcmp(a->domain, b->domain) == 0 && strcmp(a->op_type, b->op_type) == 0;
}

/* Past the last of the formals that a definition gives. */
static uint32_t formal_count(const onnxd_op_formal *formals, uint16_t maximum)
{
    uint32_t count = 0;
    while (count < ONNXD_OP_MAX_FORMALS && count < maximum && formals[count].types != 0)
        count++;
    return count;
}

/* ---- text ---------------------------------------------------------------------------------- */

/* Definitions that follow each other without a gap are one range. Returns the index of the next
 * operator's first definition. */
static size_t write_operator(const onnxd_operator_list *list, size_t first, onnxd_strbuf *out)
{
    const onnxd_op_def *const *defs = list->defs;
    size_t i = first;
    onnxd_strbuf_printf(out, "%-10s %-28s ", domain_name(defs[first]), defs[first]->op_type);
    while (i < list->count && is_same_operator(defs[i], defs[first])) {
        int64_t until = defs[i]->until;
        size_t next = i + 1;
        for (; next < list->count && is_same_operator(defs[next], defs[first]) &&
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

void onnxd_operators_write_text(const onnxd_operator_list *list, onnxd_strbuf *out)
{
    for (size_t i = 0; i < list->count;)
        i = write_operator(list, i, out);
}

/* ---- JSON ---------------------------------------------------------------------------------- */

static unsigned kinds_of(const onnxd_op_formal *formal)
{
    return formal->kinds != 0 ? formal->kinds : (unsigned)ONNXD_KIND(TENSOR);
}

static void write_json_formal(const onnxd_op_formal *formal, bool is_variadic, onnxd_strbuf *out)
{
    const char *separator = "";
    onnxd_strbuf_puts(out, "{\"types\": [");
    for (unsigned type = 1; type < (unsigned)ONNXD_DTYPE_COUNT; type++) {
        if ((formal->types >> type & 1) == 0)
            continue;
        onnxd_strbuf_printf(out, "%s\"%s\"", separator, onnxd_dtype_name((onnxd_dtype)type));
        separator = ", ";
    }
    onnxd_strbuf_puts(out, "], \"kinds\": [");
    separator = "";
    for (unsigned kind = 0; kind < ONNXD_VALUE_KIND_COUNT; kind++) {
        if ((kinds_of(formal) >> kind & 1) == 0)
            continue;
        onnxd_strbuf_printf(out, "%s\"%s\"", separator,
                            onnxd_value_kind_name((onnxd_value_kind)kind));
        separator = ", ";
    }
    onnxd_strbuf_printf(out, "], \"variable\": %u, \"optional\": %s, \"variadic\": %s}",
                        formal->type_variable, formal->is_optional ? "true" : "false",
                        is_variadic ? "true" : "false");
}

static void write_json_side(const char *side, const onnxd_op_formal *formals, uint16_t minimum,
                            uint16_t maximum, onnxd_strbuf *out)
{
    uint32_t count = formal_count(formals, maximum);
    onnxd_strbuf_printf(out, ", \"min_%s\": %u, ", side, minimum);
    if (maximum == ONNXD_OP_VARIADIC)
        onnxd_strbuf_printf(out, "\"max_%s\": null, ", side);
    else
        onnxd_strbuf_printf(out, "\"max_%s\": %u, ", side, maximum);
    onnxd_strbuf_printf(out, "\"%s\": [", side);
    for (uint32_t i = 0; i < count; i++) {
        onnxd_strbuf_puts(out, i == 0 ? "" : ", ");
        write_json_formal(&formals[i], maximum == ONNXD_OP_VARIADIC && i + 1 == count, out);
    }
    onnxd_strbuf_puts(out, "]");
}

void onnxd_operators_write_json(const onnxd_operator_list *list, onnxd_strbuf *out)
{
    for (size_t i = 0; i < list->count; i++) {
        const onnxd_op_def *def = list->defs[i];
        onnxd_strbuf_printf(out,
                            "{\"domain\": \"%s\", \"operator\": \"%s\", \"since\": %" PRId64
                            ", \"until\": %" PRId64,
                            domain_name(def), def->op_type, def->since, def->until);
        write_json_side("inputs", def->inputs, def->min_inputs, def->max_inputs, out);
        write_json_side("outputs", def->outputs, def->min_outputs, def->max_outputs, out);
        onnxd_strbuf_printf(out, ", \"run\": %s, \"random\": %s}\n",
                            def->run != NULL ? "true" : "false",
                            def->is_nondeterministic ? "true" : "false");
    }
}

/* ---- docs/operators.md --------------------------------------------------------------------- */

static const char introduction[] =
    "# Operators\n"
    "\n"
    "Made from the operator tables in `ops/` by `onnxd list-operators --markdown`; edit those, not "
    "this\n"
    "file. A model with another operator, opset or type is refused when it is loaded, by name.\n"
    "\n"
    "A row is one range of opsets of the domain. Types of inputs and outputs that must agree are "
    "given\n"
    "once, as T1, T2 and so on. Groups of types:\n"
    "\n"
    "| group | types |\n"
    "|---|---|\n";

/* Names for sets of types that ONNX lists together; the larger ones first. */
static const struct {
    const char *name;
    onnxd_dtype_set types;
} groups[] = {
    {"numbers", ONNXD_SET_NUMBERS},
    {"floats", ONNXD_SET_FLOATS},
    {"integers", ONNXD_SET_INTEGERS},
    {"signed integers", ONNXD_SET_SIGNED},
    {"unsigned integers", ONNXD_SET_UNSIGNED},
    {"complex", ONNXD_SET(COMPLEX64) | ONNXD_SET(COMPLEX128)},
    {"float8", ONNXD_SET(FLOAT8E4M3FN) | ONNXD_SET(FLOAT8E4M3FNUZ) | ONNXD_SET(FLOAT8E5M2) |
                   ONNXD_SET(FLOAT8E5M2FNUZ)},
};

static void write_type_names(onnxd_dtype_set types, const char *separator, onnxd_strbuf *out)
{
    for (unsigned type = 1; type < (unsigned)ONNXD_DTYPE_COUNT; type++) {
        if ((types >> type & 1) == 0)
            continue;
        onnxd_strbuf_printf(out, "%s%s", separator, onnxd_dtype_name((onnxd_dtype)type));
        separator = ", ";
    }
}

static void write_types(onnxd_dtype_set types, onnxd_strbuf *out)
{
    const char *separator = "";
    for (size_t i = 0; i < ONNXD_COUNT(groups); i++) {
        if ((types & groups[i].types) != groups[i].types)
            continue;
        onnxd_strbuf_printf(out, "%s%s", separator, groups[i].name);
        types &= ~groups[i].types;
        separator = ", ";
    }
    write_type_names(types, separator, out);
}

/* "sequence or tensor of ", nothing for tensors alone. */
static void write_kinds(const onnxd_op_formal *formal, onnxd_strbuf *out)
{
    const char *separator = "";
    if (kinds_of(formal) == ONNXD_KIND(TENSOR))
        return;
    for (unsigned kind = 0; kind < ONNXD_VALUE_KIND_COUNT; kind++) {
        if ((kinds_of(formal) >> kind & 1) == 0)
            continue;
        onnxd_strbuf_printf(out, "%s%s", separator, onnxd_value_kind_name((onnxd_value_kind)kind));
        separator = " or ";
    }
    onnxd_strbuf_puts(out, " of ");
}

/* "T1, [T2], int64": the formals of a side; an optional one in brackets. `seen` is the set of type
 * variables whose types have been written. */
static void write_formals(const onnxd_op_formal *formals, uint16_t maximum, uint32_t *seen,
                          onnxd_strbuf *out)
{
    uint32_t count = formal_count(formals, maximum);
    for (uint32_t i = 0; i < count; i++) {
        const onnxd_op_formal *formal = &formals[i];
        uint32_t bit = (uint32_t)1 << (formal->type_variable & 31u);
        onnxd_strbuf_printf(out, "%s%s", i == 0 ? "" : "; ", formal->is_optional ? "[" : "");
        write_kinds(formal, out);
        if (formal->type_variable != 0)
            onnxd_strbuf_printf(out, "T%u%s", formal->type_variable,
                                (*seen & bit) == 0 ? ": " : "");
        if (formal->type_variable == 0 || (*seen & bit) == 0)
            write_types(formal->types, out);
        if (formal->type_variable != 0)
            *seen |= bit;
        onnxd_strbuf_printf(out, "%s%s", formal->is_optional ? "]" : "",
                            maximum == ONNXD_OP_VARIADIC && i + 1 == count ? " ..." : "");
    }
}

static void write_markdown_row(const onnxd_op_def *def, bool is_first, onnxd_strbuf *out)
{
    uint32_t seen = 0;
    onnxd_strbuf_printf(out, "| %s%s%s | %" PRId64, is_first ? "`" : "",
                        is_first ? def->op_type : "", is_first ? "`" : "", def->since);
    if (def->until != def->since)
        onnxd_strbuf_printf(out, "-%" PRId64, def->until);
    onnxd_strbuf_puts(out, " | ");
    write_formals(def->inputs, def->max_inputs, &seen, out);
    onnxd_strbuf_puts(out, " | ");
    write_formals(def->outputs, def->max_outputs, &seen, out);
    onnxd_strbuf_printf(out, " | %s%s%s |\n", def->run != NULL ? "node by node" : "",
                        def->run != NULL && def->is_nondeterministic ? ", " : "",
                        def->is_nondeterministic ? "random" : "");
}

static void write_refused(onnxd_strbuf *out)
{
    static const struct {
        const char *domain, *op_type, *needs;
    } refused[] = {
#define ONNXD_REFUSED(domain, op_type, needs) {domain, op_type, needs},
#include "graph/refused.inc"
    };
    onnxd_strbuf_puts(out, "\n## Refused\n\nKnown by name only; the error says what each would "
                           "need (`graph/refused.inc`).\n\n| domain | operator | it needs |\n"
                           "|---|---|---|\n");
    for (size_t i = 0; i < ONNXD_COUNT(refused); i++)
        onnxd_strbuf_printf(out, "| %s | `%s` | %s |\n", refused[i].domain, refused[i].op_type,
                            refused[i].needs);
}

void onnxd_operators_write_markdown(const onnxd_operator_list *list, onnxd_strbuf *out)
{
    onnxd_strbuf_puts(out, introduction);
    for (size_t i = 0; i < ONNXD_COUNT(groups); i++) {
        onnxd_strbuf_printf(out, "| %s | ", groups[i].name);
        write_type_names(groups[i].types, "", out);
        onnxd_strbuf_puts(out, " |\n");
    }
    onnxd_strbuf_puts(out,
                      "\n*node by node*: results whose shapes follow from data, or values that are "
                      "no tensors; the\nnode and what depends on it run on the host. *random*: "
                      "never folded. [ ] an optional one, ...\nany number.\n");
    for (size_t i = 0; i < list->count; i++) {
        const onnxd_op_def *def = list->defs[i];
        const onnxd_op_def *before = i == 0 ? NULL : list->defs[i - 1];
        if (before == NULL || strcmp(before->domain, def->domain) != 0)
            onnxd_strbuf_printf(out,
                                "\n## %s\n\n| operator | opsets | inputs | outputs | notes |\n"
                                "|---|---|---|---|---|\n",
                                domain_name(def));
        write_markdown_row(def, before == NULL || !is_same_operator(before, def), out);
    }
    write_refused(out);
}
