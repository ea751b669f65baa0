"""Reductions over axes, and what runs along one axis."""

import numpy as np

from generators import generator
from random_case import INTEGERS, NUMPY, Unsuitable

REDUCTIONS = ("ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1",
              "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceSumSquare")
# From this opset on the axes are an input.
AXES_INPUT = {"ReduceSum": 13}
NO_EMPTY = ("ReduceMax", "ReduceMin", "ReduceMean", "ReduceLogSumExp")


@generator(*REDUCTIONS)
def reduce(draw):
    name, dtype = draw.definition["operator"], draw.type()
    shape = draw.shape(1 if draw.chance(0.9) else 0, 5, least=1 if name in NO_EMPTY else 0)
    low, high = {"ReduceLogSum": (0.5, 4), "ReduceProd": (-2, 2)}.get(name, (-4, 4))
    exact = name in ("ReduceMax", "ReduceMin")
    data = draw.values(dtype, shape, low, high, special=0,
                       wide=0.3 if exact else 0)
    if name in ("ReduceLogSum", "ReduceLogSumExp", "ReduceL2", "ReduceMean") and dtype in INTEGERS:
        data = np.asarray(np.abs(data.astype(np.int64)) + 1).astype(NUMPY[dtype])
    axes = draw.axes(len(shape)) if shape and draw.chance(0.8) else None
    attributes = {"keepdims": draw.choice([None, 0, 1])}
    more = dict(scale=True, rtol=1e-5)
    if dtype in INTEGERS and name in (
            "ReduceLogSum", "ReduceLogSumExp", "ReduceSumSquare"):
        # The logarithm of whole numbers is cut off; the peers know it for few of the types.
        more["steps"] = 0 if name == "ReduceSumSquare" else 1
        more["modern"] = draw.case([np.asarray(data.astype(np.float64))], {**attributes, "axes": axes},
                                   ["double"], opset=13)
        if draw.opset >= 18:
            return draw.case([data] if axes is None else [data, draw.ints(*axes)], attributes,
                             **more)
    if draw.opset < AXES_INPUT.get(name, 18):
        if axes is not None and draw.opset < 11:
            axes = [a % len(shape) for a in axes]
        return draw.case([data], {**attributes, "axes": axes}, **more)
    if axes is None and draw.chance():
        attributes["noop_with_empty_axes"] = draw.integer(0, 1)
        axes = [] if draw.chance() else None
    inputs = [data] if axes is None else [data, draw.ints(*axes)]
    return draw.case(inputs, attributes,
                     constants=frozenset({1} if len(inputs) > 1 and draw.chance() else ()), **more)


@generator("ArgMax", "ArgMin")
def arg_reduce(draw):
    shape = draw.shape(1, 5, least=1)
    axis = draw.axis(len(shape), draw.opset >= 11)
    attributes = {"axis": axis, "keepdims": draw.choice([None, 0, 1])}
    if draw.opset >= 12:
        attributes["select_last_index"] = draw.integer(0, 1)
    return draw.case([draw.values(draw.type(), shape, special=0)], attributes)


@generator("Softmax", "LogSoftmax", "Hardmax")
def softmax(draw):
    shape = draw.shape(1, 5)
    axis = draw.axis(len(shape), draw.opset >= 11) if draw.chance(0.8) else None
    if axis is None and draw.opset < 13 and len(shape) < 2:
        axis = 0
    peers = ("ort", "widened", "narrowed" if draw.opset < 13 else "reference")
    return draw.case([draw.values(draw.type(), shape, special=0, wide=0)], {"axis": axis},
                     atol=1e-5, peers=peers)


@generator("CumSum", "CumProd")
def cumulative(draw):
    shape = draw.shape(1, 5)
    axis = np.array(draw.axis(len(shape)), NUMPY[draw.type(1)])
    is_product = draw.definition["operator"] == "CumProd"
    low, high = (-2, 2) if is_product else (-4, 4)
    return draw.case([draw.values(draw.type(), shape, low, high, special=0, wide=0), axis],
                     {"exclusive": draw.integer(0, 1), "reverse": draw.integer(0, 1)},
                     scale=True, constants=frozenset({1} if draw.chance() else ()))


@generator("TopK")
def top_k(draw):
    dtype, shape = draw.type(), draw.shape(1, 4, least=1)
    axis = draw.axis(len(shape), draw.opset >= 11)
    k = draw.integer(0 if draw.opset >= 10 else 1, shape[axis])
    # Distinct values: which of equal ones comes first is not said before opset 11.
    count = int(np.prod(shape))
    if dtype in ("int8", "uint8") and count > 120 or dtype in ("bfloat16",) and count > 250:
        raise Unsuitable
    low = 0 if dtype.startswith("u") else -(count // 2)
    data = (draw.rng.permutation(count) + low).reshape(shape).astype(NUMPY[dtype])
    attributes = {"axis": axis}
    outputs = [dtype, "int64"]
    if draw.opset >= 11:
        attributes |= {"largest": draw.integer(0, 1), "sorted": 1}
    if draw.opset < 10:
        return draw.case([data], {**attributes, "k": k}, outputs)
    return draw.case([data, draw.ints(k)], attributes, outputs,
                     constants=frozenset({1} if draw.chance() else ()))


@generator("Einsum")
def einsum(draw):
    equation, shapes = draw.choice([
        ("ij->ji", [(3, 4)]), ("ij,jk->ik", [(2, 3), (3, 4)]), ("bij,bjk->bik", [(2, 3, 4), (2, 4, 2)]),
        ("ii->i", [(3, 3)]), ("ij->", [(2, 5)]), ("...ij,...jk->...ik", [(2, 3, 2), (2, 2, 3)]),
        ("i,j->ij", [(3,), (4,)]), ("ij,ij->i", [(3, 4), (3, 4)]), ("bhid,bhjd->bhij", [(1, 2, 3, 2), (1, 2, 4, 2)]),
        ("ij , jk", [(2, 3), (3, 2)]), ("i->", [(0,)]), ("...->...", [(2, 3)]),
        ("ij,jk,kl->il", [(2, 3), (3, 2), (2, 4)])])
    data = [draw.values(draw.type(), s, special=0, wide=0) for s in shapes]
    return draw.case(data, {"equation": equation}, scale=True)


@generator("Det")
def det(draw):
    n = draw.integer(1, 4)
    shape = draw.shape(0, 2, limit=8) + (n, n)
    data = draw.values(draw.type(), shape, special=0, wide=0)
    if draw.type() in ("float16", "bfloat16"):
        data = np.round(data.astype(np.float32)).astype(data.dtype)
    return draw.case([data], scale=True, atol=1e-4)


