"""Normalizations, dropout and the losses."""

import numpy as np

from generators import generator
from generators.linear import plain
from random_case import NUMPY, Unsuitable

FALLBACK = ("ort", "widened", "narrowed", "reference")


def image(draw, least=1):
    return (draw.integer(1, 2), draw.integer(1, 4), *draw.shape(1, 3, least=least, most=4))


@generator("BatchNormalization")
def batch_normalization(draw):
    shape = image(draw)
    channels = shape[1]
    spatial = 1
    extra = {}
    if draw.opset < 9 and draw.chance(0.2):
        spatial = 0
        extra["spatial"] = 0
    if draw.opset < 7:
        extra["is_test"] = 1
    if draw.opset == 1:
        extra["consumed_inputs"] = [0, 0, 0, 1, 1]
    each = (channels,) if spatial else shape[1:]
    inputs = [plain(draw, draw.type(0), shape), plain(draw, draw.type(1), each),
              plain(draw, draw.type(2), each), plain(draw, draw.type(3), each),
              plain(draw, draw.type(4), each, 0.25, 2)]
    attributes = {"epsilon": draw.choice([None, 1e-3]), **extra}
    modern = None
    if draw.opset < 9:
        if spatial:
            modern = draw.case(inputs, {"epsilon": attributes["epsilon"]}, opset=9)
        else:
            flat = [v.reshape(1, -1) if i == 0 else v for i, v in enumerate(inputs)]
            if shape[0] != 1:
                raise Unsuitable
            return draw.case(inputs, attributes, scale=True, check=not_spatial)
    more = {"peers": FALLBACK}
    if draw.opset >= 14 and draw.chance(0.3):
        attributes |= {"training_mode": 1, "momentum": 0.75}
        kinds = [draw.type(0), draw.type(3), draw.type(3)]
        return draw.case(inputs, attributes, kinds, scale=True, rtol=1e-4, atol=1e-5, **more)
    return draw.case(inputs, attributes, scale=True, rtol=1e-4, atol=1e-5, modern=modern, **more)


def not_spatial(case, outputs):
    """Opsets before 9 with spatial=0: statistics for each position."""
    x, scale, bias, mean, variance = (v.astype(np.float64) for v in case.inputs)
    epsilon = case.attributes.get("epsilon", 1e-5)
    wanted = scale * (x - mean) / np.sqrt(variance + epsilon) + bias
    near = np.allclose(outputs[0].astype(np.float64), wanted,
                       rtol=2e-2 if outputs[0].dtype == np.float16 else 1e-4, atol=1e-2)
    return None if near else "not the normalization of each position"


@generator("InstanceNormalization")
def instance_normalization(draw):
    shape, dtype = image(draw), draw.type()
    extra = {"consumed_inputs": [0, 0, 0]} if draw.opset == 1 and draw.chance() else {}
    inputs = [plain(draw, dtype, shape), plain(draw, dtype, (shape[1],)),
              plain(draw, dtype, (shape[1],))]
    attributes = {"epsilon": draw.choice([None, 1e-3])}
    return draw.case(inputs, {**attributes, **extra}, scale=True, rtol=1e-4, atol=1e-4,
                     peers=FALLBACK, modern=draw.case(inputs, attributes, opset=6, peers=FALLBACK)
                     if draw.opset == 1 else None)


@generator("GroupNormalization")
def group_normalization(draw):
    groups = draw.integer(1, 3)
    channels = groups * draw.integer(1, 2)
    shape, dtype = (draw.integer(1, 2), channels, *draw.shape(1, 3, least=1, most=4)), draw.type()
    count = groups if draw.opset < 21 else channels
    return draw.case([plain(draw, dtype, shape), plain(draw, dtype, (count,)),
                      plain(draw, dtype, (count,))],
                     {"num_groups": groups, "epsilon": draw.choice([None, 1e-3])}, scale=True,
                     rtol=1e-4, atol=1e-4, peers=FALLBACK)


@generator("LayerNormalization", "RMSNormalization")
def layer_normalization(draw):
    shape = draw.shape(1, 4, least=1)
    axis = draw.axis(len(shape))
    dtype, other = draw.type(0), draw.type(1)
    is_layer = draw.definition["operator"] == "LayerNormalization"
    each = shape[axis:] if axis != 0 else shape
    inputs = [plain(draw, dtype, shape), plain(draw, other, each)]
    if is_layer and draw.chance():
        inputs.append(plain(draw, other, each))
    outputs = [draw.out_type(0)]
    if is_layer and draw.chance(0.3):
        outputs += ["float", "float"]
        if draw.type(0) == "double":
            outputs = outputs[:1]
    return draw.case(inputs, {"axis": axis, "epsilon": draw.choice([None, 1e-3])}, outputs,
                     scale=True, rtol=1e-4, atol=1e-4, peers=FALLBACK)


@generator("LpNormalization")
def lp_normalization(draw):
    shape = draw.shape(1, 4, least=1)
    return draw.case([plain(draw, draw.type(), shape, 0.5, 2)],
                     {"axis": draw.axis(len(shape)), "p": draw.integer(1, 2)}, rtol=1e-5,
                     peers=FALLBACK)


@generator("MeanVarianceNormalization")
def mean_variance(draw):
    shape = (draw.integer(1, 3), draw.integer(1, 3), draw.integer(2, 4), draw.integer(2, 4))
    axes = draw.choice([None, [0, 2, 3], [1], [0, 1, 2, 3]])
    if axes == [1] and draw.type() != "float":
        axes = None
    return draw.case([plain(draw, draw.type(), shape)], {"axes": axes}, rtol=1e-4, atol=1e-4,
                     peers=("reference",) if axes == [1] else FALLBACK)


@generator("LRN")
def lrn(draw):
    shape = (draw.integer(1, 2), draw.integer(1, 6), *draw.shape(2, 2, least=1, most=3))
    return draw.case([plain(draw, draw.type(), shape)],
                     {"size": draw.choice([1, 3, 5]), "alpha": draw.choice([None, 0.1]),
                      "beta": draw.choice([None, 0.5]), "bias": draw.choice([None, 2.0])},
                     rtol=1e-5, peers=FALLBACK)


@generator("Dropout")
def dropout(draw):
    data, dtype = draw.values(draw.type(), draw.shape()), draw.type()
    with_mask = draw.opset >= 10 and draw.chance()
    outputs = [dtype] + (["bool"] if with_mask else [])
    if draw.opset < 12:
        attributes = {"ratio": draw.choice([None, 0.3])}
        if draw.opset < 7:
            attributes["is_test"] = 1
        return draw.case([data], attributes, outputs, modern=draw.case([data], None, outputs,
                                                                       opset=13))
    ratio = np.array(draw.choice([0.0, 0.5]), NUMPY[draw.type(1)]) if draw.chance() else None
    training = np.array(False) if draw.chance() else None
    return draw.case([data, ratio, training], None, outputs,
                     modern=draw.case([data], None, outputs, opset=13))


@generator("NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss")
def loss(draw):
    batch, classes = draw.integer(1, 4), draw.integer(2, 4)
    spatial = draw.shape(0, 2, least=1, most=3)
    dtype = draw.type()
    target = draw.rng.integers(0, classes, (batch, *spatial)).astype(NUMPY[draw.type(1)])
    inputs = [plain(draw, dtype, (batch, classes, *spatial)), target]
    if draw.chance():
        inputs.append(plain(draw, dtype, (classes,), 0.25, 2))
    outputs = [dtype]
    if draw.definition["operator"].startswith("Softmax") and draw.chance():
        outputs.append(dtype)
    return draw.case(inputs, {"reduction": draw.choice([None, "none", "sum", "mean"]),
                              "ignore_index": draw.choice([None, 1, -1]) if classes > 2 else None},
                     outputs, scale=True, rtol=1e-4, peers=FALLBACK)
