#include "tests/graph/function_model.h"

static const int64_t two[1] = {2};

void function_model_begin(wire *w)
{
    wire_init(w);
    wire_model_begin(w);
    wire_value_info(w, GRAPH_INPUT, "x", 1, 1, two);
}

void function_call_begin(wire *w, const char *function, const char *inputs, const char *outputs)
{
    wire_node_begin(w, function, "", inputs, outputs);
    wire_text(w, NODE_DOMAIN, "local");
}

void function_call(wire *w, const char *function, const char *inputs, const char *outputs)
{
    function_call_begin(w, function, inputs, outputs);
    wire_end(w);
}

void function_model_end(wire *w)
{
    wire_begin(w, GRAPH_OUTPUT);
    wire_text(w, 1, "y");
    wire_end(w);
    wire_model_end(w);
}

void function_begin(wire *w, const char *name, const char *inputs, const char *outputs)
{
    wire_begin(w, MODEL_FUNCTIONS);
    wire_text(w, FUNCTION_NAME, name);
    wire_text(w, FUNCTION_DOMAIN, "local");
    wire_names(w, FUNCTION_INPUT, inputs);
    wire_names(w, FUNCTION_OUTPUT, outputs);
    wire_begin(w, FUNCTION_OPSET_IMPORT);
    wire_int(w, 2, 13);
    wire_end(w);
}

void function_node(wire *w, const char *op_type, const char *inputs, const char *outputs)
{
    wire_node_begin_in(w, FUNCTION_NODE, op_type, "n", inputs, outputs);
    wire_end(w);
}

void function_inner_call(wire *w, const char *function, const char *inputs, const char *outputs)
{
    wire_node_begin_in(w, FUNCTION_NODE, function, "", inputs, outputs);
    wire_text(w, NODE_DOMAIN, "local");
    wire_end(w);
}

void function_reference(wire *w, const char *name, const char *target, int64_t type)
{
    wire_begin(w, NODE_ATTRIBUTE);
    wire_text(w, ATTRIBUTE_NAME, name);
    wire_text(w, ATTRIBUTE_REF, target);
    wire_int(w, ATTRIBUTE_TYPE, type);
    wire_end(w);
}

void function_thrice(wire *w)
{
    function_begin(w, "thrice", "a", "b");
    function_node(w, "Add", "x,a", "b");
    function_node(w, "Add", "a,a", "x");
    wire_end(w);
}
