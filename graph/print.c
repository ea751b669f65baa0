#include "graph/print.h"

#include <inttypes.h>
#include <string.h>

#include "base/number.h"

#define MAX_ELEMENTS 8

static void print_indented(const onnxd_graph *graph, int indent, onnxd_strbuf *out);

static void print_dims(const onnxd_graph *graph, const onnxd_shape *shape, onnxd_strbuf *out)
{
    if (shape->rank == ONNXD_RANK_UNKNOWN) {
        onnxd_strbuf_puts(out, "[?]*");
        return;
    }
    onnxd_strbuf_puts(out, "[");
    for (int32_t i = 0; i < shape->rank; i++) {
        int64_t dim = shape->dims[i];
        if (i > 0)
            onnxd_strbuf_puts(out, ",");
        if (onnxd_dim_is_static(dim))
            onnxd_strbuf_printf(out, "%" PRId64, dim);
        else if (onnxd_dim_is_symbol(dim) && ONNXD_DIM_SYMBOL(dim) < graph->symbol_count)
            onnxd_strbuf_puts(out, graph->symbols[ONNXD_DIM_SYMBOL(dim)]);
        else
            onnxd_strbuf_puts(out, "?");
    }
    onnxd_strbuf_puts(out, "]");
}

void onnxd_print_type(const onnxd_graph *graph, const onnxd_tensor_type *type, onnxd_strbuf *out)
{
    if (type->dtype == ONNXD_UNDEFINED) {
        onnxd_strbuf_puts(out, "?");
        return;
    }
    onnxd_strbuf_puts(out, onnxd_dtype_name(type->dtype));
    print_dims(graph, &type->shape, out);
}

/* "float[2]", "sequence(float[2])"; the kind alone where the element type is not known. */
static void print_any_type(const onnxd_graph *graph, const onnxd_tensor_type *type,
                           onnxd_strbuf *out)
{
    if (type->kind == ONNXD_VALUE_TENSOR) {
        onnxd_print_type(graph, type, out);
        return;
    }
    for (const char *c = onnxd_value_kind_name(type->kind); *c != '\0'; c++)
        onnxd_strbuf_append(out, *c == ' ' ? "_" : c, 1);
    if (type->dtype == ONNXD_UNDEFINED)
        return;
    onnxd_strbuf_puts(out, "(");
    onnxd_print_type(graph, type, out);
    onnxd_strbuf_puts(out, ")");
}

static void print_float(double value, bool is_double, onnxd_strbuf *out)
{
    char text[ONNXD_NUMBER_TEXT];
    size_t length =
        is_double ? onnxd_format_f64(text, value) : onnxd_format_f32(text, (float)value);
    onnxd_strbuf_append(out, text, length);
}

static void print_element(const onnxd_tensor *tensor, size_t index, onnxd_strbuf *out)
{
    union {
        const void *any;
        const float *f32;
        const double *f64;
        const int32_t *i32;
        const int64_t *i64;
        const uint8_t *u8;
        const onnxd_string *strings;
    } data = {.any = tensor->data};
    switch (tensor->dtype) {
    case ONNXD_FLOAT:
        print_float((double)data.f32[index], false, out);
        break;
    case ONNXD_DOUBLE:
        print_float(data.f64[index], true, out);
        break;
    case ONNXD_INT32:
        onnxd_strbuf_printf(out, "%" PRId32, data.i32[index]);
        break;
    case ONNXD_INT64:
        onnxd_strbuf_printf(out, "%" PRId64, data.i64[index]);
        break;
    case ONNXD_UINT8:
    case ONNXD_BOOL:
        onnxd_strbuf_printf(out, "%u", data.u8[index]);
        break;
    case ONNXD_STRING:
        onnxd_strbuf_json_string(out, data.strings[index].data, data.strings[index].size);
        break;
    default:
        onnxd_strbuf_puts(out, "..");
        break;
    }
}

static void print_elements(const onnxd_tensor *tensor, onnxd_strbuf *out)
{
    if (tensor->count > MAX_ELEMENTS)
        return;
    onnxd_strbuf_puts(out, " {");
    for (size_t i = 0; i < tensor->count; i++) {
        if (i > 0)
            onnxd_strbuf_puts(out, ", ");
        print_element(tensor, i, out);
    }
    onnxd_strbuf_puts(out, "}");
}

static void print_tensor(const onnxd_graph *graph, const onnxd_tensor *tensor, onnxd_strbuf *out)
{
    onnxd_strbuf_puts(out, onnxd_dtype_name(tensor->dtype));
    print_dims(graph, &tensor->shape, out);
    print_elements(tensor, out);
}

static void print_text(const onnxd_text *text, onnxd_strbuf *out)
{
    onnxd_strbuf_json_string(out, text->data, text->size);
}

static void print_item(const onnxd_graph *graph, const onnxd_attribute *attribute, size_t index,
                       int indent, onnxd_strbuf *out)
{
    switch (attribute->kind) {
    case ONNXD_ATTRIBUTE_FLOAT:
        print_float((double)attribute->value.f, false, out);
        break;
    case ONNXD_ATTRIBUTE_FLOATS:
        print_float((double)attribute->value.floats[index], false, out);
        break;
    case ONNXD_ATTRIBUTE_INT:
        onnxd_strbuf_printf(out, "%" PRId64, attribute->value.i);
        break;
    case ONNXD_ATTRIBUTE_INTS:
        onnxd_strbuf_printf(out, "%" PRId64, attribute->value.ints[index]);
        break;
    case ONNXD_ATTRIBUTE_STRING:
        print_text(&attribute->value.s, out);
        break;
    case ONNXD_ATTRIBUTE_STRINGS:
        print_text(&attribute->value.strings[index], out);
        break;
    case ONNXD_ATTRIBUTE_TENSOR:
    case ONNXD_ATTRIBUTE_SPARSE_TENSOR:
        print_tensor(graph, attribute->value.tensor, out);
        break;
    case ONNXD_ATTRIBUTE_TENSORS:
    case ONNXD_ATTRIBUTE_SPARSE_TENSORS:
        print_tensor(graph, attribute->value.tensors[index], out);
        break;
    case ONNXD_ATTRIBUTE_GRAPH:
        onnxd_strbuf_puts(out, "\n");
        print_indented(attribute->value.graph, indent + 2, out);
        break;
    case ONNXD_ATTRIBUTE_GRAPHS:
        onnxd_strbuf_puts(out, "\n");
        print_indented(attribute->value.graphs[index], indent + 2, out);
        break;
    case ONNXD_ATTRIBUTE_TYPE_PROTO:
        print_any_type(graph, attribute->value.type, out);
        break;
    case ONNXD_ATTRIBUTE_TYPE_PROTOS:
        print_any_type(graph, &attribute->value.types[index], out);
        break;
    default:
        onnxd_strbuf_puts(out, "..");
        break;
    }
}

static bool is_plural(onnxd_attribute_kind kind)
{
    return (kind >= ONNXD_ATTRIBUTE_FLOATS && kind <= ONNXD_ATTRIBUTE_GRAPHS) ||
           kind == ONNXD_ATTRIBUTE_SPARSE_TENSORS || kind == ONNXD_ATTRIBUTE_TYPE_PROTOS;
}

static void print_attribute(const onnxd_graph *graph, const onnxd_attribute *attribute, int indent,
                            onnxd_strbuf *out)
{
    onnxd_strbuf_printf(out, "%s=", attribute->name);
    if (!is_plural(attribute->kind)) {
        print_item(graph, attribute, 0, indent, out);
        return;
    }
    onnxd_strbuf_puts(out, "[");
    for (size_t i = 0; i < attribute->count; i++) {
        if (i > 0)
            onnxd_strbuf_puts(out, ",");
        print_item(graph, attribute, i, indent, out);
    }
    onnxd_strbuf_puts(out, "]");
}

static void print_typed(const onnxd_graph *graph, onnxd_value_id id, onnxd_strbuf *out)
{
    const onnxd_value *value = &graph->values[id];
    onnxd_strbuf_printf(out, "%s: ", value->name);
    print_any_type(graph, &value->type, out);
}

static void print_node(const onnxd_graph *graph, const onnxd_node *node, int indent,
                       onnxd_strbuf *out)
{
    onnxd_strbuf_printf(out, "%*snode ", indent, "");
    if (node->domain[0] != '\0')
        onnxd_strbuf_printf(out, "%s.", node->domain);
    onnxd_strbuf_puts(out, node->op_type);
    if (node->name[0] != '\0') {
        onnxd_strbuf_puts(out, " ");
        onnxd_strbuf_json_string(out, node->name, strlen(node->name));
    }
    onnxd_strbuf_puts(out, " (");
    for (uint32_t i = 0; i < node->input_count; i++) {
        bool is_capture = i == node->input_count - node->capture_count;
        onnxd_strbuf_puts(out, is_capture ? "; " : i > 0 ? ", " : "");
        onnxd_strbuf_puts(out, node->inputs[i] == ONNXD_NONE ? "-"
                                                             : graph->values[node->inputs[i]].name);
    }
    onnxd_strbuf_puts(out, ") -> (");
    for (uint32_t i = 0; i < node->output_count; i++) {
        onnxd_strbuf_puts(out, i > 0 ? ", " : "");
        if (node->outputs[i] == ONNXD_NONE)
            onnxd_strbuf_puts(out, "-");
        else
            print_typed(graph, node->outputs[i], out);
    }
    onnxd_strbuf_puts(out, ")");
    for (uint32_t i = 0; i < node->attribute_count; i++) {
        onnxd_strbuf_puts(out, i == 0 ? " {" : ", ");
        print_attribute(graph, &node->attributes[i], indent, out);
    }
    onnxd_strbuf_puts(out, node->attribute_count > 0 ? "}\n" : "\n");
}

static void print_header(const onnxd_graph *graph, int indent, onnxd_strbuf *out)
{
    onnxd_strbuf_printf(out, "%*sgraph ", indent, "");
    onnxd_strbuf_json_string(out, graph->name, strlen(graph->name));
    if (graph->parent == NULL) {
        onnxd_strbuf_printf(out, " ir %" PRId64, graph->ir_version);
        for (uint32_t i = 0; i < graph->opset_count; i++)
            onnxd_strbuf_printf(out, " opset %s %" PRId64,
                                graph->opsets[i].domain[0] == '\0' ? "ai.onnx"
                                                                   : graph->opsets[i].domain,
                                graph->opsets[i].version);
    }
    onnxd_strbuf_puts(out, "\n");
}

static void print_indented(const onnxd_graph *graph, int indent, onnxd_strbuf *out)
{
    print_header(graph, indent, out);
    for (uint32_t i = 0; i < graph->input_count; i++) {
        onnxd_strbuf_printf(out, "%*sinput ", indent, "");
        print_typed(graph, graph->inputs[i], out);
        onnxd_strbuf_puts(out, "\n");
    }
    for (uint32_t i = 0; i < graph->capture_count; i++) {
        onnxd_strbuf_printf(out, "%*scapture %u ", indent, "", graph->captures[i].input);
        print_typed(graph, graph->captures[i].value, out);
        onnxd_strbuf_puts(out, "\n");
    }
    for (uint32_t v = 0; v < graph->value_count; v++) {
        if (graph->values[v].constant == NULL)
            continue;
        onnxd_strbuf_printf(out, "%*sconstant %s: ", indent, "", graph->values[v].name);
        print_tensor(graph, graph->values[v].constant, out);
        onnxd_strbuf_puts(out, "\n");
    }
    for (uint32_t n = 0; n < graph->node_count; n++)
        if (!graph->nodes[n].is_removed)
            print_node(graph, &graph->nodes[n], indent, out);
    for (uint32_t i = 0; i < graph->output_count; i++) {
        onnxd_strbuf_printf(out, "%*soutput ", indent, "");
        print_typed(graph, graph->outputs[i], out);
        onnxd_strbuf_puts(out, "\n");
    }
}

void onnxd_graph_print(const onnxd_graph *graph, onnxd_strbuf *out)
{
    print_indented(graph, 0, out);
}
