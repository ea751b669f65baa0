"""com.microsoft: fused elementwise operators, normalizations, products and small ones."""

import numpy as np

from generators import generator
from generators.linear import plain, window
from random_case import FLOATS, INTEGERS, NUMPY, Unsuitable

MS = "com.microsoft"
PEERS = ("ort", "widened", "narrowed")
LOOSE = {"scale": True, "rtol": 1e-4, "atol": 1e-4, "peers": PEERS}


@generator("Gelu", "QuickGelu", domain=MS)
def gelu(draw):
    attributes = {"alpha": draw.choice([None, 1.5])} \
        if draw.definition["operator"] == "QuickGelu" else {}
    return draw.case([plain(draw, draw.type(), draw.shape(), -4, 4)], attributes, atol=1e-5,
                     peers=PEERS)


@generator("FastGelu", "BiasGelu", domain=MS)
def bias_gelu(draw):
    shape = draw.shape(1, 4, least=1)
    inputs = [plain(draw, draw.type(), shape, -4, 4), plain(draw, draw.type(), shape[-1:])]
    if draw.definition["operator"] == "FastGelu" and draw.chance():
        inputs.pop()
    return draw.case(inputs, atol=1e-4, peers=PEERS)


@generator("SkipLayerNormalization", "SkipSimplifiedLayerNormalization", domain=MS)
def skip_layer_norm(draw):
    width, dtype = draw.integer(1, 8), draw.type()
    shape = (draw.integer(1, 2), draw.integer(1, 3), width)
    skip = draw.choice([shape, shape, (1, *shape[1:]), shape[1:]])
    inputs = [plain(draw, dtype, shape), plain(draw, dtype, skip), plain(draw, dtype, (width,))]
    if draw.definition["operator"] == "SkipLayerNormalization":
        inputs.append(plain(draw, dtype, (width,)) if draw.chance() else None)
    inputs.append(plain(draw, dtype, (width,)) if draw.chance() else None)
    outputs = [dtype] + ([None, None, dtype] if draw.chance() else [])
    return draw.case(inputs, {"epsilon": draw.choice([1e-5, 1e-3])}, outputs, **LOOSE)


@generator("SimplifiedLayerNormalization", domain=MS)
@generator("SimplifiedLayerNormalization")
def simplified_layer_norm(draw):
    shape = draw.shape(1, 4, least=1)
    axis = draw.axis(len(shape))
    case = draw.case([plain(draw, draw.type(0), shape), plain(draw, draw.type(1), shape[axis:])],
                     {"axis": axis, "epsilon": draw.choice([1e-5, 1e-3])}, **LOOSE)
    # onnxruntime has it in the standard's domain.
    case.modern = draw.case(case.inputs, case.attributes, opset=21, **LOOSE)
    case.modern.domain = "ai.onnx"
    return case


@generator("EmbedLayerNormalization", domain=MS)
def embed_layer_norm(draw):
    batch, length, width, dtype = draw.integer(1, 2), draw.integer(1, 4), draw.integer(1, 6), \
        draw.type(2)
    with_segments = draw.chance()

    def ids(limit):
        return draw.rng.integers(0, limit, (batch, length)).astype(np.int32)

    inputs = [ids(7), ids(2) if with_segments else None, plain(draw, dtype, (7, width)),
              plain(draw, dtype, (5, width)),
              plain(draw, dtype, (2, width)) if with_segments else None,
              plain(draw, dtype, (width,)), plain(draw, dtype, (width,)),
              ids(2) if draw.chance() else None, ids(5) if draw.chance(0.3) else None]
    outputs = [dtype, "int32"] + ([dtype] if draw.chance(0.4) else [])
    return draw.case(inputs, {"epsilon": draw.choice([None, 1e-3]),
                              "mask_index_type": draw.choice([None, 0])
                              if inputs[7] is None else None}, outputs, **LOOSE)


def activation(case, values):
    return values / (1 + np.exp(-values)) if case.attributes.get("activation") else values


def group_norm_check(case, outputs):
    """No peer on the CPU: the formula, in double."""
    x, gamma, beta = (v.astype(np.float64) for v in case.inputs[:3])
    if len(case.inputs) > 3:
        skip = case.inputs[3].astype(np.float64)
        x = x + (skip if skip.ndim == 4 else skip[:, None, None, :])
        if len(case.inputs) > 4:
            x = x + case.inputs[4].astype(np.float64)
    groups = case.attributes["groups"]
    last = case.attributes.get("channels_last", 1)
    moved = np.moveaxis(x, -1, 1) if last else x
    flat = moved.reshape(moved.shape[0], groups, -1)
    mean, variance = flat.mean(-1, keepdims=True), flat.var(-1, keepdims=True)
    y = ((flat - mean) / np.sqrt(variance + case.attributes.get("epsilon", 1e-5)))
    y = y.reshape(moved.shape)
    y = y * gamma[None, :, None, None] + beta[None, :, None, None]
    y = activation(case, y)
    wanted = np.moveaxis(y, 1, -1) if last else y
    loose = 3e-2 if outputs[0].dtype == np.float16 else 1e-3
    near = np.allclose(outputs[0].astype(np.float64), wanted, rtol=loose, atol=loose)
    return None if near else "not the formula's result"


@generator("GroupNorm", "SkipGroupNorm", domain=MS)
def group_norm(draw):
    groups, dtype, other = draw.integer(1, 3), draw.type(0), draw.type(1)
    channels = groups * draw.integer(1, 3)
    last = 1 if draw.definition["operator"] == "SkipGroupNorm" else draw.integer(0, 1)
    spatial = (draw.integer(1, 3), draw.integer(2, 3))
    batch = draw.integer(1, 2)
    shape = (batch, *spatial, channels) if last else (batch, channels, *spatial)
    inputs = [plain(draw, dtype, shape), plain(draw, other, (channels,)),
              plain(draw, other, (channels,))]
    if draw.definition["operator"] == "SkipGroupNorm":
        inputs.append(plain(draw, dtype, draw.choice([shape, (batch, channels)])))
        if draw.chance():
            inputs.append(plain(draw, dtype, (channels,)))
    return draw.case(inputs, {"groups": groups, "activation": draw.integer(0, 1),
                              "channels_last": last, "epsilon": 1e-5}, check=group_norm_check)


def bias_split_gelu_check(case, outputs):
    from math import erf
    x = case.inputs[0].astype(np.float64) + case.inputs[1].astype(np.float64)
    half = x.shape[-1] // 2
    gate = x[..., half:]
    wanted = x[..., :half] * 0.5 * gate * (1 + np.vectorize(erf)(gate / 2 ** 0.5))
    loose = 2e-2 if outputs[0].dtype == np.float16 else 1e-4
    near = np.allclose(outputs[0].astype(np.float64), wanted, rtol=loose, atol=loose)
    return None if near else "not the formula's result"


def bias_add_check(case, outputs):
    data, bias, skip = (v.astype(np.float64) for v in case.inputs)
    near = np.allclose(outputs[0].astype(np.float64), data + bias + skip, rtol=2e-3, atol=2e-3)
    return None if near else f"found {outputs[0]}, expected {data + bias + skip}"


@generator("BiasAdd", domain=MS)
def bias_add(draw):
    shape = (draw.integer(1, 2), draw.integer(1, 3), draw.choice([320, 640]))
    return draw.case([plain(draw, draw.type(), shape), plain(draw, draw.type(), shape[-1:]),
                      plain(draw, draw.type(), shape)], check=bias_add_check)


@generator("Tokenizer", domain=MS)
def tokenizer(draw):
    words = np.array(["a b  c", "one,two", "", "Hello World", "x--y"], np.object_)
    texts = draw.rng.choice(words, draw.choice([(3,), (2, 2)]))
    attributes = {"mark": draw.integer(0, 1), "mincharnum": 1, "pad_value": "#"}
    if draw.chance():
        attributes["tokenexp"] = draw.choice(["[a-z]+", "[^ ]+", "[a-zA-Z0-9_]+"])
    else:
        attributes["separators"] = draw.choice([[""], [" "], [" ", ","], ["-"]])
    return draw.case([texts], attributes)


@generator("BiasSplitGelu", domain=MS)
def bias_split_gelu(draw):
    width, dtype = 2 * draw.integer(1, 5), draw.type()
    return draw.case([plain(draw, dtype, (draw.integer(1, 2), draw.integer(1, 3), width)),
                      plain(draw, dtype, (width,))], check=bias_split_gelu_check)


def bias_softmax_check(case, outputs):
    data, bias = (v.astype(np.float64) for v in case.inputs)
    axis = case.attributes["axis"]
    if case.attributes["is_inner_broadcast"]:
        whole = data + bias.reshape(bias.shape[:axis] + bias.shape[axis:])
    else:
        whole = data + bias
    flat = whole.reshape(int(np.prod(data.shape[:axis])), -1)
    weights = np.exp(flat - flat.max(-1, keepdims=True))
    wanted = (weights / weights.sum(-1, keepdims=True)).reshape(data.shape)
    loose = 1e-2 if outputs[0].dtype == np.float16 else 1e-5
    near = np.allclose(outputs[0].astype(np.float64), wanted, rtol=loose, atol=loose)
    return None if near else "not the formula's result"


@generator("BiasSoftmax", domain=MS)
def bias_softmax(draw):
    shape, dtype = (draw.integer(1, 3), draw.integer(1, 3), draw.integer(1, 4)), draw.type()
    return draw.case([plain(draw, dtype, shape), plain(draw, dtype, (1, *shape[1:]))],
                     {"axis": draw.integer(1, 2), "is_inner_broadcast": 0},
                     check=bias_softmax_check)


@generator("FusedMatMul", domain=MS)
def fused_matmul(draw):
    m, k, n = (draw.integer(1, 5) for _ in range(3))
    trans_a, trans_b = draw.integer(0, 1), draw.integer(0, 1)
    batch = draw.shape(0, 2, least=1, limit=6)
    dtype = draw.type()
    return draw.case([plain(draw, dtype, batch + ((k, m) if trans_a else (m, k))),
                      plain(draw, dtype, batch + ((n, k) if trans_b else (k, n)))],
                     {"transA": trans_a, "transB": trans_b, "alpha": draw.choice([None, 0.5])},
                     **LOOSE)


@generator("FusedGemm", domain=MS)
def fused_gemm(draw):
    m, k, n = (draw.integer(1, 5) for _ in range(3))
    dtype = draw.type()
    if dtype in INTEGERS:
        raise Unsuitable
    trans_a, trans_b = draw.integer(0, 1), draw.integer(0, 1)
    inputs = [plain(draw, dtype, (k, m) if trans_a else (m, k)),
              plain(draw, dtype, (n, k) if trans_b else (k, n))]
    if draw.chance():
        inputs.append(plain(draw, dtype, (n,)))
    kind = draw.choice(["Relu", "LeakyRelu", "Sigmoid", "Tanh"])
    return draw.case(inputs, {"transA": trans_a, "transB": trans_b, "activation": kind,
                              "activation_alpha": 0.2 if kind == "LeakyRelu" else None,
                              "alpha": draw.choice([None, 0.5])}, **LOOSE)


@generator("FusedConv", domain=MS)
def fused_conv(draw):
    extents, attributes = window(draw, 2)
    channels, filters, dtype = draw.integer(1, 3), draw.integer(1, 3), draw.type()
    kind = draw.choice(["Relu", "LeakyRelu", "Clip", "HardSigmoid", "Tanh", "Sigmoid"])
    parameters = {"LeakyRelu": [0.1], "Clip": [-0.5, 1.0], "HardSigmoid": [0.2, 0.5]}
    inputs = [plain(draw, dtype, (1, channels, *extents)),
              plain(draw, dtype, (filters, channels, *attributes["kernel_shape"])),
              plain(draw, dtype, (filters,)) if draw.chance() else None]
    return draw.case(inputs, {**attributes, "activation": kind,
                              "activation_params": parameters.get(kind)}, **LOOSE)


@generator("ConvTransposeWithDynamicPads", domain=MS)
def conv_transpose_dynamic(draw):
    kernel, dtype = draw.integer(2, 3), draw.type()
    channels, filters = draw.integer(1, 2), draw.integer(1, 2)
    pads = [draw.integer(0, 1) for _ in range(4)]
    inputs = [plain(draw, dtype, (1, channels, draw.integer(2, 4), draw.integer(2, 4))),
              plain(draw, dtype, (channels, filters, kernel, kernel)), draw.ints(*pads)]
    if draw.chance():
        inputs.append(plain(draw, dtype, (filters,)))
    return draw.case(inputs, {"strides": [draw.integer(1, 2)] * 2,
                              "kernel_shape": [kernel, kernel]}, **LOOSE)


@generator("Inverse", domain=MS)
def inverse(draw):
    size = draw.integer(1, 4)
    shape = draw.shape(0, 2, least=1, limit=6) + (size, size)
    data = draw.rng.uniform(-1, 1, shape) + 3 * np.eye(size)
    return draw.case([data.astype(NUMPY[draw.type()])], **LOOSE)


@generator("ExpandDims", domain=MS)
def expand_dims(draw):
    shape = draw.shape(0, 4)
    axis = draw.integer(-len(shape) - 1, len(shape))
    return draw.case([draw.values(draw.type(), shape), np.array(axis, np.int32)],
                     constants=frozenset({1}), moves=(0,))


@generator("Unique", domain=MS)
def unique(draw):
    dtype = draw.type()
    data = draw.values(dtype, (draw.integer(1, 8),), -2, 2, special=0, wide=0)
    if dtype in FLOATS:
        data = np.round(data)

    def check(case, outputs):
        flat = data.tolist()
        wanted = list(dict.fromkeys(flat))
        found = [v.decode() if isinstance(v, bytes) else v for v in outputs[0].tolist()]
        if found != wanted or outputs[1].tolist() != [wanted.index(v) for v in flat] or \
                outputs[2].tolist() != [flat.count(v) for v in wanted]:
            return f"found {[o.tolist() for o in outputs]} of {flat}"
        return None

    return draw.case([data], None, [dtype, "int64", "int64"], check=check)


@generator("CDist", domain=MS)
def cdist(draw):
    width, dtype = draw.integer(1, 4), draw.type()
    return draw.case([plain(draw, dtype, (draw.integer(1, 4), width)),
                      plain(draw, dtype, (draw.integer(1, 4), width))],
                     {"metric": draw.choice(["euclidean", "sqeuclidean"])}, scale=True,
                     rtol=1e-3, atol=1e-3, peers=PEERS)


@generator("NGramRepeatBlock", domain=MS)
def ngram_repeat_block(draw):
    batch, length = draw.integer(1, 3), draw.integer(3, 9)
    return draw.case([draw.rng.integers(0, 4, (batch, length)).astype(np.int64),
                      plain(draw, "float", (batch, 5))], {"ngram_size": draw.integer(1, 3)})


