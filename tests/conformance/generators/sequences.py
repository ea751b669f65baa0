"""Sequences and optionals. The nodes around the operator make sequences of tensors and take them
apart again, so that the inputs and outputs of the model are tensors."""

from onnx import TensorProto, helper

from generators import generator
from random_case import INTEGERS, is_same, make_node, number_of


# The types of sequences that SequenceAt and the like take.
SEQUENCE_TYPES = INTEGERS + ("float", "double", "float16", "bool", "string", "complex64",
                             "complex128")


def sequence_of(draw, arrays, name, first=0):
    """A node that makes a sequence of the case's inputs from `first` on."""
    return helper.make_node("SequenceConstruct",
                            [draw.input_name(first + i) for i in range(len(arrays))],
                            [draw.local_name(name)], name=draw.local_name(name + "_of"))


def node(draw, inputs, outputs, **attributes):
    return make_node(draw.definition["operator"], inputs, outputs, draw.local_name("op"),
                     "ai.onnx", attributes)


def parts_of(draw, dtype, count=None, same=True):
    shape = draw.shape(1, 3, least=1)
    return [draw.values(dtype, shape if same else draw.shape(1, 3, least=1))
            for _ in range(count or draw.integer(1, 3))]



def take_apart(draw, name, dtype, count):
    """Nodes and output types: the length, then each element."""
    nodes = [helper.make_node("SequenceLength", [draw.local_name(name)], [draw.output_name(0)],
                              name=draw.local_name("length"))]
    for i in range(count):
        at = draw.local_name(f"at{i}")
        nodes.append(helper.make_node("Constant", [], [at], name=at,
                                      value=helper.make_tensor(at, TensorProto.INT64, [], [i])))
        nodes.append(helper.make_node("SequenceAt", [draw.local_name(name), at],
                                      [draw.output_name(i + 1)],
                                      name=draw.local_name(f"take{i}")))
    return nodes, ["int64"] + [dtype] * count


@generator("SequenceConstruct")
def construct(draw):
    dtype = draw.type(0)
    parts = parts_of(draw, dtype, same=False)
    nodes, outputs = take_apart(draw, "s", dtype, len(parts))
    return draw.case(parts, outputs=outputs, nodes=[sequence_of(draw, parts, "s")] + nodes)


@generator("SequenceAt")
def at(draw):
    dtype = draw.type(0)
    parts = parts_of(draw, dtype, same=False)
    where = draw.integer(-len(parts), len(parts) - 1)
    index = draw.values(draw.type(1), (), where, where, wide=0)
    return draw.case(parts + [index], outputs=[dtype], nodes=[
        sequence_of(draw, parts, "s"),
        node(draw, [draw.local_name("s"), draw.input_name(len(parts))], [draw.output_name(0)])])


@generator("SequenceLength")
def length(draw):
    parts = parts_of(draw, draw.type(0))
    return draw.case(parts, outputs=["int64"], nodes=[
        sequence_of(draw, parts, "s"), node(draw, [draw.local_name("s")], [draw.output_name(0)])])


@generator("SequenceEmpty")
def empty(draw):
    kind = draw.out_type(0)
    return draw.case([], outputs=["int64"], nodes=[
        node(draw, [], [draw.local_name("s")], dtype=number_of(kind)),
        helper.make_node("SequenceLength", [draw.local_name("s")], [draw.output_name(0)],
                         name=draw.local_name("length"))])


@generator("SequenceInsert")
def insert(draw):
    dtype = draw.type(0)
    parts = parts_of(draw, dtype, same=False)
    inputs = parts + [draw.values(dtype, draw.shape(0, 3))]
    names = [draw.local_name("s"), draw.input_name(len(parts))]
    if draw.chance(0.7):
        where = draw.integer(-len(parts), len(parts))
        inputs.append(draw.values(draw.type(2), (), where, where, wide=0))
        names.append(draw.input_name(len(parts) + 1))
    nodes, outputs = take_apart(draw, "t", dtype, len(parts) + 1)
    check = None
    if dtype.startswith("complex"):
        # onnxruntime has no such type, and onnx.reference inserts elsewhere.
        whole = list(parts)
        whole.insert(where if len(names) > 2 else len(parts), inputs[len(parts)])
        check = holds_all(whole)
    return draw.case(inputs, outputs=outputs, check=check, nodes=[
        sequence_of(draw, parts, "s"), node(draw, names, [draw.local_name("t")])] + nodes)


def holds_all(parts):
    def check(case, outputs):
        same = all(is_same(a, b) for a, b in zip(outputs[1:], parts))
        return None if same and outputs[0] == len(parts) else f"found {outputs}, expected {parts}"
    return check


@generator("SequenceErase")
def erase(draw):
    dtype = draw.type(0)
    parts = parts_of(draw, dtype, count=draw.integer(2, 3), same=False)
    inputs, names = list(parts), [draw.local_name("s")]
    if draw.chance(0.7):
        where = draw.integer(-len(parts), len(parts) - 1)
        inputs.append(draw.values(draw.type(1), (), where, where, wide=0))
        names.append(draw.input_name(len(parts)))
    nodes, outputs = take_apart(draw, "t", dtype, len(parts) - 1)
    return draw.case(inputs, outputs=outputs, nodes=[
        sequence_of(draw, parts, "s"), node(draw, names, [draw.local_name("t")])] + nodes)


@generator("ConcatFromSequence")
def concat(draw):
    dtype = draw.type(0)
    parts = parts_of(draw, dtype)
    new_axis = draw.integer(0, 1)
    rank = parts[0].ndim
    axis = draw.integer(-rank - new_axis, rank - 1 + new_axis)
    return draw.case(parts, outputs=[dtype], nodes=[
        sequence_of(draw, parts, "s"),
        node(draw, [draw.local_name("s")], [draw.output_name(0)], axis=axis, new_axis=new_axis)])


@generator("SplitToSequence")
def split(draw):
    dtype, shape = draw.type(0), list(draw.shape(1, 3, least=1))
    axis = draw.axis(len(shape))
    inputs, names = [], [draw.input_name(0)]
    count, attributes = shape[axis], {"axis": axis}
    if draw.chance():
        sizes = [draw.integer(1, 3) for _ in range(draw.integer(1, 3))]
        shape[axis], count = sum(sizes), len(sizes)
        inputs.append(draw.ints(*sizes, dtype=draw.type(1)))
        names.append(draw.input_name(1))
    elif draw.chance():
        attributes["keepdims"] = 0
    data = [draw.values(dtype, shape)] + inputs
    if dtype not in SEQUENCE_TYPES:
        return draw.case(data, outputs=[("sequence", dtype)], nodes=[
            node(draw, names, [draw.output_name(0)], **attributes)])
    nodes, outputs = take_apart(draw, "s", dtype, count)
    return draw.case(data, outputs=outputs, nodes=[
        node(draw, names, [draw.local_name("s")], **attributes)] + nodes)


@generator("SequenceMap")
def sequence_map(draw):
    dtype = draw.type(0)
    operator = "Neg" if dtype in ("float", "double", "int64", "int32") else "Identity"
    parts = parts_of(draw, dtype, same=False)
    x, y = draw.local_name("x"), draw.local_name("y")
    body = helper.make_graph(
        [helper.make_node(operator, [x], [y], name=draw.local_name("each"))], "body",
        [helper.make_tensor_value_info(x, number_of(dtype), None)],
        [helper.make_tensor_value_info(y, number_of(dtype), None)])
    nodes, outputs = take_apart(draw, "t", dtype, len(parts))
    return draw.case(parts, outputs=outputs, nodes=[
        sequence_of(draw, parts, "s"),
        node(draw, [draw.local_name("s")], [draw.local_name("t")], body=body)] + nodes)



@generator("Optional", "OptionalGetElement", "OptionalHasElement")
def optional(draw):
    """Optional, then HasElement and GetElement: each is tested in the company of the others."""
    dtype = draw.type(0)
    data = draw.values(dtype, draw.shape(0, 3))
    o = draw.local_name("o")
    return draw.case([data], outputs=["bool", dtype], nodes=[
        helper.make_node("Optional", [draw.input_name(0)], [o], name=draw.local_name("make")),
        helper.make_node("OptionalHasElement", [o], [draw.output_name(0)],
                         name=draw.local_name("has")),
        helper.make_node("OptionalGetElement", [o], [draw.output_name(1)],
                         name=draw.local_name("get"))], check=holds)


def holds(case, outputs):
    if outputs[0].tolist() is not True:
        return "an optional that holds something says that it does not"
    return None if is_same(outputs[1], case.inputs[0]) else "what it holds is not what went in"


