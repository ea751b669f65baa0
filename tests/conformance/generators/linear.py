"""Products of matrices, convolutions, and the small networks' parts next to them."""

import numpy as np

from generators import generator
from random_case import INTEGERS, Unsuitable


def plain(draw, dtype, shape, low=-2, high=2):
    return draw.values(dtype, shape, low, high, special=0, wide=0)


def weights(draw, *indices):
    return frozenset(indices if draw.chance() else ())


def matrix_shapes(draw):
    m, k, n = (draw.dim(0, 6) for _ in range(3))
    batch = draw.shape(0, 2, limit=8)
    a, b = batch + (m, k), draw.broadcastable(batch) + (k, n)
    if draw.chance(0.15):
        a = (k,)
    if draw.chance(0.15):
        b = (k,)
    return a, b


@generator("MatMul")
def matmul(draw):
    a, b = matrix_shapes(draw)
    wide = 0.3 if draw.type() in INTEGERS else 0
    return draw.case([draw.values(draw.type(), a, special=0, wide=wide),
                      draw.values(draw.type(), b, special=0, wide=wide)], scale=True,
                     constants=weights(draw, 1))


@generator("Gemm")
def gemm(draw):
    m, k, n = (draw.dim(0 if draw.opset >= 7 else 1, 6) for _ in range(3))
    trans_a, trans_b = draw.integer(0, 1), draw.integer(0, 1)
    dtype = draw.type()
    inputs = [plain(draw, dtype, (k, m) if trans_a else (m, k)),
              plain(draw, dtype, (n, k) if trans_b else (k, n))]
    attributes = {"transA": trans_a, "transB": trans_b}
    if dtype not in INTEGERS:
        attributes |= {"alpha": draw.choice([None, 0.5, 2.0]), "beta": draw.choice([None, 0.5])}
    if draw.opset < 7:
        full = draw.chance()
        bias = plain(draw, dtype, (m, n) if full else (n,))
        return draw.case(inputs + [bias], {**attributes, "broadcast": 0 if full else 1},
                         scale=True, modern=draw.case(inputs + [bias], attributes, opset=13))
    if draw.opset < 11 or draw.chance(0.8):
        shape = draw.choice([(m, n), (n,), (1, n), (m, 1), (1,), ()])
        inputs.append(plain(draw, dtype, shape))
    return draw.case(inputs, attributes, scale=True, constants=weights(draw, 1))


def window(draw, spatial, transposed=False):
    """(input extents, attributes) of a window that fits."""
    kernel = [draw.integer(1, 3) for _ in range(spatial)]
    strides = [draw.integer(1, 3) for _ in range(spatial)]
    dilations = [draw.integer(1, 2) for _ in range(spatial)]
    extents = [d * (k - 1) + 1 + draw.integer(0, 4) for k, d in zip(kernel, dilations)]
    if transposed:
        extents = [draw.integer(1, 4) for _ in kernel]
    attributes = {"kernel_shape": kernel, "strides": strides, "dilations": dilations}
    mode = draw.choice(["NOTSET", "NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER"])
    if mode == "NOTSET":
        attributes["pads"] = [draw.integer(0, k - 1) for k in kernel * 2]
    else:
        attributes["auto_pad"] = mode
        if mode.startswith("SAME"):
            # A stride beyond the kernel would ask for negative padding.
            attributes["dilations"] = [1] * spatial
            attributes["strides"] = [min(s, k) for s, k in zip(strides, kernel)]
    for name in ("strides", "dilations"):
        if all(v == 1 for v in attributes[name]) and draw.chance():
            del attributes[name]
    return extents, attributes


@generator("Conv")
def conv(draw):
    spatial, group = draw.integer(1, 3), draw.integer(1, 2)
    extents, attributes = window(draw, spatial)
    channels, filters = group * draw.integer(1, 3), group * draw.integer(1, 3)
    dtype = draw.type()
    inputs = [plain(draw, dtype, (draw.dim(0, 2), channels, *extents)),
              plain(draw, dtype, (filters, channels // group, *attributes["kernel_shape"]))]
    if draw.chance():
        inputs.append(plain(draw, dtype, (filters,)))
    if draw.chance():
        del attributes["kernel_shape"]
    return draw.case(inputs, {**attributes, "group": group}, scale=True,
                     peers=("ort", "widened", "narrowed", "reference"),
                     rtol=1e-5, constants=weights(draw, *range(1, len(inputs))))


@generator("ConvTranspose")
def conv_transpose(draw):
    spatial, group = draw.integer(1, 2), draw.integer(1, 2)
    extents, attributes = window(draw, spatial, transposed=True)
    if attributes.get("auto_pad", "").startswith("SAME"):
        del attributes["auto_pad"]
    channels, filters = group * draw.integer(1, 2), draw.integer(1, 2)
    strides = attributes.get("strides", [1] * spatial)
    if draw.chance(0.3):
        attributes["output_padding"] = [draw.integer(0, s - 1) for s in strides]
    dtype = draw.type()
    inputs = [plain(draw, dtype, (draw.integer(1, 2), channels, *extents)),
              plain(draw, dtype, (channels, filters, *attributes["kernel_shape"]))]
    kernel, dilations = attributes["kernel_shape"], attributes.get("dilations", [1] * spatial)
    pads = attributes.get("pads", [0] * 2 * spatial)
    for i in range(spatial):
        if strides[i] * (extents[i] - 1) + dilations[i] * (kernel[i] - 1) + 1 <= \
                pads[i] + pads[i + spatial]:
            raise Unsuitable
    if draw.chance():
        inputs.append(plain(draw, dtype, (filters * group,)))
    return draw.case(inputs, {**attributes, "group": group}, scale=True,
                     peers=("ort", "widened", "narrowed", "reference"),
                     constants=weights(draw, 1))


@generator("DeformConv")
def deform_conv(draw):
    group, offset_group = draw.integer(1, 2), draw.integer(1, 2)
    channels, filters = 2 * draw.integer(1, 2), 2
    kernel = [draw.integer(1, 3), draw.integer(1, 3)]
    extents = [k + draw.integer(0, 3) for k in kernel]
    pads = [draw.integer(0, 1) for _ in range(4)]
    out = [extents[i] + pads[i] + pads[i + 2] - kernel[i] + 1 for i in range(2)]
    batch, taps, dtype = draw.integer(1, 2), kernel[0] * kernel[1], draw.type()
    inputs = [plain(draw, dtype, (batch, channels, *extents)),
              plain(draw, dtype, (filters, channels // group, *kernel)),
              plain(draw, dtype, (batch, offset_group * taps * 2, *out), -1.4, 1.4),
              plain(draw, dtype, (filters,)) if draw.chance() else None,
              plain(draw, dtype, (batch, offset_group * taps, *out), 0, 1)
              if draw.chance() else None]
    return draw.case(inputs, {"kernel_shape": kernel, "pads": pads, "group": group,
                              "offset_group": offset_group}, scale=True, atol=1e-4,
                     peers=("ort", "widened", "narrowed", "reference"))


@generator("CausalConvWithState")
def causal_conv(draw):
    batch, channels, length, kernel = (draw.integer(1, 3) for _ in range(4))
    dtype = draw.type()
    inputs = [plain(draw, dtype, (batch, channels, length)),
              plain(draw, dtype, (channels, 1, kernel)),
              plain(draw, dtype, (channels,)) if draw.chance() else None,
              plain(draw, dtype, (batch, channels, kernel - 1)) if kernel > 1 and draw.chance()
              else None]
    return draw.case(inputs, {"activation": draw.choice([None, "silu", "swish", "none"])},
                     [dtype, dtype], scale=True)


@generator("Col2Im")
def col2im(draw):
    spatial = draw.integer(1, 3)
    image = [draw.integer(2, 5) for _ in range(spatial)]
    block = [draw.integer(1, min(3, d)) for d in image]
    dilations = [draw.integer(1, 2) if d > 2 * (b - 1) else 1 for d, b in zip(image, block)]
    strides = [draw.integer(1, 2) for _ in range(spatial)]
    pads = [draw.integer(0, 1) for _ in range(2 * spatial)]
    steps = [(image[i] + pads[i] + pads[i + spatial] - dilations[i] * (block[i] - 1) - 1)
             // strides[i] + 1 for i in range(spatial)]
    if min(steps) < 1:
        raise Unsuitable
    shape = (draw.integer(1, 2), draw.integer(1, 2) * int(np.prod(block)), int(np.prod(steps)))
    return draw.case([plain(draw, draw.type(), shape), draw.ints(*image), draw.ints(*block)],
                     {"dilations": dilations, "strides": strides, "pads": pads}, scale=True)
