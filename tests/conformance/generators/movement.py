"""Operators that move elements without changing them."""

import numpy as np

from generators import generator
from random_case import NUMPY, Unsuitable, dtype_of, number_of, tensor


def data_of(draw, shape, index=0):
    return draw.values(draw.type(index), shape)


def some_constants(draw, *indices):
    return frozenset(indices if draw.chance(0.5) else ())


@generator("Identity")
def identity(draw):
    return draw.case([data_of(draw, draw.shape(most_rank=6))], moves=(0,))


@generator("Shape")
def shape_(draw):
    attributes = {}
    if draw.opset >= 15:
        attributes = {"start": draw.choice([None, 0, 1, -1, -7, 9]),
                      "end": draw.choice([None, 0, 2, -1, -7, 9])}
    return shape_only(draw, draw.shape(most_rank=6), attributes)


@generator("Size")
def size(draw):
    return shape_only(draw, draw.shape(most_rank=6), {})


def shape_only(draw, shape, attributes):
    """The elements do not count: the peer is given floats."""
    return draw.case([data_of(draw, shape)], attributes,
                     modern=draw.case([np.zeros(shape, np.float32)], attributes))


@generator("Transpose")
def transpose(draw):
    shape = draw.shape(most_rank=6)
    perm = [int(i) for i in draw.rng.permutation(len(shape))]
    return draw.case([data_of(draw, shape)],
                     {"perm": perm if perm and draw.chance(0.8) else None}, moves=(0,))


def split_shape(draw, shape):
    """Another shape of as many elements."""
    factors = list(shape)
    if len(factors) > 1 and draw.chance():
        at = draw.integer(0, len(factors) - 2)
        factors[at:at + 2] = [factors[at] * factors[at + 1]]
    if draw.chance():
        factors.insert(draw.integer(0, len(factors)), 1)
    draw.rng.shuffle(factors)
    return [int(f) for f in factors]


@generator("Reshape")
def reshape(draw):
    shape = draw.shape(most_rank=5)
    target = split_shape(draw, shape)
    attributes = {}
    if draw.opset >= 14 and draw.chance(0.3):
        attributes["allowzero"] = 1
    elif 0 in target:
        target = [0 if i < len(shape) and shape[i] == d and d == 0 else d
                  for i, d in enumerate(target)]
        if any(d == 0 and (i >= len(shape) or shape[i] != 0) for i, d in enumerate(target)):
            raise Unsuitable
    if target and draw.chance() and 0 not in target:
        target[draw.integer(0, len(target) - 1)] = -1
    data = data_of(draw, shape)
    if draw.opset < 5:
        return draw.case([data], {"shape": target}, moves=(0,))
    return draw.case([data, draw.ints(*target)], attributes, moves=(0,),
                     constants=some_constants(draw, 1))


@generator("Flatten")
def flatten(draw):
    shape = draw.shape(1, 5)
    axis = draw.integer(-len(shape) if draw.opset >= 11 else 0, len(shape))
    return draw.case([data_of(draw, shape)], {"axis": axis}, moves=(0,))


@generator("Squeeze")
def squeeze(draw):
    shape = tuple(1 if draw.chance() else d for d in draw.shape(1, 5))
    ones = [i for i, d in enumerate(shape) if d == 1]
    if not ones:
        raise Unsuitable
    if draw.chance(0.7) or draw.opset < 11 and draw.chance():
        axes = [i - len(shape) if draw.opset >= 11 and draw.chance(0.3) else i for i in ones]
        axes = axes[:draw.integer(1, len(axes))]
    else:
        axes = None
    data = data_of(draw, shape)
    if draw.opset < 13:
        return draw.case([data], {"axes": axes}, moves=(0,))
    return draw.case([data] + ([draw.ints(*axes)] if axes else []), moves=(0,),
                     constants=some_constants(draw, 1) if axes else frozenset())


@generator("Unsqueeze")
def unsqueeze(draw):
    shape = draw.shape(0, 4)
    count = draw.integer(1, 2)
    rank = len(shape) + count
    axes = [int(a) for a in draw.rng.permutation(rank)[:count]]
    if draw.opset >= 11:
        axes = [a - rank if draw.chance(0.3) else a for a in axes]
    data = data_of(draw, shape)
    if draw.opset < 13:
        return draw.case([data], {"axes": axes}, moves=(0,))
    return draw.case([data, draw.ints(*axes)], moves=(0,), constants=some_constants(draw, 1))


@generator("Concat")
def concat(draw):
    shape = draw.shape(1, 4)
    axis = draw.axis(len(shape), draw.opset >= 11)
    parts = []
    for _ in range(draw.integer(1, 4)):
        part = list(shape)
        part[axis] = draw.dim()
        parts.append(data_of(draw, part))
    moves = tuple(range(len(parts)))
    modern = draw.case(parts, {"axis": axis}, opset=13, moves=moves) if draw.opset < 4 else None
    if draw.opset < 4 and axis == 1 and draw.chance():
        return draw.case(parts, moves=moves, modern=modern)
    return draw.case(parts, {"axis": axis}, moves=moves, modern=modern)


@generator("Split")
def split(draw):
    shape = list(draw.shape(1, 4))
    axis = draw.axis(len(shape), draw.opset >= 11)
    count = draw.integer(1, 3)
    dtype = draw.type()
    attributes = {"axis": axis}
    if draw.chance():
        sizes = [draw.dim(0 if draw.opset >= 2 else 1, 3) for _ in range(count)]
        shape[axis] = sum(sizes)
    else:
        sizes = None
        shape[axis] = count * draw.integer(1, 3)
        if draw.opset >= 18:
            attributes["num_outputs"] = count
            shape[axis] -= draw.integer(0, 1) if count > 1 and shape[axis] > count else 0
    data, outputs = data_of(draw, shape), [dtype] * count
    if draw.opset == 1:
        sizes = sizes or [shape[axis] // count] * count
        modern = draw.case([data], {**attributes, "split": sizes}, outputs, opset=2)
        if draw.chance():
            kind = NUMPY[dtype]
            return draw.case([data, np.array(sizes, kind)], attributes, outputs, modern=modern,
                             constants=frozenset({1}))
        return draw.case([data], {**attributes, "split": sizes}, outputs, modern=modern)
    if draw.opset >= 13 and sizes is not None:
        return draw.case([data, draw.ints(*sizes)], attributes, outputs,
                         constants=some_constants(draw, 1))
    return draw.case([data], {**attributes, "split": sizes}, outputs)


@generator("Slice")
def slice_(draw):
    shape = draw.shape(1, 5)
    rank = len(shape)
    axes = [int(a) for a in draw.rng.permutation(rank)[:draw.integer(1, rank)]]
    starts = [draw.integer(-shape[a] - 2, shape[a] + 1) for a in axes]
    ends = [draw.choice([draw.integer(-shape[a] - 2, shape[a] + 2), 2**31 - 1]) for a in axes]
    data = data_of(draw, shape)
    if draw.opset < 10:
        return draw.case([data], {"starts": starts, "ends": ends, "axes": axes}, moves=(0,))
    index = draw.type(1)
    steps = [draw.choice([1, 1, 2, -1, -3]) for _ in axes]
    ends = [-(2**31) + 1 if s < 0 and e == 2**31 - 1 else e for s, e in zip(steps, ends)]
    inputs = [data, *(draw.ints(*v, dtype=index) for v in (starts, ends))]
    if draw.chance(0.8):
        axes = [a - rank if draw.opset >= 11 and draw.chance(0.3) else a for a in axes]
        inputs += [draw.ints(*axes, dtype=index)]
        inputs += [draw.ints(*steps, dtype=index)] if draw.chance(0.8) else []
    return draw.case(inputs, moves=(0,),
                     constants=some_constants(draw, *range(1, len(inputs))))


@generator("Expand")
def expand(draw):
    shape = draw.shape(0, 5)
    source = draw.broadcastable(shape)
    target = [1 if i >= len(shape) - len(source) and draw.chance(0.2) else d
              for i, d in enumerate(shape)]
    return draw.case([data_of(draw, source), draw.ints(*target)], moves=(0,),
                     constants=some_constants(draw, 1))


@generator("Tile")
def tile(draw):
    dtype, shape = draw.type(), draw.shape(1, 4, limit=60)
    if draw.opset < 6:
        axis = draw.integer(0, len(shape) - 1)
        data, count = draw.values(dtype, shape), draw.integer(1, 3)
        repeats = [count if i == axis else 1 for i in range(len(shape))]
        return draw.case([data, np.array([count], NUMPY[draw.type(1)]),
                          np.array([axis], NUMPY[draw.type(2)])], constants=frozenset({1, 2}),
                         modern=draw.case([data, draw.ints(*repeats)], opset=13))
    repeats = [draw.dim(0, 3) for _ in shape]
    return draw.case([draw.values(dtype, shape), draw.ints(*repeats)], moves=(0,),
                     constants=some_constants(draw, 1))


@generator("Pad")
def pad(draw):
    shape = draw.shape(1, 4, least=1, limit=200)
    modes = ["constant", "reflect", "edge"] + (["wrap"] if draw.opset >= 19 else [])
    mode = draw.choice(modes)
    rank = len(shape)

    def amount(dim):
        if mode == "constant" and draw.chance(0.2):
            return -draw.integer(0, min(1, dim - 1))
        if mode == "reflect":
            return draw.integer(0, min(2, dim - 1))
        return draw.integer(0, min(2, dim) if mode == "wrap" else 2)

    axes = list(range(rank))
    if draw.opset >= 18 and draw.chance():
        axes = [int(a) for a in draw.rng.permutation(rank)[:draw.integer(1, rank)]]
    pads = [amount(shape[a]) for a in axes] + [amount(shape[a]) for a in axes]
    if any(shape[a] + pads[i] + pads[i + len(axes)] < 1 for i, a in enumerate(axes)):
        raise Unsuitable
    data = data_of(draw, shape)
    if draw.opset < 11:
        value = {"value": 1.5} if mode == "constant" and draw.chance() else {}
        return draw.case([data], {"mode": mode, "paddings" if draw.opset < 2 else "pads": pads,
                                  **value})
    inputs = [data, draw.ints(*pads)]
    is_constant = mode == "constant"
    has_value = is_constant and draw.chance(0.6)
    inputs.append(draw.values(draw.type(2), ()) if has_value else None)
    if len(axes) < rank or draw.opset >= 18 and draw.chance(0.3):
        index = draw.type(3)
        inputs.append(draw.ints(*[a - rank if draw.chance(0.3) else a for a in axes], dtype=index))
    modern = None
    if is_constant and not has_value:
        dtype = draw.type()
        zero = np.array("", np.object_)
        if dtype != "string":
            # All bits zero, also where that is not the number 0 (float8e8m0).
            zero = np.zeros(np.dtype(NUMPY[dtype]).itemsize, np.uint8).view(NUMPY[dtype])
        axes_of = [v.astype(np.int64) for v in inputs[3:]]
        modern = draw.case([*inputs[:2], zero.reshape(()), *axes_of], {"mode": mode},
                           moves=(0, 2))
    elif len(inputs) > 3:
        modern = draw.case([*inputs[:3], inputs[3].astype(np.int64)], {"mode": mode},
                           moves=(0, 2))
    return draw.case(inputs, {"mode": mode}, moves=(0, 2), modern=modern,
                     constants=some_constants(draw, 1, *([3] if len(inputs) > 3 else [])))


@generator("DepthToSpace")
def depth_to_space(draw):
    block = draw.integer(1, 3)
    shape = (draw.dim(0, 2), draw.integer(1, 2) * block * block, draw.dim(1, 3), draw.dim(1, 3))
    mode = draw.choice([None, "DCR", "CRD"]) if draw.opset >= 11 else None
    return draw.case([data_of(draw, shape)], {"blocksize": block, "mode": mode}, moves=(0,))


@generator("SpaceToDepth")
def space_to_depth(draw):
    block = draw.integer(1, 3)
    shape = (draw.dim(0, 2), draw.integer(1, 3), block * draw.dim(1, 3), block * draw.dim(1, 3))
    return draw.case([data_of(draw, shape)], {"blocksize": block}, moves=(0,))


@generator("Trilu")
@generator("Trilu", domain="com.microsoft")
def trilu(draw):
    shape = draw.shape(2, 4)
    inputs = [data_of(draw, shape)]
    if draw.chance(0.7):
        inputs.append(np.array(draw.integer(-6, 6), np.int64))
    case = draw.case(inputs, {"upper": draw.choice([None, 0, 1])})
    if case.domain != "ai.onnx":
        case.modern = draw.case(inputs, case.attributes, opset=14)
        case.modern.domain = "ai.onnx"
    return case


@generator("EyeLike")
def eye_like(draw):
    shape = draw.shape(2, 2)
    target = draw.out_type()
    return draw.case([data_of(draw, shape)], {"k": draw.integer(-4, 4),
                                              "dtype": number_of(target)}, [target])


@generator("Constant")
def constant(draw):
    target = draw.out_type()
    value = draw.values(target, draw.shape())
    if draw.opset >= 12 and draw.chance(0.3):
        if target == "float":
            return draw.case([], {"value_float": 1.5} if draw.chance() else
                             {"value_floats": [1.0, -0.5]})
        if target == "int64":
            return draw.case([], {"value_int": -3} if draw.chance() else {"value_ints": [1, 2]})
        if target == "string":
            return draw.case([], {"value_string": "abc"} if draw.chance() else
                             {"value_strings": ["a", ""]})
    return draw.case([], {"value": tensor(value)}, peers=("ort", "reference"))


@generator("ConstantOfShape")
def constant_of_shape(draw):
    target = draw.out_type()
    shape = draw.ints(*draw.shape(0, 4))
    value = draw.values(target, (1,))
    if target == "float" and draw.chance(0.2):
        return draw.case([shape])
    return draw.case([shape], {"value": tensor(value)}, [dtype_of(value)],
                     constants=some_constants(draw, 0))


@generator("Range")
def range_(draw):
    kind = NUMPY[draw.type()]
    start, delta = draw.integer(-5, 5), draw.choice([-3, -1, 1, 2])
    limit = start + delta * draw.integer(-2, 6)
    if draw.type() in ("float", "double"):
        start, limit, delta = start + 0.25, limit + 0.375, delta * 0.5
    if draw.type().startswith("u"):
        start, limit, delta = abs(start), abs(limit), abs(delta)
    return draw.case([np.array(v, kind) for v in (start, limit, delta)],
                     constants=some_constants(draw, 0, 1, 2))


@generator("CenterCropPad")
def center_crop_pad(draw):
    shape = draw.shape(1, 4, least=1)
    axes = draw.axes(len(shape)) if draw.chance(0.7) else None
    count = len(axes) if axes else len(shape)
    target = [draw.dim(1, 6) for _ in range(count)]
    return draw.case([data_of(draw, shape), draw.ints(*target, dtype=draw.type(1))],
                     {"axes": axes}, constants=some_constants(draw, 1))


@generator("ReverseSequence")
def reverse_sequence(draw):
    batch_axis = draw.integer(0, 1)
    shape = draw.shape(2, 4, least=1)
    lengths = draw.rng.integers(0 if draw.chance(0.2) else 1, shape[1 - batch_axis] + 1,
                                shape[batch_axis])
    return draw.case([data_of(draw, shape), lengths.astype(np.int64)],
                     {"batch_axis": batch_axis, "time_axis": 1 - batch_axis}, moves=(0,))
