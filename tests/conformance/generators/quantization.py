"""Quantised operators of ai.onnx."""

import numpy as np

from generators import generator
from generators.linear import plain, weights, window
from random_case import NUMPY, Unsuitable, number_of

FALLBACK = ("ort", "widened", "reference")


def zero_point(draw, dtype, shape):
    if dtype.startswith("float") or dtype in ("int32", "int16", "uint16"):
        return np.zeros(shape, NUMPY[dtype])
    return draw.values(dtype, shape, -3, 3, special=0, wide=0)


def layout(draw, rank_least=1):
    """(data shape, scale shape, attributes): by tensor, by axis or in blocks."""
    shape = draw.shape(rank_least, 4, least=1)
    kinds = ["tensor"] + (["axis"] if draw.opset >= 13 and shape else []) + \
        (["block"] if draw.opset >= 21 and shape else [])
    kind = draw.choice(kinds)
    if kind == "tensor":
        return shape, draw.choice([(), ()]) if draw.opset < 19 else (), {}
    axis = draw.axis(len(shape))
    if kind == "axis":
        return shape, (shape[axis],), {"axis": axis}
    size = draw.integer(1, 3)
    scales = list(shape)
    scales[axis] = -(-shape[axis] // size)
    return shape, tuple(scales), {"axis": axis, "block_size": size}


@generator("QuantizeLinear")
def quantize(draw):
    shape, scales, attributes = layout(draw)
    data, scale_type = draw.type(0), draw.type(1)
    target = draw.out_type(0)
    if data == "int32" and scale_type not in ("float", "int32"):
        raise Unsuitable
    # Powers of two: the division is exact, ties go to even in every implementation.
    exponents = draw.rng.integers(0 if scale_type == "int32" else -3, 2, scales)
    scale = np.asarray(2.0 ** exponents)
    values = plain(draw, data, shape, -6, 6)
    inputs = [values, scale.astype(NUMPY[scale_type])]
    if target == "uint8" and draw.chance(0.3):
        return draw.case(inputs, attributes, [target], peers=FALLBACK, steps=1)
    inputs.append(zero_point(draw, target, scales))
    if target.startswith("float8"):
        attributes["saturate"] = draw.integer(0, 1)
    return draw.case(inputs, attributes, [target], peers=FALLBACK,
                     steps=1 if data in ("float16", "bfloat16")
                     or (draw.opset >= 23 and data != scale_type) else 0)


@generator("DequantizeLinear")
def dequantize(draw):
    shape, scales, attributes = layout(draw)
    source, scale_type = draw.type(0), draw.type(1)
    scale = draw.values(scale_type, scales, 0.1, 2, special=0, wide=0)
    inputs = [draw.values(source, shape, -100, 100, special=0), scale]
    if draw.chance(0.7):
        inputs.append(np.zeros(scales, NUMPY[source]) if source == "int32"
                      else zero_point(draw, source, scales))
    target = draw.out_type(0) if draw.opset >= 19 else "float"
    if draw.opset >= 23 and target != scale_type:
        attributes["output_dtype"] = number_of(target)
    return draw.case(inputs, attributes, [target], peers=FALLBACK, scale=True)


@generator("DynamicQuantizeLinear")
def dynamic_quantize(draw):
    return draw.case([plain(draw, "float", draw.shape(1, 4, least=1), -3, 5)], None,
                     ["uint8", "float", "uint8"], steps=1)


@generator("MatMulInteger")
def matmul_integer(draw):
    m, k, n = (draw.integer(1, 6) for _ in range(3))
    batch = draw.shape(0, 2, least=1, limit=6)
    a, b = draw.type(0), draw.type(1)
    inputs = [draw.values(a, batch + (m, k), wide=1), draw.values(b, (k, n), wide=1)]
    if draw.chance(0.7):
        inputs.append(zero_point(draw, a, ()))
        if draw.chance(0.7):
            inputs.append(zero_point(draw, b, (n,) if draw.chance(0.3) else ()))
    return draw.case(inputs, None, ["int32"], constants=weights(draw, 1))


@generator("ConvInteger")
def conv_integer(draw):
    spatial = draw.integer(1, 2)
    extents, attributes = window(draw, spatial)
    group = draw.integer(1, 2)
    channels, filters = group * draw.integer(1, 2), group * draw.integer(1, 2)
    x, w = draw.type(0), draw.type(1)
    inputs = [draw.values(x, (1, channels, *extents), wide=1),
              draw.values(w, (filters, channels // group, *attributes["kernel_shape"]), wide=1)]
    if draw.chance(0.7):
        inputs.append(zero_point(draw, x, ()))
        if draw.chance(0.5):
            inputs.append(zero_point(draw, w, ()))
    return draw.case(inputs, {**attributes, "group": group}, ["int32"])


def scale_of(draw, shape=(), low=0.02, high=0.1, dtype="float"):
    return draw.values(dtype, shape, low, high, special=0, wide=0)


@generator("QLinearMatMul")
def qlinear_matmul(draw):
    m, k, n = (draw.integer(1, 6) for _ in range(3))
    batch = draw.shape(0, 2, least=1, limit=6)
    a, b, y = draw.type(0), draw.type(3), draw.out_type(0)
    kind = draw.type(1)
    if any(t.startswith("float8") for t in (a, b, y)) and not (a == b == y):
        raise Unsuitable
    inputs = [draw.values(a, batch + (m, k), special=0, wide=1), scale_of(draw, dtype=kind),
              zero_point(draw, a, ()),
              draw.values(b, batch + (k, n), special=0, wide=1), scale_of(draw, dtype=kind),
              zero_point(draw, b, ()), scale_of(draw, (), 0.5, 2, kind), zero_point(draw, y, ())]
    return draw.case(inputs, None, [y], steps=1, constants=weights(draw, *range(1, 8)),
                     peers=FALLBACK)


@generator("QLinearConv")
def qlinear_conv(draw):
    spatial = 2
    extents, attributes = window(draw, spatial)
    group = draw.integer(1, 2)
    channels, filters = group * draw.integer(1, 2), group * draw.integer(1, 2)
    x, w, y = draw.type(0), draw.type(3), draw.out_type(0)
    per_channel = (filters,) if draw.chance(0.4) else ()
    inputs = [draw.values(x, (1, channels, *extents), wide=1), scale_of(draw),
              zero_point(draw, x, ()),
              draw.values(w, (filters, channels // group, *attributes["kernel_shape"]), wide=1),
              scale_of(draw, per_channel),
              np.zeros(per_channel, NUMPY[w]) if per_channel else zero_point(draw, w, ()),
              scale_of(draw, (), 0.5, 2), zero_point(draw, y, ())]
    if draw.chance():
        inputs.append(draw.values("int32", (filters,), -200, 200, wide=0))
    return draw.case(inputs, {**attributes, "group": group}, [y], steps=1, peers=FALLBACK)


