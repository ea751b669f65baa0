"""Fourier transforms and windows."""

import numpy as np

from generators import generator
from generators.linear import plain
from random_case import NUMPY, number_of

FALLBACK = ("ort", "narrowed", "widened", "reference")


@generator("DFT")
def dft(draw):
    dtype, parts = draw.type(0), draw.integer(1, 2)
    shape = (draw.integer(1, 2), draw.integer(2, 7), *((draw.integer(2, 4),)
                                                       if draw.chance(0.3) else ()), parts)
    axis = draw.integer(1, len(shape) - 2)
    inverse = draw.integer(0, 1)
    onesided = draw.integer(0, 1)
    if onesided and parts == 2 and not inverse:
        onesided = 0
    if inverse:
        # Of a one-sided spectrum the peers know little.
        onesided = 0
    data = plain(draw, dtype, shape)
    length = None
    if draw.chance(0.3):
        length = np.array(draw.integer(1, 9), NUMPY[draw.type(1)])
    attributes = {"inverse": inverse, "onesided": onesided}
    more = dict(scale=True, atol=2e-5, rtol=1e-4, peers=("reference",)
                if draw.opset >= 20 or parts == 2 else FALLBACK)
    if draw.opset < 20:
        return draw.case([data, length], {**attributes, "axis": axis}, **more)
    where = None
    if draw.chance(0.7):
        where = np.array(axis - len(shape) if draw.chance() else axis, np.int64)
    elif len(shape) != 3:
        where = np.array(1, np.int64)
    return draw.case([data, length, where], attributes, constants=frozenset({2}), **more)


@generator("STFT")
def stft(draw):
    dtype, length = draw.type(0), draw.integer(8, 20)
    frame, step = draw.integer(2, 7), draw.integer(1, 4)
    batch = draw.integer(1, 2)
    signal = plain(draw, dtype, (batch, length, 1))
    window = plain(draw, dtype, (frame,), 0, 1) if draw.chance(0.7) else None
    size = NUMPY[draw.type(1)]
    return draw.case([signal, np.array(step, size), window, np.array(frame, size)],
                     {"onesided": draw.integer(0, 1)}, scale=True, atol=2e-5, rtol=1e-4,
                     peers=FALLBACK, constants=frozenset({1, 3}))


@generator("HannWindow", "HammingWindow", "BlackmanWindow")
def window(draw):
    target = draw.out_type(0)
    # Values beneath a rounding of 1 fall to either side of a whole number.
    if target not in ("float", "double", "float16", "bfloat16"):
        steps = 1
    else:
        steps = 0
    return draw.case([np.array(draw.integer(2, 12), NUMPY[draw.type(0)])],
                     {"periodic": draw.integer(0, 1), "output_datatype": number_of(target)},
                     [target], atol=1e-5, steps=steps, constants=frozenset(
                         {0} if draw.chance() else ()))


@generator("MelWeightMatrix")
def mel(draw):
    target, size = draw.out_type(0), NUMPY[draw.type(0)]
    if target.startswith("u"):
        steps = 1
    else:
        steps = 1 if target.startswith("int") else 0
    edge = NUMPY[draw.type(3)]
    return draw.case([np.array(draw.integer(2, 8), size), np.array(draw.choice([16, 32]), size),
                      np.array(draw.choice([64, 100]), size), np.array(0, edge),
                      np.array(draw.integer(20, 30), edge)],
                     {"output_datatype": number_of(target)}, [target], atol=1e-4, steps=steps)


