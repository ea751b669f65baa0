"""Operators whose results are random: shape, type and distribution are checked."""

import numpy as np

from generators import generator
from random_case import number_of

SHAPE = (40, 50)


def moments(mean, deviation, tolerance):
    """A check of mean and deviation over 2000 elements."""
    def check(case, outputs):
        values = outputs[0].astype(np.float64)
        if values.shape != SHAPE:
            return f"found shape {values.shape}, expected {SHAPE}"
        if abs(values.mean() - mean) > tolerance or abs(values.std() - deviation) > tolerance:
            return f"mean {values.mean()}, deviation {values.std()}: not {mean}, {deviation}"
        return None
    return check


@generator("RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike")
def random(draw):
    name = draw.definition["operator"]
    target = draw.out_type(0)
    seed = float(draw.integer(1, 1000)) if draw.chance() else None
    if "Normal" in name:
        attributes = {"mean": 0.5, "scale": 2.0}
        check = moments(0.5, 2.0, 0.25)
    else:
        attributes = {"low": -1.0, "high": 3.0}
        check = moments(1.0, 4 / 12 ** 0.5, 0.2)
    attributes |= {"dtype": number_of(target), "seed": seed}
    inputs = []
    if name.endswith("Like"):
        inputs = [draw.values(draw.type(0), SHAPE)]
    else:
        attributes["shape"] = list(SHAPE)
    return draw.case(inputs, attributes, [target], check=check)


@generator("Bernoulli")
def bernoulli(draw):
    target, chance = draw.out_type(0), draw.choice([0.0, 0.25, 1.0])
    data = np.full(SHAPE, chance).astype(draw.values(draw.type(0), (1,)).dtype)
    return draw.case([data], {"dtype": number_of(target)}, [target],
                     check=moments(chance, (chance * (1 - chance)) ** 0.5, 0.08))


@generator("Multinomial")
def multinomial(draw):
    target, size = draw.out_type(0), draw.integer(1, 400)
    logits = np.log(np.array([[0.1, 0.6, 0.3], [1.0, 1e-30, 1e-30]]))
    logits = np.maximum(logits, -60).astype(draw.values(draw.type(0), (1,)).dtype)

    def check(case, outputs):
        drawn = outputs[0]
        if drawn.shape != (2, size):
            return f"found shape {drawn.shape}, expected {(2, size)}"
        if drawn.min() < 0 or drawn.max() > 2 or drawn[1].any():
            return f"classes {np.unique(drawn)}, in the second row {np.unique(drawn[1])}"
        if size > 200 and abs((drawn[0] == 1).mean() - 0.6) > 0.15:
            return f"class 1 has {(drawn[0] == 1).mean()} of the draws, not 0.6"
        return None

    return draw.case([logits], {"sample_size": size, "dtype": number_of(target)}, [target],
                     check=check)
