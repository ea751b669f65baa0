"""Pooling over windows and over whole images."""

import numpy as np

from generators import generator
from generators.linear import plain, window
from random_case import INTEGERS, NUMPY, Unsuitable


@generator("AveragePool", "MaxPool", "LpPool")
def pool(draw):
    name, dtype = draw.definition["operator"], draw.type()
    spatial = draw.integer(1, 3)
    extents, attributes = window(draw, spatial)
    least = {"AveragePool": 19, "MaxPool": 10, "LpPool": 18}[name]
    if draw.opset < least and attributes.pop("dilations", None):
        attributes.pop("dilations", None)
    if name == "LpPool":
        attributes["p"] = draw.choice([None, 1, 2, 3])
        if draw.opset == 1:
            attributes["p"] = None
    if draw.opset >= {"AveragePool": 10, "MaxPool": 10, "LpPool": 18}[name]:
        attributes["ceil_mode"] = draw.integer(0, 1)
        if attributes["ceil_mode"] and "auto_pad" in attributes:
            attributes["ceil_mode"] = 0
    if name == "AveragePool" and draw.opset >= 7:
        attributes["count_include_pad"] = draw.integer(0, 1)
    outputs = [dtype]
    shape = (draw.integer(1, 2), draw.integer(1, 3), *extents)
    if name == "MaxPool" and draw.opset >= 8 and draw.chance() and "int8" not in dtype:
        outputs.append("int64")
        if spatial > 1:
            attributes["storage_order"] = draw.integer(0, 1)
        count = int(np.prod(shape))
        if dtype in ("bfloat16", "float16") and count > 250:
            raise Unsuitable
        data = draw.rng.permutation(count).reshape(shape).astype(NUMPY[dtype])
    else:
        data = draw.values(dtype, shape, special=0, wide=0.3 if dtype in INTEGERS else 0)
    peers = ("ort", "widened", "narrowed", "reference")
    modern = None
    if name == "AveragePool" and draw.opset < 7:
        modern = draw.case([data], attributes, outputs, opset=7, peers=peers)
    return draw.case([data], attributes, outputs, rtol=1e-5, atol=1e-5, peers=peers, modern=modern)


@generator("GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool")
def global_pool(draw):
    shape = (draw.dim(0, 2), draw.integer(1, 3), *draw.shape(1, 3, least=1))
    attributes = {}
    if draw.definition["operator"] == "GlobalLpPool" and draw.opset >= 2:
        attributes["p"] = draw.choice([None, 1, 2, 3])
    data, peers = plain(draw, draw.type(), shape), ("ort", "widened", "narrowed", "reference")
    modern = None
    if draw.definition["operator"] == "GlobalLpPool":
        modern = draw.case([data], {"p": 2, **attributes}, opset=2, peers=peers)
    return draw.case([data], attributes, peers=peers, rtol=1e-5, modern=modern)


@generator("MaxUnpool")
def max_unpool(draw):
    shape = (draw.integer(1, 2), draw.integer(1, 2), draw.integer(1, 3), draw.integer(1, 3))
    whole = (*shape[:2], 2 * shape[2], 2 * shape[3])
    count = int(np.prod(shape))
    indices = draw.rng.permutation(int(np.prod(whole)))[:count].reshape(shape).astype(np.int64)
    return draw.case([plain(draw, draw.type(), shape), indices],
                     {"kernel_shape": [2, 2], "strides": [2, 2]},
                     peers=("ort", "widened", "narrowed", "reference"))


@generator("MaxRoiPool")
def max_roi_pool(draw):
    shape = (1, draw.integer(1, 2), draw.integer(4, 6), draw.integer(4, 6))
    rois = [[0, draw.integer(0, 1), draw.integer(0, 1), draw.integer(2, 3), draw.integer(2, 3)]
            for _ in range(draw.integer(1, 3))]
    dtype = draw.type()
    inputs = [plain(draw, dtype, shape), np.array(rois, NUMPY[dtype])]
    attributes = {"pooled_shape": [draw.integer(1, 2), draw.integer(1, 2)],
                  "spatial_scale": draw.choice([None, 1.0])}
    return draw.case(inputs, attributes, modern=draw.case(
        inputs, attributes, opset=21, peers=("ort", "widened", "narrowed")))


@generator("RoiAlign")
def roi_align(draw):
    shape = (draw.integer(1, 2), draw.integer(1, 2), draw.integer(4, 6), draw.integer(4, 6))
    count, dtype = draw.integer(1, 3), draw.type()
    corners = [[draw.real(0, 2), draw.real(0, 2), draw.real(3, 5), draw.real(3, 5)]
               for _ in range(count)]
    attributes = {"mode": draw.choice([None, "avg", "max"]), "output_height": draw.integer(1, 3),
                  "output_width": draw.integer(1, 3), "sampling_ratio": draw.integer(0, 2),
                  "spatial_scale": draw.choice([None, 0.5])}
    if draw.opset >= 16:
        attributes["coordinate_transformation_mode"] = draw.choice(
            [None, "half_pixel", "output_half_pixel"])
    return draw.case([plain(draw, dtype, shape), np.array(corners, NUMPY[dtype]),
                      draw.rng.integers(0, shape[0], count).astype(np.int64)], attributes,
                     atol=1e-4, peers=("ort", "widened", "narrowed", "reference"))
