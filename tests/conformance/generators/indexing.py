"""Gather, Scatter and the like: results that follow from indices."""

import numpy as np

from generators import generator
from random_case import FLOATS, NUMPY, Unsuitable


def indices_below(draw, limit, shape, dtype="int64", negative=True):
    if limit == 0 and np.prod(shape) > 0:
        raise Unsuitable
    low = -limit if negative else 0
    return draw.rng.integers(low, max(limit, low + 1), shape).astype(NUMPY[dtype])


@generator("Gather")
def gather(draw):
    shape = draw.shape(1, 4)
    axis = draw.axis(len(shape))
    indices = indices_below(draw, shape[axis], draw.shape(0, 3, limit=20), draw.type(1),
                            draw.opset >= 11)
    return draw.case([draw.values(draw.type(), shape), indices], {"axis": axis}, moves=(0,),
                     constants=frozenset({1} if draw.chance(0.3) else ()))


@generator("GatherElements")
def gather_elements(draw):
    shape = draw.shape(1, 4)
    axis = draw.axis(len(shape))
    # Not beyond the data on the other axes.
    taken = [draw.integer(0 if d == 0 else 1, d) for d in shape]
    taken[axis] = draw.dim()
    return draw.case([draw.values(draw.type(), shape),
                      indices_below(draw, shape[axis], taken, draw.type(1))],
                     {"axis": axis}, moves=(0,))


@generator("GatherND")
def gather_nd(draw):
    shape = draw.shape(1, 4, least=1)
    batch = draw.integer(0, min(1, len(shape) - 1)) if draw.opset >= 12 else 0
    depth = draw.integer(1, len(shape) - batch)
    outer = shape[:batch] + draw.shape(1 if batch == 0 else 0, 2, least=1)
    indices = np.stack([indices_below(draw, shape[batch + i], outer) for i in range(depth)], -1)
    return draw.case([draw.values(draw.type(), shape), indices],
                     {"batch_dims": batch} if draw.opset >= 12 else {}, moves=(0,))


def reduction_of(draw, dtype):
    """A reduction that the opset has for the type."""
    known = ["none"]
    if draw.opset >= 16:
        known += ["add", "mul"]
    if draw.opset >= 18:
        known += ["min", "max"]
    if dtype in ("string", "bool") or dtype.startswith("complex"):
        known = ["none"]
    return draw.choice(known)


@generator("ScatterElements", "Scatter")
def scatter_elements(draw):
    dtype, shape = draw.type(), draw.shape(1, 4, least=1)
    axis = draw.axis(len(shape), draw.opset >= 11)
    can_reduce = draw.definition["operator"] == "ScatterElements" and draw.opset >= 16
    reduction = reduction_of(draw, dtype) if can_reduce else "none"
    taken = [draw.integer(1, d) for d in shape]
    if reduction == "none":
        # Distinct along the axis, so that the order does not matter.
        base = draw.rng.permutation(shape[axis])[:taken[axis]]
        view = [1] * len(shape)
        view[axis] = taken[axis]
        indices = np.broadcast_to(base.reshape(view), taken).astype(NUMPY[draw.type(1)])
        if draw.opset >= 11:
            indices = np.where(draw.rng.random(taken) < 0.3, indices - shape[axis], indices)
        indices = indices.astype(NUMPY[draw.type(1)])
    else:
        indices = indices_below(draw, shape[axis], taken, draw.type(1))
    attributes = {"axis": axis, "reduction": reduction if can_reduce else None}
    wide = 0 if reduction != "none" and dtype in FLOATS else 0.25
    inputs = [draw.values(dtype, shape, special=0, wide=wide), indices,
              draw.values(dtype, taken, special=0, wide=wide)]
    moves = (0, 2) if reduction == "none" else ()
    modern = None
    if draw.definition["operator"] == "Scatter":
        modern = draw.case(inputs, attributes, opset=13, moves=moves)
        modern.operator = "ScatterElements"
    return draw.case(inputs, attributes, scale=True, moves=moves, modern=modern)


@generator("ScatterND")
def scatter_nd(draw):
    dtype, shape = draw.type(), draw.shape(1, 4, least=1)
    depth = draw.integer(1, len(shape))
    reduction = reduction_of(draw, dtype)
    room = int(np.prod(shape[:depth]))
    count = draw.integer(1, min(4, room))
    flat = draw.rng.permutation(room)[:count] if reduction == "none" else \
        draw.rng.integers(0, room, count)
    indices = np.stack(np.unravel_index(flat, shape[:depth]), -1).astype(np.int64)
    attributes = {"reduction": reduction if draw.opset >= 16 else None}
    wide = 0 if reduction != "none" and dtype in FLOATS else 0.25
    return draw.case([draw.values(dtype, shape, special=0, wide=wide), indices,
                      draw.values(dtype, (count, *shape[depth:]), special=0, wide=wide)],
                     attributes, scale=True, moves=(0, 2) if reduction == "none" else ())


@generator("TensorScatter")
def tensor_scatter(draw):
    batch, length, width = draw.integer(1, 3), draw.integer(2, 5), draw.integer(1, 3)
    mode = draw.choice([None, "linear", "circular"])
    taken = draw.integer(1, length)
    axis = draw.choice([None, -2, 1, 2])
    heads = draw.integer(1, 2)
    if axis == 1:
        shape, update = (batch, length, heads, width), (batch, taken, heads, width)
    else:
        shape, update = (batch, heads, length, width), (batch, heads, taken, width)
    top = length - 1 if mode == "circular" else length - taken
    writes = draw.rng.integers(0, top + 1, batch).astype(np.int64)
    inputs = [draw.values(draw.type(), shape), draw.values(draw.type(), update)]
    if draw.chance(0.7):
        inputs.append(writes)
    return draw.case(inputs, {"mode": mode, "axis": axis})


@generator("OneHot")
def one_hot(draw):
    shape = draw.shape(1, 3)
    depth = draw.integer(1, 6)
    axis = draw.integer(-len(shape) - 1, len(shape))
    kind = draw.type(0)
    # Before opset 11 negative indices are off, as no peer has it any more.
    low = 0 if kind.startswith("u") or draw.opset < 11 else -depth
    indices = draw.rng.integers(low, depth, shape).astype(NUMPY[kind])
    values = draw.values(draw.type(2), (2,))
    size = np.array(depth if draw.chance() else [depth], NUMPY[draw.type(1)])
    whole = [v.astype(np.int64) for v in (indices, size)]
    return draw.case([indices, size, values], {"axis": axis},
                     modern=draw.case([*whole, values], {"axis": axis}, moves=(2,)),
                     constants=frozenset({1} if draw.chance() else ()))


@generator("NonZero")
def non_zero(draw):
    data = draw.values(draw.type(), draw.shape(1, 4), special=0)
    if draw.type() not in ("bool", "string") and draw.chance():
        data = np.where(draw.rng.random(data.shape) < 0.5, data, np.zeros((), data.dtype))
    return draw.case([data])


@generator("Compress")
def compress(draw):
    shape = draw.shape(1, 4, least=1)
    axis = draw.axis(len(shape), draw.opset >= 11) if draw.chance(0.7) else None
    room = int(np.prod(shape)) if axis is None else shape[axis]
    condition = draw.rng.integers(0, 2, draw.integer(1, room)).astype(bool)
    return draw.case([draw.values(draw.type(), shape), condition], {"axis": axis}, moves=(0,))


@generator("Unique")
def unique(draw):
    shape = draw.shape(1, 3, least=1)
    axis = draw.axis(len(shape)) if draw.chance() else None
    data = draw.values(draw.type(), shape, -2, 2, special=0, wide=0)
    if draw.type() in FLOATS:
        data = np.round(data.astype(np.float32)).astype(data.dtype) + np.zeros((), data.dtype)
    # No peer leaves the elements unsorted as the standard has it.
    order = draw.choice([None, 1])
    return draw.case([data], {"axis": axis, "sorted": order},
                     [draw.type(), "int64", "int64", "int64"])


@generator("NonMaxSuppression")
def non_max_suppression(draw):
    batch, boxes, classes = draw.integer(1, 2), draw.integer(1, 6), draw.integer(1, 2)
    corners = np.sort(draw.rng.random((batch, boxes, 2, 2)), axis=2).reshape(batch, boxes, 4)
    center = draw.integer(0, 1)
    if center:
        corners = np.concatenate([corners[..., :2], corners[..., 2:] * 0.3 + 0.05], -1)
    scores = draw.rng.permutation(batch * classes * boxes).reshape(batch, classes, boxes) / 10.0
    inputs = [corners.astype(np.float32), scores.astype(np.float32)]
    if draw.chance(0.9):
        inputs.append(draw.ints(draw.integer(0, 4)))
        if draw.chance(0.8):
            inputs.append(np.array([draw.choice([0.1, 0.5, 0.9])], np.float32))
            if draw.chance(0.8):
                inputs.append(np.array([draw.choice([0.05, 0.35])], np.float32))
    return draw.case(inputs, {"center_point_box": center})


@generator("ArrayFeatureExtractor", domain="ai.onnx.ml")
def array_feature_extractor(draw):
    shape = draw.shape(1, 3, least=1)
    count = draw.integer(1, 4)
    indices = draw.rng.integers(0, shape[-1], (1, count) if draw.chance() else (count,))
    return draw.case([draw.values(draw.type(), shape), indices.astype(np.int64)])
