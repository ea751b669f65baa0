"""Optimiser steps of ai.onnx.preview.training."""

import numpy as np

from generators import generator
from generators.linear import plain
from random_case import Unsuitable

TRAINING = "ai.onnx.preview.training"


def step(draw, states, attributes, low=-2):
    """Rate, step number, then for each tensor: value, gradient and states."""
    count, dtype = draw.integer(1, 2), draw.type(2)
    if draw.type(0) != dtype:
        raise Unsuitable
    shapes = [draw.shape(1, 3) for _ in range(count)]
    inputs = [np.array(0.125, plain(draw, draw.type(0), (1,)).dtype),
              np.array(draw.integer(0, 3), np.int64)]
    for kind in range(2 + states):
        least = 0.1 if kind >= 2 and low > 0 else -2
        inputs += [plain(draw, dtype, shape, least, 2) for shape in shapes]
    return draw.case(inputs, attributes, [dtype] * (1 + states) * count, peers=("reference",),
                     rtol=1e-5, atol=1e-5)


@generator("Adagrad", domain=TRAINING)
def adagrad(draw):
    return step(draw, 1, {"norm_coefficient": 0.01, "epsilon": 1e-5, "decay_factor": 0.1}, 0.1)


@generator("Adam", domain=TRAINING)
def adam(draw):
    return step(draw, 2, {"norm_coefficient": 0.01, "alpha": 0.9, "beta": 0.99, "epsilon": 1e-3},
                0.1)


@generator("Momentum", domain=TRAINING)
def momentum(draw):
    return step(draw, 1, {"norm_coefficient": 0.01, "alpha": 0.9, "beta": 0.8,
                          "mode": draw.choice(["standard", "nesterov"])})
