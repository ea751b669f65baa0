"""If, Loop and Scan, with values captured from outside."""

import numpy as np
from onnx import TensorProto, helper

from generators import generator
from random_case import is_same, number_of

ARITHMETIC = ("float", "double", "int32", "int64")


def info(name, dtype, shape=None):
    return helper.make_tensor_value_info(name, number_of(dtype), shape)


def identity(draw, source, target):
    return helper.make_node("Identity", [source], [target], name=target + "_id")


@generator("If")
def if_(draw):
    dtype = draw.out_type(0)
    values = [draw.values(dtype, draw.shape(0, 3, least=1)) for _ in range(2)]
    branches = []
    for i, name in enumerate(("then", "else")):
        y = draw.local_name(name)
        branches.append(helper.make_graph([identity(draw, draw.input_name(i + 1), y)], name, [],
                                          [info(y, dtype)]))
    condition = np.array(draw.chance()) if draw.chance() else np.array([draw.chance()])
    return draw.case([condition, *values], outputs=[dtype], moves=(), nodes=[
        helper.make_node("If", [draw.input_name(0)], [draw.output_name(0)],
                         name=f"c{draw.number}", then_branch=branches[0],
                         else_branch=branches[1])])


@generator("Loop")
def loop(draw):
    """Carries a tensor that grows by a captured one, and scans it."""
    dtype = draw.type(2)
    if dtype not in ARITHMETIC or draw.opset < 7 or draw.opset < 9 and "int" in dtype:
        return carried(draw, dtype, "Loop")
    shape = draw.shape(0, 3, least=1)
    i, going, x = (draw.local_name(n) for n in ("i", "going", "x"))
    still, y, each = (draw.local_name(n) for n in ("still", "y", "each"))
    limit = draw.local_name("limit")
    body = helper.make_graph(
        [helper.make_node("Constant", [], [limit], name=limit, value=helper.make_tensor(
            "v", TensorProto.INT64, [], [draw.integer(1, 4)])),
         # Before opset 9 there is no Less of integers.
         helper.make_node("Less", [i, limit], [still], name=still) if draw.opset >= 9
         else identity(draw, going, still),
         helper.make_node("Add", [x, draw.input_name(3)], [y], name=y),
         identity(draw, y, each)],
        "body", [info(i, "int64", []), info(going, "bool", []), info(x, dtype)],
        [info(still, "bool", []), info(y, dtype), info(each, dtype)])
    trips = np.array(draw.integer(1, 5), np.int64)
    return draw.case([trips, np.array(True), draw.values(dtype, shape, special=0, wide=0),
                      draw.values(dtype, shape, special=0, wide=0)],
                     outputs=[dtype, dtype], scale=True, nodes=[
        # Without both it never ends: what the body says is then ignored.
        helper.make_node("Loop", [draw.input_name(0) if draw.opset < 9 or draw.chance() else "",
                                  draw.input_name(1),
                                  draw.input_name(2)],
                         [draw.output_name(0), draw.output_name(1)], name=f"c{draw.number}",
                         body=body)])


def carried(draw, dtype, operator):
    """For types without arithmetic: the carried value is passed on."""
    x, y, i, going, still = (draw.local_name(n) for n in ("x", "y", "i", "going", "still"))
    data = draw.values(dtype, draw.shape(0, 3, least=1))
    body = helper.make_graph(
        [identity(draw, going, still), identity(draw, x, y)], "body",
        [info(i, "int64", []), info(going, "bool", []), info(x, dtype)],
        [info(still, "bool", []), info(y, dtype)])
    return draw.case([np.array(draw.integer(0, 3), np.int64), np.array(True), data],
                     outputs=[dtype], nodes=[
        helper.make_node(operator, [draw.input_name(k) for k in range(3)],
                         [draw.output_name(0)], name=f"c{draw.number}", body=body)])


def passed_on(opset, attributes):
    """Of a Scan whose body hands on each element of the scanned input."""
    def check(case, outputs):
        data = case.inputs[1]
        if opset == 8:
            last, every = data[:, -1], data
        else:
            steps = np.moveaxis(data, attributes["scan_input_axes"][0], 0)
            if attributes["scan_input_directions"][0]:
                steps = steps[::-1]
            last = steps[-1]
            if attributes["scan_output_directions"][0]:
                steps = steps[::-1]
            every = np.moveaxis(steps, 0, attributes["scan_output_axes"][0])
        for found, wanted in zip(outputs, (last, every)):
            if not is_same(found, wanted):
                return f"found {found.tolist()}, expected {wanted.tolist()}"
        return None
    return check


@generator("Scan")
def scan(draw):
    """Running sum over an axis; sums and doubles come out."""
    dtype = draw.type(1) if draw.opset == 8 else draw.type(0)
    x, total, after, each = (draw.local_name(n) for n in ("x", "total", "after", "each"))
    operator = "Add" if dtype in ARITHMETIC else None
    nodes = [helper.make_node("Add", [total, x], [after], name=after) if operator
             else identity(draw, x, after), identity(draw, after, each)]
    width = draw.integer(1, 3)
    if draw.opset == 8:
        data = draw.values(dtype, (2, 3, width), special=0, wide=0)
        start = draw.values(dtype, (2, width), special=0, wide=0)
        names = ["", draw.input_name(0), draw.input_name(1)]
        attributes = {}
    else:
        axis = draw.integer(0, 1)
        shape = (3, width) if axis == 0 else (width, 3)
        data = draw.values(dtype, shape, special=0, wide=0)
        start = draw.values(dtype, (width,), special=0, wide=0)
        names = [draw.input_name(0), draw.input_name(1)]
        attributes = {"scan_input_axes": [axis], "scan_input_directions": [draw.integer(0, 1)],
                      "scan_output_axes": [draw.integer(0, 1)],
                      "scan_output_directions": [draw.integer(0, 1)]}
    body = helper.make_graph(nodes, "body", [info(total, dtype, [width]), info(x, dtype, [width])],
                             [info(after, dtype, [width]), info(each, dtype, [width])])
    check = None if dtype in ARITHMETIC else passed_on(draw.opset, attributes)
    return draw.case([start, data], outputs=[dtype, dtype], scale=True, check=check, nodes=[
        helper.make_node("Scan", names, [draw.output_name(0), draw.output_name(1)],
                         name=f"c{draw.number}", body=body, num_scan_inputs=1, **attributes)])
