"""Operators that work on elements alone, with or without broadcasting."""

import numpy as np
import onnx

from generators import generator
from random_case import FLOATS, INTEGERS, NUMPY, PACKED, Unsuitable, number_of


def schema_of(draw):
    domain = draw.definition["domain"]
    try:
        return onnx.defs.get_schema(draw.definition["operator"], draw.opset,
                                    "" if domain == "ai.onnx" else domain)
    except onnx.defs.SchemaError:
        raise Unsuitable from None


def random_attributes(draw):
    """Real-valued attributes near their defaults."""
    found = {}
    for name, attribute in schema_of(draw).attributes.items():
        default = attribute.default_value
        if default.type == onnx.AttributeProto.FLOAT and draw.chance():
            found[name] = float(np.float32(default.f * draw.real(0.5, 1.5)))
    return found


def default(draw):
    """Every input with the same shape or one that broadcasts with it; one output."""
    definition = draw.definition
    least, most = definition["min_inputs"], definition["max_inputs"]
    count = draw.integer(max(least, 1), most if most is not None else max(least, 1) + 2)
    shape = draw.shape()
    inputs = [draw.values(draw.type(i), shape if i == 0 else draw.broadcastable(shape))
              for i in range(count)]
    return draw.case(inputs, random_attributes(draw))


# Where a function is steep, a difference of one unit in the input's last place shows; keep to
# where it is not. operator: (low, high)
DOMAINS = {"Tan": (-1.2, 1.2), "Acos": (-1, 1), "Asin": (-1, 1), "Atanh": (-0.95, 0.95),
           "Acosh": (1, 9), "Exp": (-8, 8), "Sinh": (-8, 8), "Cosh": (-8, 8), "Log": (0, 9),
           "Sqrt": (0, 9), "Sin": (-9, 9), "Cos": (-9, 9)}


@generator(*DOMAINS)
def bounded(draw):
    low, high = DOMAINS[draw.definition["operator"]]
    return draw.case([draw.values(draw.type(), draw.shape(), low, high, wide=0)])


@generator("Abs", "Neg", "Sign", "Floor", "Ceil", "Round", "Relu", "Reciprocal", "Sigmoid", "Tanh",
           "Erf", "Softplus", "Not", "BitwiseNot", "IsNaN", "Asinh", "Atan", "Mish")
def unary(draw):
    values = draw.values(draw.type(), draw.shape(most_rank=6))
    if draw.definition["operator"] == "Round":
        values = np.round(np.asarray(values, np.float64) * 2) / 2
        values = values.astype(NUMPY[draw.type()])
    return draw.case([values])


@generator("HardSwish", "Softsign")
def with_narrow_peer(draw):
    # HardSwish is made of a HardSigmoid with a float attribute, a sixth.
    return draw.case([draw.values(draw.type(), draw.shape(most_rank=6), special=0)], atol=1e-6,
                     peers=("ort", "widened", "narrowed", "reference"))


@generator("IsInf")
def is_inf(draw):
    return draw.case([draw.values(draw.type(), draw.shape(), special=0.8)],
                     {"detect_negative": draw.integer(0, 1), "detect_positive": draw.integer(0, 1)})


@generator("Elu", "Celu", "Selu", "LeakyRelu", "HardSigmoid", "ThresholdedRelu", "Shrink", "Swish")
def activation(draw):
    attributes = random_attributes(draw)
    if draw.definition["operator"] in ("Shrink", "ThresholdedRelu"):
        # Not on the threshold, where a rounding decides.
        name = "lambd" if draw.definition["operator"] == "Shrink" else "alpha"
        attributes[name] = draw.choice([0.25, 0.5, 1.0])
    if draw.definition["operator"] == "Selu" and draw.opset < 6:
        # The peers know the newer defaults alone, which have more digits.
        attributes = {"alpha": 1.6732, "gamma": 1.0507, **attributes}
    # The attributes are of type float; onnx.reference rounds the products with them to it.
    return draw.case([draw.values(draw.type(), draw.shape(), wide=0)], attributes, rtol=1e-5)


@generator("Gelu")
def gelu(draw):
    return draw.case([draw.values(draw.type(), draw.shape(), special=0)],
                     {"approximate": draw.choice([None, "none", "tanh"])}, atol=1e-5)


@generator("SwiGLU")
def swiglu(draw):
    shape = draw.shape()
    return draw.case([draw.values(draw.type(), shape, special=0, wide=0) for _ in range(2)],
                     random_attributes(draw))


def old_broadcast(draw, shape):
    """(shape of B, attributes) of opsets 1 to 6, where B fits a run of A's dimensions."""
    if not draw.chance() or not shape:
        return shape, {}
    axis = draw.integer(0, len(shape) - 1)
    length = draw.integer(1, len(shape) - axis)
    attributes = {"broadcast": 1}
    if axis + length < len(shape) or draw.chance():
        attributes["axis"] = axis
    return shape[axis:axis + length], attributes


def two_shapes(draw):
    """Shapes of A and B and the attributes that make them broadcast."""
    shape = draw.shape(most_rank=6)
    if draw.opset < 7:
        other, attributes = old_broadcast(draw, shape)
        return shape, other, attributes
    pair = [shape, draw.broadcastable(shape)]
    if draw.chance():
        pair.reverse()
    if draw.chance(0.3):
        pair[0] = tuple(1 if draw.chance(0.3) else d for d in pair[0])
    return *pair, {}


@generator("Add", "Sub", "Mul", "And", "Or", "Xor", "Equal", "Less", "Greater", "LessOrEqual",
           "GreaterOrEqual", "BitwiseAnd", "BitwiseOr", "BitwiseXor")
def binary(draw):
    a, b, attributes = two_shapes(draw)
    if draw.opset < 7 and draw.definition["operator"] in ("Less", "Greater", "Equal", "And") and \
            not attributes and a != b:
        raise Unsuitable
    low, high = (-2, 2) if "qual" in draw.definition["operator"] else (-9, 9)
    inputs = [draw.values(draw.type(0), a, low, high), draw.values(draw.type(1), b, low, high)]
    constants = frozenset({1}) if draw.chance(0.2) else frozenset()
    return draw.case(inputs, attributes, constants=constants,
                     modern=modern_of(draw, inputs, attributes))


def modern_of(draw, inputs, attributes):
    """The same with today's broadcasting, where B is given the dimensions that A has after it."""
    if draw.opset >= 7:
        return None
    axis = attributes.get("axis")
    a, b = inputs
    if axis is not None:
        b = b.reshape(b.shape + (1,) * (a.ndim - axis - b.ndim))
    return draw.case([a, b], opset=13)


def without_zeros(draw, values):
    """Integer divisors; zero is an error, and so is -1 beneath INT_MIN."""
    dtype = draw.type(1)
    if dtype not in INTEGERS:
        return values
    kind = NUMPY[dtype]
    bad = values == 0
    if not dtype.startswith("u"):
        bad = bad | (values == -1)
    return np.where(bad, np.array(3, kind), values)


@generator("Div")
def div(draw):
    a, b, attributes = two_shapes(draw)
    inputs = [draw.values(draw.type(0), a, -9, 9),
              without_zeros(draw, draw.values(draw.type(1), b, -9, 9))]
    return draw.case(inputs, attributes, modern=modern_of(draw, inputs, attributes))


@generator("Mod")
def mod(draw):
    a, b, _ = two_shapes(draw)
    dtype = draw.type()
    fmod = 1 if dtype in FLOATS else draw.integer(0, 1)
    # A remainder jumps where the quotient is whole; floats are kept off that by odd quarters.
    inputs = [draw.values(dtype, a, -9, 9, special=0, wide=0.2 if dtype in INTEGERS else 0),
              without_zeros(draw, draw.values(dtype, b, -9, 9, special=0,
                                              wide=0.2 if dtype in INTEGERS else 0))]
    if dtype in FLOATS:
        inputs[0] = (np.round(inputs[0].astype(np.float32) * 4) / 4).astype(NUMPY[dtype])
        inputs[1] = (np.round(inputs[1].astype(np.float32) * 4) / 4 + 0.125).astype(NUMPY[dtype])
    return draw.case(inputs, {"fmod": fmod})


@generator("BitShift")
def bit_shift(draw):
    a, b, _ = two_shapes(draw)
    bits = 8 * np.dtype(NUMPY[draw.type()]).itemsize
    shifts = draw.rng.integers(0, bits, b).astype(NUMPY[draw.type(1)])
    return draw.case([draw.values(draw.type(), a, 0, 100), shifts],
                     {"direction": draw.choice(["LEFT", "RIGHT"])})


@generator("Pow")
def pow_(draw):
    a, b, attributes = two_shapes(draw)
    base, power = draw.type(0), draw.type(1)
    exponents = draw.values(power, b, 0, 4, special=0, wide=0)
    if base in INTEGERS and power in FLOATS:
        exponents = np.floor(exponents.astype(np.float32)).astype(NUMPY[power])
    low = 0 if power in FLOATS else -3
    inputs = [draw.values(base, a, low, 4, special=0, wide=0), exponents]
    return draw.case(inputs, attributes, modern=modern_of(draw, inputs, attributes))


@generator("PRelu")
def prelu(draw):
    shape = draw.shape(2, 5)
    if draw.opset < 7:
        slope = (shape[1],) if draw.chance() else (1,)
    else:
        slope = draw.broadcastable(shape)
    inputs = [draw.values(draw.type(), shape), draw.values(draw.type(1), slope)]
    modern = None
    if draw.opset < 9:
        aligned = inputs[1] if draw.opset >= 7 else \
            inputs[1].reshape(slope + (1,) * (len(shape) - 2))
        modern = draw.case([inputs[0], aligned], opset=9)
    return draw.case(inputs, modern=modern)


@generator("Max", "Min", "Sum", "Mean")
def variadic(draw):
    shape = draw.shape()
    count = draw.integer(1, 4)
    dtype = draw.type()
    shapes = [shape] + [draw.broadcastable(shape) if draw.opset >= 8 else shape
                        for _ in range(count - 1)]
    draw.rng.shuffle(shapes)
    inputs = [draw.values(dtype, s) for s in shapes]
    modern = None
    if draw.definition["operator"] in ("Sum", "Mean"):
        # The peers' loops over inputs differ in what they broadcast.
        whole = np.broadcast_shapes(*[v.shape for v in inputs])
        modern = draw.case([np.broadcast_to(v, whole).copy() for v in inputs], opset=13)
    return draw.case(inputs, scale=True, modern=modern)


@generator("Clip")
def clip(draw):
    dtype, shape = draw.type(), draw.shape()
    values = draw.values(dtype, shape)
    if draw.opset < 11:
        # An absent bound is the greatest float, also for double, where the newer form has double's.
        is_bounded = dtype == "double"
        least, most = (v if is_bounded or draw.chance() else None for v in (-1.5, 2.5))
        bounds = [None if v is None else np.array(v, NUMPY[dtype]) for v in (least, most)]
        return draw.case([values], {"min": least, "max": most},
                         modern=draw.case([values, *bounds], opset=13))
    bounds = [np.array(v, NUMPY[dtype]) if draw.chance(0.7) else None
              for v in ((0 if dtype.startswith("u") else -1), 2)]
    return draw.case([values, *bounds],
                     constants=frozenset({1, 2} if draw.chance() else ()))


@generator("Where")
def where(draw):
    shape = draw.shape()
    shapes = [shape, draw.broadcastable(shape), draw.broadcastable(shape)]
    draw.rng.shuffle(shapes)
    return draw.case([draw.values("bool", shapes[0]), draw.values(draw.type(1), shapes[1]),
                      draw.values(draw.type(1), shapes[2])])


def castable(draw, source, target, shape):
    """Values that the target can hold, where ONNX says what the result is."""
    if source == "string":
        if target == "bool":
            raise Unsuitable
        if target in PACKED and "int" in target:
            texts = ["0", "1"]
        elif target == "float8e8m0":
            texts = ["1", "2", "0.5"]
        elif target in INTEGERS:
            texts = ["0", "7", "12"] + (["-3"] if not target.startswith("u") else [])
        else:
            texts = ["0", "1.5", "-2.25", "3e1", "1", "NaN", "INF", "-INF"]
        flat = [draw.choice(texts) for _ in range(int(np.prod(shape)))]
        return np.array(flat, np.object_).reshape(shape)
    low, high = (0 if target.startswith("u") else -8), 7
    if target in ("int2", "uint2"):
        low, high = (0, 3) if target == "uint2" else (-2, 1)
    to_real = source not in ("bool",) and target in ("string", "bool") + FLOATS or target.startswith("float8") or target == "float4e2m1"
    values = draw.values(source, shape, low, high, special=0.25 if to_real else 0,
                         wide=0.2 if target in INTEGERS and source in INTEGERS else 0)
    if target == "float8e8m0" and source not in ("bool", "uint4", "uint2"):
        # Of others than positive finite numbers ONNX says nothing, or the peers something else.
        values = np.clip(np.nan_to_num(np.abs(values.astype(np.float32)), nan=1), 0.125, 8)
        values = values.astype(NUMPY[source])
    if not to_real and source not in INTEGERS:
        values = np.clip(values.astype(np.float32), low, high)
        if target in PACKED:
            # onnxruntime rounds where ONNX truncates.
            values = np.trunc(values)
        values = values.astype(NUMPY[source])
    return np.asarray(values)


def _judge(source, target):
    """No peer reads or writes the smallest floats as text."""
    if "string" in (source, target) and {"float4e2m1", "float8e8m0"} & {source, target}:
        raise Unsuitable
    others = {source, target} - {"float8e8m0"}
    if "float8e8m0" in (source, target) and not others <= {"float", "float16", "bfloat16"}:
        raise Unsuitable


def _saturate(draw, target):
    """The attribute; onnxruntime takes infinity to NaN where the standard's table keeps it."""
    return 1 if target.startswith("float8e5m2") else draw.integer(0, 1)


def _to_bool(source, target, values):
    """Without minus zero, which onnxruntime takes for true in the float8 types."""
    return np.abs(values) if target == "bool" and source.startswith("float8") else values


@generator("Cast")
def cast(draw):
    source, target = draw.type(), draw.out_type()
    _judge(source, target)
    values = _to_bool(source, target, castable(draw, source, target, draw.shape()))
    attributes = {"to": number_of(target) if draw.opset >= 6 else target.upper()}
    modern = None
    if draw.opset < 9:
        modern = draw.case([values], {"to": number_of(target)}, opset=13)
    if draw.opset >= 19 and target.startswith("float8") and target != "float8e8m0":
        attributes["saturate"] = _saturate(draw, target)
    if draw.opset >= 24 and target == "float8e8m0":
        attributes["round_mode"] = draw.choice(["up", "down", "nearest"])
    return draw.case([values], attributes, modern=modern)


@generator("CastLike")
def cast_like(draw):
    source, target = draw.type(0), draw.type(1)
    _judge(source, target)
    values = _to_bool(source, target, castable(draw, source, target, draw.shape()))
    attributes = {}
    if draw.opset >= 19 and target.startswith("float8") and target != "float8e8m0":
        attributes["saturate"] = _saturate(draw, target)
    like = draw.values(target, (1,), special=0, wide=0)
    modern = draw.case([values], {"to": number_of(target), **attributes})
    modern.operator = "Cast"
    return draw.case([values, like], attributes, modern=modern)


@generator("BitCast")
def bit_cast(draw):
    source, target = draw.type(), draw.out_type()
    if np.dtype(NUMPY[source]).itemsize != np.dtype(NUMPY[target]).itemsize or \
            "string" in (source, target) or (source in ("int4", "uint4", "int2", "uint2",
                                                        "float4e2m1")
                                             or target in ("int4", "uint4", "int2", "uint2",
                                                           "float4e2m1")) and source != target:
        raise Unsuitable
    values = draw.values(source, draw.shape(), special=0)
    if target == "bool" and source != "bool":
        values = (draw.rng.integers(0, 2, values.shape)).astype(np.uint8).view(NUMPY[source])
    return draw.case([values], {"to": number_of(target)})
