"""Resizing, sampling and decoding of images."""

import io

import numpy as np

from generators import generator
from generators.linear import plain
from random_case import FLOATS, NUMPY, Unsuitable

FALLBACK = ("ort", "widened", "narrowed", "reference")


@generator("Upsample")
def upsample(draw):
    shape = (draw.integer(1, 2), draw.integer(1, 2), draw.integer(1, 4), draw.integer(1, 4))
    factors = [1.0, 1.0, float(draw.integer(1, 3)), float(draw.integer(1, 3))]
    mode = "nearest" if draw.type() not in FLOATS else draw.choice(["nearest", "linear"])
    data = plain(draw, draw.type(), shape)
    moves = (0,) if mode == "nearest" else ()
    if draw.opset < 7:
        if mode == "linear":
            mode = "bilinear"
        modern = draw.case([data], {"mode": mode.replace("bi", ""), "scales": factors}, opset=7,
                           peers=FALLBACK, moves=moves)
        return draw.case([data], {"mode": mode, "height_scale": factors[2],
                                  "width_scale": factors[3]}, modern=modern)
    if draw.opset < 9:
        return draw.case([data], {"mode": mode, "scales": factors}, peers=FALLBACK, moves=moves)
    inputs = [data, np.array(factors, np.float32)]
    more = dict(peers=FALLBACK, constants=frozenset({1}), moves=moves)
    # Deprecated from opset 10 on, with the meaning it had.
    modern = draw.case(inputs, {"mode": mode}, opset=9, **more) if draw.opset > 9 else None
    return draw.case(inputs, {"mode": mode}, modern=modern, **more)


def targets(draw, shape):
    """(scales or None, sizes or None) on the last two dimensions."""
    sizes = [*shape[:-2], draw.integer(1, 7), draw.integer(1, 7)]
    if draw.chance():
        return None, sizes
    return [1.0] * (len(shape) - 2) + [draw.choice([0.5, 1.0, 1.5, 2.0, 0.75, 2.6])
                                       for _ in range(2)], None


@generator("Resize")
def resize(draw):
    dtype = draw.type(0)
    shape = (draw.integer(1, 2), draw.integer(1, 2), draw.integer(2, 5), draw.integer(2, 5))
    mode = draw.choice(["nearest", "linear", "cubic"] if draw.opset >= 11
                       else ["nearest", "linear"])
    if dtype not in FLOATS:
        mode = "nearest"
    data = plain(draw, dtype, shape)
    scales, sizes = targets(draw, shape)
    if draw.opset < 11:
        scales = scales or [1.0, 1.0, 2.0, 1.5]
        return draw.case([data, np.array(scales, np.float32)], {"mode": mode}, peers=FALLBACK,
                         constants=frozenset({1}), moves=(0,) if mode == "nearest" else ())
    attributes = {"mode": mode}
    transforms = ["half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel"]
    attributes["coordinate_transformation_mode"] = draw.choice(transforms)
    if mode == "nearest":
        attributes["nearest_mode"] = draw.choice(
            ["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"])
    if mode == "cubic":
        attributes["cubic_coeff_a"] = draw.choice([None, -0.5])
        attributes["exclude_outside"] = draw.integer(0, 1)
    if draw.opset >= 18 and mode != "nearest" and draw.chance(0.3):
        attributes["antialias"] = 1
        attributes.pop("exclude_outside", None)
    if draw.opset >= 18 and sizes is not None and draw.chance(0.3):
        attributes |= {"axes": [2, 3],
                       "keep_aspect_ratio_policy": draw.choice(["not_larger", "not_smaller"])}
        sizes = sizes[2:]
    if mode == "nearest":
        # Halves of a pixel round either way in float; keep to factors that are exact.
        if sizes is not None:
            raise Unsuitable
        scales = [1.0, 1.0, draw.choice([0.5, 1.0, 2.0]), draw.choice([0.5, 2.0])]
    if scales is not None and "align" in attributes["coordinate_transformation_mode"] and \
            any(s * d % 1 for s, d in zip(scales, shape)):
        # ONNX's own cases divide by the length before it is rounded, onnxruntime by the other.
        raise Unsuitable
    roi = np.array([], NUMPY[draw.type(1)])
    held = np.array(scales or [], np.float32)
    inputs = [data, roi if draw.opset < 13 else None, held if scales or draw.opset < 13 else None]
    if sizes is not None:
        inputs.append(draw.ints(*sizes))
    constants = frozenset({1, 2, 3} if draw.chance(0.7) else ())
    return draw.case(inputs, attributes, scale=True, atol=1e-4, rtol=1e-4, constants=constants,
                     moves=(0,) if mode == "nearest" else (), peers=FALLBACK)


@generator("GridSample")
@generator("GridSample", domain="com.microsoft")
def grid_sample(draw):
    spatial = 2 if draw.opset < 20 or draw.chance(0.7) or draw.definition["domain"] != "ai.onnx" \
        else 3
    dtype = draw.type(0)
    if draw.definition["domain"] != "ai.onnx" and dtype not in FLOATS:
        raise Unsuitable
    old = draw.opset < 20
    names = {"linear": "bilinear" if old else "linear", "cubic": "bicubic" if old else "cubic",
             "nearest": "nearest"}
    modes = ["linear", "nearest"] + (["cubic"] if spatial == 2 else [])
    mode = draw.choice(modes if dtype in FLOATS else ["nearest"])
    # What text stands outside of the image ONNX does not say.
    paddings = ["border", "reflection"] if dtype == "string" else [None, "zeros", "border",
                                                                   "reflection"]
    image = (draw.integer(1, 2), draw.integer(1, 2), *(draw.integer(2, 4) for _ in range(spatial)))
    grid = (image[0], *(draw.integer(1, 4) for _ in range(spatial)), spatial)
    return draw.case([plain(draw, dtype, image), plain(draw, draw.type(1), grid, -1.3, 1.3)],
                     {"mode": names[mode], "padding_mode": draw.choice(paddings),
                      "align_corners": draw.integer(0, 1)}, [dtype], scale=True, atol=1e-4,
                     rtol=1e-4, peers=FALLBACK)


@generator("AffineGrid")
def affine_grid(draw):
    spatial, batch = draw.integer(2, 3), draw.integer(1, 2)
    size = [batch, draw.integer(1, 3), *(draw.integer(1, 4) for _ in range(spatial))]
    # Where the only pixel of a dimension lies when corners are aligned, the peers differ.
    corners = draw.integer(0, 1) if min(size[2:]) > 1 else 0
    return draw.case([plain(draw, draw.type(0), (batch, spatial, spatial + 1)), draw.ints(*size)],
                     {"align_corners": corners}, scale=True, atol=1e-5,
                     peers=FALLBACK)


@generator("ImageDecoder")
def image_decoder(draw):
    try:
        from PIL import Image
    except ImportError:
        raise Unsuitable from None
    pixels = draw.rng.integers(0, 256, (draw.integer(1, 9), draw.integer(1, 9), 3)).astype(np.uint8)
    data = io.BytesIO()
    # Without loss: decoders of others differ by rounding.
    Image.fromarray(pixels).save(data, draw.choice(["PNG", "BMP", "PPM"]))
    return draw.case([np.frombuffer(data.getvalue(), np.uint8)],
                     {"pixel_format": draw.choice(["RGB", "BGR", "Grayscale"])}, steps=1,
                     peers=("reference",))
