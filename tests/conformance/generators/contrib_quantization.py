"""com.microsoft: quantised operators."""

import numpy as np

from generators import generator
from generators.contrib import LOOSE, MS, PEERS
from generators.linear import plain, window
from generators.quantization import scale_of
from random_case import NUMPY, Unsuitable

BYTES = {"wide": 1}


def point(draw, dtype, shape=()):
    return draw.values(dtype, shape, -5, 5, wide=0)


def right_factor(draw, dtype, shape):
    """Of int8 only what onnxruntime can multiply by any byte on a processor without VNNI, where
    its sums of two products saturate at 16 bits."""
    if dtype == "int8":
        return draw.values(dtype, shape, -64, 63, wide=0)
    return draw.values(dtype, shape, **BYTES)


def coarse(draw):
    return scale_of(draw, (), 0.05, 0.2)


@generator("QLinearAdd", "QLinearMul", domain=MS)
def q_binary(draw):
    dtype, shape = draw.type(), draw.shape(1, 4, least=1)
    other = draw.broadcastable(shape)
    inputs = [draw.values(dtype, shape, **BYTES), coarse(draw), point(draw, dtype),
              draw.values(dtype, other, **BYTES), coarse(draw), point(draw, dtype),
              scale_of(draw, (), 0.1, 0.4), point(draw, dtype)]
    return draw.case(inputs, steps=1)


@generator("QLinearSigmoid", "QLinearLeakyRelu", domain=MS)
def q_unary(draw):
    dtype = draw.type()
    attributes = {}
    if draw.definition["operator"] == "QLinearLeakyRelu":
        attributes["alpha"] = draw.choice([0.1, 0.3])
    return draw.case([draw.values(dtype, draw.shape(1, 4, least=1), **BYTES), coarse(draw),
                      point(draw, dtype), scale_of(draw, (), 0.01, 0.1), point(draw, dtype)],
                     attributes, steps=1)


@generator("QLinearSoftmax", domain=MS)
def q_softmax(draw):
    dtype, shape = draw.type(), draw.shape(2, 4, least=1)
    return draw.case([draw.values(dtype, shape, **BYTES), coarse(draw), point(draw, dtype),
                      np.array(1 / 256, np.float32),
                      np.array(0 if dtype == "uint8" else -128, NUMPY[dtype])],
                     {"axis": draw.choice([-1, len(shape) - 1]), "opset": 13}, steps=1,
                     constants=frozenset({1, 2, 3, 4}))


@generator("QLinearAveragePool", domain=MS)
def q_average_pool(draw):
    dtype = draw.type()
    extents, attributes = window(draw, 2)
    attributes.pop("dilations", None)
    last = draw.integer(0, 1)
    channels = draw.integer(1, 3)
    shape = (1, *extents, channels) if last else (1, channels, *extents)
    return draw.case([draw.values(dtype, shape, **BYTES), coarse(draw), point(draw, dtype),
                      coarse(draw), point(draw, dtype)],
                     {**attributes, "channels_last": last,
                      "count_include_pad": draw.integer(0, 1)}, steps=1,
                     constants=frozenset({1, 2, 3, 4}))


@generator("QLinearGlobalAveragePool", domain=MS)
def q_global_average_pool(draw):
    dtype, last = draw.type(), draw.integer(0, 1)
    shape = (draw.integer(1, 2), *(draw.integer(1, 4) for _ in range(3)))
    return draw.case([draw.values(dtype, shape, **BYTES), coarse(draw), point(draw, dtype),
                      coarse(draw), point(draw, dtype)], {"channels_last": last}, steps=1,
                     constants=frozenset({1, 2, 3, 4}))


@generator("QLinearConcat", domain=MS)
def q_concat(draw):
    dtype, shape = draw.out_type(0), list(draw.shape(1, 3, least=1))
    axis = draw.axis(len(shape))
    inputs = [coarse(draw), point(draw, dtype)]
    for _ in range(draw.integer(1, 3)):
        shape[axis] = draw.integer(1, 3)
        inputs += [draw.values(dtype, shape, **BYTES), coarse(draw), point(draw, dtype)]
    return draw.case(inputs, {"axis": axis}, [dtype], steps=1,
                     constants=frozenset(i for i in range(len(inputs)) if i < 2 or i % 3 != 2))


@generator("QLinearWhere", domain=MS)
def q_where(draw):
    dtype, shape = draw.type(1), draw.shape(1, 4, least=1)
    inputs = [draw.values("bool", draw.broadcastable(shape))]
    for _ in range(2):
        inputs += [draw.values(dtype, draw.broadcastable(shape), **BYTES), coarse(draw),
                   point(draw, dtype)]
    return draw.case(inputs + [coarse(draw), point(draw, dtype)], steps=1,
                     constants=frozenset({2, 3, 5, 6, 7, 8}))


def q_reduce_mean_check(case, outputs):
    """No peer has it: the formula, in double."""
    data, scale, zero, out_scale, out_zero = (np.asarray(v, np.float64) for v in case.inputs)
    mean = ((data - zero) * scale).mean(tuple(case.attributes["axes"]),
                                        keepdims=bool(case.attributes["keepdims"]))
    limits = np.iinfo(outputs[0].dtype)
    wanted = np.clip(np.rint(mean / out_scale) + out_zero, limits.min, limits.max)
    if outputs[0].shape != wanted.shape:
        return f"found shape {outputs[0].shape}, expected {wanted.shape}"
    near = np.abs(outputs[0].astype(np.float64) - wanted).max(initial=0) <= 1
    return None if near else "not the formula's result"


@generator("QLinearReduceMean", domain=MS)
def q_reduce_mean(draw):
    dtype, shape = draw.type(), draw.shape(1, 4, least=1)
    axes = sorted({draw.integer(0, len(shape) - 1) for _ in range(2)})
    return draw.case([draw.values(dtype, shape, **BYTES), coarse(draw), point(draw, dtype),
                      coarse(draw), point(draw, dtype)],
                     {"axes": axes, "keepdims": draw.integer(0, 1)}, check=q_reduce_mean_check)


@generator("QGemm", domain=MS)
def q_gemm(draw):
    a, b = draw.type(0), draw.type(3)
    m, k, n = (draw.integer(1, 6) for _ in range(3))
    trans_a, trans_b = draw.integer(0, 1), draw.integer(0, 1)
    out = draw.out_type(0)
    if out not in ("float", a) or (a, b) == ("int8", "uint8"):
        raise Unsuitable
    inputs = [draw.values(a, (k, m) if trans_a else (m, k), **BYTES), coarse(draw),
              point(draw, a), right_factor(draw, b, (n, k) if trans_b else (k, n)),
              coarse(draw), point(draw, b),
              draw.values("int32", (n,), -100, 100, wide=0) if draw.chance() else None]
    if out != "float":
        inputs += [scale_of(draw, (), 0.5, 2), point(draw, out)]
    return draw.case(inputs, {"transA": trans_a, "transB": trans_b,
                              "alpha": draw.choice([None, 0.5])}, [out], steps=1, scale=True,
                     atol=1e-4, constants=frozenset(range(1, len(inputs))) - {6})


@generator("NhwcMaxPool", domain=MS)
def nhwc_max_pool(draw):
    extents, attributes = window(draw, 2)
    return draw.case([draw.values(draw.type(), (1, *extents, draw.integer(1, 3)), **BYTES)],
                     attributes)


@generator("QuantizeLinear", domain=MS)
def quantize(draw):
    target, source = draw.out_type(0), draw.type(0)
    shape = draw.shape(1, 4, least=1)
    axis = draw.axis(len(shape))
    each = (shape[axis],) if draw.chance() else ()
    scale = np.asarray(2.0 ** draw.rng.integers(-2, 2, each)).astype(NUMPY[source])
    return draw.case([plain(draw, source, shape, -6, 6), scale, point(draw, target, each)],
                     {"axis": axis}, [target], steps=1, peers=PEERS)


@generator("DequantizeLinear", domain=MS)
def dequantize(draw):
    source, target = draw.type(0), draw.out_type(0)
    shape = draw.shape(1, 4, least=1)
    axis = draw.axis(len(shape))
    each = (shape[axis],) if draw.chance() else ()
    zero = np.zeros(each, NUMPY[source]) if source == "int32" else point(draw, source, each)
    return draw.case([draw.values(source, shape, -100, 100, special=0),
                      scale_of(draw, each, dtype=target), zero], {"axis": axis}, [target],
                     **LOOSE)


@generator("MatMulIntegerToFloat", domain=MS)
def matmul_integer_to_float(draw):
    a, b, real = draw.type(0), draw.type(1), draw.out_type(0)
    if (a, b) == ("int8", "uint8"):
        raise Unsuitable
    m, k, n = (draw.integer(1, 6) for _ in range(3))
    each = (n,) if draw.chance(0.4) else ()
    inputs = [draw.values(a, (m, k), **BYTES), right_factor(draw, b, (k, n)),
              scale_of(draw, (), dtype=real), scale_of(draw, each, dtype=real),
              point(draw, a) if draw.chance(0.7) else None,
              point(draw, b, each) if draw.chance(0.7) else None,
              plain(draw, real, (n,)) if draw.chance() else None]
    return draw.case(inputs, None, [real], **LOOSE)


@generator("DynamicQuantizeMatMul", domain=MS)
def dynamic_quantize_matmul(draw):
    b = draw.type(1)
    m, k, n = (draw.integer(1, 6) for _ in range(3))
    each = (n,) if draw.chance(0.3) else ()
    inputs = [plain(draw, "float", (m, k)), right_factor(draw, b, (k, n)),
              scale_of(draw, each), point(draw, b, each) if draw.chance(0.7) else None,
              plain(draw, "float", (n,)) if draw.chance() else None]
    return draw.case(inputs, None, ["float"], scale=True, rtol=1e-3, atol=1e-2)


@generator("DynamicQuantizeLSTM", domain=MS)
def dynamic_quantize_lstm(draw):
    kind = draw.type(1)
    hidden, width, batch, length = (draw.integer(1, 4) for _ in range(4))
    both = draw.integer(1, 2)
    inputs = [plain(draw, "float", (length, batch, width)),
              right_factor(draw, kind, (both, width, 4 * hidden)),
              right_factor(draw, kind, (both, hidden, 4 * hidden)),
              plain(draw, "float", (both, 8 * hidden)) if draw.chance() else None, None, None,
              None, None, scale_of(draw, (both,), 0.005, 0.02), point(draw, kind, (both,)),
              scale_of(draw, (both,), 0.005, 0.02), point(draw, kind, (both,))]
    return draw.case(inputs, {"hidden_size": hidden,
                              "direction": "bidirectional" if both == 2 else "forward"},
                     ["float"] * 3, scale=True, rtol=1e-3, atol=2e-2,
                     constants=frozenset({1, 2, 8, 9, 10, 11}))


def packed_bits(values, bits):
    """Numbers below 2^bits, the first in the lowest bits of a byte; the last axis is packed."""
    per = 8 // bits
    room = -values.shape[-1] % per
    values = np.pad(values, [(0, 0)] * (values.ndim - 1) + [(0, room)])
    parts = values.reshape(*values.shape[:-1], -1, per).astype(np.uint8)
    shifts = (np.arange(per) * bits).astype(np.uint8)
    return np.bitwise_or.reduce(parts << shifts, axis=-1).astype(np.uint8)


@generator("MatMulNBits", domain=MS)
def matmul_n_bits(draw):
    dtype, bits, block = draw.type(0), draw.choice([4, 4, 8, 2]), draw.choice([16, 32])
    m, k, n = draw.integer(1, 4), draw.integer(1, 50), draw.integer(1, 5)
    blocks = -(-k // block)
    weights = draw.rng.integers(0, 1 << bits, (n, blocks, block))
    inputs = [plain(draw, dtype, draw.choice([(m, k), (2, m, k)])), packed_bits(weights, bits),
              scale_of(draw, (n, blocks), dtype=dtype)]
    if draw.chance():
        zeros = draw.type(3)
        if zeros == "uint8":
            inputs.append(packed_bits(draw.rng.integers(0, 1 << bits, (n, blocks)), bits))
        elif zeros == dtype and bits != 8:
            inputs.append(draw.values(dtype, (n, blocks), 0, (1 << bits) - 1, special=0, wide=0))
        else:
            raise Unsuitable
    inputs += [None] * (5 - len(inputs))
    inputs.append(plain(draw, dtype, (n,)) if draw.chance(0.3) else None)
    return draw.case(inputs, {"K": k, "N": n, "bits": bits, "block_size": block}, scale=True,
                     rtol=1e-3, atol=2e-3, peers=PEERS, constants=frozenset({1, 2, 3}))


@generator("GatherBlockQuantized", domain=MS)
def gather_block_quantized(draw):
    data, real, index = draw.type(0), draw.type(2), draw.type(1)
    rows, width, block = draw.integer(2, 5), draw.choice([32, 48]), 16
    indices = draw.rng.integers(0, rows, draw.shape(1, 2, least=1, most=3)).astype(NUMPY[index])
    scales = scale_of(draw, (rows, width // block), dtype=real)
    attributes = {"block_size": block, "quantize_axis": 1, "gather_axis": 0}
    if data == "uint8":
        bits = draw.choice([4, 8])
        table = packed_bits(draw.rng.integers(0, 1 << bits, (rows, width)), bits)
        zero = packed_bits(draw.rng.integers(0, 1 << bits, (rows, width // block)), bits)
        attributes["bits"] = bits
    elif data in ("int4", "uint4"):
        table = draw.values(data, (rows, width))
        zero = draw.values(data, (rows, width // block))
    else:
        table, zero = draw.values(data, (rows, width), -4, 4, special=0, wide=0), None
        if draw.chance():
            attributes["block_size"], scales = 0, scales[:, :1]
    inputs = [table, indices, scales] + ([zero] if zero is not None and draw.chance() else [])
    return draw.case(inputs, attributes, [real], constants=frozenset({0, 2, 3}), **LOOSE)
